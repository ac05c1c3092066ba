// Parts of frames that several tests fill.
#pragma once

#include "io/frame_data.h"

// Adds a field; returns the data of its components, to be filled.
void **kp_test_add_field(kp_frame_fields *fields, const char *name, kp_item_type type,
                         int n_components, uint64_t count);

// Adds the mesh "roof": two triangles that rise along z.
void kp_test_add_roof(kp_frame *frame);
