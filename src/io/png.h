// PNG images, 8 bit, sRGB, rows from the top, no padding between rows. Equal pixels give equal
// bytes: no time stamps, fixed filter and compression level.
#pragma once

#include "base/result.h"

typedef struct kp_image {
  int width, height;
  int n_channels;   // 3: RGB, 4: RGBA (not premultiplied)
  uint8_t *pixels;  // width * height * n_channels; kp_free or kp_image_free
} kp_image;

// Memory for an image, not cleared.
KP_NODISCARD kp_result kp_image_create(int width, int height, int n_channels, kp_image *out);
void kp_image_free(kp_image *image);

// Written atomically.
KP_NODISCARD kp_result kp_png_write(const char *path, const kp_image *image);

// The file's bytes in memory (kp_free).
KP_NODISCARD kp_result kp_png_encode(const kp_image *image, uint8_t **out, size_t *n_bytes);

// Any PNG; palette, grey and 16 bit are turned into RGB or RGBA of 8 bit. Images over 16384 pixels
// a side are refused.
KP_NODISCARD kp_result kp_png_read(const char *path, kp_image *out);
