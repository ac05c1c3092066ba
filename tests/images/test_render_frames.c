// From frame files to pictures and videos: what `kelpie render` does, and a picture kept for
// comparison.
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "render/framing.h"
#include "render/scene_from_frame.h"
#include "render/video.h"

#include "golden.h"
#include "support/frames.h"

#define SIDE 12

// Water with velocity, a roof, three curves and smoke.
static void fill_set(kp_frame *frame) {
  kp_frame_set *set;
  kp_frame_field *position, *velocity;
  uint64_t n = SIDE * SIDE * SIDE;
  kp_frame_field_def place = { "position", "m", KP_ITEM_F64, 3, n };
  kp_frame_field_def speed = { "velocity", "m/s", KP_ITEM_F32, 3, n };
  assert_ok(kp_frame_add_set(frame, "water", n, &set));
  assert_ok(kp_frame_add_field(&set->fields, &place, &position));
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t index[3] = { i % SIDE, i / SIDE % SIDE, i / (SIDE * SIDE) };
    for (int c = 0; c < 3; ++c) {
      ((double *)position->data[c])[i] = 0.02 * ((double)index[c] + 0.5);
    }
  }
  assert_ok(kp_frame_add_field(&set->fields, &speed, &velocity));
  for (uint64_t i = 0; i < n; ++i) {
    ((float *)velocity->data[0])[i] = 3.0f * (float)(i % SIDE) / SIDE;
  }
}

static void fill_mesh_and_curves(kp_frame *frame) {
  kp_test_add_roof(frame);
  kp_frame_curves *curves;
  assert_ok(kp_frame_add_curves(frame, "hair", 30, 3, &curves));
  for (int i = 0; i < 30; ++i) {
    curves->points[i] = kp_vec3_make(0.30 + 0.06 * (i / 10), 0.02 * (i % 10), 0.24);
  }
  for (uint64_t k = 0; k <= 3; ++k) {
    curves->offsets[k] = 10 * k;
  }
}

static kp_frame *make_frame(void) {
  kp_frame *frame;
  assert_ok(kp_frame_create(3, 0.1, &frame));
  frame->up_axis = 1;
  frame->domain = (kp_aabb){ { 0.0, 0.0, 0.0 }, { 0.6, 0.3, 0.3 } };
  fill_set(frame);
  fill_mesh_and_curves(frame);
  kp_frame_volume *volume;
  kp_frame_field *density;
  const uint64_t dims[3] = { 10, 10, 10 };
  assert_ok(kp_frame_add_volume(frame, "smoke", dims, &volume));
  volume->origin = kp_vec3_make(0.05, 0.2, 0.05);
  volume->spacing = 0.015;
  kp_frame_field_def def = { "density", "", KP_ITEM_F32, 1, 1000 };
  assert_ok(kp_frame_add_field(&volume->fields, &def, &density));
  for (int i = 0; i < 1000; ++i) {
    double a = i % 10 - 4.5, b = i / 10 % 10 - 4.5, c = i / 100 - 4.5;
    ((float *)density->data[0])[i] = a * a + b * b + c * c < 18.0 ? 3.0f : 0.0f;
  }
  volume->density = density->data[0];
  return frame;
}

static void a_frame_becomes_a_scene(void **state) {
  (void)state;
  int64_t before = kp_memory_bytes();
  kp_frame *frame = make_frame();
  kp_frame_scene *scene;
  assert_ok(kp_frame_scene_create(frame, NULL, 0, 0.0, &scene));
  const kp_render_scene *s = kp_frame_scene_get(scene);
  assert_int_equal(s->n_points, 1);
  assert_int_equal(s->n_meshes, 1);
  assert_int_equal(s->n_lines, 1);
  assert_int_equal(s->n_volumes, 1);
  // half the spacing, coloured by speed, positions not copied
  assert_near(s->points[0].radius, 0.01, 1e-9);
  assert_near(s->points[0].scalar[SIDE - 1], 3.0 * (SIDE - 1) / SIDE, 1e-6);
  assert_ptr_equal(s->points[0].positions.x, frame->sets[0].fields.items[0].data[0]);
  assert_non_null(s->points[0].velocities.x);
  kp_frame_scene_destroy(&scene);
  kp_frame_free(&frame);
  assert_int_equal(kp_memory_bytes(), before);
}

static void looks_go_by_name(void **state) {
  (void)state;
  kp_frame *frame = make_frame();
  kp_frame_scene *scene;
  kp_named_look looks[2] = { { "*", kp_default_look_def() }, { "water", kp_default_look_def() } };
  looks[0].look.visible = false;
  kp_text_copy(looks[1].look.color_by, sizeof looks[1].look.color_by, "speed");
  assert_ok(kp_frame_scene_create(frame, looks, 2, 0.007, &scene));
  const kp_render_scene *s = kp_frame_scene_get(scene);
  assert_true(s->points[0].look.visible);
  assert_false(s->meshes[0].look.visible);
  assert_near(s->points[0].radius, 0.007, 0.0);
  assert_non_null(s->points[0].scalar);
  kp_frame_scene_destroy(&scene);
  kp_text_copy(looks[1].look.color_by, sizeof looks[1].look.color_by, "velocty");
  assert_fails(KP_ERROR_ARGUMENT, "did you mean \"velocity\"",
               kp_frame_scene_create(frame, looks, 2, 0.0, &scene));
  assert_null(scene);
  kp_frame_free(&frame);
}

// A sheet on top of the water, with nothing but its vertices.
static void add_sheet(kp_frame *frame) {
  kp_frame_mesh *mesh;
  assert_ok(kp_frame_add_mesh(frame, "surface of water", 4, 2, &mesh));
  for (int i = 0; i < 4; ++i) {
    mesh->vertices[i] = kp_vec3_make(0.07 + 0.1 * (i % 2), 0.24, 0.07 + 0.1 * (i / 2));
  }
  const uint32_t triangles[6] = { 0, 1, 3, 0, 3, 2 };
  memcpy(mesh->triangles, triangles, sizeof triangles);
}

static kp_look_def look_of_sheet(const kp_frame *frame, const kp_named_look *looks, size_t n,
                                 float scalar[4]) {
  kp_frame_scene *scene;
  assert_ok(kp_frame_scene_create(frame, looks, n, 0.0, &scene));
  const kp_render_mesh *sheet = &kp_frame_scene_get(scene)->meshes[1];
  kp_look_def look = sheet->look;
  for (int i = 0; i < 4 && sheet->scalar != NULL; ++i) {
    scalar[i] = sheet->scalar[i];
  }
  // particles below a surface are not drawn
  assert_false(kp_frame_scene_get(scene)->points[0].look.visible);
  kp_frame_scene_destroy(&scene);
  return look;
}

// A surface without a look takes after its liquid: clear, of its colour and density; coloured by a
// field that particles or cells have where the liquid is.
static void surfaces_take_after_their_liquid(void **state) {
  (void)state;
  kp_frame *frame = make_frame();
  add_sheet(frame);
  float scalar[4] = { 0 };
  kp_look_def look = look_of_sheet(frame, NULL, 0, scalar);
  assert_true(look.water);
  const kp_vec3 blue = look.color;
  kp_named_look water = { "water", kp_default_look_def() };
  water.look.density = 7.0;
  look = look_of_sheet(frame, &water, 1, scalar);
  assert_true(look.water);
  assert_near(look.density, 7.0, 0.0);
  assert_memory_equal(&look.color, &blue, sizeof blue);
  water.look.color = kp_vec3_make(0.8, 0.2, 0.1);
  look = look_of_sheet(frame, &water, 1, scalar);
  assert_near(look.color.x, 0.8, 0.0);
  assert_true(look.water);

  // the mean of particles around a vertex: of a linear field its value, off by less than half a
  // spacing at the top, where they lie on one side
  kp_frame_set *set = &frame->sets[0];
  kp_frame_field *pressure, *depth;
  kp_frame_field_def def = { "pressure", "Pa", KP_ITEM_F32, 1, set->count };
  assert_ok(kp_frame_add_field(&set->fields, &def, &pressure));
  for (uint64_t i = 0; i < set->count; ++i) {
    ((float *)pressure->data[0])[i] = (float)((double *)set->fields.items[0].data[0])[i];
  }
  kp_text_copy(water.look.color_by, sizeof water.look.color_by, "pressure");
  look = look_of_sheet(frame, &water, 1, scalar);
  assert_false(look.water);
  for (int i = 0; i < 4; ++i) {
    assert_near(scalar[i], 0.07 + 0.1 * (i % 2), 1e-3);
  }
  // cells of a grid of the liquid's name
  kp_frame_volume *volume = &frame->volumes[0];
  kp_text_copy(volume->name, sizeof volume->name, "water");
  volume->origin = kp_vec3_make(0.0, 0.15, 0.0);
  kp_frame_field_def height = { "height", "m", KP_ITEM_F32, 1, 1000 };
  assert_ok(kp_frame_add_field(&volume->fields, &height, &depth));
  for (int i = 0; i < 1000; ++i) {
    ((float *)depth->data[0])[i] = (float)(0.15 + 0.015 * (i / 10 % 10 + 0.5));
  }
  kp_text_copy(water.look.color_by, sizeof water.look.color_by, "height");
  kp_frame_scene *scene;
  // what the particles lack is a mistake of theirs
  assert_fails(KP_ERROR_ARGUMENT, "set \"water\" has no field \"height\"",
               kp_frame_scene_create(frame, &water, 1, 0.0, &scene));
  kp_named_look own = { "surface of water", water.look };
  look = look_of_sheet(frame, &own, 1, scalar);
  for (int i = 0; i < 4; ++i) {
    assert_near(scalar[i], 0.24, 1e-6);
  }
  kp_frame_free(&frame);
}

// Of a few frames, all looks standard but those given.
static kp_aabb framed(kp_frame **frames, int n, const kp_named_look *looks, size_t n_looks) {
  kp_framing framing = { 0 };
  for (int i = 0; i < n; ++i) {
    kp_frame_scene *scene;
    assert_ok(kp_frame_scene_create(frames[i], looks, n_looks, 0.0, &scene));
    assert_ok(kp_framing_add(&framing, frames[i], kp_frame_scene_get(scene)));
    kp_frame_scene_destroy(&scene);
  }
  kp_aabb box = kp_framing_box(&framing);
  kp_framing_free(&framing);
  return box;
}

static void shift_mesh(kp_frame_mesh *mesh, double way) {
  for (uint64_t i = 0; i < mesh->n_vertices; ++i) {
    mesh->vertices[i].x += way;
  }
}

// The box is around the particles of all frames but the odd one that flew off, the hair and the
// cells with smoke; around a roof that moves, or stands near by, and not around one far away.
static void what_moves_is_framed(void **state) {
  (void)state;
  kp_frame *frames[2] = { make_frame(), make_frame() };
  kp_named_look looks[2] = { { "hair", kp_default_look_def() },
                             { "smoke", kp_default_look_def() } };
  looks[0].look.visible = looks[1].look.visible = false;
  shift_mesh(&frames[0]->meshes[0], 50.0);
  shift_mesh(&frames[1]->meshes[0], 50.0);
  double *x = frames[1]->sets[0].fields.items[0].data[0];
  for (int i = 0; i < SIDE * SIDE * SIDE; ++i) {
    x[i] += 0.3;
  }
  x[7] = 40.0;
  kp_aabb box = framed(frames, 2, looks, 2);
  assert_near(box.min.x, 0.0, 1e-9);
  assert_between(box.max.x, 0.5, 0.8);
  assert_near(box.max.y, 0.24, 1e-9);
  // smoke fills a ball in the middle of its cells; hair lies on the ground
  box = framed(frames, 1, looks, 0);
  assert_near(box.max.y, 0.335, 1e-6);
  assert_near(box.max.x, 0.42, 1e-6);
  // a roof that moved counts wherever it is, one that stands where it is near
  shift_mesh(&frames[1]->meshes[0], 1.0);
  assert_true(framed(frames, 2, looks, 2).max.x > 50.0);
  shift_mesh(&frames[1]->meshes[0], -51.0);
  shift_mesh(&frames[0]->meshes[0], -50.0);
  assert_near(framed(frames, 1, looks, 2).max.x, 0.5, 1e-9);
  kp_frame_free(&frames[0]);
  kp_frame_free(&frames[1]);
}

static void render_frame(kp_picture *picture) {
  kp_frame *frame = make_frame();
  kp_frame_scene *scene;
  assert_ok(kp_frame_scene_create(frame, NULL, 0, 0.0, &scene));
  kp_render_def def = kp_default_render_def();
  def.width = 192;
  def.height = 108;
  def.samples = 4;
  def.box = true;
  assert_ok(kp_render_frame(kp_frame_scene_get(scene), &def, picture));
  kp_frame_scene_destroy(&scene);
  kp_frame_free(&frame);
}

static void picture_is_as_it_was(void **state) {
  (void)state;
  kp_picture picture = { 0 };
  render_frame(&picture);
  kp_test_golden(&picture, "frame");
  kp_picture_free(&picture);
}

static void alpha_is_straight(void **state) {
  (void)state;
  kp_picture picture = { 0 };
  assert_ok(kp_picture_resize(&picture, 2, 1));
  const float half[8] = { 0.25f, 0.25f, 0.25f, 0.5f, 0.0f, 0.0f, 0.0f, 0.0f };
  memcpy(picture.rgba, half, sizeof half);
  kp_image image = { 0 };
  assert_ok(kp_picture_encode(&picture, 0.0, true, &image));
  assert_int_equal(image.n_channels, 4);
  assert_int_equal(image.pixels[3], 128);
  kp_rgb expected = kp_picture_tone_map(kp_rgb_make(0.5f, 0.5f, 0.5f), 0.0);
  assert_near(image.pixels[0], 255.0 * (double)kp_srgb_encode(expected.r), 1.0);
  assert_int_equal(image.pixels[7], 0);
  kp_image_free(&image);
  kp_picture_free(&picture);
}

static void make_image(kp_image *image, int width, int height, int channels) {
  assert_ok(kp_image_create(width, height, channels, image));
  for (int i = 0; i < width * height * channels; ++i) {
    image->pixels[i] = (uint8_t)(i * 7);
  }
}

static void a_missing_ffmpeg_is_said(void **state) {
  (void)state;
  kp_video_def def = kp_default_video_def();
  kp_video *video;
  def.path = "x.mp4";
  def.width = def.height = 32;
  def.program = "no-such-program-here";
  assert_false(kp_video_available(def.program));
  assert_fails(KP_ERROR_BACKEND, "no-such-program-here", kp_video_open(&def, &video));
  assert_null(video);
  def.width = 0;
  assert_fails(KP_ERROR_ARGUMENT, "0 x 32", kp_video_open(&def, &video));
}

// A program that ends at once: the pipe breaks, no signal kills us, the failure is reported.
static void a_failing_program_is_an_error(void **state) {
  (void)state;
  if (!kp_video_available("/bin/false")) {
    kp_test_skip("there is no /bin/false");
  }
  kp_video_def def = kp_default_video_def();
  kp_video *video;
  def.path = "x.mp4";
  def.width = def.height = 256;
  def.program = "/bin/false";
  kp_image image = { 0 };
  make_image(&image, 256, 256, 3);
  assert_ok(kp_video_open(&def, &video));
  kp_result result = KP_OK;
  for (int i = 0; i < 20 && result == KP_OK; ++i) {
    result = kp_video_add(video, &image);
  }
  assert_int_equal(result, KP_ERROR_IO);
  assert_fails(KP_ERROR_IO, "ffmpeg failed", kp_video_close(&video));
  assert_null(video);
  kp_image_free(&image);
}

static void ffmpeg_makes_a_video(void **state) {
  if (!kp_video_available(NULL)) {
    kp_test_skip("ffmpeg is not installed: no video was made");
  }
  const char *path = kp_test_path(*state, "-odd name: 1.mp4");
  kp_video_def def = kp_default_video_def();
  kp_video *video;
  def.path = path;
  def.width = 65;  // odd: H.264 wants even sides
  def.height = 47;
  kp_image image = { 0 };
  make_image(&image, 65, 47, 4);
  assert_ok(kp_video_open(&def, &video));
  for (int i = 0; i < 5; ++i) {
    assert_ok(kp_video_add(video, &image));
  }
  kp_image wrong = { 0 };
  make_image(&wrong, 8, 8, 3);
  assert_fails(KP_ERROR_ARGUMENT, "8 x 8", kp_video_add(video, &wrong));
  assert_ok(kp_video_close(&video));
  size_t size;
  char *bytes = kp_test_read_file(path, &size);
  assert_true(size > 500 && memcmp(bytes + 4, "ftyp", 4) == 0);
  kp_free(bytes);
  kp_image_free(&image);
  kp_image_free(&wrong);
  // ffmpeg's own words reach the caller
  def.path = kp_test_path(*state, "no/such/folder/x.mp4");
  assert_ok(kp_video_open(&def, &video));
  assert_fails(KP_ERROR_IO, "No such file", kp_video_close(&video));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_frame_becomes_a_scene),
    cmocka_unit_test(looks_go_by_name),
    cmocka_unit_test(what_moves_is_framed),
    cmocka_unit_test(surfaces_take_after_their_liquid),
    cmocka_unit_test(picture_is_as_it_was),
    cmocka_unit_test(alpha_is_straight),
    cmocka_unit_test(a_missing_ffmpeg_is_said),
    cmocka_unit_test(a_failing_program_is_an_error),
    cmocka_unit_test_setup_teardown(ffmpeg_makes_a_video, kp_test_folder_make,
                                    kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
