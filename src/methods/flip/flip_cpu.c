// A cell has four to eight particles as a rule.
#define KP_W_SHORT
#include "methods/flip/flip_kernels.h"
#include "par/kernel_cpu.h"

FLIP_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
