// A quick picture of particles and grids, drawn where they lie: on a card nothing but its pixels
// comes to the host (Bayraktar 2010, section 6.2.4; Lyes 2015, section 7.1). For looking at a run
// while it goes on; pictures to keep are made by render.h.
//
//   kp_live_begin(live, &camera, width, height)
//   kp_live_add(live, &points) for each set
//   kp_live_add_water(live, &water) for each level set, then kp_live_add_smoke for each gas
//   kp_live_read(live, &pixels)
#pragma once

#include "data/mac.h"
#include "render/camera.h"
#include "render/live_kernels.h"

typedef struct kp_live {
  kp_backend *backend;
  live_view view;
  int reach;           // pixels, of the largest disc so far
  kp_buffer spots[5];  // as live_spots, one per pixel
  kp_buffer pixels;    // U32
  kp_buffer nearest;   // depth of what a pixel shows, floats
  bool is_resolved;    // into pixels
  kp_buffer keys, order;
} kp_live;

typedef struct kp_live_points {
  int64_t n;
  kp_buffer *position[3];  // POS
  kp_buffer *velocity[3];  // REAL; NULL: they rest
  kp_buffer *light;        // REAL, 0..1 from `slow` to `fast`; NULL: by speed
  double radius;           // m
  double speed;            // m/s that is half way between the colours
  kp_vec3 slow, fast;      // sRGB, 0..1
} kp_live_points;

// The water of a level set.
typedef struct kp_live_water {
  const kp_mac *mac;
  kp_buffer *distance;   // REAL, of cells
  kp_vec3 sun;           // unit, towards it
  kp_vec3 dark, bright;  // sRGB, 0..1
} kp_live_water;

typedef struct kp_live_smoke {
  const kp_mac *mac;
  kp_buffer *density;   // REAL, of cells; or NULL
  kp_buffer *heat;      // REAL, or NULL
  double from, to;      // heat between which it glows more and more
  double strength;      // per metre and unit of density
  kp_vec3 color, glow;  // sRGB, 0..1
} kp_live_smoke;

void kp_live_init(kp_live *live, kp_backend *backend);
void kp_live_free(kp_live *live);
KP_NODISCARD kp_result kp_live_begin(kp_live *live, const kp_camera *camera, int width, int height);
KP_NODISCARD kp_result kp_live_add(kp_live *live, const kp_live_points *points);
// After all points.
KP_NODISCARD kp_result kp_live_add_water(kp_live *live, const kp_live_water *water);
KP_NODISCARD kp_result kp_live_add_smoke(kp_live *live, const kp_live_smoke *smoke);
// Rows from the top, 0xbbggrr each; valid until the next call.
KP_NODISCARD kp_result kp_live_read(kp_live *live, const uint32_t **pixels);
