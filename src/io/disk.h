// The one door to the disk: what is read, written, synced, renamed or removed goes through here, so
// that a test can let each of these fail in turn. Answers are the system's: false, NULL or -1, and
// errno says why. The path only serves to tell which file it was.
#pragma once

#include <dirent.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "kelpie/base.h"

FILE *kp_disk_open(const char *path, const char *mode);
int kp_disk_descriptor(const char *path, int flags);

// For reading, at once: NULL for what is no regular file, EISDIR for folders and ENOTSUP for pipes,
// devices and sockets, which could keep a reader waiting.
FILE *kp_disk_open_regular(const char *path);

// At most n bytes; *n_read is fewer only at the end of the file or when false is returned.
bool kp_disk_read(FILE *stream, const char *path, void *out, size_t n, size_t *n_read);

// As pread, but not interrupted.
ssize_t kp_disk_read_at(int descriptor, const char *path, void *out, size_t n, uint64_t offset);

bool kp_disk_write(FILE *stream, const char *path, const void *bytes, size_t n);
bool kp_disk_print(FILE *stream, const char *path, const char *format, va_list arguments);
bool kp_disk_seek(FILE *stream, const char *path, uint64_t offset);
bool kp_disk_seek_end(FILE *stream, const char *path);
bool kp_disk_flush(FILE *stream, const char *path);
bool kp_disk_sync(int descriptor, const char *path);

// Of a file that was written. One that was only read has nothing to lose and may use fclose.
bool kp_disk_close(FILE *stream, const char *path);

// Why writing failed last on this thread, as errno says it; 0 before the first.
int kp_disk_write_error(void);

// How many bytes a file of this process may have (ulimit -f); UINT64_MAX: as many as fit.
uint64_t kp_disk_size_limit(void);

bool kp_disk_rename(const char *from, const char *to);
bool kp_disk_remove(const char *path);
bool kp_disk_remove_folder(const char *path);
bool kp_disk_make_folder(const char *path);

// Of what a failure leaves behind: nobody is told if it stays, and it does not fail on purpose.
void kp_disk_clean(const char *path);

// *entry is NULL behind the last one.
DIR *kp_disk_list(const char *path);
bool kp_disk_next(DIR *folder, const char *path, struct dirent **entry);

// Test hook: let the n-th of the calls above fail (0 = the next); negative switches it off. Returns
// what was left of the count before: negative when the call has failed, or the hook was off.
int64_t kp_disk_fail_at(int64_t n);

// What failed last by the hook: "write", "sync", ... and its path; empty before the first.
const char *kp_disk_failed_call(void);
const char *kp_disk_failed_path(void);
