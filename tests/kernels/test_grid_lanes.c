// Loops over faces that were written for vectors, against one face at a time: coefficients and
// correction of the pressure, velocity beyond the fluid, and the way back of the cells of a narrow
// band. Equal bits are asked for, wherever rows are cut.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "methods/common/flow_kernels.h"
#include "methods/flip/flip_band_kernels.h"

#define MOST 8192

typedef struct arrays {
  kp_mac_view g;
  uint8_t flags[MOST], known[MOST], next[MOST];
  kp_real a[3][MOST], b[MOST], c[MOST], d[MOST], out[3][MOST], expect[3][MOST];
} arrays;

static kp_mac_view view_of(int dimension, int is_periodic) {
  kp_mac_view g = { .n = { 35, 9, dimension == 3 ? 7 : 1 },
                    .is_periodic = { is_periodic, is_periodic, is_periodic && dimension == 3 },
                    .dimension = dimension,
                    .cell = 0.25,
                    .h = (kp_real)0.25,
                    .inverse_h = 4 };
  int32_t thick = dimension == 3 ? KP_MAC_GHOSTS : 0;
  g.row = g.n[0] + 2 * KP_MAC_GHOSTS;
  g.slab = g.row * (g.n[1] + 2 * KP_MAC_GHOSTS);
  g.start = KP_MAC_GHOSTS * (1 + g.row) + thick * g.slab;
  g.count = (int64_t)g.slab * (g.n[2] + 2 * thick);
  return g;
}

static arrays *make(int way, kp_test_random *r) {
  arrays *s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->g = view_of(way & 1 ? 3 : 2, (way & 2) != 0);
  assert_true(s->g.count <= MOST);
  for (int64_t i = 0; i < s->g.count; ++i) {
    for (int c = 0; c < 3; ++c) {
      s->a[c][i] = (kp_real)kp_test_uniform(r, -2.0, 2.0);
    }
    s->b[i] = (kp_real)kp_test_uniform(r, -1.0, 1.0);
    s->c[i] = (kp_real)kp_test_uniform(r, -0.2, 1.0);
    s->c[i] = s->c[i] > 0 ? s->c[i] : (kp_real)0;
    s->d[i] = (kp_real)kp_test_uniform(r, 0.0, 1.0);
  }
  for (int64_t k = 0; k < s->g.n[2]; ++k) {
    for (int64_t j = 0; j < s->g.n[1]; ++j) {
      for (int64_t i = 0; i < s->g.n[0]; ++i) {
        double u = kp_test_uniform(r, 0.0, 1.0);
        s->flags[kp_mac_at(&s->g, i, j, k)] =
            u < 0.5 ? KP_CELL_FLUID : (u < 0.9 ? KP_CELL_AIR : KP_CELL_SOLID);
      }
    }
  }
  return s;
}

// Every face across an axis, by `row` in two cuts and by `one` alone.
#define EACH_ROW(s, axis, row)                                                                     \
  for (int64_t k = 0; k < (s)->g.n[2] + ((axis) == 2); ++k) {                                      \
    for (int64_t j = 0; j < (s)->g.n[1] + ((axis) == 1); ++j) {                                    \
      int64_t end = (s)->g.n[0] + ((axis) == 0);                                                   \
      row                                                                                          \
    }                                                                                              \
  }

static const flow_sides closed = { .is_closed = { { 1, 1 }, { 1, 0 }, { 0, 1 } } };

static void coefficients_are_those_of_single_faces(void **state) {
  (void)state;
  for (int way = 0; way < 16; ++way) {
    kp_test_random r = kp_test_random_begin(3 + (uint64_t)way);
    arrays *s = make(way, &r);
    const kp_mac_view *g = &s->g;
    static const flow_sides open;
    for (int axis = 0; axis < g->dimension; ++axis) {
      flow_coefficients_args a = { .grid = *g,
                                   .sides = g->is_periodic[axis] ? open : closed,
                                   .axis = axis,
                                   .inverse_density = (kp_real)0.001,
                                   .flags = s->flags,
                                   .fraction = way & 4 ? s->d : NULL,
                                   .distance = way & 8 ? s->b : NULL,
                                   .coefficient = s->out[0] };
      EACH_ROW(s, axis, {
        flow_coefficients(j, k, 0, 13, &a);
        flow_coefficients(j, k, 13, end, &a);
        for (int64_t i = 0; i < end; ++i) {
          int64_t at = kp_mac_at(g, i, j, k);
          int64_t along = flow_along(axis, i, j, k);
          int64_t before = kp_mac_before(g, axis, along, at);
          int left = flow_kind(s->flags, before);
          int right = flow_kind(s->flags, at);
          kp_real c = (kp_real)0.001 * (a.fraction != NULL ? a.fraction[at] : (kp_real)1);
          if (a.distance != NULL && left != right) {
            c /= left == KP_CELL_FLUID ? flow_theta(s->b[before], s->b[at])
                                       : flow_theta(s->b[at], s->b[before]);
          }
          int is_wet = left == KP_CELL_FLUID || right == KP_CELL_FLUID;
          int is_shut = left == KP_CELL_SOLID || right == KP_CELL_SOLID;
          is_shut = is_shut || flow_side_of(g, &a.sides, axis, along) >= 0;
          assert_true(s->out[0][at] == (is_wet && !is_shut ? c : (kp_real)0));
        }
      })
    }
    free(s);
  }
}

static void correction_is_that_of_single_faces(void **state) {
  (void)state;
  for (int way = 0; way < 8; ++way) {
    kp_test_random r = kp_test_random_begin(43 + (uint64_t)way);
    arrays *s = make(way, &r);
    const kp_mac_view *g = &s->g;
    for (int axis = 0; axis < g->dimension; ++axis) {
      flow_correct_args a = { .grid = *g,
                              .axis = axis,
                              .dt = (kp_real)0.01,
                              .flags = s->flags,
                              .coefficient = s->d,
                              .fraction = way & 4 ? s->c : NULL,
                              .pressure = s->a[0],
                              .rest = s->b,
                              .velocity = s->out[0] };
      EACH_ROW(s, axis, {
        for (int64_t i = 0; i < end; ++i) {
          int64_t at = kp_mac_at(g, i, j, k);
          int64_t before = kp_mac_before(g, axis, flow_along(axis, i, j, k), at);
          kp_real l = flow_kind(s->flags, before) == KP_CELL_FLUID ? 1 : 0;
          kp_real h = flow_kind(s->flags, at) == KP_CELL_FLUID ? 1 : 0;
          kp_real open = a.fraction != NULL ? a.fraction[at] : (kp_real)1;
          kp_real step = h * s->a[0][at] - l * s->a[0][before];
          step += h * s->b[at] - l * s->b[before];
          kp_real scale = a.dt * g->inverse_h;
          s->expect[0][at] =
              s->out[0][at] - (open > 0 ? scale * s->d[at] / open * step : (kp_real)0);
        }
        flow_correct(j, k, 0, 13, &a);
        flow_correct(j, k, 13, end, &a);
        for (int64_t at = kp_mac_at(g, 0, j, k); at < kp_mac_at(g, end, j, k); ++at) {
          assert_true(s->out[0][at] == s->expect[0][at]);
        }
      })
    }
    free(s);
  }
}

static void spreading_is_that_of_single_faces(void **state) {
  (void)state;
  for (int way = 0; way < 4; ++way) {
    kp_test_random r = kp_test_random_begin(83 + (uint64_t)way);
    arrays *s = make(way, &r);
    const kp_mac_view *g = &s->g;
    for (int64_t i = 0; i < g->count; ++i) {
      // a few long runs that are known, and rows where nothing is
      s->known[i] = (i / 90) % 5 == 0 && kp_test_uniform(&r, 0.0, 1.0) < 0.7;
      s->out[0][i] = s->a[0][i];
    }
    flow_spread_args a = {
      .grid = *g, .known = s->known, .known_next = s->next, .velocity = s->out[0]
    };
    EACH_ROW(s, 0, {
      flow_spread(j, k, 0, 13, &a);
      flow_spread(j, k, 13, end, &a);
      for (int64_t i = 0; i < end; ++i) {
        int64_t at = kp_mac_at(g, i, j, k);
        kp_real sum = 0;
        int n = 0;
        for (int c = 0; c < 2 * g->dimension; ++c) {
          int64_t beside = at + (c % 2 ? 1 : -1) * kp_mac_stride(g, c / 2);
          sum += s->known[beside] ? s->a[0][beside] : (kp_real)0;
          n += s->known[beside];
        }
        bool is_new = !s->known[at] && n > 0;
        assert_true(s->next[at] == (s->known[at] || n > 0));
        assert_true(s->out[0][at] == (is_new ? sum / (kp_real)n : s->a[0][at]));
      }
    })
    free(s);
  }
}

// The flow of the arrays, slow or fast, backwards, and a shift before it.
static void cells_go_back_as_single_ones_do(void **state) {
  (void)state;
  for (int way = 0; way < 6; ++way) {
    kp_test_random r = kp_test_random_begin(97 + (uint64_t)way);
    arrays *s = make(1 + 2 * (way % 2), &r);
    const kp_mac_view *g = &s->g;
    const double dt[] = { 0.02, 0.4, 2.0 };
    flip_band_trace_args a = { .carry = { .grid = *g,
                                          .dt = -dt[way / 2],
                                          .trace = 1,
                                          .velocity = { s->a[0], s->a[1], s->a[2] },
                                          .shift = { s->a[1], s->a[2], s->a[0] },
                                          .per_shift = (kp_real)0.1 },
                               .in = s->d,
                               .flags = s->flags };
    for (int has_lanes = 0; has_lanes < 2; ++has_lanes) {
      a.has_lanes = has_lanes;
      a.out = has_lanes ? s->b : s->c;
      for (int c = 0; c < 3; ++c) {
        a.way[c] = has_lanes ? s->out[c] : s->expect[c];
      }
      EACH_ROW(s, -1, {
        flip_band_trace(j, k, 0, 13, &a);
        flip_band_trace(j, k, 13, end, &a);
      })
    }
    EACH_ROW(s, -1, {
      for (int64_t at = kp_mac_at(g, 0, j, k); at < kp_mac_at(g, end, j, k); ++at) {
        assert_true(s->b[at] == s->c[at]);
        for (int c = 0; c < 3; ++c) {
          assert_true(s->out[c][at] == s->expect[c][at]);
        }
      }
    })
    free(s);
  }
}

// In an even flow every cell comes from as far as the flow goes in a step, the shift added; in two
// dimensions from nowhere along z. By each rule, in one stretch or in many.
static void cells_of_an_even_flow_go_back_alike(void **state) {
  (void)state;
  const double flow[3] = { 0.7, -0.5, 0.3 };
  const double dt[] = { 0.02, 2.0 };
  for (int way = 0; way < 12; ++way) {
    kp_test_random r = kp_test_random_begin(111 + (uint64_t)way);
    arrays *s = make(way % 2, &r);
    const kp_mac_view *g = &s->g;
    for (int64_t i = 0; i < g->count; ++i) {
      for (int c = 0; c < 3; ++c) {
        s->a[c][i] = (kp_real)flow[c];
      }
    }
    flip_band_trace_args a = { .carry = { .grid = *g,
                                          .dt = -dt[way / 2 % 2],
                                          .trace = way / 4,
                                          .velocity = { s->a[0], s->a[1], s->a[2] },
                                          .shift = { s->a[1], s->a[2], s->a[0] },
                                          .per_shift = (kp_real)0.1 },
                               .has_lanes = way / 4 == 1,
                               .in = s->d,
                               .out = s->c,
                               .flags = s->flags,
                               .way = { s->out[0], s->out[1], s->out[2] } };
    EACH_ROW(s, -1, {
      flip_band_trace(j, k, 0, end, &a);
      for (int64_t at = kp_mac_at(g, 0, j, k); at < kp_mac_at(g, end, j, k); ++at) {
        for (int c = 0; c < g->dimension; ++c) {
          double shift = 0.1 * flow[(c + 1) % 3];
          double cells = -dt[way / 2 % 2] / g->cell * flow[c] - shift;
          assert_near(s->out[c][at], cells, KP_TOL(1e-5, 1e-13));
        }
        assert_true(g->dimension == 3 || s->out[2][at] == 0);
      }
    })
    free(s);
  }
}

#define MOST_BLOCKS 1024

// Which blocks stay air, cut anywhere; how many?
static int find_calm(const arrays *s, double dt, kp_real calm[MOST_BLOCKS]) {
  flip_blocks b = flip_blocks_of(&s->g);
  kp_real speed[2][MOST_BLOCKS] = { { 0 } };
  int n_calm = 0;
  assert_true(b.slab * (b.n[2] + 2) <= MOST_BLOCKS);
  flip_band_speed_args a = { .grid = s->g,
                             .scale = (kp_real)dt * s->g.inverse_h,
                             .shift = (kp_real)0.5,
                             .depth = s->d,
                             .velocity = { s->a[0], s->a[1], s->a[2] },
                             .speed = speed[0] };
  for (int round = -1; round <= FLIP_BLOCK_ROUNDS; ++round) {
    flip_band_calm_args c = { .blocks = b,
                              .most = (kp_real)(FLIP_BLOCK * round),
                              .in = speed[round & 1],
                              .out = speed[1 - (round & 1)],
                              .calm = calm };
    for (int k = 0; k < b.n[2]; ++k) {
      for (int j = 0; j < b.n[1]; ++j) {
        for (int i = 0; i < b.n[0]; i += 5) {
          int end = i + 5 < b.n[0] ? i + 5 : b.n[0];
          if (round < 0) {
            flip_band_speed(j, k, i, end, &a);
          } else {
            flip_band_calm(j, k, i, end, &c);
          }
        }
      }
    }
  }
  for (int i = 0; i < MOST_BLOCKS; ++i) {
    n_calm += calm[i] > 0;
  }
  return n_calm;
}

// Liquid at one end: cells that nothing can reach are left out, and no other cell sees it.
static void cells_left_out_stay_air(void **state) {
  (void)state;
  const double dt[] = { 0.02, 0.4, 3.0 };
  const bool has_calm[] = { true, true, false };
  for (int way = 0; way < 3; ++way) {
    kp_test_random r = kp_test_random_begin(131 + (uint64_t)way);
    arrays *s = make(1, &r);
    const kp_mac_view *g = &s->g;
    for (int64_t at = 0; at < g->count; ++at) {
      s->d[at] = at % g->row - KP_MAC_GHOSTS < 6 ? 1 + s->d[at] : (kp_real)0;
      s->c[at] = 0;
    }
    kp_real calm[MOST_BLOCKS] = { 0 };
    int n_calm = find_calm(s, dt[way], calm);
    assert_true((n_calm > 0) == has_calm[way]);
    flip_band_trace_args a = { .carry = { .grid = *g,
                                          .dt = -dt[way],
                                          .trace = 1,
                                          .velocity = { s->a[0], s->a[1], s->a[2] },
                                          .shift = { s->a[1], s->a[2], s->a[0] },
                                          .per_shift = (kp_real)0.2 },
                               .has_lanes = 1,
                               .in = s->d,
                               .flags = s->flags };
    for (int leaves = 0; leaves < 2; ++leaves) {
      a.calm = leaves ? calm : NULL;
      a.out = leaves ? s->b : s->c;
      for (int c = 0; c < 3; ++c) {
        a.way[c] = leaves ? s->out[c] : s->expect[c];
      }
      EACH_ROW(s, -1, {
        flip_band_trace(j, k, 0, 13, &a);
        flip_band_trace(j, k, 13, end, &a);
      })
    }
    // of cells with liquid on either side the ways are asked for
    EACH_ROW(s, -1, {
      for (int64_t i = 0; i < end; ++i) {
        int64_t at = kp_mac_at(g, i, j, k);
        assert_true(s->b[at] == s->c[at]);
        for (int c = 0; c < 6; ++c) {
          int64_t beside = at + (c % 2 ? 1 : -1) * kp_mac_stride(g, c / 2);
          for (int axis = 0; axis < 3 && s->c[beside] > 0; ++axis) {
            assert_true(s->out[axis][at] == s->expect[axis][at]);
          }
        }
      }
    })
    free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(coefficients_are_those_of_single_faces),
    cmocka_unit_test(correction_is_that_of_single_faces),
    cmocka_unit_test(spreading_is_that_of_single_faces),
    cmocka_unit_test(cells_go_back_as_single_ones_do),
    cmocka_unit_test(cells_of_an_even_flow_go_back_alike),
    cmocka_unit_test(cells_left_out_stay_air),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
