// The matrix of an implicit step, hair by hair. Nodes of a hair are coupled with few others before
// them, so that its part of the matrix is a band of 3 x 3 blocks, which a Cholesky decomposition
// fills but does not widen: one direct solve, exact where hairs touch nothing, and else the
// preconditioner of the conjugate gradients.
//
// Hairs go by locks of HAIR_LANES with about as many nodes each, whose numbers lie side by side:
// number k of row i of lane l of a lock is [(HAIR_... i + k) HAIR_LANES + l]. A processor takes all
// lanes of a lock at once, a card one per thread. Locks that are not full repeat their first hair;
// its copies are computed and not written.
#pragma once

#include "methods/deform/deform_kernels.h"
#include "methods/deform/deform_tets_kernels.h"

#define HAIR_LANES 16
#define HAIR_BLOCK 9   // row by row
#define HAIR_SPRING 4  // rest length, stiffness where stretched and pressed, damping
// of altitudes: rest lengths of all, squares of those of edges, stiffness, damping
#define HAIR_AXIS (DEFORM_AXIS_REST + 2)
#ifdef __CUDACC__
#define HAIR_WIDE 1
#define HAIR_FN KP_FN
#else
#define HAIR_WIDE HAIR_LANES
#define HAIR_FN static inline __attribute__((always_inline))
#endif
#define HAIR_EACH_LANE(l, n) KP_INDEPENDENT for (int l = 0; l < (n); ++l)

typedef struct hair_locks {
  const int32_t *hair;   // HAIR_LANES lock + lane
  const int32_t *row;    // first row of a lock, and of the next
  const int32_t *block;  // its first block in the band
  const int32_t *width;  // blocks of a row: with the node itself, one before it, two ...
  const int32_t *spring_row, *axis_row;              // where the constants of its elements begin
  const uint8_t *lanes;                              // hairs of it, the rest are copies
  const uint8_t *same;                               // they are built alike
  const int32_t *start, *spring_start, *axis_start;  // of hairs
} hair_locks;

// Lanes of a lock, from the first of `n` that go together.
typedef struct hair_lanes {
  int64_t rows, width;
  int64_t hairs;                   // the first of the lanes that are not repeated
  int64_t item, band;              // where the vectors and blocks of the first row begin
  int64_t springs, axes;           // how many
  int64_t spring, axis;            // the first of the first hair, which tells how all are built
  int64_t spring_item, axis_item;  // where their constants begin
  int64_t node[HAIR_WIDE], count[HAIR_WIDE];
} hair_lanes;

HAIR_FN void hair_open(const hair_locks *k, int64_t lock, int64_t lane, int n, hair_lanes *out) {
  out->rows = k->row[lock + 1] - k->row[lock];
  out->width = k->width[lock];
  out->hairs = k->lanes[lock] > lane ? k->lanes[lock] - lane : 0;
  out->hairs = out->hairs < n ? out->hairs : n;
  out->item = (int64_t)HAIR_LANES * 3 * k->row[lock] + lane;
  out->band = (int64_t)HAIR_LANES * HAIR_BLOCK * k->block[lock] + lane;
  const int32_t *hair = k->hair + HAIR_LANES * lock + lane;
  for (int l = 0; l < n; ++l) {
    int64_t h = hair[l];
    out->node[l] = k->start[h];
    out->count[l] = k->start[h + 1] - k->start[h];
  }
  out->spring = k->spring_start[hair[0]];
  out->springs = k->spring_start[hair[0] + 1] - out->spring;
  out->spring_item = (int64_t)HAIR_LANES * HAIR_SPRING * k->spring_row[lock] + lane;
  out->axis = k->axis_start[hair[0]];
  out->axes = k->axis_start[hair[0] + 1] - out->axis;
  out->axis_item = (int64_t)HAIR_LANES * HAIR_AXIS * k->axis_row[lock] + lane;
}

// Whether a run has all lanes, which then go together; a card takes one at a time.
HAIR_FN bool hair_is_whole(int64_t i0, int64_t i1) {
  return HAIR_WIDE > 1 && i0 == 0 && i1 == HAIR_LANES;
}

// Where block k of row i begins, and number c of a vector of row i of lanes.
HAIR_FN int64_t hair_block(const hair_lanes *r, int64_t i, int64_t k) {
  return r->band + HAIR_LANES * HAIR_BLOCK * (r->width * i + k);
}

HAIR_FN int64_t hair_item(const hair_lanes *r, int64_t i, int c) {
  return r->item + HAIR_LANES * (3 * i + c);
}

// ---- the system ---------------------------------------------------------------------------------

// a = M - h D and b = h F of all hairs of a run, at positions x and velocities v.
typedef struct hair_system {
  kp_real h;         // s
  kp_real implicit;  // s, as of springs
  kp_real turns;     // s of the resistance against turning; 0: none
  kp_real gx, gy, gz;
  hair_locks locks;
  const int32_t *a, *b;   // springs
  const kp_real *spring;  // their constants, HAIR_SPRING each
  int64_t n_axes;
  const int32_t *corner;  // axes, item k of m is [k n_axes + m]
  const kp_real *axis;    // their constants, HAIR_AXIS each
  const kp_real *mass, *slow;
  const kp_real *wx, *wy, *wz, *ex, *ey, *ez;  // wind, and accelerations of force fields
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
  double *place;   // of rows: positions from the root on, 3 per row
  kp_real *speed;  // velocities
  kp_real *band;   // a
  kp_real *right;  // b
} hair_system;

// Position and velocity of a node to its lane; mass, and what acts on it from outside.
HAIR_FN void hair_begin_node(const hair_system *g, const hair_lanes *r, int l, int64_t i) {
  int64_t x = hair_item(r, i, 0) + l, y = hair_item(r, i, 1) + l, z = hair_item(r, i, 2) + l;
  // short hairs have rows of their own that do nothing
  bool is_node = i < r->count[l];
  int64_t at = r->node[l] + (is_node ? i : 0), root = r->node[l];
  kp_real m = is_node ? g->mass[at] : (kp_real)1, s = is_node ? g->slow[at] : (kp_real)0;
  kp_real h = is_node ? g->h : (kp_real)0;
  g->place[x] = g->x[at] - g->x[root];
  g->place[y] = g->y[at] - g->y[root];
  g->place[z] = g->z[at] - g->z[root];
  g->speed[x] = g->vx[at];
  g->speed[y] = g->vy[at];
  g->speed[z] = g->vz[at];
  g->right[x] = h * (m * (g->gx + g->ex[at]) - s * (g->vx[at] - g->wx[at]));
  g->right[y] = h * (m * (g->gy + g->ey[at]) - s * (g->vy[at] - g->wy[at]));
  g->right[z] = h * (m * (g->gz + g->ez[at]) - s * (g->vz[at] - g->wz[at]));
  kp_real *diagonal = g->band + hair_block(r, i, 0) + l;
  diagonal[0] = m + h * s;
  diagonal[4 * HAIR_LANES] = m + h * s;
  diagonal[8 * HAIR_LANES] = m + h * s;
}

// A few rows at a time, so that what is read of a hair is used up while it lies in a cache.
#define HAIR_ROWS 16

HAIR_FN void hair_begin(const hair_system *g, const hair_lanes *r, int n) {
  for (int64_t first = 0; first < r->rows; first += HAIR_ROWS) {
    int64_t end = first + HAIR_ROWS < r->rows ? first + HAIR_ROWS : r->rows;
    kp_real *band = g->band + hair_block(r, first, 0);
    for (int64_t k = 0; k < HAIR_BLOCK * r->width * (end - first); ++k) {
      HAIR_EACH_LANE(l, n) {
        band[HAIR_LANES * k + l] = 0;
      }
    }
    for (int l = 0; l < n; ++l) {
      for (int64_t i = first; i < end; ++i) {
        hair_begin_node(g, r, l, i);
      }
    }
  }
}

// block(p, q) += c u v^T, p not before q.
HAIR_FN void hair_couple(const hair_system *g, const hair_lanes *r, int n, int64_t p, int64_t q,
                         const kp_real *u, const kp_real *v) {
  kp_real *block = g->band + hair_block(r, p, p - q);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      kp_real *to = block + HAIR_LANES * (3 * i + j);
      const kp_real *left = u + HAIR_WIDE * i, *right = v + HAIR_WIDE * j;
      HAIR_EACH_LANE(l, n) {
        to[l] += left[l] * right[l];
      }
    }
  }
}

// b(p) += s u
HAIR_FN void hair_push(const hair_system *g, const hair_lanes *r, int n, int64_t p,
                       const kp_real *s, const kp_real *u) {
  kp_real *to = g->right + hair_item(r, p, 0);
  for (int c = 0; c < 3; ++c) {
    HAIR_EACH_LANE(l, n) {
      to[HAIR_LANES * c + l] += s[l] * u[HAIR_WIDE * c + l];
    }
  }
}

// block(p, q) += s 1, p not before q.
HAIR_FN void hair_widen(const hair_system *g, const hair_lanes *r, int n, int64_t p, int64_t q,
                        const kp_real *s) {
  kp_real *block = g->band + hair_block(r, p, p - q);
  for (int i = 0; i < 3; ++i) {
    kp_real *to = block + HAIR_LANES * (4 * i);
    HAIR_EACH_LANE(l, n) {
      to[l] += s[l];
    }
  }
}

HAIR_FN void hair_add_spring(const hair_system *g, const hair_lanes *r, int n, int64_t s) {
  int64_t a = g->a[r->spring + s] - r->node[0], b = g->b[r->spring + s] - r->node[0];
  const kp_real *rest = g->spring + r->spring_item + HAIR_LANES * HAIR_SPRING * s;
  const kp_real *stretch = rest + HAIR_LANES, *press = rest + 2 * HAIR_LANES;
  const kp_real *damping = rest + 3 * HAIR_LANES;
  kp_real d[3 * HAIR_WIDE], scaled[3 * HAIR_WIDE], less[3 * HAIR_WIDE];
  kp_real pull[HAIR_WIDE], push[HAIR_WIDE];
  kp_real past[3 * HAIR_WIDE], side[HAIR_WIDE], back[HAIR_WIDE];  // speed of b past a, and T/l h
  const double *xa = g->place + hair_item(r, a, 0), *xb = g->place + hair_item(r, b, 0);
  const kp_real *va = g->speed + hair_item(r, a, 0), *vb = g->speed + hair_item(r, b, 0);
  HAIR_EACH_LANE(l, n) {
    kp_real x = (kp_real)(xb[l] - xa[l]);
    kp_real y = (kp_real)(xb[HAIR_LANES + l] - xa[HAIR_LANES + l]);
    kp_real z = (kp_real)(xb[2 * HAIR_LANES + l] - xa[2 * HAIR_LANES + l]);
    deform_spring_now now = deform_spring_at(x, y, z, rest[l], stretch[l], press[l]);
    // what resists a turn does so in all directions, less along the spring
    kp_real across = deform_spring_side(&now, g->turns);
    kp_real rate = damping[l] + g->implicit * now.stiffness / rest[l] - across;
    side[l] = g->h * across;
    back[l] = -side[l];
    past[l] = vb[l] - va[l];
    past[HAIR_WIDE + l] = vb[HAIR_LANES + l] - va[HAIR_LANES + l];
    past[2 * HAIR_WIDE + l] = vb[2 * HAIR_LANES + l] - va[2 * HAIR_LANES + l];
    kp_real speed =
        past[l] * now.dx + past[HAIR_WIDE + l] * now.dy + past[2 * HAIR_WIDE + l] * now.dz;
    kp_real t = g->h * (now.force + rate * speed), c = g->h * rate;
    pull[l] = t;
    push[l] = -t;
    d[l] = now.dx;
    d[HAIR_WIDE + l] = now.dy;
    d[2 * HAIR_WIDE + l] = now.dz;
    scaled[l] = c * now.dx;
    scaled[HAIR_WIDE + l] = c * now.dy;
    scaled[2 * HAIR_WIDE + l] = c * now.dz;
    less[l] = -c * now.dx;
    less[HAIR_WIDE + l] = -c * now.dy;
    less[2 * HAIR_WIDE + l] = -c * now.dz;
  }
  hair_push(g, r, n, a, pull, d);
  hair_push(g, r, n, b, push, d);
  hair_couple(g, r, n, a, a, scaled, d);
  hair_couple(g, r, n, b, b, scaled, d);
  int64_t late = a > b ? a : b, early = a > b ? b : a;
  hair_couple(g, r, n, late, early, less, d);
  if (g->turns > 0) {
    hair_push(g, r, n, a, side, past);
    hair_push(g, r, n, b, back, past);
    hair_widen(g, r, n, a, a, side);
    hair_widen(g, r, n, b, b, side);
    hair_widen(g, r, n, late, early, back);
  }
}

HAIR_FN void hair_add_axis(const hair_system *g, const hair_lanes *r, int n, int64_t s) {
  int64_t node[4];
  const double *x[4];
  const kp_real *v[4];
  for (int c = 0; c < 4; ++c) {
    node[c] = g->corner[c * g->n_axes + r->axis + s] - r->node[0];
    x[c] = g->place + hair_item(r, node[c], 0);
    v[c] = g->speed + hair_item(r, node[c], 0);
  }
  double along[3 * HAIR_WIDE], weight[4 * HAIR_WIDE], length[HAIR_WIDE];
  double n2[HAIR_WIDE], a2[HAIR_WIDE], b2[HAIR_WIDE];
  int32_t number[HAIR_WIDE];
  HAIR_EACH_LANE(l, n) {
    kp_vec3 p[4];
    for (int c = 0; c < 4; ++c) {
      p[c].x = x[c][l];
      p[c].y = x[c][HAIR_LANES + l];
      p[c].z = x[c][2 * HAIR_LANES + l];
    }
    kp_altitude_choice choice = kp_altitude_look(p);
    number[l] = choice.altitude.number;
    along[l] = choice.altitude.n.x;
    along[HAIR_WIDE + l] = choice.altitude.n.y;
    along[2 * HAIR_WIDE + l] = choice.altitude.n.z;
    for (int c = 0; c < 4; ++c) {
      weight[HAIR_WIDE * c + l] = choice.altitude.w[c];
    }
    length[l] = choice.altitude.length;
    n2[l] = choice.n2;
    a2[l] = choice.a2;
    b2[l] = choice.b2;
  }
  kp_real force[HAIR_WIDE], rate[HAIR_WIDE];
  for (int l = 0; l < n; ++l) {
    const kp_real *constants = g->axis + r->axis_item + HAIR_LANES * HAIR_AXIS * s + l;
    const kp_real *edges = constants + HAIR_LANES * KP_ALTITUDES;
    const kp_real *stiffness = constants + HAIR_LANES * DEFORM_AXIS_REST;
    kp_altitude_choice choice;
    choice.altitude.number = number[l];
    choice.n2 = n2[l];
    choice.a2 = a2[l];
    choice.b2 = b2[l];
    double rest_a2 = (double)edges[HAIR_LANES * kp_altitude_first_edge(number[l])];
    double rest_b2 = (double)edges[HAIR_LANES * kp_altitude_second_edge(number[l])];
    if (!kp_altitude_is_plain(&choice, rest_a2, rest_b2)) {
      kp_vec3 p[4];
      for (int c = 0; c < 4; ++c) {
        p[c] = kp_vec3_make(x[c][l], x[c][HAIR_LANES + l], x[c][2 * HAIR_LANES + l]);
      }
      kp_altitude other = kp_altitude_judge(p, &choice, rest_a2, rest_b2);
      number[l] = other.number;
      along[l] = other.n.x;
      along[HAIR_WIDE + l] = other.n.y;
      along[2 * HAIR_WIDE + l] = other.n.z;
      for (int c = 0; c < 4; ++c) {
        weight[HAIR_WIDE * c + l] = other.w[c];
      }
      length[l] = other.length;
    }
    double k = number[l] >= 0 ? (double)stiffness[0] : 0.0;
    double rest = number[l] >= 0 ? (double)constants[HAIR_LANES * number[l]] : 1.0;
    force[l] = (kp_real)(k * (length[l] / rest - 1.0));
    rate[l] = stiffness[HAIR_LANES] + g->implicit * (kp_real)(k / rest);
  }
  kp_real slope[4][3 * HAIR_WIDE], scaled[4][3 * HAIR_WIDE], pull[HAIR_WIDE];
  HAIR_EACH_LANE(l, n) {
    pull[l] = 0;
  }
  for (int c = 0; c < 4; ++c) {
    for (int k = 0; k < 3; ++k) {
      HAIR_EACH_LANE(l, n) {
        kp_real d = (kp_real)(along[HAIR_WIDE * k + l] * weight[HAIR_WIDE * c + l]);
        slope[c][HAIR_WIDE * k + l] = d;
        scaled[c][HAIR_WIDE * k + l] = g->h * rate[l] * d;
        pull[l] += d * v[c][HAIR_LANES * k + l];
      }
    }
  }
  HAIR_EACH_LANE(l, n) {
    pull[l] = -g->h * (force[l] + rate[l] * pull[l]);
  }
  for (int c = 0; c < 4; ++c) {
    hair_push(g, r, n, node[c], pull, slope[c]);
    for (int e = 0; e < 4; ++e) {
      if (node[c] >= node[e]) {
        hair_couple(g, r, n, node[c], node[e], scaled[c], slope[e]);
      }
    }
  }
}

// P = F - n n^T, F nothing along the axes that are held, n the normal of a contact along which the
// velocity is kept: the row and the column of node i are projected, its diagonal is m (1 - P).
HAIR_FN void hair_hold(const hair_system *g, const hair_lanes *r, int n, int64_t i) {
  bool is_held = false;
  for (int l = 0; l < n; ++l) {
    int64_t at = r->node[l] + i;
    is_held = is_held || (i < r->count[l] && ((g->hold[at] & 7) != 0 || g->cx[at] != 0 ||
                                              g->cy[at] != 0 || g->cz[at] != 0));
  }
  if (!is_held) {
    return;
  }
  kp_real p[9][HAIR_WIDE], mass[HAIR_WIDE];
  for (int l = 0; l < n; ++l) {
    int64_t at = r->node[l] + (i < r->count[l] ? i : 0);
    bool is_node = i < r->count[l];
    uint8_t hold = is_node ? g->hold[at] : (uint8_t)0;
    const kp_real held = 0, loose = 1;
    kp_real f[3] = { hold & 1 ? held : loose, hold & 2 ? held : loose, hold & 4 ? held : loose };
    kp_real u[3] = { is_node ? f[0] * g->cx[at] : 0, is_node ? f[1] * g->cy[at] : 0,
                     is_node ? f[2] * g->cz[at] : 0 };
    mass[l] = g->mass[at];
    for (int k = 0; k < 9; ++k) {
      p[k][l] = (k % 4 == 0 ? f[k / 3] : 0) - u[k / 3] * u[k % 3];
    }
  }
  kp_real *b = g->right + hair_item(r, i, 0);
  HAIR_EACH_LANE(l, n) {
    kp_real x = b[l], y = b[HAIR_LANES + l], z = b[2 * HAIR_LANES + l];
    b[l] = p[0][l] * x + p[1][l] * y + p[2][l] * z;
    b[HAIR_LANES + l] = p[3][l] * x + p[4][l] * y + p[5][l] * z;
    b[2 * HAIR_LANES + l] = p[6][l] * x + p[7][l] * y + p[8][l] * z;
  }
  for (int64_t k = 0; k < r->width; ++k) {
    kp_real *row = g->band + hair_block(r, i, k);
    for (int j = 0; j < 3 && k <= i; ++j) {
      kp_real *e0 = row + HAIR_LANES * j, *e1 = e0 + 3 * HAIR_LANES, *e2 = e1 + 3 * HAIR_LANES;
      HAIR_EACH_LANE(l, n) {
        kp_real x = e0[l], y = e1[l], z = e2[l];
        e0[l] = p[0][l] * x + p[1][l] * y + p[2][l] * z;
        e1[l] = p[3][l] * x + p[4][l] * y + p[5][l] * z;
        e2[l] = p[6][l] * x + p[7][l] * y + p[8][l] * z;
      }
    }
    if (i + k >= r->rows) {
      continue;
    }
    kp_real *column = g->band + hair_block(r, i + k, k);
    for (int j = 0; j < 3; ++j) {
      kp_real *e = column + 3 * HAIR_LANES * j;
      HAIR_EACH_LANE(l, n) {
        kp_real x = e[l], y = e[HAIR_LANES + l], z = e[2 * HAIR_LANES + l];
        e[l] = x * p[0][l] + y * p[3][l] + z * p[6][l];
        e[HAIR_LANES + l] = x * p[1][l] + y * p[4][l] + z * p[7][l];
        e[2 * HAIR_LANES + l] = x * p[2][l] + y * p[5][l] + z * p[8][l];
      }
    }
  }
  kp_real *diagonal = g->band + hair_block(r, i, 0);
  for (int k = 0; k < 9; ++k) {
    kp_real one = k % 4 == 0 ? 1 : 0;
    HAIR_EACH_LANE(l, n) {
      diagonal[HAIR_LANES * k + l] += mass[l] * (one - p[k][l]);
    }
  }
}

HAIR_FN void hair_assemble_lanes(const hair_system *g, int64_t lock, int64_t lane, int n) {
  hair_lanes r;
  hair_open(&g->locks, lock, lane, n, &r);
  hair_begin(g, &r, n);
  for (int64_t s = 0; s < r.springs; ++s) {
    hair_add_spring(g, &r, n, s);
  }
  for (int64_t s = 0; s < r.axes; ++s) {
    hair_add_axis(g, &r, n, s);
  }
  for (int64_t i = 0; i < r.rows; ++i) {
    hair_hold(g, &r, n, i);
  }
}

// Lanes i0 ... i1 - 1 of a lock.
KP_FN void hair_assemble(const hair_system *g, int64_t lock, int64_t i0, int64_t i1) {
  if (hair_is_whole(i0, i1) && g->locks.same[lock]) {
    hair_assemble_lanes(g, lock, 0, HAIR_WIDE);
  } else {
    for (int64_t l = i0; l < i1; ++l) {
      hair_assemble_lanes(g, lock, l, 1);
    }
  }
}

// ---- the decomposition --------------------------------------------------------------------------

// a -= b c^T
HAIR_FN void hair_take_product(kp_real *a, const kp_real *b, const kp_real *c, int n) {
  for (int i = 0; i < 3; ++i) {
    const kp_real *p = b + 3 * HAIR_LANES * i;
    for (int j = 0; j < 3; ++j) {
      const kp_real *q = c + 3 * HAIR_LANES * j;
      kp_real *to = a + HAIR_LANES * (3 * i + j);
      HAIR_EACH_LANE(l, n) {
        to[l] -= p[l] * q[l] + p[HAIR_LANES + l] * q[HAIR_LANES + l] +
                 p[2 * HAIR_LANES + l] * q[2 * HAIR_LANES + l];
      }
    }
  }
}

// The root l of a symmetric block, l l^T = a, with the inverse of its diagonal. Rounding may leave
// nothing of a stiff node: the decomposition stays one of a definite matrix.
#define HAIR_LEAST_PIVOT ((kp_real)1e-6)

HAIR_FN kp_real hair_pivot(kp_real d, kp_real whole) {
  kp_real least = HAIR_LEAST_PIVOT * whole;
  return 1 / (kp_real)sqrt((double)(d > least ? d : least));
}

HAIR_FN void hair_root_of(kp_real *a, const kp_real *whole, int n) {
  HAIR_EACH_LANE(l, n) {
    kp_real *e = a + l;
    kp_real e0 = hair_pivot(e[0], whole[l]);
    kp_real e3 = e[3 * HAIR_LANES] * e0, e6 = e[6 * HAIR_LANES] * e0;
    kp_real e4 = hair_pivot(e[4 * HAIR_LANES] - e3 * e3, whole[HAIR_WIDE + l]);
    kp_real e7 = (e[7 * HAIR_LANES] - e6 * e3) * e4;
    kp_real e8 = hair_pivot(e[8 * HAIR_LANES] - e6 * e6 - e7 * e7, whole[2 * HAIR_WIDE + l]);
    e[0] = e0;
    e[3 * HAIR_LANES] = e3;
    e[4 * HAIR_LANES] = e4;
    e[6 * HAIR_LANES] = e6;
    e[7 * HAIR_LANES] = e7;
    e[8 * HAIR_LANES] = e8;
  }
}

// a = a l^-T
HAIR_FN void hair_divide(kp_real *a, const kp_real *root, int n) {
  for (int i = 0; i < 3; ++i) {
    kp_real *r = a + 3 * HAIR_LANES * i;
    HAIR_EACH_LANE(l, n) {
      kp_real x = r[l] * root[l];
      kp_real y = (r[HAIR_LANES + l] - x * root[3 * HAIR_LANES + l]) * root[4 * HAIR_LANES + l];
      kp_real z =
          (r[2 * HAIR_LANES + l] - x * root[6 * HAIR_LANES + l] - y * root[7 * HAIR_LANES + l]) *
          root[8 * HAIR_LANES + l];
      r[l] = x;
      r[HAIR_LANES + l] = y;
      r[2 * HAIR_LANES + l] = z;
    }
  }
}

HAIR_FN void hair_factor_lanes(const hair_lanes *r, kp_real *band, int n) {
  kp_real whole[3 * HAIR_WIDE];
  for (int64_t i = 0; i < r->rows; ++i) {
    kp_real *diagonal = band + hair_block(r, i, 0);
    int64_t low = i - r->width + 1 > 0 ? i - r->width + 1 : 0;
    for (int c = 0; c < 3; ++c) {
      HAIR_EACH_LANE(l, n) {
        whole[HAIR_WIDE * c + l] = diagonal[4 * HAIR_LANES * c + l];
      }
    }
    for (int64_t j = low; j < i; ++j) {
      kp_real *block = band + hair_block(r, i, i - j);
      for (int64_t k = low; k < j; ++k) {
        hair_take_product(block, band + hair_block(r, i, i - k), band + hair_block(r, j, j - k), n);
      }
      hair_divide(block, band + hair_block(r, j, 0), n);
      hair_take_product(diagonal, block, block, n);
    }
    hair_root_of(diagonal, whole, n);
  }
}

// u = (l l^T)^-1 u, in the lanes.
HAIR_FN void hair_solve_lanes(const hair_lanes *r, const kp_real *band, kp_real *u, int n) {
  for (int64_t i = 0; i < r->rows; ++i) {
    kp_real *v = u + hair_item(r, i, 0);
    for (int64_t k = 1; k < r->width && k <= i; ++k) {
      const kp_real *b = band + hair_block(r, i, k), *w = u + hair_item(r, i - k, 0);
      for (int c = 0; c < 3; ++c) {
        const kp_real *e = b + 3 * HAIR_LANES * c;
        HAIR_EACH_LANE(l, n) {
          v[HAIR_LANES * c + l] -= e[l] * w[l] + e[HAIR_LANES + l] * w[HAIR_LANES + l] +
                                   e[2 * HAIR_LANES + l] * w[2 * HAIR_LANES + l];
        }
      }
    }
    const kp_real *d = band + hair_block(r, i, 0);
    HAIR_EACH_LANE(l, n) {
      kp_real x = v[l] * d[l];
      kp_real y = (v[HAIR_LANES + l] - d[3 * HAIR_LANES + l] * x) * d[4 * HAIR_LANES + l];
      v[2 * HAIR_LANES + l] =
          (v[2 * HAIR_LANES + l] - d[6 * HAIR_LANES + l] * x - d[7 * HAIR_LANES + l] * y) *
          d[8 * HAIR_LANES + l];
      v[l] = x;
      v[HAIR_LANES + l] = y;
    }
  }
  for (int64_t i = r->rows - 1; i >= 0; --i) {
    kp_real *v = u + hair_item(r, i, 0);
    const kp_real *d = band + hair_block(r, i, 0);
    HAIR_EACH_LANE(l, n) {
      kp_real z = v[2 * HAIR_LANES + l] * d[8 * HAIR_LANES + l];
      kp_real y = (v[HAIR_LANES + l] - d[7 * HAIR_LANES + l] * z) * d[4 * HAIR_LANES + l];
      v[l] = (v[l] - d[3 * HAIR_LANES + l] * y - d[6 * HAIR_LANES + l] * z) * d[l];
      v[HAIR_LANES + l] = y;
      v[2 * HAIR_LANES + l] = z;
    }
    // what it gives to those before it
    for (int64_t k = 1; k < r->width && k <= i; ++k) {
      const kp_real *b = band + hair_block(r, i, k);
      kp_real *w = u + hair_item(r, i - k, 0);
      for (int c = 0; c < 3; ++c) {
        const kp_real *e = b + HAIR_LANES * c;
        HAIR_EACH_LANE(l, n) {
          w[HAIR_LANES * c + l] -= e[l] * v[l] + e[3 * HAIR_LANES + l] * v[HAIR_LANES + l] +
                                   e[6 * HAIR_LANES + l] * v[2 * HAIR_LANES + l];
        }
      }
    }
  }
}

// ---- direct -------------------------------------------------------------------------------------

// w = v + (M - h D)^-1 h F. What a lock needs of its band lies in a cache from the first spring to
// the last substitution.
typedef struct hair_direct_args {
  hair_system system;
  kp_real *wx, *wy, *wz;  // may be v
} hair_direct_args;

HAIR_FN void hair_direct_lanes(const hair_direct_args *g, int64_t lock, int64_t lane, int n) {
  const hair_system *s = &g->system;
  hair_lanes r;
  hair_open(&s->locks, lock, lane, n, &r);
  hair_factor_lanes(&r, s->band, n);
  hair_solve_lanes(&r, s->band, s->right, n);
  for (int64_t i = 0; i < r.rows; ++i) {
    const kp_real *d = s->right + hair_item(&r, i, 0);
    for (int l = 0; l < r.hairs; ++l) {
      int64_t at = r.node[l] + i;
      if (i < r.count[l]) {
        uint8_t hold = s->hold[at];
        g->wx[at] = s->vx[at] + (hold & 1 ? 0 : d[l]);
        g->wy[at] = s->vy[at] + (hold & 2 ? 0 : d[HAIR_LANES + l]);
        g->wz[at] = s->vz[at] + (hold & 4 ? 0 : d[2 * HAIR_LANES + l]);
      }
    }
  }
}

KP_FN void hair_direct(int64_t j, int64_t k, int64_t i0, int64_t i1, const hair_direct_args *g) {
  (void)k;
  hair_assemble(&g->system, j, i0, i1);
  if (hair_is_whole(i0, i1)) {
    hair_direct_lanes(g, j, 0, HAIR_WIDE);
  } else {
    for (int64_t l = i0; l < i1; ++l) {
      hair_direct_lanes(g, j, l, 1);
    }
  }
}

// ---- as a preconditioner ------------------------------------------------------------------------

// Vectors of the solver to the lanes, and back. Copies get nothing: their hair may be on its way.
HAIR_FN void hair_fetch(const hair_lanes *r, const deform_in *v, kp_real *lanes, int n) {
  const kp_real *const from[3] = { v->x + v->o, v->y + v->p, v->z + v->q };
  for (int64_t i = 0; i < r->rows; ++i) {
    for (int c = 0; c < 3; ++c) {
      kp_real *to = lanes + hair_item(r, i, c);
      for (int l = 0; l < n; ++l) {
        to[l] = l < r->hairs && i < r->count[l] ? from[c][r->node[l] + i] : 0;
      }
    }
  }
}

HAIR_FN void hair_return(const hair_lanes *r, const kp_real *lanes, const deform_out *v) {
  kp_real *const to[3] = { v->x + v->o, v->y + v->p, v->z + v->q };
  for (int64_t i = 0; i < r->rows; ++i) {
    for (int c = 0; c < 3; ++c) {
      const kp_real *from = lanes + hair_item(r, i, c);
      for (int l = 0; l < r->hairs; ++l) {
        if (i < r->count[l]) {
          to[c][r->node[l] + i] = from[l];
        }
      }
    }
  }
}

// l of the matrix; and of the right side b, of which what hairs do not know is there already, what
// a solve asks for first, while l lies in a cache.
typedef struct hair_factor_args {
  hair_system system;
  kp_real *matrix;  // where it is kept; NULL: nowhere
  kp_real *lanes;   // of rows: scratch
  deform_out b;     // b += h F; NULL: not asked for
  deform_out u;     // (M - h D)^-1 b; NULL: not asked for
} hair_factor_args;

HAIR_FN void hair_add_right(const hair_lanes *r, const kp_real *right, const deform_out *b) {
  kp_real *const to[3] = { b->x + b->o, b->y + b->p, b->z + b->q };
  for (int64_t i = 0; i < r->rows; ++i) {
    for (int c = 0; c < 3; ++c) {
      const kp_real *from = right + hair_item(r, i, c);
      for (int l = 0; l < r->hairs; ++l) {
        if (i < r->count[l]) {
          to[c][r->node[l] + i] += from[l];
        }
      }
    }
  }
}

HAIR_FN void hair_factor_some(const hair_factor_args *g, int64_t lock, int64_t lane, int n) {
  const hair_system *s = &g->system;
  hair_lanes r;
  hair_open(&s->locks, lock, lane, n, &r);
  for (int64_t k = 0; g->matrix != NULL && k < HAIR_BLOCK * r.width * r.rows; ++k) {
    HAIR_EACH_LANE(l, n) {
      g->matrix[r.band + HAIR_LANES * k + l] = s->band[r.band + HAIR_LANES * k + l];
    }
  }
  hair_factor_lanes(&r, s->band, n);
  if (g->b.x != NULL) {
    hair_add_right(&r, s->right, &g->b);
  }
  if (g->u.x != NULL) {
    deform_in b = { g->b.x, g->b.y, g->b.z, g->b.o, g->b.p, g->b.q };
    hair_fetch(&r, &b, g->lanes, n);
    hair_solve_lanes(&r, s->band, g->lanes, n);
    hair_return(&r, g->lanes, &g->u);
  }
}

KP_FN void hair_factor(int64_t j, int64_t k, int64_t i0, int64_t i1, const hair_factor_args *g) {
  (void)k;
  hair_assemble(&g->system, j, i0, i1);
  if (hair_is_whole(i0, i1)) {
    hair_factor_some(g, j, 0, HAIR_WIDE);
  } else {
    for (int64_t l = i0; l < i1; ++l) {
      hair_factor_some(g, j, l, 1);
    }
  }
}

// y = (M - h D) u
typedef struct hair_product_args {
  hair_locks locks;
  const kp_real *matrix;
  kp_real *lanes, *more;  // of rows: scratch
  deform_in u;
  deform_out y;
} hair_product_args;

// y += b u, and y += b^T u
HAIR_FN void hair_add_product(const kp_real *b, const kp_real *u, kp_real *y, int n) {
  for (int c = 0; c < 3; ++c) {
    const kp_real *e = b + 3 * HAIR_LANES * c;
    HAIR_EACH_LANE(l, n) {
      y[HAIR_LANES * c + l] += e[l] * u[l] + e[HAIR_LANES + l] * u[HAIR_LANES + l] +
                               e[2 * HAIR_LANES + l] * u[2 * HAIR_LANES + l];
    }
  }
}

HAIR_FN void hair_add_turned(const kp_real *b, const kp_real *u, kp_real *y, int n) {
  for (int c = 0; c < 3; ++c) {
    const kp_real *e = b + HAIR_LANES * c;
    HAIR_EACH_LANE(l, n) {
      y[HAIR_LANES * c + l] += e[l] * u[l] + e[3 * HAIR_LANES + l] * u[HAIR_LANES + l] +
                               e[6 * HAIR_LANES + l] * u[2 * HAIR_LANES + l];
    }
  }
}

HAIR_FN void hair_product_lanes(const hair_product_args *g, int64_t lock, int64_t lane, int n) {
  hair_lanes r;
  hair_open(&g->locks, lock, lane, n, &r);
  hair_fetch(&r, &g->u, g->lanes, n);
  for (int64_t i = 0; i < r.rows; ++i) {
    kp_real *y = g->more + hair_item(&r, i, 0);
    const kp_real *u = g->lanes + hair_item(&r, i, 0);
    for (int c = 0; c < 3; ++c) {
      HAIR_EACH_LANE(l, n) {
        y[HAIR_LANES * c + l] = 0;
      }
    }
    hair_add_product(g->matrix + hair_block(&r, i, 0), u, y, n);
    for (int64_t k = 1; k < r.width && k <= i; ++k) {
      const kp_real *block = g->matrix + hair_block(&r, i, k);
      hair_add_product(block, g->lanes + hair_item(&r, i - k, 0), y, n);
      hair_add_turned(block, u, g->more + hair_item(&r, i - k, 0), n);
    }
  }
  hair_return(&r, g->more, &g->y);
}

KP_FN void hair_product(int64_t j, int64_t k, int64_t i0, int64_t i1, const hair_product_args *g) {
  (void)k;
  if (hair_is_whole(i0, i1)) {
    hair_product_lanes(g, j, 0, HAIR_WIDE);
  } else {
    for (int64_t l = i0; l < i1; ++l) {
      hair_product_lanes(g, j, l, 1);
    }
  }
}

// u = (l l^T)^-1 r
typedef struct hair_precondition_args {
  hair_locks locks;
  const kp_real *band;
  kp_real *lanes;  // of rows: scratch
  deform_in r;
  deform_out u;
} hair_precondition_args;

HAIR_FN void hair_precondition_lanes(const hair_precondition_args *g, int64_t lock, int64_t lane,
                                     int n) {
  hair_lanes r;
  hair_open(&g->locks, lock, lane, n, &r);
  hair_fetch(&r, &g->r, g->lanes, n);
  hair_solve_lanes(&r, g->band, g->lanes, n);
  hair_return(&r, g->lanes, &g->u);
}

KP_FN void hair_precondition(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const hair_precondition_args *g) {
  (void)k;
  if (hair_is_whole(i0, i1)) {
    hair_precondition_lanes(g, j, 0, HAIR_WIDE);
  } else {
    for (int64_t l = i0; l < i1; ++l) {
      hair_precondition_lanes(g, j, l, 1);
    }
  }
}

// u = d r: other nodes of the group.
typedef struct hair_jacobi_args {
  const kp_real *d, *r;
  kp_real *u;
} hair_jacobi_args;

KP_FN void hair_jacobi(int64_t i, const hair_jacobi_args *g) {
  g->u[i] = g->d[i] * g->r[i];
}

#define HAIR_SOLVE_KERNELS(POINT, REDUCE, ROW, PAIR)                                               \
  ROW(hair, direct)                                                                                \
  ROW(hair, factor)                                                                                \
  ROW(hair, product)                                                                               \
  ROW(hair, precondition)                                                                          \
  POINT(hair, jacobi)
