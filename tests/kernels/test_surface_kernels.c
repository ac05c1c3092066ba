// Lattices of samples over the window of a grid, sample by sample, and which blocks of samples lie
// clear of walls.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "geom/grid_surface_kernels.h"
#include "geom/surface_points.h"

#define MOST 4096

typedef struct window {
  grid_surface_frame f;
  kp_real cells[MOST];
  uint8_t flags[MOST];
  float values[MOST], out[MOST];
} window;

// Window `way`: a bit for each side at which it is narrower than the grid.
static window *make(int way, kp_test_random *r) {
  window *w = calloc(1, sizeof *w);
  assert_non_null(w);
  kp_mac_view *g = &w->f.g;
  *g = (kp_mac_view){
    .n = { 6, 5, 4 }, .lo = { -0.5, 1.0, -2.0 }, .dimension = 3, .cell = 0.25, .h = (kp_real)0.25
  };
  g->row = g->n[0] + 2 * KP_MAC_GHOSTS;
  g->slab = g->row * (g->n[1] + 2 * KP_MAC_GHOSTS);
  g->start = KP_MAC_GHOSTS * (1 + g->row + g->slab);
  g->count = (int64_t)g->slab * (g->n[2] + 2 * KP_MAC_GHOSTS);
  kp_lattice *l = &w->f.l;
  double origin[3];
  for (int c = 0; c < 3; ++c) {
    w->f.lo[c] = way >> (2 * c) & 1;
    w->f.hi[c] = g->n[c] - (way >> (2 * c + 1) & 1);
    l->n[c] = w->f.hi[c] - w->f.lo[c] + 2;
    origin[c] = g->lo[c] + (w->f.lo[c] - 0.5) * g->cell;
  }
  l->origin = kp_vec3_make(origin[0], origin[1], origin[2]);
  l->spacing = g->cell;
  l->row = l->n[0];
  l->slab = l->n[0] * l->n[1];
  assert_true(g->count <= MOST && l->slab * l->n[2] <= MOST);
  for (int i = 0; i < MOST; ++i) {
    w->cells[i] = (kp_real)kp_test_uniform(r, -1.0, 1.0);
    w->values[i] = (float)kp_test_uniform(r, -1.0, 1.0);
    w->flags[i] = kp_test_integer(r, 0, 2) == 0 ? KP_CELL_SOLID : KP_CELL_FLUID;
  }
  return w;
}

static float value_at(const window *w, const int64_t at[3]) {
  return w->values[grid_surface_at(&w->f.l, at[0], at[1], at[2])];
}

// The nearest cell; what lies beyond a side of the window that is none of the grid is air.
static float expected_window(const window *w, const int64_t at[3]) {
  int64_t cell[3];
  bool is_air = false;
  for (int c = 0; c < 3; ++c) {
    int64_t inner = at[c] < 1 ? 1 : at[c] > w->f.l.n[c] - 2 ? w->f.l.n[c] - 2 : at[c];
    cell[c] = w->f.lo[c] + inner - 1;
    is_air =
        is_air || (at[c] < inner && w->f.lo[c] > 0) || (at[c] > inner && w->f.hi[c] < w->f.g.n[c]);
  }
  float value = (float)w->cells[kp_mac_at(&w->f.g, cell[0], cell[1], cell[2])];
  return is_air ? fmaxf(value, 0.25f) : value;
}

// In a solid the least of the sample and those around it, but for the outermost layer.
static float expected_grow(const window *w, const int64_t at[3]) {
  bool is_inner = true;
  for (int c = 0; c < 3; ++c) {
    is_inner = is_inner && at[c] > 0 && at[c] < w->f.l.n[c] - 1;
  }
  float least = value_at(w, at);
  int64_t cell =
      kp_mac_at(&w->f.g, w->f.lo[0] - 1 + at[0], w->f.lo[1] - 1 + at[1], w->f.lo[2] - 1 + at[2]);
  for (int side = 0; side < 6 && is_inner && w->flags[cell] == KP_CELL_SOLID; ++side) {
    int64_t beside[3] = { at[0], at[1], at[2] };
    beside[side / 2] += side % 2 ? 1 : -1;
    least = fminf(least, value_at(w, beside));
  }
  return least;
}

static float expected_clip(const window *w, const int64_t at[3]) {
  float value = value_at(w, at);
  const double origin[3] = { w->f.l.origin.x, w->f.l.origin.y, w->f.l.origin.z };
  for (int c = 0; c < 3; ++c) {
    double x = origin[c] + 0.25 * (double)at[c], lo = w->f.g.lo[c];
    value = fmaxf(value, (float)fmax(lo - x, x - (lo + 0.25 * w->f.g.n[c])));
  }
  return value;
}

static void test_windows_of_grids(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(1);
  for (int way = 0; way < 64; ++way) {
    window *w = make(way, &r);
    const kp_lattice *l = &w->f.l;
    for (int which = 0; which < 3; ++which) {
      grid_surface_window_args window_args = { w->f, w->cells, w->out };
      grid_surface_grow_args grow_args = { w->f, w->flags, w->values, w->out };
      grid_surface_clip_args clip_args = { w->f, w->out };
      for (int64_t i = 0; i < MOST; ++i) {
        w->out[i] = w->values[i];
      }
      for (int64_t j = 0; j < l->n[1]; ++j) {
        for (int64_t k = 0; k < l->n[2]; ++k) {
          if (which == 0) {
            grid_surface_window(j, k, 0, l->n[0], &window_args);
          } else if (which == 1) {
            grid_surface_grow(j, k, 0, l->n[0], &grow_args);
          } else {
            grid_surface_clip(j, k, 0, l->n[0], &clip_args);
          }
          for (int64_t i = 0; i < l->n[0]; ++i) {
            const int64_t at[3] = { i, j, k };
            float expected = which == 0   ? expected_window(w, at)
                             : which == 1 ? expected_grow(w, at)
                                          : expected_clip(w, at);
            assert_near(w->out[grid_surface_at(l, i, j, k)], expected, 1e-6);
          }
        }
      }
    }
    free(w);
  }
}

// A block is clear of walls when all its samples lie within what walls leave.
static void test_blocks_clear_of_walls(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(2);
  int n_clear[2] = { 0 };
  for (int n = 0; n < 20000; ++n) {
    int is_flat = n % 2;
    int32_t at[1][3];
    kp_blocks b = { .edge = (int32_t)kp_test_integer(&r, 4, 8), .n = 1, .at = at };
    b.depth = is_flat ? 3 : b.edge;
    kp_surface_walls w;
    bool is_clear = true;
    for (int c = 0; c < 3; ++c) {
      at[0][c] = is_flat && c == 2 ? 0 : (int32_t)kp_test_integer(&r, -2, 1);
      w.lo[c] = kp_test_integer(&r, -20, 2);
      w.hi[c] = kp_test_integer(&r, 0, 20);
      int64_t first = is_flat && c == 2 ? -1 : (int64_t)at[0][c] * b.edge;
      for (int k = 0; k < (c == 2 ? b.depth : b.edge); ++k) {
        is_clear = is_clear && first + k >= w.lo[c] && first + k <= w.hi[c];
      }
    }
    assert_true(kp_surface_is_clear(&w, &b, 0) == is_clear);
    n_clear[is_flat] += is_clear;
  }
  assert_true(n_clear[0] > 100 && n_clear[1] > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_windows_of_grids),
    cmocka_unit_test(test_blocks_clear_of_walls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
