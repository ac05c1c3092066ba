// The kernels of surfaces on any backend: every field of a pool with a drop above it, and a
// lattice.
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "geom/mesh_smooth_device.h"
#include "geom/surface_device.h"

#include "bench/kernels.h"

#define SPACING 0.05

enum { X, V = 3, SAMPLES, N_BUFFERS };

typedef struct surface_job {
  kp_device_surfacer surfacer;
  kp_buffer buffers[N_BUFFERS];
  int64_t n;
  double side;  // m
} surface_job;

static kp_result get_host(kp_buffer *buffer, kp_type type, int64_t n, size_t size, void **out) {
  KP_TRY(kp_device_resize(buffer, type, n, size));
  return kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, out);
}

// Particles in no order in the lower half of a cube, the last one above them.
static kp_result make_particles(surface_job *job) {
  void *x[3], *v;
  job->side = SPACING * cbrt(2.0 * (double)job->n);
  for (int c = 0; c < 3; ++c) {
    KP_TRY(get_host(&job->buffers[X + c], KP_TYPE_POS, job->n, sizeof(kp_pos), &x[c]));
    for (int64_t i = 0; i < job->n; ++i) {
      double share = kp_rng_uniform(3, 0, (uint64_t)i, (uint64_t)c) * (c == 1 ? 0.5 : 1.0);
      ((kp_pos *)x[c])[i] = job->side * (i + 1 < job->n ? share : 0.9);
    }
  }
  KP_TRY(get_host(&job->buffers[V], KP_TYPE_REAL, job->n, sizeof(kp_real), &v));
  for (int64_t i = 0; i < job->n; ++i) {
    ((kp_real *)v)[i] = (kp_real)sin((double)i);
  }
  return KP_OK;
}

static kp_result make_surface(surface_job *job, kp_surface_kind field) {
  kp_buffer *b = job->buffers, *const values[1] = { &b[V] };
  kp_device_cloud cloud = {.n = job->n, .x = &b[X], .y = &b[X + 1], .z = &b[X + 2] };
  kp_surfacing how = { .spacing = SPACING,
                       .voxel = 0.6 * SPACING,
                       .smooth = -1,
                       .dimension = 3,
                       .box = { { 0, 0, 0 }, { job->side, job->side, job->side } },
                       .field = field,
                       .spray = 0.16 };
  KP_TRY(kp_device_surfacer_fill(&job->surfacer, &how, &cloud));
  KP_TRY(kp_device_surfacer_march(&job->surfacer));
  kp_isosurface mesh = { 0 };
  kp_result result = kp_device_mesh_fetch(&job->surfacer.mesh, &mesh);
  float *means = kp_alloc((size_t)(mesh.n_vertices + 1) * sizeof *means, KP_MEMORY_SCRATCH);
  result = result == KP_OK && means == NULL ? KP_ERROR_MEMORY : result;
  if (result == KP_OK) {
    float *const out[1] = { means };
    result = kp_device_surfacer_average(&job->surfacer, &cloud, &job->surfacer.mesh.vertices,
                                        mesh.n_vertices, 1, values, out);
  }
  kp_free(means);
  kp_isosurface_free(&mesh);
  return result;
}

static kp_result make_lattice(surface_job *job) {
  int32_t n = (int32_t)fmax(8.0, ceil(cbrt((double)job->n)));
  kp_lattice l = { .n = { n, n, n }, .row = n, .slab = (int64_t)n * n, .spacing = 1.0 / n };
  void *memory;
  int64_t n_samples = l.slab * n;
  KP_TRY(get_host(&job->buffers[SAMPLES], KP_TYPE_F32, n_samples, sizeof(float), &memory));
  for (int64_t i = 0; i < n_samples; ++i) {
    kp_vec3 p = kp_vec3_make((double)(i % n), (double)(i / n % n), (double)(i / l.slab));
    p = kp_vec3_sub(kp_vec3_scale(p, l.spacing), kp_vec3_make(0.5, 0.5, 0.5));
    ((float *)memory)[i] = (float)(kp_vec3_length(p) - 0.4);
  }
  return kp_device_march_lattice(&job->surfacer.mesh, &l, &job->buffers[SAMPLES], 0.0f);
}

// The mesh of the lattice, smoothed in every way.
static kp_result smooth_meshes(surface_job *job) {
  kp_device_smoother smoother;
  kp_device_smoother_init(&smoother, job->surfacer.backend);
  kp_result result = KP_OK;
  for (int kind = 0; kind < KP_MESH_SMOOTHING_COUNT && result == KP_OK; ++kind) {
    kp_mesh_smoother_def how = { .kind = (kp_mesh_smoothing)kind,
                                 .passes = 2,
                                 .radius = 1.75 / cbrt((double)job->n),
                                 .box = { { 0, 0, 0 }, { 1, 1, 1 } } };
    result = kp_device_smoother_run(&smoother, &how, &job->surfacer.mesh);
  }
  kp_device_smoother_free(&smoother);
  return result;
}

kp_result kp_kernel_surfaces(kp_backend *backend, int64_t n) {
  surface_job job = { .n = n };
  kp_device_surfacer_init(&job.surfacer, backend);
  for (int k = 0; k < N_BUFFERS; ++k) {
    kp_buffer_init(&job.buffers[k], backend);
  }
  kp_result result = make_particles(&job);
  for (int field = 0; field < KP_SURFACE_KIND_COUNT && result == KP_OK; ++field) {
    result = make_surface(&job, (kp_surface_kind)field);
  }
  if (result == KP_OK) {
    result = make_lattice(&job);
  }
  if (result == KP_OK) {
    result = smooth_meshes(&job);
  }
  for (int k = 0; k < N_BUFFERS; ++k) {
    kp_buffer_free(&job.buffers[k]);
  }
  kp_device_surfacer_free(&job.surfacer);
  return result;
}
