// Words on lines: a bounded walk over text that need not end with a zero byte.
#pragma once

#include "base/result.h"

#define KP_WORD_SIZE 64

typedef struct kp_words {
  const char *at, *end;  // what is left of the text
  const char *line_end;  // of the current line
  uint64_t line;         // number of the current line, from 1; 0 before the first
  bool joins_lines;      // a backslash at the end of a line joins the next one to it
} kp_words;

kp_words kp_words_begin(const char *text, size_t n_bytes);

// Go to the next line; false at the end of the text.
bool kp_words_next_line(kp_words *words);

// The next word of the line, cut to KP_WORD_SIZE - 1 letters, with other than printable ASCII
// replaced by
// '?' so that it can be shown. False at the end of the line.
bool kp_words_next(kp_words *words, char word[KP_WORD_SIZE]);

// The next word as a finite number, or as a whole number. False when there is none or it is not
// one; `word` then holds what stands there ("" at the end of the line).
bool kp_words_next_number(kp_words *words, char word[KP_WORD_SIZE], double *value);
bool kp_words_next_integer(kp_words *words, char word[KP_WORD_SIZE], int64_t *value);

// A whole word as an integer: sign and digits only, within +-2^53.
bool kp_word_integer(const char *word, int64_t *value);
