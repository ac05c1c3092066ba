// One sub-step, and advancing by an interval. This file is the order of events; the arithmetic is
// elsewhere.
#include "world/step.h"

#include <math.h>

#include "base/log.h"
#include "base/timer.h"

// A timer around each stage of each sub-step.
static kp_result run_stage(kp_world *world, int group, kp_stage stage) {
  double start = kp_time_now();
  kp_result result = KP_OK;
  for (size_t s = 0; s < world->systems.count && result == KP_OK; ++s) {
    kp_system *system = &world->systems.data[s];
    if (system->group == group && system->method->stages[stage] != NULL) {
      kp_world_loads_before(world, system);
      result = system->method->stages[stage](system->self, &world->env);
      if (result == KP_OK) {
        result = kp_world_loads_after(world, system, stage);
      }
    }
  }
  kp_profile_add(&world->profile, kp_profile_slot(&world->profile, kp_stage_names[stage]),
                 kp_time_now() - start);
  return result;
}

static kp_result begin_evaluation(kp_world *world, int group) {
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    if (system->group == group && system->method->begin != NULL) {
      KP_TRY(system->method->begin(system->self, &world->env));
    }
  }
  return KP_OK;
}

static int evaluations(const kp_world *world, int group) {
  int most = 1;
  for (size_t s = 0; s < world->systems.count; ++s) {
    const kp_system *system = &world->systems.data[s];
    if (system->group == group && system->method->evaluations != NULL) {
      int n = system->method->evaluations(system->self);
      most = n > most ? n : most;
    }
  }
  return most;
}

static double longest_step(const kp_method *method) {
  return method->longest_step > 0.0 ? method->longest_step : KP_LONGEST_STEP;
}

// The smallest limit any method of the group asks for.
static double step_limit(kp_world *world, int group) {
  const kp_simulation_def *def = &world->spec.simulation;
  if (!isnan(def->dt)) {
    return def->dt * world->dt_scale;
  }
  bool is_told = !isnan(def->dt_max);
  double dt = is_told ? def->dt_max : 1.0;
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    if (system->group == group && !is_told) {
      dt = fmin(dt, longest_step(system->method));
    }
    if (system->group == group && system->method->max_dt != NULL) {
      dt = fmin(dt, system->method->max_dt(system->self, &world->env));
    }
  }
  return dt * world->dt_scale;
}

double kp_world_step_limit(kp_world *world) {
  double limit = HUGE_VAL;
  for (int group = 0; group < world->n_groups; ++group) {
    limit = fmin(limit, step_limit(world, group));
  }
  return limit;
}

// Cut so that the interval ends exactly, with no sliver at its end: two limits left become two
// halves.
static double cut_step(double limit, double left) {
  if (left <= limit * (1.0 + 1e-9)) {
    return left;
  }
  return left < 2.0 * limit ? 0.5 * left : limit;
}

static kp_result check_report(kp_world *world) {
  const kp_step_report *r = &world->env.report;
  if (r->n_bad > 0) {
    return kp_fail(KP_ERROR_PHYSICS,
                   "%lld particles or bodies ran away or have no finite state at t = %g s",
                   (long long)r->n_bad, world->env.time);
  }
  if (r->n_escaped > 0) {
    return kp_fail(KP_ERROR_PHYSICS, "%lld particles escaped from the domain at t = %g s",
                   (long long)r->n_escaped, world->env.time);
  }
  double dt_min = world->spec.simulation.dt_min;
  if (r->dt_limit < dt_min) {
    return kp_fail(KP_ERROR_PHYSICS, "the time step fell to %g s at t = %g s, below dt_min = %g s",
                   r->dt_limit, world->env.time, dt_min);
  }
  return KP_OK;
}

// What happened, over several sub-steps of a group.
static void add_report(kp_step_report *sum, const kp_step_report *one) {
  kp_step_report total = *one;
  total.steps = sum->steps + one->steps;
  total.n_removed = sum->n_removed + one->n_removed;
  total.n_emitted = sum->n_emitted + one->n_emitted;
  total.retries = sum->retries + one->retries;
  total.max_speed = fmax(sum->max_speed, one->max_speed);
  *sum = total;
}

// What the groups of a world tell together: populations add up, the finest group counts the steps.
static void join_report(kp_step_report *all, const kp_step_report *group) {
  all->n_particles += group->n_particles;
  all->n_removed += group->n_removed;
  all->n_emitted += group->n_emitted;
  all->n_bad += group->n_bad;
  all->n_escaped += group->n_escaped;
  all->steps = group->steps > all->steps ? group->steps : all->steps;
  all->dt_limit = fmin(all->dt_limit, group->dt_limit);
  all->max_speed = fmax(all->max_speed, group->max_speed);
  all->max_acceleration = fmax(all->max_acceleration, group->max_acceleration);
}

// The list: one sub-step of a group of strongly coupled systems.
static kp_result sub_step(kp_world *world, int group) {
  kp_env *env = &world->env;
  KP_TRY(run_stage(world, group, KP_STAGE_POPULATION));
  int n = evaluations(world, group);
  for (env->evaluation = 0; env->evaluation < n; ++env->evaluation) {
    KP_TRY(begin_evaluation(world, group));
    KP_TRY(run_stage(world, group, KP_STAGE_SPACE));
    KP_TRY(run_stage(world, group, KP_STAGE_PREPARE));
    KP_TRY(run_stage(world, group, KP_STAGE_FORCES));
    KP_TRY(run_stage(world, group, KP_STAGE_PREDICT));
  }
  KP_TRY(run_stage(world, group, KP_STAGE_CONTACT));
  KP_TRY(run_stage(world, group, KP_STAGE_SOLVE));
  KP_TRY(run_stage(world, group, KP_STAGE_CORRECT));
  KP_TRY(run_stage(world, group, KP_STAGE_CHECK));
  return KP_OK;
}

// A group on its way through the coupling interval, as often as its own limit asks.
static kp_result run_group(kp_world *world, int group, double interval, kp_step_report *sum) {
  kp_env *env = &world->env;
  double start = env->time;
  double done = 0.0;
  while (done < interval) {
    env->report = (kp_step_report){ .dt_limit = step_limit(world, group), .steps = 1 };
    env->dt = cut_step(env->report.dt_limit, interval - done);
    env->report.dt = env->dt;
    env->time = start + done;
    KP_TRY(sub_step(world, group));
    add_report(sum, &env->report);
    done = env->dt >= interval - done ? interval : done + env->dt;
    if (env->report.n_bad > 0) {
      break;
    }
  }
  env->time = start;
  return KP_OK;
}

// The world advances by a coupling interval: the limit of its slowest group, inside which the
// others sub-step.
static kp_result take_step(kp_world *world, double longest, kp_step_report *report) {
  kp_env *env = &world->env;
  double limit = 0.0;
  for (int group = 0; group < world->n_groups; ++group) {
    limit = fmax(limit, step_limit(world, group));
  }
  double interval = cut_step(limit, longest);
  kp_step_report all = { .dt = interval, .dt_limit = HUGE_VAL };
  for (int group = 0; group < world->n_groups; ++group) {
    kp_step_report sum = { 0 };
    KP_TRY(run_group(world, group, interval, &sum));
    join_report(&all, &sum);
  }
  double before = env->time;
  env->time += interval;
  env->report = all;
  world->n_steps += 1;
  KP_TRY(kp_world_store_clock(world));
  if (report != NULL) {
    *report = all;
  }
  kp_result result = check_report(world);
  if (env->report.n_bad == 0) {
    KP_TRY(kp_world_probes_step(world, before));
  }
  return result;
}

kp_result kp_world_step(kp_world *world, double longest, kp_step_report *report) {
  KP_TRY(kp_world_need_built(world));
  if (!(longest > 0.0) || !isfinite(longest)) {
    return kp_fail(KP_ERROR_ARGUMENT, "a step of at most %g s: it must be positive", longest);
  }
  kp_world_loads_begin(world);
  return take_step(world, longest, report);
}

// Sub-steps until the end of the interval or the first trouble.
static kp_result advance_to(kp_world *world, double end, kp_step_report *sum) {
  while (world->env.time < end) {
    if (sum->retries > 0 && world->stop != NULL && *world->stop != 0) {
      return kp_fail(KP_STOPPED, "stopped while trying again for the %lld. time, at %g s",
                     (long long)sum->retries, world->env.time);
    }
    double left = end - world->env.time;
    kp_step_report one = { 0 };
    kp_result result = take_step(world, left, &one);
    add_report(sum, &one);
    if (result == KP_ERROR_PHYSICS && world->spec.simulation.policy == KP_POLICY_WARN &&
        world->env.report.n_bad == 0) {
      kp_log(KP_LOG_WARN, "world", "%s", kp_last_error());
    } else if (result != KP_OK) {
      return result;
    }
    if (one.dt >= left) {
      // the last step was cut to end exactly here; leave no rounding behind
      world->env.time = end;
    }
  }
  return kp_world_store_clock(world);
}

kp_result kp_world_advance(kp_world *world, double seconds, kp_step_report *report) {
  KP_TRY(kp_world_need_built(world));
  if (!(seconds >= 0.0) || !isfinite(seconds)) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "%g s cannot be advanced: they must be finite and not negative", seconds);
  }
  double end = world->env.time + seconds;
  const kp_simulation_def *def = &world->spec.simulation;
  bool may_retry = def->policy == KP_POLICY_RETRY;
  kp_step_report sum = { 0 };
  kp_world_loads_begin(world);
  if (may_retry) {
    KP_TRY(kp_registry_save(world->registry, &world->snapshot));
  }
  double scale = world->dt_scale;
  size_t n_rows = world->probes.rows.count;
  size_t n_loads = world->probes.loads.count;
  kp_result result = advance_to(world, end, &sum);
  for (int64_t r = 0; may_retry && result == KP_ERROR_PHYSICS && r < def->retries; ++r) {
    kp_log(KP_LOG_WARN, "world", "%s; trying again with half the step", kp_last_error());
    KP_TRY(kp_registry_rewind(world->registry, world->snapshot));
    KP_TRY(kp_world_after_load(world));
    world->probes.rows.count = n_rows;
    world->probes.loads.count = n_loads;
    // the rewind brought back the scale of the first try
    scale *= 0.5;
    world->dt_scale = scale;
    int64_t retries = sum.retries + 1;
    sum = (kp_step_report){ .retries = retries };
    result = advance_to(world, end, &sum);
  }
  if (may_retry && result == KP_STOPPED) {
    // as if the interval had not begun, so that a run can go on from here
    KP_TRY(kp_registry_rewind(world->registry, world->snapshot));
    KP_TRY(kp_world_after_load(world));
    world->probes.rows.count = n_rows;
    world->probes.loads.count = n_loads;
    if (report != NULL) {
      *report = sum;
    }
    return result;
  }
  // a calm interval earns the step back
  world->dt_scale = sum.retries == 0 ? fmin(1.0, 2.0 * world->dt_scale) : world->dt_scale;
  if (report != NULL) {
    *report = sum;
  }
  KP_TRY(kp_world_store_clock(world));
  return result;
}
