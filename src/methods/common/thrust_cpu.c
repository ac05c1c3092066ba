#include "methods/common/thrust_kernels.h"
#include "par/kernel_cpu.h"

THRUST_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
