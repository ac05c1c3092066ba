// A quick picture of particles and grids where they lie (live.h): what one particle and one pixel
// do.
//
// Nobody writes where another may: particles are sorted by pixel and depth, the first of each pixel
// is the one that is seen there, and every pixel looks around for discs that cover it. Then its ray
// goes through grids: to the surface of a level set, and through smoke with a sum.
#pragma once

#include <math.h>
#include <string.h>

#include "data/mac_sample.h"
#include "par/kernel.h"

#define LIVE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(live, clear)                                                                               \
  POINT(live, project)                                                                             \
  POINT(live, pick)                                                                                \
  POINT(live, resolve)                                                                             \
  POINT(live, water)                                                                               \
  POINT(live, smoke)

#define LIVE_WIDEST 6  // pixels, radius of a disc at most

// A perspective camera; lengths in metres.
typedef struct live_view {
  double eye[3], right[3], up[3], forward[3];
  double scale;  // pixels per unit slope
  double nearest;
  int32_t width, height;
} live_view;

// What is seen in a pixel: the nearest particle whose middle lies in it.
typedef struct live_spots {
  float *depth;     // m; infinite: nothing
  float *x, *y;     // its middle, pixels
  float *radius;    // pixels
  uint32_t *color;  // 0xbbggrr
} live_spots;

typedef struct live_clear_args {
  live_spots spots;
} live_clear_args;

KP_FN void live_clear(int64_t i, const live_clear_args *a) {
  a->spots.depth[i] = HUGE_VALF;
  a->spots.x[i] = a->spots.y[i] = a->spots.radius[i] = 0.0f;
  a->spots.color[i] = 0;
}

// Pixel and depth of a point; the pixel is -1 where it is not seen.
KP_FN int32_t live_place(const live_view *v, const double p[3], float at[2], float *depth) {
  double d[3];
  double x = 0.0;
  double y = 0.0;
  double z = 0.0;
  for (int c = 0; c < 3; ++c) {
    d[c] = p[c] - v->eye[c];
    x += d[c] * v->right[c];
    y -= d[c] * v->up[c];
    z += d[c] * v->forward[c];
  }
  if (!(z > v->nearest)) {
    return -1;
  }
  x = 0.5 * v->width + v->scale * x / z;
  y = 0.5 * v->height + v->scale * y / z;
  if (!(x >= 0.0 && x < v->width && y >= 0.0 && y < v->height)) {
    return -1;
  }
  at[0] = (float)x;
  at[1] = (float)y;
  *depth = (float)z;
  return (int32_t)x + v->width * (int32_t)y;
}

// Keys of particles: pixel, then depth, whose bits are in the order of its values as it is
// positive.
typedef struct live_project_args {
  live_view view;
  const kp_pos *x, *y, *z;
  uint64_t *keys;
  uint32_t *order;
} live_project_args;

KP_FN void live_project(int64_t i, const live_project_args *a) {
  const double p[3] = { a->x[i], a->y[i], a->z[i] };
  float at[2];
  float depth = 0.0f;
  int32_t pixel = live_place(&a->view, p, at, &depth);
  uint32_t bits;
  memcpy(&bits, &depth, sizeof bits);
  // those that are not seen come last
  uint64_t place = pixel < 0 ? (uint64_t)a->view.width * (uint64_t)a->view.height : (uint64_t)pixel;
  a->keys[i] = place << 32 | bits;
  a->order[i] = (uint32_t)i;
}

KP_FN uint32_t live_color(const float dark[3], const float bright[3], float t) {
  uint32_t color = 0;
  for (int c = 0; c < 3; ++c) {
    color |= (uint32_t)(dark[c] + t * (bright[c] - dark[c])) << 8 * c;
  }
  return color;
}

// The first of a pixel, if it is nearer than what other sets have there. Colour by its light, or by
// speed: v/(v + s).
typedef struct live_pick_args {
  live_view view;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;  // may be NULL: slow
  const kp_real *light;         // 0..1, or NULL
  const uint64_t *keys;
  const uint32_t *order;
  double radius;           // m
  double speed;            // s [m/s]
  float slow[3], fast[3];  // 0..255
  live_spots spots;
} live_pick_args;

KP_FN void live_pick(int64_t i, const live_pick_args *a) {
  uint64_t pixel = a->keys[i] >> 32;
  uint64_t n_pixels = (uint64_t)a->view.width * (uint64_t)a->view.height;
  if (pixel >= n_pixels || (i > 0 && a->keys[i - 1] >> 32 == pixel)) {
    return;
  }
  uint32_t particle = a->order[i];
  const double p[3] = { a->x[particle], a->y[particle], a->z[particle] };
  float at[2];
  float depth = 0.0f;
  if (live_place(&a->view, p, at, &depth) < 0 || !(depth < a->spots.depth[pixel])) {
    return;
  }
  double v = 0.0;
  if (a->vx != NULL) {
    double vx = (double)a->vx[particle];
    double vy = (double)a->vy[particle];
    double vz = (double)a->vz[particle];
    v = sqrt(vx * vx + vy * vy + vz * vz);
  }
  float t = a->light != NULL ? (float)a->light[particle] : (float)(v / (v + a->speed));
  double radius = a->radius * a->view.scale / (double)depth;
  a->spots.depth[pixel] = depth;
  a->spots.x[pixel] = at[0];
  a->spots.y[pixel] = at[1];
  a->spots.radius[pixel] = radius < LIVE_WIDEST ? (float)radius : (float)LIVE_WIDEST;
  a->spots.color[pixel] = live_color(a->slow, a->fast, t);
}

// A pixel shows the nearest disc over its middle, darker towards the rim; a disc smaller than a
// pixel covers its own and is as bright as can be.
typedef struct live_resolve_args {
  int32_t width, height;
  int32_t reach;  // pixels, of the largest disc
  uint32_t back;
  live_spots spots;
  uint32_t *pixels;
  float *nearest;  // depth of what a pixel shows [m]
} live_resolve_args;

KP_FN uint32_t live_shade(uint32_t color, float light) {
  uint32_t out = 0;
  for (int c = 0; c < 3; ++c) {
    out |= (uint32_t)((float)(color >> 8 * c & 255u) * light) << 8 * c;
  }
  return out;
}

KP_FN void live_resolve(int64_t i, const live_resolve_args *a) {
  int32_t x = (int32_t)(i % a->width);
  int32_t y = (int32_t)(i / a->width);
  float nearest = HUGE_VALF;
  uint32_t color = a->back;
  for (int32_t dy = -a->reach; dy <= a->reach; ++dy) {
    for (int32_t dx = -a->reach; dx <= a->reach; ++dx) {
      int32_t u = x + dx;
      int32_t v = y + dy;
      if (u < 0 || v < 0 || u >= a->width || v >= a->height) {
        continue;
      }
      int64_t spot = u + (int64_t)a->width * v;
      float depth = a->spots.depth[spot];
      if (!(depth < nearest)) {
        continue;
      }
      float r = a->spots.radius[spot];
      float sx = (float)x + 0.5f - a->spots.x[spot];
      float sy = (float)y + 0.5f - a->spots.y[spot];
      float share = (sx * sx + sy * sy) / (r * r);
      int is_own = dx == 0 && dy == 0;
      if (share < 1.0f || is_own) {
        nearest = depth;
        float rim = share < 1.0f ? share : 1.0f;
        color = live_shade(a->spots.color[spot], r > 1.0f ? 1.0f - 0.5f * rim : 1.0f);
      }
    }
  }
  a->pixels[i] = color;
  a->nearest[i] = nearest;
}

// ---- grids

#define LIVE_STEPS 2000  // of a ray at most

// A grid inside its window.
typedef struct live_grid {
  kp_mac_view g;
  int32_t lo[3], hi[3];  // cells, hi exclusive
} live_grid;

// A ray of a pixel: eye + t direction lies at the depth t.
typedef struct live_ray {
  double eye[3], direction[3];
  double length;        // of the direction
  double enter, leave;  // depths at which it is in the grid; leave <= enter: never
} live_ray;

KP_FN live_ray live_ray_of(const live_view *v, const live_grid *grid, int64_t pixel) {
  live_ray r;
  double x = ((double)(pixel % v->width) + 0.5 - 0.5 * v->width) / v->scale;
  double y = ((double)(pixel / v->width) + 0.5 - 0.5 * v->height) / v->scale;
  double square = 0.0;
  r.enter = v->nearest;
  r.leave = HUGE_VAL;
  for (int c = 0; c < 3; ++c) {
    double d = v->forward[c] + x * v->right[c] - y * v->up[c];
    double lo = grid->g.lo[c] + grid->g.cell * grid->lo[c] - v->eye[c];
    double hi = grid->g.lo[c] + grid->g.cell * grid->hi[c] - v->eye[c];
    d = fabs(d) > 1e-12 ? d : 1e-12;
    double first = d > 0.0 ? lo / d : hi / d, last = d > 0.0 ? hi / d : lo / d;
    r.enter = first > r.enter ? first : r.enter;
    r.leave = last < r.leave ? last : r.leave;
    r.eye[c] = v->eye[c];
    r.direction[c] = d;
    square += d * d;
  }
  r.length = sqrt(square);
  return r;
}

KP_FN double live_value(const kp_mac_view *g, const kp_real *values, const live_ray *r, double t) {
  return (double)kp_mac_linear(g, values,
                               kp_mac_point_at(g, KP_MAC_CELL, r->eye[0] + t * r->direction[0],
                                               r->eye[1] + t * r->direction[1],
                                               r->eye[2] + t * r->direction[2]));
}

// Steps of at most half a cell from `enter` to `end`.
KP_FN int32_t live_count_steps(const live_grid *grid, const live_ray *r, double end) {
  double n = ceil(2.0 * (end - r->enter) * r->length / grid->g.cell);
  return n < 1.0 ? 1 : n > LIVE_STEPS ? LIVE_STEPS : (int32_t)n;
}

// The surface of a level set, if it lies before what was drawn.
typedef struct live_water_args {
  live_view view;
  live_grid grid;
  const kp_real *distance;
  double sun[3];             // towards it
  float dark[3], bright[3];  // 0..255
  float *nearest;
  uint32_t *pixels;
} live_water_args;

// How bright a surface is: by the cosine between its normal, the slope of the distance, and the
// sun. Where a wall cuts the water there is none.
KP_FN float live_water_light(const live_water_args *a, const live_ray *r, double t) {
  const kp_mac_view *g = &a->grid.g;
  double slope[3], square = 0.0, light = 0.0;
  for (int c = 0; c < 3; ++c) {
    double p[3] = { r->eye[0] + t * r->direction[0], r->eye[1] + t * r->direction[1],
                    r->eye[2] + t * r->direction[2] };
    p[c] += g->cell;
    double ahead =
        (double)kp_mac_linear(g, a->distance, kp_mac_point_at(g, KP_MAC_CELL, p[0], p[1], p[2]));
    p[c] -= 2.0 * g->cell;
    double back =
        (double)kp_mac_linear(g, a->distance, kp_mac_point_at(g, KP_MAC_CELL, p[0], p[1], p[2]));
    slope[c] = ahead - back;
    square += slope[c] * slope[c];
    light += slope[c] * a->sun[c];
  }
  light = square > 0.0 ? light / sqrt(square) : 0.0;
  return (float)(0.5 + 0.5 * light);
}

KP_FN void live_water(int64_t i, const live_water_args *a) {
  live_ray r = live_ray_of(&a->view, &a->grid, i);
  double end = (double)a->nearest[i] < r.leave ? (double)a->nearest[i] : r.leave;
  if (!(end > r.enter)) {
    return;
  }
  int32_t n = live_count_steps(&a->grid, &r, end);
  double step = (end - r.enter) / n, before = 1.0;
  for (int32_t k = 0; k <= n; ++k) {
    double t = r.enter + k * step, value = live_value(&a->grid.g, a->distance, &r, t);
    if (value < 0.0) {
      t -= k > 0 ? step * value / (value - before) : 0.0;
      a->nearest[i] = (float)t;
      a->pixels[i] = live_color(a->dark, a->bright, live_water_light(a, &r, t));
      return;
    }
    before = value;
  }
}

// Smoke dims what is behind it by exp(-strength sum density) and shows its own colour; what is hot
// or burns glows.
typedef struct live_smoke_args {
  live_view view;
  live_grid grid;
  const kp_real *density;
  const kp_real *heat;      // or NULL
  double from, to;          // between these it glows more and more
  double strength;          // per metre
  float color[3], glow[3];  // 0..255
  const float *nearest;
  uint32_t *pixels;
} live_smoke_args;

KP_FN void live_smoke(int64_t i, const live_smoke_args *a) {
  live_ray r = live_ray_of(&a->view, &a->grid, i);
  double end = (double)a->nearest[i] < r.leave ? (double)a->nearest[i] : r.leave;
  if (!(end > r.enter)) {
    return;
  }
  int32_t n = live_count_steps(&a->grid, &r, end);
  double step = (end - r.enter) / n, metres = step * r.length, left = 1.0;
  float light[3] = { 0.0f, 0.0f, 0.0f };
  for (int32_t k = 0; k < n && left > 0.004; ++k) {
    double t = r.enter + (k + 0.5) * step, hot = 0.0;
    double density = a->density != NULL ? live_value(&a->grid.g, a->density, &r, t) : 0.0;
    if (a->heat != NULL) {
      hot = (live_value(&a->grid.g, a->heat, &r, t) - a->from) / (a->to - a->from);
      hot = hot > 0.0 ? (hot < 1.0 ? hot : 1.0) : 0.0;
    }
    density = density > 0.0 ? density : 0.0;
    double part = left * (1.0 - exp(-a->strength * (density + hot) * metres));
    float share = (float)(density + hot > 0.0 ? hot / (density + hot) : 0.0);
    for (int c = 0; c < 3; ++c) {
      light[c] += (float)part * (a->color[c] + share * (a->glow[c] - a->color[c]));
    }
    left -= part;
  }
  uint32_t color = 0;
  for (int c = 0; c < 3; ++c) {
    float back = (float)(a->pixels[i] >> 8 * c & 255u);
    color |= (uint32_t)((float)left * back + light[c]) << 8 * c;
  }
  a->pixels[i] = color;
}
