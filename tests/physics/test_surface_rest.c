// Pools that have come to rest: the surface moves from frame to frame at most twice as much as the
// particles do, and is smoother with larger field radii.
#include <math.h>
#include <string.h>

#include "base/memory.h"

#include "support/claims.h"
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

// ---- how smooth a pool is

#define PI 3.14159265358979323846
#define PATCH 0.25  // m, about: the edge of a periodic part of the pool

// Water of so many particles in half of a unit box that has come to rest, and what repeats beside
// it; *box is where the middle of its top lies.
static void settle(double count, kp_test_cloud *cloud, kp_aabb *box) {
  double d = cbrt(0.5 / count), edge = round(PATCH / d) * d, height = round(0.2 / d) * d;
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(edge, 0.5, edge));
  settings.domain.boundary_x = settings.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  settings.sph.solver = KP_SPH_SOLVER_DFSPH;
  kp_world *world = kp_test_world(&settings);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(edge, height, edge), d);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_test_stir(world, "water", 0.2, 3);
  assert_ok(kp_world_advance(world, 1.0, NULL));
  kp_test_particles p = kp_test_particles_read(world, "water");
  double top = 0.0;
  for (int64_t i = 0; i < p.n; ++i) {
    top = kp_test_most(top, p.x[1][i]);
    for (int image = 0; image < 9; ++image) {
      double x = p.x[0][i] + edge * (image % 3 - 1), z = p.x[2][i] + edge * (image / 3 - 1);
      if (fabs(x - 0.5 * edge) < edge && fabs(z - 0.5 * edge) < edge) {
        kp_test_cloud_add(cloud, kp_vec3_make(x, p.x[1][i], z));
      }
    }
  }
  *box = (kp_aabb){ { 0, top - 0.08, 0 }, { edge, top + 0.1, edge } };
  kp_test_particles_free(&p);
  kp_world_destroy(&world);
}

// The RMS angle between neighbouring triangles falls with the field radius, and at the largest one
// it hardly depends on the number of particles. A field radius below the distance of particles
// leaves drops, which at 1/64 lie between the corners of 64^3 voxels.
static void test_smoothness(void **state) {
  (void)state;
  static const double radii[3] = { 1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0 };
  static const double counts[2] = { 32768.0, 131072.0 };
  double angle[2][2][3], falls = 0.0;
  for (int many = 0; many < 2; ++many) {
    kp_test_cloud c = { 0 };
    kp_aabb top;
    settle(counts[many], &c, &top);
    for (int fine = 0; fine < 2; ++fine) {
      for (int r = 0; r < 3; ++r) {
        double d = cbrt(0.5 / counts[many]);
        kp_surfacing how = { .spacing = d,
                             .voxel = fine == 0 ? 1.0 / 64.0 : 1.0 / 128.0,
                             .smooth = -1,
                             .dimension = 3,
                             .field = KP_SURFACE_METABALLS,
                             .box = { { -10, -10, -10 }, { 10, 10, 10 } } };
        how.reach = radii[r] / sqrt(2.0) / d;
        kp_test_surface s = { 0 };
        kp_test_surface_make(&s, &how, &c);
        angle[many][fine][r] = kp_test_surface_dihedral(&s.mesh, &top) * 180.0 / PI;
        print_message("%6.0f particles, %3d^3 voxels, R_f %.4f: %5.1f degrees\n", counts[many],
                      fine == 0 ? 64 : 128, radii[r], angle[many][fine][r]);
        kp_test_surface_free(&s);
      }
      const double *a = angle[many][fine];
      falls += a[2] < a[1] && a[1] < a[0] ? 1.0 : 0.0;
      assert_true(a[2] < a[0]);
    }
    kp_test_cloud_free(&c);
  }
  const double coarse = fabs(angle[0][0][2] / angle[1][0][2] - 1.0);
  const double fine = fabs(angle[0][1][2] / angle[1][1][2] - 1.0);
  print_message("at R_f 1/16, between 32 and 128 thousand particles: %.2f and %.2f\n", coarse,
                fine);
  kp_claim claim = { .id = "lyes-17",
                     .text = "a calm pool is smoother with larger field radii",
                     .size = "pools as of 32 and 128 thousand particles, 64^3 and 128^3 voxels" };
  kp_claim_all(&claim,
               { "pools of four smoother at R_f 1/16 than at 1/64",
                 (angle[0][0][2] < angle[0][0][0]) + (angle[0][1][2] < angle[0][1][0]) +
                     (angle[1][0][2] < angle[1][0][0]) + (angle[1][1][2] < angle[1][1][0]),
                 KP_AT_LEAST, 4.0 },
               { "pools of four smoother with each doubling", falls, KP_AT_LEAST, 4.0 });
  kp_claim count = { .id = "lyes-17-count",
                     .text = "at R_f 1/16 smoothness changes little with the number of particles",
                     .size = "pools as of 32 and 128 thousand particles" };
  kp_claim_all(&count, { "change of the angle, 128^3 voxels, share", fine, KP_AT_MOST, 0.2 },
               { "change of the angle, 64^3 voxels, share", coarse, KP_AT_MOST, 0.2 });
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_rest),
                                      cmocka_unit_test(test_smoothness) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
