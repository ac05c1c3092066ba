// What run and resume share: signals, and the last words of a run.
#pragma once

#include "cli/commands.h"
#include "run/run.h"

// Ctrl-C, SIGTERM, SIGHUP and a closed pipe from here on: what is returned is then no longer 0. The
// second signal ends the program.
const volatile sig_atomic_t *kp_cli_catch_stop(void);

// --threads, --frames, --progress and --render of the arguments into the def.
KP_NODISCARD kp_result kp_cli_run_options(const kp_arguments *arguments, bool is_resumed,
                                          kp_run_def *def);

// Run with Ctrl-C and SIGTERM caught, tell how it ended, and give the exit status.
int kp_cli_simulate(kp_run_def *def,
                    kp_result (*simulate)(const kp_run_def *def, kp_run_outcome *outcome));
