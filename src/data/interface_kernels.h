// Kernels of the interface sets; see data/interface.h.
#pragma once

#include "kelpie/vec.h"

// position, orientation w x y z, velocity, angular velocity, velocity of the surface in body axes
#define INTERFACE_FRAME 16

typedef struct interface_refresh_args {
  const double *frames;
  const uint32_t *owner;
  const double *localx, *localy, *localz;
  const kp_real *nx, *ny, *nz;  // in body axes
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  kp_real *ox, *oy, *oz;  // normal, world axes
} interface_refresh_args;

// x = c + R x0, v = v_c + omega x R x0 + R s, n = R n0
KP_FN void interface_refresh(int64_t i, const interface_refresh_args *a) {
  const double *f = a->frames + INTERFACE_FRAME * a->owner[i];
  kp_quat q = kp_quat_make(f[3], f[4], f[5], f[6]);
  kp_vec3 r = kp_quat_rotate(q, kp_vec3_make(a->localx[i], a->localy[i], a->localz[i]));
  kp_vec3 n = kp_quat_rotate(q, kp_vec3_make((double)a->nx[i], (double)a->ny[i], (double)a->nz[i]));
  kp_vec3 turn = kp_vec3_cross(kp_vec3_make(f[10], f[11], f[12]), r);
  kp_vec3 slide = kp_quat_rotate(q, kp_vec3_make(f[13], f[14], f[15]));
  a->x[i] = f[0] + r.x;
  a->y[i] = f[1] + r.y;
  a->z[i] = f[2] + r.z;
  a->vx[i] = (kp_real)(f[7] + turn.x + slide.x);
  a->vy[i] = (kp_real)(f[8] + turn.y + slide.y);
  a->vz[i] = (kp_real)(f[9] + turn.z + slide.z);
  a->ox[i] = (kp_real)n.x;
  a->oy[i] = (kp_real)n.y;
  a->oz[i] = (kp_real)n.z;
}

typedef struct interface_sum_args {
  int64_t first;
  double cx, cy, cz;  // centre of mass
  const kp_pos *x, *y, *z;
  const kp_real *fx, *fy, *fz;
} interface_sum_args;

#define INTERFACE_SUM_OPS                                                                          \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM

// force and torque about the centre
KP_FN void interface_sum(int64_t i, const interface_sum_args *a, double *v) {
  int64_t k = a->first + i;
  kp_vec3 f = kp_vec3_make((double)a->fx[k], (double)a->fy[k], (double)a->fz[k]);
  kp_vec3 r = kp_vec3_make(a->x[k] - a->cx, a->y[k] - a->cy, a->z[k] - a->cz);
  kp_vec3 t = kp_vec3_cross(r, f);
  v[0] = f.x;
  v[1] = f.y;
  v[2] = f.z;
  v[3] = t.x;
  v[4] = t.y;
  v[5] = t.z;
}

#define INTERFACE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  POINT(interface, refresh)                                                                        \
  REDUCE(interface, sum, INTERFACE_SUM_OPS)
