// --set path=value, after the scene ran: the last word on any parameter.
#include <string.h>

#include "geom/shape.h"
#include "scene/scene_state.h"

typedef struct set_task {
  kp_scene *scene;
  const char *set;
  kp_result result;
} set_task;

// The entity with the longest path that starts `path`; *rest is what follows its dot.
static kp_scene_entity *find_entity(const kp_scene *scene, const char *path, const char **rest) {
  kp_scene_entity *best = NULL;
  size_t best_length = 0;
  for (size_t i = 0; i < scene->entities.count; ++i) {
    kp_scene_entity *entity = scene->entities.data[i];
    size_t length = strlen(entity->path);
    if (length > best_length && strncmp(path, entity->path, length) == 0 && path[length] == '.') {
      best = entity;
      best_length = length;
    }
  }
  *rest = best != NULL ? path + best_length + 1 : NULL;
  return best;
}

// Fails with the nearest entity. The names are kept by Lua, so that nothing is lost when it raises.
static kp_result unknown_entity(lua_State *lua, const kp_scene *scene, const char *path) {
  const char *dot = strchr(path, '.');
  if (dot == NULL) {
    return kp_fail(KP_ERROR_SCENE, "it must look like name.key=value");
  }
  const char *first = lua_pushlstring(lua, path, (size_t)(dot - path));
  size_t n = scene->entities.count;
  const char **names = lua_newuserdatauv(lua, (n + 1) * sizeof *names, 0);
  for (size_t i = 0; i < n; ++i) {
    names[i] = scene->entities.data[i]->path;
  }
  return kp_scene_unknown("entity", first, names, n);
}

// A value in quotes is a nuisance in a shell: words may stand bare where a word is wanted.
static bool is_bare_word(const kp_param *row, const char *value) {
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  bool wants_word = row->type == KP_PARAM_ENUM || row->type == KP_PARAM_TEXT;
  return (wants_word && value[strspn(value, letters)] == '\0') || strcmp(value, "auto") == 0;
}

// The value on top of the stack.
static kp_result evaluate(lua_State *lua, const kp_param *row, const char *value) {
  if (is_bare_word(row, value)) {
    lua_pushstring(lua, value);
    return KP_OK;
  }
  const char *code = lua_pushfstring(lua, "return %s", value);
  int status = luaL_loadbufferx(lua, code, strlen(code), "=value", "t");
  if (status == LUA_ERRMEM) {
    (void)lua_error(lua);
  }
  if (status != LUA_OK) {
    return kp_fail(KP_ERROR_SCENE, "%s", lua_tostring(lua, -1));
  }
  lua_call(lua, 0, 1);
  if (lua_isnil(lua, -1)) {
    return kp_fail(KP_ERROR_SCENE, "there is no value");
  }
  return KP_OK;
}

// water.shape.max: a row of the shape's own table, in place.
static kp_result set_in_shape(lua_State *lua, kp_shape_def *shape, const char *key,
                              const char *value) {
  size_t n;
  const kp_param_table *table = kp_shape_tables(&n)[shape->kind];
  const kp_param *row = kp_scene_find_row(table, key);
  if (row == NULL) {
    return kp_scene_unknown_key(NULL, NULL, table, key);
  }
  const kp_shape_def standard = kp_default_shape_def(shape->kind);
  KP_TRY(evaluate(lua, row, value));
  return kp_scene_read_value(lua, -1, row, (const char *)&standard + row->offset,
                             (char *)shape + row->offset);
}

// output.surface=false: a boolean in place of what a nested kind says; *is_done: it was one.
static kp_result set_switch(lua_State *lua, const kp_scene *scene, const char *path,
                            const char *value, bool *is_done) {
  kp_scene_entity *nested = kp_scene_single(scene, path);
  *is_done = false;
  if (nested == NULL || nested->kind->key == NULL) {
    return KP_OK;
  }
  lua_pushboolean(lua, strcmp(value, "true") == 0);
  *is_done = (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) &&
             kp_scene_is_switch(lua, nested);
  return *is_done ? kp_scene_read_switch(lua, nested) : KP_OK;
}

static kp_result set_value(lua_State *lua, kp_scene *scene, const char *path, const char *value) {
  const char *key;
  bool is_done;
  KP_TRY(set_switch(lua, scene, path, value, &is_done));
  if (is_done) {
    return KP_OK;
  }
  kp_scene_entity *entity =
      find_entity(scene, strcmp(path, "gravity") == 0 ? "simulation.gravity" : path, &key);
  if (entity == NULL) {
    return unknown_entity(lua, scene, path);
  }
  const kp_param_table *table = entity->kind->table;
  const char *dot = strchr(key, '.');
  const char *outer = dot != NULL ? lua_pushlstring(lua, key, (size_t)(dot - key)) : key;
  const kp_param *row = kp_scene_find_row(table, outer);
  if (row == NULL || (dot != NULL && row->type != KP_PARAM_SHAPE)) {
    return kp_scene_unknown_key(scene, entity->kind, table, row == NULL ? outer : key);
  }
  if (dot != NULL) {
    KP_TRY(set_in_shape(lua, (kp_shape_def *)(entity->def + row->offset), dot + 1, value));
  } else {
    KP_TRY(evaluate(lua, row, value));
    KP_TRY(kp_scene_assign(lua, entity, row));
  }
  return kp_params_check(table, entity->def, entity->name);
}

static int set_protected(lua_State *lua) {
  set_task *task = lua_touserdata(lua, 1);
  const char *equals = strchr(task->set, '=');
  if (equals == NULL) {
    task->result = kp_fail(KP_ERROR_SCENE, "it must look like name.key=value");
    return 0;
  }
  const char *path = lua_pushlstring(lua, task->set, (size_t)(equals - task->set));
  task->result = set_value(lua, task->scene, path, equals + 1);
  return 0;
}

kp_result kp_scene_apply_set(kp_scene *scene, const char *set) {
  set_task task = { scene, set, KP_OK };
  kp_sandbox_allow(&scene->sandbox, KP_SANDBOX_INSTRUCTIONS, KP_SANDBOX_SECONDS);
  kp_result result = kp_sandbox_run(&scene->sandbox, set_protected, &task);
  result = result == KP_OK ? task.result : result;
  if (result == KP_OK) {
    return KP_OK;
  }
  // what is wrong on the command line is not the scene's fault
  char quoted[KP_SANDBOX_WHERE_SIZE];
  return kp_fail_in(result == KP_ERROR_SCENE ? KP_ERROR_ARGUMENT : result, "--set %s",
                    kp_sandbox_quote(set, quoted));
}
