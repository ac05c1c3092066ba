#include "methods/method.h"

const char *const kp_stage_names[KP_STAGE_COUNT] = { "population", "space",   "prepare",
                                                     "forces",     "predict", "contact",
                                                     "solve",      "correct", "check" };
