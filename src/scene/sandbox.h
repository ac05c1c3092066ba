// A Lua state that can do no harm: no files, processes, clock or chance, bounded time and memory.
//
// What is left of the standard library is listed in sandbox_lib.c. Time is counted in instructions,
// which is the same on every machine, with the thread's processor time as a second bound for the
// few library functions that do much work per instruction. Memory is bounded by the allocator.
// There is no pcall and no metatable within reach of a scene, so neither bound can be caught or
// outlived.
//
// Lua raises errors by longjmp: a C function called from Lua must own nothing when it raises.
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/result.h"

#define KP_SANDBOX_BYTES ((int64_t)256 << 20)
#define KP_SANDBOX_INSTRUCTIONS ((int64_t)50000000)
#define KP_SANDBOX_SECONDS 2.0
// what each entity adds to it, as long as there are not too many
#define KP_SANDBOX_ENTITY_INSTRUCTIONS 2000
#define KP_SANDBOX_ENTITY_SECONDS 1e-4
#define KP_SANDBOX_ENTITIES 250000
#define KP_SANDBOX_WHERE_SIZE 96

typedef enum kp_sandbox_bound {
  KP_SANDBOX_NONE,
  KP_SANDBOX_TIME,
  KP_SANDBOX_MEMORY,
  KP_SANDBOX_SYSTEM,  // the machine itself has no more memory
} kp_sandbox_bound;

typedef struct kp_sandbox {
  lua_State *lua;
  const char *name;  // stands in messages that have no line
  void *user;
  int64_t bytes;         // held now
  int64_t instructions;  // left
  double seconds;        // of processor time allowed
  double started, started_cpu;
  kp_sandbox_bound hit;  // the bound that was reached last
  kp_result code;        // of the error being raised, when it is not the scene's fault
} kp_sandbox;

// `name` must outlive the sandbox.
KP_NODISCARD kp_result kp_sandbox_create(kp_sandbox *box, const char *name, void *user);
void kp_sandbox_destroy(kp_sandbox *box);

// A new allowance, counted from now.
void kp_sandbox_allow(kp_sandbox *box, int64_t instructions, double seconds);

// More of the same allowance.
void kp_sandbox_grant(kp_sandbox *box, int64_t instructions, double seconds);

// Calls fn under protection with `argument` as light userdata at index 1. Whatever it raises
// becomes this thread's error sentence; the code is KP_ERROR_SCENE unless kp_sandbox_raise gave
// another.
KP_NODISCARD kp_result kp_sandbox_run(kp_sandbox *box, lua_CFunction fn, void *argument);

// ---- for C functions called from Lua

kp_sandbox *kp_sandbox_of(lua_State *lua);

// Takes n instructions off the allowance; raises when it is used up.
void kp_sandbox_charge(lua_State *lua, int64_t n);

// Raise this thread's error sentence with the place of the caller before it.
int kp_sandbox_raise(lua_State *lua, kp_result code);

// "scene.lua:12", the place of the function at this level of the stack (1: the caller).
void kp_sandbox_where(lua_State *lua, int level, char out[KP_SANDBOX_WHERE_SIZE]);

// A string of the scene as it can stand in a message: no control characters, not too long.
const char *kp_sandbox_quote(const char *text, char out[KP_SANDBOX_WHERE_SIZE]);

// ---- sandbox_lib.c

// Fills the globals; unprotected, so call it inside kp_sandbox_run.
void kp_sandbox_open(lua_State *lua);

// What is global by now becomes the words of the language, which a scene may hide by locals only.
void kp_sandbox_close_words(lua_State *lua);
