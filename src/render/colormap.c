#include "render/colormap.h"

#include <math.h>

#include "math/blackbody.h"

static const double degree = 3.14159265358979323846 / 180.0;

const char *const kp_colormap_words[] = {
#define X(name, word, text) word,
  KP_COLORMAPS(X)
#undef X
      NULL
};

float kp_srgb_encode(float linear) {
  float v = linear < 0.0f ? 0.0f : linear > 1.0f ? 1.0f : linear;
  return v <= 0.0031308f ? 12.92f * v : 1.055f * powf(v, 1.0f / 2.4f) - 0.055f;
}

float kp_srgb_decode(float encoded) {
  float v = encoded < 0.0f ? 0.0f : encoded > 1.0f ? 1.0f : encoded;
  return v <= 0.04045f ? v / 12.92f : powf((v + 0.055f) / 1.055f, 2.4f);
}

kp_rgb kp_rgb_from_oklch(double lightness, double chroma, double hue_deg) {
  double a = chroma * cos(hue_deg * degree), b = chroma * sin(hue_deg * degree);
  double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
  double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
  double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
  l = l * l * l;
  m = m * m * m;
  s = s * s * s;
  double red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
  double green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
  double blue = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
  return kp_rgb_make((float)fmax(red, 0.0), (float)fmax(green, 0.0), (float)fmax(blue, 0.0));
}

// Planck's law as the eye sees it, brought into the gamut and to a peak of 1.
kp_rgb kp_rgb_from_blackbody(double kelvin) {
  double rgb[3];
  kp_blackbody_color(kelvin, rgb);
  double peak = fmax(rgb[0], fmax(rgb[1], rgb[2]));
  return kp_rgb_make((float)(fmax(rgb[0], 0.0) / peak), (float)(fmax(rgb[1], 0.0) / peak),
                     (float)(fmax(rgb[2], 0.0) / peak));
}

// Lightness, chroma and hue along each map; the numbers were picked by eye inside the sRGB gamut.
kp_rgb kp_colormap_eval(kp_colormap map, double t) {
  if (isnan(t)) {
    return kp_rgb_make(1.0f, 0.0f, 1.0f);
  }
  double s = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
  switch (map) {
  case KP_COLORMAP_WATER:
    return kp_rgb_from_oklch(0.40 + 0.58 * pow(s, 0.8), 0.135 * pow(1.0 - s, 0.75) + 0.004,
                             254.0 - 40.0 * s);
  case KP_COLORMAP_HEAT:
    return kp_rgb_from_oklch(0.12 + 0.87 * s,
                             0.78 * s * pow(1.0 - s, 0.9) * (1.0 - 0.35 * s) + 0.01,
                             22.0 + 85.0 * s * s);
  case KP_COLORMAP_TWO:  // whose colours a look has; without one they are grey
  case KP_COLORMAP_GREY:
    return kp_rgb_from_oklch(0.20 + 0.78 * s, 0.0, 0.0);
  case KP_COLORMAP_DIVERGE: {
    double d = fabs(2.0 * s - 1.0);
    return kp_rgb_from_oklch(0.96 - 0.46 * d, 0.17 * pow(d, 0.8), s < 0.5 ? 256.0 : 27.0);
  }
  case KP_COLORMAP_VIRIDIS:
  case KP_COLORMAP_COUNT:
    break;
  }
  return kp_rgb_from_oklch(0.27 + 0.64 * s, 0.105 + 0.09 * pow(s, 3.0), 305.0 - 197.0 * s);
}
