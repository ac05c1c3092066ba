// The files of a run folder, and who may write them.
//
//   scene.lua        the scene as used; modules and meshes below inputs/
//   used.lua         every value, defaults included
//   run.json         version, build, machine, hashes: written last, so that it marks a whole folder
//   frames/          frame_000000.kpf ...
//   checkpoints/     checkpoint_000012.kpf, the two newest
//   stats.csv, perf.csv, probes_<name>.csv
//   images/, export/ made from the frames by other commands
//   stop             touch it, and the run stops at the next frame
//
// A folder is written by one process at a time: it holds a lock on the file .lock, which the system
// gives back when the process ends in whatever way.
#pragma once

#include "base/result.h"
#include "io/files.h"

#define KP_PATH_SIZE 4096
#define KP_FRAME_PREFIX "frame_"
#define KP_CHECKPOINT_PREFIX "checkpoint_"
#define KP_CONTAINER_SUFFIX ".kpf"

typedef struct kp_run_folder {
  char path[KP_PATH_SIZE];
  int lock;  // file descriptor; -1: not locked
} kp_run_folder;

// <folder>/<name>; the format makes the name.
KP_NODISCARD kp_result kp_run_path(const kp_run_folder *folder, char out[KP_PATH_SIZE],
                                   const char *format, ...) KP_PRINTF(3, 4);
KP_NODISCARD kp_result kp_run_frame_path(const kp_run_folder *folder, uint64_t frame,
                                         char out[KP_PATH_SIZE]);
KP_NODISCARD kp_result kp_run_checkpoint_path(const kp_run_folder *folder, uint64_t frame,
                                              char out[KP_PATH_SIZE]);

// Frames or checkpoints that are there, ascending. Free with kp_numbered_free.
KP_NODISCARD kp_result kp_run_frames(const kp_run_folder *folder, kp_numbered_list *out);
KP_NODISCARD kp_result kp_run_checkpoints(const kp_run_folder *folder, kp_numbered_list *out);

// Remove all checkpoints but the `keep` newest.
KP_NODISCARD kp_result kp_run_prune(const kp_run_folder *folder, size_t keep);

// An existing run, to read or to go on with. Refuses what is no run folder.
KP_NODISCARD kp_result kp_run_folder_open(const char *path, kp_run_folder *out);

// Make a new run folder and lock it. A folder that holds a run is refused, or emptied of that run
// with `force`; a folder that holds something else is refused without force, and nothing of it is
// touched with it.
KP_NODISCARD kp_result kp_run_folder_create(const char *path, bool force, kp_run_folder *out);
KP_NODISCARD kp_result kp_run_folder_lock(kp_run_folder *folder);

// True while another process holds the lock.
bool kp_run_folder_is_running(const kp_run_folder *folder);
void kp_run_folder_close(kp_run_folder *folder);
