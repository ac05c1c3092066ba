#include "geom/scalp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define TRIES 1000     // random points per root before we say that there is no room
#define REACH 1.6      // in mean distances: how far roots push each other
#define PUSH 0.25      // share of the overlap a root gives way to each neighbour
#define THINNEST 0.05  // density whose roots reach farthest
#define KEY_BITS 21

typedef struct cell_root {
  uint64_t key;
  kp_index root;
} cell_root;

typedef struct scalp {
  const kp_mesh_query *surface;
  const kp_mesh *mesh;
  const kp_scalp_def *def;
  kp_vec3 *normals;  // at the vertices
  double *areas;     // of triangles, summed up
  double reach;      // at density 1 [m]
  kp_scalp_root *roots, *moved;
  double *radius;  // of roots
  cell_root *cells;
  kp_vec3 origin;
  double cell;
} scalp;

static double density_at(const scalp *s, const kp_scalp_root *r) {
  return s->def->density != NULL ? s->def->density(r->position, r->normal, s->def->user) : 1.0;
}

static void finish_root(const scalp *s, kp_scalp_root *r) {
  const kp_triangle *t = &s->mesh->triangles[r->triangle];
  kp_vec3 p = { 0.0, 0.0, 0.0 }, n = { 0.0, 0.0, 0.0 };
  for (int c = 0; c < 3; ++c) {
    p = kp_vec3_madd(p, r->weights[c], s->mesh->vertices[t->v[c]]);
    n = kp_vec3_madd(n, r->weights[c], s->normals[t->v[c]]);
  }
  r->position = p;
  r->normal = kp_vec3_normalize(n);
}

static kp_index find_triangle(const scalp *s, double area) {
  kp_index low = 0, high = s->mesh->n_triangles - 1;
  while (low < high) {
    kp_index middle = low + (high - low) / 2;
    if (s->areas[middle] > area) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

static kp_scalp_root throw_root(const scalp *s, uint64_t id) {
  double total = s->areas[s->mesh->n_triangles - 1];
  uint64_t seed = s->def->seed;
  double u = sqrt(kp_rng_uniform(seed, KP_RNG_HAIR, id, 11));
  double v = kp_rng_uniform(seed, KP_RNG_HAIR, id, 12);
  kp_scalp_root r = { .triangle =
                          find_triangle(s, total * kp_rng_uniform(seed, KP_RNG_HAIR, id, 10)) };
  r.weights[0] = 1.0 - u;
  r.weights[1] = u * (1.0 - v);
  r.weights[2] = u * v;
  finish_root(s, &r);
  return r;
}

// Random roots, kept with the probability of their density. What share is kept tells the area
// that is covered, and so how far roots are from each other.
static kp_result throw_roots(scalp *s) {
  int64_t n = 0;
  uint64_t tried = 0;
  while (n < s->def->count) {
    if (tried == (uint64_t)TRIES * (uint64_t)(s->def->count + 10)) {
      return kp_fail(KP_ERROR_SCENE, "the surface has no room for hair where it may grow");
    }
    kp_scalp_root r = throw_root(s, tried);
    if (kp_rng_uniform(s->def->seed, KP_RNG_HAIR, tried, 13) < density_at(s, &r)) {
      s->roots[n++] = r;
    }
    ++tried;
  }
  double covered = s->areas[s->mesh->n_triangles - 1] * (double)n / (double)tried;
  s->reach = REACH * sqrt(covered / (double)n);
  return KP_OK;
}

static uint64_t key_of(const scalp *s, kp_vec3 p, int dx, int dy, int dz) {
  int64_t x = 1 + dx + (int64_t)((p.x - s->origin.x) / s->cell);
  int64_t y = 1 + dy + (int64_t)((p.y - s->origin.y) / s->cell);
  int64_t z = 1 + dz + (int64_t)((p.z - s->origin.z) / s->cell);
  return (uint64_t)z << (2 * KEY_BITS) | (uint64_t)y << KEY_BITS | (uint64_t)x;
}

static int compare_cells(const void *a, const void *b) {
  const cell_root *p = a, *q = b;
  return p->key != q->key ? (p->key < q->key ? -1 : 1) : (p->root < q->root ? -1 : 1);
}

static void sort_roots(scalp *s) {
  kp_aabb box = kp_aabb_empty();
  double widest = 0.0;
  for (int64_t i = 0; i < s->def->count; ++i) {
    box = kp_aabb_grow(box, s->roots[i].position);
    // thin places: roots are farther apart
    s->radius[i] = s->reach / sqrt(fmax(THINNEST, density_at(s, &s->roots[i])));
    widest = fmax(widest, s->radius[i]);
  }
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  s->origin = box.min;
  s->cell = fmax(widest, fmax(size.x, fmax(size.y, size.z)) / 1e6);
  for (int64_t i = 0; i < s->def->count; ++i) {
    s->cells[i] = (cell_root){ key_of(s, s->roots[i].position, 0, 0, 0), (kp_index)i };
  }
  qsort(s->cells, (size_t)s->def->count, sizeof *s->cells, compare_cells);
}

static int64_t lower_bound(const scalp *s, uint64_t key) {
  int64_t low = 0, high = s->def->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (s->cells[middle].key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// How far the roots around push root i, along the surface.
static kp_vec3 push_of(const scalp *s, int64_t i) {
  const kp_scalp_root *me = &s->roots[i];
  kp_vec3 sum = { 0.0, 0.0, 0.0 };
  for (int dz = -1; dz <= 1; ++dz) {
    for (int dy = -1; dy <= 1; ++dy) {
      uint64_t last = key_of(s, me->position, 1, dy, dz);
      for (int64_t c = lower_bound(s, key_of(s, me->position, -1, dy, dz));
           c < s->def->count && s->cells[c].key <= last; ++c) {
        const kp_scalp_root *other = &s->roots[s->cells[c].root];
        kp_vec3 d = kp_vec3_sub(me->position, other->position);
        double length = kp_vec3_length(d);
        double reach = 0.5 * (s->radius[i] + s->radius[s->cells[c].root]);
        bool pushes =
            length > 0.0 && length < reach && kp_vec3_dot(me->normal, other->normal) > 0.0;
        sum = pushes ? kp_vec3_madd(sum, PUSH * (reach - length) / length, d) : sum;
      }
    }
  }
  return kp_vec3_madd(sum, -kp_vec3_dot(sum, me->normal), me->normal);
}

static void relax(scalp *s) {
  sort_roots(s);
  for (int64_t i = 0; i < s->def->count; ++i) {
    kp_vec3 push = push_of(s, i);
    double length = kp_vec3_length(push);
    double most = 0.5 * s->reach;
    push = length > most ? kp_vec3_scale(push, most / length) : push;
    kp_mesh_hit hit = kp_mesh_query_closest(s->surface, kp_vec3_add(s->roots[i].position, push));
    kp_scalp_root r = { .triangle = hit.triangle };
    memcpy(r.weights, hit.weights, sizeof r.weights);
    finish_root(s, &r);
    // nothing leaves the part where hair grows
    s->moved[i] = density_at(s, &r) > 0.0 ? r : s->roots[i];
  }
  memcpy(s->roots, s->moved, sizeof *s->roots * (size_t)s->def->count);
}

static kp_result seed_roots(scalp *s) {
  kp_mesh_vertex_normals(s->mesh, s->normals);
  double sum = 0.0;
  for (kp_index t = 0; t < s->mesh->n_triangles; ++t) {
    const kp_index *v = s->mesh->triangles[t].v;
    kp_vec3 a = kp_vec3_sub(s->mesh->vertices[v[1]], s->mesh->vertices[v[0]]);
    kp_vec3 b = kp_vec3_sub(s->mesh->vertices[v[2]], s->mesh->vertices[v[0]]);
    sum += 0.5 * kp_vec3_length(kp_vec3_cross(a, b));
    s->areas[t] = sum;
  }
  KP_TRY(throw_roots(s));
  for (int i = 0; i < s->def->iterations; ++i) {
    relax(s);
  }
  return KP_OK;
}

kp_result kp_scalp_seed(const kp_mesh_query *surface, const kp_scalp_def *def,
                        kp_scalp_roots *roots) {
  size_t first = roots->count, n = (size_t)def->count;
  scalp s = { .surface = surface, .mesh = kp_mesh_query_mesh(surface), .def = def };
  s.normals = kp_alloc(sizeof *s.normals * (size_t)s.mesh->n_vertices, KP_MEMORY_MESH);
  s.areas = kp_alloc(sizeof *s.areas * (size_t)s.mesh->n_triangles, KP_MEMORY_MESH);
  s.moved = kp_alloc(sizeof *s.moved * n, KP_MEMORY_MESH);
  s.radius = kp_alloc(sizeof *s.radius * n, KP_MEMORY_MESH);
  s.cells = kp_alloc(sizeof *s.cells * n, KP_MEMORY_MESH);
  kp_result result = kp_array_resize(roots, first + n);
  bool enough = s.normals != NULL && s.areas != NULL && s.moved != NULL && s.radius != NULL &&
                s.cells != NULL && result == KP_OK;
  s.roots = roots->data != NULL ? roots->data + first : NULL;
  result = enough ? seed_roots(&s) : KP_ERROR_MEMORY;
  roots->count = result == KP_OK ? first + n : first;
  kp_free(s.normals);
  kp_free(s.areas);
  kp_free(s.moved);
  kp_free(s.radius);
  kp_free(s.cells);
  return result;
}

// ---- order --------------------------------------------------------------------------------------

#define ORDER_BITS 16  // per axis

// Bit b of v to bit 3 b.
static uint64_t spread_bits(uint64_t v) {
  uint64_t out = 0;
  for (int b = 0; b < ORDER_BITS; ++b) {
    out |= (v >> b & 1u) << (3 * b);
  }
  return out;
}

static int compare_order(const void *a, const void *b) {
  const cell_root *p = a, *q = b;
  if (p->key != q->key) {
    return p->key < q->key ? -1 : 1;
  }
  return p->root < q->root ? -1 : p->root > q->root;
}

kp_result kp_scalp_order(kp_scalp_roots *roots) {
  size_t n = roots->count;
  if (n < 2) {
    return KP_OK;
  }
  cell_root *order = kp_alloc(n * sizeof *order, KP_MEMORY_MESH);
  kp_scalp_root *copy = kp_alloc(n * sizeof *copy, KP_MEMORY_MESH);
  if (order == NULL || copy == NULL) {
    kp_free(order);
    kp_free(copy);
    return KP_ERROR_MEMORY;
  }
  kp_vec3 lo = roots->data[0].position, hi = lo;
  for (size_t i = 1; i < n; ++i) {
    lo = kp_vec3_min(lo, roots->data[i].position);
    hi = kp_vec3_max(hi, roots->data[i].position);
  }
  kp_vec3 e = kp_vec3_sub(hi, lo);
  double size = fmax(e.x, fmax(e.y, e.z));
  double scale = size > 0.0 ? (double)((1 << ORDER_BITS) - 1) / size : 0.0;
  for (size_t i = 0; i < n; ++i) {
    kp_vec3 p = kp_vec3_scale(kp_vec3_sub(roots->data[i].position, lo), scale);
    uint64_t key = spread_bits((uint64_t)p.x) | spread_bits((uint64_t)p.y) << 1 |
                   spread_bits((uint64_t)p.z) << 2;
    order[i] = (cell_root){ .key = key, .root = (kp_index)i };
  }
  qsort(order, n, sizeof *order, compare_order);
  memcpy(copy, roots->data, n * sizeof *copy);
  for (size_t i = 0; i < n; ++i) {
    roots->data[i] = copy[order[i].root];
  }
  kp_free(order);
  kp_free(copy);
  return KP_OK;
}
