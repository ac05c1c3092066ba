// Rays against trees of triangles, balls and strokes: what one ray does, on the CPU and on a card.
//
// A tree is 8 wide. A node holds the boxes of its children side by side, a leaf is one block of up
// to 8 primitives side by side, so both tests are loops over 8 lanes that the compiler turns into
// vector code. The walk has no recursion: children that are hit go onto a fixed stack, the nearest
// on top (Wald et al. 2008, "Getting Rid of Packets").
//
//   node  | lo.x[8] lo.y[8] lo.z[8] hi.x[8] ... | child[8] | mask[8] |
//                                                     child: node, or LEAF + block
//
// Boxes are padded and the slabs are stretched (Ize 2013, "Robust BVH Ray Traversal"), so a walk
// finds exactly what a loop over all primitives finds: the smallest t, among equals the triangle
// before the ball before the stroke and the smaller number. All in float, in coordinates around the
// middle of the scene.
#pragma once

#include <math.h>
#include <stdint.h>

#include "par/kernel.h"
#include "render/f3.h"

#define KP_RAY_LANES 8
#define KP_RAY_LEAF 0x80000000u
#define KP_RAY_NOTHING 0xffffffffu
#define KP_RAY_STACK 192  // 7 per level; see DEPTH_LIMIT in ray_scene.c

typedef enum kp_ray_kind {
  KP_RAY_MISS,
  KP_RAY_TRIANGLE,
  KP_RAY_BALL,
  KP_RAY_STROKE,
  KP_RAY_GROUND
} kp_ray_kind;

// Which primitives a ray meets: those with a common bit.
typedef enum kp_ray_mask {
  KP_RAY_SEEN = 1,    // drawn
  KP_RAY_CASTER = 2,  // stops the light of the sun
  KP_RAY_SOLID = 4,   // not to be seen through
  KP_RAY_SPRITE = 8,  // light or a puff, without a surface
  KP_RAY_EYE = 16,    // seen by the eye alone: the outline of the bounds
  KP_RAY_YARN = 32,   // a stroke for all but the eye, which sees it as quads
  KP_RAY_ALL = 7      // surfaces
} kp_ray_mask;

typedef struct kp_ray {
  kp_f3 origin;
  float t_min;
  kp_f3 direction;  // of any length but zero
  float t_max;
  uint32_t mask;
} kp_ray;

typedef struct kp_ray_hit {
  float t;        // origin + t direction; HUGE_VALF where nothing was met
  float u, v;     // triangles: weights of corners 1 and 2; strokes: u along it, 0..1
  uint32_t kind;  // kp_ray_kind
  uint32_t id;    // number of the primitive among its kind
  uint32_t lane;  // of its block, counted over all blocks
} kp_ray_hit;

typedef struct kp_ray_node {
  float low[3][KP_RAY_LANES], high[3][KP_RAY_LANES];
  uint32_t child[KP_RAY_LANES];
  uint8_t mask[KP_RAY_LANES];  // all bits of what is below
} kp_ray_node;

// Empty lanes have the id KP_RAY_NOTHING and mask 0.
typedef struct kp_ray_triangles {
  float corner[3][3][KP_RAY_LANES];  // corner, axis
  uint32_t id[KP_RAY_LANES], mask[KP_RAY_LANES];
} kp_ray_triangles;

typedef struct kp_ray_balls {
  float center[3][KP_RAY_LANES], radius[KP_RAY_LANES];
  uint32_t id[KP_RAY_LANES], mask[KP_RAY_LANES];
} kp_ray_balls;

typedef struct kp_ray_strokes {
  float end[2][3][KP_RAY_LANES], radius[KP_RAY_LANES];
  uint32_t id[KP_RAY_LANES], mask[KP_RAY_LANES];
} kp_ray_strokes;

// Node 0 of each tree is its root; NULL: no such primitives.
typedef struct kp_ray_view {
  const kp_ray_node *triangle_nodes, *ball_nodes, *stroke_nodes;
  const kp_ray_triangles *triangles;
  const kp_ray_balls *balls;
  const kp_ray_strokes *strokes;
  float ground;  // height of the plane, seen from above; -HUGE_VALF: none
  int32_t up;    // its axis, 1 or 2
} kp_ray_view;

#define RAY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  POINT(ray, nearest)                                                                              \
  POINT(ray, any)

// What is the same for all boxes and primitives that a ray meets.
typedef struct kp_ray_frame {
  float o[3], d[3], inverse[3];
  int kx, ky, kz;  // axes in which the ray runs along z (Woop, Benthin and Wald 2013)
  float sx, sy, sz;
  float t_min;
  uint32_t mask;
} kp_ray_frame;

KP_FN float kp_ray_inverse(float d) {
  const float least = 1e-20f;
  float safe = d < 0.0f ? (d > -least ? -least : d) : (d < least ? least : d);
  return 1.0f / safe;
}

KP_FN kp_ray_frame kp_ray_prepare(const kp_ray *ray) {
  kp_ray_frame f;
  f.o[0] = ray->origin.x;
  f.o[1] = ray->origin.y;
  f.o[2] = ray->origin.z;
  f.d[0] = ray->direction.x;
  f.d[1] = ray->direction.y;
  f.d[2] = ray->direction.z;
  for (int a = 0; a < 3; ++a) {
    f.inverse[a] = kp_ray_inverse(f.d[a]);
  }
  float ax = fabsf(f.d[0]), ay = fabsf(f.d[1]), az = fabsf(f.d[2]);
  f.kz = ax > ay ? (ax > az ? 0 : 2) : (ay > az ? 1 : 2);
  f.kx = f.kz == 2 ? 0 : f.kz + 1;
  f.ky = f.kx == 2 ? 0 : f.kx + 1;
  if (f.d[f.kz] < 0.0f) {
    int swap = f.kx;
    f.kx = f.ky;
    f.ky = swap;
  }
  f.sx = f.d[f.kx] / f.d[f.kz];
  f.sy = f.d[f.ky] / f.d[f.kz];
  f.sz = 1.0f / f.d[f.kz];
  f.t_min = ray->t_min;
  f.mask = ray->mask;
  return f;
}

// Where the ray enters each child, HUGE_VALF where it passes by or comes behind t_max.
KP_FN void kp_ray_boxes(const kp_ray_node *node, const kp_ray_frame *f, float t_max, float *enter) {
  const float *near_x = f->inverse[0] >= 0.0f ? node->low[0] : node->high[0];
  const float *near_y = f->inverse[1] >= 0.0f ? node->low[1] : node->high[1];
  const float *near_z = f->inverse[2] >= 0.0f ? node->low[2] : node->high[2];
  const float *far_x = f->inverse[0] >= 0.0f ? node->high[0] : node->low[0];
  const float *far_y = f->inverse[1] >= 0.0f ? node->high[1] : node->low[1];
  const float *far_z = f->inverse[2] >= 0.0f ? node->high[2] : node->low[2];
  float ox = f->o[0], oy = f->o[1], oz = f->o[2];
  float ix = f->inverse[0], iy = f->inverse[1], iz = f->inverse[2];
  float t_min = f->t_min;
  for (int k = 0; k < KP_RAY_LANES; ++k) {
    float nx = (near_x[k] - ox) * ix, fx = (far_x[k] - ox) * ix;
    float ny = (near_y[k] - oy) * iy, fy = (far_y[k] - oy) * iy;
    float nz = (near_z[k] - oz) * iz, fz = (far_z[k] - oz) * iz;
    float n = nx > ny ? nx : ny, m = fx < fy ? fx : fy;
    n = n > nz ? n : nz;
    m = m < fz ? m : fz;
    n = n * 0.9999995f;
    n = n > t_min ? n : t_min;
    m = m * 1.0000005f;
    m = m < t_max ? m : t_max;
    enter[k] = n <= m ? n : HUGE_VALF;
  }
}

// ---- lanes: t of each primitive of a block, HUGE_VALF where it is missed

// a x b in double, where products of floats are exact: its sign is right, so that a triangle seen
// edge on is not met beside itself, and it is -(b x a) to the bit, so that a ray through an edge
// meets one of its triangles.
KP_FN double kp_ray_edge(float ax, float ay, float bx, float by) {
  return (double)ax * (double)by - (double)ay * (double)bx;
}

KP_FN void kp_ray_triangle_lanes(const kp_ray_triangles *b, const kp_ray_frame *f, float *t) {
  const float *p0x = b->corner[0][f->kx], *p0y = b->corner[0][f->ky], *p0z = b->corner[0][f->kz];
  const float *p1x = b->corner[1][f->kx], *p1y = b->corner[1][f->ky], *p1z = b->corner[1][f->kz];
  const float *p2x = b->corner[2][f->kx], *p2y = b->corner[2][f->ky], *p2z = b->corner[2][f->kz];
  float ox = f->o[f->kx], oy = f->o[f->ky], oz = f->o[f->kz];
  float sx = f->sx, sy = f->sy, sz = f->sz, t_min = f->t_min;
  for (int k = 0; k < KP_RAY_LANES; ++k) {
    float az = p0z[k] - oz, bz = p1z[k] - oz, cz = p2z[k] - oz;
    float ax = p0x[k] - ox - sx * az, ay = p0y[k] - oy - sy * az;
    float bx = p1x[k] - ox - sx * bz, by = p1y[k] - oy - sy * bz;
    float cx = p2x[k] - ox - sx * cz, cy = p2y[k] - oy - sy * cz;
    double u = kp_ray_edge(cx, cy, bx, by), v = kp_ray_edge(ax, ay, cx, cy);
    double w = kp_ray_edge(bx, by, ax, ay), det = u + v + w;
    double low = u < v ? u : v, high = u > v ? u : v;
    low = low < w ? low : w;
    high = high > w ? high : w;
    float at = (float)((u * (double)az + v * (double)bz + w * (double)cz) * (double)sz / det);
    int inside = (low >= 0.0) | (high <= 0.0);
    int good = inside & (det != 0.0) & (at >= t_min);
    t[k] = good ? at : HUGE_VALF;
  }
}

// The near side, or the far one from within. The distance to the ray is taken before it is squared,
// which keeps small balls far away round.
KP_FN void kp_ray_ball_lanes(const kp_ray_balls *b, const kp_ray_frame *f, float *t) {
  float ox = f->o[0], oy = f->o[1], oz = f->o[2], dx = f->d[0], dy = f->d[1], dz = f->d[2];
  float dd = dx * dx + dy * dy + dz * dz, scale = 1.0f / dd, t_min = f->t_min;
  for (int k = 0; k < KP_RAY_LANES; ++k) {
    float cx = b->center[0][k] - ox, cy = b->center[1][k] - oy, cz = b->center[2][k] - oz;
    float middle = (cx * dx + cy * dy + cz * dz) * scale;
    float qx = cx - middle * dx, qy = cy - middle * dy, qz = cz - middle * dz;
    float r = b->radius[k];
    float inside = r * r - (qx * qx + qy * qy + qz * qz);
    float half = sqrtf((inside > 0.0f ? inside : 0.0f) * scale);
    float first = middle - half, last = middle + half;
    float at = first >= t_min ? first : last;
    int good = (inside >= 0.0f) & (at >= t_min);
    t[k] = good ? at : HUGE_VALF;
  }
}

// Where a ball is entered, from a start beside it; HUGE_VALF: missed. `c` leads there from the
// start.
KP_FN float kp_ray_enter_ball(kp_f3 c, kp_f3 d, float dd, float r) {
  float middle = kp_f3_dot(c, d) / dd;
  kp_f3 q = kp_f3_madd(c, -middle, d);
  float inside = r * r - kp_f3_dot(q, q);
  return inside >= 0.0f ? middle - sqrtf(inside / dd) : HUGE_VALF;
}

// A round stroke from the outside: a cylinder about the axis e = b - a, met where
// |(o + t d - a) x e| = r |e|, and balls at its ends. The start is moved beside the stroke and
// distances are taken before they are squared: a thin stroke would drown in the squares of the way.
KP_FN float kp_ray_stroke_at(const float *a, const float *b, float r, const kp_ray_frame *f) {
  kp_f3 d = kp_f3_make(f->d[0], f->d[1], f->d[2]), o = kp_f3_make(f->o[0], f->o[1], f->o[2]);
  kp_f3 p = kp_f3_make(a[0], a[1], a[2]), q = kp_f3_make(b[0], b[1], b[2]);
  kp_f3 e = kp_f3_sub(q, p);
  float dd = kp_f3_dot(d, d), ee = kp_f3_dot(e, e);
  float start = kp_f3_dot(kp_f3_sub(kp_f3_scale(kp_f3_add(p, q), 0.5f), o), d) / dd;
  o = kp_f3_madd(o, start, d);
  kp_f3 from_a = kp_f3_sub(o, p);
  kp_f3 n = kp_f3_cross(d, e);
  float nn = kp_f3_dot(n, n), off = kp_f3_dot(from_a, n);
  float root = r * r * nn - off * off;
  if (root < 0.0f) {
    return HUGE_VALF;
  }
  float best = HUGE_VALF;
  if (nn > 1e-10f * ee * dd) {
    float t = -(kp_f3_dot(kp_f3_cross(from_a, e), n) + sqrtf(ee * root)) / nn;
    float y = kp_f3_dot(kp_f3_madd(from_a, t, d), e);
    best = y > 0.0f && y < ee ? t : HUGE_VALF;
  }
  if (best == HUGE_VALF) {
    float ta = kp_ray_enter_ball(kp_f3_sub(p, o), d, dd, r);
    float tb = kp_ray_enter_ball(kp_f3_sub(q, o), d, dd, r);
    best = ta < tb ? ta : tb;
  }
  best += start;
  return best >= f->t_min ? best : HUGE_VALF;
}

KP_FN void kp_ray_stroke_lanes(const kp_ray_strokes *b, const kp_ray_frame *f, float *t) {
  for (int k = 0; k < KP_RAY_LANES; ++k) {
    float p[3], q[3];
    for (int c = 0; c < 3; ++c) {
      p[c] = b->end[0][c][k];
      q[c] = b->end[1][c][k];
    }
    t[k] = b->id[k] == KP_RAY_NOTHING ? HUGE_VALF : kp_ray_stroke_at(p, q, b->radius[k], f);
  }
}

KP_FN void kp_ray_block(const kp_ray_view *s, int kind, uint32_t block, const kp_ray_frame *f,
                        kp_ray_hit *best) {
  float t[KP_RAY_LANES];
  const uint32_t *ids, *masks;
  if (kind == KP_RAY_TRIANGLE) {
    ids = s->triangles[block].id;
    masks = s->triangles[block].mask;
    kp_ray_triangle_lanes(&s->triangles[block], f, t);
  } else if (kind == KP_RAY_BALL) {
    ids = s->balls[block].id;
    masks = s->balls[block].mask;
    kp_ray_ball_lanes(&s->balls[block], f, t);
  } else {
    ids = s->strokes[block].id;
    masks = s->strokes[block].mask;
    kp_ray_stroke_lanes(&s->strokes[block], f, t);
  }
  for (int k = 0; k < KP_RAY_LANES; ++k) {
    bool nearer = t[k] < best->t;
    bool equal = t[k] == best->t && best->kind == (uint32_t)kind && ids[k] < best->id;
    if ((nearer || equal) && (masks[k] & f->mask) != 0) {
      best->t = t[k];
      best->kind = (uint32_t)kind;
      best->id = ids[k];
      best->lane = block * KP_RAY_LANES + (uint32_t)k;
    }
  }
}

// Nearest primitive of one kind before best->t; with `any`, the first one that comes along.
KP_FN void kp_ray_walk(const kp_ray_view *s, int kind, const kp_ray_node *nodes,
                       const kp_ray_frame *f, bool any, kp_ray_hit *best) {
  struct {
    uint32_t child;
    float t;
  } stack[KP_RAY_STACK];
  int n = 0;
  uint32_t at = 0;
  for (;;) {
    if ((at & KP_RAY_LEAF) != 0) {
      kp_ray_block(s, kind, at & ~KP_RAY_LEAF, f, best);
      if (any && best->kind != KP_RAY_MISS) {
        return;
      }
    } else {
      float enter[KP_RAY_LANES];
      kp_ray_boxes(&nodes[at], f, best->t, enter);
      int first = n;
      for (int k = 0; k < KP_RAY_LANES; ++k) {
        if (enter[k] < HUGE_VALF && (nodes[at].mask[k] & f->mask) != 0) {
          // the nearest comes on top
          int place = n++;
          while (place > first && stack[place - 1].t < enter[k]) {
            stack[place] = stack[place - 1];
            --place;
          }
          stack[place].child = nodes[at].child[k];
          stack[place].t = enter[k];
        }
      }
    }
    do {
      if (n == 0) {
        return;
      }
      --n;
    } while (stack[n].t > best->t);
    at = stack[n].child;
  }
}

// Parameter of the axis of a stroke next to a point, 0..1.
KP_FN float kp_ray_stroke_place(const kp_ray_strokes *b, int k, const kp_ray_frame *f, float t) {
  float up = 0.0f, down = 0.0f;
  for (int c = 0; c < 3; ++c) {
    float axis = b->end[1][c][k] - b->end[0][c][k];
    up += axis * (f->o[c] + t * f->d[c] - b->end[0][c][k]);
    down += axis * axis;
  }
  float place = down > 0.0f ? up / down : 0.0f;
  return place < 0.0f ? 0.0f : place > 1.0f ? 1.0f : place;
}

// Weights of the corners where a triangle was hit.
KP_FN void kp_ray_triangle_weights(const kp_ray_triangles *b, int k, const kp_ray_frame *f,
                                   float *u, float *v) {
  float x[3], y[3];
  for (int c = 0; c < 3; ++c) {
    float z = b->corner[c][f->kz][k] - f->o[f->kz];
    x[c] = b->corner[c][f->kx][k] - f->o[f->kx] - f->sx * z;
    y[c] = b->corner[c][f->ky][k] - f->o[f->ky] - f->sy * z;
  }
  double w0 = kp_ray_edge(x[2], y[2], x[1], y[1]), w1 = kp_ray_edge(x[0], y[0], x[2], y[2]);
  double w2 = kp_ray_edge(x[1], y[1], x[0], y[0]), sum = w0 + w1 + w2;
  *u = (float)(w1 / sum);
  *v = (float)(w2 / sum);
}

KP_FN void kp_ray_ground(const kp_ray_view *s, const kp_ray_frame *f, kp_ray_hit *best) {
  if (s->ground > -HUGE_VALF && f->d[s->up] < 0.0f) {
    float t = (s->ground - f->o[s->up]) / f->d[s->up];
    if (t >= f->t_min && t < best->t) {
      best->t = t;
      best->kind = KP_RAY_GROUND;
      best->id = 0;
    }
  }
}

KP_FN kp_ray_hit kp_ray_query(const kp_ray_view *s, const kp_ray *ray, bool any) {
  kp_ray_hit best;
  best.t = ray->t_max;
  best.u = best.v = 0.0f;
  best.kind = KP_RAY_MISS;
  best.id = KP_RAY_NOTHING;
  best.lane = 0;
  kp_ray_frame f = kp_ray_prepare(ray);
  if (s->triangle_nodes != NULL) {
    kp_ray_walk(s, KP_RAY_TRIANGLE, s->triangle_nodes, &f, any, &best);
  }
  if (s->ball_nodes != NULL && !(any && best.kind != KP_RAY_MISS)) {
    kp_ray_walk(s, KP_RAY_BALL, s->ball_nodes, &f, any, &best);
  }
  if (s->stroke_nodes != NULL && !(any && best.kind != KP_RAY_MISS)) {
    kp_ray_walk(s, KP_RAY_STROKE, s->stroke_nodes, &f, any, &best);
  }
  if (any) {
    return best;
  }
  kp_ray_ground(s, &f, &best);
  uint32_t block = best.lane / KP_RAY_LANES;
  int lane = (int)(best.lane % KP_RAY_LANES);
  if (best.kind == KP_RAY_MISS) {
    best.t = HUGE_VALF;
  } else if (best.kind == KP_RAY_TRIANGLE) {
    kp_ray_triangle_weights(&s->triangles[block], lane, &f, &best.u, &best.v);
  } else if (best.kind == KP_RAY_STROKE) {
    best.u = kp_ray_stroke_place(&s->strokes[block], lane, &f, best.t);
  }
  return best;
}

// ---- kernels

// The nearest primitive of each ray.
typedef struct ray_nearest_args {
  kp_ray_view scene;
  const kp_ray *rays;
  kp_ray_hit *hits;
} ray_nearest_args;

KP_FN void ray_nearest(int64_t i, const ray_nearest_args *a) {
  a->hits[i] = kp_ray_query(&a->scene, &a->rays[i], false);
}

// Whether something stands between t_min and t_max of each ray; the ground does not count.
typedef struct ray_any_args {
  kp_ray_view scene;
  const kp_ray *rays;
  int32_t *blocked;
} ray_any_args;

KP_FN void ray_any(int64_t i, const ray_any_args *a) {
  a->blocked[i] = kp_ray_query(&a->scene, &a->rays[i], true).kind != KP_RAY_MISS ? 1 : 0;
}
