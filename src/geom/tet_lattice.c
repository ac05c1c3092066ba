#include "geom/tet_lattice.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

// Cells that come nearer to the surface than this are of the finest kind. A point that moves onto
// the surface, or an edge that crosses it, is a part of tetrahedra within two finest cells of it.
#define ALIKE 2.0
#define MAX_LEVELS 6
#define MAX_CELLS ((int32_t)1 << 20)  // along an axis: three coordinates in a key
#define MAX_POINTS 1e9                // of a lattice whose cells are all alike
#define MAX_OCTANTS ((size_t)1 << 29)

// ---- maps ---------------------------------------------------------------------------------------

static size_t slot_of(const kp_lattice_map *map, uint64_t key) {
  size_t slot = (size_t)kp_hash_mix(key) & (map->capacity - 1);
  while (map->keys[slot] != 0 && map->keys[slot] != key) {
    slot = (slot + 1) & (map->capacity - 1);
  }
  return slot;
}

static kp_result grow(kp_lattice_map *map) {
  kp_lattice_map larger = { .count = map->count,
                            .capacity = map->capacity > 0 ? 2 * map->capacity : 1024 };
  larger.keys = kp_alloc_zero(larger.capacity * sizeof *larger.keys, KP_MEMORY_MESH);
  larger.values = kp_alloc(larger.capacity * sizeof *larger.values, KP_MEMORY_MESH);
  if (larger.keys == NULL || larger.values == NULL) {
    kp_lattice_map_free(&larger);
    return kp_fail(KP_ERROR_MEMORY, "no memory for a lattice of %zu points", map->count);
  }
  for (size_t s = 0; s < map->capacity; ++s) {
    if (map->keys[s] != 0) {
      size_t slot = slot_of(&larger, map->keys[s]);
      larger.keys[slot] = map->keys[s];
      larger.values[slot] = map->values[s];
    }
  }
  kp_lattice_map_free(map);
  *map = larger;
  return KP_OK;
}

kp_result kp_lattice_map_put(kp_lattice_map *map, uint64_t key, int32_t value) {
  if (2 * (map->count + 1) > map->capacity) {
    KP_TRY(grow(map));
  }
  size_t slot = slot_of(map, key);
  map->count += map->keys[slot] == 0;
  map->keys[slot] = key;
  map->values[slot] = value;
  return KP_OK;
}

int32_t kp_lattice_map_get(const kp_lattice_map *map, uint64_t key) {
  if (map->capacity == 0) {
    return -1;
  }
  size_t slot = slot_of(map, key);
  return map->keys[slot] == key ? map->values[slot] : -1;
}

void kp_lattice_map_free(kp_lattice_map *map) {
  kp_free(map->keys);
  kp_free(map->values);
  *map = (kp_lattice_map){ 0 };
}

// ---- cells --------------------------------------------------------------------------------------

// By level and place in cells of that level.
static uint64_t cell_key(int level, const int32_t at[3]) {
  return (uint64_t)(level + 1) << 60 | (uint64_t)at[2] << 40 | (uint64_t)at[1] << 20 |
         (uint64_t)at[0];
}

static int32_t find_cell(const kp_tet_lattice *l, int level, const int32_t at[3]) {
  return kp_lattice_map_get(&l->cell_of, cell_key(level, at));
}

static bool is_in_domain(const kp_tet_lattice *l, int level, const int32_t at[3]) {
  for (int c = 0; c < 3; ++c) {
    if (at[c] < 0 || at[c] >= l->roots[c] << (l->levels - level)) {
      return false;
    }
  }
  return true;
}

static kp_result add_cell(kp_tet_lattice *l, int level, const int32_t at[3]) {
  if (l->cells.count >= MAX_OCTANTS) {
    return kp_fail(KP_ERROR_SCENE, "a spacing of %g m gives more than 2^29 cells", l->h);
  }
  kp_lattice_cell cell = { .level = (int8_t)level };
  for (int c = 0; c < 3; ++c) {
    cell.at[c] = at[c] << level;
  }
  KP_TRY(kp_lattice_map_put(&l->cell_of, cell_key(level, at), (int32_t)l->cells.count));
  return kp_array_push(&l->cells, cell);
}

// The children of a cell find cells of their own or of twice their width across faces and edges, so
// those around the cell have to be there; each call is for a larger cell.
// NOLINTNEXTLINE(misc-no-recursion)
static kp_result split(kp_tet_lattice *l, int level, const int32_t at[3]) {
  int32_t number = find_cell(l, level, at);
  if (number < 0) {
    const int32_t parent[3] = { at[0] >> 1, at[1] >> 1, at[2] >> 1 };
    KP_TRY(split(l, level + 1, parent));
    number = find_cell(l, level, at);
  }
  if (l->cells.data[number].is_split) {
    return KP_OK;
  }
  l->cells.data[number].is_split = true;
  for (int k = 0; k < 8; ++k) {
    int32_t child[3];
    for (int c = 0; c < 3; ++c) {
      child[c] = 2 * at[c] + ((k >> c) & 1);
    }
    KP_TRY(add_cell(l, level - 1, child));
  }
  for (int k = 0; k < 27 && level < l->levels; ++k) {
    const int32_t step[3] = { k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1 };
    int32_t beside[3];
    for (int c = 0; c < 3; ++c) {
      beside[c] = at[c] + step[c];
    }
    bool is_corner = step[0] != 0 && step[1] != 0 && step[2] != 0;
    if (is_corner || !is_in_domain(l, level, beside) || find_cell(l, level, beside) >= 0) {
      continue;
    }
    const int32_t parent[3] = { beside[0] >> 1, beside[1] >> 1, beside[2] >> 1 };
    KP_TRY(split(l, level + 1, parent));
  }
  return KP_OK;
}

// A cell may stay whole when it keeps off the surface, and is not too large for its depth.
static bool may_stay(const kp_tet_lattice *l, const kp_lattice_cell *cell) {
  double width = (double)(1 << cell->level), middle = 0.5 * width;
  kp_vec3 place = kp_vec3_make(l->origin.x + l->h * ((double)cell->at[0] + middle),
                               l->origin.y + l->h * ((double)cell->at[1] + middle),
                               l->origin.z + l->h * ((double)cell->at[2] + middle));
  double phi = l->distance(l->self, place) / l->h;
  double depth = fabs(phi) - sqrt(0.75) * width;  // of the cell's nearest point, in finest cells
  return depth > ALIKE && (phi > 0.0 || width <= 1.0 + l->grade * depth);
}

static kp_result split_all(kp_tet_lattice *l) {
  for (size_t k = 0; k < l->cells.count; ++k) {
    kp_lattice_cell cell = l->cells.data[k];
    if (cell.level == 0 || cell.is_split || may_stay(l, &cell)) {
      continue;
    }
    const int32_t at[3] = { cell.at[0] >> cell.level, cell.at[1] >> cell.level,
                            cell.at[2] >> cell.level };
    KP_TRY(split(l, cell.level, at));
  }
  return KP_OK;
}

kp_lattice_beside kp_tet_lattice_beside(const kp_tet_lattice *lattice, const kp_lattice_cell *cell,
                                        int axis, int sign) {
  int32_t at[3];
  for (int c = 0; c < 3; ++c) {
    at[c] = (cell->at[c] >> cell->level) + (c == axis ? sign : 0);
  }
  if (!is_in_domain(lattice, cell->level, at)) {
    return KP_BESIDE_NOTHING;
  }
  int32_t number = find_cell(lattice, cell->level, at);
  return number < 0                             ? KP_BESIDE_LARGER
         : lattice->cells.data[number].is_split ? KP_BESIDE_SMALLER
                                                : KP_BESIDE_EQUAL;
}

// ---- points -------------------------------------------------------------------------------------

static uint64_t point_key(const int32_t at[3]) {
  return (uint64_t)1 << 63 | (uint64_t)at[2] << 42 | (uint64_t)at[1] << 21 | (uint64_t)at[0];
}

int64_t kp_tet_lattice_find(const kp_tet_lattice *lattice, const int32_t at[3]) {
  for (int c = 0; c < 3; ++c) {
    if (at[c] < 0 || at[c] > 2 * (lattice->roots[c] << lattice->levels)) {
      return -1;
    }
  }
  return kp_lattice_map_get(&lattice->point_of, point_key(at));
}

kp_vec3 kp_tet_lattice_place(const kp_tet_lattice *lattice, int64_t point) {
  const int32_t *at = lattice->points.data[point].at;
  return kp_vec3_make(lattice->origin.x + lattice->h * (0.5 * (double)at[0]),
                      lattice->origin.y + lattice->h * (0.5 * (double)at[1]),
                      lattice->origin.z + lattice->h * (0.5 * (double)at[2]));
}

static kp_result add_point(kp_tet_lattice *l, kp_lattice_point p) {
  uint64_t key = point_key(p.at);
  if (kp_lattice_map_get(&l->point_of, key) >= 0) {
    return KP_OK;
  }
  KP_TRY(kp_lattice_map_put(&l->point_of, key, (int32_t)l->points.count));
  return kp_array_push(&l->points, p);
}

static kp_result add_points(kp_tet_lattice *l) {
  for (size_t k = 0; k < l->cells.count; ++k) {
    const kp_lattice_cell *cell = &l->cells.data[k];
    int32_t width = 1 << cell->level;
    for (int corner = 0; corner < 9 && !cell->is_split; ++corner) {
      kp_lattice_point p;
      for (int c = 0; c < 3; ++c) {
        int32_t add = corner == 8 ? width : 2 * width * ((corner >> c) & 1);
        p.at[c] = 2 * cell->at[c] + add;
      }
      KP_TRY(add_point(l, p));
    }
  }
  return KP_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

// The middle of the lattice is that of the solid, and two finest cells are left on every side.
static kp_result lay_roots(kp_tet_lattice *l, kp_aabb bounds) {
  kp_vec3 size = kp_vec3_sub(bounds.max, bounds.min);
  const double lengths[3] = { size.x, size.y, size.z };
  double cells[3], n_points = 2.0, most = 0.0;
  for (int c = 0; c < 3; ++c) {
    cells[c] = ceil(lengths[c] / l->h) + 4.0;
    n_points *= cells[c] + 1.0;
    most = fmax(most, cells[c]);
  }
  // graded lattices are large where the surface is
  double faces = cells[0] * cells[1] + cells[1] * cells[2] + cells[2] * cells[0];
  n_points = l->grade > 0.0 ? fmin(n_points, 40.0 * faces) : n_points;
  if (!(n_points < MAX_POINTS) || !(most < 0.5 * MAX_CELLS)) {
    return kp_fail(KP_ERROR_SCENE, "a spacing of %g m gives more than 2^30 lattice points", l->h);
  }
  // cells of one size: no octree, so that nothing is asked of the slope of the distance
  while (l->grade > 0.0 && l->levels < MAX_LEVELS && (double)(2 << l->levels) <= most) {
    ++l->levels;
  }
  for (int c = 0; c < 3; ++c) {
    l->roots[c] = (int32_t)ceil(cells[c] / (double)(1 << l->levels));
  }
  kp_vec3 middle = kp_vec3_scale(kp_vec3_add(bounds.min, bounds.max), 0.5);
  l->origin = kp_vec3_make(middle.x - 0.5 * l->h * cells[0], middle.y - 0.5 * l->h * cells[1],
                           middle.z - 0.5 * l->h * cells[2]);
  for (int32_t z = 0; z < l->roots[2]; ++z) {
    for (int32_t y = 0; y < l->roots[1]; ++y) {
      for (int32_t x = 0; x < l->roots[0]; ++x) {
        const int32_t at[3] = { x, y, z };
        KP_TRY(add_cell(l, l->levels, at));
      }
    }
  }
  return KP_OK;
}

static int compare_cells(const void *left, const void *right) {
  const kp_lattice_cell *a = left, *b = right;
  for (int c = 2; c >= 0; --c) {
    if (a->at[c] != b->at[c]) {
      return a->at[c] < b->at[c] ? -1 : 1;
    }
  }
  return a->level - b->level;
}

static kp_result sort_cells(kp_tet_lattice *l) {
  qsort(l->cells.data, l->cells.count, sizeof *l->cells.data, compare_cells);
  for (size_t k = 0; k < l->cells.count; ++k) {
    const kp_lattice_cell *cell = &l->cells.data[k];
    const int32_t at[3] = { cell->at[0] >> cell->level, cell->at[1] >> cell->level,
                            cell->at[2] >> cell->level };
    KP_TRY(kp_lattice_map_put(&l->cell_of, cell_key(cell->level, at), (int32_t)k));
  }
  return KP_OK;
}

kp_result kp_tet_lattice_build(kp_tet_lattice *lattice, kp_aabb bounds) {
  KP_TRY(lay_roots(lattice, bounds));
  KP_TRY(split_all(lattice));
  KP_TRY(sort_cells(lattice));
  return add_points(lattice);
}

void kp_tet_lattice_free(kp_tet_lattice *lattice) {
  kp_array_free(&lattice->cells);
  kp_array_free(&lattice->points);
  kp_lattice_map_free(&lattice->cell_of);
  kp_lattice_map_free(&lattice->point_of);
}
