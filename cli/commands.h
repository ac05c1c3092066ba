// The commands of the program, one file each. argv[0] is the command's name; what comes back is the
// exit status of the program.
#pragma once

#include "cli/options.h"

int cmd_run(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_measure(int argc, char **argv);
int cmd_params(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_scenes(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_study(int argc, char **argv);

// Say on stderr what went wrong, in one sentence, and give the exit status of the code.
int kp_cli_report(kp_result result);

// Parse; *status is what to exit with when false comes back (help was printed, or the line
// refused).
bool kp_cli_begin(const kp_command *command, int argc, char **argv, kp_arguments *arguments,
                  int *status);
