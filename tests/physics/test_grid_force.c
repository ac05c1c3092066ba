// A user's force (kp_world_set_force) and force fields by name on fluids that live on grids: FLIP,
// APIC, a narrow band, level sets, marker cells, gases.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/flip/flip.h"
#include "methods/level_set/pls.h"
#include "methods/marker/marker.h"
#include "methods/smoke/smoke.h"

#include "support/media.h"

#define PUSH 0.5  // m/s^2 along x
#define SECONDS 0.2
#define SMOKE (-1)

typedef struct fluid {
  const char *name;
  int method;  // of a liquid; SMOKE: a gas
  int transfer;
  double band;
} fluid;

static const fluid fluids[] = {
  { "FLIP", KP_LIQUID_FLIP, KP_FLIP_BLEND, 0.0 },
  { "APIC", KP_LIQUID_FLIP, KP_FLIP_AFFINE, 0.0 },
  { "narrow band", KP_LIQUID_FLIP, KP_FLIP_BLEND, 3.0 },
  { "level set", KP_LIQUID_LEVEL_SET, 0, 0.0 },
  { "marker cells", KP_LIQUID_MARKER, 0, 0.0 },
  { "smoke", SMOKE, 0, 0.0 },
};
enum { N_FLUIDS = sizeof fluids / sizeof fluids[0] };

// A box of a metre around which everything comes back along x, full of gas or filled with liquid
// below.
static kp_world *room(const fluid *f, int dimension) {
  double depth = dimension == 3 ? 0.5 : 0.0;
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, depth));
  s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  kp_flip_def flip = kp_default_flip_def();
  grid.cell = 1.0 / 16;
  flip.transfer = f->transfer;
  flip.band = f->band;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_flip(world, &flip));
  if (f->method == SMOKE) {
    kp_smoke_def smoke = kp_default_smoke_def();
    (void)snprintf(smoke.name, sizeof smoke.name, "fluid");
    smoke.empty = true;
    assert_ok(kp_world_add_smoke(world, &smoke));
  } else {
    kp_liquid_def water = kp_test_liquid("fluid", kp_vec3_make(0, 0, 0),
                                         kp_vec3_make(1, 0.5, depth), 0.5 * grid.cell);
    water.method = f->method;
    water.viscosity = 0.0;
    assert_ok(kp_world_add_liquid(world, &water));
  }
  return world;
}

static kp_flow *flow_of(kp_world *world, const fluid *f) {
  kp_flip *flip = f->method == KP_LIQUID_FLIP ? kp_test_system(world, &kp_flip_method) : NULL;
  kp_pls *pls = f->method == KP_LIQUID_LEVEL_SET ? kp_test_system(world, &kp_pls_method) : NULL;
  kp_marker *marker =
      f->method == KP_LIQUID_MARKER ? kp_test_system(world, &kp_marker_method) : NULL;
  kp_smoke *smoke = f->method == SMOKE ? kp_test_system(world, &kp_smoke_method) : NULL;
  return flip != NULL     ? &flip->flow
         : pls != NULL    ? &pls->flow
         : marker != NULL ? &marker->flow
                          : &smoke->gases.data[0].flow;
}

// Slowest and fastest face across x, well inside the fluid.
static void speeds(kp_world *world, const fluid *f, double *slowest, double *fastest) {
  const kp_flow *flow = flow_of(world, f);
  const kp_mac_view *g = &flow->mac->view;
  const kp_real *u = kp_buffer_host(&flow->velocity->buffers[0], KP_ACCESS_READ);
  *slowest = HUGE_VAL;
  *fastest = -HUGE_VAL;
  for (int64_t k = 0; k < g->n[2]; ++k) {
    for (int64_t j = 1; j < 6; ++j) {
      for (int64_t i = 0; i < g->n[0]; ++i) {
        double v = (double)u[kp_mac_at(g, i, j, k)];
        *slowest = kp_test_least(*slowest, v);
        *fastest = kp_test_most(*fastest, v);
      }
    }
  }
}

typedef struct calls {
  int64_t n, n_faces;
  bool is_finite;
} calls;

// Beside the push along x one that the pressure of the floor takes.
static void push(const kp_force_view *view, void *user) {
  calls *c = user;
  assert_string_equal(view->set, "fluid");
  c->n += 1;
  c->n_faces = view->n;
  for (int64_t i = 0; i < view->n; ++i) {
    c->is_finite = c->is_finite && isfinite(view->x[i] + view->y[i] + view->z[i]) &&
                   isfinite((double)(view->vx[i] + view->vy[i] + view->vz[i]));
    view->ax[i] += (kp_real)PUSH;
    view->ay[i] -= (kp_real)(2.0 * PUSH);
  }
}

static void forces_act_on_fluids_of_grids(void **state) {
  (void)state;
  for (int n = 0; n < 2 * N_FLUIDS; ++n) {
    const fluid *f = &fluids[n % N_FLUIDS];
    int dimension = n < N_FLUIDS ? 2 : 3;
    kp_world *world = room(f, dimension);
    calls c = { .is_finite = true };
    double slowest;
    double fastest;
    kp_world_set_force(world, push, &c);
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, SECONDS, NULL));
    speeds(world, f, &slowest, &fastest);
    print_message("%s, %dD: %.5f to %.5f m/s of %g\n", f->name, dimension, slowest, fastest,
                  PUSH * SECONDS);
    assert_between(slowest, 0.99 * PUSH * SECONDS, 1.01 * PUSH * SECONDS);
    assert_between(fastest, 0.99 * PUSH * SECONDS, 1.01 * PUSH * SECONDS);
    assert_true(c.is_finite && c.n >= 1);
    int64_t cells = dimension == 3 ? 16 * 16 * 8 : 16 * 16;
    assert_between((double)c.n_faces, (double)(dimension * cells), 1.5 * dimension * (double)cells);
    kp_world_destroy(&world);
  }
}

// The same as gravity, in place and pressure.
static void weigh(const kp_force_view *view, void *user) {
  (void)user;
  for (int64_t i = 0; i < view->n; ++i) {
    view->ay[i] -= (kp_real)9.81;
  }
}

static void middle_of(kp_world *world, double middle[2]) {
  static double x[4096];
  int64_t n = kp_world_count(world, "fluid");
  assert_true(n > 0 && n <= 4096);
  for (int c = 0; c < 2; ++c) {
    assert_ok(kp_world_read(world, "fluid", "position", c, x, n));
    middle[c] = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      middle[c] += x[i] / (double)n;
    }
  }
}

static void a_weight_of_ones_own_is_gravity(void **state) {
  (void)state;
  double middle[2][2];
  for (int way = 0; way < 2; ++way) {
    kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0));
    s.simulation.gravity = kp_vec3_make(0, way == 0 ? -9.81 : 0.0, 0);
    s.simulation.dt = 0.0025;
    kp_world *world = kp_test_world(&s);
    kp_liquid_def water =
        kp_test_liquid("fluid", kp_vec3_make(0, 0, 0), kp_vec3_make(0.3, 0.5, 0), 1.0 / 32);
    water.method = KP_LIQUID_FLIP;
    water.viscosity = 0.0;
    assert_ok(kp_world_add_liquid(world, &water));
    if (way == 1) {
      kp_world_set_force(world, weigh, NULL);
    }
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 0.25, NULL));
    middle_of(world, middle[way]);
    kp_world_destroy(&world);
  }
  print_message("middle at %.5f, %.5f m by gravity, %.5f, %.5f m by the force\n", middle[0][0],
                middle[0][1], middle[1][0], middle[1][1]);
  assert_true(middle[0][0] > 0.16);
  assert_between(middle[1][0] - middle[0][0], -1e-3, 1e-3);
  assert_between(middle[1][1] - middle[0][1], -1e-3, 1e-3);
}

static kp_force_def field_on(const char *name) {
  kp_force_def force = kp_default_force_def();
  (void)snprintf(force.name, sizeof force.name, "wind");
  (void)snprintf(force.on, sizeof force.on, "%s", name);
  force.acceleration = kp_curve_constant3(kp_vec3_make(PUSH, 0, 0));
  return force;
}

// A force field that names its liquid acts on it.
static void fields_act_by_name(void **state) {
  (void)state;
  kp_world *world = room(&fluids[0], 2);
  kp_force_def force = field_on("fluid");
  double slowest;
  double fastest;
  assert_ok(kp_world_add_force(world, &force));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, SECONDS, NULL));
  speeds(world, &fluids[0], &slowest, &fastest);
  assert_between(slowest, 0.99 * PUSH * SECONDS, 1.01 * PUSH * SECONDS);
  assert_between(fastest, 0.99 * PUSH * SECONDS, 1.01 * PUSH * SECONDS);
  kp_world_destroy(&world);
}

// On one of two that share a grid it cannot.
static void fields_on_one_of_several_are_refused(void **state) {
  (void)state;
  kp_world *world = room(&fluids[0], 2);
  kp_liquid_def other =
      kp_test_liquid("other", kp_vec3_make(0, 0.5, 0), kp_vec3_make(1, 0.75, 0), 0.5 / 16);
  other.method = KP_LIQUID_FLIP;
  other.viscosity = 0.0;
  kp_force_def force = field_on("other");
  assert_ok(kp_world_add_liquid(world, &other));
  assert_ok(kp_world_add_force(world, &force));
  assert_int_equal(kp_world_build(world), KP_ERROR_SCENE);
  assert_non_null(strstr(kp_last_error(), "share one grid"));
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(forces_act_on_fluids_of_grids),
    cmocka_unit_test(a_weight_of_ones_own_is_gravity),
    cmocka_unit_test(fields_act_by_name),
    cmocka_unit_test(fields_on_one_of_several_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
