// Smoke and fire on dense grids as rays see them, on the CPU and on a card: values between cells,
// where a ray meets a grid, and how much of the sun passes. Places are in any space: each grid says
// where it lies in that.
#pragma once

#include "render/colormap.h"
#include "render/f3.h"

#ifdef __CUDACC__
#define KP_MARCH_FN static __host__ __device__ __noinline__
#else
#define KP_MARCH_FN static inline
#endif

#define KP_SCATTERINGS 3  // orders of scattering that are told apart
#define KP_EMISSION_STEPS 512
#define KP_WARM_CELLS 8  // edge of a cell in which the light of flames is kept, in cells

typedef struct kp_light_depth {
  float sun, up;  // optical depth towards the sun and upwards
} kp_light_depth;

typedef struct kp_volume_grid {
  const float *density, *emission, *scalar;  // per cell; the last two may be NULL
  const kp_light_depth *light;               // per cell
  const kp_rgb *warm;                        // light of flames, in coarse cells, or NULL
  const kp_rgb *glow;                        // light by scalar, as it is seen, from glow_first on
  int32_t n[3], n_warm[3], glow_first;
  float extinction;  // per unit density and cell edge
  float opacity;     // the same along a ray, which passes a single layer for its depth
  float strength;    // of the emission, per unit and metre
  float cell;        // [m]
  float anisotropy;
  float glow_min, glow_scale;
  kp_rgb scatter;
  int32_t is_once;               // scattering
  int32_t is_sliced;             // drawn by slices
  int32_t is_hot;                // gives off as it takes out
  kp_f3 origin;                  // grid coordinates of the origin of the space
  kp_f3 axis_x, axis_y, axis_z;  // and per metre along its axes
  kp_f3 sun;                     // and towards the sun
  float sun_step;                // way through one layer of cells towards the sun [cells]
} kp_volume_grid;

// All of them, and the light they are in.
typedef struct kp_volume_air {
  const kp_volume_grid *grids;
  int32_t n;
  float coarse;  // length of a step [cells]
  kp_f3 sun;
  kp_rgb sun_color, ambient_up, ambient_side, ambient_down;
} kp_volume_air;

typedef struct kp_volume_ray {
  kp_f3 start, step;            // grid coordinates at t: start + t step
  float enter, leave;           // enter >= leave misses
  float phase[KP_SCATTERINGS];  // of the angle between ray and sun; 1 for light to all sides
} kp_volume_ray;

// A short way through a volume.
typedef struct kp_volume_place {
  kp_f3 grid, view;  // its middle
  float metres;
  float sun_depth;  // optical depth towards the sun; < 0: as swept
  const float *phase;
} kp_volume_place;

// What a short way through all volumes does to the light.
typedef struct kp_volume_step {
  float taken;               // optical depth
  kp_rgb gathered, emitted;  // light by what is taken, and besides it
  float sun_open;            // before solids; < 0: not looked up yet
} kp_volume_step;

typedef struct kp_march {
  kp_f3 origin;
  kp_f3 direction;  // (u, v, 1) for the eye of the rasteriser, whose way then counts in depth
  kp_volume_ray *rays;
  float length;  // of direction
  float noise;
  kp_rgb color;  // gathered so far
  float transmittance;
} kp_march;

// A part of the flames as a small ball of light.
typedef struct kp_fire_light {
  kp_f3 at;
  float radius;  // [m]
  kp_rgb power;  // of the light on a white sheet at 1 m that faces it
} kp_fire_light;

// ---- values between cells

// The eight cells around a point and its place between them.
typedef struct kp_volume_corners {
  int64_t at;          // lowest cell
  int64_t dx, dy, dz;  // steps to the others; 0 at the rim
  float fx, fy, fz;
} kp_volume_corners;

KP_FN int kp_volume_split(float g, int n, float *fraction) {
  float v = kp_clampf(g - 0.5f, 0.0f, (float)(n - 1));
  int i = (int)v;
  i = i > n - 2 ? (n > 1 ? n - 2 : 0) : i;
  *fraction = v - (float)i;
  return i;
}

KP_FN kp_volume_corners kp_volume_find(const int32_t *n, kp_f3 g) {
  kp_volume_corners c;
  int i = kp_volume_split(g.x, n[0], &c.fx), j = kp_volume_split(g.y, n[1], &c.fy);
  int k = kp_volume_split(g.z, n[2], &c.fz);
  int64_t row = n[0], slab = (int64_t)n[0] * n[1];
  c.at = i + row * j + slab * k;
  c.dx = n[0] > 1 ? 1 : 0;
  c.dy = n[1] > 1 ? row : 0;
  c.dz = n[2] > 1 ? slab : 0;
  return c;
}

KP_FN float kp_volume_lerp(float a, float b, float t) {
  return a + t * (b - a);
}

KP_FN float kp_volume_face(const float *p, const kp_volume_corners *c) {
  return kp_volume_lerp(kp_volume_lerp(p[0], p[c->dx], c->fx),
                        kp_volume_lerp(p[c->dy], p[c->dx + c->dy], c->fx), c->fy);
}

KP_FN float kp_volume_sample(const float *values, const kp_volume_corners *c) {
  const float *p = values + c->at;
  return kp_volume_lerp(kp_volume_face(p, c), kp_volume_face(p + c->dz, c), c->fz);
}

KP_FN kp_light_depth kp_volume_mix_depth(kp_light_depth a, kp_light_depth b, float t) {
  kp_light_depth d;
  d.sun = kp_volume_lerp(a.sun, b.sun, t);
  d.up = kp_volume_lerp(a.up, b.up, t);
  return d;
}

KP_FN kp_light_depth kp_volume_depth_face(const kp_light_depth *p, const kp_volume_corners *c) {
  return kp_volume_mix_depth(kp_volume_mix_depth(p[0], p[c->dx], c->fx),
                             kp_volume_mix_depth(p[c->dy], p[c->dx + c->dy], c->fx), c->fy);
}

KP_FN kp_light_depth kp_volume_sample_depth(const kp_light_depth *values,
                                            const kp_volume_corners *c) {
  const kp_light_depth *p = values + c->at;
  return kp_volume_mix_depth(kp_volume_depth_face(p, c), kp_volume_depth_face(p + c->dz, c), c->fz);
}

KP_FN kp_rgb kp_volume_color_face(const kp_rgb *p, const kp_volume_corners *c) {
  return kp_rgb_mix(kp_rgb_mix(p[0], p[c->dx], c->fx),
                    kp_rgb_mix(p[c->dy], p[c->dx + c->dy], c->fx), c->fy);
}

// Light of flames on the smoke at a place in grid coordinates.
KP_FN kp_rgb kp_volume_sample_warm(const kp_volume_grid *grid, kp_f3 g) {
  kp_volume_corners c = kp_volume_find(grid->n_warm, kp_f3_scale(g, 1.0f / KP_WARM_CELLS));
  const kp_rgb *p = grid->warm + c.at;
  return kp_rgb_mix(kp_volume_color_face(p, &c), kp_volume_color_face(p + c.dz, &c), c.fz);
}

// ---- rays and grids

KP_FN kp_f3 kp_volume_turn(const kp_volume_grid *grid, kp_f3 v) {
  kp_f3 g = kp_f3_madd(kp_f3_scale(grid->axis_x, v.x), v.y, grid->axis_y);
  return kp_f3_madd(g, v.z, grid->axis_z);
}

KP_FN kp_f3 kp_volume_to_grid(const kp_volume_grid *grid, kp_f3 p) {
  return kp_f3_add(grid->origin, kp_volume_turn(grid, p));
}

KP_FN bool kp_volume_holds(const kp_volume_grid *grid, kp_f3 g) {
  return g.x >= 0.0f && g.y >= 0.0f && g.z >= 0.0f && g.x <= (float)grid->n[0] &&
         g.y <= (float)grid->n[1] && g.z <= (float)grid->n[2];
}

KP_FN void kp_volume_clip_axis(float start, float step, int n, float *enter, float *leave) {
  if (step == 0.0f) {
    if (start < 0.0f || start > (float)n) {
      *leave = -HUGE_VALF;
    }
    return;
  }
  float a = -start / step, b = ((float)n - start) / step;
  *enter = kp_maxf(*enter, kp_minf(a, b));
  *leave = kp_minf(*leave, kp_maxf(a, b));
}

// Part of start + t step inside the grid, t > 0.
KP_FN void kp_volume_clip(const int32_t *n, kp_f3 start, kp_f3 step, float *enter, float *leave) {
  *enter = 0.0f;
  *leave = HUGE_VALF;
  kp_volume_clip_axis(start.x, step.x, n[0], enter, leave);
  kp_volume_clip_axis(start.y, step.y, n[1], enter, leave);
  kp_volume_clip_axis(start.z, step.z, n[2], enter, leave);
}

// Share of sunlight that reaches a place through all volumes.
KP_MARCH_FN float kp_volume_sunlight(const kp_volume_air *air, kp_f3 position) {
  float depth = 0.0f;
  for (int k = 0; k < air->n; ++k) {
    const kp_volume_grid *grid = &air->grids[k];
    kp_f3 start = kp_volume_to_grid(grid, position);
    float enter, leave;
    kp_volume_clip(grid->n, start, grid->sun, &enter, &leave);
    if (enter < leave) {
      kp_volume_corners c = kp_volume_find(grid->n, kp_f3_madd(start, enter, grid->sun));
      depth += kp_volume_sample_depth(grid->light, &c).sun;
      // depths are kept at cell middles: from outside, half a cell comes before the first
      if (enter > 0.0f) {
        depth += 0.5f * grid->sun_step * grid->extinction * kp_volume_sample(grid->density, &c);
      }
    }
  }
  return depth > 0.0f ? expf(-depth) : 1.0f;
}

// Henyey and Greenstein 1941 over that of light to all sides. What is scattered again goes less and
// less forwards.
KP_FN void kp_volume_set_phase(const kp_volume_grid *grid, float cosine, float *phase) {
  float g = grid->anisotropy;
  for (int i = 0; i < KP_SCATTERINGS; ++i) {
    float d = 1.0f + g * g - 2.0f * g * cosine;
    phase[i] = (1.0f - g * g) / (d * sqrtf(d));
    g *= 0.5f;
  }
}

// Where a ray meets the grids that are marched through; false: nowhere.
KP_MARCH_FN bool kp_volume_aim(const kp_volume_air *air, kp_march *march) {
  bool any = false;
  for (int k = 0; k < air->n; ++k) {
    const kp_volume_grid *grid = &air->grids[k];
    kp_volume_ray *ray = &march->rays[k];
    ray->start = kp_volume_to_grid(grid, march->origin);
    ray->step = kp_volume_turn(grid, march->direction);
    kp_volume_clip(grid->n, ray->start, ray->step, &ray->enter, &ray->leave);
    ray->leave = grid->is_sliced ? -HUGE_VALF : ray->leave;
    if (ray->enter < ray->leave) {
      any = true;
      kp_volume_set_phase(grid, kp_f3_dot(march->direction, air->sun) / march->length, ray->phase);
    }
  }
  return any;
}

// ---- light

KP_FN int kp_volume_glow_step(const kp_volume_grid *grid, float value) {
  float t = kp_clampf((value - grid->glow_min) * grid->glow_scale, 0.0f, 1.0f);
  return (int)(t * (float)(KP_EMISSION_STEPS - 1));
}

KP_FN kp_volume_step kp_volume_step_start(void) {
  kp_volume_step step;
  step.taken = 0.0f;
  step.gathered = step.emitted = kp_rgb_make(0.0f, 0.0f, 0.0f);
  step.sun_open = -1.0f;
  return step;
}

// Light that a step of even density sends to the eye, by the integral of exp(-t) from 0 to what is
// taken; *left is the share of that from behind.
KP_FN kp_rgb kp_volume_light(const kp_volume_step *step, float *left) {
  *left = 1.0f;
  if (!(step->taken > 0.0f)) {
    return step->emitted;
  }
  *left = expf(-step->taken);
  return kp_rgb_scale(kp_rgb_add(step->gathered, step->emitted), (1.0f - *left) / step->taken);
}

// ---- flames on other things

KP_FN kp_rgb kp_fire_shine(kp_rgb sum, const kp_fire_light *light, float square, float share) {
  float d = square + light->radius * light->radius;
  return kp_rgb_add(sum, kp_rgb_scale(light->power, share / d));
}

// On a surface.
KP_MARCH_FN kp_rgb kp_fire_lights_on(const kp_fire_light *lights, int n, kp_f3 position,
                                     kp_f3 normal) {
  kp_rgb sum = kp_rgb_make(0.0f, 0.0f, 0.0f);
  for (int i = 0; i < n; ++i) {
    kp_f3 way = kp_f3_sub(lights[i].at, position);
    float square = kp_f3_dot(way, way), facing = kp_f3_dot(way, normal);
    if (facing > 0.0f) {
      sum = kp_fire_shine(sum, &lights[i], square, facing / sqrtf(square));
    }
  }
  return sum;
}
