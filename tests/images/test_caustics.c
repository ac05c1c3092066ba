// Sunlight behind a slab of water that floats over the ground, seen from between the two.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"
#include "render/optics.h"
#include "render/render.h"

#define PI 3.14159265358979323846
#define WATER 1.3333
#define SIDE 128  // squares along the slab
#define SIZE 2.0  // its edge [m]
#define TOP 0.9
#define BOTTOM 0.6
#define WAVE 0.5
#define BINS 20  // over two waves

typedef struct slab {
  double places[2][(SIDE + 1) * (SIDE + 1)][3];  // top and bottom
  uint32_t triangles[2 * SIDE * SIDE * 2 + 4 * SIDE * 2][3];
  kp_render_mesh mesh;
} slab;

static uint32_t vertex(int level, int i, int j) {
  return (uint32_t)(level * (SIDE + 1) * (SIDE + 1) + i * (SIDE + 1) + j);
}

static uint32_t (*add_square(uint32_t (*t)[3], uint32_t a, uint32_t b, uint32_t c, uint32_t d))[3] {
  const uint32_t two[2][3] = { { a, b, c }, { a, c, d } };
  memcpy(t, two, sizeof two);
  return t + 2;
}

// Waves along x on the top; the faces look outwards.
static slab *make_slab(double amplitude) {
  slab *s = kp_alloc_zero(sizeof *s, KP_MEMORY_SCRATCH);
  assert_non_null(s);
  for (int level = 0; level < 2; ++level) {
    for (int i = 0; i <= SIDE; ++i) {
      for (int j = 0; j <= SIDE; ++j) {
        double *p = s->places[level][i * (SIDE + 1) + j];
        p[0] = SIZE * ((double)i / SIDE - 0.5);
        p[2] = SIZE * ((double)j / SIDE - 0.5);
        p[1] = level == 0 ? TOP + amplitude * sin(2.0 * PI * p[0] / WAVE) : BOTTOM;
      }
    }
  }
  uint32_t(*t)[3] = s->triangles;
  for (int i = 0; i < SIDE; ++i) {
    for (int j = 0; j < SIDE; ++j) {
      t = add_square(t, vertex(0, i, j), vertex(0, i, j + 1), vertex(0, i + 1, j + 1),
                     vertex(0, i + 1, j));
      t = add_square(t, vertex(1, i, j), vertex(1, i + 1, j), vertex(1, i + 1, j + 1),
                     vertex(1, i, j + 1));
    }
    t = add_square(t, vertex(0, 0, i), vertex(1, 0, i), vertex(1, 0, i + 1), vertex(0, 0, i + 1));
    t = add_square(t, vertex(0, SIDE, i), vertex(0, SIDE, i + 1), vertex(1, SIDE, i + 1),
                   vertex(1, SIDE, i));
    t = add_square(t, vertex(0, i, 0), vertex(0, i + 1, 0), vertex(1, i + 1, 0), vertex(1, i, 0));
    t = add_square(t, vertex(0, i, SIDE), vertex(1, i, SIDE), vertex(1, i + 1, SIDE),
                   vertex(0, i + 1, SIDE));
  }
  s->mesh = (kp_render_mesh){ .n_vertices = 2 * (SIDE + 1) * (SIDE + 1),
                              .n_triangles = t - s->triangles,
                              .triangles = &s->triangles[0][0] };
  double *at = &s->places[0][0][0];
  s->mesh.positions = (kp_render_positions){ at, at + 1, at + 2, 3 };
  s->mesh.look = kp_default_look_def();
  s->mesh.look.water = true;
  s->mesh.look.refraction = WATER;
  s->mesh.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  return s;
}

static kp_render_def make_def(void) {
  kp_render_def def = kp_default_render_def();
  def.width = 160;
  def.height = 90;
  def.samples = 16;
  def.camera_position = kp_vec3_make(0.0, 0.5, 0.5);
  def.camera_target = kp_vec3_make(0.0, 0.0, 0.0);
  def.camera_fov_deg = 50.0;
  def.sun = kp_vec3_make(0.0, 1.0, 0.0);
  def.sun_size_deg = 0.0;
  def.sky_strength = 0.0;
  def.occlusion = 0.0;
  def.ground = KP_GROUND_PLAIN;
  return def;
}

// Light on the ground between two waves' ends, in columns along the waves: red, green, blue.
static void measure(slab *s, const kp_render_def *def, double light[BINS][3]) {
  kp_render_scene scene = { .meshes = &s->mesh, .n_meshes = 1 };
  scene.bounds.min = kp_vec3_make(-0.5 * SIZE, 0.0, -0.5 * SIZE);
  scene.bounds.max = kp_vec3_make(0.5 * SIZE, 1.0, 0.5 * SIZE);
  kp_picture picture = { 0 };
  assert_int_equal(kp_render_frame(&scene, def, &picture), KP_OK);
  kp_camera camera = kp_render_get_camera(&scene, def);
  kp_camera_frame frame = kp_camera_get_frame(&camera);
  double scale = 0.5 * (double)def->height / tan(0.5 * def->camera_fov_deg * PI / 180.0);
  int counts[BINS] = { 0 };
  memset(light, 0, BINS * sizeof light[0]);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      int64_t i = (int64_t)y * picture.width + x;
      double u = (x + 0.5 - 0.5 * picture.width) / scale;
      double v = (y + 0.5 - 0.5 * picture.height) / scale, z = (double)picture.depth[i];
      kp_vec3 p = kp_vec3_madd(camera.position, z * u, frame.right);
      p = kp_vec3_madd(kp_vec3_madd(p, -z * v, frame.up), z, frame.forward);
      int bin = (int)floor((p.x + WAVE) / (2.0 * WAVE) * BINS);
      if (fabs(p.z) < 0.3 && bin >= 0 && bin < BINS) {
        for (int c = 0; c < 3; ++c) {
          light[bin][c] += (double)picture.rgba[4 * i + c];
        }
        ++counts[bin];
      }
    }
  }
  for (int b = 0; b < BINS; ++b) {
    assert_true(counts[b] > 20);
    for (int c = 0; c < 3; ++c) {
      light[b][c] /= counts[b];
    }
  }
  kp_picture_free(&picture);
}

static double mean_of(double light[BINS][3], int c) {
  double sum = 0.0;
  for (int b = 0; b < BINS; ++b) {
    sum += light[b][c] / BINS;
  }
  return sum;
}

static double contrast_of(double light[BINS][3]) {
  double mean = mean_of(light, 1), most = 0.0;
  for (int b = 0; b < BINS; ++b) {
    most = kp_test_most(most, fabs(light[b][1] / mean - 1.0));
  }
  return most;
}

static void a_flat_slab_takes_what_fresnel_says(void **state) {
  (void)state;
  kp_render_def def = make_def();
  double open[BINS][3], under[BINS][3];
  slab *s = make_slab(0.0);
  s->mesh.look.caustics = false;
  measure(s, &def, open);
  s->mesh.look.caustics = true;
  measure(s, &def, under);
  // straight down through both faces; no pattern
  double through = 1.0 - (double)kp_fresnel_exact(1.0f, 1.0f, (float)WATER);
  assert_near(mean_of(under, 1) / mean_of(open, 1), through * through, 0.005);
  assert_true(contrast_of(under) < 0.01);
  // aslant
  def.sun = kp_vec3_normalize(kp_vec3_make(0.3, 1.0, 0.2));
  measure(s, &def, under);
  s->mesh.look.caustics = false;
  measure(s, &def, open);
  through = 1.0 - (double)kp_fresnel_exact((float)def.sun.y, 1.0f, (float)WATER);
  assert_near(mean_of(under, 1) / mean_of(open, 1), through * through, 0.01);
  assert_true(contrast_of(under) < 0.01);
  kp_free(s);
}

static void a_coloured_slab_throws_a_coloured_shadow(void **state) {
  (void)state;
  kp_render_def def = make_def();
  double clear[BINS][3], colored[BINS][3];
  slab *s = make_slab(0.0);
  measure(s, &def, clear);
  s->mesh.look.color = kp_vec3_make(0.5, 0.8, 1.0);
  s->mesh.look.density = 2.0;
  measure(s, &def, colored);
  for (int c = 0; c < 3; ++c) {
    const double srgb[3] = { 0.5, 0.8, 1.0 };
    double linear = (double)kp_srgb_decode((float)srgb[c]);
    // on each 1 / density metres light takes on the colour
    double left = pow(linear, 2.0 * (TOP - BOTTOM));
    assert_near(mean_of(colored, c) / mean_of(clear, c), left, 0.01);
  }
  kp_free(s);
}

// Where a ray from above at x lands, by Snell's law at both faces.
static double landing_of(double x, double amplitude) {
  double k = 2.0 * PI / WAVE, slope = amplitude * k * cos(k * x), tilt = atan(slope);
  double height = TOP + amplitude * sin(k * x);
  double inside = tilt - asin(sin(tilt) / WATER);  // from straight down, towards +x
  double below = asin(WATER * sin(inside));
  return x + (height - BOTTOM) * tan(inside) + BOTTOM * tan(below);
}

static void waves_bundle_light_and_lose_none(void **state) {
  (void)state;
  const double amplitude = 0.008;
  kp_render_def def = make_def();
  def.width = 480;
  def.height = 270;
  double flat[BINS][3], wavy[BINS][3], counted[BINS] = { 0.0 };
  slab *s = make_slab(0.0);
  measure(s, &def, flat);
  kp_free(s);
  s = make_slab(amplitude);
  measure(s, &def, wavy);
  kp_free(s);
  assert_near(mean_of(wavy, 1) / mean_of(flat, 1), 1.0, 0.02);
  // many rays into columns, one by one
  const int n = 400000;
  for (int i = 0; i < n; ++i) {
    double x = landing_of(2.0 * ((i + 0.5) / n - 0.5), amplitude);
    int bin = (int)floor((x + WAVE) / (2.0 * WAVE) * BINS);
    if (bin >= 0 && bin < BINS) {
      counted[bin] += 2.0 * BINS / (2.0 * WAVE * n);
    }
  }
  double most = 0.0, square = 0.0;
  for (int b = 0; b < BINS; ++b) {
    double found = wavy[b][1] / mean_of(flat, 1);
    square += (found - counted[b]) * (found - counted[b]) / BINS;
    most = kp_test_most(most, counted[b]);
  }
  assert_true(most > 1.4);  // there is something to see
  assert_true(sqrt(square) < 0.05);
}

static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  kp_render_def def = make_def();
  def.samples = 2;
  double one[BINS][3], three[BINS][3];
  slab *s = make_slab(0.02);
  kp_parallel_set_threads(1);
  measure(s, &def, one);
  kp_parallel_set_threads(3);
  measure(s, &def, three);
  kp_parallel_set_threads(0);
  assert_memory_equal(one, three, sizeof one);
  kp_free(s);
}

// A wall over the water leaves its shadow where light would have gone through it.
static void what_stands_over_water_shadows_it(void **state) {
  (void)state;
  kp_render_def def = make_def();
  double open[BINS][3];
  slab *s = make_slab(0.0);
  measure(s, &def, open);
  // half of the sky, x > 0
  static const double wall[4][3] = { { 0, 1.2, -2 }, { 2, 1.2, -2 }, { 2, 1.2, 2 }, { 0, 1.2, 2 } };
  static const uint32_t faces[6] = { 0, 1, 2, 0, 2, 3 };
  kp_render_mesh meshes[2] = { s->mesh, { .n_vertices = 4, .n_triangles = 2, .triangles = faces } };
  meshes[1].positions = (kp_render_positions){ &wall[0][0], &wall[0][1], &wall[0][2], 3 };
  meshes[1].look = kp_default_look_def();
  kp_render_scene scene = { .meshes = meshes, .n_meshes = 2 };
  scene.bounds.min = kp_vec3_make(-0.5 * SIZE, 0.0, -0.5 * SIZE);
  scene.bounds.max = kp_vec3_make(0.5 * SIZE, 1.0, 0.5 * SIZE);
  kp_picture picture = { 0 };
  assert_int_equal(kp_render_frame(&scene, &def, &picture), KP_OK);
  const float *row = picture.rgba + 4 * (int64_t)(picture.height / 2) * picture.width;
  double left = (double)row[4 * (picture.width / 4) + 1];
  double right = (double)row[4 * (3 * picture.width / 4) + 1];
  assert_near(left / mean_of(open, 1), 1.0, 0.02);
  assert_near(right, 0.0, 1e-3);
  kp_picture_free(&picture);
  kp_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_flat_slab_takes_what_fresnel_says),
    cmocka_unit_test(a_coloured_slab_throws_a_coloured_shadow),
    cmocka_unit_test(waves_bundle_light_and_lose_none),
    cmocka_unit_test(bits_do_not_depend_on_threads),
    cmocka_unit_test(what_stands_over_water_shadows_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
