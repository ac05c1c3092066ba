// How large test_flow_cavity runs; one file per size is linked with it.
#pragma once

#include <stdbool.h>

typedef struct flow_cavity_size {
  int n;              // cells along a side
  double seconds[3];  // at Re 100, 400, 1000; side and speed of the lid are 1; 0: not run
  double cfl;
  double limit;  // of the difference, in speeds of the lid
  bool claims;
} flow_cavity_size;

extern const flow_cavity_size flow_cavity_size_chosen;
