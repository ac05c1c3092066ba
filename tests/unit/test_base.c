// Every module of src/base.
#include "support/test.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/text.h"
#include "base/timer.h"

#include "support/claims.h"

// results

static void test_result_tables(void **state) {
  (void)state;
  assert_string_equal(kp_result_name(KP_ERROR_IO), "KP_ERROR_IO");
  assert_string_equal(kp_result_text(KP_OK), "done");
  assert_int_equal(kp_result_status(KP_OK), 0);
  assert_int_equal(kp_result_status(KP_ERROR_SCENE), 3);
  assert_int_equal(kp_result_status(KP_STOPPED), 75);
  // a code from nowhere still gives something printable
  assert_non_null(kp_result_name((kp_result)1000));
  assert_int_equal(kp_result_status((kp_result)1000), 1);
}

static kp_result fail_below(void) {
  return kp_fail(KP_ERROR_IO, "%s cannot be opened", "x.ply");
}

static kp_result fail_through(void) {
  KP_TRY(fail_below());
  fail();
  return KP_OK;
}

static void test_result_sentence(void **state) {
  (void)state;
  kp_clear_error();
  assert_string_equal(kp_last_error(), "");
  assert_int_equal(fail_through(), KP_ERROR_IO);
  assert_string_equal(kp_last_error(), "x.ply cannot be opened");
  assert_int_equal(kp_fail_in(KP_ERROR_SCENE, "scene.lua:%d", 12), KP_ERROR_SCENE);
  assert_string_equal(kp_last_error(), "scene.lua:12: x.ply cannot be opened");

  // the old sentence may be an argument of the new one
  assert_int_equal(kp_fail(KP_ERROR_IO, "<%s>", kp_last_error()), KP_ERROR_IO);
  assert_string_equal(kp_last_error(), "<scene.lua:12: x.ply cannot be opened>");

  // without a cause the general sentence stands in
  kp_clear_error();
  assert_int_equal(kp_fail_in(KP_ERROR_IO, "x.ply"), KP_ERROR_IO);
  assert_string_equal(kp_last_error(), "x.ply: input or output failed");
}

static void test_result_long_sentence_is_cut(void **state) {
  (void)state;
  char words[5000];
  memset(words, 'a', sizeof words - 1);
  words[sizeof words - 1] = '\0';
  assert_int_equal(kp_fail(KP_ERROR_IO, "%s", words), KP_ERROR_IO);
  size_t length = strlen(kp_last_error());
  assert_true(length > 1000 && length < sizeof words);
  assert_int_equal(kp_fail_in(KP_ERROR_IO, "%s", words), KP_ERROR_IO);
  assert_int_equal(strlen(kp_last_error()), length);
}

static void *fail_in_thread(void *argument) {
  (void)kp_fail(KP_ERROR_MEMORY, "other thread");
  return strcmp(kp_last_error(), "other thread") == 0 ? argument : NULL;
}

static void test_result_is_per_thread(void **state) {
  (void)state;
  (void)kp_fail(KP_ERROR_IO, "this thread");
  pthread_t thread;
  void *answer = NULL;
  int token = 0;
  assert_int_equal(pthread_create(&thread, NULL, fail_in_thread, &token), 0);
  assert_int_equal(pthread_join(thread, &answer), 0);
  assert_ptr_equal(answer, &token);
  assert_string_equal(kp_last_error(), "this thread");
}

// log and assert

typedef struct log_record {
  int n_lines;
  kp_log_level level;
  char module[32], message[64];
} log_record;

static void record_line(kp_log_level level, const char *module, const char *message, void *user) {
  log_record *record = user;
  record->n_lines += 1;
  record->level = level;
  kp_text_copy(record->module, sizeof record->module, module);
  kp_text_copy(record->message, sizeof record->message, message);
}

static void test_log(void **state) {
  (void)state;
  log_record record = { 0 };
  kp_set_log(record_line, &record, KP_LOG_INFO);
  assert_true(kp_log_wants(KP_LOG_ERROR));
  assert_true(kp_log_wants(KP_LOG_INFO));
  assert_false(kp_log_wants(KP_LOG_DEBUG));
  kp_log(KP_LOG_INFO, "io", "%d frames", 7);
  kp_log(KP_LOG_DEBUG, "io", "not wanted");
  assert_int_equal(record.n_lines, 1);
  assert_int_equal(record.level, KP_LOG_INFO);
  assert_string_equal(record.module, "io");
  assert_string_equal(record.message, "7 frames");
  kp_set_log(NULL, NULL, KP_LOG_WARN);
}

static void say_to_pipe(kp_log_level level, const char *module, const char *message, void *user) {
  (void)level;
  (void)module;
  ssize_t n = write(*(int *)user, message, strlen(message));
  (void)n;
}

static void test_assert_says_where_and_aborts(void **state) {
  (void)state;
  KP_ASSERT(1 + 1 == 2);
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    (void)signal(SIGABRT, SIG_DFL);
    kp_set_log(say_to_pipe, &ends[1], KP_LOG_ERROR);
    KP_ASSERT(1 + 1 == 3);
    _exit(0);
  }
  (void)close(ends[1]);
  char message[256] = { 0 };
  assert_true(read(ends[0], message, sizeof message - 1) > 0);
  (void)close(ends[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_holds(message, "test_base.c");
  assert_holds(message, "1 + 1 == 3");
}

// memory

static void test_memory_counts(void **state) {
  (void)state;
  int64_t bytes = kp_memory_bytes(), tagged = kp_memory_tag_bytes(KP_MEMORY_TEST);
  int64_t allocations = kp_memory_allocations();
  char *a = kp_alloc(1000, KP_MEMORY_TEST);
  char *b = kp_alloc_zero(0, KP_MEMORY_TEST);
  char *c = kp_strdup("kelpie", KP_MEMORY_TEST);
  assert_non_null(a);
  assert_non_null(b);
  assert_string_equal(c, "kelpie");
  assert_int_equal((uintptr_t)a % 64, 0);
  assert_int_equal((uintptr_t)b % 64, 0);
  assert_int_equal(kp_alloc_size(a), 1000);
  assert_int_equal(kp_alloc_size(b), 0);
  assert_int_equal(kp_memory_bytes() - bytes, 1007);
  assert_int_equal(kp_memory_tag_bytes(KP_MEMORY_TEST) - tagged, 1007);
  assert_int_equal(kp_memory_allocations() - allocations, 3);

  // growing and shrinking keep the content
  memset(a, 'x', 1000);
  a = kp_realloc(a, 5000, KP_MEMORY_TEST);
  assert_int_equal(a[999], 'x');
  a = kp_realloc(a, 10, KP_MEMORY_TEST);
  assert_int_equal(a[9], 'x');
  assert_int_equal(kp_memory_bytes() - bytes, 17);

  kp_free(a);
  kp_free(b);
  kp_free(c);
  kp_free(NULL);
  assert_int_equal(kp_memory_bytes(), bytes);
  assert_string_equal(kp_memory_tag_name(KP_MEMORY_GRID), "neighbours");
}

static void test_memory_zero(void **state) {
  (void)state;
  unsigned char *a = kp_alloc_zero(4096, KP_MEMORY_TEST);
  for (int i = 0; i < 4096; ++i) {
    assert_int_equal(a[i], 0);
  }
  kp_free(a);
}

static void test_memory_failure(void **state) {
  (void)state;
  int64_t bytes = kp_memory_bytes();
  char *a = kp_strdup("kept", KP_MEMORY_TEST);
  kp_memory_fail_at(0);
  assert_null(kp_realloc(a, 100, KP_MEMORY_GRID));
  assert_holds(kp_last_error(), "100 bytes");
  assert_holds(kp_last_error(), "neighbours");
  assert_string_equal(a, "kept");

  // only the chosen one fails
  kp_memory_fail_at(1);
  void *first = kp_alloc(8, KP_MEMORY_TEST), *second = kp_alloc(8, KP_MEMORY_TEST);
  void *third = kp_alloc(8, KP_MEMORY_TEST);
  assert_non_null(first);
  assert_null(second);
  assert_non_null(third);

  kp_memory_fail_at(0);
  kp_memory_fail_at(-1);
  a = kp_realloc(a, 100, KP_MEMORY_TEST);
  assert_non_null(a);
  assert_null(kp_alloc(SIZE_MAX - 10, KP_MEMORY_TEST));
  kp_free(a);
  kp_free(first);
  kp_free(third);
  assert_int_equal(kp_memory_bytes(), bytes);
}

typedef struct hook_record {
  size_t live;
  int n_allocs;
} hook_record;

static void *hook_alloc(size_t size, size_t alignment, void *user) {
  hook_record *record = user;
  record->live += size;
  record->n_allocs += 1;
  void *memory = NULL;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void hook_free(void *memory, size_t size, void *user) {
  hook_record *record = user;
  record->live -= size;
  free(memory);
}

static void test_memory_hook(void **state) {
  (void)state;
  hook_record record = { 0 };
  kp_set_allocator(hook_alloc, hook_free, &record);
  void *a = kp_alloc(100, KP_MEMORY_TEST);
  void *b = kp_realloc(a, 300, KP_MEMORY_TEST);
  assert_int_equal(record.n_allocs, 2);
  assert_true(record.live >= 300 && record.live <= 300 + 64);
  kp_free(b);
  assert_int_equal(record.live, 0);
  kp_set_allocator(NULL, NULL, NULL);
}

enum { N_ROUNDS = 2000 };

static void *allocate_often(void *argument) {
  for (int i = 0; i < N_ROUNDS; ++i) {
    kp_free(kp_alloc((size_t)i, KP_MEMORY_TEST));
  }
  return argument;
}

static void test_memory_threads(void **state) {
  (void)state;
  int64_t bytes = kp_memory_bytes(), allocations = kp_memory_allocations();
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, allocate_often, NULL), 0);
  }
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  assert_int_equal(kp_memory_bytes(), bytes);
  assert_int_equal(kp_memory_allocations() - allocations, 4 * N_ROUNDS);
}

// arrays

typedef struct pair {
  int a;
  double b;
} pair;

static void test_array(void **state) {
  (void)state;
  int64_t bytes = kp_memory_bytes(), allocations = kp_memory_allocations();
  KP_ARRAY(pair) pairs = { 0 };
  for (int i = 0; i < 10000; ++i) {
    assert_ok(kp_array_push(&pairs, (pair){ i, 0.5 * i }));
  }
  assert_int_equal(pairs.count, 10000);
  assert_int_equal(pairs.data[0].a, 0);
  assert_int_equal(pairs.data[9999].a, 9999);
  assert_true(pairs.data[9999].b == 4999.5);
  // growth by half: log(10000 / 8) / log(1.5) steps
  assert_true(kp_memory_allocations() - allocations <= 20);

  assert_ok(kp_array_resize(&pairs, 3));
  assert_int_equal(pairs.count, 3);
  size_t capacity = pairs.capacity;
  assert_ok(kp_array_reserve(&pairs, 5));
  assert_int_equal(pairs.capacity, capacity);
  kp_array_free(&pairs);
  assert_null(pairs.data);
  assert_int_equal(kp_memory_bytes(), bytes);
}

static void test_array_failure_keeps_content(void **state) {
  (void)state;
  KP_ARRAY(int) numbers = { 0 };
  for (int i = 0; i < 8; ++i) {
    assert_ok(kp_array_push(&numbers, i));
  }
  kp_memory_fail_at(0);
  assert_fails(KP_ERROR_MEMORY, "out of memory", kp_array_push(&numbers, 8));
  assert_int_equal(numbers.count, 8);
  assert_int_equal(numbers.data[7], 7);
  assert_fails(KP_ERROR_MEMORY, "out of memory", kp_array_reserve(&numbers, SIZE_MAX / 2));
  assert_ok(kp_array_push(&numbers, 8));
  assert_int_equal(numbers.data[8], 8);
  kp_array_free(&numbers);
}

// arena

static void take_some(kp_arena scratch, size_t n, size_t size) {
  for (size_t i = 0; i < n; ++i) {
    char *memory = kp_arena_take(&scratch, size);
    assert_non_null(memory);
    memset(memory, (int)i, size);
  }
}

static void test_arena_rewinds_by_value(void **state) {
  (void)state;
  kp_arena arena;
  assert_ok(kp_arena_create(&arena, 1024));
  char *kept = kp_arena_take(&arena, 100);
  assert_int_equal((uintptr_t)kept % 64, 0);
  memset(kept, 'k', 100);
  size_t offset = arena.offset;

  kp_arena copy = arena;
  void *first = kp_arena_take(&copy, 64);
  take_some(arena, 5, 64);
  assert_int_equal(arena.offset, offset);
  assert_ptr_equal(kp_arena_take(&arena, 64), first);
  assert_int_equal(kept[99], 'k');

  // 128 for the first, then five of 64
  assert_int_equal(kp_arena_high_water(&arena), 128 + 5 * 64);
  kp_arena_destroy(&arena);
}

static void test_arena_overflow_then_steady(void **state) {
  (void)state;
  int64_t bytes = kp_memory_bytes();
  kp_arena arena;
  assert_ok(kp_arena_create(&arena, 256));

  // the first step overflows into extra blocks, which may not overlap
  char *blocks[20];
  for (int i = 0; i < 20; ++i) {
    blocks[i] = kp_arena_take(&arena, 200);
    memset(blocks[i], i, 200);
  }
  for (int i = 0; i < 20; ++i) {
    assert_int_equal(blocks[i][0], i);
    assert_int_equal(blocks[i][199], i);
  }
  assert_true(kp_arena_high_water(&arena) >= 20 * 256);
  assert_ok(kp_arena_reset(&arena));

  // the same again allocates nothing
  int64_t allocations = kp_memory_allocations();
  for (int step = 0; step < 10; ++step) {
    take_some(arena, 20, 200);
    assert_ok(kp_arena_reset(&arena));
  }
  assert_int_equal(kp_memory_allocations(), allocations);
  kp_arena_destroy(&arena);
  kp_arena_destroy(&arena);
  assert_int_equal(kp_memory_bytes(), bytes);
}

static void test_arena_reuses_overflow_before_reset(void **state) {
  (void)state;
  kp_arena arena;
  assert_ok(kp_arena_create(&arena, 64));
  take_some(arena, 10, 1000);
  int64_t allocations = kp_memory_allocations();
  for (int i = 0; i < 10; ++i) {
    take_some(arena, 10, 1000);
  }
  assert_int_equal(kp_memory_allocations(), allocations);
  kp_arena_destroy(&arena);
}

static void random_takes(kp_test_random *random, kp_arena scratch, int depth) {
  unsigned char *held[8];
  size_t sizes[8];
  unsigned char mark = (unsigned char)(depth + 1);
  int n = (int)kp_test_integer(random, 1, 8);
  for (int i = 0; i < n; ++i) {
    sizes[i] = (size_t)kp_test_integer(random, 0, 700);
    held[i] = kp_arena_take(&scratch, sizes[i]);
    memset(held[i], mark, sizes[i]);
    if (depth < 3 && kp_test_integer(random, 0, 2) == 0) {
      random_takes(random, scratch, depth + 1);
    }
  }
  // what deeper levels took never touched ours
  for (int i = 0; i < n; ++i) {
    for (size_t k = 0; k < sizes[i]; ++k) {
      assert_int_equal(held[i][k], mark);
    }
  }
}

static void arena_case(kp_test_random *random, void *user) {
  (void)user;
  kp_arena arena;
  assert_ok(kp_arena_create(&arena, (size_t)kp_test_integer(random, 0, 2000)));
  for (int step = 0; step < 5; ++step) {
    random_takes(random, arena, 0);
    assert_ok(kp_arena_reset(&arena));
  }
  kp_arena_destroy(&arena);
}

static void test_arena_random(void **state) {
  (void)state;
  kp_test_for_seeds(100, arena_case, NULL);
}

static kp_result use_arena(void) {
  kp_arena arena;
  KP_TRY(kp_arena_create(&arena, 64));
  kp_result result = KP_OK;
  for (int i = 0; i < 4 && result == KP_OK; ++i) {
    result = kp_arena_take(&arena, 1000) != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
  if (result == KP_OK) {
    result = kp_arena_reset(&arena);
  }
  kp_arena_destroy(&arena);
  return result;
}

static void test_arena_failures(void **state) {
  (void)state;
  int64_t bytes = kp_memory_bytes();
  int n_failures = 0;
  for (;; ++n_failures) {
    kp_memory_fail_at(n_failures);
    kp_result result = use_arena();
    assert_int_equal(kp_memory_bytes(), bytes);
    if (result == KP_OK) {
      break;
    }
    assert_int_equal(result, KP_ERROR_MEMORY);
  }
  kp_memory_fail_at(-1);
  assert_true(n_failures >= 4);
}

// pool

static void test_pool_stale_ids(void **state) {
  (void)state;
  kp_pool pool = { 0 };
  kp_pool_id a, b, c;
  assert_false(kp_pool_valid(&pool, (kp_pool_id){ 0 }));
  assert_ok(kp_pool_take(&pool, &a));
  assert_ok(kp_pool_take(&pool, &b));
  assert_true(a.slot1 != 0 && b.slot1 != 0 && a.slot1 != b.slot1);
  kp_pool_give(&pool, a);
  assert_false(kp_pool_valid(&pool, a));
  assert_true(kp_pool_valid(&pool, b));
  assert_int_equal(pool.n_used, 1);

  // the slot comes back under another name
  assert_ok(kp_pool_take(&pool, &c));
  assert_int_equal(c.slot1, a.slot1);
  assert_int_not_equal(c.generation, a.generation);
  assert_true(kp_pool_valid(&pool, c));
  assert_false(kp_pool_valid(&pool, a));

  // giving a stale or foreign id back changes nothing
  kp_pool_give(&pool, a);
  kp_pool_give(&pool, (kp_pool_id){ .slot1 = 1000, .generation = 1 });
  assert_true(kp_pool_valid(&pool, c));
  assert_int_equal(pool.n_used, 2);
  kp_pool_free(&pool);
  assert_false(kp_pool_valid(&pool, c));
}

static void pool_case(kp_test_random *random, void *user) {
  (void)user;
  enum { N = 200 };
  kp_pool pool = { 0 };
  kp_pool_id ids[N], old[N];
  bool is_used[N] = { false };
  memset(old, 0, sizeof old);
  uint32_t n_used = 0;
  for (int step = 0; step < 2000; ++step) {
    int k = (int)kp_test_integer(random, 0, N - 1);
    if (is_used[k]) {
      kp_pool_give(&pool, ids[k]);
      old[k] = ids[k];
      n_used -= 1;
    } else {
      assert_ok(kp_pool_take(&pool, &ids[k]));
      n_used += 1;
    }
    is_used[k] = !is_used[k];
    assert_int_equal(pool.n_used, n_used);
  }
  for (int k = 0; k < N; ++k) {
    assert_true(!is_used[k] || kp_pool_valid(&pool, ids[k]));
    assert_false(kp_pool_valid(&pool, old[k]));
  }
  assert_true(pool.n_slots <= N);
  kp_pool_free(&pool);
}

static void test_pool_random(void **state) {
  (void)state;
  kp_test_for_seeds(20, pool_case, NULL);
}

static void test_pool_failures(void **state) {
  (void)state;
  int64_t bytes = kp_memory_bytes();
  for (int n = 0; n < 2; ++n) {
    kp_pool pool = { 0 };
    kp_pool_id id;
    kp_memory_fail_at(n);
    assert_fails(KP_ERROR_MEMORY, "out of memory", kp_pool_take(&pool, &id));
    assert_ok(kp_pool_take(&pool, &id));
    assert_true(kp_pool_valid(&pool, id));
    kp_pool_free(&pool);
    assert_int_equal(kp_memory_bytes(), bytes);
  }
}

// hash: the wanted values are those of other implementations of XXH64

static void test_hash_reference(void **state) {
  (void)state;
  const char *sentence = "Nobody inspects the spammish repetition";
  assert_int_equal(kp_hash_bytes("", 0, 0), 0xef46db3751d8e999ull);
  assert_int_equal(kp_hash_bytes("a", 1, 0), 0xd24ec4f1a98c6e5bull);
  assert_int_equal(kp_hash_bytes("abc", 3, 0), 0x44bc2cf5ad770999ull);
  assert_int_equal(kp_hash_bytes(sentence, strlen(sentence), 0), 0xfbcea83c8a378bf1ull);
  assert_int_not_equal(kp_hash_bytes("abc", 3, 1), kp_hash_bytes("abc", 3, 0));
}

static void hash_case(kp_test_random *random, void *user) {
  (void)user;
  uint8_t bytes[600];
  size_t n = (size_t)kp_test_integer(random, 0, (int64_t)sizeof bytes);
  for (size_t i = 0; i < n; ++i) {
    bytes[i] = (uint8_t)kp_test_bits(random);
  }
  uint64_t seed = kp_test_bits(random);
  kp_hash hash = kp_hash_begin(seed);
  for (size_t done = 0; done < n;) {
    size_t part = (size_t)kp_test_integer(random, 0, 90);
    part = part < n - done ? part : n - done;
    kp_hash_add(&hash, bytes + done, part);
    done += part;
    // asking in between disturbs nothing
    (void)kp_hash_end(&hash);
  }
  assert_int_equal(kp_hash_end(&hash), kp_hash_bytes(bytes, n, seed));

  // one bit matters
  if (n > 0) {
    uint64_t before = kp_hash_bytes(bytes, n, seed);
    bytes[kp_test_integer(random, 0, (int64_t)n - 1)] ^= 1;
    assert_int_not_equal(kp_hash_bytes(bytes, n, seed), before);
  }
}

static void test_hash_stream(void **state) {
  (void)state;
  kp_test_for_seeds(2000, hash_case, NULL);
}

// random numbers

enum { N_SAMPLES = 200000 };

static void test_rng_uniform(void **state) {
  (void)state;
  double sum = 0, sum_2 = 0, sum_lag = 0, last = 0.5;
  int bins[64] = { 0 };
  for (uint64_t i = 0; i < N_SAMPLES; ++i) {
    double u = kp_rng_uniform(1, KP_RNG_TEST, 7, i);
    assert_true(u >= 0.0 && u < 1.0);
    sum += u;
    sum_2 += u * u;
    sum_lag += (u - 0.5) * (last - 0.5);
    last = u;
    bins[(int)(64 * u)] += 1;
  }
  // five standard deviations
  double n = N_SAMPLES;
  assert_near(sum / n, 0.5, 5 * sqrt(1.0 / 12 / n));
  assert_near(sum_2 / n, 1.0 / 3, 5 * sqrt(4.0 / 45 / n));
  assert_near(sum_lag / n, 0.0, 5 * sqrt(1.0 / 144 / n));
  double chi_2 = 0;
  for (int i = 0; i < 64; ++i) {
    chi_2 += (bins[i] - n / 64) * (bins[i] - n / 64) / (n / 64);
  }
  assert_between(chi_2, 63 - 5 * sqrt(126.0), 63 + 5 * sqrt(126.0));
}

static void test_rng_ids_are_independent(void **state) {
  (void)state;
  // neighbouring ids, streams and seeds: no correlation between the sequences
  const uint64_t n = 50000;
  double by_id = 0, by_stream = 0, by_seed = 0;
  for (uint64_t i = 0; i < n; ++i) {
    double u = kp_rng_uniform(1, KP_RNG_TEST, i, 0) - 0.5;
    by_id += u * (kp_rng_uniform(1, KP_RNG_TEST, i + 1, 0) - 0.5);
    by_stream += u * (kp_rng_uniform(1, KP_RNG_JITTER, i, 0) - 0.5);
    by_seed += u * (kp_rng_uniform(2, KP_RNG_TEST, i, 0) - 0.5);
  }
  double bound = 5 * sqrt(1.0 / 144 * (double)n);
  kp_claim claim = { .id = "lyes-L5",
                     .text = "random streams of particles are independent",
                     .size = "50,000 particles" };
  kp_claim_status verdict =
      kp_claim_all(&claim,
                   { "correlation of neighbouring ids over 5 standard errors", fabs(by_id) / bound,
                     KP_AT_MOST, 1.0 },
                   { "of streams of one id", fabs(by_stream) / bound, KP_AT_MOST, 1.0 },
                   { "of seeds", fabs(by_seed) / bound, KP_AT_MOST, 1.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

static void test_rng_normal(void **state) {
  (void)state;
  double moments[5] = { 0 };
  for (uint64_t i = 0; i < N_SAMPLES; ++i) {
    double x = kp_rng_normal(3, KP_RNG_TEST, 11, i);
    assert_true(isfinite(x));
    double power = 1;
    for (int k = 0; k < 5; ++k, power *= x) {
      moments[k] += power / N_SAMPLES;
    }
  }
  assert_near(moments[1], 0.0, 5 * sqrt(1.0 / N_SAMPLES));
  assert_near(moments[2], 1.0, 5 * sqrt(2.0 / N_SAMPLES));
  assert_near(moments[3], 0.0, 5 * sqrt(15.0 / N_SAMPLES));
  assert_near(moments[4], 3.0, 5 * sqrt(96.0 / N_SAMPLES));
}

static void test_rng_is_fixed(void **state) {
  (void)state;
  // saved runs depend on these values: they may never change
  assert_int_equal(kp_rng_bits(0, 0, 0, 0), kp_hash_mix(kp_hash_mix(kp_hash_mix(0))));
  assert_int_equal(kp_hash_mix(0), 0xe220a8397b1dcdafull);
  // of splitmix64, and of Box and Muller, computed elsewhere
  assert_int_equal(kp_rng_bits(1, 2, 3, 4), 0xac3bce3e506305bcull);
  assert_true(kp_rng_uniform(1, 2, 3, 4) == 0.6727875616201224);
  assert_near(kp_rng_normal(1, 2, 3, 4), 1.9064598855064674, 1e-14);
}

// timer and profile

static void test_timer(void **state) {
  (void)state;
  double begin = kp_time_now();
  (void)usleep(2000);
  double seconds = kp_time_now() - begin;
  assert_between(seconds, 0.002, 60.0);
}

static void test_profile(void **state) {
  (void)state;
  kp_profile profile = { 0 };
  int sort = kp_profile_slot(&profile, "sort"), solve = kp_profile_slot(&profile, "solve");
  char same_name[] = "sort";
  assert_int_not_equal(sort, solve);
  assert_int_equal(kp_profile_slot(&profile, same_name), sort);
  kp_profile_add(&profile, sort, 0.5);
  kp_profile_add(&profile, sort, 0.25);
  assert_true(profile.seconds[sort] == 0.75);
  assert_int_equal(profile.calls[sort], 2);
  kp_profile_clear(&profile);
  assert_true(profile.seconds[sort] == 0.0);
  assert_int_equal(kp_profile_slot(&profile, "solve"), solve);

  // too many names share the last slot
  static char names[2 * KP_PROFILE_SLOTS][16];
  for (int i = 0; i < 2 * KP_PROFILE_SLOTS; ++i) {
    (void)snprintf(names[i], sizeof names[i], "stage %d", i);
    kp_profile_add(&profile, kp_profile_slot(&profile, names[i]), 1.0);
  }
  double sum = 0;
  for (int i = 0; i < profile.n_slots; ++i) {
    sum += profile.seconds[i];
  }
  assert_true(sum == 2.0 * KP_PROFILE_SLOTS);
  assert_string_equal(profile.names[KP_PROFILE_SLOTS - 1], "other");
}

// text

static void test_text_builder(void **state) {
  (void)state;
  int64_t bytes = kp_memory_bytes();
  kp_text text = { 0 };
  for (int i = 0; i < 1000; ++i) {
    assert_ok(kp_text_add(&text, "%d,", i));
  }
  assert_ok(kp_text_add(&text, "%s", ""));
  assert_int_equal(strlen(text.data), text.count);
  assert_memory_equal(text.data, "0,1,2,3,", 8);
  assert_string_equal(text.data + text.count - 4, "999,");

  // a failure leaves the text as it was
  size_t count = text.count;
  kp_memory_fail_at(0);
  assert_fails(KP_ERROR_MEMORY, "out of memory", kp_text_add(&text, "%10000d", 1));
  assert_int_equal(text.count, count);
  assert_int_equal(strlen(text.data), count);
  kp_text_free(&text);
  assert_null(text.data);
  assert_int_equal(kp_memory_bytes(), bytes);
}

static void test_text_distance(void **state) {
  (void)state;
  assert_int_equal(kp_text_distance("", "", 3), 0);
  assert_int_equal(kp_text_distance("abc", "", 3), 3);
  assert_int_equal(kp_text_distance("abcd", "", 3), 4);
  assert_int_equal(kp_text_distance("viscosity", "viscosity", 0), 0);
  assert_int_equal(kp_text_distance("viscosity", "viscosty", 3), 1);
  assert_int_equal(kp_text_distance("viscosity", "visocsity", 3), 1);
  assert_int_equal(kp_text_distance("kitten", "sitting", 3), 3);
  assert_int_equal(kp_text_distance("kitten", "sitting", 2), 3);
  assert_int_equal(kp_text_distance("spacing", "gravity", 16), 5);
}

// the plain full table, as the oracle of the banded one
static int distance_by_table(const char *a, const char *b) {
  int t[16][16];
  int n = (int)strlen(a), m = (int)strlen(b);
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j <= m; ++j) {
      if (i == 0 || j == 0) {
        t[i][j] = i + j;
        continue;
      }
      int best = t[i - 1][j] + 1;
      best = t[i][j - 1] + 1 < best ? t[i][j - 1] + 1 : best;
      int change = t[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      best = change < best ? change : best;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = t[i - 2][j - 2] + 1 < best ? t[i - 2][j - 2] + 1 : best;
      }
      t[i][j] = best;
    }
  }
  return t[n][m];
}

static void random_word(kp_test_random *random, char *word) {
  int n = (int)kp_test_integer(random, 0, 14);
  for (int i = 0; i < n; ++i) {
    word[i] = (char)kp_test_integer(random, 'a', 'c');
  }
  word[n] = '\0';
}

static void distance_case(kp_test_random *random, void *user) {
  (void)user;
  char a[16], b[16];
  random_word(random, a);
  random_word(random, b);
  int limit = (int)kp_test_integer(random, 0, KP_TEXT_DISTANCE_LIMIT);
  int wanted = distance_by_table(a, b);
  assert_int_equal(kp_text_distance(a, b, limit), wanted <= limit ? wanted : limit + 1);
  assert_int_equal(kp_text_distance(b, a, limit), kp_text_distance(a, b, limit));
}

static void test_text_distance_random(void **state) {
  (void)state;
  kp_test_for_seeds(5000, distance_case, NULL);
}

static void test_text_nearest(void **state) {
  (void)state;
  const char *const words[] = { "viscosity", "spacing", "rest_density", "shape", "h" };
  const size_t n = sizeof words / sizeof words[0];
  assert_string_equal(kp_text_nearest("viscosty", words, n), "viscosity");
  assert_string_equal(kp_text_nearest("restdensity", words, n), "rest_density");
  assert_string_equal(kp_text_nearest("shpae", words, n), "shape");
  assert_string_equal(kp_text_nearest("shape", words, n), "shape");
  assert_null(kp_text_nearest("temperature", words, n));
  // no letter in common is no likeness
  assert_null(kp_text_nearest("k", words, n));
  assert_null(kp_text_nearest("", words, n));
  assert_null(kp_text_nearest("shape", words, 0));
}

static void test_text_copy(void **state) {
  (void)state;
  char out[5];
  kp_text_copy(out, sizeof out, "abc");
  assert_string_equal(out, "abc");
  kp_text_copy(out, sizeof out, "abcdefgh");
  assert_string_equal(out, "abcd");
  kp_text_copy(out, 1, "abc");
  assert_string_equal(out, "");
}

// the helpers of the tests themselves

static void test_folder(void **state) {
  void *folder = NULL;
  (void)state;
  assert_int_equal(kp_test_folder_make(&folder), 0);
  const char *path = kp_test_path(folder, "file");
  kp_test_write_file(path, "kelpie", 6);
  size_t size = 0;
  char *bytes = kp_test_read_file(path, &size);
  assert_int_equal(size, 6);
  assert_string_equal(bytes, "kelpie");
  kp_free(bytes);
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(kp_test_folder_remove(&folder), 0);
  assert_int_not_equal(stat(path, &info), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_result_tables),
    cmocka_unit_test(test_result_sentence),
    cmocka_unit_test(test_result_long_sentence_is_cut),
    cmocka_unit_test(test_result_is_per_thread),
    cmocka_unit_test(test_log),
    cmocka_unit_test(test_assert_says_where_and_aborts),
    cmocka_unit_test(test_memory_counts),
    cmocka_unit_test(test_memory_zero),
    cmocka_unit_test(test_memory_failure),
    cmocka_unit_test(test_memory_hook),
    cmocka_unit_test(test_memory_threads),
    cmocka_unit_test(test_array),
    cmocka_unit_test(test_array_failure_keeps_content),
    cmocka_unit_test(test_arena_rewinds_by_value),
    cmocka_unit_test(test_arena_overflow_then_steady),
    cmocka_unit_test(test_arena_reuses_overflow_before_reset),
    cmocka_unit_test(test_arena_random),
    cmocka_unit_test(test_arena_failures),
    cmocka_unit_test(test_pool_stale_ids),
    cmocka_unit_test(test_pool_random),
    cmocka_unit_test(test_pool_failures),
    cmocka_unit_test(test_hash_reference),
    cmocka_unit_test(test_hash_stream),
    cmocka_unit_test(test_rng_uniform),
    cmocka_unit_test(test_rng_ids_are_independent),
    cmocka_unit_test(test_rng_normal),
    cmocka_unit_test(test_rng_is_fixed),
    cmocka_unit_test(test_timer),
    cmocka_unit_test(test_profile),
    cmocka_unit_test(test_text_builder),
    cmocka_unit_test(test_text_distance),
    cmocka_unit_test(test_text_distance_random),
    cmocka_unit_test(test_text_nearest),
    cmocka_unit_test(test_text_copy),
    cmocka_unit_test(test_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
