// Emitters of particle media: openings and surfaces that jets leave, and shapes that are kept full.
//
// An opening is cut into sites, each of which stands for a share of its area and lets one particle
// through whenever as much liquid as a particle holds has passed there. Sites take turns (`phase`),
// so that particles come one by one and not in layers: a jet that speeds up as it falls has no
// planes to part at. Everything is a function of the time at which a particle left, which lies
// anywhere inside a sub-step: where it is at the end of that sub-step, and how fast, does not
// depend on how long sub-steps are, nor on the motion of the emitter.
//
// The inside of a shape is a lattice of places that are offered again and again.
#pragma once

#include "geom/sampler.h"
#include "methods/common/motion.h"

typedef struct kp_emitter_site {
  kp_vec3 place;   // in the axes of the emitter [m]
  kp_vec3 normal;  // the way out
  double pitch;    // m of jet from one particle to the next
  double phase;    // of the first one, in pitches
} kp_emitter_site;

typedef struct kp_emitter {
  kp_emitter_def def;
  kp_motion motion;
  double spacing;  // m
  double reach;    // m: farthest site from the origin of the axes
  int dimension;
  bool is_granular;  // what leaves it falls apart: no inflow, never nearer than a spacing
  KP_ARRAY(kp_emitter_site) sites;
  bool has_told;  // of particles outside the domain
  // state
  double travelled;  // m of jet since it began
  double until;      // s: what left before has been let in
  int64_t count;     // particles so far
} kp_emitter;

// On failure kp_emitter_free is still to be called.
KP_NODISCARD kp_result kp_emitter_create(kp_emitter *emitter, const kp_env *env,
                                         const kp_emitter_def *def, double spacing,
                                         bool is_granular);
void kp_emitter_free(kp_emitter *emitter);

// What has left since it was last asked, up to env->time: places and velocities at that time. Of a
// shape that is kept full, all its places. Appends; who takes particles counts them.
KP_NODISCARD kp_result kp_emitter_pour(kp_emitter *emitter, const kp_env *env, kp_points *places,
                                       kp_points *velocities);

// How fast what comes out may be: now, and at any time by its functions of time [m/s].
double kp_emitter_speed(const kp_emitter *emitter, const kp_env *env);
double kp_emitter_fastest(const kp_emitter *emitter);
