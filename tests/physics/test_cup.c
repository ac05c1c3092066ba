// Water poured into a cup (Hong 2009, section 2.4; claim 6b): does the level tell the volume that
// was poured, and how often does it spring before it stands? Weakly compressible SPH against FLIP
// and the implicit SPH of this program.
#include <math.h>
#include <stdio.h>

#include "support/claims.h"
#include "support/worlds.h"

#define WIDTH 0.2
#define SPACING 0.005
#define SECONDS 4.0
#define POUR 0.6  // s
#define SAMPLES 400
#define MOST 4096  // particles

typedef enum pourer { POUR_FLIP, POUR_DFSPH, POUR_WCSPH, POUR_SOFT, N_POURERS } pourer;
static const char *const names[N_POURERS] = { "FLIP", "dfsph", "SPH", "SPH, 3 m/s of sound" };

static kp_world *make_cup(pourer kind) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(WIDTH, 0.5, 0));
  s.domain.open_top = true;
  s.sph.solver = kind == POUR_DFSPH ? KP_SPH_SOLVER_DFSPH : KP_SPH_SOLVER_WCSPH;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(WIDTH, 0.1, 0), SPACING);
  water.empty = true;
  water.viscosity = 0.05;
  water.sound_speed = kind == POUR_SOFT ? 3.0 : 20.0;
  if (kind == POUR_FLIP) {
    water.method = KP_LIQUID_FLIP;
  }
  assert_ok(kp_world_add_liquid(world, &water));
  kp_emitter_def spout = kp_default_emitter_def();
  (void)snprintf(spout.name, sizeof spout.name, "spout");
  (void)snprintf(spout.into, sizeof spout.into, "water");
  spout.position = kp_curve_constant3(kp_vec3_make(0.07, 0.35, 0));
  spout.direction = kp_vec3_make(0, -1, 0);
  spout.radius = 0.02;
  spout.speed = kp_curve_constant(0.8);
  spout.stop = POUR;
  assert_ok(kp_world_add_emitter(world, &spout));
  assert_ok(kp_world_build(world));
  return world;
}

typedef struct cup {
  double volume;   // m^2 that were poured
  double level;    // m, mean of the last half second
  double off;      // of the level from volume over width
  int excursions;  // of the level by more than 1 %, after the last drop has fallen
  double largest;  // of them, share of the level
} cup;

// The surface of a pool with straight walls is twice as high as the mean of its particles.
static double level_of(kp_world *world, int64_t *n) {
  static double y[MOST];
  *n = kp_world_count(world, "water");
  assert_true(*n <= MOST);
  assert_ok(kp_world_read(world, "water", "position", 1, y, *n));
  double sum = 0.0;
  for (int64_t i = 0; i < *n; ++i) {
    sum += y[i];
  }
  return *n > 0 ? 2.0 * sum / (double)*n : 0.0;
}

static cup pour(pourer kind) {
  static double level[SAMPLES];
  kp_world *world = make_cup(kind);
  int64_t n = 0;
  for (int k = 0; k < SAMPLES; ++k) {
    assert_ok(kp_world_advance(world, SECONDS / SAMPLES, NULL));
    level[k] = level_of(world, &n);
  }
  kp_world_destroy(&world);
  cup c = { .volume = (double)n * SPACING * SPACING };
  int last = SAMPLES - SAMPLES / 8;
  for (int k = last; k < SAMPLES; ++k) {
    c.level += level[k] / (SAMPLES - last);
  }
  c.off = c.level / (c.volume / WIDTH) - 1.0;
  // the last drop takes a quarter of a second to fall
  double extreme = 0.0;
  for (int k = (int)((POUR + 0.25) / SECONDS * SAMPLES); k < SAMPLES; ++k) {
    double over = level[k] / c.level - 1.0;
    if (over * extreme < 0.0) {
      c.excursions += fabs(extreme) > 0.01;
      extreme = 0.0;
    }
    extreme = fabs(over) > fabs(extreme) ? over : extreme;
    c.largest = kp_test_most(c.largest, fabs(over));
  }
  return c;
}

static void test_level(void **state) {
  (void)state;
  cup c[N_POURERS];
  for (int k = 0; k < N_POURERS; ++k) {
    c[k] = pour((pourer)k);
    print_message(
        "  %-20s poured %.5f m^2, level %.4f m, %+.2f %% off; %d excursions, largest %.1f %%\n",
        names[k], c[k].volume, c[k].level, 100.0 * c[k].off, c[k].excursions, 100.0 * c[k].largest);
  }
  kp_claim level = { "hong-6b-level", "level of water poured into a cup against its volume, FLIP",
                     "2D, 0.2 m wide, about 860 particles, 4 s", fabs(c[POUR_FLIP].off), 0.02 };
  assert_int_equal(kp_claim_at_most(&level), KP_CLAIM_CONFIRMED);
  kp_claim springs = { .id = "hong-6b-springs",
                       .text =
                           "the level of FLIP springs at most once before it stands, of SPH often",
                       .size = "2D, 0.2 m wide, about 860 particles, 4 s; sound of SPH 20 m/s" };
  kp_claim_all(&springs,
               { "excursions of the level by more than 1 %, FLIP", c[POUR_FLIP].excursions,
                 KP_AT_MOST, 1.0 },
               { "the same of SPH", c[POUR_WCSPH].excursions, KP_AT_LEAST, 2.0 });
  // softer water stands lower
  assert_true(c[POUR_SOFT].level < c[POUR_WCSPH].level);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_level) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
