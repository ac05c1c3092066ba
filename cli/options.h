// Command lines: one table per command says what it takes; parsing, refusing and --help follow from
// it.
#pragma once

#include "base/array.h"
#include "base/result.h"

typedef struct kp_option {
  const char *name;   // long form without the dashes
  char letter;        // short form, or 0
  const char *value;  // what stands for the value in the help; NULL: a flag
  const char *text;   // a sentence
} kp_option;

typedef struct kp_command {
  const char *name;
  const char *usage;    // what stands behind the name
  const char *text;     // what the command does
  const char *example;  // one or more lines a newcomer can try
  const kp_option *options;
  size_t n_options;
  size_t least, most;  // arguments that are no options
} kp_command;

typedef struct kp_given {
  const kp_option *option;
  const char *value;
} kp_given;

typedef struct kp_arguments {
  KP_ARRAY(kp_given) given;
  KP_ARRAY(const char *) plain;
  bool wants_help;
} kp_arguments;

// argv[0] is the command's name. Options may stand anywhere; "--" ends them. Unknown options,
// missing values and too few or too many arguments are refused (KP_ERROR_ARGUMENT) with the nearest
// option.
KP_NODISCARD kp_result kp_arguments_parse(const kp_command *command, int argc, char **argv,
                                          kp_arguments *out);
void kp_arguments_free(kp_arguments *arguments);

bool kp_arguments_has(const kp_arguments *arguments, const char *name);
const char *kp_arguments_get(const kp_arguments *arguments, const char *name);  // the last; or NULL

// All values of an option that may be given several times; owned by the caller (kp_free).
KP_NODISCARD kp_result kp_arguments_all(const kp_arguments *arguments, const char *name,
                                        const char ***values, size_t *n);

void kp_command_help(const kp_command *command);

// A whole number in [least, most].
KP_NODISCARD kp_result kp_parse_int(const char *what, const char *text, int64_t least, int64_t most,
                                    int64_t *out);

// "a:b", "a:", ":b" or "n". A missing end is -1. *is_single tells the last form, with both ends n.
KP_NODISCARD kp_result kp_parse_range(const char *text, int64_t *first, int64_t *last,
                                      bool *is_single);

// Index of a word in a list, refused with the nearest.
KP_NODISCARD kp_result kp_parse_word(const char *what, const char *text, const char *const *words,
                                     size_t n, size_t *index);
