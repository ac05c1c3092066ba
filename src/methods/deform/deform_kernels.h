// What nodes, springs and tetrahedra of deformables do. Elements compute what they do to their
// nodes, nodes gather it in the order of their lists: no two elements write to one place.
//
// A spring with ends a, b has a direction d from a to b and a tension
//
//   T = k (l/l0 - 1) + c ((v_b - v_a).d)          force T d on a, -T d on b
//
// whose coefficient c = b + s k/l0 holds the damping b and, with s the share of the step, the
// stiffness of an implicit spring (Selle 2008, section 5.5): the direction is that of the start, so
// one linear and symmetric system gives the new velocities.
//
// A stretched spring also resists being turned, by T/l across d. Explicitly that bears steps up to
// 2/sqrt(T/(l m)) only. With `turns` its part s T/l (1 - d d) is in the system too, which stays
// symmetric and positive because compressed springs are left out.
#pragma once

#include "par/kernel.h"

// Components of vectors per node: x[o + i], y[p + i], z[q + i]. The vectors of a solver lie behind
// each other in one array, those of fields in three.
typedef struct deform_in {
  const kp_real *x, *y, *z;
  int64_t o, p, q;
} deform_in;

typedef struct deform_out {
  kp_real *x, *y, *z;
  int64_t o, p, q;
} deform_out;

// A node may be held along axes (bits 1, 2, 4 of hold) and keep its velocity along a normal n of
// unit length (0: none). What is left free of u.
KP_FN void deform_free(uint8_t hold, const kp_real n[3], kp_real u[3]) {
  kp_real along = u[0] * n[0] + u[1] * n[1] + u[2] * n[2];
  for (int c = 0; c < 3; ++c) {
    u[c] = (hold >> c) & 1 ? (kp_real)0 : u[c] - along * n[c];
  }
}

// ---- springs

typedef struct deform_spring_args {
  int64_t first;
  kp_real implicit;  // s [s]
  kp_real strength;  // factor of the stiffness; damping goes with its root
  const int32_t *a, *b;
  const kp_real *rest, *stiffness, *compression, *damping;
  const kp_pos *x, *y, *z;
  kp_real *dx, *dy, *dz;  // direction
  kp_real *force;         // elastic part of the tension [N]
  kp_real *rate;          // c [N s/m]
  kp_real turns;          // s of the resistance against turning [s]
  kp_real *side;          // its coefficient [N s/m], never above c
} deform_spring_args;

// Direction, elastic force, stiffness and 1/l of a spring whose ends are (x, y, z) apart.
typedef struct deform_spring_now {
  kp_real dx, dy, dz, force, stiffness, inverse;
} deform_spring_now;

KP_FN deform_spring_now deform_spring_at(kp_real x, kp_real y, kp_real z, kp_real rest,
                                         kp_real stretched, kp_real pressed) {
  kp_real l = (kp_real)sqrt((double)(x * x + y * y + z * z));
  kp_real inverse = l > 0 ? 1 / l : 0;  // ends on one place pull nowhere
  kp_real strain = l / rest - 1;
  kp_real k = strain > 0 ? stretched : pressed;
  deform_spring_now now = { x * inverse, y * inverse, z * inverse, k * strain, k, inverse };
  return now;
}

// What resists a turn, per velocity across the spring: T/l where it is stretched.
KP_FN kp_real deform_spring_side(const deform_spring_now *now, kp_real turns) {
  return now->force > 0 ? turns * now->force * now->inverse : 0;
}

KP_FN void deform_spring(int64_t e, const deform_spring_args *g) {
  int64_t s = g->first + e;
  int32_t a = g->a[s], b = g->b[s];
  kp_real x = (kp_real)(g->x[b] - g->x[a]);
  kp_real y = (kp_real)(g->y[b] - g->y[a]);
  kp_real z = (kp_real)(g->z[b] - g->z[a]);
  deform_spring_now now = deform_spring_at(x, y, z, g->rest[s], g->strength * g->stiffness[s],
                                           g->strength * g->compression[s]);
  g->dx[s] = now.dx;
  g->dy[s] = now.dy;
  g->dz[s] = now.dz;
  g->force[s] = now.force;
  g->side[s] = deform_spring_side(&now, g->turns);
  kp_real root = (kp_real)sqrt((double)g->strength);
  g->rate[s] = root * g->damping[s] + g->implicit * now.stiffness / g->rest[s];
}

typedef struct deform_tension_args {
  int64_t first;
  kp_real elastic;  // 1: with the elastic part, 0: without
  const int32_t *a, *b;
  const kp_real *dx, *dy, *dz, *force, *rate;
  deform_in v;
  kp_real *tension;
} deform_tension_args;

KP_FN void deform_tension(int64_t e, const deform_tension_args *g) {
  int64_t s = g->first + e;
  int32_t a = g->a[s], b = g->b[s];
  kp_real speed = (g->v.x[g->v.o + b] - g->v.x[g->v.o + a]) * g->dx[s] +
                  (g->v.y[g->v.p + b] - g->v.y[g->v.p + a]) * g->dy[s] +
                  (g->v.z[g->v.q + b] - g->v.z[g->v.q + a]) * g->dz[s];
  g->tension[s] = g->elastic * g->force[s] + g->rate[s] * speed;
}

// ---- what elements do to a node

// Springs of node i: refs[start[i]] ... refs[start[i + 1] - 1], each 2 spring + (0: end a, 1: b).
// Tetrahedra likewise, 4 tet + corner; they give a force to each of their corners.
typedef struct deform_gather {
  int32_t turns;  // springs resist being turned by the velocities v
  const int32_t *a, *b;
  const kp_real *side;
  deform_in v;
  const int32_t *spring_start, *spring_refs;
  const kp_real *dx, *dy, *dz, *tension;
  const int32_t *tet_start, *tet_refs;
  const kp_real *tx, *ty, *tz;  // force of a tetrahedron on its corners, 4 tet + corner
  // links: a force, shared by the weights of 4 corners
  const int32_t *link_start, *link_refs;  // 4 link + corner
  const kp_real *link_weight, *link_pull;
} deform_gather;

KP_FN void deform_sum(const deform_gather *g, int64_t i, kp_real f[3]) {
  f[0] = f[1] = f[2] = 0;
  for (int32_t r = g->spring_start[i]; r < g->spring_start[i + 1]; ++r) {
    int32_t ref = g->spring_refs[r];
    int32_t s = ref >> 1;
    kp_real t = ref & 1 ? -g->tension[s] : g->tension[s];
    if (g->turns) {
      int32_t j = ref & 1 ? g->a[s] : g->b[s];
      kp_real side = g->side[s];
      kp_real u[3] = { side * (g->v.x[g->v.o + j] - g->v.x[g->v.o + i]),
                       side * (g->v.y[g->v.p + j] - g->v.y[g->v.p + i]),
                       side * (g->v.z[g->v.q + j] - g->v.z[g->v.q + i]) };
      t -= u[0] * g->dx[s] + u[1] * g->dy[s] + u[2] * g->dz[s];
      f[0] += u[0];
      f[1] += u[1];
      f[2] += u[2];
    }
    f[0] += t * g->dx[s];
    f[1] += t * g->dy[s];
    f[2] += t * g->dz[s];
  }
  for (int32_t r = g->tet_start[i]; r < g->tet_start[i + 1]; ++r) {
    int32_t ref = g->tet_refs[r];
    f[0] += g->tx[ref];
    f[1] += g->ty[ref];
    f[2] += g->tz[ref];
  }
  for (int32_t r = g->link_start[i]; r < g->link_start[i + 1]; ++r) {
    int32_t ref = g->link_refs[r];
    const kp_real *pull = g->link_pull + 4 * (int64_t)(ref >> 2);
    f[0] += g->link_weight[ref] * pull[0];
    f[1] += g->link_weight[ref] * pull[1];
    f[2] += g->link_weight[ref] * pull[2];
  }
}

// ---- forces from outside: gravity, wind along the normal, slowing

typedef struct deform_outer {
  kp_real gx, gy, gz;           // m/s^2
  const kp_real *mass;          // kg
  const kp_real *slow;          // kg/s: viscosity times mass
  const kp_real *drag;          // N s/m: of the surface of a node
  const kp_real *nx, *ny, *nz;  // unit normal of the surface at a node; 0 without
  const kp_real *wx, *wy, *wz;  // velocity of the wind at a node [m/s]
  const kp_real *ex, *ey, *ez;  // accelerations of force fields [m/s^2]
} deform_outer;

// Part of it that grows with the velocity u: F = -B u.
KP_FN void deform_resist(const deform_outer *o, int64_t i, const kp_real u[3], kp_real f[3]) {
  kp_real along = o->drag[i] * (u[0] * o->nx[i] + u[1] * o->ny[i] + u[2] * o->nz[i]);
  f[0] -= o->slow[i] * u[0] + along * o->nx[i];
  f[1] -= o->slow[i] * u[1] + along * o->ny[i];
  f[2] -= o->slow[i] * u[2] + along * o->nz[i];
}

// b = P h F, F all forces at velocity v: the right side for the change of velocity. Without
// projection (`whole`): for explicit steps.
typedef struct deform_push_args {
  int64_t first;
  kp_real h;  // s
  int32_t whole;
  deform_gather gather;
  deform_outer outer;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
  deform_in v;
  deform_out b;
} deform_push_args;

KP_FN void deform_push(int64_t e, const deform_push_args *g) {
  int64_t i = g->first + e;
  kp_real f[3];
  deform_sum(&g->gather, i, f);
  const deform_outer *o = &g->outer;
  kp_real still[3] = { g->v.x[g->v.o + i] - o->wx[i], g->v.y[g->v.p + i] - o->wy[i],
                       g->v.z[g->v.q + i] - o->wz[i] };
  deform_resist(o, i, still, f);
  f[0] = g->h * (f[0] + o->mass[i] * (o->gx + o->ex[i]));
  f[1] = g->h * (f[1] + o->mass[i] * (o->gy + o->ey[i]));
  f[2] = g->h * (f[2] + o->mass[i] * (o->gz + o->ez[i]));
  if (!g->whole) {
    kp_real n[3] = { g->cx[i], g->cy[i], g->cz[i] };
    deform_free(g->hold[i], n, f);
  }
  g->b.x[g->b.o + i] = f[0];
  g->b.y[g->b.p + i] = f[1];
  g->b.z[g->b.q + i] = f[2];
}

// ---- the matrix of an implicit step

// Springs as rows of nodes, in slices of consecutive nodes that are as wide as their longest row:
// the s-th spring of node i stands at start[slice] + s DEFORM_SLICE + i % DEFORM_SLICE, so that
// neighbouring nodes read neighbouring numbers. Short rows are filled up with springs to the node
// itself that do nothing. A spring with direction d and coefficient c acts on a velocity u as
//
//   q (q.(u_other - u)) + s (u_other - u)      q = sqrt(c - s) d
//
// whichever end it is seen from, s being what resists turning.
#define DEFORM_SLICE 64
#ifdef __CUDACC__
#define DEFORM_LANES 1
#else
#define DEFORM_LANES 16
#endif

typedef struct deform_fill_args {
  int64_t first;          // of the entries
  const int32_t *spring;  // of an entry; -1: none
  const kp_real *dx, *dy, *dz, *rate, *side;
  kp_real *qx, *qy, *qz, *qs;
} deform_fill_args;

KP_FN void deform_fill(int64_t k, const deform_fill_args *g) {
  int64_t e = g->first + k;
  int32_t s = g->spring[e];
  int32_t at = s < 0 ? 0 : s;
  kp_real along = g->rate[at] - g->side[at];
  kp_real c = (kp_real)sqrt((double)(along > 0 ? along : 0));
  c = s < 0 ? 0 : c;
  g->qx[e] = c * g->dx[at];
  g->qy[e] = c * g->dy[at];
  g->qz[e] = c * g->dz[at];
  g->qs[e] = s < 0 ? 0 : g->side[at];
}

typedef struct deform_rows {
  const int32_t *start;  // of a slice
  const int32_t *other;
  const kp_real *qx, *qy, *qz;
  const kp_real *qs;  // NULL: nothing resists turning
} deform_rows;

// y = P (M + h B - h D) P u + (1 - P) M u. Forces of tetrahedra are those of u.
typedef struct deform_apply_args {
  kp_real h;
  deform_rows rows;
  const int32_t *tet_start, *tet_refs;
  const kp_real *tx, *ty, *tz;
  const kp_real *mass, *slow, *drag, *nx, *ny, *nz;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;
  deform_in u;
  deform_out y;
} deform_apply_args;

// `n` nodes from i, at most DEFORM_LANES.
KP_FN void deform_apply_some(int64_t slice, int64_t i, int n, const deform_apply_args *g) {
  kp_real u[3][DEFORM_LANES], f[3][DEFORM_LANES];
  const kp_real *ux = g->u.x + g->u.o, *uy = g->u.y + g->u.p, *uz = g->u.z + g->u.q;
  const deform_rows *r = &g->rows;
  for (int l = 0; l < n; ++l) {
    u[0][l] = ux[i + l];
    u[1][l] = uy[i + l];
    u[2][l] = uz[i + l];
    kp_real along =
        g->drag[i + l] * (u[0][l] * g->nx[i + l] + u[1][l] * g->ny[i + l] + u[2][l] * g->nz[i + l]);
    f[0][l] = -g->slow[i + l] * u[0][l] - along * g->nx[i + l];
    f[1][l] = -g->slow[i + l] * u[1][l] - along * g->ny[i + l];
    f[2][l] = -g->slow[i + l] * u[2][l] - along * g->nz[i + l];
  }
  int64_t last = r->start[slice + 1];
  for (int64_t e = r->start[slice] + i % DEFORM_SLICE; e < last && r->qs != NULL;
       e += DEFORM_SLICE) {
    KP_INDEPENDENT
    for (int l = 0; l < n; ++l) {
      int64_t o = r->other[e + l];
      kp_real side = r->qs[e + l];
      f[0][l] += side * (ux[o] - u[0][l]);
      f[1][l] += side * (uy[o] - u[1][l]);
      f[2][l] += side * (uz[o] - u[2][l]);
    }
  }
  for (int64_t e = r->start[slice] + i % DEFORM_SLICE; e < last; e += DEFORM_SLICE) {
    KP_INDEPENDENT
    for (int l = 0; l < n; ++l) {
      int64_t o = r->other[e + l];
      kp_real qx = r->qx[e + l], qy = r->qy[e + l], qz = r->qz[e + l];
      kp_real w = qx * (ux[o] - u[0][l]) + qy * (uy[o] - u[1][l]) + qz * (uz[o] - u[2][l]);
      f[0][l] += w * qx;
      f[1][l] += w * qy;
      f[2][l] += w * qz;
    }
  }
  for (int l = 0; l < n && g->tx != NULL; ++l) {
    for (int32_t k = g->tet_start[i + l]; k < g->tet_start[i + l + 1]; ++k) {
      int32_t ref = g->tet_refs[k];
      f[0][l] += g->tx[ref];
      f[1][l] += g->ty[ref];
      f[2][l] += g->tz[ref];
    }
  }
  kp_real *yx = g->y.x + g->y.o, *yy = g->y.y + g->y.p, *yz = g->y.z + g->y.q;
  KP_INDEPENDENT
  for (int l = 0; l < n; ++l) {
    kp_real a = -g->h * f[0][l], b = -g->h * f[1][l], c = -g->h * f[2][l];
    kp_real nx = g->cx[i + l], ny = g->cy[i + l], nz = g->cz[i + l];
    kp_real along = a * nx + b * ny + c * nz;
    uint8_t hold = g->hold[i + l];
    kp_real m = g->mass[i + l];
    yx[i + l] = (hold & 1 ? 0 : a - along * nx) + m * u[0][l];
    yy[i + l] = (hold & 2 ? 0 : b - along * ny) + m * u[1][l];
    yz[i + l] = (hold & 4 ? 0 : c - along * nz) + m * u[2][l];
  }
}

KP_FN void deform_apply(int64_t j, int64_t k, int64_t i0, int64_t i1, const deform_apply_args *g) {
  (void)k;
  int64_t i = i0;
  for (; i + DEFORM_LANES <= i1; i += DEFORM_LANES) {
    deform_apply_some(j, i, DEFORM_LANES, g);
  }
  if (i < i1) {
    deform_apply_some(j, i, (int)(i1 - i), g);
  }
}

// Inverse of the diagonal of that matrix, for Jacobi's preconditioner. Where a node keeps its
// velocity along a normal all three are the largest, so that it commutes with the projection.
typedef struct deform_diagonal_args {
  int64_t first;
  kp_real h;
  const int32_t *spring_start, *spring_refs, *tet_start, *tet_refs;
  const kp_real *dx, *dy, *dz, *rate, *side;
  const kp_real *qx, *qy, *qz;  // diagonal of -D of a tetrahedron at its corners, 4 tet + corner
  const int32_t *link_start, *link_refs;
  const kp_real *link_weight, *link_along, *link_rate;  // `along` four per link
  const kp_real *mass, *slow, *drag, *nx, *ny, *nz;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
  deform_out inverse;
} deform_diagonal_args;

KP_FN void deform_diagonal(int64_t e, const deform_diagonal_args *g) {
  int64_t i = g->first + e;
  kp_real d[3] = { g->slow[i] + g->drag[i] * g->nx[i] * g->nx[i],
                   g->slow[i] + g->drag[i] * g->ny[i] * g->ny[i],
                   g->slow[i] + g->drag[i] * g->nz[i] * g->nz[i] };
  for (int32_t r = g->spring_start[i]; r < g->spring_start[i + 1]; ++r) {
    int32_t s = g->spring_refs[r] >> 1;
    kp_real c = g->rate[s] - g->side[s];
    d[0] += g->side[s] + c * g->dx[s] * g->dx[s];
    d[1] += g->side[s] + c * g->dy[s] * g->dy[s];
    d[2] += g->side[s] + c * g->dz[s] * g->dz[s];
  }
  for (int32_t r = g->tet_start[i]; r < g->tet_start[i + 1]; ++r) {
    int32_t ref = g->tet_refs[r];
    d[0] += g->qx[ref];
    d[1] += g->qy[ref];
    d[2] += g->qz[ref];
  }
  for (int32_t r = g->link_start[i]; r < g->link_start[i + 1]; ++r) {
    int32_t ref = g->link_refs[r];
    int32_t l = ref >> 2;
    const kp_real *along = g->link_along + 4 * (int64_t)l;
    kp_real c = g->link_weight[ref] * g->link_weight[ref] * g->link_rate[l];
    d[0] += c * along[0] * along[0];
    d[1] += c * along[1] * along[1];
    d[2] += c * along[2] * along[2];
  }
  if (g->cx[i] != 0 || g->cy[i] != 0 || g->cz[i] != 0) {
    kp_real most = d[0] > d[1] ? d[0] : d[1];
    d[0] = d[1] = d[2] = most > d[2] ? most : d[2];
  }
  for (int c = 0; c < 3; ++c) {
    d[c] = (g->hold[i] >> c) & 1 ? g->mass[i] : g->mass[i] + g->h * d[c];
  }
  g->inverse.x[g->inverse.o + i] = 1 / d[0];
  g->inverse.y[g->inverse.p + i] = 1 / d[1];
  g->inverse.z[g->inverse.q + i] = 1 / d[2];
}

// First guess of a change of velocity: d = P w.
typedef struct deform_guess_args {
  int64_t first;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;
  const kp_real *wx, *wy, *wz;
  const kp_real *ax, *ay, *az;  // NULL: d = w
  deform_out d;
} deform_guess_args;

KP_FN void deform_guess(int64_t e, const deform_guess_args *g) {
  int64_t i = g->first + e;
  kp_real d[3] = { g->wx[i], g->wy[i], g->wz[i] };
  kp_real n[3] = { g->cx[i], g->cy[i], g->cz[i] };
  if (g->ax != NULL) {
    d[0] += g->ax[i];
    d[1] += g->ay[i];
    d[2] += g->az[i];
  }
  deform_free(g->hold[i], n, d);
  g->d.x[g->d.o + i] = d[0];
  g->d.y[g->d.p + i] = d[1];
  g->d.z[g->d.q + i] = d[2];
}

// w = d - a
typedef struct deform_keep_args {
  int64_t first;
  deform_in d;
  const kp_real *ax, *ay, *az;  // NULL: w = d
  kp_real *wx, *wy, *wz;
} deform_keep_args;

KP_FN void deform_keep(int64_t e, const deform_keep_args *g) {
  int64_t i = g->first + e;
  bool is_whole = g->ax == NULL;
  g->wx[i] = g->d.x[g->d.o + i] - (is_whole ? (kp_real)0 : g->ax[i]);
  g->wy[i] = g->d.y[g->d.p + i] - (is_whole ? (kp_real)0 : g->ay[i]);
  g->wz[i] = g->d.z[g->d.q + i] - (is_whole ? (kp_real)0 : g->az[i]);
}

// ---- steps of nodes

// w = v + s d along the axes that are not held; d may be divided by the mass.
typedef struct deform_kick_args {
  int64_t first;
  kp_real s;
  int32_t by_mass;
  const uint8_t *hold;
  const kp_real *mass;
  const kp_real *vx, *vy, *vz;
  deform_in d;
  kp_real *wx, *wy, *wz;  // may be v
} deform_kick_args;

KP_FN void deform_kick(int64_t e, const deform_kick_args *g) {
  int64_t i = g->first + e;
  kp_real s = g->by_mass ? g->s / g->mass[i] : g->s;
  uint8_t hold = g->hold[i];
  g->wx[i] = g->vx[i] + (hold & 1 ? 0 : s * g->d.x[g->d.o + i]);
  g->wy[i] = g->vy[i] + (hold & 2 ? 0 : s * g->d.y[g->d.p + i]);
  g->wz[i] = g->vz[i] + (hold & 4 ? 0 : s * g->d.z[g->d.q + i]);
}

// x += dt w
typedef struct deform_move_args {
  double dt;
  const kp_real *wx, *wy, *wz;
  kp_pos *x, *y, *z;
} deform_move_args;

KP_FN void deform_move(int64_t i, const deform_move_args *g) {
  g->x[i] += g->dt * (double)g->wx[i];
  g->y[i] += g->dt * (double)g->wy[i];
  g->z[i] += g->dt * (double)g->wz[i];
}

// m = (x + y)/2
typedef struct deform_middle_args {
  int64_t first;
  const kp_pos *ox, *oy, *oz;
  const kp_pos *x, *y, *z;
  kp_pos *mx, *my, *mz;
} deform_middle_args;

KP_FN void deform_middle(int64_t e, const deform_middle_args *g) {
  int64_t i = g->first + e;
  g->mx[i] = 0.5 * (g->ox[i] + g->x[i]);
  g->my[i] = 0.5 * (g->oy[i] + g->y[i]);
  g->mz[i] = 0.5 * (g->oz[i] + g->z[i]);
}

// w = v
typedef struct deform_copy_args {
  int64_t first;
  const kp_real *vx, *vy, *vz;
  kp_real *wx, *wy, *wz;
} deform_copy_args;

KP_FN void deform_copy(int64_t e, const deform_copy_args *g) {
  int64_t i = g->first + e;
  g->wx[i] = g->vx[i];
  g->wy[i] = g->vy[i];
  g->wz[i] = g->vz[i];
}

// w = v + whole (w - v) along the axes that are not held
typedef struct deform_extrapolate_args {
  int64_t first;
  kp_real whole;  // the step over the time after which w is
  const uint8_t *hold;
  const kp_real *vx, *vy, *vz;
  kp_real *wx, *wy, *wz;
} deform_extrapolate_args;

KP_FN void deform_extrapolate(int64_t e, const deform_extrapolate_args *g) {
  int64_t i = g->first + e;
  uint8_t hold = g->hold[i];
  kp_real whole = g->whole;
  kp_real rest = whole - 1;  // exact, as are both factors of a half step
  g->wx[i] = hold & 1 ? g->wx[i] : whole * g->wx[i] - rest * g->vx[i];
  g->wy[i] = hold & 2 ? g->wy[i] : whole * g->wy[i] - rest * g->vy[i];
  g->wz[i] = hold & 4 ? g->wz[i] : whole * g->wz[i] - rest * g->vz[i];
}

// ---- pins

// Node e of the list of a pin goes where the pin leads it in this step: x' = turn x + shift. Its
// velocity is (x' - x)/dt along the axes the pin holds. A node that had to wait lags behind by l:
// it ought to be at x + l, goes to turn (x + l) + shift - (1 - s) turn l, and lags by the last
// term.
typedef struct deform_lead_args {
  int64_t first;  // in the list
  double dt;
  double turn[9], shift[3];
  double share;  // s: of the lag that is made up for in this step
  uint8_t hold;
  const int32_t *list;
  const kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  double *lx, *ly, *lz;  // m: lag; NULL: none
  uint8_t *held;
} deform_lead_args;

#define DEFORM_LEAST_LAG 1e-7  // m: the rest of a lag is made up for at once

KP_FN void deform_lead(int64_t e, const deform_lead_args *g) {
  int64_t i = g->list[g->first + e];
  const double p[3] = { g->x[i], g->y[i], g->z[i] };
  double l[3] = { 0.0, 0.0, 0.0 };
  double keep = 0.0;
  if (g->lx != NULL) {
    l[0] = g->lx[i];
    l[1] = g->ly[i];
    l[2] = g->lz[i];
    double l2 = l[0] * l[0] + l[1] * l[1] + l[2] * l[2];
    keep = l2 > DEFORM_LEAST_LAG * DEFORM_LEAST_LAG ? 1.0 - g->share : 0.0;
  }
  kp_real v[3];
  double left[3];
  for (int c = 0; c < 3; ++c) {
    const double *row = g->turn + 3 * c;
    double there = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + g->shift[c];
    double late = row[0] * l[0] + row[1] * l[1] + row[2] * l[2];
    left[c] = keep * late;
    v[c] = (kp_real)((there + (late - left[c]) - p[c]) / g->dt);
  }
  if (g->lx != NULL) {
    g->lx[i] = g->hold & 1 ? left[0] : l[0];
    g->ly[i] = g->hold & 2 ? left[1] : l[1];
    g->lz[i] = g->hold & 4 ? left[2] : l[2];
  }
  g->vx[i] = g->hold & 1 ? v[0] : g->vx[i];
  g->vy[i] = g->hold & 2 ? v[1] : g->vy[i];
  g->vz[i] = g->hold & 4 ? v[2] : g->vz[i];
  g->held[i] = (uint8_t)(g->held[i] | g->hold);
}

typedef struct deform_release_args {
  uint8_t *held;
} deform_release_args;

KP_FN void deform_release(int64_t i, const deform_release_args *g) {
  g->held[i] = 0;
}

// What is not held any more does not lag.
typedef struct deform_forget_args {
  const uint8_t *held;
  double *lx, *ly, *lz;
} deform_forget_args;

KP_FN void deform_forget(int64_t i, const deform_forget_args *g) {
  uint8_t held = g->held[i];
  g->lx[i] = held & 1 ? g->lx[i] : 0.0;
  g->ly[i] = held & 2 ? g->ly[i] : 0.0;
  g->lz[i] = held & 4 ? g->lz[i] : 0.0;
}

// ---- the surface at a node: unit normal, and the drag of its third of the triangles around

typedef struct deform_normal_args {
  const int32_t *start, *refs;   // triangles of a node
  const int32_t *ta, *tb, *tc;   // nodes of a triangle
  const kp_real *drag_per_area;  // of a node's part [N s/m^3]
  const kp_pos *x, *y, *z;
  kp_real *nx, *ny, *nz, *drag;
} deform_normal_args;

KP_FN void deform_normal(int64_t i, const deform_normal_args *g) {
  double n[3] = { 0.0, 0.0, 0.0 };
  double area = 0.0;
  for (int32_t r = g->start[i]; r < g->start[i + 1]; ++r) {
    int32_t t = g->refs[r];
    int32_t a = g->ta[t], b = g->tb[t], c = g->tc[t];
    double u[3] = { g->x[b] - g->x[a], g->y[b] - g->y[a], g->z[b] - g->z[a] };
    double v[3] = { g->x[c] - g->x[a], g->y[c] - g->y[a], g->z[c] - g->z[a] };
    double w[3] = { u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                    u[0] * v[1] - u[1] * v[0] };
    n[0] += w[0];
    n[1] += w[1];
    n[2] += w[2];
    area += sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) / 6.0;
  }
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  double inverse = length > 0.0 ? 1.0 / length : 0.0;
  g->nx[i] = (kp_real)(n[0] * inverse);
  g->ny[i] = (kp_real)(n[1] * inverse);
  g->nz[i] = (kp_real)(n[2] * inverse);
  g->drag[i] = (kp_real)(area * (double)g->drag_per_area[i]);
}

// ---- numbers

// Largest rate of strain of the springs [1/s].
typedef struct deform_strain_rate_args {
  const int32_t *a, *b;
  const kp_real *rest;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
} deform_strain_rate_args;

KP_FN void deform_strain_rate(int64_t s, const deform_strain_rate_args *g, double *value) {
  int32_t a = g->a[s], b = g->b[s];
  double d[3] = { g->x[b] - g->x[a], g->y[b] - g->y[a], g->z[b] - g->z[a] };
  double l2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  double v = ((double)g->vx[b] - (double)g->vx[a]) * d[0] +
             ((double)g->vy[b] - (double)g->vy[a]) * d[1] +
             ((double)g->vz[b] - (double)g->vz[a]) * d[2];
  value[0] = l2 > 0.0 ? fabs(v) / (sqrt(l2) * (double)g->rest[s]) : 0.0;
}

// Of a range of springs: elastic energy [J].
typedef struct deform_energy_args {
  int64_t first;
  double strength;
  const int32_t *a, *b;
  const kp_real *rest, *stiffness, *compression;
  const kp_pos *x, *y, *z;
} deform_energy_args;

KP_FN void deform_energy(int64_t e, const deform_energy_args *g, double *value) {
  int64_t s = g->first + e;
  int32_t a = g->a[s], b = g->b[s];
  double d[3] = { g->x[b] - g->x[a], g->y[b] - g->y[a], g->z[b] - g->z[a] };
  double strain = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / (double)g->rest[s] - 1.0;
  double k = strain > 0.0 ? (double)g->stiffness[s] : (double)g->compression[s];
  value[0] = 0.5 * g->strength * k * (double)g->rest[s] * strain * strain;
}

// Of a range of nodes: mass, momentum, kinetic energy, m g.x, fastest, bounds, and how many have no
// finite state.
typedef struct deform_sums_args {
  int64_t first;
  double gx, gy, gz;
  const kp_real *mass;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
} deform_sums_args;

#define DEFORM_SUMS 14
#define DEFORM_SUMS_OPS                                                                            \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM,        \
      KP_REDUCE_MAX, KP_REDUCE_MIN, KP_REDUCE_MIN, KP_REDUCE_MIN, KP_REDUCE_MAX, KP_REDUCE_MAX,    \
      KP_REDUCE_MAX, KP_REDUCE_SUM

KP_FN void deform_sums(int64_t e, const deform_sums_args *g, double *v) {
  int64_t i = g->first + e;
  double m = (double)g->mass[i];
  const double u[3] = { (double)g->vx[i], (double)g->vy[i], (double)g->vz[i] };
  const double p[3] = { g->x[i], g->y[i], g->z[i] };
  double speed2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
  v[0] = m;
  for (int c = 0; c < 3; ++c) {
    v[1 + c] = m * u[c];
    v[7 + c] = p[c];
    v[10 + c] = p[c];
  }
  v[4] = 0.5 * m * speed2;
  v[5] = -m * (g->gx * p[0] + g->gy * p[1] + g->gz * p[2]);
  v[6] = sqrt(speed2);
  v[13] = isfinite(speed2 + p[0] + p[1] + p[2]) ? 0.0 : 1.0;
}

// ---- what moves as a whole (deform_whole.c)

// Of a part: mass as the solve has it, b - m u, and 1 where a node is held.
typedef struct deform_whole_args {
  int64_t first;
  double h;
  const kp_real *mass, *slow;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
  deform_in b, u;
} deform_whole_args;

#define DEFORM_WHOLE 5
#define DEFORM_WHOLE_OPS KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_MAX

KP_FN void deform_whole(int64_t e, const deform_whole_args *g, double *v) {
  int64_t i = g->first + e;
  double m = (double)g->mass[i] + g->h * (double)g->slow[i];
  v[0] = m;
  v[1] = (double)g->b.x[g->b.o + i] - m * (double)g->u.x[g->u.o + i];
  v[2] = (double)g->b.y[g->b.p + i] - m * (double)g->u.y[g->u.p + i];
  v[3] = (double)g->b.z[g->b.q + i] - m * (double)g->u.z[g->u.q + i];
  bool is_held = g->hold[i] != 0 || g->cx[i] != 0 || g->cy[i] != 0 || g->cz[i] != 0;
  v[4] = is_held ? 1.0 : 0.0;
}

// u += speed
typedef struct deform_carry_args {
  int64_t first;
  kp_real speed[3];
  deform_out u;
} deform_carry_args;

KP_FN void deform_carry(int64_t e, const deform_carry_args *g) {
  int64_t i = g->first + e;
  g->u.x[g->u.o + i] += g->speed[0];
  g->u.y[g->u.p + i] += g->speed[1];
  g->u.z[g->u.q + i] += g->speed[2];
}

// ---- contact

typedef struct deform_give_args {
  const uint8_t *hold;
  const kp_real *lightness;  // 1/kg
  kp_real *give;
} deform_give_args;

// Nodes that are led along all axes move as told.
KP_FN void deform_give(int64_t i, const deform_give_args *g) {
  g->give[i] = g->hold[i] >= 7 ? (kp_real)0 : g->lightness[i];
}

#define DEFORM_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(deform, give)                                                                              \
  POINT(deform, spring)                                                                            \
  POINT(deform, tension)                                                                           \
  POINT(deform, push)                                                                              \
  POINT(deform, fill)                                                                              \
  POINT(deform, guess)                                                                             \
  POINT(deform, keep)                                                                              \
  ROW(deform, apply)                                                                               \
  POINT(deform, diagonal)                                                                          \
  POINT(deform, kick)                                                                              \
  POINT(deform, move)                                                                              \
  POINT(deform, middle)                                                                            \
  POINT(deform, copy)                                                                              \
  POINT(deform, extrapolate)                                                                       \
  POINT(deform, lead)                                                                              \
  POINT(deform, release)                                                                           \
  POINT(deform, forget)                                                                            \
  POINT(deform, normal)                                                                            \
  POINT(deform, carry)                                                                             \
  REDUCE(deform, whole, DEFORM_WHOLE_OPS)                                                          \
  REDUCE(deform, strain_rate, KP_REDUCE_MAX)                                                       \
  REDUCE(deform, energy, KP_REDUCE_SUM)                                                            \
  REDUCE(deform, sums, DEFORM_SUMS_OPS)
