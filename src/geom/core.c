#include "geom/core.h"

#include <math.h>
#include <stdlib.h>

#include "geom/ccd.h"
#include "geom/mesh_query.h"

#define INSET 0.2          // of half the thinnest extent, as the cores of normals shrink
#define SHELL_INSET 0.8    // of half the thickness: its middle surface is the last line
#define ROUND_EDGE 0.4     // edges of round skins: chords stay within a tenth of the thickness
#define MOST_EDGES 64.0    // along the longest extent
#define CORNER_ROUNDS 40   // of the search for where a corner recedes
#define MOST_RECEDE 3.0    // insets
#define STACK_SIZE 512     // of pairs of nodes: both trees together are less than half as deep
#define INSIDE 1e-9        // weights of what is no rim
#define RIM (1u << 30)     // of features that are not inside
#define MOST_LEAN 0.8      // cosine: a feature that leans by more is met as its core is
#define ALSO_NEAREST 0.02  // insets
#define LEAST_THIN 0.02    // of the smallest width: sharp rims are no walls

// ---- making -------------------------------------------------------------------------------------

static kp_vec3 widths(const kp_shape *shape) {
  return kp_vec3_sub(shape->bounds.max, shape->bounds.min);
}

static double smallest_width(const kp_shape *shape) {
  kp_vec3 d = widths(shape);
  double xy = fmin(d.x, d.y);
  return shape->dimension == 2 ? xy : fmin(xy, d.z);
}

// A direction into the solid along which a corner leaves all its faces behind by one.
static void leave_face(kp_vec3 outward, kp_vec3 *y) {
  double lacks = 1.0 + kp_vec3_dot(outward, *y);
  if (lacks > 0.0) {
    *y = kp_vec3_madd(*y, -lacks, outward);
  }
}

static kp_vec3 bounded_step(kp_vec3 y) {
  double length = kp_vec3_length(y);
  return length > MOST_RECEDE ? kp_vec3_scale(y, MOST_RECEDE / length) : y;
}

// Corners of a hull, each moved in by the inset from all its faces (alternating projections).
static kp_result shrink_hull(const kp_convex *from, double inset, kp_convex *core) {
  size_t n = from->vertices.count;
  core->vertices.data = NULL;
  core->vertices.count = core->vertices.capacity = 0;
  KP_TRY(kp_array_resize(&core->vertices, n));
  kp_vec3 *y = core->vertices.data;
  for (size_t v = 0; v < n; ++v) {
    y[v] = kp_vec3_make(0.0, 0.0, 0.0);
  }
  for (int round = 0; round < CORNER_ROUNDS; ++round) {
    for (size_t f = 0; f < from->faces.count; ++f) {
      const kp_convex_face *face = &from->faces.data[f];
      for (kp_index i = face->first; i < face->first + face->count; ++i) {
        leave_face(face->normal, &y[from->corners.data[i]]);
      }
    }
  }
  for (size_t v = 0; v < n; ++v) {
    y[v] = kp_vec3_madd(from->vertices.data[v], inset, bounded_step(y[v]));
  }
  core->margin = 0.0;
  return KP_OK;
}

static kp_result make_convex(const kp_shape *shape, const kp_convex *convex, kp_core *core) {
  core->is_convex = true;
  core->convex = core->bare = *convex;
  core->bare.margin = core->bare.recede = 0.0;
  core->thin = smallest_width(shape);
  if (convex->kind == KP_CONVEX_HULL) {
    core->thin = 2.0 * convex->inner;
    core->inset = INSET * convex->inner;
    return shrink_hull(convex, core->inset, &core->convex);
  }
  core->inset = convex->radius > 0.0 ? INSET * convex->radius : convex->margin;
  core->round = convex->radius > 0.0 ? convex->radius - core->inset : 0.0;
  return KP_OK;
}

typedef struct thinnest {
  const kp_mesh *mesh;
  kp_index from;
  kp_vec3 origin, direction;
  double least;
} thinnest;

// Way from a triangle through the solid to where it ends: Moeller and Trumbore 1997.
static bool go_through(kp_index t, void *user) {
  thinnest *s = user;
  const kp_index *v = s->mesh->triangles[t].v;
  kp_vec3 a = s->mesh->vertices[v[0]];
  kp_vec3 e1 = kp_vec3_sub(s->mesh->vertices[v[1]], a);
  kp_vec3 e2 = kp_vec3_sub(s->mesh->vertices[v[2]], a);
  kp_vec3 p = kp_vec3_cross(s->direction, e2);
  double det = kp_vec3_dot(e1, p);
  if (t == s->from || det == 0.0) {
    return true;
  }
  kp_vec3 from = kp_vec3_sub(s->origin, a);
  double u = kp_vec3_dot(from, p) / det;
  kp_vec3 q = kp_vec3_cross(from, e1);
  double w = kp_vec3_dot(s->direction, q) / det;
  double way = kp_vec3_dot(e2, q) / det;
  if (u >= 0.0 && w >= 0.0 && u + w <= 1.0 && way > 0.0) {
    s->least = fmin(s->least, way);
  }
  return true;
}

// Of the walls of a mesh, from the middles of its triangles.
static double thinnest_wall(const kp_shape *shape) {
  const kp_mesh *mesh = kp_mesh_query_mesh(shape->mesh);
  double width = smallest_width(shape);
  thinnest s = { .mesh = mesh, .least = width };
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_index *v = mesh->triangles[t].v;
    kp_vec3 sum = kp_vec3_add(mesh->vertices[v[0]], mesh->vertices[v[1]]);
    s.from = t;
    s.origin = kp_vec3_scale(kp_vec3_add(sum, mesh->vertices[v[2]]), 1.0 / 3.0);
    s.direction = kp_vec3_scale(kp_mesh_triangle_normal(mesh, t), -1.0);
    kp_bvh_query_ray(kp_mesh_query_bvh(shape->mesh), s.origin, s.direction, s.least, go_through,
                     &s);
  }
  return fmax(s.least, LEAST_THIN * width);
}

static void make_other(const kp_shape *shape, kp_core *core) {
  const kp_shape_def *def = &shape->def;
  core->thin = def->shell;
  core->inset = SHELL_INSET * 0.5 * def->shell;
  if (def->shell == 0.0) {
    core->thin = def->kind == KP_SHAPE_MESH ? thinnest_wall(shape) : smallest_width(shape);
    core->inset = INSET * 0.5 * core->thin;
  }
}

// ---- skins --------------------------------------------------------------------------------------

static kp_result shrink_skin(kp_mesh *mesh, double inset, kp_vec3 **outer) {
  KP_ARRAY(kp_vec3) inward = { 0 };
  KP_TRY(kp_array_resize(&inward, (size_t)mesh->n_vertices));
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    inward.data[v] = kp_vec3_make(0.0, 0.0, 0.0);
  }
  for (int round = 0; round < CORNER_ROUNDS; ++round) {
    for (kp_index t = 0; t < mesh->n_triangles; ++t) {
      kp_vec3 n = kp_mesh_triangle_normal(mesh, t);
      for (int k = 0; k < 3; ++k) {
        leave_face(n, &inward.data[mesh->triangles[t].v[k]]);
      }
    }
  }
  *outer = mesh->vertices;
  mesh->vertices = kp_alloc((size_t)mesh->n_vertices * sizeof *mesh->vertices, KP_MEMORY_MESH);
  for (kp_index v = 0; v < mesh->n_vertices && mesh->vertices != NULL; ++v) {
    mesh->vertices[v] = kp_vec3_madd((*outer)[v], inset, bounded_step(inward.data[v]));
  }
  kp_array_free(&inward);
  return mesh->vertices != NULL ? KP_OK : KP_ERROR_MEMORY;
}

// One triangle without extent.
static kp_result make_segment(kp_vec3 a, kp_vec3 b, kp_mesh *mesh) {
  KP_TRY(kp_mesh_create(3, 1, mesh));
  mesh->vertices[0] = a;
  mesh->vertices[1] = mesh->vertices[2] = b;
  mesh->triangles[0] = (kp_triangle){ { 0, 1, 2 } };
  return KP_OK;
}

static kp_result make_triangles(const kp_shape *shape, kp_core *core) {
  const kp_shape_def *def = &shape->def;
  core->skin_round = def->shell > 0.0 ? 0.5 * def->shell - core->inset : core->round;
  if (def->shell == 0.0 && def->kind == KP_SHAPE_SPHERE) {
    return make_segment(def->center, def->center, &core->skin);
  }
  if (def->shell == 0.0 && def->kind == KP_SHAPE_CAPSULE) {
    return make_segment(def->a, def->b, &core->skin);
  }
  kp_vec3 d = widths(shape);
  double longest = fmax(d.x, fmax(d.y, d.z));
  double edge =
      fmax(sqrt(ROUND_EDGE * fmax(def->radius, core->thin) * core->thin), longest / MOST_EDGES);
  KP_TRY(kp_shape_tessellate(shape, edge, &core->skin));
  return def->shell > 0.0 ? KP_OK : shrink_skin(&core->skin, core->inset, &core->outer);
}

static kp_result make_tree(kp_core *core) {
  KP_ARRAY(kp_aabb) boxes = { 0 };
  KP_TRY(kp_array_resize(&boxes, (size_t)core->skin.n_triangles));
  for (kp_index t = 0; t < core->skin.n_triangles; ++t) {
    boxes.data[t] = kp_aabb_empty();
    for (int k = 0; k < 3; ++k) {
      kp_vec3 p = core->skin.vertices[core->skin.triangles[t].v[k]];
      boxes.data[t] = kp_aabb_grow(boxes.data[t], p);
    }
  }
  kp_result result = kp_bvh_build(boxes.data, core->skin.n_triangles, &core->tree);
  kp_array_free(&boxes);
  return result;
}

kp_result kp_core_of_shape(const kp_shape *shape, const kp_convex *convex, bool with_skin,
                           kp_core *core) {
  *core = (kp_core){ .thin = HUGE_VAL };
  bool is_mesh = shape->def.kind == KP_SHAPE_MESH;
  if (!kp_shape_is_bounded(shape) && !is_mesh) {
    return KP_OK;
  }
  if (convex != NULL) {
    KP_TRY(make_convex(shape, convex, core));
  } else {
    make_other(shape, core);
  }
  if (!with_skin || shape->dimension == 2) {
    return KP_OK;
  }
  KP_TRY(make_triangles(shape, core));
  return make_tree(core);
}

void kp_core_destroy(kp_core *core) {
  if (core->convex.vertices.data != core->bare.vertices.data) {
    kp_array_free(&core->convex.vertices);
  }
  kp_mesh_destroy(&core->skin);
  kp_free(core->outer);
  kp_bvh_destroy(&core->tree);
}

kp_core_at kp_core_place(const kp_core *core, const kp_shape *shape, kp_vec3 origin, kp_quat turn) {
  kp_core_at out = { core, { shape, origin, turn }, { .center = origin } };
  if (core->is_convex) {
    out.pose = kp_convex_pose_make(&core->convex, origin, turn);
  }
  return out;
}

// ---- convex cores, half spaces, hollow round shapes ---------------------------------------------

static const kp_convex *convex_of(const kp_core *core, bool is_bare) {
  return is_bare ? &core->bare : &core->convex;
}

static double round_of(const kp_core *core, bool is_bare) {
  return is_bare ? core->bare.radius : core->round;
}

static double skin_round_of(const kp_core *core, bool is_bare) {
  return core->skin_round + (is_bare ? core->inset : 0.0);
}

static bool convex_distance(const kp_core_at *a, const kp_core_at *b, double far, bool is_bare,
                            kp_core_gap *gap) {
  double both = round_of(a->core, is_bare) + round_of(b->core, is_bare);
  kp_convex_gap found;
  if (!kp_convex_closest(convex_of(a->core, is_bare), &a->pose, convex_of(b->core, is_bare),
                         &b->pose, far + both, &found)) {
    return false;
  }
  *gap = (kp_core_gap){ found.distance - both, found.normal };
  return gap->distance > 0.0;
}

// Of a solid's farthest point against an outward unit normal; both in the world.
static double above(const kp_core_at *b, kp_vec3 point, kp_vec3 normal, bool is_bare) {
  if (b->core->is_convex) {
    const kp_convex *convex = convex_of(b->core, is_bare);
    kp_vec3 down = kp_mat3_transpose_mul_vec3(&b->pose.turn, kp_vec3_scale(normal, -1.0));
    kp_vec3 p = kp_convex_support(convex, down, convex->margin);
    p = kp_vec3_sub(kp_convex_pose_point(&b->pose, p), point);
    return kp_vec3_dot(p, normal) - round_of(b->core, is_bare);
  }
  kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(b->at.turn), normal);
  double least = HUGE_VAL;
  for (kp_index v = 0; v < b->core->skin.n_vertices; ++v) {
    least = fmin(least, kp_vec3_dot(b->core->skin.vertices[v], local));
  }
  return least + kp_vec3_dot(kp_vec3_sub(b->at.origin, point), normal) -
         skin_round_of(b->core, is_bare);
}

typedef struct sides {
  const kp_core_at *a, *b;
  bool is_bare;
  double target, near;
} sides;

static void take_side(const sides *s, kp_vec3 point, kp_vec3 normal, kp_core_gap *gap) {
  const kp_shape_at *at = &s->a->at;
  kp_vec3 n = kp_quat_rotate(at->turn, normal);
  double d = above(s->b, kp_vec3_add(at->origin, kp_quat_rotate(at->turn, point)), n, s->is_bare);
  if (d < gap->distance) {
    *gap = (kp_core_gap){ d, n };
  }
}

static bool room_distance(const sides *s, kp_core_gap *gap) {
  const kp_shape_def *def = &s->a->at.shape->def;
  gap->distance = HUGE_VAL;
  if (def->kind == KP_SHAPE_PLANE) {
    double side = def->invert ? -1.0 : 1.0;
    take_side(s, def->point, kp_vec3_scale(def->normal, side), gap);
    return true;
  }
  bool is_flat = s->a->at.shape->dimension == 2 || def->min.z == def->max.z;
  for (int axis = 0; axis < (is_flat ? 2 : 3); ++axis) {
    kp_vec3 n = kp_vec3_make(axis == 0 ? 1 : 0, axis == 1 ? 1 : 0, axis == 2 ? 1 : 0);
    take_side(s, def->min, n, gap);
    take_side(s, def->max, kp_vec3_scale(n, -1.0), gap);
  }
  return true;
}

// What can be free in a hollow ball, drum or capsule lies in its convex inside: corners are enough.
static bool hollow_distance(const sides *s, kp_core_gap *gap) {
  const kp_core_at *a = s->a;
  const kp_core_at *b = s->b;
  kp_quat back = kp_quat_conjugate(a->at.turn);
  gap->distance = HUGE_VAL;
  for (kp_index v = 0; v < b->core->skin.n_vertices; ++v) {
    kp_vec3 p = kp_vec3_add(b->at.origin, kp_quat_rotate(b->at.turn, b->core->skin.vertices[v]));
    kp_vec3 normal;
    double d =
        kp_shape_query(a->at.shape, kp_quat_rotate(back, kp_vec3_sub(p, a->at.origin)), &normal) -
        skin_round_of(b->core, s->is_bare);
    if (d < gap->distance) {
      *gap = (kp_core_gap){ d, kp_quat_rotate(a->at.turn, normal) };
    }
  }
  return gap->distance < HUGE_VAL;
}

// ---- triangles ----------------------------------------------------------------------------------
// Everything in the axes of A.

typedef struct pair_search {
  const kp_core *a, *b;
  kp_mat3 turn;  // of B in A's axes
  kp_vec3 shift;
  double best;  // nothing farther is asked for
  kp_vec3 from, to;
  bool has_any;
  // where all are wanted: those across a face or between the insides of two edges, and the nearest
  kp_contact_points *points;
  double nearest;
  bool has_inside;       // one of them is among the nearest
  const kp_core_at *at;  // A's
  kp_result result;
  // where the time is asked for
  bool is_timed;
  kp_core_motion motion_a, motion_b;
  double target, near, round, fastest, time;
} pair_search;

// Two triangles, as cores and on the surface.
typedef struct two {
  kp_vec3 p[3], q[3], p_outer[3], q_outer[3];
  kp_index ta, tb;
} two;

typedef struct feature_gap {
  kp_vec3 from, to;              // on A and on B
  kp_vec3 from_outer, to_outer;  // the same on the surfaces
  kp_vec3 axis;                  // of the features on the surfaces, either way; 0: none
  bool is_to_corner;             // the place on B is a corner: the other is its foot
  double distance;
  bool is_inside;  // of a face, or of two edges: no rim of a neighbour is nearer
  uint32_t feature;
} feature_gap;

static void found_gap(pair_search *s, const feature_gap *f) {
  if (f->distance >= s->best) {
    return;
  }
  s->has_any = true;
  if (s->points == NULL) {
    s->best = f->distance;
    s->from = f->from;
    s->to = f->to;
    return;
  }
  if (!(f->distance > 0.0) || s->result != KP_OK || (!f->is_inside && f->distance > s->nearest)) {
    return;
  }
  // cores of faces may lean a little, since corners recede by more than edges: the surface is asked
  kp_vec3 n = kp_vec3_scale(kp_vec3_sub(f->to, f->from), 1.0 / f->distance);
  double length = kp_vec3_length(f->axis);
  double along = length > 0.0 ? kp_vec3_dot(f->axis, n) / length : 0.0;
  if (f->is_inside && fabs(along) > MOST_LEAN) {
    n = kp_vec3_scale(f->axis, copysign(1.0 / length, along));
  }
  double round_a = s->a->skin_round + (s->a->outer == NULL ? s->a->inset : 0.0);
  double round_b = s->b->skin_round + (s->b->outer == NULL ? s->b->inset : 0.0);
  double apart = kp_vec3_dot(kp_vec3_sub(f->to_outer, f->from_outer), n);
  kp_vec3 foot = f->is_to_corner ? kp_vec3_madd(f->to_outer, -apart, n) : f->from_outer;
  kp_vec3 p = kp_vec3_madd(foot, 0.5 * (apart + round_a - round_b), n);
  kp_contact_point point = {
    .position = kp_vec3_add(s->at->at.origin, kp_quat_rotate(s->at->at.turn, p)),
    .normal = kp_quat_rotate(s->at->at.turn, n),
    .separation = apart - round_a - round_b,
    .feature = f->feature | (f->is_inside ? 0 : RIM),
  };
  s->has_inside = s->has_inside || (f->is_inside && f->distance <= s->nearest);
  s->result = kp_array_push(s->points, point);
}

static uint32_t mix(uint32_t a, uint32_t b) {
  return (a * 2654435761u ^ b) * 2246822519u >> 3;
}

static kp_vec3 on_face(const kp_vec3 x[3], const double w[4]) {
  return kp_vec3_madd(kp_vec3_madd(kp_vec3_scale(x[0], -w[0]), -w[1], x[1]), -w[2], x[2]);
}

static kp_vec3 face_axis(const kp_vec3 x[3]) {
  return kp_vec3_cross(kp_vec3_sub(x[1], x[0]), kp_vec3_sub(x[2], x[0]));
}

static bool is_face_inside(const double w[4]) {
  return w[0] < -INSIDE && w[1] < -INSIDE && w[2] < -INSIDE;
}

// A corner of B and the face of A.
static void face_and_corner(pair_search *s, const two *t, int i) {
  double w[4];
  double d2 = kp_closest_point_triangle((kp_vec3[4]){ t->p[0], t->p[1], t->p[2], t->q[i] }, w);
  feature_gap f = { .from = on_face(t->p, w),
                    .to = t->q[i],
                    .from_outer = on_face(t->p_outer, w),
                    .to_outer = t->q_outer[i],
                    .axis = face_axis(t->p_outer),
                    .is_to_corner = true,
                    .distance = sqrt(d2),
                    .is_inside = is_face_inside(w) };
  f.feature = mix((uint32_t)t->ta, 2u * (uint32_t)s->b->skin.triangles[t->tb].v[i] + 1u);
  found_gap(s, &f);
}

// A corner of A and the face of B.
static void corner_and_face(pair_search *s, const two *t, int i) {
  double w[4];
  double d2 = kp_closest_point_triangle((kp_vec3[4]){ t->q[0], t->q[1], t->q[2], t->p[i] }, w);
  feature_gap f = { .from = t->p[i],
                    .to = on_face(t->q, w),
                    .from_outer = t->p_outer[i],
                    .to_outer = on_face(t->q_outer, w),
                    .axis = face_axis(t->q_outer),
                    .distance = sqrt(d2),
                    .is_inside = is_face_inside(w) };
  f.feature = mix((uint32_t)t->tb, 2u * (uint32_t)s->a->skin.triangles[t->ta].v[i]);
  found_gap(s, &f);
}

// The same from both its triangles.
static uint32_t edge_of(const kp_core *core, kp_index t, int i) {
  kp_index v = core->skin.triangles[t].v[i];
  kp_index u = core->skin.triangles[t].v[(i + 1) % 3];
  return mix((uint32_t)(u + v), (uint32_t)abs(u - v));
}

static void edge_and_edge(pair_search *s, const two *t, int i, int j) {
  int i2 = (i + 1) % 3;
  int j2 = (j + 1) % 3;
  double w[4];
  double d2 = kp_closest_edge_edge((kp_vec3[4]){ t->p[i], t->p[i2], t->q[j], t->q[j2] }, w);
  feature_gap f = {
    .from = kp_vec3_madd(kp_vec3_scale(t->p[i], -w[0]), -w[1], t->p[i2]),
    .to = kp_vec3_madd(kp_vec3_scale(t->q[j], w[2]), w[3], t->q[j2]),
    .from_outer = kp_vec3_madd(kp_vec3_scale(t->p_outer[i], -w[0]), -w[1], t->p_outer[i2]),
    .to_outer = kp_vec3_madd(kp_vec3_scale(t->q_outer[j], w[2]), w[3], t->q_outer[j2]),
    .axis = kp_vec3_cross(kp_vec3_sub(t->p_outer[i2], t->p_outer[i]),
                          kp_vec3_sub(t->q_outer[j2], t->q_outer[j])),
    .distance = sqrt(d2),
    .is_inside = w[0] < -INSIDE && w[1] < -INSIDE && w[2] > INSIDE && w[3] > INSIDE,
  };
  f.feature = mix(edge_of(s->a, t->ta, i), edge_of(s->b, t->tb, j));
  found_gap(s, &f);
}

static void two_triangles(pair_search *s, const two *t) {
  for (int i = 0; i < 3; ++i) {
    face_and_corner(s, t, i);
    corner_and_face(s, t, i);
    for (int j = 0; j < 3; ++j) {
      edge_and_edge(s, t, i, j);
    }
  }
}

static void triangle_of(const kp_core *core, kp_index t, kp_vec3 out[3], kp_vec3 outer[3]) {
  for (int k = 0; k < 3; ++k) {
    kp_index v = core->skin.triangles[t].v[k];
    out[k] = core->skin.vertices[v];
    outer[k] = core->outer != NULL ? core->outer[v] : out[k];
  }
}

static double boxes_apart(kp_aabb a, kp_aabb b) {
  double dx = fmax(0.0, fmax(a.min.x - b.max.x, b.min.x - a.max.x));
  double dy = fmax(0.0, fmax(a.min.y - b.max.y, b.min.y - a.max.y));
  double dz = fmax(0.0, fmax(a.min.z - b.max.z, b.min.z - a.max.z));
  return sqrt(dx * dx + dy * dy + dz * dz);
}

static kp_aabb turned(const pair_search *s, kp_aabb box) {
  kp_vec3 c = kp_vec3_scale(kp_vec3_add(box.min, box.max), 0.5);
  kp_vec3 h = kp_vec3_scale(kp_vec3_sub(box.max, box.min), 0.5);
  const kp_mat3 *r = &s->turn;
  kp_vec3 half =
      kp_vec3_make(fabs(r->m[0][0]) * h.x + fabs(r->m[0][1]) * h.y + fabs(r->m[0][2]) * h.z,
                   fabs(r->m[1][0]) * h.x + fabs(r->m[1][1]) * h.y + fabs(r->m[1][2]) * h.z,
                   fabs(r->m[2][0]) * h.x + fabs(r->m[2][1]) * h.y + fabs(r->m[2][2]) * h.z);
  kp_vec3 middle = kp_vec3_add(s->shift, kp_mat3_mul_vec3(r, c));
  return (kp_aabb){ kp_vec3_sub(middle, half), kp_vec3_add(middle, half) };
}

static kp_aabb box_of(const kp_vec3 p[3]) {
  return kp_aabb_grow(kp_aabb_grow(kp_aabb_grow(kp_aabb_empty(), p[0]), p[1]), p[2]);
}

static void time_of_two(pair_search *s, const two *t);

static void two_leaves(pair_search *s, const kp_bvh_node *na, const kp_bvh_node *nb) {
  for (kp_index j = 0; j < nb->count; ++j) {
    two t = { .tb = s->b->tree.items[nb->first + j] };
    triangle_of(s->b, t.tb, t.q, t.q_outer);
    for (int k = 0; k < 3; ++k) {
      t.q[k] = kp_vec3_add(s->shift, kp_mat3_mul_vec3(&s->turn, t.q[k]));
      t.q_outer[k] = kp_vec3_add(s->shift, kp_mat3_mul_vec3(&s->turn, t.q_outer[k]));
    }
    kp_aabb box = box_of(t.q);
    for (kp_index i = 0; i < na->count; ++i) {
      t.ta = s->a->tree.items[na->first + i];
      triangle_of(s->a, t.ta, t.p, t.p_outer);
      if (boxes_apart(box_of(t.p), box) >= s->best) {
        continue;
      }
      if (s->is_timed) {
        time_of_two(s, &t);
      } else {
        two_triangles(s, &t);
      }
    }
  }
}

static double span(kp_aabb box) {
  kp_vec3 d = kp_vec3_sub(box.max, box.min);
  return kp_vec3_dot(d, d);
}

typedef struct node_pair {
  kp_index a, b;
  double apart;
} node_pair;

static node_pair pair_of(const pair_search *s, kp_index a, kp_index b) {
  double apart = boxes_apart(s->a->tree.nodes[a].box, turned(s, s->b->tree.nodes[b].box));
  return (node_pair){ a, b, apart };
}

// Both trees at a time; the larger node is opened, the nearer half first.
static void search_pairs(pair_search *s) {
  node_pair stack[STACK_SIZE];
  int n = 0;
  stack[n++] = pair_of(s, 0, 0);
  while (n > 0) {
    node_pair top = stack[--n];
    const kp_bvh_node *a = &s->a->tree.nodes[top.a];
    const kp_bvh_node *b = &s->b->tree.nodes[top.b];
    if (top.apart >= s->best) {
      continue;
    }
    if (a->count > 0 && b->count > 0) {
      two_leaves(s, a, b);
      continue;
    }
    bool open_a = b->count > 0 || (a->count == 0 && span(a->box) > span(b->box));
    node_pair x = open_a ? pair_of(s, a->first, top.b) : pair_of(s, top.a, b->first);
    node_pair y = open_a ? pair_of(s, a->first + 1, top.b) : pair_of(s, top.a, b->first + 1);
    stack[n++] = x.apart < y.apart ? y : x;
    stack[n++] = x.apart < y.apart ? x : y;
  }
}

static pair_search begin_search(const kp_core_at *a, const kp_core_at *b, double far) {
  kp_quat back = kp_quat_conjugate(a->at.turn);
  return (pair_search){
    .a = a->core,
    .b = b->core,
    .turn = kp_quat_to_mat3(kp_quat_mul(back, b->at.turn)),
    .shift = kp_quat_rotate(back, kp_vec3_sub(b->at.origin, a->at.origin)),
    .best = far,
    .at = a,
  };
}

static bool skin_distance(const kp_core_at *a, const kp_core_at *b, double far, bool is_bare,
                          kp_core_gap *gap) {
  double both = skin_round_of(a->core, is_bare) + skin_round_of(b->core, is_bare);
  pair_search s = begin_search(a, b, far + both);
  search_pairs(&s);
  *gap = (kp_core_gap){ far, kp_vec3_make(0.0, 1.0, 0.0) };
  if (s.has_any) {
    kp_vec3 d = kp_vec3_sub(s.to, s.from);
    gap->distance = s.best - both;
    gap->normal = kp_quat_rotate(a->at.turn, kp_vec3_normalize(d));
  }
  return gap->distance > 0.0;
}

static bool is_half_spaces(const kp_core_at *a) {
  const kp_shape_def *def = &a->at.shape->def;
  return def->kind == KP_SHAPE_PLANE || (def->kind == KP_SHAPE_BOX && def->invert);
}

// A has no core, but an inside.
static bool open_distance(const sides *s, kp_core_gap *gap) {
  if (is_half_spaces(s->a)) {
    bool has_points = s->b->core->is_convex || s->b->core->skin.n_vertices > 0;
    return has_points && room_distance(s, gap);
  }
  return hollow_distance(s, gap);
}

bool kp_core_distance(const kp_core_at *a, const kp_core_at *b, double far, bool is_bare,
                      kp_core_gap *gap) {
  if (a->core->is_convex && b->core->is_convex) {
    return convex_distance(a, b, far, is_bare, gap);
  }
  if (a->core->inset == 0.0 && b->core->inset > 0.0) {
    return open_distance(&(sides){ a, b, is_bare, 0.0, 0.0 }, gap);
  }
  if (b->core->inset == 0.0 && a->core->inset > 0.0) {
    bool is_known = open_distance(&(sides){ b, a, is_bare, 0.0, 0.0 }, gap);
    gap->normal = kp_vec3_scale(gap->normal, -1.0);
    return is_known;
  }
  bool has_both = a->core->tree.n_nodes > 0 && b->core->tree.n_nodes > 0;
  return has_both && skin_distance(a, b, far, is_bare, gap);
}

// ---- times --------------------------------------------------------------------------------------

#define MOST_CORNERS 64

// What a corner does along a normal: how far it is from the plane, how fast it comes, and how fast
// that may grow.
typedef struct corner_way {
  double ahead, speed, growth;
} corner_way;

static corner_way way_of(const kp_core_motion *m, kp_vec3 x, double ahead, kp_vec3 n) {
  kp_vec3 r = kp_vec3_sub(x, m->center);
  double length = kp_vec3_length(r);
  double speed = kp_vec3_dot(n, kp_vec3_add(m->velocity, kp_vec3_cross(m->spin, r)));
  double spin = kp_vec3_length(m->spin) + m->sway;
  return (corner_way){ ahead, speed + m->sway * length + m->whirl, spin * spin * length };
}

// How much faster than now a point may be at once, in any direction.
static double any_change(const kp_core_motion *m, kp_vec3 x) {
  return m->sway * kp_vec3_length(kp_vec3_sub(x, m->center)) + m->whirl;
}

// s = c t + g t^2 / 2
static double time_to(double gap, double speed, double growth) {
  if (gap <= 0.0) {
    return 0.0;
  }
  double root = sqrt(speed * speed + 2.0 * growth * gap);
  double below = speed + root;
  return below > 0.0 ? 2.0 * gap / below : HUGE_VAL;
}

// The first corner of either side that could close the gap. Corners of A lie `ahead` behind the
// plane, as do those of B on the other side.
static double first_corner(const corner_way *a, int n_a, const corner_way *b, int n_b, double gap,
                           double most) {
  for (int i = 0; i < n_a; ++i) {
    for (int j = 0; j < n_b; ++j) {
      double t = time_to(gap + a[i].ahead + b[j].ahead, a[i].speed + b[j].speed,
                         a[i].growth + b[j].growth);
      most = fmin(most, t);
    }
  }
  return most;
}

// Anything on its side of the plane.
static corner_way any_corner(const kp_core_motion *m, kp_vec3 n) {
  double turning = kp_vec3_length(kp_vec3_cross(n, m->spin)) + m->sway;
  return (corner_way){ 0.0, kp_vec3_dot(n, m->velocity) + turning * m->swing + m->whirl, 0.0 };
}

// Corners of a convex core against a plane whose normal leads out of it; 1 where it has none.
static int convex_ways(const kp_core_at *at, const kp_core_motion *m, bool is_bare, kp_vec3 n,
                       corner_way ways[MOST_CORNERS]) {
  const kp_convex *convex = convex_of(at->core, is_bare);
  bool is_box = convex->kind == KP_CONVEX_BOX;
  int count = is_box ? 8 : (int)convex->vertices.count;
  if (convex->kind == KP_CONVEX_CYLINDER || count > MOST_CORNERS || at->at.shape->dimension == 2) {
    ways[0] = any_corner(m, n);
    return 1;
  }
  double farthest = -HUGE_VAL;
  for (int i = 0; i < count; ++i) {
    kp_vec3 p;
    if (is_box) {
      kp_vec3 h = convex->half;
      p = kp_vec3_make(copysign(h.x - convex->margin, (i & 1) - 0.5),
                       copysign(h.y - convex->margin, (i & 2) - 1.0),
                       copysign(h.z - convex->margin, (i & 4) - 2.0));
    } else {
      p = convex->vertices.data[i];
    }
    p = kp_convex_pose_point(&at->pose, p);
    ways[i] = way_of(m, p, kp_vec3_dot(p, n), n);
    farthest = fmax(farthest, ways[i].ahead);
  }
  for (int i = 0; i < count; ++i) {
    ways[i].ahead = farthest - ways[i].ahead;
  }
  return count;
}

// Of two points of them, in any direction.
static double fastest(const kp_core_motion *a, const kp_core_motion *b) {
  return kp_vec3_length(kp_vec3_sub(a->velocity, b->velocity)) +
         (kp_vec3_length(a->spin) + a->sway) * a->swing + a->whirl +
         (kp_vec3_length(b->spin) + b->sway) * b->swing + b->whirl;
}

static double convex_time(const sides *s, const kp_core_motion *ma, const kp_core_motion *mb,
                          double most) {
  corner_way a[MOST_CORNERS];
  corner_way b[MOST_CORNERS];
  double far = s->near + s->target + most * fastest(ma, mb);
  kp_core_gap gap;
  if (!convex_distance(s->a, s->b, far, s->is_bare, &gap) || gap.distance <= s->near) {
    return 0.0;
  }
  if (gap.distance >= far) {
    return most;
  }
  int n_a = convex_ways(s->a, ma, s->is_bare, gap.normal, a);
  int n_b = convex_ways(s->b, mb, s->is_bare, kp_vec3_scale(gap.normal, -1.0), b);
  return first_corner(a, n_a, b, n_b, gap.distance - s->target, most);
}

// One half space of A.
static double side_time(const sides *s, const kp_core_motion *ma, const kp_core_motion *mb,
                        kp_vec3 point, kp_vec3 normal) {
  const kp_shape_at *at = &s->a->at;
  kp_vec3 n = kp_quat_rotate(at->turn, normal);
  double gap = above(s->b, kp_vec3_add(at->origin, kp_quat_rotate(at->turn, point)), n, s->is_bare);
  corner_way a = any_corner(ma, n);
  corner_way b[MOST_CORNERS];
  kp_vec3 down = kp_vec3_scale(n, -1.0);
  int n_b = 1;
  if (s->b->core->is_convex) {
    n_b = convex_ways(s->b, mb, s->is_bare, down, b);
  } else {
    b[0] = any_corner(mb, down);
  }
  return gap <= s->near ? 0.0 : first_corner(&a, 1, b, n_b, gap - s->target, HUGE_VAL);
}

static double room_time(const sides *s, const kp_core_motion *ma, const kp_core_motion *mb) {
  const kp_shape_def *def = &s->a->at.shape->def;
  if (def->kind == KP_SHAPE_PLANE) {
    double side = def->invert ? -1.0 : 1.0;
    return side_time(s, ma, mb, def->point, kp_vec3_scale(def->normal, side));
  }
  bool is_flat = s->a->at.shape->dimension == 2 || def->min.z == def->max.z;
  double least = HUGE_VAL;
  for (int axis = 0; axis < (is_flat ? 2 : 3); ++axis) {
    kp_vec3 n = kp_vec3_make(axis == 0 ? 1 : 0, axis == 1 ? 1 : 0, axis == 2 ? 1 : 0);
    least = fmin(least, side_time(s, ma, mb, def->min, n));
    least = fmin(least, side_time(s, ma, mb, def->max, kp_vec3_scale(n, -1.0)));
  }
  return least;
}

// Corners in a hollow round shape: its surface bends towards them by its curvature, which for those
// nearer to the middle than to the wall says too little. Neither does it at the rim of a drum:
// there any direction counts.
static double hollow_time(const sides *s, const kp_core_motion *ma, const kp_core_motion *mb) {
  const kp_shape_def *def = &s->a->at.shape->def;
  kp_quat back = kp_quat_conjugate(s->a->at.turn);
  double least = HUGE_VAL;
  for (kp_index v = 0; v < s->b->core->skin.n_vertices; ++v) {
    kp_vec3 p =
        kp_vec3_add(s->b->at.origin, kp_quat_rotate(s->b->at.turn, s->b->core->skin.vertices[v]));
    kp_vec3 normal;
    double gap = kp_shape_query(s->a->at.shape,
                                kp_quat_rotate(back, kp_vec3_sub(p, s->a->at.origin)), &normal) -
                 skin_round_of(s->b->core, s->is_bare);
    kp_vec3 n = kp_quat_rotate(s->a->at.turn, normal);
    corner_way a = way_of(ma, p, 0.0, n);
    corner_way b = way_of(mb, p, 0.0, kp_vec3_scale(n, -1.0));
    kp_vec3 ra = kp_vec3_cross(ma->spin, kp_vec3_sub(p, ma->center));
    kp_vec3 rb = kp_vec3_cross(mb->spin, kp_vec3_sub(p, mb->center));
    kp_vec3 u = kp_vec3_sub(kp_vec3_add(ma->velocity, ra), kp_vec3_add(mb->velocity, rb));
    double u2 = kp_vec3_dot(u, u);
    bool is_any = def->kind == KP_SHAPE_CYLINDER ||
                  gap + skin_round_of(s->b->core, s->is_bare) > 0.5 * def->radius;
    double speed = is_any ? sqrt(u2) + any_change(ma, p) + any_change(mb, p) : a.speed + b.speed;
    double growth = a.growth + b.growth + 2.0 * u2 / def->radius;
    least = fmin(least, gap <= s->near ? 0.0 : time_to(gap - s->target, speed, growth));
  }
  return least;
}

// Of two triangles, in the axes of A.
static double triangle_time(const pair_search *s, const two *t, kp_vec3 from, kp_vec3 to,
                            double gap) {
  corner_way a[3];
  corner_way b[3];
  kp_vec3 n = kp_vec3_normalize(kp_vec3_sub(to, from));
  kp_vec3 down = kp_vec3_scale(n, -1.0);
  for (int i = 0; i < 3; ++i) {
    a[i] = way_of(&s->motion_a, t->p[i], kp_vec3_dot(kp_vec3_sub(from, t->p[i]), n), n);
    b[i] = way_of(&s->motion_b, t->q[i], kp_vec3_dot(kp_vec3_sub(t->q[i], to), n), down);
  }
  return first_corner(a, 3, b, 3, gap - s->target, s->time);
}

static void time_of_two(pair_search *s, const two *t) {
  pair_search one = { .a = s->a, .b = s->b, .best = HUGE_VAL };
  two_triangles(&one, t);
  double gap = one.best - s->round;
  s->time = gap <= s->near ? 0.0 : fmin(s->time, triangle_time(s, t, one.from, one.to, gap));
  s->best = s->round + s->near + s->time * s->fastest;
}

static kp_core_motion motion_in(const kp_core_motion *m, const kp_shape_at *at) {
  kp_quat back = kp_quat_conjugate(at->turn);
  return (kp_core_motion){ kp_quat_rotate(back, kp_vec3_sub(m->center, at->origin)),
                           kp_quat_rotate(back, m->velocity),
                           kp_quat_rotate(back, m->spin),
                           m->sway,
                           m->swing,
                           m->whirl };
}

static double skin_time(const sides *side, const kp_core_motion *ma, const kp_core_motion *mb,
                        double most) {
  const kp_core_at *a = side->a;
  const kp_core_at *b = side->b;
  pair_search s = begin_search(a, b, 0.0);
  s.is_timed = true;
  s.motion_a = motion_in(ma, &a->at);
  s.motion_b = motion_in(mb, &a->at);
  s.target = side->target;
  s.near = side->near;
  s.round = skin_round_of(a->core, side->is_bare) + skin_round_of(b->core, side->is_bare);
  s.fastest = fastest(ma, mb);
  s.time = most;
  s.best = s.round + s.near + most * s.fastest;
  search_pairs(&s);
  return s.time;
}

double kp_core_free_time(const kp_core_at *a, const kp_core_motion *ma, const kp_core_at *b,
                         const kp_core_motion *mb, kp_core_limit limit, double most) {
  sides s = { a, b, limit.is_bare, limit.target, limit.near };
  if (a->core->is_convex && b->core->is_convex) {
    return convex_time(&s, ma, mb, most);
  }
  if (a->core->inset == 0.0 || b->core->inset == 0.0) {
    bool is_a_open = a->core->inset == 0.0;
    const kp_core_motion *m_open = is_a_open ? ma : mb;
    const kp_core_motion *m_in = is_a_open ? mb : ma;
    s = (sides){ is_a_open ? a : b, is_a_open ? b : a, limit.is_bare, limit.target, limit.near };
    return fmin(most,
                is_half_spaces(s.a) ? room_time(&s, m_open, m_in) : hollow_time(&s, m_open, m_in));
  }
  return skin_time(&s, ma, mb, most);
}

// Corners and edges of neighbours that pass each other at a slant between faces that lie flat on
// each other would push aside: they count where nothing else is as near.
static void drop_rims(const pair_search *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->points->count && s->has_inside; ++i) {
    if ((s->points->data[i].feature & RIM) == 0) {
      s->points->data[n++] = s->points->data[i];
    }
  }
  s->points->count = s->has_inside ? n : s->points->count;
}

kp_result kp_core_contacts(const kp_core_at *a, const kp_core_at *b, double far,
                           kp_contact_points *points, bool *is_known) {
  double insets = a->core->inset + b->core->inset;
  kp_core_gap gap;
  *is_known = a->core->tree.n_nodes > 0 && b->core->tree.n_nodes > 0 &&
              skin_distance(a, b, far + insets, false, &gap);
  if (!*is_known || gap.distance >= far + insets) {
    return KP_OK;
  }
  double both = skin_round_of(a->core, false) + skin_round_of(b->core, false);
  pair_search s = begin_search(a, b, far + insets + both);
  s.points = points;
  s.nearest = gap.distance + both + ALSO_NEAREST * insets;
  search_pairs(&s);
  drop_rims(&s);
  return s.result;
}
