// Free bodies on cloth as a scene has them that names no settings: cloth stays whole, bodies are
// carried without gain of energy or loss of momentum, at steps that explicit springs would not
// bear, and however heavy they are.
#include <math.h>
#include <stdio.h>

#include "methods/deform/deform.h"

#include "support/deform.h"
#include "support/media.h"

static const kp_vec3 none = { 0, 0, 0 };

static kp_world *begin(const char *backend) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, -2, -2), kp_vec3_make(2, 2, 2));
  s.backend = backend;
  return kp_test_world(&s);
}

static void add_sheet(kp_world *world, int64_t cells, double y, double stiffness) {
  kp_cloth_def sheet = kp_default_cloth_def();
  sheet.model = KP_CLOTH_EDGES;
  snprintf(sheet.name, sizeof sheet.name, "sheet");
  sheet.columns = sheet.rows = cells;
  sheet.stiffness = stiffness;
  sheet.position.y = y;
  assert_ok(kp_world_add_cloth(world, &sheet));
}

static void add_pin(kp_world *world, int number, kp_vec3 lo, kp_vec3 hi) {
  kp_pin_def pin = kp_default_pin_def();
  snprintf(pin.name, sizeof pin.name, "pin-%d", number);
  pin.shape = kp_test_box(lo, hi);
  assert_ok(kp_world_add_pin(world, &pin));
}

static void add_cube(kp_world *world, int number, double half, double density, kp_vec3 at,
                     kp_vec3 turn_deg, kp_vec3 spin) {
  kp_body_def body = kp_default_body_def();
  snprintf(body.name, sizeof body.name, "box-%d", number);
  body.shape = kp_test_box(kp_vec3_make(-half, -half, -half), kp_vec3_make(half, half, half));
  body.density = density;
  body.position = at;
  body.rotation_deg = turn_deg;
  body.angular_velocity = spin;
  assert_ok(kp_world_add_body(world, &body));
}

// Pairs of triangles that intersect: of the sheet and the solids, and of the sheet itself.
static int64_t count_cuts(kp_world *world) {
  kp_deform *d = kp_test_deform(world);
  int64_t count = 0;
  for (size_t s = 0; s < world->env.scenery.n_solids; ++s) {
    const kp_solid *solid = &world->env.scenery.solids[s];
    count += kp_test_cuts(world, solid, kp_bodies_frame(world->bodies, solid->body));
  }
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  kp_triangle_soup soup = { x[0], x[1], x[2], d->triangles.data[0].v, (kp_index)d->n_triangles };
  kp_intersections met;
  assert_ok(kp_soup_count(&soup, &met));
  return count + met.count;
}

static double energy(kp_world *world) {
  double sum = 0.0;
  for (int k = 0; k < kp_world_n_populations(world); ++k) {
    kp_population_stats s;
    assert_ok(kp_world_stats(world, k, &s));
    sum += s.kinetic_energy + s.potential_energy;
    sum += isfinite(s.internal_energy) ? s.internal_energy : 0.0;
  }
  return sum;
}

// What a run was like, step by step.
typedef struct course {
  int64_t cuts, inner;
  double above;  // J: the most above the start
  double rise;   // J: the most above what was lowest before
  double peak;   // J: the most in the springs
} course;

static course run(kp_world *world, double end) {
  course c = { 0 };
  double start = energy(world), lowest = start;
  while (world->env.time < end) {
    kp_test_steps(world, 1);
    c.cuts += count_cuts(world);
    c.inner += kp_test_deform(world)->inner_steps;
    double now = energy(world);
    lowest = kp_test_least(lowest, now);
    c.above = kp_test_most(c.above, now - start);
    c.rise = kp_test_most(c.rise, now - lowest);
    c.peak = kp_test_most(c.peak, kp_test_stats(world, "sheet").internal_energy);
  }
  return c;
}

// Cubes tumble into a sheet that hangs from its corners.
static kp_world *make_bag(const kp_solids_def *solids, const char *backend) {
  kp_world *world = begin(backend);
  if (solids != NULL) {
    assert_ok(kp_world_set_solids(world, solids));
  }
  add_sheet(world, 14, 0.0, 2000.0);
  for (int k = 0; k < 4; ++k) {
    double x = k % 2 == 0 ? -0.5 : 0.5, z = k < 2 ? -0.5 : 0.5;
    add_pin(world, k, kp_vec3_make(x - 0.08, -1, z - 0.08), kp_vec3_make(x + 0.08, 1, z + 0.08));
    add_cube(world, k, 0.07, 200.0, kp_vec3_make(0.2 * x, 0.15 + 0.17 * k, 0.2 * z),
             kp_vec3_make(20 * k, 10 + 30 * k, 30), kp_vec3_make(3 - k, k, 2));
  }
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *make_bag_by_default(const char *backend) {
  return make_bag(NULL, backend);
}

static void a_bag_of_boxes_is_whole_by_default(void **state) {
  (void)state;
  kp_solids_def by_nodes = kp_default_solids_def();
  by_nodes.body_triangles = KP_TRIANGLES_NONE;
  kp_world *world = make_bag(&by_nodes, "cpu");
  course without = run(world, 0.8);
  kp_world_destroy(&world);
  world = make_bag(NULL, "cpu");
  course as_is = run(world, 0.8);
  print_message("  cuts: %lld by nodes alone, %lld by default; inner steps: %lld and %lld\n",
                (long long)without.cuts, (long long)as_is.cuts, (long long)without.inner,
                (long long)as_is.inner);
  for (int k = 0; k < 4; ++k) {
    char name[16];
    snprintf(name, sizeof name, "box-%d", k);
    assert_true(kp_test_stats(world, name).bounds.min.y > -0.8);
  }
  kp_world_destroy(&world);
  assert_true(without.cuts > 500);
  assert_int_equal(as_is.cuts, 0);
}

// A cube falls on a sheet that is held at its sides; dt: of inner steps, may be KP_AUTO.
static kp_world *make_drop(double density, double stiffness, double dt) {
  kp_world *world = begin("cpu");
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = dt;
  assert_ok(kp_world_set_solids(world, &solids));
  add_sheet(world, 8, 0.0, stiffness);
  for (int k = 0; k < 4; ++k) {
    double at = k % 2 == 0 ? -0.5 : 0.5;
    add_pin(world, k, k < 2 ? kp_vec3_make(-1, -1, at - 0.01) : kp_vec3_make(at - 0.01, -1, -1),
            k < 2 ? kp_vec3_make(1, 1, at + 0.01) : kp_vec3_make(at + 0.01, 1, 1));
  }
  add_cube(world, 0, 0.12, density, kp_vec3_make(0.05, 0.22, 0.03), kp_vec3_make(20, 10, 30), none);
  assert_ok(kp_world_build(world));
  return world;
}

static course drop(double density, double stiffness, double dt, double *bound) {
  kp_world *world = make_drop(density, stiffness, dt);
  *bound = kp_test_deform(world)->parts.data[0].limit;
  course c = run(world, 1.0);
  print_message("  %g kg/m^3 on %g N/m: %lld cuts; energy up by %.4f J, %.4f J above the start, of "
                "%.3f J; %lld inner steps, explicit springs need %.0f\n",
                density, stiffness, (long long)c.cuts, c.rise, c.above, c.peak, (long long)c.inner,
                1.0 / *bound);
  kp_world_destroy(&world);
  assert_int_equal(c.cuts, 0);
  return c;
}

static void a_load_makes_no_energy(void **state) {
  (void)state;
  static const double settings[3][2] = { { 200, 2000 }, { 50, 20000 }, { 2000, 20000 } };
  double bound;
  for (int k = 0; k < 3; ++k) {
    course c = drop(settings[k][0], settings[k][1], KP_AUTO, &bound);
    assert_true(c.above < 0.03 * c.peak);
    assert_true(c.rise < 0.2 * c.peak);
    assert_true((double)c.inner < 0.3 / bound);
  }
  // what is left of it is that of the steps
  course fine = drop(50, 20000, 0.0002, &bound);
  assert_true(fine.rise < 0.02 * fine.peak);
}

// A box of over a thousand times the mass of the sheet falls on it, where it lies on the floor or
// on a table.
static void a_heavy_box_presses_a_sheet(void **state) {
  (void)state;
  for (int on_table = 0; on_table < 2; ++on_table) {
    double floor = on_table == 1 ? 0.0 : -2.0;
    kp_world *world = begin("cpu");
    add_sheet(world, 12, floor + 0.05, 2000.0);
    add_cube(world, 0, 0.12, 25000.0, kp_vec3_make(0.03, floor + 0.35, 0.02),
             kp_vec3_make(20, 10, 30), none);
    if (on_table == 1) {
      kp_collider_def table = kp_default_collider_def();
      snprintf(table.name, sizeof table.name, "table");
      table.shape = kp_test_box(kp_vec3_make(-0.7, -0.4, -0.7), kp_vec3_make(0.7, 0.0, 0.7));
      assert_ok(kp_world_add_collider(world, &table));
    }
    assert_ok(kp_world_build(world));
    course c = run(world, 0.8);
    kp_population_stats box = kp_test_stats(world, "box-0"), sheet = kp_test_stats(world, "sheet");
    print_message(
        "  on the %s: %lld cuts, %lld inner steps, box %.4f m deep, %.0f times as heavy\n",
        on_table == 1 ? "table" : "floor", (long long)c.cuts, (long long)c.inner,
        floor - box.bounds.min.y, box.mass / sheet.mass);
    kp_world_destroy(&world);
    assert_true(box.mass > 1000.0 * sheet.mass);
    assert_int_equal(c.cuts, 0);
    assert_between(floor - box.bounds.min.y, -0.02, 0.01);
    assert_true(c.above == 0.0);
  }
}

static void bits_are_the_same(void **state) {
  (void)state;
  kp_test_same_bits(make_bag_by_default, 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_bag_of_boxes_is_whole_by_default),
    cmocka_unit_test(a_load_makes_no_energy),
    cmocka_unit_test(a_heavy_box_presses_a_sheet),
    cmocka_unit_test(bits_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
