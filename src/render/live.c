#include "render/live.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "par/kernel_define.h"

LIVE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_NO_PAIR)

#define BACK 0x2a1e14u  // a dark blue
#define DEGREES (3.14159265358979323846 / 180.0)

enum { SPOT_DEPTH, SPOT_X, SPOT_Y, SPOT_RADIUS, SPOT_COLOR, N_SPOTS };

void kp_live_init(kp_live *live, kp_backend *backend) {
  *live = (kp_live){ .backend = backend };
  for (int s = 0; s < N_SPOTS; ++s) {
    kp_buffer_init(&live->spots[s], backend);
  }
  kp_buffer_init(&live->pixels, backend);
  kp_buffer_init(&live->nearest, backend);
  kp_buffer_init(&live->keys, backend);
  kp_buffer_init(&live->order, backend);
}

void kp_live_free(kp_live *live) {
  for (int s = 0; s < N_SPOTS; ++s) {
    kp_buffer_free(&live->spots[s]);
  }
  kp_buffer_free(&live->pixels);
  kp_buffer_free(&live->nearest);
  kp_buffer_free(&live->keys);
  kp_buffer_free(&live->order);
}

static kp_result resize(kp_buffer *buffer, kp_type type, int64_t n) {
  buffer->type = (uint8_t)type;
  return kp_buffer_resize(buffer, (size_t)n * kp_type_size(type));
}

// Reals of pictures are float in both precisions: as bytes they are those of u32.
#define BIND_SPOTS(call, args, live, access)                                                       \
  (KP_BIND(call, args, spots.depth, &(live)->spots[SPOT_DEPTH], access),                           \
   KP_BIND(call, args, spots.x, &(live)->spots[SPOT_X], access),                                   \
   KP_BIND(call, args, spots.y, &(live)->spots[SPOT_Y], access),                                   \
   KP_BIND(call, args, spots.radius, &(live)->spots[SPOT_RADIUS], access),                         \
   KP_BIND(call, args, spots.color, &(live)->spots[SPOT_COLOR], access))

static void put(double out[3], kp_vec3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

kp_result kp_live_begin(kp_live *live, const kp_camera *camera, int width, int height) {
  kp_camera_frame frame = kp_camera_get_frame(camera);
  live_view *v = &live->view;
  int64_t n = (int64_t)width * height;
  *v = (live_view){ .width = width, .height = height };
  put(v->eye, camera->position);
  put(v->right, frame.right);
  put(v->up, frame.up);
  put(v->forward, frame.forward);
  v->scale = 0.5 * height / tan(0.5 * camera->fov_deg * DEGREES);
  v->nearest = 1e-3 * kp_vec3_length(kp_vec3_sub(camera->target, camera->position));
  live->reach = 0;
  live->is_resolved = false;
  for (int s = 0; s < N_SPOTS; ++s) {
    KP_TRY(resize(&live->spots[s], KP_TYPE_U32, n));
  }
  KP_TRY(resize(&live->pixels, KP_TYPE_U32, n));
  KP_TRY(resize(&live->nearest, KP_TYPE_U32, n));
  live_clear_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &live_clear_kernel, &a);
  BIND_SPOTS(&call, &a, live, KP_ACCESS_OVERWRITE);
  return kp_call_run(live->backend, &call, n);
}

static kp_result project(kp_live *live, const kp_live_points *p) {
  live_project_args a = { .view = live->view };
  kp_call call;
  KP_TRY(resize(&live->keys, KP_TYPE_U64, p->n));
  KP_TRY(resize(&live->order, KP_TYPE_U32, p->n));
  kp_call_init(&call, &live_project_kernel, &a);
  KP_BIND(&call, &a, x, p->position[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, p->position[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, p->position[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, keys, &live->keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, order, &live->order, KP_ACCESS_OVERWRITE);
  return kp_call_run(live->backend, &call, p->n);
}

static kp_result sort(kp_live *live, int64_t n) {
  void *keys;
  void *order;
  int bits = 33;
  while ((int64_t)1 << (bits - 32) <= (int64_t)live->view.width * live->view.height) {
    ++bits;
  }
  KP_TRY(kp_buffer_get(&live->keys, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &keys));
  KP_TRY(kp_buffer_get(&live->order, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &order));
  return kp_sort64(live->backend, keys, order, n, bits);
}

static void put_color(float out[3], kp_vec3 color) {
  out[0] = (float)(255.0 * color.x);
  out[1] = (float)(255.0 * color.y);
  out[2] = (float)(255.0 * color.z);
}

static kp_result pick(kp_live *live, const kp_live_points *p) {
  live_pick_args a = { .view = live->view, .radius = p->radius, .speed = p->speed };
  kp_call call;
  put_color(a.slow, p->slow);
  put_color(a.fast, p->fast);
  kp_call_init(&call, &live_pick_kernel, &a);
  KP_BIND(&call, &a, x, p->position[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, p->position[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, p->position[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, vx, p->velocity[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, p->velocity[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, p->velocity[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, light, p->light, KP_ACCESS_READ);
  KP_BIND(&call, &a, keys, &live->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &live->order, KP_ACCESS_READ);
  BIND_SPOTS(&call, &a, live, KP_ACCESS_WRITE);
  return kp_call_run(live->backend, &call, p->n);
}

kp_result kp_live_add(kp_live *live, const kp_live_points *points) {
  KP_ASSERT(!live->is_resolved);
  if (points->n == 0) {
    return KP_OK;
  }
  KP_TRY(project(live, points));
  KP_TRY(sort(live, points->n));
  double widest = points->radius * live->view.scale / live->view.nearest;
  int reach = widest < LIVE_WIDEST ? (int)ceil(widest) : LIVE_WIDEST;
  live->reach = reach > live->reach ? reach : live->reach;
  return pick(live, points);
}

// Discs into pixels, once.
static kp_result resolve(kp_live *live) {
  if (live->is_resolved) {
    return KP_OK;
  }
  live_resolve_args a = {
    .width = live->view.width, .height = live->view.height, .reach = live->reach, .back = BACK
  };
  kp_call call;
  kp_call_init(&call, &live_resolve_kernel, &a);
  BIND_SPOTS(&call, &a, live, KP_ACCESS_READ);
  KP_BIND(&call, &a, pixels, &live->pixels, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, nearest, &live->nearest, KP_ACCESS_OVERWRITE);
  live->is_resolved = true;
  return kp_call_run(live->backend, &call, (int64_t)a.width * a.height);
}

static live_grid grid_of(const kp_mac *mac) {
  live_grid grid = { .g = mac->view };
  memcpy(grid.lo, mac->window_lo, sizeof grid.lo);
  memcpy(grid.hi, mac->window_hi, sizeof grid.hi);
  return grid;
}

kp_result kp_live_add_water(kp_live *live, const kp_live_water *water) {
  live_water_args a = { .view = live->view, .grid = grid_of(water->mac) };
  kp_call call;
  KP_TRY(resolve(live));
  put(a.sun, water->sun);
  put_color(a.dark, water->dark);
  put_color(a.bright, water->bright);
  kp_call_init(&call, &live_water_kernel, &a);
  KP_BIND(&call, &a, distance, water->distance, KP_ACCESS_READ);
  KP_BIND(&call, &a, nearest, &live->nearest, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, pixels, &live->pixels, KP_ACCESS_WRITE);
  return kp_call_run(live->backend, &call, (int64_t)live->view.width * live->view.height);
}

kp_result kp_live_add_smoke(kp_live *live, const kp_live_smoke *smoke) {
  live_smoke_args a = { .view = live->view,
                        .grid = grid_of(smoke->mac),
                        .from = smoke->from,
                        .to = smoke->to,
                        .strength = smoke->strength };
  kp_call call;
  KP_TRY(resolve(live));
  put_color(a.color, smoke->color);
  put_color(a.glow, smoke->glow);
  kp_call_init(&call, &live_smoke_kernel, &a);
  KP_BIND(&call, &a, density, smoke->density, KP_ACCESS_READ);
  KP_BIND(&call, &a, heat, smoke->heat, KP_ACCESS_READ);
  KP_BIND(&call, &a, nearest, &live->nearest, KP_ACCESS_READ);
  KP_BIND(&call, &a, pixels, &live->pixels, KP_ACCESS_WRITE);
  return kp_call_run(live->backend, &call, (int64_t)live->view.width * live->view.height);
}

kp_result kp_live_read(kp_live *live, const uint32_t **pixels) {
  void *memory;
  KP_TRY(resolve(live));
  KP_TRY(kp_buffer_get(&live->pixels, KP_SIDE_HOST, KP_ACCESS_READ, &memory));
  *pixels = memory;
  return KP_OK;
}
