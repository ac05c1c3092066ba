// A ball in a groove touches both its sides: it rests between them, each bears what statics say,
// and it rolls down a tilted groove about the line through both contacts.
#include <math.h>
#include <stdio.h>

#include "geom/mesh.h"
#include "methods/rigid/rigid_state.h"

#include "support/media.h"

#define G 9.81
#define RADIUS 0.1
#define HALF_LENGTH 2.0

// A block with a groove along z between two sides at `slope` to the level: a mesh with a dent.
static void write_block(const char *folder, double slope) {
  double w = 0.3;
  double h = w * tan(slope);
  const double profile[5][2] = { { -w, -0.1 }, { w, -0.1 }, { w, h }, { 0, 0 }, { -w, h } };
  static const kp_index cap[3][3] = { { 3, 4, 0 }, { 3, 0, 1 }, { 3, 1, 2 } };
  kp_mesh mesh;
  assert_ok(kp_mesh_create(10, 16, &mesh));
  for (int i = 0; i < 10; ++i) {
    mesh.vertices[i] =
        kp_vec3_make(profile[i % 5][0], profile[i % 5][1], i < 5 ? -HALF_LENGTH : HALF_LENGTH);
  }
  kp_index n = 0;
  for (int t = 0; t < 3; ++t) {
    mesh.triangles[n++] = (kp_triangle){ { cap[t][0], cap[t][2], cap[t][1] } };
    mesh.triangles[n++] = (kp_triangle){ { cap[t][0] + 5, cap[t][1] + 5, cap[t][2] + 5 } };
  }
  for (kp_index i = 0; i < 5; ++i) {
    kp_index j = (i + 1) % 5;
    mesh.triangles[n++] = (kp_triangle){ { i, j, j + 5 } };
    mesh.triangles[n++] = (kp_triangle){ { i, j + 5, i + 5 } };
  }
  assert_ok(kp_mesh_check_closed(&mesh));
  kp_test_write_obj(folder, "groove.obj", &mesh);
  kp_mesh_destroy(&mesh);
}

static void add_collider(kp_world *world, const char *name, kp_shape_def shape, double turn_deg) {
  kp_collider_def side = kp_default_collider_def();
  snprintf(side.name, sizeof side.name, "%s", name);
  side.shape = shape;
  side.rotation_deg = kp_curve_constant3(kp_vec3_make(0, 0, turn_deg));
  assert_ok(kp_world_add_collider(world, &side));
}

// The groove as a mesh, or as the sides of two boxes.
static kp_world *make_groove(const char *folder, bool is_mesh, double slope, double friction,
                             kp_vec3 gravity, kp_vec3 at) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-9, -9, -9), kp_vec3_make(9, 9, 9));
  s.simulation.gravity = gravity;
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  if (is_mesh) {
    write_block(folder, slope);
    add_collider(world, "groove", kp_test_mesh("groove.obj"), 0.0);
  } else {
    double deg = slope * 180.0 / 3.14159265358979323846;
    kp_shape_def right =
        kp_test_box(kp_vec3_make(0, -0.1, -HALF_LENGTH), kp_vec3_make(0.4, 0, HALF_LENGTH));
    kp_shape_def left =
        kp_test_box(kp_vec3_make(-0.4, -0.1, -HALF_LENGTH), kp_vec3_make(0, 0, HALF_LENGTH));
    add_collider(world, "left", left, -deg);
    add_collider(world, "right", right, deg);
  }
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0, 0, 0), RADIUS);
  ball.density = 1000.0;
  ball.friction = friction;
  ball.position = at;
  assert_ok(kp_world_add_body(world, &ball));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_frame3 ball_of(kp_world *world) {
  for (kp_index b = 0; b < (kp_index)world->bodies->models.count; ++b) {
    if (world->bodies->models.data[b].kind == KP_BODY_FREE) {
      return kp_bodies_frame(world->bodies, b);
    }
  }
  fail_msg("no ball");
  return (kp_frame3){ 0 };
}

// Normal forces of the contacts whose normals lean to the left and to the right.
static void forces_of(kp_world *world, double sides[2]) {
  kp_rigid *rigid = kp_test_system(world, &kp_rigid_method);
  sides[0] = sides[1] = 0.0;
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    const kp_rigid_pair *pair = &rigid->pairs.data[k];
    for (kp_index i = pair->first; i < pair->first + pair->count; ++i) {
      const kp_rigid_point *p = &rigid->points.data[i];
      // normals lead from A to B
      bool is_ball_b = rigid->parts.data[pair->b].is_free;
      double lean = is_ball_b ? p->normal.x : -p->normal.x;
      sides[lean > 0.0 ? 1 : 0] += p->normal_impulse / rigid->sub_dt;
    }
  }
}

static void test_rest(void **state) {
  const char *folder = *state;
  static const double slopes[3] = { 0.4, 0.7853981633974483, 1.1 };
  for (int i = 0; i < 6; ++i) {
    bool is_mesh = i % 2 == 0;
    double slope = slopes[i / 2];
    // dropped from a little above, off the middle; without friction, which could bear any share
    double height = RADIUS / cos(slope);
    kp_world *world = make_groove(folder, is_mesh, slope, 0.0, kp_vec3_make(0, -G, 0),
                                  kp_vec3_make(0.02, height + 0.05, 0.1));
    for (int k = 0; k < 300; ++k) {
      assert_ok(kp_world_advance(world, 1.0 / 60.0, NULL));
    }
    double fastest = 0.0;
    for (int k = 0; k < 30; ++k) {
      assert_ok(kp_world_advance(world, 1.0 / 60.0, NULL));
      fastest = kp_test_most(fastest, kp_vec3_length(ball_of(world).velocity));
    }
    kp_frame3 f = ball_of(world);
    double sides[2];
    forces_of(world, sides);
    double mass = 4.0 / 3.0 * 3.14159265358979323846 * RADIUS * RADIUS * RADIUS * 1000.0;
    double force = mass * G / (2.0 * cos(slope));
    print_message(
        "  groove of %2.0f deg (%s): height %.5f m (%.5f), aside %.1e m, fastest %.1e m/s, "
        "sides bear %.4f and %.4f of m g / (2 cos)\n",
        slope * 57.29578, is_mesh ? "mesh" : "boxes", f.position.y, height, fabs(f.position.x),
        fastest, sides[0] / force, sides[1] / force);
    assert_true(fastest < 1e-3);
    assert_true(fabs(f.position.y - height) < 2e-3 * RADIUS);
    assert_true(fabs(f.position.x) < 2e-3 * RADIUS);
    assert_between(sides[0] / force, 0.99, 1.01);
    assert_between(sides[1] / force, 0.99, 1.01);
    kp_world_destroy(&world);
  }
}

// The ball turns about the line through both contacts, R cos(slope) below its centre:
// a = g sin / (1 + 2/5 / cos^2 slope).
static void test_roll(void **state) {
  const char *folder = *state;
  const double slope = 0.7853981633974483;
  const double tilt = 0.2;
  for (int i = 0; i < 2; ++i) {
    kp_world *world =
        make_groove(folder, i == 0, slope, 0.8, kp_vec3_make(0, -G * cos(tilt), G * sin(tilt)),
                    kp_vec3_make(0, RADIUS / cos(slope), -1.5));
    for (int k = 0; k < 30; ++k) {
      assert_ok(kp_world_advance(world, 1.0 / 60.0, NULL));
    }
    double from = ball_of(world).velocity.z;
    for (int k = 0; k < 60; ++k) {
      assert_ok(kp_world_advance(world, 1.0 / 60.0, NULL));
    }
    double a = ball_of(world).velocity.z - from;
    double c = cos(slope);
    double analysis = G * sin(tilt) / (1.0 + 0.4 / (c * c));
    print_message("  rolls down a groove (%s) at %.5f m/s^2, analysis %.5f\n",
                  i == 0 ? "mesh" : "boxes", a, analysis);
    assert_between(a / analysis, 0.995, 1.005);
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_rest, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_roll, kp_test_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
