// The system of all deformables: its life, the loop of a sub-step, and what it tells.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/timer.h"
#include "data/curve.h"
#include "methods/deform/fabric.h"

extern const kp_kernel deform_move_kernel, deform_strain_rate_kernel, deform_energy_kernel,
    deform_sums_kernel;

#define HAIR_SHARE 4.0  // of the longest step in which rounding leaves masses, for hair
#define FREE_SHARE                                                                                 \
  4.0  // of the longest stable step, for implicit springs that may carry free bodies
#define FREE_STEPS 2.0  // of a turn, then

// ---- life ---------------------------------------------------------------------------------------

static void deform_destroy(void **self) {
  kp_deform *deform = *self;
  if (deform != NULL) {
    kp_deform_bodies_free(&deform->bodies);
    kp_deform_free_model(deform);
    kp_free(deform);
    *self = NULL;
  }
}

static kp_result copy_picture(const kp_part *part, kp_env_part *out) {
  for (size_t t = 0; t < part->triangles.count; ++t) {
    KP_TRY(kp_array_push(&out->triangles, part->triangles.data[t]));
  }
  for (size_t t = 0; t < part->tets.count && part->triangles.count > 0; ++t) {
    const kp_tet *tet = &part->tets.data[t];
    for (int c = 0; c < 4 && tet->kind != KP_TET_HINGE; ++c) {
      KP_TRY(kp_array_push(&out->tets, tet->v[c]));
    }
  }
  for (size_t s = 0; s < part->strands.count; ++s) {
    const kp_strand *strand = &part->strands.data[s];
    KP_TRY(kp_array_push(&out->offsets, (uint64_t)out->points.count));
    for (kp_index k = 0; k < strand->count; ++k) {
      KP_TRY(kp_array_push(&out->points, part->curve.data[strand->first + k]));
    }
  }
  return part->strands.count > 0 ? kp_array_push(&out->offsets, (uint64_t)out->points.count)
                                 : KP_OK;
}

// The world draws and writes every part.
static kp_result show_part(kp_deform *d, kp_env *env, const kp_part *part) {
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *place = &d->parts.data[p];
    if (strcmp(part->name, place->name) == 0) {
      kp_env_part shown = { .set = d->set,
                            .first = place->nodes.first,
                            .count = place->nodes.n,
                            .radius = part->radius,
                            .is_knit = part->is_knit,
                            .yarn = part->yarn,
                            .color = part->color };
      kp_text_copy(shown.name, sizeof shown.name, place->name);
      kp_result result = copy_picture(part, &shown);
      if (result != KP_OK) {
        kp_array_free(&shown.triangles);
        kp_array_free(&shown.tets);
        kp_array_free(&shown.points);
        kp_array_free(&shown.offsets);
        return result;
      }
      return kp_env_show_part(env, &shown);
    }
  }
  return KP_OK;
}

static kp_result setup(kp_deform *d, kp_env *env, kp_part *const *parts, size_t n_parts,
                       const kp_pin_def *pins, size_t n_pins) {
  KP_TRY(kp_deform_doubt(d, env, parts, n_parts));
  KP_TRY(kp_deform_join(d, env, parts, n_parts));
  kp_deform_doubt_stiffness(d, env);
  KP_TRY(kp_deform_make_pins(d, env, pins, n_pins));
  KP_TRY(kp_deform_make_contact(d, env));
  KP_TRY(kp_deform_bodies_create(d, env));
  for (size_t p = 0; p < n_parts; ++p) {
    KP_TRY(show_part(d, env, parts[p]));
  }
  return KP_OK;
}

kp_result kp_deform_create(kp_env *env, const kp_solids_def *def, kp_part *const *parts,
                           size_t n_parts, const kp_pin_def *pins, size_t n_pins, kp_deform **out) {
  kp_deform *deform = kp_alloc_zero(sizeof *deform, KP_MEMORY_WORLD);
  if (deform == NULL) {
    return KP_ERROR_MEMORY;
  }
  deform->def = *def;
  kp_result result = setup(deform, env, parts, n_parts, pins, n_pins);
  if (result != KP_OK) {
    void *self = deform;
    deform_destroy(&self);
    return result;
  }
  *out = deform;
  return KP_OK;
}

// ---- the length of a step -----------------------------------------------------------------------

static kp_result strain_rate(kp_deform *d, double *out) {
  deform_strain_rate_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &deform_strain_rate_kernel, &a);
  KP_BIND(&call, &a, a, &d->springs.a, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &d->springs.b, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &d->springs.rest, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  double in_tets;
  *out = 0.0;
  KP_TRY(kp_deform_tets_strain_rate(d, &in_tets));
  if (d->springs.n > 0) {
    KP_TRY(kp_call_reduce(d->set->space->backend, &call, d->springs.n, out));
  }
  *out = fmax(*out, in_tets);
  return KP_OK;
}

// Of the rounding step: longer ones see nothing of masses.
#define BEYOND 2.0

double kp_deform_rounding_step(const kp_deform *d, const kp_deform_part *part) {
  double rounding = sizeof(kp_real) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;
  // hairs are decomposed, which bears more
  double share = d->hair.locks[part->scheme].n == 0 ? 1.0 : HAIR_SHARE;
  return kp_schemes[part->scheme].is_implicit ? share * part->period / sqrt(rounding) : HUGE_VAL;
}

// Of an inner step: what explicit springs bear, and how much springs may change in it (S76).
static double inner_limit(kp_deform *d, kp_env *env) {
  d->bears = HUGE_VAL;
  if (!isnan(d->def.dt)) {
    return d->def.dt;
  }
  double limit = kp_hair_max_dt(d, env);
  for (size_t g = 0; g < d->groups.count; ++g) {
    const kp_deform_group *group = &d->groups.data[g];
    bool counts = !kp_deform_is_explicit(d, group->scheme) && d->def.cfl > 0.0;
    limit = counts ? fmin(limit, d->def.cfl * group->limit) : limit;
  }
  double advised;
  kp_result result = kp_deform_explicit_step(d, env, &d->bears, &advised);
  limit = fmin(limit, d->def.cfl > 0.0 ? d->def.cfl * d->bears : advised);
  for (size_t p = 0; p < d->parts.count; ++p) {
    limit = fmin(limit, kp_deform_rounding_step(d, &d->parts.data[p]));
  }
  double rate = 0.0;
  result = result == KP_OK ? strain_rate(d, &rate) : result;
  if (result != KP_OK) {
    d->limit_result = result;
  } else if (rate > 0.0) {
    limit = fmin(limit, d->def.strain_rate / rate);
  }
  return limit;
}

// The same, and how many make a turn. What rests on cloth is carried by nodes that its body keeps
// off (deform_guests.c), and a solve does not know of that: a node with the load F at springs k is
// moved by F/k where h^2 k is more than its mass, then put back, which stirs the springs. So steps
// stay within a few times what explicit springs bear while a free body is near, and turns are
// short, since the edges that are near change.
static double turn_limit(kp_deform *d, kp_env *env, double *n) {
  double limit = inner_limit(d, env);
  *n = (double)d->def.inner;
  double bound = kp_deform_free_limit(d, env, fmin(*n * limit, env->simulation.dt_max));
  if (bound < HUGE_VAL) {
    limit = isnan(d->def.dt) ? fmin(limit, FREE_SHARE * bound) : limit;
    *n = fmin(*n, FREE_STEPS);
  }
  return limit;
}

static double deform_max_dt(void *self, kp_env *env) {
  double n;
  double limit = turn_limit(self, env, &n);
  return n * limit;
}

// ---- a sub-step ---------------------------------------------------------------------------------

static kp_result move(kp_deform *d, kp_env *env) {
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_copy(&d->old.c[c], &d->set->position->buffers[c]));
  }
  deform_move_args a = { .dt = d->dt };
  kp_call call;
  kp_call_init(&call, &deform_move_kernel, &a);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, d->set->space->n);
}

// Factors of the stiffness, in the middle of the step.
static void find_strengths(kp_deform *d) {
  for (size_t p = 0; p < d->parts.count; ++p) {
    kp_deform_part *part = &d->parts.data[p];
    double now = 1.0;
    if (part->strength.components > 0) {
      kp_curve_at(&part->strength, d->time + 0.5 * d->dt, &now, NULL);
    }
    part->strength_now = now > 0.0 ? now : 0.0;  // a cubic may overshoot
    part->is_beyond_rounding = d->dt > BEYOND * kp_deform_rounding_step(d, part);
  }
}

// What a part of a step took since the last one, for the profile: "solids_springs",
// "solids_contact" with each other and with bodies, "solids_links" of hairs.
static void spend(kp_env *env, const char *part, double *since) {
  double now = kp_time_now();
  kp_profile_add(env->profile, kp_profile_slot(env->profile, part), now - *since);
  *since = now;
}

static kp_result inner_step(kp_deform *d, kp_env *env) {
  find_strengths(d);
  KP_TRY(kp_deform_lead(d, env));
  KP_TRY(kp_hair_lead(d, env));
  KP_TRY(kp_deform_weigh(d, env));
  KP_TRY(kp_deform_weather(d, env));
  double clock = kp_time_now();
  for (size_t g = 0; g < d->groups.count; ++g) {
    const kp_deform_group *group = &d->groups.data[g];
    KP_TRY(kp_schemes[group->scheme].predict(d, env, group));
  }
  spend(env, "solids_springs", &clock);
  KP_TRY(kp_hair_limit(d, env));
  clock = kp_time_now();
  KP_TRY(kp_deform_repulse(d, KP_CONTACT_MOVING));
  KP_TRY(move(d, env));
  KP_TRY(kp_deform_collide(d, env));
  spend(env, "solids_contact", &clock);
  for (size_t g = 0; g < d->groups.count; ++g) {
    const kp_deform_group *group = &d->groups.data[g];
    KP_TRY(kp_schemes[group->scheme].finish(d, env, group));
  }
  spend(env, "solids_springs", &clock);
  KP_TRY(kp_deform_rub(d, env));
  KP_TRY(kp_deform_repulse(d, KP_CONTACT_FINAL));
  spend(env, "solids_contact", &clock);
  return KP_OK;
}

static kp_result inner_steps(kp_deform *d, kp_env *env, int64_t first, int64_t n) {
  for (int64_t k = first; k < first + n; ++k) {
    d->time = env->time + (double)k * d->dt;
    KP_TRY(inner_step(d, env));
    d->lead += kp_deform_kick_time(d) - d->dt;
    d->dt_last = d->dt;
    ++d->inner_steps;
  }
  return KP_OK;
}

static kp_result part_collisions(kp_deform *d, kp_env *env) {
  double clock = kp_time_now();
  KP_TRY(kp_deform_part_collisions(d, env, d->turn_time));
  spend(env, "solids_contact", &clock);
  return KP_OK;
}

// One turn: never back, whatever collides (Selle 2008, section 6.2).
static kp_result turn(kp_deform *d, kp_env *env, int64_t n) {
  double clock = kp_time_now();
  KP_TRY(kp_deform_find_pairs(d, env, env->time));
  spend(env, "solids_contact", &clock);
  KP_TRY(inner_steps(d, env, 0, n));
  d->turn_time = (double)n * d->dt;
  return kp_deform_parts_late(d) ? KP_OK : part_collisions(d, env);
}

// The loop before it: back to the start with half as many steps when something collides, until it
// is one (Bridson et al. 2002; Selle 2008, L1001).
static kp_result turn_back(kp_deform *d, kp_env *env, int64_t n) {
  int64_t k = n;
  for (int64_t done = 0; done < n;) {
    k = k < n - done ? k : n - done;
    KP_TRY(kp_deform_find_pairs(d, env, env->time + (double)done * d->dt));
    for (bool collides = true; collides;) {
      KP_TRY(inner_steps(d, env, done, k));
      KP_TRY(kp_deform_any_collision(d, env, (double)k * d->dt, &collides));
      if (collides && k == 1) {
        KP_TRY(kp_deform_part_collisions(d, env, d->dt));
        collides = false;
      } else if (collides) {
        KP_TRY(kp_deform_go_back(d, env));
        k /= 2;
      }
    }
    done += k;
    k *= 2;
  }
  return KP_OK;
}

// Times of schemes that lag, from the state or to it.
static kp_result move_clock(kp_deform *d, kp_access access) {
  double *numbers[2] = { &d->dt_last, &d->lead };
  for (int c = 0; c < 2 && d->clock != NULL; ++c) {
    double *kept;
    KP_TRY(kp_buffer_get(&kp_space_find(d->clock, "times")->buffers[c], KP_SIDE_HOST, access,
                         (void **)&kept));
    if (access == KP_ACCESS_READ) {
      *numbers[c] = *kept;
    } else {
      *kept = *numbers[c];
    }
  }
  return KP_OK;
}

static kp_result deform_solve(void *self, kp_env *env) {
  kp_deform *d = self;
  double most;  // is the world's affair
  double limit = turn_limit(d, env, &most);
  kp_result limit_result = d->limit_result;
  d->limit_result = KP_OK;
  KP_TRY(limit_result);
  // no fewer than the limit asks for, and a step of the world that was cut takes as many as it must
  int64_t n = limit < env->dt ? (int64_t)ceil(env->dt / limit * (1.0 - 1e-9)) : 1;
  d->dt = env->dt / (double)n;
  d->inner_steps = 0;
  d->iterations = 0;
  kp_deform_bodies_begin(d, env);
  double clock = kp_time_now();
  KP_TRY(kp_hair_relink(d, env));
  spend(env, "solids_links", &clock);
  KP_TRY(move_clock(d, KP_ACCESS_READ));
  KP_TRY(d->def.rewind && d->meet.contact != NULL ? turn_back(d, env, n) : turn(d, env, n));
  return move_clock(d, KP_ACCESS_WRITE);
}

// Rigid bodies have moved.
static kp_result deform_correct(void *self, kp_env *env) {
  kp_deform *d = self;
  return kp_deform_parts_late(d) ? part_collisions(d, env) : KP_OK;
}

// ---- what it tells ------------------------------------------------------------------------------

static kp_result sums(kp_deform *d, const kp_env *env, kp_range nodes, kp_buffer velocity[3],
                      double out[DEFORM_SUMS]) {
  kp_vec3 g = env->simulation.gravity;
  deform_sums_args a = { .first = nodes.first, .gx = g.x, .gy = g.y, .gz = g.z };
  kp_call call;
  kp_call_init(&call, &deform_sums_kernel, &a);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, vx, &velocity[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, &velocity[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, &velocity[2], KP_ACCESS_READ);
  return kp_call_reduce(env->backend, &call, nodes.n, out);
}

static kp_result deform_check(void *self, kp_env *env) {
  kp_deform *d = self;
  double v[DEFORM_SUMS];
  KP_TRY(sums(d, env, (kp_range){ 0, d->set->space->n }, d->set->velocity->buffers, v));
  env->report.n_particles += d->set->space->n;
  env->report.n_bad += (int64_t)v[13];
  env->report.max_speed = fmax(env->report.max_speed, v[6]);
  return KP_OK;
}

static int deform_n_populations(const void *self) {
  return (int)((const kp_deform *)self)->parts.count;
}

static kp_result elastic_energy(kp_deform *d, const kp_env *env, const kp_deform_part *part,
                                double *out) {
  kp_range springs = part->springs;
  deform_energy_args a = { .first = springs.first, .strength = part->strength_now };
  kp_call call;
  kp_call_init(&call, &deform_energy_kernel, &a);
  KP_BIND(&call, &a, a, &d->springs.a, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &d->springs.b, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &d->springs.rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffness, &d->springs.stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, compression, &d->springs.compression, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  double in_tets = 0.0;
  *out = 0.0;
  if (springs.n > 0) {
    KP_TRY(kp_call_reduce(env->backend, &call, springs.n, out));
  }
  KP_TRY(kp_deform_tets_energy(d, part, &in_tets));
  *out += in_tets;
  return KP_OK;
}

// Sums with velocities of a part that its forces have changed for a time h.
static kp_result sums_after(kp_deform *d, kp_env *env, const kp_deform_part *part, double h,
                            double out[DEFORM_SUMS]) {
  for (size_t g = 0; g < d->groups.count; ++g) {
    const kp_deform_group *group = &d->groups.data[g];
    if (group->scheme == part->scheme) {
      KP_TRY(kp_deform_evaluate(d, group, d->set->position->buffers, 0.0));
      KP_TRY(kp_deform_explicit(d, env, group, d->set->velocity->buffers, h, d->moving.c));
    }
  }
  return sums(d, env, part->nodes, d->moving.c, out);
}

// The velocities that some schemes keep are those of half a step before the positions. Beside them
// they would count energy of fast springs that is not there: a spring of frequency omega swings
// with 1/(1 - (omega dt/2)^2) times its kinetic energy so. Half a step is added for that sum. The
// momentum is what forces have given in the time that has gone.
static kp_result at_positions(kp_deform *d, kp_env *env, const kp_deform_part *part,
                              double v[DEFORM_SUMS]) {
  if (!kp_schemes[part->scheme].lags || !(d->dt > 0.0)) {
    return KP_OK;
  }
  double other[DEFORM_SUMS];
  KP_TRY(sums_after(d, env, part, 0.5 * d->dt_last, other));
  v[4] = other[4];
  if (d->lead != 0.0) {
    KP_TRY(sums_after(d, env, part, -d->lead, other));
    memcpy(v + 1, other + 1, 3 * sizeof *v);
  }
  return KP_OK;
}

static kp_result deform_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_deform *d = self;
  const kp_deform_part *part = &d->parts.data[population];
  double v[DEFORM_SUMS];
  KP_TRY(sums(d, env, part->nodes, d->set->velocity->buffers, v));
  KP_TRY(at_positions(d, env, part, v));
  *out = (kp_population_stats){ .count = part->nodes.n,
                                .mass = v[0],
                                .momentum = { v[1], v[2], v[3] },
                                .kinetic_energy = v[4],
                                .potential_energy = v[5],
                                .memory_gain = kp_fabric_gain(d, part),
                                .memory_share = NAN,
                                .bounds = { { v[7], v[8], v[9] }, { v[10], v[11], v[12] } },
                                .max_speed = v[6],
                                .max_density_error = NAN };
  kp_text_copy(out->name, sizeof out->name, part->name);
  return elastic_energy(d, env, part, &out->internal_energy);
}

const kp_method kp_deform_method = {
  .name = "deform",
  .text = "Cloth, hair and soft bodies of nodes, springs and tetrahedra.",
  .stages = { [KP_STAGE_SOLVE] = deform_solve,
              [KP_STAGE_CORRECT] = deform_correct,
              [KP_STAGE_CHECK] = deform_check },
  .max_dt = deform_max_dt,
  .n_populations = deform_n_populations,
  .stats = deform_stats,
  .destroy = deform_destroy,
};
