// Histories: the last velocities of every element of a space, for sums over the past such as
// fractional derivatives (math/fractional.h).
//
//   clock     when samples were taken: a ring of times in a GLOBAL space of the registry. One head
//             for all elements. A sample is kept every step, or every `interval` seconds, which
//             bounds the memory of a long window whatever the step.
//   history   the samples: a wide COLD field, a row per element that the sort does not move and
//             emission, removal, checkpoint and rewind take along
//
//             slot of an element: | known | x y z | x y z | ... | x y z |     ring of `slots`
//                                                     ^ head: overwritten next
//
// An element that has just appeared has `known` = 0: its row is filled with the velocity it comes
// with, so that a jet does not drag on the liquid it joins. Images at periodic faces need the sum
// alone. Changing steps are no trouble: weights are made of the times (M0.6 of the specification of
// Ozgen 2013).
//
// The present is a sample too, not yet kept: sum first, then keep, which is one pass:
//
//   KP_TRY(kp_history_weigh(history, rule, time));    weights by place in the ring, on the host
//   KP_TRY(kp_history_sum(history, velocity, out, is_first_evaluation_of_the_step));
#pragma once

#include "data/field.h"
#include "math/fractional.h"

typedef struct kp_history_clock {
  kp_space *space;
  kp_field *time;    // F64 of each place: when its sample was taken
  kp_field *number;  // U64: how manieth sample it is, from 1; 0: none yet
  int64_t slots;
  double interval;         // s; 0: every step
  KP_ARRAY(double) ages;   // scratch: of the present and of the samples, newest first
  KP_ARRAY(double) table;  // scratch: weights in the same order
} kp_history_clock;

typedef struct kp_history_weights {
  double present;  // weight of the present
  double gain;     // S: sum of all weights
  int64_t n;       // past samples that count
} kp_history_weights;

KP_NODISCARD kp_result kp_history_clock_create(kp_registry *registry, const char *name,
                                               int64_t slots, double interval,
                                               kp_history_clock *out);
void kp_history_clock_free(kp_history_clock *clock);

// Past samples there are, at most `slots`.
int64_t kp_history_clock_count(kp_history_clock *clock);
// Whether the present at `time` is to be kept as a sample.
bool kp_history_clock_is_due(kp_history_clock *clock, double time);
// Keep it: the place of the ring it goes to.
KP_NODISCARD kp_result kp_history_clock_keep(kp_history_clock *clock, double time, int64_t *place);

// What of the past counts, and how.
typedef struct kp_history_rule {
  kp_frac_end end;
  double order;
  double memory;     // s; HUGE_VAL: all samples of the ring
  bool is_unit_sum;  // weights divided by their gain: a mean of the recent past
} kp_history_rule;

// Weights of the places of the ring at `time`, out[slots]. Before any time has passed the gain is
// 0: so are the weights, or, with is_unit_sum, the present has weight 1.
KP_NODISCARD kp_result kp_history_clock_weigh(kp_history_clock *clock, const kp_history_rule *rule,
                                              double time, kp_history_weights *sum, double *out);

typedef struct kp_history {
  kp_history_clock clock;
  kp_space *space;
  int dimension;
  kp_field *ring;
  KP_ARRAY(double) places;  // weights by place
  kp_buffer weights;        // REAL by item of a row, for the device
  kp_history_weights sum;   // of the last weigh
  double time;              // of the last weigh
} kp_history;

// For the elements of `space`, with a clock named `name`. 1 <= slots.
KP_NODISCARD kp_result kp_history_create(kp_space *space, int dimension, const char *name,
                                         int64_t slots, double interval, kp_history *out);
void kp_history_free(kp_history *history);

KP_NODISCARD kp_result kp_history_weigh(kp_history *history, const kp_history_rule *rule,
                                        double time);

// out = sum over the present velocity and the past ones with the weights of the last weigh (3
// components; z is 0 in two dimensions). With `keep` the present becomes a sample if one is due.
KP_NODISCARD kp_result kp_history_sum(kp_history *history, kp_field *velocity, kp_field *out,
                                      bool keep);

// Bytes per element, for reports.
double kp_history_bytes(const kp_history *history);
