// Mixtures: the law of diffusion on a lattice and in disorder, what is kept, what sinks, mass and
// momentum, and the same bits for any number of threads.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "par/parallel.h"

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846

static double *read_field(kp_world *world, const char *set, const char *field, int component) {
  int64_t n = kp_world_count(world, set);
  double *values = kp_alloc((size_t)(n + 1) * sizeof *values, KP_MEMORY_SCRATCH);
  assert_non_null(values);
  assert_ok(kp_world_read(world, set, field, component, values, n));
  return values;
}

// ---- diffusion in a slab that stands still ------------------------------------------------------

#define LENGTH 1.0

// A periodic sheet without gravity whose particles never move: pressure and viscosity find nothing
// to do on a lattice, and a drag holds a disordered one in place.
static kp_world *make_slab(double spacing, double jitter, double dispersion, int kernel) {
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(LENGTH, 0.25, 1));
  s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
  s.domain.boundary_y = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.kernel = kernel;
  s.sph.support = 2.67;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(LENGTH, 0.25, 0), spacing);
  water.jitter = jitter;
  water.dispersion = dispersion;
  water.concentration = 0.5;
  water.sound_speed = 0.01;  // pressure is to do nothing
  water.viscosity = 0.0;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

static void set_wave(kp_world *world) {
  kp_sph_fluid *fluid = kp_test_fluid(world, "water");
  const kp_pos *x = kp_buffer_host(&fluid->medium.set->position->buffers[0], KP_ACCESS_READ);
  kp_real *c = kp_buffer_host(&fluid->mix.c->buffers[0], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < fluid->medium.set->space->n; ++i) {
    c[i] = (kp_real)(0.5 + 0.4 * cos(2.0 * PI * x[i] / LENGTH));
  }
}

// Root of the mean square difference from 0.5 + 0.4 e^(-D k^2 t) cos(k x), over 0.4 e^(...).
static double wave_error(kp_world *world, double dispersion, double t) {
  double *x = read_field(world, "water", "position", 0);
  double *c = read_field(world, "water", "concentration", 0);
  int64_t n = kp_world_count(world, "water");
  double k = 2.0 * PI / LENGTH;
  double size = 0.4 * exp(-dispersion * k * k * t);
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    double difference = c[i] - 0.5 - size * cos(k * x[i]);
    sum += difference * difference / (double)n;
  }
  kp_free(x);
  kp_free(c);
  return sqrt(2.0 * sum) / size;
}

static double total_of(kp_world *world, const char *set) {
  double *c = read_field(world, set, "concentration", 0);
  double sum = 0.0;
  for (int64_t i = 0; i < kp_world_count(world, set); ++i) {
    sum += c[i];
  }
  kp_free(c);
  return sum;
}

// Until the wave has fallen to 1/e.
static double slab_error(double jitter, int kernel, double *drift) {
  const double d = 0.01;
  double seconds = 1.0 / (d * 4.0 * PI * PI);
  kp_world *world = make_slab(0.025, jitter, d, kernel);
  set_wave(world);
  double before = total_of(world, "water");
  assert_ok(kp_world_advance(world, seconds, NULL));
  double error = wave_error(world, d, seconds);
  *drift = kp_test_most(*drift, fabs(total_of(world, "water") / before - 1.0));
  kp_world_destroy(&world);
  return error;
}

static void test_diffusion_law(void **state) {
  (void)state;
  double drift = 0.0;
  double lattice = slab_error(0.0, KP_SPH_POLY6, &drift);
  double cubic = slab_error(0.0, KP_SPH_CUBIC, &drift);
  double wendland = slab_error(0.0, KP_SPH_WENDLAND, &drift);
  double jittered = slab_error(0.15, KP_SPH_POLY6, &drift);
  print_message(
      "  error of the wave: poly6 %.3f, cubic %.3f, wendland %.3f, jittered %.3f; sum of C "
      "drifts by %.1e\n",
      lattice, cubic, wendland, jittered, drift);
  assert_between(fmax(lattice, fmax(cubic, wendland)), 0.0, 0.05);
  assert_between(jittered, 0.0, 0.2);
  assert_between(drift, 0.0, KP_TOL(1e-6, 1e-9));
  kp_claim claim = { .id = "bayraktar-C20",
                     .text = "concentration follows the law of diffusion",
                     .size = "slab of 400 particles, decay of a cosine to 1/e" };
  kp_claim_all(&claim,
               { "error of the wave, lattice, three kernels", fmax(lattice, fmax(cubic, wendland)),
                 KP_AT_MOST, 0.05 },
               { "error of the wave, jittered", jittered, KP_AT_MOST, 0.2 },
               { "drift of the sum of C", drift, KP_AT_MOST, KP_TOL(1e-6, 1e-9) });
}

static double variance_of(kp_world *world) {
  double *c = read_field(world, "water", "concentration", 0);
  double sum = 0.0;
  for (int64_t i = 0; i < kp_world_count(world, "water"); ++i) {
    sum += (c[i] - 0.5) * (c[i] - 0.5);
  }
  kp_free(c);
  return sum;
}

// Time until the variance of C has halved, between looks that are as far apart for every D.
static double half_time(double dispersion) {
  const double look = 0.01 / (0.0045 * 4.0 * PI * PI);
  kp_world *world = make_slab(0.025, 0.0, dispersion, KP_SPH_CUBIC);
  set_wave(world);
  double first = variance_of(world);
  double before = 1.0, t = 0.0, half = HUGE_VAL;
  for (int k = 0; k < 400 && half == HUGE_VAL; ++k) {
    assert_ok(kp_world_advance(world, look, NULL));
    double now = variance_of(world) / first;
    half = now <= 0.5 ? t + look * log(before / 0.5) / log(before / now) : half;
    before = now;
    t += look;
  }
  kp_world_destroy(&world);
  return half;
}

// ---- two liquids in a box -----------------------------------------------------------------------

static kp_liquid_def half(const char *name, double lo, double hi, double c, double d) {
  kp_liquid_def def = kp_test_liquid(name, kp_vec3_make(0, lo, 0), kp_vec3_make(0.4, hi, 0), 0.02);
  def.concentration = c;
  def.dispersion = d;
  def.solute_density = 1000.0;  // concentration 1 doubles the mass
  def.viscosity = 2.0;
  def.sound_speed = 20.0;
  return def;
}

// Heavy pink over light white; a tilted start breaks the symmetry.
static kp_world *make_box(double d, const char *backend) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.5, 1));
  s.backend = backend;
  s.sph.slip = 1.0;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def white = half("white", 0.0, 0.2, 0.1, d);
  kp_liquid_def pink = half("pink", 0.2, 0.4, 1.0, d);
  pink.velocity = kp_vec3_make(0.1, 0, 0);
  assert_ok(kp_world_add_liquid(world, &white));
  assert_ok(kp_world_add_liquid(world, &pink));
  assert_ok(kp_world_build(world));
  return world;
}

static double mean_height(kp_world *world, const char *set) {
  double *y = read_field(world, set, "position", 1);
  int64_t n = kp_world_count(world, set);
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += y[i] / (double)n;
  }
  kp_free(y);
  return sum;
}

static int64_t count_changed(kp_world *world, const char *set, double value) {
  double *c = read_field(world, set, "concentration", 0);
  int64_t n = 0;
  for (int64_t i = 0; i < kp_world_count(world, set); ++i) {
    n += c[i] != value;
  }
  kp_free(c);
  return n;
}

static void test_heavy_sinks(void **state) {
  (void)state;
  kp_world *world = make_box(0.0, "cpu");
  double start = mean_height(world, "pink") - mean_height(world, "white");
  assert_ok(kp_world_advance(world, 3.0, NULL));
  double end = mean_height(world, "pink") - mean_height(world, "white");
  print_message("  pink over white: %.3f m at the start, %.3f m after 3 s\n", start, end);
  assert_between(start, 0.15, 0.25);
  assert_between(end, -0.25, -0.1);
  // immiscible: not a bit has changed
  int64_t changed =
      count_changed(world, "pink", 1.0) + count_changed(world, "white", (double)(kp_real)0.1);
  assert_int_equal(changed, 0);
  kp_world_destroy(&world);
  kp_claim claim = { .id = "bayraktar-C21",
                     .text = "the heavier liquid (C = 1) sinks at D = 0",
                     .size = "2D box of 400 particles, pink over white, 3 s" };
  kp_claim_all(&claim, { "pink over white at the end [m]", end, KP_AT_MOST, -0.1 },
               { "pink over white at the start [m]", start, KP_AT_LEAST, 0.15 });
  kp_claim apart = { .id = "bayraktar-C19-immiscible",
                     .text = "D = 0 is immiscible: no bit of C changes",
                     .size = "2D box of 400 particles, pink sinks through white, 3 s" };
  kp_claim_all(&apart, { "particles whose C changed", (double)changed, KP_AT_MOST, 0 },
               { "how far pink sank [m]", start - end, KP_AT_LEAST, 0.2 });
}

static void test_immiscible_and_faster(void **state) {
  (void)state;
  double ratio = half_time(0.0020) / half_time(0.0045);
  print_message("  time to half the variance, D = 0.2 over 0.45: %.3f (2.25)\n", ratio);
  assert_between(ratio, 0.8 * 2.25, 1.2 * 2.25);
  kp_world *world = make_box(1e-3, "cpu");
  double before = total_of(world, "pink") + total_of(world, "white");
  double pink = total_of(world, "pink");
  assert_ok(kp_world_advance(world, 0.5, NULL));
  double after = total_of(world, "pink") + total_of(world, "white");
  double drift = fabs(after / before - 1.0);
  print_message("  sum of C over both liquids drifts by %.1e, pink keeps %.2f\n", drift,
                total_of(world, "pink") / pink);
  assert_between(drift, 0.0, KP_TOL(1e-6, 1e-9));
  assert_between(total_of(world, "pink") / pink, 0.3, 0.98);
  kp_world_destroy(&world);
  kp_claim claim = { .id = "bayraktar-C19",
                     .text = "larger D mixes faster, and the sum of C is kept",
                     .size = "slab of 400 particles that stand, D = 0.2 and 0.45; box of 400" };
  kp_claim_all(&claim,
               { "ratio of the half times, off 0.45/0.2, relative", fabs(ratio / 2.25 - 1.0),
                 KP_AT_MOST, 0.2 },
               { "half time at D = 0.45 over that at 0.2", 1.0 / ratio, KP_LESS, 1 },
               { "drift of the sum of C", drift, KP_AT_MOST, KP_TOL(1e-6, 1e-9) });
}

// ---- masses -------------------------------------------------------------------------------------

// Particles of different masses in free space: the pair forces still cancel.
static void test_momentum(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(-9, -9, 0), kp_vec3_make(9, 9, 0));
  s.sph.domain_walls = 1;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_world *world = kp_test_world(&s);
  kp_liquid_def a = half("a", 0.0, 0.2, 1.0, 0.0);
  kp_liquid_def b = half("b", 0.2, 0.4, 0.1, 0.0);
  b.rest_density = 700.0;
  assert_ok(kp_world_add_liquid(world, &a));
  assert_ok(kp_world_add_liquid(world, &b));
  assert_ok(kp_world_build(world));
  kp_test_stir(world, "a", 0.5, 3);
  kp_test_stir(world, "b", 0.5, 4);
  kp_population_stats stats[2][2];
  for (int k = 0; k < 2; ++k) {
    assert_ok(kp_world_stats(world, 0, &stats[k][0]));
    assert_ok(kp_world_stats(world, 1, &stats[k][1]));
    kp_test_steps(world, k == 0 ? 200 : 0);
  }
  double size = 0.5 * 0.5 * (stats[0][0].mass + stats[0][1].mass);
  kp_vec3 before = kp_vec3_add(stats[0][0].momentum, stats[0][1].momentum);
  kp_vec3 after = kp_vec3_add(stats[1][0].momentum, stats[1][1].momentum);
  double drift = kp_vec3_length(kp_vec3_sub(after, before)) / size;
  print_message("  masses %.3f and %.3f kg; momentum drifts by %.1e\n", stats[0][0].mass,
                stats[0][1].mass, drift);
  assert_between(stats[0][0].mass / stats[0][1].mass, 0.99 * 2000.0 / 800.0, 1.01 * 2000.0 / 800.0);
  assert_between(drift, 0.0, KP_TOL(1e-5, 1e-10));
  kp_world_destroy(&world);
}

// ---- bits ---------------------------------------------------------------------------------------

static uint64_t box_hash(const char *backend) {
  kp_world *world = make_box(1e-3, backend);
  kp_test_steps(world, 40);
  uint64_t hash;
  assert_ok(kp_world_hash(world, &hash));
  kp_world_destroy(&world);
  return hash;
}

static void test_bits(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  uint64_t one = box_hash("cpu");
  kp_parallel_set_threads(3);
  assert_true(box_hash("cpu") == one);
  kp_parallel_set_threads(0);
  assert_true(box_hash("mirror") == one);
  kp_world *world = make_box(1e-3, "cpu");
  kp_snapshot *snapshot = NULL;
  kp_test_steps(world, 20);
  assert_ok(kp_registry_save(world->registry, &snapshot));
  kp_test_steps(world, 20);
  assert_ok(kp_registry_rewind(world->registry, snapshot));
  assert_ok(kp_world_after_load(world));
  kp_test_steps(world, 20);
  uint64_t again;
  assert_ok(kp_world_hash(world, &again));
  assert_true(again == one);
  kp_snapshot_free(&snapshot);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_diffusion_law),
    cmocka_unit_test(test_heavy_sinks),
    cmocka_unit_test(test_immiscible_and_faster),
    cmocka_unit_test(test_momentum),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
