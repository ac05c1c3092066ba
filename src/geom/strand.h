// The shape of one hair: growing a centre line out of a surface, curls and waves about it, samples
// at equal arclength, and the extra points that give straight pieces a twist (Selle 2008, section
// 7.3.1). Serial, in double, pure functions of the arguments.
#pragma once

#include "geom/sampler.h"

// How hairs grow. Lengths in metres.
typedef struct kp_strand_style {
  double length;       // along the hair, curls included
  double curl_radius;  // of the helix; 0: none
  double curl_pitch;   // of one turn along the centre line
  double wave;         // amplitude of a plane wave; 0: none
  double wave_length;
  kp_vec3 fall;      // where hairs turn to, of any length; 0: they keep their direction
  double droop;      // over which they turn; 0: at once
  double lift;       // how far from the surface they stay at least
  double roughness;  // random share of directions, lengths and curls, 0 to 1
  uint64_t seed;
} kp_strand_style;

// What grows may not enter; NULL where there is nothing. Signed distance at p, negative inside,
// with the outward normal.
typedef struct kp_strand_obstacle {
  double (*distance)(kp_vec3 p, kp_vec3 *normal, void *user);
  void *user;
} kp_strand_obstacle;

// A hair from `root` in the unit direction `out`, as a dense polyline of the style's length. `id`
// tells random hairs apart. Replaces the points.
KP_NODISCARD kp_result kp_strand_grow(const kp_strand_style *style, kp_vec3 root, kp_vec3 out,
                                      uint64_t id, const kp_strand_obstacle *obstacle,
                                      kp_points *points);

double kp_strand_length(const kp_vec3 *points, size_t n);

// segments + 1 points at equal arclength; the ends stay. Fails with KP_ERROR_SCENE when the curve
// has no length.
KP_NODISCARD kp_result kp_strand_resample(const kp_vec3 *points, size_t n, int64_t segments,
                                          kp_vec3 *out);

// Segment i from x[i] to x[i + 1] is straight when it lies within `angle` [rad] of the segment
// before or behind it. With pi every segment is.
void kp_strand_find_straight(const kp_vec3 *x, int64_t segments, double angle, bool *straight);

// The extra point of every straight segment: over its middle, as far from either end as the ends
// from each other (an equilateral triangle), consecutive ones turned by a quarter about the hair.
// `phase` [rad] turns all of them. Others are left alone.
void kp_strand_find_extras(const kp_vec3 *x, int64_t segments, const bool *straight, double phase,
                           kp_vec3 *extra);

// A hair between guides: the mean of the n curves of `count` points each, weighted, every one moved
// so that it starts at the root. `weights` add up to 1.
void kp_strand_blend(const kp_vec3 *const *guides, const double *weights, int n, size_t count,
                     kp_vec3 root, kp_vec3 *out);
