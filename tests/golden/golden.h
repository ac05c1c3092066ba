// Golden cases: small scenes, a fixed number of sub-steps, and what the state was when it was last
// recorded. The tables: cases.csv says what is run, hashes.csv what came out, for each precision.
// reference_<precision>.kpf holds a few values of each field, so that a difference has a size.
#pragma once

#include "run/batch.h"
#include "run/scene_extras.h"

#define GOLDEN_SETS 24
#define GOLDEN_WITNESSES 6  // elements of a field whose values are kept, spread evenly

typedef struct golden_case {
  char name[KP_SECTION_NAME_SIZE];
  char scene[KP_TEXT_SIZE];  // in tests/golden/scenes, or from the top folder where it has a slash
  int64_t steps;
  const char *sets[GOLDEN_SETS];
  size_t n_sets;
  // of hashes.csv
  bool is_recorded;
  int64_t recorded_steps;
  uint64_t hash;
} golden_case;

typedef struct golden_cases {
  KP_ARRAY(golden_case) items;
  KP_ARRAY(char *) texts;  // of the tables: the sets point into them
  uint64_t mathematics;    // what the library of mathematical functions gave when recorded
} golden_cases;

// "float" or "double": of this build.
const char *golden_precision(void);

// Both tables. Fails the test where they cannot be read.
void golden_cases_read(golden_cases *cases);
void golden_cases_free(golden_cases *cases);

// A hash of what sin, exp and others give: of two machines where it differs, states differ too.
uint64_t golden_mathematics(void);

// Runs a case on a backend and keeps its whole state: every field that a checkpoint has, what
// probes see, and the surfaces of the liquids that the scene names.
KP_NODISCARD kp_result golden_run(const golden_case *of, const char *backend, kp_batch *state);

// The scene of a case with every value written out.
KP_NODISCARD kp_result golden_used(const golden_case *of, kp_text *text);

// Of a state: of names, sizes and bytes of its fields, in any order.
uint64_t golden_hash(const kp_batch *state);

// Prints what differs between two states, field by field; gives back how many fields do.
int golden_compare(const char *title, const kp_batch *now, const kp_batch *before);

// The record of a state as words of 64 bits, and what differs from one.
typedef struct golden_record {
  KP_ARRAY(uint64_t) words;
} golden_record;
KP_NODISCARD kp_result golden_record_make(const kp_batch *state, golden_record *record);
int golden_record_compare(const char *title, const kp_batch *now, const uint64_t *words,
                          size_t n_words);
