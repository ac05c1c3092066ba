#include "data/baselines/gather_search.h"

#include <math.h>

#include "base/memory.h"
#include "data/baselines/bitonic.h"

static int32_t cell_on_axis(double x, double origin, double edge, int32_t dim) {
  double c = floor((x - origin) / edge);
  return c < 0.0 ? 0 : c >= dim ? dim - 1 : (int32_t)c;
}

static int64_t cell_of(const kp_gather_search *s, const kp_points *p, int64_t i) {
  int64_t x = cell_on_axis(p->x[i], s->origin.x, s->edge, s->dims[0]);
  int64_t y = cell_on_axis(p->y[i], s->origin.y, s->edge, s->dims[1]);
  int64_t z = cell_on_axis(p->z[i], s->origin.z, s->edge, s->dims[2]);
  return (z * s->dims[1] + y) * s->dims[0] + x;
}

// Calls the body with `nb` for the cell c and its neighbours inside the grid, in a fixed order.
#define FOR_NEIGHBOURS(s, c, nb, body)                                                             \
  do {                                                                                             \
    int64_t cx = (c) % (s)->dims[0];                                                               \
    int64_t cy = (c) / (s)->dims[0] % (s)->dims[1];                                                \
    int64_t cz = (c) / (s)->dims[0] / (s)->dims[1];                                                \
    for (int64_t k = 0; k < 27; ++k) {                                                             \
      int64_t nx = cx + k % 3 - 1;                                                                 \
      int64_t ny = cy + k / 3 % 3 - 1;                                                             \
      int64_t nz = cz + k / 9 - 1;                                                                 \
      if (nx >= 0 && ny >= 0 && nz >= 0 && nx < (s)->dims[0] && ny < (s)->dims[1] &&               \
          nz < (s)->dims[2]) {                                                                     \
        int64_t nb = (nz * (s)->dims[1] + ny) * (s)->dims[0] + nx;                                 \
        body                                                                                       \
      }                                                                                            \
    }                                                                                              \
  } while (0)

// R and G of a cell: binary search for its first entry, then a walk until the key changes.
static void gather_cell(kp_gather_search *s, int64_t c) {
  int64_t a = 0;
  int64_t b = s->n_points;
  while (a < b) {
    int64_t m = a + (b - a) / 2;
    if ((int64_t)(s->sorted[m] >> 32) < c) {
      a = m + 1;
    } else {
      b = m;
    }
  }
  s->map[c].first = (uint32_t)a;
  while (a < s->n_points && (int64_t)(s->sorted[a] >> 32) == c) {
    ++a;
  }
  s->map[c].count = (uint32_t)a - s->map[c].first;
}

// The particle that belongs into place t of the table.
static uint32_t gather_entry(const kp_gather_search *s, int64_t t) {
  // the last cell whose block begins at or before t; empty blocks before it begin there too
  int64_t a = 0;
  int64_t b = s->n_cells;
  while (b - a > 1) {
    int64_t m = a + (b - a) / 2;
    if ((int64_t)s->map[m].block <= t) {
      a = m;
    } else {
      b = m;
    }
  }
  int64_t offset = t - s->map[a].block;
  FOR_NEIGHBOURS(s, a, nb, {
    if (offset < s->map[nb].count) {
      return (uint32_t)s->sorted[s->map[nb].first + offset];
    }
    offset -= s->map[nb].count;
  });
  return 0;
}

static kp_result fill(kp_gather_search *s, const kp_points *points) {
  for (int64_t i = 0; i < s->n_points; ++i) {
    s->sorted[i] = (uint64_t)cell_of(s, points, i) << 32 | (uint64_t)i;
  }
  KP_TRY(kp_bitonic_sort(s->sorted, s->n_points, &s->sort_passes));
  for (int64_t c = 0; c < s->n_cells; ++c) {
    gather_cell(s, c);
  }
  uint32_t total = 0;
  for (int64_t c = 0; c < s->n_cells; ++c) {
    s->map[c].neighbours = 0;
    FOR_NEIGHBOURS(s, c, nb, { s->map[c].neighbours += s->map[nb].count; });
    s->map[c].block = total;
    total += s->map[c].neighbours;
  }
  s->n_table = total;
  s->table = kp_alloc(total * sizeof *s->table, KP_MEMORY_GRID);
  if (s->table == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t t = 0; t < s->n_table; ++t) {
    s->table[t] = gather_entry(s, t);
  }
  return KP_OK;
}

kp_result kp_gather_search_build(kp_gather_search *s, const kp_points *points, const kp_aabb *box,
                                 double edge) {
  const double size[3] = { box->max.x - box->min.x, box->max.y - box->min.y,
                           box->max.z - box->min.z };
  *s = (kp_gather_search){ .origin = box->min, .edge = edge, .n_points = points->n, .n_cells = 1 };
  for (int d = 0; d < 3; ++d) {
    s->dims[d] = (int32_t)(size[d] / edge) + 1;
    s->n_cells *= s->dims[d];
  }
  s->sorted = kp_alloc((size_t)s->n_points * sizeof *s->sorted, KP_MEMORY_GRID);
  s->map = kp_alloc((size_t)s->n_cells * sizeof *s->map, KP_MEMORY_GRID);
  kp_result result = s->sorted == NULL || s->map == NULL ? KP_ERROR_MEMORY : fill(s, points);
  if (result != KP_OK) {
    kp_gather_search_free(s);
  }
  return result;
}

void kp_gather_search_free(kp_gather_search *s) {
  kp_free(s->sorted);
  kp_free(s->map);
  kp_free(s->table);
  *s = (kp_gather_search){ .edge = s->edge };
}

void kp_gather_search_range(const kp_gather_search *s, const kp_points *points, int64_t i,
                            uint32_t *begin, uint32_t *end) {
  const kp_gather_cell *cell = &s->map[cell_of(s, points, i)];
  *begin = cell->block;
  *end = cell->block + cell->neighbours;
}
