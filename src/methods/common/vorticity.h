// Forces from the vorticity of a flow: confinement, and what else is collected at the centres of
// cells before it reaches the faces.
#pragma once

#include "methods/common/flow.h"

typedef struct kp_vorticity {
  kp_flow *flow;
  kp_buffer force[3];   // REAL, m/s^2 at the centres
  kp_buffer magnitude;  // REAL, 1/s
} kp_vorticity;

// On failure kp_vorticity_free is still to be called.
KP_NODISCARD kp_result kp_vorticity_init(kp_vorticity *vorticity, kp_flow *flow);
void kp_vorticity_free(kp_vorticity *vorticity);

// Forces to zero; then whoever has one adds to them.
KP_NODISCARD kp_result kp_vorticity_begin(kp_vorticity *vorticity);
// Adds eps dx (N x omega); `strengths`: eps of each cell instead, or NULL.
KP_NODISCARD kp_result kp_vorticity_confine(kp_vorticity *vorticity, double strength,
                                            kp_buffer *strengths);
// Faces get dt times the mean of the two cells beside them.
KP_NODISCARD kp_result kp_vorticity_push(kp_vorticity *vorticity, double dt);
