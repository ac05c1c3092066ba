// The narrow band of FLIP (after Ferstl, Ando, Wojtan, Westermann & Thuerey 2016): particles only
// near the surface, below it the grid itself is the liquid.
//
// The depth of a cell is the number of cells to the nearest air, 1 beside it, along axes and
// diagonals. Where it was after the motion of a step is found by tracing back; cells deeper than
// the band are full by right and hold no particles. Those beside them are full by right too, since
// what flows out of deep cells has no particles; they hold some. Cells that have lost theirs to the
// motion get new ones. What all this makes or takes of liquid is owed and evened out.
#pragma once

#include "methods/flip/flip_kernels.h"

#define FLIP_BAND_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  ROW(flip_band, deep)                                                                             \
  ROW(flip_band, count)                                                                            \
  ROW(flip_band, seed)                                                                             \
  ROW(flip_band, fill)                                                                             \
  ROW(flip_band, start)                                                                            \
  ROW(flip_band, deepen)                                                                           \
  ROW(flip_band, speed)                                                                            \
  ROW(flip_band, calm)                                                                             \
  ROW(flip_band, trace)                                                                            \
  ROW(flip_band, carry)                                                                            \
  REDUCE(flip_band, held, FLIP_BAND_HELD_OPS)                                                      \
  REDUCE(flip_band, sums, FLIP_BAND_SUMS_OPS)

// ---- what the grid holds ------------------------------------------------------------------------

// The open share of deep cells, 0 of all others.
typedef struct flip_band_deep_args {
  kp_mac_view grid;
  kp_real least;  // cells: what is deeper is deep
  const kp_real *depth, *open;
  const uint8_t *flags;
  kp_real *deep;
} flip_band_deep_args;

KP_FN void flip_band_deep(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const flip_band_deep_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  for (int64_t at = kp_mac_at(&a->grid, i0, j, k); at < end; ++at) {
    int is_deep = a->depth[at] >= a->least && (a->flags[at] & KP_CELL_KIND) != KP_CELL_SOLID;
    a->deep[at] = is_deep ? a->open[at] : (kp_real)0;
  }
}

// Of what the grid holds, and of the band below the surface [cells].
typedef struct flip_band_held_args {
  int64_t first;
  kp_mac_view grid;
  kp_real per_cell;
  kp_real full;            // cells: what is deeper is full by right
  const uint32_t *start;   // particles there are
  const uint32_t *counts;  // and those to come
  const kp_real *lack, *deep, *depth, *open;
} flip_band_held_args;

#define FLIP_BAND_HELD_OPS KP_REDUCE_SUM, KP_REDUCE_SUM

KP_FN int flip_band_is_in(const kp_mac_view *g, int64_t at, int64_t cell[3]) {
  kp_mac_cell_of(g, at, cell);
  int is_in = 1;
  for (int c = 0; c < 3; ++c) {
    is_in = is_in && cell[c] >= 0 && cell[c] < g->n[c];
  }
  return is_in;
}

// What a cell lacks of particles when those to come have come: what the grid holds of it.
KP_FN double flip_band_rest(const kp_real *lack, const uint32_t *counts, kp_real per_cell,
                            int64_t at) {
  return (double)lack[at] - (double)counts[at] / (double)per_cell;
}

// What a cell that is full by right holds too much [cells]: it stands for nothing.
KP_FN double flip_band_surplus(const uint32_t *start, kp_real open, kp_real per_cell, int64_t at) {
  double surplus = (double)(start[at + 1] - start[at]) / (double)per_cell - (double)open;
  return surplus > 0.0 ? surplus : 0.0;
}

KP_FN void flip_band_held(int64_t n, const flip_band_held_args *a, double *v) {
  int64_t at = a->first + n;
  int64_t cell[3];
  v[0] = v[1] = 0.0;
  // most are air, and where a cell lies costs divisions
  if (a->lack[at] == 0 && !(a->depth[at] >= (kp_real)FLIP_INSIDE)) {
    return;
  }
  int is_in = flip_band_is_in(&a->grid, at, cell);
  int is_inside = is_in && a->deep[at] == 0 && a->depth[at] >= (kp_real)FLIP_INSIDE;
  v[0] = is_in ? flip_band_rest(a->lack, a->counts, a->per_cell, at) : 0.0;
  if (is_inside && a->depth[at] >= a->full) {
    v[0] -= flip_band_surplus(a->start, a->open[at], a->per_cell, at);
  }
  v[1] = is_inside ? (double)a->open[at] : 0.0;
}

// ---- particles that come ------------------------------------------------------------------------

// What a cell below the surface gets: all it misses when it has lost half of its particles, and one
// more now and then while liquid is owed. Beside the deep liquid all it misses at once: what flows
// out of deep cells brings no particles, and the volume correction would take what the next cells
// miss then from the surface, against the flow.
typedef struct flip_band_grow {
  uint64_t seed, round;
  kp_real per_cell;  // particles of a full one
  double share;      // of the cells that get one more
} flip_band_grow;

KP_FN int32_t flip_band_misses(const flip_band_grow *grow, kp_real open, kp_real count, int64_t at,
                               int is_full) {
  kp_real whole = grow->per_cell * open;
  int32_t n = 0;
  if (count < (is_full ? whole : (kp_real)0.5 * whole)) {
    n = (int32_t)(whole - count + (kp_real)0.5);
  }
  uint64_t item = (uint64_t)at;
  if (grow->share > 0.0 && count + (kp_real)n < whole &&
      kp_rng_uniform(grow->seed, KP_RNG_FLIP, item, grow->round) < grow->share * (double)open) {
    ++n;
  }
  return n;
}

typedef struct flip_band_count_args {
  kp_mac_view grid;
  flip_band_grow grow;
  kp_real full;  // cells: what is deeper is full by right
  const uint32_t *start;
  const kp_real *deep, *depth, *open;
  const uint8_t *flags;
  uint32_t *counts;
  kp_real *lack;  // cells: of particles, with what is to come
} flip_band_count_args;

KP_FN void flip_band_count(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const flip_band_count_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  for (int64_t at = kp_mac_at(&a->grid, i0, j, k); at < end; ++at) {
    uint32_t n = 0;
    kp_real lack = a->deep[at];
    if (lack == 0 && a->depth[at] >= (kp_real)FLIP_INSIDE &&
        (a->flags[at] & KP_CELL_KIND) != KP_CELL_SOLID) {
      kp_real count = (kp_real)(a->start[at + 1] - a->start[at]);
      n = (uint32_t)flip_band_misses(&a->grow, a->open[at], count, at, a->depth[at] >= a->full);
      lack = (kp_real)n / a->grow.per_cell;
      kp_real rest = a->open[at] - count / a->grow.per_cell;
      lack = a->depth[at] >= a->full && rest > lack ? rest : lack;
    }
    a->counts[at] = n;
    a->lack[at] = lack;
  }
}

// Each goes to a random place in that quarter (eighth in 3D) of the cell that holds fewest, with
// the velocity that was gathered. Anywhere in the cell, they made its fill rough, which the
// correction of the volume turns into motion.
typedef struct flip_band_seed_args {
  kp_mac_view grid;
  flip_band_grow grow;
  int64_t old;  // particles before
  uint64_t next_id;
  const uint32_t *counts, *places;
  kp_mac_velocity velocity;
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  uint64_t *id;
  const uint32_t *start;
  const kp_real *fx, *fy, *fz;  // places of the old ones in their cells
  const kp_real *deep, *depth, *open;
  kp_real full;
  kp_real *lack;  // becomes what the grid holds, less what is too much
} flip_band_seed_args;

#define FLIP_BAND_PARTS 8

// The part of a cell, by halves along the axes, that a place lies in.
KP_FN int flip_band_part(const kp_mac_view *g, kp_real x, kp_real y, kp_real z) {
  const kp_real half = (kp_real)0.5;
  return (x < half ? 0 : 1) + (y < half ? 0 : 2) + (g->dimension == 2 || z < half ? 0 : 4);
}

KP_FN void flip_band_look(const flip_band_seed_args *a, int64_t at, int32_t held[FLIP_BAND_PARTS]) {
  for (int q = 0; q < FLIP_BAND_PARTS; ++q) {
    held[q] = 0;
  }
  for (uint32_t p = a->start[at]; p < a->start[at + 1]; ++p) {
    ++held[flip_band_part(&a->grid, a->fx[p], a->fy[p], a->fz[p])];
  }
}

// The part that holds fewest, the first of them from a random one on.
KP_FN int flip_band_emptiest(const kp_mac_view *g, const int32_t held[FLIP_BAND_PARTS],
                             double chance) {
  int n_parts = g->dimension == 2 ? 4 : 8;
  int first = (int)(chance * n_parts);
  int best = first;
  for (int q = 1; q < n_parts; ++q) {
    int part = (first + q) & (n_parts - 1);
    best = held[part] < held[best] ? part : best;
  }
  return best;
}

KP_FN void flip_band_seed(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const flip_band_seed_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    const int32_t item[3] = { (int32_t)i, (int32_t)j, (int32_t)k };
    if (a->deep[at] == 0 && a->depth[at] >= a->full) {
      a->lack[at] -= (kp_real)flip_band_surplus(a->start, a->open[at], a->grow.per_cell, at);
    }
    int32_t held[FLIP_BAND_PARTS];
    if (a->counts[at] > 0) {
      flip_band_look(a, at, held);
    }
    for (uint32_t n = 0; n < a->counts[at]; ++n) {
      int64_t place = (int64_t)a->places[at] + n;
      int64_t p = a->old + place;
      uint64_t id = a->next_id + (uint64_t)place;
      double x[3] = { 0.0, 0.0, 0.0 };
      kp_real f[3] = { 0, 0, (kp_real)0.5 };
      kp_real v[3];
      int part = flip_band_emptiest(
          g, held, kp_rng_uniform(a->grow.seed, KP_RNG_FLIP, id, a->grow.round + 4));
      ++held[part];
      for (int c = 0; c < g->dimension; ++c) {
        double u = kp_rng_uniform(a->grow.seed, KP_RNG_FLIP, id, a->grow.round + (uint64_t)c + 1);
        f[c] = (kp_real)(0.5 * ((double)(part >> c & 1) + u));
        x[c] = g->lo[c] + g->cell * ((double)item[c] + (double)f[c]);
      }
      flip_read(g, a->velocity, item, f, v);
      a->x[p] = x[0];
      a->y[p] = x[1];
      a->z[p] = x[2];
      a->vx[p] = v[0];
      a->vy[p] = v[1];
      a->vz[p] = v[2];
      a->id[p] = id;
    }
  }
}

// What tents around the centres see of it; cells that lack particles count as holding them.
typedef struct flip_band_fill_args {
  kp_mac_view grid;
  kp_real per_cell;
  const kp_real *lack;  // ghosts filled: 0 behind walls
  kp_real *fill, *count;
} flip_band_fill_args;

KP_FN void flip_band_fill(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const flip_band_fill_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t end = kp_mac_at(g, i1, j, k);
  KP_INDEPENDENT
  for (int64_t at = kp_mac_at(g, i0, j, k); at < end; ++at) {
    a->fill[at] += flip_tent_mean(g, a->lack, at);
    a->count[at] += a->per_cell * a->lack[at];
  }
}

// ---- depth --------------------------------------------------------------------------------------

// 1 in liquid, 0 in air; solids are as deep as can be, so that they do not count.
typedef struct flip_band_start_args {
  kp_mac_view grid;
  kp_real most;
  const uint8_t *flags;
  kp_real *depth;
} flip_band_start_args;

KP_FN void flip_band_start(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const flip_band_start_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  for (int64_t at = kp_mac_at(&a->grid, i0, j, k); at < end; ++at) {
    int kind = a->flags[at] & KP_CELL_KIND;
    a->depth[at] =
        kind == KP_CELL_SOLID ? a->most : (kind == KP_CELL_FLUID ? (kp_real)1 : (kp_real)0);
  }
}

// One more than the least of the cells around.
typedef struct flip_band_deepen_args {
  kp_mac_view grid;
  kp_real most;
  const kp_real *in;  // ghosts filled
  kp_real *out;
} flip_band_deepen_args;

KP_FN kp_real flip_band_least(const kp_real *v, int64_t at) {
  kp_real a = v[at - 1] < v[at] ? v[at - 1] : v[at];
  return a < v[at + 1] ? a : v[at + 1];
}

KP_FN kp_real flip_band_least_layer(const kp_real *v, int64_t at, int64_t row) {
  kp_real a = flip_band_least(v, at);
  kp_real b = flip_band_least(v, at - row);
  kp_real c = flip_band_least(v, at + row);
  a = b < a ? b : a;
  return c < a ? c : a;
}

KP_FN void flip_band_deepen(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const flip_band_deepen_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t end = kp_mac_at(g, i1, j, k);
  int64_t slab = g->dimension == 3 ? g->slab : 0;
  KP_INDEPENDENT
  for (int64_t at = kp_mac_at(g, i0, j, k); at < end; ++at) {
    kp_real least = flip_band_least_layer(a->in, at, g->row);
    kp_real below = flip_band_least_layer(a->in, at - slab, g->row);
    kp_real above = flip_band_least_layer(a->in, at + slab, g->row);
    least = below < least ? below : least;
    least = above < least ? above : least;
    kp_real own = a->in[at];
    kp_real next = least + 1 < a->most ? least + 1 : a->most;
    a->out[at] = own == 0 || own == a->most ? own : next;
  }
}

// ---- where no liquid comes ----------------------------------------------------------------------

// Most cells of a box that is not full are air far from any liquid, and what is traced back from
// them ends in air. This is known of whole blocks of cells: where nothing within r + 1 blocks is
// liquid or faster than r blocks in a step, a way stays within r blocks and reads air alone.
#define FLIP_BLOCK 4           // cells along each axis
#define FLIP_BLOCK_ROUNDS 6    // the largest r
#define FLIP_BLOCK_LINE 16     // blocks of a row at a time
#define FLIP_BLOCK_LIQUID 1e9  // cells: liquid is faster than all

// Blocks of a grid, and one more on every side, which are 0.
typedef struct flip_blocks {
  int32_t n[3], row, slab;
} flip_blocks;

KP_FN flip_blocks flip_blocks_of(const kp_mac_view *g) {
  flip_blocks b;
  for (int c = 0; c < 3; ++c) {
    b.n[c] = (g->n[c] + FLIP_BLOCK - 1) / FLIP_BLOCK;
  }
  b.row = b.n[0] + 2;
  b.slab = b.row * (b.n[1] + 2);
  return b;
}

KP_FN int64_t flip_blocks_at(const flip_blocks *b, int64_t i, int64_t j, int64_t k) {
  return (i + 1) + (j + 1) * b->row + (k + 1) * b->slab;
}

// The cells of a block along an axis; faces of the upper side belong to the last one.
KP_FN int64_t flip_blocks_end(const kp_mac_view *g, int axis, int64_t block) {
  int64_t end = (block + 1) * FLIP_BLOCK;
  return end < g->n[axis] ? end : g->n[axis] + 1;
}

// Cells that the fastest face of each block goes in a step, with the shift.
typedef struct flip_band_speed_args {
  kp_mac_view grid;
  kp_real scale;         // cells per m/s
  kp_real shift;         // cells: the most that goes before
  const kp_real *depth;  // 0 in air; ghosts filled
  kp_mac_velocity velocity;
  kp_real *speed;
} flip_band_speed_args;

KP_FN kp_real flip_band_more(kp_real most, kp_real v) {
  kp_real size = v < 0 ? -v : v;
  return size > most ? size : most;
}

// The most of n cells of one row.
KP_FN void flip_band_look_along(const flip_band_speed_args *a, int64_t first, int64_t n,
                                kp_real *line) {
  KP_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    kp_real most = flip_band_more(line[i], a->velocity.u[first + i]);
    most = flip_band_more(most, a->velocity.v[first + i]);
    most = flip_band_more(most, a->velocity.w[first + i]);
    line[i] = a->depth[first + i] > 0 ? (kp_real)FLIP_BLOCK_LIQUID : most;
  }
}

KP_FN void flip_band_speed(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const flip_band_speed_args *a) {
  const kp_mac_view *g = &a->grid;
  flip_blocks b = flip_blocks_of(g);
  for (int64_t from = i0; from < i1; from += FLIP_BLOCK_LINE) {
    int64_t end = from + FLIP_BLOCK_LINE < i1 ? from + FLIP_BLOCK_LINE : i1;
    int64_t first = from * FLIP_BLOCK;
    int64_t n = flip_blocks_end(g, 0, end - 1) - first;
    kp_real line[FLIP_BLOCK_LINE * FLIP_BLOCK + 1];
    for (int64_t i = 0; i < n; ++i) {
      line[i] = 0;
    }
    for (int64_t z = k * FLIP_BLOCK; z < flip_blocks_end(g, 2, k); ++z) {
      for (int64_t y = j * FLIP_BLOCK; y < flip_blocks_end(g, 1, j); ++y) {
        flip_band_look_along(a, kp_mac_at(g, first, y, z), n, line);
      }
    }
    for (int64_t block = from; block < end; ++block) {
      kp_real most = 0;
      for (int64_t x = block * FLIP_BLOCK; x < flip_blocks_end(g, 0, block); ++x) {
        most = line[x - first] > most ? line[x - first] : most;
      }
      a->speed[flip_blocks_at(&b, block, j, k)] = a->scale * most + a->shift;
    }
  }
}

// The most of the blocks around, and whether that is slow enough.
typedef struct flip_band_calm_args {
  flip_blocks blocks;
  kp_real most;       // cells
  const kp_real *in;  // cells
  kp_real *out;
  kp_real *calm;  // 1: no liquid comes here
} flip_band_calm_args;

KP_FN kp_real flip_band_fastest(const kp_real *v, int64_t at) {
  kp_real most = v[at - 1] > v[at] ? v[at - 1] : v[at];
  return v[at + 1] > most ? v[at + 1] : most;
}

KP_FN void flip_band_calm(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const flip_band_calm_args *a) {
  const flip_blocks *b = &a->blocks;
  int64_t row = b->row;
  int64_t slab = b->slab;
  int64_t end = flip_blocks_at(b, i1, j, k);
  KP_INDEPENDENT
  for (int64_t at = flip_blocks_at(b, i0, j, k); at < end; ++at) {
    kp_real most = 0;
    for (int z = -1; z < 2; ++z) {
      for (int y = -1; y < 2; ++y) {
        kp_real one = flip_band_fastest(a->in, at + y * row + z * slab);
        most = one > most ? one : most;
      }
    }
    a->out[at] = most;
    a->calm[at] = most <= a->most ? (kp_real)1 : a->calm[at];
  }
}

// Where a cell was before the step, how deep was that?
typedef struct flip_band_trace_args {
  flip_carry_args carry;  // its grid, velocity, shift and trace; dt is negative
  int32_t has_lanes;      // the trace is the midpoint rule
  const kp_real *in;      // ghosts filled
  const uint8_t *flags;
  kp_real *out;
  kp_real *way[3];      // cells, from the cell to where it was
  const kp_real *calm;  // of the blocks: 1 where all around stays air; NULL: nobody knows
} flip_band_trace_args;

KP_FN void flip_band_trace_store(const flip_band_trace_args *a, int64_t at, kp_real depth,
                                 const kp_real way[3]) {
  a->out[at] = (a->flags[at] & KP_CELL_KIND) == KP_CELL_SOLID ? (kp_real)0 : depth;
  for (int c = 0; c < 3; ++c) {
    a->way[c][at] = way[c];
  }
}

// Velocity at the middle of a cell, to the bit what reading between faces gives there: the first
// stretch of a way begins with it, whichever loop takes it.
KP_FN void flip_band_velocity(const kp_mac_view *g, kp_mac_velocity f, int64_t at, kp_real out[3]) {
  const kp_real half = (kp_real)0.5;
  out[0] = kp_mac_lerp(f.u[at], f.u[at + 1], half);
  out[1] = kp_mac_lerp(f.v[at], f.v[at + g->row], half);
  out[2] = g->dimension == 2 ? (kp_real)0 : kp_mac_lerp(f.w[at], f.w[at + g->slab], half);
}

// Before what is there now went its way it was shifted [cells]: as much as at the cell, since the
// shift is a small part of a cell and smooth.
KP_FN void flip_band_unshift(const kp_mac_view *g, const flip_carry_args *a, int64_t at,
                             kp_real way[3]) {
  kp_real shift[3];
  flip_band_velocity(g, a->shift, at, shift);
  way[0] -= a->per_shift * shift[0];
  way[1] -= a->per_shift * shift[1];
  way[2] -= a->per_shift * shift[2];
}

// In stretches, as particles go that must look again on their way.
KP_MAC_READER void flip_band_trace_cell(const int32_t item[3], const kp_mac_view *g,
                                        const flip_band_trace_args *a) {
  const kp_real half = (kp_real)0.5;
  int64_t at = kp_mac_at(g, item[0], item[1], item[2]);
  const kp_real f[3] = { half, half, half };
  kp_real start[3];
  kp_real way[3] = { 0, 0, 0 };
  kp_real depth = a->in[at];
  flip_band_velocity(g, a->carry.velocity, at, start);
  // air that no velocity was spread to stays where it is
  if (start[0] != 0 || start[1] != 0 || start[2] != 0) {
    flip_way(g, &a->carry, item, f, start, way);
    flip_band_unshift(g, &a->carry, at, way);
    depth = kp_mac_linear(g, a->in,
                          kp_mac_move(g, 3, item[0], item[1], item[2], way[0], way[1], way[2]));
  }
  flip_band_trace_store(a, at, depth, way);
}

// Cells of a row, side by side.
typedef struct flip_band_cells {
  kp_mac_items item;
  kp_mac_vectors k1, k2;
  kp_mac_vectors way;           // cells
  kp_real first[KP_MAC_GROUP];  // minus the cells of the first stretch; 0: the way is done in one
  kp_real depth[KP_MAC_GROUP];
} flip_band_cells;

// The midpoint rule once, from the n cells at i0.
KP_FN void flip_band_trace_near(flip_band_cells *s, int64_t i0, int64_t j, int64_t k, int n,
                                const flip_carry_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_real half = (kp_real)0.5;
  const kp_real left = (kp_real)a->dt * g->inverse_h;
  const kp_mac_velocity velocity = a->velocity;
  int64_t first = kp_mac_at(g, i0, j, k);
  kp_mac_vectors mid;
  kp_mac_spots spots;
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    kp_real v[3];
    flip_band_velocity(g, velocity, first + i, v);
    for (int c = 0; c < 3; ++c) {
      s->k1.c[c][i] = v[c];
      mid.c[c][i] = half + half * left * v[c];
    }
  }
  for (int i = 0; i < kp_mac_n_lanes(n); ++i) {
    s->item.c[0][i] = (int32_t)(i < n ? i0 + i : i0);
    s->item.c[1][i] = (int32_t)j;
    s->item.c[2][i] = (int32_t)k;
  }
  for (int c = 0; c < 3; ++c) {
    for (int i = n; i < kp_mac_n_lanes(n); ++i) {
      mid.c[c][i] = s->way.c[c][i] = 0;
    }
  }
  kp_mac_lanes_near(g, kp_mac_n_lanes(n), &s->item, &mid, &spots);
  kp_mac_lanes_velocity(g, velocity, kp_mac_n_lanes(n), &spots, &s->k2);
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    const kp_real v[3] = { s->k1.c[0][i], s->k1.c[1][i], s->k1.c[2][i] };
    const kp_real to[3] = { s->k2.c[0][i], s->k2.c[1][i], s->k2.c[2][i] };
    const kp_real bend[3] = { to[0] - v[0], to[1] - v[1], to[2] - v[2] };
    kp_real fastest = flip_largest(v);
    kp_real reach = flip_reach(-left * fastest, -left * flip_largest(bend));
    s->first[i] = flip_is_far(-left, fastest, flip_largest(bend)) ? -reach : (kp_real)0;
    for (int c = 0; c < 3; ++c) {
      s->way.c[c][i] = left * to[c];
    }
  }
}

// Where that is too long, in stretches.
KP_FN void flip_band_trace_far(flip_band_cells *s, int n, const flip_carry_args *a) {
  const kp_real half = (kp_real)0.5;
  const kp_real middle[3] = { half, half, half };
  const kp_real none[3] = { 0, 0, 0 };
  flip_walkers w;
  int n_far = 0;
  for (int i = 0; i < n; ++i) {
    if (s->first[i] < 0) {
      const int32_t item[3] = { s->item.c[0][i], s->item.c[1][i], s->item.c[2][i] };
      flip_walkers_add(&w, n_far++, i, item, middle, none, s->first[i]);
    }
  }
  if (n_far == 0) {
    return;
  }
  flip_walk(&w, n_far, &a->grid, a);
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < n; ++i) {
      s->way.c[c][i] = s->first[i] < 0 ? w.way.c[c][i] : s->way.c[c][i];
    }
  }
}

// What they find there.
KP_FN void flip_band_trace_group(int64_t i0, int64_t j, int64_t k, int n,
                                 const flip_band_trace_args *a) {
  const kp_mac_view *g = &a->carry.grid;
  int64_t first = kp_mac_at(g, i0, j, k);
  flip_band_cells s;
  kp_mac_places places;
  flip_band_trace_near(&s, i0, j, k, n, &a->carry);
  flip_band_trace_far(&s, n, &a->carry);
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    kp_real way[3] = { s.way.c[0][i], s.way.c[1][i], s.way.c[2][i] };
    flip_band_unshift(g, &a->carry, first + i, way);
    for (int c = 0; c < 3; ++c) {
      s.way.c[c][i] = way[c];
      a->way[c][first + i] = way[c];
    }
  }
  kp_mac_lanes_move(g, KP_MAC_CELL, kp_mac_n_lanes(n), &s.item, &s.way, &places);
  kp_mac_lanes_at(g, a->in, kp_mac_n_lanes(n), &places, s.depth);
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    int is_solid = (a->flags[first + i] & KP_CELL_KIND) == KP_CELL_SOLID;
    a->out[first + i] = is_solid ? (kp_real)0 : s.depth[i];
  }
}

// Cells that stay air.
KP_FN void flip_band_trace_air(int64_t first, int64_t n, const flip_band_trace_args *a) {
  for (int64_t i = 0; i < n; ++i) {
    a->out[first + i] = 0;
    a->way[0][first + i] = 0;
    a->way[1][first + i] = 0;
    a->way[2][first + i] = 0;
  }
}

KP_FN void flip_band_trace_groups(int64_t j, int64_t k, int64_t i0, int64_t i1,
                                  const flip_band_trace_args *args) {
  flip_band_trace_args a = *args;
  a.carry.grid = flip_plain_view(&args->carry.grid);
  const kp_mac_view *g = &a.carry.grid;
  flip_blocks b = flip_blocks_of(g);
  const kp_real *calm = a.calm;
  calm += calm != NULL ? flip_blocks_at(&b, 0, j / FLIP_BLOCK, k / FLIP_BLOCK) : 0;
  for (int64_t i = i0; i < i1;) {
    int is_calm = calm != NULL && calm[i / FLIP_BLOCK] > 0;
    int64_t end = i + 1;
    while (end < i1 && (calm != NULL && calm[end / FLIP_BLOCK] > 0) == is_calm) {
      ++end;
    }
    if (is_calm) {
      flip_band_trace_air(kp_mac_at(g, i, j, k), end - i, &a);
    }
    for (; i < end && !is_calm; i += KP_MAC_GROUP) {
      flip_band_trace_group(i, j, k, (int)(end - i < KP_MAC_GROUP ? end - i : KP_MAC_GROUP), &a);
    }
    i = end;
  }
}

KP_FN void flip_band_trace(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const flip_band_trace_args *a) {
  if (a->has_lanes && a->carry.grid.dimension == 3 && a->carry.grid.occluded == NULL) {
    flip_band_trace_groups(j, k, i0, i1, a);
    return;
  }
  for (int64_t i = i0; i < i1; ++i) {
    const int32_t item[3] = { (int32_t)i, (int32_t)j, (int32_t)k };
    flip_band_trace_cell(item, &a->carry.grid, a);
  }
}

// The velocity of the faces of cells below the surface from where they were; no others are asked. A
// face has gone the mean way of the cells beside it.
typedef struct flip_band_carry_args {
  kp_mac_view grid;
  int32_t axis;
  const kp_real *depth;   // cells, after the step
  const kp_real *way[3];  // images filled
  const kp_real *values;  // ghosts filled
  kp_real *out;
} flip_band_carry_args;

KP_FN int flip_band_is_inside(const flip_band_carry_args *a, int64_t at, int64_t back) {
  return a->depth[at] >= (kp_real)FLIP_INSIDE || a->depth[at - back] >= (kp_real)FLIP_INSIDE;
}

// A run of faces from item (i, j, k), n of them; the cells beside them lie `low` and `high` items
// further.
KP_MAC_READER void flip_band_carry_run(const int32_t first[3], int64_t n, const int64_t beside[2],
                                       const kp_mac_view *view, const flip_band_carry_args *args) {
  const flip_band_carry_args copy = *args;
  const flip_band_carry_args *a = &copy;
  kp_mac_view seen = *view;
  const kp_mac_view *g = &seen;
  int64_t back = kp_mac_stride(g, a->axis);
  int64_t start = kp_mac_at(g, first[0], first[1], first[2]);
  int64_t low = start + beside[0];
  int64_t high = start + beside[1];
  KP_INDEPENDENT
  for (int32_t i = 0; i < (int32_t)n; ++i) {
    const kp_real half = (kp_real)0.5;
    kp_real x = half * (a->way[0][low + i] + a->way[0][high + i]);
    kp_real y = half * (a->way[1][low + i] + a->way[1][high + i]);
    kp_real z = half * (a->way[2][low + i] + a->way[2][high + i]);
    kp_real value = kp_mac_linear(
        g, a->values, kp_mac_move(g, a->axis, first[0] + i, first[1], first[2], x, y, z));
    int is_inside = (a->depth[start + i] >= (kp_real)FLIP_INSIDE) |
                    (a->depth[start + i - back] >= (kp_real)FLIP_INSIDE);
    a->out[start + i] = is_inside ? value : (kp_real)0;
  }
}

// The part of a run where something is below the surface, and 0 around it.
KP_FN void flip_band_carry_trim(const flip_band_carry_args *a, int64_t row, int64_t run[2]) {
  int64_t back = kp_mac_stride(&a->grid, a->axis);
  while (run[0] < run[1] && !flip_band_is_inside(a, row + run[0], back)) {
    a->out[row + run[0]++] = 0;
  }
  while (run[0] < run[1] && !flip_band_is_inside(a, row + run[1] - 1, back)) {
    a->out[row + --run[1]] = 0;
  }
}

KP_FN void flip_band_carry(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const flip_band_carry_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t back = kp_mac_stride(g, a->axis);
  int is_closed = !g->is_periodic[a->axis];
  int64_t run[2] = { i0, i1 };
  flip_band_carry_trim(a, kp_mac_at(g, 0, j, k), run);
  // along x the first face, those between cells, and the last are runs of their own
  int64_t last = g->n[a->axis];
  while (run[0] < run[1]) {
    int64_t along = a->axis == 0 ? run[0] : (a->axis == 1 ? j : k);
    int is_first = is_closed && along == 0;
    int is_last = is_closed && along == last;
    int64_t end = run[1];
    if (a->axis == 0 && is_closed && is_first) {
      end = run[0] + 1;
    } else if (a->axis == 0 && is_closed && !is_last && end > last) {
      end = last;
    }
    // no cell is beyond a wall: its face goes with the one there is
    const int64_t beside[2] = { is_first ? 0 : -back, is_last ? -back : 0 };
    const int32_t first[3] = { (int32_t)run[0], (int32_t)j, (int32_t)k };
    if (g->dimension == 3 && g->occluded == NULL) {
      kp_mac_view plain = flip_plain_view(g);
      flip_band_carry_run(first, end - run[0], beside, &plain, a);
    } else {
      flip_band_carry_run(first, end - run[0], beside, g, a);
    }
    run[0] = end;
  }
}

// ---- sums ---------------------------------------------------------------------------------------

// Of the liquid that the grid holds: volume, momentum, kinetic energy, height above 0 along
// gravity, all over rho h^d.
typedef struct flip_band_sums_args {
  int64_t first;
  kp_mac_view grid;
  double up[3];  // gravity's direction reversed, times g
  kp_real per_cell;
  const uint32_t *counts;  // particles that came
  const kp_real *lack;
  kp_mac_velocity velocity;
} flip_band_sums_args;

#define FLIP_BAND_SUMS_OPS                                                                         \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM

KP_FN void flip_band_sums(int64_t n, const flip_band_sums_args *a, double *out) {
  const kp_mac_view *g = &a->grid;
  int64_t at = a->first + n;
  int64_t cell[3];
  int is_in = flip_band_is_in(g, at, cell);
  double share = is_in ? flip_band_rest(a->lack, a->counts, a->per_cell, at) : 0.0;
  for (int c = 0; c < 6; ++c) {
    out[c] = 0.0;
  }
  if (share == 0.0) {
    return;
  }
  kp_real v[3];
  kp_mac_velocity_of_cell(g, a->velocity, at, v);
  double x[3];
  kp_mac_place(g, KP_MAC_CELL, cell[0], cell[1], cell[2], x);
  out[0] = share;
  for (int c = 0; c < g->dimension; ++c) {
    out[1 + c] = share * (double)v[c];
    out[4] += share * 0.5 * (double)v[c] * (double)v[c];
    out[5] += share * a->up[c] * x[c];
  }
}
