#include "render/lumislice.h"

#include <math.h>

#include "base/memory.h"
#include "render/f3.h"

#define PLIES 3
#define FIBRES 26    // of a ply
#define STRAY 22     // that stand off
#define PLY_AT 0.40  // middle of a ply, in radii of the yarn
#define PLY_RADIUS 0.40
#define FIBRE 0.075  // standard deviation of a fibre's spot
#define STRAY_FIBRE 0.035
#define PI 3.14159265358979323846

typedef struct fibre {
  double x, y, width, weight;
} fibre;

// A fixed number in [0, 1) of a count.
static double hashed(uint32_t i) {
  uint32_t h = i * 0x9e3779b9u + 0x7f4a7c15u;
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  return (double)((h ^ (h >> 16)) >> 8) / 16777216.0;
}

// Three plies of fibres, thinner outwards, and a sparse rim.
static int place_fibres(fibre *fibres) {
  int n = 0;
  for (int ply = 0; ply < PLIES; ++ply) {
    double angle = 2.0 * PI * ply / PLIES, cx = PLY_AT * cos(angle), cy = PLY_AT * sin(angle);
    for (int i = 0; i < FIBRES; ++i, ++n) {
      double r = PLY_RADIUS * sqrt(hashed((uint32_t)(3 * n))),
             a = 2.0 * PI * hashed((uint32_t)(3 * n + 1));
      fibres[n] = (fibre){ cx + r * cos(a), cy + r * sin(a), FIBRE, 0.75 };
    }
  }
  for (int i = 0; i < STRAY; ++i, ++n) {
    double u = hashed((uint32_t)(3 * n)), a = 2.0 * PI * hashed((uint32_t)(3 * n + 1));
    double r = 0.68 + 0.26 * u * u;
    fibres[n] = (fibre){ r * cos(a), r * sin(a), STRAY_FIBRE, 0.5 };
  }
  return n;
}

static void fill_density(kp_lumi_level *level) {
  fibre fibres[PLIES * FIBRES + STRAY];
  int count = place_fibres(fibres);
  for (int j = 0; j < level->n; ++j) {
    for (int i = 0; i < level->n; ++i) {
      double x = (2.0 * i + 1.0) / level->n - 1.0, y = (2.0 * j + 1.0) / level->n - 1.0, sum = 0.0;
      for (int k = 0; k < count; ++k) {
        double dx = x - fibres[k].x, dy = y - fibres[k].y, w = fibres[k].width;
        sum += fibres[k].weight * exp(-(dx * dx + dy * dy) / (2.0 * w * w));
      }
      // nothing at the rim of the square
      double r = sqrt(x * x + y * y), fade = r < 0.92 ? 1.0 : fmax(0.0, (1.0 - r) / 0.08);
      level->density[j * level->n + i] = (float)(fade * fmin(sum, 1.0));
    }
  }
}

static void halve(const float *fine, float *coarse, int n) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const float *p = fine + (ptrdiff_t)(2 * j) * 2 * n + 2 * i;
      coarse[j * n + i] = 0.25f * (p[0] + p[1] + p[2 * n] + p[2 * n + 1]);
    }
  }
}

// Optical depth from each texel out of the slice, for each angle, in steps of a texel and a half.
static void fill_depth(kp_lumi_level *level) {
  int n = level->n;
  const float step = 3.0f / (float)n, half = 0.5f * (float)n;
  for (int a = 0; a < KP_LUMI_ANGLES; ++a) {
    float angle = (float)(2.0 * PI * a / KP_LUMI_ANGLES), dx = cosf(angle), dy = sinf(angle);
    float *depth = level->depth + (ptrdiff_t)a * n * n;
    for (int i = 0; i < n * n; ++i) {
      float x = ((float)(i % n) + 0.5f) / half - 1.0f, y = ((float)(i / n) + 0.5f) / half - 1.0f;
      float sum = 0.0f;
      for (float s = 0.5f * step; s < 2.0f; s += step) {
        float px = x + s * dx, py = y + s * dy;
        if (px * px + py * py >= 1.0f) {
          break;
        }
        sum += level->density[(int)((py + 1.0f) * half) * n + (int)((px + 1.0f) * half)];
      }
      depth[i] = KP_LUMI_EXTINCTION * step * sum;
    }
  }
}

static void fill_open(kp_lumi_level *level) {
  int texels = level->n * level->n;
  for (int i = 0; i < texels; ++i) {
    float sum = 0.0f;
    for (int a = 0; a < KP_LUMI_ANGLES; ++a) {
      sum += expf(-level->depth[(ptrdiff_t)a * texels + i]);
    }
    level->open[i] = sum / KP_LUMI_ANGLES;
  }
}

kp_result kp_lumislice_create(kp_lumislice *slice) {
  size_t count = (size_t)kp_lumi_offset(KP_LUMI_LEVELS);
  slice->texels = kp_alloc(count * sizeof(float), KP_MEMORY_RENDER);
  if (slice->texels == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int l = 0; l < KP_LUMI_LEVELS; ++l) {
    kp_lumi_level *level = &slice->levels[l];
    *level = kp_lumi_level_of(slice->texels, l);
    if (l == 0) {
      fill_density(level);
      fill_depth(level);
    } else {
      const kp_lumi_level *finer = &slice->levels[l - 1];
      halve(finer->density, level->density, level->n);
      for (int k = 0; k < KP_LUMI_ANGLES; ++k) {
        ptrdiff_t texels = (ptrdiff_t)level->n * level->n;
        halve(finer->depth + 4 * k * texels, level->depth + k * texels, level->n);
      }
    }
    fill_open(level);
  }
  return KP_OK;
}

void kp_lumislice_free(kp_lumislice *slice) {
  kp_free(slice->texels);
  *slice = (kp_lumislice){ 0 };
}
