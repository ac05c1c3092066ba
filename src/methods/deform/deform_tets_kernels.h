// Elements of four nodes: tetrahedra with one spring along an altitude, hinges between two
// triangles, and tetrahedra of an elastic material.
//
// Altitude springs and hinges resist one number q of their four nodes, a length or an angle. With
// g_c its slope at corner c,
//
//   T = f(q) + r sum_c (g_c . v_c)         force -T g_c on corner c
//
// where r holds the damping and, with the share of the step, the stiffness of an implicit spring:
// one direction per element, as for springs (Selle 2008, section 5.5).
//
// Elastic ones have the deformation F = D B, D the edges now and B the inverse of those at rest,
// and the energy of Smith, de Goes and Kim (2018, Eq. 14):
//
//   W = mu/2 (I - 3) + lambda/2 (J - alpha)^2 - mu/2 log(I + 1),    I = F:F,  J = det F
//
// of the deformation around an edge: the mean of F over the elements that share it, of each the
// sixth of its volume (Liu and Nguyen-Thoi 2010, ES-FEM). Every element is pulled by the mean
// stress of its six edges. Constant strain alone makes bending of four cells 13 % too stiff; means
// over edges leave 2 %, and are exact for a uniform deformation as elements are. The matrix of a
// step is that of the elements by themselves, which resists no less: a mean of F costs less energy
// than the parts.
//
// W has a second derivative that is diagonal in the frame of the singular values of F but for a 3x3
// block; negative eigenvalues are dropped, so the matrix of a step stays positive definite. They
// resist the rate of strain with P = F eta (F^T V + V^T F), V the rate of F: no force in a rigid
// motion however deformed the element, and a symmetric matrix.
#pragma once

#include "geom/altitude.h"
#include "geom/hinge.h"
#include "math/svd3.h"
#include "methods/deform/deform_kernels.h"

// ---- one direction per element ------------------------------------------------------------------

enum { DEFORM_AXIS_ALTITUDE, DEFORM_AXIS_FACE, DEFORM_AXIS_HINGE, DEFORM_AXIS_BEND };

// Of an altitude spring at rest: lengths, squares of edges, the floor [m].
#define DEFORM_AXIS_FLOOR (KP_ALTITUDES + KP_ALTITUDE_EDGES)
#define DEFORM_AXIS_REST (DEFORM_AXIS_FLOOR + 1)

// Item k of element m of arrays of n elements is [k n + m].
typedef struct deform_axis_args {
  int64_t first, n;
  kp_real implicit;  // s [s]
  kp_real strength;  // of all stiffness; damping goes with its root
  const int32_t *corner;
  const uint8_t *kind;
  const kp_real *rest, *stiffness, *damping;
  const uint8_t *hold;  // of nodes
  const kp_pos *x, *y, *z;
  kp_real *slope;  // g: 3 corner + component
  kp_real *force, *rate;
} deform_axis_args;

KP_FN void deform_corners(const int32_t *corner, int64_t n, int64_t m, const kp_pos *const p[3],
                          kp_vec3 x[4]) {
  for (int c = 0; c < 4; ++c) {
    int32_t i = corner[c * n + m];
    x[c] = kp_vec3_make(p[0][i], p[1][i], p[2][i]);
  }
}

KP_FN kp_altitude deform_axis_altitude(uint8_t kind, const kp_vec3 x[4], const kp_real *rest,
                                       int64_t n, int64_t m) {
  if (kind == DEFORM_AXIS_FACE) {
    return kp_altitude_make(x, 0);  // always the same, with any weights
  }
  double rest2[KP_ALTITUDE_EDGES];
  for (int e = 0; e < KP_ALTITUDE_EDGES; ++e) {
    rest2[e] = (double)rest[(KP_ALTITUDES + e) * n + m];
  }
  return kp_altitude_choose(x, rest2);
}

// Strain along an altitude, and in *unit the length it is taken of: the rest length, or the floor
// where that is less.
KP_FN double deform_axis_strain(const kp_altitude *a, const kp_real *rest, int64_t n, int64_t m,
                                double *unit) {
  double floor = (double)rest[DEFORM_AXIS_FLOOR * n + m];
  double length = a->number >= 0 ? (double)rest[a->number * n + m] : 1.0;
  *unit = length > floor ? length : floor;
  return a->number >= 0 ? a->length / *unit - length / *unit : 0.0;
}

// The curvature of a shell lies in the angles at its edges, half of each on either side. At a clamp
// one side is held and the other one bends alone: its half is half as compliant.
KP_FN double deform_bend_share(uint8_t kind, const int32_t *corner, const uint8_t *hold, int64_t n,
                               int64_t m) {
  if (kind != DEFORM_AXIS_BEND || hold[corner[2 * n + m]] != 7 || hold[corner[3 * n + m]] != 7) {
    return 1.0;
  }
  return (hold[corner[m]] == 7) != (hold[corner[n + m]] == 7) ? 2.0 : 1.0;
}

// Integral of sin(t/2) - sin(rest/2) from rest to the angle.
KP_FN double deform_bend_energy(double angle, double rest) {
  return 2.0 * cos(0.5 * rest) - 2.0 * cos(0.5 * angle) - (angle - rest) * sin(0.5 * rest);
}

// The slopes of an angle are 1/height of its triangles, without bound where a cell folds onto
// itself and one of them collapses to a line. An angle there means nothing: below DEFORM_SLIVER of
// its square at rest the area r of a triangle takes its share phi of the energy away, smoothly,
//
//   W = k psi(t) phi(r_m) phi(r_n),    phi(r) = s^2 (3 - 2 s),  s = r/DEFORM_SLIVER
//
// Returns the product of both phi; slopes become those of the whole of W, over psi' phi, so that
// the force stays one number times one direction.
#define DEFORM_SLIVER 0.04

KP_FN double deform_axis_whole(uint8_t kind, const kp_real *rest, int64_t n, int64_t m,
                               const kp_vec3 x[4], double angle, kp_vec3 slope[4]) {
  if (kind != DEFORM_AXIS_BEND) {
    return 1.0;
  }
  // triangles (c, d, a) and (c, d, b) of the corners a, b, c, d
  kp_vec3 e = kp_vec3_sub(x[3], x[2]);
  double whole = 1.0, start = (double)rest[m];
  double sines = sin(0.5 * angle) - sin(0.5 * start);
  double ratio =
      fabs(angle - start) > 1e-4 ? deform_bend_energy(angle, start) / sines : 0.5 * (angle - start);
  for (int k = 0; k < 2; ++k) {
    kp_vec3 f = kp_vec3_sub(x[k], x[2]), normal = kp_vec3_cross(e, f);
    double s = kp_vec3_dot(normal, normal) / (DEFORM_SLIVER * (double)rest[(k + 1) * n + m]);
    if (!(s < 1.0)) {
      continue;
    }
    whole *= s * s * (3.0 - 2.0 * s);
    if (!(s > 0.0)) {
      continue;
    }
    // d phi/phi = 6 (1 - s)/(3 - 2 s) ds/s, and ds/s = 2 normal . d normal/normal^2
    double turn = 12.0 * (1.0 - s) / (3.0 - 2.0 * s) / kp_vec3_dot(normal, normal) * ratio;
    kp_vec3 at_far = kp_vec3_scale(kp_vec3_cross(normal, e), turn);
    kp_vec3 at_end = kp_vec3_scale(kp_vec3_cross(f, normal), turn);
    slope[k] = kp_vec3_add(slope[k], at_far);
    slope[3] = kp_vec3_add(slope[3], at_end);
    slope[2] = kp_vec3_sub(slope[2], kp_vec3_add(at_far, at_end));
  }
  return whole;
}

KP_FN void deform_axis(int64_t e, const deform_axis_args *g) {
  int64_t m = g->first + e, n = g->n;
  const kp_pos *const p[3] = { g->x, g->y, g->z };
  kp_vec3 x[4], slope[4];
  deform_corners(g->corner, n, m, p, x);
  double k = (double)g->stiffness[m] * (double)g->strength;
  double force = 0.0, rate = 0.0;
  double damping = (double)g->damping[m] * sqrt((double)g->strength);
  if (g->kind[m] >= DEFORM_AXIS_HINGE) {
    double angle = kp_hinge_angle(x, slope), rest = (double)g->rest[m];
    k *= deform_bend_share(g->kind[m], g->corner, g->hold, n, m);
    double whole = deform_axis_whole(g->kind[m], g->rest, n, m, x, angle, slope);
    k *= whole;
    damping *= whole;
    force = k * (sin(0.5 * angle) - sin(0.5 * rest));
    rate = 0.5 * k * cos(0.5 * angle);
  } else {
    kp_altitude a = deform_axis_altitude(g->kind[m], x, g->rest, n, m);
    double unit;
    force = k * deform_axis_strain(&a, g->rest, n, m, &unit);
    rate = a.number >= 0 ? k / unit : 0.0;
    for (int c = 0; c < 4; ++c) {
      slope[c] = kp_vec3_scale(a.n, a.w[c]);
    }
  }
  for (int c = 0; c < 4; ++c) {
    g->slope[(3 * c) * n + m] = (kp_real)slope[c].x;
    g->slope[(3 * c + 1) * n + m] = (kp_real)slope[c].y;
    g->slope[(3 * c + 2) * n + m] = (kp_real)slope[c].z;
  }
  g->force[m] = (kp_real)force;
  g->rate[m] = (kp_real)(damping + (double)g->implicit * rate);
}

typedef struct deform_axis_pull_args {
  int64_t first, n;
  kp_real elastic;  // 1: with the elastic part, 0: without
  const int32_t *corner, *tet;
  const kp_real *slope, *force, *rate;
  deform_in v;
  kp_real *tx, *ty, *tz;  // on corners, 4 tet + corner
} deform_axis_pull_args;

KP_FN void deform_axis_pull(int64_t e, const deform_axis_pull_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_real speed = 0;
  for (int c = 0; c < 4; ++c) {
    int32_t i = g->corner[c * n + m];
    speed += g->slope[(3 * c) * n + m] * g->v.x[g->v.o + i] +
             g->slope[(3 * c + 1) * n + m] * g->v.y[g->v.p + i] +
             g->slope[(3 * c + 2) * n + m] * g->v.z[g->v.q + i];
  }
  kp_real t = -(g->elastic * g->force[m] + g->rate[m] * speed);
  for (int c = 0; c < 4; ++c) {
    int64_t ref = 4 * (int64_t)g->tet[m] + c;
    g->tx[ref] = t * g->slope[(3 * c) * n + m];
    g->ty[ref] = t * g->slope[(3 * c + 1) * n + m];
    g->tz[ref] = t * g->slope[(3 * c + 2) * n + m];
  }
}

// Diagonal of the matrix of what it resists.
typedef struct deform_axis_diagonal_args {
  int64_t first, n;
  const int32_t *tet;
  const kp_real *slope, *rate;
  kp_real *qx, *qy, *qz;
} deform_axis_diagonal_args;

KP_FN void deform_axis_diagonal(int64_t e, const deform_axis_diagonal_args *g) {
  int64_t m = g->first + e, n = g->n;
  for (int c = 0; c < 4; ++c) {
    int64_t ref = 4 * (int64_t)g->tet[m] + c;
    kp_real x = g->slope[(3 * c) * n + m];
    kp_real y = g->slope[(3 * c + 1) * n + m];
    kp_real z = g->slope[(3 * c + 2) * n + m];
    g->qx[ref] = g->rate[m] * x * x;
    g->qy[ref] = g->rate[m] * y * y;
    g->qz[ref] = g->rate[m] * z * z;
  }
}

// Elastic energy [J].
typedef struct deform_axis_energy_args {
  int64_t first, n;
  kp_real strength;
  const int32_t *corner;
  const uint8_t *kind;
  const kp_real *rest, *stiffness;
  const uint8_t *hold;
  const kp_pos *x, *y, *z;
} deform_axis_energy_args;

KP_FN void deform_axis_energy(int64_t e, const deform_axis_energy_args *g, double *value) {
  int64_t m = g->first + e, n = g->n;
  const kp_pos *const p[3] = { g->x, g->y, g->z };
  kp_vec3 x[4], slope[4];
  deform_corners(g->corner, n, m, p, x);
  double k = (double)g->stiffness[m] * (double)g->strength;
  if (g->kind[m] >= DEFORM_AXIS_HINGE) {
    double angle = kp_hinge_angle(x, slope), rest = (double)g->rest[m];
    k *= deform_bend_share(g->kind[m], g->corner, g->hold, n, m);
    k *= deform_axis_whole(g->kind[m], g->rest, n, m, x, angle, slope);
    value[0] = k * deform_bend_energy(angle, rest);
    return;
  }
  kp_altitude a = deform_axis_altitude(g->kind[m], x, g->rest, n, m);
  double unit, strain = deform_axis_strain(&a, g->rest, n, m, &unit);
  value[0] = 0.5 * k * unit * strain * strain;
}

// ---- elastic material ---------------------------------------------------------------------------

// At rest, per element: B (9), volume, mu, lambda, eta.
enum {
  DEFORM_SOLID_B = 0,
  DEFORM_SOLID_VOLUME = 9,
  DEFORM_SOLID_MU,
  DEFORM_SOLID_LAMBDA,
  DEFORM_SOLID_ETA,
  DEFORM_SOLID_REST
};
// Of an evaluation: forces of corners b, c, d (9), frame U (9), X = B V (9), block of the stretches
// (xx yy zz xy xz yz), eigenvalues of flips and twists of the planes (xy, xz, yz), stretches,
// viscosity.
enum {
  DEFORM_SOLID_FORCE = 0,
  DEFORM_SOLID_U = 9,
  DEFORM_SOLID_X = 18,
  DEFORM_SOLID_BLOCK = 27,
  DEFORM_SOLID_FLIP = 33,
  DEFORM_SOLID_TWIST = 36,
  DEFORM_SOLID_STRETCH = 39,
  DEFORM_SOLID_VISCOUS = 42,
  DEFORM_SOLID_STATE
};

// P = dW/dF and, in *energy, W, with the constants of the paper: mu = 4/3 mu', lambda = lambda' +
// 5/6 mu' for those of linear elasticity (their section 3.4), so that rest is stress free and small
// strains follow Hooke.
KP_FN double deform_solid_stress(const double f[9], double mu, double lambda, double p[9]) {
  double i = 0.0;
  for (int k = 0; k < 9; ++k) {
    i += f[k] * f[k];
  }
  double cofactor[9] = { f[4] * f[8] - f[5] * f[7], f[5] * f[6] - f[3] * f[8],
                         f[3] * f[7] - f[4] * f[6], f[2] * f[7] - f[1] * f[8],
                         f[0] * f[8] - f[2] * f[6], f[1] * f[6] - f[0] * f[7],
                         f[1] * f[5] - f[2] * f[4], f[2] * f[3] - f[0] * f[5],
                         f[0] * f[4] - f[1] * f[3] };
  double j = f[0] * cofactor[0] + f[1] * cofactor[1] + f[2] * cofactor[2];
  double alpha = 1.0 + 0.75 * mu / lambda;
  double shear = mu * (1.0 - 1.0 / (i + 1.0));
  for (int k = 0; k < 9; ++k) {
    p[k] = shear * f[k] + lambda * (j - alpha) * cofactor[k];
  }
  return 0.5 * mu * (i - 3.0) + 0.5 * lambda * (j - alpha) * (j - alpha) - 0.5 * mu * log(i + 1.0);
}

KP_FN void deform_solid_gradient(const kp_vec3 x[4], const double b[9], double f[9]) {
  double d[9];
  for (int c = 0; c < 3; ++c) {
    kp_vec3 e = kp_vec3_sub(x[c + 1], x[0]);
    d[c] = e.x;
    d[3 + c] = e.y;
    d[6 + c] = e.z;
  }
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      f[3 * r + c] = d[3 * r] * b[c] + d[3 * r + 1] * b[3 + c] + d[3 * r + 2] * b[6 + c];
    }
  }
}

// a without its negative eigenvalues; (xx yy zz xy xz yz)
KP_FN void deform_solid_positive(double block[6]) {
  double a[9] = { block[0], block[3], block[4], block[3], block[1],
                  block[5], block[4], block[5], block[2] };
  double d[3], v[9];
  kp_eigen3(a, d, v);
  for (int k = 0; k < 3; ++k) {
    d[k] = d[k] > 0.0 ? d[k] : 0.0;
  }
  const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
  for (int k = 0; k < 6; ++k) {
    const double *p = v + 3 * row[k], *q = v + 3 * column[k];
    block[k] = d[0] * p[0] * q[0] + d[1] * p[1] * q[1] + d[2] * p[2] * q[2];
  }
}

// Second derivative of W in the frame of the stretches s (their Eq. 33 ...), clamped.
KP_FN void deform_solid_hessian(const double s[3], double mu, double lambda, double block[6],
                                double flip[3], double twist[3]) {
  double i = s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + 1.0;
  double j = s[0] * s[1] * s[2];
  double alpha = 1.0 + 0.75 * mu / lambda;
  double shear = mu * (1.0 - 1.0 / i), bow = 2.0 * mu / (i * i);
  for (int k = 0; k < 3; ++k) {
    double others = s[(k + 1) % 3] * s[(k + 2) % 3];
    block[k] = shear + bow * s[k] * s[k] + lambda * others * others;
  }
  // planes xy, xz, yz stand across from z, y, x
  for (int k = 0; k < 3; ++k) {
    double across = s[2 - k];
    double product = k == 0 ? s[0] * s[1] : (k == 1 ? s[0] * s[2] : s[1] * s[2]);
    block[3 + k] = bow * product + lambda * across * (2.0 * j - alpha);
    double turn = lambda * (j - alpha) * across;
    flip[k] = shear - turn > 0.0 ? shear - turn : 0.0;
    twist[k] = shear + turn > 0.0 ? shear + turn : 0.0;
  }
  deform_solid_positive(block);
}

#define DEFORM_SOLID_EDGES 6  // of an element

// B in double: what single precision leaves of F = 1 is a stress of 1e-7 moduli in a body at rest.
typedef struct deform_gradient_args {
  int64_t first, n;
  const int32_t *corner;
  const double *inverse;  // B: 9 per element
  const kp_pos *x, *y, *z;
  double *gradient;  // F: the same
} deform_gradient_args;

// Elements around an edge, and their F.
typedef struct deform_around {
  const uint32_t *start;   // by edge
  const int32_t *element;  // in that order
  const double *gradient;
  const kp_real *rest;
  int64_t n;  // elements
} deform_around;

typedef struct deform_edge_args {
  int64_t first;
  kp_real strength;
  deform_around around;
  double *stress;  // P: 9 per edge
} deform_edge_args;

// The share of the volume that belongs to an edge; its mean deformation in f.
KP_FN double deform_edge_mean(int64_t edge, const deform_around *a, double f[9]) {
  double volume = 0.0;
  for (int k = 0; k < 9; ++k) {
    f[k] = 0.0;
  }
  for (uint32_t e = a->start[edge]; e < a->start[edge + 1]; ++e) {
    int64_t m = a->element[e];
    double share = (double)a->rest[DEFORM_SOLID_VOLUME * a->n + m] / DEFORM_SOLID_EDGES;
    volume += share;
    for (int k = 0; k < 9; ++k) {
      f[k] += share * a->gradient[9 * m + k];
    }
  }
  for (int k = 0; k < 9; ++k) {
    f[k] /= volume;
  }
  return volume;
}

// All elements around an edge are of one part, and so of one material.
KP_FN void deform_edge_material(int64_t edge, kp_real strength, const deform_around *a, double *mu,
                                double *lambda) {
  int64_t m = a->element[a->start[edge]];
  *mu = (double)a->rest[DEFORM_SOLID_MU * a->n + m] * (double)strength;
  *lambda = (double)a->rest[DEFORM_SOLID_LAMBDA * a->n + m] * (double)strength;
}

KP_FN void deform_edge(int64_t e, const deform_edge_args *g) {
  int64_t edge = g->first + e;
  double f[9], p[9] = { 0.0 }, mu, lambda;
  (void)deform_edge_mean(edge, &g->around, f);
  deform_edge_material(edge, g->strength, &g->around, &mu, &lambda);
  if (mu > 0.0) {
    (void)deform_solid_stress(f, mu, lambda, p);
  }
  for (int k = 0; k < 9; ++k) {
    g->stress[9 * edge + k] = p[k];
  }
}

// Where stresses of elements are.
typedef struct deform_means {
  int32_t is_alone;  // 1: of its own F, as where stiffness hides masses from rounding
  int64_t n;
  kp_real strength;
  const int32_t *edge;  // of elements
  const double *stress, *gradient;
  const kp_real *rest;
} deform_means;

// The stress of an element: the mean of its edges. Its own turns no element; means turn none
// together but each by itself, which is lost where rounding leaves nothing of masses.
KP_FN void deform_mean_stress(int64_t m, const deform_means *a, double p[9]) {
  for (int k = 0; k < 9; ++k) {
    p[k] = 0.0;
  }
  if (a->is_alone) {
    double mu = (double)a->rest[DEFORM_SOLID_MU * a->n + m] * (double)a->strength;
    double lambda = (double)a->rest[DEFORM_SOLID_LAMBDA * a->n + m] * (double)a->strength;
    if (mu > 0.0) {
      (void)deform_solid_stress(a->gradient + 9 * m, mu, lambda, p);
    }
    return;
  }
  for (int i = 0; i < DEFORM_SOLID_EDGES; ++i) {
    const double *of = a->stress + 9 * (int64_t)a->edge[i * a->n + m];
    for (int k = 0; k < 9; ++k) {
      p[k] += of[k] / DEFORM_SOLID_EDGES;
    }
  }
}

typedef struct deform_solid_args {
  int64_t first, n;
  kp_real implicit, strength;
  const int32_t *corner;
  const kp_real *rest;
  deform_means means;
  const kp_pos *x, *y, *z;
  kp_real *state;
} deform_solid_args;

KP_FN void deform_solid_load(const kp_real *from, int64_t n, int64_t m, int first, int count,
                             double *to) {
  for (int k = 0; k < count; ++k) {
    to[k] = (double)from[(first + k) * n + m];
  }
}

KP_FN void deform_gradient(int64_t e, const deform_gradient_args *g) {
  int64_t m = g->first + e;
  const kp_pos *const p[3] = { g->x, g->y, g->z };
  kp_vec3 x[4];
  deform_corners(g->corner, g->n, m, p, x);
  deform_solid_gradient(x, g->inverse + 9 * m, g->gradient + 9 * m);
}

KP_FN void deform_solid(int64_t e, const deform_solid_args *g) {
  int64_t m = g->first + e, n = g->n;
  const kp_pos *const p[3] = { g->x, g->y, g->z };
  kp_vec3 x[4];
  deform_corners(g->corner, n, m, p, x);
  double rest[DEFORM_SOLID_REST];
  deform_solid_load(g->rest, n, m, 0, DEFORM_SOLID_REST, rest);
  const double *b = rest + DEFORM_SOLID_B;
  double volume = rest[DEFORM_SOLID_VOLUME];
  double mu = rest[DEFORM_SOLID_MU] * (double)g->strength;
  double lambda = rest[DEFORM_SOLID_LAMBDA] * (double)g->strength;
  double f[9], stress[9], u[9], s[3], v[9];
  double state[DEFORM_SOLID_STATE];
  deform_solid_gradient(x, b, f);
  kp_svd3(f, u, s, v);
  double block[6] = { 0.0 }, flip[3] = { 0.0 }, twist[3] = { 0.0 };
  deform_mean_stress(m, &g->means, stress);
  if (mu > 0.0) {
    deform_solid_hessian(s, mu, lambda, block, flip, twist);
  }
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      // force of corner c + 1 is column c of -volume P B^T
      state[DEFORM_SOLID_FORCE + 3 * c + r] =
          -volume * (stress[3 * r] * b[3 * c] + stress[3 * r + 1] * b[3 * c + 1] +
                     stress[3 * r + 2] * b[3 * c + 2]);
      state[DEFORM_SOLID_U + 3 * r + c] = u[3 * r + c];
      state[DEFORM_SOLID_X + 3 * r + c] =
          b[3 * r] * v[c] + b[3 * r + 1] * v[3 + c] + b[3 * r + 2] * v[6 + c];
    }
    double scale = volume * (double)g->implicit;
    state[DEFORM_SOLID_BLOCK + r] = scale * block[r];
    state[DEFORM_SOLID_BLOCK + 3 + r] = scale * block[3 + r];
    state[DEFORM_SOLID_FLIP + r] = scale * flip[r];
    state[DEFORM_SOLID_TWIST + r] = scale * twist[r];
    state[DEFORM_SOLID_STRETCH + r] = s[r];
  }
  state[DEFORM_SOLID_VISCOUS] = volume * rest[DEFORM_SOLID_ETA] * sqrt((double)g->strength);
  for (int k = 0; k < DEFORM_SOLID_STATE; ++k) {
    g->state[k * n + m] = (kp_real)state[k];
  }
}

// Stress S in the frame that resists a rate T of the deformation, times the volume; T is replaced.
KP_FN void deform_solid_resist(const kp_real *block, const kp_real *flip, const kp_real *twist,
                               const kp_real *s, kp_real viscous, kp_real t[9]) {
  kp_real out[9];
  out[0] = block[0] * t[0] + block[3] * t[4] + block[4] * t[8];
  out[4] = block[3] * t[0] + block[1] * t[4] + block[5] * t[8];
  out[8] = block[4] * t[0] + block[5] * t[4] + block[2] * t[8];
  const int row[3] = { 0, 0, 1 }, column[3] = { 1, 2, 2 };
  for (int k = 0; k < 3; ++k) {
    int i = row[k], j = column[k];
    kp_real even = flip[k] * (t[3 * i + j] + t[3 * j + i]) / 2;
    kp_real odd = twist[k] * (t[3 * i + j] - t[3 * j + i]) / 2;
    out[3 * i + j] = even + odd;
    out[3 * j + i] = even - odd;
  }
  // P = F eta (F^T V + V^T F): S_ij = s_i eta (s_i T_ij + s_j T_ji)
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      out[3 * i + j] += viscous * s[i] * (s[i] * t[3 * i + j] + s[j] * t[3 * j + i]);
    }
  }
  for (int k = 0; k < 9; ++k) {
    t[k] = out[k];
  }
}

typedef struct deform_solid_pull_args {
  int64_t first, n;
  kp_real elastic;
  const int32_t *corner, *tet;
  const kp_real *state;
  deform_in v;
  kp_real *tx, *ty, *tz;
} deform_solid_pull_args;

KP_FN void deform_solid_pull(int64_t e, const deform_solid_pull_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_real st[DEFORM_SOLID_STATE];
  for (int k = 0; k < DEFORM_SOLID_STATE; ++k) {
    st[k] = g->state[k * n + m];
  }
  const kp_real *u = st + DEFORM_SOLID_U, *x = st + DEFORM_SOLID_X;
  int32_t a = g->corner[m];
  kp_real d[9];  // rates of the edges in the frame: U^T D
  for (int c = 0; c < 3; ++c) {
    int32_t i = g->corner[(c + 1) * n + m];
    kp_real w[3] = { g->v.x[g->v.o + i] - g->v.x[g->v.o + a],
                     g->v.y[g->v.p + i] - g->v.y[g->v.p + a],
                     g->v.z[g->v.q + i] - g->v.z[g->v.q + a] };
    for (int r = 0; r < 3; ++r) {
      d[3 * r + c] = u[r] * w[0] + u[3 + r] * w[1] + u[6 + r] * w[2];
    }
  }
  kp_real t[9];
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      t[3 * r + c] = d[3 * r] * x[c] + d[3 * r + 1] * x[3 + c] + d[3 * r + 2] * x[6 + c];
    }
  }
  deform_solid_resist(st + DEFORM_SOLID_BLOCK, st + DEFORM_SOLID_FLIP, st + DEFORM_SOLID_TWIST,
                      st + DEFORM_SOLID_STRETCH, st[DEFORM_SOLID_VISCOUS], t);
  kp_real sum[3] = { 0, 0, 0 };
  int64_t ref = 4 * (int64_t)g->tet[m];
  for (int c = 0; c < 3; ++c) {
    kp_real y[3];  // row c of X S^T
    for (int r = 0; r < 3; ++r) {
      y[r] = t[3 * r] * x[3 * c] + t[3 * r + 1] * x[3 * c + 1] + t[3 * r + 2] * x[3 * c + 2];
    }
    kp_real f[3];
    for (int r = 0; r < 3; ++r) {
      f[r] = g->elastic * st[DEFORM_SOLID_FORCE + 3 * c + r] -
             (u[3 * r] * y[0] + u[3 * r + 1] * y[1] + u[3 * r + 2] * y[2]);
      sum[r] += f[r];
    }
    g->tx[ref + c + 1] = f[0];
    g->ty[ref + c + 1] = f[1];
    g->tz[ref + c + 1] = f[2];
  }
  g->tx[ref] = -sum[0];
  g->ty[ref] = -sum[1];
  g->tz[ref] = -sum[2];
}

typedef struct deform_solid_diagonal_args {
  int64_t first, n;
  const int32_t *tet;
  const kp_real *state;
  kp_real *qx, *qy, *qz;
} deform_solid_diagonal_args;

KP_FN void deform_solid_diagonal(int64_t e, const deform_solid_diagonal_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_real st[DEFORM_SOLID_STATE];
  for (int k = 0; k < DEFORM_SOLID_STATE; ++k) {
    st[k] = g->state[k * n + m];
  }
  const kp_real *u = st + DEFORM_SOLID_U, *x = st + DEFORM_SOLID_X;
  kp_real *const q[3] = { g->qx, g->qy, g->qz };
  for (int c = 0; c < 4; ++c) {
    kp_real along[3];  // a corner's row of X; the first is minus the sum of the others
    for (int k = 0; k < 3; ++k) {
      along[k] = c > 0 ? x[3 * (c - 1) + k] : -(x[k] + x[3 + k] + x[6 + k]);
    }
    for (int axis = 0; axis < 3; ++axis) {
      kp_real t[9], s[9];
      for (int k = 0; k < 9; ++k) {
        t[k] = s[k] = u[3 * axis + k / 3] * along[k % 3];
      }
      deform_solid_resist(st + DEFORM_SOLID_BLOCK, st + DEFORM_SOLID_FLIP, st + DEFORM_SOLID_TWIST,
                          st + DEFORM_SOLID_STRETCH, st[DEFORM_SOLID_VISCOUS], s);
      kp_real sum = 0;
      for (int k = 0; k < 9; ++k) {
        sum += s[k] * t[k];
      }
      q[axis][4 * (int64_t)g->tet[m] + c] = sum;
    }
  }
}

// Energy above that at rest [J].
typedef struct deform_edge_energy_args {
  int64_t first;
  kp_real strength;
  deform_around around;
} deform_edge_energy_args;

KP_FN void deform_edge_energy(int64_t e, const deform_edge_energy_args *g, double *value) {
  int64_t edge = g->first + e;
  double f[9], p[9], mu, lambda;
  double volume = deform_edge_mean(edge, &g->around, f);
  deform_edge_material(edge, g->strength, &g->around, &mu, &lambda);
  value[0] = 0.0;
  if (mu > 0.0) {
    double bow = 0.75 * mu / lambda;
    double at_rest = 0.5 * lambda * bow * bow - 0.5 * mu * log(4.0);
    value[0] = volume * (deform_solid_stress(f, mu, lambda, p) - at_rest);
  }
}

// Largest rate of Green's strain [1/s]: nothing in a rigid motion.
typedef struct deform_solid_rate_args {
  int64_t n;
  const int32_t *corner;
  const kp_real *rest;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
} deform_solid_rate_args;

KP_FN void deform_solid_rate(int64_t m, const deform_solid_rate_args *g, double *value) {
  const kp_pos *const p[3] = { g->x, g->y, g->z };
  kp_vec3 x[4], v[4];
  deform_corners(g->corner, g->n, m, p, x);
  for (int c = 0; c < 4; ++c) {
    int32_t i = g->corner[c * g->n + m];
    v[c] = kp_vec3_make((double)g->vx[i], (double)g->vy[i], (double)g->vz[i]);
  }
  double b[9], f[9], rate[9], sum = 0.0;
  deform_solid_load(g->rest, g->n, m, DEFORM_SOLID_B, 9, b);
  deform_solid_gradient(x, b, f);
  deform_solid_gradient(v, b, rate);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      double strain = 0.0;
      for (int k = 0; k < 3; ++k) {
        strain += 0.5 * (f[3 * k + i] * rate[3 * k + j] + rate[3 * k + i] * f[3 * k + j]);
      }
      sum += strain * strain;
    }
  }
  value[0] = sqrt(sum);
}

#define DEFORM_TETS_KERNELS(POINT, REDUCE, ROW, PAIR)                                              \
  POINT(deform, axis)                                                                              \
  POINT(deform, axis_pull)                                                                         \
  POINT(deform, axis_diagonal)                                                                     \
  REDUCE(deform, axis_energy, KP_REDUCE_SUM)                                                       \
  POINT(deform, gradient)                                                                          \
  POINT(deform, edge)                                                                              \
  POINT(deform, solid)                                                                             \
  POINT(deform, solid_pull)                                                                        \
  POINT(deform, solid_diagonal)                                                                    \
  REDUCE(deform, edge_energy, KP_REDUCE_SUM)                                                       \
  REDUCE(deform, solid_rate, KP_REDUCE_MAX)
