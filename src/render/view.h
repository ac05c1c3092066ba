// One projection: the camera's (perspective) or the sun's (parallel). View space has x to the
// right, y down the picture, z along the view, so that rows grow with y. Pixel (i, j) is sampled at
// its middle.
#pragma once

#include "render/camera.h"
#include "render/f3.h"

#define KP_TILE_SIZE 32
#define KP_TILE_PIXELS (KP_TILE_SIZE * KP_TILE_SIZE)

typedef struct kp_view {
  kp_vec3 origin;  // eye, or a point of the sun's picture plane
  kp_camera_frame frame;
  int width, height;     // pixels
  float scale;           // pixels per unit slope (camera) or per metre (sun)
  float axis_x, axis_y;  // pixel coordinates of the view axis; moved by the pass's sub-pixel shift
  float nearest;         // nothing nearer than this is drawn [m]
  bool parallel;
} kp_view;

// Pixels of one tile.
typedef struct kp_tile_box {
  int x0, y0, x1, y1;  // half open
} kp_tile_box;

KP_FN int kp_view_tiles_x(const kp_view *view) {
  return (view->width + KP_TILE_SIZE - 1) / KP_TILE_SIZE;
}

KP_FN int kp_view_tiles_y(const kp_view *view) {
  return (view->height + KP_TILE_SIZE - 1) / KP_TILE_SIZE;
}

KP_FN kp_tile_box kp_view_tile(const kp_view *view, int64_t tile) {
  int tiles_x = kp_view_tiles_x(view);
  kp_tile_box box;
  box.x0 = (int)(tile % tiles_x) * KP_TILE_SIZE;
  box.y0 = (int)(tile / tiles_x) * KP_TILE_SIZE;
  box.x1 = box.x0 + KP_TILE_SIZE < view->width ? box.x0 + KP_TILE_SIZE : view->width;
  box.y1 = box.y0 + KP_TILE_SIZE < view->height ? box.y0 + KP_TILE_SIZE : view->height;
  return box;
}

KP_FN kp_f3 kp_view_vector(const kp_view *view, kp_vec3 d) {
  return kp_f3_make((float)kp_vec3_dot(d, view->frame.right),
                    (float)-kp_vec3_dot(d, view->frame.up),
                    (float)kp_vec3_dot(d, view->frame.forward));
}

KP_FN kp_f3 kp_view_point(const kp_view *view, kp_vec3 p) {
  return kp_view_vector(view, kp_vec3_sub(p, view->origin));
}

// World point of a view point.
KP_FN kp_vec3 kp_view_to_world(const kp_view *view, kp_f3 p) {
  kp_vec3 w = kp_vec3_madd(view->origin, (double)p.x, view->frame.right);
  w = kp_vec3_madd(w, -(double)p.y, view->frame.up);
  return kp_vec3_madd(w, (double)p.z, view->frame.forward);
}

// Slopes of the camera ray through the middle of a pixel: the ray is z (u, v, 1).
KP_FN float kp_view_slope_x(const kp_view *view, int x) {
  return ((float)x + 0.5f - view->axis_x) / view->scale;
}

KP_FN float kp_view_slope_y(const kp_view *view, int y) {
  return ((float)y + 0.5f - view->axis_y) / view->scale;
}

// Camera point seen in a pixel at depth z.
KP_FN kp_f3 kp_view_unproject(const kp_view *view, int x, int y, float z) {
  return kp_f3_make(kp_view_slope_x(view, x) * z, kp_view_slope_y(view, y) * z, z);
}
