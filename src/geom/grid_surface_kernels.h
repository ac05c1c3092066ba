// Kernels that make a lattice of samples from the level set of a grid, and read the velocity of the
// grid at the vertices of a mesh. Rows are those of the lattice: the window of the grid and one
// layer around it.
#pragma once

#include "data/mac_sample.h"
#include "geom/marching_cubes.h"
#include "par/kernel.h"

#define GRID_SURFACE_KERNELS(POINT, REDUCE, ROW, PAIR)                                             \
  ROW(grid_surface, window)                                                                        \
  ROW(grid_surface, grow)                                                                          \
  ROW(grid_surface, clip)                                                                          \
  POINT(grid_surface, velocity)

// A grid and the lattice over its window.
typedef struct grid_surface_frame {
  kp_mac_view g;
  int32_t lo[3], hi[3];  // cells of the window, hi exclusive
  kp_lattice l;          // without values
} grid_surface_frame;

KP_FN int64_t grid_surface_at(const kp_lattice *l, int64_t i, int64_t j, int64_t k) {
  return i + j * l->row + k * l->slab;
}

typedef struct grid_surface_window_args {
  grid_surface_frame f;
  const kp_real *from;
  float *to;
} grid_surface_window_args;

// The nearest cell of the window along an axis; *is_air where only the window ends and not the
// domain.
KP_FN int32_t grid_surface_cell(const grid_surface_frame *f, int axis, int64_t at, bool *is_air) {
  int32_t cell = f->lo[axis] - 1 + (int32_t)at, lo = f->lo[axis], hi = f->hi[axis];
  *is_air = *is_air || (cell < lo && lo != 0) || (cell >= hi && hi != f->g.n[axis]);
  return cell < lo ? lo : cell >= hi ? hi - 1 : cell;
}

// The layer around the window repeats the nearest cell where the domain ends and is air elsewhere.
KP_FN void grid_surface_window(int64_t j, int64_t k, int64_t i0, int64_t i1,
                               const grid_surface_window_args *a) {
  bool is_row_air = false;
  int32_t y = grid_surface_cell(&a->f, 1, j, &is_row_air);
  int32_t z = grid_surface_cell(&a->f, 2, k, &is_row_air);
  float *to = a->to + grid_surface_at(&a->f.l, 0, j, k), cell = (float)a->f.g.cell;
  for (int64_t i = i0; i < i1; ++i) {
    bool is_air = is_row_air;
    int32_t x = grid_surface_cell(&a->f, 0, i, &is_air);
    float value = (float)a->from[kp_mac_at(&a->f.g, x, y, z)];
    to[i] = is_air && value < cell ? cell : value;
  }
}

typedef struct grid_surface_grow_args {
  grid_surface_frame f;
  const uint8_t *flags;  // of cells
  const float *from;
  float *to;
} grid_surface_grow_args;

KP_FN float grid_surface_less(float a, float b) {
  return b < a ? b : a;
}

// One layer of liquid into solids: there a level set is what the solid left of it, and its own
// surface around the solid would be seen through the water.
KP_FN void grid_surface_grow(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const grid_surface_grow_args *a) {
  const kp_lattice *l = &a->f.l;
  bool is_rim = j == 0 || k == 0 || j == l->n[1] - 1 || k == l->n[2] - 1;
  const float *from = a->from + grid_surface_at(l, 0, j, k);
  float *to = a->to + grid_surface_at(l, 0, j, k);
  int64_t cell = kp_mac_at(&a->f.g, a->f.lo[0] - 1, a->f.lo[1] - 1 + j, a->f.lo[2] - 1 + k);
  for (int64_t i = i0; i < i1; ++i) {
    float least = from[i];
    if (!is_rim && i > 0 && i < l->n[0] - 1 &&
        (a->flags[cell + i] & KP_CELL_KIND) == KP_CELL_SOLID) {
      least = grid_surface_less(least, grid_surface_less(from[i - 1], from[i + 1]));
      least = grid_surface_less(least, grid_surface_less(from[i - l->row], from[i + l->row]));
      least = grid_surface_less(least, grid_surface_less(from[i - l->slab], from[i + l->slab]));
    }
    to[i] = least;
  }
}

typedef struct grid_surface_clip_args {
  grid_surface_frame f;
  float *values;
} grid_surface_clip_args;

// How far sample `at` of the lattice lies outside the grid along an axis; below 0: inside.
KP_FN double grid_surface_outside(const grid_surface_frame *f, int axis, int64_t at) {
  double lo = f->g.lo[axis], hi = lo + f->g.cell * f->g.n[axis];
  double origin = axis == 0 ? f->l.origin.x : axis == 1 ? f->l.origin.y : f->l.origin.z;
  double x = origin + f->l.spacing * (double)at;
  return lo - x > x - hi ? lo - x : x - hi;
}

// A surface that goes on beyond the grid ends at its faces: max(value, signed distance to its box).
KP_FN void grid_surface_clip(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const grid_surface_clip_args *a) {
  double y = grid_surface_outside(&a->f, 1, j), z = grid_surface_outside(&a->f, 2, k);
  double row = y > z ? y : z;
  float *values = a->values + grid_surface_at(&a->f.l, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    double x = grid_surface_outside(&a->f, 0, i);
    float distance = (float)(x > row ? x : row);
    values[i] = values[i] > distance ? values[i] : distance;
  }
}

typedef struct grid_surface_velocity_args {
  kp_mac_view g;
  const kp_real *u, *v, *w;
  const kp_vec3 *points;
  int64_t n;
  float *out;  // x of all points, then y, then z
} grid_surface_velocity_args;

KP_FN void grid_surface_velocity(int64_t i, const grid_surface_velocity_args *a) {
  kp_mac_velocity faces;
  kp_real v[3];
  faces.u = a->u;
  faces.v = a->v;
  faces.w = a->w;
  kp_vec3 p = a->points[i];
  kp_mac_velocity_at(&a->g, faces, p.x, p.y, p.z, v);
  for (int c = 0; c < 3; ++c) {
    a->out[c * a->n + i] = (float)v[c];
  }
}
