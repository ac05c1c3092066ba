#include "geom/grid_surface.h"

#include <string.h>

#include "geom/grid_surface_kernels.h"
#include "geom/marching_device.h"
#include "par/kernel_define.h"

GRID_SURFACE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define SOLID_LAYERS 2  // cells that a surface is continued into solids

void kp_grid_surface_init(kp_grid_surface *s, kp_backend *backend) {
  *s = (kp_grid_surface){ .backend = backend };
  kp_buffer_init(&s->values, backend);
  kp_buffer_init(&s->other, backend);
  kp_buffer_init(&s->rows, backend);
  kp_buffer_init(&s->speeds, backend);
}

void kp_grid_surface_free(kp_grid_surface *s) {
  kp_buffer_free(&s->values);
  kp_buffer_free(&s->other);
  kp_buffer_free(&s->rows);
  kp_buffer_free(&s->speeds);
}

kp_aabb kp_grid_surface_box(const kp_mac *mac) {
  const kp_mac_view *g = &mac->view;
  kp_aabb box;
  box.min = kp_vec3_make(g->lo[0], g->lo[1], g->lo[2]);
  box.max = kp_vec3_madd(box.min, g->cell, kp_vec3_make(g->n[0], g->n[1], g->n[2]));
  return box;
}

// The rows of a lattice as a list, made anew when its size changes.
static kp_result list_rows(kp_grid_surface *s, const int32_t n[3]) {
  if (s->rows.used > 0 && memcmp(n, s->lattice.n, sizeof s->lattice.n) == 0) {
    return KP_OK;
  }
  void *memory;
  KP_TRY(kp_buffer_resize(&s->rows, (size_t)n[1] * (size_t)n[2] * sizeof(kp_row_segment)));
  KP_TRY(kp_buffer_get(&s->rows, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory));
  kp_row_segment *rows = memory;
  for (int32_t k = 0; k < n[2]; ++k) {
    for (int32_t j = 0; j < n[1]; ++j) {
      *rows++ = (kp_row_segment){ .j = j, .k = k, .i0 = 0, .i1 = n[0] };
    }
  }
  return KP_OK;
}

// Centres lie half a cell inside, and there is a layer more.
static kp_result lay_lattice(kp_grid_surface *s, const kp_mac *mac) {
  const kp_mac_view *g = &mac->view;
  kp_lattice *l = &s->lattice;
  int32_t n[3];
  for (int c = 0; c < 3; ++c) {
    n[c] = mac->window_hi[c] - mac->window_lo[c] + 2;
  }
  KP_TRY(list_rows(s, n));
  memcpy(l->n, n, sizeof n);
  l->row = n[0];
  l->slab = (int64_t)n[0] * n[1];
  l->spacing = g->cell;
  l->origin = kp_vec3_make(g->lo[0] + (mac->window_lo[0] - 0.5) * g->cell,
                           g->lo[1] + (mac->window_lo[1] - 0.5) * g->cell,
                           g->lo[2] + (mac->window_lo[2] - 0.5) * g->cell);
  int64_t count = l->slab * n[2];
  KP_TRY(kp_device_resize(&s->values, KP_TYPE_F32, count, sizeof(float)));
  return kp_device_resize(&s->other, KP_TYPE_F32, count, sizeof(float));
}

static grid_surface_frame frame_of(const kp_grid_surface *s, const kp_mac *mac) {
  grid_surface_frame f = { .g = mac->view, .l = s->lattice };
  f.l.values = NULL;
  memcpy(f.lo, mac->window_lo, sizeof f.lo);
  memcpy(f.hi, mac->window_hi, sizeof f.hi);
  return f;
}

static kp_result grow_into_solids(kp_grid_surface *s, const kp_mac *mac, int64_t n_rows) {
  kp_field *flags = kp_space_find(mac->space, "flags");
  if (flags == NULL || flags->type != KP_TYPE_U8) {
    return KP_OK;
  }
  for (int layer = 0; layer < SOLID_LAYERS; ++layer) {
    grid_surface_grow_args a = { .f = frame_of(s, mac) };
    kp_call call;
    kp_call_init(&call, &grid_surface_grow_kernel, &a);
    KP_BIND(&call, &a, flags, &flags->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, from, &s->values, KP_ACCESS_READ);
    KP_BIND(&call, &a, to, &s->other, KP_ACCESS_OVERWRITE);
    KP_TRY(kp_call_rows(s->backend, &call, &s->rows, n_rows));
    kp_buffer_swap_device(&s->values, &s->other);
  }
  return KP_OK;
}

kp_result kp_grid_surface_take(kp_grid_surface *s, const kp_mac *mac, kp_field *distance) {
  kp_call call;
  KP_TRY(lay_lattice(s, mac));
  int64_t n_rows = (int64_t)s->lattice.n[1] * s->lattice.n[2];
  grid_surface_window_args window = { .f = frame_of(s, mac) };
  kp_call_init(&call, &grid_surface_window_kernel, &window);
  KP_BIND(&call, &window, from, &distance->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &window, to, &s->values, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_rows(s->backend, &call, &s->rows, n_rows));
  KP_TRY(grow_into_solids(s, mac, n_rows));
  grid_surface_clip_args clip = { .f = frame_of(s, mac) };
  kp_call_init(&call, &grid_surface_clip_kernel, &clip);
  KP_BIND(&call, &clip, values, &s->values, KP_ACCESS_WRITE);
  return kp_call_rows(s->backend, &call, &s->rows, n_rows);
}

kp_result kp_grid_surface_velocity(kp_grid_surface *s, const kp_mac *mac, kp_buffer *points,
                                   int64_t n, float *const out[3]) {
  kp_field *velocity = kp_space_find(mac->space, "velocity");
  size_t size = (size_t)n * sizeof(float);
  bool has_velocity = velocity != NULL && velocity->components == 3;
  for (int c = 0; c < 3 && !has_velocity; ++c) {
    memset(out[c], 0, size);
  }
  if (!has_velocity || n == 0) {
    return KP_OK;
  }
  KP_TRY(kp_device_resize(&s->speeds, KP_TYPE_F32, 3 * n, sizeof(float)));
  grid_surface_velocity_args a = { .g = mac->view, .n = n };
  kp_call call;
  kp_call_init(&call, &grid_surface_velocity_kernel, &a);
  KP_BIND(&call, &a, u, &velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &velocity->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, points, points, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, &s->speeds, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, n));
  void *device;
  KP_TRY(kp_buffer_get(&s->speeds, KP_SIDE_DEVICE, KP_ACCESS_READ, &device));
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_copy_out(s->backend, out[c], (const char *)device + (size_t)c * size, size));
  }
  return KP_OK;
}
