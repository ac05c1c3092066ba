#include "methods/common/force_field.h"

#include <math.h>
#include <string.h>

#include "data/call.h"
#include "data/curve.h"
#include "methods/common/force_field_kernels.h"
#include "par/kernel_define.h"

FORCE_FIELD_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

kp_result kp_force_fields_create(kp_backend *backend, const kp_force_def *defs, size_t n,
                                 int dimension, kp_force_fields **out) {
  kp_force_fields *fields = kp_alloc_zero(sizeof *fields, KP_MEMORY_WORLD);
  if (fields == NULL) {
    return KP_ERROR_MEMORY;
  }
  fields->defs = defs;
  fields->n = n;
  fields->dimension = dimension;
  kp_buffer_init(&fields->records, backend);
  *out = fields;
  return KP_OK;
}

void kp_force_fields_destroy(kp_force_fields **fields) {
  if (*fields != NULL) {
    kp_buffer_free(&(*fields)->records);
    kp_free(*fields);
    *fields = NULL;
  }
}

static bool is_on(const kp_force_def *def, const char *name, double time) {
  bool meant = def->on[0] == '\0' || strcmp(def->on, name) == 0;
  return meant && time >= def->start && time < def->stop;
}

// One axis of a box; one that is flat along it has no end along it, so that a box without volume,
// which is what nobody has said a shape for, is everywhere.
static void set_axis(double *record, int axis, double lo, double hi) {
  record[axis] = lo == hi ? -HUGE_VAL : lo;
  record[3 + axis] = lo == hi ? HUGE_VAL : hi;
}

static void write_record(const kp_force_fields *fields, const kp_force_def *def, double time,
                         double *record) {
  const kp_shape_def *s = &def->shape;
  bool flat = fields->dimension == 2;
  if (s->kind == KP_SHAPE_SPHERE) {
    const double center[3] = { s->center.x, s->center.y, flat ? 0.0 : s->center.z };
    memcpy(record, center, sizeof center);
    record[6] = s->radius * s->radius;
  } else {
    set_axis(record, 0, s->min.x, s->max.x);
    set_axis(record, 1, s->min.y, s->max.y);
    set_axis(record, 2, flat ? 0.0 : s->min.z, flat ? 0.0 : s->max.z);
    record[6] = -1.0;
  }
  kp_curve_at(&def->acceleration, time, record + 7, NULL);
}

kp_result kp_force_fields_write(kp_force_fields *fields, const char *name, double time,
                                int32_t *n) {
  *n = 0;
  for (size_t f = 0; f < fields->n; ++f) {
    *n += is_on(&fields->defs[f], name, time) ? 1 : 0;
  }
  if (*n == 0) {
    return KP_OK;
  }
  size_t size = FORCE_FIELD_RECORD * sizeof(double);
  KP_TRY(kp_buffer_resize(&fields->records, fields->n * size));
  double *record = kp_buffer_host(&fields->records, KP_ACCESS_OVERWRITE);
  if (record == NULL) {
    return KP_ERROR_MEMORY;
  }
  memset(record, 0, fields->n * size);
  for (size_t f = 0; f < fields->n; ++f) {
    if (is_on(&fields->defs[f], name, time)) {
      write_record(fields, &fields->defs[f], time, record);
      record += FORCE_FIELD_RECORD;
    }
  }
  return KP_OK;
}

kp_result kp_force_fields_add_to(kp_force_fields *fields, const kp_env *env, const char *name,
                                 kp_set *set, int64_t first, int64_t n, kp_field *acceleration) {
  force_field_add_args a = { .first = first };
  KP_TRY(kp_force_fields_write(fields, name, env->time, &a.n));
  if (a.n == 0) {
    return KP_OK;
  }
  kp_call call;
  kp_call_init(&call, &force_field_add_kernel, &a);
  KP_BIND(&call, &a, records, &fields->records, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, acceleration, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, n);
}

kp_result kp_force_fields_add(kp_force_fields *fields, const kp_env *env, kp_set *set,
                              kp_field *acceleration) {
  return kp_force_fields_add_to(fields, env, set->space->name, set, 0, set->space->n, acceleration);
}

kp_vec3 kp_force_fields_at(const kp_force_fields *fields, const char *name, double time,
                           kp_vec3 p) {
  kp_vec3 sum = { 0.0, 0.0, 0.0 };
  for (size_t f = 0; f < fields->n; ++f) {
    double r[FORCE_FIELD_RECORD];
    if (is_on(&fields->defs[f], name, time)) {
      write_record(fields, &fields->defs[f], time, r);
      if (force_field_holds(r, p.x, p.y, p.z)) {
        sum = kp_vec3_add(sum, kp_vec3_make(r[7], r[8], r[9]));
      }
    }
  }
  return sum;
}

double kp_force_fields_speed(const kp_force_fields *fields, const kp_domain_def *domain) {
  double largest = 0.0;
  for (size_t f = 0; f < fields->n; ++f) {
    const kp_curve *curve = &fields->defs[f].acceleration;
    const double *v = curve->n > 0 ? curve->samples : curve->constant;
    for (int32_t k = 0; k < (curve->n > 0 ? curve->n : 1); ++k) {
      kp_vec3 a = kp_vec3_make(v[3 * k], v[3 * k + 1], v[3 * k + 2]);
      largest = fmax(largest, kp_vec3_length(a));
    }
  }
  kp_vec3 size = kp_vec3_sub(domain->max, domain->min);
  return sqrt(2.0 * largest * fmax(size.x, size.y));
}
