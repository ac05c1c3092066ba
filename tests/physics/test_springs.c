// Spring-mass water: the law of two spheres, forces and energy of the grid against all pairs,
// momentum, what carries weight and what does not, integrators, and the same bits.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "methods/springs/springs.h"

#include "support/claims.h"
#include "support/media.h"

#define DX 0.02
#define STEP 1e-9  // s: one evaluation, almost in place

static kp_world *springs_world(const kp_test_settings *s, const kp_springs_def *def) {
  kp_world *world = kp_test_world(s);
  assert_ok(kp_world_set_springs(world, def));
  return world;
}

static kp_liquid_def spheres(const char *name, kp_vec3 lo, kp_vec3 hi) {
  kp_liquid_def def = kp_test_liquid(name, lo, hi, DX);
  def.method = KP_LIQUID_SPRINGS;
  return def;
}

static kp_springs *springs_of(kp_world *world) {
  return kp_test_system(world, &kp_springs_method);
}

// ---- two spheres --------------------------------------------------------------------------------

#define K 50.0
#define SHEAR 0.3
#define DAMPING 0.2

typedef struct pair_result {
  kp_vec3 force[2];  // N, by id
  double energy;
} pair_result;

// Two spheres that touch only each other, after one evaluation.
static pair_result two_spheres(kp_springs_def def, kp_vec3 gap, kp_vec3 v0, kp_vec3 v1) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt = STEP;
  s.simulation.dt_min = 1e-12;
  def.stiffness = K;
  kp_world *world = springs_world(&s, &def);
  kp_liquid_def two = spheres("two", kp_vec3_make(0, 0, 0), kp_vec3_make(2 * DX, DX, DX));
  assert_ok(kp_world_add_liquid(world, &two));
  assert_ok(kp_world_build(world));
  assert_int_equal(kp_world_count(world, "two"), 2);
  kp_vec3 at = kp_vec3_make(0.1, 0.2, -0.3);
  kp_test_place(world, "two", 0, at, v0);
  kp_test_place(world, "two", 1, kp_vec3_add(at, gap), v1);
  kp_test_steps(world, 1);
  pair_result out = { .energy = kp_test_stats(world, "two").internal_energy };
  double *id = kp_test_field(world, "two", "id", 0);
  double mass = springs_of(world)->liquids.data[0].medium.mass;
  for (int c = 0; c < 3; ++c) {
    double *a = kp_test_field(world, "two", "acceleration", c);
    for (int i = 0; i < 2; ++i) {
      double *f[3] = { &out.force[(int)id[i]].x, &out.force[(int)id[i]].y,
                       &out.force[(int)id[i]].z };
      *f[c] = mass * a[i];
    }
    kp_free(a);
  }
  kp_free(id);
  kp_world_destroy(&world);
  return out;
}

static kp_springs_def rubbing(void) {
  kp_springs_def def = kp_default_springs_def();
  def.shear = SHEAR;
  def.damping = DAMPING;
  return def;
}

static void check_opposite(const pair_result *r) {
  double size = kp_vec3_length(r->force[0]);
  assert_vec3_near(r->force[1], kp_vec3_scale(r->force[0], -1.0),
                   KP_TOL(1e-4, 1e-10) * fmax(size, 1e-6));
}

static void test_law_of_two(void **state) {
  (void)state;
  kp_vec3 rest = kp_vec3_make(0, 0, 0);
  kp_vec3 e = kp_vec3_normalize(kp_vec3_make(1, 2, -2));
  double tolerance = KP_TOL(2e-4, 1e-9) * K * DX;
  // compressed by c: k c apart, nothing else; 0.5 k c^2
  double c = 0.3 * DX;
  pair_result r = two_spheres(rubbing(), kp_vec3_scale(e, DX - c), rest, rest), pushed = r;
  assert_vec3_near(r.force[1], kp_vec3_scale(e, K * c), tolerance);
  assert_near_relative(r.energy, 0.5 * K * c * c, KP_TOL(1e-3, 1e-6));
  check_opposite(&r);
  // touching no more: nothing, whatever the speeds
  r = two_spheres(rubbing(), kp_vec3_scale(e, 1.001 * DX), kp_vec3_make(1, 0, 0), rest);
  assert_vec3_near(r.force[1], rest, 1e-30);
  assert_near(r.energy, 0.0, 1e-30);
  // sliding past each other: shear and damping, both against it
  kp_vec3 t = kp_vec3_normalize(kp_vec3_cross(e, kp_vec3_make(0, 0, 1)));
  r = two_spheres(rubbing(), kp_vec3_scale(e, 0.999999 * DX), kp_vec3_scale(t, 0.5),
                  kp_vec3_scale(t, -0.5));
  assert_vec3_near(r.force[0], kp_vec3_scale(t, -(SHEAR + DAMPING)), 1e-3 * (SHEAR + DAMPING));
  check_opposite(&r);
  double rubs = kp_vec3_dot(r.force[0], t) / (SHEAR + DAMPING);
  // meeting head-on: damping alone
  r = two_spheres(rubbing(), kp_vec3_scale(e, 0.999999 * DX), kp_vec3_scale(e, 0.5),
                  kp_vec3_scale(e, -0.5));
  assert_vec3_near(r.force[0], kp_vec3_scale(e, -DAMPING), 1e-3 * DAMPING);
  check_opposite(&r);
  kp_claim claim = { .id = "lyes-L41-two",
                     .text = "two spheres feel k c apart, and drag and shear against their motion",
                     .size = "compressed by 0.3 diameters; at 1 m/s past and towards each other" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "spring force against k c, share",
        kp_vec3_length(kp_vec3_sub(pushed.force[1], kp_vec3_scale(e, K * c))) / (K * c), KP_AT_MOST,
        KP_TOL(1e-3, 1e-6) },
      { "force along the motion past each other, of shear and drag, off from -1", fabs(rubs + 1.0),
        KP_AT_MOST, 1e-3 },
      { "force along the motion towards each other, of drag, off from -1",
        fabs(kp_vec3_dot(r.force[0], e) / DAMPING + 1.0), KP_AT_MOST, 1e-3 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// At the very same place they part, and the energy is that of the full compression.
static void test_coincident(void **state) {
  (void)state;
  kp_vec3 rest = kp_vec3_make(0, 0, 0);
  pair_result r = two_spheres(rubbing(), rest, rest, rest);
  assert_near(kp_vec3_length(r.force[0]), K * DX, KP_TOL(1e-4, 1e-9) * K * DX);
  check_opposite(&r);
  assert_near_relative(r.energy, 0.5 * K * DX * DX, KP_TOL(1e-3, 1e-6));
}

// Pull after parting, and attraction: the potential is their integral, by central differences.
static void test_general_law(void **state) {
  (void)state;
  kp_springs_def def = kp_default_springs_def();
  def.shear = def.damping = 0.0;
  def.tension = 0.2;
  def.tension_reach = 1.6;
  def.attraction = 0.1;
  def.attraction_reach = 2.5;
  kp_vec3 rest = kp_vec3_make(0, 0, 0);
  const double gaps[] = { 0.7, 0.95, 1.1, 1.29, 1.4, 1.59, 1.8, 2.4, 2.6 };
  double largest = 0.0, worst = 0.0;
  for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; ++g) {
    double r = gaps[g] * DX;
    double h = 1e-3 * DX;
    pair_result at = two_spheres(def, kp_vec3_make(r, 0, 0), rest, rest);
    double up = two_spheres(def, kp_vec3_make(r + h, 0, 0), rest, rest).energy;
    double down = two_spheres(def, kp_vec3_make(r - h, 0, 0), rest, rest).energy;
    double slope = (up - down) / (2.0 * h);
    largest = kp_test_most(largest, fabs(slope));
    worst = kp_test_most(worst, fabs(at.force[1].x + slope) / (K * DX));
    assert_true(gaps[g] < 1.0 ? at.force[1].x > 0.0 : at.force[1].x <= 0.0);
    check_opposite(&at);
  }
  kp_claim claim = { .id = "lyes-L41",
                     .text = "forces of springs with tension and attraction are slopes of their "
                             "energy",
                     .size = "two spheres at nine distances" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "difference from the slope, of the largest spring force", worst, KP_AT_MOST,
        KP_TOL(2e-2, 1e-5) },
      { "largest slope, of the largest spring force", largest / (K * DX), KP_MORE, 0.01 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- all pairs ----------------------------------------------------------------------------------

typedef struct cloud {
  int dimension;
  bool general, periodic;
} cloud;

static kp_world *make_cloud(const cloud *c, int64_t side) {
  double edge = (double)side * DX;
  kp_test_settings s =
      kp_test_settings_make(c->dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(edge, edge, edge));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt = STEP;
  s.simulation.dt_min = 1e-12;
  if (c->periodic) {
    s.domain.boundary_x = s.domain.boundary_y = s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  }
  kp_springs_def def = rubbing();
  def.stiffness = K;
  def.integrator = KP_INTEGRATOR_SYMPLECTIC;  // can be undone, see compare_all_pairs
  if (c->general) {
    def.tension = 0.1;
    def.attraction = 1.0;
    def.attraction_reach = 2.0;
  }
  kp_world *world = springs_world(&s, &def);
  kp_liquid_def gas = spheres("gas", kp_vec3_make(0, 0, 0), kp_vec3_make(edge, edge, edge));
  assert_ok(kp_world_add_liquid(world, &gas));
  assert_ok(kp_world_build(world));
  kp_test_scatter(world, "gas", (kp_aabb){ { 0, 0, 0 }, { edge, edge, edge } }, 1.0, 3);
  return world;
}

static double nearest_image(double d, double edge, bool periodic) {
  return periodic ? d - edge * nearbyint(d / edge) : d;
}

// The law again, written out for one pair.
static double pair_by_hand(const springs_law *law, double r) {
  double f = r < (double)law->touch ? (double)law->stiffness * ((double)law->touch - r) : 0.0;
  if (r > (double)law->touch && r < (double)law->reach) {
    f -= (double)law->tension * fmin(r - (double)law->touch, (double)law->reach - r);
  }
  if (r < (double)law->horizon) {
    f -= (double)law->gravity / pow(fmax(r, (double)law->touch), 2.0);
  }
  return f;
}

// Largest difference between the forces of a step and those of all pairs, over the largest force.
static double compare_all_pairs(const cloud *c, int64_t side) {
  kp_world *world = make_cloud(c, side);
  kp_springs *springs = springs_of(world);
  springs_law law = kp_springs_law(springs, &springs->liquids.data[0], &springs->liquids.data[0]);
  double mass = springs->liquids.data[0].medium.mass;
  double edge = (double)side * DX;
  kp_test_steps(world, 1);
  int64_t n = kp_world_count(world, "gas");
  double *x[3], *v[3], *a[3];
  for (int k = 0; k < 3; ++k) {
    x[k] = kp_test_field(world, "gas", "position", k);
    v[k] = kp_test_field(world, "gas", "velocity", k);
    a[k] = kp_test_field(world, "gas", "acceleration", k);
    // back to where the forces were evaluated
    for (int64_t i = 0; i < n; ++i) {
      x[k][i] -= STEP * v[k][i];
      v[k][i] -= STEP * a[k][i];
    }
  }
  double worst = 0.0, largest = 0.0;
  double wall = c->periodic ? 0.0 : 0.5 * (double)law.touch;
  for (int64_t i = 0; i < n; ++i) {
    double f[3] = { 0, 0, 0 };
    bool inside = true;
    for (int64_t j = 0; j < n; ++j) {
      double d[3], u[3], r2 = 0.0, along = 0.0;
      for (int k = 0; k < 3; ++k) {
        d[k] = nearest_image(x[k][i] - x[k][j], edge, c->periodic && k < c->dimension);
        u[k] = v[k][j] - v[k][i];
        r2 += d[k] * d[k];
        along += u[k] * d[k];
      }
      double r = sqrt(r2);
      if (i == j || r >= fmax((double)law.touch, fmax((double)law.reach, (double)law.horizon))) {
        continue;
      }
      bool touch = r < (double)law.touch;
      double push = pair_by_hand(&law, r) - (touch ? (double)law.shear * along / r : 0.0);
      for (int k = 0; k < 3; ++k) {
        f[k] += push * d[k] / r + (touch ? (double)(law.shear + law.damping) * u[k] : 0.0);
      }
    }
    for (int k = 0; k < c->dimension && wall > 0.0; ++k) {
      inside = inside && x[k][i] > wall && x[k][i] < edge - wall;
    }
    for (int k = 0; k < 3 && inside; ++k) {
      worst = kp_test_most(worst, fabs(f[k] - mass * a[k][i]));
      largest = kp_test_most(largest, fabs(f[k]));
    }
    assert_true(c->dimension == 3 || (x[2][i] == 0.0 && a[2][i] == 0.0));
  }
  for (int k = 0; k < 3; ++k) {
    kp_free(x[k]), kp_free(v[k]), kp_free(a[k]);
  }
  kp_world_destroy(&world);
  return worst / largest;
}

static void test_against_all_pairs(void **state) {
  (void)state;
  double worst = 0.0;
  for (int general = 0; general <= 1; ++general) {
    for (int periodic = 0; periodic <= 1; ++periodic) {
      cloud flat = { 2, general != 0, periodic != 0 };
      cloud full = { 3, general != 0, periodic != 0 };
      worst = kp_test_most(worst, compare_all_pairs(&flat, 30));
      worst = kp_test_most(worst, compare_all_pairs(&full, 16));
    }
  }
  print_message("  spring forces of the grid against all pairs: %.1e of the largest\n", worst);
  kp_claim claim = { .id = "lyes-9-springs",
                     .text = "the grid search equals all pairs, spring-mass water",
                     .size = "4096 random spheres, 900 in 2D, two laws, open and periodic" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "difference of forces, of the largest", worst, KP_AT_MOST, KP_TOL(1e-5, 1e-12) });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- momentum and energy ------------------------------------------------------------------------

// Two liquids of different size and a free body, closed among themselves.
static void test_momentum(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_springs_def def = kp_default_springs_def();
  def.integrator = KP_INTEGRATOR_SYMPLECTIC;  // bodies take the same kicks
  kp_world *world = springs_world(&s, &def);
  kp_liquid_def left = spheres("left", kp_vec3_make(-0.2, -0.1, -0.1), kp_vec3_make(0, 0.1, 0.1));
  kp_liquid_def right = spheres("right", kp_vec3_make(0, -0.1, -0.1), kp_vec3_make(0.2, 0.1, 0.1));
  left.velocity = kp_vec3_make(2, 0, 0);
  right.velocity = kp_vec3_make(-2, 0.5, 0);
  right.spacing = 0.025;
  right.rest_density = 400.0;
  assert_ok(kp_world_add_liquid(world, &left));
  assert_ok(kp_world_add_liquid(world, &right));
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0, 0.17, 0), 0.06);
  ball.velocity = kp_vec3_make(0, -3, 0);
  assert_ok(kp_world_add_body(world, &ball));
  assert_ok(kp_world_build(world));
  kp_vec3 before = kp_vec3_make(0, 0, 0);
  double size = 0.0;
  for (int pass = 0; pass < 2; ++pass) {
    kp_population_stats l = kp_test_stats(world, "left");
    kp_population_stats r = kp_test_stats(world, "right");
    kp_index index = -1;
    for (kp_index b = 0; b < (kp_index)world->bodies->models.count; ++b) {
      index = strcmp(world->bodies->models.data[b].name, "ball") == 0 ? b : index;
    }
    kp_vec3 body = kp_vec3_scale(kp_bodies_frame(world->bodies, index).velocity,
                                 1.0 / world->bodies->models.data[index].inverse_mass);
    kp_vec3 sum = kp_vec3_add(kp_vec3_add(l.momentum, r.momentum), body);
    if (pass == 0) {
      before = sum;
      size = kp_vec3_length(l.momentum) + kp_vec3_length(r.momentum) + kp_vec3_length(body);
      kp_test_steps(world, 400);
      continue;
    }
    print_message("  momentum of two liquids and a body: drift %.1e, body turned to %.2f m/s\n",
                  kp_vec3_length(kp_vec3_sub(sum, before)) / size,
                  kp_bodies_frame(world->bodies, index).velocity.y);
    kp_claim claim = { .id = "lyes-L42-momentum",
                       .text = "soft spheres keep the momentum of two liquids and a free body",
                       .size = "2,124 spheres of two sizes, a ball at 3 m/s, 400 steps" };
    kp_claim_status verdict = kp_claim_all(
        &claim,
        { "drift, of the sum of sizes", kp_vec3_length(kp_vec3_sub(sum, before)) / size, KP_AT_MOST,
          KP_TOL(1e-4, 1e-6) },
        { "speed of the ball after it was hit, m/s",
          kp_bodies_frame(world->bodies, index).velocity.y, KP_MORE, -2.5 });
    assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  }
  kp_world_destroy(&world);
}

// A block that falls and settles: every layer is carried, and the energy that was lost is gone.
static double settled_height(kp_springs_def def, double *lost) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.12, 0.6, 0.12));
  kp_world *world = springs_world(&s, &def);
  kp_liquid_def water = spheres("water", kp_vec3_make(0, 0.02, 0), kp_vec3_make(0.12, 0.32, 0.12));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_population_stats before = kp_test_stats(world, "water");
  assert_ok(kp_world_advance(world, 1.0, NULL));
  kp_population_stats after = kp_test_stats(world, "water");
  *lost = before.potential_energy + before.kinetic_energy - after.potential_energy -
          after.kinetic_energy - after.internal_energy;
  double height = 2.0 * after.potential_energy / (after.mass * 9.81);  // twice the mean
  kp_world_destroy(&world);
  return height;
}

static void test_calibration(void **state) {
  (void)state;
  double lost;
  double height = settled_height(kp_default_springs_def(), &lost);
  // 15 layers at the most of compression they were calibrated for, and close packing at best
  print_message("  0.3 m of spheres settle to %.3f m, %.1f J gone\n", height, lost);
  assert_between(height, 0.3 * 0.70, 0.32);
  assert_true(lost > 0.0);
  // the printed numbers carry nothing: N spheres of 9.81 N on springs of at most 0.4 x 0.02 N
  kp_springs_def printed = kp_default_springs_def();
  printed.calibration = KP_SPRINGS_PRINTED;
  printed.walls = KP_SPRINGS_WALLS_PLANES;  // springs like these would not hold the liquid either
  double fallen = settled_height(printed, &lost);
  print_message("  with the numbers of Table 6.1 to %.3f m\n", fallen);
  kp_claim claim = { .id = "lyes-L42",
                     .text = "calibrated soft spheres carry a liquid, those of Table 6.1 do not",
                     .size = "540 spheres, 15 layers of 0.02 m, after 1 s" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "height over that at the start, at least", height / 0.3, KP_AT_LEAST, 0.7 },
      { "height over that at the start, at most", height / 0.3, KP_AT_MOST, 1.07 },
      { "height as printed over it", fallen / height, KP_AT_MOST, 0.25 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- integrators, walls -------------------------------------------------------------------------

// A drop for every scheme and both kinds of wall: it stays inside and comes to lie at the bottom.
static void test_schemes(void **state) {
  (void)state;
  double out = 0.0, fallen = 0.0, lost = 0.0;
  for (int scheme = 0; scheme < KP_INTEGRATOR_COUNT; ++scheme) {
    for (int walls = 0; walls <= 1; ++walls) {
      kp_test_settings s =
          kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.4, 0));
      kp_springs_def def = kp_default_springs_def();
      def.integrator = scheme;
      def.walls = walls;
      def.cfl = scheme == KP_INTEGRATOR_EULER ? 0.02 : 0.2;
      kp_world *world = springs_world(&s, &def);
      kp_liquid_def drop = spheres("drop", kp_vec3_make(0.1, 0.1, 0), kp_vec3_make(0.3, 0.3, 0));
      assert_ok(kp_world_add_liquid(world, &drop));
      assert_ok(kp_world_build(world));
      double before = kp_test_stats(world, "drop").potential_energy;
      assert_ok(kp_world_advance(world, 0.2, NULL));
      kp_population_stats after = kp_test_stats(world, "drop");
      lost += 100.0 - (double)after.count;
      fallen = kp_test_most(fallen, after.potential_energy / before);
      out = kp_test_most(out, fmax(-after.bounds.min.y, after.bounds.max.x - 0.4) / DX);
      kp_world_destroy(&world);
    }
  }
  kp_claim claim = { .id = "lyes-L46",
                     .text = "gravity acts and the box holds, for every scheme and both walls",
                     .size = "a drop of 100 spheres in 2D, 0.2 s" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "spheres beyond a face by, spacings, most", out, KP_AT_MOST, 0.0 },
                   { "spheres lost", lost, KP_AT_MOST, 0.0 },
                   { "energy of height left, share, most", fallen, KP_LESS, 0.8 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- same bits ----------------------------------------------------------------------------------

static kp_world *make_busy(const char *backend) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(1.2, 0.8, 0.5));
  s.backend = backend;
  kp_springs_def def = kp_default_springs_def();
  kp_world *world = springs_world(&s, &def);
  kp_liquid_def brine = spheres("brine", kp_vec3_make(0, 0, 0), kp_vec3_make(0.5, 0.5, 0.5));
  kp_liquid_def oil = spheres("oil", kp_vec3_make(0.5, 0, 0), kp_vec3_make(0.9, 0.4, 0.5));
  brine.jitter = 0.2;
  oil.rest_density = 700.0;
  assert_ok(kp_world_add_liquid(world, &brine));
  assert_ok(kp_world_add_liquid(world, &oil));
  kp_collider_def paddle = kp_default_collider_def();
  snprintf(paddle.name, sizeof paddle.name, "paddle");
  paddle.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.1);
  const double places[] = { 0.4, 0.4, 0.25, 0.5, 0.4, 0.25, 0.4, 0.4, 0.25 };
  paddle.position = (kp_curve){ .components = 3, .n = 3, .interval = 0.05, .samples = places };
  assert_ok(kp_world_add_collider(world, &paddle));
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0.75, 0.5, 0.25), 0.08);
  assert_ok(kp_world_add_body(world, &ball));
  kp_emitter_def jet = kp_default_emitter_def();
  snprintf(jet.name, sizeof jet.name, "jet");
  snprintf(jet.into, sizeof jet.into, "oil");
  jet.position = kp_curve_constant3(kp_vec3_make(1.0, 0.7, 0.25));
  jet.speed = kp_curve_constant(8.0);
  assert_ok(kp_world_add_emitter(world, &jet));
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  kp_test_log_end();
  return world;
}

static void test_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_busy, 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_law_of_two),  cmocka_unit_test(test_coincident),
    cmocka_unit_test(test_general_law), cmocka_unit_test(test_against_all_pairs),
    cmocka_unit_test(test_momentum),    cmocka_unit_test(test_calibration),
    cmocka_unit_test(test_schemes),     cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
