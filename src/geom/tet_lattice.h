// The lattice that solids are filled from: cells of an octree, all alike near a surface and larger
// with their distance from it. Its points are the corners and the middles of the cells, and its
// tetrahedra join them (Labelle and Shewchuk 2007, section 3.2); where all cells are alike that is
// the body-centred cubic lattice.
//
// Cells that share a face or an edge differ by at most a factor of two. Serial and deterministic.
#pragma once

#include "base/array.h"
#include "geom/tetrahedra.h"

typedef struct kp_lattice_cell {
  int32_t at[3];  // its lowest corner, in finest cells
  int8_t level;   // it is 2^level finest cells wide
  bool is_split;
} kp_lattice_cell;

typedef struct kp_lattice_point {
  int32_t at[3];  // in halves of finest cells
} kp_lattice_point;

// From keys to numbers; open addressing.
typedef struct kp_lattice_map {
  uint64_t *keys;  // 0: empty
  int32_t *values;
  size_t count, capacity;
} kp_lattice_map;

typedef struct kp_tet_lattice {
  kp_distance_fn distance;
  const void *self;
  kp_vec3 origin;
  double h;          // m, width of the finest cells
  double grade;      // width that cells may gain per depth
  int levels;        // cells of this level fill the domain
  int32_t roots[3];  // how many along each axis
  KP_ARRAY(kp_lattice_cell) cells;
  KP_ARRAY(kp_lattice_point) points;  // of the cells that are not split
  kp_lattice_map cell_of, point_of;
} kp_tet_lattice;

// `distance`, `self`, `h` and `grade` are set. Afterwards cells are in order: by z, y and x.
KP_NODISCARD kp_result kp_tet_lattice_build(kp_tet_lattice *lattice, kp_aabb bounds);
void kp_tet_lattice_free(kp_tet_lattice *lattice);

// The point at a place, in halves of finest cells; -1: none.
int64_t kp_tet_lattice_find(const kp_tet_lattice *lattice, const int32_t at[3]);
kp_vec3 kp_tet_lattice_place(const kp_tet_lattice *lattice, int64_t point);

typedef enum kp_lattice_beside {
  KP_BESIDE_NOTHING,
  KP_BESIDE_LARGER,
  KP_BESIDE_EQUAL,
  KP_BESIDE_SMALLER,
} kp_lattice_beside;

// What lies across the face of a cell towards `sign` on an axis.
kp_lattice_beside kp_tet_lattice_beside(const kp_tet_lattice *lattice, const kp_lattice_cell *cell,
                                        int axis, int sign);

// A map with room for numbers from 0; keys are not 0.
KP_NODISCARD kp_result kp_lattice_map_put(kp_lattice_map *map, uint64_t key, int32_t value);
int32_t kp_lattice_map_get(const kp_lattice_map *map, uint64_t key);  // -1: none
void kp_lattice_map_free(kp_lattice_map *map);
