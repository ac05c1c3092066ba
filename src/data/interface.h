// Interface sets: samples of the surfaces of bodies, through which all fluid-solid coupling goes. A
// sample has position, velocity, normal, area and volume, and an owner. Samples of one body are one
// contiguous range. They are refreshed from the owner in stage `space`; forces on them are summed
// to the owner in sample order.
//
// Static bodies share one interface, moving ones another, so that a still wall is sorted once.
#pragma once

#include "data/bodies.h"
#include "data/cells.h"
#include "data/loads.h"

typedef struct kp_interface_range {
  kp_index body;
  int64_t first, count;
} kp_interface_range;

typedef struct kp_interface {
  kp_set *set;             // tied
  kp_field *normal;        // REAL x 3, out of the solid
  kp_field *area;          // REAL, m^2
  kp_field *volume;        // REAL, m^3: what the sample stands for in a density sum
  kp_field *owner;         // U32, body
  kp_field *force;         // REAL x 3, N, on the sample, of this sub-step
  kp_field *local;         // F64 x 3: position in body axes from the centre of mass
  kp_field *local_normal;  // REAL x 3
  KP_ARRAY(kp_interface_range) ranges;
  kp_buffer frames;  // INTERFACE_FRAME doubles per body, of the last refresh
  bool moving;
  bool feels;  // forces on the samples are wanted: of what moves, and of what is watched
} kp_interface;

typedef struct kp_interface_samples {
  int64_t n;
  const kp_vec3 *positions;  // world, at the body's present frame
  const kp_vec3 *normals;
  const double *areas;
} kp_interface_samples;

KP_NODISCARD kp_result kp_interface_create(kp_registry *registry, const char *name, int dimension,
                                           bool moving, kp_interface **out);
void kp_interface_destroy(kp_interface **interface);

KP_NODISCARD kp_result kp_interface_add(kp_interface *interface, kp_bodies *bodies, kp_index body,
                                        const kp_interface_samples *samples);

// Positions, velocities and normals from the frames of the owners. Does nothing for a still
// interface.
KP_NODISCARD kp_result kp_interface_refresh(kp_interface *interface, kp_bodies *bodies);

// Force and torque about a point on the samples of one range.
KP_NODISCARD kp_result kp_interface_sum(kp_interface *interface, const kp_interface_range *range,
                                        kp_vec3 about, kp_load *out);

// Add the forces on the samples to the owners: force and torque about the centre, in sample order.
KP_NODISCARD kp_result kp_interface_gather(kp_interface *interface, kp_bodies *bodies);

KP_NODISCARD kp_result kp_interface_clear_forces(kp_interface *interface);
