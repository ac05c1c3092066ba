#include "run/shape_meshes.h"

#include "base/text.h"
#include "geom/morph.h"

#define EDGES_PER_SIZE 48.0  // along the diagonal: round enough for pictures, small in files

void kp_shape_meshes_free(kp_shape_meshes *meshes) {
  for (size_t i = 0; i < meshes->items.count; ++i) {
    kp_mesh_destroy(&meshes->items.data[i].mesh);
  }
  kp_array_free(&meshes->items);
}

static kp_result add_shape(kp_world *world, const kp_world_body *entry, kp_shape_meshes *out) {
  const kp_body *model = &world->bodies->models.data[entry->body];
  const kp_shape *shape = entry->shape;
  kp_vec3 size = kp_vec3_sub(shape->bounds.max, shape->bounds.min);
  double edge = kp_vec3_length(size) / EDGES_PER_SIZE;
  if (!isfinite(edge) || edge <= 0.0) {
    return KP_OK;
  }
  kp_shape_mesh item = { .body = entry->body, .morph = entry->morph };
  kp_result result = kp_shape_tessellate(shape, edge, &item.mesh);
  if (result == KP_ERROR_SCENE) {
    return KP_OK;
  }
  KP_TRY(result);
  for (kp_index v = 0; v < item.mesh.n_vertices; ++v) {
    item.mesh.vertices[v] = kp_vec3_sub(item.mesh.vertices[v], model->center);
  }
  kp_text_copy(item.name, sizeof item.name, model->name);
  if (kp_array_push(&out->items, item) != KP_OK) {
    kp_mesh_destroy(&item.mesh);
    return KP_ERROR_MEMORY;
  }
  return KP_OK;
}

kp_result kp_shape_meshes_make(kp_world *world, kp_shape_meshes *out) {
  return kp_shape_meshes_sample(world, 1, out);
}

kp_result kp_shape_meshes_sample(kp_world *world, size_t stride, kp_shape_meshes *out) {
  *out = (kp_shape_meshes){ 0 };
  kp_result result = KP_OK;
  for (size_t i = 0; result == KP_OK && i < world->shapes.count; i += stride) {
    const kp_world_body *entry = &world->shapes.data[i];
    if (entry->visible && entry->shape != NULL && kp_shape_is_bounded(entry->shape)) {
      result = add_shape(world, entry, out);
    }
  }
  if (result != KP_OK) {
    kp_shape_meshes_free(out);
  }
  return result;
}

static kp_result add_vectors(kp_batch *batch, const char *name, const char *field, const char *unit,
                             uint64_t n, double *out[3]) {
  static const char *const components[3] = { "x", "y", "z" };
  for (int c = 0; c < 3; ++c) {
    void *data;
    KP_TRY(kp_batch_room(batch, KP_ITEM_F64, n, unit, &data, "mesh/%s/%s/%s", name, field,
                         components[c]));
    out[c] = data;
  }
  return KP_OK;
}

// `moves`: velocities of the vertices against the body; NULL: none.
static kp_result add_mesh(const kp_shape_mesh *item, const kp_frame3 *frame, const kp_vec3 *moves,
                          kp_batch *batch) {
  const kp_mesh *mesh = &item->mesh;
  uint64_t n = (uint64_t)mesh->n_vertices;
  double *x[3], *v[3];
  KP_TRY(add_vectors(batch, item->name, "vertices", "m", n, x));
  KP_TRY(add_vectors(batch, item->name, "velocity", "m/s", n, v));
  for (uint64_t i = 0; i < n; ++i) {
    kp_vec3 arm = kp_quat_rotate(frame->orientation, mesh->vertices[i]);
    kp_vec3 place = kp_vec3_add(frame->position, arm);
    kp_vec3 speed = kp_vec3_add(frame->velocity, kp_vec3_cross(frame->angular_velocity, arm));
    if (moves != NULL) {
      speed = kp_vec3_add(speed, kp_quat_rotate(frame->orientation, moves[i]));
    }
    x[0][i] = place.x;
    x[1][i] = place.y;
    x[2][i] = place.z;
    v[0][i] = speed.x;
    v[1][i] = speed.y;
    v[2][i] = speed.z;
  }
  void *data;
  KP_TRY(kp_batch_room(batch, KP_ITEM_U32, 3 * (uint64_t)mesh->n_triangles, "", &data,
                       "mesh/%s/triangles", item->name));
  uint32_t *triangles = data;
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    for (int corner = 0; corner < 3; ++corner) {
      triangles[3 * t + corner] = (uint32_t)mesh->triangles[t].v[corner];
    }
  }
  return KP_OK;
}

// A collider that changes its form, whose centre is the origin of its shape.
static kp_result add_bent(const kp_shape_mesh *item, kp_world *world, const kp_frame3 *frame,
                          kp_batch *batch) {
  kp_shape_mesh now = *item;
  now.mesh = item->morph->mesh;
  size_t n = (size_t)now.mesh.n_vertices;
  kp_vec3 *room = kp_alloc(2 * n * sizeof *room, KP_MEMORY_MESH);
  if (room == NULL) {
    return KP_ERROR_MEMORY;
  }
  now.mesh.vertices = room;
  kp_morph_at(item->morph, kp_world_time(world), room, room + n);
  kp_result result = add_mesh(&now, frame, room + n, batch);
  kp_free(room);
  return result;
}

kp_frame3 kp_shape_frame(const kp_world *world, kp_index body) {
  const kp_body *model = &world->bodies->models.data[body];
  return model->kind == KP_BODY_SCRIPTED ? kp_body_scripted_frame(model, kp_world_time(world))
                                         : kp_bodies_frame(world->bodies, body);
}

kp_result kp_shape_meshes_add(const kp_shape_meshes *meshes, kp_world *world, kp_batch *batch) {
  for (size_t i = 0; i < meshes->items.count; ++i) {
    const kp_shape_mesh *item = &meshes->items.data[i];
    kp_frame3 frame = kp_shape_frame(world, item->body);
    KP_TRY(item->morph != NULL ? add_bent(item, world, &frame, batch)
                               : add_mesh(item, &frame, NULL, batch));
  }
  return KP_OK;
}
