#include "support/tangles.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/timer.h"

#include "support/deform.h"

static kp_cloth_def cloth_def(const char *name, int64_t columns, int64_t rows) {
  kp_cloth_def def = kp_default_cloth_def();
  def.model = KP_CLOTH_EDGES;
  snprintf(def.name, sizeof def.name, "%s", name);
  def.columns = columns;
  def.rows = rows;
  def.density = 0.3;
  def.stiffness = 300.0;
  def.bend_stiffness = 1.0;
  def.thickness = 0.01;
  return def;
}

static void pin(kp_world *world, const char *name, const char *of, kp_vec3 lo, kp_vec3 hi) {
  kp_pin_def def = kp_default_pin_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  snprintf(def.of, sizeof def.of, "%s", of);
  def.shape = kp_test_box(lo, hi);
  assert_ok(kp_world_add_pin(world, &def));
}

// A sheet held at its corners, and a smaller one that falls into it, turned.
static void add_hammock(kp_world *world, int64_t cells) {
  kp_cloth_def net = cloth_def("net", cells, cells);
  assert_ok(kp_world_add_cloth(world, &net));
  for (int k = 0; k < 4; ++k) {
    double x = k % 2 == 0 ? -0.5 : 0.5;
    double z = k / 2 == 0 ? -0.5 : 0.5;
    char name[16];
    snprintf(name, sizeof name, "corner-%d", k);
    pin(world, name, "net", kp_vec3_make(x - 0.01, -0.1, z - 0.01),
        kp_vec3_make(x + 0.01, 0.05, z + 0.01));
  }
  kp_cloth_def sheet = cloth_def("sheet", cells, cells);
  sheet.width = sheet.height = 0.8;
  sheet.position = kp_vec3_make(0.05, 0.12, 0.02);
  sheet.rotation_deg = kp_vec3_make(15.0, 35.0, 10.0);
  sheet.position.y = 0.3;
  sheet.velocity = kp_vec3_make(0.0, -2.0, 0.0);
  assert_ok(kp_world_add_cloth(world, &sheet));
}

// Two ends led by functions of time: samples of {0, 0, 0} and `end`, over `duration`.
static void lead(kp_world *world, const char *name, kp_vec3 lo, kp_vec3 hi, const double *shift,
                 const double *turn) {
  kp_pin_def def = kp_default_pin_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.shape = kp_test_box(lo, hi);
  if (turn != NULL) {
    def.rotation_deg = (kp_curve){ .components = 3, .n = 2, .interval = 2.0, .samples = turn };
  }
  if (shift != NULL) {
    def.position = (kp_curve){ .components = 3, .n = 2, .interval = 2.0, .samples = shift };
  }
  assert_ok(kp_world_add_pin(world, &def));
}

// A strip whose ends turn against each other, five times in two seconds, and come together.
static void add_twist(kp_world *world, int64_t cells) {
  static const double turn[2][6] = { { 0, 0, 0, 900, 0, 0 }, { 0, 0, 0, -900, 0, 0 } };
  static const double shift[2][6] = { { 0, 0, 0, 0.3, 0, 0 }, { 0, 0, 0, -0.3, 0, 0 } };
  kp_cloth_def strip = cloth_def("strip", cells, cells / 2);
  strip.width = 0.8;
  strip.height = 0.4;
  assert_ok(kp_world_add_cloth(world, &strip));
  lead(world, "left", kp_vec3_make(-0.41, -1, -1), kp_vec3_make(-0.39, 1, 1), shift[0], turn[0]);
  lead(world, "right", kp_vec3_make(0.39, -1, -1), kp_vec3_make(0.41, 1, 1), shift[1], turn[1]);
}

// A sheet crushed by its own velocities: all nodes fly to the middle.
static void add_crush(kp_world *world, int64_t cells) {
  kp_cloth_def ball = cloth_def("ball", cells, cells);
  ball.stiffness = 30.0;
  ball.bend_stiffness = 0.1;
  assert_ok(kp_world_add_cloth(world, &ball));
}

// Two balls that close on two sheets and part again: led so far that they would overlap, or free
// and heavy.
static void add_pinch(kp_world *world, int64_t cells, uint64_t seed) {
  static const double way[2][9] = { { 0, 0, 0, 0, 0.25, 0, 0, 0, 0 },
                                    { 0, 0, 0, 0, -0.25, 0, 0, 0, 0 } };
  for (int k = 0; k < 2; ++k) {
    kp_cloth_def sheet = cloth_def(k == 0 ? "lower" : "upper", cells, cells);
    sheet.width = sheet.height = 0.8;
    sheet.position = kp_vec3_make(0.03 * k, 0.04 * k, 0.02 * k);
    sheet.rotation_deg = kp_vec3_make(0.0, 20.0 * k, 0.0);
    assert_ok(kp_world_add_cloth(world, &sheet));
    kp_shape_def ball = kp_test_ball(kp_vec3_make(0.02, k == 0 ? -0.27 : 0.31, 0.01 * k), 0.2);
    if (seed % 2 == 0) {
      kp_collider_def led = kp_default_collider_def();
      snprintf(led.name, sizeof led.name, k == 0 ? "below" : "above");
      led.shape = ball;
      led.position = (kp_curve){ .components = 3, .n = 3, .interval = 0.25, .samples = way[k] };
      assert_ok(kp_world_add_collider(world, &led));
    } else {
      kp_body_def heavy = kp_default_body_def();
      snprintf(heavy.name, sizeof heavy.name, k == 0 ? "below" : "above");
      heavy.shape = ball;
      heavy.velocity = kp_vec3_make(0.0, k == 0 ? 2.0 : -2.0, 0.0);
      assert_ok(kp_world_add_body(world, &heavy));
    }
  }
}

static kp_vec3 any_turn(kp_test_random *random) {
  return kp_test_vec3(random, -180.0, 180.0);
}

// Six sheets, turned anyhow, fall into a box narrower than they are.
static void add_box(kp_world *world, int64_t cells, uint64_t seed) {
  kp_test_random random = kp_test_random_begin(seed + 1000);
  for (int k = 0; k < 6; ++k) {
    char name[16];
    snprintf(name, sizeof name, "sheet-%d", k);
    kp_cloth_def sheet = cloth_def(name, cells, cells);
    sheet.width = sheet.height = 0.28;
    sheet.rotation_deg = any_turn(&random);
    sheet.position = kp_vec3_make(0.0, -0.1 + 0.41 * k, 0.0);
    sheet.velocity = kp_vec3_make(0.0, -3.0 - 0.5 * k, 0.0);
    assert_ok(kp_world_add_cloth(world, &sheet));
  }
}

// Four sheets from four sides, turned anyhow, meet in the middle.
static void add_throw(kp_world *world, int64_t cells, uint64_t seed) {
  kp_test_random random = kp_test_random_begin(seed + 2000);
  for (int k = 0; k < 4; ++k) {
    char name[16];
    snprintf(name, sizeof name, "sheet-%d", k);
    kp_cloth_def sheet = cloth_def(name, cells, cells);
    sheet.width = sheet.height = 0.5;
    sheet.rotation_deg = any_turn(&random);
    sheet.position =
        kp_vec3_make(k & 1 ? 0.4 : -0.4, k & 2 ? 0.4 : -0.4, k == 1 || k == 2 ? 0.4 : -0.4);
    sheet.velocity =
        kp_vec3_add(kp_vec3_scale(sheet.position, -10.0), kp_test_vec3(&random, -1.0, 1.0));
    assert_ok(kp_world_add_cloth(world, &sheet));
  }
}

kp_world *kp_tangle_world(const kp_tangle *s) {
  double side = s->kind == KP_BOX ? 0.12 : 3.0;
  double low = s->kind == KP_BOX ? -0.3 : -3.0;
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(-side, low, -side), kp_vec3_make(side, 3, side));
  bool falls = s->kind == KP_HAMMOCK || s->kind == KP_BOX;
  settings.backend = s->backend;
  settings.simulation.dt_max = 1.0 / 60.0;
  settings.simulation.gravity = kp_vec3_make(0.0, falls ? -9.81 : 0.0, 0.0);
  kp_world *world = kp_test_world(&settings);
  assert_ok(kp_world_set_solids(world, &s->solids));
  switch (s->kind) {
  case KP_HAMMOCK:
    add_hammock(world, s->cells);
    break;
  case KP_TWIST:
    add_twist(world, s->cells);
    break;
  case KP_CRUSH:
    add_crush(world, s->cells);
    break;
  case KP_PINCH:
    add_pinch(world, s->cells, s->seed);
    break;
  case KP_BOX:
    add_box(world, s->cells, s->seed);
    break;
  case KP_THROW:
    add_throw(world, s->cells, s->seed);
    break;
  }
  assert_ok(kp_world_build(world));
  return world;
}

int64_t kp_tangle_count(kp_deform *d) {
  const double *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
    for (int64_t i = 0; i < d->set->space->n; ++i) {
      assert_true(isfinite(x[c][i]));
    }
  }
  kp_triangle_soup soup = { x[0], x[1], x[2], d->triangles.data[0].v, (kp_index)d->n_triangles };
  kp_intersections met;
  assert_ok(kp_soup_count(&soup, &met));
  return met.count;
}

// Velocities to the middle with waves that fold.
static void implode(kp_deform *d) {
  kp_real *v[3];
  const double *x[3];
  for (int c = 0; c < 3; ++c) {
    v[c] = kp_buffer_host(&d->set->velocity->buffers[c], KP_ACCESS_WRITE);
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    double wave = sin(23.0 * x[0][i]) * cos(17.0 * x[2][i] + 1.0);
    v[0][i] = (kp_real)(-5.0 * x[0][i]);
    v[1][i] = (kp_real)(2.5 * wave);
    v[2][i] = (kp_real)(-5.0 * x[2][i]);
  }
}

// Free nodes a little elsewhere, by 1 nm to 0.1 mm: what grows out of it is another run.
static void disturb(kp_deform *d, uint64_t seed) {
  kp_test_random random = kp_test_random_begin(seed);
  double size = pow(10.0, kp_test_uniform(&random, -9.0, -4.0));
  const uint8_t *hold = kp_buffer_host(&d->hold, KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    double *x = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < d->set->space->n; ++i) {
      x[i] += hold[i] == 0 ? kp_test_uniform(&random, -size, size) : 0.0;
    }
  }
}

kp_tangle_outcome kp_tangle_run(const kp_tangle *s, bool look) {
  kp_world *world = kp_tangle_world(s);
  kp_deform *d = kp_test_deform(world);
  kp_tangle_outcome out = { .first = -1, .lowest = HUGE_VAL, .highest = -HUGE_VAL };
  if (s->kind == KP_CRUSH) {
    implode(d);
  }
  if (s->seed != 0) {
    disturb(d, s->seed);
  }
  for (int64_t k = 0; k < s->steps; ++k) {
    double begin = kp_time_now();
    kp_test_steps(world, 1);
    out.total += kp_time_now() - begin;
    out.inner_steps += d->inner_steps;
    if (look) {
      out.intersections += kp_tangle_count(d);
      out.first = out.first < 0 && out.intersections > 0 ? k : out.first;
    }
  }
  if (d->meet.contact != NULL) {
    const kp_contact_report *told = kp_contact_told(d->meet.contact);
    out.collisions = told->n_collisions;
    out.zones = told->n_zones;
    out.largest_zone = told->largest_zone;
    out.rounds = told->n_rounds;
    out.pieces = told->n_pieces;
    out.late = told->n_late;
    out.find = told->find;
    out.repulse = told->repulse;
    out.part = told->boxes + told->traversal + told->apply;
  }
  out.time = kp_world_time(world);
  const double *y = kp_buffer_host(&d->set->position->buffers[1], KP_ACCESS_READ);
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    out.lowest = kp_test_least(out.lowest, y[i]);
    out.highest = kp_test_most(out.highest, y[i]);
  }
  kp_world_destroy(&world);
  return out;
}

kp_tangle kp_tangle_make(kp_tangle_kind kind, int64_t cells, int64_t steps) {
  return (kp_tangle){ kind, cells, steps, kp_default_solids_def(), "cpu", 0 };
}
