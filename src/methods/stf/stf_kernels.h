// What one particle of a shear-thickening fluid does. Numbers of equations: Ozgen 2013, chapter 5;
// Clavet, Beaudoin & Poulin 2005 for what it is built on. See stf.md for the step as a whole.
//
// Everything between particles is a gather over the rows of data/pair_rows.h: i sums what its
// partners do to it, with arithmetic that is antisymmetric to the last bit, so the pair's momentum
// is kept to rounding. d = x_i - x_j throughout; the rhat_ij of the equations points from i to j.
#pragma once

#include "data/pair_rows.h"
#include "math/rounding.h"
#include "methods/stf/stf_memory.h"

#define STF_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  POINT(stf, predict)                                                                              \
  POINT(stf, density)                                                                              \
  POINT(stf, relax)                                                                                \
  POINT(stf, remember)                                                                             \
  POINT(stf, recall)                                                                               \
  POINT(stf, spring)                                                                               \
  POINT(stf, contact)                                                                              \
  POINT(stf, react)                                                                                \
  POINT(stf, finish)                                                                               \
  REDUCE(stf, energy, KP_REDUCE_SUM)

// A row of partners and the way to the nearest image of each.
typedef struct stf_rows {
  const uint32_t *begin, *count, *partner;
  double length[3];  // of the domain along periodic axes, else 0
} stf_rows;

typedef struct stf_gap {
  kp_real x, y, z, r2;
} stf_gap;

KP_FN kp_real stf_nearest(double d, double length) {
  if (length > 0.0) {
    d = d > 0.5 * length ? d - length : (d < -0.5 * length ? d + length : d);
  }
  return (kp_real)d;
}

KP_FN stf_gap stf_gap_of(const stf_rows *rows, double dx, double dy, double dz) {
  stf_gap d = { stf_nearest(dx, rows->length[0]), stf_nearest(dy, rows->length[1]),
                stf_nearest(dz, rows->length[2]), (kp_real)0 };
  // a spring at rest pulls with the difference of two lengths that must round alike
  d.r2 = (kp_product(d.x, d.x) + kp_product(d.y, d.y)) + kp_product(d.z, d.z);
  return d;
}

// ---- prediction: x += dt (v + dt a), a the outer acceleration with gravity (Algorithm 2) --------

typedef struct stf_predict_args {
  kp_real dt, gx, gy, gz;
  const kp_real *vx, *vy, *vz;
  kp_real *ax, *ay, *az;
  kp_pos *x, *y, *z;
} stf_predict_args;

KP_FN void stf_predict(int64_t i, const stf_predict_args *a) {
  a->ax[i] += a->gx;
  a->ay[i] += a->gy;
  a->az[i] += a->gz;
  a->x[i] += (double)(a->dt * (a->vx[i] + a->dt * a->ax[i]));
  a->y[i] += (double)(a->dt * (a->vy[i] + a->dt * a->ay[i]));
  a->z[i] += (double)(a->dt * (a->vz[i] + a->dt * a->az[i]));
}

// ---- densities and pressures, Eqs. 5.1, 5.2, 5.4, 5.5; the particle itself does not count -------

typedef struct stf_density_args {
  stf_rows rows;
  kp_real support, inverse;  // H, 1/H
  kp_real stiffness, near_stiffness, rest;
  const kp_pos *x, *y, *z;
  kp_real *density, *p, *near;
  kp_real *weight;  // sum of (1 - q), for the limit of viscosity
} stf_density_args;

KP_FN void stf_density(int64_t i, const stf_density_args *a) {
  kp_real rho = (kp_real)0;
  kp_real near = (kp_real)0;
  kp_real weight = (kp_real)0;
  for (uint32_t e = a->rows.begin[i]; e < a->rows.begin[i] + a->rows.count[i]; ++e) {
    uint32_t j = a->rows.partner[e];
    stf_gap d = stf_gap_of(&a->rows, a->x[i] - a->x[j], a->y[i] - a->y[j], a->z[i] - a->z[j]);
    kp_real t = (kp_real)1 - (kp_real)sqrt(d.r2) * a->inverse;
    t = t > (kp_real)0 ? t : (kp_real)0;
    weight += t;
    rho += t * t;
    near += t * t * t;
  }
  a->density[i] = rho;
  a->p[i] = a->stiffness * (rho - a->rest);
  a->near[i] = a->near_stiffness * near;
  a->weight[i] = weight;
}

// ---- displacements of pressure (Eqs. 5.3, 5.6) and viscosity (Algorithm 1) ----------------------

typedef struct stf_relax_args {
  stf_rows rows;
  kp_real dt, inverse;      // 1/H
  kp_real linear, squared;  // sigma [1/s], beta [1/m]
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz, *p, *near, *weight;
  kp_real *sx, *sy, *sz;  // displacement
} stf_relax_args;

// The share of the approaching speed that a pair takes away: dt (1-q)(sigma + beta u), but never
// more than all of it, nor so much that the sum over all pairs of a particle, all taken at once,
// could turn a motion round. Symmetric in the pair.
KP_FN kp_real stf_viscous_share(kp_real t, kp_real u, kp_real weight, const stf_relax_args *a) {
  kp_real share = a->dt * t * (a->linear + a->squared * u);
  kp_real most = (kp_real)2 * t / weight;
  most = most < (kp_real)1 ? most : (kp_real)1;
  return share < most ? share : most;
}

KP_FN void stf_relax(int64_t i, const stf_relax_args *a) {
  kp_real sx = (kp_real)0;
  kp_real sy = (kp_real)0;
  kp_real sz = (kp_real)0;
  kp_real half = (kp_real)0.5 * a->dt;
  for (uint32_t e = a->rows.begin[i]; e < a->rows.begin[i] + a->rows.count[i]; ++e) {
    uint32_t j = a->rows.partner[e];
    stf_gap d = stf_gap_of(&a->rows, a->x[i] - a->x[j], a->y[i] - a->y[j], a->z[i] - a->z[j]);
    kp_real r = kp_root(d.r2);
    kp_real t = (kp_real)1 - r * a->inverse;
    if (t > (kp_real)0 && r > (kp_real)0) {
      kp_real push = a->dt * ((a->p[i] + a->p[j]) * t + (a->near[i] + a->near[j]) * t * t);
      // u > 0: approaching
      kp_real u = -((a->vx[i] - a->vx[j]) * d.x + (a->vy[i] - a->vy[j]) * d.y +
                    (a->vz[i] - a->vz[j]) * d.z) /
                  r;
      kp_real weight = a->weight[i] > a->weight[j] ? a->weight[i] : a->weight[j];
      push += u > (kp_real)0 ? u * stf_viscous_share(t, u, weight, a) : (kp_real)0;
      kp_real f = half * push / r;
      sx += f * d.x;
      sy += f * d.y;
      sz += f * d.z;
    }
  }
  a->sx[i] = sx;
  a->sy[i] = sy;
  a->sz[i] = sz;
}

// ---- what springs remember, Eq. 5.13; see stf_memory.h ------------------------------------------

typedef struct stf_remember_args {
  const uint32_t *begin, *count, *partner;
  int32_t component;  // 0, 1, 2: of the relative velocity; 3: its magnitude
  int32_t n_merges, n_fine, adds;
  kp_real share[KP_STF_MERGES];
  kp_real ratio, now_weight, before_weight;
  kp_real weight[KP_STF_FINE];
  const kp_real *vx, *vy, *vz;
  kp_real *into[KP_STF_MERGES];
  const kp_real *from[KP_STF_MERGES];
  kp_real *current;
  const kp_real *fine[KP_STF_FINE];
  kp_real *sum;  // without the coarse blocks
} stf_remember_args;

KP_FN void stf_remember(int64_t i, const stf_remember_args *a) {
  uint32_t begin = a->begin[i];
  uint32_t end = begin + a->count[i];
  for (int m = 0; m < a->n_merges; ++m) {
    for (uint32_t e = begin; e < end; ++e) {
      a->into[m][e] += a->share[m] * (a->from[m][e] - a->into[m][e]);
    }
  }
  for (uint32_t e = begin; e < end; ++e) {
    a->sum[e] = (kp_real)0;
  }
  for (uint32_t e = begin; e < end && a->adds; ++e) {
    uint32_t j = a->partner[e];
    kp_real u[4] = { a->vx[i] - a->vx[j], a->vy[i] - a->vy[j], a->vz[i] - a->vz[j] };
    u[3] = (kp_real)sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    kp_real speed = u[a->component];
    kp_real before = a->ratio < (kp_real)1 ? a->current[e] : (kp_real)0;
    a->current[e] = before + a->ratio * (speed - before);
    a->sum[e] = a->now_weight * speed + a->before_weight * before;
  }
  for (int k = 0; k < a->n_fine; ++k) {
    for (uint32_t e = begin; e < end; ++e) {
      a->sum[e] += a->weight[k] * a->fine[k][e];
    }
  }
}

// The slow part: the coarse blocks, for three times. Over entries.
typedef struct stf_recall_args {
  int32_t n;
  kp_real weight[KP_STF_TAILS][KP_STF_COARSE];
  const kp_real *block[KP_STF_COARSE];
  kp_real *tail[KP_STF_TAILS];
} stf_recall_args;

KP_FN void stf_recall(int64_t e, const stf_recall_args *a) {
  kp_real t0 = (kp_real)0;
  kp_real t1 = (kp_real)0;
  kp_real t2 = (kp_real)0;
  for (int k = 0; k < a->n; ++k) {
    kp_real value = a->block[k][e];
    t0 += a->weight[0][k] * value;
    t1 += a->weight[1][k] * value;
    t2 += a->weight[2][k] * value;
  }
  a->tail[0][e] = t0;
  a->tail[1][e] = t1;
  a->tail[2][e] = t2;
}

// ---- springs: born, creeping, broken (Eqs. 5.7, 5.8), and their displacements (Eq. 5.13) --------

typedef struct stf_spring_args {
  stf_rows rows;
  kp_real dt;
  kp_real birth, closest, removal;  // distances [m]
  kp_real birth_length;             // 0: the distance at birth; else this, with factor (1 - L/H)
  kp_real inverse;                  // 1/H, for that factor
  kp_real creep, yield;             // alpha [1/s], gamma
  kp_real stiffness, history;       // k_min [1/s^2], k_hist
  kp_real mass;
  const kp_pos *x, *y, *z;
  int32_t n_channels;
  kp_real tail_share[KP_STF_TAILS];
  const kp_real *sum[3], *tail[3][KP_STF_TAILS];  // what is remembered, by channel
  const kp_real *links;                           // springs of each particle in the last step
  kp_real *rest;                                  // L by entry; 0: no spring
  kp_real *links_out, *stiffening, *energy;
  kp_real *sx, *sy, *sz;
} stf_spring_args;

KP_FN kp_real stf_rest_length(kp_real rest, kp_real r, const stf_spring_args *a) {
  if (!(rest > (kp_real)0)) {
    bool born = r < a->birth && r > a->closest;
    return born ? (a->birth_length > (kp_real)0 ? a->birth_length : r) : (kp_real)0;
  }
  if (r > a->removal) {
    return (kp_real)0;
  }
  // the pull is the small difference r - L: the last bit of L must not depend on fused products
  kp_real over = (kp_real)fabs(r - rest) - kp_product(a->yield, rest);
  over = over > (kp_real)0 ? over : (kp_real)0;
  return rest + kp_product(kp_product(a->dt, a->creep), r > rest ? over : -over);
}

// The recent past and the old one; a magnitude, or a vector whose magnitude counts.
KP_FN kp_real stf_remembered(uint32_t e, const stf_spring_args *a) {
  kp_real s = (kp_real)0;
  kp_real s2 = (kp_real)0;
  for (int c = 0; c < a->n_channels; ++c) {
    s = a->sum[c][e];
    for (int p = 0; p < KP_STF_TAILS; ++p) {
      s += a->tail_share[p] * a->tail[c][p][e];
    }
    s2 += s * s;
  }
  s = a->n_channels > 1 ? (kp_real)sqrt(s2) : s;
  return s > (kp_real)0 ? s : (kp_real)0;
}

// dt^2 k, but all springs of a particle are relaxed at once: with at most 1/z each, z of them do
// not overshoot. Symmetric in the pair; springs born since the last step are few.
KP_FN kp_real stf_relaxation(kp_real k, kp_real links_i, kp_real links_j, kp_real dt) {
  kp_real z = (links_i > links_j ? links_i : links_j) + (kp_real)2;
  kp_real share = dt * dt * k;
  return share * z < (kp_real)1 ? share : (kp_real)1 / z;
}

KP_FN void stf_spring(int64_t i, const stf_spring_args *a) {
  kp_real sx = (kp_real)0;
  kp_real sy = (kp_real)0;
  kp_real sz = (kp_real)0;
  kp_real n = (kp_real)0;
  kp_real added = (kp_real)0;
  kp_real energy = (kp_real)0;
  for (uint32_t e = a->rows.begin[i]; e < a->rows.begin[i] + a->rows.count[i]; ++e) {
    uint32_t j = a->rows.partner[e];
    stf_gap d = stf_gap_of(&a->rows, a->x[i] - a->x[j], a->y[i] - a->y[j], a->z[i] - a->z[j]);
    kp_real r = kp_root(d.r2);
    kp_real rest = stf_rest_length(a->rest[e], r, a);
    a->rest[e] = rest;
    if (rest > (kp_real)0) {
      kp_real more = a->history * stf_remembered(e, a);
      kp_real k = a->stiffness + more;
      if (a->birth_length > (kp_real)0) {
        // 1 - L/H; at birth L = H, and the difference of equals is nothing however it is rounded
        kp_real factor = (a->birth_length - rest) * a->inverse;
        k *= factor > (kp_real)0 ? factor : (kp_real)0;
      }
      kp_real share = stf_relaxation(k, a->links[i], a->links[j], a->dt);
      kp_real f = (kp_real)-0.5 * share * (r - rest) / r;
      sx += f * d.x;
      sy += f * d.y;
      sz += f * d.z;
      n += (kp_real)1;
      added += more;
      energy += share * (r - rest) * (r - rest);
    }
  }
  a->sx[i] += sx;
  a->sy[i] += sy;
  a->sz[i] += sz;
  a->links_out[i] = n;
  a->stiffening[i] =
      n > (kp_real)0 && a->stiffness > (kp_real)0 ? added / (n * a->stiffness) : (kp_real)0;
  // m k (r-L)^2 / 4 per spring, half of it here
  a->energy[i] = (kp_real)0.125 * a->mass * energy / (a->dt * a->dt);
}

typedef struct stf_energy_args {
  const kp_real *energy;
} stf_energy_args;

KP_FN void stf_energy(int64_t i, const stf_energy_args *a, double *v) {
  v[0] = (double)a->energy[i];
}

// ---- solids: samples of their surfaces ----------------------------------------------------------
//
// Around a particle the surface is the plane through the samples near it, each weighing
// (1 - r^2/h^2)^3. The particle gets -J, the samples +J in the same proportions (M3.8).

typedef struct stf_samples {
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz, *nx, *ny, *nz;
  const kp_real *outer;  // 1 on the outermost layer, else 0
} stf_samples;

typedef struct stf_contact_args {
  stf_rows rows;
  stf_samples s;
  kp_real dt, inverse2;  // 1/h^2
  kp_real gap;           // of a touching particle from the samples
  kp_real friction;      // share of the sliding speed lost in a step
  kp_real stick;         // 1: what is stiff sticks
  kp_real full;          // stiffening that counts as 1
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz, *ax, *ay, *az, *sx, *sy, *sz, *stiffening;
  kp_real *jx, *jy, *jz;  // J [m/s]
  kp_real *share;         // 1 / sum of weights
  kp_real *px, *py, *pz;  // moves out what is still inside; adds
} stf_contact_args;

KP_FN kp_real stf_sample_weight(uint32_t s, const stf_samples *p, const stf_gap *d,
                                kp_real inverse2) {
  kp_real t = (kp_real)1 - d->r2 * inverse2;
  return t > (kp_real)0 ? p->outer[s] * t * t * t : (kp_real)0;
}

// From where the sample will be at the end of the step to a particle.
KP_FN stf_gap stf_sample_gap(uint32_t s, const stf_samples *p, const stf_rows *rows,
                             const double x[3], kp_real dt) {
  return stf_gap_of(rows, x[0] - (p->x[s] + (double)(dt * p->vx[s])),
                    x[1] - (p->y[s] + (double)(dt * p->vy[s])),
                    x[2] - (p->z[s] + (double)(dt * p->vz[s])));
}

typedef struct stf_plane {
  kp_real nx, ny, nz, vx, vy, vz, distance, weight;
} stf_plane;

KP_FN stf_plane stf_plane_near(int64_t i, const stf_contact_args *a, const double x[3]) {
  const kp_real none = (kp_real)0;
  stf_plane p = { none, none, none, none, none, none, none, none };
  for (uint32_t e = a->rows.begin[i]; e < a->rows.begin[i] + a->rows.count[i]; ++e) {
    uint32_t s = a->rows.partner[e];
    stf_gap d = stf_sample_gap(s, &a->s, &a->rows, x, a->dt);
    kp_real w = stf_sample_weight(s, &a->s, &d, a->inverse2);
    p.weight += w;
    p.nx += w * a->s.nx[s];
    p.ny += w * a->s.ny[s];
    p.nz += w * a->s.nz[s];
    p.vx += w * a->s.vx[s];
    p.vy += w * a->s.vy[s];
    p.vz += w * a->s.vz[s];
    p.distance += w * (d.x * a->s.nx[s] + d.y * a->s.ny[s] + d.z * a->s.nz[s]);
  }
  return p;
}

KP_FN kp_real stf_hardness(kp_real stiffening, kp_real full) {
  kp_real h = full > (kp_real)0 ? stiffening / full : (kp_real)0;
  return h < (kp_real)1 ? h : (kp_real)1;
}

KP_FN void stf_contact(int64_t i, const stf_contact_args *a) {
  a->jx[i] = a->jy[i] = a->jz[i] = a->share[i] = (kp_real)0;
  if (a->rows.count[i] == 0) {
    return;
  }
  const double x[3] = { a->x[i] + (double)a->sx[i], a->y[i] + (double)a->sy[i],
                        a->z[i] + (double)a->sz[i] };
  stf_plane p = stf_plane_near(i, a, x);
  kp_real length = (kp_real)sqrt(p.nx * p.nx + p.ny * p.ny + p.nz * p.nz);
  if (!(p.weight > (kp_real)0) || !(length > (kp_real)0)) {
    return;
  }
  kp_real share = (kp_real)1 / p.weight;
  kp_real depth = a->gap - p.distance * share;
  if (!(depth > (kp_real)0)) {
    return;
  }
  kp_real nx = p.nx / length;
  kp_real ny = p.ny / length;
  kp_real nz = p.nz / length;
  kp_real ux = a->vx[i] + a->dt * a->ax[i] + a->sx[i] / a->dt - p.vx * share;
  kp_real uy = a->vy[i] + a->dt * a->ay[i] + a->sy[i] / a->dt - p.vy * share;
  kp_real uz = a->vz[i] + a->dt * a->az[i] + a->sz[i] / a->dt - p.vz * share;
  kp_real un = ux * nx + uy * ny + uz * nz;
  // an approaching normal speed is lost whole, one that leaves as far as the fluid sticks
  kp_real hard = a->stick * stf_hardness(a->stiffening[i], a->full);
  kp_real normal = un < (kp_real)0 ? un : hard * un;
  kp_real slide = (kp_real)1 - ((kp_real)1 - a->friction) * ((kp_real)1 - hard);
  a->jx[i] = normal * nx + slide * (ux - un * nx);
  a->jy[i] = normal * ny + slide * (uy - un * ny);
  a->jz[i] = normal * nz + slide * (uz - un * nz);
  a->share[i] = share;
  kp_real left = depth + a->dt * normal;
  left = left > (kp_real)0 ? left : (kp_real)0;
  a->px[i] += left * nx;
  a->py[i] += left * ny;
  a->pz[i] += left * nz;
}

// The other side: force on a sample from the particles that touch the surface around it.
typedef struct stf_react_args {
  stf_rows rows;
  stf_samples s;
  kp_real dt, inverse2, mass_rate;  // m / dt
  const kp_pos *x, *y, *z;
  const kp_real *sx, *sy, *sz, *jx, *jy, *jz, *share;
  kp_real *fx, *fy, *fz;
} stf_react_args;

KP_FN void stf_react(int64_t s, const stf_react_args *a) {
  kp_real fx = (kp_real)0;
  kp_real fy = (kp_real)0;
  kp_real fz = (kp_real)0;
  for (uint32_t e = a->rows.begin[s]; e < a->rows.begin[s] + a->rows.count[s]; ++e) {
    uint32_t i = a->rows.partner[e];
    if (a->share[i] > (kp_real)0) {
      const double x[3] = { a->x[i] + (double)a->sx[i], a->y[i] + (double)a->sy[i],
                            a->z[i] + (double)a->sz[i] };
      stf_gap d = stf_sample_gap((uint32_t)s, &a->s, &a->rows, x, a->dt);
      kp_real w = a->share[i] * stf_sample_weight((uint32_t)s, &a->s, &d, a->inverse2);
      fx += w * a->jx[i];
      fy += w * a->jy[i];
      fz += w * a->jz[i];
    }
  }
  a->fx[s] += a->mass_rate * fx;
  a->fy[s] += a->mass_rate * fy;
  a->fz[s] += a->mass_rate * fz;
}

// ---- end of the step: v = (x - x_prev) / dt, faces of the domain, sticky rule (M3.6) ------------

// The floor may vibrate: heights and speeds of sources on a lattice, joined linearly (M3.9).
typedef struct stf_floor {
  int32_t n[2];     // sources along the two axes of the floor; 0: it is still
  int32_t axis[2];  // which axes these are
  double lo[2], inverse[2];
  const kp_real *height, *speed;
} stf_floor;

typedef struct stf_finish_args {
  double lo[3], hi[3];  // where centres may be
  int32_t closed_lo[3], closed_hi[3];
  int32_t up;
  stf_floor floor;
  kp_real dt, tolerance;
  kp_real restitution, friction, stick, full;
  const kp_real *ax, *ay, *az, *sx, *sy, *sz, *stiffening;
  const kp_real *jx, *jy, *jz;  // still walls; may be NULL
  const kp_real *kx, *ky, *kz;  // moving bodies; may be NULL
  kp_real *px, *py, *pz;        // pushed out of solids; cleared. May be NULL
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
} stf_finish_args;

KP_FN void stf_floor_at(const stf_floor *f, const double x[3], kp_real *height, kp_real *speed) {
  int32_t first[2];
  kp_real part[2];
  for (int k = 0; k < 2; ++k) {
    double t = (x[f->axis[k]] - f->lo[k]) * f->inverse[k] - 0.5;
    double last = (double)(f->n[k] - 1);
    t = t < 0.0 ? 0.0 : (t > last ? last : t);
    first[k] = (int32_t)t < f->n[k] - 1 ? (int32_t)t : (f->n[k] > 1 ? f->n[k] - 2 : 0);
    part[k] = (kp_real)(t - (double)first[k]);
  }
  *height = (kp_real)0;
  *speed = (kp_real)0;
  for (int c = 0; c < 4; ++c) {
    int32_t a = first[0] + (c & 1);
    int32_t b = first[1] + (c >> 1);
    a = a < f->n[0] ? a : f->n[0] - 1;
    b = b < f->n[1] ? b : f->n[1] - 1;
    kp_real w =
        ((c & 1) ? part[0] : (kp_real)1 - part[0]) * ((c >> 1) ? part[1] : (kp_real)1 - part[1]);
    *height += w * f->height[b * f->n[0] + a];
    *speed += w * f->speed[b * f->n[0] + a];
  }
}

// One face: sign +1 for the lower one. The normal speed relative to the face is taken away, the
// other components are rubbed, and the place follows from the speeds.
KP_FN void stf_face(int axis, kp_real sign, double limit, kp_real wall, kp_real hard,
                    const stf_finish_args *a, double x[3], kp_real v[3]) {
  if ((double)sign * (x[axis] - limit) > (double)a->tolerance) {
    return;
  }
  kp_real un = sign * (v[axis] - wall);
  kp_real after = un < (kp_real)0 ? -a->restitution * un : ((kp_real)1 - hard) * un;
  kp_real keep = ((kp_real)1 - a->friction) * ((kp_real)1 - hard);
  for (int c = 0; c < 3; ++c) {
    kp_real change = c == axis ? sign * (after - un) : (keep - (kp_real)1) * v[c];
    v[c] += change;
    x[c] += (double)(a->dt * change);
  }
  if ((double)sign * (x[axis] - limit) < 0.0) {
    x[axis] = limit;
  }
}

KP_FN void stf_finish(int64_t i, const stf_finish_args *a) {
  kp_real j[3] = { (kp_real)0, (kp_real)0, (kp_real)0 };
  double push[3] = { 0.0, 0.0, 0.0 };
  if (a->jx) {
    j[0] += a->jx[i];
    j[1] += a->jy[i];
    j[2] += a->jz[i];
  }
  if (a->kx) {
    j[0] += a->kx[i];
    j[1] += a->ky[i];
    j[2] += a->kz[i];
  }
  if (a->px) {
    push[0] = (double)a->px[i];
    push[1] = (double)a->py[i];
    push[2] = (double)a->pz[i];
    a->px[i] = a->py[i] = a->pz[i] = (kp_real)0;
  }
  const kp_real s[3] = { a->sx[i] - a->dt * j[0], a->sy[i] - a->dt * j[1],
                         a->sz[i] - a->dt * j[2] };
  double x[3] = { a->x[i] + (double)s[0] + push[0], a->y[i] + (double)s[1] + push[1],
                  a->z[i] + (double)s[2] + push[2] };
  kp_real v[3] = { a->vx[i] + a->dt * a->ax[i] + s[0] / a->dt,
                   a->vy[i] + a->dt * a->ay[i] + s[1] / a->dt,
                   a->vz[i] + a->dt * a->az[i] + s[2] / a->dt };
  kp_real hard = a->stick * stf_hardness(a->stiffening[i], a->full);
  for (int axis = 0; axis < 3; ++axis) {
    kp_real height = (kp_real)0;
    kp_real speed = (kp_real)0;
    if (axis == a->up && a->floor.n[0] > 0) {
      stf_floor_at(&a->floor, x, &height, &speed);
    }
    if (a->closed_lo[axis]) {
      stf_face(axis, (kp_real)1, a->lo[axis] + (double)height, speed, hard, a, x, v);
    }
    if (a->closed_hi[axis]) {
      stf_face(axis, (kp_real)-1, a->hi[axis], (kp_real)0, hard, a, x, v);
    }
  }
  a->x[i] = x[0];
  a->y[i] = x[1];
  a->z[i] = x[2];
  a->vx[i] = v[0];
  a->vy[i] = v[1];
  a->vz[i] = v[2];
}
