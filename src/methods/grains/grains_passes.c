// The passes over grains of a sub-step: records, contacts, solids, and what statistics ask.
#include <math.h>

#include "data/call.h"
#include "methods/grains/grains.h"
#include "par/kernel_define.h"

GRAINS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

static kp_result pack(kp_env *env, kp_grains_set *set) {
  kp_set *s = set->medium.set;
  KP_TRY(kp_buffer_resize(&set->records, (size_t)s->space->n * sizeof(grains_record)));
  grains_pack_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &grains_pack_kernel, &a);
  KP_BIND3(&call, &a, , s->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, s->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, w, set->spin, KP_ACCESS_READ);
  KP_BIND(&call, &a, radius, &set->radius->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &set->medium.mass_field->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, records, &set->records, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, s->space->n);
}

// Periodic axes, for the nearest image.
static void set_box(const kp_env *env, double box[3], double half[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    box[axis] = faces.periodic ? faces.hi - faces.lo : 0.0;
    half[axis] = faces.periodic ? 0.5 * box[axis] : HUGE_VAL;
  }
}

static const kp_kernel *contact_kernel(const kp_grains *grains, const kp_grains_link *link) {
  if (link->is_alike) {
    return &grains_contact_alike_kernel;
  }
  if (grains->def.contact == 1) {
    return grains->has_rolling ? &grains_contact_hertz_rolling_kernel
                               : &grains_contact_hertz_kernel;
  }
  return grains->has_rolling ? &grains_contact_linear_rolling_kernel
                             : &grains_contact_linear_kernel;
}

static kp_result contacts(kp_grains *grains, kp_env *env, kp_grains_link *link, bool is_first) {
  kp_grains_set *set = &grains->sets.data[link->i];
  kp_grains_set *other = &grains->sets.data[link->j];
  kp_vec3 g = env->simulation.gravity;
  int64_t n = set->medium.set->space->n;
  bool is_card = env->backend->vt->kind == KP_BACKEND_CUDA;
  grains_contact_args a = { .law = link->law,
                            .n = n,
                            .block = is_card ? 1 : GRAINS_BLOCK,
                            .add = !is_first,
                            .is_frozen = other->def.frozen,
                            .gx = (kp_real)g.x,
                            .gy = (kp_real)g.y,
                            .gz = (kp_real)(env->dimension == 3 ? g.z : 0.0),
                            .inertia = (kp_real)grains->inertia };
  a.law.dt = (kp_real)env->dt;
  a.law.coefficient =
      (kp_real)(link->coefficient / (1.0 + 0.5 * env->dt * link->coefficient / link->mass));
  set_box(env, a.box, a.half);
  kp_pair_rows *rows = link->rows;
  kp_access out = is_first ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE;
  kp_call call;
  kp_call_init(&call, contact_kernel(grains, link), &a);
  KP_BIND(&call, &a, self, &set->records, KP_ACCESS_READ);
  KP_BIND(&call, &a, other, &other->records, KP_ACCESS_READ);
  KP_BIND(&call, &a, begin, &rows->begin->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, count, &rows->count->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, partner, &rows->partner->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, h, link->slide, KP_ACCESS_WRITE);
  if (link->roll != NULL) {
    KP_BIND3(&call, &a, r, link->roll, KP_ACCESS_WRITE);
  }
  KP_BIND3(&call, &a, a, set->medium.integrate.acceleration, out);
  KP_BIND3(&call, &a, b, set->turn, out);
  int64_t n_blocks = (n + a.block - 1) / a.block;
  return kp_call_run(env->backend, &call, is_card ? n : n_blocks * 2 * GRAINS_BLOCK);
}

static grains_motion no_motion(const kp_grains *grains) {
  return (grains_motion){ .inertia = (kp_real)grains->inertia };
}

static void bind_motion(kp_call *call, grains_motion *m, kp_grains_set *set) {
  kp_field *linear = set->medium.integrate.acceleration;
  char *args = call->args;
  kp_real **members[6] = { &m->ax, &m->ay, &m->az, &m->bx, &m->by, &m->bz };
  for (int k = 0; k < 6; ++k) {
    kp_buffer *buffer = k < 3 ? &linear->buffers[k] : &set->turn->buffers[k - 3];
    kp_call_bind(call, (size_t)((char *)members[k] - args), buffer, KP_ACCESS_WRITE);
  }
}

static kp_result faces(kp_grains *grains, kp_env *env, kp_grains_set *set) {
  grains_faces_args a = { .law = set->wall_law,
                          .hertz = grains->def.contact == 1,
                          .motion = no_motion(grains) };
  a.law.dt = (kp_real)env->dt;
  bool any = false;
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces f = kp_env_faces(env, axis);
    a.lo[axis] = f.closed_lo ? f.lo : -HUGE_VAL;
    a.hi[axis] = f.closed_hi ? f.hi : HUGE_VAL;
    any = any || f.closed_lo || f.closed_hi;
  }
  if (!any) {
    return KP_OK;
  }
  kp_call call;
  kp_call_init(&call, &grains_faces_kernel, &a);
  KP_BIND(&call, &a, self, &set->records, KP_ACCESS_READ);
  for (int k = 0; k < 9; ++k) {
    KP_BIND(&call, &a, slide[k], &set->face_slide->buffers[k], KP_ACCESS_WRITE);
    if (set->face_roll != NULL) {
      KP_BIND(&call, &a, roll[k], &set->face_roll->buffers[k], KP_ACCESS_WRITE);
    }
  }
  bind_motion(&call, &a.motion, set);
  return kp_call_run(env->backend, &call, set->medium.set->space->n);
}

static kp_result touch_solids(kp_grains *grains, kp_env *env, kp_grains_touch *touch) {
  kp_grains_set *set = &grains->sets.data[touch->set];
  kp_grains_walls *walls = &grains->walls[touch->walls];
  kp_set *samples = walls->interface->set;
  grains_touch_args a = { .law = set->wall_law,
                          .hertz = grains->def.contact == 1,
                          .motion = no_motion(grains) };
  a.law.dt = (kp_real)env->dt;
  kp_call call;
  kp_call_init(&call, &grains_touch_kernel, &a);
  KP_BIND(&call, &a, self, &set->records, KP_ACCESS_READ);
  KP_BIND(&call, &a, begin, &touch->rows->begin->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, count, &touch->rows->count->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, partner, &touch->rows->partner->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, , samples->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, samples->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, n, walls->interface->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, discs, &walls->discs, KP_ACCESS_READ);
  if (walls->interface->moving) {
    KP_BIND(&call, &a, frames, &walls->interface->frames, KP_ACCESS_READ);
    KP_BIND(&call, &a, owner, &walls->interface->owner->buffers[0], KP_ACCESS_READ);
  }
  KP_BIND3(&call, &a, h, touch->slide, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, r, touch->roll, KP_ACCESS_WRITE);
  if (touch->push != NULL) {
    KP_BIND3(&call, &a, f, touch->push, KP_ACCESS_WRITE);
  }
  bind_motion(&call, &a.motion, set);
  return kp_call_run(env->backend, &call, set->medium.set->space->n);
}

// What the grains do to the samples of bodies that move.
static kp_result react(kp_grains *grains, kp_env *env, kp_grains_touch *touch) {
  kp_interface *interface = grains->walls[touch->walls].interface;
  grains_react_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &grains_react_kernel, &a);
  KP_BIND(&call, &a, start, &touch->starts, KP_ACCESS_READ);
  KP_BIND(&call, &a, entries, &touch->entries, KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, touch->push, KP_ACCESS_READ);
  KP_BIND3(&call, &a, s, interface->force, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, interface->set->space->n);
}

kp_result kp_grains_forces(kp_grains *grains, kp_env *env) {
  for (size_t s = 0; s < grains->sets.count; ++s) {
    KP_TRY(pack(env, &grains->sets.data[s]));
  }
  int last = -1;
  for (size_t l = 0; l < grains->links.count; ++l) {
    kp_grains_link *link = &grains->links.data[l];
    KP_TRY(contacts(grains, env, link, link->i != last));
    last = link->i;
  }
  for (size_t s = 0; s < grains->sets.count; ++s) {
    if (!grains->sets.data[s].def.frozen) {
      KP_TRY(faces(grains, env, &grains->sets.data[s]));
    }
  }
  for (size_t t = 0; t < grains->touches.count; ++t) {
    kp_grains_touch *touch = &grains->touches.data[t];
    KP_TRY(touch_solids(grains, env, touch));
    if (touch->push != NULL) {
      KP_TRY(react(grains, env, touch));
    }
  }
  return KP_OK;
}

// ---- energy -------------------------------------------------------------------------------------

static kp_result link_energy(kp_grains *grains, kp_env *env, kp_grains_link *link, double v[3]) {
  kp_grains_set *set = &grains->sets.data[link->i];
  kp_grains_set *other = &grains->sets.data[link->j];
  grains_energy_args a = { .law = link->law,
                           .hertz = grains->def.contact == 1,
                           .share = other->def.frozen ? 1.0 : 0.5,
                           .inertia = link->j == link->i ? grains->inertia : 0.0 };
  set_box(env, a.box, a.half);
  kp_call call;
  kp_call_init(&call, &grains_energy_kernel, &a);
  KP_BIND(&call, &a, self, &set->records, KP_ACCESS_READ);
  KP_BIND(&call, &a, other, &other->records, KP_ACCESS_READ);
  KP_BIND(&call, &a, begin, &link->rows->begin->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, count, &link->rows->count->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, partner, &link->rows->partner->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, h, link->slide, KP_ACCESS_READ);
  return kp_call_reduce(env->backend, &call, set->medium.set->space->n, v);
}

kp_result kp_grains_energy(kp_grains *grains, kp_env *env, int set, double *springs,
                           double *rotation) {
  *springs = 0.0;
  *rotation = 0.0;
  kp_grains_set *s = &grains->sets.data[set];
  s->n_contacts = 0;
  for (size_t k = 0; k < grains->sets.count; ++k) {
    KP_TRY(pack(env, &grains->sets.data[k]));
  }
  for (size_t l = 0; l < grains->links.count; ++l) {
    kp_grains_link *link = &grains->links.data[l];
    // before the first step there are no rows
    if (link->i == set && kp_pair_rows_is_current(link->rows)) {
      double v[3];
      KP_TRY(link_energy(grains, env, link, v));
      *springs += v[0];
      *rotation += v[1];
      s->n_contacts += (int64_t)v[2];
    }
  }
  return KP_OK;
}
