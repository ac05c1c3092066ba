// Rigid bodies against the mechanics of textbooks: Newton's cradle, and a top on its tip.
#include <math.h>
#include <stdio.h>

#include "geom/mesh_make.h"

#include "support/claims.h"
#include "support/media.h"

#define G 9.81
#define N_BALLS 5
#define TILT 20.0  // deg

static void advance(kp_world *world, double seconds) {
  int n = (int)ceil(seconds * 60.0 - 1e-9);
  for (int k = 0; k < n; ++k) {
    assert_ok(kp_world_advance(world, seconds / n, NULL));
  }
}

// ---- Newton's cradle ----------------------------------------------------------------------------

// Balls in a row without friction, the first of which comes with 1 m/s; their speeds 0.3 s later.
static void swing_cradle(double gap, double restitution, double angle_deg, bool on_floor,
                         double out[N_BALLS]) {
  double radius = 0.05;
  double angle = angle_deg * 3.14159265358979 / 180.0;
  kp_vec3 along = kp_vec3_make(cos(angle), 0, sin(angle));
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, 0, -2), kp_vec3_make(2, 2, 2));
  s.simulation.gravity = kp_vec3_make(0, on_floor ? -G : 0.0, 0);
  kp_world *world = kp_test_world(&s);
  kp_rigid_def rigid = kp_default_rigid_def();
  rigid.domain_friction = 0.0;
  assert_ok(kp_world_set_rigid(world, &rigid));
  for (int i = 0; i < N_BALLS; ++i) {
    kp_body_def ball = kp_default_body_def();
    snprintf(ball.name, sizeof ball.name, "ball%d", i);
    ball.shape = kp_test_ball(kp_vec3_make(0, 0, 0), radius);
    ball.restitution = restitution;
    ball.friction = 0.0;
    double at = i == 0 ? -0.1 : (2.0 * radius + gap) * i;
    ball.position = kp_vec3_add(kp_vec3_make(-0.2, radius, -0.2), kp_vec3_scale(along, at));
    ball.velocity = kp_vec3_scale(along, i == 0 ? 1.0 : 0.0);
    assert_ok(kp_world_add_body(world, &ball));
  }
  assert_ok(kp_world_build(world));
  advance(world, 0.3);
  for (int i = 0; i < N_BALLS; ++i) {
    out[i] = kp_vec3_dot(kp_bodies_frame(world->bodies, i).velocity, along);
  }
  kp_world_destroy(&world);
}

static void test_cradle(void **state) {
  (void)state;
  double last = HUGE_VAL, others = 0.0;
  for (int k = 0; k < 4; ++k) {
    double v[N_BALLS];
    double gap = k == 1 ? 1e-3 : 0.0;
    double angle = k == 2 ? 33.0 : 0.0;
    swing_cradle(gap, 1.0, angle, k == 3, v);
    print_message("  cradle, gap %.0e m, %2.0f deg, %s: %.4f %.4f %.4f %.4f %.4f\n", gap, angle,
                  k == 3 ? "on the floor" : "free", v[0], v[1], v[2], v[3], v[4]);
    last = kp_test_least(last, v[N_BALLS - 1]);
    for (int i = 0; i + 1 < N_BALLS; ++i) {
      others = kp_test_most(others, fabs(v[i]));
    }
  }
  kp_claim claim = {
    .id = "kelpie-cradle",
    .text = "the last of five balls takes over the speed of the first",
    .size = "touching and 1 mm apart, aligned and at 33 degrees, free and on a floor"
  };
  assert_int_equal(
      kp_claim_all(&claim, { "speed of the last over that of the first", last, KP_AT_LEAST, 0.95 },
                   { "speed of any other", others, KP_AT_MOST, 0.05 }),
      KP_CLAIM_CONFIRMED);
}

// Balls apart, so that each pair meets once before the next does.
static void test_lossy_row(void **state) {
  (void)state;
  double v[N_BALLS];
  swing_cradle(1e-3, 0.5, 0.0, false, v);
  // one blow: (1 + e) / 2 of the speed goes on
  double exact = pow(0.75, N_BALLS - 1);
  print_message("  row with restitution 0.5: last ball %.4f (%.4f)\n", v[N_BALLS - 1], exact);
  assert_near(v[N_BALLS - 1], exact, 0.01 * exact);
}

// ---- a top on its tip ---------------------------------------------------------------------------

// Two cones base to base on a tip: a turned peg top.
static void write_top(const char *folder) {
  static const kp_profile_point profile[] = { { 0.0, 0.0 }, { 0.03, 0.04 }, { 0.0, 0.05 } };
  kp_mesh mesh;
  assert_ok(
      kp_mesh_make_lathe(kp_vec3_make(0, 0, 0), kp_vec3_make(0, 1, 0), profile, 3, 32, &mesh));
  kp_test_write_obj(folder, "top.obj", &mesh);
  kp_mesh_destroy(&mesh);
}

typedef struct gyration {
  double tilt_least, tilt_most;  // deg
  double precession;             // rad/s, from the turn of the axis in two seconds
  double exact;                  // of steady precession
  double lowest;                 // m: of the tip
} gyration;

static kp_vec3 axis_of(const kp_frame3 *f) {
  return kp_quat_rotate(f->orientation, kp_vec3_make(0, 1, 0));
}

// Rate p of steady precession: I1 cos(tilt) p^2 - I3 w3 p + m g l = 0, I1 about the tip.
static double precession_of(const kp_body *model, double spin, double tilt, double arm) {
  double i1 = model->inertia.m[0][0];
  double i3 = model->inertia.m[1][1];
  double a = (i1 + arm * arm / model->inverse_mass) * cos(tilt);
  double b = i3 * spin;
  double c = G * arm / model->inverse_mass;
  return 2.0 * c / (b + sqrt(b * b - 4.0 * a * c));
}

static gyration spin_top(const char *folder, double spin, double tilt_deg, double seconds) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, 0, -1), kp_vec3_make(1, 1, 1));
  s.simulation.gravity = kp_vec3_make(0, -G, 0);
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  kp_rigid_def rigid = kp_default_rigid_def();
  rigid.domain_friction = 1.0;
  assert_ok(kp_world_set_rigid(world, &rigid));
  kp_body_def top = kp_default_body_def();
  snprintf(top.name, sizeof top.name, "top");
  top.shape = kp_test_mesh("top.obj");
  top.friction = 1.0;
  top.rotation_deg = kp_vec3_make(0, 0, tilt_deg);
  double tilt = tilt_deg * 3.14159265358979 / 180.0;
  assert_ok(kp_world_add_body(world, &top));
  assert_ok(kp_world_build(world));
  const kp_body *model = &world->bodies->models.data[0];
  double arm = model->center.y;
  kp_frame3 f = kp_bodies_frame(world->bodies, 0);
  kp_vec3 axis = axis_of(&f);
  gyration out = { .tilt_least = tilt_deg, .tilt_most = tilt_deg };
  out.exact = precession_of(model, spin, tilt, arm);
  // w3 is the whole spin about the axis; steady precession from the start, so no nutation
  kp_vec3 across = kp_vec3_make(0, out.exact, 0);
  across = kp_vec3_madd(across, -kp_vec3_dot(across, axis), axis);
  f.angular_velocity = kp_vec3_madd(across, spin, axis);
  f.velocity = kp_vec3_cross(across, kp_vec3_scale(axis, arm));
  kp_bodies_set_frame(world->bodies, 0, &f);
  double turned = 0.0;
  double was = atan2(axis.z, axis.x);
  int n = (int)(60.0 * seconds);
  for (int k = 0; k < n; ++k) {
    advance(world, 1.0 / 60.0);
    f = kp_bodies_frame(world->bodies, 0);
    axis = axis_of(&f);
    double now = atan2(axis.z, axis.x);
    double step = now - was;
    step += step > 3.0 ? -6.28318530717959 : (step < -3.0 ? 6.28318530717959 : 0.0);
    turned += step;
    was = now;
    double deg = acos(axis.y) * 180.0 / 3.14159265358979;
    out.tilt_least = kp_test_least(out.tilt_least, deg);
    out.tilt_most = kp_test_most(out.tilt_most, deg);
    out.lowest = kp_test_least(out.lowest, f.position.y - arm * axis.y);
  }
  out.precession = -turned / (n / 60.0);
  kp_world_destroy(&world);
  return out;
}

static void test_top(void **state) {
  const char *folder = *state;
  write_top(folder);
  static const double spins[] = { 300.0, 500.0 };
  double tilt = 0.0, precession = 0.0, deepest = 0.0;
  for (int i = 0; i < 2; ++i) {
    gyration g = spin_top(folder, spins[i], TILT, 2.0);
    print_message(
        "  top, %3.0f rad/s: tilt %.2f to %.2f deg, precession %.3f rad/s (%.3f), tip %.1e m\n",
        spins[i], g.tilt_least, g.tilt_most, g.precession, g.exact, g.lowest);
    tilt = kp_test_most(tilt, fmax(g.tilt_most - TILT, TILT - g.tilt_least));
    precession = kp_test_most(precession, fabs(g.precession / g.exact - 1.0));
    deepest = kp_test_most(deepest, -g.lowest);
  }
  kp_claim claim = { .id = "kelpie-top",
                     .text = "a top on its tip keeps its tilt and precesses at the rate of theory",
                     .size = "5 cm, 300 and 500 rad/s, two seconds" };
  assert_int_equal(kp_claim_all(&claim, { "change of the tilt [deg]", tilt, KP_AT_MOST, 2.0 },
                                { "error of the rate of precession", precession, KP_AT_MOST, 0.03 },
                                { "depth of the tip in the floor [m]", deepest, KP_AT_MOST, 2e-4 }),
                   KP_CLAIM_CONFIRMED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cradle),
    cmocka_unit_test(test_lossy_row),
    cmocka_unit_test_setup_teardown(test_top, kp_test_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
