#include "geom/convex.h"

#include <string.h>

#include "geom/frame.h"
#include "geom/mesh_query.h"

#define SHRINK 0.2          // of the smallest half width
#define HULL_MOST 512       // triangles: larger meshes are met through their distance
#define CAP_CORNERS 8       // told of the round end of a cylinder
#define TOLERANCE 1e-10     // of the squared distance: normals are good to its root
#define GJK_ITERATIONS 128  // polytopes need about ten, cylinders some thirty

// ---- building -----------------------------------------------------------------------------------

static double smallest(double a, double b, double c) {
  return fmin(a, fmin(b, c));
}

// The turn that brings y to the unit axis.
static kp_quat turn_to(kp_vec3 axis) {
  kp_vec3 y = kp_vec3_make(0.0, 1.0, 0.0);
  kp_vec3 c = kp_vec3_cross(y, axis);
  double w = 1.0 + axis.y;
  return w > 1e-9 ? kp_quat_normalize(kp_quat_make(w, c.x, c.y, c.z))
                  : kp_quat_make(0.0, 1.0, 0.0, 0.0);
}

static void make_box(const kp_shape *shape, double depth, kp_convex *out) {
  const kp_shape_def *def = &shape->def;
  out->half = kp_vec3_scale(kp_vec3_sub(def->max, def->min), 0.5);
  out->center = kp_vec3_scale(kp_vec3_add(def->min, def->max), 0.5);
  if (shape->dimension == 2 || def->min.z == def->max.z) {
    out->half.z = depth;
    out->center.z = 0.0;
  }
  out->margin = SHRINK * smallest(out->half.x, out->half.y, out->half.z);
}

static void make_sphere(const kp_shape *shape, double depth, kp_convex *out) {
  out->center = shape->def.center;
  if (shape->dimension == 2) {
    out->kind = KP_CONVEX_CYLINDER;
    out->half = kp_vec3_make(shape->def.radius, depth, shape->def.radius);
    out->turn = turn_to(kp_vec3_make(0.0, 0.0, 1.0));
    out->margin = SHRINK * shape->def.radius;
  } else {
    out->radius = shape->def.radius;
  }
}

// Cylinders and capsules; in 2D only those whose axis lies in the plane.
static bool make_round(const kp_shape *shape, double depth, kp_convex *out) {
  const kp_shape_def *def = &shape->def;
  bool is_flat = shape->dimension == 2;
  bool is_capsule = def->kind == KP_SHAPE_CAPSULE;
  kp_vec3 axis = kp_vec3_sub(def->b, def->a);
  double half = 0.5 * kp_vec3_length(axis);
  if (is_flat && (def->a.z != 0.0 || def->b.z != 0.0)) {
    return false;
  }
  axis = kp_vec3_normalize(axis);
  out->center = kp_vec3_scale(kp_vec3_add(def->a, def->b), 0.5);
  out->turn = is_flat ? kp_quat_from_axis_angle(kp_vec3_make(0.0, 0.0, 1.0), atan2(-axis.x, axis.y))
                      : turn_to(axis);
  if (is_capsule) {
    out->half = kp_vec3_make(0.0, half, is_flat ? depth : 0.0);
    out->radius = def->radius;
    return true;
  }
  out->kind = is_flat ? KP_CONVEX_BOX : KP_CONVEX_CYLINDER;
  out->half = kp_vec3_make(def->radius, half, is_flat ? depth : def->radius);
  out->margin = SHRINK * smallest(out->half.x, out->half.y, out->half.z);
  return true;
}

// Whether all vertices lie behind all triangles.
static bool is_convex_mesh(const kp_mesh *mesh, double tolerance) {
  if (mesh->n_triangles > HULL_MOST) {
    return false;
  }
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    kp_vec3 n = kp_mesh_triangle_normal(mesh, t);
    double offset = kp_vec3_dot(n, mesh->vertices[mesh->triangles[t].v[0]]);
    for (kp_index v = 0; v < mesh->n_vertices; ++v) {
      if (kp_vec3_dot(n, mesh->vertices[v]) > offset + tolerance) {
        return false;
      }
    }
  }
  return true;
}

// Corners of the face in the plane, by angle around their middle.
static kp_result add_face(kp_convex *out, kp_vec3 n, double offset, double tolerance) {
  kp_convex_face face = { .first = (kp_index)out->corners.count, .normal = n };
  kp_vec3 middle = kp_vec3_make(0.0, 0.0, 0.0);
  for (size_t v = 0; v < out->vertices.count; ++v) {
    if (fabs(kp_vec3_dot(n, out->vertices.data[v]) - offset) <= tolerance) {
      KP_TRY(kp_array_push(&out->corners, (kp_index)v));
      middle = kp_vec3_add(middle, out->vertices.data[v]);
      ++face.count;
    }
  }
  middle = kp_vec3_scale(middle, 1.0 / (double)face.count);
  kp_vec3 x, y;
  kp_frame_make(n, &x, &y);
  kp_index *c = out->corners.data + face.first;
  for (kp_index i = 1; i < face.count; ++i) {
    kp_index corner = c[i];
    kp_vec3 d = kp_vec3_sub(out->vertices.data[corner], middle);
    double angle = atan2(kp_vec3_dot(d, y), kp_vec3_dot(d, x));
    kp_index j = i;
    for (; j > 0; --j) {
      kp_vec3 e = kp_vec3_sub(out->vertices.data[c[j - 1]], middle);
      if (atan2(kp_vec3_dot(e, y), kp_vec3_dot(e, x)) <= angle) {
        break;
      }
      c[j] = c[j - 1];
    }
    c[j] = corner;
  }
  return kp_array_push(&out->faces, face);
}

static kp_result make_hull(const kp_mesh *mesh, double tolerance, kp_convex *out) {
  out->kind = KP_CONVEX_HULL;
  out->center = kp_mesh_centroid(mesh);
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    KP_TRY(kp_array_push(&out->vertices, kp_vec3_sub(mesh->vertices[v], out->center)));
  }
  out->inner = HUGE_VAL;
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    kp_vec3 n = kp_mesh_triangle_normal(mesh, t);
    double offset = kp_vec3_dot(n, out->vertices.data[mesh->triangles[t].v[0]]);
    bool is_known = kp_vec3_dot(n, n) < 0.5;  // a degenerate one is no face
    for (size_t f = 0; f < out->faces.count && !is_known; ++f) {
      is_known = kp_vec3_dot(out->faces.data[f].normal, n) > 1.0 - 1e-9;
    }
    if (!is_known) {
      KP_TRY(add_face(out, n, offset, tolerance));
      out->inner = fmin(out->inner, offset);
    }
  }
  out->margin = SHRINK * out->inner;
  return KP_OK;
}

static kp_result make_mesh(const kp_shape *shape, kp_convex *out, bool *is_convex) {
  const kp_mesh *mesh = kp_mesh_query_mesh(shape->mesh);
  double tolerance = 1e-7 * kp_vec3_length(kp_vec3_sub(shape->bounds.max, shape->bounds.min));
  *is_convex = shape->dimension == 3 && is_convex_mesh(mesh, tolerance);
  return *is_convex ? make_hull(mesh, tolerance, out) : KP_OK;
}

static kp_result make_convex(const kp_shape *shape, double depth, kp_convex *out, bool *is_convex) {
  switch (shape->def.kind) {
  case KP_SHAPE_BOX:
    make_box(shape, depth, out);
    return KP_OK;
  case KP_SHAPE_SPHERE:
    make_sphere(shape, depth, out);
    return KP_OK;
  case KP_SHAPE_CYLINDER:
  case KP_SHAPE_CAPSULE:
    *is_convex = make_round(shape, depth, out);
    return KP_OK;
  case KP_SHAPE_MESH:
    return make_mesh(shape, out, is_convex);
  case KP_SHAPE_PLANE:
  case KP_SHAPE_KIND_COUNT:
    break;
  }
  *is_convex = false;
  return KP_OK;
}

kp_result kp_convex_of_shape(const kp_shape *shape, double depth, kp_convex *out, bool *is_convex) {
  *out = (kp_convex){ .kind = KP_CONVEX_BOX, .turn = kp_quat_identity() };
  *is_convex = kp_shape_is_bounded(shape) && shape->def.shell == 0.0;
  if (*is_convex) {
    KP_TRY(make_convex(shape, depth, out, is_convex));
    double farthest = 0.0;
    for (size_t v = 0; v < out->vertices.count; ++v) {
      farthest = fmax(farthest, kp_vec3_length(out->vertices.data[v]));
    }
    out->recede = out->margin * (out->kind == KP_CONVEX_HULL ? farthest / out->inner : sqrt(3.0));
  }
  return KP_OK;
}
void kp_convex_destroy(kp_convex *convex) {
  kp_array_free(&convex->vertices);
  kp_array_free(&convex->faces);
  kp_array_free(&convex->corners);
}

kp_convex_pose kp_convex_pose_make(const kp_convex *convex, kp_vec3 origin, kp_quat turn) {
  return (kp_convex_pose){ .turn = kp_quat_to_mat3(kp_quat_mul(turn, convex->turn)),
                           .center = kp_vec3_add(origin, kp_quat_rotate(turn, convex->center)) };
}

// ---- support and faces --------------------------------------------------------------------------

static kp_vec3 hull_support(const kp_convex *convex, kp_vec3 d, double shrink) {
  size_t best = 0;
  double most = -HUGE_VAL;
  for (size_t v = 0; v < convex->vertices.count; ++v) {
    double along = kp_vec3_dot(convex->vertices.data[v], d);
    best = along > most ? v : best;
    most = along > most ? along : most;
  }
  // scaling moves the nearest face by `shrink` and keeps all normals
  return kp_vec3_scale(convex->vertices.data[best], 1.0 - shrink / convex->inner);
}

kp_vec3 kp_convex_support(const kp_convex *convex, kp_vec3 d, double shrink) {
  kp_vec3 half = convex->half;
  switch (convex->kind) {
  case KP_CONVEX_CYLINDER: {
    double across = sqrt(d.x * d.x + d.z * d.z);
    double r = across > 0.0 ? (half.x - shrink) / across : 0.0;
    return kp_vec3_make(r * d.x, copysign(half.y - shrink, d.y), r * d.z);
  }
  case KP_CONVEX_HULL:
    return hull_support(convex, d, shrink);
  case KP_CONVEX_BOX:
    break;
  }
  return kp_vec3_make(copysign(half.x - shrink, d.x), copysign(half.y - shrink, d.y),
                      copysign(half.z - shrink, d.z));
}

static kp_vec3 vec3_of(const double v[3]) {
  return kp_vec3_make(v[0], v[1], v[2]);
}

// Corners of a box without extent along some axes: a point, a segment, a rectangle.
static void show_thin_box(const double half[3], kp_vec3 d, kp_convex_view *view) {
  int axes[3];
  int n = 0;
  for (int c = 0; c < 3; ++c) {
    if (half[c] > 0.0) {
      axes[n++] = c;
    }
  }
  static const double signs[4][2] = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } };
  view->count = n == 0 ? 1 : n == 1 ? 2 : 4;
  for (int i = 0; i < view->count; ++i) {
    double p[3] = { 0.0, 0.0, 0.0 };
    for (int k = 0; k < n; ++k) {
      p[axes[k]] = signs[i][k] * half[axes[k]];
    }
    view->points[i] = vec3_of(p);
  }
  view->normal = d;
  view->feature = 0;
}

static void show_box(const kp_convex *convex, kp_vec3 direction, kp_convex_view *view) {
  const double half[3] = { convex->half.x, convex->half.y, convex->half.z };
  const double d[3] = { direction.x, direction.y, direction.z };
  if (half[0] == 0.0 || half[1] == 0.0 || half[2] == 0.0) {
    show_thin_box(half, direction, view);
    return;
  }
  int axis = 0;
  for (int c = 1; c < 3; ++c) {
    axis = fabs(d[c]) > fabs(d[axis]) ? c : axis;
  }
  double side = copysign(1.0, d[axis]);
  int u = (axis + 1) % 3;
  int v = (axis + 2) % 3;
  static const double signs[4][2] = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } };
  for (int i = 0; i < 4; ++i) {
    // seen from outside, the side below runs the other way round
    const double *s = signs[side > 0.0 ? i : 3 - i];
    double p[3];
    p[axis] = side * half[axis];
    p[u] = s[0] * half[u];
    p[v] = s[1] * half[v];
    view->points[i] = vec3_of(p);
  }
  double n[3] = { 0.0, 0.0, 0.0 };
  n[axis] = side;
  view->normal = vec3_of(n);
  view->count = 4;
  view->feature = 2 * axis + (side > 0.0 ? 1 : 0);
}

// The end as a polygon, turned so that its lowest rim point is a corner; the side as a line.
static void show_cylinder(const kp_convex *convex, kp_vec3 d, kp_convex_view *view) {
  double r = convex->half.x;
  double h = convex->half.y;
  double across = sqrt(d.x * d.x + d.z * d.z);
  double side = copysign(1.0, d.y);
  if (fabs(d.y) > across) {
    double c0 = across > 0.02 ? d.x / across : 1.0;
    double s0 = across > 0.02 ? d.z / across : 0.0;
    for (int i = 0; i < CAP_CORNERS; ++i) {
      double angle = -side * 2.0 * 3.14159265358979323846 * i / CAP_CORNERS;
      double c = cos(angle);
      double s = sin(angle);
      view->points[i] = kp_vec3_make(r * (c * c0 - s * s0), side * h, r * (c * s0 + s * c0));
    }
    view->count = CAP_CORNERS;
    view->normal = kp_vec3_make(0.0, side, 0.0);
    view->feature = side > 0.0 ? 1 : 0;
  } else {
    kp_vec3 out = kp_vec3_make(d.x / across, 0.0, d.z / across);
    view->points[0] = kp_vec3_make(r * out.x, -h, r * out.z);
    view->points[1] = kp_vec3_make(r * out.x, h, r * out.z);
    view->count = 2;
    view->normal = out;
    view->feature = 2;
  }
}

static void show_hull(const kp_convex *convex, kp_vec3 d, kp_convex_view *view) {
  size_t best = 0;
  for (size_t f = 1; f < convex->faces.count; ++f) {
    bool is_better = kp_vec3_dot(convex->faces.data[f].normal, d) >
                     kp_vec3_dot(convex->faces.data[best].normal, d);
    best = is_better ? f : best;
  }
  const kp_convex_face *face = &convex->faces.data[best];
  const kp_index *corners = convex->corners.data + face->first;
  view->count = face->count < KP_CONVEX_FACE_MOST ? face->count : KP_CONVEX_FACE_MOST;
  for (int i = 0; i < view->count; ++i) {
    kp_index which = (kp_index)((int64_t)i * face->count / view->count);
    view->points[i] = convex->vertices.data[corners[which]];
  }
  view->normal = face->normal;
  view->feature = (int)best;
}

void kp_convex_show(const kp_convex *convex, kp_vec3 direction, kp_convex_view *view) {
  switch (convex->kind) {
  case KP_CONVEX_BOX:
    show_box(convex, direction, view);
    break;
  case KP_CONVEX_CYLINDER:
    show_cylinder(convex, direction, view);
    break;
  case KP_CONVEX_HULL:
    show_hull(convex, direction, view);
    break;
  }
}

// ---- closest points (Gilbert, Johnson, Keerthi 1988) --------------------------------------------
// The difference of the two cores holds the origin when they overlap. A simplex of its points walks
// towards the origin; sub-simplices by the regions of Ericson 2005, section 5.1.

typedef struct simplex {
  kp_vec3 w[4], a[4], b[4];  // w = b - a
  double weight[4];
  int n;
} simplex;

static void keep(simplex *s, int n, const int which[3], const double weight[3]) {
  simplex out = { .n = n };
  for (int i = 0; i < n; ++i) {
    out.w[i] = s->w[which[i]];
    out.a[i] = s->a[which[i]];
    out.b[i] = s->b[which[i]];
    out.weight[i] = weight[i];
  }
  *s = out;
}

static void closest_segment(simplex *s) {
  kp_vec3 ab = kp_vec3_sub(s->w[1], s->w[0]);
  double t = -kp_vec3_dot(s->w[0], ab);
  double length2 = kp_vec3_dot(ab, ab);
  if (t <= 0.0 || length2 == 0.0) {
    keep(s, 1, (int[3]){ 0 }, (double[3]){ 1.0 });
  } else if (t >= length2) {
    keep(s, 1, (int[3]){ 1 }, (double[3]){ 1.0 });
  } else {
    keep(s, 2, (int[3]){ 0, 1 }, (double[3]){ 1.0 - t / length2, t / length2 });
  }
}

// Weights that are not zero name the corner, edge or face the origin is nearest to.
static void closest_triangle(simplex *s, int i, int j, int k) {
  double weights[3];
  const int all[3] = { i, j, k };
  (void)kp_triangle_closest(s->w[i], s->w[j], s->w[k], kp_vec3_make(0.0, 0.0, 0.0), weights);
  int which[3];
  double weight[3];
  int n = 0;
  for (int c = 0; c < 3; ++c) {
    if (weights[c] > 0.0) {
      which[n] = all[c];
      weight[n++] = weights[c];
    }
  }
  keep(s, n, which, weight);
}

static kp_vec3 closest_point(const simplex *s) {
  kp_vec3 p = kp_vec3_make(0.0, 0.0, 0.0);
  for (int i = 0; i < s->n; ++i) {
    p = kp_vec3_madd(p, s->weight[i], s->w[i]);
  }
  return p;
}

// False when the origin is inside. Along curved sides and where thin solids almost touch tetrahedra
// get flat, and signs are lost: with `is_apart` a plane is known to part the two, the origin is
// inside of none, and any face may be the nearest.
static bool closest_tetrahedron(simplex *s, bool is_apart) {
  static const int faces[4][4] = { { 0, 1, 2, 3 }, { 0, 3, 1, 2 }, { 0, 2, 3, 1 }, { 1, 3, 2, 0 } };
  simplex best = { 0 };
  double nearest = HUGE_VAL;
  for (int f = 0; f < 4; ++f) {
    kp_vec3 p = s->w[faces[f][0]];
    kp_vec3 n = kp_vec3_cross(kp_vec3_sub(s->w[faces[f][1]], p), kp_vec3_sub(s->w[faces[f][2]], p));
    double inside = kp_vec3_dot(n, kp_vec3_sub(s->w[faces[f][3]], p));
    double origin = -kp_vec3_dot(n, p);
    if (inside * origin > 0.0 && !is_apart) {
      continue;  // on the same side as the fourth corner
    }
    simplex one = *s;
    closest_triangle(&one, faces[f][0], faces[f][1], faces[f][2]);
    kp_vec3 q = closest_point(&one);
    if (kp_vec3_dot(q, q) < nearest) {
      nearest = kp_vec3_dot(q, q);
      best = one;
    }
  }
  if (nearest == HUGE_VAL) {
    return false;
  }
  *s = best;
  return true;
}

static bool reduce(simplex *s, bool is_apart) {
  switch (s->n) {
  case 1:
    s->weight[0] = 1.0;
    return true;
  case 2:
    closest_segment(s);
    return true;
  case 3:
    closest_triangle(s, 0, 1, 2);
    return true;
  default:
    return closest_tetrahedron(s, is_apart);
  }
}

static kp_vec3 support_in_world(const kp_convex *convex, const kp_convex_pose *pose, kp_vec3 d,
                                double shrink) {
  kp_vec3 local = kp_convex_support(convex, kp_mat3_transpose_mul_vec3(&pose->turn, d), shrink);
  return kp_convex_pose_point(pose, local);
}

static bool has_point(const simplex *s, kp_vec3 w) {
  for (int i = 0; i < s->n; ++i) {
    if (s->w[i].x == w.x && s->w[i].y == w.y && s->w[i].z == w.z) {
      return true;
    }
  }
  return false;
}

bool kp_convex_closest(const kp_convex *a, const kp_convex_pose *pose_a, const kp_convex *b,
                       const kp_convex_pose *pose_b, double far, kp_convex_gap *gap) {
  simplex s = { .n = 0 };
  kp_vec3 v = kp_vec3_sub(pose_b->center, pose_a->center);
  v = kp_vec3_dot(v, v) > 0.0 ? v : kp_vec3_make(0.0, 1.0, 0.0);
  double scale2 = 0.0;
  bool is_apart = false;
  for (int i = 0; i < GJK_ITERATIONS; ++i) {
    kp_vec3 pa = support_in_world(a, pose_a, v, a->margin);
    kp_vec3 pb = support_in_world(b, pose_b, kp_vec3_scale(v, -1.0), b->margin);
    kp_vec3 w = kp_vec3_sub(pb, pa);
    scale2 = fmax(scale2, kp_vec3_dot(w, w));
    double vv = kp_vec3_dot(v, v);
    // no point of the difference is nearer to the origin than v w / |v|
    double bound = kp_vec3_dot(v, w);
    if (bound > 0.0 && bound * bound > far * far * vv) {
      gap->distance = bound / sqrt(vv);
      gap->normal = kp_vec3_scale(v, 1.0 / sqrt(vv));
      gap->a = pa;
      gap->b = pb;
      return true;
    }
    if (s.n > 0 && (vv - bound <= TOLERANCE * vv || has_point(&s, w))) {
      break;
    }
    const simplex last = s;
    s.w[s.n] = w;
    s.a[s.n] = pa;
    s.b[s.n++] = pb;
    is_apart = is_apart || bound > 0.0;
    if (!reduce(&s, is_apart)) {
      return false;
    }
    kp_vec3 next = closest_point(&s);
    if (kp_vec3_dot(next, next) <= 1e-20 * scale2) {
      return false;
    }
    if (is_apart && i > 0 && kp_vec3_dot(next, next) >= vv) {
      s = last;  // as near as rounding lets it come
      break;
    }
    v = next;
  }
  gap->a = gap->b = kp_vec3_make(0.0, 0.0, 0.0);
  for (int i = 0; i < s.n; ++i) {
    gap->a = kp_vec3_madd(gap->a, s.weight[i], s.a[i]);
    gap->b = kp_vec3_madd(gap->b, s.weight[i], s.b[i]);
  }
  gap->distance = kp_vec3_length(v);
  gap->normal = kp_vec3_scale(v, 1.0 / gap->distance);
  return true;
}

double kp_convex_gap_along(const kp_convex *a, const kp_convex_pose *pose_a, const kp_convex *b,
                           const kp_convex_pose *pose_b, kp_vec3 normal) {
  kp_vec3 pa = support_in_world(a, pose_a, normal, 0.0);
  kp_vec3 pb = support_in_world(b, pose_b, kp_vec3_scale(normal, -1.0), 0.0);
  return kp_vec3_dot(kp_vec3_sub(pb, pa), normal) - a->radius - b->radius;
}
