// Sun, sky and ground light. Colours are linear; 1 is what a white sheet sends back on a clear day.
#pragma once

#include "kelpie/vec.h"
#include "render/colormap.h"
#include "render/environment.h"
#include "render/f3.h"

typedef struct kp_light {
  kp_vec3 up;   // unit
  kp_vec3 sun;  // unit, towards the sun
  kp_rgb sun_color;
  kp_rgb ambient_up, ambient_side, ambient_down;  // light on a surface that faces there
  kp_rgb zenith, horizon;                         // of the background
  kp_rgb ground;                                  // reflectance of the ground plane
  const kp_environment *environment;              // instead of the background, or NULL
  float sky;                                      // factor on it
  bool z_up;
} kp_light;

typedef struct kp_light_def {
  kp_vec3 up, sun;
  double sun_strength, sky_strength;
  int background;  // kp_render_background
  const kp_environment *environment;
} kp_light_def;

kp_light kp_light_make(const kp_light_def *def);

// Background seen in a direction whose unit vector has the given component along up.
kp_rgb kp_light_background(const kp_light *light, float upness);

// The same for any direction: with an environment map, what it shows there (world axes).
kp_rgb kp_light_sky(const kp_light *light, kp_f3 direction, float upness);

// Sky and bounced light on a surface whose unit normal has the given component along up.
kp_rgb kp_light_ambient(const kp_light *light, float upness);
