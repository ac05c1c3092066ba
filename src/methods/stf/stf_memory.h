// What a spring remembers: averages of a speed over blocks of time that grow with age, so that a
// long memory has a fixed price and the singular end of the kernel is still resolved.
//
//   s(t) = 1/Gamma(1-q) Int_{t-M}^{t} (t - t')^(-q) |v_i - v_j|(t') dt'      (Ozgen 2013, Eq. 5.13)
//        = SUM_b [ (t - start_b)^(1-q) - (t - end_b)^(1-q) ] / Gamma(2-q) <|v_i - v_j|>_b
//
// The blocks are the same for all springs; what differs is the average each spring keeps in the
// array ("slot") of a block. A step extends the running block; when that is M/256 long, a new one
// begins. Two levels hold two to four blocks of M/256 and of M/128; of one too many, the two oldest
// of the first level become one of the second, and the oldest of the second joins the block that
// grows, up to about M/32. Then that is a coarse block, to be cut where memory ends. The sum over
// the coarse ones changes slowly: it is taken when their set changes, for then and for two later
// times, and what lies between is interpolated by a parabola.
//
// Pure bookkeeping of times, without springs: host code, in double.
#pragma once

#include "kelpie/config.h"

#define KP_STF_LEVEL_BLOCKS 4                      // of each of the two fine levels
#define KP_STF_FINE (2 * KP_STF_LEVEL_BLOCKS + 1)  // and the one that grows
#define KP_STF_COARSE 36
#define KP_STF_TAILS 3   // times for which the sum over coarse blocks is taken
#define KP_STF_MERGES 3  // at most, in a step
#define KP_STF_SLOTS (KP_STF_FINE + KP_STF_COARSE)

typedef struct kp_stf_block {
  double start, end;  // s
  int level;          // 0, 1: fine, 2: growing, 3: coarse, -1: the slot is free
} kp_stf_block;

typedef struct kp_stf_memory {
  double order, length;  // q, M [s]
  kp_stf_block blocks[KP_STF_SLOTS];
  int current;              // slot of the running block; -1 before the first step
  double tail_t0, tail_t1;  // s: the first and last time of the sums over coarse blocks
} kp_stf_memory;

// What all springs have to do in a step, in this order.
typedef struct kp_stf_update {
  int n_merges;  // value[into] += share (value[from] - value[into])
  int into[KP_STF_MERGES], from[KP_STF_MERGES];
  double share[KP_STF_MERGES];
  int current;  // value[current] += ratio (speed - value[current]); ratio 1 starts a block
  double ratio;
  double now_weight, before_weight;  // of the speed, and of value[current] before it was added
  bool recall;                       // tail[p] = SUM tail_weight[p] value over the coarse blocks
  int n_coarse;
  int coarse[KP_STF_COARSE];
  double tail_weight[KP_STF_TAILS][KP_STF_COARSE];
  int n_fine;  // s = SUM tail_share tail + SUM weight value + the two above; without the current
  int fine[KP_STF_FINE];
  double weight[KP_STF_FINE];
  double tail_share[KP_STF_TAILS];
} kp_stf_update;

void kp_stf_memory_init(kp_stf_memory *memory, double order, double length);

// Now is the end of a step of length dt, over which the speed was what it is now.
kp_stf_update kp_stf_memory_advance(kp_stf_memory *memory, double now, double dt);
