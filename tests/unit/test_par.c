// Parallel loops, instruction sets, scan, sort, backends and the one-rank comm.
#include "support/test.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "par/comm.h"
#include "par/parallel.h"

#include "kernels/chosen_backend.h"

#define MAX_THREADS 4

// ---- instruction sets

static int child_isa(const char *wanted) {
  pid_t child = fork();
  if (child == 0) {
    (void)setenv("KP_ISA", wanted, 1);
    _exit((int)kp_isa_current());
  }
  int status = 0;
  assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

// Must be the first test: the choice is made once per process, and the children inherit it.
static void isa_follows_the_environment(void **state) {
  (void)state;
  kp_set_log(NULL, NULL, KP_LOG_ERROR);
  int best = child_isa("");
  assert_int_equal(child_isa("base"), KP_ISA_BASE);
  assert_int_equal(child_isa("v3"), best < KP_ISA_V3 ? best : KP_ISA_V3);
  assert_int_equal(child_isa("v4"), best);
  assert_int_equal(child_isa("v5"), best);
  kp_set_log(NULL, NULL, KP_LOG_INFO);
}

static void isa_can_be_forced(void **state) {
  (void)state;
  kp_isa best = kp_isa_current();
  for (int isa = 0; isa < KP_ISA_COUNT; ++isa) {
    kp_isa_force((kp_isa)isa);
    assert_int_equal(kp_isa_current(), (kp_isa)isa < best ? (kp_isa)isa : best);
  }
  assert_string_equal(kp_isa_name(KP_ISA_BASE), "base");
  assert_string_equal(kp_isa_name(KP_ISA_V3), "v3");
  assert_string_equal(kp_isa_name(KP_ISA_V4), "v4");
  assert_string_equal(kp_isa_name(KP_ISA_COUNT), "unknown");
}

// ---- loops

#define N_VISITS 4096

typedef struct visit_log {
  int64_t n, chunk;
  int n_threads;
  atomic_int visits[N_VISITS];
  atomic_int n_wrong;
} visit_log;

static void visit(int64_t begin, int64_t end, void *context) {
  visit_log *log = context;
  int64_t full = begin + log->chunk < log->n ? begin + log->chunk : log->n;
  bool is_right = begin % log->chunk == 0 && end == full && kp_parallel_worker() >= 0 &&
                  kp_parallel_worker() < log->n_threads;
  if (!is_right) {
    atomic_fetch_add(&log->n_wrong, 1);
  }
  for (int64_t i = begin; i < end; ++i) {
    atomic_fetch_add(&log->visits[i], 1);
  }
}

static void chunks_are_fixed(void **state) {
  (void)state;
  static visit_log log;
  const int64_t sizes[] = { 0, 1, 7, 64, 65, 1000, N_VISITS };
  const int64_t chunks[] = { 1, 7, 64, 10000 };
  for (int threads = 1; threads <= MAX_THREADS; ++threads) {
    kp_parallel_set_threads(threads);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
      for (size_t c = 0; c < sizeof chunks / sizeof chunks[0]; ++c) {
        memset(&log, 0, sizeof log);
        log.n = sizes[s];
        log.n_threads = threads;
        log.chunk = chunks[c];
        kp_parallel_for(log.n, log.chunk, visit, &log);
        assert_int_equal(atomic_load(&log.n_wrong), 0);
        for (int64_t i = 0; i < N_VISITS; ++i) {
          assert_int_equal(atomic_load(&log.visits[i]), i < log.n ? 1 : 0);
        }
      }
    }
  }
  kp_parallel_set_threads(0);
  assert_int_equal(kp_parallel_worker(), 0);
}

typedef struct nest_log {
  int outer_worker;
  int n_inner;
  bool is_serial;
} nest_log;

static void nest_inner(int64_t begin, int64_t end, void *context) {
  nest_log *log = context;
  log->is_serial = log->is_serial && log->n_inner == begin;
  log->is_serial = log->is_serial && kp_parallel_worker() == log->outer_worker;
  log->n_inner += (int)(end - begin);
}

static void nest_outer(int64_t begin, int64_t end, void *context) {
  nest_log *logs = context;
  for (int64_t i = begin; i < end; ++i) {
    logs[i] = (nest_log){ .outer_worker = kp_parallel_worker(), .is_serial = true };
    kp_parallel_for(100, 1, nest_inner, &logs[i]);
  }
}

static void nested_loops_are_serial(void **state) {
  (void)state;
  nest_log logs[32];
  kp_parallel_set_threads(MAX_THREADS);
  kp_parallel_for(32, 1, nest_outer, logs);
  kp_parallel_set_threads(0);
  for (int i = 0; i < 32; ++i) {
    assert_true(logs[i].is_serial);
    assert_int_equal(logs[i].n_inner, 100);
  }
}

static void threads_are_set_and_restored(void **state) {
  (void)state;
  int machine = kp_parallel_threads();
  assert_true(machine >= 1);
  kp_parallel_set_threads(3);
  assert_int_equal(kp_parallel_threads(), 3);
  kp_parallel_set_threads(0);
  assert_int_equal(kp_parallel_threads(), machine);
}

// ---- scan

static void check_scan(kp_backend *b, const uint32_t *in, int64_t n, bool in_place) {
  size_t in_size = (size_t)n * sizeof *in;
  size_t out_size = in_size + sizeof *in;
  uint32_t *device_out = kp_device_alloc(b, out_size);
  uint32_t *device_in = in_place ? device_out : kp_device_alloc(b, in_size);
  assert_ok(kp_copy_in(b, device_in, in, in_size));
  assert_ok(kp_scan(b, device_in, device_out, n));
  uint32_t *out = host_alloc(out_size);
  if (!in_place) {
    kp_device_free(b, device_in);
  }
  download(b, out, device_out, out_size);

  uint32_t total = 0;
  for (int64_t i = 0; i <= n; ++i) {
    assert_int_equal(out[i], total);
    total += i < n ? in[i] : 0;
  }
  kp_free(out);
}

static void scan_is_the_running_sum(void **state) {
  (void)state;
  const int64_t sizes[] = { 0, 1, 2, 3, 1000, 32768, 32769, 65536, 200001 };
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
    int64_t n = sizes[s];
    kp_test_random random = kp_test_random_begin(7);
    uint32_t *in = host_alloc((size_t)n * sizeof *in + 1);
    for (int64_t i = 0; i < n; ++i) {
      in[i] = (uint32_t)kp_test_integer(&random, 0, 1000);
    }
    for (int b = 0; b < n_test_backends; ++b) {
      for (int threads = 1; threads <= MAX_THREADS; ++threads) {
        kp_parallel_set_threads(threads);
        check_scan(test_backends[b], in, n, false);
        check_scan(test_backends[b], in, n, true);
      }
    }
    kp_free(in);
  }
  kp_parallel_set_threads(0);
}

// ---- sort

typedef enum key_pattern {
  KEYS_RANDOM,
  KEYS_SORTED,
  KEYS_REVERSE,
  KEYS_EQUAL,
  KEYS_FEW,        // long runs of equal keys
  KEYS_NEARLY,     // sorted but for a few
  KEYS_ONE_DIGIT,  // only some middle bits vary
  KEYS_COUNT
} key_pattern;

static uint64_t make_key(key_pattern pattern, int64_t i, int64_t n, kp_test_random *random) {
  uint64_t r = kp_test_bits(random);
  switch (pattern) {
  case KEYS_SORTED:
    return (uint64_t)i;
  case KEYS_REVERSE:
    return (uint64_t)(n - i);
  case KEYS_EQUAL:
    return 0x123456789abcdefull;
  case KEYS_FEW:
    return r & 0x30000003u;
  case KEYS_NEARLY:
    return (uint64_t)i + (r % 64 == 0 ? r % 1000 : 0);
  case KEYS_ONE_DIGIT:
    return r & 0x7f00u;
  default:
    return r;
  }
}

typedef struct reference_item {
  uint64_t masked;
  int64_t index;
} reference_item;

static int compare_items(const void *a, const void *b) {
  const reference_item *x = a;
  const reference_item *y = b;
  if (x->masked != y->masked) {
    return x->masked < y->masked ? -1 : 1;
  }
  return x->index < y->index ? -1 : 1;
}

typedef struct sort_case {
  int64_t n;
  int bits;
  bool is_wide;
  uint64_t *keys;  // with bits set beyond those that count
  uint32_t *values;
  reference_item *order;  // sorted
} sort_case;

static sort_case make_sort_case(int64_t n, int bits, bool is_wide, key_pattern pattern) {
  sort_case c = { .n = n, .bits = bits, .is_wide = is_wide };
  c.keys = host_alloc((size_t)n * sizeof *c.keys);
  c.values = host_alloc((size_t)n * sizeof *c.values);
  c.order = host_alloc((size_t)n * sizeof *c.order);
  uint64_t mask = bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
  kp_test_random random = kp_test_random_begin((uint64_t)n + (uint64_t)bits);
  for (int64_t i = 0; i < n; ++i) {
    c.keys[i] = make_key(pattern, i, n, &random);
    c.keys[i] &= is_wide ? UINT64_MAX : UINT32_MAX;
    c.values[i] = (uint32_t)kp_test_bits(&random);
    c.order[i] = (reference_item){ c.keys[i] & mask, i };
  }
  if (n > 0) {
    qsort(c.order, (size_t)n, sizeof *c.order, compare_items);
  }
  return c;
}

static void free_sort_case(sort_case *c) {
  kp_free(c->keys);
  kp_free(c->values);
  kp_free(c->order);
}

static void check_sort(kp_backend *b, const sort_case *c) {
  size_t n = (size_t)c->n;
  size_t key_size = c->is_wide ? sizeof(uint64_t) : sizeof(uint32_t);
  uint64_t *keys = host_alloc(n * sizeof *keys);
  uint32_t *narrow = (uint32_t *)keys;
  for (size_t i = 0; i < n; ++i) {
    if (c->is_wide) {
      keys[i] = c->keys[i];
    } else {
      narrow[i] = (uint32_t)c->keys[i];
    }
  }
  uint32_t *values = host_alloc(n * sizeof *values);
  void *device_keys = upload(b, keys, n * key_size);
  uint32_t *device_values = upload(b, c->values, n * sizeof *values);
  assert_ok(c->is_wide ? kp_sort64(b, device_keys, device_values, c->n, c->bits)
                       : kp_sort32(b, device_keys, device_values, c->n, c->bits));
  download(b, keys, device_keys, n * key_size);
  download(b, values, device_values, n * sizeof *values);
  for (size_t i = 0; i < n; ++i) {
    int64_t from = c->order[i].index;
    uint64_t key = c->is_wide ? keys[i] : narrow[i];
    assert_true(key == c->keys[from] && values[i] == c->values[from]);
  }
  kp_free(keys);
  kp_free(values);
}

static void check_sort_everywhere(int64_t n, int bits, bool is_wide, key_pattern pattern) {
  sort_case c = make_sort_case(n, bits, is_wide, pattern);
  for (int b = 0; b < n_test_backends; ++b) {
    for (int threads = 1; threads <= MAX_THREADS; ++threads) {
      kp_parallel_set_threads(threads);
      check_sort(test_backends[b], &c);
    }
  }
  kp_parallel_set_threads(0);
  free_sort_case(&c);
}

static void sort_is_stable_for_all_patterns(void **state) {
  (void)state;
  const int64_t sizes[] = { 0, 1, 2, 3, 31, 1001, 16384, 50001 };
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
    for (int pattern = 0; pattern < KEYS_COUNT; ++pattern) {
      check_sort_everywhere(sizes[s], 22, false, (key_pattern)pattern);
      check_sort_everywhere(sizes[s], 41, true, (key_pattern)pattern);
    }
  }
}

static void sort_takes_any_number_of_bits(void **state) {
  (void)state;
  for (int bits = 0; bits <= 64; ++bits) {
    check_sort_everywhere(1500, bits, true, KEYS_RANDOM);
    if (bits <= 32) {
      check_sort_everywhere(1500, bits, false, KEYS_RANDOM);
    }
  }
  const int some[] = { 1, 11, 12, 32 };
  for (size_t k = 0; k < sizeof some / sizeof some[0]; ++k) {
    check_sort_everywhere(70000, some[k], false, KEYS_RANDOM);
    check_sort_everywhere(70000, 2 * some[k], true, KEYS_RANDOM);
  }
}

static void primitives_allocate_once(void **state) {
  (void)state;
  for (int b = 0; b < n_test_backends; ++b) {
    kp_backend *backend = test_backends[b];
    sort_case c = make_sort_case(40000, 30, false, KEYS_RANDOM);
    uint32_t *keys = kp_device_alloc(backend, 40000 * sizeof *keys);
    uint32_t *values = upload(backend, c.values, 40000 * sizeof *values);
    int64_t before = 0;
    int64_t device_before = 0;
    for (int round = 0; round < 3; ++round) {
      if (round == 1) {
        before = kp_memory_allocations();
        device_before = backend->counters.device_allocations;
      }
      // the values are as good as keys: random
      assert_ok(kp_copy(backend, keys, values, 40000 * sizeof *keys));
      assert_ok(kp_sort32(backend, keys, values, 40000, 30));
      assert_ok(kp_scan(backend, keys, keys, 39999));
    }
    assert_int_equal(kp_memory_allocations(), before);
    assert_int_equal(backend->counters.device_allocations, device_before);
    kp_device_free(backend, keys);
    kp_device_free(backend, values);
    free_sort_case(&c);
  }
}

// ---- backends

static void backends_have_names(void **state) {
  (void)state;
  kp_backend_kind kind;
  assert_ok(kp_backend_parse("cpu", &kind));
  assert_int_equal(kind, KP_BACKEND_CPU);
  assert_ok(kp_backend_parse("mirror", &kind));
  assert_int_equal(kind, KP_BACKEND_MIRROR);
  assert_ok(kp_backend_parse("cuda", &kind));
  assert_int_equal(kind, KP_BACKEND_CUDA);
  assert_fails(KP_ERROR_ARGUMENT, "did you mean \"cuda\"", kp_backend_parse("cudda", &kind));
  assert_fails(KP_ERROR_ARGUMENT, "known are", kp_backend_parse("abacus", &kind));
}

static void missing_cuda_is_said_plainly(void **state) {
  (void)state;
#ifdef KP_WITH_CUDA
  kp_test_skip("CUDA is there");
#else
  kp_backend *backend;
  assert_fails(KP_ERROR_BACKEND, "build with the cuda preset",
               kp_backend_create(KP_BACKEND_CUDA, &backend));
  assert_null(backend);
#endif
}

static void counters_count(void **state) {
  (void)state;
  uint32_t host[3] = { 5, 6, 7 };
  uint32_t back[3] = { 0 };
  for (int b = 0; b < n_test_backends; ++b) {
    kp_backend *backend = test_backends[b];
    kp_backend_counters before = backend->counters;
    uint32_t *device = upload(backend, host, sizeof host);
    assert_int_equal(backend->counters.device_bytes, before.device_bytes + 12);
    assert_ok(kp_copy_out(backend, back, device, 8));
    assert_ok(kp_copy_in(backend, device, host, 0));
    assert_ok(kp_copy_in(backend, host, host, sizeof host));
    assert_int_equal(backend->counters.bytes_in, before.bytes_in + 12);
    assert_int_equal(backend->counters.bytes_out, before.bytes_out + 8);
    assert_int_equal(backend->counters.copies, before.copies + 2);
    assert_int_equal(backend->counters.device_allocations, before.device_allocations + 1);
    assert_ok(kp_sort32(backend, device, device, 1, 32));
    assert_int_equal(backend->counters.launches, before.launches);
    assert_int_equal(back[1], 6);
    kp_device_free(backend, device);
    assert_int_equal(backend->counters.device_bytes, before.device_bytes);
    assert_ok(kp_wait(backend));
  }
}

static void copies_and_fills_reach_the_device(void **state) {
  (void)state;
  size_t size = (size_t)5 << 20;
  char *host = host_alloc(size);
  char *back = host_alloc(size);
  for (size_t i = 0; i < size; ++i) {
    host[i] = (char)(i * 7 >> 3);
  }
  for (int b = 0; b < n_test_backends; ++b) {
    kp_backend *backend = test_backends[b];
    char *device = upload(backend, host, size);
    char *twin = kp_device_alloc(backend, size);
    assert_ok(kp_fill(backend, twin, 0x5a, size));
    assert_ok(kp_copy(backend, twin + 100, device, size - 100));
    kp_device_free(backend, device);
    download(backend, back, twin, size);
    assert_int_equal(back[99], 0x5a);
    assert_memory_equal(back + 100, host, size - 100);
  }
  kp_free(host);
  kp_free(back);
}

static void mirror_memory_is_apart_and_poisoned(void **state) {
  (void)state;
  kp_backend *mirror;
  assert_ok(kp_backend_create(KP_BACKEND_MIRROR, &mirror));
  assert_false(mirror->vt->shares_host_memory);
  uint32_t *fresh = kp_device_alloc(mirror, 3 * sizeof *fresh);
  uint32_t host[3];
  assert_ok(kp_copy_out(mirror, host, fresh, sizeof host));
  assert_true(host[0] == UINT32_MAX && host[2] == UINT32_MAX);
  kp_device_free(mirror, fresh);
  kp_backend_destroy(&mirror);
  assert_null(mirror);
}

static void lack_of_memory_is_an_error(void **state) {
  (void)state;
  kp_backend *backend;
  kp_memory_fail_at(0);
  assert_fails(KP_ERROR_MEMORY, "out of memory", kp_backend_create(KP_BACKEND_CPU, &backend));
  assert_null(backend);
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
  uint32_t keys[4] = { 3, 1, 2, 0 };
  uint32_t values[4] = { 30, 10, 20, 0 };
  kp_memory_fail_at(0);
  assert_fails(KP_ERROR_MEMORY, "sort", kp_sort32(backend, keys, values, 4, 2));
  assert_int_equal(keys[0], 3);
  kp_memory_fail_at(-1);
  assert_ok(kp_sort32(backend, keys, values, 4, 2));
  assert_int_equal(values[3], 30);
  kp_backend_destroy(&backend);
}

// ---- comm

static void comm_of_one_rank(void **state) {
  (void)state;
  kp_comm *comm;
  assert_ok(kp_comm_create(&comm));
  assert_int_equal(kp_comm_rank(comm), 0);
  assert_int_equal(kp_comm_size(comm), 1);
  kp_comm_barrier(comm);
  double values[2] = { 1.5, -2.5 };
  kp_comm_sum(comm, values, 2);
  kp_comm_min(comm, values, 2);
  kp_comm_max(comm, values, 2);
  kp_comm_broadcast(comm, values, sizeof values, 0);
  assert_true(values[0] == 1.5 && values[1] == -2.5);
  double gathered[2];
  kp_comm_gather(comm, values, sizeof values, gathered, 0);
  assert_memory_equal(gathered, values, sizeof values);
  assert_int_equal(kp_comm_scan(comm, 42), 0);
  assert_ok(kp_comm_agree(comm, KP_OK));
  assert_int_equal(kp_comm_agree(comm, KP_ERROR_IO), KP_ERROR_IO);
  kp_comm_destroy(&comm);
  assert_null(comm);
}

static void comm_exchange_with_itself(void **state) {
  (void)state;
  kp_comm *comm;
  assert_ok(kp_comm_create(&comm));
  int sent[3] = { 1, 2, 3 };
  int received[3] = { 0 };
  kp_comm_message messages[2] = { { 0, sent, 8, received + 1, 8 },
                                  { 0, sent + 2, 4, received, 4 } };
  assert_ok(kp_comm_exchange(comm, messages, 2));
  assert_true(received[0] == 3 && received[1] == 1 && received[2] == 2);
  messages[1].rank = 1;
  assert_fails(KP_ERROR_INTERNAL, "rank 1", kp_comm_exchange(comm, messages, 2));
  messages[1].rank = 0;
  messages[1].receive_bytes = 3;
  assert_fails(KP_ERROR_INTERNAL, "4 bytes", kp_comm_exchange(comm, messages, 2));
  kp_comm_destroy(&comm);
}

int main(int argc, char **argv) {
  int closed = open_backends(argc, argv);
  if (closed != 0) {
    return closed;
  }
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(isa_follows_the_environment),
    cmocka_unit_test(isa_can_be_forced),
    cmocka_unit_test(chunks_are_fixed),
    cmocka_unit_test(nested_loops_are_serial),
    cmocka_unit_test(threads_are_set_and_restored),
    cmocka_unit_test(scan_is_the_running_sum),
    cmocka_unit_test(sort_is_stable_for_all_patterns),
    cmocka_unit_test(sort_takes_any_number_of_bits),
    cmocka_unit_test(primitives_allocate_once),
    cmocka_unit_test(backends_have_names),
    cmocka_unit_test(missing_cuda_is_said_plainly),
    cmocka_unit_test(counters_count),
    cmocka_unit_test(copies_and_fills_reach_the_device),
    cmocka_unit_test(mirror_memory_is_apart_and_poisoned),
    cmocka_unit_test(lack_of_memory_is_an_error),
    cmocka_unit_test(comm_of_one_rank),
    cmocka_unit_test(comm_exchange_with_itself),
  };
  int result = cmocka_run_group_tests(tests, NULL, NULL);
  close_backends();
  return result;
}
