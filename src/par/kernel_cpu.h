// CPU loops of the kernels of par/kernel.h. For x_cpu.c files, which are compiled once per
// instruction set with KP_ISA defined as the bare word base, v3 or v4:
//
//   #include "methods/toy/toy_kernels.h"
//   #include "par/kernel_cpu.h"
//
//   TOY_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
//
// makes the functions toy_name_cpu_base, toy_name_cpu_v3 and toy_name_cpu_v4. The loops run over a
// range on one thread; the backend cuts the ranges, so the bits depend on neither threads nor
// instruction set.
//
// Arguments are copied to a local first: the compiler then knows that stores through the pointers
// in them do not change the pointers, and keeps these in registers.
#pragma once

#include "par/kernel.h"

#ifndef KP_ISA
#error "par/kernel_cpu.h is for files listed with kp_isa_sources, which define KP_ISA"
#endif

#define KP_CPU_JOIN(mod, name, isa) mod##_##name##_cpu_##isa
#define KP_CPU_NAME(mod, name, isa) KP_CPU_JOIN(mod, name, isa)

#define KP_CPU_POINT(mod, name)                                                                    \
  void KP_CPU_NAME(mod, name, KP_ISA)(int64_t begin, int64_t end, const void *args);               \
  void KP_CPU_NAME(mod, name, KP_ISA)(int64_t begin, int64_t end, const void *args) {              \
    const mod##_##name##_args a = *(const mod##_##name##_args *)args;                              \
    KP_INDEPENDENT                                                                                 \
    for (int64_t i = begin; i < end; ++i) {                                                        \
      mod##_##name(i, &a);                                                                         \
    }                                                                                              \
  }

// The dots are the operations, one per value, as a list: KP_REDUCE_SUM, KP_REDUCE_MAX, ... or a
// macro that expands to such a list. `values` receives begin..end-1 combined in index order.
#define KP_CPU_REDUCE(mod, name, ...)                                                              \
  void KP_CPU_NAME(mod, name, KP_ISA)(int64_t begin, int64_t end, const void *args,                \
                                      double *values);                                             \
  void KP_CPU_NAME(mod, name, KP_ISA)(int64_t begin, int64_t end, const void *args,                \
                                      double *values) {                                            \
    static const kp_reduce_op ops[] = { __VA_ARGS__ };                                             \
    enum { n_values = sizeof ops / sizeof ops[0] };                                                \
    const mod##_##name##_args a = *(const mod##_##name##_args *)args;                              \
    double total[n_values];                                                                        \
    for (int k = 0; k < n_values; ++k) {                                                           \
      total[k] = kp_reduce_neutral(ops[k]);                                                        \
    }                                                                                              \
    for (int64_t i = begin; i < end; ++i) {                                                        \
      double v[n_values];                                                                          \
      mod##_##name(i, &a, v);                                                                      \
      for (int k = 0; k < n_values; ++k) {                                                         \
        total[k] = kp_reduce_combine(ops[k], total[k], v[k]);                                      \
      }                                                                                            \
    }                                                                                              \
    for (int k = 0; k < n_values; ++k) {                                                           \
      values[k] = total[k];                                                                        \
    }                                                                                              \
  }

#define KP_CPU_ROW(mod, name)                                                                      \
  void KP_CPU_NAME(mod, name, KP_ISA)(const kp_row_segment *segments, int64_t begin, int64_t end,  \
                                      const void *args);                                           \
  void KP_CPU_NAME(mod, name, KP_ISA)(const kp_row_segment *segments, int64_t begin, int64_t end,  \
                                      const void *args) {                                          \
    const mod##_##name##_args a = *(const mod##_##name##_args *)args;                              \
    for (int64_t s = begin; s < end; ++s) {                                                        \
      kp_row_segment run = segments[s];                                                            \
      mod##_##name(run.j, run.k, run.i0, run.i1, &a);                                              \
    }                                                                                              \
  }

#define KP_CPU_TEAM(mod, name)                                                                     \
  void KP_CPU_NAME(mod, name, KP_ISA)(const struct kp_team *team, const void *args);               \
  void KP_CPU_NAME(mod, name, KP_ISA)(const struct kp_team *team, const void *args) {              \
    const mod##_##name##_args a = *(const mod##_##name##_args *)args;                              \
    mod##_##name(team, &a);                                                                        \
  }
