#include "io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/disk.h"

#define COPY_BLOCK ((size_t)1 << 18)

// ---- paths

kp_result kp_path_join(char *out, size_t size, const char *folder, const char *name) {
  size_t length = strlen(folder);
  const char *between = length == 0 || folder[length - 1] == '/' ? "" : "/";
  int written = snprintf(out, size, "%s%s%s", folder, between, name);
  if (written < 0 || (size_t)written >= size) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: the path is too long", name);
  }
  return KP_OK;
}

const char *kp_path_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

kp_result kp_path_folder(char *out, size_t size, const char *path) {
  const char *slash = strrchr(path, '/');
  // the root keeps its slash
  size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  if (length >= size || size < 2) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: the path is too long", path);
  }
  if (slash == NULL) {
    kp_text_copy(out, size, ".");
    return KP_OK;
  }
  memcpy(out, path, length);
  out[length] = '\0';
  return KP_OK;
}

// Cut the last name off; false when none is left.
static bool drop_last_name(char *path) {
  char *slash = strrchr(path, '/');
  if (slash == NULL || slash == path) {
    return false;
  }
  *slash = '\0';
  return true;
}

static bool lies_below(const char *folder, const char *path) {
  size_t length = strlen(folder);
  if (length == 1) {
    return true;  // the root holds everything
  }
  return strncmp(folder, path, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool kp_path_inside(const char *folder, const char *path) {
  char root[PATH_MAX], place[PATH_MAX], real[PATH_MAX];
  if (realpath(folder, root) == NULL || path[0] == '\0') {
    return false;
  }
  if (path[0] == '/') {
    if (strlen(path) >= sizeof place) {
      return false;
    }
    kp_text_copy(place, sizeof place, path);
  } else if (kp_path_join(place, sizeof place, root, path) != KP_OK) {
    return false;
  }
  // parents that exist are resolved by the system; what is missing below must not climb
  while (realpath(place, real) == NULL) {
    const char *last = kp_path_name(place);
    struct stat status;
    // a link to nowhere may lead anywhere once its end is made
    bool is_dangling_link = lstat(place, &status) == 0;
    if (is_dangling_link || strcmp(last, "..") == 0 || !drop_last_name(place)) {
      return false;
    }
  }
  return lies_below(root, real);
}

// ---- questions about files

bool kp_file_exists(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool kp_folder_exists(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

kp_result kp_file_size(const char *path, uint64_t *size) {
  struct stat status;
  if (stat(path, &status) != 0) {
    return kp_fail(KP_ERROR_IO, "%s: %s", path, strerror(errno));
  }
  *size = (uint64_t)status.st_size;
  return KP_OK;
}

kp_result kp_folder_make(const char *path) {
  char *copy = kp_strdup(path, KP_MEMORY_IO);
  if (copy == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = KP_OK;
  // each prefix that ends before a slash, then the whole
  for (char *p = copy + 1; result == KP_OK && copy[0] != '\0'; ++p) {
    char end = *p;
    if (end != '/' && end != '\0') {
      continue;
    }
    *p = '\0';
    if (!kp_disk_make_folder(copy) && (errno != EEXIST || !kp_folder_exists(copy))) {
      result = kp_fail(KP_ERROR_IO, "cannot make the folder %s: %s", copy, strerror(errno));
    }
    *p = end;
    if (end == '\0') {
      break;
    }
  }
  kp_free(copy);
  return result;
}

// ---- whole files

static FILE *open_for_reading(const char *path) {
  FILE *stream = kp_disk_open_regular(path);
  if (stream == NULL && errno == ENOTSUP) {
    (void)kp_fail(KP_ERROR_IO, "%s: this is no regular file", path);
  } else if (stream == NULL) {
    (void)kp_fail(KP_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
  }
  return stream;
}

kp_result kp_file_read(const char *path, size_t limit, char **out, size_t *n_bytes) {
  FILE *stream = open_for_reading(path);
  if (stream == NULL) {
    return KP_ERROR_IO;
  }
  KP_ARRAY(char) bytes = { 0 };
  kp_result result = KP_OK;
  struct stat status;
  // read until the end instead of trusting the size, which /proc does not have; but what says
  // itself that it is too large is not read at all
  bool is_large = fstat(fileno(stream), &status) == 0 && (uint64_t)status.st_size > limit;
  for (;;) {
    if (is_large || bytes.count > limit) {
      result = kp_fail(KP_ERROR_IO, "%s: larger than the %zu bytes allowed here", path, limit);
      goto done;
    }
    KP_TRY_GOTO(result, kp_array_reserve(&bytes, bytes.count + 4096), done);
    size_t room = bytes.capacity - bytes.count - 1;
    size_t n;
    if (!kp_disk_read(stream, path, bytes.data + bytes.count, room, &n)) {
      result = kp_fail(KP_ERROR_IO, "cannot read %s: %s", path, strerror(errno));
      goto done;
    }
    bytes.count += n;
    if (n < room && bytes.count <= limit) {
      break;
    }
  }
  bytes.data[bytes.count] = '\0';
  *out = bytes.data;
  *n_bytes = bytes.count;
done:
  if (result != KP_OK) {
    kp_array_free(&bytes);
  }
  (void)fclose(stream);
  return result;
}

// Stream a file through the hash and, unless NULL, into another.
static kp_result stream_file(const char *path, kp_file *to, uint64_t *hash) {
  FILE *stream = open_for_reading(path);
  if (stream == NULL) {
    return KP_ERROR_IO;
  }
  kp_result result = KP_OK;
  kp_hash state = kp_hash_begin(0);
  char *block = kp_alloc(COPY_BLOCK, KP_MEMORY_IO);
  if (block == NULL) {
    result = KP_ERROR_MEMORY;
    goto done;
  }
  size_t n;
  bool is_read;
  while ((is_read = kp_disk_read(stream, path, block, COPY_BLOCK, &n)) && n > 0) {
    kp_hash_add(&state, block, n);
    if (to != NULL) {
      kp_file_add(to, block, n);
    }
  }
  if (!is_read) {
    result = kp_fail(KP_ERROR_IO, "cannot read %s: %s", path, strerror(errno));
  } else if (hash != NULL) {
    *hash = kp_hash_end(&state);
  }
done:
  kp_free(block);
  (void)fclose(stream);
  return result;
}

kp_result kp_file_hash(const char *path, uint64_t *hash) {
  return stream_file(path, NULL, hash);
}

kp_result kp_file_copy(const char *from, const char *to, uint64_t *hash) {
  kp_file file;
  KP_TRY(kp_file_begin(&file, to));
  kp_result result = stream_file(from, &file, hash);
  if (result != KP_OK) {
    kp_file_discard(&file);
    return result;
  }
  return kp_file_commit(&file);
}

kp_result kp_file_remove(const char *path) {
  if (!kp_disk_remove(path) && errno != ENOENT) {
    return kp_fail(KP_ERROR_IO, "cannot remove %s: %s", path, strerror(errno));
  }
  return KP_OK;
}

// ---- atomic writing

kp_result kp_file_begin(kp_file *file, const char *path) {
  *file = (kp_file){ 0 };
  kp_text temporary = { 0 };
  file->path = kp_strdup(path, KP_MEMORY_IO);
  if (file->path == NULL || kp_text_add(&temporary, "%s.tmp", path) != KP_OK) {
    kp_text_free(&temporary);
    kp_file_discard(file);
    return KP_ERROR_MEMORY;
  }
  file->temporary = temporary.data;
  // read and write, so that a patch can go back
  file->stream = kp_disk_open(file->temporary, "w+be");
  if (file->stream == NULL) {
    kp_result result = kp_fail(KP_ERROR_IO, "cannot write %s: %s", path, strerror(errno));
    kp_file_discard(file);
    return result;
  }
  return KP_OK;
}

static void note_error(kp_file *file) {
  if (file->error == 0) {
    file->error = errno != 0 ? errno : EIO;
  }
}

void kp_file_add(kp_file *file, const void *bytes, size_t n_bytes) {
  if (file->error == 0 && n_bytes > 0 && !kp_disk_write(file->stream, file->path, bytes, n_bytes)) {
    note_error(file);
  }
}

void kp_file_print(kp_file *file, const char *format, ...) {
  if (file->error != 0) {
    return;
  }
  va_list arguments;
  va_start(arguments, format);
  if (!kp_disk_print(file->stream, file->path, format, arguments)) {
    note_error(file);
  }
  va_end(arguments);
}

void kp_file_patch(kp_file *file, uint64_t offset, const void *bytes, size_t n_bytes) {
  if (file->error != 0) {
    return;
  }
  if (!kp_disk_seek(file->stream, file->path, offset)) {
    note_error(file);
    return;
  }
  kp_file_add(file, bytes, n_bytes);
  if (file->error == 0 && !kp_disk_seek_end(file->stream, file->path)) {
    note_error(file);
  }
}

kp_result kp_file_join(kp_file *to, kp_file *from) {
  uint8_t *block = kp_alloc(COPY_BLOCK, KP_MEMORY_IO);
  if (block == NULL) {
    return KP_ERROR_MEMORY;
  }
  size_t n = 1;
  if (from->error == 0 && !kp_disk_seek(from->stream, from->path, 0)) {
    note_error(from);
  }
  while (from->error == 0 && n > 0) {
    if (!kp_disk_read(from->stream, from->path, block, COPY_BLOCK, &n)) {
      note_error(from);
    }
    kp_file_add(to, block, n);
  }
  kp_free(block);
  return from->error == 0
             ? KP_OK
             : kp_fail(KP_ERROR_IO, "cannot write %s: %s", from->path, strerror(from->error));
}

// A rename is only durable once its folder is. A folder that may not be read, or a file system that
// has no sync of folders, is no failure: the file itself is safe by then.
static bool sync_folder_of(const char *path) {
  char folder[PATH_MAX];
  if (kp_path_folder(folder, sizeof folder, path) != KP_OK) {
    return true;
  }
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return true;
  }
  bool is_synced = kp_disk_sync(descriptor, path) || errno == EINVAL || errno == ENOTSUP;
  int reason = errno;
  (void)close(descriptor);
  errno = reason;
  return is_synced;
}

kp_result kp_file_commit(kp_file *file) {
  if (file->error == 0 && (!kp_disk_flush(file->stream, file->path) ||
                           !kp_disk_sync(fileno(file->stream), file->path))) {
    note_error(file);
  }
  FILE *stream = file->stream;
  file->stream = NULL;
  if (!kp_disk_close(stream, file->path)) {
    note_error(file);
  }
  if (file->error == 0 && !kp_disk_rename(file->temporary, file->path)) {
    note_error(file);
  }
  if (file->error != 0) {
    kp_disk_clean(file->temporary);
  } else if (!sync_folder_of(file->path)) {
    note_error(file);
  }
  kp_result result = file->error == 0 ? KP_OK
                                      : kp_fail(KP_ERROR_IO, "cannot write %s: %s", file->path,
                                                strerror(file->error));
  kp_file_discard(file);
  return result;
}

void kp_file_discard(kp_file *file) {
  if (file->stream != NULL) {
    (void)fclose(file->stream);
    kp_disk_clean(file->temporary);
  }
  kp_free(file->path);
  kp_free(file->temporary);
  *file = (kp_file){ 0 };
}

kp_result kp_file_write(const char *path, const void *bytes, size_t n_bytes) {
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  kp_file_add(&file, bytes, n_bytes);
  return kp_file_commit(&file);
}

// ---- numbered series

// The number in "<prefix><digits><suffix>"; false for any other name.
static bool parse_number(const char *name, const char *prefix, const char *suffix, uint64_t *out) {
  size_t length = strlen(name), n_prefix = strlen(prefix), n_suffix = strlen(suffix);
  if (length <= n_prefix + n_suffix || strncmp(name, prefix, n_prefix) != 0 ||
      strcmp(name + length - n_suffix, suffix) != 0) {
    return false;
  }
  uint64_t number = 0;
  for (const char *p = name + n_prefix; p < name + length - n_suffix; ++p) {
    if (*p < '0' || *p > '9' || number > (UINT64_MAX - 9) / 10) {
      return false;
    }
    number = 10 * number + (uint64_t)(*p - '0');
  }
  *out = number;
  return true;
}

static int compare_numbered(const void *a, const void *b) {
  const kp_numbered_file *left = a, *right = b;
  if (left->number != right->number) {
    return left->number < right->number ? -1 : 1;
  }
  // 7 and 007 may both be there: an order that does not depend on the folder's
  return strcmp(left->name, right->name);
}

kp_result kp_numbered_find(const char *folder, const char *prefix, const char *suffix,
                           kp_numbered_list *out) {
  *out = (kp_numbered_list){ 0 };
  DIR *stream = kp_disk_list(folder);
  if (stream == NULL) {
    return errno == ENOENT
               ? KP_OK
               : kp_fail(KP_ERROR_IO, "cannot list the folder %s: %s", folder, strerror(errno));
  }
  KP_ARRAY(kp_numbered_file) files = { 0 };
  kp_result result = KP_OK;
  for (struct dirent *entry = NULL; result == KP_OK;) {
    kp_numbered_file file;
    if (!kp_disk_next(stream, folder, &entry)) {
      result = kp_fail(KP_ERROR_IO, "cannot list the folder %s: %s", folder, strerror(errno));
    }
    if (entry == NULL) {
      break;
    }
    if (!parse_number(entry->d_name, prefix, suffix, &file.number)) {
      continue;
    }
    file.name = kp_strdup(entry->d_name, KP_MEMORY_IO);
    result = file.name != NULL ? kp_array_push(&files, file) : KP_ERROR_MEMORY;
    if (result != KP_OK) {
      kp_free(file.name);
    }
  }
  (void)closedir(stream);
  *out = (kp_numbered_list){ .files = files.data, .count = files.count };
  if (result != KP_OK) {
    kp_numbered_free(out);
    return result;
  }
  if (files.count > 1) {
    qsort(files.data, files.count, sizeof *files.data, compare_numbered);
  }
  return KP_OK;
}

void kp_numbered_free(kp_numbered_list *list) {
  for (size_t i = 0; i < list->count; ++i) {
    kp_free(list->files[i].name);
  }
  kp_free(list->files);
  *list = (kp_numbered_list){ 0 };
}
