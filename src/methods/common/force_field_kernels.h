// Kernels of the force fields; see methods/common/force_field.h.
#pragma once

#include "kelpie/config.h"

// lower corner or centre (3), upper corner (3), radius squared or -1 for a box, acceleration (3)
#define FORCE_FIELD_RECORD 10

typedef struct force_field_add_args {
  const double *records;  // FORCE_FIELD_RECORD numbers of each field that is on
  int32_t n;
  int64_t first;  // of the elements
  const kp_pos *x, *y, *z;
  kp_real *ax, *ay, *az;
} force_field_add_args;

KP_FN int force_field_holds(const double *r, double x, double y, double z) {
  if (r[6] < 0.0) {
    return x >= r[0] && y >= r[1] && z >= r[2] && x <= r[3] && y <= r[4] && z <= r[5];
  }
  double dx = x - r[0];
  double dy = y - r[1];
  double dz = z - r[2];
  return dx * dx + dy * dy + dz * dz <= r[6];
}

// a_i += sum of the fields that hold x_i, in their order
KP_FN void force_field_add(int64_t e, const force_field_add_args *a) {
  int64_t i = a->first + e;
  double sum[3] = { 0.0, 0.0, 0.0 };
  int met = 0;
  for (int32_t f = 0; f < a->n; ++f) {
    const double *r = a->records + FORCE_FIELD_RECORD * f;
    if (force_field_holds(r, a->x[i], a->y[i], a->z[i])) {
      sum[0] += r[7];
      sum[1] += r[8];
      sum[2] += r[9];
      met = 1;
    }
  }
  if (met) {
    a->ax[i] = (kp_real)((double)a->ax[i] + sum[0]);
    a->ay[i] = (kp_real)((double)a->ay[i] + sum[1]);
    a->az[i] = (kp_real)((double)a->az[i] + sum[2]);
  }
}

#define FORCE_FIELD_KERNELS(POINT, REDUCE, ROW, PAIR) POINT(force_field, add)
