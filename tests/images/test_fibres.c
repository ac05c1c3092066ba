// Hair: Kajiya and Kay's highlight, and shadows that let part of the sun through.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"
#include "render/pass.h"

#include "support/claims.h"

#define PI 3.14159265358979323846

static kp_render_def fibre_def(int size) {
  kp_render_def def = kp_default_render_def();
  def.width = def.height = size;
  def.samples = 1;
  def.ground = KP_GROUND_NONE;
  def.background = KP_BACKGROUND_DARK;
  def.sky_strength = 0.0;
  def.box = false;
  def.transparent = true;
  return def;
}

static int by_depth(const void *a, const void *b) {
  const kp_deep_fragment *f = a, *g = b;
  return f->depth < g->depth ? -1 : f->depth > g->depth;
}

// Straight pieces against the product over all fibres before a depth.
static void pieces_stay_within_their_bound(kp_test_random *random, void *user) {
  double *worst = user;
  enum { MOST = 400 };
  static kp_deep_fragment fragments[MOST];
  static kp_deep_node nodes[2 * MOST + 2];
  int n = 1 + (int)kp_test_uniform(random, 0.0, MOST - 1.0);
  double thick = kp_test_uniform(random, 0.01, 0.9);
  for (int i = 0; i < n; ++i) {
    fragments[i] = (kp_deep_fragment){ (float)kp_test_uniform(random, -1.0, 1.0),
                                       (float)kp_test_uniform(random, 0.0, thick), 0 };
  }
  qsort(fragments, (size_t)n, sizeof fragments[0], by_depth);
  int64_t count = kp_deep_compress(fragments, n, 1e-6f, 0.02f, nodes);
  assert_true(count >= 2 && count <= 2 * n + 2);
  for (int k = 0; k < 500; ++k) {
    double depth = kp_test_uniform(random, -1.2, 1.2), exact = 1.0, nearest = HUGE_VAL;
    for (int i = 0; i < n; ++i) {
      exact *= (double)fragments[i].depth < depth ? 1.0 - (double)fragments[i].alpha : 1.0;
      nearest = fmin(nearest, fabs((double)fragments[i].depth - depth));
    }
    if (nearest > 1e-4) {  // and not on the step itself
      *worst = kp_test_most(*worst, fabs(kp_deep_nodes_at(nodes, count, (float)depth) - exact));
    }
  }
  double left = 1.0;
  for (int i = 0; i < n; ++i) {
    left *= 1.0 - (double)fragments[i].alpha;
  }
  assert_near(kp_deep_nodes_at(nodes, count, 2.0f), left, 1e-5);
  if (n > 100 && thick < 0.2) {
    assert_true(count < n);  // much less than the two nodes of each step
  }
}

static void deep_maps_keep_their_bound(void **state) {
  (void)state;
  double worst = 0.0;
  kp_test_for_seeds(300, pieces_stay_within_their_bound, &worst);
  kp_claim claim = { .id = "selle-S74-deep",
                     .text = "deep maps stay within their bound of 0.02 of the product over all "
                             "fibres: largest error",
                     .size = "300 rays through up to 400 fibres, 500 depths on each",
                     .figure = worst,
                     .threshold = 0.0205 };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
}

// Light through n sheets of parallel fibres that each cover a fifth: 0.8^n on the floor.
static void sheets_of_fibres_let_light_through(void **state) {
  (void)state;
  enum { SIZE = 61, SHEETS = 6, FIBRES = 100 };
  static double x[2 * SHEETS * FIBRES], y[2 * SHEETS * FIBRES], z[2 * SHEETS * FIBRES];
  static uint64_t first[SHEETS * FIBRES + 1];
  kp_test_random random = kp_test_random_begin(11);
  for (int s = 0; s < SHEETS; ++s) {
    double shift = kp_test_uniform(&random, 0.0, 0.02);
    for (int i = 0; i < FIBRES; ++i) {
      int line = s * FIBRES + i;
      for (int end = 0; end < 2; ++end) {
        x[2 * line + end] = shift + 0.02 * (i - FIBRES / 2);
        y[2 * line + end] = 0.5 + 0.05 * s;
        z[2 * line + end] = end == 0 ? -1.0 : 1.0;
      }
      first[line + 1] = (uint64_t)(2 * line + 2);
    }
  }
  kp_render_lines hair = { .first = first, .positions = { x, y, z, 1 }, .radius = 0.002 };
  hair.look = kp_default_look_def();
  double fx[4] = { -1.0, 1.0, 1.0, -1.0 }, fy[4] = { 0.0 }, fz[4] = { 1.0, 1.0, -1.0, -1.0 };
  uint32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
  kp_render_mesh floor = { .n_vertices = 4, .n_triangles = 2, .positions = { fx, fy, fz, 1 } };
  floor.triangles = triangles;
  floor.look = kp_default_look_def();
  floor.look.gloss = 0.0;
  kp_render_def def = fibre_def(SIZE);
  def.camera_position = kp_vec3_make(0.0, 0.45, 0.001);  // under the sheets
  def.camera_fov_deg = 60.0;
  def.sun = kp_vec3_make(0.0, 1.0, 0.0);
  def.sun_size_deg = 0.0;
  double clear = 0.0, off = 0.0;
  for (int sheets = 0; sheets <= SHEETS; sheets += sheets == 0 ? 1 : sheets == 1 ? 2 : 3) {
    hair.n_lines = (int64_t)sheets * FIBRES;
    kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .meshes = &floor };
    scene.n_meshes = 1;
    scene.lines = &hair;
    scene.n_lines = sheets > 0 ? 1 : 0;
    kp_picture picture = { 0 };
    assert_ok(kp_render_frame(&scene, &def, &picture));
    double sum = 0.0;
    for (int i = 0; i < SIZE * SIZE; ++i) {
      sum += (double)picture.rgba[4 * i] / (SIZE * SIZE);
    }
    clear = sheets == 0 ? sum : clear;
    print_message("  %d sheets: %.4f of the light, %.4f wanted\n", sheets, sum / clear,
                  pow(0.8, sheets));
    off = kp_test_most(off, fabs(sum / clear - pow(0.8, sheets)));
    kp_picture_free(&picture);
  }
  kp_claim claim = { .id = "selle-S74-sheets",
                     .text = "sheets of fibres that cover a fifth let 0.8^n of the light through: "
                             "largest error",
                     .size = "1, 3 and 6 sheets of 100 fibres",
                     .figure = off,
                     .threshold = 0.03 };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
}

// A fibre along x in the sun: light of it as the eye goes around it in the plane of both.
static double fibre_light(double sun_deg, double eye_deg, double gloss) {
  double x[2] = { -0.5, 0.5 }, zero[2] = { 0.0, 0.0 };
  uint64_t first[2] = { 0, 2 };
  kp_render_lines hair = { .n_lines = 1, .first = first, .positions = { x, zero, zero, 1 } };
  hair.radius = 0.002;
  hair.look = kp_default_look_def();
  hair.look.gloss = gloss;
  hair.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  kp_render_scene scene = { .up = KP_UP_Y, .lines = &hair, .n_lines = 1 };
  scene.bounds = (kp_aabb){ { -0.5, -0.5, -0.5 }, { 0.5, 0.5, 0.5 } };
  kp_render_def def = fibre_def(41);
  def.camera_fov_deg = 20.0;
  double e = eye_deg * PI / 180.0, s = sun_deg * PI / 180.0;
  def.camera_position = kp_vec3_make(5.0 * cos(e), 0.0, 5.0 * sin(e));
  def.sun = kp_vec3_make(cos(s), 0.0, sin(s));
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  // the middle row crosses the picture; light over what is covered
  const float *c = picture.rgba + 4 * (20 * 41 + 20);
  double light = (double)c[0] / (double)c[3];
  kp_picture_free(&picture);
  return light;
}

// With directions that leave the fibre, its mirror cone is where t . e = -t . l, so that the cosine
// is sin sin - (t . l)(t . e); Kajiya and Kay's plus sign goes with a vector that comes from the
// eye. Without gloss the light goes with the sine to the sun and does not know the eye.
static void highlights_lie_on_the_mirror_cone(void **state) {
  (void)state;
  double cone = 0.0, shade = 0.0;
  for (double sun = 40.0; sun < 145.0; sun += 20.0) {
    double best = 0.0, at = 0.0;
    for (double eye = 30.0; eye <= 150.0; eye += 2.0) {
      double light = fibre_light(sun, eye, 0.8);
      at = light > best ? eye : at;
      best = kp_test_most(best, light);
    }
    cone = kp_test_most(cone, fabs(at - (180.0 - sun)));
    double side = fibre_light(90.0, 90.0, 0.0), slant = fibre_light(sun, 90.0, 0.0);
    shade = kp_test_most(shade, fabs(slant / side / sin(sun * PI / 180.0) - 1.0));
    shade = kp_test_most(shade, fabs(fibre_light(sun, 60.0, 0.0) / slant - 1.0));
  }
  kp_claim claim = { .id = "selle-S74",
                     .text = "highlights of a fibre lie on the mirror cone, its diffuse light goes "
                             "with the sine to the sun",
                     .size = "a fibre in six directions of the sun, seen every 2 degrees" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "highlight off the cone, degrees", cone, KP_AT_MOST, 2.1 },
                   { "relative error of the diffuse light", shade, KP_AT_MOST, 0.01 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// A tuft shades itself: from the side of the sun it is brighter than from behind.
static void a_tuft_shades_itself(void **state) {
  (void)state;
  enum { HAIRS = 3000, SIZE = 81 };
  static double x[2 * HAIRS], y[2 * HAIRS], z[2 * HAIRS];
  static uint64_t first[HAIRS + 1];
  kp_test_random random = kp_test_random_begin(5);
  for (int i = 0; i < HAIRS; ++i) {
    double r = 0.1 * sqrt(kp_test_uniform(&random, 0.0, 1.0));
    double a = kp_test_uniform(&random, 0.0, 2.0 * PI);
    for (int end = 0; end < 2; ++end) {
      x[2 * i + end] = r * cos(a);
      y[2 * i + end] = end == 0 ? 0.3 : -0.3;
      z[2 * i + end] = r * sin(a);
    }
    first[i + 1] = (uint64_t)(2 * i + 2);
  }
  kp_render_lines hair = { .n_lines = HAIRS, .first = first, .positions = { x, y, z, 1 } };
  hair.radius = 0.0005;
  hair.look = kp_default_look_def();
  hair.look.gloss = 0.0;
  kp_render_scene scene = { .up = KP_UP_Y, .lines = &hair, .n_lines = 1 };
  scene.bounds = (kp_aabb){ { -0.3, -0.3, -0.3 }, { 0.3, 0.3, 0.3 } };
  double seen[2];
  for (int behind = 0; behind < 2; ++behind) {
    kp_render_def def = fibre_def(SIZE);
    def.samples = 2;
    def.camera_position = kp_vec3_make(0.0, 0.0, behind ? -2.0 : 2.0);
    def.camera_fov_deg = 10.0;
    def.sun = kp_vec3_make(0.0, 0.0, 1.0);
    kp_picture picture = { 0 };
    assert_ok(kp_render_frame(&scene, &def, &picture));
    const float *c = picture.rgba + 4 * (SIZE / 2 * SIZE + SIZE / 2);
    seen[behind] = (double)c[0] / (double)c[3];
    kp_picture_free(&picture);
  }
  print_message("  light on the tuft %.3f, behind it %.3f\n", seen[0], seen[1]);
  assert_true(seen[1] < 0.15 * seen[0]);
}

// A sheet has its own colour on each side, and is lit on both.
static void cloth_has_two_sides(void **state) {
  (void)state;
  double x[4] = { -1.0, 1.0, 1.0, -1.0 }, y[4] = { -1.0, -1.0, 1.0, 1.0 }, z[4] = { 0.0 };
  uint32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };  // seen from +z they go counter-clockwise
  kp_render_mesh sheet = { .n_vertices = 4, .n_triangles = 2, .positions = { x, y, z, 1 } };
  sheet.triangles = triangles;
  sheet.look = kp_default_look_def();
  sheet.look.gloss = 0.0;
  sheet.look.color = kp_vec3_make(1.0, 0.0, 0.0);
  sheet.look.color_back = kp_vec3_make(0.0, 0.0, 1.0);
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .meshes = &sheet };
  scene.n_meshes = 1;
  float seen[2][2][3];
  for (int two = 0; two < 2; ++two) {
    sheet.look.two_sided = two == 1;
    for (int behind = 0; behind < 2; ++behind) {
      kp_render_def def = fibre_def(21);
      double side = behind ? -1.0 : 1.0;
      def.camera_position = kp_vec3_make(0.0, 0.0, 4.0 * side);
      def.sun = kp_vec3_make(0.0, 0.0, side);
      kp_picture picture = { 0 };
      assert_ok(kp_render_frame(&scene, &def, &picture));
      memcpy(seen[two][behind], picture.rgba + 4 * (10 * 21 + 10), sizeof seen[two][behind]);
      kp_picture_free(&picture);
    }
  }
  for (int behind = 0; behind < 2; ++behind) {
    assert_true(seen[0][behind][0] > 0.5f && seen[0][behind][2] < 0.01f);
  }
  assert_true(seen[1][0][0] > 0.5f && seen[1][0][2] < 0.01f);
  assert_true(seen[1][1][2] > 0.5f && seen[1][1][0] < 0.01f);
}

static void same_bytes_for_any_thread_count(void **state) {
  (void)state;
  enum { SIZE = 61, HAIRS = 200 };
  static double x[2 * HAIRS], y[2 * HAIRS], z[2 * HAIRS];
  static uint64_t first[HAIRS + 1];
  kp_test_random random = kp_test_random_begin(3);
  for (int i = 0; i < 2 * HAIRS; ++i) {
    x[i] = kp_test_uniform(&random, -0.2, 0.2);
    y[i] = kp_test_uniform(&random, -0.2, 0.2);
    z[i] = kp_test_uniform(&random, -0.2, 0.2);
    first[i / 2 + 1] = (uint64_t)(2 * (i / 2) + 2);
  }
  kp_render_lines hair = { .n_lines = HAIRS, .first = first, .positions = { x, y, z, 1 } };
  hair.radius = 0.001;
  hair.look = kp_default_look_def();
  kp_render_points dust = { .n = HAIRS, .positions = { x, y, z, 1 }, .radius = 0.05 };
  dust.look = kp_default_look_def();
  dust.look.sprite = KP_SPRITE_OVER;
  dust.look.opacity = 0.2;
  kp_render_scene scene = { .up = KP_UP_Y, .lines = &hair, .n_lines = 1, .points = &dust };
  scene.n_points = 1;
  scene.bounds = (kp_aabb){ { -0.2, -0.2, -0.2 }, { 0.2, 0.2, 0.2 } };
  kp_render_def def = kp_default_render_def();
  def.width = def.height = SIZE;
  def.samples = 2;
  kp_picture first_picture = { 0 }, other = { 0 };
  kp_parallel_set_threads(1);
  assert_ok(kp_render_frame(&scene, &def, &first_picture));
  for (int threads = 2; threads <= 4; ++threads) {
    kp_parallel_set_threads(threads);
    assert_ok(kp_render_frame(&scene, &def, &other));
    assert_memory_equal(first_picture.rgba, other.rgba, 4 * SIZE * SIZE * sizeof(float));
  }
  kp_parallel_set_threads(0);
  kp_picture_free(&first_picture);
  kp_picture_free(&other);
}

// Each allocation of what draws hair, yarn, puffs and slices fails in turn: an error, and nothing
// stays behind.
static void running_out_of_memory_is_an_error(void **state) {
  (void)state;
  enum { SIZE = 32, N = 6 };
  double x[4] = { -0.2, 0.2, -0.2, 0.2 }, y[4] = { -0.1, 0.1, 0.1, -0.1 }, z[4] = { 0.0 };
  uint64_t first[3] = { 0, 2, 4 };
  static float density[N * N * N];
  for (int i = 0; i < N * N * N; ++i) {
    density[i] = 1.0f;
  }
  kp_render_lines lines[2] = { { .n_lines = 2, .first = first, .positions = { x, y, z, 1 } } };
  lines[0].radius = 0.001;
  lines[0].look = kp_default_look_def();
  lines[1] = lines[0];
  lines[1].radius = 0.02;
  lines[1].look.stroke = KP_STROKE_LUMISLICE;
  kp_render_points dust = { .n = 4, .positions = { x, y, z, 1 }, .radius = 0.1 };
  dust.look = kp_default_look_def();
  dust.look.sprite = KP_SPRITE_OVER;
  kp_render_volume smoke = { .nx = N, .ny = N, .nz = N, .cell = 0.05, .density = density };
  smoke.look = kp_default_look_def();
  smoke.look.method = KP_VOLUME_SLICES;
  kp_render_scene scene = { .up = KP_UP_Y, .lines = lines, .n_lines = 2, .points = &dust };
  scene.n_points = 1;
  scene.volumes = &smoke;
  scene.n_volumes = 1;
  scene.bounds = (kp_aabb){ { -0.2, -0.2, -0.2 }, { 0.3, 0.3, 0.3 } };
  kp_render_def def = kp_default_render_def();
  def.width = def.height = SIZE;
  def.samples = 2;
  kp_parallel_set_threads(1);
  bool done = false;
  int64_t n = 0;
  for (; n < 4000 && !done; n += 1 + n / 30) {  // every one of the first, some of the tiles
    int64_t before = kp_memory_bytes();
    kp_picture picture = { 0 };
    kp_memory_fail_at(n);
    kp_result result = kp_render_frame(&scene, &def, &picture);
    kp_memory_fail_at(-1);
    done = result == KP_OK;
    assert_true(done || result == KP_ERROR_MEMORY);
    kp_picture_free(&picture);
    assert_int_equal(kp_memory_bytes(), before);
  }
  assert_true(done && n > 50);
  kp_parallel_set_threads(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(deep_maps_keep_their_bound),
    cmocka_unit_test(sheets_of_fibres_let_light_through),
    cmocka_unit_test(highlights_lie_on_the_mirror_cone),
    cmocka_unit_test(a_tuft_shades_itself),
    cmocka_unit_test(cloth_has_two_sides),
    cmocka_unit_test(same_bytes_for_any_thread_count),
    cmocka_unit_test(running_out_of_memory_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
