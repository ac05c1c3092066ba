// What one particle does in a mixture: concentrations even out, and weigh. Equation numbers: B =
// Bayraktar 2010; Tartakovsky & Meakin 2005 for the densities.
//
// All pair forces are computed as if every particle had the mass of its liquid without solute: they
// depend on number densities alone. Divided by the particle's true mass they are its acceleration,
// so masses never enter a pair sum, and the heavy liquid sinks.
#pragma once

#include "methods/sph/sph_kernels.h"

// ---- diffusion of the concentration (B 5.15) ----------------------------------------------------
//
// dC_i/dt = sum_j (D_i n_i + D_j n_j)/(n_i n_j) (C_i - C_j) d.grad W/(r^2 + 0.01 h^2), n = rho/m:
// antisymmetric, so that the sum of C stays.

#define SPH_MIX_J(X)                                                                               \
  X(c)                                                                                             \
  X(inverse)

typedef struct sph_mix_args {
  kp_smooth g;
  kp_real mass, j_mass;  // without solute
  kp_real dispersion, j_dispersion;
  kp_real eta2;
  int32_t add;
  const kp_real *c, *inverse;
  const kp_real *j_c, *j_inverse;
  kp_real *rate;
} sph_mix_args;

typedef struct sph_mix_i {
  kp_real c, own, before;
} sph_mix_i;

typedef struct sph_mix_acc {
  kp_w sum;
} sph_mix_acc;

KP_PAIR_J(sph_mix, SPH_MIX_J)

SPH_INLINE void sph_mix_load(int64_t i, const sph_mix_args *a, sph_mix_i *self, sph_mix_acc *acc) {
  self->c = a->c[i];
  self->own = a->mass * a->inverse[i];  // 1/n_i
  self->before = a->add ? a->rate[i] : (kp_real)0;
  acc->sum = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_mix_store(int64_t i, const sph_mix_acc *acc, const sph_mix_i *self,
                              const sph_mix_args *a) {
  a->rate[i] = self->before + kp_w_sum(acc->sum);
}

SPH_INLINE void sph_mix_body(int kind, sph_mix_acc *acc, const sph_mix_i *self, const sph_mix_j *j,
                             kp_w r2, const sph_mix_args *a) {
  kp_w volumes = a->dispersion * a->j_mass * j->inverse + a->j_dispersion * self->own;
  kp_w slope = r2 * kp_smooth_g(kind, r2, &a->g) / (r2 + a->eta2);
  acc->sum += volumes * (self->c - j->c) * slope;
}

#define SPH_MIX_VARIANT(name, kind)                                                                \
  KP_PAIR_VARIANT(sph_mix_##name, sph_mix)                                                         \
  SPH_INLINE void sph_mix_##name##_pair(sph_mix_acc *acc, const sph_mix_i *self,                   \
                                        const sph_mix_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,    \
                                        const sph_mix_args *a) {                                   \
    (void)dx, (void)dy, (void)dz;                                                                  \
    sph_mix_body(kind, acc, self, j, r2, a);                                                       \
  }

SPH_MIX_VARIANT(poly6, KP_SMOOTH_POLY6)
SPH_MIX_VARIANT(cubic, KP_SMOOTH_CUBIC)
SPH_MIX_VARIANT(wendland, KP_SMOOTH_WENDLAND)

// ---- points -------------------------------------------------------------------------------------

typedef struct sph_mix_advance_args {
  kp_real dt;
  const kp_real *rate;
  kp_real *c;
} sph_mix_advance_args;

KP_FN void sph_mix_advance(int64_t i, const sph_mix_advance_args *a) {
  a->c[i] += a->dt * a->rate[i];
}

// Masses m_f + alpha C (B 5.14), and the density they give.
typedef struct sph_mix_weigh_args {
  kp_real mass;   // m_f
  kp_real heavy;  // alpha / m_f
  const kp_real *c, *density;
  kp_real *mass_of, *true_density;
} sph_mix_weigh_args;

KP_FN void sph_mix_weigh(int64_t i, const sph_mix_weigh_args *a) {
  kp_real factor = (kp_real)1 + a->heavy * a->c[i];
  a->mass_of[i] = a->mass * factor;
  a->true_density[i] = a->density[i] * factor;
}

// Forces over the mass without solute become accelerations; gravity pulls all alike.
typedef struct sph_mix_accelerate_args {
  kp_real heavy;  // alpha / m_f
  kp_real gx, gy, gz;
  const kp_real *c;
  kp_real *ax, *ay, *az;
} sph_mix_accelerate_args;

KP_FN void sph_mix_accelerate(int64_t i, const sph_mix_accelerate_args *a) {
  kp_real light = (kp_real)1 / ((kp_real)1 + a->heavy * a->c[i]);
  a->ax[i] = a->gx + (a->ax[i] - a->gx) * light;
  a->ay[i] = a->gy + (a->ay[i] - a->gy) * light;
  a->az[i] = a->gz + (a->az[i] - a->gz) * light;
}

#define SPH_MIX_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  POINT(sph, mix_advance)                                                                          \
  POINT(sph, mix_weigh)                                                                            \
  POINT(sph, mix_accelerate)                                                                       \
  PAIR(sph, mix_poly6, sph_mix_args, SPH_MIX_J)                                                    \
  PAIR(sph, mix_cubic, sph_mix_args, SPH_MIX_J)                                                    \
  PAIR(sph, mix_wendland, sph_mix_args, SPH_MIX_J)
