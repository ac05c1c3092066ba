// Rays that leave the line of sight (Whitted 1980, "An Improved Illumination Model for Shaded
// Display"): what happens to one at each surface it meets, on the CPU and on a card.
//
// At a clear surface a ray splits into a mirrored and a refracted one in Fresnel's shares for as
// long as both matter; a share that does not is given to the other, so that no light is lost. In a
// liquid it loses exp(-absorbed x metres) and gains what the liquid scatters. A liquid wets what it
// lies on: where it ends less than a hair before a floor, a wall or a body, there is no air between
// them that could mirror.
//
// There are two who walk: trace.c from what the rasteriser met, with shadows from maps, which is
// the quicker way to a picture on a CPU, and cast_kernels.h from the eye, with rays for all of it,
// which needs no list of tiles and therefore runs on a card. Both bring what they read and how they
// shade; the walk itself stands here. Before this header they define the types
//
//   kp_walk_world     what the functions below read; `volumes` is room for a ray per volume
//   kp_walk_point     a place on a surface: position, normal, face, material, is_inside
//   kp_walk_material  is_clear, opacity, gloss, refraction, cloudy, absorbed, color; 0 is air
//
// and behind it the functions it declares. Any space will do: it is that of their places.
#pragma once

#include "render/optics.h"
#include "render/ray_kernels.h"
#include "render/shading.h"
#include "render/volume_grid.h"

// For what is called from several places: a card gets one copy of it.
#ifdef __CUDACC__
#define KP_WALK_FN static __host__ __device__ __noinline__
#else
#define KP_WALK_FN static inline
#endif

#define KP_WALK_AIR 0
#define KP_WALK_TURNS 14  // surfaces that one ray meets
#define KP_WALK_SPLITS 4  // of them, at which it may become two
#define KP_WALK_STACK 7
#define KP_WALK_SPRITES 512  // that a ray sees between two surfaces, those it leaves counted again
#define KP_WALK_LEAST 0.03f  // share of a pixel that is worth a ray of its own,
#define KP_WALK_PREVIEW 0.06f     // in a picture of one pass
#define KP_WALK_FIRST 0.004f      // the same at the first surface: what it mirrors is its gloss
#define KP_WALK_SUN_LOBE 900.0f   // exponent of the mirrored sun
#define KP_WALK_SUN_BRIGHT 30.0f  // and its light
#define KP_WALK_GREY 0.5f         // of water in the grey variant (Lyes 2010, indoor splash)

// What is the same for all rays of a pass.
typedef struct kp_walk_frame {
  float size;  // of the scene [m]
  kp_f3 sun;
  kp_rgb sun_color, ambient_up;
  float least;      // share of a pixel that is worth a ray
  int32_t fresnel;  // kp_fresnel
  int32_t is_transparent;
} kp_walk_frame;

typedef struct kp_walk_path {
  kp_f3 origin, direction;
  kp_rgb weight;
  int medium, outer;  // materials it is in, and that one is in
  int turns;
  float way;  // from the eye [m]
  bool is_mirrored, is_of_eye;
} kp_walk_path;

typedef struct kp_walk {
  const kp_walk_world *world;
  const kp_walk_frame *frame;
  kp_walk_path stack[KP_WALK_STACK];
  int n, splits;
  kp_rgb color;
  float seen;  // share of what is not empty sky
} kp_walk;

// ---- what the two bring

KP_WALK_FN kp_ray_hit kp_walk_nearest(const kp_walk_world *world, kp_f3 origin, kp_f3 direction,
                                      float most, uint32_t mask);
KP_WALK_FN kp_walk_point kp_walk_resolve(const kp_walk_world *world, const kp_walk_path *ray,
                                         const kp_ray_hit *hit);
KP_FN const kp_walk_material *kp_walk_material_of(const kp_walk_world *world, int material);
// Light that a surface sends back along a ray. What it mirrors may be pushed as a ray of its own.
KP_WALK_FN kp_rgb kp_walk_shade(kp_walk *walk, const kp_walk_path *ray, const kp_walk_point *point);
KP_FN kp_rgb kp_walk_sky(const kp_walk_world *world, kp_f3 direction);
// Share of the sun at a place.
KP_WALK_FN float kp_walk_sun_at(const kp_walk_world *world, kp_f3 place);
// Smoke and flames: whether a ray meets any, and a part of the way through them.
KP_WALK_FN bool kp_walk_aim(const kp_walk_world *world, kp_march *march);
KP_WALK_FN void kp_walk_march(const kp_walk_world *world, kp_march *march, float from, float to);
KP_FN bool kp_walk_has_sprites(const kp_walk_world *world);
KP_WALK_FN kp_sprite kp_walk_sprite(const kp_walk_world *world, const kp_ray_hit *hit);
// Yarn that a ray of the eye sees on so many metres from its origin: its depth is one of them, its
// weight 0 where there is none.
KP_WALK_FN kp_sprite_layer kp_walk_yarn(const kp_walk_world *world, const kp_walk_path *ray,
                                        float metres);

// ---- sums

KP_FN kp_walk kp_walk_start(const kp_walk_world *world, const kp_walk_frame *frame) {
  kp_walk w;
  w.world = world;
  w.frame = frame;
  w.n = w.splits = 0;
  w.color = kp_rgb_make(0.0f, 0.0f, 0.0f);
  w.seen = 0.0f;
  return w;
}

KP_FN kp_walk_path kp_walk_path_from(kp_f3 origin, kp_f3 direction) {
  kp_walk_path ray;
  ray.origin = origin;
  ray.direction = direction;
  ray.weight = kp_rgb_make(1.0f, 1.0f, 1.0f);
  ray.medium = ray.outer = KP_WALK_AIR;
  ray.turns = 0;
  ray.way = 0.0f;
  ray.is_mirrored = ray.is_of_eye = false;
  return ray;
}

KP_FN void kp_walk_push(kp_walk *w, const kp_walk_path *ray) {
  if (w->n < KP_WALK_STACK) {
    w->stack[w->n++] = *ray;
  }
}

KP_FN float kp_walk_largest(kp_rgb c) {
  return kp_maxf(c.r, kp_maxf(c.g, c.b));
}

KP_FN void kp_walk_add(kp_walk *w, kp_rgb weight, kp_rgb color) {
  w->color = kp_rgb_add(w->color, kp_rgb_mul(weight, color));
  w->seen += kp_walk_largest(weight);
}

// A layer in the air that sends `light` and lets `through` of what is behind it pass; it covers
// `cover` of an empty sky.
KP_FN void kp_walk_layer(kp_walk *w, kp_walk_path *ray, kp_rgb light, float through, float cover) {
  w->color = kp_rgb_add(w->color, kp_rgb_mul(ray->weight, light));
  w->seen += cover * ray->weight.g;
  ray->weight = kp_rgb_scale(ray->weight, through);
}

KP_FN void kp_walk_lost(kp_walk *w, const kp_walk_path *ray) {
  const kp_walk_frame *f = w->frame;
  if (f->is_transparent && !ray->is_mirrored) {
    return;
  }
  kp_rgb color = kp_walk_sky(w->world, ray->direction);
  float towards = kp_f3_dot(ray->direction, f->sun);
  if (ray->is_mirrored && ray->turns == 1 && towards > 0.98f) {
    float lobe = KP_WALK_SUN_BRIGHT * powf(kp_minf(towards, 1.0f), KP_WALK_SUN_LOBE);
    color = kp_rgb_add(color, kp_rgb_scale(f->sun_color, lobe));
  }
  kp_walk_add(w, ray->weight, color);
}

// A way of so many metres through the medium the ray is in; of what is taken out, a share comes
// back in the liquid's colour.
KP_WALK_FN void kp_walk_dim(kp_walk *w, kp_walk_path *ray, float metres) {
  if (ray->medium == KP_WALK_AIR) {
    return;
  }
  const kp_walk_frame *f = w->frame;
  const kp_walk_material *m = kp_walk_material_of(w->world, ray->medium);
  kp_rgb left = kp_shading_left(m->absorbed, kp_minf(metres, f->size));
  if (m->cloudy > 0.0f) {
    float sun = 0.5f * kp_walk_sun_at(w->world, ray->origin);
    kp_rgb light = kp_rgb_add(kp_rgb_scale(f->sun_color, sun), kp_rgb_scale(f->ambient_up, 0.7f));
    kp_rgb gone = kp_rgb_make(1.0f - left.r, 1.0f - left.g, 1.0f - left.b);
    kp_rgb back = kp_rgb_mul(kp_rgb_mul(light, m->color), kp_rgb_scale(gone, m->cloudy));
    w->color = kp_rgb_add(w->color, kp_rgb_mul(ray->weight, back));
    w->seen += m->cloudy * kp_walk_largest(gone) * ray->weight.g;
  }
  ray->weight = kp_rgb_mul(ray->weight, left);
}

// ---- in the air

// What was gathered of smoke since the last time.
KP_FN void kp_walk_gather(kp_walk *w, kp_walk_path *ray, kp_march *march) {
  kp_walk_layer(w, ray, march->color, march->transmittance, 1.0f - march->transmittance);
  march->color = kp_rgb_make(0.0f, 0.0f, 0.0f);
  march->transmittance = 1.0f;
}

// Share of its alpha with which a ray meets a sprite before a surface `metres` away. A puff that a
// surface cuts has no edge there.
KP_FN float kp_walk_sprite_share(const kp_sprite *s, const kp_walk_path *ray, float metres) {
  kp_f3 to = kp_f3_sub(s->at, ray->origin), off = kp_f3_cross(to, ray->direction);
  float along = kp_f3_dot(to, ray->direction), r = s->radius, before = metres - along;
  float q = kp_f3_dot(off, off) / (r * r);
  if (!(q < 1.0f && along > 0.0f && before > (s->covers ? -r : 0.0f))) {
    return 0.0f;
  }
  float open = s->covers ? kp_minf(0.5f + 0.5f * before / r, 1.0f) : 1.0f;
  return open * kp_shading_radial(s->texture, q);
}

// Whether a sprite that a ray met `from` metres on is met for the first time: one that holds that
// place was entered before, unless the ray began in it.
KP_FN bool kp_walk_is_new(const kp_sprite *s, const kp_walk_path *ray, float from) {
  kp_f3 start = kp_f3_sub(ray->origin, s->at), here = kp_f3_madd(start, from, ray->direction);
  float square = s->radius * s->radius;
  return kp_f3_dot(here, here) >= square || kp_f3_dot(start, start) < square;
}

KP_FN void kp_walk_mist(kp_walk *w, kp_walk_path *ray, kp_march *march, float *at, float to) {
  kp_walk_march(w->world, march, *at, to);
  kp_walk_gather(w, ray, march);
  *at = to;
}

// Once, with the smoke before it.
KP_FN void kp_walk_lay_yarn(kp_walk *w, kp_walk_path *ray, kp_sprite_layer *yarn, kp_march *march,
                            float *at) {
  if (!(yarn->weight > 0.0f)) {
    return;
  }
  if (march != NULL) {
    kp_walk_mist(w, ray, march, at, yarn->depth);
  }
  kp_walk_layer(w, ray, yarn->color, yarn->through, 1.0f - yarn->through);
  yarn->weight = 0.0f;
}

// Smoke, flames, sprites and yarn on so many metres of the way to the next surface: sprites in the
// order in which the ray enters them; one that it begins in comes where it is left. All yarn is one
// layer.
KP_WALK_FN void kp_walk_between(kp_walk *w, kp_walk_path *ray, float metres) {
  kp_march march;
  march.origin = ray->origin;
  march.direction = ray->direction;
  march.rays = w->world->volumes;
  march.length = 1.0f;
  march.color = kp_rgb_make(0.0f, 0.0f, 0.0f);
  march.transmittance = 1.0f;
  bool is_misty = ray->medium == KP_WALK_AIR && kp_walk_aim(w->world, &march);
  bool has_sprites = kp_walk_has_sprites(w->world);
  kp_sprite_layer yarn = kp_walk_yarn(w->world, ray, metres);
  float from = 0.0f, at = 0.0f, through = 1.0f;
  for (int n = 0; n < KP_WALK_SPRITES && has_sprites && through > KP_WALK_LEAST; ++n) {
    kp_f3 origin = kp_f3_madd(ray->origin, from, ray->direction);
    kp_ray_hit hit =
        kp_walk_nearest(w->world, origin, ray->direction, metres - from, KP_RAY_SPRITE);
    if (hit.kind != KP_RAY_BALL) {
      break;
    }
    kp_sprite s = kp_walk_sprite(w->world, &hit);
    bool is_new = kp_walk_is_new(&s, ray, from);
    from += hit.t;
    float share = is_new ? s.alpha * kp_walk_sprite_share(&s, ray, metres) : 0.0f;
    if (share > 0.0f && yarn.depth < from) {
      kp_walk_lay_yarn(w, ray, &yarn, is_misty ? &march : NULL, &at);
    }
    if (share > 0.0f && is_misty) {
      kp_walk_mist(w, ray, &march, &at, from);
    }
    if (share > 0.0f) {
      float alpha = s.covers ? kp_clampf(share, 0.0f, 1.0f) : share;
      kp_rgb light = kp_rgb_scale(s.color, alpha);
      float shine = kp_clampf(kp_walk_largest(light), 0.0f, 1.0f);
      through *= s.covers ? 1.0f - alpha : 1.0f;
      kp_walk_layer(w, ray, light, s.covers ? 1.0f - alpha : 1.0f, s.covers ? alpha : shine);
    }
    from += KP_OPTICS_OFF * w->frame->size;
  }
  kp_walk_lay_yarn(w, ray, &yarn, is_misty ? &march : NULL, &at);
  if (is_misty) {
    kp_walk_mist(w, ray, &march, &at, metres);
  }
}

// ---- clear surfaces

KP_FN bool kp_walk_is_solid(const kp_walk_material *m) {
  return !m->is_clear && m->opacity >= 1.0f;
}

KP_FN float kp_walk_index(const kp_walk *w, int material) {
  return material == KP_WALK_AIR ? 1.0f : kp_walk_material_of(w->world, material)->refraction;
}

// The normal as the ray sees it: a smooth one may turn away at a rim where the face does not.
KP_FN kp_f3 kp_walk_seen_normal(const kp_walk_point *p, kp_f3 direction) {
  float cosine = -kp_f3_dot(p->normal, direction);
  return cosine >= 0.02f ? p->normal
                         : kp_f3_normalize(kp_f3_madd(p->normal, cosine - 0.02f, direction));
}

// What a liquid lies on, or glass lies in, is seen without a gap of air: *p becomes a place there.
KP_FN bool kp_walk_is_wetted(const kp_walk *w, kp_walk_path *ray, kp_walk_point *p) {
  float most = KP_OPTICS_TOUCH * w->frame->size;
  kp_walk_path on = *ray;
  on.origin = kp_f3_madd(p->position, -KP_OPTICS_OFF * w->frame->size, p->face);
  uint32_t mask = KP_RAY_SEEN | KP_RAY_YARN;
  kp_ray_hit hit = kp_walk_nearest(w->world, on.origin, on.direction, most, mask);
  if (hit.kind == KP_RAY_MISS || hit.t >= most) {
    return false;
  }
  kp_walk_point wetted = kp_walk_resolve(w->world, &on, &hit);
  const kp_walk_material *m = kp_walk_material_of(w->world, wetted.material);
  bool is_other = m->is_clear && !wetted.is_inside && wetted.material != p->material;
  if (!is_other && !kp_walk_is_solid(m)) {
    return false;
  }
  *ray = on;
  *p = wetted;
  return true;
}

// Medium and the one around it, behind the surface.
KP_FN void kp_walk_enter(kp_walk_path *in, const kp_walk_path *ray, const kp_walk_point *p) {
  if (p->is_inside) {
    bool is_in = ray->medium == p->material;
    in->medium = is_in ? ray->outer : ray->medium;
    in->outer = is_in ? KP_WALK_AIR : ray->outer;
    in->outer = in->outer == in->medium ? KP_WALK_AIR : in->outer;
  } else if (ray->medium != p->material) {
    in->medium = p->material;
    in->outer = ray->medium;
  }
}

// The two that leave a surface; `in` has no direction where all is mirrored.
KP_FN void kp_walk_part(const kp_walk *w, const kp_walk_path *ray, const kp_walk_point *p,
                        kp_walk_path *in, kp_walk_path *out, float *share) {
  float off = KP_OPTICS_OFF * w->frame->size;
  *in = *out = *ray;
  kp_walk_enter(in, ray, p);
  float n1 = kp_walk_index(w, ray->medium), n2 = kp_walk_index(w, in->medium);
  kp_f3 normal = kp_walk_seen_normal(p, ray->direction);
  *share = kp_fresnel_share(w->frame->fresnel, -kp_f3_dot(normal, ray->direction), n1, n2);
  in->direction = kp_refract(ray->direction, normal, n1, n2);
  if (kp_f3_dot(in->direction, p->face) >= 0.0f && kp_f3_dot(in->direction, in->direction) > 0.0f) {
    in->direction = kp_refract(ray->direction, p->face, n1, n2);
  }
  out->direction = kp_reflect(ray->direction, normal);
  if (kp_f3_dot(out->direction, p->face) <= 0.0f) {
    out->direction = kp_reflect(ray->direction, p->face);
  }
  in->origin = kp_f3_madd(p->position, -off, p->face);
  out->origin = kp_f3_madd(p->position, off, p->face);
  in->turns = out->turns = ray->turns + 1;
  in->is_of_eye = out->is_of_eye = false;
  out->is_mirrored = true;
}

KP_WALK_FN void kp_walk_clear(kp_walk *w, const kp_walk_path *from, const kp_walk_point *at) {
  kp_walk_path ray = *from, in, out;
  kp_walk_point p = *at;
  if (p.is_inside && ray.medium == (int)p.material && kp_walk_is_wetted(w, &ray, &p) &&
      kp_walk_is_solid(kp_walk_material_of(w->world, p.material))) {
    kp_walk_add(w, ray.weight, kp_walk_shade(w, &ray, &p));
    return;
  }
  float share;
  kp_walk_part(w, &ray, &p, &in, &out, &share);
  if (w->frame->fresnel == KP_FRESNEL_GREY) {
    float grey = share + (1.0f - share) * KP_WALK_GREY;
    kp_walk_add(w, ray.weight, kp_rgb_make(grey, grey, grey));
    return;
  }
  // a share that does not pay for a ray goes to the other
  float most = kp_walk_largest(ray.weight);
  bool may_split = w->splits < KP_WALK_SPLITS && w->n + 2 <= KP_WALK_STACK;
  float least = ray.turns == 0 ? KP_WALK_FIRST : w->frame->least;
  if (!(kp_f3_dot(in.direction, in.direction) > 0.0f)) {
    share = 1.0f;
  } else if (share * most < least || (!may_split && share < 0.5f)) {
    share = 0.0f;
  } else if ((1.0f - share) * most < w->frame->least || !may_split) {
    share = 1.0f;
  }
  w->splits += share > 0.0f && share < 1.0f ? 1 : 0;
  in.weight = kp_rgb_scale(ray.weight, 1.0f - share);
  out.weight = kp_rgb_scale(ray.weight, share);
  if (share < 1.0f) {
    kp_walk_push(w, &in);
  }
  if (share > 0.0f) {
    kp_walk_push(w, &out);
  }
}

// A thin pane: part of it is seen, more where it is seen from its side, the rest goes straight
// through.
KP_FN void kp_walk_pane(kp_walk *w, const kp_walk_path *ray, const kp_walk_point *p) {
  const kp_walk_material *m = kp_walk_material_of(w->world, p->material);
  float grazing = 1.0f - fabsf(kp_f3_dot(p->normal, ray->direction));
  float alpha = m->opacity + 0.5f * m->gloss * grazing * grazing * grazing * grazing * grazing;
  alpha = kp_clampf(alpha, 0.0f, 1.0f);
  kp_walk_path on = *ray, rest = *ray;
  on.weight = kp_rgb_scale(ray->weight, alpha);
  on.is_of_eye = false;
  kp_walk_add(w, on.weight, kp_walk_shade(w, &on, p));
  rest.weight = kp_rgb_scale(ray->weight, 1.0f - alpha);
  rest.origin = kp_f3_madd(p->position, KP_OPTICS_OFF * w->frame->size, ray->direction);
  ++rest.turns;
  kp_walk_push(w, &rest);
}

// ---- until no ray is left

KP_FN void kp_walk_run(kp_walk *w) {
  while (w->n > 0) {
    kp_walk_path ray = w->stack[--w->n];
    uint32_t mask = KP_RAY_SEEN | (ray.is_of_eye ? KP_RAY_EYE : KP_RAY_YARN);
    kp_ray_hit hit = kp_walk_nearest(w->world, ray.origin, ray.direction, HUGE_VALF, mask);
    bool is_lost = hit.kind == KP_RAY_MISS || ray.turns >= KP_WALK_TURNS;
    kp_walk_point p;
    const kp_walk_material *m = NULL;
    if (!is_lost) {
      p = kp_walk_resolve(w->world, &ray, &hit);
      m = kp_walk_material_of(w->world, p.material);
      if (m->is_clear && p.is_inside && ray.is_of_eye) {
        ray.medium = p.material;  // the eye is under water
      }
    }
    kp_walk_dim(w, &ray, hit.t);
    kp_walk_between(w, &ray, hit.t);
    ray.way += hit.t;
    if (is_lost) {
      kp_walk_lost(w, &ray);
    } else if (m->is_clear) {
      kp_walk_clear(w, &ray, &p);
    } else if (m->opacity < 1.0f && hit.kind != KP_RAY_BALL) {
      kp_walk_pane(w, &ray, &p);
    } else {
      kp_walk_add(w, ray.weight, kp_walk_shade(w, &ray, &p));
    }
  }
}
