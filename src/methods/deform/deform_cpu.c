#include "methods/deform/deform_kernels.h"
#include "methods/deform/deform_membrane_kernels.h"
#include "methods/deform/deform_steps_kernels.h"
#include "methods/deform/deform_tets_kernels.h"
#include "par/kernel_cpu.h"

DEFORM_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
DEFORM_TETS_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
DEFORM_MEMBRANE_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
DEFORM_STEPS_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
