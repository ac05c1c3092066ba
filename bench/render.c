// `kelpie bench render`: rays a second through a million triangles, pictures a second of them as
// water. What bounds a ray is counted: boxes and blocks of 8 that it tests, with the arithmetic and
// the bytes of each, held against the multiply-adds and the copies of the machine.
#include "bench/render.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/timer.h"
#include "par/backend.h"
#include "par/parallel.h"
#include "render/render.h"

#include "bench/ray_mesh.h"
#include "bench/roof.h"

#define CHUNK 4096
#define BOX_OPERATIONS (8.0 * 20.0)    // per node: 6 slabs, mins and maxes of 8 lanes
#define BLOCK_OPERATIONS (8.0 * 52.0)  // per block: 8 triangles

typedef struct cast_job {
  const kp_ray_view *view;
  const kp_ray *rays;
  kp_ray_hit *hits;
  int32_t *blocked;  // NULL: nearest
} cast_job;

static void cast_some(int64_t begin, int64_t end, void *context) {
  const cast_job *job = context;
  if (job->blocked != NULL) {
    kp_ray_find_any(job->view, job->rays + begin, end - begin, job->blocked + begin);
  } else {
    kp_ray_find_nearest(job->view, job->rays + begin, end - begin, job->hits + begin);
  }
}

typedef struct visits {
  double nodes, blocks;
} visits;

// What a nearest ray walks through, in the order of the walk of ray_kernels.h: everything that its
// final length does not rule out, which leaves out only what is met before the first hit is known.
static visits count_visits(const kp_ray_scene *scene, const kp_ray *rays, const kp_ray_hit *hits,
                           int64_t n) {
  visits sum = { 0.0, 0.0 };
  for (int64_t i = 0; i < n; ++i) {
    uint32_t stack[KP_RAY_STACK];
    int top = 0;
    stack[top++] = 0;
    kp_ray_frame f = kp_ray_prepare(&rays[i]);
    while (top > 0) {
      uint32_t at = stack[--top];
      if ((at & KP_RAY_LEAF) != 0) {
        sum.blocks += 1.0;
        continue;
      }
      float enter[KP_RAY_LANES];
      const kp_ray_node *node = &scene->nodes[0][at];
      kp_ray_boxes(node, &f, hits[i].t, enter);
      sum.nodes += 1.0;
      for (int k = 0; k < KP_RAY_LANES; ++k) {
        if (enter[k] < HUGE_VALF) {
          stack[top++] = node->child[k];
        }
      }
    }
  }
  sum.nodes /= (double)n;
  sum.blocks /= (double)n;
  return sum;
}

static void print_rays(const char *what, double rate, const visits *v, const kp_roof *roof) {
  double operations = v->nodes * BOX_OPERATIONS + v->blocks * BLOCK_OPERATIONS;
  double bytes = v->nodes * sizeof(kp_ray_node) + v->blocks * sizeof(kp_ray_triangles);
  double by_flops = 1e3 * roof->fma_gflops / operations, by_bytes = 1e3 * roof->copy_gbs / bytes;
  bool is_memory = by_bytes < by_flops;
  (void)printf("%-26s %9.2f M/s %6.1f %6.1f   %5.1f%% of %s (%.1f M/s)\n", what, rate / 1e6,
               v->nodes, v->blocks, 100e-6 * rate / fmin(by_flops, by_bytes),
               is_memory ? "copies" : "multiply-adds", fmin(by_flops, by_bytes));
}

static kp_result bench_rays(const kp_ray_scene *scene, int64_t n, const kp_roof *roof) {
  kp_ray *rays = kp_alloc((size_t)n * sizeof *rays, KP_MEMORY_SCRATCH);
  kp_ray_hit *hits = kp_alloc((size_t)n * sizeof *hits, KP_MEMORY_SCRATCH);
  int32_t *blocked = kp_alloc((size_t)n * sizeof *blocked, KP_MEMORY_SCRATCH);
  bool ok = rays != NULL && hits != NULL && blocked != NULL;
  if (ok) {
    (void)printf("\n%-26s %13s %6s %6s\n", "rays", "", "nodes", "blocks");
  }
  for (int kind = 0; ok && kind < 4; ++kind) {
    bool is_coherent = kind < 2, is_any = kind % 2 == 1;
    kp_ray_mesh_rays(rays, n, is_coherent);
    cast_job job = { &scene->view, rays, hits, NULL };
    kp_parallel_for(n, CHUNK, cast_some, &job);
    visits v = count_visits(scene, rays, hits, n < 20000 ? n : 20000);
    job.blocked = is_any ? blocked : NULL;
    double best = HUGE_VAL;
    for (int turn = 0; turn < 3; ++turn) {
      double begin = kp_time_now();
      kp_parallel_for(n, CHUNK, cast_some, &job);
      best = fmin(best, kp_time_now() - begin);
    }
    const char *const names[4] = { "of a camera, nearest", "of a camera, any",
                                   "from anywhere, nearest", "from anywhere, any" };
    print_rays(names[kind], (double)n / best, &v, roof);
  }
  kp_free(rays);
  kp_free(hits);
  kp_free(blocked);
  return ok ? KP_OK : KP_ERROR_MEMORY;
}

// Each a still and a preview.
static const char *const picture_names[] = { "water", "a sheet", "water by rays",
                                             "a sheet by rays" };

static kp_result bench_picture(const kp_render_scene *scene, int kind, bool is_preview) {
  kp_render_def def = kp_default_render_def();
  kp_picture picture = { 0 };
  def.width = is_preview ? 480 : 960;
  def.height = is_preview ? 270 : 540;
  def.samples = is_preview ? 1 : 16;
  def.method = kind < 2 ? KP_METHOD_RASTER : KP_METHOD_RAYS;
  double begin = kp_time_now();
  kp_result result = kp_render_frame(scene, &def, &picture);
  double seconds = kp_time_now() - begin;
  char name[64];
  (void)snprintf(name, sizeof name, "%s of %s", is_preview ? "preview" : "still",
                 picture_names[kind]);
  (void)printf("%-26s %9.3f s  %8.2f /s\n", name, seconds, 1.0 / seconds);
  kp_picture_free(&picture);
  return result;
}

// The sea as water and as an opaque sheet; other backends make pictures by rays alone.
static kp_result bench_pictures(const kp_ray_mesh *mesh, kp_backend *backend) {
  int64_t n = mesh->geometry.n_triangles;
  int64_t n_vertices = (int64_t)lround(pow(sqrt(0.5 * (double)n) + 1.0, 2.0));
  double *places = kp_alloc(3 * (size_t)n_vertices * sizeof *places, KP_MEMORY_SCRATCH);
  if (places == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < n_vertices; ++i) {
    places[3 * i] = (double)mesh->vertices[i].x;
    places[3 * i + 1] = (double)mesh->vertices[i].y;
    places[3 * i + 2] = (double)mesh->vertices[i].z;
  }
  kp_render_mesh sea = { .n_vertices = n_vertices, .n_triangles = n, .smooth_shading = true };
  sea.positions = (kp_render_positions){ places, places + 1, places + 2, 3 };
  sea.triangles = mesh->triangles;
  kp_render_scene scene = { .meshes = &sea, .n_meshes = 1, .bounds = kp_aabb_empty() };
  scene.backend = backend;
  kp_result result = KP_OK;
  (void)printf("\n%-26s %11s\n", "pictures", "");
  for (int kind = backend != NULL ? 2 : 0; result == KP_OK && kind < 4; ++kind) {
    sea.look = kp_default_look_def();
    sea.look.water = kind % 2 == 0;
    result = bench_picture(&scene, kind, false);
    if (result == KP_OK) {
      result = bench_picture(&scene, kind, true);
    }
  }
  kp_free(places);
  return result;
}

kp_result kp_bench_render(int64_t n_triangles, int threads, const char *name) {
  kp_backend *backend = NULL;
  kp_backend_kind kind;
  kp_ray_mesh mesh = { 0 };
  kp_ray_scene scene = { 0 };
  kp_roof roof;
  kp_parallel_set_threads(threads);
  kp_result result;
  KP_TRY_GOTO(result, kp_backend_parse(name, &kind), done);
  if (kind != KP_BACKEND_CPU) {
    KP_TRY_GOTO(result, kp_backend_create(kind, &backend), done);
  }
  KP_TRY_GOTO(result, kp_roof_measure(name, &roof), done);
  KP_TRY_GOTO(result, kp_ray_mesh_make(&mesh, n_triangles, true), done);
  double begin = kp_time_now();
  KP_TRY_GOTO(result, kp_ray_scene_build(&scene, &mesh.geometry), done);
  double built = kp_time_now() - begin;
  (void)printf("%d thread%s (%s): copy %.1f GB/s, multiply-add %.0f GFLOP/s\n",
               kp_parallel_threads(), kp_parallel_threads() == 1 ? "" : "s",
               kp_isa_name(kp_isa_current()), roof.copy_gbs, roof.fma_gflops);
  (void)printf("%lld triangles: tree in %.3f s (%.2f M/s), %lld nodes, %lld blocks of %.1f\n",
               (long long)mesh.geometry.n_triangles, built,
               1e-6 * (double)mesh.geometry.n_triangles / built, (long long)scene.n_nodes[0],
               (long long)scene.n_blocks[0],
               (double)mesh.geometry.n_triangles / (double)scene.n_blocks[0]);
  if (backend == NULL) {
    KP_TRY_GOTO(result, bench_rays(&scene, 1000000, &roof), done);
  }
  result = bench_pictures(&mesh, backend);
done:
  kp_backend_destroy(&backend);
  kp_parallel_set_threads(0);
  kp_ray_mesh_free(&mesh);
  kp_ray_scene_free(&scene);
  return result;
}
