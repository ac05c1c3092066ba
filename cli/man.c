#include "cli/man.h"

#include <stdio.h>

// Text for roff: dashes are minus signs, a backslash is one, and a line that begins with a dot or a
// quote is no request.
static void put(const char *text) {
  bool is_start = true;
  for (const char *p = text; *p != '\0'; ++p) {
    if (is_start && (*p == '.' || *p == '\'')) {
      (void)fputs("\\&", stdout);
    }
    if (*p == '-') {
      (void)fputs("\\-", stdout);
    } else if (*p == '\\') {
      (void)fputs("\\e", stdout);
    } else {
      (void)putchar(*p);
    }
    is_start = *p == '\n';
  }
}

// As it is, line by line.
static void put_lines(const char *text) {
  (void)puts(".nf");
  put(text);
  (void)puts("\n.fi");
}

void kp_man_begin(const char *const *names, const char *const *texts, size_t n) {
  (void)puts(
      ".TH KELPIE 1 \"\" \"Kelpie " KP_VERSION_STRING "\" \"User Commands\"\n"
      ".SH NAME\nkelpie \\- a physics\\-based animation simulator\n"
      ".SH SYNOPSIS\n.B kelpie\n.I command\n.RI [ arguments ]\n"
      ".SH DESCRIPTION\n"
      "Kelpie simulates liquids, grains, smoke, fire, cloth, hair, soft and rigid bodies, all\n"
      "in one scene if asked, and hands the frames to other programs or draws them itself.\n"
      "A command with \\-\\-help tells about itself.\n"
      ".SH COMMANDS");
  for (size_t i = 0; i < n; ++i) {
    (void)printf(".TP\n.B %s\n", names[i]);
    put(texts[i]);
    (void)putchar('\n');
  }
}

void kp_man_command(const kp_command *command) {
  (void)printf(".SH \"KELPIE ");
  for (const char *p = command->name; *p != '\0'; ++p) {
    (void)putchar(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
  }
  (void)printf("\"\n.B kelpie %s\n", command->name);
  put(command->usage);
  (void)puts("\n.PP");
  put_lines(command->text);
  for (size_t i = 0; i < command->n_options; ++i) {
    const kp_option *option = &command->options[i];
    (void)printf(".TP\n.B ");
    if (option->letter != '\0') {
      (void)printf("\\-%c, ", option->letter);
    }
    (void)fputs("\\-\\-", stdout);
    put(option->name);
    if (option->value != NULL) {
      (void)putchar(' ');
      put(option->value);
    }
    (void)putchar('\n');
    put(option->text);
    (void)putchar('\n');
  }
  (void)puts(".PP\nExamples:");
  put_lines(command->example);
}

void kp_man_end(void) {
  (void)puts(".SH EXIT STATUS\n0 when all is well; else one sentence on standard error tells why:");
  for (int code = KP_OK + 1; code < KP_RESULT_COUNT; ++code) {
    (void)printf(".TP\n.B %d\n%s\n", kp_result_status((kp_result)code),
                 kp_result_text((kp_result)code));
  }
}
