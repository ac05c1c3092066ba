// Triangles of bodies as guests of the contact of deformables. Nodes keep off bodies by the
// distance to them (deform_bodies.c); an edge or a corner of a body that comes between nodes is
// found by its triangles alone. Bodies that are still or scripted are where they ought to be at any
// time. Free ones move after the deformables, in stage CORRECT, so that C waits for them: it begins
// from where both were and ends where both are, and pushes and turns the bodies too.
#include <math.h>

#include "geom/mesh_make.h"
#include "geom/mesh_query.h"
#include "geom/morph.h"
#include "methods/deform/deform.h"

#define GAP_SHARE 0.25  // of the thickness: nodes rest off triangles, and folds still meet

static kp_result take_mesh(kp_deform_guests *g, const kp_body *model, const kp_solid *solid,
                           const kp_mesh *mesh) {
  kp_index first = (kp_index)g->nodes.count;
  KP_TRY(kp_array_push(&g->owners, first));
  if (model->kind == KP_BODY_FREE) {
    kp_deform_free free = { solid->body, first, mesh->n_vertices, 0.0 };
    for (kp_index v = 0; v < mesh->n_vertices; ++v) {
      kp_vec3 arm = kp_vec3_sub(mesh->vertices[v], model->center);
      free.reach = fmax(free.reach, kp_vec3_length(arm));
    }
    KP_TRY(kp_array_push(&g->free, free));
  }
  if (solid->morph != NULL) {
    kp_deform_bent bent = { solid->morph, first };
    KP_TRY(kp_array_push(&g->bent, bent));
  }
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    kp_deform_guest guest = { .body = solid->body, .local = mesh->vertices[v] };
    KP_TRY(kp_array_push(&g->nodes, guest));
    KP_TRY(kp_array_push(&g->arms, kp_vec3_sub(guest.local, model->center)));
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
static kp_result take_solid(kp_deform *d, const kp_body *model, const kp_solid *solid) {
  kp_deform_guests *g = &d->meet.guests;
  const kp_shape *shape = solid->shape;
  bool is_asked = model->kind != KP_BODY_FREE || d->def.body_triangles == KP_TRIANGLES_ALL;
  if (!is_asked || !kp_shape_is_bounded(shape) || shape->def.shell > 0.0) {
    return KP_OK;
  }
  if (shape->def.kind == KP_SHAPE_MESH) {
    return take_mesh(g, model, solid, kp_mesh_query_mesh(shape->mesh));
  }
  if (shape->def.kind != KP_SHAPE_BOX) {
    return KP_OK;
  }
  kp_mesh box;
  KP_TRY(kp_mesh_make_box(kp_shape_bounds(shape), &box));
  kp_result result = take_mesh(g, model, solid, &box);
  kp_mesh_destroy(&box);
  return result;
}

// The thinnest surface; 0 where there is none.
static double least_thickness(const kp_deform *d) {
  double least = INFINITY;
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    least = part->triangles.n > 0 ? fmin(least, part->surface.thickness) : least;
  }
  return isfinite(least) ? least : 0.0;
}

// Surfaces alone meet triangles: hair does not, nor does what may touch bodies without a gap.
static bool has_guests(const kp_deform *d, double gap) {
  return d->def.contact && d->def.bodies && d->def.body_triangles != KP_TRIANGLES_NONE &&
         d->n_triangles > 0 && gap > 0.0;
}

static kp_result take_solids(kp_deform *d, const kp_env *env) {
  kp_deform_guests *g = &d->meet.guests;
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    const kp_solid *solid = &env->scenery.solids[s];
    KP_TRY(take_solid(d, &env->bodies->models.data[solid->body], solid));
  }
  if (g->free.count > 0 && d->def.rewind) {
    return kp_fail(KP_ERROR_SCENE, "solids: body_triangles = \"all\" does not go with rewind: "
                                   "bodies that are free move once in a step");
  }
  KP_TRY(kp_array_push(&g->owners, (kp_index)g->nodes.count));
  KP_TRY(kp_array_resize(&g->from, g->nodes.count));
  return kp_array_resize(&g->to, g->nodes.count);
}

kp_result kp_deform_make_guests(kp_deform *d, kp_env *env) {
  double gap = isnan(d->def.gap) ? GAP_SHARE * least_thickness(d) : d->def.gap;
  if (d->def.body_triangles == KP_TRIANGLES_ALL && d->n_triangles > 0 && !(gap > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "solids: body_triangles = \"all\" needs gap above 0, so that "
                                   "nodes rest off the triangles of bodies");
  }
  if (has_guests(d, gap)) {
    KP_TRY(take_solids(d, env));
  }
  if (isnan(d->def.gap)) {
    d->def.gap = d->meet.guests.nodes.count > 0 ? gap : 0.0;
  }
  return KP_OK;
}

void kp_deform_free_guests(kp_deform_guests *g) {
  kp_array_free(&g->nodes);
  kp_array_free(&g->triangles);
  kp_array_free(&g->owners);
  kp_array_free(&g->free);
  kp_array_free(&g->arms);
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

static kp_contact_pose pose_of(const kp_frame3 *frame) {
  return (kp_contact_pose){ frame->position, frame->orientation };
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
  for (size_t k = 0; k < g->free.count; ++k) {
    kp_contact_pose was = pose_of(&d->meet.clean_frames.data[g->free.data[k].body]);
    kp_frame3 now = kp_bodies_frame(env->bodies, g->free.data[k].body);
    kp_contact_pose is = pose_of(&now);
    kp_contact_carry(d->meet.contact, (kp_index)k, &was, &is);
  }
  return KP_OK;
}

bool kp_deform_is_near_free(kp_deform *d, kp_env *env, double time) {
  const kp_deform_guests *g = &d->meet.guests;
  if (!kp_deform_parts_late(d)) {
    return false;
  }
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
    if (x[c] == NULL) {
      return false;
    }
  }
  for (size_t k = 0; k < g->free.count; ++k) {
    kp_frame3 f = kp_bodies_frame(env->bodies, g->free.data[k].body);
    double reach = g->free.data[k].reach + 2.0 * d->def.gap + time * kp_vec3_length(f.velocity);
    for (int64_t i = 0; i < d->set->space->n; ++i) {
      kp_vec3 away = kp_vec3_sub(kp_vec3_make(x[0][i], x[1][i], x[2][i]), f.position);
      if (kp_vec3_dot(away, away) < reach * reach) {
        return true;
      }
    }
  }
  return false;
}

void kp_deform_lead_back(kp_deform *d, kp_env *env, double time) {
  const kp_deform_guests *g = &d->meet.guests;
  for (size_t k = 0; k < g->free.count; ++k) {
    kp_contact_pose pose;
    if (!kp_contact_carried(d->meet.contact, (kp_index)k, &pose)) {
      continue;
    }
    kp_frame3 frame = kp_bodies_frame(env->bodies, g->free.data[k].body);
    kp_vec3 shift = kp_vec3_sub(pose.center, frame.position);
    kp_vec3 turn = kp_contact_turn_between(frame.orientation, pose.turn);
    frame.velocity = kp_vec3_madd(frame.velocity, 1.0 / time, shift);
    frame.angular_velocity = kp_vec3_madd(frame.angular_velocity, 1.0 / time, turn);
    frame.position = pose.center;
    frame.orientation = pose.turn;
    kp_bodies_set_frame(env->bodies, g->free.data[k].body, &frame);
  }
}
