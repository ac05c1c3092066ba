// Vortex particles: points that carry vorticity along with a flow and drive it by a body force, so
// that turbulence which the grid cannot hold lives on (Selle, Rasmussen & Fedkiw 2005; Selle 2008,
// section 3.4). Any method with a flow may have them:
//
//   create        those of the scene that are born into what has the name of the flow
//   add           those that are born into another name which shares the flow
//   force         after kp_vorticity_begin: what they add at the centres of cells
//   move          after the projection: stretch, move, remove
//   emit          before the next step
#pragma once

#include "data/cells.h"
#include "geom/sampler.h"
#include "methods/common/vorticity.h"

typedef struct kp_vortex_swarm {
  kp_vortices_def def;
  kp_set *set;
  kp_cells *cells;
  kp_field *vorticity;  // w; times the kernel it is 1/s
  kp_field *size;       // |w| at birth
  kp_field *radius;     // m
  kp_field *strength;   // eps
  kp_field *norm;       // factor of the kernel
  kp_field *acting;     // w less what the grid has, of forcing attenuated
  kp_shape *shape;
  double debt;  // particles that are due, a fraction of one
  int64_t n_born;
  kp_space *state;      // GLOBAL: next id, debt, born
  kp_buffer keep;       // U32
  kp_buffer spread[3];  // REAL at centres: sums over the particles
  kp_points places;     // of newborns
  double largest;       // m, radius
} kp_vortex_swarm;

typedef struct kp_vortex_particles {
  kp_flow *flow;
  KP_ARRAY(kp_vortex_swarm) swarms;
} kp_vortex_particles;

// On failure kp_vortex_particles_free is still to be called.
KP_NODISCARD kp_result kp_vortex_particles_create(kp_vortex_particles *particles, kp_env *env,
                                                  kp_flow *flow);
KP_NODISCARD kp_result kp_vortex_particles_add(kp_vortex_particles *particles, kp_env *env,
                                               const char *into);
void kp_vortex_particles_free(kp_vortex_particles *particles);
bool kp_vortex_particles_any(const kp_vortex_particles *particles);

KP_NODISCARD kp_result kp_vortex_particles_emit(kp_vortex_particles *particles, kp_env *env);
KP_NODISCARD kp_result kp_vortex_particles_force(kp_vortex_particles *particles,
                                                 kp_vorticity *vorticity);
// liquid: signed distance at the centres [m], outside which particles die; NULL for gases.
KP_NODISCARD kp_result kp_vortex_particles_move(kp_vortex_particles *particles, kp_env *env,
                                                kp_buffer *liquid);
KP_NODISCARD kp_result kp_vortex_particles_store(kp_vortex_particles *particles);
KP_NODISCARD kp_result kp_vortex_particles_loaded(kp_vortex_particles *particles);
