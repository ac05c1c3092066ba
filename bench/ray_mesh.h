// A sea of triangles with balls and strokes over it, for rays.
#pragma once

#include "render/ray_scene.h"

typedef struct kp_ray_mesh {
  kp_ray_geometry geometry;
  kp_f3 *vertices;
  uint32_t *triangles;
  kp_ball *balls, *line_vertices;
  kp_segment *segments;
} kp_ray_mesh;

// About so many triangles over [-1, 1]^2, and a hundredth of each of the others where asked for.
// Start from a zeroed struct.
KP_NODISCARD kp_result kp_ray_mesh_make(kp_ray_mesh *mesh, int64_t n_triangles,
                                        bool triangles_only);
void kp_ray_mesh_free(kp_ray_mesh *mesh);

// Rays of a camera above the mesh (coherent), or from anywhere near it to anywhere (not coherent).
void kp_ray_mesh_rays(kp_ray *rays, int64_t n, bool is_coherent);
