// Emitters, sinks and sources of any shape that move: by functions of time and with bodies.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "geom/mesh_make.h"

#include "support/worlds.h"

#define DX 0.02

static kp_liquid_def empty_water(int method) {
  kp_liquid_def water = kp_default_liquid_def();
  snprintf(water.name, sizeof water.name, "water");
  water.method = method;
  water.spacing = DX;
  water.empty = true;
  return water;
}

static kp_test_settings still_room(int dimension) {
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  return s;
}

static kp_emitter_def nozzle(void) {
  kp_emitter_def e = kp_default_emitter_def();
  snprintf(e.name, sizeof e.name, "nozzle");
  snprintf(e.into, sizeof e.into, "water");
  e.radius = 2.2 * DX;
  return e;
}

static kp_sink_def drain_of(kp_shape_def shape) {
  kp_sink_def sink = kp_default_sink_def();
  snprintf(sink.name, sizeof sink.name, "drain");
  sink.shape = shape;
  return sink;
}

typedef struct particles {
  int64_t n;
  double *x[3], *v[3];
} particles;

static particles read_particles(kp_world *world, const char *set) {
  particles p = { .n = kp_world_count(world, set) };
  for (int c = 0; c < 3; ++c) {
    p.x[c] = calloc((size_t)p.n, sizeof(double));
    p.v[c] = calloc((size_t)p.n, sizeof(double));
    assert_true(p.x[c] != NULL && p.v[c] != NULL);
    assert_ok(kp_world_read(world, set, "position", c, p.x[c], p.n));
    assert_ok(kp_world_read(world, set, "velocity", c, p.v[c], p.n));
  }
  return p;
}

static void free_particles(particles *p) {
  for (int c = 0; c < 3; ++c) {
    free(p->x[c]);
    free(p->v[c]);
  }
}

static kp_vec3 mean_velocity(const particles *p) {
  double sum[3] = { 0.0, 0.0, 0.0 };
  for (int c = 0; c < 3; ++c) {
    for (int64_t i = 0; i < p->n; ++i) {
      sum[c] += p->v[c][i] / (double)p->n;
    }
  }
  return kp_vec3_make(sum[0], sum[1], sum[2]);
}

// From one place to another within a millisecond.
static kp_curve jump_at(double time, const double path[6]) {
  return (kp_curve){ .components = 3, .n = 2, .start = time, .interval = 1e-3, .samples = path };
}

// ---- emitters -----------------------------------------------------------------------------------

// On a free body that flies and on a collider that is led, jets have the velocity of both.
static void test_emitter_on_a_body(void **state) {
  (void)state;
  const double path[6] = { 0.3, 0.2, 0.5, 1.3, 0.2, 0.5 };
  for (int led = 0; led < 2; ++led) {
    kp_test_settings s = still_room(3);
    kp_world *world = kp_test_world(&s);
    kp_liquid_def water = empty_water(KP_LIQUID_FLIP);
    assert_ok(kp_world_add_liquid(world, &water));
    if (led) {
      kp_collider_def cart = kp_default_collider_def();
      snprintf(cart.name, sizeof cart.name, "cart");
      cart.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.05);
      cart.position = (kp_curve){ .components = 3, .n = 2, .interval = 2.0, .samples = path };
      assert_ok(kp_world_add_collider(world, &cart));
    } else {
      kp_body_def cart = kp_default_body_def();
      snprintf(cart.name, sizeof cart.name, "cart");
      cart.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.05);
      cart.position = kp_vec3_make(0.3, 0.2, 0.5);
      cart.velocity = kp_vec3_make(0.5, 0, 0);
      cart.density = 8000;
      assert_ok(kp_world_add_body(world, &cart));
    }
    kp_emitter_def e = nozzle();
    e.position = kp_curve_constant3(kp_vec3_make(0.3, 0.4, 0.5));
    e.direction = kp_vec3_make(0, 1, 0);
    snprintf(e.parent, sizeof e.parent, "cart");
    assert_ok(kp_world_add_emitter(world, &e));
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 0.3, NULL));
    particles p = read_particles(world, "water");
    kp_vec3 v = mean_velocity(&p);
    print_message("  %s: %lld particles at %.3f %.3f m/s\n", led ? "led" : "free", (long long)p.n,
                  v.x, v.y);
    assert_true(p.n > 150);
    assert_near(v.x, 0.5, 0.02);
    assert_near(v.y, 1.0, 0.03);
    for (int64_t i = 0; i < p.n; ++i) {
      // who left when the nozzle was at 0.3 + 0.5 t has come 1 m/s (0.3 - t) high
      assert_near(p.x[0][i], 0.3 + 0.5 * 0.3, 2.2 * DX + 0.5 * DX);
      assert_between(p.x[1][i], 0.4 - 0.1 * DX, 0.7 + DX);
    }
    free_particles(&p);
    kp_world_destroy(&world);
  }
}

static void test_unknown_parent_is_refused(void **state) {
  (void)state;
  kp_test_settings s = still_room(3);
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = empty_water(KP_LIQUID_SPH);
  assert_ok(kp_world_add_liquid(world, &water));
  kp_emitter_def e = nozzle();
  e.position = kp_curve_constant3(kp_vec3_make(0.3, 0.4, 0.5));
  snprintf(e.parent, sizeof e.parent, "cart");
  assert_ok(kp_world_add_emitter(world, &e));
  assert_fails(KP_ERROR_SCENE, "emitter \"nozzle\": there is no body or collider \"cart\"",
               kp_world_build(world));
  kp_world_destroy(&world);
}

// A shape at rest is filled once, in any method of particles, and again where room is made.
static void test_inside_fills_what_has_room(void **state) {
  (void)state;
  const int methods[] = { KP_LIQUID_SPH, KP_LIQUID_FLIP };
  for (int m = 0; m < 2; ++m) {
    kp_test_settings s = still_room(3);
    kp_world *world = kp_test_world(&s);
    kp_liquid_def water = empty_water(methods[m]);
    assert_ok(kp_world_add_liquid(world, &water));
    kp_emitter_def e = nozzle();
    e.from = KP_EMITTER_INSIDE;
    e.shape = kp_test_box(kp_vec3_make(0.3, 0.3, 0.3), kp_vec3_make(0.5, 0.5, 0.5));
    e.speed = kp_curve_constant(0.0);
    assert_ok(kp_world_add_emitter(world, &e));
    kp_sink_def sink =
        drain_of(kp_test_box(kp_vec3_make(0.3, 0.3, 0.3), kp_vec3_make(0.5, 0.4, 0.5)));
    const double path[6] = { 9, 9, 9, 0, 0, 0 };
    sink.position = jump_at(0.12, path);
    assert_ok(kp_world_add_sink(world, &sink));
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 0.05, NULL));
    assert_int_equal(kp_world_count(world, "water"), 1000);
    kp_step_report report;
    assert_ok(kp_world_advance(world, 0.05, &report));
    assert_int_equal(report.n_emitted, 0);
    // half of it is drained, and filled again while it is
    assert_ok(kp_world_advance(world, 0.15, &report));
    print_message("  %lld removed, %lld emitted\n", (long long)report.n_removed,
                  (long long)report.n_emitted);
    assert_true(report.n_removed >= 400);
    assert_between((double)(report.n_removed - report.n_emitted), -100, 600);
    kp_world_destroy(&world);
  }
}

// ---- sinks --------------------------------------------------------------------------------------

static kp_shape_def mesh_ball(const char *folder, double radius) {
  kp_shape *ball = NULL;
  kp_mesh mesh = { 0 };
  kp_shape_def def = kp_test_ball(kp_vec3_make(0, 0, 0), radius);
  assert_ok(kp_shape_build(&def, NULL, &ball));
  assert_ok(kp_shape_tessellate(ball, 0.2 * radius, &mesh));
  kp_test_write_obj(folder, "ball.obj", &mesh);
  kp_mesh_destroy(&mesh);
  kp_shape_destroy(&ball);
  return kp_test_mesh("ball.obj");
}

// A ball that goes through a block of water takes out a tunnel; as a mesh the same as by formula,
// but for particles at its surface.
static void test_moving_sink(void **state) {
  const char *folder = *state;
  int64_t left[2];
  for (int mesh = 0; mesh < 2; ++mesh) {
    kp_test_settings s = still_room(3);
    kp_world *world = kp_test_world(&s);
    assert_ok(kp_world_set_folder(world, folder));
    kp_liquid_def water =
        kp_test_liquid("water", kp_vec3_make(0.3, 0.3, 0.3), kp_vec3_make(0.7, 0.7, 0.7), DX);
    assert_ok(kp_world_add_liquid(world, &water));
    kp_shape_def ball = kp_test_ball(kp_vec3_make(0, 0, 0), 0.08);
    kp_sink_def sink = drain_of(mesh ? mesh_ball(folder, 0.08) : ball);
    const double path[6] = { 0.1, 0.5, 0.5, 0.9, 0.5, 0.5 };
    sink.position = (kp_curve){ .components = 3, .n = 2, .interval = 0.1, .samples = path };
    assert_ok(kp_world_add_sink(world, &sink));
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 0.1, NULL));
    left[mesh] = kp_world_count(world, "water");
    kp_world_destroy(&world);
  }
  double tunnel = 3.14159265358979323846 * 0.08 * 0.08 * 0.4 / pow(DX, 3);
  print_message("  %lld and %lld of 8000 left, %.0f in the tunnel\n", (long long)left[0],
                (long long)left[1], tunnel);
  assert_near((double)(8000 - left[0]), tunnel, 0.06 * tunnel);
  assert_near((double)left[1], (double)left[0], 0.05 * tunnel);
}

// As many as one likes: a row of twenty, turned and carried by a collider.
static void test_many_sinks(void **state) {
  (void)state;
  kp_test_settings s = still_room(2);
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0), DX);
  assert_ok(kp_world_add_liquid(world, &water));
  for (int k = 0; k < 20; ++k) {
    // upright slots of one column each at rotation 0; turned by 90 degrees they lie in one row
    kp_sink_def sink = drain_of(
        kp_test_box(kp_vec3_make(-0.025 * DX, -0.5, -1), kp_vec3_make(0.025 * DX, 0.5, 1)));
    snprintf(sink.name, sizeof sink.name, "drain%d", k);
    sink.rotation_deg = kp_curve_constant3(kp_vec3_make(0, 0, 90));
    sink.position = kp_curve_constant3(kp_vec3_make(0.5, (0.5 + 2 * k) * DX, 0));
    assert_ok(kp_world_add_sink(world, &sink));
  }
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 1);
  assert_int_equal(kp_world_count(world, "water"), 2500 - 20 * 50);
  kp_world_destroy(&world);
}

// ---- grids --------------------------------------------------------------------------------------

static double water_volume(kp_world *world) {
  kp_population_stats stats;
  assert_ok(kp_world_stats(world, 0, &stats));
  return stats.mass / 1000.0;
}

// Level-set water takes shapes in and out as particles do, and says what it has no particles for.
static void test_level_set_shapes(void **state) {
  const char *folder = *state;
  kp_test_settings s = still_room(3);
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 1.0 / 32.0;
  assert_ok(kp_world_set_grid(world, &grid));
  kp_liquid_def water = empty_water(KP_LIQUID_LEVEL_SET);
  assert_ok(kp_world_add_liquid(world, &water));
  kp_emitter_def e = nozzle();
  e.from = KP_EMITTER_INSIDE;
  e.shape = kp_test_box(kp_vec3_make(0.2, 0.2, 0.2), kp_vec3_make(0.7, 0.7, 0.7));
  e.speed = kp_curve_constant(0.0);
  e.stop = 0.01;
  assert_ok(kp_world_add_emitter(world, &e));
  kp_sink_def sink = drain_of(mesh_ball(folder, 0.2));
  const double path[6] = { 9, 9, 9, 0.45, 0.45, 0.45 };
  sink.position = jump_at(0.12, path);
  assert_ok(kp_world_add_sink(world, &sink));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.1, NULL));
  double full = water_volume(world);
  assert_near(full, 0.125, 0.006);
  assert_ok(kp_world_advance(world, 0.15, NULL));
  double hole = full - water_volume(world);
  print_message("  volume %.4f of 0.125, hole %.4f of 0.0335\n", full, hole);
  assert_near(hole, 0.0335, 0.004);
  kp_world_destroy(&world);

  world = kp_test_world(&s);
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_add_liquid(world, &water));
  e.from = KP_EMITTER_SURFACE;
  assert_ok(kp_world_add_emitter(world, &e));
  assert_fails(KP_ERROR_SCENE, "from = 'surface' is of particles", kp_world_build(world));
  kp_world_destroy(&world);
}

// A source on a collider feeds what a source with the collider's own path does.
static void test_source_on_a_body(void **state) {
  (void)state;
  const double path[6] = { 0.3, 0.2, 0, 0.7, 0.6, 0 };
  const kp_curve way = { .components = 3, .n = 2, .interval = 0.4, .samples = path };
  kp_population_stats stats[2];
  for (int carried = 0; carried < 2; ++carried) {
    kp_test_settings s = still_room(2);
    kp_world *world = kp_test_world(&s);
    kp_grid_def grid = kp_default_grid_def();
    grid.cell = 1.0 / 32.0;
    assert_ok(kp_world_set_grid(world, &grid));
    kp_smoke_def smoke = kp_default_smoke_def();
    snprintf(smoke.name, sizeof smoke.name, "smoke");
    smoke.empty = true;
    assert_ok(kp_world_add_smoke(world, &smoke));
    kp_collider_def cart = kp_default_collider_def();
    snprintf(cart.name, sizeof cart.name, "cart");
    cart.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.03);
    cart.position = way;
    assert_ok(kp_world_add_collider(world, &cart));
    kp_source_def source = kp_default_source_def();
    snprintf(source.name, sizeof source.name, "source");
    snprintf(source.into, sizeof source.into, "smoke");
    source.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.1);
    source.density = 1.0;
    if (carried) {
      source.position = kp_curve_constant3(kp_vec3_make(0.3, 0.2, 0));
      snprintf(source.parent, sizeof source.parent, "cart");
    } else {
      source.position = way;
    }
    assert_ok(kp_world_add_source(world, &source));
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 0.3, NULL));
    assert_ok(kp_world_stats(world, 0, &stats[carried]));
    kp_world_destroy(&world);
  }
  assert_string_equal(stats[0].amounts[1].name, "smoke");
  assert_near_relative(stats[0].amounts[1].value, stats[1].amounts[1].value, 1e-5);
  assert_true(stats[0].amounts[1].value > 0.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_emitter_on_a_body),
    cmocka_unit_test(test_unknown_parent_is_refused),
    cmocka_unit_test(test_inside_fills_what_has_room),
    cmocka_unit_test_setup_teardown(test_moving_sink, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_many_sinks),
    cmocka_unit_test_setup_teardown(test_level_set_shapes, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test(test_source_on_a_body),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
