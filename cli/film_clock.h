// Telling how far a film is: pictures done, seconds for one, seconds left.
#pragma once

#include "base/result.h"

typedef struct kp_film_clock {
  uint64_t n_all;
  double start, last;  // s
  double mean;         // s per picture, a moving average
  bool is_terminal;    // one line that is written anew
} kp_film_clock;

void kp_film_begin(kp_film_clock *clock, uint64_t n_all);
void kp_film_tell(kp_film_clock *clock, uint64_t n_done);
void kp_film_end(kp_film_clock *clock);
