// The program's page for man(1), from the same tables as --help: "kelpie --man".
#pragma once

#include "cli/options.h"

// Head of the page with a line per command, the section of one command, and what comes behind.
void kp_man_begin(const char *const *names, const char *const *texts, size_t n);
void kp_man_command(const kp_command *command);
void kp_man_end(void);
