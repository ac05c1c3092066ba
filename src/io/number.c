#include "io/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A host program may have set a locale with a decimal comma.
static void use_point(char *text) {
  char *comma = strchr(text, ',');
  if (comma != NULL) {
    *comma = '.';
  }
}

static bool format_special(char out[KP_NUMBER_SIZE], double value) {
  if (isfinite(value)) {
    return false;
  }
  const char *text = isnan(value) ? "nan" : value > 0.0 ? "inf" : "-inf";
  memcpy(out, text, strlen(text) + 1);
  return true;
}

void kp_number_format(char out[KP_NUMBER_SIZE], double value) {
  if (format_special(out, value)) {
    return;
  }
  // most values of people need 15 digits, every double at most 17
  for (int digits = 15; digits <= 17; ++digits) {
    (void)snprintf(out, KP_NUMBER_SIZE, "%.*g", digits, value);
    if (strtod(out, NULL) == value) {
      break;
    }
  }
  use_point(out);
}

void kp_number_format_float(char out[KP_NUMBER_SIZE], float value) {
  if (format_special(out, (double)value)) {
    return;
  }
  for (int digits = 6; digits <= 9; ++digits) {
    (void)snprintf(out, KP_NUMBER_SIZE, "%.*g", digits, (double)value);
    if (strtof(out, NULL) == value) {
      break;
    }
  }
  use_point(out);
}

bool kp_number_parse(const char *text, const char *ends, double *value) {
  *value = NAN;
  text += strspn(text, " \t");
  size_t n = strcspn(text, ends);
  while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r')) {
    --n;
  }
  char copy[64];
  if (n == 0 || n >= sizeof copy) {
    return false;
  }
  memcpy(copy, text, n);
  copy[n] = '\0';
  char *point = strchr(copy, '.');
  if (point != NULL) {
    *point = localeconv()->decimal_point[0];
  }
  char *end;
  double number = strtod(copy, &end);
  if (end != copy + n) {
    return false;
  }
  *value = number;
  return true;
}
