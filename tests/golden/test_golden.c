// Every method, coupling, integrator and solver against what its state was when it was recorded, to
// the last bit, and for each number of threads and instruction set. tools/golden records.
//
//   test_golden                     all cases, as ctest does
//   test_golden NAME...             those whose names begin so
//   test_golden --once              with one thread and the base instructions alone; up to the
//   first
//                                   that differs
//   test_golden --record FILE       the lines of hashes.csv go to standard output, values to FILE
//   test_golden --save FOLDER       keeps whole states, for
//   test_golden --against FOLDER    which names elements and amounts
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "par/kernel.h"
#include "par/parallel.h"

#include "golden.h"

typedef struct settings {
  const char *record, *save, *against;
  bool once;
  char **names;
  int n_names;
} settings;

typedef struct way {
  const char *backend;
  int threads;
  kp_isa isa;
} way;

// each number of threads, instruction set and backend once; the record is of the first
static const way ways[] = { { "cpu", 1, KP_ISA_BASE },
                            { "cpu", 2, KP_ISA_V3 },
                            { "cpu", 3, KP_ISA_V4 },
                            { "mirror", 1, KP_ISA_BASE } };
#define N_WAYS (int)(sizeof ways / sizeof *ways)

static bool is_chosen(const settings *chosen, const char *name) {
  for (int i = 0; i < chosen->n_names; ++i) {
    if (strncmp(name, chosen->names[i], strlen(chosen->names[i])) == 0) {
      return true;
    }
  }
  return chosen->n_names == 0;
}

static bool run(const golden_case *of, const way *how, kp_batch *state) {
  kp_isa best = kp_isa_current();
  kp_isa_force(how->isa);
  kp_parallel_set_threads(how->threads);
  kp_result result = golden_run(of, how->backend, state);
  kp_parallel_set_threads(0);
  kp_isa_force(best);
  if (result != KP_OK) {
    print_message("%s, %s: %s\n", of->name, golden_precision(), kp_last_error());
  }
  return result == KP_OK;
}

// ---- the three things that are done with a state

static void reference_path(char *path, size_t size) {
  (void)snprintf(path, size, "%s/tests/golden/reference_%s.kpf", kp_test_source_dir(),
                 golden_precision());
}

// The file is opened for every case anew: what a container keeps to unpack with would count among
// what the world left.
static void tell_difference(const golden_case *of, const kp_batch *state) {
  char title[256], path[4096];
  kp_container *reference = NULL;
  (void)snprintf(title, sizeof title, "%s, %s: not the state of the record", of->name,
                 golden_precision());
  reference_path(path, sizeof path);
  if (kp_container_open(path, &reference) != KP_OK) {
    reference = NULL;  // the difference is then told without values
  }
  const kp_section *section = reference != NULL ? kp_container_find(reference, of->name) : NULL;
  uint64_t *words = section != NULL ? kp_alloc(section->count * sizeof *words, KP_MEMORY_IO) : NULL;
  if (words == NULL || kp_container_read(reference, section, 0, section->count, words) != KP_OK ||
      golden_record_compare(title, state, words, section->count) == 0) {
    print_message("%s; the values kept do not tell where\n", title);
  }
  kp_free(words);
  kp_container_close(&reference);
}

static bool check_record(const golden_case *of, const kp_batch *state) {
  if (!of->is_recorded || of->recorded_steps != of->steps) {
    print_message("%s, %s: not in hashes.csv with %" PRId64 " steps; see tools/golden --update\n",
                  of->name, golden_precision(), of->steps);
    return false;
  }
  if (golden_hash(state) == of->hash) {
    return true;
  }
  tell_difference(of, state);
  return false;
}

static bool check_ways(const golden_case *of, const kp_batch *first, int begin) {
  bool is_same = true;
  for (int w = begin; w < N_WAYS; ++w) {
    kp_batch other = { 0 };
    char title[256];
    (void)snprintf(title, sizeof title, "%s, %s: %s, %d threads and %s other than %s, %d and %s",
                   of->name, golden_precision(), ways[w].backend, ways[w].threads,
                   kp_isa_name(ways[w].isa), ways[0].backend, ways[0].threads,
                   kp_isa_name(ways[0].isa));
    is_same = run(of, &ways[w], &other) && is_same;
    is_same = golden_compare(title, &other, first) == 0 && is_same;
    kp_batch_free(&other);
  }
  return is_same;
}

static bool compare_with_folder(const golden_case *of, const kp_batch *state, const char *folder) {
  kp_container *container;
  kp_batch before = { 0 };
  char path[4096], title[256];
  (void)snprintf(path, sizeof path, "%s/%s.kpf", folder, of->name);
  (void)snprintf(title, sizeof title, "%s, %s: not as in %s", of->name, golden_precision(), folder);
  assert_ok(kp_container_open(path, &container));
  assert_ok(kp_batch_read(&before, container));
  bool is_same = golden_compare(title, state, &before) == 0;
  kp_batch_free(&before);
  kp_container_close(&container);
  return is_same;
}

static void save(const golden_case *of, const kp_batch *state, const char *folder) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/%s.kpf", folder, of->name);
  assert_ok(kp_container_write(path, &state->head, state->sections.data, state->sections.count));
}

static void record(const golden_case *of, const kp_batch *state, kp_batch *reference) {
  golden_record words = { 0 };
  assert_ok(golden_record_make(state, &words));
  kp_section section = { .type = KP_ITEM_U64,
                         .count = words.words.count,
                         .data = words.words.data };
  kp_text_copy(section.name, sizeof section.name, of->name);
  assert_ok(kp_batch_add(reference, &section));
  kp_array_free(&words.words);
  (void)printf("%s,%s,%" PRId64 ",%016" PRIx64 "\n", of->name, golden_precision(), of->steps,
               golden_hash(state));
}

// ---- all cases

static int64_t bytes_in_use(void) {
  int64_t sum = 0;
  for (int tag = 0; tag < KP_MEMORY_TAG_COUNT; ++tag) {
    sum += kp_memory_tag_bytes((kp_memory_tag)tag);
  }
  return sum;
}

// All that a world took, it gives back.
static bool check_memory(const golden_case *of, int64_t before) {
  int64_t left = bytes_in_use() - before;
  if (left != 0) {
    print_message("%s, %s: %" PRId64 " bytes are left when the world is gone\n", of->name,
                  golden_precision(), left);
  }
  return left == 0;
}

static bool check_case(const golden_case *of, const settings *chosen, kp_batch *recorded) {
  int64_t bytes = bytes_in_use();
  kp_batch state = { 0 };
  bool is_right = run(of, &ways[0], &state);
  if (is_right && chosen->record != NULL) {
    record(of, &state, recorded);
  } else if (is_right && chosen->save != NULL) {
    save(of, &state, chosen->save);
  } else if (is_right && chosen->against != NULL) {
    is_right = compare_with_folder(of, &state, chosen->against);
  } else if (is_right) {
    is_right = check_record(of, &state);
    is_right = check_ways(of, &state, chosen->once ? N_WAYS - 1 : 1) && is_right;
  }
  kp_batch_free(&state);
  return (chosen->record != NULL || check_memory(of, bytes)) && is_right;
}

static int check_cases(const settings *chosen) {
  golden_cases cases;
  kp_batch recorded = { 0 };
  int n_wrong = 0;
  golden_cases_read(&cases);
  for (size_t i = 0; i < cases.items.count && !(chosen->once && n_wrong > 0); ++i) {
    const golden_case *one = &cases.items.data[i];
    if (is_chosen(chosen, one->name) && !check_case(one, chosen, &recorded)) {
      ++n_wrong;
    }
  }
  if (chosen->record != NULL) {
    (void)printf("# mathematics %016" PRIx64 "\n", golden_mathematics());
    recorded.head.real_size = sizeof(kp_real);
    assert_ok(kp_container_write(chosen->record, &recorded.head, recorded.sections.data,
                                 recorded.sections.count));
  } else if (n_wrong > 0 && cases.mathematics != golden_mathematics()) {
    print_message("The functions of this machine's mathematical library (sin, exp, ...) give other "
                  "bits than those of the machine of the record.\n");
  }
  kp_batch_free(&recorded);
  golden_cases_free(&cases);
  return n_wrong;
}

// Every value of the scenes as they were understood, for the test that looks for words in no case.
static void print_used(void) {
  golden_cases cases;
  golden_cases_read(&cases);
  for (size_t i = 0; i < cases.items.count; ++i) {
    kp_text text = { 0 };
    assert_ok(golden_used(&cases.items.data[i], &text));
    (void)printf("-- case %s %s\n%s", cases.items.data[i].name, cases.items.data[i].scene,
                 text.data);
    kp_text_free(&text);
  }
  golden_cases_free(&cases);
}

int main(int argc, char **argv) {
  settings chosen = { 0 };
  for (int i = 1; i < argc; ++i) {
    bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--once") == 0) {
      chosen.once = true;
    } else if (strcmp(argv[i], "--record") == 0 && has_value) {
      chosen.record = argv[++i];
    } else if (strcmp(argv[i], "--save") == 0 && has_value) {
      chosen.save = argv[++i];
    } else if (strcmp(argv[i], "--against") == 0 && has_value) {
      chosen.against = argv[++i];
    } else if (strcmp(argv[i], "--used") == 0) {
      print_used();
      return 0;
    } else {
      chosen.names = argv + i;
      chosen.n_names = argc - i;
      break;
    }
  }
  int n_wrong = check_cases(&chosen);
  if (n_wrong > 0) {
    print_message("%d cases are wrong\n", n_wrong);
  }
  return n_wrong > 0 ? 1 : 0;
}
