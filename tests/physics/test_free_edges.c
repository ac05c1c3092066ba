// Free bodies and coarse cloth: with their triangles in the continuous test bodies and cloth push
// each other, and no triangle of a body passes one of the cloth, whatever comes between the nodes.
#include <math.h>
#include <stdio.h>

#include "methods/deform/deform.h"

#include "support/deform.h"
#include "support/media.h"

typedef enum setting {
  DROP,   // a box falls on a sheet that is held at its sides
  SPIKE,  // a sharp tetrahedron falls between the nodes of such a sheet
  PINCH,  // two boxes collide with a loose sheet between them, without gravity
} setting;

static const char *test_folder;

// A tip below, 0.4 m long.
static void write_spike(void) {
  char path[1024];
  snprintf(path, sizeof path, "%s/spike.obj", test_folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "v 0 -0.3 0\nv 0.08 0.1 0.05\nv -0.08 0.1 0.05\nv 0 0.1 -0.09\n");
  fprintf(file, "f 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n");
  assert_int_equal(fclose(file), 0);
}

static void add_body(kp_world *world, const char *name, kp_shape_def shape, kp_vec3 at,
                     kp_vec3 turn_deg, kp_vec3 velocity, kp_vec3 spin) {
  kp_body_def body = kp_default_body_def();
  snprintf(body.name, sizeof body.name, "%s", name);
  body.shape = shape;
  body.density = 200.0;
  body.position = at;
  body.rotation_deg = turn_deg;
  body.velocity = velocity;
  body.angular_velocity = spin;
  assert_ok(kp_world_add_body(world, &body));
}

static void add_sheet(kp_world *world, int64_t cells, int n_sides) {
  kp_cloth_def sheet = kp_default_cloth_def();
  sheet.model = KP_CLOTH_EDGES;
  snprintf(sheet.name, sizeof sheet.name, "sheet");
  sheet.columns = sheet.rows = cells;
  sheet.stiffness = 2000.0;
  assert_ok(kp_world_add_cloth(world, &sheet));
  for (int k = 0; k < n_sides; ++k) {
    kp_pin_def pin = kp_default_pin_def();
    double at = k % 2 == 0 ? -0.5 : 0.5;
    snprintf(pin.name, sizeof pin.name, "side-%d", k);
    kp_vec3 lo = k < 2 ? kp_vec3_make(-1, -1, at - 0.01) : kp_vec3_make(at - 0.01, -1, -1);
    kp_vec3 hi = k < 2 ? kp_vec3_make(1, 1, at + 0.01) : kp_vec3_make(at + 0.01, 1, 1);
    pin.shape = kp_test_box(lo, hi);
    assert_ok(kp_world_add_pin(world, &pin));
  }
}

static kp_world *make(setting what, bool triangles, const char *backend) {
  const kp_vec3 none = { 0, 0, 0 };
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, -2, -2), kp_vec3_make(2, 2, 2));
  s.backend = backend;
  if (what == PINCH) {
    s.simulation.gravity = none;
  }
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, test_folder));
  kp_solids_def solids = kp_default_solids_def();
  solids.gap = 0.002;
  solids.body_triangles = triangles ? KP_TRIANGLES_ALL : KP_TRIANGLES_NONE;
  if (what == PINCH) {
    solids.tolerance = sizeof(kp_real) == 8 ? 1e-13 : 1e-6;
  }
  assert_ok(kp_world_set_solids(world, &solids));
  add_sheet(world, 8, what == DROP ? 4 : (what == SPIKE ? 2 : 0));
  if (what == DROP) {
    kp_shape_def box = kp_test_box(kp_vec3_make(-0.15, -0.1, -0.12), kp_vec3_make(0.15, 0.1, 0.12));
    add_body(world, "box", box, kp_vec3_make(0.05, 0.2, 0.03), kp_vec3_make(20, 10, 30), none,
             none);
  } else if (what == SPIKE) {
    add_body(world, "spike", kp_test_mesh("spike.obj"), kp_vec3_make(0.06, 0.35, 0.05),
             kp_vec3_make(0, 20, 0), kp_vec3_make(0, -2, 0), kp_vec3_make(0, 1, 0));
  } else {
    kp_shape_def box = kp_test_box(kp_vec3_make(-0.1, -0.1, -0.1), kp_vec3_make(0.1, 0.1, 0.1));
    add_body(world, "above", box, kp_vec3_make(0.02, 0.3, 0.05), kp_vec3_make(30, 0, 20),
             kp_vec3_make(0, -3, 0), kp_vec3_make(2, 0, 0));
    add_body(world, "below", box, kp_vec3_make(0.05, -0.3, 0.03), kp_vec3_make(0, 40, 35),
             kp_vec3_make(0, 3, 0), kp_vec3_make(0, 0, 3));
  }
  assert_ok(kp_world_build(world));
  return world;
}

// Pairs of triangles of the sheet and of the bodies that intersect.
static int64_t count_cuts(kp_world *world) {
  int64_t count = 0;
  for (size_t s = 0; s < world->env.scenery.n_solids; ++s) {
    const kp_solid *solid = &world->env.scenery.solids[s];
    count += kp_test_cuts(world, solid, kp_bodies_frame(world->bodies, solid->body));
  }
  return count;
}

// Steps until `end`, counting cuts after each.
static int64_t run(kp_world *world, double end) {
  int64_t cuts = 0;
  while (world->env.time < end) {
    kp_test_steps(world, 1);
    cuts += count_cuts(world);
  }
  return cuts;
}

static void tell(kp_world *world, const char *what, int64_t cuts) {
  const kp_contact *contact = kp_test_deform(world)->meet.contact;
  const kp_contact_report none = { 0 };
  const kp_contact_report *r = contact != NULL ? kp_contact_told(contact) : &none;
  print_message("  %s: %lld cuts; %lld collisions, %lld rounds, %lld zones, largest %lld\n", what,
                (long long)cuts, (long long)r->n_collisions, (long long)r->n_rounds,
                (long long)r->n_zones, (long long)r->largest_zone);
}

static void a_box_comes_to_rest_on_a_sheet(void **state) {
  (void)state;
  kp_world *world = make(DROP, true, "cpu");
  int64_t cuts = run(world, 6.0);
  kp_population_stats box = kp_test_stats(world, "box");
  kp_population_stats sheet = kp_test_stats(world, "sheet");
  tell(world, "box on a sheet", cuts);
  print_message("  box at %.3f m, %.4f m/s, sheet down to %.3f m\n", box.bounds.min.y,
                box.max_speed, sheet.bounds.min.y);
  assert_int_equal(cuts, 0);
  assert_true(box.max_speed < 0.1);
  assert_between(box.bounds.min.y, -0.5, 0.2);
  kp_world_destroy(&world);
}

static void a_spike_does_not_pass_between_nodes(void **state) {
  (void)state;
  write_spike();
  int64_t cuts[2];
  for (int with = 0; with < 2; ++with) {
    kp_world *world = make(SPIKE, with == 1, "cpu");
    cuts[with] = run(world, 0.5);
    tell(world, with == 1 ? "spike, triangles" : "spike, nodes alone", cuts[with]);
    print_message("  at %.3f m\n", kp_test_stats(world, "spike").bounds.min.y);
    kp_world_destroy(&world);
  }
  assert_true(cuts[0] > 20);
  assert_int_equal(cuts[1], 0);
}

static kp_vec3 momentum(kp_world *world, double *size) {
  kp_population_stats part[3] = { kp_test_stats(world, "sheet"), kp_test_stats(world, "above"),
                                  kp_test_stats(world, "below") };
  kp_vec3 sum = { 0, 0, 0 };
  *size = 0.0;
  for (int k = 0; k < 3; ++k) {
    sum = kp_vec3_add(sum, part[k].momentum);
    *size += kp_vec3_length(part[k].momentum);
  }
  return sum;
}

static void a_sheet_between_two_boxes_is_not_cut(void **state) {
  (void)state;
  kp_world *world = make(PINCH, true, "cpu");
  double size, now;
  kp_vec3 before = momentum(world, &size);
  int64_t cuts = run(world, 0.4);
  kp_vec3 after = momentum(world, &now);
  tell(world, "sheet between boxes", cuts);
  double error = kp_vec3_length(kp_vec3_sub(after, before)) / size;
  print_message("  momentum off by %.2e of %.3g kg m/s\n", error, size);
  assert_int_equal(cuts, 0);
  assert_true(error < KP_TOL(1e-6, 1e-12));
  kp_world_destroy(&world);
}

static kp_world *make_drop(const char *backend) {
  return make(DROP, true, backend);
}

static kp_world *make_pinch(const char *backend) {
  return make(PINCH, true, backend);
}

static void bits_are_the_same(void **state) {
  (void)state;
  kp_test_same_bits(make_drop, 30);
  kp_test_same_bits(make_pinch, 12);
}

static int open_folder(void **state) {
  int result = kp_test_folder_make(state);
  test_folder = *state;
  return result;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_box_comes_to_rest_on_a_sheet),
    cmocka_unit_test(a_spike_does_not_pass_between_nodes),
    cmocka_unit_test(a_sheet_between_two_boxes_is_not_cut),
    cmocka_unit_test(bits_are_the_same),
  };
  return cmocka_run_group_tests(tests, open_folder, kp_test_folder_remove);
}
