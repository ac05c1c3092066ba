#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/timer.h"

#define MESSAGE_SIZE 2048

static const char *const level_names[KP_LOG_LEVEL_COUNT] = { "error", "warning", "info", "debug",
                                                             "trace" };

static void write_to_stderr(kp_log_level level, const char *module, const char *message,
                            void *user) {
  (void)user;
  // one call, so that lines of several threads do not mix
  (void)fprintf(stderr, "%10.3f %s: %s: %s\n", kp_time_now(), module, level_names[level], message);
}

// The hook is set before the first world is made; the level may be read from any thread.
static kp_log_fn sink = write_to_stderr;
static void *sink_user;
static atomic_int sink_level = KP_LOG_WARN;

void kp_set_log(kp_log_fn fn, void *user, kp_log_level level) {
  sink = fn != NULL ? fn : write_to_stderr;
  sink_user = fn != NULL ? user : NULL;
  atomic_store(&sink_level, (int)level);
}

bool kp_log_wants(kp_log_level level) {
  return (int)level <= atomic_load_explicit(&sink_level, memory_order_relaxed);
}

void kp_log(kp_log_level level, const char *module, const char *format, ...) {
  if (!kp_log_wants(level)) {
    return;
  }
  char message[MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  sink(level, module, message, sink_user);
}
