#include "run/band_points.h"

#include <math.h>

#include "base/memory.h"
#include "data/mac_sample.h"

typedef struct band_grid {
  const kp_mac *mac;
  const kp_real *depth;
  const uint8_t *flags;
  kp_mac_velocity faces;
  double least;
} band_grid;

static bool is_deep(const band_grid *b, int32_t i, int32_t j, int32_t k) {
  int64_t at = kp_mac_at(&b->mac->view, i, j, k);
  return (double)b->depth[at] >= b->least && (b->flags[at] & KP_CELL_KIND) != KP_CELL_SOLID;
}

static int64_t count_deep(const band_grid *b) {
  const int32_t *lo = b->mac->window_lo, *hi = b->mac->window_hi;
  int64_t n = 0;
  for (int32_t k = lo[2]; k < hi[2]; ++k) {
    for (int32_t j = lo[1]; j < hi[1]; ++j) {
      for (int32_t i = lo[0]; i < hi[0]; ++i) {
        n += is_deep(b, i, j, k) ? 1 : 0;
      }
    }
  }
  return n;
}

static kp_result make_room(kp_band_points *p, int64_t n) {
  if (p->capacity >= n) {
    return KP_OK;
  }
  kp_band_points_free(p);
  bool ok = true;
  for (int c = 0; c < 3; ++c) {
    p->x[c] = kp_alloc((size_t)n * sizeof *p->x[c], KP_MEMORY_MESH);
    p->speed[c] = kp_alloc((size_t)n * sizeof *p->speed[c], KP_MEMORY_MESH);
    ok = ok && p->x[c] != NULL && p->speed[c] != NULL;
  }
  p->capacity = ok ? n : 0;
  return ok ? KP_OK : KP_ERROR_MEMORY;
}

// `m` points along each axis; a flat grid has them in its plane.
static void fill_cell(kp_band_points *p, const band_grid *b, const int32_t cell[3], int m) {
  const kp_mac_view *g = &b->mac->view;
  int layers = g->dimension == 2 ? 1 : m;
  for (int s = 0; s < m * m * layers; ++s) {
    const int sub[3] = { s % m, s / m % m, s / (m * m) };
    double place[3];
    for (int c = 0; c < 3; ++c) {
      place[c] = g->lo[c] + (cell[c] + (sub[c] + 0.5) / m) * g->cell;
      p->x[c][p->n] = c == 2 && g->dimension == 2 ? 0.0 : place[c];
    }
    kp_real v[3];
    kp_mac_velocity_at(g, b->faces, place[0], place[1], place[2], v);
    for (int c = 0; c < 3; ++c) {
      p->speed[c][p->n] = v[c];
    }
    ++p->n;
  }
}

static kp_result read_grid(band_grid *b, const kp_mac *mac, kp_field *depth) {
  kp_field *flags = kp_space_find(mac->space, "flags");
  kp_field *velocity = kp_space_find(mac->space, "velocity");
  void *memory[5];
  KP_TRY(kp_buffer_get(&depth->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory[0]));
  KP_TRY(kp_buffer_get(&flags->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory[1]));
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_get(&velocity->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, &memory[2 + c]));
  }
  b->depth = memory[0];
  b->flags = memory[1];
  b->faces = (kp_mac_velocity){ memory[2], memory[3], memory[4] };
  return KP_OK;
}

kp_result kp_band_points_find(kp_band_points *points, const kp_mac *mac, kp_field *depth,
                              double least, double spacing) {
  band_grid b = { .mac = mac, .least = least };
  KP_TRY(read_grid(&b, mac, depth));
  int m = (int)fmax(1.0, floor(mac->view.cell / spacing + 0.5));
  int64_t per_cell = (int64_t)m * m * (mac->view.dimension == 2 ? 1 : m);
  KP_TRY(make_room(points, count_deep(&b) * per_cell));
  points->n = 0;
  const int32_t *lo = mac->window_lo, *hi = mac->window_hi;
  for (int32_t k = lo[2]; k < hi[2]; ++k) {
    for (int32_t j = lo[1]; j < hi[1]; ++j) {
      for (int32_t i = lo[0]; i < hi[0]; ++i) {
        if (is_deep(&b, i, j, k)) {
          const int32_t cell[3] = { i, j, k };
          fill_cell(points, &b, cell, m);
        }
      }
    }
  }
  return KP_OK;
}

void kp_band_points_free(kp_band_points *points) {
  for (int c = 0; c < 3; ++c) {
    kp_free(points->x[c]);
    kp_free(points->speed[c]);
  }
  *points = (kp_band_points){ 0 };
}
