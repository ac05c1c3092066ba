#include "geom/tetrahedra.h"

#include <stdlib.h>

#include "base/memory.h"
#include "geom/altitude.h"

#define PI 3.14159265358979323846
#define FLAT 1e-10  // 6 V against the cube of the longest edge

kp_result kp_tet_mesh_create(kp_index n_vertices, kp_index n_tets, kp_tet_mesh *mesh) {
  *mesh = (kp_tet_mesh){ .n_vertices = n_vertices, .n_tets = n_tets };
  mesh->vertices = kp_alloc((size_t)n_vertices * sizeof *mesh->vertices, KP_MEMORY_MESH);
  mesh->tets = kp_alloc((size_t)n_tets * sizeof *mesh->tets, KP_MEMORY_MESH);
  if (mesh->vertices == NULL || mesh->tets == NULL) {
    kp_tet_mesh_destroy(mesh);
    return kp_fail(KP_ERROR_MEMORY, "no memory for %lld tetrahedra", (long long)n_tets);
  }
  return KP_OK;
}

void kp_tet_mesh_destroy(kp_tet_mesh *mesh) {
  kp_free(mesh->vertices);
  kp_free(mesh->tets);
  *mesh = (kp_tet_mesh){ 0 };
}

static void corners(const kp_tet_mesh *mesh, kp_index tet, kp_vec3 x[4]) {
  for (int c = 0; c < 4; ++c) {
    x[c] = mesh->vertices[mesh->tets[tet].v[c]];
  }
}

double kp_tet_volume(const kp_tet_mesh *mesh, kp_index tet) {
  kp_vec3 x[4];
  corners(mesh, tet, x);
  return kp_tet_volume6(x[0], x[1], x[2], x[3]) / 6.0;
}

// Faces of a tetrahedron, outward; face c lies across from corner c.
static const int faces[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };

void kp_tet_angles(const kp_vec3 x[4], double *smallest, double *largest) {
  kp_vec3 n[4];
  for (int f = 0; f < 4; ++f) {
    const int *v = faces[f];
    n[f] = kp_vec3_normalize(
        kp_vec3_cross(kp_vec3_sub(x[v[1]], x[v[0]]), kp_vec3_sub(x[v[2]], x[v[0]])));
  }
  for (int f = 0; f < 4; ++f) {
    for (int g = f + 1; g < 4; ++g) {
      double angle = PI - acos(fmax(-1.0, fmin(1.0, kp_vec3_dot(n[f], n[g]))));
      *smallest = fmin(*smallest, angle);
      *largest = fmax(*largest, angle);
    }
  }
}

kp_tet_quality kp_tet_mesh_quality(const kp_tet_mesh *mesh) {
  kp_tet_quality q = { .smallest = HUGE_VAL };
  double smallest = PI, largest = 0.0;
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    kp_vec3 x[4];
    corners(mesh, t, x);
    double volume = kp_tet_volume6(x[0], x[1], x[2], x[3]) / 6.0;
    q.volume += volume;
    q.smallest = fmin(q.smallest, volume);
    kp_tet_angles(x, &smallest, &largest);
  }
  q.angle_min = smallest * 180.0 / PI;
  q.angle_max = largest * 180.0 / PI;
  return q;
}

// ---- check --------------------------------------------------------------------------------------

static kp_result check_tet(kp_tet_mesh *mesh, kp_index t, const char *name) {
  kp_tetrahedron *tet = &mesh->tets[t];
  for (int c = 0; c < 4; ++c) {
    if (tet->v[c] < 0 || tet->v[c] >= mesh->n_vertices) {
      return kp_fail(KP_ERROR_FORMAT,
                     "%s: tetrahedron %lld has corner %lld, but there are %lld vertices", name,
                     (long long)t + 1, (long long)tet->v[c] + 1, (long long)mesh->n_vertices);
    }
  }
  kp_vec3 x[4];
  corners(mesh, t, x);
  double longest = 0.0;
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) {
      longest = fmax(longest, kp_vec3_length(kp_vec3_sub(x[i], x[j])));
    }
  }
  double volume = kp_tet_volume6(x[0], x[1], x[2], x[3]);
  if (!(fabs(volume) > FLAT * longest * longest * longest)) {
    return kp_fail(KP_ERROR_FORMAT, "%s: tetrahedron %lld is flat", name, (long long)t + 1);
  }
  if (volume < 0.0) {
    kp_index swap = tet->v[2];
    tet->v[2] = tet->v[3];
    tet->v[3] = swap;
  }
  return KP_OK;
}

kp_result kp_tet_mesh_check(kp_tet_mesh *mesh, const char *name) {
  if (mesh->n_tets == 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s: holds no tetrahedra", name);
  }
  bool *used = kp_alloc_zero((size_t)mesh->n_vertices * sizeof *used, KP_MEMORY_MESH);
  if (used == NULL) {
    return kp_fail(KP_ERROR_MEMORY, "%s: no memory for its vertices", name);
  }
  kp_result result = KP_OK;
  for (kp_index t = 0; t < mesh->n_tets && result == KP_OK; ++t) {
    result = check_tet(mesh, t, name);
    for (int c = 0; c < 4 && result == KP_OK; ++c) {
      used[mesh->tets[t].v[c]] = true;
    }
  }
  for (kp_index v = 0; v < mesh->n_vertices && result == KP_OK; ++v) {
    if (!used[v]) {
      result = kp_fail(KP_ERROR_FORMAT, "%s: vertex %lld is a corner of no tetrahedron", name,
                       (long long)v + 1);
    }
  }
  kp_free(used);
  return result;
}

// ---- surface ------------------------------------------------------------------------------------

typedef struct face_key {
  kp_index low, middle, high;
  int64_t face;  // 4 tet + face
} face_key;

static face_key make_key(const kp_tet_mesh *mesh, int64_t face) {
  const int *f = faces[face & 3];
  const kp_index *v = mesh->tets[face >> 2].v;
  kp_index a = v[f[0]], b = v[f[1]], c = v[f[2]];
  kp_index low = a < b ? a : b, high = a < b ? b : a;
  face_key key = { .face = face };
  key.low = c < low ? c : low;
  key.high = c > high ? c : high;
  key.middle = c < low ? low : (c > high ? high : c);
  return key;
}

static int compare_keys(const void *a, const void *b) {
  const face_key *p = a, *q = b;
  int64_t d = p->low != q->low         ? (int64_t)p->low - q->low
              : p->middle != q->middle ? (int64_t)p->middle - q->middle
              : p->high != q->high     ? (int64_t)p->high - q->high
                                       : p->face - q->face;
  return (d > 0) - (d < 0);
}

static int compare_faces(const void *a, const void *b) {
  const face_key *p = a, *q = b;
  return (p->face > q->face) - (p->face < q->face);
}

static bool same_face(const face_key *p, const face_key *q) {
  return p->low == q->low && p->middle == q->middle && p->high == q->high;
}

kp_result kp_tet_mesh_surface(const kp_tet_mesh *mesh, kp_mesh *surface) {
  *surface = (kp_mesh){ 0 };
  int64_t n = 4 * (int64_t)mesh->n_tets;
  face_key *keys = kp_alloc((size_t)n * sizeof *keys, KP_MEMORY_MESH);
  if (keys == NULL) {
    return kp_fail(KP_ERROR_MEMORY, "no memory for the surface of %lld tetrahedra",
                   (long long)mesh->n_tets);
  }
  for (int64_t f = 0; f < n; ++f) {
    keys[f] = make_key(mesh, f);
  }
  qsort(keys, (size_t)n, sizeof *keys, compare_keys);
  int64_t n_outer = 0;
  kp_result result = KP_OK;
  for (int64_t f = 0; f < n && result == KP_OK;) {
    int64_t end = f + 1;
    while (end < n && same_face(&keys[f], &keys[end])) {
      ++end;
    }
    if (end - f > 2) {
      result = kp_fail(KP_ERROR_FORMAT, "face %lld %lld %lld belongs to %lld tetrahedra",
                       (long long)keys[f].low + 1, (long long)keys[f].middle + 1,
                       (long long)keys[f].high + 1, (long long)(end - f));
    } else if (end - f == 1) {
      keys[n_outer++] = keys[f];
    }
    f = end;
  }
  if (result == KP_OK) {
    qsort(keys, (size_t)n_outer, sizeof *keys, compare_faces);
    result = kp_mesh_create(mesh->n_vertices, (kp_index)n_outer, surface);
  }
  if (result == KP_OK) {
    for (kp_index v = 0; v < mesh->n_vertices; ++v) {
      surface->vertices[v] = mesh->vertices[v];
    }
    for (int64_t f = 0; f < n_outer; ++f) {
      const kp_index *v = mesh->tets[keys[f].face >> 2].v;
      for (int c = 0; c < 3; ++c) {
        surface->triangles[f].v[c] = v[faces[keys[f].face & 3][c]];
      }
    }
  }
  kp_free(keys);
  return result;
}

// ---- boxes --------------------------------------------------------------------------------------

// Corners of a cell by bits x, y, z: a regular tetrahedron in the middle and one at each of the
// other four corners; the odd cells are mirrored along x.
static const uint8_t five[5][4] = {
  { 0, 3, 5, 6 }, { 1, 3, 0, 5 }, { 2, 0, 3, 6 }, { 4, 0, 6, 5 }, { 7, 3, 5, 6 }
};

static kp_tetrahedron cell_tet(int which, const int64_t cell[3], const int64_t n[3]) {
  kp_tetrahedron tet;
  bool is_odd = ((cell[0] + cell[1] + cell[2]) & 1) != 0;
  for (int c = 0; c < 4; ++c) {
    int corner = five[which][c] ^ (is_odd ? 1 : 0);
    int64_t at[3];
    for (int k = 0; k < 3; ++k) {
      at[k] = cell[k] + ((corner >> k) & 1);
    }
    tet.v[c] = (kp_index)(at[0] + (n[0] + 1) * (at[1] + (n[1] + 1) * at[2]));
  }
  return tet;
}

kp_result kp_tet_mesh_box(kp_aabb box, double spacing, kp_tet_mesh *mesh) {
  *mesh = (kp_tet_mesh){ 0 };
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  double lengths[3] = { size.x, size.y, size.z };
  int64_t n[3];
  double n_cells = 1.0;
  for (int c = 0; c < 3; ++c) {
    double cells = fmax(1.0, floor(lengths[c] / spacing + 0.5));
    n_cells *= cells + 1.0;
    n[c] = (int64_t)cells;
  }
  if (!(n_cells < 4e8)) {
    return kp_fail(KP_ERROR_SCENE, "a spacing of %g m gives more than 2^31 tetrahedra", spacing);
  }
  KP_TRY(kp_tet_mesh_create((kp_index)((n[0] + 1) * (n[1] + 1) * (n[2] + 1)),
                            (kp_index)(5 * n[0] * n[1] * n[2]), mesh));
  kp_index v = 0, t = 0;
  for (int64_t k = 0; k <= n[2]; ++k) {
    for (int64_t j = 0; j <= n[1]; ++j) {
      for (int64_t i = 0; i <= n[0]; ++i) {
        mesh->vertices[v++] = kp_vec3_make(box.min.x + size.x * (double)i / (double)n[0],
                                           box.min.y + size.y * (double)j / (double)n[1],
                                           box.min.z + size.z * (double)k / (double)n[2]);
        const int64_t cell[3] = { i, j, k };
        for (int f = 0; f < 5 && i < n[0] && j < n[1] && k < n[2]; ++f) {
          mesh->tets[t++] = cell_tet(f, cell, n);
        }
      }
    }
  }
  kp_result result = kp_tet_mesh_check(mesh, "box");
  if (result != KP_OK) {
    kp_tet_mesh_destroy(mesh);
  }
  return result;
}

// ---- pieces -------------------------------------------------------------------------------------

// Trees of vertices, by the parent of each; ways are halved on the way up.
static kp_index root_of(kp_index *parent, kp_index v) {
  while (parent[v] != v) {
    parent[v] = parent[parent[v]];
    v = parent[v];
  }
  return v;
}

kp_result kp_tet_mesh_count_pieces(const kp_tet_mesh *mesh, kp_index *count, kp_index *smallest) {
  size_t n = (size_t)mesh->n_vertices;
  kp_index *parent = kp_alloc_zero(2 * n * sizeof *parent, KP_MEMORY_MESH);
  if (parent == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_index *size = parent + n, least = mesh->n_vertices;
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    parent[v] = v;
  }
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    for (int c = 1; c < 4; ++c) {
      kp_index a = root_of(parent, mesh->tets[t].v[0]), b = root_of(parent, mesh->tets[t].v[c]);
      parent[a > b ? a : b] = a > b ? b : a;
    }
  }
  *count = 0;
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    kp_index root = root_of(parent, v);
    *count += root == v ? 1 : 0;
    ++size[root];
  }
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    least = size[v] > 0 && size[v] < least ? size[v] : least;
  }
  if (smallest != NULL) {
    *smallest = least;
  }
  kp_free(parent);
  return KP_OK;
}

// ---- shapes -------------------------------------------------------------------------------------

static double shape_distance(const void *self, kp_vec3 p) {
  return kp_shape_distance(self, p);
}

kp_result kp_tet_mesh_from_shape(const kp_shape *shape, kp_tet_size size, kp_tet_mesh *mesh) {
  *mesh = (kp_tet_mesh){ 0 };
  if (!kp_shape_is_bounded(shape)) {
    return kp_fail(KP_ERROR_SCENE, "a solid without bounds cannot be filled with tetrahedra");
  }
  kp_aabb bounds = kp_shape_bounds(shape);
  if (shape->def.kind == KP_SHAPE_BOX && size.grade == 0.0) {
    return kp_tet_mesh_box(bounds, size.spacing, mesh);
  }
  return kp_tet_mesh_stuff(shape_distance, shape, bounds, size, mesh);
}
