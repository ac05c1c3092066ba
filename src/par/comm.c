// One rank: the stand-in of par/comm.h for runs without message passing. Sums over ranks are the
// rank's own values; an exchange delivers what the rank sends to itself.
#include "par/comm.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

struct kp_comm {
  int n_ranks;
};

kp_result kp_comm_create(kp_comm **out) {
  kp_comm *comm = kp_alloc_zero(sizeof *comm, KP_MEMORY_BASE);
  *out = comm;
  if (comm == NULL) {
    return KP_ERROR_MEMORY;
  }
  comm->n_ranks = 1;
  return KP_OK;
}

void kp_comm_destroy(kp_comm **comm) {
  kp_free(*comm);
  *comm = NULL;
}

int kp_comm_rank(const kp_comm *comm) {
  (void)comm;
  return 0;
}

int kp_comm_size(const kp_comm *comm) {
  return comm->n_ranks;
}

void kp_comm_barrier(kp_comm *comm) {
  (void)comm;
}

void kp_comm_sum(kp_comm *comm, double *values, int n) {
  (void)comm;
  (void)values;
  (void)n;
}

void kp_comm_min(kp_comm *comm, double *values, int n) {
  (void)comm;
  (void)values;
  (void)n;
}

void kp_comm_max(kp_comm *comm, double *values, int n) {
  (void)comm;
  (void)values;
  (void)n;
}

int64_t kp_comm_scan(kp_comm *comm, int64_t value) {
  (void)comm;
  (void)value;
  return 0;
}

void kp_comm_broadcast(kp_comm *comm, void *bytes, size_t n_bytes, int root) {
  (void)bytes;
  (void)n_bytes;
  KP_ASSERT(root >= 0 && root < comm->n_ranks);
}

void kp_comm_gather(kp_comm *comm, const void *bytes, size_t n_bytes, void *out, int root) {
  KP_ASSERT(root >= 0 && root < comm->n_ranks);
  if (n_bytes > 0 && out != bytes) {
    memcpy(out, bytes, n_bytes);
  }
}

kp_result kp_comm_exchange(kp_comm *comm, kp_comm_message *messages, int n) {
  for (int m = 0; m < n; ++m) {
    const kp_comm_message *message = &messages[m];
    if (message->rank < 0 || message->rank >= comm->n_ranks) {
      return kp_fail(KP_ERROR_INTERNAL, "message %d names rank %d, but there are %d", m,
                     message->rank, comm->n_ranks);
    }
    if (message->send_bytes != message->receive_bytes) {
      return kp_fail(KP_ERROR_INTERNAL, "message %d sends %zu bytes to itself but receives %zu", m,
                     message->send_bytes, message->receive_bytes);
    }
    if (message->send_bytes > 0) {
      memmove(message->receive, message->send, message->send_bytes);
    }
  }
  return KP_OK;
}

kp_result kp_comm_agree(kp_comm *comm, kp_result mine) {
  (void)comm;
  return mine;
}
