#include "support/test.h"

#include "support/faults.h"

#include <dirent.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/disk.h"
#include "io/files.h"
#include "par/parallel.h"

#define PATH_SIZE 4096

// ---- what lies in the folder

typedef struct file_copy {
  char *name;  // below the folder
  char *bytes;
  size_t size;
} file_copy;

typedef KP_ARRAY(file_copy) file_copies;

static file_copies *walk_into;
static size_t walk_skip;

static int take_file(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info;
  (void)walk;
  if (type == FTW_F) {
    file_copy copy = { .name = kp_strdup(path + walk_skip, KP_MEMORY_TEST) };
    copy.bytes = kp_test_read_file(path, &copy.size);
    assert_ok(kp_array_push(walk_into, copy));
  }
  return 0;
}

static file_copies take_files(const char *folder) {
  file_copies files = { 0 };
  walk_into = &files;
  walk_skip = strlen(folder) + 1;
  assert_int_equal(nftw(folder, take_file, 16, FTW_PHYS), 0);
  return files;
}

static void free_files(file_copies *files) {
  for (size_t i = 0; i < files->count; ++i) {
    kp_free(files->data[i].name);
    kp_free(files->data[i].bytes);
  }
  kp_array_free(files);
}

static const file_copy *find_copy(const file_copies *files, const char *name) {
  for (size_t i = 0; i < files->count; ++i) {
    if (strcmp(files->data[i].name, name) == 0) {
      return &files->data[i];
    }
  }
  return NULL;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info;
  (void)type;
  return walk->level > 0 ? remove(path) : 0;
}

static void put_files(const char *folder, const file_copies *files) {
  assert_int_equal(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
  for (size_t i = 0; i < files->count; ++i) {
    char path[PATH_SIZE], parent[PATH_SIZE];
    assert_ok(kp_path_join(path, sizeof path, folder, files->data[i].name));
    assert_ok(kp_path_folder(parent, sizeof parent, path));
    assert_ok(kp_folder_make(parent));
    kp_test_write_file(path, files->data[i].bytes, files->data[i].size);
  }
}

static int count_descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  assert_non_null(folder);
  int n = 0;
  while (readdir(folder) != NULL) {
    ++n;
  }
  (void)closedir(folder);
  return n;
}

// ---- memory that ends

static atomic_int_fast64_t allocations_left;
static bool is_lasting;

static void *allocate(size_t size, size_t alignment, void *user) {
  (void)user;
  void *memory = NULL;
  int64_t left = atomic_fetch_sub(&allocations_left, 1);
  bool is_there = is_lasting ? left > 0 : left != 0;
  return is_there && posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void release(void *memory, size_t size, void *user) {
  (void)size;
  (void)user;
  free(memory);
}

// As kp_disk_fail_at.
static int64_t fail_memory_at(int64_t n) {
  kp_set_allocator(n >= 0 ? allocate : NULL, n >= 0 ? release : NULL, NULL);
  return atomic_exchange(&allocations_left, n);
}

// ---- one fault

typedef struct fault_kind {
  const char *word;
  int64_t (*fail_at)(int64_t n);
  kp_result code;
} fault_kind;

static const fault_kind memory_kind = { "allocation", fail_memory_at, KP_ERROR_MEMORY };
static const fault_kind disk_kind = { "disk call", kp_disk_fail_at, KP_ERROR_IO };

typedef struct fault_place {
  const kp_faults *faults;
  const fault_kind *kind;
  const file_copies *before, *after;
  int64_t n;
} fault_place;

static void describe(const fault_place *place, const char *problem, const char *name) {
  bool is_disk = place->kind == &disk_kind;
  fail_msg("%s %lld%s%s%s%s: %s%s%s; the sentence: \"%s\"", place->kind->word, (long long)place->n,
           is_disk ? " (" : "", is_disk ? kp_disk_failed_call() : "", is_disk ? " of " : "",
           is_disk ? kp_disk_failed_path() : "", problem, name != NULL ? " " : "",
           name != NULL ? name : "", kp_last_error());
}

static bool is_same(const file_copy *a, const file_copy *b) {
  return b != NULL && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool is_beginning(const file_copy *a, const file_copy *b) {
  return b != NULL && a->size <= b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool says(bool (*question)(const char *name), const char *name) {
  return question != NULL && question(name);
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), n_end = strlen(end);
  return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static void check_sentence(const fault_place *place, kp_result result) {
  char name[PATH_SIZE];
  if (result == KP_OK && place->kind == &memory_kind && place->faults->recovers) {
    return;
  }
  if (result == KP_OK) {
    describe(place, "the work did not notice", NULL);
  }
  if (result != place->kind->code) {
    describe(place, "the code is", kp_result_name(result));
  }
  if (place->kind == &memory_kind) {
    if (strstr(kp_last_error(), "memory") == NULL) {
      describe(place, "the sentence does not speak of memory", NULL);
    }
    return;
  }
  kp_text_copy(name, sizeof name, kp_path_name(kp_disk_failed_path()));
  if (ends_with(name, ".tmp")) {
    name[strlen(name) - strlen(".tmp")] = '\0';
  }
  if (strstr(kp_last_error(), name) == NULL) {
    describe(place, "the sentence does not name the file", name);
  }
}

static void check_files(const fault_place *place) {
  const kp_faults *faults = place->faults;
  file_copies now = take_files(faults->folder);
  for (size_t i = 0; i < now.count; ++i) {
    const file_copy *file = &now.data[i];
    const file_copy *old = find_copy(place->before, file->name);
    const file_copy *new = find_copy(place->after, file->name);
    bool is_whole = is_same(file, old) || is_same(file, new) || says(faults->varies, file->name) ||
                    (says(faults->grows, file->name) && is_beginning(file, new)) ||
                    (says(faults->goes, file->name) && new == NULL);
    if (ends_with(file->name, ".tmp")) {
      describe(place, "a temporary file is left:", file->name);
    }
    if (!is_whole) {
      describe(place, "neither as it was nor whole:", file->name);
    }
  }
  for (size_t i = 0; i < place->before->count; ++i) {
    const char *name = place->before->data[i].name;
    if (find_copy(&now, name) == NULL && find_copy(place->after, name) != NULL &&
        !says(faults->goes, name)) {
      describe(place, "lost:", name);
    }
  }
  free_files(&now);
}

static void check_end(const fault_place *place) {
  const kp_faults *faults = place->faults;
  file_copies now = take_files(faults->folder);
  for (size_t i = 0; i < place->after->count; ++i) {
    const file_copy *wanted = &place->after->data[i], *file = find_copy(&now, wanted->name);
    if (file == NULL) {
      describe(place, "not there after the work was done again:", wanted->name);
    } else if (!is_same(file, wanted) && !says(faults->varies, wanted->name)) {
      describe(place, "different after the work was done again:", wanted->name);
    }
  }
  for (size_t i = 0; i < now.count; ++i) {
    if (find_copy(place->after, now.data[i].name) == NULL &&
        !says(faults->goes, now.data[i].name)) {
      describe(place, "left after the work was done again:", now.data[i].name);
    }
  }
  free_files(&now);
}

// False when the work has fewer such places.
static bool fail_once(const fault_place *place) {
  const kp_faults *faults = place->faults;
  put_files(faults->folder, place->before);
  int64_t bytes = kp_memory_bytes();
  int n_descriptors = count_descriptors();
  kp_clear_error();
  (void)place->kind->fail_at(place->n);
  kp_result result = faults->work(faults->user);
  bool has_failed = place->kind->fail_at(-1) < 0;
  if (!has_failed) {
    assert_ok(result);
    return false;
  }
  check_sentence(place, result);
  if (kp_memory_bytes() != bytes) {
    describe(place, "memory is lost", NULL);
  }
  if (count_descriptors() != n_descriptors) {
    describe(place, "a descriptor is lost", NULL);
  }
  check_files(place);
  if (faults->check != NULL) {
    faults->check(faults->user);
  }
  kp_result (*again)(void *user) = faults->again != NULL ? faults->again : faults->work;
  result = again(faults->user);
  if (result != KP_OK) {
    describe(place, "the work done again fails:", kp_result_name(result));
  }
  check_end(place);
  return true;
}

// The next place behind n; the strides are drawn so that `most` places are not exceeded.
static int64_t next_place(kp_test_random *random, int64_t n, int64_t n_all, int64_t most) {
  int64_t n_first = most / 2, n_last = most / 8;
  int64_t n_between = n_all - n_first - n_last, n_tries = most - n_first - n_last;
  if (n + 1 < n_first || n + 1 >= n_all - n_last || n_between <= n_tries) {
    return n + 1;
  }
  int64_t stride = (n_between + n_tries - 1) / n_tries;
  int64_t next = n + 1 + kp_test_integer(random, stride - 1, stride + 1);
  return next < n_all - n_last ? next : n_all - n_last;
}

static void fail_all(fault_place *place, int64_t n_all) {
  kp_test_random random = kp_test_random_begin(7);
  int64_t most = place->faults->most > 0 ? place->faults->most : 400;
  for (place->n = 0; fail_once(place);) {
    place->n = next_place(&random, place->n, n_all, most);
  }
}

int kp_faults_folder_make(void **state) {
  kp_parallel_set_threads(1);
  if (access("/dev/shm", W_OK) == 0) {
    (void)setenv("TMPDIR", "/dev/shm", 1);
  }
  return kp_test_folder_make(state);
}

kp_faults_tried kp_faults_try(const kp_faults *faults) {
  const file_copies nothing = { 0 };
  put_files(faults->folder, &nothing);
  if (faults->prepare != NULL) {
    faults->prepare(faults->user);
  }
  file_copies before = take_files(faults->folder);
  int64_t bytes = kp_memory_bytes();
  (void)fail_memory_at(INT64_MAX);
  (void)kp_disk_fail_at(INT64_MAX);
  kp_result result = faults->work(faults->user);
  kp_faults_tried tried = { .n_allocations = INT64_MAX - fail_memory_at(-1),
                            .n_disk_calls = INT64_MAX - kp_disk_fail_at(-1) };
  assert_ok(result);
  assert_int_equal(kp_memory_bytes(), bytes);
  file_copies after = take_files(faults->folder);
  is_lasting = faults->lasts;
  fault_place place = { .faults = faults, .before = &before, .after = &after };
  place.kind = &memory_kind;
  fail_all(&place, tried.n_allocations);
  place.kind = &disk_kind;
  fail_all(&place, tried.n_disk_calls);
  is_lasting = false;
  free_files(&before);
  free_files(&after);
  return tried;
}
