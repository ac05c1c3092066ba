// The nearest opaque surface of each pixel, tile by tile.
#include <math.h>

#include "par/parallel.h"
#include "render/pass.h"

// What lies behind everything: ground or sky.
static void clear_tile(const kp_pass *pass, kp_tile *tile) {
  for (int y = tile->box.y0; y < tile->box.y1; ++y) {
    float v = kp_view_slope_y(&pass->view, y);
    for (int x = tile->box.x0; x < tile->box.x1; ++x) {
      int pixel = kp_tile_pixel(tile, x, y);
      tile->depth[pixel] = kp_ground_depth(pass, kp_view_slope_x(&pass->view, x), v);
      tile->kind[pixel] = KP_PRIMITIVE_NONE;
    }
  }
}

static void resolve_pixel(const kp_pass *pass, const kp_tile *tile, int x, int y) {
  int pixel = kp_tile_pixel(tile, x, y);
  float depth = tile->depth[pixel];
  kp_surface_point point = { .position = kp_view_unproject(&pass->view, x, y, depth),
                             .material = KP_MATERIAL_SKY };
  switch (tile->kind[pixel]) {
  case KP_PRIMITIVE_BALL:
    kp_points_resolve(pass, tile->primitive[pixel], &point);
    break;
  case KP_PRIMITIVE_TRIANGLE:
    kp_triangles_resolve(pass, tile->primitive[pixel], &point);
    break;
  case KP_PRIMITIVE_SEGMENT:
    kp_lines_resolve(pass, tile->primitive[pixel], x, y, &point);
    break;
  default:
    if (depth < HUGE_VALF) {
      point.material = KP_MATERIAL_GROUND;
      point.normal = pass->ground.normal;
      point.albedo = kp_ground_albedo(pass, point.position);
    }
    break;
  }
  const kp_surfaces *s = &pass->surfaces;
  int64_t i = (int64_t)y * pass->view.width + x;
  s->depth[i] = depth;
  s->materials[i] = point.material;
  s->normals[i] = point.normal;
  s->albedo[i] = point.albedo;
}

static void cover_tiles(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  kp_tile tile;
  for (int64_t i = begin; i < end; ++i) {
    tile.box = kp_view_tile(&pass->view, i);
    clear_tile(pass, &tile);
    kp_points_cover(pass, i, &tile);
    kp_triangles_cover(pass, i, &tile);
    kp_lines_cover(pass, i, &tile);
    for (int y = tile.box.y0; y < tile.box.y1; ++y) {
      for (int x = tile.box.x0; x < tile.box.x1; ++x) {
        resolve_pixel(pass, &tile, x, y);
      }
    }
  }
}

void kp_cover_render(kp_pass *pass) {
  int64_t n_tiles = (int64_t)kp_view_tiles_x(&pass->view) * kp_view_tiles_y(&pass->view);
  kp_parallel_for(n_tiles, 2, cover_tiles, pass);
}
