// What one particle does for surface tension: where the liquid ends, which way the surface looks,
// how much it is bent. Equation numbers: B = Bayraktar 2010, H = Hong 2009; signs as corrected in
// the method's page (sph.md).
//
// A normal here looks out of the liquid. All sums use poly6, whose slope is smooth at r = 0; the
// volume V of a particle is that of the rest lattice, for which the scale of a normal is made
// (sph_tension.c).
#pragma once

#include "methods/sph/sph_kernels.h"

// ---- colour: c_i = V sum_j W (Morris 2000; B 3.24), samples of walls count by their wetting
// ------

typedef struct sph_tension_color_args {
  kp_smooth w;
  kp_real weight;  // V, times the wetting for samples of walls
  int32_t add;
  kp_real *share;
} sph_tension_color_args;

typedef struct sph_tension_color_i {
  kp_real before;
} sph_tension_color_i;

typedef struct sph_tension_color_acc {
  kp_w sum;
} sph_tension_color_acc;

KP_PAIR_J(sph_tension_color, SPH_NO_J)

SPH_INLINE void sph_tension_color_load(int64_t i, const sph_tension_color_args *a,
                                       sph_tension_color_i *self, sph_tension_color_acc *acc) {
  self->before = a->add ? a->share[i] : (kp_real)0;
  acc->sum = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_tension_color_pair(sph_tension_color_acc *acc, const sph_tension_color_i *self,
                                       const sph_tension_color_j *j, kp_w dx, kp_w dy, kp_w dz,
                                       kp_w r2, const sph_tension_color_args *a) {
  (void)self, (void)j, (void)dx, (void)dy, (void)dz;
  acc->sum += kp_smooth_w(KP_SMOOTH_POLY6, r2, &a->w);
}

SPH_INLINE void sph_tension_color_store(int64_t i, const sph_tension_color_acc *acc,
                                        const sph_tension_color_i *self,
                                        const sph_tension_color_args *a) {
  a->share[i] = self->before + a->weight * kp_w_sum(acc->sum);
}

// ---- normal from colours, outward: n_i = -V sum_j grad W, or with (c_j - c_i) before it (B 3.25)
// --
//
// The difference vanishes in any full neighbourhood, but where there are no particles beyond the
// surface it also holds the outermost ones least: they evaporate.

#define SPH_TENSION_GRADIENT_J(X) X(share)

typedef struct sph_tension_gradient_args {
  kp_smooth w;
  kp_real weight;
  int32_t add;
  int32_t plain;  // no difference, share is not looked at
  int32_t wall;   // samples have no colour of their own: they are liquid through and through
  const kp_real *share;
  const kp_real *j_share;
  kp_real *nx, *ny, *nz;
} sph_tension_gradient_args;

typedef struct sph_tension_gradient_i {
  kp_real share, x, y, z;
} sph_tension_gradient_i;

typedef struct sph_tension_vector_acc {
  kp_w x, y, z;
} sph_tension_vector_acc;
typedef sph_tension_vector_acc sph_tension_gradient_acc;

KP_PAIR_J(sph_tension_gradient, SPH_TENSION_GRADIENT_J)

SPH_INLINE void sph_tension_gradient_load(int64_t i, const sph_tension_gradient_args *a,
                                          sph_tension_gradient_i *self,
                                          sph_tension_gradient_acc *acc) {
  self->share = a->share[i];
  self->x = a->add ? a->nx[i] : (kp_real)0;
  self->y = a->add ? a->ny[i] : (kp_real)0;
  self->z = a->add ? a->nz[i] : (kp_real)0;
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_tension_gradient_pair(sph_tension_gradient_acc *acc,
                                          const sph_tension_gradient_i *self,
                                          const sph_tension_gradient_j *j, kp_w dx, kp_w dy,
                                          kp_w dz, kp_w r2, const sph_tension_gradient_args *a) {
  kp_w one = kp_w_splat((kp_real)1);
  kp_w other = a->wall ? one : j->share;
  kp_w s = (a->plain ? one : other - self->share) * kp_smooth_g(KP_SMOOTH_POLY6, r2, &a->w);
  acc->x -= s * dx;
  acc->y -= s * dy;
  acc->z -= s * dz;
}

SPH_INLINE void sph_tension_gradient_store(int64_t i, const sph_tension_gradient_acc *acc,
                                           const sph_tension_gradient_i *self,
                                           const sph_tension_gradient_args *a) {
  a->nx[i] = self->x + a->weight * kp_w_sum(acc->x);
  a->ny[i] = self->y + a->weight * kp_w_sum(acc->y);
  a->nz[i] = self->z + a->weight * kp_w_sum(acc->z);
}

// ---- normal from centroids: the sums of x_i - x_j and of 1 over all within H (B 5.6, 5.7)
// ---------

typedef struct sph_tension_centroid_args {
  kp_real support2;
  kp_real weight;  // 1, or the wetting for samples of walls
  int32_t add;
  kp_real *share;  // how many
  kp_real *nx, *ny, *nz;
} sph_tension_centroid_args;

typedef struct sph_tension_centroid_i {
  kp_real share, x, y, z;
} sph_tension_centroid_i;

typedef struct sph_tension_centroid_acc {
  kp_w x, y, z, count;
} sph_tension_centroid_acc;

KP_PAIR_J(sph_tension_centroid, SPH_NO_J)

SPH_INLINE void sph_tension_centroid_load(int64_t i, const sph_tension_centroid_args *a,
                                          sph_tension_centroid_i *self,
                                          sph_tension_centroid_acc *acc) {
  self->share = a->add ? a->share[i] : (kp_real)0;
  self->x = a->add ? a->nx[i] : (kp_real)0;
  self->y = a->add ? a->ny[i] : (kp_real)0;
  self->z = a->add ? a->nz[i] : (kp_real)0;
  acc->x = acc->y = acc->z = acc->count = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_tension_centroid_pair(sph_tension_centroid_acc *acc,
                                          const sph_tension_centroid_i *self,
                                          const sph_tension_centroid_j *j, kp_w dx, kp_w dy,
                                          kp_w dz, kp_w r2, const sph_tension_centroid_args *a) {
  (void)self, (void)j;
  kp_w zero = kp_w_splat((kp_real)0);
  kp_wmask inside = kp_w_less(r2, kp_w_splat(a->support2));
  acc->x += kp_w_select(inside, dx, zero);
  acc->y += kp_w_select(inside, dy, zero);
  acc->z += kp_w_select(inside, dz, zero);
  acc->count += kp_w_select(inside, kp_w_splat((kp_real)1), zero);
}

SPH_INLINE void sph_tension_centroid_store(int64_t i, const sph_tension_centroid_acc *acc,
                                           const sph_tension_centroid_i *self,
                                           const sph_tension_centroid_args *a) {
  a->share[i] = self->share + a->weight * kp_w_sum(acc->count);
  a->nx[i] = self->x + a->weight * kp_w_sum(acc->x);
  a->ny[i] = self->y + a->weight * kp_w_sum(acc->y);
  a->nz[i] = self->z + a->weight * kp_w_sum(acc->z);
}

// ---- colour by its gradient and Laplacian, in one pass (Mueller et al. 2003; H 2.25, 2.26)
// -------

typedef struct sph_tension_laplacian_args {
  kp_smooth w;
  kp_real dimension;
  kp_real weight;
  int32_t add;
  kp_real *share;  // Lap c
  kp_real *nx, *ny, *nz;
} sph_tension_laplacian_args;

typedef sph_tension_centroid_i sph_tension_laplacian_i;
typedef sph_tension_centroid_acc sph_tension_laplacian_acc;

KP_PAIR_J(sph_tension_laplacian, SPH_NO_J)

SPH_INLINE void sph_tension_laplacian_load(int64_t i, const sph_tension_laplacian_args *a,
                                           sph_tension_laplacian_i *self,
                                           sph_tension_laplacian_acc *acc) {
  self->share = a->add ? a->share[i] : (kp_real)0;
  self->x = a->add ? a->nx[i] : (kp_real)0;
  self->y = a->add ? a->ny[i] : (kp_real)0;
  self->z = a->add ? a->nz[i] : (kp_real)0;
  acc->x = acc->y = acc->z = acc->count = kp_w_splat((kp_real)0);
}

// With grad W = g d and g = k t^2, t = H^2 - r^2: Lap W = k t (dim H^2 - (dim + 4) r^2).
SPH_INLINE void sph_tension_laplacian_pair(sph_tension_laplacian_acc *acc,
                                           const sph_tension_laplacian_i *self,
                                           const sph_tension_laplacian_j *j, kp_w dx, kp_w dy,
                                           kp_w dz, kp_w r2, const sph_tension_laplacian_args *a) {
  (void)self, (void)j;
  kp_w t = kp_smooth_positive(a->w.support2 - r2);
  kp_w s = a->w.g_scale * t;
  acc->count +=
      s * (a->dimension * a->w.support2 - (a->dimension + (kp_real)4) * (a->w.support2 - t));
  acc->x -= s * t * dx;
  acc->y -= s * t * dy;
  acc->z -= s * t * dz;
}

SPH_INLINE void sph_tension_laplacian_store(int64_t i, const sph_tension_laplacian_acc *acc,
                                            const sph_tension_laplacian_i *self,
                                            const sph_tension_laplacian_args *a) {
  a->share[i] = self->share + a->weight * kp_w_sum(acc->count);
  a->nx[i] = self->x + a->weight * kp_w_sum(acc->x);
  a->ny[i] = self->y + a->weight * kp_w_sum(acc->y);
  a->nz[i] = self->z + a->weight * kp_w_sum(acc->z);
}

// ---- from sums to normals -----------------------------------------------------------------------

typedef struct sph_tension_unit_args {
  int32_t centroid;  // nx.. hold the sums of a centroid, share the count
  kp_real scale;     // makes of a normal a delta of the surface [1/m]
  kp_real cutoff;    // shorter normals are noise
  kp_real skin;      // centroid: longer ones belong to the surface
  kp_real few;       // centroid: so does who has fewer neighbours, itself counted
  const kp_real *share;
  kp_real *nx, *ny, *nz;  // the sums; afterwards the delta times the direction
  kp_real *ux, *uy, *uz;  // unit normal, zero where there is none; NULL: only the surface is asked
  uint8_t *surface;       // NULL: not asked
} sph_tension_unit_args;

KP_FN void sph_tension_unit(int64_t i, const sph_tension_unit_args *a) {
  kp_real mean = a->centroid ? (kp_real)1 / a->share[i] : (kp_real)1;
  kp_real x = a->nx[i] * mean;
  kp_real y = a->ny[i] * mean;
  kp_real z = a->nz[i] * mean;
  kp_real length = (kp_real)sqrt(x * x + y * y + z * z);
  if (a->surface) {
    a->surface[i] = length > a->skin || a->share[i] < a->few ? 1 : 0;
  }
  if (a->ux) {
    kp_real turn = length > a->cutoff ? (kp_real)1 / length : (kp_real)0;
    kp_real delta = a->scale * (length - a->cutoff);  // grows from nothing at the cut-off
    a->ux[i] = x * turn;
    a->uy[i] = y * turn;
    a->uz[i] = z * turn;
    a->nx[i] = a->ux[i] * delta;
    a->ny[i] = a->uy[i] * delta;
    a->nz[i] = a->uz[i] * delta;
  }
}

// ---- normals of a neighbourhood: noise in them would heat the liquid
// ------------------------------

#define SPH_TENSION_SMOOTH_J(X)                                                                    \
  X(nx)                                                                                            \
  X(ny)                                                                                            \
  X(nz)

typedef struct sph_tension_smooth_args {
  kp_smooth w;
  int32_t add, last;
  const kp_real *nx, *ny, *nz;
  const kp_real *j_nx, *j_ny, *j_nz;
  kp_real *ux, *uy,
      *uz;  // the sums; after the last pass unit normals, zero where there is no delta
} sph_tension_smooth_args;

typedef struct sph_tension_smooth_i {
  kp_real x, y, z;
} sph_tension_smooth_i;

typedef sph_tension_vector_acc sph_tension_smooth_acc;

KP_PAIR_J(sph_tension_smooth, SPH_TENSION_SMOOTH_J)

SPH_INLINE void sph_tension_smooth_load(int64_t i, const sph_tension_smooth_args *a,
                                        sph_tension_smooth_i *self, sph_tension_smooth_acc *acc) {
  self->x = a->add ? a->ux[i] : (kp_real)0;
  self->y = a->add ? a->uy[i] : (kp_real)0;
  self->z = a->add ? a->uz[i] : (kp_real)0;
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_tension_smooth_pair(sph_tension_smooth_acc *acc,
                                        const sph_tension_smooth_i *self,
                                        const sph_tension_smooth_j *j, kp_w dx, kp_w dy, kp_w dz,
                                        kp_w r2, const sph_tension_smooth_args *a) {
  (void)self, (void)dx, (void)dy, (void)dz;
  kp_w w = kp_smooth_w(KP_SMOOTH_POLY6, r2, &a->w);
  acc->x += w * j->nx;
  acc->y += w * j->ny;
  acc->z += w * j->nz;
}

SPH_INLINE void sph_tension_smooth_store(int64_t i, const sph_tension_smooth_acc *acc,
                                         const sph_tension_smooth_i *self,
                                         const sph_tension_smooth_args *a) {
  kp_real x = self->x + kp_w_sum(acc->x);
  kp_real y = self->y + kp_w_sum(acc->y);
  kp_real z = self->z + kp_w_sum(acc->z);
  kp_real length2 = x * x + y * y + z * z;
  kp_real own = a->nx[i] * a->nx[i] + a->ny[i] * a->ny[i] + a->nz[i] * a->nz[i];
  kp_real turn = (kp_real)1;
  if (a->last) {
    turn =
        own > (kp_real)0 && length2 > (kp_real)0 ? (kp_real)1 / (kp_real)sqrt(length2) : (kp_real)0;
  }
  a->ux[i] = x * turn;
  a->uy[i] = y * turn;
  a->uz[i] = z * turn;
}

// ---- curvature: div n over the particles that have a normal (B 3.26, 3.27)
// -----------------------
//
// Divided by the same sum for the unit sphere, d_t . grad W over the tangential part of d: exact
// for spheres however few neighbours are left, where Morris' sum of V W is so for half-spaces
// alone. The volumes cancel.

#define SPH_TENSION_CURVATURE_J(X)                                                                 \
  X(ux)                                                                                            \
  X(uy)                                                                                            \
  X(uz)

typedef struct sph_tension_curvature_args {
  kp_smooth w;
  kp_real axes;    // tangential ones: 1 in 2D, 2 in 3D
  kp_real least;   // of the divisor
  kp_real outer;   // the surface bends less than a layer below: added to its radius
  kp_real bound;   // curvatures beyond cannot be told apart from noise [1/m]
  kp_real factor;  // sigma / rho_0; negative: the signs as printed
  int32_t add, last;
  const kp_real *ux, *uy, *uz;
  const kp_real *nx, *ny, *nz;
  const kp_real *j_ux, *j_uy, *j_uz;
  kp_real *bend, *weight;  // sums between passes
  kp_real *ax, *ay, *az;   // the last pass pushes
} sph_tension_curvature_args;

typedef struct sph_tension_curvature_i {
  kp_real x, y, z, bend, weight;
} sph_tension_curvature_i;

typedef struct sph_tension_curvature_acc {
  kp_w bend, weight;
} sph_tension_curvature_acc;

KP_PAIR_J(sph_tension_curvature, SPH_TENSION_CURVATURE_J)

SPH_INLINE void sph_tension_curvature_load(int64_t i, const sph_tension_curvature_args *a,
                                           sph_tension_curvature_i *self,
                                           sph_tension_curvature_acc *acc) {
  self->x = a->ux[i];
  self->y = a->uy[i];
  self->z = a->uz[i];
  self->bend = a->add ? a->bend[i] : (kp_real)0;
  self->weight = a->add ? a->weight[i] : (kp_real)0;
  acc->bend = acc->weight = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_tension_curvature_pair(sph_tension_curvature_acc *acc,
                                           const sph_tension_curvature_i *self,
                                           const sph_tension_curvature_j *j, kp_w dx, kp_w dy,
                                           kp_w dz, kp_w r2, const sph_tension_curvature_args *a) {
  kp_w length2 = j->ux * j->ux + j->uy * j->uy + j->uz * j->uz;
  kp_w g = kp_w_select(kp_w_less(length2, kp_w_splat((kp_real)0.5)), kp_w_splat((kp_real)0),
                       kp_smooth_g(KP_SMOOTH_POLY6, r2, &a->w));
  kp_w along = self->x * dx + self->y * dy + self->z * dz;
  acc->bend += g * ((j->ux - self->x) * dx + (j->uy - self->y) * dy + (j->uz - self->z) * dz);
  acc->weight -= g * (r2 - along * along);
}

// a_i = -(sigma/rho_0) (div n) delta n
SPH_INLINE void sph_tension_curvature_store(int64_t i, const sph_tension_curvature_acc *acc,
                                            const sph_tension_curvature_i *self,
                                            const sph_tension_curvature_args *a) {
  kp_real bend = self->bend + kp_w_sum(acc->bend);
  kp_real weight = self->weight + kp_w_sum(acc->weight);
  if (!a->last) {
    a->bend[i] = bend;
    a->weight[i] = weight;
    return;
  }
  kp_real k = weight > a->least ? a->axes * bend / weight : (kp_real)0;
  k = k > a->bound ? a->bound : (k < -a->bound ? -a->bound : k);
  kp_real widen = (kp_real)1 + a->outer * k / a->axes;
  k /= widen > (kp_real)0.5 ? widen : (kp_real)0.5;
  kp_real s = -a->factor * k;
  a->ax[i] += s * a->nx[i];
  a->ay[i] += s * a->ny[i];
  a->az[i] += s * a->nz[i];
}

// ---- the colour's Laplacian as curvature: a = -sigma Lap(c) n/|n| / rho (H 2.26, inward n)
// -------

typedef struct sph_tension_push_args {
  kp_real factor;  // sigma / rho_0; negative: the signs as printed
  const kp_real *share;
  const kp_real *ux, *uy, *uz;
  kp_real *ax, *ay, *az;
} sph_tension_push_args;

KP_FN void sph_tension_push(int64_t i, const sph_tension_push_args *a) {
  kp_real s = a->factor * a->share[i];
  a->ax[i] += s * a->ux[i];
  a->ay[i] += s * a->uy[i];
  a->az[i] += s * a->uz[i];
}

// ---- cohesion between pairs (Akinci, Akinci & Teschner 2013, Eq. 1-2)
// ----------------------------
//
// a_i = -gamma sum_j m_j C(u) d/r, u = r/H, C = (1-u)^3 u^3, within half the support 2 (1-u)^3 u^3
// - 1/64: pulls far neighbours, pushes near ones. Antisymmetric, so momentum is kept.

typedef struct sph_tension_cohesion_args {
  kp_smooth w;
  kp_real strength;  // gamma m_j [m/s^2]
  kp_real *ax, *ay, *az;
} sph_tension_cohesion_args;

typedef struct sph_tension_cohesion_i {
  char unused;
} sph_tension_cohesion_i;

typedef sph_tension_vector_acc sph_tension_cohesion_acc;

KP_PAIR_J(sph_tension_cohesion, SPH_NO_J)

SPH_INLINE void sph_tension_cohesion_load(int64_t i, const sph_tension_cohesion_args *a,
                                          sph_tension_cohesion_i *self,
                                          sph_tension_cohesion_acc *acc) {
  (void)i, (void)a;
  self->unused = 0;
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_tension_cohesion_pair(sph_tension_cohesion_acc *acc,
                                          const sph_tension_cohesion_i *self,
                                          const sph_tension_cohesion_j *j, kp_w dx, kp_w dy,
                                          kp_w dz, kp_w r2, const sph_tension_cohesion_args *a) {
  (void)self, (void)j;
  kp_w r = kp_w_sqrt(r2);
  kp_w u = kp_w_min(r * a->w.inverse, kp_w_splat((kp_real)1));
  kp_w t = u * ((kp_real)1 - u);
  kp_w c = t * t * t;
  c = kp_w_select(kp_w_less(u, kp_w_splat((kp_real)0.5)), (kp_real)2 * c - (kp_real)(1.0 / 64.0),
                  c);
  kp_w s = c / kp_w_max(r, kp_w_splat(a->w.tiny));
  acc->x -= s * dx;
  acc->y -= s * dy;
  acc->z -= s * dz;
}

SPH_INLINE void sph_tension_cohesion_store(int64_t i, const sph_tension_cohesion_acc *acc,
                                           const sph_tension_cohesion_i *self,
                                           const sph_tension_cohesion_args *a) {
  (void)self;
  a->ax[i] += a->strength * kp_w_sum(acc->x);
  a->ay[i] += a->strength * kp_w_sum(acc->y);
  a->az[i] += a->strength * kp_w_sum(acc->z);
}

// ---- the list -----------------------------------------------------------------------------------

#define SPH_TENSION_POINT_KERNELS(POINT)                                                           \
  POINT(sph, tension_unit)                                                                         \
  POINT(sph, tension_push)

#define SPH_TENSION_PAIR_KERNELS(PAIR)                                                             \
  PAIR(sph, tension_color, sph_tension_color_args, SPH_NO_J)                                       \
  PAIR(sph, tension_gradient, sph_tension_gradient_args, SPH_TENSION_GRADIENT_J)                   \
  PAIR(sph, tension_centroid, sph_tension_centroid_args, SPH_NO_J)                                 \
  PAIR(sph, tension_laplacian, sph_tension_laplacian_args, SPH_NO_J)                               \
  PAIR(sph, tension_smooth, sph_tension_smooth_args, SPH_TENSION_SMOOTH_J)                         \
  PAIR(sph, tension_curvature, sph_tension_curvature_args, SPH_TENSION_CURVATURE_J)                \
  PAIR(sph, tension_cohesion, sph_tension_cohesion_args, SPH_NO_J)
