// Scenes of Lyes 2015 whose figures are measured, coarser than they are: water that pours through a
// hole in a ceiling, liquids that differ by their parameters, a ball that moves through water.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kelpie/scene.h"

#include "support/claims.h"
#include "support/media.h"
#include "support/worlds.h"

#define G 9.81

static kp_world *load(const char *path, const char *const *sets, size_t n) {
  kp_world *world = NULL;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_load_scene(world, path, sets, n));
  assert_ok(kp_world_build(world));
  return world;
}

// ---- through a hole

#define HOLE 0.09   // m, half its side
#define UPPER 0.05  // m, faces of the ceiling
#define LOWER 0.0

typedef struct pour {
  double below;   // particles under the ceiling
  double beside;  // particles in it, more than half a spacing from the hole's sides
} pour;

static pour look(kp_world *world, double spacing) {
  kp_test_particles p = kp_test_particles_read(world, "water");
  pour out = { 0 };
  for (int64_t i = 0; i < p.n; ++i) {
    double side = fmax(fabs(p.x[0][i]), fabs(p.x[2][i])) - HOLE;
    double depth = fmin(UPPER - p.x[1][i], p.x[1][i] - LOWER);
    out.below += p.x[1][i] < LOWER ? 1.0 : 0.0;
    out.beside += depth > 0.5 * spacing && side > 0.5 * spacing ? 1.0 : 0.0;
  }
  kp_test_particles_free(&p);
  return out;
}

// Water leaves by the hole alone, and about as fast as through one in a thin plate, 0.6 of
// A sqrt(2 g h), h from the surface to the lower face.
static void test_hole(void **state) {
  (void)state;
  const double spacing = 0.035, step = 0.025;
  const char *const sets[] = { "water.spacing=0.035" };
  kp_world *world = load(KP_SCENES "/papers/lyes/ceiling_hole.lua", sets, 1);
  double volume = pow(spacing, 3.0), n = 0.0, t = 0.0, v = 0.0, tt = 0.0, tv = 0.0, beside = 0.0;
  for (int k = 1; k <= 28; ++k) {
    assert_ok(kp_world_advance(world, step, NULL));
    pour now = look(world, spacing);
    beside = kp_test_most(beside, now.beside);
    if (k * step > 0.15) {
      n += 1.0;
      t += k * step;
      v += now.below * volume;
      tt += k * step * k * step;
      tv += k * step * now.below * volume;
    }
  }
  double rate = (n * tv - t * v) / (n * tt - t * t), height = 0.25 + UPPER - LOWER - 0.5 * v / n;
  double share = rate / (4.0 * HOLE * HOLE * sqrt(2.0 * G * height));
  print_message("  %lld particles: %.4f m^3/s, %.2f of A sqrt(2 g h); %g beside the hole\n",
                (long long)kp_world_count(world, "water"), rate, share, beside);
  kp_claim claim = { .id = "lyes-L48",
                     .text = "water above a ceiling pours through the hole in it alone",
                     .size = "ceiling_hole.lua at a spacing of 0.035 m, 0.15 to 0.7 s" };
  kp_claim_all(&claim,
               { "particles in the ceiling beside the hole, most", beside, KP_AT_MOST, 0.0 },
               { "flow over A sqrt(2 g h), least", share, KP_AT_LEAST, 0.4 },
               { "flow over A sqrt(2 g h), most", share, KP_AT_MOST, 0.8 });
  assert_between(share, 0.2, 1.0);
  kp_world_destroy(&world);
}

// ---- other liquids

static double energy_of(kp_world *world, const char *name) {
  kp_population_stats s = kp_test_stats(world, name);
  return s.kinetic_energy / s.mass;
}

static double top_of(kp_world *world, const char *name) {
  return kp_test_stats(world, name).bounds.max.y;
}

// Height that nine tenths of a liquid do not exceed.
static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double level_of(kp_world *world, const char *name) {
  int64_t n = kp_world_count(world, name);
  double *y = kp_test_field(world, name, "position", 1);
  qsort(y, (size_t)n, sizeof *y, by_value);
  double level = y[(int64_t)(0.9 * (double)(n - 1))];
  kp_free(y);
  return level;
}

// Milk is 200/26 times thinner than oil in all but their densities.
static void test_liquids(void **state) {
  (void)state;
  const char *const sets[] = { "milk.spacing=0.03", "oil.spacing=0.03", "rubber.spacing=0.03" };
  kp_world *world = load(KP_SCENES "/papers/lyes/other_fluids.lua", sets, 3);
  assert_ok(kp_world_advance(world, 0.5, NULL));
  double ratio = energy_of(world, "milk") / energy_of(world, "oil");
  double higher = top_of(world, "milk") - top_of(world, "oil");
  assert_ok(kp_world_advance(world, 1.0, NULL));
  double stands = level_of(world, "rubber") - level_of(world, "oil");
  print_message(
      "  %lld particles each: milk moves %.1f times as much, splashes %.2f m higher; rubber "
      "stands %.3f m higher\n",
      (long long)kp_world_count(world, "milk"), ratio, higher, stands);
  kp_claim claim = { .id = "lyes-L49",
                     .text = "milk, oil and rubber differ by their parameters alone",
                     .size = "other_fluids.lua at a spacing of 0.03 m" };
  kp_claim_all(&claim,
               { "kinetic energy of milk over that of oil per mass, after 0.5 s", ratio,
                 KP_AT_LEAST, 200.0 / 26.0 },
               { "splash of milk above that of oil, m", higher, KP_MORE, 0.03 },
               { "rubber above oil after 1.5 s, m", stands, KP_MORE, 0.03 });
  kp_world_destroy(&world);
}

// ---- a ball led through water

#define BALL 0.1  // m

// Where the scene's function puts it.
static kp_vec3 ball_at(double t) {
  double turn = fmin(t, 0.5) * t * 4.0;
  return kp_vec3_make(0.3 * sin(turn), -0.26, 0.18 * sin(2.0 * turn));
}

// Water stays out of the ball, and that in front of it goes along, more than an ideal liquid does,
// (R/r)^3 (cos^2 - sin^2 / 2) of the ball's speed, and less than the ball.
static void test_ball(void **state) {
  (void)state;
  const double spacing = 0.035;
  const char *const sets[] = { "water.spacing=0.035" };
  kp_world *world = load(KP_SCENES "/papers/lyes/collider.lua", sets, 1);
  double deepest = 0.0, along = 0.0, ideal = 0.0, n = 0.0;
  assert_ok(kp_world_advance(world, 0.4, NULL));
  for (int k = 0; k < 20; ++k) {
    assert_ok(kp_world_advance(world, 0.025, NULL));
    double t = kp_world_time(world), dt = 1e-4;
    kp_vec3 at = ball_at(t);
    kp_vec3 v = kp_vec3_scale(kp_vec3_sub(ball_at(t + dt), ball_at(t - dt)), 0.5 / dt);
    kp_vec3 ahead = kp_vec3_normalize(v);
    kp_test_particles p = kp_test_particles_read(world, "water");
    for (int64_t i = 0; i < p.n; ++i) {
      kp_vec3 r = kp_vec3_sub(kp_vec3_make(p.x[0][i], p.x[1][i], p.x[2][i]), at);
      double far = kp_vec3_length(r) - BALL;
      deepest = kp_test_most(deepest, -far / spacing);
      double cosine = kp_vec3_dot(kp_vec3_normalize(r), ahead);
      if (far < 1.5 * spacing && cosine > 0.7) {
        ideal += pow(BALL / (BALL + far), 3.0) * (1.5 * cosine * cosine - 0.5);
        along +=
            kp_vec3_dot(kp_vec3_make(p.v[0][i], p.v[1][i], p.v[2][i]), ahead) / kp_vec3_length(v);
        n += 1.0;
      }
    }
    kp_test_particles_free(&p);
  }
  print_message("  deepest in the ball %.2f spacings; %g in front of it at %.2f of its speed, %.2f "
                "in an ideal liquid\n",
                deepest, n, along / n, ideal / n);
  kp_claim claim = { .id = "lyes-L47",
                     .text = "a ball led through water pushes it along and stays free of it",
                     .size = "collider.lua at a spacing of 0.035 m, 0.4 to 0.9 s" };
  kp_claim_all(&claim, { "deepest particle in the ball, spacings", deepest, KP_AT_MOST, 0.5 },
               { "speed of the water in front over that of an ideal liquid", along / ideal,
                 KP_AT_LEAST, 1.0 },
               { "the same over the ball's", along / n, KP_AT_MOST, 1.0 },
               { "particles in front of it, of all samples", n, KP_AT_LEAST, 50.0 });
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_hole),
    cmocka_unit_test(test_liquids),
    cmocka_unit_test(test_ball),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
