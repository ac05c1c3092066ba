// Inside of a scene while it is read, shared by the files of this folder.
//
//   scene.c      load: run the file, apply --set, sample curves, make the spec
//   entity.c     the words a scene may say, and the tables behind them
//   value.c      one Lua value -> one member of a def
//   set.c        --set
//   function.c   functions of time -> curve samples
//   place.c      functions of place -> lattices of samples
//   input.c      require and other files, the list of them
//   used.c       used.lua and the hash
#pragma once

#include "base/names.h"
#include "scene/sandbox.h"
#include "scene/scene.h"

// A kind of entity: domain, liquid, output.image, ...
typedef struct kp_scene_kind {
  const char *word;
  const char *key;  // nested kinds: what stands behind the dot; else NULL
  const kp_param_table *table;
  bool is_named;
  bool is_extra;  // has names of its own: look "water" may stand beside liquid "water"
  const kp_scene_extra *extra;  // what it is of a scene's options, while that is loaded
} kp_scene_kind;

typedef struct kp_scene_entity {
  const kp_scene_kind *kind;
  char name[KP_TEXT_SIZE];            // "" when the kind is not named
  char path[2 * KP_TEXT_SIZE];        // how --set calls it: water, output, look.water
  char where[KP_SANDBOX_WHERE_SIZE];  // where it was said; "" when it was not
  bool is_finished;                   // named: its { } was read
  bool *said;                         // per row of the table
  char *def;
} kp_scene_entity;

// A function of time behind a curve of an entity, or of place behind a lattice.
typedef struct kp_scene_function {
  kp_scene_entity *entity;
  const kp_param *row;
  int reference;  // in the Lua registry; LUA_NOREF when --set has replaced it
  char where[KP_SANDBOX_WHERE_SIZE];
  double *samples;
  size_t n_samples;  // numbers
} kp_scene_function;

// What a row's function depends on, for messages.
KP_FN const char *kp_scene_argument(const kp_param *row) {
  return row->type == KP_PARAM_PLACE3 ? "place" : "time";
}

struct kp_scene {
  char *name;  // of the file, without folder
  char folder[sizeof((kp_spec *)0)->folder];
  kp_spec spec;
  kp_output_def output;
  KP_ARRAY(kp_scene_kind) kinds;         // fixed before the first entity points into it
  KP_ARRAY(kp_scene_entity *) entities;  // those without a name first
  size_t n_singles;                      // entities without a name
  kp_names names;  // of named entities, with their index while the file is read
  KP_ARRAY(kp_scene_function) functions;
  KP_ARRAY(kp_scene_input) inputs;

  // while loading
  kp_sandbox sandbox;
  bool is_closed;                           // the file has been read: no more entities
  char flat_vector[KP_SANDBOX_WHERE_SIZE];  // where the first {x, y} stood
};

KP_FN kp_scene *kp_scene_of(lua_State *lua) {
  return (kp_scene *)kp_sandbox_of(lua)->user;
}

// ---- entity.c

// The kinds every scene knows, in the order of used.lua and of the manual.
const kp_scene_kind *kp_scene_kinds(size_t *n);

KP_NODISCARD kp_result kp_scene_init_kinds(kp_scene *scene, const kp_scene_options *options);
void kp_scene_free_entities(kp_scene *scene);

// Defines the words of entities and shapes as globals; raises.
void kp_scene_open_words(lua_State *lua);

// The one entity of a kind that is not named.
kp_scene_entity *kp_scene_single(const kp_scene *scene, const char *word);

// Fails when a named entity never got its { }.
KP_NODISCARD kp_result kp_scene_check_finished(const kp_scene *scene);

// Reads the value at the top of the stack into a row of an entity; functions of time are kept for
// later. May raise for want of memory.
KP_NODISCARD kp_result kp_scene_assign(lua_State *lua, kp_scene_entity *entity,
                                       const kp_param *row);

// Whether the value at the top of the stack is a boolean in place of the { } of a nested kind, and
// what that means.
bool kp_scene_is_switch(lua_State *lua, const kp_scene_entity *entity);
KP_NODISCARD kp_result kp_scene_read_switch(lua_State *lua, kp_scene_entity *entity);

// Fails with "unknown <what> '<word>'" and the nearest of the known ones or, if none is near, all.
KP_NODISCARD kp_result kp_scene_unknown(const char *what, const char *word,
                                        const char *const *known, size_t n);

// The row of a table with this key, NULL if there is none; and the failure for that.
const kp_param *kp_scene_find_row(const kp_param_table *table, const char *key);
KP_NODISCARD kp_result kp_scene_unknown_key(const kp_scene *scene, const kp_scene_kind *kind,
                                            const kp_param_table *table, const char *key);

// ---- value.c

// Converts the value at `index` for `member`; `standard` is the member's default. Types and lengths
// are checked here, ranges by kp_params_check. The sentence starts with the key.
KP_NODISCARD kp_result kp_scene_read_value(lua_State *lua, int index, const kp_param *row,
                                           const void *standard, void *member);

// Three finite numbers, or two and a zero.
KP_NODISCARD kp_result kp_scene_read_vector(lua_State *lua, int index, const char *key,
                                            double out[3]);

// box { }, sphere { }, ... : pushes the shape as userdata, or fails.
KP_NODISCARD kp_result kp_scene_make_shape(lua_State *lua, const kp_param_table *table);

// ---- set.c, function.c, input.c

KP_NODISCARD kp_result kp_scene_apply_set(kp_scene *scene, const char *set);
KP_NODISCARD kp_result kp_scene_keep_function(lua_State *lua, kp_scene_entity *entity,
                                              const kp_param *row);
void kp_scene_drop_function(kp_scene *scene, const kp_scene_entity *entity, const kp_param *row);
KP_NODISCARD kp_result kp_scene_sample_functions(kp_scene *scene);
// Samples one function of place into its entity; may raise.
KP_NODISCARD kp_result kp_scene_sample_place(lua_State *lua, kp_scene_function *function);

// require; raises.
int kp_scene_require(lua_State *lua);
KP_NODISCARD kp_result kp_scene_add_input(kp_scene *scene, const char *name, uint64_t hash);

// Every file that a row of a parameter table names.
KP_NODISCARD kp_result kp_scene_add_files(kp_scene *scene);

// ---- used.c

// A member as a scene would write it: 0.1, {0, 1, 0}, "cubic", box { ... }.
KP_NODISCARD kp_result kp_scene_write_value(kp_text *text, const kp_param *row, const void *member);
