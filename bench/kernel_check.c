#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/timer.h"
#include "cases/poisson.h"
#include "data/call_check.h"
#include "data/pair_lists.h"
#include "data/pair_rows.h"
#include "linalg/pcg.h"
#include "world/world.h"

#include "bench/kernels.h"

#define N_STEPS 3
// Of each kernel the first calls of a world are compared, and then every so many: solvers launch
// some kernels thousands of times with the same arrays, and copies take most of the time.
#define COMPARED 24
// Of the largest value of an array: sums of a few hundred terms in another order.
#define TOLERANCE_OF_FLOATS 2e-5
#define TOLERANCE (sizeof(kp_real) == sizeof(float) ? TOLERANCE_OF_FLOATS : 1e-12)

// The mirror runs backwards what the cpu runs forwards, which must not show in a single bit.
static double tolerance_of(const char *backend) {
#ifdef KP_WITH_FUSED
  (void)backend;
  return TOLERANCE;
#else
  return strcmp(backend, "cuda") == 0 ? TOLERANCE : 0.0;
#endif
}

typedef struct kernel_row {
  const kp_kernel *kernel;
  int64_t n_calls, n_compared, n_elements, n_timed;
  double seconds, cpu_seconds;
  double relative;        // largest difference of reals
  bool is_off;            // and one is above the tolerance of its type
  int64_t n_different;    // whole numbers that differ
  kp_call_written worst;  // of reals
} kernel_row;

typedef KP_ARRAY(kernel_row) kernel_table;

static kernel_row *find_row(kernel_table *table, const char *name) {
  for (size_t k = 0; k < table->count; ++k) {
    if (strcmp(table->data[k].kernel->name, name) == 0) {
      return &table->data[k];
    }
  }
  return NULL;
}

static kp_result fill_table(kernel_table *table) {
  for (size_t k = 0; k < kp_n_kernels; ++k) {
    KP_TRY(kp_array_push(table, (kernel_row){ .kernel = kp_kernel_list[k] }));
  }
  return KP_OK;
}

// ---- what a check found

static kp_result absorb(kernel_table *table, const kp_call_check *check) {
  double tolerance = check->tolerance;
  for (size_t k = 0; k < check->rows.count; ++k) {
    const kp_call_row *from = &check->rows.data[k];
    kernel_row *row = find_row(table, from->name);
    if (row == NULL) {
      return kp_fail(KP_ERROR_INTERNAL, "kernel %s is in no list of bench/kernel_list.c",
                     from->name);
    }
    row->n_calls += from->n_calls;
    row->n_compared += from->n_compared;
    row->n_elements += from->n_elements;
    row->n_timed += from->n_timed;
    row->seconds += from->seconds;
    row->cpu_seconds += from->cpu_seconds;
    row->relative = fmax(row->relative, from->values.relative);
    row->is_off = row->is_off || from->values.relative > tolerance;
    for (size_t w = 0; w < from->written.count; ++w) {
      const kp_call_written *written = &from->written.data[w];
      bool is_real = kp_type_is_real((kp_type)written->type);
      double most = written->type != KP_TYPE_F32 ? tolerance
                    : tolerance > 0.0            ? TOLERANCE_OF_FLOATS
                                                 : 0.0;
      // rows that are off tell of an array that is
      bool is_off = is_real && written->difference.relative > most;
      bool is_worse = written->difference.relative > row->worst.difference.relative;
      if (is_off != row->is_off ? is_off : is_real && is_worse) {
        row->worst = *written;
      }
      row->is_off = row->is_off || is_off;
      row->relative = fmax(row->relative, is_real ? written->difference.relative : 0.0);
      row->n_different += is_real ? 0 : written->difference.n_different;
    }
  }
  return KP_OK;
}

// One line that is written over and over, where somebody looks.
static void tell(const char *what) {
  if (isatty(STDERR_FILENO)) {
    (void)fprintf(stderr, "\r%-60.60s\r", what);
    (void)fflush(stderr);
  }
}

static kp_result observe(kernel_table *table, const char *what, kp_backend *backend,
                         kp_result (*fn)(void *user), void *user) {
  tell(what);
  kp_call_check check;
  KP_TRY(kp_call_check_begin(&check, backend));
  check.tolerance = tolerance_of(backend->vt->name);
  check.all = COMPARED;
  check.every = COMPARED;
  kp_result result = fn(user);
  if (result == KP_OK) {
    result = absorb(table, &check);
  }
  kp_call_check_end(&check);
  return result;
}

// ---- worlds

typedef struct world_job {
  kp_world *world;
  kp_dam_break_def def;
} world_job;

static kp_result run_world(void *user) {
  const world_job *job = user;
  KP_TRY(kp_case_dam_break(job->world, &job->def));
  KP_TRY(kp_world_build(job->world));
  for (int s = 0; s < N_STEPS; ++s) {
    KP_TRY(kp_world_step(job->world, 1.0, NULL));
  }
  KP_TRY(kp_world_show(job->world));
  KP_TRY(kp_world_probes_start(job->world));
  for (int p = 0; p < kp_world_n_populations(job->world); ++p) {
    kp_population_stats stats;
    KP_TRY(kp_world_stats(job->world, p, &stats));
  }
  return KP_OK;
}

static kp_result check_worlds(kernel_table *table, const kp_kernels_def *def) {
  for (size_t k = 0; k < kp_kernel_worlds(); ++k) {
    world_job job = { .def = kp_kernel_world(k, def->particles) };
    char what[64];
    snprintf(what, sizeof what, "liquid %zu of %zu", k + 1, kp_kernel_worlds());
    KP_TRY(kp_world_create(def->backend, &job.world));
    kp_result result = observe(table, what, job.world->backend, run_world, &job);
    kp_world_destroy(&job.world);
    if (result != KP_OK) {
      return kp_fail_in(result, "world %zu of the kernel check", k);
    }
  }
  return KP_OK;
}

// ---- other media

typedef struct medium_job {
  kp_world *world;
  const kp_kernel_medium *medium;
  int64_t particles;
} medium_job;

static kp_result run_medium(void *user) {
  const medium_job *job = user;
  KP_TRY(job->medium->add(job->world, job->particles));
  KP_TRY(kp_world_build(job->world));
  KP_TRY(job->medium->start != NULL ? job->medium->start(job->world) : KP_OK);
  for (int s = 0; s < N_STEPS; ++s) {
    KP_TRY(kp_world_step(job->world, 1.0, NULL));
  }
  KP_TRY(kp_world_show(job->world));
  for (int p = 0; p < kp_world_n_populations(job->world); ++p) {
    kp_population_stats stats;
    KP_TRY(kp_world_stats(job->world, p, &stats));
  }
  return KP_OK;
}

static kp_result check_media(kernel_table *table, const kp_kernels_def *def) {
  for (size_t m = 0; m < kp_n_kernel_media; ++m) {
    medium_job job = { .medium = &kp_kernel_media[m], .particles = def->particles };
    KP_TRY(kp_world_create(def->backend, &job.world));
    kp_result result = observe(table, job.medium->name, job.world->backend, run_medium, &job);
    kp_world_destroy(&job.world);
    if (result != KP_OK) {
      return kp_fail_in(result, "%s in the kernel check", job.medium->name);
    }
  }
  return KP_OK;
}

// ---- the flow that grid methods share

typedef struct flow_job {
  kp_world *world;
  int64_t cells;
} flow_job;

static kp_result run_flow(void *user) {
  const flow_job *job = user;
  return kp_kernel_flow(job->world, job->cells);
}

static kp_result check_flow(kernel_table *table, const kp_kernels_def *def) {
  flow_job job = { .cells = def->particles };
  KP_TRY(kp_world_create(def->backend, &job.world));
  kp_result result = observe(table, "flow", job.world->backend, run_flow, &job);
  kp_world_destroy(&job.world);
  return result;
}

// ---- rays, which only pictures cast

typedef struct rays_job {
  kp_backend *backend;
  int64_t n;
} rays_job;

static kp_result run_rays(void *user) {
  const rays_job *job = user;
  return kp_kernel_rays(job->backend, job->n);
}

static kp_result check_rays(kernel_table *table, kp_backend *backend, int64_t n) {
  rays_job job = { backend, n };
  return observe(table, "rays", backend, run_rays, &job);
}

// ---- surfaces, which only frames ask for

static kp_result run_surfaces(void *user) {
  const rays_job *job = user;
  return kp_kernel_surfaces(job->backend, job->n);
}

static kp_result check_surfaces(kernel_table *table, kp_backend *backend, int64_t n) {
  rays_job job = { backend, n };
  return observe(table, "surfaces", backend, run_surfaces, &job);
}

// ---- the registry with cold fields, which no method has yet

static const kp_field_desc registry_fields[] = {
  { "hot1", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 3.0 },
  { "hot4", KP_TYPE_U32, 1, "", KP_FIELD_STATE, 5.0 },
  { "hot8", KP_TYPE_F64, 1, "", KP_FIELD_STATE, 7.0 },
  { "cold1", KP_TYPE_U8, 1, "", KP_FIELD_SAVE | KP_FIELD_COLD, 1.0 },
  { "cold4", KP_TYPE_U32, 1, "", KP_FIELD_SAVE | KP_FIELD_COLD, 2.0 },
  { "cold8", KP_TYPE_F64, 1, "", KP_FIELD_SAVE | KP_FIELD_COLD, 4.0 },
};

#define N_REGISTRY_FIELDS (sizeof registry_fields / sizeof registry_fields[0])

typedef struct registry_job {
  kp_space *space;
  kp_buffer keep;
  int64_t n;
} registry_job;

static kp_result keep_two_of_three(registry_job *job) {
  int64_t n = job->space->n;
  KP_TRY(kp_buffer_resize(&job->keep, (size_t)n * sizeof(uint32_t)));
  uint32_t *keep = kp_buffer_host(&job->keep, KP_ACCESS_OVERWRITE);
  if (keep == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < n; ++i) {
    keep[i] = i % 3 != 0;
  }
  return kp_space_remove(job->space, &job->keep);
}

// New elements whose cold fields bring values.
static kp_result append_values(registry_job *job) {
  size_t n = (size_t)job->n;
  void *values = kp_alloc_zero(n * sizeof(double), KP_MEMORY_SCRATCH);
  if (values == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_append_value cold[3];
  for (size_t k = 0; k < 3; ++k) {
    cold[k] =
        (kp_append_value){ kp_space_find(job->space, registry_fields[3 + k].name), { values } };
  }
  kp_result result = kp_space_append(job->space, job->n, cold, 3);
  kp_free(values);
  return result;
}

static kp_result run_registry(void *user) {
  registry_job *job = user;
  KP_TRY(kp_space_add_fields(job->space, registry_fields, N_REGISTRY_FIELDS));
  kp_field *ring;
  const kp_field_desc wide = { "wide", KP_TYPE_F64, 1, "", KP_FIELD_SAVE | KP_FIELD_COLD, 6.0 };
  KP_TRY(kp_space_add_wide_field(job->space, &wide, 5, &ring));
  KP_TRY(kp_space_append(job->space, job->n, NULL, 0));
  KP_TRY(keep_two_of_three(job));
  KP_TRY(append_values(job));
  KP_TRY(keep_two_of_three(job));
  return kp_space_compact_cold(job->space);
}

static kp_result check_registry(kernel_table *table, kp_backend *backend, int64_t n) {
  kp_registry *registry = NULL;
  registry_job job = { .n = n };
  kp_buffer_init(&job.keep, backend);
  kp_result result = kp_registry_create(backend, &registry);
  if (result == KP_OK) {
    result = kp_registry_add_space(registry, "elements", KP_SPACE_PARTICLES, &job.space);
  }
  if (result == KP_OK) {
    result = observe(table, "registry", backend, run_registry, &job);
  }
  kp_buffer_free(&job.keep);
  kp_registry_destroy(&registry);
  return result;
}

// ---- pair rows with values of every size, over points that move

static const kp_field_desc row_values[] = {
  { "one", KP_TYPE_U8, 1, "", KP_FIELD_SAVE, 3.0 },
  { "four", KP_TYPE_U32, 1, "", KP_FIELD_SAVE, 5.0 },
  { "eight", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 7.0 },
};

typedef struct rows_job {
  kp_case_points points;
  kp_pair_rows *rows;
} rows_job;

static kp_result run_rows(void *user) {
  rows_job *job = user;
  kp_case_points *points = &job->points;
  kp_pair_rows_search search = { .cells = points->cells,
                                 .partner_cells = points->cells,
                                 .radius = points->radius };
  for (uint64_t turn = 0; turn < 2; ++turn) {
    KP_TRY(kp_case_points_move(points, turn));
    KP_TRY(kp_cells_build(points->cells, NULL));
    KP_TRY(kp_pair_rows_build(job->rows, &search));
  }
  return KP_OK;
}

static kp_result check_rows(kernel_table *table, const kp_kernels_def *def) {
  rows_job job = { .rows = NULL };
  KP_TRY(kp_case_points_create(def->backend, def->particles, &job.points));
  kp_pair_rows_def rows = { .name = "rows",
                            .set = job.points.set,
                            .values = row_values,
                            .n_values = sizeof row_values / sizeof row_values[0] };
  kp_result result = kp_pair_rows_create(job.points.registry, &rows, &job.rows);
  if (result == KP_OK) {
    result = observe(table, "pair rows", job.points.backend, run_rows, &job);
  }
  kp_pair_rows_destroy(&job.rows);
  kp_case_points_destroy(&job.points);
  return result;
}

// ---- vectors: a diagonal system with a null vector, and the operations it has no use for

typedef struct vector_job {
  kp_pcg pcg;
  kp_buffer diagonal, null_vector, b, x;
  int64_t n;
} vector_job;

static kp_result apply_diagonal(void *self, kp_buffer *x, kp_buffer *y) {
  vector_job *job = self;
  return kp_vector_multiply(job->n, &job->diagonal, x, y);
}

static kp_result fill_vectors(vector_job *job) {
  kp_buffer *all[] = { &job->diagonal, &job->null_vector, &job->b, &job->x };
  for (int k = 0; k < 4; ++k) {
    KP_TRY(kp_vector_resize(all[k], job->n));
    KP_TRY(kp_vector_fill(job->n, 0.0, all[k]));
  }
  kp_real *diagonal = kp_buffer_host(&job->diagonal, KP_ACCESS_WRITE);
  kp_real *null_vector = kp_buffer_host(&job->null_vector, KP_ACCESS_WRITE);
  kp_real *b = kp_buffer_host(&job->b, KP_ACCESS_WRITE);
  if (diagonal == NULL || null_vector == NULL || b == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < job->n; ++i) {
    diagonal[i] = i == 0 ? (kp_real)0 : (kp_real)(1.0 + (double)(i % 7));
    null_vector[i] = i == 0 ? (kp_real)1 : (kp_real)0;
    b[i] = (kp_real)(1.0 + 0.5 * (double)(i % 5));
  }
  return KP_OK;
}

static kp_result run_vectors(void *user) {
  vector_job *job = user;
  double sum;
  KP_TRY(fill_vectors(job));
  kp_pcg_def def = kp_default_pcg_def();
  def.n = job->n;
  def.apply = apply_diagonal;
  def.apply_self = job;
  def.null_vector = &job->null_vector;
  def.tolerance = 1e-4;
  KP_TRY(kp_pcg_solve(&job->pcg, &def, &job->b, &job->x));
  KP_TRY(kp_vector_xpay(job->n, &job->b, -0.25, &job->x));
  KP_TRY(kp_vector_scale(job->n, 0.5, &job->x));
  return kp_vector_dot(job->n, &job->b, &job->x, &sum);
}

static kp_result check_vectors(kernel_table *table, kp_backend *backend, int64_t n) {
  vector_job job = { .n = n };
  kp_buffer *all[] = { &job.diagonal, &job.null_vector, &job.b, &job.x };
  kp_pcg_init(&job.pcg, backend);
  for (int k = 0; k < 4; ++k) {
    kp_buffer_init(all[k], backend);
  }
  kp_result result = observe(table, "vectors", backend, run_vectors, &job);
  for (int k = 0; k < 4; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_pcg_free(&job.pcg);
  return result;
}

// ---- advection by every scheme, which one scene does not need

static kp_result run_advection(void *user) {
  kp_case_vortices *vortices = user;
  const int32_t lo[3] = { 0, 0, 0 };
  const int32_t hi[3] = { 1, 1, 1 };
  for (int scheme = 0; scheme < KP_ADVECT_SCHEME_COUNT; ++scheme) {
    for (int how = 0; how < KP_ADVECT_INTERPOLATION_COUNT; ++how) {
      vortices->def = (kp_advect_def){ scheme, KP_ADVECT_REVERT, scheme % 3, how };
      KP_TRY(kp_case_vortices_turn(vortices));
    }
  }
  KP_TRY(kp_mac_set_window(vortices->mac, lo, hi, 0));
  return kp_case_vortices_turn(vortices);
}

static kp_result check_advection(kernel_table *table, const kp_kernels_def *def) {
  kp_case_vortices *vortices = NULL;
  int64_t n = (int64_t)fmax(20.0, round(cbrt((double)def->particles)));
  KP_TRY(kp_case_vortices_create(def->backend, n, &vortices));
  kp_result result = observe(table, "advection", vortices->backend, run_advection, vortices);
  kp_case_vortices_destroy(&vortices);
  return result;
}

// ---- pressure: every boundary, with images across a periodic axis too

static kp_result run_pressure(void *user) {
  kp_poisson_report report;
  return kp_case_poisson_solve(user, &report);
}

static kp_result check_pressure(kernel_table *table, const kp_kernels_def *def) {
  kp_case_poisson_def one = kp_default_case_poisson_def();
  one.backend = def->backend;
  one.edge = (int64_t)fmax(16.0, round(cbrt((double)def->particles)));
  // every kernel is compared on its own: a few iterations tell as much as many
  one.max_iterations = 3;
  for (int k = 0; k < 2 * KP_CASE_POISSON_KINDS; ++k) {
    kp_case_poisson pressure;
    one.kind = (kp_case_poisson_kind)(k / 2);
    one.is_periodic = k % 2 == 1;
    KP_TRY(kp_case_poisson_create(&one, &pressure));
    kp_result result = observe(table, "pressure", pressure.backend, run_pressure, &pressure);
    kp_case_poisson_destroy(&pressure);
    KP_TRY(result);
  }
  return KP_OK;
}

// ---- lists, which are not launched by calls: the same points on both, in the same order

static kp_result time_lists(kp_case_points *points, double *seconds) {
  kp_cells *cells = points->cells;
  KP_TRY(kp_cells_build(cells, NULL));
  KP_TRY(kp_wait(points->backend));
  double begin = kp_time_now();
  KP_TRY(kp_pair_lists_build_plain(&points->lists, cells, cells, points->radius, false));
  KP_TRY(kp_wait(points->backend));
  *seconds = kp_time_now() - begin;
  return KP_OK;
}

static int64_t count_different(kp_buffer *a, kp_buffer *b) {
  const uint32_t *x = kp_buffer_host(a, KP_ACCESS_READ);
  const uint32_t *y = kp_buffer_host(b, KP_ACCESS_READ);
  if (x == NULL || y == NULL || a->used != b->used) {
    return 1;
  }
  int64_t n = 0;
  for (size_t k = 0; k < a->used / sizeof *x; ++k) {
    n += x[k] != y[k];
  }
  return n;
}

static kp_result compare_lists(kernel_table *table, kp_case_points *device, kp_case_points *cpu) {
  double seconds;
  double cpu_seconds;
  KP_TRY(time_lists(device, &seconds));
  KP_TRY(time_lists(cpu, &cpu_seconds));
  const char *const names[] = { "lists.count", "lists.fill" };
  kp_buffer *found[] = { &device->lists.start, &device->lists.indices };
  kp_buffer *wanted[] = { &cpu->lists.start, &cpu->lists.indices };
  for (int k = 0; k < 2; ++k) {
    kernel_row *row = find_row(table, names[k]);
    row->n_calls += 1;
    row->n_compared += 1;
    row->n_elements += device->set->space->n;
    row->n_timed += device->set->space->n;
    // one clock for both passes
    row->seconds += 0.5 * seconds;
    row->cpu_seconds += 0.5 * cpu_seconds;
    row->n_different += count_different(found[k], wanted[k]);
  }
  return KP_OK;
}

static kp_result check_lists(kernel_table *table, const kp_kernels_def *def) {
  kp_case_points device;
  kp_case_points cpu;
  KP_TRY(kp_case_points_create(def->backend, def->particles, &device));
  kp_result result = kp_case_points_create("cpu", def->particles, &cpu);
  if (result == KP_OK) {
    result = compare_lists(table, &device, &cpu);
    kp_case_points_destroy(&cpu);
  }
  kp_case_points_destroy(&device);
  return result;
}

// ---- report

static bool is_row_right(const kernel_row *row) {
  return row->n_compared > 0 && row->n_different == 0 && !row->is_off;
}

static void print_row(const kp_kernels_def *def, const kernel_row *row) {
  double n = row->n_timed > 0 ? (double)row->n_timed : 1.0;
  double ns = 1e9 * row->seconds / n;
  double cpu_ns = 1e9 * row->cpu_seconds / n;
  const char *verdict = row->n_calls == 0 ? "NEVER LAUNCHED" : is_row_right(row) ? "ok" : "FAIL";
  const char *form =
      def->json ? "{\"kernel\": \"%s\", \"backend\": \"%s\", \"launches\": %lld, "
                  "\"elements\": %lld, \"difference\": %.3g, \"wrong\": %lld, \"ns\": %.4g, "
                  "\"cpu_ns\": %.4g, \"verdict\": \"%s\"}\n"
                : "%-34s %-6s %8lld %11lld %10.2g %8lld %10.3f %10.3f  %s\n";
  // a difference that is not finite is no number of JSON
  double relative = fmin(row->relative, 1e300);
  (void)printf(form, row->kernel->name, def->backend, (long long)row->n_calls,
               (long long)row->n_elements, relative, (long long)row->n_different, ns, cpu_ns,
               verdict);
  if (!def->json && row->is_off) {
    const kp_call_worst *worst = &row->worst.difference.worst;
    (void)printf("  argument at byte %u: element %lld is %.9g, on the CPU %.9g, of at most %.3g\n",
                 row->worst.offset, (long long)worst->index, worst->device, worst->cpu,
                 worst->largest);
  }
}

static bool print_table(const kp_kernels_def *def, const kernel_table *table) {
  size_t n_right = 0;
  if (!def->json) {
    (void)printf("%-34s %-6s %8s %11s %10s %8s %10s %10s\n", "kernel", "on", "launches", "elements",
                 "difference", "wrong", "ns", "cpu ns");
  }
  for (size_t k = 0; k < table->count; ++k) {
    print_row(def, &table->data[k]);
    n_right += is_row_right(&table->data[k]);
  }
  if (!def->json) {
    (void)printf("%zu of %zu kernels are right (difference at most %.0e of the largest value, no "
                 "wrong whole number)\n",
                 n_right, table->count, tolerance_of(def->backend));
  }
  return n_right == table->count;
}

static kp_result check_all(kernel_table *table, const kp_kernels_def *def) {
  kp_backend_kind kind;
  kp_backend *backend = NULL;
  KP_TRY(kp_backend_parse(def->backend, &kind));
  KP_TRY(kp_backend_create(kind, &backend));
  kp_result result = check_registry(table, backend, def->particles);
  if (result == KP_OK) {
    result = check_vectors(table, backend, def->particles);
  }
  if (result == KP_OK) {
    result = check_rays(table, backend, def->particles);
  }
  if (result == KP_OK) {
    result = check_surfaces(table, backend, def->particles);
  }
  kp_backend_destroy(&backend);
  KP_TRY(result);
  KP_TRY(check_lists(table, def));
  KP_TRY(check_rows(table, def));
  KP_TRY(check_pressure(table, def));
  KP_TRY(check_advection(table, def));
  KP_TRY(check_flow(table, def));
  KP_TRY(check_media(table, def));
  return check_worlds(table, def);
}

kp_result kp_kernels_check(const kp_kernels_def *def, bool *is_right) {
  kernel_table table = { 0 };
  kp_result result = fill_table(&table);
  if (result == KP_OK) {
    result = check_all(&table, def);
  }
  tell("");
  if (result == KP_OK) {
    *is_right = print_table(def, &table);
  }
  kp_array_free(&table);
  return result;
}
