// Rigid bodies among the guests of step C. Their nodes follow them; an impulse at a point of a body
// changes its shift and its turn over the step, with the mobility it has there; in an impact zone a
// body is one member with its mass and inertia. Bodies are met by cloth alone: among themselves
// they are the affair of whoever owns them.
#include <string.h>

#include "methods/common/contact_impl.h"

#define MOST_TURN 0.5    // rad, of one impulse: a turn is as good as its first order only so far
#define LEAST_LOAD 0.25  // of what the node bears that bears most of a pair

kp_result kp_contact_bodies_create(kp_contact *c, const kp_contact_mesh *mesh) {
  size_t n = (size_t)mesh->n_guests;
  c->n_bodies = mesh->n_bodies;
  c->bodies = kp_alloc_zero((size_t)mesh->n_bodies * sizeof *c->bodies, KP_MEMORY_MESH);
  c->body_of = kp_alloc(n * sizeof *c->body_of, KP_MEMORY_MESH);
  c->arms = kp_alloc_zero(n * sizeof *c->arms, KP_MEMORY_MESH);
  if (c->bodies == NULL || c->body_of == NULL || c->arms == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t k = 0; k < n; ++k) {
    c->body_of[k] = -1;
  }
  for (kp_index b = 0; b < mesh->n_bodies; ++b) {
    const kp_contact_body *body = &mesh->bodies[b];
    c->bodies[b] = (kp_contact_mover){ .first = c->n_own + body->first,
                                       .n = body->n,
                                       .inverse_mass = body->inverse_mass,
                                       .inertia = body->inertia,
                                       .inverse_inertia = body->inverse_inertia };
    c->bodies[b].from.turn = c->bodies[b].to.turn = kp_quat_identity();
    for (kp_index k = 0; k < body->n; ++k) {
      c->body_of[body->first + k] = b;
      c->arms[body->first + k] = body->arms[k];
    }
  }
  return KP_OK;
}

void kp_contact_bodies_destroy(kp_contact *c) {
  kp_free(c->bodies);
  kp_free(c->body_of);
  kp_free(c->arms);
}

void kp_contact_carry(kp_contact *c, kp_index body, const kp_contact_pose *from,
                      const kp_contact_pose *to) {
  c->bodies[body].from = *from;
  c->bodies[body].to = *to;
}

bool kp_contact_carried(const kp_contact *c, kp_index body, kp_contact_pose *out) {
  *out = c->bodies[body].to;
  return c->bodies[body].is_changed;
}

kp_vec3 kp_contact_turn_between(kp_quat from, kp_quat to) {
  kp_quat q = kp_quat_mul(to, kp_quat_conjugate(from));
  double sign = q.w < 0.0 ? -2.0 : 2.0;
  kp_vec3 half = kp_vec3_make(q.x, q.y, q.z);
  double sine = kp_vec3_length(half);
  double angle = sine > 0.0 ? atan2(sine, fabs(q.w)) / sine : 1.0;
  return kp_vec3_scale(half, sign * angle);
}

static kp_quat turned(kp_quat q, kp_vec3 by) {
  double angle = kp_vec3_length(by);
  if (!(angle > 0.0)) {
    return q;
  }
  kp_quat turn = kp_quat_from_axis_angle(kp_vec3_scale(by, 1.0 / angle), angle);
  return kp_quat_normalize(kp_quat_mul(turn, q));
}

static kp_vec3 place(const kp_contact *c, const kp_contact_pose *pose, kp_index node) {
  return kp_vec3_add(pose->center, kp_quat_rotate(pose->turn, c->arms[node - c->n_own]));
}

void kp_contact_bodies_load(kp_contact *c, bool moves) {
  for (kp_index b = 0; b < c->n_bodies; ++b) {
    kp_contact_mover *body = &c->bodies[b];
    body->wanted = body->to;
    body->shift = kp_vec3_sub(body->to.center, body->from.center);
    body->turn = kp_contact_turn_between(body->from.turn, body->to.turn);
    body->is_touched = body->is_changed = body->is_stale = false;
    for (kp_index i = body->first; i < body->first + body->n; ++i) {
      c->nodes[i] = (kp_contact_node){ .from = place(c, &body->from, i),
                                       .to = place(c, moves ? &body->to : &body->from, i),
                                       .inverse_mass = body->inverse_mass,
                                       .is_body = 1 };
    }
  }
}

// Nodes to where their body goes.
static void follow(kp_contact *c, kp_contact_mover *body) {
  for (kp_index i = body->first; i < body->first + body->n; ++i) {
    c->nodes[i].to = place(c, &body->to, i);
    c->nodes[i].is_moved = 1;
  }
  body->is_stale = false;
}

void kp_contact_bodies_follow(kp_contact *c) {
  for (kp_index b = 0; b < c->n_bodies; ++b) {
    if (c->bodies[b].is_stale) {
      follow(c, &c->bodies[b]);
    }
  }
}

void kp_contact_follow(kp_contact *c, const kp_index node[4]) {
  for (int k = 0; k < 4; ++k) {
    kp_index b = kp_contact_body_of(c, node[k]);
    if (b >= 0 && c->bodies[b].is_stale) {
      c->nodes[node[k]].to = place(c, &c->bodies[b].to, node[k]);
    }
  }
}

// A tensor of body axes times a vector of the world.
static kp_vec3 times(const kp_mat3 *tensor, kp_quat turn, kp_vec3 v) {
  kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(turn), v);
  return kp_quat_rotate(turn, kp_mat3_mul_vec3(tensor, local));
}

kp_contact_lever kp_contact_lever_of(const kp_contact *c, const kp_index n[4],
                                     const kp_ccd_hit *hit) {
  kp_contact_lever lever = { .body = -1, .along = hit->normal };
  kp_vec3 at = { 0.0, 0.0, 0.0 };
  for (int k = 0; k < 4; ++k) {
    kp_index b = kp_contact_body_of(c, n[k]);
    if (b >= 0) {
      const kp_contact_node *node = &c->nodes[n[k]];
      kp_vec3 x = kp_vec3_madd(node->from, hit->time, kp_vec3_sub(node->to, node->from));
      lever.body = b;
      lever.sign += hit->weight[k];
      at = kp_vec3_madd(at, fabs(hit->weight[k]), x);
    }
  }
  if (lever.body < 0) {
    return lever;
  }
  const kp_contact_mover *body = &c->bodies[lever.body];
  kp_vec3 center =
      kp_vec3_madd(body->from.center, hit->time, kp_vec3_sub(body->to.center, body->from.center));
  lever.arm = kp_vec3_sub(at, center);
  kp_contact_lever_turn(c, &lever, hit->normal);
  return lever;
}

void kp_contact_lever_turn(const kp_contact *c, kp_contact_lever *lever, kp_vec3 along) {
  const kp_contact_mover *body = &c->bodies[lever->body];
  kp_vec3 moment = kp_vec3_cross(lever->arm, along);
  lever->along = along;
  lever->turn = times(&body->inverse_inertia, body->to.turn, moment);
  lever->give = body->inverse_mass + kp_vec3_dot(moment, lever->turn);
}

void kp_contact_push_body(kp_contact *c, const kp_contact_lever *lever, double impulse) {
  if (lever->body < 0 || impulse == 0.0) {
    return;
  }
  kp_contact_mover *body = &c->bodies[lever->body];
  double j = lever->sign * impulse;
  body->to.center = kp_vec3_madd(body->to.center, j * body->inverse_mass, lever->along);
  kp_vec3 by = kp_vec3_scale(lever->turn, j);
  double angle = kp_vec3_length(by);
  by = angle > MOST_TURN ? kp_vec3_scale(by, MOST_TURN / angle) : by;
  body->to.turn = turned(body->to.turn, by);
  body->is_stale = body->is_touched = true;
}

// ---- planes

// How near an edge or a corner of a body is to an edge or a triangle of something else; infinite
// for other pairs. `way`: from the body; `weight`: how much each node that is not its own bears.
static double gap_of(const kp_contact *c, kp_contact_key key, const kp_index n[4], kp_vec3 *way,
                     double weight[4]) {
  bool is_edges = kp_contact_is_edges(key);
  bool is_first = c->nodes[n[0]].is_body;
  *way = kp_vec3_make(0.0, 0.0, 0.0);
  if (is_first == (c->nodes[n[3]].is_body != 0) || (is_first && !is_edges)) {
    return HUGE_VAL;
  }
  const kp_vec3 x[4] = { c->nodes[n[0]].from, c->nodes[n[1]].from, c->nodes[n[2]].from,
                         c->nodes[n[3]].from };
  double d2 = is_edges ? kp_closest_edge_edge(x, weight) : kp_closest_point_triangle(x, weight);
  for (int k = 0; k < 4; ++k) {
    double sign = is_first ? 1.0 : -1.0;
    *way = kp_vec3_madd(*way, sign * weight[k], kp_vec3_sub(x[k], x[0]));
    weight[k] = c->nodes[n[k]].is_body ? 0.0 : fabs(weight[k]);
  }
  return sqrt(d2);
}

static bool is_in_reach(const kp_contact *c, kp_contact_key key, const kp_index n[4]) {
  kp_vec3 way;
  double weight[4];
  return gap_of(c, key, n, &way, weight) < c->reach && kp_contact_may_meet(c, key, n);
}

// Nodes that bear a good part of a pair keep off along its normal; where there are several pairs,
// as at a corner, along their mean, in which near ones count more. Of two bodies the one of the
// first pair is kept off; the other is left to C.
static void take_plane(const kp_contact *c, kp_contact_key key, kp_contact_plane *out) {
  kp_index n[4];
  kp_contact_nodes_of(c, key, n);
  kp_index body = kp_contact_body_of(c, n[3]);
  body = body < 0 ? kp_contact_body_of(c, n[0]) : body;
  double weight[4];
  kp_vec3 way;
  double distance = gap_of(c, key, n, &way, weight);
  double most = fmax(fmax(weight[0], weight[1]), fmax(weight[2], weight[3]));
  for (int k = 0; k < 4 && distance > 0.0; ++k) {
    if (n[k] >= c->n_own || weight[k] < LEAST_LOAD * most) {
      continue;
    }
    kp_contact_plane *plane = &out[n[k]];
    if (plane->body < 0) {
      *plane = (kp_contact_plane){ .body = body, .distance = distance };
    }
    if (plane->body == body) {
      double share = weight[k] * (1.0 - distance / c->reach);
      plane->distance = fmin(plane->distance, distance);
      plane->normal = kp_vec3_madd(plane->normal, share / distance, way);
    }
  }
}

kp_result kp_contact_planes(kp_contact *c, double reach, kp_contact_plane *out) {
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    c->nodes[i].is_moved = c->nodes[i].is_body;
  }
  for (kp_index i = 0; i < c->n_own; ++i) {
    out[i].body = -1;
  }
  c->reach = reach;
  // those of A are of items that are still; then the bodies are marked
  kp_contact_boxes(c, 0.500001 * reach, false);
  kp_contact_boxes(c, 0.500001 * reach, true);
  int64_t n_tested = 0;
  KP_TRY(kp_contact_search(c, is_in_reach, true, &n_tested));
  for (size_t k = 0; k < c->found.count; ++k) {
    take_plane(c, c->found.data[k], out);
  }
  for (kp_index i = 0; i < c->n_own; ++i) {
    double length = out[i].body >= 0 ? kp_vec3_length(out[i].normal) : 0.0;
    out[i].body = length > 0.0 ? out[i].body : -1;
    out[i].normal = length > 0.0 ? kp_vec3_scale(out[i].normal, 1.0 / length) : out[i].normal;
  }
  return KP_OK;
}

// ---- zones

void kp_contact_body_sum(const kp_contact *c, kp_index b, kp_contact_sum *sum) {
  const kp_contact_mover *body = &c->bodies[b];
  double m = 1.0 / body->inverse_mass;
  sum->mass += m;
  sum->center = kp_vec3_madd(sum->center, m, body->from.center);
  sum->shift = kp_vec3_madd(sum->shift, m, kp_vec3_sub(body->to.center, body->from.center));
}

kp_vec3 kp_contact_body_spin(const kp_contact *c, kp_index b, kp_mat3 *inertia) {
  const kp_contact_mover *body = &c->bodies[b];
  kp_quat q = body->from.turn;
  for (int j = 0; j < 3; ++j) {
    kp_vec3 axis = kp_vec3_make(j == 0, j == 1, j == 2);
    kp_vec3 column = times(&body->inertia, q, axis);
    inertia->m[0][j] += column.x;
    inertia->m[1][j] += column.y;
    inertia->m[2][j] += column.z;
  }
  return times(&body->inertia, q, kp_contact_turn_between(q, body->to.turn));
}

void kp_contact_body_go(kp_contact *c, kp_index b, kp_vec3 center, kp_vec3 turn) {
  kp_contact_mover *body = &c->bodies[b];
  body->to.center = center;
  body->to.turn = turned(body->from.turn, turn);
  body->is_touched = true;
  follow(c, body);
}

// ---- ways in parts

void kp_contact_bodies_aim(kp_contact *c, double share) {
  for (kp_index b = 0; b < c->n_bodies; ++b) {
    kp_contact_mover *body = &c->bodies[b];
    body->is_touched = false;
    body->to.center = kp_vec3_madd(body->from.center, share, body->shift);
    body->to.turn = turned(body->from.turn, kp_vec3_scale(body->turn, share));
    follow(c, body);
  }
}

void kp_contact_bodies_arrive(kp_contact *c, double share) {
  for (kp_index b = 0; b < c->n_bodies; ++b) {
    kp_contact_mover *body = &c->bodies[b];
    if (body->is_touched) {
      kp_vec3 shift = kp_vec3_sub(body->to.center, body->from.center);
      kp_vec3 turn = kp_contact_turn_between(body->from.turn, body->to.turn);
      body->shift = kp_vec3_scale(shift, 1.0 / share);
      body->turn = kp_vec3_scale(turn, 1.0 / share);
    }
    body->from = body->to;
    body->is_changed = true;
  }
}
