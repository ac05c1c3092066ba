#include "base/memory.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/result.h"

// Each block is preceded by one cache line that remembers what free and the counters need.
#define ALIGNMENT 64

typedef struct header {
  size_t size;
  kp_memory_tag tag;
  uint32_t magic;
  char padding[ALIGNMENT - sizeof(size_t) - sizeof(kp_memory_tag) - sizeof(uint32_t)];
} header;

_Static_assert(sizeof(header) == ALIGNMENT, "the header must keep the block aligned");

#define MAGIC_LIVE 0x6b65706cu
#define MAGIC_DEAD 0x64656164u

static const char *const tag_names[] = {
#define X(name, text) text,
  KP_MEMORY_TAGS(X)
#undef X
};

static void *alloc_from_system(size_t size, size_t alignment, void *user) {
  (void)user;
  // posix_memalign takes any size, so a sanitizer sees the true end of the block
  void *memory = NULL;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void free_to_system(void *memory, size_t size, void *user) {
  (void)size;
  (void)user;
  free(memory);
}

static kp_alloc_fn alloc_hook = alloc_from_system;
static kp_free_fn free_hook = free_to_system;
static void *hook_user;

static atomic_int_fast64_t bytes_by_tag[KP_MEMORY_TAG_COUNT];
static atomic_int_fast64_t allocations;
static atomic_int_fast64_t fail_countdown = -1;

void kp_set_allocator(kp_alloc_fn alloc_fn, kp_free_fn free_fn, void *user) {
  bool is_custom = alloc_fn != NULL && free_fn != NULL;
  alloc_hook = is_custom ? alloc_fn : alloc_from_system;
  free_hook = is_custom ? free_fn : free_to_system;
  hook_user = is_custom ? user : NULL;
}

static bool must_fail(void) {
  if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) < 0) {
    return false;
  }
  return atomic_fetch_sub(&fail_countdown, 1) == 0;
}

static header *header_of(const void *memory) {
  header *h = (header *)((uintptr_t)memory - sizeof(header));
  KP_ASSERT(h->magic == MAGIC_LIVE);
  return h;
}

static void count_bytes(kp_memory_tag tag, int64_t bytes) {
  atomic_fetch_add_explicit(&bytes_by_tag[tag], bytes, memory_order_relaxed);
}

void *kp_alloc(size_t size, kp_memory_tag tag) {
  KP_ASSERT((unsigned)tag < (unsigned)KP_MEMORY_TAG_COUNT);

  header *h = NULL;
  if (size <= PTRDIFF_MAX - sizeof(header) && !must_fail()) {
    h = alloc_hook(sizeof(header) + size, ALIGNMENT, hook_user);
  }
  if (h == NULL) {
    (void)kp_fail(KP_ERROR_MEMORY, "out of memory: %zu bytes for %s", size, tag_names[tag]);
    return NULL;
  }
  *h = (header){ .size = size, .tag = tag, .magic = MAGIC_LIVE };
  count_bytes(tag, (int64_t)size);
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
#ifdef KP_VALIDATE
  // NaN as a number, -1 as an index: values nobody wrote do not pass as data
  memset(h + 1, 0xff, size);
#endif
  return h + 1;
}

void *kp_alloc_zero(size_t size, kp_memory_tag tag) {
  void *memory = kp_alloc(size, tag);
  if (memory != NULL) {
    memset(memory, 0, size);
  }
  return memory;
}

void *kp_realloc(void *memory, size_t size, kp_memory_tag tag) {
  void *grown = kp_alloc(size, tag);
  if (grown != NULL && memory != NULL) {
    size_t old_size = header_of(memory)->size;
    memcpy(grown, memory, old_size < size ? old_size : size);
    kp_free(memory);
  }
  return grown;
}

void kp_free(void *memory) {
  if (memory == NULL) {
    return;
  }
  header *h = header_of(memory);
  count_bytes(h->tag, -(int64_t)h->size);
  h->magic = MAGIC_DEAD;
  free_hook(h, sizeof(header) + h->size, hook_user);
}

size_t kp_alloc_size(const void *memory) {
  return memory != NULL ? header_of(memory)->size : 0;
}

// What a control group may have; containers see the memory of the whole machine otherwise.
static double group_limit(void) {
  static const char *const places[] = { "/sys/fs/cgroup/memory.max",
                                        "/sys/fs/cgroup/memory/memory.limit_in_bytes" };
  for (size_t k = 0; k < sizeof places / sizeof places[0]; ++k) {
    FILE *stream = fopen(places[k], "re");
    char line[64];
    if (stream == NULL) {
      continue;
    }
    bool is_read = fgets(line, sizeof line, stream) != NULL;
    (void)fclose(stream);
    double bytes = is_read ? strtod(line, NULL) : 0.0;
    return bytes > 0.0 ? bytes : HUGE_VAL;  // "max"
  }
  return HUGE_VAL;
}

double kp_memory_limit(void) {
  struct rlimit space;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  double bytes = pages > 0 && page > 0 ? (double)pages * (double)page : HUGE_VAL;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    bytes = fmin(bytes, (double)space.rlim_cur);
  }
  return fmin(bytes, group_limit());
}

char *kp_strdup(const char *text, kp_memory_tag tag) {
  size_t size = strlen(text) + 1;
  char *copy = kp_alloc(size, tag);
  if (copy != NULL) {
    memcpy(copy, text, size);
  }
  return copy;
}

const char *kp_memory_tag_name(kp_memory_tag tag) {
  return (unsigned)tag < (unsigned)KP_MEMORY_TAG_COUNT ? tag_names[tag] : "unknown";
}

int64_t kp_memory_tag_bytes(kp_memory_tag tag) {
  KP_ASSERT((unsigned)tag < (unsigned)KP_MEMORY_TAG_COUNT);
  return atomic_load_explicit(&bytes_by_tag[tag], memory_order_relaxed);
}

int64_t kp_memory_bytes(void) {
  int64_t bytes = 0;
  for (int tag = 0; tag < KP_MEMORY_TAG_COUNT; ++tag) {
    bytes += kp_memory_tag_bytes((kp_memory_tag)tag);
  }
  return bytes;
}

int64_t kp_memory_allocations(void) {
  return atomic_load_explicit(&allocations, memory_order_relaxed);
}

void kp_memory_fail_at(int64_t n) {
  atomic_store(&fail_countdown, n);
}
