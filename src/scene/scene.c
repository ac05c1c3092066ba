#include "scene/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "io/files.h"
#include "scene/scene_state.h"

#define SCENE_LIMIT ((size_t)1 << 20)  // bytes of a scene file

// ---- running the file

typedef struct scene_source {
  const char *text;
  size_t n_bytes;
} scene_source;

static int open_words(lua_State *lua) {
  kp_scene_open_words(lua);
  kp_sandbox_close_words(lua);
  return 0;
}

static int run_source(lua_State *lua) {
  const scene_source *source = lua_touserdata(lua, 1);
  const char *name = lua_pushfstring(lua, "@%s", kp_scene_of(lua)->name);
  if (luaL_loadbufferx(lua, source->text, source->n_bytes, name, "t") != LUA_OK) {
    return lua_error(lua);
  }
  lua_call(lua, 0, 0);
  return 0;
}

static kp_result run_scene(kp_scene *scene, scene_source source) {
  // editors may put a byte order mark in front
  if (source.n_bytes >= 3 && memcmp(source.text, "\xef\xbb\xbf", 3) == 0) {
    source.text += 3;
    source.n_bytes -= 3;
  }
  if (source.n_bytes > 0 && source.text[0] == LUA_SIGNATURE[0]) {
    return kp_fail(KP_ERROR_SCENE, "%s: this is compiled Lua; a scene must be text", scene->name);
  }
  KP_TRY(kp_sandbox_run(&scene->sandbox, open_words, NULL));
  kp_sandbox_allow(&scene->sandbox, KP_SANDBOX_INSTRUCTIONS, KP_SANDBOX_SECONDS);
  KP_TRY(kp_sandbox_run(&scene->sandbox, run_source, &source));
  scene->is_closed = true;
  return kp_scene_check_finished(scene);
}

// ---- from entities to the spec

// By kind in the order of the kinds, then by name: what a scene means does not depend on its order.
static int by_kind_and_name(const void *one, const void *two) {
  const kp_scene_entity *a = *(kp_scene_entity *const *)one;
  const kp_scene_entity *b = *(kp_scene_entity *const *)two;
  return a->kind != b->kind ? (a->kind > b->kind ? 1 : -1) : strcmp(a->name, b->name);
}

static void sort_entities(kp_scene *scene) {
  qsort(scene->entities.data, scene->entities.count, sizeof *scene->entities.data,
        by_kind_and_name);
}

static bool is_fed(const kp_scene *scene, const char *liquid) {
  for (size_t i = 0; i < scene->entities.count; ++i) {
    const kp_scene_entity *entity = scene->entities.data[i];
    if (entity->kind->table == &kp_emitter_params &&
        strcmp(((const kp_emitter_def *)(const void *)entity->def)->into, liquid) == 0) {
      return true;
    }
  }
  return false;
}

// A population without a shape that an emitter feeds starts empty, without having to say so.
static bool starts_empty(const kp_scene *scene, const kp_scene_entity *entity) {
  const kp_param *shape = kp_scene_find_row(entity->kind->table, "shape");
  return !entity->said[shape - entity->kind->table->rows] && is_fed(scene, entity->name);
}

static kp_result add_entity(kp_scene *scene, const kp_scene_entity *entity) {
  const kp_param_table *table = entity->kind->table;
  kp_spec *spec = &scene->spec;
#define MAY_BE_EMPTY(word, plural)                                                                 \
  if (table == &kp_##word##_params && starts_empty(scene, entity)) {                               \
    ((kp_##word##_def *)(void *)entity->def)->empty = true;                                        \
  }
#define ADD(word, plural)                                                                          \
  if (table == &kp_##word##_params) {                                                              \
    kp_##word##_def *def = (kp_##word##_def *)(void *)entity->def;                                 \
    kp_text_copy(def->name, sizeof def->name, entity->name);                                       \
    return kp_spec_add_##word(spec, def);                                                          \
  }
#define SET(word)                                                                                  \
  if (table == &kp_##word##_params) {                                                              \
    memcpy(&spec->word, entity->def, sizeof spec->word);                                           \
  }
  KP_SPEC_POPULATIONS(MAY_BE_EMPTY)
  KP_SPEC_ENTITIES(ADD)
  KP_SPEC_BLOCKS(SET)
#undef MAY_BE_EMPTY
#undef ADD
#undef SET
  if (table == &kp_domain_params) {
    memcpy(&spec->domain, entity->def, sizeof spec->domain);
  } else if (table == &kp_simulation_params) {
    memcpy(&spec->simulation, entity->def, sizeof spec->simulation);
  } else if (table == &kp_output_params) {
    memcpy(&scene->output, entity->def, sizeof scene->output);
  } else if (entity->kind->is_extra && !entity->kind->is_named &&
             entity->kind->extra->def != NULL) {
    memcpy(entity->kind->extra->def, entity->def, table->def_size);
  }
  return KP_OK;
}

static kp_result make_spec(kp_scene *scene) {
  sort_entities(scene);
  for (size_t i = 0; i < scene->entities.count; ++i) {
    const kp_scene_entity *entity = scene->entities.data[i];
    kp_result result = add_entity(scene, entity);
    if (result != KP_OK) {
      return kp_fail_in(result, "%s", entity->where);
    }
  }
  return KP_OK;
}

// The check of the whole names an entity first; its place is put before that.
static kp_result check_whole(const kp_scene *scene) {
  kp_result result = kp_spec_check(&scene->spec);
  if (result == KP_OK) {
    return KP_OK;
  }
  const char *where = scene->name;
  for (size_t i = 0; i < scene->entities.count; ++i) {
    const kp_scene_entity *entity = scene->entities.data[i];
    char prefix[KP_TEXT_SIZE + 32];
    (void)snprintf(prefix, sizeof prefix,
                   entity->kind->is_named ? "%s \"%s\":" : "%s:", entity->kind->word, entity->name);
    if (entity->where[0] != '\0' && strncmp(kp_last_error(), prefix, strlen(prefix)) == 0) {
      where = entity->where;
    }
  }
  return kp_fail_in(result, "%s", where);
}

static kp_result check_vectors(const kp_scene *scene) {
  const kp_domain_def *domain =
      (const kp_domain_def *)(const void *)kp_scene_single(scene, "domain")->def;
  if (scene->flat_vector[0] != '\0' && domain->dimension != 2) {
    return kp_fail(KP_ERROR_SCENE,
                   "%s: a vector of two numbers needs domain { dimension = 2 }; here it has three",
                   scene->flat_vector);
  }
  return KP_OK;
}

// ---- loading

static kp_result fill_scene(kp_scene *scene, scene_source source, const kp_scene_options *options) {
  KP_TRY(kp_scene_init_kinds(scene, options));
  KP_TRY(kp_scene_add_input(scene, scene->name, kp_hash_bytes(source.text, source.n_bytes, 0)));
  KP_TRY(kp_sandbox_create(&scene->sandbox, scene->name, scene));
  KP_TRY(run_scene(scene, source));
  for (size_t i = 0; i < options->n_sets; ++i) {
    KP_TRY(kp_scene_apply_set(scene, options->sets[i]));
  }
  KP_TRY(kp_scene_sample_functions(scene));
  KP_TRY(check_vectors(scene));
  KP_TRY(kp_scene_add_files(scene));
  KP_TRY(make_spec(scene));
  return check_whole(scene);
}

kp_result kp_scene_load_text(const char *name, const char *folder, const char *text, size_t n_bytes,
                             const kp_scene_options *options, kp_scene **out) {
  static const kp_scene_options no_options = { 0 };
  *out = NULL;
  kp_scene *scene = kp_alloc_zero(sizeof *scene, KP_MEMORY_SCENE);
  if (scene == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = KP_OK;
  kp_spec_init(&scene->spec);
  scene->name = kp_strdup(name, KP_MEMORY_SCENE);
  if (scene->name == NULL) {
    result = KP_ERROR_MEMORY;
    goto done;
  }
  if (strlen(folder) >= sizeof scene->folder) {
    result = kp_fail(KP_ERROR_ARGUMENT, "%s: the path of the folder is too long", name);
    goto done;
  }
  kp_text_copy(scene->folder, sizeof scene->folder, folder);
  kp_text_copy(scene->spec.folder, sizeof scene->spec.folder, folder);
  result =
      fill_scene(scene, (scene_source){ text, n_bytes }, options != NULL ? options : &no_options);
done:
  // Lua is not needed any more: functions of time have become samples
  kp_sandbox_destroy(&scene->sandbox);
  if (result != KP_OK) {
    kp_scene_free(&scene);
  }
  *out = scene;
  return result;
}

kp_result kp_scene_load(const char *path, const kp_scene_options *options, kp_scene **out) {
  *out = NULL;
  char folder[sizeof((kp_scene *)0)->folder];
  KP_TRY(kp_path_folder(folder, sizeof folder, path));
  char *text = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_file_read(path, SCENE_LIMIT, &text, &n_bytes));
  kp_result result = kp_scene_load_text(kp_path_name(path), folder, text, n_bytes, options, out);
  kp_free(text);
  return result;
}

void kp_scene_free(kp_scene **scene_pointer) {
  kp_scene *scene = *scene_pointer;
  if (scene == NULL) {
    return;
  }
  for (size_t i = 0; i < scene->functions.count; ++i) {
    kp_free(scene->functions.data[i].samples);
  }
  kp_array_free(&scene->functions);
  for (size_t i = 0; i < scene->inputs.count; ++i) {
    kp_free(scene->inputs.data[i].name);
  }
  kp_array_free(&scene->inputs);
  kp_scene_free_entities(scene);
  kp_spec_free(&scene->spec);
  kp_free(scene->name);
  kp_free(scene);
  *scene_pointer = NULL;
}

// ---- answers

const kp_spec *kp_scene_spec(const kp_scene *scene) {
  return &scene->spec;
}

const kp_output_def *kp_scene_output(const kp_scene *scene) {
  return &scene->output;
}

const char *kp_scene_folder(const kp_scene *scene) {
  return scene->folder;
}

size_t kp_scene_inputs(const kp_scene *scene, const kp_scene_input **out) {
  *out = scene->inputs.data;
  return scene->inputs.count;
}

const void *kp_scene_extra_at(const kp_scene *scene, const char *word, size_t index,
                              const char **name) {
  for (size_t i = 0; i < scene->entities.count; ++i) {
    const kp_scene_entity *entity = scene->entities.data[i];
    if (strcmp(entity->kind->word, word) != 0 || index-- > 0) {
      continue;
    }
    if (name != NULL) {
      *name = entity->name;
    }
    return entity->def;
  }
  return NULL;
}
