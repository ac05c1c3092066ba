#include "par/kernel_cpu.h"
#include "render/yarn_kernels.h"

YARN_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
