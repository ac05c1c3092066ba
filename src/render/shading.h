// Light on surfaces as formulas, for the CPU and for a card: each is written here once. Directions
// are unit vectors in any space that all of them share.
#pragma once

#include <stdint.h>

#include "render/colormap.h"
#include "render/f3.h"

typedef enum kp_render_ground {
  KP_GROUND_NONE,
  KP_GROUND_PLAIN,
  KP_GROUND_CHECKER,
  KP_GROUND_GRID,
  KP_GROUND_COUNT
} kp_render_ground;

// How the alpha of a sprite falls off from its middle to its rim.
typedef enum kp_sprite_texture {
  KP_TEXTURE_SOFT,   // (1 - q)^2 of the squared distance q in radii
  KP_TEXTURE_GAUSS,  // exp(-4 q), brought to 0 at the rim
  KP_TEXTURE_FLAT,   // a disc
  KP_TEXTURE_COUNT
} kp_sprite_texture;

// From this gloss on a surface mirrors what is around it and not the sky alone.
#define KP_GLOSS_MIRRORS 0.35f
// Radius in pixels from which a stroke is a cylinder and not a fibre.
#define KP_FIBRE_PIXELS 1.5f
// Share of mirrored light that is worth a ray.
#define KP_MIRRORED_LEAST 0.02f

// The sky in a direction whose unit vector has the given component along up.
KP_FN kp_rgb kp_shading_background(kp_rgb horizon, kp_rgb zenith, float upness) {
  // begins under the horizon, because cameras look down and the far ground shows this colour too;
  // quick at first, slow above, as haze is
  float t = (upness + 0.15f) / 1.15f;
  t = t < 0.0f ? 0.0f : t;
  t = 1.0f - (1.0f - t) * (1.0f - t) * (1.0f - t);
  return kp_rgb_mix(horizon, zenith, t);
}

// A picture around the scene, in a direction of any length, between the texels of a face of its
// cube; `texels` and faces are those of kp_environment, whose y is up.
KP_FN kp_rgb kp_shading_cube(const kp_rgb *texels, int size, kp_f3 direction, bool is_z_up) {
  kp_f3 d = is_z_up ? kp_f3_make(direction.x, direction.z, -direction.y) : direction;
  float ax = fabsf(d.x), ay = fabsf(d.y), az = fabsf(d.z), along, s, t, most = (float)(size - 1);
  int face;
  if (ax >= ay && ax >= az) {
    face = d.x >= 0.0f ? 0 : 1;
    along = ax;
    s = d.x >= 0.0f ? -d.z : d.z;
    t = -d.y;
  } else if (ay >= az) {
    face = d.y >= 0.0f ? 2 : 3;
    along = ay;
    s = d.x;
    t = d.y >= 0.0f ? d.z : -d.z;
  } else {
    face = d.z >= 0.0f ? 4 : 5;
    along = az;
    s = d.z >= 0.0f ? d.x : -d.x;
    t = -d.y;
  }
  float x = 0.5f * (s / along + 1.0f) * (float)size - 0.5f;
  float y = 0.5f * (t / along + 1.0f) * (float)size - 0.5f;
  // what is not a number stays in the picture too
  x = x > 0.0f ? kp_minf(x, most) : 0.0f;
  y = y > 0.0f ? kp_minf(y, most) : 0.0f;
  int i = (int)x, j = (int)y;
  int next_i = i + 1 < size ? i + 1 : i, next_j = j + 1 < size ? j + 1 : j;
  const kp_rgb *upper = texels + ((int64_t)face * size + j) * size;
  const kp_rgb *lower = texels + ((int64_t)face * size + next_j) * size;
  kp_rgb top = kp_rgb_mix(upper[i], upper[next_i], x - (float)i);
  kp_rgb bottom = kp_rgb_mix(lower[i], lower[next_i], x - (float)i);
  return kp_rgb_mix(top, bottom, y - (float)j);
}

// Sky and bounced light on a surface whose normal has the given component along up.
KP_FN kp_rgb kp_shading_ambient(kp_rgb up, kp_rgb side, kp_rgb down, float upness) {
  return kp_rgb_mix(side, upness < 0.0f ? down : up, upness < 0.0f ? -upness : upness);
}

// Share that a glossy surface mirrors (Schlick 1994), as far as it is open. The facets of a rough
// one hide each other at grazing angles: cloth has no bright rim.
KP_FN float kp_shading_mirrored(float facing, float gloss, float occlusion) {
  float grazing = 1.0f - kp_clampf(facing, 0.0f, 1.0f), square = grazing * grazing;
  return (0.04f + 0.96f * gloss * square * square * grazing) * gloss * occlusion;
}

// Highlight of the sun (Blinn 1977, normalised); `peak` is the cosine of normal and half vector.
KP_FN float kp_shading_highlight(float peak, float gloss) {
  float exponent = exp2f(3.0f + 6.0f * gloss);
  return gloss * 0.04f * (exponent + 8.0f) / 8.0f * powf(kp_clampf(peak, 0.0f, 1.0f), exponent);
}

// A particle that is light or a puff and no surface.
typedef struct kp_sprite {
  kp_f3 at;
  float radius;  // [m]
  kp_rgb color;
  float alpha;      // in its middle
  int32_t texture;  // kp_sprite_texture
  int32_t covers;   // what is behind it; else its light adds up
} kp_sprite;

// What a pixel shows of sprites or yarn: one layer, at the depth where most of it comes from.
typedef struct kp_sprite_layer {
  kp_rgb light;         // that adds up
  kp_rgb color;         // of what covers, times how much it does
  float through;        // share of the light from behind
  float depth, weight;  // sums; the depth of the layer is depth / weight
} kp_sprite_layer;

// Alpha of a sprite at the squared distance q < 1 from its middle, in radii.
KP_FN float kp_shading_radial(int texture, float q) {
  const float rim = 0.0183156f;  // exp(-4)
  if (texture == KP_TEXTURE_GAUSS) {
    return (expf(-4.0f * q) - rim) / (1.0f - rim);
  }
  return texture == KP_TEXTURE_FLAT ? 1.0f : (1.0f - q) * (1.0f - q);
}

// Light on a puff of smoke or dust: that on a small ball which scatters alike everywhere.
KP_FN kp_rgb kp_shading_puff(kp_rgb sunlight, kp_rgb up, kp_rgb side, kp_rgb down) {
  kp_rgb sum = kp_rgb_scale(sunlight, 0.65f);
  sum = kp_rgb_add(sum, kp_rgb_scale(up, 0.55f));
  sum = kp_rgb_add(sum, kp_rgb_scale(side, 0.30f));
  return kp_rgb_add(sum, kp_rgb_scale(down, 0.25f));
}

// A fibre (Kajiya and Kay 1989): diffuse light with the sine to the sun, a highlight on the cone
// that a cylinder mirrors to, and a wider one in the fibre's colour for the light that went through
// it. What lies deep in a tuft, where little of the sun is seen, sees less of the sky too.
typedef struct kp_fibre {
  kp_f3 tangent, sun, eye;
  kp_rgb albedo, sunlight, ambient;
  float gloss;
  float seen;  // share of the sun
} kp_fibre;

// A thick stroke has the normal of its cylinder. A thin one shows all of them at once: take the one
// square to the fibre that turns most towards eye and sun, whose sum is `half`.
KP_FN kp_f3 kp_shading_stroke_normal(kp_f3 round, kp_f3 half, kp_f3 tangent, float pixels) {
  half = kp_f3_normalize(kp_f3_madd(half, -kp_f3_dot(half, tangent), tangent));
  float thick = kp_clampf(pixels - 0.75f, 0.0f, 1.0f);
  return kp_f3_normalize(kp_f3_madd(kp_f3_scale(half, 1.0f - thick), thick, round));
}

KP_FN kp_rgb kp_shading_fibre(const kp_fibre *f) {
  float tl = kp_f3_dot(f->tangent, f->sun), te = kp_f3_dot(f->tangent, f->eye);
  float sl = sqrtf(kp_maxf(0.0f, 1.0f - tl * tl)), se = sqrtf(kp_maxf(0.0f, 1.0f - te * te));
  float cone = kp_clampf(sl * se - tl * te, 0.0f, 1.0f);
  kp_rgb light = kp_rgb_scale(f->sunlight, 0.7f * sl);
  light = kp_rgb_add(light, kp_rgb_scale(f->ambient, 0.3f + 0.7f * f->seen));
  kp_rgb through = kp_rgb_scale(f->sunlight, 1.2f * f->gloss * powf(cone, 8.0f));
  kp_rgb color = kp_rgb_mul(f->albedo, kp_rgb_add(light, through));
  float shine = 0.25f * f->gloss * powf(cone, exp2f(3.0f + 5.0f * f->gloss));
  return kp_rgb_add(color, kp_rgb_scale(f->sunlight, shine));
}

// Ambient l_a m_a + diffuse l_d m_d max(0, L.N) + specular l_s m_s max(0, H.N)^e, with white
// ambient light (Lyes 2010, 7.6.1). `sunlight` is what comes past the shadows.
typedef struct kp_blinn_phong {
  float specular, shininess;
  float ambient;
} kp_blinn_phong;

KP_FN kp_rgb kp_shading_blinn_phong(const kp_blinn_phong *b, kp_rgb albedo, kp_rgb sunlight,
                                    float cosine, float peak) {
  float diffuse = kp_maxf(cosine, 0.0f);
  kp_rgb light = kp_rgb_scale(sunlight, diffuse);
  light = kp_rgb_add(light, kp_rgb_make(b->ambient, b->ambient, b->ambient));
  float shine = b->specular * powf(kp_maxf(peak, 0.0f), b->shininess);
  return kp_rgb_add(kp_rgb_mul(albedo, light),
                    kp_rgb_scale(sunlight, diffuse > 0.0f ? shine : 0.0f));
}

// Distance to the nearest grid line, in squares.
KP_FN double kp_shading_line_distance(double v) {
  double f = v - floor(v);
  return f < 0.5 ? f : 1.0 - f;
}

// Pattern of the ground at a place given in squares; a pixel spans `span` of them, and the pattern
// fades before it could flicker.
KP_FN kp_rgb kp_shading_ground(kp_rgb base, int kind, double a, double b, double span) {
  double clear = 1.0 - 2.0 * span;
  clear = clear > 0.0 ? clear : 0.0;
  if (kind == KP_GROUND_CHECKER) {
    bool odd = (((int64_t)floor(a) + (int64_t)floor(b)) & 1) != 0;
    return kp_rgb_scale(base, (float)(1.0 + (odd ? -0.045 : 0.045) * clear));
  }
  if (kind == KP_GROUND_GRID) {
    const double width = 0.012;
    double d = fmin(kp_shading_line_distance(a), kp_shading_line_distance(b));
    double ink = 1.0 - fmin(fmax((d - width) / fmax(span, 1e-3) + 0.5, 0.0), 1.0);
    return kp_rgb_scale(base, (float)(1.0 - 0.22 * ink * clear));
  }
  return base;
}

// 0 near the scene, 1 where the ground has become horizon.
KP_FN float kp_shading_ground_fade(double a, double b, double fade) {
  double t = sqrt(a * a + b * b) / fade;
  return (float)(1.0 - exp(-t * t));
}

// A number that steps evenly through [0, 1) from pass to pass, by the golden ratio, from a start
// that differs from those of the pixels around (interleaved gradient noise, Jimenez 2014): what it
// leaves is fine grain without clumps.
KP_FN float kp_shading_turn(int index, int x, int y) {
  float start = 0.06711056f * (float)x + 0.00583715f * (float)y;
  start = 52.9829189f * (start - floorf(start));
  float turn = start - floorf(start) + 0.61803399f * (float)(index % 1024);
  return turn - floorf(turn);
}

// A pseudo-random number in [0, 1) of a pixel and a use, spread evenly over its passes: steps of
// the golden ratio from one start.
KP_FN float kp_shading_spread(int index, int x, int y, uint32_t use) {
  uint32_t h = (uint32_t)x * 0x8da6b343u ^ (uint32_t)y * 0xd8163841u ^ use * 0xcb1ab31fu;
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  h ^= h >> 16;
  h += (uint32_t)index * 0x9e3779b9u;
  return (float)(h >> 8) * (1.0f / 16777216.0f);
}

// What is left of white light, and what a liquid sends back in its colour.
KP_FN kp_rgb kp_shading_left(kp_rgb absorbed, float metres) {
  return kp_rgb_make(expf(-absorbed.r * metres), expf(-absorbed.g * metres),
                     expf(-absorbed.b * metres));
}
