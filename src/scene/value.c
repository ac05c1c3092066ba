// One Lua value becomes one member of a def. Nothing here raises but for want of memory.
#include <math.h>
#include <string.h>

#include "geom/shape.h"
#include "scene/scene_state.h"

#define SHAPE_CLASS "kelpie shape"

static kp_result wrong_type(lua_State *lua, int index, const char *key, const char *wanted) {
  return kp_fail(KP_ERROR_SCENE, "%s must be %s, not a %s", key, wanted, luaL_typename(lua, index));
}

static kp_result read_number(lua_State *lua, int index, const char *key, double *out) {
  if (lua_type(lua, index) != LUA_TNUMBER) {
    return wrong_type(lua, index, key, "a number");
  }
  double value = lua_tonumber(lua, index);
  if (!isfinite(value)) {
    return kp_fail(KP_ERROR_SCENE, "%s is %s, which is no number", key,
                   isnan(value) ? "NaN" : "infinite");
  }
  *out = value;
  return KP_OK;
}

// A number or, where the default is to choose, the word "auto".
static kp_result read_real(lua_State *lua, int index, const char *key, double standard,
                           double *out) {
  if (isnan(standard) && lua_type(lua, index) == LUA_TSTRING) {
    if (strcmp(lua_tostring(lua, index), "auto") == 0) {
      *out = KP_AUTO;
      return KP_OK;
    }
    return wrong_type(lua, index, key, "a number or \"auto\"");
  }
  return read_number(lua, index, key, out);
}

static kp_result read_integer(lua_State *lua, int index, const char *key, int64_t *out) {
  double value = 0.0;
  KP_TRY(read_number(lua, index, key, &value));
  int is_integer = 0;
  lua_Integer integer = lua_tointegerx(lua, index, &is_integer);
  if (!is_integer) {
    return kp_fail(KP_ERROR_SCENE, "%s = %.10g must be a whole number", key, value);
  }
  *out = integer;
  return KP_OK;
}

kp_result kp_scene_read_vector(lua_State *lua, int index, const char *key, double out[3]) {
  if (lua_type(lua, index) != LUA_TTABLE) {
    return wrong_type(lua, index, key, "a vector {x, y, z}");
  }
  size_t n = (size_t)lua_rawlen(lua, index), n_members = 0;
  index = lua_absindex(lua, index);
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
    ++n_members;
  }
  if (n != n_members || (n != 2 && n != 3)) {
    return kp_fail(KP_ERROR_SCENE, "%s must be a vector {x, y, z}, not a table of %zu values", key,
                   n_members);
  }
  double values[3] = { 0.0, 0.0, 0.0 };
  for (size_t i = 0; i < n; ++i) {
    lua_rawgeti(lua, index, (lua_Integer)i + 1);
    kp_result result = read_number(lua, -1, key, &values[i]);
    lua_pop(lua, 1);
    KP_TRY(result);
  }
  // whether two numbers are enough is known when the domain is
  kp_scene *scene = kp_scene_of(lua);
  if (n == 2 && scene->flat_vector[0] == '\0') {
    kp_sandbox_where(lua, 1, scene->flat_vector);
  }
  memcpy(out, values, sizeof values);
  return KP_OK;
}

static kp_result read_word(lua_State *lua, int index, const kp_param *row, int *out) {
  if (lua_type(lua, index) != LUA_TSTRING) {
    return wrong_type(lua, index, row->key, "a word in quotes");
  }
  size_t length, n = 0;
  const char *word = lua_tolstring(lua, index, &length);
  for (; row->names[n] != NULL; ++n) {
    if (strlen(row->names[n]) == length && memcmp(row->names[n], word, length) == 0) {
      *out = (int)n;
      return KP_OK;
    }
  }
  return kp_scene_unknown(row->key, word, row->names, n);
}

static kp_result read_text(lua_State *lua, int index, const kp_param *row, char *out) {
  if (lua_type(lua, index) != LUA_TSTRING) {
    return wrong_type(lua, index, row->key, "a text in quotes");
  }
  size_t length;
  const char *text = lua_tolstring(lua, index, &length);
  if (length >= row->size) {
    return kp_fail(KP_ERROR_SCENE, "%s has %zu characters, of at most %zu", row->key, length,
                   row->size - 1);
  }
  for (size_t i = 0; i < length; ++i) {
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
      return kp_fail(KP_ERROR_SCENE, "%s holds a control character", row->key);
    }
  }
  memset(out, 0, row->size);
  memcpy(out, text, length);
  return KP_OK;
}

static kp_result read_shape(lua_State *lua, int index, const char *key, kp_shape_def *out) {
  const kp_shape_def *shape = luaL_testudata(lua, index, SHAPE_CLASS);
  if (shape == NULL) {
    return wrong_type(lua, index, key, "a shape such as box { min = {...}, max = {...} }");
  }
  *out = *shape;
  return KP_OK;
}

static kp_result read_curve(lua_State *lua, int index, const kp_param *row, kp_curve *out) {
  kp_curve curve = { .components = row->type == KP_PARAM_CURVE ? 1 : 3 };
  KP_TRY(row->type == KP_PARAM_CURVE ? read_number(lua, index, row->key, curve.constant)
                                     : kp_scene_read_vector(lua, index, row->key, curve.constant));
  *out = curve;
  return KP_OK;
}

kp_result kp_scene_read_value(lua_State *lua, int index, const kp_param *row, const void *standard,
                              void *member) {
  switch (row->type) {
  case KP_PARAM_REAL:
    return read_real(lua, index, row->key, *(const double *)standard, member);
  case KP_PARAM_INT:
    return read_integer(lua, index, row->key, member);
  case KP_PARAM_BOOL:
    if (lua_type(lua, index) != LUA_TBOOLEAN) {
      return wrong_type(lua, index, row->key, "true or false");
    }
    *(bool *)member = lua_toboolean(lua, index) != 0;
    return KP_OK;
  case KP_PARAM_VEC3:
    return kp_scene_read_vector(lua, index, row->key, member);
  case KP_PARAM_PLACE3:
    *KP_PARAM_LATTICE(member) = (kp_vec_lattice){ 0 };
    return kp_scene_read_vector(lua, index, row->key, member);
  case KP_PARAM_ENUM:
    return read_word(lua, index, row, member);
  case KP_PARAM_TEXT:
    return read_text(lua, index, row, member);
  case KP_PARAM_CURVE:
  case KP_PARAM_CURVE3:
    return read_curve(lua, index, row, member);
  case KP_PARAM_SHAPE:
    return read_shape(lua, index, row->key, member);
  case KP_PARAM_TYPE_COUNT:
    break;
  }
  return kp_fail(KP_ERROR_INTERNAL, "%s has no type", row->key);
}

// ---- shapes

// Keys that are not in the table; the least of them, so that the message is the same every time.
static kp_result check_keys(lua_State *lua, int index, const kp_param_table *table) {
  const char *unknown = NULL;
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
    if (lua_type(lua, -2) != LUA_TSTRING) {
      return kp_fail(KP_ERROR_SCENE, "a value without a key; write key = value");
    }
    const char *key = lua_tostring(lua, -2);
    if (kp_scene_find_row(table, key) == NULL && (unknown == NULL || strcmp(key, unknown) < 0)) {
      unknown = key;
    }
  }
  return unknown == NULL ? KP_OK : kp_scene_unknown_key(NULL, NULL, table, unknown);
}

static kp_result fill_shape(lua_State *lua, const kp_param_table *table, kp_shape_def *shape) {
  if (lua_type(lua, 1) != LUA_TTABLE) {
    return kp_fail(KP_ERROR_SCENE, "%s is written %s { key = value, ... }", table->name,
                   table->name);
  }
  KP_TRY(check_keys(lua, 1, table));
  const kp_shape_def standard = *shape;
  for (size_t i = 0; i < table->n_rows; ++i) {
    const kp_param *row = &table->rows[i];
    lua_pushstring(lua, row->key);
    if (lua_rawget(lua, 1) != LUA_TNIL) {
      KP_TRY(kp_scene_read_value(lua, -1, row, (const char *)&standard + row->offset,
                                 (char *)shape + row->offset));
    }
    lua_pop(lua, 1);
  }
  return KP_OK;
}

kp_result kp_scene_make_shape(lua_State *lua, const kp_param_table *table) {
  lua_settop(lua, 1);
  kp_shape_def *shape = lua_newuserdatauv(lua, sizeof *shape, 0);
  luaL_newmetatable(lua, SHAPE_CLASS);
  lua_setmetatable(lua, 2);
  memset(shape, 0, sizeof *shape);
  table->set_default(shape);
  kp_result result = fill_shape(lua, table, shape);
  if (result != KP_OK) {
    return kp_fail_in(result, "%s", table->name);
  }
  lua_settop(lua, 2);
  return kp_params_check(table, shape, NULL);
}
