// Smoke and fire against closed forms, and half-angle slices against marched rays.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/light.h"
#include "render/render.h"

#include "support/claims.h"

#define PI 3.14159265358979323846
#define SIZE 61
#define MIDDLE (SIZE / 2)

enum { N = 32 };

static float values[N * N * N], share[N * N * N], kelvins[N * N * N];

static void fill(float *to, float value) {
  for (int i = 0; i < N * N * N; ++i) {
    to[i] = value;
  }
}

// A cube of edge 1 around the origin.
static kp_render_volume make_cube(double density) {
  kp_render_volume cube = { .nx = N, .ny = N, .nz = N, .cell = 1.0 / N, .density = values };
  fill(values, 1.0f);
  cube.origin = kp_vec3_make(-0.5, -0.5, -0.5);
  cube.look = kp_default_look_def();
  cube.look.density = density;
  cube.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  return cube;
}

// From so far away that rays are parallel; 40 pixels are a metre.
static kp_render_def far_def(void) {
  kp_render_def def = kp_default_render_def();
  def.width = def.height = SIZE;
  def.samples = 4;
  def.camera_position = kp_vec3_make(0.0, 0.0, 80.0);
  def.camera_fov_deg = 2.0 * atan(0.5 * SIZE / 40.0 / 80.0) * 180.0 / PI;
  def.ground = KP_GROUND_NONE;
  def.background = KP_BACKGROUND_DARK;
  def.sky_strength = 0.0;
  def.box = false;
  def.transparent = true;
  return def;
}

static kp_light light_of(const kp_render_def *def) {
  kp_light_def light = { .up = { 0.0, 1.0, 0.0 }, .background = def->background };
  light.sun = kp_vec3_normalize(def->sun);
  light.sun_strength = def->sun_strength;
  light.sky_strength = def->sky_strength;
  return kp_light_make(&light);
}

static kp_picture draw(const kp_render_volume *volume, const kp_render_def *def) {
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .volumes = volume };
  scene.n_volumes = 1;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, def, &picture));
  return picture;
}

static const float *pixel(const kp_picture *picture, int x, int y) {
  return picture->rgba + 4 * ((ptrdiff_t)y * picture->width + x);
}

static double brightness(const kp_picture *picture) {
  double sum = 0.0;
  for (int i = 0; i < picture->width * picture->height; ++i) {
    sum += (double)picture->rgba[4 * i + 1];
  }
  return sum / (picture->width * picture->height);
}

// Sun from above on a cube that scatters once and loses nothing: at h below its top a ray across it
// gathers E / 4 pi exp(-sigma h) (1 - exp(-sigma L)), and exp(-sigma L) of what is behind.
static void light_scattered_once_has_a_closed_form(void **state) {
  (void)state;
  kp_render_def def = far_def();
  def.sun = kp_vec3_make(0.0, 1.0, 0.0);
  def.samples = 8;
  kp_light light = light_of(&def);
  for (int method = 0; method < KP_VOLUME_METHOD_COUNT; ++method) {
    for (double sigma = 0.5; sigma < 5.0; sigma *= 2.0) {
      kp_render_volume cube = make_cube(sigma);
      cube.look.scattering = KP_SCATTER_ONCE;
      cube.look.method = method;
      kp_picture picture = draw(&cube, &def);
      for (int y = MIDDLE - 14; y <= MIDDLE + 14; y += 7) {
        double h = 0.5 + (y - MIDDLE) / 40.0, through = exp(-sigma);
        double want = 0.25 * (double)light.sun_color.g * exp(-sigma * h);
        want += 0.25 * (double)light.ambient_down.g;
        // slices lie sqrt(2) cells apart along the ray and eight passes shift them: a count of
        // them is right to an eighth of one. They shade each other in whole ones, too.
        double loose = method == KP_VOLUME_SLICES ? sigma * sqrt(2.0) / N : 0.0;
        double sent = want * (1.0 - through);
        assert_near_relative(pixel(&picture, MIDDLE, y)[1], sent, fmax(0.012, 0.25 * loose));
        assert_near_relative(1.0f - pixel(&picture, MIDDLE, y)[3], through,
                             fmax(0.01, 0.125 * loose));
      }
      kp_picture_free(&picture);
    }
  }
}

static double henyey_greenstein(double g, double cosine) {
  return (1.0 - g * g) / pow(1.0 + g * g - 2.0 * g * cosine, 1.5);
}

// Thin smoke sends to the eye what the phase function says, and all directions of the sun together
// bring as much as with light to all sides: nothing is lost or made. That is the white furnace.
static void phase_turns_light_and_keeps_it(void **state) {
  (void)state;
  enum { SUNS = 60 };
  double sum[2] = { 0.0, 0.0 };
  kp_render_def def = far_def();
  def.samples = 1;
  def.width = def.height = 21;
  for (int k = 0; k < SUNS; ++k) {
    // even over the ball
    double z = 1.0 - (2.0 * k + 1.0) / SUNS, angle = 2.399963229728653 * k;
    double r = sqrt(1.0 - z * z);
    def.sun = kp_vec3_make(r * cos(angle), r * sin(angle), z);
    double seen[2], below = 0.25 * (double)light_of(&def).ambient_down.g;
    for (int bent = 0; bent < 2; ++bent) {
      kp_render_volume cube = make_cube(0.01);
      cube.look.scattering = KP_SCATTER_ONCE;
      cube.look.anisotropy = bent ? 0.5 : 0.0;
      kp_picture picture = draw(&cube, &def);
      const float *c = pixel(&picture, 10, 10);
      seen[bent] = (double)c[1] - below * (double)c[3];
      sum[bent] += seen[bent];
      kp_picture_free(&picture);
    }
    // the ray goes along -z, so it meets the sun's light at the cosine -z
    assert_near_relative(seen[1] / seen[0], henyey_greenstein(0.5, -z), 0.01);
  }
  assert_near_relative(sum[1] / sum[0], 1.0, 0.005);
}

// Where film does not answer less and less yet, thick gas has the colour of its temperature.
static void gas_has_the_color_of_a_black_body(void **state) {
  (void)state;
  kp_render_def def = far_def();
  def.samples = 1;
  fill(share, 1.0f);
  for (float kelvin = 1200.0f; kelvin < 5000.0f; kelvin += 400.0f) {
    kp_render_volume gas = make_cube(60.0);
    fill(values, 0.0f);
    fill(kelvins, kelvin);
    gas.emission = share;
    gas.scalar = kelvins;
    gas.is_hot = true;
    gas.look.emission = 0.002;
    kp_picture picture = draw(&gas, &def);
    const float *c = pixel(&picture, MIDDLE, MIDDLE);
    kp_rgb want = kp_rgb_from_blackbody((double)kelvin);
    float most = fmaxf(c[0], fmaxf(c[1], c[2]));
    assert_near(c[0] / most, want.r, 0.02);
    assert_near(c[1] / most, want.g, 0.02);
    assert_near(c[2] / most, want.b, 0.02);
    kp_picture_free(&picture);
  }
}

// A soft ball of smoke that takes out most of the light.
static kp_render_volume make_ball(void) {
  kp_render_volume ball = make_cube(14.0);
  for (int i = 0; i < N * N * N; ++i) {
    double a = (i % N + 0.5) / N - 0.5, b = (i / N % N + 0.5) / N - 0.5, c = i / (N * N);
    c = (c + 0.5) / N - 0.5;
    values[i] = (float)exp(-(a * a + b * b + c * c) / (2.0 * 0.14 * 0.14));
  }
  return ball;
}

static const kp_vec3 suns[4] = { { -0.5, 0.7, 0.5 },     // over the shoulder
                                 { 0.9, 0.3, 0.1 },      // from the side
                                 { 0.2, 0.6, -0.8 },     // against the eye
                                 { 0.05, 0.1, -1.0 } };  // straight into it

// Slices gather what rays do, with the sun before and behind the smoke. What differs: the sweep of
// rays takes its depth between four cells in each layer, which spreads the shadow sideways by up to
// half a cell per layer: a variance of N/4 cells^2 after the whole way, 8 beside the 20 cells^2 of
// the ball. Half of it on average, 4 of 20, widens the shadow by a tenth, and light falls by e over
// a third of the ball where most of it comes from: 2 % of the brightness are to be expected.
static void slices_agree_with_rays(void **state) {
  (void)state;
  double off = 0.0, through = 0.0;
  for (int k = 0; k < 4; ++k) {
    for (int scattering = 0; scattering < KP_SCATTER_COUNT; ++scattering) {
      kp_render_def def = far_def();
      def.sun = suns[k];
      def.samples = 8;
      kp_render_volume ball = make_ball();
      ball.look.scattering = scattering;
      ball.look.anisotropy = 0.3;
      kp_picture rays = draw(&ball, &def);
      ball.look.method = KP_VOLUME_SLICES;
      kp_picture slices = draw(&ball, &def);
      double sum = 0.0, alpha = 0.0;
      for (int i = 0; i < SIZE * SIZE; ++i) {
        sum += fabs((double)rays.rgba[4 * i + 1] - (double)slices.rgba[4 * i + 1]);
        alpha = kp_test_most(alpha,
                             fabs((double)rays.rgba[4 * i + 3] - (double)slices.rgba[4 * i + 3]));
      }
      double mean = sum / (SIZE * SIZE) / brightness(&rays);
      print_message("  sun %d, scattering %d: mean difference %.4f of the brightness %.4f, of "
                    "alpha at most %.4f\n",
                    k, scattering, mean, brightness(&rays), alpha);
      off = kp_test_most(off, mean);
      through = kp_test_most(through, alpha);
      kp_picture_free(&rays);
      kp_picture_free(&slices);
    }
  }
  kp_claim claim = { .id = "lyes-L55",
                     .text = "half-angle slices shade smoke as marched rays do",
                     .size = "a soft ball of smoke, the sun on four sides, behind it too" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "mean difference, of the brightness, worst", off, KP_LESS, 0.02 },
                   { "difference of what comes through, worst", through, KP_LESS, 0.002 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// A wall in the middle of the smoke hides the slices behind it, and throws its shadow into them.
static void slices_stop_at_surfaces(void **state) {
  (void)state;
  double x[3] = { -9.0, 9.0, 0.0 }, y[3] = { -9.0, -9.0, 9.0 }, z[3] = { 0.0, 0.0, 0.0 };
  uint32_t triangle[3] = { 0, 1, 2 };
  kp_render_mesh wall = { .n_vertices = 3, .n_triangles = 1, .positions = { x, y, z, 1 } };
  wall.triangles = triangle;
  wall.look = kp_default_look_def();
  wall.look.color = kp_vec3_make(0.0, 0.0, 0.0);
  wall.look.gloss = 0.0;
  kp_render_volume cube = make_cube(1.0);
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .volumes = &cube };
  scene.n_volumes = 1;
  scene.meshes = &wall;
  scene.n_meshes = 1;
  kp_render_def def = far_def();
  def.sun = kp_vec3_make(0.1, 0.3, -1.0);
  kp_picture pictures[2] = { { 0 }, { 0 } };
  for (int method = 0; method < 2; ++method) {
    cube.look.method = method;
    assert_ok(kp_render_frame(&scene, &def, &pictures[method]));
  }
  // in the wall's shadow only what comes from below is left, and a texel of light along the wall
  for (int method = 0; method < 2; ++method) {
    assert_true(pixel(&pictures[method], MIDDLE, MIDDLE)[1] < 0.01f);
    assert_near(pixel(&pictures[method], MIDDLE, MIDDLE)[3], 1.0, 1e-4);
  }
  kp_picture_free(&pictures[0]);
  kp_picture_free(&pictures[1]);
}

static void slices_are_the_same_for_any_thread_count(void **state) {
  (void)state;
  kp_render_def def = far_def();
  def.samples = 2;
  def.sun = suns[2];
  kp_render_volume ball = make_ball();
  ball.look.method = KP_VOLUME_SLICES;
  kp_parallel_set_threads(1);
  kp_picture first = draw(&ball, &def);
  for (int threads = 2; threads <= 4; ++threads) {
    kp_parallel_set_threads(threads);
    kp_picture other = draw(&ball, &def);
    assert_memory_equal(first.rgba, other.rgba, 4 * SIZE * SIZE * sizeof(float));
    kp_picture_free(&other);
  }
  kp_parallel_set_threads(0);
  kp_picture_free(&first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(light_scattered_once_has_a_closed_form),
    cmocka_unit_test(phase_turns_light_and_keeps_it),
    cmocka_unit_test(gas_has_the_color_of_a_black_body),
    cmocka_unit_test(slices_agree_with_rays),
    cmocka_unit_test(slices_stop_at_surfaces),
    cmocka_unit_test(slices_are_the_same_for_any_thread_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
