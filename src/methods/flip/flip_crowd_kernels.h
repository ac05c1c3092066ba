// Parting crowds (flip_crowd.c): what cells hold beyond their share goes to the nearest open cells
// with room, in rounds. Those who have to go are listed; a flood from all cells with room tells how
// many cells it is from anywhere to one of them; everybody walks down to one, those of a cell
// shared out evenly among the ways that are equally short; cells take what they have room for,
// first those who stand first in the list; who is left tries again in the next round. The list is
// in the order of cells and, in a cell, of particles, so nothing depends on who comes first in
// time.
#pragma once

#include "methods/flip/flip_carry_kernels.h"
#include "par/kernel.h"

#define CROWD_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  POINT(crowd, count)                                                                              \
  ROW(crowd, ways)                                                                                 \
  POINT(crowd, excess)                                                                             \
  POINT(crowd, list)                                                                               \
  POINT(crowd, flood)                                                                              \
  ROW(crowd, sweep)                                                                                \
  POINT(crowd, walk)                                                                               \
  POINT(crowd, heads)                                                                              \
  POINT(crowd, grant)                                                                              \
  POINT(crowd, settle)                                                                             \
  POINT(crowd, rest)

// ---- cells --------------------------------------------------------------------------------------

// Particles of every item, of all liquids.
typedef struct crowd_count_args {
  int32_t is_first;  // of the liquids
  const uint32_t *start;
  uint32_t *counts;
} crowd_count_args;

KP_FN void crowd_count(int64_t at, const crowd_count_args *a) {
  uint32_t n = a->start[at + 1] - a->start[at];
  a->counts[at] = a->is_first ? n : a->counts[at] + n;
}

enum {
  CROWD_NO_WAY,  // solid, or mostly so; ghosts
  CROWD_WAY,     // full by right: may be passed
  CROWD_PLACE    // takes particles
};

typedef struct crowd_ways_args {
  kp_mac_view grid;
  const uint8_t *flags;
  const kp_real *open;   // share
  const kp_real *depth;  // cells, of a narrow band; NULL: none
  kp_real full;          // cells: what is deeper is full by right
  uint8_t *ways;
} crowd_ways_args;

KP_FN void crowd_ways(int64_t j, int64_t k, int64_t i0, int64_t i1, const crowd_ways_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  KP_INDEPENDENT
  for (int64_t at = kp_mac_at(&a->grid, i0, j, k); at < end; ++at) {
    uint8_t flag = a->flags[at];
    int is_way = ((flag & KP_CELL_KIND) != KP_CELL_SOLID) & !(flag & KP_CELL_OCCLUDED) &
                 (a->open[at] > (kp_real)0.5);
    int is_full = a->depth != NULL ? a->depth[at] >= a->full : 0;
    int kind = is_full ? CROWD_WAY : CROWD_PLACE;
    a->ways[at] = (uint8_t)(is_way ? kind : CROWD_NO_WAY);
  }
}

// How many a cell can still take.
KP_FN uint32_t crowd_room(const uint8_t *ways, const uint32_t *counts, uint32_t most, int64_t at) {
  uint32_t n = counts[at];
  return ways[at] == CROWD_PLACE && n < most ? most - n : 0;
}

// ---- who goes -----------------------------------------------------------------------------------

// How many of one liquid each item gives away.
typedef struct crowd_excess_args {
  uint32_t most;
  const uint32_t *start, *counts;
  uint32_t *excess;
} crowd_excess_args;

KP_FN void crowd_excess(int64_t at, const crowd_excess_args *a) {
  uint32_t own = a->start[at + 1] - a->start[at];
  uint32_t n = a->counts[at];
  uint32_t beyond = n > a->most ? n - a->most : 0;
  a->excess[at] = beyond < own ? beyond : own;
}

// Who they are: every so-many-th of the item. Particles of a cell lie in the order of the cells
// they came from, and none of these is to lose more than others.
typedef struct crowd_list_args {
  const uint32_t *start, *order;
  const uint32_t *excess;  // scanned: those of items before
  uint32_t *counts;
  uint32_t *particle, *from;  // of each of them
  uint32_t *who, *at;         // the list, and where they are
} crowd_list_args;

KP_FN void crowd_list(int64_t item, const crowd_list_args *a) {
  uint32_t first = a->excess[item];
  uint32_t n_gone = a->excess[item + 1] - first;
  if (n_gone == 0) {
    return;
  }
  uint64_t n = a->start[item + 1] - a->start[item];
  for (uint32_t m = 0; m < n_gone; ++m) {
    uint64_t nth = ((m + 1) * n - 1) / n_gone;
    a->particle[first + m] = a->order[a->start[item] + nth];
    a->from[first + m] = (uint32_t)item;
    a->who[first + m] = first + m;
    a->at[first + m] = (uint32_t)item;
  }
  a->counts[item] -= n_gone;
}

// ---- the flood ----------------------------------------------------------------------------------

#define CROWD_UNSEEN 254
#define CROWD_CLOSED 255

// Cells to the nearest one with room: 0 there.
typedef struct crowd_flood_args {
  uint32_t most;
  const uint8_t *ways;
  const uint32_t *counts;
  uint8_t *level;
} crowd_flood_args;

KP_FN void crowd_flood(int64_t at, const crowd_flood_args *a) {
  uint8_t way = a->ways[at];
  int has_room = (way == CROWD_PLACE) & (a->counts[at] < a->most);
  int level = has_room ? 0 : CROWD_UNSEEN;
  a->level[at] = (uint8_t)(way == CROWD_NO_WAY ? CROWD_CLOSED : level);
}

// One cell further.
typedef struct crowd_sweep_args {
  kp_mac_view grid;
  const uint8_t *level;
  uint8_t *next;
} crowd_sweep_args;

KP_FN uint8_t crowd_lower(uint8_t a, uint8_t b) {
  return a < b ? a : b;
}

// Cells in all of which the neighbours are as many items away.
KP_FN void crowd_sweep_part(int64_t first, int64_t end, const int64_t beside[6],
                            const crowd_sweep_args *a) {
  const uint8_t *v = a->level;
  const uint8_t *side[6] = { v + beside[0], v + beside[1], v + beside[2],
                             v + beside[3], v + beside[4], v + beside[5] };
  KP_INDEPENDENT
  for (int64_t at = first; at < end; ++at) {
    uint8_t own = v[at];
    uint8_t x = crowd_lower(side[0][at], side[1][at]);
    uint8_t y = crowd_lower(side[2][at], side[3][at]);
    uint8_t z = crowd_lower(side[4][at], side[5][at]);
    uint8_t least = crowd_lower(crowd_lower(x, y), z);
    uint8_t step = least < CROWD_UNSEEN - 1 ? (uint8_t)(least + 1) : (uint8_t)CROWD_UNSEEN;
    a->next[at] = own == CROWD_CLOSED ? own : crowd_lower(own, step);
  }
}

KP_FN void crowd_sweep(int64_t j, int64_t k, int64_t i0, int64_t i1, const crowd_sweep_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t row = kp_mac_at(g, 0, j, k);
  int64_t beside[6] = { 0 };  // across z in 2D: the cell itself
  beside[2] = kp_mac_before(g, 1, j, 0);
  beside[3] = kp_mac_behind(g, 1, j, 0);
  if (g->dimension == 3) {
    beside[4] = kp_mac_before(g, 2, k, 0);
    beside[5] = kp_mac_behind(g, 2, k, 0);
  }
  for (int64_t i = i0; i < i1;) {
    // the ends of a periodic row have their neighbours elsewhere
    int64_t last = g->is_periodic[0] ? g->n[0] - 1 : i1;
    int64_t end = g->is_periodic[0] && (i == 0 || i == last) ? i + 1 : (i1 < last ? i1 : last);
    beside[0] = kp_mac_before(g, 0, i, 0);
    beside[1] = g->is_periodic[0] && i == last ? -last : 1;
    crowd_sweep_part(row + i, row + end, beside, a);
    i = end;
  }
}

// ---- the way ------------------------------------------------------------------------------------

// Down to a cell with room, and on from it through cells with room, away from where the walk began,
// for as long as others who come the same way need that room; whoever the flood has not come to
// stays. Those of a cell are numbered: each cell keeps the first of those who come, and the others
// are shared out among the cells behind it.
typedef struct crowd_walk_args {
  kp_mac_view grid;
  uint32_t most;
  const uint8_t *ways, *level;
  const uint32_t *counts, *first;
  uint32_t *at, *slot;  // where they go, and which of the list they are
} crowd_walk_args;

typedef struct crowd_walker {
  int64_t at;
  int64_t cell[3];
  int32_t gone[3];  // cells from where the walk began
  uint32_t number;
} crowd_walker;

// The item beside it.
KP_FN int64_t crowd_beside(const kp_mac_view *g, const crowd_walker *w, int side) {
  int axis = side / 2;
  return side % 2 == 0 ? kp_mac_before(g, axis, w->cell[axis], w->at)
                       : kp_mac_behind(g, axis, w->cell[axis], w->at);
}

// Which sides lead on, a bit for each: down, or from a cell with room to others further away.
KP_FN uint32_t crowd_ways_on(const crowd_walk_args *a, const crowd_walker *w) {
  const kp_mac_view *g = &a->grid;
  int is_up = a->level[w->at] == 0;
  uint8_t least = is_up ? 0 : CROWD_UNSEEN - 1;
  uint32_t sides = 0;
  for (int side = 0; side < 2 * g->dimension; ++side) {
    int32_t gone = w->gone[side / 2];
    int is_back = side % 2 == 0 ? gone > 0 : gone < 0;
    uint8_t level = a->level[crowd_beside(g, w, side)];
    sides = level < least ? 0 : sides;
    sides |= (uint32_t)(level <= least && !(is_up && is_back)) << side;
    least = crowd_lower(least, level);
  }
  return sides;
}

KP_FN uint32_t crowd_bits(uint32_t sides) {
  uint32_t n = 0;
  for (; sides != 0; sides &= sides - 1) {
    ++n;
  }
  return n;
}

// One cell on, to the side that its number says. As many as fill a cell stay together: one by one
// they would wet a cell each.
KP_FN void crowd_step(const kp_mac_view *g, uint32_t most, uint32_t sides, crowd_walker *w) {
  uint32_t n = crowd_bits(sides);
  uint32_t group = w->number / most;
  uint32_t choice = group % n;
  w->number = group / n * most + w->number % most;
  for (; choice > 0; --choice) {
    sides &= sides - 1;
  }
  int side = 0;
  while (!(sides >> side & 1)) {
    ++side;
  }
  int axis = side / 2;
  int step = side % 2 == 0 ? -1 : 1;
  w->at = crowd_beside(g, w, side);
  w->gone[axis] += step;
  w->cell[axis] += step;
  w->cell[axis] = w->cell[axis] < 0 ? g->n[axis] - 1 : w->cell[axis];
  w->cell[axis] = w->cell[axis] < g->n[axis] ? w->cell[axis] : 0;
}

#define CROWD_FARTHEST 64  // cells through which a walk goes on where there is room

KP_FN void crowd_walk(int64_t s, const crowd_walk_args *a) {
  crowd_walker w;
  w.at = a->at[s];
  w.gone[0] = w.gone[1] = w.gone[2] = 0;
  w.number = (uint32_t)s - a->first[w.at];
  kp_mac_cell_of(&a->grid, w.at, w.cell);
  for (int n_passed = 0; n_passed < CROWD_FARTHEST;) {
    if (a->level[w.at] == 0) {
      uint32_t room = crowd_room(a->ways, a->counts, a->most, w.at);
      if (w.number < room) {
        break;
      }
      w.number -= room;
      ++n_passed;
    }
    uint32_t sides = crowd_ways_on(a, &w);
    if (sides == 0) {
      break;
    }
    crowd_step(&a->grid, a->most, sides, &w);
  }
  a->at[s] = (uint32_t)w.at;
  a->slot[s] = (uint32_t)s;
}

// ---- who stays there ----------------------------------------------------------------------------

// In the order of cells: the first of each.
typedef struct crowd_heads_args {
  const uint32_t *at;
  uint32_t *first;  // of each item where anybody stands
} crowd_heads_args;

KP_FN void crowd_heads(int64_t s, const crowd_heads_args *a) {
  if (s == 0 || a->at[s - 1] != a->at[s]) {
    a->first[a->at[s]] = (uint32_t)s;
  }
}

typedef struct crowd_grant_args {
  kp_mac_view grid;
  uint32_t most;
  const uint8_t *ways;
  const uint32_t *counts, *first;
  const uint32_t *particle, *from;
  const uint32_t *who;
  const uint32_t *at, *slot;  // in the order of cells
  uint32_t *marks;            // of the list, 1: found no room
  kp_pos *x, *y, *z;
} crowd_grant_args;

// A particle goes whole cells along an axis. It has the same place in the new one, unless rounding
// would put it into the next.
KP_FN void crowd_shift(const kp_mac_view *g, int axis, int64_t from, int64_t to, kp_pos *x) {
  kp_real fraction;
  int is_out = 0;
  if (to == from) {
    return;
  }
  double there = *x + g->cell * (double)(to - from);
  bool is_there = flip_locate_axis(g, axis, there, &fraction, &is_out) == to && is_out == 0;
  *x = is_there ? there : g->lo[axis] + g->cell * ((double)to + 0.5);
}

KP_FN void crowd_grant(int64_t s, const crowd_grant_args *a) {
  const kp_mac_view *g = &a->grid;
  uint32_t at = a->at[s];
  uint32_t before = (uint32_t)s - a->first[at];
  bool stays = before < crowd_room(a->ways, a->counts, a->most, at);
  a->marks[a->slot[s]] = stays ? 0 : 1;
  if (!stays) {
    return;
  }
  uint32_t who = a->who[a->slot[s]];
  uint32_t p = a->particle[who];
  int64_t from[3];
  int64_t to[3];
  kp_mac_cell_of(g, a->from[who], from);
  kp_mac_cell_of(g, at, to);
  crowd_shift(g, 0, from[0], to[0], &a->x[p]);
  crowd_shift(g, 1, from[1], to[1], &a->y[p]);
  if (g->dimension == 3) {
    crowd_shift(g, 2, from[2], to[2], &a->z[p]);
  }
}

// The last of each cell counts those who stay.
typedef struct crowd_settle_args {
  int64_t n;
  uint32_t most;
  const uint8_t *ways;
  const uint32_t *at, *first;
  uint32_t *counts;
} crowd_settle_args;

KP_FN void crowd_settle(int64_t s, const crowd_settle_args *a) {
  uint32_t at = a->at[s];
  if (s + 1 < a->n && a->at[s + 1] == at) {
    return;
  }
  uint32_t n = (uint32_t)s + 1 - a->first[at];
  uint32_t room = crowd_room(a->ways, a->counts, a->most, at);
  a->counts[at] += n < room ? n : room;
}

// The others, in the order of the list, are where they were.
typedef struct crowd_rest_args {
  const uint32_t *marks;  // scanned: those before who found no room
  const uint32_t *who, *from;
  uint32_t *next_who, *at;
} crowd_rest_args;

KP_FN void crowd_rest(int64_t s, const crowd_rest_args *a) {
  uint32_t to = a->marks[s];
  if (a->marks[s + 1] != to) {
    a->next_who[to] = a->who[s];
    a->at[to] = a->from[a->who[s]];
  }
}
