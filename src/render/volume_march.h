// Rays marched through smoke and fire, on the CPU and on a card (Kajiya and Von Herzen 1984, "Ray
// tracing volume densities"). volume.c makes the grids and finds how deep each cell lies in them.
// Light scattered many times is added as weaker, farther-reaching copies of the first scattering
// (Wrenninge, Kulla and Lundqvist 2013, "Oz: The Great and Volumetric").
//
// Who includes this defines kp_volume_open behind it.
#pragma once

#include "render/volume_grid.h"

#define KP_MARCH_DARK 0.002f  // share of light from behind that is not worth a step

// Share of the sun at a place, before solids. `owner` is that of who marches.
KP_MARCH_FN float kp_volume_open(const void *owner, kp_f3 place);

// ---- light

// Sunlight scattered towards the eye per unit of what is taken out of the ray. Exactly once: a
// quarter of what a white sheet in the sun sends back, since that is irradiance / pi and a
// scatterer spreads it over 4 pi.
KP_FN float kp_volume_scattered_sun(const kp_volume_grid *grid, float depth, const float *phase) {
  if (grid->is_once) {
    return 0.25f * phase[0] * expf(-depth);
  }
  float strength = 0.0f, weight = 0.65f, reach = 1.0f;
  for (int i = 0; i < KP_SCATTERINGS; ++i) {
    strength += weight * phase[i] * expf(-reach * depth);
    weight *= 0.5f;
    reach *= 0.35f;
  }
  return strength;
}

// Light scattered towards the eye per unit of what is taken out of the ray.
KP_FN kp_rgb kp_volume_scattered(const kp_volume_air *air, const kp_volume_grid *grid,
                                 kp_light_depth depth, float sun_open, const float *phase) {
  float strength = kp_volume_scattered_sun(grid, depth.sun, phase);
  kp_rgb sum = kp_rgb_scale(air->sun_color, strength * sun_open);
  float above = expf(-0.5f * depth.up), around = expf(-0.2f * depth.up);
  sum = kp_rgb_add(sum, kp_rgb_scale(air->ambient_up, 0.55f * above));
  sum = kp_rgb_add(sum, kp_rgb_scale(air->ambient_side, 0.30f * around));
  sum = kp_rgb_add(sum, kp_rgb_scale(air->ambient_down, 0.25f));
  return kp_rgb_mul(sum, grid->scatter);
}

KP_MARCH_FN void kp_volume_gather(const kp_volume_air *air, const void *owner,
                                  const kp_volume_grid *grid, const kp_volume_place *place,
                                  kp_volume_step *step) {
  kp_volume_corners c = kp_volume_find(grid->n, place->grid);
  float per_metre = grid->opacity / grid->cell, metres = place->metres;
  float density = kp_volume_sample(grid->density, &c);
  if (density > 0.0f) {
    if (step->sun_open < 0.0f) {
      step->sun_open = kp_volume_open(owner, place->view);
    }
    float part = density * per_metre * metres;
    kp_light_depth depth = kp_volume_sample_depth(grid->light, &c);
    depth.sun = place->sun_depth >= 0.0f ? place->sun_depth : depth.sun;
    kp_rgb light = kp_volume_scattered(air, grid, depth, step->sun_open, place->phase);
    if (grid->warm != NULL) {
      kp_rgb warm = kp_volume_sample_warm(grid, place->grid);
      light = kp_rgb_add(light, kp_rgb_mul(warm, grid->scatter));
    }
    step->gathered = kp_rgb_add(step->gathered, kp_rgb_scale(light, part));
    step->taken += part;
  }
  float glow = grid->emission != NULL ? kp_volume_sample(grid->emission, &c) : 0.0f;
  if (glow > 0.0f) {
    float value = grid->scalar != NULL ? kp_volume_sample(grid->scalar, &c) : glow;
    kp_rgb color = grid->glow[grid->glow_first + kp_volume_glow_step(grid, value)];
    color = kp_rgb_scale(color, glow * grid->strength * metres);
    if (grid->is_hot) {
      step->gathered = kp_rgb_add(step->gathered, kp_rgb_scale(color, per_metre));
      step->taken += glow * per_metre * metres;
    } else {
      step->emitted = kp_rgb_add(step->emitted, color);
    }
  }
}

// ---- the march

// Take one step of length dt at t through all grids that hold it.
KP_FN void kp_volume_march_step(const kp_volume_air *air, const void *owner, kp_march *march,
                                float t, float dt) {
  kp_volume_step step = kp_volume_step_start();
  kp_volume_place place;
  place.view = kp_f3_madd(march->origin, t, march->direction);
  place.metres = dt * march->length;
  place.sun_depth = -1.0f;
  for (int k = 0; k < air->n; ++k) {
    const kp_volume_ray *ray = &march->rays[k];
    if (t >= ray->enter && t <= ray->leave) {
      place.grid = kp_f3_madd(ray->start, t, ray->step);
      place.phase = ray->phase;
      kp_volume_gather(air, owner, &air->grids[k], &place, &step);
    }
  }
  float left;
  kp_rgb light = kp_volume_light(&step, &left);
  march->color = kp_rgb_add(march->color, kp_rgb_scale(light, march->transmittance));
  march->transmittance *= left;
}

// The piece from `from` in which the set of grids stays the same; false when none holds it.
KP_FN bool kp_volume_find_piece(const kp_volume_air *air, const kp_march *march, float from,
                                float *to, float *step) {
  bool any = false;
  *step = HUGE_VALF;
  for (int k = 0; k < air->n; ++k) {
    const kp_volume_ray *ray = &march->rays[k];
    if (ray->enter >= ray->leave || ray->leave <= from) {
      continue;
    }
    if (ray->enter > from) {
      *to = kp_minf(*to, ray->enter);
      continue;
    }
    *to = kp_minf(*to, ray->leave);
    *step = kp_minf(*step, air->coarse / sqrtf(kp_f3_dot(ray->step, ray->step)));
    any = true;
  }
  return any;
}

KP_MARCH_FN void kp_volume_march(const kp_volume_air *air, const void *owner, kp_march *march,
                                 float from, float to) {
  while (from < to && march->transmittance > KP_MARCH_DARK) {
    float end = to, step;
    if (kp_volume_find_piece(air, march, from, &end, &step)) {
      int n = (int)ceilf((end - from) / step);
      float dt = (end - from) / (float)n;
      for (int i = 0; i < n && march->transmittance > KP_MARCH_DARK; ++i) {
        kp_volume_march_step(air, owner, march, from + ((float)i + march->noise) * dt, dt);
      }
    } else if (!(end < to)) {
      return;
    }
    from = end;
  }
}
