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

static bool is_all_led(const kp_contact *c, const kp_index n[4]) {
  return !(c->nodes[n[0]].inverse_mass > 0.0) && !(c->nodes[n[1]].inverse_mass > 0.0) &&
         !(c->nodes[n[2]].inverse_mass > 0.0) && !(c->nodes[n[3]].inverse_mass > 0.0);
}

// Does this pair have to be free of collisions? Not where all nodes move as told, nor between those
// or bodies and nodes that intersected them at the start.
static bool is_bound(const kp_contact *c, const kp_index n[4]) {
  bool is_hard = false;
  bool is_free = false;
  bool is_loose = false;
  for (int k = 0; k < 4; ++k) {
    const kp_contact_node *node = &c->nodes[n[k]];
    bool is_light = node->inverse_mass > 0.0;
    is_hard = is_hard || !is_light || node->is_body;
    is_free = is_free || is_light;
    is_loose = is_loose || node->is_loose;
  }
  return is_free && !(is_hard && is_loose);
}

static bool is_colliding(const kp_contact *c, kp_contact_key key, const kp_index n[4]) {
  return is_bound(c, n) && meets(c, key, n, NULL) && kp_contact_may_meet(c, key, n);
}

// The same with pairs that are all led, which are told of.
static bool is_colliding_at_first(const kp_contact *c, kp_contact_key key, const kp_index n[4]) {
  return (is_bound(c, n) || is_all_led(c, n)) && meets(c, key, n, NULL) &&
         kp_contact_may_meet(c, key, n);
}

// With zones: hair is left alone, and what moves by one shift, or waits, keeps its distances.
static bool is_colliding_still(const kp_contact *c, kp_contact_key key, const kp_index n[4]) {
  if (!is_bound(c, n) || is_hair(c, n)) {
    return false;
  }
  kp_index first = kp_contact_stand_in(c, n[0]);
  kp_index root = kp_contact_zone(&c->zones, first);
  bool is_one = c->zones.is_member[first] && c->zones.level[root] > KP_CONTACT_TURNS;
  bool waits = c->zones.level[root] == KP_CONTACT_WAITS;
  for (int k = 0; k < 4 && is_one; ++k) {
    is_one = kp_contact_zone(&c->zones, kp_contact_stand_in(c, n[k])) == root &&
             (waits || !kp_contact_leads(&c->nodes[n[k]]));
  }
  return !is_one && meets(c, key, n, NULL) && kp_contact_may_meet(c, key, n);
}

// The relative motion of a pair along the direction of a lever grows by `change`.
static void push(kp_contact *c, const kp_index n[4], const double weight[4],
                 const kp_contact_lever *lever, double change, double give) {
  for (int k = 0; k < 4; ++k) {
    kp_contact_node *node = &c->nodes[n[k]];
    if (node->is_body) {
      continue;
    }
    double s = weight[k] * node->inverse_mass * change / give;
    node->to = kp_vec3_madd(node->to, s, kp_contact_free(node, lever->along));
    if (s != 0.0) {
      node->is_touched = 1;
    }
  }
  kp_contact_push_body(c, lever, change / give);
  kp_contact_follow(c, n);
}

// Mobility of the nodes of a pair along a direction, without that of a body.
static double give_of_nodes(const kp_contact *c, const kp_index n[4], const double weight[4],
                            kp_vec3 along) {
  double give = 0.0;
  for (int k = 0; k < 4; ++k) {
    const kp_contact_node *node = &c->nodes[n[k]];
    double w = node->is_body ? 0.0 : weight[k] * weight[k] * node->inverse_mass;
    give += w * kp_vec3_dot(kp_contact_free(node, along), along);
  }
  return give;
}

// Bodies rub at what they hit: the motion across the normal becomes less by at most the friction
// times what the normal impulse took away.
static void rub(kp_contact *c, const kp_index n[4], const kp_ccd_hit *hit, kp_contact_lever lever,
                double impulse) {
  double friction =
      sqrt(c->objects[c->object[n[0]]].friction * c->objects[c->object[n[3]]].friction);
  kp_vec3 slip = { 0.0, 0.0, 0.0 };
  for (int k = 0; k < 4; ++k) {
    kp_vec3 u = kp_vec3_sub(c->nodes[n[k]].to, c->nodes[n[k]].from);
    slip = kp_vec3_madd(slip, hit->weight[k], u);
  }
  slip = kp_vec3_madd(slip, -kp_vec3_dot(slip, hit->normal), hit->normal);
  double length = kp_vec3_length(slip);
  if (!(friction > 0.0) || !(length > 0.0)) {
    return;
  }
  kp_contact_lever_turn(c, &lever, kp_vec3_scale(slip, 1.0 / length));
  double give = lever.give + give_of_nodes(c, n, hit->weight, lever.along);
  double change = fmin(length, friction * impulse * give);
  push(c, n, hit->weight, &lever, -change, give);
}

// Nodes of hair that what moves as told pushes.
static void wedge(kp_contact *c, const kp_index n[4]) {
  bool is_led = false;
  for (int k = 0; k < 4; ++k) {
    is_led = is_led || !(c->nodes[n[k]].inverse_mass > 0.0);
  }
  for (int k = 0; k < 4 && is_led; ++k) {
    bool is_of_hair = (c->objects[c->object[n[k]]].flags & KP_CONTACT_HAIR) != 0;
    c->nodes[n[k]].is_wedged = is_of_hair ? 1 : c->nodes[n[k]].is_wedged;
  }
}

// Stops the approach at the time of the collision; then pushes apart what would end closer than h,
// as much as the repulsion of one inner step would, for the average inner step is what decides how
// fast overlaps are undone; never beyond h.
static void respond(kp_contact *c, kp_contact_key key, const kp_contact_motion *motion) {
  kp_index n[4];
  kp_ccd_hit hit;
  kp_contact_nodes_of(c, key, n);
  kp_contact_follow(c, n);
  for (int k = 0; k < 4; ++k) {
    c->nodes[n[k]].is_moved = 1;
  }
  if (!meets(c, key, n, &hit)) {
    return;
  }
  kp_contact_lever lever = kp_contact_lever_of(c, n, &hit);
  double give = lever.body >= 0 ? lever.give : 0.0;
  double whole = give;  // the same if nothing were held
  double approach = 0.0;
  for (int k = 0; k < 4; ++k) {
    const kp_contact_node *node = &c->nodes[n[k]];
    kp_vec3 u = kp_vec3_sub(node->to, node->from);
    approach += hit.weight[k] * kp_vec3_dot(u, hit.normal);
    double mobility = node->is_body ? 0.0 : hit.weight[k] * hit.weight[k] * node->inverse_mass;
    give += mobility * kp_vec3_dot(kp_contact_free(node, hit.normal), hit.normal);
    whole += mobility;
  }
  if (!(give > KP_CONTACT_LEAST_GIVE * whole)) {
    return;
  }
  wedge(c, n);
  if (approach < 0.0) {
    push(c, n, hit.weight, &lever, -approach, give);
    if (lever.body >= 0) {
      rub(c, n, &hit, lever, -approach / give);
    }
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
    push(c, n, hit.weight, &lever, change, give);
  }
}

// ---- nodes that are caught in what moves as told

// Bodies count: what is caught in one comes free of it the same way.
static bool has_led(const kp_contact *c, const kp_index t[3]) {
  return !(c->nodes[t[0]].inverse_mass > 0.0) || !(c->nodes[t[1]].inverse_mass > 0.0) ||
         !(c->nodes[t[2]].inverse_mass > 0.0) || c->nodes[t[0]].is_body;
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
  if ((!has_free(c, ti) && !has_free(c, tj)) || (ti[0] >= c->n_own && tj[0] >= c->n_own)) {
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
  for (kp_index b = 0; b < tree->n_blocks; ++b) {
    const kp_box_block *block = &tree->blocks[b];
    uint32_t marks = 0;
    for (int l = 0; l < KP_BOX_LANES && block->item[l] >= 0; ++l) {
      marks |= has_led(c, c->triangles[block->item[l]]) ? 1u << l : 0u;
    }
    tree->marks[b] = (uint16_t)marks;
    any = any || marks != 0;
  }
  if (any) {
    kp_box_tree_refit(tree, true);  // marks alone have changed
    const kp_box_walk walk = { tree, tree, true };
    kp_box_tree_pairs(&walk, (kp_box_task){ 0, 0 }, loosen_pair, c);
  }
}

// ---- the loop

static void make_boxes(kp_contact *c, bool only_moved) {
  double begin = kp_time_now();
  // half the thickness each; a little more, for rounding
  kp_contact_boxes(c, 0.500001 * c->def.thickness, only_moved);
  c->report.boxes += kp_time_now() - begin;
}

static kp_result begin(kp_contact *c, const kp_contact_motion *motion) {
  double begin = kp_time_now();
  KP_TRY(kp_contact_load(c, motion->from, motion->x, motion->inverse_mass, motion->hold));
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    c->wanted[i] = c->nodes[i].to;
    c->way[i] = kp_vec3_sub(c->nodes[i].to, c->nodes[i].from);
  }
  c->report.boxes += kp_time_now() - begin;
  make_boxes(c, false);
  loosen(c);
  return KP_OK;
}

// What two led sides do to each other is the script's affair: told, then forgotten.
static void drop_led(kp_contact *c) {
  size_t n = 0;
  for (size_t k = 0; k < c->found.count; ++k) {
    kp_index node[4];
    kp_contact_nodes_of(c, c->found.data[k], node);
    if (is_all_led(c, node)) {
      ++c->report.n_led;
    } else {
      c->found.data[n++] = c->found.data[k];
    }
  }
  c->found.count = n;
}

// How many of what was found A had found near: both are sorted.
static int64_t count_rubbing(const kp_contact *c) {
  int64_t n = 0;
  for (size_t k = 0, m = 0; k < c->found.count; ++k) {
    while (m < c->near.count && c->near.data[m] < c->found.data[k]) {
      ++m;
    }
    n += m < c->near.count && c->near.data[m] == c->found.data[k];
  }
  return n;
}

static kp_result one_round(kp_contact *c, const kp_contact_motion *motion, int round,
                           bool *is_done) {
  kp_contact_report *r = &c->report;
  bool has_zones = round >= c->def.attempts;
  kp_contact_test_fn test = round == 0 ? is_colliding_at_first : is_colliding;
  double t0 = kp_time_now();
  KP_TRY(kp_contact_search(c, has_zones ? is_colliding_still : test, round > 0, &r->n_candidates));
  double t1 = kp_time_now();
  r->traversal += t1 - t0;
  r->n_rounds += 1;
  if (round == 0) {
    drop_led(c);
    r->n_collisions += (int64_t)c->found.count;
    r->n_rubbing += count_rubbing(c);
  }
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
  kp_contact_bodies_follow(c);
  r->apply += kp_time_now() - t1;
  make_boxes(c, true);
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

// How far a node stays behind along the axes it is led.
static kp_vec3 lag_of(const kp_contact *c, kp_index i) {
  const kp_contact_node *node = &c->nodes[i];
  kp_vec3 behind = kp_vec3_sub(c->wanted[i], node->to);
  return node->inverse_mass > 0.0 ? kp_vec3_sub(behind, kp_contact_free(node, behind)) : behind;
}

// Where a node ends. Hairs may be left colliding, and beside roots that are led they often cannot
// give way without being stretched or bent sharply: each time they are pushed as far as the whole
// way asks for their springs throw them back, and they gain energy. So what is led pushes them as
// far as one inner step asks; they have the velocity of the whole.
static kp_vec3 end_of(const kp_contact *c, const kp_contact_motion *motion, kp_index i) {
  if (!c->nodes[i].is_wedged || !(motion->dt < motion->time)) {
    return c->nodes[i].to;
  }
  kp_vec3 push = kp_vec3_sub(c->nodes[i].to, c->wanted[i]);
  return kp_vec3_madd(c->wanted[i], motion->dt / motion->time, push);
}

// Positions, and the change of the mean velocity, of nodes that were touched.
static kp_result store(kp_contact *c, const kp_contact_motion *motion) {
  bool any = false;
  for (kp_index i = 0; i < c->n_own && !any; ++i) {
    any = c->nodes[i].is_changed;
  }
  if (!any) {
    return KP_OK;
  }
  double *x[3];
  kp_real *v[3];
  double *lag[3] = { NULL, NULL, NULL };
  for (int k = 0; k < 3; ++k) {
    x[k] = kp_buffer_host(&motion->x[k], KP_ACCESS_WRITE);
    v[k] = kp_buffer_host(&motion->v[k], KP_ACCESS_WRITE);
    lag[k] = motion->lag != NULL ? kp_buffer_host(&motion->lag[k], KP_ACCESS_WRITE) : NULL;
    if (x[k] == NULL || v[k] == NULL || (motion->lag != NULL && lag[k] == NULL)) {
      return KP_ERROR_MEMORY;
    }
  }
  for (kp_index i = c->n_own; i < c->n_nodes; ++i) {
    kp_vec3 behind = lag_of(c, i);
    c->report.n_pushed += !c->nodes[i].is_body && kp_vec3_dot(behind, behind) > 0.0 ? 1 : 0;
  }
  for (kp_index i = 0; i < c->n_own; ++i) {
    const kp_contact_node *node = &c->nodes[i];
    if (!node->is_changed) {
      continue;
    }
    kp_vec3 change = kp_vec3_scale(kp_vec3_sub(node->to, c->wanted[i]), 1.0 / motion->time);
    kp_vec3 behind = lag_of(c, i);
    if (kp_contact_leads(node) && kp_vec3_dot(behind, behind) > 0.0) {
      ++c->report.n_late;
      const double d[3] = { behind.x, behind.y, behind.z };
      for (int k = 0; k < 3 && motion->lag != NULL; ++k) {
        lag[k][i] += d[k];
      }
    }
    kp_vec3 end = end_of(c, motion, i);
    x[0][i] = end.x;
    x[1][i] = end.y;
    x[2][i] = end.z;
    v[0][i] = (kp_real)((double)v[0][i] + change.x);
    v[1][i] = (kp_real)((double)v[1][i] + change.y);
    v[2][i] = (kp_real)((double)v[2][i] + change.z);
  }
  return KP_OK;
}

// The part of the way between `from` and `to` of the nodes is made free of collisions; false in
// `is_free` where only waiting of what moves as told could do it and this may not.
static kp_result part_way(kp_contact *c, const kp_contact_motion *motion, bool may_wait,
                          bool *is_free) {
  kp_contact_zones_clear(&c->zones);
  c->zones.may_wait = may_wait;
  c->zones.is_stuck = false;
  bool is_done = false;
  // every round of zones joins two of them, takes the turn from one or lets one wait: it ends
  for (int round = 0; !is_done && !c->zones.is_stuck; ++round) {
    if (round == c->def.attempts) {
      KP_TRY(count_left(c));
    }
    KP_TRY(one_round(c, motion, round, &is_done));
  }
  *is_free = is_done;
  return KP_OK;
}

// Nodes to `from` + `share` of the way that is left: led nodes towards where they are told to be,
// the others as they moved last.
static void aim(kp_contact *c, double share, double left) {
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    kp_contact_node *node = &c->nodes[i];
    node->is_touched = 0;
    node->is_moved = 1;
    kp_vec3 told = c->wanted[i];
    if (share != left) {
      told = kp_vec3_madd(node->from, share / left, kp_vec3_sub(told, node->from));
    }
    kp_vec3 loose = kp_vec3_madd(node->from, share, c->way[i]);
    uint8_t hold = node->inverse_mass > 0.0 ? node->hold : 7;
    node->to = kp_vec3_make(hold & 1 ? told.x : loose.x, hold & 2 ? told.y : loose.y,
                            hold & 4 ? told.z : loose.z);
  }
  kp_contact_bodies_aim(c, share);
}

// A part of the way is done.
static void arrive(kp_contact *c, double share) {
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    kp_contact_node *node = &c->nodes[i];
    if (node->is_touched) {
      c->way[i] = kp_vec3_scale(kp_vec3_sub(node->to, node->from), 1.0 / share);
    }
    node->from = node->to;
    node->is_changed = 1;
  }
  kp_contact_bodies_arrive(c, share);
}

// Where what moves as told leaves no rigid motion for a zone, as two ends of a strip that turn
// against each other, the way is taken in halves, quarters, ...: what is left to a part is small
// against the gaps. In the smallest parts zones that find no way wait, with their led nodes.
static kp_result part_in_pieces(kp_contact *c, const kp_contact_motion *motion) {
  const double smallest = 1.0 / (1 << KP_CONTACT_HALVINGS);
  double share = 0.5;
  for (double done = 0.0; done < 1.0;) {
    kp_contact_motion piece = *motion;
    piece.time = share * motion->time;
    aim(c, share, 1.0 - done);
    make_boxes(c, false);
    bool is_free;
    KP_TRY(part_way(c, &piece, share <= smallest, &is_free));
    if (!is_free) {
      share *= 0.5;
      continue;
    }
    arrive(c, share);
    ++c->report.n_pieces;
    done += share;
    // both are multiples of powers of two: exact
    if (share < 0.5 && fmod(done, 2.0 * share) == 0.0) {
      share *= 2.0;
    }
  }
  return KP_OK;
}

kp_result kp_contact_resolve(kp_contact *c, const kp_contact_motion *motion) {
  KP_TRY(begin(c, motion));
  bool is_free;
  KP_TRY(part_way(c, motion, false, &is_free));
  if (!is_free) {
    KP_TRY(part_in_pieces(c, motion));
  } else {
    for (kp_index i = 0; i < c->n_nodes; ++i) {
      c->nodes[i].is_changed = c->nodes[i].is_touched;
    }
    for (kp_index b = 0; b < c->n_bodies; ++b) {
      c->bodies[b].is_changed = c->bodies[b].is_touched;
    }
  }
  return store(c, motion);
}

kp_result kp_contact_any(kp_contact *c, const kp_contact_motion *motion, bool *out) {
  KP_TRY(begin(c, motion));
  double t1 = kp_time_now();
  KP_TRY(kp_contact_search(c, is_colliding, false, &c->report.n_candidates));
  c->report.traversal += kp_time_now() - t1;
  *out = c->found.count > 0;
  return KP_OK;
}
