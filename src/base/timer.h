// Wall clock and the per-stage profile behind perf.csv and `kelpie bench`.
#pragma once

#include "kelpie/config.h"

// Seconds of a steady clock.
double kp_time_now(void);

#define KP_PROFILE_SLOTS 32

typedef struct kp_profile {
  const char *names[KP_PROFILE_SLOTS];  // static strings
  double seconds[KP_PROFILE_SLOTS];
  int64_t calls[KP_PROFILE_SLOTS];
  int n_slots;
} kp_profile;

// Slot of a name, made on first use. Names are compared by content. When all slots are taken the
// last one, "other", serves for every further name.
int kp_profile_slot(kp_profile *profile, const char *name);
void kp_profile_add(kp_profile *profile, int slot, double seconds);

// Sets the sums to zero; slots and names stay.
void kp_profile_clear(kp_profile *profile);
