// Explicit neighbour lists, the plain way: one element at a time, in double precision. This is what
// runs on a card, and what the tuned host version in pair_lists_cpu.c is held to by test.
// (Bayraktar 2010, Algorithm 1, steps 4 to 6, and the pair-once rule by ids.)
#pragma once

#include "data/cells.h"

#define LISTS_KERNELS(POINT, REDUCE, ROW, PAIR) POINT(lists, count) POINT(lists, fill)

typedef struct lists_search {
  kp_cells_view i, j;
  const kp_gid *i_id, *j_id;
  double radius;
  int32_t dimension;
  int32_t is_same;  // both sides are one set: an element is not its own neighbour
  int32_t is_once;  // only j of larger id
} lists_search;

KP_FN bool lists_wants(const lists_search *s, uint32_t i, uint32_t j) {
  if (s->is_once) {
    return s->i_id[i] < s->j_id[j];
  }
  return !s->is_same || i != j;
}

KP_FN bool lists_is_near(const lists_search *s, uint32_t i, uint32_t j) {
  double dx = s->i.x[i] - s->j.x[j];
  double dy = s->i.y[i] - s->j.y[j];
  double dz = s->i.z[i] - s->j.z[j];
  double r2 = s->dimension == 3 ? dx * dx + dy * dy + dz * dz : dx * dx + dy * dy;
  return r2 <= s->radius * s->radius;
}

// Walks the rows around element i; writes the neighbours where `out` is given. Returns their
// number.
KP_FN uint32_t lists_find(const lists_search *s, uint32_t i, uint32_t *out) {
  int32_t x0, x1, y0, y1;
  int32_t z0 = 0;
  int32_t z1 = 0;
  uint32_t n = 0;
  kp_cells_reach(&s->j, 0, s->i.x[i], s->radius, &x0, &x1);
  kp_cells_reach(&s->j, 1, s->i.y[i], s->radius, &y0, &y1);
  if (s->dimension == 3) {
    kp_cells_reach(&s->j, 2, s->i.z[i], s->radius, &z0, &z1);
  }
  for (int32_t z = z0; z <= z1; ++z) {
    for (int32_t y = y0; y <= y1; ++y) {
      uint32_t slot, end;
      kp_cells_range(&s->j, x0, x1, y, z, &slot, &end);
      for (; slot < end; ++slot) {
        uint32_t j = s->j.order != NULL ? s->j.order[slot] : slot;
        if (lists_is_near(s, i, j) && lists_wants(s, i, j)) {
          if (out != NULL) {
            out[n] = j;
          }
          ++n;
        }
      }
    }
  }
  return n;
}

typedef struct lists_count_args {
  lists_search search;
  uint32_t *counts;
} lists_count_args;

KP_FN void lists_count(int64_t slot, const lists_count_args *a) {
  const lists_search *s = &a->search;
  uint32_t i = s->i.order != NULL ? s->i.order[slot] : (uint32_t)slot;
  a->counts[i] = lists_find(s, i, NULL);
}

typedef struct lists_fill_args {
  lists_search search;
  const uint32_t *start;
  uint32_t *indices;
} lists_fill_args;

KP_FN void lists_fill(int64_t slot, const lists_fill_args *a) {
  const lists_search *s = &a->search;
  uint32_t i = s->i.order != NULL ? s->i.order[slot] : (uint32_t)slot;
  lists_find(s, i, a->indices + a->start[i]);
}
