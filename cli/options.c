#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

// every command has this one without naming it
static const kp_option help_option = { "help", 'h', NULL, "this text" };

static const kp_option *find_option(const kp_command *command, const char *name, size_t length) {
  if (strlen(help_option.name) == length && strncmp(help_option.name, name, length) == 0) {
    return &help_option;
  }
  for (size_t i = 0; i < command->n_options; ++i) {
    const kp_option *option = &command->options[i];
    if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
      return option;
    }
  }
  return NULL;
}

static const kp_option *find_letter(const kp_command *command, char letter) {
  if (letter == help_option.letter) {
    return &help_option;
  }
  for (size_t i = 0; i < command->n_options; ++i) {
    if (command->options[i].letter == letter && letter != '\0') {
      return &command->options[i];
    }
  }
  return NULL;
}

static kp_result refuse_option(const kp_command *command, const char *word) {
  const char *names[64];
  size_t n = 0;
  names[n++] = help_option.name;
  for (size_t i = 0; i < command->n_options && n < sizeof names / sizeof names[0]; ++i) {
    names[n++] = command->options[i].name;
  }
  char name[64];
  const char *start = word + strspn(word, "-");
  kp_text_copy(name, sizeof name, start);
  name[strcspn(name, "=")] = '\0';
  const char *nearest = kp_text_nearest(name, names, n);
  if (nearest != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "'%s' has no option %s; did you mean --%s?", command->name,
                   word, nearest);
  }
  return kp_fail(KP_ERROR_ARGUMENT, "'%s' has no option %s; see kelpie %s --help", command->name,
                 word, command->name);
}

// One word that begins with '-'. Takes the next word as value where the option wants one.
static kp_result parse_option(const kp_command *command, int argc, char **argv, int *at,
                              kp_arguments *out) {
  const char *word = argv[*at];
  const kp_option *option;
  const char *value = NULL;
  if (word[1] == '-') {
    size_t length = strcspn(word + 2, "=");
    option = find_option(command, word + 2, length);
    value = word[2 + length] == '=' ? word + 3 + length : NULL;
  } else {
    option = find_letter(command, word[1]);
    value = word[2] != '\0' ? word + 2 : NULL;
  }
  if (option == NULL) {
    return refuse_option(command, word);
  }
  if (option->value == NULL && value != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "--%s takes no value", option->name);
  }
  if (option->value != NULL && value == NULL) {
    if (*at + 1 >= argc) {
      return kp_fail(KP_ERROR_ARGUMENT, "--%s needs a value: --%s %s", option->name, option->name,
                     option->value);
    }
    value = argv[++*at];
  }
  if (option->value != NULL && value[0] == '\0') {
    return kp_fail(KP_ERROR_ARGUMENT, "--%s is empty; it needs a value: --%s %s", option->name,
                   option->name, option->value);
  }
  out->wants_help = out->wants_help || option == &help_option;
  return kp_array_push(&out->given, (kp_given){ option, value });
}

static kp_result check_count(const kp_command *command, const kp_arguments *arguments) {
  if (arguments->plain.count > command->most) {
    return kp_fail(KP_ERROR_ARGUMENT, "'%s' is one argument too many; usage: kelpie %s %s",
                   arguments->plain.data[command->most], command->name, command->usage);
  }
  if (arguments->plain.count < command->least) {
    return kp_fail(KP_ERROR_ARGUMENT, "an argument is missing; usage: kelpie %s %s", command->name,
                   command->usage);
  }
  return KP_OK;
}

kp_result kp_arguments_parse(const kp_command *command, int argc, char **argv, kp_arguments *out) {
  *out = (kp_arguments){ 0 };
  kp_result result = KP_OK;
  bool only_plain = false;
  for (int i = 1; result == KP_OK && i < argc; ++i) {
    if (!only_plain && strcmp(argv[i], "--") == 0) {
      only_plain = true;
    } else if (!only_plain && argv[i][0] == '-' && argv[i][1] != '\0') {
      result = parse_option(command, argc, argv, &i, out);
    } else {
      result = kp_array_push(&out->plain, argv[i]);
    }
  }
  if (result == KP_OK && !out->wants_help) {
    result = check_count(command, out);
  }
  if (result != KP_OK) {
    kp_arguments_free(out);
  }
  return result;
}

void kp_arguments_free(kp_arguments *arguments) {
  kp_array_free(&arguments->given);
  kp_array_free(&arguments->plain);
}

const char *kp_arguments_get(const kp_arguments *arguments, const char *name) {
  for (size_t i = arguments->given.count; i > 0; --i) {
    if (strcmp(arguments->given.data[i - 1].option->name, name) == 0) {
      return arguments->given.data[i - 1].value;
    }
  }
  return NULL;
}

bool kp_arguments_has(const kp_arguments *arguments, const char *name) {
  for (size_t i = 0; i < arguments->given.count; ++i) {
    if (strcmp(arguments->given.data[i].option->name, name) == 0) {
      return true;
    }
  }
  return false;
}

kp_result kp_arguments_all(const kp_arguments *arguments, const char *name, const char ***values,
                           size_t *n) {
  *n = 0;
  *values = kp_alloc((arguments->given.count + 1) * sizeof **values, KP_MEMORY_BASE);
  if (*values == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < arguments->given.count; ++i) {
    if (strcmp(arguments->given.data[i].option->name, name) == 0) {
      (*values)[(*n)++] = arguments->given.data[i].value;
    }
  }
  return KP_OK;
}

// ---- help

static void print_option(const kp_option *option) {
  char left[64];
  char letter[8] = "    ";
  if (option->letter != '\0') {
    (void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
  }
  (void)snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
                 option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
  (void)printf("  %-28s %s\n", left, option->text);
}

void kp_command_help(const kp_command *command) {
  (void)printf("Usage: kelpie %s %s\n\n%s\n", command->name, command->usage, command->text);
  (void)printf("\nOptions:\n");
  for (size_t i = 0; i < command->n_options; ++i) {
    print_option(&command->options[i]);
  }
  print_option(&help_option);
  (void)printf("\nExamples:\n%s\n", command->example);
}

// ---- values

kp_result kp_parse_int(const char *what, const char *text, int64_t least, int64_t most,
                       int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s must be a whole number from %lld to %lld, not '%s'", what,
                   (long long)least, (long long)most, text);
  }
  *out = value;
  return KP_OK;
}

#define FRAME_MOST 999999999

kp_result kp_parse_range(const char *text, int64_t *first, int64_t *last, bool *is_single) {
  const char *colon = strchr(text, ':');
  *first = *last = -1;
  *is_single = colon == NULL;
  if (colon == NULL) {
    KP_TRY(kp_parse_int("--frames", text, 0, FRAME_MOST, first));
    *last = *first;
    return KP_OK;
  }
  char left[32];
  size_t length = (size_t)(colon - text);
  if (length >= sizeof left) {
    return kp_fail(KP_ERROR_ARGUMENT, "--frames must be first:last, not '%s'", text);
  }
  memcpy(left, text, length);
  left[length] = '\0';
  if (left[0] != '\0') {
    KP_TRY(kp_parse_int("the first of --frames", left, 0, FRAME_MOST, first));
  }
  if (colon[1] != '\0') {
    KP_TRY(kp_parse_int("the last of --frames", colon + 1, 0, FRAME_MOST, last));
  }
  if (*first >= 0 && *last >= 0 && *first > *last) {
    return kp_fail(KP_ERROR_ARGUMENT, "--frames %s ends before it begins", text);
  }
  return KP_OK;
}

kp_result kp_parse_word(const char *what, const char *text, const char *const *words, size_t n,
                        size_t *index) {
  for (size_t i = 0; i < n; ++i) {
    if (strcmp(text, words[i]) == 0) {
      *index = i;
      return KP_OK;
    }
  }
  kp_text list = { 0 };
  kp_result result = KP_OK;
  for (size_t i = 0; result == KP_OK && i < n; ++i) {
    result = kp_text_add(&list, "%s%s", i > 0 ? ", " : "", words[i]);
  }
  const char *nearest = kp_text_nearest(text, words, n);
  if (result == KP_OK) {
    result = kp_fail(KP_ERROR_ARGUMENT, "%s has no '%s'%s%s%s; it takes %s", what, text,
                     nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "'?" : "", list.data);
  }
  kp_text_free(&list);
  return result;
}
