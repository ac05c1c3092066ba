// What a gas carries is there after it was carried: sums of smoke, heat and fuel in closed and
// periodic rooms, past solids that move and through open sides, at the settings of a scene that
// says none; and that no value grows beyond those it came from.
#include <math.h>
#include <string.h>

#include "methods/smoke/smoke.h"
#include "par/parallel.h"
#include "run/rows.h"

#include "support/gases.h"
#include "support/media.h"

typedef struct room {
  int dimension;
  int side;  // kp_boundary across x and z
  bool open_top;
  double cell, seconds;
  bool conserve;
  kp_vec3 stream;  // m/s
} room;

static room closed_room(void) {
  return (room){
    .dimension = 3, .side = KP_BOUNDARY_CLOSED, .cell = 1.0 / 24.0, .seconds = 5.0, .conserve = true
  };
}

static kp_world *make_room(const room *r, const char *backend) {
  double depth = r->dimension == 2 ? 0.0 : 1.0;
  kp_test_settings s = kp_test_settings_make(r->dimension, kp_vec3_make(0.0, 0.0, 0.0),
                                             kp_vec3_make(1.0, 1.0, depth));
  s.backend = backend;
  s.simulation = kp_default_simulation_def();
  s.simulation.dt_max = 0.01;
  s.domain.boundary_x = r->side;
  s.domain.boundary_z = r->side;
  s.domain.open_top = r->open_top;
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = r->cell;
  grid.stream = r->stream;
  assert_ok(kp_world_set_grid(world, &grid));
  return world;
}

static kp_smoke_def ball_of_smoke(const room *r) {
  kp_smoke_def def = kp_default_smoke_def();
  strcpy(def.name, "gas");
  def.shape = kp_test_ball(kp_vec3_make(0.5, 0.3, r->dimension == 2 ? 0.0 : 0.5), 0.2);
  def.density = 1.0;
  def.temperature = 350.0;
  def.conserve = r->conserve;
  return def;
}

static double amount(kp_world *world, const char *name) {
  kp_population_stats stats = kp_test_stats(world, "gas");
  for (int a = 0; a < stats.n_amounts; ++a) {
    if (strcmp(stats.amounts[a].name, name) == 0) {
      return stats.amounts[a].value;
    }
  }
  return NAN;
}

typedef struct extremes {
  double least, most;
} extremes;

static extremes range_of(kp_world *world, const char *field) {
  kp_gas *gas = kp_test_gas(world);
  const kp_mac_view *g = &gas->flow.mac->view;
  double *values = kp_test_field(world, "gas.grid", field, 0);
  extremes out = { HUGE_VAL, -HUGE_VAL };
  for (int64_t n = 0; n < kp_mac_n_all(gas->flow.mac); ++n) {
    int64_t at = kp_mac_at(g, n % g->n[0], n / g->n[0] % g->n[1], n / g->n[0] / g->n[1]);
    out.least = fmin(out.least, values[at]);
    out.most = fmax(out.most, values[at]);
  }
  kp_free(values);
  return out;
}

static void run_for(kp_world *world, double seconds) {
  double end = kp_world_time(world) + seconds;
  while (kp_world_time(world) < end) {
    kp_test_steps(world, 1);
  }
}

// ---- closed

// Largest change of two sums in a run, of what they were.
static double worst_change(kp_world *world, double seconds) {
  double smoke = amount(world, "smoke");
  double heat = amount(world, "heat");
  double worst = 0.0;
  assert_true(smoke > 0.0);
  for (int n = 0; n < 5; ++n) {
    run_for(world, seconds / 5.0);
    double s = amount(world, "smoke") / smoke - 1.0;
    double h = amount(world, "heat") / heat - 1.0;
    print_message("  %.2f s: smoke %+.3f %%, heat %+.3f %%\n", kp_world_time(world), 100.0 * s,
                  100.0 * h);
    worst = fmax(worst, fmax(fabs(s), fabs(h)));
  }
  return worst;
}

static kp_world *make_ball(const room *r, const char *backend) {
  kp_world *world = make_room(r, backend);
  kp_smoke_def def = ball_of_smoke(r);
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_build(world));
  return world;
}

static void test_closed_box(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  room r = closed_room();
  kp_world *world = make_ball(&r, "cpu");
  assert_true(worst_change(world, r.seconds) < 0.01);
  extremes density = range_of(world, "density");
  extremes warmth = range_of(world, "temperature");
  print_message("  density %.9g to %.9g, temperature %.9g to %.9g\n", density.least, density.most,
                warmth.least, warmth.most);
  assert_true(density.least >= 0.0 && density.most <= 1.0 + 1e-5);
  assert_true(warmth.least >= 293.0 - 1e-3 && warmth.most <= 350.0 + 1e-3);
  kp_world_destroy(&world);
}

// Without the correction it is another scheme, which loses much more.
static void test_without_it_smoke_is_lost(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  room r = closed_room();
  r.conserve = false;
  r.cell = 1.0 / 16.0;
  kp_world *world = make_ball(&r, "cpu");
  assert_true(worst_change(world, 1.5) > 0.05);
  kp_world_destroy(&world);
}

static void test_periodic_layer(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  room r = closed_room();
  r.dimension = 2;
  r.side = KP_BOUNDARY_PERIODIC;
  r.cell = 1.0 / 32.0;
  kp_world *world = make_room(&r, "cpu");
  kp_smoke_def def = ball_of_smoke(&r);
  def.shape = kp_test_ball(kp_vec3_make(0.1, 0.3, 0.0), 0.2);
  def.velocity = kp_vec3_make(0.7, 0.0, 0.0);
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_build(world));
  assert_true(worst_change(world, 3.0) < 0.01);
  extremes density = range_of(world, "density");
  assert_true(density.least >= 0.0 && density.most <= 1.0 + 1e-5);
  kp_world_destroy(&world);
}

// ---- solids

static kp_world *make_stirred(const room *r, const char *backend) {
  kp_world *world = make_room(r, backend);
  kp_smoke_def def = ball_of_smoke(r);
  // to and fro through the smoke
  static const double path[] = { -0.05, 0.35, 0.5, 1.05, 0.35, 0.5, -0.05, 0.35, 0.5 };
  kp_collider_def ball = kp_default_collider_def();
  strcpy(ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0.0, 0.0, 0.0), 0.13);
  ball.position = (kp_curve){ .components = 3, .n = 3, .interval = 0.8, .samples = path };
  if (r->dimension == 2) {
    static const double flat[] = { -0.05, 0.35, 0.0, 1.05, 0.35, 0.0, -0.05, 0.35, 0.0 };
    ball.position.samples = flat;
  }
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_add_collider(world, &ball));
  assert_ok(kp_world_build(world));
  return world;
}

static void test_solids_that_move(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  for (int dimension = 2; dimension <= 3; ++dimension) {
    room r = closed_room();
    r.dimension = dimension;
    r.cell = dimension == 2 ? 1.0 / 40.0 : 1.0 / 20.0;
    // a ball that comes in needs somewhere for the air to go, far from the smoke
    r.open_top = true;
    kp_world *world = make_stirred(&r, "cpu");
    double smoke = amount(world, "smoke");
    run_for(world, 0.3);
    double early = amount(world, "smoke");
    run_for(world, 0.5);
    double late = amount(world, "smoke");
    extremes density = range_of(world, "density");
    print_message("  %dD: smoke %+.3f %%, %+.3f %%; density %.4g to %.4g\n", dimension,
                  100.0 * (early / smoke - 1.0), 100.0 * (late / smoke - 1.0), density.least,
                  density.most);
    assert_near_relative(early, smoke, 0.01);
    assert_near_relative(late, smoke, 0.01);
    assert_true(density.least >= 0.0 && density.most <= 1.0 + 1e-5);
    kp_world_destroy(&world);
  }
}

// ---- open sides

// Share of a disc of radius r that lies left of a line at distance d right of its middle.
static double share_left(double r, double d) {
  double c = fmin(fmax(d / r, -1.0), 1.0);
  return 1.0 - (acos(c) - c * sqrt(1.0 - c * c)) / 3.14159265358979323846;
}

static void test_what_leaves_is_gone(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  for (int way = -1; way <= 1; way += 2) {
    room r = closed_room();
    r.dimension = 2;
    r.side = KP_BOUNDARY_OPEN;
    r.cell = 1.0 / 40.0;
    r.stream = kp_vec3_make((double)way, 0.0, 0.0);
    kp_world *world = make_room(&r, "cpu");
    kp_smoke_def def = ball_of_smoke(&r);
    def.lift = def.weight = 0.0;
    assert_ok(kp_world_add_smoke(world, &def));
    assert_ok(kp_world_build(world));
    double smoke = amount(world, "smoke");
    double heat = amount(world, "heat");
    double worst = 0.0;
    while (kp_world_time(world) < 0.8) {
      kp_test_steps(world, 1);
      double left = share_left(0.2, 0.5 - kp_world_time(world));
      worst = fmax(worst, fabs(amount(world, "smoke") / smoke - left));
      worst = fmax(worst, fabs(amount(world, "heat") / heat - left));
    }
    print_message("  to the %s: off by %.4f at most, %.5f at the end\n", way < 0 ? "left" : "right",
                  worst, amount(world, "smoke") / smoke);
    // it passes the side no more than a cell early or late
    assert_true(worst < 2.0 * 0.2 * r.cell / (3.14159265 * 0.2 * 0.2));
    assert_true(fabs(amount(world, "smoke")) < 0.005 * smoke);
    kp_world_destroy(&world);
  }
}

// ---- what is made

static void test_what_is_fed_is_there(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  room r = closed_room();
  r.cell = 1.0 / 16.0;
  kp_world *world = make_room(&r, "cpu");
  kp_smoke_def def = ball_of_smoke(&r);
  def.empty = true;
  kp_source_def source = kp_default_source_def();
  strcpy(source.name, "vent");
  strcpy(source.into, "gas");
  source.shape = kp_test_box(kp_vec3_make(0.375, 0.125, 0.375), kp_vec3_make(0.625, 0.25, 0.625));
  source.density_rate = 2.0;
  source.temperature_rate = 300.0;
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_add_source(world, &source));
  assert_ok(kp_world_build(world));
  run_for(world, 2.0);
  double fed = kp_world_time(world) * 0.25 * 0.25 * 0.125;
  assert_near_relative(amount(world, "smoke"), 2.0 * fed, 1e-3);
  assert_near_relative(amount(world, "heat"), 300.0 * fed, 1e-3);
  kp_world_destroy(&world);
}

static kp_world *make_flame(const char *backend) {
  room r = closed_room();
  r.cell = 1.0 / 16.0;
  kp_world *world = make_room(&r, backend);
  kp_smoke_def def = ball_of_smoke(&r);
  def.density = 0.0;
  def.temperature = 700.0;
  def.fuel = 1.0;
  def.burn_rate = 0.5;
  def.heat = 500.0;
  def.soot = 0.7;
  def.lift = 0.01;
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_build(world));
  return world;
}

static void test_flames_leave_soot_and_heat(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  kp_world *world = make_flame("cpu");
  double fuel = amount(world, "fuel");
  double heat = amount(world, "heat");
  run_for(world, 1.5);
  double burnt = fuel - amount(world, "fuel");
  print_message("  burnt %.3f of the fuel\n", burnt / fuel);
  assert_true(burnt > 0.3 * fuel);
  assert_near_relative(kp_test_gas(world)->books[KP_SMOKE_BURNT], burnt, 1e-4);
  assert_near_relative(amount(world, "smoke"), 0.7 * burnt, 1e-3);
  assert_near_relative(amount(world, "heat"), heat + 500.0 * burnt, 1e-3);
  kp_world_destroy(&world);
}

// A gas that swells keeps its smoke, and its temperature: the heat grows with the volume.
static void test_swelling_thins_smoke_not_heat(void **state) {
  (void)state;
  kp_parallel_set_threads(1);
  room r = closed_room();
  r.dimension = 2;
  r.side = KP_BOUNDARY_OPEN;
  r.open_top = true;
  r.cell = 1.0 / 40.0;
  kp_world *world = make_room(&r, "cpu");
  kp_smoke_def def = ball_of_smoke(&r);
  def.shape = kp_test_ball(kp_vec3_make(0.5, 0.5, 0.0), 0.2);
  def.lift = def.weight = 0.0;
  kp_source_def source = kp_default_source_def();
  strcpy(source.name, "blast");
  strcpy(source.into, "gas");
  source.shape = kp_test_box(kp_vec3_make(0.1, 0.1, -1.0), kp_vec3_make(0.9, 0.9, 1.0));
  static const double strength[] = { 0.5, 0.5 };
  source.divergence = (kp_curve){ .components = 1, .n = 2, .interval = 10.0, .samples = strength };
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_add_source(world, &source));
  assert_ok(kp_world_build(world));
  double smoke = amount(world, "smoke");
  double heat = amount(world, "heat");
  run_for(world, 0.5);
  // the field that a step transports along is that of the projection before it: none at first
  double grown = exp(0.5 * kp_world_time(world));
  print_message("  smoke x %.4f, heat x %.4f (%.4f)\n", amount(world, "smoke") / smoke,
                amount(world, "heat") / heat, grown);
  assert_near_relative(amount(world, "smoke"), smoke, 1e-3);
  assert_near_relative(amount(world, "heat"), grown * heat, 0.01);
  kp_world_destroy(&world);
}

// ---- bits

static kp_world *make_ball_for_bits(const char *backend) {
  room r = closed_room();
  r.cell = 1.0 / 12.0;
  return make_ball(&r, backend);
}

static kp_world *make_stirred_for_bits(const char *backend) {
  room r = closed_room();
  r.cell = 1.0 / 12.0;
  r.open_top = true;
  return make_stirred(&r, backend);
}

static kp_world *make_flat_for_bits(const char *backend) {
  room r = closed_room();
  r.dimension = 2;
  r.side = KP_BOUNDARY_PERIODIC;
  r.cell = 1.0 / 24.0;
  return make_ball(&r, backend);
}

static void test_same_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_ball_for_bits, 20);
  kp_test_same_bits(make_stirred_for_bits, 20);
  kp_test_same_bits(make_flat_for_bits, 20);
  kp_test_same_bits(make_flame, 20);
}

// ---- columns

static void test_columns_of_amounts(void **state) {
  (void)state;
  kp_world *world = make_flame("cpu");
  kp_columns columns;
  assert_ok(kp_stats_columns(world, &columns));
  double values[64];
  assert_true(columns.names.count <= 64);
  const kp_frame_facts facts = { 0 };
  assert_ok(kp_stats_row(world, &facts, values));
  int found = 0;
  double volume = pow(1.0 / 16.0, 3.0);
  for (size_t c = 0; c < columns.names.count; ++c) {
    const char *name = columns.names.data[c];
    // the mass of the air is not that of the gas
    if (strcmp(name, "gas.mass") == 0) {
      assert_true(isnan(values[c]));
    }
    if (strcmp(name, "gas.air_mass") == 0) {
      assert_near_relative(values[c], 1.2, 1e-9);
      ++found;
    }
    if (strcmp(name, "gas.fuel") == 0 || strcmp(name, "gas.heat") == 0) {
      double of_cell = name[4] == 'f' ? 1.0 : 700.0 - 293.0;
      assert_near_relative(values[c] / of_cell, 4.18879 * 0.008, volume / 0.008);
      ++found;
    }
    found += strcmp(name, "gas.smoke") == 0 && values[c] == 0.0;
  }
  assert_int_equal(found, 4);
  kp_columns_free(&columns);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_closed_box),
    cmocka_unit_test(test_without_it_smoke_is_lost),
    cmocka_unit_test(test_periodic_layer),
    cmocka_unit_test(test_solids_that_move),
    cmocka_unit_test(test_what_leaves_is_gone),
    cmocka_unit_test(test_what_is_fed_is_there),
    cmocka_unit_test(test_flames_leave_soot_and_heat),
    cmocka_unit_test(test_swelling_thins_smoke_not_heat),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_columns_of_amounts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
