// The stream function of a vorticity in free space (stream.h), item by item.
//
// Lengths are cells here. Each of the three components lives on the edges along its own axis, and
// charges and values of a component lie on the same lattice, so that all three are one problem in
// whole numbers: laplace p = -q, p -> 0 far away, q = w h^2.
#pragma once

#include <math.h>

#include "data/mac_view.h"
#include "par/kernel.h"

#define STREAM_LEVELS 24     // blocks of 2^24 cells are more than any grid has
#define STREAM_NODE 32       // numbers of a block: its weight, then ten moments of each component
#define STREAM_MOMENTS 10    // total, three first and six second moments
#define STREAM_OPENING 0.45  // blocks are taken as a whole where edge / distance is below this
#define STREAM_FOUR_PI 12.566370614359172954

#define STREAM_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(stream, join)                                                                              \
  POINT(stream, rim)                                                                               \
  ROW(stream, right)                                                                               \
  ROW(stream, take)                                                                                \
  ROW(stream, curl)                                                                                \
  POINT(stream, center)

// ---- the field far away -------------------------------------------------------------------------

// Blocks of 2^l charges along each axis, level by level, x fastest in each. Level 0 is the charges
// themselves and has no nodes.
typedef struct stream_level {
  int32_t n[3];
  int64_t first;  // node of block (0, 0, 0)
} stream_level;

// Weight and moments of a block from those of the eight below it, about its middle:
//   M = sum m,   D = sum (d + m s),   Q = sum (q + d s^T + s d^T + m s s^T),   s: from middle to
// middle. The weight is the sum of |charge|, which tells blocks with nothing in them.
typedef struct stream_join_args {
  stream_level level, below;
  int32_t is_lowest;  // below are charges
  double shift;       // a quarter of the edge of a block
  const kp_real *qx, *qy, *qz;
  kp_real *nodes;
} stream_join_args;

KP_FN void stream_add_moments(const double child[STREAM_MOMENTS], const double s[3],
                              double out[STREAM_MOMENTS]) {
  double m = child[0];
  const double *d = child + 1;
  const double *q = child + 4;
  out[0] += m;
  for (int a = 0; a < 3; ++a) {
    int b = (a + 1) % 3;  // the mixed moments are xy, yz, zx
    out[1 + a] += d[a] + m * s[a];
    out[4 + a] += q[a] + 2.0 * d[a] * s[a] + m * s[a] * s[a];
    out[7 + a] += q[3 + a] + d[a] * s[b] + d[b] * s[a] + m * s[a] * s[b];
  }
}

KP_FN void stream_join(int64_t i, const stream_join_args *a) {
  const kp_real *charges[3] = { a->qx, a->qy, a->qz };
  const int32_t *n = a->level.n;
  const int32_t *m = a->below.n;
  const int64_t block[3] = { i % n[0], i / n[0] % n[1], i / n[0] / n[1] };
  double weight = 0.0;
  double sum[3][STREAM_MOMENTS] = { { 0.0 } };
  for (int k = 0; k < 8; ++k) {
    const int up[3] = { k & 1, k >> 1 & 1, k >> 2 };
    int64_t at[3];
    double s[3];
    int is_inside = 1;
    for (int c = 0; c < 3; ++c) {
      at[c] = 2 * block[c] + up[c];
      s[c] = up[c] ? a->shift : -a->shift;
      is_inside = is_inside && at[c] < m[c];
    }
    if (!is_inside) {
      continue;
    }
    int64_t item = at[0] + m[0] * (at[1] + m[1] * at[2]);
    const kp_real *node = a->nodes + STREAM_NODE * (a->below.first + item);
    weight += a->is_lowest ? 0.0 : (double)node[0];
    for (int c = 0; c < 3; ++c) {
      double child[STREAM_MOMENTS] = { 0.0 };
      if (a->is_lowest) {
        child[0] = (double)charges[c][item];
        weight += fabs(child[0]);
      } else {
        for (int p = 0; p < STREAM_MOMENTS; ++p) {
          child[p] = (double)node[1 + STREAM_MOMENTS * c + p];
        }
      }
      stream_add_moments(child, s, sum[c]);
    }
  }
  kp_real *out = a->nodes + STREAM_NODE * (a->level.first + i);
  out[0] = (kp_real)weight;
  for (int c = 0; c < 3; ++c) {
    for (int p = 0; p < STREAM_MOMENTS; ++p) {
      out[1 + STREAM_MOMENTS * c + p] = (kp_real)sum[c][p];
    }
  }
}

// p = sum q/(4 pi r) over all charges at the items around the unknowns, one layer with its edges
// and corners: each block that is far enough by its moments,
//   M/r + D.r/r^3 + (3 r^T Q r - r^2 tr Q)/(2 r^5),
// others by what they consist of (Barnes & Hut 1986). The way through the tree is the order of its
// blocks, so sums do not depend on threads.
typedef struct stream_rim_args {
  kp_mac_view view;
  int32_t pad;   // unknowns below the first charge
  int32_t n[3];  // charges
  int32_t top;   // level of the one block that holds all
  stream_level levels[STREAM_LEVELS];
  const kp_real *nodes;
  const kp_real *qx, *qy, *qz;
  kp_real *px, *py, *pz;
} stream_rim_args;

KP_FN double stream_moments_at(const kp_real *m, const double r[3], double inverse) {
  double i2 = inverse * inverse;
  double first = 0.0;
  double second = 0.0;
  double trace = 0.0;
  for (int a = 0; a < 3; ++a) {
    int b = (a + 1) % 3;
    first += (double)m[1 + a] * r[a];
    second += (double)m[4 + a] * r[a] * r[a] + 2.0 * (double)m[7 + a] * r[a] * r[b];
    trace += (double)m[4 + a];
  }
  return inverse * ((double)m[0] + i2 * (first + 0.5 * (3.0 * i2 * second - trace)));
}

// Whether a block was taken as a whole, or has nothing to give; if not, its parts are next.
KP_FN int stream_take_block(const stream_rim_args *a, int level, const int32_t block[3],
                            const double p[3], double sum[3]) {
  const kp_real *charges[3] = { a->qx, a->qy, a->qz };
  const int32_t *n = level ? a->levels[level].n : a->n;
  if (block[0] >= n[0] || block[1] >= n[1] || block[2] >= n[2]) {
    return 1;
  }
  int64_t item = block[0] + n[0] * (block[1] + (int64_t)n[1] * block[2]);
  const kp_real *node = a->nodes + STREAM_NODE * (level ? a->levels[level].first + item : 0);
  if (level && !(node[0] > (kp_real)0)) {
    return 1;
  }
  double edge = (double)(1 << level);
  double r[3];
  double r2 = 0.0;
  for (int c = 0; c < 3; ++c) {
    r[c] = p[c] - ((block[c] + 0.5) * edge - 0.5);
    r2 += r[c] * r[c];
  }
  if (level && !(edge * edge < STREAM_OPENING * STREAM_OPENING * r2)) {
    return 0;
  }
  double inverse = 1.0 / sqrt(r2);
  for (int c = 0; c < 3; ++c) {
    sum[c] += level ? stream_moments_at(node + 1 + STREAM_MOMENTS * c, r, inverse)
                    : inverse * (double)charges[c][item];
  }
  return 1;
}

// The item of the layer with number i: two slabs across z, what is left of two across y, and of two
// across x.
KP_FN void stream_rim_item(const int32_t m[3], int64_t i, int64_t at[3]) {
  int64_t wide[3] = { m[0] + 2, m[1] + 2, m[2] };
  int64_t slab = wide[0] * wide[1];
  int64_t wall = wide[0] * wide[2];
  if (i < 2 * slab) {
    at[0] = i % wide[0] - 1;
    at[1] = i % slab / wide[0] - 1;
    at[2] = i < slab ? -1 : m[2];
  } else if (i < 2 * slab + 2 * wall) {
    int64_t s = i - 2 * slab;
    at[0] = s % wide[0] - 1;
    at[1] = s < wall ? -1 : m[1];
    at[2] = s % wall / wide[0];
  } else {
    int64_t side = (int64_t)m[1] * m[2];
    int64_t s = i - 2 * slab - 2 * wall;
    at[0] = s < side ? -1 : m[0];
    at[1] = s % side % m[1];
    at[2] = s % side / m[1];
  }
}

KP_FN int64_t stream_rim_count(const int32_t m[3]) {
  int64_t wide = m[0] + 2;
  return 2 * (wide * (m[1] + 2) + wide * m[2] + (int64_t)m[1] * m[2]);
}

KP_FN void stream_rim(int64_t i, const stream_rim_args *a) {
  int64_t at[3];
  double p[3];
  double sum[3] = { 0.0, 0.0, 0.0 };
  int32_t block[3] = { 0, 0, 0 };
  int level = a->top;
  stream_rim_item(a->view.n, i, at);
  for (int c = 0; c < 3; ++c) {
    p[c] = (double)(at[c] - a->pad);
  }
  for (;;) {
    if (!stream_take_block(a, level, block, p, sum)) {
      --level;
      for (int c = 0; c < 3; ++c) {
        block[c] *= 2;
      }
      continue;
    }
    // on to the next one: up from the last of eight, then along x, y, z
    while (level < a->top && (block[0] & block[1] & block[2] & 1)) {
      ++level;
      for (int c = 0; c < 3; ++c) {
        block[c] /= 2;
      }
    }
    if (level == a->top) {
      break;
    }
    int axis = !(block[0] & 1) ? 0 : (!(block[1] & 1) ? 1 : 2);
    for (int c = 0; c < axis; ++c) {
      --block[c];
    }
    ++block[axis];
  }
  kp_real *out[3] = { a->px, a->py, a->pz };
  for (int c = 0; c < 3; ++c) {
    out[c][kp_mac_at(&a->view, at[0], at[1], at[2])] = (kp_real)(sum[c] / STREAM_FOUR_PI);
  }
}

// ---- the equation -------------------------------------------------------------------------------

// The right side of A p = q, A p = 6 p - sum of the six around, with given values around the
// unknowns. The error of A is not the same in all directions, which is felt far from the charges:
// the field of one at r cells is wrong by r^-2 of itself. The operator over 19 items,
//   B p = (24 p - 2 sum of the 6 at faces - sum of the 12 at edges)/6,
// errs by h^2/12 times its own square, so that B p = q - A q/12 is of fourth order (the Mehrstellen
// of Collatz 1960). It is solved by repeated correction, A p' = q - A q/12 + (A - B) p.
typedef struct stream_right_args {
  kp_mac_view view;
  int32_t pad;
  int32_t n[3];
  int32_t is_corrected;  // p holds an answer, not only the values around
  const kp_real *q;
  const kp_real *p;
  kp_real *b;
} stream_right_args;

KP_FN double stream_charge(const stream_right_args *a, int64_t x, int64_t y, int64_t z) {
  int is_inside = x >= 0 && x < a->n[0] && y >= 0 && y < a->n[1] && z >= 0 && z < a->n[2];
  return is_inside ? (double)a->q[x + a->n[0] * (y + a->n[1] * z)] : 0.0;
}

// (A - B) p = (sum of the 12 - 4 sum of the 6)/6 of differences to the middle
KP_FN double stream_correction(const kp_real *p, int64_t row, int64_t slab) {
  double middle = (double)p[0];
  double faces = 0.0;
  double edges = 0.0;
  for (int s = -1; s <= 1; s += 2) {
    const kp_real *e = p + s;
    const kp_real *f = p + s * slab;
    faces += ((double)e[0] - middle) + ((double)f[0] - middle) + ((double)p[s * row] - middle);
    edges += ((double)e[-row] - middle) + ((double)e[row] - middle) + ((double)e[-slab] - middle) +
             ((double)e[slab] - middle) + ((double)f[-row] - middle) + ((double)f[row] - middle);
  }
  return (edges - 4.0 * faces) / 6.0;
}

KP_FN void stream_right(int64_t j, int64_t k, int64_t i0, int64_t i1, const stream_right_args *a) {
  const int32_t *m = a->view.n;
  int64_t row = a->view.row;
  int64_t slab = a->view.slab;
  int64_t y = j - a->pad;
  int64_t z = k - a->pad;
  int is_near = y >= -1 && y <= a->n[1] && z >= -1 && z <= a->n[2];
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(&a->view, i, j, k);
    const kp_real *p = a->p + at;
    int64_t x = i - a->pad;
    double b = 0.0;
    if (is_near && x >= -1 && x <= a->n[0]) {
      double around = stream_charge(a, x - 1, y, z) + stream_charge(a, x + 1, y, z) +
                      stream_charge(a, x, y - 1, z) + stream_charge(a, x, y + 1, z) +
                      stream_charge(a, x, y, z - 1) + stream_charge(a, x, y, z + 1);
      b = 0.5 * stream_charge(a, x, y, z) + around / 12.0;
    }
    b += i == 0 ? (double)p[-1] : 0.0;
    b += i == m[0] - 1 ? (double)p[1] : 0.0;
    b += j == 0 ? (double)p[-row] : 0.0;
    b += j == m[1] - 1 ? (double)p[row] : 0.0;
    b += k == 0 ? (double)p[-slab] : 0.0;
    b += k == m[2] - 1 ? (double)p[slab] : 0.0;
    b += a->is_corrected ? stream_correction(p, row, slab) : 0.0;
    a->b[at] = (kp_real)b;
  }
}

// p of the unknowns from both parts of the answer; what is around them stays.
typedef struct stream_take_args {
  kp_mac_view view;
  const kp_real *answer, *rest;
  kp_real *p;
} stream_take_args;

KP_FN void stream_take(int64_t j, int64_t k, int64_t i0, int64_t i1, const stream_take_args *a) {
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(&a->view, i, j, k);
    a->p[at] = a->answer[at] + a->rest[at];
  }
}

// ---- velocity -----------------------------------------------------------------------------------

// What flows through a face, per area: the way of p around it (Stokes). The mean of p along an edge
// is p + p''/24; whatever it is, the flow out of a cell takes each edge twice, once either way, and
// is nothing.
typedef struct stream_curl_args {
  kp_mac_view view;
  int32_t axis;
  double scale;  // 1/h
  const kp_real *p[3];
  kp_real *face;  // m/s
} stream_curl_args;

KP_FN double stream_edge(const kp_real *p, int64_t stride) {
  return (double)p[0] + ((double)p[-stride] - 2.0 * (double)p[0] + (double)p[stride]) / 24.0;
}

KP_FN void stream_curl(int64_t j, int64_t k, int64_t i0, int64_t i1, const stream_curl_args *a) {
  int b = (a->axis + 1) % 3;
  int c = (a->axis + 2) % 3;
  int64_t sb = kp_mac_stride(&a->view, b);
  int64_t sc = kp_mac_stride(&a->view, c);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(&a->view, i, j, k);
    const kp_real *pb = a->p[b] + at;
    const kp_real *pc = a->p[c] + at;
    double way = (stream_edge(pc + sb, sc) - stream_edge(pc, sc)) -
                 (stream_edge(pb + sc, sb) - stream_edge(pb, sb));
    a->face[at] = (kp_real)(a->scale * way);
  }
}

// Velocity in the middle of a cell from the mean ones of faces around, to fourth order: between
// them along the axis, and from means to points across it.
typedef struct stream_center_args {
  kp_mac_view view;
  int32_t pad;
  int32_t n[3];
  const kp_real *face[3];
  kp_real *x, *y, *z;
} stream_center_args;

KP_FN void stream_center(int64_t i, const stream_center_args *a) {
  kp_real *out[3] = { a->x, a->y, a->z };
  int64_t row = i / a->n[0];
  int64_t at =
      kp_mac_at(&a->view, a->pad + i % a->n[0], a->pad + row % a->n[1], a->pad + row / a->n[1]);
  for (int c = 0; c < 3; ++c) {
    int64_t step = kp_mac_stride(&a->view, c);
    const kp_real *f = a->face[c] + at;
    double pair = (double)f[0] + (double)f[step];
    double sum = (9.0 * pair - (double)f[-step] - (double)f[2 * step]) / 16.0;
    for (int e = 1; e < 3; ++e) {
      int64_t across = kp_mac_stride(&a->view, (c + e) % 3);
      const kp_real *lo = f - across;
      const kp_real *hi = f + across;
      double around = (double)lo[0] + (double)lo[step] + (double)hi[0] + (double)hi[step];
      sum -= (0.5 * around - pair) / 24.0;
    }
    out[c][i] = (kp_real)sum;
  }
}
