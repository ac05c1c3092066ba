#include "methods/common/grid_source.h"

#include <math.h>
#include <string.h>

#include "data/call.h"
#include "methods/common/grid_source_kernels.h"
#include "par/kernel_define.h"

SOURCE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define NOISE_CELLS 4.0  // cells from one random number to the next unless said otherwise

// ---- life

static kp_result build_source(kp_grid_source *source, kp_env *env) {
  for (int kind = 0; kind < KP_MAC_KIND_COUNT; ++kind) {
    kp_buffer_init(&source->items[kind], env->backend);
    kp_buffer_init(&source->weights[kind], env->backend);
    source->weights[kind].type = KP_TYPE_REAL;
    source->items[kind].type = KP_TYPE_I32;
  }
  KP_TRY(kp_motion_create(env, &source->def.position, &source->def.rotation_deg, source->def.parent,
                          "source", source->def.name, &source->motion));
  KP_TRY(kp_shape_build(&source->def.shape, env->scenery.folder, &source->shape));
  return env->dimension == 2 ? kp_shape_flatten(source->shape) : KP_OK;
}

kp_result kp_grid_sources_create(kp_grid_sources *sources, kp_env *env, kp_mac *mac,
                                 const char *into) {
  *sources = (kp_grid_sources){ .mac = mac };
  for (size_t s = 0; s < env->scenery.n_sources; ++s) {
    const kp_source_def *def = &env->scenery.sources[s];
    if (strcmp(def->into, into) != 0) {
      continue;
    }
    kp_grid_source empty = { .def = *def };
    KP_TRY(kp_array_push(&sources->list, empty));
    kp_result result = build_source(&sources->list.data[sources->list.count - 1], env);
    if (result != KP_OK) {
      return kp_fail_in(result, "source \"%s\"", def->name);
    }
  }
  return KP_OK;
}

void kp_grid_sources_free(kp_grid_sources *sources) {
  for (size_t s = 0; s < sources->list.count; ++s) {
    kp_grid_source *source = &sources->list.data[s];
    for (int kind = 0; kind < KP_MAC_KIND_COUNT; ++kind) {
      kp_buffer_free(&source->items[kind]);
      kp_buffer_free(&source->weights[kind]);
    }
    kp_shape_destroy(&source->shape);
  }
  kp_array_free(&sources->list);
  kp_array_free(&sources->items);
  kp_array_free(&sources->weights);
}

// ---- lists

static double component(kp_vec3 v, int axis) {
  return axis == 0 ? v.x : (axis == 1 ? v.y : v.z);
}

// Items of a kind along an axis that may lie within half a cell of the shape.
static void reach(const kp_mac_view *g, kp_mac_kind kind, int axis, const double box[2],
                  int32_t range[2]) {
  bool is_end = (int)kind == axis;
  double shift = is_end ? 0.0 : 0.5;
  double last = (double)g->n[axis] - (is_end ? 0.0 : 1.0);
  double lo = floor((box[0] - g->lo[axis]) / g->cell - shift - 0.5);
  double hi = ceil((box[1] - g->lo[axis]) / g->cell - shift + 0.5);
  range[0] = (int32_t)fmin(fmax(lo, 0.0), last + 1.0);
  range[1] = (int32_t)fmax(fmin(hi, last), -1.0);
  if (axis == 2 && g->dimension == 2) {
    range[0] = range[1] = 0;
  }
}

static kp_vec3 place_of(const kp_mac_view *g, kp_mac_kind kind, const int32_t item[3]) {
  double x[3];
  kp_mac_place(g, (int)kind, item[0], item[1], item[2], x);
  return kp_vec3_make(x[0], x[1], x[2]);
}

kp_result kp_grid_sources_cover(kp_grid_sources *sources, const kp_shape *shape,
                                const kp_frame3 *at, kp_mac_kind kind) {
  const kp_mac_view *g = &sources->mac->view;
  kp_aabb box = kp_motion_box(shape, at);
  int32_t range[3][2];
  for (int c = 0; c < 3; ++c) {
    const double ends[2] = { component(box.min, c), component(box.max, c) };
    reach(g, kind, c, ends, range[c]);
  }
  sources->items.count = 0;
  sources->weights.count = 0;
  int32_t i[3];
  for (i[2] = range[2][0]; i[2] <= range[2][1]; ++i[2]) {
    for (i[1] = range[1][0]; i[1] <= range[1][1]; ++i[1]) {
      for (i[0] = range[0][0]; i[0] <= range[0][1]; ++i[0]) {
        // the share of a cell that a plane at this distance leaves inside
        kp_vec3 local = kp_frame3_local(at, place_of(g, kind, i));
        double inside = 0.5 - kp_shape_distance(shape, local) / g->cell;
        if (inside > 0.0) {
          KP_TRY(kp_array_push(&sources->items, (int32_t)kp_mac_at(g, i[0], i[1], i[2])));
          KP_TRY(kp_array_push(&sources->weights, (kp_real)fmin(inside, 1.0)));
        }
      }
    }
  }
  return KP_OK;
}

static kp_result list_places(kp_grid_sources *sources, kp_grid_source *source, kp_mac_kind kind) {
  KP_TRY(kp_grid_sources_cover(sources, source->shape, &source->at, kind));
  size_t n = sources->items.count;
  source->n[kind] = (int64_t)n;
  KP_TRY(kp_buffer_put(&source->items[kind], sources->items.data, n * sizeof(int32_t)));
  return kp_buffer_put(&source->weights[kind], sources->weights.data, n * sizeof(kp_real));
}

static bool is_same_place(const kp_frame3 *a, const kp_frame3 *b) {
  kp_quat p = a->orientation;
  kp_quat q = b->orientation;
  return kp_vec3_length(kp_vec3_sub(a->position, b->position)) == 0.0 && p.w == q.w && p.x == q.x &&
         p.y == q.y && p.z == q.z;
}

kp_result kp_grid_sources_move(kp_grid_sources *sources, kp_env *env) {
  for (size_t s = 0; s < sources->list.count; ++s) {
    kp_grid_source *source = &sources->list.data[s];
    kp_frame3 at = kp_motion_frame(&source->motion, env, env->time);
    if (source->is_listed && is_same_place(&source->at, &at)) {
      continue;
    }
    source->at = at;
    bool blows = kp_vec3_length(source->def.velocity) > 0.0;
    for (int kind = blows ? 0 : KP_MAC_CELL; kind <= KP_MAC_CELL; ++kind) {
      KP_TRY(list_places(sources, source, (kp_mac_kind)kind));
    }
    source->is_listed = true;
  }
  return KP_OK;
}

// ---- feeding

double kp_grid_source_seconds(const kp_grid_source *source, const kp_env *env) {
  double from = fmax(env->time, source->def.start);
  double to = fmin(env->time + env->dt, source->def.stop);
  return fmax(0.0, to - from);
}

static source_noise noise_of(const kp_grid_source *source, const kp_env *env, size_t s,
                             double cell) {
  const kp_source_def *def = &source->def;
  double scale = isnan(def->noise_scale) ? NOISE_CELLS * cell : def->noise_scale;
  return (source_noise){ .seed = (uint64_t)env->simulation.seed,
                         .source = s,
                         .per_cell = cell / scale,
                         .time = env->time / def->noise_time,
                         .share = def->noise };
}

kp_result kp_grid_source_feed(kp_grid_sources *sources, kp_env *env, size_t source,
                              const kp_grid_feed *feed) {
  kp_grid_source *s = &sources->list.data[source];
  double seconds = kp_grid_source_seconds(s, env);
  bool is_held = !isnan(feed->held);
  if (seconds == 0.0 || (!is_held && feed->rate == 0.0)) {
    return KP_OK;
  }
  source_feed_args a = { .grid = sources->mac->view,
                         .noise = noise_of(s, env, source, sources->mac->view.cell),
                         .is_held = is_held,
                         .held = (kp_real)(is_held ? feed->held : 0.0),
                         .added = (kp_real)(feed->rate * seconds) };
  for (int pass = feed->gained != NULL ? 0 : 1; pass < 2; ++pass) {
    kp_call call;
    kp_call_init(&call, pass == 0 ? &source_gain_kernel : &source_feed_kernel, &a);
    KP_BIND(&call, &a, items, &s->items[feed->kind], KP_ACCESS_READ);
    KP_BIND(&call, &a, weights, &s->weights[feed->kind], KP_ACCESS_READ);
    KP_BIND(&call, &a, flags, feed->flags, KP_ACCESS_READ);
    KP_BIND(&call, &a, values, feed->values, pass == 0 ? KP_ACCESS_READ : KP_ACCESS_WRITE);
    double gain = 0.0;
    KP_TRY(pass == 0 ? kp_call_reduce(env->backend, &call, s->n[feed->kind], &gain)
                     : kp_call_run(env->backend, &call, s->n[feed->kind]));
    if (pass == 0) {
      *feed->gained += gain;
    }
  }
  return KP_OK;
}
