#include "methods/common/contact.h"

#include <stdlib.h>
#include <string.h>

#include "base/timer.h"
#include "data/call.h"
#include "methods/common/contact_impl.h"
#include "par/kernel_define.h"
#include "par/parallel.h"

CONTACT_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define ITEM_CHUNK 4096  // items per parallel piece of work
#define BLOCK_CHUNK (ITEM_CHUNK / KP_BOX_LANES)
#define MOST_COLORS 64  // of one round of colouring: bits of a word
// Pairs of the last colours together that are taken by one element, on a card and on cores.
#define FEW_ON_CARD 256
#define FEW_ON_CORES 8192

kp_contact_def kp_default_contact_def(void) {
  return (kp_contact_def){
    .stiffness = 30.0,
    .recovery = 0.1,
    .detection = 1.5,
    .flip = 0.3,
    .thickness = 1e-6,
    .near_rest = 1.5,
    .attempts = 20,
    .history = true,
  };
}

// ---- the mesh

static int compare_keys(const void *a, const void *b) {
  kp_contact_key ka = *(const kp_contact_key *)a;
  kp_contact_key kb = *(const kp_contact_key *)b;
  return (ka > kb) - (ka < kb);
}

void kp_contact_sort(kp_contact_key *keys, kp_contact_key *spare, size_t n) {
  kp_contact_key *from = keys;
  kp_contact_key *to = spare;
  for (int shift = 0; shift < 64; shift += 11) {
    size_t start[2048] = { 0 };
    for (size_t i = 0; i < n; ++i) {
      ++start[from[i] >> shift & 2047];
    }
    if (n > 0 && start[from[0] >> shift & 2047] == n) {
      continue;  // all alike
    }
    size_t sum = 0;
    for (int b = 0; b < 2048; ++b) {
      size_t count = start[b];
      start[b] = sum;
      sum += count;
    }
    for (size_t i = 0; i < n; ++i) {
      to[start[from[i] >> shift & 2047]++] = from[i];
    }
    kp_contact_key *swap = from;
    from = to;
    to = swap;
  }
  if (from != keys) {
    memcpy(keys, from, n * sizeof *keys);
  }
}

// Unique edges of the triangles by their nodes, then the segments.
static kp_result make_edges(kp_contact *c, const kp_contact_mesh *mesh) {
  size_t n = 3 * (size_t)mesh->n_triangles;
  kp_contact_key *keys = kp_alloc(2 * n * sizeof *keys, KP_MEMORY_SCRATCH);
  if (keys == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t k = 0; k < n; ++k) {
    kp_index a = mesh->triangles[k];
    kp_index b = mesh->triangles[k % 3 == 2 ? k - 2 : k + 1];
    keys[k] = a < b ? kp_contact_make_key(false, a, b) : kp_contact_make_key(false, b, a);
  }
  kp_contact_sort(keys, keys + n, n);
  size_t unique = 0;
  for (size_t k = 0; k < n; ++k) {
    if (k == 0 || keys[k] != keys[k - 1]) {
      keys[unique++] = keys[k];
    }
  }
  c->n_surface_edges = (kp_index)unique;
  c->n_edges = (kp_index)unique + mesh->n_segments;
  c->edges = kp_alloc((size_t)c->n_edges * sizeof *c->edges, KP_MEMORY_MESH);
  for (size_t k = 0; c->edges != NULL && k < unique; ++k) {
    c->edges[k][0] = (kp_index)(keys[k] >> 31);
    c->edges[k][1] = (kp_index)(keys[k] & 0x7fffffff);
  }
  for (kp_index k = 0; c->edges != NULL && k < mesh->n_segments; ++k) {
    c->edges[c->n_surface_edges + k][0] = mesh->segments[2 * (size_t)k];
    c->edges[c->n_surface_edges + k][1] = mesh->segments[2 * (size_t)k + 1];
  }
  kp_free(keys);
  return c->edges != NULL ? KP_OK : KP_ERROR_MEMORY;
}

static kp_result copy_mesh(kp_contact *c, const kp_contact_mesh *mesh) {
  size_t n = (size_t)mesh->n_nodes;
  c->n_nodes = mesh->n_nodes;
  c->n_own = mesh->n_nodes - mesh->n_guests;
  c->guests = kp_alloc((size_t)mesh->n_guests * sizeof *c->guests, KP_MEMORY_MESH);
  c->n_triangles = mesh->n_triangles;
  c->n_objects = mesh->n_objects;
  c->triangles = kp_alloc((size_t)mesh->n_triangles * sizeof *c->triangles, KP_MEMORY_MESH);
  c->points = kp_alloc(n * sizeof *c->points, KP_MEMORY_MESH);
  c->object = kp_alloc(n * sizeof *c->object, KP_MEMORY_MESH);
  c->objects = kp_alloc((size_t)mesh->n_objects * sizeof *c->objects, KP_MEMORY_MESH);
  c->rest = kp_alloc(n * sizeof *c->rest, KP_MEMORY_MESH);
  c->h = kp_alloc(n * sizeof *c->h, KP_MEMORY_MESH);
  c->nodes = kp_alloc_zero(n * sizeof *c->nodes, KP_MEMORY_MESH);
  c->node_boxes = kp_alloc(n * sizeof *c->node_boxes, KP_MEMORY_MESH);
  c->wanted = kp_alloc(n * sizeof *c->wanted, KP_MEMORY_MESH);
  c->way = kp_alloc(n * sizeof *c->way, KP_MEMORY_MESH);
  c->used_colors = kp_alloc_zero(n * sizeof *c->used_colors, KP_MEMORY_MESH);
  if (c->triangles == NULL || c->points == NULL || c->object == NULL || c->objects == NULL ||
      c->rest == NULL || c->h == NULL || c->nodes == NULL || c->node_boxes == NULL ||
      c->wanted == NULL || c->way == NULL || c->used_colors == NULL || c->guests == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (mesh->n_triangles > 0) {
    memcpy(c->triangles, mesh->triangles, (size_t)mesh->n_triangles * sizeof *c->triangles);
  }
  memcpy(c->object, mesh->object, n * sizeof *c->object);
  memcpy(c->objects, mesh->objects, (size_t)mesh->n_objects * sizeof *c->objects);
  memcpy(c->h, mesh->h, n * sizeof *c->h);
  for (size_t i = 0; i < n; ++i) {
    c->rest[i] = kp_vec3_make(mesh->rest[0][i], mesh->rest[1][i], mesh->rest[2][i]);
  }
  for (kp_index i = c->n_own; i < c->n_nodes; ++i) {
    c->guests[i - c->n_own][0] = c->guests[i - c->n_own][1] = c->rest[i];
  }
  KP_TRY(kp_contact_bodies_create(c, mesh));
  // nodes of triangles, in order
  for (kp_index t = 0; t < c->n_triangles; ++t) {
    for (int k = 0; k < 3; ++k) {
      c->nodes[c->triangles[t][k]].is_touched = 1;
    }
  }
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    if (c->nodes[i].is_touched) {
      c->points[c->n_points++] = i;
      c->nodes[i].is_touched = 0;
    }
  }
  return make_edges(c, mesh);
}

static kp_result fill(kp_contact *c, const kp_contact_mesh *mesh) {
  KP_TRY(copy_mesh(c, mesh));
  KP_TRY(kp_box_tree_build(c->rest, c->points, 1, c->n_points, &c->point_tree));
  KP_TRY(kp_box_tree_build(c->rest, (const kp_index *)c->triangles, 3, c->n_triangles,
                           &c->triangle_tree));
  KP_TRY(kp_box_tree_build(c->rest, (const kp_index *)c->edges, 2, c->n_edges, &c->edge_tree));
  c->chunks = kp_alloc_zero(2 * KP_BOX_TASKS * sizeof *c->chunks, KP_MEMORY_MESH);
  if (c->chunks == NULL) {
    return KP_ERROR_MEMORY;
  }
  return kp_contact_zones_create(&c->zones, c->n_nodes);
}

kp_result kp_contact_create(kp_backend *backend, const kp_contact_def *def,
                            const kp_contact_mesh *mesh, kp_contact **out) {
  kp_contact *c = kp_alloc_zero(sizeof *c, KP_MEMORY_MESH);
  if (c == NULL) {
    return KP_ERROR_MEMORY;
  }
  c->backend = backend;
  c->def = *def;
  kp_buffer_init(&c->pair_buffer, backend);
  kp_buffer_init(&c->stances, backend);
  kp_result result = fill(c, mesh);
  if (result != KP_OK) {
    kp_contact_destroy(&c);
  }
  *out = c;
  return result;
}

void kp_contact_destroy(kp_contact **contact) {
  kp_contact *c = *contact;
  if (c == NULL) {
    return;
  }
  kp_free(c->triangles);
  kp_free(c->edges);
  kp_free(c->points);
  kp_free(c->object);
  kp_free(c->objects);
  kp_free(c->rest);
  kp_free(c->h);
  kp_free(c->nodes);
  kp_free(c->guests);
  kp_contact_bodies_destroy(c);
  kp_free(c->node_boxes);
  kp_free(c->wanted);
  kp_free(c->way);
  kp_free(c->used_colors);
  kp_box_tree_destroy(&c->point_tree);
  kp_box_tree_destroy(&c->triangle_tree);
  kp_box_tree_destroy(&c->edge_tree);
  kp_contact_zones_destroy(&c->zones);
  for (kp_index k = 0; c->chunks != NULL && k < 2 * KP_BOX_TASKS; ++k) {
    kp_array_free(&c->chunks[k].list);
  }
  kp_free(c->chunks);
  kp_array_free(&c->ignored);
  kp_array_free(&c->found);
  kp_array_free(&c->spare);
  kp_array_free(&c->near);
  kp_array_free(&c->pairs);
  kp_array_free(&c->colors);
  kp_array_free(&c->color_start[0]);
  kp_array_free(&c->color_start[1]);
  kp_buffer_free(&c->pair_buffer);
  kp_buffer_free(&c->stances);
  kp_free(c);
  *contact = NULL;
}

static void clamp_edge(const kp_contact_mesh *mesh, kp_index a, kp_index b, double part,
                       double *h) {
  kp_vec3 d = kp_vec3_make(mesh->rest[0][a] - mesh->rest[0][b], mesh->rest[1][a] - mesh->rest[1][b],
                           mesh->rest[2][a] - mesh->rest[2][b]);
  double most = part * kp_vec3_length(d);
  h[a] = fmin(h[a], most);
  h[b] = fmin(h[b], most);
}

void kp_contact_clamp(const kp_contact_mesh *mesh, double part, double *h) {
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_index *n = mesh->triangles + 3 * (size_t)t;
    for (int k = 0; k < 3; ++k) {
      clamp_edge(mesh, n[k], n[(k + 1) % 3], part, h);
    }
  }
  for (kp_index s = 0; s < mesh->n_segments; ++s) {
    clamp_edge(mesh, mesh->segments[2 * (size_t)s], mesh->segments[2 * (size_t)s + 1], part, h);
  }
}

kp_result kp_contact_ignore(kp_contact *contact, const kp_index (*pairs)[2], size_t n) {
  KP_TRY(kp_array_resize(&contact->ignored, n));
  KP_TRY(kp_array_reserve(&contact->spare, n));
  for (size_t k = 0; k < n; ++k) {
    kp_index first = contact->n_surface_edges;
    contact->ignored.data[k] = kp_contact_make_key(true, first + pairs[k][0], first + pairs[k][1]);
  }
  kp_contact_sort(contact->ignored.data, contact->spare.data, n);
  return KP_OK;
}

void kp_contact_guide(kp_contact *c, const kp_vec3 *from, const kp_vec3 *to) {
  for (kp_index k = 0; k < c->n_nodes - c->n_own; ++k) {
    c->guests[k][0] = from[k];
    c->guests[k][1] = to[k];
  }
}

const kp_contact_report *kp_contact_told(const kp_contact *contact) {
  return &contact->report;
}

void kp_contact_clear(kp_contact *contact) {
  contact->report = (kp_contact_report){ 0 };
}

// ---- searches

bool kp_contact_may_meet(const kp_contact *c, kp_contact_key key, const kp_index node[4]) {
  bool is_edges = kp_contact_is_edges(key);
  kp_index a = c->object[node[0]];
  kp_index b = c->object[node[3]];
  uint32_t fa = c->objects[a].flags;
  uint32_t fb = c->objects[b].flags;
  if (a == b && (fa & KP_CONTACT_NO_SELF)) {
    return false;
  }
  if (fa & fb & KP_CONTACT_GUEST) {
    return false;
  }
  if ((fa | fb) & KP_CONTACT_GUEST) {
    // hair is thin enough for its nodes alone; what is led goes where it is told
    double masses = 0.0;
    for (int k = 0; k < 4; ++k) {
      masses += c->nodes[node[k]].inverse_mass;
    }
    return masses > 0.0 && !((fa | fb) & KP_CONTACT_HAIR);
  }
  if (!is_edges) {
    return !((fa | fb) & KP_CONTACT_HAIR);
  }
  return c->ignored.count == 0 ||
         bsearch(&key, c->ignored.data, c->ignored.count, sizeof key, compare_keys) == NULL;
}

// Squared distance of the two sides at places x.
static double distance2(bool is_edges, const kp_vec3 x[4], double weight[4]) {
  return is_edges ? kp_closest_edge_edge(x, weight) : kp_closest_point_triangle(x, weight);
}

// h of a pair at its closest points.
static double pair_thickness(const kp_contact *c, const kp_index n[4], const double weight[4]) {
  double sum = 0.0;
  for (int k = 0; k < 4; ++k) {
    sum += 0.5 * fabs(weight[k]) * c->h[n[k]];
  }
  return sum;
}

double kp_contact_h(const kp_contact *c, bool is_edges, const kp_index n[4],
                    const double weight[4]) {
  double h = pair_thickness(c, n, weight);
  if (c->object[n[0]] != c->object[n[3]]) {
    return h;
  }
  double rest_weight[4];
  const kp_vec3 x[4] = { c->rest[n[0]], c->rest[n[1]], c->rest[n[2]], c->rest[n[3]] };
  double near = c->def.near_rest * h;
  return distance2(is_edges, x, rest_weight) < near * near ? 0.0 : h;
}

kp_result kp_contact_load(kp_contact *c, kp_buffer from[3], kp_buffer x[3], kp_buffer *inverse_mass,
                          kp_buffer *hold) {
  const double *p[3];
  const double *q[3];
  for (int k = 0; k < 3; ++k) {
    p[k] = kp_buffer_host(&from[k], KP_ACCESS_READ);
    q[k] = x != NULL ? kp_buffer_host(&x[k], KP_ACCESS_READ) : p[k];
    if (p[k] == NULL || q[k] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  const kp_real *w = kp_buffer_host(inverse_mass, KP_ACCESS_READ);
  const uint8_t *held = hold != NULL ? kp_buffer_host(hold, KP_ACCESS_READ) : NULL;
  if (w == NULL || (hold != NULL && held == NULL)) {
    return KP_ERROR_MEMORY;
  }
  for (kp_index i = c->n_own; i < c->n_nodes; ++i) {
    const kp_vec3 *way = c->guests[i - c->n_own];
    c->nodes[i] = (kp_contact_node){ .from = way[0], .to = x != NULL ? way[1] : way[0], .hold = 7 };
  }
  kp_contact_bodies_load(c, x != NULL);
  for (kp_index i = 0; i < c->n_own; ++i) {
    c->nodes[i] = (kp_contact_node){
      .from = { p[0][i], p[1][i], p[2][i] },
      .to = { q[0][i], q[1][i], q[2][i] },
      .inverse_mass = (double)w[i],
      .hold = held != NULL ? held[i] : 0,
    };
  }
  return KP_OK;
}

typedef struct box_job {
  kp_contact *c;
  kp_box_tree *tree;
  double margin;  // of what moves
  double part;    // of h: of what is still
  bool only_moved, is_still;
} box_job;

static void make_node_boxes(int64_t begin, int64_t end, void *user) {
  const box_job *job = user;
  kp_contact *c = job->c;
  for (int64_t i = begin; i < end; ++i) {
    const kp_contact_node *node = &c->nodes[i];
    if (job->is_still) {
      kp_box_settle(&c->node_boxes[i], node->from, job->part * c->h[i]);
    } else if (!job->only_moved || node->is_moved) {
      kp_box_set(&c->node_boxes[i], node->from, node->to, job->margin);
    }
  }
}

static bool is_item_moved(const kp_contact *c, const kp_box_block *block, int lane) {
  return (c->nodes[block->corner[0][lane]].is_moved | c->nodes[block->corner[1][lane]].is_moved |
          c->nodes[block->corner[2][lane]].is_moved) != 0;
}

static void make_boxes(int64_t begin, int64_t end, void *user) {
  const box_job *job = user;
  const kp_contact *c = job->c;
  for (int64_t b = begin; b < end; ++b) {
    kp_box_block *block = &job->tree->blocks[b];
    uint32_t marks = 0;
    for (int l = 0; l < KP_BOX_LANES && block->item[l] >= 0; ++l) {
      if (!job->only_moved || is_item_moved(c, block, l)) {
        marks |= 1u << l;
        if (job->is_still) {
          kp_box_block_settle(block, l, c->node_boxes);
        } else {
          kp_box_block_join(block, l, c->node_boxes);
        }
      }
    }
    job->tree->marks[b] = (uint16_t)marks;
  }
}

static void make_all_boxes(box_job *job) {
  kp_contact *c = job->c;
  kp_box_tree *trees[3] = { &c->point_tree, &c->triangle_tree, &c->edge_tree };
  kp_parallel_for(c->n_nodes, ITEM_CHUNK, make_node_boxes, job);
  for (int k = 0; k < 3; ++k) {
    job->tree = trees[k];
    job->tree->is_still = job->is_still;
    kp_parallel_for(job->tree->n_blocks, BLOCK_CHUNK, make_boxes, job);
    kp_box_tree_refit(job->tree, job->only_moved);
  }
}

void kp_contact_boxes(kp_contact *c, double margin, bool only_moved) {
  box_job job = { .c = c, .margin = margin, .only_moved = only_moved };
  make_all_boxes(&job);
}

typedef struct search_job {
  kp_contact *c;
  kp_contact_test_fn test;
  const kp_box_walk *walks;  // faces, edges
  const kp_box_task *tasks;
  int n_faces;  // tasks of the first walk
  // of one task
  kp_contact_keys *keys;
  bool is_edges;
  int64_t n_tested;
  kp_result result;
} search_job;

static void take_pair(kp_index i, kp_index j, void *user) {
  search_job *job = user;
  kp_index node[4];
  kp_contact_key key = job->is_edges && i > j ? kp_contact_make_key(true, j, i)
                                              : kp_contact_make_key(job->is_edges, i, j);
  kp_contact_nodes_of(job->c, key, node);
  ++job->n_tested;
  if (job->test(job->c, key, node) && kp_array_push(&job->keys->list, key) != KP_OK) {
    job->result = KP_ERROR_MEMORY;
  }
}

// The first entry of a task's list is how many pairs it tested, or ~0 where memory ran out.
static void search_tasks(int64_t begin, int64_t end, void *user) {
  const search_job *all = user;
  for (int64_t k = begin; k < end; ++k) {
    search_job job = *all;
    job.is_edges = k >= all->n_faces;
    job.keys = &all->c->chunks[k];
    job.keys->list.count = 0;
    if (kp_array_push(&job.keys->list, 0) != KP_OK) {
      continue;
    }
    kp_box_tree_pairs(&all->walks[job.is_edges], all->tasks[k], take_pair, &job);
    job.keys->list.data[0] =
        job.result == KP_OK ? (kp_contact_key)job.n_tested : ~(kp_contact_key)0;
  }
}

kp_result kp_contact_search(kp_contact *c, kp_contact_test_fn test, bool only_marked,
                            int64_t *n_tested) {
  const kp_box_walk walks[2] = { { &c->point_tree, &c->triangle_tree, only_marked },
                                 { &c->edge_tree, &c->edge_tree, only_marked } };
  kp_box_task tasks[2 * KP_BOX_TASKS];
  int n_faces = kp_box_tree_split(&walks[0], tasks);
  int n_tasks = n_faces + kp_box_tree_split(&walks[1], tasks + n_faces);
  search_job job = { .c = c, .test = test, .walks = walks, .tasks = tasks, .n_faces = n_faces };
  kp_parallel_for(n_tasks, 1, search_tasks, &job);
  c->found.count = 0;
  size_t n = 0;
  for (int k = 0; k < n_tasks; ++k) {
    if (c->chunks[k].list.count == 0 || c->chunks[k].list.data[0] == ~(kp_contact_key)0) {
      return KP_ERROR_MEMORY;
    }
    *n_tested += (int64_t)c->chunks[k].list.data[0];
    n += c->chunks[k].list.count - 1;
  }
  KP_TRY(kp_array_reserve(&c->found, n));
  KP_TRY(kp_array_reserve(&c->spare, n));
  for (int k = 0; k < n_tasks; ++k) {
    size_t count = c->chunks[k].list.count - 1;
    if (count > 0) {
      memcpy(c->found.data + c->found.count, c->chunks[k].list.data + 1,
             count * sizeof(kp_contact_key));
    }
    c->found.count += count;
  }
  kp_contact_sort(c->found.data, c->spare.data, n);
  return KP_OK;
}

// ---- A: pairs that are near

static bool is_near(const kp_contact *c, kp_contact_key key, const kp_index n[4]) {
  bool is_edges = kp_contact_is_edges(key);
  if (n[0] >= c->n_own || n[3] >= c->n_own) {
    return false;
  }
  kp_vec3 x[4];
  double weight[4];
  double masses = 0.0;
  for (int k = 0; k < 4; ++k) {
    x[k] = c->nodes[n[k]].from;
    masses += c->nodes[n[k]].inverse_mass;
  }
  double d2 = distance2(is_edges, x, weight);
  double reach = c->def.detection * pair_thickness(c, n, weight);
  return d2 < reach * reach && masses > 0.0 && kp_contact_may_meet(c, key, n) &&
         kp_contact_h(c, is_edges, n, weight) > 0.0;
}

// Pair of a key, with its side in the collision-free state.
static void fill_pair(const kp_contact *c, kp_contact_key key, contact_pair *pair) {
  kp_index n[4];
  double weight[4];
  bool is_edges = kp_contact_is_edges(key);
  kp_contact_nodes_of(c, key, n);
  kp_vec3 x[4];
  for (int k = 0; k < 4; ++k) {
    x[k] = c->nodes[n[k]].from;
    pair->node[k] = n[k];
  }
  distance2(is_edges, x, weight);
  kp_vec3 side = { 0.0, 0.0, 0.0 };
  if (is_edges) {
    for (int k = 0; k < 4; ++k) {
      side = kp_vec3_madd(side, weight[k], kp_vec3_sub(x[k], x[0]));
    }
    side = kp_vec3_normalize(side);
  } else {
    kp_vec3 normal = kp_vec3_cross(kp_vec3_sub(x[1], x[0]), kp_vec3_sub(x[2], x[0]));
    if (kp_vec3_dot(normal, kp_vec3_sub(x[3], x[0])) < 0.0) {
      pair->node[1] = n[2];
      pair->node[2] = n[1];
    }
  }
  pair->h = (kp_real)pair_thickness(c, n, weight);
  pair->friction =
      (kp_real)sqrt(c->objects[c->object[n[0]]].friction * c->objects[c->object[n[3]]].friction);
  pair->side[0] = (kp_real)side.x;
  pair->side[1] = (kp_real)side.y;
  pair->side[2] = (kp_real)side.z;
}

static void fill_pairs(int64_t begin, int64_t end, void *user) {
  kp_contact *c = user;
  for (int64_t k = begin; k < end; ++k) {
    fill_pair(c, c->found.data[k], &c->pairs.data[k]);
  }
}

// Colours of pairs begin ... end - 1 from `base` on, in their order: the lowest that none of the
// free nodes has yet. At most MOST_COLORS; pairs that find none keep 255 and wait for the next
// round. How many wait.
static size_t color_round(kp_contact *c, size_t begin, size_t end) {
  size_t waiting = 0;
  for (kp_index i = 0; i < c->n_nodes; ++i) {
    c->used_colors[i] = 0;
  }
  for (size_t k = begin; k < end; ++k) {
    if (c->colors.data[k] != 255) {
      continue;
    }
    uint64_t used = 0;
    for (int m = 0; m < 4; ++m) {
      int32_t i = c->pairs.data[k].node[m];
      used |= c->nodes[i].inverse_mass > 0.0 ? c->used_colors[i] : 0;
    }
    if (used == UINT64_MAX) {
      ++waiting;
      continue;
    }
    int color = 0;
    while (used >> color & 1) {
      ++color;
    }
    c->colors.data[k] = (uint8_t)color;
    for (int m = 0; m < 4; ++m) {
      c->used_colors[c->pairs.data[k].node[m]] |= (uint64_t)1 << color;
    }
  }
  return waiting;
}

// Appends the pairs that got a colour in this round to `out`, colour by colour, and the starts of
// the colours.
static kp_result sort_colors(kp_contact *c, size_t begin, size_t end, int kind, contact_pair *out,
                             int64_t *n_out) {
  int64_t start[MOST_COLORS + 1] = { 0 };
  for (size_t k = begin; k < end; ++k) {
    if (c->colors.data[k] < MOST_COLORS) {
      ++start[c->colors.data[k] + 1];
    }
  }
  int n_colors = 0;
  for (int b = 0; b < MOST_COLORS; ++b) {
    n_colors = start[b + 1] > 0 ? b + 1 : n_colors;
    start[b + 1] += start[b];
  }
  for (int b = 0; b < n_colors; ++b) {
    KP_TRY(kp_array_push(&c->color_start[kind], *n_out + start[b]));
  }
  int64_t first = *n_out;
  for (size_t k = begin; k < end; ++k) {
    if (c->colors.data[k] < MOST_COLORS) {
      out[first + start[c->colors.data[k]]++] = c->pairs.data[k];
      c->colors.data[k] = 254;  // done
      ++*n_out;
    }
  }
  return KP_OK;
}

// Colours, faces first, and pairs in their order to the device.
static kp_result color_pairs(kp_contact *c, size_t n_faces) {
  size_t n = c->pairs.count;
  KP_TRY(kp_array_resize(&c->colors, n));
  KP_TRY(kp_buffer_resize(&c->pair_buffer, n * sizeof(contact_pair)));
  KP_TRY(kp_buffer_resize(&c->stances, n * sizeof(contact_stance)));
  contact_pair *out = kp_buffer_host(&c->pair_buffer, KP_ACCESS_OVERWRITE);
  if (out == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (n > 0) {
    memset(c->colors.data, 255, n);
  }
  int64_t n_out = 0;
  for (int kind = 0; kind < 2; ++kind) {
    size_t begin = kind == 0 ? 0 : n_faces;
    size_t end = kind == 0 ? n_faces : n;
    c->color_start[kind].count = 0;
    size_t waiting = end - begin;
    while (waiting > 0) {
      waiting = color_round(c, begin, end);
      KP_TRY(sort_colors(c, begin, end, kind, out, &n_out));
    }
    KP_TRY(kp_array_push(&c->color_start[kind], n_out));
  }
  return KP_OK;
}

kp_result kp_contact_find(kp_contact *c, kp_buffer x[3], kp_buffer *inverse_mass) {
  double begin = kp_time_now();
  KP_TRY(kp_contact_load(c, x, NULL, inverse_mass, NULL));
  box_job boxes = { .c = c, .part = 0.5 * c->def.detection, .is_still = true };
  make_all_boxes(&boxes);
  int64_t n_tested = 0;
  KP_TRY(kp_contact_search(c, is_near, false, &n_tested));
  KP_TRY(kp_array_resize(&c->pairs, c->found.count));
  KP_TRY(kp_array_resize(&c->near, c->found.count));
  for (size_t k = 0; k < c->found.count; ++k) {
    c->near.data[k] = c->found.data[k];
  }
  kp_parallel_for((int64_t)c->found.count, ITEM_CHUNK, fill_pairs, c);
  size_t n_faces = 0;
  while (n_faces < c->found.count && !kp_contact_is_edges(c->found.data[n_faces])) {
    ++n_faces;
  }
  KP_TRY(color_pairs(c, n_faces));
  kp_contact_report *r = &c->report;
  int64_t n_colors = (int64_t)(c->color_start[0].count + c->color_start[1].count) - 2;
  r->n_faces += (int64_t)n_faces;
  r->n_edges += (int64_t)(c->found.count - n_faces);
  r->n_colors = n_colors > r->n_colors ? n_colors : r->n_colors;
  r->find += kp_time_now() - begin;
  return kp_contact_measure(c, x);
}

// ---- B: repulsion

kp_result kp_contact_measure(kp_contact *c, kp_buffer x[3]) {
  double begin = kp_time_now();
  contact_faces_args a = { .flip = (kp_real)c->def.flip,
                           .reach = (kp_real)c->def.detection,
                           .has_history = c->def.history };
  for (int kind = 0; kind < 2; ++kind) {
    const int64_t *start = c->color_start[kind].data;
    int64_t end = c->color_start[kind].count > 0 ? start[c->color_start[kind].count - 1] : 0;
    kp_call call;
    kp_call_init(&call, kind == 0 ? &contact_faces_kernel : &contact_edges_kernel, &a);
    KP_BIND(&call, &a, pairs, &c->pair_buffer, KP_ACCESS_READ);
    KP_BIND(&call, &a, stances, &c->stances, KP_ACCESS_WRITE);
    KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
    KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
    if (end > a.first) {
      KP_TRY(kp_call_run(c->backend, &call, end - a.first));
    }
    a.first = end;
  }
  c->report.repulse += kp_time_now() - begin;
  return KP_OK;
}

// One call per colour; the last colours, which have few pairs each, are taken by one element
// together, one pair after the other: that costs less than dozens of calls. Pairs stand in the
// order of colours, so how many are taken so changes no bit.
static kp_result run_colors(kp_contact *c, kp_call *call, contact_repel_args *a, int kind) {
  const int64_t *start = c->color_start[kind].data;
  size_t n = c->color_start[kind].count - 1;
  size_t n_wide = n;
  int64_t few = c->backend->vt->kind == KP_BACKEND_CUDA ? FEW_ON_CARD : FEW_ON_CORES;
  while (n_wide > 0 && start[n] - start[n_wide - 1] <= few) {
    --n_wide;
  }
  for (size_t k = 0; k < n_wide; ++k) {
    a->first = start[k];
    a->end = start[k + 1];
    a->run = 1;
    KP_TRY(kp_call_run(c->backend, call, a->end - a->first));
  }
  a->first = start[n_wide];
  a->end = start[n];
  a->run = a->end - a->first;
  return a->run > 0 ? kp_call_run(c->backend, call, 1) : KP_OK;
}

kp_result kp_contact_repulse(kp_contact *c, kp_contact_law law, kp_buffer v[3],
                             kp_buffer *inverse_mass, kp_buffer *hold, double dt) {
  double begin = kp_time_now();
  if (c->color_start[0].count == 0) {
    return KP_OK;  // nothing was looked for yet
  }
  contact_repel_args a = {
    .stiffness = (kp_real)(c->def.stiffness * dt),
    .recovery = (kp_real)(c->def.recovery / dt),
    .is_elastic = law == KP_CONTACT_MOVING,
    .has_friction = law == KP_CONTACT_FINAL,
  };
  kp_call call;
  kp_call_init(&call, &contact_repel_kernel, &a);
  KP_BIND(&call, &a, pairs, &c->pair_buffer, KP_ACCESS_READ);
  KP_BIND(&call, &a, stances, &c->stances, KP_ACCESS_READ);
  KP_BIND(&call, &a, vx, &v[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, vy, &v[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, vz, &v[2], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, inverse_mass, inverse_mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, hold, KP_ACCESS_READ);
  for (int kind = 0; kind < 2; ++kind) {
    KP_TRY(run_colors(c, &call, &a, kind));
  }
  c->report.repulse += kp_time_now() - begin;
  return KP_OK;
}
