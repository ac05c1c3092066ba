#include "data/interface.h"

#include <string.h>

#include "data/call.h"
#include "data/interface_kernels.h"
#include "par/kernel_define.h"

INTERFACE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// Samples follow their bodies, so positions are not state of their own: nothing here is saved.
static const kp_field_desc sample_fields[] = {
  { "normal", KP_TYPE_REAL, 3, "", 0, 0.0 },       { "area", KP_TYPE_REAL, 1, "m^2", 0, 0.0 },
  { "volume", KP_TYPE_REAL, 1, "m^3", 0, 0.0 },    { "owner", KP_TYPE_U32, 1, "", 0, 0.0 },
  { "force", KP_TYPE_REAL, 3, "N", 0, 0.0 },       { "local", KP_TYPE_F64, 3, "m", 0, 0.0 },
  { "local_normal", KP_TYPE_REAL, 3, "", 0, 0.0 },
};

kp_result kp_interface_create(kp_registry *registry, const char *name, int dimension, bool moving,
                              kp_interface **out) {
  kp_interface *s = kp_alloc_zero(sizeof *s, KP_MEMORY_WORLD);
  if (s == NULL) {
    return KP_ERROR_MEMORY;
  }
  s->moving = moving;
  s->feels = moving;
  kp_buffer_init(&s->frames, registry->backend);
  kp_result result = kp_set_create(registry, name, KP_SET_TIED, dimension, &s->set);
  if (result == KP_OK) {
    result = kp_space_add_fields(s->set->space, sample_fields,
                                 sizeof sample_fields / sizeof sample_fields[0]);
  }
  if (result != KP_OK) {
    if (s->set != NULL) {
      kp_registry_remove_space(registry, &s->set->space);
    }
    kp_interface_destroy(&s);
    return result;
  }
  kp_space *space = s->set->space;
  s->set->position->flags = 0;
  s->set->velocity->flags = 0;
  s->set->id->flags = 0;
  s->normal = kp_space_find(space, "normal");
  s->area = kp_space_find(space, "area");
  s->volume = kp_space_find(space, "volume");
  s->owner = kp_space_find(space, "owner");
  s->force = kp_space_find(space, "force");
  s->local = kp_space_find(space, "local");
  s->local_normal = kp_space_find(space, "local_normal");
  *out = s;
  return KP_OK;
}

void kp_interface_destroy(kp_interface **interface) {
  if (*interface != NULL) {
    kp_buffer_free(&(*interface)->frames);
    kp_array_free(&(*interface)->ranges);
    kp_set_destroy(&(*interface)->set);
    kp_free(*interface);
    *interface = NULL;
  }
}

// Host values of the fields that come with the samples, written where they were appended.
static kp_result fill_new(kp_interface *s, kp_bodies *bodies, const kp_interface_range *range,
                          const kp_interface_samples *samples) {
  kp_frame3 frame = kp_bodies_frame(bodies, range->body);
  kp_quat back = kp_quat_conjugate(frame.orientation);
  double *local[3];
  kp_real *local_normal[3];
  kp_real *normal[3];
  kp_real *velocity[3];
  for (int c = 0; c < 3; ++c) {
    local[c] = kp_buffer_host(&s->local->buffers[c], KP_ACCESS_WRITE);
    local_normal[c] = kp_buffer_host(&s->local_normal->buffers[c], KP_ACCESS_WRITE);
    normal[c] = kp_buffer_host(&s->normal->buffers[c], KP_ACCESS_WRITE);
    velocity[c] = kp_buffer_host(&s->set->velocity->buffers[c], KP_ACCESS_WRITE);
    if (local[c] == NULL || local_normal[c] == NULL || normal[c] == NULL || velocity[c] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  kp_real *area = kp_buffer_host(&s->area->buffers[0], KP_ACCESS_WRITE);
  uint32_t *owner = kp_buffer_host(&s->owner->buffers[0], KP_ACCESS_WRITE);
  if (area == NULL || owner == NULL) {
    return KP_ERROR_MEMORY;
  }
  // what does not move may slide; the rest gets its velocity from every refresh
  kp_vec3 slide = kp_quat_rotate(frame.orientation, bodies->slides.data[range->body]);
  const double slides[3] = { slide.x, slide.y, slide.z };
  for (int64_t i = 0; i < range->count; ++i) {
    int64_t k = range->first + i;
    kp_vec3 n = samples->normals[i];
    kp_vec3 r = kp_quat_rotate(back, kp_vec3_sub(samples->positions[i], frame.position));
    kp_vec3 m = kp_quat_rotate(back, n);
    const double rs[3] = { r.x, r.y, r.z };
    const double ms[3] = { m.x, m.y, m.z };
    const double ns[3] = { n.x, n.y, n.z };
    for (int c = 0; c < 3; ++c) {
      local[c][k] = rs[c];
      local_normal[c][k] = (kp_real)ms[c];
      normal[c][k] = (kp_real)ns[c];
      velocity[c][k] = (kp_real)slides[c];
    }
    area[k] = (kp_real)samples->areas[i];
    owner[k] = (uint32_t)range->body;
  }
  return KP_OK;
}

kp_result kp_interface_add(kp_interface *interface, kp_bodies *bodies, kp_index body,
                           const kp_interface_samples *samples) {
  kp_interface_range range = { body, interface->set->space->n, samples->n };
  KP_TRY(kp_array_reserve(&interface->ranges, interface->ranges.count + 1));
  KP_TRY(kp_set_add(interface->set, samples->n, samples->positions, NULL));
  interface->ranges.data[interface->ranges.count++] = range;
  return fill_new(interface, bodies, &range, samples);
}

static kp_result upload_frames(kp_interface *s, kp_bodies *bodies) {
  size_t n = bodies->models.count;
  KP_TRY(kp_buffer_resize(&s->frames, n * INTERFACE_FRAME * sizeof(double)));
  double *out = kp_buffer_host(&s->frames, KP_ACCESS_OVERWRITE);
  if (out == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t b = 0; b < n; ++b) {
    kp_frame3 f = kp_bodies_frame(bodies, (kp_index)b);
    const double values[INTERFACE_FRAME] = { f.position.x,
                                             f.position.y,
                                             f.position.z,
                                             f.orientation.w,
                                             f.orientation.x,
                                             f.orientation.y,
                                             f.orientation.z,
                                             f.velocity.x,
                                             f.velocity.y,
                                             f.velocity.z,
                                             f.angular_velocity.x,
                                             f.angular_velocity.y,
                                             f.angular_velocity.z,
                                             bodies->slides.data[b].x,
                                             bodies->slides.data[b].y,
                                             bodies->slides.data[b].z };
    memcpy(out + b * INTERFACE_FRAME, values, sizeof values);
  }
  return KP_OK;
}

kp_result kp_interface_refresh(kp_interface *interface, kp_bodies *bodies) {
  if (!interface->moving || interface->set->space->n == 0) {
    return KP_OK;
  }
  KP_TRY(upload_frames(interface, bodies));
  interface_refresh_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &interface_refresh_kernel, &a);
  KP_BIND(&call, &a, frames, &interface->frames, KP_ACCESS_READ);
  KP_BIND(&call, &a, owner, &interface->owner->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, local, interface->local, KP_ACCESS_READ);
  KP_BIND3(&call, &a, n, interface->local_normal, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , interface->set->position, KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, v, interface->set->velocity, KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, o, interface->normal, KP_ACCESS_OVERWRITE);
  interface->set->space->revision += 1;
  return kp_call_run(interface->set->space->backend, &call, interface->set->space->n);
}

kp_result kp_interface_sum(kp_interface *interface, const kp_interface_range *range, kp_vec3 about,
                           kp_load *out) {
  interface_sum_args a = { .first = range->first, .cx = about.x, .cy = about.y, .cz = about.z };
  double sums[6];
  kp_call call;
  kp_call_init(&call, &interface_sum_kernel, &a);
  KP_BIND3(&call, &a, , interface->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, interface->force, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(interface->set->space->backend, &call, range->count, sums));
  *out = (kp_load){ { sums[0], sums[1], sums[2] }, { sums[3], sums[4], sums[5] } };
  return KP_OK;
}

kp_result kp_interface_gather(kp_interface *interface, kp_bodies *bodies) {
  for (size_t r = 0; r < interface->ranges.count; ++r) {
    const kp_interface_range *range = &interface->ranges.data[r];
    if (bodies->models.data[range->body].kind != KP_BODY_FREE) {
      continue;
    }
    kp_load sum;
    kp_vec3 centre = kp_bodies_frame(bodies, range->body).position;
    KP_TRY(kp_interface_sum(interface, range, centre, &sum));
    kp_vec3 *force = &bodies->forces.data[range->body];
    kp_vec3 *torque = &bodies->torques.data[range->body];
    *force = kp_vec3_add(*force, sum.force);
    *torque = kp_vec3_add(*torque, sum.torque);
  }
  return KP_OK;
}

kp_result kp_interface_clear_forces(kp_interface *interface) {
  for (int c = 0; c < 3; ++c) {
    kp_buffer *force = &interface->force->buffers[c];
    void *device = kp_buffer_device(force, KP_ACCESS_OVERWRITE);
    if (device == NULL && force->used > 0) {
      return KP_ERROR_MEMORY;
    }
    KP_TRY(kp_fill(force->backend, device, 0, force->used));
  }
  return KP_OK;
}
