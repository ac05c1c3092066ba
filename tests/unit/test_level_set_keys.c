// Level sets between keys: a sphere that moves three radii (claim C35 of Selle 2008), a mesh that
// turns and swells, against the two baselines.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "geom/level_set_keys.h"
#include "geom/mesh_make.h"

#include "support/claims.h"

#define RADIUS 0.1
#define CELL 0.01
#define INTERVAL (1.0 / 60.0)
#define MOVE (3.0 * RADIUS)

typedef struct ball {
  kp_vec3 center, velocity;
} ball;

static double ball_distance(kp_vec3 p, kp_vec3 *velocity, void *user) {
  const ball *b = user;
  *velocity = b->velocity;
  return kp_vec3_length(kp_vec3_sub(p, b->center)) - RADIUS;
}

// Three keys: the ball goes right by three radii, then up, as fast.
static kp_level_set_keys ball_keys(kp_backend *backend) {
  kp_level_set_keys keys;
  kp_aabb box = { { -0.3, -0.3, -0.2 }, { 0.6, 0.6, 0.2 } };
  assert_ok(kp_level_set_keys_init(&keys, box, CELL, 2.0, INTERVAL));
  double speed = MOVE / INTERVAL;
  ball balls[3] = { { { 0, 0, 0 }, { speed, 0, 0 } },
                    { { MOVE, 0, 0 }, { speed, 0, 0 } },
                    { { MOVE, MOVE, 0 }, { 0, speed, 0 } } };
  for (int k = 0; k < 3; ++k) {
    assert_ok(kp_level_set_keys_add(&keys, backend, ball_distance, &balls[k]));
  }
  return keys;
}

// Largest error of phi within three cells of the surface of a ball at `center`.
static double ball_error(kp_level_set_keys *keys, double time, kp_key_blend blend, kp_vec3 center) {
  kp_key_view view = kp_level_set_keys_at(keys, time, blend);
  double most = 0.0;
  for (int i = 0; i < 2000; ++i) {
    double z = 1.0 - 2.0 * (i + 0.5) / 2000.0;
    double turn = 2.399963229728653 * i;
    double r = (RADIUS + 3.0 * CELL * sin(17.0 * i));
    double rho = sqrt(1.0 - z * z);
    double p[3] = { center.x + r * rho * cos(turn), center.y + r * rho * sin(turn),
                    center.z + r * z };
    most = kp_test_most(most, fabs(kp_key_distance(&view, p) - (r - RADIUS)));
  }
  return most;
}

static void test_a_moving_ball(void **state) {
  (void)state;
  kp_backend *backend;
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
  kp_level_set_keys keys = ball_keys(backend);
  kp_vec3 half = { 0.5 * MOVE, 0, 0 };
  double time = 2.0 + 0.5 * INTERVAL;
  double two = ball_error(&keys, time, KP_KEY_TWO_SIDED, half) / CELL;
  double linear = ball_error(&keys, time, KP_KEY_LINEAR, half) / CELL;
  kp_claim claim = { .id = "selle-C35",
                     .text = "two-sided interpolation of level sets follows a sphere that moves "
                             "three radii between keys; linear blending loses it",
                     .size = "sphere of 10 cells radius, keys at 60 Hz, half way between two" };
  kp_claim_status verdict = kp_claim_all(&claim, { "error, cells", two, KP_LESS, 1 },
                                         { "error of linear blending, cells", linear, KP_MORE, 5 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  // the same speed sideways: the velocities of both keys differ, and so do their means
  double quarter =
      ball_error(&keys, 2.0 + 0.25 * INTERVAL, KP_KEY_TWO_SIDED, kp_vec3_make(0.25 * MOVE, 0, 0));
  assert_between(quarter / CELL, 0.0, 1.0);
  kp_level_set_keys_free(&keys);
  kp_backend_destroy(&backend);
}

// Both sides of the key at t = 2 + Dt.
static void test_no_jump_at_keys(void **state) {
  (void)state;
  kp_backend *backend;
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
  kp_level_set_keys keys = ball_keys(backend);
  double most[2] = { 0.0, 0.0 };
  for (int blend = 0; blend < 2; ++blend) {
    kp_key_blend which = blend == 0 ? KP_KEY_TWO_SIDED : KP_KEY_ONE_SIDED;
    kp_key_view before = kp_level_set_keys_at(&keys, 2.0 + 0.5 * INTERVAL, which);
    kp_key_view after = kp_level_set_keys_at(&keys, 2.0 + 1.5 * INTERVAL, which);
    before.alpha = 1.0;
    after.alpha = 0.0;
    for (int i = 0; i < 1000; ++i) {
      double p[3] = { -0.2 + 0.7 * (i % 10) / 9.0, -0.2 + 0.7 * (i / 10 % 10) / 9.0,
                      -0.15 + 0.3 * (i / 100) / 9.0 };
      double jump = fabs(kp_key_distance(&before, p) - kp_key_distance(&after, p));
      most[blend] = kp_test_most(most[blend], jump);
    }
  }
  kp_claim claim = { .id = "selle-C35-keys",
                     .text = "two-sided interpolation does not jump at keys; one-sided does",
                     .size = "a sphere that turns a corner at a key, 1000 points" };
  kp_claim_status verdict = kp_claim_all(&claim, { "jump, m", most[0], KP_LESS, 1e-12 },
                                         { "one-sided jump, m", most[1], KP_MORE, 1e-4 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_level_set_keys_free(&keys);
  kp_backend_destroy(&backend);
}

// A mesh that swells by a tenth: half way it is a sphere too.
static void test_a_mesh(void **state) {
  (void)state;
  kp_backend *backend;
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
  kp_level_set_keys keys;
  kp_aabb box = { { -0.2, -0.2, -0.2 }, { 0.2, 0.2, 0.2 } };
  assert_ok(kp_level_set_keys_init(&keys, box, CELL, 0.0, INTERVAL));
  kp_mesh mesh;
  assert_ok(kp_mesh_make_icosphere(kp_vec3_make(0, 0, 0), 1.0, 4, &mesh));
  kp_vec3 *velocities = malloc((size_t)mesh.n_vertices * sizeof *velocities);
  const double radii[2] = { 0.10, 0.11 };
  for (int k = 0; k < 2; ++k) {
    kp_mesh now;
    assert_ok(kp_mesh_copy(&mesh, &now));
    for (kp_index v = 0; v < now.n_vertices; ++v) {
      velocities[v] = kp_vec3_scale(mesh.vertices[v], (radii[1] - radii[0]) / INTERVAL);
      now.vertices[v] = kp_vec3_scale(mesh.vertices[v], radii[k]);
    }
    assert_ok(kp_level_set_keys_add_mesh(&keys, backend, &now, velocities));
    kp_mesh_destroy(&now);
  }
  kp_key_view view = kp_level_set_keys_at(&keys, 0.5 * INTERVAL, KP_KEY_TWO_SIDED);
  double most = 0.0, slowest = HUGE_VAL;
  for (int i = 0; i < 500; ++i) {
    double z = 1.0 - 2.0 * (i + 0.5) / 500.0;
    double turn = 2.399963229728653 * i;
    double rho = sqrt(1.0 - z * z);
    double n[3] = { rho * cos(turn), rho * sin(turn), z };
    double p[3] = { 0.105 * n[0], 0.105 * n[1], 0.105 * n[2] };
    double v[3];
    kp_key_velocity(&view, p, v);
    most = kp_test_most(most, fabs(kp_key_distance(&view, p)));
    slowest = kp_test_least(slowest, v[0] * n[0] + v[1] * n[1] + v[2] * n[2]);
  }
  assert_between(most / CELL, 0.0, 0.2);
  assert_between(slowest, 0.95 * 0.01 / INTERVAL, 1.0);
  free(velocities);
  kp_mesh_destroy(&mesh);
  kp_level_set_keys_free(&keys);
  kp_backend_destroy(&backend);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_moving_ball),
    cmocka_unit_test(test_no_jump_at_keys),
    cmocka_unit_test(test_a_mesh),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
