// Laws of surfaces, whatever the samples are: every edge belongs to two triangles, seen from
// outside they run counter-clockwise, none has collapsed; each cell cuts its faces as its
// neighbours do; blocks give what one lattice gives; memory follows the particles.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geom/marching_cubes_table.h"
#include "geom/marching_squares.h"
#include "geom/mesh.h"
#include "geom/mesh_smooth.h"
#include "geom/particle_surface.h"
#include "par/parallel.h"

#include "support/claims.h"

#define D 0.05

static kp_mesh as_mesh(const kp_isosurface *s) {
  kp_mesh mesh;
  assert_ok(kp_mesh_create((kp_index)s->n_vertices, (kp_index)s->n_triangles, &mesh));
  memcpy(mesh.vertices, s->vertices, (size_t)s->n_vertices * sizeof *mesh.vertices);
  for (int64_t i = 0; i < 3 * s->n_triangles; ++i) {
    assert_true(s->triangles[i] < s->n_vertices);
    mesh.triangles[i / 3].v[i % 3] = (kp_index)s->triangles[i];
  }
  return mesh;
}

// Closed, oriented, and every triangle has an area and a vertex normal on its side.
static void check_laws(const kp_isosurface *s, double spacing) {
  if (s->n_triangles == 0) {
    return;
  }
  kp_mesh mesh = as_mesh(s);
  assert_ok(kp_mesh_check_closed(&mesh));
  assert_true(kp_mesh_volume(&mesh) > 0.0);
  for (int64_t t = 0; t < s->n_triangles; ++t) {
    const uint32_t *v = &s->triangles[3 * t];
    kp_vec3 a = s->vertices[v[0]];
    kp_vec3 n = kp_vec3_cross(kp_vec3_sub(s->vertices[v[1]], a), kp_vec3_sub(s->vertices[v[2]], a));
    assert_true(kp_vec3_length(n) > 1e-7 * spacing * spacing);
  }
  kp_mesh_destroy(&mesh);
}

// ---- cells

// Corners of the faces of a cell, counter-clockwise seen from outside, as a person would list them.
static const int faces[6][4] = { { 0, 4, 6, 2 }, { 1, 3, 7, 5 }, { 0, 1, 5, 4 },
                                 { 2, 6, 7, 3 }, { 0, 2, 3, 1 }, { 4, 5, 7, 6 } };

static int edge_of(int a, int b) {
  for (int e = 0; e < KP_CUBE_EDGES; ++e) {
    int corners[2];
    kp_cube_edge(e, corners);
    if ((corners[0] == a && corners[1] == b) || (corners[0] == b && corners[1] == a)) {
      return e;
    }
  }
  fail_msg("no edge between corners %d and %d", a, b);
  return -1;
}

// Marching squares on each face: every inside corner whose neighbour on the walk is outside ends a
// stretch of inside corners; the cut runs from where that stretch begins to where it ends. Counts
// each directed cut.
static void expect_cuts(int inside, int cuts[KP_CUBE_EDGES][KP_CUBE_EDGES]) {
  memset(cuts, 0, sizeof(int[KP_CUBE_EDGES][KP_CUBE_EDGES]));
  for (int f = 0; f < 6; ++f) {
    for (int c = 0; c < 4; ++c) {
      int here = faces[f][c], next = faces[f][(c + 1) % 4];
      if ((inside >> here & 1) == 0 || (inside >> next & 1) != 0) {
        continue;
      }
      int first = c;
      while ((inside >> faces[f][(first + 3) % 4] & 1) != 0) {
        first = (first + 3) % 4;
      }
      int into = edge_of(faces[f][(first + 3) % 4], faces[f][first]), out = edge_of(here, next);
      ++cuts[into][out];
    }
  }
}

// All 256 cells: the rim of their triangles is what marching squares makes of their faces,
// whichever of the two diagonal corners of an ambiguous face are inside. Two cells that share a
// face see it from both sides, so their rims run against each other and the surface has no hole.
static void test_cells(void **state) {
  (void)state;
  int64_t n_wrong = 0;
  kp_cube_table table;
  kp_cube_table_make(&table);
  int n_ambiguous = 0;
  for (int inside = 0; inside < 256; ++inside) {
    int expected[KP_CUBE_EDGES][KP_CUBE_EDGES], sides[KP_CUBE_EDGES][KP_CUBE_EDGES] = { 0 };
    expect_cuts(inside, expected);
    for (int t = 0; t < table.n_triangles[inside]; ++t) {
      const uint8_t *e = &table.edges[inside][3 * t];
      for (int c = 0; c < 3; ++c) {
        ++sides[e[c]][e[(c + 1) % 3]];
      }
    }
    for (int a = 0; a < KP_CUBE_EDGES; ++a) {
      for (int b = 0; b < KP_CUBE_EDGES; ++b) {
        int rim = sides[a][b] - sides[b][a], wanted = expected[a][b] - expected[b][a];
        if (rim != wanted) {
          print_message("case %d: the side %d-%d counts %d, not %d\n", inside, a, b, rim, wanted);
          ++n_wrong;
        }
      }
    }
    for (int f = 0; f < 6; ++f) {
      int pattern = 0;
      for (int c = 0; c < 4; ++c) {
        pattern |= (inside >> faces[f][c] & 1) << c;
      }
      n_ambiguous += pattern == 5 || pattern == 10 ? 1 : 0;
    }
  }
  kp_claim claim = { .id = "lyes-L58",
                     .text = "the tables of marching cubes cut faces as marching squares does",
                     .size = "all 256 cells" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "sides that differ", (double)n_wrong, KP_AT_MOST, 0.0 },
                   { "ambiguous faces among them", n_ambiguous, KP_AT_LEAST, 192.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  assert_int_equal(n_ambiguous, 6 * 2 * 16);
}

static int64_t n_closed;  // random lattices whose surface is

// Small lattices of random samples inside a rim that is outside.
static void test_small(void **state) {
  (void)state;
  kp_isosurface s = { 0 };
  kp_test_random random = kp_test_random_begin(5);
  float values[5 * 5 * 5];
  for (int turn = 0; turn < 20000; ++turn) {
    int n = turn % 2 == 0 ? 4 : 5;
    kp_lattice l = { .values = values, .n = { n, n, n }, .row = n, .slab = n * n, .spacing = 1.0 };
    for (int i = 0; i < n * n * n; ++i) {
      const int at[3] = { i % n, i / n % n, i / n / n };
      bool is_rim = false;
      for (int c = 0; c < 3; ++c) {
        is_rim = is_rim || at[c] == 0 || at[c] == n - 1;
      }
      values[i] = is_rim ? 1.0f : (float)kp_test_uniform(&random, -1.0, 1.0);
    }
    assert_ok(kp_marching_cubes(&l, 0.0f, &s));
    check_laws(&s, 1.0);
    ++n_closed;
  }
  kp_isosurface_free(&s);
}

// Squares: every vertex ends one piece and begins one, areas are those of bodies, and holes count
// against them.
static void test_squares(void **state) {
  (void)state;
  int64_t n_rings = 0;
  kp_isolines lines = { 0 };
  kp_test_random random = kp_test_random_begin(6);
  float values[9 * 9];
  for (int turn = 0; turn < 20000; ++turn) {
    int n = turn % 3 == 0 ? 4 : 9;
    kp_lattice l = { .values = values, .n = { n, n, 1 }, .row = n, .slab = n * n, .spacing = 1.0 };
    int n_inside = 0;
    for (int i = 0; i < n * n; ++i) {
      bool is_rim = i % n == 0 || i % n == n - 1 || i / n == 0 || i / n == n - 1;
      values[i] = is_rim ? 1.0f : (float)kp_test_uniform(&random, -1.0, 1.0);
      n_inside += values[i] < 0.0f ? 1 : 0;
    }
    assert_ok(kp_marching_squares(&l, 0, 0.0f, &lines));
    int begins[4 * 81] = { 0 }, ends[4 * 81] = { 0 };
    assert_int_equal(lines.n_vertices, lines.n_pieces);
    for (int64_t i = 0; i < lines.n_pieces; ++i) {
      ++begins[lines.pieces[2 * i]];
      ++ends[lines.pieces[2 * i + 1]];
      assert_true(lines.pieces[2 * i] != lines.pieces[2 * i + 1]);
    }
    for (int64_t v = 0; v < lines.n_vertices; ++v) {
      assert_int_equal(begins[v], 1);
      assert_int_equal(ends[v], 1);
    }
    assert_true(n_inside > 0 ? kp_isolines_area(&lines) > 0.0 : lines.n_pieces == 0);
    ++n_rings;
  }
  // a ring
  enum { SIDE = 101 };
  static float ring[SIDE * SIDE];
  kp_lattice l = { .values = ring, .n = { SIDE, SIDE, 1 }, .row = SIDE, .slab = SIDE * SIDE };
  l.spacing = 0.02;
  l.origin = kp_vec3_make(-1.0, -1.0, 0.5);
  for (int i = 0; i < SIDE * SIDE; ++i) {
    kp_vec3 p = kp_vec3_madd(l.origin, l.spacing, kp_vec3_make(i % SIDE, i / SIDE, 0));
    ring[i] = (float)(fabs(sqrt(p.x * p.x + p.y * p.y) - 0.6) - 0.2);
  }
  assert_ok(kp_marching_squares(&l, 0, 0.0f, &lines));
  double area = kp_isolines_area(&lines) / (3.14159265358979 * (0.64 - 0.16));
  kp_claim claim = { .id = "hong-H32",
                     .text = "lines of marching squares and surfaces of marching cubes are closed",
                     .size = "20,000 random lattices of each, a ring in 2D" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "lattices with a closed surface", (double)n_closed, KP_AT_LEAST, 20000.0 },
      { "lattices with closed lines", (double)n_rings, KP_AT_LEAST, 20000.0 },
      { "area of the ring against its own, share", fabs(area - 1.0), KP_AT_MOST, 2e-3 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_isolines_free(&lines);
}

// ---- blocks

static int compare_places(const void *a, const void *b) {
  const double *x = a, *y = b;
  for (int c = 0; c < 3; ++c) {
    if (x[c] != y[c]) {
      return x[c] < y[c] ? -1 : 1;
    }
  }
  return 0;
}

// The middles of triangles, sorted: equal for equal meshes in any order.
static double *middles_of(const kp_isosurface *s) {
  double *out = kp_alloc((size_t)s->n_triangles * 3 * sizeof *out, KP_MEMORY_TEST);
  for (int64_t t = 0; t < s->n_triangles; ++t) {
    kp_vec3 sum = kp_vec3_make(0, 0, 0);
    for (int c = 0; c < 3; ++c) {
      sum = kp_vec3_add(sum, s->vertices[s->triangles[3 * t + c]]);
    }
    // rounded: the three vertices are not added in the same order
    out[3 * t] = round(1e7 * sum.x);
    out[3 * t + 1] = round(1e7 * sum.y);
    out[3 * t + 2] = round(1e7 * sum.z);
  }
  qsort(out, (size_t)s->n_triangles, 3 * sizeof *out, compare_places);
  return out;
}

// All samples of the blocks, and what lies between them, on one lattice.
static kp_lattice as_lattice(const kp_blocks *b) {
  int32_t lo[3] = { INT32_MAX, INT32_MAX, INT32_MAX }, hi[3] = { INT32_MIN, INT32_MIN, INT32_MIN };
  for (int64_t i = 0; i < b->n; ++i) {
    for (int c = 0; c < 3; ++c) {
      lo[c] = b->at[i][c] < lo[c] ? b->at[i][c] : lo[c];
      hi[c] = b->at[i][c] > hi[c] ? b->at[i][c] : hi[c];
    }
  }
  kp_lattice l = { .spacing = b->spacing };
  for (int c = 0; c < 3; ++c) {
    l.n[c] = (hi[c] - lo[c] + 1) * b->edge + 2;  // and a rim
  }
  l.row = l.n[0];
  l.slab = (int64_t)l.n[0] * l.n[1];
  l.origin = kp_vec3_scale(
      kp_vec3_make(lo[0] * b->edge - 1, lo[1] * b->edge - 1, lo[2] * b->edge - 1), b->spacing);
  float *values = kp_alloc((size_t)(l.slab * l.n[2]) * sizeof *values, KP_MEMORY_TEST);
  for (int64_t i = 0; i < l.slab * l.n[2]; ++i) {
    values[i] = b->outside;
  }
  for (int64_t i = 0; i < b->n; ++i) {
    for (int n = 0; n < b->edge * b->edge * b->edge; ++n) {
      int x = n % b->edge, y = n / b->edge % b->edge, z = n / b->edge / b->edge;
      int64_t at = (b->at[i][0] - lo[0]) * b->edge + x + 1 +
                   ((b->at[i][1] - lo[1]) * b->edge + y + 1) * l.row +
                   ((b->at[i][2] - lo[2]) * b->edge + z + 1) * l.slab;
      values[at] = b->slots[i] >= 0 ? b->values[b->slots[i] * kp_blocks_volume(b) + n] : b->inside;
    }
  }
  l.values = values;
  return l;
}

static int64_t n_same;  // meshes of blocks equal to those of one lattice

static void check_same(const kp_blocks *b) {
  kp_isosurface sparse = { 0 }, dense = { 0 };
  kp_lattice l = as_lattice(b);
  assert_ok(kp_marching_blocks(b, 0.0f, &sparse));
  assert_ok(kp_marching_cubes(&l, 0.0f, &dense));
  check_laws(&sparse, b->spacing);
  assert_int_equal(sparse.n_vertices, dense.n_vertices);
  assert_int_equal(sparse.n_triangles, dense.n_triangles);
  double *a = middles_of(&sparse), *c = middles_of(&dense);
  for (int64_t i = 0; i < 3 * dense.n_triangles; ++i) {
    assert_near(a[i], c[i], 1.01);
  }
  ++n_same;
  kp_free(a);
  kp_free(c);
  kp_free((void *)(uintptr_t)l.values);
  kp_isosurface_free(&sparse);
  kp_isosurface_free(&dense);
}

// Random points, random samples: blocks of every size, with some that lie inside.
static void check_blocks(kp_test_random *random, void *user) {
  (void)user;
  enum { N = 60 };
  double x[3][N];
  uint32_t bin_of[N];
  kp_blocks b = { .spacing = 0.1, .inside = -1.0f, .outside = 1.0f };
  b.edge = b.depth = (int32_t)kp_test_integer(random, KP_BLOCK_LEAST, KP_BLOCK_EDGE);
  for (int i = 0; i < N; ++i) {
    for (int c = 0; c < 3; ++c) {
      x[c][i] = kp_test_uniform(random, -2.0, 2.0);
    }
  }
  const double *const places[3] = { x[0], x[1], x[2] };
  const int64_t first[3] = { -100, -100, -100 }, last[3] = { 100, 100, 100 };
  assert_ok(kp_blocks_cover(&b, N, places, first, last, bin_of));
  for (int i = 0; i < N; ++i) {
    for (int c = 0; c < 3; ++c) {
      assert_int_equal(b.at[bin_of[i]][c], (int)floor(x[c][i] / (b.edge * b.spacing)));
    }
  }
  for (int64_t i = 0; i < b.n; ++i) {
    const int64_t at[3] = { b.at[i][0], b.at[i][1], b.at[i][2] };
    assert_int_equal(kp_blocks_find(&b, at), i);
    for (int near = 0; near < KP_BLOCK_AROUND; ++near) {
      const int64_t beside[3] = { at[0] + near % 3 - 1, at[1] + near / 3 % 3 - 1,
                                  at[2] + near / 9 - 1 };
      assert_int_equal(b.around[i][near], kp_blocks_find(&b, beside));
    }
    // inside only where all neighbours are, as it is with particles
    bool is_inside = kp_test_uniform(random, 0.0, 1.0) < 0.3;
    for (int near = 0; near < KP_BLOCK_AROUND; ++near) {
      is_inside = is_inside && b.around[i][near] >= 0;
    }
    b.slots[i] = is_inside ? KP_BLOCK_INSIDE : 0;
  }
  assert_ok(kp_blocks_store(&b));
  for (int64_t i = 0; i < b.n_stored * kp_blocks_volume(&b); ++i) {
    b.values[i] = (float)kp_test_uniform(random, -1.0, 1.0);
  }
  kp_blocks_seal(&b);
  check_same(&b);
  kp_blocks_free(&b);
}

static void test_blocks(void **state) {
  (void)state;
  kp_test_for_seeds(8, check_blocks, NULL);
}

// ---- particles

// Clouds of any shape, with every field: closed and outward.
static void check_cloud(kp_test_random *random, void *user) {
  kp_surfacer *s = user;
  enum { MOST = 400 };
  double x[3][MOST];
  int n = (int)kp_test_integer(random, 1, MOST);
  double size = D * pow((double)n, 1.0 / 3.0) * kp_test_uniform(random, 0.3, 3.0);
  for (int i = 0; i < n; ++i) {
    for (int c = 0; c < 3; ++c) {
      x[c][i] = kp_test_uniform(random, 0.0, size);
    }
  }
  kp_cloud cloud = { .n = n, .x = x[0], .y = x[1], .z = x[2] };
  kp_surfacing how = { .spacing = D, .voxel = kp_test_uniform(random, 0.4, 1.2) * D };
  how.smooth = (int)kp_test_integer(random, -1, 3);
  how.dimension = 3;
  how.field = (kp_surface_kind)kp_test_integer(random, 0, KP_SURFACE_KIND_COUNT - 1);
  double wall = kp_test_uniform(random, -0.2, 0.5) * size;
  how.box = (kp_aabb){ { wall, -10, wall }, { 10, 10, 10 } };
  assert_ok(kp_surfacer_fill(s, &how, &cloud));
  check_same(&s->blocks);
}

static void test_clouds(void **state) {
  (void)state;
  kp_surfacer s = { 0 };
  kp_test_for_seeds(60, check_cloud, &s);
  kp_surfacer_free(&s);
  kp_claim claim = { .id = "lyes-L61",
                     .text = "occupied cells alone make the mesh that all cells make",
                     .size = "random blocks and clouds of up to 400 particles, all fields" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "meshes equal to those of one lattice", (double)n_same, KP_AT_LEAST, 68.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// As many bytes for drops over a hundred metres as over ten thousand.
static void test_memory(void **state) {
  (void)state;
  enum { N = 3000 };
  static double x[3][N];
  int64_t bytes[2];
  for (int far = 0; far < 2; ++far) {
    kp_surfacer s = { 0 };
    kp_isosurface mesh = { 0 };
    kp_test_random random = kp_test_random_begin(9);
    double size = far == 0 ? 100.0 : 10000.0;
    for (int i = 0; i < N; ++i) {
      for (int c = 0; c < 3; ++c) {
        x[c][i] = kp_test_uniform(&random, 0.0, size);
      }
    }
    kp_cloud cloud = { .n = N, .x = x[0], .y = x[1], .z = x[2] };
    kp_surfacing how = { .spacing = D, .voxel = 0.6 * D, .smooth = -1, .dimension = 3 };
    how.box = (kp_aabb){ { 0, 0, 0 }, { size, size, size } };
    assert_ok(kp_surfacer_fill(&s, &how, &cloud));
    assert_ok(kp_marching_blocks(&s.blocks, 0.0f, &mesh));
    check_laws(&mesh, how.voxel);
    assert_true(mesh.n_vertices - mesh.n_triangles / 2 > 2 * (int64_t)(0.99 * N));
    bytes[far] = kp_surfacer_bytes(&s);
    kp_isosurface_free(&mesh);
    kp_surfacer_free(&s);
  }
  print_message("%.0f bytes per drop\n", (double)bytes[1] / N);
  kp_claim claim = { .id = "lyes-L14",
                     .text = "the grid of the surface is its own and follows the particles",
                     .size = "3000 drops over 100 m and over 10 km" };
  kp_claim_status verdict =
      kp_claim_all(&claim,
                   { "bytes over 10 km against those over 100 m, share",
                     fabs((double)bytes[1] / (double)bytes[0] - 1.0), KP_AT_MOST, 0.02 },
                   { "bytes of a drop", (double)bytes[1] / N, KP_LESS, 50000.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// Means over a radius against a sum over all vertices, and the same for any number of threads;
// vertices on a wall stay on it.
static void test_smoother(void **state) {
  (void)state;
  enum { N = 500 };
  static double x[3][N];
  kp_test_random random = kp_test_random_begin(4);
  for (int i = 0; i < N; ++i) {
    for (int c = 0; c < 3; ++c) {
      x[c][i] = kp_test_uniform(&random, 0.0, 8.0 * D);
    }
  }
  kp_cloud cloud = { .n = N, .x = x[0], .y = x[1], .z = x[2] };
  kp_surfacing how = { .spacing = D, .voxel = 0.6 * D, .smooth = -1, .dimension = 3 };
  how.box = (kp_aabb){ { 0, 0, 0 }, { 1, 1, 1 } };
  kp_surfacer s = { 0 };
  assert_ok(kp_surfacer_fill(&s, &how, &cloud));
  for (int kind = 1; kind < KP_MESH_SMOOTHING_COUNT; ++kind) {
    kp_isosurface mesh = { 0 }, one = { 0 }, more = { 0 };
    kp_mesh_smoother smoother = { 0 };
    kp_mesh_smoother_def def = { .kind = (kp_mesh_smoothing)kind, .passes = 1 };
    def.radius = 1.75 * how.voxel;
    def.box = how.box;
    def.near = 0.01 * how.voxel;
    assert_ok(kp_marching_blocks(&s.blocks, 0.0f, &mesh));
    assert_ok(kp_marching_blocks(&s.blocks, 0.0f, &one));
    assert_ok(kp_marching_blocks(&s.blocks, 0.0f, &more));
    assert_ok(kp_mesh_smoother_run(&smoother, &def, &one));
    kp_parallel_set_threads(3);
    assert_ok(kp_mesh_smoother_run(&smoother, &def, &more));
    kp_parallel_set_threads(1);
    size_t n = (size_t)mesh.n_vertices;
    assert_memory_equal(one.vertices, more.vertices, n * sizeof(kp_vec3));
    assert_memory_equal(one.normals, more.normals, n * 3 * sizeof(float));
    int n_on_wall = 0;
    for (int64_t i = 0; i < mesh.n_vertices; ++i) {
      kp_vec3 p = mesh.vertices[i], mean = kp_vec3_make(0, 0, 0);
      double count = 0.0;
      for (int64_t j = 0; j < mesh.n_vertices; ++j) {
        if (kp_vec3_length(kp_vec3_sub(mesh.vertices[j], p)) <= def.radius) {
          mean = kp_vec3_add(mean, mesh.vertices[j]);
          count += 1.0;
        }
      }
      bool is_on_wall = p.x < def.near || p.y < def.near || p.z < def.near;
      n_on_wall += is_on_wall ? 1 : 0;
      if (kind == KP_MESH_SMOOTHING_HONG && !is_on_wall) {
        assert_vec3_near(one.vertices[i], kp_vec3_scale(mean, 1.0 / count), 1e-12);
      }
      if (p.y < def.near) {
        assert_true(one.vertices[i].y == p.y);
      }
    }
    assert_true(n_on_wall > 10);
    kp_mesh_smoother_free(&smoother);
    kp_isosurface_free(&mesh);
    kp_isosurface_free(&one);
    kp_isosurface_free(&more);
  }
  kp_surfacer_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cells),    cmocka_unit_test(test_small),  cmocka_unit_test(test_squares),
    cmocka_unit_test(test_blocks),   cmocka_unit_test(test_clouds), cmocka_unit_test(test_memory),
    cmocka_unit_test(test_smoother),
  };
  kp_parallel_set_threads(1);  // lattices are too small for more
  return cmocka_run_group_tests(tests, NULL, NULL);
}
