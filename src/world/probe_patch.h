// Pressure probes on walls: spots spread evenly over a disc (in 2D a line) that lies on the nearest
// wall, each asked by a linear fit to the liquid beside it. What a sensor of that size would read.
#pragma once

#include "data/probe.h"
#include "geom/sampler.h"

struct kp_world;

// The spots of a region on the wall nearest to its centre: a closed face of the domain or a solid,
// where that is at the start. Fails where there is none.
KP_NODISCARD kp_result kp_probe_patch(const struct kp_world *world, kp_vec3 centre, double radius,
                                      kp_points *out);

// Spots of a patch, in 2D and 3D.
int kp_probe_patch_spots(int dimension);

// What a patch feels, of what its spots do: where no liquid is near, the pressure is 0.
void kp_probe_patch_mean(const kp_probe_value *spots, int n, kp_probe_value *out);
