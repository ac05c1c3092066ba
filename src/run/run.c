#include "run/run.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "base/timer.h"
#include "io/disk.h"
#include "par/parallel.h"
#include "run/session.h"

kp_run_def kp_default_run_def(void) {
  kp_run_def def = { .backend = "cpu", .out = stdout };
  def.first_frame = def.last_frame = -1;
  return def;
}

// ---- setting up

static char *copy_of(const char *text) {
  return kp_strdup(text, KP_MEMORY_WORLD);
}

static kp_result fill_record(kp_session *s) {
  const kp_run_def *def = s->def;
  kp_run_record *record = &s->record;
  record->scene = copy_of(def->scene);
  record->build = copy_of(kp_build_text());
  record->backend = copy_of(def->backend);
  if (record->scene == NULL || record->build == NULL || record->backend == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < def->n_sets; ++i) {
    char *set = copy_of(def->sets[i]);
    if (set == NULL || kp_array_push(&record->sets, set) != KP_OK) {
      kp_free(set);
      return KP_ERROR_MEMORY;
    }
  }
  record->threads = kp_parallel_threads();
  record->fps = kp_scene_output(s->scene)->fps;
  return kp_scene_hash(s->scene, &record->scene_hash);
}

// Functions of time are sampled over the scene's frames, so a run cannot go beyond them.
static kp_result choose_frames(kp_session *s, int64_t first, int64_t last) {
  int64_t n = kp_scene_output(s->scene)->frames;
  s->record.first_frame = first >= 0 ? first : 0;
  s->record.last_frame = last >= 0 ? last : n;
  if (s->record.last_frame > n) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "--frames asks for frame %lld, but the scene ends with frame %lld; a new run "
                   "may be longer with --set output.frames=%lld",
                   (long long)last, (long long)n, (long long)last);
  }
  if (s->record.first_frame > s->record.last_frame) {
    return kp_fail(KP_ERROR_ARGUMENT, "--frames %lld:%lld holds no frame",
                   (long long)s->record.first_frame, (long long)s->record.last_frame);
  }
  return KP_OK;
}

static kp_result build_world(kp_session *s) {
  KP_TRY(kp_extras_check(&s->extras, s->scene));
  KP_TRY(kp_world_create(s->record.backend, &s->world));
  s->world->stop = s->def->stop;
  KP_TRY(kp_world_set_spec(s->world, kp_scene_spec(s->scene)));
  KP_TRY(kp_world_build(s->world));
  KP_TRY(kp_surfaces_begin(&s->surfaces, &s->extras.surface, s->world));
  return kp_shape_meshes_make(s->world, &s->meshes);
}

// With --force the old run goes; that must not be where the scene lies.
static kp_result check_scene_outside(const kp_run_def *def) {
  char scene_folder[KP_PATH_SIZE], here[PATH_MAX], there[PATH_MAX];
  KP_TRY(kp_path_folder(scene_folder, sizeof scene_folder, def->scene));
  bool is_same = realpath(scene_folder, here) != NULL && realpath(def->folder, there) != NULL &&
                 strcmp(here, there) == 0;
  return is_same ? kp_fail(KP_ERROR_ARGUMENT,
                           "%s is the scene's own folder: choose another one for the run with -o",
                           def->folder)
                 : KP_OK;
}

static kp_result set_up_start(kp_session *s) {
  const kp_run_def *def = s->def;
  kp_extras_init(&s->extras);
  kp_scene_options options = kp_extras_options(&s->extras, def->sets, def->n_sets);
  KP_TRY(kp_scene_load(def->scene, &options, &s->scene));
  KP_TRY(choose_frames(s, def->first_frame, def->last_frame));
  KP_TRY(kp_spec_check(kp_scene_spec(s->scene)));
  KP_TRY(check_scene_outside(def));
  KP_TRY(fill_record(s));

  // the world first: a scene that cannot be built leaves no folder, and loses no older run
  KP_TRY(build_world(s));
  KP_TRY(kp_run_folder_create(def->folder, def->force, &s->folder));
  KP_TRY(kp_inputs_keep(s->scene, def->scene, &s->folder, &s->record));
  return kp_run_record_write(&s->record, &s->folder);
}

// ---- going on

// The whole file is read and checked before the world is touched, so a damaged one leaves it as it
// was.
static kp_result load_checkpoint(kp_session *s, kp_container *container) {
  kp_batch batch = { 0 };
  kp_result result = kp_batch_read(&batch, container);
  if (result == KP_OK) {
    const kp_section *hash = kp_batch_find(&batch, "run/scene_hash");
    bool is_same = hash != NULL && hash->type == KP_ITEM_U64 && hash->count == 1 &&
                   *(const uint64_t *)hash->data == s->record.scene_hash;
    result = is_same
                 ? kp_batch_restore(&batch, s->world)
                 : kp_fail(KP_ERROR_FORMAT, "%s is of another scene", kp_container_path(container));
  }
  if (result == KP_OK) {
    s->frame = batch.head.frame + 1;
  }
  kp_batch_free(&batch);
  return result;
}

static kp_result try_checkpoint(kp_session *s, const char *name, bool *is_damaged) {
  char path[KP_PATH_SIZE];
  kp_container *container = NULL;
  *is_damaged = false;
  KP_TRY(kp_run_path(&s->folder, path, "checkpoints/%s", name));
  kp_result result = kp_container_open(path, &container);
  if (result != KP_OK) {
    *is_damaged = result == KP_ERROR_FORMAT;
    return result;
  }
  result = kp_batch_check_fit(container, s->world);
  if (result == KP_OK) {
    result = load_checkpoint(s, container);
    *is_damaged = result == KP_ERROR_FORMAT;
  }
  kp_container_close(&container);
  return result;
}

// Whether a frame's file is damaged; one that cannot be read now is an error.
static kp_result check_frame(const kp_session *s, uint64_t frame, bool is_complete,
                             bool *is_damaged) {
  char path[KP_PATH_SIZE];
  kp_container *container = NULL;
  KP_TRY(kp_run_frame_path(&s->folder, frame, path));
  *is_damaged = false;
  if (!kp_file_exists(path)) {
    // frames that were removed while a run goes on are not missed
    *is_damaged = is_complete;
    if (is_complete) {
      (void)kp_fail(KP_ERROR_FORMAT, "%s is missing", path);
    }
    return KP_OK;
  }
  kp_result result = kp_container_open(path, &container);
  if (result == KP_OK) {
    result = kp_container_verify(container);
  }
  kp_container_close(&container);
  *is_damaged = result == KP_ERROR_FORMAT;
  return *is_damaged ? KP_OK : result;
}

// The first frame up to that of the newest checkpoint that is damaged, or of a complete run is
// missing; it can only be made again from before. UINT64_MAX: none.
static kp_result find_damaged_frame(const kp_session *s, const kp_numbered_list *checkpoints,
                                    uint64_t *frame) {
  *frame = UINT64_MAX;
  if (checkpoints->count == 0) {
    return KP_OK;  // all of them are made again
  }
  uint64_t newest = checkpoints->files[checkpoints->count - 1].number;
  bool is_complete = (int64_t)newest >= s->record.last_frame;
  for (uint64_t f = (uint64_t)s->record.first_frame; f <= newest; ++f) {
    bool is_damaged;
    KP_TRY(check_frame(s, f, is_complete, &is_damaged));
    if (is_damaged) {
      kp_log(KP_LOG_WARN, "run", "%s; it is made again, from the checkpoint before it",
             kp_last_error());
      *frame = f;
      break;
    }
  }
  return KP_OK;
}

// The newest checkpoint that is sound and before every damaged frame; the start of the run when
// there is none.
static kp_result restore(kp_session *s) {
  kp_numbered_list list;
  KP_TRY(kp_run_checkpoints(&s->folder, &list));
  uint64_t damaged;
  kp_result result = find_damaged_frame(s, &list, &damaged);
  s->frame = 0;
  for (size_t i = result == KP_OK ? list.count : 0; i > 0; --i) {
    bool is_damaged;
    if (list.files[i - 1].number >= damaged) {
      continue;
    }
    result = try_checkpoint(s, list.files[i - 1].name, &is_damaged);
    if (result == KP_OK || !is_damaged) {
      break;
    }
    kp_log(KP_LOG_WARN, "run", "%s; going on from %s", kp_last_error(),
           i > 1 ? "the checkpoint before it" : "the start");
    result = KP_OK;
  }
  kp_numbered_free(&list);
  return result;
}

static kp_result check_scene_hash(const kp_session *s) {
  uint64_t hash;
  KP_TRY(kp_scene_hash(s->scene, &hash));
  if (hash != s->record.scene_hash) {
    return kp_fail(KP_ERROR_FORMAT,
                   "the kept scene of %s means something else to this version of the program (run "
                   "made by %s, this is %s)",
                   s->folder.path, s->record.build, kp_build_text());
  }
  return KP_OK;
}

static kp_result remove_stop_file(const kp_session *s) {
  char path[KP_PATH_SIZE];
  KP_TRY(kp_run_path(&s->folder, path, "stop"));
  return kp_file_remove(path);
}

static kp_result set_up_resume(kp_session *s) {
  const kp_run_def *def = s->def;
  s->is_resumed = true;
  KP_TRY(kp_run_folder_open(def->folder, &s->folder));
  KP_TRY(kp_run_folder_lock(&s->folder));
  KP_TRY(kp_run_record_read(&s->folder, &s->record));
  kp_extras_init(&s->extras);
  KP_TRY(kp_inputs_load(&s->folder, &s->record, &s->extras, &s->scene));
  KP_TRY(check_scene_hash(s));
  int64_t first = s->record.first_frame, last = s->record.last_frame;
  KP_TRY(choose_frames(s, def->first_frame >= 0 ? def->first_frame : first,
                       def->last_frame >= 0 ? def->last_frame : last));
  if (s->record.first_frame != first || s->record.last_frame != last) {
    // a later resume without --frames goes on to the same end
    KP_TRY(kp_run_record_write(&s->record, &s->folder));
  }
  KP_TRY(remove_stop_file(s));
  KP_TRY(build_world(s));
  return restore(s);
}

// ---- the loop

static kp_result open_probes(kp_session *s, double last) {
  const kp_world_probes *probes = &s->world->probes;
  s->world->probes.keep = true;
  for (size_t i = 0; i < probes->all.count; ++i) {
    char path[KP_PATH_SIZE];
    kp_table *table;
    KP_TRY(kp_run_path(&s->folder, path, "probes_%s.csv", probes->all.data[i].def.name));
    KP_TRY(kp_array_reserve(&s->probes, i + 1));
    kp_columns columns;
    KP_TRY(kp_probe_columns(s->world, &probes->all.data[i], &columns));
    kp_result result = kp_table_resume(path, (const char *const *)columns.names.data,
                                       columns.names.count, last, &table);
    kp_columns_free(&columns);
    KP_TRY(result);
    s->probes.data[s->probes.count++] = table;
  }
  return KP_OK;
}

// Times of this machine: a table that is damaged is not worth a run, and a new one is begun.
static kp_result open_perf(kp_session *s, double last) {
  char path[KP_PATH_SIZE];
  const char *const *names = (const char *const *)s->perf_columns.names.data;
  KP_TRY(kp_run_path(&s->folder, path, "perf.csv"));
  kp_result result = kp_table_resume(path, names, s->perf_columns.names.count, last, &s->perf);
  if (result == KP_ERROR_FORMAT) {
    kp_log(KP_LOG_WARN, "run", "%s; a new one is begun", kp_last_error());
    result = kp_table_create(path, names, s->perf_columns.names.count, &s->perf);
  }
  return result;
}

static kp_result open_tables(kp_session *s) {
  char path[KP_PATH_SIZE];
  double last = (double)s->frame - 1.0;
  KP_TRY(kp_stats_columns(s->world, &s->stats_columns));
  KP_TRY(kp_perf_columns(&s->perf_columns));
  KP_TRY(kp_run_path(&s->folder, path, "stats.csv"));
  KP_TRY(kp_table_resume(path, (const char *const *)s->stats_columns.names.data,
                         s->stats_columns.names.count, last, &s->stats));
  KP_TRY(open_probes(s, last));
  return open_perf(s, last);
}

// On the cpu the simulation needs the cores; with a device they are idle.
static int writer_threads(const kp_session *s) {
  int n = kp_parallel_threads();
  if (s->world->backend->vt->kind == KP_BACKEND_CUDA) {
    return n;
  }
  return n >= 8 ? n / 4 : 1;
}

static kp_result start_writer(kp_session *s) {
  kp_writer_def def = { .folder = &s->folder, .stats = s->stats, .perf = s->perf };
  def.probes = s->probes.data;
  def.n_probes = s->probes.count;
  def.size_limit = kp_disk_size_limit();
  def.n_media = s->world->env.loads != NULL ? s->world->env.loads->media.count : 0;
  def.threads = writer_threads(s);
  def.verify_frames = s->is_resumed;
  def.perf_write = KP_PERF_WRITE;
  def.perf_checkpoint = KP_PERF_CHECKPOINT;
  return kp_writer_create(&def, &s->writer);
}

static kp_result run_frames(kp_session *s) {
  KP_TRY(open_tables(s));
  KP_TRY(start_writer(s));
  kp_progress_begin(&s->progress, s->def->progress, s->def->out, (uint64_t)s->record.last_frame);
  s->frame_end = s->checkpoint_time = kp_time_now();
  kp_result result = KP_OK;
  while (result == KP_OK && (int64_t)s->frame <= s->record.last_frame && !s->is_stopping) {
    result = kp_session_frame(s);
  }
  kp_progress_end(&s->progress);
  if (result == KP_OK) {
    result = kp_writer_finish(s->writer);
  }
  if (result == KP_OK && s->is_stopping) {
    result = kp_fail(KP_STOPPED, "stopped after frame %lld of %lld", (long long)s->frame - 1,
                     (long long)s->record.last_frame);
  }
  return result;
}

static void end_session(kp_session *s) {
  kp_writer_destroy(&s->writer);
  kp_table_close(&s->stats);
  kp_table_close(&s->perf);
  for (size_t i = 0; i < s->probes.count; ++i) {
    kp_table_close(&s->probes.data[i]);
  }
  kp_array_free(&s->probes);
  kp_columns_free(&s->stats_columns);
  kp_columns_free(&s->perf_columns);
  kp_shape_meshes_free(&s->meshes);
  kp_surfaces_free(&s->surfaces);
  if (s->def->watch != NULL) {
    (void)s->def->watch(NULL, NULL, s->def->watch_context);
  }
  kp_world_destroy(&s->world);
  kp_scene_free(&s->scene);
  kp_run_record_free(&s->record);
  kp_run_folder_close(&s->folder);
}

static kp_result run_session(const kp_run_def *def, kp_result (*set_up)(kp_session *),
                             kp_run_outcome *outcome) {
  kp_session s = { .def = def, .folder = { .lock = -1 } };
  kp_parallel_set_threads(def->threads);
  kp_result result = set_up(&s);
  outcome->from_frame = (int64_t)s.frame - 1;
  outcome->wanted = s.record.last_frame;
  if (result == KP_OK && def->begun != NULL) {
    def->begun(&s.folder, def->context);
  }
  if (result == KP_OK) {
    result = run_frames(&s);
  }
  outcome->last_frame = (int64_t)s.frame - 1;
  end_session(&s);
  return result;
}

kp_result kp_run_start(const kp_run_def *def, kp_run_outcome *outcome) {
  return run_session(def, set_up_start, outcome);
}

kp_result kp_run_resume(const kp_run_def *def, kp_run_outcome *outcome) {
  return run_session(def, set_up_resume, outcome);
}
