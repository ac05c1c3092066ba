#include "data/call.h"

#include <string.h>

#include "base/assert.h"

void kp_call_init(kp_call *call, const kp_kernel *kernel, void *args) {
  call->kernel = kernel;
  call->args = args;
  call->n_binds = 0;
  call->has_unbound = false;
}

void kp_call_bind(kp_call *call, size_t offset, kp_buffer *buffer, kp_access access) {
  // one more than fits: the run then refuses
  if (call->n_binds >= KP_CALL_BINDS) {
    call->n_binds = KP_CALL_BINDS + 1;
    return;
  }
  KP_ASSERT(offset + sizeof(void *) <= call->kernel->args_size);
  call->binds[call->n_binds++] =
      (kp_bind){ .offset = (uint32_t)offset, .access = (uint32_t)access, .buffer = buffer };
}

static kp_result patch(kp_call *call, const kp_bind *bind) {
  void *device = NULL;
  if (bind->buffer != NULL) {
    KP_TRY(kp_buffer_get(bind->buffer, KP_SIDE_DEVICE, (kp_access)bind->access, &device));
  }
  memcpy((char *)call->args + bind->offset, &device, sizeof device);
  return KP_OK;
}

kp_result kp_call_prepare(const kp_call_event *event) {
  kp_call *call = event->call;
  if (call->n_binds > KP_CALL_BINDS) {
    return kp_fail(KP_ERROR_INTERNAL, "kernel %s binds more than %d arrays", call->kernel->name,
                   KP_CALL_BINDS);
  }
  // what is read comes first: an array that is also bound for overwriting must not look fresh
  // before
  for (int pass = 0; pass < 2; ++pass) {
    for (int k = 0; k < call->n_binds; ++k) {
      const kp_bind *bind = &call->binds[k];
      bool is_overwrite = bind->access == KP_ACCESS_OVERWRITE;
      if (is_overwrite == (pass == 1)) {
        kp_result result = patch(call, bind);
        if (result != KP_OK) {
          return kp_fail_in(result, "kernel %s", call->kernel->name);
        }
      }
    }
  }
  return KP_OK;
}

kp_result kp_call_perform(const kp_call_event *event) {
  const kp_kernel *kernel = event->call->kernel;
  switch (kernel->kind) {
  case KP_KERNEL_POINT:
    return kp_launch(event->backend, kernel, event->n, event->call->args);
  case KP_KERNEL_REDUCE:
    return kp_reduce(event->backend, kernel, event->n, event->call->args, event->values);
  case KP_KERNEL_PAIR:
    return kp_pairs(event->backend, kernel, event->job, event->call->args);
  case KP_KERNEL_TEAM:
    return kp_team_launch(event->backend, kernel, event->n, event->call->args);
  case KP_KERNEL_ROW:
    return kp_rows(event->backend, kernel, event->segments, event->n, event->call->args);
  }
  return kp_fail(KP_ERROR_INTERNAL, "kernel %s cannot be run by a call", kernel->name);
}

static kp_result start(const kp_call_event *event) {
  const kp_call_observer *observer = event->backend->observer;
  if (observer != NULL) {
    return observer->around(event, observer->user);
  }
  KP_TRY(kp_call_prepare(event));
  return kp_call_perform(event);
}

kp_result kp_call_run(kp_backend *backend, kp_call *call, int64_t n) {
  KP_ASSERT(call->kernel->kind == KP_KERNEL_POINT);
  return start(&(kp_call_event){ .backend = backend, .call = call, .n = n });
}

kp_result kp_call_reduce(kp_backend *backend, kp_call *call, int64_t n, double *values) {
  KP_ASSERT(call->kernel->kind == KP_KERNEL_REDUCE);
  return start(&(kp_call_event){ .backend = backend, .call = call, .n = n, .values = values });
}

kp_result kp_call_rows(kp_backend *backend, kp_call *call, kp_buffer *segments, int64_t n) {
  KP_ASSERT(call->kernel->kind == KP_KERNEL_ROW);
  void *device;
  KP_TRY(kp_buffer_get(segments, KP_SIDE_DEVICE, KP_ACCESS_READ, &device));
  return start(&(kp_call_event){
      .backend = backend, .call = call, .n = n, .list = segments, .segments = device });
}

kp_result kp_call_team(kp_backend *backend, kp_call *call, int64_t n_tiles) {
  KP_ASSERT(call->kernel->kind == KP_KERNEL_TEAM);
  return start(&(kp_call_event){ .backend = backend, .call = call, .n = n_tiles });
}

kp_result kp_call_pairs(kp_backend *backend, kp_call *call, struct kp_pair_job *job) {
  KP_ASSERT(call->kernel->kind == KP_KERNEL_PAIR);
  return start(&(kp_call_event){ .backend = backend, .call = call, .job = job });
}
