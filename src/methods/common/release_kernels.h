// Water that lets go of solids and walls: which cells do, and the cells around them that have to
// know it.
#pragma once

#include "data/mac.h"
#include "methods/common/flow_sides.h"
#include "par/kernel.h"

#define RELEASE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  ROW(release, mark)                                                                               \
  ROW(release, begin)                                                                              \
  ROW(release, around)                                                                             \
  ROW(release, finish)                                                                             \
  REDUCE(release, pulled, KP_REDUCE_SUM)                                                           \
  REDUCE(release, count, KP_REDUCE_SUM)

// Only cells this near to the air [cells]: farther below, no air can come between. Within the band
// that level sets know their distance in.
#define RELEASE_DEPTH ((kp_real)4)

typedef struct release_mark_args {
  kp_mac_view grid;
  flow_sides sides;
  kp_real least;       // Pa: with less the water is pulled off bodies
  kp_real least_wall;  // Pa: the same of walls, at most `least`
  const kp_real *pressure;
  const kp_real *distance;  // m
  const uint8_t *near;      // release_air; NULL: the distance tells
  const kp_real *fraction_x, *fraction_y, *fraction_z;
  uint8_t *flags;
} release_mark_args;

// What kinds of air are near: any, and such with no water beside it. A solid that moves uncovers
// cells, which are empty at first, deep below the surface too; walls do not.
enum { RELEASE_ANY_AIR = 1, RELEASE_OPEN_AIR = 2 };

// A wall of the domain lies beside the cell.
KP_FN int release_is_at_wall(const release_mark_args *a, const int64_t cell[3]) {
  const kp_mac_view *g = &a->grid;
  int is_there = 0;
  for (int c = 0; c < g->dimension; ++c) {
    is_there = is_there || (cell[c] == 0 && a->sides.is_wall[c][0]) ||
               (cell[c] == g->n[c] - 1 && a->sides.is_wall[c][1]);
  }
  return is_there;
}

// A body, not a side of the domain, covers a part of one of its faces.
KP_FN int release_is_at_body(const release_mark_args *a, const int64_t cell[3], int64_t at) {
  const kp_mac_view *g = &a->grid;
  const kp_real *fraction[3] = { a->fraction_x, a->fraction_y, a->fraction_z };
  int is_there = 0;
  for (int c = 0; c < g->dimension && fraction[0] != NULL; ++c) {
    int64_t next = at + kp_mac_stride(g, c);
    is_there = is_there || (fraction[c][at] < 1 && flow_side_of(g, &a->sides, c, cell[c]) < 0) ||
               (fraction[c][next] < 1 && flow_side_of(g, &a->sides, c, cell[c] + 1) < 0);
  }
  return is_there;
}

// KP_CELL_RELEASED where something solid pulls at the water, with KP_CELL_LOOSE if it is a wall.
KP_FN int release_pull(const release_mark_args *a, const int64_t cell[3], int64_t at, int near) {
  if ((a->flags[at] & KP_CELL_KIND) != KP_CELL_FLUID || !(a->pressure[at] < a->least)) {
    return 0;
  }
  if (near & RELEASE_ANY_AIR && a->pressure[at] < a->least_wall && release_is_at_wall(a, cell)) {
    return KP_CELL_RELEASED | KP_CELL_LOOSE;
  }
  return near & RELEASE_OPEN_AIR && release_is_at_body(a, cell, at) ? KP_CELL_RELEASED : 0;
}

// Air between a wall and what has left it, which goes on opening.
KP_FN int release_is_gap(const release_mark_args *a, const int64_t cell[3], int64_t at) {
  const kp_mac_view *g = &a->grid;
  int is_wet = 0;
  for (int c = 0; c < g->dimension; ++c) {
    int64_t up = kp_mac_stride(g, c);
    is_wet = is_wet || (cell[c] == 0 && a->sides.is_wall[c][0] && a->distance[at + up] < 0) ||
             (cell[c] == g->n[c] - 1 && a->sides.is_wall[c][1] && a->distance[at - up] < 0);
  }
  return is_wet && (a->flags[at] & KP_CELL_KIND) == KP_CELL_AIR;
}

// Released cells are air for the next solve; what was marked before is not any more.
KP_FN void release_mark(int64_t j, int64_t k, int64_t i0, int64_t i1, const release_mark_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    const int64_t cell[3] = { i, j, k };
    int old = a->flags[at] & ~(KP_CELL_RELEASED | KP_CELL_LOOSE);
    int is_shallow = a->distance[at] > -RELEASE_DEPTH * g->h;
    int near = is_shallow ? RELEASE_ANY_AIR | RELEASE_OPEN_AIR : 0;
    int pull = release_pull(a, cell, at, a->near != NULL ? a->near[at] : near);
    int is_gap = (a->flags[at] & KP_CELL_LOOSE) != 0 && release_is_gap(a, cell, at);
    old |= is_gap ? KP_CELL_LOOSE : 0;
    a->flags[at] = (uint8_t)(pull ? (old & ~KP_CELL_KIND) | KP_CELL_AIR | pull : old);
  }
}

// Cells that are pulled at, however far from the air: mostly there are none, and nobody has to look
// for it. The arguments of release_mark with `first`.
typedef struct release_pulled_args {
  int64_t first;
  release_mark_args cells;
} release_pulled_args;

KP_FN void release_pulled(int64_t i, const release_pulled_args *a, double *out) {
  int64_t at = a->first + i;
  int64_t cell[3];
  out[0] = 0.0;
  if (a->cells.pressure[at] < a->cells.least) {
    kp_mac_cell_of(&a->cells.grid, at, cell);
    out[0] = release_pull(&a->cells, cell, at, RELEASE_ANY_AIR | RELEASE_OPEN_AIR) ? 1.0 : 0.0;
  }
}

// Where the spreading begins: cells that were let go, or those of the air, by its kind.
typedef struct release_begin_args {
  kp_mac_view grid;
  int32_t from_air;
  const uint8_t *flags;
  uint8_t *out;
} release_begin_args;

KP_FN int release_is_water(uint8_t flag) {
  return (flag & KP_CELL_KIND) == KP_CELL_FLUID;
}

KP_FN void release_begin(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const release_begin_args *a) {
  const kp_mac_view *g = &a->grid;
  const uint8_t *f = a->flags;
  int64_t slab = g->dimension == 3 ? g->slab : 0;
  int64_t first = kp_mac_at(g, 0, j, k);
  int from_air = a->from_air;
  KP_INDEPENDENT
  for (int64_t at = first + i0; at < first + i1; ++at) {
    int is_wet = release_is_water(f[at - 1]) | release_is_water(f[at + 1]) |
                 release_is_water(f[at - g->row]) | release_is_water(f[at + g->row]) |
                 release_is_water(f[at - slab]) | release_is_water(f[at + slab]);
    int is_air = (f[at] & KP_CELL_KIND) == KP_CELL_AIR;
    int is_open = is_air & !is_wet;
    int is_released = (f[at] & KP_CELL_RELEASED) != 0;
    int air = is_air * RELEASE_ANY_AIR + is_open * RELEASE_OPEN_AIR;
    a->out[at] = (uint8_t)(from_air ? air : is_released);
  }
}

typedef struct release_around_args {
  kp_mac_view grid;
  const uint8_t *in;
  uint8_t *out;
} release_around_args;

// One cell farther along each axis.
KP_FN void release_around(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const release_around_args *a) {
  const kp_mac_view *g = &a->grid;
  const uint8_t *in = a->in;
  int64_t slab = g->dimension == 3 ? g->slab : 0;
  int64_t first = kp_mac_at(g, 0, j, k);
  KP_INDEPENDENT
  for (int64_t at = first + i0; at < first + i1; ++at) {
    a->out[at] = in[at] | in[at - 1] | in[at + 1] | in[at - g->row] | in[at + g->row] |
                 in[at - slab] | in[at + slab];
  }
}

typedef struct release_finish_args {
  kp_mac_view grid;
  const uint8_t *near;
  uint8_t *flags;
} release_finish_args;

// Water again; and the cells around are marked as well, for the solid moves on before they are
// looked at.
KP_FN void release_finish(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const release_finish_args *a) {
  int64_t first = kp_mac_at(&a->grid, 0, j, k);
  for (int64_t at = first + i0; at < first + i1; ++at) {
    int old = a->flags[at];
    int kind = old & KP_CELL_RELEASED ? KP_CELL_FLUID : old & KP_CELL_KIND;
    int mark = a->near[at] ? KP_CELL_RELEASED : 0;
    a->flags[at] = (uint8_t)((old & ~(KP_CELL_KIND | KP_CELL_RELEASED)) | kind | mark);
  }
}

typedef struct release_count_args {
  int64_t first;
  kp_mac_view grid;
  const uint8_t *flags;
} release_count_args;

KP_FN void release_count(int64_t i, const release_count_args *a, double *out) {
  out[0] = a->flags[a->first + i] & KP_CELL_RELEASED ? 1.0 : 0.0;
}
