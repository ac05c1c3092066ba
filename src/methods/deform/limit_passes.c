// One step of a map of corrections: where nodes are going, edges that take their lengths, and the
// velocities that lead there.
#include <math.h>

#include "methods/deform/fabric.h"
#include "methods/deform/fabric_kernels.h"

extern const kp_kernel fabric_propose_kernel, fabric_tighten_kernel, fabric_provot_kernel,
    fabric_settle_kernel;

static kp_result propose(kp_deform *d, kp_range nodes) {
  fabric_propose_args a = { .first = nodes.first, .dt = d->dt };
  kp_call call;
  kp_call_init(&call, &fabric_propose_kernel, &a);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, nodes.n);
}

// A list moves the second end of each edge, wave by wave (Ozgen, section 6.3).
static kp_result tighten(kp_limit *m, kp_deform *d, kp_range nodes) {
  const int32_t *first = m->kept.first.data;
  fabric_tighten_args a = { .first_node = nodes.first,
                            .tolerance = m->def.tolerance,
                            .most = m->def.fastest > 0.0 ? m->def.fastest * d->dt : HUGE_VAL,
                            .both = m->def.two_sided };
  for (size_t w = 0; w + 1 < m->kept.first.count; ++w) {
    a.first = first[w];
    kp_call call;
    kp_call_init(&call, &fabric_tighten_kernel, &a);
    KP_BIND(&call, &a, by_wave, &m->kept.by_group, KP_ACCESS_READ);
    KP_BIND(&call, &a, from, &m->kept.from, KP_ACCESS_READ);
    KP_BIND(&call, &a, to, &m->kept.to, KP_ACCESS_READ);
    KP_BIND(&call, &a, rest, &m->kept.rest, KP_ACCESS_READ);
    KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
    KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_WRITE);
    KP_BIND_VECTOR3(&call, &a, s, &m->shift, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(d->set->space->backend, &call, first[w + 1] - first[w]));
  }
  return KP_OK;
}

// Moves both ends of each edge, colour by colour (Provot 1995).
static kp_result pass(kp_limit_groups *g, const kp_limit *m, kp_deform *d, kp_range nodes) {
  fabric_provot_args a = { .first_node = nodes.first,
                           .tolerance = m->def.tolerance,
                           .both = m->def.two_sided };
  for (size_t c = 0; c + 1 < g->first.count; ++c) {
    a.first = g->first.data[c];
    kp_call call;
    kp_call_init(&call, &fabric_provot_kernel, &a);
    KP_BIND(&call, &a, by_color, &g->by_group, KP_ACCESS_READ);
    KP_BIND(&call, &a, from, &g->from, KP_ACCESS_READ);
    KP_BIND(&call, &a, to, &g->to, KP_ACCESS_READ);
    KP_BIND(&call, &a, rest, &g->rest, KP_ACCESS_READ);
    KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
    KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(d->set->space->backend, &call, g->first.data[c + 1] - g->first.data[c]));
  }
  return KP_OK;
}

static kp_result settle(kp_limit *m, kp_deform *d, kp_range nodes) {
  bool is_list = m->def.method == KP_LIMIT_DIRECT;
  fabric_settle_args a = { .first = nodes.first,
                           .inverse_dt = 1.0 / d->dt,
                           .share = (kp_real)(m->def.compensation / d->dt) };
  kp_call call;
  kp_call_init(&call, &fabric_settle_kernel, &a);
  KP_BIND(&call, &a, start, is_list ? &m->start : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, is_list ? &m->out : NULL, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, s, &m->shift, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_WRITE);
  KP_BIND_VECTOR3(&call, &a, l, &d->fabric->lag, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, nodes.n);
}

// Edges that a list leaves out come before it: it has the last word on its own.
kp_result kp_limit_correct(kp_limit *m, kp_deform *d, kp_range nodes) {
  bool is_list = m->def.method == KP_LIMIT_DIRECT;
  kp_limit_groups *both = is_list ? &m->seams : &m->kept;
  KP_TRY(propose(d, nodes));
  for (int64_t k = 0; k < (is_list ? m->def.seams : m->def.passes); ++k) {
    KP_TRY(pass(both, m, d, nodes));
  }
  KP_TRY(is_list ? tighten(m, d, nodes) : KP_OK);
  return settle(m, d, nodes);
}
