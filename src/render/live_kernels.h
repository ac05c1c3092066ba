// A quick picture of particles where they lie (live.h): what one particle and one pixel do.
//
// Nobody writes where another may: particles are sorted by pixel and depth, the first of each pixel
// is the one that is seen there, and every pixel looks around for discs that cover it.
#pragma once

#include <math.h>
#include <string.h>

#include "kelpie/config.h"
#include "par/kernel.h"

#define LIVE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(live, clear)                                                                               \
  POINT(live, project)                                                                             \
  POINT(live, pick)                                                                                \
  POINT(live, resolve)

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

// The first of a pixel, if it is nearer than what other sets have there. Colour by speed: v/(v +
// s).
typedef struct live_pick_args {
  live_view view;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;  // may be NULL: slow
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
  float t = (float)(v / (v + a->speed));
  uint32_t color = 0;
  for (int c = 0; c < 3; ++c) {
    float value = a->slow[c] + t * (a->fast[c] - a->slow[c]);
    color |= (uint32_t)value << 8 * c;
  }
  double radius = a->radius * a->view.scale / (double)depth;
  a->spots.depth[pixel] = depth;
  a->spots.x[pixel] = at[0];
  a->spots.y[pixel] = at[1];
  a->spots.radius[pixel] = radius < LIVE_WIDEST ? (float)radius : (float)LIVE_WIDEST;
  a->spots.color[pixel] = color;
}

// A pixel shows the nearest disc over its middle, darker towards the rim; a disc smaller than a
// pixel covers its own and is as bright as can be.
typedef struct live_resolve_args {
  int32_t width, height;
  int32_t reach;  // pixels, of the largest disc
  uint32_t back;
  live_spots spots;
  uint32_t *pixels;
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
}
