// Walls: nothing gets through any of them, DEM contacts bounce as asked, Lennard-Jones walls never
// pull.
#include <math.h>
#include <stdio.h>

#include "support/claims.h"
#include "support/worlds.h"
#include "walls_size.h"

#define CHECK_EVERY 25  // steps

static const char *const wall_names[] = { "mirror", "sph", "lennard_jones", "dem", "planes" };

// ---- non-penetration ----------------------------------------------------------------------------

// A dam that breaks against a box which is driven to and fro through the water.
static kp_world *make_tank(int dimension, int wall) {
  double dx = dimension == 2 ? 0.02 : 0.025;
  double width = 0.2;
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.6, width));
  s.sph.wall = wall == 4 ? KP_SPH_WALL_MIRROR : wall;
  s.sph.domain_walls = wall == 4;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.3, 0.3, width), dx);
  if (dimension == 3) {
    water.shape.max = kp_vec3_make(0.2, 0.3, width);
  }
  assert_ok(kp_world_add_liquid(world, &water));
  kp_collider_def box = kp_default_collider_def();
  snprintf(box.name, sizeof box.name, "box");
  box.shape = kp_test_box(kp_vec3_make(-0.06, 0.08, 0.0), kp_vec3_make(0.06, 0.2, width));
  double samples[3 * 41] = { 0 };
  for (int k = 0; k <= 40; ++k) {
    samples[3 * k] = 0.55 - 0.1 * sin(0.5 * k);
  }
  box.position = (kp_curve){ .components = 3, .n = 41, .interval = 0.2, .samples = samples };
  assert_ok(kp_world_add_collider(world, &box));
  assert_ok(kp_world_build(world));
  return world;
}

// Water that runs down a slope of 12 degrees, periodic, around two rocks in its bed: gravity is
// tilted instead of the bed.
static kp_world *make_river(int dimension, int wall) {
  double dx = dimension == 2 ? 0.02 : 0.025;
  double width = 0.2;
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.4, width));
  s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(9.81 * 0.208, -9.81 * 0.978, 0);
  s.sph.wall = wall == 4 ? KP_SPH_WALL_MIRROR : wall;
  s.sph.domain_walls = wall == 4;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.15, width), dx);
  assert_ok(kp_world_add_liquid(world, &water));
  for (int k = 0; k < 2; ++k) {
    kp_collider_def rock = kp_default_collider_def();
    snprintf(rock.name, sizeof rock.name, "rock-%d", k);
    double lift = dimension == 2 ? 0.0 : 0.06 + 0.08 * k;
    rock.shape = kp_test_ball(kp_vec3_make(0.2 + 0.4 * k, 0.02, lift), 0.07);
    assert_ok(kp_world_add_collider(world, &rock));
  }
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  kp_test_log_end();
  return world;
}

typedef struct leaks {
  int64_t outside;  // of the domain
  int64_t inside;   // deeper than half a spacing in a solid
  double deepest;   // in a solid, m
} leaks;

static double depth_in(const kp_world *world, const kp_world_body *solid, kp_vec3 x) {
  const kp_body *model = &world->bodies->models.data[solid->body];
  kp_frame3 frame = kp_bodies_frame(world->bodies, solid->body);
  kp_vec3 arm =
      kp_quat_rotate(kp_quat_conjugate(frame.orientation), kp_vec3_sub(x, frame.position));
  return -kp_shape_distance(solid->shape, kp_vec3_add(arm, model->center));
}

static void count_leaks(kp_world *world, leaks *sum) {
  const kp_domain_def *d = &world->spec.domain;
  bool is_periodic = d->boundary_x == KP_BOUNDARY_PERIODIC;
  double dx = kp_test_fluid(world, "water")->def.spacing;
  kp_test_particles p = kp_test_particles_read(world, "water");
  for (int64_t i = 0; i < p.n; ++i) {
    kp_vec3 x = kp_vec3_make(p.x[0][i], p.x[1][i], p.x[2][i]);
    bool out = x.y < d->min.y || x.y > d->max.y;
    out = out || (!is_periodic && (x.x < d->min.x || x.x > d->max.x));
    out = out || (d->dimension == 3 && (x.z < d->min.z || x.z > d->max.z));
    double depth = -HUGE_VAL;
    for (size_t k = 0; k < world->shapes.count; ++k) {
      depth = kp_test_most(depth, depth_in(world, &world->shapes.data[k], x));
    }
    sum->outside += out;
    sum->inside += depth > 0.5 * dx;
    sum->deepest = kp_test_most(sum->deepest, depth);
  }
  kp_test_particles_free(&p);
}

typedef struct penetration {
  double deepest;  // in a solid, spacings
  double lost;     // looks at particles outside of the domain or gone
  double inside;   // looks at particles deeper than half a spacing in a solid
} penetration;

typedef kp_world *(*place_fn)(int dimension, int wall);

static penetration look_through(place_fn make, int dimension, int wall, int steps) {
  kp_world *world = make(dimension, wall);
  double dx = kp_test_fluid(world, "water")->def.spacing;
  int64_t before = kp_world_count(world, "water");
  leaks sum = { 0 };
  double fastest = 0.0;
  for (int k = 0; k < steps; k += CHECK_EVERY) {
    kp_test_steps(world, CHECK_EVERY);
    fastest = kp_test_most(fastest, kp_test_fluid(world, "water")->medium.max_speed);
    count_leaks(world, &sum);
  }
  print_message(
      "  %s %dD %-13s: outside %lld, inside %lld, deepest %.2f dx, fastest %.1f m/s, t = %.2f s\n",
      make == make_tank ? "dam" : "river", dimension, wall_names[wall], (long long)sum.outside,
      (long long)sum.inside, fmax(sum.deepest, 0.0) / dx, fastest, kp_world_time(world));
  int64_t gone = before - kp_world_count(world, "water");
  kp_world_destroy(&world);
  return (penetration){ fmax(sum.deepest, 0.0) / dx, (double)(sum.outside + gone),
                        (double)sum.inside };
}

static void add_look(penetration *to, penetration look) {
  to->deepest = kp_test_most(to->deepest, look.deepest);
  to->lost += look.lost;
  to->inside += look.inside;
}

static void test_nothing_gets_through(void **state) {
  (void)state;
  const walls_size *size = &walls_size_chosen;
  penetration of[5] = { 0 };
  penetration all = { 0 };
  for (int wall = 0; wall < 5; ++wall) {
    add_look(&of[wall], look_through(make_tank, 2, wall, size->steps_2d));
    add_look(&of[wall], look_through(make_tank, 3, wall, size->steps_3d));
    add_look(&of[wall], look_through(make_river, 2, wall, size->steps_2d));
    add_look(&of[wall], look_through(make_river, 3, wall, size->steps_river));
    add_look(&all, of[wall]);
  }
  kp_claim claim = { .id = "bayraktar-C18-long",
                     .text = "nothing gets through walls, a moving box and rocks, five wall laws",
                     .size = size->words };
  kp_claim_all(&claim, { "particles outside or gone", all.lost, KP_AT_MOST, 0 },
               { "deepest in a solid, mirrored pressure [dx]", of[KP_SPH_WALL_MIRROR].deepest,
                 KP_LESS, 0.5 },
               { "own pressure [dx]", of[KP_SPH_WALL_SPH].deepest, KP_LESS, 0.5 },
               { "Lennard-Jones [dx]", of[KP_SPH_WALL_LENNARD_JONES].deepest, KP_LESS, 0.5 },
               { "spring and dashpot [dx]", of[KP_SPH_WALL_DEM].deepest, KP_LESS, 0.5 },
               { "planes [dx]", of[4].deepest, KP_LESS, 0.5 });
  assert_true(all.lost == 0.0);
  assert_true(all.inside == 0.0);
  assert_between(all.deepest, 0.0, 0.5);
}

// ---- one particle -------------------------------------------------------------------------------

// One particle over the floor, right above a sample when x is a half spacing.
static kp_world *make_single(int wall, double restitution, double x, double y, double speed) {
  const double dx = 0.02;
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(20 * dx, 20 * dx, 1));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.wall = wall;
  s.sph.wall_restitution = restitution;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def drop = kp_test_liquid("drop", kp_vec3_make((x - 0.5) * dx, (y - 0.5) * dx, 0),
                                      kp_vec3_make((x + 0.5) * dx, (y + 0.5) * dx, 1), dx);
  drop.sound_speed = 10.0;
  drop.viscosity = 0.0;
  drop.velocity = kp_vec3_make(0, -speed, 0);
  assert_ok(kp_world_add_liquid(world, &drop));
  assert_ok(kp_world_build(world));
  assert_int_equal(kp_world_count(world, "drop"), 1);
  return world;
}

// Below 0.3 a contact is over after a few steps and the error of the integrator shows (0.15 gives
// 0.142).
static void test_dem_restitution(void **state) {
  (void)state;
  const double wanted[] = { 0.3, 0.5, 0.8, 0.95 };
  double worst = 0.0;
  for (int k = 0; k < 4; ++k) {
    kp_world *world = make_single(KP_SPH_WALL_DEM, wanted[k], 10.5, 2.0, 1.0);
    assert_ok(kp_world_advance(world, 0.2, NULL));
    kp_test_particles p = kp_test_particles_read(world, "drop");
    print_message("  restitution %.2f asked, %.4f found\n", wanted[k], p.v[1][0]);
    worst = kp_test_most(worst, fabs(p.v[1][0] / wanted[k] - 1.0));
    kp_test_particles_free(&p);
    kp_world_destroy(&world);
  }
  assert_between(worst, 0.0, 0.03);
  kp_claim claim = { .id = "bayraktar-B16",
                     .text = "a particle bounces off a DEM wall with the chosen restitution",
                     .size = "one particle on one sample, 0.3 to 0.95" };
  kp_claim_all(&claim, { "relative error of the restitution", worst, KP_AT_MOST, 0.03 });
}

static void test_lennard_jones_never_attracts(void **state) {
  (void)state;
  double least = HUGE_VAL, near_force = HUGE_VAL, far_force = 0.0;
  for (int k = 0; k < 24; ++k) {
    double y = 0.05 + 0.05 * k;
    for (int side = 0; side < 2; ++side) {
      kp_world *world =
          make_single(KP_SPH_WALL_LENNARD_JONES, 0.5, side == 0 ? 10.5 : 10.0, y, 0.0);
      assert_ok(kp_world_step(world, 1e-7, NULL));
      kp_test_particles p = kp_test_particles_read(world, "drop");
      // samples lie half a spacing below the floor and reach one spacing
      least = kp_test_least(least, p.a[1][0]);
      near_force = y < 0.49 && side == 0 ? fmin(near_force, p.a[1][0]) : near_force;
      far_force = y > 0.51 ? fmax(far_force, fabs(p.a[1][0])) : far_force;
      kp_test_particles_free(&p);
      kp_world_destroy(&world);
    }
  }
  kp_claim claim = { .id = "bayraktar-B15",
                     .text = "a Lennard-Jones wall repels within its reach and never attracts",
                     .size = "one particle at 24 heights, over a sample and between two" };
  kp_claim_all(&claim, { "least force away from the wall per mass [m/s^2]", least, KP_AT_LEAST, 0 },
               { "least over a sample within its reach", near_force, KP_MORE, 0 },
               { "largest beyond its reach", far_force, KP_AT_MOST, 0 });
  assert_true(least >= 0.0 && near_force > 0.0 && far_force == 0.0);
}

// ---- beside another method ----------------------------------------------------------------------

// Water at rest in one half of a tank, and liquid of FLIP with particles of `spacing` in the other.
static kp_test_particles beside_flip(double spacing) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1.0, 0.6, 0.0));
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.3, 0.3, 0.0), 0.04);
  assert_ok(kp_world_add_liquid(world, &water));
  kp_collider_def step = kp_default_collider_def();
  snprintf(step.name, sizeof step.name, "step");
  step.shape = kp_test_box(kp_vec3_make(0.32, 0.0, -0.1), kp_vec3_make(0.4, 0.1, 0.1));
  assert_ok(kp_world_add_collider(world, &step));
  if (spacing > 0.0) {
    kp_liquid_def other =
        kp_test_liquid("other", kp_vec3_make(0.7, 0, 0), kp_vec3_make(1.0, 0.3, 0.0), spacing);
    other.method = KP_LIQUID_FLIP;
    assert_ok(kp_world_add_liquid(world, &other));
  }
  assert_ok(kp_world_build(world));
  for (int step_index = 0; step_index < 200; ++step_index) {
    kp_step_report report;
    assert_ok(kp_world_step(world, 2e-4, &report));
    assert_int_equal(report.n_bad, 0);
  }
  kp_test_particles p = kp_test_particles_read(world, "water");
  kp_world_destroy(&world);
  return p;
}

// Its walls are as thick as without it: what FLIP is made of does not matter. With samples of walls
// at half the spacing, hundreds of particles ran away in the first step.
static void test_flip_beside(void **state) {
  (void)state;
  static const double ratios[] = { 0.2, 0.5, 0.6, 1.0, 2.0 };
  kp_test_particles alone = beside_flip(0.0);
  assert_true(alone.n > 0);
  for (size_t r = 0; r < sizeof ratios / sizeof ratios[0]; ++r) {
    kp_test_particles p = beside_flip(0.04 * ratios[r]);
    assert_int_equal(p.n, alone.n);
    for (int64_t i = 0; i < p.n; ++i) {
      assert_true(p.x[0][i] == alone.x[0][i] && p.x[1][i] == alone.x[1][i]);
    }
    kp_test_particles_free(&p);
  }
  kp_test_particles_free(&alone);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_flip_beside),
    cmocka_unit_test(test_nothing_gets_through),
    cmocka_unit_test(test_dem_restitution),
    cmocka_unit_test(test_lennard_jones_never_attracts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
