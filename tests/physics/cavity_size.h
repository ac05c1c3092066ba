// How large the cavity tests are: in the suite, or as the claim asks (label long).
#pragma once

typedef struct cavity_size {
  const char *claim_size;  // in words
  int n[2];                // particles per side at Re 100 and 400; 0: left out
  double seconds[2];
  int n_early;           // per side, fractional against plain at equal times
  double seconds_early;  // s
  double dt_early;       // s
  double most_added;     // by fractional viscosity [U]; coarse runs differ by noise
} cavity_size;

extern const cavity_size cavity_size_chosen;
