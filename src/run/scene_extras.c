#include "run/scene_extras.h"

void kp_extras_init(kp_extras *extras) {
  extras->render = kp_default_render_def();
  extras->surface = kp_default_surface_out();
  extras->items[0] = (kp_scene_extra){ "render", &kp_render_params, false, &extras->render };
  extras->items[1] = (kp_scene_extra){ KP_EXTRA_LOOK, &kp_look_params, true, NULL };
  extras->items[2] =
      (kp_scene_extra){ "output.surface", &kp_surface_params, false, &extras->surface };
}

kp_scene_options kp_extras_options(const kp_extras *extras, const char *const *sets,
                                   size_t n_sets) {
  kp_scene_options options = { .sets = sets, .n_sets = n_sets };
  options.extras = extras->items;
  options.n_extras = sizeof extras->items / sizeof extras->items[0];
  return options;
}
