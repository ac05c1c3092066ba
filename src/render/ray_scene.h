// Everything that rays can meet, in trees: made once per frame, read by any thread.
#pragma once

#include "render/pass.h"
#include "render/ray_kernels.h"

// What goes in: flat arrays in the coordinates of the rays, read during the call only. Masks are
// kp_ray_mask per primitive; NULL: all surfaces. What is not finite, and balls without a radius,
// are left out; the sign of a radius, which marks sprites, counts only where their mask does not
// say so.
typedef struct kp_ray_geometry {
  int64_t n_triangles, n_balls, n_segments;
  const kp_f3 *vertices;
  const uint32_t *triangles;  // 3 per triangle
  const uint8_t *triangle_masks;
  const kp_ball *balls;
  const uint8_t *ball_masks;
  const kp_ball *line_vertices;
  const kp_segment *segments;
  const uint8_t *segment_masks;
} kp_ray_geometry;

typedef struct kp_ray_scene {
  kp_ray_view view;
  kp_ray_node *nodes[3];  // of triangles, balls and strokes
  void *blocks[3];
  int64_t n_nodes[3], n_blocks[3];
} kp_ray_scene;

// Start from a zeroed struct. The scene has no ground plane; set it in the view.
KP_NODISCARD kp_result kp_ray_scene_build(kp_ray_scene *scene, const kp_ray_geometry *geometry);
void kp_ray_scene_free(kp_ray_scene *scene);

// On the calling thread, with the best instructions of the machine.
void kp_ray_find_nearest(const kp_ray_view *view, const kp_ray *rays, int64_t n, kp_ray_hit *hits);
void kp_ray_find_any(const kp_ray_view *view, const kp_ray *rays, int64_t n, int32_t *blocked);
