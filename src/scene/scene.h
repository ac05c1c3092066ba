// Lua scenes: a file becomes a checked spec, or one sentence that says what is wrong and where.
//
// A scene is a sandboxed Lua 5.4 program that declares entities (domain, liquid, collider, ...). It
// has no access to files, processes or the clock, bounded time and memory, and means the same on
// every machine: `pairs` runs in key order and functions of time must be pure. What a scene may say
// follows from the parameter tables; nothing here knows a method.
//
// Failures: KP_ERROR_SCENE for what the scene says, KP_ERROR_ARGUMENT for a wrong --set,
// KP_ERROR_IO for a scene file that cannot be read, KP_ERROR_MEMORY. A scene is constant once
// loaded.
#pragma once

#include "base/param.h"
#include "base/text.h"
#include "world/spec.h"

typedef struct kp_scene kp_scene;

// What a boolean means in place of the { } of a nested kind: a text of one of its rows.
typedef struct kp_scene_switch {
  const char *key;
  const char *off, *on;
} kp_scene_switch;

// An entity of a layer the scene does not know, such as pictures. The word is what scenes write:
// "render" is an entity of its own, "output.image" the key `image` inside output { }.
typedef struct kp_scene_extra {
  const char *word;
  const kp_param_table *table;
  bool is_named;  // true: look "water" { }, any number of them, read with kp_scene_extra_at
  void *def;  // not named: receives the values (defaults where the scene says nothing); may be NULL
  const kp_scene_switch *either;  // nested: what true and false mean; NULL: nothing
} kp_scene_extra;

typedef struct kp_scene_options {
  const char *const *sets;  // "water.viscosity=0.1", applied in order after the scene ran
  size_t n_sets;
  const kp_scene_extra *extras;
  size_t n_extras;
} kp_scene_options;

// A file the scene was made of: the scene itself (first), modules, meshes.
typedef struct kp_scene_input {
  char *name;     // relative to the scene's folder
  uint64_t hash;  // kp_hash_bytes (seed 0) of the content
} kp_scene_input;

// options may be NULL. On failure *out is NULL.
KP_NODISCARD kp_result kp_scene_load(const char *path, const kp_scene_options *options,
                                     kp_scene **out);

// The same for a scene in memory; `name` stands in messages, modules and meshes are sought in
// `folder`.
KP_NODISCARD kp_result kp_scene_load_text(const char *name, const char *folder, const char *text,
                                          size_t n_bytes, const kp_scene_options *options,
                                          kp_scene **out);
void kp_scene_free(kp_scene **scene);

const kp_spec *kp_scene_spec(const kp_scene *scene);
const kp_output_def *kp_scene_output(const kp_scene *scene);
const char *kp_scene_folder(const kp_scene *scene);  // where modules and meshes are

// The files, scene first, then in the order of their first use. Returns how many.
size_t kp_scene_inputs(const kp_scene *scene, const kp_scene_input **out);

// The index-th extra entity of a word, ordered by name; NULL past the last. *name may be NULL.
const void *kp_scene_extra_at(const kp_scene *scene, const char *word, size_t index,
                              const char **name);

// used.lua: a scene that says every value, defaults included. A function of time is written as its
// value at t = 0 with the place of the function behind it.
KP_NODISCARD kp_result kp_scene_write_used(const kp_scene *scene, kp_text *text);

// Hash of everything the scene means: all values and all curve samples, no file names or comments.
KP_NODISCARD kp_result kp_scene_hash(const kp_scene *scene, uint64_t *hash);
