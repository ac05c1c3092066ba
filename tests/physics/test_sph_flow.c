// Flows with known answers: the still column, the collapsing column of Martin & Moyce (1952), two
// liquids of different density, the fused form against the two-pass form, and every integrator on a
// small dam break.
#include <math.h>
#include <stdio.h>

#include "support/claims.h"
#include "support/worlds.h"

#define GRAVITY 9.81

// ---- hydrostatic column -------------------------------------------------------------------------

typedef struct column {
  int dimension;
  int wall, domain_walls;
  int pressure, density;
  double viscosity;  // Pa s
} column;

#define THICK 10.0  // so that the column comes to rest soon
#define WATER 0.001

// Pressure that the equation of state gives for a density.
static double pressure_of(const kp_sph_fluid *fluid, double density) {
  return fluid->stiffness * (pow(density / fluid->def.rest_density, fluid->def.exponent) - 1.0);
}

static kp_world *make_column(const column *c, double dx, double depth, double width) {
  kp_test_settings s = kp_test_settings_make(c->dimension, kp_vec3_make(0, 0, 0),
                                             kp_vec3_make(width, 1.5 * depth, width));
  s.sph.wall = c->wall;
  s.sph.domain_walls = c->domain_walls;
  s.sph.pressure = c->pressure;
  s.sph.density = c->density;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(width, depth, width), dx);
  water.viscosity = c->viscosity;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

#define LAYERS 10

typedef struct profile {
  double sum[LAYERS], at[LAYERS], n[LAYERS];
  double top;
} profile;

static void add_profile(profile *f, kp_world *world, double surface) {
  const kp_sph_fluid *fluid = kp_test_fluid(world, "water");
  kp_test_particles p = kp_test_particles_read(world, "water");
  f->top = 0.0;
  for (int64_t i = 0; i < p.n; ++i) {
    int layer = (int)fmin(fmax(LAYERS * p.x[1][i] / surface, 0.0), LAYERS - 1.0);
    f->sum[layer] += pressure_of(fluid, p.density[i]);
    f->at[layer] += p.x[1][i];
    f->n[layer] += 1.0;
    f->top = kp_test_most(f->top, p.x[1][i]);
  }
  kp_test_particles_free(&p);
}

// Largest difference between the mean pressure of a layer and rho g depth, over rho g H, in the
// lower three quarters. Gravity is there at once, so the column rings like a bell: means are taken
// over the last half second.
static double column_error(const column *c, double dx, double depth, double width, double seconds) {
  kp_world *world = make_column(c, dx, depth, width);
  assert_ok(kp_world_advance(world, seconds, NULL));
  double area = c->dimension == 2 ? width : width * width;
  double surface = kp_test_sums_of(world).mass / (1000.0 * area);
  profile f = { 0 };
  for (int k = 0; k < 40; ++k) {
    assert_ok(kp_world_advance(world, 0.0125, NULL));
    add_profile(&f, world, surface);
  }
  double worst = 0.0;
  for (int k = 0; k < LAYERS * 3 / 4; ++k) {
    assert_true(f.n[k] > 0.0);
    double expected = 1000.0 * GRAVITY * (surface - f.at[k] / f.n[k]);
    worst = kp_test_most(worst, fabs(f.sum[k] / f.n[k] - expected) / (1000.0 * GRAVITY * surface));
  }
  print_message(
      "  %dD wall %d planes %d form %d density %d, %g Pa s: error %.3f, top %.3f of %.3f, "
      "fastest %.3f m/s\n",
      c->dimension, c->wall, c->domain_walls, c->pressure, c->density, c->viscosity, worst,
      f.top + 0.5 * dx, surface, kp_test_fluid(world, "water")->medium.max_speed);
  kp_world_destroy(&world);
  return worst;
}

static double column_2d(int wall, int planes, int form, int density) {
  return column_error(&(column){ 2, wall, planes, form, density, THICK }, 0.02, 0.4, 0.2, 1.5);
}

static double column_3d(int wall) {
  return column_error(&(column){ 3, wall, 0, 1, 0, THICK }, 0.025, 0.3, 0.15, 1.0);
}

static void test_hydrostatic(void **state) {
  (void)state;
  double own = column_2d(KP_SPH_WALL_SPH, 0, 1, 0);
  own = kp_test_most(own, column_2d(KP_SPH_WALL_SPH, 0, 0, 0));
  double mirror = column_2d(KP_SPH_WALL_MIRROR, 0, 1, 0);
  mirror = kp_test_most(mirror, column_2d(KP_SPH_WALL_MIRROR, 0, 0, 0));
  mirror = kp_test_most(mirror, column_2d(KP_SPH_WALL_MIRROR, 0, 1, 1));
  double deep = column_3d(KP_SPH_WALL_SPH);
  assert_between(fmax(fmax(own, mirror), deep), 0.0, 0.05);
  kp_claim claim = { .id = "bayraktar-B2",
                     .text = "pressure at depth is rho g H in a settled column, wall samples with "
                             "pressure",
                     .size = "200 particles in 2D, 432 in 3D, viscosity 10 Pa s" };
  kp_claim_all(&claim, { "error over rho g H, 2D, walls with own pressure", own, KP_AT_MOST, 0.05 },
               { "2D, mirrored pressure, both forces, continuity", mirror, KP_AT_MOST, 0.05 },
               { "3D, walls with own pressure", deep, KP_AT_MOST, 0.05 });
  // walls that give nothing to the density lose the pressure next to them, and six spacings across
  // the mirrored one keeps a column boiling
  kp_claim others = { .id = "bayraktar-B2-walls",
                      .text = "pressure at depth is rho g H whatever the wall law",
                      .size = "200 particles in 2D, 432 in 3D, viscosity 10 Pa s" };
  kp_claim_all(
      &others,
      { "error over rho g H, 3D, mirrored pressure", column_3d(KP_SPH_WALL_MIRROR), KP_AT_MOST,
        0.05 },
      { "2D, planes", column_2d(KP_SPH_WALL_MIRROR, 1, 1, 0), KP_AT_MOST, 0.05 },
      { "2D, Lennard-Jones", column_2d(KP_SPH_WALL_LENNARD_JONES, 0, 1, 0), KP_AT_MOST, 0.05 },
      { "2D, spring and dashpot", column_2d(KP_SPH_WALL_DEM, 0, 1, 0), KP_AT_MOST, 0.05 });
}

// With the viscosity of water nothing calms the column but the numerics.
static void test_hydrostatic_water(void **state) {
  (void)state;
  column c = { 2, KP_SPH_WALL_SPH, 0, 1, 0, WATER };
  double flat = column_error(&c, 0.02, 0.4, 0.2, 3.0);
  kp_claim claim = { .id = "bayraktar-B2-water",
                     .text = "pressure at depth is rho g H in a settled column of water",
                     .size = "200 particles in 2D, viscosity 0.001 Pa s, after 3 s" };
  kp_claim_all(&claim, { "error over rho g H", flat, KP_AT_MOST, 0.05 });
}

// ---- the collapsing column ----------------------------------------------------------------------

#define INCH 0.0254
#define FRONT_STEPS 76
#define FRONT_INTERVAL 0.1  // of T

typedef struct measured {
  double t, z;
} measured;

// Martin & Moyce 1952, figure 3, n^2 = 2 (data/martin_moyce_1952.csv), up to T = 7.5
static const measured front_1_125[] = {
  { 0.849, 1.245 }, { 1.212, 1.443 }, { 1.602, 1.884 }, { 2.283, 2.689 }, { 2.950, 3.728 },
  { 3.598, 4.528 }, { 3.905, 4.999 }, { 4.592, 5.841 }, { 4.961, 6.271 }, { 5.316, 6.717 },
};
static const measured front_2_25[] = {
  { 0.832, 1.217 }, { 1.219, 1.474 }, { 1.997, 2.292 }, { 2.547, 2.995 },
  { 3.345, 4.134 }, { 4.034, 4.944 }, { 4.418, 5.881 }, { 5.091, 6.980 },
  { 5.685, 7.945 }, { 6.306, 8.966 }, { 6.822, 9.986 },
};

typedef struct dam {
  double a;   // m, width of the column
  int cells;  // spacings over a
  double viscosity;
  kp_sph_def sph;
} dam;

static kp_world *make_dam(const dam *d) {
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(12.5 * d->a, 3.0 * d->a, 1));
  s.sph = d->sph;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0),
                                       kp_vec3_make(d->a, 2.0 * d->a, 1), d->a / d->cells);
  water.viscosity = d->viscosity;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

static double front_of(kp_world *world) {
  const kp_sph_fluid *fluid = kp_test_fluid(world, "water");
  return fluid->medium.bounds.max.x + 0.5 * fluid->def.spacing;
}

// Z at T = 0, interval, 2 interval, ...
static void run_front(const dam *d, double *z) {
  kp_world *world = make_dam(d);
  double second = sqrt(2.0 * GRAVITY / d->a);
  z[0] = 1.0;
  for (int k = 1; k < FRONT_STEPS; ++k) {
    assert_ok(kp_world_advance(world, FRONT_INTERVAL / second, NULL));
    z[k] = front_of(world) / d->a;
  }
  kp_world_destroy(&world);
}

static double front_at(const double *z, double t) {
  double u = fmin(fmax(t / FRONT_INTERVAL, 0.0), FRONT_STEPS - 1.001);
  int k = (int)u;
  return z[k] + (u - k) * (z[k + 1] - z[k]);
}

static double slope_of(const double *t, const double *z, int n) {
  double st = 0.0, sz = 0.0, stt = 0.0, stz = 0.0;
  for (int i = 0; i < n; ++i) {
    st += t[i];
    sz += z[i];
    stt += t[i] * t[i];
    stz += t[i] * z[i];
  }
  return (n * stz - st * sz) / (n * stt - st * st);
}

typedef struct front_error {
  double slope, position, lag;
} front_error;

// The experiment's clock runs while the membrane still holds part of the water: one lag is fitted,
// as far as half a unit of T, before positions are compared. Slopes do not see it.
static front_error compare_front(const double *z, const measured *data, int n) {
  double t[32], wanted[32], got[32];
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    if (data[i].t > 1.0) {
      t[kept] = data[i].t;
      wanted[kept] = data[i].z;
      got[kept++] = front_at(z, data[i].t);
    }
  }
  front_error best = { .slope = fabs(slope_of(t, got, kept) / slope_of(t, wanted, kept) - 1.0),
                       .position = HUGE_VAL };
  for (double lag = 0.0; lag <= 0.5; lag += 0.02) {
    double worst = 0.0;
    for (int i = 0; i < kept; ++i) {
      worst = kp_test_most(worst, fabs(front_at(z, t[i] - lag) / wanted[i] - 1.0));
    }
    best.lag = worst < best.position ? lag : best.lag;
    best.position = kp_test_least(best.position, worst);
  }
  return best;
}

static front_error front_case(double inches, const kp_sph_def *sph, const char *name) {
  double z[FRONT_STEPS];
  // no-slip walls brake: at 0.05 Pa s the thin front is already slowed by a tenth
  run_front(&(dam){ .a = inches * INCH, .cells = 16, .viscosity = 0.02, .sph = *sph }, z);
  bool small = inches < 2.0;
  front_error e = small ? compare_front(z, front_1_125, sizeof front_1_125 / sizeof front_1_125[0])
                        : compare_front(z, front_2_25, sizeof front_2_25 / sizeof front_2_25[0]);
  print_message("  a = %.3f in, %s: slope off by %.3f, position by %.3f after a lag of %.2f\n",
                inches, name, e.slope, e.position, e.lag);
  return e;
}

static void test_dam_break_front(void **state) {
  (void)state;
  kp_sph_def own = kp_default_sph_def();
  own.wall = KP_SPH_WALL_SPH;
  kp_sph_def mirror = kp_default_sph_def();
  mirror.wall = KP_SPH_WALL_MIRROR;
  kp_sph_def rate = kp_default_sph_def();
  rate.density = 1;
  rate.kernel = KP_SPH_WENDLAND;
  const struct {
    const kp_sph_def *sph;
    const char *name;
  } cases[] = { { &own, "sph walls" }, { &mirror, "mirror walls" }, { &rate, "continuity" } };
  double worst = 0.0, of_mirror = 0.0;
  for (int c = 0; c < 3; ++c) {
    front_error large = front_case(2.25, cases[c].sph, cases[c].name);
    front_error small = front_case(1.125, cases[c].sph, cases[c].name);
    double e = fmax(fmax(large.slope, large.position), fmax(small.slope, small.position));
    // mirror walls throw spray ahead of the small front
    *(cases[c].sph == &mirror ? &of_mirror : &worst) =
        fmax(cases[c].sph == &mirror ? of_mirror : worst, e);
  }
  assert_between(worst, 0.0, 0.10);
  kp_claim claim = { .id = "kelpie-martin-moyce",
                     .text = "front of a collapsing column (n^2 = 2, a = 2.25 and 1.125 inch)",
                     .size = "512 particles in 2D; one lag of at most T = 0.5 is fitted" };
  kp_claim_all(&claim, { "slope and position for T > 1, relative error", worst, KP_AT_MOST, 0.10 },
               { "the same with mirror walls", of_mirror, KP_AT_MOST, 0.10 });
}

// ---- fused against two-pass ---------------------------------------------------------------------

static void test_fused_equals_two_pass(void **state) {
  (void)state;
  double mean[2];
  double front[2];
  for (int fused = 0; fused < 2; ++fused) {
    dam d = { .a = 2.25 * INCH, .cells = 24, .viscosity = 0.05, .sph = kp_default_sph_def() };
    d.sph.wall = KP_SPH_WALL_SPH;
    d.sph.fused = fused == 1;
    d.sph.cfl = 0.25;  // the extrapolated density of the fused form is stable up to 0.3
    kp_world *world = make_dam(&d);
    double unit = 1.0 / sqrt(2.0 * GRAVITY / d.a);
    // the foremost particle is a noisy witness: its mean over T = 1.5 to 2.5
    assert_ok(kp_world_advance(world, 1.4 * unit, NULL));
    front[fused] = 0.0;
    for (int k = 0; k < 11; ++k) {
      assert_ok(kp_world_advance(world, 0.1 * unit, NULL));
      front[fused] += front_of(world) / 11.0;
    }
    kp_test_particles p = kp_test_particles_read(world, "water");
    mean[fused] = 0.0;
    for (int64_t i = 0; i < p.n; ++i) {
      mean[fused] += p.density[i] / (double)p.n;
    }
    kp_test_particles_free(&p);
    kp_world_destroy(&world);
  }
  double density = fabs(mean[1] / mean[0] - 1.0);
  double ahead = fabs(front[1] / front[0] - 1.0);
  print_message("  mean density differs by %.4f, front by %.4f\n", density, ahead);
  assert_between(density, 0.0, 0.01);
  assert_between(ahead, 0.0, 0.02);
  kp_claim claim = { .id = "bayraktar-C5",
                     .text = "the fused form gives the flow of two passes",
                     .size = "1152 particles in 2D, T = 1.5 to 2.5" };
  kp_claim_all(&claim, { "difference of the mean density", density, KP_AT_MOST, 0.01 },
               { "difference of the front", ahead, KP_AT_MOST, 0.02 });
}

// ---- pairs of a dam -----------------------------------------------------------------------------

static double pairs_per_particle(kp_world *world) {
  kp_sph_fluid *fluid = kp_test_fluid(world, "water");
  double neighbours;
  kp_cells *cells = fluid->medium.cells;
  assert_ok(kp_cells_build(cells, NULL));
  assert_ok(kp_pair_count(cells, cells, kp_test_sph(world)->support, &neighbours));
  return 0.5 * neighbours;
}

// C7: 25 pairs per particle are stated of 240 thousand, with an unknown ratio of support and
// spacing.
static void test_pairs_of_a_dam(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.6, 0.3));
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.3, 0.3, 0.3), 0.02);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  double start = pairs_per_particle(world);
  assert_ok(kp_world_advance(world, 0.15, NULL));
  double moving = pairs_per_particle(world);
  print_message("  pairs per particle: %.1f at the start, %.1f after 0.15 s\n", start, moving);
  kp_claim claim = { .id = "bayraktar-C7-dam",
                     .text = "a dam has 15 to 50 pairs per particle at the default support",
                     .size =
                         "3375 particles in 3D, support 2.4 spacings, at rest and after 0.15 s" };
  kp_claim_all(&claim, { "unordered pairs per particle, moving", moving, KP_AT_LEAST, 15 },
               { "at rest", start, KP_AT_LEAST, 15 },
               { "the larger of the two", fmax(start, moving), KP_AT_MOST, 50 });
  kp_world_destroy(&world);
}

// ---- two liquids --------------------------------------------------------------------------------

#define HEAVY_AND_LIGHT 0.02  // spacing [m]

// How deep particles of one liquid are inside the other's half after 6 s, in spacings, and the
// height of the interface [m].
static double deepest_stray(double viscosity, double *middle) {
  const double dx = HEAVY_AND_LIGHT;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.5, 1));
  s.sph.wall = KP_SPH_WALL_SPH;
  s.sph.slip = 1.0;
  kp_world *world = kp_test_world(&s);
  // side by side: the heavy one slides under the light one
  kp_liquid_def brine =
      kp_test_liquid("brine", kp_vec3_make(0, 0, 0), kp_vec3_make(0.2, 0.4, 1), dx);
  kp_liquid_def oil = kp_test_liquid("oil", kp_vec3_make(0.2, 0, 0), kp_vec3_make(0.4, 0.4, 1), dx);
  oil.rest_density = 500.0;
  brine.viscosity = oil.viscosity = viscosity;
  assert_ok(kp_world_add_liquid(world, &brine));
  assert_ok(kp_world_add_liquid(world, &oil));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 6.0, NULL));
  kp_test_particles heavy = kp_test_particles_read(world, "brine");
  kp_test_particles light = kp_test_particles_read(world, "oil");
  *middle = 0.0;
  for (int64_t i = 0; i < heavy.n; ++i) {
    *middle += 2.0 * heavy.x[1][i] / (double)heavy.n;
  }
  double up = -HUGE_VAL, down = -HUGE_VAL;
  for (int64_t i = 0; i < heavy.n; ++i) {
    up = kp_test_most(up, heavy.x[1][i] - *middle);
  }
  for (int64_t i = 0; i < light.n; ++i) {
    down = kp_test_most(down, *middle - light.x[1][i]);
  }
  print_message(
      "  %g Pa s: interface at %.3f m, heavy up to %.2f dx above it, light down to %.2f dx "
      "below it\n",
      viscosity, *middle, up / dx, down / dx);
  kp_test_particles_free(&heavy);
  kp_test_particles_free(&light);
  kp_world_destroy(&world);
  return fmax(up, down) / dx;
}

static void test_two_liquids(void **state) {
  (void)state;
  double middle, unused;
  double stray = deepest_stray(1.0, &middle);
  // a particle that a corner caught does not get out of thicker liquids
  double thick = deepest_stray(4.0, &unused);
  assert_between(middle, 0.18, 0.22);
  assert_between(stray, -1.0, 1.0);
  kp_claim claim = { .id = "bayraktar-B10",
                     .text = "of two liquids the denser ends below and the interface is flat",
                     .size = "400 particles in 2D, densities 1000 and 500, side by side, 6 s" };
  kp_claim_all(&claim, { "deepest stray over the interface at 1 Pa s [dx]", stray, KP_AT_MOST, 1 },
               { "interface off 0.2 m [m]", fabs(middle - 0.2), KP_AT_MOST, HEAVY_AND_LIGHT },
               { "deepest stray at 4 Pa s [dx]", thick, KP_AT_MOST, 1 });
}

// ---- integrators --------------------------------------------------------------------------------

static void test_every_integrator_runs(void **state) {
  (void)state;
  for (int k = 0; k < KP_INTEGRATOR_COUNT; ++k) {
    dam d = { .a = 2.25 * INCH, .cells = 10, .viscosity = 0.05, .sph = kp_default_sph_def() };
    d.sph.wall = KP_SPH_WALL_SPH;
    d.sph.integrator = k;
    // explicit Euler feeds sound: it needs a shorter step
    d.sph.cfl = k == KP_INTEGRATOR_EULER ? 0.1 : 0.4;
    kp_world *world = make_dam(&d);
    assert_ok(kp_world_advance(world, 2.0 / sqrt(2.0 * GRAVITY / d.a), NULL));
    double z = front_of(world) / d.a;
    print_message("  %-16s front %.3f a, %lld steps\n", kp_integrator_names[k], z,
                  (long long)kp_world_steps(world));
    assert_between(z, 2.2, 2.8);
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_hydrostatic),           cmocka_unit_test(test_hydrostatic_water),
    cmocka_unit_test(test_dam_break_front),       cmocka_unit_test(test_fused_equals_two_pass),
    cmocka_unit_test(test_pairs_of_a_dam),        cmocka_unit_test(test_two_liquids),
    cmocka_unit_test(test_every_integrator_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
