#include "geom/curve_file.h"

#include <string.h>

#include "base/memory.h"
#include "io/files.h"
#include "io/words.h"

typedef struct curve_reader {
  const char *name;
  kp_words words;
  kp_points vertices;  // of an OBJ file
  int64_t end;         // the vertex that the last line element ended at, from 1; 0: none
  kp_curves curves;
} curve_reader;

void kp_curves_free(kp_curves *curves) {
  kp_array_free(&curves->points);
  kp_array_free(&curves->first);
}

static kp_result fail_at(const curve_reader *r, const char *what, const char *word) {
  return kp_fail(KP_ERROR_FORMAT, "%s:%llu: %s%s%s", r->name, (unsigned long long)r->words.line,
                 what, word[0] != '\0' ? ", not " : "", word);
}

static kp_result end_curve(curve_reader *r) {
  size_t first = r->curves.first.data[r->curves.first.count - 1];
  if (r->curves.points.count == first) {
    return KP_OK;  // nothing since the last one
  }
  if (r->curves.points.count == first + 1) {
    return fail_at(r, "a curve needs two points or more", "");
  }
  return kp_array_push(&r->curves.first, r->curves.points.count);
}

static kp_result read_point(curve_reader *r, kp_points *points, const char *first) {
  double x[3];
  char word[KP_WORD_SIZE];
  int c = 0;
  if (first != NULL) {
    kp_words one = kp_words_begin(first, strlen(first));
    if (!kp_words_next_line(&one) || !kp_words_next_number(&one, word, &x[c++])) {
      return fail_at(r, "a point needs three finite numbers", first);
    }
  }
  for (; c < 3; ++c) {
    if (!kp_words_next_number(&r->words, word, &x[c])) {
      return fail_at(r, "a point needs three finite numbers", word);
    }
  }
  return kp_array_push(points, kp_vec3_make(x[0], x[1], x[2]));
}

// l i j k ...: counted from 1, or backwards from -1. What begins at the vertex that the line before
// ended at goes on with its curve: programs that know edges alone write a hair as its segments.
static kp_result read_line(curve_reader *r) {
  char word[KP_WORD_SIZE];
  size_t n_read = 0, n_open = r->curves.first.count - 1;
  for (; kp_words_next(&r->words, word); ++n_read) {
    word[strcspn(word, "/")] = '\0';
    int64_t number;
    int64_t n = (int64_t)r->vertices.count;
    if (!kp_word_integer(word, &number) || number == 0 || number > n || number < -n) {
      return fail_at(r, "a line needs numbers of vertices that stand before it", word);
    }
    number = number > 0 ? number : n + number + 1;
    if (n_read == 0 && n_open > 0 && number == r->end) {
      --r->curves.first.count;
    } else {
      KP_TRY(kp_array_push(&r->curves.points, r->vertices.data[number - 1]));
    }
    r->end = number;
  }
  return n_read == 1 ? fail_at(r, "a curve needs two points or more", "") : end_curve(r);
}

static kp_result read_obj(curve_reader *r) {
  char word[KP_WORD_SIZE];
  while (kp_words_next_line(&r->words)) {
    if (!kp_words_next(&r->words, word)) {
      continue;
    }
    if (strcmp(word, "v") == 0) {
      KP_TRY(read_point(r, &r->vertices, NULL));
    } else if (strcmp(word, "l") == 0) {
      KP_TRY(read_line(r));
    }
  }
  return KP_OK;
}

static kp_result read_text(curve_reader *r) {
  char word[KP_WORD_SIZE];
  while (kp_words_next_line(&r->words)) {
    if (!kp_words_next(&r->words, word)) {
      KP_TRY(end_curve(r));
    } else if (word[0] != '#') {
      KP_TRY(read_point(r, &r->curves.points, word));
    }
  }
  return end_curve(r);
}

// An OBJ file has a line that begins with "l"; plain text has numbers alone.
static bool is_obj(const char *bytes, size_t n_bytes) {
  kp_words words = kp_words_begin(bytes, n_bytes);
  char word[KP_WORD_SIZE];
  while (kp_words_next_line(&words)) {
    if (kp_words_next(&words, word) && word[0] != '#') {
      return (word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z');
    }
  }
  return false;
}

static kp_result read_all(curve_reader *r, char *bytes, size_t n_bytes) {
  for (size_t i = 0; i < n_bytes; ++i) {
    bytes[i] = bytes[i] == ',' ? ' ' : bytes[i];
  }
  r->words = kp_words_begin(bytes, n_bytes);
  KP_TRY(kp_array_push(&r->curves.first, 0));
  KP_TRY(is_obj(bytes, n_bytes) ? read_obj(r) : read_text(r));
  if (r->curves.first.count < 2) {
    return kp_fail(KP_ERROR_FORMAT, "%s: holds no curves", r->name);
  }
  return KP_OK;
}

kp_result kp_curves_read(const char *path, kp_curves *curves) {
  *curves = (kp_curves){ 0 };
  char *bytes = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_file_read(path, KP_INPUT_LIMIT, &bytes, &n_bytes));
  curve_reader reader = { .name = path };
  kp_result result = read_all(&reader, bytes, n_bytes);
  kp_free(bytes);
  kp_array_free(&reader.vertices);
  if (result != KP_OK) {
    kp_curves_free(&reader.curves);
    return result;
  }
  *curves = reader.curves;
  return KP_OK;
}
