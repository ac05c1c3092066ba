// Log lines for people. Numbers for machines go to stats.csv and perf.csv instead.
#pragma once

#include "kelpie/base.h"

void kp_log(kp_log_level level, const char *module, const char *format, ...) KP_PRINTF(3, 4);

// Messages below the level cost one comparison.
bool kp_log_wants(kp_log_level level);
