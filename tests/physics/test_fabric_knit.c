// Knitwear and contact particle by particle (Bayraktar 2010, sections 4.2, 4.3).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "geom/triangle_triangle.h"

#include "knit_size.h"
#include "support/claims.h"
#include "support/cloths.h"

#define PI 3.14159265358979323846

static kp_vec3 vec(double x, double y, double z) {
  return kp_vec3_make(x, y, z);
}

// ---- C25: thickness -----------------------------------------------------------------------------

#define KNIT_CELLS 8
#define KNIT_NODES ((KNIT_CELLS + 1) * (KNIT_CELLS + 1))
#define GAP 0.005

static kp_cloth_def knit_def(double volume) {
  kp_cloth_def knit = kp_test_sheet(KNIT_CELLS, KNIT_CELLS, 0.01);
  knit.rotation_deg = vec(0, 0, 0);
  knit.position = vec(0, 0, 0);
  knit.layers = 3;
  knit.gap = GAP;
  knit.stiffness = 50.0;
  knit.shear = 20.0;
  knit.bend_stiffness = 2.0;
  knit.volume_stiffness = volume;
  knit.damping = 0.05;
  knit.viscosity = 20.0;
  return knit;
}

// A plate: the same force on every node of the front.
static void press(const kp_force_view *view, void *user) {
  for (int i = 0; i < KNIT_NODES; ++i) {
    view->ay[i] -= (kp_real) * (double *)user;
  }
}

static double thickness(kp_world *world) {
  kp_vec3 *x = kp_test_nodes(world);
  double sum = 0.0;
  for (int i = 0; i < KNIT_NODES; ++i) {
    sum += x[i].y - x[2 * KNIT_NODES + i].y;
  }
  kp_free(x);
  return sum / KNIT_NODES;
}

static kp_world *knit_world(double volume) {
  kp_cloth_def knit = knit_def(volume);
  kp_test_cloth c = kp_test_cloth_make(&knit, 4e-5);
  c.gravity = 0.0;
  c.solids.inner = 100;
  kp_pin_def back = kp_test_pin("back", vec(-1, -2.1 * GAP, -1), vec(1, -1.9 * GAP, 1));
  c.pins[0] = &back;
  return kp_test_cloth_world(&c);
}

// How far the front of a fabric that lies on a plate sinks under a load [m].
static double sinks(int64_t layers, double load_of) {
  kp_cloth_def fabric = knit_def(30.0);
  fabric.layers = layers;
  kp_test_cloth c = kp_test_cloth_make(&fabric, 4e-5);
  c.gravity = 0.0;
  c.solids.inner = 100;
  c.solids.gap = 0.0;
  kp_collider_def plate = kp_default_collider_def();
  snprintf(plate.name, sizeof plate.name, "plate");
  plate.shape = (kp_shape_def){ .kind = KP_SHAPE_PLANE,
                                .point = vec(0, -GAP * (double)(layers - 1), 0),
                                .normal = vec(0, 1, 0) };
  c.body = &plate;
  kp_world *world = kp_test_cloth_world(&c);
  double load = load_of;
  kp_world_set_force(world, press, &load);
  kp_test_until(world, 0.2, 0.1);
  kp_vec3 *x = kp_test_nodes(world);
  double sum = 0.0;
  for (int i = 0; i < KNIT_NODES; ++i) {
    sum -= x[i].y;
  }
  kp_free(x);
  kp_world_destroy(&world);
  return sum / KNIT_NODES;
}

static void test_thickness(void **state) {
  (void)state;
  static const double loads[] = { 0.0, 2000.0, 4000.0, 8000.0, 0.0 };  // m/s^2 on the front
  double pressed[2] = { 0.0, 0.0 };
  double recovered = HUGE_VAL;
  int thicker = 0;
  for (int stiff = 0; stiff < 2; ++stiff) {
    kp_world *world = knit_world(stiff ? 60.0 : 30.0);
    assert_int_equal(kp_test_deform(world)->set->space->n, 3 * KNIT_NODES);
    double load = 0.0, before = HUGE_VAL, first = 0.0;
    kp_world_set_force(world, press, &load);
    for (int k = 0; k < 5; ++k) {
      load = loads[k];
      kp_test_until(world, 0.2 * (k + 1), 0.1);
      double now = thickness(world);
      print_message("k_vol %g, load %g m/s^2: %.3f mm\n", stiff ? 60.0 : 30.0, load, 1e3 * now);
      first = k == 0 ? now : first;
      pressed[stiff] = k == 2 ? 1.0 - now / first : pressed[stiff];
      thicker += k > 0 && k < 4 && now >= before;
      before = now;
    }
    assert_near(first, 2.0 * GAP, 1e-6);
    recovered = kp_test_least(recovered, before / first);
    kp_world_destroy(&world);
  }
  double ratio = pressed[0] / pressed[1];
  double three = sinks(3, 4000.0), one = sinks(1, 4000.0);
  print_message("on a plate under 4000 m/s^2: three layers sink %.3f mm, one %.2g mm\n",
                1e3 * three, 1e3 * one);
  kp_claim claim = { .id = "bayraktar-C25",
                     .text = "three layers give way under load and have their thickness back",
                     .size = "knit of 9 x 9 x 3 points, three loads, released; on a plate" };
  kp_claim_all(&claim, { "share of the thickness back after release", recovered, KP_MORE, 0.95 },
               { "larger loads that pressed less", thicker, KP_AT_MOST, 0 },
               { "pressed share at k_vol over that at twice of it", ratio, KP_AT_LEAST, 1.5 },
               { "how far three layers sink over their gap", three / GAP, KP_MORE, 0.1 },
               { "one layer's sinking over that of three", fabs(one) / three, KP_LESS, 0.01 });
  assert_true(recovered > 0.95 && thicker == 0);
  assert_between(ratio, 1.5, 3.0);
  assert_true(three > 0.1 * GAP && fabs(one) < 0.01 * three);
}

// How far the ends of a scarf reach after it has lain on a ball for a second, over its radius.
static double reach_of_scarf(int64_t rows, double volume) {
  const double radius = 0.1;
  kp_cloth_def scarf = kp_default_cloth_def();
  snprintf(scarf.name, sizeof scarf.name, "scarf");
  scarf.width = 0.12;
  scarf.height = 6.0 * radius;
  scarf.columns = rows / 5;
  scarf.rows = rows;
  scarf.model = KP_CLOTH_GRID;
  scarf.layers = 3;
  scarf.position = vec(0, radius + 0.02, 0);
  scarf.volume_stiffness = volume > 0.0 ? volume : scarf.volume_stiffness;
  kp_collider_def ball = kp_default_collider_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .radius = radius };
  kp_test_cloth c = kp_test_cloth_make(&scarf, 1e-3);
  c.solids = kp_default_solids_def();
  c.body = &ball;
  kp_world *world = kp_test_cloth_world(&c);
  kp_test_until(world, 1.0, 0.05);
  kp_vec3 *x = kp_test_nodes(world);
  double farthest = 0.0;
  for (int64_t i = 0; i < kp_test_deform(world)->set->space->n; ++i) {
    farthest = kp_test_most(farthest, fabs(x[i].z));
  }
  kp_free(x);
  kp_world_destroy(&world);
  return farthest / radius;
}

// Knitwear as it comes drapes, coarse and finer; with layers tied as firmly as before it stood off
// like a board.
static void test_scarf_drapes(void **state) {
  (void)state;
  double coarse = reach_of_scarf(25, 0.0), fine = reach_of_scarf(40, 0.0);
  double firm = reach_of_scarf(25, 30.0);
  print_message("a scarf reaches %.2f and %.2f radii, with firm layers %.2f\n", coarse, fine, firm);
  assert_true(coarse < 1.4 && fine < 1.4);
  assert_true(firm > 2.0);
}

// Springs of the knit: three grids, and five per node to the next layer inside.
static void test_knit_springs(void **state) {
  (void)state;
  kp_world *world = knit_world(30.0);
  kp_deform *d = kp_test_deform(world);
  int64_t links = 0;
  for (int64_t s = 0; s < d->springs.n; ++s) {
    links += d->springs.kinds.data[s] == KP_SPRING_LINK;
  }
  int64_t n = KNIT_CELLS + 1, straight = n * n, diagonals = 4 * n * (n - 1);
  assert_int_equal(links, 2 * (straight + diagonals));
  kp_grid_shape grid = { n, n, false, false };
  int64_t layer = 0;
  for (int kind = 0; kind < KP_LINK_KIND_COUNT; ++kind) {
    layer += kp_grid_link_count(&grid, (kp_link_kind)kind);
  }
  assert_int_equal(d->springs.n - links, 3 * layer);
  kp_world_destroy(&world);
}

// ---- C34: folded cloth --------------------------------------------------------------------------

// A sheet folded in two, the upper half a bit above the lower one, which is held; it falls.
static void fold(kp_world *world, int64_t cells, double side) {
  double rise = 0.04, half = 0.5 * (side - PI * 0.5 * rise);
  for (int64_t j = 0; j <= cells; ++j) {
    double s = side * (double)j / (double)cells;
    double y = 0.0, z = s;
    if (s > half && s < half + PI * 0.5 * rise) {
      double angle = (s - half) / (0.5 * rise);
      y = 0.5 * rise * (1.0 - cos(angle));
      z = half + 0.5 * rise * sin(angle);
    } else if (s >= half) {
      y = rise;
      z = half - (s - half - PI * 0.5 * rise);
    }
    for (int64_t i = 0; i <= cells; ++i) {
      double x = side * ((double)i / (double)cells - 0.5);
      double speed = s > half ? 0.15 * sin(40.0 * x) : 0.0;
      kp_test_node(world, j * (cells + 1) + i, vec(x, y, z), vec(0.1 * speed, speed, 0.0));
    }
  }
}

static int64_t crossings(kp_world *world) {
  kp_deform *d = kp_test_deform(world);
  size_t n = (size_t)d->set->space->n;
  double *xyz = kp_alloc(3 * n * sizeof *xyz, KP_MEMORY_WORLD);
  kp_index *t = kp_alloc(3 * d->triangles.count * sizeof *t, KP_MEMORY_WORLD);
  for (int c = 0; c < 3; ++c) {
    const kp_pos *x = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
    for (size_t i = 0; i < n; ++i) {
      xyz[(size_t)c * n + i] = x[i];
    }
  }
  for (size_t k = 0; k < d->triangles.count; ++k) {
    for (int c = 0; c < 3; ++c) {
      t[3 * k + (size_t)c] = d->triangles.data[k].v[c];
    }
  }
  kp_triangle_soup soup = { xyz, xyz + n, xyz + 2 * n, t, (kp_index)d->triangles.count };
  kp_intersections found;
  assert_ok(kp_soup_count(&soup, &found));
  kp_free(xyz);
  kp_free(t);
  return found.count;
}

#define SIDE 0.4

// Crossings per triangle, the mean of 15 looks, of a cloth whose particles have a radius; 0: they
// do not meet.
static double crossed(int64_t cells, double radius) {
  double side = SIDE;
  kp_cloth_def sheet = kp_test_sheet(cells, cells, side / (double)cells);
  sheet.density = 0.2;
  sheet.stiffness = 20.0;
  sheet.shear = 10.0;
  sheet.bend_stiffness = 0.5;
  sheet.damping = 0.05;
  sheet.viscosity = 1.0;
  sheet.particle_radius = radius;
  kp_test_cloth c = kp_test_cloth_make(&sheet, 0.011 / (double)cells);
  c.solids.inner = 10;
  // the half of the rows that is folded to lie below: found before it is folded
  kp_pin_def half = kp_test_pin("half", vec(-1, -0.168, -1), vec(1, 0.001, 1));
  c.pins[0] = &half;
  kp_world *world = kp_test_cloth_world(&c);
  fold(world, cells, side);
  double share = 0.0;
  for (int k = 0; k < 15; ++k) {
    kp_test_until(world, 0.02 * (k + 1), 0.02);
    share += (double)crossings(world) / (double)(2 * cells * cells) / 15.0;
  }
  kp_world_destroy(&world);
  return share;
}

// One cloth, as thick as particles that nearly touch at the finest of four resolutions: where they
// lie far apart sheets pass between them. With radii that follow the spacing none does.
static void test_folded(void **state) {
  (void)state;
  const int64_t *sizes = kp_knit_size.cells;
  double share[4], of_wide = 0.0;
  double radius = 0.45 * SIDE / (double)sizes[3];
  for (int k = 0; k < 4; ++k) {
    share[k] = crossed(sizes[k], radius);
    print_message("%lld^2 cells: %.4f crossings per triangle\n", (long long)sizes[k], share[k]);
    if (sizes[k] <= kp_knit_size.widest) {
      double wide = crossed(sizes[k], 0.45 * SIDE / (double)sizes[k]);
      print_message("%lld^2 cells, wider particles: %.4f\n", (long long)sizes[k], wide);
      of_wide = kp_test_most(of_wide, wide);
    }
  }
  double without = crossed(sizes[1], 0.0);
  print_message("without contact, %lld^2: %.4f\n", (long long)sizes[1], without);
  char size[128];
  snprintf(size, sizeof size, "0.4 m, %.2g mm thick, %lld^2, %lld^2, %lld^2, %lld^2 cells",
           2e3 * radius, (long long)sizes[0], (long long)sizes[1], (long long)sizes[2],
           (long long)sizes[3]);
  kp_claim claim = { .id = "bayraktar-C34",
                     .text =
                         "contact of particles is better on fine meshes: a folded sheet crosses "
                         "itself less",
                     .size = size };
  kp_claim_all(
      &claim,
      { "crossings per triangle, second size over coarsest", share[1] / share[0], KP_LESS, 1 },
      { "third over second", share[2] / share[1], KP_LESS, 1 },
      { "finest over third", share[3] / share[2], KP_LESS, 1 },
      { "finest over none held apart at the second", share[3] / without, KP_LESS, 1 },
      { "with radii that follow the spacing", of_wide, KP_AT_MOST, 0 });
  assert_true(share[1] < share[0] && share[2] < share[1] && share[3] < share[2]);
  assert_true(without > of_wide && without > share[3]);
}

// ---- B28: shells of particles -------------------------------------------------------------------

static void test_shell(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(3, vec(-1, -1, -1), vec(1, 1, 1));
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 2.5e-4;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_cloth_def sheet = kp_test_sheet(24, 24, 0.02);
  sheet.rotation_deg = vec(0, 0, 0);
  sheet.position = vec(0, 0.03, 0);
  sheet.stiffness = 50.0;
  sheet.shear = 20.0;
  sheet.bend_stiffness = 1.0;
  sheet.damping = 0.1;
  sheet.viscosity = 1.0;
  sheet.particle_radius = 0.009;
  assert_ok(kp_world_add_cloth(world, &sheet));
  kp_collider_def ball = kp_default_collider_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(vec(0, -0.15, 0), 0.15);
  ball.spacing = 0.01;
  assert_ok(kp_world_add_collider(world, &ball));
  assert_ok(kp_world_build(world));
  kp_test_until(world, 0.5, 0.05);
  kp_vec3 *x = kp_test_nodes(world);
  double nearest = HUGE_VAL, lowest = 0.0;
  for (int64_t i = 0; i < 25 * 25; ++i) {
    nearest = kp_test_least(nearest, kp_vec3_length(kp_vec3_sub(x[i], vec(0, -0.15, 0))));
    lowest = kp_test_least(lowest, x[i].y);
  }
  kp_free(x);
  print_message("nearest node %.4f m from the middle of a ball of 0.15 m, lowest at %.3f m\n",
                nearest, lowest);
  kp_claim claim = { .id = "bayraktar-B28",
                     .text = "no node of a cloth that drapes over a shell of particles gets inside",
                     .size = "625 nodes on a ball of 0.15 m, 0.5 s" };
  kp_claim_all(&claim, { "nearest node over the radius of the ball", nearest / 0.15, KP_MORE, 1 },
               { "lowest node [m], the ball's top is 0", lowest, KP_LESS, -0.06 });
  assert_true(nearest > 0.15);  // none inside
  assert_true(lowest < -0.06);  // and it drapes
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_knit_springs), cmocka_unit_test(test_thickness),
    cmocka_unit_test(test_scarf_drapes), cmocka_unit_test(test_folded),
    cmocka_unit_test(test_shell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
