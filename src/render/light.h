// Sun, sky and ground light. Colours are linear; 1 is what a white sheet sends back on a clear day.
#pragma once

#include "kelpie/vec.h"
#include "render/colormap.h"

typedef struct kp_light {
  kp_vec3 up;   // unit
  kp_vec3 sun;  // unit, towards the sun
  kp_rgb sun_color;
  kp_rgb ambient_up, ambient_side, ambient_down;  // light on a surface that faces there
  kp_rgb zenith, horizon;                         // of the background
  kp_rgb ground;                                  // reflectance of the ground plane
} kp_light;

typedef struct kp_light_def {
  kp_vec3 up, sun;
  double sun_strength, sky_strength;
  int background;  // kp_render_background
} kp_light_def;

kp_light kp_light_make(const kp_light_def *def);

// Background seen in a direction whose unit vector has the given component along up.
kp_rgb kp_light_background(const kp_light *light, float upness);

// Sky and bounced light on a surface whose unit normal has the given component along up.
kp_rgb kp_light_ambient(const kp_light *light, float upness);
