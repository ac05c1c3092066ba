// Checks of the program against itself. Bad input is never an assert: it gets a kp_result.
#pragma once

#include "kelpie/base.h"

// Prints the place to the log as an error and traps.
_Noreturn void kp_assert_fail(const char *condition, const char *file, int line);

#define KP_ASSERT(condition)                                                                       \
  ((condition) ? (void)0 : kp_assert_fail(#condition, __FILE__, __LINE__))

#ifdef KP_VALIDATE
#define KP_CHECK(condition) KP_ASSERT(condition)
#else
#define KP_CHECK(condition) ((void)0)
#endif
