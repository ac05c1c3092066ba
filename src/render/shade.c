// Light on surfaces, and the layers in front of them put together from front to back.
#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/pass.h"

static kp_f3 eye_of(const kp_surface_point *point) {
  bool is_camera = kp_f3_dot(point->eye, point->eye) == 0.0f;
  return is_camera ? kp_f3_normalize(kp_f3_scale(point->position, -1.0f)) : point->eye;
}

// Highlight of the sun (Blinn 1977, normalised) and what is mirrored, with Schlick's Fresnel term:
// the sky, and on polished surfaces what stands before it.
static kp_rgb add_gloss(const kp_pass *pass, const kp_surface_point *point, kp_rgb diffuse,
                        float gloss, kp_rgb sunlight, float noise) {
  kp_f3 eye = eye_of(point);
  float facing = kp_f3_dot(point->normal, eye);
  float share = kp_shading_mirrored(facing, gloss, point->occlusion);
  kp_f3 mirrored = kp_f3_sub(kp_f3_scale(point->normal, 2.0f * kp_f3_dot(point->normal, eye)), eye);
  bool is_worth = share >= KP_MIRRORED_LEAST && gloss >= KP_GLOSS_MIRRORS && !point->is_traced;
  kp_rgb around = is_worth && pass->rays != NULL ? kp_trace_mirror(pass, point, mirrored, noise)
                                                 : kp_sky_color(pass, mirrored);
  kp_rgb color = kp_rgb_mix(diffuse, around, share);

  kp_f3 half = kp_f3_normalize(kp_f3_add(eye, pass->sun));
  float shine = kp_shading_highlight(kp_f3_dot(point->normal, half), gloss);
  return kp_rgb_add(color, kp_rgb_scale(sunlight, shine));
}

static kp_rgb shade_blinn_phong(const kp_pass *pass, const kp_surface_point *point,
                                const kp_material *material, kp_rgb sunlight) {
  kp_f3 half = kp_f3_normalize(kp_f3_add(eye_of(point), pass->sun));
  kp_blinn_phong b = { material->specular, material->shininess,
                       0.35f * (float)pass->def->sky_strength * point->occlusion };
  return kp_shading_blinn_phong(&b, point->albedo, sunlight, kp_f3_dot(point->normal, pass->sun),
                                kp_f3_dot(point->normal, half));
}

// Light of the sun on a surface that faces it: past what stands before it, and through what is
// clear. *seen is the share of the sun.
static kp_rgb sunlight_on(const kp_pass *pass, const kp_surface_point *point, float noise,
                          float *seen) {
  float behind = 0.0f;
  kp_rgb through = { 0.0f, 0.0f, 0.0f };
  const kp_caustics_map *map = kp_caustics_get(pass);
  if (map != NULL) {
    through =
        kp_caustics_look(map, point->position, point->material, 1e-3f * pass->ray_size, &behind);
  }
  *seen = 0.0f;
  if (behind < 1.0f) {
    *seen = (1.0f - behind) * kp_shadow_light(pass, point, noise);
  }
  if (*seen > 0.0f && pass->n_volumes > 0) {
    *seen *= kp_volume_sunlight(&pass->air, point->position);
  }
  kp_rgb sum = kp_rgb_add(through, kp_rgb_make(*seen, *seen, *seen));
  return kp_rgb_mul(pass->light.sun_color, sum);
}

static kp_rgb shade_fibre(const kp_pass *pass, const kp_surface_point *point, float gloss,
                          float noise) {
  float seen;
  kp_rgb sunlight = sunlight_on(pass, point, noise, &seen);
  kp_rgb ambient = kp_light_ambient(&pass->light, kp_f3_dot(point->normal, pass->up));
  kp_fibre fibre = { .tangent = point->tangent,
                     .sun = pass->sun,
                     .eye = eye_of(point),
                     .albedo = point->albedo,
                     .sunlight = sunlight,
                     .ambient = kp_rgb_scale(ambient, point->occlusion),
                     .gloss = gloss,
                     .seen = seen };
  return kp_shading_fibre(&fibre);
}

kp_rgb kp_shade_surface(const kp_pass *pass, const kp_surface_point *point, float noise) {
  const kp_material *material = &pass->materials[point->material];
  if (point->is_fibre) {
    return shade_fibre(pass, point, material->gloss, noise);
  }
  float cosine = kp_f3_dot(point->normal, pass->sun), seen;
  kp_rgb sunlight = { 0.0f, 0.0f, 0.0f };
  if (cosine > 0.0f) {
    sunlight = sunlight_on(pass, point, noise, &seen);
  }
  if (material->is_blinn_phong) {
    return shade_blinn_phong(pass, point, material, sunlight);
  }
  sunlight = kp_rgb_scale(sunlight, kp_maxf(cosine, 0.0f));
  kp_rgb light = sunlight,
         ambient = kp_light_ambient(&pass->light, kp_f3_dot(point->normal, pass->up));
  light = kp_rgb_add(light, kp_rgb_scale(ambient, point->occlusion));
  if (pass->n_fire > 0) {
    light = kp_rgb_add(light,
                       kp_fire_lights_on(pass->fire, pass->n_fire, point->position, point->normal));
  }
  kp_rgb color = kp_rgb_mul(point->albedo, light);
  return material->gloss > 0.0f ? add_gloss(pass, point, color, material->gloss, sunlight, noise)
                                : color;
}

// Consecutive pieces of a polyline overlap at their joint: count it once.
void kp_shade_add_fragment(kp_pass *pass, kp_fragments *fragments, const kp_fragment *fragment) {
  uint32_t last = fragments->last[fragment->pixel];
  if (last > 0 && fragment->line != UINT32_MAX) {
    kp_fragment *before = &fragments->list.data[last - 1];
    if (before->line == fragment->line && fragment->order - before->order <= 2) {
      if (fragment->alpha > before->alpha) {
        *before = *fragment;
      }
      return;
    }
  }
  if (kp_array_push(&fragments->list, *fragment) != KP_OK) {
    atomic_store(&pass->out_of_memory, true);
    return;
  }
  fragments->last[fragment->pixel] = (uint32_t)fragments->list.count;
}

static bool comes_before(const kp_fragment *f, const kp_fragment *g) {
  if (f->depth != g->depth) {
    return f->depth < g->depth;
  }
  bool f_line = f->line != UINT32_MAX, g_line = g->line != UINT32_MAX;
  return f_line != g_line ? g_line : f->order < g->order;
}

// Fragments of a tile by pixel, and of each pixel the nearest first: counted, then put in one by
// one, since a pixel has few. `sorted` has room for all of them; first[pixel] is where its own
// begin.
static void sort_fragments(const kp_fragments *fragments, kp_fragment *sorted, uint32_t *first) {
  size_t n = fragments->list.count;
  const kp_fragment *list = fragments->list.data;
  memset(first, 0, (KP_TILE_PIXELS + 1) * sizeof *first);
  for (size_t i = 0; i < n; ++i) {
    ++first[list[i].pixel + 1];
  }
  for (int k = 0; k < KP_TILE_PIXELS; ++k) {
    first[k + 1] += first[k];
  }
  uint32_t end[KP_TILE_PIXELS];
  memcpy(end, first, sizeof end);
  for (size_t i = 0; i < n; ++i) {
    uint32_t place = end[list[i].pixel]++;
    for (; place > first[list[i].pixel] && comes_before(&list[i], &sorted[place - 1]); --place) {
      sorted[place] = sorted[place - 1];
    }
    sorted[place] = list[i];
  }
}

// Colour of the opaque surface or the background; alpha is 0 where nothing is and nothing shall be.
static kp_rgb shade_base(const kp_pass *pass, int x, int y, kp_f3 direction, float *alpha) {
  const kp_surfaces *s = &pass->surfaces;
  int64_t i = (int64_t)y * pass->view.width + x;
  kp_f3 unit = kp_f3_normalize(direction);
  *alpha = 1.0f;
  if (s->materials[i] == KP_MATERIAL_SKY) {
    if (pass->def->transparent) {
      *alpha = 0.0f;
      return kp_rgb_make(0.0f, 0.0f, 0.0f);
    }
    return kp_sky_color(pass, unit);
  }
  kp_surface_point point = { .position = kp_f3_scale(direction, s->depth[i]),
                             .normal = s->normals[i],
                             .albedo = s->albedo[i],
                             .occlusion = s->occlusion[i],
                             .material = s->materials[i] };
  kp_rgb color = kp_shade_surface(pass, &point, kp_pass_turn(pass, x, y));
  if (point.material == KP_MATERIAL_GROUND) {
    kp_rgb far = kp_sky_color(pass, unit);
    color = kp_rgb_mix(color, far, kp_ground_fade(pass, point.position));
  }
  return color;
}

typedef struct layers {
  const kp_fragment *first;  // of this pixel, nearest first
  int64_t count;
} layers;

// Water and glass are not laid over what is behind them: all of that is traced.
static void add_clear(const kp_pass *pass, kp_march *march, const kp_fragment *f) {
  kp_surface_point point = { .position = kp_f3_scale(march->direction, f->depth),
                             .occlusion = 1.0f };
  kp_triangles_resolve(pass, f->order, &point);
  float alpha;
  kp_rgb color = kp_trace_clear(pass, &point, march->noise, march->rays, &alpha);
  march->color = kp_rgb_add(march->color, kp_rgb_scale(color, march->transmittance));
  // what is left is empty sky, in a picture without one
  march->transmittance *= pass->def->transparent ? 1.0f - alpha : 0.0f;
}

static void add_layer(const kp_pass *pass, kp_march *march, const kp_fragment *f) {
  if (f->is_clear) {
    add_clear(pass, march, f);
    return;
  }
  kp_rgb color = kp_rgb_scale(f->color, f->alpha * march->transmittance);
  march->color = kp_rgb_add(march->color, color);
  march->transmittance *= 1.0f - f->alpha;
}

// What a pixel shows of sprites, once: volume up to them, then their light and what they cover.
static float add_sprites(const kp_pass *pass, kp_march *march, const kp_sprite_layer *sprites,
                         bool misty, float at, float *sprite_at) {
  float depth = *sprite_at > at ? *sprite_at : at;
  if (misty) {
    kp_volumes_march(pass, march, at, depth);
  }
  kp_rgb color = kp_rgb_add(sprites->light, sprites->color);
  march->color = kp_rgb_add(march->color, kp_rgb_scale(color, march->transmittance));
  march->transmittance *= sprites->through;
  *sprite_at = -1.0f;
  return depth;
}

// Front to back: volume up to the next layer, the layer, ..., volume up to the surface, the
// surface.
static void compose_pixel(kp_pass *pass, int x, int y, layers in_front,
                          const kp_sprite_layer *sprites, kp_volume_ray *rays) {
  kp_march march = { .rays = rays, .transmittance = 1.0f };
  int64_t i = (int64_t)y * pass->view.width + x;
  march.direction =
      kp_f3_make(kp_view_slope_x(&pass->view, x), kp_view_slope_y(&pass->view, y), 1.0f);
  march.length = sqrtf(kp_f3_dot(march.direction, march.direction));
  march.noise = pass->count > 1 ? kp_pass_spread(pass, x, y, 5) : 0.5f;
  if (pass->slices != NULL) {
    // before all layers
    march.color = kp_slices_at(pass, x, y)->color;
    march.transmittance = kp_slices_at(pass, x, y)->through;
  }
  bool misty = pass->n_volumes > 0 && kp_volumes_aim(pass, &march);
  float at = 0.0f, sprite_at = -1.0f;
  if (sprites->weight > 0.0f) {
    sprite_at = kp_minf(sprites->depth / sprites->weight, pass->surfaces.depth[i]);
  }
  bool is_traced = false;
  for (int64_t k = 0; k < in_front.count && !is_traced; ++k) {
    const kp_fragment *f = &in_front.first[k];
    if (sprite_at >= 0.0f && sprite_at < f->depth) {
      at = add_sprites(pass, &march, sprites, misty, at, &sprite_at);
    }
    if (misty) {
      kp_volumes_march(pass, &march, at, f->depth);
      at = f->depth;
    }
    add_layer(pass, &march, f);
    is_traced = f->is_clear;
  }
  if (sprite_at >= 0.0f && !is_traced) {
    at = add_sprites(pass, &march, sprites, misty, at, &sprite_at);
  }
  if (misty && !is_traced) {
    kp_volumes_march(pass, &march, at, pass->surfaces.depth[i]);
  }
  float alpha = 0.0f;
  kp_rgb color = march.color;
  if (!is_traced) {
    kp_rgb base = shade_base(pass, x, y, march.direction, &alpha);
    color = kp_rgb_add(march.color, kp_rgb_scale(base, march.transmittance));
  }
  kp_rgb glow = sprites->light;
  float shine = kp_clampf(kp_maxf(glow.r, kp_maxf(glow.g, glow.b)), 0.0f, 1.0f);
  float weight = 1.0f / (float)pass->count;
  float *out = pass->picture->rgba + 4 * i;
  out[0] += weight * color.r;
  out[1] += weight * color.g;
  out[2] += weight * color.b;
  out[3] += weight * (1.0f - march.transmittance * (1.0f - alpha) * (1.0f - shine));
  if (pass->index == 0) {
    pass->picture->depth[i] = pass->surfaces.depth[i];
  }
}

static void shade_tile(kp_pass *pass, int64_t tile, kp_volume_ray *rays) {
  kp_tile_box box = kp_view_tile(&pass->view, tile);
  kp_fragments fragments;
  kp_sprite_layer sprites[KP_TILE_PIXELS];
  memset(&fragments, 0, sizeof fragments);
  memset(sprites, 0, sizeof sprites);
  if (pass->primitives.has_sprites || pass->yarn != NULL) {
    for (int i = 0; i < KP_TILE_PIXELS; ++i) {
      sprites[i].through = 1.0f;
    }
    if (pass->yarn != NULL) {
      kp_yarn_draw(pass, tile, box, sprites);
    }
    kp_points_sprites(pass, tile, box, sprites);
  }
  if (pass->primitives.has_clear) {
    kp_triangles_see_through(pass, tile, box, &fragments);
  }
  if (pass->primitives.n_segments > 0) {
    kp_lines_see_through(pass, tile, box, &fragments);
  }
  uint32_t first[KP_TILE_PIXELS + 1];
  kp_fragment *sorted = kp_alloc((fragments.list.count + 1) * sizeof *sorted, KP_MEMORY_RENDER);
  if (sorted == NULL) {
    atomic_store(&pass->out_of_memory, true);
    kp_array_free(&fragments.list);
    return;
  }
  sort_fragments(&fragments, sorted, first);
  for (int y = box.y0; y < box.y1; ++y) {
    for (int x = box.x0; x < box.x1; ++x) {
      int pixel = (y - box.y0) * KP_TILE_SIZE + (x - box.x0);
      layers in_front = { sorted + first[pixel], (int64_t)(first[pixel + 1] - first[pixel]) };
      compose_pixel(pass, x, y, in_front, &sprites[pixel], rays);
    }
  }
  kp_free(sorted);
  kp_array_free(&fragments.list);
}

static void shade_tiles(int64_t begin, int64_t end, void *context) {
  kp_pass *pass = context;
  kp_volume_ray *rays = NULL;
  if (pass->n_volumes > 0) {
    rays = kp_alloc((size_t)pass->n_volumes * sizeof *rays, KP_MEMORY_RENDER);
    if (rays == NULL) {
      atomic_store(&pass->out_of_memory, true);
      return;
    }
  }
  for (int64_t tile = begin; tile < end; ++tile) {
    shade_tile(pass, tile, rays);
  }
  kp_free(rays);
}

void kp_shade_render(kp_pass *pass) {
  int64_t n_tiles = (int64_t)kp_view_tiles_x(&pass->view) * kp_view_tiles_y(&pass->view);
  kp_parallel_for(n_tiles, 2, shade_tiles, pass);
}
