// Depth of field and motion blur against circles of confusion and ways worked out by hand.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/pass.h"

#define PI 3.14159265358979323846
#define SIZE 201

static kp_render_def lens_def(void) {
  kp_render_def def = kp_default_render_def();
  def.width = def.height = SIZE;
  def.samples = 32;
  def.camera_position = kp_vec3_make(0.0, 0.0, 5.0);
  def.camera_fov_deg = 20.0;
  def.ground = KP_GROUND_NONE;
  def.box = false;
  def.transparent = true;
  return def;
}

static double focal_pixels(const kp_render_def *def) {
  return 0.5 * (double)def->height / tan(0.5 * def->camera_fov_deg * PI / 180.0);
}

// Middle, variances and reach of what the picture's alpha covers [pixels].
typedef struct spot {
  double sum, x, y, var_x, var_y;
  double x0, x1;  // first and last column that shows something
} spot;

static spot measure(const kp_picture *picture) {
  spot s = { .x0 = HUGE_VAL, .x1 = -HUGE_VAL };
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < picture->width * picture->height; ++i) {
      double a = (double)picture->rgba[4 * i + 3], x = i % picture->width, y = i / picture->width;
      if (pass == 0) {
        s.sum += a;
        s.x += a * x;
        s.y += a * y;
        s.x0 = a > 0.02 ? fmin(s.x0, x) : s.x0;
        s.x1 = a > 0.02 ? fmax(s.x1, x) : s.x1;
      } else {
        s.var_x += a * (x - s.x) * (x - s.x) / s.sum;
        s.var_y += a * (y - s.y) * (y - s.y) / s.sum;
      }
    }
    if (pass == 0) {
      s.x /= s.sum;
      s.y /= s.sum;
    }
  }
  return s;
}

static spot draw_ball(const kp_render_def *def, double z, double radius, double speed) {
  double zero = 0.0;
  kp_render_points ball = { .n = 1, .positions = { &zero, &zero, &z, 1 }, .radius = radius };
  ball.velocities = (kp_render_positions){ &speed, &zero, &zero, 1 };
  ball.look = kp_default_look_def();
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .interval = 0.1 };
  scene.points = &ball;
  scene.n_points = 1;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, def, &picture));
  spot s = measure(&picture);
  kp_picture_free(&picture);
  return s;
}

// A small ball at depth z is a disc of radius A/2 |1/z - 1/f| focal lengths, filled evenly: the
// variance along each axis is a quarter of its square. In the plane of focus it keeps its size.
static void what_is_out_of_focus_is_a_disc(void **state) {
  (void)state;
  kp_render_def def = lens_def();
  spot sharp[3];
  const double depths[3] = { 5.0, 3.5, 8.0 };
  for (int k = 0; k < 3; ++k) {
    sharp[k] = draw_ball(&def, 5.0 - depths[k], 0.05, 0.0);
  }
  def.aperture = 1.2;
  for (int auto_focus = 0; auto_focus < 2; ++auto_focus) {
    def.focus = auto_focus ? 0.0 : 5.0;
    for (int k = 0; k < 3; ++k) {
      spot s = draw_ball(&def, 5.0 - depths[k], 0.05, 0.0);
      double disc = 0.6 * focal_pixels(&def) * fabs(1.0 / depths[k] - 1.0 / 5.0);
      assert_near(s.x, sharp[k].x, 0.1 + 0.03 * disc);
      assert_near(s.y, sharp[k].y, 0.1 + 0.03 * disc);
      assert_near_relative(s.sum, sharp[k].sum, 0.02);
      if (k == 0) {
        assert_near_relative(s.var_x, sharp[k].var_x, 0.01);
        assert_near_relative(s.var_y, sharp[k].var_y, 0.01);
        continue;
      }
      double want = 0.25 * disc * disc;
      assert_near_relative(s.var_x - sharp[k].var_x, want, 0.03);
      assert_near_relative(s.var_y - sharp[k].var_y, want, 0.03);
      // no farther than the rim of the disc
      double own = 0.5 * (sharp[k].x1 - sharp[k].x0);
      assert_between(0.5 * (s.x1 - s.x0), 0.95 * disc, disc + own + 0.5);
    }
  }
}

// The focus may be anywhere: at 3.5 m the near ball is the sharp one.
static void focus_moves_the_sharp_plane(void **state) {
  (void)state;
  kp_render_def def = lens_def();
  spot pinhole = draw_ball(&def, 1.5, 0.05, 0.0);
  def.aperture = 1.2;
  def.focus = 3.5;
  spot near = draw_ball(&def, 1.5, 0.05, 0.0), middle = draw_ball(&def, 0.0, 0.05, 0.0);
  assert_near_relative(near.var_x, pinhole.var_x, 0.01);
  assert_true(middle.var_x > 4.0 * near.var_x);
}

// A ball at 4 m/s with the shutter open for half of 0.1 s smears over 0.2 m around its place:
// uniform, so the variance is that of n equal steps over the length.
static void what_moves_smears_over_its_way(void **state) {
  (void)state;
  kp_render_def def = lens_def();
  spot still = draw_ball(&def, 0.0, 0.05, 4.0);
  def.shutter = 0.5;
  spot moved = draw_ball(&def, 0.0, 0.05, 4.0);
  double way = 0.2 * focal_pixels(&def) / 5.0, n = 32.0;
  assert_near(moved.x, still.x, 0.1);
  assert_near(moved.var_y, still.var_y, 0.05);
  assert_near_relative(moved.var_x - still.var_x, way * way / 12.0 * (1.0 - 1.0 / (n * n)), 0.02);
  // the rims of single passes lie anywhere in a pixel
  assert_between((moved.x1 - moved.x0) - (still.x1 - still.x0), way - 3.0, way);
  // 16 passes over four radii of the ball: still no gaps
  def.samples = 16;
  double zero = 0.0, speed = 4.0;
  kp_render_points ball = { .n = 1, .positions = { &zero, &zero, &zero, 1 }, .radius = 0.05 };
  ball.velocities = (kp_render_positions){ &speed, &zero, &zero, 1 };
  ball.look = kp_default_look_def();
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .interval = 0.1 };
  scene.points = &ball;
  scene.n_points = 1;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  double low = 1.0, high = 0.0, radius = 0.05 * focal_pixels(&def) / 5.0;
  for (int x = SIZE / 2 - (int)(0.5 * way - radius); x <= SIZE / 2 + (int)(0.5 * way - radius);
       ++x) {
    double a = (double)picture.rgba[4 * (SIZE / 2 * SIZE + x) + 3];
    low = fmin(low, a);
    high = kp_test_most(high, a);
  }
  assert_near(0.5 * (low + high), 2.0 * radius / way, 0.07);  // each pixel is covered half the time
  assert_true(high - low < 2.5 / 16.0);                       // and by one or two passes less
  kp_picture_free(&picture);
}

// Meshes and strokes move with their vertices, each by its own velocity; so does their shadow.
static void meshes_and_strokes_move_too(void **state) {
  (void)state;
  double x[4] = { -0.1, 0.1, 0.1, -0.1 }, y[4] = { -0.1, -0.1, 0.1, 0.1 }, z[4] = { 0.0 };
  double vx[4] = { 4.0, 4.0, 4.0, 4.0 };
  uint32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
  uint64_t first[2] = { 0, 2 };
  double lx[2] = { 0.0, 0.0 }, ly[2] = { -0.2, 0.2 };
  kp_render_mesh mesh = { .n_vertices = 4, .n_triangles = 2, .positions = { x, y, z, 1 } };
  mesh.velocities = (kp_render_positions){ vx, z, z, 1 };
  mesh.triangles = triangles;
  mesh.look = kp_default_look_def();
  kp_render_lines line = { .n_lines = 1, .first = first, .positions = { lx, ly, z, 1 } };
  line.velocities = (kp_render_positions){ vx, z, z, 1 };
  line.radius = 0.02;
  line.look = kp_default_look_def();
  for (int kind = 0; kind < 2; ++kind) {
    kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .interval = 0.1 };
    scene.meshes = &mesh;
    scene.n_meshes = kind == 0 ? 1 : 0;
    scene.lines = &line;
    scene.n_lines = kind;
    kp_render_def def = lens_def();
    spot s[2];
    for (int open = 0; open < 2; ++open) {
      def.shutter = 0.5 * open;
      kp_picture picture = { 0 };
      assert_ok(kp_render_frame(&scene, &def, &picture));
      s[open] = measure(&picture);
      kp_picture_free(&picture);
    }
    double way = 0.2 * focal_pixels(&def) / 5.0;
    assert_near_relative(s[1].var_x - s[0].var_x, way * way / 12.0, 0.02);
    assert_near_relative(s[1].sum, s[0].sum, 0.01);
    *(kind == 0 ? &mesh.velocities.y : &line.velocities.z) = NULL;
    kp_picture picture = { 0 };
    assert_fails(KP_ERROR_ARGUMENT, "velocities are missing",
                 kp_render_frame(&scene, &def, &picture));
    kp_picture_free(&picture);
  }
}

// Any number of passes: each moment once, the lens filled evenly, and no coordinate that follows
// another.
// A thin cloud that drifts to the right keeps its mean place and grows by the variance of its way.
static void smoke_drifts_while_the_shutter_is_open(void **state) {
  (void)state;
  enum { N = 24, CELLS = N * N * N };
  static float density[CELLS], speed[CELLS], still[CELLS];
  const double cell = 1.0 / N, way = 0.25, interval = 0.1;
  for (int i = 0; i < CELLS; ++i) {
    double x = (i % N + 0.5) * cell - 0.5, y = (i / N % N + 0.5) * cell - 0.5;
    double z = (i / N / N + 0.5) * cell - 0.5;
    density[i] = (float)fmax(1.0 - 25.0 * (x * x + y * y + z * z), 0.0);
    speed[i] = (float)(way / interval);
  }
  kp_render_volume cloud = { .nx = N, .ny = N, .nz = N, .cell = cell, .density = density };
  cloud.origin = kp_vec3_make(-0.5, -0.5, -0.5);
  cloud.velocities[0] = speed;
  cloud.velocities[1] = cloud.velocities[2] = still;
  cloud.look = kp_default_look_def();
  cloud.look.density = 0.5;
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .interval = interval };
  scene.volumes = &cloud;
  scene.n_volumes = 1;
  kp_render_def def = lens_def();
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  spot at_rest = measure(&picture);
  def.shutter = 1.0;
  assert_ok(kp_render_frame(&scene, &def, &picture));
  spot moving = measure(&picture);
  double scale = focal_pixels(&def) / 5.0, pixels = way * scale, of_cell = cell * scale;
  assert_near(moving.x, at_rest.x, 0.5);
  assert_near_relative(moving.sum, at_rest.sum, 0.01);
  // taking values from between cells adds f (1 - f) of a cell squared, a sixth on average
  double grown = pixels * pixels / 12.0 + of_cell * of_cell / 6.0;
  assert_near_relative(moving.var_x - at_rest.var_x, grown, 0.02);
  assert_near(moving.var_y / at_rest.var_y, 1.0, 0.02);
  kp_picture_free(&picture);
}

static void samples_are_even(void **state) {
  (void)state;
  for (int n = 2; n <= 64; ++n) {
    double moments[64] = { 0 }, xx = 0.0, yy = 0.0, x = 0.0, y = 0.0, xt = 0.0, yt = 0.0;
    for (int k = 0; k < n; ++k) {
      kp_lens_sample s = kp_lens_sample_of(k, n);
      assert_true(s.x * s.x + s.y * s.y < 1.0);
      int at = (int)((s.moment + 0.5) * n);
      assert_true(at >= 0 && at < n && moments[at] == 0.0);
      moments[at] = 1.0;
      x += s.x / n;
      y += s.y / n;
      xx += s.x * s.x / n;
      yy += s.y * s.y / n;
      xt += s.x * s.moment / n;
      yt += s.y * s.moment / n;
    }
    assert_near(xx + yy, 0.5, 1e-12);
    if (n >= 12) {
      assert_near(x, 0.0, 0.08);
      assert_near(y, 0.0, 0.08);
      assert_near(xx, 0.25, 0.04);
      // correlation with the moment; the numbers people ask for do better
      double most = n == 16 || n == 32 || n == 64 ? 0.31 : 0.6;
      assert_near(xt / sqrt(xx / 12.0), 0.0, most);
      assert_near(yt / sqrt(yy / 12.0), 0.0, most);
    }
  }
  kp_lens_sample one = kp_lens_sample_of(0, 1);
  assert_true(one.x == 0.0 && one.y == 0.0 && one.moment == 0.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_out_of_focus_is_a_disc),
    cmocka_unit_test(focus_moves_the_sharp_plane),
    cmocka_unit_test(what_moves_smears_over_its_way),
    cmocka_unit_test(meshes_and_strokes_move_too),
    cmocka_unit_test(smoke_drifts_while_the_shutter_is_open),
    cmocka_unit_test(samples_are_even),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
