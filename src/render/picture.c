#include "render/picture.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"

#define CHUNK_ROWS 16

kp_result kp_picture_resize(kp_picture *picture, int width, int height) {
  if (width < 1 || height < 1 || width > KP_PICTURE_SIZE_LIMIT || height > KP_PICTURE_SIZE_LIMIT) {
    return kp_fail(KP_ERROR_ARGUMENT, "a picture of %d x %d pixels; each side must be 1 to %d",
                   width, height, KP_PICTURE_SIZE_LIMIT);
  }
  size_t n = (size_t)width * (size_t)height;
  if (picture->width != width || picture->height != height) {
    kp_picture_free(picture);
    picture->rgba = kp_alloc(4 * n * sizeof(float), KP_MEMORY_RENDER);
    picture->depth = kp_alloc(n * sizeof(float), KP_MEMORY_RENDER);
    if (picture->rgba == NULL || picture->depth == NULL) {
      kp_picture_free(picture);
      return KP_ERROR_MEMORY;
    }
    picture->width = width;
    picture->height = height;
  }
  memset(picture->rgba, 0, 4 * n * sizeof(float));
  for (size_t i = 0; i < n; ++i) {
    picture->depth[i] = HUGE_VALF;
  }
  return KP_OK;
}

void kp_picture_free(kp_picture *picture) {
  kp_free(picture->rgba);
  kp_free(picture->depth);
  *picture = (kp_picture){ 0 };
}

// Khronos PBR Neutral tone mapper (Khronos Group 2024): hue and saturation of ordinary colours
// stay, the toe takes off the 4 % a dielectric's reflection adds, highlights lose colour gradually.
kp_rgb kp_picture_tone_map(kp_rgb linear, double exposure_stops) {
  const float start = 0.8f - 0.04f;
  const float desaturation = 0.15f;
  kp_rgb c = kp_rgb_scale(linear, (float)exp2(exposure_stops));
  float low = fminf(c.r, fminf(c.g, c.b));
  float offset = low < 0.08f ? low - 6.25f * low * low : 0.04f;
  c = kp_rgb_make(c.r - offset, c.g - offset, c.b - offset);
  float peak = fmaxf(c.r, fmaxf(c.g, c.b));
  if (peak < start) {
    return c;
  }
  float room = 1.0f - start;
  float new_peak = 1.0f - room * room / (peak + room - start);
  c = kp_rgb_scale(c, new_peak / peak);
  float white = 1.0f - 1.0f / (desaturation * (peak - new_peak) + 1.0f);
  return kp_rgb_mix(c, kp_rgb_make(new_peak, new_peak, new_peak), white);
}

// 8 x 8 Bayer matrix by bit interleaving, in (0, 1).
static float dither(int x, int y) {
  unsigned a = (unsigned)(x ^ y), b = (unsigned)y, v = 0;
  for (unsigned bit = 0; bit < 3; ++bit) {
    v = (v << 2) | (((a >> bit) & 1u) << 1) | ((b >> bit) & 1u);
  }
  return ((float)v + 0.5f) / 64.0f;
}

static uint8_t to_byte(float encoded, float threshold) {
  float v = 255.0f * encoded + threshold;
  return (uint8_t)(v < 0.0f ? 0.0f : v > 255.0f ? 255.0f : v);
}

typedef struct encode_context {
  const kp_picture *picture;
  double exposure;
  kp_image *out;
} encode_context;

static void encode_rows(int64_t begin, int64_t end, void *context) {
  const encode_context *c = context;
  int width = c->picture->width, channels = c->out->n_channels;
  for (int y = (int)begin; y < (int)end; ++y) {
    for (int x = 0; x < width; ++x) {
      size_t i = (size_t)y * (size_t)width + (size_t)x;
      const float *p = c->picture->rgba + 4 * i;
      uint8_t *q = c->out->pixels + (size_t)channels * i;
      float scale = channels == 4 && p[3] > 0.0f ? 1.0f / p[3] : 1.0f;
      kp_rgb rgb = kp_rgb_scale(kp_rgb_make(p[0], p[1], p[2]), scale);
      rgb = kp_picture_tone_map(rgb, c->exposure);
      float threshold = dither(x, y);
      q[0] = to_byte(kp_srgb_encode(rgb.r), threshold);
      q[1] = to_byte(kp_srgb_encode(rgb.g), threshold);
      q[2] = to_byte(kp_srgb_encode(rgb.b), threshold);
      if (channels == 4) {
        q[3] = to_byte(p[3], 0.5f);
      }
    }
  }
}

kp_result kp_picture_encode(const kp_picture *picture, double exposure_stops, bool with_alpha,
                            kp_image *out) {
  KP_TRY(kp_image_create(picture->width, picture->height, with_alpha ? 4 : 3, out));
  encode_context context = { picture, exposure_stops, out };
  kp_parallel_for(picture->height, CHUNK_ROWS, encode_rows, &context);
  return KP_OK;
}

kp_result kp_picture_reduce(const kp_picture *in, int factor, kp_picture *out) {
  if (factor < 1 || factor > in->width || factor > in->height) {
    return kp_fail(KP_ERROR_ARGUMENT, "a picture of %d x %d pixels cannot be reduced %d times",
                   in->width, in->height, factor);
  }
  KP_TRY(kp_picture_resize(out, in->width / factor, in->height / factor));
  float weight = 1.0f / (float)(factor * factor);
  for (int y = 0; y < out->height * factor; ++y) {
    for (int x = 0; x < out->width * factor; ++x) {
      size_t i = (size_t)y * (size_t)in->width + (size_t)x;
      size_t o = (size_t)(y / factor) * (size_t)out->width + (size_t)(x / factor);
      for (size_t c = 0; c < 4; ++c) {
        out->rgba[4 * o + c] += weight * in->rgba[4 * i + c];
      }
      out->depth[o] = fminf(out->depth[o], in->depth[i]);
    }
  }
  return KP_OK;
}

kp_result kp_picture_write_png(const kp_picture *picture, double exposure_stops, bool with_alpha,
                               const char *path) {
  kp_image image = { 0 };
  KP_TRY(kp_picture_encode(picture, exposure_stops, with_alpha, &image));
  kp_result result = kp_png_write(path, &image);
  kp_image_free(&image);
  return result;
}
