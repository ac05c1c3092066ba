// Smoke: sources, fading and cooling against their closed forms, buoyancy, the divergence that is
// left, fire and its books, confinement, and the same bits on every road.
#include <math.h>
#include <string.h>

#include "methods/smoke/smoke.h"

#include "support/claims.h"
#include "support/gases.h"
#include "support/media.h"

typedef struct room {
  int dimension;
  kp_vec3 size;
  double cell;
  bool open;
  double dt;  // NaN: adaptive
  const char *backend;
} room;

static room small_room(void) {
  return (room){ .dimension = 3,
                 .size = { 0.8, 1.0, 0.6 },
                 .cell = 0.05,
                 .open = false,
                 .dt = 0.02,
                 .backend = "cpu" };
}

static kp_world *make_room(const room *r) {
  kp_test_settings s = kp_test_settings_make(r->dimension, kp_vec3_make(0.0, 0.0, 0.0), r->size);
  s.backend = r->backend;
  s.simulation.dt = r->dt;
  s.simulation.dt_max = 1.0;
  s.domain.boundary_x = r->open ? KP_BOUNDARY_OPEN : KP_BOUNDARY_CLOSED;
  s.domain.boundary_z = s.domain.boundary_x;
  s.domain.open_top = r->open;
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = r->cell;
  grid.tolerance = 1e-5;
  assert_ok(kp_world_set_grid(world, &grid));
  return world;
}

static kp_smoke_def gas_def(void) {
  kp_smoke_def def = kp_default_smoke_def();
  strcpy(def.name, "gas");
  def.empty = true;
  return def;
}

static kp_source_def source_def(kp_shape_def shape) {
  kp_source_def def = kp_default_source_def();
  strcpy(def.name, "source");
  strcpy(def.into, "gas");
  def.shape = shape;
  return def;
}

// Sum over the cells of the domain, without ghosts, times their volume; and the mean height.
static double integral(kp_world *world, const char *field, double *height) {
  kp_gas *gas = kp_test_gas(world);
  const kp_mac_view *g = &gas->flow.mac->view;
  double *values = kp_test_field(world, "gas.grid", field, 0);
  double sum = 0.0;
  double moment = 0.0;
  for (int32_t k = 0; k < g->n[2]; ++k) {
    for (int32_t j = 0; j < g->n[1]; ++j) {
      for (int32_t i = 0; i < g->n[0]; ++i) {
        double value = values[kp_mac_at(g, i, j, k)];
        sum += value;
        moment += value * (g->lo[1] + (j + 0.5) * g->cell);
      }
    }
  }
  kp_free(values);
  if (height != NULL) {
    *height = sum > 0.0 ? moment / sum : 0.0;
  }
  return sum * pow(g->cell, g->dimension);
}

// ---- sources

static void test_rates_fill_the_shape(void **state) {
  (void)state;
  room r = small_room();
  kp_world *world = make_room(&r);
  kp_smoke_def def = gas_def();
  def.lift = 0.0;
  kp_source_def source =
      source_def(kp_test_box(kp_vec3_make(0.2, 0.2, 0.2), kp_vec3_make(0.5, 0.6, 0.4)));
  source.density_rate = 3.0;
  source.start = 0.05;
  source.stop = 0.15;
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_add_source(world, &source));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 12);
  // 0.3 x 0.4 x 0.2 m^3 for 0.1 s; a source that starts inside a step counts for its part of it
  assert_near_relative(integral(world, "density", NULL), 3.0 * 0.1 * 0.024, 1e-5);
  kp_world_destroy(&world);
}

static void test_moving_source(void **state) {
  (void)state;
  room r = small_room();
  kp_world *world = make_room(&r);
  kp_smoke_def def = gas_def();
  def.lift = 0.0;
  kp_source_def source = source_def(kp_test_ball(kp_vec3_make(0.0, 0.0, 0.0), 0.1));
  static const double path[] = { 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.4, 0.3, 0.3, 0.5, 0.3, 0.3 };
  source.position = (kp_curve){ .components = 3, .n = 4, .interval = 0.1, .samples = path };
  source.density = 2.0;
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_add_source(world, &source));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 16);
  kp_gas *gas = kp_test_gas(world);
  const kp_mac_view *g = &gas->flow.mac->view;
  double *density = kp_test_field(world, "gas.grid", "density", 0);
  // held where it was and where it is, nothing elsewhere
  assert_near(density[kp_mac_at(g, 4, 6, 6)], 2.0, 1e-5);
  assert_near(density[kp_mac_at(g, 9, 6, 6)], 2.0, 1e-5);
  assert_near(density[kp_mac_at(g, 7, 12, 6)], 0.0, 1e-12);
  kp_free(density);
  kp_world_destroy(&world);
}

// ---- what happens in a cell

static void test_fading_and_cooling(void **state) {
  (void)state;
  room r = small_room();
  kp_world *world = make_room(&r);
  kp_smoke_def def = gas_def();
  def.lift = 0.0;
  def.empty = false;
  def.shape = kp_test_box(kp_vec3_make(-1.0, -1.0, -1.0), kp_vec3_make(2.0, 2.0, 2.0));
  def.density = 2.0;
  def.temperature = 1500.0;
  def.dissipation = 1.5;
  def.cooling = 0.8;
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 25);
  double *density = kp_test_field(world, "gas.grid", "density", 0);
  double *temperature = kp_test_field(world, "gas.grid", "temperature", 0);
  int64_t at = kp_mac_at(&kp_test_gas(world)->flow.mac->view, 3, 3, 3);
  assert_near_relative(density[at], 2.0 * exp(-1.5 * 0.5), 1e-5);
  assert_near_relative(temperature[at], 293.0 + 1207.0 * exp(-0.8 * 0.5), 1e-5);
  kp_free(density);
  kp_free(temperature);
  kp_world_destroy(&world);
}

// ds/dt = -c s^4 has s = s0 (1 + 3 c s0^3 t)^(-1/3): in one long step as in many.
static void test_radiation_is_exact(void **state) {
  (void)state;
  for (int n = 1; n <= 16; n *= 16) {
    room r = small_room();
    r.dt = 0.8 / n;
    kp_world *world = make_room(&r);
    kp_smoke_def def = gas_def();
    def.lift = 0.0;
    def.empty = false;
    def.shape = kp_test_box(kp_vec3_make(-1.0, -1.0, -1.0), kp_vec3_make(2.0, 2.0, 2.0));
    def.temperature = 1700.0;
    def.radiation = 3000.0;
    assert_ok(kp_world_add_smoke(world, &def));
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 0.8, NULL));
    double *temperature = kp_test_field(world, "gas.grid", "temperature", 0);
    double range = 2000.0 - 293.0;
    double s = (1700.0 - 293.0) / range;
    double c = 3000.0 / range;
    double exact = 293.0 + range * s / cbrt(1.0 + 3.0 * c * s * s * s * 0.8);
    int64_t at = kp_mac_at(&kp_test_gas(world)->flow.mac->view, 2, 5, 2);
    assert_near_relative(temperature[at], exact, 1e-5);
    kp_free(temperature);
    kp_world_destroy(&world);
  }
}

// ---- motion

// Gas that is warm all through a closed room has nowhere to rise to.
static void test_even_warmth_is_still(void **state) {
  (void)state;
  room r = small_room();
  kp_world *world = make_room(&r);
  kp_smoke_def def = gas_def();
  def.empty = false;
  def.shape = kp_test_box(kp_vec3_make(-1.0, -1.0, -1.0), kp_vec3_make(2.0, 2.0, 2.0));
  def.temperature = 393.0;
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 20);
  assert_true(kp_test_stats(world, "gas").max_speed < 1e-3 * sqrt(9.81 * 1.0));
  kp_world_destroy(&world);
}

static kp_world *make_centred_plume(const char *backend, double centering) {
  room r = small_room();
  r.backend = backend;
  r.open = true;
  kp_world *world = make_room(&r);
  world->spec.grid.centering = centering;
  kp_smoke_def def = gas_def();
  def.confinement = 1.0;
  def.cooling = 0.2;
  kp_source_def source = source_def(kp_test_ball(kp_vec3_make(0.4, 0.15, 0.3), 0.12));
  source.density = 1.0;
  source.temperature = 373.0;
  source.noise = 0.3;
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_add_source(world, &source));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *make_plume(const char *backend) {
  return make_centred_plume(backend, 1.0);
}

static kp_world *make_eager_plume(const char *backend) {
  return make_centred_plume(backend, 0.55);
}

static void test_plume_rises(void **state) {
  (void)state;
  kp_world *world = make_plume("cpu");
  kp_test_steps(world, 2);
  double before;
  integral(world, "density", &before);
  kp_test_steps(world, 34);
  double after;
  double smoke = integral(world, "density", &after);
  assert_true(after > before + 0.1);
  assert_true(smoke > 0.0);
  // what the projection leaves is what its tolerance allows
  kp_gas *gas = kp_test_gas(world);
  double worst;
  assert_ok(kp_flow_divergence(&gas->flow, NULL, &worst));
  double fastest = kp_test_stats(world, "gas").max_speed;
  // no faster than free rise over the height of the room
  double free_rise = sqrt(2.0 * 9.81 / 293.0 * 80.0 * 1.0);
  assert_true(fastest > 0.5 && fastest < free_rise);
  double divergence = worst * gas->flow.mac->view.cell / fastest;
  assert_true(divergence < 10.0 * 1e-5);
  kp_claim claim = { .id = "selle-S14",
                     .text = "a warm plume rises without divergence, no faster than free rise",
                     .size = "16x20x12 cells" };
  kp_claim_all(&claim,
               { "divergence of cells times their edge, of the speed", divergence, KP_LESS, 1e-4 },
               { "largest speed over that of free rise", fastest / free_rise, KP_LESS, 1.0 },
               { "largest speed, m/s", fastest, KP_MORE, 0.5 },
               { "way up of the middle of the smoke, m", after - before, KP_MORE, 0.1 });
  kp_world_destroy(&world);
}

static void test_same_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_plume, 6);
  kp_test_same_bits(make_eager_plume, 6);
}

// ---- fire

static kp_world *make_flame(const char *backend, bool open, double expansion) {
  room r = small_room();
  r.backend = backend;
  r.open = open;
  kp_world *world = make_room(&r);
  kp_smoke_def def = gas_def();
  def.burn_rate = 2.0;
  def.heat = 1500.0;
  def.expansion = expansion;
  def.radiation = 2000.0;
  kp_source_def source =
      source_def(kp_test_box(kp_vec3_make(0.3, 0.1, 0.2), kp_vec3_make(0.5, 0.2, 0.4)));
  source.fuel_rate = 4.0;
  source.temperature = 900.0;
  source.stop = 0.3;
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_add_source(world, &source));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *make_open_flame(const char *backend) {
  return make_flame(backend, true, 3.0);
}

static void test_fuel_balances(void **state) {
  (void)state;
  kp_world *world = make_flame("cpu", true, 3.0);
  double worst = 0.0;
  for (int n = 0; n < 10; ++n) {
    kp_test_steps(world, 2);
    const double *books = kp_test_gas(world)->books;
    double left = integral(world, "fuel", NULL);
    double off = books[KP_SMOKE_EMITTED] - books[KP_SMOKE_BURNT] - books[KP_SMOKE_GONE] - left;
    worst = kp_test_most(worst, fabs(off) / books[KP_SMOKE_EMITTED]);
  }
  const double *books = kp_test_gas(world)->books;
  assert_true(books[KP_SMOKE_BURNT] > 0.2 * books[KP_SMOKE_EMITTED]);
  assert_true(fabs(books[KP_SMOKE_GONE]) < 1e-6 * books[KP_SMOKE_EMITTED]);
  // 0.2 x 0.1 x 0.2 m^3 at 4/s for 0.3 s: known without the books
  assert_near_relative(books[KP_SMOKE_EMITTED], 4.0 * 0.3 * 0.004, 1e-5);
  kp_claim_at_most(&(kp_claim){ .id = "kelpie-fire-fuel",
                                .text = "fuel emitted less burnt less left, of emitted",
                                .size = "flame with expansion 3, 16x20x12 cells, 20 steps",
                                .figure = worst,
                                .threshold = 1e-4 });
  assert_true(worst < 1e-4);
  double made = books[KP_SMOKE_OPENED];
  double wanted = (3.0 - 1.0) * books[KP_SMOKE_BURNT];
  kp_claim_at_most(&(kp_claim){ .id = "selle-S24",
                                .text = "integral of divergence off burnt volume times "
                                        "(expansion - 1)",
                                .size = "flame with expansion 3, 16x20x12 cells, 20 steps",
                                .figure = fabs(made / wanted - 1.0),
                                .threshold = 0.01 });
  assert_near_relative(made, wanted, 0.01);
  kp_world_destroy(&world);
}

// Even fuel in a hot room: what is burnt follows from the rate alone, and heat and soot from it.
static void test_fuel_burns_at_its_rate(void **state) {
  (void)state;
  const double rates[] = { 0.5, 2.0 };
  for (size_t n = 0; n < sizeof rates / sizeof rates[0]; ++n) {
    room r = small_room();
    kp_world *world = make_room(&r);
    kp_smoke_def def = gas_def();
    def.burn_rate = rates[n];
    def.heat = 1500.0;
    def.soot = 0.7;
    def.empty = false;
    def.shape = kp_test_box(kp_vec3_make(-1.0, -1.0, -1.0), kp_vec3_make(2.0, 2.0, 2.0));
    def.density = 0.2;
    def.fuel = 1.0;
    def.temperature = 900.0;
    assert_ok(kp_world_add_smoke(world, &def));
    assert_ok(kp_world_build(world));
    kp_test_steps(world, 10);
    double burnt = rates[n] * 10.0 * r.dt;
    double volume = r.size.x * r.size.y * r.size.z;
    assert_near_relative(integral(world, "fuel", NULL), (1.0 - burnt) * volume, 1e-4);
    assert_near_relative(integral(world, "flame", NULL), rates[n] * volume, 1e-4);
    assert_near_relative(integral(world, "density", NULL), (0.2 + 0.7 * burnt) * volume, 1e-4);
    double heat = integral(world, "temperature", NULL);
    assert_near_relative(heat, (900.0 + 1500.0 * burnt) * volume, 1e-4);
    kp_world_destroy(&world);
  }
}

// Nothing burns below the ignition temperature; fuel goes along as it is.
static void test_cold_fuel_stays(void **state) {
  (void)state;
  room r = small_room();
  kp_world *world = make_room(&r);
  kp_smoke_def def = gas_def();
  def.burn_rate = 5.0;
  def.empty = false;
  def.shape = kp_test_ball(kp_vec3_make(0.4, 0.5, 0.3), 0.15);
  def.fuel = 1.0;
  def.temperature = 500.0;  // below ignition, above the surroundings: it rises
  assert_ok(kp_world_add_smoke(world, &def));
  assert_ok(kp_world_build(world));
  double start = integral(world, "fuel", NULL);
  kp_test_steps(world, 15);
  assert_near_relative(integral(world, "fuel", NULL), start, 1e-5);
  assert_true(kp_test_gas(world)->books[KP_SMOKE_BURNT] == 0.0);
  kp_world_destroy(&world);
}

// A gas whose step its speed bounds takes a frame in one, unless the scene names a longest step.
static void test_longest_step(void **state) {
  (void)state;
  static const struct {
    double most;
    int64_t steps;
  } cases[] = { { KP_AUTO, 1 }, { 0.01, 5 } };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0));
    s.simulation.dt_max = cases[k].most;
    kp_world *world = kp_test_world(&s);
    kp_smoke_def def = gas_def();
    assert_ok(kp_world_add_smoke(world, &def));
    assert_ok(kp_world_build(world));
    kp_step_report report;
    assert_ok(kp_world_advance(world, 1.0 / 24.0, &report));
    assert_int_equal(report.steps, cases[k].steps);
    kp_world_destroy(&world);
  }
}

static void test_flame_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_open_flame, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rates_fill_the_shape),
    cmocka_unit_test(test_moving_source),
    cmocka_unit_test(test_fading_and_cooling),
    cmocka_unit_test(test_radiation_is_exact),
    cmocka_unit_test(test_even_warmth_is_still),
    cmocka_unit_test(test_plume_rises),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_fuel_balances),
    cmocka_unit_test(test_fuel_burns_at_its_rate),
    cmocka_unit_test(test_cold_fuel_stays),
    cmocka_unit_test(test_longest_step),
    cmocka_unit_test(test_flame_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
