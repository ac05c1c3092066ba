// A call: a kernel, its arguments, and which array each pointer of the arguments is. The runner
// freshens the arrays, writes the pointers of the right side into the arguments and launches; an
// observer may run the same call again on another backend and compare what it wrote (kelpie bench
// kernels).
//
//   sph_kick_args a = { .dt = dt };
//   kp_call call;
//   kp_call_init(&call, &sph_kick_kernel, &a);
//   KP_BIND(&call, &a, vx, &velocity->buffers[0], KP_ACCESS_WRITE);
//   KP_TRY(kp_call_run(backend, &call, n));
//
// Errors of binding are kept and returned by the run, so binds need no checks. A buffer may be
// bound more than once; binding NULL gives the kernel a NULL pointer.
#pragma once

#include "data/buffer.h"

#define KP_CALL_BINDS 64

typedef struct kp_bind {
  uint32_t offset;  // of the pointer in the arguments
  uint32_t access;
  kp_buffer *buffer;
} kp_bind;

typedef struct kp_call {
  const kp_kernel *kernel;
  void *args;
  int n_binds;
  bool has_unbound;  // the arguments hold other device pointers too: nobody can redo it elsewhere
  kp_bind binds[KP_CALL_BINDS];
} kp_call;

void kp_call_init(kp_call *call, const kp_kernel *kernel, void *args);
void kp_call_bind(kp_call *call, size_t offset, kp_buffer *buffer, kp_access access);

#define KP_BIND(call, args, member, buffer, access)                                                \
  kp_call_bind((call), (size_t)((char *)&(args)->member - (char *)(args)), (buffer), (access))

// Three components x, y, z of a vector field into three consecutive pointer members named
// prefix##x/y/z.
#define KP_BIND3(call, args, prefix, field, access)                                                \
  (KP_BIND(call, args, prefix##x, &(field)->buffers[0], access),                                   \
   KP_BIND(call, args, prefix##y, &(field)->buffers[1], access),                                   \
   KP_BIND(call, args, prefix##z, &(field)->buffers[2], access))

KP_NODISCARD kp_result kp_call_run(kp_backend *backend, kp_call *call, int64_t n);
KP_NODISCARD kp_result kp_call_reduce(kp_backend *backend, kp_call *call, int64_t n,
                                      double *values);
// A ROW kernel over the first n of a list of kp_row_segment.
KP_NODISCARD kp_result kp_call_rows(kp_backend *backend, kp_call *call, kp_buffer *segments,
                                    int64_t n);
// A TEAM kernel whose passes have at most so many tiles.
KP_NODISCARD kp_result kp_call_team(kp_backend *backend, kp_call *call, int64_t n_tiles);
KP_NODISCARD kp_result kp_call_pairs(kp_backend *backend, kp_call *call, struct kp_pair_job *job);

// One call on its way to the device, as an observer sees it. The kernel's kind tells which of n,
// values, segments and job are set.
typedef struct kp_call_event {
  kp_backend *backend;
  kp_call *call;
  int64_t n;
  double *values;
  kp_buffer *list;                 // of segments
  const kp_row_segment *segments;  // its device side
  struct kp_pair_job *job;
} kp_call_event;

// While backend->observer is set, `around` gets every call instead of the backend, and must itself
// do kp_call_prepare and then kp_call_perform, once each.
typedef struct kp_call_observer {
  kp_result (*around)(const kp_call_event *event, void *user);
  void *user;
} kp_call_observer;

// Freshen the bound arrays and write their device pointers into the arguments.
KP_NODISCARD kp_result kp_call_prepare(const kp_call_event *event);
// Launch with the arguments as they are.
KP_NODISCARD kp_result kp_call_perform(const kp_call_event *event);
