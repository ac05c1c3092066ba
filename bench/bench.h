// `kelpie bench`: the cases of cases/cases.h measured on a backend and held against the machine's
// roofs and the figures to reach. See docs/benchmarks.md.
#pragma once

#include "base/timer.h"
#include "cases/cases.h"

#include "bench/roof.h"

typedef struct kp_bench_def {
  const char *backend;
  int threads;
  int64_t steps;   // per repeat; 0: about a second of them
  int64_t repeat;  // the fastest counts
} kp_bench_def;

typedef struct kp_bench_result {
  const kp_case *of;
  const char *backend;
  int threads;
  int64_t size;       // asked for
  int64_t particles;  // fluid particles or points
  int64_t samples;    // of walls
  int64_t counted;    // what the rate counts: particles, and walls where the case says so
  int64_t steps;      // of the fastest repeat
  double seconds;     // of one step
  double rate;        // 1e6 counted / seconds
  double neighbours;  // mean number within the support
  double bytes_per_particle;
  double roof_share;  // 0..1, of the roof that binds
  bool is_memory_bound;
  double must;          // rate to reach with so many threads; NaN: none
  double ratio;         // rate over must
  double ratio_scaled;  // the same with must scaled to this machine's roofs
  kp_roof roof;
  kp_profile profile;  // stages of the fastest repeat
} kp_bench_result;

// One case of one size with def->threads threads. `roof` was measured with the same ones.
KP_NODISCARD kp_result kp_bench_measure(const kp_bench_def *def, const kp_case *of, int64_t size,
                                        const kp_roof *roof, kp_bench_result *out);

// A share of the time of a step, by stage number; false after the last. What lies between the
// stages is called "rest".
bool kp_bench_stage(const kp_bench_result *result, int k, const char **name, double *share);

// Output: a table for people, one JSON object per line, or rows added to a CSV file.
void kp_bench_print_roof(const char *backend, int threads, const kp_roof *roof);
void kp_bench_print_head(void);
void kp_bench_print(const kp_bench_result *result);
KP_NODISCARD kp_result kp_bench_print_json(const kp_bench_result *result);
KP_NODISCARD kp_result kp_bench_add_csv(const char *path, const kp_bench_result *result);
// t(2N)/t(N) over sizes and the ratio of all threads to one, as far as the results tell.
void kp_bench_print_scaling(const kp_bench_result *results, size_t n);
