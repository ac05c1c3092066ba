#include "par/kernel_define.h"

#include "kernels/toy_kernels.h"

TOY_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)
TOY_TEAM_KERNELS(KP_DEFINE_TEAM)
