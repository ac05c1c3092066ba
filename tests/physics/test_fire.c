// Fire: births even over the emitter, lives and decay by place, height of a flame against its own
// ballistics, wind with its own clock, explosion, rain, a moved emitter, and the same bits.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "methods/fire/fire.h"

#include "support/claims.h"
#include "support/media.h"

static kp_test_settings room(void) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-9, -9, -9), kp_vec3_make(9, 9, 9));
  return s;
}

static kp_fire_def flame_def(int64_t particles) {
  kp_fire_def def = kp_default_fire_def();
  snprintf(def.name, sizeof def.name, "flame");
  def.particles = particles;
  return def;
}

static kp_world *make_world(const kp_test_settings *s, const kp_fire_def *def) {
  kp_world *world = kp_test_world(s);
  assert_ok(kp_world_add_fire(world, def));
  assert_ok(kp_world_build(world));
  return world;
}

typedef struct fields {
  int64_t n;
  double *x[3], *v[3], *color[3];
  double *life, *decay, *alpha, *births;
} fields;

static fields read_fields(kp_world *world) {
  fields f = { .n = kp_world_count(world, "flame") };
  for (int c = 0; c < 3; ++c) {
    f.x[c] = kp_test_field(world, "flame", "position", c);
    f.v[c] = kp_test_field(world, "flame", "velocity", c);
    f.color[c] = kp_test_field(world, "flame", "color", c);
  }
  f.life = kp_test_field(world, "flame", "life", 0);
  f.decay = kp_test_field(world, "flame", "decay", 0);
  f.alpha = kp_test_field(world, "flame", "alpha", 0);
  f.births = kp_test_field(world, "flame", "births", 0);
  return f;
}

static void free_fields(fields *f) {
  for (int c = 0; c < 3; ++c) {
    kp_free(f->x[c]), kp_free(f->v[c]), kp_free(f->color[c]);
  }
  kp_free(f->life), kp_free(f->decay), kp_free(f->alpha), kp_free(f->births);
}

static double mean(const double *values, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += values[i];
  }
  return sum / (double)n;
}

// Second moments of each axis over the radius squared: 0.2 in an even ball.
static void test_births(void **state) {
  (void)state;
  kp_test_settings s = room();
  kp_fire_def def = flame_def(200000);
  kp_world *world = make_world(&s, &def);
  fields f = read_fields(world);
  double square[3] = { 0 }, inner = 0.0, decay = 0.0, color = 0.0, speed = 0.0;
  for (int64_t i = 0; i < f.n; ++i) {
    double r2 = 0.0, s2 = f.x[0][i] * f.x[0][i] + f.x[2][i] * f.x[2][i];
    for (int c = 0; c < 3; ++c) {
      square[c] += f.x[c][i] * f.x[c][i] / (0.04 * (double)f.n);
      r2 += f.x[c][i] * f.x[c][i];
    }
    inner += r2 < 0.01 ? 1.0 / (double)f.n : 0.0;
    double rim = fmin(sqrt(s2) / 0.2, 1.0);
    // two seconds on the axis, one at the rim; red outside, yellow and white inside
    decay = kp_test_most(decay, fabs(f.decay[i] - (0.5 + 0.5 * rim)));
    color = kp_test_most(color, fabs(f.color[0][i] - 1.0));
    color = kp_test_most(color, fabs(f.color[1][i] - 0.65 * (1.0 - rim)) - 0.15 * (1.0 - rim));
    color = kp_test_most(color, fabs(f.color[2][i] - 0.25 * (1.0 - rim)) - 0.25 * (1.0 - rim));
    speed = kp_test_most(speed, fmax(fabs(f.v[1][i] - 1.0) - 0.5, fabs(f.v[0][i]) - 0.1));
  }
  print_message("  moments %.4f %.4f %.4f, inside half the radius %.4f\n", square[0], square[1],
                square[2], inner);
  double moment = 0.0;
  for (int c = 0; c < 3; ++c) {
    moment = kp_test_most(moment, fabs(square[c] / 0.2 - 1.0));
  }
  double staggered = fabs(mean(f.life, f.n) - 0.5);
  kp_claim ball = { .id = "lyes-L6", .text = "random points fill a ball evenly" };
  kp_claim flame = { .id = "lyes-L23",
                     .text = "particles of a flame are born as stated, those of its middle live "
                             "longer" };
  kp_claim colors = { .id = "lyes-L25",
                      .text = "newborns are white and yellow in the middle, red at the rim" };
  ball.size = flame.size = colors.size = "200,000 births";
  kp_claim_status verdict = kp_claim_all(
      &ball,
      { "second moments against 0.2 of the radius squared, share", moment, KP_AT_MOST, 0.01 },
      { "share inside half the radius, off from 1/8", fabs(inner - 0.125), KP_AT_MOST, 0.003 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  verdict =
      kp_claim_all(&flame, { "decay against 0.5 + 0.5 s/r, 1/s, worst", decay, KP_AT_MOST, 1e-5 },
                   { "speed beyond the stated range, m/s, worst", speed, KP_AT_MOST, 1e-6 },
                   { "mean life at the start, off from 1/2", staggered, KP_AT_MOST, 0.005 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  verdict =
      kp_claim_all(&colors, { "colour beyond the stated range, worst", color, KP_AT_MOST, 1e-5 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  free_fields(&f);
  kp_world_destroy(&world);
}

// Discs: mean squared radius 1/2 of the even one, 1/3 of the clustered one; all in one plane.
static void test_discs(void **state) {
  (void)state;
  const int kinds[] = { KP_FIRE_DISC, KP_FIRE_CLUSTERED_DISC };
  const double moments[] = { 0.5, 1.0 / 3.0 };
  double worst[2];
  for (int k = 0; k < 2; ++k) {
    kp_test_settings s = room();
    kp_fire_def def = flame_def(100000);
    def.emitter = kinds[k];
    def.position = kp_curve_constant3(kp_vec3_make(1, 2, 3));
    kp_world *world = make_world(&s, &def);
    fields f = read_fields(world);
    double sum = 0.0;
    for (int64_t i = 0; i < f.n; ++i) {
      sum += (pow(f.x[0][i] - 1.0, 2.0) + pow(f.x[2][i] - 3.0, 2.0)) / 0.04;
      assert_near(f.x[1][i], 2.0, 1e-12);
    }
    worst[k] = fabs(sum / (double)f.n / moments[k] - 1.0);
    free_fields(&f);
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "lyes-L6-disc",
                     .text = "random points fill a disc evenly, or cluster in its middle",
                     .size = "100,000 births each" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "mean squared radius of the even disc against 1/2, share", worst[0], KP_AT_MOST, 0.02 },
      { "that of the clustered disc against 1/3, share", worst[1], KP_AT_MOST, 0.03 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// In the long run a particle at decay D lives 1/D seconds: births are counted, and the age of all
// gives the height by v t + a t^2/2.
static void test_life(void **state) {
  (void)state;
  kp_test_settings s = room();
  s.simulation.dt = 0.005;
  kp_fire_def def = flame_def(20000);
  def.velocity_spread = def.acceleration_spread = kp_vec3_make(0, 0, 0);
  def.radius = 0.01;
  def.decay_center = def.decay_rim = 0.8;
  kp_world *world = make_world(&s, &def);
  assert_ok(kp_world_advance(world, 5.0, NULL));
  fields f = read_fields(world);
  // 5 s at 0.8 lives per second, and half a life was over at the start
  double births = fabs(mean(f.births, f.n) - 5.0 * 0.8);
  double worst = 0.0, faded = 0.0;
  for (int64_t i = 0; i < f.n; ++i) {
    double t = (1.0 - f.life[i]) / 0.8;
    worst = kp_test_most(worst, fabs(f.x[1][i] - (t + 0.15 * t * t)));
    faded = kp_test_most(faded, fabs(f.alpha[i] - f.life[i]));
    assert_between(f.life[i], 0.0, 1.0);
  }
  print_message("  farthest from v t + a t^2/2: %.4f m of the radius 0.01\n", worst);
  // the ball, and a step of age at the most
  kp_claim claim = { .id = "lyes-L23-life",
                     .text = "particles of a flame live 1/D seconds and rise by their ballistics",
                     .size = "20,000 particles, 5 s, D = 0.8 1/s" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "mean births against t D, off by", births, KP_AT_MOST, 0.02 },
      { "farthest from v t + a t^2/2, m, of a ball of 0.01 m", worst, KP_AT_MOST, 0.031 },
      { "alpha against life, worst", faded, KP_AT_MOST, 0.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  free_fields(&f);
  kp_world_destroy(&world);
}

// The mean drift of newborns under A sin(2 pi t/T): velocity A T/2 pi (1 - cos). The clock starts
// with the wind, one second late.
static double gale(double t) {
  return t < 1.0 ? 0.0 : 3.0;
}

static void test_wind(void **state) {
  (void)state;
  kp_test_settings s = room();
  s.simulation.dt = 0.001;
  kp_fire_def def = flame_def(2000);
  def.respawn = KP_FIRE_NEVER;
  def.stagger = false;
  def.decay_center = def.decay_rim = 0.01;
  double samples[301];
  for (int k = 0; k <= 300; ++k) {
    samples[k] = gale(0.01 * k);
  }
  def.wind = (kp_curve){ .components = 1, .n = 301, .interval = 0.01, .samples = samples };
  kp_world *world = make_world(&s, &def);
  assert_ok(kp_world_advance(world, 0.98, NULL));
  fields calm = read_fields(world);
  assert_near(mean(calm.v[0], calm.n), 0.0, 0.01);
  double before[2] = { mean(calm.v[0], calm.n), mean(calm.v[2], calm.n) };
  assert_ok(kp_world_advance(world, 0.18, NULL));
  fields f = read_fields(world);
  kp_flame *flame = NULL;
  for (size_t k = 0; k < world->systems.count; ++k) {
    if (world->systems.data[k].method == &kp_fire_method) {
      flame = &((kp_fire *)world->systems.data[k].self)->flames.data[0];
    }
  }
  double t = flame->wind_time;
  assert_between(t, 0.15, 0.18);  // not the time of the world
  const double periods[2] = { 0.5, 0.6 };
  double off[2];
  for (int k = 0; k < 2; ++k) {
    double turn = 6.283185307179586 / periods[k];
    double expected = 3.0 / turn * (1.0 - cos(turn * t));
    double got = mean(f.v[2 * k], f.n) - before[k];
    off[k] = fabs(got / expected - 1.0);
  }
  kp_claim claim = { .id = "lyes-L24",
                     .text = "a sine wind of its own clock drives a flame by A T/2 pi (1 - cos)",
                     .size = "2000 particles, 0.16 s after the wind began" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "drift along x against it, T = 0.5 s, share", off[0], KP_AT_MOST, 0.05 },
      { "drift along z against it, T = 0.6 s, share", off[1], KP_AT_MOST, 0.05 },
      { "drift before the wind, m/s", fabs(before[0]), KP_AT_MOST, 0.01 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  free_fields(&calm);
  free_fields(&f);
  kp_world_destroy(&world);
}

// One burst: everybody flies outward, fades and is gone.
static void test_explosion(void **state) {
  (void)state;
  kp_test_settings s = room();
  kp_fire_def def = flame_def(5000);
  def.respawn = KP_FIRE_NEVER;
  def.stagger = false;
  def.burst = 4.0;
  def.velocity = def.velocity_spread = kp_vec3_make(0, 0, 0);
  def.acceleration = kp_vec3_make(0, -9.81, 0);
  kp_world *world = make_world(&s, &def);
  assert_ok(kp_world_advance(world, 0.5, NULL));
  kp_population_stats half = kp_test_stats(world, "flame");
  assert_int_equal(half.count, 5000);
  assert_between(half.bounds.max.x, 1.8, 2.3);
  assert_ok(kp_world_advance(world, 1.0, NULL));
  int64_t some = kp_world_count(world, "flame");
  assert_true(some > 0 && some < 5000);
  assert_ok(kp_world_advance(world, 0.6, NULL));
  assert_int_equal(kp_world_count(world, "flame"), 0);
  kp_world_destroy(&world);
}

// Rain: born anywhere in a layer at the top, dead at the floor, never fading.
static void test_rain(void **state) {
  (void)state;
  kp_test_settings s = room();
  kp_fire_def def = flame_def(5000);
  def.emitter = KP_FIRE_BLOCK;
  def.position = kp_curve_constant3(kp_vec3_make(0, 4, 0));
  def.size = kp_vec3_make(4, 0.5, 4);
  def.velocity = kp_vec3_make(0, -6, 0);
  def.velocity_spread = def.acceleration = def.acceleration_spread = kp_vec3_make(0, 0, 0);
  def.decay_center = def.decay_rim = 0.0;
  def.floor = 1.0;
  kp_world *world = make_world(&s, &def);
  assert_ok(kp_world_advance(world, 2.0, NULL));
  kp_population_stats rain = kp_test_stats(world, "flame");
  fields f = read_fields(world);
  assert_int_equal(rain.count, 5000);
  assert_true(rain.bounds.min.y >= 1.0 && rain.bounds.max.y <= 4.25);
  assert_between(mean(f.births, f.n), 3.0, 4.5);  // 3 m at 6 m/s, for 2 s
  free_fields(&f);
  kp_world_destroy(&world);
}

static void test_flat(void **state) {
  (void)state;
  kp_test_settings s = room();
  s.domain.dimension = 2;
  kp_fire_def def = flame_def(2000);
  def.wind = kp_curve_constant(3.0);
  kp_world *world = make_world(&s, &def);
  assert_ok(kp_world_advance(world, 1.0, NULL));
  fields f = read_fields(world);
  for (int64_t i = 0; i < f.n; ++i) {
    assert_true(f.x[2][i] == 0.0 && f.v[2][i] == 0.0);
  }
  free_fields(&f);
  kp_world_destroy(&world);
}

// ---- same bits ----------------------------------------------------------------------------------

static kp_world *make_busy(const char *backend) {
  kp_test_settings s = room();
  s.backend = backend;
  kp_fire_def def = flame_def(40000);
  def.wind = kp_curve_constant(3.0);
  def.life_spread = 0.3;
  return make_world(&s, &def);
}

static void test_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_busy, 60);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_births), cmocka_unit_test(test_discs),     cmocka_unit_test(test_life),
    cmocka_unit_test(test_wind),   cmocka_unit_test(test_explosion), cmocka_unit_test(test_rain),
    cmocka_unit_test(test_flat),   cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
