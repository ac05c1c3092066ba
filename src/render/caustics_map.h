// Where sunlight lands behind water and glass, as caustics.c leaves it in the sun's view: looked up
// on the CPU and on a card. Places are in any space: the map says where it lies in that.
#pragma once

#include "render/colormap.h"
#include "render/f3.h"

#define KP_CAUSTICS_LAYERS 2  // materials on which light of one texel lands

typedef struct kp_caustics_texel {
  kp_rgb light[KP_CAUSTICS_LAYERS];
  uint16_t material[KP_CAUSTICS_LAYERS];  // 0: none
} kp_caustics_texel;

typedef struct kp_caustics_map {
  kp_f3 origin, right, down, sun;  // the sun's picture plane, and towards the sun
  float scale;                     // texels per metre
  int32_t width, height;           // texels
  int32_t first_x, first_y;        // texel of the first ray
  int32_t n_x, n_y;                // rays
  float shift_x, shift_y;          // of the rays in their texels
  const kp_caustics_texel *texels;
  const float *water;  // depth of the first clear surface of each ray; HUGE_VALF: none
} kp_caustics_map;

// Share of the four rays around that met a clear surface before this depth.
KP_FN float kp_caustics_behind(const kp_caustics_map *m, float x, float y, float depth) {
  float u = x - (float)m->first_x - m->shift_x, v = y - (float)m->first_y - m->shift_y;
  if (!(u >= 0.0f && v >= 0.0f && u < (float)(m->n_x - 1) && v < (float)(m->n_y - 1))) {
    return 0.0f;
  }
  int i = (int)u, j = (int)v;
  float fx = u - (float)i, fy = v - (float)j;
  const float *w = m->water + (int64_t)j * m->n_x + i;
  float a = w[0] < depth ? 1.0f - fx : 0.0f, b = w[m->n_x] < depth ? 1.0f - fx : 0.0f;
  a += w[1] < depth ? fx : 0.0f;
  b += w[m->n_x + 1] < depth ? fx : 0.0f;
  return a + fy * (b - a);
}

KP_FN kp_rgb kp_caustics_texel_light(const kp_caustics_texel *t, int material) {
  for (int k = 0; k < KP_CAUSTICS_LAYERS; ++k) {
    if (t->material[k] == material && material != 0) {
      return t->light[k];
    }
  }
  return kp_rgb_make(0.0f, 0.0f, 0.0f);
}

// Sunlight that came to a surface through clear ones, in place of a shadow; *behind is the share of
// the sun that is seen through them and not by itself. `bias` keeps a surface off itself [m].
KP_FN kp_rgb kp_caustics_look(const kp_caustics_map *m, kp_f3 position, int material, float bias,
                              float *behind) {
  kp_f3 d = kp_f3_sub(position, m->origin);
  float x = kp_f3_dot(d, m->right) * m->scale, y = kp_f3_dot(d, m->down) * m->scale;
  *behind = kp_caustics_behind(m, x, y, -kp_f3_dot(d, m->sun) - bias);
  x -= 0.5f;
  y -= 0.5f;
  if (!(x >= 0.0f && y >= 0.0f && x < (float)(m->width - 1) && y < (float)(m->height - 1))) {
    return kp_rgb_make(0.0f, 0.0f, 0.0f);
  }
  int i = (int)x, j = (int)y;
  float fx = x - (float)i, fy = y - (float)j;
  const kp_caustics_texel *t = m->texels + (int64_t)j * m->width + i, *next = t + m->width;
  kp_rgb low = kp_rgb_mix(kp_caustics_texel_light(t, material),
                          kp_caustics_texel_light(t + 1, material), fx);
  kp_rgb high = kp_rgb_mix(kp_caustics_texel_light(next, material),
                           kp_caustics_texel_light(next + 1, material), fx);
  return kp_rgb_mix(low, high, fy);
}
