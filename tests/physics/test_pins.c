// Pins among contacts: nodes that had to wait come back to their path, nodes that are led along
// some axes are pushed along the others, and steps that are taken back take back what bodies were
// given.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/deform/deform.h"

#include "support/deform.h"
#include "support/media.h"

static kp_world *make_space(bool gravity, const kp_solids_def *solids, const char *backend) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-3, -3, -3), kp_vec3_make(3, 3, 3));
  s.simulation.gravity = gravity ? kp_vec3_make(0, -9.81, 0) : kp_vec3_make(0, 0, 0);
  s.backend = backend;
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_solids(world, solids));
  return world;
}

static void add_sheet(kp_world *world, const char *name, int64_t cells, double width, double y) {
  kp_cloth_def def = kp_default_cloth_def();
  def.model = KP_CLOTH_EDGES;
  snprintf(def.name, sizeof def.name, "%s", name);
  def.columns = def.rows = cells;
  def.width = def.height = width;
  def.stiffness = 300.0;
  def.thickness = 0.01;
  def.position = kp_vec3_make(0.013 * y, y, 0.021 * y);
  assert_ok(kp_world_add_cloth(world, &def));
}

static kp_pin_def pin_whole(const char *of) {
  kp_pin_def def = kp_default_pin_def();
  snprintf(def.name, sizeof def.name, "hold-%s", of);
  snprintf(def.of, sizeof def.of, "%s", of);
  def.shape = kp_test_box(kp_vec3_make(-2, -2, -2), kp_vec3_make(2, 2, 2));
  return def;
}

static int64_t count_intersections(kp_world *world) {
  kp_deform *d = kp_test_deform(world);
  kp_triangle_soup soup = { .triangles = d->triangles.data[0].v,
                            .n_triangles = (kp_index)d->n_triangles };
  const kp_pos **x[3] = { &soup.x, &soup.y, &soup.z };
  for (int c = 0; c < 3; ++c) {
    *x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  kp_intersections met;
  assert_ok(kp_soup_count(&soup, &met));
  return met.count;
}

// ---- waiting ------------------------------------------------------------------------------------

// Two plates close on a sheet by more than there is room, then part again.
static kp_world *make_press(const char *backend) {
  static const double way[2][12] = { { 0, 0, 0, 0, 0.052, 0, 0, 0, 0, 0, 0, 0 },
                                     { 0, 0, 0, 0, -0.052, 0, 0, 0, 0, 0, 0, 0 } };
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1.0 / 240.0;
  solids.attempts = 4;  // zones, and waiting, sooner
  solids.inner = 1;
  kp_world *world = make_space(false, &solids, backend);
  add_sheet(world, "below", 2, 0.2, -0.05);
  add_sheet(world, "between", 4, 0.5, 0.0);
  add_sheet(world, "above", 2, 0.2, 0.05);
  for (int k = 0; k < 2; ++k) {
    kp_pin_def def = pin_whole(k == 0 ? "below" : "above");
    def.position = (kp_curve){ .components = 3, .n = 4, .interval = 0.05, .samples = way[k] };
    assert_ok(kp_world_add_pin(world, &def));
  }
  assert_ok(kp_world_build(world));
  return world;
}

static double height(kp_world *world, const char *part) {
  kp_deform *d = kp_test_deform(world);
  const kp_pos *y = kp_buffer_host(&d->set->position->buffers[1], KP_ACCESS_READ);
  kp_range nodes = { 0, 0 };
  for (size_t p = 0; p < d->parts.count; ++p) {
    nodes = strcmp(d->parts.data[p].name, part) == 0 ? d->parts.data[p].nodes : nodes;
  }
  double sum = 0.0;
  for (int64_t i = nodes.first; i < nodes.first + nodes.n; ++i) {
    sum += y[i];
  }
  return sum / (double)nodes.n;
}

static void pins_that_waited_come_back(void **state) {
  (void)state;
  kp_world *world = make_press("cpu");
  kp_deform *d = kp_test_deform(world);
  assert_ok(kp_world_advance(world, 0.05, NULL));
  assert_int_equal(count_intersections(world), 0);
  assert_true(kp_contact_told(d->meet.contact)->n_late > 0);
  // told to be at 0.002 and -0.002, past each other
  assert_true(height(world, "below") < height(world, "above"));
  assert_ok(kp_world_advance(world, 0.75, NULL));
  assert_int_equal(count_intersections(world), 0);
  printf("  plates at %.8f and %.8f m\n", height(world, "below"), height(world, "above"));
  assert_near(height(world, "below"), -0.05, 1e-6);
  assert_near(height(world, "above"), 0.05, 1e-6);
  kp_world_destroy(&world);
}

static void waiting_is_state(void **state) {
  (void)state;
  uint64_t hash = kp_test_hash(make_press, "cpu", 16);
  kp_test_rewind(make_press, "cpu", 12, 16, hash);
  assert_true(kp_test_hash(make_press, "mirror", 16) == hash);
}

// ---- led along some axes ------------------------------------------------------------------------

// A sheet whose nodes slide down vertical rails lands on one that is held.
static void what_is_led_along_some_axes_meets_others(void **state) {
  (void)state;
  kp_solids_def solids = kp_default_solids_def();
  kp_world *world = make_space(true, &solids, "cpu");
  add_sheet(world, "table", 6, 0.5, 0.0);
  add_sheet(world, "rails", 7, 0.35, 0.1);
  kp_pin_def table = pin_whole("table");
  kp_pin_def rails = pin_whole("rails");
  rails.free = kp_vec3_make(0, 1, 0);
  assert_ok(kp_world_add_pin(world, &table));
  assert_ok(kp_world_add_pin(world, &rails));
  assert_ok(kp_world_build(world));
  for (int k = 0; k < 10; ++k) {
    assert_ok(kp_world_advance(world, 0.04, NULL));
    assert_int_equal(count_intersections(world), 0);
  }
  double y = height(world, "rails");
  printf("  rests %.4f m above the table\n", y);
  assert_true(y > 0.0 && y < 0.03);
  kp_world_destroy(&world);
}

// ---- going back ---------------------------------------------------------------------------------

// Two sheets fly onto a floating ball, one behind the other, so that steps are taken back while the
// first one pushes the ball: what they lose the ball gains, once.
static void going_back_takes_back_impulses(void **state) {
  (void)state;
  kp_solids_def solids = kp_default_solids_def();
  solids.rewind = true;
  solids.inner = 8;
  solids.dt = 1.0 / 480.0;
  solids.repulsion = 0.0;
  solids.tolerance = KP_TOL(1e-6, 1e-10);
  kp_world *world = make_space(false, &solids, "cpu");
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0.02, 0, 0.01), 0.2);
  ball.density = 20.0;
  assert_ok(kp_world_add_body(world, &ball));
  for (int k = 0; k < 2; ++k) {
    kp_cloth_def def = kp_default_cloth_def();
    def.model = KP_CLOTH_EDGES;
    snprintf(def.name, sizeof def.name, k == 0 ? "first" : "second");
    def.columns = def.rows = 14;
    def.width = def.height = 0.7;
    def.position = kp_vec3_make(0, 0.21 + 0.03 * k, 0);
    def.rotation_deg = kp_vec3_make(2.0 * k, 20.0 * k, 0.0);
    def.velocity = kp_vec3_make(0, -1.0 - k, 0);
    assert_ok(kp_world_add_cloth(world, &def));
  }
  assert_ok(kp_world_build(world));
  double first =
      kp_test_stats(world, "first").momentum.y + kp_test_stats(world, "second").momentum.y;
  assert_ok(kp_world_advance(world, 0.15, NULL));
  double last =
      kp_test_stats(world, "first").momentum.y + kp_test_stats(world, "second").momentum.y;
  double mass = 1.0 / world->bodies->models.data[0].inverse_mass;
  double gained = mass * kp_bodies_frame(world->bodies, 0).velocity.y;
  kp_deform *d = kp_test_deform(world);
  printf("  the sheets lost %.5f kg m/s, the ball gained %.5f; %lld collisions\n", first - last,
         gained, (long long)kp_contact_told(d->meet.contact)->n_collisions);
  assert_true(fabs(first - last) > 0.05);
  assert_near(gained, first - last, 2e-3 * fabs(first - last));
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(pins_that_waited_come_back),
    cmocka_unit_test(waiting_is_state),
    cmocka_unit_test(what_is_led_along_some_axes_meets_others),
    cmocka_unit_test(going_back_takes_back_impulses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
