// The frame and checkpoint container: what is written comes back, and nothing else is believed.
#include "support/test.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/hash.h"
#include "base/memory.h"
#include "io/container.h"
#include "io/container_format.h"
#include "io/files.h"
#include "par/parallel.h"

static const kp_container_head test_head = { .layout_hash = 0x0123456789abcdefull,
                                             .frame = 12,
                                             .step = 345,
                                             .time = 0.5,
                                             .kind = 1,
                                             .real_size = 4,
                                             .build = "test build" };

// One section of every type, one empty, from fixed numbers.
typedef struct small_file {
  float f32[5];
  double f64[4];
  uint8_t u8[7];
  int32_t i32[3];
  uint32_t u32[3];
  int64_t i64[2];
  uint64_t u64[2];
  kp_section sections[8];
} small_file;

static void make_small(small_file *s) {
  *s = (small_file){ .f32 = { 1.5f, -2.0f, 0.0f, 3e30f, -0.0f },
                     .f64 = { 1e-300, 0.1, -7.0, 1e300 },
                     .u8 = { 0, 1, 2, 3, 254, 255, 9 },
                     .i32 = { INT32_MIN, -1, INT32_MAX },
                     .u32 = { 0, 1, UINT32_MAX },
                     .i64 = { INT64_MIN, INT64_MAX },
                     .u64 = { 1, UINT64_MAX } };
  kp_section sections[8] = {
    { .name = "set/a/position/x", .unit = "m", .type = KP_ITEM_F32, .count = 5, .data = s->f32 },
    { .name = "set/a/position/y", .unit = "m", .type = KP_ITEM_F64, .count = 4, .data = s->f64 },
    { .name = "bytes", .type = KP_ITEM_U8, .count = 7, .data = s->u8 },
    { .name = "i32", .type = KP_ITEM_I32, .count = 3, .data = s->i32 },
    { .name = "u32", .type = KP_ITEM_U32, .count = 3, .data = s->u32 },
    { .name = "i64", .unit = "", .type = KP_ITEM_I64, .count = 2, .data = s->i64 },
    { .name = "u64", .unit = "", .type = KP_ITEM_U64, .count = 2, .data = s->u64 },
    { .name = "empty", .unit = "kg/m^3", .type = KP_ITEM_F64, .count = 0, .data = NULL },
  };
  memcpy(s->sections, sections, sizeof sections);
}

static void assert_small(kp_container *container, const small_file *s) {
  assert_int_equal(kp_container_count(container), 8);
  for (size_t i = 0; i < 8; ++i) {
    const kp_section *wanted = &s->sections[i];
    const kp_section *found = kp_container_find(container, wanted->name);
    assert_non_null(found);
    assert_ptr_equal(found, kp_container_section(container, i));
    assert_string_equal(found->unit, wanted->unit);
    assert_int_equal(found->type, wanted->type);
    assert_int_equal(found->count, wanted->count);
    uint64_t items[8];
    assert_ok(kp_container_read(container, found, 0, found->count, items));
    assert_memory_equal(items, wanted->data != NULL ? wanted->data : items,
                        (size_t)wanted->count * kp_item_size(wanted->type));
  }
}

static char *write_small(const char *path, size_t *size) {
  small_file s;
  make_small(&s);
  assert_ok(kp_container_write(path, &test_head, s.sections, 8));
  return kp_test_read_file(path, size);
}

static void test_round_trip(void **state) {
  const char *path = kp_test_path(*state, "small.kpf");
  small_file s;
  make_small(&s);
  assert_ok(kp_container_write(path, &test_head, s.sections, 8));

  kp_container *container;
  assert_ok(kp_container_open(path, &container));
  const kp_container_head *head = kp_container_get_head(container);
  assert_int_equal(head->layout_hash, test_head.layout_hash);
  assert_int_equal(head->frame, 12);
  assert_int_equal(head->step, 345);
  assert_true(head->time == 0.5);
  assert_int_equal(head->kind, 1);
  assert_int_equal(head->real_size, 4);
  assert_string_equal(head->build, "test build");
  assert_small(container, &s);
  assert_null(kp_container_find(container, "set/a/position/z"));
  const kp_section *section = kp_container_find(container, "i32");
  assert_int_equal(section->checksum, kp_hash_bytes(s.i32, sizeof s.i32, 0));
  int32_t two[2];
  assert_ok(kp_container_read(container, section, 1, 2, two));
  assert_int_equal(two[1], INT32_MAX);
  assert_fails(KP_ERROR_ARGUMENT, "has 3 items", kp_container_read(container, section, 2, 2, two));
  assert_fails(KP_ERROR_ARGUMENT, "has 3 items",
               kp_container_read(container, section, UINT64_MAX, 2, two));
  kp_container_close(&container);
  assert_null(container);
}

static void test_no_sections(void **state) {
  const char *path = kp_test_path(*state, "none.kpf");
  assert_ok(kp_container_write(path, &test_head, NULL, 0));
  kp_container *container;
  assert_ok(kp_container_open(path, &container));
  assert_int_equal(kp_container_count(container), 0);
  assert_null(kp_container_find(container, "x"));
  kp_container_close(&container);
}

// Smooth, random and constant data over several chunks; the last chunk is not whole.
enum { LARGE = 3 * 262144 + 1000 };  // doubles: three chunks of 2 MiB and a bit

static void fill_large(double *smooth, uint64_t *noise, float *zero) {
  for (size_t i = 0; i < LARGE; ++i) {
    smooth[i] = sin(1e-4 * (double)i);
    noise[i] = kp_hash_mix(i);
    zero[i] = 0.0f;
  }
}

static void test_many_chunks(void **state) {
  const char *path = kp_test_path(*state, "large.kpf");
  double *smooth = kp_alloc(LARGE * sizeof *smooth, KP_MEMORY_TEST);
  uint64_t *noise = kp_alloc(LARGE * sizeof *noise, KP_MEMORY_TEST);
  float *zero = kp_alloc(LARGE * sizeof *zero, KP_MEMORY_TEST);
  double *back = kp_alloc(LARGE * sizeof *back, KP_MEMORY_TEST);
  fill_large(smooth, noise, zero);
  const kp_section sections[] = {
    { .name = "smooth", .unit = "m", .type = KP_ITEM_F64, .count = LARGE, .data = smooth },
    { .name = "noise", .type = KP_ITEM_U64, .count = LARGE, .data = noise },
    { .name = "zero", .type = KP_ITEM_F32, .count = LARGE, .data = zero },
  };

  // the bytes do not depend on the number of threads
  uint64_t hashes[3];
  for (int i = 0; i < 3; ++i) {
    kp_parallel_set_threads(1 + i);
    assert_ok(kp_container_write(path, &test_head, sections, 3));
    assert_ok(kp_file_hash(path, &hashes[i]));
  }
  kp_parallel_set_threads(0);
  assert_int_equal(hashes[0], hashes[1]);
  assert_int_equal(hashes[0], hashes[2]);
  uint64_t size;
  assert_ok(kp_file_size(path, &size));
  assert_true(size < LARGE * 20 * 9 / 10);

  kp_container *container;
  assert_ok(kp_container_open(path, &container));
  for (size_t i = 0; i < 3; ++i) {
    const kp_section *section = kp_container_section(container, i);
    assert_ok(kp_container_read(container, section, 0, LARGE, back));
    assert_memory_equal(back, sections[i].data, LARGE * kp_item_size(section->type));
  }

  // parts that begin, end, or lie on chunk borders
  static const uint64_t parts[][2] = { { 0, 1 },           { 262143, 2 },
                                       { 262144, 262144 }, { 100, 3 * 262144 },
                                       { 786432, 1000 },   { LARGE - 1, 1 },
                                       { 5, 0 },           { LARGE, 0 } };
  const kp_section *section = kp_container_find(container, "smooth");
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    memset(back, 0xa5, LARGE * sizeof *back);
    assert_ok(kp_container_read(container, section, parts[i][0], parts[i][1], back));
    assert_memory_equal(back, smooth + parts[i][0], parts[i][1] * sizeof *back);
    // nothing behind the part is touched
    if (parts[i][1] < LARGE) {
      assert_int_equal(((const uint8_t *)(back + parts[i][1]))[0], 0xa5);
    }
  }
  kp_container_close(&container);
  kp_free(smooth);
  kp_free(noise);
  kp_free(zero);
  kp_free(back);
}

static void test_truncated(void **state) {
  size_t size;
  char *bytes = write_small(kp_test_path(*state, "small.kpf"), &size);
  for (size_t n = 0; n < size; ++n) {
    // a block of its own, so that a sanitizer sees every read beyond the end
    char *cut = kp_alloc(n, KP_MEMORY_TEST);
    memcpy(cut, bytes, n);
    kp_container *container;
    assert_fails(KP_ERROR_FORMAT, n == 0 ? "is empty" : "cut short",
                 kp_container_parse(cut, n, &container));
    assert_null(container);
    kp_free(cut);
  }
  kp_free(bytes);
}

// Opens and reads everything; KP_OK only when all of it was believed.
static kp_result read_all(const char *bytes, size_t size) {
  kp_container *container;
  KP_TRY(kp_container_parse(bytes, size, &container));
  kp_result result = KP_OK;
  for (size_t i = 0; i < kp_container_count(container) && result == KP_OK; ++i) {
    const kp_section *section = kp_container_section(container, i);
    uint64_t items[8];
    assert_true(section->count <= 8);
    result = kp_container_read(container, section, 0, section->count, items);
  }
  kp_container_close(&container);
  return result;
}

static void test_flipped(void **state) {
  size_t size;
  char *bytes = write_small(kp_test_path(*state, "small.kpf"), &size);
  assert_ok(read_all(bytes, size));
  static const int masks[] = { 0x01, 0x10, 0x80, 0xff };
  for (size_t i = 0; i < size; ++i) {
    for (size_t k = 0; k < sizeof masks / sizeof masks[0]; ++k) {
      bytes[i] = (char)(bytes[i] ^ masks[k]);
      // every byte is covered by a checksum or compared: no change is harmless
      assert_int_equal(read_all(bytes, size), KP_ERROR_FORMAT);
      bytes[i] = (char)(bytes[i] ^ masks[k]);
    }
  }
  assert_ok(read_all(bytes, size));
  kp_free(bytes);
}

static void assert_refused(const char *path, const char *words, const void *bytes, size_t size) {
  kp_test_write_file(path, bytes, size);
  kp_container *container;
  assert_fails(KP_ERROR_FORMAT, words, kp_container_open(path, &container));
  assert_holds(kp_last_error(), path);
  assert_null(container);
}

static void test_sentences(void **state) {
  const char *path = kp_test_path(*state, "bad.kpf");
  size_t size;
  char *bytes = write_small(path, &size);
  assert_refused(path, "is empty", "", 0);
  assert_refused(path, "not a Kelpie", "P6\n640 480\n255\n", 15);
  assert_refused(path, "cut short, only 100 bytes", bytes, 100);
  assert_refused(path, "cut short", bytes, size - 1);
  char *longer = kp_alloc(size + 3, KP_MEMORY_TEST);
  memcpy(longer, bytes, size);
  memset(longer + size, 0, 3);
  assert_refused(path, "3 bytes follow", longer, size + 3);
  kp_free(longer);

  kp_disk_head head;
  memcpy(&head, bytes, sizeof head);
  head.version = 7;
  memcpy(bytes, &head, sizeof head);
  assert_refused(path, "format version 7, this program reads 1", bytes, size);
  head.version = KP_CONTAINER_VERSION;
  head.endian = KP_CONTAINER_ENDIAN_SWAPPED;
  memcpy(bytes, &head, sizeof head);
  assert_refused(path, "other byte order", bytes, size);
  head.endian = KP_CONTAINER_ENDIAN;
  head.frame += 1;
  memcpy(bytes, &head, sizeof head);
  assert_refused(path, "damaged (head)", bytes, size);
  kp_free(bytes);

  kp_container *container;
  assert_fails(KP_ERROR_IO, "cannot open",
               kp_container_open(kp_test_path(*state, "missing.kpf"), &container));
  assert_fails(KP_ERROR_FORMAT, "not a file", kp_container_open(*state, &container));
}

// Puts changed head and table back with right checksums, as a hostile writer would.
static void seal(char *bytes, kp_disk_head *head) {
  size_t table_size = (size_t)(head->file_bytes - KP_CONTAINER_MAGIC_SIZE - head->table_offset);
  head->table_checksum = kp_hash_bytes(bytes + head->table_offset, table_size, 0);
  head->checksum = kp_hash_bytes(head, offsetof(kp_disk_head, checksum), 0);
  memcpy(bytes, head, sizeof *head);
}

static void test_unknown_type(void **state) {
  size_t size;
  char *bytes = write_small(kp_test_path(*state, "small.kpf"), &size);
  kp_disk_head head;
  memcpy(&head, bytes, sizeof head);
  kp_disk_section record;
  char *place = bytes + head.table_offset + 2 * sizeof record;
  memcpy(&record, place, sizeof record);
  assert_string_equal(record.name, "bytes");
  record.type = 1000;
  memcpy(place, &record, sizeof record);
  seal(bytes, &head);

  // the section of the future is not listed, the ones behind it are still found
  kp_container *container;
  assert_ok(kp_container_parse(bytes, size, &container));
  assert_int_equal(kp_container_count(container), 7);
  assert_null(kp_container_find(container, "bytes"));
  uint64_t items[2];
  assert_ok(kp_container_read(container, kp_container_find(container, "u64"), 0, 2, items));
  assert_true(items[1] == UINT64_MAX);
  kp_container_close(&container);
  kp_free(bytes);
}

static void test_hostile_lengths(void **state) {
  size_t size;
  char *bytes = write_small(kp_test_path(*state, "small.kpf"), &size);
  kp_disk_head good;
  memcpy(&good, bytes, sizeof good);
  static const uint64_t values[] = {
    0, 1, 9, 1u << 20, UINT64_MAX / 160, UINT64_MAX / 16 + 1, UINT64_MAX - 7, UINT64_MAX
  };
  int64_t held = kp_memory_bytes();
  for (size_t field = 0; field < 5; ++field) {
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
      kp_disk_head head = good;
      uint64_t *lengths[] = { &head.file_bytes, &head.table_offset, &head.n_sections,
                              &head.n_chunks, NULL };
      if (lengths[field] != NULL) {
        *lengths[field] = values[i];
      } else {
        head.chunk_bytes = (uint32_t)values[i];
      }
      head.checksum = kp_hash_bytes(&head, offsetof(kp_disk_head, checksum), 0);
      memcpy(bytes, &head, sizeof head);
      kp_result result = read_all(bytes, size);
      // chunks of another legal size still hold a file of one chunk per section
      bool is_legal = field == 4 && values[i] == 1u << 20;
      assert_int_equal(result, is_legal ? KP_OK : KP_ERROR_FORMAT);
    }
  }
  // a section that claims more items than its chunks can hold
  kp_disk_section record;
  memcpy(&record, bytes + good.table_offset, sizeof record);
  record.count = UINT64_C(1) << 60;
  memcpy(bytes + good.table_offset, &record, sizeof record);
  seal(bytes, &good);
  assert_int_equal(read_all(bytes, size), KP_ERROR_FORMAT);
  assert_int_equal(kp_memory_bytes(), held);
  kp_free(bytes);
}

static void test_bad_arguments(void **state) {
  const char *path = kp_test_path(*state, "bad.kpf");
  small_file s;
  make_small(&s);
  strcpy(s.sections[3].name, "bytes");
  assert_fails(KP_ERROR_ARGUMENT, "two sections are called bytes",
               kp_container_write(path, &test_head, s.sections, 8));
  s.sections[3].name[0] = '\0';
  assert_fails(KP_ERROR_ARGUMENT, "name is empty",
               kp_container_write(path, &test_head, s.sections, 8));
  make_small(&s);
  s.sections[7].count = 1;
  assert_fails(KP_ERROR_ARGUMENT, "has no data",
               kp_container_write(path, &test_head, s.sections, 8));
  make_small(&s);
  s.sections[0].type = KP_ITEM_TYPE_COUNT;
  assert_fails(KP_ERROR_ARGUMENT, "no known type",
               kp_container_write(path, &test_head, s.sections, 8));
  assert_false(kp_file_exists(path));
}

static void test_write_failures(void **state) {
  small_file s;
  make_small(&s);
  const char *missing = kp_test_path(*state, "no/such/folder/a.kpf");
  assert_fails(KP_ERROR_IO, "No such file", kp_container_write(missing, &test_head, s.sections, 8));
  const char *path = kp_test_path(*state, "a.kpf");
  assert_ok(kp_container_write(path, &test_head, s.sections, 8));
  assert_fails(KP_ERROR_IO, "Not a directory",
               kp_container_write(kp_test_path(path, "b.kpf"), &test_head, s.sections, 8));

  // a disk that fills up: files may not grow beyond 300 bytes
  uint64_t before, after;
  assert_ok(kp_file_hash(path, &before));
  void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
  struct rlimit old, tight;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  tight = old;
  tight.rlim_cur = 300;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  kp_result result = kp_container_write(path, &test_head, s.sections, 7);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  (void)signal(SIGXFSZ, old_handler);
  assert_fails(KP_ERROR_IO, "File too large", result);
  assert_holds(kp_last_error(), path);
  assert_ok(kp_file_hash(path, &after));
  assert_int_equal(before, after);
  assert_false(kp_file_exists(kp_test_path(*state, "a.kpf.tmp")));
}

static kp_result write_and_read(const char *path, const small_file *s) {
  KP_TRY(kp_container_write(path, &test_head, s->sections, 8));
  kp_container *container;
  KP_TRY(kp_container_open(path, &container));
  uint64_t items[8];
  const kp_section *section = kp_container_find(container, "u64");
  kp_result result = kp_container_read(container, section, 0, 2, items);
  kp_container_close(&container);
  return result;
}

// Each allocation fails in turn: an error every time, no leak, and in the end success.
static void test_memory_failures(void **state) {
  const char *path = kp_test_path(*state, "a.kpf");
  small_file s;
  make_small(&s);
  int64_t held = kp_memory_bytes();
  kp_result result = KP_ERROR_MEMORY;
  int n_failures = 0;
  for (; result != KP_OK && n_failures < 1000; ++n_failures) {
    kp_memory_fail_at(n_failures);
    result = write_and_read(path, &s);
    kp_memory_fail_at(-1);
    assert_true(result == KP_OK || result == KP_ERROR_MEMORY);
    assert_int_equal(kp_memory_bytes(), held);
  }
  assert_int_equal(result, KP_OK);
  assert_true(n_failures > 10);
}

int main(void) {
#define FOLDER_TEST(name)                                                                          \
  cmocka_unit_test_setup_teardown(name, kp_test_folder_make, kp_test_folder_remove)
  const struct CMUnitTest tests[] = {
    FOLDER_TEST(test_round_trip),      FOLDER_TEST(test_no_sections),
    FOLDER_TEST(test_many_chunks),     FOLDER_TEST(test_truncated),
    FOLDER_TEST(test_flipped),         FOLDER_TEST(test_sentences),
    FOLDER_TEST(test_unknown_type),    FOLDER_TEST(test_hostile_lengths),
    FOLDER_TEST(test_bad_arguments),   FOLDER_TEST(test_write_failures),
    FOLDER_TEST(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
