#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"

kp_result kp_text_add(kp_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);

  kp_result result = KP_OK;
  if (length < 0) {
    result = kp_fail(KP_ERROR_INTERNAL, "text cannot be formatted with \"%s\"", format);
  } else {
    size_t needed = text->count + (size_t)length + 1;
    result = kp_array_reserve(text, needed);
  }
  if (result == KP_OK) {
    (void)vsnprintf(text->data + text->count, (size_t)length + 1, format, again);
    text->count += (size_t)length;
  }
  va_end(again);
  return result;
}

void kp_text_free(kp_text *text) {
  kp_array_free(text);
}

static int least(int a, int b) {
  return a < b ? a : b;
}

// Only the band |i - j| <= limit of the table can stay within the limit, so three rows of that
// width are enough for words of any length: cell (i, j) is band[i % 3][j - i + limit + 1], with a
// border.
int kp_text_distance(const char *a, const char *b, int limit) {
  KP_ASSERT(limit >= 0 && limit <= KP_TEXT_DISTANCE_LIMIT);
  int band[3][2 * KP_TEXT_DISTANCE_LIMIT + 3];
  const size_t length_a = strlen(a), length_b = strlen(b);
  const size_t longer = length_a > length_b ? length_a : length_b;
  const int far = limit + 1;
  const int width = 2 * limit + 3;
  if (longer - (length_a < length_b ? length_a : length_b) > (size_t)limit) {
    return far;
  }
  for (int row = 0; row < 3; ++row) {
    for (int k = 0; k < width; ++k) {
      band[row][k] = far;
    }
  }

  for (size_t i = 0; i <= length_a; ++i) {
    int *row = band[i % 3];
    const int *above = band[(i + 2) % 3], *above_2 = band[(i + 1) % 3];
    for (int k = 1; k < width - 1; ++k) {
      // column j of the table; outside of it everything is far
      const ptrdiff_t j = (ptrdiff_t)i + k - limit - 1;
      if (j < 0 || (size_t)j > length_b) {
        row[k] = far;
        continue;
      }
      int best = i == 0 && j == 0 ? 0 : far;
      if (j > 0) {
        best = least(best, row[k - 1] + 1);
      }
      if (i > 0) {
        best = least(best, above[k + 1] + 1);
      }
      if (i > 0 && j > 0) {
        best = least(best, above[k] + (a[i - 1] != b[j - 1] ? 1 : 0));
      }
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = least(best, above_2[k] + 1);
      }
      row[k] = best;
    }
  }
  return band[length_a % 3][(ptrdiff_t)length_b - (ptrdiff_t)length_a + limit + 1];
}

int kp_text_reach(const char *word) {
  const int length = (int)strnlen(word, 12);
  return length < 2 ? -1 : length < 6 ? 1 : length < 9 ? 2 : 3;
}

const char *kp_text_nearest(const char *word, const char *const *words, size_t n) {
  const char *nearest = NULL;
  int limit = kp_text_reach(word);
  for (size_t i = 0; i < n && limit >= 0; ++i) {
    int distance = kp_text_distance(word, words[i], limit);
    if (distance <= limit) {
      nearest = words[i];
      limit = distance - 1;
    }
  }
  return nearest;
}

void kp_text_copy(char *out, size_t size, const char *in) {
  KP_ASSERT(size > 0);
  size_t length = strnlen(in, size - 1);
  memcpy(out, in, length);
  out[length] = '\0';
}
