// Surfaces made on the device of a backend against those of the loops of the host: the same meshes
// to the last bit, for every field, in space and in flat worlds, without the particles being
// copied. Smoothing of meshes as well.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geom/mesh_smooth_device.h"
#include "geom/surface_device.h"

#define D 0.05
#define MOST 4000
#define N_VALUES 2

// cpu and mirror, or the one named in KP_TEST_BACKEND.
static void on_backends(void (*check)(kp_backend *backend)) {
  const char *named = getenv("KP_TEST_BACKEND");
  const char *const names[2] = { named != NULL ? named : "cpu", "mirror" };
  for (int k = 0; k < (named != NULL ? 1 : 2); ++k) {
    kp_backend_kind kind;
    kp_backend *backend = NULL;
    assert_ok(kp_backend_parse(names[k], &kind));
    assert_ok(kp_backend_create(kind, &backend));
    check(backend);
    kp_backend_destroy(&backend);
  }
}

typedef struct liquid {
  int64_t n;
  double x[3][MOST];
  kp_real v[N_VALUES][MOST];
  float size[MOST];
} liquid;

static void add(liquid *l, double x, double y, double z) {
  assert_true(l->n < MOST);
  l->x[0][l->n] = x;
  l->x[1][l->n] = y;
  l->x[2][l->n] = z;
  l->v[0][l->n] = (kp_real)sin(7.0 * x + y);
  l->v[1][l->n] = (kp_real)(z - y);
  l->size[l->n] = l->n % 3 == 0 ? 1.0f : l->n % 3 == 1 ? 0.5f : 0.7f;
  ++l->n;
}

// A pool that touches three walls, a sheet, a drop, and particles that are nowhere or outside. They
// come in no order.
static liquid *make_liquid(int dimension) {
  liquid *l = kp_alloc_zero(sizeof *l, KP_MEMORY_TEST);
  assert_non_null(l);
  kp_test_random random = kp_test_random_begin(5);
  for (int i = 0; i < 1500; ++i) {
    kp_vec3 p = kp_test_vec3(&random, 0.0, 1.0);
    add(l, 0.8 * p.x, 0.35 * p.y, dimension == 2 ? 0.0 : 0.5 * p.z);
  }
  for (int i = 0; i < 200; ++i) {
    kp_vec3 p = kp_test_vec3(&random, 0.0, 1.0);
    add(l, 0.3 + 0.4 * p.x, 0.8, dimension == 2 ? 0.0 : 0.5 * p.z);
  }
  add(l, 0.1, 0.9, 0.0);
  add(l, NAN, 0.1, 0.0);
  add(l, 0.1, INFINITY, 0.0);
  add(l, -7.0, 0.1, 0.0);
  return l;
}

static kp_surfacing settings(kp_surface_kind field, int dimension) {
  return (kp_surfacing){ .spacing = D,
                         .voxel = 0.6 * D,
                         .smooth = -1,
                         .dimension = dimension,
                         .box = { { 0, 0, 0 }, { 1.0, 1.2, 0.5 } },
                         .field = field };
}

static kp_cloud cloud_of(const liquid *l) {
  return (kp_cloud){ .n = l->n, .x = l->x[0], .y = l->x[1], .z = l->x[2] };
}

static void upload(kp_buffer *to, const void *from, size_t size) {
  assert_ok(kp_buffer_resize(to, size));
  void *host = kp_buffer_host(to, KP_ACCESS_OVERWRITE);
  assert_non_null(host);
  memcpy(host, from, size);
  assert_non_null(kp_buffer_device(to, KP_ACCESS_READ));
}

static void check_equal(const kp_isosurface *a, const kp_isosurface *b) {
  assert_int_equal(a->n_vertices, b->n_vertices);
  assert_int_equal(a->n_triangles, b->n_triangles);
  size_t n = (size_t)a->n_vertices;
  assert_memory_equal(a->vertices, b->vertices, n * sizeof *a->vertices);
  assert_memory_equal(a->normals, b->normals, n * 3 * sizeof *a->normals);
  assert_memory_equal(a->triangles, b->triangles,
                      (size_t)a->n_triangles * 3 * sizeof *a->triangles);
}

typedef struct maker {
  kp_device_surfacer device;
  kp_surfacer host;
  kp_isosurface found, wanted;
  kp_buffer x[3], v[N_VALUES], size;
} maker;

static void check_averages(maker *m, const liquid *l, const kp_device_cloud *cloud) {
  kp_cloud host_cloud = cloud_of(l);
  const kp_real *values[N_VALUES] = { l->v[0], l->v[1] };
  kp_buffer *buffers[N_VALUES] = { &m->v[0], &m->v[1] };
  int64_t n = m->wanted.n_vertices;
  size_t size = (size_t)n * sizeof(float);
  float *found[N_VALUES], *wanted[N_VALUES];
  for (int k = 0; k < N_VALUES; ++k) {
    found[k] = kp_alloc(size, KP_MEMORY_TEST);
    wanted[k] = kp_alloc(size, KP_MEMORY_TEST);
  }
  kp_surfacer_average(&m->host, &host_cloud, m->wanted.vertices, n, N_VALUES, values, wanted);
  assert_ok(kp_device_surfacer_average(&m->device, cloud, &m->device.mesh.vertices, n, N_VALUES,
                                       buffers, found));
  for (int k = 0; k < N_VALUES; ++k) {
    assert_memory_equal(found[k], wanted[k], size);
    kp_free(found[k]);
    kp_free(wanted[k]);
  }
}

// `is_mixed`: particles have their sizes.
static void check_field(maker *m, const liquid *l, const kp_surfacing *how, bool is_mixed) {
  kp_backend *backend = m->device.backend;
  kp_cloud host_cloud = cloud_of(l);
  kp_device_cloud cloud = { .n = l->n, .x = &m->x[0], .y = &m->x[1], .z = &m->x[2] };
  if (is_mixed) {
    upload(&m->size, l->size, (size_t)l->n * sizeof *l->size);
    host_cloud.size = l->size;
    cloud.size = &m->size;
  }
  for (int c = 0; c < 3; ++c) {
    upload(&m->x[c], l->x[c], (size_t)l->n * sizeof(double));
  }
  for (int k = 0; k < N_VALUES; ++k) {
    upload(&m->v[k], l->v[k], (size_t)l->n * sizeof(kp_real));
  }
  assert_ok(kp_surfacer_fill(&m->host, how, &host_cloud));
  assert_ok(kp_marching_blocks(&m->host.blocks, 0.0f, &m->wanted));
  int64_t before = backend->counters.bytes_out;
  assert_ok(kp_device_surfacer_fill(&m->device, how, &cloud));
  assert_ok(kp_device_surfacer_march(&m->device));
  // counts alone came back
  assert_true(backend->counters.bytes_out - before < 64);
  if (kp_surfacing_has_spray(how)) {
    float found[MOST], wanted[MOST];
    kp_surfacer_spray(&m->host, l->n, wanted);
    assert_ok(kp_device_surfacer_spray(&m->device, l->n, found));
    assert_memory_equal(found, wanted, (size_t)l->n * sizeof *found);
    assert_true(found[1700] == 1.0f);  // the drop
  }
  assert_ok(kp_device_mesh_fetch(&m->device.mesh, &m->found));
  assert_true(m->wanted.n_triangles > 100);
  check_equal(&m->found, &m->wanted);
  check_averages(m, l, &cloud);
}

static void check_all_fields(kp_backend *backend) {
  maker m = { 0 };
  kp_device_surfacer_init(&m.device, backend);
  kp_buffer_init(&m.size, backend);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&m.x[c], backend);
  }
  for (int k = 0; k < N_VALUES; ++k) {
    kp_buffer_init(&m.v[k], backend);
  }
  for (int dimension = 2; dimension <= 3; ++dimension) {
    liquid *l = make_liquid(dimension);
    for (int field = 0; field < KP_SURFACE_KIND_COUNT; ++field) {
      kp_surfacing how = settings((kp_surface_kind)field, dimension);
      check_field(&m, l, &how, false);
      check_field(&m, l, &how, true);
      how.spray = 0.3;
      check_field(&m, l, &how, false);
      how.spray = 0.0;
      how.smooth = 3;
      how.reach = 1.2;
      check_field(&m, l, &how, false);
    }
    kp_free(l);
  }
  kp_buffer_free(&m.size);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&m.x[c]);
  }
  for (int k = 0; k < N_VALUES; ++k) {
    kp_buffer_free(&m.v[k]);
  }
  kp_isosurface_free(&m.found);
  kp_isosurface_free(&m.wanted);
  kp_surfacer_free(&m.host);
  kp_device_surfacer_free(&m.device);
}

// Nobody there, or nobody inside: no mesh.
static void check_nothing(kp_backend *backend) {
  kp_device_surfacer s;
  kp_buffer x[3];
  double far[3] = { -50.0, 0.0, 0.0 };
  kp_device_surfacer_init(&s, backend);
  kp_surfacing how = settings(KP_SURFACE_ZHU_BRIDSON, 3);
  for (int64_t n = 0; n < 2; ++n) {
    for (int c = 0; c < 3; ++c) {
      kp_buffer_init(&x[c], backend);
      upload(&x[c], &far[c], (size_t)n * sizeof(double));
    }
    kp_device_cloud cloud = { .n = n, .x = &x[0], .y = &x[1], .z = &x[2] };
    assert_ok(kp_device_surfacer_fill(&s, &how, &cloud));
    assert_ok(kp_device_surfacer_march(&s));
    assert_int_equal(s.mesh.n_triangles, 0);
    for (int c = 0; c < 3; ++c) {
      kp_buffer_free(&x[c]);
    }
  }
  kp_device_surfacer_free(&s);
}

// Noise on lattices whose rows end anywhere in a word, with samples that are no numbers.
static void check_lattice(kp_backend *backend) {
  static const int32_t sizes[][3] = { { 70, 9, 11 }, { 32, 5, 4 }, { 33, 4, 6 }, { 1, 5, 5 } };
  kp_device_mesh mesh;
  kp_isosurface found = { 0 }, wanted = { 0 };
  kp_buffer buffer;
  kp_device_mesh_init(&mesh, backend);
  kp_buffer_init(&buffer, backend);
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
    kp_lattice l = { .n = { sizes[k][0], sizes[k][1], sizes[k][2] }, .spacing = 0.1 };
    l.row = l.n[0];
    l.slab = l.row * l.n[1];
    int64_t n = l.slab * l.n[2];
    float *values = kp_alloc((size_t)n * sizeof *values, KP_MEMORY_TEST);
    kp_test_random random = kp_test_random_begin(3);
    for (int64_t i = 0; i < n; ++i) {
      values[i] = (float)kp_test_vec3(&random, -1.0, 1.0).x;
    }
    values[n / 2] = NAN;
    l.values = values;
    upload(&buffer, values, (size_t)n * sizeof *values);
    assert_ok(kp_marching_cubes(&l, 0.1f, &wanted));
    assert_ok(kp_device_march_lattice(&mesh, &l, &buffer, 0.1f));
    assert_ok(kp_device_mesh_fetch(&mesh, &found));
    check_equal(&found, &wanted);
    kp_free(values);
  }
  kp_buffer_free(&buffer);
  kp_device_mesh_free(&mesh);
  kp_isosurface_free(&found);
  kp_isosurface_free(&wanted);
}

// A pool with a drop, smoothed in every way: the same bits, and none of the mesh is copied.
static void check_smoothing(kp_backend *backend) {
  maker m = { 0 };
  kp_device_smoother device;
  kp_mesh_smoother host = { 0 };
  liquid *l = make_liquid(3);
  kp_device_surfacer_init(&m.device, backend);
  kp_device_smoother_init(&device, backend);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&m.x[c], backend);
    upload(&m.x[c], l->x[c], (size_t)l->n * sizeof(double));
  }
  kp_surfacing how = settings(KP_SURFACE_ANISOTROPIC, 3);
  kp_cloud host_cloud = cloud_of(l);
  kp_device_cloud cloud = { .n = l->n, .x = &m.x[0], .y = &m.x[1], .z = &m.x[2] };
  for (int kind = 0; kind < KP_MESH_SMOOTHING_COUNT; ++kind) {
    for (int passes = 0; passes < 4; ++passes) {
      kp_mesh_smoother_def def = { .kind = (kp_mesh_smoothing)kind,
                                   .passes = passes,
                                   .radius = 1.75 * how.voxel,
                                   .box = how.box,
                                   .near = 0.01 * how.voxel };
      assert_ok(kp_surfacer_fill(&m.host, &how, &host_cloud));
      assert_ok(kp_marching_blocks(&m.host.blocks, 0.0f, &m.wanted));
      assert_ok(kp_device_surfacer_fill(&m.device, &how, &cloud));
      assert_ok(kp_device_surfacer_march(&m.device));
      kp_vec3 first = m.wanted.vertices[0];
      assert_ok(kp_mesh_smoother_run(&host, &def, &m.wanted));
      int64_t before = backend->counters.bytes_out;
      assert_ok(kp_device_smoother_run(&device, &def, &m.device.mesh));
      assert_true(backend->counters.bytes_out - before < 64);
      assert_ok(kp_device_mesh_fetch(&m.device.mesh, &m.found));
      check_equal(&m.found, &m.wanted);
      bool is_moved = memcmp(&first, &m.wanted.vertices[0], sizeof first) != 0;
      assert_true(is_moved == (kind != KP_MESH_SMOOTHING_NONE && passes > 0));
    }
  }
  // cells so small that they cannot be numbered
  kp_mesh_smoother_def tiny = { .kind = KP_MESH_SMOOTHING_HONG, .passes = 1, .radius = 1e-9 };
  assert_fails(KP_ERROR_ARGUMENT, "cannot be smoothed",
               kp_device_smoother_run(&device, &tiny, &m.device.mesh));
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&m.x[c]);
  }
  kp_free(l);
  kp_isosurface_free(&m.found);
  kp_isosurface_free(&m.wanted);
  kp_mesh_smoother_free(&host);
  kp_surfacer_free(&m.host);
  kp_device_smoother_free(&device);
  kp_device_surfacer_free(&m.device);
}

static void test_fields(void **state) {
  (void)state;
  on_backends(check_all_fields);
}

static void test_nothing(void **state) {
  (void)state;
  on_backends(check_nothing);
}

static void test_lattice(void **state) {
  (void)state;
  on_backends(check_lattice);
}

static void test_smoothing(void **state) {
  (void)state;
  on_backends(check_smoothing);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_fields),
    cmocka_unit_test(test_nothing),
    cmocka_unit_test(test_lattice),
    cmocka_unit_test(test_smoothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
