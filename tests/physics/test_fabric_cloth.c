// Mass-spring cloth of a grid (Bayraktar 2010, sections 4.1, 4.3, 5.4): springs, outer forces, the
// limits of explicit steps and what implicit ones bear.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

#include "support/claims.h"
#include "support/cloths.h"

static kp_vec3 vec(double x, double y, double z) {
  return kp_vec3_make(x, y, z);
}

// ---- springs ------------------------------------------------------------------------------------

// 31 x 21 nodes as in the tables: 4750 springs with Choi and Ko's diagonals, at most 12 per node
// without; the lists of nodes on the device hold every spring twice (B56).
static void test_connectivity(void **state) {
  (void)state;
  kp_cloth_def sheet = kp_test_sheet(30, 20, 0.04);
  int64_t off = 0;
  double ends = 0.0;
  for (int diagonals = 0; diagonals < 2; ++diagonals) {
    sheet.bend_diagonals = diagonals;
    kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
    kp_world *world = kp_test_cloth_world(&c);
    kp_deform *d = kp_test_deform(world);
    off += llabs(d->springs.n - (diagonals ? 4750 : 4750 - 2 * 29 * 19));
    const int32_t *start = kp_buffer_host(&d->springs.start, KP_ACCESS_READ);
    off += llabs(start[d->set->space->n] - 2 * d->springs.n);
    ends = start[d->set->space->n];
    int32_t most = 0;
    for (int64_t i = 0; i < d->set->space->n; ++i) {
      most = start[i + 1] - start[i] > most ? start[i + 1] - start[i] : most;
    }
    off += llabs(most - (diagonals ? 16 : 12));
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "bayraktar-B56",
                     .text = "the device's table of springs has each twice, once for either end",
                     .size = "cloth of 31 x 21 points, with and without long diagonals" };
  kp_claim_all(&claim,
               { "springs, ends, most of a node: off the counts", (double)off, KP_AT_MOST, 0 },
               { "ends in the table", ends, KP_AT_LEAST, 9500 });
  assert_int_equal(off, 0);
}

// What the tests of B25 find.
static struct {
  double constants;  // of families, relative error
  double hanging;    // length of a spring under a weight, error [m]
} looks;

// Every family has its own constant [N/m].
static void test_constants(void **state) {
  (void)state;
  kp_cloth_def sheet = kp_test_sheet(6, 5, 0.1);
  sheet.stiffness = 50.0;
  sheet.shear = 20.0;
  sheet.bend_stiffness = 2.0;
  kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
  kp_world *world = kp_test_cloth_world(&c);
  kp_deform *d = kp_test_deform(world);
  const kp_real *k = kp_buffer_host(&d->springs.stiffness, KP_ACCESS_READ);
  const kp_real *rest = kp_buffer_host(&d->springs.rest, KP_ACCESS_READ);
  const double wanted[] = {
    [KP_SPRING_EDGE] = 50.0, [KP_SPRING_SHEAR] = 20.0, [KP_SPRING_BEND] = 2.0
  };
  for (int64_t s = 0; s < d->springs.n; ++s) {
    double of_family = (double)k[s] / (double)rest[s] / wanted[d->springs.kinds.data[s]];
    looks.constants = kp_test_most(looks.constants, fabs(of_family - 1.0));
  }
  assert_near(looks.constants, 0.0, 1e-6);
  kp_world_destroy(&world);
}

// A mass on a spring hangs m g/k below its rest.
static void test_hanging_spring(void **state) {
  (void)state;
  kp_cloth_def sheet = kp_test_sheet(1, 1, 0.1);
  sheet.shear = 0.0;
  sheet.bend_stiffness = 0.0;
  sheet.stiffness = 50.0;
  sheet.damping = 0.5;
  kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
  kp_pin_def top = kp_test_pin("top", vec(-1, -0.01, -1), vec(1, 0.01, 1));
  c.pins[0] = &top;
  kp_world *world = kp_test_cloth_world(&c);
  kp_test_until(world, 4.0, 0.5);
  kp_deform *d = kp_test_deform(world);
  const kp_real *mass = kp_buffer_host(&d->mass, KP_ACCESS_READ);
  kp_vec3 *x = kp_test_nodes(world);
  for (int i = 2; i < 4; ++i) {
    double wanted = (double)mass[i] * 9.81 / 50.0;
    looks.hanging = kp_test_most(looks.hanging, fabs(-0.1 - x[i].y - wanted));
  }
  assert_near(looks.hanging, 0.0, KP_TOL(2e-6, 1e-8));
  kp_free(x);
  kp_world_destroy(&world);
}

// ---- outer forces (B26) -------------------------------------------------------------------------

static void test_wind_on_the_normal(void **state) {
  (void)state;
  kp_cloth_def sheet = kp_test_sheet(5, 5, 0.1);
  sheet.drag = 2.0;
  sheet.velocity = vec(0.7, 0.4, 1.0);  // its normal is z
  kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
  c.gravity = 0.0;
  kp_world *world = kp_test_cloth_world(&c);
  kp_population_stats before = kp_test_stats(world, "sheet");
  kp_test_steps(world, 20);
  kp_population_stats after = kp_test_stats(world, "sheet");
  // rims feel another drag per mass: the sheet bends a little, and its normals with it
  double tangent =
      fmax(fabs(after.momentum.x - before.momentum.x), fabs(after.momentum.y - before.momentum.y));
  assert_near(tangent, 0.0, KP_TOL(1e-6, 1e-8));
  // all of it at the rate drag area / mass, 20 explicit steps
  double rate = 2.0 * 0.25 / before.mass;
  double left = after.momentum.z / (before.momentum.z * pow(1.0 - 1e-3 * rate, 20));
  assert_near(left, 1.0, 1e-4);
  kp_claim claim = { .id = "bayraktar-B26-wind",
                     .text = "wind pushes a cloth along its normal only",
                     .size = "cloth of 6 x 6 points that flies askew, 20 steps" };
  kp_claim_all(
      &claim,
      { "change of the momentum in the plane [kg m/s]", tangent, KP_AT_MOST, KP_TOL(1e-6, 1e-8) },
      { "momentum along the normal, off the law, relative", fabs(left - 1.0), KP_AT_MOST, 1e-4 });
  kp_world_destroy(&world);
}

// The user's hand: a spring from a picked node to a point.
static void pull(const kp_force_view *view, void *user) {
  const double *to = user;
  view->ax[0] += (kp_real)(900.0 * (to[0] - view->x[0]));
  view->ay[0] += (kp_real)(900.0 * (to[1] - view->y[0]));
  view->az[0] += (kp_real)(900.0 * (to[2] - view->z[0]));
}

static void test_hand(void **state) {
  (void)state;
  kp_cloth_def sheet = kp_test_sheet(4, 4, 0.1);
  sheet.viscosity = 4.0;
  sheet.damping = 0.2;
  sheet.stiffness = 30.0;
  kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
  c.gravity = 0.0;
  kp_world *world = kp_test_cloth_world(&c);
  double to[3] = { 0.5, 0.6, 0.7 };
  kp_world_set_force(world, pull, to);
  kp_test_until(world, 12.0, 1.0);
  kp_vec3 *x = kp_test_nodes(world);
  double off = kp_vec3_length(kp_vec3_sub(x[0], vec(0.5, 0.6, 0.7)));
  assert_near(off, 0.0, 2e-3);
  kp_claim claim = { .id = "bayraktar-B26",
                     .text = "the user's hand pulls a node of a cloth to its point",
                     .size = "cloth of 5 x 5 points, 12 s" };
  kp_claim_all(&claim, { "distance at the end [m]", off, KP_AT_MOST, 2e-3 });
  kp_free(x);
  kp_world_destroy(&world);
}

// S46: a quarter of the stiffness when pushed together. Energy and the first impulse of a sheet
// that is stretched or pressed by 1 % along x.
static void test_two_stiffnesses(void **state) {
  (void)state;
  double energy[2], kinetic[2];
  for (int pressed = 0; pressed < 2; ++pressed) {
    kp_cloth_def sheet = kp_test_sheet(6, 6, 0.1);
    sheet.stiffness = 100.0;
    sheet.compression = 25.0;
    sheet.shear = sheet.bend_stiffness = 0.0;
    kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-7);  // the first impulse alone
    c.gravity = 0.0;
    kp_world *world = kp_test_cloth_world(&c);
    kp_vec3 *x = kp_test_nodes(world);
    for (int i = 0; i < 49; ++i) {
      double factor = pressed ? 0.99 : 1.01;
      kp_test_node(world, i, vec(factor * x[i].x, x[i].y, x[i].z), vec(0, 0, 0));
    }
    kp_free(x);
    energy[pressed] = kp_test_stats(world, "sheet").internal_energy;
    kp_test_steps(world, 1);
    kinetic[pressed] = kp_test_stats(world, "sheet").kinetic_energy;
    kp_world_destroy(&world);
  }
  // 42 springs along x, each k x^2/2
  assert_near_relative(energy[0], 42.0 * 0.5 * 100.0 * 1e-6, KP_TOL(1e-3, 1e-9));
  assert_near_relative(energy[1] / energy[0], 0.25, KP_TOL(1e-3, 1e-9));
  assert_near_relative(kinetic[1] / kinetic[0], 0.0625, KP_TOL(2e-3, 1e-9));
}

// A force field acts on the deformable it names and on no other one of the same set.
static void test_force_on_one(void **state) {
  (void)state;
  static const char *const names[] = { "a", "b", "c" };
  for (int who = -1; who < 3; ++who) {
    kp_test_settings s = kp_test_settings_make(3, vec(-5, -5, -5), vec(5, 5, 5));
    s.simulation.gravity = vec(0, 0, 0);
    kp_world *world = kp_test_world(&s);
    for (int k = 0; k < 3; ++k) {
      kp_cloth_def sheet = kp_test_sheet(3, 3, 0.1);
      snprintf(sheet.name, sizeof sheet.name, "%s", names[k]);
      sheet.position = vec(k, 0, 0);
      sheet.scheme = k == 1 ? KP_SCHEME_NEWMARK : KP_SCHEME_SYMPLECTIC;
      assert_ok(kp_world_add_cloth(world, &sheet));
    }
    kp_force_def push = kp_default_force_def();
    snprintf(push.name, sizeof push.name, "push");
    snprintf(push.on, sizeof push.on, "%s", who >= 0 ? names[who] : "");
    push.acceleration = kp_curve_constant3(vec(0, 3, 0));
    assert_ok(kp_world_add_force(world, &push));
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 0.1, NULL));
    for (int k = 0; k < 3; ++k) {
      kp_population_stats stats = kp_test_stats(world, names[k]);
      double wanted = who == k || who < 0 ? 0.3 : 0.0;
      assert_near(stats.momentum.y / stats.mass, wanted, 1e-5);
    }
    kp_world_destroy(&world);
  }
}

// Damping takes energy from a ringing cloth; none is left free to grow (the printed sign of Eq. 4.2
// feeds it).
static void test_damping(void **state) {
  (void)state;
  double left[2];
  for (int damped = 0; damped < 2; ++damped) {
    kp_cloth_def sheet = kp_test_sheet(6, 6, 0.1);
    sheet.damping = damped ? 0.05 : 0.0;
    sheet.stiffness = 50.0;
    sheet.scheme = KP_SCHEME_VELOCITY_VERLET;
    kp_test_cloth c = kp_test_cloth_make(&sheet, 5e-4);
    c.gravity = 0.0;
    kp_world *world = kp_test_cloth_world(&c);
    kp_test_node(world, 10, vec(-0.1, -0.1, 0.03), vec(0, 0, 0));
    double first = kp_test_energy(world);
    double last = first;
    for (int k = 0; k < 20; ++k) {
      kp_test_steps(world, 50);
      double now = kp_test_energy(world);
      assert_true(!damped || now <= last * 1.001);
      last = now;
    }
    left[damped] = last / first;
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "bayraktar-B25",
                     .text =
                         "springs of a cloth have the constants of their family and hang by mg/k",
                     .size =
                         "cloths of 2 x 2 and 7 x 6 points; one of 7 x 7 that rings, 1000 steps" };
  kp_claim_all(
      &claim,
      { "length under a weight, off m g/k [m]", looks.hanging, KP_AT_MOST, KP_TOL(2e-6, 1e-8) },
      { "constants of families, relative error", looks.constants, KP_AT_MOST, 1e-6 },
      { "energy left with damping, over the first", left[1], KP_LESS, 0.3 },
      { "energy without damping, off the first", fabs(left[0] - 1.0), KP_AT_MOST, 0.03 });
  assert_between(left[0], 0.97, 1.03);
  assert_true(left[1] < 0.3);
}

// ---- C29: the longest explicit step -------------------------------------------------------------

// A system of one part, in an environment of its own.
typedef struct bench {
  kp_world *world;  // lends its environment
  kp_env env;
  kp_deform *deform;
} bench;

static bench bench_make(kp_part *part, const kp_solids_def *solids) {
  kp_cloth_def sheet = kp_test_sheet(2, 2, 0.1);
  kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
  bench b = { .world = kp_test_cloth_world(&c) };
  b.env = b.world->env;
  b.env.parts.data = NULL;
  b.env.parts.count = b.env.parts.capacity = 0;
  b.env.simulation.gravity = vec(0, 0, 0);
  // nothing stops what runs away
  b.env.domain.boundary_x = b.env.domain.boundary_y = b.env.domain.boundary_z = KP_BOUNDARY_OPEN;
  assert_ok(kp_registry_create(b.env.backend, &b.env.registry));
  kp_part *parts[1] = { part };
  assert_ok(kp_deform_create(&b.env, solids, parts, 1, NULL, 0, &b.deform));
  return b;
}

static void bench_free(bench *b) {
  void *self = b->deform;
  kp_deform_method.destroy(&self);
  kp_env_free_parts(&b->env);
  kp_registry_destroy(&b->env.registry);
  kp_world_destroy(&b->world);
}

// n equal masses in a row, undamped, with a small disturbance that holds all modes.
static kp_part chain(int n, double m, double k) {
  kp_part part = { .scheme = KP_SCHEME_VELOCITY_VERLET };
  snprintf(part.name, sizeof part.name, "chain");
  for (int i = 0; i < n; ++i) {
    assert_ok(kp_part_add_node(&part, vec(0.01 * i, 0, 0), m, NULL));
  }
  for (int i = 0; i + 1 < n; ++i) {
    assert_ok(kp_part_add_spring(&part, i, i + 1, KP_SPRING_EDGE, k * 0.01, 0.0));
  }
  for (int i = 0; i < n; ++i) {
    part.v.data[i].x = 1e-4 * sin(37.0 * i * i);
  }
  return part;
}

#define BLOWN_UP 1e300  // growth of what is no number any more

// Kinetic energy after `steps` steps over the greatest it could be: 1 where it is stable.
static double growth(kp_part *part, double dt, int steps) {
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = dt;
  bench b = bench_make(part, &solids);
  double first = 0.0, last = 0.0;
  kp_population_stats stats;
  assert_ok(kp_deform_method.stats(b.deform, &b.env, 0, &stats));
  first = stats.kinetic_energy;
  b.env.dt = dt;
  for (int k = 0; k < steps; ++k) {
    b.env.time = k * dt;
    assert_ok(kp_deform_method.stages[KP_STAGE_SOLVE](b.deform, &b.env));
  }
  assert_ok(kp_deform_method.stats(b.deform, &b.env, 0, &stats));
  last = stats.kinetic_energy;
  bench_free(&b);
  return isfinite(last) ? last / first : BLOWN_UP;
}

static void test_step_bounds(void **state) {
  (void)state;
  double m = 0.01, k = 100.0;
  // Gershgorin: omega^2 <= 2 sum k / m = 4 k/m at an inner node
  double limit = 2.0 / sqrt(4.0 * k / m);
  kp_part row = chain(200, m, k);
  double stable = growth(&row, 0.9 * limit, 2000);
  double unstable = growth(&row, 1.1 * limit, 400);
  assert_true(stable < 10.0);
  assert_true(unstable > 1e6);
  // the printed bound of Eq. 5.28, 2 m/K, with m = 2, K = 1: 4 s where an oscillator bears 2.83 s
  kp_part two = chain(2, 4.0, 1.0);  // reduced mass 2
  double printed = growth(&two, 4.0, 100);
  double corrected = growth(&two, 0.9 * 2.0 * sqrt(2.0 / 1.0), 400);
  assert_true(printed > 1e6);
  assert_true(corrected < 30.0);
  kp_part_free(&row);
  kp_part_free(&two);
  kp_claim claim = { .id = "bayraktar-C29",
                     .text = "springs bear steps of 2/sqrt(max 2 sum k/m) and no longer ones",
                     .size = "chain of 200 points, undamped, 2000 steps" };
  kp_claim_all(&claim, { "growth of the energy at 0.9 of it", stable, KP_LESS, 10 },
               { "growth at 1.1 of it, 400 steps", unstable, KP_MORE, 1e6 },
               { "growth at the printed 2 m/K, m = 2, K = 1", printed, KP_MORE, 1e6 },
               { "of the same two masses at 0.9 of the bound", corrected, KP_LESS, 30 });
}

static double cloth_limit(kp_world *world) {
  return kp_test_deform(world)->groups.data[0].limit;
}

static kp_cloth_def full_sheet(int scheme) {
  kp_cloth_def sheet = kp_test_sheet(12, 12, 0.05);
  sheet.stiffness = 50.0;
  sheet.shear = 20.0;
  sheet.bend_stiffness = 2.0;
  sheet.bend_diagonals = true;
  sheet.scheme = scheme;
  return sheet;
}

// Energy of a full cloth after a while over that at the start; steps of `share` of the limit.
static double cloth_growth(int scheme, double share, int steps) {
  kp_cloth_def sheet = full_sheet(scheme);
  kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
  c.gravity = 0.0;
  kp_world *world = kp_test_cloth_world(&c);
  double dt = share * cloth_limit(world);
  kp_world_destroy(&world);
  c = kp_test_cloth_make(&sheet, dt);
  c.gravity = 0.0;
  c.solids.iterations = 1000;
  world = kp_test_cloth_world(&c);
  kp_deform *d = kp_test_deform(world);
  for (int c3 = 0; c3 < 3; ++c3) {
    kp_real *v = kp_buffer_host(&d->set->velocity->buffers[c3], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < d->set->space->n; ++i) {
      v[i] = (kp_real)(0.05 * sin(12.9898 * (double)i + 78.233 * c3));
    }
  }
  double first = kp_test_energy(world);
  double worst = 1.0;
  for (int k = 0; k < steps; ++k) {
    if (kp_world_step(world, 10.0, NULL) != KP_OK) {
      worst = BLOWN_UP;
      break;
    }
    double now = kp_test_energy(world) / first;
    worst = isfinite(now) ? fmax(worst, now) : BLOWN_UP;
    if (worst > 1e9) {
      break;
    }
  }
  kp_world_destroy(&world);
  return worst;
}

// The full cloth is stable at 0.9 of the corrected limit; the printed rule with the largest
// constant alone (Eq. 5.30) is not.
static void test_full_cloth(void **state) {
  (void)state;
  double verlet = cloth_growth(KP_SCHEME_VELOCITY_VERLET, 0.9, 1500);
  double symplectic = cloth_growth(KP_SCHEME_SYMPLECTIC, 0.9, 1500);
  // 2 sqrt(m/max k) against 2/sqrt(2 sum k/m): sqrt(2 (4 50 + 4 20 + 8 2)/50) = 3.4 times as long
  double alone = cloth_growth(KP_SCHEME_VELOCITY_VERLET, 3.4, 300);
  kp_claim claim = { .id = "bayraktar-C29-cloth",
                     .text = "a full cloth is stable at 0.9 of the corrected bound",
                     .size = "cloth of 13 x 13 points, 1500 steps" };
  kp_claim_all(&claim, { "growth of the energy, velocity Verlet", verlet, KP_LESS, 3 },
               { "growth of the energy, symplectic Euler", symplectic, KP_LESS, 5 },
               { "growth with the largest constant alone (Eq. 5.30)", alone, KP_MORE, 1e6 });
  assert_true(verlet < 3.0 && symplectic < 5.0 && alone > 1e6);
}

// C30: at 20 times the explicit limit the implicit schemes stay bounded, the explicit one does not.
static void test_large_steps(void **state) {
  (void)state;
  double explicit_growth = cloth_growth(KP_SCHEME_VELOCITY_VERLET, 20.0, 50);
  assert_true(explicit_growth > 1e6);
  const int schemes[] = { KP_SCHEME_KANG, KP_SCHEME_DESBRUN, KP_SCHEME_BACKWARD_EULER };
  double worst = 0.0;
  for (size_t s = 0; s < 3; ++s) {
    double growth_of = cloth_growth(schemes[s], 20.0, 200);
    print_message("%s at 20x: energy at most %.3f of the first\n", kp_schemes[schemes[s]].name,
                  growth_of);
    worst = kp_test_most(worst, growth_of);
  }
  assert_true(worst < 2.0);
  kp_claim claim = { .id = "bayraktar-C30",
                     .text = "implicit steps (Kang, Desbrun, CG) bear 20 times the explicit limit",
                     .size = "cloth of 13 x 13 points, 200 steps" };
  kp_claim_all(&claim, { "largest energy over the first, worst of three", worst, KP_LESS, 2 },
               { "of explicit steps, 50 of them", explicit_growth, KP_MORE, 1e6 });
}

// Desbrun's system conserves momentum, one Jacobi step of it (Kang) does not.
static void test_implicit_momentum(void **state) {
  (void)state;
  double drift[2];
  const int schemes[] = { KP_SCHEME_DESBRUN, KP_SCHEME_KANG };
  for (int s = 0; s < 2; ++s) {
    kp_cloth_def sheet = full_sheet(schemes[s]);
    kp_test_cloth c = kp_test_cloth_make(&sheet, 0.01);
    c.gravity = 0.0;
    c.solids.tolerance = KP_TOL(1e-6, 1e-13);
    c.solids.iterations = 2000;
    kp_world *world = kp_test_cloth_world(&c);
    kp_test_node(world, 40, vec(-0.25, -0.15, 0.05), vec(0, 0, 1.0));
    kp_vec3 before = kp_test_stats(world, "sheet").momentum;
    kp_test_steps(world, 20);
    kp_vec3 after = kp_test_stats(world, "sheet").momentum;
    drift[s] = kp_vec3_length(kp_vec3_sub(after, before)) / kp_vec3_length(before);
    kp_world_destroy(&world);
  }
  print_message("drift of momentum: desbrun %.2e, kang %.2e\n", drift[0], drift[1]);
  assert_true(drift[0] < KP_TOL(1e-4, 1e-10));
  assert_true(drift[1] > drift[0]);
}

// ---- bits ---------------------------------------------------------------------------------------

static int chosen_scheme;

static kp_world *bits_world(const char *backend) {
  kp_cloth_def sheet = kp_test_sheet(9, 7, 0.05);
  sheet.scheme = chosen_scheme;
  sheet.drag = 1.0;
  sheet.damping = 0.1;
  sheet.particle_radius = chosen_scheme == KP_SCHEME_SYMPLECTIC ? 0.02 : 0.0;
  kp_test_cloth c = kp_test_cloth_make(&sheet, 2e-4);
  c.backend = backend;
  c.solids.inner = 3;
  kp_pin_def top = kp_test_pin("top", vec(-1, -0.01, -1), vec(1, 0.01, 1));
  c.pins[0] = &top;
  kp_limit_def limit = kp_default_limit_def();
  snprintf(limit.name, sizeof limit.name, "list");
  snprintf(limit.of, sizeof limit.of, "sheet");
  c.limits[0] = chosen_scheme == KP_SCHEME_POSITION_VERLET ? &limit : NULL;
  return kp_test_cloth_world(&c);
}

static void test_bits(void **state) {
  (void)state;
  const int schemes[] = { KP_SCHEME_SYMPLECTIC, KP_SCHEME_POSITION_VERLET, KP_SCHEME_KANG,
                          KP_SCHEME_DESBRUN };
  for (size_t s = 0; s < sizeof schemes / sizeof schemes[0]; ++s) {
    chosen_scheme = schemes[s];
    kp_test_same_bits(bits_world, 12);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_connectivity),
    cmocka_unit_test(test_constants),
    cmocka_unit_test(test_hanging_spring),
    cmocka_unit_test(test_wind_on_the_normal),
    cmocka_unit_test(test_hand),
    cmocka_unit_test(test_force_on_one),
    cmocka_unit_test(test_two_stiffnesses),
    cmocka_unit_test(test_damping),
    cmocka_unit_test(test_step_bounds),
    cmocka_unit_test(test_full_cloth),
    cmocka_unit_test(test_large_steps),
    cmocka_unit_test(test_implicit_momentum),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
