#include "methods/flip/flip_crowd_kernels.h"
#include "par/kernel_cpu.h"

CROWD_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
