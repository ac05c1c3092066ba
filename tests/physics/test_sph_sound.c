// Sound in SPH (B2): a standing wave u = U sin(kx) in a periodic strip swings with the period L/c
// that the equation of state says, in 2D and 3D (B8), linear and Tait, for two speeds of sound.
#include <math.h>
#include <stdio.h>

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define LONG 48  // particles along the wave
#define WIDE 8   // across

typedef struct medium {
  int dimension;
  int eos;
  double speed;  // m/s
} medium;

static kp_world *make_strip(const medium *m) {
  double dx = 1.0 / LONG;
  double width = WIDE * dx;
  kp_test_settings s =
      kp_test_settings_make(m->dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(1, width, width));
  s.domain.boundary_x = s.domain.boundary_y = KP_BOUNDARY_PERIODIC;
  s.domain.boundary_z = m->dimension == 3 ? KP_BOUNDARY_PERIODIC : s.domain.boundary_z;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.kernel = KP_SPH_WENDLAND;
  s.sph.support = 3.0;
  kp_world *world = kp_test_world(&s);
  double lowest = m->dimension == 3 ? 0.0 : -1.0;
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, lowest),
                                       kp_vec3_make(1, width, m->dimension == 3 ? width : 1), dx);
  water.rest_density = 1.0;
  water.viscosity = 0.0;
  water.eos = m->eos;
  water.sound_speed = m->speed;
  water.clamp_negative_pressure = false;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_set *set = kp_test_fluid(world, "water")->medium.set;
  const kp_pos *x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ);
  kp_real *u = kp_buffer_host(&set->velocity->buffers[0], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < set->space->n; ++i) {
    u[i] = (kp_real)(1e-3 * m->speed * sin(2.0 * PI * x[i]));
  }
  return world;
}

static double amplitude(kp_world *world) {
  kp_test_particles p = kp_test_particles_read(world, "water");
  double sum = 0.0;
  for (int64_t i = 0; i < p.n; ++i) {
    sum += 2.0 * p.v[0][i] * sin(2.0 * PI * p.x[0][i]) / (double)p.n;
  }
  kp_test_particles_free(&p);
  return sum;
}

// From when the speed is first zero, a quarter of a period after the start.
static double measured_speed(const medium *m) {
  kp_world *world = make_strip(m);
  double tick = 0.005 / m->speed;
  double before = amplitude(world);
  double time = 0.0;
  for (int k = 0; k < 100; ++k) {
    assert_ok(kp_world_advance(world, tick, NULL));
    double now = amplitude(world);
    time += tick;
    if (now <= 0.0) {
      time -= tick * -now / (before - now);
      break;
    }
    before = now;
  }
  kp_world_destroy(&world);
  return 0.25 / time;
}

static void test_speed(void **state) {
  (void)state;
  const medium all[] = {
    { 2, 0, 10.0 }, { 2, 0, 40.0 }, { 2, 1, 10.0 }, { 3, 0, 10.0 }, { 3, 1, 40.0 }
  };
  double worst = 0.0;
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    double c = measured_speed(&all[k]);
    worst = kp_test_most(worst, fabs(c / all[k].speed - 1.0));
    print_message("  %dD, %s, %g m/s of sound: %.3f m/s\n", all[k].dimension,
                  all[k].eos ? "tait" : "linear", all[k].speed, c);
  }
  assert_between(worst, 0.0, 0.05);
  kp_claim claim = { .id = "bayraktar-B2-sound",
                     .text = "a standing wave swings with the speed of sound of the liquid's state",
                     .size =
                         "48 particles along the wave, 2D and 3D, linear and Tait, 10 and 40 m/s" };
  kp_claim_all(&claim, { "relative error of the speed of sound", worst, KP_AT_MOST, 0.05 });
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_speed) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
