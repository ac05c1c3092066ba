// Same bits: grains of many sizes with a moving collider, a free body, a still one, an emitter, a
// sink and a periodic axis give one hash for any number of threads, any instruction set, on the
// mirror backend, and after a rewind.
#include <math.h>
#include <stdio.h>

#include "methods/grains/grains.h"

#include "support/media.h"

#define DX 0.02
#define STEPS 24

static void name_it(char *name, const char *text) {
  snprintf(name, KP_TEXT_SIZE, "%s", text);
}

// More than two blocks of 4096 grains, the largest chunk of any loop.
static kp_world *make_world(const char *backend) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.8, 0.4));
  s.backend = backend;
  s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  kp_world *world = kp_test_world(&s);
  kp_dem_def dem = kp_default_dem_def();
  dem.skin = 0.1;  // so that rows are built several times
  assert_ok(kp_world_set_dem(world, &dem));
  kp_grains_def sand = kp_default_grains_def();
  name_it(sand.name, "sand");
  sand.shape = kp_test_box(kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.6, 0.4));
  sand.spacing = DX;
  sand.size_ratio = 0.35;
  sand.rolling_friction = 0.1;
  sand.velocity = kp_vec3_make(2.5, -0.8, 0.3);
  sand.contact_time = 4e-3;
  sand.jitter = KP_AUTO;
  kp_grains_def gravel = sand;
  name_it(gravel.name, "gravel");
  gravel.shape = kp_test_box(kp_vec3_make(0.42, 0, 0), kp_vec3_make(0.7, 0.3, 0.4));
  gravel.size_ratio = 1.0;
  gravel.velocity = kp_vec3_make(-0.5, 0, 0);
  assert_ok(kp_world_add_grains(world, &sand));
  assert_ok(kp_world_add_grains(world, &gravel));
  kp_collider_def post = kp_default_collider_def();
  name_it(post.name, "post");
  post.shape = kp_test_box(kp_vec3_make(0.2, 0.1, 0.1), kp_vec3_make(0.3, 0.2, 0.3));
  assert_ok(kp_world_add_collider(world, &post));
  kp_collider_def paddle = kp_default_collider_def();
  name_it(paddle.name, "paddle");
  paddle.shape = kp_test_box(kp_vec3_make(-0.05, -0.1, -0.1), kp_vec3_make(0.05, 0.1, 0.1));
  const double places[] = { 0.1, 0.4, 0.2, 0.13, 0.4, 0.2, 0.1, 0.4, 0.2 };
  const double turns[] = { 0, 0, 0, 0, 0, 20, 0, 0, 40 };
  paddle.position = (kp_curve){ .components = 3, .n = 3, .interval = 0.05, .samples = places };
  paddle.rotation_deg = (kp_curve){ .components = 3, .n = 3, .interval = 0.05, .samples = turns };
  assert_ok(kp_world_add_collider(world, &paddle));
  kp_body_def ball = kp_default_body_def();
  name_it(ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0.55, 0.402, 0.2), 0.1);
  ball.velocity = kp_vec3_make(0, -3, 0);
  assert_ok(kp_world_add_body(world, &ball));
  kp_emitter_def jet = kp_default_emitter_def();
  name_it(jet.name, "jet");
  name_it(jet.into, "sand");
  jet.position = kp_curve_constant3(kp_vec3_make(0.6, 0.7, 0.2));
  jet.radius = 0.14;
  jet.speed = kp_curve_constant(4.0);
  assert_ok(kp_world_add_emitter(world, &jet));
  kp_sink_def drain = kp_default_sink_def();
  name_it(drain.name, "drain");
  drain.shape = kp_test_box(kp_vec3_make(0.39, -1, 0.1), kp_vec3_make(0.405, 0.2, 0.13));
  assert_ok(kp_world_add_sink(world, &drain));
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  kp_test_log_end();
  return world;
}

static void test_same_bits(void **state) {
  (void)state;
  uint64_t reference = kp_test_same_bits(make_world, STEPS);
  // between builds of the rows as well as at one
  kp_test_rewind(make_world, "cpu", STEPS / 2 + 1, STEPS, reference);
  kp_test_rewind(make_world, "mirror", STEPS / 2 + 1, STEPS, reference);
}

// The world above does what it is there for.
static void test_everything_happens(void **state) {
  (void)state;
  kp_world *world = make_world("cpu");
  kp_step_report report;
  int64_t emitted = 0;
  int64_t removed = 0;
  for (int k = 0; k < STEPS; ++k) {
    assert_ok(kp_world_step(world, 1.0, &report));
    emitted += report.n_emitted;
    removed += report.n_removed;
  }
  print_message("  %lld emitted, %lld removed\n", (long long)emitted, (long long)removed);
  assert_true(emitted > 10 && removed > 5);
  kp_grains *grains = kp_test_system(world, &kp_grains_method);
  assert_int_equal(grains->sets.count, 3);
  int64_t n_builds = grains->links.data[0].rows->n_builds;
  int64_t n_touches = 0;
  for (size_t t = 0; t < grains->touches.count; ++t) {
    const kp_real *slide =
        kp_buffer_host(&grains->touches.data[t].slide->buffers[0], KP_ACCESS_READ);
    for (int64_t e = 0; e < grains->touches.data[t].rows->space->n; ++e) {
      n_touches += slide[e] != 0;
    }
  }
  print_message("  %lld emitted, %lld removed, %lld builds, %lld contacts with solids\n",
                (long long)emitted, (long long)removed, (long long)n_builds, (long long)n_touches);
  assert_true(n_builds > 2 && n_builds < STEPS);
  assert_true(n_touches > 20);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_everything_happens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
