// The two fires compared (Lyes 2015, Fig. 6.5 and sections 6.4.6 and 7.3), and the local gather of
// the vortices against the global one (l. 1907).
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/timer.h"
#include "cases/experiments.h"
#include "par/parallel.h"
#include "world/world.h"

#include "bench/study.h"

#define LEAST ((int64_t)1 << 12)
#define MOST ((int64_t)1 << 15)
#define SETTLE 150  // steps: the flame stands
#define TURNS 10
#define TURN_STEPS 5

static int64_t or_else(int64_t given, int64_t standard) {
  return given > 0 ? given : standard;
}

// Seconds of the processor where one thread does all the work; see study_cost.c.
static double now(const kp_study_def *def) {
  struct timespec t;
  bool alone = strcmp(def->backend, "cpu") == 0 && kp_parallel_threads() == 1;
  if (!alone || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0) {
    return kp_time_now();
  }
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static kp_result steps(kp_world *world, int64_t n) {
  for (int64_t s = 0; s < n; ++s) {
    KP_TRY(kp_world_step(world, 1.0, NULL));
  }
  return KP_OK;
}

typedef struct fire_cost {
  double mean, deviation;  // s per step, over the turns
  kp_fire_flow flow;
} fire_cost;

static kp_result time_fire(const kp_study_def *def, kp_world *world, fire_cost *out) {
  int64_t turns = or_else(def->runs, TURNS);
  double sum = 0.0;
  double square = 0.0;
  KP_TRY(kp_world_build(world));
  KP_TRY(steps(world, or_else(def->steps, SETTLE)));
  for (int64_t t = 0; t < turns; ++t) {
    KP_TRY(kp_wait(world->backend));
    double begin = now(def);
    KP_TRY(steps(world, TURN_STEPS));
    KP_TRY(kp_wait(world->backend));
    double seconds = (now(def) - begin) / TURN_STEPS;
    sum += seconds;
    square += seconds * seconds;
  }
  out->mean = sum / (double)turns;
  out->deviation = sqrt(fmax(square / (double)turns - out->mean * out->mean, 0.0));
  return kp_fire_curls(world, 0.08, 3, &out->flow);
}

kp_result kp_study_fire_models(const kp_study_def *def, FILE *out) {
  kp_study_row(out, "particles,model,seconds_per_step,deviation,over_particles,rise,curls");
  for (int64_t n = LEAST; n <= or_else(def->most, MOST); n *= 2) {
    double plain = NAN;
    for (int m = 0; m < KP_FIRE_MODELS; ++m) {
      fire_cost cost = { 0 };
      kp_world *world = NULL;
      KP_TRY(kp_world_create(def->backend, &world));
      kp_result result = kp_case_fire(world, m, n, 1.0);
      if (result == KP_OK) {
        result = time_fire(def, world, &cost);
      }
      kp_world_destroy(&world);
      KP_TRY(result);
      plain = m == KP_FIRE_PARTICLES ? cost.mean : plain;
      kp_study_row(out, "%lld,%s,%.6g,%.3g,%.4g,%.4g,%.4g", (long long)n, kp_fire_names[m],
                   cost.mean, cost.deviation, cost.mean / plain, cost.flow.rise, cost.flow.curls);
    }
  }
  return KP_OK;
}

kp_result kp_study_vortex_reach(const kp_study_def *def, FILE *out) {
  const double reaches[] = { 1.0, 1.5, 2.6, 4.0, 6.0, 10.0, 16.0, 0.0 };
  enum { N = sizeof reaches / sizeof reaches[0] };
  kp_fire_gather_row rows[N];
  kp_world *world = NULL;
  KP_TRY(kp_world_create(def->backend, &world));
  kp_result result = kp_case_fire(world, KP_FIRE_VORTEX, or_else(def->most, LEAST), 1.0);
  if (result == KP_OK) {
    result = kp_world_build(world);
  }
  if (result == KP_OK) {
    result = steps(world, or_else(def->steps, SETTLE));
  }
  if (result == KP_OK) {
    result = kp_fire_gather(world, reaches, N, rows);
  }
  kp_world_destroy(&world);
  KP_TRY(result);
  kp_study_row(out, "reach_cells,error,likeness,seconds,seconds_global");
  for (int k = 0; k < N; ++k) {
    char reach[32];
    snprintf(reach, sizeof reach, rows[k].reach > 0.0 ? "%g" : "grid", rows[k].reach);
    kp_study_row(out, "%s,%.4g,%.4g,%.4g,%.4g", reach, rows[k].error, rows[k].likeness,
                 rows[k].seconds, rows[k].seconds_global);
  }
  return KP_OK;
}
