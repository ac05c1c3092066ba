// Triangles of bodies as guests of the contact of deformables. Nodes keep off bodies by the
// distance to them (deform_bodies.c); an edge or a corner of a body that comes between nodes is
// found by its triangles alone. Bodies that are still or scripted are where they ought to be at any
// time. Free ones move after the deformables, in stage CORRECT, so that C waits for them: it begins
// from where both were and ends where both are, and pushes and turns the bodies too.
//
// C knows of masses alone, not of the springs at a node, so what lies on cloth would feel little of
// them. Hence nodes beside an edge or a corner of a free body get a plane in A, which goes with the
// body, and keep off it in the inner steps as they do off the body itself: all that springs do to
// them along its normal comes to the body (deform_bodies.c). C is left for what they let through.
#include <math.h>

#include "geom/bvh.h"
#include "geom/mesh_make.h"
#include "geom/mesh_query.h"
#include "geom/morph.h"
#include "methods/deform/deform.h"

#define GAP_SHARE 0.25   // of the thickness: nodes rest off triangles, and folds still meet
#define PLANE_REACH 8.0  // gaps: how near edges of free bodies must be for nodes to mind them
#define CATCH_UP 0.05    // s: what is lacking of a gap becomes less by 1/e in it

static kp_result take_mesh(kp_deform_guests *g, const kp_body *model, const kp_solid *solid,
                           const kp_mesh *mesh) {
  kp_index first = (kp_index)g->nodes.count;
  KP_TRY(kp_array_push(&g->owners, first));
  if (model->kind == KP_BODY_FREE) {
    kp_deform_free free = { solid->body, -1, first, mesh->n_vertices, 0.0 };
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
  bool takes_free = d->def.body_triangles == KP_TRIANGLES_ALL ||
                    (d->def.body_triangles == KP_TRIANGLES_AUTO && !d->def.rewind);
  bool is_asked = model->kind != KP_BODY_FREE || takes_free;
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
  kp_array_free(&g->planes);
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

void kp_deform_show_free(kp_deform *d, const kp_env *env) {
  const kp_deform_guests *g = &d->meet.guests;
  for (size_t k = 0; k < g->free.count; ++k) {
    kp_frame3 now = kp_bodies_frame(env->bodies, g->free.data[k].body);
    kp_contact_pose is = pose_of(&now);
    kp_contact_carry(d->meet.contact, (kp_index)k, &is, &is);
  }
}

// A plane through where the two surfaces would touch, as a node at x sees it, in the axes of the
// shape. Where they are nearer than the gap they part slowly: at once, it would stretch springs
// anew in every step.
static deform_plane fix_plane(const kp_deform *d, const kp_env *env, const kp_contact_plane *from,
                              kp_vec3 x) {
  const kp_deform_free *free = &d->meet.guests.free.data[from->body];
  const kp_body *model = &env->bodies->models.data[free->body];
  kp_frame3 frame = kp_bodies_frame(env->bodies, free->body);
  kp_quat back = kp_quat_conjugate(frame.orientation);
  kp_vec3 n = kp_quat_rotate(back, from->normal);
  double lacks = fmax(0.0, d->def.gap - from->distance);
  double distance = from->distance + exp(-env->dt / CATCH_UP) * lacks;
  kp_vec3 at = kp_vec3_add(model->center, kp_quat_rotate(back, kp_vec3_sub(x, frame.position)));
  return (deform_plane){ .n = { n.x, n.y, n.z },
                         .offset = kp_vec3_dot(n, at) - distance,
                         .solid = free->solid };
}

kp_result kp_deform_fix_planes(kp_deform *d, kp_env *env) {
  kp_deform_guests *g = &d->meet.guests;
  if (g->free.count == 0) {
    return KP_OK;
  }
  size_t n = (size_t)d->set->space->n;
  KP_TRY(kp_array_resize(&g->planes, n));
  KP_TRY(kp_contact_planes(d->meet.contact, PLANE_REACH * d->def.gap, g->planes.data));
  KP_TRY(kp_buffer_resize(&d->bodies.planes, n * sizeof(deform_plane)));
  deform_plane *to = kp_buffer_host(&d->bodies.planes, KP_ACCESS_OVERWRITE);
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  if (to == NULL || x[0] == NULL || x[1] == NULL || x[2] == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < n; ++i) {
    to[i] = (deform_plane){ .solid = -1 };
    if (g->planes.data[i].body >= 0) {
      to[i] = fix_plane(d, env, &g->planes.data[i], kp_vec3_make(x[0][i], x[1][i], x[2][i]));
    }
  }
  return KP_OK;
}

// Where the nodes of a part are, and how fast the fastest is.
typedef struct crowd {
  const kp_pos *x[3];
  const kp_real *v[3];
  kp_range nodes;
  kp_aabb box;
  double fastest;
} crowd;

static kp_vec3 node_at(const crowd *c, int64_t i) {
  return kp_vec3_make(c->x[0][i], c->x[1][i], c->x[2][i]);
}

static kp_vec3 node_speed(const crowd *c, int64_t i) {
  return kp_vec3_make((double)c->v[0][i], (double)c->v[1][i], (double)c->v[2][i]);
}

static void bound_crowd(crowd *c) {
  c->box = kp_aabb_empty();
  c->fastest = 0.0;
  for (int64_t i = c->nodes.first; i < c->nodes.first + c->nodes.n; ++i) {
    c->box = kp_aabb_grow(c->box, node_at(c, i));
    c->fastest = fmax(c->fastest, kp_vec3_length(node_speed(c, i)));
  }
}

// Can one of the nodes be within `reach` of the centre of a body after a time?
static bool is_near(const crowd *c, const kp_frame3 *body, double reach, double time) {
  kp_vec3 p = body->position;
  double most = reach + time * (c->fastest + kp_vec3_length(body->velocity));
  bool is_found = false;
  if (kp_aabb_distance2(c->box, p) < most * most) {
    for (int64_t i = c->nodes.first; i < c->nodes.first + c->nodes.n && !is_found; ++i) {
      double closing = kp_vec3_length(kp_vec3_sub(node_speed(c, i), body->velocity));
      is_found = kp_vec3_length(kp_vec3_sub(node_at(c, i), p)) < reach + time * closing;
    }
  }
  return is_found;
}

double kp_deform_free_limit(kp_deform *d, kp_env *env, double time) {
  const kp_deform_guests *g = &d->meet.guests;
  double limit = HUGE_VAL;
  crowd c;
  for (int k = 0; k < 3 && g->free.count > 0; ++k) {
    c.x[k] = kp_buffer_host(&d->set->position->buffers[k], KP_ACCESS_READ);
    c.v[k] = kp_buffer_host(&d->set->velocity->buffers[k], KP_ACCESS_READ);
    if (c.x[k] == NULL || c.v[k] == NULL) {
      return limit;
    }
  }
  for (size_t p = 0; p < d->parts.count && g->free.count > 0; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    if (part->triangles.n == 0) {
      continue;
    }
    c.nodes = part->nodes;
    bound_crowd(&c);
    for (size_t k = 0; k < g->free.count && part->limit < limit; ++k) {
      kp_frame3 body = kp_bodies_frame(env->bodies, g->free.data[k].body);
      double reach = g->free.data[k].reach + PLANE_REACH * d->def.gap;
      limit = is_near(&c, &body, reach, time) ? part->limit : limit;
    }
  }
  return limit;
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
