// Marker cells: kinds, the rule of cases at the surface, explicit viscosity, and how markers move.
#pragma once

#include "data/cells.h"
#include "data/mac.h"
#include "data/mac_sample.h"
#include "par/kernel.h"

#define MARKER_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  ROW(marker, flags)                                                                               \
  ROW(marker, kinds)                                                                               \
  ROW(marker, open)                                                                                \
  ROW(marker, rest_air)                                                                            \
  ROW(marker, diffuse)                                                                             \
  POINT(marker, move)

enum { MARKER_AIR, MARKER_SURFACE, MARKER_FULL, MARKER_SOLID };

typedef struct marker_flags_args {
  kp_mac_view grid;
  kp_cells_view cells;  // dense; its pointers are not set
  const uint32_t *cell_start;
  const kp_pos *x, *y, *z;
  uint8_t *flags;
} marker_flags_args;

// Whether the cell from lo to hi holds a marker. Cells of the markers need not lie as those of the
// grid.
KP_FN int marker_is_held(const marker_flags_args *a, const kp_cells_view *cells, const double lo[3],
                         const double hi[3]) {
  int is_flat = a->grid.dimension == 2;
  int32_t x0 = kp_cells_coordinate(lo[0], cells->inverse_edge);
  int32_t x1 = kp_cells_coordinate(hi[0], cells->inverse_edge);
  int32_t y0 = kp_cells_coordinate(lo[1], cells->inverse_edge);
  int32_t y1 = kp_cells_coordinate(hi[1], cells->inverse_edge);
  int32_t z0 = is_flat ? 0 : kp_cells_coordinate(lo[2], cells->inverse_edge);
  int32_t z1 = is_flat ? 0 : kp_cells_coordinate(hi[2], cells->inverse_edge);
  for (int32_t z = z0; z <= z1; ++z) {
    for (int32_t y = y0; y <= y1; ++y) {
      uint32_t begin;
      uint32_t end;
      kp_cells_range(cells, x0, x1, y, z, &begin, &end);
      for (uint32_t p = begin; p < end; ++p) {
        int is_in = a->x[p] >= lo[0] && a->x[p] < hi[0] && a->y[p] >= lo[1] && a->y[p] < hi[1] &&
                    (is_flat || (a->z[p] >= lo[2] && a->z[p] < hi[2]));
        if (is_in) {
          return 1;
        }
      }
    }
  }
  return 0;
}

KP_FN void marker_flags(int64_t j, int64_t k, int64_t i0, int64_t i1, const marker_flags_args *a) {
  const kp_mac_view *g = &a->grid;
  kp_cells_view cells = a->cells;
  cells.cell_start = a->cell_start;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int old = a->flags[at];
    const double item[3] = { (double)i, (double)j, (double)k };
    double lo[3];
    double hi[3];
    for (int c = 0; c < 3; ++c) {
      lo[c] = g->lo[c] + g->cell * item[c];
      hi[c] = g->lo[c] + g->cell * (item[c] + 1.0);
    }
    int is_solid = (old & KP_CELL_KIND) == KP_CELL_SOLID;
    int is_wet = !is_solid && cells.n > 0 && marker_is_held(a, &cells, lo, hi);
    int kind = is_wet ? KP_CELL_FLUID : KP_CELL_AIR;
    a->flags[at] = (uint8_t)(is_solid ? old : ((old & ~KP_CELL_KIND) | kind));
  }
}

typedef struct marker_kinds_args {
  kp_mac_view grid;
  const uint8_t *flags;
  kp_real *kind;
} marker_kinds_args;

// Beyond a side that is no cell: walls are not air, open sides are.
KP_FN int marker_is_air(const kp_mac_view *g, const uint8_t *flags, int64_t at) {
  int64_t cell[3];
  kp_mac_cell_of(g, at, cell);
  for (int c = 0; c < g->dimension; ++c) {
    if (!g->is_periodic[c] && (cell[c] < 0 || cell[c] >= g->n[c])) {
      return 0;
    }
  }
  return (flags[at] & KP_CELL_KIND) == KP_CELL_AIR;
}

KP_FN int marker_air_sides(const kp_mac_view *g, const uint8_t *flags, int64_t at) {
  int n = 0;
  for (int c = 0; c < g->dimension; ++c) {
    int64_t up = kp_mac_stride(g, c);
    n += marker_is_air(g, flags, at - up) + marker_is_air(g, flags, at + up);
  }
  return n;
}

KP_FN void marker_kinds(int64_t j, int64_t k, int64_t i0, int64_t i1, const marker_kinds_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int kind = a->flags[at] & KP_CELL_KIND;
    int wet = marker_air_sides(g, a->flags, at) > 0 ? MARKER_SURFACE : MARKER_FULL;
    a->kind[at] = (kp_real)(kind == KP_CELL_SOLID   ? MARKER_SOLID
                            : kind == KP_CELL_FLUID ? wet
                                                    : MARKER_AIR);
  }
}

typedef struct marker_open_args {
  kp_mac_view grid;
  int32_t axis;
  const uint8_t *flags;
  const kp_real *u, *v, *w;
  kp_real *out;  // the component across the axis
} marker_open_args;

// The sum of what flows out of cell `at` through all faces but its two across `axis`, over an area
// of a face.
KP_FN kp_real marker_other_flux(const marker_open_args *a, int64_t at) {
  const kp_mac_view *g = &a->grid;
  const kp_real *component[3] = { a->u, a->v, a->w };
  kp_real sum = 0;
  for (int c = 0; c < g->dimension; ++c) {
    sum += c == a->axis ? (kp_real)0 : component[c][at + kp_mac_stride(g, c)] - component[c][at];
  }
  return sum;
}

// Faces between a surface cell and air (Hong 2009, section II.B, with case 3 repaired):
//   one side open         the cell's divergence vanishes
//   more                  an open face copies the face opposite to it, unless that is open too
// With three open sides in 2D this is: the one opposite the liquid copies, the others fly on.
KP_FN void marker_open(int64_t j, int64_t k, int64_t i0, int64_t i1, const marker_open_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t back = kp_mac_stride(g, a->axis);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int is_left = (a->flags[at - back] & KP_CELL_KIND) == KP_CELL_FLUID;
    int is_right = (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID;
    int64_t air = is_left ? at : at - back;
    if (is_left == is_right || !marker_is_air(g, a->flags, air)) {
      continue;
    }
    int64_t cell = is_left ? at - back : at;
    int64_t opposite = is_left ? at - back : at + back;  // the cell's face on the other side
    int64_t behind = is_left ? at - 2 * back : at + back;
    kp_real flux = marker_other_flux(a, cell);
    if (marker_air_sides(g, a->flags, cell) == 1) {
      a->out[at] = is_left ? a->out[opposite] - flux : a->out[opposite] + flux;
    } else if (!marker_is_air(g, a->flags, behind)) {
      a->out[at] = a->out[opposite];
    }
  }
}

typedef struct marker_rest_air_args {
  kp_mac_view grid;
  int32_t axis;
  const uint8_t *flags;
  kp_real *velocity;
} marker_rest_air_args;

// Faces in the air are at rest until velocity is spread to them: nothing limits steps there, and
// air that goes on falling makes the explicit scheme unstable.
KP_FN void marker_rest_air(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const marker_rest_air_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t back = kp_mac_stride(g, a->axis);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int is_air = marker_is_air(g, a->flags, at) && marker_is_air(g, a->flags, at - back);
    a->velocity[at] = is_air ? 0 : a->velocity[at];
  }
}

typedef struct marker_diffuse_args {
  kp_mac_view grid;
  kp_real rate;  // nu dt / h^2
  const kp_real *in;
  kp_real *out;
} marker_diffuse_args;

// u += dt nu lap u, explicit.
KP_FN void marker_diffuse(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const marker_diffuse_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t at = kp_mac_at(g, 0, j, k);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    kp_real sum = 0;
    for (int c = 0; c < g->dimension; ++c) {
      int64_t up = kp_mac_stride(g, c);
      sum += (a->in[i + up] - a->in[i]) - (a->in[i] - a->in[i - up]);
    }
    a->out[i] = a->in[i] + a->rate * sum;
  }
}

typedef struct marker_move_args {
  kp_mac_view grid;
  double dt;
  int32_t is_midpoint;
  const kp_real *u, *v, *w;
  const kp_real *solid;  // distance at corners; NULL: none
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
} marker_move_args;

KP_FN double marker_solid_at(const marker_move_args *a, const double x[3]) {
  return (double)kp_mac_linear(&a->grid, a->solid,
                               kp_mac_point_at(&a->grid, KP_MAC_NODE, x[0], x[1], x[2]));
}

// Out of solids along the gradient of their distance.
KP_FN void marker_leave(const marker_move_args *a, double x[3]) {
  const kp_mac_view *g = &a->grid;
  double d = marker_solid_at(a, x);
  double n[3] = { 0.0, 0.0, 0.0 };
  double square = 0.0;
  for (int c = 0; c < g->dimension && d < 0.0; ++c) {
    double p[3] = { x[0], x[1], x[2] };
    p[c] = x[c] + 0.5 * g->cell;
    n[c] = marker_solid_at(a, p);
    p[c] = x[c] - 0.5 * g->cell;
    n[c] -= marker_solid_at(a, p);
    square += n[c] * n[c];
  }
  double scale = square > 0.0 ? -d / sqrt(square) : 0.0;
  for (int c = 0; c < g->dimension; ++c) {
    x[c] += scale * n[c];
  }
}

KP_FN void marker_move(int64_t i, const marker_move_args *a) {
  const kp_mac_view *g = &a->grid;
  kp_mac_velocity f = { a->u, a->v, a->w };
  double x[3] = { a->x[i], a->y[i], a->z[i] };
  kp_real v[3];
  kp_mac_velocity_at(g, f, x[0], x[1], x[2], v);
  if (a->is_midpoint) {
    double half = 0.5 * a->dt;
    kp_mac_velocity_at(g, f, x[0] + half * (double)v[0], x[1] + half * (double)v[1],
                       x[2] + half * (double)v[2], v);
  }
  for (int c = 0; c < 3; ++c) {
    x[c] += a->dt * (double)v[c];
  }
  if (a->solid != NULL) {
    marker_leave(a, x);
  }
  a->x[i] = x[0];
  a->y[i] = x[1];
  a->z[i] = g->dimension == 2 ? 0.0 : x[2];
  a->vx[i] = v[0];
  a->vy[i] = v[1];
  a->vz[i] = v[2];
}
