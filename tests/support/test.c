#include "support/test.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

#define PATH_SIZE 1024
#define N_PATHS 8
#define FIXED_SEED 20240607u

void kp_test_ok(kp_result code, const char *call, const char *file, int line) {
  if (code != KP_OK) {
    print_error("%s: %s: %s\n", call, kp_result_name(code), kp_last_error());
    _fail(file, line);
  }
}

void kp_test_fails(kp_result wanted, const char *words, kp_result code, const char *file,
                   int line) {
  if (code != wanted) {
    print_error("%s wanted, got %s: %s\n", kp_result_name(wanted), kp_result_name(code),
                kp_last_error());
    _fail(file, line);
  }
  kp_test_holds(kp_last_error(), words, file, line);
}

static double tolerance_scale(void) {
  const char *text = getenv("KP_TOLERANCE_SCALE");
  return text != NULL ? strtod(text, NULL) : 1.0;
}

void kp_test_near(double a, double b, double tolerance, const char *what, const char *file,
                  int line) {
  // equal infinities are near; a comparison with NaN is false and fails
  bool is_near = a == b || fabs(a - b) <= tolerance * tolerance_scale();
  if (!is_near) {
    print_error("%s = %.17g, wanted %.17g +- %g, off by %g\n", what, a, b, tolerance, fabs(a - b));
    _fail(file, line);
  }
}

void kp_test_near_relative(double a, double b, double tolerance, const char *what, const char *file,
                           int line) {
  kp_test_near(a, b, tolerance * fmax(fabs(a), fabs(b)), what, file, line);
}

void kp_test_vec3_near(kp_vec3 a, kp_vec3 b, double tolerance, const char *what, const char *file,
                       int line) {
  kp_test_near(a.x, b.x, tolerance, what, file, line);
  kp_test_near(a.y, b.y, tolerance, what, file, line);
  kp_test_near(a.z, b.z, tolerance, what, file, line);
}

void kp_test_between(double a, double low, double high, const char *what, const char *file,
                     int line) {
  if (!(a >= low && a <= high)) {
    print_error("%s = %.17g, wanted between %g and %g\n", what, a, low, high);
    _fail(file, line);
  }
}

void kp_test_holds(const char *text, const char *words, const char *file, int line) {
  if (strstr(text, words) == NULL) {
    print_error("\"%s\" does not hold \"%s\"\n", text, words);
    _fail(file, line);
  }
}

void kp_test_tell_skip(const char *why, const char *file, int line) {
  print_message("skip: %s\n", why);
  if (getenv("KELPIE_NO_SKIPS") != NULL) {
    print_error("KELPIE_NO_SKIPS is set, and this case would be skipped\n");
    _fail(file, line);
  }
}

kp_test_random kp_test_random_begin(uint64_t seed) {
  return (kp_test_random){ .seed = seed };
}

uint64_t kp_test_bits(kp_test_random *random) {
  return kp_rng_bits(random->seed, KP_RNG_TEST, 0, random->counter++);
}

double kp_test_uniform(kp_test_random *random, double low, double high) {
  return low + (high - low) * kp_rng_uniform(random->seed, KP_RNG_TEST, 0, random->counter++);
}

int64_t kp_test_integer(kp_test_random *random, int64_t low, int64_t high) {
  uint64_t span = (uint64_t)high - (uint64_t)low + 1;
  uint64_t bits = kp_test_bits(random);
  return (int64_t)((uint64_t)low + (span != 0 ? bits % span : bits));
}

double kp_test_normal(kp_test_random *random) {
  // a stream of its own id, so that it never meets the uniform numbers
  return kp_rng_normal(random->seed, KP_RNG_TEST, 1, random->counter++);
}

kp_vec3 kp_test_vec3(kp_test_random *random, double low, double high) {
  double x = kp_test_uniform(random, low, high);
  double y = kp_test_uniform(random, low, high);
  double z = kp_test_uniform(random, low, high);
  return kp_vec3_make(x, y, z);
}

// A failed assertion leaves the case by a long jump; the seed is then printed by the next user of
// seeds or when the process ends.
static _Thread_local uint64_t seed_in_flight;
static _Thread_local bool is_seed_in_flight;

static void print_seed_in_flight(void) {
  if (is_seed_in_flight) {
    print_error("failing seed: run again with KP_TEST_SEED=%llu\n",
                (unsigned long long)seed_in_flight);
    is_seed_in_flight = false;
  }
}

void kp_test_for_seeds(int n_seeds, kp_test_case_fn fn, void *user) {
  static bool is_registered;
  print_seed_in_flight();
  if (!is_registered) {
    is_registered = atexit(print_seed_in_flight) == 0;
  }
  const char *text = getenv("KP_TEST_SEED");
  uint64_t first = text != NULL ? strtoull(text, NULL, 10) : FIXED_SEED;
  int n = text != NULL ? 1 : n_seeds;
  for (int i = 0; i < n; ++i) {
    kp_test_random random = kp_test_random_begin(first + (uint64_t)i);
    seed_in_flight = random.seed;
    is_seed_in_flight = true;
    fn(&random, user);
    is_seed_in_flight = false;
  }
}

int kp_test_folder_make(void **state) {
  const char *base = getenv("TMPDIR");
  char path[PATH_SIZE];
  int length = snprintf(path, sizeof path, "%s/kelpie-test-XXXXXX", base != NULL ? base : "/tmp");
  if (length < 0 || (size_t)length >= sizeof path || mkdtemp(path) == NULL) {
    return -1;
  }
  *state = kp_strdup(path, KP_MEMORY_TEST);
  return *state != NULL ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info;
  (void)type;
  (void)walk;
  return remove(path);
}

int kp_test_folder_remove(void **state) {
  // children before their folder, links not followed
  int result = nftw(*state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  kp_free(*state);
  *state = NULL;
  return result;
}

const char *kp_test_path(const char *folder, const char *name) {
  static _Thread_local char paths[N_PATHS][PATH_SIZE];
  static _Thread_local unsigned next;
  char *path = paths[next++ % N_PATHS];
  int length = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
  assert_true(length > 0 && length < PATH_SIZE);
  return path;
}

char *kp_test_read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fail_msg("cannot read %s", path);
  }
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long end = ftell(file);
  assert_true(end >= 0);
  rewind(file);
  char *bytes = kp_alloc((size_t)end + 1, KP_MEMORY_TEST);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, (size_t)end, file), end);
  bytes[end] = '\0';
  (void)fclose(file);
  if (size != NULL) {
    *size = (size_t)end;
  }
  return bytes;
}

void kp_test_write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) {
    fail_msg("cannot write %s", path);
  }
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

const char *kp_test_source_dir(void) {
  const char *folder = getenv("KELPIE_SOURCE_DIR");
  return folder != NULL ? folder : ".";
}

const char *kp_test_program(void) {
  return getenv("KELPIE_PROGRAM");
}
