// What hairs do beyond springs: roots follow the head, segments do not stretch, and hairs that
// touch stick (Selle 2008, sections 7.4.1 and 7.5.2).
#pragma once

#include "math/records.h"
#include "methods/deform/deform_kernels.h"
#include "methods/deform/hair_solve_kernels.h"

// ---- roots

// Node e of the list goes to where its body takes it: y = turn local + shift, whatever happened to
// it before.
typedef struct hair_root_args {
  int64_t first;  // in the list
  double dt;
  double turn[9], shift[3];
  const int32_t *list;
  const double *lx, *ly, *lz;  // in the frame of the body
  const kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  uint8_t *held;
} hair_root_args;

KP_FN void hair_root(int64_t e, const hair_root_args *g) {
  int64_t k = g->first + e;
  int64_t i = g->list[k];
  const double *t = g->turn;
  double px = g->lx[k], py = g->ly[k], pz = g->lz[k];
  g->vx[i] = (kp_real)((t[0] * px + t[1] * py + t[2] * pz + g->shift[0] - g->x[i]) / g->dt);
  g->vy[i] = (kp_real)((t[3] * px + t[4] * py + t[5] * pz + g->shift[1] - g->y[i]) / g->dt);
  g->vz[i] = (kp_real)((t[6] * px + t[7] * py + t[8] * pz + g->shift[2] - g->z[i]) / g->dt);
  g->held[i] |= 7;
}

// Roots on a surface that changes its form: node e is at a point of a triangle, by its barycentric
// weights, plus an offset in the frame of that triangle (along the first edge, across it, along the
// normal). So the first node of a hair stays where it is on the skin, and the next two keep their
// distance from it and turn with the skin.
typedef struct hair_embed_args {
  int64_t first;            // in the list
  const int32_t *corner;    // 3 per node: vertices
  const double *weight;     // 3 per node
  const double *offset;     // 3 per node [m]
  const double *x, *y, *z;  // of vertices, in the frame of the body
  double *lx, *ly, *lz;
} hair_embed_args;

// The corners of a triangle and its frame, three axes of three numbers.
KP_FN void hair_triangle_frame(const double p[9], double axes[9]) {
  double u[3] = { p[3] - p[0], p[4] - p[1], p[5] - p[2] };
  double w[3] = { p[6] - p[0], p[7] - p[1], p[8] - p[2] };
  double n[3] = { u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0] };
  double lu = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  double ln = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  double su = lu > 0.0 ? 1.0 / lu : 0.0, sn = ln > 0.0 ? 1.0 / ln : 0.0;
  for (int c = 0; c < 3; ++c) {
    axes[c] = su * u[c];
    axes[6 + c] = sn * n[c];
  }
  axes[3] = axes[7] * axes[2] - axes[8] * axes[1];
  axes[4] = axes[8] * axes[0] - axes[6] * axes[2];
  axes[5] = axes[6] * axes[1] - axes[7] * axes[0];
}

KP_FN void hair_embed(int64_t e, const hair_embed_args *g) {
  int64_t k = g->first + e;
  double p[9], axes[9], at[3] = { 0.0, 0.0, 0.0 };
  for (int c = 0; c < 3; ++c) {
    int64_t i = g->corner[3 * k + c];
    p[3 * c] = g->x[i];
    p[3 * c + 1] = g->y[i];
    p[3 * c + 2] = g->z[i];
    for (int m = 0; m < 3; ++m) {
      at[m] += g->weight[3 * k + c] * p[3 * c + m];
    }
  }
  hair_triangle_frame(p, axes);
  for (int c = 0; c < 3; ++c) {
    for (int m = 0; m < 3; ++m) {
      at[m] += g->offset[3 * k + c] * axes[3 * c + m];
    }
  }
  g->lx[k] = at[0];
  g->ly[k] = at[1];
  g->lz[k] = at[2];
}

// Extra nodes give a hair its twist and are no place of it: nothing but springs meets them (bit 8
// of hold).
typedef struct hair_hide_args {
  const int32_t *list;
  uint8_t *held;
} hair_hide_args;

KP_FN void hair_hide(int64_t e, const hair_hide_args *g) {
  g->held[g->list[e]] |= 8;
}

// ---- no stretching

// Hair e has the nodes start[e] ... start[e + 1] - 1, from root to tip. Where a node at the end of
// the step, y = x + dt w, is farther from its parent than at rest, it is put back along the line to
// it, and w follows; the parent never moves, so one sweep is exact (section 7.4.1). A sweep begins
// behind the last node that is led: between two of them it would leave all that it took away to the
// segment before the second, which then snaps; springs alone hold there.
typedef struct hair_limit_args {
  int64_t first;
  double dt;
  const int32_t *start;
  const int32_t *parent;  // of nodes, -1: none
  const double *rest;     // of nodes: distance to the parent [m]
  const uint8_t *held;    // nodes that are led go where they are led
  const kp_pos *x, *y, *z;
  kp_real *wx, *wy, *wz;
} hair_limit_args;

KP_FN void hair_limit(int64_t e, const hair_limit_args *g) {
  int64_t h = g->first + e;
  int32_t end = g->start[h + 1], begin = end;
  while (begin > g->start[h] && (g->held[begin - 1] & 7) == 0) {
    --begin;
  }
  for (int32_t i = begin; i < end; ++i) {
    int32_t p = g->parent[i];
    if (p < 0) {
      continue;
    }
    double px = g->x[p] + g->dt * (double)g->wx[p];
    double py = g->y[p] + g->dt * (double)g->wy[p];
    double pz = g->z[p] + g->dt * (double)g->wz[p];
    double dx = g->x[i] + g->dt * (double)g->wx[i] - px;
    double dy = g->y[i] + g->dt * (double)g->wy[i] - py;
    double dz = g->z[i] + g->dt * (double)g->wz[i] - pz;
    double l = sqrt(dx * dx + dy * dy + dz * dz);
    if (l > g->rest[i]) {
      double s = g->rest[i] / l;
      g->wx[i] = (kp_real)((px + s * dx - g->x[i]) / g->dt);
      g->wy[i] = (kp_real)((py + s * dy - g->y[i]) / g->dt);
      g->wz[i] = (kp_real)((pz + s * dz - g->z[i]) / g->dt);
    }
  }
}

// The same by impulses J = (l - l0) d/dt/(1/m_c + 1/m_p) along segments stretched by more than a
// tenth, a few times over the hair: momentum is conserved, the length is not (section 7.4.1 tells
// why that fails).
typedef struct hair_pull_args {
  int64_t first;
  double dt;
  int32_t iterations;
  const int32_t *start, *parent;
  const double *rest;
  const uint8_t *held;
  const kp_real *mass;
  const kp_pos *x, *y, *z;
  kp_real *wx, *wy, *wz;
} hair_pull_args;

#define HAIR_PULL_STRAIN 0.1

KP_FN void hair_pull(int64_t e, const hair_pull_args *g) {
  int64_t h = g->first + e;
  for (int32_t k = 0; k < g->iterations; ++k) {
    for (int32_t i = g->start[h]; i < g->start[h + 1]; ++i) {
      int32_t p = g->parent[i];
      double ui = p < 0 || (g->held[i] & 7) != 0 ? 0.0 : 1.0 / (double)g->mass[i];
      double up = p < 0 || (g->held[p] & 7) != 0 ? 0.0 : 1.0 / (double)g->mass[p];
      if (ui + up == 0.0) {
        continue;
      }
      double dx = g->x[p] - g->x[i] + g->dt * ((double)g->wx[p] - (double)g->wx[i]);
      double dy = g->y[p] - g->y[i] + g->dt * ((double)g->wy[p] - (double)g->wy[i]);
      double dz = g->z[p] - g->z[i] + g->dt * ((double)g->wz[p] - (double)g->wz[i]);
      double l = sqrt(dx * dx + dy * dy + dz * dz);
      if (l <= (1.0 + HAIR_PULL_STRAIN) * g->rest[i]) {
        continue;
      }
      double j = (l - g->rest[i]) / (l * g->dt * (ui + up));
      g->wx[i] += (kp_real)(ui * j * dx);
      g->wy[i] += (kp_real)(ui * j * dy);
      g->wz[i] += (kp_real)(ui * j * dz);
      g->wx[p] -= (kp_real)(up * j * dx);
      g->wy[p] -= (kp_real)(up * j * dy);
      g->wz[p] -= (kp_real)(up * j * dz);
    }
  }
}

// Largest strain of the segments that are limited.
typedef struct hair_strain_args {
  int64_t first;
  const int32_t *parent;
  const double *rest;
  const kp_pos *x, *y, *z;
} hair_strain_args;

KP_FN void hair_strain(int64_t e, const hair_strain_args *g, double *value) {
  int64_t i = g->first + e;
  int32_t p = g->parent[i];
  value[0] = 0.0;
  if (p >= 0) {
    double dx = g->x[i] - g->x[p], dy = g->y[i] - g->y[p], dz = g->z[i] - g->z[p];
    value[0] = sqrt(dx * dx + dy * dy + dz * dz) / g->rest[i] - 1.0;
  }
}

// ---- links between hairs

// Of the length a link was made with: where it begins to push.
#define HAIR_MADE (1.0 - 1e-6)

// Link e joins the points of two segments with the nodes n0, n1 and n2, n3: a spring from
// (1 - s) n0 + s n1 to (1 - t) n2 + t n3.
typedef struct hair_link_args {
  int64_t first;
  kp_real implicit;       // s, as of springs
  const int32_t *node;    // 4 link + corner
  const kp_real *weight;  // the same, negative at n2 and n3
  const kp_real *rest, *stiffness, *damping;
  const kp_real *longest;  // m: it breaks
  const kp_real *made;     // m: its length when it was made, at most rest
  const kp_pos *x, *y, *z;
  uint8_t *alive;
  kp_real *along;  // records: from its second point to its first
  kp_real *force, *rate;
} hair_link_args;

KP_FN void hair_link(int64_t e, const hair_link_args *g) {
  int64_t l = g->first + e;
  double d[3] = { 0.0, 0.0, 0.0 };
  int64_t first = g->node[4 * l];
  for (int c = 1; c < 4; ++c) {
    int64_t i = g->node[4 * l + c];
    double w = -(double)g->weight[4 * l + c];
    d[0] += w * (g->x[i] - g->x[first]);
    d[1] += w * (g->y[i] - g->y[first]);
    d[2] += w * (g->z[i] - g->z[first]);
  }
  double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  double inverse = length > 0.0 ? 1.0 / length : 0.0;
  // stretched beyond its rest length, or pushed below the length it was made with: one made of
  // hairs that were nearer than its rest length would else throw them apart. One that is as long as
  // it was made must neither push nor be stiff for a last bit
  double rest = (double)g->rest[l];
  double strain = length > rest ? length / rest - 1.0
                                : fmin(length - HAIR_MADE * (double)g->made[l], 0.0) / rest;
  // broken ones stay so: hairs let go abruptly
  g->alive[l] = g->alive[l] != 0 && length <= (double)g->longest[l] ? 1 : 0;
  kp_real k = g->alive[l] != 0 ? g->stiffness[l] : (kp_real)0;
  kp_real b = g->alive[l] != 0 ? g->damping[l] : (kp_real)0;
  kp_record along = kp_record_make((kp_real)(d[0] * inverse), (kp_real)(d[1] * inverse),
                                   (kp_real)(d[2] * inverse));
  kp_record_store(g->along + KP_RECORD * l, &along);
  k = strain == 0.0 ? (kp_real)0 : k;
  g->force[l] = (kp_real)((double)k * strain);
  g->rate[l] = b + g->implicit * k / g->rest[l];
}

// Velocities of nodes as records: links gather them from anywhere.
typedef struct hair_record_args {
  int64_t first;
  deform_in v;
  kp_real *record;
} hair_record_args;

KP_FN void hair_record(int64_t e, const hair_record_args *g) {
  int64_t i = g->first + e;
  kp_real *to = g->record + KP_RECORD * i;
  to[0] = g->v.x[g->v.o + i];
  to[1] = g->v.y[g->v.p + i];
  to[2] = g->v.z[g->v.q + i];
  to[3] = 0;
}

typedef struct hair_link_tension_args {
  int64_t first;
  kp_real elastic;  // 1: with the elastic part, 0: without
  const int32_t *node;
  const kp_real *weight, *along, *force, *rate;
  const kp_real *record;  // velocities
  kp_real *pull;          // records: the force on its first point
} hair_link_tension_args;

KP_FN void hair_link_tension(int64_t e, const hair_link_tension_args *g) {
  int64_t l = g->first + e;
  const int32_t *node = g->node + 4 * l;
  const kp_real *weight = g->weight + 4 * l, *along = g->along + KP_RECORD * l;
  const kp_real *first = g->record + KP_RECORD * (int64_t)node[0];
  // weights add up to nothing: of nodes that move together little else than rounding would be left
  kp_record apart = kp_record_make(0, 0, 0), pull = apart;
  for (int c = 1; c < 4; ++c) {
    kp_record_add_step(&apart, -weight[c], g->record + KP_RECORD * (int64_t)node[c], first);
  }
  kp_real tension = g->elastic * g->force[l] + g->rate[l] * kp_record_dot(&apart, along);
  kp_record_add(&pull, tension, along);
  kp_record_store(g->pull + KP_RECORD * l, &pull);
}

// y = r - P h f, f what the links of a node do at the velocity their tensions were taken at: their
// part of the matrix of an implicit step.
typedef struct hair_link_apply_args {
  int64_t first;  // node
  kp_real h;
  const int32_t *start, *refs;
  const kp_real *weight, *pull;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
  deform_in r;
  deform_out y;  // may be r
} hair_link_apply_args;

KP_FN void hair_link_apply(int64_t e, const hair_link_apply_args *g) {
  int64_t i = g->first + e;
  kp_record sum = kp_record_make(0, 0, 0);
  for (int32_t r = g->start[i]; r < g->start[i + 1]; ++r) {
    int32_t ref = g->refs[r];
    kp_record_add(&sum, g->weight[ref], g->pull + KP_RECORD * (int64_t)(ref >> 2));
  }
  kp_real f[3] = { kp_record_get(&sum, 0), kp_record_get(&sum, 1), kp_record_get(&sum, 2) };
  const kp_real n[3] = { g->cx[i], g->cy[i], g->cz[i] };
  deform_free(g->hold[i], n, f);
  g->y.x[g->y.o + i] = g->r.x[g->r.o + i] - g->h * f[0];
  g->y.y[g->y.p + i] = g->r.y[g->r.p + i] - g->h * f[1];
  g->y.z[g->y.q + i] = g->r.z[g->r.q + i] - g->h * f[2];
}

// ---- hairs that touch bodies

// y = h F at positions x and velocities v, of nodes that touch a body alone: they are few, and
// their elements are looked for hair by hair. Tensions of links are taken at v.
typedef struct hair_touch_args {
  int64_t first;     // hair
  kp_real h;         // s
  kp_real implicit;  // s, as of springs
  kp_real turns;     // s of the resistance against turning; 0: none
  kp_real gx, gy, gz;
  const int32_t *start, *spring_start, *axis_start;
  const int32_t *contact;  // of nodes, -1: none
  const int32_t *a, *b;
  const kp_real *rest, *stiffness, *compression, *damping;
  int64_t n_axes;
  const int32_t *corner;
  const uint8_t *kind;
  const kp_real *axis_rest, *axis_stiffness, *axis_damping;
  const int32_t *link_start, *link_refs;
  const kp_real *link_weight, *link_pull;
  const kp_real *mass, *slow;
  const kp_real *wx, *wy, *wz, *ex, *ey, *ez;  // wind, and accelerations of force fields
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
  deform_out out;
} hair_touch_args;

KP_FN void hair_touch_add(const hair_touch_args *g, int64_t i, kp_real s, const kp_real d[3]) {
  if (g->contact[i] >= 0) {
    g->out.x[g->out.o + i] += s * d[0];
    g->out.y[g->out.p + i] += s * d[1];
    g->out.z[g->out.q + i] += s * d[2];
  }
}

KP_FN kp_real hair_touch_speed(const hair_touch_args *g, int64_t i, const kp_real d[3]) {
  return g->vx[i] * d[0] + g->vy[i] * d[1] + g->vz[i] * d[2];
}

// Gravity, air and links.
KP_FN void hair_touch_outer(const hair_touch_args *g, int64_t i) {
  kp_real m = g->mass[i], s = g->slow[i];
  kp_real f[3] = { m * (g->gx + g->ex[i]) - s * (g->vx[i] - g->wx[i]),
                   m * (g->gy + g->ey[i]) - s * (g->vy[i] - g->wy[i]),
                   m * (g->gz + g->ez[i]) - s * (g->vz[i] - g->wz[i]) };
  for (int32_t r = g->link_start[i]; r < g->link_start[i + 1]; ++r) {
    int32_t ref = g->link_refs[r];
    const kp_real *pull = g->link_pull + 4 * (int64_t)(ref >> 2);
    f[0] += g->link_weight[ref] * pull[0];
    f[1] += g->link_weight[ref] * pull[1];
    f[2] += g->link_weight[ref] * pull[2];
  }
  g->out.x[g->out.o + i] = g->h * f[0];
  g->out.y[g->out.p + i] = g->h * f[1];
  g->out.z[g->out.q + i] = g->h * f[2];
}

KP_FN void hair_touch_spring(const hair_touch_args *g, int64_t s) {
  int64_t a = g->a[s], b = g->b[s];
  if (g->contact[a] < 0 && g->contact[b] < 0) {
    return;
  }
  deform_spring_now now = deform_spring_at(
      (kp_real)(g->x[b] - g->x[a]), (kp_real)(g->y[b] - g->y[a]), (kp_real)(g->z[b] - g->z[a]),
      g->rest[s], g->stiffness[s], g->compression[s]);
  const kp_real d[3] = { now.dx, now.dy, now.dz };
  kp_real side = deform_spring_side(&now, g->turns);
  kp_real rate = g->damping[s] + g->implicit * now.stiffness / g->rest[s] - side;
  kp_real speed = hair_touch_speed(g, b, d) - hair_touch_speed(g, a, d);
  kp_real t = g->h * (now.force + rate * speed);
  hair_touch_add(g, a, t, d);
  hair_touch_add(g, b, -t, d);
  if (side > 0) {
    const kp_real past[3] = { g->vx[b] - g->vx[a], g->vy[b] - g->vy[a], g->vz[b] - g->vz[a] };
    hair_touch_add(g, a, g->h * side, past);
    hair_touch_add(g, b, -g->h * side, past);
  }
}

KP_FN void hair_touch_axis(const hair_touch_args *g, int64_t m) {
  int64_t n = g->n_axes;
  bool touches = false;
  for (int c = 0; c < 4; ++c) {
    touches = touches || g->contact[g->corner[c * n + m]] >= 0;
  }
  if (!touches) {
    return;
  }
  const kp_pos *const p[3] = { g->x, g->y, g->z };
  kp_vec3 x[4];
  deform_corners(g->corner, n, m, p, x);
  kp_altitude a = deform_axis_altitude(g->kind[m], x, g->axis_rest, n, m);
  double k = a.number >= 0 ? (double)g->axis_stiffness[m] : 0.0;
  double rest = a.number >= 0 ? (double)g->axis_rest[a.number * n + m] : 1.0;
  kp_real rate = g->axis_damping[m] + g->implicit * (kp_real)(k / rest), speed = 0;
  kp_real slope[4][3];
  for (int c = 0; c < 4; ++c) {
    slope[c][0] = (kp_real)(a.n.x * a.w[c]);
    slope[c][1] = (kp_real)(a.n.y * a.w[c]);
    slope[c][2] = (kp_real)(a.n.z * a.w[c]);
    speed += hair_touch_speed(g, g->corner[c * n + m], slope[c]);
  }
  kp_real t = g->h * ((kp_real)(k * (a.length / rest - 1.0)) + rate * speed);
  for (int c = 0; c < 4; ++c) {
    hair_touch_add(g, g->corner[c * n + m], -t, slope[c]);
  }
}

KP_FN void hair_touch(int64_t e, const hair_touch_args *g) {
  int64_t h = g->first + e;
  bool touches = false;
  for (int32_t i = g->start[h]; i < g->start[h + 1]; ++i) {
    if (g->contact[i] >= 0) {
      hair_touch_outer(g, i);
      touches = true;
    }
  }
  for (int32_t s = g->spring_start[h]; touches && s < g->spring_start[h + 1]; ++s) {
    hair_touch_spring(g, s);
  }
  for (int32_t m = g->axis_start[h]; touches && m < g->axis_start[h + 1]; ++m) {
    hair_touch_axis(g, m);
  }
}

#define HAIR_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(hair, embed)                                                                               \
  POINT(hair, root)                                                                                \
  POINT(hair, hide)                                                                                \
  POINT(hair, limit)                                                                               \
  POINT(hair, pull)                                                                                \
  POINT(hair, link)                                                                                \
  POINT(hair, record)                                                                              \
  POINT(hair, link_tension)                                                                        \
  POINT(hair, link_apply)                                                                          \
  POINT(hair, touch)                                                                               \
  HAIR_SOLVE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  REDUCE(hair, strain, KP_REDUCE_MAX)
