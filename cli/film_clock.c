#include "cli/film_clock.h"

#include <stdio.h>
#include <unistd.h>

#include "base/timer.h"

#define WEIGHT 0.2  // of the newest picture in the average

void kp_film_begin(kp_film_clock *clock, uint64_t n_all) {
  *clock = (kp_film_clock){ .n_all = n_all, .is_terminal = isatty(STDOUT_FILENO) != 0 };
  clock->start = clock->last = kp_time_now();
}

void kp_film_tell(kp_film_clock *clock, uint64_t n_done) {
  const double now = kp_time_now(), wall = now - clock->last;
  clock->last = now;
  clock->mean = n_done == 1 ? wall : clock->mean + WEIGHT * (wall - clock->mean);
  const uint64_t left = clock->n_all > n_done ? clock->n_all - n_done : 0;
  (void)printf("%spicture %llu of %llu  wall %.2f s  ETA %.0f s%s", clock->is_terminal ? "\r" : "",
               (unsigned long long)n_done, (unsigned long long)clock->n_all, wall,
               clock->mean * (double)left, clock->is_terminal ? "\033[K" : "\n");
  (void)fflush(stdout);
}

void kp_film_end(kp_film_clock *clock) {
  if (clock->is_terminal && clock->last > clock->start) {
    (void)printf("\n");
  }
}
