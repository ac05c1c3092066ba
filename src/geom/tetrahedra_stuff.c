// Isosurface stuffing (Labelle and Shewchuk 2007), uniform: a lattice of tetrahedra fitted to the
// surface of a solid.
//
//   1  signs of the distance at lattice points: cubic corners and centres of cells
//   2  points that lie too near where one of their edges crosses the surface move there
//   3  tetrahedra are kept, dropped or cut along the crossings that are left
//
// A tetrahedron of the lattice has two centres m0, m1 of neighbouring cells and two corners q0, q1
// of the face between them; its edges m0 m1 and q0 q1 are long (one spacing), the other four short.
#include <string.h>

#include "base/array.h"
#include "geom/altitude.h"
#include "geom/tetrahedra.h"

// How near a crossing moves a point, in shares of the edge (their table 1, for safe angles).
#define NEAR_LONG 0.24999
#define NEAR_SHORT 0.41189

#define CROSSING 1e-5  // of an edge: how well a crossing is found
#define SLOTS 11       // edges that a centre owns: 3 to centres, 8 to corners; corners own 3

enum { INSIDE = 1, ON = 0, OUTSIDE = -1 };

typedef struct stuffing {
  kp_distance_fn distance;
  const void *self;
  kp_vec3 origin;
  double h;
  int64_t n[3];  // cells
  int64_t n_corners, n_points;
  double *phi;
  int8_t *sign;
  kp_index *number;    // of a lattice point in the mesh; -1: none yet
  kp_index *crossing;  // of an edge, by owner and slot
  kp_vec3 *moved;      // places of the points with sign ON
  KP_ARRAY(kp_vec3) vertices;
  KP_ARRAY(kp_tetrahedron) tets;
} stuffing;

// ---- the lattice --------------------------------------------------------------------------------

typedef struct point {
  int64_t at[3];
  bool is_center;
} point;

static int64_t number_of(const stuffing *s, point p) {
  int64_t add = p.is_center ? 0 : 1;
  int64_t base = p.is_center ? s->n_corners : 0;
  return base + p.at[0] + (s->n[0] + add) * (p.at[1] + (s->n[1] + add) * p.at[2]);
}

static point point_of(const stuffing *s, int64_t number) {
  point p = { .is_center = number >= s->n_corners };
  int64_t add = p.is_center ? 0 : 1;
  number -= p.is_center ? s->n_corners : 0;
  p.at[0] = number % (s->n[0] + add);
  number /= s->n[0] + add;
  p.at[1] = number % (s->n[1] + add);
  p.at[2] = number / (s->n[1] + add);
  return p;
}

static kp_vec3 place_of(const stuffing *s, int64_t number) {
  point p = point_of(s, number);
  double half = p.is_center ? 0.5 : 0.0;
  return kp_vec3_make(s->origin.x + s->h * ((double)p.at[0] + half),
                      s->origin.y + s->h * ((double)p.at[1] + half),
                      s->origin.z + s->h * ((double)p.at[2] + half));
}

// Neighbour k of 14: six along the axes, eight of the other lattice. -1: beyond the rim.
static int64_t neighbour(const stuffing *s, int64_t number, int k) {
  point p = point_of(s, number);
  if (k < 6) {
    p.at[k >> 1] += k & 1 ? 1 : -1;
  } else {
    for (int c = 0; c < 3; ++c) {
      p.at[c] += ((k - 6) >> c) & 1 ? (p.is_center ? 1 : 0) : (p.is_center ? 0 : -1);
    }
    p.is_center = !p.is_center;
  }
  for (int c = 0; c < 3; ++c) {
    if (p.at[c] < 0 || p.at[c] >= s->n[c] + (p.is_center ? 0 : 1)) {
      return -1;
    }
  }
  return number_of(s, p);
}

// Where an edge keeps the number of its crossing: with its centre, or its lower end.
static int64_t slot_of(const stuffing *s, int64_t a, int64_t b) {
  int64_t low = a < b ? a : b, high = a < b ? b : a;
  point p = point_of(s, low), q = point_of(s, high);
  if (p.is_center == q.is_center) {
    int axis = p.at[0] != q.at[0] ? 0 : (p.at[1] != q.at[1] ? 1 : 2);
    return SLOTS * low + axis;
  }
  // corners are numbered before centres
  int which = 0;
  for (int c = 0; c < 3; ++c) {
    which |= p.at[c] != q.at[c] ? 1 << c : 0;
  }
  return SLOTS * high + 3 + which;
}

// ---- crossings ----------------------------------------------------------------------------------

// Share of the way from the lower to the higher end at which the distance is 0: false position that
// halves the value of an end that stays (Illinois), so that it closes in from both sides.
static double find_crossing(const stuffing *s, int64_t low, int64_t high) {
  kp_vec3 a = place_of(s, low);
  kp_vec3 d = kp_vec3_sub(place_of(s, high), a);
  double t0 = 0.0, t1 = 1.0, f0 = s->phi[low], f1 = s->phi[high];
  double t = 0.5;
  int side = 0;
  for (int i = 0; i < 30 && t1 - t0 > CROSSING; ++i) {
    t = t0 + (t1 - t0) * f0 / (f0 - f1);
    double f = s->distance(s->self, kp_vec3_madd(a, t, d));
    if (fabs(f) < CROSSING * s->h) {
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
  int64_t low = a < b ? a : b, high = a < b ? b : a;
  double t = find_crossing(s, low, high);
  kp_vec3 p = place_of(s, low);
  *from_a = a < b ? t : 1.0 - t;
  return kp_vec3_madd(p, t, kp_vec3_sub(place_of(s, high), p));
}

// Points move to the nearest crossing that is too near.
static void move_points(stuffing *s) {
  for (int64_t v = 0; v < s->n_points; ++v) {
    if (s->sign[v] == ON || fabs(s->phi[v]) > NEAR_SHORT * s->h) {
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
  kp_index *kept = &s->crossing[slot_of(s, a, b)];
  if (*kept < 0) {
    double share;
    *kept = (kp_index)s->vertices.count;
    KP_TRY(kp_array_push(&s->vertices, crossing_place(s, a, b, &share)));
  }
  *number = *kept;
  return KP_OK;
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
  point p = point_of(s, c->point[a]);
  return ((p.at[0] + p.at[1] + p.at[2]) & 1) == 0;
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

// Four tetrahedra around every face between two cells.
static kp_result cut_face(stuffing *s, const int64_t cell[3], int axis) {
  static const int ring[4][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 } };
  point m = { { cell[0], cell[1], cell[2] }, true };
  int64_t points[4];
  points[0] = number_of(s, m);
  ++m.at[axis];
  points[1] = number_of(s, m);
  int64_t around[4];
  for (int r = 0; r < 4; ++r) {
    point q = m;
    q.is_center = false;
    q.at[(axis + 1) % 3] += ring[r][0];
    q.at[(axis + 2) % 3] += ring[r][1];
    around[r] = number_of(s, q);
  }
  for (int r = 0; r < 4; ++r) {
    points[2] = around[r];
    points[3] = around[(r + 1) % 4];
    KP_TRY(cut_tet(s, points));
  }
  return KP_OK;
}

static kp_result cut_all(stuffing *s) {
  int64_t cell[3];
  for (cell[2] = 0; cell[2] < s->n[2]; ++cell[2]) {
    for (cell[1] = 0; cell[1] < s->n[1]; ++cell[1]) {
      for (cell[0] = 0; cell[0] < s->n[0]; ++cell[0]) {
        for (int axis = 0; axis < 3; ++axis) {
          if (cell[axis] + 1 < s->n[axis]) {
            KP_TRY(cut_face(s, cell, axis));
          }
        }
      }
    }
  }
  return KP_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

// A lattice with its middle on the solid's, two cells wider on every side.
static kp_result lay_lattice(stuffing *s, kp_aabb bounds) {
  kp_vec3 size = kp_vec3_sub(bounds.max, bounds.min);
  const double lengths[3] = { size.x, size.y, size.z };
  double points = 2.0;
  for (int c = 0; c < 3; ++c) {
    double cells = ceil(lengths[c] / s->h) + 4.0;
    points *= cells + 1.0;
    s->n[c] = points < 1e9 ? (int64_t)cells : 0;
  }
  if (!(points < 1e9)) {
    return kp_fail(KP_ERROR_SCENE, "a spacing of %g m gives more than 2^30 lattice points", s->h);
  }
  kp_vec3 middle = kp_vec3_scale(kp_vec3_add(bounds.min, bounds.max), 0.5);
  s->origin =
      kp_vec3_make(middle.x - 0.5 * s->h * (double)s->n[0], middle.y - 0.5 * s->h * (double)s->n[1],
                   middle.z - 0.5 * s->h * (double)s->n[2]);
  s->n_corners = (s->n[0] + 1) * (s->n[1] + 1) * (s->n[2] + 1);
  s->n_points = s->n_corners + s->n[0] * s->n[1] * s->n[2];
  size_t n = (size_t)s->n_points;
  s->phi = kp_alloc(n * sizeof *s->phi, KP_MEMORY_MESH);
  s->sign = kp_alloc(n * sizeof *s->sign, KP_MEMORY_MESH);
  s->number = kp_alloc(n * sizeof *s->number, KP_MEMORY_MESH);
  s->moved = kp_alloc(n * sizeof *s->moved, KP_MEMORY_MESH);
  s->crossing = kp_alloc(n * SLOTS * sizeof *s->crossing, KP_MEMORY_MESH);
  if (s->phi == NULL || s->sign == NULL || s->number == NULL || s->moved == NULL ||
      s->crossing == NULL) {
    return kp_fail(KP_ERROR_MEMORY, "no memory for a lattice of %lld points",
                   (long long)s->n_points);
  }
  memset(s->number, -1, n * sizeof *s->number);
  memset(s->crossing, -1, n * SLOTS * sizeof *s->crossing);
  for (int64_t v = 0; v < s->n_points; ++v) {
    double phi = s->distance(s->self, place_of(s, v));
    s->phi[v] = phi;
    s->sign[v] = (int8_t)(phi < 0.0 ? INSIDE : (phi > 0.0 ? OUTSIDE : ON));
    s->moved[v] = place_of(s, v);
  }
  return KP_OK;
}

static kp_result hand_over(stuffing *s, kp_tet_mesh *mesh) {
  if (s->tets.count == 0) {
    return kp_fail(KP_ERROR_SCENE, "a spacing of %g m finds no tetrahedron in the solid", s->h);
  }
  if (s->tets.count > INT32_MAX || s->vertices.count > INT32_MAX) {
    return kp_fail(KP_ERROR_SCENE, "a spacing of %g m gives more than 2^31 tetrahedra", s->h);
  }
  KP_TRY(kp_tet_mesh_create((kp_index)s->vertices.count, (kp_index)s->tets.count, mesh));
  memcpy(mesh->vertices, s->vertices.data, s->vertices.count * sizeof *mesh->vertices);
  memcpy(mesh->tets, s->tets.data, s->tets.count * sizeof *mesh->tets);
  return KP_OK;
}

kp_result kp_tet_mesh_stuff(kp_distance_fn distance, const void *self, kp_aabb bounds,
                            double spacing, kp_tet_mesh *mesh) {
  *mesh = (kp_tet_mesh){ 0 };
  stuffing s = { .distance = distance, .self = self, .h = spacing };
  kp_result result = lay_lattice(&s, bounds);
  if (result == KP_OK) {
    move_points(&s);
    result = cut_all(&s);
  }
  if (result == KP_OK) {
    result = hand_over(&s, mesh);
  }
  kp_free(s.phi);
  kp_free(s.sign);
  kp_free(s.number);
  kp_free(s.moved);
  kp_free(s.crossing);
  kp_array_free(&s.vertices);
  kp_array_free(&s.tets);
  return result;
}
