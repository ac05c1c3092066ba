// The quads of yarn (yarn.c): where each lies, where a ray of the eye meets it, and how it is laid
// over what was met before. For tiles on the CPU and for the lists of yarn_kernels.h; in view
// space.
//
// A ray that crosses quads of family f at the cosine c_f to their normals meets one every
// d_f / |c_f|. With the weights |c_f| / sum |c_g| each crossing counts for the way d_f / sum |c_g|,
// and all families together for the whole way once, however they lie to the ray.
#pragma once

#include "render/lumislice.h"
#include "render/shading.h"

#define KP_YARN_OPAQUE 0.004f  // of what is behind: no more is laid over it

// A place on a yarn. n and b turn with the twist.
typedef struct kp_yarn_station {
  kp_f3 at, t, n, b;
  float r;
  float angle, slant;  // of the sun as kp_lumi_light wants it
  float across;        // sine between yarn and sun
  kp_rgb color;
  kp_rgb sunlight;  // that comes past everything but the yarn itself, times `across`
  int32_t material;
} kp_yarn_station;

// Where its light is looked for: the yarn's own stroke stops light too, step out of it.
KP_FN kp_f3 kp_yarn_lit_place(const kp_yarn_station *s, kp_f3 sun) {
  return kp_f3_madd(s->at, 1.15f * s->r * s->slant, sun);
}

// What the stations of a set share.
typedef struct kp_yarn_set {
  int64_t first_quad, first_station;
  int32_t quads;  // of a station
  int32_t cuts, axes;
  int32_t level;  // of the lumislice
  float step;     // between stations [m]
  float twist;    // [m]
} kp_yarn_set;

// All yarn of a pass, and the eye and the light it is seen by.
typedef struct kp_yarn_view {
  const kp_yarn_station *stations;
  const kp_yarn_set *sets;
  float *texels;  // of the lumislice
  int32_t n_sets;
  float shift;  // of all quads in this pass, in steps: they do not show in the mean
  int32_t width, height;
  float scale, axis_x, axis_y, nearest;  // as kp_view has them
  kp_f3 up;
  kp_rgb above, side, below;  // light from around
} kp_yarn_view;

// A quad: centre c, unit axes u and v with half lengths, normal n; `offset` is its place in the
// slice in radii, along n (families 1 and 2; 0 is square to the yarn).
typedef struct kp_yarn_quad {
  const kp_yarn_station *s;
  const kp_yarn_set *set;
  int family;
  kp_f3 c, u, v, n;
  float half_u, half_v, offset;
  float spacing;   // of its family [m]
  float distance;  // of its plane from the eye, along n
} kp_yarn_quad;

// The last set that begins at or before a quad; sets without quads begin where the next does.
KP_FN const kp_yarn_set *kp_yarn_set_of(const kp_yarn_view *y, int64_t quad) {
  int low = 0, high = y->n_sets;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (y->sets[middle].first_quad <= quad) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return &y->sets[low];
}

KP_FN kp_yarn_quad kp_yarn_quad_of(const kp_yarn_view *y, uint32_t index) {
  kp_yarn_quad q;
  q.set = kp_yarn_set_of(y, (int64_t)index);
  int64_t local = (int64_t)index - q.set->first_quad;
  const kp_yarn_station *s = &y->stations[q.set->first_station + local / q.set->quads];
  int j = (int)(local % q.set->quads);
  q.s = s;
  if (j == 0) {
    q.family = 0;
    q.offset = 0.0f;
    q.c = s->at;
    q.u = s->n;
    q.v = s->b;
    q.n = s->t;
    q.half_u = q.half_v = s->r;
    q.spacing = q.set->step;
  } else {
    q.family = 1 + (j - 1) / q.set->cuts;
    q.offset = 2.0f * ((float)((j - 1) % q.set->cuts) + y->shift) / (float)q.set->cuts - 1.0f;
    q.n = q.family == 1 ? s->n : s->b;
    q.u = s->t;
    q.v = q.family == 1 ? s->b : s->n;
    q.half_u = 0.5f * q.set->step;
    // where the slice ends there
    q.half_v = s->r * sqrtf(1.0f - q.offset * q.offset);
    q.c = kp_f3_madd(s->at, q.offset * s->r, q.n);
    q.spacing = 2.0f * s->r / (float)q.set->cuts;
  }
  q.distance = kp_f3_dot(q.n, q.c);
  return q;
}

// Box of a quad on the picture; false: part of it is too near.
KP_FN bool kp_yarn_bounds(const kp_yarn_view *y, const kp_yarn_quad *q, float b[4]) {
  b[0] = b[1] = HUGE_VALF;
  b[2] = b[3] = -HUGE_VALF;
  for (int corner = 0; corner < 4; ++corner) {
    kp_f3 p = kp_f3_madd(q->c, corner & 1 ? q->half_u : -q->half_u, q->u);
    p = kp_f3_madd(p, corner & 2 ? q->half_v : -q->half_v, q->v);
    if (!(p.z > y->nearest)) {
      return false;
    }
    float px = p.x * y->scale / p.z + y->axis_x, py = p.y * y->scale / p.z + y->axis_y;
    b[0] = kp_minf(b[0], px);
    b[1] = kp_minf(b[1], py);
    b[2] = kp_maxf(b[2], px);
    b[3] = kp_maxf(b[3], py);
  }
  return true;
}

// Pixels x0 <= x < x1, y0 <= y < y1.
typedef struct kp_yarn_box {
  int x0, y0, x1, y1;
} kp_yarn_box;

// Those of `within` that a quad may cover.
KP_FN kp_yarn_box kp_yarn_box_of(const kp_yarn_view *y, const kp_yarn_quad *q, kp_yarn_box within) {
  kp_yarn_box box = within;
  float b[4];
  if (!kp_yarn_bounds(y, q, b)) {
    box.x1 = box.x0;
    return box;
  }
  box.x0 = b[0] > (float)within.x0 ? (int)kp_minf(b[0], (float)within.x1) : within.x0;
  box.y0 = b[1] > (float)within.y0 ? (int)kp_minf(b[1], (float)within.y1) : within.y0;
  box.x1 = b[2] < (float)within.x1 ? (int)kp_maxf(b[2], -1.0f) + 1 : within.x1;
  box.y1 = b[3] < (float)within.y1 ? (int)kp_maxf(b[3], -1.0f) + 1 : within.y1;
  box.x1 = box.x1 < within.x1 ? box.x1 : within.x1;
  box.y1 = box.y1 < within.y1 ? box.y1 : within.y1;
  return box;
}

// Where the ray of a pixel goes through a quad.
typedef struct kp_yarn_crossing {
  float depth;    // along the view [m]
  float x, y;     // in the slice
  float density;  // there
} kp_yarn_crossing;

// False: it misses the quad, or there are no fibres.
KP_FN bool kp_yarn_cross(const kp_yarn_view *y, const kp_yarn_quad *q, const kp_lumi_level *level,
                         int px, int py, kp_yarn_crossing *out) {
  kp_f3 ray = kp_f3_make(((float)px + 0.5f - y->axis_x) / y->scale,
                         ((float)py + 0.5f - y->axis_y) / y->scale, 1.0f);
  float t = q->distance / kp_f3_dot(q->n, ray);
  if (!(t > y->nearest)) {
    return false;
  }
  kp_f3 d = kp_f3_sub(kp_f3_scale(ray, t), q->c);
  float a = kp_f3_dot(d, q->u), e = kp_f3_dot(d, q->v);
  if (!(fabsf(a) <= q->half_u && fabsf(e) <= q->half_v)) {
    return false;
  }
  float r = q->s->r;
  out->depth = t;
  out->x = q->family == 0 ? a / r : q->family == 1 ? q->offset : e / r;
  out->y = q->family == 0 || q->family == 1 ? e / r : q->offset;
  out->density = kp_lumi_density(level, out->x, out->y);
  return out->density > 0.0f;
}

// How a quad is drawn wherever it is crossed.
typedef struct kp_yarn_paint {
  kp_lumi_level level;
  float way;  // through the yarn that one crossing stands for, times extinction
  kp_rgb sun, above, side, below;  // light times the yarn's colour
  float up_n, up_b;                // how far the axes of the slice point up
} kp_yarn_paint;

KP_FN kp_yarn_paint kp_yarn_paint_of(const kp_yarn_view *y, const kp_yarn_quad *q) {
  const kp_yarn_station *s = q->s;
  kp_yarn_paint p;
  p.level = kp_lumi_level_of(y->texels, q->set->level);
  p.way = q->spacing / s->r;
  // as drawn where quads only face along the yarn
  if (q->set->axes > 1) {
    kp_f3 d = kp_f3_normalize(s->at);
    float sum = fabsf(kp_f3_dot(d, s->t)) + fabsf(kp_f3_dot(d, s->n));
    sum += q->set->axes > 2 ? fabsf(kp_f3_dot(d, s->b)) : 0.0f;
    p.way /= kp_maxf(sum, 0.1f);
  }
  p.way *= KP_LUMI_EXTINCTION;
  p.sun = kp_rgb_mul(s->color, s->sunlight);
  p.above = kp_rgb_mul(s->color, y->above);
  p.side = kp_rgb_mul(s->color, y->side);
  p.below = kp_rgb_mul(s->color, y->below);
  p.up_n = kp_f3_dot(s->n, y->up);
  p.up_b = kp_f3_dot(s->b, y->up);
  return p;
}

// Over what is behind it, below what was laid before.
KP_FN void kp_yarn_lay(const kp_yarn_quad *q, const kp_yarn_paint *p, const kp_yarn_crossing *at,
                       kp_sprite_layer *layer) {
  const kp_yarn_station *s = q->s;
  float alpha = 1.0f - expf(-p->way * at->density);
  float up = kp_clampf(at->x * p->up_n + at->y * p->up_b, -1.0f, 1.0f);
  kp_rgb around = kp_rgb_mix(p->side, up < 0.0f ? p->below : p->above, fabsf(up));
  kp_rgb color = kp_rgb_scale(around, kp_lumi_open(&p->level, at->x, at->y));
  if (p->sun.r + p->sun.g + p->sun.b > 0.0f) {
    float light = kp_lumi_light(&p->level, at->x, at->y, s->angle, s->slant);
    color = kp_rgb_add(color, kp_rgb_scale(p->sun, light));
  }
  float weight = layer->through * alpha;
  layer->color = kp_rgb_add(layer->color, kp_rgb_scale(color, weight));
  layer->depth += weight * s->at.z;
  layer->weight += weight;
  layer->through *= 1.0f - alpha;
}
