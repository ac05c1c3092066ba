// Mirrors, water and glass against closed forms.
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"
#include "render/environment.h"
#include "render/optics.h"
#include "render/render.h"

#include "golden.h"
#include "support/claims.h"

#define PI 3.14159265358979323846
#define WATER 1.3333

// Fresnel's formulas as every textbook has them.
static double textbook(double angle, double n1, double n2) {
  double sine = n1 / n2 * sin(angle);
  if (sine >= 1.0) {
    return 1.0;
  }
  double a = cos(angle), b = sqrt(1.0 - sine * sine);
  double across = (n1 * a - n2 * b) / (n1 * a + n2 * b);
  double along = (n1 * b - n2 * a) / (n1 * b + n2 * a);
  return 0.5 * (across * across + along * along);
}

static double exact(double angle, double n1, double n2) {
  return (double)kp_fresnel_exact((float)cos(angle), (float)n1, (float)n2);
}

static double schlick(double angle, double n1, double n2) {
  return (double)kp_fresnel_schlick((float)cos(angle), (float)n1, (float)n2);
}

static void fresnel_is_that_of_the_textbook(void **state) {
  (void)state;
  double off = 0.0, inside = 0.0;
  for (int i = 0; i < 900; ++i) {
    double angle = 0.1 * i * PI / 180.0;
    off = kp_test_most(off, fabs(exact(angle, 1.0, WATER) - textbook(angle, 1.0, WATER)));
    off = kp_test_most(off, fabs(exact(angle, 1.0, 1.5) - textbook(angle, 1.0, 1.5)));
    // out of the water; near the angle of total reflection the share is steep
    double sine = WATER * sin(angle);
    if (fabs(sine - 1.0) > 1e-3) {
      inside = kp_test_most(inside, fabs(exact(angle, WATER, 1.0) - textbook(angle, WATER, 1.0)));
    }
  }
  kp_claim claim = { .id = "lyes-L65",
                     .text = "exact Fresnel reflectance is that of the textbook",
                     .size = "900 angles, into water and glass and out of water" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "difference of the reflectance, worst", off, KP_AT_MOST, 2e-5 },
                   { "the same from inside water", inside, KP_AT_MOST, 2e-4 },
                   { "R(0) of water, off from 0.020405", fabs(exact(0.0, 1.0, WATER) - 0.020405),
                     KP_AT_MOST, 1e-5 },
                   { "R(60 deg) of water, off from 0.05975",
                     fabs(exact(60.0 * PI / 180.0, 1.0, WATER) - 0.05975), KP_AT_MOST, 1e-4 },
                   { "R(90 deg) of water, off from 1", fabs(exact(0.5 * PI, 1.0, WATER) - 1.0),
                     KP_AT_MOST, 1e-6 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  // values of the specification
  assert_near(exact(0.0, 1.0, 1.333), 0.02037, 1e-5);
  assert_near(exact(0.0, 1.0, WATER), 0.020405, 1e-5);
  assert_near(exact(45.0 * PI / 180.0, 1.0, WATER), 0.0279, 1e-4);
  assert_near(exact(60.0 * PI / 180.0, 1.0, WATER), 0.05975, 1e-4);
  assert_near(exact(75.0 * PI / 180.0, 1.0, WATER), 0.2125, 1e-4);
  assert_near(exact(80.0 * PI / 180.0, 1.0, WATER), 0.3480, 1e-4);
  assert_near(exact(0.5 * PI, 1.0, WATER), 1.0, 1e-6);
  assert_near(schlick(45.0 * PI / 180.0, 1.0, WATER), 0.0225, 1e-4);
  assert_near(schlick(60.0 * PI / 180.0, 1.0, WATER), 0.0510, 1e-4);
  assert_near(schlick(75.0 * PI / 180.0, 1.0, WATER), 0.2395, 1e-4);
  assert_near(schlick(80.0 * PI / 180.0, 1.0, WATER), 0.3979, 1e-4);
  // Brewster's angle mirrors one polarisation only: half of ((n2^2 - n1^2) / (n2^2 + n1^2))^2
  double n2 = WATER * WATER, left = (n2 - 1.0) / (n2 + 1.0);
  assert_near(exact(atan(WATER), 1.0, WATER), 0.5 * left * left, 1e-5);
  // total reflection begins at asin(1 / n)
  double critical = asin(1.0 / WATER);
  assert_true(exact(critical - 0.01, WATER, 1.0) < 0.7);
  assert_true(exact(critical + 0.001, WATER, 1.0) == 1.0);
  assert_true(schlick(critical + 0.001, WATER, 1.0) == 1.0);
}

static void rays_bend_by_the_law_of_snell(void **state) {
  (void)state;
  for (int i = 0; i < 89; ++i) {
    double a = i * PI / 180.0;
    kp_f3 ray = kp_f3_make((float)sin(a), (float)-cos(a), 0.0f), up = { 0.0f, 1.0f, 0.0f };
    kp_f3 in = kp_refract(ray, up, 1.0f, (float)WATER), back = kp_reflect(ray, up);
    assert_near(in.x, sin(a) / WATER, 1e-6);
    assert_near(kp_f3_dot(in, in), 1.0, 1e-5);
    assert_true(in.y < 0.0f);
    assert_near(back.x, sin(a), 1e-6);
    assert_near(back.y, cos(a), 1e-6);
    kp_f3 out = kp_refract(ray, up, (float)WATER, 1.0f);
    bool is_total = WATER * sin(a) >= 1.0;
    assert_near(out.x, is_total ? 0.0 : WATER * sin(a), 1e-5);
  }
}

// ---- scenes

enum { RINGS = 48, AROUND = 96 };

typedef struct ball {
  double x[RINGS * AROUND], y[RINGS * AROUND], z[RINGS * AROUND];
  float normals[3 * RINGS * AROUND];
  uint32_t triangles[6 * RINGS * AROUND];
  kp_render_mesh mesh;
} ball;

static void make_ball(ball *b, double radius) {
  int n = 0;
  for (int i = 0; i < RINGS; ++i) {
    for (int j = 0; j < AROUND; ++j) {
      double p = PI * i / (RINGS - 1), q = 2.0 * PI * j / AROUND;
      int v = i * AROUND + j, next = i * AROUND + (j + 1) % AROUND;
      b->normals[3 * v] = (float)(sin(p) * cos(q));
      b->normals[3 * v + 1] = (float)cos(p);
      b->normals[3 * v + 2] = (float)(sin(p) * sin(q));
      b->x[v] = radius * (double)b->normals[3 * v];
      b->y[v] = radius * (double)b->normals[3 * v + 1];
      b->z[v] = radius * (double)b->normals[3 * v + 2];
      if (i + 1 < RINGS) {
        const uint32_t two[6] = { (uint32_t)v,
                                  (uint32_t)next,
                                  (uint32_t)(v + AROUND),
                                  (uint32_t)next,
                                  (uint32_t)(next + AROUND),
                                  (uint32_t)(v + AROUND) };
        memcpy(b->triangles + n, two, sizeof two);
        n += 6;
      }
    }
  }
  b->mesh = (kp_render_mesh){ .n_vertices = RINGS * AROUND, .n_triangles = n / 3 };
  b->mesh.positions = (kp_render_positions){ b->x, b->y, b->z, 1 };
  b->mesh.triangles = b->triangles;
  b->mesh.normals = b->normals;
  b->mesh.look = kp_default_look_def();
}

typedef struct block {
  double x[8], y[8], z[8];
  uint32_t triangles[36];
  kp_render_mesh mesh;
} block;

static void make_block(block *b, kp_vec3 low, kp_vec3 high) {
  static const uint32_t corners[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                        2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5 };
  for (int i = 0; i < 8; ++i) {
    b->x[i] = i & 1 ? high.x : low.x;
    b->y[i] = i & 2 ? high.y : low.y;
    b->z[i] = i & 4 ? high.z : low.z;
  }
  memcpy(b->triangles, corners, sizeof corners);
  b->mesh = (kp_render_mesh){ .n_vertices = 8, .n_triangles = 12 };
  b->mesh.positions = (kp_render_positions){ b->x, b->y, b->z, 1 };
  b->mesh.triangles = b->triangles;
  b->mesh.look = kp_default_look_def();
}

static kp_render_def plain_def(int size) {
  kp_render_def def = kp_default_render_def();
  def.width = def.height = size;
  def.samples = 1;
  def.camera_position = kp_vec3_make(0.0, 0.0, 5.0);
  def.camera_fov_deg = 40.0;
  def.ground = KP_GROUND_NONE;
  def.box = false;
  def.sun_strength = 0.0;
  return def;
}

// Every face of one colour; the last one may be another.
static void make_sky(kp_environment *sky, uint8_t grey, int other, uint8_t other_grey) {
  kp_image faces[6];
  for (int k = 0; k < 6; ++k) {
    assert_ok(kp_image_create(4, 4, 3, &faces[k]));
    memset(faces[k].pixels, k == other ? other_grey : grey, 48);
  }
  assert_ok(kp_environment_make(faces, sky));
  for (int k = 0; k < 6; ++k) {
    kp_image_free(&faces[k]);
  }
}

static kp_render_scene scene_of(const kp_render_mesh *meshes, int n, const kp_environment *sky) {
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = { { -1, -1, -1 }, { 1, 1, 1 } } };
  scene.meshes = meshes;
  scene.n_meshes = n;
  scene.environment = sky;
  return scene;
}

// White things in a white world are not seen: no light is lost or made.
static void white_furnace(void **state) {
  (void)state;
  static ball b;
  make_ball(&b, 1.0);
  kp_environment sky;
  make_sky(&sky, 255, -1, 0);
  kp_render_scene scene = scene_of(&b.mesh, 1, &sky);
  kp_render_def def = plain_def(81);
  def.samples = 4;
  kp_picture picture = { 0 };
  double seen = 0.0;
  for (int kind = 0; kind < 4; ++kind) {
    b.mesh.look = kp_default_look_def();
    b.mesh.look.color = kp_vec3_make(1.0, 1.0, 1.0);
    b.mesh.look.gloss = kind == 1 ? 1.0 : 0.0;
    if (kind >= 2) {
      b.mesh.look.opacity = 0.1;
      b.mesh.look.refraction = kind == 2 ? 1.5 : 2.4;
    }
    assert_ok(kp_render_frame(&scene, &def, &picture));
    for (int i = 0; i < 81 * 81; ++i) {
      for (int c = 0; c < 3; ++c) {
        seen = kp_test_most(seen, fabs((double)picture.rgba[4 * i + c] - 1.0));
      }
    }
  }
  kp_claim claim = { .id = "lyes-L64-light",
                     .text = "a white thing in a white sky is not seen: no light is lost or made",
                     .size = "balls, dull, polished and of two glasses" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "difference of a pixel from the sky, worst", seen, KP_AT_MOST, 2e-3 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  // a grey one is seen, and has its own share of the light
  b.mesh.look = kp_default_look_def();
  b.mesh.look.gloss = 0.0;
  b.mesh.look.color = kp_vec3_make(0.5, 0.5, 0.5);
  assert_ok(kp_render_frame(&scene, &def, &picture));
  assert_near(picture.rgba[4 * (40 * 81 + 40)], (double)kp_srgb_decode(0.5f), 2e-3);
  kp_picture_free(&picture);
  kp_environment_free(&sky);
}

// Through a slab of known thickness: what two surfaces let through, times Beer's law.
static void slab_takes_out_what_it_should(void **state) {
  (void)state;
  block b;
  make_block(&b, kp_vec3_make(-3.0, -3.0, -0.4), kp_vec3_make(3.0, 3.0, 0.4));
  kp_environment sky;
  make_sky(&sky, 0, 5, 255);  // black, but for the back wall
  kp_render_scene scene = scene_of(&b.mesh, 1, &sky);
  kp_render_def def = plain_def(61);
  kp_picture picture = { 0 };
  double off = 0.0;
  for (double density = 0.25; density < 5.0; density *= 2.0) {
    b.mesh.look = kp_default_look_def();
    b.mesh.look.water = true;
    b.mesh.look.cloudy = 0.0;
    b.mesh.look.density = density;
    b.mesh.look.color = kp_vec3_make(0.9, 0.6, 0.3);
    assert_ok(kp_render_frame(&scene, &def, &picture));
    // the second surface mirrors too little for a ray of its own: its share goes through
    double through = 1.0 - exact(0.0, 1.0, WATER);
    const double colors[3] = { 0.9, 0.6, 0.3 };
    for (int c = 0; c < 3; ++c) {
      double left = pow((double)kp_srgb_decode((float)colors[c]), density * 0.8);
      double got = (double)picture.rgba[4 * (30 * 61 + 30) + c];
      off = kp_test_most(off, fabs(got / (through * left) - 1.0));
    }
  }
  kp_claim claim = { .id = "lyes-L65-slab",
                     .text = "a slab of water lets through what two surfaces and its depth leave",
                     .size = "five densities, three colours" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "light through it, share off, worst", off, KP_AT_MOST, 2e-3 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_picture_free(&picture);
  kp_environment_free(&sky);
}

// A slab moves what is behind it sideways by d sin(a) (1 - cos a / (n cos b)), seen on an edge.
static void slab_moves_what_is_behind(void **state) {
  (void)state;
  block parts[2];
  make_block(&parts[0], kp_vec3_make(-9.0, -9.0, -1.0), kp_vec3_make(9.0, 9.0, 1.0));
  make_block(&parts[1], kp_vec3_make(1.0, -9.0, -1.6), kp_vec3_make(20.0, 9.0, -1.5));
  kp_render_mesh meshes[2] = { parts[0].mesh, parts[1].mesh };
  meshes[0].look.water = true;
  meshes[0].look.color = kp_vec3_make(1.0, 1.0, 1.0);
  meshes[1].look.color = kp_vec3_make(0.0, 0.0, 0.0);
  meshes[1].look.gloss = 0.0;
  kp_environment sky;
  make_sky(&sky, 255, -1, 0);
  kp_render_scene scene = scene_of(meshes, 2, &sky);
  kp_render_def def = plain_def(401);
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  int edge = 0;
  while (edge < 400 && picture.rgba[4 * (200 * 401 + edge)] > 0.5f) {
    ++edge;
  }
  // the eye at z = 5 sees x = 4 tan a + 2 tan b + 0.5 tan a = 1
  double focal = 0.5 * 401 / tan(0.5 * 40.0 * PI / 180.0);
  double slope = (edge - 200) / focal, a = atan(slope), inside = asin(sin(a) / WATER);
  kp_claim claim = { .id = "lyes-L65-bent",
                     .text = "rays are bent through a slab of water by Snell's law",
                     .size = "an edge behind 2 m of water, 401 pixels" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "place of the edge by the bent ray, m, off", fabs(4.5 * tan(a) + 2.0 * tan(inside) - 1.0),
        KP_AT_MOST, 0.012 },
      { "place of the edge by a straight ray, m, off", fabs(6.5 * slope - 1.0), KP_MORE, 0.05 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_picture_free(&picture);
  kp_environment_free(&sky);
}

// A dark wavy block of glass in a map: rays of little weight are mirrored totally too, and every
// one of them ends somewhere.
static void faint_rays_are_mirrored_too(void **state) {
  (void)state;
  static ball b;
  make_ball(&b, 1.0);
  for (int i = 0; i < RINGS * AROUND; ++i) {
    double bump = 1.0 + 0.08 * sin(13.0 * b.x[i]) * sin(11.0 * b.y[i]) * sin(9.0 * b.z[i]);
    b.x[i] *= bump;
    b.y[i] *= bump;
    b.z[i] *= bump;
  }
  b.mesh.normals = NULL;
  b.mesh.smooth_shading = true;
  b.mesh.look.opacity = 0.1;
  b.mesh.look.refraction = 2.4;
  b.mesh.look.color = kp_vec3_make(0.2, 0.2, 0.2);
  b.mesh.look.density = 0.5;
  kp_environment sky;
  make_sky(&sky, 255, -1, 0);
  kp_render_scene scene = scene_of(&b.mesh, 1, &sky);
  kp_render_def def = plain_def(161);
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  for (int i = 0; i < 4 * 161 * 161; ++i) {
    assert_true(isfinite(picture.rgba[i]) && picture.rgba[i] <= 1.002f);
  }
  assert_near(picture.rgba[0], 1.0, 1e-3);  // beside it
  assert_between(picture.rgba[4 * (80 * 161 + 80)], 0.02, 0.5);
  kp_picture_free(&picture);
  kp_environment_free(&sky);
}

// Smoke behind a slab of water dims the light from behind by its optical depth.
static void smoke_is_seen_through_water(void **state) {
  (void)state;
  enum { N = 12 };
  static float density[N * N * N];
  for (int i = 0; i < N * N * N; ++i) {
    density[i] = 1.0f;
  }
  block b;
  make_block(&b, kp_vec3_make(-3.0, -3.0, 0.5), kp_vec3_make(3.0, 3.0, 1.0));
  b.mesh.look.water = true;
  b.mesh.look.color = kp_vec3_make(1.0, 1.0, 1.0);
  kp_environment sky;
  make_sky(&sky, 255, -1, 0);
  kp_render_volume smoke = { .nx = N, .ny = N, .nz = N, .cell = 0.8 / N, .density = density };
  smoke.origin = kp_vec3_make(-0.4, -0.4, -0.6);
  smoke.look = kp_default_look_def();
  smoke.look.color = kp_vec3_make(0.0, 0.0, 0.0);
  smoke.look.density = 1.5;
  kp_render_scene scene = scene_of(&b.mesh, 1, &sky);
  scene.volumes = &smoke;
  scene.n_volumes = 1;
  kp_render_def def = plain_def(61);
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  double mirrored = exact(0.0, 1.0, WATER), left = exp(-1.5 * 0.8);
  assert_near(picture.rgba[4 * (30 * 61 + 30)], mirrored + (1.0 - mirrored) * left, 0.01);
  assert_near(picture.rgba[4 * (30 * 61 + 2)], 1.0, 2e-3);
  kp_picture_free(&picture);
  kp_environment_free(&sky);
}

// A polished floor mirrors a dark ball above it.
static void gloss_mirrors_what_is_around(void **state) {
  (void)state;
  static ball b;
  make_ball(&b, 0.5);
  block floor;
  make_block(&floor, kp_vec3_make(-9.0, -1.2, -9.0), kp_vec3_make(9.0, -1.0, 9.0));
  kp_render_mesh meshes[2] = { b.mesh, floor.mesh };
  meshes[0].look.color = kp_vec3_make(0.0, 0.0, 0.0);
  meshes[0].look.gloss = 0.0;
  meshes[1].look.color = kp_vec3_make(0.1, 0.1, 0.1);
  meshes[1].look.gloss = 1.0;
  kp_environment sky;
  make_sky(&sky, 255, -1, 0);
  kp_render_scene scene = scene_of(meshes, 2, &sky);
  kp_render_def def = plain_def(201);
  def.occlusion = 0.0;
  def.camera_position.z = 8.0;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  // the mirror image of the ball's middle is at y = -2: the ray to it meets the floor half way
  double focal = 0.5 * 201 / tan(0.5 * 40.0 * PI / 180.0);
  int row = 100 + (int)lround(focal * 2.0 / 8.0);
  double image = (double)picture.rgba[4 * (row * 201 + 100)];
  double beside = (double)picture.rgba[4 * (row * 201 + 10)];
  double cosine = 2.0 / sqrt(68.0);
  assert_near(beside - image, 0.04 + 0.96 * pow(1.0 - cosine, 5.0), 0.05);
  assert_true(beside - image > 0.08);
  kp_picture_free(&picture);
  kp_environment_free(&sky);
}

// ---- Blinn-Phong and wireframe

static void blinn_phong_is_its_formula(void **state) {
  (void)state;
  static ball b;
  make_ball(&b, 1.0);
  kp_render_scene scene = scene_of(&b.mesh, 1, NULL);
  kp_render_def def = plain_def(101);
  def.sun = kp_vec3_make(0.6, 0.5, 1.0);
  def.sun_strength = 1.0;
  def.occlusion = 0.0;
  def.transparent = true;
  b.mesh.look.shading = KP_SHADING_BLINN_PHONG;
  b.mesh.look.color = kp_vec3_make(0.7, 0.7, 0.7);
  b.mesh.look.specular = 0.8;
  b.mesh.look.shininess = 20.0;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  kp_vec3 sun = kp_vec3_normalize(def.sun);
  double focal = 0.5 * 101 / tan(0.5 * 40.0 * PI / 180.0), off = 0.0;
  for (int x = 42; x <= 66; x += 8) {
    double slope = (x - 50) / focal, d2 = 1.0 + slope * slope;
    double t = (5.0 - sqrt(25.0 - 24.0 * d2)) / d2;
    kp_vec3 p = kp_vec3_make(slope * t, 0.0, 5.0 - t), n = kp_vec3_normalize(p);
    kp_vec3 eye = kp_vec3_normalize(kp_vec3_sub(def.camera_position, p));
    kp_vec3 half = kp_vec3_normalize(kp_vec3_add(eye, sun));
    double albedo = (double)kp_srgb_decode(0.7f);
    // the studio's sun is 0.95 (1, 0.95, 0.87)
    double red = albedo * (0.35 + 0.95 * fmax(kp_vec3_dot(n, sun), 0.0)) +
                 0.8 * 0.95 * pow(fmax(kp_vec3_dot(half, n), 0.0), 20.0);
    off = kp_test_most(off, fabs((double)picture.rgba[4 * (50 * 101 + x)] / red - 1.0));
  }
  kp_claim claim = { .id = "lyes-L63",
                     .text = "Blinn-Phong shading is its formula",
                     .size = "four points of a ball" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "colour against the formula, share, worst", off, KP_AT_MOST, 0.02 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_picture_free(&picture);
}

static void wireframes_show_edges_alone(void **state) {
  (void)state;
  double x[4] = { -1.0, 1.0, 1.0, -1.0 }, y[4] = { -1.0, -1.0, 1.0, 1.0 }, z[4] = { 0.0 };
  uint32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
  kp_render_mesh mesh = { .n_vertices = 4, .n_triangles = 2, .positions = { x, y, z, 1 } };
  mesh.triangles = triangles;
  mesh.look = kp_default_look_def();
  mesh.look.wireframe = true;
  kp_render_scene scene = scene_of(&mesh, 1, NULL);
  kp_render_def def = plain_def(201);
  def.transparent = true;
  kp_picture picture = { 0 };
  double focal = 0.5 * 201 / tan(0.5 * 40.0 * PI / 180.0), side = 2.0 * focal / 5.0;
  double before = 0.0, off = 0.0;
  for (double width = 2.0; width < 9.0; width *= 2.0) {
    mesh.look.line_width = width;
    assert_ok(kp_render_frame(&scene, &def, &picture));
    double covered = 0.0;
    for (int i = 0; i < 201 * 201; ++i) {
      covered += (double)picture.rgba[4 * i + 3];
    }
    // four sides of half a line each and a whole diagonal
    off = kp_test_most(off, fabs(covered / (width * (2.0 * side + sqrt(2.0) * side)) - 1.0));
    assert_true(covered > before);
    before = covered;
    assert_near(picture.rgba[4 * (70 * 201 + 110) + 3], 0.0, 1e-6);
  }
  kp_claim claim = { .id = "lyes-L63-wires",
                     .text = "wireframes show the edges in the width asked for",
                     .size = "two triangles, lines of 2, 4 and 8 pixels" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "area against length times width, share, worst", off, KP_AT_MOST, 0.08 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_picture_free(&picture);
}

// ---- pictures

enum { WAVES = 60 };

// A pool with waves over a checkered ground, as the claim's picture.
typedef struct pool {
  double x[2 * (WAVES + 1) * (WAVES + 1)], y[2 * (WAVES + 1) * (WAVES + 1)],
      z[2 * (WAVES + 1) * (WAVES + 1)];
  uint32_t triangles[12 * WAVES * WAVES + 24 * WAVES];
  kp_render_mesh mesh;
} pool;

static void make_pool(pool *p) {
  const int row = WAVES + 1, top = row * row;
  for (int i = 0; i < 2 * top; ++i) {
    int v = i % top;
    double a = (double)(v % row) / WAVES, c = (double)(v / row) / WAVES;
    p->x[i] = 2.0 * a - 1.0;
    p->z[i] = 2.0 * c - 1.0;
    p->y[i] = i < top ? 0.06 * sin(9.0 * a + 3.0 * c) * cos(7.0 * c) : -0.5;
  }
  int n = 0;
  for (int j = 0; j < WAVES; ++j) {
    for (int i = 0; i < WAVES; ++i) {
      uint32_t a = (uint32_t)(j * row + i), b = a + 1, c = a + (uint32_t)row, d = c + 1;
      uint32_t t = (uint32_t)top;
      const uint32_t four[12] = { a, c, b, b, c, d, a + t, b + t, c + t, b + t, d + t, c + t };
      memcpy(p->triangles + n, four, sizeof four);
      n += 12;
    }
  }
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < WAVES; ++i) {
      int from = k == 0   ? i
                 : k == 1 ? i * row + WAVES
                 : k == 2 ? WAVES * row + i + 1
                          : (i + 1) * row;
      int to = k == 0 ? i + 1 : k == 1 ? (i + 1) * row + WAVES : k == 2 ? WAVES * row + i : i * row;
      uint32_t a = (uint32_t)from, b = (uint32_t)to, t = (uint32_t)top;
      const uint32_t two[6] = { a, b, a + t, b, b + t, a + t };
      memcpy(p->triangles + n, two, sizeof two);
      n += 6;
    }
  }
  p->mesh = (kp_render_mesh){ .n_vertices = 2 * top, .n_triangles = n / 3 };
  p->mesh.positions = (kp_render_positions){ p->x, p->y, p->z, 1 };
  p->mesh.triangles = p->triangles;
  p->mesh.smooth_shading = true;
  p->mesh.look = kp_default_look_def();
  p->mesh.look.water = true;
  p->mesh.look.color = kp_vec3_make(0.16, 0.50, 0.66);
}

static kp_render_def pool_def(void) {
  kp_render_def def = kp_default_render_def();
  def.width = 240;
  def.height = 135;
  def.samples = 4;
  def.background = KP_BACKGROUND_SKY;
  def.box = true;
  return def;
}

// lyes-19: exact Fresnel and Schlick look alike.
static void exact_and_schlick_look_alike(void **state) {
  (void)state;
  static pool p;
  make_pool(&p);
  kp_render_scene scene = scene_of(&p.mesh, 1, NULL);
  scene.bounds = (kp_aabb){ { -1.0, -0.5, -1.0 }, { 1.0, 0.3, 1.0 } };
  kp_render_def def = pool_def();
  kp_picture first = { 0 }, second = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &first));
  def.fresnel = KP_FRESNEL_SCHLICK;
  assert_ok(kp_render_frame(&scene, &def, &second));
  double sum = 0.0, largest = 0.0;
  int n = first.width * first.height;
  for (int i = 0; i < 3 * n; ++i) {
    sum += fabs((double)(first.rgba[i / 3 * 4 + i % 3] - second.rgba[i / 3 * 4 + i % 3]));
  }
  for (int i = 0; i <= 9000; ++i) {
    double angle = 0.5 * PI * i / 9000.0;
    largest = kp_test_most(largest, fabs(exact(angle, 1.0, WATER) - schlick(angle, 1.0, WATER)));
  }
  double mean = sum / (3.0 * n);
  kp_claim claim = { .id = "lyes-19",
                     .text = "exact Fresnel and Schlick's approximation look alike",
                     .size = "pool with waves, 240 x 135; 9001 angles, index 1.3333" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "mean difference of the picture", mean, KP_LESS, 0.02 },
                   { "largest difference of the reflectance", largest, KP_AT_MOST, 0.06 },
                   { "mean difference, so that they do differ", mean, KP_MORE, 1e-5 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  assert_near(largest, 0.059, 0.001);
  // the grey variant: neither sky nor floor, between grey and white
  def.fresnel = KP_FRESNEL_GREY;
  assert_ok(kp_render_frame(&scene, &def, &second));
  const float *c = &second.rgba[4 * (80 * 240 + 120)];
  kp_claim grey = { .id = "lyes-L67",
                    .text = "indoors water is of one grey under a white sky",
                    .size = "a pixel of a pool with waves" };
  verdict = kp_claim_all(&grey, { "brightness, at least that of the grey", c[0], KP_AT_LEAST, 0.5 },
                         { "brightness, at most white", c[0], KP_AT_MOST, 1.0 },
                         { "difference of its colours",
                           fmax(fabs((double)(c[0] - c[1])), fabs((double)(c[1] - c[2]))),
                           KP_AT_MOST, 0.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_picture_free(&first);
  kp_picture_free(&second);
}

static void threads_do_not_change_bytes(void **state) {
  (void)state;
  static pool p;
  make_pool(&p);
  kp_render_scene scene = scene_of(&p.mesh, 1, NULL);
  kp_render_def def = pool_def();
  kp_picture one = { 0 }, many = { 0 };
  kp_parallel_set_threads(1);
  assert_ok(kp_render_frame(&scene, &def, &one));
  kp_parallel_set_threads(3);
  assert_ok(kp_render_frame(&scene, &def, &many));
  kp_parallel_set_threads(0);
  assert_memory_equal(one.rgba, many.rgba, (size_t)(4 * 240 * 135) * sizeof(float));
  for (int i = 0; i < 4 * 240 * 135; ++i) {
    assert_true(isfinite(one.rgba[i]) && one.rgba[i] >= 0.0f);
  }
  kp_picture_free(&one);
  kp_picture_free(&many);
}

// The pool again as a picture that is kept. KELPIE_UPDATE_IMAGES=1 writes it anew; look at it.
static void pool_is_as_it_was(void **state) {
  (void)state;
  static pool p;
  make_pool(&p);
  kp_render_scene scene = scene_of(&p.mesh, 1, NULL);
  scene.bounds = (kp_aabb){ { -1.0, -0.5, -1.0 }, { 1.0, 0.3, 1.0 } };
  kp_render_def def = pool_def();
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  kp_test_golden(&picture, "pool");
  kp_picture_free(&picture);
}

// ---- environment maps

static void maps_are_read_from_files(void **state) {
  const char *folder = *state;
  static const char *const words[6] = { "right", "left", "top", "bottom", "front", "back" };
  static const kp_f3 ways[6] = { { 1, 0, 0 },  { -1, 0, 0 }, { 0, 1, 0 },
                                 { 0, -1, 0 }, { 0, 0, 1 },  { 0, 0, -1 } };
  static const int cross[6][2] = { { 2, 1 }, { 0, 1 }, { 1, 0 }, { 1, 2 }, { 1, 1 }, { 3, 1 } };
  kp_image face, row, wide;
  assert_ok(kp_image_create(8, 8, 3, &face));
  assert_ok(kp_image_create(48, 8, 3, &row));
  assert_ok(kp_image_create(32, 24, 3, &wide));
  memset(wide.pixels, 0, 32 * 24 * 3);
  for (int k = 0; k < 6; ++k) {
    memset(face.pixels, 40 * (k + 1), 192);
    char name[64];
    (void)snprintf(name, sizeof name, "sky_%s.png", words[k]);
    assert_ok(kp_png_write(kp_test_path(folder, name), &face));
    for (int y = 0; y < 8; ++y) {
      memset(row.pixels + 3 * (48 * y + 8 * k), 40 * (k + 1), 24);
      memset(wide.pixels + 3 * (32 * (8 * cross[k][1] + y) + 8 * cross[k][0]), 40 * (k + 1), 24);
    }
  }
  assert_ok(kp_png_write(kp_test_path(folder, "row.png"), &row));
  assert_ok(kp_png_write(kp_test_path(folder, "cross.png"), &wide));
  assert_ok(kp_png_write(kp_test_path(folder, "square.png"), &face));
  const char *const files[3] = { "sky_*.png", "row.png", "cross.png" };
  double off = 0.0;
  for (int i = 0; i < 3; ++i) {
    kp_environment e;
    assert_ok(kp_environment_load(kp_test_path(folder, files[i]), &e));
    for (int k = 0; k < 6; ++k) {
      double grey = (double)kp_srgb_decode((float)(40 * (k + 1)) / 255.0f);
      off = kp_test_most(off, fabs((double)kp_environment_color(&e, ways[k]).g - grey));
    }
    // no direction at all gives some colour
    assert_true(isfinite(kp_environment_color(&e, kp_f3_make(0.0f, 0.0f, 0.0f)).r));
    assert_true(isfinite(kp_environment_color(&e, kp_f3_make(NAN, 1.0f, 0.0f)).r));
    // half of the light on a sheet comes from the face it looks at and more
    assert_true(e.down.r > e.up.r);
    kp_environment_free(&e);
  }
  kp_claim claim = { .id = "lyes-L64",
                     .text = "each face of a cube map is seen in its direction",
                     .size = "six files, a row and a cross" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "difference of the colour, worst", off, KP_AT_MOST, 1e-6 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_environment e;
  assert_fails(KP_ERROR_FORMAT, "cross of squares",
               kp_environment_load(kp_test_path(folder, "square.png"), &e));
  assert_fails(KP_ERROR_IO, "none.png", kp_environment_load(kp_test_path(folder, "none.png"), &e));
  kp_image_free(&face);
  kp_image_free(&row);
  kp_image_free(&wide);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(fresnel_is_that_of_the_textbook),
    cmocka_unit_test(rays_bend_by_the_law_of_snell),
    cmocka_unit_test(white_furnace),
    cmocka_unit_test(slab_takes_out_what_it_should),
    cmocka_unit_test(slab_moves_what_is_behind),
    cmocka_unit_test(faint_rays_are_mirrored_too),
    cmocka_unit_test(smoke_is_seen_through_water),
    cmocka_unit_test(gloss_mirrors_what_is_around),
    cmocka_unit_test(blinn_phong_is_its_formula),
    cmocka_unit_test(wireframes_show_edges_alone),
    cmocka_unit_test(exact_and_schlick_look_alike),
    cmocka_unit_test(threads_do_not_change_bytes),
    cmocka_unit_test(pool_is_as_it_was),
    cmocka_unit_test_setup_teardown(maps_are_read_from_files, kp_test_folder_make,
                                    kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
