#include "data/pair_cpu.h"
#include "methods/mps/mps_kernels.h"
#include "par/kernel_cpu.h"

MPS_POINT_KERNELS(KP_CPU_POINT)
MPS_PAIR_KERNELS(KP_CPU_PAIR)
