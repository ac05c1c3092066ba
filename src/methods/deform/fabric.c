#include "methods/deform/fabric.h"

#include <math.h>
#include <string.h>

#include "methods/deform/fabric_kernels.h"
#include "par/kernel_define.h"

FABRIC_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

kp_result kp_fabric_find(const kp_deform *d, const char *kind, const char *name, const char *of,
                         const kp_deform_part **out) {
  for (size_t p = 0; p < d->parts.count; ++p) {
    if (strcmp(d->parts.data[p].name, of) == 0) {
      *out = &d->parts.data[p];
      return KP_OK;
    }
  }
  return kp_fail(KP_ERROR_SCENE, "%s \"%s\": of = \"%s\" is no cloth, hair or soft body", kind,
                 name, of);
}

static kp_result zeros(kp_buffer *buffer, kp_type type, int64_t n) {
  buffer->type = (uint8_t)type;
  size_t bytes = kp_type_size(type) * (size_t)n;
  KP_TRY(kp_buffer_resize(buffer, bytes));
  void *data;
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &data));
  memset(data, 0, bytes);
  return KP_OK;
}

static kp_result add_all(kp_deform *d, kp_env *env, const kp_fabric_defs *defs) {
  kp_fabric *f = d->fabric;
  int64_t n = d->set->space->n;
  for (int c = 0; c < 3; ++c) {
    KP_TRY(zeros(&f->proposed.c[c], KP_TYPE_POS, n));
    KP_TRY(zeros(&f->lag.c[c], KP_TYPE_REAL, n));
  }
  KP_TRY(zeros(&f->stiff, KP_TYPE_REAL, n));
  for (size_t k = 0; k < defs->n_waters; ++k) {
    kp_immersion *water;
    KP_TRY(kp_immersion_create(d, env, &defs->waters[k], &water));
    kp_result result = kp_array_push(&f->waters, water);
    if (result != KP_OK) {
      kp_immersion_destroy(&water);
      return result;
    }
  }
  for (size_t k = 0; k < defs->n_limits; ++k) {
    KP_TRY(kp_limits_add(d, env, &defs->limits[k]));
  }
  KP_TRY(kp_particles_create(d, env));
  f->adds_forces = f->waters.count > 0 || f->contact.is_on || d->def.avoid > 0.0;
  return KP_OK;
}

kp_result kp_fabric_create(kp_deform *d, kp_env *env, const kp_fabric_defs *defs) {
  d->fabric = kp_alloc_zero(sizeof *d->fabric, KP_MEMORY_WORLD);
  if (d->fabric == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&d->fabric->proposed.c[c], env->backend);
    kp_buffer_init(&d->fabric->lag.c[c], env->backend);
  }
  kp_buffer_init(&d->fabric->stiff, env->backend);
  kp_buffer_init(&d->fabric->contact.radius, env->backend);
  return add_all(d, env, defs);
}

void kp_fabric_free(kp_deform *d) {
  kp_fabric *f = d->fabric;
  if (f == NULL) {
    return;
  }
  for (size_t k = 0; k < f->waters.count; ++k) {
    kp_immersion_destroy(&f->waters.data[k]);
  }
  for (size_t k = 0; k < f->limited.count; ++k) {
    kp_limited_destroy(&f->limited.data[k]);
  }
  kp_array_free(&f->waters);
  kp_array_free(&f->limited);
  kp_particles_free(&f->contact);
  kp_vector3_free(&f->proposed);
  kp_vector3_free(&f->lag);
  kp_buffer_free(&f->stiff);
  kp_free(f);
  d->fabric = NULL;
}

kp_result kp_fabric_forces(kp_deform *d, kp_env *env) {
  kp_fabric *f = d->fabric;
  for (size_t k = 0; f != NULL && k < f->waters.count; ++k) {
    KP_TRY(kp_immersion_forces(f->waters.data[k], d, env));
  }
  KP_TRY(kp_deform_avoid(d, env));
  return f != NULL && f->contact.is_on ? kp_particles_forces(d, env) : KP_OK;
}

kp_result kp_fabric_recall(kp_deform *d, const kp_deform_group *group) {
  kp_fabric *f = d->fabric;
  for (size_t k = 0; f != NULL && k < f->waters.count; ++k) {
    KP_TRY(kp_immersion_recall(f->waters.data[k], d, group));
  }
  return KP_OK;
}

double kp_fabric_gain(const kp_deform *d, const kp_deform_part *part) {
  const kp_fabric *f = d->fabric;
  for (size_t k = 0; f != NULL && k < f->waters.count; ++k) {
    if (f->waters.data[k]->nodes.first == part->nodes.first) {
      return f->waters.data[k]->gain;
    }
  }
  return NAN;
}
