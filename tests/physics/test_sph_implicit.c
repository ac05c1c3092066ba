// The implicit pressure solver (sph { solver = "dfsph" }): steps, errors, conservation, known
// answers, the same bits everywhere, and a brute-force twin of its passes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "methods/sph/sph_implicit.h"

#include "support/claims.h"
#include "support/worlds.h"

#define GRAVITY 9.81

// Mean excess of the densities over the rest density, as a share of it.
static double mean_excess(kp_world *world, const char *name) {
  double rest = kp_test_fluid(world, name)->def.rest_density;
  kp_test_particles p = kp_test_particles_read(world, name);
  double sum = 0.0;
  for (int64_t i = 0; i < p.n; ++i) {
    sum += fmax(p.density[i] / rest - 1.0, 0.0);
  }
  sum /= (double)p.n;
  kp_test_particles_free(&p);
  return sum;
}

// ---- dam break against the weakly compressible solver -------------------------------------------

#define DAM_LOOKS 8

typedef struct dam_run {
  int64_t steps;
  double front[DAM_LOOKS];
  double excess;               // largest mean of any step
  double density, divergence;  // mean iterations
} dam_run;

static kp_world *make_dam(int solver) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(2.4, 0.8, 1));
  s.sph.solver = solver;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.4, 1), 0.4 / 32);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

static dam_run run_dam(int solver) {
  kp_world *world = make_dam(solver);
  const kp_sph *sph = kp_test_sph(world);
  dam_run run = { 0 };
  for (int k = 0; k < DAM_LOOKS; ++k) {
    double end = 0.06 * (k + 1);
    while (world->env.time < end - 1e-9) {
      assert_ok(kp_world_step(world, end - world->env.time, NULL));
      run.steps += 1;
      if (sph->implicit != NULL) {
        run.excess = kp_test_most(run.excess, mean_excess(world, "water"));
        run.density += (double)sph->implicit->reports[KP_SPH_DENSITY].iterations;
        run.divergence += (double)sph->implicit->reports[KP_SPH_DIVERGENCE].iterations;
      }
    }
    run.front[k] = kp_test_fluid(world, "water")->medium.bounds.max.x;
  }
  kp_world_destroy(&world);
  return run;
}

static void test_dam_break(void **state) {
  (void)state;
  dam_run explicit = run_dam(KP_SPH_SOLVER_WCSPH);
  dam_run implicit = run_dam(KP_SPH_SOLVER_DFSPH);
  double worst = 0.0;
  for (int k = 0; k < DAM_LOOKS; ++k) {
    worst = kp_test_most(worst, fabs(implicit.front[k] / explicit.front[k] - 1.0));
  }
  print_message("  steps %lld and %lld, front %.3f, excess %.2e, iterations %.1f and %.1f\n",
                (long long)explicit.steps, (long long)implicit.steps, worst, implicit.excess,
                implicit.density / (double)implicit.steps,
                implicit.divergence / (double)implicit.steps);
  assert_true(implicit.steps * 5 <= explicit.steps);
  assert_between(worst, 0.0, 0.04);
  assert_between(implicit.excess, 0.0, 1e-3);
}

// ---- a column at rest ---------------------------------------------------------------------------

#define LAYERS 10

typedef struct column_result {
  double pressure;  // largest difference of a layer's mean to rho g depth, over rho g H
  double height;    // of the surface, over that of the water's volume
  double speed;     // of the fastest particle, m/s
} column_result;

// Both solves push: what they give together is the pressure.
static double *pressures_of(kp_world *world, const char *name) {
  kp_set *set = kp_test_fluid(world, name)->medium.set;
  kp_field *density = kp_space_find(set->space, "solver_pressure");
  kp_field *divergence = kp_space_find(set->space, "divergence_pressure");
  const kp_real *p = kp_buffer_host(&density->buffers[0], KP_ACCESS_READ);
  const kp_real *q = kp_buffer_host(&divergence->buffers[0], KP_ACCESS_READ);
  double *out = malloc((size_t)set->space->n * sizeof *out);
  assert_non_null(out);
  for (int64_t i = 0; i < set->space->n; ++i) {
    out[i] = (double)p[i] + (double)q[i];
  }
  return out;
}

typedef struct column {
  int dimension, wall;
  double support, dx, depth, width;
} column;

static kp_world *make_column(const column *c) {
  kp_test_settings s = kp_test_settings_make(c->dimension, kp_vec3_make(0, 0, 0),
                                             kp_vec3_make(c->width, 1.5 * c->depth, c->width));
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  s.sph.wall = c->wall;
  s.sph.support = c->support;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0),
                                       kp_vec3_make(c->width, c->depth, c->width), c->dx);
  water.viscosity = 10.0;
  water.jitter = 0.1;  // an exact lattice rings on for long
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

typedef struct layers {
  double sum[LAYERS], at[LAYERS], n[LAYERS];
  double top;
} layers;

static void add_layers(layers *f, kp_world *world, double surface) {
  kp_test_particles q = kp_test_particles_read(world, "water");
  double *p = pressures_of(world, "water");
  f->top = 0.0;
  for (int64_t i = 0; i < q.n; ++i) {
    int layer = (int)fmin(fmax(LAYERS * q.x[1][i] / surface, 0.0), LAYERS - 1.0);
    f->sum[layer] += p[i];
    f->at[layer] += q.x[1][i];
    f->n[layer] += 1.0;
    f->top = kp_test_most(f->top, q.x[1][i]);
  }
  free(p);
  kp_test_particles_free(&q);
}

static column_result run_column(const column *c, double seconds) {
  kp_world *world = make_column(c);
  assert_ok(kp_world_advance(world, seconds, NULL));
  double area = c->dimension == 2 ? c->width : c->width * c->width;
  double surface = kp_test_sums_of(world).mass / (1000.0 * area);
  layers f = { 0 };
  for (int k = 0; k < 40; ++k) {
    assert_ok(kp_world_advance(world, 0.0125, NULL));
    add_layers(&f, world, surface);
  }
  column_result r = { .height = (f.top + 0.5 * c->dx) / surface,
                      .speed = kp_test_fluid(world, "water")->medium.max_speed };
  for (int k = 0; k < LAYERS * 3 / 4; ++k) {
    assert_true(f.n[k] > 0.0);
    double expected = 1000.0 * GRAVITY * (surface - f.at[k] / f.n[k]);
    double error = fabs(f.sum[k] / f.n[k] - expected) / (1000.0 * GRAVITY * surface);
    r.pressure = kp_test_most(r.pressure, error);
  }
  print_message("  %dD wall %d: pressure %.3f, height %.3f, fastest %.3f m/s\n", c->dimension,
                c->wall, r.pressure, r.height, r.speed);
  kp_world_destroy(&world);
  return r;
}

static void test_column(void **state) {
  (void)state;
  column_result flat = run_column(&(column){ 2, KP_SPH_WALL_SPH, 2.4, 0.02, 0.4, 0.2 }, 1.5);
  column_result deep = run_column(&(column){ 3, KP_SPH_WALL_SPH, 2.0, 0.025, 0.3, 0.15 }, 1.0);
  assert_between(fmax(flat.pressure, deep.pressure), 0.0, 0.05);
  assert_between(flat.height, 0.97, 1.03);
  assert_between(deep.height, 0.97, 1.03);
  // samples without a pressure of their own let the first layers come too close: only reported
  run_column(&(column){ 2, KP_SPH_WALL_MIRROR, 2.4, 0.02, 0.4, 0.2 }, 1.5);
}

// ---- momentum -----------------------------------------------------------------------------------

#define DX 0.02

static double drift_of(kp_test_sums before, kp_test_sums after) {
  return kp_vec3_length(kp_vec3_sub(after.momentum, before.momentum)) / before.size;
}

// Two liquids side by side, stirred, in empty space.
static double stirred_drift(int dimension, int kernel) {
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(-9, -9, -9), kp_vec3_make(9, 9, 9));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.domain_walls = 1;
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  s.sph.kernel = kernel;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.1, 0.16, 0.16), DX);
  kp_liquid_def oil =
      kp_test_liquid("oil", kp_vec3_make(0.1, 0, 0), kp_vec3_make(0.2, 0.16, 0.16), DX);
  oil.rest_density = 500.0;
  oil.viscosity = 2.0;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_liquid(world, &oil));
  assert_ok(kp_world_build(world));
  kp_test_stir(world, "water", 1.0, 7);
  kp_test_stir(world, "oil", 1.0, 8);
  kp_test_sums before = kp_test_sums_of(world);
  kp_test_steps(world, 60);
  kp_test_sums after = kp_test_sums_of(world);
  double drift = drift_of(before, after);
  print_message("  %dD kernel %d: drift %.1e, energy %.3f of the start\n", dimension, kernel, drift,
                after.kinetic_energy / before.kinetic_energy);
  assert_between(after.kinetic_energy / before.kinetic_energy, 0.0, 1.0);
  kp_world_destroy(&world);
  return drift;
}

static void test_momentum(void **state) {
  (void)state;
  double worst = 0.0;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    for (int kernel = 0; kernel < KP_SPH_POLY6; ++kernel) {
      worst = kp_test_most(worst, stirred_drift(dimension, kernel));
    }
  }
  assert_between(worst, 0.0, KP_TOL(1e-5, 1e-10));
}

static void test_body_momentum(void **state) {
  (void)state;
  for (int k = 0; k < 4; ++k) {
    int dimension = 2 + k / 2;
    int wall = k % 2 == 0 ? KP_SPH_WALL_SPH : KP_SPH_WALL_MIRROR;
    kp_test_settings s =
        kp_test_settings_make(dimension, kp_vec3_make(-9, -9, -9), kp_vec3_make(9, 9, 9));
    s.simulation.gravity = kp_vec3_make(0, 0, 0);
    s.sph.domain_walls = 1;
    s.sph.solver = KP_SPH_SOLVER_DFSPH;
    s.sph.wall = wall;
    kp_world *world = kp_test_world(&s);
    kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), DX);
    water.shape = kp_test_ball(kp_vec3_make(0, 0.01, 0), 5.0 * DX);
    water.velocity = kp_vec3_make(1.0, 0, 0);
    assert_ok(kp_world_add_liquid(world, &water));
    kp_body_def block = kp_default_body_def();
    snprintf(block.name, sizeof block.name, "block");
    block.shape = kp_test_box(kp_vec3_make(0.16, -0.06, -0.06), kp_vec3_make(0.28, 0.06, 0.06));
    block.density = 500.0;
    assert_ok(kp_world_add_body(world, &block));
    assert_ok(kp_world_build(world));
    kp_test_sums before = kp_test_sums_of(world);
    kp_test_steps(world, 40);
    kp_test_sums after = kp_test_sums_of(world);
    double speed = kp_bodies_frame(world->bodies, 0).velocity.x;
    print_message("  %dD wall %d: drift %.1e, body at %.3f m/s, energy %.3f of the start\n",
                  dimension, wall, drift_of(before, after), speed,
                  after.kinetic_energy / before.kinetic_energy);
    assert_between(drift_of(before, after), 0.0, KP_TOL(1e-5, 1e-10));
    assert_between(speed, 0.05, 1.5);
    assert_between(after.kinetic_energy / before.kinetic_energy, 0.0, 1.05);
    kp_world_destroy(&world);
  }
}

static void test_floating_box(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1.0, 0.8, 1));
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1.0, 0.4, 1), DX);
  water.viscosity = 4.0;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_body_def raft = kp_default_body_def();
  snprintf(raft.name, sizeof raft.name, "raft");
  raft.shape = kp_test_box(kp_vec3_make(0.32, 0.31, -1), kp_vec3_make(0.68, 0.51, 1));
  raft.density = 500.0;
  assert_ok(kp_world_add_body(world, &raft));
  assert_ok(kp_world_build(world));
  double area = kp_test_sums_of(world).mass / 1000.0 - 0.5 * 0.36 * 0.2;
  assert_ok(kp_world_advance(world, 2.0, NULL));
  double height = 0.0;
  for (int k = 0; k < 20; ++k) {
    assert_ok(kp_world_advance(world, 0.05, NULL));
    height += kp_bodies_frame(world->bodies, 0).position.y / 20.0;
  }
  double surface = area + 0.5 * 0.36 * 0.2;
  double draught = (surface - (height - 0.1)) / 0.2;
  print_message("  draught %.3f of the raft's height (0.5 in theory)\n", draught);
  assert_between(draught, 0.4, 0.6);
  kp_world_destroy(&world);
}

// ---- the decaying vortices of Taylor & Green, periodic in x and y -------------------------------

typedef struct vortices {
  int solver;
  double reynolds;  // of a box of 1 m at 1 m/s
  double support;
} vortices;

static void set_vortices(kp_world *world) {
  kp_set *set = kp_test_fluid(world, "water")->medium.set;
  const double k = 2.0 * KP_SMOOTH_PI;
  const kp_pos *x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ);
  const kp_pos *y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ);
  kp_real *vx = kp_buffer_host(&set->velocity->buffers[0], KP_ACCESS_WRITE);
  kp_real *vy = kp_buffer_host(&set->velocity->buffers[1], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < set->space->n; ++i) {
    vx[i] = (kp_real)(-cos(k * x[i]) * sin(k * y[i]));
    vy[i] = (kp_real)(sin(k * x[i]) * cos(k * y[i]));
  }
}

// Rate at which the kinetic energy falls to about a third, over 4 nu k^2. The periodic box is full:
// densities of a disordered liquid cannot all be those of the lattice, so that only the divergence
// is solved for. Strings of particles spoil the flow after some turns of the vortices, with either
// solver; at these Reynolds numbers it has died before.
static double vortex_rate(const vortices *c) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.domain.boundary_x = s.domain.boundary_y = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.solver = c->solver;
  s.sph.density_iterations = 0;
  s.sph.support = c->support;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1), 0.025);
  double nu = 1.0 / c->reynolds;
  water.viscosity = nu * 1000.0;
  water.sound_speed = 10.0;
  water.clamp_negative_pressure = false;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  set_vortices(world);
  kp_test_fluid(world, "water")->medium.max_speed = 1.0;
  const double k = 2.0 * KP_SMOOTH_PI;
  double exact = 4.0 * nu * k * k;
  assert_ok(kp_world_advance(world, 0.15 / exact, NULL));
  double first = kp_test_sums_of(world).kinetic_energy;
  assert_ok(kp_world_advance(world, 1.2 / exact, NULL));
  double rate = log(first / kp_test_sums_of(world).kinetic_energy) / 1.2;
  print_message("  solver %d, Reynolds %g, support %g: %.3f of the exact rate\n", c->solver,
                c->reynolds, c->support, rate);
  kp_world_destroy(&world);
  return rate;
}

static void test_vortices(void **state) {
  (void)state;
  double worst = 0.0;
  const vortices cases[] = { { KP_SPH_SOLVER_WCSPH, 10.0, 2.4 },
                             { KP_SPH_SOLVER_DFSPH, 10.0, 2.4 },
                             { KP_SPH_SOLVER_DFSPH, 20.0, 3.0 } };
  for (int k = 0; k < 3; ++k) {
    worst = kp_test_most(worst, fabs(vortex_rate(&cases[k]) - 1.0));
  }
  assert_between(worst, 0.0, 0.05);
  kp_claim claim = { .id = "kelpie-taylor-green-slow",
                     .text = "slow Taylor-Green vortices decay at the exact rate",
                     .size = "1600 particles in 2D, Reynolds 10 (both solvers) and 20 (dfsph)" };
  kp_claim_all(&claim, { "relative error of the rate", worst, KP_AT_MOST, 0.05 });
}

// ---- one turn by all pairs ----------------------------------------------------------------------

#define TWIN_MOST 4096

// The elements of a world at the start of a step: liquids, then samples. Those of a liquid are
// found again after the sort by their id.
typedef struct twin {
  kp_world *world;
  double dt;
  int n;
  int side[TWIN_MOST];
  uint64_t id[TWIN_MOST];
  double x[TWIN_MOST][3], v[TWIN_MOST][3], u[TWIN_MOST][3];
  double volume[TWIN_MOST], pressure[TWIN_MOST];
} twin;

static kp_sph_side *twin_side(const twin *t, int s) {
  return &kp_test_sph(t->world)->implicit->sides.data[s];
}

static double real_at(kp_buffer *buffer, int64_t i) {
  return (double)((const kp_real *)kp_buffer_host(buffer, KP_ACCESS_READ))[i];
}

static void read_side(twin *t, int s) {
  kp_sph *sph = kp_test_sph(t->world);
  kp_sph_side *side = twin_side(t, s);
  const uint64_t *id = kp_buffer_host(&side->set->id->buffers[0], KP_ACCESS_READ);
  for (int64_t i = 0; i < side->set->space->n; ++i, ++t->n) {
    assert_true(t->n < TWIN_MOST);
    for (int c = 0; c < 3; ++c) {
      const kp_pos *x = kp_buffer_host(&side->set->position->buffers[c], KP_ACCESS_READ);
      t->x[t->n][c] = x[i];
      t->v[t->n][c] = real_at(&side->set->velocity->buffers[c], i);
    }
    const kp_sph_fluid *fluid = side->fluid >= 0 ? &sph->fluids.data[side->fluid] : NULL;
    t->volume[t->n] = fluid != NULL
                          ? fluid->medium.mass / fluid->def.rest_density
                          : real_at(&sph->walls[side->wall].interface->volume->buffers[0], i);
    t->pressure[t->n] = real_at(&side->pressure[KP_SPH_DENSITY]->buffers[0], i);
    t->side[t->n] = s;
    t->id[t->n] = fluid != NULL ? id[i] : (uint64_t)i;
  }
}

static int find_element(const twin *t, int side, uint64_t id) {
  for (int i = 0; i < t->n; ++i) {
    if (t->side[i] == side && t->id[i] == id) {
      return i;
    }
  }
  fail_msg("no element %llu", (unsigned long long)id);
  return -1;
}

static double twin_w(const kp_sph *sph, double r) {
  return kp_smooth_value(sph->w_kind, r, sph->support, 2);
}

// W'/r by a difference quotient
static double twin_g(const kp_sph *sph, double r) {
  double e = 1e-5 * sph->support;
  return (twin_w(sph, r + e) - twin_w(sph, r - e)) / (2.0 * e * r);
}

typedef struct twin_sums {
  double share, gradient[3], push[3], rate;
} twin_sums;

// Sums over all j for one i, the images of liquids across x among them.
static twin_sums sum_all(const twin *t, int i) {
  const kp_sph *sph = kp_test_sph(t->world);
  double width = t->world->env.domain.max.x - t->world->env.domain.min.x;
  twin_sums sums = { 0 };
  for (int k = 0; k < 3 * t->n; ++k) {
    int j = k / 3;
    int image = k % 3 - 1;
    double d[3] = { t->x[i][0] - t->x[j][0] - image * width, t->x[i][1] - t->x[j][1],
                    t->x[i][2] - t->x[j][2] };
    double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (r >= sph->support || (image != 0 && t->side[j] >= (int)sph->fluids.count)) {
      continue;
    }
    sums.share += t->volume[j] * twin_w(sph, r);
    double g = r > 0.0 ? t->volume[j] * twin_g(sph, r) : 0.0;
    for (int c = 0; c < 3; ++c) {
      sums.gradient[c] += g * d[c];
      sums.push[c] += (t->pressure[i] + t->pressure[j]) * g * d[c];
      sums.rate += (t->u[i][c] - t->u[j][c]) * g * d[c];
    }
  }
  return sums;
}

static kp_world *make_twin_world(void) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(0.32, 0.3, 1));
  s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  s.sph.density_iterations = 1;
  s.sph.divergence_iterations = 0;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.16, 0.2, 1), DX);
  kp_liquid_def oil =
      kp_test_liquid("oil", kp_vec3_make(0.16, 0, 0), kp_vec3_make(0.32, 0.2, 1), DX);
  water.jitter = oil.jitter = 0.2;
  oil.rest_density = 600.0;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_liquid(world, &oil));
  assert_ok(kp_world_build(world));
  kp_test_stir(world, "water", 0.5, 3);
  kp_test_steps(world, 4);
  return world;
}

enum { TWIN_DENSITY, TWIN_GRADIENT, TWIN_RATE, TWIN_PRESSURE, TWIN_N };

// Differences of one liquid's particle to what all pairs give, each over the size of its kind.
static void compare(const twin *t, int s, int64_t i, double *worst) {
  kp_sph *sph = kp_test_sph(t->world);
  kp_sph_side *side = twin_side(t, s);
  double rest = sph->fluids.data[s].def.rest_density;
  const uint64_t *id = kp_buffer_host(&side->set->id->buffers[0], KP_ACCESS_READ);
  int e = find_element(t, s, id[i]);
  twin_sums sums = sum_all(t, e);
  double density = real_at(&side->density->buffers[0], i) / rest - sums.share;
  worst[TWIN_DENSITY] = kp_test_most(worst[TWIN_DENSITY], fabs(density));
  for (int c = 0; c < 3; ++c) {
    double gradient = real_at(&side->gradient, 4 * i + c) - sums.gradient[c];
    worst[TWIN_GRADIENT] = kp_test_most(worst[TWIN_GRADIENT], fabs(gradient) * sph->support);
  }
  double rate = real_at(&side->rate, i) - sums.rate;
  worst[TWIN_RATE] = kp_test_most(worst[TWIN_RATE], fabs(rate) * t->dt);
  double factor = real_at(&side->factor[KP_SPH_DENSITY], i);
  double residual = sums.share - 1.0 + t->dt * sums.rate;
  double pressure = fmax(t->pressure[e] + residual * factor / (t->dt * t->dt), 0.0);
  double found = real_at(&side->pressure[KP_SPH_DENSITY]->buffers[0], i);
  worst[TWIN_PRESSURE] =
      fmax(worst[TWIN_PRESSURE], fabs(found - pressure) / (rest * GRAVITY * 0.2));
}

// A turn of a step that takes one: pressures of the last step push (u), what that does to the
// densities (rate), better pressures.
static void test_twin(void **state) {
  (void)state;
  kp_world *world = make_twin_world();
  kp_sph *sph = kp_test_sph(world);
  twin *t = calloc(1, sizeof *t);
  assert_non_null(t);
  t->world = world;
  for (int s = 0; s < (int)sph->implicit->sides.count; ++s) {
    read_side(t, s);
  }
  kp_step_report report;
  assert_ok(kp_world_step(world, 1.0, &report));
  t->dt = report.dt;
  double largest = 0.0;
  for (int s = 0; s < (int)sph->fluids.count; ++s) {
    kp_sph_side *side = twin_side(t, s);
    kp_field *acceleration = sph->fluids.data[s].medium.integrate.acceleration;
    const uint64_t *id = kp_buffer_host(&side->set->id->buffers[0], KP_ACCESS_READ);
    for (int64_t i = 0; i < side->set->space->n; ++i) {
      int e = find_element(t, s, id[i]);
      twin_sums sums = sum_all(t, e);
      for (int c = 0; c < 3; ++c) {
        double push = -sums.push[c] / sph->fluids.data[s].def.rest_density;
        double a = real_at(&acceleration->buffers[c], i) + push;
        t->u[e][c] = t->v[e][c] + t->dt * a;
        largest = kp_test_most(largest, fabs(push));
      }
    }
  }
  double worst[TWIN_N] = { 0.0 };
  for (int s = 0; s < (int)sph->fluids.count; ++s) {
    for (int64_t i = 0; i < twin_side(t, s)->set->space->n; ++i) {
      compare(t, s, i, worst);
    }
  }
  print_message(
      "  density %.1e, gradient %.1e, rate %.1e, pressure %.1e; largest push %.1f m/s^2\n",
      worst[0], worst[1], worst[2], worst[3], largest);
  assert_true(largest > GRAVITY);
  for (int k = 0; k < TWIN_N; ++k) {
    assert_between(worst[k], 0.0, KP_TOL(5e-5, 1e-6));
  }
  free(t);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_twin),          cmocka_unit_test(test_dam_break),
    cmocka_unit_test(test_column),        cmocka_unit_test(test_momentum),
    cmocka_unit_test(test_body_momentum), cmocka_unit_test(test_floating_box),
    cmocka_unit_test(test_vortices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
