#include "methods/common/release_kernels.h"
#include "par/kernel_cpu.h"

RELEASE_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
