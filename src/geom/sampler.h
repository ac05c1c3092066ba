// Points inside shapes, on their surfaces, and at random. All results are pure functions of the
// arguments: equal on every machine and for any number of threads.
#pragma once

#include "base/array.h"
#include "geom/random_points.h"
#include "geom/shape.h"

typedef enum kp_packing {
  KP_PACKING_CUBIC,      // square lattice in 2D
  KP_PACKING_HEXAGONAL,  // close packing, layers along y; triangular lattice in 2D
  KP_PACKING_COUNT
} kp_packing;

typedef KP_ARRAY(kp_vec3) kp_points;

typedef struct kp_fill_def {
  double spacing;  // d [m]: each sample stands for d^3 (in 2D d^2 x 1 m) in either packing
  kp_packing packing;
  double margin;  // samples keep at least this distance from the surface [m]; 0
  double jitter;  // each coordinate is moved by up to this share of d, 0 to 0.5; 0
  uint64_t seed;  // of the jitter
  kp_aabb clip;   // only samples in this box; must be finite for unbounded solids
} kp_fill_def;

// Cubic, no margin, no jitter, no clip.
kp_fill_def kp_default_fill_def(double spacing);

// Fill the inside of a shape with a lattice centred in its bounds (cut by clip), x fastest: a box
// whose sides are multiples of d gets exactly volume / d^3 samples, d/2 away from its faces.
// Appends. In 2D all z are exactly 0. Fails with KP_ERROR_SCENE when the solid is unbounded or the
// lattice has 2^31 points or more.
KP_NODISCARD kp_result kp_sampler_fill(const kp_shape *shape, const kp_fill_def *def,
                                       kp_points *points);

typedef struct kp_surface_sample {
  kp_vec3 position;
  kp_vec3 normal;  // unit, out of the solid; on edges and corners the mean of the faces
  double area;     // its share of the surface [m^2]; in 2D length x 1 m
  kp_index layer;  // 0 on the surface, then inward
} kp_surface_sample;

typedef KP_ARRAY(kp_surface_sample) kp_surface_samples;

typedef struct kp_surface_def {
  double spacing;   // d [m], not exceeded between neighbours
  kp_index layers;  // 1 = the surface alone; layer k lies k d deep in the solid; 1
  uint64_t seed;    // of the sampling of meshes
  kp_aabb clip;     // only samples in this box; must be finite for planes
} kp_surface_def;

kp_surface_def kp_default_surface_def(double spacing);

// Sample the surface of a shape; in 2D its outline in the plane z = 0. Boxes and planes on lattices
// with every edge and corner once, round shapes on rings, meshes by thinning a dense random set
// (see thinning.h). Every point of the surface has a sample within d. The areas of layer 0 add up
// to the area of the surface. Layers too deep to exist are left out. Appends.
KP_NODISCARD kp_result kp_sampler_surface(const kp_shape *shape, const kp_surface_def *def,
                                          kp_surface_samples *samples);
