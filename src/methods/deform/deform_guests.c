// Triangles of bodies as guests of the contact of deformables. Nodes keep off bodies by the
// distance to them (deform_bodies.c); an edge or a corner of a body that comes between nodes is
// found by its triangles alone. Bodies that are still or scripted are where they ought to be at any
// time, so that a sub-step begins where the last one ended; free ones are not, and are left out.
#include <math.h>

#include "geom/mesh_make.h"
#include "geom/mesh_query.h"
#include "geom/morph.h"
#include "methods/deform/deform.h"

static kp_result take_mesh(kp_deform_guests *g, const kp_solid *solid, const kp_mesh *mesh) {
  kp_index first = (kp_index)g->nodes.count;
  KP_TRY(kp_array_push(&g->owners, first));
  if (solid->morph != NULL) {
    kp_deform_bent bent = { solid->morph, first };
    KP_TRY(kp_array_push(&g->bent, bent));
  }
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    kp_deform_guest guest = { .body = solid->body, .local = mesh->vertices[v] };
    KP_TRY(kp_array_push(&g->nodes, guest));
  }
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    kp_triangle moved = mesh->triangles[t];
    for (int k = 0; k < 3; ++k) {
      moved.v[k] += first;
    }
    KP_TRY(kp_array_push(&g->triangles, moved));
  }
  return KP_OK;
}

// Round shapes have no edges; rooms and shells hold their nodes from both sides.
static kp_result take_solid(kp_deform_guests *g, const kp_solid *solid) {
  const kp_shape *shape = solid->shape;
  if (!kp_shape_is_bounded(shape) || shape->def.shell > 0.0) {
    return KP_OK;
  }
  if (shape->def.kind == KP_SHAPE_MESH) {
    return take_mesh(g, solid, kp_mesh_query_mesh(shape->mesh));
  }
  if (shape->def.kind != KP_SHAPE_BOX) {
    return KP_OK;
  }
  kp_mesh box;
  KP_TRY(kp_mesh_make_box(kp_shape_bounds(shape), &box));
  kp_result result = take_mesh(g, solid, &box);
  kp_mesh_destroy(&box);
  return result;
}

kp_result kp_deform_make_guests(kp_deform *d, kp_env *env) {
  kp_deform_guests *g = &d->meet.guests;
  if (!d->def.body_triangles || !d->def.bodies) {
    return KP_OK;
  }
  if (!(d->def.gap > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "solids: body_triangles needs gap above 0, so that nodes rest "
                                   "off the triangles of bodies");
  }
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    const kp_solid *solid = &env->scenery.solids[s];
    if (env->bodies->models.data[solid->body].kind != KP_BODY_FREE) {
      KP_TRY(take_solid(g, solid));
    }
  }
  KP_TRY(kp_array_push(&g->owners, (kp_index)g->nodes.count));
  KP_TRY(kp_array_resize(&g->from, g->nodes.count));
  return kp_array_resize(&g->to, g->nodes.count);
}

void kp_deform_free_guests(kp_deform_guests *g) {
  kp_array_free(&g->nodes);
  kp_array_free(&g->triangles);
  kp_array_free(&g->owners);
  kp_array_free(&g->from);
  kp_array_free(&g->to);
  kp_array_free(&g->bent);
  kp_array_free(&g->vertices);
}

kp_vec3 kp_deform_guest_at(const kp_env *env, const kp_deform_guest *guest, double time) {
  const kp_body *model = &env->bodies->models.data[guest->body];
  kp_frame3 frame = model->kind == KP_BODY_SCRIPTED ? kp_body_scripted_frame(model, time)
                                                    : kp_bodies_frame(env->bodies, guest->body);
  kp_vec3 arm = kp_vec3_sub(guest->local, model->center);
  return kp_vec3_add(frame.position, kp_quat_rotate(frame.orientation, arm));
}

// Nodes of solids that change their form, as they are at a time.
static kp_result bend(kp_deform_guests *g, double time) {
  for (size_t b = 0; b < g->bent.count; ++b) {
    const kp_deform_bent *bent = &g->bent.data[b];
    size_t n = (size_t)bent->morph->mesh.n_vertices;
    KP_TRY(kp_array_resize(&g->vertices, n));
    kp_morph_at(bent->morph, time, g->vertices.data, NULL);
    for (size_t i = 0; i < n; ++i) {
      g->nodes.data[(size_t)bent->first + i].local = g->vertices.data[i];
    }
  }
  return KP_OK;
}

kp_result kp_deform_guide(kp_deform *d, const kp_env *env, double from, double to) {
  kp_deform_guests *g = &d->meet.guests;
  KP_TRY(bend(g, from));
  for (size_t k = 0; k < g->nodes.count; ++k) {
    g->from.data[k] = kp_deform_guest_at(env, &g->nodes.data[k], from);
  }
  KP_TRY(bend(g, to));
  for (size_t k = 0; k < g->nodes.count; ++k) {
    g->to.data[k] = kp_deform_guest_at(env, &g->nodes.data[k], to);
  }
  if (g->nodes.count > 0) {
    kp_contact_guide(d->meet.contact, g->from.data, g->to.data);
  }
  return KP_OK;
}
