// Periodic axes: images of the elements near the faces of a box, as a set of their own on the same
// lattice, paired like any other set. The same set takes the elements of neighbouring ranks under
// MPI.
//
//   kp_ghosts_wrap      owned elements that left the box come back on the other side
//   (sort the owner)
//   kp_ghosts_update    images of all elements within `width` of the box, edges and corners
//                       included, with every field of the owner that carries KP_FIELD_GHOST
//   (build the cells of ghosts->set; pair the owner with it)
//   kp_ghosts_refresh   one field again, after a pass that changed it
//
// Images come in the order of the shift (x fastest, from -1 to +1), then of the owner's elements.
// An axis shorter than the width gets as many images as it needs.
#pragma once

#include "data/set.h"

typedef struct kp_ghosts_def {
  kp_aabb box;
  bool periodic[3];  // z is ignored in two dimensions
  double width;      // the largest radius of a pair search
} kp_ghosts_def;

typedef struct kp_ghosts {
  kp_ghosts_def def;
  kp_set *owner;
  kp_set *set;              // of kind KP_SET_GHOST
  kp_field *source;         // u32: element of the owner
  kp_field *image;          // u32: number of the shift
  uint64_t owner_revision;  // of the owner's space when the images were made
  kp_buffer flags, near;    // scratch
} kp_ghosts;

KP_NODISCARD kp_result kp_ghosts_create(kp_registry *registry, const char *name, kp_set *owner,
                                        const kp_ghosts_def *def, kp_ghosts **out);
// The space of the set stays in the registry, as with kp_set_destroy.
void kp_ghosts_destroy(kp_ghosts **ghosts);

KP_NODISCARD kp_result kp_ghosts_wrap(kp_ghosts *ghosts);
KP_NODISCARD kp_result kp_ghosts_update(kp_ghosts *ghosts);
KP_NODISCARD kp_result kp_ghosts_refresh(kp_ghosts *ghosts, kp_field *owner_field);
