#include "io/words.h"

#include <math.h>
#include <string.h>

#include "io/number.h"

#define MOST_INTEGER 9007199254740992  // 2^53

kp_words kp_words_begin(const char *text, size_t n_bytes) {
  const char *end = n_bytes > 0 ? text + n_bytes : text;
  return (kp_words){ .at = text, .end = end, .line_end = text };
}

static const char *find_line_end(const kp_words *words) {
  size_t n = (size_t)(words->end - words->at);
  const char *found = n > 0 ? memchr(words->at, '\n', n) : NULL;
  return found != NULL ? found : words->end;
}

bool kp_words_next_line(kp_words *words) {
  // line_end rests on the newline of the line before, but at the start and the end of the text
  if (words->line > 0) {
    words->at = words->line_end < words->end ? words->line_end + 1 : words->end;
  }
  if (words->at == words->end) {
    return false;
  }
  words->line_end = find_line_end(words);
  ++words->line;
  return true;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// At a backslash that ends its line (before an optional carriage return).
static bool is_join(const kp_words *words) {
  const char *at = words->at;
  const char *end = words->line_end;
  bool is_last = at + 1 == end || (at + 2 == end && at[1] == '\r');
  return words->joins_lines && *at == '\\' && is_last && end < words->end;
}

static void skip_blanks(kp_words *words) {
  while (words->at < words->line_end) {
    if (is_blank(*words->at)) {
      ++words->at;
    } else if (is_join(words)) {
      words->at = words->line_end + 1;
      words->line_end = find_line_end(words);
      ++words->line;
    } else {
      return;
    }
  }
}

bool kp_words_next(kp_words *words, char word[KP_WORD_SIZE]) {
  skip_blanks(words);
  size_t n = 0;
  bool found = words->at < words->line_end;
  while (words->at < words->line_end && !is_blank(*words->at) && !is_join(words)) {
    char c = *words->at++;
    if (n + 1 < KP_WORD_SIZE) {
      word[n++] = c > ' ' && c <= '~' ? c : '?';
    }
  }
  word[n] = '\0';
  return found;
}

bool kp_words_next_number(kp_words *words, char word[KP_WORD_SIZE], double *value) {
  return kp_words_next(words, word) && kp_number_parse(word, "", value) && isfinite(*value);
}

bool kp_word_integer(const char *word, int64_t *value) {
  bool is_negative = word[0] == '-';
  const char *at = word + (word[0] == '-' || word[0] == '+' ? 1 : 0);
  int64_t sum = 0;
  bool has_digits = *at != '\0';
  for (; *at >= '0' && *at <= '9' && sum <= MOST_INTEGER; ++at) {
    sum = 10 * sum + (*at - '0');
  }
  *value = is_negative ? -sum : sum;
  return has_digits && *at == '\0' && sum <= MOST_INTEGER;
}

bool kp_words_next_integer(kp_words *words, char word[KP_WORD_SIZE], int64_t *value) {
  return kp_words_next(words, word) && kp_word_integer(word, value);
}
