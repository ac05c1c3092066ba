// Files, paths, tables, JSON, numbers as text, images.
#include "support/test.h"

#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "io/files.h"
#include "io/json.h"
#include "io/number.h"
#include "io/png.h"
#include "io/table.h"

// ---- paths and files

static void test_paths(void **state) {
  (void)state;
  char path[32];
  assert_ok(kp_path_join(path, sizeof path, "a/b", "c.txt"));
  assert_string_equal(path, "a/b/c.txt");
  assert_ok(kp_path_join(path, sizeof path, "a/", "c"));
  assert_string_equal(path, "a/c");
  assert_ok(kp_path_join(path, sizeof path, "", "c"));
  assert_string_equal(path, "c");
  assert_fails(KP_ERROR_ARGUMENT, "too long", kp_path_join(path, 5, "abc", "de"));
  assert_string_equal(kp_path_name("a/b.c"), "b.c");
  assert_string_equal(kp_path_name("b.c"), "b.c");
  assert_ok(kp_path_folder(path, sizeof path, "a/b/c"));
  assert_string_equal(path, "a/b");
  assert_ok(kp_path_folder(path, sizeof path, "/c"));
  assert_string_equal(path, "/");
  assert_ok(kp_path_folder(path, sizeof path, "c"));
  assert_string_equal(path, ".");
}

static void test_path_inside(void **state) {
  const char *root = *state;
  char folder[256];
  assert_ok(kp_path_join(folder, sizeof folder, root, "run"));
  assert_ok(kp_folder_make(kp_test_path(root, "run/sub")));
  assert_ok(kp_folder_make(kp_test_path(root, "running")));
  kp_test_write_file(kp_test_path(root, "run/sub/a.txt"), "a", 1);
  kp_test_write_file(kp_test_path(root, "secret"), "s", 1);
  assert_int_equal(symlink("../secret", kp_test_path(root, "run/link")), 0);
  assert_int_equal(symlink("..", kp_test_path(root, "run/up")), 0);
  assert_int_equal(symlink("sub/a.txt", kp_test_path(root, "run/good")), 0);
  assert_int_equal(symlink("/nowhere/at/all", kp_test_path(root, "run/dangling")), 0);
  assert_int_equal(symlink("loop", kp_test_path(root, "run/loop")), 0);

  assert_true(kp_path_inside(folder, "sub/a.txt"));
  assert_true(kp_path_inside(folder, "sub/../sub/./a.txt"));
  assert_true(kp_path_inside(folder, "not/there/yet.txt"));
  assert_true(kp_path_inside(folder, "good"));
  assert_true(kp_path_inside(folder, "."));
  assert_true(kp_path_inside(folder, kp_test_path(root, "run/sub/a.txt")));
  assert_true(kp_path_inside("/", "/etc"));

  assert_false(kp_path_inside(folder, ".."));
  assert_false(kp_path_inside(folder, "../secret"));
  assert_false(kp_path_inside(folder, "../running"));
  assert_false(kp_path_inside(folder, "sub/../../secret"));
  assert_false(kp_path_inside(folder, "not/../../secret"));
  assert_false(kp_path_inside(folder, "not/there/../../../../secret"));
  assert_false(kp_path_inside(folder, "/etc/passwd"));
  assert_false(kp_path_inside(folder, "link"));
  assert_false(kp_path_inside(folder, "up/secret"));
  assert_false(kp_path_inside(folder, "up/new"));
  assert_false(kp_path_inside(folder, "dangling"));
  assert_false(kp_path_inside(folder, "dangling/new"));
  assert_false(kp_path_inside(folder, "loop/new"));
  assert_false(kp_path_inside(folder, ""));
  assert_false(kp_path_inside(kp_test_path(root, "missing"), "a"));
}

static void test_files(void **state) {
  const char *folder = kp_test_path(*state, "a/b/c");
  assert_false(kp_folder_exists(folder));
  assert_ok(kp_folder_make(folder));
  assert_ok(kp_folder_make(folder));
  assert_true(kp_folder_exists(folder));
  const char *path = kp_test_path(*state, "a/b/c/file");
  assert_ok(kp_file_write(path, "hello", 5));
  assert_true(kp_file_exists(path));
  assert_false(kp_file_exists(folder));
  assert_fails(KP_ERROR_IO, "cannot make the folder",
               kp_folder_make(kp_test_path(*state, "a/b/c/file/d")));

  uint64_t size;
  char *text;
  size_t n;
  assert_ok(kp_file_size(path, &size));
  assert_int_equal(size, 5);
  assert_ok(kp_file_read(path, 5, &text, &n));
  assert_int_equal(n, 5);
  assert_string_equal(text, "hello");
  kp_free(text);
  assert_fails(KP_ERROR_IO, "larger than the 4 bytes", kp_file_read(path, 4, &text, &n));
  assert_fails(KP_ERROR_IO, "Is a directory", kp_file_read(folder, 4, &text, &n));
  // nobody ever writes to the pipe
  const char *fifo = kp_test_path(*state, "pipe");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_fails(KP_ERROR_IO, "no regular file", kp_file_read(fifo, 4, &text, &n));
  assert_fails(KP_ERROR_IO, "no regular file", kp_file_read("/dev/zero", 4, &text, &n));
  // a terabyte that holds nothing is not read
  const char *wide = kp_test_path(*state, "wide");
  kp_test_write_file(wide, "", 0);
  assert_int_equal(truncate(wide, (off_t)1 << 40), 0);
  assert_fails(KP_ERROR_IO, "larger than the 4 bytes", kp_file_read(wide, 4, &text, &n));
  assert_fails(KP_ERROR_IO, "No such file",
               kp_file_read(kp_test_path(*state, "none"), 4, &text, &n));

  uint64_t hash, again;
  const char *copy = kp_test_path(*state, "copy");
  assert_ok(kp_file_copy(path, copy, &hash));
  assert_int_equal(hash, kp_hash_bytes("hello", 5, 0));
  assert_ok(kp_file_hash(copy, &again));
  assert_int_equal(hash, again);
  assert_fails(KP_ERROR_IO, "No such file", kp_file_copy(kp_test_path(*state, "none"), copy, NULL));
  assert_true(kp_file_exists(copy));
  assert_false(kp_file_exists(kp_test_path(*state, "copy.tmp")));
  assert_ok(kp_file_remove(copy));
  assert_ok(kp_file_remove(copy));
  assert_false(kp_file_exists(copy));
}

static void test_atomic(void **state) {
  const char *path = kp_test_path(*state, "file");
  assert_ok(kp_file_write(path, "old", 3));
  kp_file file;
  assert_ok(kp_file_begin(&file, path));
  kp_file_add(&file, "....", 4);
  kp_file_print(&file, "%d-%s", 42, "x");
  kp_file_patch(&file, 1, "ab", 2);
  kp_file_add(&file, "!", 1);
  size_t n;
  char *text = kp_test_read_file(path, &n);
  assert_string_equal(text, "old");
  kp_free(text);
  assert_ok(kp_file_commit(&file));
  text = kp_test_read_file(path, &n);
  assert_string_equal(text, ".ab.42-x!");
  kp_free(text);

  assert_ok(kp_file_begin(&file, path));
  kp_file_add(&file, "new", 3);
  kp_file_discard(&file);
  text = kp_test_read_file(path, &n);
  assert_string_equal(text, ".ab.42-x!");
  kp_free(text);
  assert_false(kp_file_exists(kp_test_path(*state, "file.tmp")));
}

static void test_numbered(void **state) {
  static const char *const names[] = { "frame_000010.kpf", "frame_000002.kpf",
                                       "frame_7.kpf",      "frame_.kpf",
                                       "frame_1x.kpf",     "frame_3.kpf.tmp",
                                       "other_1.kpf",      "frame_99999999999999999999999.kpf" };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    kp_test_write_file(kp_test_path(*state, names[i]), "", 0);
  }
  kp_numbered_list list;
  assert_ok(kp_numbered_find(*state, "frame_", ".kpf", &list));
  assert_int_equal(list.count, 3);
  assert_int_equal(list.files[0].number, 2);
  assert_int_equal(list.files[1].number, 7);
  assert_int_equal(list.files[2].number, 10);
  assert_string_equal(list.files[2].name, "frame_000010.kpf");
  kp_numbered_free(&list);
  assert_ok(kp_numbered_find(kp_test_path(*state, "none"), "frame_", ".kpf", &list));
  assert_int_equal(list.count, 0);
}

// ---- numbers

static void test_numbers(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = { { 0.0, "0" },        { 1.0, "1" },
                { -12.0, "-12" },    { 0.1, "0.1" },
                { 1e300, "1e+300" }, { INFINITY, "inf" },
                { NAN, "nan" },      { 123456789.0, "123456789" } };
  char out[KP_NUMBER_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    kp_number_format(out, cases[i].value);
    assert_string_equal(out, cases[i].text);
  }
  kp_number_format_float(out, 0.1f);
  assert_string_equal(out, "0.1");

  // any bit pattern comes back
  for (uint64_t i = 0; i < 20000; ++i) {
    uint64_t bits = kp_hash_mix(i);
    double value, back;
    memcpy(&value, &bits, sizeof value);
    kp_number_format(out, value);
    assert_true(strlen(out) < KP_NUMBER_SIZE);
    assert_true(kp_number_parse(out, ",", &back));
    assert_true(isnan(value) ? isnan(back) : value == back);
    float narrow, narrow_back;
    memcpy(&narrow, &bits, sizeof narrow);
    kp_number_format_float(out, narrow);
    assert_true(kp_number_parse(out, ",", &back));
    narrow_back = (float)back;
    assert_true(isnan(narrow) ? isnan(back) : narrow == narrow_back);
  }
  double value;
  assert_true(kp_number_parse("  1.5 ,2", ",", &value));
  assert_true(value == 1.5);
  assert_false(kp_number_parse("1.5x,", ",", &value));
  assert_false(kp_number_parse(",1", ",", &value));
  assert_true(isnan(value));
}

// A host program's decimal comma must not reach our files.
static void test_locale(void **state) {
  (void)state;
  if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL &&
      setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL) {
    kp_test_skip("there is no locale with a decimal comma");
  }
  char out[KP_NUMBER_SIZE];
  double value;
  kp_number_format(out, 1.5);
  bool is_read = kp_number_parse("2.5", ",", &value);
  (void)setlocale(LC_NUMERIC, "C");
  assert_string_equal(out, "1.5");
  assert_true(is_read && value == 2.5);
}

// ---- tables

static const char *const columns[] = { "frame", "mass [kg]", "energy" };

static void write_rows(const char *path, int n) {
  kp_table *table;
  assert_ok(kp_table_create(path, columns, 3, &table));
  for (int i = 0; i < n; ++i) {
    const double row[] = { i, 1.0 / 3.0 + i, i == 2 ? (double)NAN : 1e-20 * i };
    assert_ok(kp_table_row(table, row));
  }
  kp_table_close(&table);
  assert_null(table);
}

static void test_table(void **state) {
  const char *path = kp_test_path(*state, "stats.csv");
  write_rows(path, 5);
  kp_table_data *data;
  assert_ok(kp_table_read(path, &data));
  assert_int_equal(data->n_columns, 3);
  assert_int_equal(data->n_rows, 5);
  const double *mass = kp_table_column(data, "mass [kg]"),
               *energy = kp_table_column(data, "energy");
  assert_true(mass[3] == 1.0 / 3.0 + 3);
  assert_true(energy[4] == 4e-20);
  assert_true(isnan(energy[2]));
  assert_null(kp_table_column(data, "mass"));
  kp_table_free(&data);
  assert_null(data);
}

static void test_table_resume(void **state) {
  const char *path = kp_test_path(*state, "stats.csv");
  const char *straight = kp_test_path(*state, "straight.csv");
  write_rows(straight, 5);
  write_rows(path, 5);

  // killed in the middle of a line, resumed from frame 2
  size_t n;
  char *text = kp_test_read_file(path, &n);
  kp_test_write_file(path, text, n - 4);
  kp_free(text);
  kp_table *table;
  assert_ok(kp_table_resume(path, columns, 3, 2.0, &table));
  for (int i = 3; i < 5; ++i) {
    const double row[] = { i, 1.0 / 3.0 + i, 1e-20 * i };
    assert_ok(kp_table_row(table, row));
  }
  kp_table_close(&table);
  size_t n_straight;
  text = kp_test_read_file(path, &n);
  char *wanted = kp_test_read_file(straight, &n_straight);
  assert_string_equal(text, wanted);
  kp_free(text);
  kp_free(wanted);

  // other columns, no file, a file without a whole header
  static const char *const others[] = { "frame", "volume" };
  assert_fails(KP_ERROR_FORMAT, "columns are not those",
               kp_table_resume(path, others, 2, 2.0, &table));
  assert_null(table);
  static const char *const starts[] = { "fra", "" };
  for (size_t i = 0; i < 2; ++i) {
    kp_test_write_file(path, starts[i], strlen(starts[i]));
    assert_ok(kp_table_resume(path, columns, 3, 2.0, &table));
    kp_table_close(&table);
    text = kp_test_read_file(path, &n);
    assert_string_equal(text, "frame,mass [kg],energy\n");
    kp_free(text);
  }
  const char *fresh = kp_test_path(*state, "fresh.csv");
  assert_ok(kp_table_cut(fresh, 3.0));
  assert_false(kp_file_exists(fresh));
  assert_ok(kp_table_resume(fresh, columns, 3, 2.0, &table));
  kp_table_close(&table);
  kp_table_data *data;
  assert_ok(kp_table_read(fresh, &data));
  assert_int_equal(data->n_rows, 0);
  kp_table_free(&data);
}

static void test_table_bad(void **state) {
  const char *path = kp_test_path(*state, "bad.csv");
  kp_table *table;
  static const char *const comma[] = { "a,b" };
  assert_fails(KP_ERROR_ARGUMENT, "name of a column", kp_table_create(path, comma, 1, &table));
  assert_fails(KP_ERROR_IO, "No such file",
               kp_table_create(kp_test_path(*state, "no/such.csv"), columns, 3, &table));
  static const struct {
    const char *text, *words;
  } cases[] = { { "a,b", "no header" },
                { "a,b\n1,2\n3\n", "do not have 2 cells" },
                { "a,b\n1,2,3\n4\n", ":2: not 2 cells" },
                { "a,b\n1,2\n\n3,4,5\n", ":3: not 2 cells" } };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    kp_test_write_file(path, cases[i].text, strlen(cases[i].text));
    kp_table_data *data;
    assert_fails(KP_ERROR_FORMAT, cases[i].words, kp_table_read(path, &data));
    assert_null(data);
  }
  // what other programs write: carriage returns, empty cells, words, a half line at the end
  static const char foreign[] = "a,b\r\n1,2\r\n,x\r\n7,8";
  kp_test_write_file(path, foreign, sizeof foreign - 1);
  kp_table_data *data;
  assert_ok(kp_table_read(path, &data));
  assert_int_equal(data->n_rows, 2);
  assert_true(kp_table_column(data, "b")[0] == 2.0);
  assert_true(isnan(kp_table_column(data, "a")[1]));
  assert_true(isnan(kp_table_column(data, "b")[1]));
  kp_table_free(&data);
}

// ---- JSON

static void test_json(void **state) {
  const char *path = kp_test_path(*state, "run.json");
  kp_json json = { 0 };
  kp_json_begin_object(&json, NULL);
  kp_json_string(&json, "text \"quoted\"", "line\nback\\slash\ttab\x01 \xc3\xa9");
  kp_json_string(&json, "none", NULL);
  kp_json_number(&json, "pi", 3.25);
  kp_json_number(&json, "nan", (double)NAN);
  kp_json_int(&json, "least", INT64_MIN);
  kp_json_hash(&json, "hash", 0xabcu);
  kp_json_bool(&json, "yes", true);
  kp_json_begin_array(&json, "list");
  kp_json_int(&json, NULL, 1);
  kp_json_begin_object(&json, NULL);
  kp_json_end(&json);
  kp_json_end(&json);
  kp_json_end(&json);
  assert_ok(kp_json_write(&json, path));
  kp_json_free(&json);
  size_t n;
  char *text = kp_test_read_file(path, &n);
  assert_string_equal(text,
                      "{\n"
                      "  \"text \\\"quoted\\\"\": \"line\\nback\\\\slash\\ttab\\u0001 \xc3\xa9\",\n"
                      "  \"none\": null,\n"
                      "  \"pi\": 3.25,\n"
                      "  \"nan\": null,\n"
                      "  \"least\": -9223372036854775808,\n"
                      "  \"hash\": \"0000000000000abc\",\n"
                      "  \"yes\": true,\n"
                      "  \"list\": [\n"
                      "    1,\n"
                      "    {}\n"
                      "  ]\n"
                      "}\n");
  kp_free(text);
}

// ---- images

static void test_png(void **state) {
  for (int channels = 3; channels <= 4; ++channels) {
    const char *path = kp_test_path(*state, "image.png");
    kp_image image, back;
    assert_ok(kp_image_create(17, 9, channels, &image));
    for (int i = 0; i < 17 * 9 * channels; ++i) {
      image.pixels[i] = (uint8_t)(i * 7);
    }
    assert_ok(kp_png_write(path, &image));
    uint64_t first, second;
    assert_ok(kp_file_hash(path, &first));
    assert_ok(kp_png_write(path, &image));
    assert_ok(kp_file_hash(path, &second));
    assert_int_equal(first, second);
    assert_ok(kp_png_read(path, &back));
    assert_int_equal(back.width, 17);
    assert_int_equal(back.height, 9);
    assert_int_equal(back.n_channels, channels);
    assert_memory_equal(back.pixels, image.pixels, (size_t)(17 * 9 * channels));
    kp_image_free(&image);
    kp_image_free(&back);

    // declares its colour space, and a cut file is refused
    size_t n;
    char *bytes = kp_test_read_file(path, &n);
    assert_memory_equal(bytes + 8 + 25 + 4, "sRGB", 4);
    kp_test_write_file(path, bytes, n / 2);
    assert_fails(KP_ERROR_FORMAT, "image.png", kp_png_read(path, &back));
    kp_test_write_file(path, "GIF89a", 6);
    assert_fails(KP_ERROR_FORMAT, "not a PNG", kp_png_read(path, &back));
    kp_free(bytes);
  }
  kp_image none;
  assert_fails(KP_ERROR_ARGUMENT, "cannot be made", kp_image_create(0, 4, 3, &none));
  assert_fails(KP_ERROR_ARGUMENT, "cannot be made", kp_image_create(4, 4, 2, &none));
}

int main(void) {
#define FOLDER_TEST(name)                                                                          \
  cmocka_unit_test_setup_teardown(name, kp_test_folder_make, kp_test_folder_remove)
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_paths),  FOLDER_TEST(test_path_inside), FOLDER_TEST(test_files),
    FOLDER_TEST(test_atomic),      FOLDER_TEST(test_numbered),    cmocka_unit_test(test_numbers),
    cmocka_unit_test(test_locale), FOLDER_TEST(test_table),       FOLDER_TEST(test_table_resume),
    FOLDER_TEST(test_table_bad),   FOLDER_TEST(test_json),        FOLDER_TEST(test_png),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
