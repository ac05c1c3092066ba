// The search for the largest steps; see the included file.
#define FRACTIONAL_STEPS_LONG
#include "test_sph_fractional_steps.c"
