// The sizes of the scenes of test_cloth_contact.c: in the suite, and at those of the claims.
#pragma once

#include "support/tangles.h"

typedef struct kp_contact_size {
  kp_tangle_kind kind;
  int64_t cells, steps;
} kp_contact_size;

typedef struct kp_cloth_contact {
  kp_contact_size free[3];   // C25
  int64_t twist;             // cells of C28
  kp_contact_size back[2];   // C27, at two resolutions
  bool looks_back;           // counts intersections there too, which takes time
  kp_contact_size cheap[3];  // C26
} kp_cloth_contact;

extern const kp_cloth_contact kp_cloth_contact_sizes;
