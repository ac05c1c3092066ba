#include "couple/fluid_grains_kernels.h"
#include "data/pair_cpu.h"
#include "par/kernel_cpu.h"

SOAK_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
