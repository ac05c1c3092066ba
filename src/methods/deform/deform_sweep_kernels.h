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
// A row is a node; rows of a colour lie side by side, in slices of SWEEP_SLICE that are filled up
// with rows that hold nothing. What a slice has of n items, its three components of a vector or the
// six numbers of its blocks, lies side by side too: item k of row r, the l-th of its slice, is at
// [n (r - l) + SWEEP_SLICE k + l]. A sweep then reads a few long streams, which processors fetch
// ahead, where an array per item would make some thirty short ones. What is asked of other rows, t
// and w, lies in records (math/records.h).
#pragma once

#include "math/records.h"
#include "methods/deform/deform_blocks_kernels.h"

#define SWEEP_SLICE KP_LANES
#ifdef __CUDACC__
#define SWEEP_LANES 1
#else
#define SWEEP_LANES SWEEP_SLICE
#endif
#define SWEEP_OWN 4
#define SWEEP_VECTOR 3
#define SWEEP_BLOCK 6    // of a symmetric 3x3 block: xx yy zz xy xz yz
#define SWEEP_SPRING 4   // of an entry of springs: q and s
#define SWEEP_ELEMENT 9  // of an entry of elements

// Where the items of row or entry r begin; they are SWEEP_SLICE apart.
KP_FN int64_t sweep_at(int items, int64_t r) {
  int64_t lane = r % SWEEP_SLICE;
  return items * (r - lane) + lane;
}

// Springs between two nodes lie on one line, so they are one entry: what they do to a velocity u of
// the other node is q (q.u) + s u, and f what they do at rest, with the step in all of them. Where
// elements of four nodes take part an entry is a 3x3 block instead, B u, that of the other end
// being its transpose; blocks of a row sum to what the row does to itself. Items of entries lie as
// those of rows do.
//
// Both ends have the same q and s and opposite f, so pairs are evaluated once and lie in records
// that entries take from: the arrays of springs would cost an entry six cache lines. That of pair p
// is at SWEEP_PAIR (p + 1), before them one that holds nothing.
#define SWEEP_PAIR 8  // q and s, then f of the end its first spring begins at, and one not used

typedef struct sweep_ready_args {
  kp_real h;
  const int32_t *pair_start, *pair_springs;
  const kp_real *dx, *dy, *dz, *force, *rate, *side;
  kp_real *record;
} sweep_ready_args;

KP_FN void sweep_ready(int64_t p, const sweep_ready_args *g) {
  int32_t first = g->pair_springs[g->pair_start[p]];
  kp_real along = 0, side = 0, force = 0, d[3] = { g->dx[first], g->dy[first], g->dz[first] };
  for (int32_t k = g->pair_start[p]; k < g->pair_start[p + 1]; ++k) {
    int32_t s = g->pair_springs[k];
    kp_real c = g->rate[s] - g->side[s];
    along += c > 0 ? c : 0;
    side += g->side[s];
    force += g->force[s];
  }
  kp_real pull = g->h * force, root = (kp_real)sqrt((double)(g->h * along));
  kp_real *record = g->record + SWEEP_PAIR * (p + 1);
  for (int c = 0; c < 3; ++c) {
    record[c] = root * d[c];
    record[4 + c] = pull * d[c];
  }
  record[3] = g->h * side;
  record[7] = 0;
}

// Blocks of a pair of nodes: what its elements have for it, and its springs. The other end sees the
// transpose.
typedef struct sweep_join_args {
  kp_real h;
  const int32_t *low, *high;  // entries of a pair at its lower and at its higher node
  const int32_t *begins;      // 1: the first spring begins at the lower node
  const int32_t *pair_start, *pair_springs;
  const int32_t *part_start;  // blocks of a pair: [2 p] from the lower node, [2 p + 1] the higher
  const int32_t *parts;       // where they begin in `item`
  const kp_real *item;        // blocks of elements, BLOCKS_ITEM numbers each
  const kp_real *dx, *dy, *dz, *force, *rate, *side;
  kp_real *block;
  kp_real *f;  // NULL: there are no springs
} sweep_join_args;

#ifndef __CUDACC__
typedef kp_real sweep_eight __attribute__((vector_size(8 * sizeof(kp_real))));
typedef kp_real sweep_eight_at
    __attribute__((vector_size(8 * sizeof(kp_real)), aligned(sizeof(kp_real)), may_alias));
#endif

// Sum of the blocks at parts[from] ... parts[to - 1].
KP_FN void sweep_add_up(const sweep_join_args *g, int32_t from, int32_t to, kp_real sum[9]) {
#ifdef __CUDACC__
  for (int c = 0; c < 9; ++c) {
    sum[c] = 0;
  }
  for (int32_t k = from; k < to; ++k) {
    for (int c = 0; c < 9; ++c) {
      sum[c] += g->item[g->parts[k] + c];
    }
  }
#else
  sweep_eight eight = { 0 };
  kp_real last = 0;
  for (int32_t k = from; k < to; ++k) {
    const kp_real *item = g->item + g->parts[k];
    eight += *(const sweep_eight_at *)item;
    last += item[8];
  }
  *(sweep_eight_at *)sum = eight;
  sum[8] = last;
#endif
}

KP_FN void sweep_join(int64_t p, const sweep_join_args *g) {
  kp_real there[9], back[9];
  const int32_t *start = g->part_start + 2 * p;
  sweep_add_up(g, start[0], start[1], there);
  sweep_add_up(g, start[1], start[2], back);
  kp_real along = 0, side = 0, force = 0, d[3] = { 0, 0, 0 };
  for (int32_t k = g->pair_start[p]; k < g->pair_start[p + 1]; ++k) {
    int32_t s = g->pair_springs[k];
    if (k == g->pair_start[p]) {
      d[0] = g->dx[s];
      d[1] = g->dy[s];
      d[2] = g->dz[s];
    }
    kp_real c = g->rate[s] - g->side[s];
    along += c > 0 ? c : 0;
    side += g->side[s];
    force += g->force[s];
  }
  int64_t low = g->low[p], high = g->high[p];
  kp_real *lower = g->block + sweep_at(SWEEP_ELEMENT, low);
  kp_real *higher = g->block + sweep_at(SWEEP_ELEMENT, high);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      kp_real b = there[3 * r + c] + back[3 * c + r] + along * d[r] * d[c];
      b = g->h * (r == c ? b + side : b);
      lower[(3 * r + c) * SWEEP_SLICE] = b;
      higher[(3 * c + r) * SWEEP_SLICE] = b;
    }
  }
  if (g->f != NULL) {
    kp_real pull = g->begins[p] ? g->h * force : -(g->h * force);
    kp_real *f = g->f + sweep_at(SWEEP_VECTOR, low), *o = g->f + sweep_at(SWEEP_VECTOR, high);
    for (int c = 0; c < 3; ++c) {
      f[c * SWEEP_SLICE] = pull * d[c];
      o[c * SWEEP_SLICE] = -(pull * d[c]);
    }
  }
}

// ---- blocks of nodes

// The rows a sweep works on at once: on the CPU a whole slice, of which i0 ... i1 - 1 are written;
// a card has a row to itself.
KP_FN int64_t sweep_first(int64_t slice, int64_t i0) {
#ifdef __CUDACC__
  (void)slice;
  return i0;
#else
  (void)i0;
  return slice * SWEEP_SLICE;
#endif
}

typedef struct sweep_entries {
  int64_t slices;        // those of rows, then those of shares
  const int32_t *start;  // of slices: entries of earlier colours; `slices` further, of later ones
  const int32_t *other;  // row
  const int32_t *run;    // of slices of entries: `other` counts up from here; -1: it does not
  const kp_real *q;      // q and s
  const kp_real *block;  // NULL: springs
  int32_t has_totals;    // of wide rows, see below
  const int32_t *wide;   // of slices of rows
  const kp_real *total;
} sweep_entries;

// A row that is far longer than others (the middle of a body of edges) would be the work of one
// thread. Its entries lie in shares of SWEEP_SHARE at most, slices of them as of rows but behind
// all rows. Shares are summed side by side, then SWEEP_FOLD sums at a time, and the row, the first
// of a slice of its own, adds up what is left: totals wide[2 slice] ... wide[2 slice + 1] - 1. The
// order is that of the entries on any backend.
#define SWEEP_SHARE 16
#define SWEEP_FOLD 32
#define SWEEP_BOTH (2 * SWEEP_BLOCK)  // blocks of earlier and of later colours

// What was summed by shares, `items` numbers each, of which those from `from` on belong to y.
KP_FN void sweep_add_totals(const sweep_entries *g, int64_t slice, int64_t i, int items, int from,
                            int n, kp_lanes *y) {
  if (!g->has_totals || i % SWEEP_SLICE != 0) {
    return;
  }
  for (int64_t k = g->wide[2 * slice]; k < g->wide[2 * slice + 1]; ++k) {
    for (int c = 0; c < n; ++c) {
#ifdef __CUDACC__
      y[c] += g->total[items * k + from + c];
#else
      y[c][0] += g->total[items * k + from + c];
#endif
    }
  }
}

// Records of the other ends of the entries from e on.
KP_FN void sweep_others(const sweep_entries *g, int64_t e, const kp_real *x, kp_lanes u[3]) {
#ifndef __CUDACC__
  int64_t run = g->run[e / SWEEP_SLICE];
  if (run >= 0) {
    kp_records_load(x + KP_RECORD * run, u);
    return;
  }
#endif
  kp_records_gather(x, g->other + e, u);
}

// What an entry of springs does at a velocity u.
KP_FN void sweep_add_spring(const kp_real *q, const kp_lanes u[3], kp_lanes y[3]) {
  kp_lanes qx = KP_LANES_LOAD(q), qy = KP_LANES_LOAD(q + SWEEP_SLICE);
  kp_lanes qz = KP_LANES_LOAD(q + 2 * SWEEP_SLICE), qs = KP_LANES_LOAD(q + 3 * SWEEP_SLICE);
  kp_lanes along = qx * u[0] + qy * u[1] + qz * u[2];
  y[0] += along * qx + qs * u[0];
  y[1] += along * qy + qs * u[1];
  y[2] += along * qz + qs * u[2];
}

// y += B u
KP_FN void sweep_add_block(const kp_real *b, const kp_lanes u[3], kp_lanes y[3]) {
  for (int c = 0; c < 3; ++c) {
    const kp_real *row = b + 3 * c * SWEEP_SLICE;
    y[c] += KP_LANES_LOAD(row) * u[0] + KP_LANES_LOAD(row + SWEEP_SLICE) * u[1] +
            KP_LANES_LOAD(row + 2 * SWEEP_SLICE) * u[2];
  }
}

typedef struct sweep_block_args {
  kp_real h;
  int32_t again;  // 1: blocks of free nodes are there from the last time
  sweep_entries entries;
  const int32_t *node;  // of a row; -1: none
  const kp_real *mass, *slow, *drag, *nx, *ny, *nz;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
  kp_real *block, *inverse;
  kp_real *own;   // mass and what slows a node, then the root of its drag along x, y, z
  kp_real *half;  // D_i without the springs to later colours
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

// Of a node; what is none is not free.
KP_FN bool sweep_is_free(int64_t i, const sweep_block_args *g) {
  return i >= 0 && g->hold[i] == 0 && g->cx[i] == 0 && g->cy[i] == 0 && g->cz[i] == 0;
}

KP_FN bool sweep_are_free(int64_t i0, int64_t i1, const sweep_block_args *g) {
  bool are = true;
  for (int64_t r = i0; r < i1 && are; ++r) {
    are = g->node[r] < 0 || sweep_is_free(g->node[r], g);
  }
  return are;
}

// D_i and its inverse, both on what the node is free to do and nothing elsewhere: sweeps then stay
// there by themselves. `springs` is the sum over its entries, (xx yy zz xy xz yz), `early` that
// over those of earlier colours.
KP_FN void sweep_block_of(int64_t r, const kp_real *springs, const kp_real *early,
                          const sweep_block_args *g) {
  int64_t i = g->node[r], at = sweep_at(SWEEP_BLOCK, r);
  kp_real *block = g->block + at, *out = g->inverse + at, *first = g->half + at;
  kp_real *own = g->own + sweep_at(SWEEP_OWN, r);
  if (i < 0) {
    for (int k = 0; k < SWEEP_BLOCK; ++k) {
      block[k * SWEEP_SLICE] = out[k * SWEEP_SLICE] = first[k * SWEEP_SLICE] = 0;
    }
    for (int k = 0; k < SWEEP_OWN; ++k) {
      own[k * SWEEP_SLICE] = 0;
    }
    return;
  }
  double h = (double)g->h, drag = h * (double)g->drag[i];
  double n[3] = { (double)g->nx[i], (double)g->ny[i], (double)g->nz[i] };
  double m = (double)g->mass[i] + h * (double)g->slow[i];
  double d[6] = {
    m + (double)springs[0] + drag * n[0] * n[0], m + (double)springs[1] + drag * n[1] * n[1],
    m + (double)springs[2] + drag * n[2] * n[2], (double)springs[3] + drag * n[0] * n[1],
    (double)springs[4] + drag * n[0] * n[2],     (double)springs[5] + drag * n[1] * n[2]
  };
  double inverse[6], half[6];
  for (int k = 0; k < SWEEP_BLOCK; ++k) {
    half[k] = d[k] - ((double)springs[k] - (double)early[k]);
  }
  if (!sweep_is_free(i, g)) {
    double normal[3] = { (double)g->cx[i], (double)g->cy[i], (double)g->cz[i] };
    double p[6], filled[6], size = d[0] + d[1] + d[2];
    sweep_freedom(g->hold[i], normal, p);
    sweep_sandwich(p, d);
    sweep_sandwich(p, half);
    for (int k = 0; k < 6; ++k) {
      filled[k] = d[k] + size * ((k < 3 ? 1.0 : 0.0) - p[k]);
    }
    sweep_invert(filled, inverse);
    sweep_sandwich(p, inverse);
  } else {
    sweep_invert(d, inverse);
  }
  for (int k = 0; k < SWEEP_BLOCK; ++k) {
    block[k * SWEEP_SLICE] = (kp_real)d[k];
    out[k * SWEEP_SLICE] = (kp_real)inverse[k];
    first[k * SWEEP_SLICE] = (kp_real)half[k];
  }
  double root = sqrt(drag);
  own[0] = (kp_real)m;
  for (int k = 0; k < 3; ++k) {
    own[(k + 1) * SWEEP_SLICE] = (kp_real)(root * n[k]);
  }
}

// Sums over the entries of one side of the rows from i on.
KP_FN void sweep_block_lanes(const sweep_entries *s, int64_t part, int64_t i,
                             kp_lanes sum[SWEEP_BLOCK]) {
  int64_t e = s->start[part] + i % SWEEP_SLICE, end = s->start[part + 1];
  for (; s->block != NULL && e < end; e += SWEEP_SLICE) {
    const kp_real *at = s->block + sweep_at(SWEEP_ELEMENT, e);
#define SWEEP_ITEM(k) KP_LANES_LOAD(at + (k)*SWEEP_SLICE)
    sum[0] += SWEEP_ITEM(0);
    sum[1] += SWEEP_ITEM(4);
    sum[2] += SWEEP_ITEM(8);
    sum[3] += (SWEEP_ITEM(1) + SWEEP_ITEM(3)) / 2;
    sum[4] += (SWEEP_ITEM(2) + SWEEP_ITEM(6)) / 2;
    sum[5] += (SWEEP_ITEM(5) + SWEEP_ITEM(7)) / 2;
  }
  for (; e < end; e += SWEEP_SLICE) {
    const kp_real *at = s->q + sweep_at(SWEEP_SPRING, e);
    kp_lanes x = SWEEP_ITEM(0), y = SWEEP_ITEM(1), z = SWEEP_ITEM(2), turn = SWEEP_ITEM(3);
#undef SWEEP_ITEM
    sum[0] += x * x + turn;
    sum[1] += y * y + turn;
    sum[2] += z * z + turn;
    sum[3] += x * y;
    sum[4] += x * z;
    sum[5] += y * z;
  }
}

// What springs and nodes come to in the rows of a slice.
typedef struct sweep_parts {
  kp_real springs[SWEEP_BLOCK][SWEEP_LANES], early[SWEEP_BLOCK][SWEEP_LANES];
  double mass[SWEEP_LANES], drag[SWEEP_LANES], n[3][SWEEP_LANES];
} sweep_parts;

// sweep_block_of for some rows at once, from `lane` of a slice on, all of them free.
KP_WIDE_FN void sweep_block_free(int64_t i, int lane, const sweep_parts *of,
                                 const sweep_block_args *g) {
  blocks_d m = blocks_d_load(of->mass + lane), drag = blocks_d_load(of->drag + lane);
  blocks_d n[3], d[SWEEP_BLOCK], x[SWEEP_BLOCK];
  for (int c = 0; c < 3; ++c) {
    n[c] = blocks_d_load(of->n[c] + lane);
  }
  const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
  kp_real *block = g->block + sweep_at(SWEEP_BLOCK, i) + lane;
  kp_real *out = g->inverse + sweep_at(SWEEP_BLOCK, i) + lane;
  kp_real *half = g->half + sweep_at(SWEEP_BLOCK, i) + lane;
  for (int k = 0; k < SWEEP_BLOCK; ++k) {
    blocks_d springs = blocks_d_of(of->springs[k] + lane), whole = k < 3 ? m + springs : springs;
    d[k] = whole + drag * n[row[k]] * n[column[k]];
    blocks_d_store(block + k * SWEEP_SLICE, d[k]);
    blocks_d_store(half + k * SWEEP_SLICE, d[k] - (springs - blocks_d_of(of->early[k] + lane)));
  }
  blocks_d xx = d[1] * d[2] - d[5] * d[5], xy = d[4] * d[5] - d[3] * d[2];
  blocks_d xz = d[3] * d[5] - d[1] * d[4], one = 1.0 / (d[0] * xx + d[3] * xy + d[4] * xz);
  x[0] = xx * one;
  x[1] = (d[0] * d[2] - d[4] * d[4]) * one;
  x[2] = (d[0] * d[1] - d[3] * d[3]) * one;
  x[3] = xy * one;
  x[4] = xz * one;
  x[5] = (d[3] * d[4] - d[0] * d[5]) * one;
  for (int k = 0; k < SWEEP_BLOCK; ++k) {
    blocks_d_store(out + k * SWEEP_SLICE, x[k]);
  }
}

// Nodes of the rows from i on; of what is none, numbers that can be divided by.
KP_FN void sweep_block_nodes(int64_t i, const sweep_block_args *g, sweep_parts *of) {
  double h = (double)g->h;
  for (int l = 0; l < SWEEP_LANES; ++l) {
    int64_t node = g->node[i + l];
    bool is_node = node >= 0;
    kp_real *own = g->own + sweep_at(SWEEP_OWN, i + l);
    of->mass[l] = is_node ? (double)g->mass[node] + h * (double)g->slow[node] : 1.0;
    of->drag[l] = is_node ? h * (double)g->drag[node] : 0.0;
    double root = of->drag[l] > 0.0 ? sqrt(of->drag[l]) : 0.0;
    own[0] = is_node ? (kp_real)of->mass[l] : (kp_real)0;
    for (int c = 0; c < 3; ++c) {
      const kp_real *from = c == 0 ? g->nx : c == 1 ? g->ny : g->nz;
      of->n[c][l] = is_node ? (double)from[node] : 0.0;
      own[(c + 1) * SWEEP_SLICE] = (kp_real)(root * of->n[c][l]);
    }
  }
}

KP_FN void sweep_block(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_block_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  const sweep_entries *s = &g->entries;
  kp_lanes zero = { 0 }, sum[SWEEP_BLOCK] = { zero, zero, zero, zero, zero, zero };
  if (g->again && sweep_are_free(i0, i1, g)) {
    return;
  }
  sweep_parts of;
  for (int side = 0; side < 2; ++side) {
    sweep_block_lanes(s, side * s->slices + j, i, sum);
    sweep_add_totals(s, j, i, SWEEP_BOTH, side * SWEEP_BLOCK, SWEEP_BLOCK, sum);
    for (int b = 0; b < SWEEP_BLOCK; ++b) {
      KP_LANES_STORE(side == 0 ? of.early[b] : of.springs[b], sum[b]);
    }
  }
  bool is_whole = i1 - i0 == SWEEP_LANES;
  if (is_whole) {
    sweep_block_nodes(i, g, &of);
    for (int lane = 0; lane < SWEEP_LANES; lane += BLOCKS_D_LANES) {
      sweep_block_free(i, lane, &of, g);
    }
  }
  for (int64_t r = i0; r < i1; ++r) {
    if (is_whole && sweep_is_free(g->node[r], g)) {
      continue;
    }
    kp_real springs[SWEEP_BLOCK], early[SWEEP_BLOCK];
    for (int b = 0; b < SWEEP_BLOCK; ++b) {
      springs[b] = of.springs[b][r - i];
      early[b] = of.early[b][r - i];
    }
    sweep_block_of(r, springs, early, g);
  }
}

// u = D r
typedef struct sweep_weigh_args {
  const kp_real *block, *r;
  kp_real *u;
} sweep_weigh_args;

// y = M v of the rows from i on.
KP_FN void sweep_times(const kp_real *blocks, int64_t i, const kp_lanes v[3], kp_lanes y[3]) {
  const kp_real *b = blocks + sweep_at(SWEEP_BLOCK, i);
  kp_lanes xy = KP_LANES_LOAD(b + 3 * SWEEP_SLICE), xz = KP_LANES_LOAD(b + 4 * SWEEP_SLICE);
  kp_lanes yz = KP_LANES_LOAD(b + 5 * SWEEP_SLICE);
  y[0] = KP_LANES_LOAD(b) * v[0] + xy * v[1] + xz * v[2];
  y[1] = xy * v[0] + KP_LANES_LOAD(b + SWEEP_SLICE) * v[1] + yz * v[2];
  y[2] = xz * v[0] + yz * v[1] + KP_LANES_LOAD(b + 2 * SWEEP_SLICE) * v[2];
}

// A vector's rows from i on.
KP_FN void sweep_get(const kp_real *from, int64_t i, kp_lanes v[3]) {
  const kp_real *at = from + sweep_at(SWEEP_VECTOR, i);
  v[0] = KP_LANES_LOAD(at);
  v[1] = KP_LANES_LOAD(at + SWEEP_SLICE);
  v[2] = KP_LANES_LOAD(at + 2 * SWEEP_SLICE);
}

// ---- from nodes to rows and back

typedef struct sweep_gather_args {
  const int32_t *node;
  deform_in from;
  kp_real *to;
} sweep_gather_args;

KP_FN void sweep_gather(int64_t r, const sweep_gather_args *g) {
  bool is_node = g->node[r] >= 0;
  int64_t at = is_node ? g->node[r] : g->node[0];  // the first row is a node
  kp_real *to = g->to + sweep_at(SWEEP_VECTOR, r);
  to[0] = is_node ? g->from.x[g->from.o + at] : (kp_real)0;
  to[SWEEP_SLICE] = is_node ? g->from.y[g->from.p + at] : (kp_real)0;
  to[2 * SWEEP_SLICE] = is_node ? g->from.z[g->from.q + at] : (kp_real)0;
}

// The same to records.
typedef struct sweep_pack_args {
  const kp_real *from;
  kp_real *to;
} sweep_pack_args;

KP_FN void sweep_pack(int64_t r, const sweep_pack_args *g) {
  const kp_real *from = g->from + sweep_at(SWEEP_VECTOR, r);
  g->to[KP_RECORD * r] = from[0];
  g->to[KP_RECORD * r + 1] = from[SWEEP_SLICE];
  g->to[KP_RECORD * r + 2] = from[2 * SWEEP_SLICE];
  g->to[KP_RECORD * r + 3] = 0;
}

// A field of all nodes to records.
typedef struct sweep_collect_args {
  const int32_t *node;
  const kp_real *x, *y, *z;
  kp_real *to;
} sweep_collect_args;

KP_FN void sweep_collect(int64_t r, const sweep_collect_args *g) {
  bool is_node = g->node[r] >= 0;
  int64_t at = is_node ? g->node[r] : g->node[0];
  g->to[KP_RECORD * r] = is_node ? g->x[at] : (kp_real)0;
  g->to[KP_RECORD * r + 1] = is_node ? g->y[at] : (kp_real)0;
  g->to[KP_RECORD * r + 2] = is_node ? g->z[at] : (kp_real)0;
  g->to[KP_RECORD * r + 3] = 0;
}

// to += from
typedef struct sweep_scatter_args {
  int64_t first;
  const int32_t *row;   // of a node of the group
  const kp_real *from;  // records
  deform_out to;
} sweep_scatter_args;

KP_FN void sweep_scatter(int64_t e, const sweep_scatter_args *g) {
  int64_t i = g->first + e;
  const kp_real *from = g->from + KP_RECORD * (int64_t)g->row[e];
  g->to.x[g->to.o + i] += from[0];
  g->to.y[g->to.p + i] += from[1];
  g->to.z[g->to.q + i] += from[2];
}

// ---- sweeps

// What the entries of one side do at the velocities x of the other rows to the rows from i on.
KP_FN void sweep_sum_lanes(const sweep_entries *g, int64_t part, int64_t i, const kp_real *x,
                           kp_lanes sum[3]) {
  int64_t e = g->start[part] + i % SWEEP_SLICE, end = g->start[part + 1];
  for (; g->block != NULL && e < end; e += SWEEP_SLICE) {
    kp_lanes u[3];
    sweep_others(g, e, x, u);
    sweep_add_block(g->block + sweep_at(SWEEP_ELEMENT, e), u, sum);
  }
  for (; e < end; e += SWEEP_SLICE) {
    kp_lanes u[3];
    sweep_others(g, e, x, u);
    sweep_add_spring(g->q + sweep_at(SWEEP_SPRING, e), u, sum);
  }
}

KP_FN void sweep_sum(const sweep_entries *g, int64_t side, int64_t slice, int64_t i,
                     const kp_real *x, kp_lanes sum[3]) {
  kp_lanes zero = { 0 };
  sum[0] = sum[1] = sum[2] = zero;
  sweep_sum_lanes(g, side * g->slices + slice, i, x, sum);
  sweep_add_totals(g, slice, i, KP_RECORD, 0, 3, sum);
}

// out = D^-1 (x + sum)
KP_FN void sweep_solve(const kp_real *inverse, int64_t i, const kp_real *x, const kp_lanes sum[3],
                       kp_lanes out[3]) {
  kp_lanes v[3];
  sweep_get(x, i, v);
  for (int c = 0; c < 3; ++c) {
    v[c] += sum[c];
  }
  sweep_times(inverse, i, v, out);
}

// Rows i0 ... i1 - 1 of what was found for the rows from i on, to a vector or to records.
KP_FN void sweep_put_items(kp_real *to, int n, int64_t i, int64_t i0, int64_t i1,
                           const kp_lanes *v) {
#ifndef __CUDACC__
  if (i1 - i0 < SWEEP_SLICE) {
    for (int64_t r = i0; r < i1; ++r) {
      for (int c = 0; c < n; ++c) {
        to[sweep_at(n, r) + c * SWEEP_SLICE] = v[c][r - i];
      }
    }
    return;
  }
#endif
  (void)i0;
  (void)i1;
  for (int c = 0; c < n; ++c) {
    KP_LANES_STORE(to + sweep_at(n, i) + c * SWEEP_SLICE, v[c]);
  }
}

KP_FN void sweep_put(kp_real *to, int64_t i, int64_t i0, int64_t i1, const kp_lanes v[3]) {
  sweep_put_items(to, SWEEP_VECTOR, i, i0, i1, v);
}

KP_FN void sweep_put_records(kp_real *to, int64_t i, int64_t i0, int64_t i1, const kp_lanes v[3]) {
#ifndef __CUDACC__
  if (i1 - i0 < SWEEP_SLICE) {
    for (int64_t r = i0; r < i1; ++r) {
      for (int c = 0; c < 3; ++c) {
        to[KP_RECORD * r + c] = v[c][r - i];
      }
      to[KP_RECORD * r + 3] = 0;
    }
    return;
  }
#endif
  (void)i0;
  (void)i1;
  kp_records_store(to + KP_RECORD * i, v);
}

KP_FN void sweep_weigh(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_weigh_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  kp_lanes v[3], u[3];
  sweep_get(g->r, i, v);
  sweep_times(g->block, i, v, u);
  sweep_put(g->u, i, i0, i1, u);
}

// y = A u, by differences of velocities: what moves as a whole feels no spring, to the last bit.
// What nodes are not free to do is left in; the sweeps take it out.
typedef struct sweep_product_args {
  sweep_entries entries;
  const kp_real *own;
  const kp_real *u;  // records
  kp_real *y;
} sweep_product_args;

// y += what entries do to the rows from i on, which move with u as others do with x.
KP_FN void sweep_product_lanes(const sweep_entries *s, int64_t part, int64_t i, const kp_real *x,
                               const kp_lanes u[3], kp_lanes y[3]) {
  int64_t e = s->start[part] + i % SWEEP_SLICE, end = s->start[part + 1];
  for (; e < end; e += SWEEP_SLICE) {
    kp_lanes v[3];
    sweep_others(s, e, x, v);
    kp_lanes d[3] = { u[0] - v[0], u[1] - v[1], u[2] - v[2] };
    if (s->block != NULL) {
      sweep_add_block(s->block + sweep_at(SWEEP_ELEMENT, e), d, y);
    } else {
      sweep_add_spring(s->q + sweep_at(SWEEP_SPRING, e), d, y);
    }
  }
}

// y = what the rows from i on, which move with u, get of themselves and of others that move with x.
KP_FN void sweep_product_rows(const sweep_entries *s, const kp_real *of_rows, int64_t j, int64_t i,
                              const kp_real *x, const kp_lanes u[3], kp_lanes y[3]) {
  const kp_real *own = of_rows + sweep_at(SWEEP_OWN, i);
  kp_lanes m = KP_LANES_LOAD(own), nx = KP_LANES_LOAD(own + SWEEP_SLICE);
  kp_lanes ny = KP_LANES_LOAD(own + 2 * SWEEP_SLICE), nz = KP_LANES_LOAD(own + 3 * SWEEP_SLICE);
  kp_lanes drag = nx * u[0] + ny * u[1] + nz * u[2];
  y[0] = drag * nx;
  y[1] = drag * ny;
  y[2] = drag * nz;
  sweep_product_lanes(s, j, i, x, u, y);
  sweep_product_lanes(s, s->slices + j, i, x, u, y);
  sweep_add_totals(s, j, i, KP_RECORD, 0, 3, y);
  for (int c = 0; c < 3; ++c) {
    y[c] += m * u[c];
  }
}

KP_FN void sweep_product(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const sweep_product_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  kp_lanes u[3], y[3];
  kp_records_load(g->u + KP_RECORD * i, u);
  sweep_product_rows(&g->entries, g->own, j, i, g->u, u, y);
  sweep_put(g->y, i, i0, i1, y);
}

// What springs do to their rows at velocities v: y = sum of f + q (q.dv) + s dv. Elements of four
// nodes add the forces on their corners.
typedef struct sweep_pull_args {
  kp_real h;
  sweep_entries entries;
  const kp_real *f;             // NULL: there are no springs
  const int32_t *corner_start;  // of slices
  const int32_t *corner;        // records of `force`; the last of them is 0
  const kp_real *force;         // NULL: none
  const kp_real *v;             // records
  kp_real *y;
} sweep_pull_args;

// h times the forces on the corners that lie at the rows from i on.
KP_FN void sweep_corners(const sweep_pull_args *g, int64_t slice, int64_t i, kp_lanes y[3]) {
  for (int64_t e = g->corner_start[slice] + i % SWEEP_SLICE; e < g->corner_start[slice + 1];
       e += SWEEP_SLICE) {
    kp_lanes f[3];
    kp_records_gather(g->force, g->corner + e, f);
    for (int c = 0; c < 3; ++c) {
      y[c] += f[c];
    }
  }
  for (int c = 0; c < 3; ++c) {
    y[c] *= g->h;
  }
}

// y += what entries with forces f do to the rows from i on, which move with v as others do with x.
KP_FN void sweep_pull_lanes(const sweep_entries *s, const kp_real *all, int64_t part, int64_t i,
                            const kp_real *x, const kp_lanes v[3], kp_lanes y[3]) {
  int64_t e = s->start[part] + i % SWEEP_SLICE, end = s->start[part + 1];
  for (; e < end; e += SWEEP_SLICE) {
    kp_lanes u[3];
    sweep_others(s, e, x, u);
    kp_lanes d[3] = { u[0] - v[0], u[1] - v[1], u[2] - v[2] };
    if (all != NULL) {
      kp_lanes f[3];
      sweep_get(all, e, f);
      for (int c = 0; c < 3; ++c) {
        y[c] += f[c];
      }
    }
    if (s->block != NULL) {
      sweep_add_block(s->block + sweep_at(SWEEP_ELEMENT, e), d, y);
    } else {
      sweep_add_spring(s->q + sweep_at(SWEEP_SPRING, e), d, y);
    }
  }
}

KP_FN void sweep_pull(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_pull_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  const sweep_entries *s = &g->entries;
  kp_lanes zero = { 0 }, v[3], y[3] = { zero, zero, zero };
  kp_records_load(g->v + KP_RECORD * i, v);
  if (g->force != NULL) {
    sweep_corners(g, j, i, y);
  }
  sweep_pull_lanes(s, g->f, j, i, g->v, v, y);
  sweep_pull_lanes(s, g->f, s->slices + j, i, g->v, v, y);
  sweep_add_totals(s, j, i, KP_RECORD, 0, 3, y);
  sweep_put(g->y, i, i0, i1, y);
}

// deform_push with the springs summed by rows.
typedef struct sweep_push_args {
  int64_t first;
  kp_real h;  // s
  int32_t whole;
  const int32_t *row;      // of a node of the group
  const kp_real *springs;  // a vector of rows, with the step in it
  deform_outer outer;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
  const kp_real *vx, *vy, *vz;
  deform_out b;
} sweep_push_args;

KP_FN void sweep_push(int64_t e, const sweep_push_args *g) {
  int64_t i = g->first + e, r = g->row[e];
  const deform_outer *o = &g->outer;
  kp_real still[3] = { g->vx[i] - o->wx[i], g->vy[i] - o->wy[i], g->vz[i] - o->wz[i] };
  kp_real f[3] = { 0, 0, 0 };
  deform_resist(o, i, still, f);
  const kp_real *springs = g->springs + sweep_at(SWEEP_VECTOR, r);
  f[0] = springs[0] + g->h * (f[0] + o->mass[i] * (o->gx + o->ex[i]));
  f[1] = springs[SWEEP_SLICE] + g->h * (f[1] + o->mass[i] * (o->gy + o->ey[i]));
  f[2] = springs[2 * SWEEP_SLICE] + g->h * (f[2] + o->mass[i] * (o->gz + o->ez[i]));
  if (!g->whole) {
    kp_real n[3] = { g->cx[i], g->cy[i], g->cz[i] };
    deform_free(g->hold[i], n, f);
  }
  g->b.x[g->b.o + i] = f[0];
  g->b.y[g->b.p + i] = f[1];
  g->b.z[g->b.q + i] = f[2];
}

// (D + L^T) t = x, and -S
typedef struct sweep_back_args {
  sweep_entries entries;
  const kp_real *inverse, *x;
  kp_real *t;      // records
  kp_real *minus;  // may be NULL
} sweep_back_args;

KP_FN void sweep_back(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_back_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  kp_lanes sum[3], t[3];
  sweep_sum(&g->entries, 1, j, i, g->t, sum);
  sweep_solve(g->inverse, i, g->x, sum, t);
  sweep_put_records(g->t, i, i0, i1, t);
  if (g->minus != NULL) {
    kp_lanes minus[3] = { -sum[0], -sum[1], -sum[2] };
    sweep_put(g->minus, i, i0, i1, minus);
  }
}

// (D + L) w = x, and y = t + w
typedef struct sweep_forth_args {
  sweep_entries entries;
  const kp_real *inverse, *x;
  const kp_real *t;  // records; NULL: none
  kp_real *w;        // records
  kp_real *y;
} sweep_forth_args;

KP_FN void sweep_forth(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_forth_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  kp_lanes sum[3], w[3], t[3];
  sweep_sum(&g->entries, 0, j, i, g->w, sum);
  sweep_solve(g->inverse, i, g->x, sum, w);
  sweep_put_records(g->w, i, i0, i1, w);
  if (g->t != NULL) {
    kp_records_load(g->t + KP_RECORD * i, t);
    for (int c = 0; c < 3; ++c) {
      w[c] += t[c];
    }
  }
  sweep_put(g->y, i, i0, i1, w);
}

// Entries from the records of their pairs, a slice at a time.
typedef struct sweep_fill_args {
  const int32_t *pair;  // of an entry: its record, counted in records of math/records.h
  const kp_real *sign;  // 1: its first spring begins here; -1: it ends here
  const kp_real *record;
  kp_real *q;  // q and s
  kp_real *f;
} sweep_fill_args;

KP_FN void sweep_fill(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_fill_args *g) {
  (void)k;
  int64_t e = sweep_first(j, i0);
  kp_lanes q[SWEEP_SPRING], f[3], sign = KP_LANES_LOAD(g->sign + e);
  kp_records_gather4(g->record, g->pair + e, q);
  kp_records_gather(g->record + KP_RECORD, g->pair + e, f);
  for (int c = 0; c < 3; ++c) {
    f[c] = sign * f[c];
  }
  sweep_put_items(g->q, SWEEP_SPRING, e, i0, i1, q);
  sweep_put(g->f, e, i0, i1, f);
}

// ---- shares of wide rows

// What is summed by shares: as sweep_sum does of the earlier or the later side, as sweep_product
// and as sweep_pull do.
enum { SWEEP_OF_EARLIER, SWEEP_OF_LATER, SWEEP_OF_PRODUCT, SWEEP_OF_PULL };

typedef struct sweep_share_args {
  int32_t what;
  int64_t rows;  // shares are counted from here
  sweep_entries entries;
  const int32_t *owner;  // of slices of shares: the row
  const kp_real *x;      // records of rows
  const kp_real *f;      // of a pull; NULL: none
  kp_real *share;        // records
} sweep_share_args;

KP_FN void sweep_share(int64_t j, int64_t k, int64_t i0, int64_t i1, const sweep_share_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  const sweep_entries *s = &g->entries;
  kp_lanes zero = { 0 }, y[3] = { zero, zero, zero };
  if (g->what == SWEEP_OF_EARLIER || g->what == SWEEP_OF_LATER) {
    sweep_sum_lanes(s, g->what * s->slices + j, i, g->x, y);
  } else {
    const kp_real *own = g->x + KP_RECORD * (int64_t)g->owner[j - g->rows / SWEEP_SLICE];
    kp_lanes u[3] = { zero + own[0], zero + own[1], zero + own[2] };
    for (int side = 0; side < 2; ++side) {
      if (g->what == SWEEP_OF_PRODUCT) {
        sweep_product_lanes(s, side * s->slices + j, i, g->x, u, y);
      } else {
        sweep_pull_lanes(s, g->f, side * s->slices + j, i, g->x, u, y);
      }
    }
  }
  sweep_put_records(g->share, i - g->rows, i0 - g->rows, i1 - g->rows, y);
}

// As sweep_block sums: of earlier colours, then of later ones.
typedef struct sweep_share_block_args {
  int64_t rows;
  sweep_entries entries;
  kp_real *share;  // SWEEP_BOTH numbers each
} sweep_share_block_args;

KP_FN void sweep_share_block(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const sweep_share_block_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  const sweep_entries *s = &g->entries;
  kp_real parts[SWEEP_BLOCK][SWEEP_LANES];
  for (int side = 0; side < 2; ++side) {
    kp_lanes zero = { 0 }, sum[SWEEP_BLOCK] = { zero, zero, zero, zero, zero, zero };
    sweep_block_lanes(s, side * s->slices + j, i, sum);
    for (int b = 0; b < SWEEP_BLOCK; ++b) {
      KP_LANES_STORE(parts[b], sum[b]);
    }
    for (int64_t r = i0; r < i1; ++r) {
      for (int b = 0; b < SWEEP_BLOCK; ++b) {
        g->share[SWEEP_BOTH * (r - g->rows) + side * SWEEP_BLOCK + b] = parts[b][r - i];
      }
    }
  }
}

// Totals of shares start[k] ... start[k + 1] - 1.
typedef struct sweep_fold_args {
  int64_t first;
  int32_t items, used;  // numbers of a share, and how many of them count
  const int32_t *start;
  const kp_real *share;
  kp_real *total;
} sweep_fold_args;

KP_FN void sweep_fold(int64_t n, const sweep_fold_args *g) {
  int64_t k = g->first + n;
  for (int32_t c = 0; c < g->used; ++c) {
    kp_real sum = 0;
    for (int64_t e = g->start[k]; e < g->start[k + 1]; ++e) {
      sum += g->share[g->items * e + c];
    }
    g->total[g->items * k + c] = sum;
  }
}

#define DEFORM_SWEEP_KERNELS(POINT, REDUCE, ROW, PAIR)                                             \
  POINT(sweep, ready)                                                                              \
  ROW(sweep, fill)                                                                                 \
  POINT(sweep, join)                                                                               \
  ROW(blocks, solid)                                                                               \
  POINT(blocks, axis)                                                                              \
  POINT(blocks, membrane)                                                                          \
  ROW(sweep, block)                                                                                \
  ROW(sweep, share)                                                                                \
  ROW(sweep, share_block)                                                                          \
  POINT(sweep, fold)                                                                               \
  ROW(sweep, weigh)                                                                                \
  POINT(sweep, gather)                                                                             \
  POINT(sweep, scatter)                                                                            \
  POINT(sweep, pack)                                                                               \
  POINT(sweep, collect)                                                                            \
  ROW(sweep, pull)                                                                                 \
  POINT(sweep, push)                                                                               \
  ROW(sweep, product)                                                                              \
  ROW(sweep, back)                                                                                 \
  ROW(sweep, forth)
