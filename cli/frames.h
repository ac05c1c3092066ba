// The frames of a run that a command is asked for.
#pragma once

#include <signal.h>

#include "base/array.h"
#include "cli/options.h"
#include "io/files.h"
#include "io/frame_data.h"
#include "run/run_folder.h"

typedef struct kp_frame_list {
  kp_run_folder folder;
  kp_numbered_list all;
  size_t begin, end;           // the chosen ones: all.files[begin .. end - 1]
  int64_t first, last;         // of --frames; -1: no bound
  KP_ARRAY(uint64_t) damaged;  // numbers of those that could not be read
} kp_frame_list;

// Frames of the run folder `path` within --frames (all when NULL). No frame at all is refused.
KP_NODISCARD kp_result kp_frame_list_find(const char *path, const char *frames, kp_frame_list *out);
// The same, but no frame at all is fine: more may come.
KP_NODISCARD kp_result kp_frame_list_follow(const char *path, const char *frames,
                                            kp_frame_list *out);

// Waits until frame all.files[index] is there. *is_there is false when none will come, since the
// run has ended, or when *stop is no longer 0.
KP_NODISCARD kp_result kp_frame_list_wait(kp_frame_list *list, size_t index,
                                          const volatile sig_atomic_t *stop, bool *is_there);
void kp_frame_list_free(kp_frame_list *list);

// The frame all.files[index]. One that cannot be read is told once as a warning, and *frame is
// NULL: it does not keep a command from the others.
KP_NODISCARD kp_result kp_frame_list_load(kp_frame_list *list, size_t index, kp_frame **frame);

// The chosen frame nearest to one that cannot be read, with the number and time of that one; NULL
// when there is none.
KP_NODISCARD kp_result kp_frame_list_load_nearest(kp_frame_list *list, size_t index,
                                                  kp_frame **frame);

// Of a command that went well but for frames that could not be read: a failure that counts them.
KP_NODISCARD kp_result kp_frame_list_report(const kp_frame_list *list, kp_result result);

// Path of the frame's file.
KP_NODISCARD kp_result kp_frame_list_path(const kp_frame_list *list, size_t index,
                                          char out[KP_PATH_SIZE]);
