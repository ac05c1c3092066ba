// The soft body of test_fabric_bounce: a coarse mesh in the suite, the scene's own in the long run.
#pragma once

#include <stddef.h>

typedef struct kp_bounce_form {
  const char *sets[3];  // changes of the scene
  size_t n_sets;
  const char *words;
  double nodes;  // at least
} kp_bounce_form;

extern const kp_bounce_form kp_bounce;
