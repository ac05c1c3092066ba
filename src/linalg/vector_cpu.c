#include "linalg/vector_kernels.h"
#include "par/kernel_cpu.h"

VECTOR_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
