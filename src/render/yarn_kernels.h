// Lists of the quads of yarn that each pixel sees, from front to back, on the CPU and on a card
// (Bayraktar 2010, section 4.4, which sorts quads there by a bitonic network).
//
// Quads are sorted by their distance once, each writes the pixels in which the eye's ray crosses it
// to places of its own, and a sort by pixel that keeps the order of equals makes lists of them.
// Nobody writes where another may, so that the bits are those of the tiles on the CPU.
#pragma once

#include <string.h>

#include "par/kernel.h"
#include "render/yarn_quads.h"

#define YARN_TOTAL_OPS KP_REDUCE_SUM
#define YARN_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(yarn, order)                                                                               \
  POINT(yarn, count)                                                                               \
  REDUCE(yarn, total, YARN_TOTAL_OPS)                                                              \
  POINT(yarn, emit)                                                                                \
  POINT(yarn, mark)

// Keys of quads: the square of the distance of their middle, whose bits are in the order of its
// values as it is positive.
typedef struct yarn_order_args {
  kp_yarn_view view;
  uint32_t *keys, *order;
} yarn_order_args;

KP_FN void yarn_order(int64_t i, const yarn_order_args *a) {
  kp_yarn_quad q = kp_yarn_quad_of(&a->view, (uint32_t)i);
  float square = kp_f3_dot(q.c, q.c);
  memcpy(&a->keys[i], &square, sizeof square);
  a->order[i] = (uint32_t)i;
}

// Pixels of some rows that quad number order[i] is seen in.
typedef struct yarn_count_args {
  kp_yarn_view view;
  kp_yarn_box rows;
  const uint32_t *order;
  uint32_t *counts;
} yarn_count_args;

KP_FN void yarn_count(int64_t i, const yarn_count_args *a) {
  kp_yarn_quad q = kp_yarn_quad_of(&a->view, a->order[i]);
  kp_lumi_level level = kp_lumi_level_of(a->view.texels, q.set->level);
  kp_yarn_box box = kp_yarn_box_of(&a->view, &q, a->rows);
  kp_yarn_crossing at;
  uint32_t n = 0;
  for (int y = box.y0; y < box.y1; ++y) {
    for (int x = box.x0; x < box.x1; ++x) {
      n += kp_yarn_cross(&a->view, &q, &level, x, y, &at) ? 1 : 0;
    }
  }
  a->counts[i] = n;
}

typedef struct yarn_total_args {
  const uint32_t *counts;
} yarn_total_args;

KP_FN void yarn_total(int64_t i, const yarn_total_args *a, double *v) {
  v[0] = (double)a->counts[i];
}

// The same pixels, from first[i] on.
typedef struct yarn_emit_args {
  kp_yarn_view view;
  kp_yarn_box rows;
  const uint32_t *order, *first;
  uint32_t *pixels, *quads;
} yarn_emit_args;

KP_FN void yarn_emit(int64_t i, const yarn_emit_args *a) {
  uint32_t place = a->first[i];
  if (place == a->first[i + 1]) {
    return;
  }
  kp_yarn_quad q = kp_yarn_quad_of(&a->view, a->order[i]);
  kp_lumi_level level = kp_lumi_level_of(a->view.texels, q.set->level);
  kp_yarn_box box = kp_yarn_box_of(&a->view, &q, a->rows);
  kp_yarn_crossing at;
  for (int y = box.y0; y < box.y1; ++y) {
    for (int x = box.x0; x < box.x1; ++x) {
      if (kp_yarn_cross(&a->view, &q, &level, x, y, &at)) {
        a->pixels[place] = (uint32_t)y * (uint32_t)a->view.width + (uint32_t)x;
        a->quads[place] = a->order[i];
        ++place;
      }
    }
  }
}

// Where the list of a pixel begins and ends, by those that have no neighbour of the same pixel.
typedef struct yarn_mark_args {
  int64_t n;
  const uint32_t *pixels;
  uint32_t *spans;  // two per pixel; zero where there is no list
} yarn_mark_args;

KP_FN void yarn_mark(int64_t i, const yarn_mark_args *a) {
  uint32_t pixel = a->pixels[i];
  if (i == 0 || a->pixels[i - 1] != pixel) {
    a->spans[2 * (uint64_t)pixel] = (uint32_t)i;
  }
  if (i + 1 == a->n || a->pixels[i + 1] != pixel) {
    a->spans[2 * (uint64_t)pixel + 1] = (uint32_t)i + 1;
  }
}
