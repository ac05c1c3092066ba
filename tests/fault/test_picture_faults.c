// Each allocation and each call of the disk fails in turn on the way from a frame to a picture and
// back, and of a chart.
#include "support/test.h"

#include <string.h>

#include "base/memory.h"
#include "io/files.h"
#include "io/plot.h"
#include "io/png.h"
#include "render/scene_from_frame.h"

#include "support/faults.h"
#include "support/frames.h"

#define WIDTH 32
#define HEIGHT 18

// ---- images

static kp_result write_image(const char *path, int bright) {
  kp_image image;
  KP_TRY(kp_image_create(WIDTH, HEIGHT, 3, &image));
  for (int i = 0; i < 3 * WIDTH * HEIGHT; ++i) {
    image.pixels[i] = (uint8_t)(bright * i);
  }
  kp_result result = kp_png_write(path, &image);
  kp_image_free(&image);
  return result;
}

static void put_image(void *folder) {
  assert_ok(write_image(kp_test_path(folder, "image.png"), 1));
}

static kp_result replace_image(void *folder) {
  return write_image(kp_test_path(folder, "image.png"), 3);
}

static kp_result read_image(void *folder) {
  kp_image image;
  KP_TRY(kp_png_read(kp_test_path(folder, "image.png"), &image));
  assert_int_equal(image.pixels[200], 200);
  kp_image_free(&image);
  return KP_OK;
}

static void test_images(void **state) {
  kp_faults faults = { .folder = *state, .prepare = put_image, .user = *state };
  faults.work = replace_image;
  kp_faults_tried tried = kp_faults_try(&faults);
  // open, write, flush, sync, close, rename, sync of the folder
  assert_true(tried.n_disk_calls >= 7 && tried.n_allocations >= 4);
  faults.work = read_image;
  tried = kp_faults_try(&faults);
  assert_true(tried.n_disk_calls >= 2 && tried.n_allocations >= 2);
}

// ---- charts

static kp_result draw_plot(void *folder) {
  static const double x[] = { 0, 1, 2, 3 }, y[] = { 1, 0.1, 10, 1000 };
  kp_plot_curve curve = { .name = "energy", .x = x, .y = y, .n = 4 };
  kp_plot_panel panels[2] = { { .title = "plain", .curves = &curve, .n_curves = 1 },
                              { .title = "log", .curves = &curve, .n_curves = 1, .is_log = true } };
  const kp_plot plot = { .x_label = "time", .panels = panels, .n_panels = 2 };
  kp_text text = { 0 };
  kp_result result = kp_plot_svg(&plot, &text);
  if (result == KP_OK) {
    result = kp_file_write(kp_test_path(folder, "plot.svg"), text.data, text.count);
  }
  kp_text_free(&text);
  KP_TRY(result);
  kp_image image;
  KP_TRY(kp_plot_image(&plot, &image));
  result = kp_png_write(kp_test_path(folder, "plot.png"), &image);
  kp_image_free(&image);
  return result;
}

static void test_charts(void **state) {
  kp_faults faults = { .folder = *state, .work = draw_plot, .user = *state };
  kp_faults_tried tried = kp_faults_try(&faults);
  assert_true(tried.n_disk_calls >= 14 && tried.n_allocations >= 8);
}

// ---- a frame with one object of every kind, rendered

static void fill_set(kp_frame *frame) {
  kp_frame_set *set;
  assert_ok(kp_frame_add_set(frame, "water", 8, &set));
  void **position = kp_test_add_field(&set->fields, "position", KP_ITEM_F64, 3, 8);
  for (int i = 0; i < 8; ++i) {
    for (int c = 0; c < 3; ++c) {
      ((double *)position[c])[i] = 0.1 + 0.05 * (i >> c & 1);
    }
  }
}

static void fill_mesh_and_curves(kp_frame *frame) {
  kp_test_add_roof(frame);
  kp_frame_curves *curves;
  assert_ok(kp_frame_add_curves(frame, "hair", 4, 1, &curves));
  for (int i = 0; i < 4; ++i) {
    curves->points[i] = kp_vec3_make(0.3, 0.05 * i, 0.25);
  }
  curves->offsets[1] = 4;
}

static kp_frame *make_frame(void) {
  kp_frame *frame;
  assert_ok(kp_frame_create(3, 0.1, &frame));
  frame->up_axis = 1;
  frame->domain = (kp_aabb){ { 0.0, 0.0, 0.0 }, { 0.6, 0.3, 0.3 } };
  fill_set(frame);
  fill_mesh_and_curves(frame);
  kp_frame_volume *volume;
  const uint64_t dims[3] = { 4, 4, 4 };
  assert_ok(kp_frame_add_volume(frame, "smoke", dims, &volume));
  volume->origin = kp_vec3_make(0.05, 0.2, 0.05);
  volume->spacing = 0.03;
  float *density = kp_test_add_field(&volume->fields, "density", KP_ITEM_F32, 1, 64)[0];
  for (int i = 0; i < 64; ++i) {
    density[i] = 3.0f;
  }
  volume->density = density;
  return frame;
}

typedef struct picture_work {
  const char *folder;
  const kp_frame *frame;
} picture_work;

static kp_result render(const picture_work *w, kp_frame_scene *scene) {
  kp_render_def def = kp_default_render_def();
  def.width = WIDTH;
  def.height = HEIGHT;
  def.samples = 1;
  kp_picture picture = { 0 };
  kp_result result = kp_render_frame(kp_frame_scene_get(scene), &def, &picture);
  if (result == KP_OK) {
    result = kp_picture_write_png(&picture, 0.0, false, kp_test_path(w->folder, "frame.png"));
  }
  kp_picture_free(&picture);
  return result;
}

static kp_result render_frame(void *user) {
  const picture_work *w = user;
  kp_frame_scene *scene;
  KP_TRY(kp_frame_scene_create(w->frame, NULL, 0, 0.0, &scene));
  kp_result result = render(w, scene);
  kp_frame_scene_destroy(&scene);
  return result;
}

static void test_render(void **state) {
  kp_frame *frame = make_frame();
  picture_work w = { .folder = *state, .frame = frame };
  kp_faults faults = { .folder = *state, .work = render_frame, .user = &w };
  kp_faults_tried tried = kp_faults_try(&faults);
  print_message("%lld allocations, %lld calls of the disk\n", (long long)tried.n_allocations,
                (long long)tried.n_disk_calls);
  assert_true(tried.n_disk_calls >= 7 && tried.n_allocations > 20);
  kp_frame_free(&frame);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_images, kp_faults_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_charts, kp_faults_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_render, kp_faults_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
