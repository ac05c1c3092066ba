// The preconditioner of implicit steps: hairs solved one by one.
#include "methods/deform/deform.h"

extern const kp_kernel hair_factor_kernel, hair_precondition_kernel, hair_jacobi_kernel;

static bool is_of_group(const kp_deform *d, const kp_hair_place *place,
                        const kp_deform_group *group) {
  return d->parts.data[place->part].scheme == group->scheme;
}

static kp_result factor(kp_deform *d, const kp_deform_group *group, const kp_hair_place *place,
                        double h) {
  kp_deform_hair *hair = &d->hair;
  kp_deform_axes *t = &d->tets.axes;
  hair_factor_args a = {
    .first = place->hairs, .origin = group->nodes.first, .h = (kp_real)h, .n_axes = t->n
  };
  kp_call call;
  kp_call_init(&call, &hair_factor_kernel, &a);
  KP_BIND(&call, &a, start, &hair->start, KP_ACCESS_READ);
  KP_BIND(&call, &a, spring_start, &hair->spring_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_start, &hair->axis_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, a, &d->springs.a, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &d->springs.b, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, d, &d->springs.direction, KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &d->springs.rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, slope, &t->slope, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_rate, &t->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, slow, &d->slow, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, band, &hair->band, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, place->n);
}

kp_result kp_hair_factor(kp_deform *d, const kp_deform_group *group, double h, bool *has_hair) {
  *has_hair = false;
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    const kp_hair_place *place = &d->hair.places.data[k];
    if (!is_of_group(d, place, group)) {
      continue;
    }
    if (!*has_hair) {
      d->hair.band.type = KP_TYPE_REAL;
      size_t bytes = sizeof(kp_real) * HAIR_ROW * (size_t)group->nodes.n;
      if (d->hair.band.used < bytes) {
        KP_TRY(kp_buffer_resize(&d->hair.band, bytes));
      }
    }
    *has_hair = true;
    KP_TRY(factor(d, group, place, h));
  }
  return KP_OK;
}

static kp_result solve_hairs(kp_deform *d, const kp_deform_group *group, const kp_hair_place *place,
                             kp_buffer *r, kp_buffer *u) {
  int64_t n = group->nodes.n, first = group->nodes.first;
  hair_precondition_args a = { .first = place->hairs,
                               .origin = first,
                               .r = { .o = -first, .p = n - first, .q = 2 * n - first },
                               .u = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &hair_precondition_kernel, &a);
  KP_BIND(&call, &a, start, &d->hair.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, band, &d->hair.band, KP_ACCESS_READ);
  KP_BIND(&call, &a, r.x, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, r.y, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, r.z, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, u.x, u, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.y, u, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.z, u, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, place->n);
}

kp_result kp_hair_precondition(kp_deform *d, const kp_deform_group *group, kp_buffer *r,
                               kp_buffer *u) {
  // nodes that are of no hair, by their diagonal
  hair_jacobi_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &hair_jacobi_kernel, &a);
  KP_BIND(&call, &a, d, &d->inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, r, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, u, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(d->set->space->backend, &call, 3 * group->nodes.n));
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    const kp_hair_place *place = &d->hair.places.data[k];
    if (is_of_group(d, place, group)) {
      KP_TRY(solve_hairs(d, group, place, r, u));
    }
  }
  return KP_OK;
}
