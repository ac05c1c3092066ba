// Kernels of flows without a free surface; see methods/sph/sph_confined.h. Three numbers of four
// per element are the rows of a matrix; the fourth column is a vector.
#pragma once

#include "base/random.h"
#include "methods/sph/sph_implicit_kernels.h"

SPH_INLINE void sph_matrix_clear(sph_four *rows) {
  sph_four zero;
  sph_four_set(&zero, 0, 0, 0, 0);
  rows[0] = rows[1] = rows[2] = zero;
}

SPH_INLINE void sph_matrix_identity(sph_four *rows) {
  sph_four x, y, z;
  sph_four_set(&x, 1, 0, 0, 0);
  sph_four_set(&y, 0, 1, 0, 0);
  sph_four_set(&z, 0, 0, 1, 0);
  rows[0] = x;
  rows[1] = y;
  rows[2] = z;
}

// ---- is there a free surface? -------------------------------------------------------------------

typedef struct sph_confined_surface_args {
  kp_real steep2;            // square of the steepest gradient there is without one [1/m^2]
  const sph_four *gradient;  // of the concentration
} sph_confined_surface_args;

#define SPH_CONFINED_SURFACE_OPS KP_REDUCE_SUM

SPH_INLINE void sph_confined_surface(int64_t i, const sph_confined_surface_args *a, double *v) {
  sph_four g = a->gradient[i];
  v[0] = g[0] * g[0] + g[1] * g[1] + g[2] * g[2] > a->steep2 ? 1.0 : 0.0;
}

// ---- moments of the neighbourhood ---------------------------------------------------------------

// Rows: M = -sum_j d (x) t_ij, the identity on a lattice (Bonet & Lok 1999). Fourth column:
// sum_j (1 + pairing min((s/r)^4, cap)) t_ij, the gradient of the concentration with the term of
// Monaghan (2000) against pairs; s is the spacing.
typedef struct sph_confined_moment_args {
  double spacing2;
  kp_real pairing, cap;
  int32_t add;
  const uint32_t *start, *index;
  const kp_pos *x, *y, *z;        // of the i set
  const kp_pos *j_x, *j_y, *j_z;  // of the j set
  const kp_real *term;
  sph_four *rows;
} sph_confined_moment_args;

SPH_INLINE void sph_confined_moment(int64_t i, const sph_confined_moment_args *a) {
  uint32_t end = a->start[i + 1];
  if (a->add && a->start[i] == end) {
    return;
  }
  sph_four sum[3];
  sph_matrix_clear(sum);
  for (uint32_t k = a->start[i]; k < end; ++k) {
    uint32_t j = a->index[k];
    double d[3] = { a->x[i] - a->j_x[j], a->y[i] - a->j_y[j], a->z[i] - a->j_z[j] };
    double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    kp_real q = r2 > 0.0 ? (kp_real)(a->spacing2 / r2) : a->cap;
    q = q * q < a->cap ? q * q : a->cap;
    kp_real weight = (kp_real)1 + a->pairing * q;
    sph_four t = sph_term_of(a->term, k);
    for (int c = 0; c < 3; ++c) {
      sph_four row = (kp_real)-d[c] * t;
      row[3] = weight * t[c];
      sum[c] = sum[c] + row;
    }
  }
  for (int c = 0; c < 3; ++c) {
    a->rows[3 * i + c] = a->add ? a->rows[3 * i + c] + sum[c] : sum[c];
  }
}

// ---- the correction -----------------------------------------------------------------------------

// L = M^-1 where the neighbourhood is whole, the identity where it is nearly flat, and in between
// in between; and the factor of the divergence that goes with it.
typedef struct sph_confined_correct_args {
  kp_real flat, whole;  // determinants of M
  kp_real inverse;      // 1/rho_0i
  kp_real volume;       // V_i
  kp_real relaxation;   // omega of the Jacobi iteration
  int32_t dimension;
  const sph_four *gradient;
  kp_real *factor;
  sph_four *rows;  // M, then L; the fourth column stays
} sph_confined_correct_args;

// The adjugate of a symmetric matrix; returns its determinant.
SPH_INLINE kp_real sph_matrix_adjugate(const sph_four *m, sph_four *out) {
  kp_real xx = m[0][0], xy = m[0][1], xz = m[0][2];
  kp_real yy = m[1][1], yz = m[1][2], zz = m[2][2];
  sph_four x, y, z;
  sph_four_set(&x, yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy, 0);
  sph_four_set(&y, x[1], xx * zz - xz * xz, xy * xz - xx * yz, 0);
  sph_four_set(&z, x[2], y[2], xx * yy - xy * xy, 0);
  out[0] = x;
  out[1] = y;
  out[2] = z;
  return xx * x[0] + xy * x[1] + xz * x[2];
}

// One over the diagonal, as in sph_implicit_factor, with L t for t. sum_j |L t_ij|^2 is taken as
// that of terms that look everywhere alike, |L|^2/dimension sum_j |t_ij|^2.
SPH_INLINE kp_real sph_confined_factor(int64_t i, const sph_four *rows,
                                       const sph_confined_correct_args *a) {
  sph_four g = a->gradient[i];
  kp_real squares = (kp_real)0;
  kp_real own = (kp_real)0;
  for (int c = 0; c < a->dimension; ++c) {
    kp_real moved = rows[c][0] * g[0] + rows[c][1] * g[1] + rows[c][2] * g[2];
    own += moved * moved;
    squares += rows[c][0] * rows[c][0] + rows[c][1] * rows[c][1] + rows[c][2] * rows[c][2];
  }
  kp_real neighbours = a->volume * g[3] * squares / (kp_real)a->dimension;
  return a->relaxation / (neighbours + a->inverse * own);
}

SPH_INLINE void sph_confined_correct(int64_t i, const sph_confined_correct_args *a) {
  sph_four *rows = a->rows + 3 * i;
  sph_four shift;
  sph_four_set(&shift, rows[0][3], rows[1][3], rows[2][3], 0);
  if (a->dimension == 2) {
    rows[2][2] = (kp_real)1;
  }
  sph_four m[3];
  kp_real determinant = sph_matrix_adjugate(rows, m);
  kp_real share = (determinant - a->flat) / (a->whole - a->flat);
  share = share < (kp_real)1 ? share : (kp_real)1;
  sph_matrix_identity(rows);
  if (share > (kp_real)0) {
    for (int c = 0; c < 3; ++c) {
      rows[c] = ((kp_real)1 - share) * rows[c] + (share / determinant) * m[c];
    }
  }
  if (a->factor[i] > (kp_real)0) {
    a->factor[i] = sph_confined_factor(i, rows, a);
  }
  for (int c = 0; c < 3; ++c) {
    rows[c][3] = shift[c];
  }
}

// ---- means --------------------------------------------------------------------------------------

typedef struct sph_confined_sum_args {
  const kp_real *values;
} sph_confined_sum_args;

#define SPH_CONFINED_SUM_OPS KP_REDUCE_SUM

SPH_INLINE void sph_confined_sum(int64_t i, const sph_confined_sum_args *a, double *v) {
  v[0] = (double)a->values[i];
}

typedef struct sph_confined_lower_args {
  kp_real by;
  kp_real *values;
} sph_confined_lower_args;

SPH_INLINE void sph_confined_lower(int64_t i, const sph_confined_lower_args *a) {
  a->values[i] -= a->by;
}

// ---- passes of an iteration ---------------------------------------------------------------------

// A pressure that grows with depth: w.(x - origin).
typedef struct sph_column {
  double w[3];       // Pa/m
  double origin[3];  // m
} sph_column;

#define SPH_COLUMN_AT(i, a)                                                                        \
  (kp_real)((a)->column.w[0] * ((a)->x[i] - (a)->column.origin[0]) +                               \
            (a)->column.w[1] * ((a)->y[i] - (a)->column.origin[1]) +                               \
            (a)->column.w[2] * ((a)->z[i] - (a)->column.origin[2]))

// P L; of samples of walls P alone.
typedef struct sph_confined_stress_args {
  sph_column column;        // added to P
  const kp_pos *x, *y, *z;  // NULL: it is not
  const kp_real *p;
  const sph_four *rows;  // NULL: the identity
  sph_four *stress;
} sph_confined_stress_args;

SPH_INLINE void sph_confined_stress(int64_t i, const sph_confined_stress_args *a) {
  sph_four unit[3];
  sph_matrix_identity(unit);
  const sph_four *rows = a->rows ? a->rows + 3 * i : unit;
  kp_real p = a->x ? a->p[i] + SPH_COLUMN_AT(i, a) : a->p[i];
  for (int c = 0; c < 3; ++c) {
    sph_four row = p * rows[c];
    row[3] = (kp_real)0;
    a->stress[3 * i + c] = row;
  }
}

// What frames show.
typedef struct sph_confined_show_args {
  sph_column column;
  const kp_pos *x, *y, *z;
  kp_real *p;
} sph_confined_show_args;

SPH_INLINE void sph_confined_show(int64_t i, const sph_confined_show_args *a) {
  a->p[i] += SPH_COLUMN_AT(i, a);
}

// u_i = v_i - scale sum_j (P_i L_i + P_j L_j) t_ij, the adjoint of the rate below: momentum is kept
// and the push takes no more energy than the divergence has. Cf. sph_implicit_push.
typedef struct sph_confined_push_args {
  kp_real scale;
  int32_t add;
  const uint32_t *start, *index;
  const kp_real *term;
  const sph_four *stress, *j_stress;  // NULL: none of their own
  const sph_four *v;                  // NULL: still
  sph_four *u;
} sph_confined_push_args;

SPH_INLINE void sph_confined_push(int64_t i, const sph_confined_push_args *a) {
  uint32_t end = a->start[i + 1];
  if (a->add && a->start[i] == end) {
    return;
  }
  sph_four own[3], sum;
  sph_matrix_clear(own);
  sph_four_set(&sum, 0, 0, 0, 0);
  for (int c = 0; a->stress && c < 3; ++c) {
    own[c] = a->stress[3 * i + c];
  }
  for (uint32_t k = a->start[i]; k < end; ++k) {
    sph_four t = sph_term_of(a->term, k);
    const sph_four *j = a->j_stress ? a->j_stress + 3 * (int64_t)a->index[k] : (const sph_four *)0;
    for (int c = 0; c < 3; ++c) {
      sum = sum + t[c] * (j ? own[c] + j[c] : own[c]);
    }
  }
  sum = -a->scale * sum;
  sum[3] = (kp_real)0;
  if (a->add) {
    sum = a->u[i] + sum;
  } else if (a->v) {
    sum = a->v[i] + sum;
  }
  a->u[i] = sum;
}

// rate_i = sum_j (u_i - u_j).(L_i t_ij) + recall (s_i - 1). The sum is exact for velocities that
// are linear in place; the rest brings densities back that have drifted.
typedef struct sph_confined_rate_args {
  int32_t add;
  kp_real inverse;  // 1/rho_0
  kp_real recall;   // 1/s
  const kp_real *density;
  const uint32_t *start, *index;
  const kp_real *term;
  const sph_four *rows;  // L
  const sph_four *u, *j_u;
  kp_real *rate;
} sph_confined_rate_args;

SPH_INLINE void sph_confined_rate(int64_t i, const sph_confined_rate_args *a) {
  uint32_t end = a->start[i + 1];
  if (a->add && a->start[i] == end) {
    return;
  }
  sph_four u = a->u[i];
  sph_four sum[3];
  sph_matrix_clear(sum);
  for (uint32_t k = a->start[i]; k < end; ++k) {
    sph_four t = sph_term_of(a->term, k);
    sph_four difference = u - a->j_u[a->index[k]];
    for (int c = 0; c < 3; ++c) {
      sum[c] = sum[c] + t[c] * difference;
    }
  }
  kp_real rate = (kp_real)0;
  for (int c = 0; c < 3; ++c) {
    sph_four row = a->rows[3 * i + c] * sum[c];
    rate += row[0] + row[1] + row[2];
  }
  if (!a->add) {
    rate += a->recall * (kp_product(a->density[i], a->inverse) - (kp_real)1);
  }
  a->rate[i] = a->add ? a->rate[i] + rate : rate;
}

// ---- the way of a step --------------------------------------------------------------------------

// x_i += dt v_i - D (grad C + noise): as in sph_shift.h. A lattice that a flow stretches along its
// axes has grad C = 0 and would be drawn out into strings; every particle has a direction of its
// own, in which it is moved a little, so that rows buckle.
typedef struct sph_confined_move_args {
  double dt;
  double diffusion;  // D dt [m^2]
  double noise;      // 1/m
  int32_t dimension;
  const uint64_t *id;
  const sph_four *rows;
  const kp_real *vx, *vy, *vz;
  kp_pos *x, *y, *z;
} sph_confined_move_args;

KP_FN double sph_confined_way(int64_t i, int axis, double speed, const sph_confined_move_args *a) {
  double random = 2.0 * kp_rng_uniform(0, KP_RNG_SHIFT, a->id[i], (uint64_t)axis) - 1.0;
  double gradient = (double)a->rows[3 * i + axis][3] + a->noise * random;
  return kp_product64(a->dt, speed) - kp_product64(a->diffusion, gradient);
}

SPH_INLINE void sph_confined_move(int64_t i, const sph_confined_move_args *a) {
  a->x[i] += sph_confined_way(i, 0, (double)a->vx[i], a);
  a->y[i] += sph_confined_way(i, 1, (double)a->vy[i], a);
  if (a->dimension == 3) {
    a->z[i] += sph_confined_way(i, 2, (double)a->vz[i], a);
  }
}

#define SPH_CONFINED_KERNELS(POINT, REDUCE)                                                        \
  POINT(sph, confined_moment)                                                                      \
  POINT(sph, confined_correct)                                                                     \
  POINT(sph, confined_stress)                                                                      \
  POINT(sph, confined_push)                                                                        \
  POINT(sph, confined_rate)                                                                        \
  POINT(sph, confined_lower)                                                                       \
  POINT(sph, confined_show)                                                                        \
  POINT(sph, confined_move)                                                                        \
  REDUCE(sph, confined_sum, SPH_CONFINED_SUM_OPS)                                                  \
  REDUCE(sph, confined_surface, SPH_CONFINED_SURFACE_OPS)
