// Runs a fuzz target on every file of its corpus, so that what fuzzing once found stays fixed in
// builds without libFuzzer: replay [folder], by default tests/fuzz/corpus/<name>. A corpus of which
// all is refused, or nothing, tries half of a reader: that fails.
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

#define PATH_SIZE 4096

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return 1;
  }
  size_t capacity = 1 << 16;
  size_t n = 0;
  uint8_t *bytes = malloc(capacity);
  while (bytes != NULL && !feof(file) && !ferror(file)) {
    n += fread(bytes + n, 1, capacity - n, file);
    if (n == capacity) {
      capacity *= 2;
      uint8_t *more = realloc(bytes, capacity);
      if (more == NULL) {
        free(bytes);
      }
      bytes = more;
    }
  }
  int failed = bytes == NULL || ferror(file) != 0;
  (void)fclose(file);
  if (!failed) {
    // a block of the exact size, so that sanitizers see every read beyond it
    uint8_t *exact = malloc(n > 0 ? n : 1);
    if (exact != NULL) {
      memcpy(exact, bytes, n);
      (void)LLVMFuzzerTestOneInput(exact, n);
    }
    free(exact);
  }
  free(bytes);
  return failed;
}

int main(int argc, char **argv) {
  char folder[PATH_SIZE];
  const char *source = getenv("KELPIE_SOURCE_DIR");
  (void)snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", source != NULL ? source : ".",
                 kp_fuzz_corpus);
  const char *where = argc > 1 ? argv[1] : folder;
  DIR *directory = opendir(where);
  if (directory == NULL) {
    (void)fprintf(stderr, "%s: cannot be opened\n", where);
    return 1;
  }
  int n_files = 0;
  int n_failed = 0;
  for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    if (entry->d_name[0] == '.') {
      continue;
    }
    char path[2 * PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", where, entry->d_name);
    (void)printf("%s\n", path);
    n_failed += replay_file(path);
    ++n_files;
  }
  (void)closedir(directory);
  (void)printf("%d files, %d unreadable, %d not refused\n", n_files, n_failed, kp_fuzz_n_read);
  bool is_whole = argc > 1 || (kp_fuzz_n_read > 0 && kp_fuzz_n_read < n_files);
  return n_files > 0 && n_failed == 0 && is_whole ? 0 : 1;
}
