// The longest stable step of explicit schemes where the nodes are now: elements sum the rows of
// what they resist at their corners (Gershgorin), nodes find their step from what lies around them.
#pragma once

#include "methods/deform/deform_membrane_kernels.h"
#include "methods/deform/deform_tets_kernels.h"

// Halves of the sums of rows, on corners: 4 tet + corner.
typedef struct deform_row_sums {
  double *stiff;  // N/m
  double *damp;   // N s/m
} deform_row_sums;

typedef struct deform_axis_row_args {
  int64_t first, n;
  const int32_t *corner, *tet;
  const uint8_t *kind;
  const kp_real *rest, *stiffness, *damping;
  const kp_pos *x, *y, *z;
  deform_row_sums out;
} deform_axis_row_args;

// Of an angle, whose slopes g grow as its triangles become narrow. Its second derivative is at most
// the product of two slopes, so the force counts like the stiffness.
KP_FN void deform_axis_row(int64_t e, const deform_axis_row_args *g) {
  int64_t m = g->first + e, n = g->n;
  if (g->kind[m] < DEFORM_AXIS_HINGE) {
    return;
  }
  const kp_pos *const p[3] = { g->x, g->y, g->z };
  kp_vec3 x[4], slope[4];
  deform_corners(g->corner, n, m, p, x);
  double angle = kp_hinge_angle(x, slope), rest = (double)g->rest[m];
  double whole = deform_axis_whole(g->kind[m], g->rest, n, m, x, angle, slope);
  double force = fabs(sin(0.5 * angle) - sin(0.5 * rest));
  double stiff = (double)g->stiffness[m] * whole * (0.5 * cos(0.5 * angle) + force);
  double sum = 0.0;
  for (int c = 0; c < 4; ++c) {
    sum += kp_vec3_length(slope[c]);
  }
  for (int c = 0; c < 4; ++c) {
    int64_t ref = 4 * (int64_t)g->tet[m] + c;
    double row = 0.5 * kp_vec3_length(slope[c]) * sum;
    g->out.stiff[ref] = stiff * row;
    g->out.damp[ref] = (double)g->damping[m] * whole * row;
  }
}

typedef struct deform_membrane_row_args {
  int64_t first, n;
  const int32_t *corner, *tet;
  const kp_real *rest;
  const kp_pos *x, *y, *z;
  deform_row_sums out;
} deform_membrane_row_args;

// Of a triangle: damping grows with the square of its stretch, and tension resists turning.
KP_FN void deform_membrane_row(int64_t e, const deform_membrane_row_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_vec3 x[3], f[2];
  double rest[MEMBRANE_REST];
  membrane_corners(g->corner, n, m, g->x, g->y, g->z, x);
  membrane_load(g->rest, n, m, rest);
  const double *b = rest + MEMBRANE_B;
  membrane_gradient(x, b, f);
  membrane_now now = membrane_stretch(f);
  double own = 2.0 * rest[MEMBRANE_MU] + rest[MEMBRANE_LAMBDA], stiff = own;
  for (int i = 0; i < 2; ++i) {
    double tension = rest[MEMBRANE_LAMBDA] * (now.s[0] + now.s[1] - 2.0) +
                     2.0 * rest[MEMBRANE_MU] * (now.s[i] - 1.0);
    stiff = tension > stiff * now.s[i] && now.s[i] > 0.0 ? tension / now.s[i] : stiff;
  }
  double damp = rest[MEMBRANE_TAU] * own * now.s[0] * now.s[0];
  const double slope[3] = { sqrt(b[0] * b[0] + (b[1] + b[2]) * (b[1] + b[2])),
                            sqrt(b[0] * b[0] + b[1] * b[1]), b[2] };
  for (int c = 0; c < 3; ++c) {
    int64_t ref = 4 * (int64_t)g->tet[m] + c;
    double row = 0.5 * rest[MEMBRANE_AREA] * slope[c] * (slope[0] + slope[1] + slope[2]);
    g->out.stiff[ref] = stiff * row;
    g->out.damp[ref] = damp * row;
  }
}

typedef struct deform_node_rate_args {
  int64_t first;
  const double *stiff, *damp;          // of nodes: what does not change
  const double *row_stiff, *row_damp;  // of corners
  const int32_t *tet_start, *tet_refs;
  const kp_real *mass;
} deform_node_rate_args;

// One over the longest step of a damped oscillator with omega^2 = 2 stiff/m and c = 2 damp/m,
// 4 - 2 c h - omega^2 h^2 > 0: h = 2 (sqrt(1 + z^2) - z)/omega with z = c/(2 omega) [1/s].
KP_FN void deform_node_rate(int64_t e, const deform_node_rate_args *g, double *value) {
  int64_t i = g->first + e;
  double stiff = g->stiff[i], damp = g->damp[i], m = (double)g->mass[i];
  for (int32_t r = g->tet_start[i]; r < g->tet_start[i + 1]; ++r) {
    stiff += g->row_stiff[g->tet_refs[r]];
    damp += g->row_damp[g->tet_refs[r]];
  }
  double c = damp / m;
  value[0] = 0.5 * (sqrt(2.0 * stiff / m + c * c) + c);
}

#define DEFORM_STEPS_KERNELS(POINT, REDUCE, ROW, PAIR)                                             \
  POINT(deform, axis_row)                                                                          \
  POINT(deform, membrane_row)                                                                      \
  REDUCE(deform, node_rate, KP_REDUCE_MAX)
