// What moves one particle of a non-interacting flame (Lyes 2015, section 6.2): its own acceleration
// and the wind.
#pragma once

#include "par/kernel.h"

// a = lift of its own, and across the up axis the wind in its place where there is one.
typedef struct fire_lift_args {
  double wind[3];
  int32_t is_windy[3];
  const kp_real *lx, *ly, *lz;
  kp_real *ax, *ay, *az;
} fire_lift_args;

KP_FN void fire_lift(int64_t i, const fire_lift_args *a) {
  a->ax[i] = a->is_windy[0] ? (kp_real)a->wind[0] : a->lx[i];
  a->ay[i] = a->is_windy[1] ? (kp_real)a->wind[1] : a->ly[i];
  a->az[i] = a->is_windy[2] ? (kp_real)a->wind[2] : a->lz[i];
}

#define FIRE_KERNELS(POINT, REDUCE, ROW, PAIR) POINT(fire, lift)
