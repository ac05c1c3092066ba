// What parts of the system of deformables can have beyond springs: water around them that remembers
// (immersion.c), limits on the length of their edges (limits.h), contact particle by particle
// (particles.c). Everything here is a baseline or an option of a cloth; a scene that asks for none
// of it has none of it.
#pragma once

#include "data/cells.h"
#include "data/history.h"
#include "methods/deform/deform.h"
#include "methods/deform/limits.h"

// ---- immersion.c --------------------------------------------------------------------------------

// Water around one part. Its own space holds one element per node of the part: `velocity` against
// the water, `half`, its derivative of order q, and the past.
typedef struct kp_immersion {
  kp_immersion_def def;
  kp_range nodes, springs;
  kp_space *space;
  kp_field *velocity, *half;
  bool has_history;
  kp_history history;        // windows
  kp_frac_exponentials sum;  // a memory without end
  kp_field *states, *last;   // of it
  bool has_clock;
  kp_history_clock clock;  // when `last` was
  kp_buffer drag;          // k of nodes [N s^q/m]
  kp_buffer damping;       // c of springs [N s^q/m]
  kp_vec3 buoyancy;        // m/s^2, of gravity 1 (a factor per axis)
  double gain, present;    // S and w0 of the last step
} kp_immersion;

// ---- particles.c --------------------------------------------------------------------------------

typedef struct kp_fabric_contact {
  bool is_on;
  double reach;      // m: twice the largest radius
  kp_buffer radius;  // of nodes; 0: takes no part
  kp_cells *cells;   // of all nodes
  kp_cells *shell_cells[2];
  double shell;  // m: radius of a sample
} kp_fabric_contact;

struct kp_fabric {
  KP_ARRAY(kp_immersion *) waters;
  KP_ARRAY(kp_limited *) limited;
  kp_vector3 proposed;  // POS
  kp_vector3 lag;       // change of the next velocity
  kp_buffer stiff;      // sum of the springs of a node [N/m]
  kp_fabric_contact contact;
  bool adds_forces;
};

typedef struct kp_fabric_defs {
  const kp_immersion_def *waters;
  size_t n_waters;
  const kp_limit_def *limits;
  size_t n_limits;
} kp_fabric_defs;

// After kp_deform_create.
KP_NODISCARD kp_result kp_fabric_create(kp_deform *deform, kp_env *env, const kp_fabric_defs *defs);
void kp_fabric_free(kp_deform *deform);

// Accelerations of the water and of contacts, added to deform->extra; once per inner step.
KP_NODISCARD kp_result kp_fabric_forces(kp_deform *deform, kp_env *env);
// What the past adds to tensions, after the springs of a group were evaluated.
KP_NODISCARD kp_result kp_fabric_recall(kp_deform *deform, const kp_deform_group *group);
// `moving` so that edges keep their lengths.
KP_NODISCARD kp_result kp_fabric_limit(kp_deform *deform, kp_env *env,
                                       const kp_deform_group *group);
// After bodies were met: lists whose fixed nodes are no longer those that are held are made anew.
KP_NODISCARD kp_result kp_fabric_watch(kp_deform *deform, kp_env *env);
// S of a part; NaN without a memory.
double kp_fabric_gain(const kp_deform *deform, const kp_deform_part *part);

// By name; fails with a sentence that names the entity.
KP_NODISCARD kp_result kp_fabric_find(const kp_deform *deform, const char *kind, const char *name,
                                      const char *of, const kp_deform_part **out);

KP_NODISCARD kp_result kp_immersion_create(kp_deform *deform, kp_env *env,
                                           const kp_immersion_def *def, kp_immersion **out);
void kp_immersion_destroy(kp_immersion **water);
KP_NODISCARD kp_result kp_immersion_forces(kp_immersion *water, kp_deform *deform, kp_env *env);
// What it does at the end of the inner step, were the velocities of a group v then; in place of
// what it does now.
KP_NODISCARD kp_result kp_immersion_foresee(kp_immersion *water, kp_deform *deform, kp_env *env,
                                            const kp_deform_group *group, kp_buffer v[3]);
KP_NODISCARD kp_result kp_immersion_recall(kp_immersion *water, kp_deform *deform,
                                           const kp_deform_group *group);

KP_NODISCARD kp_result kp_particles_create(kp_deform *deform, kp_env *env);
void kp_particles_free(kp_fabric_contact *contact);
KP_NODISCARD kp_result kp_particles_forces(kp_deform *deform, kp_env *env);

// Schemes (spring_schemes.c).
KP_NODISCARD kp_result kp_kang_predict(kp_deform *deform, kp_env *env,
                                       const kp_deform_group *group);
KP_NODISCARD kp_result kp_desbrun_predict(kp_deform *deform, kp_env *env,
                                          const kp_deform_group *group);
KP_NODISCARD kp_result kp_position_verlet_predict(kp_deform *deform, kp_env *env,
                                                  const kp_deform_group *group);
KP_NODISCARD kp_result kp_pece_predict(kp_deform *deform, kp_env *env,
                                       const kp_deform_group *group);
KP_NODISCARD kp_result kp_pece_finish(kp_deform *deform, kp_env *env, const kp_deform_group *group);
KP_NODISCARD kp_result kp_position_verlet_finish(kp_deform *deform, kp_env *env,
                                                 const kp_deform_group *group);
