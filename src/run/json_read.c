#include "run/json_read.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "io/number.h"

#define PATH_SIZE 256
#define DEPTH 16

typedef struct reader {
  const char *name, *at;
  kp_json_values *out;
  char path[PATH_SIZE];
  int depth;
} reader;

static kp_result refuse(const reader *r) {
  return kp_fail(KP_ERROR_FORMAT, "%s is not the JSON we wrote (near \"%.20s\")", r->name, r->at);
}

static void skip_blanks(reader *r) {
  while (isspace((unsigned char)*r->at)) {
    ++r->at;
  }
}

static bool take(reader *r, char letter) {
  skip_blanks(r);
  if (*r->at != letter) {
    return false;
  }
  ++r->at;
  return true;
}

static int hex_digit(char letter) {
  const char *digits = "0123456789abcdef", *found = strchr(digits, tolower((unsigned char)letter));
  return letter != '\0' && found != NULL ? (int)(found - digits) : -1;
}

// \uXXXX of a control character, which is all our writer makes of them.
static bool read_code(reader *r, char *out) {
  int code = 0;
  for (int i = 0; i < 4; ++i) {
    int digit = hex_digit(*r->at);
    if (digit < 0) {
      return false;
    }
    code = code * 16 + digit;
    ++r->at;
  }
  *out = (char)code;
  return code > 0 && code < 128;
}

static bool read_escape(reader *r, char *out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  char letter = *r->at;
  if (letter == '\0') {
    return false;
  }
  ++r->at;
  if (letter == 'u') {
    return read_code(r, out);
  }
  const char *found = strchr(from, letter);
  if (found == NULL) {
    return false;
  }
  *out = to[found - from];
  return true;
}

// The string behind its opening quote; freed by the caller.
static kp_result read_string(reader *r, char **out) {
  const char *end = r->at;
  while (*end != '"' && *end != '\0') {
    end += end[0] == '\\' && end[1] != '\0' ? 2 : 1;
  }
  char *text = kp_alloc((size_t)(end - r->at) + 1, KP_MEMORY_IO), *to = text;
  if (text == NULL) {
    return KP_ERROR_MEMORY;
  }
  while (r->at < end) {
    char letter = *r->at++;
    if (letter == '\\' && !read_escape(r, &letter)) {
      kp_free(text);
      return refuse(r);
    }
    *to++ = letter;
  }
  *to = '\0';
  *out = text;
  if (!take(r, '"')) {
    kp_free(text);
    *out = NULL;
    return refuse(r);
  }
  return KP_OK;
}

static kp_result keep(reader *r, char *text) {
  kp_json_value value = { kp_strdup(r->path, KP_MEMORY_IO), text };
  if (value.path == NULL || kp_array_push(&r->out->items, value) != KP_OK) {
    kp_free(value.path);
    kp_free(text);
    return KP_ERROR_MEMORY;
  }
  return KP_OK;
}

// A number, true, false or null, as written.
static kp_result read_word(reader *r) {
  size_t length = strcspn(r->at, ",]} \t\r\n");
  char *text = kp_alloc(length + 1, KP_MEMORY_IO);
  if (text == NULL) {
    return KP_ERROR_MEMORY;
  }
  memcpy(text, r->at, length);
  text[length] = '\0';
  if (length == 0 || strspn(text, "+-.0123456789abcdefghijklmnopqrstuvwxyzE") != length) {
    kp_free(text);
    return refuse(r);
  }
  r->at += length;
  return keep(r, text);
}

static kp_result read_value(reader *r);

// Members of an object (keyed) or an array, up to the closing letter.
static kp_result read_members(reader *r, char closer) {
  size_t length = strlen(r->path);
  int index = 0;
  for (bool more = !take(r, closer); more; ++index) {
    char *key = NULL;
    if (closer == '}') {
      if (!take(r, '"')) {
        return refuse(r);
      }
      KP_TRY(read_string(r, &key));
    }
    char number[16];
    (void)snprintf(number, sizeof number, "%d", index);
    int added = snprintf(r->path + length, PATH_SIZE - length, "%s%s", length > 0 ? "/" : "",
                         key != NULL ? key : number);
    kp_free(key);
    if (added < 0 || (size_t)added >= PATH_SIZE - length || (closer == '}' && !take(r, ':'))) {
      return refuse(r);
    }
    KP_TRY(read_value(r));
    r->path[length] = '\0';
    more = take(r, ',');
    if (!more && !take(r, closer)) {
      return refuse(r);
    }
  }
  return KP_OK;
}

static kp_result read_value(reader *r) {
  if (r->depth >= DEPTH) {
    return refuse(r);
  }
  kp_result result;
  ++r->depth;
  if (take(r, '{')) {
    result = read_members(r, '}');
  } else if (take(r, '[')) {
    result = read_members(r, ']');
  } else if (take(r, '"')) {
    char *text = NULL;
    result = read_string(r, &text);
    result = result == KP_OK ? keep(r, text) : result;
  } else {
    result = read_word(r);
  }
  --r->depth;
  return result;
}

kp_result kp_json_parse(const char *name, const char *text, kp_json_values *out) {
  *out = (kp_json_values){ 0 };
  reader r = { .name = name, .at = text, .out = out };
  kp_result result = read_value(&r);
  skip_blanks(&r);
  if (result == KP_OK && *r.at != '\0') {
    result = refuse(&r);
  }
  if (result != KP_OK) {
    kp_json_values_free(out);
  }
  return result;
}

void kp_json_values_free(kp_json_values *values) {
  for (size_t i = 0; i < values->items.count; ++i) {
    kp_free(values->items.data[i].path);
    kp_free(values->items.data[i].text);
  }
  kp_array_free(&values->items);
}

const char *kp_json_get(const kp_json_values *values, const char *path) {
  for (size_t i = 0; i < values->items.count; ++i) {
    if (strcmp(values->items.data[i].path, path) == 0) {
      return values->items.data[i].text;
    }
  }
  return NULL;
}

double kp_json_get_number(const kp_json_values *values, const char *path, double otherwise) {
  const char *text = kp_json_get(values, path);
  double number;
  return text != NULL && kp_number_parse(text, "", &number) ? number : otherwise;
}
