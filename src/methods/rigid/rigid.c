#include "methods/rigid/rigid.h"

#include <math.h>
#include <string.h>

#include "methods/rigid/rigid_state.h"

#define MOST_TURN 0.2  // rad in a step

// ---- life ---------------------------------------------------------------------------------------

static void rigid_destroy(void **self) {
  kp_rigid *rigid = *self;
  if (rigid != NULL) {
    kp_rigid_free_parts(rigid);
    kp_array_free(&rigid->free);
    kp_array_free(&rigid->pairs);
    kp_array_free(&rigid->points);
    kp_array_free(&rigid->order);
    kp_array_free(&rigid->color_first);
    kp_array_free(&rigid->used_colors);
    kp_array_free(&rigid->movers);
    kp_array_free(&rigid->heaps);
    kp_array_free(&rigid->hits);
    kp_array_free(&rigid->meetings);
    kp_array_free(&rigid->swift);
    kp_array_free(&rigid->changed);
    kp_free(rigid);
    *self = NULL;
  }
}

// Forces, not impulses: the next step may be of another length.
static const kp_field_desc memory_fields[] = {
  { "part_a", KP_TYPE_U32, 1, "", KP_FIELD_SAVE, 0.0 },
  { "part_b", KP_TYPE_U32, 1, "", KP_FIELD_SAVE, 0.0 },
  { "feature", KP_TYPE_U32, 1, "", KP_FIELD_SAVE, 0.0 },
  { "force", KP_TYPE_F64, 4, "N", KP_FIELD_SAVE, 0.0 },
  { "place", KP_TYPE_F64, 3, "m", KP_FIELD_SAVE, 0.0 },
  { "moment", KP_TYPE_F64, 3, "N m", KP_FIELD_SAVE, 0.0 },
};

static kp_result add_memory(kp_rigid *rigid, kp_registry *registry) {
  KP_TRY(kp_registry_add_space(registry, "contacts", KP_SPACE_PAIRS, &rigid->memory));
  KP_TRY(kp_space_add_fields(rigid->memory, memory_fields,
                             sizeof memory_fields / sizeof memory_fields[0]));
  rigid->key_a = kp_space_find(rigid->memory, "part_a");
  rigid->key_b = kp_space_find(rigid->memory, "part_b");
  rigid->feature = kp_space_find(rigid->memory, "feature");
  rigid->force = kp_space_find(rigid->memory, "force");
  rigid->place = kp_space_find(rigid->memory, "place");
  rigid->moment = kp_space_find(rigid->memory, "moment");
  return KP_OK;
}

kp_result kp_rigid_create(kp_env *env, const kp_rigid_def *def, const kp_rigid_shape *shapes,
                          size_t n, kp_rigid **out) {
  kp_rigid *rigid = kp_alloc_zero(sizeof *rigid, KP_MEMORY_WORLD);
  if (rigid == NULL) {
    return KP_ERROR_MEMORY;
  }
  rigid->def = *def;
  rigid->dimension = env->dimension;
  kp_result result = KP_OK;
  for (size_t s = 0; s < n && result == KP_OK; ++s) {
    result = shapes[s].is_free ? kp_array_push(&rigid->free, shapes[s].body) : KP_OK;
  }
  if (result == KP_OK && rigid->free.count > 0) {
    result = kp_rigid_build_parts(rigid, env, shapes, n);
    if (result == KP_OK) {
      result = add_memory(rigid, env->registry);
    }
    if (result == KP_OK) {
      result = kp_loads_medium(env->loads, "contacts", false, &rigid->contacts);
    }
    if (result == KP_OK) {
      result = kp_loads_medium(env->loads, "fields", false, &rigid->fields);
    }
  }
  if (result != KP_OK) {
    void *self = rigid;
    rigid_destroy(&self);
    return result;
  }
  *out = rigid;
  return KP_OK;
}

// ---- space: bodies and their samples to the present time ----------------------------------------

static kp_result rigid_space(void *self, kp_env *env) {
  (void)self;
  kp_bodies *bodies = env->bodies;
  kp_bodies_script(bodies, env->time);
  kp_bodies_clear_forces(bodies);
  kp_loads_clear(env->loads);
  KP_TRY(kp_interface_refresh(env->movers, bodies));
  KP_TRY(env->walls->feels ? kp_interface_clear_forces(env->walls) : KP_OK);
  return kp_interface_clear_forces(env->movers);
}

// ---- contact ------------------------------------------------------------------------------------

static kp_result rigid_contact(void *self, kp_env *env) {
  kp_rigid *rigid = self;
  if (rigid->free.count == 0) {
    return KP_OK;
  }
  KP_TRY(kp_rigid_broad_phase(rigid, env));
  return kp_rigid_find_contacts(rigid, env);
}

// Impulses that others gave to bodies in the meantime are in their velocities.
static kp_result rigid_correct(void *self, kp_env *env) {
  kp_rigid *rigid = self;
  return rigid->free.count > 0 ? kp_rigid_solve(rigid, env) : KP_OK;
}

// Contacts are found once per step, and a body that spins fast while it leans on another carries
// their places and arms away: a top on its tip would sink and tilt. What flies carries none away;
// its turn is exact however long the step is, and it strikes where it gets to.
static double rigid_max_dt(void *self, kp_env *env) {
  kp_rigid *rigid = self;
  kp_rigid_find_leaning(rigid);
  double fastest = 0.0;
  for (size_t k = 0; k < rigid->free.count; ++k) {
    kp_index body = rigid->free.data[k];
    const kp_rigid_part *part = &rigid->parts.data[rigid->part_of.data[body]];
    // nobody has met anybody yet at the start, where scenes put bodies on others
    if (part->is_leaning || env->time == 0.0) {
      kp_frame3 f = kp_bodies_frame(env->bodies, body);
      fastest = fmax(fastest, kp_rigid_tilting(part, f.orientation, f.angular_velocity));
    }
  }
  double most = fmin(rigid->def.step, env->simulation.dt_max);
  double dt = rigid->free.count > 0 ? most : HUGE_VAL;
  return fastest * dt > MOST_TURN ? MOST_TURN / fastest : dt;
}

static kp_result rigid_check(void *self, kp_env *env) {
  (void)self;
  for (kp_index b = 0; b < (kp_index)env->bodies->models.count; ++b) {
    kp_frame3 f = kp_bodies_frame(env->bodies, b);
    double all = kp_vec3_dot(f.position, f.position) + kp_vec3_dot(f.velocity, f.velocity) +
                 kp_vec3_dot(f.angular_velocity, f.angular_velocity);
    env->report.n_bad += isfinite(all) ? 0 : 1;
    env->report.max_speed = fmax(env->report.max_speed, kp_vec3_length(f.velocity));
  }
  return KP_OK;
}

// ---- reports ------------------------------------------------------------------------------------

// Farthest point along a direction, in shape coordinates: of the hull, or of the box around what
// has none.
static kp_vec3 farthest(const kp_rigid_part *part, kp_vec3 direction) {
  const kp_convex *hull = &part->convex;
  if (part->kind != KP_RIGID_CONVEX && hull->vertices.count == 0) {
    kp_vec3 h = part->half;
    return kp_vec3_add(part->middle,
                       kp_vec3_make(copysign(h.x, direction.x), copysign(h.y, direction.y),
                                    copysign(h.z, direction.z)));
  }
  kp_vec3 own = kp_quat_rotate(kp_quat_conjugate(hull->turn), direction);
  kp_vec3 p = kp_quat_rotate(hull->turn, kp_convex_support(hull, own, 0.0));
  return kp_vec3_madd(kp_vec3_add(hull->center, p), hull->radius, direction);
}

static kp_aabb bounds_of(const kp_rigid *rigid, const kp_body *model, kp_index b,
                         const kp_frame3 *f) {
  const kp_rigid_part *part = &rigid->parts.data[rigid->part_of.data[b]];
  kp_quat back = kp_quat_conjugate(f->orientation);
  double lo[3] = { 0.0, 0.0, 0.0 };
  double hi[3] = { 0.0, 0.0, 0.0 };
  for (int axis = 0; axis < rigid->dimension; ++axis) {
    kp_vec3 e = kp_vec3_make(axis == 0, axis == 1, axis == 2);
    kp_vec3 up = kp_quat_rotate(back, e);
    kp_vec3 down = kp_vec3_scale(up, -1.0);
    double at = kp_vec3_dot(f->position, e);
    lo[axis] = at - kp_vec3_dot(kp_vec3_sub(farthest(part, down), model->center), down);
    hi[axis] = at + kp_vec3_dot(kp_vec3_sub(farthest(part, up), model->center), up);
  }
  return (kp_aabb){ { lo[0], lo[1], lo[2] }, { hi[0], hi[1], hi[2] } };
}

static kp_result rigid_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  const kp_rigid *rigid = self;
  kp_index b = rigid->free.data[population];
  const kp_body *model = &env->bodies->models.data[b];
  kp_frame3 f = kp_bodies_frame(env->bodies, b);
  double mass = 1.0 / model->inverse_mass;
  kp_vec3 spin = kp_quat_rotate(kp_quat_conjugate(f.orientation), f.angular_velocity);
  *out = (kp_population_stats){
    .count = 1,
    .mass = mass,
    .momentum = kp_vec3_scale(f.velocity, mass),
    .internal_energy = NAN,
    .memory_gain = NAN,
    .memory_share = NAN,
    .kinetic_energy = 0.5 * mass * kp_vec3_dot(f.velocity, f.velocity) +
                      0.5 * kp_vec3_dot(spin, kp_mat3_mul_vec3(&model->inertia, spin)),
    .potential_energy = -mass * kp_vec3_dot(env->simulation.gravity, f.position),
    .bounds = bounds_of(rigid, model, b, &f),
    .max_speed = kp_vec3_length(f.velocity),
  };
  memcpy(out->name, model->name, sizeof out->name - 1);
  return KP_OK;
}

static int rigid_n_populations(const void *self) {
  return (int)((const kp_rigid *)self)->free.count;
}

const kp_method kp_rigid_method = {
  .name = "rigid",
  .text = "Rigid bodies, scripted and free.",
  .stages = { [KP_STAGE_SPACE] = rigid_space,
              [KP_STAGE_CONTACT] = rigid_contact,
              [KP_STAGE_CORRECT] = rigid_correct,
              [KP_STAGE_CHECK] = rigid_check },
  .max_dt = rigid_max_dt,
  .longest_step = KP_ANY_STEP,  // without free bodies; with them max_dt tells
  .n_populations = rigid_n_populations,
  .stats = rigid_stats,
  .destroy = rigid_destroy,
};
