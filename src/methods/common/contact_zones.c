// Rigid impact zones (Provot 1997; Bridson et al. 2002, section 7.5; Selle 2008, section 6.3):
// nodes of pairs that impulses could not part move together, rigidly, with the momentum and angular
// momentum they have. A rigid motion keeps all distances; on straight ways a turn by theta shrinks
// them by cos(theta / 2) at worst, so turns are limited.
#include <string.h>

#include "math/symmetric3.h"
#include "methods/common/contact_impl.h"

#define MOST_TURN 0.9  // rad
#define EIGENVALUE_CUT 1e-10
#define ROUNDS_BEFORE_DILATION 8

kp_result kp_contact_zones_create(kp_contact_zones *z, kp_index n) {
  z->parent = kp_alloc((size_t)n * sizeof *z->parent, KP_MEMORY_MESH);
  z->level = kp_alloc((size_t)n, KP_MEMORY_MESH);
  z->is_dirty = kp_alloc((size_t)n, KP_MEMORY_MESH);
  z->is_member = kp_alloc((size_t)n, KP_MEMORY_MESH);
  if (z->parent == NULL || z->level == NULL || z->is_dirty == NULL || z->is_member == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (kp_index i = 0; i < n; ++i) {
    z->parent[i] = i;
    z->level[i] = z->is_dirty[i] = z->is_member[i] = 0;
  }
  return KP_OK;
}

void kp_contact_zones_destroy(kp_contact_zones *z) {
  kp_free(z->parent);
  kp_free(z->level);
  kp_free(z->is_dirty);
  kp_free(z->is_member);
  kp_array_free(&z->members);
  *z = (kp_contact_zones){ 0 };
}

void kp_contact_zones_clear(kp_contact_zones *z) {
  for (size_t k = 0; k < z->members.count; ++k) {
    kp_index i = (kp_index)(z->members.data[k] & 0x7fffffff);
    z->parent[i] = i;
    z->level[i] = z->is_dirty[i] = z->is_member[i] = 0;
  }
  z->members.count = 0;
}

kp_index kp_contact_zone(const kp_contact_zones *z, kp_index i) {
  while (z->parent[i] != i) {
    i = z->parent[i];
  }
  return i;
}

// The same, and what was passed points closer to the root.
static kp_index find_root(kp_contact_zones *z, kp_index i) {
  while (z->parent[i] != i) {
    z->parent[i] = z->parent[z->parent[i]];
    i = z->parent[i];
  }
  return i;
}

// The root with the lower number stays, so that the outcome does not depend on the order of joins.
static void join(kp_contact_zones *z, kp_index a, kp_index b) {
  kp_index ra = find_root(z, a);
  kp_index rb = find_root(z, b);
  kp_index low = ra < rb ? ra : rb;
  kp_index high = ra < rb ? rb : ra;
  z->parent[high] = low;
  z->level[low] = z->level[high] > z->level[low] ? z->level[high] : z->level[low];
  z->is_dirty[low] = 1;
  z->is_member[a] = z->is_member[b] = 1;
}

// A pair that collides though its zone moves rigidly: the turn is too large for a small gap, or
// nodes that move as told do not move rigidly.
static void tighten(kp_contact *c, kp_index root) {
  kp_contact_zones *z = &c->zones;
  if (z->level[root] == KP_CONTACT_SHIFTS && !z->may_wait) {
    z->is_stuck = true;
    return;
  }
  ++z->level[root];
  z->is_dirty[root] = 1;
}

static void take_in(kp_contact *c, kp_contact_key key) {
  kp_contact_zones *z = &c->zones;
  kp_index n[4];
  kp_contact_nodes_of(c, key, n);
  for (int k = 0; k < 4; ++k) {
    n[k] = kp_contact_stand_in(c, n[k]);
  }
  kp_index root = find_root(z, n[0]);
  bool is_one = z->is_member[n[0]];
  for (int k = 1; k < 4; ++k) {
    is_one = is_one && find_root(z, n[k]) == root;
  }
  // joined in this round: not moved together yet
  if (is_one && z->is_dirty[root]) {
    return;
  }
  if (is_one) {
    tighten(c, root);
    return;
  }
  for (int k = 1; k < 4; ++k) {
    join(z, n[0], n[k]);
  }
}

// All zones grow by the triangles at their nodes; so they fill every object in the end.
static void dilate(kp_contact *c) {
  kp_contact_zones *z = &c->zones;
  for (size_t k = 0; k < z->members.count; ++k) {
    z->is_member[z->members.data[k] & 0x7fffffff] = 2;  // member before
  }
  for (kp_index t = 0; t < c->n_triangles; ++t) {
    const kp_index *n = c->triangles[t];
    if (c->nodes[n[0]].is_body) {
      continue;  // one member, whole
    }
    if (z->is_member[n[0]] == 2 || z->is_member[n[1]] == 2 || z->is_member[n[2]] == 2) {
      for (int k = 1; k < 3; ++k) {
        if (find_root(z, n[0]) != find_root(z, n[k])) {
          uint8_t first = z->is_member[n[0]];
          uint8_t other = z->is_member[n[k]];
          join(z, n[0], n[k]);
          z->is_member[n[0]] = first == 2 ? 2 : 1;
          z->is_member[n[k]] = other == 2 ? 2 : 1;
        }
      }
    }
  }
}

static kp_result list_members(kp_contact *c) {
  kp_contact_zones *z = &c->zones;
  z->members.count = 0;
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    if (z->is_member[i]) {
      z->is_member[i] = 1;
      KP_TRY(kp_array_push(&z->members,
                           (kp_contact_key)(uint32_t)find_root(z, i) << 31 | (uint32_t)i));
    }
  }
  KP_TRY(kp_array_reserve(&c->spare, z->members.count));
  kp_contact_sort(z->members.data, c->spare.data, z->members.count);
  return KP_OK;
}

// Places and turn of a zone over the time of the step.
typedef struct rigid_motion {
  kp_vec3 center, shift;
  kp_vec3 axis;
  double angle, cosine, sine;
} rigid_motion;

static double member_mass(const kp_contact_node *node, bool is_led) {
  return is_led ? (kp_contact_leads(node) ? 1.0 : 0.0) : 1.0 / node->inverse_mass;
}

// Nodes that move as told lead: they count as infinitely heavy.
static rigid_motion fit(const kp_contact *c, const kp_contact_key *members, size_t n,
                        bool may_turn) {
  bool is_led = false;
  for (size_t k = 0; k < n; ++k) {
    is_led = is_led || kp_contact_leads(&c->nodes[members[k] & 0x7fffffff]);
  }
  kp_contact_sum sum = { .mass = 0.0 };
  for (size_t k = 0; k < n; ++k) {
    kp_index i = (kp_index)(members[k] & 0x7fffffff);
    const kp_contact_node *node = &c->nodes[i];
    if (node->is_body) {
      if (!is_led) {
        kp_contact_body_sum(c, kp_contact_body_of(c, i), &sum);
      }
      continue;
    }
    double m = member_mass(node, is_led);
    sum.mass += m;
    sum.center = kp_vec3_madd(sum.center, m, node->from);
    sum.shift = kp_vec3_madd(sum.shift, m, kp_vec3_sub(node->to, node->from));
  }
  rigid_motion r = { .center = kp_vec3_scale(sum.center, 1.0 / sum.mass),
                     .shift = kp_vec3_scale(sum.shift, 1.0 / sum.mass) };
  if (!may_turn) {
    return r;
  }
  kp_vec3 momentum = { 0 };
  kp_mat3 inertia = { { { 0 } } };
  for (size_t k = 0; k < n; ++k) {
    kp_index i = (kp_index)(members[k] & 0x7fffffff);
    const kp_contact_node *node = &c->nodes[i];
    double m = member_mass(node, is_led);
    kp_vec3 from = node->from;
    kp_vec3 to = node->to;
    if (node->is_body) {
      kp_index b = kp_contact_body_of(c, i);
      from = c->bodies[b].from.center;
      to = c->bodies[b].to.center;
      if (!is_led) {
        momentum = kp_vec3_add(momentum, kp_contact_body_spin(c, b, &inertia));
      }
    }
    kp_vec3 d = kp_vec3_sub(from, r.center);
    kp_vec3 u = kp_vec3_sub(kp_vec3_sub(to, from), r.shift);
    momentum = kp_vec3_madd(momentum, m, kp_vec3_cross(d, u));
    const double v[3] = { d.x, d.y, d.z };
    double d2 = kp_vec3_dot(d, d);
    for (int e = 0; e < 9; ++e) {
      inertia.m[e / 3][e % 3] += m * ((e % 4 == 0 ? d2 : 0.0) - v[e / 3] * v[e % 3]);
    }
  }
  kp_vec3 turn = kp_symmetric3_solve(&inertia, momentum, EIGENVALUE_CUT);
  r.angle = kp_vec3_length(turn);
  if (r.angle > 0.0) {
    r.axis = kp_vec3_scale(turn, 1.0 / r.angle);
    r.angle = fmin(r.angle, MOST_TURN);
    r.cosine = cos(r.angle);
    r.sine = sin(r.angle);
  }
  return r;
}

static void hold_zone(kp_contact *c, const kp_contact_key *members, size_t n) {
  for (size_t k = 0; k < n; ++k) {
    kp_index i = (kp_index)(members[k] & 0x7fffffff);
    kp_contact_node *node = &c->nodes[i];
    if (node->is_body) {
      kp_index b = kp_contact_body_of(c, i);
      kp_contact_body_go(c, b, c->bodies[b].from.center, kp_vec3_make(0.0, 0.0, 0.0));
      continue;
    }
    node->is_moved = node->is_touched = 1;
    node->to = node->from;
  }
}

// Where a place goes.
static kp_vec3 moved(const rigid_motion *r, kp_vec3 from) {
  if (r->angle == 0.0) {
    return kp_vec3_add(from, r->shift);
  }
  kp_vec3 d = kp_vec3_sub(from, r->center);
  kp_vec3 fixed = kp_vec3_scale(r->axis, kp_vec3_dot(r->axis, d));
  kp_vec3 rest = kp_vec3_sub(d, fixed);
  kp_vec3 turned = kp_vec3_madd(fixed, r->cosine, rest);
  turned = kp_vec3_madd(turned, r->sine, kp_vec3_cross(r->axis, rest));
  return kp_vec3_add(kp_vec3_add(r->center, r->shift), turned);
}

static void move_zone(kp_contact *c, const kp_contact_key *members, size_t n, uint8_t level) {
  if (level == KP_CONTACT_WAITS) {
    hold_zone(c, members, n);
    return;
  }
  rigid_motion r = fit(c, members, n, level == KP_CONTACT_TURNS);
  for (size_t k = 0; k < n; ++k) {
    kp_index i = (kp_index)(members[k] & 0x7fffffff);
    kp_contact_node *node = &c->nodes[i];
    if (node->is_body) {
      kp_index b = kp_contact_body_of(c, i);
      kp_vec3 center = moved(&r, c->bodies[b].from.center);
      kp_contact_body_go(c, b, center, kp_vec3_scale(r.axis, r.angle));
      continue;
    }
    node->is_moved = 1;
    if (kp_contact_leads(node)) {
      continue;
    }
    node->is_touched = 1;
    node->to = moved(&r, node->from);
  }
}

kp_result kp_contact_zones_grow(kp_contact *c, int round) {
  kp_contact_zones *z = &c->zones;
  for (size_t k = 0; k < c->found.count; ++k) {
    take_in(c, c->found.data[k]);
  }
  if (round >= ROUNDS_BEFORE_DILATION) {
    dilate(c);
  }
  KP_TRY(list_members(c));
  int64_t n_zones = 0;
  for (size_t begin = 0; begin < z->members.count;) {
    kp_index root = (kp_index)(z->members.data[begin] >> 31);
    size_t end = begin;
    while (end < z->members.count && (kp_index)(z->members.data[end] >> 31) == root) {
      ++end;
    }
    if (z->is_dirty[root]) {
      move_zone(c, z->members.data + begin, end - begin, z->level[root]);
      z->is_dirty[root] = 0;
    }
    ++n_zones;
    kp_contact_report *r = &c->report;
    r->largest_zone =
        (int64_t)(end - begin) > r->largest_zone ? (int64_t)(end - begin) : r->largest_zone;
    r->n_zones = n_zones > r->n_zones ? n_zones : r->n_zones;
    begin = end;
  }
  return KP_OK;
}
