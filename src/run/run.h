// Running a scene: a world, a run folder, and the loop over frames (run/frame.c).
//
// A run can be stopped and gone on with at any frame, and killed at any moment: what it computes is
// the same to the last bit. The run folder is described in run/run_folder.h.
#pragma once

#include <signal.h>

#include "run/progress.h"
#include "run/run_folder.h"

struct kp_render_def;
struct kp_world;

typedef struct kp_run_def {
  const char *scene;        // path of a scene file; not used by resume
  const char *folder;       // run folder
  const char *backend;      // "cpu", "mirror", "cuda"; resume takes the one of the run
  int threads;              // 0: all of the machine
  const char *const *sets;  // "water.viscosity=0.1", ...; not used by resume
  size_t n_sets;
  int64_t
      first_frame;     // frames before it are simulated but not written; -1: 0 (resume: as the run)
  int64_t last_frame;  // -1: the scene's last (resume: as the run)
  bool force;          // replace a run that is in the folder
  kp_progress_mode progress;
  FILE *out;                          // progress goes there
  const volatile sig_atomic_t *stop;  // not 0: stop after this frame; may be NULL
  // Called once, when the folder is there and before the first frame; may be NULL.
  void (*begun)(const kp_run_folder *folder, void *context);
  void *context;
  // Called after each frame, while the world is as it is in that frame, which it must not change,
  // and with NULL before the world goes; may be NULL. An error ends the run.
  kp_result (*watch)(struct kp_world *world, const struct kp_render_def *render, void *context);
  void *watch_context;
} kp_run_def;

kp_run_def kp_default_run_def(void);

typedef struct kp_run_outcome {
  int64_t last_frame;  // the newest frame that is on the disk; -1: none
  int64_t wanted;      // the last frame of the run
  int64_t from_frame;  // resume: the frame it went on from; -1: from the start
} kp_run_outcome;

// KP_OK when all frames are there, KP_STOPPED when a stop was asked for and a checkpoint written,
// or when a file may not grow further; a resume then goes on from the newest checkpoint, or the
// start. `outcome` is filled in every case.
KP_NODISCARD kp_result kp_run_start(const kp_run_def *def, kp_run_outcome *outcome);
KP_NODISCARD kp_result kp_run_resume(const kp_run_def *def, kp_run_outcome *outcome);
