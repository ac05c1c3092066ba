// Nodes of deformables against the bodies of the world: shapes that are still, scripted or free,
// and the closed faces of the domain.
#pragma once

#include "data/call.h"
#include "geom/shape.h"
#include "methods/deform/deform_bodies_kernels.h"
#include "methods/method.h"

// What does not change of a solid.
typedef struct kp_deform_obstacle {
  const kp_shape *shape;   // NULL: a face of the domain
  kp_index body;           // -1: none
  bool is_wide;            // without bounds
  deform_obstacle record;  // at the end of the inner step
} kp_deform_obstacle;

// A solid that changes its form: two keys of its distances in the values of all grids. Key k, at
// the time k/key_rate, is in slot k mod 2, so that the next one takes the place of the one before.
// Keys follow from their time, so nothing of this is state.
typedef struct kp_deform_skin {
  size_t solid;
  const struct kp_morph *morph;
  kp_aabb box;        // holds it at all times, shape coordinates
  int64_t values[2];  // of the slots
  int64_t keys[2];    // that are in them, -1: none
  kp_vec3 *x, *v;     // scratch: vertices at a time, owned
} kp_deform_skin;

typedef struct kp_deform_bodies {
  KP_ARRAY(kp_deform_skin) skins;
  KP_ARRAY(kp_deform_obstacle) solids;  // those without bounds first
  KP_ARRAY(kp_frame3) frames;           // of all bodies, at the end of the inner step
  bool has_free, has_moving;
  int64_t n_faces, n_wide;
  double room_lo[3], room_hi[3];  // m: faces of the domain; infinite where there is none
  kp_buffer records;              // deform_obstacle
  kp_buffer values;               // REAL: of all grids
  // cells -> solids
  int32_t n[3];
  double lo[3], edge;
  KP_ARRAY(int32_t) starts, lists;
  kp_buffer start, list;
  // of nodes
  kp_buffer contact, second;  // I32
  kp_buffer planes;           // deform_plane; empty: no triangles of free bodies are near
  kp_buffer impulse[3];       // REAL [N s]
  int64_t n_contacts;         // nodes that touch bodies in this inner step
  kp_buffer breezes;          // F64: records of winds
} kp_deform_bodies;

struct kp_deform;

KP_NODISCARD kp_result kp_deform_bodies_create(struct kp_deform *deform, kp_env *env);
void kp_deform_bodies_free(kp_deform_bodies *bodies);

// ---- deform_skins.c

// Solid `solid` changes its form: room for its keys.
KP_NODISCARD kp_result kp_deform_add_skin(struct kp_deform *deform, const struct kp_morph *morph,
                                          size_t solid);
void kp_deform_free_skins(kp_deform_bodies *bodies);
// Keys around a time, and the records of the solids that have them.
KP_NODISCARD kp_result kp_deform_bend_skins(struct kp_deform *deform, double time);

// ---- deform_bodies.c

// Before the first inner step of a sub-step: free bodies from where they are.
void kp_deform_bodies_begin(struct kp_deform *deform, kp_env *env);

// Where a body that is free will be at the end of the inner step, as fast as it is now.
kp_frame3 kp_deform_body_ahead(const struct kp_deform *deform, const kp_env *env, kp_index body);

// B.4: nodes out of bodies; v -> Gamma(v); normals of contacts.
KP_NODISCARD kp_result kp_deform_collide(struct kp_deform *deform, kp_env *env);

// Adds the push of bodies that are near to the accelerations of the nodes, at the start of an inner
// step.
KP_NODISCARD kp_result kp_deform_avoid(struct kp_deform *deform, kp_env *env);

struct kp_deform_group;
// B.6: after a solve from `velocity` over a time h, with forces at x, gave `moving` with normals
// kept, the velocities of nodes in contact without that.
KP_NODISCARD kp_result kp_deform_recover(struct kp_deform *deform, kp_env *env,
                                         const struct kp_deform_group *group, kp_buffer x[3],
                                         double h);

// An impulse on a body at a place of the inner step: free ones feel it, of others it is told where
// they are watched.
void kp_deform_push_body(struct kp_deform *deform, kp_env *env, kp_index body, kp_vec3 at,
                         kp_vec3 impulse);

// B.7: Gamma on the new velocities; bodies feel what they gave.
KP_NODISCARD kp_result kp_deform_rub(struct kp_deform *deform, kp_env *env);

// Velocity of the air at the nodes, in the middle of the inner step (deform_wind.c).
KP_NODISCARD kp_result kp_deform_blow(struct kp_deform *deform, kp_env *env);
