#include "methods/common/flame_kernels.h"
#include "par/kernel_cpu.h"

FLAME_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
