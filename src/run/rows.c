#include "run/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void kp_columns_free(kp_columns *columns) {
  for (size_t i = 0; i < columns->names.count; ++i) {
    kp_free(columns->names.data[i]);
  }
  kp_array_free(&columns->names);
}

static kp_result add_column(kp_columns *columns, const char *format, ...) KP_PRINTF(2, 3);

static kp_result add_column(kp_columns *columns, const char *format, ...) {
  char name[256];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  // what a table cannot hold in a header
  for (char *p = name; (p = strpbrk(p, ",\"\r\n")) != NULL;) {
    *p = '_';
  }
  char *copy = kp_strdup(name, KP_MEMORY_IO);
  if (copy == NULL || kp_array_push(&columns->names, copy) != KP_OK) {
    kp_free(copy);
    return KP_ERROR_MEMORY;
  }
  return KP_OK;
}

static kp_result add_columns(kp_columns *columns, const char *prefix, const char *const *names,
                             size_t n) {
  for (size_t i = 0; i < n; ++i) {
    KP_TRY(add_column(columns, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", names[i]));
  }
  return KP_OK;
}

#define COUNT(names) (sizeof(names) / sizeof(names)[0])

// ---- stats.csv

static const char *const frame_names[] = { "frame",   "time",    "substeps",
                                           "retries", "emitted", "removed" };
static const char *const population_names[] = { "count",
                                                "mass",
                                                "momentum_x",
                                                "momentum_y",
                                                "momentum_z",
                                                "kinetic_energy",
                                                "potential_energy",
                                                "internal_energy",
                                                "min_x",
                                                "min_y",
                                                "min_z",
                                                "max_x",
                                                "max_y",
                                                "max_z",
                                                "max_speed",
                                                "max_density_error",
                                                "memory_gain",
                                                "memory_share" };

kp_result kp_stats_columns(kp_world *world, kp_columns *out) {
  *out = (kp_columns){ 0 };
  kp_result result = add_columns(out, "", frame_names, COUNT(frame_names));
  for (int p = 0; result == KP_OK && p < kp_world_n_populations(world); ++p) {
    kp_population_stats stats;
    result = kp_world_stats(world, p, &stats);
    if (result == KP_OK) {
      result = add_columns(out, stats.name, population_names, COUNT(population_names));
    }
    for (int a = 0; result == KP_OK && a < stats.n_amounts; ++a) {
      result = add_columns(out, stats.name, &stats.amounts[a].name, 1);
    }
  }
  if (result != KP_OK) {
    kp_columns_free(out);
  }
  return result;
}

static double *put_vec3(double *out, kp_vec3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
  return out + 3;
}

kp_result kp_stats_row(kp_world *world, const kp_frame_facts *facts, double *out) {
  const kp_step_report *report = &facts->report;
  *out++ = (double)facts->frame;
  *out++ = kp_world_time(world);
  *out++ = (double)report->steps;
  *out++ = (double)report->retries;
  *out++ = (double)report->n_emitted;
  *out++ = (double)report->n_removed;
  for (int p = 0; p < kp_world_n_populations(world); ++p) {
    kp_population_stats stats;
    KP_TRY(kp_world_stats(world, p, &stats));
    // an empty population is nowhere
    kp_vec3 nowhere = kp_vec3_make(NAN, NAN, NAN);
    *out++ = (double)stats.count;
    *out++ = stats.mass;
    out = put_vec3(out, stats.momentum);
    *out++ = stats.kinetic_energy;
    *out++ = stats.potential_energy;
    *out++ = stats.internal_energy;
    out = put_vec3(out, stats.count > 0 ? stats.bounds.min : nowhere);
    out = put_vec3(out, stats.count > 0 ? stats.bounds.max : nowhere);
    *out++ = stats.max_speed;
    *out++ = stats.max_density_error;
    *out++ = stats.memory_gain;
    *out++ = stats.memory_share;
    for (int a = 0; a < stats.n_amounts; ++a) {
      *out++ = stats.amounts[a].value;
    }
  }
  return KP_OK;
}

// ---- probes_<name>.csv

static const char *const probe_names[] = {
  "frame",    "step",    "time",        "region",     "x",          "y",
  "z",        "count",   "velocity_x",  "velocity_y", "velocity_z", "speed",
  "pressure", "density", "temperature", "height",
};
static const char *const body_names[] = { "orientation_w",      "orientation_x",
                                          "orientation_y",      "orientation_z",
                                          "angular_velocity_x", "angular_velocity_y",
                                          "angular_velocity_z" };
static const char *const load_names[] = { "force_x",  "force_y",  "force_z",
                                          "torque_x", "torque_y", "torque_z" };

kp_result kp_probe_columns(const kp_world *world, const kp_world_probe *probe, kp_columns *out) {
  *out = (kp_columns){ 0 };
  const kp_loads *loads = world->env.loads;
  kp_result result = add_columns(out, "", probe_names, COUNT(probe_names));
  if (result == KP_OK && probe->body >= 0) {
    result = add_columns(out, "", body_names, COUNT(body_names));
  }
  if (result == KP_OK && probe->body >= 0) {
    result = add_columns(out, "", load_names, COUNT(load_names));
  }
  for (size_t m = 0; result == KP_OK && probe->body >= 0 && m < loads->media.count; ++m) {
    result = add_columns(out, loads->media.data[m].name, load_names, COUNT(load_names));
  }
  if (result != KP_OK) {
    kp_columns_free(out);
  }
  return result;
}

static double *put_load(double *out, kp_load load) {
  return put_vec3(put_vec3(out, load.force), load.torque);
}

static double *put_body(double *out, const kp_probe_value *sample) {
  *out++ = sample->orientation.w;
  *out++ = sample->orientation.x;
  *out++ = sample->orientation.y;
  *out++ = sample->orientation.z;
  out = put_vec3(out, sample->angular_velocity);
  return put_load(out, (kp_load){ sample->force, sample->torque });
}

kp_result kp_probe_row_values(const kp_probe_row *row, uint64_t frame, const kp_probe_loads *loads,
                              size_t n_media, kp_row_values *values) {
  size_t n = COUNT(probe_names);
  n += row->load >= 0 ? COUNT(body_names) + COUNT(load_names) * (1 + n_media) : 0;
  KP_TRY(kp_array_resize(values, n));
  double *out = values->data;
  *out++ = (double)frame;
  *out++ = (double)row->step;
  *out++ = row->time;
  *out++ = (double)row->region;
  out = put_vec3(out, row->sample.position);
  *out++ = row->sample.count;
  out = put_vec3(out, row->sample.velocity);
  *out++ = row->sample.speed;
  *out++ = row->sample.pressure;
  *out++ = row->sample.density;
  *out++ = row->sample.temperature;
  *out++ = row->sample.height;
  if (row->load >= 0) {
    out = put_body(out, &row->sample);
    for (size_t m = 0; m < n_media; ++m) {
      out = put_load(out, loads->data[(size_t)row->load + m]);
    }
  }
  return KP_OK;
}

// ---- perf.csv

// the writer fills KP_PERF_WRITE and KP_PERF_CHECKPOINT
static const char *const perf_names[] = { "frame",    "wall_s",  "simulate_s",   "wait_s",
                                          "gather_s", "write_s", "checkpoint_s", "mps" };
static const char *const counter_names[] = { "bytes_in",    "bytes_out",          "copies",
                                             "launches",    "device_allocations", "field_growths",
                                             "device_bytes" };

kp_result kp_perf_columns(kp_columns *out) {
  *out = (kp_columns){ 0 };
  kp_result result = add_columns(out, "", perf_names, COUNT(perf_names));
  for (int stage = 0; result == KP_OK && stage < KP_STAGE_COUNT; ++stage) {
    result = add_column(out, "%s_s", kp_stage_names[stage]);
  }
  if (result == KP_OK) {
    result = add_columns(out, "", counter_names, COUNT(counter_names));
  }
  for (int tag = 0; result == KP_OK && tag < KP_MEMORY_TAG_COUNT; ++tag) {
    result = add_column(out, "memory_%s", kp_memory_tag_name((kp_memory_tag)tag));
  }
  if (result != KP_OK) {
    kp_columns_free(out);
  }
  return result;
}

double kp_frame_rate(const kp_frame_facts *facts) {
  int64_t particles = facts->report.n_particles;
  double work = (double)(particles > 0 ? particles : facts->n_cells) * (double)facts->report.steps;
  return facts->simulate > 0.0 ? 1e-6 * work / facts->simulate : 0.0;
}

static double stage_seconds(const kp_profile *profile, const char *name) {
  for (int slot = 0; slot < profile->n_slots; ++slot) {
    if (strcmp(profile->names[slot], name) == 0) {
      return profile->seconds[slot];
    }
  }
  return 0.0;
}

static int64_t count_growths(const kp_registry *registry) {
  int64_t growths = 0;
  for (size_t i = 0; i < registry->spaces.count; ++i) {
    growths += registry->spaces.data[i]->growths;
  }
  return growths;
}

void kp_perf_row(kp_world *world, const kp_frame_facts *facts, kp_perf_base *base, double *out) {
  const kp_backend_counters *now = &world->backend->counters, *then = &base->counters;
  int64_t growths = count_growths(world->registry);
  const double head[] = {
    (double)facts->frame, facts->wall, facts->simulate, facts->wait, facts->gather, 0.0, 0.0,
    kp_frame_rate(facts)
  };
  const double counters[] = { (double)(now->bytes_in - then->bytes_in),
                              (double)(now->bytes_out - then->bytes_out),
                              (double)(now->copies - then->copies),
                              (double)(now->launches - then->launches),
                              (double)(now->device_allocations - then->device_allocations),
                              (double)(growths - base->growths),
                              (double)now->device_bytes };
  memcpy(out, head, sizeof head);
  out += COUNT(head);
  for (int stage = 0; stage < KP_STAGE_COUNT; ++stage) {
    *out++ = stage_seconds(&world->profile, kp_stage_names[stage]);
  }
  memcpy(out, counters, sizeof counters);
  out += COUNT(counters);
  for (int tag = 0; tag < KP_MEMORY_TAG_COUNT; ++tag) {
    *out++ = (double)kp_memory_tag_bytes((kp_memory_tag)tag);
  }
  kp_profile_clear(&world->profile);
  base->counters = *now;
  base->growths = growths;
}
