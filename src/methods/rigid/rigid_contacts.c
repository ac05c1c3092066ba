// Who touches whom, and where.
#include <math.h>
#include <stdlib.h>

#include "geom/frame.h"
#include "math/symmetric3.h"
#include "methods/rigid/rigid_state.h"

#define PROBES_PER_SIZE 6.0   // along the smallest width of a shape
#define PROBES_PER_LENGTH 24  // along the longest
#define MEETS_AGAIN 0.2       // extents: so far do forces of points that are gone go to others
#define SAME_PLACE 0.02       // sizes: points nearer than this are one
#define REMEMBERED 10         // numbers of a point
#define REBUILD 1.5           // growth of the tree's area
#define EQUAL_MOMENTS 1e-6    // of tops

// ---- parts --------------------------------------------------------------------------------------

static double least3(kp_vec3 v, int dimension) {
  double xy = fmin(v.x, v.y);
  return dimension == 2 ? xy : fmin(xy, v.z);
}

static double most3(kp_vec3 v) {
  return fmax(v.x, fmax(v.y, v.z));
}

static kp_rigid_kind kind_of(const kp_shape *shape, bool is_convex) {
  if (is_convex) {
    return KP_RIGID_CONVEX;
  }
  if (shape->def.kind == KP_SHAPE_PLANE) {
    return KP_RIGID_PLANE;
  }
  return shape->def.kind == KP_SHAPE_BOX && shape->def.invert ? KP_RIGID_ROOM : KP_RIGID_FIELD;
}

// A field sees probes of its partner; probes are made for all, since a field may come by.
static kp_result add_part(kp_rigid *rigid, const kp_shape *shape, kp_index body, bool is_free,
                          kp_vec3 center) {
  kp_rigid_part part = { .shape = shape, .body = body, .is_free = is_free };
  KP_TRY(kp_array_push(&rigid->parts, part));
  kp_rigid_part *p = &rigid->parts.data[rigid->parts.count - 1];
  p->is_bounded = kp_shape_is_bounded(shape) && isfinite(most3(shape->bounds.max));
  p->size = HUGE_VAL;
  p->reach = HUGE_VAL;
  if (p->is_bounded) {
    kp_vec3 size = kp_vec3_sub(shape->bounds.max, shape->bounds.min);
    p->middle = kp_vec3_scale(kp_vec3_add(shape->bounds.min, shape->bounds.max), 0.5);
    p->half = kp_vec3_scale(size, 0.5);
    p->size = least3(size, rigid->dimension);
    p->reach = kp_vec3_length(p->half) + kp_vec3_length(kp_vec3_sub(p->middle, center));
  }
  double depth = p->is_bounded ? 4.0 * most3(p->half) : 1e3;
  bool is_convex;
  KP_TRY(kp_convex_of_shape(shape, depth, &p->convex, &is_convex));
  p->kind = kind_of(shape, is_convex);
  if (!p->is_bounded) {
    return KP_OK;
  }
  double spacing =
      fmax(p->size / PROBES_PER_SIZE, 2.0 * most3(p->half) / (double)PROBES_PER_LENGTH);
  return kp_contact_probes_of_shape(shape, spacing, &p->probes);
}

// The axis of a body with two equal moments, and how far it reaches from it.
static void find_axis(kp_rigid_part *part, const kp_body *model) {
  double moments[3];
  kp_mat3 axes;
  kp_symmetric3_eigen(&model->inertia, moments, &axes);
  for (int k = 0; k < 3; ++k) {
    double u = moments[(k + 1) % 3];
    double v = moments[(k + 2) % 3];
    if (fabs(u - v) > EQUAL_MOMENTS * u) {
      continue;
    }
    part->across = 0.5 * (u + v);
    part->axis = kp_vec3_make(axes.m[0][k], axes.m[1][k], axes.m[2][k]);
    part->slim = 0.0;
    for (int i = 0; i < 8; ++i) {
      kp_vec3 corner =
          kp_vec3_make(i & 1 ? part->half.x : -part->half.x, i & 2 ? part->half.y : -part->half.y,
                       i & 4 ? part->half.z : -part->half.z);
      corner = kp_vec3_sub(kp_vec3_add(part->middle, corner), model->center);
      part->slim = fmax(part->slim, kp_vec3_length(kp_vec3_cross(part->axis, corner)));
    }
    return;
  }
}

// Only what is not convex is met by triangles.
static kp_result add_cores(kp_rigid *rigid, kp_env *env) {
  bool with_skin = false;
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    with_skin = with_skin || rigid->parts.data[p].kind == KP_RIGID_FIELD;
  }
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    kp_rigid_part *part = &rigid->parts.data[p];
    bool is_convex = part->kind == KP_RIGID_CONVEX;
    KP_TRY(kp_core_of_shape(part->shape, is_convex ? &part->convex : NULL, with_skin, &part->core));
    kp_vec3 center = kp_vec3_make(0.0, 0.0, 0.0);
    if (part->body != KP_RIGID_DOMAIN) {
      center = env->bodies->models.data[part->body].center;
      rigid->part_of.data[part->body] = (kp_index)p;
    }
    // a ball turns on the spot; in the plane a solid is as its bounds are
    bool by_core = is_convex && rigid->dimension == 3;
    kp_vec3 half = by_core ? part->convex.half : part->half;
    kp_vec3 middle = by_core ? part->convex.center : part->middle;
    half.z = rigid->dimension == 3 ? half.z : 0.0;
    middle.z = rigid->dimension == 3 ? middle.z : center.z;
    double most = kp_vec3_length(half);
    for (size_t v = 0; v < part->convex.vertices.count; ++v) {
      most = fmax(most, kp_vec3_length(part->convex.vertices.data[v]));
    }
    part->swing = most + kp_vec3_length(kp_vec3_sub(middle, center));
    if (part->is_free && rigid->dimension == 3) {
      find_axis(part, &env->bodies->models.data[part->body]);
    }
  }
  return KP_OK;
}

static kp_result add_face(kp_rigid *rigid, int axis, double side, double at) {
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_PLANE);
  double n[3] = { 0.0, 0.0, 0.0 };
  n[axis] = side;
  def.normal = kp_vec3_make(n[0], n[1], n[2]);
  def.point = kp_vec3_scale(def.normal, side * at);
  kp_shape *shape;
  KP_TRY(kp_shape_build(&def, NULL, &shape));
  kp_result result = kp_array_push(&rigid->faces, shape);
  if (result != KP_OK) {
    kp_shape_destroy(&shape);
    return result;
  }
  return add_part(rigid, shape, KP_RIGID_DOMAIN, false, kp_vec3_make(0.0, 0.0, 0.0));
}

// In the order of bodies, the domain first: pairs sorted by parts are sorted by bodies.
kp_result kp_rigid_build_parts(kp_rigid *rigid, kp_env *env, const kp_rigid_shape *shapes,
                               size_t n) {
  for (int axis = 0; axis < rigid->dimension; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    if (faces.closed_lo) {
      KP_TRY(add_face(rigid, axis, 1.0, faces.lo));
    }
    if (faces.closed_hi) {
      KP_TRY(add_face(rigid, axis, -1.0, faces.hi));
    }
  }
  for (size_t s = 0; s < n; ++s) {
    kp_vec3 center = env->bodies->models.data[shapes[s].body].center;
    KP_TRY(add_part(rigid, shapes[s].shape, shapes[s].body, shapes[s].is_free, center));
  }
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    if (rigid->parts.data[p].is_bounded) {
      KP_TRY(kp_array_push(&rigid->bounded, (kp_index)p));
    }
  }
  KP_TRY(kp_array_resize(&rigid->part_of, env->bodies->models.count));
  for (size_t b = 0; b < rigid->part_of.count; ++b) {
    rigid->part_of.data[b] = -1;
  }
  KP_TRY(add_cores(rigid, env));
  return kp_array_resize(&rigid->boxes, rigid->bounded.count);
}

void kp_rigid_free_parts(kp_rigid *rigid) {
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    kp_core_destroy(&rigid->parts.data[p].core);
    kp_convex_destroy(&rigid->parts.data[p].convex);
    kp_array_free(&rigid->parts.data[p].probes);
  }
  for (size_t f = 0; f < rigid->faces.count; ++f) {
    kp_shape_destroy(&rigid->faces.data[f]);
  }
  kp_array_free(&rigid->parts);
  kp_array_free(&rigid->faces);
  kp_array_free(&rigid->bounded);
  kp_array_free(&rigid->boxes);
  kp_array_free(&rigid->candidates);
  kp_array_free(&rigid->found);
  kp_array_free(&rigid->part_of);
  kp_bvh_destroy(&rigid->bvh);
}

double kp_rigid_tilting(const kp_rigid_part *p, kp_quat turn, kp_vec3 w) {
  const kp_convex *convex = &p->convex;
  bool is_long = convex->kind == KP_CONVEX_CYLINDER || convex->half.y > 0.0;
  if (p->kind != KP_RIGID_CONVEX || (convex->kind == KP_CONVEX_BOX && convex->radius == 0.0) ||
      convex->kind == KP_CONVEX_HULL) {
    return kp_vec3_length(w);
  }
  if (!is_long) {
    return 0.0;
  }
  kp_vec3 axis = kp_quat_rotate(turn, kp_quat_rotate(convex->turn, kp_vec3_make(0, 1, 0)));
  return kp_vec3_length(kp_vec3_cross(axis, w));
}

// ---- broad phase --------------------------------------------------------------------------------

kp_aabb kp_rigid_box_of(const kp_rigid_part *p, double grow) {
  kp_mat3 r = kp_quat_to_mat3(p->at.turn);
  kp_vec3 middle = kp_vec3_add(p->at.origin, kp_quat_rotate(p->at.turn, p->middle));
  kp_vec3 half = kp_vec3_make(
      fabs(r.m[0][0]) * p->half.x + fabs(r.m[0][1]) * p->half.y + fabs(r.m[0][2]) * p->half.z,
      fabs(r.m[1][0]) * p->half.x + fabs(r.m[1][1]) * p->half.y + fabs(r.m[1][2]) * p->half.z,
      fabs(r.m[2][0]) * p->half.x + fabs(r.m[2][1]) * p->half.y + fabs(r.m[2][2]) * p->half.z);
  half = kp_vec3_add(half, kp_vec3_make(grow, grow, grow));
  return (kp_aabb){ kp_vec3_sub(middle, half), kp_vec3_add(middle, half) };
}

// Where a part is, and how far its surface may come within the step.
static void place_part(const kp_rigid *rigid, kp_env *env, kp_rigid_part *p) {
  kp_frame3 f = { .orientation = kp_quat_identity() };
  kp_vec3 center = kp_vec3_make(0.0, 0.0, 0.0);
  if (p->body != KP_RIGID_DOMAIN) {
    f = kp_bodies_frame(env->bodies, p->body);
    center = env->bodies->models.data[p->body].center;
  }
  p->at = (kp_shape_at){ p->shape, kp_vec3_sub(f.position, kp_quat_rotate(f.orientation, center)),
                         f.orientation };
  p->convex_at =
      (kp_convex_at){ &p->convex, kp_convex_pose_make(&p->convex, p->at.origin, f.orientation) };
  double fall = p->is_free ? env->dt * kp_vec3_length(env->simulation.gravity) : 0.0;
  double speed = kp_vec3_length(f.velocity) + fall;
  double turning = p->swing * kp_vec3_length(f.angular_velocity);
  p->is_swift = rigid->def.continuous && p->is_free &&
                env->dt * (speed + turning) > KP_RIGID_SWIFT * p->core.thin;
  if (p->is_bounded) {
    speed += p->reach * kp_vec3_length(f.angular_velocity);
    p->grow = env->dt * speed + rigid->def.margin * p->size;
    p->box = kp_rigid_box_of(p, p->grow);
  } else {
    p->grow = env->dt * speed;
  }
}

static double area_of(const kp_bvh *bvh) {
  double sum = 0.0;
  for (kp_index i = 0; i < bvh->n_nodes; ++i) {
    kp_vec3 d = kp_vec3_sub(bvh->nodes[i].box.max, bvh->nodes[i].box.min);
    sum += d.x * d.y + d.y * d.z + d.z * d.x;
  }
  return sum;
}

// The form of the tree does not change the pairs, so it is no state.
static kp_result fit_tree(kp_rigid *rigid) {
  for (size_t i = 0; i < rigid->bounded.count; ++i) {
    rigid->boxes.data[i] = rigid->parts.data[rigid->bounded.data[i]].box;
  }
  if (rigid->bvh.n_items != (kp_index)rigid->bounded.count) {
    kp_bvh_destroy(&rigid->bvh);
    KP_TRY(kp_bvh_build(rigid->boxes.data, (kp_index)rigid->bounded.count, &rigid->bvh));
    rigid->built_area = area_of(&rigid->bvh);
    return KP_OK;
  }
  kp_bvh_refit(&rigid->bvh, rigid->boxes.data);
  if (area_of(&rigid->bvh) > REBUILD * rigid->built_area) {
    kp_bvh_rebuild(&rigid->bvh, rigid->boxes.data);
    rigid->built_area = area_of(&rigid->bvh);
  }
  return KP_OK;
}

typedef struct finder {
  kp_rigid *rigid;
  kp_index part;
  kp_result result;
} finder;

static bool meet(kp_index item, void *user) {
  finder *f = user;
  kp_index other = f->rigid->bounded.data[item];
  const kp_rigid_part *a = &f->rigid->parts.data[f->part];
  const kp_rigid_part *b = &f->rigid->parts.data[other];
  // two free ones meet once
  bool is_mine = !b->is_free || f->part < other;
  if (is_mine && other != f->part && kp_aabb_touches(a->box, b->box)) {
    kp_rigid_candidate c = { f->part < other ? f->part : other, f->part < other ? other : f->part };
    f->result = kp_array_push(&f->rigid->candidates, c);
  }
  return f->result == KP_OK;
}

static int by_parts(const void *x, const void *y) {
  const kp_rigid_candidate *a = x;
  const kp_rigid_candidate *b = y;
  if (a->a != b->a) {
    return a->a < b->a ? -1 : 1;
  }
  return (a->b > b->b) - (a->b < b->b);
}

// What has no bounds is met by its distance.
static kp_result meet_unbounded(kp_rigid *rigid, kp_index part) {
  const kp_rigid_part *p = &rigid->parts.data[part];
  kp_vec3 middle = kp_vec3_add(p->at.origin, kp_quat_rotate(p->at.turn, p->middle));
  for (size_t o = 0; o < rigid->parts.count; ++o) {
    const kp_rigid_part *other = &rigid->parts.data[o];
    if (other->is_bounded) {
      continue;
    }
    kp_vec3 local =
        kp_quat_rotate(kp_quat_conjugate(other->at.turn), kp_vec3_sub(middle, other->at.origin));
    double far = kp_vec3_length(p->half) + p->grow + other->grow;
    if (kp_shape_distance(other->shape, local) <= far) {
      kp_index a = (kp_index)o < part ? (kp_index)o : part;
      kp_rigid_candidate c = { a, (kp_index)o < part ? part : (kp_index)o };
      KP_TRY(kp_array_push(&rigid->candidates, c));
    }
  }
  return KP_OK;
}

kp_result kp_rigid_broad_phase(kp_rigid *rigid, kp_env *env) {
  rigid->candidates.count = 0;
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    place_part(rigid, env, &rigid->parts.data[p]);
  }
  KP_TRY(fit_tree(rigid));
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    if (rigid->parts.data[p].is_free) {
      finder f = { rigid, (kp_index)p, KP_OK };
      kp_bvh_query_box(&rigid->bvh, rigid->parts.data[p].box, meet, &f);
      KP_TRY(f.result);
      KP_TRY(meet_unbounded(rigid, (kp_index)p));
    }
  }
  if (rigid->candidates.count > 1) {
    qsort(rigid->candidates.data, rigid->candidates.count, sizeof *rigid->candidates.data,
          by_parts);
  }
  return KP_OK;
}

// ---- narrow phase -------------------------------------------------------------------------------

static void turn_around(kp_manifold *m) {
  for (int i = 0; i < m->count; ++i) {
    m->points[i].normal = kp_vec3_scale(m->points[i].normal, -1.0);
  }
}

// The sides of an inverted box push inwards.
static void meet_room(const kp_rigid_part *room, const kp_rigid_part *p, int dimension,
                      double reach, kp_manifold *m) {
  const kp_shape_def *def = &room->shape->def;
  const double lo[3] = { def->min.x, def->min.y, def->min.z };
  const double hi[3] = { def->max.x, def->max.y, def->max.z };
  for (int side = 0; side < 2 * dimension; ++side) {
    int axis = side / 2;
    double n[3] = { 0.0, 0.0, 0.0 };
    if (axis == 2 && lo[2] == hi[2]) {
      break;  // no end in z
    }
    n[axis] = side % 2 == 0 ? 1.0 : -1.0;
    kp_vec3 normal = kp_quat_rotate(room->at.turn, kp_vec3_make(n[0], n[1], n[2]));
    double along = side % 2 == 0 ? lo[axis] : -hi[axis];
    kp_vec3 point = kp_vec3_madd(room->at.origin, along, normal);
    kp_manifold_half_space(point, normal, &p->convex_at, reach, (uint32_t)side << 16, m);
  }
}

static void meet_plane(const kp_rigid_part *plane, const kp_rigid_part *p, double reach,
                       kp_manifold *m) {
  const kp_shape_def *def = &plane->shape->def;
  double side = def->invert ? -1.0 : 1.0;
  kp_vec3 point = kp_vec3_add(plane->at.origin, kp_quat_rotate(plane->at.turn, def->point));
  kp_vec3 normal = kp_vec3_scale(kp_quat_rotate(plane->at.turn, def->normal), side);
  kp_manifold_half_space(point, normal, &p->convex_at, reach, 0, m);
}

// Triangles against triangles; where even the cores overlap, probes of each in the field of the
// other.
static kp_result meet_field(kp_rigid *rigid, const kp_rigid_part *a, const kp_rigid_part *b,
                            double reach, kp_manifold *m) {
  kp_contact_points *found = &rigid->found;
  found->count = 0;
  kp_core_at at_a = kp_core_place(&a->core, a->shape, a->at.origin, a->at.turn);
  kp_core_at at_b = kp_core_place(&b->core, b->shape, b->at.origin, b->at.turn);
  bool is_known;
  KP_TRY(kp_core_contacts(&at_a, &at_b, reach, found, &is_known));
  if (is_known) {
    kp_manifold_take(found, fmin(a->size, b->size), KP_MANIFOLD_MOST, m);
    return KP_OK;
  }
  if (b->is_bounded) {
    KP_TRY(kp_contact_points_in_field(&b->at, &b->probes, &a->at, reach, found));
  }
  size_t n_b = found->count;
  if (a->is_bounded) {
    KP_TRY(kp_contact_points_in_field(&a->at, &a->probes, &b->at, reach, found));
  }
  for (size_t i = n_b; i < found->count; ++i) {
    found->data[i].normal = kp_vec3_scale(found->data[i].normal, -1.0);
    found->data[i].feature |= 1u << 31;
  }
  kp_manifold_take(found, fmin(a->size, b->size), KP_MANIFOLD_MOST, m);
  return KP_OK;
}

kp_result kp_rigid_meet(kp_rigid *rigid, const kp_rigid_part *a, const kp_rigid_part *b,
                        double reach, kp_manifold *m) {
  m->count = 0;
  bool a_first = b->kind == KP_RIGID_CONVEX;
  const kp_rigid_part *convex = a_first ? b : a;
  const kp_rigid_part *other = a_first ? a : b;
  if (convex->kind != KP_RIGID_CONVEX || other->kind == KP_RIGID_FIELD) {
    KP_TRY(meet_field(rigid, a, b, reach, m));
  } else if (other->kind == KP_RIGID_CONVEX) {
    kp_manifold_convex(&a->convex_at, &b->convex_at, reach, m);
  } else {
    if (other->kind == KP_RIGID_PLANE) {
      meet_plane(other, convex, reach, m);
    } else {
      meet_room(other, convex, rigid->dimension, reach, m);
    }
    if (!a_first) {
      turn_around(m);
    }
  }
  if (rigid->dimension == 2) {
    kp_manifold_flatten(m);
  }
  kp_manifold_merge(SAME_PLACE * fmin(a->reach, b->reach), m);
  return KP_OK;
}

// ---- memory -------------------------------------------------------------------------------------

typedef struct remembered {
  const uint32_t *key_a, *key_b, *feature;
  const double *force[4], *place[3], *moment[3];
  int64_t n;
  int64_t next;  // pairs come in the order in which they were stored
} remembered;

static kp_result recall(kp_rigid *rigid, remembered *r) {
  *r = (remembered){ .n = rigid->memory->n };
  r->key_a = kp_buffer_host(&rigid->key_a->buffers[0], KP_ACCESS_READ);
  r->key_b = kp_buffer_host(&rigid->key_b->buffers[0], KP_ACCESS_READ);
  r->feature = kp_buffer_host(&rigid->feature->buffers[0], KP_ACCESS_READ);
  bool has_all = r->key_a != NULL && r->key_b != NULL && r->feature != NULL;
  for (int c = 0; c < 4; ++c) {
    r->force[c] = kp_buffer_host(&rigid->force->buffers[c], KP_ACCESS_READ);
    has_all = has_all && r->force[c] != NULL;
  }
  for (int c = 0; c < 3; ++c) {
    r->place[c] = kp_buffer_host(&rigid->place->buffers[c], KP_ACCESS_READ);
    r->moment[c] = kp_buffer_host(&rigid->moment->buffers[c], KP_ACCESS_READ);
    has_all = has_all && r->place[c] != NULL && r->moment[c] != NULL;
  }
  return has_all || r->n == 0 ? KP_OK : KP_ERROR_MEMORY;
}

// A point's place in the axes of the body that carries it along: A if that is free.
static kp_vec3 place_of(const kp_rigid_pair *pair, const kp_rigid_mover *movers,
                        const kp_rigid_point *point) {
  return movers[pair->body_a].is_free ? point->local_a : point->local_b;
}

static void take_over(kp_rigid_point *point, const remembered *r, int64_t k, double h) {
  kp_vec3 friction = kp_vec3_make(r->force[1][k], r->force[2][k], r->force[3][k]);
  point->normal_impulse += h * r->force[0][k];
  point->t1_impulse += h * kp_vec3_dot(friction, point->t1);
  point->t2_impulse += h * kp_vec3_dot(friction, point->t2);
}

static kp_rigid_point *nearest_point(kp_rigid *rigid, const kp_rigid_pair *pair, kp_vec3 place) {
  kp_rigid_point *best = NULL;
  double least = MEETS_AGAIN * MEETS_AGAIN * pair->extent * pair->extent;
  for (kp_index i = pair->first; i < pair->first + pair->count; ++i) {
    kp_rigid_point *point = &rigid->points.data[i];
    kp_vec3 d = kp_vec3_sub(place_of(pair, rigid->movers.data, point), place);
    if (kp_vec3_dot(d, d) < least) {
      least = kp_vec3_dot(d, d);
      best = point;
    }
  }
  return best;
}

// By feature first. What is left over goes to the nearest point: a contact that changes its points
// must not lose what they bore.
static void recall_pair(kp_rigid *rigid, kp_rigid_pair *pair, remembered *r) {
  uint32_t a = (uint32_t)pair->a;
  uint32_t b = (uint32_t)pair->b;
  while (r->next < r->n &&
         (r->key_a[r->next] < a || (r->key_a[r->next] == a && r->key_b[r->next] < b))) {
    ++r->next;
  }
  int64_t first = r->next;
  int64_t end = first;
  while (end < r->n && r->key_a[end] == a && r->key_b[end] == b) {
    ++end;
  }
  r->next = end;
  uint64_t taken = 0;  // of at most KP_MANIFOLD_MOST
  kp_rigid_point *points = rigid->points.data + pair->first;
  for (kp_index i = 0; i < pair->count; ++i) {
    for (int64_t k = first; k < end; ++k) {
      if (r->feature[k] == points[i].feature && (taken >> (k - first) & 1) == 0) {
        take_over(&points[i], r, k, rigid->sub_dt);
        taken |= 1ull << (k - first);
        break;
      }
    }
  }
  for (int64_t k = first; k < end; ++k) {
    kp_vec3 moment = kp_vec3_make(r->moment[0][k], r->moment[1][k], r->moment[2][k]);
    pair->rolling_impulse = kp_vec3_madd(pair->rolling_impulse, rigid->sub_dt, moment);
    if ((taken >> (k - first) & 1) == 0) {
      kp_vec3 place = kp_vec3_make(r->place[0][k], r->place[1][k], r->place[2][k]);
      kp_rigid_point *point = nearest_point(rigid, pair, place);
      if (point != NULL) {
        take_over(point, r, k, rigid->sub_dt);
      }
    }
  }
}

void kp_rigid_find_leaning(kp_rigid *rigid) {
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    rigid->parts.data[p].is_leaning = false;
  }
  int64_t n = rigid->memory != NULL ? rigid->memory->n : 0;
  remembered r;
  if (n == 0 || recall(rigid, &r) != KP_OK) {
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    if (r.force[0][k] > 0.0) {
      rigid->parts.data[r.key_a[k]].is_leaning = true;
      rigid->parts.data[r.key_b[k]].is_leaning = true;
    }
  }
}

kp_result kp_rigid_store_contacts(kp_rigid *rigid) {
  // what was struck within the step is found anew
  const kp_rigid_pair *last = rigid->n_found > 0 ? &rigid->pairs.data[rigid->n_found - 1] : NULL;
  int64_t n = last != NULL ? last->first + last->count : 0;
  KP_TRY(kp_space_resize(rigid->memory, n));
  uint32_t *a = kp_buffer_host(&rigid->key_a->buffers[0], KP_ACCESS_OVERWRITE);
  uint32_t *b = kp_buffer_host(&rigid->key_b->buffers[0], KP_ACCESS_OVERWRITE);
  uint32_t *feature = kp_buffer_host(&rigid->feature->buffers[0], KP_ACCESS_OVERWRITE);
  kp_field *const fields[REMEMBERED] = { rigid->force,  rigid->force, rigid->force, rigid->force,
                                         rigid->place,  rigid->place, rigid->place, rigid->moment,
                                         rigid->moment, rigid->moment };
  static const int components[REMEMBERED] = { 0, 1, 2, 3, 0, 1, 2, 0, 1, 2 };
  double *out[REMEMBERED];
  bool has_all = a != NULL && b != NULL && feature != NULL;
  for (int c = 0; c < REMEMBERED; ++c) {
    out[c] = kp_buffer_host(&fields[c]->buffers[components[c]], KP_ACCESS_OVERWRITE);
    has_all = has_all && out[c] != NULL;
  }
  if (!has_all && n > 0) {
    return KP_ERROR_MEMORY;
  }
  double rate = 1.0 / rigid->sub_dt;
  for (size_t k = 0; k < rigid->n_found; ++k) {
    const kp_rigid_pair *pair = &rigid->pairs.data[k];
    kp_vec3 moment = kp_vec3_scale(pair->rolling_impulse, rate / pair->count);
    for (kp_index i = pair->first; i < pair->first + pair->count; ++i) {
      const kp_rigid_point *p = &rigid->points.data[i];
      kp_vec3 friction =
          kp_vec3_madd(kp_vec3_scale(p->t1, rate * p->t1_impulse), rate * p->t2_impulse, p->t2);
      kp_vec3 place = place_of(pair, rigid->movers.data, p);
      a[i] = (uint32_t)pair->a;
      b[i] = (uint32_t)pair->b;
      feature[i] = p->feature;
      const double values[REMEMBERED] = { rate * p->normal_impulse,
                                          friction.x,
                                          friction.y,
                                          friction.z,
                                          place.x,
                                          place.y,
                                          place.z,
                                          moment.x,
                                          moment.y,
                                          moment.z };
      for (int c = 0; c < REMEMBERED; ++c) {
        out[c][i] = values[c];
      }
    }
  }
  return KP_OK;
}

// ---- pairs --------------------------------------------------------------------------------------

typedef struct surface {
  double friction, restitution, rolling;
  kp_vec3 slide;
} surface;

static surface surface_of(const kp_rigid *rigid, kp_env *env, const kp_rigid_part *p) {
  if (p->body == KP_RIGID_DOMAIN) {
    return (surface){ .friction = rigid->def.domain_friction,
                      .restitution = rigid->def.domain_restitution };
  }
  const kp_body *model = &env->bodies->models.data[p->body];
  return (surface){ kp_body_friction_at(model, env->time), model->restitution,
                    model->rolling_friction,
                    kp_quat_rotate(p->at.turn, env->bodies->slides.data[p->body]) };
}

kp_rigid_pair kp_rigid_pair_of(const kp_rigid *rigid, kp_env *env, kp_rigid_candidate c) {
  const kp_rigid_part *a = &rigid->parts.data[c.a];
  const kp_rigid_part *b = &rigid->parts.data[c.b];
  surface sa = surface_of(rigid, env, a);
  surface sb = surface_of(rigid, env, b);
  kp_index domain = (kp_index)env->bodies->models.count;
  return (kp_rigid_pair){
    .a = c.a,
    .b = c.b,
    .body_a = a->body == KP_RIGID_DOMAIN ? domain : a->body,
    .body_b = b->body == KP_RIGID_DOMAIN ? domain : b->body,
    .first = (kp_index)rigid->points.count,
    .friction = kp_friction_of_pair(sa.friction, sb.friction),
    .restitution = kp_restitution_of_pair(sa.restitution, sb.restitution),
    .rolling = fmax(sa.rolling, sb.rolling),
    .size = fmin(a->size, b->size),
    .extent = fmin(a->reach, b->reach),
    .is_on_fixed = !a->is_free || !b->is_free,
    .slide = kp_vec3_sub(sb.slide, sa.slide),
    .is_watched = kp_loads_watches(env->loads, a->body) || kp_loads_watches(env->loads, b->body),
  };
}

static kp_vec3 center_of(kp_env *env, const kp_rigid_part *p) {
  return p->body == KP_RIGID_DOMAIN ? kp_vec3_make(0.0, 0.0, 0.0)
                                    : kp_bodies_frame(env->bodies, p->body).position;
}

// Distance from the surface to the middle of what is round about the normal: it rolls without
// coming nearer.
static double round_of(const kp_rigid_part *p, kp_vec3 normal, int dimension) {
  if (p->kind != KP_RIGID_CONVEX || p->convex.kind != KP_CONVEX_CYLINDER) {
    return p->kind == KP_RIGID_CONVEX ? p->convex.radius : 0.0;
  }
  const kp_mat3 *turn = &p->convex_at.pose.turn;
  kp_vec3 axis = kp_vec3_make(turn->m[0][1], turn->m[1][1], turn->m[2][1]);
  bool is_on_side = dimension == 2 || fabs(kp_vec3_dot(axis, normal)) < 0.1;
  return is_on_side ? p->convex.half.x : 0.0;
}

kp_rigid_point kp_rigid_point_of(const kp_rigid *rigid, const kp_rigid_pair *pair,
                                 const kp_contact_point *from, kp_vec3 xa, kp_vec3 xb) {
  const kp_rigid_part *a = &rigid->parts.data[pair->a];
  const kp_rigid_part *b = &rigid->parts.data[pair->b];
  kp_rigid_point p = { .arm_a = kp_vec3_sub(from->position, xa),
                       .arm_b = kp_vec3_sub(from->position, xb),
                       .normal = kp_vec3_normalize(from->normal),
                       .feature = from->feature };
  double deep_a = round_of(a, p.normal, rigid->dimension);
  double deep_b = round_of(b, p.normal, rigid->dimension);
  p.local_a =
      kp_quat_rotate(kp_quat_conjugate(a->at.turn), kp_vec3_madd(p.arm_a, -deep_a, p.normal));
  p.local_b =
      kp_quat_rotate(kp_quat_conjugate(b->at.turn), kp_vec3_madd(p.arm_b, deep_b, p.normal));
  p.separation = from->separation - deep_a - deep_b;
  if (rigid->dimension == 2) {
    p.t1 = kp_vec3_make(-p.normal.y, p.normal.x, 0.0);
    p.t2 = kp_vec3_make(0.0, 0.0, 0.0);
  } else {
    kp_frame_make(p.normal, &p.t1, &p.t2);
  }
  return p;
}

static kp_result add_points(kp_rigid *rigid, kp_env *env, kp_rigid_pair *pair,
                            const kp_manifold *m) {
  kp_vec3 xa = center_of(env, &rigid->parts.data[pair->a]);
  kp_vec3 xb = center_of(env, &rigid->parts.data[pair->b]);
  for (int i = 0; i < m->count; ++i) {
    kp_rigid_point p = kp_rigid_point_of(rigid, pair, &m->points[i], xa, xb);
    KP_TRY(kp_array_push(&rigid->points, p));
  }
  pair->count = m->count;
  pair->between = kp_vec3_sub(xb, xa);
  return kp_array_push(&rigid->pairs, *pair);
}

// Swift bodies meet where they get to (rigid_guard.c): what they only pass by is not in their way.
static double reach_of(const kp_rigid *rigid, const kp_rigid_part *a, const kp_rigid_part *b) {
  if (!a->is_swift && !b->is_swift) {
    return a->grow + b->grow;
  }
  double least = fmin(a->size, b->size);
  return fmax(2.0 * rigid->def.margin * least, a->core.inset + b->core.inset);
}

kp_result kp_rigid_find_contacts(kp_rigid *rigid, kp_env *env) {
  rigid->pairs.count = 0;
  rigid->points.count = 0;
  for (size_t k = 0; k < rigid->candidates.count; ++k) {
    kp_rigid_candidate c = rigid->candidates.data[k];
    kp_rigid_pair pair = kp_rigid_pair_of(rigid, env, c);
    const kp_rigid_part *a = &rigid->parts.data[c.a];
    const kp_rigid_part *b = &rigid->parts.data[c.b];
    kp_manifold m;
    KP_TRY(kp_rigid_meet(rigid, a, b, reach_of(rigid, a, b), &m));
    if (m.count > 0) {
      KP_TRY(add_points(rigid, env, &pair, &m));
    }
  }
  rigid->n_found = rigid->pairs.count;
  return KP_OK;
}

kp_result kp_rigid_recall_contacts(kp_rigid *rigid) {
  remembered r;
  KP_TRY(recall(rigid, &r));
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    recall_pair(rigid, &rigid->pairs.data[k], &r);
  }
  return KP_OK;
}
