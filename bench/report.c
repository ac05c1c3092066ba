#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/json.h"

#include "bench/bench.h"

// ---- table

void kp_bench_print_roof(const char *backend, int threads, const kp_roof *roof) {
  (void)printf("%s, %d thread%s (%s): copy %.1f GB/s", backend, threads, threads == 1 ? "" : "s",
               kp_isa_name(kp_isa_current()), roof->copy_gbs);
  if (roof->fma_gflops > 0.0) {
    (void)printf(", multiply-add %.0f GFLOP/s", roof->fma_gflops);
  }
  (void)printf("\n");
}

void kp_bench_print_head(void) {
  (void)printf("\n%-17s %10s %10s %7s %6s %9s %6s %8s %6s %7s\n", "case", "size", "particles",
               "threads", "neigh.", "M/s", "roof", "bound by", "B/part", "to must");
}

// What others do per neighbour these do per iteration.
static bool is_iterated(const kp_bench_result *r) {
  return r->of->turns != NULL && r->of->turns->iterations != NULL;
}

void kp_bench_print(const kp_bench_result *r) {
  (void)printf("%-17s %10lld %10lld %7d %6.1f %9.3f %5.1f%% %8s %6.0f ", r->of->name,
               (long long)r->size, (long long)r->particles, r->threads, r->neighbours, r->rate,
               100.0 * r->roof_share, r->is_memory_bound ? "memory" : "flops",
               r->bytes_per_particle);
  (void)(isnan(r->must) ? printf("%7s\n", "-") : printf("%6.2fx\n", r->ratio));
  if (is_iterated(r)) {
    (void)printf("    %.0f iterations\n", r->neighbours);
  }
  const char *name;
  double share;
  const char *between = "    ";
  for (int k = 0; kp_bench_stage(r, k, &name, &share); ++k) {
    if (share >= 0.0005) {
      (void)printf("%s%s %.1f%%", between, name, 100.0 * share);
      between = ", ";
    }
  }
  (void)printf("%s", r->profile.n_slots > 0 ? "\n" : "");
  (void)fflush(stdout);
}

// ---- machines

static void fill_json(kp_json *json, const kp_bench_result *r) {
  kp_json_begin_object(json, NULL);
  kp_json_string(json, "case", r->of->name);
  kp_json_string(json, "backend", r->backend);
  kp_json_int(json, "threads", r->threads);
  kp_json_int(json, "size", r->size);
  kp_json_int(json, "particles", r->particles);
  kp_json_int(json, "samples", r->samples);
  kp_json_int(json, "counted", r->counted);
  kp_json_number(json, "rate", r->rate);
  kp_json_string(json, "unit", r->of->unit);
  kp_json_number(json, "seconds_per_step", r->seconds);
  kp_json_number(json, is_iterated(r) ? "iterations" : "neighbours", r->neighbours);
  kp_json_number(json, "roof_share", r->roof_share);
  kp_json_string(json, "bound_by", r->is_memory_bound ? "memory" : "flops");
  kp_json_begin_object(json, "stages");
  const char *name;
  double share;
  for (int k = 0; kp_bench_stage(r, k, &name, &share); ++k) {
    kp_json_number(json, name, share);
  }
  kp_json_end(json);
  kp_json_number(json, "bytes_per_particle", r->bytes_per_particle);
  kp_json_number(json, "copy_gbs", r->roof.copy_gbs);
  kp_json_number(json, "fma_gflops", r->roof.fma_gflops > 0.0 ? r->roof.fma_gflops : NAN);
  kp_json_number(json, "must", r->must);
  kp_json_number(json, "ratio", r->ratio);
  kp_json_number(json, "ratio_scaled", r->ratio_scaled);
  kp_json_end(json);
}

// The writer indents; a line end never stands inside a string of JSON.
static void print_on_one_line(const char *text) {
  for (; *text != '\0'; ++text) {
    if (*text == '\n') {
      text += strspn(text, "\n ") - 1;
    } else {
      (void)putchar(*text);
    }
  }
  (void)putchar('\n');
  (void)fflush(stdout);
}

kp_result kp_bench_print_json(const kp_bench_result *result) {
  kp_json json = { 0 };
  const char *text;
  fill_json(&json, result);
  kp_result outcome = kp_json_text(&json, &text);
  if (outcome == KP_OK) {
    print_on_one_line(text);
  }
  kp_json_free(&json);
  return outcome;
}

kp_result kp_bench_add_csv(const char *path, const kp_bench_result *r) {
  FILE *file = fopen(path, "ae");
  if (file == NULL) {
    return kp_fail(KP_ERROR_IO, "cannot write %s", path);
  }
  (void)fseek(file, 0, SEEK_END);
  if (ftell(file) == 0) {
    (void)fprintf(file, "case,backend,threads,size,particles,neighbours,rate,unit,roof_share,"
                        "bytes_per_particle,copy_gbs,fma_gflops,must\n");
  }
  (void)fprintf(file, "%s,%s,%d,%lld,%lld,%.4g,%.5g,%s,%.4g,%.4g,%.4g,%.4g,%.4g\n", r->of->name,
                r->backend, r->threads, (long long)r->size, (long long)r->particles, r->neighbours,
                r->rate, r->of->unit, r->roof_share, r->bytes_per_particle, r->roof.copy_gbs,
                r->roof.fma_gflops, r->must);
  bool is_written = ferror(file) == 0;
  is_written = fclose(file) == 0 && is_written;
  return is_written ? KP_OK : kp_fail(KP_ERROR_IO, "cannot write %s", path);
}

// ---- scaling

static const kp_bench_result *find(const kp_bench_result *results, size_t n, const kp_case *of,
                                   int64_t size, int threads) {
  for (size_t k = 0; k < n; ++k) {
    const kp_bench_result *r = &results[k];
    if (r->of == of && r->size == size && r->threads == threads) {
      return r;
    }
  }
  return NULL;
}

// The next larger size of the same case and threads.
static const kp_bench_result *find_larger(const kp_bench_result *results, size_t n,
                                          const kp_bench_result *than) {
  const kp_bench_result *best = NULL;
  for (size_t k = 0; k < n; ++k) {
    const kp_bench_result *r = &results[k];
    bool is_kin = r->of == than->of && r->threads == than->threads;
    if (is_kin && r->counted > than->counted && (best == NULL || r->counted < best->counted)) {
      best = r;
    }
  }
  return best;
}

void kp_bench_print_scaling(const kp_bench_result *results, size_t n) {
  bool is_begun = false;
  for (size_t k = 0; k < n; ++k) {
    const kp_bench_result *r = &results[k];
    const kp_bench_result *larger = find_larger(results, n, r);
    const kp_bench_result *one = find(results, n, r->of, r->size, 1);
    bool has_both = one != NULL && r->threads > 1;
    if ((larger != NULL || has_both) && !is_begun) {
      (void)printf("\nscaling\n");
      is_begun = true;
    }
    if (larger != NULL) {
      double exponent =
          log(larger->seconds / r->seconds) / log((double)larger->counted / (double)r->counted);
      (void)printf("%-17s %d thread%s %lld -> %lld: t(2N)/t(N) = %.2f\n", r->of->name, r->threads,
                   r->threads == 1 ? ", " : "s,", (long long)r->size, (long long)larger->size,
                   pow(2.0, exponent));
    }
    if (has_both) {
      (void)printf("%-17s %lld: %d threads are %.2f times as fast as one\n", r->of->name,
                   (long long)r->size, r->threads, r->rate / one->rate);
    }
  }
}
