// The lumislice of a yarn (Xu, Chen, Lin, Zhong, Wu, Guo and Shum 2001, "Photorealistic rendering
// of knitwear using the lumislice"): its cross-section as a picture of how dense its fibres are,
// with the light that comes to each place of it stored for directions all around. Made once, at
// several resolutions, for all yarns of a picture.
#pragma once

#include "base/result.h"

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
  kp_lumi_level levels[KP_LUMI_LEVELS];
} kp_lumislice;

// Extinction of density 1, per radius of the yarn.
#define KP_LUMI_EXTINCTION 5.0f

KP_NODISCARD kp_result kp_lumislice_create(kp_lumislice *slice);
void kp_lumislice_free(kp_lumislice *slice);

// Between texels; 0 outside for the density.
float kp_lumi_density(const kp_lumi_level *level, float x, float y);
// Light at a place: from an angle in steps (0 .. KP_LUMI_ANGLES is one turn, 0 along x) whose way
// through the yarn is `slant` times that in the plane, and from all around.
float kp_lumi_light(const kp_lumi_level *level, float x, float y, float angle, float slant);
float kp_lumi_open(const kp_lumi_level *level, float x, float y);
