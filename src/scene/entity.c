// The words of a scene. A word is a kind; `domain { }` fills the one entity of its kind, `liquid
// "water" { }` makes a named one. Which keys it has is said by the kind's parameter table alone.
#include <stdio.h>
#include <string.h>

#include "geom/shape.h"
#include "scene/scene_state.h"

#define MANY_KEYS 64
#define NAME_LIMIT 64

static const kp_scene_kind builtin_kinds[] = {
  { "domain", NULL, &kp_domain_params, false, false, NULL },
  { "simulation", NULL, &kp_simulation_params, false, false, NULL },
  { "sph", NULL, &kp_sph_params, false, false, NULL },
  { "springs", NULL, &kp_springs_params, false, false, NULL },
  { "stf", NULL, &kp_stf_params, false, false, NULL },
  { "mps", NULL, &kp_mps_params, false, false, NULL },
  { "grid", NULL, &kp_grid_params, false, false, NULL },
  { "level_set", NULL, &kp_level_set_params, false, false, NULL },
  { "flip", NULL, &kp_flip_params, false, false, NULL },
  { "marker", NULL, &kp_marker_params, false, false, NULL },
  { "liquid", NULL, &kp_liquid_params, true, false, NULL },
  { "plasma", NULL, &kp_plasma_params, true, false, NULL },
  { "fire", NULL, &kp_fire_params, true, false, NULL },
  { "vortex_fire", NULL, &kp_vortex_fire_params, false, false, NULL },
  { "smoke", NULL, &kp_smoke_params, true, false, NULL },
  { "source", NULL, &kp_source_params, true, false, NULL },
  { "vortices", NULL, &kp_vortices_params, true, false, NULL },
  { "dem", NULL, &kp_dem_params, false, false, NULL },
  { "grains", NULL, &kp_grains_params, true, false, NULL },
  { "rigid", NULL, &kp_rigid_params, false, false, NULL },
  { "solids", NULL, &kp_solids_params, false, false, NULL },
  { "cloth", NULL, &kp_cloth_params, true, false, NULL },
  { "soft", NULL, &kp_soft_params, true, false, NULL },
  { "hair", NULL, &kp_hair_params, true, false, NULL },
  { "pin", NULL, &kp_pin_params, true, false, NULL },
  { "wind", NULL, &kp_wind_params, true, false, NULL },
  { "immersion", NULL, &kp_immersion_params, true, false, NULL },
  { "limit", NULL, &kp_limit_params, true, false, NULL },
  { "collider", NULL, &kp_collider_params, true, false, NULL },
  { "morph", NULL, &kp_morph_params, true, false, NULL },
  { "body", NULL, &kp_body_params, true, false, NULL },
  { "emitter", NULL, &kp_emitter_params, true, false, NULL },
  { "sink", NULL, &kp_sink_params, true, false, NULL },
  { "force", NULL, &kp_force_params, true, false, NULL },
  { "probe", NULL, &kp_probe_params, true, false, NULL },
  { "output", NULL, &kp_output_params, false, false, NULL },
};

const kp_scene_kind *kp_scene_kinds(size_t *n) {
  *n = sizeof builtin_kinds / sizeof builtin_kinds[0];
  return builtin_kinds;
}

// ---- entities

static kp_result make_entity(kp_scene *scene, const kp_scene_kind *kind, const char *name,
                             kp_scene_entity **out) {
  kp_scene_entity *entity = kp_alloc_zero(sizeof *entity, KP_MEMORY_SCENE);
  if (entity == NULL || kp_array_push(&scene->entities, entity) != KP_OK) {
    kp_free(entity);
    return KP_ERROR_MEMORY;
  }
  entity->kind = kind;
  entity->said = kp_alloc_zero(kind->table->n_rows * sizeof(bool), KP_MEMORY_SCENE);
  entity->def = kp_alloc_zero(kind->table->def_size, KP_MEMORY_SCENE);
  if (entity->said == NULL || entity->def == NULL) {
    return KP_ERROR_MEMORY;
  }
  kind->table->set_default(entity->def);
  kp_text_copy(entity->name, sizeof entity->name, name);
  if (kind->is_named && kind->is_extra) {
    (void)snprintf(entity->path, sizeof entity->path, "%.127s.%s", kind->word, entity->name);
  } else {
    kp_text_copy(entity->path, sizeof entity->path, kind->is_named ? name : kind->word);
  }
  *out = entity;
  return KP_OK;
}

kp_result kp_scene_init_kinds(kp_scene *scene, const kp_scene_options *options) {
  for (size_t i = 0; i < sizeof builtin_kinds / sizeof builtin_kinds[0]; ++i) {
    KP_TRY(kp_array_push(&scene->kinds, builtin_kinds[i]));
  }
  for (size_t i = 0; i < options->n_extras; ++i) {
    const kp_scene_extra *extra = &options->extras[i];
    const char *dot = strchr(extra->word, '.');
    kp_scene_kind kind = { extra->word,  dot != NULL ? dot + 1 : NULL,
                           extra->table, extra->is_named,
                           true,         extra };
    KP_TRY(kp_array_push(&scene->kinds, kind));
  }
  for (size_t i = 0; i < scene->kinds.count; ++i) {
    kp_scene_entity *entity;
    if (!scene->kinds.data[i].is_named) {
      KP_TRY(make_entity(scene, &scene->kinds.data[i], "", &entity));
      entity->is_finished = true;
    }
  }
  scene->n_singles = scene->entities.count;
  return KP_OK;
}

void kp_scene_free_entities(kp_scene *scene) {
  for (size_t i = 0; i < scene->entities.count; ++i) {
    kp_scene_entity *entity = scene->entities.data[i];
    kp_free(entity->said);
    kp_free(entity->def);
    kp_free(entity);
  }
  kp_array_free(&scene->entities);
  kp_names_free(&scene->names);
  kp_array_free(&scene->kinds);
}

kp_scene_entity *kp_scene_single(const kp_scene *scene, const char *word) {
  for (size_t i = 0; i < scene->entities.count; ++i) {
    kp_scene_entity *entity = scene->entities.data[i];
    if (!entity->kind->is_named && strcmp(entity->kind->word, word) == 0) {
      return entity;
    }
  }
  return NULL;
}

// The entity that takes the name: things of the world share their names, an extra kind has its own.
// Names of the world have no spaces, so that a kind's word and a space before a name are apart from
// them.
static void scoped_name(const kp_scene_kind *kind, const char *name, char out[2 * KP_TEXT_SIZE]) {
  (void)snprintf(out, 2 * KP_TEXT_SIZE, "%s%s%s", kind->is_extra ? kind->word : "",
                 kind->is_extra ? " " : "", name);
}

static const kp_scene_entity *find_named(const kp_scene *scene, const kp_scene_kind *kind,
                                         const char *name) {
  char scoped[2 * KP_TEXT_SIZE];
  scoped_name(kind, name, scoped);
  const kp_name *found = kp_names_find(&scene->names, scoped);
  return found != NULL ? scene->entities.data[found->value] : NULL;
}

kp_result kp_scene_check_finished(const kp_scene *scene) {
  for (size_t i = 0; i < scene->entities.count; ++i) {
    const kp_scene_entity *entity = scene->entities.data[i];
    if (!entity->is_finished) {
      return kp_fail(KP_ERROR_SCENE, "%s: %s \"%s\" has no { } with its values", entity->where,
                     entity->kind->word, entity->name);
    }
  }
  return KP_OK;
}

// ---- keys

kp_result kp_scene_unknown(const char *what, const char *word, const char *const *known, size_t n) {
  char quoted[KP_SANDBOX_WHERE_SIZE];
  kp_sandbox_quote(word, quoted);
  const char *nearest = kp_text_nearest(quoted, known, n);
  if (nearest != NULL) {
    return kp_fail(KP_ERROR_SCENE, "unknown %s '%s', did you mean '%s'?", what, quoted, nearest);
  }
  kp_text list = { 0 };
  kp_result result = KP_OK;
  for (size_t i = 0; i < n && result == KP_OK; ++i) {
    result = kp_text_add(&list, "%s%s", i > 0 ? ", " : "", known[i]);
  }
  if (result == KP_OK) {
    result = kp_fail(KP_ERROR_SCENE, "unknown %s '%s'; known are %s", what, quoted,
                     n > 0 ? list.data : "none");
  }
  kp_text_free(&list);
  return result;
}

const kp_param *kp_scene_find_row(const kp_param_table *table, const char *key) {
  for (size_t i = 0; i < table->n_rows; ++i) {
    if (strcmp(table->rows[i].key, key) == 0) {
      return &table->rows[i];
    }
  }
  return NULL;
}

// Does `kind` stand inside `outer`, as output.image in output?
static bool is_inside(const kp_scene_kind *kind, const kp_scene_kind *outer) {
  size_t length = strlen(outer->word);
  return kind->key != NULL && strncmp(kind->word, outer->word, length) == 0 &&
         kind->word[length] == '.';
}

static const kp_scene_kind *find_nested(const kp_scene *scene, const kp_scene_kind *outer,
                                        const char *key) {
  for (size_t i = 0; i < scene->kinds.count; ++i) {
    const kp_scene_kind *kind = &scene->kinds.data[i];
    if (is_inside(kind, outer) && strcmp(kind->key, key) == 0) {
      return kind;
    }
  }
  return NULL;
}

kp_result kp_scene_unknown_key(const kp_scene *scene, const kp_scene_kind *kind,
                               const kp_param_table *table, const char *key) {
  const char *known[MANY_KEYS];
  size_t n = 0;
  for (size_t i = 0; i < table->n_rows && n < MANY_KEYS; ++i) {
    known[n++] = table->rows[i].key;
  }
  for (size_t i = 0; scene != NULL && i < scene->kinds.count && n < MANY_KEYS; ++i) {
    if (is_inside(&scene->kinds.data[i], kind)) {
      known[n++] = scene->kinds.data[i].key;
    }
  }
  return kp_scene_unknown("key", key, known, n);
}

// ---- reading { }

kp_result kp_scene_assign(lua_State *lua, kp_scene_entity *entity, const kp_param *row) {
  bool may_depend =
      row->type == KP_PARAM_CURVE || row->type == KP_PARAM_CURVE3 || row->type == KP_PARAM_PLACE3;
  entity->said[row - entity->kind->table->rows] = true;
  if (may_depend && lua_isfunction(lua, -1)) {
    return kp_scene_keep_function(lua, entity, row);
  }
  kp_scene_drop_function(kp_scene_of(lua), entity, row);

  // what "auto" means is decided by the default, not by what the member holds now
  const kp_param_table *table = entity->kind->table;
  char *standard = lua_newuserdatauv(lua, table->def_size, 0);
  memset(standard, 0, table->def_size);
  table->set_default(standard);
  kp_result result =
      kp_scene_read_value(lua, -2, row, standard + row->offset, entity->def + row->offset);
  lua_pop(lua, 1);
  return result;
}

static kp_result read_entity(lua_State *lua, int index, kp_scene_entity *entity);

// The least key that is neither a row nor a nested kind, so that the message is the same every
// time.
static kp_result check_keys(lua_State *lua, int index, const kp_scene_entity *entity) {
  const kp_scene *scene = kp_scene_of(lua);
  const kp_scene_kind *kind = entity->kind;
  const char *unknown = NULL;
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
    if (lua_type(lua, -2) != LUA_TSTRING) {
      return kp_fail(KP_ERROR_SCENE, "a value without a key; write key = value");
    }
    const char *key = lua_tostring(lua, -2);
    bool is_known =
        kp_scene_find_row(kind->table, key) != NULL || find_nested(scene, kind, key) != NULL;
    if (!is_known && (unknown == NULL || strcmp(key, unknown) < 0)) {
      unknown = key;
    }
  }
  return unknown == NULL ? KP_OK : kp_scene_unknown_key(scene, kind, kind->table, unknown);
}

static bool has_switch(const kp_scene_entity *entity) {
  return entity->kind->extra != NULL && entity->kind->extra->either != NULL;
}

bool kp_scene_is_switch(lua_State *lua, const kp_scene_entity *entity) {
  return has_switch(entity) && lua_isboolean(lua, -1);
}

kp_result kp_scene_read_switch(lua_State *lua, kp_scene_entity *entity) {
  const kp_scene_switch *either = entity->kind->extra->either;
  const kp_param *row = kp_scene_find_row(entity->kind->table, either->key);
  lua_pushstring(lua, lua_toboolean(lua, -1) != 0 ? either->on : either->off);
  kp_result result = kp_scene_assign(lua, entity, row);
  lua_pop(lua, 1);
  return result;
}

static kp_result read_nested(lua_State *lua, int index, const kp_scene_entity *outer) {
  const kp_scene *scene = kp_scene_of(lua);
  for (size_t i = 0; i < scene->n_singles; ++i) {
    kp_scene_entity *inner = scene->entities.data[i];
    if (!is_inside(inner->kind, outer->kind)) {
      continue;
    }
    lua_pushstring(lua, inner->kind->key);
    kp_result result = KP_OK;
    if (lua_rawget(lua, index) != LUA_TNIL) {
      result = kp_scene_is_switch(lua, inner) ? kp_scene_read_switch(lua, inner)
                                              : read_entity(lua, lua_gettop(lua), inner);
    }
    lua_pop(lua, 1);
    KP_TRY(result);
  }
  return KP_OK;
}

static kp_result read_rows(lua_State *lua, int index, kp_scene_entity *entity) {
  const kp_param_table *table = entity->kind->table;
  KP_TRY(check_keys(lua, index, entity));
  for (size_t i = 0; i < table->n_rows; ++i) {
    lua_pushstring(lua, table->rows[i].key);
    kp_result result = KP_OK;
    if (lua_rawget(lua, index) != LUA_TNIL) {
      result = entity->said[i] ? kp_fail(KP_ERROR_SCENE, "%s is said twice", table->rows[i].key)
                               : kp_scene_assign(lua, entity, &table->rows[i]);
    }
    lua_pop(lua, 1);
    KP_TRY(result);
  }
  return KP_OK;
}

static kp_result blame(kp_result code, const kp_scene_entity *entity) {
  return entity->name[0] != '\0' ? kp_fail_in(code, "%s \"%s\"", entity->kind->word, entity->name)
                                 : kp_fail_in(code, "%s", entity->kind->word);
}

static kp_result read_entity(lua_State *lua, int index, kp_scene_entity *entity) {
  const char *word = entity->kind->word;
  if (lua_type(lua, index) != LUA_TTABLE) {
    return entity->kind->is_named
               ? kp_fail(KP_ERROR_SCENE, "%s is written %s \"name\" { key = value, ... }", word,
                         word)
               : kp_fail(KP_ERROR_SCENE, "%s is written %s%s { key = value, ... }%s", word, word,
                         entity->kind->key != NULL ? " =" : "",
                         has_switch(entity) ? ", true or false" : "");
  }
  if (!entity->kind->is_named && entity->where[0] != '\0') {
    return kp_fail(KP_ERROR_SCENE, "%s is said twice, first at %s", word, entity->where);
  }
  kp_sandbox_where(lua, 1, entity->where);
  kp_result result = read_rows(lua, index, entity);
  if (result != KP_OK) {
    return blame(result, entity);
  }
  KP_TRY(read_nested(lua, index, entity));
  return kp_params_check(entity->kind->table, entity->def, entity->name);
}

// ---- the words themselves

static void need_open(lua_State *lua) {
  if (kp_scene_of(lua)->is_closed) {
    luaL_error(lua, "entities can only be said by the scene itself, not by a function of time or "
                    "by --set");
  }
}

// { } behind liquid "water"; upvalue: the entity.
static int declare_body(lua_State *lua) {
  need_open(lua);
  kp_scene_entity *entity = lua_touserdata(lua, lua_upvalueindex(1));
  if (entity->is_finished) {
    return luaL_error(lua, "%s \"%s\" is said twice", entity->kind->word, entity->name);
  }
  entity->is_finished = true;
  lua_settop(lua, 1);
  kp_result result = read_entity(lua, 1, entity);
  return result == KP_OK ? 0 : kp_sandbox_raise(lua, result);
}

// A name must be free, and must not be a word, since --set says both.
static kp_result check_name(const kp_scene *scene, const kp_scene_kind *kind, const char *name) {
  const char *word = kind->word;
  char quoted[KP_SANDBOX_WHERE_SIZE];
  kp_sandbox_quote(name, quoted);
  const kp_scene_entity *taken = find_named(scene, kind, name);
  if (taken != NULL) {
    return kp_fail(KP_ERROR_SCENE, "%s \"%s\": the name is taken by the %s at %s", word, quoted,
                   taken->kind->word, taken->where);
  }
  for (size_t i = 0; i < scene->kinds.count; ++i) {
    if (strcmp(scene->kinds.data[i].word, name) == 0) {
      return kp_fail(KP_ERROR_SCENE, "%s \"%s\": the name is a word of the scene language", word,
                     quoted);
    }
  }
  // extra kinds also name what a run makes of entities, such as "surface of water", "water.markers"
  static const char all_letters[] =
      " .*abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const char *letters = kind->is_extra ? all_letters : all_letters + 3;
  size_t length = strlen(name);
  if (length == 0 || length > NAME_LIMIT || strspn(name, letters) != length) {
    return kp_fail(KP_ERROR_SCENE, "%s \"%s\": a name has 1 to 64 letters, digits, '_' or '-'",
                   word, quoted);
  }
  return KP_OK;
}

// liquid "water": makes the entity and gives back what reads its { }.
static int declare_named(lua_State *lua, const kp_scene_kind *kind) {
  kp_scene *scene = kp_scene_of(lua);
  size_t length = 0;
  const char *name = lua_type(lua, 1) == LUA_TSTRING ? lua_tolstring(lua, 1, &length) : NULL;
  if (name == NULL || strlen(name) != length || lua_gettop(lua) != 1) {
    return luaL_error(lua, "%s is written %s \"name\" { key = value, ... }", kind->word,
                      kind->word);
  }
  kp_result result = check_name(scene, kind, name);
  kp_scene_entity *entity = NULL;
  if (result == KP_OK) {
    result = make_entity(scene, kind, name, &entity);
  }
  if (result == KP_OK) {
    char scoped[2 * KP_TEXT_SIZE];
    scoped_name(kind, name, scoped);
    result = kp_names_add(&scene->names, scoped, scene->entities.count - 1);
  }
  if (result != KP_OK) {
    return kp_sandbox_raise(lua, result);
  }
  if (scene->entities.count <= KP_SANDBOX_ENTITIES) {
    kp_sandbox_grant(&scene->sandbox, KP_SANDBOX_ENTITY_INSTRUCTIONS, KP_SANDBOX_ENTITY_SECONDS);
  }
  kp_sandbox_where(lua, 1, entity->where);
  lua_pushlightuserdata(lua, entity);
  lua_pushcclosure(lua, declare_body, 1);
  return 1;
}

// Upvalue: the kind.
static int declare(lua_State *lua) {
  need_open(lua);
  const kp_scene_kind *kind = lua_touserdata(lua, lua_upvalueindex(1));
  if (kind->is_named) {
    return declare_named(lua, kind);
  }
  lua_settop(lua, 1);
  kp_result result = read_entity(lua, 1, kp_scene_single(kp_scene_of(lua), kind->word));
  return result == KP_OK ? 0 : kp_sandbox_raise(lua, result);
}

// gravity { 0, -9.81, 0 }: short for simulation { gravity = ... }.
static int declare_gravity(lua_State *lua) {
  need_open(lua);
  kp_scene_entity *entity = kp_scene_single(kp_scene_of(lua), "simulation");
  const kp_param *row = kp_scene_find_row(entity->kind->table, "gravity");
  lua_settop(lua, 1);
  kp_result result = entity->said[row - entity->kind->table->rows]
                         ? kp_fail(KP_ERROR_SCENE, "gravity is said twice")
                         : kp_scene_assign(lua, entity, row);
  if (result == KP_OK) {
    result = kp_params_check(entity->kind->table, entity->def, NULL);
  }
  return result == KP_OK ? 0 : kp_sandbox_raise(lua, result);
}

// Upvalue: the table of the shape.
static int construct_shape(lua_State *lua) {
  const kp_param_table *table = lua_touserdata(lua, lua_upvalueindex(1));
  kp_result result = kp_scene_make_shape(lua, table);
  return result == KP_OK ? 1 : kp_sandbox_raise(lua, result);
}

static void define(lua_State *lua, const char *word, const void *upvalue, lua_CFunction fn) {
  lua_pushlightuserdata(lua, (void *)(uintptr_t)upvalue);
  lua_pushcclosure(lua, fn, 1);
  lua_setglobal(lua, word);
}

void kp_scene_open_words(lua_State *lua) {
  const kp_scene *scene = kp_scene_of(lua);
  for (size_t i = 0; i < scene->kinds.count; ++i) {
    const kp_scene_kind *kind = &scene->kinds.data[i];
    if (kind->key == NULL) {
      define(lua, kind->word, kind, declare);
    }
  }
  define(lua, "gravity", NULL, declare_gravity);
  define(lua, "require", NULL, kp_scene_require);
  size_t n;
  const kp_param_table *const *shapes = kp_shape_tables(&n);
  for (size_t i = 0; i < n; ++i) {
    define(lua, shapes[i]->name, shapes[i], construct_shape);
  }
}
