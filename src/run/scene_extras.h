// What a scene may say beyond the simulation: render { }, look "water" { } and output { surface }.
// Every command that loads a scene gives these to the loader, so that all of them accept the same
// scenes.
#pragma once

#include "render/render.h"
#include "run/surfaces.h"
#include "scene/scene.h"

typedef struct kp_extras {
  kp_film_def render;      // filled by the load
  kp_surface_out surface;  // likewise
  kp_scene_extra items[3];
} kp_extras;

#define KP_EXTRA_LOOK "look"

// Points into *extras, which must not move until the scene is loaded.
void kp_extras_init(kp_extras *extras);

// Refuses functions of time whose values are out of range, and the look of a name that nothing of
// the scene can have: an entity's own, one made of such names ("surface of oil and water",
// "water.markers") or "bodies".
KP_NODISCARD kp_result kp_extras_check(const kp_extras *extras, const kp_scene *scene);

// Options for kp_scene_load with these extras.
kp_scene_options kp_extras_options(const kp_extras *extras, const char *const *sets, size_t n_sets);
