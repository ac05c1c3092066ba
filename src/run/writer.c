#include "run/writer.h"

#include <errno.h>
#include <pthread.h>

#include "base/log.h"
#include "base/text.h"
#include "base/timer.h"
#include "io/disk.h"
#include "par/parallel.h"
#include "run/rows.h"

#define N_JOBS 2
#define N_CHECKPOINTS 2  // kept: should the newest be damaged, the one before serves

typedef enum job_state { JOB_FREE, JOB_QUEUED } job_state;

struct kp_writer {
  kp_writer_def def;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  kp_frame_job jobs[N_JOBS];
  job_state states[N_JOBS];
  int next_fill;  // jobs go round in order, so frames are written in order
  bool is_leaving;
  kp_result result;    // of the first failure; nothing is written after it
  char message[2048];  // its sentence, carried over from the writer's thread
  double checkpoint_seconds;
  double unreported_checkpoint;  // for the next row of perf.csv
  uint64_t table_bytes;          // of the largest table
  kp_row_values values;          // of a row of a probe
};

// True when the file holds the same already. Another content is an error, and so is a file that
// cannot be read; a damaged one is replaced.
static kp_result compare_frame(const kp_batch *batch, const char *path, bool *is_there) {
  *is_there = false;
  kp_container *container;
  if (!kp_file_exists(path)) {
    return KP_OK;
  }
  kp_result result = kp_container_open(path, &container);
  if (result == KP_ERROR_FORMAT) {
    kp_log(KP_LOG_WARN, "run", "%s; it is written again", kp_last_error());
    return KP_OK;
  }
  KP_TRY(result);
  bool is_same = kp_container_hash(container) == kp_batch_hash(batch);
  // the head may be right and the content not
  result = is_same ? kp_container_verify(container) : KP_OK;
  kp_container_close(&container);
  if (result == KP_ERROR_FORMAT) {
    kp_log(KP_LOG_WARN, "run", "%s; it is written again", kp_last_error());
    return KP_OK;
  }
  KP_TRY(result);
  *is_there = is_same;
  if (!is_same) {
    return kp_fail(KP_ERROR_FORMAT,
                   "%s holds something else than this run computes: another build or machine "
                   "made it; remove the frames after the checkpoint to go on from there",
                   path);
  }
  return KP_OK;
}

static kp_result write_batch(const kp_batch *batch, const char *path) {
  return kp_container_write(path, &batch->head, batch->sections.data, batch->sections.count);
}

static kp_result write_frame(kp_writer *w, kp_frame_job *job) {
  char path[KP_PATH_SIZE];
  bool is_there = false;
  KP_TRY(kp_run_frame_path(w->def.folder, job->frame, path));
  if (w->def.verify_frames) {
    KP_TRY(compare_frame(&job->frame_batch, path, &is_there));
  }
  return is_there ? KP_OK : write_batch(&job->frame_batch, path);
}

static kp_result write_checkpoint(kp_writer *w, kp_frame_job *job) {
  char path[KP_PATH_SIZE];
  KP_TRY(kp_run_checkpoint_path(w->def.folder, job->frame, path));
  KP_TRY(write_batch(&job->state_batch, path));
  return kp_run_prune(w->def.folder, N_CHECKPOINTS);
}

static kp_result write_probes(kp_writer *w, kp_frame_job *job) {
  for (size_t i = 0; i < job->probes.count; ++i) {
    const kp_probe_row *row = &job->probes.data[i];
    KP_TRY(kp_probe_row_values(row, job->frame, &job->loads, w->def.n_media, &w->values));
    KP_TRY(kp_table_row(w->def.probes[row->probe], w->values.data));
  }
  return KP_OK;
}

static kp_result write_job(kp_writer *w, kp_frame_job *job) {
  double start = kp_time_now();
  if (job->has_frame) {
    KP_TRY(write_frame(w, job));
  }
  if (job->has_rows) {
    job->perf.data[w->def.perf_write] = kp_time_now() - start;
    job->perf.data[w->def.perf_checkpoint] = w->unreported_checkpoint;
    w->unreported_checkpoint = 0.0;
    KP_TRY(write_probes(w, job));
    KP_TRY(kp_table_row(w->def.stats, job->stats.data));
    KP_TRY(kp_table_row(w->def.perf, job->perf.data));
  }
  if (job->has_checkpoint) {
    start = kp_time_now();
    KP_TRY(write_checkpoint(w, job));
    double seconds = kp_time_now() - start;
    w->unreported_checkpoint = seconds;
    pthread_mutex_lock(&w->mutex);
    w->checkpoint_seconds = seconds;
    pthread_mutex_unlock(&w->mutex);
  }
  return KP_OK;
}

// Where a resume goes on from; -1: from the start.
static int64_t newest_checkpoint(const kp_writer *w) {
  kp_numbered_list list;
  if (kp_run_checkpoints(w->def.folder, &list) != KP_OK) {
    return -1;
  }
  int64_t newest = list.count > 0 ? (int64_t)list.files[list.count - 1].number : -1;
  kp_numbered_free(&list);
  return newest;
}

// A job was not written, since a file may not be so large: what a stop at the frame before it would
// have left.
static kp_result stop_at_limit(kp_writer *w, const kp_frame_job *job, kp_frame_job *before) {
  char sentence[1024], limit[64] = "", from[64] = "the start";
  kp_text_copy(sentence, sizeof sentence, kp_last_error());
  if (before->keeps_state && before->frame + 1 == job->frame) {
    // it may be too large as well; then an older one has to do
    (void)write_checkpoint(w, before);
  }
  int64_t newest = newest_checkpoint(w);
  if (w->def.size_limit != UINT64_MAX) {
    (void)snprintf(limit, sizeof limit, " of %llu bytes (ulimit -f)",
                   (unsigned long long)w->def.size_limit);
  }
  if (newest >= 0) {
    (void)snprintf(from, sizeof from, "the checkpoint of frame %lld", (long long)newest);
  }
  return kp_fail(KP_STOPPED,
                 "%s; stopped at the limit%s of file sizes: without it, resume goes on from %s",
                 sentence, limit, from);
}

static uint64_t largest_table(const kp_writer *w) {
  uint64_t stats = kp_table_bytes(w->def.stats), perf = kp_table_bytes(w->def.perf);
  uint64_t most = stats > perf ? stats : perf;
  for (size_t i = 0; i < w->def.n_probes; ++i) {
    uint64_t bytes = kp_table_bytes(w->def.probes[i]);
    most = bytes > most ? bytes : most;
  }
  return most;
}

static kp_result write_or_stop(kp_writer *w, int job) {
  kp_result result = write_job(w, &w->jobs[job]);
  return result == KP_ERROR_IO && kp_disk_write_error() == EFBIG
             ? stop_at_limit(w, &w->jobs[job], &w->jobs[(job + 1) % N_JOBS])
             : result;
}

static void *write_jobs(void *user) {
  kp_writer *w = user;
  kp_parallel_set_threads(w->def.threads);
  pthread_mutex_lock(&w->mutex);
  for (int next = 0;; next = (next + 1) % N_JOBS) {
    while (w->states[next] != JOB_QUEUED && !w->is_leaving) {
      pthread_cond_wait(&w->changed, &w->mutex);
    }
    if (w->states[next] != JOB_QUEUED) {
      break;
    }
    if (w->result == KP_OK) {
      pthread_mutex_unlock(&w->mutex);
      kp_result result = write_or_stop(w, next);
      uint64_t table_bytes = largest_table(w);
      pthread_mutex_lock(&w->mutex);
      w->table_bytes = table_bytes;
      if (result != KP_OK) {
        w->result = result;
        kp_text_copy(w->message, sizeof w->message, kp_last_error());
      }
    }
    w->states[next] = JOB_FREE;
    pthread_cond_broadcast(&w->changed);
  }
  pthread_mutex_unlock(&w->mutex);
  return NULL;
}

kp_result kp_writer_create(const kp_writer_def *def, kp_writer **out) {
  *out = NULL;
  kp_writer *w = kp_alloc_zero(sizeof *w, KP_MEMORY_IO);
  if (w == NULL) {
    return KP_ERROR_MEMORY;
  }
  w->def = *def;
  pthread_mutex_init(&w->mutex, NULL);
  pthread_cond_init(&w->changed, NULL);
  if (pthread_create(&w->thread, NULL, write_jobs, w) != 0) {
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->mutex);
    kp_free(w);
    return kp_fail(KP_ERROR_INTERNAL, "cannot start the writer's thread");
  }
  *out = w;
  return KP_OK;
}

// Called with the mutex held.
static kp_result report(const kp_writer *w) {
  return w->result == KP_OK ? KP_OK : kp_fail(w->result, "%s", w->message);
}

// What is larger than this is in memory once: the loop waits for it and its copy is given back.
#define LARGE_JOB ((size_t)1 << 30)

// Called with the mutex held.
static void wait_for(kp_writer *w, int job) {
  while (w->states[job] != JOB_FREE) {
    pthread_cond_wait(&w->changed, &w->mutex);
  }
}

kp_result kp_writer_take(kp_writer *w, kp_frame_job **job) {
  pthread_mutex_lock(&w->mutex);
  wait_for(w, w->next_fill);
  if (w->jobs[w->next_fill].keeps_state) {
    wait_for(w, (w->next_fill + 1) % N_JOBS);
  }
  for (int i = 0; i < N_JOBS; ++i) {
    kp_frame_job *other = &w->jobs[i];
    if (i != w->next_fill &&
        kp_batch_bytes(&other->frame_batch) + kp_batch_bytes(&other->state_batch) > LARGE_JOB) {
      wait_for(w, i);
      kp_batch_free(&other->frame_batch);
      if (!other->keeps_state) {
        kp_batch_free(&other->state_batch);
      }
    }
  }
  kp_result result = report(w);
  pthread_mutex_unlock(&w->mutex);
  *job = &w->jobs[w->next_fill];
  (*job)->has_frame = (*job)->has_checkpoint = (*job)->keeps_state = false;
  (*job)->stats.count = (*job)->perf.count = 0;
  return result;
}

void kp_writer_submit(kp_writer *w, kp_frame_job *job) {
  pthread_mutex_lock(&w->mutex);
  w->states[job - w->jobs] = JOB_QUEUED;
  w->next_fill = (w->next_fill + 1) % N_JOBS;
  pthread_cond_broadcast(&w->changed);
  pthread_mutex_unlock(&w->mutex);
}

kp_result kp_writer_finish(kp_writer *w) {
  pthread_mutex_lock(&w->mutex);
  for (int i = 0; i < N_JOBS; ++i) {
    wait_for(w, i);
  }
  kp_result result = report(w);
  pthread_mutex_unlock(&w->mutex);
  return result;
}

bool kp_writer_is_near_limit(kp_writer *w, const kp_frame_job *job) {
  if (w->def.size_limit == UINT64_MAX) {
    return false;
  }
  pthread_mutex_lock(&w->mutex);
  uint64_t tables = w->table_bytes;
  pthread_mutex_unlock(&w->mutex);
  uint64_t frame = kp_batch_bytes(&job->frame_batch);
  // what is packed is smaller, and hardly a frame is twice as large as the one before
  return (frame > tables ? frame : tables) > w->def.size_limit / 2;
}

double kp_writer_checkpoint_seconds(kp_writer *w) {
  pthread_mutex_lock(&w->mutex);
  double seconds = w->checkpoint_seconds;
  pthread_mutex_unlock(&w->mutex);
  return seconds;
}

void kp_writer_destroy(kp_writer **writer) {
  kp_writer *w = *writer;
  if (w == NULL) {
    return;
  }
  pthread_mutex_lock(&w->mutex);
  w->is_leaving = true;
  pthread_cond_broadcast(&w->changed);
  pthread_mutex_unlock(&w->mutex);
  pthread_join(w->thread, NULL);
  for (int i = 0; i < N_JOBS; ++i) {
    kp_batch_free(&w->jobs[i].frame_batch);
    kp_batch_free(&w->jobs[i].state_batch);
    kp_array_free(&w->jobs[i].stats);
    kp_array_free(&w->jobs[i].probes);
    kp_array_free(&w->jobs[i].loads);
    kp_array_free(&w->jobs[i].perf);
  }
  kp_array_free(&w->values);
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->mutex);
  kp_free(w);
  *writer = NULL;
}
