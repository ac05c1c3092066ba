// HDF5 files against h5dump, which reads them with the library of the format's authors: trees of
// chunks of any depth, a last chunk that is not full, empty arrays, every type of number.
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/files.h"
#include "io/hdf_writer.h"
#include "par/parallel.h"

static double number_at(uint64_t i) {
  return (double)(i * 2654435761u % 100003) - 50000.0;
}

static void fill(const kp_array_source *source, uint64_t first, size_t n, void *out) {
  const size_t size = kp_item_size(source->type), c = (size_t)source->n_components;
  for (size_t i = 0; i < n * c; ++i) {
    double d = number_at(first * c + i);
    float f = (float)d;
    uint8_t u8 = (uint8_t)(int64_t)d;
    int32_t i32 = (int32_t)d;
    int64_t i64 = (int64_t)d * 100003;
    const void *const from[KP_ITEM_TYPE_COUNT] = {
      [KP_ITEM_F32] = &f,   [KP_ITEM_F64] = &d,   [KP_ITEM_U8] = &u8,  [KP_ITEM_I32] = &i32,
      [KP_ITEM_U32] = &i32, [KP_ITEM_I64] = &i64, [KP_ITEM_U64] = &i64
    };
    memcpy((char *)out + i * size, from[source->type], size);
  }
}

static kp_array_source make_source(kp_item_type type, int n_components, uint64_t n) {
  return (kp_array_source){ .name = "numbers",
                            .unit = "m/s",
                            .type = type,
                            .n_components = n_components,
                            .n_tuples = n,
                            .fill = fill };
}

static void write_file(const char *folder, const kp_hdf_shape *shape, const kp_array_source *source,
                       bool is_packed) {
  kp_hdf hdf;
  kp_hdf_group root = { 0 }, group = { 0 };
  const double three[3] = { 1.0, 2.5, -3.0 };
  assert_ok(kp_hdf_begin(&hdf, kp_test_path(folder, "numbers.h5"), is_packed));
  hdf.chunk_bytes = 256;
  kp_hdf_numbers(&hdf, &group, "three", KP_ITEM_F64, three, 3);
  kp_hdf_text(&hdf, &group, "said", "a word");
  kp_hdf_dataset(&hdf, &group, "numbers", shape, source);
  kp_hdf_end_group(&hdf, &root, "group", &group);
  assert_ok(kp_hdf_commit(&hdf, &root));
}

static bool has_h5dump(void) {
  return system("command -v h5dump >/dev/null 2>&1") == 0;
}

// The whole dataset as h5dump writes it, byte by byte against what was filled in.
static void check_file(const char *folder, const kp_array_source *source) {
  char command[2048], *bytes;
  const char *path = kp_test_path(folder, "numbers.h5");
  const char *raw = kp_test_path(folder, "raw");
  size_t n_bytes, size = kp_item_size(source->type);
  (void)snprintf(command, sizeof command,
                 "h5dump -d /group/numbers -b NATIVE -o '%s' '%s' >/dev/null 2>&1", raw, path);
  assert_int_equal(system(command), 0);
  assert_ok(kp_file_read(raw, (size_t)1 << 30, &bytes, &n_bytes));
  size_t expected = (size_t)source->n_tuples * (size_t)source->n_components * size;
  char *truth = kp_alloc(expected + 1, KP_MEMORY_IO);
  assert_non_null(truth);
  fill(source, 0, (size_t)source->n_tuples, truth);
  assert_int_equal(n_bytes, expected);
  assert_memory_equal(bytes, truth, expected);
  kp_free(truth);
  kp_free(bytes);
}

static void test_chunks(void **state) {
  if (!has_h5dump()) {
    kp_test_skip("h5dump is not installed: HDF5 files were not read");
  }
  // one chunk, a node of chunks, two levels, three levels; full and not full at the end
  static const uint64_t sizes[] = { 1, 31, 32, 33, 64 * 32, 64 * 32 + 1, 64 * 64 * 32 + 77 };
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    const kp_array_source source = make_source(KP_ITEM_F64, 1, sizes[i]);
    write_file(*state, &(kp_hdf_shape){ 1, { sizes[i] } }, &source, true);
    check_file(*state, &source);
    write_file(*state, &(kp_hdf_shape){ 1, { sizes[i] } }, &source, false);
    check_file(*state, &source);
  }
}

static void test_types(void **state) {
  if (!has_h5dump()) {
    kp_test_skip("h5dump is not installed: HDF5 files were not read");
  }
  for (int type = 0; type < KP_ITEM_TYPE_COUNT; ++type) {
    const kp_array_source flat = make_source((kp_item_type)type, 3, 1001);
    write_file(*state, &(kp_hdf_shape){ 2, { 1001, 3 } }, &flat, true);
    check_file(*state, &flat);
    const kp_array_source box = make_source((kp_item_type)type, 3, (uint64_t)7 * 5 * 4);
    write_file(*state, &(kp_hdf_shape){ 4, { 7, 5, 4, 3 } }, &box, true);
    check_file(*state, &box);
  }
}

static void test_heads(void **state) {
  if (!has_h5dump()) {
    kp_test_skip("h5dump is not installed: HDF5 files were not read");
  }
  const char *path = kp_test_path(*state, "numbers.h5"), *said = kp_test_path(*state, "said");
  const kp_array_source none = make_source(KP_ITEM_F32, 3, 0);
  char command[2048], *text;
  size_t n;
  write_file(*state, &(kp_hdf_shape){ 2, { 0, 3 } }, &none, true);
  (void)snprintf(command, sizeof command, "h5dump '%s' >'%s' 2>&1", path, said);
  assert_int_equal(system(command), 0);
  assert_ok(kp_file_read(said, 1 << 20, &text, &n));
  assert_non_null(strstr(text, "( 0, 3 )"));
  assert_non_null(strstr(text, "1, 2.5, -3"));
  assert_non_null(strstr(text, "\"a word\""));
  assert_non_null(strstr(text, "\"m/s\""));
  kp_free(text);
}

// Without any reader: the same bytes for any number of threads.
static void test_threads(void **state) {
  const kp_array_source source = make_source(KP_ITEM_F32, 3, 50000);
  uint64_t hashes[3];
  for (int i = 0; i < 3; ++i) {
    kp_parallel_set_threads(1 + i);
    write_file(*state, &(kp_hdf_shape){ 2, { 50000, 3 } }, &source, true);
    assert_ok(kp_file_hash(kp_test_path(*state, "numbers.h5"), &hashes[i]));
  }
  kp_parallel_set_threads(0);
  assert_true(hashes[0] == hashes[1] && hashes[1] == hashes[2]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_chunks, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_types, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_heads, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_threads, kp_test_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
