// Rows of the sweeps: where the springs of a node stand in the arrays of a solver.
#include <stdio.h>

#include "base/memory.h"
#include "methods/deform/deform_sweep.h"
#include "methods/deform/deform_sweep_kernels.h"

#include "support/deform.h"

// A ball of edges: its middle is joined to all nodes, so that its row is far longer than others.
static kp_world *make_ball(void) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  kp_world *world = kp_test_world(&s);
  kp_soft_def def = kp_default_soft_def();
  snprintf(def.name, sizeof def.name, "body");
  def.model = KP_SOFT_EDGES;
  def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.3);
  def.spacing = 0.05;
  def.self = false;
  assert_ok(kp_world_add_soft(world, &def));
  assert_ok(kp_world_build(world));
  return world;
}

// Of the springs as the body has them, which join each pair of nodes once.
static int32_t *springs_of_nodes(kp_deform *d) {
  int64_t n = d->set->space->n;
  int32_t *count = kp_alloc_zero((size_t)n * sizeof *count, KP_MEMORY_TEST);
  const int32_t *a = kp_buffer_host(&d->springs.a, KP_ACCESS_READ);
  const int32_t *b = kp_buffer_host(&d->springs.b, KP_ACCESS_READ);
  for (int64_t k = 0; k < d->groups.data[0].springs.n; ++k) {
    ++count[a[k]];
    ++count[b[k]];
  }
  return count;
}

typedef struct rows {
  const kp_sweep *s;
  const int32_t *node, *wide, *owner, *start, *pair;
  int64_t n;  // slices of rows
} rows;

static rows rows_of(kp_sweep *s) {
  return (rows){ .s = s,
                 .node = kp_buffer_host(&s->node, KP_ACCESS_READ),
                 .wide = kp_buffer_host(&s->wide, KP_ACCESS_READ),
                 .owner = kp_buffer_host(&s->owner, KP_ACCESS_READ),
                 .start = kp_buffer_host(&s->start, KP_ACCESS_READ),
                 .pair = kp_buffer_host(&s->pair, KP_ACCESS_READ),
                 .n = s->rows / SWEEP_SLICE };
}

static bool is_wide(const rows *r, int64_t slice) {
  return r->wide[2 * slice] < r->wide[2 * slice + 1];
}

// Both ends of a spring have an entry of it: in their row, or in the shares of a wide one.
static void springs_are_entries_of_both_ends(void **state) {
  (void)state;
  kp_world *world = make_ball();
  kp_deform *d = kp_test_deform(world);
  rows r = rows_of(d->sweeps[d->groups.data[0].scheme]);
  int32_t *left = springs_of_nodes(d);
  for (int64_t k = 0; k < 2 * r.s->slices; ++k) {
    int64_t slice = k % r.s->slices;
    for (int64_t e = r.start[k]; e < r.start[k + 1]; ++e) {
      int64_t row = slice < r.n ? slice * SWEEP_SLICE + e % SWEEP_SLICE : r.owner[slice - r.n];
      if (r.pair[e] > 0) {  // the record before all others holds nothing
        assert_true(r.node[row] >= 0);
        --left[r.node[row]];
      }
    }
  }
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    assert_int_equal(left[i], 0);
  }
  kp_free(left);
  kp_world_destroy(&world);
}

// A wide row stands alone in its slice: entries there would be padded for all rows that are none,
// and be the work of one thread.
static void wide_rows_have_entries_in_shares_alone(void **state) {
  (void)state;
  kp_world *world = make_ball();
  kp_deform *d = kp_test_deform(world);
  rows r = rows_of(d->sweeps[d->groups.data[0].scheme]);
  int32_t *count = springs_of_nodes(d);
  int n_wide = 0;
  for (int64_t slice = 0; slice < r.n; ++slice) {
    for (int64_t l = 0; l < SWEEP_SLICE; ++l) {
      int32_t node = r.node[slice * SWEEP_SLICE + l];
      // 256 is where rows begin to be wide
      assert_true((node >= 0 && count[node] > 256) == (l == 0 && is_wide(&r, slice)));
    }
    if (is_wide(&r, slice)) {
      ++n_wide;
      for (int side = 0; side < 2; ++side) {
        const int32_t *start = r.start + side * r.s->slices;
        assert_int_equal(start[slice + 1] - start[slice], 0);
      }
    }
  }
  assert_int_equal(n_wide, 1);
  for (int64_t k = 0; k < 2 * r.s->slices; ++k) {
    assert_true(k % r.s->slices < r.n || r.start[k + 1] - r.start[k] <= SWEEP_SHARE * SWEEP_SLICE);
  }
  kp_free(count);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(springs_are_entries_of_both_ends),
    cmocka_unit_test(wide_rows_have_entries_in_shares_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
