// Each allocation and each call of the disk fails in turn: while a container or a table is written
// over an older one, while it is read, and in whole-file reading, copying and listing.
#include "support/test.h"

#include <string.h>

#include "base/memory.h"
#include "io/container.h"
#include "io/files.h"
#include "io/table.h"

#include "support/faults.h"

#define N_ITEMS 300000  // two chunks

static const char *path_of(void *folder) {
  return kp_test_path(folder, "frame_000001.kpf");
}

static kp_result write_numbers(const char *path, double slope) {
  double *numbers = kp_alloc(N_ITEMS * sizeof *numbers, KP_MEMORY_TEST);
  if (numbers == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int i = 0; i < N_ITEMS; ++i) {
    numbers[i] = slope * i;
  }
  const uint8_t letters[] = "all is well";
  const kp_section sections[] = {
    { .name = "numbers", .unit = "m", .type = KP_ITEM_F64, .count = N_ITEMS, .data = numbers },
    { .name = "letters", .type = KP_ITEM_U8, .count = sizeof letters, .data = letters },
  };
  const kp_container_head head = { .frame = 1, .real_size = 4, .build = "test" };
  kp_result result = kp_container_write(path, &head, sections, 2);
  kp_free(numbers);
  return result;
}

static void put_container(void *folder) {
  assert_ok(write_numbers(path_of(folder), 0.25));
}

static kp_result replace_container(void *folder) {
  return write_numbers(path_of(folder), 0.5);
}

static kp_result read_numbers(kp_container *container, double *numbers) {
  const kp_section *section = kp_container_find(container, "numbers");
  assert_non_null(section);
  KP_TRY(kp_container_read(container, section, 0, N_ITEMS, numbers));
  assert_true(numbers[N_ITEMS - 1] == 0.25 * (N_ITEMS - 1));
  // a part, across a border of chunks
  KP_TRY(kp_container_read(container, section, N_ITEMS / 2, N_ITEMS / 2, numbers));
  assert_true(numbers[1] == 0.25 * (N_ITEMS / 2 + 1));
  return KP_OK;
}

static kp_result read_container(void *folder) {
  kp_container *container = NULL;
  double *numbers = kp_alloc(N_ITEMS * sizeof *numbers, KP_MEMORY_TEST);
  kp_result result = numbers != NULL ? KP_OK : KP_ERROR_MEMORY;
  if (result == KP_OK) {
    result = kp_container_open(path_of(folder), &container);
  }
  if (result == KP_OK) {
    result = read_numbers(container, numbers);
  } else {
    assert_null(container);
  }
  kp_container_close(&container);
  kp_free(numbers);
  return result;
}

static void test_container_write(void **state) {
  kp_faults faults = {
    .folder = *state, .prepare = put_container, .work = replace_container, .user = *state
  };
  kp_faults_tried tried = kp_faults_try(&faults);
  assert_true(tried.n_allocations > 10);
  // open, head, chunks, tables, end, patch, flush, sync, close, rename, sync of the folder
  assert_true(tried.n_disk_calls > 12);
}

static void test_container_read(void **state) {
  kp_faults faults = {
    .folder = *state, .prepare = put_container, .work = read_container, .user = *state
  };
  kp_faults_tried tried = kp_faults_try(&faults);
  assert_true(tried.n_allocations > 10);
  // open, head, end mark, table, and the chunks twice
  assert_true(tried.n_disk_calls >= 8);
}

// ---- tables

static const char *const columns[] = { "frame", "energy" };

static bool is_table(const char *name) {
  return strcmp(name, "stats.csv") == 0;
}

static kp_result add_rows(kp_table *table, int first, int end) {
  for (int i = first; i < end; ++i) {
    const double row[] = { i, 1.0 / (1.0 + i) };
    KP_TRY(kp_table_row(table, row));
  }
  return KP_OK;
}

static void put_table(void *folder) {
  kp_table *table;
  assert_ok(kp_table_create(kp_test_path(folder, "stats.csv"), columns, 2, &table));
  assert_ok(add_rows(table, 0, 6));
  kp_table_close(&table);
}

static kp_result resume_table(void *folder) {
  kp_table *table;
  KP_TRY(kp_table_resume(kp_test_path(folder, "stats.csv"), columns, 2, 3.0, &table));
  kp_result result = add_rows(table, 4, 10);
  kp_table_close(&table);
  return result;
}

static kp_result start_table(void *folder) {
  kp_table *table;
  KP_TRY(kp_table_create(kp_test_path(folder, "stats.csv"), columns, 2, &table));
  kp_result result = add_rows(table, 0, 5);
  kp_table_close(&table);
  return result;
}

static kp_result read_table(void *folder) {
  kp_table_data *data;
  KP_TRY(kp_table_read(kp_test_path(folder, "stats.csv"), &data));
  assert_int_equal(data->n_rows, 6);
  kp_table_free(&data);
  return KP_OK;
}

static void test_tables(void **state) {
  kp_faults faults = { .folder = *state, .user = *state, .grows = is_table };
  faults.work = start_table;
  assert_true(kp_faults_try(&faults).n_disk_calls > 15);
  faults.prepare = put_table;
  faults.work = resume_table;
  assert_true(kp_faults_try(&faults).n_disk_calls > 20);
  faults.work = read_table;
  assert_true(kp_faults_try(&faults).n_allocations > 5);
}

// ---- whole files and folders

static void put_files(void *folder) {
  kp_test_write_file(kp_test_path(folder, "from.txt"), "new", 3);
  kp_test_write_file(kp_test_path(folder, "to.txt"), "old", 3);
  kp_test_write_file(kp_test_path(folder, "gone.txt"), "gone", 4);
  kp_test_write_file(kp_test_path(folder, "frame_7.kpf"), "7", 1);
  kp_test_write_file(kp_test_path(folder, "frame_07.kpf"), "7", 1);
}

static kp_result use_files(void *folder) {
  char *text = NULL;
  size_t n_bytes;
  uint64_t hash, copied;
  KP_TRY(kp_file_read(kp_test_path(folder, "from.txt"), 100, &text, &n_bytes));
  assert_string_equal(text, "new");
  kp_free(text);
  KP_TRY(kp_file_copy(kp_test_path(folder, "from.txt"), kp_test_path(folder, "to.txt"), &copied));
  KP_TRY(kp_file_hash(kp_test_path(folder, "to.txt"), &hash));
  assert_true(hash == copied);
  KP_TRY(kp_folder_make(kp_test_path(folder, "deep/deeper")));
  KP_TRY(kp_file_write(kp_test_path(folder, "deep/deeper/new.txt"), "deep", 4));
  kp_numbered_list list;
  KP_TRY(kp_numbered_find(folder, "frame_", ".kpf", &list));
  assert_int_equal(list.count, 2);
  kp_numbered_free(&list);
  return kp_file_remove(kp_test_path(folder, "gone.txt"));
}

static void test_files(void **state) {
  kp_faults faults = { .folder = *state, .prepare = put_files, .work = use_files, .user = *state };
  kp_faults_tried tried = kp_faults_try(&faults);
  assert_true(tried.n_allocations > 10);
  assert_true(tried.n_disk_calls > 25);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_container_write, kp_faults_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_container_read, kp_faults_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_tables, kp_faults_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_files, kp_faults_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
