// 16-bit floating point numbers (IEEE 754 binary16) for files.
#pragma once

#include <stdint.h>
#include <string.h>

#include "kelpie/config.h"

// The nearest one, ties to even. Numbers beyond the largest finite one, 65504, become it: an
// infinite density or temperature would be useless to whoever reads the file.
KP_FN uint16_t kp_half_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) {
    return (uint16_t)(sign | 0x7e00);  // not a number
  }
  if (bits >= 0x477ff000) {
    return (uint16_t)(sign | 0x7bff);
  }
  if (bits < 0x38800000) {
    // below the smallest normal one, 2^-14: steps of 2^-24, which the addition rounds to
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude += 0.5f;
    memcpy(&bits, &magnitude, sizeof bits);
    return (uint16_t)(sign | (bits - 0x3f000000));
  }
  const uint32_t odd = bits >> 13 & 1;
  return (uint16_t)(sign | ((bits + 0x0fff + odd - 0x38000000) >> 13));
}

KP_FN float kp_half_to_float(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
  uint32_t bits = (magnitude << 13) + 0x38000000;
  if (magnitude < 0x0400) {
    // steps of 2^-24
    const float small = (float)magnitude * 0x1p-24f;
    memcpy(&bits, &small, sizeof bits);
  } else if (magnitude >= 0x7c00) {
    bits = magnitude << 13 | 0x7f800000;
  }
  bits |= sign;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
