// Colour maps by formula: smooth paths through Oklab (Ottosson 2020, "A perceptual color space for
// image processing"), so that equal steps of the value look like equal steps of the picture.
#pragma once

#include "kelpie/config.h"

// Linear (not gamma-encoded) RGB of the sRGB primaries; 1 is the white of a diffuse reflector.
typedef struct kp_rgb {
  float r, g, b;
} kp_rgb;

// word in scenes, meaning
#define KP_COLORMAPS(X)                                                                            \
  X(VIRIDIS, "viridis", "violet over green to yellow, lightness rises evenly")                     \
  X(WATER, "water", "deep blue over light blue to white foam")                                     \
  X(HEAT, "heat", "black over red and orange to white, as a glowing body")                         \
  X(GREY, "grey", "dark to light grey")                                                            \
  X(DIVERGE, "diverge", "blue over white to red, for signed values")                               \
  X(TWO, "two", "from the look's color to its color_end")

typedef enum kp_colormap {
#define X(name, word, text) KP_COLORMAP_##name,
  KP_COLORMAPS(X)
#undef X
      KP_COLORMAP_COUNT
} kp_colormap;

// Words of the maps, NULL terminated, for parameter tables.
extern const char *const kp_colormap_words[];

// Colour of t in [0, 1]; values outside are clamped, NaN gives magenta so that it is seen.
kp_rgb kp_colormap_eval(kp_colormap map, double t);

// Oklab lightness, chroma and hue [degrees] to linear RGB; negative channels are cut to 0.
kp_rgb kp_rgb_from_oklch(double lightness, double chroma, double hue_deg);

// Colour of a black body of the given temperature [K], scaled to a largest channel of 1.
kp_rgb kp_rgb_from_blackbody(double kelvin);

// sRGB transfer function (IEC 61966-2-1), one channel in [0, 1].
float kp_srgb_encode(float linear);
float kp_srgb_decode(float encoded);

KP_FN kp_rgb kp_rgb_make(float r, float g, float b) {
  kp_rgb c;
  c.r = r;
  c.g = g;
  c.b = b;
  return c;
}

KP_FN kp_rgb kp_rgb_add(kp_rgb a, kp_rgb b) {
  return kp_rgb_make(a.r + b.r, a.g + b.g, a.b + b.b);
}

KP_FN kp_rgb kp_rgb_mul(kp_rgb a, kp_rgb b) {
  return kp_rgb_make(a.r * b.r, a.g * b.g, a.b * b.b);
}

KP_FN kp_rgb kp_rgb_scale(kp_rgb a, float s) {
  return kp_rgb_make(a.r * s, a.g * s, a.b * s);
}

KP_FN float kp_rgb_luminance(kp_rgb c) {
  return 0.2126f * c.r + 0.7152f * c.g + 0.0722f * c.b;
}

// (1 - t) a + t b
KP_FN kp_rgb kp_rgb_mix(kp_rgb a, kp_rgb b, float t) {
  return kp_rgb_make(a.r + t * (b.r - a.r), a.g + t * (b.g - a.g), a.b + t * (b.b - a.b));
}
