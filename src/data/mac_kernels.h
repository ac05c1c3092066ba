// Ghost layers of a MAC grid: what one line of items across a pair of sides does. Lines are counted
// over the whole padded plane across the axis, so that passes along x, y and z in turn fill edges
// and corners too.
#pragma once

#include "data/mac.h"
#include "par/kernel.h"

#define MAC_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  POINT(mac, wrap_reals)                                                                           \
  POINT(mac, wrap_bytes)                                                                           \
  POINT(mac, fill_cells)                                                                           \
  POINT(mac, fill_faces)

// Item 0 of line t along an axis.
KP_FN int64_t mac_line(const kp_mac_view *g, int axis, int64_t t) {
  int inner = axis == 0 ? 1 : 0;
  int outer = axis == 2 ? 1 : 2;
  // short divisions: they are most of the work of a line
  uint32_t length = (uint32_t)(g->n[inner] + 2 * KP_MAC_GHOSTS);
  int64_t a = (int64_t)((uint32_t)t % length) - KP_MAC_GHOSTS;
  int64_t b = (int64_t)((uint32_t)t / length);
  b -= outer == 2 && g->dimension == 2 ? 0 : KP_MAC_GHOSTS;
  return g->start + a * kp_mac_stride(g, inner) + b * kp_mac_stride(g, outer);
}

// Ghosts across a periodic axis are what lies one length of the domain away.
#define MAC_WRAP(g, axis, line)                                                                    \
  do {                                                                                             \
    int64_t up_ = kp_mac_stride(g, axis);                                                          \
    int64_t n_ = (g)->n[axis];                                                                     \
    for (int64_t l = 1; l <= KP_MAC_GHOSTS; ++l) {                                                 \
      (line)[-l * up_] = (line)[((n_ - l % n_) % n_) * up_];                                       \
      (line)[(n_ - 1 + l) * up_] = (line)[((l - 1) % n_) * up_];                                   \
    }                                                                                              \
  } while (0)

typedef struct mac_wrap_reals_args {
  kp_mac_view grid;
  int32_t axis;
  kp_real *values;
} mac_wrap_reals_args;

KP_FN void mac_wrap_reals(int64_t t, const mac_wrap_reals_args *a) {
  kp_real *line = a->values + mac_line(&a->grid, a->axis, t);
  MAC_WRAP(&a->grid, a->axis, line);
}

typedef struct mac_wrap_bytes_args {
  kp_mac_view grid;
  int32_t axis;
  uint8_t *values;
} mac_wrap_bytes_args;

KP_FN void mac_wrap_bytes(int64_t t, const mac_wrap_bytes_args *a) {
  uint8_t *line = a->values + mac_line(&a->grid, a->axis, t);
  MAC_WRAP(&a->grid, a->axis, line);
}

typedef struct mac_fill_cells_args {
  kp_mac_view grid;
  int32_t axis;
  int32_t is_given[2];  // the ghosts of that side are `outside`
  int32_t is_wall[2];
  int32_t is_end[2];  // the values are a distance to water, which ends at that side
  kp_real outside;
  const uint8_t *loose;  // flags; NULL: the values are no distance
  kp_real *values;
} mac_fill_cells_args;

// Ghosts beyond a wall that water lets go of, or beyond an open side: `first` is the cell beside
// it, which has the side half a cell away, `step` leads outwards.
KP_FN void mac_end_at_side(kp_real *first, int64_t step, kp_real h) {
  kp_real least = (kp_real)-0.5 * h;
  first[0] = first[0] > least ? first[0] : least;
  for (int64_t l = 1; l <= KP_MAC_GHOSTS; ++l) {
    first[l * step] = first[0] + (kp_real)l * h;
  }
}

KP_FN void mac_fill_cells(int64_t t, const mac_fill_cells_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t up = kp_mac_stride(g, a->axis);
  int64_t n = g->n[a->axis];
  int64_t at = mac_line(g, a->axis, t);
  kp_real *line = a->values + at;
  if (g->is_periodic[a->axis]) {
    MAC_WRAP(g, a->axis, line);
    return;
  }
  for (int64_t l = 1; l <= KP_MAC_GHOSTS; ++l) {
    line[-l * up] = a->is_given[0] ? a->outside : line[0];
    line[(n - 1 + l) * up] = a->is_given[1] ? a->outside : line[(n - 1) * up];
  }
  const kp_real h = g->h;
  if (a->is_end[0] || (a->loose != NULL && a->is_wall[0] && a->loose[at] & KP_CELL_LOOSE)) {
    mac_end_at_side(line, -up, h);
  }
  if (a->is_end[1] ||
      (a->loose != NULL && a->is_wall[1] && a->loose[at + (n - 1) * up] & KP_CELL_LOOSE)) {
    mac_end_at_side(line + (n - 1) * up, up, h);
  }
}

// What a side does to one component of the velocity.
typedef enum mac_face_rule {
  MAC_FACE_COPY,   // zero gradient
  MAC_FACE_MIRROR  // odd about `value`: the side, or half a cell beyond the first centre, has it
} mac_face_rule;

typedef struct mac_fill_faces_args {
  kp_mac_view grid;
  int32_t axis;
  int32_t is_normal;  // the component runs along the axis: its items are faces 0..n
  int32_t rule[2];    // mac_face_rule of the lower and the upper side
  int32_t is_wall[2];
  kp_real value[2];
  const uint8_t *loose;  // flags, of a normal component; NULL: walls hold
  kp_real *values;
} mac_fill_faces_args;

// Items of a staggered component beyond a side: `first` is the item nearest to it on the inside,
// `step` leads outwards. Normal components lie on the side itself.
KP_FN void mac_fill_side(kp_real *first, int64_t step, int64_t n, int side,
                         const mac_fill_faces_args *a) {
  int is_mirrored = a->rule[side] == MAC_FACE_MIRROR;
  if (a->is_normal && is_mirrored) {
    first[0] = a->value[side];
  }
  // upper normal faces have one layer fewer: face n is the first of the ghosts
  int64_t n_layers = a->is_normal && side == 1 ? KP_MAC_GHOSTS - 1 : KP_MAC_GHOSTS;
  for (int64_t l = 1; l <= n_layers; ++l) {
    int64_t inside = a->is_normal ? l : l - 1;
    inside = inside < n ? inside : n - 1;
    first[l * step] = is_mirrored ? 2 * a->value[side] - first[-inside * step]
                                  : first[-(a->is_normal ? 0 : inside) * step];
  }
}

// The same where water lets go of a wall: `first` may leave it, and goes on beyond.
KP_FN void mac_loosen_side(kp_real *first, int64_t step, int side) {
  kp_real inwards = side == 0 ? first[0] : -first[0];
  first[0] = inwards > 0 ? first[0] : (kp_real)0;
  int64_t n_layers = side == 1 ? KP_MAC_GHOSTS - 1 : KP_MAC_GHOSTS;
  for (int64_t l = 1; l <= n_layers; ++l) {
    first[l * step] = first[0];
  }
}

KP_FN int mac_is_loose(const mac_fill_faces_args *a, int side, int64_t cell) {
  return a->loose != NULL && a->is_wall[side] && (a->loose[cell] & KP_CELL_LOOSE) != 0;
}

KP_FN void mac_fill_faces(int64_t t, const mac_fill_faces_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t up = kp_mac_stride(g, a->axis);
  int64_t n = g->n[a->axis];
  int64_t at = mac_line(g, a->axis, t);
  kp_real *line = a->values + at;
  if (g->is_periodic[a->axis]) {
    MAC_WRAP(g, a->axis, line);
    return;
  }
  int64_t last = a->is_normal ? n : n - 1;
  if (mac_is_loose(a, 0, at)) {
    mac_loosen_side(line, -up, 0);
  } else {
    mac_fill_side(line, -up, last + 1, 0, a);
  }
  if (mac_is_loose(a, 1, at + (n - 1) * up)) {
    mac_loosen_side(line + last * up, up, 1);
  } else {
    mac_fill_side(line + last * up, up, last + 1, 1, a);
  }
}
