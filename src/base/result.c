#include "base/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/text.h"

// Longer sentences are cut: an error must be reportable when there is no memory left.
#define ERROR_SIZE 2048

static _Thread_local char last_error[ERROR_SIZE];

static const char *const result_names[] = {
#define X(code, status, text) #code,
  KP_RESULTS(X)
#undef X
};

static const char *const result_texts[] = {
#define X(code, status, text) text,
  KP_RESULTS(X)
#undef X
};

static const int result_statuses[] = {
#define X(code, status, text) status,
  KP_RESULTS(X)
#undef X
};

static bool is_known(kp_result code) {
  return (unsigned)code < (unsigned)KP_RESULT_COUNT;
}

kp_result kp_fail(kp_result code, const char *format, ...) {
  KP_ASSERT(code != KP_OK);

  // the arguments may point into the old sentence, so the new one is built beside it
  char sentence[ERROR_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  memcpy(last_error, sentence, sizeof sentence);
  return code;
}

kp_result kp_fail_in(kp_result code, const char *format, ...) {
  KP_ASSERT(code != KP_OK);

  char sentence[ERROR_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);

  // a code without a sentence still says something
  const char *cause = last_error[0] != '\0' ? last_error : kp_result_text(code);
  const char *const parts[] = { ": ", cause };
  for (int i = 0; i < 2; ++i) {
    size_t used = strlen(sentence);
    kp_text_copy(sentence + used, sizeof sentence - used, parts[i]);
  }
  memcpy(last_error, sentence, sizeof sentence);
  return code;
}

void kp_clear_error(void) {
  last_error[0] = '\0';
}

const char *kp_last_error(void) {
  return last_error;
}

const char *kp_result_name(kp_result code) {
  return is_known(code) ? result_names[code] : "KP_ERROR_UNKNOWN";
}

const char *kp_result_text(kp_result code) {
  return is_known(code) ? result_texts[code] : "unknown error";
}

int kp_result_status(kp_result code) {
  return is_known(code) ? result_statuses[code] : 1;
}
