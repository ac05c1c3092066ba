// Table entries of the kernels of par/kernel.h. For the plain x.c of a module:
//
//   TOY_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)
//
// defines `const kp_kernel toy_name_kernel` for each kernel of the list. Other files see them by
//
//   TOY_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)
//
// Slots of instruction sets and devices that were not built are NULL.
#pragma once

#include "par/kernel.h"

#define KP_DECLARE_POINT(mod, name) extern const kp_kernel mod##_##name##_kernel;
#define KP_DECLARE_REDUCE(mod, name, ...) extern const kp_kernel mod##_##name##_kernel;
#define KP_DECLARE_ROW(mod, name) extern const kp_kernel mod##_##name##_kernel;
#define KP_DECLARE_PAIR(mod, name, ...) extern const kp_kernel mod##_##name##_kernel;
#define KP_DECLARE_TEAM(mod, name) extern const kp_kernel mod##_##name##_kernel;

#ifdef KP_WITH_ISA_V3
#define KP_DEFINE_SLOT_V3(function) function
#else
#define KP_DEFINE_SLOT_V3(function) NULL
#endif

#ifdef KP_WITH_ISA_V4
#define KP_DEFINE_SLOT_V4(function) function
#else
#define KP_DEFINE_SLOT_V4(function) NULL
#endif

#ifdef KP_WITH_CUDA
#define KP_DEFINE_SLOT_CUDA(function) function
#else
#define KP_DEFINE_SLOT_CUDA(function) NULL
#endif

#define KP_DEFINE_SLOTS(prefix)                                                                    \
  { prefix##base, KP_DEFINE_SLOT_V3(prefix##v3), KP_DEFINE_SLOT_V4(prefix##v4) }

// Declares the three range functions and the device launcher of one kernel.
#define KP_DEFINE_FUNCTIONS(prefix, launcher, parameters)                                          \
  void prefix##base parameters;                                                                    \
  void prefix##v3 parameters;                                                                      \
  void prefix##v4 parameters;                                                                      \
  int launcher(int64_t n, const void *args, void *extra, void *stream);

#define KP_DEFINE_POINT(mod, kernel)                                                               \
  KP_DEFINE_FUNCTIONS(mod##_##kernel##_cpu_, mod##_##kernel##_cuda,                                \
                      (int64_t begin, int64_t end, const void *args))                              \
  extern const kp_kernel mod##_##kernel##_kernel;                                                  \
  const kp_kernel mod##_##kernel##_kernel = {                                                      \
    .name = #mod "." #kernel,                                                                      \
    .kind = KP_KERNEL_POINT,                                                                       \
    .args_size = sizeof(mod##_##kernel##_args),                                                    \
    .point = KP_DEFINE_SLOTS(mod##_##kernel##_cpu_),                                               \
    .cuda = KP_DEFINE_SLOT_CUDA(mod##_##kernel##_cuda),                                            \
  };

// The dots are the operations, one per value; see KP_CPU_REDUCE.
#define KP_DEFINE_REDUCE(mod, kernel, ...)                                                         \
  KP_DEFINE_FUNCTIONS(mod##_##kernel##_cpu_, mod##_##kernel##_cuda,                                \
                      (int64_t begin, int64_t end, const void *args, double *values))              \
  static const kp_reduce_op mod##_##kernel##_ops[] = { __VA_ARGS__ };                              \
  _Static_assert(sizeof mod##_##kernel##_ops / sizeof mod##_##kernel##_ops[0] <= KP_REDUCE_VALUES, \
                 #mod "." #kernel " reduces more than KP_REDUCE_VALUES values");                   \
  extern const kp_kernel mod##_##kernel##_kernel;                                                  \
  const kp_kernel mod##_##kernel##_kernel = {                                                      \
    .name = #mod "." #kernel,                                                                      \
    .kind = KP_KERNEL_REDUCE,                                                                      \
    .args_size = sizeof(mod##_##kernel##_args),                                                    \
    .n_values = sizeof mod##_##kernel##_ops / sizeof mod##_##kernel##_ops[0],                      \
    .ops = mod##_##kernel##_ops,                                                                   \
    .reduce = KP_DEFINE_SLOTS(mod##_##kernel##_cpu_),                                              \
    .cuda = KP_DEFINE_SLOT_CUDA(mod##_##kernel##_cuda),                                            \
  };

#define KP_DEFINE_ROW(mod, kernel)                                                                 \
  KP_DEFINE_FUNCTIONS(                                                                             \
      mod##_##kernel##_cpu_, mod##_##kernel##_cuda,                                                \
      (const kp_row_segment *segments, int64_t begin, int64_t end, const void *args))              \
  extern const kp_kernel mod##_##kernel##_kernel;                                                  \
  const kp_kernel mod##_##kernel##_kernel = {                                                      \
    .name = #mod "." #kernel,                                                                      \
    .kind = KP_KERNEL_ROW,                                                                         \
    .args_size = sizeof(mod##_##kernel##_args),                                                    \
    .row = KP_DEFINE_SLOTS(mod##_##kernel##_cpu_),                                                 \
    .cuda = KP_DEFINE_SLOT_CUDA(mod##_##kernel##_cuda),                                            \
  };

#define KP_DEFINE_TEAM(mod, kernel)                                                                \
  KP_DEFINE_FUNCTIONS(mod##_##kernel##_cpu_, mod##_##kernel##_cuda,                                \
                      (const struct kp_team *team, const void *args))                              \
  extern const kp_kernel mod##_##kernel##_kernel;                                                  \
  const kp_kernel mod##_##kernel##_kernel = {                                                      \
    .name = #mod "." #kernel,                                                                      \
    .kind = KP_KERNEL_TEAM,                                                                        \
    .args_size = sizeof(mod##_##kernel##_args),                                                    \
    .team = KP_DEFINE_SLOTS(mod##_##kernel##_cpu_),                                                \
    .cuda = KP_DEFINE_SLOT_CUDA(mod##_##kernel##_cuda),                                            \
  };

// The dots begin with the type of the arguments, which the variants of a family share; what follows
// it in the list is for the pair drivers.
#define KP_DEFINE_PAIR(mod, kernel, ...)                                                           \
  KP_DEFINE_FUNCTIONS(                                                                             \
      mod##_##kernel##_pairs_, mod##_##kernel##_cuda,                                              \
      (const struct kp_pair_job *job, int64_t begin, int64_t end, const void *args))               \
  extern const kp_kernel mod##_##kernel##_kernel;                                                  \
  const kp_kernel mod##_##kernel##_kernel = {                                                      \
    .name = #mod "." #kernel,                                                                      \
    .kind = KP_KERNEL_PAIR,                                                                        \
    .args_size = sizeof(KP_DEFINE_FIRST(__VA_ARGS__, )),                                           \
    .pair = KP_DEFINE_SLOTS(mod##_##kernel##_pairs_),                                              \
    .cuda = KP_DEFINE_SLOT_CUDA(mod##_##kernel##_cuda),                                            \
  };

#define KP_DEFINE_FIRST(first, ...) first
