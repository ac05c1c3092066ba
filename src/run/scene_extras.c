#include "run/scene_extras.h"

#include <ctype.h>
#include <string.h>

static const kp_scene_switch surface_switch = { "from", "none", "all" };

void kp_extras_init(kp_extras *extras) {
  extras->render = kp_default_film_def();
  extras->surface = kp_default_surface_out();
  extras->items[0] = (kp_scene_extra){ "render", &kp_render_params, false, &extras->render, NULL };
  extras->items[1] = (kp_scene_extra){ KP_EXTRA_LOOK, &kp_look_params, true, NULL, NULL };
  extras->items[2] = (kp_scene_extra){ "output.surface", &kp_surface_params, false,
                                       &extras->surface, &surface_switch };
}

kp_scene_options kp_extras_options(const kp_extras *extras, const char *const *sets,
                                   size_t n_sets) {
  kp_scene_options options = { .sets = sets, .n_sets = n_sets };
  options.extras = extras->items;
  options.n_extras = sizeof extras->items / sizeof extras->items[0];
  return options;
}

typedef KP_ARRAY(const char *) name_list;

static kp_result list_names(const kp_spec *spec, name_list *out) {
  KP_TRY(kp_array_push(out, (const char *)"bodies"));
#define LIST(word, plural)                                                                         \
  for (size_t i = 0; i < spec->plural.count; ++i) {                                                \
    KP_TRY(kp_array_push(out, (const char *)spec->plural.data[i].name));                           \
  }
  KP_SPEC_ENTITIES(LIST)
#undef LIST
  return KP_OK;
}

static bool is_letter(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '-';
}

// Whether the name stands in the text as a word of its own.
static bool holds_word(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
    if ((at == text || !is_letter(at[-1])) && !is_letter(at[length])) {
      return true;
    }
  }
  return false;
}

static kp_result check_look(const char *look, const name_list *names) {
  for (size_t i = 0; i < names->count; ++i) {
    if (holds_word(look, names->data[i])) {
      return KP_OK;
    }
  }
  const char *nearest = kp_text_nearest(look, names->data, names->count);
  return kp_fail(KP_ERROR_SCENE, "look \"%s\": the scene has nothing of this name%s%s%s", look,
                 nearest != NULL ? ", did you mean \"" : "", nearest != NULL ? nearest : "",
                 nearest != NULL ? "\"?" : "");
}

kp_result kp_extras_check(const kp_extras *extras, const kp_scene *scene) {
  KP_TRY(kp_params_check(&kp_render_params, &extras->render, NULL));
  name_list names = { 0 };
  const char *look;
  kp_result result = list_names(kp_scene_spec(scene), &names);
  for (size_t i = 0; result == KP_OK && kp_scene_extra_at(scene, KP_EXTRA_LOOK, i, &look) != NULL;
       ++i) {
    result = check_look(look, &names);
  }
  kp_array_free(&names);
  return result;
}
