// What one particle does in divergence-free SPH (Bender & Koschier 2015, 2017). The constraint of a
// particle is the share of space that it and its neighbours fill,
//
//   s_i = V_i W(0) + sum_j V_j W_ij <= 1,
//
// with rest volumes V; neighbours are particles of any liquid and samples of walls. Its multiplier
// is a pressure P_i >= 0 [Pa] that accelerates
//
//   a_i = -1/rho_0i sum_j (P_i + P_j) t_ij,   t_ij = V_j grad_i W_ij.
//
// m_i a_i is antisymmetric in the pair whatever the two are. Samples of walls either have
// constraints and pressures of their own (Band et al. 2018) or none: then P_j = 0 there (Akinci et
// al. 2012; Bender & Koschier 2017). A row of the system is what a step with the velocities
// u = v + dt a does to s_i,
//
//   residual_i = s_i - 1 + dt sum_j (u_i - u_j).t_ij.
//
// Positions stand still during a solve: the t_ij are made once per step and kept beside the
// neighbour lists, so that a pass reads 16 bytes per neighbour and does little else. V_j Lap W is
// kept too, for viscosity.
#pragma once

#include "math/rounding.h"
#include "methods/sph/sph_kernels.h"

// ---- four numbers at a time: a vector and one more ----------------------------------------------

#ifdef __CUDACC__

struct __align__(4 * sizeof(kp_real)) sph_four {
  kp_real lane[4];
  __host__ __device__ __forceinline__ kp_real &operator[](int k) {
    return lane[k];
  }
  __host__ __device__ __forceinline__ const kp_real &operator[](int k) const {
    return lane[k];
  }
};
#define SPH_FOUR_OPERATOR(op)                                                                      \
  KP_FN sph_four operator op(const sph_four &a, const sph_four &b) {                               \
    return { a[0] op b[0], a[1] op b[1], a[2] op b[2], a[3] op b[3] };                             \
  }
SPH_FOUR_OPERATOR(+)
SPH_FOUR_OPERATOR(-)
SPH_FOUR_OPERATOR(*)
KP_FN sph_four operator*(kp_real s, const sph_four &a) {
  return { s * a[0], s * a[1], s * a[2], s * a[3] };
}
KP_FN void sph_look_ahead(const kp_real *, uint32_t, uint32_t) {}
#define SPH_CHUNK 1  // neighbours whose terms are made at once
#define SPH_CHUNK_ALIGN
KP_FN sph_four sph_term_of(const kp_real *term, uint32_t k) {
  return { term[3 * (int64_t)k], term[3 * (int64_t)k + 1], term[3 * (int64_t)k + 2], 0 };
}

#else

typedef kp_real sph_four __attribute__((vector_size(4 * sizeof(kp_real))));
// The fourth number is the first of the next term, or what stands behind the last one: it meets
// nothing but zeros.
typedef kp_real sph_four_anywhere
    __attribute__((vector_size(4 * sizeof(kp_real)), aligned(sizeof(kp_real)), may_alias));
static inline __attribute__((always_inline)) sph_four sph_term_of(const kp_real *term, uint32_t k) {
  return *(const sph_four_anywhere *)(term + 3 * (size_t)k);
}
// The processor's own look-ahead stops at the end of a page, ten particles on.
#define SPH_AHEAD 2048  // bytes
static inline __attribute__((always_inline)) void sph_look_ahead(const kp_real *term, uint32_t k,
                                                                 uint32_t count) {
  const char *ahead = (const char *)(term + 3 * (size_t)k) + SPH_AHEAD;
  for (size_t at = 0; at < 3 * sizeof(kp_real) * (size_t)count; at += 64) {
    __builtin_prefetch(ahead + at);
  }
}
#define SPH_CHUNK KP_LANES
#define SPH_CHUNK_ALIGN __attribute__((aligned(64)))

#endif

SPH_INLINE kp_real sph_four_sum(const sph_four *a) {
  return ((*a)[0] + (*a)[2]) + ((*a)[1] + (*a)[3]);
}

SPH_INLINE void sph_four_set(sph_four *a, kp_real x, kp_real y, kp_real z, kp_real w) {
  (*a)[0] = x;
  (*a)[1] = y;
  (*a)[2] = z;
  (*a)[3] = w;
}

// ---- terms of the listed pairs, and what they sum to --------------------------------------------

typedef struct sph_implicit_terms_args {
  kp_smooth w, g;
  kp_real volume;        // V_j, where all are alike
  kp_real own;           // V_i W(0), where nothing is added to
  kp_real rest_density;  // rho_0i
  kp_real weight;        // of |t_ij|^2 in the diagonal: 1/(rho_0j V_j), or 0 for walls
  int32_t add;
  const uint32_t *start, *index;
  const kp_pos *x, *y, *z;        // of the i set
  const kp_pos *j_x, *j_y, *j_z;  // of the j set
  const kp_real *j_volume;        // of samples; else NULL
  kp_real *term;                  // three numbers per listed pair
  kp_real *lap;                   // V_j Lap W
  kp_real *density;
  sph_four *gradient;  // sum_j t_ij, and the part of the diagonal that moves neighbours
} sph_implicit_terms_args;

// A chunk of neighbours, column by column.
typedef struct sph_chunk {
  kp_real x[SPH_CHUNK], y[SPH_CHUNK], z[SPH_CHUNK];  // d = x_i - x_j, then t_ij
  kp_real lap[SPH_CHUNK];                            // V_j Lap W
  kp_real w[SPH_CHUNK], square[SPH_CHUNK];           // V_j W and |t_ij|^2
  kp_real volume[SPH_CHUNK];                         // V_j
} sph_chunk SPH_CHUNK_ALIGN;

// Distances of `count` neighbours from `first` on; the rest of the chunk is out of reach.
SPH_INLINE void sph_chunk_place(sph_chunk *c, int64_t i, uint32_t first, uint32_t count,
                                const sph_implicit_terms_args *a) {
  double x = a->x[i];
  double y = a->y[i];
  double z = a->z[i];
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t j = a->index[first + k];
    c->x[k] = (kp_real)(x - a->j_x[j]);
    c->y[k] = (kp_real)(y - a->j_y[j]);
    c->z[k] = (kp_real)(z - a->j_z[j]);
    c->volume[k] = a->j_volume ? a->j_volume[j] : a->volume;
  }
  for (uint32_t k = count; k < SPH_CHUNK; ++k) {
    c->x[k] = (kp_real)2 * a->w.support;
    c->y[k] = c->z[k] = c->volume[k] = (kp_real)0;
  }
}

#define SPH_LANES_AT(column, k) (*(kp_w *)&(column)[k])

SPH_INLINE void sph_chunk_terms(int wk, int gk, sph_chunk *c, const sph_implicit_terms_args *a) {
  for (int k = 0; k < SPH_CHUNK; k += (int)(sizeof(kp_w) / sizeof(kp_real))) {
    kp_w x = SPH_LANES_AT(c->x, k);
    kp_w y = SPH_LANES_AT(c->y, k);
    kp_w z = SPH_LANES_AT(c->z, k);
    kp_w r2 = x * x + y * y + z * z;
    kp_w volume = SPH_LANES_AT(c->volume, k);
    kp_w g = kp_smooth_g(gk, r2, &a->g);
    kp_w vg = volume * g;
    x = vg * x;
    y = vg * y;
    z = vg * z;
    SPH_LANES_AT(c->x, k) = x;
    SPH_LANES_AT(c->y, k) = y;
    SPH_LANES_AT(c->z, k) = z;
    SPH_LANES_AT(c->lap, k) = volume * kp_smooth_lap(gk, r2, g, &a->g);
    SPH_LANES_AT(c->w, k) = volume * kp_smooth_w(wk, r2, &a->w);
    SPH_LANES_AT(c->square, k) = x * x + y * y + z * z;
  }
}

// Sums of a column run over four lanes, whatever the register.
SPH_INLINE void sph_chunk_add(sph_four *sum, const kp_real *column) {
#ifdef __CUDACC__
  (*sum)[0] += column[0];
#else
  for (int k = 0; k < SPH_CHUNK; k += 4) {
    *sum += *(const sph_four *)&column[k];
  }
#endif
}

SPH_INLINE void sph_chunk_keep(const sph_chunk *c, uint32_t first, uint32_t count,
                               const sph_implicit_terms_args *a) {
  kp_real *term = a->term + 3 * (int64_t)first;
  for (uint32_t k = 0; k < count; ++k) {
    term[3 * k] = c->x[k];
    term[3 * k + 1] = c->y[k];
    term[3 * k + 2] = c->z[k];
  }
  for (uint32_t k = 0; k < count; ++k) {
    a->lap[first + k] = c->lap[k];
  }
}

SPH_INLINE void sph_implicit_terms_body(int wk, int gk, int64_t i,
                                        const sph_implicit_terms_args *a) {
  sph_chunk c;
  sph_four x, y, z, w, square;
  sph_four_set(&x, 0, 0, 0, 0);
  y = z = w = square = x;
  uint32_t end = a->start[i + 1];
  if (a->add && a->start[i] == end) {
    return;
  }
  for (uint32_t at = a->start[i]; at < end; at += SPH_CHUNK) {
    uint32_t count = end - at < SPH_CHUNK ? end - at : SPH_CHUNK;
    sph_chunk_place(&c, i, at, count, a);
    sph_chunk_terms(wk, gk, &c, a);
    sph_chunk_keep(&c, at, count, a);
    sph_chunk_add(&x, c.x);
    sph_chunk_add(&y, c.y);
    sph_chunk_add(&z, c.z);
    sph_chunk_add(&w, c.w);
    sph_chunk_add(&square, c.square);
  }
  sph_four gradient;
  sph_four_set(&gradient, sph_four_sum(&x), sph_four_sum(&y), sph_four_sum(&z),
               a->weight * sph_four_sum(&square));
  a->density[i] = (a->add ? a->density[i] : a->own) + a->rest_density * sph_four_sum(&w);
  a->gradient[i] = a->add ? a->gradient[i] + gradient : gradient;
}

// ---- passes over the lists ----------------------------------------------------------------------

// u_i = v_i - scale sum_j (P_i + P_j) t_ij. With scale dt/rho_0i that is the velocity after the
// push; with 1 and no velocity, on a sample of a body, its force per volume.
typedef struct sph_implicit_push_args {
  kp_real scale;
  int32_t add;
  const uint32_t *start, *index;
  const kp_real *term;
  const kp_real *p, *j_p;  // NULL: none of their own
  const sph_four *v;       // NULL: still
  sph_four *u;
} sph_implicit_push_args;

SPH_INLINE void sph_implicit_push(int64_t i, const sph_implicit_push_args *a) {
  uint32_t k = a->start[i];
  uint32_t end = a->start[i + 1];
  if (a->add && k == end) {
    return;
  }
  sph_look_ahead(a->term, k, end - k);
  kp_real p = a->p ? a->p[i] : (kp_real)0;
  sph_four even, odd;
  sph_four_set(&even, 0, 0, 0, 0);
  odd = even;
  if (a->j_p) {
    for (; k + 2 <= end; k += 2) {
      even = even + (p + a->j_p[a->index[k]]) * sph_term_of(a->term, k);
      odd = odd + (p + a->j_p[a->index[k + 1]]) * sph_term_of(a->term, k + 1);
    }
    if (k < end) {
      even = even + (p + a->j_p[a->index[k]]) * sph_term_of(a->term, k);
    }
  } else {
    for (; k < end; ++k) {
      even = even + p * sph_term_of(a->term, k);
    }
  }
  even = -a->scale * (even + odd);
  even[3] = (kp_real)0;
  if (a->add) {
    even = a->u[i] + even;
  } else if (a->v) {
    even = a->v[i] + even;
  }
  a->u[i] = even;
}

// rate_i = sum_j (u_i - u_j).t_ij
typedef struct sph_implicit_rate_args {
  int32_t add;
  const uint32_t *start, *index;
  const kp_real *term;
  const sph_four *u, *j_u;
  kp_real *rate;
} sph_implicit_rate_args;

SPH_INLINE void sph_implicit_rate(int64_t i, const sph_implicit_rate_args *a) {
  uint32_t k = a->start[i];
  uint32_t end = a->start[i + 1];
  if (a->add && k == end) {
    return;
  }
  sph_look_ahead(a->term, k, end - k);
  sph_four u = a->u[i];
  sph_four even, odd;
  sph_four_set(&even, 0, 0, 0, 0);
  odd = even;
  for (; k + 2 <= end; k += 2) {
    even = even + (u - a->j_u[a->index[k]]) * sph_term_of(a->term, k);
    odd = odd + (u - a->j_u[a->index[k + 1]]) * sph_term_of(a->term, k + 1);
  }
  if (k < end) {
    even = even + (u - a->j_u[a->index[k]]) * sph_term_of(a->term, k);
  }
  even = even + odd;
  kp_real rate = sph_four_sum(&even);
  a->rate[i] = a->add ? a->rate[i] + rate : rate;
}

#define SPH_NO_TERM 1e-30  // |t_ij|^2 [1/m^2] of who stands at the rim

// push_i = scale sum_j V_j Lap W (v_j - v_i). With scale mu/rho_0i that is an acceleration; with
// mu, on a sample of a body, its force per volume.
typedef struct sph_implicit_viscosity_args {
  kp_real scale;
  int32_t add;
  const uint32_t *start, *index;
  const kp_real *term, *lap;
  const sph_four *u, *j_u;
  sph_four *push;
} sph_implicit_viscosity_args;

SPH_INLINE void sph_implicit_viscosity(int64_t i, const sph_implicit_viscosity_args *a) {
  uint32_t end = a->start[i + 1];
  if (a->add && a->start[i] == end) {
    return;
  }
  sph_four u = a->u[i];
  sph_four sum;
  sph_four_set(&sum, 0, 0, 0, 0);
  for (uint32_t k = a->start[i]; k < end; ++k) {
    sum = sum + a->lap[k] * (a->j_u[a->index[k]] - u);
  }
  sum = a->scale * sum;
  a->push[i] = a->add ? a->push[i] + sum : sum;
}

// Pairs `first` to `end` of a list, and the rows that they read.
typedef struct sph_listed {
  uint32_t first, end;
  const uint32_t *index;
  const kp_real *term, *lap;
} sph_listed;

// sum_j V_j Lap W e (e.(u_j - u)), e = t_ij/|t_ij| the line of centres
SPH_INLINE sph_four sph_central_sum(const sph_listed *l, sph_four u, const sph_four *j_u) {
  sph_four sum;
  sph_four_set(&sum, 0, 0, 0, 0);
  for (uint32_t k = l->first; k < l->end; ++k) {
    sph_four t = sph_term_of(l->term, k);
    t[3] = (kp_real)0;
    sph_four along = t * (j_u[l->index[k]] - u);
    sph_four square = t * t;
    kp_real length2 = sph_four_sum(&square);
    kp_real share = length2 > (kp_real)SPH_NO_TERM ? sph_four_sum(&along) / length2 : (kp_real)0;
    sum = sum + (l->lap[k] * share) * t;
  }
  return sum;
}

// The same along the line of centres alone: scale has D + 2.
typedef sph_implicit_viscosity_args sph_implicit_central_args;

SPH_INLINE void sph_implicit_central(int64_t i, const sph_implicit_central_args *a) {
  const sph_listed listed = { a->start[i], a->start[i + 1], a->index, a->term, a->lap };
  if (a->add && listed.first == listed.end) {
    return;
  }
  sph_four sum = a->scale * sph_central_sum(&listed, a->u[i], a->j_u);
  a->push[i] = a->add ? a->push[i] + sum : sum;
}

// ---- single elements ----------------------------------------------------------------------------

// The other end of a periodic image is its owner, which has the same velocity and pressure.
typedef struct sph_implicit_owner_args {
  const uint32_t *source;
  uint32_t *index;
} sph_implicit_owner_args;

SPH_INLINE void sph_implicit_owner(int64_t k, const sph_implicit_owner_args *a) {
  a->index[k] = a->source[a->index[k]];
}

// One over the diagonal of the system, times the relaxation: what P_i = 1 Pa takes from s_i'' by
// moving the particle itself, 1/rho_0i |sum_j t_ij|^2, and its neighbours,
// V_i sum_j |t_ij|^2 / (rho_0j V_j). Samples of walls have that of a lattice. Zero where there is
// nobody to push.
typedef struct sph_implicit_factor_args {
  kp_real inverse;     // 1/rho_0i
  kp_real volume;      // V_i; 0 for samples of walls
  kp_real fixed;       // diagonal of samples
  kp_real least;       // a diagonal below this is none
  kp_real full;        // a density below this has too few neighbours for a divergence
  kp_real relaxation;  // omega of the Jacobi iteration
  const sph_four *gradient;
  const kp_real *density;
  kp_real *factor;             // of the density
  kp_real *divergence_factor;  // and of the divergence
} sph_implicit_factor_args;

SPH_INLINE void sph_implicit_factor(int64_t i, const sph_implicit_factor_args *a) {
  sph_four g = a->gradient[i];
  kp_real diagonal = a->volume * g[3] + a->inverse * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
  if (!(a->volume > (kp_real)0)) {
    diagonal = g[3] > (kp_real)0 ? a->fixed : (kp_real)0;
  }
  kp_real factor = diagonal > a->least ? a->relaxation / diagonal : (kp_real)0;
  a->factor[i] = factor;
  a->divergence_factor[i] = a->density[i] > a->full ? factor : (kp_real)0;
}

// v += dt a, and the velocity as four numbers
typedef struct sph_implicit_kick_args {
  kp_real dt;
  const kp_real *ax, *ay, *az;  // NULL: none
  kp_real *vx, *vy, *vz;
  sph_four *u;
} sph_implicit_kick_args;

SPH_INLINE void sph_implicit_kick(int64_t i, const sph_implicit_kick_args *a) {
  sph_four u;
  sph_four_set(&u, a->vx[i], a->vy[i], a->vz[i], 0);
  if (a->ax) {
    sph_four acceleration;
    sph_four_set(&acceleration, a->ax[i], a->ay[i], a->az[i], 0);
    u = u + a->dt * acceleration;
    a->vx[i] = u[0];
    a->vy[i] = u[1];
    a->vz[i] = u[2];
  }
  a->u[i] = u;
}

// The velocities that a solve found become those of the liquid.
typedef struct sph_implicit_take_args {
  const sph_four *u;
  sph_four *v;
  kp_real *vx, *vy, *vz;
} sph_implicit_take_args;

SPH_INLINE void sph_implicit_take(int64_t i, const sph_implicit_take_args *a) {
  sph_four u = a->u[i];
  a->v[i] = u;
  a->vx[i] = u[0];
  a->vy[i] = u[1];
  a->vz[i] = u[2];
}

typedef struct sph_implicit_move_args {
  double dt;
  const kp_real *vx, *vy, *vz;
  kp_pos *x, *y, *z;
} sph_implicit_move_args;

SPH_INLINE void sph_implicit_move(int64_t i, const sph_implicit_move_args *a) {
  a->x[i] += a->dt * (double)a->vx[i];
  a->y[i] += a->dt * (double)a->vy[i];
  a->z[i] += a->dt * (double)a->vz[i];
}

// Accelerations of a liquid: gravity and what the passes gave.
typedef struct sph_implicit_accelerate_args {
  kp_real gx, gy, gz;
  const sph_four *push;
  kp_real *ax, *ay, *az;
} sph_implicit_accelerate_args;

SPH_INLINE void sph_implicit_accelerate(int64_t i, const sph_implicit_accelerate_args *a) {
  sph_four push = a->push[i];
  a->ax[i] = a->gx + push[0];
  a->ay[i] = a->gy + push[1];
  a->az[i] = a->gz + push[2];
}

// Forces on samples of bodies, from what the passes gave per volume.
typedef struct sph_implicit_react_args {
  const kp_real *volume;
  const sph_four *push;
  kp_real *fx, *fy, *fz;
} sph_implicit_react_args;

SPH_INLINE void sph_implicit_react(int64_t i, const sph_implicit_react_args *a) {
  sph_four force = a->volume[i] * a->push[i];
  a->fx[i] += force[0];
  a->fy[i] += force[1];
  a->fz[i] += force[2];
}

// How far the end of the step will be from s_i = 1; for the divergence, from the present s_i.
typedef struct sph_residual {
  kp_real dt;
  kp_real inverse;         // 1/rho_0
  const kp_real *density;  // NULL: the divergence
  const kp_real *rate;
} sph_residual;

SPH_INLINE kp_real sph_residual_of(int64_t i, const sph_residual *r) {
  kp_real excess = r->density ? kp_product(r->density[i], r->inverse) - (kp_real)1 : (kp_real)0;
  return excess + kp_product(r->dt, r->rate[i]);
}

// A step of the projected Jacobi iteration with momentum (Nesterov 1983): from the point y = P,
// Q = max(y + omega residual(y) / (dt^2 diagonal), 0) and on to y = max(Q + momentum (Q - Q_last),
// 0). A liquid that may pull has no such floor.
typedef struct sph_implicit_relax_args {
  sph_residual residual;
  kp_real inverse_dt2;
  kp_real momentum;
  int32_t pulls;
  const kp_real *factor;
  kp_real *last;  // Q of the step before
  kp_real *p;
} sph_implicit_relax_args;

SPH_INLINE void sph_implicit_relax(int64_t i, const sph_implicit_relax_args *a) {
  kp_real factor = a->factor[i];
  kp_real q = a->p[i] + sph_residual_of(i, &a->residual) * factor * a->inverse_dt2;
  q = (a->pulls || q > (kp_real)0) && factor > (kp_real)0 ? q : (kp_real)0;
  kp_real p = a->momentum > (kp_real)0 ? q + a->momentum * (q - a->last[i]) : q;
  a->last[i] = q;
  a->p[i] = a->pulls || p > (kp_real)0 ? p : (kp_real)0;
}

// How far from the rest density the liquid will be: sum and largest. Too thin counts where pressure
// makes it so; else a pressure kept from the last step would blow up what has come to rest.
typedef struct sph_implicit_error_args {
  sph_residual residual;
  const kp_real *factor, *p;
} sph_implicit_error_args;

#define SPH_IMPLICIT_ERROR_OPS KP_REDUCE_SUM, KP_REDUCE_MAX

SPH_INLINE void sph_implicit_error(int64_t i, const sph_implicit_error_args *a, double *v) {
  double residual = (double)sph_residual_of(i, &a->residual);
  double thin = a->p[i] != (kp_real)0 ? -residual : 0.0;
  double error = residual > 0.0 ? residual : thin;
  v[0] = v[1] = a->factor[i] > (kp_real)0 ? error : 0.0;
}

// ---- variants and the list ----------------------------------------------------------------------

#define SPH_IMPLICIT_VARIANTS(set, wk, gk)                                                         \
  typedef sph_implicit_terms_args sph_implicit_terms_##set##_args;                                 \
  SPH_INLINE void sph_implicit_terms_##set(int64_t i, const sph_implicit_terms_args *a) {          \
    sph_implicit_terms_body(wk, gk, i, a);                                                         \
  }

SPH_KERNEL_SETS(SPH_IMPLICIT_VARIANTS)

#define SPH_IMPLICIT_KERNELS(POINT, REDUCE)                                                        \
  POINT(sph, implicit_terms_mueller)                                                               \
  POINT(sph, implicit_terms_cubic)                                                                 \
  POINT(sph, implicit_terms_wendland)                                                              \
  POINT(sph, implicit_terms_desbrun)                                                               \
  POINT(sph, implicit_push)                                                                        \
  POINT(sph, implicit_rate)                                                                        \
  POINT(sph, implicit_viscosity)                                                                   \
  POINT(sph, implicit_central)                                                                     \
  POINT(sph, implicit_owner)                                                                       \
  POINT(sph, implicit_factor)                                                                      \
  POINT(sph, implicit_kick)                                                                        \
  POINT(sph, implicit_take)                                                                        \
  POINT(sph, implicit_move)                                                                        \
  POINT(sph, implicit_accelerate)                                                                  \
  POINT(sph, implicit_react)                                                                       \
  POINT(sph, implicit_relax)                                                                       \
  REDUCE(sph, implicit_error, SPH_IMPLICIT_ERROR_OPS)
