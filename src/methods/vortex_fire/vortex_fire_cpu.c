#include "data/pair_cpu.h"
#include "methods/vortex_fire/vortex_fire_kernels.h"
#include "par/kernel_cpu.h"

VORTON_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
