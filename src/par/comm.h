// The few message-passing verbs the rest needs. Without MPI every verb works for one rank, so no
// algorithm asks whether MPI is there. All functions are collective unless they say otherwise.
#pragma once

#include "base/result.h"

typedef struct kp_comm kp_comm;

KP_NODISCARD kp_result kp_comm_create(kp_comm **out);
void kp_comm_destroy(kp_comm **comm);
int kp_comm_rank(const kp_comm *comm);  // not collective
int kp_comm_size(const kp_comm *comm);  // not collective
void kp_comm_barrier(kp_comm *comm);

// Element-wise over ranks, in rank order: reproducible.
void kp_comm_sum(kp_comm *comm, double *values, int n);
void kp_comm_min(kp_comm *comm, double *values, int n);
void kp_comm_max(kp_comm *comm, double *values, int n);
// Sum of the values of lower ranks.
int64_t kp_comm_scan(kp_comm *comm, int64_t value);
void kp_comm_broadcast(kp_comm *comm, void *bytes, size_t n_bytes, int root);
void kp_comm_gather(kp_comm *comm, const void *bytes, size_t n_bytes, void *out, int root);
// Neighbour exchange: n messages; a rank may name itself. Blocks until all have come.
typedef struct kp_comm_message {
  int rank;
  const void *send;
  size_t send_bytes;
  void *receive;
  size_t receive_bytes;
} kp_comm_message;
KP_NODISCARD kp_result kp_comm_exchange(kp_comm *comm, kp_comm_message *messages, int n);
// The worst code of all ranks: a failing rank makes the call fail everywhere.
KP_NODISCARD kp_result kp_comm_agree(kp_comm *comm, kp_result mine);
