#include "geom/mesh.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

kp_result kp_mesh_create(kp_index n_vertices, kp_index n_triangles, kp_mesh *mesh) {
  *mesh = (kp_mesh){ 0 };
  kp_mesh made = { 0 };
  made.vertices = kp_alloc_zero((size_t)n_vertices * sizeof *made.vertices, KP_MEMORY_MESH);
  made.triangles = kp_alloc_zero((size_t)n_triangles * sizeof *made.triangles, KP_MEMORY_MESH);
  if (made.vertices == NULL || made.triangles == NULL) {
    kp_mesh_destroy(&made);
    return KP_ERROR_MEMORY;
  }
  made.n_vertices = n_vertices;
  made.n_triangles = n_triangles;
  *mesh = made;
  return KP_OK;
}

kp_result kp_mesh_copy(const kp_mesh *mesh, kp_mesh *copy) {
  KP_TRY(kp_mesh_create(mesh->n_vertices, mesh->n_triangles, copy));
  if (mesh->n_vertices > 0) {
    memcpy(copy->vertices, mesh->vertices, (size_t)mesh->n_vertices * sizeof *mesh->vertices);
  }
  if (mesh->n_triangles > 0) {
    memcpy(copy->triangles, mesh->triangles, (size_t)mesh->n_triangles * sizeof *mesh->triangles);
  }
  return KP_OK;
}

void kp_mesh_destroy(kp_mesh *mesh) {
  kp_free(mesh->vertices);
  kp_free(mesh->triangles);
  *mesh = (kp_mesh){ 0 };
}

kp_aabb kp_mesh_bounds(const kp_mesh *mesh) {
  kp_aabb bounds = kp_aabb_empty();
  for (kp_index i = 0; i < mesh->n_vertices; ++i) {
    bounds = kp_aabb_grow(bounds, mesh->vertices[i]);
  }
  return bounds;
}

// A directed edge, keyed so that the two directions of one edge sort next to each other.
typedef struct edge {
  uint64_t key;  // smaller vertex in the high half, larger in the low half
  int forward;   // 1 when it runs from the smaller vertex to the larger
} edge;

static edge make_edge(kp_index from, kp_index to) {
  uint64_t low = (uint64_t)(from < to ? from : to);
  uint64_t high = (uint64_t)(from < to ? to : from);
  return (edge){ low << 32 | high, from < to };
}

static int compare_edges(const void *a, const void *b) {
  const edge *p = a;
  const edge *q = b;
  return p->key != q->key ? (p->key < q->key ? -1 : 1) : p->forward - q->forward;
}

kp_result kp_mesh_check_closed(const kp_mesh *mesh) {
  if (mesh->n_triangles == 0) {
    return kp_fail(KP_ERROR_FORMAT, "the mesh has no triangles");
  }
  size_t n = 3 * (size_t)mesh->n_triangles;
  edge *edges = kp_alloc(n * sizeof *edges, KP_MEMORY_SCRATCH);
  if (edges == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < n; ++i) {
    const kp_index *v = mesh->triangles[i / 3].v;
    edges[i] = make_edge(v[i % 3], v[(i + 1) % 3]);
  }
  qsort(edges, n, sizeof *edges, compare_edges);

  // each run of equal keys must be one backward and one forward edge
  kp_result result = KP_OK;
  for (size_t i = 0, end; i < n && result == KP_OK; i = end) {
    end = i + 1;
    while (end < n && edges[end].key == edges[i].key) {
      ++end;
    }
    unsigned from = (unsigned)(edges[i].key >> 32);
    unsigned to = (unsigned)edges[i].key;
    if (end - i != 2) {
      result = kp_fail(KP_ERROR_FORMAT,
                       "the mesh is not closed: the edge between vertices %u and %u belongs to %zu "
                       "triangle%s, not to two",
                       from, to, end - i, end - i == 1 ? "" : "s");
    } else if (edges[i].forward == edges[i + 1].forward) {
      result = kp_fail(KP_ERROR_FORMAT,
                       "the mesh is not oriented: both triangles at the edge between vertices %u "
                       "and %u run through it in the same direction",
                       from, to);
    }
  }
  kp_free(edges);
  return result;
}

// Twice the area times the unit normal.
static kp_vec3 triangle_cross(const kp_mesh *mesh, kp_index triangle) {
  const kp_index *v = mesh->triangles[triangle].v;
  kp_vec3 a = mesh->vertices[v[0]];
  kp_vec3 ab = kp_vec3_sub(mesh->vertices[v[1]], a);
  kp_vec3 ac = kp_vec3_sub(mesh->vertices[v[2]], a);
  return kp_vec3_cross(ab, ac);
}

kp_result kp_mesh_drop_unused(kp_mesh *mesh) {
  kp_index *number = kp_alloc_zero((size_t)mesh->n_vertices * sizeof *number, KP_MEMORY_MESH);
  if (number == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    for (int c = 0; c < 3; ++c) {
      number[mesh->triangles[t].v[c]] = 1;
    }
  }
  kp_index n = 0;
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    if (number[v] == 1) {
      mesh->vertices[n] = mesh->vertices[v];
      number[v] = n++;
    }
  }
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    for (int c = 0; c < 3; ++c) {
      mesh->triangles[t].v[c] = number[mesh->triangles[t].v[c]];
    }
  }
  mesh->n_vertices = n;
  kp_free(number);
  return KP_OK;
}

kp_vec3 kp_mesh_triangle_normal(const kp_mesh *mesh, kp_index triangle) {
  return kp_vec3_normalize(triangle_cross(mesh, triangle));
}

double kp_mesh_area(const kp_mesh *mesh) {
  double area = 0.0;
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    area += 0.5 * kp_vec3_length(triangle_cross(mesh, t));
  }
  return area;
}

double kp_mesh_volume(const kp_mesh *mesh) {
  return kp_mesh_mass_properties(mesh).volume;
}

kp_vec3 kp_mesh_centroid(const kp_mesh *mesh) {
  return kp_mesh_mass_properties(mesh).center;
}

// Sums over signed tetrahedra from the reference point o: volume, first and second moments. For a
// tetrahedron (o, a, b, c) of volume V with s = a + b + c (all relative to o), the integral of x is
// V s / 4 and that of x x^T is V (s s^T + a a^T + b b^T + c c^T) / 20 (Tonon 2004).
typedef struct moments {
  double volume;
  double first[3];
  double second[3][3];
} moments;

static void add_tetrahedron(moments *sum, kp_vec3 a, kp_vec3 b, kp_vec3 c) {
  double volume = kp_vec3_dot(a, kp_vec3_cross(b, c)) / 6.0;
  double p[3][3] = { { a.x, a.y, a.z }, { b.x, b.y, b.z }, { c.x, c.y, c.z } };
  double s[3];
  for (int i = 0; i < 3; ++i) {
    s[i] = p[0][i] + p[1][i] + p[2][i];
    sum->first[i] += volume * s[i] / 4.0;
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      double products = s[i] * s[j] + p[0][i] * p[0][j] + p[1][i] * p[1][j] + p[2][i] * p[2][j];
      sum->second[i][j] += volume * products / 20.0;
    }
  }
  sum->volume += volume;
}

kp_mass_properties kp_mesh_mass_properties(const kp_mesh *mesh) {
  kp_mass_properties out = { 0 };
  if (mesh->n_vertices == 0) {
    return out;
  }

  // the middle of the box as reference keeps cancellation small for meshes far from the origin
  kp_aabb bounds = kp_mesh_bounds(mesh);
  kp_vec3 o = kp_vec3_scale(kp_vec3_add(bounds.min, bounds.max), 0.5);
  moments sum = { 0 };
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_index *v = mesh->triangles[t].v;
    add_tetrahedron(&sum, kp_vec3_sub(mesh->vertices[v[0]], o),
                    kp_vec3_sub(mesh->vertices[v[1]], o), kp_vec3_sub(mesh->vertices[v[2]], o));
  }
  out.volume = sum.volume;
  out.center = o;
  if (sum.volume == 0.0) {
    return out;
  }

  // second moments about the centre, then inertia = trace(C) 1 - C
  double c[3];
  for (int i = 0; i < 3; ++i) {
    c[i] = sum.first[i] / sum.volume;
  }
  out.center = kp_vec3_add(o, kp_vec3_make(c[0], c[1], c[2]));
  double central[3][3];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      central[i][j] = sum.second[i][j] - sum.volume * c[i] * c[j];
    }
  }
  double trace = central[0][0] + central[1][1] + central[2][2];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      out.inertia.m[i][j] = (i == j ? trace : 0.0) - central[i][j];
    }
  }
  return out;
}

static double determinant(const kp_mat3 *a) {
  kp_vec3 x = kp_vec3_make(a->m[0][0], a->m[0][1], a->m[0][2]);
  kp_vec3 y = kp_vec3_make(a->m[1][0], a->m[1][1], a->m[1][2]);
  kp_vec3 z = kp_vec3_make(a->m[2][0], a->m[2][1], a->m[2][2]);
  return kp_vec3_dot(x, kp_vec3_cross(y, z));
}

void kp_mesh_transform(kp_mesh *mesh, const kp_mat3 *linear, kp_vec3 translate) {
  for (kp_index i = 0; i < mesh->n_vertices; ++i) {
    kp_vec3 turned = kp_mat3_mul_vec3(linear, mesh->vertices[i]);
    mesh->vertices[i] = kp_vec3_add(turned, translate);
  }
  if (determinant(linear) < 0.0) {
    kp_mesh_flip(mesh);
  }
}

void kp_mesh_flip(kp_mesh *mesh) {
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    kp_index *v = mesh->triangles[t].v;
    kp_index swap = v[1];
    v[1] = v[2];
    v[2] = swap;
  }
}

typedef struct weld_vertex {
  kp_vec3 position;
  kp_index index;
} weld_vertex;

static int compare_doubles(double a, double b) {
  return a < b ? -1 : (a > b ? 1 : 0);
}

static int compare_positions(kp_vec3 a, kp_vec3 b) {
  int order = compare_doubles(a.x, b.x);
  order = order != 0 ? order : compare_doubles(a.y, b.y);
  return order != 0 ? order : compare_doubles(a.z, b.z);
}

static int compare_weld(const void *a, const void *b) {
  const weld_vertex *p = a;
  const weld_vertex *q = b;
  int order = compare_positions(p->position, q->position);
  return order != 0 ? order : (p->index < q->index ? -1 : 1);
}

// For every vertex the first vertex at the same place.
static void find_twins(const kp_mesh *mesh, weld_vertex *sorted, kp_index *twin) {
  size_t n = (size_t)mesh->n_vertices;
  for (size_t i = 0; i < n; ++i) {
    sorted[i] = (weld_vertex){ mesh->vertices[i], (kp_index)i };
  }
  qsort(sorted, n, sizeof *sorted, compare_weld);
  for (size_t i = 0, first = 0; i < n; ++i) {
    if (compare_positions(sorted[i].position, sorted[first].position) != 0) {
      first = i;
    }
    twin[sorted[i].index] = sorted[first].index;
  }
}

// Renumber to the vertices that are their own twins and drop triangles that lost an edge.
static void join_twins(kp_mesh *mesh, kp_index *twin) {
  kp_index n_kept = 0;
  for (kp_index i = 0; i < mesh->n_vertices; ++i) {
    // a twin has a smaller index, so its own entry already holds its new number
    if (twin[i] == i) {
      mesh->vertices[n_kept] = mesh->vertices[i];
      twin[i] = n_kept++;
    } else {
      twin[i] = twin[twin[i]];
    }
  }
  mesh->n_vertices = n_kept;
  kp_index n_triangles = 0;
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_index *v = mesh->triangles[t].v;
    kp_triangle joined = { { twin[v[0]], twin[v[1]], twin[v[2]] } };
    if (joined.v[0] != joined.v[1] && joined.v[1] != joined.v[2] && joined.v[2] != joined.v[0]) {
      mesh->triangles[n_triangles++] = joined;
    }
  }
  mesh->n_triangles = n_triangles;
}

kp_result kp_mesh_weld(kp_mesh *mesh) {
  kp_result result = KP_ERROR_MEMORY;
  size_t n = (size_t)mesh->n_vertices;
  weld_vertex *sorted = kp_alloc(n * sizeof *sorted, KP_MEMORY_SCRATCH);
  kp_index *twin = kp_alloc(n * sizeof *twin, KP_MEMORY_SCRATCH);
  if (sorted != NULL && twin != NULL) {
    find_twins(mesh, sorted, twin);
    join_twins(mesh, twin);
    result = KP_OK;
  }
  kp_free(sorted);
  kp_free(twin);
  return result;
}

void kp_mesh_vertex_normals(const kp_mesh *mesh, kp_vec3 *normals) {
  for (kp_index i = 0; i < mesh->n_vertices; ++i) {
    normals[i] = kp_vec3_make(0.0, 0.0, 0.0);
  }
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_index *v = mesh->triangles[t].v;
    kp_vec3 normal = kp_mesh_triangle_normal(mesh, t);
    for (int i = 0; i < 3; ++i) {
      kp_vec3 corner = mesh->vertices[v[i]];
      kp_vec3 e = kp_vec3_sub(mesh->vertices[v[(i + 1) % 3]], corner);
      kp_vec3 f = kp_vec3_sub(mesh->vertices[v[(i + 2) % 3]], corner);
      double angle = atan2(kp_vec3_length(kp_vec3_cross(e, f)), kp_vec3_dot(e, f));
      normals[v[i]] = kp_vec3_madd(normals[v[i]], angle, normal);
    }
  }
  for (kp_index i = 0; i < mesh->n_vertices; ++i) {
    normals[i] = kp_vec3_normalize(normals[i]);
  }
}

// Of a triangle of area A: integral of x x^T = A/12 (a a^T + b b^T + c c^T + s s^T), s = a + b + c.
static void add_second_moment(double sum[3][3], double factor, kp_vec3 v) {
  const double x[3] = { v.x, v.y, v.z };
  for (int i = 0; i < 9; ++i) {
    sum[i / 3][i % 3] += factor * x[i / 3] * x[i % 3];
  }
}

kp_mass_properties kp_mesh_surface_mass_properties(const kp_mesh *mesh, double thickness) {
  kp_mass_properties out = { 0 };
  double area = 0.0;
  double moment[3][3] = { { 0.0 } };
  kp_vec3 center = kp_vec3_make(0.0, 0.0, 0.0);
  for (int pass = 0; pass < 2; ++pass) {
    for (kp_index t = 0; t < mesh->n_triangles; ++t) {
      const kp_index *v = mesh->triangles[t].v;
      kp_vec3 a = kp_vec3_sub(mesh->vertices[v[0]], center);
      kp_vec3 b = kp_vec3_sub(mesh->vertices[v[1]], center);
      kp_vec3 c = kp_vec3_sub(mesh->vertices[v[2]], center);
      kp_vec3 s = kp_vec3_add(a, kp_vec3_add(b, c));
      double one = 0.5 * kp_vec3_length(kp_vec3_cross(kp_vec3_sub(b, a), kp_vec3_sub(c, a)));
      if (pass == 0) {
        area += one;
        out.center = kp_vec3_madd(out.center, one / 3.0, s);
      } else {
        const kp_vec3 all[4] = { a, b, c, s };
        for (int k = 0; k < 4; ++k) {
          add_second_moment(moment, thickness * one / 12.0, all[k]);
        }
      }
    }
    if (pass == 0) {
      out.center = kp_vec3_scale(out.center, area > 0.0 ? 1.0 / area : 0.0);
      center = out.center;
    }
  }
  out.volume = thickness * area;
  double trace = moment[0][0] + moment[1][1] + moment[2][2];
  for (int i = 0; i < 9; ++i) {
    out.inertia.m[i / 3][i % 3] = (i % 4 == 0 ? trace : 0.0) - moment[i / 3][i % 3];
  }
  return out;
}
