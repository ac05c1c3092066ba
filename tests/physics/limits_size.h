// What of test_fabric_limits is run: what is quick, or the study of the hanging cloth of 41 x 41
// nodes (label long), which records the claims.
#pragma once

#include <stdbool.h>

extern const bool limits_are_studied;
