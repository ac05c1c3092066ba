// What moves as a whole. Elements push their nodes against each other, so whatever the change u of
// velocities is, over the nodes of a part that nothing holds
//
//   sum m u = sum b        b: impulses
//
// The residual that an iteration stops at knows no such sum: where stiffness is 1e8 times m/h^2,
// what rounding leaves of the elements' forces is 1e3 times the weight, and a thousandth of that as
// residual is as much as gravity: such a body stops falling and drifts. So what the sum lacks is
// added to the solution. (Not so for the angular momentum: stretched elements resist being turned,
// and take their part of it in a solve.)
#include "methods/deform/deform.h"
#include "methods/deform/deform_kernels.h"

extern const kp_kernel deform_whole_kernel, deform_carry_kernel;

static kp_result carry_part(kp_deform *d, const kp_deform_part *part, double h, deform_in in) {
  kp_backend *backend = d->set->space->backend;
  double v[DEFORM_WHOLE];
  deform_whole_args w = { .first = part->nodes.first, .h = h, .b = in, .u = in };
  kp_call call;
  kp_call_init(&call, &deform_whole_kernel, &w);
  KP_BIND(&call, &w, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &w, slow, &d->slow, KP_ACCESS_READ);
  KP_BIND(&call, &w, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &w, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &w, b.x, &d->right, KP_ACCESS_READ);
  KP_BIND(&call, &w, b.y, &d->right, KP_ACCESS_READ);
  KP_BIND(&call, &w, b.z, &d->right, KP_ACCESS_READ);
  KP_BIND(&call, &w, u.x, &d->change, KP_ACCESS_READ);
  KP_BIND(&call, &w, u.y, &d->change, KP_ACCESS_READ);
  KP_BIND(&call, &w, u.z, &d->change, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(backend, &call, part->nodes.n, v));
  bool is_held = v[4] > 0.0;
  if (is_held || !(v[0] > 0.0)) {
    return KP_OK;
  }
  deform_carry_args a = { .first = part->nodes.first,
                          .speed = { (kp_real)(v[1] / v[0]), (kp_real)(v[2] / v[0]),
                                     (kp_real)(v[3] / v[0]) },
                          .u = { .o = in.o, .p = in.p, .q = in.q } };
  kp_call_init(&call, &deform_carry_kernel, &a);
  KP_BIND(&call, &a, u.x, &d->change, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.y, &d->change, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.z, &d->change, KP_ACCESS_WRITE);
  return kp_call_run(backend, &call, part->nodes.n);
}

kp_result kp_deform_carry(kp_deform *d, const kp_deform_group *group, double h) {
  // drag takes momentum along normals, and links of hair join parts
  if (d->has_drag || d->hair.locks[group->scheme].n > 0) {
    return KP_OK;
  }
  int64_t n = group->nodes.n, first = group->nodes.first;
  deform_in in = { .o = -first, .p = n - first, .q = 2 * n - first };
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    if (part->scheme == group->scheme && part->nodes.n > 0) {
      KP_TRY(carry_part(d, part, h, in));
    }
  }
  return KP_OK;
}
