// Pictures in memory: linear RGBA in float plus depth, and their way to 8-bit sRGB.
// Row 0 is the top row. A picture owns its arrays; start from a zeroed struct.
#pragma once

#include "base/result.h"
#include "io/png.h"
#include "render/colormap.h"

#define KP_PICTURE_SIZE_LIMIT 16384

typedef struct kp_picture {
  int width, height;
  float *rgba;   // 4 * width * height; linear, colour already multiplied by alpha
  float *depth;  // width * height; distance along the view axis [m], infinite where nothing is
} kp_picture;

// Make room for width x height (the arrays are kept when the size is right already) and clear to
// transparent black at infinite depth.
KP_NODISCARD kp_result kp_picture_resize(kp_picture *picture, int width, int height);
void kp_picture_free(kp_picture *picture);

// Tone-mapped colour in [0, 1] of a linear colour after exposure (2^stops): colours below 0.76 stay
// as they are, what is brighter rolls off to white.
kp_rgb kp_picture_tone_map(kp_rgb linear, double exposure_stops);

// 8-bit sRGB of the whole picture into an image that is made here (kp_image_free). With alpha the
// image has four channels, colour not multiplied by alpha. A fixed ordered dither hides the bands
// of soft gradients; equal pictures give equal bytes.
KP_NODISCARD kp_result kp_picture_encode(const kp_picture *picture, double exposure_stops,
                                         bool with_alpha, kp_image *out);

// Supersampling resolve: mean over factor x factor pixels; depth takes the nearest. Rows and
// columns that do not fill a block are left out. `out` is resized and may not be `in`.
KP_NODISCARD kp_result kp_picture_reduce(const kp_picture *in, int factor, kp_picture *out);

// Encode and write a PNG.
KP_NODISCARD kp_result kp_picture_write_png(const kp_picture *picture, double exposure_stops,
                                            bool with_alpha, const char *path);
