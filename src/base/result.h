// Failing with a sentence. See kelpie/base.h for the codes.
#pragma once

#include "kelpie/base.h"

// Record this thread's error sentence and return the code. Never called with KP_OK.
kp_result kp_fail(kp_result code, const char *format, ...) KP_PRINTF(2, 3);

// Put "context: " before the sentence already recorded, and return the code.
kp_result kp_fail_in(kp_result code, const char *format, ...) KP_PRINTF(2, 3);

void kp_clear_error(void);

// Leave the function with the code of a failed call.
#define KP_TRY(call)                                                                               \
  do {                                                                                             \
    kp_result kp_try_result = (call);                                                              \
    if (kp_try_result != KP_OK) {                                                                  \
      return kp_try_result;                                                                        \
    }                                                                                              \
  } while (0)

// Go to the clean-up label with the code in `result`.
#define KP_TRY_GOTO(result, call, label)                                                           \
  do {                                                                                             \
    (result) = (call);                                                                             \
    if ((result) != KP_OK) {                                                                       \
      goto label;                                                                                  \
    }                                                                                              \
  } while (0)
