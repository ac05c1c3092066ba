#include "geom/marching_device.h"

#include <stddef.h>
#include <string.h>

#include "data/call.h"
#include "geom/marching_kernels.h"
#include "par/kernel_define.h"

MARCHING_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define N_BLOCK_BUFFERS 8
#define N_MESH_BUFFERS 8

static void list_blocks(kp_device_blocks *b, kp_buffer *out[N_BLOCK_BUFFERS]) {
  kp_buffer *const all[N_BLOCK_BUFFERS] = { &b->at,     &b->around, &b->slots, &b->stored,
                                            &b->values, &b->keys,   &b->deep,  &b->calm };
  memcpy(out, all, sizeof all);
}

void kp_device_blocks_init(kp_device_blocks *blocks, kp_backend *backend) {
  kp_buffer *all[N_BLOCK_BUFFERS];
  *blocks = (kp_device_blocks){ 0 };
  list_blocks(blocks, all);
  for (int k = 0; k < N_BLOCK_BUFFERS; ++k) {
    kp_buffer_init(all[k], backend);
  }
}

void kp_device_blocks_free(kp_device_blocks *blocks) {
  kp_buffer *all[N_BLOCK_BUFFERS];
  list_blocks(blocks, all);
  for (int k = 0; k < N_BLOCK_BUFFERS; ++k) {
    kp_buffer_free(all[k]);
  }
}

static void list_mesh(kp_device_mesh *m, kp_buffer *out[N_MESH_BUFFERS]) {
  kp_buffer *const all[N_MESH_BUFFERS] = { &m->vertices, &m->normals, &m->triangles, &m->table,
                                           &m->bits,     &m->cut,     &m->edges,     &m->starts };
  memcpy(out, all, sizeof all);
}

void kp_device_mesh_init(kp_device_mesh *mesh, kp_backend *backend) {
  kp_buffer *all[N_MESH_BUFFERS];
  *mesh = (kp_device_mesh){ .backend = backend };
  list_mesh(mesh, all);
  for (int k = 0; k < N_MESH_BUFFERS; ++k) {
    kp_buffer_init(all[k], backend);
  }
}

void kp_device_mesh_free(kp_device_mesh *mesh) {
  kp_buffer *all[N_MESH_BUFFERS];
  list_mesh(mesh, all);
  for (int k = 0; k < N_MESH_BUFFERS; ++k) {
    kp_buffer_free(all[k]);
  }
}

kp_result kp_device_resize(kp_buffer *buffer, kp_type type, int64_t n, size_t size) {
  buffer->type = (uint8_t)type;
  return kp_buffer_resize(buffer, (size_t)n * size);
}

kp_result kp_device_scan(kp_buffer *counts, int64_t n, uint32_t *total) {
  void *device;
  KP_TRY(kp_buffer_get(counts, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &device));
  KP_TRY(kp_scan(counts->backend, device, device, n));
  if (total == NULL) {
    return KP_OK;
  }
  return kp_copy_out(counts->backend, total, (const uint32_t *)device + n, sizeof *total);
}

// ---- parts that both forms share

static kp_result make_table(kp_device_mesh *m) {
  if (m->table.used > 0) {
    return KP_OK;
  }
  KP_TRY(kp_buffer_resize(&m->table, sizeof(kp_cube_table)));
  void *host;
  KP_TRY(kp_buffer_get(&m->table, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &host));
  kp_cube_table_make(host);
  return KP_OK;
}

// Room for n rows, or words of rows, with three times as many rows of edges.
static kp_result make_rows(kp_device_mesh *m, int64_t n, kp_type type) {
  KP_TRY(make_table(m));
  KP_TRY(kp_device_resize(&m->bits, type, n, kp_type_size(type)));
  KP_TRY(kp_device_resize(&m->cut, type, 3 * n, kp_type_size(type)));
  KP_TRY(kp_device_resize(&m->edges, KP_TYPE_U32, 3 * n + 1, sizeof(uint32_t)));
  return kp_device_resize(&m->starts, KP_TYPE_U32, n + 1, sizeof(uint32_t));
}

// Counts of n rows become beginnings, and there is room for what they begin.
static kp_result number_rows(kp_device_mesh *m, int64_t n) {
  marching_totals_args a = { 0 };
  double totals[2];
  kp_call call;
  kp_call_init(&call, &marching_totals_kernel, &a);
  KP_BIND(&call, &a, edges, &m->edges, KP_ACCESS_READ);
  KP_BIND(&call, &a, triangles, &m->starts, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(m->backend, &call, n, totals));
  if (totals[0] > UINT32_MAX || totals[1] > UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "a surface of %.0f vertices and %.0f triangles is too large",
                   totals[0], totals[1]);
  }
  m->n_vertices = (int64_t)totals[0];
  m->n_triangles = (int64_t)totals[1];
  KP_TRY(kp_device_scan(&m->edges, 3 * n, NULL));
  KP_TRY(kp_device_scan(&m->starts, n, NULL));
  KP_TRY(kp_device_resize(&m->vertices, KP_TYPE_F64, 3 * m->n_vertices, sizeof(double)));
  KP_TRY(kp_device_resize(&m->normals, KP_TYPE_F32, 3 * m->n_vertices, sizeof(float)));
  return kp_device_resize(&m->triangles, KP_TYPE_U32, 3 * m->n_triangles, sizeof(uint32_t));
}

// Arguments of all four launches; those of blocks end as those of lattices do.
typedef union march_args {
  marching_block_args of_blocks;
  marching_lattice_args of_lattice;
} march_args;

// Launches of one form, and where the arrays of rows begin in its arguments.
typedef struct march_form {
  const kp_kernel *kernels[4];
  size_t rows;
} march_form;

// Bits of samples, cuts of edges, vertices, triangles: what each launch does with the arrays.
#define N_ROW_ARRAYS 7
#define READ (KP_ACCESS_READ + 1)
#define MAKE (KP_ACCESS_OVERWRITE + 1)
static const int row_access[4][N_ROW_ARRAYS] = {
  // bits, cut, edges, starts, vertices, normals, triangles; 0: nothing
  { MAKE, 0, 0, 0, 0, 0, 0 },
  { READ, MAKE, MAKE, MAKE, 0, 0, 0 },
  { 0, READ, READ, 0, MAKE, MAKE, 0 },
  { READ, READ, READ, READ, 0, 0, MAKE },
};

static void bind_samples(kp_call *call, march_args *a, kp_device_mesh *m, kp_device_blocks *blocks,
                         kp_buffer *values) {
  if (blocks != NULL) {
    KP_BIND_BLOCKS(call, a, blocks, of_blocks.set.b, KP_ACCESS_READ);
    KP_BIND(call, a, of_blocks.set.table, &m->table, KP_ACCESS_READ);
  } else {
    KP_BIND(call, a, of_lattice.set.l.values, values, KP_ACCESS_READ);
    KP_BIND(call, a, of_lattice.set.table, &m->table, KP_ACCESS_READ);
  }
}

// The four launches over n rows of blocks, or of a lattice with these values.
static kp_result march(kp_device_mesh *m, const march_form *form, const march_args *args,
                       kp_device_blocks *blocks, kp_buffer *values, int64_t n) {
  kp_buffer *const arrays[N_ROW_ARRAYS] = { &m->bits,     &m->cut,     &m->edges,    &m->starts,
                                            &m->vertices, &m->normals, &m->triangles };
  for (int launch = 0; launch < 4; ++launch) {
    bool is_of_edges = launch == 2;
    if (is_of_edges) {
      KP_TRY(number_rows(m, n));
    }
    march_args a = *args;
    kp_call call;
    kp_call_init(&call, form->kernels[launch], &a);
    bind_samples(&call, &a, m, blocks, values);
    for (int k = 0; k < N_ROW_ARRAYS; ++k) {
      int access = row_access[launch][k];
      if (access > 0) {
        kp_call_bind(&call, form->rows + (size_t)k * sizeof(void *), arrays[k],
                     (kp_access)(access - 1));
      }
    }
    KP_TRY(kp_call_run(m->backend, &call, is_of_edges ? 3 * n : n));
  }
  return KP_OK;
}

kp_result kp_device_march_blocks(kp_device_mesh *m, kp_device_blocks *b, float level) {
  static const march_form form = { { &marching_block_bits_kernel, &marching_block_cuts_kernel,
                                     &marching_block_vertices_kernel,
                                     &marching_block_triangles_kernel },
                                   offsetof(marching_block_args, bits) };
  int32_t rows = b->shape.edge * b->shape.depth;
  int64_t n = b->shape.n_stored * rows;
  m->n_vertices = m->n_triangles = 0;
  if (n == 0) {
    return KP_OK;
  }
  KP_TRY(make_rows(m, n, KP_TYPE_U8));
  march_args a = { .of_blocks.set = { .b = b->shape, .level = level, .rows = rows } };
  return march(m, &form, &a, b, NULL, n);
}

kp_result kp_device_march_lattice(kp_device_mesh *m, const kp_lattice *l, kp_buffer *values,
                                  float level) {
  static const march_form form = { { &marching_bits_kernel, &marching_cuts_kernel,
                                     &marching_vertices_kernel, &marching_triangles_kernel },
                                   offsetof(marching_lattice_args, bits) };
  m->n_vertices = m->n_triangles = 0;
  if (l->n[0] < 1 || l->n[1] < 1 || l->n[2] < 1) {
    return KP_OK;
  }
  int32_t words = (l->n[0] + 31) / 32;
  int64_t n = (int64_t)l->n[1] * l->n[2] * words;
  KP_TRY(make_rows(m, n, KP_TYPE_U32));
  march_args a = { .of_lattice.set = { .l = *l, .level = level, .words = words } };
  return march(m, &form, &a, NULL, values, n);
}

// ---- to the host

static kp_result fetch(kp_buffer *from, void *to, size_t size) {
  void *device;
  if (size == 0) {
    return KP_OK;
  }
  KP_TRY(kp_buffer_get(from, KP_SIDE_DEVICE, KP_ACCESS_READ, &device));
  return kp_copy_out(from->backend, to, device, size);
}

kp_result kp_device_mesh_fetch(kp_device_mesh *m, kp_isosurface *out) {
  out->n_vertices = m->n_vertices;
  out->n_triangles = m->n_triangles;
  KP_TRY(kp_isosurface_reserve(out));
  size_t n = (size_t)m->n_vertices;
  KP_TRY(fetch(&m->vertices, out->vertices, n * sizeof *out->vertices));
  KP_TRY(fetch(&m->normals, out->normals, n * 3 * sizeof *out->normals));
  return fetch(&m->triangles, out->triangles, (size_t)m->n_triangles * 3 * sizeof *out->triangles);
}
