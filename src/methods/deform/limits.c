// Maps of corrections of parts, which of them a step uses, and their order for pictures.
#include "methods/deform/limits.h"

#include <math.h>
#include <string.h>

#include "data/curve.h"
#include "methods/deform/fabric.h"

void kp_limited_destroy(kp_limited **limited) {
  for (size_t m = 0; m < (*limited)->maps.count; ++m) {
    kp_limit_free(&(*limited)->maps.data[m]);
  }
  kp_array_free(&(*limited)->maps);
  kp_array_free(&(*limited)->order);
  kp_free(*limited);
  *limited = NULL;
}

// ---- order for pictures -------------------------------------------------------------------------

static void write_order(kp_limited *l) {
  const kp_limit *m = &l->maps.data[l->active];
  l->order_of = l->active;
  l->order_version = m->rebuilds;
  memset(l->order.data, 0, sizeof(double) * l->order.count);
  for (size_t e = 0; m->def.method == KP_LIMIT_DIRECT && e < m->edges.count; ++e) {
    l->order.data[m->edges.data[e].to] = (double)(e + 1) / (double)m->edges.count;
  }
}

void kp_limited_renew_order(kp_limited *l) {
  if (l->order_of != l->active || l->order_version != l->maps.data[l->active].rebuilds) {
    write_order(l);
  }
}

// Frames hold the order of the list that is used.
static kp_result show_order(kp_limited *l, kp_env *env, const char *of) {
  KP_TRY(kp_array_resize(&l->order, (size_t)l->nodes.n));
  write_order(l);
  for (size_t p = 0; p < env->parts.count; ++p) {
    if (strcmp(env->parts.data[p].name, of) == 0) {
      env->parts.data[p].order = l->order.data;
    }
  }
  return KP_OK;
}

// ---- adding -------------------------------------------------------------------------------------

// The maps of the part, new if it has none.
static kp_result limited_of(kp_fabric *f, const kp_deform_part *part, kp_limited **out) {
  for (size_t k = 0; k < f->limited.count; ++k) {
    if (f->limited.data[k]->nodes.first == part->nodes.first) {
      *out = f->limited.data[k];
      return KP_OK;
    }
  }
  *out = kp_alloc_zero(sizeof **out, KP_MEMORY_WORLD);
  if (*out == NULL) {
    return KP_ERROR_MEMORY;
  }
  (*out)->nodes = part->nodes;
  kp_result result = kp_array_push(&f->limited, *out);
  if (result != KP_OK) {
    kp_free(*out);
  }
  return result;
}

kp_result kp_limits_add(kp_deform *d, kp_env *env, const kp_limit_def *def) {
  const kp_deform_part *part;
  KP_TRY(kp_fabric_find(d, "limit", def->name, def->of, &part));
  if (part->scheme != KP_SCHEME_POSITION_VERLET) {
    return kp_fail(KP_ERROR_SCENE,
                   "limit \"%s\": \"%s\" must have scheme = \"position_verlet\", not \"%s\"",
                   def->name, def->of, kp_schemes[part->scheme].name);
  }
  if (part->springs.n == 0) {
    return kp_fail(KP_ERROR_SCENE,
                   "limit \"%s\": \"%s\" has no springs, whose length is limited: give it model = "
                   "\"edges\" or \"grid\"",
                   def->name, def->of);
  }
  kp_limited *limited;
  KP_TRY(limited_of(d->fabric, part, &limited));
  kp_limit map;
  kp_limit_init(&map, env->backend, def);
  kp_result result = kp_limit_make(&map, d, env, part);
  if (result == KP_OK) {
    result = kp_array_push(&limited->maps, map);
  }
  if (result != KP_OK) {
    kp_limit_free(&map);
    return result;
  }
  return show_order(limited, env, part->name);
}

// ---- a step -------------------------------------------------------------------------------------

// Lists that wait for contact are out until it comes; when all of them wait, the first is used.
static kp_result choose(kp_limited *l, double time) {
  double most = -HUGE_VAL;
  l->active = 0;
  for (size_t m = 0; m < l->maps.count; ++m) {
    const kp_limit *map = &l->maps.data[m];
    if (map->event != NULL) {
      const uint8_t *is_on = kp_buffer_host(&map->is_on->buffers[0], KP_ACCESS_READ);
      if (is_on == NULL) {
        return KP_ERROR_MEMORY;
      }
      if (*is_on == 0) {
        continue;
      }
    }
    double wanted;
    kp_curve_at(&map->def.when, time, &wanted, NULL);
    if (wanted > most) {
      most = wanted;
      l->active = m;
    }
  }
  return KP_OK;
}

kp_result kp_fabric_limit(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  (void)group;
  kp_fabric *f = d->fabric;
  for (size_t k = 0; f != NULL && k < f->limited.count; ++k) {
    kp_limited *l = f->limited.data[k];
    KP_TRY(choose(l, d->time));
    kp_limit *m = &l->maps.data[l->active];
    KP_TRY(kp_limit_follow(m, d, env, l->nodes));
    kp_limited_renew_order(l);
    KP_TRY(kp_limit_correct(m, d, l->nodes));
  }
  return KP_OK;
}
