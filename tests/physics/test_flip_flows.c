// FLIP against things known: energy of a vortex under the transfers (Hong claim 16), the collapsing
// column of Martin & Moyce (1952), a box that floats, one pressure solve against that of particles.
#include <math.h>
#include <stdio.h>

#include "methods/flip/flip.h"
#include "methods/mps/mps.h"

#include "flip_flows_size.h"
#include "support/claims.h"
#include "support/columns.h"
#include "support/media.h"

#define GRAVITY 9.81
#define PI 3.14159265358979323846
#define SIZE flip_flows_size_chosen

static kp_flip *flip_of(const kp_world *world) {
  return kp_test_system(world, &kp_flip_method);
}

static kp_world *world_with(const kp_test_settings *s, const kp_flip_def *flip, double cfl,
                            kp_aabb box, double spacing) {
  kp_world *world = kp_test_world(s);
  kp_liquid_def water = kp_test_liquid("water", box.min, box.max, spacing);
  kp_grid_def grid = kp_default_grid_def();
  water.method = KP_LIQUID_FLIP;
  water.viscosity = 0.0;
  grid.cfl = cfl;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_flip(world, flip));
  assert_ok(kp_world_add_liquid(world, &water));
  return world;
}

// ---- energy -------------------------------------------------------------------------------------

static void vortex(double x, double y, double v[2]) {
  v[0] = sin(PI * x) * cos(PI * y);
  v[1] = -cos(PI * x) * sin(PI * y);
}

// A box of one metre full of water that turns.
typedef struct vortex_def {
  int cells, per_axis;  // particles of a cell along an axis
  double cfl;
  double centering;  // of the pressure; 0: by default
} vortex_def;

static kp_world *vortex_box(vortex_def v, const kp_flip_def *flip) {
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 1.0, 0.0));
  s.simulation.gravity = kp_vec3_make(0.0, 0.0, 0.0);
  kp_aabb box = { s.domain.min, s.domain.max };
  kp_world *world = world_with(&s, flip, v.cfl, box, 1.0 / (v.cells * v.per_axis));
  kp_grid_def grid = kp_default_grid_def();
  grid.cfl = v.cfl;
  grid.cell = 1.0 / v.cells;
  grid.centering = v.centering > 0.0 ? v.centering : grid.centering;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_build(world));
  kp_set *set = flip_of(world)->liquids.data[0].medium.set;
  const kp_pos *x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ);
  const kp_pos *y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ);
  kp_real *velocity[2];
  for (int c = 0; c < 2; ++c) {
    velocity[c] = kp_buffer_host(&set->velocity->buffers[c], KP_ACCESS_WRITE);
  }
  for (int64_t p = 0; p < set->space->n; ++p) {
    double w[2];
    vortex(x[p], y[p], w);
    velocity[0][p] = (kp_real)w[0];
    velocity[1][p] = (kp_real)w[1];
  }
  flip_of(world)->liquids.data[0].medium.max_speed = 1.0;
  return world;
}

// Of the grid, per mass.
static double grid_energy(kp_flow *flow) {
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

// Share of the energy left after 2 s, two turnovers of the box.
static double energy_left(vortex_def v, int transfer, double ratio) {
  kp_flip_def def = kp_default_flip_def();
  def.transfer = transfer;
  def.ratio = ratio;
  kp_world *world = vortex_box(v, &def);
  kp_test_steps(world, 1);
  double start = grid_energy(&flip_of(world)->flow);
  assert_ok(kp_world_advance(world, 2.0, NULL));
  double left = grid_energy(&flip_of(world)->flow) / start;
  kp_world_destroy(&world);
  return left;
}

// The same flow carried by semi-Lagrangian steps of the same length on the same grid.
static double energy_left_semi_lagrangian(int n) {
  kp_flip_def def = kp_default_flip_def();
  kp_world *world = vortex_box((vortex_def){ n, 2, 1.0, 0.0 }, &def);
  kp_flow *flow = &flip_of(world)->flow;
  kp_test_steps(world, 1);
  double start = grid_energy(flow);
  kp_advect_def how = kp_default_advect_def();
  how.scheme = KP_ADVECT_SEMI_LAGRANGIAN;
  kp_flow_projection plain = { 0 };
  int steps = 2 * n;  // CFL 1
  world->env.dt = 2.0 / steps;
  for (int s = 0; s < steps; ++s) {
    assert_ok(kp_flow_boundaries(flow, &world->env));
    assert_ok(kp_advect_velocity(&flow->advect, &how, flow->velocity, &flow->flags->buffers[0],
                                 world->env.dt));
    assert_ok(kp_flow_boundaries(flow, &world->env));
    assert_ok(kp_flow_project(flow, &world->env, &plain));
  }
  double left = grid_energy(flow) / start;
  kp_world_destroy(&world);
  return left;
}

// FLIP loses in two ways. Pressure that acts after the motion alone takes |dt grad p|^2 / 2 with
// it: a tenth in two turnovers by steps of 0.01 s, in proportion to dt (`grid.centering` 1). And
// the velocity that uneven particles give to a face is off by chance, anew in every step, of which
// the projection takes the divergent part: in proportion to the number of steps, less with more
// particles.
static void transfers_cost_energy_in_their_order(void **state) {
  (void)state;
  const int n = SIZE.vortex_cells;
  const vortex_def small = { 16, 2, 1.0, 0.0 };
  double pic = energy_left(small, KP_FLIP_BLEND, 0.0);
  double half = energy_left(small, KP_FLIP_BLEND, 0.9);
  double usual = energy_left(small, KP_FLIP_BLEND, 0.97);
  double coarse = energy_left(small, KP_FLIP_BLEND, 1.0);
  double affine = energy_left(small, KP_FLIP_AFFINE, 0.0);
  double long_steps = energy_left((vortex_def){ n, 2, 1.0, 0.0 }, KP_FLIP_BLEND, 1.0);
  double flip =
      SIZE.is_full ? energy_left((vortex_def){ n, 3, 0.25, 0.0 }, KP_FLIP_BLEND, 1.0) : 1.0;
  vortex_def usual_box = { n, 2, kp_default_grid_def().cfl, 0.0 };
  double plain = energy_left(usual_box, KP_FLIP_BLEND, kp_default_flip_def().ratio);
  usual_box.centering = 1.0;
  double late = energy_left(usual_box, KP_FLIP_BLEND, kp_default_flip_def().ratio);
  double sl = energy_left_semi_lagrangian(n);
  print_message("energy left: FLIP %.4f (CFL 1/4, 9 particles), %.4f (CFL 1, 4), %.4f by default, "
                "%.4f with the pressure late; SL %.4f\n",
                flip, long_steps, plain, late, sl);
  assert_true(pic < half && half < usual && usual < coarse);
  assert_true(affine > usual);
  assert_between(long_steps, 0.85, 1.02);
  assert_between(long_steps - sl, 0.1, 1.0);
  assert_between(plain, 0.9, 1.0);
  assert_between(flip, 0.95, 1.02);
  assert_true(late < plain - 0.04);
  if (!SIZE.is_full) {
    return;
  }
  kp_claim order = { .id = "hong-H7",
                     .text = "energy left grows from PIC to FLIP with the ratio of the transfers",
                     .size = "16 x 16 cells, two turnovers, ratios 0, 0.9, 0.97 and 1" };
  kp_claim_all(&order, { "least growth of the share of energy left",
                         fmin(half - pic, fmin(usual - half, coarse - usual)), KP_MORE, 0.0 });
  kp_claim claim = { .id = "hong-16-energy",
                     .text = "FLIP loses less energy of a vortex than semi-Lagrangian advection",
                     .size = "64 x 64 cells, two turnovers, default settings" };
  kp_claim_status status = kp_claim_all(
      &claim, { "share kept by FLIP less that by semi-Lagrangian", plain - sl, KP_AT_LEAST, 0.1 },
      { "share kept by FLIP", plain, KP_MORE, 0.95 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// ---- a column collapses -------------------------------------------------------------------------

#define CELLS 12  // across the column

// `sticks`: walls hold what touches them, and water has its viscosity and tension.
static kp_column_errors collapse(double a, int transfer, bool sticks) {
  kp_test_settings s = kp_test_settings_make(
      2, kp_vec3_make(0, 0, 0), kp_vec3_make(KP_COLUMN_LENGTH * a, KP_COLUMN_HEIGHT * a, 0));
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  kp_flip_def def = kp_default_flip_def();
  def.transfer = transfer;
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(a, 2.0 * a, 0), 0.5 * a / CELLS);
  water.method = KP_LIQUID_FLIP;
  water.viscosity = sticks ? 0.001 : 0.0;
  water.surface_tension = sticks ? 0.073 : 0.0;
  kp_grid_def grid = kp_default_grid_def();
  grid.cfl = 1.0;
  grid.no_slip = sticks;
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_flip(world, &def));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_flip *flip = flip_of(world);
  double z[KP_COLUMN_LOOKS] = { 1.0 };
  for (int k = 1; k < KP_COLUMN_LOOKS; ++k) {
    assert_ok(kp_world_advance(world, KP_COLUMN_INTERVAL / sqrt(2.0 * GRAVITY / a), NULL));
    z[k] = flip->liquids.data[0].medium.bounds.max.x / a;
  }
  kp_world_destroy(&world);
  return kp_column_errors_of(z, transfer == KP_FLIP_BLEND ? "flip" : "apic");
}

static void column_collapses_like_martin_and_moyce(void **state) {
  (void)state;
  kp_column_errors flip = collapse(KP_COLUMN_LARGE, KP_FLIP_BLEND, false);
  kp_column_errors apic = collapse(KP_COLUMN_LARGE, KP_FLIP_AFFINE, false);
  kp_claim claim = { .id = "kelpie-martin-moyce-flip",
                     .text = "front of the column of a = 2.25 inch, n^2 = 2, without friction",
                     .size = "12 cells across in 2D, 1 < T < 7, one lag up to T/2 fitted" };
  kp_claim_status status =
      kp_claim_all(&claim, { "slope or position by FLIP, off", flip.large, KP_AT_MOST, 0.1 },
                   { "the same by APIC", apic.large, KP_AT_MOST, 0.1 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  if (!SIZE.is_full) {
    return;
  }
  kp_column_errors small = collapse(KP_COLUMN_SMALL, KP_FLIP_BLEND, true);
  kp_column_errors large = collapse(KP_COLUMN_LARGE, KP_FLIP_BLEND, true);
  claim.id = "kelpie-martin-moyce-flip-small";
  claim.text = "front of the column of a = 1.125 inch, with friction, viscosity and tension";
  status =
      kp_claim_all(&claim, { "slope or position, off", small.small, KP_AT_MOST, 0.1 },
                   { "the same of a = 2.25 inch at these settings", large.large, KP_AT_MOST, 0.1 });
  assert_true(status != KP_CLAIM_REFUTED);
  // without friction the front of the small column is too fast
  assert_true(flip.small > 0.15);
}

// ---- a dam breaks onto an obstacle --------------------------------------------------------------

// The set-up of SPHERIC's benchmark 2, turned round: 0.55 m of water stand 1.1675 m from a box in a
// long tank, the wall behind them at x = 0. The front starts from rest and can never be faster than
// Ritter's 2 sqrt(g H), so its mean speed lies between sqrt(g H) and twice that.
#define DEPTH 0.55
#define DAM 1.228
#define BOX_FRONT 2.3955

static bool is_in_box(double x, double y, double z, kp_aabb box) {
  return x > box.min.x && x < box.max.x && y < box.max.y && z > box.min.z && z < box.max.z;
}

// Foremost water in front of the box, and the number of particles deeper in it than half a cell:
// the distance to solids is known at the corners of cells and rounds the edges of a box.
static double front_of(kp_flip *flip, kp_aabb box, double cell, int64_t *n_inside) {
  kp_set *set = flip->liquids.data[0].medium.set;
  const kp_pos *x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ);
  const kp_pos *y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ);
  const kp_pos *z = kp_buffer_host(&set->position->buffers[2], KP_ACCESS_READ);
  double skin = 0.5 * cell;
  kp_aabb core = { kp_vec3_add(box.min, kp_vec3_make(skin, 0.0, skin)),
                   kp_vec3_sub(box.max, kp_vec3_make(skin, skin, skin)) };
  double foremost = 0.0;
  *n_inside = 0;
  for (int64_t p = 0; p < set->space->n; ++p) {
    bool is_before = y[p] < box.max.y && z[p] > box.min.z && z[p] < box.max.z && x[p] < box.max.x;
    foremost = is_before ? fmax(foremost, x[p]) : foremost;
    *n_inside += is_in_box(x[p], y[p], z[p], core) ? 1 : 0;
  }
  return foremost;
}

static void dam_breaks_onto_an_obstacle(void **state) {
  (void)state;
  const double cell = 0.05;
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(3.2, 1.0, 1.0));
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  kp_flip_def def = kp_default_flip_def();
  kp_aabb water = { kp_vec3_make(0, 0, 0), kp_vec3_make(DAM, DEPTH, 1.0) };
  kp_world *world = world_with(&s, &def, 2.0, water, 0.5 * cell);
  kp_aabb box = { kp_vec3_make(BOX_FRONT, 0.0, 0.295),
                  kp_vec3_make(BOX_FRONT + 0.161, 0.161, 0.698) };
  kp_collider_def obstacle = kp_default_collider_def();
  snprintf(obstacle.name, sizeof obstacle.name, "obstacle");
  obstacle.shape = kp_test_box(kp_vec3_make(box.min.x, -0.1, box.min.z), box.max);
  assert_ok(kp_world_add_collider(world, &obstacle));
  assert_ok(kp_world_build(world));
  kp_flip *flip = flip_of(world);
  int64_t n = flip->liquids.data[0].medium.set->space->n;
  double volume = (double)n * pow(0.5 * cell, 3.0);
  double reached = HUGE_VAL;
  double lost = 0.0;
  int64_t most_inside = 0;
  for (int look = 1; look <= 48; ++look) {
    double time = 0.0125 * look;
    int64_t n_inside;
    kp_flip_volumes volumes;
    assert_ok(kp_world_advance(world, 0.0125, NULL));
    double foremost = front_of(flip, box, cell, &n_inside);
    most_inside = n_inside > most_inside ? n_inside : most_inside;
    reached = foremost >= BOX_FRONT - 0.5 * cell ? fmin(reached, time) : reached;
    assert_ok(kp_flip_measure(flip, &volumes));
    lost = kp_test_most(lost, fabs(volumes.volume / volume - 1.0));
  }
  assert_int_equal(flip->liquids.data[0].medium.set->space->n, n);
  assert_between(lost, 0.0, 0.03);
  double speed = (BOX_FRONT - DAM) / reached / sqrt(GRAVITY * DEPTH);
  kp_claim claim = {
    .id = "kelpie-dam-obstacle-flip",
    .text = "a breaking dam reaches a box no faster than Ritter's front, and flows around",
    .size = "64 x 20 x 20 cells, the box 3 x 3 x 8 cells"
  };
  kp_claim_status status = kp_claim_all(
      &claim,
      { "mean speed of the front over sqrt(g H), at most Ritter's", speed, KP_AT_MOST, 2.0 },
      { "the same, at least", speed, KP_AT_LEAST, 1.0 },
      { "change of the volume", lost, KP_AT_MOST, 0.03 },
      { "particles in the box", (double)most_inside, KP_AT_MOST, 0.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  print_message("the box is reached after %.4f s; volume within %.2f %%\n", reached, 100.0 * lost);
  kp_world_destroy(&world);
}

// ---- a box floats -------------------------------------------------------------------------------

// Archimedes: the draught of a box of density `share` times that of water, after some seconds.
static void check_draught(double share) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1.2, 0.8, 0));
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  kp_flip_def def = kp_default_flip_def();
  const double edge = 0.2;  // twice as wide: it floats upright
  const double width = 0.4;
  const double cell = 0.05;
  const double area = 1.2;
  kp_aabb box = { kp_vec3_make(0, 0, 0), kp_vec3_make(1.2, 0.4, 0) };
  kp_world *world = world_with(&s, &def, 1.0, box, 0.5 * cell);
  kp_body_def crate = kp_default_body_def();
  snprintf(crate.name, sizeof crate.name, "crate");
  double bottom = 0.4 - share * edge;
  crate.shape =
      kp_test_box(kp_vec3_make(0.45, bottom, -0.5), kp_vec3_make(0.45 + edge, bottom + edge, 0.5));
  crate.density = share * 1000.0;
  assert_ok(kp_world_add_body(world, &crate));
  assert_ok(kp_world_build(world));
  kp_flip *flip = flip_of(world);
  // water is where the box is not
  double n = (double)flip->liquids.data[0].medium.set->space->n;
  double water = n * 0.25 * cell * cell;
  double sum = 0.0;
  double tilt = 0.0;
  int looks = 0;
  for (int frame = 0; frame < 60; ++frame) {
    assert_ok(kp_world_advance(world, 0.05, NULL));
    kp_frame3 f = kp_bodies_frame(world->bodies, 0);
    if (frame >= 40) {
      sum += f.position.y - 0.5 * edge;
      tilt = kp_test_most(tilt, fabs(2.0 * f.orientation.z));
      ++looks;
    }
  }
  // level of the water with the box in it: area H = water + draught width
  double draught = share * edge;
  double level = (water + draught * width) / area;
  double is = level - sum / looks;
  assert_between(fabs(is - draught) / cell, 0.0, 1.0);
  assert_between(tilt, 0.0, 0.2);
  kp_claim claim = { .id = "kelpie-flip-archimedes",
                     .text = "draught of a floating box in FLIP, off by so many cells",
                     .size = "24 x 16 cells, the box 8 cells wide, half as dense as water",
                     .figure = fabs(is - draught) / cell,
                     .threshold = 1.0 };
  if (share == 0.5) {
    kp_claim_at_most(&claim);
  }
  kp_world_destroy(&world);
}

static void boxes_float_as_deep_as_they_weigh(void **state) {
  (void)state;
  check_draught(0.5);
  check_draught(0.75);
}

// ---- the price of a pressure --------------------------------------------------------------------

static kp_mps *mps_of(const kp_world *world) {
  return kp_test_system(world, &kp_mps_method);
}

static kp_world *block(int method) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(1.12, 0.84, 0.56));
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0),
                                       kp_vec3_make(0.56, 0.56, 0.56), SIZE.block_spacing);
  kp_grid_def grid = kp_default_grid_def();
  water.method = method;
  water.viscosity = 0.0;
  grid.tolerance = kp_default_mps_def().tolerance;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

// Hong claim 17: as many particles, eight per cell, the same tolerance.
static void grid_pressure_is_cheaper_than_that_of_particles(void **state) {
  (void)state;
  kp_world *particles = block(KP_LIQUID_MPS);
  kp_world *grid = block(KP_LIQUID_FLIP);
  kp_test_steps(particles, 3);
  kp_test_steps(grid, 3);
  const kp_mps *mps = mps_of(particles);
  const kp_flip *flip = flip_of(grid);
  double n = (double)flip->liquids.data[0].medium.set->space->n;
  double fewer = n / (double)flip->totals.unknowns;
  double mps_time = (mps->totals.matrix_seconds + mps->totals.solve_seconds) / 3.0;
  double ratio = mps_time / (flip->totals.solve_seconds / 3.0);
  assert_true(n == (double)mps->liquids.data[0].medium.set->space->n);
  kp_claim claim = { .id = "hong-17",
                     .text = "a pressure on the grid is cheaper than one on as many particles",
                     .size = "a block of water, eight particles per cell, tolerance 1e-3" };
  kp_claim_status status =
      kp_claim_all(&claim, { "time of a solve by MPS over one by FLIP", ratio, KP_AT_LEAST, 5.0 },
                   { "unknowns of MPS over those of FLIP", fewer, KP_AT_LEAST, 7.0 },
                   { "particles", n, KP_AT_LEAST, 20000.0 });
  assert_int_equal(status, SIZE.is_full ? KP_CLAIM_CONFIRMED : KP_CLAIM_PARTIAL);
  kp_world_destroy(&particles);
  kp_world_destroy(&grid);
}

// ---- tension ------------------------------------------------------------------------------------

#define DROP_RADIUS 0.25
#define DROP_TENSION 1.0

typedef struct drop_def {
  int dimension, cells;  // across the box of 1 m
  double stretch, band;
  int halves;  // of a period to look at
} drop_def;

// Water without weight, stretched along x and squeezed across it: a cylinder or a ball.
static kp_world *drop_of(drop_def d) {
  double depth = d.dimension == 2 ? 0.0 : 1.0;
  kp_test_settings s = kp_test_settings_make(d.dimension, kp_vec3_make(0.0, 0.0, 0.0),
                                             kp_vec3_make(1.0, 1.0, depth));
  s.simulation.gravity = kp_vec3_make(0.0, 0.0, 0.0);
  kp_world *world = kp_test_world(&s);
  kp_flip_def flip = kp_default_flip_def();
  flip.band = d.band;
  kp_liquid_def water = kp_test_liquid("water", s.domain.min, s.domain.max, 0.5 / d.cells);
  kp_vec3 middle = kp_vec3_make(0.5, 0.5, 0.5 * depth);
  water.shape = kp_test_ball(middle, DROP_RADIUS);
  water.method = KP_LIQUID_FLIP;
  water.viscosity = 0.0;
  water.surface_tension = DROP_TENSION;
  assert_ok(kp_world_set_flip(world, &flip));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_set *set = flip_of(world)->liquids.data[0].medium.set;
  const double factor[3] = { d.stretch, pow(d.stretch, -1.0 / (d.dimension - 1)),
                             pow(d.stretch, -0.5) };
  for (int c = 0; c < d.dimension; ++c) {
    kp_pos *x = kp_buffer_host(&set->position->buffers[c], KP_ACCESS_WRITE);
    for (int64_t p = 0; p < set->space->n; ++p) {
      x[p] = 0.5 + (x[p] - 0.5) * factor[c];
    }
  }
  return world;
}

// Mean pressure of the liquid well inside.
static double pressure_inside(kp_world *world) {
  kp_flow *flow = &flip_of(world)->flow;
  const kp_mac_view *g = &flow->mac->view;
  const kp_real *p = kp_buffer_host(&flow->pressure->buffers[0], KP_ACCESS_READ);
  double sum = 0.0;
  int n = 0;
  for (int j = 0; j < g->n[1]; ++j) {
    for (int i = 0; i < g->n[0]; ++i) {
      double x = g->cell * (i + 0.5) - 0.5;
      double y = g->cell * (j + 0.5) - 0.5;
      if (x * x + y * y < 0.25 * DROP_RADIUS * DROP_RADIUS) {
        sum += (double)p[kp_mac_at(g, i, j, 0)];
        ++n;
      }
    }
  }
  return sum / n;
}

// How much longer it is than wide.
static double ovalness(kp_world *world) {
  kp_flip *flip = flip_of(world);
  const kp_mac_view *g = &flip->flow.mac->view;
  const kp_real *fill = kp_buffer_host(&flip->fill, KP_ACCESS_READ);
  double sum = 0.0;
  for (int64_t n = 0; n < (int64_t)g->n[0] * g->n[1] * g->n[2]; ++n) {
    int64_t i = n % g->n[0];
    int64_t j = n / g->n[0] % g->n[1];
    int64_t k = n / g->n[0] / g->n[1];
    double x = g->cell * ((double)i + 0.5) - 0.5;
    double y = g->cell * ((double)j + 0.5) - 0.5;
    double z = g->cell * ((double)k + 0.5) - 0.5;
    double across = g->dimension == 2 ? y * y : 0.5 * (y * y + z * z);
    sum += fmin((double)fill[kp_mac_at(g, i, j, k)], 1.0) * (x * x - across);
  }
  return sum;
}

// Laplace: p = sigma / R.
static void drops_have_their_pressure(void **state) {
  (void)state;
  kp_world *world = drop_of((drop_def){ 2, 48, 1.0, 0.0, 0 });
  kp_test_steps(world, 4);
  double off = pressure_inside(world) * DROP_RADIUS / DROP_TENSION - 1.0;
  assert_ok(kp_world_advance(world, 2.0, NULL));
  double speed = kp_test_stats(world, "water").max_speed;
  double capillary = sqrt(DROP_TENSION / (1000.0 * DROP_RADIUS));
  kp_world_destroy(&world);
  print_message("Laplace %+.4f, idle speed %.4f of sqrt(sigma / rho R)\n", off, speed / capillary);
  assert_between(off, -0.05, 0.05);
  assert_between(speed, 0.0, 0.2 * capillary);
}

// Rayleigh's second mode: omega^2 = 6 sigma / (rho R^3) of a cylinder, 8 of a ball. The time
// between two passages through the round is half a period: how much longer it is, in the mean.
static double swing(drop_def d) {
  double mode = d.dimension == 2 ? 6.0 : 8.0;
  double half = PI / sqrt(mode * DROP_TENSION / (1000.0 * pow(DROP_RADIUS, 3.0)));
  kp_world *world = drop_of(d);
  double first = 0.0;
  double latest = 0.0;
  double last = 0.0;
  int n = 0;
  for (int frame = 0; frame < 40 * (d.halves + 1) && n <= d.halves; ++frame) {
    assert_ok(kp_world_advance(world, half / 40.0, NULL));
    double now = ovalness(world);
    if (frame > 0 && (now > 0.0) != (last > 0.0)) {
      latest = half / 40.0 * (frame + 1 - now / (now - last));
      first = n++ == 0 ? latest : first;
    }
    last = now;
  }
  kp_world_destroy(&world);
  assert_int_equal(n, d.halves + 1);
  return (latest - first) / (half * d.halves) - 1.0;
}

static void drops_swing(void **state) {
  (void)state;
  const struct {
    drop_def drop;
    const char *id, *size;
  } cases[] = {
    { { 2, 48, 1.1, 0.0, 1 }, "kelpie-flip-rayleigh", "2D, radius of 12 cells, stretched by 10 %" },
    { { 2, 48, 1.1, 3.0, 4 },
      "kelpie-band-rayleigh",
      "2D, radius of 12 cells, a band of 3, two periods" },
    { { 3, 40, 1.1, 0.0, 1 },
      "kelpie-flip-rayleigh-3d",
      "3D, radius of 10 cells, stretched by 10 %" },
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    if (cases[k].drop.dimension == 3 && !SIZE.is_full) {
      continue;
    }
    double off = swing(cases[k].drop);
    print_message("Rayleigh, %s: %+.4f\n", cases[k].size, off);
    assert_between(off, -0.05, 0.05);
    kp_claim claim = { .id = cases[k].id,
                       .text = "a drop of FLIP water with tension swings with Rayleigh's period",
                       .size = cases[k].size,
                       .figure = fabs(off),
                       .threshold = 0.05 };
    kp_claim_at_most(&claim);
  }
}

// ---- a block of water hits a box ----------------------------------------------------------------

// Without weight and far from all walls: what the water loses the box gains.
static void water_and_box_share_momentum(void **state) {
  (void)state;
  for (int transfer = 0; transfer < 2; ++transfer) {
    kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(2, 1, 0));
    s.simulation.gravity = kp_vec3_make(0.0, 0.0, 0.0);
    kp_flip_def def = kp_default_flip_def();
    def.transfer = transfer;
    kp_world *world = kp_test_world(&s);
    kp_liquid_def water =
        kp_test_liquid("water", kp_vec3_make(0.3, 0.3, 0), kp_vec3_make(0.7, 0.7, 0), 1.0 / 64.0);
    water.method = KP_LIQUID_FLIP;
    water.viscosity = 0.0;
    water.velocity = kp_vec3_make(1.0, 0.0, 0.0);
    kp_grid_def grid = kp_default_grid_def();
    grid.cfl = 1.0;
    kp_body_def crate = kp_default_body_def();
    (void)snprintf(crate.name, sizeof crate.name, "crate");
    crate.shape = kp_test_box(kp_vec3_make(0.8, 0.35, -0.5), kp_vec3_make(1.1, 0.65, 0.5));
    crate.density = 500.0;
    assert_ok(kp_world_set_flip(world, &def));
    assert_ok(kp_world_set_grid(world, &grid));
    assert_ok(kp_world_add_liquid(world, &water));
    assert_ok(kp_world_add_body(world, &crate));
    assert_ok(kp_world_build(world));
    double mass = 500.0 * 0.3 * 0.3;
    double start = kp_test_stats(world, "water").momentum.x;
    assert_ok(kp_world_advance(world, 2.0 / 3.0, NULL));
    kp_vec3 liquid = kp_test_stats(world, "water").momentum;
    kp_vec3 box = kp_vec3_scale(kp_bodies_frame(world->bodies, 0).velocity, mass);
    double missing = start - liquid.x - box.x;
    print_message("momentum %.3f: box %.3f, missing %.3f\n", start, box.x, missing);
    assert_between(box.x / start, 0.1, 0.5);
    assert_between(fabs(missing) / start, 0.0, 0.02);
    assert_between(fabs(missing) / box.x, 0.0, 0.1);
    assert_between(fabs(liquid.y + box.y) / start, 0.0, 0.01);
    kp_claim claim = { .id = "kelpie-flip-momentum",
                       .text = "a block of FLIP water hits a free box: momentum that nobody has, "
                               "over what the box got",
                       .size = "64 x 32 cells, the box 10 cells wide",
                       .figure = fabs(missing) / box.x,
                       .threshold = 0.1 };
    if (transfer == KP_FLIP_BLEND) {
      kp_claim_at_most(&claim);
    }
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(water_and_box_share_momentum),
    cmocka_unit_test(drops_have_their_pressure),
    cmocka_unit_test(drops_swing),
    cmocka_unit_test(transfers_cost_energy_in_their_order),
    cmocka_unit_test(column_collapses_like_martin_and_moyce),
    cmocka_unit_test(dam_breaks_onto_an_obstacle),
    cmocka_unit_test(boxes_float_as_deep_as_they_weigh),
    cmocka_unit_test(grid_pressure_is_cheaper_than_that_of_particles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
