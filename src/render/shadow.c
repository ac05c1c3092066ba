// Depth from the sun, looked up with a filter: Reeves, Salesin and Cook 1987, "Rendering
// antialiased shadows with depth maps". Each pass shifts the sun on its disc, so penumbras grow
// with distance. Pictures of 16 passes and more without hair and smoke ask rays instead (trace.c),
// which take as long and are nearer to the truth.
#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/pass.h"

#define GOLDEN_ANGLE 2.39996323f
#define MARGIN 4

void kp_shadow_set_taps(kp_pass *pass) {
  kp_taps *taps = &pass->shadow_taps;
  taps->n = pass->count >= 8 ? 5 : KP_TAPS_MOST;
  for (int i = 0; i < taps->n; ++i) {
    float angle = GOLDEN_ANGLE * (float)i, reach = sqrtf(((float)i + 0.5f) / (float)taps->n);
    taps->at[i] = kp_f3_make(reach * cosf(angle), reach * sinf(angle), 0.0f);
  }
}

// The sun's view just holds what throws shadows. Its area in pixels follows the picture's.
static void fit_view(kp_pass *pass, kp_vec3 sun) {
  kp_view *view = &pass->sun_view;
  kp_vec3 middle = kp_vec3_scale(kp_vec3_add(pass->casters.min, pass->casters.max), 0.5);
  kp_vec3 half = kp_vec3_scale(kp_vec3_sub(pass->casters.max, pass->casters.min), 0.5);
  view->parallel = true;
  view->origin = middle;
  view->frame = kp_camera_frame_along(kp_vec3_scale(sun, -1.0), pass->light.up);
  const kp_camera_frame *f = &view->frame;
  double extent_x =
      2.0 * (half.x * fabs(f->right.x) + half.y * fabs(f->right.y) + half.z * fabs(f->right.z));
  double extent_y =
      2.0 * (half.x * fabs(f->up.x) + half.y * fabs(f->up.y) + half.z * fabs(f->up.z));
  double side = 1.2 * sqrt((double)pass->def->width * (double)pass->def->height) + 256.0;
  double longest = fmax(extent_x, extent_y);
  double shortest = fmax(fmin(extent_x, extent_y), 0.1 * longest);
  double scale = fmin(side / sqrt(longest * shortest), 2.0 * side / longest);
  view->scale = (float)scale;
  view->width = (int)(extent_x * scale) + 2 * MARGIN;
  view->height = (int)(extent_y * scale) + 2 * MARGIN;
  view->axis_x = 0.5f * (float)view->width;
  view->axis_y = 0.5f * (float)view->height;
  pass->shadow.texel = 1.0f / view->scale;
}

// Chain camera view space -> world -> sun's pixels into one matrix.
static void chain_matrix(kp_pass *pass) {
  const kp_view *camera = &pass->view, *sun = &pass->sun_view;
  kp_f3 start = kp_view_point(sun, camera->origin);
  kp_f3 x = kp_view_vector(sun, camera->frame.right);
  kp_f3 y = kp_view_vector(sun, kp_vec3_scale(camera->frame.up, -1.0));
  kp_f3 z = kp_view_vector(sun, camera->frame.forward);
  float s = sun->scale;
  float m[3][4] = { { s * x.x, s * y.x, s * z.x, s * start.x + sun->axis_x },
                    { s * x.y, s * y.y, s * z.y, s * start.y + sun->axis_y },
                    { x.z, y.z, z.z, start.z } };
  memcpy(pass->shadow.from_view, m, sizeof m);
}

static void render_tiles(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  for (int64_t tile = begin; tile < end; ++tile) {
    kp_tile_box box = kp_view_tile(&pass->sun_view, tile);
    for (int y = box.y0; y < box.y1; ++y) {
      float *row = pass->shadow.depth + (int64_t)y * pass->sun_view.width;
      for (int x = box.x0; x < box.x1; ++x) {
        row[x] = HUGE_VALF;
      }
    }
    kp_points_shadow(pass, tile, box);
    kp_triangles_shadow(pass, tile, box);
    kp_lines_shadow(pass, tile, box);
  }
}

kp_result kp_shadow_render(kp_pass *pass, kp_vec3 sun) {
  if (pass->sun_by_rays) {
    return KP_OK;
  }
  kp_shadow_map *map = &pass->shadow;
  fit_view(pass, sun);
  chain_matrix(pass);
  int64_t n = (int64_t)pass->sun_view.width * pass->sun_view.height;
  if (map->capacity < n) {
    kp_free(map->depth);
    map->capacity = 0;
    map->depth = kp_alloc((size_t)(n + n / 4) * sizeof(float), KP_MEMORY_RENDER);
    if (map->depth == NULL) {
      return KP_ERROR_MEMORY;
    }
    map->capacity = n + n / 4;
  }
  kp_primitives_project(pass, &pass->sun_view);
  KP_TRY(kp_points_bin(pass, &pass->sun_view));
  KP_TRY(kp_triangles_bin(pass, &pass->sun_view));
  KP_TRY(kp_lines_bin(pass, &pass->sun_view));
  int64_t n_tiles = (int64_t)kp_view_tiles_x(&pass->sun_view) * kp_view_tiles_y(&pass->sun_view);
  kp_parallel_for(n_tiles, 4, render_tiles, pass);
  KP_TRY(kp_deep_render(pass));

  // one pass must stand for the whole sun: widen the filter to a typical penumbra
  float penumbra = (float)(tan(0.5 * pass->def->sun_size_deg * 3.14159265358979 / 180.0) * 0.15 *
                           kp_vec3_length(kp_vec3_sub(pass->casters.max, pass->casters.min)));
  float one_pass = penumbra / map->texel;
  map->spread = pass->count >= 8 ? 2.0f : kp_minf(kp_maxf(one_pass, 2.0f), 24.0f);
  return KP_OK;
}

static kp_f3 to_map(const kp_shadow_map *map, kp_f3 p) {
  const float(*m)[4] = map->from_view;
  return kp_f3_make(m[0][0] * p.x + m[0][1] * p.y + m[0][2] * p.z + m[0][3],
                    m[1][0] * p.x + m[1][1] * p.y + m[1][2] * p.z + m[1][3],
                    m[2][0] * p.x + m[2][1] * p.y + m[2][2] * p.z + m[2][3]);
}

// 1 when the map has nothing before the depth at these pixel coordinates.
static float lit_at(const kp_pass *pass, float x, float y, float depth) {
  const kp_view *view = &pass->sun_view;
  if (!(x >= 0.0f && y >= 0.0f && x < (float)view->width && y < (float)view->height)) {
    return 1.0f;
  }
  return pass->shadow.depth[(int64_t)y * view->width + (int64_t)x] < depth ? 0.0f : 1.0f;
}

float kp_shadow_at(const kp_pass *pass, kp_f3 position) {
  if (pass->sun_by_rays) {
    return kp_trace_sun(pass, position, 0.0f);
  }
  kp_f3 p = to_map(&pass->shadow, position);
  float lit = lit_at(pass, p.x, p.y, p.z);
  return lit > 0.0f && pass->deep != NULL ? kp_deep_light(pass, p) : lit;
}

// Share of the sun seen from a surface: a spiral of taps, turned by noise.
float kp_shadow_light(const kp_pass *pass, const kp_surface_point *point, float noise) {
  const kp_shadow_map *map = &pass->shadow;
  const kp_material *material = &pass->materials[point->material];
  if (pass->sun_by_rays) {
    kp_f3 off = kp_f3_madd(point->position, 1e-3f * pass->ray_size, point->normal);
    off = kp_f3_madd(off, 1.4f * material->radius * material->smooth, pass->sun);
    return kp_trace_sun(pass, off, noise);
  }
  // step off the surface so that it does not shadow itself; a body of particles also leaves its own
  // bumps behind
  float lift = map->texel * (1.5f + map->spread);
  kp_f3 p = kp_f3_madd(point->position, lift, point->normal);
  p = kp_f3_madd(p, map->texel + 1.4f * material->radius * material->smooth, pass->sun);
  p = to_map(map, p);
  float c = map->spread * cosf(6.2831853f * noise), t = map->spread * sinf(6.2831853f * noise);
  float sum = 0.0f;
  for (int i = 0; i < pass->shadow_taps.n; ++i) {
    kp_f3 at = pass->shadow_taps.at[i];
    float x = p.x + c * at.x - t * at.y, y = p.y + t * at.x + c * at.y;
    sum += lit_at(pass, x, y, p.z);
  }
  if (sum > 0.0f && pass->deep != NULL) {
    // past the strand itself, which covers up to two texels of the deep map
    kp_f3 off = kp_f3_madd(point->position, 4.0f * map->texel, pass->sun);
    sum *= kp_deep_light(pass, to_map(map, off));
  }
  return sum / (float)pass->shadow_taps.n;
}
