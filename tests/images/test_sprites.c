// Sprites and sphere impostors against their formulas (Lyes 2015, Listings 7.2 to 7.4).
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "render/scene_from_frame.h"

#include "support/claims.h"

#define PI 3.14159265358979323846
#define SIZE 201
#define MIDDLE (SIZE / 2)

static kp_render_def sprite_def(void) {
  kp_render_def def = kp_default_render_def();
  def.width = def.height = SIZE;
  def.samples = 1;
  def.camera_position = kp_vec3_make(0.0, 0.0, 5.0);
  def.camera_fov_deg = 40.0;
  def.ground = KP_GROUND_NONE;
  def.box = false;
  def.transparent = true;
  return def;
}

static double focal_pixels(const kp_render_def *def) {
  return 0.5 * (double)def->height / tan(0.5 * def->camera_fov_deg * PI / 180.0);
}

static const float *pixel(const kp_picture *picture, int x, int y) {
  return picture->rgba + 4 * ((ptrdiff_t)y * picture->width + x);
}

static kp_picture draw(const kp_render_points *points, int n, const kp_render_def *def) {
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty() };
  scene.points = points;
  scene.n_points = n;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, def, &picture));
  return picture;
}

// A flat sprite covers the disc of its radius over its distance, also away from the axis.
static void size_falls_with_distance(void **state) {
  (void)state;
  kp_render_def def = sprite_def();
  double off = 0.0;
  for (int k = 0; k < 4; ++k) {
    double x = k % 2 == 0 ? 0.0 : 0.6, y = 0.0, z = k < 2 ? 2.0 : -2.0;
    kp_render_points points = { .n = 1, .positions = { &x, &y, &z, 1 }, .radius = 0.4 };
    points.look = kp_default_look_def();
    points.look.sprite = KP_SPRITE_OVER;
    points.look.texture = KP_TEXTURE_FLAT;
    kp_picture picture = draw(&points, 1, &def);
    double covered = 0.0;
    for (int i = 0; i < SIZE * SIZE; ++i) {
      covered += (double)picture.rgba[4 * i + 3];
      assert_true(picture.depth[i] == HUGE_VALF);
    }
    // cone around (x, 0, d) of sine r / distance, cut by the picture plane: an ellipse
    double d = 5.0 - z, square = x * x + d * d, s2 = 0.16 / square;
    double f = focal_pixels(&def), c2 = d * d / square;
    double area = PI * f * f * s2 * sqrt(1.0 - s2) / pow(c2 - s2, 1.5);
    // a disc that faces the eye and the ball of its radius differ by the square of the sine
    off = kp_test_most(off, fabs(covered / area - 1.0));
    kp_picture_free(&picture);
  }
  kp_claim claim = { .id = "lyes-L51",
                     .text = "a sprite faces the camera and is as large as its distance says",
                     .size = "sprites of 0.4 m at 3 and 7 m, on the axis and off it" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "area against the cone around it, share, worst", off, KP_AT_MOST, 0.04 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

static void textures_fade_to_the_rim(void **state) {
  (void)state;
  double off = 0.0;
  kp_render_def def = sprite_def();
  for (int texture = 0; texture < KP_TEXTURE_COUNT; ++texture) {
    double zero = 0.0;
    kp_render_points points = { .n = 1, .positions = { &zero, &zero, &zero, 1 }, .radius = 0.5 };
    points.look = kp_default_look_def();
    points.look.sprite = KP_SPRITE_OVER;
    points.look.texture = texture;
    points.look.opacity = 0.8;
    kp_picture picture = draw(&points, 1, &def);
    for (int i = 0; i < 60; ++i) {
      double slope = i / focal_pixels(&def);
      double q = 25.0 * slope * slope / (1.0 + slope * slope) / 0.25;
      double soft = (1.0 - q) * (1.0 - q), gauss = (exp(-4.0 * q) - exp(-4.0)) / (1.0 - exp(-4.0));
      double want = texture == KP_TEXTURE_FLAT ? 1.0 : texture == KP_TEXTURE_SOFT ? soft : gauss;
      want = q < 1.0 ? 0.8 * want : 0.0;
      off = kp_test_most(off, fabs((double)pixel(&picture, MIDDLE + i, MIDDLE)[3] - want));
      off = kp_test_most(off, fabs((double)pixel(&picture, MIDDLE, MIDDLE - i)[3] - want));
    }
    kp_picture_free(&picture);
  }
  kp_claim claim = { .id = "lyes-L52",
                     .text = "the alpha of a sprite fades to its rim as its texture says",
                     .size = "three textures, 120 pixels of each" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "difference of alpha, worst", off, KP_AT_MOST, 1e-4 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// Particles that are not opaque are puffs without being told so; opaque ones are balls.
static void clear_particles_are_puffs(void **state) {
  (void)state;
  kp_render_def def = sprite_def();
  double zero = 0.0;
  kp_picture pictures[3];
  for (int k = 0; k < 3; ++k) {
    kp_render_points points = { .n = 1, .positions = { &zero, &zero, &zero, 1 }, .radius = 0.5 };
    points.look = kp_default_look_def();
    points.look.sprite = k == 1 ? KP_SPRITE_OVER : KP_SPRITE_AUTO;
    points.look.opacity = k == 2 ? 1.0 : 0.3;
    pictures[k] = draw(&points, 1, &def);
  }
  assert_near(pixel(&pictures[0], MIDDLE, MIDDLE)[3], 0.3, 1e-4);
  assert_near(pixel(&pictures[2], MIDDLE, MIDDLE)[3], 1.0, 1e-6);
  for (int i = 0; i < 60; ++i) {
    for (int c = 0; c < 4; ++c) {
      assert_true(pixel(&pictures[0], MIDDLE + i, MIDDLE)[c] ==
                  pixel(&pictures[1], MIDDLE + i, MIDDLE)[c]);
    }
  }
  for (int k = 0; k < 3; ++k) {
    kp_picture_free(&pictures[k]);
  }
}

// Near over far whatever their order in the set; light behind a puff is dimmed by it.
static void puffs_cover_from_front_to_back(void **state) {
  (void)state;
  kp_render_def def = sprite_def();
  double zero[3] = { 0.0, 0.0, 0.0 };
  for (int order = 0; order < 2; ++order) {
    double z[2] = { order == 0 ? 1.0 : -1.0, order == 0 ? -1.0 : 1.0 };
    float red[2] = { order == 0 ? 1.0f : 0.0f, order == 0 ? 0.0f : 1.0f };
    float green[2] = { 1.0f - red[0], 1.0f - red[1] }, blue[2] = { 0.0f, 0.0f };
    float alphas[2] = { 0.5f, 0.5f };
    kp_render_points points = { .n = 2, .positions = { zero, zero, z, 1 }, .radius = 0.5 };
    points.colors[0] = red;
    points.colors[1] = green;
    points.colors[2] = blue;
    points.alphas = alphas;
    points.look = kp_default_look_def();
    points.look.sprite = KP_SPRITE_OVER;
    points.look.glow = 1.0;  // gives off its colour: no sun on it
    kp_picture picture = draw(&points, 1, &def);
    const float *c = pixel(&picture, MIDDLE, MIDDLE);
    assert_near(c[0], 0.5, 1e-3);
    assert_near(c[1], 0.25, 1e-3);
    assert_near(c[3], 0.75, 1e-3);
    kp_picture_free(&picture);
    // the far one as light: 1 behind a half
    kp_render_points two[2] = { points, points };
    two[0].n = two[1].n = 1;
    two[0].positions.z = z;
    two[1].positions.z = z + 1;
    two[1].alphas = alphas + 1;
    for (int c3 = 0; c3 < 3; ++c3) {
      two[1].colors[c3] = points.colors[c3] + 1;
    }
    two[order == 0 ? 1 : 0].look.sprite = KP_SPRITE_ADD;
    picture = draw(two, 2, &def);
    c = pixel(&picture, MIDDLE, MIDDLE);
    assert_near(c[0], 0.5, 1e-3);
    assert_near(c[1], 0.25, 1e-3);
    kp_picture_free(&picture);
  }
}

// Many sprites at one place: light grows without end, what covers comes to its own colour.
static void light_adds_up_and_cover_does_not(void **state) {
  (void)state;
  enum { MANY = 40 };
  double zero[MANY] = { 0.0 };
  kp_render_points points = { .n = MANY, .positions = { zero, zero, zero, 1 }, .radius = 0.5 };
  points.look = kp_default_look_def();
  points.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  points.look.glow = 0.5;
  points.look.opacity = 0.3;
  kp_render_def def = sprite_def();
  points.look.sprite = KP_SPRITE_ADD;
  kp_picture sum = draw(&points, 1, &def);
  points.look.sprite = KP_SPRITE_OVER;
  kp_picture over = draw(&points, 1, &def);
  double light = (double)pixel(&sum, MIDDLE, MIDDLE)[0] / (0.5 * MANY);
  double cover = (double)pixel(&over, MIDDLE, MIDDLE)[0] - 0.5 * (1.0 - pow(0.7, MANY));
  kp_claim claim = { .id = "lyes-L52-blend",
                     .text = "light of sprites adds up, puffs cover each other",
                     .size = "40 sprites at one place" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "sum of the light, share off", fabs(light - 1.0), KP_AT_MOST, 1e-4 },
                   { "colour of puffs over each other, off", fabs(cover), KP_AT_MOST, 1e-4 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_picture_free(&sum);
  kp_picture_free(&over);
  points.look.sprite = KP_SPRITE_ADD;
  points.look.glow = 0.0;
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .points = &points };
  scene.n_points = 1;
  assert_fails(KP_ERROR_ARGUMENT, "glow", kp_render_frame(&scene, &def, &sum));
  kp_picture_free(&sum);
}

// Fire behind smoke: exp(-sigma L) of its light comes through; in front of it, all of it.
static void smoke_dims_sprites_behind_it(void **state) {
  (void)state;
  enum { N = 12 };
  static float density[N * N * N];
  for (int i = 0; i < N * N * N; ++i) {
    density[i] = 1.0f;
  }
  kp_render_volume smoke = { .nx = N, .ny = N, .nz = N, .cell = 1.0 / N, .density = density };
  smoke.origin = kp_vec3_make(-0.5, -0.5, -0.5);
  smoke.look = kp_default_look_def();
  smoke.look.color = kp_vec3_make(0.0, 0.0, 0.0);
  smoke.look.density = 1.2;
  double zero = 0.0;
  kp_render_def def = sprite_def();
  for (int k = 0; k < 2; ++k) {
    double z = k == 0 ? -1.0 : 1.0;
    kp_render_points points = { .n = 1, .positions = { &zero, &zero, &z, 1 }, .radius = 0.3 };
    points.look = kp_default_look_def();
    points.look.color = kp_vec3_make(1.0, 1.0, 1.0);
    points.look.glow = 1.0;
    kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .points = &points };
    scene.n_points = 1;
    scene.volumes = &smoke;
    scene.n_volumes = 1;
    kp_picture picture = { 0 };
    assert_ok(kp_render_frame(&scene, &def, &picture));
    double want = k == 0 ? exp(-1.2) : 1.0;
    assert_near_relative(pixel(&picture, MIDDLE, MIDDLE)[1], want, 0.01);
    kp_picture_free(&picture);
  }
}

// Sphere impostor: N.xy is the place in the disc, N.z = sqrt(1 - N.xy^2), light max(0, l . N).
// Behind a flat plate of glass, straight on, sprites lose what both faces mirror; in the plate,
// what the front does, and the back shows them once more.
static void sprites_are_seen_through_glass(void **state) {
  (void)state;
  static const double places[8][3] = { { -2, -2, 1.0 }, { 2, -2, 1.0 }, { 2, 2, 1.0 },
                                       { -2, 2, 1.0 },  { -2, -2, 0 },  { 2, -2, 0 },
                                       { 2, 2, 0 },     { -2, 2, 0 } };
  static const uint32_t faces[12][3] = { { 0, 1, 2 }, { 0, 2, 3 }, { 4, 6, 5 }, { 4, 7, 6 },
                                         { 0, 4, 5 }, { 0, 5, 1 }, { 1, 5, 6 }, { 1, 6, 2 },
                                         { 2, 6, 7 }, { 2, 7, 3 }, { 3, 7, 4 }, { 3, 4, 0 } };
  kp_render_mesh plate = { .n_vertices = 8, .n_triangles = 12, .triangles = &faces[0][0] };
  plate.positions = (kp_render_positions){ &places[0][0], &places[0][1], &places[0][2], 3 };
  plate.look = kp_default_look_def();
  plate.look.opacity = 0.1;
  plate.look.refraction = 1.5;
  plate.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  kp_render_def def = sprite_def();
  def.samples = 4;  // a picture of one pass leaves out what the second face mirrors
  double x = 0.0, y = 0.0, z = -1.0;
  kp_render_points points = { .n = 1, .positions = { &x, &y, &z, 1 }, .radius = 0.4 };
  points.look = kp_default_look_def();
  points.look.glow = 0.5;
  points.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty() };
  scene.points = &points;
  scene.n_points = 1;
  scene.meshes = &plate;
  kp_picture open = { 0 }, behind = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &open));
  scene.n_meshes = 1;
  const double mirrored = 0.04;  // (0.5 / 2.5)^2
  for (int faces_before = 2; faces_before >= 1; --faces_before) {
    z = faces_before == 2 ? -1.0 : 0.5;
    assert_ok(kp_render_frame(&scene, &def, &behind));
    double light = (double)pixel(&behind, MIDDLE, MIDDLE)[0];
    double all = (double)pixel(&open, MIDDLE, MIDDLE)[0];
    assert_true(all > 0.4);
    // the sky that the plate mirrors comes on top
    points.look.visible = false;
    assert_ok(kp_render_frame(&scene, &def, &behind));
    points.look.visible = true;
    light -= (double)pixel(&behind, MIDDLE, MIDDLE)[0];
    double wanted = faces_before == 2 ? (1.0 - mirrored) * (1.0 - mirrored)
                                      : (1.0 - mirrored) * (1.0 + mirrored);
    assert_near_relative(light, all * wanted, 0.01);
  }
  // puffs cover what is behind them
  points.look.glow = 0.0;
  points.look.sprite = KP_SPRITE_OVER;
  points.look.texture = KP_TEXTURE_FLAT;
  points.look.opacity = 1.0;
  z = -1.0;
  assert_ok(kp_render_frame(&scene, &def, &behind));
  assert_near(pixel(&behind, MIDDLE, MIDDLE)[3], 1.0, 0.09);
  assert_true(pixel(&behind, 2, MIDDLE)[3] < 0.2f);
  kp_picture_free(&open);
  kp_picture_free(&behind);
}

static void impostors_are_lit_as_balls(void **state) {
  (void)state;
  kp_render_def def = sprite_def();
  def.camera_position = kp_vec3_make(0.0, 0.0, 200.0);  // so far that rays are parallel
  def.camera_fov_deg = 1.0;
  def.sun = kp_vec3_make(0.6, 0.48, 0.64);
  def.sky_strength = 0.0;
  def.background = KP_BACKGROUND_DARK;
  double zero = 0.0;
  kp_render_points points = { .n = 1, .positions = { &zero, &zero, &zero, 1 }, .radius = 1.0 };
  points.look = kp_default_look_def();
  points.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  points.look.gloss = 0.0;
  points.look.smooth = 0.0;
  kp_picture picture = draw(&points, 1, &def);
  double radius = focal_pixels(&def) / 200.0, sun = 0.95 * 1.00;  // dark: red of the sun is 1
  // ground light from below is what the sun leaves without sky: small, on the lower side only
  int compared = 0;
  double off = 0.0, grazing = 0.0;
  for (int y = -40; y <= 40; y += 5) {
    for (int x = -40; x <= 40; x += 5) {
      double nx = x / radius, ny = -y / radius, nn = nx * nx + ny * ny;
      if (nn > 0.9) {
        continue;
      }
      double nz = sqrt(1.0 - nn), cosine = 0.6 * nx + 0.48 * ny + 0.64 * nz;
      double below = 0.30 * sun * 0.48 * 0.050 * fmax(0.0, -ny);
      double want = sun * fmax(0.0, cosine) + below;
      double got = (double)pixel(&picture, MIDDLE + x, MIDDLE + y)[0];
      // where the sun grazes, the ball's own shadow map is coarser than the formula
      double *worst = cosine > 0.15 ? &off : &grazing;
      *worst = kp_test_most(*worst, fabs(got - want));
      ++compared;
    }
  }
  kp_claim claim = { .id = "lyes-L53",
                     .text = "impostors are lit as balls, by max(0, l . N)",
                     .size = "a ball of 35 pixels in radius" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "light against the formula, worst", off, KP_AT_MOST, 0.01 },
                   { "the same where the sun grazes, worst", grazing, KP_AT_MOST, 0.15 },
                   { "pixels compared", compared, KP_MORE, 50.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_picture_free(&picture);
}

// Particles coloured by speed: the colour map at |v|.
static void speed_gives_the_color(void **state) {
  (void)state;
  kp_frame *frame = NULL;
  kp_frame_set *set;
  kp_frame_field *position, *velocity;
  assert_ok(kp_frame_create(0, 0.0, &frame));
  frame->domain = (kp_aabb){ { -1.0, -1.0, -1.0 }, { 1.0, 1.0, 1.0 } };
  assert_ok(kp_frame_add_set(frame, "water", 3, &set));
  kp_frame_field_def p = { "position", "m", KP_ITEM_F64, 3, 3 };
  kp_frame_field_def v = { "velocity", "m/s", KP_ITEM_F32, 3, 3 };
  assert_ok(kp_frame_add_field(&set->fields, &p, &position));
  assert_ok(kp_frame_add_field(&set->fields, &v, &velocity));
  kp_frame_field *at = &set->fields.items[0];
  for (int i = 0; i < 3; ++i) {
    ((double *)at->data[0])[i] = 0.6 * (i - 1);
    ((double *)at->data[1])[i] = ((double *)at->data[2])[i] = 0.0;
    ((float *)velocity->data[0])[i] = 0.6f * (float)i;
    ((float *)velocity->data[1])[i] = -0.8f * (float)i;
    ((float *)velocity->data[2])[i] = 0.0f;
  }
  kp_named_look look = { "water", kp_default_look_def() };
  kp_text_copy(look.look.color_by, sizeof look.look.color_by, "speed");
  look.look.range_max = 4.0;
  look.look.sprite = KP_SPRITE_OVER;
  look.look.texture = KP_TEXTURE_FLAT;
  look.look.glow = 1.0;
  kp_frame_scene *scene;
  assert_ok(kp_frame_scene_create(frame, &look, 1, 0.2, &scene));
  kp_render_def def = sprite_def();
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(kp_frame_scene_get(scene), &def, &picture));
  double off = 0.0;
  for (int i = 0; i < 3; ++i) {
    kp_rgb want = kp_colormap_eval(KP_COLORMAP_VIRIDIS, 0.25 * i);  // |v| = i of 4
    int x = MIDDLE + (int)lrint(0.6 * (i - 1) * focal_pixels(&def) / 5.0);
    const float *got = pixel(&picture, x, MIDDLE);
    off = kp_test_most(off, kp_test_most(fabs((double)(got[0] - want.r)),
                                         kp_test_most(fabs((double)(got[1] - want.g)),
                                                      fabs((double)(got[2] - want.b)))));
  }
  kp_claim claim = { .id = "lyes-L56",
                     .text = "particles have the colour of their speed",
                     .size = "particles at 0, 1 and 2 m/s" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "difference from the colour map, worst", off, KP_AT_MOST, 0.01 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_picture_free(&picture);
  kp_frame_scene_destroy(&scene);
  kp_frame_free(&frame);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(size_falls_with_distance),
    cmocka_unit_test(textures_fade_to_the_rim),
    cmocka_unit_test(clear_particles_are_puffs),
    cmocka_unit_test(puffs_cover_from_front_to_back),
    cmocka_unit_test(light_adds_up_and_cover_does_not),
    cmocka_unit_test(smoke_dims_sprites_behind_it),
    cmocka_unit_test(sprites_are_seen_through_glass),
    cmocka_unit_test(impostors_are_lit_as_balls),
    cmocka_unit_test(speed_gives_the_color),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
