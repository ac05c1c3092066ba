#include "data/pair_cpu.h"
#include "par/kernel_cpu.h"

#include "kernels/pairs_kernels.h"

PROBE_KERNELS(KP_NO_POINT, KP_NO_REDUCE, KP_NO_ROW, KP_CPU_PAIR)
