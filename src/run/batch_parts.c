// Deformables in a frame: the nodes of a part as the vertices of its mesh and the points of its
// curves.
#include <stdio.h>
#include <string.h>

#include "run/batch.h"

#define TAPER 0.6  // of the radius that a strand has lost at its tip

static const char *const components[3] = { "x", "y", "z" };

// Items of a field of the set, of the nodes `nodes` (NULL: all of the part).
static kp_result add_field(kp_batch *batch, const kp_env_part *part, kp_field *field,
                           const char *where, const kp_index *nodes, size_t n) {
  for (int c = 0; c < 3; ++c) {
    void *room;
    const void *host = kp_buffer_host(&field->buffers[c], KP_ACCESS_READ);
    KP_TRY(host != NULL ? KP_OK : KP_ERROR_MEMORY);
    KP_TRY(kp_batch_room(batch, KP_ITEM_F64, n, field->unit, &room, "%s/%s", where, components[c]));
    double *out = room;
    for (size_t k = 0; k < n; ++k) {
      int64_t i = part->first + (nodes != NULL ? (int64_t)nodes[k] : (int64_t)k);
      out[k] = field->type == KP_TYPE_REAL ? (double)((const kp_real *)host)[i]
                                           : ((const kp_pos *)host)[i];
    }
  }
  return KP_OK;
}

static kp_result add_named(kp_batch *batch, const kp_env_part *part, const char *kind,
                           const char *what, kp_field *field) {
  char where[KP_SECTION_NAME_SIZE];
  bool is_curve = kind[0] == 'c';
  (void)snprintf(where, sizeof where, "%s/%s/%s", kind, part->name, what);
  return add_field(batch, part, field, where, is_curve ? part->points.data : NULL,
                   is_curve ? part->points.count : (size_t)part->count);
}

static kp_result add_mesh(kp_batch *batch, const kp_env_part *part) {
  KP_TRY(add_named(batch, part, "mesh", "vertices", part->set->position));
  KP_TRY(add_named(batch, part, "mesh", "velocity", part->set->velocity));
  void *room;
  KP_TRY(kp_batch_room(batch, KP_ITEM_U32, 3 * part->triangles.count, "", &room,
                       "mesh/%s/triangles", part->name));
  uint32_t *out = room;
  for (size_t t = 0; t < part->triangles.count; ++t) {
    for (int c = 0; c < 3; ++c) {
      out[3 * t + (size_t)c] = (uint32_t)part->triangles.data[t].v[c];
    }
  }
  return KP_OK;
}

// Where in the correction list of its edges a node stands, for pictures of the list.
static kp_result add_order(kp_batch *batch, const kp_env_part *part) {
  void *room;
  KP_TRY(kp_batch_room(batch, KP_ITEM_F64, (size_t)part->count, "", &room, "mesh/%s/order/0",
                       part->name));
  memcpy(room, part->order, (size_t)part->count * sizeof(double));
  return KP_OK;
}

static kp_result add_curves(kp_batch *batch, const kp_env_part *part) {
  KP_TRY(add_named(batch, part, "curve", "points", part->set->position));
  KP_TRY(add_named(batch, part, "curve", "velocity", part->set->velocity));
  void *room;
  KP_TRY(kp_batch_room(batch, KP_ITEM_U64, part->offsets.count, "", &room, "curve/%s/offsets",
                       part->name));
  uint64_t *offsets = room;
  for (size_t k = 0; k < part->offsets.count; ++k) {
    offsets[k] = part->offsets.data[k];
  }
  KP_TRY(kp_batch_room(batch, KP_ITEM_F64, part->points.count, "m", &room, "curve/%s/radius/0",
                       part->name));
  double *radius = room;
  // thinner towards the tip
  for (size_t c = 0; c + 1 < part->offsets.count; ++c) {
    size_t first = (size_t)part->offsets.data[c], n = (size_t)part->offsets.data[c + 1] - first;
    for (size_t k = 0; k < n; ++k) {
      double along = n > 1 ? (double)k / (double)(n - 1) : 0.0;
      radius[first + k] = part->radius * (1.0 - TAPER * along * along);
    }
  }
  return KP_OK;
}

kp_result kp_batch_add_parts(kp_batch *batch, kp_world *world) {
  for (size_t p = 0; p < world->env.parts.count; ++p) {
    const kp_env_part *part = &world->env.parts.data[p];
    if (part->triangles.count > 0) {
      KP_TRY(add_mesh(batch, part));
      KP_TRY(part->order != NULL ? add_order(batch, part) : KP_OK);
    }
    if (part->offsets.count > 0) {
      KP_TRY(add_curves(batch, part));
    }
  }
  return KP_OK;
}
