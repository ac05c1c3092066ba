// Marching cubes on the device of a backend: the same meshes as kp_marching_cubes and
// kp_marching_blocks make, from samples that lie there.
#pragma once

#include "data/buffer.h"
#include "geom/sparse_lattice.h"

// Sparse samples on a device; the numbers are those of a kp_blocks whose arrays are not used.
typedef struct kp_device_blocks {
  kp_blocks shape;
  kp_buffer at, around, slots, stored, values, keys, deep, calm;
} kp_device_blocks;

typedef struct kp_device_mesh {
  kp_backend *backend;
  int64_t n_vertices, n_triangles;
  kp_buffer vertices;   // kp_vec3
  kp_buffer normals;    // 3 floats per vertex
  kp_buffer triangles;  // 3 uint32_t per triangle
  kp_buffer table, bits, cut, edges, starts;
} kp_device_mesh;

void kp_device_blocks_init(kp_device_blocks *blocks, kp_backend *backend);
void kp_device_blocks_free(kp_device_blocks *blocks);
void kp_device_mesh_init(kp_device_mesh *mesh, kp_backend *backend);
void kp_device_mesh_free(kp_device_mesh *mesh);

KP_NODISCARD kp_result kp_device_march_blocks(kp_device_mesh *mesh, kp_device_blocks *blocks,
                                              float level);
// `values` are the samples of the lattice, whose pointer is not used.
KP_NODISCARD kp_result kp_device_march_lattice(kp_device_mesh *mesh, const kp_lattice *lattice,
                                               kp_buffer *values, float level);
// The mesh to the host.
KP_NODISCARD kp_result kp_device_mesh_fetch(kp_device_mesh *mesh, kp_isosurface *out);

KP_NODISCARD kp_result kp_device_resize(kp_buffer *buffer, kp_type type, int64_t n, size_t size);
// What follows the sum of all counts becomes it: counts to beginnings, and their end at [n].
KP_NODISCARD kp_result kp_device_scan(kp_buffer *counts, int64_t n, uint32_t *total);

// Arrays of blocks into the member `b` of the arguments of a kernel.
#define KP_BIND_BLOCKS(call, a, blocks, member, access)                                            \
  KP_BIND(call, a, member.at, &(blocks)->at, KP_ACCESS_READ);                                      \
  KP_BIND(call, a, member.around, &(blocks)->around, KP_ACCESS_READ);                              \
  KP_BIND(call, a, member.slots, &(blocks)->slots, KP_ACCESS_READ);                                \
  KP_BIND(call, a, member.stored, &(blocks)->stored, KP_ACCESS_READ);                              \
  KP_BIND(call, a, member.keys, &(blocks)->keys, KP_ACCESS_READ);                                  \
  KP_BIND(call, a, member.deep, &(blocks)->deep, KP_ACCESS_READ);                                  \
  KP_BIND(call, a, member.calm, &(blocks)->calm, KP_ACCESS_READ);                                  \
  KP_BIND(call, a, member.values, &(blocks)->values, access)
