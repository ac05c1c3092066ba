// The tuned search of explicit lists on the host backends, one function per instruction set.
#pragma once

#include "data/pair_lists_kernels.h"
#include "data/pairs.h"

// Lists found by one worker, one behind the other.
typedef struct kp_pair_stage {
  uint32_t *data;
  size_t count, capacity;
  bool has_failed;
  char padding[64 - sizeof(uint32_t *) - 2 * sizeof(size_t) - sizeof(bool)];
} kp_pair_stage;

// Room for n more; false when there is no memory.
bool kp_pair_stage_reserve(kp_pair_stage *stage, size_t n);

typedef struct kp_pair_list_job {
  lists_search search;
  const kp_pair_job *pairs;
  uint32_t *counts;  // by element
} kp_pair_list_job;

// Counts the neighbours of the elements of work items begin..end-1 and, where a stage is given,
// appends their lists to it in the order of slots.
typedef void (*kp_pair_list_fn)(const kp_pair_list_job *job, int64_t begin, int64_t end,
                                kp_pair_stage *stage);
void kp_pair_list_base(const kp_pair_list_job *job, int64_t begin, int64_t end,
                       kp_pair_stage *stage);
void kp_pair_list_v3(const kp_pair_list_job *job, int64_t begin, int64_t end, kp_pair_stage *stage);
void kp_pair_list_v4(const kp_pair_list_job *job, int64_t begin, int64_t end, kp_pair_stage *stage);

// Plain version of the same lists, for backends without the tuned one and for tests.
KP_NODISCARD kp_result kp_pair_lists_build_plain(kp_pair_lists *lists, kp_cells *i_cells,
                                                 kp_cells *j_cells, double radius, bool once);
