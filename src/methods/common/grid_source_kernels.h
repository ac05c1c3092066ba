// What a source does to one place of a grid: hold a value or add to it, both weighted by how much
// of the place the shape covers, with a random share that is smooth in space and time.
#pragma once

#include "base/random.h"
#include "data/mac_view.h"
#include "par/kernel.h"

#define SOURCE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(source, feed)                                                                              \
  REDUCE(source, gain, KP_REDUCE_SUM)

typedef struct source_noise {
  uint64_t seed, source;
  double per_cell;  // lattice points per cell
  double time;      // in lattice steps
  double share;     // 0: none
} source_noise;

typedef struct source_feed_args {
  kp_mac_view grid;
  source_noise noise;
  int32_t is_held;
  kp_real held;   // value it is set to,
  kp_real added;  // or what is added
  const int32_t *items;
  const kp_real *weights;
  const uint8_t *flags;  // nothing is fed into solids; NULL: faces
  kp_real *values;
} source_feed_args;

typedef source_feed_args source_gain_args;

// Lattice point (x, y, z) at time step t, -1..1.
KP_FN double source_lattice(const source_noise *n, int64_t x, int64_t y, int64_t z, int64_t t) {
  uint64_t id =
      (uint64_t)(x & 0xfffff) | (uint64_t)(y & 0xfffff) << 20 | (uint64_t)(z & 0xfffff) << 40;
  uint64_t counter = (uint64_t)t << 16 ^ n->source;
  return 2.0 * kp_rng_uniform(n->seed, KP_RNG_SOURCE, id, counter) - 1.0;
}

KP_FN double source_ease(double t) {
  return t * t * (3.0 - 2.0 * t);
}

// Value noise: random numbers on a lattice of space and time, joined smoothly.
KP_FN double source_noise_at(const source_noise *n, double x, double y, double z) {
  const double at[4] = { x, y, z, n->time };
  int64_t base[4];
  double part[4];
  for (int c = 0; c < 4; ++c) {
    double whole = floor(at[c]);
    base[c] = (int64_t)whole;
    part[c] = source_ease(at[c] - whole);
  }
  double sum = 0.0;
  for (int corner = 0; corner < 16; ++corner) {
    double weight = 1.0;
    int64_t p[4];
    for (int c = 0; c < 4; ++c) {
      int is_up = corner >> c & 1;
      weight *= is_up ? part[c] : 1.0 - part[c];
      p[c] = base[c] + is_up;
    }
    sum += weight > 0.0 ? weight * source_lattice(n, p[0], p[1], p[2], p[3]) : 0.0;
  }
  return sum;
}

// The value of place i of the list after the step.
KP_FN kp_real source_fed(int64_t i, const source_feed_args *a) {
  int64_t at = a->items[i];
  kp_real old = a->values[at];
  kp_real weight = a->weights[i];
  if (a->flags != NULL && (a->flags[at] & KP_CELL_KIND) == KP_CELL_SOLID) {
    return old;
  }
  kp_real factor = (kp_real)1;
  if (a->noise.share > 0.0) {
    const kp_mac_view *g = &a->grid;
    double x = (double)(at % g->row) * a->noise.per_cell;
    double y = (double)(at % g->slab / g->row) * a->noise.per_cell;
    double z = (double)(at / g->slab) * a->noise.per_cell;
    factor += (kp_real)(a->noise.share * source_noise_at(&a->noise, x, y, z));
  }
  return a->is_held ? old + weight * (factor * a->held - old) : old + weight * factor * a->added;
}

KP_FN void source_feed(int64_t i, const source_feed_args *a) {
  a->values[a->items[i]] = source_fed(i, a);
}

// What feeding adds to the sum of the values; before it is done.
KP_FN void source_gain(int64_t i, const source_gain_args *a, double *v) {
  v[0] = (double)source_fed(i, a) - (double)a->values[a->items[i]];
}
