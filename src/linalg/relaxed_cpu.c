#include "linalg/relaxed_kernels.h"
#include "par/kernel_cpu.h"

RELAXED_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
