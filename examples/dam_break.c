// A dam break stepped from C: make a world, let a block of water go, watch its front run.
//
//   cc -std=c17 dam_break.c $(pkg-config --cflags --libs kelpie) -o dam_break
//   ./dam_break [spacing of the particles in metres]
//
// For the static library ask pkg-config with --static and put -l:libkelpie.a in place of -lkelpie.
#include <kelpie/kelpie.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 12
#define FPS 60.0

// The library never exits or prints: it returns a code and keeps a sentence.
static void check(kp_result result) {
  if (result != KP_OK) {
    (void)fprintf(stderr, "%s: %s\n", kp_result_text(result), kp_last_error());
    exit(kp_result_status(result));
  }
}

static kp_world *make_world(double spacing) {
  kp_world *world;
  check(kp_world_create("cpu", &world));

  kp_domain_def tank = kp_default_domain_def();
  tank.max = kp_vec3_make(0.8, 0.4, 0.2);
  tank.open_top = true;
  check(kp_world_set_domain(world, &tank));

  kp_liquid_def water = kp_default_liquid_def();
  (void)strcpy(water.name, "water");
  water.spacing = spacing;
  water.shape.kind = KP_SHAPE_BOX;
  water.shape.max = kp_vec3_make(0.2, 0.2, 0.2);
  check(kp_world_add_liquid(world, &water));

  check(kp_world_build(world));
  return world;
}

// One component of all positions; the caller frees it.
static double *read_positions(kp_world *world, int component, int64_t *n) {
  *n = kp_world_count(world, "water");
  double *values = malloc((size_t)(*n > 0 ? *n : 1) * sizeof *values);
  if (values == NULL) {
    exit(1);
  }
  check(kp_world_read(world, "water", "position", component, values, *n));
  return values;
}

static double largest(kp_world *world, int component) {
  int64_t n;
  double *values = read_positions(world, component, &n);
  double top = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    top = values[i] > top ? values[i] : top;
  }
  free(values);
  return top;
}

int main(int argc, char **argv) {
  double spacing = argc > 1 ? atof(argv[1]) : 0.02;
  kp_world *world = make_world(spacing);
  int64_t n = kp_world_count(world, "water");
  printf("particles %lld\n", (long long)n);

  printf("   time   steps   front  height\n");
  for (int frame = 0; frame <= FRAMES; ++frame) {
    if (frame > 0) {
      check(kp_world_advance(world, 1.0 / FPS, NULL));
    }
    printf("%7.4f %7lld %7.4f %7.4f\n", kp_world_time(world), (long long)kp_world_steps(world),
           largest(world, 0), largest(world, 1));
  }

  double *x = read_positions(world, 0, &n);
  double *y = read_positions(world, 1, &n);
  double *z = read_positions(world, 2, &n);
  for (int64_t i = 0; i < n && i < 3; ++i) {
    printf("position %.4f %.4f %.4f\n", x[i], y[i], z[i]);
  }
  free(x);
  free(y);
  free(z);

  uint64_t hash;
  check(kp_world_hash(world, &hash));
  printf("state %016llx\n", (unsigned long long)hash);
  kp_world_destroy(&world);
  return 0;
}
