#include "methods/fire/fire_kernels.h"
#include "par/kernel_cpu.h"

FIRE_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
