// Rays through the trees against a loop over all primitives: same bits, whatever the scene.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/ray_scene.h"

enum { TRIANGLES = 700, BALLS = 300, SEGMENTS = 400, VERTICES = 500, RAYS = 4000 };

typedef struct soup {
  kp_f3 vertices[VERTICES];
  uint32_t triangles[3 * TRIANGLES];
  uint8_t triangle_masks[TRIANGLES], ball_masks[BALLS], segment_masks[SEGMENTS];
  kp_ball balls[BALLS], line_vertices[SEGMENTS + 1];
  kp_segment segments[SEGMENTS];
  kp_ray rays[RAYS];
  kp_ray_hit hits[RAYS];
  int32_t blocked[RAYS];
} soup;

static float uniform(kp_test_random *random, double low, double high) {
  return (float)kp_test_uniform(random, low, high);
}

static int64_t below(kp_test_random *random, int64_t n) {
  return kp_test_integer(random, 0, n - 1);
}

static kp_ray_geometry geometry_of(const soup *s) {
  return (kp_ray_geometry){ .n_triangles = TRIANGLES,
                            .n_balls = BALLS,
                            .n_segments = SEGMENTS,
                            .vertices = s->vertices,
                            .triangles = s->triangles,
                            .triangle_masks = s->triangle_masks,
                            .balls = s->balls,
                            .ball_masks = s->ball_masks,
                            .line_vertices = s->line_vertices,
                            .segments = s->segments,
                            .segment_masks = s->segment_masks };
}

// Vertices on a coarse lattice make coplanar, doubled and degenerate triangles common.
static kp_f3 place(kp_test_random *random, bool coarse) {
  kp_f3 p = { uniform(random, -1.0, 1.0), uniform(random, -1.0, 1.0), uniform(random, -1.0, 1.0) };
  if (coarse) {
    p = kp_f3_make(roundf(4.0f * p.x) / 4.0f, roundf(4.0f * p.y) / 4.0f, roundf(4.0f * p.z) / 4.0f);
  }
  return p;
}

static void fill(soup *s, kp_test_random *random, bool coarse) {
  memset(s, 0, sizeof *s);
  for (int i = 0; i < VERTICES; ++i) {
    s->vertices[i] = place(random, coarse);
  }
  s->vertices[7].y = NAN;
  s->vertices[8].x = HUGE_VALF;
  for (int i = 0; i < TRIANGLES; ++i) {
    int64_t near = below(random, VERTICES - 40);
    for (int k = 0; k < 3; ++k) {
      s->triangles[3 * i + k] = (uint32_t)(near + below(random, 40));
    }
    if (i % 20 == 3) {  // the same one again, and one without area
      memcpy(s->triangles + 3 * i, s->triangles + 3 * (i - 3), 3 * sizeof(uint32_t));
    } else if (i % 20 == 4) {
      s->triangles[3 * i + 1] = s->triangles[3 * i];
    }
    s->triangle_masks[i] = (uint8_t)(1 + below(random, 7));
  }
  for (int i = 0; i < BALLS; ++i) {
    kp_f3 p = place(random, coarse);
    s->balls[i] = (kp_ball){ p.x, p.y, p.z, coarse ? 0.125f : uniform(random, 0.001, 0.1) };
    s->balls[i].r *= i % 17 == 0 ? -1.0f : 1.0f;
    s->ball_masks[i] = (uint8_t)(1 + below(random, 7));
  }
  for (int i = 0; i <= SEGMENTS; ++i) {
    kp_f3 p = place(random, coarse);
    s->line_vertices[i] = (kp_ball){ p.x, p.y, p.z, uniform(random, 0.0005, 0.03) };
  }
  for (int i = 0; i < SEGMENTS; ++i) {
    s->segments[i].vertex = (uint32_t)i;
    s->segment_masks[i] = (uint8_t)(1 + below(random, 7));
  }
}

// Some run along axes and in the planes of the lattice, some start on a vertex or aim at one.
static kp_ray random_ray(const soup *s, kp_test_random *random, bool coarse) {
  kp_ray ray = { .origin = place(random, coarse), .t_max = HUGE_VALF, .mask = KP_RAY_ALL };
  ray.direction = kp_f3_sub(place(random, coarse), ray.origin);
  int64_t kind = below(random, 6);
  if (kind == 0) {
    ray.direction = kp_f3_make(0.0f, kp_test_uniform(random, -1.0, 1.0) < 0.0 ? -1.0f : 2.0f, 0.0f);
  } else if (kind == 1) {
    ray.origin = kp_f3_scale(ray.origin, 20.0f);
    ray.direction = kp_f3_sub(s->vertices[20 + below(random, VERTICES - 20)], ray.origin);
  } else if (kind == 2) {
    ray.mask = (uint32_t)(1 + below(random, 7));
    ray.t_min = uniform(random, 0.0, 0.5);
    ray.t_max = uniform(random, 0.5, 2.0);
  }
  if (!(kp_f3_dot(ray.direction, ray.direction) > 0.0f)) {
    ray.direction = kp_f3_make(1.0f, 0.0f, 0.0f);
  }
  return ray;
}

// One block of one primitive, through the same lane functions.
static void brute_force(const soup *s, const kp_ray *ray, kp_ray_hit *best) {
  kp_ray_frame f = kp_ray_prepare(ray);
  *best = (kp_ray_hit){ .t = ray->t_max };
  for (int kind = KP_RAY_TRIANGLE; kind <= KP_RAY_STROKE; ++kind) {
    int n = kind == KP_RAY_TRIANGLE ? TRIANGLES : kind == KP_RAY_BALL ? BALLS : SEGMENTS;
    for (int i = 0; i < n; ++i) {
      float t[KP_RAY_LANES];
      uint32_t mask;
      if (kind == KP_RAY_TRIANGLE) {
        kp_ray_triangles block = { 0 };
        for (int c = 0; c < 3; ++c) {
          kp_f3 p = s->vertices[s->triangles[3 * i + c]];
          block.corner[c][0][0] = p.x;
          block.corner[c][1][0] = p.y;
          block.corner[c][2][0] = p.z;
        }
        kp_ray_triangle_lanes(&block, &f, t);
        mask = s->triangle_masks[i];
      } else if (kind == KP_RAY_BALL) {
        kp_ray_balls block = { 0 };
        block.center[0][0] = s->balls[i].x;
        block.center[1][0] = s->balls[i].y;
        block.center[2][0] = s->balls[i].z;
        block.radius[0] = s->balls[i].r;
        kp_ray_ball_lanes(&block, &f, t);
        mask = s->balls[i].r > 0.0f ? s->ball_masks[i] : 0;
      } else {
        const kp_ball *e = &s->line_vertices[i];
        float a[3] = { e[0].x, e[0].y, e[0].z }, b[3] = { e[1].x, e[1].y, e[1].z };
        t[0] = kp_ray_stroke_at(a, b, 0.5f * (e[0].r + e[1].r), &f);
        mask = s->segment_masks[i];
      }
      if (t[0] < best->t && (mask & ray->mask) != 0) {
        best->t = t[0];
        best->kind = (uint32_t)kind;
        best->id = (uint32_t)i;
      }
    }
  }
}

enum { COARSE = 1, PAIRED = 2, WHOLE = 4 };

// Every second triangle shares an edge with the one before it.
static void pair_triangles(soup *s) {
  for (int i = 1; i < TRIANGLES; i += 2) {
    s->triangles[3 * i] = s->triangles[3 * i - 3];
    s->triangles[3 * i + 1] = s->triangles[3 * i - 1];
  }
}

// Blocks of pairs hold both halves side by side.
static bool has_pairs(const kp_ray_scene *scene) {
  const kp_ray_triangles *blocks = scene->blocks[0];
  bool all = true;
  for (int64_t i = 0; i < scene->n_blocks[0]; ++i) {
    for (int k = 0; k < KP_RAY_LANES; k += 2) {
      uint32_t first = blocks[i].id[k], second = blocks[i].id[k + 1];
      all = all && (first % 2 == 0 ? second == first + 1 || first + 1 == TRIANGLES
                                   : first == KP_RAY_NOTHING);
    }
  }
  return all;
}

static void compare_soup(kp_test_random *random, void *user) {
  int how = *(const int *)user;
  bool coarse = (how & COARSE) != 0;
  static soup s;
  fill(&s, random, coarse);
  if ((how & PAIRED) != 0) {
    pair_triangles(&s);
    s.triangles[3 * 11 + 2] = 7;  // which is not finite
  }
  if ((how & WHOLE) != 0) {
    s.vertices[7] = s.vertices[8] = s.vertices[9];
  }
  for (int i = 0; i < RAYS; ++i) {
    s.rays[i] = random_ray(&s, random, coarse);
  }
  kp_ray_geometry geometry = geometry_of(&s);
  kp_ray_scene scene = { 0 };
  assert_ok(kp_ray_scene_build(&scene, &geometry));
  // what is not finite is left out alone, without its other half
  assert_true(has_pairs(&scene) == (how == (PAIRED | WHOLE)));
  kp_ray_find_nearest(&scene.view, s.rays, RAYS, s.hits);
  kp_ray_find_any(&scene.view, s.rays, RAYS, s.blocked);
  int met[4] = { 0 };
  for (int i = 0; i < RAYS; ++i) {
    kp_ray_hit hit;
    brute_force(&s, &s.rays[i], &hit);
    assert_int_equal(s.hits[i].kind, hit.kind);
    assert_int_equal(s.blocked[i], hit.kind != KP_RAY_MISS);
    if (hit.kind != KP_RAY_MISS) {
      assert_true(s.hits[i].t == hit.t);
      assert_int_equal(s.hits[i].id, hit.id);
    } else {
      assert_true(s.hits[i].t == HUGE_VALF);
    }
    ++met[hit.kind];
  }
  // the scene is neither empty nor full
  for (int kind = 0; kind < 4; ++kind) {
    assert_true(met[kind] > 10);
  }
  kp_ray_scene_free(&scene);
}

static void trees_find_what_loops_find(void **state) {
  (void)state;
  int how = 0;
  kp_test_for_seeds(5, compare_soup, &how);
}

static void ties_and_degenerate_scenes_too(void **state) {
  (void)state;
  int how = COARSE;
  kp_test_for_seeds(5, compare_soup, &how);
}

static void pairs_of_triangles_too(void **state) {
  (void)state;
  int how = PAIRED | WHOLE;
  kp_test_for_seeds(5, compare_soup, &how);
  how = PAIRED;
  kp_test_for_seeds(3, compare_soup, &how);
}

// Every triangle at one place: no split helps, the depth stays bounded.
static void doubled_triangles_build_a_tree(void **state) {
  (void)state;
  enum { N = 40000 };
  static uint32_t triangles[3 * N];
  kp_f3 vertices[3] = { { 0.0f, 0.0f, 0.0f }, { 1.0f, 0.0f, 0.0f }, { 0.0f, 1.0f, 0.0f } };
  for (int i = 0; i < 3 * N; ++i) {
    triangles[i] = (uint32_t)(i % 3);
  }
  kp_ray_geometry geometry = { .n_triangles = N, .vertices = vertices, .triangles = triangles };
  kp_ray_scene scene = { 0 };
  assert_ok(kp_ray_scene_build(&scene, &geometry));
  kp_ray ray = { .origin = { 0.2f, 0.2f, 1.0f },
                 .direction = { 0.0f, 0.0f, -1.0f },
                 .t_max = HUGE_VALF,
                 .mask = KP_RAY_ALL };
  kp_ray_hit hit;
  kp_ray_find_nearest(&scene.view, &ray, 1, &hit);
  assert_int_equal(hit.kind, KP_RAY_TRIANGLE);
  assert_int_equal(hit.id, 0);
  assert_near(hit.t, 1.0, 1e-6);
  assert_near(hit.u, 0.2, 1e-6);
  assert_near(hit.v, 0.2, 1e-6);
  kp_ray_scene_free(&scene);
}

static void empty_scene_is_missed(void **state) {
  (void)state;
  kp_ray_geometry geometry = { 0 };
  kp_ray_scene scene = { 0 };
  assert_ok(kp_ray_scene_build(&scene, &geometry));
  kp_ray ray = { .direction = { 0.0f, -1.0f, 0.0f }, .t_max = HUGE_VALF, .mask = KP_RAY_ALL };
  kp_ray_hit hit;
  kp_ray_find_nearest(&scene.view, &ray, 1, &hit);
  assert_int_equal(hit.kind, KP_RAY_MISS);
  scene.view.ground = -2.5f;
  kp_ray_find_nearest(&scene.view, &ray, 1, &hit);
  assert_int_equal(hit.kind, KP_RAY_GROUND);
  assert_near(hit.t, 2.5, 1e-6);
  ray.direction.y = 1.0f;
  kp_ray_find_nearest(&scene.view, &ray, 1, &hit);
  assert_int_equal(hit.kind, KP_RAY_MISS);
}

// ---- a closed bumpy mesh: nothing leaks, all threads and instruction sets make the same tree

enum { RINGS = 150, AROUND = 200, SKIN = 2 * RINGS * AROUND };

typedef struct skin {
  kp_f3 vertices[(RINGS + 1) * AROUND];
  uint32_t triangles[3 * SKIN];
} skin;

static void make_skin(skin *s) {
  int n = 0;
  for (int i = 0; i <= RINGS; ++i) {
    for (int j = 0; j < AROUND; ++j) {
      double a = 3.14159265358979 * i / RINGS, b = 6.28318530717959 * j / AROUND;
      double r = 1.0 + 0.1 * sin(9.0 * a) * cos(7.0 * b);
      uint32_t v = (uint32_t)(i * AROUND + j), w = (uint32_t)(i * AROUND + (j + 1) % AROUND);
      double level = i == 0 || i == RINGS ? 0.0 : r * sin(a);  // the poles are closed
      r = i == 0 || i == RINGS ? 1.0 : r;
      s->vertices[v] =
          kp_f3_make((float)(level * cos(b)), (float)(level * sin(b)), (float)(r * cos(a)));
      if (i < RINGS) {
        const uint32_t two[6] = { v, v + AROUND, w, w, v + AROUND, w + AROUND };
        memcpy(s->triangles + n, two, sizeof two);
        n += 6;
      }
    }
  }
}

static void closed_meshes_do_not_leak(void **state) {
  (void)state;
  enum { N = 40000 };
  static skin s;
  static kp_ray rays[N];
  static kp_ray_hit hits[N];
  make_skin(&s);
  kp_ray_geometry geometry = { .n_triangles = SKIN,
                               .vertices = s.vertices,
                               .triangles = s.triangles };
  kp_ray_scene scene = { 0 };
  assert_ok(kp_ray_scene_build(&scene, &geometry));
  kp_test_random random = kp_test_random_begin(77);
  for (int i = 0; i < N; ++i) {
    rays[i] = (kp_ray){ .t_max = HUGE_VALF, .mask = KP_RAY_ALL };
    kp_f3 to = s.vertices[below(&random, RINGS * AROUND)];  // straight at vertices and edges
    if (i % 2 == 0) {
      to = kp_f3_add(to, s.vertices[below(&random, RINGS * AROUND)]);
    }
    rays[i].direction = to;
    if (!(kp_f3_dot(to, to) > 0.0f)) {
      rays[i].direction.z = 1.0f;
    }
  }
  kp_ray_find_nearest(&scene.view, rays, N, hits);
  for (int i = 0; i < N; ++i) {
    assert_int_equal(hits[i].kind, KP_RAY_TRIANGLE);
    float r = hits[i].t * sqrtf(kp_f3_dot(rays[i].direction, rays[i].direction));
    assert_between(r, 0.85, 1.15);
  }
  kp_ray_scene_free(&scene);
}

static void trees_are_the_same_for_any_thread_count(void **state) {
  (void)state;
  static skin s;
  make_skin(&s);
  kp_ray_geometry geometry = { .n_triangles = SKIN,
                               .vertices = s.vertices,
                               .triangles = s.triangles };
  kp_ray_scene one = { 0 }, many = { 0 };
  kp_parallel_set_threads(1);
  assert_ok(kp_ray_scene_build(&one, &geometry));
  kp_parallel_set_threads(3);
  assert_ok(kp_ray_scene_build(&many, &geometry));
  kp_parallel_set_threads(0);
  assert_int_equal(one.n_nodes[0], many.n_nodes[0]);
  assert_int_equal(one.n_blocks[0], many.n_blocks[0]);
  assert_memory_equal(one.nodes[0], many.nodes[0], (size_t)one.n_nodes[0] * sizeof(kp_ray_node));
  assert_memory_equal(one.blocks[0], many.blocks[0],
                      (size_t)one.n_blocks[0] * sizeof(kp_ray_triangles));
  // blocks are well filled: the heuristic counts whole ones
  assert_true((double)SKIN / (double)one.n_blocks[0] > 4.0);
  kp_ray_scene_free(&one);
  kp_ray_scene_free(&many);
}

static void instruction_sets_agree(void **state) {
  (void)state;
  enum { N = 5000 };
  static skin s;
  static kp_ray rays[N];
  static kp_ray_hit hits[2][N];
  make_skin(&s);
  kp_ray_geometry geometry = { .n_triangles = SKIN,
                               .vertices = s.vertices,
                               .triangles = s.triangles };
  kp_ray_scene scene = { 0 };
  assert_ok(kp_ray_scene_build(&scene, &geometry));
  kp_test_random random = kp_test_random_begin(5);
  for (int i = 0; i < N; ++i) {
    kp_f3 from = kp_f3_scale(place(&random, false), 3.0f);
    rays[i] = (kp_ray){ .origin = from, .t_max = HUGE_VALF, .mask = KP_RAY_ALL };
    rays[i].direction = kp_f3_sub(place(&random, false), from);
  }
  kp_isa before = kp_isa_current();
  kp_isa_force(KP_ISA_BASE);
  kp_ray_find_nearest(&scene.view, rays, N, hits[0]);
  kp_isa_force(before);
  kp_ray_find_nearest(&scene.view, rays, N, hits[1]);
  assert_memory_equal(hits[0], hits[1], sizeof hits[0]);
  kp_ray_scene_free(&scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(trees_find_what_loops_find),
    cmocka_unit_test(ties_and_degenerate_scenes_too),
    cmocka_unit_test(pairs_of_triangles_too),
    cmocka_unit_test(doubled_triangles_build_a_tree),
    cmocka_unit_test(empty_scene_is_missed),
    cmocka_unit_test(closed_meshes_do_not_leak),
    cmocka_unit_test(trees_are_the_same_for_any_thread_count),
    cmocka_unit_test(instruction_sets_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
