#include "base/timer.h"

#include <string.h>
#include <time.h>

#include "base/assert.h"

double kp_time_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int kp_profile_slot(kp_profile *profile, const char *name) {
  for (int i = 0; i < profile->n_slots; ++i) {
    if (strcmp(profile->names[i], name) == 0) {
      return i;
    }
  }
  // the last slot gathers whatever no longer has one, so that the sum stays right
  const int last = KP_PROFILE_SLOTS - 1;
  if (profile->n_slots > last) {
    return last;
  }
  int slot = profile->n_slots++;
  profile->names[slot] = slot == last ? "other" : name;
  return slot;
}

void kp_profile_add(kp_profile *profile, int slot, double seconds) {
  KP_ASSERT(slot >= 0 && slot < profile->n_slots);
  profile->seconds[slot] += seconds;
  profile->calls[slot] += 1;
}

void kp_profile_clear(kp_profile *profile) {
  memset(profile->seconds, 0, sizeof profile->seconds);
  memset(profile->calls, 0, sizeof profile->calls);
}
