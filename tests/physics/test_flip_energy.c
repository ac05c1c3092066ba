// What FLIP, APIC and a narrow band keep of their energy at default settings: a vortex in a closed
// box, Taylor-Green vortices against the exact decay, a tank that sloshes.
#include <math.h>
#include <stdio.h>

#include "methods/flip/flip.h"

#include "support/claims.h"
#include "support/media.h"

#define PI 3.14159265358979323846
#define GRAVITY 9.81
#define CELLS 64

typedef struct way {
  const char *name;
  int transfer;
  double band;  // cells
} way;

static const way ways[] = {
  { "FLIP", KP_FLIP_BLEND, 0.0 },
  { "APIC", KP_FLIP_AFFINE, 0.0 },
  { "band", KP_FLIP_BLEND, 3.0 },
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

static kp_flip *flip_of(const kp_world *world) {
  return kp_test_system(world, &kp_flip_method);
}

static void set_up(kp_world *world, const way *w, double cell, double centering) {
  kp_grid_def grid = kp_default_grid_def();
  kp_flip_def flip = kp_default_flip_def();
  grid.cell = cell;
  grid.centering = centering > 0.0 ? centering : grid.centering;
  flip.transfer = w->transfer;
  flip.band = w->band;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_flip(world, &flip));
}

// ---- vortices in a full box ---------------------------------------------------------------------

typedef struct box {
  double wave;  // rad/m
  double viscosity;
  double centering;  // 0: by default
  double longest;    // s, of steps; 0: by default
  bool is_periodic;
} box;

static kp_world *make_box(const way *w, const box *b) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt_max = b->longest > 0.0 ? b->longest : s.simulation.dt_max;
  if (b->is_periodic) {
    s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
    s.domain.boundary_y = KP_BOUNDARY_PERIODIC;
  }
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", s.domain.min, s.domain.max, 0.5 / CELLS);
  water.method = KP_LIQUID_FLIP;
  water.rest_density = 1.0;
  water.viscosity = b->viscosity;
  set_up(world, w, 1.0 / CELLS, b->centering);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_flip *flip = flip_of(world);
  kp_set *set = flip->liquids.data[0].medium.set;
  const kp_pos *x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ);
  const kp_pos *y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ);
  kp_real *u = kp_buffer_host(&set->velocity->buffers[0], KP_ACCESS_WRITE);
  kp_real *v = kp_buffer_host(&set->velocity->buffers[1], KP_ACCESS_WRITE);
  for (int64_t p = 0; p < set->space->n; ++p) {
    u[p] = (kp_real)(sin(b->wave * x[p]) * cos(b->wave * y[p]));
    v[p] = (kp_real)(-cos(b->wave * x[p]) * sin(b->wave * y[p]));
  }
  flip->liquids.data[0].medium.max_speed = 1.0;
  return world;
}

// Of the grid, per mass: mean velocities of cells.
static double grid_energy(kp_world *world) {
  const kp_flow *flow = &flip_of(world)->flow;
  const kp_mac_view *g = &flow->mac->view;
  const kp_real *u = kp_buffer_host(&flow->velocity->buffers[0], KP_ACCESS_READ);
  const kp_real *v = kp_buffer_host(&flow->velocity->buffers[1], KP_ACCESS_READ);
  double sum = 0.0;
  for (int j = 0; j < g->n[1]; ++j) {
    for (int i = 0; i < g->n[0]; ++i) {
      int64_t at = kp_mac_at(g, i, j, 0);
      double a = 0.5 * ((double)u[at] + (double)u[at + 1]);
      double b = 0.5 * ((double)v[at] + (double)v[at + g->row]);
      sum += 0.5 * (a * a + b * b);
    }
  }
  return sum / (g->n[0] * g->n[1]);
}

static double energy_left(const way *w, const box *b, double seconds) {
  kp_world *world = make_box(w, b);
  kp_test_steps(world, 1);
  double start = grid_energy(world);
  assert_ok(kp_world_advance(world, seconds, NULL));
  double left = grid_energy(world) / start;
  kp_world_destroy(&world);
  return left;
}

// Two turnovers. Pressure that acts after the motion alone takes |dt grad p|^2 / 2 with it, a tenth
// by steps of 0.01 s and a quarter by those of CFL 2.
static void closed_boxes_keep_their_vortex(void **state) {
  (void)state;
  const box usual = { .wave = PI };
  const box swift = { .wave = PI, .longest = 1.0 };
  const box late = { .wave = PI, .centering = 1.0 };
  double left[N_WAYS];
  double by_long[N_WAYS];
  for (int n = 0; n < N_WAYS; ++n) {
    left[n] = energy_left(&ways[n], &usual, 2.0);
    by_long[n] = energy_left(&ways[n], &swift, 2.0);
    print_message("%s: energy left %.4f, by steps of CFL 2 alone %.4f\n", ways[n].name, left[n],
                  by_long[n]);
  }
  double without = energy_left(&ways[0], &late, 2.0);
  print_message("FLIP with centering 1: %.4f\n", without);
  assert_true(without < left[0] - 0.05);
  kp_claim claim = { .id = "kelpie-flip-vortex",
                     .text = "energy of a vortex in a closed box after two turnovers",
                     .size = "2D, 64 x 64 cells, default settings" };
  kp_claim_status status = kp_claim_all(
      &claim, { "share kept by FLIP", left[0], KP_AT_LEAST, 0.96 },
      { "the same by steps of CFL 2", by_long[0], KP_AT_LEAST, 0.96 },
      { "share kept by APIC", left[1], KP_AT_LEAST, 0.96 },
      { "the same by steps of CFL 2", by_long[1], KP_AT_LEAST, 0.96 },
      { "share kept in a narrow band", left[2], KP_AT_LEAST, 0.96 },
      { "the same by steps of CFL 2", by_long[2], KP_AT_LEAST, 0.96 },
      { "most of all", fmax(fmax(left[0], left[1]), fmax(left[2], by_long[2])), KP_AT_MOST, 1.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

static void vortices_decay_as_viscosity_says(void **state) {
  (void)state;
  const double viscosity = 0.01;
  double worst = 0.0;
  for (int n = 0; n < 2 * N_WAYS; ++n) {
    const box b = { .wave = 2.0 * PI,
                    .viscosity = viscosity,
                    .is_periodic = true,
                    .longest = n < N_WAYS ? 0.0 : 1.0 };
    double rate = -log(energy_left(&ways[n % N_WAYS], &b, 1.0));
    double off = rate / (4.0 * viscosity * b.wave * b.wave) - 1.0;
    print_message("%s%s: rate of decay off by %+.4f\n", ways[n % N_WAYS].name,
                  n < N_WAYS ? "" : ", CFL 2", off);
    worst = kp_test_most(worst, fabs(off));
  }
  kp_claim claim = { .id = "kelpie-flip-taylor-green",
                     .text = "rate of decay of Taylor-Green vortices by FLIP, APIC and a band",
                     .size = "2D, 64 x 64 cells, Re 100, default settings, and CFL 2 alone",
                     .figure = worst,
                     .threshold = 0.02 };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
}

// ---- a tank -------------------------------------------------------------------------------------

#define WIDTH 1.0
#define DEPTH 0.4
#define SPEED 0.4  // m/s of all of the water at the start

// Its peak of kinetic energy around two periods over the first.
static double slosh_left(const way *w) {
  const double cell = WIDTH / 48;
  double k = PI / WIDTH;
  double period = 2.0 * PI / sqrt(GRAVITY * k * tanh(k * DEPTH));
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(WIDTH, 1, 0));
  s.simulation.gravity = kp_vec3_make(0, -GRAVITY, 0);
  s.simulation.dt_max = 0.01;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(WIDTH, DEPTH, 0), 0.5 * cell);
  water.method = KP_LIQUID_FLIP;
  water.viscosity = 0.0;
  water.velocity = kp_vec3_make(SPEED, 0, 0);
  set_up(world, w, cell, 0.0);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  double first = 0.0;
  double last = 0.0;
  while (kp_world_time(world) < 2.25 * period) {
    assert_ok(kp_world_advance(world, period / 48.0, NULL));
    double energy = kp_test_stats(world, "water").kinetic_energy;
    double turns = kp_world_time(world) / period;
    first = turns > 0.25 && turns < 0.75 ? fmax(first, energy) : first;
    last = turns > 1.75 ? fmax(last, energy) : last;
  }
  kp_world_destroy(&world);
  return last / first;
}

// Half of the whole pressure taken along lets waves grow by (omega dt)^2 / 2 of their energy in a
// step: FLIP kept 1.09 here. A narrow band gains in any case, by water that comes where a band
// needs particles: 1.10 with the pressure late.
static void tanks_gain_nothing(void **state) {
  (void)state;
  double left[N_WAYS];
  for (int n = 0; n < N_WAYS; ++n) {
    left[n] = slosh_left(&ways[n]);
    print_message("%s: sloshing keeps %.4f\n", ways[n].name, left[n]);
  }
  kp_claim claim = { .id = "kelpie-flip-slosh",
                     .text = "kinetic energy of a sloshing tank after 1.5 periods does not grow",
                     .size = "2D, 48 cells across, steps of 0.01 s" };
  kp_claim_status status =
      kp_claim_all(&claim, { "share kept by FLIP", left[0], KP_AT_MOST, 1.0 },
                   { "the same by APIC", left[1], KP_AT_MOST, 1.0 },
                   { "the same in a narrow band", left[2], KP_AT_MOST, 1.06 },
                   { "least of all", fmin(left[0], fmin(left[1], left[2])), KP_AT_LEAST, 0.85 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(closed_boxes_keep_their_vortex),
    cmocka_unit_test(vortices_decay_as_viscosity_says),
    cmocka_unit_test(tanks_gain_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
