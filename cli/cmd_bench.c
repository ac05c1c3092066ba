#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "par/parallel.h"

#include "bench/bench.h"
#include "bench/kernels.h"
#include "bench/render.h"

static const kp_option options[] = {
  { "size", 0, "N", "particles or points; without it the sizes of the case" },
  { "threads", 't', "T", "worker threads; without it one and all of the machine" },
  { "backend", 'b', "NAME", "cpu, mirror or cuda" },
  { "steps", 0, "N", "steps per repeat; without it about a second of them" },
  { "repeat", 0, "N", "repeats, of which the fastest counts; 3" },
  { "json", 0, NULL, "one JSON object per line" },
  { "csv", 0, "FILE", "add rows to a CSV file too" },
  { "list", 0, NULL, "what can be measured" },
};

static const kp_command command = {
  "bench",
  "[CASE or FAMILY...] [options]",
  "Measures speed: first what the machine can do (copies, multiply-adds), then the cases, stepped\n"
  "as a run would step them. 'kernels' instead runs every kernel on the backend and on the CPU\n"
  "from the same bits, compares and times them; it fails when one differs or was never launched.\n"
  "'render' casts rays and makes pictures.",
  "  kelpie bench sph\n"
  "  kelpie bench sph-a --size 117649 --threads 2 --json\n"
  "  kelpie bench kernels --backend cuda",
  options,
  sizeof options / sizeof options[0],
  0,
  32,
};

#define SIZE_MOST 2000000000
#define KERNEL_PARTICLES 8000
#define RENDER_TRIANGLES 1000000

typedef struct bench_plan {
  kp_bench_def def;
  int64_t size;     // 0: those of the case
  int64_t threads;  // 0: one and all
  bool json;
  const char *csv;
  KP_ARRAY(const kp_case *) cases;
  KP_ARRAY(kp_bench_result) results;
} bench_plan;

static void list_cases(void) {
  for (size_t c = 0; c < kp_n_cases; ++c) {
    const kp_case *one = &kp_cases[c];
    (void)printf("%-17s %-11s %s; sizes", one->name, one->family, one->text);
    for (int s = 0; s < KP_CASE_SIZES && one->sizes[s] > 0; ++s) {
      (void)printf(" %lld", (long long)one->sizes[s]);
    }
    (void)printf("\n");
  }
  (void)printf("%-17s %-11s every kernel against the CPU, %d particles\n", "kernels", "",
               KERNEL_PARTICLES);
  (void)printf("%-17s %-11s rays through a mesh of triangles and pictures of it; sizes %d\n",
               "render", "", RENDER_TRIANGLES);
}

static kp_result refuse_case(const char *word) {
  const char *names[64] = { "kernels", "render" };
  size_t n = 2;
  for (size_t c = 0; c < kp_n_cases && n + 2 <= sizeof names / sizeof names[0]; ++c) {
    names[n++] = kp_cases[c].name;
    names[n++] = kp_cases[c].family;
  }
  const char *nearest = kp_text_nearest(word, names, n);
  return nearest != NULL
             ? kp_fail(KP_ERROR_ARGUMENT, "there is no case or family '%s'; did you mean '%s'?",
                       word, nearest)
             : kp_fail(KP_ERROR_ARGUMENT,
                       "there is no case or family '%s'; see kelpie bench --list", word);
}

// The cases of that name or family; all of them for NULL.
static kp_result choose_cases(bench_plan *plan, const char *word) {
  size_t before = plan->cases.count;
  for (size_t c = 0; c < kp_n_cases; ++c) {
    const kp_case *one = &kp_cases[c];
    if (word == NULL || strcmp(one->name, word) == 0 || strcmp(one->family, word) == 0) {
      KP_TRY(kp_array_push(&plan->cases, one));
    }
  }
  return plan->cases.count > before ? KP_OK : refuse_case(word);
}

static kp_result read_number(const kp_arguments *arguments, const char *name, int64_t most,
                             int64_t *out) {
  const char *text = kp_arguments_get(arguments, name);
  return text != NULL ? kp_parse_int(name, text, 1, most, out) : KP_OK;
}

static kp_result read_plan(const kp_arguments *arguments, bench_plan *plan) {
  const char *backend = kp_arguments_get(arguments, "backend");
  plan->def.backend = backend != NULL ? backend : "cpu";
  plan->def.repeat = 3;
  plan->json = kp_arguments_has(arguments, "json");
  plan->csv = kp_arguments_get(arguments, "csv");
  KP_TRY(read_number(arguments, "size", SIZE_MOST, &plan->size));
  KP_TRY(read_number(arguments, "threads", 1024, &plan->threads));
  KP_TRY(read_number(arguments, "steps", 1000000, &plan->def.steps));
  KP_TRY(read_number(arguments, "repeat", 1000, &plan->def.repeat));
  if (arguments->plain.count == 0) {
    return choose_cases(plan, NULL);
  }
  for (size_t k = 0; k < arguments->plain.count; ++k) {
    KP_TRY(choose_cases(plan, arguments->plain.data[k]));
  }
  return KP_OK;
}

static kp_result run_case(bench_plan *plan, const kp_case *one, int64_t size, const kp_roof *roof) {
  kp_bench_result result;
  kp_result outcome = kp_bench_measure(&plan->def, one, size, roof, &result);
  if (outcome != KP_OK) {
    return kp_fail_in(outcome, "%s of size %lld", one->name, (long long)size);
  }
  KP_TRY(kp_array_push(&plan->results, result));
  if (plan->csv != NULL) {
    KP_TRY(kp_bench_add_csv(plan->csv, &result));
  }
  if (plan->json) {
    return kp_bench_print_json(&result);
  }
  kp_bench_print(&result);
  return KP_OK;
}

static kp_result run_cases(bench_plan *plan, const kp_roof *roof) {
  for (size_t c = 0; c < plan->cases.count; ++c) {
    const kp_case *one = plan->cases.data[c];
    if (plan->size > 0) {
      KP_TRY(run_case(plan, one, plan->size, roof));
      continue;
    }
    for (int s = 0; s < KP_CASE_SIZES && one->sizes[s] > 0; ++s) {
      KP_TRY(run_case(plan, one, one->sizes[s], roof));
    }
  }
  return KP_OK;
}

static kp_result run_threads(bench_plan *plan, int threads) {
  kp_roof roof;
  plan->def.threads = threads;
  kp_parallel_set_threads(threads);
  kp_result result = kp_roof_measure(plan->def.backend, &roof);
  kp_parallel_set_threads(0);
  KP_TRY(result);
  if (!plan->json) {
    kp_bench_print_roof(plan->def.backend, threads, &roof);
    kp_bench_print_head();
  }
  return run_cases(plan, &roof);
}

static kp_result run_plan(bench_plan *plan) {
  int all = kp_parallel_threads();
  bool is_card = strcmp(plan->def.backend, "cuda") == 0;
  if (plan->threads > 0 || all == 1 || is_card) {
    KP_TRY(run_threads(plan, plan->threads > 0 ? (int)plan->threads : all));
  } else {
    KP_TRY(run_threads(plan, 1));
    (void)printf("%s", plan->json ? "" : "\n");
    KP_TRY(run_threads(plan, all));
  }
  if (!plan->json) {
    kp_bench_print_scaling(plan->results.data, plan->results.count);
  }
  return KP_OK;
}

static int run_kernels(const kp_arguments *arguments) {
  const char *backend = kp_arguments_get(arguments, "backend");
  int64_t threads = 1;
  bool is_right = false;
  kp_kernels_def def = { .backend = backend != NULL ? backend : "cpu",
                         .particles = KERNEL_PARTICLES,
                         .json = kp_arguments_has(arguments, "json") };
  kp_result result = read_number(arguments, "size", SIZE_MOST, &def.particles);
  if (result == KP_OK) {
    result = read_number(arguments, "threads", 1024, &threads);
  }
  if (result == KP_OK) {
    kp_parallel_set_threads((int)threads);
    result = kp_kernels_check(&def, &is_right);
    kp_parallel_set_threads(0);
  }
  return result == KP_OK && !is_right ? kp_result_status(KP_ERROR_INTERNAL) : kp_cli_report(result);
}

static int run_render(const kp_arguments *arguments) {
  int64_t threads = 0, size = RENDER_TRIANGLES;
  const char *backend = kp_arguments_get(arguments, "backend");
  kp_result result = read_number(arguments, "size", 100000000, &size);
  if (result == KP_OK) {
    result = read_number(arguments, "threads", 1024, &threads);
  }
  return kp_cli_report(result == KP_OK
                           ? kp_bench_render(size, (int)threads, backend != NULL ? backend : "cpu")
                           : result);
}

int cmd_bench(int argc, char **argv) {
  kp_arguments arguments;
  int status = 0;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  if (kp_arguments_has(&arguments, "list")) {
    list_cases();
  } else if (arguments.plain.count == 1 && strcmp(arguments.plain.data[0], "kernels") == 0) {
    status = run_kernels(&arguments);
  } else if (arguments.plain.count == 1 && strcmp(arguments.plain.data[0], "render") == 0) {
    status = run_render(&arguments);
  } else {
    bench_plan plan = { 0 };
    kp_result result = read_plan(&arguments, &plan);
    if (result == KP_OK) {
      result = run_plan(&plan);
    }
    kp_array_free(&plan.cases);
    kp_array_free(&plan.results);
    status = kp_cli_report(result);
  }
  kp_arguments_free(&arguments);
  return status;
}
