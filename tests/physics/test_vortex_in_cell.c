// Vortex-in-cell (S16): the velocity of vortons by a stream function against the sum over all of
// them, for a ring and a cloud, far from them and near; a ring that moves; the same bits.
//
// On the grid a vorton is a cubic B-spline, whose second moment along an axis is h^2/3. A ball of
// uniform vorticity, which is what the sum's max(r, R)^3 says, has R^2/5: R = 1.29 h. Far away all
// shapes are alike; near it the spline is compared with the Gaussian of its second moment.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "methods/vortex_fire/vortex_fire.h"

#include "support/claims.h"
#include "support/media.h"
#include "support/vortons.h"

#define PI 3.14159265358979323846
#define CELL 0.1
#define BALL (1.2909944487 * CELL)    // radius
#define SPREAD (0.5773502692 * CELL)  // of the Gaussian

// n vortons in a wide room that only do what a test asks for: nobody dies, rises or shares.
static kp_world *make_world(int64_t n, const char *backend) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-9, -9, -9), kp_vec3_make(9, 9, 9));
  s.backend = backend;
  kp_fire_def def = kp_default_fire_def();
  snprintf(def.name, sizeof def.name, "flame");
  def.method = KP_FIRE_VORTEX;
  def.particles = n;
  def.decay_center = def.decay_rim = 0.0;
  def.velocity = def.velocity_spread = kp_vec3_make(0, 0, 0);
  def.stagger = false;
  kp_vortex_fire_def settings = kp_default_vortex_fire_def();
  settings.cell = CELL;
  settings.gather = KP_VORTEX_IN_CELL;
  settings.exchange = settings.stretching = settings.rise_rate = 0.0;
  settings.limit = 1e6;
  settings.grid_limit = 1e6;
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_vortex_fire(world, &settings));
  assert_ok(kp_world_add_fire(world, &def));
  assert_ok(kp_world_build(world));
  return world;
}

static void place_ring(kp_world *world, int64_t n, double radius) {
  for (int64_t i = 0; i < n; ++i) {
    double t = 2.0 * PI * (double)i / (double)n;
    kp_test_vorton(world, i, kp_vec3_make(radius * cos(t) + 0.013, 0.027, radius * sin(t)),
                   kp_vec3_make(5.0 * sin(t), 0.0, -5.0 * cos(t)));
  }
}

static void place_cloud(kp_world *world, int64_t n, double size) {
  for (int64_t i = 0; i < n; ++i) {
    double u[6];
    for (int c = 0; c < 6; ++c) {
      u[c] = kp_rng_uniform(7, KP_RNG_TEST, (uint64_t)i, (uint64_t)c);
    }
    kp_test_vorton(world, i,
                   kp_vec3_make(size * (u[0] - 0.5), size * (u[1] - 0.2), size * (u[2] - 0.5)),
                   kp_vec3_make(10 * u[3] - 5, 10 * u[4] - 5, 10 * u[5] - 5));
  }
}

// ---- against the sum ----------------------------------------------------------------------------

typedef struct errors {
  double mean, worst;  // root mean square and largest, over the root mean square of the sum there
  int64_t n;
} errors;

typedef struct cut {
  double from, to;  // distance of a sample from the nearest vorton [m]
  bool is_gauss;    // vortons are Gaussians, else balls
} cut;

// Share of a vorton's vorticity that is felt at a distance.
static double share(double d, bool is_gauss) {
  double t = d / SPREAD;
  return is_gauss ? erf(t / sqrt(2.0)) - sqrt(2.0 / PI) * t * exp(-0.5 * t * t)
                  : pow(fmin(d / BALL, 1.0), 3.0);
}

typedef struct vortons {
  int64_t n;
  double *x[3], *w[3];
} vortons;

static vortons read_vortons(kp_world *world) {
  vortons a = { .n = kp_world_count(world, "flame") };
  for (int c = 0; c < 3; ++c) {
    a.x[c] = kp_test_field(world, "flame", "position", c);
    a.w[c] = kp_test_field(world, "flame", "vorticity", c);
  }
  return a;
}

static void free_vortons(vortons *a) {
  for (int c = 0; c < 3; ++c) {
    kp_free(a->x[c]), kp_free(a->w[c]);
  }
}

static kp_vec3 sum_at(const vortons *a, kp_vec3 p, double volume, bool is_gauss, double *nearest) {
  kp_vec3 u = kp_vec3_make(0, 0, 0);
  *nearest = HUGE_VAL;
  for (int64_t j = 0; j < a->n; ++j) {
    kp_vec3 r = kp_vec3_sub(p, kp_vec3_make(a->x[0][j], a->x[1][j], a->x[2][j]));
    double d = kp_vec3_length(r);
    *nearest = kp_test_least(*nearest, d);
    if (d > 1e-9) {
      u = kp_vec3_madd(u, volume * share(d, is_gauss) / (4.0 * PI * d * d * d),
                       kp_vec3_cross(kp_vec3_make(a->w[0][j], a->w[1][j], a->w[2][j]), r));
    }
  }
  return u;
}

static errors compare(kp_world *world, const cut *of) {
  kp_vortex_flame *f = kp_test_flame(world);
  vortons a = read_vortons(world);
  const kp_pos *at[3];
  const kp_real *got[3];
  kp_set *nodes = f->grid.nodes;
  for (int c = 0; c < 3; ++c) {
    at[c] = kp_buffer_host(&nodes->position->buffers[c], KP_ACCESS_READ);
    got[c] = kp_buffer_host(&nodes->velocity->buffers[c], KP_ACCESS_READ);
  }
  errors e = { 0 };
  double sum = 0.0;
  for (int64_t i = 0; i < nodes->space->n; ++i) {
    double nearest;
    kp_vec3 p = kp_vec3_make(at[0][i], at[1][i], at[2][i]);
    kp_vec3 u = sum_at(&a, p, f->volume, of->is_gauss, &nearest);
    if (nearest >= of->from && nearest < of->to) {
      kp_vec3 v = kp_vec3_make((double)got[0][i], (double)got[1][i], (double)got[2][i]);
      double wrong = kp_vec3_length(kp_vec3_sub(v, u));
      sum += kp_vec3_dot(u, u);
      e.mean += wrong * wrong;
      e.worst = kp_test_most(e.worst, wrong);
      ++e.n;
    }
  }
  e.mean = sqrt(e.mean / sum);
  e.worst /= sqrt(sum / (double)e.n);
  free_vortons(&a);
  return e;
}

static void check(kp_world *world, const char *id, const char *text) {
  const cut bands[4] = { { 2.0 * BALL, HUGE_VAL, false },
                         { 4.0 * CELL, HUGE_VAL, false },
                         { 0.0, 1.0 * CELL, true },
                         { 1.0 * CELL, 2.0 * BALL, true } };
  const char *const words[4] = { "farther than two cores", "farther than four cells",
                                 "within a cell of one", "from there to two cores" };
  const double limits[4] = { 0.01, 0.003, 0.2, 0.08 };
  const kp_vortex_flame *f = kp_test_flame(world);
  print_message("  %s: %lld samples, %d iterations\n", text, (long long)f->grid.nodes->space->n,
                f->solved.iterations);
  assert_true(f->solved.is_converged);
  for (int k = 0; k < 4; ++k) {
    errors e = compare(world, &bands[k]);
    print_message("    %s: %lld samples, mean %.2f %%, worst %.2f %%\n", words[k], (long long)e.n,
                  100 * e.mean, 100 * e.worst);
    assert_true(e.n > 50);
    assert_between(e.mean, 0.0, limits[k]);
    if (k == 0) {
      kp_claim claim = { .id = id,
                         .text = "velocity by the stream function equals the sum over all vortons",
                         .size = text };
      kp_claim_all(&claim,
                   { "difference farther than two cores, share", e.mean, KP_AT_MOST, 0.01 });
    }
  }
}

static void induce(kp_world *world) {
  assert_ok(kp_vortex_fire_induce(kp_test_vortex_fire(world), kp_test_flame(world), &world->env));
}

static void test_ring(void **state) {
  (void)state;
  kp_world *world = make_world(160, "cpu");
  place_ring(world, 160, 0.5);
  induce(world);
  check(world, "selle-S16-ring", "ring of 160 vortons, 5 cells in radius");
  kp_world_destroy(&world);
}

static void test_cloud(void **state) {
  (void)state;
  kp_world *world = make_world(300, "cpu");
  place_cloud(world, 300, 3.0);
  induce(world);
  check(world, "selle-S16-cloud", "cloud of 300 vortons at random, 30 cells wide");
  kp_world_destroy(&world);
}

// ---- in a run -----------------------------------------------------------------------------------

// A ring moves along its axis as the sum over its Gaussians says it does, but for what is lost
// between the samples: vortons read them by linear interpolation.
static void test_moving_ring(void **state) {
  (void)state;
  int64_t n = 160;
  kp_world *world = make_world(n, "cpu");
  place_ring(world, n, 0.5);
  vortons a = read_vortons(world);
  double speed = 0.0;
  double nearest;
  for (int64_t i = 0; i < n; ++i) {
    kp_vec3 p = kp_vec3_make(a.x[0][i], a.x[1][i], a.x[2][i]);
    speed += sum_at(&a, p, kp_test_flame(world)->volume, true, &nearest).y / (double)n;
  }
  free_vortons(&a);
  assert_ok(kp_world_advance(world, 0.02, NULL));
  a = read_vortons(world);
  double way = 0.0;
  double drift = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    way += (a.x[1][i] - 0.027) / (double)n;
    drift += (a.x[0][i] - 0.013) / (double)n;
  }
  free_vortons(&a);
  print_message("  ring at %.4f m/s, sum %.4f m/s; sideways %.1g of the way\n", way / 0.02, speed,
                fabs(drift / way));
  assert_near_relative(way / 0.02, speed, 0.08);
  assert_between(fabs(drift), 0.0, 0.02 * fabs(way));
  kp_world_destroy(&world);
}

// A flame over a ball with all that a step does.
static kp_world *make_busy(const char *backend) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, -1, -2), kp_vec3_make(2, 4, 2));
  s.backend = backend;
  kp_vortex_fire_def settings = kp_default_vortex_fire_def();
  settings.gather = KP_VORTEX_IN_CELL;
  settings.lightness = 0.01;
  kp_fire_def def = kp_default_fire_def();
  snprintf(def.name, sizeof def.name, "flame");
  def.method = KP_FIRE_VORTEX;
  def.particles = 400;
  def.emitter = KP_FIRE_SPHERE;
  def.radius = 0.21;
  kp_collider_def wick = kp_default_collider_def();
  snprintf(wick.name, sizeof wick.name, "wick");
  wick.shape.kind = KP_SHAPE_SPHERE;
  wick.shape.radius = 0.2;
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_vortex_fire(world, &settings));
  assert_ok(kp_world_add_collider(world, &wick));
  assert_ok(kp_world_add_fire(world, &def));
  assert_ok(kp_world_build(world));
  return world;
}

static void test_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_busy, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_ring), cmocka_unit_test(test_cloud),
                                      cmocka_unit_test(test_moving_ring),
                                      cmocka_unit_test(test_bits) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
