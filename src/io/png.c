// Through libpng's simplified interface: no jumps, errors as text.
#include "io/png.h"

#include <string.h>

#include <png.h>

#include "base/memory.h"
#include "io/files.h"

#define SIDE_MOST 16384
#define FILE_BYTES_MOST ((size_t)1 << 30)

kp_result kp_image_create(int width, int height, int n_channels, kp_image *out) {
  *out = (kp_image){ 0 };
  if (width < 1 || height < 1 || width > SIDE_MOST || height > SIDE_MOST ||
      (n_channels != 3 && n_channels != 4)) {
    return kp_fail(KP_ERROR_ARGUMENT, "an image of %d x %d pixels with %d channels cannot be made",
                   width, height, n_channels);
  }
  size_t size = (size_t)width * (size_t)height * (size_t)n_channels;
  uint8_t *pixels = kp_alloc(size, KP_MEMORY_IO);
  if (pixels == NULL) {
    return KP_ERROR_MEMORY;
  }
  *out = (kp_image){ .width = width, .height = height, .n_channels = n_channels, .pixels = pixels };
  return KP_OK;
}

void kp_image_free(kp_image *image) {
  kp_free(image->pixels);
  *image = (kp_image){ 0 };
}

kp_result kp_png_encode(const kp_image *image, uint8_t **out, size_t *n_bytes) {
  png_image png = { .version = PNG_IMAGE_VERSION,
                    .width = (png_uint_32)image->width,
                    .height = (png_uint_32)image->height,
                    .format = image->n_channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB };
  // a buffer that is always large enough spares the pass that only counts
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  uint8_t *bytes = kp_alloc(size, KP_MEMORY_IO);
  if (bytes == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (!png_image_write_to_memory(&png, bytes, &size, 0, image->pixels, 0, NULL)) {
    kp_free(bytes);
    return kp_fail(KP_ERROR_INTERNAL, "PNG of %d x %d pixels: %s", image->width, image->height,
                   png.message);
  }
  *out = bytes;
  *n_bytes = size;
  return KP_OK;
}

kp_result kp_png_write(const char *path, const kp_image *image) {
  uint8_t *bytes = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_png_encode(image, &bytes, &n_bytes));
  kp_result result = kp_file_write(path, bytes, n_bytes);
  kp_free(bytes);
  return result;
}

kp_result kp_png_read(const char *path, kp_image *out) {
  *out = (kp_image){ 0 };
  char *bytes = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_file_read(path, FILE_BYTES_MOST, &bytes, &n_bytes));
  kp_result result = KP_OK;
  png_image png = { .version = PNG_IMAGE_VERSION };
  if (!png_image_begin_read_from_memory(&png, bytes, n_bytes)) {
    result = kp_fail(KP_ERROR_FORMAT, "%s: not a PNG image (%s)", path, png.message);
    goto done;
  }
  if (png.width > SIDE_MOST || png.height > SIDE_MOST) {
    result = kp_fail(KP_ERROR_FORMAT, "%s: more than %d pixels a side", path, SIDE_MOST);
    goto done;
  }
  png.format = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  int n_channels = png.format == PNG_FORMAT_RGBA ? 4 : 3;
  KP_TRY_GOTO(result, kp_image_create((int)png.width, (int)png.height, n_channels, out), done);
  if (!png_image_finish_read(&png, NULL, out->pixels, 0, NULL)) {
    kp_image_free(out);
    result = kp_fail(KP_ERROR_FORMAT, "%s: the image is damaged (%s)", path, png.message);
  }
done:
  png_image_free(&png);
  kp_free(bytes);
  return result;
}
