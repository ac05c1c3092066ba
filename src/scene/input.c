// The files a scene is made of. None of them may lie outside the scene's folder.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "geom/shape.h"
#include "io/files.h"
#include "scene/scene_state.h"

#define MODULES "kelpie modules"
#define MODULE_LIMIT ((size_t)1 << 20)  // bytes
#define PATH_SIZE 2048
#define MEMORY_SHARE 0.25  // that one file of a scene may have

kp_result kp_scene_add_input(kp_scene *scene, const char *name, uint64_t hash) {
  for (size_t i = 0; i < scene->inputs.count; ++i) {
    if (strcmp(scene->inputs.data[i].name, name) == 0) {
      return KP_OK;
    }
  }
  kp_scene_input input = { kp_strdup(name, KP_MEMORY_SCENE), hash };
  if (input.name == NULL || kp_array_push(&scene->inputs, input) != KP_OK) {
    kp_free(input.name);
    return KP_ERROR_MEMORY;
  }
  return KP_OK;
}

// ---- files that parameters name: the one door

static bool has_parent_part(const char *file) {
  for (const char *part = file; part != NULL; part = strchr(part, '/')) {
    part += *part == '/';
    if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0')) {
      return true;
    }
  }
  return false;
}

// Inside the folder, a regular file, not too large. `what` names the parameter.
static kp_result check_file(const kp_scene *scene, const char *what, const char *file,
                            char path[PATH_SIZE]) {
  uint64_t n_bytes;
  if (file[0] == '/' || !kp_path_inside(scene->folder, file)) {
    return kp_fail(KP_ERROR_SCENE, "%s: '%s' lies outside the scene's folder", what, file);
  }
  // the folder of a run keeps a copy under the same name, which must not lead elsewhere
  if (has_parent_part(file)) {
    return kp_fail(KP_ERROR_SCENE, "%s: '%s' lies in the scene's folder; name it without '..'",
                   what, file);
  }
  KP_TRY(kp_path_join(path, PATH_SIZE, scene->folder, file));
  if (kp_file_size(path, &n_bytes) != KP_OK) {
    return kp_fail(KP_ERROR_SCENE, "%s: there is no file '%s' in the scene's folder", what, file);
  }
  if (!kp_file_exists(path)) {
    return kp_fail(KP_ERROR_SCENE, "%s: '%s' is no regular file", what, file);
  }
  // what is read of it takes more memory than the file
  double most = fmin((double)KP_INPUT_LIMIT, MEMORY_SHARE * kp_memory_limit());
  return (double)n_bytes <= most
             ? KP_OK
             : kp_fail(KP_ERROR_SCENE, "%s: '%s' has %.3g GB, of at most %.3g GB", what, file,
                       (double)n_bytes / 1e9, most / 1e9);
}

static kp_result add_file(kp_scene *scene, const char *what, const char *file) {
  char path[PATH_SIZE];
  uint64_t hash;
  KP_TRY(check_file(scene, what, file, path));
  KP_TRY(kp_file_hash(path, &hash));
  return kp_scene_add_input(scene, file, hash);
}

// The files of a name with a *.
static kp_result add_each(kp_scene *scene, const kp_param *row, const char *file,
                          const char *star) {
  for (size_t i = 0; row->names[i] != NULL; ++i) {
    char name[2 * KP_TEXT_SIZE];
    (void)snprintf(name, sizeof name, "%.*s%s%s", (int)(star - file), file, row->names[i],
                   star + 1);
    KP_TRY(add_file(scene, row->key, name));
  }
  return KP_OK;
}

// TetGen's meshes are two files, of which a scene names one.
static kp_result add_tetgen(kp_scene *scene, const char *what, const char *file, size_t stem) {
  static const char *const endings[] = { ".node", ".ele" };
  for (int k = 0; k < 2; ++k) {
    char name[KP_TEXT_SIZE + 8];
    (void)snprintf(name, sizeof name, "%.*s%s", (int)stem, file, endings[k]);
    KP_TRY(add_file(scene, what, name));
  }
  return KP_OK;
}

static kp_result add_named(kp_scene *scene, const char *what, const kp_param *row,
                           const char *file) {
  const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
  const char *star = row->names != NULL ? strchr(slash != NULL ? slash : file, '*') : NULL;
  if (file[0] == '\0') {
    return KP_OK;
  }
  if (star != NULL) {
    return add_each(scene, row, file, star);
  }
  bool is_tetgen = dot != NULL && (strcmp(dot, ".node") == 0 || strcmp(dot, ".ele") == 0);
  return is_tetgen ? add_tetgen(scene, what, file, (size_t)(dot - file))
                   : add_file(scene, what, file);
}

static kp_result add_files_of(kp_scene *scene, const kp_param_table *table, const char *what,
                              const char *def) {
  for (size_t i = 0; i < table->n_rows; ++i) {
    const kp_param *row = &table->rows[i];
    const void *value = def + row->offset;
    if (row->type == KP_PARAM_TEXT && strcmp(row->unit, KP_PARAM_FILE_UNIT) == 0) {
      KP_TRY(add_named(scene, what != NULL ? what : row->key, row, value));
    } else if (row->type == KP_PARAM_SHAPE) {
      size_t n;
      const kp_shape_def *shape = value;
      const kp_param_table *inner = kp_shape_tables(&n)[shape->kind];
      KP_TRY(add_files_of(scene, inner, inner->name, value));
    }
  }
  return KP_OK;
}

kp_result kp_scene_add_files(kp_scene *scene) {
  for (size_t i = 0; i < scene->entities.count; ++i) {
    const kp_scene_entity *entity = scene->entities.data[i];
    kp_result result = add_files_of(scene, entity->kind->table, NULL, entity->def);
    if (result != KP_OK && entity->kind->is_named) {
      return kp_fail_in(result, "%s: %s \"%s\"", entity->where, entity->kind->word, entity->name);
    }
    if (result != KP_OK) {
      return kp_fail_in(result, "%s: %s", entity->where, entity->kind->word);
    }
  }
  return KP_OK;
}

// ---- require

// "lib.tank" is lib/tank.lua in the scene's folder.
static kp_result module_file(const kp_scene *scene, const char *name, size_t length,
                             char file[KP_TEXT_SIZE]) {
  const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  char quoted[KP_SANDBOX_WHERE_SIZE];
  kp_sandbox_quote(name, quoted);
  // a zero byte inside is no letter either
  if (length == 0 || length + 5 > KP_TEXT_SIZE || strspn(name, letters) != length) {
    return kp_fail(KP_ERROR_SCENE, "require: '%s' is no name of a module", quoted);
  }
  bool climbs = name[0] == '/' || name[0] == '.' || strstr(name, "..") != NULL;
  (void)snprintf(file, KP_TEXT_SIZE, "%s.lua", name);
  for (size_t i = 0; i < length; ++i) {
    file[i] = name[i] == '.' ? '/' : name[i];
  }
  if (climbs || !kp_path_inside(scene->folder, file)) {
    return kp_fail(KP_ERROR_SCENE, "require: '%s' lies outside the scene's folder", quoted);
  }
  return KP_OK;
}

// The chunk, compiled, on top of the stack. The bytes are given back before anything can raise.
static kp_result load_module(lua_State *lua, const char *file) {
  kp_scene *scene = kp_scene_of(lua);
  char path[PATH_SIZE];
  KP_TRY(kp_path_join(path, sizeof path, scene->folder, file));
  if (!kp_file_exists(path)) {
    return kp_fail(KP_ERROR_SCENE, "require: there is no file '%s' in the scene's folder", file);
  }
  const char *chunk = lua_pushfstring(lua, "@%s", file);
  char *text = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_file_read(path, MODULE_LIMIT, &text, &n_bytes));
  uint64_t hash = kp_hash_bytes(text, n_bytes, 0);
  int status = luaL_loadbufferx(lua, text, n_bytes, chunk, "t");
  kp_free(text);
  if (status == LUA_ERRMEM && kp_sandbox_of(lua)->hit == KP_SANDBOX_SYSTEM) {
    (void)lua_error(lua);
  }
  if (status == LUA_ERRMEM) {
    return kp_fail(KP_ERROR_SCENE, "require: '%s' needs too much memory", file);
  }
  if (status != LUA_OK) {
    return kp_fail(KP_ERROR_SCENE, "require: %s", lua_tostring(lua, -1));
  }
  return kp_scene_add_input(scene, file, hash);
}

int kp_scene_require(lua_State *lua) {
  if (kp_scene_of(lua)->is_closed) {
    return luaL_error(lua, "require can only be used while the scene is read");
  }
  char file[KP_TEXT_SIZE];
  size_t length;
  const char *name = luaL_checklstring(lua, 1, &length);
  kp_result result = module_file(kp_scene_of(lua), name, length, file);
  if (result != KP_OK) {
    return kp_sandbox_raise(lua, result);
  }
  // what a module returned is kept; false marks one that is still being read
  luaL_getsubtable(lua, LUA_REGISTRYINDEX, MODULES);
  int modules = lua_gettop(lua);
  int type = lua_getfield(lua, modules, file);
  if (type == LUA_TBOOLEAN && !lua_toboolean(lua, -1)) {
    return luaL_error(lua, "require: '%s' requires itself", file);
  }
  if (type != LUA_TNIL) {
    return 1;
  }
  lua_pushboolean(lua, 0);
  lua_setfield(lua, modules, file);
  result = load_module(lua, file);
  if (result != KP_OK) {
    return kp_sandbox_raise(lua, result);
  }
  lua_call(lua, 0, 1);
  if (!lua_toboolean(lua, -1)) {
    lua_pushboolean(lua, 1);
  }
  lua_pushvalue(lua, -1);
  lua_setfield(lua, modules, file);
  return 1;
}
