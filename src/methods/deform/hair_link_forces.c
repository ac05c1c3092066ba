// What the links of hairs pull with, and their part of the matrix of an implicit step.
#include "methods/deform/deform.h"

extern const kp_kernel hair_link_kernel, hair_record_kernel, hair_link_tension_kernel,
    hair_link_apply_kernel;

kp_result kp_hair_evaluate(kp_deform *d, const kp_deform_group *group, kp_buffer x[3],
                           double implicit) {
  kp_hair_links *l = &d->hair.links;
  kp_range range = kp_hair_links_of(d, group);
  if (range.n == 0) {
    return KP_OK;
  }
  hair_link_args a = { .first = range.first, .implicit = (kp_real)implicit };
  kp_call call;
  kp_call_init(&call, &hair_link_kernel, &a);
  KP_BIND(&call, &a, node, &l->node, KP_ACCESS_READ);
  KP_BIND(&call, &a, weight, &l->weight, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &l->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffness, &l->stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, damping, &l->damping, KP_ACCESS_READ);
  KP_BIND(&call, &a, longest, &l->longest, KP_ACCESS_READ);
  KP_BIND(&call, &a, made, &l->made, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, alive, &l->alive->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, along, &l->along, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, force, &l->force, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, rate, &l->rate, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, range.n);
}

static kp_result record(kp_deform *d, const kp_deform_group *group, kp_buffer *const v[3],
                        deform_in view) {
  hair_record_args a = { .first = group->nodes.first, .v = view };
  kp_call call;
  kp_call_init(&call, &hair_record_kernel, &a);
  KP_BIND(&call, &a, v.x, v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.y, v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.z, v[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, record, &d->hair.links.record, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, group->nodes.n);
}

kp_result kp_hair_tensions(kp_deform *d, const kp_deform_group *group, kp_buffer *const v[3],
                           deform_in view, bool elastic) {
  kp_hair_links *l = &d->hair.links;
  kp_range range = kp_hair_links_of(d, group);
  if (range.n == 0) {
    return KP_OK;
  }
  KP_TRY(record(d, group, v, view));
  hair_link_tension_args a = { .first = range.first, .elastic = elastic ? (kp_real)1 : (kp_real)0 };
  kp_call call;
  kp_call_init(&call, &hair_link_tension_kernel, &a);
  KP_BIND(&call, &a, node, &l->node, KP_ACCESS_READ);
  KP_BIND(&call, &a, weight, &l->weight, KP_ACCESS_READ);
  KP_BIND(&call, &a, along, &l->along, KP_ACCESS_READ);
  KP_BIND(&call, &a, force, &l->force, KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &l->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, record, &l->record, KP_ACCESS_READ);
  KP_BIND(&call, &a, pull, &l->pull, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, range.n);
}

// y = r - P h f, f what links pull with; y may be r.
static kp_result add_links(kp_deform *d, const kp_deform_group *group, double h, kp_buffer *r,
                           kp_buffer *y) {
  kp_hair_links *l = &d->hair.links;
  int64_t n = group->nodes.n, first = group->nodes.first;
  hair_link_apply_args a = { .first = first,
                             .h = (kp_real)h,
                             .r = { .o = -first, .p = n - first, .q = 2 * n - first },
                             .y = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &hair_link_apply_kernel, &a);
  KP_BIND(&call, &a, start, &l->start, KP_ACCESS_READ);
  KP_BIND(&call, &a, refs, &l->refs, KP_ACCESS_READ);
  KP_BIND(&call, &a, weight, &l->weight, KP_ACCESS_READ);
  KP_BIND(&call, &a, pull, &l->pull, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, r.x, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, r.y, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, r.z, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, y.x, y, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, y.y, y, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, y.z, y, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, n);
}

kp_result kp_hair_apply(kp_deform *d, const kp_deform_group *group, double h, kp_buffer *x,
                        kp_buffer *r, kp_buffer *y) {
  if (kp_hair_links_of(d, group).n == 0) {
    return r == y ? KP_OK : kp_buffer_copy(y, r);
  }
  int64_t n = group->nodes.n, first = group->nodes.first;
  kp_buffer *vector[3] = { x, x, x };
  deform_in view = { .o = -first, .p = n - first, .q = 2 * n - first };
  KP_TRY(kp_hair_tensions(d, group, vector, view, false));
  return add_links(d, group, h, r, y);
}

kp_result kp_hair_pull_links(kp_deform *d, const kp_deform_group *group,
                             const kp_deform_stage *stage, kp_buffer *b) {
  if (kp_hair_links_of(d, group).n == 0) {
    return KP_OK;
  }
  kp_buffer *v[3] = { &stage->v[0], &stage->v[1], &stage->v[2] };
  KP_TRY(kp_hair_tensions(d, group, v, (deform_in){ 0 }, true));
  return add_links(d, group, -stage->h, b, b);
}
