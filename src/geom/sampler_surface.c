// Samples on surfaces: lattices on boxes and planes, rings on round shapes, thinned random sets on
// meshes, and the outlines of two-dimensional worlds. Every layer is a surface of its own, `depth`
// metres inside the solid: of the same kind for all but meshes, whose points move along their
// normals.
#include "base/random.h"
#include "geom/frame.h"
#include "geom/mesh_query.h"
#include "geom/outline.h"
#include "geom/sampler.h"
#include "geom/thinning.h"

#define PI 3.14159265358979323846
#define GOLDEN_ANGLE 2.399963229728653  // turns successive rings against each other
#define MOST_SAMPLES 2147483647.0
#define SLACK 1e-6          // shares of a step that are rounding
#define THINNEST_LAYER 0.5  // layers less than this many spacings across are left out
#define DENSE_PER_SPACING2 24.0
#define DENSE_PER_SPACING 16.0

typedef struct job {
  const kp_shape *shape;
  double spacing;
  double sign;   // 1; -1 for an inverted shape, whose solid lies outside
  double depth;  // of this layer, along the inward normal of the shape that is not inverted [m]
  kp_index layer;
  uint64_t seed;
  kp_aabb clip;
  kp_surface_samples *samples;
  bool is_empty;  // set when the layer is too deep to exist
} job;

static double intervals(double length, double spacing) {
  return ceil(length / spacing - SLACK);
}

static kp_result check_count(double n, double spacing) {
  if (n >= MOST_SAMPLES) {
    return kp_fail(KP_ERROR_SCENE,
                   "a spacing of %g m covers the surface with about %.3g samples, "
                   "too many for one set",
                   spacing, n);
  }
  return KP_OK;
}

static kp_result emit(job *j, kp_vec3 position, kp_vec3 normal, double area) {
  if (!kp_aabb_holds(j->clip, position)) {
    return KP_OK;
  }
  kp_surface_sample sample = { position, kp_vec3_scale(normal, j->sign), area, j->layer };
  return kp_array_push(j->samples, sample);
}

// ---- boxes --------------------------------------------------------------------------------------

typedef struct box_lattice {
  double low[3], high[3], step[3];
  int64_t n[3];  // intervals
  int n_axes;
} box_lattice;

// Share of a lattice line that a node stands for: half a step at the ends.
static double node_share(const box_lattice *b, int axis, int64_t i) {
  return i == 0 || i == b->n[axis] ? 0.5 * b->step[axis] : b->step[axis];
}

// -1 on the low face of an axis, 1 on the high one, 0 between.
static double face_side(const box_lattice *b, int axis, int64_t i) {
  return i == 0 ? -1.0 : (i == b->n[axis] ? 1.0 : 0.0);
}

static kp_result emit_box_node(job *j, const box_lattice *b, const int64_t node[3]) {
  double x[3] = { 0.0, 0.0, 0.0 };
  double side[3] = { 0.0, 0.0, 0.0 };
  double share[3] = { 1.0, 1.0, 1.0 };
  for (int i = 0; i < b->n_axes; ++i) {
    x[i] = node[i] == b->n[i] ? b->high[i] : b->low[i] + b->step[i] * (double)node[i];
    side[i] = face_side(b, i, node[i]);
    share[i] = node_share(b, i, node[i]);
  }

  // the faces that meet here each give their share of the area
  double area = 0.0;
  for (int i = 0; i < b->n_axes; ++i) {
    area += side[i] != 0.0 ? share[(i + 1) % 3] * share[(i + 2) % 3] : 0.0;
  }
  kp_vec3 normal = kp_vec3_normalize(kp_vec3_make(side[0], side[1], side[2]));
  return emit(j, kp_vec3_make(x[0], x[1], x[2]), normal, area);
}

static kp_result walk_box(job *j, const box_lattice *b) {
  int64_t last_z = b->n_axes == 3 ? b->n[2] : 0;
  for (int64_t k = 0; k <= last_z; ++k) {
    for (int64_t i = 0; i <= b->n[1]; ++i) {
      bool on_face = i == 0 || i == b->n[1] || (b->n_axes == 3 && (k == 0 || k == b->n[2]));
      int64_t step = on_face ? 1 : b->n[0];
      for (int64_t h = 0; h <= b->n[0]; h += step) {
        const int64_t node[3] = { h, i, k };
        KP_TRY(emit_box_node(j, b, node));
      }
    }
  }
  return KP_OK;
}

static kp_result sample_box(job *j) {
  const kp_shape_def *def = &j->shape->def;
  box_lattice b = {
    .low = { def->min.x, def->min.y, def->min.z },
    .high = { def->max.x, def->max.y, def->max.z },
    .n_axes = j->shape->dimension,
  };
  if (b.n_axes == 3 && b.low[2] == b.high[2]) {
    return kp_fail(KP_ERROR_SCENE, "box: min.z and max.z are equal, so it has no surface in 3D");
  }
  double all = 1.0;
  double inner = 1.0;
  for (int i = 0; i < b.n_axes; ++i) {
    b.low[i] += j->depth;
    b.high[i] -= j->depth;
    double length = b.high[i] - b.low[i];
    if (j->layer > 0 && length < THINNEST_LAYER * j->spacing) {
      j->is_empty = true;
      return KP_OK;
    }
    double n = fmax(1.0, intervals(length, j->spacing));
    KP_TRY(check_count(n, j->spacing));
    all *= n + 1.0;
    inner *= n - 1.0;
    b.n[i] = (int64_t)n;
    b.step[i] = length / n;
  }
  KP_TRY(check_count(all - inner, j->spacing));
  return walk_box(j, &b);
}

// ---- planes -------------------------------------------------------------------------------------

// Extent of the clip box along a direction, from a point.
static void project_clip(const job *j, kp_vec3 from, kp_vec3 along, double *low, double *high) {
  *low = HUGE_VAL;
  *high = -HUGE_VAL;
  for (int i = 0; i < 8; ++i) {
    kp_vec3 corner = kp_vec3_make((i & 1) != 0 ? j->clip.max.x : j->clip.min.x,
                                  (i & 2) != 0 ? j->clip.max.y : j->clip.min.y,
                                  (i & 4) != 0 ? j->clip.max.z : j->clip.min.z);
    double t = kp_vec3_dot(kp_vec3_sub(corner, from), along);
    *low = fmin(*low, t);
    *high = fmax(*high, t);
  }
}

typedef struct plane_line {
  kp_vec3 along;
  double low, step;
  int64_t n;  // intervals
} plane_line;

static kp_result make_line(const job *j, kp_vec3 from, kp_vec3 along, plane_line *line) {
  double high;
  line->along = along;
  project_clip(j, from, along, &line->low, &high);
  if (!isfinite(line->low) || !isfinite(high)) {
    return kp_fail(KP_ERROR_SCENE, "a plane cannot be sampled without a box to stay in");
  }
  double n = fmax(1.0, intervals(high - line->low, j->spacing));
  KP_TRY(check_count(n, j->spacing));
  line->n = (int64_t)n;
  line->step = (high - line->low) / n;
  return KP_OK;
}

static double line_share(const plane_line *line, int64_t i, bool is_aligned) {
  return is_aligned && (i == 0 || i == line->n) ? 0.5 * line->step : line->step;
}

// A plane along the axes covers its rectangle of the clip box exactly. An oblique one covers the
// box and up to one spacing more, so that no hole is left at the rim.
static kp_result sample_plane(job *j) {
  const kp_shape_def *def = &j->shape->def;
  bool is_flat = j->shape->dimension == 2;
  kp_vec3 n = def->normal;
  kp_vec3 origin = kp_vec3_madd(def->point, -j->depth, n);
  kp_vec3 u = kp_vec3_make(-n.y, n.x, 0.0);
  kp_vec3 v = kp_vec3_make(0.0, 0.0, 0.0);
  if (is_flat) {
    j->clip.min.z = 0.0;
    j->clip.max.z = 0.0;
  } else {
    kp_frame_make(n, &u, &v);
  }
  plane_line lines[2] = { { .along = v }, { .along = v, .step = 1.0 } };
  KP_TRY(make_line(j, origin, u, &lines[0]));
  if (!is_flat) {
    KP_TRY(make_line(j, origin, v, &lines[1]));
  }
  KP_TRY(check_count((double)lines[0].n * (double)(lines[1].n + 1), j->spacing));

  // layers lie outside the box that the surface was asked for, so they are cut by a larger one
  bool is_aligned = fmax(fabs(n.x), fmax(fabs(n.y), fabs(n.z))) > 1.0 - 1e-12;
  double reach = is_aligned ? HUGE_VAL : fabs(j->depth) + j->spacing;
  kp_vec3 grow = kp_vec3_make(reach, reach, reach);
  kp_aabb asked = j->clip;
  j->clip = (kp_aabb){ kp_vec3_sub(asked.min, grow), kp_vec3_add(asked.max, grow) };
  kp_result result = KP_OK;
  for (int64_t b = 0; b <= lines[1].n && result == KP_OK; ++b) {
    double share_b = is_flat ? 1.0 : line_share(&lines[1], b, is_aligned);
    kp_vec3 row = kp_vec3_madd(origin, lines[1].low + lines[1].step * (double)b, lines[1].along);
    for (int64_t a = 0; a <= lines[0].n && result == KP_OK; ++a) {
      kp_vec3 p = kp_vec3_madd(row, lines[0].low + lines[0].step * (double)a, u);
      result = emit(j, p, n, line_share(&lines[0], a, is_aligned) * share_b);
    }
  }
  j->clip = asked;
  return result;
}

// ---- round shapes -------------------------------------------------------------------------------

// Piece of the meridian of a solid of revolution, from bottom to top: a straight line between two
// points (radius, height), or an arc about (0, height) from angle `from` to `to`, measured from the
// horizontal.
typedef struct piece {
  bool is_arc;
  double r0, h0, r1, h1;            // line
  double height, radius, from, to;  // arc
} piece;

typedef struct meridian_point {
  double r, h;    // place
  double nr, nh;  // outward normal
} meridian_point;

static double piece_length(const piece *p) {
  return p->is_arc ? p->radius * (p->to - p->from) : hypot(p->r1 - p->r0, p->h1 - p->h0);
}

static meridian_point piece_at(const piece *p, double s) {
  meridian_point m;
  if (p->is_arc) {
    double angle = p->from + s * (p->to - p->from);
    m.nr = cos(angle);
    m.nh = sin(angle);
    m.r = p->radius * m.nr;
    m.h = p->height + p->radius * m.nh;
  } else {
    double length = piece_length(p);
    m.r = p->r0 + s * (p->r1 - p->r0);
    m.h = p->h0 + s * (p->h1 - p->h0);
    m.nr = length > 0.0 ? (p->h1 - p->h0) / length : 0.0;
    m.nh = length > 0.0 ? -(p->r1 - p->r0) / length : 0.0;
  }
  return m;
}

// Area swept by the part s0..s1: a cone frustum, or a zone of a sphere (Archimedes).
static double piece_area(const piece *p, double s0, double s1) {
  meridian_point a = piece_at(p, s0);
  meridian_point b = piece_at(p, s1);
  if (p->is_arc) {
    return 2.0 * PI * p->radius * (b.h - a.h);
  }
  return PI * (a.r + b.r) * piece_length(p) * (s1 - s0);
}

static kp_result emit_ring(job *j, kp_vec3 foot, const kp_vec3 axes[3], meridian_point m,
                           double area, int64_t ring) {
  bool is_pole = m.r < SLACK * j->spacing;
  double n = is_pole ? 1.0 : fmax(3.0, intervals(2.0 * PI * m.r, j->spacing));
  KP_TRY(check_count(n, j->spacing));
  double r = is_pole ? 0.0 : m.r;
  double nr = is_pole ? 0.0 : m.nr;
  double phase = GOLDEN_ANGLE * (double)ring;
  kp_vec3 zero = kp_vec3_make(0.0, 0.0, 0.0);
  for (int64_t i = 0; i < (int64_t)n; ++i) {
    double angle = phase + 2.0 * PI * (double)i / n;
    kp_vec3 p = kp_frame_point(foot, axes, r * cos(angle), r * sin(angle), m.h);
    kp_vec3 normal = kp_frame_point(zero, axes, nr * cos(angle), nr * sin(angle), m.nh);
    KP_TRY(emit(j, p, kp_vec3_normalize(normal), area / n));
  }
  return KP_OK;
}

// Rings at equal steps along each piece; where two pieces meet, one ring with the normal of both.
static kp_result sample_meridian(job *j, kp_vec3 foot, kp_vec3 axis, const piece *pieces,
                                 int n_pieces) {
  kp_vec3 axes[3] = { axis, axis, axis };
  kp_frame_make(axis, &axes[0], &axes[1]);
  int64_t ring = 0;
  for (int k = 0; k < n_pieces; ++k) {
    const piece *p = &pieces[k];
    double n = fmax(1.0, intervals(piece_length(p), j->spacing));
    KP_TRY(check_count(n, j->spacing));
    for (int64_t i = k == 0 ? 0 : 1; i <= (int64_t)n; ++i) {
      double s = (double)i / n;
      meridian_point m = piece_at(p, s);
      double area = piece_area(p, fmax(0.0, s - 0.5 / n), fmin(1.0, s + 0.5 / n));
      if (i == (int64_t)n && k + 1 < n_pieces) {
        const piece *next = &pieces[k + 1];
        double n_next = fmax(1.0, intervals(piece_length(next), j->spacing));
        meridian_point other = piece_at(next, 0.0);
        area += piece_area(next, 0.0, 0.5 / n_next);
        m.nr += other.nr;
        m.nh += other.nh;
      }
      KP_TRY(emit_ring(j, foot, axes, m, area, ring++));
    }
  }
  return KP_OK;
}

static kp_result sample_sphere(job *j) {
  const kp_shape_def *def = &j->shape->def;
  double r = def->radius - j->depth;
  if (j->layer > 0 && 2.0 * r < THINNEST_LAYER * j->spacing) {
    j->is_empty = true;
    return KP_OK;
  }
  kp_vec3 up = kp_vec3_make(0.0, 0.0, 1.0);
  if (j->shape->dimension == 2) {
    // one ring; its area is length times 1 m
    kp_vec3 axes[3] = { { 1.0, 0.0, 0.0 }, { 0.0, 1.0, 0.0 }, up };
    return emit_ring(j, def->center, axes, (meridian_point){ r, 0.0, 1.0, 0.0 }, 2.0 * PI * r, 0);
  }
  piece arc = { .is_arc = true, .radius = r, .from = -0.5 * PI, .to = 0.5 * PI };
  return sample_meridian(j, def->center, up, &arc, 1);
}

static kp_result sample_round(job *j) {
  const kp_shape_def *def = &j->shape->def;
  bool is_capsule = def->kind == KP_SHAPE_CAPSULE;
  kp_vec3 axis = kp_vec3_sub(def->b, def->a);
  double length = kp_vec3_length(axis);
  axis = kp_vec3_scale(axis, 1.0 / length);
  double r = def->radius - j->depth;
  double low = is_capsule ? 0.0 : j->depth;
  double high = is_capsule ? length : length - j->depth;
  double across = is_capsule ? 2.0 * r : fmin(2.0 * r, high - low);
  if (j->layer > 0 && across < THINNEST_LAYER * j->spacing) {
    j->is_empty = true;
    return KP_OK;
  }
  const piece side = { .r0 = r, .h0 = low, .r1 = r, .h1 = high };
  if (is_capsule) {
    const piece pieces[3] = {
      { .is_arc = true, .height = low, .radius = r, .from = -0.5 * PI, .to = 0.0 },
      side,
      { .is_arc = true, .height = high, .radius = r, .from = 0.0, .to = 0.5 * PI },
    };
    return sample_meridian(j, def->a, axis, pieces, 3);
  }
  const piece pieces[3] = { { .r0 = 0.0, .h0 = low, .r1 = r, .h1 = low },
                            side,
                            { .r0 = r, .h0 = high, .r1 = 0.0, .h1 = high } };
  return sample_meridian(j, def->a, axis, pieces, 3);
}

// ---- meshes -------------------------------------------------------------------------------------

// Put the dense points of a layer below the surface: those that other parts of the surface come
// closer to belong to no layer at this depth.
static void sink(const job *j, kp_dense_points *dense) {
  const kp_shape *shape = j->shape;
  double tolerance = 0.25 * j->spacing;
  double wanted = shape->dimension == 2 && shape->def.kind == KP_SHAPE_MESH
                      ? 0.0  // distances to the solid say little about distances to its section
                      : fabs(j->depth) - tolerance;
  size_t n_kept = 0;
  for (size_t i = 0; i < dense->count; ++i) {
    kp_dense_point p = dense->data[i];
    p.position = kp_vec3_madd(p.position, -j->depth, p.normal);
    if (-kp_shape_distance(shape, p.position) > wanted) {
      dense->data[n_kept++] = p;
    }
  }
  dense->count = n_kept;
}

// Evenly spread in a triangle: the additive sequence R2 (Roberts 2018) folded along the diagonal,
// with a random start per triangle.
static kp_vec3 spread_point(const kp_mesh *mesh, kp_index triangle, uint64_t seed, int64_t i) {
  double u = kp_rng_uniform(seed, KP_RNG_SAMPLER, (uint64_t)triangle, 1);
  double v = kp_rng_uniform(seed, KP_RNG_SAMPLER, (uint64_t)triangle, 2);
  u += 0.7548776662466927 * (double)i;
  v += 0.5698402909980532 * (double)i;
  u -= floor(u);
  v -= floor(v);
  if (u + v > 1.0) {
    u = 1.0 - u;
    v = 1.0 - v;
  }
  const kp_index *corner = mesh->triangles[triangle].v;
  kp_vec3 a = mesh->vertices[corner[0]];
  kp_vec3 ab = kp_vec3_sub(mesh->vertices[corner[1]], a);
  kp_vec3 ac = kp_vec3_sub(mesh->vertices[corner[2]], a);
  return kp_vec3_madd(kp_vec3_madd(a, u, ab), v, ac);
}

static double triangle_area(const kp_mesh *mesh, kp_index triangle) {
  const kp_index *v = mesh->triangles[triangle].v;
  kp_vec3 ab = kp_vec3_sub(mesh->vertices[v[1]], mesh->vertices[v[0]]);
  kp_vec3 ac = kp_vec3_sub(mesh->vertices[v[2]], mesh->vertices[v[0]]);
  return 0.5 * kp_vec3_length(kp_vec3_cross(ab, ac));
}

// Equal shares of the area: a triangle gets as many points as shares end inside it, so that many
// small triangles together get the right number.
static kp_result spread(const job *j, const kp_mesh *mesh, kp_dense_points *dense) {
  double total = kp_mesh_area(mesh);
  double n = ceil(DENSE_PER_SPACING2 * total / (j->spacing * j->spacing)) + DENSE_PER_SPACING2;
  KP_TRY(check_count(n, j->spacing));
  double share = total / n;
  double swept = 0.5 * share;
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    swept += triangle_area(mesh, t);
    kp_vec3 normal = kp_mesh_triangle_normal(mesh, t);
    for (int64_t i = 0; swept >= share; ++i) {
      kp_dense_point p = { spread_point(mesh, t, j->seed, i), normal, share };
      KP_TRY(kp_array_push(dense, p));
      swept -= share;
    }
  }
  return KP_OK;
}

// Thin and emit, which clips and turns the normals of inverted shapes.
static kp_result thin(job *j, const kp_dense_points *dense) {
  kp_surface_samples chosen = { 0 };
  kp_result result = kp_thinning_choose(dense, j->spacing, j->seed, j->layer, &chosen);
  for (size_t i = 0; i < chosen.count && result == KP_OK; ++i) {
    const kp_surface_sample *s = &chosen.data[i];
    result = emit(j, s->position, s->normal, s->area);
  }
  j->is_empty = chosen.count == 0;
  kp_array_free(&chosen);
  return result;
}

static kp_result sample_mesh(job *j) {
  kp_dense_points dense = { 0 };
  kp_result result = spread(j, kp_mesh_query_mesh(j->shape->mesh), &dense);
  if (result == KP_OK && j->layer > 0) {
    sink(j, &dense);
  }
  if (result == KP_OK) {
    result = thin(j, &dense);
  }
  kp_array_free(&dense);
  return result;
}

// ---- outlines -----------------------------------------------------------------------------------

static kp_vec3 side_normal(const kp_outline_side *s) {
  kp_vec3 d = kp_vec3_sub(s->to, s->from);
  return kp_vec3_normalize(kp_vec3_make(d.y, -d.x, 0.0));
}

static double side_length(const kp_outline_side *s) {
  return kp_vec3_length(kp_vec3_sub(s->to, s->from));
}

// Turns of more than 30 degrees are corners, which get a sample of their own.
static bool is_corner(const kp_outline_side *before, const kp_outline_side *after) {
  return kp_vec3_dot(side_normal(before), side_normal(after)) < 0.866;
}

// Nodes at equal steps along sides[0..n), which run from corner to corner without turning sharply:
// its start but not its end. Appends; returns the step.
static kp_result walk_stretch(const kp_outline_side *sides, size_t n, double spacing,
                              kp_dense_points *out, double *step) {
  double length = 0.0;
  for (size_t i = 0; i < n; ++i) {
    length += side_length(&sides[i]);
  }
  double n_steps = fmax(1.0, intervals(length, spacing));
  KP_TRY(check_count(n_steps, spacing));
  *step = length / n_steps;
  size_t i = 0;
  double passed = 0.0;
  for (int64_t k = 0; k < (int64_t)n_steps; ++k) {
    double at = *step * (double)k;
    while (i + 1 < n && passed + side_length(&sides[i]) <= at) {
      passed += side_length(&sides[i++]);
    }
    kp_vec3 along = kp_vec3_normalize(kp_vec3_sub(sides[i].to, sides[i].from));
    kp_dense_point p = { kp_vec3_madd(sides[i].from, at - passed, along), side_normal(&sides[i]),
                         *step };
    KP_TRY(kp_array_push(out, p));
  }
  return KP_OK;
}

// One closed polygon. `sides` has no empty sides and starts at a corner if there is one.
static kp_result walk_polygon(const kp_outline_side *sides, size_t n, double spacing,
                              kp_dense_points *out) {
  size_t first = out->count;
  size_t stretch_at = first;
  double step = 0.0;
  double step_before = 0.0;
  for (size_t begin = 0, end; begin < n; begin = end) {
    end = begin + 1;
    while (end < n && !is_corner(&sides[end - 1], &sides[end])) {
      ++end;
    }
    stretch_at = out->count;
    KP_TRY(walk_stretch(&sides[begin], end - begin, spacing, out, &step));

    // the node at the start lies between two stretches
    const kp_outline_side *before = &sides[(begin + n - 1) % n];
    kp_dense_point *start = &out->data[stretch_at];
    start->normal = kp_vec3_normalize(kp_vec3_add(start->normal, side_normal(before)));
    start->area = 0.5 * (step + step_before);
    step_before = step;
  }
  out->data[first].area += 0.5 * step;
  return KP_OK;
}

// Copy one polygon without its empty sides, and once more the sides before its first corner, so
// that the polygon from that corner on is the n sides from *start.
static kp_result tidy_polygon(const kp_outline_side *sides, size_t n, kp_outline *tidy,
                              size_t *start) {
  tidy->count = 0;
  *start = 0;
  for (size_t i = 0; i < n; ++i) {
    if (side_length(&sides[i]) > 0.0) {
      KP_TRY(kp_array_push(tidy, sides[i]));
    }
  }
  size_t count = tidy->count;
  for (size_t i = 0; i < count; ++i) {
    if (is_corner(&tidy->data[(i + count - 1) % count], &tidy->data[i])) {
      *start = i;
      break;
    }
  }
  for (size_t i = 0; i < *start; ++i) {
    kp_outline_side again = tidy->data[i];
    KP_TRY(kp_array_push(tidy, again));
  }
  return KP_OK;
}

static kp_result walk_outline(const kp_outline *outline, double spacing, kp_dense_points *out) {
  kp_outline tidy = { 0 };
  kp_result result = KP_OK;
  for (size_t begin = 0, end; begin < outline->count && result == KP_OK; begin = end) {
    end = begin;
    while (!outline->data[end++].last) {
    }
    size_t start;
    result = tidy_polygon(&outline->data[begin], end - begin, &tidy, &start);
    if (result == KP_OK && tidy.count > 0) {
      result = walk_polygon(&tidy.data[start], tidy.count - start, spacing, out);
    }
  }
  kp_array_free(&tidy);
  return result;
}

// The outline of any solid: cut its mesh. The surface gets equal steps; deeper layers are dense,
// sunk and thinned.
static kp_result sample_outline(job *j) {
  double spacing = j->layer > 0 ? j->spacing / DENSE_PER_SPACING : j->spacing;
  kp_outline outline = { 0 };
  kp_dense_points nodes = { 0 };
  kp_mesh mesh;
  kp_result result;
  double edge = fmin(0.25 * j->spacing, 0.1 * j->shape->def.radius);
  KP_TRY(kp_shape_tessellate(j->shape, edge, &mesh));
  KP_TRY_GOTO(result, kp_outline_slice(&mesh, &outline), done);
  KP_TRY_GOTO(result, walk_outline(&outline, spacing, &nodes), done);
  if (j->layer > 0) {
    sink(j, &nodes);
    result = thin(j, &nodes);
    goto done;
  }
  for (size_t i = 0; i < nodes.count && result == KP_OK; ++i) {
    const kp_dense_point *p = &nodes.data[i];
    result = emit(j, p->position, p->normal, p->area);
  }
done:
  kp_array_free(&nodes);
  kp_array_free(&outline);
  kp_mesh_destroy(&mesh);
  return result;
}

// ---- all ----------------------------------------------------------------------------------------

static kp_result sample_layer(job *j) {
  bool is_flat = j->shape->dimension == 2;
  switch (j->shape->def.kind) {
  case KP_SHAPE_BOX:
    return sample_box(j);
  case KP_SHAPE_SPHERE:
    return sample_sphere(j);
  case KP_SHAPE_CYLINDER:
  case KP_SHAPE_CAPSULE:
    return is_flat ? sample_outline(j) : sample_round(j);
  case KP_SHAPE_PLANE:
    return sample_plane(j);
  case KP_SHAPE_MESH:
    return is_flat ? sample_outline(j) : sample_mesh(j);
  case KP_SHAPE_KIND_COUNT:
    break;
  }
  return KP_OK;
}

kp_result kp_sampler_surface(const kp_shape *shape, const kp_surface_def *def,
                             kp_surface_samples *samples) {
  if (!(def->spacing > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "the spacing of samples, %g m, is not above 0", def->spacing);
  }
  double sign = shape->def.invert ? -1.0 : 1.0;
  for (kp_index layer = 0; layer < def->layers; ++layer) {
    job j = {
      .shape = shape,
      .spacing = def->spacing,
      .sign = sign,
      .depth = sign * (double)layer * def->spacing,
      .layer = layer,
      .seed = def->seed,
      .clip = def->clip,
      .samples = samples,
    };
    KP_TRY(sample_layer(&j));
    if (j.is_empty) {
      break;
    }
  }
  return KP_OK;
}
