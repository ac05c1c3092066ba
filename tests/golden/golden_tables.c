#include "support/test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#include "golden.h"

const char *golden_precision(void) {
  return sizeof(kp_real) == 4 ? "float" : "double";
}

uint64_t golden_mathematics(void) {
  double values[12 * 64];
  for (int i = 0; i < 64; ++i) {
    double t = 0.37 + 0.61 * i;
    float s = (float)t;
    double *v = values + (ptrdiff_t)12 * i;
    v[0] = sin(t);
    v[1] = cos(t);
    v[2] = exp(-t);
    v[3] = log(t);
    v[4] = pow(t, 1.7);
    v[5] = atan2(t, 2.0);
    v[6] = cbrt(t);
    v[7] = acos(1.0 / (1.0 + t));
    v[8] = (double)sinf(s);
    v[9] = (double)expf(-s);
    v[10] = (double)powf(s, 1.7f);
    v[11] = (double)logf(s);
  }
  return kp_hash_bytes(values, sizeof values, 0);
}

static char *read_table(golden_cases *cases, const char *name) {
  char path[4096];
  size_t size;
  (void)snprintf(path, sizeof path, "%s/tests/golden/%s", kp_test_source_dir(), name);
  char *text = kp_test_read_file(path, &size);
  assert_ok(kp_array_push(&cases->texts, text));
  return text;
}

// Cuts the next line off a text; NULL at its end.
static char *next_line(char **rest) {
  char *line = *rest;
  if (line == NULL || *line == '\0') {
    return NULL;
  }
  char *end = strchr(line, '\n');
  *rest = end != NULL ? end + 1 : NULL;
  if (end != NULL) {
    *end = '\0';
  }
  return line;
}

// Cuts the next cell off a line; "" where there is none.
static char *next_cell(char **rest, const char *separators) {
  char *cell = *rest;
  char *end = strpbrk(cell, separators);
  if (end == NULL) {
    *rest = cell + strlen(cell);
  } else {
    *end = '\0';
    *rest = end + 1;
  }
  return cell;
}

// case,scene,steps,key=value key=value ...
static void read_case(golden_cases *cases, char *line) {
  golden_case one = { 0 };
  kp_text_copy(one.name, sizeof one.name, next_cell(&line, ","));
  kp_text_copy(one.scene, sizeof one.scene, next_cell(&line, ","));
  one.steps = strtoll(next_cell(&line, ","), NULL, 10);
  if (one.steps <= 0) {
    fail_msg("cases.csv: case \"%s\" has no steps", one.name);
  }
  while (*line != '\0') {
    char *set = next_cell(&line, " ");
    if (*set == '\0') {
      continue;
    }
    if (one.n_sets == GOLDEN_SETS) {
      fail_msg("cases.csv: case \"%s\" sets too much", one.name);
    }
    one.sets[one.n_sets++] = set;
  }
  assert_ok(kp_array_push(&cases->items, one));
}

static golden_case *find_case(golden_cases *cases, const char *name) {
  for (size_t i = 0; i < cases->items.count; ++i) {
    if (strcmp(cases->items.data[i].name, name) == 0) {
      return &cases->items.data[i];
    }
  }
  return NULL;
}

// case,precision,steps,hash
static void read_hash(golden_cases *cases, char *line) {
  golden_case *of = find_case(cases, next_cell(&line, ","));
  if (strcmp(next_cell(&line, ","), golden_precision()) != 0 || of == NULL) {
    return;
  }
  of->recorded_steps = strtoll(next_cell(&line, ","), NULL, 10);
  of->hash = strtoull(next_cell(&line, ","), NULL, 16);
  of->is_recorded = true;
}

void golden_cases_read(golden_cases *cases) {
  static const char mathematics[] = "# mathematics ";
  *cases = (golden_cases){ 0 };
  char *rest = read_table(cases, "cases.csv");
  for (char *line = next_line(&rest); line != NULL; line = next_line(&rest)) {
    if (*line != '#' && *line != '\0' && strncmp(line, "case,", 5) != 0) {
      read_case(cases, line);
    }
  }
  rest = read_table(cases, "hashes.csv");
  for (char *line = next_line(&rest); line != NULL; line = next_line(&rest)) {
    if (strncmp(line, mathematics, sizeof mathematics - 1) == 0) {
      cases->mathematics = strtoull(line + sizeof mathematics - 1, NULL, 16);
    } else if (*line != '#' && *line != '\0') {
      read_hash(cases, line);
    }
  }
}

void golden_cases_free(golden_cases *cases) {
  for (size_t i = 0; i < cases->texts.count; ++i) {
    kp_free(cases->texts.data[i]);
  }
  kp_array_free(&cases->texts);
  kp_array_free(&cases->items);
}
