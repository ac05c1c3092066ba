#include "scene/sandbox.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timer.h"

#define HOOK_INTERVAL 100         // instructions; bounds what one check can miss
#define BLOCK_LIMIT (16 << 20)    // bytes; bounds the work of one instruction on one string
#define BYTES_PER_INSTRUCTION 64  // what allocating costs of the allowance
#define BLOCK_COST 64             // bytes a block takes beside its content
#define SMALL_BLOCK 4096  // bytes; such blocks are left to the hook, which can name the line

static double cpu_now(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) {
    return kp_time_now();
  }
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The steady clock is cheap to read; the thread's clock is asked only when that one is over the
// bound, so a busy machine refuses nothing that an idle one accepts.
static bool is_out_of_time(const kp_sandbox *box) {
  return box->instructions < 0 || (kp_time_now() - box->started > box->seconds &&
                                   cpu_now() - box->started_cpu > box->seconds);
}

// Lua asks for a new size and expects that giving memory back never fails.
static void *allocate(void *user, void *block, size_t old_size, size_t size) {
  kp_sandbox *box = user;
  const int64_t before = block != NULL ? (int64_t)old_size + BLOCK_COST : 0;
  if (size == 0) {
    kp_free(block);
    box->bytes -= before;
    return NULL;
  }
  const int64_t after = (int64_t)size + BLOCK_COST;
  if (after > before) {
    box->instructions -= (after - before) / BYTES_PER_INSTRUCTION;
    if (size > BLOCK_LIMIT || box->bytes + after - before > KP_SANDBOX_BYTES) {
      box->hit = KP_SANDBOX_MEMORY;
      return NULL;
    }
    if (size > SMALL_BLOCK && is_out_of_time(box)) {
      box->hit = KP_SANDBOX_TIME;
      return NULL;
    }
  }
  void *moved = kp_realloc(block, size, KP_MEMORY_SCENE);
  if (moved == NULL && after > before) {
    box->hit = KP_SANDBOX_SYSTEM;
    return NULL;
  }
  box->bytes += after - before;
  return moved != NULL ? moved : block;
}

#define TOO_LONG "the scene takes too long: it may use %d million instructions and %d per entity"

static void raise_out_of_time(lua_State *lua) {
  kp_sandbox_of(lua)->hit = KP_SANDBOX_TIME;
  luaL_error(lua, TOO_LONG, (int)(KP_SANDBOX_INSTRUCTIONS / 1000000),
             KP_SANDBOX_ENTITY_INSTRUCTIONS);
}

static void count_hook(lua_State *lua, lua_Debug *place) {
  kp_sandbox *box = kp_sandbox_of(lua);
  box->instructions -= HOOK_INTERVAL;
  if (is_out_of_time(box)) {
    // the hook stands on no level of its own, so the place is put in front by hand
    lua_getinfo(lua, "Sl", place);
    box->hit = KP_SANDBOX_TIME;
    lua_pushfstring(lua, "%s:%d: " TOO_LONG, place->short_src, place->currentline,
                    (int)(KP_SANDBOX_INSTRUCTIONS / 1000000), KP_SANDBOX_ENTITY_INSTRUCTIONS);
    lua_error(lua);
  }
}

kp_sandbox *kp_sandbox_of(lua_State *lua) {
  kp_sandbox *box;
  memcpy(&box, lua_getextraspace(lua), sizeof box);
  return box;
}

void kp_sandbox_charge(lua_State *lua, int64_t n) {
  kp_sandbox *box = kp_sandbox_of(lua);
  box->instructions -= n;
  if (is_out_of_time(box)) {
    raise_out_of_time(lua);
  }
}

int kp_sandbox_raise(lua_State *lua, kp_result code) {
  kp_sandbox_of(lua)->code = code;
  luaL_where(lua, 1);
  lua_pushstring(lua, kp_last_error());
  lua_concat(lua, 2);
  return lua_error(lua);
}

void kp_sandbox_where(lua_State *lua, int level, char out[KP_SANDBOX_WHERE_SIZE]) {
  lua_Debug place;
  if (lua_getstack(lua, level, &place) == 0) {
    kp_text_copy(out, KP_SANDBOX_WHERE_SIZE, kp_sandbox_of(lua)->name);
    return;
  }
  lua_getinfo(lua, "Sl", &place);
  (void)snprintf(out, KP_SANDBOX_WHERE_SIZE, "%s:%d", place.short_src, place.currentline);
}

static void drop_controls(char *text) {
  for (; *text != '\0'; ++text) {
    unsigned char c = (unsigned char)*text;
    *text = c < 0x20 || c == 0x7f ? '?' : *text;
  }
}

const char *kp_sandbox_quote(const char *text, char out[KP_SANDBOX_WHERE_SIZE]) {
  kp_text_copy(out, KP_SANDBOX_WHERE_SIZE, text);
  if (strlen(text) >= KP_SANDBOX_WHERE_SIZE) {
    kp_text_copy(out + KP_SANDBOX_WHERE_SIZE - 4, 4, "...");
  }
  drop_controls(out);
  return out;
}

void kp_sandbox_allow(kp_sandbox *box, int64_t instructions, double seconds) {
  box->instructions = instructions;
  box->seconds = seconds;
  box->started = kp_time_now();
  box->started_cpu = cpu_now();
}

void kp_sandbox_grant(kp_sandbox *box, int64_t instructions, double seconds) {
  box->instructions += instructions;
  box->seconds += seconds;
}

static kp_result memory_sentence(const kp_sandbox *box) {
  switch (box->hit) {
  case KP_SANDBOX_SYSTEM:
    return kp_fail(KP_ERROR_MEMORY, "%s: no memory to read the scene", box->name);
  case KP_SANDBOX_TIME:
    return kp_fail(KP_ERROR_SCENE, "%s: the scene takes too long", box->name);
  default:
    return kp_fail(KP_ERROR_SCENE,
                   "%s: the scene needs too much memory: it may use %d MB, and %d MB at once",
                   box->name, (int)(KP_SANDBOX_BYTES >> 20), BLOCK_LIMIT >> 20);
  }
}

// Does the sentence begin with a place, "scene.lua:12:"?
static bool has_place(const char *sentence) {
  const char *colon = strchr(sentence, ':');
  size_t n_digits = colon != NULL ? strspn(colon + 1, "0123456789") : 0;
  return n_digits > 0 && colon[1 + n_digits] == ':';
}

// Code that was loaded without memory left hands the message on as an error of another kind; a
// scene that says these words itself has reached no bound.
static bool is_out_of_memory(kp_sandbox *box, int status) {
  return status == LUA_ERRMEM ||
         (box->hit != KP_SANDBOX_NONE && lua_type(box->lua, -1) == LUA_TSTRING &&
          strcmp(lua_tostring(box->lua, -1), "not enough memory") == 0);
}

static kp_result translate(kp_sandbox *box, int status) {
  if (is_out_of_memory(box, status)) {
    return memory_sentence(box);
  }
  kp_result code = box->code != KP_OK ? box->code : KP_ERROR_SCENE;
  if (lua_type(box->lua, -1) != LUA_TSTRING) {
    return kp_fail(code, "%s: the scene raised an error that is no text but a %s", box->name,
                   luaL_typename(box->lua, -1));
  }
  char sentence[1024];
  kp_text_copy(sentence, sizeof sentence, lua_tostring(box->lua, -1));
  drop_controls(sentence);
  return has_place(sentence) ? kp_fail(code, "%s", sentence)
                             : kp_fail(code, "%s: %s", box->name, sentence);
}

kp_result kp_sandbox_run(kp_sandbox *box, lua_CFunction fn, void *argument) {
  lua_State *lua = box->lua;
  box->hit = KP_SANDBOX_NONE;
  box->code = KP_OK;
  // neither push can raise: the stack has room, and light functions and pointers need no memory
  lua_settop(lua, 0);
  lua_pushcfunction(lua, fn);
  lua_pushlightuserdata(lua, argument);
  int status = lua_pcall(lua, 1, 0, 0);
  kp_result result = status == LUA_OK ? KP_OK : translate(box, status);
  lua_settop(lua, 0);
  return result;
}

static int open_sandbox(lua_State *lua) {
  kp_sandbox_open(lua);
  return 0;
}

kp_result kp_sandbox_create(kp_sandbox *box, const char *name, void *user) {
  *box = (kp_sandbox){ .name = name, .user = user };
  kp_sandbox_allow(box, KP_SANDBOX_INSTRUCTIONS, KP_SANDBOX_SECONDS);
  box->lua = lua_newstate(allocate, box);
  if (box->lua == NULL) {
    return kp_fail(KP_ERROR_MEMORY, "%s: no memory to read the scene", name);
  }
  memcpy(lua_getextraspace(box->lua), &box, sizeof box);
  lua_sethook(box->lua, count_hook, LUA_MASKCOUNT, HOOK_INTERVAL);
  kp_result result = kp_sandbox_run(box, open_sandbox, NULL);
  if (result != KP_OK) {
    kp_sandbox_destroy(box);
  }
  return result;
}

void kp_sandbox_destroy(kp_sandbox *box) {
  if (box->lua != NULL) {
    lua_close(box->lua);
    box->lua = NULL;
    KP_CHECK(box->bytes == 0);
  }
}
