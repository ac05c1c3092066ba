// Strings: a bounded builder, and the nearest known word for "did you mean".
#pragma once

#include "base/result.h"

typedef struct kp_text {
  char *data;  // always terminated once something was added
  size_t count, capacity;
} kp_text;

KP_NODISCARD kp_result kp_text_add(kp_text *text, const char *format, ...) KP_PRINTF(2, 3);
void kp_text_free(kp_text *text);

#define KP_TEXT_DISTANCE_LIMIT 16

// Edit distance with swaps of neighbours (Damerau-Levenshtein, each letter edited once), at most
// `limit`; if it is more, limit + 1 is returned. The limit itself is at most
// KP_TEXT_DISTANCE_LIMIT.
int kp_text_distance(const char *a, const char *b, int limit);

// How many edits a suggestion may be away from a word: a third of its letters, at most 3; -1 for a
// single letter. "foam" is no misspelt "body".
int kp_text_reach(const char *word);

// The nearest of n words within its reach; NULL if none.
const char *kp_text_nearest(const char *word, const char *const *words, size_t n);

// Copy with truncation; always terminated.
void kp_text_copy(char *out, size_t size, const char *in);
