#include "geom/mesh_query.h"

#include "base/memory.h"

#define FOUR_PI 12.566370614359172

// A node at least this many radii away is replaced by its dipole (Barill et al. 2018). The error of
// the winding number then stays within a few hundredths, far from the threshold 1/2.
#define FAR_RATIO 2.0

// Closer than this share of the mesh size the direction to the closest point is rounding noise.
#define TOUCH_RATIO 1e-12

// First-order expansion of the winding number of a node (Barill et al. 2018, equation 12).
typedef struct dipole {
  kp_vec3 center;       // area-weighted centroid
  kp_vec3 area_normal;  // sum of area times normal
  double area;
  double far2;  // squared distance from which the expansion holds
} dipole;

struct kp_mesh_query {
  kp_mesh mesh;
  kp_bvh bvh;
  dipole *dipoles;          // per node
  kp_vec3 *vertex_normals;  // angle-weighted
  double touch;             // [m], see TOUCH_RATIO
};

static kp_aabb triangle_box(const kp_mesh *mesh, kp_index t) {
  kp_aabb box = kp_aabb_empty();
  for (int i = 0; i < 3; ++i) {
    box = kp_aabb_grow(box, mesh->vertices[mesh->triangles[t].v[i]]);
  }
  return box;
}

static kp_result build_tree(kp_mesh_query *query) {
  kp_index n = query->mesh.n_triangles;
  kp_aabb *boxes = kp_alloc((size_t)n * sizeof *boxes, KP_MEMORY_SCRATCH);
  if (boxes == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (kp_index t = 0; t < n; ++t) {
    boxes[t] = triangle_box(&query->mesh, t);
  }
  kp_result result = kp_bvh_build(boxes, n, &query->bvh);
  kp_free(boxes);
  return result;
}

static void add_to_dipole(dipole *sum, kp_vec3 center, kp_vec3 area_normal, double area) {
  sum->center = kp_vec3_madd(sum->center, area, center);
  sum->area_normal = kp_vec3_add(sum->area_normal, area_normal);
  sum->area += area;
}

static void add_triangle(dipole *sum, const kp_mesh *mesh, kp_index t) {
  const kp_index *v = mesh->triangles[t].v;
  kp_vec3 a = mesh->vertices[v[0]];
  kp_vec3 b = mesh->vertices[v[1]];
  kp_vec3 c = mesh->vertices[v[2]];
  kp_vec3 cross = kp_vec3_cross(kp_vec3_sub(b, a), kp_vec3_sub(c, a));
  kp_vec3 center = kp_vec3_scale(kp_vec3_add(kp_vec3_add(a, b), c), 1.0 / 3.0);
  add_to_dipole(sum, center, kp_vec3_scale(cross, 0.5), 0.5 * kp_vec3_length(cross));
}

static void build_dipoles(kp_mesh_query *query) {
  const kp_bvh *bvh = &query->bvh;
  for (kp_index i = bvh->n_nodes - 1; i >= 0; --i) {
    const kp_bvh_node *node = &bvh->nodes[i];
    dipole sum = { 0 };
    if (node->count == 0) {
      for (kp_index k = 0; k < 2; ++k) {
        const dipole *child = &query->dipoles[node->first + k];
        add_to_dipole(&sum, child->center, child->area_normal, child->area);
      }
    }
    for (kp_index k = 0; k < node->count; ++k) {
      add_triangle(&sum, &query->mesh, bvh->items[node->first + k]);
    }
    kp_vec3 middle = kp_vec3_scale(kp_vec3_add(node->box.min, node->box.max), 0.5);
    sum.center = sum.area > 0.0 ? kp_vec3_scale(sum.center, 1.0 / sum.area) : middle;

    // farthest corner of the box from the centre
    kp_vec3 reach =
        kp_vec3_max(kp_vec3_sub(node->box.max, sum.center), kp_vec3_sub(sum.center, node->box.min));
    sum.far2 = FAR_RATIO * FAR_RATIO * kp_vec3_dot(reach, reach);
    query->dipoles[i] = sum;
  }
}

kp_result kp_mesh_query_create(kp_mesh *mesh, kp_mesh_query **out) {
  *out = NULL;
  kp_mesh_query *query = kp_alloc_zero(sizeof *query, KP_MEMORY_MESH);
  if (query == NULL) {
    return KP_ERROR_MEMORY;
  }
  query->mesh = *mesh;
  kp_result result = build_tree(query);
  if (result == KP_OK) {
    size_t n_nodes = (size_t)query->bvh.n_nodes;
    query->dipoles = kp_alloc(n_nodes * sizeof *query->dipoles, KP_MEMORY_MESH);
    query->vertex_normals =
        kp_alloc((size_t)mesh->n_vertices * sizeof *query->vertex_normals, KP_MEMORY_MESH);
    result = query->dipoles != NULL && query->vertex_normals != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
  if (result != KP_OK) {
    query->mesh = (kp_mesh){ 0 };  // the caller keeps it
    kp_mesh_query_destroy(&query);
    return result;
  }
  build_dipoles(query);
  kp_mesh_vertex_normals(&query->mesh, query->vertex_normals);
  if (query->bvh.n_nodes > 0) {
    kp_aabb box = query->bvh.nodes[0].box;
    query->touch = TOUCH_RATIO * kp_vec3_length(kp_vec3_sub(box.max, box.min));
  }
  *mesh = (kp_mesh){ 0 };
  *out = query;
  return KP_OK;
}

void kp_mesh_query_destroy(kp_mesh_query **query) {
  if (*query != NULL) {
    kp_mesh_destroy(&(*query)->mesh);
    kp_bvh_destroy(&(*query)->bvh);
    kp_free((*query)->dipoles);
    kp_free((*query)->vertex_normals);
    kp_free(*query);
    *query = NULL;
  }
}

const kp_mesh *kp_mesh_query_mesh(const kp_mesh_query *query) {
  return &query->mesh;
}

const kp_bvh *kp_mesh_query_bvh(const kp_mesh_query *query) {
  return &query->bvh;
}

static kp_vec3 weigh(kp_vec3 a, kp_vec3 b, kp_vec3 c, const double w[3]) {
  return kp_vec3_madd(kp_vec3_madd(kp_vec3_scale(a, w[0]), w[1], b), w[2], c);
}

static void set_weights(double w[3], double w0, double w1, double w2) {
  w[0] = w0;
  w[1] = w1;
  w[2] = w2;
}

// Share of the way from the first to the second end of an edge; a denominator of 0 is a point.
static double share(double part, double whole) {
  return whole > 0.0 ? part / whole : 0.0;
}

// The nearer of the edges is exact for slivers whose inside test fails by rounding.
static void closest_on_edges(const kp_vec3 v[3], kp_vec3 p, double w[3]) {
  double best = HUGE_VAL;
  for (int i = 0; i < 3; ++i) {
    int j = (i + 1) % 3;
    kp_vec3 e = kp_vec3_sub(v[j], v[i]);
    double t = share(kp_vec3_dot(kp_vec3_sub(p, v[i]), e), kp_vec3_dot(e, e));
    t = t < 0.0 ? 0.0 : (t > 1.0 ? 1.0 : t);
    kp_vec3 d = kp_vec3_sub(p, kp_vec3_madd(v[i], t, e));
    double d2 = kp_vec3_dot(d, d);
    if (d2 < best) {
      best = d2;
      set_weights(w, 0.0, 0.0, 0.0);
      w[i] = 1.0 - t;
      w[j] = t;
    }
  }
}

kp_vec3 kp_triangle_closest(kp_vec3 a, kp_vec3 b, kp_vec3 c, kp_vec3 p, double weights[3]) {
  kp_vec3 ab = kp_vec3_sub(b, a);
  kp_vec3 ac = kp_vec3_sub(c, a);
  kp_vec3 n = kp_vec3_cross(ab, ac);
  double n2 = kp_vec3_dot(n, n);

  // barycentric weights of the projection; inside when none is negative
  kp_vec3 ap = kp_vec3_sub(p, a);
  double wb = share(kp_vec3_dot(kp_vec3_cross(ap, ac), n), n2);
  double wc = share(kp_vec3_dot(kp_vec3_cross(ab, ap), n), n2);
  if (n2 > 0.0 && wb >= 0.0 && wc >= 0.0 && wb + wc <= 1.0) {
    set_weights(weights, 1.0 - wb - wc, wb, wc);
  } else {
    const kp_vec3 corners[3] = { a, b, c };
    closest_on_edges(corners, p, weights);
  }
  return weigh(a, b, c, weights);
}

// Better hit among the triangles of a leaf.
static void closest_in_leaf(const kp_mesh_query *query, const kp_bvh_node *leaf, kp_vec3 p,
                            kp_mesh_hit *hit, double *best2) {
  const kp_mesh *mesh = &query->mesh;
  for (kp_index k = 0; k < leaf->count; ++k) {
    kp_index t = query->bvh.items[leaf->first + k];
    const kp_index *v = mesh->triangles[t].v;
    double w[3] = { 0.0, 0.0, 0.0 };
    kp_vec3 q =
        kp_triangle_closest(mesh->vertices[v[0]], mesh->vertices[v[1]], mesh->vertices[v[2]], p, w);
    kp_vec3 d = kp_vec3_sub(p, q);
    double d2 = kp_vec3_dot(d, d);
    if (d2 < *best2) {
      *best2 = d2;
      hit->point = q;
      hit->triangle = t;
      set_weights(hit->weights, w[0], w[1], w[2]);
    }
  }
}

kp_mesh_hit kp_mesh_query_closest(const kp_mesh_query *query, kp_vec3 p) {
  kp_mesh_hit hit = { .distance = HUGE_VAL, .triangle = -1 };
  const kp_bvh_node *nodes = query->bvh.nodes;
  kp_index stack[KP_BVH_STACK_SIZE];
  int top = 0;
  if (query->bvh.n_nodes > 0) {
    stack[top++] = 0;
  }
  double best2 = HUGE_VAL;
  while (top > 0) {
    const kp_bvh_node *node = &nodes[stack[--top]];
    if (kp_aabb_distance2(node->box, p) >= best2) {
      continue;
    }
    if (node->count > 0) {
      closest_in_leaf(query, node, p, &hit, &best2);
      continue;
    }

    // the nearer child is popped first
    kp_index left = node->first;
    bool left_nearer =
        kp_aabb_distance2(nodes[left].box, p) <= kp_aabb_distance2(nodes[left + 1].box, p);
    stack[top++] = left_nearer ? left + 1 : left;
    stack[top++] = left_nearer ? left : left + 1;
  }
  hit.distance = sqrt(best2);
  return hit;
}

// Signed solid angle of a triangle seen from the origin (Van Oosterom and Strackee 1983, equation
// 8).
static double solid_angle(kp_vec3 a, kp_vec3 b, kp_vec3 c) {
  double la = kp_vec3_length(a);
  double lb = kp_vec3_length(b);
  double lc = kp_vec3_length(c);
  double numerator = kp_vec3_dot(a, kp_vec3_cross(b, c));
  double denominator =
      la * lb * lc + kp_vec3_dot(a, b) * lc + kp_vec3_dot(b, c) * la + kp_vec3_dot(c, a) * lb;
  return numerator == 0.0 && denominator == 0.0 ? 0.0 : 2.0 * atan2(numerator, denominator);
}

static double leaf_solid_angle(const kp_mesh_query *query, const kp_bvh_node *leaf, kp_vec3 p) {
  double sum = 0.0;
  for (kp_index k = 0; k < leaf->count; ++k) {
    const kp_index *v = query->mesh.triangles[query->bvh.items[leaf->first + k]].v;
    sum += solid_angle(kp_vec3_sub(query->mesh.vertices[v[0]], p),
                       kp_vec3_sub(query->mesh.vertices[v[1]], p),
                       kp_vec3_sub(query->mesh.vertices[v[2]], p));
  }
  return sum;
}

double kp_mesh_query_winding(const kp_mesh_query *query, kp_vec3 p) {
  kp_index stack[KP_BVH_STACK_SIZE];
  int top = 0;
  if (query->bvh.n_nodes > 0) {
    stack[top++] = 0;
  }
  double sum = 0.0;
  while (top > 0) {
    kp_index i = stack[--top];
    const kp_bvh_node *node = &query->bvh.nodes[i];
    const dipole *far = &query->dipoles[i];
    kp_vec3 r = kp_vec3_sub(far->center, p);
    double r2 = kp_vec3_dot(r, r);
    if (r2 > far->far2) {
      sum += kp_vec3_dot(far->area_normal, r) / (r2 * sqrt(r2));
    } else if (node->count > 0) {
      sum += leaf_solid_angle(query, node, p);
    } else {
      stack[top++] = node->first + 1;
      stack[top++] = node->first;
    }
  }
  return sum / FOUR_PI;
}

// Normal of the surface itself at a hit: of the face inside it, blended on edges and corners.
static kp_vec3 surface_normal(const kp_mesh_query *query, const kp_mesh_hit *hit) {
  const double *w = hit->weights;
  if (w[0] > 0.0 && w[1] > 0.0 && w[2] > 0.0) {
    return kp_mesh_triangle_normal(&query->mesh, hit->triangle);
  }
  const kp_index *v = query->mesh.triangles[hit->triangle].v;
  const kp_vec3 *n = query->vertex_normals;
  return kp_vec3_normalize(weigh(n[v[0]], n[v[1]], n[v[2]], w));
}

double kp_mesh_query_distance(const kp_mesh_query *query, kp_vec3 p, kp_vec3 *normal) {
  kp_mesh_hit hit = kp_mesh_query_closest(query, p);
  if (hit.triangle < 0) {
    if (normal != NULL) {
      *normal = kp_vec3_make(0.0, 0.0, 0.0);
    }
    return HUGE_VAL;
  }
  bool inside = kp_aabb_holds(query->bvh.nodes[0].box, p) && kp_mesh_query_winding(query, p) > 0.5;
  double sign = inside ? -1.0 : 1.0;
  if (normal != NULL) {
    *normal = hit.distance > query->touch
                  ? kp_vec3_scale(kp_vec3_sub(p, hit.point), sign / hit.distance)
                  : surface_normal(query, &hit);
  }
  return sign * hit.distance;
}
