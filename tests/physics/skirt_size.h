// How large the skirt of test_fabric_skirt is and how long it walks: in the suite, or as the scene
// has it (label long).
#pragma once

#include <stdbool.h>

typedef struct skirt_size {
  bool is_long;
  double seconds;
  const char *columns, *rows;  // of the scene
  const char *words;           // for the claims
} skirt_size;

extern const skirt_size skirt;
