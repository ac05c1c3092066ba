// Sums over the rows of a history; see data/history.h for the layout.
#pragma once

#include "kelpie/config.h"

#define HISTORY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  POINT(history, sum2)                                                                             \
  POINT(history, sum3)

typedef struct history_sum_args {
  const uint32_t *slot;
  const kp_real *weights;  // by place in the ring
  kp_real present;         // weight of the present velocity
  int32_t slots;
  int32_t keep;  // place the present is kept in; -1: nowhere
  const kp_real *vx, *vy, *vz;
  kp_real *ring;
  kp_real *x, *y, *z;
} history_sum_args;

typedef history_sum_args history_sum2_args;
typedef history_sum_args history_sum3_args;

// A newcomer has always had the velocity it comes with.
KP_FN void history_begin(kp_real *row, const kp_real *v, int32_t dimension, int32_t slots) {
  row[0] = (kp_real)1;
  for (int32_t k = 0; k < slots; ++k) {
    for (int32_t c = 0; c < dimension; ++c) {
      row[1 + k * dimension + c] = v[c];
    }
  }
}

KP_FN void history_sum2(int64_t i, const history_sum_args *a) {
  kp_real *row = a->ring + (int64_t)a->slot[i] * (1 + 2 * a->slots);
  const kp_real v[2] = { a->vx[i], a->vy[i] };
  if (row[0] == (kp_real)0) {
    history_begin(row, v, 2, a->slots);
  }
  kp_real x = a->present * v[0];
  kp_real y = a->present * v[1];
  const kp_real *sample = row + 1;
  for (int32_t k = 0; k < a->slots; ++k, sample += 2) {
    x += a->weights[k] * sample[0];
    y += a->weights[k] * sample[1];
  }
  a->x[i] = x;
  a->y[i] = y;
  a->z[i] = (kp_real)0;
  if (a->keep >= 0) {
    row[1 + 2 * a->keep] = v[0];
    row[2 + 2 * a->keep] = v[1];
  }
}

KP_FN void history_sum3(int64_t i, const history_sum_args *a) {
  kp_real *row = a->ring + (int64_t)a->slot[i] * (1 + 3 * a->slots);
  const kp_real v[3] = { a->vx[i], a->vy[i], a->vz[i] };
  if (row[0] == (kp_real)0) {
    history_begin(row, v, 3, a->slots);
  }
  kp_real x = a->present * v[0];
  kp_real y = a->present * v[1];
  kp_real z = a->present * v[2];
  const kp_real *sample = row + 1;
  for (int32_t k = 0; k < a->slots; ++k, sample += 3) {
    x += a->weights[k] * sample[0];
    y += a->weights[k] * sample[1];
    z += a->weights[k] * sample[2];
  }
  a->x[i] = x;
  a->y[i] = y;
  a->z[i] = z;
  if (a->keep >= 0) {
    row[1 + 3 * a->keep] = v[0];
    row[2 + 3 * a->keep] = v[1];
    row[3 + 3 * a->keep] = v[2];
  }
}
