#include "io/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

// ---- failing on purpose

static atomic_int_fast64_t fail_countdown = -1;
static char failed_path[4096];
static const char *failed_call = "";

static bool must_fail(const char *call, const char *path, int reason) {
  if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) < 0 ||
      atomic_fetch_sub(&fail_countdown, 1) != 0) {
    return false;
  }
  failed_call = call;
  kp_text_copy(failed_path, sizeof failed_path, path);
  errno = reason;
  return true;
}

int64_t kp_disk_fail_at(int64_t n) {
  return atomic_exchange(&fail_countdown, n);
}

const char *kp_disk_failed_call(void) {
  return failed_call;
}

const char *kp_disk_failed_path(void) {
  return failed_path;
}

// ---- files

FILE *kp_disk_open(const char *path, const char *mode) {
  return must_fail("open", path, EMFILE) ? NULL : fopen(path, mode);
}

int kp_disk_descriptor(const char *path, int flags) {
  return must_fail("open", path, EMFILE) ? -1 : open(path, flags, 0666);
}

FILE *kp_disk_open_regular(const char *path) {
  // an open that does not wait tells what it is; what is regular then never waits
  int descriptor = kp_disk_descriptor(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    return NULL;
  }
  struct stat status;
  FILE *stream = NULL;
  if (fstat(descriptor, &status) == 0) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : ENOTSUP;
    stream = S_ISREG(status.st_mode) ? fdopen(descriptor, "rb") : NULL;
  }
  if (stream == NULL) {
    int reason = errno;
    (void)close(descriptor);
    errno = reason;
  }
  return stream;
}

bool kp_disk_read(FILE *stream, const char *path, void *out, size_t n, size_t *n_read) {
  *n_read = 0;
  if (must_fail("read", path, EIO)) {
    return false;
  }
  *n_read = fread(out, 1, n, stream);
  return *n_read == n || !ferror(stream);
}

ssize_t kp_disk_read_at(int descriptor, const char *path, void *out, size_t n, uint64_t offset) {
  ssize_t got = -1;
  if (must_fail("read", path, EIO)) {
    return got;
  }
  do {
    got = pread(descriptor, out, n, (off_t)offset);
  } while (got < 0 && errno == EINTR);
  return got;
}

static _Thread_local int write_error;

// What a failed call left in errno is kept: cleaning up may fail for other reasons.
static bool note(bool is_written) {
  write_error = is_written ? write_error : errno;
  return is_written;
}

int kp_disk_write_error(void) {
  return write_error;
}

uint64_t kp_disk_size_limit(void) {
  struct rlimit limit;
  bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? (uint64_t)limit.rlim_cur : UINT64_MAX;
}

bool kp_disk_write(FILE *stream, const char *path, const void *bytes, size_t n) {
  if (must_fail("write", path, ENOSPC)) {
    // a full disk takes what still has room
    (void)fwrite(bytes, 1, n / 2, stream);
    errno = ENOSPC;
    return note(false);
  }
  return note(fwrite(bytes, 1, n, stream) == n);
}

bool kp_disk_print(FILE *stream, const char *path, const char *format, va_list arguments) {
  return note(!must_fail("write", path, ENOSPC) && vfprintf(stream, format, arguments) >= 0);
}

bool kp_disk_seek(FILE *stream, const char *path, uint64_t offset) {
  return !must_fail("seek", path, EIO) && fseeko(stream, (off_t)offset, SEEK_SET) == 0;
}

bool kp_disk_seek_end(FILE *stream, const char *path) {
  return !must_fail("seek", path, EIO) && fseeko(stream, 0, SEEK_END) == 0;
}

bool kp_disk_flush(FILE *stream, const char *path) {
  return note(!must_fail("flush", path, ENOSPC) && fflush(stream) == 0);
}

bool kp_disk_sync(int descriptor, const char *path) {
  return !must_fail("sync", path, EIO) && fsync(descriptor) == 0;
}

bool kp_disk_close(FILE *stream, const char *path) {
  // the stream goes in any case, as the system's does
  bool is_closed = fclose(stream) == 0;
  return !must_fail("close", path, EIO) && is_closed;
}

// ---- names

bool kp_disk_rename(const char *from, const char *to) {
  return !must_fail("rename", to, EIO) && rename(from, to) == 0;
}

bool kp_disk_remove(const char *path) {
  return !must_fail("remove", path, EACCES) && unlink(path) == 0;
}

void kp_disk_clean(const char *path) {
  (void)unlink(path);
}

bool kp_disk_remove_folder(const char *path) {
  return !must_fail("remove", path, EACCES) && rmdir(path) == 0;
}

bool kp_disk_make_folder(const char *path) {
  return !must_fail("make", path, EACCES) && mkdir(path, 0777) == 0;
}

DIR *kp_disk_list(const char *path) {
  return must_fail("list", path, EMFILE) ? NULL : opendir(path);
}

bool kp_disk_next(DIR *folder, const char *path, struct dirent **entry) {
  *entry = NULL;
  if (must_fail("list", path, EIO)) {
    return false;
  }
  errno = 0;
  *entry = readdir(folder);
  return *entry != NULL || errno == 0;
}
