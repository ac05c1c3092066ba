// Smoke and fire in a scene.
#include <math.h>
#include <string.h>

#include "render/scene_parts.h"

// Temperatures between which a gas begins to glow and all of it does, and those of a flame that is
// given as a share [K].
#define GLOW_FROM 800.0
#define GLOW_TO 1400.0
#define FLAME_DULL 1100.0f
#define FLAME_BRIGHT 2000.0f

#define FLAT_DEPTH 0.5  // of a flat world, in its sizes: what one layer of smoke stands for

// The share of a gas that glows: from first sight of it to all of it.
static float glowing_share(double kelvin) {
  double t = (kelvin - GLOW_FROM) / (GLOW_TO - GLOW_FROM);
  t = t > 0.0 ? (t < 1.0 ? t : 1.0) : 0.0;
  return (float)(t * t * (3.0 - 2.0 * t));
}

// A temperature glows as a black body; so does a flame, which goes from dull to bright as it burns.
static kp_result add_heat(kp_frame_scene *s, uint64_t count, bool is_kelvin, const float *values,
                          kp_render_volume *out) {
  float *share = kp_scene_take(s, count, sizeof *share),
        *kelvin = kp_scene_take(s, count, sizeof *kelvin);
  if (share == NULL || kelvin == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t i = 0; i < count; ++i) {
    float flame = values[i] > 0.0f ? (values[i] < 1.0f ? values[i] : 1.0f) : 0.0f;
    kelvin[i] = is_kelvin ? values[i] : FLAME_DULL + flame * (FLAME_BRIGHT - FLAME_DULL);
    share[i] = is_kelvin ? glowing_share((double)values[i]) : flame;
  }
  out->emission = share;
  out->scalar = kelvin;
  out->is_hot = true;
  return KP_OK;
}

// Light given off: what the look names through its colour map; else a temperature in kelvin, else a
// field called flame.
static kp_result find_emission(kp_frame_scene *s, const kp_frame_volume *volume, uint64_t count,
                               kp_render_volume *out) {
  const char *name = out->look.color_by;
  kp_scene_element e = { "volume", volume->name, &volume->fields, NULL, count };
  const float *values;
  if (name[0] != '\0') {
    const kp_frame_field *field = kp_frame_find_field(&volume->fields, name);
    if (field == NULL) {
      return kp_scene_no_such_field(&e, name);
    }
    KP_TRY(kp_scene_field_as_scalar(s, &e, field, &values));
    float *light = kp_scene_take(s, count, sizeof *light);
    for (uint64_t i = 0; light != NULL && i < count; ++i) {
      light[i] = values[i] > 0.0f ? values[i] : 0.0f;
    }
    out->emission = light;
    out->scalar = values;
    return light != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
  const kp_frame_field *heat = kp_frame_find_field(&volume->fields, "temperature");
  bool is_kelvin = heat != NULL && strcmp(heat->unit, "K") == 0;
  const kp_frame_field *field = is_kelvin ? heat : kp_frame_find_field(&volume->fields, "flame");
  if (field == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_scene_field_as_scalar(s, &e, field, &values));
  return add_heat(s, count, is_kelvin, values, out);
}

kp_result kp_scene_add_volume(kp_frame_scene *s, const kp_frame_volume *volume,
                              const kp_look_def *look) {
  uint64_t count = volume->dims[0] * volume->dims[1] * volume->dims[2];
  bool fits =
      volume->dims[0] <= INT32_MAX && volume->dims[1] <= INT32_MAX && volume->dims[2] <= INT32_MAX;
  if (count == 0 || !fits) {
    return KP_OK;
  }
  kp_render_volume out = { .nx = (int)volume->dims[0],
                           .ny = (int)volume->dims[1],
                           .nz = (int)volume->dims[2],
                           .origin = volume->origin,
                           .cell = volume->spacing,
                           .density = volume->density };
  if (look != NULL) {
    out.look = *look;
  } else {
    out.look = kp_default_look_def();
    out.look.color = kp_vec3_make(0.80, 0.80, 0.81);
    out.look.color_map = KP_COLORMAP_HEAT;
  }
  if (volume->dims[2] == 1) {
    out.depth = FLAT_DEPTH * volume->spacing * sqrt((double)(volume->dims[0] * volume->dims[1]));
  }
  KP_TRY(find_emission(s, volume, count, &out));
  KP_TRY(kp_scene_find_vectors(s, &volume->fields, "velocity", count, out.velocities));
  bool burns = kp_frame_find_field(&volume->fields, "fuel") != NULL ||
               kp_frame_find_field(&volume->fields, "flame") != NULL;
  if (look == NULL && burns) {
    // soot
    out.look.color = kp_vec3_make(0.35, 0.33, 0.32);
  }
  if (out.density == NULL && out.emission == NULL) {
    return KP_OK;
  }
  if (out.density == NULL) {
    out.density = kp_scene_take(s, count, sizeof(float));
    if (out.density == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  s->volumes[s->scene.n_volumes++] = out;
  return KP_OK;
}
