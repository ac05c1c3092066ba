// Result codes, messages and hooks shared by the whole library.
//
// Every function that can fail for reasons outside the program (files, scenes, memory, devices)
// returns kp_result. The sentence that explains a failure is kept per thread: kp_last_error.
// The library never exits, and prints nothing but what goes through the log hook (stderr unless
// replaced). Its only mutable global state are the two hooks below, to be set before the first
// world is made.
#pragma once

#include "kelpie/config.h"

#ifdef __cplusplus
extern "C" {
#endif

// code, exit status of the command line program, general sentence
#define KP_RESULTS(X)                                                                              \
  X(KP_OK, 0, "done")                                                                              \
  X(KP_ERROR_INTERNAL, 1, "internal error")                                                        \
  X(KP_ERROR_MEMORY, 1, "out of memory")                                                           \
  X(KP_ERROR_ARGUMENT, 2, "wrong argument")                                                        \
  X(KP_ERROR_SCENE, 3, "scene refused")                                                            \
  X(KP_ERROR_PHYSICS, 4, "physics stopped the run")                                                \
  X(KP_ERROR_IO, 5, "input or output failed")                                                      \
  X(KP_ERROR_FORMAT, 5, "file is damaged or of another kind")                                      \
  X(KP_ERROR_BACKEND, 6, "backend is missing")                                                     \
  X(KP_STOPPED, 75, "stopped on request")

typedef enum kp_result {
#define X(code, status, text) code,
  KP_RESULTS(X)
#undef X
      KP_RESULT_COUNT
} kp_result;

// The sentence of this thread's last failure; "" when there was none. Valid until the next failure.
KP_API const char *kp_last_error(void);

// Name ("KP_ERROR_IO"), general sentence and exit status of a code.
KP_API const char *kp_result_name(kp_result code);
KP_API const char *kp_result_text(kp_result code);
KP_API int kp_result_status(kp_result code);

typedef enum kp_log_level {
  KP_LOG_ERROR,
  KP_LOG_WARN,
  KP_LOG_INFO,
  KP_LOG_DEBUG,
  KP_LOG_TRACE,
  KP_LOG_LEVEL_COUNT
} kp_log_level;

// Called for every message at or above the chosen level. May be called from any thread.
typedef void (*kp_log_fn)(kp_log_level level, const char *module, const char *message, void *user);

// Replace the log sink (NULL restores stderr) and the level.
KP_API void kp_set_log(kp_log_fn fn, void *user, kp_log_level level);

// Allocator hook: alignment is a power of two; free gets the size back.
typedef void *(*kp_alloc_fn)(size_t size, size_t alignment, void *user);
typedef void (*kp_free_fn)(void *memory, size_t size, void *user);
KP_API void kp_set_allocator(kp_alloc_fn alloc_fn, kp_free_fn free_fn, void *user);

// Bytes now held by the library, and the number of allocations made since the start.
KP_API int64_t kp_memory_bytes(void);
KP_API int64_t kp_memory_allocations(void);

#ifdef __cplusplus
}
#endif
