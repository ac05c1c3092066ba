// The fields that a surface of particles can be taken from, each with its source:
//
//   zhu-bridson       Zhu & Bridson 2005; Hong 2009, Eqs. 2.55-2.58
//   anisotropic       after Yu & Turk 2013: an ellipsoid for each particle from its neighbours
//   metaballs         Lyes 2015, section 7.5.1: sum (q - 1/2)^2, q = d^2 / R_f^2
//   color             the colour field of SPH: sum V W(d), half at the surface
//   radial            Bayraktar 2010, Eq. 5.5: sqrt(sum (1 - (d/h)^2)^3)
//   surface-literal   with surface values s_i as printed in its Eq. 5.10: d s_i in place of d
//   surface-shrink    what its text describes: d / s_i, nothing beyond h s_i
//   surface-weight    s_i as a weight
//   blobbies          Blinn 1982; Hong 2009, section II.F.2: sum exp(-a d^2)
//   soft              Wyvill et al. 1986: blobbies by a polynomial
//   hong              Hong 2009, Eq. 3.9: root mean square of 1 - d/r
#pragma once

#include "base/result.h"

typedef enum kp_surface_kind {
  KP_SURFACE_ZHU_BRIDSON,
  KP_SURFACE_ANISOTROPIC,
  KP_SURFACE_METABALLS,
  KP_SURFACE_COLOR,
  KP_SURFACE_RADIAL,
  KP_SURFACE_LITERAL,
  KP_SURFACE_SHRINK,
  KP_SURFACE_WEIGHT,
  KP_SURFACE_BLOBBIES,
  KP_SURFACE_SOFT,
  KP_SURFACE_HONG,
  KP_SURFACE_KIND_COUNT
} kp_surface_kind;

#define KP_SURFACE_ATTRIBUTES 7  // of a particle at most

// What is kept of each particle: its place from the corner of its block, in R; a value that its
// neighbours look at; its volume, and one over its edge in spacings.
enum { KP_SURFACE_VALUE = 3, KP_SURFACE_VOLUME, KP_SURFACE_INVERSE, KP_SURFACE_NEAR };

struct kp_surfacer;

typedef struct kp_surface_field {
  const char *name;
  double reach;      // spacings: where a particle's share ends
  double level[2];   // in flat worlds, in space
  int smooth;        // passes of the filter
  int n_attributes;  // of a particle
  bool moves;        // particles count from other centres
  float deep;        // the first attribute of a particle inside a liquid
  // From the two sums of a sample.
  float (*value)(float first, float second);
  // What the sums are multiplied by; R is `reach` spacings.
  double (*unit)(double reach, int dimension);
  // Attributes of all particles near the surface; NULL: there are none.
  kp_result (*prepare)(struct kp_surfacer *s);
} kp_surface_field;

extern const kp_surface_field kp_surface_fields[KP_SURFACE_KIND_COUNT];
// Their names, NULL at the end.
extern const char *const kp_surface_field_names[];

// Gaussian of blobbies: exp(-KP_BLOBBY_WIDTH (d/R)^2), less what that is at R.
#define KP_BLOBBY_WIDTH 6.0f
#define KP_BLOBBY_END 2.478752e-3f
