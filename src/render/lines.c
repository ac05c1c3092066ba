// Polylines as round strokes: each piece is a capsule on the picture whose depth and normal are
// those of a cylinder. Pixels well inside are opaque surfaces; the rim and strokes thinner than a
// pixel become see-through layers whose alpha is the covered share, so that single hairs neither
// flicker nor thicken.
#include <math.h>

#include "par/parallel.h"
#include "render/pass.h"

#define CHUNK 4096
#define DEEP 3.0f  // radius in pixels of the sun's view up to which it is in the deep map
#define LEAN 4.0f  // radii that a cap follows its piece in depth at most

// A piece on the picture. Inverse depth is linear along it.
typedef struct stroke {
  float x0, y0, x1, y1;  // pixels
  float w0, w1;          // 1 / depth (camera) or depth (sun) at the ends
  float r0, r1;          // [m]
  kp_f3 tangent;         // unit, view space
} stroke;

// Where a pixel lies in a stroke.
typedef struct stroke_hit {
  float across_x, across_y;  // from the middle line, in radii
  float along;               // 0 .. 1 between the ends
  float distance;            // from the middle line [pixels]
  float radius;              // [m]
  float radius_pixels;
  float depth;  // of the middle line
} stroke_hit;

static bool make_stroke(const kp_pass *pass, const kp_view *view, uint32_t index, stroke *s) {
  const kp_primitives *p = &pass->primitives;
  kp_ball a = p->line_vertices[p->segments[index].vertex];
  kp_ball b = p->line_vertices[p->segments[index].vertex + 1];
  if (!isfinite(a.x + a.y + a.z) || !isfinite(b.x + b.y + b.z)) {
    return false;
  }
  s->tangent = kp_f3_normalize(kp_f3_make(b.x - a.x, b.y - a.y, b.z - a.z));
  if (!view->parallel) {
    // cut at the near plane
    if (a.z < view->nearest && b.z < view->nearest) {
      return false;
    }
    kp_ball *low = a.z < b.z ? &a : &b;
    const kp_ball *high = a.z < b.z ? &b : &a;
    if (low->z < view->nearest) {
      float t = (view->nearest - low->z) / (high->z - low->z);
      *low = (kp_ball){ low->x + t * (high->x - low->x), low->y + t * (high->y - low->y),
                        view->nearest, low->r + t * (high->r - low->r) };
    }
  }
  float ka = view->parallel ? view->scale : view->scale / a.z;
  float kb = view->parallel ? view->scale : view->scale / b.z;
  s->x0 = a.x * ka + view->axis_x;
  s->y0 = a.y * ka + view->axis_y;
  s->x1 = b.x * kb + view->axis_x;
  s->y1 = b.y * kb + view->axis_y;
  s->w0 = view->parallel ? a.z : 1.0f / a.z;
  s->w1 = view->parallel ? b.z : 1.0f / b.z;
  s->r0 = a.r;
  s->r1 = b.r;
  return true;
}

static float end_pixels(const kp_view *view, float r, float w) {
  return view->parallel ? r * view->scale : r * view->scale * w;
}

static float widest(const kp_view *view, const stroke *s) {
  return kp_maxf(end_pixels(view, s->r0, s->w0), end_pixels(view, s->r1, s->w1));
}

// Pixel box of a stroke with its rim.
static void stroke_bounds(const kp_view *view, const stroke *s, float *bounds) {
  float rim = kp_maxf(widest(view, s), 0.5f);
  rim += view->parallel ? 3.0f : 1.0f;  // the deep map has larger texels
  bounds[0] = kp_minf(s->x0, s->x1) - rim;
  bounds[1] = kp_minf(s->y0, s->y1) - rim;
  bounds[2] = kp_maxf(s->x0, s->x1) + rim;
  bounds[3] = kp_maxf(s->y0, s->y1) + rim;
}

// How much farther than its end the middle line is beside it: a cap goes on along its piece, so
// that the next piece of a stroke that leans towards the eye is not hidden by caps like beads.
static float lean(const kp_view *view, const stroke *s, float beyond, float radius) {
  float first = view->parallel ? s->w0 : 1.0f / s->w0;
  float last = view->parallel ? s->w1 : 1.0f / s->w1;
  return kp_clampf(beyond * (last - first), -LEAN * radius, LEAN * radius);
}

static stroke_hit meet_pixel(const kp_view *view, const stroke *s, int x, int y) {
  float px = (float)x + 0.5f - s->x0, py = (float)y + 0.5f - s->y0;
  float dx = s->x1 - s->x0, dy = s->y1 - s->y0;
  float square = dx * dx + dy * dy;
  float place = square > 0.0f ? (px * dx + py * dy) / square : 0.0f;
  float t = kp_clampf(place, 0.0f, 1.0f);
  float w = s->w0 + t * (s->w1 - s->w0);
  float ox = px - t * dx, oy = py - t * dy;
  stroke_hit hit;
  hit.distance = sqrtf(ox * ox + oy * oy);
  hit.depth = view->parallel ? w : 1.0f / w;
  // the place along the piece in space, not on the picture
  hit.along = view->parallel || w == 0.0f ? t : t * s->w1 / w;
  hit.radius = s->r0 + hit.along * (s->r1 - s->r0);
  hit.depth += lean(view, s, place - t, hit.radius);
  hit.radius_pixels = end_pixels(view, hit.radius, w);
  hit.across_x = hit.radius_pixels > 0.0f ? ox / hit.radius_pixels : 0.0f;
  hit.across_y = hit.radius_pixels > 0.0f ? oy / hit.radius_pixels : 0.0f;
  return hit;
}

static float bulge(const stroke_hit *hit) {
  float h2 = 1.0f - hit->across_x * hit->across_x - hit->across_y * hit->across_y;
  return h2 > 0.0f ? sqrtf(h2) : 0.0f;
}

// Share of the pixel the stroke covers.
static float coverage(const stroke_hit *hit) {
  if (hit->radius_pixels < 0.5f) {
    return 2.0f * hit->radius_pixels * kp_clampf(1.0f - hit->distance, 0.0f, 1.0f);
  }
  return kp_clampf(hit->radius_pixels + 0.5f - hit->distance, 0.0f, 1.0f);
}

// Of a texel of the deep map: the piece's own part of it, so that joints are not counted twice.
static float deep_coverage(const stroke *s, const stroke_hit *hit, int x, int y) {
  float dx = s->x1 - s->x0, dy = s->y1 - s->y0, length = sqrtf(dx * dx + dy * dy);
  if (!(length > 1e-3f)) {
    return 0.0f;
  }
  float px = (float)x + 0.5f - s->x0, py = (float)y + 0.5f - s->y0;
  float along = (px * dx + py * dy) / length, off = fabsf(px * dy - py * dx) / length;
  // across: a tent of one texel about the middle line, or the stroke with its rim; along: the share
  // of the texel's width
  float r = hit->radius_pixels;
  float across = r < 0.5f ? 2.0f * r * kp_clampf(1.0f - off, 0.0f, 1.0f)
                          : kp_clampf(r + 0.5f - off, 0.0f, 1.0f);
  float from = kp_maxf(along - 0.5f, 0.0f), to = kp_minf(along + 0.5f, length);
  return across * kp_maxf(to - from, 0.0f);
}

typedef struct bin_context {
  kp_pass *pass;
  const kp_view *view;
} bin_context;

static void find_rects(int64_t begin, int64_t end, void *context) {
  const bin_context *c = context;
  for (int64_t i = begin; i < end; ++i) {
    kp_bin_rect rect = { 0, 0, -1, -1 };
    stroke s;
    if (make_stroke(c->pass, c->view, (uint32_t)i, &s)) {
      float b[4];
      stroke_bounds(c->view, &s, b);
      rect = kp_bins_rect(b[0], b[1], b[2], b[3], c->view->width, c->view->height);
    }
    c->pass->primitives.rects[i] = rect;
  }
}

kp_result kp_lines_bin(kp_pass *pass, const kp_view *view) {
  bin_context context = { pass, view };
  kp_parallel_for(pass->primitives.n_segments, CHUNK, find_rects, &context);
  return kp_bins_build(&pass->segment_bins, pass->primitives.rects, pass->primitives.n_segments,
                       kp_view_tiles_x(view), kp_view_tiles_y(view));
}

// Pixels of the tile that the stroke may touch.
static kp_tile_box clip_stroke(const kp_view *view, const stroke *s, kp_tile_box box) {
  float b[4];
  stroke_bounds(view, s, b);
  kp_tile_box r = box;
  r.x0 = b[0] > (float)box.x0 ? (int)b[0] : box.x0;
  r.y0 = b[1] > (float)box.y0 ? (int)b[1] : box.y0;
  r.x1 = b[2] < (float)box.x1 ? (int)b[2] + 1 : box.x1;
  r.y1 = b[3] < (float)box.y1 ? (int)b[3] + 1 : box.y1;
  r.x1 = r.x1 < box.x1 ? r.x1 : box.x1;
  r.y1 = r.y1 < box.y1 ? r.y1 : box.y1;
  return r;
}

static const kp_material *material_of(const kp_pass *pass, uint32_t set) {
  const kp_render_scene *scene = pass->scene;
  return &pass->materials[KP_MATERIAL_FIRST + scene->n_points + scene->n_meshes + (int)set];
}

void kp_lines_cover(const kp_pass *pass, int64_t tile_index, kp_tile *tile) {
  const kp_bins *bins = &pass->segment_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    uint32_t index = bins->items[i];
    stroke s;
    const kp_material *material = material_of(pass, pass->primitives.segments[index].set);
    if (material->opacity < 1.0f || material->is_yarn ||
        !make_stroke(pass, &pass->view, index, &s) || widest(&pass->view, &s) < 0.5f) {
      continue;  // thinner than a pixel: nowhere opaque
    }
    kp_tile_box box = clip_stroke(&pass->view, &s, tile->box);
    for (int y = box.y0; y < box.y1; ++y) {
      for (int x = box.x0; x < box.x1; ++x) {
        stroke_hit hit = meet_pixel(&pass->view, &s, x, y);
        float z = hit.depth - hit.radius * bulge(&hit);
        int pixel = kp_tile_pixel(tile, x, y);
        if (coverage(&hit) >= 1.0f && z < tile->depth[pixel]) {
          tile->depth[pixel] = z;
          tile->primitive[pixel] = index;
          tile->kind[pixel] = KP_PRIMITIVE_SEGMENT;
        }
      }
    }
  }
}

static kp_f3 stroke_normal(const kp_pass *pass, const stroke *s, const stroke_hit *hit,
                           kp_f3 position) {
  kp_f3 round = kp_f3_make(hit->across_x, hit->across_y, -bulge(hit));
  kp_f3 half = kp_f3_sub(pass->sun, kp_f3_normalize(position));
  return kp_shading_stroke_normal(kp_f3_normalize(round), half, s->tangent, hit->radius_pixels);
}

static void describe(const kp_pass *pass, uint32_t index, const stroke *s, const stroke_hit *hit,
                     kp_surface_point *point) {
  const kp_primitives *p = &pass->primitives;
  const kp_render_scene *scene = pass->scene;
  const kp_segment *segment = &p->segments[index];
  int material_index = KP_MATERIAL_FIRST + scene->n_points + scene->n_meshes + (int)segment->set;
  const kp_material *material = &pass->materials[material_index];
  point->material = (uint16_t)material_index;
  point->normal = stroke_normal(pass, s, hit, point->position);
  point->tangent = s->tangent;
  point->is_fibre = hit->radius_pixels < KP_FIBRE_PIXELS && (int)segment->set != pass->outline;
  point->albedo = material->color;
  if (material->scalar != NULL) {
    int64_t v = (int64_t)segment->vertex - p->line_offsets[segment->set];
    float scalar =
        material->scalar[v] + hit->along * (material->scalar[v + 1] - material->scalar[v]);
    point->albedo = kp_material_color(material, scalar);
  }
}

void kp_lines_resolve(const kp_pass *pass, uint32_t segment, int x, int y,
                      kp_surface_point *point) {
  stroke s;
  if (make_stroke(pass, &pass->view, segment, &s)) {
    stroke_hit hit = meet_pixel(&pass->view, &s, x, y);
    describe(pass, segment, &s, &hit, point);
  }
}

void kp_lines_shadow(const kp_pass *pass, int64_t tile_index, kp_tile_box tile) {
  const kp_view *view = &pass->sun_view;
  const kp_bins *bins = &pass->segment_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    stroke s;
    bool outline = (int)pass->primitives.segments[bins->items[i]].set == pass->outline;
    if (outline || !make_stroke(pass, view, bins->items[i], &s) || widest(view, &s) <= DEEP) {
      continue;
    }
    kp_tile_box box = clip_stroke(view, &s, tile);
    for (int y = box.y0; y < box.y1; ++y) {
      float *row = pass->shadow.depth + (int64_t)y * view->width;
      for (int x = box.x0; x < box.x1; ++x) {
        stroke_hit hit = meet_pixel(view, &s, x, y);
        if (hit.radius_pixels > DEEP && hit.distance <= hit.radius_pixels) {
          row[x] = kp_minf(row[x], hit.depth - hit.radius * bulge(&hit));
        }
      }
    }
  }
}

void kp_lines_deep(const kp_pass *pass, const kp_view *view, int64_t tile_index,
                   kp_deep_fragments *list) {
  const kp_bins *bins = &pass->segment_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    stroke s;
    const kp_segment *segment = &pass->primitives.segments[bins->items[i]];
    bool outline = (int)segment->set == pass->outline;
    if (outline || !make_stroke(pass, view, bins->items[i], &s)) {
      continue;
    }
    if (2.0f * kp_minf(end_pixels(view, s.r0, s.w0), end_pixels(view, s.r1, s.w1)) > DEEP) {
      continue;  // in the depth map
    }
    float opacity = material_of(pass, segment->set)->opacity;
    kp_tile_box box = clip_stroke(view, &s, list->box);
    for (int y = box.y0; y < box.y1; ++y) {
      for (int x = box.x0; x < box.x1; ++x) {
        stroke_hit hit = meet_pixel(view, &s, x, y);
        float alpha = opacity * deep_coverage(&s, &hit, x, y);
        if (alpha > 0.0f && 2.0f * hit.radius_pixels <= DEEP) {
          kp_deep_add(list, x, y, hit.depth, alpha);
        }
      }
    }
  }
}

static void see_through_stroke(kp_pass *pass, uint32_t index, const stroke *s, kp_tile_box tile,
                               kp_fragments *fragments) {
  const kp_segment *segment = &pass->primitives.segments[index];
  float opacity = material_of(pass, segment->set)->opacity;
  kp_tile_box box = clip_stroke(&pass->view, s, tile);
  for (int y = box.y0; y < box.y1; ++y) {
    for (int x = box.x0; x < box.x1; ++x) {
      stroke_hit hit = meet_pixel(&pass->view, s, x, y);
      float covered = coverage(&hit);
      float z = hit.depth - hit.radius * bulge(&hit);
      bool done = covered <= 0.0f || (covered >= 1.0f && opacity >= 1.0f);
      if (done || z >= pass->surfaces.depth[(int64_t)y * pass->view.width + x]) {
        continue;
      }
      kp_surface_point point = { .position = kp_view_unproject(&pass->view, x, y, z),
                                 .occlusion = 1.0f };
      describe(pass, index, s, &hit, &point);
      kp_fragment f = { .depth = z, .alpha = covered * opacity, .line = segment->line };
      f.color = kp_shade_surface(pass, &point, kp_pass_noise(pass, x, y, 4));
      f.pixel = (uint16_t)((y - tile.y0) * KP_TILE_SIZE + (x - tile.x0));
      f.order = index;
      kp_shade_add_fragment(pass, fragments, &f);
    }
  }
}

void kp_lines_see_through(kp_pass *pass, int64_t tile_index, kp_tile_box box,
                          kp_fragments *fragments) {
  const kp_bins *bins = &pass->segment_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    stroke s;
    uint32_t set = pass->primitives.segments[bins->items[i]].set;
    if (!material_of(pass, set)->is_yarn && make_stroke(pass, &pass->view, bins->items[i], &s)) {
      see_through_stroke(pass, bins->items[i], &s, box, fragments);
    }
  }
}
