// Viscosity of fractional order in SPH: forces against all pairs with histories kept by hand,
// momentum, viscosity of shear waves, walls, newcomers, and bits. Stable steps are in
// test_sph_fractional_steps.c.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"

#include "support/claims.h"
#include "support/worlds.h"

#define DX 0.02
#define STEPS 14  // more than the ten of the memory
#define MOST 2000
#define PI 3.14159265358979323846

// ---- forces -------------------------------------------------------------------------------------

typedef struct variant {
  const char *name;
  int dimension, kernel, pressure, density;
  bool fused, hybrid, raw, periodic, two_liquids;
} variant;

// Liquids without pressure: what accelerates them is viscosity.
static kp_world *make_blob(const variant *b, bool is_fractional) {
  kp_vec3 hi = kp_vec3_make(12 * DX, 12 * DX, b->dimension == 2 ? 1 : 8 * DX);
  kp_test_settings s = kp_test_settings_make(b->dimension, kp_vec3_make(0, 0, 0), hi);
  if (b->periodic) {
    s.domain.boundary_x = s.domain.boundary_y = s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  } else {
    s.domain.min = kp_vec3_make(-9, -9, -9);
    s.domain.max = kp_vec3_make(9, 9, 9);
  }
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt = 5e-4;
  s.sph.kernel = b->kernel;
  s.sph.pressure = b->pressure;
  s.sph.density = b->density;
  s.sph.fused = b->fused;
  s.sph.domain_walls = 1;
  s.sph.viscosity_model = is_fractional ? KP_SPH_VISCOSITY_FRACTIONAL : 0;
  s.sph.fractional_hybrid = b->hybrid;
  s.sph.fractional_mode = b->raw ? KP_SPH_FRACTIONAL_RAW : KP_SPH_FRACTIONAL_CALIBRATED;
  kp_world *world = kp_test_world(&s);
  kp_vec3 half = hi;
  half.x = b->two_liquids ? 6 * DX : hi.x;
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), half, DX);
  water.viscosity = 3.0;
  water.stiffness = 1e-9;
  water.jitter = 0.1;
  assert_ok(kp_world_add_liquid(world, &water));
  if (b->two_liquids) {
    kp_liquid_def oil = kp_test_liquid("oil", kp_vec3_make(half.x, 0, 0), hi, DX);
    oil.viscosity = 7.0;
    oil.stiffness = 1e-9;
    oil.jitter = 0.1;
    oil.rest_density = 800.0;
    assert_ok(kp_world_add_liquid(world, &oil));
  }
  assert_ok(kp_world_build(world));
  return world;
}

// A liquid's particles by id.
typedef struct frame {
  int64_t n;
  double x[MOST][3], v[MOST][3], past[MOST][3], a[MOST][3], density[MOST], flag[MOST];
} frame;

static void read_component(kp_set *set, const char *name, int c, double *out, size_t stride) {
  kp_field *field = kp_space_find(set->space, name);
  const kp_gid *ids = kp_buffer_host(&set->id->buffers[0], KP_ACCESS_READ);
  const void *data = kp_buffer_host(&field->buffers[c], KP_ACCESS_READ);
  for (int64_t i = 0; i < set->space->n; ++i) {
    double value =
        field->type == KP_TYPE_POS ? ((const double *)data)[i] : (double)((const kp_real *)data)[i];
    out[ids[i] * stride] = value;
  }
}

static void read_state(kp_world *world, const char *name, frame *out) {
  kp_set *set = kp_test_fluid(world, name)->medium.set;
  out->n = set->space->n;
  assert_true(out->n <= MOST);
  for (int c = 0; c < 3; ++c) {
    read_component(set, "position", c, &out->x[0][c], 3);
    read_component(set, "velocity", c, &out->v[0][c], 3);
  }
}

static void read_forces(kp_world *world, const char *name, frame *out) {
  kp_set *set = kp_test_fluid(world, name)->medium.set;
  for (int c = 0; c < 3; ++c) {
    read_component(set, "acceleration", c, &out->a[0][c], 3);
    read_component(set, "past_velocity", c, &out->past[0][c], 3);
  }
  // what the pass divided by: the fused and the continuity form have advanced theirs since
  read_component(set, "inverse_density", 0, out->density, 1);
  for (int64_t i = 0; i < out->n; ++i) {
    out->density[i] = 1.0 / out->density[i];
  }
  if (kp_space_find(set->space, "colliding") != NULL) {
    read_component(set, "colliding", 0, out->flag, 1);
  }
}

// Mean of the recorded velocities with the weights of Eq. 4.7, divided by the gain.
static double check_past(const frame *now, const frame *history, int n_steps, double h,
                         double *gain) {
  kp_frac_table table;
  double w[STEPS + 1];
  assert_ok(
      kp_frac_table_make((kp_frac_rule){ KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, 0.5, 10 }, &table));
  *gain = kp_frac_table_weights(&table, n_steps, h, w);
  int64_t reach = kp_frac_table_reach(&table, n_steps);
  kp_frac_table_free(&table);
  double worst = 0.0;
  for (int64_t i = 0; i < now->n; ++i) {
    for (int c = 0; c < 3; ++c) {
      double sum = 0.0;
      for (int64_t k = 0; k <= reach; ++k) {
        sum += (n_steps > 0 ? w[k] / *gain : 1.0) * history[n_steps - k].v[i][c];
      }
      worst = fmax(worst, fabs(sum - now->past[i][c]));
    }
  }
  return worst;
}

static double wrap(double d, double period) {
  return period > 0.0 ? d - period * round(d / period) : d;
}

// Kernel gradient over r, by differences of the scalar reference.
static double laplacian(const kp_sph *sph, double r, int dimension) {
  double h = sph->support;
  if (sph->g_kind == KP_SMOOTH_SPIKY || sph->g_kind == KP_SMOOTH_POLY6) {
    double c = dimension == 2 ? 40.0 / (PI * pow(h, 5)) : 45.0 / (PI * pow(h, 6));
    return r < h ? c * (h - r) : 0.0;
  }
  double e = 1e-5 * h;
  double slope = (kp_smooth_value(sph->g_kind, r + e, h, dimension) -
                  kp_smooth_value(sph->g_kind, r - e, h, dimension)) /
                 (2.0 * e);
  return r > e ? -2.0 * slope / r : 0.0;
}

// Eq. 4.6 over all pairs of one liquid with another.
static void add_forces(const kp_sph *sph, const variant *b, const frame *i_set, const frame *j_set,
                       double mass, double viscosity, double (*out)[3]) {
  const double period[3] = { b->periodic ? 12 * DX : 0, b->periodic ? 12 * DX : 0,
                             b->periodic && b->dimension == 3 ? 8 * DX : 0 };
  for (int64_t i = 0; i < i_set->n; ++i) {
    for (int64_t j = 0; j < j_set->n; ++j) {
      double r2 = 0.0;
      for (int c = 0; c < 3; ++c) {
        double d = wrap(i_set->x[i][c] - j_set->x[j][c], period[c]);
        r2 += d * d;
      }
      if (r2 == 0.0 || r2 >= sph->support * sph->support) {
        continue;
      }
      bool past = !b->hybrid || i_set->flag[i] > 0.0 || j_set->flag[j] > 0.0;
      double s = mass * viscosity * laplacian(sph, sqrt(r2), b->dimension) /
                 (i_set->density[i] * j_set->density[j]);
      for (int c = 0; c < 3; ++c) {
        out[i][c] +=
            s * (past ? j_set->past[j][c] - i_set->past[i][c] : j_set->v[j][c] - i_set->v[i][c]);
      }
    }
  }
}

static const char *const liquid_names[2] = { "water", "oil" };

static void check_variant(const variant *b) {
  static frame history[2][STEPS + 1];
  static double sums[MOST][3];
  int n_liquids = b->two_liquids ? 2 : 1;
  memset(history, 0, sizeof history);
  kp_world *world = make_blob(b, true);
  const kp_sph *sph = kp_test_sph(world);
  for (int l = 0; l < n_liquids; ++l) {
    kp_test_stir(world, liquid_names[l], 1.0, 7 + (uint64_t)l);
  }
  double worst_past = 0.0;
  double worst_force = 0.0;
  int64_t n_flagged = 0;
  int64_t n_all = 0;
  for (int n = 0; n < STEPS; ++n) {
    for (int l = 0; l < n_liquids; ++l) {
      read_state(world, liquid_names[l], &history[l][n]);
    }
    kp_test_steps(world, 1);
    double gain = 1.0;
    for (int l = 0; l < n_liquids; ++l) {
      read_forces(world, liquid_names[l], &history[l][n]);
      worst_past = fmax(worst_past, check_past(&history[l][n], history[l], n, 5e-4, &gain));
    }
    for (int l = 0; l < n_liquids; ++l) {
      const frame *now = &history[l][n];
      memset(sums, 0, sizeof sums);
      const kp_sph_fluid *fluid = kp_test_fluid(world, liquid_names[l]);
      for (int m = 0; m < n_liquids; ++m) {
        const kp_sph_fluid *other = kp_test_fluid(world, liquid_names[m]);
        double viscosity = 0.5 * (fluid->def.viscosity + other->def.viscosity);
        viscosity *= b->raw ? gain : 1.0;
        add_forces(sph, b, now, &history[m][n], other->medium.mass, viscosity, sums);
      }
      double largest = 1e-30;
      double error = 0.0;
      for (int64_t i = 0; i < now->n; ++i) {
        for (int c = 0; c < 3; ++c) {
          largest = fmax(largest, fabs(sums[i][c]));
          error = fmax(error, fabs(now->a[i][c] - sums[i][c]));
        }
        n_flagged += now->flag[i] > 0.0;
      }
      n_all += now->n;
      bool starts_raw = b->raw && n == 0;
      assert_true(starts_raw ? error < 1e-6 : largest > 0.01);
      error = starts_raw ? 0.0 : error;
      worst_force = fmax(worst_force, error / largest);
    }
  }
  print_message("  %-28s past off by %.1e m/s, force by %.1e, flagged %.2f\n", b->name, worst_past,
                worst_force, (double)n_flagged / (double)n_all);
  assert_true(worst_past < KP_TOL(3e-6, 1e-13));
  assert_true(worst_force < KP_TOL(2e-4, 1e-6));
  // both kinds of pairs were there
  assert_true(!b->hybrid || (n_flagged > 0 && n_flagged < n_all));
  kp_world_destroy(&world);
}

static void test_forces_against_all_pairs(void **state) {
  (void)state;
  static const variant variants[] = {
    { "2D mueller mean", 2, KP_SPH_MUELLER, 0, 0, false, false, false, true, false },
    { "2D raw", 2, KP_SPH_CUBIC, 1, 0, false, false, true, true, false },
    { "2D fused", 2, KP_SPH_WENDLAND, 1, 0, true, false, false, true, false },
    { "2D two liquids", 2, KP_SPH_CUBIC, 1, 0, false, false, false, false, true },
    { "2D continuity", 2, KP_SPH_CUBIC, 1, 1, false, false, false, true, false },
    { "2D continuity raw, two liquids", 2, KP_SPH_WENDLAND, 1, 1, false, false, true, true, true },
    { "2D hybrid", 2, KP_SPH_POLY6, 1, 0, false, true, false, true, false },
    { "2D hybrid, two liquids", 2, KP_SPH_DESBRUN, 0, 0, false, true, false, true, true },
    { "3D", 3, KP_SPH_CUBIC, 1, 0, false, false, false, true, false },
    { "3D hybrid", 3, KP_SPH_WENDLAND, 1, 0, false, true, false, false, false },
  };
  for (size_t k = 0; k < sizeof variants / sizeof variants[0]; ++k) {
    check_variant(&variants[k]);
  }
}

// ---- momentum -----------------------------------------------------------------------------------

// Claim 27 for Eq. 4.6: what pairs exchange is equal and opposite, with and without pressure.
static void test_momentum(void **state) {
  (void)state;
  static const variant variants[] = {
    { "calibrated", 3, KP_SPH_CUBIC, 1, 0, false, false, false, true, true },
    { "raw", 2, KP_SPH_MUELLER, 0, 0, false, false, true, true, true },
    { "continuity", 2, KP_SPH_CUBIC, 1, 1, false, false, false, true, true },
    { "hybrid", 2, KP_SPH_CUBIC, 1, 0, false, true, false, true, true },
  };
  double worst = 0.0;
  for (size_t k = 0; k < sizeof variants / sizeof variants[0]; ++k) {
    kp_world *world = make_blob(&variants[k], true);
    kp_test_stir(world, "water", 1.0, 3);
    kp_test_stir(world, "oil", 1.0, 4);
    kp_test_sums before = kp_test_sums_of(world);
    kp_test_steps(world, 100);
    kp_test_sums after = kp_test_sums_of(world);
    double drift = kp_vec3_length(kp_vec3_sub(after.momentum, before.momentum)) / before.size;
    print_message("  momentum, %-11s drift %.2e of sum m|v| in 100 steps, kinetic energy %.3f\n",
                  variants[k].name, drift, after.kinetic_energy / before.kinetic_energy);
    assert_true(after.kinetic_energy < 0.9 * before.kinetic_energy);
    worst = fmax(worst, drift);
    kp_world_destroy(&world);
  }
  assert_true(worst < KP_TOL(2e-6, 1e-14));
  kp_claim claim = { "ozgen-27-fsph",
                     "fractional viscosity conserves momentum to round-off (drift over sum m|v|)",
                     "two liquids, periodic, 100 steps, four forms", worst, KP_TOL(2e-6, 1e-14) };
  kp_claim_at_most(&claim);
}

// ---- how viscous it is --------------------------------------------------------------------------

// Decay rate of a shear wave in a periodic box, once the memory is full.
static double decay_rate(int model, int mode, double seconds, double *gain) {
  const int n = 20;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.domain.boundary_x = s.domain.boundary_y = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt = 1e-3;
  s.sph.viscosity_model = model;
  s.sph.fractional_mode = mode;
  s.sph.fractional_seconds = seconds;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1), 1.0 / n);
  water.viscosity = 5.0;
  water.sound_speed = 1.0;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_set *set = kp_test_fluid(world, "water")->medium.set;
  const double *y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ);
  kp_real *v = kp_buffer_host(&set->velocity->buffers[0], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < set->space->n; ++i) {
    v[i] = (kp_real)(0.01 * sin(2.0 * PI * y[i]));
  }
  double amplitude[2];
  for (int k = 0; k < 2; ++k) {
    kp_test_steps(world, 200);
    kp_test_particles p = kp_test_particles_read(world, "water");
    amplitude[k] = 0.0;
    for (int64_t i = 0; i < p.n; ++i) {
      amplitude[k] += p.v[0][i] * sin(2.0 * PI * p.x[1][i]);
    }
    kp_test_particles_free(&p);
  }
  kp_population_stats stats;
  assert_ok(kp_world_stats(world, 0, &stats));
  *gain = stats.memory_gain;
  kp_world_destroy(&world);
  return log(amplitude[0] / amplitude[1]) / 0.2;
}

// Steady flow feels the same viscosity with `calibrated`, and S times it with `raw` (the trap of
// Eq. 4.6: the number of the viscosity is used with a derivative of another unit).
static void test_effective_viscosity(void **state) {
  (void)state;
  double gain;
  double plain = decay_rate(KP_SPH_VISCOSITY_LAPLACIAN, 0, 0.0, &gain);
  assert_true(isnan(gain));
  double calibrated =
      decay_rate(KP_SPH_VISCOSITY_FRACTIONAL, KP_SPH_FRACTIONAL_CALIBRATED, 0.0, &gain);
  double raw = decay_rate(KP_SPH_VISCOSITY_FRACTIONAL, KP_SPH_FRACTIONAL_RAW, 0.0, &gain);
  // ten steps of 1 ms: S = 2 sqrt(0.01 / pi)
  assert_near_relative(gain, 0.112838, 1e-4);
  print_message("  shear wave: plain %.4f /s (nu k^2 %.4f), calibrated %.4f, raw %.4f = %.4f "
                "times, S = %.4f\n",
                plain, 0.005 * 4.0 * PI * PI, calibrated, raw, raw / plain, gain);
  assert_near_relative(plain, 0.005 * 4.0 * PI * PI, 0.03);
  assert_near_relative(calibrated, plain, 0.005);
  assert_near_relative(raw / plain, gain, 0.005);
  // a window in seconds that the steps do not divide
  double longer = decay_rate(KP_SPH_VISCOSITY_FRACTIONAL, KP_SPH_FRACTIONAL_RAW, 0.0631, &gain);
  assert_near_relative(gain, kp_frac_gain(0.5, 0.0631), 1e-3);
  assert_near_relative(longer / plain, gain, 0.01);
}

// ---- walls --------------------------------------------------------------------------------------

#define WIDTH 0.02  // m between the walls
#define ROWS 20

// Couette flow on its way to the steady state under a lid that moves: mean velocity of the rows.
static void couette_rows(const kp_sph_def *def, double seconds, double *rows, int64_t *n_steps) {
  double dx = WIDTH / ROWS;
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(8 * dx, WIDTH + 4 * dx, 1));
  s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph = *def;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(8 * dx, WIDTH, 1), dx);
  water.viscosity = 1.0;
  water.sound_speed = 0.5;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_collider_def lid = kp_default_collider_def();
  snprintf(lid.name, sizeof lid.name, "lid");
  lid.shape =
      kp_test_box(kp_vec3_make(-40 * dx, WIDTH, -1), kp_vec3_make(48 * dx, WIDTH + 3 * dx, 1));
  const double places[] = { 0, 0, 0, 0.01, 0, 0, 0.02, 0, 0 };
  lid.position = (kp_curve){ .components = 3, .n = 3, .interval = 1.0, .samples = places };
  assert_ok(kp_world_add_collider(world, &lid));
  assert_ok(kp_world_build(world));
  kp_step_report report;
  assert_ok(kp_world_advance(world, seconds, &report));
  *n_steps = report.steps;
  kp_test_particles p = kp_test_particles_read(world, "water");
  double counts[ROWS] = { 0 };
  memset(rows, 0, ROWS * sizeof *rows);
  for (int64_t i = 0; i < p.n; ++i) {
    int row = (int)(p.x[1][i] / dx);
    row = row < 0 ? 0 : row >= ROWS ? ROWS - 1 : row;
    rows[row] += p.v[0][i];
    counts[row] += 1.0;
  }
  for (int r = 0; r < ROWS; ++r) {
    rows[r] /= fmax(counts[r], 1.0);
  }
  kp_test_particles_free(&p);
  kp_world_destroy(&world);
}

static void test_walls(void **state) {
  (void)state;
  double plain[ROWS];
  double rows[ROWS];
  int64_t plain_steps;
  int64_t n_steps;
  kp_sph_def def = kp_default_sph_def();
  couette_rows(&def, 0.06, plain, &plain_steps);
  def.viscosity_model = KP_SPH_VISCOSITY_FRACTIONAL;
  for (int form = 0; form < 3; ++form) {
    def.density = form == 1;
    def.fractional_hybrid = form == 2;
    couette_rows(&def, 0.06, rows, &n_steps);
    double worst = 0.0;
    for (int r = 0; r < ROWS; ++r) {
      worst = fmax(worst, fabs(rows[r] - plain[r]) / 0.01);
    }
    print_message("  Couette, %s: off by %.4f U from plain viscosity; %d steps instead of %d\n",
                  form == 0   ? "summation"
                  : form == 1 ? "continuity"
                              : "hybrid",
                  worst, (int)n_steps, (int)plain_steps);
    assert_true(worst < 0.02);
    assert_true(form == 2 || n_steps * 2 < plain_steps);
  }
}

// ---- newcomers ----------------------------------------------------------------------------------

// A jet in open space has always had its velocity, whenever its particles came.
static void test_newcomers_bring_their_past(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.domain_walls = 1;
  s.sph.viscosity_model = KP_SPH_VISCOSITY_FRACTIONAL;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), DX);
  water.empty = true;
  water.stiffness = 1e-9;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_emitter_def jet = kp_default_emitter_def();
  snprintf(jet.name, sizeof jet.name, "jet");
  snprintf(jet.into, sizeof jet.into, "water");
  jet.position = kp_vec3_make(-0.5, 0, 0);
  jet.direction = kp_vec3_make(1, 0, 0);
  jet.radius = 3.2 * DX;
  jet.speed = kp_curve_constant(2.0);
  assert_ok(kp_world_add_emitter(world, &jet));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.2, NULL));
  kp_set *set = kp_test_fluid(world, "water")->medium.set;
  assert_true(set->space->n > 300);
  const kp_real *past =
      kp_buffer_host(&kp_space_find(set->space, "past_velocity")->buffers[0], KP_ACCESS_READ);
  for (int64_t i = 0; i < set->space->n; ++i) {
    assert_near((double)past[i], 2.0, KP_TOL(2e-5, 1e-12));
  }
  // 10 steps of 3 components and a mark, a slot, and the mean
  double with = kp_space_bytes_per_element(set->space);
  kp_world_destroy(&world);
  s.sph.viscosity_model = KP_SPH_VISCOSITY_LAPLACIAN;
  world = kp_test_world(&s);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_emitter(world, &jet));
  assert_ok(kp_world_build(world));
  double without = kp_space_bytes_per_element(kp_test_fluid(world, "water")->medium.set->space);
  print_message("  memory: %.0f bytes a particle, %.0f more than without\n", with, with - without);
  assert_true(with - without >= (31 + 3) * sizeof(kp_real) + 4);
  assert_true(with - without <= (31 + 3) * sizeof(kp_real) + 8);
  kp_world_destroy(&world);
}

// ---- bits ---------------------------------------------------------------------------------------

static kp_world *bits_world(const char *backend, int integrator, bool hybrid) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.6, 0.32));
  s.backend = backend;
  s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  s.sph.viscosity_model = KP_SPH_VISCOSITY_FRACTIONAL;
  s.sph.fractional_hybrid = hybrid;
  s.sph.fractional_mode = hybrid ? KP_SPH_FRACTIONAL_CALIBRATED : KP_SPH_FRACTIONAL_RAW;
  s.sph.integrator = integrator;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.4, 0.32), DX);
  water.viscosity = 2.0;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_collider_def paddle = kp_default_collider_def();
  snprintf(paddle.name, sizeof paddle.name, "paddle");
  paddle.shape = kp_test_box(kp_vec3_make(-0.1, -0.2, 0), kp_vec3_make(0.1, 0.2, 0.32));
  const double places[] = { 0.55, 0.2, 0, 0.5, 0.2, 0, 0.55, 0.2, 0 };
  paddle.position = (kp_curve){ .components = 3, .n = 3, .interval = 0.05, .samples = places };
  assert_ok(kp_world_add_collider(world, &paddle));
  kp_emitter_def jet = kp_default_emitter_def();
  snprintf(jet.name, sizeof jet.name, "jet");
  snprintf(jet.into, sizeof jet.into, "water");
  jet.position = kp_vec3_make(0.2, 0.55, 0.16);
  jet.speed = kp_curve_constant(8.0);
  assert_ok(kp_world_add_emitter(world, &jet));
  kp_sink_def drain = kp_default_sink_def();
  snprintf(drain.name, sizeof drain.name, "drain");
  drain.shape = kp_test_box(kp_vec3_make(0, 0, 0.1), kp_vec3_make(0.2, 0.06, 0.2));
  assert_ok(kp_world_add_sink(world, &drain));
  assert_ok(kp_world_build(world));
  return world;
}

static uint64_t hash_of(kp_world *world) {
  uint64_t hash;
  assert_ok(kp_world_hash(world, &hash));
  return hash;
}

static uint64_t run_bits(const char *backend, int integrator, bool hybrid, bool rewinds) {
  kp_world *world = bits_world(backend, integrator, hybrid);
  kp_snapshot *snapshot = NULL;
  kp_test_steps(world, 8);
  if (rewinds) {
    assert_ok(kp_registry_save(world->registry, &snapshot));
    kp_test_steps(world, 5);
    assert_ok(kp_registry_rewind(world->registry, snapshot));
    assert_ok(kp_world_after_load(world));
  }
  kp_test_steps(world, 5);
  uint64_t hash = hash_of(world);
  kp_snapshot_free(&snapshot);
  kp_world_destroy(&world);
  return hash;
}

static void test_bits(void **state) {
  (void)state;
  for (int form = 0; form < 3; ++form) {
    int integrator = form == 2 ? KP_INTEGRATOR_RK2 : KP_INTEGRATOR_SYMPLECTIC;
    bool hybrid = form == 1;
    kp_parallel_set_threads(1);
    uint64_t reference = run_bits("cpu", integrator, hybrid, false);
    assert_true(run_bits("mirror", integrator, hybrid, false) == reference);
    assert_true(run_bits("cpu", integrator, hybrid, true) == reference);
    kp_parallel_set_threads(3);
    assert_true(run_bits("cpu", integrator, hybrid, false) == reference);
    kp_parallel_set_threads(0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_forces_against_all_pairs),   cmocka_unit_test(test_momentum),
    cmocka_unit_test(test_effective_viscosity),        cmocka_unit_test(test_walls),
    cmocka_unit_test(test_newcomers_bring_their_past), cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
