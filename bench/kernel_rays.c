// The kernels of rays on any backend: trees, rays and hits as buffers.
#include <string.h>

#include "base/hash.h"
#include "data/call.h"
#include "par/kernel_define.h"
#include "render/live.h"
#include "render/render.h"

#include "bench/kernels.h"
#include "bench/ray_mesh.h"

RAY_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

enum { NODES, BLOCKS = 3, RAYS = 6, HITS, BLOCKED, N_BUFFERS };

typedef struct ray_job {
  kp_ray_scene scene;
  kp_buffer buffers[N_BUFFERS];
  int64_t n;
} ray_job;

static kp_result upload(kp_buffer *buffer, const void *bytes, size_t size) {
  KP_TRY(kp_buffer_resize(buffer, size));
  void *host = kp_buffer_host(buffer, KP_ACCESS_OVERWRITE);
  if (host == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (size > 0) {
    memcpy(host, bytes, size);
  }
  return KP_OK;
}

static kp_result upload_scene(ray_job *job, const kp_ray *rays) {
  static const size_t sizes[3] = { sizeof(kp_ray_triangles), sizeof(kp_ray_balls),
                                   sizeof(kp_ray_strokes) };
  for (int k = 0; k < 3; ++k) {
    size_t nodes = (size_t)job->scene.n_nodes[k] * sizeof(kp_ray_node);
    size_t blocks = (size_t)job->scene.n_blocks[k] * sizes[k];
    KP_TRY(upload(&job->buffers[NODES + k], job->scene.nodes[k], nodes));
    KP_TRY(upload(&job->buffers[BLOCKS + k], job->scene.blocks[k], blocks));
  }
  KP_TRY(upload(&job->buffers[RAYS], rays, (size_t)job->n * sizeof *rays));
  KP_TRY(kp_buffer_resize(&job->buffers[HITS], (size_t)job->n * sizeof(kp_ray_hit)));
  job->buffers[BLOCKED].type = KP_TYPE_I32;
  // a hit is numbers of 4 bytes: float where kp_real is, and whole ones are no rounding apart
  job->buffers[HITS].type = KP_TYPE_F32;
  return kp_buffer_resize(&job->buffers[BLOCKED], (size_t)job->n * sizeof(int32_t));
}

#define BIND_SCENE(call, a, job)                                                                   \
  (KP_BIND(call, a, scene.triangle_nodes, &(job)->buffers[NODES], KP_ACCESS_READ),                 \
   KP_BIND(call, a, scene.ball_nodes, &(job)->buffers[NODES + 1], KP_ACCESS_READ),                 \
   KP_BIND(call, a, scene.stroke_nodes, &(job)->buffers[NODES + 2], KP_ACCESS_READ),               \
   KP_BIND(call, a, scene.triangles, &(job)->buffers[BLOCKS], KP_ACCESS_READ),                     \
   KP_BIND(call, a, scene.balls, &(job)->buffers[BLOCKS + 1], KP_ACCESS_READ),                     \
   KP_BIND(call, a, scene.strokes, &(job)->buffers[BLOCKS + 2], KP_ACCESS_READ),                   \
   KP_BIND(call, a, rays, &(job)->buffers[RAYS], KP_ACCESS_READ))

static kp_result cast(ray_job *job, kp_backend *backend) {
  ray_nearest_args nearest = { .scene = job->scene.view };
  ray_any_args any = { .scene = job->scene.view };
  nearest.scene.ground = -0.3f;
  kp_call call;
  kp_call_init(&call, &ray_nearest_kernel, &nearest);
  BIND_SCENE(&call, &nearest, job);
  KP_BIND(&call, &nearest, hits, &job->buffers[HITS], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, job->n));
  kp_call_init(&call, &ray_any_kernel, &any);
  BIND_SCENE(&call, &any, job);
  KP_BIND(&call, &any, blocked, &job->buffers[BLOCKED], KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, job->n);
}

// A slab so large that no edge of it is seen: what rounding leaves is small in every pixel.
static kp_result draw_slab(kp_backend *backend) {
  static const double places[8][3] = {
    { -5, 0, -5 }, { 5, 0, -5 }, { -5, 0.3, -5 }, { 5, 0.3, -5 },
    { -5, 0, 5 },  { 5, 0, 5 },  { -5, 0.3, 5 },  { 5, 0.3, 5 }
  };
  static const uint32_t faces[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                      2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5 };
  kp_render_mesh slab = { .n_vertices = 8, .n_triangles = 12, .triangles = faces };
  slab.positions = (kp_render_positions){ &places[0][0], &places[0][1], &places[0][2], 3 };
  slab.look = kp_default_look_def();
  slab.look.water = true;
  kp_render_scene scene = { .meshes = &slab, .n_meshes = 1, .backend = backend };
  scene.bounds.min = kp_vec3_make(-5.0, -0.2, -5.0);
  scene.bounds.max = kp_vec3_make(5.0, 1.0, 5.0);
  kp_render_def def = kp_default_render_def();
  def.width = 64;
  def.height = 36;
  def.samples = 2;
  def.box = false;
  def.ground = KP_GROUND_PLAIN;
  def.camera_position = kp_vec3_make(0.0, 1.5, 0.5);
  kp_picture picture = { 0 };
  kp_result result = kp_render_frame(&scene, &def, &picture);
  kp_picture_free(&picture);
  return result;
}

// Yarns side by side that throw no shadow on each other.
static kp_result draw_yarn(kp_backend *backend) {
  enum { YARNS = 4, POINTS = 6 };
  double places[YARNS * POINTS][3];
  uint64_t first[YARNS + 1];
  for (int k = 0; k < YARNS * POINTS; ++k) {
    int yarn = k / POINTS, i = k % POINTS;
    places[k][0] = 0.2 * i - 0.5;
    places[k][1] = 0.02 * (i % 2);
    places[k][2] = 0.25 * yarn - 0.4;
    first[yarn] = (uint64_t)(yarn * POINTS);
  }
  first[YARNS] = YARNS * POINTS;
  kp_render_lines lines = { .n_lines = YARNS, .first = first, .radius = 0.04 };
  lines.positions = (kp_render_positions){ &places[0][0], &places[0][1], &places[0][2], 3 };
  lines.look = kp_default_look_def();
  lines.look.stroke = KP_STROKE_LUMISLICE;
  kp_render_scene scene = { .lines = &lines, .n_lines = 1, .backend = backend };
  scene.bounds.min = kp_vec3_make(-0.6, -0.2, -0.6);
  scene.bounds.max = kp_vec3_make(0.6, 0.2, 0.6);
  kp_render_def def = kp_default_render_def();
  def.width = 64;
  def.height = 36;
  def.samples = 2;
  def.box = false;
  def.ground = KP_GROUND_NONE;
  def.sun = kp_vec3_make(0.0, 1.0, 0.0);
  kp_picture picture = { 0 };
  kp_result result = kp_render_frame(&scene, &def, &picture);
  kp_picture_free(&picture);
  return result;
}

static double fraction(uint64_t i, uint64_t c) {
  return (double)(kp_hash_mix(3 * i + c) >> 11) * 0x1p-53;
}

// A cloud of particles at random, as a run that is watched draws it.
static kp_result draw_cloud(kp_backend *backend, int64_t n) {
  kp_buffer places[3];
  kp_live live;
  kp_live_points points = { .n = n, .radius = 0.02, .speed = 1.0, .slow = { 0.1, 0.4, 0.8 } };
  kp_camera camera = { { 0.5, 0.7, 3.0 }, { 0.5, 0.5, 0.5 }, { 0, 1, 0 }, 35.0 };
  const uint32_t *pixels;
  kp_result result = KP_OK;
  kp_live_init(&live, backend);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&places[c], backend);
    places[c].type = KP_TYPE_POS;
    points.position[c] = &places[c];
    result = result == KP_OK ? kp_buffer_resize(&places[c], (size_t)n * sizeof(kp_pos)) : result;
    kp_pos *x = result == KP_OK ? kp_buffer_host(&places[c], KP_ACCESS_OVERWRITE) : NULL;
    for (int64_t i = 0; i < n && x != NULL; ++i) {
      x[i] = fraction((uint64_t)i, (uint64_t)c);
    }
    result = result == KP_OK && x == NULL ? KP_ERROR_MEMORY : result;
  }
  result = result == KP_OK ? kp_live_begin(&live, &camera, 96, 54) : result;
  result = result == KP_OK ? kp_live_add(&live, &points) : result;
  result = result == KP_OK ? kp_live_read(&live, &pixels) : result;
  kp_live_free(&live);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&places[c]);
  }
  return result;
}

kp_result kp_kernel_rays(kp_backend *backend, int64_t n) {
  kp_ray_mesh mesh = { 0 };
  ray_job job = { .n = n };
  for (int k = 0; k < N_BUFFERS; ++k) {
    kp_buffer_init(&job.buffers[k], backend);
  }
  kp_ray *rays = kp_alloc((size_t)n * sizeof *rays, KP_MEMORY_SCRATCH);
  kp_result result = rays != NULL ? kp_ray_mesh_make(&mesh, 10 * n, false) : KP_ERROR_MEMORY;
  if (result == KP_OK) {
    kp_ray_mesh_rays(rays, n, false);
    result = kp_ray_scene_build(&job.scene, &mesh.geometry);
  }
  if (result == KP_OK) {
    result = upload_scene(&job, rays);
  }
  if (result == KP_OK) {
    result = cast(&job, backend);
  }
  if (result == KP_OK) {
    result = draw_slab(backend);
  }
  if (result == KP_OK) {
    result = draw_yarn(backend);
  }
  if (result == KP_OK) {
    result = draw_cloud(backend, n);
  }
  kp_free(rays);
  kp_ray_mesh_free(&mesh);
  kp_ray_scene_free(&job.scene);
  for (int k = 0; k < N_BUFFERS; ++k) {
    kp_buffer_free(&job.buffers[k]);
  }
  return result;
}
