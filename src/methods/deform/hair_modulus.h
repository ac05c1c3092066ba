// Constants of the springs of a hair from Young's modulus, Poisson's ratio and the radius of its
// round section, so that a hair of any number of segments bends and twists as a rod of
// B = E pi r^4/4 and T = B/(1 + nu) does.
#pragma once

#include "kelpie/types.h"

// Of the constants of springs against torsion, what altitudes have.
#define KP_HAIR_ALTITUDE 0.05

// The node r1 that two segments share: r2 r1 and r1 r0, with their extra nodes e1 and e0, and the
// start of the segment before, r3.
typedef struct kp_hair_joint {
  const kp_vec3 *r3;       // NULL: none
  kp_vec3 r2, r1, r0;      // m
  const kp_vec3 *e1, *e0;  // NULL: none
  double share;            // of how many segments the compliance lies here
} kp_hair_joint;

// N: of springs r2 r0, or e1 e0 where both segments have extra nodes; of r2 e0, e1 r0 and r3 r0.
typedef struct kp_hair_springs {
  double bend, torsion[3];
} kp_hair_springs;

// The compliance of a rod that is cut into segments lies in the joints between them: that of joint
// s of `segments`, in segments. The first and the last one stand for what lies before and behind
// them too.
double kp_hair_joint_share(int64_t s, int64_t segments);

// What the def gives in N, and else what its material asks for.
kp_hair_springs kp_hair_joint_springs(const kp_hair_def *def, const kp_hair_joint *joint);
// Of the springs along a segment of a length [m].
double kp_hair_edge(const kp_hair_def *def, double length);
