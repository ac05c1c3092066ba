// Files and folders: paths, whole-file reading, atomic writing, numbered series. Paths are UTF-8
// bytes with '/' between names. Every failure names the path and the system's reason.
#pragma once

#include <stdio.h>

#include "base/result.h"

// folder/name; an empty folder gives the name alone. Fails when the result does not fit.
KP_NODISCARD kp_result kp_path_join(char *out, size_t size, const char *folder, const char *name);

// The part behind the last '/'; points into path.
const char *kp_path_name(const char *path);

// The part before the last '/', "." when there is none, "/" for the root.
KP_NODISCARD kp_result kp_path_folder(char *out, size_t size, const char *path);

// True when path (relative to folder, or absolute) leads to a place inside folder, or to folder
// itself, after following "..", "." and symbolic links. What does not exist yet is judged by its
// nearest existing parent.
bool kp_path_inside(const char *folder, const char *path);

bool kp_file_exists(const char *path);    // a regular file, links followed
bool kp_folder_exists(const char *path);  // a folder, links followed

// Size in bytes.
KP_NODISCARD kp_result kp_file_size(const char *path, uint64_t *size);

// Make the folder and its missing parents; no failure when it is there already.
KP_NODISCARD kp_result kp_folder_make(const char *path);

// Of a file that a scene names, in bytes.
#define KP_INPUT_LIMIT ((size_t)4 << 30)

// The whole file, refused when larger than limit bytes or when it is no regular file: nothing here
// waits for what a pipe or a device may say. The block belongs to the caller (kp_free)
// and has a zero byte behind its end, so that text can be used as a string.
KP_NODISCARD kp_result kp_file_read(const char *path, size_t limit, char **out, size_t *n_bytes);

// Copy, replacing `to` atomically; *hash is kp_hash_bytes (seed 0) of the content, hash may be
// NULL.
KP_NODISCARD kp_result kp_file_copy(const char *from, const char *to, uint64_t *hash);

// Remove a file; no failure when it is not there.
KP_NODISCARD kp_result kp_file_remove(const char *path);

// kp_hash_bytes (seed 0) of a file's content.
KP_NODISCARD kp_result kp_file_hash(const char *path, uint64_t *hash);

// Atomic writing: bytes go to "<path>.tmp"; commit syncs and renames it, so a reader sees the old
// file or the new one and never half of one. The first failed write is remembered and reported by
// commit.
//
//   kp_file file;
//   KP_TRY(kp_file_begin(&file, path));
//   kp_file_add(&file, bytes, n);
//   return kp_file_commit(&file);        // or kp_file_discard(&file)
typedef struct kp_file {
  FILE *stream;
  char *path, *temporary;
  int error;  // errno of the first failure, 0 while all is well
} kp_file;

KP_NODISCARD kp_result kp_file_begin(kp_file *file, const char *path);
void kp_file_add(kp_file *file, const void *bytes, size_t n_bytes);
void kp_file_print(kp_file *file, const char *format, ...) KP_PRINTF(2, 3);

// Overwrite bytes already written, from offset on; the end of the file stays the place of the next
// add.
void kp_file_patch(kp_file *file, uint64_t offset, const void *bytes, size_t n_bytes);

// All that was written to `from`, put behind what `to` holds; for files that are made of parts.
KP_NODISCARD kp_result kp_file_join(kp_file *to, kp_file *from);

// Both leave the kp_file empty. On failure nothing is left behind and an older file is untouched;
// only a folder that could not be synced fails with the new file in place.
KP_NODISCARD kp_result kp_file_commit(kp_file *file);
void kp_file_discard(kp_file *file);

// begin, add, commit.
KP_NODISCARD kp_result kp_file_write(const char *path, const void *bytes, size_t n_bytes);

// The files of a series: "<prefix><digits><suffix>", e.g. frame_000012.kpf.
typedef struct kp_numbered_file {
  uint64_t number;
  char *name;  // without the folder
} kp_numbered_file;

typedef struct kp_numbered_list {
  kp_numbered_file *files;  // ascending by number
  size_t count;
} kp_numbered_list;

// A missing folder gives an empty list. Free with kp_numbered_free.
KP_NODISCARD kp_result kp_numbered_find(const char *folder, const char *prefix, const char *suffix,
                                        kp_numbered_list *out);
void kp_numbered_free(kp_numbered_list *list);
