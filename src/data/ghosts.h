// Periodic images as a set of their own: every particle within `width` of a periodic face appears again on the other
// side (edges and corners too). Images carry the fields flagged KP_FIELD_GHOST; they are paired like any other set.
// Order: by image, then slot of the source, so sums over images do not depend on threads.
#pragma once

#include "data/cells.h"

typedef struct kp_ghosts kp_ghosts;

// The ghost set is named "<set>.ghosts" and gets every field of the source that is flagged KP_FIELD_GHOST at the time of
// the first build. `periodic` per axis; box is the periodic cell.
KP_NODISCARD kp_result kp_ghosts_create(kp_set *source, const kp_aabb *box, const bool periodic[3],
                                        double width, kp_ghosts **out);
void kp_ghosts_destroy(kp_ghosts **ghosts);

// Positions of the source back into the box; before the source is sorted.
KP_NODISCARD kp_result kp_ghosts_wrap(kp_ghosts *ghosts);

// Select images, fill their fields, build their cells (edge as of the source's cells); after the source is sorted.
KP_NODISCARD kp_result kp_ghosts_build(kp_ghosts *ghosts);

// Copy one field of the source to the images again, after a pass changed it.
KP_NODISCARD kp_result kp_ghosts_refresh(kp_ghosts *ghosts, kp_field *source_field);

kp_set *kp_ghosts_set(kp_ghosts *ghosts);
kp_cells *kp_ghosts_cells(kp_ghosts *ghosts);
