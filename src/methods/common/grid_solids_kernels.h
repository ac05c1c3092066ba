// Solids in a MAC grid: signed distance at corners from the bodies' baked distances, open fractions
// and speeds at faces, flags of cells (after Batty, Bertails & Bridson 2007, "A fast variational
// framework for accurate solid-fluid coupling", and Ng, Min & Gibou 2009).
#pragma once

#include "data/mac.h"
#include "geom/distance_grid.h"
#include "methods/common/flow_sides.h"
#include "par/kernel.h"

#define SOLID_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  POINT(solid, clear)                                                                              \
  POINT(solid, stamp)                                                                              \
  ROW(solid, faces)                                                                                \
  ROW(solid, cells)

// Distance where there is no solid [m]: far, but its sums stay finite.
#define SOLID_FAR 1e6
// Faces open by less than this share are closed: they would carry nothing and spoil the condition
// of the pressure.
#define SOLID_SLIVER ((kp_real)0.01)
// velocity (3), angular velocity (3), centre (3), all in the world
#define SOLID_RECORD 9

// The distances of the solids that stay where they are.
typedef struct solid_clear_args {
  const kp_real *still_distance;
  const int32_t *still_body;
  kp_real *distance;
  int32_t *body;
} solid_clear_args;

KP_FN void solid_clear(int64_t i, const solid_clear_args *a) {
  a->distance[i] = a->still_distance[i];
  a->body[i] = a->still_body[i];
}

// One body onto the corners of a box around it.
typedef struct solid_stamp_args {
  kp_mac_view grid;
  kp_distance_view shape;
  int32_t lo[3], n[3];  // corners of the box
  double origin[3];     // of the shape in the world [m]
  double axes[3][3];    // of the shape in the world, as rows
  int32_t body_index;
  kp_real *distance;
  int32_t *body;
  const kp_real *values;  // of the shape
} solid_stamp_args;

KP_FN void solid_stamp(int64_t t, const solid_stamp_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t i = a->lo[0] + t % a->n[0];
  int64_t j = a->lo[1] + t / a->n[0] % a->n[1];
  int64_t k = a->lo[2] + t / a->n[0] / a->n[1];
  double world[3] = { g->lo[0] + g->cell * (double)i - a->origin[0],
                      g->lo[1] + g->cell * (double)j - a->origin[1],
                      g->dimension == 2 ? 0.0 : g->lo[2] + g->cell * (double)k - a->origin[2] };
  double local[3];
  for (int c = 0; c < 3; ++c) {
    local[c] = a->axes[c][0] * world[0] + a->axes[c][1] * world[1] + a->axes[c][2] * world[2];
  }
  kp_distance_view shape = a->shape;
  shape.values = a->values;
  kp_real d = (kp_real)kp_distance_sample(&shape, local[0], local[1], local[2]);
  int64_t at = kp_mac_at(g, i, j, k);
  if (d < a->distance[at]) {
    a->distance[at] = d;
    a->body[at] = a->body_index;
  }
}

// Share of a segment between two corners that is not solid.
KP_FN kp_real solid_open_length(kp_real a, kp_real b) {
  if (a >= 0 && b >= 0) {
    return (kp_real)1;
  }
  if (a < 0 && b < 0) {
    return (kp_real)0;
  }
  return a >= 0 ? a / (a - b) : b / (b - a);
}

// Share of a square with these distances at its corners, in turn, that is not solid: area of the
// polygon of open corners and crossings.
KP_FN kp_real solid_open_area(const kp_real d[4]) {
  const kp_real corner[4][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 } };
  kp_real first[2] = { 0, 0 };
  kp_real last[2] = { 0, 0 };
  kp_real twice = 0;
  int n = 0;
  for (int e = 0; e < 4; ++e) {
    int f = (e + 1) & 3;
    kp_real points[2][2];
    int m = 0;
    if (d[e] >= 0) {
      points[m][0] = corner[e][0];
      points[m++][1] = corner[e][1];
    }
    if ((d[e] >= 0) != (d[f] >= 0)) {
      kp_real t = d[e] / (d[e] - d[f]);
      points[m][0] = corner[e][0] + t * (corner[f][0] - corner[e][0]);
      points[m++][1] = corner[e][1] + t * (corner[f][1] - corner[e][1]);
    }
    for (int q = 0; q < m; ++q) {
      if (n > 0) {
        twice += last[0] * points[q][1] - last[1] * points[q][0];
      } else {
        first[0] = points[q][0];
        first[1] = points[q][1];
      }
      last[0] = points[q][0];
      last[1] = points[q][1];
      ++n;
    }
  }
  twice += last[0] * first[1] - last[1] * first[0];
  return (kp_real)0.5 * twice;
}

// Open share of the lower face of cell `at` across an axis, from the distances at its corners.
KP_FN kp_real solid_open_share(const kp_mac_view *g, const kp_real *distance, int axis,
                               int64_t at) {
  int64_t up = kp_mac_stride(g, axis == 0 ? 1 : 0);
  kp_real share;
  if (g->dimension == 2) {
    share = solid_open_length(distance[at], distance[at + up]);
  } else {
    int64_t side = kp_mac_stride(g, axis == 2 ? 1 : 2);
    const kp_real d[4] = { distance[at], distance[at + up], distance[at + up + side],
                           distance[at + side] };
    share = solid_open_area(d);
  }
  return share < SOLID_SLIVER ? (kp_real)0 : (share > 1 ? (kp_real)1 : share);
}

typedef struct solid_faces_args {
  kp_mac_view grid;
  flow_sides sides;
  int32_t axis;
  const kp_real *distance;  // at corners
  const int32_t *body;
  const double *records;  // SOLID_RECORD numbers of each body; NULL while all stand still
  kp_real *fraction;
  kp_real *velocity;  // m/s of the solid, along the axis; NULL while all stand still
} solid_faces_args;

// Speed along an axis of the body nearest to a face, at the middle of the face.
KP_FN double solid_speed(const solid_faces_args *a, int64_t i, int64_t j, int64_t k, int64_t at) {
  const kp_mac_view *g = &a->grid;
  int32_t body = a->body[at];
  if (body < 0) {
    return 0.0;
  }
  const double *r = a->records + (int64_t)SOLID_RECORD * body;
  double x[3];
  kp_mac_place(g, a->axis, i, j, k, x);
  for (int d = 0; d < g->dimension; ++d) {
    x[d] -= r[6 + d];
  }
  int b = (a->axis + 1) % 3;
  int c = (a->axis + 2) % 3;
  return r[a->axis] + (r[3 + b] * x[c] - r[3 + c] * x[b]);
}

KP_FN void solid_faces(int64_t j, int64_t k, int64_t i0, int64_t i1, const solid_faces_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int64_t along = a->axis == 0 ? i : (a->axis == 1 ? j : k);
    int is_closed = flow_side_of(g, &a->sides, a->axis, along) >= 0;
    a->fraction[at] = is_closed ? (kp_real)0 : solid_open_share(g, a->distance, a->axis, at);
    if (a->velocity != NULL) {
      a->velocity[at] = (kp_real)solid_speed(a, i, j, k, at);
    }
  }
}

typedef struct solid_cells_args {
  kp_mac_view grid;
  flow_sides sides;
  kp_real near_distance;    // m: closer to a solid or a wall is near
  uint8_t kind;             // of what is not solid
  const kp_real *distance;  // at corners; NULL: no solids
  const kp_real *fraction_x, *fraction_y, *fraction_z;
  uint8_t *flags;
} solid_cells_args;

// Cells from a wall of the domain, along one axis.
KP_FN int solid_is_near_side(const kp_mac_view *g, const flow_sides *s, int axis, int64_t index,
                             kp_real reach) {
  int is_lower = s->is_closed[axis][0] && (kp_real)index + (kp_real)0.5 < reach;
  int is_upper = s->is_closed[axis][1] && (kp_real)(g->n[axis] - index) - (kp_real)0.5 < reach;
  return is_lower || is_upper;
}

KP_FN kp_real solid_open_sum(const solid_cells_args *a, int64_t at) {
  const kp_mac_view *g = &a->grid;
  kp_real sum = (a->fraction_x[at] + a->fraction_x[at + 1]) +
                (a->fraction_y[at] + a->fraction_y[at + g->row]);
  return g->dimension == 2 ? sum : sum + (a->fraction_z[at] + a->fraction_z[at + g->slab]);
}

KP_FN void solid_cells(int64_t j, int64_t k, int64_t i0, int64_t i1, const solid_cells_args *a) {
  const kp_mac_view *g = &a->grid;
  kp_real reach = a->near_distance * g->inverse_h;
  int is_near_row = solid_is_near_side(g, &a->sides, 1, j, reach) ||
                    (g->dimension == 3 && solid_is_near_side(g, &a->sides, 2, k, reach));
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int is_near = is_near_row || solid_is_near_side(g, &a->sides, 0, i, reach);
    uint8_t kind = a->kind;
    if (a->distance != NULL) {
      is_near = is_near || a->distance[at] < a->near_distance;
      kind = solid_open_sum(a, at) > 0 ? kind : (uint8_t)KP_CELL_SOLID;
    }
    int kept = a->flags[at] & (KP_CELL_RELEASED | KP_CELL_LOOSE);
    a->flags[at] = (uint8_t)(kind | (is_near ? KP_CELL_NEAR_SOLID : 0) | kept);
  }
}
