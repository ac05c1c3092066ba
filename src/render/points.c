// Particles as exact spheres: each pixel's ray is met with the ball, so depth and normal are those
// of the sphere and not of a disc (sphere impostors).
#include <math.h>
#include <stdlib.h>

#include "par/parallel.h"
#include "render/pass.h"

#define CHUNK 8192

// A ball thinner than a pixel would be hit by chance; widen it to just be seen.
#define LEAST_PIXELS 0.6f

typedef struct pixel_bounds {
  float x0, y0, x1, y1;
} pixel_bounds;

static float drawn_radius(const kp_view *view, const kp_ball *ball) {
  float pixel = view->parallel ? 1.0f / view->scale : ball->z / view->scale;
  return kp_maxf(fabsf(ball->r), LEAST_PIXELS * pixel);
}

// Slopes of the two planes through the eye that touch a circle at (c, z): Mara and McGuire 2013,
// "2D Polyhedral Bounds of a Clipped, Perspective-Projected 3D Sphere".
static void tangent_slopes(float c, float z, float r, float *low, float *high) {
  float square = z * z - r * r;
  float root = r * sqrtf(kp_maxf(c * c + square, 0.0f));
  *low = (c * z - root) / square;
  *high = (c * z + root) / square;
}

// False when the ball is behind, around or too near to the eye, or not finite.
static bool find_bounds(const kp_view *view, const kp_ball *ball, float r, pixel_bounds *b) {
  if (view->parallel) {
    b->x0 = (ball->x - r) * view->scale + view->axis_x;
    b->x1 = (ball->x + r) * view->scale + view->axis_x;
    b->y0 = (ball->y - r) * view->scale + view->axis_y;
    b->y1 = (ball->y + r) * view->scale + view->axis_y;
    return isfinite(ball->z);
  }
  if (!(ball->z - r > view->nearest) || !isfinite(ball->z)) {
    return false;
  }
  tangent_slopes(ball->x, ball->z, r, &b->x0, &b->x1);
  tangent_slopes(ball->y, ball->z, r, &b->y0, &b->y1);
  b->x0 = b->x0 * view->scale + view->axis_x;
  b->x1 = b->x1 * view->scale + view->axis_x;
  b->y0 = b->y0 * view->scale + view->axis_y;
  b->y1 = b->y1 * view->scale + view->axis_y;
  return true;
}

static bool is_puff(const kp_pass *pass, int64_t index) {
  const kp_primitives *p = &pass->primitives;
  if (!p->has_puffs) {
    return false;
  }
  int set = kp_primitives_set(p->ball_offsets, pass->scene->n_points, index);
  return kp_look_sprite(&pass->scene->points[set].look) == KP_SPRITE_OVER;
}

typedef struct bin_context {
  kp_pass *pass;
  const kp_view *view;
} bin_context;

static void find_rects(int64_t begin, int64_t end, void *context) {
  const bin_context *c = context;
  for (int64_t i = begin; i < end; ++i) {
    const kp_ball *ball = &c->pass->primitives.balls[i];
    pixel_bounds b;
    kp_bin_rect rect = { 0, 0, -1, -1 };
    // light throws no shadow, puffs a deep one
    bool dark = ball->r < 0.0f && c->view->parallel && !is_puff(c->pass, i);
    if (ball->r != 0.0f && !dark && find_bounds(c->view, ball, drawn_radius(c->view, ball), &b)) {
      rect = kp_bins_rect(b.x0, b.y0, b.x1, b.y1, c->view->width, c->view->height);
    }
    c->pass->primitives.rects[i] = rect;
  }
}

kp_result kp_points_bin(kp_pass *pass, const kp_view *view) {
  bin_context context = { pass, view };
  kp_parallel_for(pass->primitives.n_balls, CHUNK, find_rects, &context);
  return kp_bins_build(&pass->ball_bins, pass->primitives.rects, pass->primitives.n_balls,
                       kp_view_tiles_x(view), kp_view_tiles_y(view));
}

// Pixels of the box inside the bounds; a pixel counts when its middle is inside.
static kp_tile_box clip_bounds(const pixel_bounds *b, kp_tile_box box) {
  kp_tile_box r;
  r.x0 = b->x0 > (float)box.x0 ? (int)ceilf(b->x0 - 0.5f) : box.x0;
  r.y0 = b->y0 > (float)box.y0 ? (int)ceilf(b->y0 - 0.5f) : box.y0;
  r.x1 = b->x1 < (float)box.x1 ? (int)floorf(b->x1 - 0.5f) + 1 : box.x1;
  r.y1 = b->y1 < (float)box.y1 ? (int)floorf(b->y1 - 0.5f) + 1 : box.y1;
  return r;
}

// Depth of the ray z (u, v, 1) where it enters the ball: with d = (u, v, 1), q = d x c and
// D = |d|^2 r^2 - |q|^2, z = (d.c - sqrt(D)) / |d|^2. The cross product keeps D accurate in float
// for balls much smaller than their distance; the textbook b^2 - a c does not.
static void cover_ball(const kp_view *view, const kp_ball *ball, uint32_t index, kp_tile *tile) {
  float r = drawn_radius(view, ball), r2 = r * r;
  pixel_bounds bounds;
  if (!find_bounds(view, ball, r, &bounds)) {
    return;
  }
  kp_tile_box box = clip_bounds(&bounds, tile->box);
  for (int y = box.y0; y < box.y1; ++y) {
    float v = kp_view_slope_y(view, y);
    float qx = v * ball->z - ball->y;
    for (int x = box.x0; x < box.x1; ++x) {
      float u = kp_view_slope_x(view, x);
      float qy = ball->x - u * ball->z, qz = u * ball->y - v * ball->x;
      float d2 = u * u + v * v + 1.0f;
      float inside = d2 * r2 - (qx * qx + qy * qy + qz * qz);
      if (inside < 0.0f) {
        continue;
      }
      float z = (u * ball->x + v * ball->y + ball->z - sqrtf(inside)) / d2;
      int pixel = kp_tile_pixel(tile, x, y);
      if (z < tile->depth[pixel]) {
        tile->depth[pixel] = z;
        tile->primitive[pixel] = index;
        tile->kind[pixel] = KP_PRIMITIVE_BALL;
      }
    }
  }
}

void kp_points_cover(const kp_pass *pass, int64_t tile_index, kp_tile *tile) {
  const kp_bins *bins = &pass->ball_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    const kp_ball *ball = &pass->primitives.balls[bins->items[i]];
    if (ball->r > 0.0f) {
      cover_ball(&pass->view, ball, bins->items[i], tile);
    }
  }
}

static kp_rgb color_of(const kp_pass *pass, int set, int64_t i) {
  const kp_material *material = &pass->materials[KP_MATERIAL_FIRST + set];
  const kp_render_points *points = &pass->scene->points[set];
  if (material->scalar != NULL) {
    return kp_material_color(material, material->scalar[i]);
  }
  if (points->colors[0] != NULL) {
    return kp_rgb_make(points->colors[0][i], points->colors[1][i], points->colors[2][i]);
  }
  return material->color;
}

static kp_rgb light_on_puff(const kp_pass *pass, const kp_ball *ball) {
  kp_f3 at = kp_f3_make(ball->x, ball->y, ball->z);
  at = kp_f3_madd(at, 0.25f * fabsf(ball->r), pass->sun);  // out of its own shadow
  const kp_light *light = &pass->light;
  float sun = kp_shadow_at(pass, at);
  if (sun > 0.0f && pass->n_volumes > 0) {
    sun *= kp_volume_sunlight(&pass->air, at);
  }
  return kp_shading_puff(kp_rgb_scale(light->sun_color, sun), light->ambient_up,
                         light->ambient_side, light->ambient_down);
}

kp_sprite kp_points_sprite(const kp_pass *pass, uint32_t index) {
  const kp_primitives *p = &pass->primitives;
  int set = kp_primitives_set(p->ball_offsets, pass->scene->n_points, index);
  int64_t i = (int64_t)index - p->ball_offsets[set];
  const kp_render_points *points = &pass->scene->points[set];
  const kp_look_def *look = &points->look;
  const kp_ball *ball = &p->balls[index];
  kp_sprite s = { .at = { ball->x, ball->y, ball->z }, .radius = fabsf(ball->r) };
  s.texture = look->texture;
  s.covers = kp_look_sprite(look) == KP_SPRITE_OVER;
  s.alpha = points->alphas != NULL ? points->alphas[i] : 1.0f;
  s.color = color_of(pass, set, i);
  if (look->glow > 0.0) {
    s.color = kp_rgb_scale(s.color, (float)look->glow);
  } else {
    s.color = kp_rgb_mul(s.color, light_on_puff(pass, ball));
  }
  s.alpha *= s.covers ? (float)look->opacity : 1.0f;
  return s;
}

static void lay_sprite(kp_sprite_layer *layer, const kp_sprite *s, float alpha) {
  float weight;
  if (s->covers) {
    alpha = kp_clampf(alpha, 0.0f, 1.0f);
    weight = layer->through * alpha;
    layer->color = kp_rgb_add(layer->color, kp_rgb_scale(s->color, weight));
    layer->through *= 1.0f - alpha;
  } else {
    kp_rgb light = kp_rgb_scale(s->color, layer->through * alpha);
    layer->light = kp_rgb_add(layer->light, light);
    weight = kp_rgb_luminance(light);
  }
  layer->depth += weight * s->at.z;
  layer->weight += weight;
}

// A disc that faces the eye: its alpha goes by the squared distance q of the ray from the centre,
// in radii, so that its size on the picture falls with the distance (Lyes 2015, Listings 7.2, 7.3).
// One that is widened to a pixel keeps its light.
static void draw_sprite(const kp_pass *pass, uint32_t index, kp_tile_box tile,
                        kp_sprite_layer *layers) {
  const kp_view *view = &pass->view;
  const kp_ball *ball = &pass->primitives.balls[index];
  kp_sprite sprite = kp_points_sprite(pass, index), *s = &sprite;
  float r = drawn_radius(view, ball), r2 = r * r;
  pixel_bounds bounds;
  if (!find_bounds(view, ball, r, &bounds)) {
    return;
  }
  float alpha = s->alpha * ball->r * ball->r / r2;
  kp_tile_box box = clip_bounds(&bounds, tile);
  for (int y = box.y0; y < box.y1; ++y) {
    float v = kp_view_slope_y(view, y);
    float qx = v * ball->z - ball->y;
    for (int x = box.x0; x < box.x1; ++x) {
      float u = kp_view_slope_x(view, x);
      float qy = ball->x - u * ball->z, qz = u * ball->y - v * ball->x;
      float q = (qx * qx + qy * qy + qz * qz) / ((u * u + v * v + 1.0f) * r2);
      float before = pass->surfaces.depth[(int64_t)y * view->width + x] - ball->z;
      if (q < 1.0f && before > (s->covers ? -r : 0.0f)) {
        // a puff that a surface cuts has no edge there
        float open = s->covers ? kp_minf(0.5f + 0.5f * before / r, 1.0f) : 1.0f;
        lay_sprite(&layers[(y - tile.y0) * KP_TILE_SIZE + (x - tile.x0)], s,
                   alpha * open * kp_shading_radial(s->texture, q));
      }
    }
  }
}

typedef struct sprite_place {
  float depth;
  uint32_t index;
} sprite_place;

static int nearest_first(const void *a, const void *b) {
  const sprite_place *f = a, *g = b;
  if (f->depth != g->depth) {
    return f->depth < g->depth ? -1 : 1;
  }
  return f->index < g->index ? -1 : f->index > g->index;
}

// Light may add up in any order; what covers goes from front to back.
static void draw_sorted(kp_pass *pass, int64_t tile_index, kp_tile_box box,
                        kp_sprite_layer *layers) {
  const kp_bins *bins = &pass->ball_bins;
  int64_t first = bins->offsets[tile_index], end = bins->offsets[tile_index + 1], n = 0;
  sprite_place *places = kp_alloc((size_t)(end - first + 1) * sizeof *places, KP_MEMORY_RENDER);
  if (places == NULL) {
    atomic_store(&pass->out_of_memory, true);
    return;
  }
  for (int64_t k = first; k < end; ++k) {
    const kp_ball *ball = &pass->primitives.balls[bins->items[k]];
    if (ball->r < 0.0f) {
      places[n++] = (sprite_place){ ball->z, bins->items[k] };
    }
  }
  if (n > 1) {
    qsort(places, (size_t)n, sizeof *places, nearest_first);
  }
  for (int64_t k = 0; k < n; ++k) {
    draw_sprite(pass, places[k].index, box, layers);
  }
  kp_free(places);
}

void kp_points_sprites(kp_pass *pass, int64_t tile_index, kp_tile_box box,
                       kp_sprite_layer *layers) {
  const kp_bins *bins = &pass->ball_bins;
  if (pass->primitives.has_puffs) {
    draw_sorted(pass, tile_index, box, layers);
    return;
  }
  for (int64_t k = bins->offsets[tile_index]; k < bins->offsets[tile_index + 1]; ++k) {
    if (pass->primitives.balls[bins->items[k]].r < 0.0f) {
      draw_sprite(pass, bins->items[k], box, layers);
    }
  }
}

void kp_points_resolve(const kp_pass *pass, uint32_t ball_index, kp_surface_point *point) {
  const kp_primitives *p = &pass->primitives;
  const kp_ball *ball = &p->balls[ball_index];
  int set = kp_primitives_set(p->ball_offsets, pass->scene->n_points, ball_index);
  kp_f3 center = kp_f3_make(ball->x, ball->y, ball->z);
  point->normal = kp_f3_normalize(kp_f3_sub(point->position, center));
  point->material = (uint16_t)(KP_MATERIAL_FIRST + set);
  point->albedo = color_of(pass, set, (int64_t)ball_index - p->ball_offsets[set]);
}

static void shadow_ball(const kp_pass *pass, const kp_ball *ball, kp_tile_box tile) {
  const kp_view *view = &pass->sun_view;
  float r = drawn_radius(view, ball);
  pixel_bounds bounds;
  if (!find_bounds(view, ball, r, &bounds)) {
    return;
  }
  kp_tile_box box = clip_bounds(&bounds, tile);
  for (int y = box.y0; y < box.y1; ++y) {
    float dy = kp_view_slope_y(view, y) - ball->y;
    float *row = pass->shadow.depth + (int64_t)y * view->width;
    for (int x = box.x0; x < box.x1; ++x) {
      float dx = kp_view_slope_x(view, x) - ball->x;
      float inside = r * r - dx * dx - dy * dy;
      if (inside >= 0.0f) {
        row[x] = kp_minf(row[x], ball->z - sqrtf(inside));
      }
    }
  }
}

void kp_points_shadow(const kp_pass *pass, int64_t tile_index, kp_tile_box box) {
  const kp_bins *bins = &pass->ball_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    const kp_ball *ball = &pass->primitives.balls[bins->items[i]];
    if (ball->r > 0.0f) {
      shadow_ball(pass, ball, box);
    }
  }
}

void kp_points_deep(const kp_pass *pass, const kp_view *view, int64_t tile_index,
                    kp_deep_fragments *list) {
  const kp_bins *bins = &pass->ball_bins;
  for (int64_t k = bins->offsets[tile_index]; k < bins->offsets[tile_index + 1]; ++k) {
    const kp_ball *ball = &pass->primitives.balls[bins->items[k]];
    pixel_bounds bounds;
    float r = drawn_radius(view, ball), r2 = r * r;
    if (ball->r >= 0.0f || !find_bounds(view, ball, r, &bounds)) {
      continue;
    }
    int set =
        kp_primitives_set(pass->primitives.ball_offsets, pass->scene->n_points, bins->items[k]);
    int64_t i = (int64_t)bins->items[k] - pass->primitives.ball_offsets[set];
    const kp_render_points *points = &pass->scene->points[set];
    float alpha = (float)points->look.opacity * ball->r * ball->r / r2;
    alpha *= points->alphas != NULL ? points->alphas[i] : 1.0f;
    kp_tile_box box = clip_bounds(&bounds, list->box);
    for (int y = box.y0; y < box.y1; ++y) {
      float dy = kp_view_slope_y(view, y) - ball->y;
      for (int x = box.x0; x < box.x1; ++x) {
        float dx = kp_view_slope_x(view, x) - ball->x, q = (dx * dx + dy * dy) / r2;
        if (q < 1.0f) {
          kp_deep_add(list, x, y, ball->z, alpha * kp_shading_radial(points->look.texture, q));
        }
      }
    }
  }
}
