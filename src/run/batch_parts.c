// Deformables in a frame: the nodes of a part as the vertices of its mesh and the points of its
// curves.
#include <string.h>

#include "methods/deform/stitch.h"
#include "run/batch.h"

#define YARN_SAMPLES 4  // points of a thread from one bonding point to the next
#define TAPER 0.6       // of the radius that a strand has lost at its tip

static const char *const components[3] = { "x", "y", "z" };

// Nodes of a part that are in a mesh or in curves.
typedef struct choice {
  const kp_index *nodes;  // counted from the first of the part; NULL: one after the other
  int64_t first;          // of the set
  size_t n;
} choice;

static choice mesh_nodes(const kp_env_part *part) {
  int64_t n = part->is_knit ? part->count / 3 : part->count;
  return (choice){ NULL, part->first + (part->is_knit ? n : 0), (size_t)n };
}

static choice curve_nodes(const kp_env_part *part) {
  return (choice){ part->points.data, part->first, part->points.count };
}

static kp_result add_field(kp_batch *batch, const kp_env_part *part, choice of, const char *what,
                           kp_field *field) {
  const char *kind = of.nodes != NULL ? "curve" : "mesh";
  for (int c = 0; c < 3; ++c) {
    void *room;
    const void *host = kp_buffer_host(&field->buffers[c], KP_ACCESS_READ);
    KP_TRY(host != NULL ? KP_OK : KP_ERROR_MEMORY);
    KP_TRY(kp_batch_room(batch, KP_ITEM_F64, of.n, field->unit, &room, "%s/%s/%s/%s", kind,
                         part->name, what, components[c]));
    double *out = room;
    for (size_t k = 0; k < of.n; ++k) {
      int64_t i = of.first + (of.nodes != NULL ? (int64_t)of.nodes[k] : (int64_t)k);
      out[k] = field->type == KP_TYPE_REAL ? (double)((const kp_real *)host)[i]
                                           : ((const kp_pos *)host)[i];
    }
  }
  return KP_OK;
}

// The triangles of knitwear are those of its front; the layers are alike.
static kp_result add_mesh(kp_batch *batch, const kp_env_part *part) {
  KP_TRY(add_field(batch, part, mesh_nodes(part), "vertices", part->set->position));
  KP_TRY(add_field(batch, part, mesh_nodes(part), "velocity", part->set->velocity));
  void *room;
  KP_TRY(kp_batch_room(batch, KP_ITEM_U32, 3 * part->triangles.count, "", &room,
                       "mesh/%s/triangles", part->name));
  uint32_t *out = room;
  for (size_t t = 0; t < part->triangles.count; ++t) {
    for (int c = 0; c < 3; ++c) {
      out[3 * t + (size_t)c] = (uint32_t)part->triangles.data[t].v[c];
    }
  }
  if (part->tets.count == 0) {
    return KP_OK;
  }
  KP_TRY(kp_batch_room(batch, KP_ITEM_U32, part->tets.count, "", &room, "mesh/%s/tetrahedra",
                       part->name));
  out = room;
  for (size_t k = 0; k < part->tets.count; ++k) {
    out[k] = (uint32_t)part->tets.data[k];
  }
  return KP_OK;
}

// Where in the correction list of its edges a node stands, for pictures of the list.
static kp_result add_order(kp_batch *batch, const kp_env_part *part) {
  void *room;
  choice of = mesh_nodes(part);
  KP_TRY(kp_batch_room(batch, KP_ITEM_F64, of.n, "", &room, "mesh/%s/order/0", part->name));
  memcpy(room, part->order + (of.first - part->first), of.n * sizeof(double));
  return KP_OK;
}

static kp_result add_curves(kp_batch *batch, const kp_env_part *part) {
  KP_TRY(add_field(batch, part, curve_nodes(part), "points", part->set->position));
  KP_TRY(add_field(batch, part, curve_nodes(part), "velocity", part->set->velocity));
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

static kp_vec3 node_at(const kp_env_part *part, int64_t i) {
  double x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = ((const kp_pos *)kp_buffer_host(&part->set->position->buffers[c],
                                           KP_ACCESS_READ))[part->first + i];
  }
  return kp_vec3_make(x[0], x[1], x[2]);
}

// All threads of all yarns of a part, from where its nodes are now.
static kp_result find_threads(const kp_env_part *part, kp_threads *out) {
  KP_ARRAY(kp_vec3) nodes = { 0 };
  kp_result result = kp_array_resize(&nodes, (size_t)part->count);
  for (int64_t i = 0; i < part->count && result == KP_OK; ++i) {
    nodes.data[i] = node_at(part, i);
  }
  if (result == KP_OK) {
    const kp_env_yarn *y = &part->yarn;
    kp_thread_def def = { { y->columns, y->rows }, part->radius, y->plies, y->pitch, YARN_SAMPLES };
    result = kp_stitch_threads(&def, nodes.data, out);
  }
  kp_array_free(&nodes);
  return result;
}

static kp_result add_threads(kp_batch *batch, const kp_env_part *part, const kp_threads *t) {
  void *room;
  size_t n = t->points.count;
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_batch_room(batch, KP_ITEM_F64, n, "m", &room, "curve/%s/points/%s", part->name,
                         components[c]));
    double *out = room;
    for (size_t k = 0; k < n; ++k) {
      kp_vec3 p = t->points.data[k];
      out[k] = c == 0 ? p.x : c == 1 ? p.y : p.z;
    }
  }
  KP_TRY(kp_batch_room(batch, KP_ITEM_U64, t->starts.count, "", &room, "curve/%s/offsets",
                       part->name));
  memcpy(room, t->starts.data, t->starts.count * sizeof(uint64_t));
  KP_TRY(kp_batch_room(batch, KP_ITEM_F64, n, "m", &room, "curve/%s/radius/0", part->name));
  double *radius = room;
  for (size_t k = 0; k < n; ++k) {
    radius[k] = t->radius;
  }
  return KP_OK;
}

static kp_result add_yarn(kp_batch *batch, const kp_env_part *part) {
  kp_threads threads = { 0 };
  kp_result result = find_threads(part, &threads);
  if (result == KP_OK) {
    result = add_threads(batch, part, &threads);
  }
  kp_threads_free(&threads);
  return result;
}

kp_result kp_batch_add_parts(kp_batch *batch, kp_world *world) {
  for (size_t p = 0; p < world->env.parts.count; ++p) {
    const kp_env_part *part = &world->env.parts.data[p];
    if (part->triangles.count > 0) {
      KP_TRY(add_mesh(batch, part));
      KP_TRY(part->order != NULL ? add_order(batch, part) : KP_OK);
    }
    KP_TRY(part->yarn.rows > 0 ? add_yarn(batch, part) : KP_OK);
    KP_TRY(part->offsets.count > 0 ? add_curves(batch, part) : KP_OK);
  }
  return KP_OK;
}
