// What one particle does in implicit viscosity along the line of centres (Weiler, Koschier, Brand &
// Bender 2018). The change d of the velocities in a step solves
//
//   m_i d_i/dt - V_i (D + 2) sum_j mu V_j Lap W_ij e (e.(d_j - d_i)) = m_i a_i,  e = t_ij/|t_ij|,
//
// with a_i all accelerations at the start of the step, viscosity among them. It is symmetric and
// positive definite. Walls stand still in it: their velocity is in a_i. All divided by a mass.
// Vectors hold four numbers per particle, liquid after liquid.
#pragma once

#include "methods/sph/sph_implicit_kernels.h"

typedef struct sph_viscous_args {
  kp_real keep;   // m_i/dt, where nothing is added to
  kp_real scale;  // V_i (D + 2) mu; of walls V_i 2 mu
  int32_t add;
  int64_t first, j_first;  // of the liquids in the vectors
  const uint32_t *start, *index;
  const kp_real *term, *lap;
  const sph_four *x;
  sph_four *y;
} sph_viscous_args;

typedef sph_viscous_args sph_viscous_row_args;
typedef sph_viscous_args sph_viscous_wall_args;
typedef sph_viscous_args sph_viscous_diagonal_args;
typedef sph_viscous_args sph_viscous_wall_diagonal_args;

SPH_INLINE void sph_viscous_row(int64_t i, const sph_viscous_args *a) {
  const sph_listed listed = { a->start[i], a->start[i + 1], a->index, a->term, a->lap };
  if (a->add && listed.first == listed.end) {
    return;
  }
  sph_four x = a->x[a->first + i];
  sph_four sum = sph_central_sum(&listed, x, a->x + a->j_first);
  sph_four before = a->add ? a->y[a->first + i] : a->keep * x;
  a->y[a->first + i] = before - a->scale * sum;
}

SPH_INLINE kp_real sph_lap_sum(int64_t i, const sph_viscous_args *a) {
  kp_real sum = 0;
  for (uint32_t k = a->start[i]; k < a->start[i + 1]; ++k) {
    sum += a->lap[k];
  }
  return a->scale * sum;
}

SPH_INLINE void sph_viscous_wall(int64_t i, const sph_viscous_args *a) {
  if (a->start[i] < a->start[i + 1]) {
    a->y[a->first + i] = a->y[a->first + i] + sph_lap_sum(i, a) * a->x[a->first + i];
  }
}

SPH_INLINE void sph_viscous_diagonal(int64_t i, const sph_viscous_args *a) {
  sph_four sum;
  sph_four_set(&sum, 0, 0, 0, 0);
  for (uint32_t k = a->start[i]; k < a->start[i + 1]; ++k) {
    sph_four t = sph_term_of(a->term, k);
    t[3] = (kp_real)0;
    sph_four square = t * t;
    kp_real length2 = sph_four_sum(&square);
    kp_real share = length2 > (kp_real)SPH_NO_TERM ? a->lap[k] / length2 : (kp_real)0;
    sum = sum + share * square;
  }
  sph_four before;
  sph_four_set(&before, a->keep, a->keep, a->keep, a->keep);
  before = a->add ? a->y[a->first + i] : before;
  a->y[a->first + i] = before + a->scale * sum;
}

SPH_INLINE void sph_viscous_wall_diagonal(int64_t i, const sph_viscous_args *a) {
  kp_real sum = sph_lap_sum(i, a);
  sph_four all;
  sph_four_set(&all, sum, sum, sum, sum);
  a->y[a->first + i] = a->y[a->first + i] + all;
}

// One over the diagonal.
typedef struct sph_viscous_invert_args {
  kp_real *m;
} sph_viscous_invert_args;

SPH_INLINE void sph_viscous_invert(int64_t i, const sph_viscous_invert_args *a) {
  a->m[i] = (kp_real)1 / a->m[i];
}

// Accelerations into the right side, the answer into accelerations and velocities.
typedef struct sph_viscous_turn_args {
  kp_real mass, inverse_dt;
  int64_t first;
  const sph_four *d;
  sph_four *b, *u;
  kp_real *ax, *ay, *az;
} sph_viscous_turn_args;

typedef sph_viscous_turn_args sph_viscous_ask_args;
typedef sph_viscous_turn_args sph_viscous_take_args;

SPH_INLINE void sph_viscous_ask(int64_t i, const sph_viscous_turn_args *a) {
  sph_four acceleration;
  sph_four_set(&acceleration, a->ax[i], a->ay[i], a->az[i], 0);
  a->b[a->first + i] = a->mass * acceleration;
}

SPH_INLINE void sph_viscous_take(int64_t i, const sph_viscous_turn_args *a) {
  sph_four d = a->d[a->first + i];
  a->ax[i] = a->inverse_dt * d[0];
  a->ay[i] = a->inverse_dt * d[1];
  a->az[i] = a->inverse_dt * d[2];
  a->u[i] = a->u[i] + d;
}

#define SPH_VISCOUS_KERNELS(POINT)                                                                 \
  POINT(sph, viscous_row)                                                                          \
  POINT(sph, viscous_wall)                                                                         \
  POINT(sph, viscous_diagonal)                                                                     \
  POINT(sph, viscous_wall_diagonal)                                                                \
  POINT(sph, viscous_invert)                                                                       \
  POINT(sph, viscous_ask)                                                                          \
  POINT(sph, viscous_take)
