// What the photographs of Lyes 2015, Figs. 7.16 to 7.18 show (waves on a lake, a drop that falls
// into water, a splash), held against theory in place of the pictures, which are not ours: the
// swing of the pool after part of it was raised, the crater of a drop and the energy that is in it,
// and how a crown widens. The scenes at their stated sizes are scenes/papers/lyes/ripple.lua,
// drop.lua and splash.lua; here they are coarser.
#include <math.h>
#include <stdio.h>

#include "photographs_size.h"
#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define G 9.81
#define FLOOR (-0.5)

static const photographs_size *const size = &photographs_size_chosen;

// A pool up to `top` in the box of the scenes, and what falls into it.
typedef struct scene {
  double spacing;    // m, here
  double stiffness;  // m^2/s^2
  double viscosity;  // Pa s, that of the scene at its own spacing
  double top;        // m, of the pool
  kp_shape_def falls;
  double speed;  // m/s, downwards
  double half;   // m, of the box across z; less than 0.5: a slice of it, which is repeated
} scene;

static kp_world *make_pool(const scene *c, bool is_alone) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-0.5, FLOOR, -c->half),
                                             kp_vec3_make(0.5, 0.5, c->half));
  s.domain.restitution = 0.5;
  s.domain.boundary_z = c->half < 0.5 ? KP_BOUNDARY_PERIODIC : s.domain.boundary_z;
  s.simulation.gravity = kp_vec3_make(0, -G, 0);
  s.sph.kernel = KP_SPH_MUELLER;
  s.sph.support = 1.74;
  s.sph.integrator = KP_INTEGRATOR_LEAPFROG;
  s.sph.domain_walls = 1;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def pool = kp_test_liquid("pool", kp_vec3_make(-0.5, FLOOR, -c->half),
                                      kp_vec3_make(0.5, c->top, c->half), c->spacing);
  pool.eos = 0;
  pool.stiffness = c->stiffness;
  pool.viscosity = c->viscosity;
  kp_liquid_def other = pool;
  kp_text_copy(other.name, sizeof other.name, "other");
  other.shape = c->falls;
  other.velocity = kp_vec3_make(0, -c->speed, 0);
  assert_ok(kp_world_add_liquid(world, &pool));
  if (!is_alone) {
    assert_ok(kp_world_add_liquid(world, &other));
  }
  assert_ok(kp_world_build(world));
  return world;
}

static double mean_x(kp_world *world) {
  double sum = 0.0, n = 0.0;
  for (int k = 0; k < 2; ++k) {
    kp_test_particles p = kp_test_particles_read(world, k == 0 ? "pool" : "other");
    for (int64_t i = 0; i < p.n; ++i) {
      sum += p.x[0][i];
    }
    n += (double)p.n;
    kp_test_particles_free(&p);
  }
  return sum / n;
}

// Fig. 7.16: water that was raised at one end swings in the box with the first mode of gravity
// waves, w^2 = g k tanh(k h), k = pi / 1 m. The waves run along x, so a slice of the box will do.
static void waves_swing(void **state) {
  (void)state;
  const double step = 1.0 / 120, stiffness = G * 0.3 / 0.1, k = PI, depth = 0.23 + 0.2 * 0.1;
  scene c = { .spacing = size->waves, .stiffness = stiffness, .top = -0.27, .half = 0.1 };
  c.viscosity = 26.0 * sqrt(stiffness) * 1.74 * 0.0124;
  c.falls = kp_test_box(kp_vec3_make(-0.5, -0.24, -0.1), kp_vec3_make(-0.3, -0.14, 0.1));
  kp_world *world = make_pool(&c, false);
  double theory = 2.0 * PI / sqrt(G * k * tanh(k * depth));
  // times at which the middle of the water passes that of the box
  double passes[3] = { NAN, NAN, NAN }, before = mean_x(world);
  int n_passes = 0;
  for (int n = 1; n <= 360 && n_passes < 3; ++n) {
    assert_ok(kp_world_advance(world, step, NULL));
    double x = mean_x(world);
    if ((before < 0.0) != (x < 0.0)) {
      passes[n_passes++] = (n - 1 + before / (before - x)) * step;
    }
    before = x;
  }
  assert_int_equal(n_passes, 3);
  double found = passes[2] - passes[0];
  print_message("  a swing takes %.3f s, by theory %.3f s\n", found, theory);
  char words[96];
  snprintf(words, sizeof words, "ripple.lua at a spacing of %g m, a slice 0.2 m wide, repeated",
           size->waves);
  kp_claim claim = { .id = "lyes-L73-waves",
                     .text = "a pool of which a part was raised swings as gravity waves do",
                     .size = words };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "its period against theory, share", fabs(found / theory - 1.0), KP_AT_MOST, 0.05 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

// Volume of the hollow in the middle of a pool, below the level of the water far from it: by the
// highest particle of each column two spacings wide.
static double hollow(kp_world *world, double spacing) {
  enum { MOST = 64 };
  static double top[MOST * MOST];
  int side = (int)lround(1.0 / (2.0 * spacing));
  double wide = 1.0 / side, sum = 0.0, n = 0.0, volume = 0.0;
  assert_true(side <= MOST);
  for (int i = 0; i < side * side; ++i) {
    top[i] = FLOOR;
  }
  for (int k = 0; k < 2; ++k) {
    kp_test_particles p = kp_test_particles_read(world, k == 0 ? "pool" : "other");
    for (int64_t i = 0; i < p.n; ++i) {
      int column = (int)fmin((p.x[0][i] + 0.5) / wide, side - 1);
      int row = (int)fmin((p.x[2][i] + 0.5) / wide, side - 1);
      double *highest = &top[column + side * row];
      *highest = kp_test_most(*highest, p.x[1][i]);
    }
    kp_test_particles_free(&p);
  }
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < side * side; ++i) {
      double x = (i % side + 0.5) * wide - 0.5, z = (i / side + 0.5) * wide - 0.5;
      double far = sqrt(x * x + z * z);
      if (pass == 0 && far > 0.38 && far < 0.48) {
        sum += top[i];
        n += 1.0;
      } else if (pass == 1 && far < 0.3) {
        volume += wide * wide * fmax(sum / n - top[i], 0.0);
      }
    }
  }
  return volume;
}

// Fig. 7.17: the crater of a drop. A half ball of radius R below the level of a pool takes the
// energy pi rho g R^4 / 4 (Engel 1966); drops that put a like share of theirs into it make craters
// that grow with the fourth root of their energy.
static void drop_makes_crater(void **state) {
  (void)state;
  enum { DROPS = 2 };
  const double step = 1.0 / 200, radius = 0.06, stiffness = G * 0.5 / 0.1, density = 1000.0;
  const double speeds[DROPS] = { 1.5, 3.0 };
  scene c = { .spacing = size->crater, .stiffness = stiffness, .top = -0.27, .half = 0.5 };
  c.viscosity = 13.0 * sqrt(stiffness) * 1.74 * 0.0121;
  c.falls = kp_test_ball(kp_vec3_make(0, 0, 0), radius);
  kp_world *worlds[DROPS];
  double energy[DROPS], widest[DROPS] = { 0 }, share[DROPS];
  for (int k = 0; k < DROPS; ++k) {
    c.speed = speeds[k];
    worlds[k] = make_pool(&c, false);
    kp_test_particles p = kp_test_particles_read(worlds[k], "other");
    energy[k] = 0.5 * (double)p.n * pow(c.spacing, 3.0) * density *
                (c.speed * c.speed + 2.0 * G * (-radius - c.top));
    kp_test_particles_free(&p);
  }
  for (int n = 1; n <= 70; ++n) {
    for (int k = 0; k < DROPS; ++k) {
      assert_ok(kp_world_advance(worlds[k], step, NULL));
      double r = cbrt(1.5 * hollow(worlds[k], c.spacing) / PI);
      widest[k] = kp_test_most(widest[k], r);
    }
  }
  for (int k = 0; k < DROPS; ++k) {
    share[k] = 0.25 * PI * density * G * pow(widest[k], 4.0) / energy[k];
    print_message("  %.2f J: a crater of %.3f m at most, a share of %.2f\n", energy[k], widest[k],
                  share[k]);
    kp_world_destroy(&worlds[k]);
  }
  double power = log(widest[1] / widest[0]) / log(energy[1] / energy[0]);
  char words[96];
  snprintf(words, sizeof words, "drop.lua at a spacing of %g m, drops of 1.5 and 3 m/s",
           size->crater);
  kp_claim claim = { .id = "lyes-L73-crater",
                     .text = "the crater of a drop grows with the fourth root of its energy",
                     .size = words };
  kp_claim_all(
      &claim, { "share of the energy in it, most", fmax(share[0], share[1]), KP_AT_MOST, 1.0 },
      { "power of its radius over the energy against 1/4", fabs(power - 0.25), KP_AT_MOST, 0.1 });
  assert_between(share[0], 0.2, 1.0);
  assert_between(share[1], 0.2, 1.0);
  assert_true(widest[1] > widest[0]);
}

static double top_of(kp_world *world) {
  kp_test_particles p = kp_test_particles_read(world, "pool");
  double top = FLOOR;
  for (int64_t i = 0; i < p.n; ++i) {
    top = kp_test_most(top, p.x[1][i]);
  }
  kp_test_particles_free(&p);
  return top;
}

// Mean distance from the axis of the water of the pool that stands a layer above `top`; 0: none.
static double crown_radius(kp_world *world, double top) {
  kp_test_particles p = kp_test_particles_read(world, "pool");
  double sum = 0.0;
  int64_t n = 0;
  for (int64_t i = 0; i < p.n; ++i) {
    if (p.x[1][i] > top) {
      sum += sqrt(p.x[0][i] * p.x[0][i] + p.x[2][i] * p.x[2][i]);
      ++n;
    }
  }
  kp_test_particles_free(&p);
  return n >= 40 ? sum / (double)n : 0.0;
}

// Fig. 7.18: the crown of a splash widens with the root of time, R = (2/3)^(1/4) (D V t)^(1/2) /
// (H/D)^(1/4) for a layer of depth H (Yarin and Weiss 1995).
static void crown_widens(void **state) {
  (void)state;
  const double step = 1.0 / 400, radius = 0.16, stiffness = G * 0.6 / 0.1;
  scene c = {
    .spacing = size->crown, .stiffness = stiffness, .top = -0.26, .half = 0.5, .speed = 3.5
  };
  c.viscosity = 13.0 * sqrt(stiffness) * 1.74 * 0.0126;
  c.falls = kp_test_ball(kp_vec3_make(0, 0.05, 0), radius);
  kp_world *world = make_pool(&c, false), *alone = make_pool(&c, true);
  double speed = sqrt(c.speed * c.speed + 2.0 * G * (0.05 - radius - c.top));
  double impact = (speed - c.speed) / G, depth = (c.top - FLOOR) / (2.0 * radius);
  double factor = pow(2.0 / 3.0, 0.25) * sqrt(2.0 * radius * speed) / pow(depth, 0.25);
  double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0, ratio = 0.0;
  for (int k = 1; k * step < impact + 0.13; ++k) {
    assert_ok(kp_world_advance(world, step, NULL));
    assert_ok(kp_world_advance(alone, step, NULL));
    double t = k * step - impact,
           r = t > 0.05 ? crown_radius(world, top_of(alone) + c.spacing) : 0.0;
    if (r > 0.0) {
      n += 1.0;
      x += log(t);
      y += log(r);
      xx += log(t) * log(t);
      xy += log(t) * log(r);
      ratio += r / (factor * sqrt(t));
    }
  }
  assert_true(n > 20.0);
  double power = (n * xy - x * y) / (n * xx - x * x);
  ratio /= n;
  print_message("  crown of t^%.2f, %.2f of the theory\n", power, ratio);
  char words[96];
  snprintf(words, sizeof words, "splash.lua at a spacing of %g m, 0.05 to 0.13 s after impact",
           size->crown);
  kp_claim claim = { .id = "lyes-L73-crown",
                     .text = "the crown of a splash widens as Yarin and Weiss 1995 say",
                     .size = words };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "its power of time against 1/2", fabs(power - 0.5), KP_AT_MOST, 0.1 },
                   { "its radius against theory, share", fabs(ratio - 1.0), KP_AT_MOST, 0.2 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
  kp_world_destroy(&alone);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(waves_swing),
    cmocka_unit_test(drop_makes_crater),
    cmocka_unit_test(crown_widens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
