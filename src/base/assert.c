#include "base/assert.h"

#include <stdlib.h>

#include "base/log.h"

_Noreturn void kp_assert_fail(const char *condition, const char *file, int line) {
  kp_log(KP_LOG_ERROR, "assert", "%s:%d: not true: %s", file, line, condition);
  abort();
}
