// Rigid bodies in contact: stacks, piles, slopes, bounces, rolling, dominoes, mass ratios, shells,
// and the broad phase against all pairs.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geom/mesh_make.h"
#include "geom/sampler.h"
#include "methods/rigid/rigid_state.h"

#include "support/claims.h"
#include "support/media.h"

#define G 9.81

// ---- worlds -------------------------------------------------------------------------------------

static kp_test_settings settings(int dimension, double size) {
  kp_test_settings s = kp_test_settings_make(dimension, kp_vec3_make(-size, 0, -size),
                                             kp_vec3_make(size, 2 * size, size));
  s.simulation.gravity = kp_vec3_make(0, -G, 0);
  return s;
}

static kp_body_def body_of(const char *name, int number, kp_shape_def shape, kp_vec3 at) {
  kp_body_def body = kp_default_body_def();
  snprintf(body.name, sizeof body.name, number >= 0 ? "%s%04d" : "%s", name, number);
  body.shape = shape;
  body.position = at;
  body.density = 1000.0;
  return body;
}

static kp_shape_def cube(double edge) {
  double h = 0.5 * edge;
  return kp_test_box(kp_vec3_make(-h, -h, -h), kp_vec3_make(h, h, h));
}

static kp_shape_def along(kp_shape_kind kind, kp_vec3 half_axis, double radius) {
  kp_shape_def def = kp_default_shape_def(kind);
  def.a = kp_vec3_scale(half_axis, -1.0);
  def.b = half_axis;
  def.radius = radius;
  return def;
}

static void add(kp_world *world, const kp_body_def *body) {
  assert_ok(kp_world_add_body(world, body));
}

static kp_rigid *rigid_of(kp_world *world) {
  return kp_test_system(world, &kp_rigid_method);
}

static kp_index find(kp_world *world, const char *name) {
  for (kp_index b = 0; b < (kp_index)world->bodies->models.count; ++b) {
    if (strcmp(world->bodies->models.data[b].name, name) == 0) {
      return b;
    }
  }
  fail_msg("no body %s", name);
  return -1;
}

static kp_frame3 frame_of(kp_world *world, const char *name) {
  return kp_bodies_frame(world->bodies, find(world, name));
}

static void advance(kp_world *world, double seconds) {
  int n = (int)ceil(seconds * 60.0 - 1e-9);
  for (int k = 0; k < n; ++k) {
    assert_ok(kp_world_advance(world, seconds / n, NULL));
  }
}

static double kinetic_energy(kp_world *world) {
  double sum = 0.0;
  for (int p = 0; p < kp_world_n_populations(world); ++p) {
    kp_population_stats stats;
    assert_ok(kp_world_stats(world, p, &stats));
    sum += stats.kinetic_energy;
  }
  return sum;
}

typedef struct sums {
  kp_vec3 momentum, angular;  // about the origin
  double mass, size;          // sum of m |v|
} sums;

static sums sums_of(kp_world *world) {
  sums out = { 0 };
  for (kp_index b = 0; b < (kp_index)world->bodies->models.count; ++b) {
    const kp_body *model = &world->bodies->models.data[b];
    if (model->kind != KP_BODY_FREE) {
      continue;
    }
    kp_frame3 f = kp_bodies_frame(world->bodies, b);
    double mass = 1.0 / model->inverse_mass;
    kp_vec3 w = kp_quat_rotate(kp_quat_conjugate(f.orientation), f.angular_velocity);
    kp_vec3 spin = kp_quat_rotate(f.orientation, kp_mat3_mul_vec3(&model->inertia, w));
    out.mass += mass;
    out.size += mass * kp_vec3_length(f.velocity);
    out.momentum = kp_vec3_madd(out.momentum, mass, f.velocity);
    out.angular = kp_vec3_madd(out.angular, mass, kp_vec3_cross(f.position, f.velocity));
    out.angular = kp_vec3_add(out.angular, spin);
  }
  return out;
}

// How deep samples of the surface of any body lie in any other, as a share of the smaller one: an
// independent look, through the shapes' distances.
static double deepest_overlap(kp_world *world) {
  double worst = 0.0;
  kp_rigid *rigid = rigid_of(world);
  assert_ok(kp_rigid_broad_phase(rigid, &world->env));
  for (size_t c = 0; c < rigid->candidates.count; ++c) {
    for (int side = 0; side < 2; ++side) {
      kp_rigid_candidate pair = rigid->candidates.data[c];
      const kp_rigid_part *a = &rigid->parts.data[side == 0 ? pair.a : pair.b];
      const kp_rigid_part *b = &rigid->parts.data[side == 0 ? pair.b : pair.a];
      if (!a->is_bounded) {
        continue;
      }
      kp_surface_def how = kp_default_surface_def(a->size / 6.0);
      kp_surface_samples samples = { 0 };
      assert_ok(kp_sampler_surface(a->shape, &how, &samples));
      for (size_t i = 0; i < samples.count; ++i) {
        kp_vec3 p = kp_vec3_add(a->at.origin, kp_quat_rotate(a->at.turn, samples.data[i].position));
        kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(b->at.turn), kp_vec3_sub(p, b->at.origin));
        double depth = -kp_shape_distance(b->shape, local);
        worst = kp_test_most(worst, depth / fmin(a->size, b->size));
      }
      kp_array_free(&samples);
    }
  }
  return worst;
}

// ---- stacks -------------------------------------------------------------------------------------

static double tower_drift(int dimension) {
  kp_test_settings s = settings(dimension, 8.0);
  kp_world *world = kp_test_world(&s);
  for (int i = 0; i < 10; ++i) {
    kp_body_def box = body_of("box", i, cube(1.0), kp_vec3_make(0, 0.5 + i, 0));
    add(world, &box);
  }
  assert_ok(kp_world_build(world));
  advance(world, 10.0);
  double worst = 0.0;
  for (kp_index b = 0; b < 10; ++b) {
    kp_frame3 f = kp_bodies_frame(world->bodies, b);
    kp_vec3 drift = kp_vec3_sub(f.position, kp_vec3_make(0, 0.5 + b, 0));
    kp_vec3 up = kp_quat_rotate(f.orientation, kp_vec3_make(0, 1, 0));
    kp_vec3 side = kp_quat_rotate(f.orientation, kp_vec3_make(1, 0, 0));
    worst = kp_test_most(worst, kp_vec3_length(drift));
    worst = kp_test_most(worst, 0.5 * fmax(fabs(1.0 - up.y), fabs(1.0 - side.x)));
    if (dimension == 2) {
      assert_true(f.position.z == 0.0 && f.velocity.z == 0.0 && f.orientation.x == 0.0);
    }
  }
  kp_world_destroy(&world);
  return worst;
}

static void test_tower(void **state) {
  (void)state;
  double flat = tower_drift(2);
  double drift = tower_drift(3);
  print_message("  ten boxes, 10 s: drift %.2e edges in 3D, %.2e in 2D\n", drift, flat);
  kp_claim claim = { .id = "kelpie-rigid-tower",
                     .text = "ten boxes stand on each other for 10 s",
                     .size = "10 boxes of 1 m, 600 steps of 4 sub-steps" };
  kp_claim_all(&claim, { "drift over an edge, 3D", drift, KP_LESS, 0.01 },
               { "drift over an edge, 2D", flat, KP_LESS, 0.01 });
  assert_true(drift < 0.01 && flat < 0.01);
}

static void test_mass_ratio(void **state) {
  (void)state;
  kp_test_settings s = settings(3, 4.0);
  kp_world *world = kp_test_world(&s);
  kp_body_def light = body_of("light", -1, cube(1.0), kp_vec3_make(0, 0.5, 0));
  kp_body_def heavy = body_of("heavy", -1, cube(1.0), kp_vec3_make(0, 1.5, 0));
  light.density = 1.0;
  add(world, &light);
  add(world, &heavy);
  assert_ok(kp_world_build(world));
  double lowest = 2.0;
  for (int k = 0; k < 300; ++k) {
    advance(world, 1.0 / 60.0);
    lowest = kp_test_least(lowest, frame_of(world, "heavy").position.y);
  }
  kp_frame3 f = frame_of(world, "heavy");
  double drift = kp_vec3_length(kp_vec3_sub(f.position, kp_vec3_make(0, 1.5, 0)));
  print_message("  1000 kg on 1 kg, 5 s: drift %.2e edges, lowest %.2e below\n", drift,
                1.5 - lowest);
  kp_claim claim = { .id = "kelpie-rigid-mass-ratio",
                     .text = "a box stands on one a thousand times lighter",
                     .size = "two boxes of 1 m, 5 s" };
  kp_claim_all(&claim, { "how far it sank at most, over an edge", 1.5 - lowest, KP_LESS, 0.01 },
               { "drift at the end over an edge", drift, KP_LESS, 0.01 });
  assert_true(drift < 0.01);
  assert_true(1.5 - lowest < 0.01);
  assert_true(fabs(frame_of(world, "light").position.y - 0.5) < 0.01);
  kp_world_destroy(&world);
}

// ---- the pile -----------------------------------------------------------------------------------

static kp_shape_def mixed_shape(int i) {
  switch (i % 4) {
  case 0:
    return cube(0.2);
  case 1:
    return kp_test_ball(kp_vec3_make(0, 0, 0), 0.11);
  case 2:
    return along(KP_SHAPE_CYLINDER, kp_vec3_make(0, 0.12, 0), 0.1);
  default:
    return along(KP_SHAPE_CAPSULE, kp_vec3_make(0, 0.1, 0), 0.08);
  }
}

static kp_world *make_pile(const char *backend, int n) {
  kp_test_settings s = settings(3, 1.0);
  s.backend = backend;
  s.domain.max.y = 20.0;
  kp_world *world = kp_test_world(&s);
  kp_collider_def bin = kp_default_collider_def();
  snprintf(bin.name, sizeof bin.name, "bin");
  bin.shape = kp_test_box(kp_vec3_make(-0.9, 0, -0.9), kp_vec3_make(0.9, 20, 0.9));
  bin.shape.invert = true;
  assert_ok(kp_world_add_collider(world, &bin));
  for (int i = 0; i < n; ++i) {
    kp_vec3 at = kp_vec3_make(0.3 * (i % 5 - 2) + 0.01 * (i % 3), 0.2 + 0.3 * (i / 25),
                              0.3 * (i / 5 % 5 - 2) + 0.01 * (i % 7));
    kp_body_def body = body_of("b", i, mixed_shape(i), at);
    body.rotation_deg = kp_vec3_make(17.0 * i, 31.0 * i, 7.0 * i);
    body.rolling_friction = 0.002;
    add(world, &body);
  }
  assert_ok(kp_world_build(world));
  return world;
}

static void test_pile(void **state) {
  (void)state;
  kp_world *world = make_pile("cpu", 200);
  double overlap = 0.0;
  for (int second = 1; second <= 8; ++second) {
    advance(world, 1.0);
    print_message("  t = %d s: kinetic energy %.2e J\n", second, kinetic_energy(world));
  }
  overlap = deepest_overlap(world);
  double energy = kinetic_energy(world) / (sums_of(world).mass * G * 0.2);
  double highest = 0.0;
  double fastest = 0.0;
  for (kp_index b = 1; b < (kp_index)world->bodies->models.count; ++b) {
    kp_frame3 f = kp_bodies_frame(world->bodies, b);
    kp_vec3 p = f.position;
    double spin = 0.1 * kp_vec3_length(f.angular_velocity);  // at the surface
    fastest = kp_test_most(fastest, kp_vec3_length(f.velocity) + spin);
    assert_between(fabs(p.x), 0.0, 0.9);
    assert_between(fabs(p.z), 0.0, 0.9);
    assert_true(p.y > 0.0);
    highest = kp_test_most(highest, p.y);
  }
  print_message("  200 bodies, 8 s: kinetic energy %.1e m g d, fastest %.1e m/s, deepest overlap "
                "%.4f sizes, %zu pairs, top %.2f m\n",
                energy, fastest, overlap, rigid_of(world)->pairs.count, highest);
  kp_claim claim = { .id = "kelpie-rigid-pile",
                     .text = "a pile of 200 mixed bodies comes to rest",
                     .size = "boxes, balls, cylinders and capsules in a bin, 8 s" };
  kp_claim_all(&claim, { "kinetic energy over m g d", energy, KP_LESS, 1e-4 },
               { "fastest body [m/s]", fastest, KP_LESS, 1e-3 * 0.16 },
               { "deepest overlap over the size", overlap, KP_LESS, 0.02 },
               { "pairs that touch", (double)rigid_of(world)->pairs.count, KP_AT_LEAST, 200 });
  assert_true(energy < 1e-4);
  assert_true(fastest < 1e-3 * 0.16);  // a thousandth of the smallest width in a second
  assert_true(overlap < 0.02);
  kp_world_destroy(&world);
}

// ---- slopes, bounces, rolling -------------------------------------------------------------------

// A slope through the origin that falls along +x, as a turned plane.
static void add_slope(kp_world *world, double angle, double friction) {
  kp_collider_def slope = kp_default_collider_def();
  snprintf(slope.name, sizeof slope.name, "slope");
  slope.shape = kp_default_shape_def(KP_SHAPE_PLANE);
  slope.shape.normal = kp_vec3_make(sin(angle), cos(angle), 0);
  slope.friction = friction;
  assert_ok(kp_world_add_collider(world, &slope));
}

static kp_vec3 down_slope(double angle) {
  return kp_vec3_make(cos(angle), -sin(angle), 0);
}

// Along the slope: way after a second, acceleration in its second half.
typedef struct motion {
  double way, acceleration;
} motion;

static motion slide(int dimension, kp_shape_def shape, double rest, double angle, double friction) {
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(-50, -50, -50), kp_vec3_make(50, 50, 50));
  s.simulation.gravity = kp_vec3_make(0, -G, 0);
  kp_world *world = kp_test_world(&s);
  add_slope(world, angle, friction);
  kp_vec3 start = kp_vec3_make(rest * sin(angle), rest * cos(angle), 0);
  kp_body_def body = body_of("body", -1, shape, start);
  body.rotation_deg = kp_vec3_make(0, 0, -angle * 180.0 / 3.14159265358979323846);
  body.friction = friction;
  add(world, &body);
  assert_ok(kp_world_build(world));
  kp_vec3 down = down_slope(angle);
  advance(world, 0.5);
  double before = kp_vec3_dot(frame_of(world, "body").velocity, down);
  advance(world, 0.5);
  kp_frame3 f = frame_of(world, "body");
  motion out = { kp_vec3_dot(kp_vec3_sub(f.position, start), down),
                 2.0 * (kp_vec3_dot(f.velocity, down) - before) };
  kp_world_destroy(&world);
  return out;
}

static void test_incline(void **state) {
  (void)state;
  double angle = 0.4;
  double critical = tan(angle);
  for (int dimension = 2; dimension <= 3; ++dimension) {
    motion stick = slide(dimension, cube(1.0), 0.5, angle, 1.02 * critical);
    motion slip = slide(dimension, cube(1.0), 0.5, angle, 0.98 * critical);
    double expected = G * (sin(angle) - 0.98 * critical * cos(angle));
    print_message("  %dD, friction 2 %% above and below the angle: %.2e m and %.3e m/s^2 (%.3e)\n",
                  dimension, stick.way, slip.acceleration, expected);
    assert_true(fabs(stick.way) < 1e-3 && fabs(stick.acceleration) < 1e-6);
    assert_between(slip.acceleration / expected, 0.999, 1.001);
    for (double mu = 0.0; mu < 0.35; mu += 0.1) {
      motion m = slide(dimension, cube(1.0), 0.5, angle, mu);
      double exact = G * (sin(angle) - mu * cos(angle));
      print_message("  %dD, friction %.1f: %.6f m/s^2, analysis %.6f; %.4f m in 1 s (%.4f)\n",
                    dimension, mu, m.acceleration, exact, m.way, 0.5 * exact);
      assert_between(m.acceleration / exact, 0.999, 1.001);
      assert_between(m.way / (0.5 * exact), 0.99, 1.02);
    }
  }
}

static void test_rolling(void **state) {
  (void)state;
  double angle = 0.3;
  double fall = G * sin(angle);
  kp_shape_def round = kp_test_ball(kp_vec3_make(0, 0, 0), 0.5);
  kp_shape_def log = along(KP_SHAPE_CYLINDER, kp_vec3_make(0, 0, 0.5), 0.5);
  double ball = slide(3, round, 0.5, angle, 0.8).acceleration / fall;
  double disc = slide(2, round, 0.5, angle, 0.8).acceleration / fall;
  double drum = slide(3, log, 0.5, angle, 0.8).acceleration / fall;
  print_message("  rolling over falling: ball %.6f (5/7), disc %.6f and drum %.6f (2/3)\n", ball,
                disc, drum);
  assert_between(ball * 7.0 / 5.0, 0.998, 1.002);
  assert_between(disc * 3.0 / 2.0, 0.998, 1.002);
  assert_between(drum * 3.0 / 2.0, 0.998, 1.002);
}

// A body on a level floor that starts at `speed` along x without spin, until it rests or `seconds`
// have passed.
typedef struct coast {
  double way, time, speed, spin;
} coast;

static coast coast_along(int dimension, kp_body_def body, double speed, double seconds) {
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(-50, -50, -50), kp_vec3_make(50, 50, 50));
  s.simulation.gravity = kp_vec3_make(0, -G, 0);
  kp_world *world = kp_test_world(&s);
  add_slope(world, 0.0, body.friction);
  body.velocity = kp_vec3_make(speed, 0, 0);
  add(world, &body);
  assert_ok(kp_world_build(world));
  coast out = { .speed = speed };
  while (kp_world_time(world) < seconds - 1e-9 && out.speed > 1e-3 * speed) {
    advance(world, 1.0 / 60.0);
    kp_frame3 f = frame_of(world, body.name);
    out = (coast){ f.position.x, kp_world_time(world), f.velocity.x, -f.angular_velocity.z };
  }
  // it stays where it stopped
  if (out.time < seconds - 1e-9) {
    advance(world, 0.5);
    assert_near(frame_of(world, body.name).position.x, out.way, 1e-4);
  }
  kp_world_destroy(&world);
  return out;
}

// Friction over time: a box that slides stops after v^2/(2 mu g), a ball that starts sliding rolls
// with 5/7 of its speed from 2 v/(7 mu g) on, and rolling friction c stops it after another
// 7 R v^2/(10 c g).
static void test_coasting(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    for (double mu = 0.1; mu < 0.55; mu += 0.2) {
      kp_body_def box = body_of("box", -1, cube(0.5), kp_vec3_make(0, 0.25, 0));
      box.friction = mu;
      coast c = coast_along(dimension, box, 3.0, 10.0);
      double way = 9.0 / (2.0 * mu * G), time = 3.0 / (mu * G);
      print_message("  %dD, friction %.1f: stops after %.4f m (%.4f) and %.3f s (%.3f)\n",
                    dimension, mu, c.way, way, c.time, time);
      assert_between(c.way / way, 0.98, 1.02);
      assert_between(c.time, 0.98 * time, 1.02 * time + 1.0 / 60.0);
    }
  }
  double radius = 0.25;
  kp_body_def ball =
      body_of("ball", -1, kp_test_ball(kp_vec3_make(0, 0, 0), radius), kp_vec3_make(0, radius, 0));
  ball.friction = 0.3;
  double grip = 2.0 * 3.0 / (7.0 * 0.3 * G), skid = 12.0 / 49.0 * 9.0 / (0.3 * G);
  coast rolls = coast_along(3, ball, 3.0, grip + 0.5);
  double way = skid + 5.0 / 7.0 * 3.0 * (rolls.time - grip);
  print_message("  a ball rolls at %.5f of its speed (5/7 = 0.71429), slip %.1e m/s, after %.4f m "
                "(%.4f)\n",
                rolls.speed / 3.0, rolls.speed - radius * rolls.spin, rolls.way, way);
  assert_between(rolls.speed / 3.0 * 7.0 / 5.0, 0.99, 1.01);
  assert_near(rolls.speed, radius * rolls.spin, 1e-3 * rolls.speed);
  assert_between(rolls.way / way, 0.98, 1.02);
  ball.rolling_friction = 0.01;
  coast stops = coast_along(3, ball, 3.0, 30.0);
  // while it skids the moment of rolling friction is there too: m v' = -mu m g,
  // I w' = (mu R - c) m g
  double turn = (0.3 * radius - 0.01) * G / (0.4 * radius);  // of the surface's speed
  double slides = 3.0 / (0.3 * G + turn), v = 3.0 - 0.3 * G * slides;
  double exact = 3.0 * slides - 0.5 * 0.3 * G * slides * slides + 0.7 * radius * v * v / (0.01 * G);
  print_message("  with rolling friction it stops after %.4f m (%.4f) and %.2f s\n", stops.way,
                exact, stops.time);
  assert_between(stops.way / exact, 0.98, 1.02);
}

static void test_restitution(void **state) {
  (void)state;
  static const double values[3] = { 0.0, 0.5, 0.9 };
  for (int i = 0; i < 3; ++i) {
    kp_test_settings s = settings(3, 4.0);
    kp_world *world = kp_test_world(&s);
    kp_body_def ball =
        body_of("ball", -1, kp_test_ball(kp_vec3_make(0, 0, 0), 0.25), kp_vec3_make(0, 2.25, 0));
    ball.restitution = values[i];
    add(world, &ball);
    assert_ok(kp_world_build(world));
    bool has_hit = false;
    double top = 0.0;
    for (int k = 0; k < 90; ++k) {
      advance(world, 1.0 / 60.0);
      kp_frame3 f = frame_of(world, "ball");
      has_hit = has_hit || f.velocity.y >= 0.0;
      double apex = f.position.y - 0.25 + 0.5 * f.velocity.y * f.velocity.y / G;
      top = has_hit && f.velocity.y > 0.0 ? fmax(top, apex) : top;
    }
    double exact = 2.0 * values[i] * values[i];
    print_message("  restitution %.1f: bounces to %.3f m of 2 m, analysis %.3f\n", values[i], top,
                  exact);
    assert_between(top, exact - 0.05, exact + 0.05);
    kp_world_destroy(&world);
  }
}

// ---- dominoes -----------------------------------------------------------------------------------

static void test_dominoes(void **state) {
  (void)state;
  kp_test_settings s = settings(3, 8.0);
  kp_world *world = kp_test_world(&s);
  enum { N = 20 };
  for (int i = 0; i < N; ++i) {
    kp_shape_def shape =
        kp_test_box(kp_vec3_make(-0.05, -0.5, -0.25), kp_vec3_make(0.05, 0.5, 0.25));
    kp_body_def body = body_of("d", i, shape, kp_vec3_make(0.5 * i - 5.0, 0.5, 0));
    body.velocity = i == 0 ? kp_vec3_make(0.6, 0, 0) : kp_vec3_make(0, 0, 0);
    body.angular_velocity = i == 0 ? kp_vec3_make(0, 0, -1.5) : kp_vec3_make(0, 0, 0);
    add(world, &body);
  }
  assert_ok(kp_world_build(world));
  double fell[N] = { 0 };
  for (int k = 0; k < 360; ++k) {
    advance(world, 1.0 / 60.0);
    for (kp_index b = 0; b < N; ++b) {
      kp_frame3 f = kp_bodies_frame(world->bodies, b);
      kp_vec3 up = kp_quat_rotate(f.orientation, kp_vec3_make(0, 1, 0));
      fell[b] = fell[b] == 0.0 && up.y < 0.8 ? world->env.time : fell[b];
    }
  }
  for (int i = 0; i < N; ++i) {
    assert_true(fell[i] > 0.0);
    assert_true(i == 0 || fell[i] > fell[i - 1]);
  }
  print_message("  %d dominoes fell in order within %.2f s\n", N, fell[N - 1]);
  kp_world_destroy(&world);
}

// ---- momentum -----------------------------------------------------------------------------------

static void test_momentum(void **state) {
  (void)state;
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(-50, -50, -50), kp_vec3_make(50, 50, 50));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_world *world = kp_test_world(&s);
  for (int i = 0; i < 27; ++i) {
    kp_vec3 at = kp_vec3_make(i % 3 - 1.0, i / 3 % 3 - 1.0, i / 9 - 1.0);
    kp_body_def body = body_of("b", i, mixed_shape(i), kp_vec3_scale(at, 0.6));
    body.density = 500.0 + 100.0 * i;
    body.restitution = 0.3;
    body.velocity = kp_vec3_scale(at, -2.0);
    body.velocity.x += 0.5;
    body.angular_velocity = kp_vec3_make(3.0 * (i % 4), 2.0 * (i % 3), -1.0 * (i % 5));
    add(world, &body);
  }
  assert_ok(kp_world_build(world));
  sums before = sums_of(world);
  double energy = kinetic_energy(world);
  size_t most = 0;
  for (int k = 0; k < 120; ++k) {
    advance(world, 1.0 / 60.0);
    most = rigid_of(world)->pairs.count > most ? rigid_of(world)->pairs.count : most;
  }
  sums after = sums_of(world);
  double left = kinetic_energy(world) / energy;
  double drift = kp_vec3_length(kp_vec3_sub(after.momentum, before.momentum)) / before.size;
  double turn = kp_vec3_length(kp_vec3_sub(after.angular, before.angular)) / (before.size * 0.6);
  print_message("  27 bodies colliding (%zu pairs at most): momentum off by %.1e, angular %.1e, "
                "energy %.3f of the start\n",
                most, drift, turn, left);
  assert_true(most > 10);
  assert_true(drift < 1e-13);
  assert_true(turn < 1e-12);
  assert_true(left < 1.0);
  kp_world_destroy(&world);
}

// ---- meshes and shells --------------------------------------------------------------------------

// A cup: thick wall, open above.
static void write_cup(const char *folder) {
  static const kp_profile_point profile[] = { { 0.0, 0.0 },  { 0.3, 0.0 },  { 0.5, 0.5 },
                                              { 0.42, 0.5 }, { 0.24, 0.1 }, { 0.0, 0.1 } };
  kp_mesh mesh;
  assert_ok(
      kp_mesh_make_lathe(kp_vec3_make(0, 0, 0), kp_vec3_make(0, 1, 0), profile, 6, 24, &mesh));
  kp_test_write_obj(folder, "cup.obj", &mesh);
  kp_mesh_destroy(&mesh);
}

static void test_mesh_on_mesh(void **state) {
  const char *folder = *state;
  write_cup(folder);
  kp_test_settings s = settings(3, 4.0);
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  // one cup stands in another, whose wall it touches all around
  kp_body_def lower = body_of("lower", -1, kp_test_mesh("cup.obj"), kp_vec3_make(0, 0.01, 0));
  kp_body_def upper = body_of("upper", -1, kp_test_mesh("cup.obj"), kp_vec3_make(0, 0.3, 0));
  add(world, &lower);
  add(world, &upper);
  assert_ok(kp_world_build(world));
  advance(world, 4.0);
  kp_frame3 f = frame_of(world, "upper");
  kp_frame3 g = frame_of(world, "lower");
  double overlap = deepest_overlap(world);
  print_message("  cup in cup: upper at %.3f above lower, speeds %.1e and %.1e m/s, overlap %.4f\n",
                f.position.y - g.position.y, kp_vec3_length(f.velocity), kp_vec3_length(g.velocity),
                overlap);
  assert_true(kp_vec3_length(f.velocity) < 0.01 && kp_vec3_length(g.velocity) < 0.01);
  assert_between(f.position.y - g.position.y, 0.1, 0.3);
  assert_true(overlap < 0.02);
  kp_world_destroy(&world);
}

// Half a sphere, open above.
static void write_bowl(const char *folder) {
  kp_mesh all;
  assert_ok(kp_mesh_make_icosphere(kp_vec3_make(0, 0, 0), 1.0, 3, &all));
  kp_index kept = 0;
  for (kp_index t = 0; t < all.n_triangles; ++t) {
    double y = 0.0;
    for (int c = 0; c < 3; ++c) {
      y += all.vertices[all.triangles[t].v[c]].y / 3.0;
    }
    if (y < 0.0) {
      all.triangles[kept++] = all.triangles[t];
    }
  }
  all.n_triangles = kept;
  kp_test_write_obj(folder, "bowl.obj", &all);
  kp_mesh_destroy(&all);
}

static void test_shell_bowl(void **state) {
  const char *folder = *state;
  write_bowl(folder);
  kp_test_settings s = settings(3, 4.0);
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  kp_body_def bowl = body_of("bowl", -1, kp_test_mesh("bowl.obj"), kp_vec3_make(0, 1.02, 0));
  bowl.shape.shell = 0.03;
  add(world, &bowl);
  enum { N = 12 };
  for (int i = 0; i < N; ++i) {
    kp_vec3 at = kp_vec3_make(0.3 * (i % 2 - 0.5), 1.2 + 0.3 * (i / 4), 0.3 * (i / 2 % 2 - 0.5));
    kp_body_def ball = body_of("ball", i, kp_test_ball(kp_vec3_make(0, 0, 0), 0.12), at);
    ball.rolling_friction = 0.002;
    add(world, &ball);
  }
  assert_ok(kp_world_build(world));
  // half a sphere of surface: 2 pi r^2, centre of mass r / 2 below the rim
  const kp_body *model = &world->bodies->models.data[find(world, "bowl")];
  double mass = 2.0 * 3.14159265358979323846 * 0.03 * 1000.0;
  assert_between(1.0 / model->inverse_mass / mass, 0.95, 1.02);
  assert_between(model->center.y, -0.55, -0.45);
  advance(world, 4.0);
  kp_frame3 f = frame_of(world, "bowl");
  int inside = 0;
  for (int i = 0; i < N; ++i) {
    char name[32];
    snprintf(name, sizeof name, "ball%04d", i);
    kp_vec3 local = kp_body_to_shape(model, &f, frame_of(world, name).position);
    inside += kp_vec3_length(local) < 0.9 && local.y < 0.3 ? 1 : 0;
  }
  print_message("  shell bowl: %d of %d balls inside after 4 s, kinetic energy %.1e J\n", inside, N,
                kinetic_energy(world));
  assert_int_equal(inside, N);
  kp_world_destroy(&world);
}

// ---- broad phase and bits -----------------------------------------------------------------------

static void test_broad_phase(void **state) {
  (void)state;
  kp_world *world = make_pile("cpu", 120);
  kp_rigid *rigid = rigid_of(world);
  for (int k = 0; k < 12; ++k) {
    kp_test_steps(world, 10);
    assert_ok(kp_rigid_broad_phase(rigid, &world->env));
    size_t n = 0;
    for (kp_index a = 0; a < (kp_index)rigid->parts.count; ++a) {
      for (kp_index b = a + 1; b < (kp_index)rigid->parts.count; ++b) {
        const kp_rigid_part *p = &rigid->parts.data[a];
        const kp_rigid_part *q = &rigid->parts.data[b];
        bool is_met = (p->is_free || q->is_free) && p->is_bounded && q->is_bounded &&
                      kp_aabb_touches(p->box, q->box);
        // those without bounds lie among them: skip over
        while (n < rigid->candidates.count &&
               (!rigid->parts.data[rigid->candidates.data[n].a].is_bounded ||
                !rigid->parts.data[rigid->candidates.data[n].b].is_bounded)) {
          ++n;
        }
        if (is_met) {
          assert_true(n < rigid->candidates.count);
          assert_int_equal(rigid->candidates.data[n].a, a);
          assert_int_equal(rigid->candidates.data[n].b, b);
          ++n;
        }
      }
    }
  }
  kp_world_destroy(&world);
}

static kp_world *make_small_pile(const char *backend) {
  return make_pile(backend, 60);
}

static void test_bits(void **state) {
  (void)state;
  uint64_t hash = kp_test_same_bits(make_small_pile, 90);
  print_message("  %016llx for 1 to 4 threads, mirror and rewind\n", (unsigned long long)hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tower),
    cmocka_unit_test(test_mass_ratio),
    cmocka_unit_test(test_pile),
    cmocka_unit_test(test_incline),
    cmocka_unit_test(test_rolling),
    cmocka_unit_test(test_coasting),
    cmocka_unit_test(test_restitution),
    cmocka_unit_test(test_dominoes),
    cmocka_unit_test(test_momentum),
    cmocka_unit_test_setup_teardown(test_mesh_on_mesh, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_shell_bowl, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_broad_phase),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
