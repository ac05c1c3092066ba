#include "data/mac.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/mac_kernels.h"
#include "par/kernel_define.h"

MAC_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define STATE_SUFFIX ".window"

// Layout of the arrays from the box; whole cells nearest to it.
static kp_result make_view(const kp_mac_def *def, kp_mac_view *view) {
  const double lo[3] = { def->box.min.x, def->box.min.y, def->box.min.z };
  const double hi[3] = { def->box.max.x, def->box.max.y, def->box.max.z };
  kp_mac_view v = { .dimension = def->dimension,
                    .cell = def->cell,
                    .h = (kp_real)def->cell,
                    .inverse_h = (kp_real)(1.0 / def->cell) };
  double stride[3];
  double items = 1.0;
  double start = 0.0;
  for (int c = 0; c < 3; ++c) {
    bool is_flat = c == 2 && def->dimension == 2;
    double n = is_flat ? 1.0 : fmax(1.0, round((hi[c] - lo[c]) / def->cell));
    v.lo[c] = is_flat ? -0.5 * def->cell : lo[c];
    v.is_periodic[c] = !is_flat && def->sides[c][0].kind == KP_MAC_PERIODIC;
    stride[c] = items;
    start += is_flat ? 0.0 : KP_MAC_GHOSTS * items;
    items *= is_flat ? 1.0 : n + 2.0 * KP_MAC_GHOSTS;
    v.n[c] = n < INT_MAX ? (int32_t)n : INT_MAX;
  }
  if (items >= (double)INT_MAX) {
    return kp_fail(KP_ERROR_SCENE,
                   "grid \"%s\": %.3g cells of %g m are more than one grid can hold (%.3g)",
                   def->name, items, def->cell, (double)INT_MAX);
  }
  v.row = (int32_t)stride[1];
  v.slab = (int32_t)stride[2];
  v.start = (int32_t)start;
  v.count = (int64_t)items;
  *view = v;
  return KP_OK;
}

// ---- window

// Items lo..hi-1 of a kind of place along an axis. The upper faces of the last cells belong to it,
// unless they are the lower faces of the first ones.
static void range_of(const kp_mac *mac, kp_mac_kind kind, int axis, int32_t *lo, int32_t *hi) {
  const kp_mac_view *g = &mac->view;
  bool has_end = (int)kind == axis || (kind == KP_MAC_NODE && !(axis == 2 && g->dimension == 2));
  bool wraps = g->is_periodic[axis] && mac->window_hi[axis] == g->n[axis];
  *lo = mac->window_lo[axis];
  *hi = mac->window_hi[axis] + (has_end && !wraps ? 1 : 0);
}

static kp_result list_segments(kp_mac *mac, kp_mac_kind kind) {
  int32_t lo[3], hi[3];
  for (int c = 0; c < 3; ++c) {
    range_of(mac, kind, c, &lo[c], &hi[c]);
  }
  bool is_gone = kind == KP_MAC_FACE_Z && mac->view.dimension == 2;
  int64_t n = is_gone ? 0 : (int64_t)(hi[1] - lo[1]) * (hi[2] - lo[2]);
  kp_buffer *list = &mac->segments[kind];
  mac->n_segments[kind] = n;
  KP_TRY(kp_buffer_resize(list, (size_t)n * sizeof(kp_row_segment)));
  kp_row_segment *s;
  KP_TRY(kp_buffer_get(list, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&s));
  for (int32_t k = lo[2]; k < hi[2] && n > 0; ++k) {
    for (int32_t j = lo[1]; j < hi[1]; ++j) {
      *s++ = (kp_row_segment){ .j = j, .k = k, .i0 = lo[0], .i1 = hi[0] };
    }
  }
  return KP_OK;
}

static kp_result list_all(kp_mac *mac) {
  ++mac->window_revision;
  for (int kind = 0; kind < KP_MAC_KIND_COUNT; ++kind) {
    KP_TRY(list_segments(mac, (kp_mac_kind)kind));
  }
  return KP_OK;
}

static kp_result store_window(kp_mac *mac) {
  kp_field *field = mac->state->fields.data[0];
  int32_t *out;
  KP_TRY(kp_buffer_get(&field->buffers[0], KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&out));
  for (int c = 0; c < 3; ++c) {
    out[c] = mac->window_lo[c];
    out[3 + c] = mac->window_hi[c];
  }
  return KP_OK;
}

kp_result kp_mac_loaded(kp_mac *mac) {
  kp_field *field = mac->state->fields.data[0];
  const int32_t *in;
  KP_TRY(kp_buffer_get(&field->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&in));
  for (int c = 0; c < 3; ++c) {
    mac->window_lo[c] = in[c];
    mac->window_hi[c] = in[3 + c];
  }
  return list_all(mac);
}

static int32_t block_floor(int32_t i) {
  return i >= 0 ? i / KP_MAC_BLOCK * KP_MAC_BLOCK : 0;
}

kp_result kp_mac_set_window(kp_mac *mac, const int32_t lo[3], const int32_t hi[3], int32_t margin) {
  bool is_same = true;
  for (int c = 0; c < 3; ++c) {
    int32_t n = mac->view.n[c];
    // a periodic axis has no end a window could leave open
    bool is_whole = mac->view.is_periodic[c] || (c == 2 && mac->view.dimension == 2);
    int32_t from = is_whole ? 0 : block_floor(lo[c] - margin);
    int32_t to = is_whole ? n : block_floor(hi[c] + margin + KP_MAC_BLOCK - 1);
    from = from < n ? from : block_floor(n - 1);
    to = to < n ? to : n;
    to = to > from ? to : (from + KP_MAC_BLOCK < n ? from + KP_MAC_BLOCK : n);
    is_same = is_same && from == mac->window_lo[c] && to == mac->window_hi[c];
    mac->window_lo[c] = from;
    mac->window_hi[c] = to;
  }
  if (is_same) {
    return KP_OK;
  }
  KP_TRY(store_window(mac));
  return list_all(mac);
}

int64_t kp_mac_n_cells(const kp_mac *mac) {
  int64_t n = 1;
  for (int c = 0; c < 3; ++c) {
    n *= mac->window_hi[c] - mac->window_lo[c];
  }
  return n;
}

int64_t kp_mac_n_all(const kp_mac *mac) {
  return (int64_t)mac->view.n[0] * mac->view.n[1] * mac->view.n[2];
}

void kp_mac_range(const kp_mac *mac, int64_t *first, int64_t *n) {
  const kp_mac_view *g = &mac->view;
  *first = kp_mac_at(g, mac->window_lo[0], mac->window_lo[1], mac->window_lo[2]);
  *n = kp_mac_at(g, mac->window_hi[0] - 1, mac->window_hi[1] - 1, mac->window_hi[2] - 1) + 1 -
       *first;
}

// ---- life

static kp_result add_state(kp_mac *mac, kp_registry *registry, const char *name) {
  char text[KP_NAME_SIZE];
  static const kp_field_desc desc = { "window", KP_TYPE_I32, 1, "cells", KP_FIELD_SAVE, 0.0 };
  if (strlen(name) + sizeof STATE_SUFFIX > sizeof text) {
    return kp_fail(KP_ERROR_SCENE, "the name \"%s\" is too long", name);
  }
  kp_text_copy(text, sizeof text, name);
  memcpy(text + strlen(text), STATE_SUFFIX, sizeof STATE_SUFFIX);
  KP_TRY(kp_registry_add_space(registry, text, KP_SPACE_GLOBAL, &mac->state));
  KP_TRY(kp_space_add_fields(mac->state, &desc, 1));
  return kp_space_append(mac->state, 6, NULL, 0);
}

kp_result kp_mac_create(kp_registry *registry, const kp_mac_def *def, kp_mac **out) {
  kp_mac *mac = kp_alloc_zero(sizeof *mac, KP_MEMORY_FIELD);
  *out = mac;
  if (mac == NULL) {
    return KP_ERROR_MEMORY;
  }
  mac->backend = registry->backend;
  memcpy(mac->sides, def->sides, sizeof mac->sides);
  for (int kind = 0; kind < KP_MAC_KIND_COUNT; ++kind) {
    kp_buffer_init(&mac->segments[kind], mac->backend);
  }
  kp_result result = make_view(def, &mac->view);
  if (result == KP_OK) {
    result = kp_registry_add_space(registry, def->name, KP_SPACE_CELLS, &mac->space);
  }
  if (result == KP_OK) {
    result = kp_space_append(mac->space, mac->view.count, NULL, 0);
  }
  if (result == KP_OK) {
    result = add_state(mac, registry, def->name);
  }
  for (int c = 0; c < 3; ++c) {
    mac->window_hi[c] = mac->view.n[c];
  }
  if (result == KP_OK) {
    result = store_window(mac);
  }
  if (result == KP_OK) {
    result = list_all(mac);
  }
  if (result != KP_OK) {
    kp_mac_destroy(out);
  }
  return result;
}

// Spaces belong to the registry, which frees them.
void kp_mac_destroy(kp_mac **mac) {
  if (*mac == NULL) {
    return;
  }
  for (int kind = 0; kind < KP_MAC_KIND_COUNT; ++kind) {
    kp_buffer_free(&(*mac)->segments[kind]);
  }
  kp_free(*mac);
  *mac = NULL;
}

kp_result kp_mac_add_field(kp_mac *mac, const kp_field_desc *desc, kp_field **out) {
  return kp_space_add_field(mac->space, desc, out);
}

kp_result kp_mac_scratch(kp_mac *mac, kp_type type, kp_buffer *buffer) {
  kp_buffer_init(buffer, mac->backend);
  buffer->type = (uint8_t)type;
  size_t size = (size_t)mac->view.count * kp_type_size(type);
  KP_TRY(kp_buffer_resize(buffer, size));
  void *memory;
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  return kp_fill(mac->backend, memory, 0, size);
}

// ---- loops

kp_result kp_mac_rows(kp_mac *mac, kp_mac_kind kind, kp_call *call) {
  return kp_call_rows(mac->backend, call, &mac->segments[kind], mac->n_segments[kind]);
}

kp_result kp_mac_reduce(kp_mac *mac, kp_call *call, size_t first_offset, double *values) {
  int64_t first;
  int64_t n;
  kp_mac_range(mac, &first, &n);
  memcpy((char *)call->args + first_offset, &first, sizeof first);
  return kp_call_reduce(mac->backend, call, n, values);
}

// ---- ghosts

// Lines along an axis, over the padded plane across it.
static int64_t n_lines(const kp_mac_view *g, int axis) {
  int64_t n = 1;
  for (int c = 0; c < 3; ++c) {
    bool is_flat = c == 2 && g->dimension == 2;
    n *= c == axis || is_flat ? 1 : g->n[c] + 2 * KP_MAC_GHOSTS;
  }
  return n;
}

kp_result kp_mac_fill_cells(kp_mac *mac, kp_buffer *values, double outside) {
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    mac_fill_cells_args a = { .grid = mac->view,
                              .axis = axis,
                              .outside = (kp_real)(isfinite(outside) ? outside : 0.0) };
    for (int s = 0; s < 2; ++s) {
      kp_mac_side_kind kind = mac->sides[axis][s].kind;
      a.is_given[s] = isfinite(outside) && (kind == KP_MAC_OPEN || kind == KP_MAC_INFLOW);
      a.is_wall[s] = kind == KP_MAC_WALL;
      a.is_end[s] = isinf(outside) && mac->ends_at_open && kind == KP_MAC_OPEN;
    }
    kp_call call;
    kp_call_init(&call, &mac_fill_cells_kernel, &a);
    KP_BIND(&call, &a, loose, isinf(outside) ? mac->loose : NULL, KP_ACCESS_READ);
    KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(mac->backend, &call, n_lines(&mac->view, axis)));
  }
  return KP_OK;
}

kp_result kp_mac_fill_periodic(kp_mac *mac, kp_buffer *values) {
  bool is_bytes = values->type == KP_TYPE_U8;
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    if (!mac->view.is_periodic[axis]) {
      continue;
    }
    mac_wrap_reals_args reals = { .grid = mac->view, .axis = axis };
    mac_wrap_bytes_args bytes = { .grid = mac->view, .axis = axis };
    kp_call call;
    if (is_bytes) {
      kp_call_init(&call, &mac_wrap_bytes_kernel, &bytes);
      KP_BIND(&call, &bytes, values, values, KP_ACCESS_WRITE);
    } else {
      kp_call_init(&call, &mac_wrap_reals_kernel, &reals);
      KP_BIND(&call, &reals, values, values, KP_ACCESS_WRITE);
    }
    KP_TRY(kp_call_run(mac->backend, &call, n_lines(&mac->view, axis)));
  }
  return KP_OK;
}

static void set_rule(const kp_mac_side *side, int axis, int component, mac_fill_faces_args *a,
                     int s) {
  const double velocity[3] = { side->velocity.x, side->velocity.y, side->velocity.z };
  bool is_inflow = side->kind == KP_MAC_INFLOW;
  bool is_wall = side->kind == KP_MAC_WALL;
  bool holds = component == axis ? is_inflow || is_wall : is_inflow || (is_wall && side->no_slip);
  a->rule[s] = holds ? MAC_FACE_MIRROR : MAC_FACE_COPY;
  // nothing passes a wall, however it slides
  a->value[s] = (kp_real)(is_wall && component == axis ? 0.0 : velocity[component]);
}

kp_result kp_mac_fill_velocity(kp_mac *mac, kp_field *velocity) {
  for (int c = 0; c < mac->view.dimension; ++c) {
    for (int axis = 0; axis < mac->view.dimension; ++axis) {
      mac_fill_faces_args a = { .grid = mac->view, .axis = axis, .is_normal = c == axis };
      for (int s = 0; s < 2; ++s) {
        set_rule(&mac->sides[axis][s], axis, c, &a, s);
        a.is_wall[s] = mac->sides[axis][s].kind == KP_MAC_WALL;
      }
      kp_call call;
      kp_call_init(&call, &mac_fill_faces_kernel, &a);
      KP_BIND(&call, &a, loose, c == axis ? mac->loose : NULL, KP_ACCESS_READ);
      KP_BIND(&call, &a, values, &velocity->buffers[c], KP_ACCESS_WRITE);
      KP_TRY(kp_call_run(mac->backend, &call, n_lines(&mac->view, axis)));
    }
  }
  return KP_OK;
}
