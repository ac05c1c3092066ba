// The lumislice of a yarn (Xu, Chen, Lin, Zhong, Wu, Guo and Shum 2001, "Photorealistic rendering
// of knitwear using the lumislice"): its cross-section as a picture of how dense its fibres are,
// with the light that comes to each place of it stored for directions all around. Made once, at
// several resolutions, for all yarns of a picture.
#pragma once

#include "base/result.h"
#include "render/f3.h"

#define KP_LUMI_ANGLES 16
#define KP_LUMI_LEVELS 5
#define KP_LUMI_SIZE 64  // of the finest level; each other has half the texels

// Square of n x n texels over [-1, 1]^2 in radii of the yarn, x fastest.
typedef struct kp_lumi_level {
  int n;
  float *density;  // 0 .. 1
  float *open;     // share of light from all around the slice that comes in
  float *depth;    // [KP_LUMI_ANGLES] pictures: optical depth towards the angle, for light in the
                   // plane of the slice
} kp_lumi_level;

typedef struct kp_lumislice {
  float *texels;  // of all levels, for a card
  kp_lumi_level levels[KP_LUMI_LEVELS];
} kp_lumislice;

// Extinction of density 1, per radius of the yarn.
#define KP_LUMI_EXTINCTION 5.0f

KP_NODISCARD kp_result kp_lumislice_create(kp_lumislice *slice);
void kp_lumislice_free(kp_lumislice *slice);

// Where a level begins among all texels; that of the level after the last is their number.
KP_FN int64_t kp_lumi_offset(int level) {
  int64_t at = 0;
  for (int l = 0; l < level; ++l) {
    int64_t n = KP_LUMI_SIZE >> l;
    at += (KP_LUMI_ANGLES + 2) * n * n;
  }
  return at;
}

KP_FN kp_lumi_level kp_lumi_level_of(float *texels, int level) {
  kp_lumi_level l;
  l.n = KP_LUMI_SIZE >> level;
  l.density = texels + kp_lumi_offset(level);
  l.open = l.density + l.n * l.n;
  l.depth = l.open + l.n * l.n;
  return l;
}

KP_FN float kp_lumi_between(const float *values, int n, float x, float y) {
  float u = kp_clampf((x + 1.0f) * 0.5f * (float)n - 0.5f, 0.0f, (float)(n - 1));
  float v = kp_clampf((y + 1.0f) * 0.5f * (float)n - 0.5f, 0.0f, (float)(n - 1));
  int i = (int)u, j = (int)v;
  i = i < n - 1 ? i : n - 2;
  j = j < n - 1 ? j : n - 2;
  float fx = u - (float)i, fy = v - (float)j;
  const float *p = values + (ptrdiff_t)j * n + i;
  float low = p[0] + fx * (p[1] - p[0]), high = p[n] + fx * (p[n + 1] - p[n]);
  return low + fy * (high - low);
}

// Between texels; 0 outside.
KP_FN float kp_lumi_density(const kp_lumi_level *level, float x, float y) {
  return x * x + y * y < 1.0f ? kp_lumi_between(level->density, level->n, x, y) : 0.0f;
}

// Light at a place from an angle in steps (0 .. KP_LUMI_ANGLES is one turn, 0 along x) whose way
// through the yarn is `slant` times that in the plane.
KP_FN float kp_lumi_light(const kp_lumi_level *level, float x, float y, float angle, float slant) {
  int n = level->n, a = (int)angle;
  float f = angle - (float)a;
  a &= KP_LUMI_ANGLES - 1;
  int b = (a + 1) & (KP_LUMI_ANGLES - 1);
  float low = kp_lumi_between(level->depth + (ptrdiff_t)a * n * n, n, x, y);
  float high = kp_lumi_between(level->depth + (ptrdiff_t)b * n * n, n, x, y);
  return expf(-slant * (low + f * (high - low)));
}

// Light from all around.
KP_FN float kp_lumi_open(const kp_lumi_level *level, float x, float y) {
  return kp_lumi_between(level->open, level->n, x, y);
}
