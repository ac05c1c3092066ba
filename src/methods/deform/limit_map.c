// What a map of corrections is made from: springs of the part, nodes that are fixed, depths.
#include <string.h>

#include "geom/shape.h"
#include "methods/deform/limits.h"

// ---- life ---------------------------------------------------------------------------------------

static void each_buffer(kp_limit *m, void (*each)(kp_buffer *buffer, kp_backend *backend),
                        kp_backend *backend) {
  kp_limit_groups *kept = &m->kept, *seams = &m->seams;
  kp_buffer *all[] = { &kept->by_group,  &kept->from,  &kept->to,      &kept->rest,
                       &seams->by_group, &seams->from, &seams->to,     &seams->rest,
                       &m->start,        &m->out,      &m->shift.c[0], &m->shift.c[1],
                       &m->shift.c[2],   &m->inside };
  for (size_t b = 0; b < sizeof all / sizeof all[0]; ++b) {
    each(all[b], backend);
  }
}

void kp_limit_init(kp_limit *m, kp_backend *backend, const kp_limit_def *def) {
  *m = (kp_limit){ .def = *def };
  each_buffer(m, kp_buffer_init, backend);
}

void kp_limit_free(kp_limit *m) {
  each_buffer(m, kp_buffer_drop, NULL);
  kp_array_free(&m->kept.first);
  kp_array_free(&m->seams.first);
  kp_array_free(&m->fixed);
  kp_array_free(&m->edges);
  kp_array_free(&m->sketch.links);
  kp_array_free(&m->sketch.lengths);
  kp_array_free(&m->sketch.depth);
}

// ---- springs ------------------------------------------------------------------------------------

static kp_result collect(const kp_deform *d, const kp_deform_part *part, kp_limit_sketch *s) {
  const int32_t *a, *b;
  const kp_real *rest;
  kp_deform_springs *springs = (kp_deform_springs *)&d->springs;
  KP_TRY(kp_buffer_get(&springs->a, KP_SIDE_HOST, KP_ACCESS_READ, (void **)(uintptr_t)&a));
  KP_TRY(kp_buffer_get(&springs->b, KP_SIDE_HOST, KP_ACCESS_READ, (void **)(uintptr_t)&b));
  KP_TRY(kp_buffer_get(&springs->rest, KP_SIDE_HOST, KP_ACCESS_READ, (void **)(uintptr_t)&rest));
  for (int64_t k = part->springs.first; k < part->springs.first + part->springs.n; ++k) {
    kp_spring_kind kind = (kp_spring_kind)springs->kinds.data[k];
    if (kind == KP_SPRING_EDGE || kind == KP_SPRING_SHEAR) {
      kp_link link = { a[k] - (kp_index)part->nodes.first, b[k] - (kp_index)part->nodes.first,
                       kind == KP_SPRING_SHEAR ? KP_LINK_SHEAR : KP_LINK_VERTICAL };
      KP_TRY(kp_array_push(&s->links, link));
      KP_TRY(kp_array_push(&s->lengths, (double)rest[k]));
    }
  }
  return KP_OK;
}

// ---- fixed nodes --------------------------------------------------------------------------------

static bool has_shape(const kp_limit_def *def) {
  const kp_shape_def *box = &def->shape;
  return box->kind != KP_SHAPE_BOX || box->min.x != box->max.x || box->min.y != box->max.y ||
         box->min.z != box->max.z;
}

// Nodes of the part in the shape of the map; none where it has no shape.
static kp_result find_inside(kp_limit *m, kp_deform *d, kp_env *env, kp_range nodes) {
  KP_TRY(kp_buffer_resize(&m->inside, (size_t)nodes.n));
  uint8_t *inside;
  KP_TRY(kp_buffer_get(&m->inside, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&inside));
  memset(inside, 0, (size_t)nodes.n);
  if (!has_shape(&m->def)) {
    return KP_OK;
  }
  kp_shape *shape;
  KP_TRY(kp_shape_build(&m->def.shape, env->scenery.folder, &shape));
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  for (int64_t e = 0; e < nodes.n; ++e) {
    int64_t i = nodes.first + e;
    inside[e] = kp_shape_distance(shape, kp_vec3_make(x[0][i], x[1][i], x[2][i])) <= 0.0;
  }
  kp_shape_destroy(&shape);
  return KP_OK;
}

static kp_result fix_pinned(kp_limit *m, kp_deform *d, kp_range nodes) {
  const int32_t *list;
  KP_TRY(kp_buffer_get(&d->pin_list, KP_SIDE_HOST, KP_ACCESS_READ, (void **)(uintptr_t)&list));
  for (size_t p = 0; p < d->pins.count; ++p) {
    const kp_deform_pin *pin = &d->pins.data[p];
    for (int64_t k = pin->nodes.first; k < pin->nodes.first + pin->nodes.n; ++k) {
      int64_t e = list[k] - nodes.first;
      if (e >= 0 && e < nodes.n && pin->def.start <= 0.0) {
        m->fixed.data[e] = KP_NODE_FIXED;
      }
    }
  }
  return KP_OK;
}

// Nodes that pins hold from the start, and those in the shape of the map.
static kp_result find_fixed(kp_limit *m, kp_deform *d, kp_env *env, kp_range nodes) {
  KP_TRY(kp_array_resize(&m->fixed, (size_t)nodes.n));
  memset(m->fixed.data, KP_NODE_FREE, (size_t)nodes.n);
  KP_TRY(fix_pinned(m, d, nodes));
  KP_TRY(find_inside(m, d, env, nodes));
  const uint8_t *inside = kp_buffer_host(&m->inside, KP_ACCESS_READ);
  for (int64_t e = 0; e < nodes.n; ++e) {
    if (m->fixed.data[e] == KP_NODE_FREE && inside[e] != 0) {
      m->fixed.data[e] = m->def.slides ? KP_NODE_CARRIED : KP_NODE_FIXED;
    }
  }
  return KP_OK;
}

// ---- depths and all of it -----------------------------------------------------------------------

// Along gravity where nodes were at the start, however they hang when a list is made anew.
static kp_result find_depth(kp_limit *m, kp_deform *d, const kp_env *env, kp_range nodes) {
  kp_limit_sketch *s = &m->sketch;
  bool is_first = s->depth.count == 0;
  KP_TRY(kp_array_resize(&s->depth, (size_t)nodes.n));
  if (m->def.down == KP_DOWN_DISTANCE) {
    return kp_edge_depths(nodes.n, s->links.data, s->lengths.data, s->links.count, m->fixed.data,
                          s->depth.data);
  }
  kp_vec3 g = kp_vec3_normalize(env->simulation.gravity);
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  for (int64_t e = 0; e < nodes.n && is_first; ++e) {
    int64_t i = nodes.first + e;
    s->depth.data[e] = g.x * x[0][i] + g.y * x[1][i] + g.z * x[2][i];
  }
  return KP_OK;
}

kp_result kp_limit_make_edges(kp_limit *m, kp_deform *d, const kp_env *env, kp_range nodes) {
  KP_TRY(m->def.method == KP_LIMIT_DIRECT ? find_depth(m, d, env, nodes) : KP_OK);
  return kp_limit_put_edges(m, nodes.n);
}

kp_result kp_limit_make(kp_limit *m, kp_deform *d, kp_env *env, const kp_deform_part *part) {
  KP_TRY(collect(d, part, &m->sketch));
  KP_TRY(find_fixed(m, d, env, part->nodes));
  KP_TRY(kp_limit_make_edges(m, d, env, part->nodes));
  return kp_limit_watch_create(m, env, part->nodes);
}
