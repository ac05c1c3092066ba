#include "render/light.h"

#include "render/render.h"
#include "render/shading.h"

typedef struct background_colors {
  kp_rgb zenith, horizon, ground, sun, sky;
} background_colors;

static const background_colors backgrounds[KP_BACKGROUND_COUNT] = {
  [KP_BACKGROUND_STUDIO] = { { 0.50f, 0.60f, 0.70f },
                             { 0.86f, 0.89f, 0.92f },
                             { 0.66f, 0.67f, 0.68f },
                             { 1.00f, 0.95f, 0.87f },
                             { 0.80f, 0.92f, 1.06f } },
  [KP_BACKGROUND_SKY] = { { 0.10f, 0.24f, 0.56f },
                          { 0.66f, 0.78f, 0.90f },
                          { 0.40f, 0.38f, 0.34f },
                          { 1.06f, 0.95f, 0.80f },
                          { 0.62f, 0.84f, 1.20f } },
  // the toe of the tone mapper takes off the least of the three; were that red, the red rim of a
  // flame would raise it and darken the sky behind it
  [KP_BACKGROUND_DARK] = { { 0.0102f, 0.0100f, 0.0120f },
                           { 0.0462f, 0.0460f, 0.0510f },
                           { 0.0522f, 0.0520f, 0.0550f },
                           { 1.00f, 0.95f, 0.88f },
                           { 0.55f, 0.62f, 0.72f } },
};

// Light from a map instead of the background's own; what comes from below is in the map too.
static void take_environment(kp_light *light, const kp_environment *e, float sky) {
  light->environment = e;
  light->ambient_up = kp_rgb_scale(e->up, sky);
  light->ambient_side = kp_rgb_scale(e->side, sky);
  light->ambient_down = kp_rgb_scale(e->down, sky);
}

kp_light kp_light_make(const kp_light_def *def) {
  const background_colors *b = &backgrounds[def->background];
  float sun = (float)def->sun_strength, sky = (float)def->sky_strength;
  kp_light light = { .sky = sky, .z_up = def->up.z > 0.5 };
  light.up = def->up;
  light.sun = def->sun;
  light.zenith = kp_rgb_scale(b->zenith, sky);
  light.horizon = kp_rgb_scale(b->horizon, sky);
  light.ground = b->ground;
  light.sun_color = kp_rgb_scale(b->sun, 0.95f * sun);
  light.ambient_up = kp_rgb_scale(b->sky, 0.55f * sky);
  light.ambient_side = kp_rgb_scale(b->sky, 0.36f * sky);
  // what the lit ground throws back from below
  float height = (float)kp_vec3_dot(def->sun, def->up);
  kp_rgb on_ground = kp_rgb_scale(light.sun_color, height > 0.0f ? height : 0.0f);
  on_ground = kp_rgb_add(on_ground, light.ambient_up);
  light.ambient_down = kp_rgb_scale(kp_rgb_mul(on_ground, b->ground), 0.30f);
  if (def->environment != NULL) {
    take_environment(&light, def->environment, sky);
  }
  return light;
}

kp_rgb kp_light_background(const kp_light *light, float upness) {
  return kp_shading_background(light->horizon, light->zenith, upness);
}

kp_rgb kp_light_sky(const kp_light *light, kp_f3 direction, float upness) {
  if (light->environment == NULL) {
    return kp_light_background(light, upness);
  }
  const kp_environment *e = light->environment;
  return kp_rgb_scale(kp_shading_cube(e->texels, e->size, direction, light->z_up), light->sky);
}

kp_rgb kp_light_ambient(const kp_light *light, float upness) {
  return kp_shading_ambient(light->ambient_up, light->ambient_side, light->ambient_down, upness);
}
