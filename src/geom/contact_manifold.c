#include "geom/contact_manifold.h"

#include "geom/frame.h"
#include "geom/mesh_query.h"
#include "geom/outline.h"

#define PARALLEL 0.05      // sine of the angle below which two edges touch along a line
#define PREFER_FIRST 1e-3  // so that the reference face does not change with rounding
#define ALIGNED 0.995      // cosine of the angle between normals of one patch
#define BULGE 1e-3         // sizes: a point of a patch this much deeper than its corners counts
#define STEEP 0.02         // slope between two points that are one: the deeper counts
#define CORNERS 8          // of a patch, at most
#define TWO_PI 6.28318530717958647692
#define POLYGON_MOST (2 * KP_CONVEX_FACE_MOST)

// ---- normals ------------------------------------------------------------------------------------

static kp_vec3 column(const kp_mat3 *m, int c) {
  return kp_vec3_make(m->m[0][c], m->m[1][c], m->m[2][c]);
}

typedef struct deep_search {
  const kp_convex_at *a, *b;
  kp_vec3 towards;  // from A to B
  kp_vec3 normal;
  double gap;
} deep_search;

static void try_direction(deep_search *s, kp_vec3 d) {
  double length = kp_vec3_length(d);
  if (length < 1e-9) {
    return;
  }
  d = kp_vec3_scale(d, copysign(1.0, kp_vec3_dot(d, s->towards)) / length);
  double gap = kp_convex_gap_along(s->a->convex, &s->a->pose, s->b->convex, &s->b->pose, d);
  if (gap > s->gap) {
    s->gap = gap;
    s->normal = d;
  }
}

static void try_faces(deep_search *s, const kp_convex_at *at, kp_vec3 towards) {
  for (int c = 0; c < 3; ++c) {
    try_direction(s, column(&at->pose.turn, c));
  }
  for (size_t f = 0; f < at->convex->faces.count; ++f) {
    try_direction(s, kp_mat3_mul_vec3(&at->pose.turn, at->convex->faces.data[f].normal));
  }
  if (at->convex->kind == KP_CONVEX_CYLINDER) {
    kp_vec3 axis = column(&at->pose.turn, 1);
    try_direction(s, kp_vec3_madd(towards, -kp_vec3_dot(towards, axis), axis));
  }
}

// Far inside each other: of the directions that could be the shortest way out, the shortest. Exact
// for boxes and hulls against round ones, near enough otherwise; the next steps meet again as the
// overlap shrinks.
static kp_vec3 deep_normal(const kp_convex_at *a, const kp_convex_at *b) {
  kp_vec3 towards = kp_vec3_sub(b->pose.center, a->pose.center);
  towards = kp_vec3_dot(towards, towards) > 0.0 ? towards : kp_vec3_make(0.0, 1.0, 0.0);
  deep_search s = { a, b, towards, kp_vec3_normalize(towards), -HUGE_VAL };
  try_direction(&s, towards);
  try_faces(&s, a, towards);
  try_faces(&s, b, towards);
  for (int i = 0; i < 9; ++i) {
    try_direction(&s, kp_vec3_cross(column(&a->pose.turn, i / 3), column(&b->pose.turn, i % 3)));
  }
  return s.normal;
}

// Where corners and edges pass each other the shrunk cores see a narrower gap than the axes of the
// solids do. Edges must be clearly better than faces, which hold contacts at more points.
static double widest_gap(const kp_convex_at *a, const kp_convex_at *b, double reach,
                         double separation, kp_vec3 *normal) {
  const double clearly = 0.02 * fabs(reach);
  kp_vec3 towards = kp_vec3_sub(b->pose.center, a->pose.center);
  deep_search s = { a, b, towards, *normal, separation + 1e-9 };
  try_faces(&s, a, towards);
  try_faces(&s, b, towards);
  double best = fmax(separation, s.gap - 1e-9);
  if (a->convex->kind == KP_CONVEX_BOX && b->convex->kind == KP_CONVEX_BOX) {
    s.gap = best + clearly;
    for (int i = 0; i < 9; ++i) {
      try_direction(&s, kp_vec3_cross(column(&a->pose.turn, i / 3), column(&b->pose.turn, i % 3)));
    }
    best = s.gap > best + clearly ? s.gap : best;
  }
  *normal = s.normal;
  return best;
}

// ---- cutting faces ------------------------------------------------------------------------------

typedef struct corner {
  kp_vec3 p;
  uint32_t id;
} corner;

typedef struct polygon {
  corner corners[POLYGON_MOST];
  int count;
} polygon;

static void view_in_world(const kp_convex_at *at, kp_vec3 direction, kp_convex_view *view) {
  kp_convex_show(at->convex, kp_mat3_transpose_mul_vec3(&at->pose.turn, direction), view);
  for (int i = 0; i < view->count; ++i) {
    view->points[i] = kp_convex_pose_point(&at->pose, view->points[i]);
  }
  view->normal = kp_mat3_mul_vec3(&at->pose.turn, view->normal);
}

static void add_corner(polygon *out, kp_vec3 p, uint32_t id) {
  if (out->count < POLYGON_MOST) {
    out->corners[out->count++] = (corner){ p, id };
  }
}

// Keep what lies on the inner side of a plane (Sutherland, Hodgman 1974); two corners are an edge.
static void cut(polygon *poly, kp_vec3 on_plane, kp_vec3 inward, uint32_t plane) {
  polygon out = { .count = 0 };
  int n_edges = poly->count == 2 ? 1 : poly->count;
  for (int i = 0; i < n_edges; ++i) {
    const corner *from = &poly->corners[i];
    const corner *to = &poly->corners[(i + 1) % poly->count];
    double d0 = kp_vec3_dot(inward, kp_vec3_sub(from->p, on_plane));
    double d1 = kp_vec3_dot(inward, kp_vec3_sub(to->p, on_plane));
    if (d0 >= 0.0) {
      add_corner(&out, from->p, from->id);
    }
    if ((d0 >= 0.0) != (d1 >= 0.0)) {
      kp_vec3 p = kp_vec3_madd(from->p, d0 / (d0 - d1), kp_vec3_sub(to->p, from->p));
      add_corner(&out, p, (from->id & 0x1f) | (plane + 1) << 5 | (d0 >= 0.0 ? 1u : 0u) << 11);
    }
    if (n_edges == 1 && d1 >= 0.0) {
      add_corner(&out, to->p, to->id);
    }
  }
  *poly = out;
}

typedef struct cutting {
  const kp_convex_view *face, *other;  // the face that cuts, and what it cuts
  double face_radius, other_radius;
  kp_vec3 out;     // unit, out of the face's solid
  kp_vec3 normal;  // from A to B
  double reach;
  uint32_t first;  // of the features
} cutting;

static void add_point(const cutting *c, kp_vec3 p, double gap, uint32_t id, kp_manifold *m) {
  double separation = gap - c->face_radius - c->other_radius;
  if (separation <= c->reach && m->count < KP_MANIFOLD_MOST) {
    double back = 0.5 * (gap - c->face_radius + c->other_radius);
    m->points[m->count++] = (kp_contact_point){ .position = kp_vec3_madd(p, -back, c->out),
                                                .normal = c->normal,
                                                .separation = separation,
                                                .feature = c->first | id };
  }
}

static void cut_by_face(const cutting *c, kp_manifold *m) {
  polygon poly = { .count = 0 };
  for (int i = 0; i < c->other->count; ++i) {
    add_corner(&poly, c->other->points[i], (uint32_t)i);
  }
  for (int i = 0; i < c->face->count && poly.count > 0; ++i) {
    kp_vec3 p = c->face->points[i];
    kp_vec3 edge = kp_vec3_sub(c->face->points[(i + 1) % c->face->count], p);
    cut(&poly, p, kp_vec3_cross(c->out, edge), (uint32_t)i);
  }
  double slope = kp_vec3_dot(c->out, c->face->normal);
  for (int i = 0; i < poly.count; ++i) {
    kp_vec3 d = kp_vec3_sub(poly.corners[i].p, c->face->points[0]);
    double gap = kp_vec3_dot(d, c->face->normal) / slope;
    add_point(c, poly.corners[i].p, gap, poly.corners[i].id, m);
  }
}

// Two edges side by side.
static void cut_by_edge(const cutting *c, kp_manifold *m) {
  kp_vec3 from = c->face->points[0];
  kp_vec3 edge = kp_vec3_sub(c->face->points[1], from);
  double length2 = kp_vec3_dot(edge, edge);
  polygon poly = { .count = 0 };
  add_corner(&poly, c->other->points[0], 0);
  add_corner(&poly, c->other->points[1], 1);
  cut(&poly, from, edge, 0);
  if (poly.count == 2) {
    cut(&poly, c->face->points[1], kp_vec3_scale(edge, -1.0), 1);
  }
  for (int i = 0; i < poly.count; ++i) {
    kp_vec3 p = poly.corners[i].p;
    double t = kp_vec3_dot(kp_vec3_sub(p, from), edge) / length2;
    kp_vec3 foot = kp_vec3_madd(from, t, edge);
    add_point(c, p, kp_vec3_dot(kp_vec3_sub(p, foot), c->out), poly.corners[i].id, m);
  }
}

static bool are_parallel(const kp_convex_view *a, const kp_convex_view *b) {
  kp_vec3 u = kp_vec3_normalize(kp_vec3_sub(a->points[1], a->points[0]));
  kp_vec3 v = kp_vec3_normalize(kp_vec3_sub(b->points[1], b->points[0]));
  return kp_vec3_length(kp_vec3_cross(u, v)) < PARALLEL;
}

static void cut_views(const kp_convex_at *a, const kp_convex_at *b, kp_vec3 normal, double reach,
                      kp_manifold *m) {
  kp_convex_view va, vb;
  kp_vec3 back = kp_vec3_scale(normal, -1.0);
  view_in_world(a, normal, &va);
  view_in_world(b, back, &vb);
  double facing_a = va.count >= 3 ? kp_vec3_dot(va.normal, normal) : 0.0;
  double facing_b = vb.count >= 3 ? kp_vec3_dot(vb.normal, back) : 0.0;
  bool b_cuts = facing_b > facing_a + PREFER_FIRST;
  cutting c = { .face = b_cuts ? &vb : &va,
                .other = b_cuts ? &va : &vb,
                .face_radius = b_cuts ? b->convex->radius : a->convex->radius,
                .other_radius = b_cuts ? a->convex->radius : b->convex->radius,
                .out = b_cuts ? back : normal,
                .normal = normal,
                .reach = reach };
  c.first = (b_cuts ? 1u << 28 : 0u) | (uint32_t)(c.face->feature & 0xff) << 20 |
            (uint32_t)(c.other->feature & 0xff) << 12;
  if (c.face->count >= 3 && c.other->count >= 2) {
    cut_by_face(&c, m);
  } else if (c.face->count == 2 && c.other->count == 2 && are_parallel(&va, &vb)) {
    cut_by_edge(&c, m);
  }
}

// The deepest point alone, from the closest points of the shrunk cores.
static void add_deepest(const kp_convex_at *a, const kp_convex_at *b, const kp_convex_gap *gap,
                        double separation, kp_manifold *m) {
  if (m->count == KP_MANIFOLD_MOST) {
    return;
  }
  // out to the surfaces: both cores were shrunk by about their margins
  double out_a = a->convex->margin + a->convex->radius;
  double out_b = b->convex->margin + b->convex->radius;
  double middle = 0.5 * (gap->distance + out_a - out_b);
  m->points[m->count++] = (kp_contact_point){ .position = kp_vec3_madd(gap->a, middle, gap->normal),
                                              .normal = gap->normal,
                                              .separation = separation,
                                              .feature = 1u << 29 };
}

static double deepest_of(const kp_manifold *m) {
  double least = HUGE_VAL;
  for (int i = 0; i < m->count; ++i) {
    least = fmin(least, m->points[i].separation);
  }
  return least;
}

// Where two edges almost coincide they cross anywhere, elsewhere in each step: such points are left
// out for the corners about them.
static void thin(kp_manifold *m, double reach) {
  if (m->count > 4) {
    kp_manifold all = *m;
    kp_contact_points list = { all.points, (size_t)all.count, KP_MANIFOLD_MOST };
    kp_manifold_take(&list, fabs(reach), CORNERS + 1, m);
  }
}

void kp_manifold_convex(const kp_convex_at *a, const kp_convex_at *b, double reach,
                        kp_manifold *out) {
  out->count = 0;
  kp_convex_gap gap;
  double far = fmax(0.0, reach) + a->convex->radius + b->convex->radius + a->convex->recede +
               b->convex->recede;
  bool is_apart = kp_convex_closest(a->convex, &a->pose, b->convex, &b->pose, far, &gap);
  if (is_apart && gap.distance > far) {
    return;
  }
  if (!is_apart) {
    gap.normal = deep_normal(a, b);
  }
  double separation = kp_convex_gap_along(a->convex, &a->pose, b->convex, &b->pose, gap.normal);
  if (is_apart && separation <= reach && a->convex->margin > 0.0 && b->convex->margin > 0.0) {
    separation = widest_gap(a, b, reach, separation, &gap.normal);
  }
  if (separation > reach) {
    return;
  }
  cut_views(a, b, gap.normal, reach, out);
  if (!is_apart && out->count == 0) {
    // deep and nothing cut: somewhere between the two
    gap.a = kp_vec3_scale(kp_vec3_add(a->pose.center, b->pose.center), 0.5);
    gap.distance = b->convex->margin + b->convex->radius - a->convex->margin - a->convex->radius;
    is_apart = true;
  }
  if (is_apart && deepest_of(out) > separation + 0.25 * fabs(reach)) {
    add_deepest(a, b, &gap, separation, out);
  }
  thin(out, reach);
}

void kp_manifold_half_space(kp_vec3 point, kp_vec3 normal, const kp_convex_at *b, double reach,
                            uint32_t first, kp_manifold *out) {
  kp_vec3 down = kp_vec3_scale(normal, -1.0);
  kp_vec3 local = kp_mat3_transpose_mul_vec3(&b->pose.turn, down);
  kp_vec3 lowest = kp_convex_pose_point(&b->pose, kp_convex_support(b->convex, local, 0.0));
  double radius = b->convex->radius;
  double separation = kp_vec3_dot(kp_vec3_sub(lowest, point), normal) - radius;
  if (separation > reach) {
    return;
  }
  kp_convex_view view;
  view_in_world(b, down, &view);
  kp_manifold found = { .count = 0 };
  double least = HUGE_VAL;
  for (int i = 0; i <= view.count; ++i) {
    kp_vec3 p = i < view.count ? view.points[i] : lowest;
    double d = kp_vec3_dot(kp_vec3_sub(p, point), normal) - radius;
    bool is_new = i < view.count || least > separation + 0.25 * fabs(reach);
    if (d <= reach && is_new && found.count < KP_MANIFOLD_MOST) {
      uint32_t id = (uint32_t)(view.feature & 0xff) << 5 | (uint32_t)(i & 0x1f);
      found.points[found.count++] =
          (kp_contact_point){ .position = kp_vec3_madd(p, -(radius + 0.5 * d), normal),
                              .normal = normal,
                              .separation = d,
                              .feature = first + id };
      least = fmin(least, d);
    }
  }
  thin(&found, reach);
  for (int i = 0; i < found.count && out->count < KP_MANIFOLD_MOST; ++i) {
    out->points[out->count++] = found.points[i];
  }
}

// ---- probes -------------------------------------------------------------------------------------

static kp_result add_line(kp_contact_probes *out, kp_vec3 a, kp_vec3 b, double radius,
                          double spacing) {
  int n = (int)ceil(kp_vec3_length(kp_vec3_sub(b, a)) / spacing);
  for (int i = 1; i < n; ++i) {
    kp_contact_probe p = { kp_vec3_madd(a, (double)i / n, kp_vec3_sub(b, a)), radius };
    KP_TRY(kp_array_push(out, p));
  }
  return KP_OK;
}

// Vertices, and points along the edges; each edge belongs to the triangle that runs it upwards.
static kp_result add_mesh(kp_contact_probes *out, const kp_mesh *mesh, double radius,
                          double spacing) {
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    KP_TRY(kp_array_push(out, (kp_contact_probe){ mesh->vertices[v], radius }));
  }
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_index *v = mesh->triangles[t].v;
    for (int k = 0; k < 3; ++k) {
      if (v[k] < v[(k + 1) % 3]) {
        KP_TRY(
            add_line(out, mesh->vertices[v[k]], mesh->vertices[v[(k + 1) % 3]], radius, spacing));
      }
    }
  }
  return KP_OK;
}

static kp_result add_outline(kp_contact_probes *out, const kp_mesh *mesh, double radius,
                             double spacing) {
  kp_outline outline = { 0 };
  kp_result result = kp_outline_slice(mesh, &outline);
  for (size_t i = 0; i < outline.count && result == KP_OK; ++i) {
    const kp_outline_side *side = &outline.data[i];
    result = kp_array_push(out, (kp_contact_probe){ side->from, radius });
    if (result == KP_OK) {
      result = add_line(out, side->from, side->to, radius, spacing);
    }
  }
  kp_array_free(&outline);
  return result;
}

// Corners of a rectangle in the plane, and its sides.
static kp_result add_flat_box(kp_contact_probes *out, const kp_shape_def *def, double spacing) {
  const double x[2] = { def->min.x, def->max.x };
  const double y[2] = { def->min.y, def->max.y };
  static const int order[5][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 }, { 0, 0 } };
  for (int i = 0; i < 4; ++i) {
    kp_vec3 a = kp_vec3_make(x[order[i][0]], y[order[i][1]], 0.0);
    kp_vec3 b = kp_vec3_make(x[order[i + 1][0]], y[order[i + 1][1]], 0.0);
    KP_TRY(kp_array_push(out, (kp_contact_probe){ a, 0.0 }));
    KP_TRY(add_line(out, a, b, 0.0, spacing));
  }
  return KP_OK;
}

kp_result kp_contact_probes_of_shape(const kp_shape *shape, double spacing,
                                     kp_contact_probes *probes) {
  const kp_shape_def *def = &shape->def;
  double thick = 0.5 * def->shell;
  bool is_flat = shape->dimension == 2;
  if (def->shell == 0.0 && def->kind == KP_SHAPE_SPHERE) {
    return kp_array_push(probes, (kp_contact_probe){ def->center, def->radius });
  }
  if (def->shell == 0.0 && def->kind == KP_SHAPE_CAPSULE &&
      (!is_flat || (def->a.z == 0.0 && def->b.z == 0.0))) {
    KP_TRY(kp_array_push(probes, (kp_contact_probe){ def->a, def->radius }));
    KP_TRY(kp_array_push(probes, (kp_contact_probe){ def->b, def->radius }));
    return add_line(probes, def->a, def->b, def->radius, spacing);
  }
  if (is_flat && def->kind == KP_SHAPE_BOX) {
    return add_flat_box(probes, def, spacing);
  }
  kp_mesh mesh;
  KP_TRY(kp_shape_tessellate(shape, spacing, &mesh));
  kp_result result = is_flat ? add_outline(probes, &mesh, thick, spacing)
                             : add_mesh(probes, &mesh, thick, spacing);
  kp_mesh_destroy(&mesh);
  return result;
}

// ---- points in a field --------------------------------------------------------------------------

kp_result kp_contact_points_in_field(const kp_shape_at *mine, const kp_contact_probes *probes,
                                     const kp_shape_at *other, double reach,
                                     kp_contact_points *points) {
  kp_quat back = kp_quat_conjugate(other->turn);
  bool is_bounded = kp_shape_is_bounded(other->shape);
  kp_aabb bounds = kp_shape_bounds(other->shape);
  for (size_t i = 0; i < probes->count; ++i) {
    const kp_contact_probe *probe = &probes->data[i];
    kp_vec3 p = kp_vec3_add(mine->origin, kp_quat_rotate(mine->turn, probe->point));
    kp_vec3 local = kp_quat_rotate(back, kp_vec3_sub(p, other->origin));
    double far = reach + probe->radius;
    if (is_bounded && kp_aabb_distance2(bounds, local) > far * far) {
      continue;
    }
    kp_vec3 normal;
    double separation = kp_shape_query(other->shape, local, &normal) - probe->radius;
    if (separation <= reach) {
      kp_vec3 n = kp_quat_rotate(other->turn, normal);
      kp_contact_point one = { .position = kp_vec3_madd(p, -(probe->radius + 0.5 * separation), n),
                               .normal = n,
                               .separation = separation,
                               .feature = (uint32_t)i };
      KP_TRY(kp_array_push(points, one));
    }
  }
  return KP_OK;
}

static double apart2(const kp_contact_point *a, const kp_contact_point *b, double size) {
  kp_vec3 d = kp_vec3_sub(a->position, b->position);
  kp_vec3 n = kp_vec3_sub(a->normal, b->normal);
  return kp_vec3_dot(d, d) + 0.25 * size * size * kp_vec3_dot(n, n);
}

static bool is_of_patch(const kp_contact_point *p, kp_vec3 normal) {
  return kp_vec3_dot(p->normal, normal) > ALIGNED;
}

// Whether most points have one normal, and that.
static bool find_patch(const kp_contact_points *points, kp_vec3 *normal) {
  kp_vec3 sum = kp_vec3_make(0.0, 0.0, 0.0);
  for (size_t i = 0; i < points->count; ++i) {
    sum = kp_vec3_add(sum, points->data[i].normal);
  }
  *normal = kp_vec3_normalize(sum);
  size_t n = 0;
  for (size_t i = 0; i < points->count; ++i) {
    n += is_of_patch(&points->data[i], *normal) ? 1 : 0;
  }
  return 2 * n > points->count;
}

// The outermost points of a patch: whatever the others bear these can. They stay the same while the
// patch does, where the deepest of many that are as deep changes from step to step. A point that
// is clearly deeper counts too.
static void take_corners(const kp_contact_points *points, kp_vec3 normal, double size,
                         kp_manifold *out) {
  size_t deepest = points->count;
  kp_vec3 t1, t2;
  kp_frame_make(normal, &t1, &t2);
  for (int d = 0; d < CORNERS; ++d) {
    double angle = (d + 0.5) * (TWO_PI / CORNERS);
    kp_vec3 way = kp_vec3_madd(kp_vec3_scale(t1, cos(angle)), sin(angle), t2);
    size_t next = points->count;
    double farthest = -HUGE_VAL;
    for (size_t i = 0; i < points->count; ++i) {
      const kp_contact_point *p = &points->data[i];
      double far = kp_vec3_dot(p->position, way);
      if (!is_of_patch(p, normal)) {
        continue;
      }
      next = far > farthest ? i : next;
      farthest = fmax(far, farthest);
      bool is_deeper = deepest == points->count || p->separation < points->data[deepest].separation;
      deepest = is_deeper ? i : deepest;
    }
    bool is_known = false;
    for (int k = 0; k < out->count; ++k) {
      is_known = is_known || out->points[k].feature == points->data[next].feature;
    }
    if (!is_known) {
      out->points[out->count++] = points->data[next];
    }
  }
  if (deepest_of(out) > points->data[deepest].separation + BULGE * size) {
    out->points[out->count++] = points->data[deepest];
  }
}

// How far a point is from all that were taken, squared; of the first, how deep it is.
static double worth(const kp_contact_point *p, double size, const kp_manifold *taken) {
  double nearest = HUGE_VAL;
  for (int k = 0; k < taken->count; ++k) {
    nearest = fmin(nearest, apart2(p, &taken->points[k], size));
  }
  return taken->count > 0 ? nearest : -p->separation;
}

void kp_manifold_take(const kp_contact_points *points, double size, int most, kp_manifold *out) {
  out->count = 0;
  kp_vec3 normal;
  bool has_patch = points->count > 0 && find_patch(points, &normal);
  if (has_patch) {
    take_corners(points, normal, size, out);
  }
  while (out->count < most) {
    const kp_contact_point *next = NULL;
    double best = out->count > 0 ? 1e-4 * size * size : -HUGE_VAL;
    for (size_t i = 0; i < points->count; ++i) {
      const kp_contact_point *p = &points->data[i];
      double value = has_patch && is_of_patch(p, normal) ? -HUGE_VAL : worth(p, size, out);
      next = value > best ? p : next;
      best = fmax(value, best);
    }
    if (next == NULL) {
      return;
    }
    out->points[out->count++] = *next;
  }
}

void kp_manifold_flatten(kp_manifold *manifold) {
  for (int i = 0; i < manifold->count; ++i) {
    kp_contact_point *point = &manifold->points[i];
    point->position.z = 0.0;
    point->normal.z = 0.0;
    point->normal = kp_vec3_normalize(point->normal);
  }
}

void kp_manifold_merge(double distance, kp_manifold *manifold) {
  int n = 0;
  for (int i = 0; i < manifold->count; ++i) {
    kp_contact_point point = manifold->points[i];
    int same = n;
    for (int k = 0; k < n && same == n; ++k) {
      // a turn of 0.1 counts as the distance
      bool is_near = apart2(&point, &manifold->points[k], 20.0 * distance) < distance * distance;
      same = is_near ? k : same;
    }
    if (same == n) {
      manifold->points[n++] = point;
    } else if (point.separation < manifold->points[same].separation - STEEP * distance) {
      point.feature = manifold->points[same].feature;
      manifold->points[same] = point;
    }
  }
  manifold->count = n;
}
