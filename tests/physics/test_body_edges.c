// Edges and corners of bodies that come between the nodes of coarse cloth: with their triangles in
// the continuous test they push it, without them they cut through it.
#include <math.h>
#include <stdio.h>

#include "methods/deform/deform.h"

#include "support/deform.h"
#include "support/media.h"

// A blade whose upper edge rises, and turns, between two rows of nodes of a sheet that is held at
// two sides.
static kp_world *make_blade(bool triangles, const char *backend) {
  static const double way[6] = { 0, 0, 0, 0, 0.3, 0.02 };
  static const double turn[6] = { 0, 0, 0, 0, 20, 5 };
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, -2, -2), kp_vec3_make(2, 2, 2));
  s.backend = backend;
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.gap = 0.002;
  solids.body_triangles = triangles ? KP_TRIANGLES_ALL : KP_TRIANGLES_NONE;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_cloth_def sheet = kp_default_cloth_def();
  sheet.model = KP_CLOTH_EDGES;
  snprintf(sheet.name, sizeof sheet.name, "sheet");
  sheet.columns = sheet.rows = 8;
  sheet.stiffness = 200.0;
  assert_ok(kp_world_add_cloth(world, &sheet));
  for (int k = 0; k < 2; ++k) {
    kp_pin_def pin = kp_default_pin_def();
    double z = k == 0 ? -0.5 : 0.5;
    snprintf(pin.name, sizeof pin.name, "side-%d", k);
    pin.shape = kp_test_box(kp_vec3_make(-1, -1, z - 0.01), kp_vec3_make(1, 1, z + 0.01));
    assert_ok(kp_world_add_pin(world, &pin));
  }
  kp_collider_def blade = kp_default_collider_def();
  snprintf(blade.name, sizeof blade.name, "blade");
  blade.shape = kp_test_box(kp_vec3_make(-0.3, -0.3, 0.055), kp_vec3_make(0.3, -0.06, 0.07));
  blade.position = (kp_curve){ .components = 3, .n = 2, .interval = 0.5, .samples = way };
  blade.rotation_deg = (kp_curve){ .components = 3, .n = 2, .interval = 0.5, .samples = turn };
  assert_ok(kp_world_add_collider(world, &blade));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *make_with(const char *backend) {
  return make_blade(true, backend);
}

// Pairs of triangles of the sheet and of the blade that intersect.
static int64_t count_cuts(kp_world *world) {
  const kp_solid *solid = &world->env.scenery.solids[0];
  const kp_body *model = &world->bodies->models.data[solid->body];
  return kp_test_cuts(world, solid, kp_body_scripted_frame(model, world->env.time));
}

static void edges_do_not_pass_between_nodes(void **state) {
  (void)state;
  int64_t cuts[2] = { 0, 0 };
  for (int with = 0; with < 2; ++with) {
    kp_world *world = make_blade(with == 1, "cpu");
    for (int k = 0; k < 40; ++k) {
      assert_ok(kp_world_advance(world, 1.0 / 80.0, NULL));
      cuts[with] += count_cuts(world);
    }
    double top = kp_test_stats(world, "sheet").bounds.max.y;
    printf("  %s: %lld cuts, the sheet reaches %.3f m\n", with ? "triangles" : "nodes alone",
           (long long)cuts[with], top);
    assert_true(with == 0 || top > 0.1);
    kp_world_destroy(&world);
  }
  assert_true(cuts[0] > 100);
  assert_int_equal(cuts[1], 0);
}

// A sheet falls over a box that stands on its corner; `triangles` is a kp_body_triangles, or below
// 0 for settings as a scene has them that names none.
static int64_t drape(int triangles) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, -2, -2), kp_vec3_make(2, 2, 2));
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  if (triangles >= 0) {
    solids.body_triangles = triangles;
    assert_ok(kp_world_set_solids(world, &solids));
  }
  kp_cloth_def sheet = kp_default_cloth_def();
  sheet.model = KP_CLOTH_EDGES;
  snprintf(sheet.name, sizeof sheet.name, "sheet");
  sheet.columns = sheet.rows = 14;
  sheet.position = kp_vec3_make(0, 0.6, 0);
  assert_ok(kp_world_add_cloth(world, &sheet));
  kp_collider_def crate = kp_default_collider_def();
  snprintf(crate.name, sizeof crate.name, "crate");
  crate.shape = kp_test_box(kp_vec3_make(-0.2, -0.2, -0.2), kp_vec3_make(0.2, 0.2, 0.2));
  crate.rotation_deg = kp_curve_constant3(kp_vec3_make(30, 20, 40));
  assert_ok(kp_world_add_collider(world, &crate));
  assert_ok(kp_world_build(world));
  int64_t cuts = 0;
  while (world->env.time < 0.6) {
    kp_test_steps(world, 1);
    cuts += count_cuts(world);
  }
  kp_world_destroy(&world);
  return cuts;
}

static void cloth_is_whole_on_a_crate_by_default(void **state) {
  (void)state;
  int64_t without = drape(KP_TRIANGLES_NONE), as_is = drape(-1);
  printf("  cuts: %lld by nodes alone, %lld by default\n", (long long)without, (long long)as_is);
  assert_true(without > 100);
  assert_int_equal(as_is, 0);
}

static void bits_are_the_same(void **state) {
  (void)state;
  kp_test_same_bits(make_with, 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(edges_do_not_pass_between_nodes),
    cmocka_unit_test(cloth_is_whole_on_a_crate_by_default),
    cmocka_unit_test(bits_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
