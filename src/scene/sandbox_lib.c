// What a scene may call. Left out is everything that reaches outside (io, os, load), that runs
// without end in C (patterns, table.move), that hides errors (pcall), that lives on (coroutines,
// metatables with finalizers), or whose answer is not the same everywhere (random, next,
// addresses).
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "scene/sandbox.h"

#define TEXT_LIMIT (1 << 20)  // bytes string.rep may make

// ---- what is missing, and why

typedef struct refusal {
  const char *name, *reason;
} refusal;

static const refusal refusals[] = {
  { "collectgarbage", "memory is looked after" },
  { "coroutine", "a scene declares, it does not run" },
  { "debug", "it would open the sandbox" },
  { "dofile", "files cannot be reached; use require" },
  { "getmetatable", "metatables would open the sandbox" },
  { "io", "files cannot be reached" },
  { "load", "code cannot be made from text" },
  { "loadfile", "files cannot be reached; use require" },
  { "loadstring", "code cannot be made from text" },
  { "next", "its order is not the same everywhere; use pairs" },
  { "os", "processes, files and the clock cannot be reached" },
  { "package", "only require is left of it" },
  { "pcall", "errors cannot be hidden" },
  { "rawset", "there are no metatables to go around" },
  { "setmetatable", "metatables would open the sandbox" },
  { "utf8", "text in scenes is plain" },
  { "xpcall", "errors cannot be hidden" },
  { "math.random", "a scene means the same every time" },
  { "math.randomseed", "a scene means the same every time" },
  { "string.dump", "code cannot be made from text" },
  { "string.find", "patterns can run without end" },
  { "string.gmatch", "patterns can run without end" },
  { "string.gsub", "patterns can run without end" },
  { "string.match", "patterns can run without end" },
  { "table.move", "it can run without end" },
};

typedef struct nearest_word {
  const char *word, *best;
  int limit;  // letters that may differ
} nearest_word;

// Looks through the names of a table, functions and entities alike.
static void look_through(lua_State *lua, int table, nearest_word *nearest) {
  if (nearest->limit < 0) {
    return;  // nothing is near to a single letter
  }
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    if (lua_type(lua, -2) == LUA_TSTRING) {
      const char *name = lua_tostring(lua, -2);
      int distance = kp_text_distance(nearest->word, name, nearest->limit);
      // the order of lua_next is chance; the smaller word wins a tie
      bool is_better =
          distance <= nearest->limit &&
          (nearest->best == NULL || distance < nearest->limit || strcmp(name, nearest->best) < 0);
      if (is_better) {
        nearest->best = name;
        nearest->limit = distance;
      }
    }
    lua_pop(lua, 1);
  }
}

// The nearest name of the table at index 1 or, for a global word, of the scene's own globals.
static const char *nearest_name(lua_State *lua, const char *word, bool is_global) {
  nearest_word nearest = { word, NULL, kp_text_reach(word) };
  look_through(lua, 1, &nearest);
  if (is_global) {
    lua_rawgeti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    look_through(lua, lua_gettop(lua), &nearest);
    lua_pop(lua, 1);
  }
  return nearest.best;
}

// __index of the globals and the library tables; upvalue 1 is "" or "math." and so on.
static int missing_word(lua_State *lua) {
  if (lua_type(lua, 2) != LUA_TSTRING) {
    return 0;
  }
  const char *prefix = lua_tostring(lua, lua_upvalueindex(1));
  char quoted[KP_SANDBOX_WHERE_SIZE];
  const char *word = kp_sandbox_quote(lua_tostring(lua, 2), quoted);
  const char *full = lua_pushfstring(lua, "%s%s", prefix, word);
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i) {
    if (strcmp(refusals[i].name, full) == 0) {
      return luaL_error(lua, "'%s' is not available in scenes: %s", full, refusals[i].reason);
    }
  }
  const char *nearest = nearest_name(lua, word, prefix[0] == '\0');
  if (nearest != NULL) {
    return luaL_error(lua, "unknown word '%s', did you mean '%s%s'?", full, prefix, nearest);
  }
  return luaL_error(lua, "unknown word '%s'", full);
}

// __newindex of the globals; upvalue: the words of the language. A word that is given a value would
// be lost without a sign that nothing was declared.
static int assign_global(lua_State *lua) {
  lua_settop(lua, 3);
  lua_pushvalue(lua, 2);
  if (lua_type(lua, 2) == LUA_TSTRING && lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) {
    const char *word = lua_tostring(lua, 2);
    return luaL_error(lua,
                      "'%s' is a word of the scene language and cannot be assigned; an entity is "
                      "written %s { key = value, ... } without '='",
                      word, word);
  }
  lua_settop(lua, 3);
  lua_rawset(lua, 1);
  return 0;
}

// ---- replacements

// Text of a value without addresses, which would differ from run to run.
static const char *plain_text(lua_State *lua, int index) {
  switch (lua_type(lua, index)) {
  case LUA_TNUMBER:
  case LUA_TSTRING:
    lua_pushvalue(lua, index);
    return lua_tostring(lua, -1);
  case LUA_TBOOLEAN:
    return lua_pushstring(lua, lua_toboolean(lua, index) ? "true" : "false");
  default:
    return lua_pushstring(lua, luaL_typename(lua, index));
  }
}

static int lib_tostring(lua_State *lua) {
  luaL_checkany(lua, 1);
  plain_text(lua, 1);
  return 1;
}

static int lib_print(lua_State *lua) {
  int n = lua_gettop(lua);
  luaL_Buffer line;
  luaL_buffinit(lua, &line);
  for (int i = 1; i <= n; ++i) {
    luaL_addstring(&line, i > 1 ? " " : "");
    plain_text(lua, i);
    luaL_addvalue(&line);
  }
  luaL_pushresult(&line);
  char where[KP_SANDBOX_WHERE_SIZE], text[KP_SANDBOX_WHERE_SIZE];
  kp_sandbox_where(lua, 1, where);
  kp_log(KP_LOG_INFO, "scene", "%s: %s", where, kp_sandbox_quote(lua_tostring(lua, -1), text));
  return 0;
}

// As assert, but the message carries the line.
static int lib_assert(lua_State *lua) {
  luaL_checkany(lua, 1);
  if (lua_toboolean(lua, 1)) {
    return lua_gettop(lua);
  }
  return luaL_error(lua, "%s", luaL_optstring(lua, 2, "assertion failed"));
}

static int lib_rep(lua_State *lua) {
  size_t length, n_between;
  const char *text = luaL_checklstring(lua, 1, &length);
  lua_Integer n = luaL_checkinteger(lua, 2);
  const char *between = luaL_optlstring(lua, 3, "", &n_between);
  if (n > 0 && (length + n_between) > 0 && n > (lua_Integer)(TEXT_LIMIT / (length + n_between))) {
    return luaL_error(lua, "string.rep would make more than %d bytes", TEXT_LIMIT);
  }
  luaL_Buffer out;
  luaL_buffinit(lua, &out);
  for (lua_Integer i = 0; i < n; ++i) {
    luaL_addlstring(&out, between, i > 0 ? n_between : 0);
    luaL_addlstring(&out, text, length);
  }
  luaL_pushresult(&out);
  return 1;
}

// string.format for plain values, without %p.
static int lib_format(lua_State *lua) {
  const char *format = luaL_checkstring(lua, 1);
  for (const char *p = strchr(format, '%'); p != NULL; p = strchr(p, '%')) {
    p += 1 + strspn(p + 1, "-+ #0123456789.");
    if (*p == 'p') {
      return luaL_error(lua, "string.format: %%p is not the same everywhere");
    }
    p += *p != '\0';
  }
  for (int i = 2, n = lua_gettop(lua); i <= n; ++i) {
    int type = lua_type(lua, i);
    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TBOOLEAN && type != LUA_TNIL) {
      return luaL_error(lua, "string.format: a %s cannot be written", luaL_typename(lua, i));
    }
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, 1);
  return 1;
}

// table.insert and table.remove shift what lies behind, so they cost the length of the table.
static int lib_charged(lua_State *lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  kp_sandbox_charge(lua, (int64_t)lua_rawlen(lua, 1));
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

// ---- pairs in key order

typedef struct sort_key {
  const char *text;  // NULL: a number
  size_t length;
  lua_Number number;
  lua_Integer integer;  // tells numbers apart that are equal as lua_Number
} sort_key;

static int compare_keys(const void *a, const void *b) {
  const sort_key *x = a, *y = b;
  if ((x->text == NULL) != (y->text == NULL)) {
    return x->text == NULL ? -1 : 1;
  }
  if (x->text == NULL) {
    if (x->number != y->number) {
      return x->number < y->number ? -1 : 1;
    }
    return (x->integer > y->integer) - (x->integer < y->integer);
  }
  size_t shorter = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->text, y->text, shorter);
  return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

static int iterate(lua_State *lua) {
  lua_Integer i = lua_tointeger(lua, lua_upvalueindex(3));
  // keys that were removed meanwhile are passed over
  while (lua_rawgeti(lua, lua_upvalueindex(2), ++i) != LUA_TNIL) {
    lua_pushvalue(lua, -1);
    if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) {
      lua_pushinteger(lua, i);
      lua_replace(lua, lua_upvalueindex(3));
      return 2;
    }
    lua_pop(lua, 2);
  }
  return 1;
}

static int lib_pairs(lua_State *lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 1);
  size_t n = 0;
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    ++n;
  }
  kp_sandbox_charge(lua, (int64_t)n * 8);

  // the strings stay alive in the table; the array is garbage of the sandbox, so raising leaks
  // nothing
  sort_key *keys = lua_newuserdatauv(lua, (n + 1) * sizeof *keys, 0);
  size_t i = 0;
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    sort_key *key = &keys[i++];
    memset(key, 0, sizeof *key);
    if (lua_type(lua, -2) == LUA_TSTRING) {
      key->text = lua_tolstring(lua, -2, &key->length);
    } else if (lua_type(lua, -2) == LUA_TNUMBER) {
      key->number = lua_tonumber(lua, -2);
      key->integer = lua_isinteger(lua, -2) ? lua_tointeger(lua, -2) : 0;
    } else {
      return luaL_error(lua, "pairs: keys must be numbers or text, not a %s",
                        luaL_typename(lua, -2));
    }
  }
  qsort(keys, n, sizeof *keys, compare_keys);

  // closure (table, sorted keys, position)
  lua_pushvalue(lua, 1);
  lua_createtable(lua, (int)n, 0);
  for (i = 0; i < n; ++i) {
    if (keys[i].text != NULL) {
      lua_pushlstring(lua, keys[i].text, keys[i].length);
    } else if (keys[i].integer != 0 || keys[i].number == 0.0) {
      lua_pushinteger(lua, keys[i].integer);
    } else {
      lua_pushnumber(lua, keys[i].number);
    }
    lua_rawseti(lua, -2, (lua_Integer)i + 1);
  }
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, iterate, 3);
  return 1;
}

// ---- sort: stable, since the library's own draws its pivots from the clock

// Is element a before element b? Both are on the stack; index 2 is the order function or nil.
static bool is_before(lua_State *lua, int a, int b) {
  if (lua_isnil(lua, 2)) {
    return lua_compare(lua, a, b, LUA_OPLT) != 0;
  }
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, a);
  lua_pushvalue(lua, b);
  lua_call(lua, 2, 1);
  bool answer = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 1);
  return answer;
}

// Merge the runs [low, middle) and [middle, high) of table `from` into table `to`.
static void merge_runs(lua_State *lua, int from, int to, lua_Integer low, lua_Integer middle,
                       lua_Integer high) {
  lua_Integer left = low, right = middle;
  for (lua_Integer k = low; k < high; ++k) {
    bool take_right = left >= middle;
    if (!take_right && right < high) {
      lua_rawgeti(lua, from, left);
      lua_rawgeti(lua, from, right);
      take_right = is_before(lua, lua_gettop(lua), lua_gettop(lua) - 1);
      lua_pop(lua, 2);
    }
    lua_rawgeti(lua, from, take_right ? right++ : left++);
    lua_rawseti(lua, to, k);
  }
}

static int lib_sort(lua_State *lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (!lua_isnoneornil(lua, 2)) {
    luaL_checktype(lua, 2, LUA_TFUNCTION);
  }
  lua_settop(lua, 2);
  const lua_Integer n = (lua_Integer)lua_rawlen(lua, 1);
  lua_newtable(lua);
  int from = 1, to = 3;
  for (lua_Integer width = 1; width < n; width *= 2) {
    kp_sandbox_charge(lua, n * 4);
    for (lua_Integer low = 1; low <= n; low += 2 * width) {
      lua_Integer middle = low + width <= n + 1 ? low + width : n + 1;
      lua_Integer high = low + 2 * width <= n + 1 ? low + 2 * width : n + 1;
      merge_runs(lua, from, to, low, middle, high);
    }
    int other = from;
    from = to;
    to = other;
  }
  for (lua_Integer i = 1; from != 1 && i <= n; ++i) {
    lua_rawgeti(lua, from, i);
    lua_rawseti(lua, 1, i);
  }
  return 0;
}

// ---- putting it together

static const char *const base_names[] = { "error", "ipairs", "select", "tonumber", "type", NULL };
static const char *const math_names[] = {
  "abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
  "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
  "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult",        NULL,
};
static const char *const string_names[] = { "byte",  "char",    "len", "lower",
                                            "upper", "reverse", "sub", NULL };
static const char *const table_names[] = { "concat", "pack", "unpack", NULL };

// Copy the named members of the table on top of the stack to the table below it.
static void take(lua_State *lua, const char *const *names) {
  for (; *names != NULL; ++names) {
    lua_getfield(lua, -1, *names);
    lua_setfield(lua, -3, *names);
  }
}

// table.name = fn, with the library's own `original` (or nil) as upvalue.
static void replace(lua_State *lua, const char *name, lua_CFunction fn) {
  lua_getfield(lua, -1, name);
  lua_pushcclosure(lua, fn, 1);
  lua_setfield(lua, -3, name);
}

// Reading what is not in the table on top of the stack raises a sentence.
static void guard(lua_State *lua, const char *prefix) {
  lua_newtable(lua);
  lua_pushstring(lua, prefix);
  lua_pushcclosure(lua, missing_word, 1);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
}

// The library's table on top of the stack becomes our reduced one under the same name.
static void finish_library(lua_State *lua, const char *name, const char *prefix) {
  lua_pop(lua, 1);
  guard(lua, prefix);
  lua_setfield(lua, 1, name);
}

void kp_sandbox_open(lua_State *lua) {
  lua_settop(lua, 0);
  lua_newtable(lua);  // the new globals, index 1

  lua_pushvalue(lua, 1);
  luaL_requiref(lua, "_G", luaopen_base, 0);
  take(lua, base_names);
  replace(lua, "assert", lib_assert);
  replace(lua, "pairs", lib_pairs);
  replace(lua, "print", lib_print);
  replace(lua, "tostring", lib_tostring);
  lua_pop(lua, 2);

  lua_newtable(lua);
  luaL_requiref(lua, "math", luaopen_math, 0);
  take(lua, math_names);
  finish_library(lua, "math", "math.");

  lua_newtable(lua);
  luaL_requiref(lua, "string", luaopen_string, 0);
  take(lua, string_names);
  replace(lua, "rep", lib_rep);
  replace(lua, "format", lib_format);
  finish_library(lua, "string", "string.");

  lua_newtable(lua);
  luaL_requiref(lua, "table", luaopen_table, 0);
  take(lua, table_names);
  replace(lua, "insert", lib_charged);
  replace(lua, "remove", lib_charged);
  replace(lua, "sort", lib_sort);
  finish_library(lua, "table", "table.");

  // methods of strings come from the reduced table, and the full libraries are forgotten
  lua_pushliteral(lua, "");
  lua_getmetatable(lua, -1);
  lua_getfield(lua, 1, "string");
  lua_setfield(lua, -2, "__index");
  lua_pop(lua, 2);
  lua_pushnil(lua);
  lua_setfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);

  guard(lua, "");
  lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

void kp_sandbox_close_words(lua_State *lua) {
  lua_newtable(lua);  // the scene's own globals
  lua_newtable(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "__index");
  lua_pushcclosure(lua, assign_global, 1);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}
