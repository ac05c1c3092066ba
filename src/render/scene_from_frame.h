// A frame file's content as a scene of the renderer. Arrays are shared with the frame where the
// types agree and copied where they do not, so the frame must outlive the scene.
#pragma once

#include "io/frame_data.h"
#include "render/render.h"

// The look of everything whose name is `name`; "*" is for all that no other row names.
typedef struct kp_named_look {
  char name[KP_SECTION_NAME_SIZE];
  kp_look_def look;
} kp_named_look;

typedef struct kp_frame_scene kp_frame_scene;

// A set without a look of its own gets one that suits its kind: particles by speed in water colours
// (constant colour when they have no velocity), meshes light and glossy, curves hair brown, volumes
// white with heat-coloured emission from a temperature or flame field. Radii come from the field
// "radius" or, where there is none, from `particle_radius`; if that is not positive, from the mean
// spacing of the particles. A field named in a look that the frame lacks is refused with the
// nearest name.
KP_NODISCARD kp_result kp_frame_scene_create(const kp_frame *frame, const kp_named_look *looks,
                                             size_t n_looks, double particle_radius,
                                             kp_frame_scene **out);
const kp_render_scene *kp_frame_scene_get(const kp_frame_scene *scene);
void kp_frame_scene_destroy(kp_frame_scene **scene);
