// Gauss-Seidel sweeps over the springs of implicit steps, by colours of nodes.
//
// With the nodes put in order of their colours the matrix is A = L + D + L^T, D the 3x3 blocks of
// nodes and L the springs to nodes of earlier colours. Its symmetric Gauss-Seidel splitting is
// M = (D + L) D^-1 (D + L^T), and conjugate gradients with it need no product with A at all
// (Eisenstat 1981): in the variables x' = (D + L^T) x the matrix is
//
//   A' = (D + L)^-1 A (D + L^T)^-1      A' x' = t + (D + L)^-1 (x' - D t),   t = (D + L^T)^-1 x'
//
// one sweep back and one forth, preconditioned by D. Row by row, with S the sum of what springs of
// later colours do to t,
//
//   back   t_i = D_i^-1 (x'_i + S_i)          so that x'_i - D_i t_i = -S_i
//   forth  w_i = D_i^-1 (-S_i + sum of springs of earlier colours on w)
//
// Nodes of one colour share no spring: they are swept at once, in any order, on any backend.
//
// A row is a node; rows of a colour lie side by side, in slices of SWEEP_LANES that are filled up
// with rows that hold nothing. Row r of a vector is x[r], y[R + r], z[2 R + r], R rows in all.
#pragma once

#include "methods/deform/deform_kernels.h"

#define SWEEP_SLICE 16
#ifdef __CUDACC__
#define SWEEP_LANES 1
#else
#define SWEEP_LANES SWEEP_SLICE
#endif
#define SWEEP_BLOCK 6  // of a symmetric 3x3 block: xx yy zz xy xz yz, item k of row r at [k R + r]

// Springs between two nodes lie on one line, so they are one entry: what they do to a velocity u of
// the other node is q (q.u) + s u, with the step in q and s.
typedef struct sweep_fill_args {
  kp_real h;
  const int32_t *pair;  // of an entry; -1: none
  const int32_t *pair_start, *pair_springs;
  const kp_real *dx, *dy, *dz, *rate, *side;
  kp_real *qx, *qy, *qz, *qs;
} sweep_fill_args;

KP_FN void sweep_fill(int64_t e, const sweep_fill_args *g) {
  int32_t p = g->pair[e];
  kp_real along = 0, side = 0, d[3] = { 0, 0, 0 };
  if (p >= 0) {
    int32_t first = g->pair_springs[g->pair_start[p]];
    d[0] = g->dx[first];
    d[1] = g->dy[first];
    d[2] = g->dz[first];
    for (int32_t k = g->pair_start[p]; k < g->pair_start[p + 1]; ++k) {
      int32_t s = g->pair_springs[k];
      kp_real c = g->rate[s] - g->side[s];
      along += c > 0 ? c : 0;
      side += g->side[s];
    }
  }
  kp_real root = (kp_real)sqrt((double)(g->h * along));
  g->qx[e] = root * d[0];
  g->qy[e] = root * d[1];
  g->qz[e] = root * d[2];
  g->qs[e] = g->h * side;
}

// ---- blocks of nodes

typedef struct sweep_block_args {
  int64_t rows;
  kp_real h;
  const int32_t *node;  // of a row; -1: none
  const int32_t *spring_start, *spring_refs;
  const kp_real *dx, *dy, *dz, *rate, *side;
  const kp_real *mass, *slow, *drag, *nx, *ny, *nz;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
  kp_real *block, *inverse;
} sweep_block_args;

// m = u m u of symmetric matrices, (xx yy zz xy xz yz)
KP_FN void sweep_sandwich(const double u[6], double m[6]) {
  const int at[9] = { 0, 3, 4, 3, 1, 5, 4, 5, 2 };
  const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
  double half[9];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      half[3 * i + j] = u[at[3 * i]] * m[at[j]] + u[at[3 * i + 1]] * m[at[3 + j]] +
                        u[at[3 * i + 2]] * m[at[6 + j]];
    }
  }
  for (int k = 0; k < 6; ++k) {
    const double *p = half + 3 * row[k];
    m[k] = p[0] * u[at[column[k]]] + p[1] * u[at[3 + column[k]]] + p[2] * u[at[6 + column[k]]];
  }
}

KP_FN void sweep_invert(const double m[6], double out[6]) {
  double xx = m[1] * m[2] - m[5] * m[5], xy = m[4] * m[5] - m[3] * m[2],
         xz = m[3] * m[5] - m[1] * m[4];
  double d = 1.0 / (m[0] * xx + m[3] * xy + m[4] * xz);
  out[0] = xx * d;
  out[1] = (m[0] * m[2] - m[4] * m[4]) * d;
  out[2] = (m[0] * m[1] - m[3] * m[3]) * d;
  out[3] = xy * d;
  out[4] = xz * d;
  out[5] = (m[3] * m[4] - m[0] * m[5]) * d;
}

// What a node is free to do: 1 - n n - held axes, n the normal as far as it is free.
KP_FN void sweep_freedom(uint8_t hold, const double normal[3], double p[6]) {
  double n[3], length2 = 0.0;
  for (int c = 0; c < 3; ++c) {
    p[c] = (hold >> c) & 1 ? 0.0 : 1.0;
    n[c] = p[c] * normal[c];
    length2 += n[c] * n[c];
  }
  double scale = length2 > 0.0 ? 1.0 / length2 : 0.0;
  p[0] -= scale * n[0] * n[0];
  p[1] -= scale * n[1] * n[1];
  p[2] -= scale * n[2] * n[2];
  p[3] = -scale * n[0] * n[1];
  p[4] = -scale * n[0] * n[2];
  p[5] = -scale * n[1] * n[2];
}

// D_i and its inverse, both on what the node is free to do and nothing elsewhere: sweeps then stay
// there by themselves.
KP_FN void sweep_block(int64_t r, const sweep_block_args *g) {
  int64_t i = g->node[r] < 0 ? 0 : g->node[r];
  double h = (double)g->h, drag = (double)g->drag[i];
  double n[3] = { (double)g->nx[i], (double)g->ny[i], (double)g->nz[i] };
  double same = (double)g->slow[i], d[6] = { 0.0 };
  for (int32_t k = g->spring_start[i]; k < g->spring_start[i + 1]; ++k) {
    int32_t s = g->spring_refs[k] >> 1;
    double side = (double)g->side[s], c = (double)g->rate[s] - side;
    double u[3] = { (double)g->dx[s], (double)g->dy[s], (double)g->dz[s] };
    c = c > 0.0 ? c : 0.0;
    same += side;
    d[0] += c * u[0] * u[0];
    d[1] += c * u[1] * u[1];
    d[2] += c * u[2] * u[2];
    d[3] += c * u[0] * u[1];
    d[4] += c * u[0] * u[2];
    d[5] += c * u[1] * u[2];
  }
  double m = (double)g->mass[i] + h * same;
  d[0] = m + h * (d[0] + drag * n[0] * n[0]);
  d[1] = m + h * (d[1] + drag * n[1] * n[1]);
  d[2] = m + h * (d[2] + drag * n[2] * n[2]);
  d[3] = h * (d[3] + drag * n[0] * n[1]);
  d[4] = h * (d[4] + drag * n[0] * n[2]);
  d[5] = h * (d[5] + drag * n[1] * n[2]);
  double normal[3] = { (double)g->cx[i], (double)g->cy[i], (double)g->cz[i] };
  double p[6], filled[6], inverse[6];
  double size = d[0] + d[1] + d[2];
  sweep_freedom(g->hold[i], normal, p);
  sweep_sandwich(p, d);
  for (int k = 0; k < 6; ++k) {
    filled[k] = d[k] + size * ((k < 3 ? 1.0 : 0.0) - p[k]);
  }
  sweep_invert(filled, inverse);
  sweep_sandwich(p, inverse);
  bool is_node = g->node[r] >= 0;
  for (int k = 0; k < SWEEP_BLOCK; ++k) {
    g->block[k * g->rows + r] = is_node ? (kp_real)d[k] : (kp_real)0;
    g->inverse[k * g->rows + r] = is_node ? (kp_real)inverse[k] : (kp_real)0;
  }
}

// u = D r
typedef struct sweep_weigh_args {
  int64_t rows;
  const kp_real *block, *r;
  kp_real *u;
} sweep_weigh_args;

KP_FN void sweep_times(const kp_real *block, int64_t rows, int64_t r, const kp_real v[3],
                       kp_real out[3]) {
  const kp_real *b = block + r;
  kp_real xy = b[3 * rows], xz = b[4 * rows], yz = b[5 * rows];
  out[0] = b[0] * v[0] + xy * v[1] + xz * v[2];
  out[1] = xy * v[0] + b[rows] * v[1] + yz * v[2];
  out[2] = xz * v[0] + yz * v[1] + b[2 * rows] * v[2];
}

KP_FN void sweep_weigh(int64_t r, const sweep_weigh_args *g) {
  int64_t n = g->rows;
  kp_real v[3] = { g->r[r], g->r[n + r], g->r[2 * n + r] }, out[3];
  sweep_times(g->block, n, r, v, out);
  g->u[r] = out[0];
  g->u[n + r] = out[1];
  g->u[2 * n + r] = out[2];
}

// ---- from nodes to rows and back

typedef struct sweep_gather_args {
  int64_t rows;
  const int32_t *node;
  deform_in from;
  kp_real *to;
} sweep_gather_args;

KP_FN void sweep_gather(int64_t r, const sweep_gather_args *g) {
  bool is_node = g->node[r] >= 0;
  int64_t at = is_node ? g->node[r] : g->node[0];  // the first row is a node
  g->to[r] = is_node ? g->from.x[g->from.o + at] : (kp_real)0;
  g->to[g->rows + r] = is_node ? g->from.y[g->from.p + at] : (kp_real)0;
  g->to[2 * g->rows + r] = is_node ? g->from.z[g->from.q + at] : (kp_real)0;
}

// to += from
typedef struct sweep_scatter_args {
  int64_t rows;
  int64_t first;
  const int32_t *row;  // of a node of the group
  const kp_real *from;
  deform_out to;
} sweep_scatter_args;

KP_FN void sweep_scatter(int64_t e, const sweep_scatter_args *g) {
  int64_t i = g->first + e, r = g->row[e];
  g->to.x[g->to.o + i] += g->from[r];
  g->to.y[g->to.p + i] += g->from[g->rows + r];
  g->to.z[g->to.q + i] += g->from[2 * g->rows + r];
}

// ---- sweeps

typedef struct sweep_entries {
  const int32_t *start;  // of slices: earlier colours of slice s at 2 s, later ones at 2 s + 1
  const int32_t *other;  // row
  const kp_real *qx, *qy, *qz, *qs;
} sweep_entries;

// What the entries from `begin` to `end` do at the velocities x of the other rows to rows i ... i +
// n - 1 of a slice.
KP_FN void sweep_sum(const sweep_entries *g, int64_t begin, int64_t end, int64_t i, int n,
                     int64_t rows, const kp_real *x, kp_real sum[3][SWEEP_LANES]) {
  const kp_real *y = x + rows, *z = x + 2 * rows;
  for (int l = 0; l < n; ++l) {
    sum[0][l] = sum[1][l] = sum[2][l] = 0;
  }
  for (int64_t e = begin + i % SWEEP_SLICE; e < end; e += SWEEP_SLICE) {
    KP_INDEPENDENT
    for (int l = 0; l < n; ++l) {
      int32_t o = g->other[e + l];
      kp_real u[3] = { x[o], y[o], z[o] };
      kp_real q[3] = { g->qx[e + l], g->qy[e + l], g->qz[e + l] };
      kp_real along = q[0] * u[0] + q[1] * u[1] + q[2] * u[2];
      kp_real side = g->qs[e + l];
      sum[0][l] += along * q[0] + side * u[0];
      sum[1][l] += along * q[1] + side * u[1];
      sum[2][l] += along * q[2] + side * u[2];
    }
  }
}

// (D + L^T) t = x, and -S
typedef struct sweep_back_args {
  int64_t rows;
  sweep_entries entries;
  const kp_real *inverse, *x;
  kp_real *t;
  kp_real *minus;  // may be NULL
} sweep_back_args;

KP_FN void sweep_back_some(int64_t slice, int64_t i, int n, const sweep_back_args *g) {
  kp_real sum[3][SWEEP_LANES];
  int64_t rows = g->rows;
  sweep_sum(&g->entries, g->entries.start[2 * slice + 1], g->entries.start[2 * slice + 2], i, n,
            rows, g->t, sum);
  KP_INDEPENDENT
  for (int l = 0; l < n; ++l) {
    int64_t r = i + l;
    kp_real v[3] = { g->x[r] + sum[0][l], g->x[rows + r] + sum[1][l],
                     g->x[2 * rows + r] + sum[2][l] },
            out[3];
    sweep_times(g->inverse, rows, r, v, out);
    g->t[r] = out[0];
    g->t[rows + r] = out[1];
    g->t[2 * rows + r] = out[2];
  }
  if (g->minus != NULL) {
    KP_INDEPENDENT
    for (int l = 0; l < n; ++l) {
      g->minus[i + l] = -sum[0][l];
      g->minus[rows + i + l] = -sum[1][l];
      g->minus[2 * rows + i + l] = -sum[2][l];
    }
  }
}

KP_FN void sweep_back(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_back_args *g) {
  (void)k;
  int64_t i = i0;
  for (; i + SWEEP_LANES <= i1; i += SWEEP_LANES) {
    sweep_back_some(j, i, SWEEP_LANES, g);
  }
  if (i < i1) {
    sweep_back_some(j, i, (int)(i1 - i), g);
  }
}

// (D + L) w = x, and y = t + w
typedef struct sweep_forth_args {
  int64_t rows;
  sweep_entries entries;
  const kp_real *inverse, *x;
  const kp_real *t;  // may be NULL
  kp_real *w;
  kp_real *y;  // NULL without t
} sweep_forth_args;

KP_FN void sweep_forth_some(int64_t slice, int64_t i, int n, const sweep_forth_args *g) {
  kp_real sum[3][SWEEP_LANES];
  int64_t rows = g->rows;
  sweep_sum(&g->entries, g->entries.start[2 * slice], g->entries.start[2 * slice + 1], i, n, rows,
            g->w, sum);
  KP_INDEPENDENT
  for (int l = 0; l < n; ++l) {
    int64_t r = i + l;
    kp_real v[3] = { g->x[r] + sum[0][l], g->x[rows + r] + sum[1][l],
                     g->x[2 * rows + r] + sum[2][l] },
            out[3];
    sweep_times(g->inverse, rows, r, v, out);
    g->w[r] = sum[0][l] = out[0];
    g->w[rows + r] = sum[1][l] = out[1];
    g->w[2 * rows + r] = sum[2][l] = out[2];
  }
  if (g->t != NULL) {
    KP_INDEPENDENT
    for (int l = 0; l < n; ++l) {
      int64_t r = i + l;
      g->y[r] = g->t[r] + sum[0][l];
      g->y[rows + r] = g->t[rows + r] + sum[1][l];
      g->y[2 * rows + r] = g->t[2 * rows + r] + sum[2][l];
    }
  }
}

KP_FN void sweep_forth(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_forth_args *g) {
  (void)k;
  int64_t i = i0;
  for (; i + SWEEP_LANES <= i1; i += SWEEP_LANES) {
    sweep_forth_some(j, i, SWEEP_LANES, g);
  }
  if (i < i1) {
    sweep_forth_some(j, i, (int)(i1 - i), g);
  }
}

#define DEFORM_SWEEP_KERNELS(POINT, REDUCE, ROW, PAIR)                                             \
  POINT(sweep, fill)                                                                               \
  POINT(sweep, block)                                                                              \
  POINT(sweep, weigh)                                                                              \
  POINT(sweep, gather)                                                                             \
  POINT(sweep, scatter)                                                                            \
  ROW(sweep, back)                                                                                 \
  ROW(sweep, forth)
