#include "data/pair_cpu.h"
#include "data/probe_kernels.h"
#include "par/kernel_cpu.h"

PROBE_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
