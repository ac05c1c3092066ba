#include "methods/stf/stf_memory.h"

#include <math.h>

#include "base/assert.h"
#include "math/fractional.h"

enum { GROWING = 2, COARSE = 3 };

void kp_stf_memory_init(kp_stf_memory *memory, double order, double length) {
  *memory = (kp_stf_memory){ .order = order, .length = length, .current = -1 };
  for (int k = 0; k < KP_STF_SLOTS; ++k) {
    memory->blocks[k].level = -1;
  }
}

// Weight of an average over the block, `now` seconds into the run; what is older than the memory
// does not count.
static double weight_of(const kp_stf_memory *memory, const kp_stf_block *block, double now) {
  double oldest = fmin(now - block->start, memory->length);
  double newest = fmin(fmax(now - block->end, 0.0), memory->length);
  return kp_frac_gain(memory->order, oldest) - kp_frac_gain(memory->order, newest);
}

static int free_slot(const kp_stf_memory *memory) {
  int k = 0;
  while (k < KP_STF_SLOTS && memory->blocks[k].level >= 0) {
    ++k;
  }
  return k < KP_STF_SLOTS ? k : -1;
}

// The oldest block of a level, but for the slot `not_this`; -1: none.
static int oldest_of(const kp_stf_memory *memory, int level, int not_this) {
  int found = -1;
  for (int k = 0; k < KP_STF_SLOTS; ++k) {
    const kp_stf_block *b = &memory->blocks[k];
    bool older = found < 0 || b->start < memory->blocks[found].start;
    found = b->level == level && k != not_this && older ? k : found;
  }
  return found;
}

static int count_of(const kp_stf_memory *memory, int level) {
  int n = 0;
  for (int k = 0; k < KP_STF_SLOTS; ++k) {
    n += memory->blocks[k].level == level ? 1 : 0;
  }
  return n;
}

// Block b, which follows a, becomes part of it.
static void merge(kp_stf_memory *memory, int a, int b, kp_stf_update *update) {
  kp_stf_block *into = &memory->blocks[a];
  kp_stf_block *from = &memory->blocks[b];
  int m = update->n_merges++;
  update->into[m] = a;
  update->from[m] = b;
  update->share[m] = (from->end - from->start) / (from->end - into->start);
  into->end = from->end;
  from->level = -1;
}

// The oldest of the second level joins the growing block, or takes its place.
static void grow(kp_stf_memory *memory, double coarse, kp_stf_update *update) {
  int growing = oldest_of(memory, GROWING, -1);
  int b = oldest_of(memory, 1, -1);
  if (growing >= 0) {
    if (memory->blocks[b].end - memory->blocks[growing].start <= 1.05 * coarse) {
      merge(memory, growing, b, update);
      return;
    }
    if (count_of(memory, COARSE) == KP_STF_COARSE) {
      // steps that do not divide a block well make short ones: the oldest two can be one
      int a = oldest_of(memory, COARSE, -1);
      merge(memory, a, oldest_of(memory, COARSE, a), update);
    }
    memory->blocks[growing].level = COARSE;
    update->recall = true;
  }
  memory->blocks[b].level = GROWING;
}

// The two oldest of the first level become one of the second; blocks of long steps go alone.
static void lift(kp_stf_memory *memory, double coarse, kp_stf_update *update) {
  if (count_of(memory, 1) == KP_STF_LEVEL_BLOCKS) {
    grow(memory, coarse, update);
  }
  int a = oldest_of(memory, 0, -1);
  int b = oldest_of(memory, 0, a);
  if (memory->blocks[b].end - memory->blocks[a].start <= 0.75 * coarse) {
    merge(memory, a, b, update);
  }
  memory->blocks[a].level = 1;
}

static void begin_block(kp_stf_memory *memory, double start, kp_stf_update *update) {
  const double coarse = memory->length / 32.0;
  if (count_of(memory, 0) == KP_STF_LEVEL_BLOCKS) {
    lift(memory, coarse, update);
  }
  memory->current = free_slot(memory);
  KP_ASSERT(memory->current >= 0 && update->n_merges <= KP_STF_MERGES);
  memory->blocks[memory->current] = (kp_stf_block){ .start = start, .end = start, .level = 0 };
}

static void forget(kp_stf_memory *memory, double now, kp_stf_update *update) {
  for (int k = 0; k < KP_STF_SLOTS; ++k) {
    kp_stf_block *b = &memory->blocks[k];
    if (b->level >= 0 && b->end <= now - memory->length) {
      update->recall = update->recall || b->level == COARSE;
      memory->current = memory->current == k ? -1 : memory->current;
      b->level = -1;
    }
  }
}

// The next coarse block is due when a growing one is full; the sum has kinks where the oldest one
// begins and ends to leave.
static void plan_tail(kp_stf_memory *memory, double now) {
  int oldest = oldest_of(memory, COARSE, -1);
  memory->tail_t0 = now;
  memory->tail_t1 = now + 1.4 * memory->length / 32.0;
  if (oldest >= 0) {
    double first = memory->blocks[oldest].start + memory->length;
    double cut = first > now ? first : memory->blocks[oldest].end + memory->length;
    memory->tail_t1 = fmin(memory->tail_t1, cut);
  }
}

static void weigh(kp_stf_memory *memory, double now, kp_stf_update *update) {
  for (int k = 0; k < KP_STF_SLOTS; ++k) {
    const kp_stf_block *b = &memory->blocks[k];
    if (b->level == COARSE && update->recall) {
      update->coarse[update->n_coarse] = k;
      for (int p = 0; p < KP_STF_TAILS; ++p) {
        double at = memory->tail_t0 + 0.5 * p * (memory->tail_t1 - memory->tail_t0);
        update->tail_weight[p][update->n_coarse] = weight_of(memory, b, at);
      }
      ++update->n_coarse;
    } else if (b->level >= 0 && b->level < COARSE && k != update->current) {
      update->fine[update->n_fine] = k;
      update->weight[update->n_fine++] = weight_of(memory, b, now);
    }
  }
}

kp_stf_update kp_stf_memory_advance(kp_stf_memory *memory, double now, double dt) {
  kp_stf_update update = { .current = -1 };
  const double finest = memory->length / 256.0;
  if (dt > 0.0) {
    forget(memory, now, &update);
    const kp_stf_block *running = memory->current >= 0 ? &memory->blocks[memory->current] : NULL;
    if (running == NULL || running->end - running->start >= finest * (1.0 - 1e-9)) {
      // blocks follow each other without a gap, whatever rounding says of now - dt
      begin_block(memory, running != NULL ? running->end : now - dt, &update);
    }
    kp_stf_block *block = &memory->blocks[memory->current];
    block->end = now;
    update.current = memory->current;
    update.ratio = fmin(dt / (block->end - block->start), 1.0);
    update.now_weight = kp_frac_gain(memory->order, fmin(dt, memory->length));
    update.before_weight = weight_of(memory, block, now) - update.now_weight;
  }
  update.recall = update.recall || now > memory->tail_t1;
  if (update.recall) {
    plan_tail(memory, now);
  }
  double span = memory->tail_t1 - memory->tail_t0;
  double theta = span > 0.0 ? (now - memory->tail_t0) / span : 0.0;
  update.tail_share[0] = (1.0 - theta) * (1.0 - 2.0 * theta);
  update.tail_share[1] = 4.0 * theta * (1.0 - theta);
  update.tail_share[2] = theta * (2.0 * theta - 1.0);
  weigh(memory, now, &update);
  return update;
}
