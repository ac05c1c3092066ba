#include "render/environment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "render/shading.h"

#define PI 3.14159265358979323846

const char *const kp_environment_faces[] = {
  "right", "left", "top", "bottom", "front", "back", NULL
};

// Direction of a place (s, t) in [-1, 1]^2 of a face: middle + s across + t down.
static const float axes[6][3][3] = {
  { { 1, 0, 0 }, { 0, 0, -1 }, { 0, -1, 0 } }, { { -1, 0, 0 }, { 0, 0, 1 }, { 0, -1, 0 } },
  { { 0, 1, 0 }, { 1, 0, 0 }, { 0, 0, 1 } },   { { 0, -1, 0 }, { 1, 0, 0 }, { 0, 0, -1 } },
  { { 0, 0, 1 }, { 1, 0, 0 }, { 0, -1, 0 } },  { { 0, 0, -1 }, { -1, 0, 0 }, { 0, -1, 0 } },
};

static kp_f3 axis(int face, int which) {
  return kp_f3_make(axes[face][which][0], axes[face][which][1], axes[face][which][2]);
}

static kp_f3 direction_of(int face, float s, float t) {
  return kp_f3_madd(kp_f3_madd(axis(face, 0), s, axis(face, 1)), t, axis(face, 2));
}

// ---- texels

static kp_rgb pixel_color(const kp_image *image, int x, int y) {
  static const float step = 1.0f / 255.0f;
  const uint8_t *p =
      image->pixels + ((size_t)y * (size_t)image->width + (size_t)x) * (size_t)image->n_channels;
  return kp_rgb_make(kp_srgb_decode((float)p[0] * step), kp_srgb_decode((float)p[1] * step),
                     kp_srgb_decode((float)p[2] * step));
}

// Light on a white sheet that faces n, over pi: sum of L cos over the half sphere by texels.
static kp_rgb light_on(const kp_environment *e, kp_f3 n) {
  double sum[3] = { 0.0, 0.0, 0.0 }, whole = 0.0;
  // a coarse map will do: the cosine is smooth
  int step = e->size > 32 ? e->size / 32 : 1;
  for (int face = 0; face < 6; ++face) {
    for (int y = step / 2; y < e->size; y += step) {
      for (int x = step / 2; x < e->size; x += step) {
        float s = (2.0f * (float)x + 1.0f) / (float)e->size - 1.0f;
        float t = (2.0f * (float)y + 1.0f) / (float)e->size - 1.0f;
        kp_f3 d = direction_of(face, s, t);
        double square = (double)kp_f3_dot(d, d), cosine = (double)kp_f3_dot(d, n) / sqrt(square);
        double weight = cosine > 0.0 ? cosine / (square * sqrt(square)) : 0.0;
        kp_rgb c =
            e->texels[((size_t)face * (size_t)e->size + (size_t)y) * (size_t)e->size + (size_t)x];
        sum[0] += weight * (double)c.r;
        sum[1] += weight * (double)c.g;
        sum[2] += weight * (double)c.b;
        whole += weight;
      }
    }
  }
  return kp_rgb_make((float)(sum[0] / whole), (float)(sum[1] / whole), (float)(sum[2] / whole));
}

static void find_light(kp_environment *e) {
  e->up = light_on(e, kp_f3_make(0.0f, 1.0f, 0.0f));
  e->down = light_on(e, kp_f3_make(0.0f, -1.0f, 0.0f));
  const kp_f3 around[4] = {
    { 1.0f, 0.0f, 0.0f }, { -1.0f, 0.0f, 0.0f }, { 0.0f, 0.0f, 1.0f }, { 0.0f, 0.0f, -1.0f }
  };
  e->side = kp_rgb_make(0.0f, 0.0f, 0.0f);
  for (int k = 0; k < 4; ++k) {
    e->side = kp_rgb_add(e->side, kp_rgb_scale(light_on(e, around[k]), 0.25f));
  }
}

static kp_result take(int size, kp_environment *out) {
  out->size = size;
  out->texels = kp_alloc(6 * (size_t)size * (size_t)size * sizeof *out->texels, KP_MEMORY_RENDER);
  return out->texels != NULL ? KP_OK : KP_ERROR_MEMORY;
}

static void copy_face(kp_environment *out, int face, const kp_image *image, int x0, int y0) {
  for (int y = 0; y < out->size; ++y) {
    for (int x = 0; x < out->size; ++x) {
      out->texels[((size_t)face * (size_t)out->size + (size_t)y) * (size_t)out->size + (size_t)x] =
          pixel_color(image, x0 + x, y0 + y);
    }
  }
}

kp_result kp_environment_make(const kp_image *faces, kp_environment *out) {
  memset(out, 0, sizeof *out);
  for (int k = 0; k < 6; ++k) {
    bool fits = faces[k].width == faces[k].height && faces[k].width == faces[0].width;
    if (!fits || faces[k].width < 1) {
      return kp_fail(KP_ERROR_FORMAT,
                     "environment: the %s picture is %d x %d; all six must be squares of one size",
                     kp_environment_faces[k], faces[k].width, faces[k].height);
    }
  }
  KP_TRY(take(faces[0].width, out));
  for (int k = 0; k < 6; ++k) {
    copy_face(out, k, &faces[k], 0, 0);
  }
  find_light(out);
  return KP_OK;
}

// ---- one picture

// Squares of the faces in a cross of 4 x 3: the middle row is left, front, right, back.
static const int wide_cross[6][2] = { { 2, 1 }, { 0, 1 }, { 1, 0 }, { 1, 2 }, { 1, 1 }, { 3, 1 } };

static void fill_from_sphere(kp_environment *out, const kp_image *image) {
  for (int face = 0; face < 6; ++face) {
    for (int y = 0; y < out->size; ++y) {
      for (int x = 0; x < out->size; ++x) {
        float s = (2.0f * (float)x + 1.0f) / (float)out->size - 1.0f;
        float t = (2.0f * (float)y + 1.0f) / (float)out->size - 1.0f;
        kp_f3 d = kp_f3_normalize(direction_of(face, s, t));
        // the middle of the picture is the front, +z; longitude grows to the right
        double u = 0.5 + atan2((double)d.x, (double)d.z) / (2.0 * PI);
        double v = acos((double)kp_clampf(d.y, -1.0f, 1.0f)) / PI;
        int px = (int)(u * image->width), py = (int)(v * image->height);
        px = px < 0 ? 0 : px >= image->width ? image->width - 1 : px;
        py = py >= image->height ? image->height - 1 : py;
        out->texels[((size_t)face * (size_t)out->size + (size_t)y) * (size_t)out->size +
                    (size_t)x] = pixel_color(image, px, py);
      }
    }
  }
}

static kp_result from_one(const char *path, const kp_image *image, kp_environment *out) {
  int w = image->width, h = image->height;
  if (w == 2 * h && h >= 2) {
    KP_TRY(take(h / 2, out));
    fill_from_sphere(out, image);
    return KP_OK;
  }
  bool is_wide = 3 * w == 4 * h && w % 4 == 0, is_tall = 4 * w == 3 * h && w % 3 == 0;
  if (!is_wide && !is_tall && w != 6 * h && h != 6 * w) {
    return kp_fail(KP_ERROR_FORMAT,
                   "environment: %s is %d x %d; it must be a cross of squares (4 x 3 or 3 x 4), "
                   "six in a row or column, or twice as wide as high",
                   path, w, h);
  }
  int size = is_wide ? w / 4 : is_tall ? w / 3 : w == 6 * h ? h : w;
  KP_TRY(take(size, out));
  for (int k = 0; k < 6; ++k) {
    int x = is_wide || is_tall ? wide_cross[k][0] : w == 6 * h ? k : 0;
    int y = is_wide || is_tall ? wide_cross[k][1] : w == 6 * h ? 0 : k;
    if (is_tall && k == 5) {
      // the back hangs below the bottom, upside down
      x = 1;
      y = 3;
    }
    copy_face(out, k, image, x * size, y * size);
  }
  if (is_tall) {
    kp_rgb *back = out->texels + 5 * (size_t)size * (size_t)size;
    for (size_t i = 0, j = (size_t)size * (size_t)size - 1; i < j; ++i, --j) {
      kp_rgb swap = back[i];
      back[i] = back[j];
      back[j] = swap;
    }
  }
  return KP_OK;
}

static kp_result load_six(const char *path, const char *star, kp_environment *out) {
  kp_image faces[6];
  memset(faces, 0, sizeof faces);
  kp_result result = KP_OK;
  for (int k = 0; k < 6 && result == KP_OK; ++k) {
    char name[1024];
    int n = snprintf(name, sizeof name, "%.*s%s%s", (int)(star - path), path,
                     kp_environment_faces[k], star + 1);
    result = n < (int)sizeof name ? kp_png_read(name, &faces[k])
                                  : kp_fail(KP_ERROR_ARGUMENT, "environment: the path is too long");
  }
  result = result == KP_OK ? kp_environment_make(faces, out) : result;
  for (int k = 0; k < 6; ++k) {
    kp_image_free(&faces[k]);
  }
  return result;
}

kp_result kp_environment_load(const char *path, kp_environment *out) {
  memset(out, 0, sizeof *out);
  const char *slash = strrchr(path, '/');
  const char *star = strchr(slash != NULL ? slash : path, '*');
  if (star != NULL) {
    return load_six(path, star, out);
  }
  kp_image image = { 0 };
  KP_TRY(kp_png_read(path, &image));
  kp_result result = from_one(path, &image, out);
  kp_image_free(&image);
  if (result == KP_OK) {
    find_light(out);
  }
  return result;
}

void kp_environment_free(kp_environment *environment) {
  kp_free(environment->texels);
  memset(environment, 0, sizeof *environment);
}

kp_rgb kp_environment_color(const kp_environment *e, kp_f3 d) {
  return kp_shading_cube(e->texels, e->size, d, false);
}
