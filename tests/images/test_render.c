// The renderer against geometry that can be worked out by hand.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"
#include "render/render.h"

#define PI 3.14159265358979323846

// A square picture of one sample without ground, sky and outline, seen from (0, 0, 5) along -z.
static kp_render_def plain_def(int size) {
  kp_render_def def = kp_default_render_def();
  def.width = def.height = size;
  def.samples = 1;
  def.camera_position = kp_vec3_make(0.0, 0.0, 5.0);
  def.camera_fov_deg = 40.0;
  def.ground = KP_GROUND_NONE;
  def.box = false;
  def.transparent = true;
  return def;
}

static kp_render_scene plain_scene(void) {
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty() };
  return scene;
}

static double focal_pixels(const kp_render_def *def) {
  return 0.5 * (double)def->height / tan(0.5 * def->camera_fov_deg * PI / 180.0);
}

static float alpha_at(const kp_picture *picture, int x, int y) {
  return picture->rgba[4 * (y * picture->width + x) + 3];
}

static void ball_has_its_outline_and_depth(void **state) {
  (void)state;
  double origin[1] = { 0.0 };
  kp_render_points points = { .n = 1, .positions = { origin, origin, origin, 1 }, .radius = 0.75 };
  points.look = kp_default_look_def();
  kp_render_scene scene = plain_scene();
  scene.points = &points;
  scene.n_points = 1;
  kp_render_def def = plain_def(401);
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));

  int covered = 0;
  for (int i = 0; i < 401 * 401; ++i) {
    covered += picture.depth[i] < HUGE_VALF ? 1 : 0;
  }
  double radius = focal_pixels(&def) * 0.75 / sqrt(25.0 - 0.75 * 0.75);
  assert_near_relative(covered, PI * radius * radius, 0.003);
  // the middle pixel looks along the axis
  assert_near(picture.depth[200 * 401 + 200], 5.0 - 0.75, 1e-5);
  // depth of an oblique ray: |z (u, 0, 1) - c| = r
  double u = 60.0 / focal_pixels(&def), d2 = 1.0 + u * u;
  double z = (5.0 - sqrt(25.0 - d2 * (25.0 - 0.75 * 0.75))) / d2;
  assert_near(picture.depth[200 * 401 + 260], z, 1e-4);
  kp_picture_free(&picture);
}

// A ball thousands of radii away must still be round: the textbook formula fails here in float.
static void far_ball_is_round(void **state) {
  (void)state;
  double origin[1] = { 0.0 };
  kp_render_points points = { .n = 1, .positions = { origin, origin, origin, 1 }, .radius = 0.01 };
  points.look = kp_default_look_def();
  kp_render_scene scene = plain_scene();
  scene.points = &points;
  scene.n_points = 1;
  kp_render_def def = plain_def(301);
  def.camera_position = kp_vec3_make(0.0, 0.0, 100.0);
  def.camera_fov_deg = 1.0;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  int covered = 0;
  for (int i = 0; i < 301 * 301; ++i) {
    covered += picture.depth[i] < HUGE_VALF ? 1 : 0;
  }
  double radius = focal_pixels(&def) * 0.01 / 100.0;
  assert_near(covered, PI * radius * radius, 0.12 * PI * radius * radius);
  kp_picture_free(&picture);
}

// Two sprites at one place give twice the light of one, in their colour, fall off as (1 - q)^2 and
// cover nothing; behind a ball they are not seen.
static void sprites_add_their_light(void **state) {
  (void)state;
  double zero[2] = { 0.0, 0.0 }, front[1] = { 2.0 };
  float red[2] = { 0.5f, 0.5f }, green[2] = { 0.25f, 0.25f }, blue[2] = { 0.0f, 0.0f };
  float alphas[2] = { 1.0f, 0.5f };
  kp_render_points points[2] = { { .positions = { zero, zero, zero, 1 },
                                   .radius = 0.5,
                                   .colors = { red, green, blue },
                                   .alphas = alphas },
                                 { .n = 1, .positions = { zero, zero, front, 1 }, .radius = 0.5 } };
  points[0].look = points[1].look = kp_default_look_def();
  points[0].look.glow = 0.2;
  kp_render_scene scene = plain_scene();
  scene.points = points;
  kp_render_def def = plain_def(201);
  def.camera_target = kp_vec3_make(0.0, 0.0, 0.0);
  float middle[3][4];
  for (int k = 0; k < 3; ++k) {
    kp_picture picture = { 0 };
    points[0].n = k == 0 ? 1 : 2;
    scene.n_points = k == 2 ? 2 : 1;
    assert_ok(kp_render_frame(&scene, &def, &picture));
    memcpy(middle[k], picture.rgba + 4 * (100 * 201 + 100), sizeof middle[k]);
    if (k == 0) {
      assert_true(picture.depth[100 * 201 + 100] == HUGE_VALF);
      // half the radius to the side: q = 1/4
      double pixels = 0.25 / 5.0 * focal_pixels(&def);
      const float *side = picture.rgba + 4 * (100 * 201 + 100 + (int)lround(pixels));
      assert_near((double)(side[0] / middle[0][0]), 0.5625, 0.02);
      assert_true(picture.rgba[4 * (100 * 201 + 170)] == 0.0f);
    }
    kp_picture_free(&picture);
  }
  assert_near((double)middle[0][0], 0.1, 1e-3);
  assert_near((double)middle[0][1], 0.05, 1e-3);
  assert_near((double)middle[1][0], 0.15, 1e-3);
  assert_true(middle[2][3] == 1.0f);
  kp_picture alone = { 0 };
  scene.points = &points[1];
  scene.n_points = 1;
  assert_ok(kp_render_frame(&scene, &def, &alone));
  for (int c = 0; c < 3; ++c) {
    assert_true(middle[2][c] == alone.rgba[4 * (100 * 201 + 100) + c]);
  }
  kp_picture_free(&alone);
}

static void nearest_wins_and_ties_go_to_the_first(void **state) {
  (void)state;
  double x[4] = { 0.0, 0.0, 0.0, 0.0 }, z[4] = { -1.0, 1.0, 1.0, 0.0 };
  float value[4] = { 0.0f, 0.5f, 1.0f, 0.2f };
  kp_render_points points = { .n = 4, .positions = { x, x, z, 1 }, .radius = 0.5, .scalar = value };
  points.look = kp_default_look_def();
  points.look.color_map = KP_COLORMAP_GREY;
  points.look.smooth = points.look.gloss = 0.0;
  points.look.range_max = 1.0;
  double tx[3] = { -3.0, 3.0, 0.0 }, ty[3] = { -3.0, -3.0, 3.0 }, tz[3] = { 0.7, 0.7, 0.7 };
  uint32_t triangle[3] = { 0, 1, 2 };
  kp_render_mesh mesh = { .n_vertices = 3, .n_triangles = 1, .positions = { tx, ty, tz, 1 } };
  mesh.triangles = triangle;
  mesh.look = kp_default_look_def();
  kp_render_scene scene = plain_scene();
  scene.points = &points;
  scene.n_points = 1;
  scene.meshes = &mesh;
  scene.n_meshes = 1;
  kp_render_def def = plain_def(101);
  def.sun_strength = 0.0;
  def.occlusion = 0.0;
  kp_picture picture = { 0 }, alone = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  int middle = 50 * 101 + 50, aside = 50 * 101 + 50 - 22;
  assert_near(picture.depth[middle], 5.0 - 1.5, 1e-5);
  assert_near(picture.depth[aside], 5.0 - 0.7, 1e-5);
  // balls 1 and 2 coincide: the picture is that of ball 1 alone
  points.positions = (kp_render_positions){ x + 1, x + 1, z + 1, 1 };
  points.scalar = value + 1;
  points.n = 1;
  assert_ok(kp_render_frame(&scene, &def, &alone));
  assert_memory_equal(&picture.rgba[4 * middle], &alone.rgba[4 * middle], 4 * sizeof(float));
  kp_picture_free(&picture);
  kp_picture_free(&alone);
}

#define FAN 41

// A jagged disc of half-clear triangles round random inner points: if any pixel along a common edge
// were covered twice or never, its alpha would not be one half.
static void shared_edges_are_covered_once(kp_test_random *random, void *user) {
  (void)user;
  double x[2 * FAN + 1], y[2 * FAN + 1], z[2 * FAN + 1];
  uint32_t triangles[9 * FAN];
  x[0] = y[0] = z[0] = 0.0;
  for (int i = 0; i < FAN; ++i) {
    double angle = 2.0 * PI * i / FAN;
    double inner = kp_test_uniform(random, 0.3, 0.6);
    int a = 1 + i, b = 1 + FAN + i, a_next = 1 + (i + 1) % FAN, b_next = 1 + FAN + (i + 1) % FAN;
    x[a] = inner * cos(angle);
    y[a] = inner * sin(angle);
    z[a] = kp_test_uniform(random, -0.05, 0.05);
    x[b] = 1.5 * cos(angle);
    y[b] = 1.5 * sin(angle);
    z[b] = 0.0;
    uint32_t t[9] = { 0,           (uint32_t)a,      (uint32_t)a_next,
                      (uint32_t)a, (uint32_t)b,      (uint32_t)b_next,
                      (uint32_t)a, (uint32_t)b_next, (uint32_t)a_next };
    memcpy(triangles + 9 * i, t, sizeof t);
  }
  kp_render_mesh mesh = { .n_vertices = 2 * FAN + 1, .n_triangles = 3 * FAN };
  mesh.positions = (kp_render_positions){ x, y, z, 1 };
  mesh.triangles = triangles;
  mesh.look = kp_default_look_def();
  mesh.look.opacity = 0.5;
  mesh.look.gloss = 0.0;
  kp_render_scene scene = plain_scene();
  scene.meshes = &mesh;
  scene.n_meshes = 1;
  kp_render_def def = plain_def(200);
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  double inside = 1.49 * cos(PI / FAN), pixel = 5.0 / focal_pixels(&def);
  for (int j = 0; j < 200; ++j) {
    for (int i = 0; i < 200; ++i) {
      float alpha = alpha_at(&picture, i, j);
      double r = pixel * hypot(i - 99.5, j - 99.5);
      assert_true(alpha == 0.0f || alpha == 0.5f);
      assert_true(r > inside || alpha == 0.5f);
      assert_true(r < 1.52 || alpha == 0.0f);
    }
  }
  kp_picture_free(&picture);
}

static void triangles_share_their_edges(void **state) {
  (void)state;
  kp_test_for_seeds(5, shared_edges_are_covered_once, NULL);
}

// A floor that runs from behind the camera to far away is cut at the near plane and covers the
// lower half of the picture.
// Colours of vertices are mixed by their weights; a value that colours the mesh goes first.
static void vertices_bring_their_colors(void **state) {
  (void)state;
  static const double places[3][3] = { { -1, -1, 0 }, { 1, -1, 0 }, { 0, 1, 0 } };
  static const uint32_t corners[3] = { 0, 1, 2 };
  static const float red[3] = { 1.0f, 0.0f, 0.0f }, green[3] = { 0.0f, 1.0f, 0.0f };
  static const float blue[3] = { 0.0f, 0.0f, 1.0f }, value[3] = { 0.0f, 0.0f, 0.0f };
  kp_render_mesh mesh = { .n_vertices = 3, .n_triangles = 1, .triangles = corners };
  mesh.positions = (kp_render_positions){ &places[0][0], &places[0][1], &places[0][2], 3 };
  mesh.look = kp_default_look_def();
  mesh.look.gloss = 0.0;
  mesh.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  kp_render_def def = kp_default_render_def();
  def.width = def.height = 101;
  def.samples = 1;
  def.camera_position = kp_vec3_make(0.0, 0.0, 4.0);
  def.camera_fov_deg = 40.0;
  def.ground = KP_GROUND_NONE;
  def.box = false;
  kp_render_scene scene = { .meshes = &mesh, .n_meshes = 1, .bounds = kp_aabb_empty() };
  kp_picture white = { 0 }, colored = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &white));
  mesh.colors[0] = red;
  mesh.colors[1] = green;
  mesh.colors[2] = blue;
  assert_ok(kp_render_frame(&scene, &def, &colored));
  double f = 0.5 * 101.0 / tan(0.5 * def.camera_fov_deg * 3.14159265358979 / 180.0) / 4.0;
  for (int k = 0; k < 3; ++k) {
    const double points[3][2] = { { 0.0, -1.0 / 3.0 }, { -0.4, -0.6 }, { 0.1, 0.2 } };
    int x = (int)(50.5 + f * points[k][0]), y = (int)(50.5 - f * points[k][1]);
    double px = (x - 50.0) / f, py = (50.0 - y) / f;
    double third = (py + 1.0) / 2.0, second = (px + 1.0 - third) / 2.0;
    const double weights[3] = { 1.0 - second - third, second, third };
    for (int c = 0; c < 3; ++c) {
      double share =
          (double)colored.rgba[4 * (y * 101 + x) + c] / (double)white.rgba[4 * (y * 101 + x) + c];
      assert_near(share, weights[c], 0.01);
    }
  }
  mesh.scalar = value;
  assert_ok(kp_render_frame(&scene, &def, &white));
  mesh.colors[0] = mesh.colors[1] = mesh.colors[2] = NULL;
  assert_ok(kp_render_frame(&scene, &def, &colored));
  assert_memory_equal(white.rgba, colored.rgba, sizeof(float) * 4 * 101 * 101);
  kp_picture_free(&white);
  kp_picture_free(&colored);
}

static void near_plane_cuts_triangles(void **state) {
  (void)state;
  double x[4] = { -500.0, 500.0, 500.0, -500.0 }, y[4] = { -1.0, -1.0, -1.0, -1.0 };
  double z[4] = { 50.0, 50.0, -5000.0, -5000.0 };
  uint32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
  kp_render_mesh mesh = { .n_vertices = 4, .n_triangles = 2, .positions = { x, y, z, 1 } };
  mesh.triangles = triangles;
  mesh.look = kp_default_look_def();
  kp_render_scene scene = plain_scene();
  scene.meshes = &mesh;
  scene.n_meshes = 1;
  scene.bounds = (kp_aabb){ { -1.0, -1.0, -1.0 }, { 1.0, 1.0, 1.0 } };
  kp_render_def def = plain_def(100);
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  for (int j = 0; j < 100; ++j) {
    for (int i = 0; i < 100; ++i) {
      assert_near(alpha_at(&picture, i, j), j >= 51 ? 1.0 : 0.0, j == 50 ? 1.0 : 0.0);
    }
  }
  double slope = 49.5 / focal_pixels(&def);
  assert_near_relative(picture.depth[99 * 100 + 50], 1.0 / slope, 1e-4);
  kp_picture_free(&picture);
}

static void strokes_cover_their_width(void **state) {
  (void)state;
  double x[2] = { -3.0, 3.0 }, zero[2] = { 0.0, 0.0 };
  uint64_t first[2] = { 0, 2 };
  kp_render_lines lines = { .n_lines = 1, .first = first, .positions = { x, zero, zero, 1 } };
  lines.look = kp_default_look_def();
  kp_render_scene scene = plain_scene();
  scene.lines = &lines;
  scene.n_lines = 1;
  kp_render_def def = plain_def(100);
  kp_picture picture = { 0 };
  // from a hundredth of a pixel to ten pixels: alpha summed over a column is the width, but never
  // less than what can be seen
  for (double pixels = 0.01; pixels < 12.0; pixels *= 1.7) {
    lines.radius = 0.5 * pixels * 5.0 / focal_pixels(&def);
    assert_ok(kp_render_frame(&scene, &def, &picture));
    double sum = 0.0;
    for (int j = 0; j < 100; ++j) {
      sum += (double)alpha_at(&picture, 50, j);
    }
    assert_near(sum, fmax(pixels, 0.35), 0.02 + 0.02 * pixels);
  }
  kp_picture_free(&picture);
}

// A bent half-clear stroke has one alpha everywhere on its middle line, also at the joints.
static void joints_are_counted_once(void **state) {
  (void)state;
  double x[5] = { -1.2, -0.5, 0.1, 0.6, 1.2 }, y[5] = { 0.0, 0.3, -0.2, 0.4, 0.0 }, z[5] = { 0.0 };
  uint64_t first[2] = { 0, 5 };
  kp_render_lines lines = { .n_lines = 1, .first = first, .positions = { x, y, z, 1 } };
  lines.radius = 0.05;
  lines.look = kp_default_look_def();
  lines.look.opacity = 0.5;
  kp_render_scene scene = plain_scene();
  scene.lines = &lines;
  scene.n_lines = 1;
  kp_render_def def = plain_def(200);
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  for (int i = 0; i < 200 * 200; ++i) {
    assert_true(picture.rgba[4 * i + 3] <= 0.5f);
  }
  for (int k = 0; k < 40; ++k) {
    int from = k / 10;
    double share = (k % 10) / 10.0, pixels = focal_pixels(&def) / 5.0;
    double at_x = x[from] + share * (x[from + 1] - x[from]);
    double at_y = y[from] + share * (y[from + 1] - y[from]);
    int i = (int)floor(100.0 + pixels * at_x), j = (int)floor(100.0 - pixels * at_y);
    assert_near(alpha_at(&picture, i, j), 0.5, k == 0 ? 0.25 : 1e-6);  // it begins in a pixel
  }
  kp_picture_free(&picture);
}

// A straight stroke that leans towards the eye looks the same cut into any number of pieces: caps
// between them are not seen as beads.
static void pieces_of_a_leaning_stroke_are_one(void **state) {
  (void)state;
  enum { PIECES = 120, SIZE = 160 };
  static double x[PIECES + 1], y[PIECES + 1], z[PIECES + 1];
  kp_render_lines lines = { .n_lines = 1, .positions = { x, y, z, 1 }, .radius = 0.12 };
  lines.look = kp_default_look_def();
  kp_render_scene scene = plain_scene();
  scene.lines = &lines;
  scene.n_lines = 1;
  kp_render_def def = plain_def(SIZE);
  def.sun = kp_vec3_make(-0.4, 1.0, 0.5);
  def.sky_strength = 0.5;
  kp_picture pictures[2] = { { 0 }, { 0 } };
  for (int k = 0; k < 2; ++k) {
    int n = k == 0 ? 1 : PIECES;
    uint64_t first[2] = { 0, (uint64_t)n + 1 };
    for (int i = 0; i <= n; ++i) {
      x[i] = 2.0 * i / n - 1.0;
      y[i] = 0.4 * i / n - 0.2;
      z[i] = 2.4 * i / n - 1.2;
    }
    lines.first = first;
    assert_ok(kp_render_frame(&scene, &def, &pictures[k]));
  }
  double off = 0.0;
  int inside = 0;
  for (int i = 0; i < SIZE * SIZE; ++i) {
    const float *whole = &pictures[0].rgba[4 * i], *cut = &pictures[1].rgba[4 * i];
    if (whole[3] < 1.0f || cut[3] < 1.0f || abs(i % SIZE - SIZE / 2) > 28) {
      continue;  // the rim and the ends
    }
    inside += 1;
    for (int c = 0; c < 3; ++c) {
      off = kp_test_most(off, fabs((double)whole[c] - (double)cut[c]));
    }
  }
  print_message("  largest difference %.4f in %d pixels\n", off, inside);
  assert_true(inside > 500);
  assert_true(off < 0.02);
  kp_picture_free(&pictures[0]);
  kp_picture_free(&pictures[1]);
}

enum { N = 20 };

static void volumes_follow_beer_and_lambert(void **state) {
  (void)state;
  static float density[N * N * N];
  for (int i = 0; i < N * N * N; ++i) {
    density[i] = 2.0f;
  }
  kp_render_volume volume = { .nx = N, .ny = N, .nz = N, .cell = 1.0 / N, .density = density };
  volume.origin = kp_vec3_make(-0.5, -0.5, -0.5);
  volume.look = kp_default_look_def();
  kp_render_scene scene = plain_scene();
  scene.volumes = &volume;
  scene.n_volumes = 1;
  kp_render_def def = plain_def(81);
  kp_picture picture = { 0 };
  for (int pass = 0; pass < 2; ++pass) {
    def.samples = pass == 0 ? 1 : 9;
    for (double sigma = 0.1; sigma < 3.0; sigma *= 2.0) {
      volume.look.density = sigma;
      assert_ok(kp_render_frame(&scene, &def, &picture));
      assert_near_relative(1.0f - alpha_at(&picture, 40, 40), exp(-2.0 * sigma), 0.01);
      // an oblique ray that enters in front and leaves at the back
      double u = 4.0 / focal_pixels(&def), length = sqrt(1.0 + u * u);
      assert_near_relative(1.0f - alpha_at(&picture, 44, 40), exp(-2.0 * sigma * length), 0.01);
    }
  }
  // a wall through the middle halves the way
  double x[3] = { -9.0, 9.0, 0.0 }, y[3] = { -9.0, -9.0, 9.0 }, z[3] = { 0.0, 0.0, 0.0 };
  uint32_t triangle[3] = { 0, 1, 2 };
  kp_render_mesh wall = { .n_vertices = 3, .n_triangles = 1, .positions = { x, y, z, 1 } };
  wall.triangles = triangle;
  wall.look = kp_default_look_def();
  wall.look.color = kp_vec3_make(0.0, 0.0, 0.0);
  wall.look.gloss = 0.0;
  volume.look.color = kp_vec3_make(0.0, 0.0, 0.0);
  volume.look.density = 1.0;
  scene.meshes = &wall;
  scene.n_meshes = 1;
  assert_ok(kp_render_frame(&scene, &def, &picture));
  assert_near(alpha_at(&picture, 40, 40), 1.0, 1e-4);
  wall.look.opacity = 0.5;
  assert_ok(kp_render_frame(&scene, &def, &picture));
  assert_near_relative(1.0f - alpha_at(&picture, 40, 40), 0.5 * exp(-2.0), 0.01);
  kp_picture_free(&picture);
}

// A ball of water in front of a wall: clear as its colour says, mirroring at its rim, hiding
// nothing of what stands before it. A drop of no colour lets all through but for the share that its
// two surfaces mirror.
static void water_lets_through_what_its_color_says(void **state) {
  (void)state;
  enum { RINGS = 40, AROUND = 80 };
  static double x[RINGS * AROUND], y[RINGS * AROUND], z[RINGS * AROUND];
  static float normals[3 * RINGS * AROUND];
  static uint32_t triangles[6 * RINGS * AROUND];
  int n = 0;
  for (int i = 0; i < RINGS; ++i) {
    for (int j = 0; j < AROUND; ++j) {
      double a = PI * i / (RINGS - 1), b = 2.0 * PI * j / AROUND;
      int v = i * AROUND + j, next = i * AROUND + (j + 1) % AROUND;
      x[v] = sin(a) * cos(b);
      y[v] = sin(a) * sin(b);
      z[v] = cos(a);
      normals[3 * v] = (float)x[v];
      normals[3 * v + 1] = (float)y[v];
      normals[3 * v + 2] = (float)z[v];
      if (i + 1 < RINGS) {
        const uint32_t two[6] = {
          (uint32_t)v,    (uint32_t)(v + AROUND), (uint32_t)next,
          (uint32_t)next, (uint32_t)(v + AROUND), (uint32_t)(next + AROUND)
        };
        memcpy(triangles + n, two, sizeof two);
        n += 6;
      }
    }
  }
  kp_render_mesh water = { .n_vertices = RINGS * AROUND, .n_triangles = n / 3 };
  water.positions = (kp_render_positions){ x, y, z, 1 };
  water.triangles = triangles;
  water.normals = normals;
  water.look = kp_default_look_def();
  water.look.water = true;
  water.look.density = 1.0;
  kp_render_scene scene = plain_scene();
  scene.meshes = &water;
  scene.n_meshes = 1;
  kp_render_def def = plain_def(101);
  def.sun_strength = 0.0;
  kp_picture clear = { 0 }, red = { 0 };
  water.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  assert_ok(kp_render_frame(&scene, &def, &clear));
  // nothing behind it: what is not mirrored at the first surface goes through, as the second one
  // mirrors too little for a ray of its own
  assert_near(alpha_at(&clear, 50, 50), 0.0204, 1e-3);
  double radius = focal_pixels(&def) / sqrt(24.0);
  assert_true(alpha_at(&clear, 50 + (int)(0.99 * radius), 50) > 2.0f * alpha_at(&clear, 50, 50));
  assert_near(alpha_at(&clear, 50 + (int)radius + 2, 50), 0.0, 1e-6);
  // over white, a red liquid is red
  def.transparent = false;
  water.look.color = kp_vec3_make(1.0, 0.2, 0.2);
  assert_ok(kp_render_frame(&scene, &def, &red));
  const float *c = &red.rgba[4 * (50 * 101 + 50)];
  assert_true(c[0] > 1.5f * c[1]);
  kp_picture_free(&clear);
  kp_picture_free(&red);
}

static float *hot_gas(float kelvin, float *share) {
  static float temperature[N * N * N];
  for (int i = 0; i < N * N * N; ++i) {
    temperature[i] = kelvin;
    share[i] = 1.0f;
  }
  return temperature;
}

// A thick hot gas has the colour of its temperature: redder when cooler, brighter when hotter; a
// thin one lets through exp(-sigma L).
static void hot_gas_glows_as_a_black_body(void **state) {
  (void)state;
  static float density[N * N * N], share[N * N * N];
  kp_render_volume volume = { .nx = N, .ny = N, .nz = N, .cell = 1.0 / N, .density = density };
  volume.origin = kp_vec3_make(-0.5, -0.5, -0.5);
  volume.look = kp_default_look_def();
  volume.emission = share;
  volume.is_hot = true;
  kp_render_scene scene = plain_scene();
  scene.volumes = &volume;
  scene.n_volumes = 1;
  kp_render_def def = plain_def(41);
  kp_picture picture = { 0 };
  float before = 0.0f, red = 1e9f;
  for (float kelvin = 1000.0f; kelvin < 2500.0f; kelvin += 200.0f) {
    volume.scalar = hot_gas(kelvin, share);
    volume.look.density = 50.0;
    assert_ok(kp_render_frame(&scene, &def, &picture));
    const float *c = &picture.rgba[4 * (20 * 41 + 20)];
    float light = 0.2126f * c[0] + 0.7152f * c[1] + 0.0722f * c[2];
    assert_true(c[0] > c[1] && c[1] >= c[2]);
    assert_true(light > before);
    assert_true(c[0] / c[1] < red);
    assert_near(c[3], 1.0, 2e-3);
    before = light;
    red = c[0] / c[1];
  }
  volume.look.density = 0.7;
  assert_ok(kp_render_frame(&scene, &def, &picture));
  assert_near_relative(1.0f - alpha_at(&picture, 20, 20), exp(-0.7), 0.01);
  kp_picture_free(&picture);
}

// The floor under a small hot ball: light falls with the square of the distance and the cosine.
static void fire_lights_the_floor(void **state) {
  (void)state;
  static float density[N * N * N], share[N * N * N];
  const float *kelvin = hot_gas(2000.0f, share);
  double x[4] = { -9, 9, 9, -9 }, y[4] = { -1, -1, -1, -1 }, z[4] = { -9, -9, 9, 9 };
  uint32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
  kp_render_mesh floor = { .n_vertices = 4, .n_triangles = 2, .positions = { x, y, z, 1 } };
  floor.triangles = triangles;
  floor.look = kp_default_look_def();
  floor.look.color = kp_vec3_make(1, 1, 1);
  floor.look.gloss = 0.0;
  kp_render_volume volume = { .nx = N, .ny = N, .nz = N, .cell = 0.1 / N, .density = density };
  volume.origin = kp_vec3_make(-0.05, -0.05, -0.05);
  volume.look = kp_default_look_def();
  volume.look.density = 2.0;
  volume.look.emission = 50.0;
  volume.emission = share;
  volume.scalar = kelvin;
  volume.is_hot = true;
  kp_render_scene scene = plain_scene();
  scene.meshes = &floor;
  scene.n_meshes = 1;
  scene.volumes = &volume;
  scene.n_volumes = 1;
  kp_render_def def = plain_def(101);
  def.camera_position = kp_vec3_make(0, 5, 0.001);
  def.sun_strength = def.sky_strength = def.occlusion = 0.0;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  // pixels right and left of the flame, which hides the middle
  double per_pixel = 6.0 / focal_pixels(&def);
  double near = 10.0 * per_pixel, far = 40.0 * per_pixel;
  float a = picture.rgba[4 * (50 * 101 + 60)], b = picture.rgba[4 * (50 * 101 + 90)];
  assert_true(a > 0.0f && b > 0.0f);
  assert_near_relative(a / b, pow((1.0 + far * far) / (1.0 + near * near), 1.5), 0.02);
  kp_picture_free(&picture);
}

// Left to itself, the extinction follows the size of the scene: a tenfold larger one looks alike.
static void smoke_follows_the_scale(void **state) {
  (void)state;
  static float density[N * N * N];
  for (int i = 0; i < N * N * N; ++i) {
    density[i] = (float)(i % 7) / 7.0f;
  }
  kp_picture small = { 0 }, large = { 0 };
  for (int pass = 0; pass < 2; ++pass) {
    double size = pass == 0 ? 1.0 : 10.0;
    kp_render_volume volume = { .nx = N, .ny = N, .nz = N, .cell = size / N, .density = density };
    volume.look = kp_default_look_def();
    kp_render_scene scene = plain_scene();
    scene.bounds = (kp_aabb){ { 0, 0, 0 }, { size, size, size } };
    scene.volumes = &volume;
    scene.n_volumes = 1;
    kp_render_def def = plain_def(61);
    def.camera_position = def.camera_target = kp_vec3_make(0, 0, 0);
    assert_ok(kp_render_frame(&scene, &def, pass == 0 ? &small : &large));
  }
  assert_true(alpha_at(&small, 30, 30) > 0.9f);
  for (int i = 0; i < 4 * 61 * 61; ++i) {
    assert_near(small.rgba[i], large.rgba[i], 2e-3);
  }
  kp_picture_free(&small);
  kp_picture_free(&large);
}

// The floor under a slab of constant smoke, sun overhead, is darker by exp(-sigma L).
static void volumes_throw_shadows(void **state) {
  (void)state;
  static float density[N * N * N];
  for (int i = 0; i < N * N * N; ++i) {
    density[i] = 1.0f;
  }
  kp_render_volume volume = { .nx = N, .ny = N, .nz = N, .cell = 1.0 / N, .density = density };
  volume.origin = kp_vec3_make(-0.5, 0.5, -0.5);
  volume.look = kp_default_look_def();
  volume.look.density = 1.3;
  double x[4] = { -4.0, 4.0, 4.0, -4.0 }, y[4] = { 0.0 }, z[4] = { 4.0, 4.0, -4.0, -4.0 };
  uint32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
  kp_render_mesh floor = { .n_vertices = 4, .n_triangles = 2, .positions = { x, y, z, 1 } };
  floor.triangles = triangles;
  floor.look = kp_default_look_def();
  floor.look.gloss = 0.0;
  kp_render_scene scene = plain_scene();
  scene.meshes = &floor;
  scene.n_meshes = 1;
  kp_render_def def = plain_def(101);
  def.camera_position = kp_vec3_make(0.0, 0.2, 3.0);
  def.sun = kp_vec3_make(0.0, 1.0, 0.0);
  def.sky_strength = 0.0;
  kp_picture clear = { 0 }, smoky = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &clear));
  scene.volumes = &volume;
  scene.n_volumes = 1;
  assert_ok(kp_render_frame(&scene, &def, &smoky));
  int pixel = 50 * 101 + 50;  // the middle: the floor at the origin
  double ratio = (double)smoky.rgba[4 * pixel] / (double)clear.rgba[4 * pixel];
  assert_near_relative(ratio, exp(-1.3), 0.02);
  kp_picture_free(&clear);
  kp_picture_free(&smoky);
}

// A ball above a floor: its shadow is black without sky light, and lies where the sun puts it.
static void balls_throw_shadows(void **state) {
  (void)state;
  double bx[1] = { 0.0 }, by[1] = { 1.0 };
  kp_render_points ball = { .n = 1, .positions = { bx, by, bx, 1 }, .radius = 0.3 };
  ball.look = kp_default_look_def();
  double x[4] = { -4.0, 4.0, 4.0, -4.0 }, y[4] = { 0.0 }, z[4] = { 4.0, 4.0, -4.0, -4.0 };
  uint32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
  kp_render_mesh floor = { .n_vertices = 4, .n_triangles = 2, .positions = { x, y, z, 1 } };
  floor.triangles = triangles;
  floor.look = kp_default_look_def();
  floor.look.gloss = 0.0;
  kp_render_scene scene = plain_scene();
  scene.points = &ball;
  scene.n_points = 1;
  scene.meshes = &floor;
  scene.n_meshes = 1;
  kp_render_def def = plain_def(201);
  def.camera_position = kp_vec3_make(0.0, 8.0, 0.01);
  def.sun = kp_vec3_make(-1.0, 1.0, 0.0);
  def.sun_size_deg = 0.0;
  def.sky_strength = 0.0;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  double metre = focal_pixels(&def) / 8.0;
  int shadow = 100 * 201 + 100 + (int)lrint(metre), lit = 100 * 201 + 100 - (int)lrint(1.5 * metre);
  assert_near(picture.rgba[4 * shadow], 0.0, 1e-6);
  assert_true(picture.rgba[4 * lit] > 0.1f);
  kp_picture_free(&picture);
}

typedef struct mixed_scene {
  kp_render_scene scene;
  kp_render_points points;
  kp_render_mesh meshes[2];
  kp_render_lines lines;
  kp_render_volume volume;
  double x[3000], y[3000], z[3000];
  float value[3000], density[N * N * N];
  double px[4], py[4], pz[4];
  double lx[40], ly[40], lz[40];
} mixed_scene;

static const uint32_t quad[6] = { 0, 1, 2, 0, 2, 3 };
static const uint64_t two_lines[3] = { 0, 20, 40 };

// Something of everything, with overlaps.
static void make_mixed(mixed_scene *m) {
  kp_test_random random = kp_test_random_begin(7);
  for (int i = 0; i < 3000; ++i) {
    m->x[i] = kp_test_uniform(&random, 0.0, 1.0);
    m->z[i] = kp_test_uniform(&random, 0.0, 0.6);
    m->y[i] = kp_test_uniform(&random, 0.0, 0.2 + 0.2 * m->x[i]);
    m->value[i] = (float)m->y[i];
  }
  m->points = (kp_render_points){ .n = 3000, .positions = { m->x, m->y, m->z, 1 }, .radius = 0.02 };
  m->points.scalar = m->value;
  m->points.look = kp_default_look_def();
  m->points.look.color_map = KP_COLORMAP_WATER;
  for (int i = 0; i < 4; ++i) {
    m->px[i] = i == 1 || i == 2 ? 1.0 : 0.0;
    m->py[i] = i >= 2 ? 0.6 : 0.0;
    m->pz[i] = 0.65;
  }
  kp_render_positions pane = { m->px, m->py, m->pz, 1 };
  m->meshes[0] = (kp_render_mesh){ .n_vertices = 4, .n_triangles = 2, .positions = pane };
  m->meshes[0].triangles = quad;
  m->meshes[0].look = kp_default_look_def();
  m->meshes[1] = m->meshes[0];
  m->meshes[0].look.opacity = 0.2;
  m->meshes[1].positions = (kp_render_positions){ m->px, m->pz, m->py, 1 };
  m->meshes[1].look.color = kp_vec3_make(0.8, 0.3, 0.2);
  for (int i = 0; i < 40; ++i) {
    m->lx[i] = 0.05 * (i % 20);
    m->ly[i] = 0.5 + 0.1 * sin(0.7 * i);
    m->lz[i] = 0.3 + (i >= 20 ? 0.1 : 0.0);
  }
  m->lines = (kp_render_lines){ .n_lines = 2, .first = two_lines, .radius = 0.004 };
  m->lines.positions = (kp_render_positions){ m->lx, m->ly, m->lz, 1 };
  m->lines.look = kp_default_look_def();
  for (int i = 0; i < N * N * N; ++i) {
    double a = i % N - 9.5, b = i / N % N - 9.5, c = i / (N * N) - 9.5;
    m->density[i] = a * a + b * b + c * c < 80.0 ? 1.0f : 0.0f;
  }
  m->volume = (kp_render_volume){ .nx = N, .ny = N, .nz = N, .cell = 0.02, .density = m->density };
  m->volume.origin = kp_vec3_make(0.1, 0.25, 0.1);
  m->volume.look = kp_default_look_def();
  m->scene = (kp_render_scene){ .points = &m->points,
                                .n_points = 1,
                                .meshes = m->meshes,
                                .n_meshes = 2,
                                .lines = &m->lines,
                                .n_lines = 1,
                                .volumes = &m->volume,
                                .n_volumes = 1,
                                .up = KP_UP_Y };
  m->scene.bounds = (kp_aabb){ { 0.0, 0.0, 0.0 }, { 1.0, 0.7, 0.7 } };
}

static void same_bytes_for_any_thread_count(void **state) {
  (void)state;
  static mixed_scene m;
  make_mixed(&m);
  kp_render_def def = kp_default_render_def();
  def.width = 213;
  def.height = 131;
  def.samples = 3;
  kp_picture first = { 0 }, other = { 0 };
  kp_parallel_set_threads(1);
  assert_ok(kp_render_frame(&m.scene, &def, &first));
  size_t n = (size_t)first.width * (size_t)first.height;
  for (int threads = 2; threads <= 5; ++threads) {
    kp_parallel_set_threads(threads);
    assert_ok(kp_render_frame(&m.scene, &def, &other));
    assert_memory_equal(first.rgba, other.rgba, 4 * n * sizeof(float));
    assert_memory_equal(first.depth, other.depth, n * sizeof(float));
  }
  kp_parallel_set_threads(0);
  kp_picture_free(&first);
  kp_picture_free(&other);
}

// Each allocation fails in turn: an error, and nothing stays behind.
static void running_out_of_memory_is_an_error(void **state) {
  (void)state;
  static mixed_scene m;
  make_mixed(&m);
  kp_render_def def = kp_default_render_def();
  def.width = 64;
  def.height = 64;
  def.samples = 1;
  kp_parallel_set_threads(1);
  bool done = false;
  int64_t n = 0;
  for (; n < 2000 && !done; ++n) {
    int64_t before = kp_memory_bytes();
    kp_picture picture = { 0 };
    kp_memory_fail_at(n);
    kp_result result = kp_render_frame(&m.scene, &def, &picture);
    kp_memory_fail_at(-1);
    done = result == KP_OK;
    assert_true(done || result == KP_ERROR_MEMORY);
    kp_picture_free(&picture);
    assert_int_equal(kp_memory_bytes(), before);
  }
  assert_true(done && n > 30);
  kp_parallel_set_threads(0);
}

static void wrong_input_is_refused(void **state) {
  (void)state;
  static mixed_scene m;
  make_mixed(&m);
  kp_render_def def = plain_def(16);
  kp_picture picture = { 0 };
  def.width = 0;
  assert_fails(KP_ERROR_ARGUMENT, "width", kp_render_frame(&m.scene, &def, &picture));
  def.width = 16;
  def.background = 99;
  assert_fails(KP_ERROR_ARGUMENT, "background", kp_render_frame(&m.scene, &def, &picture));
  def.background = KP_BACKGROUND_SKY;
  def.exposure = NAN;
  assert_fails(KP_ERROR_ARGUMENT, "exposure", kp_render_frame(&m.scene, &def, &picture));
  def.exposure = 0.0;
  m.meshes[1].n_vertices = 3;
  assert_fails(KP_ERROR_ARGUMENT, "vertex 3", kp_render_frame(&m.scene, &def, &picture));
  m.meshes[1].n_vertices = 4;
  m.volume.density = NULL;
  assert_fails(KP_ERROR_ARGUMENT, "volume 0", kp_render_frame(&m.scene, &def, &picture));
  kp_picture_free(&picture);
}

// Wild numbers among the particles neither crash nor reach the picture.
static void broken_particles_are_left_out(void **state) {
  (void)state;
  static mixed_scene m;
  make_mixed(&m);
  m.scene.bounds = kp_aabb_empty();
  kp_render_def def = kp_default_render_def();
  def.width = 100;
  def.height = 60;
  def.samples = 1;
  def.ground = KP_GROUND_NONE;
  def.box = false;
  m.x[5] = NAN;
  m.y[9] = INFINITY;
  m.z[11] = -INFINITY;
  m.value[20] = NAN;
  m.lx[3] = NAN;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&m.scene, &def, &picture));
  int n_covered = 0;
  for (int i = 0; i < 4 * 100 * 60; ++i) {
    assert_true(isfinite(picture.rgba[i]));
    n_covered += i % 4 == 0 && picture.depth[i / 4] < HUGE_VALF;
  }
  assert_between(n_covered, 1000, 5000);  // the others are there
  kp_picture_free(&picture);
}

// Members of a still that curves of the film stand for.
static void mark_curves(unsigned char *used) {
#define X(member)                                                                                  \
  memset(used + offsetof(kp_film_def, still.member), 1, sizeof(((kp_film_def *)0)->still.member));
  KP_FILM_NUMBERS(X)
  KP_FILM_VECTORS(X)
#undef X
  // and the padding behind the last one
  const size_t end = offsetof(kp_film_def, still.transparent) + sizeof(bool);
  assert_true(sizeof(kp_render_def) - end < sizeof(double));
  memset(used + end, 1, sizeof(kp_render_def) - end);
}

static void check_coverage(const kp_param_table *table) {
  unsigned char used[4096] = { 0 };
  if (table == &kp_render_params) {
    mark_curves(used);
  }
  assert_true(table->def_size < sizeof used);
  size_t end = 0;
  for (size_t i = 0; i < table->n_rows; ++i) {
    const kp_param *row = &table->rows[i];
    for (size_t b = row->offset; b < row->offset + row->size; ++b) {
      assert_int_equal(used[b], 0);
      used[b] = 1;
    }
    end = row->offset + row->size > end ? row->offset + row->size : end;
    assert_true(row->text[strlen(row->text) - 1] == '.');
  }
  // only padding at the end may be without a row
  assert_true(table->def_size - end < sizeof(double));
  for (size_t b = 0; b < end; ++b) {
    assert_int_equal(used[b], 1);
  }
}

static void tables_cover_their_defs(void **state) {
  (void)state;
  check_coverage(&kp_render_params);
  check_coverage(&kp_look_params);
  kp_render_def def = kp_default_render_def();
  assert_ok(kp_render_check(&def));
}

static void framing_camera_sees_the_box(void **state) {
  (void)state;
  kp_aabb box = { { -3.0, 1.0, 2.0 }, { 5.0, 2.5, 9.0 } };
  for (int k = 0; k < 48; ++k) {
    kp_vec3 up = k % 2 == 0 ? kp_vec3_make(0.0, 1.0, 0.0) : kp_vec3_make(0.0, 0.0, 1.0);
    kp_camera_framing framing = { up, 15.0 * k, -80.0 + 3.4 * k, 35.0, 1.6, 1.0 };
    kp_camera camera = kp_camera_frame_box(box, &framing);
    kp_camera_frame frame = kp_camera_get_frame(&camera);
    double tan_y = tan(17.5 * PI / 180.0), widest = 0.0;
    for (int corner = 0; corner < 8; ++corner) {
      kp_vec3 p =
          kp_vec3_make(corner & 1 ? 5.0 : -3.0, corner & 2 ? 2.5 : 1.0, corner & 4 ? 9.0 : 2.0);
      kp_vec3 d = kp_vec3_sub(p, camera.position);
      double z = kp_vec3_dot(d, frame.forward);
      double u = fabs(kp_vec3_dot(d, frame.right)) / (z * tan_y * 1.6);
      double v = fabs(kp_vec3_dot(d, frame.up)) / (z * tan_y);
      assert_true(z > 0.0);
      widest = kp_test_most(widest, kp_test_most(u, v));
    }
    // inside with a margin, and no smaller than needed
    assert_between(widest, 0.85, 0.93);
  }
}

// A head in a hall: the camera goes where what moves fills the picture, at any zoom, and frames the
// hall where that is asked for or nothing moves; a place of its own goes before.
static void camera_frames_what_moves_in_a_hall(void **state) {
  (void)state;
  kp_render_scene scene = { .bounds = { { -5.0, 0.0, -5.0 }, { 5.0, 6.0, 5.0 } } };
  kp_render_def def = kp_default_render_def();
  kp_camera whole = kp_render_get_camera(&scene, &def);
  assert_near(whole.target.y, 3.0, 1e-12);
  scene.seen = (kp_aabb){ { 1.0, 1.0, 1.0 }, { 1.5, 1.6, 1.4 } };
  kp_camera head = kp_render_get_camera(&scene, &def);
  assert_near(head.target.x, 1.25, 1e-12);
  assert_near(head.target.y, 1.3, 1e-12);
  assert_near(head.target.z, 1.2, 1e-12);
  kp_render_scene alone = { .bounds = scene.seen };
  kp_camera close = kp_render_get_camera(&alone, &def);
  assert_near(kp_vec3_length(kp_vec3_sub(close.position, head.position)), 0.0, 1e-12);
  // what flew out of the hall does not count
  scene.seen.max.y = 1e6;
  assert_near(kp_render_get_camera(&scene, &def).target.y, 3.5, 1e-12);
  // nor does the size of the hall
  scene.seen = (kp_aabb){ { -3.0, 0.0, -3.0 }, { 3.0, 5.0, 3.0 } };
  assert_near(kp_render_get_camera(&scene, &def).target.y, 2.5, 1e-12);
  def.camera_frame = KP_FRAME_DOMAIN;
  kp_camera wide = kp_render_get_camera(&scene, &def);
  assert_memory_equal(&wide, &whole, sizeof whole);
  def.camera_frame = KP_FRAME_MOTION;
  scene.seen = (kp_aabb){ { 1.0, 1.0, 1.0 }, { 1.5, 1.6, 1.4 } };
  def.camera_zoom = 2.0;
  kp_camera near = kp_render_get_camera(&scene, &def);
  assert_near(near.target.x, 1.25, 1e-12);
  assert_near(kp_vec3_length(kp_vec3_sub(near.target, near.position)),
              0.5 * kp_vec3_length(kp_vec3_sub(head.target, head.position)), 1e-12);
  def.camera_position = kp_vec3_make(1.0, 2.0, 3.0);
  assert_near(kp_render_get_camera(&scene, &def).position.y, 2.0, 0.0);
}

// A film's camera, lens and lights are those of its curves at the time of the picture.
static void film_follows_its_curves(void **state) {
  (void)state;
  const double path[6] = { 0.0, 0.0, 0.0, 2.0, 4.0, 8.0 }, distances[2] = { 1.0, 3.0 };
  kp_film_def film = kp_default_film_def();
  const kp_render_def still = kp_default_render_def();
  kp_render_def def = kp_film_at(&film, 0.7);
  assert_memory_equal(&def, &still, sizeof def);
  film.camera_position = (kp_curve){ .components = 3, .n = 2, .interval = 1.0, .samples = path };
  film.focus = (kp_curve){ .components = 1, .n = 2, .interval = 1.0, .samples = distances };
  kp_film_set(&film.exposure, 1.5);
  kp_film_set_vector(&film.sun, kp_vec3_make(0.0, 1.0, 0.0));
  film.still.samples = 3;
  def = kp_film_at(&film, 0.5);
  assert_near(def.camera_position.x, 1.0, 1e-12);
  assert_near(def.camera_position.z, 4.0, 1e-12);
  assert_near(def.focus, 2.0, 1e-12);
  assert_near(def.exposure, 1.5, 0.0);
  assert_near(def.sun.y, 1.0, 0.0);
  assert_int_equal(def.samples, 3);
  assert_ok(kp_film_check(&film));
  kp_film_set(&film.camera_fov_deg, 170.0);
  assert_int_equal(kp_film_check(&film), KP_ERROR_ARGUMENT);
}

static double lightness(kp_rgb c) {
  return 0.2126 * (double)c.r + 0.7152 * (double)c.g + 0.0722 * (double)c.b;
}

static void color_maps_rise_evenly(void **state) {
  (void)state;
  const kp_colormap rising[4] = { KP_COLORMAP_VIRIDIS, KP_COLORMAP_WATER, KP_COLORMAP_HEAT,
                                  KP_COLORMAP_GREY };
  for (int m = 0; m < 4; ++m) {
    for (int i = 1; i <= 100; ++i) {
      kp_rgb a = kp_colormap_eval(rising[m], 0.01 * (i - 1));
      kp_rgb b = kp_colormap_eval(rising[m], 0.01 * i);
      assert_true(lightness(b) > lightness(a));
      assert_true(b.r <= 1.02f && b.g <= 1.02f && b.b <= 1.02f);
    }
  }
  kp_rgb wrong = kp_colormap_eval(KP_COLORMAP_WATER, NAN);
  assert_true(wrong.r == 1.0f && wrong.g == 0.0f && wrong.b == 1.0f);
  for (int i = 0; i <= 20; ++i) {
    float v = 0.05f * (float)i;
    assert_near(kp_srgb_decode(kp_srgb_encode(v)), v, 1e-5);
  }
  kp_rgb warm = kp_rgb_from_blackbody(1800.0), cold = kp_rgb_from_blackbody(9000.0);
  assert_true(warm.r > warm.g && warm.g > warm.b && cold.b > cold.r);
}

static void pictures_tone_map_and_reduce(void **state) {
  (void)state;
  float before = 0.0f;
  for (int i = 0; i < 200; ++i) {
    float v = 0.1f * (float)i;
    kp_rgb c = kp_picture_tone_map(kp_rgb_make(v, v, v), 0.0);
    assert_true(c.r >= before && c.r < 1.0f);
    before = c.r;
  }
  kp_picture big = { 0 }, small = { 0 };
  assert_ok(kp_picture_resize(&big, 6, 4));
  for (int i = 0; i < 24; ++i) {
    big.rgba[4 * i] = (float)i;
    big.depth[i] = (float)(100 - i);
  }
  assert_ok(kp_picture_reduce(&big, 2, &small));
  assert_int_equal(small.width, 3);
  assert_near(small.rgba[0], (0 + 1 + 6 + 7) / 4.0, 1e-6);
  assert_near(small.depth[0], 93.0, 0.0);
  assert_fails(KP_ERROR_ARGUMENT, "reduced", kp_picture_reduce(&big, 5, &small));
  kp_picture_free(&big);
  kp_picture_free(&small);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(ball_has_its_outline_and_depth),
    cmocka_unit_test(far_ball_is_round),
    cmocka_unit_test(sprites_add_their_light),
    cmocka_unit_test(nearest_wins_and_ties_go_to_the_first),
    cmocka_unit_test(triangles_share_their_edges),
    cmocka_unit_test(vertices_bring_their_colors),
    cmocka_unit_test(near_plane_cuts_triangles),
    cmocka_unit_test(strokes_cover_their_width),
    cmocka_unit_test(joints_are_counted_once),
    cmocka_unit_test(pieces_of_a_leaning_stroke_are_one),
    cmocka_unit_test(volumes_follow_beer_and_lambert),
    cmocka_unit_test(volumes_throw_shadows),
    cmocka_unit_test(water_lets_through_what_its_color_says),
    cmocka_unit_test(hot_gas_glows_as_a_black_body),
    cmocka_unit_test(fire_lights_the_floor),
    cmocka_unit_test(smoke_follows_the_scale),
    cmocka_unit_test(balls_throw_shadows),
    cmocka_unit_test(same_bytes_for_any_thread_count),
    cmocka_unit_test(running_out_of_memory_is_an_error),
    cmocka_unit_test(wrong_input_is_refused),
    cmocka_unit_test(broken_particles_are_left_out),
    cmocka_unit_test(tables_cover_their_defs),
    cmocka_unit_test(framing_camera_sees_the_box),
    cmocka_unit_test(camera_frames_what_moves_in_a_hall),
    cmocka_unit_test(film_follows_its_curves),
    cmocka_unit_test(color_maps_rise_evenly),
    cmocka_unit_test(pictures_tone_map_and_reduce),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
