#include "methods/rigid/rigid.h"

#include <math.h>
#include <string.h>

#include "methods/common/force_field.h"

// ---- life ---------------------------------------------------------------------------------------

static void rigid_destroy(void **self) {
  kp_rigid *rigid = *self;
  if (rigid != NULL) {
    kp_array_free(&rigid->shapes);
    kp_free(rigid);
    *self = NULL;
  }
}

kp_result kp_rigid_create(kp_env *env, const kp_rigid_shape *shapes, size_t n, kp_rigid **out) {
  (void)env;
  kp_rigid *rigid = kp_alloc_zero(sizeof *rigid, KP_MEMORY_WORLD);
  if (rigid == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t s = 0; s < n; ++s) {
    if (kp_array_push(&rigid->shapes, shapes[s]) != KP_OK) {
      void *self = rigid;
      rigid_destroy(&self);
      return KP_ERROR_MEMORY;
    }
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
  KP_TRY(kp_interface_refresh(env->movers, bodies));
  return kp_interface_clear_forces(env->movers);
}

// ---- contact ------------------------------------------------------------------------------------

typedef struct contact_law {
  double stiffness, damping;  // per sample
  double deepest;  // overlap beyond this pushes no harder: deep starts separate without a kick
} contact_law;

// Spring and dashpot along the normal of the other body, pushing only.
static kp_vec3 contact_force(const contact_law *law, double depth, kp_vec3 normal,
                             kp_vec3 velocity) {
  double push =
      law->stiffness * fmin(depth, law->deepest) - law->damping * kp_vec3_dot(velocity, normal);
  return kp_vec3_scale(normal, fmax(push, 0.0));
}

static void add_force(kp_bodies *bodies, kp_index body, kp_vec3 center, kp_vec3 at, kp_vec3 force) {
  kp_vec3 *f = &bodies->forces.data[body];
  kp_vec3 *t = &bodies->torques.data[body];
  *f = kp_vec3_add(*f, force);
  *t = kp_vec3_add(*t, kp_vec3_cross(kp_vec3_sub(at, center), force));
}

// Closed faces of the domain.
static kp_vec3 domain_push(const kp_env *env, const contact_law *law, kp_vec3 p, kp_vec3 v) {
  const double x[3] = { p.x, p.y, p.z };
  kp_vec3 total = { 0.0, 0.0, 0.0 };
  for (int axis = 0; axis < env->dimension; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    double below = faces.lo - x[axis];
    double above = x[axis] - faces.hi;
    if (!faces.closed_lo || (below <= 0.0 && (above <= 0.0 || !faces.closed_hi))) {
      continue;
    }
    double sign = below > 0.0 ? 1.0 : -1.0;
    kp_vec3 n =
        kp_vec3_make(axis == 0 ? sign : 0.0, axis == 1 ? sign : 0.0, axis == 2 ? sign : 0.0);
    total = kp_vec3_add(total, contact_force(law, fmax(below, above), n, v));
  }
  return total;
}

static kp_vec3 velocity_at(const kp_frame3 *frame, kp_vec3 p) {
  kp_vec3 arm = kp_vec3_sub(p, frame->position);
  return kp_vec3_add(frame->velocity, kp_vec3_cross(frame->angular_velocity, arm));
}

// One sample of a free body against the shapes of the others.
static void shape_pushes(const kp_rigid *rigid, kp_env *env, kp_index self, const contact_law *law,
                         kp_vec3 p) {
  kp_bodies *bodies = env->bodies;
  kp_frame3 mine = kp_bodies_frame(bodies, self);
  for (size_t s = 0; s < rigid->shapes.count; ++s) {
    const kp_rigid_shape *other = &rigid->shapes.data[s];
    if (other->body == self) {
      continue;
    }
    kp_frame3 frame = kp_bodies_frame(bodies, other->body);
    kp_quat back = kp_quat_conjugate(frame.orientation);
    kp_vec3 local = kp_vec3_add(kp_quat_rotate(back, kp_vec3_sub(p, frame.position)),
                                bodies->models.data[other->body].center);
    kp_vec3 normal;
    double distance = kp_shape_query(other->shape, local, &normal);
    if (distance < 0.0) {
      kp_vec3 n = kp_quat_rotate(frame.orientation, normal);
      kp_vec3 v = kp_vec3_sub(velocity_at(&mine, p), velocity_at(&frame, p));
      kp_vec3 f = contact_force(law, -distance, n, v);
      add_force(bodies, self, mine.position, p, f);
      add_force(bodies, other->body, frame.position, p, kp_vec3_scale(f, -1.0));
    }
  }
}

static contact_law law_of(const kp_env *env, const kp_interface_range *range, double spacing) {
  double mass = 1.0 / env->bodies->models.data[range->body].inverse_mass;
  double time = 20.0 * env->dt;  // a contact lasts many steps
  double share = mass / fmax(1.0, sqrt((double)range->count));
  double k = share * pow(3.14159265358979323846 / time, 2.0);
  return (
      contact_law){ .stiffness = k, .damping = 0.5 * sqrt(k * share), .deepest = 0.25 * spacing };
}

static kp_result rigid_contact(void *self, kp_env *env) {
  kp_rigid *rigid = self;
  kp_interface *movers = env->movers;
  for (size_t r = 0; r < movers->ranges.count; ++r) {
    const kp_interface_range *range = &movers->ranges.data[r];
    if (env->bodies->models.data[range->body].kind != KP_BODY_FREE) {
      continue;
    }
    // places follow from the frame and the samples' constant local coordinates, which the host has:
    // on a device nothing needs to come back
    const double *x = kp_buffer_host(&movers->local->buffers[0], KP_ACCESS_READ);
    const double *y = kp_buffer_host(&movers->local->buffers[1], KP_ACCESS_READ);
    const double *z = kp_buffer_host(&movers->local->buffers[2], KP_ACCESS_READ);
    const kp_real *area = kp_buffer_host(&movers->area->buffers[0], KP_ACCESS_READ);
    const kp_real *nx = kp_buffer_host(&movers->local_normal->buffers[0], KP_ACCESS_READ);
    const kp_real *ny = kp_buffer_host(&movers->local_normal->buffers[1], KP_ACCESS_READ);
    const kp_real *nz = kp_buffer_host(&movers->local_normal->buffers[2], KP_ACCESS_READ);
    if (x == NULL || y == NULL || z == NULL || area == NULL || nx == NULL || ny == NULL ||
        nz == NULL) {
      return KP_ERROR_MEMORY;
    }
    double spacing = kp_interface_spacing(area + range->first, range->count, env->dimension);
    contact_law law = law_of(env, range, spacing);
    kp_frame3 frame = kp_bodies_frame(env->bodies, range->body);
    for (int64_t i = range->first; i < range->first + range->count; ++i) {
      // samples lie half a spacing deep
      kp_vec3 n = kp_vec3_make((double)nx[i], (double)ny[i], (double)nz[i]);
      kp_vec3 local = kp_vec3_madd(kp_vec3_make(x[i], y[i], z[i]), 0.5 * spacing, n);
      kp_vec3 arm = kp_quat_rotate(frame.orientation, local);
      kp_vec3 p = kp_vec3_add(frame.position, arm);
      kp_vec3 f = domain_push(env, &law, p, velocity_at(&frame, p));
      add_force(env->bodies, range->body, frame.position, p, f);
      shape_pushes(rigid, env, range->body, &law, p);
    }
  }
  return KP_OK;
}

// What the force fields do to the free bodies whose centres they hold.
static void add_fields(kp_env *env) {
  for (kp_index b = 0; b < (kp_index)env->bodies->models.count; ++b) {
    const kp_body *model = &env->bodies->models.data[b];
    if (model->kind == KP_BODY_FREE) {
      kp_vec3 p = kp_bodies_frame(env->bodies, b).position;
      kp_vec3 a = kp_force_fields_at(env->fields, model->name, env->time, p);
      kp_vec3 *force = &env->bodies->forces.data[b];
      *force = kp_vec3_madd(*force, 1.0 / model->inverse_mass, a);
    }
  }
}

static kp_result rigid_correct(void *self, kp_env *env) {
  (void)self;
  if (env->fields != NULL) {
    add_fields(env);
  }
  kp_bodies_integrate(env->bodies, env->simulation.gravity, env->dt);
  return KP_OK;
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

static kp_index nth_free(const kp_bodies *bodies, int n) {
  for (kp_index b = 0; b < (kp_index)bodies->models.count; ++b) {
    if (bodies->models.data[b].kind == KP_BODY_FREE && n-- == 0) {
      return b;
    }
  }
  return -1;
}

static kp_result rigid_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  (void)self;
  kp_index b = nth_free(env->bodies, population);
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
    .bounds = { f.position, f.position },
    .max_speed = kp_vec3_length(f.velocity),
  };
  memcpy(out->name, model->name, sizeof out->name - 1);
  return KP_OK;
}

static int rigid_n_populations(const void *self) {
  const kp_rigid *rigid = self;
  int n = 0;
  for (size_t s = 0; s < rigid->shapes.count; ++s) {
    n += rigid->shapes.data[s].is_free ? 1 : 0;
  }
  return n;
}

const kp_method kp_rigid_method = {
  .name = "rigid",
  .text = "Rigid bodies, scripted and free.",
  .stages = { [KP_STAGE_SPACE] = rigid_space,
              [KP_STAGE_CONTACT] = rigid_contact,
              [KP_STAGE_CORRECT] = rigid_correct,
              [KP_STAGE_CHECK] = rigid_check },
  .n_populations = rigid_n_populations,
  .stats = rigid_stats,
  .destroy = rigid_destroy,
};
