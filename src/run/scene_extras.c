#include "run/scene_extras.h"

#include <string.h>

void kp_extras_init(kp_extras *extras) {
  extras->render = kp_default_render_def();
  extras->items[0] = (kp_scene_extra){ "render", &kp_render_params, false, &extras->render };
  extras->items[1] = (kp_scene_extra){ KP_EXTRA_LOOK, &kp_look_params, true, NULL };
}

kp_scene_options kp_extras_options(const kp_extras *extras, const char *const *sets,
                                   size_t n_sets) {
  kp_scene_options options = { .sets = sets, .n_sets = n_sets };
  options.extras = extras->items;
  options.n_extras = sizeof extras->items / sizeof extras->items[0];
  return options;
}

kp_look_def kp_extras_look(const kp_scene *scene, const char *name) {
  const char *found;
  const void *look;
  for (size_t i = 0; (look = kp_scene_extra_at(scene, KP_EXTRA_LOOK, i, &found)) != NULL; ++i) {
    if (strcmp(found, name) == 0) {
      return *(const kp_look_def *)look;
    }
  }
  return kp_default_look_def();
}
