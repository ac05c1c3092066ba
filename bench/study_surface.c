// Surfaces of metaballs (Lyes 2015, Tables 7.1 and 7.2, section 7.7): pictures per second by
// particles, voxels and field radius, for a calm pool in half of a unit box; and what looking at
// every particle for every corner costs (Listing 7.8).
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/timer.h"
#include "geom/surface_device.h"
#include "par/parallel.h"

#include "bench/study.h"

#define TURNS 3

// Seconds of the processor where one thread does all the work, so that what else runs on the
// machine does not count.
static double now(void) {
  struct timespec t;
  if (kp_parallel_threads() > 1 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0) {
    return kp_time_now();
  }
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct pool {
  kp_cloud cloud;
  double *places;
  double spacing;
} pool;

// n particles: layers of a jittered lattice, the last one not full.
static kp_result make_pool(int64_t n, pool *out) {
  out->places = kp_alloc((size_t)(3 * n) * sizeof *out->places, KP_MEMORY_TEST);
  if (out->places == NULL) {
    return KP_ERROR_MEMORY;
  }
  int64_t side = (int64_t)ceil(cbrt(2.0 * (double)n));
  double d = 1.0 / (double)side;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at[3] = { i % side, i / (side * side), i / side % side };
    for (int c = 0; c < 3; ++c) {
      double shake = 0.8 * (kp_rng_uniform(7, 0, (uint64_t)i, (uint64_t)c) - 0.5);
      out->places[c * n + i] = d * ((double)at[c] + 0.5 + shake);
    }
  }
  out->cloud = (kp_cloud){ .n = n };
  out->cloud.x = out->places;
  out->cloud.y = out->places + n;
  out->cloud.z = out->places + 2 * n;
  out->spacing = d;
  return KP_OK;
}

static kp_surfacing settings(const pool *p, int voxels, double field_radius) {
  return (kp_surfacing){ .spacing = p->spacing,
                         .voxel = 1.0 / voxels,
                         .reach = field_radius / sqrt(2.0) / p->spacing,
                         .dimension = 3,
                         .box = { kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1) },
                         .field = KP_SURFACE_METABALLS };
}

// A pool on the device of a study, or on the host where that is the CPU.
typedef struct place {
  kp_backend *device;  // NULL: the host
  kp_device_surfacer surfacer;
  kp_buffer x[3];
} place;

static kp_result open_place(const char *backend, const pool *p, place *out) {
  kp_backend_kind kind;
  KP_TRY(kp_backend_parse(backend, &kind));
  if (kind != KP_BACKEND_CPU) {
    KP_TRY(kp_backend_create(kind, &out->device));
  }
  kp_device_surfacer_init(&out->surfacer, out->device);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&out->x[c], out->device);
  }
  const double *const from[3] = { p->cloud.x, p->cloud.y, p->cloud.z };
  for (int c = 0; c < 3 && out->device != NULL; ++c) {
    void *device;
    size_t size = (size_t)p->cloud.n * sizeof(kp_pos);
    KP_TRY(kp_device_resize(&out->x[c], KP_TYPE_POS, p->cloud.n, sizeof(kp_pos)));
    KP_TRY(kp_buffer_get(&out->x[c], KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &device));
    KP_TRY(kp_copy_in(out->device, device, from[c], size));
  }
  return KP_OK;
}

static void close_place(place *p) {
  kp_device_surfacer_free(&p->surfacer);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&p->x[c]);
  }
  kp_backend_destroy(&p->device);
}

static kp_result make_on_device(place *at, const pool *p, const kp_surfacing *how) {
  kp_device_cloud cloud = { .n = p->cloud.n, .x = &at->x[0], .y = &at->x[1], .z = &at->x[2] };
  KP_TRY(kp_device_surfacer_fill(&at->surfacer, how, &cloud));
  KP_TRY(kp_device_surfacer_march(&at->surfacer));
  return kp_wait(at->device);
}

// Seconds for the field and the mesh, the fastest of a few.
static kp_result time_grid(const pool *p, const kp_surfacing *how, const kp_study_def *def,
                           double *best, int64_t *n_triangles) {
  int64_t turns = def->runs > 0 ? def->runs : TURNS;
  kp_surfacer s = { 0 };
  kp_isosurface mesh = { 0 };
  place at = { 0 };
  kp_result result = open_place(def->backend, p, &at);
  *best = HUGE_VAL;
  for (int64_t turn = 0; turn <= turns && result == KP_OK; ++turn) {
    double start = at.device == NULL ? now() : kp_time_now();
    if (at.device != NULL) {
      result = make_on_device(&at, p, how);
    } else {
      result = kp_surfacer_fill(&s, how, &p->cloud);
      result = result == KP_OK ? kp_marching_blocks(&s.blocks, 0.0f, &mesh) : result;
    }
    double end = at.device == NULL ? now() : kp_time_now();
    *best = turn > 0 ? fmin(*best, end - start) : *best;
  }
  *n_triangles = at.device == NULL ? mesh.n_triangles : at.surfacer.mesh.n_triangles;
  close_place(&at);
  kp_surfacer_free(&s);
  kp_isosurface_free(&mesh);
  return result;
}

static kp_result time_naive(const pool *p, const kp_surfacing *how, int voxels, double *seconds) {
  int32_t n = voxels + 1;
  kp_lattice l = { .n = { n, n, n }, .row = n, .slab = (int64_t)n * n, .spacing = how->voxel };
  float *values = kp_alloc((size_t)(l.slab * n) * sizeof *values, KP_MEMORY_TEST);
  if (values == NULL) {
    return KP_ERROR_MEMORY;
  }
  l.values = values;
  kp_isosurface mesh = { 0 };
  double start = now();
  kp_surface_naive(how, &p->cloud, &l, values);
  kp_result result = kp_marching_cubes(&l, 0.0f, &mesh);
  *seconds = now() - start;
  kp_isosurface_free(&mesh);
  kp_free(values);
  return result;
}

// Pictures per second of a GTX 780 as printed, by voxels, field radius and particles.
static const double printed[2][3][3] = {
  { { 158.9, 103.6, 65.8 }, { 99.7, 55.9, 34.7 }, { 34.4, 17.8, 9.7 } },
  { { 70.9, 46.3, 33.1 }, { 30.9, 17.8, 10.7 }, { 6.8, 3.6, 1.5 } },
};

kp_result kp_study_surface(const kp_study_def *def, FILE *out) {
  static const int sizes[3] = { 64, 128, 256 };
  static const char *const radii[3] = { "1/64", "1/32", "1/16" };
  kp_study_row(out,
               "particles,voxels,field_radius,seconds,per_second,triangles,printed_per_second");
  for (int size = 0; size < 3; ++size) {
    // the largest lattice with the two smaller radii, as the text has it
    for (int r = 0; r < (size < 2 ? 3 : 2); ++r) {
      for (int many = 0; many < 3; ++many) {
        int64_t n = INT64_C(32768) << many;
        if (def->most > 0 && n > def->most) {
          continue;
        }
        pool p = { 0 };
        double seconds = 0.0;
        int64_t n_triangles = 0;
        kp_result result = make_pool(n, &p);
        kp_surfacing how = settings(&p, sizes[size], 1.0 / (double)(64 >> r));
        if (result == KP_OK) {
          result = time_grid(&p, &how, def, &seconds, &n_triangles);
        }
        kp_free(p.places);
        KP_TRY(result);
        char published[16] = "";
        if (size < 2) {
          (void)snprintf(published, sizeof published, "%g", printed[size][r][many]);
        }
        kp_study_row(out, "%lld,%d^3,%s,%.5f,%.1f,%lld,%s", (long long)n, sizes[size], radii[r],
                     seconds, 1.0 / seconds, (long long)n_triangles, published);
      }
    }
  }
  return KP_OK;
}

kp_result kp_study_surface_naive(const kp_study_def *def, FILE *out) {
  int64_t most = def->most > 0 ? def->most : 8192;
  enum { VOXELS = 64 };
  kp_study_row(out, "particles,voxels,seconds_naive,seconds_grid,ratio");
  for (int64_t n = 1024; n <= most; n *= 2) {
    pool p = { 0 };
    double naive = 0.0, grid = 0.0;
    int64_t n_triangles;
    kp_result result = make_pool(n, &p);
    kp_surfacing how = settings(&p, VOXELS, 1.0 / 16.0);
    if (result == KP_OK) {
      result = time_naive(&p, &how, VOXELS, &naive);
    }
    if (result == KP_OK) {
      result = time_grid(&p, &how, def, &grid, &n_triangles);
    }
    kp_free(p.places);
    KP_TRY(result);
    kp_study_row(out, "%lld,%d^3,%.4f,%.5f,%.1f", (long long)n, (int)VOXELS, naive, grid,
                 naive / grid);
  }
  return KP_OK;
}

kp_result kp_study_surface_fields(const kp_study_def *def, FILE *out) {
  pool p = { 0 };
  kp_result result = make_pool(def->most > 0 ? def->most : 131072, &p);
  kp_study_row(out, "field,seconds,million_particles_per_second,triangles");
  for (int field = 0; field < KP_SURFACE_KIND_COUNT && result == KP_OK; ++field) {
    double seconds;
    int64_t n_triangles;
    kp_surfacing how = settings(&p, 64, 1.0);
    how.voxel = 0.6 * p.spacing;
    how.reach = 0.0;
    how.smooth = -1;
    how.field = (kp_surface_kind)field;
    result = time_grid(&p, &how, def, &seconds, &n_triangles);
    if (result == KP_OK) {
      kp_study_row(out, "%s,%.4f,%.3f,%lld", kp_surface_field_names[field], seconds,
                   1e-6 * (double)p.cloud.n / seconds, (long long)n_triangles);
    }
  }
  kp_free(p.places);
  return result;
}

// ---- one backend against the other

// What meshes differ by: rounding, where a backend fuses products with sums.
typedef struct mesh_difference {
  bool is_alike;       // as many vertices, and the same triangles
  double place;        // largest distance between vertices [m]
  double normal;       // largest difference between components of normals
  int64_t n_vertices;  // that are not the same number for number
} mesh_difference;

static mesh_difference compare_meshes(const kp_isosurface *a, const kp_isosurface *b) {
  mesh_difference d = { .is_alike =
                            a->n_vertices == b->n_vertices && a->n_triangles == b->n_triangles };
  if (!d.is_alike) {
    return d;
  }
  size_t n_corners = 3 * (size_t)a->n_triangles;
  d.is_alike = memcmp(a->triangles, b->triangles, n_corners * sizeof *a->triangles) == 0;
  for (int64_t v = 0; v < a->n_vertices; ++v) {
    double away = kp_vec3_length(kp_vec3_sub(a->vertices[v], b->vertices[v]));
    d.place = fmax(d.place, away);
    d.n_vertices += away > 0.0 ? 1 : 0;
    for (int c = 0; c < 3; ++c) {
      d.normal = fmax(d.normal, fabs((double)(a->normals[3 * v + c] - b->normals[3 * v + c])));
    }
  }
  return d;
}

typedef struct both {
  kp_surfacer s;
  kp_isosurface host, device;
} both;

static kp_result compare_field(both *b, place *at, const pool *p, const kp_surfacing *how) {
  KP_TRY(kp_surfacer_fill(&b->s, how, &p->cloud));
  KP_TRY(kp_marching_blocks(&b->s.blocks, 0.0f, &b->host));
  if (at->device == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "the cpu is what a backend is compared with: name another");
  }
  KP_TRY(make_on_device(at, p, how));
  return kp_device_mesh_fetch(&at->surfacer.mesh, &b->device);
}

kp_result kp_study_surface_backends(const kp_study_def *def, FILE *out) {
  pool p = { 0 };
  place at = { 0 };
  both b = { 0 };
  kp_result result = make_pool(def->most > 0 ? def->most : 131072, &p);
  result = result == KP_OK ? open_place(def->backend, &p, &at) : result;
  kp_study_row(out, "field,vertices,triangles,same_triangles,vertices_that_differ,"
                    "distance_in_spacings,normals");
  for (int field = 0; field < KP_SURFACE_KIND_COUNT && result == KP_OK; ++field) {
    kp_surfacing how = settings(&p, 64, 1.0);
    how.voxel = 0.6 * p.spacing;
    how.reach = 0.0;
    how.smooth = -1;
    how.field = (kp_surface_kind)field;
    result = compare_field(&b, &at, &p, &how);
    if (result == KP_OK) {
      mesh_difference d = compare_meshes(&b.host, &b.device);
      kp_study_row(out, "%s,%lld,%lld,%s,%lld,%.1e,%.1e", kp_surface_field_names[field],
                   (long long)b.host.n_vertices, (long long)b.host.n_triangles,
                   d.is_alike ? "yes" : "no", (long long)d.n_vertices, d.place / p.spacing,
                   d.normal);
    }
  }
  close_place(&at);
  kp_surfacer_free(&b.s);
  kp_isosurface_free(&b.host);
  kp_isosurface_free(&b.device);
  kp_free(p.places);
  return result;
}
