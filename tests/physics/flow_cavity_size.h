// How large test_flow_cavity runs; one file per size is linked with it.
#pragma once

typedef struct flow_cavity_size {
  int n;              // cells along a side
  int n_runs;         // of Re 100, 400, 1000
  double seconds[3];  // of these; side and speed of the lid are 1
  double cfl;
  double limit;  // of the difference, in speeds of the lid
} flow_cavity_size;

extern const flow_cavity_size flow_cavity_size_chosen;
