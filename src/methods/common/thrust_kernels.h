// The force of the pressure on a body, summed over the cut cells around it; see thrust.h.
#pragma once

#include "data/mac_view.h"
#include "par/kernel.h"

#define THRUST_KERNELS(POINT, REDUCE, ROW, PAIR) REDUCE(thrust, sum, THRUST_OPS)

// What the pressure does to bodies: a cell presses with p on the area of solid in it, which is what
// its open faces leave unbalanced; the solid is that of the nearest body at its corners.
#define THRUST_BODIES 4  // bodies per look

typedef struct thrust_sum_args {
  int64_t first;
  kp_mac_view grid;
  int32_t bodies[THRUST_BODIES];
  double centers[THRUST_BODIES][3];
  const uint8_t *flags;
  const kp_real *pressure;
  const kp_real *fraction[3];  // [2] NULL in 2D
  const kp_real *distance;     // at corners
  const int32_t *body;         // at corners
} thrust_sum_args;

#define THRUST_SUM                                                                                 \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM
#define THRUST_OPS THRUST_SUM, THRUST_SUM, THRUST_SUM, THRUST_SUM

KP_FN int32_t thrust_body_of(const thrust_sum_args *a, int64_t at) {
  const kp_mac_view *g = &a->grid;
  kp_real nearest = a->distance[at];
  int32_t body = a->body[at];
  for (int c = 1; c < (g->dimension == 3 ? 8 : 4); ++c) {
    int64_t corner = at + (c & 1) + (c >> 1 & 1) * g->row + (c >> 2) * g->slab;
    if (a->distance[corner] < nearest) {
      nearest = a->distance[corner];
      body = a->body[corner];
    }
  }
  return body;
}

KP_FN void thrust_sum(int64_t n, const thrust_sum_args *a, double *v) {
  const kp_mac_view *g = &a->grid;
  int64_t at = a->first + n;
  double area[3] = { 0.0, 0.0, 0.0 };
  for (int k = 0; k < 6 * THRUST_BODIES; ++k) {
    v[k] = 0.0;
  }
  if ((a->flags[at] & KP_CELL_KIND) != KP_CELL_FLUID) {
    return;
  }
  int64_t cell[3];
  kp_mac_cell_of(g, at, cell);
  for (int c = 0; c < g->dimension; ++c) {
    const kp_real *f = a->fraction[c];
    // what presses on a side of the domain presses on no body
    int is_lowest = !g->is_periodic[c] && cell[c] == 0;
    int is_last = !g->is_periodic[c] && cell[c] == g->n[c] - 1;
    area[c] =
        (is_lowest ? 1.0 : (double)f[at]) - (is_last ? 1.0 : (double)f[at + kp_mac_stride(g, c)]);
  }
  if (area[0] == 0.0 && area[1] == 0.0 && area[2] == 0.0) {
    return;
  }
  int32_t body = thrust_body_of(a, at);
  double push = (double)a->pressure[at] * (g->dimension == 3 ? g->cell * g->cell : g->cell);
  for (int b = 0; b < THRUST_BODIES; ++b) {
    if (a->bodies[b] != body) {
      continue;
    }
    double arm[3];
    kp_mac_place(g, KP_MAC_CELL, cell[0], cell[1], cell[2], arm);
    for (int c = 0; c < g->dimension; ++c) {
      arm[c] -= a->centers[b][c];
    }
    for (int c = 0; c < 3; ++c) {
      int d = (c + 1) % 3;
      int e = (c + 2) % 3;
      v[6 * b + c] = push * area[c];
      v[6 * b + 3 + c] = push * (arm[d] * area[e] - arm[e] * area[d]);
    }
  }
}
