// What integrators, water models, plasma cells and sorts cost (Lyes 2015, Figs 5.7, 5.8, 6.4, 6.7
// and section 5.1.2). Every figure is the fastest of a few turns.
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/timer.h"
#include "cases/cases.h"
#include "cases/experiments.h"
#include "data/baselines/split_merge.h"
#include "par/parallel.h"
#include "world/world.h"

#include "bench/study.h"

#define LEAST ((int64_t)1 << 14)
#define MOST ((int64_t)1 << 15)  // where nobody asks for more
#define TURNS 3
#define SORT_TURNS 9
#define TURN_STEPS 10
#define ACTIVE_STEPS 300  // the block has hit the floor
#define CALM_STEPS 2000   // and has come to rest

static const int schemes[] = { KP_INTEGRATOR_EULER, KP_INTEGRATOR_SYMPLECTIC,
                               KP_INTEGRATOR_LEAPFROG, KP_INTEGRATOR_RK2, KP_INTEGRATOR_RK4 };
static const char *const scheme_names[] = { "euler", "euler_cromer", "leapfrog", "rk2", "rk4" };

#define N_SCHEMES ((int)(sizeof schemes / sizeof schemes[0]))

// Seconds of the processor where one thread does all the work, so that what else runs on the
// machine does not count; of the clock on the wall where several do, or a card.
static double now(const kp_study_def *def) {
  struct timespec t;
  bool alone = strcmp(def->backend, "cpu") == 0 && kp_parallel_threads() == 1;
  if (!alone || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0) {
    return kp_time_now();
  }
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t or_else(int64_t given, int64_t standard) {
  return given > 0 ? given : standard;
}

static kp_result steps(kp_world *world, int64_t n) {
  for (int64_t s = 0; s < n; ++s) {
    kp_step_report report = { 0 };
    kp_result result = kp_world_step(world, 1.0, &report);
    // what runs away is part of the comparison; it goes on without judging
    if (result != KP_OK && (result != KP_ERROR_PHYSICS || report.n_bad > 0)) {
      return result;
    }
  }
  return KP_OK;
}

// Seconds of a step, the fastest turn.
static kp_result time_steps(const kp_study_def *def, kp_world *world, double *out) {
  *out = HUGE_VAL;
  for (int64_t t = 0; t < or_else(def->runs, TURNS); ++t) {
    KP_TRY(kp_wait(world->backend));
    double begin = now(def);
    KP_TRY(steps(world, TURN_STEPS));
    KP_TRY(kp_wait(world->backend));
    *out = fmin(*out, (now(def) - begin) / TURN_STEPS);
  }
  return KP_OK;
}

// ---- water --------------------------------------------------------------------------------------

static kp_result measure_water(const kp_study_def *def, const kp_water_def *water, int64_t settle,
                               double *seconds, kp_water_state *look) {
  kp_world *world = NULL;
  KP_TRY(kp_world_create(def->backend, &world));
  kp_result result = kp_case_water(world, water);
  if (result == KP_OK) {
    result = kp_world_build(world);
  }
  if (result == KP_OK) {
    result = steps(world, settle);
  }
  if (result == KP_OK) {
    result = time_steps(def, world, seconds);
  }
  if (result == KP_OK) {
    result = kp_water_look(world, look);
  }
  kp_world_destroy(&world);
  // a scheme that blows up has no cost worth telling
  if (result == KP_ERROR_PHYSICS) {
    *seconds = NAN;
    *look = (kp_water_state){ .particles = water->particles, .pairs = NAN };
    result = KP_OK;
  }
  return result;
}

kp_result kp_study_integrator_cost(const kp_study_def *def, FILE *out) {
  kp_study_row(out, "model,state,particles,scheme,seconds_per_step,over_euler,pairs_per_particle");
  for (int64_t n = LEAST; n <= or_else(def->most, LEAST); n *= 2) {
    for (int m = 0; m < KP_WATER_COUNT; ++m) {
      for (int calm = 0; calm <= 1; ++calm) {
        double euler = NAN;
        for (int s = 0; s < N_SCHEMES; ++s) {
          kp_water_def water = kp_default_water_def(m, n);
          kp_water_state look;
          double seconds;
          int64_t settle = calm ? or_else(def->steps, CALM_STEPS) : ACTIVE_STEPS;
          water.integrator = schemes[s];
          // small enough that even Euler keeps together: the cost is that of the same water
          water.dt_factor = 0.5;
          KP_TRY(measure_water(def, &water, settle, &seconds, &look));
          euler = s == 0 ? seconds : euler;
          kp_study_row(out, "%s,%s,%lld,%s,%.6g,%.4g,%.4g", kp_water_names[m],
                       calm ? "calm" : "active", (long long)look.particles, scheme_names[s],
                       seconds, seconds / euler, look.pairs);
        }
      }
    }
  }
  return KP_OK;
}

kp_result kp_study_water_models(const kp_study_def *def, FILE *out) {
  kp_study_row(out, "particles,model,seconds_per_step,pairs_per_particle,over_sph");
  for (int64_t n = LEAST; n <= or_else(def->most, MOST); n *= 2) {
    double sph = NAN;
    for (int m = 0; m <= KP_WATER_COUNT; ++m) {
      bool is_printed = m == KP_WATER_COUNT;
      kp_water_def water = kp_default_water_def(is_printed ? KP_WATER_SPRINGS : m, n);
      kp_water_state look;
      water.is_printed = is_printed;
      double seconds;
      KP_TRY(measure_water(def, &water, or_else(def->steps, CALM_STEPS), &seconds, &look));
      sph = m == KP_WATER_SPH ? seconds : sph;
      kp_study_row(out, "%lld,%s,%.6g,%.4g,%.4g", (long long)look.particles,
                   is_printed ? "printed" : kp_water_names[m], seconds, look.pairs, seconds / sph);
    }
  }
  return KP_OK;
}

// ---- plasma -------------------------------------------------------------------------------------

kp_result kp_study_plasma_radius(const kp_study_def *def, FILE *out) {
  kp_study_row(out, "case,particles,steps,moved_edges,spectral_peak,pairs_per_particle");
  int64_t particles = or_else(def->most, 4096);
  int64_t n_steps = or_else(def->steps, 1000);
  for (int k = 0; k < KP_PLASMA_CASES; ++k) {
    kp_plasma_result one;
    KP_TRY(kp_plasma_run(k, particles, n_steps, &one));
    kp_study_row(out, "%s,%lld,%lld,%.6g,%.6g,%.6g", kp_plasma_case_names[k], (long long)particles,
                 (long long)n_steps, one.moved, one.peak, one.pairs);
  }
  return KP_OK;
}

kp_result kp_study_plasma_cost(const kp_study_def *def, FILE *out) {
  int64_t particles = or_else(def->most, (int64_t)1 << 15);
  double before = NAN;
  kp_study_row(out, "multiplier,cells,particles,seconds_per_step,over_previous");
  for (int power = 0; power <= 6; ++power) {
    double multiplier = (double)(1 << power);
    double seconds = NAN;
    kp_world *world = NULL;
    KP_TRY(kp_world_create(def->backend, &world));
    kp_result result = kp_case_plasma(world, particles, multiplier);
    if (result == KP_OK) {
      result = kp_world_build(world);
    }
    if (result == KP_OK) {
      // a step at the largest radius looks at every pair: a few are enough
      double begin = now(def);
      int64_t n = or_else(def->steps, power < 4 ? 10 : 2);
      result = steps(world, n);
      seconds = (now(def) - begin) / (double)n;
    }
    kp_world_destroy(&world);
    KP_TRY(result);
    kp_study_row(out, "%g,%g,%lld,%.6g,%.4g", multiplier, pow(128.0 / multiplier, 3.0),
                 (long long)particles, seconds, seconds / before);
    before = seconds;
  }
  return KP_OK;
}

// ---- sorts --------------------------------------------------------------------------------------

typedef struct sort_arrays {
  uint32_t *old_keys, *keys, *sorted, *order;
} sort_arrays;

static void free_sort_arrays(sort_arrays *a) {
  kp_free(a->old_keys);
  kp_free(a->keys);
  kp_free(a->sorted);
  kp_free(a->order);
}

// Cells of n particles, about one each, and those of the step after, in which `moved` of them went
// to a neighbouring cell.
static kp_result make_keys(int64_t n, double moved, sort_arrays *a) {
  size_t bytes = (size_t)n * sizeof(uint32_t);
  a->old_keys = kp_alloc(bytes, KP_MEMORY_SCRATCH);
  a->keys = kp_alloc(bytes, KP_MEMORY_SCRATCH);
  a->sorted = kp_alloc(bytes, KP_MEMORY_SCRATCH);
  a->order = kp_alloc(bytes, KP_MEMORY_SCRATCH);
  if (a->old_keys == NULL || a->keys == NULL || a->sorted == NULL || a->order == NULL) {
    return KP_ERROR_MEMORY;
  }
  int64_t side = llround(cbrt((double)n));
  const int64_t strides[3] = { 1, side, side * side };
  for (int64_t i = 0; i < n; ++i) {
    a->old_keys[i] = (uint32_t)i;
    bool goes = kp_rng_uniform(1, KP_RNG_TEST, (uint64_t)i, 0) < moved;
    int way = (int)(6.0 * kp_rng_uniform(1, KP_RNG_TEST, (uint64_t)i, 1));
    int64_t next = goes ? i + (way < 3 ? strides[way] : -strides[way - 3]) : i;
    a->keys[i] = (uint32_t)(next < 0 ? 0 : (next >= n ? n - 1 : next));
  }
  return KP_OK;
}

static bool is_sorted(const sort_arrays *a, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    uint32_t before = a->order[i - 1], now = a->order[i];
    if (a->keys[before] > a->keys[now] || (a->keys[before] == a->keys[now] && before > now)) {
      return false;
    }
  }
  return true;
}

static kp_result time_radix(const kp_study_def *def, kp_backend *backend, sort_arrays *a, int64_t n,
                            double *out) {
  int bits = 1;
  while (((int64_t)1 << bits) < n) {
    ++bits;
  }
  *out = HUGE_VAL;
  for (int64_t t = 0; t < or_else(def->runs, SORT_TURNS); ++t) {
    for (int64_t i = 0; i < n; ++i) {
      a->sorted[i] = a->keys[i];
      a->order[i] = (uint32_t)i;
    }
    double begin = now(def);
    KP_TRY(kp_sort32(backend, a->sorted, a->order, n, bits));
    *out = fmin(*out, now(def) - begin);
  }
  return is_sorted(a, n) ? KP_OK : kp_fail(KP_ERROR_INTERNAL, "the radix sort is out of order");
}

static kp_result time_split(const kp_study_def *def, kp_backend *backend, sort_arrays *a, int64_t n,
                            double *out) {
  *out = HUGE_VAL;
  for (int64_t t = 0; t < or_else(def->runs, SORT_TURNS); ++t) {
    kp_split_merge_report report;
    double begin = now(def);
    KP_TRY(kp_split_merge_sort(backend, a->old_keys, a->keys, a->sorted, a->order, n, &report));
    *out = fmin(*out, now(def) - begin);
  }
  return is_sorted(a, n) ? KP_OK : kp_fail(KP_ERROR_INTERNAL, "the merged order is out of order");
}

kp_result kp_study_sorts(const kp_study_def *def, FILE *out) {
  const double shares[] = { 0.01, 0.1 };
  kp_backend *backend = NULL;
  KP_TRY(kp_backend_create(KP_BACKEND_CPU, &backend));
  kp_study_row(out, "particles,moved_share,radix_seconds,split_merge_seconds,split_over_radix");
  kp_result result = KP_OK;
  for (int64_t n = 1 << 10; n <= or_else(def->most, (int64_t)1 << 20) && result == KP_OK; n *= 2) {
    for (int k = 0; k < 2 && result == KP_OK; ++k) {
      sort_arrays a = { 0 };
      double radix = NAN, split = NAN;
      result = make_keys(n, shares[k], &a);
      if (result == KP_OK) {
        result = time_radix(def, backend, &a, n, &radix);
      }
      if (result == KP_OK) {
        result = time_split(def, backend, &a, n, &split);
      }
      if (result == KP_OK) {
        kp_study_row(out, "%lld,%g,%.6g,%.6g,%.4g", (long long)n, shares[k], radix, split,
                     split / radix);
      }
      free_sort_arrays(&a);
    }
  }
  kp_backend_destroy(&backend);
  return result;
}

// ---- search -------------------------------------------------------------------------------------

// Distances of all pairs, by the plainest loop.
static int64_t all_pairs(const kp_study_def *def, const kp_case_points *p, double *seconds) {
  const kp_pos *x = kp_buffer_host(&p->set->position->buffers[0], KP_ACCESS_READ);
  const kp_pos *y = kp_buffer_host(&p->set->position->buffers[1], KP_ACCESS_READ);
  const kp_pos *z = kp_buffer_host(&p->set->position->buffers[2], KP_ACCESS_READ);
  int64_t n = p->set->space->n, count = 0;
  double reach2 = p->radius * p->radius;
  double begin = now(def);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      count += dx * dx + dy * dy + dz * dz <= reach2 ? 1 : 0;
    }
  }
  *seconds = now(def) - begin;
  return count - n;
}

kp_result kp_study_search(const kp_study_def *def, FILE *out) {
  kp_study_row(out, "particles,grid_seconds,all_pairs_seconds,all_pairs_over_grid,neighbours");
  for (int64_t n = 1 << 12; n <= or_else(def->most, (int64_t)1 << 14); n *= 2) {
    kp_case_points points;
    KP_TRY(kp_case_points_create("cpu", n, &points));
    double mean = 0.0, grid = HUGE_VAL, brute = 0.0;
    kp_result result = KP_OK;
    for (int t = 0; t < TURNS && result == KP_OK; ++t) {
      double begin = now(def);
      result = kp_case_points_count(&points, &mean);
      grid = fmin(grid, now(def) - begin);
    }
    int64_t count = result == KP_OK ? all_pairs(def, &points, &brute) : 0;
    int64_t particles = points.set->space->n;
    kp_case_points_destroy(&points);
    KP_TRY(result);
    if (fabs((double)count / (double)particles - mean) > 1e-6 * mean) {
      return kp_fail(KP_ERROR_INTERNAL, "the grid finds %g neighbours, all pairs %g", mean,
                     (double)count / (double)particles);
    }
    kp_study_row(out, "%lld,%.6g,%.6g,%.5g,%.5g", (long long)particles, grid, brute, brute / grid,
                 mean);
  }
  return KP_OK;
}
