// Histories of velocities against a plain model per particle id, on the cpu and the mirror backend:
// sums survive sorts, emission, removal, compaction, rewind and load; weights follow the times.
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/history.h"
#include "data/set.h"

#include "support/claims.h"

#define SLOTS 6
#define MOST 400
#define STEPS 64

static const kp_backend_kind kinds[] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
#define N_KINDS (sizeof kinds / sizeof kinds[0])

typedef struct world {
  kp_backend *backend;
  kp_registry *registry;
  kp_set *set;
  kp_field *sum;
  kp_history history;
  kp_buffer order, keep;
  kp_snapshot *snapshot;
} world;

static void world_open(world *w, kp_backend_kind kind, int dimension, double interval) {
  memset(w, 0, sizeof *w);
  assert_ok(kp_backend_create(kind, &w->backend));
  assert_ok(kp_registry_create(w->backend, &w->registry));
  assert_ok(kp_set_create(w->registry, "water", KP_SET_FREE, dimension, &w->set));
  const kp_field_desc sum = { "sum", KP_TYPE_REAL, 3, "", 0, 0.0 };
  assert_ok(kp_space_add_field(w->set->space, &sum, &w->sum));
  assert_ok(
      kp_history_create(w->set->space, dimension, "water.history", SLOTS, interval, &w->history));
  kp_buffer_init(&w->order, w->backend);
  kp_buffer_init(&w->keep, w->backend);
}

static void world_close(world *w) {
  kp_snapshot_free(&w->snapshot);
  kp_buffer_free(&w->order);
  kp_buffer_free(&w->keep);
  kp_history_free(&w->history);
  kp_set_destroy(&w->set);
  kp_registry_destroy(&w->registry);
  kp_backend_destroy(&w->backend);
}

static kp_real *host(kp_field *field, int c, kp_access access) {
  return kp_buffer_host(&field->buffers[c], access);
}

// The velocity of a particle at a time: smooth, and of its own.
static double velocity_of(kp_gid id, int c, double t) {
  return sin((double)(id % 97 + 1) * 0.3 + (1.0 + 0.1 * c) * t);
}

static void set_velocities(world *w, double t) {
  const kp_gid *ids = kp_buffer_host(&w->set->id->buffers[0], KP_ACCESS_READ);
  for (int c = 0; c < w->set->dimension; ++c) {
    kp_real *v = host(w->set->velocity, c, KP_ACCESS_WRITE);
    for (int64_t i = 0; i < w->set->space->n; ++i) {
      v[i] = (kp_real)velocity_of(ids[i], c, t);
    }
  }
}

// The model: when each particle came, and when the samples were taken.
typedef struct model {
  double born[MOST];
  double times[STEPS];  // of all samples so far
  int n_times;
} model;

// What the sum must be: a past before birth has the velocity of the birth.
static double expected(const model *m, const kp_history_rule *rule, kp_gid id, int c, double t) {
  double ages[SLOTS + 2] = { 0.0 };
  double w[SLOTS + 2];
  int n = m->n_times < SLOTS ? m->n_times : SLOTS;
  for (int k = 1; k <= n; ++k) {
    ages[k] = t - m->times[m->n_times - k];
  }
  int extra = rule->end == KP_FRAC_INTERIOR && m->n_times > SLOTS ? 1 : 0;
  ages[n + extra] = extra ? 2.0 * ages[n] - ages[n - 1] : ages[n];
  double gain = kp_frac_weights_at(rule->order, n + extra, ages, rule->memory, w);
  gain -= extra ? w[n + 1] : 0.0;
  if (rule->is_unit_sum && gain == 0.0) {
    return velocity_of(id, c, t);
  }
  double sum = 0.0;
  for (int k = 0; k <= n; ++k) {
    double at = k == 0 ? t : m->times[m->n_times - k];
    sum += w[k] * velocity_of(id, c, at > m->born[id] ? at : m->born[id]);
  }
  return rule->is_unit_sum ? sum / gain : sum;
}

// What claims tell: the largest difference of all runs, and how many sums were compared.
static double worst_sum;
static double n_sums;

static void check(world *w, const model *m, const kp_history_rule *rule, double t) {
  const kp_gid *ids = kp_buffer_host(&w->set->id->buffers[0], KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    const kp_real *sum = host(w->sum, c, KP_ACCESS_READ);
    for (int64_t i = 0; i < w->set->space->n; ++i) {
      if (c >= w->set->dimension) {
        assert_true(sum[i] == (kp_real)0);
      } else {
        double want = expected(m, rule, ids[i], c, t);
        assert_near((double)sum[i], want, KP_TOL(2e-6, 1e-13));
        worst_sum = kp_test_most(worst_sum, fabs((double)sum[i] - want));
        n_sums += 1.0;
      }
    }
  }
}

static void emit(world *w, model *m, double t, int n) {
  kp_vec3 zeros[MOST] = { 0 };
  for (int i = 0; i < n; ++i) {
    m->born[w->set->next_id + (kp_gid)i] = t;
  }
  assert_ok(kp_set_add(w->set, n, zeros, zeros));
}

static void shuffle(world *w, kp_test_random *random) {
  int64_t n = w->set->space->n;
  assert_ok(kp_buffer_resize(&w->order, (size_t)n * sizeof(uint32_t)));
  uint32_t *order = kp_buffer_host(&w->order, KP_ACCESS_OVERWRITE);
  for (int64_t i = 0; i < n; ++i) {
    int64_t j = kp_test_integer(random, 0, i);
    order[i] = order[j];
    order[j] = (uint32_t)i;
  }
  assert_ok(kp_space_permute(w->set->space, &w->order));
}

static void thin_out(world *w, kp_test_random *random) {
  int64_t n = w->set->space->n;
  assert_ok(kp_buffer_resize(&w->keep, (size_t)n * sizeof(uint32_t)));
  uint32_t *keep = kp_buffer_host(&w->keep, KP_ACCESS_OVERWRITE);
  for (int64_t i = 0; i < n; ++i) {
    keep[i] = kp_test_uniform(random, 0.0, 1.0) < 0.9;
  }
  assert_ok(kp_space_remove(w->set->space, &w->keep));
}

static void step(world *w, model *m, const kp_history_rule *rule, double t) {
  set_velocities(w, t);
  assert_ok(kp_history_weigh(&w->history, rule, t));
  bool is_due = kp_history_clock_is_due(&w->history.clock, t);
  assert_ok(kp_history_sum(&w->history, w->set->velocity, w->sum, true));
  check(w, m, rule, t);
  if (is_due) {
    m->times[m->n_times++] = t;
  }
}

typedef struct plan {
  int dimension;
  double interval;
  kp_history_rule rule;
} plan;

static void random_case(kp_test_random *random, void *user) {
  const plan *p = user;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    static model m;
    static model saved;
    memset(&m, 0, sizeof m);
    world_open(&w, kinds[k], p->dimension, p->interval);
    emit(&w, &m, 0.0, 50);
    double t = 0.0;
    double t_saved = 0.0;
    for (int s = 0; s < 30; ++s) {
      step(&w, &m, &p->rule, t);
      t += kp_test_uniform(random, 0.005, 0.02);
      shuffle(&w, random);
      if (s % 4 == 1) {
        thin_out(&w, random);
        emit(&w, &m, t, 8);
      }
      if (s % 7 == 3) {
        assert_ok(kp_space_compact_cold(w.set->space));
      }
      if (s == 9) {
        saved = m;
        t_saved = t;
        assert_ok(kp_registry_save(w.registry, &w.snapshot));
      }
      if (s == 17) {
        m = saved;
        t = t_saved;
        assert_ok(kp_registry_rewind(w.registry, w.snapshot));
      }
    }
    world_close(&w);
  }
}

static void test_every_step(void **state) {
  (void)state;
  plan p = { 3, 0.0, { KP_FRAC_WINDOW, 0.5, HUGE_VAL, false } };
  kp_test_for_seeds(4, random_case, &p);
  p.rule.is_unit_sum = true;
  p.dimension = 2;
  kp_test_for_seeds(4, random_case, &p);
  p.rule.end = KP_FRAC_INTERIOR;
  p.rule.order = 0.2;
  kp_test_for_seeds(4, random_case, &p);
}

static void test_window_in_seconds(void **state) {
  (void)state;
  plan p = { 3, 0.03, { KP_FRAC_WINDOW, 0.7, 0.15, false } };
  kp_test_for_seeds(4, random_case, &p);
  p.rule.is_unit_sum = true;
  kp_test_for_seeds(4, random_case, &p);
}

static void test_rows_follow_particles(void **state) {
  (void)state;
  kp_claim claim = { .id = "ozgen-O3",
                     .text = "histories stay with their particles through sorts, births and deaths",
                     .size = "30 steps of 50 to 110 particles, windows of 6 samples and of 0.15 s, "
                             "cpu and mirror; rewound and compacted on the way" };
  kp_claim_status status =
      kp_claim_all(&claim,
                   { "largest difference of a sum from one kept per particle [m/s]", worst_sum,
                     KP_AT_MOST, KP_TOL(2e-6, 1e-13) },
                   { "sums compared", n_sums, KP_AT_LEAST, 1e5 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// Equal steps give the table, ramp included, and nothing at the first.
static void test_equal_steps(void **state) {
  (void)state;
  double worst = 0.0;
  for (int end = 0; end < KP_FRAC_END_COUNT; ++end) {
    kp_backend *backend;
    kp_registry *registry;
    kp_history_clock clock;
    kp_frac_table table;
    assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
    assert_ok(kp_registry_create(backend, &registry));
    assert_ok(kp_history_clock_create(registry, "clock", SLOTS, 0.0, &clock));
    kp_frac_rule frac = { KP_FRAC_TRAPEZOID, (kp_frac_end)end, 0.5, SLOTS };
    kp_history_rule rule = { (kp_frac_end)end, 0.5, HUGE_VAL, false };
    assert_ok(kp_frac_table_make(frac, &table));
    for (int n = 0; n < 20; ++n) {
      double by_age[SLOTS + 1];
      double by_place[SLOTS];
      kp_history_weights sum;
      double gain = kp_frac_table_weights(&table, n, 0.01, by_age);
      assert_ok(kp_history_clock_weigh(&clock, &rule, 0.01 * n, &sum, by_place));
      int reach = n < SLOTS ? n : SLOTS;
      assert_int_equal(sum.n, reach);
      worst =
          kp_test_most(worst, kp_test_most(fabs(sum.gain - gain), fabs(sum.present - by_age[0])));
      for (int k = 1; k <= reach; ++k) {
        worst = kp_test_most(worst, fabs(by_place[(n - k) % SLOTS] - by_age[k]));
      }
      int64_t place;
      assert_true(kp_history_clock_is_due(&clock, 0.01 * n));
      assert_ok(kp_history_clock_keep(&clock, 0.01 * n, &place));
      assert_int_equal(place, n % SLOTS);
    }
    kp_frac_table_free(&table);
    kp_history_clock_free(&clock);
    kp_registry_destroy(&registry);
    kp_backend_destroy(&backend);
  }
  kp_claim claim = { .id = "ozgen-O4-ring",
                     .text = "weights of the places of a ring buffer are those of the table by age",
                     .size = "20 steps, 6 places, both ends",
                     .figure = worst,
                     .threshold = 1e-12 };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
}

// Later evaluations of a step see its start as the newest sample and keep nothing.
static void test_stages_within_a_step(void **state) {
  (void)state;
  world w;
  static model m;
  memset(&m, 0, sizeof m);
  world_open(&w, KP_BACKEND_MIRROR, 3, 0.0);
  emit(&w, &m, 0.0, 9);
  kp_history_rule rule = { KP_FRAC_WINDOW, 0.5, HUGE_VAL, true };
  for (int s = 0; s < 12; ++s) {
    double t = 0.01 * s;
    step(&w, &m, &rule, t);
    set_velocities(&w, t + 0.005);
    assert_ok(kp_history_weigh(&w.history, &rule, t + 0.005));
    assert_ok(kp_history_sum(&w.history, w.set->velocity, w.sum, false));
    check(&w, &m, &rule, t + 0.005);
  }
  world_close(&w);
}

// A steady run allocates nothing, moves no array between the sides and counts its bytes.
static void test_cost(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_MIRROR, 3, 0.0);
  static model m;
  memset(&m, 0, sizeof m);
  emit(&w, &m, 0.0, 300);
  kp_history_rule rule = { KP_FRAC_WINDOW, 0.5, HUGE_VAL, true };
  int64_t n_host = 0;
  int64_t bytes = 0;
  for (int s = 0; s < 12; ++s) {
    if (s == 3) {
      n_host = kp_memory_allocations();
      bytes = w.backend->counters.bytes_in + w.backend->counters.bytes_out;
    }
    assert_ok(kp_history_weigh(&w.history, &rule, 0.01 * s));
    assert_ok(kp_history_sum(&w.history, w.set->velocity, w.sum, true));
  }
  assert_int_equal(kp_memory_allocations(), n_host);
  int64_t moved = w.backend->counters.bytes_in + w.backend->counters.bytes_out - bytes;
  assert_int_equal(moved, 9 * 3 * SLOTS * (int64_t)sizeof(kp_real));
  assert_true(kp_history_bytes(&w.history) == (1 + 3 * SLOTS) * sizeof(kp_real));
  world_close(&w);
}

static void test_refusals(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_CPU, 3, 0.0);
  kp_history other;
  assert_fails(KP_ERROR_ARGUMENT, "samples",
               kp_history_create(w.set->space, 3, "none", 0, 0.0, &other));
  kp_history_free(&other);
  world_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_step),
    cmocka_unit_test(test_window_in_seconds),
    cmocka_unit_test(test_rows_follow_particles),
    cmocka_unit_test(test_equal_steps),
    cmocka_unit_test(test_stages_within_a_step),
    cmocka_unit_test(test_cost),
    cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
