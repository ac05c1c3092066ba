// Compile switches of Kelpie. Everything here is decided by the build, never by the scene.
//
//   KELPIE_DOUBLE   state is stored and computed in double instead of float
//   KP_WITH_CUDA    the CUDA backend is compiled in
//   KP_WITH_MPI     the MPI backend is compiled in
//   KP_VALIDATE     costly internal checks (debug and sanitizer builds)
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KP_VERSION_MAJOR 0
#define KP_VERSION_MINOR 1
#define KP_VERSION_PATCH 0
#define KP_VERSION_STRING "0.1.0"

// State arithmetic. Time, sums and geometry input are always double.
#ifdef KELPIE_DOUBLE
typedef double kp_real;
#define KP_REAL_NAME "double"
#else
typedef float kp_real;
#define KP_REAL_NAME "float"
#endif

// Positions keep full precision in every build; pair loops see them relative to a cell.
typedef double kp_pos;

typedef int32_t kp_index;  // local element index
typedef uint64_t kp_gid;   // stable global id of a particle

#if defined(_WIN32)
#define KP_API
#else
#define KP_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define KP_NODISCARD __attribute__((warn_unused_result))
#define KP_PRINTF(format_arg, first_arg) __attribute__((format(printf, format_arg, first_arg)))
#else
#define KP_NODISCARD
#define KP_PRINTF(format_arg, first_arg)
#endif

// A function usable from host code and from device kernels.
#ifdef __CUDACC__
#define KP_FN static __host__ __device__ __forceinline__
#else
#define KP_FN static inline
#endif
