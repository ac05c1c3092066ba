// Spray of liquids in frames: "set/spray of <liquid>/..." with the drops that particles outside of
// its body break into (geom/spray.h), each with position, velocity and radius. It is a set
// as any other, so pictures and exports take it as points.
#pragma once

#include "data/registry.h"
#include "geom/spray.h"
#include "run/batch.h"

// Particles of a liquid, and how much of each is spray.
typedef struct kp_spray_part {
  kp_space *particles;
  const float *share;
} kp_spray_part;

// The drops of all parts in one set; one without drops where there is no spray.
KP_NODISCARD kp_result kp_spray_set_add(const kp_spraying *how, const char *name,
                                        const kp_spray_part *parts, size_t n_parts,
                                        kp_batch *batch);
