// Grains against analysis: hits of two, sliding and rolling on a slope, balances, and every contact
// against the plain loop over all pairs in double.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/grains/grains.h"

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define R 0.01

static kp_grains *grains_of(kp_world *world) {
  return kp_test_system(world, &kp_grains_method);
}

static kp_grains_def sand(const char *name, kp_vec3 lo, kp_vec3 hi) {
  kp_grains_def def = kp_default_grains_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.shape = kp_test_box(lo, hi);
  def.spacing = 2 * R;
  return def;
}

// One grain in the middle of a box that is just large enough for it.
static kp_grains_def single(const char *name, kp_vec3 at) {
  kp_vec3 half = kp_vec3_make(R, R, R);
  return sand(name, kp_vec3_sub(at, half), kp_vec3_add(at, half));
}

static kp_test_settings free_space(int dimension) {
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(-1, -1, dimension == 3 ? -1 : 0),
                            kp_vec3_make(1, 1, dimension == 3 ? 1 : 0));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  return s;
}

static void stir(kp_world *world, const char *set, double speed, uint64_t seed) {
  kp_space *space = kp_registry_find(world->registry, set);
  kp_test_random random = kp_test_random_begin(seed);
  bool is_flat = world->env.dimension == 2;
  for (int c = 0; c < (is_flat ? 2 : 3); ++c) {
    kp_real *v = kp_buffer_host(&kp_space_find(space, "velocity")->buffers[c], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < space->n; ++i) {
      v[i] = (kp_real)kp_test_uniform(&random, -speed, speed);
    }
  }
}

static double read_one(kp_world *world, const char *set, const char *field, int c) {
  double value;
  assert_ok(kp_world_read(world, set, field, c, &value, 1));
  return value;
}

// ---- restitution --------------------------------------------------------------------------------

// Two grains of unlike mass meet head on; the share of the relative speed that is left.
static double hit(int dimension, int contact, double restitution, double ratio, double speed) {
  kp_test_settings s = free_space(dimension);
  kp_world *world = kp_test_world(&s);
  kp_dem_def dem = kp_default_dem_def();
  dem.contact = contact;
  assert_ok(kp_world_set_dem(world, &dem));
  kp_grains_def a = single("a", kp_vec3_make(-0.02, 0, 0));
  kp_grains_def b = single("b", kp_vec3_make(0.02, 0, 0));
  a.restitution = b.restitution = restitution;
  a.velocity = kp_vec3_make(speed, 0, 0);
  b.radius = ratio * R;
  a.young_modulus = b.young_modulus = 1e6;
  a.stiffness = b.stiffness = 2e4;
  assert_ok(kp_world_add_grains(world, &a));
  assert_ok(kp_world_add_grains(world, &b));
  assert_ok(kp_world_build(world));
  for (int k = 0; k < 100000; ++k) {
    kp_test_steps(world, 1);
    double left = read_one(world, "b", "velocity", 0) - read_one(world, "a", "velocity", 0);
    double gap = read_one(world, "b", "position", 0) - read_one(world, "a", "position", 0);
    if (left > 0.0 && gap > (1.0 + ratio) * R) {
      kp_world_destroy(&world);
      return left / speed;
    }
  }
  fail_msg("the grains did not part");
  return 0.0;
}

static void test_restitution(void **state) {
  (void)state;
  const double wanted[] = { 0.1, 0.3, 0.5, 0.7, 0.9, 1.0 };
  double worst = 0.0;
  for (int contact = 0; contact < 2; ++contact) {
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; ++k) {
      double e = hit(3, contact, wanted[k], k % 2 == 0 ? 1.0 : 0.7, 0.5);
      double error = fabs(e / wanted[k] - 1.0);
      print_message("  %s e = %.2f: %.4f\n", contact == 0 ? "linear" : "hertz", wanted[k], e);
      worst = kp_test_most(worst, error);
    }
  }
  worst = kp_test_most(worst, fabs(hit(2, 0, 0.5, 1.0, 0.5) / 0.5 - 1.0));
  // Tsuji's dashpot: the same at a hundredth of the speed
  worst = kp_test_most(worst, fabs(hit(3, 1, 0.5, 1.0, 0.005) / 0.5 - 1.0));
  kp_claim claim = { .id = "bayraktar-B16-restitution",
                     .text = "two grains that meet part with the chosen restitution",
                     .size = "two grains, linear and Hertz, e = 0.1 to 1, 2D and 3D" };
  kp_claim_all(&claim, { "relative error of the restitution", worst, KP_AT_MOST, 0.03 });
  assert_true(worst <= 0.03);
}

// A hit takes pi sqrt(m*/k) and presses in by v sqrt(m*/k), without damping.
static void test_contact_time(void **state) {
  (void)state;
  kp_test_settings s = free_space(3);
  s.simulation.dt = 1e-6;
  kp_world *world = kp_test_world(&s);
  kp_grains_def a = single("a", kp_vec3_make(-R, 0, 0));
  kp_grains_def b = single("b", kp_vec3_make(R * (1 + 1e-6), 0, 0));
  a.restitution = b.restitution = 1.0;
  a.contact_time = b.contact_time = 1e-3;
  a.velocity = kp_vec3_make(0.1, 0, 0);
  assert_ok(kp_world_add_grains(world, &a));
  assert_ok(kp_world_add_grains(world, &b));
  assert_ok(kp_world_build(world));
  double deepest = 0.0;
  int n = 0;
  for (bool is_apart = false; !is_apart; ++n) {
    kp_test_steps(world, 1);
    double gap = read_one(world, "b", "position", 0) - read_one(world, "a", "position", 0) - 2 * R;
    deepest = kp_test_most(deepest, -gap);
    is_apart = n > 10 && gap > 0.0;
  }
  assert_near_relative(n * 1e-6, 1e-3, 0.01);
  assert_near_relative(deepest, 0.1 * 1e-3 / PI, 0.01);
  kp_world_destroy(&world);
}

// ---- slopes -------------------------------------------------------------------------------------

// A block that cannot roll: four grains side by side on a plane with strong rolling friction.
// Gravity is tilted instead of the plane. Speed down the slope at the end, and acceleration over
// the second half.
typedef struct descent {
  double speed, acceleration;
} descent;

static descent slide_down(double angle_deg, double friction, double rolling, double seconds) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, 0, -1), kp_vec3_make(2, 1, 1));
  double angle = angle_deg * PI / 180.0;
  s.simulation.gravity = kp_vec3_make(9.81 * sin(angle), -9.81 * cos(angle), 0);
  kp_world *world = kp_test_world(&s);
  kp_grains_def block =
      sand("block", kp_vec3_make(-2 * R, 0, -2 * R), kp_vec3_make(2 * R, 2 * R, 2 * R));
  block.friction = friction;
  block.rolling_friction = rolling;
  block.restitution = 0.1;
  block.contact_time = 2e-3;
  assert_ok(kp_world_add_grains(world, &block));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.5 * seconds, NULL));
  double half = read_one(world, "block", "velocity", 0);
  assert_ok(kp_world_advance(world, 0.5 * seconds, NULL));
  double v = read_one(world, "block", "velocity", 0);
  kp_world_destroy(&world);
  return (descent){ v, (v - half) / (0.5 * seconds) };
}

static void test_block_on_slope(void **state) {
  (void)state;
  double fastest_below = 0.0, worst = 0.0;
  const double frictions[] = { 0.2, 0.5, 0.8 };
  for (int k = 0; k < 3; ++k) {
    double limit = atan(frictions[k]) * 180.0 / PI;
    double below = slide_down(limit - 1.0, frictions[k], 10.0, 0.25).speed;
    double above = slide_down(limit + 1.0, frictions[k], 10.0, 0.25).acceleration;
    double angle = (limit + 1.0) * PI / 180.0;
    double wanted = 9.81 * (sin(angle) - frictions[k] * cos(angle));
    print_message("  mu = %.1f: %.2e m/s one degree below, %.4f m/s^2 one above (%.4f)\n",
                  frictions[k], below, above, wanted);
    fastest_below = kp_test_most(fastest_below, fabs(below));
    worst = kp_test_most(worst, fabs(above / wanted - 1.0));
  }
  kp_claim claim = { .id = "bayraktar-B16-slope",
                     .text = "a block on a slope slides if and only if tan(angle) > mu",
                     .size = "four grains, mu = 0.2, 0.5, 0.8, one degree below and above" };
  kp_claim_all(&claim,
               { "acceleration above, off g (sin - mu cos), relative", worst, KP_AT_MOST, 0.02 },
               { "speed below after 0.25 s [m/s]", fastest_below, KP_AT_MOST, 1e-3 });
  assert_true(worst <= 0.02 && fastest_below <= 1e-3);
}

// A sphere that is free to roll accelerates by 5/7 g sin(angle) while tan(angle) < 7/2 mu.
static void test_rolling(void **state) {
  (void)state;
  double angle = 10.0 * PI / 180.0;
  double rolls = slide_down(10.0, 0.5, 0.0, 0.5).acceleration;
  assert_near_relative(rolls, 5.0 / 7.0 * 9.81 * sin(angle), 0.01);
  // rolling friction holds it up to tan(angle) = mu_r
  assert_true(fabs(slide_down(10.0, 0.5, 0.2, 0.25).speed) < 2e-3);
  assert_true(slide_down(10.0, 0.5, 0.1, 0.25).speed > 0.05);
}

// ---- adhesion -----------------------------------------------------------------------------------

// A grain hangs below a frozen one while 2 pi gamma R* > m g.
static double hang(double share) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  kp_world *world = kp_test_world(&s);
  kp_grains_def top = single("top", kp_vec3_make(0, R, 0));
  kp_grains_def low = single("low", kp_vec3_make(0, -R * 0.99999, 0));
  double weight = 4.0 / 3.0 * PI * R * R * R * low.density * 9.81;
  top.frozen = true;
  top.cohesion = low.cohesion = share * weight / (2 * PI * 0.5 * R);
  top.contact_time = low.contact_time = 1e-3;
  assert_ok(kp_world_add_grains(world, &top));
  assert_ok(kp_world_add_grains(world, &low));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.2, NULL));
  double y = read_one(world, "low", "position", 1);
  kp_world_destroy(&world);
  return y + R;
}

static void test_adhesion(void **state) {
  (void)state;
  assert_true(fabs(hang(1.5)) < 0.01 * R);
  assert_true(hang(0.7) < -5 * R);
}

// ---- balances and the plain loop ----------------------------------------------------------------

typedef struct cloud {
  int dimension, contact;
  double ratio, rolling;
  bool is_periodic;
} cloud;

static kp_world *make_cloud(const cloud *c, const char *backend) {
  double z = c->dimension == 3 ? 0.16 : 0.0;
  kp_test_settings s =
      kp_test_settings_make(c->dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(0.16, 0.16, z));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt = 2e-5;
  if (c->is_periodic) {
    s.domain.boundary_x = s.domain.boundary_y = s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  }
  kp_world *world = kp_test_world(&s);
  kp_dem_def dem = kp_default_dem_def();
  dem.contact = c->contact;
  assert_ok(kp_world_set_dem(world, &dem));
  kp_grains_def a = sand("a", kp_vec3_make(0, 0, 0), kp_vec3_make(0.08, 0.16, z));
  kp_grains_def b = sand("b", kp_vec3_make(0.08, 0, 0), kp_vec3_make(0.16, 0.16, z));
  a.size_ratio = c->ratio;
  a.rolling_friction = b.rolling_friction = c->rolling;
  a.friction = 0.8;
  b.friction = 0.2;
  b.density = 1000.0;
  a.contact_time = b.contact_time = 1e-3;
  a.young_modulus = 1e6;
  a.jitter = b.jitter = 0.1;
  assert_ok(kp_world_add_grains(world, &a));
  assert_ok(kp_world_add_grains(world, &b));
  assert_ok(kp_world_build(world));
  kp_grains *grains = grains_of(world);
  for (size_t k = 0; k < grains->sets.count; ++k) {
    const char *name = grains->sets.data[k].medium.name;
    stir(world, name, 0.5, 7 + k);
  }
  return world;
}

// Sums over all grains, in double.
typedef struct sums {
  double momentum[3], angular[3], size, n;
} sums;

static sums sums_of(kp_world *world) {
  sums t = { 0 };
  kp_grains *grains = grains_of(world);
  for (size_t k = 0; k < grains->sets.count; ++k) {
    const kp_grains_set *set = &grains->sets.data[k];
    int64_t n = set->medium.set->space->n;
    double *v = calloc((size_t)(n * 11 + 1), sizeof(double));
    const char *name = set->medium.name;
    for (int c = 0; c < 3; ++c) {
      assert_ok(kp_world_read(world, name, "position", c, v + n * c, n));
      assert_ok(kp_world_read(world, name, "velocity", c, v + n * (3 + c), n));
      assert_ok(kp_world_read(world, name, "angular_velocity", c, v + n * (6 + c), n));
    }
    assert_ok(kp_world_read(world, name, "mass", 0, v + n * 9, n));
    assert_ok(kp_world_read(world, name, "radius", 0, v + n * 10, n));
    for (int64_t i = 0; i < n; ++i) {
      double m = v[9 * n + i];
      double r = v[10 * n + i];
      for (int c = 0; c < 3; ++c) {
        int d = (c + 1) % 3;
        int e = (c + 2) % 3;
        t.momentum[c] += m * v[(3 + c) * n + i];
        t.angular[c] += m * (v[d * n + i] * v[(3 + e) * n + i] - v[e * n + i] * v[(3 + d) * n + i]);
        t.angular[c] += grains->inertia * m * r * r * v[(6 + c) * n + i];
        t.size += m * fabs(v[(3 + c) * n + i]);
      }
    }
    t.n += (double)n;
    free(v);
  }
  return t;
}

// What one side of a contact gains the other loses, and spin is turned out of what is around.
static void test_balance(void **state) {
  (void)state;
  const cloud clouds[] = { { 3, 0, 1.0, 0.0, true },
                           { 3, 0, 0.3, 0.1, true },
                           { 3, 1, 0.6, 0.0, true },
                           { 2, 1, 0.4, 0.2, true } };
  for (size_t k = 0; k < sizeof clouds / sizeof clouds[0]; ++k) {
    kp_world *world = make_cloud(&clouds[k], "cpu");
    sums before = sums_of(world);
    kp_test_steps(world, 400);
    sums after = sums_of(world);
    assert_true(after.n == before.n);
    for (int c = 0; c < 3; ++c) {
      double drift = fabs(after.momentum[c] - before.momentum[c]) / before.size;
      assert_true(drift < KP_TOL(2e-6, 1e-13));
    }
    kp_population_stats stats;
    assert_ok(kp_world_stats(world, 0, &stats));
    assert_true(stats.internal_energy > 0.0);
    kp_world_destroy(&world);
  }
}

static void test_angular_balance(void **state) {
  (void)state;
  // a ball of grains that flies apart touches no wall
  kp_test_settings s = free_space(3);
  s.simulation.dt = 2e-5;
  kp_world *world = kp_test_world(&s);
  kp_grains_def a = sand("a", kp_vec3_make(-0.06, -0.06, -0.06), kp_vec3_make(0.06, 0.06, 0.06));
  a.size_ratio = 0.4;
  a.contact_time = 1e-3;
  a.spin = kp_vec3_make(20, -10, 5);
  assert_ok(kp_world_add_grains(world, &a));
  assert_ok(kp_world_build(world));
  stir(world, "a", 0.5, 3);
  sums before = sums_of(world);
  kp_test_steps(world, 1000);
  sums after = sums_of(world);
  double size = before.size * 0.06;
  for (int c = 0; c < 3; ++c) {
    // the lever arm of friction is the radius, not the distance to the middle of the overlap
    assert_near(after.angular[c], before.angular[c], 2e-3 * size);
    assert_near(after.momentum[c], before.momentum[c], KP_TOL(2e-6, 1e-13) * before.size);
  }
  kp_world_destroy(&world);
}

// Everything the plain loop needs of all grains, in one list.
typedef struct plain {
  int64_t n;
  int set[4096];
  int64_t index[4096];
  grains_record record[4096];
} plain;

static void collect(kp_grains *grains, plain *all) {
  all->n = 0;
  for (size_t s = 0; s < grains->sets.count; ++s) {
    const grains_record *r = kp_buffer_host(&grains->sets.data[s].records, KP_ACCESS_READ);
    for (int64_t i = 0; i < grains->sets.data[s].medium.set->space->n; ++i) {
      assert_true(all->n < 4096);
      all->set[all->n] = (int)s;
      all->index[all->n] = i;
      all->record[all->n++] = r[i];
    }
  }
}

static const kp_grains_link *link_of(const kp_grains *grains, int i, int j) {
  for (size_t l = 0; l < grains->links.count; ++l) {
    if (grains->links.data[l].i == i && grains->links.data[l].j == j) {
      return &grains->links.data[l];
    }
  }
  fail_msg("no such link");
  return NULL;
}

// Normal force of spring, dashpot and adhesion in double: friction needs history, so it is off
// here.
static void plain_force(const kp_grains *grains, const plain *all, int64_t i, bool is_periodic,
                        double f[3]) {
  f[0] = f[1] = f[2] = 0.0;
  const grains_record *a = &all->record[i];
  for (int64_t j = 0; j < all->n; ++j) {
    const grains_record *b = &all->record[j];
    double d[3] = { a->x - b->x, a->y - b->y, a->z - b->z };
    for (int c = 0; c < 3 && is_periodic; ++c) {
      d[c] -= 0.16 * floor(d[c] / 0.16 + 0.5);
    }
    double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    double reach = (double)a->radius + (double)b->radius;
    if (j == i || r >= reach) {
      continue;
    }
    const grains_law *law = &link_of(grains, all->set[i], all->set[j])->law;
    double m = (double)a->mass * (double)b->mass / ((double)a->mass + (double)b->mass);
    double rs = (double)a->radius * (double)b->radius / reach;
    double k = (double)law->stiffness;
    double stiff = grains->def.contact == 1 ? 4.0 / 3.0 * k * sqrt(rs * (reach - r)) : k;
    double slope = grains->def.contact == 1 ? 2.0 * k * sqrt(rs * (reach - r)) : k;
    double vn = (((double)a->vx - (double)b->vx) * d[0] + ((double)a->vy - (double)b->vy) * d[1] +
                 ((double)a->vz - (double)b->vz) * d[2]) /
                r;
    double damping = (double)law->damping * sqrt(slope * m);
    double dt = 2e-5;
    damping /= 1.0 + 0.5 * dt * damping / m;
    double share = reach - r < -vn * dt ? (reach - r) / (-vn * dt) + 0.5 : 1.0;
    double push = stiff * (reach - r) - damping * share * vn;
    push = kp_test_most(push, 0.0);
    for (int c = 0; c < 3; ++c) {
      f[c] += push * d[c] / r;
    }
  }
}

static void test_plain_loop(void **state) {
  (void)state;
  const cloud clouds[] = { { 3, 0, 1.0, 0.0, true },
                           { 3, 0, 0.3, 0.0, false },
                           { 3, 1, 0.25, 0.0, true },
                           { 2, 0, 0.2, 0.0, true },
                           { 3, 0, 0.6, 0.1, true } };
  static plain all;
  for (size_t k = 0; k < sizeof clouds / sizeof clouds[0]; ++k) {
    kp_world *world = make_cloud(&clouds[k], "cpu");
    kp_grains *grains = grains_of(world);
    for (size_t l = 0; l < grains->links.count; ++l) {
      grains->links.data[l].law.friction = 0;
      grains->links.data[l].law.rolling = 0;
    }
    int64_t n_pushed = 0;
    for (int step = 0; step < 60; ++step) {
      kp_test_steps(world, 7);
      collect(grains, &all);
      double worst = 0.0;
      double size = 0.0;
      for (int64_t i = 0; i < all.n; ++i) {
        double f[3];
        plain_force(grains, &all, i, clouds[k].is_periodic, f);
        kp_grains_set *set = &grains->sets.data[all.set[i]];
        bool is_at_face = false;
        for (int c = 0; c < 3 && !clouds[k].is_periodic; ++c) {
          double x = c == 0 ? all.record[i].x : c == 1 ? all.record[i].y : all.record[i].z;
          double near = (double)all.record[i].radius;
          is_at_face = is_at_face || x < near || x > 0.16 - near;
        }
        for (int c = 0; c < 3 && !is_at_face; ++c) {
          const kp_real *acceleration =
              kp_buffer_host(&set->medium.integrate.acceleration->buffers[c], KP_ACCESS_READ);
          double got = (double)acceleration[all.index[i]] * (double)all.record[i].mass;
          worst = kp_test_most(worst, fabs(got - f[c]));
          size = kp_test_most(size, fabs(f[c]));
          n_pushed += f[c] != 0.0;
        }
      }
      assert_true(worst <= KP_TOL(3e-4, 1e-9) * size + 1e-12);
    }
    print_message("  case %zu: %lld sets, %lld components of forces, %lld builds\n", k,
                  (long long)grains->sets.count, (long long)n_pushed,
                  (long long)grains->links.data[0].rows->n_builds);
    assert_true(n_pushed > 1000);
    // most steps go without a sort
    assert_true(grains->links.data[0].rows->n_builds < 210);
    kp_world_destroy(&world);
  }
}

// Both sides of every contact hold the same springs with opposite signs, bit for bit.
static void test_springs_are_antisymmetric(void **state) {
  (void)state;
  cloud c = { 3, 0, 0.4, 0.1, true };
  kp_world *world = make_cloud(&c, "cpu");
  kp_grains *grains = grains_of(world);
  kp_test_steps(world, 300);
  int64_t n = 0;
  for (size_t l = 0; l < grains->links.count; ++l) {
    const kp_grains_link *link = &grains->links.data[l];
    const kp_grains_link *back = link_of(grains, link->j, link->i);
    const uint32_t *begin = kp_buffer_host(&link->rows->begin->buffers[0], KP_ACCESS_READ);
    const uint32_t *count = kp_buffer_host(&link->rows->count->buffers[0], KP_ACCESS_READ);
    const uint32_t *partner = kp_buffer_host(&link->rows->partner->buffers[0], KP_ACCESS_READ);
    const uint32_t *begin2 = kp_buffer_host(&back->rows->begin->buffers[0], KP_ACCESS_READ);
    const uint32_t *count2 = kp_buffer_host(&back->rows->count->buffers[0], KP_ACCESS_READ);
    const uint32_t *partner2 = kp_buffer_host(&back->rows->partner->buffers[0], KP_ACCESS_READ);
    const kp_real *slide = kp_buffer_host(&link->slide->buffers[0], KP_ACCESS_READ);
    const kp_real *slide2 = kp_buffer_host(&back->slide->buffers[0], KP_ACCESS_READ);
    const kp_real *roll = kp_buffer_host(&link->roll->buffers[1], KP_ACCESS_READ);
    const kp_real *roll2 = kp_buffer_host(&back->roll->buffers[1], KP_ACCESS_READ);
    for (uint32_t i = 0; i < grains->sets.data[link->i].medium.set->space->n; ++i) {
      for (uint32_t e = begin[i]; e < begin[i] + count[i]; ++e) {
        uint32_t j = partner[e];
        uint32_t f = begin2[j];
        while (f < begin2[j] + count2[j] && partner2[f] != i) {
          ++f;
        }
        if (slide[e] != 0) {
          assert_true(f < begin2[j] + count2[j]);
          assert_true(slide2[f] == -slide[e]);
          assert_true(roll2[f] == roll[e]);
          ++n;
        }
      }
    }
  }
  assert_true(n > 100);
  kp_world_destroy(&world);
}

// In two dimensions nothing leaves the plane and nothing turns but about z.
static void test_flat(void **state) {
  (void)state;
  cloud c = { 2, 0, 0.5, 0.1, false };
  kp_world *world = make_cloud(&c, "cpu");
  kp_test_steps(world, 300);
  static double v[4096];
  int64_t n = kp_world_count(world, "a");
  const char *fields[] = { "position", "velocity" };
  for (int f = 0; f < 2; ++f) {
    assert_ok(kp_world_read(world, "a", fields[f], 2, v, n));
    for (int64_t i = 0; i < n; ++i) {
      assert_true(v[i] == 0.0);
    }
  }
  double turned = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    assert_ok(kp_world_read(world, "a", "angular_velocity", axis, v, n));
    for (int64_t i = 0; i < n; ++i) {
      assert_true(axis == 2 || v[i] == 0.0);
      turned += fabs(v[i]);
    }
  }
  assert_true(turned > 1.0);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_restitution),
    cmocka_unit_test(test_contact_time),
    cmocka_unit_test(test_block_on_slope),
    cmocka_unit_test(test_rolling),
    cmocka_unit_test(test_adhesion),
    cmocka_unit_test(test_balance),
    cmocka_unit_test(test_angular_balance),
    cmocka_unit_test(test_plain_loop),
    cmocka_unit_test(test_springs_are_antisymmetric),
    cmocka_unit_test(test_flat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
