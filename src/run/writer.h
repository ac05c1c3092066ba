// The writer: one thread that puts frames on the disk while the next one is simulated.
//
// Two jobs go round: the loop fills one while the other is written; very large ones take turns
// instead, so that memory holds one. What belongs to a frame is
// written in this order, so that a run killed at any moment can go on from its newest checkpoint:
// the frame, its rows in stats.csv and perf.csv, the checkpoint. A failure is kept and given to the
// loop at the next take.
//
// A file that may not grow further (ulimit -f) ends the run as a stop does: where a file comes near
// the limit, jobs hold the state of their frame, and when one cannot be written the state of the
// frame before it becomes a checkpoint.
#pragma once

#include "io/table.h"
#include "run/batch.h"
#include "run/run_folder.h"

typedef struct kp_frame_job {
  uint64_t frame;
  bool has_frame, has_rows, has_checkpoint;
  bool keeps_state;  // the state stays until the next frame is written, should that fail
  kp_batch frame_batch, state_batch;
  KP_ARRAY(double) stats, perf;  // one value per column
  kp_probe_rows probes;
  kp_probe_loads loads;  // of the rows of bodies
} kp_frame_job;

typedef struct kp_writer_def {
  const kp_run_folder *folder;
  kp_table **probes;  // one per probe
  size_t n_probes;
  size_t n_media;          // loads of a row of a body
  kp_table *stats, *perf;  // used by the writer's thread alone until finish; stay the caller's
  int threads;             // for compression
  // true: a frame file that is there already must hold the same, and stays
  bool verify_frames;
  uint64_t size_limit;              // bytes of a file; UINT64_MAX: none
  int perf_write, perf_checkpoint;  // columns of perf that the writer fills in [s]
} kp_writer_def;

typedef struct kp_writer kp_writer;

KP_NODISCARD kp_result kp_writer_create(const kp_writer_def *def, kp_writer **out);

// An empty job to fill. Waits while both are under way.
KP_NODISCARD kp_result kp_writer_take(kp_writer *writer, kp_frame_job **job);
void kp_writer_submit(kp_writer *writer, kp_frame_job *job);

// Whether the files of the frame after this one may be larger than files can be here.
bool kp_writer_is_near_limit(kp_writer *writer, const kp_frame_job *job);

// Waits until all is written. As kp_writer_take it returns KP_STOPPED, with a sentence that tells
// from where a resume goes on, when a file was beyond the limit.
KP_NODISCARD kp_result kp_writer_finish(kp_writer *writer);

// Seconds the newest checkpoint took to write; 0 before the first.
double kp_writer_checkpoint_seconds(kp_writer *writer);

// Finishes what was submitted. NULL is fine.
void kp_writer_destroy(kp_writer **writer);
