// Step C: the straight way of all nodes from the collision-free state to the new one is made free
// of collisions (Selle 2008, section 6.3).
#include "base/timer.h"
#include "methods/common/contact_impl.h"

static bool is_hair(const kp_contact *c, const kp_index n[4]) {
  return ((c->objects[c->object[n[0]]].flags | c->objects[c->object[n[3]]].flags) &
          KP_CONTACT_HAIR) != 0;
}

static void gather(const kp_contact *c, const kp_index n[4], kp_vec3 x[4], kp_vec3 u[4]) {
  for (int k = 0; k < 4; ++k) {
    x[k] = c->nodes[n[k]].from;
    u[k] = kp_vec3_sub(c->nodes[n[k]].to, c->nodes[n[k]].from);
  }
}

static bool meets(const kp_contact *c, kp_contact_key key, const kp_index n[4], kp_ccd_hit *hit) {
  kp_vec3 x[4];
  kp_vec3 u[4];
  gather(c, n, x, u);
  return kp_contact_is_edges(key) ? kp_ccd_edge_edge(x, u, c->def.thickness, hit)
                                  : kp_ccd_point_triangle(x, u, c->def.thickness, hit);
}

// Does this pair have to be free of collisions? Not where all nodes move as told, nor between those
// and nodes that gave way to them.
static bool is_bound(const kp_contact *c, const kp_index n[4]) {
  bool is_led = false;
  bool is_free = false;
  bool is_loose = false;
  for (int k = 0; k < 4; ++k) {
    const kp_contact_node *node = &c->nodes[n[k]];
    bool is_light = node->inverse_mass > 0.0;
    is_led = is_led || !is_light;
    is_free = is_free || is_light;
    is_loose = is_loose || node->is_loose;
  }
  return is_free && !(is_led && is_loose);
}

static bool is_colliding(const kp_contact *c, kp_contact_key key, const kp_index n[4]) {
  return is_bound(c, n) && meets(c, key, n, NULL) && kp_contact_may_meet(c, key, n);
}

// With zones: hair is left alone, and what moves by one shift keeps its distances.
static bool is_colliding_still(const kp_contact *c, kp_contact_key key, const kp_index n[4]) {
  if (!is_bound(c, n) || is_hair(c, n)) {
    return false;
  }
  kp_index root = kp_contact_zone(&c->zones, n[0]);
  bool is_one = c->zones.is_member[n[0]] && c->zones.level[root] > 0;
  for (int k = 0; k < 4 && is_one; ++k) {
    is_one = kp_contact_zone(&c->zones, n[k]) == root && c->nodes[n[k]].inverse_mass > 0.0;
  }
  return !is_one && meets(c, key, n, NULL) && kp_contact_may_meet(c, key, n);
}

// The relative motion of a pair along its normal grows by `change`.
static void push(kp_contact *c, const kp_index n[4], const kp_ccd_hit *hit, double change,
                 double give) {
  for (int k = 0; k < 4; ++k) {
    kp_contact_node *node = &c->nodes[n[k]];
    double s = hit->weight[k] * node->inverse_mass * change / give;
    node->to = kp_vec3_madd(node->to, s, hit->normal);
    if (s != 0.0) {
      node->is_touched = 1;
    }
  }
}

// Stops the approach at the time of the collision; then pushes apart what would end closer than h,
// as much as the repulsion of one inner step would, for the average inner step is what decides how
// fast overlaps are undone; never beyond h.
static void respond(kp_contact *c, kp_contact_key key, const kp_contact_motion *motion) {
  kp_index n[4];
  kp_ccd_hit hit;
  kp_contact_nodes_of(c, key, n);
  double give = 0.0;
  for (int k = 0; k < 4; ++k) {
    c->nodes[n[k]].is_moved = 1;
  }
  if (!meets(c, key, n, &hit)) {
    return;
  }
  double approach = 0.0;
  for (int k = 0; k < 4; ++k) {
    const kp_contact_node *node = &c->nodes[n[k]];
    kp_vec3 u = kp_vec3_sub(node->to, node->from);
    approach += hit.weight[k] * kp_vec3_dot(u, hit.normal);
    give += hit.weight[k] * hit.weight[k] * node->inverse_mass;
  }
  if (!(give > 0.0)) {
    return;
  }
  if (approach < 0.0) {
    push(c, n, &hit, -approach, give);
  }
  double gap = 0.0;
  for (int k = 0; k < 4; ++k) {
    kp_vec3 d = kp_vec3_sub(c->nodes[n[k]].to, c->nodes[n[0]].to);
    gap += hit.weight[k] * kp_vec3_dot(d, hit.normal);
  }
  double h = fmax(kp_contact_h(c, kp_contact_is_edges(key), n, hit.weight), 4.0 * c->def.thickness);
  double overlap = h - gap;
  double spring = motion->time * motion->dt * c->def.stiffness * overlap * give;
  double wanted = c->def.recovery * overlap * motion->time / motion->dt - fmax(approach, 0.0);
  double change = fmin(overlap, fmin(spring, wanted));
  if (change > 0.0) {
    push(c, n, &hit, change, give);
  }
}

// ---- nodes that are caught in what moves as told

static bool has_led(const kp_contact *c, const kp_index t[3]) {
  return !(c->nodes[t[0]].inverse_mass > 0.0) || !(c->nodes[t[1]].inverse_mass > 0.0) ||
         !(c->nodes[t[2]].inverse_mass > 0.0);
}

static bool has_free(const kp_contact *c, const kp_index t[3]) {
  return c->nodes[t[0]].inverse_mass > 0.0 || c->nodes[t[1]].inverse_mass > 0.0 ||
         c->nodes[t[2]].inverse_mass > 0.0;
}

static void loosen_pair(kp_index i, kp_index j, void *user) {
  kp_contact *c = user;
  const kp_index *ti = c->triangles[i];
  const kp_index *tj = c->triangles[j];
  for (int k = 0; k < 9; ++k) {
    if (ti[k / 3] == tj[k % 3]) {
      return;
    }
  }
  if (!has_free(c, ti) && !has_free(c, tj)) {
    return;
  }
  kp_vec3 a[3];
  kp_vec3 b[3];
  for (int k = 0; k < 3; ++k) {
    a[k] = c->nodes[ti[k]].from;
    b[k] = c->nodes[tj[k]].from;
  }
  if (kp_triangles_intersect(a, b)) {
    for (int k = 0; k < 3; ++k) {
      c->nodes[ti[k]].is_loose = 1;
      c->nodes[tj[k]].is_loose = 1;
    }
  }
}

// Nodes of triangles that intersect triangles with led nodes at the start. After the boxes.
static void loosen(kp_contact *c) {
  kp_box_tree *tree = &c->triangle_tree;
  bool any = false;
  for (kp_index k = 0; k < tree->n_items; ++k) {
    tree->marks[k] = (uint8_t)has_led(c, c->triangles[tree->boxes[k].first]);
    any = any || tree->marks[k];
  }
  if (any) {
    kp_box_tree_refit(tree);
    const kp_box_walk walk = { tree, tree, true };
    kp_box_tree_pairs(&walk, (kp_box_task){ 0, 0 }, loosen_pair, c);
  }
}

// ---- the loop

static kp_result begin(kp_contact *c, const kp_contact_motion *motion) {
  KP_TRY(kp_contact_load(c, motion->from, motion->x, motion->inverse_mass));
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    c->wanted[i] = c->nodes[i].to;
  }
  kp_contact_zones_clear(&c->zones);
  c->found.count = 0;
  // half the thickness each; a little more, for rounding
  kp_contact_boxes(c, 0.500001 * c->def.thickness, 0.0, false);
  loosen(c);
  return KP_OK;
}

static kp_result one_round(kp_contact *c, const kp_contact_motion *motion, int round,
                           bool *is_done) {
  kp_contact_report *r = &c->report;
  bool has_zones = round >= c->def.attempts;
  double t0 = kp_time_now();
  KP_TRY(kp_contact_search(c, has_zones ? is_colliding_still : is_colliding, round > 0,
                           &r->n_candidates));
  double t1 = kp_time_now();
  r->traversal += t1 - t0;
  r->n_rounds += 1;
  r->n_collisions += round == 0 ? (int64_t)c->found.count : 0;
  *is_done = c->found.count == 0;
  if (*is_done) {
    return KP_OK;
  }
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    c->nodes[i].is_moved = 0;
  }
  if (has_zones) {
    KP_TRY(kp_contact_zones_grow(c, round - c->def.attempts));
  }
  for (size_t k = 0; k < c->found.count; ++k) {
    if (has_zones) {
      kp_index n[4];
      kp_contact_nodes_of(c, c->found.data[k], n);
      for (int m = 0; m < 4; ++m) {
        c->nodes[n[m]].is_moved = 1;
      }
    } else {
      respond(c, c->found.data[k], motion);
    }
  }
  double t2 = kp_time_now();
  kp_contact_boxes(c, 0.500001 * c->def.thickness, 0.0, true);
  r->apply += t2 - t1;
  r->boxes += kp_time_now() - t2;
  return KP_OK;
}

// Collisions of hair that are left when zones begin.
static kp_result count_left(kp_contact *c) {
  for (size_t k = 0; k < c->found.count; ++k) {
    kp_index n[4];
    kp_contact_nodes_of(c, c->found.data[k], n);
    c->report.n_left += is_hair(c, n) && meets(c, c->found.data[k], n, NULL) ? 1 : 0;
  }
  return KP_OK;
}

// Positions, and the change of the mean velocity, of nodes that were touched.
static kp_result store(kp_contact *c, const kp_contact_motion *motion) {
  bool any = false;
  for (kp_index i = 0; i < c->n_nodes && !any; ++i) {
    any = c->nodes[i].is_touched;
  }
  if (!any) {
    return KP_OK;
  }
  double *x[3];
  kp_real *v[3];
  for (int k = 0; k < 3; ++k) {
    x[k] = kp_buffer_host(&motion->x[k], KP_ACCESS_WRITE);
    v[k] = kp_buffer_host(&motion->v[k], KP_ACCESS_WRITE);
    if (x[k] == NULL || v[k] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    const kp_contact_node *node = &c->nodes[i];
    if (!node->is_touched) {
      continue;
    }
    kp_vec3 change = kp_vec3_scale(kp_vec3_sub(node->to, c->wanted[i]), 1.0 / motion->time);
    x[0][i] = node->to.x;
    x[1][i] = node->to.y;
    x[2][i] = node->to.z;
    v[0][i] = (kp_real)((double)v[0][i] + change.x);
    v[1][i] = (kp_real)((double)v[1][i] + change.y);
    v[2][i] = (kp_real)((double)v[2][i] + change.z);
  }
  return KP_OK;
}

kp_result kp_contact_resolve(kp_contact *c, const kp_contact_motion *motion) {
  double t0 = kp_time_now();
  KP_TRY(begin(c, motion));
  c->report.boxes += kp_time_now() - t0;
  // every round of zones joins two of them, takes the turn from one or lets a node give way: it
  // ends
  bool is_done = false;
  for (int round = 0; !is_done; ++round) {
    if (round == c->def.attempts) {
      KP_TRY(count_left(c));
    }
    KP_TRY(one_round(c, motion, round, &is_done));
  }
  return store(c, motion);
}

kp_result kp_contact_any(kp_contact *c, const kp_contact_motion *motion, bool *out) {
  double t0 = kp_time_now();
  KP_TRY(begin(c, motion));
  double t1 = kp_time_now();
  KP_TRY(kp_contact_search(c, is_colliding, false, &c->report.n_candidates));
  c->report.boxes += t1 - t0;
  c->report.traversal += kp_time_now() - t1;
  *out = c->found.count > 0;
  return KP_OK;
}
