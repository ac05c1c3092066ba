// Light at the boundary of two clear media: Snell's law and what is mirrored (Lyes 2010, 7.6.2).
// Directions are unit vectors, the normal points to the side the light comes from.
#pragma once

#include "render/f3.h"

#define KP_OPTICS_OFF 1e-5f     // parts of the scene that a ray starts off its surface
#define KP_OPTICS_TOUCH 0.012f  // and that a liquid may end before what it wets

typedef enum kp_fresnel {
  KP_FRESNEL_EXACT,
  KP_FRESNEL_SCHLICK,
  KP_FRESNEL_GREY,  // exact shares of a white sky and a grey water
  KP_FRESNEL_COUNT
} kp_fresnel;

// Share that is mirrored, unpolarised, going from index n1 into n2 at the angle whose cosine is
// given. Fresnel's formulas in the form of Lyes's listing 7.14, which, unlike his equation 7.10,
// holds at normal incidence too: with k = n1 / n2, c = k cos, g = sqrt(1 + c^2 - k^2). Total
// reflection is g^2 <= 0.
KP_FN float kp_fresnel_exact(float cosine, float n1, float n2) {
  float k = n1 / n2, c = k * cosine;
  float square = 1.0f + c * c - k * k;
  if (square <= 0.0f) {
    return 1.0f;
  }
  // of the two waves, one in units of the other's: c = k cos, g = cos of the refracted ray
  float g = sqrtf(square), across = (g - c) / (g + c);
  float along = (c * (g + c) - k * k) / (c * (g - c) + k * k);
  return kp_minf(0.5f * across * across * (1.0f + along * along), 1.0f);
}

// Schlick 1994: R0 + (1 - R0) (1 - cos)^5, with the larger of the two angles.
KP_FN float kp_fresnel_schlick(float cosine, float n1, float n2) {
  float k = n1 / n2, r0 = (n2 - n1) / (n2 + n1);
  if (k > 1.0f) {
    float square = 1.0f - k * k * (1.0f - cosine * cosine);
    if (square <= 0.0f) {
      return 1.0f;
    }
    cosine = sqrtf(square);
  }
  float grazing = 1.0f - cosine, twice = grazing * grazing;
  r0 *= r0;
  return r0 + (1.0f - r0) * twice * twice * grazing;
}

// By one of the two formulas.
KP_FN float kp_fresnel_share(int formula, float cosine, float n1, float n2) {
  cosine = kp_clampf(cosine, 0.0f, 1.0f);
  return formula == KP_FRESNEL_SCHLICK ? kp_fresnel_schlick(cosine, n1, n2)
                                       : kp_fresnel_exact(cosine, n1, n2);
}

KP_FN kp_f3 kp_reflect(kp_f3 ray, kp_f3 normal) {
  return kp_f3_madd(ray, -2.0f * kp_f3_dot(ray, normal), normal);
}

// Zero where all is mirrored.
KP_FN kp_f3 kp_refract(kp_f3 ray, kp_f3 normal, float n1, float n2) {
  float k = n1 / n2, cosine = -kp_f3_dot(ray, normal);
  float square = 1.0f - k * k * (1.0f - cosine * cosine);
  if (square <= 0.0f) {
    return kp_f3_make(0.0f, 0.0f, 0.0f);
  }
  return kp_f3_normalize(kp_f3_madd(kp_f3_scale(ray, k), k * cosine - sqrtf(square), normal));
}
