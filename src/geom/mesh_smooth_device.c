#include "geom/mesh_smooth_device.h"

#include "data/call.h"
#include "geom/mesh_smooth_kernels.h"
#include "par/kernel_define.h"

MESH_SMOOTH_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

void kp_device_smoother_init(kp_device_smoother *s, kp_backend *backend) {
  *s = (kp_device_smoother){ .backend = backend };
  kp_buffer_init(&s->keys, backend);
  kp_buffer_init(&s->order, backend);
  kp_buffer_init(&s->first, backend);
  kp_buffer_init(&s->moved, backend);
  kp_buffer_init(&s->normals, backend);
}

void kp_device_smoother_free(kp_device_smoother *s) {
  kp_buffer_free(&s->keys);
  kp_buffer_free(&s->order);
  kp_buffer_free(&s->first);
  kp_buffer_free(&s->moved);
  kp_buffer_free(&s->normals);
}

// Keys with their numbers, equals in the order they came.
static kp_result sort_keys(kp_device_smoother *s, int64_t n, int bits) {
  void *keys, *order;
  KP_TRY(kp_buffer_get(&s->keys, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &keys));
  KP_TRY(kp_buffer_get(&s->order, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &order));
  return kp_sort64(s->backend, keys, order, n, bits);
}

static kp_result size_keys(kp_device_smoother *s, int64_t n) {
  KP_TRY(kp_device_resize(&s->keys, KP_TYPE_U64, n, sizeof(uint64_t)));
  return kp_device_resize(&s->order, KP_TYPE_U32, n, sizeof(uint32_t));
}

// ---- means within a radius

static kp_result sort_vertices(kp_device_smoother *s, const kp_mesh_smoother_def *how,
                               kp_device_mesh *mesh, double scale) {
  kp_call call;
  double is_near;
  KP_TRY(size_keys(s, mesh->n_vertices));
  mesh_smooth_cells_args cells = { .scale = scale };
  kp_call_init(&call, &mesh_smooth_cells_kernel, &cells);
  KP_BIND(&call, &cells, vertices, &mesh->vertices, KP_ACCESS_READ);
  KP_BIND(&call, &cells, keys, &s->keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &cells, order, &s->order, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, mesh->n_vertices));
  mesh_smooth_reaches_args reaches = { 0 };
  kp_call_init(&call, &mesh_smooth_reaches_kernel, &reaches);
  KP_BIND(&call, &reaches, keys, &s->keys, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(s->backend, &call, mesh->n_vertices, &is_near));
  if (is_near < 1.0) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "a surface with vertices %g m from the origin cannot be smoothed over %g m",
                   KP_SMOOTH_REACH / scale, how->radius);
  }
  return sort_keys(s, mesh->n_vertices, 3 * KP_BLOCK_BITS);
}

static kp_result take_means(kp_device_smoother *s, const kp_mesh_smoother_def *how,
                            kp_device_mesh *mesh) {
  // as kp_blocks_cover rounds it
  double scale = 1.0 / (KP_BLOCK_LEAST * (how->radius / KP_BLOCK_LEAST));
  KP_TRY(sort_vertices(s, how, mesh, scale));
  mesh_smooth_means_args a = { .how = *how, .scale = scale, .n = mesh->n_vertices };
  kp_call call;
  kp_call_init(&call, &mesh_smooth_means_kernel, &a);
  KP_BIND(&call, &a, keys, &s->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &s->order, KP_ACCESS_READ);
  KP_BIND(&call, &a, vertices, &mesh->vertices, KP_ACCESS_READ);
  KP_BIND(&call, &a, normals, &mesh->normals, KP_ACCESS_READ);
  KP_BIND(&call, &a, moved, &s->moved, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, new_normals, &s->normals, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, mesh->n_vertices));
  kp_buffer_swap_device(&mesh->vertices, &s->moved);
  kp_buffer_swap_device(&mesh->normals, &s->normals);
  return KP_OK;
}

// ---- steps along edges

static int count_bits(int64_t most) {
  int bits = 1;
  while (most >> bits != 0) {
    ++bits;
  }
  return bits;
}

static kp_result list_sides(kp_device_smoother *s, kp_device_mesh *mesh) {
  int64_t n_sides = 3 * mesh->n_triangles;
  kp_call call;
  if (n_sides > UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "a surface of %lld triangles is too large to be smoothed",
                   (long long)mesh->n_triangles);
  }
  KP_TRY(size_keys(s, n_sides));
  KP_TRY(kp_device_resize(&s->first, KP_TYPE_U32, mesh->n_vertices + 1, sizeof(uint32_t)));
  mesh_smooth_sides_args sides = { 0 };
  kp_call_init(&call, &mesh_smooth_sides_kernel, &sides);
  KP_BIND(&call, &sides, triangles, &mesh->triangles, KP_ACCESS_READ);
  KP_BIND(&call, &sides, keys, &s->keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &sides, order, &s->order, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, n_sides));
  KP_TRY(sort_keys(s, n_sides, count_bits(mesh->n_vertices)));
  mesh_smooth_first_args first = { .n_sides = n_sides };
  kp_call_init(&call, &mesh_smooth_first_kernel, &first);
  KP_BIND(&call, &first, keys, &s->keys, KP_ACCESS_READ);
  KP_BIND(&call, &first, first, &s->first, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, mesh->n_vertices + 1);
}

static kp_result take_step(kp_device_smoother *s, const kp_mesh_smoother_def *how,
                           kp_device_mesh *mesh, double step) {
  mesh_smooth_steps_args a = { .how = *how, .step = step };
  kp_call call;
  kp_call_init(&call, &mesh_smooth_steps_kernel, &a);
  KP_BIND(&call, &a, first, &s->first, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &s->order, KP_ACCESS_READ);
  KP_BIND(&call, &a, triangles, &mesh->triangles, KP_ACCESS_READ);
  KP_BIND(&call, &a, vertices, &mesh->vertices, KP_ACCESS_READ);
  KP_BIND(&call, &a, moved, &s->moved, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, mesh->n_vertices));
  kp_buffer_swap_device(&mesh->vertices, &s->moved);
  return KP_OK;
}

static kp_result sum_normals(kp_device_smoother *s, kp_device_mesh *mesh) {
  mesh_smooth_normals_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &mesh_smooth_normals_kernel, &a);
  KP_BIND(&call, &a, first, &s->first, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &s->order, KP_ACCESS_READ);
  KP_BIND(&call, &a, triangles, &mesh->triangles, KP_ACCESS_READ);
  KP_BIND(&call, &a, vertices, &mesh->vertices, KP_ACCESS_READ);
  KP_BIND(&call, &a, normals, &mesh->normals, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, mesh->n_vertices);
}

kp_result kp_device_smoother_run(kp_device_smoother *s, const kp_mesh_smoother_def *how,
                                 kp_device_mesh *mesh) {
  int64_t n = mesh->n_vertices;
  if (how->kind == KP_MESH_SMOOTHING_NONE || how->passes <= 0 || n == 0) {
    return KP_OK;
  }
  KP_TRY(kp_device_resize(&s->moved, KP_TYPE_F64, 3 * n, sizeof(double)));
  if (how->kind != KP_MESH_SMOOTHING_TAUBIN) {
    KP_TRY(kp_device_resize(&s->normals, KP_TYPE_F32, 3 * n, sizeof(float)));
    for (int pass = 0; pass < how->passes; ++pass) {
      KP_TRY(take_means(s, how, mesh));
    }
    return KP_OK;
  }
  KP_TRY(list_sides(s, mesh));
  for (int pass = 0; pass < how->passes; ++pass) {
    KP_TRY(take_step(s, how, mesh, KP_SMOOTH_LAMBDA));
    KP_TRY(take_step(s, how, mesh, KP_SMOOTH_MU));
  }
  return sum_normals(s, mesh);
}
