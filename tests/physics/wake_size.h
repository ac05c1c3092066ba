// How large the runs of test_smoke_claims are.
#pragma once

typedef struct wake_size {
  int cells;          // across the channel; the text has 100
  double cfl;         // the text has 0.75 and 1.75
  double seconds;     // of the wake
  double from;        // s: means are taken from here on
  int plume_cells;    // along the plume's base
  const char *words;  // for the claim
} wake_size;

extern const wake_size wake;
