// Smoothing of a mesh that lies on the device of a backend: the same bits as kp_mesh_smoother_run.
#pragma once

#include "geom/marching_device.h"
#include "geom/mesh_smooth.h"

// Kept from mesh to mesh.
typedef struct kp_device_smoother {
  kp_backend *backend;
  kp_buffer keys, order;  // of vertices by cell, or of sides of triangles by vertex
  kp_buffer first;        // of the sides of each vertex
  kp_buffer moved, normals;
} kp_device_smoother;

void kp_device_smoother_init(kp_device_smoother *s, kp_backend *backend);
void kp_device_smoother_free(kp_device_smoother *s);

KP_NODISCARD kp_result kp_device_smoother_run(kp_device_smoother *s,
                                              const kp_mesh_smoother_def *how,
                                              kp_device_mesh *mesh);
