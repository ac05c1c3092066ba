// What one particle does in weakly compressible SPH. Equation numbers: B = Bayraktar 2010, L = Lyes
// 2015; signs and factors as corrected in the method's page (sph.md).
//
// Conventions: d = x_i - x_j, grad_i W = g d with g <= 0 (math/smoothing.h). Sums over j leave out
// the factor m_j, which is one number per set and is applied in `store`.
#pragma once

#include "data/pairs.h"
#include "math/smoothing.h"

#ifdef __CUDACC__
#define SPH_INLINE KP_FN
#else
#define SPH_INLINE KP_WIDE_FN
#endif

// What a variant of a kernel fixes at compile time.
typedef struct sph_choice {
  int w, g;             // kp_smooth_kind of densities and of gradients
  int form, viscosity;  // sph_form, sph_viscosity
  int fused;
} sph_choice;

// Where the other one is: d = x_i - x_j, r2 = d.d
typedef struct sph_gap {
  kp_w x, y, z, r2;
} sph_gap;

// ---- density: rho_i = sum_j m_j W(r_ij), the particle itself included (B 3.13, L 4.4) -----------

#define SPH_NO_J(X)

typedef struct sph_density_args {
  kp_smooth w;
  kp_real mass;  // of a j particle
  int32_t add;   // 1: add to what other sets gave
  kp_real *density;
} sph_density_args;

typedef struct sph_density_i {
  kp_real before;
} sph_density_i;

typedef struct sph_density_acc {
  kp_w sum;
} sph_density_acc;

KP_PAIR_J(sph_density, SPH_NO_J)

SPH_INLINE void sph_density_load(int64_t i, const sph_density_args *a, sph_density_i *self,
                                 sph_density_acc *acc) {
  self->before = a->add ? a->density[i] : (kp_real)0;
  acc->sum = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_density_store(int64_t i, const sph_density_acc *acc, const sph_density_i *self,
                                  const sph_density_args *a) {
  a->density[i] = self->before + a->mass * kp_w_sum(acc->sum);
}

SPH_INLINE void sph_density_body(int kind, sph_density_acc *acc, kp_w r2,
                                 const sph_density_args *a) {
  acc->sum += kp_smooth_w(kind, r2, &a->w);
}

// ---- density from samples of walls, each rho_0 V_b (Akinci et al. 2012, Eq. 4; B 5.1.1) ---------

#define SPH_WALL_DENSITY_J(X) X(volume)

typedef struct sph_wall_density_args {
  kp_smooth w;
  kp_real rest_density;
  const kp_real *j_volume;
  kp_real *density;
} sph_wall_density_args;

typedef sph_density_i sph_wall_density_i;
typedef sph_density_acc sph_wall_density_acc;

KP_PAIR_J(sph_wall_density, SPH_WALL_DENSITY_J)

SPH_INLINE void sph_wall_density_load(int64_t i, const sph_wall_density_args *a,
                                      sph_wall_density_i *self, sph_wall_density_acc *acc) {
  self->before = a->density[i];
  acc->sum = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_wall_density_store(int64_t i, const sph_wall_density_acc *acc,
                                       const sph_wall_density_i *self,
                                       const sph_wall_density_args *a) {
  a->density[i] = self->before + a->rest_density * kp_w_sum(acc->sum);
}

SPH_INLINE void sph_wall_density_body(int kind, sph_wall_density_acc *acc, kp_w volume, kp_w r2,
                                      const sph_wall_density_args *a) {
  acc->sum += volume * kp_smooth_w(kind, r2, &a->w);
}

// ---- equation of state --------------------------------------------------------------------------

typedef struct sph_state_args {
  kp_real rest_density;
  kp_real stiffness;  // linear: k [m^2/s^2] (B 3.18); tait: B [Pa]
  kp_real exponent;
  int32_t tait;
  int32_t whole;    // the exponent when it is a small whole number, else 0
  int32_t clamp;    // no negative pressure
  int32_t squared;  // pressure / density^2 is stored instead of the pressure
  int32_t lagged;   // fused: the density is that of the positions one step ago
  kp_real *last;    // fused: the density before that; 0: none yet
  const kp_real *density;
  kp_real *pressure;
  kp_real *inverse;  // 1 / density
} sph_state_args;

// (1 + x)^gamma - 1 without the cancellation of the plain form: x is the small compression.
KP_FN kp_real sph_power_minus_one(kp_real x, const sph_state_args *a) {
  if (a->whole == 7) {
    kp_real p = x + (kp_real)7;
    p = x * p + (kp_real)21;
    p = x * p + (kp_real)35;
    p = x * p + (kp_real)35;
    p = x * p + (kp_real)21;
    p = x * p + (kp_real)7;
    return x * p;
  }
  return (kp_real)expm1((double)a->exponent * log1p((double)x));
}

// p = k (rho - rho_0), or p = B ((rho / rho_0)^gamma - 1)
// The lagged density of the fused form is brought to the present by the change it made over the
// last step: used as it is, sound grows by sqrt(1 + (c k dt)^2) per step as in explicit Euler, and
// no useful step is stable.
KP_FN void sph_state(int64_t i, const sph_state_args *a) {
  kp_real rho = a->density[i];
  if (a->last) {
    kp_real last = a->last[i];
    a->last[i] = rho;
    rho += a->lagged && last > (kp_real)0 ? rho - last : (kp_real)0;
  }
  kp_real inverse = (kp_real)1 / rho;
  kp_real p = a->tait
                  ? a->stiffness * sph_power_minus_one((rho - a->rest_density) / a->rest_density, a)
                  : a->stiffness * (rho - a->rest_density);
  p = a->clamp && p < (kp_real)0 ? (kp_real)0 : p;
  a->pressure[i] = a->squared ? p * inverse * inverse : p;
  a->inverse[i] = inverse;
}

// ---- pressure and viscous acceleration ----------------------------------------------------------

#define SPH_FORCE_J(X)                                                                             \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(p)                                                                                             \
  X(inverse)

typedef struct sph_force_args {
  kp_smooth w;           // density kernel, for the fused form
  kp_smooth g;           // gradient kernel
  kp_real mass;          // of the acceleration sums
  kp_real density_mass;  // of the density sum
  kp_real p_scale;       // on p_i; with `mass` it makes the squared form one of volumes, see below
  kp_real viscosity;     // mean dynamic viscosity of the two sets [Pa s]; central: D + 2 of it
  kp_real artificial;    // alpha c H/2
  kp_real eta2;          // 0.01 (H/2)^2
  int32_t add;
  kp_real gx, gy, gz;                                   // gravity, where nothing is added to
  const kp_real *vx, *vy, *vz, *p, *inverse;            // of the i set
  const kp_real *j_vx, *j_vy, *j_vz, *j_p, *j_inverse;  // of the j set
  kp_real *ax, *ay, *az;
  kp_real *density;  // fused: the new density
} sph_force_args;

typedef struct sph_force_i {
  kp_real vx, vy, vz, p, inverse;
  kp_real ax, ay, az, density;
} sph_force_i;

typedef struct sph_force_acc {
  kp_w x, y, z, density;
} sph_force_acc;

KP_PAIR_J(sph_force, SPH_FORCE_J)

SPH_INLINE void sph_force_load(int64_t i, const sph_force_args *a, sph_force_i *self,
                               sph_force_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->p = a->p_scale * a->p[i];
  self->inverse = a->inverse[i];
  self->ax = a->add ? a->ax[i] : a->gx;
  self->ay = a->add ? a->ay[i] : a->gy;
  self->az = a->add ? a->az[i] : a->gz;
  acc->x = acc->y = acc->z = acc->density = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_force_store(int64_t i, const sph_force_acc *acc, const sph_force_i *self,
                                const sph_force_args *a) {
  a->ax[i] = self->ax + a->mass * kp_w_sum(acc->x);
  a->ay[i] = self->ay + a->mass * kp_w_sum(acc->y);
  a->az[i] = self->az + a->mass * kp_w_sum(acc->z);
  if (a->density) {
    kp_real before = a->add ? a->density[i] : (kp_real)0;
    a->density[i] = before + a->density_mass * kp_w_sum(acc->density);
  }
}

typedef enum sph_form { SPH_FORM_MEAN, SPH_FORM_SQUARED } sph_form;
typedef enum sph_viscosity {
  SPH_VISCOSITY_LAPLACIAN,
  SPH_VISCOSITY_ARTIFICIAL,
  SPH_VISCOSITY_CENTRAL
} sph_viscosity;

// (u.d)/d^2, where a particle meets itself too.
SPH_INLINE kp_w sph_along(kp_w ud, kp_w r2, kp_real least) {
  return ud / kp_w_max(r2, kp_w_splat(least));
}

// a_i = -sum_j m_j f_ij grad W with, antisymmetric in the pair,
//   mean     f = (p_i + p_j) / (rho_i rho_j)   (B 3.21 with the missing 1/rho_i, without the 1/2)
//   squared  f = p_i/rho_i^2 + p_j/rho_j^2     (B 3.20, L 4.8; p holds p/rho^2)
// (the 1/2 of B 3.21 would halve the gradient, since sum_j V_j p_i grad W vanishes)
// and viscosity
//   laplacian   a_i = sum_j m_j mu (v_j - v_i) Lap W / (rho_i rho_j)    (B 3.22 corrected, L 4.13)
//   artificial  f += Pi, Pi = -alpha c (H/2) min(v.d, 0) / ((r^2 + eta^2) rho_ij)
//               (Monaghan 1992)
//   central     the laplacian's part along d, times D + 2 (Monaghan 2005; Weiler et al. 2018): no
//               pair resists a rotation, and in the mean it is mu (lap v + 2 grad div v)
// Between liquids of particle masses m_i, m_j the squared form is that of volumes, V_i^2 p_i +
// V_j^2 p_j (Hu & Adams 2006; Solenthaler & Pajarola 2008): with q = m_j/m_i it is
// m_j q (p_i/(q rho_i)^2 + p_j/rho_j^2), which p_scale = 1/q^2 and mass = m_j q give at no cost;
// the viscous coefficients are divided by q for it.
SPH_INLINE void sph_force_body(sph_choice c, sph_force_acc *acc, const sph_force_i *self,
                               const sph_force_j *j, const sph_gap *d, const sph_force_args *a) {
  kp_w g = kp_smooth_g(c.g, d->r2, &a->g);
  kp_w ux = self->vx - j->vx;
  kp_w uy = self->vy - j->vy;
  kp_w uz = self->vz - j->vz;
  kp_w f =
      c.form == SPH_FORM_MEAN ? (self->p + j->p) * (self->inverse * j->inverse) : self->p + j->p;
  if (c.viscosity == SPH_VISCOSITY_ARTIFICIAL) {
    kp_w approach = kp_w_min(ux * d->x + uy * d->y + uz * d->z, kp_w_splat((kp_real)0));
    kp_w mean = (kp_real)0.5 * (self->inverse + j->inverse);
    f -= a->artificial * approach * mean / (d->r2 + a->eta2);
    kp_w s = f * g;
    acc->x -= s * d->x;
    acc->y -= s * d->y;
    acc->z -= s * d->z;
  } else if (c.viscosity == SPH_VISCOSITY_CENTRAL) {
    kp_w v = (a->viscosity * self->inverse) * j->inverse * kp_smooth_lap(c.g, d->r2, g, &a->g);
    kp_w s = f * g + v * sph_along(ux * d->x + uy * d->y + uz * d->z, d->r2, a->eta2);
    acc->x -= s * d->x;
    acc->y -= s * d->y;
    acc->z -= s * d->z;
  } else {
    kp_w s = f * g;
    kp_w v = (a->viscosity * self->inverse) * j->inverse * kp_smooth_lap(c.g, d->r2, g, &a->g);
    acc->x -= s * d->x + v * ux;
    acc->y -= s * d->y + v * uy;
    acc->z -= s * d->z + v * uz;
  }
  if (c.fused) {
    acc->density += kp_smooth_w(c.w, d->r2, &a->w);
  }
}

// ---- continuity form: accelerations and the rate of density in one pass -------------------------

#define SPH_RATES_J(X)                                                                             \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(p)                                                                                             \
  X(density)

typedef struct sph_rates_args {
  kp_smooth g;
  kp_real mass, p_scale;  // as in sph_force_args
  kp_real rate_mass;      // of the sum of the rate
  kp_real viscosity, artificial, eta2;
  kp_real diffusion;  // 2 delta (H/2) c
  int32_t add;
  kp_real gx, gy, gz;  // gravity, where nothing is added to
  const kp_real *vx, *vy, *vz, *p, *density;
  const kp_real *j_vx, *j_vy, *j_vz, *j_p, *j_density;
  kp_real *ax, *ay, *az;
  kp_real *rate;  // d rho / dt
} sph_rates_args;

typedef struct sph_rates_i {
  kp_real vx, vy, vz, p, density, inverse;
  kp_real ax, ay, az, rate;
} sph_rates_i;

typedef struct sph_rates_acc {
  kp_w x, y, z, rate;
} sph_rates_acc;

KP_PAIR_J(sph_rates, SPH_RATES_J)

SPH_INLINE void sph_rates_load(int64_t i, const sph_rates_args *a, sph_rates_i *self,
                               sph_rates_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->p = a->p_scale * a->p[i];
  self->density = a->density[i];
  self->inverse = (kp_real)1 / a->density[i];
  self->ax = a->add ? a->ax[i] : a->gx;
  self->ay = a->add ? a->ay[i] : a->gy;
  self->az = a->add ? a->az[i] : a->gz;
  self->rate = a->add ? a->rate[i] : (kp_real)0;
  acc->x = acc->y = acc->z = acc->rate = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_rates_store(int64_t i, const sph_rates_acc *acc, const sph_rates_i *self,
                                const sph_rates_args *a) {
  a->ax[i] = self->ax + a->mass * kp_w_sum(acc->x);
  a->ay[i] = self->ay + a->mass * kp_w_sum(acc->y);
  a->az[i] = self->az + a->mass * kp_w_sum(acc->z);
  a->rate[i] = self->rate + a->rate_mass * kp_w_sum(acc->rate);
}

// d rho_i/dt = sum_j m_j (v_i - v_j).grad W + 2 delta (H/2) c sum_j (m_j/rho_j) (rho_i - rho_j) g
// (Monaghan 1992; diffusion of Molteni & Colagrossi 2009, with x.grad W / x^2 = g)
SPH_INLINE void sph_rates_body(sph_choice c, sph_rates_acc *acc, const sph_rates_i *self,
                               const sph_rates_j *j, const sph_gap *d, const sph_rates_args *a) {
  kp_w g = kp_smooth_g(c.g, d->r2, &a->g);
  kp_w ux = self->vx - j->vx;
  kp_w uy = self->vy - j->vy;
  kp_w uz = self->vz - j->vz;
  kp_w ud = ux * d->x + uy * d->y + uz * d->z;
  // padded lanes have zero density: keep the quotient finite, g is zero there
  kp_w inverse = (kp_real)1 / kp_w_max(j->density, kp_w_splat((kp_real)1e-6));
  kp_w f = self->p + j->p;
  acc->rate += g * (ud + a->diffusion * (self->density - j->density) * inverse);
  if (c.viscosity == SPH_VISCOSITY_ARTIFICIAL) {
    kp_w mean = (kp_real)0.5 * (self->inverse + inverse);
    f -= a->artificial * kp_w_min(ud, kp_w_splat((kp_real)0)) * mean / (d->r2 + a->eta2);
    kp_w s = f * g;
    acc->x -= s * d->x;
    acc->y -= s * d->y;
    acc->z -= s * d->z;
  } else if (c.viscosity == SPH_VISCOSITY_CENTRAL) {
    kp_w v = (a->viscosity * self->inverse) * inverse * kp_smooth_lap(c.g, d->r2, g, &a->g);
    kp_w s = f * g + v * sph_along(ud, d->r2, a->eta2);
    acc->x -= s * d->x;
    acc->y -= s * d->y;
    acc->z -= s * d->z;
  } else {
    kp_w s = f * g;
    kp_w v = (a->viscosity * self->inverse) * inverse * kp_smooth_lap(c.g, d->r2, g, &a->g);
    acc->x -= s * d->x + v * ux;
    acc->y -= s * d->y + v * uy;
    acc->z -= s * d->z + v * uz;
  }
}

// samples of walls: d rho_i/dt += sum_b rho_0 V_b (v_i - v_b).grad W
#define SPH_WALL_RATE_J(X)                                                                         \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(volume)

typedef struct sph_wall_rate_args {
  kp_smooth g;
  kp_real rest_density;
  const kp_real *vx, *vy, *vz;
  const kp_real *j_vx, *j_vy, *j_vz, *j_volume;
  kp_real *rate;
} sph_wall_rate_args;

typedef struct sph_wall_rate_i {
  kp_real vx, vy, vz;
} sph_wall_rate_i;

typedef struct sph_wall_rate_acc {
  kp_w rate;
} sph_wall_rate_acc;

KP_PAIR_J(sph_wall_rate, SPH_WALL_RATE_J)

SPH_INLINE void sph_wall_rate_load(int64_t i, const sph_wall_rate_args *a, sph_wall_rate_i *self,
                                   sph_wall_rate_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  acc->rate = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_wall_rate_store(int64_t i, const sph_wall_rate_acc *acc,
                                    const sph_wall_rate_i *self, const sph_wall_rate_args *a) {
  (void)self;
  a->rate[i] += a->rest_density * kp_w_sum(acc->rate);
}

SPH_INLINE void sph_wall_rate_body(sph_choice c, sph_wall_rate_acc *acc,
                                   const sph_wall_rate_i *self, const sph_wall_rate_j *j,
                                   const sph_gap *d, const sph_wall_rate_args *a) {
  kp_w ud = (self->vx - j->vx) * d->x + (self->vy - j->vy) * d->y + (self->vz - j->vz) * d->z;
  acc->rate += j->volume * ud * kp_smooth_g(c.g, d->r2, &a->g);
}

typedef struct sph_advance_density_args {
  kp_real dt;
  kp_real ahead;        // dt over the step before: how far the rate is extrapolated
  kp_real floor;        // a density that fell below is set here
  const kp_real *base;  // density at the start of the step
  const kp_real *rate;
  kp_real *last;  // rate of the step before, 0: none yet; NULL in multi-stage schemes
  kp_real *density;
} sph_advance_density_args;

// One pass gives the rate at the velocities that the same pass is about to change: taken as it is,
// sound would grow as in explicit Euler. The rate extrapolated to the end of the step makes the
// exchange of density and velocity one of the symplectic kind, up to terms of third order in c k
// dt.
KP_FN void sph_advance_density(int64_t i, const sph_advance_density_args *a) {
  kp_real rate = a->rate[i];
  if (a->last) {
    kp_real last = a->last[i];
    a->last[i] = rate;
    rate = last != (kp_real)0 ? rate + a->ahead * (rate - last) : rate;
  }
  kp_real rho = a->base[i] + a->dt * rate;
  a->density[i] = rho > a->floor ? rho : a->floor;
}

// ---- walls: force of samples on fluid particles, and back ---------------------------------------
//
// The same inlined law serves both directions: i fluid and j sample, or i sample and j fluid.
// Written as an acceleration of the fluid particle per unit of its own mass, so the force on the
// sample is -m times it.

typedef enum sph_wall_law { SPH_WALL_PRESSURE, SPH_WALL_LENNARD_JONES, SPH_WALL_DEM } sph_wall_law;

typedef struct sph_wall_law_args {
  kp_smooth g;
  kp_real rest_density;
  // what the pressure field holds: p/rho^2 (squared) or p (plain). The weight that is not 0 is 2
  // when the sample mirrors the particle's pressure, 1 when it has one of its own.
  kp_real squared, plain;
  kp_real p_wall;  // factor on the sample's p/rho^2: its density counts in units of this liquid's
  kp_real viscosity;  // (1 - slip) mu / rho_0, the rest_density of the sample cancels
  kp_real strength;   // Lennard-Jones D [m^2/s^2]; DEM and pressure laws k/m [1/s^2]
  kp_real distance;   // reach d_0
  kp_real damping;    // DEM c/m [1/s]
  kp_real friction;   // DEM, Coulomb
  kp_real grip;  // DEM: friction grows with the tangential speed at this rate [1/s], up to Coulomb
} sph_wall_law_args;

// A fluid particle at a sample: d and u run from the sample to the particle.
typedef struct sph_contact {
  kp_w p_fluid, p_wall, inverse, volume;
  kp_w ud, u2, r2;  // u.d, u.u, d.d
} sph_contact;

// Acceleration s d + t u.
typedef struct sph_push {
  kp_w s, t;
} sph_push;

SPH_INLINE sph_push sph_wall_term(int law, int gk, const sph_wall_law_args *w,
                                  const sph_contact *c) {
  sph_push push;
  if (law == SPH_WALL_PRESSURE) {
    // a = -rho_0 V_b (p_i/rho_i^2 + p_b/rho_b^2) grad W, drag against the wall's velocity
    // (B 5.1.1, 5.2)
    kp_w g = kp_smooth_g(gk, c->r2, &w->g);
    kp_w p = c->p_fluid * (w->squared + w->plain * c->inverse * c->inverse) + w->p_wall * c->p_wall;
    // pressure alone is soft between two samples: a spring closer than the lattice ever comes
    kp_w r = kp_w_max(kp_w_sqrt(c->r2), kp_w_splat((kp_real)1e-4 * w->distance));
    kp_w overlap = kp_w_max(w->distance - r, kp_w_splat((kp_real)0));
    kp_w inside = kp_w_select(kp_w_less(r, kp_w_splat(w->distance)), kp_w_splat((kp_real)1),
                              kp_w_splat((kp_real)0));
    kp_w spring =
        kp_w_max(w->strength * overlap - inside * w->damping * c->ud / r, kp_w_splat((kp_real)0));
    push.s = spring / r - w->rest_density * c->volume * p * g;
    push.t = -w->rest_density * w->viscosity * c->volume * c->inverse *
             kp_smooth_lap(gk, c->r2, g, &w->g);
  } else if (law == SPH_WALL_LENNARD_JONES) {
    // a = D/r ((d0/r)^12 - (d0/r)^6) e, repulsive part only, r floored at d0/2 (B 5.3)
    kp_w d2 = kp_w_splat(w->distance * w->distance);
    kp_w near2 = kp_w_max(c->r2, (kp_real)0.25 * d2);
    kp_w q = d2 / near2;
    kp_w q6 = q * q * q;
    kp_w inside = kp_w_select(kp_w_less(c->r2, d2), kp_w_splat((kp_real)1), kp_w_splat((kp_real)0));
    push.s = inside * w->strength * (q6 * q6 - q6) / near2;
    push.t = -inside * w->viscosity * c->inverse;
  } else {
    // spring and dashpot along e, Coulomb friction along the tangential velocity (B 4.8-4.10, signs
    // corrected)
    kp_w r = kp_w_max(kp_w_sqrt(c->r2), kp_w_splat((kp_real)1e-4 * w->distance));
    kp_w overlap = kp_w_max(w->distance - r, kp_w_splat((kp_real)0));
    kp_w inside = kp_w_select(kp_w_less(r, kp_w_splat(w->distance)), kp_w_splat((kp_real)1),
                              kp_w_splat((kp_real)0));
    kp_w normal_speed = c->ud / r;
    kp_w spring = kp_w_max(w->strength * overlap - inside * w->damping * normal_speed,
                           kp_w_splat((kp_real)0));
    kp_w tangent2 = kp_w_max(c->u2 - normal_speed * normal_speed, kp_w_splat((kp_real)0));
    kp_w tangent = kp_w_max(kp_w_sqrt(tangent2), kp_w_splat((kp_real)1e-12));
    kp_w rub =
        inside * kp_w_min(w->friction * w->strength * overlap / tangent, kp_w_splat(w->grip));
    // -rub u_t = -rub (u - normal_speed e)
    push.s = (spring + rub * normal_speed) / r;
    push.t = -rub;
  }
  return push;
}

#define SPH_WALL_FORCE_J(X)                                                                        \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(volume)                                                                                        \
  X(p)

typedef struct sph_wall_force_args {
  sph_wall_law_args law;
  const kp_real *vx, *vy, *vz, *p, *inverse;
  const kp_real *j_vx, *j_vy, *j_vz, *j_volume, *j_p;  // j_p: p_b / rho_b^2
  kp_real *ax, *ay, *az;
} sph_wall_force_args;

typedef struct sph_wall_force_i {
  kp_real vx, vy, vz, p, inverse;
} sph_wall_force_i;

typedef struct sph_wall_force_acc {
  kp_w x, y, z;
} sph_wall_force_acc;

KP_PAIR_J(sph_wall_force, SPH_WALL_FORCE_J)

SPH_INLINE void sph_wall_force_load(int64_t i, const sph_wall_force_args *a, sph_wall_force_i *self,
                                    sph_wall_force_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->p = a->p[i];
  self->inverse = a->inverse[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_wall_force_store(int64_t i, const sph_wall_force_acc *acc,
                                     const sph_wall_force_i *self, const sph_wall_force_args *a) {
  (void)self;
  a->ax[i] += kp_w_sum(acc->x);
  a->ay[i] += kp_w_sum(acc->y);
  a->az[i] += kp_w_sum(acc->z);
}

SPH_INLINE void sph_wall_force_body(int law, int gk, sph_wall_force_acc *acc,
                                    const sph_wall_force_i *self, const sph_wall_force_j *j,
                                    const sph_gap *d, const sph_wall_force_args *a) {
  kp_w ux = self->vx - j->vx;
  kp_w uy = self->vy - j->vy;
  kp_w uz = self->vz - j->vz;
  sph_contact c = { kp_w_splat(self->p),
                    j->p,
                    kp_w_splat(self->inverse),
                    j->volume,
                    ux * d->x + uy * d->y + uz * d->z,
                    ux * ux + uy * uy + uz * uz,
                    d->r2 };
  sph_push f = sph_wall_term(law, gk, &a->law, &c);
  acc->x += f.s * d->x + f.t * ux;
  acc->y += f.s * d->y + f.t * uy;
  acc->z += f.s * d->z + f.t * uz;
}

// i sample, j fluid: the force on the sample is minus what the fluid particles feel, times their
// mass
#define SPH_WALL_REACT_J(X)                                                                        \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(p)                                                                                             \
  X(inverse)

typedef struct sph_wall_react_args {
  sph_wall_law_args law;
  kp_real mass;                                         // of a fluid particle
  const kp_real *vx, *vy, *vz, *volume, *p;             // of the sample
  const kp_real *j_vx, *j_vy, *j_vz, *j_p, *j_inverse;  // of the fluid
  kp_real *fx, *fy, *fz;
} sph_wall_react_args;

typedef struct sph_wall_react_i {
  kp_real vx, vy, vz, volume, p;
} sph_wall_react_i;

typedef sph_wall_force_acc sph_wall_react_acc;

KP_PAIR_J(sph_wall_react, SPH_WALL_REACT_J)

SPH_INLINE void sph_wall_react_load(int64_t i, const sph_wall_react_args *a, sph_wall_react_i *self,
                                    sph_wall_react_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->volume = a->volume[i];
  self->p = a->p[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_wall_react_store(int64_t i, const sph_wall_react_acc *acc,
                                     const sph_wall_react_i *self, const sph_wall_react_args *a) {
  (void)self;
  a->fx[i] -= a->mass * kp_w_sum(acc->x);
  a->fy[i] -= a->mass * kp_w_sum(acc->y);
  a->fz[i] -= a->mass * kp_w_sum(acc->z);
}

SPH_INLINE void sph_wall_react_body(int law, int gk, sph_wall_react_acc *acc,
                                    const sph_wall_react_i *self, const sph_wall_react_j *j,
                                    const sph_gap *d, const sph_wall_react_args *a) {
  // d and u of the law run from the sample to the fluid particle
  kp_w ux = j->vx - self->vx;
  kp_w uy = j->vy - self->vy;
  kp_w uz = j->vz - self->vz;
  sph_contact c = { j->p,
                    kp_w_splat(self->p),
                    j->inverse,
                    kp_w_splat(self->volume),
                    -(ux * d->x + uy * d->y + uz * d->z),
                    ux * ux + uy * uy + uz * uz,
                    d->r2 };
  sph_push f = sph_wall_term(law, gk, &a->law, &c);
  acc->x += f.t * ux - f.s * d->x;
  acc->y += f.t * uy - f.s * d->y;
  acc->z += f.t * uz - f.s * d->z;
}

// ---- point kernels ------------------------------------------------------------------------------

// Samples: V_b = gamma / sum_b' W (Akinci et al. 2012); `density` holds the sum.
typedef struct sph_sample_volume_args {
  kp_real factor;  // gamma
  const kp_real *density;
  kp_real *volume;
} sph_sample_volume_args;

KP_FN void sph_sample_volume(int64_t i, const sph_sample_volume_args *a) {
  a->volume[i] = a->factor / a->density[i];
}

// ---- energy of compression
// -----------------------------------------------------------------------

typedef struct sph_energy_args {
  double rest_density, stiffness, exponent;
  int32_t tait, clamp;  // as in sph_state_args
  const kp_real *density;
} sph_energy_args;

#define SPH_ENERGY_OPS KP_REDUCE_SUM

// Work of the equation of state from the rest density on, per unit mass: the integral of p/rho^2
// d rho. Exact for forces that take their gradient from the kernel of the density; with poly6
// density and spiky gradient it is close (L 5.2.2).
KP_FN void sph_energy(int64_t i, const sph_energy_args *a, double *v) {
  double s = (double)a->density[i] / a->rest_density;
  s = a->clamp && s < 1.0 ? 1.0 : s;
  double linear = log(s) + 1.0 / s - 1.0;
  double more = a->exponent - 1.0;
  double power = more > 0.0 ? expm1(more * log(s)) / more : log(s);
  v[0] = a->tait ? a->stiffness / a->rest_density * (power + 1.0 / s - 1.0) : a->stiffness * linear;
}

// ---- variants -----------------------------------------------------------------------------------
//
// Sets of smoothing kernels: name, density kernel, gradient kernel.

#define SPH_KERNEL_SETS(X)                                                                         \
  X(mueller, KP_SMOOTH_POLY6, KP_SMOOTH_SPIKY)                                                     \
  X(cubic, KP_SMOOTH_CUBIC, KP_SMOOTH_CUBIC)                                                       \
  X(wendland, KP_SMOOTH_WENDLAND, KP_SMOOTH_WENDLAND)                                              \
  X(desbrun, KP_SMOOTH_SPIKY, KP_SMOOTH_SPIKY)                                                     \
  X(poly6, KP_SMOOTH_POLY6, KP_SMOOTH_POLY6)

#define SPH_FORCE_VARIANT(name, wk, gk, form, viscosity, fused)                                    \
  KP_PAIR_VARIANT(sph_##name, sph_force)                                                           \
  SPH_INLINE void sph_##name##_pair(sph_force_acc *acc, const sph_force_i *self,                   \
                                    const sph_force_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,      \
                                    const sph_force_args *a) {                                     \
    const sph_choice c = { wk, gk, form, viscosity, fused };                                       \
    const sph_gap d = { dx, dy, dz, r2 };                                                          \
    sph_force_body(c, acc, self, j, &d, a);                                                        \
  }

#define SPH_WALL_VARIANT(name, law, gk)                                                            \
  KP_PAIR_VARIANT(sph_wall_force_##name, sph_wall_force)                                           \
  KP_PAIR_VARIANT(sph_wall_react_##name, sph_wall_react)                                           \
  SPH_INLINE void sph_wall_force_##name##_pair(                                                    \
      sph_wall_force_acc *acc, const sph_wall_force_i *self, const sph_wall_force_j *j, kp_w dx,   \
      kp_w dy, kp_w dz, kp_w r2, const sph_wall_force_args *a) {                                   \
    const sph_gap d = { dx, dy, dz, r2 };                                                          \
    sph_wall_force_body(law, gk, acc, self, j, &d, a);                                             \
  }                                                                                                \
  SPH_INLINE void sph_wall_react_##name##_pair(                                                    \
      sph_wall_react_acc *acc, const sph_wall_react_i *self, const sph_wall_react_j *j, kp_w dx,   \
      kp_w dy, kp_w dz, kp_w r2, const sph_wall_react_args *a) {                                   \
    const sph_gap d = { dx, dy, dz, r2 };                                                          \
    sph_wall_react_body(law, gk, acc, self, j, &d, a);                                             \
  }

#define SPH_SET_VARIANTS(set, wk, gk)                                                              \
  KP_PAIR_VARIANT(sph_density_##set, sph_density)                                                  \
  KP_PAIR_VARIANT(sph_wall_density_##set, sph_wall_density)                                        \
  SPH_INLINE void sph_density_##set##_pair(sph_density_acc *acc, const sph_density_i *self,        \
                                           const sph_density_j *j, kp_w dx, kp_w dy, kp_w dz,      \
                                           kp_w r2, const sph_density_args *a) {                   \
    (void)self, (void)j, (void)dx, (void)dy, (void)dz;                                             \
    sph_density_body(wk, acc, r2, a);                                                              \
  }                                                                                                \
  SPH_INLINE void sph_wall_density_##set##_pair(                                                   \
      sph_wall_density_acc *acc, const sph_wall_density_i *self, const sph_wall_density_j *j,      \
      kp_w dx, kp_w dy, kp_w dz, kp_w r2, const sph_wall_density_args *a) {                        \
    (void)self, (void)dx, (void)dy, (void)dz;                                                      \
    sph_wall_density_body(wk, acc, j->volume, r2, a);                                              \
  }                                                                                                \
  SPH_FORCE_VARIANT(force_##set##_mean, wk, gk, SPH_FORM_MEAN, SPH_VISCOSITY_LAPLACIAN, 0)         \
  SPH_FORCE_VARIANT(force_##set##_squared, wk, gk, SPH_FORM_SQUARED, SPH_VISCOSITY_LAPLACIAN, 0)   \
  SPH_FORCE_VARIANT(force_##set##_mean_av, wk, gk, SPH_FORM_MEAN, SPH_VISCOSITY_ARTIFICIAL, 0)     \
  SPH_FORCE_VARIANT(force_##set##_squared_av, wk, gk, SPH_FORM_SQUARED, SPH_VISCOSITY_ARTIFICIAL,  \
                    0)                                                                             \
  SPH_FORCE_VARIANT(force_##set##_mean_central, wk, gk, SPH_FORM_MEAN, SPH_VISCOSITY_CENTRAL, 0)   \
  SPH_FORCE_VARIANT(force_##set##_squared_central, wk, gk, SPH_FORM_SQUARED,                       \
                    SPH_VISCOSITY_CENTRAL, 0)                                                      \
  SPH_FORCE_VARIANT(fused_##set##_mean, wk, gk, SPH_FORM_MEAN, SPH_VISCOSITY_LAPLACIAN, 1)         \
  SPH_FORCE_VARIANT(fused_##set##_squared, wk, gk, SPH_FORM_SQUARED, SPH_VISCOSITY_LAPLACIAN, 1)   \
  SPH_WALL_VARIANT(set, SPH_WALL_PRESSURE, gk)

SPH_KERNEL_SETS(SPH_SET_VARIANTS)
SPH_WALL_VARIANT(lj, SPH_WALL_LENNARD_JONES, KP_SMOOTH_CUBIC)
SPH_WALL_VARIANT(dem, SPH_WALL_DEM, KP_SMOOTH_CUBIC)

#define SPH_WALL_RATE_VARIANT(name, gk)                                                            \
  KP_PAIR_VARIANT(sph_wall_rate_##name, sph_wall_rate)                                             \
  SPH_INLINE void sph_wall_rate_##name##_pair(sph_wall_rate_acc *acc, const sph_wall_rate_i *self, \
                                              const sph_wall_rate_j *j, kp_w dx, kp_w dy, kp_w dz, \
                                              kp_w r2, const sph_wall_rate_args *a) {              \
    const sph_choice c = { gk, gk, 0, 0, 0 };                                                      \
    const sph_gap d = { dx, dy, dz, r2 };                                                          \
    sph_wall_rate_body(c, acc, self, j, &d, a);                                                    \
  }

SPH_WALL_RATE_VARIANT(cubic, KP_SMOOTH_CUBIC)
SPH_WALL_RATE_VARIANT(wendland, KP_SMOOTH_WENDLAND)

#define SPH_RATES_VARIANT(name, gk, viscosity)                                                     \
  KP_PAIR_VARIANT(sph_rates_##name, sph_rates)                                                     \
  SPH_INLINE void sph_rates_##name##_pair(sph_rates_acc *acc, const sph_rates_i *self,             \
                                          const sph_rates_j *j, kp_w dx, kp_w dy, kp_w dz,         \
                                          kp_w r2, const sph_rates_args *a) {                      \
    const sph_choice c = { gk, gk, 0, viscosity, 0 };                                              \
    const sph_gap d = { dx, dy, dz, r2 };                                                          \
    sph_rates_body(c, acc, self, j, &d, a);                                                        \
  }

SPH_RATES_VARIANT(cubic, KP_SMOOTH_CUBIC, SPH_VISCOSITY_LAPLACIAN)
SPH_RATES_VARIANT(cubic_av, KP_SMOOTH_CUBIC, SPH_VISCOSITY_ARTIFICIAL)
SPH_RATES_VARIANT(cubic_central, KP_SMOOTH_CUBIC, SPH_VISCOSITY_CENTRAL)
SPH_RATES_VARIANT(wendland, KP_SMOOTH_WENDLAND, SPH_VISCOSITY_LAPLACIAN)
SPH_RATES_VARIANT(wendland_av, KP_SMOOTH_WENDLAND, SPH_VISCOSITY_ARTIFICIAL)
SPH_RATES_VARIANT(wendland_central, KP_SMOOTH_WENDLAND, SPH_VISCOSITY_CENTRAL)

// ---- the list -----------------------------------------------------------------------------------

#define SPH_POINT_KERNELS(POINT, REDUCE)                                                           \
  POINT(sph, state)                                                                                \
  POINT(sph, advance_density)                                                                      \
  POINT(sph, sample_volume)                                                                        \
  REDUCE(sph, energy, SPH_ENERGY_OPS)

#define SPH_SET_KERNELS(PAIR, set)                                                                 \
  PAIR(sph, density_##set, sph_density_args, SPH_NO_J)                                             \
  PAIR(sph, wall_density_##set, sph_wall_density_args, SPH_WALL_DENSITY_J)                         \
  PAIR(sph, force_##set##_mean, sph_force_args, SPH_FORCE_J)                                       \
  PAIR(sph, force_##set##_squared, sph_force_args, SPH_FORCE_J)                                    \
  PAIR(sph, force_##set##_mean_av, sph_force_args, SPH_FORCE_J)                                    \
  PAIR(sph, force_##set##_squared_av, sph_force_args, SPH_FORCE_J)                                 \
  PAIR(sph, force_##set##_mean_central, sph_force_args, SPH_FORCE_J)                               \
  PAIR(sph, force_##set##_squared_central, sph_force_args, SPH_FORCE_J)                            \
  PAIR(sph, fused_##set##_mean, sph_force_args, SPH_FORCE_J)                                       \
  PAIR(sph, fused_##set##_squared, sph_force_args, SPH_FORCE_J)                                    \
  PAIR(sph, wall_force_##set, sph_wall_force_args, SPH_WALL_FORCE_J)                               \
  PAIR(sph, wall_react_##set, sph_wall_react_args, SPH_WALL_REACT_J)

#define SPH_PAIR_KERNELS(PAIR)                                                                     \
  SPH_SET_KERNELS(PAIR, mueller)                                                                   \
  SPH_SET_KERNELS(PAIR, cubic)                                                                     \
  SPH_SET_KERNELS(PAIR, wendland)                                                                  \
  SPH_SET_KERNELS(PAIR, desbrun)                                                                   \
  SPH_SET_KERNELS(PAIR, poly6)                                                                     \
  PAIR(sph, wall_force_lj, sph_wall_force_args, SPH_WALL_FORCE_J)                                  \
  PAIR(sph, wall_react_lj, sph_wall_react_args, SPH_WALL_REACT_J)                                  \
  PAIR(sph, wall_force_dem, sph_wall_force_args, SPH_WALL_FORCE_J)                                 \
  PAIR(sph, wall_react_dem, sph_wall_react_args, SPH_WALL_REACT_J)                                 \
  PAIR(sph, wall_rate_cubic, sph_wall_rate_args, SPH_WALL_RATE_J)                                  \
  PAIR(sph, wall_rate_wendland, sph_wall_rate_args, SPH_WALL_RATE_J)                               \
  PAIR(sph, rates_cubic, sph_rates_args, SPH_RATES_J)                                              \
  PAIR(sph, rates_cubic_av, sph_rates_args, SPH_RATES_J)                                           \
  PAIR(sph, rates_cubic_central, sph_rates_args, SPH_RATES_J)                                      \
  PAIR(sph, rates_wendland, sph_rates_args, SPH_RATES_J)                                           \
  PAIR(sph, rates_wendland_av, sph_rates_args, SPH_RATES_J)                                        \
  PAIR(sph, rates_wendland_central, sph_rates_args, SPH_RATES_J)
