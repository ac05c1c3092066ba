// The dam break of dam_break.c in a whirlwind: a force of one's own, added in every step.
//
//   cc -std=c17 custom_force.c $(pkg-config --cflags --libs kelpie) -o custom_force
//   ./custom_force [turns of the wind per second]
//
// Without the wind the flow is the same on both sides of the tank's middle plane, so its swirl
// about the vertical axis stays near zero; the wind turns it.
#include <kelpie/kelpie.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double center_x = 0.2, center_z = 0.2;  // the axis of the wind

typedef struct wind {
  double rate;  // rad/s
  double drag;  // 1/s: how fast the water takes the speed of the wind
} wind;

static void check(kp_result result) {
  if (result != KP_OK) {
    (void)fprintf(stderr, "%s: %s\n", kp_result_text(result), kp_last_error());
    exit(kp_result_status(result));
  }
}

// Called once per force evaluation and set: adds to the accelerations, changes nothing else.
static void blow(const kp_force_view *view, void *user) {
  const wind *w = user;
  for (int64_t i = 0; i < view->n; ++i) {
    double wind_x = w->rate * (view->z[i] - center_z);
    double wind_z = -w->rate * (view->x[i] - center_x);
    view->ax[i] += (kp_real)(w->drag * (wind_x - (double)view->vx[i]));
    view->az[i] += (kp_real)(w->drag * (wind_z - (double)view->vz[i]));
  }
}

static double *read_field(kp_world *world, const char *field, int component, int64_t n) {
  double *values = malloc((size_t)(n > 0 ? n : 1) * sizeof *values);
  if (values == NULL) {
    exit(1);
  }
  check(kp_world_read(world, "water", field, component, values, n));
  return values;
}

// Mean angular momentum about the axis per kilogram [m^2/s].
static double swirl(kp_world *world) {
  int64_t n = kp_world_count(world, "water");
  double *x = read_field(world, "position", 0, n);
  double *z = read_field(world, "position", 2, n);
  double *vx = read_field(world, "velocity", 0, n);
  double *vz = read_field(world, "velocity", 2, n);
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += (z[i] - center_z) * vx[i] - (x[i] - center_x) * vz[i];
  }
  free(x);
  free(z);
  free(vx);
  free(vz);
  return n > 0 ? sum / (double)n : 0.0;
}

int main(int argc, char **argv) {
  wind w = { .rate = 6.283185307 * (argc > 1 ? atof(argv[1]) : 2.0), .drag = 4.0 };
  kp_world *world;
  check(kp_world_create("cpu", &world));

  kp_domain_def tank = kp_default_domain_def();
  tank.max = kp_vec3_make(0.4, 0.4, 0.4);
  check(kp_world_set_domain(world, &tank));

  kp_liquid_def water = kp_default_liquid_def();
  (void)strcpy(water.name, "water");
  water.spacing = 0.025;
  water.shape.max = kp_vec3_make(0.2, 0.2, 0.4);  // a box, as the default says
  check(kp_world_add_liquid(world, &water));

  kp_world_set_force(world, blow, &w);
  check(kp_world_build(world));

  printf("   time   steps    swirl\n");
  for (int frame = 0; frame <= 20; ++frame) {
    if (frame > 0) {
      check(kp_world_advance(world, 1.0 / 60.0, NULL));
    }
    printf("%7.4f %7lld %8.5f\n", kp_world_time(world), (long long)kp_world_steps(world),
           swirl(world));
  }
  kp_world_destroy(&world);
  return 0;
}
