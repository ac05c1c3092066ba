// How long the runs of test_fabric_water are.
#pragma once

#include <stdbool.h>

typedef struct water_size {
  bool is_long;         // all of it, and claims are recorded
  double driven;        // s the edge swings in runs with a long memory; M1 has 8
  double short_driven;  // s in runs with a short one
  int first_window;     // rows of the table of M1 that are run: from here to 3
  double tolerance;     // of its amplitudes; those of M1 are of 8 s
  const char *words;    // for the claims
} water_size;

extern const water_size water;
