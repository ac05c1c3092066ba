// Sums over the rows of a history; see data/history.h for the layout.
#pragma once

#include "kelpie/config.h"

#define HISTORY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  POINT(history, sum2)                                                                             \
  POINT(history, sum3)

#define HISTORY_LANES 12  // sums at a time: whole samples of two and of three components

typedef struct history_sum_args {
  const uint32_t *slot;
  const kp_real *weights;  // by item of the ring: that of a sample, once for each component
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

// v becomes the weighted sum of the present v and the samples of its row. Lane l adds the items
// l, l + 12, ..., which are all of one component; the lanes of a component are added in order.
KP_FN void history_sum(const history_sum_args *a, int64_t i, int32_t dimension, kp_real *v) {
  int32_t n_items = dimension * a->slots;
  kp_real *row = a->ring + (int64_t)a->slot[i] * (1 + n_items);
  if (row[0] == (kp_real)0) {
    history_begin(row, v, dimension, a->slots);
  }
  kp_real lanes[HISTORY_LANES] = { 0 };
  const kp_real *items = row + 1;
  int32_t m = 0;
  for (; m + HISTORY_LANES <= n_items; m += HISTORY_LANES) {
    for (int32_t l = 0; l < HISTORY_LANES; ++l) {
      lanes[l] += a->weights[m + l] * items[m + l];
    }
  }
  for (int32_t l = 0; m + l < n_items; ++l) {
    lanes[l] += a->weights[m + l] * items[m + l];
  }
  kp_real *kept = row + 1 + (int64_t)dimension * a->keep;
  for (int32_t c = 0; c < dimension; ++c) {
    kp_real sum = a->present * v[c];
    for (int32_t l = c; l < HISTORY_LANES; l += dimension) {
      sum += lanes[l];
    }
    if (a->keep >= 0) {
      kept[c] = v[c];
    }
    v[c] = sum;
  }
}

KP_FN void history_sum2(int64_t i, const history_sum_args *a) {
  kp_real v[2] = { a->vx[i], a->vy[i] };
  history_sum(a, i, 2, v);
  a->x[i] = v[0];
  a->y[i] = v[1];
  a->z[i] = (kp_real)0;
}

KP_FN void history_sum3(int64_t i, const history_sum_args *a) {
  kp_real v[3] = { a->vx[i], a->vy[i], a->vz[i] };
  history_sum(a, i, 3, v);
  a->x[i] = v[0];
  a->y[i] = v[1];
  a->z[i] = v[2];
}
