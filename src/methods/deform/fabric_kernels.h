// What fabrics do beyond springs: the drag and damping of cloth under water, limits on the length
// of edges, contact of particles, and two cheap implicit steps. Nodes and springs of a part lie
// side by side from `first`; arrays of a part alone are counted from 0.
#pragma once

#include "data/cells.h"
#include "math/fractional.h"
#include "par/kernel.h"

// ---- under water (Ozgen 2013, chapter 3) --------------------------------------------------------

// u = v - current: velocity against the water.
typedef struct fabric_flow_args {
  int64_t first;
  kp_real cx, cy, cz;
  const kp_real *vx, *vy, *vz;
  kp_real *ux, *uy, *uz;  // of the part
} fabric_flow_args;

KP_FN void fabric_flow(int64_t e, const fabric_flow_args *g) {
  int64_t i = g->first + e;
  g->ux[e] = g->vx[i] - g->cx;
  g->uy[e] = g->vy[i] - g->cy;
  g->uz[e] = g->vz[i] - g->cz;
}

// D^q x by a sum of exponentials: a memory without end at a fixed price (math/fractional.h).
typedef struct fabric_march_args {
  kp_frac_march march;
  int32_t width;  // of a row of states
  const uint32_t *slot;
  const kp_real *ux, *uy, *uz;  // now
  kp_real *lx, *ly, *lz;        // a step ago
  kp_real *sx, *sy, *sz;        // states
  kp_real *dx, *dy, *dz;
} fabric_march_args;

KP_FN void fabric_march(int64_t e, const fabric_march_args *g) {
  int64_t row = (int64_t)g->slot[e] * g->width;
  g->dx[e] = kp_frac_march_step(&g->march, g->lx[e], g->ux[e], g->sx + row, 1);
  g->dy[e] = kp_frac_march_step(&g->march, g->ly[e], g->uy[e], g->sy + row, 1);
  g->dz[e] = kp_frac_march_step(&g->march, g->lz[e], g->uz[e], g->sz + row, 1);
  g->lx[e] = g->ux[e];
  g->ly[e] = g->uy[e];
  g->lz[e] = g->uz[e];
}

// The same of a velocity that is proposed for the end of the step: nothing is taken along.
typedef struct fabric_look_args {
  kp_frac_march march;
  int32_t width;
  const uint32_t *slot;
  const kp_real *ux, *uy, *uz;  // at the end of the step
  const kp_real *lx, *ly, *lz;  // now
  const kp_real *sx, *sy, *sz;  // states
  kp_real *dx, *dy, *dz;
} fabric_look_args;

KP_FN void fabric_look(int64_t e, const fabric_look_args *g) {
  int64_t row = (int64_t)g->slot[e] * g->width;
  g->dx[e] = kp_frac_march_look(&g->march, g->lx[e], g->ux[e], g->sx + row, 1);
  g->dy[e] = kp_frac_march_look(&g->march, g->ly[e], g->uy[e], g->sy + row, 1);
  g->dz[e] = kp_frac_march_look(&g->march, g->lz[e], g->uz[e], g->sz + row, 1);
}

// w = (v + w)/2
typedef struct fabric_mean_args {
  int64_t first;
  const kp_real *vx, *vy, *vz;
  kp_real *wx, *wy, *wz;
} fabric_mean_args;

KP_FN void fabric_mean(int64_t e, const fabric_mean_args *g) {
  int64_t i = g->first + e;
  g->wx[i] = (kp_real)0.5 * (g->vx[i] + g->wx[i]);
  g->wy[i] = (kp_real)0.5 * (g->vy[i] + g->wy[i]);
  g->wz[i] = (kp_real)0.5 * (g->vz[i] + g->wz[i]);
}

// Buoyancy (Eq. 3.1) and the drag that remembers, along the velocity (Eq. 3.3):
//
//   F = -k (D . u/|u|) u/|u|
//
// After a reversal it may push: the water still moves. `clamp` leaves that out.
typedef struct fabric_immerse_args {
  int64_t first;
  kp_real bx, by, bz;  // m/s^2: what buoyancy and carried water change in gravity
  kp_real still;       // m/s: slower than this there is no direction
  int32_t clamp;
  kp_real share;        // 1; -1 takes back what was added
  const kp_real *drag;  // k of a node [N s^q/m]
  const kp_real *mass;
  const kp_real *ux, *uy, *uz;
  const kp_real *dx, *dy, *dz;
  kp_real *ex, *ey, *ez;  // accelerations
} fabric_immerse_args;

KP_FN void fabric_immerse(int64_t e, const fabric_immerse_args *g) {
  int64_t i = g->first + e;
  kp_real u[3] = { g->ux[e], g->uy[e], g->uz[e] };
  kp_real speed2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
  kp_real along = g->dx[e] * u[0] + g->dy[e] * u[1] + g->dz[e] * u[2];
  along = g->clamp && along < 0 ? (kp_real)0 : along;
  kp_real a = speed2 > g->still * g->still ? -g->drag[e] * along / (speed2 * g->mass[i]) : 0;
  g->ex[i] += g->share * (g->bx + a * u[0]);
  g->ey[i] += g->share * (g->by + a * u[1]);
  g->ez[i] += g->share * (g->bz + a * u[2]);
}

// Damping of springs by the derivative of their ends, along the spring (Eq. 3.4). In an implicit
// step the part of D that the present velocity makes, w0 v, is left to the matrix.
typedef struct fabric_recall_args {
  int64_t first;       // spring
  int64_t first_node;  // D and c are of the part
  kp_real present;     // w0 [s^(1-q)] of an implicit step, else 0
  const int32_t *a, *b;
  const kp_real *damping;  // c [N s^q/m]
  const kp_real *dx, *dy, *dz;
  const kp_real *hx, *hy, *hz;  // D
  const kp_real *ux, *uy, *uz;
  kp_real *force, *rate;
} fabric_recall_args;

KP_FN void fabric_recall(int64_t e, const fabric_recall_args *g) {
  int64_t s = g->first + e;
  int64_t a = g->a[s] - g->first_node, b = g->b[s] - g->first_node;
  kp_real w = g->present;
  kp_real x = g->hx[b] - g->hx[a] - w * (g->ux[b] - g->ux[a]);
  kp_real y = g->hy[b] - g->hy[a] - w * (g->uy[b] - g->uy[a]);
  kp_real z = g->hz[b] - g->hz[a] - w * (g->uz[b] - g->uz[a]);
  g->force[s] += g->damping[e] * (x * g->dx[s] + y * g->dy[s] + z * g->dz[s]);
  g->rate[s] += g->damping[e] * w;
}

// ---- limits on the length of edges (Ozgen 2013, chapter 6) --------------------------------------

// p = x + dt w: where nodes would go.
typedef struct fabric_propose_args {
  int64_t first;
  double dt;
  const kp_pos *x, *y, *z;
  const kp_real *wx, *wy, *wz;
  kp_pos *px, *py, *pz;
} fabric_propose_args;

KP_FN void fabric_propose(int64_t e, const fabric_propose_args *g) {
  int64_t i = g->first + e;
  g->px[i] = g->x[i] + g->dt * (double)g->wx[i];
  g->py[i] = g->y[i] + g->dt * (double)g->wy[i];
  g->pz[i] = g->z[i] + g->dt * (double)g->wz[i];
}

// One wave of an ordered list: edge (a, b) puts b at its length from a (section 6.3). Edges shorter
// than the tolerance allows are left alone. A correction goes no further than `most`: what a list
// finds stretched when it takes over would come in at once, with the speed of that.
typedef struct fabric_tighten_args {
  int64_t first;  // in by_wave
  int64_t first_node;
  double tolerance;
  double most;   // m
  int32_t both;  // too short ones as well
  const int32_t *by_wave, *from, *to;
  const kp_real *rest;
  const uint8_t *hold;
  kp_pos *px, *py, *pz;
  kp_real *sx, *sy, *sz;  // by how much b was moved, per edge
} fabric_tighten_args;

KP_FN void fabric_tighten(int64_t e, const fabric_tighten_args *g) {
  int32_t k = g->by_wave[g->first + e];
  int64_t a = g->first_node + g->from[k], b = g->first_node + g->to[k];
  double d[3] = { g->px[b] - g->px[a], g->py[b] - g->py[a], g->pz[b] - g->pz[a] };
  double l = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  double rest = (double)g->rest[k];
  bool is_long = l > rest * (1.0 + g->tolerance);
  bool is_short = g->both && l < rest * (1.0 - g->tolerance) && l > 0.0;
  double scale = (is_long || is_short) && g->hold[b] == 0 ? rest / l - 1.0 : 0.0;
  if (fabs(scale) * l > g->most) {
    scale = scale > 0.0 ? g->most / l : -g->most / l;
  }
  g->sx[k] = (kp_real)(scale * d[0]);
  g->sy[k] = (kp_real)(scale * d[1]);
  g->sz[k] = (kp_real)(scale * d[2]);
  g->px[b] += scale * d[0];
  g->py[b] += scale * d[1];
  g->pz[b] += scale * d[2];
}

// One colour of a pass after Provot (1995): both ends by half, all of it on a free end where the
// other one is held.
typedef struct fabric_provot_args {
  int64_t first;  // in by_color
  int64_t first_node;
  double tolerance;
  int32_t both;
  const int32_t *by_color, *from, *to;
  const kp_real *rest;
  const uint8_t *hold;
  kp_pos *px, *py, *pz;
} fabric_provot_args;

KP_FN void fabric_provot(int64_t e, const fabric_provot_args *g) {
  int32_t k = g->by_color[g->first + e];
  int64_t a = g->first_node + g->from[k], b = g->first_node + g->to[k];
  double d[3] = { g->px[b] - g->px[a], g->py[b] - g->py[a], g->pz[b] - g->pz[a] };
  double l = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  double rest = (double)g->rest[k];
  bool is_long = l > rest * (1.0 + g->tolerance);
  bool is_short = g->both && l < rest * (1.0 - g->tolerance) && l > 0.0;
  double scale = is_long || is_short ? 1.0 - rest / l : 0.0;
  double of_a = g->hold[a] ? 0.0 : (g->hold[b] ? 1.0 : 0.5);
  double of_b = g->hold[b] ? 0.0 : (g->hold[a] ? 1.0 : 0.5);
  g->px[a] += of_a * scale * d[0];
  g->py[a] += of_a * scale * d[1];
  g->pz[a] += of_a * scale * d[2];
  g->px[b] -= of_b * scale * d[0];
  g->py[b] -= of_b * scale * d[1];
  g->pz[b] -= of_b * scale * d[2];
}

// w = (p - x)/dt. A node that corrected others feels it: its velocity in the next step gets -s c/dt
// for each correction c (Mueller, Kim, Chentanez 2012), without which a pass that moves one end
// only feeds the motion until it diverges.
typedef struct fabric_settle_args {
  int64_t first;
  double inverse_dt;
  kp_real share;               // s/dt
  const int32_t *start, *out;  // edges that start at a node of the part; NULL: none
  const kp_real *sx, *sy, *sz;
  const uint8_t *hold;
  const kp_pos *x, *y, *z;
  const kp_pos *px, *py, *pz;
  kp_real *wx, *wy, *wz;
  kp_real *lx, *ly, *lz;  // change of the next velocity
} fabric_settle_args;

KP_FN void fabric_settle(int64_t e, const fabric_settle_args *g) {
  int64_t i = g->first + e;
  kp_real sum[3] = { 0, 0, 0 };
  if (g->start != NULL && g->hold[i] == 0) {
    for (int32_t r = g->start[e]; r < g->start[e + 1]; ++r) {
      int32_t k = g->out[r];
      sum[0] += g->sx[k];
      sum[1] += g->sy[k];
      sum[2] += g->sz[k];
    }
  }
  g->lx[i] = -g->share * sum[0];
  g->ly[i] = -g->share * sum[1];
  g->lz[i] = -g->share * sum[2];
  g->wx[i] = (kp_real)((g->px[i] - g->x[i]) * g->inverse_dt);
  g->wy[i] = (kp_real)((g->py[i] - g->y[i]) * g->inverse_dt);
  g->wz[i] = (kp_real)((g->pz[i] - g->z[i]) * g->inverse_dt);
}

// Whether a pin holds a node, or a body that it touches.
KP_FN uint8_t fabric_is_held(uint8_t hold, const int32_t *contact, int64_t i) {
  return hold != 0 || (contact != NULL && contact[i] >= 0);
}

// For how long that is not what the list was made for: at `patience` steps it counts as changed.
typedef struct fabric_watch_args {
  int64_t first;
  uint32_t patience;
  const uint8_t *hold;
  const int32_t *contact;  // NULL: there are no bodies
  const uint8_t *held;     // of the list
  uint32_t *away;
} fabric_watch_args;

KP_FN void fabric_watch(int64_t e, const fabric_watch_args *g) {
  int64_t i = g->first + e;
  bool differs = fabric_is_held(g->hold[i], g->contact, i) != g->held[e];
  uint32_t next = g->away[e] < g->patience ? g->away[e] + 1 : g->patience;
  g->away[e] = differs ? next : 0;
}

// Changed nodes, and those that are held by the list or now: their ratio is the distance of Jaccard
// between the two sets.
typedef struct fabric_changed_args {
  uint32_t patience;
  const uint8_t *held;
  const uint32_t *away;
} fabric_changed_args;

KP_FN void fabric_changed(int64_t e, const fabric_changed_args *g, double *value) {
  bool is_changed = g->away[e] >= g->patience;
  value[0] = is_changed ? 1.0 : 0.0;
  value[1] = is_changed || g->held[e] != 0 ? 1.0 : 0.0;
}

// Nodes of a map's shape that touch bodies, and all of its nodes.
typedef struct fabric_touched_args {
  int64_t first;
  const uint8_t *inside;   // of the part's nodes
  const int32_t *contact;  // NULL: there are no bodies
} fabric_touched_args;

KP_FN void fabric_touched(int64_t e, const fabric_touched_args *g, double *value) {
  bool is_inside = g->inside[e] != 0;
  value[0] = is_inside && g->contact != NULL && g->contact[g->first + e] >= 0 ? 1.0 : 0.0;
  value[1] = is_inside ? 1.0 : 0.0;
}

// v = (x - old)/dt + lag: the velocity of position Verlet (Eq. 6.2).
typedef struct fabric_verlet_args {
  int64_t first;
  double inverse_dt;
  const kp_pos *ox, *oy, *oz;
  const kp_pos *x, *y, *z;
  const kp_real *lx, *ly, *lz;
  kp_real *vx, *vy, *vz;
} fabric_verlet_args;

KP_FN void fabric_verlet(int64_t e, const fabric_verlet_args *g) {
  int64_t i = g->first + e;
  g->vx[i] = (kp_real)((g->x[i] - g->ox[i]) * g->inverse_dt) + g->lx[i];
  g->vy[i] = (kp_real)((g->y[i] - g->oy[i]) * g->inverse_dt) + g->ly[i];
  g->vz[i] = (kp_real)((g->z[i] - g->oz[i]) * g->inverse_dt) + g->lz[i];
}

// ---- cheap implicit steps (Bayraktar 2010, section 5.4.4) ---------------------------------------

// Springs of a node as in deform_kernels.h, with stiffnesses k = k_s/l0 [N/m].
typedef struct fabric_web {
  const int32_t *start, *refs;  // of nodes
  const int32_t *a, *b;
  const kp_real *stiffness, *rest;
} fabric_web;

KP_FN int32_t fabric_other(const fabric_web *w, int32_t ref) {
  return ref & 1 ? w->a[ref >> 1] : w->b[ref >> 1];
}

// b = h F + h^2 sum k (v_j - v_i): forces at the end of a step of unchanged velocity (Eq. 5.38).
typedef struct fabric_foresee_args {
  int64_t first, n;
  kp_real h;
  fabric_web web;
  const uint8_t *hold;
  const kp_real *vx, *vy, *vz;
  kp_real *b;  // h F, three times n
} fabric_foresee_args;

KP_FN void fabric_foresee(int64_t e, const fabric_foresee_args *g) {
  int64_t i = g->first + e;
  kp_real sum[3] = { 0, 0, 0 };
  for (int32_t r = g->web.start[i]; r < g->web.start[i + 1]; ++r) {
    int32_t ref = g->web.refs[r];
    int32_t j = fabric_other(&g->web, ref);
    kp_real k = g->web.stiffness[ref >> 1] / g->web.rest[ref >> 1];
    sum[0] += k * (g->vx[j] - g->vx[i]);
    sum[1] += k * (g->vy[j] - g->vy[i]);
    sum[2] += k * (g->vz[j] - g->vz[i]);
  }
  for (int c = 0; c < 3; ++c) {
    kp_real *b = &g->b[c * g->n + e];
    *b = (g->hold[i] >> c) & 1 ? 0 : *b + g->h * g->h * sum[c];
  }
}

// Kang's approximation (Eq. 5.45): one sweep of Jacobi's from the diagonal,
//
//   dv_i = (b_i + h^2 sum_j k_ij b_j / (m_j + h^2 sum_l k_jl)) / (m_i + h^2 sum_j k_ij)
typedef struct fabric_kang_args {
  int64_t first, n;
  kp_real h;
  fabric_web web;
  const kp_real *mass, *stiff;  // sum of k at a node of the group
  const uint8_t *hold;
  const kp_real *b;
  kp_real *change;
} fabric_kang_args;

KP_FN void fabric_kang(int64_t e, const fabric_kang_args *g) {
  int64_t i = g->first + e;
  kp_real h2 = g->h * g->h;
  kp_real sum[3] = { g->b[e], g->b[g->n + e], g->b[2 * g->n + e] };
  for (int32_t r = g->web.start[i]; r < g->web.start[i + 1]; ++r) {
    int32_t ref = g->web.refs[r];
    int64_t j = fabric_other(&g->web, ref);
    int64_t f = j - g->first;
    kp_real k = g->web.stiffness[ref >> 1] / g->web.rest[ref >> 1];
    kp_real share = h2 * k / (g->mass[j] + h2 * g->stiff[f]);
    for (int c = 0; c < 3; ++c) {
      sum[c] += share * g->b[c * g->n + f];
    }
  }
  kp_real inverse = 1 / (g->mass[i] + h2 * g->stiff[e]);
  for (int c = 0; c < 3; ++c) {
    g->change[c * g->n + e] = (g->hold[i] >> c) & 1 ? 0 : inverse * sum[c];
  }
}

// y = (M - h^2 H) u with H the same in x, y and z (Desbrun, Schroeder, Barr 1999; Eq. 5.36).
typedef struct fabric_filter_args {
  int64_t first, n;
  kp_real h;
  fabric_web web;
  const kp_real *mass;
  const uint8_t *hold;
  const kp_real *u;
  kp_real *y;
} fabric_filter_args;

KP_FN void fabric_filter(int64_t e, const fabric_filter_args *g) {
  int64_t i = g->first + e;
  kp_real sum[3] = { 0, 0, 0 };
  const kp_real own[3] = { g->u[e], g->u[g->n + e], g->u[2 * g->n + e] };
  for (int32_t r = g->web.start[i]; r < g->web.start[i + 1]; ++r) {
    int32_t ref = g->web.refs[r];
    int64_t f = fabric_other(&g->web, ref) - g->first;
    kp_real k = g->web.stiffness[ref >> 1] / g->web.rest[ref >> 1];
    for (int c = 0; c < 3; ++c) {
      sum[c] += k * (own[c] - g->u[c * g->n + f]);
    }
  }
  for (int c = 0; c < 3; ++c) {
    kp_real free = (g->hold[i] >> c) & 1 ? (kp_real)0 : g->h * g->h * sum[c];
    g->y[c * g->n + e] = g->mass[i] * own[c] + free;
  }
}

// 1/(m + h^2 sum k), and the sum
typedef struct fabric_stiff_args {
  int64_t first, n;
  kp_real h;
  fabric_web web;
  const kp_real *mass;
  kp_real *stiff, *inverse;
} fabric_stiff_args;

KP_FN void fabric_stiff(int64_t e, const fabric_stiff_args *g) {
  int64_t i = g->first + e;
  kp_real sum = 0;
  for (int32_t r = g->web.start[i]; r < g->web.start[i + 1]; ++r) {
    int32_t s = g->web.refs[r] >> 1;
    sum += g->web.stiffness[s] / g->web.rest[s];
  }
  g->stiff[e] = sum;
  kp_real inverse = 1 / (g->mass[i] + g->h * g->h * sum);
  for (int c = 0; c < 3; ++c) {
    g->inverse[c * g->n + e] = inverse;
  }
}

// ---- contact of particles (Bayraktar 2010, sections 4.3 and 5.2) --------------------------------

// Two spheres whose overlap is u > 0, with e from j to i and the relative velocity v_i - v_j:
//
//   F = (k u - c v_n) e - min(mu k u, g_t |v_t|) v_t/|v_t|
//
// (Eqs. 4.9, 4.10 with the sign that makes them repel and slow).
typedef struct fabric_law {
  kp_real stiffness;  // k/m_eff [1/s^2]
  kp_real damping;    // c/m_eff [1/s]
  kp_real friction;   // mu
  kp_real grip;       // g_t/m_eff [1/s]
} fabric_law;

KP_FN void fabric_touch(const fabric_law *law, kp_real m_eff, kp_real u, const kp_real e[3],
                        const kp_real v[3], kp_real f[3]) {
  kp_real vn = v[0] * e[0] + v[1] * e[1] + v[2] * e[2];
  kp_real push = m_eff * (law->stiffness * u - law->damping * vn);
  push = push > 0 ? push : 0;  // never sticks
  kp_real t[3] = { v[0] - vn * e[0], v[1] - vn * e[1], v[2] - vn * e[2] };
  kp_real speed = (kp_real)sqrt((double)(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]));
  kp_real most = law->friction * m_eff * law->stiffness * u;
  kp_real grip = m_eff * law->grip * speed;
  kp_real slow = speed > 0 ? (grip < most ? grip : most) / speed : 0;
  for (int c = 0; c < 3; ++c) {
    f[c] += push * e[c] - slow * t[c];
  }
}

// Whether nodes i and j are joined by a spring.
KP_FN bool fabric_joined(const fabric_web *w, int64_t i, int64_t j) {
  for (int32_t r = w->start[i]; r < w->start[i + 1]; ++r) {
    if (fabric_other(w, w->refs[r]) == j) {
      return true;
    }
  }
  return false;
}

// Where spheres around p may meet elements of the cells.
KP_FN void fabric_block(const kp_cells_view *c, const double p[3], double reach, int32_t lo[3],
                        int32_t hi[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    kp_cells_reach(c, axis, p[axis], reach, &lo[axis], &hi[axis]);
  }
}

// The direction e from element j to p and their distance r; false where they do not meet, r >=
// both, or lie on one place.
KP_FN bool fabric_near(const kp_cells_view *c, int64_t j, const double p[3], kp_real both,
                       kp_real e[3], kp_real *r) {
  kp_real d[3] = { (kp_real)(p[0] - c->x[j]), (kp_real)(p[1] - c->y[j]),
                   (kp_real)(p[2] - c->z[j]) };
  kp_real r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  if (r2 >= both * both || !(r2 > 0)) {
    return false;
  }
  *r = (kp_real)sqrt((double)r2);
  for (int k = 0; k < 3; ++k) {
    e[k] = d[k] / *r;
  }
  return true;
}

// Node i against all nodes within the sum of radii that no spring joins to it; adds accelerations.
typedef struct fabric_particles_args {
  kp_cells_view cells;
  double reach;  // m: twice the largest radius
  fabric_law law;
  fabric_web web;
  const kp_real *radius, *mass;  // radius 0: takes no part
  const kp_real *vx, *vy, *vz;
  kp_real *ex, *ey, *ez;
} fabric_particles_args;

KP_FN void fabric_particles(int64_t i, const fabric_particles_args *g) {
  if (!(g->radius[i] > 0)) {
    return;
  }
  const kp_cells_view *c = &g->cells;
  const double p[3] = { c->x[i], c->y[i], c->z[i] };
  int32_t lo[3], hi[3];
  fabric_block(c, p, g->reach, lo, hi);
  kp_real f[3] = { 0, 0, 0 };
  for (int32_t z = lo[2]; z <= hi[2]; ++z) {
    for (int32_t y = lo[1]; y <= hi[1]; ++y) {
      uint32_t begin, end;
      kp_cells_range(c, lo[0], hi[0], y, z, &begin, &end);
      for (uint32_t s = begin; s < end; ++s) {
        int64_t j = c->order != NULL ? (int64_t)c->order[s] : (int64_t)s;
        kp_real both = g->radius[i] + g->radius[j];
        kp_real e[3], r;
        if (j == i || !(g->radius[j] > 0) || !fabric_near(c, j, p, both, e, &r) ||
            fabric_joined(&g->web, i, j)) {
          continue;
        }
        kp_real v[3] = { g->vx[i] - g->vx[j], g->vy[i] - g->vy[j], g->vz[i] - g->vz[j] };
        kp_real m_eff = g->mass[i] * g->mass[j] / (g->mass[i] + g->mass[j]);
        fabric_touch(&g->law, m_eff, both - r, e, v, f);
      }
    }
  }
  kp_real inverse = 1 / g->mass[i];
  g->ex[i] += inverse * f[0];
  g->ey[i] += inverse * f[1];
  g->ez[i] += inverse * f[2];
}

// Node i against the samples of solids.
typedef struct fabric_shell_args {
  kp_cells_view cells;  // of the samples
  double reach;         // m
  kp_real shell;        // m: radius of a sample
  fabric_law law;
  const kp_real *radius, *mass;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
  const kp_real *wx, *wy, *wz;  // velocity of samples
  kp_real *ex, *ey, *ez;
} fabric_shell_args;

KP_FN void fabric_shell(int64_t i, const fabric_shell_args *g) {
  if (!(g->radius[i] > 0)) {
    return;
  }
  const kp_cells_view *c = &g->cells;
  const double p[3] = { g->x[i], g->y[i], g->z[i] };
  int32_t lo[3], hi[3];
  fabric_block(c, p, g->reach, lo, hi);
  kp_real f[3] = { 0, 0, 0 };
  for (int32_t z = lo[2]; z <= hi[2]; ++z) {
    for (int32_t y = lo[1]; y <= hi[1]; ++y) {
      uint32_t begin, end;
      kp_cells_range(c, lo[0], hi[0], y, z, &begin, &end);
      for (uint32_t s = begin; s < end; ++s) {
        int64_t j = c->order != NULL ? (int64_t)c->order[s] : (int64_t)s;
        kp_real both = g->radius[i] + g->shell;
        kp_real e[3], r;
        if (!fabric_near(c, j, p, both, e, &r)) {
          continue;
        }
        kp_real v[3] = { g->vx[i] - g->wx[j], g->vy[i] - g->wy[j], g->vz[i] - g->wz[j] };
        fabric_touch(&g->law, g->mass[i], both - r, e, v, f);
      }
    }
  }
  kp_real inverse = 1 / g->mass[i];
  g->ex[i] += inverse * f[0];
  g->ey[i] += inverse * f[1];
  g->ez[i] += inverse * f[2];
}

#define FABRIC_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(fabric, flow)                                                                              \
  POINT(fabric, march)                                                                             \
  POINT(fabric, look)                                                                              \
  POINT(fabric, mean)                                                                              \
  POINT(fabric, immerse)                                                                           \
  POINT(fabric, recall)                                                                            \
  POINT(fabric, propose)                                                                           \
  POINT(fabric, tighten)                                                                           \
  POINT(fabric, provot)                                                                            \
  POINT(fabric, settle)                                                                            \
  POINT(fabric, verlet)                                                                            \
  POINT(fabric, watch)                                                                             \
  REDUCE(fabric, changed, KP_REDUCE_SUM, KP_REDUCE_SUM)                                            \
  REDUCE(fabric, touched, KP_REDUCE_SUM, KP_REDUCE_SUM)                                            \
  POINT(fabric, foresee)                                                                           \
  POINT(fabric, kang)                                                                              \
  POINT(fabric, filter)                                                                            \
  POINT(fabric, stiff)                                                                             \
  POINT(fabric, particles)                                                                         \
  POINT(fabric, shell)
