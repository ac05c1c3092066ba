#include "methods/deform/grid_links.h"

// Steps along the width and down of the links of a kind; each pair is reached once.
typedef struct reach {
  kp_link_kind kind;
  int64_t across, down;
} reach;

static const reach reaches[] = {
  { KP_LINK_HORIZONTAL, 1, 0 },    { KP_LINK_VERTICAL, 0, 1 },       { KP_LINK_SHEAR, 1, 1 },
  { KP_LINK_SHEAR, -1, 1 },        { KP_LINK_BEND, 2, 0 },           { KP_LINK_BEND, 0, 2 },
  { KP_LINK_BEND_DIAGONAL, 2, 2 }, { KP_LINK_BEND_DIAGONAL, -2, 2 },
};

#define N_REACHES (sizeof reaches / sizeof reaches[0])

static int64_t size_of(int64_t step) {
  return step < 0 ? -step : step;
}

static int64_t positive(int64_t n) {
  return n > 0 ? n : 0;
}

// A tube must be wide enough that two steps across are not one and the same from either side.
static int64_t pairs_across(const kp_grid_shape *shape, int64_t step) {
  if (shape->is_tube) {
    return shape->columns;
  }
  return positive(shape->columns - size_of(step));
}

int64_t kp_grid_link_count(const kp_grid_shape *shape, kp_link_kind kind) {
  if (kind == KP_LINK_BEND_DIAGONAL && !shape->bend_diagonals) {
    return 0;
  }
  int64_t sum = 0;
  for (size_t r = 0; r < N_REACHES; ++r) {
    if (reaches[r].kind == kind) {
      sum += pairs_across(shape, reaches[r].across) * positive(shape->rows - reaches[r].down);
    }
  }
  return sum;
}

static kp_result add_reach(const kp_grid_shape *shape, const reach *r, kp_index first,
                           kp_links *links) {
  for (int64_t j = 0; j + r->down < shape->rows; ++j) {
    for (int64_t i = 0; i < shape->columns; ++i) {
      int64_t there = i + r->across;
      if (shape->is_tube) {
        there = (there + shape->columns) % shape->columns;
      } else if (there < 0 || there >= shape->columns) {
        continue;
      }
      kp_link link = { first + (kp_index)(j * shape->columns + i),
                       first + (kp_index)((j + r->down) * shape->columns + there), r->kind };
      KP_TRY(kp_array_push(links, link));
    }
  }
  return KP_OK;
}

kp_result kp_grid_links_add(const kp_grid_shape *shape, kp_index first, kp_links *links) {
  if (shape->columns < 1 || shape->rows < 1 || (shape->is_tube && shape->columns < 5)) {
    return kp_fail(KP_ERROR_ARGUMENT, "a grid of %lld x %lld nodes cannot be linked",
                   (long long)shape->columns, (long long)shape->rows);
  }
  for (size_t r = 0; r < N_REACHES; ++r) {
    if (reaches[r].kind != KP_LINK_BEND_DIAGONAL || shape->bend_diagonals) {
      KP_TRY(add_reach(shape, &reaches[r], first, links));
    }
  }
  return KP_OK;
}
