// Triangles of constant strain: the membrane of a cloth that is a material.
//
// With D the edges from the first corner now and B the inverse of those at rest, in a frame of the
// triangle, F = D B has two stretches, F = s1 u1 v1^T + s2 u2 v2^T, and the energy per area is that
// of plane stress, linear in the stretches (Biot's strain; Chao et al. 2010, Eq. 2):
//
//   W = mu ((s1 - 1)^2 + (s2 - 1)^2) + lambda/2 (s1 + s2 - 2)^2
//
// with mu = Y/(2 (1 + nu)) and lambda = Y nu/(1 - nu^2) of a modulus Y [N/m], Young's modulus times
// thickness, so that a strip that is pulled obeys Hooke at any stretch. Its second derivative is
// known in the frame of the stretches (Kim 2020, section 4, in two dimensions of rest). With
// W_i = dW/ds_i and n across the triangle:
//
//   along u_i v_j^T of both stretches    2 mu + lambda on the diagonal, lambda beside it
//   flip  (u1 v2^T + u2 v1^T)/sqrt 2     2 mu
//   twist (u1 v2^T - u2 v1^T)/sqrt 2     (W_1 + W_2)/(s1 + s2)
//   turn  n v_i^T                        W_i/s_i
//
// The last two are what tension does to triangles that turn, as for springs (deform_kernels.h): in
// the system with `turns`, where they are positive. Damping resists the rate of Green's strain with
// tau times the same moduli: no force in a rigid motion. As it is it would grow with the squares of
// the stretches, beyond what explicit steps bear: it is divided by that of the largest above 1.
#pragma once

#include "kelpie/vec.h"
#include "methods/deform/deform_kernels.h"

// At rest, per triangle: B (b00, b01, b11; b10 = 0), area, lambda, mu [N/m], tau [s].
enum {
  MEMBRANE_B = 0,
  MEMBRANE_AREA = 3,
  MEMBRANE_LAMBDA,
  MEMBRANE_MU,
  MEMBRANE_TAU,
  MEMBRANE_REST
};

// Of an evaluation: forces of the second and third corner (6), u1 and u2 (6), their slopes in the
// frame of v (4), and what resists a rate T of F in the frame: P_11 = own1 T_11 + across T_22,
// P_12 = plane1 T_12 + cross T_21, P_n1 = turn1 T_n1, and so on.
enum {
  MEMBRANE_FORCE = 0,
  MEMBRANE_U = 6,
  MEMBRANE_X = 12,
  MEMBRANE_OWN = 16,
  MEMBRANE_ACROSS = 18,
  MEMBRANE_PLANE = 19,
  MEMBRANE_CROSS = 21,
  MEMBRANE_TURN = 22,
  MEMBRANE_STATE = 24
};

// F in the frame of its stretches.
typedef struct membrane_now {
  kp_vec3 u[2];
  double s[2];
  double c, d;  // v1 = (c, d), v2 = (-d, c)
} membrane_now;

// Columns of F, or of its rate.
KP_FN void membrane_gradient(const kp_vec3 x[3], const double b[3], kp_vec3 f[2]) {
  kp_vec3 e = kp_vec3_sub(x[1], x[0]);
  f[0] = kp_vec3_scale(e, b[0]);
  f[1] = kp_vec3_madd(kp_vec3_scale(e, b[1]), b[2], kp_vec3_sub(x[2], x[0]));
}

// Any unit vector across u.
KP_FN kp_vec3 membrane_across(kp_vec3 u) {
  kp_vec3 axis = u.x * u.x < 0.5 ? kp_vec3_make(1.0, 0.0, 0.0) : kp_vec3_make(0.0, 1.0, 0.0);
  return kp_vec3_normalize(kp_vec3_cross(u, axis));
}

KP_FN membrane_now membrane_stretch(const kp_vec3 f[2]) {
  membrane_now now = { .c = 1.0, .d = 0.0 };
  double apart = kp_vec3_dot(f[0], f[0]) - kp_vec3_dot(f[1], f[1]);
  double both = 2.0 * kp_vec3_dot(f[0], f[1]);
  double r = sqrt(apart * apart + both * both);
  if (r > 0.0 && apart >= 0.0) {
    now.c = sqrt(0.5 * (1.0 + apart / r));
    now.d = 0.5 * both / (r * now.c);
  } else if (r > 0.0) {
    now.d = both < 0.0 ? -sqrt(0.5 * (1.0 - apart / r)) : sqrt(0.5 * (1.0 - apart / r));
    now.c = 0.5 * both / (r * now.d);
  }
  kp_vec3 long_one = kp_vec3_madd(kp_vec3_scale(f[0], now.c), now.d, f[1]);
  kp_vec3 short_one = kp_vec3_madd(kp_vec3_scale(f[0], -now.d), now.c, f[1]);
  now.s[0] = kp_vec3_length(long_one);
  now.u[0] = now.s[0] > 0.0 ? kp_vec3_scale(long_one, 1.0 / now.s[0]) : kp_vec3_make(1.0, 0.0, 0.0);
  short_one = kp_vec3_madd(short_one, -kp_vec3_dot(short_one, now.u[0]), now.u[0]);
  now.s[1] = kp_vec3_length(short_one);
  // a triangle that has become a line is pushed open to some side
  now.u[1] = now.s[1] > 1e-9 * now.s[0] ? kp_vec3_scale(short_one, 1.0 / now.s[1])
                                        : membrane_across(now.u[0]);
  return now;
}

KP_FN void membrane_corners(const int32_t *corner, int64_t n, int64_t m, const kp_pos *x,
                            const kp_pos *y, const kp_pos *z, kp_vec3 out[3]) {
  for (int c = 0; c < 3; ++c) {
    int32_t i = corner[c * n + m];
    out[c] = kp_vec3_make(x[i], y[i], z[i]);
  }
}

KP_FN void membrane_load(const kp_real *from, int64_t n, int64_t m, double rest[MEMBRANE_REST]) {
  for (int k = 0; k < MEMBRANE_REST; ++k) {
    rest[k] = (double)from[k * n + m];
  }
}

// What resists a rate of F; `implicit` and `turns` [s] times the second derivative.
KP_FN void membrane_resist(const membrane_now *now, const double rest[MEMBRANE_REST],
                           const double w[2], double strength, double implicit, double turns,
                           double state[MEMBRANE_STATE]) {
  double area = rest[MEMBRANE_AREA], lambda = rest[MEMBRANE_LAMBDA], mu = rest[MEMBRANE_MU];
  double elastic = area * strength * implicit, tension = area * turns;
  const double *s = now->s;
  double most = fmax(1.0, fmax(s[0], s[1]));
  double viscous = area * sqrt(strength) * rest[MEMBRANE_TAU] / (most * most);
  double sum = s[0] + s[1];
  double twist = sum > 0.0 && w[0] + w[1] > 0.0 ? tension * (w[0] + w[1]) / sum : 0.0;
  for (int i = 0; i < 2; ++i) {
    double own = 2.0 * mu + lambda;
    state[MEMBRANE_OWN + i] = elastic * own + viscous * own * s[i] * s[i];
    state[MEMBRANE_PLANE + i] = elastic * mu + 0.5 * twist + viscous * mu * s[i] * s[i];
    state[MEMBRANE_TURN + i] = s[i] > 0.0 && w[i] > 0.0 ? tension * w[i] / s[i] : 0.0;
  }
  state[MEMBRANE_ACROSS] = lambda * (elastic + viscous * s[0] * s[1]);
  state[MEMBRANE_CROSS] = elastic * mu - 0.5 * twist + viscous * mu * s[0] * s[1];
}

// Item k of element m of arrays of n elements is [k n + m].
typedef struct deform_membrane_args {
  int64_t first, n;
  kp_real implicit, turns;  // s
  kp_real strength;         // of all stiffness; damping goes with its root
  const int32_t *corner;
  const kp_real *rest;
  const kp_pos *x, *y, *z;
  kp_real *state;
} deform_membrane_args;

KP_FN void deform_membrane(int64_t e, const deform_membrane_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_vec3 x[3], f[2];
  double rest[MEMBRANE_REST], state[MEMBRANE_STATE];
  membrane_corners(g->corner, n, m, g->x, g->y, g->z, x);
  membrane_load(g->rest, n, m, rest);
  const double *b = rest + MEMBRANE_B;
  membrane_gradient(x, b, f);
  membrane_now now = membrane_stretch(f);
  double strength = (double)g->strength;
  double bulk = strength * rest[MEMBRANE_LAMBDA] * (now.s[0] + now.s[1] - 2.0);
  double w[2] = { bulk + 2.0 * strength * rest[MEMBRANE_MU] * (now.s[0] - 1.0),
                  bulk + 2.0 * strength * rest[MEMBRANE_MU] * (now.s[1] - 1.0) };
  const double rows[2][2] = { { b[0], b[1] }, { 0.0, b[2] } };
  for (int c = 0; c < 2; ++c) {
    double along[2] = { rows[c][0] * now.c + rows[c][1] * now.d,
                        rows[c][1] * now.c - rows[c][0] * now.d };
    kp_vec3 pull =
        kp_vec3_madd(kp_vec3_scale(now.u[0], w[0] * along[0]), w[1] * along[1], now.u[1]);
    pull = kp_vec3_scale(pull, -rest[MEMBRANE_AREA]);
    state[MEMBRANE_FORCE + 3 * c] = pull.x;
    state[MEMBRANE_FORCE + 3 * c + 1] = pull.y;
    state[MEMBRANE_FORCE + 3 * c + 2] = pull.z;
    state[MEMBRANE_U + 3 * c] = now.u[c].x;
    state[MEMBRANE_U + 3 * c + 1] = now.u[c].y;
    state[MEMBRANE_U + 3 * c + 2] = now.u[c].z;
    state[MEMBRANE_X + 2 * c] = along[0];
    state[MEMBRANE_X + 2 * c + 1] = along[1];
  }
  membrane_resist(&now, rest, w, strength, (double)g->implicit, (double)g->turns, state);
  for (int k = 0; k < MEMBRANE_STATE; ++k) {
    g->state[k * n + m] = (kp_real)state[k];
  }
}

// The frame u1, u2, n of an evaluation.
KP_FN void membrane_frame(const kp_real *st, kp_real u[9]) {
  for (int k = 0; k < 6; ++k) {
    u[k] = st[MEMBRANE_U + k];
  }
  u[6] = u[1] * u[5] - u[2] * u[4];
  u[7] = u[2] * u[3] - u[0] * u[5];
  u[8] = u[0] * u[4] - u[1] * u[3];
}

// P of a rate T [3 rows u1, u2, n by 2].
KP_FN void membrane_stress(const kp_real *st, const kp_real t[6], kp_real p[6]) {
  p[0] = st[MEMBRANE_OWN] * t[0] + st[MEMBRANE_ACROSS] * t[3];
  p[3] = st[MEMBRANE_ACROSS] * t[0] + st[MEMBRANE_OWN + 1] * t[3];
  p[1] = st[MEMBRANE_PLANE] * t[1] + st[MEMBRANE_CROSS] * t[2];
  p[2] = st[MEMBRANE_CROSS] * t[1] + st[MEMBRANE_PLANE + 1] * t[2];
  p[4] = st[MEMBRANE_TURN] * t[4];
  p[5] = st[MEMBRANE_TURN + 1] * t[5];
}

typedef struct deform_membrane_pull_args {
  int64_t first, n;
  kp_real elastic;  // 1: with the elastic part, 0: without
  const int32_t *corner, *tet;
  const kp_real *state;
  deform_in v;
  kp_real *tx, *ty, *tz;  // on corners, 4 tet + corner
} deform_membrane_pull_args;

KP_FN void deform_membrane_pull(int64_t e, const deform_membrane_pull_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_real st[MEMBRANE_STATE], u[9], t[6] = { 0, 0, 0, 0, 0, 0 }, p[6];
  for (int k = 0; k < MEMBRANE_STATE; ++k) {
    st[k] = g->state[k * n + m];
  }
  membrane_frame(st, u);
  const kp_real *x = st + MEMBRANE_X;
  int32_t a = g->corner[m];
  for (int c = 0; c < 2; ++c) {
    int32_t i = g->corner[(c + 1) * n + m];
    kp_real w[3] = { g->v.x[g->v.o + i] - g->v.x[g->v.o + a],
                     g->v.y[g->v.p + i] - g->v.y[g->v.p + a],
                     g->v.z[g->v.q + i] - g->v.z[g->v.q + a] };
    for (int r = 0; r < 3; ++r) {
      kp_real along = u[3 * r] * w[0] + u[3 * r + 1] * w[1] + u[3 * r + 2] * w[2];
      t[2 * r] += along * x[2 * c];
      t[2 * r + 1] += along * x[2 * c + 1];
    }
  }
  membrane_stress(st, t, p);
  kp_real sum[3] = { 0, 0, 0 };
  int64_t ref = 4 * (int64_t)g->tet[m];
  for (int c = 0; c < 2; ++c) {
    kp_real y[3], f[3];
    for (int r = 0; r < 3; ++r) {
      y[r] = p[2 * r] * x[2 * c] + p[2 * r + 1] * x[2 * c + 1];
    }
    for (int k = 0; k < 3; ++k) {
      f[k] = g->elastic * st[MEMBRANE_FORCE + 3 * c + k] -
             (u[k] * y[0] + u[3 + k] * y[1] + u[6 + k] * y[2]);
      sum[k] += f[k];
    }
    g->tx[ref + c + 1] = f[0];
    g->ty[ref + c + 1] = f[1];
    g->tz[ref + c + 1] = f[2];
  }
  g->tx[ref] = -sum[0];
  g->ty[ref] = -sum[1];
  g->tz[ref] = -sum[2];
}

// K between two corners of slopes a and b in the frame of v, as 3x3.
KP_FN void membrane_between(const kp_real *st, const kp_real u[9], const kp_real a[2],
                            const kp_real b[2], kp_real out[9]) {
  kp_real c11 = st[MEMBRANE_OWN] * (a[0] * b[0]) + st[MEMBRANE_PLANE] * (a[1] * b[1]);
  kp_real c22 = st[MEMBRANE_OWN + 1] * (a[1] * b[1]) + st[MEMBRANE_PLANE + 1] * (a[0] * b[0]);
  kp_real c12 = st[MEMBRANE_ACROSS] * (a[0] * b[1]) + st[MEMBRANE_CROSS] * (a[1] * b[0]);
  kp_real c21 = st[MEMBRANE_ACROSS] * (a[1] * b[0]) + st[MEMBRANE_CROSS] * (a[0] * b[1]);
  kp_real c33 = st[MEMBRANE_TURN] * (a[0] * b[0]) + st[MEMBRANE_TURN + 1] * (a[1] * b[1]);
  for (int i = 0; i < 3; ++i) {
    kp_real first = u[i] * c11 + u[3 + i] * c21, second = u[i] * c12 + u[3 + i] * c22;
    for (int k = 0; k < 3; ++k) {
      out[3 * i + k] = first * u[k] + second * u[3 + k] + c33 * u[6 + i] * u[6 + k];
    }
  }
}

// Slopes of all three corners; the first is minus the sum of the others.
KP_FN void membrane_slopes(const kp_real *st, kp_real x[6]) {
  for (int k = 0; k < 4; ++k) {
    x[2 + k] = st[MEMBRANE_X + k];
  }
  x[0] = -(x[2] + x[4]);
  x[1] = -(x[3] + x[5]);
}

typedef struct deform_membrane_diagonal_args {
  int64_t first, n;
  const int32_t *tet;
  const kp_real *state;
  kp_real *qx, *qy, *qz;
} deform_membrane_diagonal_args;

KP_FN void deform_membrane_diagonal(int64_t e, const deform_membrane_diagonal_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_real st[MEMBRANE_STATE], u[9], x[6], block[9];
  for (int k = 0; k < MEMBRANE_STATE; ++k) {
    st[k] = g->state[k * n + m];
  }
  membrane_frame(st, u);
  membrane_slopes(st, x);
  for (int c = 0; c < 3; ++c) {
    int64_t ref = 4 * (int64_t)g->tet[m] + c;
    membrane_between(st, u, x + 2 * c, x + 2 * c, block);
    g->qx[ref] = block[0];
    g->qy[ref] = block[4];
    g->qz[ref] = block[8];
  }
}

typedef struct deform_membrane_energy_args {
  int64_t first, n;
  kp_real strength;
  const int32_t *corner;
  const kp_real *rest;
  const kp_pos *x, *y, *z;
} deform_membrane_energy_args;

KP_FN void deform_membrane_energy(int64_t e, const deform_membrane_energy_args *g, double *value) {
  int64_t m = g->first + e;
  kp_vec3 x[3], f[2];
  double rest[MEMBRANE_REST];
  membrane_corners(g->corner, g->n, m, g->x, g->y, g->z, x);
  membrane_load(g->rest, g->n, m, rest);
  membrane_gradient(x, rest + MEMBRANE_B, f);
  membrane_now now = membrane_stretch(f);
  double a = now.s[0] - 1.0, b = now.s[1] - 1.0;
  value[0] =
      rest[MEMBRANE_AREA] * (double)g->strength *
      (rest[MEMBRANE_MU] * (a * a + b * b) + 0.5 * rest[MEMBRANE_LAMBDA] * (a + b) * (a + b));
}

// Largest rate of Green's strain [1/s]: nothing in a rigid motion.
typedef struct deform_membrane_rate_args {
  int64_t n;
  const int32_t *corner;
  const kp_real *rest;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
} deform_membrane_rate_args;

KP_FN void deform_membrane_rate(int64_t m, const deform_membrane_rate_args *g, double *value) {
  kp_vec3 x[3], v[3], f[2], rate[2];
  double rest[MEMBRANE_REST];
  membrane_corners(g->corner, g->n, m, g->x, g->y, g->z, x);
  membrane_load(g->rest, g->n, m, rest);
  for (int c = 0; c < 3; ++c) {
    int32_t i = g->corner[c * g->n + m];
    v[c] = kp_vec3_make((double)g->vx[i], (double)g->vy[i], (double)g->vz[i]);
  }
  membrane_gradient(x, rest + MEMBRANE_B, f);
  membrane_gradient(v, rest + MEMBRANE_B, rate);
  double xx = kp_vec3_dot(f[0], rate[0]), yy = kp_vec3_dot(f[1], rate[1]);
  double xy = 0.5 * (kp_vec3_dot(f[0], rate[1]) + kp_vec3_dot(f[1], rate[0]));
  value[0] = sqrt(xx * xx + yy * yy + 2.0 * xy * xy);
}

#define DEFORM_MEMBRANE_KERNELS(POINT, REDUCE, ROW, PAIR)                                          \
  POINT(deform, membrane)                                                                          \
  POINT(deform, membrane_pull)                                                                     \
  POINT(deform, membrane_diagonal)                                                                 \
  REDUCE(deform, membrane_energy, KP_REDUCE_SUM)                                                   \
  REDUCE(deform, membrane_rate, KP_REDUCE_MAX)
