// A picture by rays alone: what one pixel does in one pass, on the CPU and on a card (Whitted 1980,
// with the distribution over passes of Cook, Porter and Carpenter 1984).
//
// The eye's ray meets a surface, which is lit by the sun through one point of its disc, by the sky
// as far as a ray into it is free, and by what it mirrors. Clear surfaces split rays in Fresnel's
// shares. Sunlight that clear surfaces bend comes from the map of caustics.c; where there is none
// it is dimmed and coloured on a straight way. All in the space of the rays: the axes of the world,
// from the middle of the scene.
#pragma once

#include "render/caustics_map.h"
#include "render/ray_kernels.h"
#include "render/shading.h"
#include "render/volume_march.h"
#include "render/yarn_quads.h"

#define KP_CAST_GROUND 1
#define KP_CAST_VOLUMES 6     // that come with the arguments; more are read from memory
#define KP_CAST_WIRES 256     // faces of wireframes that a ray passes
#define KP_CAST_CLOSED 0.75f  // of the sky that a crevice misses; the rest comes from its walls

// Numbers 0 and 1 are air and ground, as in pass.h.
typedef struct kp_cast_material {
  kp_rgb back, absorbed, color;
  float opacity, gloss, refraction, cloudy, specular, shininess;
  float lift;               // off its own bumps, towards the sun [m]
  float glow;               // of sprites; 0: they are lit
  float line_width;         // of a wireframe [pixels]; 0: faces
  int32_t texture, covers;  // of sprites
  int32_t is_outline;       // of the bounds
  int32_t is_clear, is_inside_out, is_two_sided, is_blinn_phong;
} kp_cast_material;

typedef struct kp_cast_scene {
  kp_ray_view rays;
  const uint32_t *triangles;    // 3 vertices each
  const kp_f3 *normals;         // of vertices; zero where the shading is flat
  const kp_rgb *vertex_colors;  // of triangles
  const kp_rgb *ball_colors;
  const float *ball_alphas;         // NULL: there are no sprites
  const kp_rgb *stroke_colors;      // two ends each
  const uint32_t *materials_of[3];  // of triangles, balls and strokes
  const kp_cast_material *materials;
  const kp_rgb *around;      // what lies around it, as kp_environment has it; or NULL
  kp_caustics_map caustics;  // without a width where there are none
  const kp_fire_light *fire;
  kp_volume_grid few[KP_CAST_VOLUMES];
  const kp_volume_grid *many;  // instead of them, or NULL
  kp_yarn_view yarn;
  const uint32_t *yarn_quads;  // of each pixel, the nearest first; NULL: there are none
  const uint32_t *yarn_spans;  // two per pixel: the first of its quads, and behind the last
} kp_cast_scene;

// What is the same for all pixels of a pass.
typedef struct kp_cast_frame {
  kp_f3 eye, right, down, forward;
  float scale, axis_x, axis_y;  // pixels per unit slope, and of the view axis
  int32_t width, index, count;
  kp_f3 up, sun, sun_right, sun_down;  // half axes of the sun's disc, one unit away
  kp_rgb sun_color, ambient_up, ambient_side, ambient_down, zenith, horizon, ground_color;
  float size;              // of the scene [m]
  float occlusion, reach;  // strength, and how far what closes the sky may be [m]
  float sky_strength;
  int32_t around;  // texels along an edge of the picture around the scene; 0: there is none
  int32_t z_up;
  double square, fade;  // of the ground [m]
  int32_t ground;       // kp_render_ground
  int32_t fresnel;      // kp_fresnel
  int32_t is_transparent, has_clear, has_puffs, has_wires, n_fire;
  kp_volume_air air;  // whose grids are those of the scene
} kp_cast_frame;

typedef struct kp_cast_point {
  kp_f3 position, normal, face;  // the normals look to where the ray comes from
  kp_rgb albedo;
  int material;
  bool is_inside;
  kp_f3 tangent;  // of a fibre
  bool is_fibre;  // and not a surface
} kp_cast_point;

// One pass of one pixel.
typedef struct kp_cast_world {
  const kp_cast_scene *scene;
  const kp_cast_frame *frame;
  kp_volume_air air;
  kp_volume_ray *volumes;
  float noise;  // of the steps through smoke
  int x, y;
  float length;                   // of the eye's ray on a metre along the view
  uint32_t yarn_begin, yarn_end;  // quads of the pixel
} kp_cast_world;

typedef kp_cast_world kp_walk_world;
typedef kp_cast_point kp_walk_point;
typedef kp_cast_material kp_walk_material;

#include "render/walk.h"

#define CAST_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(cast, station)                                                                             \
  POINT(cast, pixel)

// ---- what a ray meets

KP_WALK_FN kp_ray_hit kp_cast_nearest(const kp_cast_scene *s, kp_f3 origin, kp_f3 direction,
                                      float most, uint32_t mask) {
  kp_ray ray;
  ray.origin = origin;
  ray.direction = direction;
  ray.t_min = 0.0f;
  ray.t_max = most;
  ray.mask = mask;
  return kp_ray_query(&s->rays, &ray, false);
}

KP_FN void kp_cast_triangle(const kp_cast_scene *s, const kp_ray_hit *hit, kp_f3 direction,
                            kp_cast_point *p) {
  const kp_ray_triangles *b = &s->rays.triangles[hit->lane / KP_RAY_LANES];
  int lane = (int)(hit->lane % KP_RAY_LANES);
  kp_f3 corner[3], smooth = kp_f3_make(0.0f, 0.0f, 0.0f);
  const float weights[3] = { 1.0f - hit->u - hit->v, hit->u, hit->v };
  p->material = (int)s->materials_of[0][hit->id];
  p->albedo = kp_rgb_make(0.0f, 0.0f, 0.0f);
  for (int c = 0; c < 3; ++c) {
    uint32_t vertex = s->triangles[3 * (uint64_t)hit->id + (uint64_t)c];
    corner[c] = kp_f3_make(b->corner[c][0][lane], b->corner[c][1][lane], b->corner[c][2][lane]);
    smooth = kp_f3_madd(smooth, weights[c], kp_f3_normalize(s->normals[vertex]));
    p->albedo = kp_rgb_add(p->albedo, kp_rgb_scale(s->vertex_colors[vertex], weights[c]));
  }
  const kp_cast_material *m = &s->materials[p->material];
  kp_f3 face = kp_f3_cross(kp_f3_sub(corner[1], corner[0]), kp_f3_sub(corner[2], corner[0]));
  bool is_behind = kp_f3_dot(face, direction) > 0.0f;
  p->is_inside = is_behind != (m->is_inside_out != 0);
  p->face = kp_f3_scale(kp_f3_normalize(face), is_behind ? -1.0f : 1.0f);
  p->normal = p->face;
  if (kp_f3_dot(smooth, smooth) >= 1e-6f) {
    smooth = kp_f3_normalize(smooth);
    p->normal = kp_f3_dot(smooth, p->face) < 0.0f ? kp_f3_scale(smooth, -1.0f) : smooth;
  }
  if (m->is_two_sided && p->is_inside) {
    p->albedo = m->back;
  }
}

KP_FN void kp_cast_ball(const kp_cast_scene *s, const kp_ray_hit *hit, kp_cast_point *p) {
  const kp_ray_balls *b = &s->rays.balls[hit->lane / KP_RAY_LANES];
  int lane = (int)(hit->lane % KP_RAY_LANES);
  kp_f3 middle = kp_f3_make(b->center[0][lane], b->center[1][lane], b->center[2][lane]);
  p->face = p->normal = kp_f3_normalize(kp_f3_sub(p->position, middle));
  p->material = (int)s->materials_of[1][hit->id];
  p->albedo = s->ball_colors[hit->id];
}

KP_FN void kp_cast_stroke(const kp_cast_scene *s, const kp_cast_frame *f, const kp_walk_path *ray,
                          const kp_ray_hit *hit, kp_cast_point *p) {
  const kp_ray_strokes *b = &s->rays.strokes[hit->lane / KP_RAY_LANES];
  int lane = (int)(hit->lane % KP_RAY_LANES);
  kp_f3 from = kp_f3_make(b->end[0][0][lane], b->end[0][1][lane], b->end[0][2][lane]);
  kp_f3 to = kp_f3_make(b->end[1][0][lane], b->end[1][1][lane], b->end[1][2][lane]);
  kp_f3 axis = kp_f3_madd(from, hit->u, kp_f3_sub(to, from));
  p->face = p->normal = kp_f3_normalize(kp_f3_sub(p->position, axis));
  p->material = (int)s->materials_of[2][hit->id];
  p->albedo = kp_rgb_mix(s->stroke_colors[2 * (uint64_t)hit->id],
                         s->stroke_colors[2 * (uint64_t)hit->id + 1], hit->u);
  float pixels = b->radius[lane] * f->scale / kp_maxf(ray->way + hit->t, 1e-20f);
  if (pixels < KP_FIBRE_PIXELS && !s->materials[p->material].is_outline) {
    p->is_fibre = true;
    p->tangent = kp_f3_normalize(kp_f3_sub(to, from));
    p->normal =
        kp_shading_stroke_normal(p->normal, kp_f3_sub(f->sun, ray->direction), p->tangent, pixels);
  }
}

KP_FN void kp_cast_ground_place(const kp_cast_scene *s, kp_f3 p, double *a, double *b) {
  *a = (double)p.x;
  *b = s->rays.up == 2 ? (double)p.y : (double)p.z;
}

// `way` is that from the eye, which tells what a pixel spans.
KP_WALK_FN kp_cast_point kp_cast_resolve(const kp_cast_scene *s, const kp_cast_frame *f,
                                         const kp_walk_path *ray, const kp_ray_hit *hit) {
  kp_cast_point p;
  p.position = kp_f3_madd(ray->origin, hit->t, ray->direction);
  p.is_inside = p.is_fibre = false;
  if (hit->kind == KP_RAY_TRIANGLE) {
    kp_cast_triangle(s, hit, ray->direction, &p);
  } else if (hit->kind == KP_RAY_BALL) {
    kp_cast_ball(s, hit, &p);
  } else if (hit->kind == KP_RAY_STROKE) {
    kp_cast_stroke(s, f, ray, hit, &p);
  } else {
    double a, b, facing = -(double)kp_f3_dot(f->up, ray->direction);
    kp_cast_ground_place(s, p.position, &a, &b);
    double span = (double)((ray->way + hit->t) / f->scale) / f->square / fmax(facing, 1e-3);
    p.material = KP_CAST_GROUND;
    p.face = p.normal = f->up;
    p.albedo = kp_shading_ground(f->ground_color, f->ground, a / f->square, b / f->square, span);
  }
  return p;
}

// ---- light

// Through clear surfaces and panes on a straight way.
KP_WALK_FN kp_rgb kp_cast_through(const kp_cast_scene *s, const kp_cast_frame *f, kp_f3 origin,
                                  kp_f3 direction) {
  kp_rgb light = kp_rgb_make(1.0f, 1.0f, 1.0f);
  kp_walk_path ray;
  ray.origin = origin;
  ray.direction = direction;
  ray.way = 0.0f;
  for (int turn = 0; turn < KP_WALK_TURNS; ++turn) {
    kp_ray_hit hit = kp_cast_nearest(s, ray.origin, ray.direction, HUGE_VALF, KP_RAY_SEEN);
    if (hit.kind != KP_RAY_TRIANGLE) {
      return light;
    }
    kp_cast_point p = kp_cast_resolve(s, f, &ray, &hit);
    const kp_cast_material *m = &s->materials[p.material];
    if (m->is_clear) {
      float cosine = kp_clampf(-kp_f3_dot(p.normal, direction), 0.0f, 1.0f);
      light = kp_rgb_scale(light, 1.0f - kp_fresnel_exact(cosine, 1.0f, m->refraction));
      if (p.is_inside) {
        light = kp_rgb_mul(light, kp_shading_left(m->absorbed, hit.t));
      }
    } else {
      light = kp_rgb_scale(light, 1.0f - m->opacity);
    }
    ray.origin = kp_f3_madd(p.position, 2.0f * KP_OPTICS_OFF * f->size, direction);
  }
  return light;
}

// Points of a spiral over the sun's disc, one per pass (Vogel 1979), turned anew in each pixel.
KP_WALK_FN kp_rgb kp_cast_sun(const kp_cast_scene *s, const kp_cast_frame *f,
                              const kp_cast_point *p, float lift, float turn) {
  float r = sqrtf(((float)f->index + 0.5f) / (float)f->count), angle = 6.2831853f * turn;
  kp_f3 to = kp_f3_madd(f->sun, r * cosf(angle), f->sun_right);
  to = kp_f3_normalize(kp_f3_madd(to, r * sinf(angle), f->sun_down));
  kp_ray ray;
  ray.origin = kp_f3_madd(p->position, 1e-3f * f->size, p->normal);
  ray.origin = kp_f3_madd(ray.origin, lift, f->sun);
  ray.direction = to;
  ray.t_min = 0.0f;
  ray.t_max = HUGE_VALF;
  ray.mask = KP_RAY_CASTER;
  if (kp_ray_query(&s->rays, &ray, true).kind != KP_RAY_MISS) {
    return kp_rgb_make(0.0f, 0.0f, 0.0f);
  }
  kp_rgb light = kp_rgb_make(1.0f, 1.0f, 1.0f);
  if (f->has_clear && s->caustics.width == 0) {
    light = kp_cast_through(s, f, kp_f3_madd(p->position, KP_OPTICS_OFF * f->size, p->normal), to);
  }
  return light;
}

// Whether a hit of a triangle of a wireframe is within half a line of an edge, on the picture; the
// next triangle has the other half.
KP_FN bool kp_cast_is_on_line(const kp_cast_scene *s, const kp_cast_frame *f, kp_f3 position,
                              const kp_ray_hit *hit, float width) {
  const kp_ray_triangles *b = &s->rays.triangles[hit->lane / KP_RAY_LANES];
  int lane = (int)(hit->lane % KP_RAY_LANES);
  float x[4], y[4], least = HUGE_VALF;
  for (int c = 0; c < 4; ++c) {
    kp_f3 d = position;
    if (c < 3) {
      d = kp_f3_make(b->corner[c][0][lane], b->corner[c][1][lane], b->corner[c][2][lane]);
    }
    d = kp_f3_sub(d, f->eye);
    float k = f->scale / kp_maxf(kp_f3_dot(d, f->forward), 1e-6f * f->size);
    x[c] = k * kp_f3_dot(d, f->right);
    y[c] = k * kp_f3_dot(d, f->down);
  }
  for (int c = 0; c < 3; ++c) {
    int next = c == 2 ? 0 : c + 1;
    float ex = x[next] - x[c], ey = y[next] - y[c];
    float across = fabsf(ex * (y[3] - y[c]) - ey * (x[3] - x[c]));
    least = kp_minf(least, across / kp_maxf(sqrtf(ex * ex + ey * ey), 1e-20f));
  }
  return least <= 0.5f * width;
}

// The eye sees the lines of wireframes alone.
KP_WALK_FN kp_ray_hit kp_walk_nearest(const kp_cast_world *world, kp_f3 origin, kp_f3 direction,
                                      float most, uint32_t mask) {
  const kp_cast_scene *s = world->scene;
  const kp_cast_frame *f = world->frame;
  kp_ray_hit hit = kp_cast_nearest(s, origin, direction, most, mask);
  float gone = 0.0f;
  for (int n = 0; n < KP_CAST_WIRES && f->has_wires && hit.kind == KP_RAY_TRIANGLE; ++n) {
    float width = s->materials[s->materials_of[0][hit.id]].line_width;
    kp_f3 at = kp_f3_madd(origin, gone + hit.t, direction);
    if (!(width > 0.0f) || kp_cast_is_on_line(s, f, at, &hit, width)) {
      break;
    }
    gone += hit.t + KP_OPTICS_OFF * f->size;
    hit = kp_cast_nearest(s, kp_f3_madd(origin, gone, direction), direction, most - gone, mask);
  }
  hit.t += gone;
  return hit;
}

KP_FN bool kp_walk_has_sprites(const kp_cast_world *world) {
  return world->scene->ball_alphas != NULL;
}

// A sprite without the light on it.
KP_FN kp_sprite kp_cast_bare_sprite(const kp_cast_scene *s, const kp_ray_hit *hit) {
  const kp_ray_balls *b = &s->rays.balls[hit->lane / KP_RAY_LANES];
  int lane = (int)(hit->lane % KP_RAY_LANES);
  const kp_cast_material *m = &s->materials[s->materials_of[1][hit->id]];
  kp_sprite sprite;
  sprite.at = kp_f3_make(b->center[0][lane], b->center[1][lane], b->center[2][lane]);
  sprite.radius = b->radius[lane];
  sprite.color = s->ball_colors[hit->id];
  sprite.alpha = s->ball_alphas[hit->id] * (m->covers ? m->opacity : 1.0f);
  sprite.texture = m->texture;
  sprite.covers = m->covers;
  return sprite;
}

// What puffs leave of the light of the sun.
KP_WALK_FN float kp_cast_past_puffs(const kp_cast_world *world, kp_f3 origin, kp_f3 direction) {
  kp_walk_path ray = kp_walk_path_from(origin, direction);
  float left = 1.0f, from = 0.0f;
  for (int n = 0; n < KP_WALK_SPRITES && world->frame->has_puffs && left > KP_WALK_LEAST; ++n) {
    kp_ray_hit hit = kp_cast_nearest(world->scene, kp_f3_madd(origin, from, direction), direction,
                                     HUGE_VALF, KP_RAY_SPRITE);
    if (hit.kind != KP_RAY_BALL) {
      break;
    }
    kp_sprite s = kp_cast_bare_sprite(world->scene, &hit);
    if (s.covers && kp_walk_is_new(&s, &ray, from)) {
      float alpha = s.alpha * kp_walk_sprite_share(&s, &ray, HUGE_VALF);
      left *= 1.0f - kp_clampf(alpha, 0.0f, 1.0f);
    }
    from += hit.t + KP_OPTICS_OFF * world->frame->size;
  }
  return left;
}

KP_WALK_FN float kp_walk_sun_at(const kp_cast_world *world, kp_f3 place) {
  kp_ray ray;
  ray.origin = place;
  ray.direction = world->frame->sun;
  ray.t_min = 0.0f;
  ray.t_max = HUGE_VALF;
  ray.mask = KP_RAY_CASTER;
  if (kp_ray_query(&world->scene->rays, &ray, true).kind != KP_RAY_MISS) {
    return 0.0f;
  }
  return kp_cast_past_puffs(world, place, world->frame->sun);
}

// Past what stands before the sun, through smoke, and through what is clear.
// `turn` is that of the point on its disc, *share is how much of the sun is seen by itself.
KP_WALK_FN kp_rgb kp_cast_sunlight(const kp_cast_world *world, const kp_cast_point *p, float lift,
                                   float turn, float *share) {
  const kp_cast_scene *s = world->scene;
  const kp_cast_frame *f = world->frame;
  float behind = 0.0f;
  kp_rgb through = kp_rgb_make(0.0f, 0.0f, 0.0f), seen = through;
  if (s->caustics.width > 0) {
    through = kp_caustics_look(&s->caustics, p->position, p->material, 1e-3f * f->size, &behind);
  }
  if (behind < 1.0f) {
    seen = kp_rgb_scale(kp_cast_sun(s, f, p, lift, turn), 1.0f - behind);
  }
  if (f->has_puffs) {
    seen = kp_rgb_scale(seen, kp_cast_past_puffs(world, p->position, f->sun));
  }
  if (world->air.n > 0) {
    seen = kp_rgb_scale(seen, kp_volume_sunlight(&world->air, p->position));
  }
  *share = kp_walk_largest(seen);
  return kp_rgb_mul(kp_rgb_add(through, seen), f->sun_color);
}

KP_FN float kp_cast_fraction(float v) {
  return v - floorf(v);
}

// How open the sky is: rays with the density of the cosine, over the passes spread evenly (Roberts
// 2018, "The unreasonable effectiveness of quasirandom sequences"). Near things close more.
KP_WALK_FN float kp_cast_open(const kp_cast_scene *s, const kp_cast_frame *f,
                              const kp_cast_point *p, int x, int y) {
  if (!(f->occlusion > 0.0f)) {
    return 1.0f;
  }
  int n = f->count >= 8 ? 1 : 4;
  kp_f3 n_axis = p->normal;
  kp_f3 other =
      fabsf(n_axis.x) > 0.5f ? kp_f3_make(0.0f, 1.0f, 0.0f) : kp_f3_make(1.0f, 0.0f, 0.0f);
  kp_f3 a = kp_f3_normalize(kp_f3_cross(n_axis, other)), b = kp_f3_cross(n_axis, a);
  kp_f3 origin = kp_f3_madd(p->position, 1e-3f * f->size, n_axis);
  float closed = 0.0f, most = f->reach;
  for (int k = 0; k < n; ++k) {
    float step = (float)(f->index * n + k);
    float u = kp_cast_fraction(kp_shading_turn(0, x, y) + 0.75487767f * step);
    float v = kp_cast_fraction(kp_shading_turn(0, y + 17, x + 59) + 0.56984029f * step);
    float r = sqrtf(u), height = sqrtf(kp_maxf(1.0f - u, 1e-4f)), angle = 6.2831853f * v;
    kp_f3 d = kp_f3_madd(kp_f3_scale(n_axis, height), r * cosf(angle), a);
    d = kp_f3_madd(d, r * sinf(angle), b);
    kp_ray_hit hit = kp_cast_nearest(s, origin, d, most, KP_RAY_CASTER);
    if (hit.kind != KP_RAY_MISS && hit.t < most) {
      closed += 1.0f - hit.t * hit.t / (most * most);
    }
  }
  return 1.0f - KP_CAST_CLOSED * f->occlusion * closed / (float)n;
}

KP_FN kp_rgb kp_walk_sky(const kp_cast_world *world, kp_f3 direction) {
  const kp_cast_frame *f = world->frame;
  if (f->around == 0) {
    return kp_shading_background(f->horizon, f->zenith, kp_f3_dot(direction, f->up));
  }
  kp_rgb seen = kp_shading_cube(world->scene->around, f->around, direction, f->z_up != 0);
  return kp_rgb_scale(seen, f->sky_strength);
}

KP_WALK_FN kp_cast_point kp_walk_resolve(const kp_cast_world *world, const kp_walk_path *ray,
                                         const kp_ray_hit *hit) {
  return kp_cast_resolve(world->scene, world->frame, ray, hit);
}

KP_FN const kp_cast_material *kp_walk_material_of(const kp_cast_world *world, int material) {
  return &world->scene->materials[material];
}

KP_MARCH_FN float kp_volume_open(const void *owner, kp_f3 place) {
  return kp_walk_sun_at((const kp_cast_world *)owner, place);
}

KP_WALK_FN bool kp_walk_aim(const kp_cast_world *world, kp_march *march) {
  march->noise = world->noise;
  return world->air.n > 0 && kp_volume_aim(&world->air, march);
}

KP_WALK_FN void kp_walk_march(const kp_cast_world *world, kp_march *march, float from, float to) {
  kp_volume_march(&world->air, world, march, from, to);
}

// Its light comes past other puffs and smoke.
KP_WALK_FN kp_sprite kp_walk_sprite(const kp_cast_world *world, const kp_ray_hit *hit) {
  const kp_cast_frame *f = world->frame;
  kp_sprite s = kp_cast_bare_sprite(world->scene, hit);
  const kp_cast_material *m = &world->scene->materials[world->scene->materials_of[1][hit->id]];
  if (m->glow > 0.0f) {
    s.color = kp_rgb_scale(s.color, m->glow);
    return s;
  }
  kp_f3 at = kp_f3_madd(s.at, 0.25f * s.radius, f->sun);  // out of its own shadow
  float sun = kp_walk_sun_at(world, at);
  if (sun > 0.0f && world->air.n > 0) {
    sun *= kp_volume_sunlight(&world->air, at);
  }
  s.color = kp_rgb_mul(s.color, kp_shading_puff(kp_rgb_scale(f->sun_color, sun), f->ambient_up,
                                                f->ambient_side, f->ambient_down));
  return s;
}

// From front to back, as far as nothing hides it.
KP_WALK_FN kp_sprite_layer kp_walk_yarn(const kp_cast_world *world, const kp_walk_path *ray,
                                        float metres) {
  const kp_yarn_view *yarn = &world->scene->yarn;
  kp_sprite_layer layer;
  layer.light = layer.color = kp_rgb_make(0.0f, 0.0f, 0.0f);
  layer.through = 1.0f;
  layer.depth = layer.weight = 0.0f;
  if (!ray->is_of_eye) {
    return layer;
  }
  float from = ray->way / world->length, to = (ray->way + metres) / world->length;
  for (uint32_t k = world->yarn_begin; k < world->yarn_end && layer.through > KP_YARN_OPAQUE; ++k) {
    kp_yarn_quad q = kp_yarn_quad_of(yarn, world->scene->yarn_quads[k]);
    kp_yarn_paint paint = kp_yarn_paint_of(yarn, &q);
    kp_yarn_crossing at;
    if (kp_yarn_cross(yarn, &q, &paint.level, world->x, world->y, &at) && at.depth >= from &&
        at.depth < to) {
      kp_yarn_lay(&q, &paint, &at, &layer);
    }
  }
  if (layer.weight > 0.0f) {
    layer.depth = layer.depth / layer.weight * world->length - ray->way;
    layer.depth = kp_clampf(layer.depth, 0.0f, metres);
  }
  return layer;
}

// What a glossy surface mirrors: as a ray of its own where it is polished and the eye sees it.
KP_FN kp_rgb kp_cast_gloss(kp_walk *w, const kp_walk_path *ray, const kp_cast_point *p,
                           kp_rgb diffuse, float open) {
  const kp_cast_frame *f = w->world->frame;
  float gloss = w->world->scene->materials[p->material].gloss;
  float facing = -kp_f3_dot(p->normal, ray->direction);
  float share = kp_shading_mirrored(facing, gloss, open);
  kp_f3 mirrored = kp_reflect(ray->direction, p->normal);
  if (!(ray->is_of_eye && gloss >= KP_GLOSS_MIRRORS && share >= KP_MIRRORED_LEAST)) {
    return kp_rgb_mix(diffuse, kp_walk_sky(w->world, mirrored), share);
  }
  kp_walk_path out = *ray;
  out.direction = mirrored;
  out.origin = kp_f3_madd(p->position, 10.0f * KP_OPTICS_OFF * f->size, p->normal);
  out.weight = kp_rgb_scale(ray->weight, share);
  out.turns = KP_WALK_TURNS / 2;
  out.is_mirrored = true;
  out.is_of_eye = false;
  w->splits = KP_WALK_SPLITS;
  kp_walk_push(w, &out);
  return kp_rgb_scale(diffuse, 1.0f - share);
}

KP_WALK_FN kp_rgb kp_walk_shade(kp_walk *w, const kp_walk_path *ray, const kp_cast_point *p) {
  const kp_cast_world *world = w->world;
  const kp_cast_scene *s = world->scene;
  const kp_cast_frame *f = world->frame;
  bool is_ground = p->material == KP_CAST_GROUND;
  float cosine = kp_f3_dot(p->normal, f->sun),
        lift = is_ground ? 0.0f : s->materials[p->material].lift;
  float open = ray->is_of_eye ? kp_cast_open(s, f, p, world->x, world->y) : 1.0f;
  float open_to_sun = 0.0f;
  kp_rgb sunlight = kp_rgb_make(0.0f, 0.0f, 0.0f);
  if (cosine > 0.0f || p->is_fibre) {
    float turn = kp_shading_turn(f->index, world->x, world->y);
    sunlight = kp_cast_sunlight(world, p, lift, turn, &open_to_sun);
  }
  kp_rgb ambient = kp_shading_ambient(f->ambient_up, f->ambient_side, f->ambient_down,
                                      kp_f3_dot(p->normal, f->up));
  if (p->is_fibre) {
    kp_fibre fibre;
    fibre.tangent = p->tangent;
    fibre.sun = f->sun;
    fibre.eye = kp_f3_scale(ray->direction, -1.0f);
    fibre.albedo = p->albedo;
    fibre.sunlight = sunlight;
    fibre.ambient = kp_rgb_scale(ambient, open);
    fibre.gloss = s->materials[p->material].gloss;
    fibre.seen = open_to_sun;
    return kp_shading_fibre(&fibre);
  }
  kp_f3 half = kp_f3_normalize(kp_f3_sub(f->sun, ray->direction));
  float peak = kp_f3_dot(p->normal, half);
  if (!is_ground && s->materials[p->material].is_blinn_phong) {
    const kp_cast_material *m = &s->materials[p->material];
    kp_blinn_phong b;
    b.specular = m->specular;
    b.shininess = m->shininess;
    b.ambient = 0.35f * f->sky_strength * open;
    return kp_shading_blinn_phong(&b, p->albedo, sunlight, cosine, peak);
  }
  sunlight = kp_rgb_scale(sunlight, kp_maxf(cosine, 0.0f));
  kp_rgb light = kp_rgb_add(sunlight, kp_rgb_scale(ambient, open));
  light = kp_rgb_add(light, kp_fire_lights_on(s->fire, f->n_fire, p->position, p->normal));
  kp_rgb color = kp_rgb_mul(p->albedo, light);
  if (is_ground) {
    double a, b;
    kp_cast_ground_place(s, p->position, &a, &b);
    return kp_rgb_mix(color, kp_walk_sky(world, ray->direction),
                      kp_shading_ground_fade(a, b, f->fade));
  }
  float gloss = s->materials[p->material].gloss;
  if (gloss > 0.0f) {
    color = kp_cast_gloss(w, ray, p, color, open);
    color = kp_rgb_add(color, kp_rgb_scale(sunlight, kp_shading_highlight(peak, gloss)));
  }
  return color;
}

// ---- kernels

typedef struct cast_pixel_args {
  kp_cast_scene scene;
  kp_cast_frame frame;
  int64_t first;        // pixel of this launch
  kp_volume_ray *rays;  // with many volumes, one for each of them and each pixel of the launch
  float *rgba;
  float *depth;               // along the view, of the first pass
  kp_yarn_station *stations;  // to be lit
} cast_pixel_args;

// The sun on a station of yarn. It moves over its disc from pass to pass and is the same for all of
// them: few passes show no grain.
typedef cast_pixel_args cast_station_args;

KP_FN void cast_station(int64_t i, const cast_station_args *a) {
  const kp_cast_frame *f = &a->frame;
  kp_yarn_station *s = &a->stations[i];
  kp_cast_world world;
  world.scene = &a->scene;
  world.frame = f;
  world.x = world.y = 0;
  world.air = f->air;
  world.air.grids = a->scene.many != NULL ? a->scene.many : a->scene.few;
  world.yarn_begin = world.yarn_end = 0;
  kp_f3 sun = kp_f3_make(kp_f3_dot(f->sun, f->right), kp_f3_dot(f->sun, f->down),
                         kp_f3_dot(f->sun, f->forward));
  kp_f3 place = kp_yarn_lit_place(s, sun);
  kp_cast_point p;
  p.position = kp_f3_madd(f->eye, place.x, f->right);
  p.position = kp_f3_madd(p.position, place.y, f->down);
  p.position = kp_f3_madd(p.position, place.z, f->forward);
  p.normal = p.face = f->sun;
  p.material = s->material;
  p.is_inside = p.is_fibre = false;
  float share, turn = kp_cast_fraction(0.37f + 0.61803399f * (float)f->index);
  s->sunlight = kp_rgb_scale(kp_cast_sunlight(&world, &p, 0.0f, turn, &share), s->across);
}

// One pass of one pixel, added to the picture.
KP_FN void cast_pixel(int64_t at, const cast_pixel_args *a) {
  const kp_cast_frame *f = &a->frame;
  int64_t i = a->first + at;
  kp_cast_world world;
  world.scene = &a->scene;
  world.frame = f;
  world.x = (int)(i % f->width);
  world.y = (int)(i / f->width);
  world.air = f->air;
  world.air.grids = a->scene.many != NULL ? a->scene.many : a->scene.few;
  kp_volume_ray few[KP_CAST_VOLUMES];
  world.volumes = a->scene.many != NULL ? a->rays + at * f->air.n : few;
  world.noise = f->count > 1 ? kp_shading_spread(f->index, world.x, world.y, 5) : 0.5f;
  kp_walk_frame frame;
  frame.size = f->size;
  frame.sun = f->sun;
  frame.sun_color = f->sun_color;
  frame.ambient_up = f->ambient_up;
  frame.least = f->count > 1 ? KP_WALK_LEAST : KP_WALK_PREVIEW;
  frame.fresnel = f->fresnel;
  frame.is_transparent = f->is_transparent;
  kp_f3 d = kp_f3_madd(f->forward, ((float)world.x + 0.5f - f->axis_x) / f->scale, f->right);
  d = kp_f3_madd(d, ((float)world.y + 0.5f - f->axis_y) / f->scale, f->down);
  float length = sqrtf(kp_f3_dot(d, d));
  kp_walk_path ray = kp_walk_path_from(f->eye, kp_f3_scale(d, 1.0f / length));
  ray.is_of_eye = true;
  world.length = length;
  world.yarn_begin = world.yarn_end = 0;
  if (a->scene.yarn_quads != NULL) {
    world.yarn_begin = a->scene.yarn_spans[2 * i];
    world.yarn_end = a->scene.yarn_spans[2 * i + 1];
  }
  if (f->index == 0) {
    kp_ray_hit hit = kp_cast_nearest(&a->scene, ray.origin, ray.direction, HUGE_VALF, KP_RAY_SOLID);
    a->depth[i] = hit.t / length;
  }
  kp_walk walk = kp_walk_start(&world, &frame);
  kp_walk_push(&walk, &ray);
  kp_walk_run(&walk);
  float weight = 1.0f / (float)f->count;
  a->rgba[4 * i] += weight * walk.color.r;
  a->rgba[4 * i + 1] += weight * walk.color.g;
  a->rgba[4 * i + 2] += weight * walk.color.b;
  a->rgba[4 * i + 3] += weight * (f->is_transparent ? kp_clampf(walk.seen, 0.0f, 1.0f) : 1.0f);
}
