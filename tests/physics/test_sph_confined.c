// DFSPH where liquids fill their container: Taylor-Green vortices at default settings, the
// corrected gradients against all pairs, momentum, and when a flow counts as confined.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "methods/sph/sph_implicit.h"

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846

// ---- Taylor-Green vortices, Re 100 --------------------------------------------------------------

#define VISCOSITY 0.01  // m^2/s; of a box of 1 m at 1 m/s

static void set_vortices(kp_world *world) {
  kp_set *set = kp_test_fluid(world, "water")->medium.set;
  const kp_pos *x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ);
  const kp_pos *y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ);
  kp_real *u = kp_buffer_host(&set->velocity->buffers[0], KP_ACCESS_WRITE);
  kp_real *v = kp_buffer_host(&set->velocity->buffers[1], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < set->space->n; ++i) {
    u[i] = (kp_real)(-cos(2.0 * PI * x[i]) * sin(2.0 * PI * y[i]));
    v[i] = (kp_real)(sin(2.0 * PI * x[i]) * cos(2.0 * PI * y[i]));
  }
  kp_test_fluid(world, "water")->medium.max_speed = 1.0;
}

// Nothing but the solver is told.
static kp_world *vortices(int across) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.domain.boundary_x = s.domain.boundary_y = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph = kp_default_sph_def();
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, -1), kp_vec3_make(1, 1, 1), 1.0 / across);
  water.viscosity = VISCOSITY * water.rest_density;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  set_vortices(world);
  return world;
}

typedef struct flow {
  double mode, rms, drift;  // amplitude of the vortices, of all motion; mean velocity
} flow;

static flow flow_of(kp_world *world) {
  kp_test_particles p = kp_test_particles_read(world, "water");
  flow f = { 0.0, 0.0, 0.0 };
  for (int64_t i = 0; i < p.n; ++i) {
    double x = 2.0 * PI * p.x[0][i];
    double y = 2.0 * PI * p.x[1][i];
    f.mode += -p.v[0][i] * cos(x) * sin(y) + p.v[1][i] * sin(x) * cos(y);
    f.rms += p.v[0][i] * p.v[0][i] + p.v[1][i] * p.v[1][i];
    f.drift += p.v[0][i];
  }
  f.mode *= 2.0 / (double)p.n;
  f.rms = sqrt(2.0 * f.rms / (double)p.n);
  f.drift /= (double)p.n;
  kp_test_particles_free(&p);
  return f;
}

// Relative error of the amplitude after a second.
static double decay_error(int across) {
  kp_world *world = vortices(across);
  assert_ok(kp_world_advance(world, 1.0, NULL));
  flow f = flow_of(world);
  double want = exp(-8.0 * PI * PI * VISCOSITY);
  print_message("  %d across: amplitude %.4f, rms %.4f, exact %.4f; momentum %.1e\n", across,
                f.mode, f.rms, want, f.drift);
  assert_near(f.drift, 0.0, KP_TOL(1e-5, 1e-10));
  kp_world_destroy(&world);
  return fmax(fabs(f.mode / want - 1.0), fabs(f.rms / want - 1.0));
}

static void test_vortices(void **state) {
  (void)state;
  double coarse = decay_error(25);
  double middle = decay_error(50);
  double fine = decay_error(100);
  assert_between(middle, 0.0, 0.10);
  assert_between(fine, 0.0, 0.05);
  assert_between(fine, 0.0, middle);
  assert_between(middle, 0.0, coarse);
  kp_claim claim = { .id = "kelpie-taylor-green-dfsph",
                     .text = "Taylor-Green vortices of Re 100 decay as the viscosity says, with "
                             "the implicit solver and everything else at its default",
                     .size = "25, 50 and 100 particles across a periodic square, 1 s" };
  kp_claim_all(&claim, { "relative error of the amplitude, 50 across", middle, KP_AT_MOST, 0.10 },
               { "100 across", fine, KP_AT_MOST, 0.05 },
               { "error at 50 over that at 25", middle / coarse, KP_AT_MOST, 1.0 },
               { "error at 100 over that at 50", fine / middle, KP_AT_MOST, 1.0 });
}

// ---- a turn by all pairs ------------------------------------------------------------------------

#define TWIN_SIDE 12
#define TWIN_N (TWIN_SIDE * TWIN_SIDE)

#define TWIN_SPEED 0.5
#define TWIN_FASTEST (1.8 * TWIN_SPEED)  // as kp_test_stir tells
#define RECALL 5.0                       // as in sph_confined.c

// Particles of a periodic square by their ids.
typedef struct twin {
  double x[TWIN_N][2], v[TWIN_N][2];
  double m[TWIN_N][3];  // xx, xy, yy of M, then of its inverse
  double shift[TWIN_N][2], rate[TWIN_N], pressure[TWIN_N];
} twin;

static kp_world *twin_world(void) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.domain.boundary_x = s.domain.boundary_y = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  s.sph.divergence_iterations = 1;
  s.sph.warm_start = false;
  s.sph.shifting = KP_AUTO;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, -1), kp_vec3_make(1, 1, 1), 1.0 / TWIN_SIDE);
  water.viscosity = 0.0;
  water.jitter = 0.2;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_test_stir(world, "water", TWIN_SPEED, 3);
  return world;
}

static void read_twin(kp_world *world, twin *t) {
  kp_set *set = kp_test_fluid(world, "water")->medium.set;
  const uint64_t *id = kp_buffer_host(&set->id->buffers[0], KP_ACCESS_READ);
  assert_int_equal(set->space->n, TWIN_N);
  for (int c = 0; c < 2; ++c) {
    const kp_pos *x = kp_buffer_host(&set->position->buffers[c], KP_ACCESS_READ);
    const kp_real *v = kp_buffer_host(&set->velocity->buffers[c], KP_ACCESS_READ);
    for (int64_t i = 0; i < TWIN_N; ++i) {
      t->x[id[i]][c] = x[i];
      t->v[id[i]][c] = (double)v[i];
    }
  }
}

// d = x_i - x_j with j's nearest image; false when they do not see each other.
static bool twin_pair(const twin *t, const kp_sph *sph, int i, int j, double *d, double *term) {
  double volume = sph->fluids.data[0].medium.mass / sph->fluids.data[0].def.rest_density;
  for (int c = 0; c < 2; ++c) {
    d[c] = t->x[i][c] - t->x[j][c];
    d[c] -= round(d[c]);
  }
  double r = sqrt(d[0] * d[0] + d[1] * d[1]);
  if (i == j || r >= sph->support) {
    return false;
  }
  double e = 1e-6 * sph->support;
  double g = (kp_smooth_value(sph->w_kind, r + e, sph->support, 2) -
              kp_smooth_value(sph->w_kind, r - e, sph->support, 2)) /
             (2.0 * e * r);
  term[0] = volume * g * d[0];
  term[1] = volume * g * d[1];
  return true;
}

static void twin_moments(twin *t, const kp_sph *sph, int i) {
  double d[2], f[2];
  double spacing = sph->fluids.data[0].def.spacing;
  for (int j = 0; j < TWIN_N; ++j) {
    if (twin_pair(t, sph, i, j, d, f)) {
      double q = pow(spacing * spacing / (d[0] * d[0] + d[1] * d[1]), 2.0);
      double weight = 1.0 + 0.2 * fmin(q, 40.0);
      t->m[i][0] -= d[0] * f[0];
      t->m[i][1] -= d[0] * f[1];
      t->m[i][2] -= d[1] * f[1];
      t->shift[i][0] += weight * f[0];
      t->shift[i][1] += weight * f[1];
    }
  }
  double determinant = t->m[i][0] * t->m[i][2] - t->m[i][1] * t->m[i][1];
  assert_true(determinant > 0.5);  // else the correction is not whole
  double xx = t->m[i][0];
  t->m[i][0] = t->m[i][2] / determinant;
  t->m[i][1] = -t->m[i][1] / determinant;
  t->m[i][2] = xx / determinant;
}

// L t of a particle
static void twin_correct(const twin *t, int i, const double *term, double *out) {
  out[0] = t->m[i][0] * term[0] + t->m[i][1] * term[1];
  out[1] = t->m[i][1] * term[0] + t->m[i][2] * term[1];
}

static void twin_rates(twin *t, const kp_sph *sph) {
  double d[2], f[2], own[2];
  double mean = 0.0;
  double volume = sph->fluids.data[0].medium.mass / sph->fluids.data[0].def.rest_density;
  double recall = TWIN_FASTEST / (RECALL * 0.5 * sph->support);
  for (int i = 0; i < TWIN_N; ++i) {
    double share = volume * kp_smooth_value(sph->w_kind, 0.0, sph->support, 2);
    for (int j = 0; j < TWIN_N; ++j) {
      if (twin_pair(t, sph, i, j, d, f)) {
        twin_correct(t, i, f, own);
        t->rate[i] += (t->v[i][0] - t->v[j][0]) * own[0] + (t->v[i][1] - t->v[j][1]) * own[1];
        double r = sqrt(d[0] * d[0] + d[1] * d[1]);
        share += volume * kp_smooth_value(sph->w_kind, r, sph->support, 2);
      }
    }
    t->rate[i] += recall * (share - 1.0);
    mean += t->rate[i] / TWIN_N;
  }
  for (int i = 0; i < TWIN_N; ++i) {
    t->rate[i] -= mean;
  }
}

// Velocity of a particle after the push.
static void twin_push(const twin *t, const kp_sph *sph, double dt, int i, double *u) {
  double d[2], f[2], own[2], other[2];
  double rest = sph->fluids.data[0].def.rest_density;
  u[0] = t->v[i][0];
  u[1] = t->v[i][1];
  for (int j = 0; j < TWIN_N; ++j) {
    if (twin_pair(t, sph, i, j, d, f)) {
      twin_correct(t, i, f, own);
      twin_correct(t, j, f, other);
      for (int c = 0; c < 2; ++c) {
        u[c] -= dt / rest * (t->pressure[i] * own[c] + t->pressure[j] * other[c]);
      }
    }
  }
}

// Divergences, velocities and ways of the particles after a step of one turn.
static void test_twin(void **state) {
  (void)state;
  kp_world *world = twin_world();
  const kp_sph *sph = kp_test_sph(world);
  twin *before = calloc(1, sizeof *before);
  twin *after = calloc(1, sizeof *after);
  assert_non_null(before);
  assert_non_null(after);
  read_twin(world, before);
  kp_step_report report;
  assert_ok(kp_world_step(world, 1.0, &report));
  assert_true(sph->implicit->is_confined);
  read_twin(world, after);
  kp_sph_side *side = &sph->implicit->sides.data[0];
  const uint64_t *id = kp_buffer_host(&side->set->id->buffers[0], KP_ACCESS_READ);
  const kp_real *rate = kp_buffer_host(&side->rate, KP_ACCESS_READ);
  const kp_real *p = kp_buffer_host(&side->pressure[KP_SPH_DIVERGENCE]->buffers[0], KP_ACCESS_READ);
  for (int i = 0; i < TWIN_N; ++i) {
    twin_moments(before, sph, i);
    before->pressure[id[i]] = (double)p[i];
  }
  twin_rates(before, sph);
  double worst[3] = { 0.0, 0.0, 0.0 };
  double h = 0.5 * sph->support;
  double largest = 0.0;
  for (int i = 0; i < TWIN_N; ++i) {
    int k = (int)id[i];
    double u[2];
    worst[0] = kp_test_most(worst[0], fabs((double)rate[i] - before->rate[k]) * report.dt);
    twin_push(before, sph, report.dt, k, u);
    for (int c = 0; c < 2; ++c) {
      worst[1] = kp_test_most(worst[1], fabs(u[c] - after->v[k][c]));
      largest = kp_test_most(largest, fabs(after->v[k][c] - before->v[k][c]));
      double way = after->x[k][c] - before->x[k][c] - report.dt * after->v[k][c];
      way -= round(way);
      // a quarter of h^2 at this step; noise is at most 0.05/h
      double shift = way + 0.25 * h * h * before->shift[k][c];
      worst[2] = kp_test_most(worst[2], fabs(shift) / (0.25 * 0.05 * h));
    }
  }
  print_message("  divergence %.1e, velocity %.1e of %.2f m/s, way beyond the shift %.2f of the "
                "noise\n",
                worst[0], worst[1], largest, worst[2]);
  assert_true(largest > 0.1);
  assert_between(worst[0], 0.0, KP_TOL(5e-5, 1e-6));
  assert_between(worst[1], 0.0, KP_TOL(5e-5, 1e-6));
  assert_between(worst[2], 0.5, 1.001);
  free(before);
  free(after);
  kp_world_destroy(&world);
}

// ---- what counts as confined --------------------------------------------------------------------

typedef struct container {
  double height;  // of the water, in a box of 0.4 m
  int domain_walls;
  bool has_body;
} container;

// Shares of steps without a free surface.
static double confined_share(const container *c) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.4, 1));
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  s.sph.domain_walls = c->domain_walls;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, -1), kp_vec3_make(0.4, c->height, 1), 0.02);
  assert_ok(kp_world_add_liquid(world, &water));
  if (c->has_body) {
    kp_body_def ball = kp_default_body_def();
    snprintf(ball.name, sizeof ball.name, "ball");
    ball.shape = kp_test_ball(kp_vec3_make(0.2, 0.2, 0), 0.06);
    ball.density = 2000.0;
    assert_ok(kp_world_add_body(world, &ball));
  }
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  kp_test_log_end();
  int n = 0;
  for (int k = 0; k < 60; ++k) {
    assert_ok(kp_world_step(world, 0.01, NULL));
    n += kp_test_sph(world)->implicit->is_confined ? 1 : 0;
  }
  kp_world_destroy(&world);
  return n / 60.0;
}

static void test_surfaces(void **state) {
  (void)state;
  double full = confined_share(&(container){ .height = 0.4 });
  double with_body = confined_share(&(container){ .height = 0.4, .has_body = true });
  double pool = confined_share(&(container){ .height = 0.38 });
  double planes = confined_share(&(container){ .height = 0.4, .domain_walls = 1 });
  print_message("  steps without a free surface: full %.2f, with a body %.2f, a pool %.2f, between "
                "planes %.2f\n",
                full, with_body, pool, planes);
  assert_near(full, 1.0, 0.0);
  assert_near(pool, 0.0, 0.0);
  assert_near(planes, 0.0, 0.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_twin),
    cmocka_unit_test(test_surfaces),
    cmocka_unit_test(test_vortices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
