// Kernels of periodic images.
#pragma once

#include <math.h>

#include "kelpie/config.h"

#define GHOSTS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(ghosts, wrap)                                                                              \
  POINT(ghosts, near)                                                                              \
  POINT(ghosts, list)                                                                              \
  POINT(ghosts, select)                                                                            \
  POINT(ghosts, place)                                                                             \
  POINT(ghosts, shift)

// The box and how many times it repeats: reach[d] boxes on either side, 0 for an axis that is open.
typedef struct ghosts_box {
  double lo[3], size[3];
  double width;
  int32_t reach[3];
  int32_t n_images;  // the box itself not counted
} ghosts_box;

// Shift of image k in boxes on each axis.
KP_FN void ghosts_steps(const ghosts_box *b, int32_t k, int32_t steps[3]) {
  k += k >= b->n_images / 2 ? 1 : 0;
  for (int d = 0; d < 3; ++d) {
    int32_t n = 2 * b->reach[d] + 1;
    steps[d] = k % n - b->reach[d];
    k /= n;
  }
}

typedef struct ghosts_wrap_args {
  kp_pos *x;
  double lo, size;
} ghosts_wrap_args;

KP_FN void ghosts_wrap(int64_t i, const ghosts_wrap_args *a) {
  double x = a->x[i];
  if (x < a->lo || x >= a->lo + a->size) {
    x -= a->size * floor((x - a->lo) / a->size);
    // rounding may put it on the upper face, which is the lower one
    a->x[i] = x >= a->lo && x < a->lo + a->size ? x : a->lo;
  }
}

// 1 for elements that have an image at all.
typedef struct ghosts_near_args {
  const kp_pos *x, *y, *z;
  uint32_t *is_near;
  ghosts_box box;
} ghosts_near_args;

KP_FN void ghosts_near(int64_t i, const ghosts_near_args *a) {
  const ghosts_box *b = &a->box;
  double p[3];
  p[0] = a->x[i];
  p[1] = a->y[i];
  p[2] = a->z[i];
  bool is_near = false;
  for (int d = 0; d < 3; ++d) {
    double from_lo = p[d] - b->lo[d];
    bool is_at_face = from_lo <= b->width || b->size[d] - from_lo <= b->width;
    is_near = is_near || (b->reach[d] > 0 && is_at_face);
  }
  a->is_near[i] = is_near;
}

// Elements whose flag was set; `at` is the scan of the flags.
typedef struct ghosts_list_args {
  const uint32_t *at;
  uint32_t *elements;
} ghosts_list_args;

KP_FN void ghosts_list(int64_t i, const ghosts_list_args *a) {
  if (a->at[i + 1] != a->at[i]) {
    a->elements[a->at[i]] = (uint32_t)i;
  }
}

// 1 where image t / n_near of element t % n_near lies within the width of the box.
typedef struct ghosts_select_args {
  const kp_pos *x, *y, *z;
  const uint32_t *elements;
  uint32_t *is_image;
  int64_t n_near;
  ghosts_box box;
} ghosts_select_args;

KP_FN void ghosts_select(int64_t t, const ghosts_select_args *a) {
  const ghosts_box *b = &a->box;
  uint32_t e = a->elements[t % a->n_near];
  int32_t steps[3];
  ghosts_steps(b, (int32_t)(t / a->n_near), steps);
  double p[3];
  p[0] = a->x[e];
  p[1] = a->y[e];
  p[2] = a->z[e];
  bool is_image = true;
  for (int d = 0; d < 3; ++d) {
    double from_lo = p[d] - b->lo[d] + steps[d] * b->size[d];
    bool is_inside = from_lo >= -b->width && from_lo <= b->size[d] + b->width;
    is_image = is_image && (b->reach[d] == 0 || is_inside);
  }
  a->is_image[t] = is_image;
}

typedef struct ghosts_place_args {
  const uint32_t *at, *elements;
  uint32_t *source, *image;
  int64_t n_near;
} ghosts_place_args;

KP_FN void ghosts_place(int64_t t, const ghosts_place_args *a) {
  if (a->at[t + 1] != a->at[t]) {
    a->source[a->at[t]] = a->elements[t % a->n_near];
    a->image[a->at[t]] = (uint32_t)(t / a->n_near);
  }
}

// Position of an image on one axis.
typedef struct ghosts_shift_args {
  const kp_pos *from;
  const uint32_t *source, *image;
  kp_pos *to;
  ghosts_box box;
  int32_t axis;
} ghosts_shift_args;

KP_FN void ghosts_shift(int64_t g, const ghosts_shift_args *a) {
  int32_t steps[3];
  ghosts_steps(&a->box, (int32_t)a->image[g], steps);
  a->to[g] = a->from[a->source[g]] + steps[a->axis] * a->box.size[a->axis];
}
