// Bodies: frames with mass properties. Static and scripted colliders are bodies of infinite mass;
// free bodies move under gravity and what touches them. A body is a handful of numbers, so bodies
// live on the host; only their frames travel to the device, when they moved, for the refresh of the
// interface samples.
//
// State (position of the centre of mass, orientation, velocities) is a space of the registry.
#pragma once

#include "data/field.h"
#include "kelpie/types.h"

typedef enum kp_body_kind { KP_BODY_STATIC, KP_BODY_SCRIPTED, KP_BODY_FREE } kp_body_kind;

// The constant part of a body.
typedef struct kp_body {
  char name[KP_TEXT_SIZE];
  kp_body_kind kind;
  double inverse_mass;        // 0: infinite
  kp_mat3 inertia;            // about the centre, body axes [kg m^2]
  kp_mat3 inverse_inertia;    // zero for infinite mass
  kp_vec3 center;             // centre of mass in shape coordinates
  double friction;            // Coulomb coefficient, see kp_friction_of_pair
  kp_curve friction_scale;    // factor of it; no components: 1
  double restitution;         // see kp_restitution_of_pair
  double rolling_friction;    // m, of a pair: the larger
  kp_curve position;          // scripted: of the shape's origin
  kp_curve rotation_deg;      // scripted
  kp_curve surface_velocity;  // of static and scripted ones, in body axes [m/s]
} kp_body;

typedef struct kp_frame3 {
  kp_vec3 position;  // of the centre of mass
  kp_quat orientation;
  kp_vec3 velocity;
  kp_vec3 angular_velocity;
} kp_frame3;

typedef struct kp_bodies {
  kp_space *space;
  kp_field *position, *orientation, *velocity, *angular_velocity;  // F64 x 3, 4, 3, 3
  KP_ARRAY(kp_body) models;
  KP_ARRAY(kp_vec3) slides;   // velocity of the surface against the body, in body axes [m/s]
  KP_ARRAY(kp_vec3) forces;   // of this sub-step, summed by couplings [N]
  KP_ARRAY(kp_vec3) torques;  // about the centre [N m]
} kp_bodies;

KP_NODISCARD kp_result kp_bodies_create(kp_registry *registry, kp_bodies **out);
void kp_bodies_destroy(kp_bodies **bodies);

// Appends; the index is the body's number for its life.
KP_NODISCARD kp_result kp_bodies_add(kp_bodies *bodies, const kp_body *model,
                                     const kp_frame3 *frame, kp_index *index);

kp_frame3 kp_bodies_frame(kp_bodies *bodies, kp_index body);
void kp_bodies_set_frame(kp_bodies *bodies, kp_index body, const kp_frame3 *frame);

// Frame of a scripted body at a time: place and turn from the curves, velocities from their
// derivatives.
kp_frame3 kp_body_scripted_frame(const kp_body *model, double time);

// Coulomb coefficient at a time.
double kp_body_friction_at(const kp_body *model, double time);

// Scripted bodies to where, and as fast as, their curves say.
void kp_bodies_script(kp_bodies *bodies, double time);

// Free rotation over dt: the implicit midpoint rule for the angular momentum in body axes with
// Cayley's map for the orientation (Austin, Krishnaprasad and Wang 1993). Angular momentum and
// energy are kept to rounding, at any step.
void kp_body_turn(const kp_body *model, kp_quat *orientation, kp_vec3 *angular_velocity, double dt);

// Free bodies: v += dt F/m, then x += dt v; L += dt T, then kp_body_turn (symplectic Euler;
// momentum is exact). `gravity` is added to the forces.
void kp_bodies_integrate(kp_bodies *bodies, kp_vec3 gravity, double dt);

void kp_bodies_clear_forces(kp_bodies *bodies);

// Turn about x, then y, then z (fixed axes), in degrees.
kp_quat kp_quat_from_euler_deg(kp_vec3 degrees);

// ---- for those who touch bodies -----------------------------------------------------------------
// Shapes are in kp_env.scenery.solids; a point p of the world is, in shape coordinates,
// kp_body_to_shape(model, frame, p).

// What two surfaces do to each other.
KP_FN double kp_friction_of_pair(double a, double b) {
  return sqrt(a * b);
}

KP_FN double kp_restitution_of_pair(double a, double b) {
  return a > b ? a : b;
}

kp_vec3 kp_body_to_shape(const kp_body *model, const kp_frame3 *frame, kp_vec3 p);

// Velocity of the material of a body at a point of the world, with the slide of its surface.
kp_vec3 kp_bodies_velocity_at(kp_bodies *bodies, kp_index body, kp_vec3 p);

// Change of velocity at p per impulse at p: (1/m) 1 - [r] I^-1 [r], symmetric; zero for bodies that
// are not free.
kp_mat3 kp_bodies_mobility(kp_bodies *bodies, kp_index body, kp_vec3 p);

// An impulse [N s] at a point of the world, felt at once by the velocities of a free body; others
// feel nothing. Not for several threads at a time.
void kp_bodies_add_impulse(kp_bodies *bodies, kp_index body, kp_vec3 p, kp_vec3 impulse);

// A force [N] at a point of the world, for the rest of this sub-step (forces and torques).
void kp_bodies_add_force(kp_bodies *bodies, kp_index body, kp_vec3 p, kp_vec3 force);
