#include "support/test.h"

#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 6
#define MOST 6.0  // of 255, of a block's mean

// Largest difference of the means over blocks: moves of single pixels between machines pass, wrong
// light or colour does not.
static double block_difference(const kp_image *a, const kp_image *b) {
  double worst = 0.0;
  for (int y = 0; y + BLOCK <= a->height; y += BLOCK) {
    for (int x = 0; x + BLOCK <= a->width; x += BLOCK) {
      for (int c = 0; c < 3; ++c) {
        double sum = 0.0;
        for (int k = 0; k < BLOCK * BLOCK; ++k) {
          int i = 3 * ((y + k / BLOCK) * a->width + x + k % BLOCK) + c;
          sum += (double)a->pixels[i] - (double)b->pixels[i];
        }
        worst = kp_test_most(worst, fabs(sum) / (BLOCK * BLOCK));
      }
    }
  }
  return worst;
}

static void leave_pictures(const kp_image *now, const kp_image *before, const char *name) {
  const char *folder = getenv("KELPIE_BINARY_DIR");
  char path[4096];
  kp_image difference;
  assert_ok(kp_image_create(now->width, now->height, 3, &difference));
  for (int i = 0; i < 3 * now->width * now->height; ++i) {
    int d = 128 + 8 * ((int)now->pixels[i] - (int)before->pixels[i]);
    difference.pixels[i] = (uint8_t)(d < 0 ? 0 : d > 255 ? 255 : d);
  }
  folder = folder != NULL ? folder : ".";
  (void)snprintf(path, sizeof path, "%s/%s_now.png", folder, name);
  assert_ok(kp_png_write(path, now));
  print_message("the picture of now is in %s\n", path);
  (void)snprintf(path, sizeof path, "%s/%s_difference.png", folder, name);
  assert_ok(kp_png_write(path, &difference));
  print_message("its difference is in %s\n", path);
  kp_image_free(&difference);
}

void kp_test_golden(const kp_picture *picture, const char *name) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/tests/images/%s.png", kp_test_source_dir(), name);
  if (getenv("KELPIE_UPDATE_IMAGES") != NULL) {
    assert_ok(kp_picture_write_png(picture, 0.0, false, path));
  }
  kp_image now = { 0 }, before = { 0 };
  assert_ok(kp_picture_encode(picture, 0.0, false, &now));
  assert_ok(kp_png_read(path, &before));
  assert_int_equal(before.width, now.width);
  assert_int_equal(before.height, now.height);
  assert_int_equal(before.n_channels, 3);
  double difference = block_difference(&now, &before);
  if (difference > MOST) {
    leave_pictures(&now, &before, name);
  }
  assert_between(difference, 0.0, MOST);
  kp_image_free(&now);
  kp_image_free(&before);
}
