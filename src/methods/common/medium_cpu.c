#include "methods/common/medium_kernels.h"
#include "par/kernel_cpu.h"

MEDIUM_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
