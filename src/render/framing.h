// What a camera frames that is placed nowhere: the box around all that moves in some frames of a
// run, so that every picture of it has the same camera. Particles, hair and cells that hold gas
// move, and so do meshes whose vertices are not the same in all of the frames; what stands counts
// where that makes the box little larger. Drops that fly off a liquid do not count.
#pragma once

#include "base/array.h"
#include "render/scene_from_frame.h"

typedef struct kp_framed_mesh {
  char name[KP_SECTION_NAME_SIZE];
  uint64_t hash;  // of the vertices in its first frame
  kp_aabb box;    // over all frames
  bool moves;
} kp_framed_mesh;

// All zero: nothing yet.
typedef struct kp_framing {
  bool has_box;
  kp_aabb box;  // of what surely moves
  KP_ARRAY(kp_framed_mesh) meshes;
} kp_framing;

// One more frame, and the scene made of it.
KP_NODISCARD kp_result kp_framing_add(kp_framing *framing, const kp_frame *frame,
                                      const kp_render_scene *scene);

// Of what moves; where nothing does, of all that is visible; empty where nothing is.
kp_aabb kp_framing_box(const kp_framing *framing);

void kp_framing_free(kp_framing *framing);
