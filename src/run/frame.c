// One frame: inputs and sub-steps, derive, output, keep, tell. The sub-step itself is world/step.c.
#include "base/log.h"
#include "base/text.h"
#include "base/timer.h"
#include "run/session.h"

#define CHECKPOINT_SHARE 0.05  // of the run's time, at most

// Sub-steps until the frame's time. The end is counted from the start of the run, so rounding does
// not add up over the frames.
static kp_result simulate(kp_session *s, kp_frame_facts *facts) {
  double start = kp_time_now();
  if (s->frame == 0) {
    for (size_t i = 0; i < s->world->registry->spaces.count; ++i) {
      const kp_space *space = s->world->registry->spaces.data[i];
      facts->report.n_particles += kp_space_is_population(s->world, space) ? space->n : 0;
    }
    for (size_t p = 0; p < s->world->env.parts.count; ++p) {
      facts->report.n_particles += s->world->env.parts.data[p].count;
    }
    return kp_world_probes_start(s->world);
  }
  double end = (double)s->frame / kp_scene_output(s->scene)->fps;
  kp_result result = kp_world_advance(s->world, end - kp_world_time(s->world), &facts->report);
  facts->simulate = kp_time_now() - start;
  return result == KP_OK ? KP_OK : kp_fail_in(result, "frame %llu", (unsigned long long)s->frame);
}

static int64_t count_cells(const kp_world *world) {
  int64_t n = 0;
  for (size_t g = 0; g < world->env.grids.count; ++g) {
    n += kp_mac_n_cells(world->env.grids.data[g].mac);
  }
  return n;
}

static kp_result add_meta(const kp_session *s, kp_batch *batch) {
  const kp_domain_def *domain = &s->world->spec.domain;
  void *data;
  KP_TRY(kp_batch_room(batch, KP_ITEM_I32, 1, "", &data, "meta/up_axis"));
  *(int32_t *)data = kp_env_up_axis(&s->world->env);
  KP_TRY(kp_batch_room(batch, KP_ITEM_F64, 1, "1/s", &data, "meta/fps"));
  *(double *)data = kp_scene_output(s->scene)->fps;
  KP_TRY(kp_batch_room(batch, KP_ITEM_F64, 6, "m", &data, "meta/domain"));
  kp_vec3 *corners = data;
  corners[0] = domain->min;
  corners[1] = domain->max;
  if (domain->dimension == 2) {
    // a flat world lies at z = 0, whatever the corners say
    corners[0].z = corners[1].z = 0.0;
  }
  return KP_OK;
}

static kp_result gather_frame(kp_session *s, kp_frame_job *job) {
  job->has_frame = (int64_t)s->frame >= s->record.first_frame;
  if (!job->has_frame) {
    return KP_OK;
  }
  kp_batch_begin(&job->frame_batch, s->world, 0, s->frame);
  KP_TRY(add_meta(s, &job->frame_batch));
  KP_TRY(kp_batch_add_sets(&job->frame_batch, s->world));
  KP_TRY(kp_batch_add_volumes(&job->frame_batch, s->world));
  KP_TRY(kp_batch_add_parts(&job->frame_batch, s->world));
  KP_TRY(kp_surfaces_add(&s->surfaces, s->world, &job->frame_batch));
  return kp_shape_meshes_add(&s->meshes, s->world, &job->frame_batch);
}

// A signal, or a file "stop" in the run folder, which is taken away so that resume is not stopped
// by it.
static bool is_stop_wanted(const kp_session *s) {
  char path[KP_PATH_SIZE];
  bool wanted = s->def->stop != NULL && *s->def->stop != 0;
  if (kp_run_path(&s->folder, path, "stop") == KP_OK && kp_file_exists(path)) {
    wanted = true;
    if (kp_file_remove(path) != KP_OK) {
      kp_log(KP_LOG_WARN, "run", "%s", kp_last_error());
    }
  }
  return wanted;
}

// Always at the end and at a stop; else every n-th frame, or, if that was left to us, when the time
// since the last one is long against what a checkpoint costs.
static bool is_checkpoint_due(const kp_session *s) {
  int64_t every = kp_scene_output(s->scene)->checkpoint_every;
  if (s->is_stopping || (int64_t)s->frame >= s->record.last_frame) {
    return true;
  }
  if (every > 0) {
    return s->frame % (uint64_t)every == 0;
  }
  double cost = s->checkpoint_gather + kp_writer_checkpoint_seconds(s->writer);
  return CHECKPOINT_SHARE * (kp_time_now() - s->checkpoint_time) >= cost;
}

// The state after a frame.
static kp_result gather_state(kp_session *s, kp_frame_job *job, uint64_t frame) {
  kp_batch_begin(&job->state_batch, s->world, 1, frame);
  void *data;
  KP_TRY(kp_batch_room(&job->state_batch, KP_ITEM_U64, 1, "", &data, "run/scene_hash"));
  *(uint64_t *)data = s->record.scene_hash;
  return kp_batch_add_state(&job->state_batch, s->world);
}

static kp_result gather_checkpoint(kp_session *s, kp_frame_job *job) {
  job->has_checkpoint = is_checkpoint_due(s);
  job->keeps_state = kp_writer_is_near_limit(s->writer, job);
  if (!job->has_checkpoint && !job->keeps_state) {
    return KP_OK;
  }
  double start = kp_time_now();
  KP_TRY(gather_state(s, job, s->frame));
  double now = kp_time_now();
  s->checkpoint_time = job->has_checkpoint ? now : s->checkpoint_time;
  s->checkpoint_gather = now - start;
  return KP_OK;
}

static kp_result gather_rows(kp_session *s, kp_frame_job *job, const kp_frame_facts *facts) {
  KP_TRY(kp_array_resize(&job->stats, s->stats_columns.names.count));
  KP_TRY(kp_array_resize(&job->perf, s->perf_columns.names.count));
  KP_TRY(kp_stats_row(s->world, facts, job->stats.data));
  kp_perf_row(s->world, facts, &s->perf_base, job->perf.data);
  // what was sampled goes with the job, and its memory comes back with the job after the next
  kp_world_probes *probes = &s->world->probes;
  kp_probe_rows rows = probes->rows;
  kp_probe_loads loads = probes->loads;
  probes->rows = job->probes;
  probes->loads = job->loads;
  probes->rows.count = probes->loads.count = 0;
  job->probes = rows;
  job->loads = loads;
  return KP_OK;
}

// A stop among retries of a frame: the world is back at the end of the frame before, and a
// checkpoint of it lets a resume go on from there.
static kp_result keep_start(kp_session *s) {
  char sentence[1024];
  kp_text_copy(sentence, sizeof sentence, kp_last_error());
  kp_frame_job *job;
  KP_TRY(kp_writer_take(s->writer, &job));
  job->frame = s->frame - 1;
  job->has_frame = job->has_rows = false;
  job->has_checkpoint = true;
  KP_TRY(gather_state(s, job, job->frame));
  kp_writer_submit(s->writer, job);
  KP_TRY(kp_writer_finish(s->writer));
  return kp_fail(KP_STOPPED, "%s; a checkpoint of frame %llu is kept", sentence,
                 (unsigned long long)job->frame);
}

kp_result kp_session_frame(kp_session *s) {
  kp_frame_facts facts = { .frame = s->frame };

  // inputs and sub-steps: curves of colliders and emitters are evaluated by the world
  kp_result result = simulate(s, &facts);
  KP_TRY(result == KP_STOPPED ? keep_start(s) : result);
  facts.n_cells = count_cells(s->world);

  if (s->def->watch != NULL) {
    const kp_render_def render = kp_film_at(&s->extras.render, kp_world_time(s->world));
    KP_TRY(s->def->watch(s->world, &render, s->def->watch_context));
  }

  // derive and output: host copies, so that the state is free again
  kp_frame_job *job;
  double start = kp_time_now();
  KP_TRY(kp_writer_take(s->writer, &job));
  facts.wait = kp_time_now() - start;
  job->frame = s->frame;
  start = kp_time_now();
  KP_TRY(kp_world_show(s->world));
  KP_TRY(gather_frame(s, job));

  // keep
  s->is_stopping = (int64_t)s->frame < s->record.last_frame && is_stop_wanted(s);
  KP_TRY(gather_checkpoint(s, job));
  facts.gather = kp_time_now() - start;

  // tell
  double now = kp_time_now();
  facts.wall = now - s->frame_end;
  s->frame_end = now;
  job->has_rows = true;
  KP_TRY(gather_rows(s, job, &facts));
  bool has_checkpoint = job->has_checkpoint;
  kp_writer_submit(s->writer, job);
  kp_progress_frame(&s->progress, &facts, kp_world_time(s->world), has_checkpoint);
  ++s->frame;
  return KP_OK;
}
