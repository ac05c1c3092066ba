// Persistent pair state (contact history, dynamic springs, stiction): a CSR table keyed by (id,
// id), merged each step with the new candidates in id order; its values are registry fields of a
// PAIRS space.
//
// Rows are sorted by the smaller id `a`, inside a row by the larger id `b`. A merge keeps the
// values of pairs that stay, gives new pairs the fields' initial values and drops the others, as
// one permutation plus append over the registry, so checkpoint, rewind and hashing need nothing
// more.
#pragma once

#include "data/field.h"

typedef struct kp_pair_key {
  kp_gid a, b;  // a < b
} kp_pair_key;

typedef struct kp_pair_table {
  kp_space *space;
  kp_field *a, *b;  // u64 ids, SAVE
  // scratch of the merge: candidates and their sort, ids of new pairs, marks and order of the rows
  KP_ARRAY(kp_pair_key) keys, sorting;
  KP_ARRAY(kp_gid) fresh;
  kp_buffer keep, order;
} kp_pair_table;

KP_NODISCARD kp_result kp_pair_table_create(kp_registry *registry, const char *name,
                                            const kp_field_desc *values, size_t n_values,
                                            kp_pair_table **out);
void kp_pair_table_destroy(kp_pair_table **table);

// candidates: n pairs of ids on the host, any order, each unordered pair at most once (a != b). A
// refused or failed merge leaves the table as it was.
KP_NODISCARD kp_result kp_pair_table_merge(kp_pair_table *table, const kp_gid (*candidates)[2],
                                           int64_t n);

// Index of a pair's values, or -1.
int64_t kp_pair_table_find(kp_pair_table *table, kp_gid a, kp_gid b);
