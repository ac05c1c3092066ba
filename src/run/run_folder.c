#include "run/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "io/disk.h"

kp_result kp_run_path(const kp_run_folder *folder, char out[KP_PATH_SIZE], const char *format,
                      ...) {
  char name[KP_PATH_SIZE];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof name) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: the path is too long", folder->path);
  }
  return kp_path_join(out, KP_PATH_SIZE, folder->path, name);
}

kp_result kp_run_frame_path(const kp_run_folder *folder, uint64_t frame, char out[KP_PATH_SIZE]) {
  return kp_run_path(folder, out, "frames/" KP_FRAME_PREFIX "%06llu" KP_CONTAINER_SUFFIX,
                     (unsigned long long)frame);
}

kp_result kp_run_checkpoint_path(const kp_run_folder *folder, uint64_t frame,
                                 char out[KP_PATH_SIZE]) {
  return kp_run_path(folder, out, "checkpoints/" KP_CHECKPOINT_PREFIX "%06llu" KP_CONTAINER_SUFFIX,
                     (unsigned long long)frame);
}

kp_result kp_run_frames(const kp_run_folder *folder, kp_numbered_list *out) {
  char path[KP_PATH_SIZE];
  KP_TRY(kp_run_path(folder, path, "frames"));
  return kp_numbered_find(path, KP_FRAME_PREFIX, KP_CONTAINER_SUFFIX, out);
}

kp_result kp_run_checkpoints(const kp_run_folder *folder, kp_numbered_list *out) {
  char path[KP_PATH_SIZE];
  KP_TRY(kp_run_path(folder, path, "checkpoints"));
  return kp_numbered_find(path, KP_CHECKPOINT_PREFIX, KP_CONTAINER_SUFFIX, out);
}

kp_result kp_run_prune(const kp_run_folder *folder, size_t keep) {
  kp_numbered_list list;
  KP_TRY(kp_run_checkpoints(folder, &list));
  kp_result result = KP_OK;
  for (size_t i = 0; result == KP_OK && i + keep < list.count; ++i) {
    char path[KP_PATH_SIZE];
    result = kp_run_path(folder, path, "checkpoints/%s", list.files[i].name);
    if (result == KP_OK) {
      result = kp_file_remove(path);
    }
  }
  kp_numbered_free(&list);
  return result;
}

// ---- opening

kp_result kp_run_folder_open(const char *path, kp_run_folder *out) {
  out->lock = -1;
  kp_text_copy(out->path, sizeof out->path, path);
  if (!kp_folder_exists(path)) {
    return kp_fail(KP_ERROR_IO, "%s: there is no such folder", path);
  }
  char record[KP_PATH_SIZE];
  KP_TRY(kp_run_path(out, record, "run.json"));
  if (!kp_file_exists(record)) {
    return kp_fail(KP_ERROR_IO, "%s is no run folder: it has no run.json", path);
  }
  return KP_OK;
}

kp_result kp_run_folder_lock(kp_run_folder *folder) {
  char path[KP_PATH_SIZE];
  KP_TRY(kp_run_path(folder, path, ".lock"));
  folder->lock = kp_disk_descriptor(path, O_RDWR | O_CREAT | O_CLOEXEC);
  if (folder->lock < 0) {
    return kp_fail(KP_ERROR_IO, "cannot write %s: %s", path, strerror(errno));
  }
  // some network file systems have no locks; there the user has to take care
  if (flock(folder->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    kp_run_folder_close(folder);
    return kp_fail(KP_ERROR_IO, "another kelpie is running in %s", folder->path);
  }
  return KP_OK;
}

bool kp_run_folder_is_running(const kp_run_folder *folder) {
  char path[KP_PATH_SIZE];
  int file = kp_run_path(folder, path, ".lock") == KP_OK
                 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                 : -1;
  if (file < 0) {
    return false;
  }
  // a shared lock, so that several may ask at once
  bool is_running = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  (void)close(file);
  return is_running;
}

void kp_run_folder_close(kp_run_folder *folder) {
  if (folder->lock >= 0) {
    (void)close(folder->lock);
    folder->lock = -1;
  }
}

// ---- making

// What a run makes itself; anything else in the folder is the user's.
static const char *const own_files[] = { "scene.lua", "used.lua", "stats.csv", "perf.csv", "stop" };
static const char *const own_folders[] = { "inputs", "frames", "checkpoints" };

static bool is_own(const char *name) {
  if (name[0] == '.') {
    return true;  // ".", ".." and ".lock"
  }
  for (size_t i = 0; i < sizeof own_files / sizeof own_files[0]; ++i) {
    size_t length = strlen(own_files[i]);
    // a killed run may leave a temporary file behind
    if (strncmp(name, own_files[i], length) == 0 &&
        (name[length] == '\0' || strcmp(name + length, ".tmp") == 0)) {
      return true;
    }
  }
  for (size_t i = 0; i < sizeof own_folders / sizeof own_folders[0]; ++i) {
    if (strcmp(name, own_folders[i]) == 0) {
      return true;
    }
  }
  return strcmp(name, "run.json.tmp") == 0;
}

static kp_result fail_to_list(const char *path) {
  return kp_fail(KP_ERROR_IO, "cannot list the folder %s: %s", path, strerror(errno));
}

// Does the folder hold nothing but what a run killed while it began may have left?
static kp_result find_free(const char *path, bool *is_free) {
  DIR *folder = kp_disk_list(path);
  if (folder == NULL) {
    return fail_to_list(path);
  }
  kp_result result = KP_OK;
  *is_free = true;
  for (struct dirent *entry = NULL; *is_free;) {
    if (!kp_disk_next(folder, path, &entry)) {
      result = fail_to_list(path);
    }
    if (entry == NULL) {
      break;
    }
    *is_free = is_own(entry->d_name);
  }
  (void)closedir(folder);
  return result;
}

static kp_result remove_below(const char *path, int depth) {
  DIR *folder = kp_disk_list(path);
  if (folder == NULL) {
    return errno == ENOENT ? KP_OK : fail_to_list(path);
  }
  kp_result result = KP_OK;
  for (struct dirent *entry = NULL; result == KP_OK;) {
    char inner[KP_PATH_SIZE];
    struct stat status;
    if (!kp_disk_next(folder, path, &entry)) {
      result = fail_to_list(path);
    }
    if (entry == NULL) {
      break;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
      continue;
    }
    result = kp_path_join(inner, sizeof inner, path, entry->d_name);
    if (result == KP_OK && lstat(inner, &status) == 0 && S_ISDIR(status.st_mode) && depth > 0) {
      result = remove_below(inner, depth - 1);
      if (result == KP_OK && !kp_disk_remove_folder(inner)) {
        result = kp_fail(KP_ERROR_IO, "cannot remove %s: %s", inner, strerror(errno));
      }
    } else if (result == KP_OK) {
      result = kp_file_remove(inner);
    }
  }
  (void)closedir(folder);
  return result;
}

// The record goes first: without it the folder is no run any more, whatever happens next.
static kp_result remove_run(const kp_run_folder *folder) {
  char path[KP_PATH_SIZE];
  KP_TRY(kp_run_path(folder, path, "run.json"));
  KP_TRY(kp_file_remove(path));
  for (size_t i = 0; i < sizeof own_files / sizeof own_files[0]; ++i) {
    KP_TRY(kp_run_path(folder, path, "%s", own_files[i]));
    KP_TRY(kp_file_remove(path));
  }
  for (size_t i = 0; i < sizeof own_folders / sizeof own_folders[0]; ++i) {
    KP_TRY(kp_run_path(folder, path, "%s", own_folders[i]));
    KP_TRY(remove_below(path, 8));
  }
  return KP_OK;
}

static kp_result check_place(const kp_run_folder *folder) {
  char record[KP_PATH_SIZE];
  KP_TRY(kp_run_path(folder, record, "run.json"));
  if (kp_file_exists(record)) {
    return kp_fail(KP_ERROR_IO,
                   "%s already holds a run: go on with it by 'kelpie resume %s', replace it with "
                   "--force, or choose another folder with -o",
                   folder->path, folder->path);
  }
  bool is_free = true;
  if (kp_folder_exists(folder->path)) {
    KP_TRY(find_free(folder->path, &is_free));
  }
  if (!is_free) {
    return kp_fail(KP_ERROR_IO,
                   "%s holds files that are not of a run: choose another folder with -o, or use "
                   "--force to put the run beside them",
                   folder->path);
  }
  return KP_OK;
}

kp_result kp_run_folder_create(const char *path, bool force, kp_run_folder *out) {
  out->lock = -1;
  if (strlen(path) >= sizeof out->path) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: the path is too long", path);
  }
  kp_text_copy(out->path, sizeof out->path, path);
  if (!force) {
    KP_TRY(check_place(out));
  }
  char record[KP_PATH_SIZE];
  KP_TRY(kp_run_path(out, record, "run.json"));
  KP_TRY(kp_folder_make(path));
  KP_TRY(kp_run_folder_lock(out));
  // with force and no run there, files that look like ours may be the user's: they stay
  bool was_run = kp_file_exists(record);
  kp_result result = was_run ? KP_OK : find_free(path, &was_run);
  if (result == KP_OK && was_run) {
    result = remove_run(out);
  }
  for (size_t i = 0; result == KP_OK && i < sizeof own_folders / sizeof own_folders[0]; ++i) {
    char inner[KP_PATH_SIZE];
    result = kp_run_path(out, inner, "%s", own_folders[i]);
    if (result == KP_OK) {
      result = kp_folder_make(inner);
    }
  }
  if (result != KP_OK) {
    kp_run_folder_close(out);
  }
  return result;
}
