// The pair driver of the host backends: fixed chunks of work items on the worker threads.
#pragma once

#include "par/backend.h"

kp_result kp_cpu_pairs(kp_backend *backend, const kp_kernel *kernel, const struct kp_pair_job *job,
                       const void *args);
