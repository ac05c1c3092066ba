// What maps of corrections watch: nodes that are held, so that a list starts from them, and
// contact, which chooses between lists.
#include <stdio.h>

#include "methods/deform/fabric.h"
#include "methods/deform/fabric_kernels.h"

extern const kp_kernel fabric_watch_kernel, fabric_changed_kernel, fabric_touched_kernel;

// ---- state --------------------------------------------------------------------------------------

// What the list is watched by. The first list is that of the pins.
static kp_result make_seen(kp_limit *m, kp_env *env, int64_t n) {
  const kp_field_desc fields[] = {
    { "held", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 0.0 },
    { "away", KP_TYPE_U32, 1, "", KP_FIELD_STATE, 0.0 },
  };
  char name[KP_NAME_SIZE];
  (void)snprintf(name, sizeof name, "%.30s.seen", m->def.name);
  KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_VERTICES, &m->seen));
  KP_TRY(kp_space_add_field(m->seen, &fields[0], &m->held));
  KP_TRY(kp_space_add_field(m->seen, &fields[1], &m->away));
  KP_TRY(kp_space_append(m->seen, n, NULL, 0));
  m->seen_revision = m->seen->revision;
  return kp_buffer_put(&m->held->buffers[0], m->fixed.data, (size_t)n);
}

// Contact chooses: at first nothing touches.
static kp_result make_event(kp_limit *m, kp_env *env, kp_range nodes) {
  const uint8_t *inside = kp_buffer_host(&m->inside, KP_ACCESS_READ);
  bool is_somewhere = false;
  for (int64_t e = 0; inside != NULL && e < nodes.n; ++e) {
    is_somewhere = is_somewhere || inside[e] != 0;
  }
  if (!is_somewhere) {
    return kp_fail(KP_ERROR_SCENE, "limit \"%s\": touched needs a shape with nodes of \"%s\" in it",
                   m->def.name, m->def.of);
  }
  const kp_field_desc fields[] = {
    { "on", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 0.0 },
    { "wrong", KP_TYPE_U32, 1, "", KP_FIELD_STATE, 0.0 },
  };
  char name[KP_NAME_SIZE];
  (void)snprintf(name, sizeof name, "%.30s.event", m->def.name);
  KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_VERTICES, &m->event));
  KP_TRY(kp_space_add_field(m->event, &fields[0], &m->is_on));
  KP_TRY(kp_space_add_field(m->event, &fields[1], &m->wrong));
  return kp_space_append(m->event, 1, NULL, 0);
}

kp_result kp_limit_watch_create(kp_limit *m, kp_env *env, kp_range nodes) {
  KP_TRY(m->def.touched > 0.0 ? make_event(m, env, nodes) : KP_OK);
  if (!(m->def.rebuild > 0.0)) {
    return KP_OK;
  }
  if (m->def.method != KP_LIMIT_DIRECT) {
    return kp_fail(KP_ERROR_SCENE,
                   "limit \"%s\": rebuild makes lists anew, and method = \"provot\" has none",
                   m->def.name);
  }
  return make_seen(m, env, nodes.n);
}

// ---- lists that follow what is held -------------------------------------------------------------

static kp_result make_anew(kp_limit *m, kp_deform *d, kp_env *env, kp_range nodes) {
  const uint8_t *held = kp_buffer_host(&m->held->buffers[0], KP_ACCESS_READ);
  m->seen_revision = m->seen->revision;
  if (held == NULL) {
    return KP_ERROR_MEMORY;
  }
  bool differs = false;
  for (int64_t e = 0; e < nodes.n; ++e) {
    uint8_t fixed = held[e] != 0;
    differs = differs || fixed != m->fixed.data[e];
    m->fixed.data[e] = fixed;
  }
  m->rebuilds += differs;
  return differs ? kp_limit_make_edges(m, d, env, nodes) : KP_OK;
}

kp_result kp_limit_follow(kp_limit *m, kp_deform *d, kp_env *env, kp_range nodes) {
  bool is_other = m->seen != NULL && m->seen_revision != m->seen->revision;
  return is_other ? make_anew(m, d, env, nodes) : KP_OK;
}

static kp_result count_changed(kp_limit *m, kp_deform *d, kp_range nodes, double *share) {
  kp_deform_bodies *b = &d->bodies;
  uint32_t patience = (uint32_t)m->def.patience;
  fabric_watch_args a = { .first = nodes.first, .patience = patience };
  kp_call call;
  kp_call_init(&call, &fabric_watch_kernel, &a);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, contact, b->solids.count > 0 ? &b->contact : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, held, &m->held->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, away, &m->away->buffers[0], KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(d->set->space->backend, &call, nodes.n));
  fabric_changed_args c = { .patience = patience };
  kp_call_init(&call, &fabric_changed_kernel, &c);
  KP_BIND(&call, &c, held, &m->held->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &c, away, &m->away->buffers[0], KP_ACCESS_READ);
  double sums[2];
  KP_TRY(kp_call_reduce(d->set->space->backend, &call, nodes.n, sums));
  *share = sums[1] > 0.0 ? sums[0] / sums[1] : 0.0;
  return KP_OK;
}

static kp_result watch(kp_limit *m, kp_deform *d, kp_env *env, kp_range nodes) {
  double share;
  KP_TRY(count_changed(m, d, nodes, &share));
  if (share <= m->def.rebuild) {
    return KP_OK;
  }
  uint8_t *held = kp_buffer_host(&m->held->buffers[0], KP_ACCESS_WRITE);
  uint32_t *away = kp_buffer_host(&m->away->buffers[0], KP_ACCESS_WRITE);
  const uint8_t *hold = kp_buffer_host(&d->hold, KP_ACCESS_READ);
  bool has_solids = d->bodies.solids.count > 0;
  const int32_t *contact = has_solids ? kp_buffer_host(&d->bodies.contact, KP_ACCESS_READ) : NULL;
  if (held == NULL || away == NULL || hold == NULL || (has_solids && contact == NULL)) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t e = 0; e < nodes.n; ++e) {
    if (away[e] >= (uint32_t)m->def.patience) {
      held[e] = fabric_is_held(hold[nodes.first + e], contact, nodes.first + e);
      away[e] = 0;
    }
  }
  return make_anew(m, d, env, nodes);
}

// ---- contact that chooses between lists ---------------------------------------------------------

static kp_result count_touched(kp_limit *m, kp_deform *d, kp_range nodes, double sums[2]) {
  fabric_touched_args a = { .first = nodes.first };
  kp_call call;
  kp_call_init(&call, &fabric_touched_kernel, &a);
  KP_BIND(&call, &a, inside, &m->inside, KP_ACCESS_READ);
  KP_BIND(&call, &a, contact, d->bodies.solids.count > 0 ? &d->bodies.contact : NULL,
          KP_ACCESS_READ);
  return kp_call_reduce(d->set->space->backend, &call, nodes.n, sums);
}

static kp_result watch_event(kp_limit *m, kp_deform *d, kp_range nodes) {
  double sums[2];
  KP_TRY(count_touched(m, d, nodes, sums));
  uint8_t *is_on = kp_buffer_host(&m->is_on->buffers[0], KP_ACCESS_WRITE);
  uint32_t *wrong = kp_buffer_host(&m->wrong->buffers[0], KP_ACCESS_WRITE);
  if (is_on == NULL || wrong == NULL) {
    return KP_ERROR_MEMORY;
  }
  bool is_touched = sums[0] >= m->def.touched * sums[1];
  *wrong = is_touched != (*is_on != 0) ? *wrong + 1 : 0;
  if (*wrong >= (uint32_t)m->def.patience) {
    *is_on = is_touched;
    *wrong = 0;
  }
  return KP_OK;
}

kp_result kp_fabric_watch(kp_deform *d, kp_env *env) {
  kp_fabric *f = d->fabric;
  for (size_t k = 0; f != NULL && k < f->limited.count; ++k) {
    kp_limited *l = f->limited.data[k];
    for (size_t m = 0; m < l->maps.count; ++m) {
      if (l->maps.data[m].seen != NULL) {
        KP_TRY(watch(&l->maps.data[m], d, env, l->nodes));
      }
      if (l->maps.data[m].event != NULL) {
        KP_TRY(watch_event(&l->maps.data[m], d, l->nodes));
      }
    }
    kp_limited_renew_order(l);
  }
  return KP_OK;
}
