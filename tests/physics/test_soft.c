// Soft bodies: rest, uniform strain, Hooke's constants, a beam, bodies turned inside out, momentum,
// stable explicit steps, the same bits.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "geom/tetrahedra.h"
#include "io/tet_file.h"
#include "methods/deform/deform_sweep.h"

#include "support/claims.h"
#include "support/deform.h"
#include "support/media.h"

#define PI 3.14159265358979323846

static kp_test_settings space(double gravity) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-3, -3, -3), kp_vec3_make(3, 3, 3));
  s.simulation.gravity = kp_vec3_make(0, -gravity, 0);
  return s;
}

static kp_soft_def soft_def(kp_soft_model model, kp_vec3 lo, kp_vec3 hi, double spacing) {
  kp_soft_def def = kp_default_soft_def();
  snprintf(def.name, sizeof def.name, "body");
  def.model = (int)model;
  def.shape = kp_test_box(lo, hi);
  def.spacing = spacing;
  def.self = false;
  return def;
}

static kp_world *make_world(const kp_test_settings *s, const kp_solids_def *solids,
                            const kp_soft_def *def, const kp_pin_def *pins, int n_pins) {
  kp_world *world = kp_test_world(s);
  assert_ok(kp_world_set_solids(world, solids));
  assert_ok(kp_world_add_soft(world, def));
  for (int p = 0; p < n_pins; ++p) {
    assert_ok(kp_world_add_pin(world, &pins[p]));
  }
  assert_ok(kp_world_build(world));
  return world;
}

static kp_vec3 node(kp_deform *d, int64_t i) {
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  return kp_vec3_make(x[0][i], x[1][i], x[2][i]);
}

static void put(kp_deform *d, int64_t i, kp_vec3 p) {
  const double v[3] = { p.x, p.y, p.z };
  for (int c = 0; c < 3; ++c) {
    kp_pos *x = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_WRITE);
    x[i] = v[c];
  }
}

// Forces on all nodes now, at rest or not; 3 n values.
static double *forces(kp_deform *d, kp_world *world) {
  int64_t n = d->set->space->n;
  const kp_deform_group *group = &d->groups.data[0];
  assert_ok(kp_deform_evaluate(d, group, d->set->position->buffers, 0.0));
  assert_ok(kp_deform_impulse(d, &world->env, group, d->set->velocity->buffers, 1.0, true));
  const kp_real *right = kp_buffer_host(&d->right, KP_ACCESS_READ);
  double *out = kp_alloc((size_t)(3 * n) * sizeof *out, KP_MEMORY_TEST);
  for (int64_t i = 0; i < 3 * n; ++i) {
    out[i] = (double)right[i];
  }
  return out;
}

// Volumes of the tetrahedra: their sum and how many are not positive.
static double volumes(kp_deform *d, int64_t *n_inverted) {
  double sum = 0.0;
  *n_inverted = 0;
  for (size_t t = 0; t < d->tets.model.count; ++t) {
    const kp_tet *tet = &d->tets.model.data[t];
    kp_vec3 a = node(d, tet->v[0]);
    double v = kp_vec3_dot(kp_vec3_sub(node(d, tet->v[1]), a),
                           kp_vec3_cross(kp_vec3_sub(node(d, tet->v[2]), a),
                                         kp_vec3_sub(node(d, tet->v[3]), a))) /
               6.0;
    sum += v;
    *n_inverted += !(v > 0.0);
  }
  return sum;
}

// ---- at rest ------------------------------------------------------------------------------------

static const kp_soft_model all_models[] = { KP_SOFT_ELASTIC, KP_SOFT_ALTITUDE, KP_SOFT_POINT_FACE,
                                            KP_SOFT_SPRINGS, KP_SOFT_EDGES };

static void test_rest(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof all_models / sizeof all_models[0]; ++m) {
    for (int scheme = 0; scheme <= KP_SCHEME_VELOCITY_VERLET; ++scheme) {
      if (scheme == KP_SCHEME_EULER) {
        continue;  // feeds any noise of its oscillators
      }
      kp_test_settings s = space(0.0);
      kp_solids_def solids = kp_default_solids_def();
      kp_soft_def def =
          soft_def(all_models[m], kp_vec3_make(-0.3, 0, 0), kp_vec3_make(0.3, 0.4, 0.2), 0.1);
      if (all_models[m] == KP_SOFT_EDGES) {
        def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.3);
      }
      def.scheme = scheme;
      kp_world *world = make_world(&s, &solids, &def, NULL, 0);
      kp_test_steps(world, 10);
      kp_population_stats stats = kp_test_stats(world, "body");
      assert_true(stats.max_speed < KP_TOL(2e-4, 1e-11));
      assert_near(stats.internal_energy, 0.0, KP_TOL(1e-6, 1e-12));
      double volume = all_models[m] == KP_SOFT_EDGES ? 4.0 / 3.0 * PI * 0.027 : 0.048;
      assert_near_relative(stats.mass, 1000.0 * volume,
                           all_models[m] == KP_SOFT_EDGES ? 0.1 : 1e-5);
      kp_world_destroy(&world);
    }
  }
}

// ---- uniform strain leaves inner nodes without force (patch test) -------------------------------

static int64_t expect_patch(double spacing, double grade) {
  kp_test_settings s = space(0.0);
  kp_solids_def solids = kp_default_solids_def();
  kp_soft_def def =
      soft_def(KP_SOFT_ELASTIC, kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), spacing);
  def.grade = grade;
  def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.5);
  kp_world *world = make_world(&s, &solids, &def, NULL, 0);
  kp_deform *d = kp_test_deform(world);
  int64_t n = d->set->space->n;
  bool *is_outer = kp_alloc_zero((size_t)n, KP_MEMORY_TEST);
  for (size_t t = 0; t < d->triangles.count; ++t) {
    for (int c = 0; c < 3; ++c) {
      is_outer[d->triangles.data[t].v[c]] = true;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    kp_vec3 p = node(d, i);
    put(d, i, kp_vec3_make(1.1 * p.x + 0.2 * p.y, 0.9 * p.y - 0.1 * p.z, p.z + 0.3 * p.x));
  }
  double *f = forces(d, world);
  double inner = 0.0, outer = 0.0;
  int64_t n_inner = 0;
  for (int64_t i = 0; i < n; ++i) {
    double size = kp_vec3_length(kp_vec3_make(f[i], f[n + i], f[2 * n + i]));
    inner = is_outer[i] ? inner : fmax(inner, size);
    outer = is_outer[i] ? fmax(outer, size) : outer;
    n_inner += !is_outer[i];
  }
  assert_true(n_inner > 50);
  assert_true(outer > 1.0);
  assert_true(inner < KP_TOL(1e-5, 1e-12) * outer);
  kp_free(f);
  kp_free(is_outer);
  kp_world_destroy(&world);
  return n;
}

static void test_patch(void **state) {
  (void)state;
  (void)expect_patch(0.12, 0.0);
  // tetrahedra of four sizes and forms that meet at all their corners
  int64_t graded = expect_patch(0.035, 1.0);
  assert_true(graded < expect_patch(0.035, 0.0));
}

// ---- a bar pulled by 0.1 %: Young's modulus and Poisson's ratio ---------------------------------

static kp_pin_def pin_def(const char *name, kp_vec3 lo, kp_vec3 hi) {
  kp_pin_def def = kp_default_pin_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.shape = kp_test_box(lo, hi);
  return def;
}

static void test_hooke(void **state) {
  (void)state;
  const double young = 2e5, ratios[] = { 0.0, 0.3, 0.45 };
  for (int r = 0; r < 3; ++r) {
    kp_test_settings s = space(0.0);
    kp_solids_def solids = kp_default_solids_def();
    s.simulation.dt_max = solids.dt = 1.0;  // every step is a step of Newton towards rest
    solids.tolerance = KP_TOL(1e-5, 1e-9);
    solids.iterations = 2000;
    kp_soft_def def =
        soft_def(KP_SOFT_ELASTIC, kp_vec3_make(0, -0.1, -0.1), kp_vec3_make(0.8, 0.1, 0.1), 0.1);
    def.young = young;
    def.poisson = ratios[r];
    kp_pin_def pins[2] = {
      pin_def("left", kp_vec3_make(-0.01, -1, -1), kp_vec3_make(0.01, 1, 1)),
      pin_def("right", kp_vec3_make(0.79, -1, -1), kp_vec3_make(0.81, 1, 1)),
    };
    pins[0].free = pins[1].free = kp_vec3_make(0, 1, 1);
    // the right end is led by 0.8 mm in the first second
    const double path[9] = { 0, 0, 0, 8e-4, 0, 0, 8e-4, 0, 0 };
    pins[1].position = (kp_curve){ .components = 3, .n = 3, .interval = 1.0, .samples = path };
    kp_world *world = make_world(&s, &solids, &def, pins, 2);
    for (int k = 0; k < 8; ++k) {
      assert_ok(kp_world_step(world, 1.0, NULL));
    }
    kp_deform *d = kp_test_deform(world);
    int64_t n = d->set->space->n;
    double *f = forces(d, world);
    double pull = 0.0, top = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      kp_vec3 p = node(d, i);
      pull -= p.x > 0.79 ? f[i] : 0.0;
      top = kp_test_most(top, p.y);
    }
    double strain = 8e-4 / 0.8;
    print_message("nu %.2f: E %.5g, nu %.4f\n", ratios[r], pull / 0.04 / strain,
                  -(top - 0.1) / 0.1 / strain);
    assert_near_relative(pull / 0.04 / strain, young, 0.005);
    assert_near(-(top - 0.1) / 0.1 / strain, ratios[r], 0.005);
    kp_free(f);
    kp_world_destroy(&world);
  }
}

// ---- a beam bends under its weight --------------------------------------------------------------

// Deflection of the end over that of a slender beam, w L^4/(8 E I) + w L^2/(2 k G A).
static double beam(double spacing, double poisson) {
  const double length = 1.0, width = 0.2, young = 1e6, gravity = 0.2;
  kp_test_settings s = space(gravity);
  kp_solids_def solids = kp_default_solids_def();
  s.simulation.dt_max = solids.dt = 1.0;
  solids.tolerance = KP_TOL(1e-4, 1e-8);
  solids.iterations = 5000;
  kp_soft_def def =
      soft_def(KP_SOFT_ELASTIC, kp_vec3_make(0, 0, 0), kp_vec3_make(length, width, width), spacing);
  def.young = young;
  def.poisson = poisson;
  kp_pin_def pin = pin_def("wall", kp_vec3_make(-0.01, -1, -1), kp_vec3_make(0.001, 1, 1));
  kp_world *world = make_world(&s, &solids, &def, &pin, 1);
  for (int k = 0; k < 6; ++k) {
    assert_ok(kp_world_step(world, 1.0, NULL));
  }
  double *y = kp_test_field(world, "nodes", "position", 1);
  double *x = kp_test_field(world, "nodes", "position", 0);
  double sum = 0.0;
  int64_t count = 0;
  for (int64_t i = 0; i < kp_world_count(world, "nodes"); ++i) {
    if (x[i] > length - 0.01) {
      sum += y[i];
      ++count;
    }
  }
  double down = 0.5 * width - sum / (double)count;
  double area = width * width, inertia = area * area / 12.0, w = 1000.0 * area * gravity;
  double shear = young / (2.0 + 2.0 * poisson);
  double exact = w * pow(length, 4) / (8.0 * young * inertia) +
                 w * length * length / (2.0 * 5.0 / 6.0 * shear * area);
  kp_free(x);
  kp_free(y);
  kp_world_destroy(&world);
  return down / exact;
}

// Means over edges leave a tenth with two cells across and a twenty-fifth with four, where
// tetrahedra of constant strain left 34 and 13 %. With a ratio of 0.4 the wall, which holds the
// width of the section, takes 3.5 % off what theory says: 0.965 is the limit of fine meshes.
static void test_beam(void **state) {
  (void)state;
  double two = beam(0.1, 0.3), four = beam(0.05, 0.3), soft = beam(0.05, 0.4);
  print_message("beam: %.3f of the deflection with 2 cells, %.3f with 4; %.3f at nu = 0.4\n", two,
                four, soft);
  kp_claim claim = { .id = "kelpie-soft-cantilever",
                     .text = "a soft beam sinks under its weight as Timoshenko's does",
                     .size = "1 m x 0.2 m x 0.2 m, 2 and 4 cells across, nu = 0.3 and 0.4" };
  kp_claim_all(&claim, { "relative error with 4 cells", fabs(four - 1.0), KP_AT_MOST, 0.05 },
               { "relative error with 2 cells", fabs(two - 1.0), KP_AT_MOST, 0.15 },
               { "off the limit of fine meshes at nu = 0.4, 4 cells", fabs(soft / 0.965 - 1.0),
                 KP_AT_MOST, 0.05 });
  assert_true(fabs(four - 1.0) <= 0.05 && fabs(two - 1.0) <= 0.15);
  assert_true(fabs(soft / 0.965 - 1.0) <= 0.05);
}

// The forces are minus the slope of the energy, however the body is deformed.
static void test_energy(void **state) {
  (void)state;
  kp_test_settings s = space(0.0);
  kp_solids_def solids = kp_default_solids_def();
  kp_soft_def def =
      soft_def(KP_SOFT_ELASTIC, kp_vec3_make(0, 0, 0), kp_vec3_make(0.3, 0.2, 0.2), 0.1);
  kp_world *world = make_world(&s, &solids, &def, NULL, 0);
  kp_deform *d = kp_test_deform(world);
  kp_test_random random = kp_test_random_begin(5);
  int64_t n = d->set->space->n;
  for (int64_t i = 0; i < n; ++i) {
    put(d, i, kp_vec3_add(node(d, i), kp_test_vec3(&random, -0.04, 0.04)));
  }
  double *f = forces(d, world), most = 0.0;
  for (int64_t k = 0; k < 3 * n; ++k) {
    most = kp_test_most(most, fabs(f[k]));
  }
  const double h = 1e-5;
  for (int64_t i = 0; i < n; i += 5) {
    kp_vec3 p = node(d, i);
    for (int c = 0; c < 3; ++c) {
      double energy[2];
      for (int side = 0; side < 2; ++side) {
        double by = side == 0 ? -h : h;
        put(d, i,
            kp_vec3_make(p.x + (c == 0 ? by : 0.0), p.y + (c == 1 ? by : 0.0),
                         p.z + (c == 2 ? by : 0.0)));
        energy[side] = kp_test_stats(world, "body").internal_energy;
      }
      put(d, i, p);
      assert_near(f[c * n + i], -(energy[1] - energy[0]) / (2.0 * h), KP_TOL(2e-5, 1e-6) * most);
    }
  }
  kp_free(f);
  kp_world_destroy(&world);
}

// A beam that is let go swings and loses energy to its damping, in every scheme.
static void test_swing(void **state) {
  (void)state;
  for (int scheme = 0; scheme <= KP_SCHEME_VELOCITY_VERLET; ++scheme) {
    if (scheme == KP_SCHEME_EULER) {
      continue;  // feeds any noise of its oscillators
    }
    kp_test_settings s = space(2.0);
    kp_solids_def solids = kp_default_solids_def();
    kp_soft_def def =
        soft_def(KP_SOFT_ELASTIC, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.2, 0.2), 0.1);
    def.young = 3e5;
    def.scheme = scheme;
    kp_pin_def pin = pin_def("wall", kp_vec3_make(-0.01, -1, -1), kp_vec3_make(0.001, 1, 1));
    kp_world *world = make_world(&s, &solids, &def, &pin, 1);
    double last = HUGE_VAL, start = 0.0, rise = 0.0, deepest = 0.0;
    for (int k = 0; k <= 9; ++k) {
      kp_population_stats now = kp_test_stats(world, "body");
      double energy = now.kinetic_energy + now.potential_energy + now.internal_energy;
      start = k == 0 ? energy : start;
      rise = kp_test_most(rise, energy - fmin(last, start));
      last = kp_test_least(last, energy);
      deepest = kp_test_least(deepest, now.bounds.min.y);
      assert_ok(kp_world_advance(world, 0.05, NULL));
    }
    // of the weight times how far the end sinks
    double scale = 32.0 * 2.0 * -deepest;
    print_message("scheme %d: the end sinks %.3f m, energy rises by %.1e of the work of gravity\n",
                  scheme, -deepest, rise / scale);
    assert_between(-deepest, 0.1, 0.25);
    assert_true(rise < 0.02 * scale);
    kp_world_destroy(&world);
  }
}

// ---- inside out ---------------------------------------------------------------------------------

static void test_inverted(void **state) {
  (void)state;
  static const kp_soft_model models[] = { KP_SOFT_ELASTIC, KP_SOFT_ALTITUDE };
  for (int m = 0; m < 2; ++m) {
    for (int way = 0; way < 3; ++way) {
      kp_test_settings s = space(0.0);
      kp_solids_def solids = kp_default_solids_def();
      solids.dt = 0.01;
      kp_soft_def def =
          soft_def(models[m], kp_vec3_make(-0.3, 0, -0.2), kp_vec3_make(0.3, 0.4, 0.2), 0.1);
      def.damping = 1.0;
      def.density = 100.0;
      kp_world *world = make_world(&s, &solids, &def, NULL, 0);
      kp_deform *d = kp_test_deform(world);
      int64_t n_inverted;
      double rest = volumes(d, &n_inverted);
      kp_test_random random = kp_test_random_begin(11);
      for (int64_t i = 0; i < d->set->space->n; ++i) {
        kp_vec3 p = node(d, i);
        // flat but for a hair; a third of it folded over; every node up to 1.5 cells off
        p = way == 0   ? kp_vec3_make(p.x, 1e-4 * kp_test_uniform(&random, -1, 1), p.z)
            : way == 1 ? kp_vec3_make(p.x, p.y > 0.25 ? 0.4 - p.y : p.y, p.z)
                       : kp_vec3_add(p, kp_test_vec3(&random, -0.15, 0.15));
        put(d, i, p);
      }
      (void)volumes(d, &n_inverted);
      assert_true(n_inverted > (int64_t)d->tets.model.count / 5);
      for (int k = 0; k < 300; ++k) {
        assert_ok(kp_world_step(world, 0.01, NULL));
      }
      double now = volumes(d, &n_inverted);
      print_message("model %d way %d: %d inverted, volume %.4f of rest\n", models[m], way,
                    (int)n_inverted, now / rest);
      assert_int_equal(n_inverted, 0);
      assert_near_relative(now, rest, 0.02);
      kp_world_destroy(&world);
    }
  }
}

// ---- free bodies --------------------------------------------------------------------------------

static kp_vec3 angular_momentum(kp_deform *d) {
  const kp_real *v[3], *mass = kp_buffer_host(&d->mass, KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    v[c] = kp_buffer_host(&d->set->velocity->buffers[c], KP_ACCESS_READ);
  }
  kp_vec3 sum = { 0, 0, 0 };
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    kp_vec3 u = kp_vec3_make((double)v[0][i], (double)v[1][i], (double)v[2][i]);
    sum = kp_vec3_madd(sum, (double)mass[i], kp_vec3_cross(node(d, i), u));
  }
  return sum;
}

// Momentum is kept by every scheme, the angular momentum by explicit ones; implicit ones linearise
// forces and lose a little of it with the step.
static void test_momentum(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof all_models / sizeof all_models[0]; ++m) {
    for (int scheme = 0; scheme <= KP_SCHEME_VELOCITY_VERLET; ++scheme) {
      kp_test_settings s = space(0.0);
      kp_solids_def solids = kp_default_solids_def();
      bool is_implicit = scheme <= KP_SCHEME_BACKWARD_EULER;
      solids.dt = is_implicit ? 1e-3 : 1e-4;
      solids.tolerance = KP_TOL(1e-6, 1e-12);
      kp_soft_def def =
          soft_def(all_models[m], kp_vec3_make(-0.3, -0.1, -0.1), kp_vec3_make(0.3, 0.1, 0.1), 0.1);
      if (all_models[m] == KP_SOFT_EDGES) {
        def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.2);
      }
      def.scheme = scheme;
      def.velocity = kp_vec3_make(0.3, -0.2, 0.1);
      def.spin = kp_vec3_make(2, 3, -1);
      kp_world *world = make_world(&s, &solids, &def, NULL, 0);
      kp_deform *d = kp_test_deform(world);
      kp_vec3 before = angular_momentum(d);
      kp_population_stats start = kp_test_stats(world, "body");
      for (int k = 0; k < 40; ++k) {
        assert_ok(kp_world_step(world, 1e-3, NULL));
      }
      kp_population_stats end = kp_test_stats(world, "body");
      kp_vec3 after = angular_momentum(d);
      double p = kp_vec3_length(kp_vec3_sub(start.momentum, end.momentum)) /
                 kp_vec3_length(start.momentum);
      double l = kp_vec3_length(kp_vec3_sub(before, after)) / kp_vec3_length(before);
      assert_true(p < KP_TOL(3e-5, 1e-9));
      // explicit: 400 steps of 1e-4 s, of first order in x; implicit: 40 of 1e-3 s
      assert_true(l < (is_implicit ? 0.02 : KP_TOL(1e-4, 1e-4)));
      kp_world_destroy(&world);
    }
  }
}

// Masses that stiffness hides from rounding: a body that is as stiff as can be falls and keeps its
// momentum, where the residual of the solve is larger than its weight. Its steps are cut to those
// that see the masses, and it stays whole.
static void test_stiff_fall(void **state) {
  (void)state;
  const double young[] = { 1e8, 1e10, 1e12 };
  for (size_t k = 0; k < sizeof young / sizeof young[0]; ++k) {
    kp_test_settings s = space(9.81);
    kp_solids_def solids = kp_default_solids_def();
    kp_soft_def def =
        soft_def(KP_SOFT_ELASTIC, kp_vec3_make(-0.2, -0.1, -0.1), kp_vec3_make(0.2, 0.1, 0.1), 0.1);
    def.young = young[k];
    def.velocity = kp_vec3_make(0.5, 0.0, 0.0);
    kp_world *world = make_world(&s, &solids, &def, NULL, 0);
    kp_deform *d = kp_test_deform(world);
    double longest = kp_deform_rounding_step(d, &d->parts.data[0]);
    double dt = fmin(longest, 0.01), time = 0.0;
    for (int step = 0; step < 40; ++step, time += dt) {
      assert_ok(kp_world_step(world, dt, NULL));
    }
    kp_population_stats end = kp_test_stats(world, "body");
    double p = end.mass * 9.81 * time;
    assert_true(fabs(end.momentum.y + p) < 1e-5 * p);
    assert_true(fabs(end.momentum.x - 0.5 * end.mass) < 1e-5 * p);
    assert_true(fabs(end.momentum.z) < 1e-5 * p);
    double falling = 0.5 * end.mass * (0.25 + 9.81 * time * 9.81 * time);
    assert_true(fabs(end.kinetic_energy - falling) < 1e-4 * falling);
    kp_world_destroy(&world);
  }
}

// Steps that are told are taken, as long as they may be: momentum is kept even so.
static void test_stiff_told_steps(void **state) {
  (void)state;
  kp_test_settings s = space(9.81);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 0.01;
  kp_soft_def def =
      soft_def(KP_SOFT_ELASTIC, kp_vec3_make(-0.2, -0.1, -0.1), kp_vec3_make(0.2, 0.1, 0.1), 0.1);
  def.young = 1e12;
  kp_world *world = make_world(&s, &solids, &def, NULL, 0);
  for (int step = 0; step < 10; ++step) {
    assert_ok(kp_world_step(world, 0.01, NULL));
  }
  kp_population_stats end = kp_test_stats(world, "body");
  double p = end.mass * 9.81 * 0.1;
  assert_true(fabs(end.momentum.y + p) < 1e-4 * p);
  assert_true(fabs(end.momentum.x) + fabs(end.momentum.z) < 1e-4 * p);
  kp_world_destroy(&world);
}

// ---- explicit steps as long as the bound allows -------------------------------------------------

static void test_explicit_limit(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof all_models / sizeof all_models[0]; ++m) {
    kp_test_settings s = space(0.0);
    kp_solids_def solids = kp_default_solids_def();
    kp_soft_def def =
        soft_def(all_models[m], kp_vec3_make(-0.2, -0.1, -0.1), kp_vec3_make(0.2, 0.1, 0.1), 0.1);
    if (all_models[m] == KP_SOFT_EDGES) {
      def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.2);
    }
    def.scheme = KP_SCHEME_SYMPLECTIC;
    def.damping = 0.2;
    def.spin = kp_vec3_make(0.5, 1.0, 0.2);
    kp_world *world = make_world(&s, &solids, &def, NULL, 0);
    double energy = kp_test_stats(world, "body").kinetic_energy;
    kp_test_steps(world, 300);
    kp_population_stats end = kp_test_stats(world, "body");
    assert_true(end.kinetic_energy + end.internal_energy < 1.02 * energy);
    kp_world_destroy(&world);
  }
}

// ---- blocks of the sweeps against elements one by one
// --------------------------------------------

// Solves a step and asks elements one by one what it leaves.
static void ask_elements(kp_world *world, kp_deform *d, const char *by, double h) {
  kp_deform_group *group = &d->groups.data[0];
  kp_buffer *x = d->set->position->buffers, *u = d->set->velocity->buffers;
  kp_deform_stage stage = { .x = x, .v = u, .out = d->moving.c, .h = h, .implicit = h };
  for (int c = 0; c < 3; ++c) {  // no guess of an earlier solve
    assert_ok(kp_vector_fill(group->nodes.n, 0.0, &d->answer[0]->buffers[c]));
  }
  assert_ok(kp_deform_solve(d, &world->env, group, &stage));
  int iterations = d->pcg.report.iterations;
  assert_ok(kp_deform_evaluate(d, group, x, h));
  assert_ok(kp_deform_impulse(d, &world->env, group, d->moving.c, h, false));
  double left = kp_test_residual(d, group, u);
  print_message("  %s: %d iterations, %.1e of the impulses are left\n", by, iterations, left);
  assert_true(iterations > 3);
  assert_true(left < KP_TOL(1e-3, 1e-9));
}

// Impulses of all forces at stirred positions, some elements inside out, and velocities: what the
// matrix does to a velocity is in them.
static void test_blocks(void **state) {
  (void)state;
  const kp_soft_model models[] = { KP_SOFT_ELASTIC, KP_SOFT_ALTITUDE, KP_SOFT_POINT_FACE,
                                   KP_SOFT_EDGES };
  for (int m = 0; m < 4; ++m) {
    bool has_tets = models[m] != KP_SOFT_EDGES;
    kp_test_settings s = space(9.81);
    kp_solids_def solids = kp_default_solids_def();
    solids.turns = m == 1;
    solids.tolerance = KP_TOL(1e-6, 1e-12);
    kp_soft_def def =
        soft_def(models[m], kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), has_tets ? 0.1 : 0.04);
    def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.3);
    def.damping = 0.2;
    kp_world *world = make_world(&s, &solids, &def, NULL, 0);
    kp_deform *d = kp_test_deform(world);
    kp_deform_group *group = &d->groups.data[0];
    kp_sweep *sweep = d->sweeps[group->scheme];
    assert_non_null(sweep);
    assert_true(sweep->has_wide == !has_tets);  // the middle of a body of edges has a long row
    int64_t n = d->set->space->n;
    kp_real *v[3];
    for (int c = 0; c < 3; ++c) {
      v[c] = kp_buffer_host(&d->set->velocity->buffers[c], KP_ACCESS_WRITE);
    }
    uint64_t seed = 7;
    for (int64_t i = 0; i < n; ++i) {
      double r[6];
      for (int k = 0; k < 6; ++k) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        r[k] = (double)(seed >> 11) / 9007199254740992.0 - 0.5;
      }
      kp_vec3 p = node(d, i);
      double push = i % 7 == 0 ? 0.25 : 0.02;
      put(d, i, kp_vec3_make(p.x + push * r[0], p.y + push * r[1], p.z + push * r[2]));
      for (int c = 0; c < 3; ++c) {
        v[c][i] = (kp_real)(2.0 * r[3 + c]);
      }
    }
    int64_t n_inverted;
    (void)volumes(d, &n_inverted);
    assert_true(!has_tets || n_inverted > 5);
    const double h = 4e-3;
    kp_buffer *x = d->set->position->buffers, *u = d->set->velocity->buffers;
    assert_ok(kp_deform_evaluate(d, group, x, h));
    assert_ok(kp_deform_impulse(d, &world->env, group, u, h, true));
    const kp_real *right = kp_buffer_host(&d->right, KP_ACCESS_READ);
    double *expected = kp_alloc((size_t)(3 * n) * sizeof *expected, KP_MEMORY_TEST), most = 0.0;
    for (int64_t k = 0; k < 3 * n; ++k) {
      expected[k] = (double)right[k];
      most = kp_test_most(most, fabs(expected[k]));
    }
    if (has_tets) {  // not by elements
      kp_real *force = kp_buffer_host(&d->tets.force.c[0], KP_ACCESS_WRITE);
      memset(force, 0xff, 4 * (size_t)d->tets.n * sizeof *force);
    }
    assert_ok(kp_sweep_evaluate(d, &d->parts.data[0], x, h));
    assert_ok(kp_sweep_fill(d, sweep, h));
    assert_ok(kp_deform_impulse(d, &world->env, group, u, h, true));
    right = kp_buffer_host(&d->right, KP_ACCESS_READ);
    double error = 0.0;
    for (int64_t k = 0; k < 3 * n; ++k) {
      error = kp_test_most(error, fabs((double)right[k] - expected[k]));
    }
    print_message("model %d: %lld inverted, blocks are off by %.2e\n", (int)models[m],
                  (long long)n_inverted, error / most);
    assert_true(error < KP_TOL(1e-5, 1e-11) * most);
    kp_free(expected);
    if (models[m] == KP_SOFT_POINT_FACE) {
      kp_world_destroy(&world);
      continue;  // its forces have no bound, and the system none to its condition
    }
    // the answers of both solvers, asked of elements one by one
    assert_false(sweep->poly.is_used);
    ask_elements(world, d, "sweeps", h);
    d->def.solver = KP_SOLVER_POLYNOMIAL;
    assert_ok(kp_poly_make(d, sweep, world->backend));
    assert_true(sweep->poly.is_used && (sweep->poly.n_hubs == 1) == !has_tets);
    ask_elements(world, d, "polynomial", h);
    kp_world_destroy(&world);
  }
}

// ---- the same bits ------------------------------------------------------------------------------

static kp_world *make_mixed(const char *backend) {
  kp_test_settings s = space(9.81);
  s.backend = backend;
  kp_world *world = kp_test_world(&s);
  static const double grow[] = { 0.2, 1.0, 1.5, 1.0 };
  for (size_t m = 0; m < sizeof all_models / sizeof all_models[0]; ++m) {
    kp_soft_def def =
        soft_def(all_models[m], kp_vec3_make(-0.2, -0.1, -0.1), kp_vec3_make(0.2, 0.1, 0.1), 0.1);
    snprintf(def.name, sizeof def.name, "body-%d", (int)m);
    def.position = kp_vec3_make(0.5 * (double)m - 1.0, 0.0, 0.0);
    def.scheme = (int)m % 3;
    def.spin = kp_vec3_make(0, 0, 1.0 + (double)m);
    if (m % 2 == 1) {
      def.strength = (kp_curve){ .components = 1, .n = 4, .interval = 0.01, .samples = grow };
    }
    if (all_models[m] == KP_SOFT_EDGES) {
      def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.15);
    }
    assert_ok(kp_world_add_soft(world, &def));
  }
  assert_ok(kp_world_build(world));
  return world;
}

static void test_same_bits(void **state) {
  (void)state;
  (void)kp_test_same_bits(make_mixed, 12);
}

// ---- rows of a thousand springs -----------------------------------------------------------------

// Two bodies whose middle is joined to all nodes, one of them much larger than the other, of
// springs alone or in one group with tetrahedra.
static kp_world *make_hubs(const char *backend, bool has_tets, kp_solids_solver solver) {
  kp_test_settings s = space(9.81);
  s.backend = backend;
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.solver = (int)solver;
  assert_ok(kp_world_set_solids(world, &solids));
  for (int k = 0; k < 3; ++k) {
    bool is_solid = k == 1;
    kp_soft_def def = soft_def(is_solid ? KP_SOFT_ELASTIC : KP_SOFT_EDGES, kp_vec3_make(0, 0, 0),
                               kp_vec3_make(0, 0, 0), is_solid ? 0.1 : 0.02);
    snprintf(def.name, sizeof def.name, "body-%d", k);
    def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), k == 0 ? 0.2 : 0.11);
    def.position = kp_vec3_make(0.5 * (double)k - 0.5, 0.0, 0.0);
    def.spin = kp_vec3_make(0, 3.0, 1.0 + (double)k);
    def.scheme = is_solid && !has_tets ? KP_SCHEME_SYMPLECTIC : KP_SCHEME_BACKWARD_EULER;
    assert_ok(kp_world_add_soft(world, &def));
  }
  assert_ok(kp_world_build(world));
  const kp_sweep *sweep = kp_test_deform(world)->sweeps[KP_SCHEME_BACKWARD_EULER];
  assert_non_null(sweep);
  assert_true(sweep->has_wide && sweep->has_blocks == has_tets);
  assert_true(sweep->whole.n_shares > 4 && sweep->whole.totals.n > 2);
  assert_true(sweep->poly.is_used == (solver == KP_SOLVER_POLYNOMIAL));
  return world;
}

static kp_world *make_springs(const char *backend) {
  return make_hubs(backend, false, KP_SOLVER_SWEEPS);
}

static kp_world *make_blocks(const char *backend) {
  return make_hubs(backend, true, KP_SOLVER_SWEEPS);
}

static kp_world *make_polynomial_springs(const char *backend) {
  return make_hubs(backend, false, KP_SOLVER_POLYNOMIAL);
}

static kp_world *make_polynomial_blocks(const char *backend) {
  return make_hubs(backend, true, KP_SOLVER_POLYNOMIAL);
}

static void test_wide_rows(void **state) {
  (void)state;
  (void)kp_test_same_bits(make_springs, 6);
  (void)kp_test_same_bits(make_blocks, 4);
  (void)kp_test_same_bits(make_polynomial_springs, 6);
  (void)kp_test_same_bits(make_polynomial_blocks, 4);
}

// ---- one way of solving and the other -----------------------------------------------------------

// A body of edges that falls on the ground, pinned at one side: contacts and held nodes take part.
static kp_world *make_fall(kp_solids_solver solver) {
  kp_test_settings s = space(9.81);
  kp_solids_def solids = kp_default_solids_def();
  solids.solver = (int)solver;
  solids.dt = 4e-3;
  solids.turns = true;
  solids.tolerance = KP_TOL(1e-5, 1e-11);
  solids.domain_friction = 0.5;
  kp_soft_def def = soft_def(KP_SOFT_EDGES, kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), 0.03);
  def.shape = kp_test_ball(kp_vec3_make(0, -2.79, 0), 0.2);
  def.scheme = KP_SCHEME_BACKWARD_EULER;
  def.velocity = kp_vec3_make(0.3, -1.0, 0.0);
  kp_pin_def pin = kp_default_pin_def();
  snprintf(pin.name, sizeof pin.name, "side");
  pin.shape = kp_test_box(kp_vec3_make(0.18, -3, -1), kp_vec3_make(1, 3, 1));
  pin.free = kp_vec3_make(0, 1, 0);
  return make_world(&s, &solids, &def, &pin, 1);
}

static void test_solvers_agree(void **state) {
  (void)state;
  const kp_solids_solver solvers[2] = { KP_SOLVER_SWEEPS, KP_SOLVER_POLYNOMIAL };
  kp_world *worlds[2];
  kp_deform *d[2];
  int64_t n_contacts = 0;
  for (int k = 0; k < 2; ++k) {
    worlds[k] = make_fall(solvers[k]);
    d[k] = kp_test_deform(worlds[k]);
    for (int step = 0; step < 6; ++step) {
      assert_ok(kp_world_step(worlds[k], 4e-3, NULL));
      n_contacts += d[k]->bodies.n_contacts;
    }
  }
  int64_t n = d[0]->set->space->n;
  double off = 0.0, gone = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    kp_vec3 a = node(d[0], i), b = node(d[1], i);
    off = kp_test_most(off, kp_vec3_length(kp_vec3_sub(a, b)));
    gone = kp_test_most(gone, fabs(a.x));
  }
  print_message("%lld nodes, %lld contacts, %.1e m apart\n", (long long)n, (long long)n_contacts,
                off);
  assert_true(n_contacts > 20);
  assert_true(off < KP_TOL(2e-6, 1e-11) && gone > 0.1);
  kp_world_destroy(&worlds[0]);
  kp_world_destroy(&worlds[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rest),           cmocka_unit_test(test_patch),
    cmocka_unit_test(test_hooke),          cmocka_unit_test(test_beam),
    cmocka_unit_test(test_energy),         cmocka_unit_test(test_swing),
    cmocka_unit_test(test_inverted),       cmocka_unit_test(test_momentum),
    cmocka_unit_test(test_stiff_fall),     cmocka_unit_test(test_stiff_told_steps),
    cmocka_unit_test(test_explicit_limit), cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_blocks),         cmocka_unit_test(test_wide_rows),
    cmocka_unit_test(test_solvers_agree),
  };
  return cmocka_run_group_tests(tests, kp_test_folder_make, kp_test_folder_remove);
}
