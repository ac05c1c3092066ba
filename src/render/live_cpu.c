#include "par/kernel_cpu.h"
#include "render/live_kernels.h"

LIVE_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
