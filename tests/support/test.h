// Helpers over cmocka, for tests that see internal headers. Include this first in a test.
//
// Tolerances: give one per precision with KP_TOL(float_tolerance, double_tolerance). All of them
// are multiplied by the environment variable KP_TOLERANCE_SCALE, for hunting how far off a failure
// is.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/result.h"
#include "kelpie/vec.h"

// The tolerance that fits kp_real.
#define KP_TOL(for_float, for_double) (sizeof(kp_real) == 4 ? (for_float) : (for_double))

// KP_OK, or fail with the error's sentence.
#define assert_ok(call) kp_test_ok((call), #call, __FILE__, __LINE__)

// Fails with this code and a sentence that holds the words.
#define assert_fails(code, words, call) kp_test_fails((code), (words), (call), __FILE__, __LINE__)

// |a - b| <= tolerance; NaN is never near.
#define assert_near(a, b, tolerance)                                                               \
  kp_test_near((double)(a), (double)(b), (double)(tolerance), #a, __FILE__, __LINE__)

// |a - b| <= tolerance max(|a|, |b|)
#define assert_near_relative(a, b, tolerance)                                                      \
  kp_test_near_relative((double)(a), (double)(b), (double)(tolerance), #a, __FILE__, __LINE__)

#define assert_vec3_near(a, b, tolerance)                                                          \
  kp_test_vec3_near((a), (b), (double)(tolerance), #a, __FILE__, __LINE__)

// low <= a <= high
#define assert_between(a, low, high)                                                               \
  kp_test_between((double)(a), (double)(low), (double)(high), #a, __FILE__, __LINE__)

// The larger, or the smaller, of two, and NaN where one is: fmax and fmin pass over it, so that a
// worst of many would hide what is no number.
static inline double kp_test_most(double a, double b) {
  return a > b || isnan(a) ? a : b;
}

static inline double kp_test_least(double a, double b) {
  return a < b || isnan(a) ? a : b;
}

// The string holds the words.
#define assert_holds(text, words) kp_test_holds((text), (words), __FILE__, __LINE__)

void kp_test_ok(kp_result code, const char *call, const char *file, int line);
void kp_test_fails(kp_result wanted, const char *words, kp_result code, const char *file, int line);
void kp_test_near(double a, double b, double tolerance, const char *what, const char *file,
                  int line);
void kp_test_near_relative(double a, double b, double tolerance, const char *what, const char *file,
                           int line);
void kp_test_vec3_near(kp_vec3 a, kp_vec3 b, double tolerance, const char *what, const char *file,
                       int line);
void kp_test_between(double a, double low, double high, const char *what, const char *file,
                     int line);
void kp_test_holds(const char *text, const char *words, const char *file, int line);
void kp_test_tell_skip(const char *why, const char *file, int line);

// Leaves the case with this reason, which tools/list-skips lists after the run; fails where
// KELPIE_NO_SKIPS is set.
#define kp_test_skip(why)                                                                          \
  do {                                                                                             \
    kp_test_tell_skip((why), __FILE__, __LINE__);                                                  \
    skip();                                                                                        \
  } while (0)

// Random cases. The seed comes from KP_TEST_SEED or is a fixed one, so that every run of the suite
// is the same; kp_test_for_seeds runs a case for many seeds and prints the one that failed.
typedef struct kp_test_random {
  uint64_t seed, counter;
} kp_test_random;

typedef void (*kp_test_case_fn)(kp_test_random *random, void *user);

kp_test_random kp_test_random_begin(uint64_t seed);
uint64_t kp_test_bits(kp_test_random *random);
double kp_test_uniform(kp_test_random *random, double low, double high);
int64_t kp_test_integer(kp_test_random *random, int64_t low, int64_t high);  // both included
double kp_test_normal(kp_test_random *random);
kp_vec3 kp_test_vec3(kp_test_random *random, double low, double high);
void kp_test_for_seeds(int n_seeds, kp_test_case_fn fn, void *user);

// A fresh folder for files of a test; removed with all it holds by kp_test_folder_remove. Meant for
// cmocka's set-up and tear-down: the path is *state.
int kp_test_folder_make(void **state);
int kp_test_folder_remove(void **state);

// path = folder/name, in one of a few static buffers per thread
const char *kp_test_path(const char *folder, const char *name);

// Whole files; fails the test when that is not possible. What was read is terminated by a zero byte
// beyond its size, and is given back with kp_free.
char *kp_test_read_file(const char *path, size_t *size);
void kp_test_write_file(const char *path, const void *bytes, size_t size);

// The top folder of the sources; the current folder when a test is run by hand.
const char *kp_test_source_dir(void);

// The `kelpie` program under test; NULL when it was not built.
const char *kp_test_program(void);
