// Probes against a walk over all particles, on both backends; they change nothing they look at.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/claims.h"
#include "support/worlds.h"

static kp_probe_def probe(const char *name, int kind, kp_vec3 counts, double radius) {
  kp_probe_def def = kp_default_probe_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  snprintf(def.of, sizeof def.of, "water");
  def.kind = kind;
  def.min = kp_vec3_make(0.1, 0.05, 0.1);
  def.max = kp_vec3_make(0.9, 0.75, 0.7);
  def.counts = counts;
  def.radius = radius;
  return def;
}

// A block of liquid with random velocities; it fills a part of the box, so some regions are empty.
static kp_world *stirred(const char *backend, int dimension, const kp_probe_def *defs, size_t n) {
  kp_vec3 hi = kp_vec3_make(1, 1, dimension == 2 ? 0 : 0.8);
  kp_test_settings s = kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), hi);
  s.backend = backend;
  s.simulation.dt = 1e-4;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, dimension == 2 ? -1 : 0),
                                       kp_vec3_make(0.6, 1, 0.8), dimension == 2 ? 0.02 : 0.05);
  water.jitter = 0.3;
  assert_ok(kp_world_add_liquid(world, &water));
  for (size_t i = 0; i < n; ++i) {
    assert_ok(kp_world_add_probe(world, &defs[i]));
  }
  assert_ok(kp_world_build(world));
  kp_test_stir(world, "water", 1.0, 7);
  return world;
}

// ---- against all pairs

typedef struct offsets {
  double count;     // particles
  double velocity;  // m/s
} offsets;

static void check_mean(const kp_test_particles *p, const kp_probe_value *v, double radius,
                       offsets *worst) {
  double sum[5] = { 0 };
  for (int64_t i = 0; i < p->n; ++i) {
    double dx = p->x[0][i] - v->position.x;
    double dy = p->x[1][i] - v->position.y;
    double dz = p->x[2][i] - v->position.z;
    if (dx * dx + dy * dy + dz * dz <= radius * radius) {
      sum[0] += 1.0;
      sum[1] += p->v[0][i];
      sum[2] += p->v[1][i];
      sum[3] += p->v[2][i];
      sum[4] += sqrt(p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i]);
    }
  }
  double n = fmax(sum[0], 1.0);
  kp_vec3 mean = kp_vec3_make(sum[1] / n, sum[2] / n, sum[3] / n);
  worst->count = kp_test_most(worst->count, fabs(v->count - sum[0]));
  worst->velocity = kp_test_most(worst->velocity, kp_vec3_length(kp_vec3_sub(v->velocity, mean)));
  worst->velocity = kp_test_most(worst->velocity, fabs(v->speed - sum[4] / n));
}

static void test_mean(void **state) {
  (void)state;
  offsets worst = { 0 };
  double regions = 0.0;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    // touching regions, and ones that overlap and are wider than cells
    kp_probe_def defs[2] = { probe("apart", 0, kp_vec3_make(8, 6, 3), KP_AUTO),
                             probe("wide", 0, kp_vec3_make(5, 4, 2), 0.2) };
    const double radii[2] = { 0.5 * 0.8 / 7.0, 0.2 };
    kp_world *world = stirred("cpu", dimension, defs, 2);
    kp_test_particles p = kp_test_particles_read(world, "water");
    for (int k = 0; k < 2; ++k) {
      kp_probe_value values[200];
      int64_t n;
      assert_ok(kp_world_probe_now(world, defs[k].name, values, 200, &n));
      int64_t wanted = k == 0 ? 48 : 20;
      assert_int_equal(n, dimension == 2 ? wanted : wanted * (k == 0 ? 3 : 2));
      int64_t empty = 0;
      for (int64_t r = 0; r < n; ++r) {
        check_mean(&p, &values[r], radii[k], &worst);
        empty += values[r].count == 0.0 ? 1 : 0;
      }
      assert_true(empty > 0 && empty < n);
      regions += (double)n;
    }
    kp_test_particles_free(&p);
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "ozgen-O28",
                     .text = "means of circular regions are those of a walk over all particles",
                     .size = "48 discs and 144 balls side by side, 20 and 40 that overlap" };
  kp_claim_status status =
      kp_claim_all(&claim,
                   { "largest difference of a mean velocity or speed [m/s]", worst.velocity,
                     KP_AT_MOST, KP_TOL(1e-5, 1e-12) },
                   { "largest difference of a count", worst.count, KP_AT_MOST, 0.0 },
                   { "regions compared", regions, KP_AT_LEAST, 252.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

static kp_vec3 linear(double x, double y, double z) {
  return kp_vec3_make(1.0 + 2.0 * x - 3.0 * y + z, -0.5 + x + 0.5 * y - 2.0 * z,
                      0.25 * x + y + 3.0 * z);
}

// The fit gives a linear field at its points, also where all particles lie on one side of it; the
// mean does not.
static void test_fit(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    double radius = dimension == 2 ? 0.05 : 0.12;
    kp_probe_def defs[2] = { probe("fit", 1, kp_vec3_make(7, 5, 2), radius),
                             probe("mean", 0, kp_vec3_make(7, 5, 2), radius) };
    for (int k = 0; k < 2; ++k) {
      defs[k].min = kp_vec3_make(0.0, 0.0, 0.0);
      defs[k].max = kp_vec3_make(0.6, 1.0, 0.8);
    }
    kp_world *world = stirred("cpu", dimension, defs, 2);
    kp_set *set = kp_test_fluid(world, "water")->medium.set;
    for (int64_t i = 0; i < set->space->n; ++i) {
      const kp_pos *x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ);
      const kp_pos *y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ);
      const kp_pos *z = kp_buffer_host(&set->position->buffers[2], KP_ACCESS_READ);
      kp_vec3 v = linear(x[i], y[i], z[i]);
      ((kp_real *)kp_buffer_host(&set->velocity->buffers[0], KP_ACCESS_WRITE))[i] = (kp_real)v.x;
      ((kp_real *)kp_buffer_host(&set->velocity->buffers[1], KP_ACCESS_WRITE))[i] = (kp_real)v.y;
      ((kp_real *)kp_buffer_host(&set->velocity->buffers[2], KP_ACCESS_WRITE))[i] = (kp_real)v.z;
    }
    kp_probe_value fit[100];
    kp_probe_value mean[100];
    int64_t n;
    double worst_mean = 0.0;
    assert_ok(kp_world_probe_now(world, "fit", fit, 100, &n));
    assert_ok(kp_world_probe_now(world, "mean", mean, 100, &n));
    for (int64_t r = 0; r < n; ++r) {
      kp_vec3 want = linear(fit[r].position.x, fit[r].position.y, fit[r].position.z);
      assert_vec3_near(fit[r].velocity, want, KP_TOL(3e-5, 1e-11));
      assert_near(fit[r].count, mean[r].count, 0.0);
      worst_mean = kp_test_most(worst_mean, kp_vec3_length(kp_vec3_sub(mean[r].velocity, want)));
    }
    assert_true(worst_mean > 0.02);
    kp_world_destroy(&world);
  }
}

// Too few particles around a point to tell a slope: their mean.
static void test_fit_of_few(void **state) {
  (void)state;
  kp_probe_def def = probe("fit", 1, kp_vec3_make(60, 40, 1), 0.015);
  kp_world *world = stirred("cpu", 2, &def, 1);
  kp_probe_value *values = calloc(2400, sizeof *values);
  int64_t n;
  int64_t few = 0;
  assert_ok(kp_world_probe_now(world, "fit", values, 2400, &n));
  for (int64_t r = 0; r < n; ++r) {
    assert_true(isfinite(values[r].velocity.x) && isfinite(values[r].velocity.y));
    if (values[r].count <= 2.0) {
      assert_true(fabs(values[r].velocity.x) <= 1.0 && fabs(values[r].velocity.y) <= 1.0);
      ++few;
    }
  }
  assert_true(few > 100);
  free(values);
  kp_world_destroy(&world);
}

// ---- one particle, all of them, a body

static void test_track(void **state) {
  (void)state;
  kp_probe_def one = probe("one", 2, kp_vec3_make(1, 1, 1), KP_AUTO);
  one.particle = 321;
  kp_probe_def all = probe("all", 2, kp_vec3_make(1, 1, 1), KP_AUTO);
  kp_probe_def gone = probe("gone", 2, kp_vec3_make(1, 1, 1), KP_AUTO);
  gone.particle = 1000000;
  kp_probe_def defs[3] = { one, all, gone };
  kp_world *world = stirred("mirror", 2, defs, 3);
  kp_test_steps(world, 20);  // sorted and moved since
  kp_test_particles p = kp_test_particles_read(world, "water");
  double *id = calloc((size_t)p.n, sizeof *id);
  assert_ok(kp_world_read(world, "water", "id", 0, id, p.n));
  kp_vec3 sum = { 0, 0, 0 };
  int64_t n;
  int64_t met = 0;
  kp_probe_value v;
  assert_ok(kp_world_probe_now(world, "one", &v, 1, &n));
  for (int64_t i = 0; i < p.n; ++i) {
    kp_vec3 x = kp_vec3_make(p.x[0][i], p.x[1][i], p.x[2][i]);
    sum = kp_vec3_add(sum, x);
    if (id[i] == 321.0) {
      assert_vec3_near(v.position, x, 0.0);
      assert_vec3_near(v.velocity, kp_vec3_make(p.v[0][i], p.v[1][i], p.v[2][i]), 0.0);
      ++met;
    }
  }
  assert_int_equal(met, 1);
  assert_near(v.count, 1.0, 0.0);
  assert_ok(kp_world_probe_now(world, "all", &v, 1, &n));
  assert_vec3_near(v.position, kp_vec3_scale(sum, 1.0 / (double)p.n), 1e-12);
  assert_ok(kp_world_probe_now(world, "gone", &v, 1, &n));
  assert_near(v.count, 0.0, 0.0);
  free(id);
  kp_test_particles_free(&p);
  kp_world_destroy(&world);
}

// ---- looking changes nothing, and the same is seen everywhere

static void test_only_looks(void **state) {
  (void)state;
  kp_probe_def defs[2] = { probe("mean", 0, kp_vec3_make(8, 6, 2), KP_AUTO),
                           probe("fit", 1, kp_vec3_make(3, 9, 2), 0.15) };
  uint64_t hash[3];
  kp_probe_value seen[2][2][200];
  const char *backends[3] = { "cpu", "mirror", "cpu" };
  for (int k = 0; k < 3; ++k) {
    kp_world *world = stirred(backends[k], 3, defs, k < 2 ? 2 : 0);
    world->probes.keep = k < 2;
    kp_test_steps(world, 10);
    assert_ok(kp_world_hash(world, &hash[k]));
    for (int d = 0; k < 2 && d < 2; ++d) {
      int64_t n;
      assert_ok(kp_world_probe_now(world, defs[d].name, seen[k][d], 200, &n));
      assert_int_equal(n, d == 0 ? 96 : 54);
    }
    assert_int_equal(world->probes.rows.count, k < 2 ? 10 * (96 + 54) : 0);
    kp_world_destroy(&world);
  }
  assert_true(hash[0] == hash[1]);
  assert_true(hash[0] == hash[2]);
  assert_memory_equal(seen[0][0], seen[1][0], 96 * sizeof(kp_probe_value));
  assert_memory_equal(seen[0][1], seen[1][1], 54 * sizeof(kp_probe_value));
}

// ---- when

static void test_schedule(void **state) {
  (void)state;
  kp_probe_def steps = probe("steps", 2, kp_vec3_make(1, 1, 1), KP_AUTO);
  steps.every = 3;
  kp_probe_def seconds = probe("seconds", 2, kp_vec3_make(1, 1, 1), KP_AUTO);
  seconds.interval = 2.5e-4;
  kp_probe_def defs[2] = { steps, seconds };
  kp_world *world = stirred("cpu", 2, defs, 2);
  world->probes.keep = true;
  assert_ok(kp_world_probes_start(world));
  for (int k = 0; k < 10; ++k) {
    assert_ok(kp_world_advance(world, 1e-4, NULL));
  }
  // ordered by name: seconds first
  const int64_t want_seconds[] = { 0, 3, 5, 8, 10 };
  const int64_t want_steps[] = { 0, 3, 6, 9 };
  size_t met[2] = { 0, 0 };
  for (size_t i = 0; i < world->probes.rows.count; ++i) {
    const kp_probe_row *row = &world->probes.rows.data[i];
    int64_t want = row->probe == 0 ? want_seconds[met[0]] : want_steps[met[1]];
    assert_int_equal(row->step, want);
    assert_near(row->time, 1e-4 * (double)want, 1e-12);
    met[row->probe] += 1;
  }
  assert_int_equal(met[0], 5);
  assert_int_equal(met[1], 4);
  kp_world_destroy(&world);
}

// An interval that is tried again leaves the rows of the last try alone.
static void test_retry(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0));
  s.simulation.policy = KP_POLICY_RETRY;
  s.simulation.dt = 0.02;  // far too long
  s.simulation.retries = 12;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, -1), kp_vec3_make(0.5, 0.8, 1), 0.05);
  kp_probe_def def = probe("all", 2, kp_vec3_make(1, 1, 1), KP_AUTO);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_probe(world, &def));
  assert_ok(kp_world_build(world));
  world->probes.keep = true;
  kp_step_report report;
  kp_test_log_begin();
  assert_ok(kp_world_advance(world, 0.2, &report));
  (void)kp_test_log_end();
  assert_true(report.retries > 0);
  assert_int_equal(world->probes.rows.count, report.steps);
  kp_world_destroy(&world);
}

static void test_refused(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0));
  const struct {
    const char *of;
    kp_vec3 counts;
    double radius;
    const char *words;
  } wrong[] = {
    { "", { 1, 1, 1 }, 0.1, "of = \"what it looks at\" is missing" },
    { "watr", { 1, 1, 1 }, 0.1, "did you mean \"water\"?" },
    { "water", { 1, 1.5, 1 }, 0.1, "counts must be whole numbers" },
    { "water", { 1, 1, 1 }, KP_AUTO, "a single region needs a radius" },
    { "water", { 9000, 9000, 1 }, 0.1, "regions are more than 1e7" },
  };
  for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; ++k) {
    kp_world *world = kp_test_world(&s);
    kp_liquid_def water =
        kp_test_liquid("water", kp_vec3_make(0, 0, -1), kp_vec3_make(0.5, 0.8, 1), 0.05);
    kp_probe_def def = probe("eye", 0, wrong[k].counts, wrong[k].radius);
    snprintf(def.of, sizeof def.of, "%s", wrong[k].of);
    assert_ok(kp_world_add_liquid(world, &water));
    assert_ok(kp_world_add_probe(world, &def));
    assert_fails(KP_ERROR_SCENE, wrong[k].words, kp_world_build(world));
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_mean),       cmocka_unit_test(test_fit),
    cmocka_unit_test(test_fit_of_few), cmocka_unit_test(test_track),
    cmocka_unit_test(test_only_looks), cmocka_unit_test(test_schedule),
    cmocka_unit_test(test_retry),      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
