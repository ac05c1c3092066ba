// What one particle of any medium does at the faces of the domain, in sinks and in reports.
#pragma once

#include "methods/common/region_view.h"

// The faces of the domain as exact planes: a particle past a closed face is put back, its normal
// velocity reflected with restitution, its tangential velocity rubbed.
typedef struct medium_domain_args {
  double lo[3], hi[3];  // where centres may be
  int32_t closed_lo[3], closed_hi[3];
  kp_real restitution, keep;  // keep = 1 - friction
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  uint8_t *fresh;  // of integrators that carry motion in fields of their own; else NULL
} medium_domain_args;

KP_FN int medium_domain_axis(int axis, const medium_domain_args *a, kp_pos *x, kp_real *v) {
  int hit = 0;
  if (a->closed_lo[axis] && *x < a->lo[axis]) {
    *x = a->lo[axis];
    *v = *v < (kp_real)0 ? -a->restitution * *v : *v;
    hit = 1;
  }
  if (a->closed_hi[axis] && *x > a->hi[axis]) {
    *x = a->hi[axis];
    *v = *v > (kp_real)0 ? -a->restitution * *v : *v;
    hit = 1;
  }
  return hit;
}

KP_FN void medium_domain(int64_t i, const medium_domain_args *a) {
  int hit_x = medium_domain_axis(0, a, &a->x[i], &a->vx[i]);
  int hit_y = medium_domain_axis(1, a, &a->y[i], &a->vy[i]);
  int hit_z = medium_domain_axis(2, a, &a->z[i], &a->vz[i]);
  if (!(hit_x | hit_y | hit_z)) {
    return;  // velocities of the many are not even read
  }
  a->vx[i] *= hit_y | hit_z ? a->keep : (kp_real)1;
  a->vy[i] *= hit_x | hit_z ? a->keep : (kp_real)1;
  a->vz[i] *= hit_x | hit_y ? a->keep : (kp_real)1;
  if (a->fresh) {
    a->fresh[i] = 1;
  }
}

// Which particles stay: not past an open face,
typedef struct medium_keep_args {
  double lo[3], hi[3];  // infinite where a face is not open
  const kp_pos *x, *y, *z;
  uint32_t *keep;
} medium_keep_args;

KP_FN void medium_keep(int64_t i, const medium_keep_args *a) {
  double x = a->x[i];
  double y = a->y[i];
  double z = a->z[i];
  int out =
      x < a->lo[0] || y < a->lo[1] || z < a->lo[2] || x > a->hi[0] || y > a->hi[1] || z > a->hi[2];
  a->keep[i] = out ? 0u : 1u;
}

// and not in a sink.
typedef struct medium_drain_args {
  kp_region_view sink;
  const kp_real *values;  // of a mesh; NULL otherwise
  const kp_pos *x, *y, *z;
  uint32_t *keep;
} medium_drain_args;

KP_FN void medium_drain(int64_t i, const medium_drain_args *a) {
  if (a->keep[i] && kp_region_distance(&a->sink, a->values, a->x[i], a->y[i], a->z[i]) < 0.0) {
    a->keep[i] = 0u;
  }
}

// ---- what the host looks at once per sub-step ---------------------------------------------------

typedef struct medium_report_args {
  double lo[3], hi[3];  // closed faces: outside is an escape
  double rest_density;
  double runaway2;  // (longest/dt)^2: faster is no flow any more, whatever the numbers say
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz, *ax, *ay, *az;
  const kp_real *density;  // NULL: the method has none
} medium_report_args;

#define MEDIUM_REPORT_OPS                                                                          \
  KP_REDUCE_MAX, KP_REDUCE_MAX, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_MIN, KP_REDUCE_MIN,        \
      KP_REDUCE_MIN, KP_REDUCE_MAX, KP_REDUCE_MAX, KP_REDUCE_MAX, KP_REDUCE_MAX

// max v^2, max a^2, bad, escaped, bounds, max |rho/rho_0 - 1|
KP_FN void medium_report(int64_t i, const medium_report_args *a, double *v) {
  double x = a->x[i];
  double y = a->y[i];
  double z = a->z[i];
  double vx = (double)a->vx[i];
  double vy = (double)a->vy[i];
  double vz = (double)a->vz[i];
  double ax = (double)a->ax[i];
  double ay = (double)a->ay[i];
  double az = (double)a->az[i];
  v[0] = vx * vx + vy * vy + vz * vz;
  v[1] = ax * ax + ay * ay + az * az;
  double all = x + y + z + v[0] + v[1];
  v[2] = all - all == 0.0 && v[0] < a->runaway2 ? 0.0 : 1.0;  // NaN and infinity fail this
  int out =
      x < a->lo[0] || y < a->lo[1] || z < a->lo[2] || x > a->hi[0] || y > a->hi[1] || z > a->hi[2];
  v[3] = out ? 1.0 : 0.0;
  v[4] = v[7] = x;
  v[5] = v[8] = y;
  v[6] = v[9] = z;
  double error = a->density ? (double)a->density[i] / a->rest_density - 1.0 : 0.0;
  v[10] = error < 0.0 ? -error : error;
}

typedef struct medium_stats_args {
  double gx, gy, gz;
  double mass;             // kg, of every particle ...
  const kp_real *mass_of;  // ... or of each, where it is not NULL
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
} medium_stats_args;

#define MEDIUM_STATS_OPS                                                                           \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM

// mass, momentum, kinetic energy, potential energy of gravity
KP_FN void medium_stats(int64_t i, const medium_stats_args *a, double *v) {
  double mass = a->mass_of ? (double)a->mass_of[i] : a->mass;
  double vx = (double)a->vx[i];
  double vy = (double)a->vy[i];
  double vz = (double)a->vz[i];
  v[0] = mass;
  v[1] = mass * vx;
  v[2] = mass * vy;
  v[3] = mass * vz;
  v[4] = 0.5 * mass * (vx * vx + vy * vy + vz * vz);
  v[5] = -mass * (a->gx * a->x[i] + a->gy * a->y[i] + a->gz * a->z[i]);
}

#define MEDIUM_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(medium, domain)                                                                            \
  POINT(medium, keep)                                                                              \
  POINT(medium, drain)                                                                             \
  REDUCE(medium, report, MEDIUM_REPORT_OPS)                                                        \
  REDUCE(medium, stats, MEDIUM_STATS_OPS)
