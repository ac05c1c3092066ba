// Taylor-Green vortices in a periodic square: u = -U cos(kx) sin(ky) exp(-2 nu k^2 t), an exact
// solution of the Navier-Stokes equations. Speeds must fall as the viscosity says.
#include <math.h>
#include <stdio.h>

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define SIDE 32
#define VISCOSITY 0.01  // Re = 100
#define SECONDS 1.0

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
}

static kp_world *vortices(int viscosity_model, double shifting) {
  double dx = 1.0 / SIDE;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
  s.domain.boundary_y = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.kernel = KP_SPH_WENDLAND;
  s.sph.support = 3.0;
  s.sph.shifting = shifting;
  s.sph.viscosity_model = viscosity_model;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, -1), kp_vec3_make(1, 1, 1), dx);
  water.rest_density = 1.0;
  water.viscosity = VISCOSITY;
  water.eos = 0;
  water.sound_speed = 10.0;
  water.clamp_negative_pressure = false;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  set_vortices(world);
  return world;
}

// Share of the speed that is left; of the two, rms over all particles and amplitude of the mode.
typedef struct decay {
  double rms, mode, momentum;
} decay;

static decay left_after(kp_world *world) {
  kp_test_particles p = kp_test_particles_read(world, "water");
  decay d = { 0.0, 0.0, 0.0 };
  for (int64_t i = 0; i < p.n; ++i) {
    double x = 2.0 * PI * p.x[0][i];
    double y = 2.0 * PI * p.x[1][i];
    d.rms += p.v[0][i] * p.v[0][i] + p.v[1][i] * p.v[1][i];
    d.mode += -p.v[0][i] * cos(x) * sin(y) + p.v[1][i] * sin(x) * cos(y);
    d.momentum += p.v[0][i];
  }
  d.rms = sqrt(2.0 * d.rms / (double)p.n);
  d.mode *= 2.0 / (double)p.n;
  d.momentum /= (double)p.n;
  kp_test_particles_free(&p);
  return d;
}

static decay run_vortices(int viscosity_model, double shifting) {
  kp_world *world = vortices(viscosity_model, shifting);
  decay start = left_after(world);
  assert_near(start.rms, 1.0, 1e-3);
  assert_ok(kp_world_advance(world, SECONDS, NULL));
  decay end = left_after(world);
  kp_world_destroy(&world);
  return end;
}

static void test_decay(void **state) {
  (void)state;
  double want = exp(-8.0 * PI * PI * VISCOSITY * SECONDS);
  decay plain = run_vortices(KP_SPH_VISCOSITY_LAPLACIAN, 6.0);
  decay fractional = run_vortices(KP_SPH_VISCOSITY_FRACTIONAL, 6.0);
  double error = fmax(fabs(plain.rms / want - 1.0), fabs(plain.mode / want - 1.0));
  double fractional_error =
      fmax(fabs(fractional.rms / want - 1.0), fabs(fractional.mode / want - 1.0));
  print_message("  speed left %.4f (rms), %.4f (mode), wanted %.4f: off by %.3f; fractional %.3f\n",
                plain.rms, plain.mode, want, error, fractional_error);
  assert_between(error, 0.0, 0.05);
  assert_between(fractional_error, 0.0, 0.05);
  assert_near(plain.momentum, 0.0, KP_TOL(1e-4, 1e-4));
  kp_claim claim = { .id = "kelpie-taylor-green",
                     .text = "Taylor-Green vortices of Re 100 decay as the viscosity says",
                     .size = "32 x 32 particles, periodic, shifting 6, 1 s" };
  kp_claim_all(&claim, { "relative error of the speed left", error, KP_AT_MOST, 0.05 },
               { "with fractional viscosity", fractional_error, KP_AT_MOST, 0.05 });
}

// Why there is shifting: without it the noise of the pressure eats the flow.
static void test_without_shifting(void **state) {
  (void)state;
  double want = exp(-8.0 * PI * PI * VISCOSITY * SECONDS);
  decay plain = run_vortices(KP_SPH_VISCOSITY_LAPLACIAN, 0.0);
  print_message("  without shifting: %.4f (rms), %.4f (mode) of %.4f\n", plain.rms, plain.mode,
                want);
  assert_between(plain.mode / want, 0.2, 0.8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_decay),
    cmocka_unit_test(test_without_shifting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
