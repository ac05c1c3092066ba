// Isosurface stuffing (Labelle and Shewchuk 2007): a lattice of tetrahedra fitted to the surface of
// a solid, uniform near it and, where asked for, coarser inside.
//
//   1  signs of the distance at lattice points: corners and middles of cells
//   2  points that lie too near where one of their edges crosses the surface move there
//   3  tetrahedra are kept, dropped or cut along the crossings that are left
//
// A tetrahedron between two cells of one size has their middles m0, m1 and two corners q0, q1 of
// the face between them; its edges m0 m1 and q0 q1 are long (one spacing), the other four short.
// Those that are cut are all of this kind and of the finest size.
#include <string.h>

#include "base/assert.h"
#include "geom/altitude.h"
#include "geom/tet_lattice.h"

// How near a crossing moves a point, in shares of the edge (their table 1, for safe angles).
#define NEAR_LONG 0.24999
#define NEAR_SHORT 0.41189

#define CROSSING 1e-5  // of an edge: how well a crossing is found

enum { INSIDE = 1, ON = 0, OUTSIDE = -1 };

typedef struct stuffing {
  kp_tet_lattice lattice;
  int64_t n_points;
  double *phi;
  int8_t *sign;
  kp_index *number;         // of a lattice point in the mesh; -1: none yet
  kp_vec3 *moved;           // places of the points with sign ON
  kp_lattice_map crossing;  // of an edge, by its ends
  KP_ARRAY(kp_vec3) vertices;
  KP_ARRAY(kp_tetrahedron) tets;
} stuffing;

// ---- the finest lattice -------------------------------------------------------------------------

static kp_vec3 place_of(const stuffing *s, int64_t point) {
  return kp_tet_lattice_place(&s->lattice, point);
}

// Middles of finest cells, against their corners and all that is larger.
static bool is_center(const int32_t at[3]) {
  return (at[0] & 1) != 0;
}

// Neighbour k of 14: six along the axes, eight of the other kind. -1: none.
static int64_t neighbour(const stuffing *s, int64_t point, int k) {
  const int32_t *from = s->lattice.points.data[point].at;
  int32_t at[3] = { from[0], from[1], from[2] };
  if (k < 6) {
    at[k >> 1] += k & 1 ? 2 : -2;
  } else {
    for (int c = 0; c < 3; ++c) {
      at[c] += ((k - 6) >> c) & 1 ? 1 : -1;
    }
  }
  return kp_tet_lattice_find(&s->lattice, at);
}

// Corners come before middles, then points by z, y and x.
static bool is_before(const stuffing *s, int64_t a, int64_t b) {
  const int32_t *p = s->lattice.points.data[a].at, *q = s->lattice.points.data[b].at;
  if (is_center(p) != is_center(q)) {
    return is_center(q);
  }
  return p[2] != q[2] ? p[2] < q[2] : (p[1] != q[1] ? p[1] < q[1] : p[0] < q[0]);
}

// ---- crossings ----------------------------------------------------------------------------------

// Share of the way from the lower to the higher end at which the distance is 0: false position that
// halves the value of an end that stays (Illinois), so that it closes in from both sides.
static double find_crossing(const stuffing *s, int64_t low, int64_t high) {
  const kp_tet_lattice *l = &s->lattice;
  kp_vec3 a = place_of(s, low);
  kp_vec3 d = kp_vec3_sub(place_of(s, high), a);
  double t0 = 0.0, t1 = 1.0, f0 = s->phi[low], f1 = s->phi[high];
  double t = 0.5;
  int side = 0;
  for (int i = 0; i < 30 && t1 - t0 > CROSSING; ++i) {
    t = t0 + (t1 - t0) * f0 / (f0 - f1);
    double f = l->distance(l->self, kp_vec3_madd(a, t, d));
    if (fabs(f) < CROSSING * l->h) {
      break;
    }
    bool is_low_side = (f < 0.0) == (f0 < 0.0);
    if (is_low_side) {
      t0 = t;
      f0 = f;
      f1 = side == 1 ? 0.5 * f1 : f1;
      side = 1;
    } else {
      t1 = t;
      f1 = f;
      f0 = side == 2 ? 0.5 * f0 : f0;
      side = 2;
    }
  }
  return t;
}

// The crossing of an edge, and how far from a it is, in shares of the edge.
static kp_vec3 crossing_place(const stuffing *s, int64_t a, int64_t b, double *from_a) {
  bool is_forward = is_before(s, a, b);
  int64_t low = is_forward ? a : b, high = is_forward ? b : a;
  double t = find_crossing(s, low, high);
  kp_vec3 p = place_of(s, low);
  *from_a = is_forward ? t : 1.0 - t;
  return kp_vec3_madd(p, t, kp_vec3_sub(place_of(s, high), p));
}

// Points move to the nearest crossing that is too near.
static void move_points(stuffing *s) {
  for (int64_t v = 0; v < s->n_points; ++v) {
    if (s->sign[v] == ON || fabs(s->phi[v]) > NEAR_SHORT * s->lattice.h) {
      continue;  // farther from the surface than any crossing that would move it
    }
    double nearest = HUGE_VAL;
    kp_vec3 place = { 0.0, 0.0, 0.0 };
    for (int k = 0; k < 14; ++k) {
      int64_t w = neighbour(s, v, k);
      if (w < 0 || s->sign[w] != -s->sign[v]) {
        continue;
      }
      double share;
      kp_vec3 p = crossing_place(s, v, w, &share);
      double length = k < 6 ? 1.0 : sqrt(0.75);
      if (share < (k < 6 ? NEAR_LONG : NEAR_SHORT) && share * length < nearest) {
        nearest = share * length;
        place = p;
      }
    }
    if (nearest < HUGE_VAL) {
      s->moved[v] = place;
      s->sign[v] = ON;
    }
  }
}

// ---- the mesh -----------------------------------------------------------------------------------

static kp_result vertex(stuffing *s, int64_t v, kp_index *number) {
  if (s->number[v] < 0) {
    s->number[v] = (kp_index)s->vertices.count;
    kp_vec3 place = s->sign[v] == ON ? s->moved[v] : place_of(s, v);
    KP_TRY(kp_array_push(&s->vertices, place));
  }
  *number = s->number[v];
  return KP_OK;
}

static kp_result crossing(stuffing *s, int64_t a, int64_t b, kp_index *number) {
  uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
  uint64_t key = low << 32 | high;  // high is not 0
  *number = kp_lattice_map_get(&s->crossing, key);
  if (*number >= 0) {
    return KP_OK;
  }
  double share;
  *number = (kp_index)s->vertices.count;
  KP_TRY(kp_array_push(&s->vertices, crossing_place(s, a, b, &share)));
  return kp_lattice_map_put(&s->crossing, key, *number);
}

static void tet_places(const stuffing *s, const kp_tetrahedron *tet, kp_vec3 x[4]) {
  for (int c = 0; c < 4; ++c) {
    x[c] = s->vertices.data[tet->v[c]];
  }
}

static kp_result emit(stuffing *s, kp_index a, kp_index b, kp_index c, kp_index d) {
  kp_tetrahedron tet = { { a, b, c, d } };
  kp_vec3 x[4];
  tet_places(s, &tet, x);
  if (kp_tet_volume6(x[0], x[1], x[2], x[3]) < 0.0) {
    tet.v[2] = d;
    tet.v[3] = c;
  }
  return kp_array_push(&s->tets, tet);
}

// A tetrahedron of the lattice with its corners sorted by sign: inside, on, outside.
typedef struct cut {
  int64_t point[4];
  int local[4];  // place in (m0, m1, q0, q1)
  int n_inside, n_on;
} cut;

static bool is_long(const cut *c, int i, int j) {
  return (c->local[i] ^ c->local[j]) == 1;
}

// The face a, b (inside), d (outside) leaves a quad a, b, cut of b d, cut of a d. Its diagonal must
// be the same from both sides: to a cut of a long edge, else from the even end of the long edge a
// b.
static bool starts_at_first(const stuffing *s, const cut *c, int a, int b, int d) {
  if (is_long(c, a, d)) {
    return false;
  }
  if (is_long(c, b, d)) {
    return true;
  }
  const int32_t *p = s->lattice.points.data[c->point[a]].at;
  return (((p[0] >> 1) + (p[1] >> 1) + (p[2] >> 1)) & 1) == 0;
}

// A prism between the triangles top and bottom is three tetrahedra: its columns go down one after
// the other. before[i][j]: column i has to go before j; of the orders left the one with the
// roundest tetrahedra is taken.
typedef struct prism {
  kp_index top[3], bottom[3];
  bool before[3][3];
} prism;

static kp_result emit_prism(stuffing *s, const prism *p) {
  static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                    { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
  kp_tetrahedron best[3];
  double best_angle = -1.0;
  for (int o = 0; o < 6; ++o) {
    const int *c = orders[o];
    if (p->before[c[1]][c[0]] || p->before[c[2]][c[0]] || p->before[c[2]][c[1]]) {
      continue;
    }
    kp_tetrahedron tets[3] = {
      { { p->top[c[0]], p->top[c[1]], p->top[c[2]], p->bottom[c[0]] } },
      { { p->bottom[c[0]], p->top[c[1]], p->top[c[2]], p->bottom[c[1]] } },
      { { p->bottom[c[0]], p->bottom[c[1]], p->top[c[2]], p->bottom[c[2]] } },
    };
    double smallest = HUGE_VAL, largest = 0.0;
    for (int t = 0; t < 3; ++t) {
      kp_vec3 x[4];
      tet_places(s, &tets[t], x);
      if (kp_tet_volume6(x[0], x[1], x[2], x[3]) < 0.0) {
        kp_vec3 swap = x[2];
        x[2] = x[3];
        x[3] = swap;
      }
      kp_tet_angles(x, &smallest, &largest);
    }
    double angle = fmin(smallest, 3.14159265358979323846 - largest);
    if (angle > best_angle) {
      best_angle = angle;
      memcpy(best, tets, sizeof best);
    }
  }
  for (int t = 0; t < 3; ++t) {
    const kp_index *v = best[t].v;
    KP_TRY(emit(s, v[0], v[1], v[2], v[3]));
  }
  return KP_OK;
}

// One inside: the corners outside come in to the cuts.
static kp_result cut_one(stuffing *s, const cut *c) {
  kp_index v[4];
  for (int i = 0; i < 4; ++i) {
    bool is_out = i >= c->n_inside + c->n_on;
    KP_TRY(is_out ? crossing(s, c->point[0], c->point[i], &v[i]) : vertex(s, c->point[i], &v[i]));
  }
  return emit(s, v[0], v[1], v[2], v[3]);
}

// Two inside, one on the surface, one outside: a pyramid.
static kp_result cut_pyramid(stuffing *s, const cut *c) {
  kp_index a, b, z, ca, cb;
  KP_TRY(vertex(s, c->point[0], &a));
  KP_TRY(vertex(s, c->point[1], &b));
  KP_TRY(vertex(s, c->point[2], &z));
  KP_TRY(crossing(s, c->point[0], c->point[3], &ca));
  KP_TRY(crossing(s, c->point[1], c->point[3], &cb));
  if (starts_at_first(s, c, 0, 1, 3)) {
    KP_TRY(emit(s, a, b, cb, z));
    return emit(s, a, cb, ca, z);
  }
  KP_TRY(emit(s, a, b, ca, z));
  return emit(s, b, cb, ca, z);
}

// Two inside, two outside: columns a-b and the cuts towards each of the others.
static kp_result cut_wedge(stuffing *s, const cut *c) {
  prism p = { 0 };
  KP_TRY(vertex(s, c->point[0], &p.top[0]));
  KP_TRY(vertex(s, c->point[1], &p.bottom[0]));
  for (int k = 1; k < 3; ++k) {
    KP_TRY(crossing(s, c->point[0], c->point[k + 1], &p.top[k]));
    KP_TRY(crossing(s, c->point[1], c->point[k + 1], &p.bottom[k]));
    bool from_a = starts_at_first(s, c, 0, 1, k + 1);
    p.before[from_a ? k : 0][from_a ? 0 : k] = true;
  }
  return emit_prism(s, &p);
}

// Three inside: the fourth corner is cut off.
static kp_result cut_corner(stuffing *s, const cut *c) {
  prism p = { 0 };
  for (int k = 0; k < 3; ++k) {
    KP_TRY(vertex(s, c->point[k], &p.top[k]));
    KP_TRY(crossing(s, c->point[k], c->point[3], &p.bottom[k]));
    int next = (k + 1) % 3;
    bool from_first = starts_at_first(s, c, k, next, 3);
    p.before[from_first ? next : k][from_first ? k : next] = true;
  }
  return emit_prism(s, &p);
}

static kp_result cut_tet(stuffing *s, const int64_t points[4]) {
  cut c = { 0 };
  int n = 0;
  for (int sign = INSIDE; sign >= OUTSIDE; --sign) {
    for (int i = 0; i < 4; ++i) {
      if (s->sign[points[i]] == sign) {
        c.point[n] = points[i];
        c.local[n++] = i;
        c.n_inside += sign == INSIDE;
        c.n_on += sign == ON;
      }
    }
  }
  if (c.n_inside == 0) {
    return KP_OK;
  }
  if (c.n_inside == 1 || c.n_inside + c.n_on == 4) {
    return cut_one(s, &c);
  }
  if (c.n_inside == 3) {
    return cut_corner(s, &c);
  }
  return c.n_on == 1 ? cut_pyramid(s, &c) : cut_wedge(s, &c);
}

// ---- tetrahedra of the lattice ------------------------------------------------------------------

// The face of a cell: its middle, the cell's, that across, and the corners in a ring.
typedef struct face {
  int32_t middle[3], from[3], across[3];
  int32_t ring[4][3];
} face;

static face make_face(const kp_lattice_cell *cell, int axis, int sign) {
  static const int corners[4][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 } };
  face f;
  int32_t width = 1 << cell->level;  // half a cell, in halves of the finest
  for (int c = 0; c < 3; ++c) {
    f.from[c] = 2 * cell->at[c] + width;
    f.middle[c] = f.from[c] + (c == axis ? sign * width : 0);
    f.across[c] = f.from[c] + (c == axis ? 2 * sign * width : 0);
  }
  for (int r = 0; r < 4; ++r) {
    f.ring[r][axis] = f.middle[axis];
    for (int k = 0; k < 2; ++k) {
      int c = (axis + 1 + k) % 3;
      f.ring[r][c] = f.middle[c] + (corners[r][k] ? width : -width);
    }
  }
  return f;
}

// A tetrahedron that the surface keeps off.
static kp_result keep_tet(stuffing *s, const int32_t *const at[4]) {
  kp_index v[4];
  int n_inside = 0;
  int64_t points[4];
  for (int c = 0; c < 4; ++c) {
    points[c] = kp_tet_lattice_find(&s->lattice, at[c]);
    KP_ASSERT(points[c] >= 0);
    n_inside += s->sign[points[c]] == INSIDE;
  }
  if (n_inside == 0) {
    return KP_OK;
  }
  if (n_inside < 4) {
    return kp_fail(KP_ERROR_SCENE, "the distance to the surface changes faster than by one metre "
                                   "per metre, so that large tetrahedra reach it: grade has to be "
                                   "0 for this solid");
  }
  for (int c = 0; c < 4; ++c) {
    KP_TRY(vertex(s, points[c], &v[c]));
  }
  return emit(s, v[0], v[1], v[2], v[3]);
}

// Whether a smaller cell has put a point into the middle of an edge.
static bool find_middle(const stuffing *s, const int32_t a[3], const int32_t b[3], int32_t m[3]) {
  for (int c = 0; c < 3; ++c) {
    m[c] = (a[c] + b[c]) / 2;
  }
  return kp_tet_lattice_find(&s->lattice, m) >= 0;
}

// Two cells of one size: four tetrahedra around the line between their middles, in halves where an
// edge of the face has a middle.
static kp_result fill_equal(stuffing *s, const face *f, bool is_finest) {
  for (int r = 0; r < 4; ++r) {
    const int32_t *q0 = f->ring[r], *q1 = f->ring[(r + 1) % 4];
    int32_t m[3];
    if (is_finest) {
      const int32_t *const at[4] = { f->from, f->across, q0, q1 };
      int64_t points[4];
      for (int c = 0; c < 4; ++c) {
        points[c] = kp_tet_lattice_find(&s->lattice, at[c]);
      }
      KP_TRY(cut_tet(s, points));
    } else if (find_middle(s, q0, q1, m)) {
      KP_TRY(keep_tet(s, (const int32_t *const[4]){ f->from, f->across, q0, m }));
      KP_TRY(keep_tet(s, (const int32_t *const[4]){ f->from, f->across, m, q1 }));
    } else {
      KP_TRY(keep_tet(s, (const int32_t *const[4]){ f->from, f->across, q0, q1 }));
    }
  }
  return KP_OK;
}

// Towards four smaller cells: quarters of such tetrahedra, on the face.
static kp_result fill_smaller(stuffing *s, const face *f) {
  for (int r = 0; r < 4; ++r) {
    const int32_t *q0 = f->ring[r], *q1 = f->ring[(r + 1) % 4];
    int32_t m[3];
    (void)find_middle(s, q0, q1, m);
    KP_TRY(keep_tet(s, (const int32_t *const[4]){ f->from, f->middle, q0, m }));
    KP_TRY(keep_tet(s, (const int32_t *const[4]){ f->from, f->middle, m, q1 }));
  }
  return KP_OK;
}

// Towards a larger cell: a pyramid in halves. The base is a quarter of a face of the larger cell,
// whose tetrahedra divide it from the middle of that face to its corner.
static kp_result fill_larger(stuffing *s, const kp_lattice_cell *cell, const face *f, int axis) {
  int32_t to[3];  // the middle of the larger face, as seen from that of the small one
  for (int c = 0; c < 3; ++c) {
    to[c] = (cell->at[c] >> cell->level & 1) != 0 ? -1 : 1;
  }
  int first = 0;
  for (int r = 0; r < 4; ++r) {
    bool is_it = true;
    for (int k = 1; k < 3; ++k) {
      int c = (axis + k) % 3;
      is_it = is_it && (f->ring[r][c] > f->middle[c]) == (to[c] > 0);
    }
    first = is_it ? r : first;
  }
  const int32_t *q[4];
  for (int k = 0; k < 4; ++k) {
    q[k] = f->ring[(first + k) % 4];
  }
  KP_TRY(keep_tet(s, (const int32_t *const[4]){ f->from, q[0], q[1], q[2] }));
  return keep_tet(s, (const int32_t *const[4]){ f->from, q[0], q[2], q[3] });
}

static kp_result fill_cell(stuffing *s, const kp_lattice_cell *cell) {
  for (int k = 0; k < 6; ++k) {
    int axis = k % 3, sign = k < 3 ? 1 : -1;
    kp_lattice_beside beside = kp_tet_lattice_beside(&s->lattice, cell, axis, sign);
    face f = make_face(cell, axis, sign);
    if (beside == KP_BESIDE_EQUAL && sign > 0) {
      KP_TRY(fill_equal(s, &f, cell->level == 0));
    } else if (beside == KP_BESIDE_SMALLER) {
      KP_TRY(fill_smaller(s, &f));
    } else if (beside == KP_BESIDE_LARGER) {
      KP_TRY(fill_larger(s, cell, &f, axis));
    }
  }
  return KP_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

static kp_result lay_lattice(stuffing *s, kp_aabb bounds) {
  KP_TRY(kp_tet_lattice_build(&s->lattice, bounds));
  s->n_points = (int64_t)s->lattice.points.count;
  size_t n = (size_t)s->n_points;
  s->phi = kp_alloc(n * sizeof *s->phi, KP_MEMORY_MESH);
  s->sign = kp_alloc(n * sizeof *s->sign, KP_MEMORY_MESH);
  s->number = kp_alloc(n * sizeof *s->number, KP_MEMORY_MESH);
  s->moved = kp_alloc(n * sizeof *s->moved, KP_MEMORY_MESH);
  if (s->phi == NULL || s->sign == NULL || s->number == NULL || s->moved == NULL) {
    return kp_fail(KP_ERROR_MEMORY, "no memory for a lattice of %lld points",
                   (long long)s->n_points);
  }
  memset(s->number, -1, n * sizeof *s->number);
  for (int64_t v = 0; v < s->n_points; ++v) {
    double phi = s->lattice.distance(s->lattice.self, place_of(s, v));
    s->phi[v] = phi;
    s->sign[v] = (int8_t)(phi < 0.0 ? INSIDE : (phi > 0.0 ? OUTSIDE : ON));
    s->moved[v] = place_of(s, v);
  }
  return KP_OK;
}

static kp_result fill_all(stuffing *s) {
  for (size_t k = 0; k < s->lattice.cells.count; ++k) {
    const kp_lattice_cell *cell = &s->lattice.cells.data[k];
    KP_TRY(cell->is_split ? KP_OK : fill_cell(s, cell));
  }
  return KP_OK;
}

static kp_result hand_over(stuffing *s, kp_tet_mesh *mesh) {
  if (s->tets.count == 0) {
    return kp_fail(KP_ERROR_SCENE, "a spacing of %g m finds no tetrahedron in the solid",
                   s->lattice.h);
  }
  if (s->tets.count > INT32_MAX || s->vertices.count > INT32_MAX) {
    return kp_fail(KP_ERROR_SCENE, "a spacing of %g m gives more than 2^31 tetrahedra",
                   s->lattice.h);
  }
  KP_TRY(kp_tet_mesh_create((kp_index)s->vertices.count, (kp_index)s->tets.count, mesh));
  memcpy(mesh->vertices, s->vertices.data, s->vertices.count * sizeof *mesh->vertices);
  memcpy(mesh->tets, s->tets.data, s->tets.count * sizeof *mesh->tets);
  return KP_OK;
}

kp_result kp_tet_mesh_stuff(kp_distance_fn distance, const void *self, kp_aabb bounds,
                            kp_tet_size size, kp_tet_mesh *mesh) {
  *mesh = (kp_tet_mesh){ 0 };
  stuffing s = { .lattice = {
                     .distance = distance, .self = self, .h = size.spacing, .grade = size.grade } };
  kp_result result = lay_lattice(&s, bounds);
  if (result == KP_OK) {
    move_points(&s);
    result = fill_all(&s);
  }
  if (result == KP_OK) {
    result = hand_over(&s, mesh);
  }
  kp_free(s.phi);
  kp_free(s.sign);
  kp_free(s.number);
  kp_free(s.moved);
  kp_lattice_map_free(&s.crossing);
  kp_array_free(&s.vertices);
  kp_array_free(&s.tets);
  kp_tet_lattice_free(&s.lattice);
  return result;
}
