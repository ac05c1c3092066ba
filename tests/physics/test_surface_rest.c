// A pool that has come to rest: its surface moves from frame to frame at most twice as much as its
// particles do.
#include <math.h>
#include <string.h>

#include "base/memory.h"

#include "support/surfaces.h"
#include "support/worlds.h"

#define D 0.02
#define SIDE 20
#define FRAMES 4
#define COLUMNS 64

typedef struct frame {
  kp_test_cloud cloud;
  uint64_t *ids;
  double heights[COLUMNS * COLUMNS];
} frame;

static void take_frame(kp_world *world, frame *out) {
  kp_space *space = kp_registry_find(world->registry, "water");
  kp_field *position = kp_space_find(space, "position"), *id = kp_space_find(space, "id");
  void *x[3], *ids;
  for (int c = 0; c < 3; ++c) {
    assert_ok(kp_buffer_get(&position->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, &x[c]));
  }
  assert_ok(kp_buffer_get(&id->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &ids));
  out->ids = kp_alloc((size_t)space->n * sizeof *out->ids, KP_MEMORY_TEST);
  memcpy(out->ids, ids, (size_t)space->n * sizeof *out->ids);
  for (int64_t i = 0; i < space->n; ++i) {
    kp_test_cloud_add(&out->cloud,
                      kp_vec3_make(((double *)x[0])[i], ((double *)x[1])[i], ((double *)x[2])[i]));
  }
}

// Heights over the columns of samples: edges that run upwards are the same in every frame.
static void take_heights(const kp_isosurface *mesh, double voxel, double *heights) {
  memset(heights, 0, COLUMNS * COLUMNS * sizeof *heights);
  for (int64_t i = 0; i < mesh->n_vertices; ++i) {
    kp_vec3 p = mesh->vertices[i];
    double x = p.x / voxel, z = p.z / voxel;
    bool is_upward = fabs(x - round(x)) < 1e-6 && fabs(z - round(z)) < 1e-6;
    double margin = 3.0 * D, end = SIDE * D - margin;
    bool is_middle = p.x > margin && p.x < end && p.z > margin && p.z < end && p.y > 2.0 * D;
    if (is_upward && is_middle) {
      heights[(int)round(x) + COLUMNS * (int)round(z)] = p.y;
    }
  }
}

// RMS of what moved along one axis between two frames.
static double particle_motion(const frame *a, const frame *b) {
  int64_t n = a->cloud.n;
  int64_t *at = kp_alloc((size_t)n * sizeof *at, KP_MEMORY_TEST);
  for (int64_t i = 0; i < n; ++i) {
    assert_true(b->ids[i] < (uint64_t)n);
    at[b->ids[i]] = i;
  }
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    for (int c = 0; c < 3; ++c) {
      sum += pow(a->cloud.x[c][i] - b->cloud.x[c][at[a->ids[i]]], 2.0);
    }
  }
  kp_free(at);
  return sqrt(sum / (3.0 * (double)n));
}

static double surface_motion(const frame *a, const frame *b) {
  double sum = 0.0, n = 0.0;
  for (int i = 0; i < COLUMNS * COLUMNS; ++i) {
    if (a->heights[i] != 0.0 && b->heights[i] != 0.0) {
      sum += pow(a->heights[i] - b->heights[i], 2.0);
      n += 1.0;
    }
  }
  assert_true(n > 300.0);
  return sqrt(sum / n);
}

static void test_rest(void **state) {
  (void)state;
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(SIDE * D, 0.4, SIDE * D));
  settings.sph.solver = KP_SPH_SOLVER_DFSPH;
  kp_world *world = kp_test_world(&settings);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(SIDE * D, 7 * D, SIDE * D), D);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_test_stir(world, "water", 0.2, 3);
  assert_ok(kp_world_advance(world, 1.0, NULL));
  static frame frames[FRAMES];
  for (int f = 0; f < FRAMES; ++f) {
    take_frame(world, &frames[f]);
    assert_ok(kp_world_advance(world, 1.0 / 60.0, NULL));
  }
  for (int kind = 0; kind < KP_SURFACE_KIND_COUNT; ++kind) {
    kp_surfacing how = { .spacing = D, .voxel = 0.6 * D, .smooth = -1, .dimension = 3 };
    how.field = (kp_surface_kind)kind;
    how.box = (kp_aabb){ { 0, 0, 0 }, { SIDE * D, 0.4, SIDE * D } };
    kp_test_surface s = { 0 };
    double particles = 0.0, surface = 0.0;
    for (int f = 0; f < FRAMES; ++f) {
      kp_test_surface_make(&s, &how, &frames[f].cloud);
      take_heights(&s.mesh, how.voxel, frames[f].heights);
      if (f > 0) {
        particles += particle_motion(&frames[f - 1], &frames[f]) / (FRAMES - 1);
        surface += surface_motion(&frames[f - 1], &frames[f]) / (FRAMES - 1);
      }
    }
    print_message("%-16s particles %.5f, surface %.5f spacings per frame: %.2f\n",
                  kp_surface_fields[kind].name, particles / D, surface / D, surface / particles);
    assert_true(surface < 2.0 * particles);
    kp_test_surface_free(&s);
  }
  for (int f = 0; f < FRAMES; ++f) {
    kp_test_cloud_free(&frames[f].cloud);
    kp_free(frames[f].ids);
  }
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_rest) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
