// Pictures by rays alone: the same on every backend, and as the other method makes them.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "par/backend.h"
#include "par/parallel.h"
#include "render/environment.h"
#include "render/render.h"

#include "support/claims.h"

#define N_BALLS 40
#define ROPE 24

typedef struct stage {
  double places[N_BALLS][3], rope[ROPE][3];
  float speeds[N_BALLS];
  uint64_t first[2];
  kp_render_points balls;
  kp_render_mesh meshes[3];
  kp_render_lines lines;
  kp_render_scene scene;
} stage;

// A block from 0 to 1 whose faces look outwards.
static const double corners[8][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 1, 1, 0 },
                                      { 0, 0, 1 }, { 1, 0, 1 }, { 0, 1, 1 }, { 1, 1, 1 } };
static const uint32_t faces[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                    2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5 };
static double blocks[3][8][3];

static kp_render_mesh make_block(int k, kp_vec3 from, kp_vec3 to) {
  for (int i = 0; i < 8; ++i) {
    blocks[k][i][0] = from.x + corners[i][0] * (to.x - from.x);
    blocks[k][i][1] = from.y + corners[i][1] * (to.y - from.y);
    blocks[k][i][2] = from.z + corners[i][2] * (to.z - from.z);
  }
  kp_render_mesh mesh = { .n_vertices = 8, .n_triangles = 12, .triangles = faces };
  mesh.positions = (kp_render_positions){ &blocks[k][0][0], &blocks[k][0][1], &blocks[k][0][2], 3 };
  mesh.look = kp_default_look_def();
  return mesh;
}

// Balls coloured by a value, a red block, a rope, and where asked for water and a pane.
static void make_stage(stage *s, bool is_clear) {
  memset(s, 0, sizeof *s);
  for (int i = 0; i < N_BALLS; ++i) {
    s->places[i][0] = 0.2 + 0.12 * (i % 8);
    s->places[i][1] = 0.06 + 0.11 * (i / 8);
    s->places[i][2] = 0.2 + 0.05 * (i % 3);
    s->speeds[i] = (float)i;
  }
  for (int i = 0; i < ROPE; ++i) {
    s->rope[i][0] = 0.05 * i;
    s->rope[i][1] = 0.7 + 0.1 * sin(0.5 * i);
    s->rope[i][2] = 0.6;
  }
  s->balls = (kp_render_points){ .n = N_BALLS, .radius = 0.05, .scalar = s->speeds };
  s->balls.positions =
      (kp_render_positions){ &s->places[0][0], &s->places[0][1], &s->places[0][2], 3 };
  s->balls.look = kp_default_look_def();
  s->balls.look.smooth = 0.0;
  s->balls.look.gloss = 0.2;
  s->meshes[0] = make_block(0, kp_vec3_make(0.7, 0.0, 0.5), kp_vec3_make(1.0, 0.4, 0.8));
  s->meshes[0].look.color = kp_vec3_make(0.8, 0.2, 0.1);
  s->meshes[0].look.gloss = 0.6;
  s->meshes[1] = make_block(1, kp_vec3_make(0.0, 0.0, 0.5), kp_vec3_make(0.6, 0.3, 1.0));
  s->meshes[1].look.water = true;
  s->meshes[2] = make_block(2, kp_vec3_make(0.2, 0.0, 1.1), kp_vec3_make(0.9, 0.3, 1.11));
  s->meshes[2].look.opacity = 0.3;
  s->first[1] = ROPE;
  s->lines = (kp_render_lines){ .n_lines = 1, .first = s->first, .radius = 0.02 };
  s->lines.positions = (kp_render_positions){ &s->rope[0][0], &s->rope[0][1], &s->rope[0][2], 3 };
  s->lines.look = kp_default_look_def();
  s->scene = (kp_render_scene){ .points = &s->balls,
                                .meshes = s->meshes,
                                .lines = &s->lines,
                                .n_points = 1,
                                .n_meshes = is_clear ? 3 : 1,
                                .n_lines = is_clear ? 1 : 0 };
  s->scene.bounds.max = kp_vec3_make(1.2, 0.9, 1.2);
}

static kp_render_def make_def(int samples) {
  kp_render_def def = kp_default_render_def();
  def.width = 160;
  def.height = 90;
  def.samples = samples;
  def.method = KP_METHOD_RAYS;
  return def;
}

static kp_picture draw(const kp_render_scene *scene, const kp_render_def *def) {
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(scene, def, &picture));
  return picture;
}

static void assert_same(const kp_picture *a, const kp_picture *b) {
  size_t n = (size_t)a->width * (size_t)a->height;
  assert_memory_equal(a->rgba, b->rgba, 4 * n * sizeof(float));
  assert_memory_equal(a->depth, b->depth, n * sizeof(float));
}

// The mirror backend draws what the processor draws, to the last bit.
static void assert_mirror_draws_it(const kp_render_scene *scene, kp_render_def def) {
  kp_backend *mirror = NULL;
  kp_render_scene there = *scene;
  kp_picture plain = draw(scene, &def);
  assert_ok(kp_backend_create(KP_BACKEND_MIRROR, &mirror));
  there.backend = mirror;
  kp_picture mirrored = draw(&there, &def);
  assert_same(&plain, &mirrored);
  assert_true((int64_t)mirror->counters.launches >= def.samples);
  kp_picture_free(&mirrored);
  // a backend means rays, whatever the method
  def.method = KP_METHOD_RASTER;
  mirrored = draw(&there, &def);
  assert_same(&plain, &mirrored);
  kp_picture_free(&plain);
  kp_picture_free(&mirrored);
  kp_backend_destroy(&mirror);
}

static void mirror_makes_the_bytes_of_the_cpu(void **state) {
  (void)state;
  static stage s;
  make_stage(&s, true);
  kp_render_def def = make_def(4);
  def.aperture = 0.02;
  assert_mirror_draws_it(&s.scene, def);
}

static void threads_do_not_change_bytes(void **state) {
  (void)state;
  static stage s;
  make_stage(&s, true);
  kp_render_def def = make_def(2);
  kp_parallel_set_threads(1);
  kp_picture one = draw(&s.scene, &def);
  kp_parallel_set_threads(3);
  kp_picture three = draw(&s.scene, &def);
  kp_parallel_set_threads(0);
  assert_same(&one, &three);
  kp_picture_free(&one);
  kp_picture_free(&three);
}

// Root of the mean square of the difference of two pictures, as values that run from 0 to 1, and
// the difference of their means.
static double difference(const kp_picture *a, const kp_picture *b, double *of_means) {
  double square = 0.0, mean = 0.0;
  int n = a->width * a->height;
  for (int i = 0; i < n; ++i) {
    for (int c = 0; c < 3; ++c) {
      double u = fmin((double)a->rgba[4 * i + c], 1.0), v = fmin((double)b->rgba[4 * i + c], 1.0);
      square += (u - v) * (u - v) / (3.0 * n);
      mean += (u - v) / (3.0 * n);
    }
  }
  *of_means = fabs(mean);
  return sqrt(square);
}

// Rays and rasteriser differ by less than `most` as a root of the mean square, which is returned,
// and by less than `mean` on average.
static double assert_methods_agree(const kp_render_scene *scene, kp_render_def def, double most,
                                   double mean) {
  double of_means;
  def.method = KP_METHOD_RAYS;
  kp_picture rays = draw(scene, &def);
  def.method = KP_METHOD_RASTER;
  kp_picture raster = draw(scene, &def);
  double of_all = difference(&rays, &raster, &of_means);
  print_message("rays and rasteriser differ by %.4f, on average %.5f\n", of_all, of_means);
  assert_true(of_all > 0.0);  // they are two methods
  assert_true(of_all < most);
  assert_true(of_means < mean);
  kp_picture_free(&rays);
  kp_picture_free(&raster);
  return of_all;
}

static void rays_show_what_the_rasteriser_shows(void **state) {
  (void)state;
  static stage s;
  make_stage(&s, false);
  kp_render_def def = make_def(64);
  def.occlusion = 0.0;
  def.box = false;  // lines thinner than a pixel are smooth there
  kp_claim claim = { .id = "selle-S65",
                     .text = "rays of the eye show what the rasteriser shows: root of the mean "
                             "square of the difference, of 1",
                     .size = "a stage of meshes, points and lines",
                     .figure = assert_methods_agree(&s.scene, def, 0.002, 0.001),
                     .threshold = 0.002 };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
  // with water and the light behind it, and crevices by other means
  make_stage(&s, true);
  assert_methods_agree(&s.scene, make_def(64), 0.02, 0.003);
}

// A face of each colour, brighter to one side.
static void make_surroundings(kp_environment *out) {
  static uint8_t pixels[6][8 * 8 * 3];
  kp_image faces_of[6];
  for (int k = 0; k < 6; ++k) {
    for (int i = 0; i < 64; ++i) {
      for (int c = 0; c < 3; ++c) {
        pixels[k][3 * i + c] = (uint8_t)(40 + 20 * (i % 8) + ((k + c) % 3 == 0 ? 60 : 10 * k));
      }
    }
    faces_of[k] = (kp_image){ .width = 8, .height = 8, .n_channels = 3, .pixels = pixels[k] };
  }
  assert_ok(kp_environment_make(faces_of, out));
}

static void rays_see_what_lies_around(void **state) {
  (void)state;
  static stage s;
  kp_environment around;
  make_surroundings(&around);
  for (int up = 0; up < 2; ++up) {
    make_stage(&s, true);
    s.scene.environment = &around;
    s.scene.up = up == 0 ? KP_UP_Y : KP_UP_Z;
    kp_render_def def = make_def(4);
    def.ground = KP_GROUND_NONE;
    assert_mirror_draws_it(&s.scene, def);
    def.samples = 32;
    assert_methods_agree(&s.scene, def, 0.02, 0.003);
  }
  // where nothing stands before it, the same to rounding
  s.scene.n_points = s.scene.n_meshes = s.scene.n_lines = 0;
  kp_render_def def = make_def(1);
  def.ground = KP_GROUND_NONE;
  def.box = false;
  assert_methods_agree(&s.scene, def, 1e-5, 1e-6);
  kp_environment_free(&around);
}

#define CELLS 20

typedef struct cloud {
  float density[CELLS * CELLS * CELLS], emission[CELLS * CELLS * CELLS];
  float scalar[CELLS * CELLS * CELLS];
} cloud;

// A puff with a flame in it, and one beside it that scatters forwards.
static void make_smoke(kp_render_volume *volumes, cloud *c) {
  for (int i = 0; i < CELLS * CELLS * CELLS; ++i) {
    double x = (i % CELLS + 0.5) / CELLS - 0.5, y = (i / CELLS % CELLS + 0.5) / CELLS - 0.5;
    double z = (double)(i / CELLS / CELLS) / CELLS - 0.5, d = sqrt(x * x + y * y + z * z);
    c->density[i] = (float)fmax(0.0, 1.0 - 2.2 * d);
    c->emission[i] = (float)fmax(0.0, 1.0 - 5.0 * d);
    c->scalar[i] = (float)(1000.0 + 1500.0 * (0.5 - d));
  }
  for (int k = 0; k < 2; ++k) {
    volumes[k] = (kp_render_volume){ .nx = CELLS, .ny = CELLS, .nz = CELLS, .cell = 0.5 / CELLS };
    volumes[k].origin = kp_vec3_make(0.1 + 0.5 * k, 0.3, 0.3 + 0.2 * k);
    volumes[k].density = c->density;
    volumes[k].look = kp_default_look_def();
    volumes[k].look.anisotropy = 0.3 * k;
  }
  volumes[0].emission = c->emission;
  volumes[0].scalar = c->scalar;
  volumes[0].is_hot = true;
}

static void rays_march_through_smoke(void **state) {
  (void)state;
  static stage s;
  static cloud c;
  kp_render_volume volumes[9];
  make_stage(&s, true);
  make_smoke(volumes, &c);
  s.scene.volumes = volumes;
  s.scene.n_volumes = 2;
  assert_mirror_draws_it(&s.scene, make_def(3));
  // alone, over the ground it throws a shadow on: the same light and the same steps
  s.scene.n_meshes = s.scene.n_lines = s.scene.n_points = 0;
  kp_render_def def = make_def(16);
  def.occlusion = 0.0;
  def.box = false;
  assert_methods_agree(&s.scene, def, 0.002, 0.0005);
  // behind a block and with its shadow in it, and seen in the water
  make_stage(&s, true);
  s.scene.volumes = volumes;
  s.scene.n_volumes = 2;
  def = make_def(32);
  assert_methods_agree(&s.scene, def, 0.02, 0.003);
  // any number of them, with and without flames, some within others
  for (int k = 2; k < 9; ++k) {
    volumes[k] = volumes[k % 2];
    volumes[k].origin = kp_vec3_make(0.1 * k, 0.05 * k, 0.8 - 0.1 * k);
  }
  s.scene.n_volumes = 9;
  assert_mirror_draws_it(&s.scene, make_def(2));
  assert_methods_agree(&s.scene, make_def(32), 0.02, 0.003);
}

// So many volumes that their rays take more than one launch.
static void rays_march_through_a_hundred(void **state) {
  (void)state;
  enum { MANY = 100 };
  static stage s;
  static cloud c;
  static kp_render_volume volumes[MANY];
  make_stage(&s, false);
  make_smoke(volumes, &c);
  for (int k = 2; k < MANY; ++k) {
    volumes[k] = volumes[1];
    volumes[k].cell = 0.15 / CELLS;
    volumes[k].origin = kp_vec3_make(0.1 * (k % 10), 0.1 * (k / 10), 0.3);
  }
  s.scene.volumes = volumes + 2;
  s.scene.n_volumes = MANY - 2;
  s.scene.n_meshes = s.scene.n_lines = s.scene.n_points = 0;
  kp_render_def def = make_def(2);
  def.width = 240;
  def.height = 180;
  def.occlusion = 0.0;
  def.box = false;
  assert_methods_agree(&s.scene, def, 0.005, 0.0005);
}

// In a world that is white all around nothing clear can be seen: no light is lost.
static void glass_loses_no_light(void **state) {
  (void)state;
  static stage s;
  make_stage(&s, true);
  s.scene.n_points = s.scene.n_lines = 0;
  s.scene.meshes = &s.meshes[1];
  s.scene.n_meshes = 1;
  s.meshes[1].look.color = kp_vec3_make(1.0, 1.0, 1.0);
  kp_render_def def = make_def(1);
  def.ground = KP_GROUND_NONE;
  def.background = KP_BACKGROUND_STUDIO;
  def.sun_strength = 0.0;
  def.box = false;
  def.transparent = false;
  kp_picture picture = draw(&s.scene, &def);
  s.scene.n_meshes = 0;
  kp_picture empty = draw(&s.scene, &def);
  double low = HUGE_VAL, high = 0.0;
  for (int i = 0; i < picture.width * picture.height; ++i) {
    low = fmin(low, (double)empty.rgba[4 * i]);
    high = kp_test_most(high, (double)picture.rgba[4 * i]);
    // between the darkest and the brightest of a sky that is not all white
    assert_true((double)picture.rgba[4 * i] > 0.45);
    assert_true((double)picture.rgba[4 * i] < 0.93);
  }
  assert_true(low > 0.45 && high < 0.93);
  kp_picture_free(&picture);
  kp_picture_free(&empty);
}

static void rays_lay_sprites_over_each_other(void **state) {
  (void)state;
  static stage s;
  static cloud c;
  kp_render_volume volumes[2];
  float alphas[N_BALLS];
  make_smoke(volumes, &c);
  for (int i = 0; i < N_BALLS; ++i) {
    alphas[i] = 0.3f + 0.015f * (float)i;
  }
  for (int kind = 0; kind < 3; ++kind) {
    make_stage(&s, false);
    s.balls.alphas = alphas;
    s.balls.radius = 0.09;
    s.balls.look.texture = kind;
    s.balls.look.glow = kind == 0 ? 0.4 : 0.0;
    s.balls.look.sprite = kind == 0 ? KP_SPRITE_AUTO : KP_SPRITE_OVER;
    kp_render_def def = make_def(32);
    def.occlusion = 0.0;
    def.box = false;
    // light adds up alike; of puffs, whose order the rasteriser takes from their middles, and whose
    // shadows from a map, the sum is asked for
    assert_methods_agree(&s.scene, def, kind == 0 ? 0.003 : 0.05, kind == 0 ? 0.001 : 0.01);
  }
  // in smoke, behind water and in it
  make_stage(&s, true);
  s.balls.alphas = alphas;
  s.balls.look.sprite = KP_SPRITE_OVER;
  s.balls.radius = 0.09;
  s.scene.volumes = volumes;
  s.scene.n_volumes = 2;
  assert_mirror_draws_it(&s.scene, make_def(3));
}

static void rays_draw_wireframes(void **state) {
  (void)state;
  static stage s;
  make_stage(&s, true);
  s.meshes[0].look.wireframe = s.meshes[1].look.wireframe = true;
  s.meshes[0].look.line_width = 3.0;
  s.scene.n_lines = 0;
  assert_mirror_draws_it(&s.scene, make_def(2));
  kp_render_def def = make_def(16);
  def.occlusion = 0.0;
  def.box = false;
  s.scene.n_meshes = 2;
  assert_methods_agree(&s.scene, def, 0.01, 0.002);
}

// A tuft of hairs thinner than a pixel.
static void rays_light_fibres(void **state) {
  (void)state;
  enum { HAIRS = 150, NODES = 6 };
  static double places[HAIRS * NODES][3];
  static uint64_t first[HAIRS + 1];
  for (int i = 0; i < HAIRS * NODES; ++i) {
    int hair = i / NODES, node = i % NODES;
    places[i][0] = 0.1 + 0.8 * ((hair * 37) % HAIRS) / HAIRS + 0.01 * node;
    places[i][1] = 0.12 * node;
    places[i][2] = 0.3 + 0.4 * ((hair * 11) % HAIRS) / HAIRS - 0.01 * node * node;
    first[hair + 1] = (uint64_t)(hair + 1) * NODES;
  }
  kp_render_lines hair = { .n_lines = HAIRS, .first = first, .radius = 0.004 };
  hair.positions = (kp_render_positions){ &places[0][0], &places[0][1], &places[0][2], 3 };
  hair.look = kp_default_look_def();
  hair.look.gloss = 0.5;
  kp_render_scene scene = { .lines = &hair, .n_lines = 1 };
  scene.bounds.max = kp_vec3_make(1.0, 0.8, 1.0);
  kp_render_def def = make_def(64);
  def.occlusion = 0.0;
  def.box = false;
  assert_methods_agree(&scene, def, 0.03, 0.005);
  assert_mirror_draws_it(&scene, make_def(2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(mirror_makes_the_bytes_of_the_cpu),
    cmocka_unit_test(threads_do_not_change_bytes),
    cmocka_unit_test(rays_show_what_the_rasteriser_shows),
    cmocka_unit_test(rays_see_what_lies_around),
    cmocka_unit_test(rays_march_through_smoke),
    cmocka_unit_test(rays_march_through_a_hundred),
    cmocka_unit_test(rays_lay_sprites_over_each_other),
    cmocka_unit_test(rays_draw_wireframes),
    cmocka_unit_test(rays_light_fibres),
    cmocka_unit_test(glass_loses_no_light),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
