#include "run/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "data/curve.h"
#include "io/files.h"
#include "par/parallel.h"
#include "run/run_folder.h"
#include "run/shape_meshes.h"

#define SHORT 0.2         // s
#define SETTLED 0.5       // share of the pilot after which rates are taken
#define MOST_SECOND 1.5   // of the budget, with the second sub-step
#define MOST_SHAPES 1024  // whose meshes are gathered; of more a sample is
#define TYPICAL 0.5       // of the speed of a free fall or rise: what a flow has over a run

// ---- the pilot ----------------------------------------------------------------------------------

typedef struct pilot_step {
  double cpu, time;  // s, at its end
  double dt;
  double size;  // elements that took part
} pilot_step;

typedef struct pilot {
  kp_world *world;
  const kp_output_def *output;
  kp_surfaces *surfaces;
  KP_ARRAY(pilot_step) steps;
  double cells, nodes;
  double frame_cost;  // s of processor time, for each element
} pilot;

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double particles_of(const kp_world *world) {
  double n = 0.0;
  for (size_t s = 0; s < world->registry->spaces.count; ++s) {
    const kp_space *space = world->registry->spaces.data[s];
    n += kp_space_is_population(world, space) ? (double)space->n : 0.0;
  }
  return n;
}

static double size_of(const pilot *p) {
  return 1.0 + particles_of(p->world) + p->nodes + p->cells;
}

static double end_of(const pilot *p) {
  return (double)p->output->frames / p->output->fps;
}

// Whether a sub-step as long as the newest one is still within the budget. The first one makes room
// for the others, so a second one may take half as much again.
static bool has_time(const pilot *p, double used, double budget) {
  size_t n = p->steps.count;
  double before = n > 1 ? p->steps.data[n - 2].cpu : 0.0;
  double newest = n > 0 ? p->steps.data[n - 1].cpu - before : 0.0;
  return n == 0 || used + newest < (n == 1 ? MOST_SECOND : 1.0) * budget;
}

// Real sub-steps that end with frames as those of the run do.
static kp_result fly(pilot *p, double budget, double *trouble) {
  double begin = cpu_now();
  double frame = 1.0 / p->output->fps;
  *trouble = NAN;
  while (p->world->env.time < end_of(p) * (1.0 - 1e-9) && has_time(p, cpu_now() - begin, budget)) {
    double next = (floor(p->world->env.time / frame + 1e-6) + 1.0) * frame;
    kp_step_report report;
    kp_result result = kp_world_step(p->world, next - p->world->env.time, &report);
    if (result == KP_ERROR_PHYSICS) {
      *trouble = p->world->env.time;
      return KP_OK;
    }
    KP_TRY(result);
    pilot_step step = { cpu_now() - begin, p->world->env.time, report.dt, size_of(p) };
    KP_TRY(kp_array_push(&p->steps, step));
  }
  return KP_OK;
}

static kp_result gather(pilot *p, kp_batch *batch) {
  KP_TRY(kp_world_show(p->world));
  kp_batch_begin(batch, p->world, 0, 0);
  KP_TRY(kp_batch_add_sets(batch, p->world));
  KP_TRY(kp_batch_add_volumes(batch, p->world));
  KP_TRY(kp_batch_add_parts(batch, p->world));
  return kp_surfaces_add(p->surfaces, p->world, batch);
}

// Where no file can be written, the rest of a frame has to do.
static void write_frame(const kp_batch *batch) {
  const char *folder = getenv("TMPDIR");
  char path[KP_PATH_SIZE];
  (void)snprintf(path, sizeof path, "%s/kelpie-check-%ld.kpf", folder != NULL ? folder : "/tmp",
                 (long)getpid());
  kp_result result =
      kp_container_write(path, &batch->head, batch->sections.data, batch->sections.count);
  result = result == KP_OK ? kp_file_remove(path) : result;
  if (result != KP_OK) {
    kp_log(KP_LOG_WARN, "check", "the time leaves out that of files: %s", kp_last_error());
  }
}

// Of thousands of bodies the meshes of some are written, to a file of their own, and stand for all.
static kp_result sample_shapes(pilot *p, const kp_shape_meshes *meshes, kp_batch *batch) {
  kp_batch_begin(batch, p->world, 0, 0);
  KP_TRY(kp_shape_meshes_add(meshes, p->world, batch));
  write_frame(batch);
  return KP_OK;
}

static kp_result write_once(pilot *p, const kp_shape_meshes *meshes, size_t stride, kp_batch *batch,
                            double *seconds) {
  double begin = cpu_now();
  KP_TRY(gather(p, batch));
  if (stride == 1) {
    KP_TRY(kp_shape_meshes_add(meshes, p->world, batch));
  }
  write_frame(batch);
  *seconds = cpu_now() - begin;
  if (stride > 1) {
    begin = cpu_now();
    KP_TRY(sample_shapes(p, meshes, batch));
    *seconds += (double)stride * (cpu_now() - begin);
  }
  return KP_OK;
}

// What a frame costs besides its sub-steps: surfaces, copies, and a file. The first one makes room
// for the others, so a second one is taken where that does not take long.
static kp_result take_frame(pilot *p) {
  kp_batch batch = { 0 };
  kp_shape_meshes meshes = { 0 };
  size_t stride = (p->world->shapes.count + MOST_SHAPES - 1) / MOST_SHAPES;
  stride = stride > 1 ? stride : 1;
  kp_result result = kp_shape_meshes_sample(p->world, stride, &meshes);
  double seconds = 0.0;
  double spent = 0.0;
  for (int k = 0; k < 2 && spent < SHORT && result == KP_OK; ++k) {
    double begin = cpu_now();
    result = write_once(p, &meshes, stride, &batch, &seconds);
    spent += cpu_now() - begin;
  }
  p->frame_cost = seconds / size_of(p);
  kp_batch_free(&batch);
  kp_shape_meshes_free(&meshes);
  return result;
}

// ---- the rest -----------------------------------------------------------------------------------

static double spacing_of(const kp_spec *spec, const char *name) {
  for (size_t l = 0; l < spec->liquids.count; ++l) {
    if (strcmp(spec->liquids.data[l].name, name) == 0) {
      return spec->liquids.data[l].spacing;
    }
  }
  for (size_t g = 0; g < spec->grains.count; ++g) {
    if (strcmp(spec->grains.data[g].name, name) == 0) {
      return spec->grains.data[g].spacing;
    }
  }
  return NAN;
}

// Particles that emitters pour between two times, at their speeds.
static double poured(const kp_world *world, double from, double to) {
  const kp_spec *spec = &world->spec;
  double sum = 0.0;
  for (size_t e = 0; e < spec->emitters.count; ++e) {
    const kp_emitter_def *def = &spec->emitters.data[e];
    double spacing = spacing_of(spec, def->into);
    double a = fmax(from, def->start);
    double b = fmin(to, def->stop);
    if (!(b > a) || !(spacing > 0.0)) {
      continue;
    }
    double speed = 0.0;
    kp_curve_at(&def->speed, 0.5 * (a + b), &speed, NULL);
    bool is_flat = spec->domain.dimension == 2;
    double area = def->width > 0.0 ? def->width * (is_flat ? 1.0 : def->height)
                  : is_flat        ? 2.0 * def->radius
                                   : 3.14159265 * def->radius * def->radius;
    double n = area * fmax(speed, 0.0) * (b - a) / pow(spacing, is_flat ? 2.0 : 3.0);
    sum += fmin(n, (double)def->limit);
  }
  return sum;
}

static bool is_water(const kp_method *method) {
  return strcmp(method->name, "flip") == 0 || strcmp(method->name, "level_set") == 0 ||
         strcmp(method->name, "marker") == 0;
}

static double rate_at(const kp_world *world, double speed) {
  double rate = 0.0;
  for (size_t g = 0; g < world->env.grids.count; ++g) {
    double cell = world->env.grids.data[g].mac->view.cell;
    rate = fmax(rate, speed / (world->spec.grid.cfl * cell));
  }
  return rate;
}

// Steps per second that water on grids asks for once it falls: its speed follows from how high it
// stands, and it may cross `cfl` cells in a step.
static kp_result falling_rate(kp_world *world, double *rate) {
  const kp_spec *spec = &world->spec;
  int up = kp_env_up_axis(&world->env);
  kp_vec3 min = spec->domain.min;
  double floor = up == 0 ? min.x : up == 1 ? min.y : min.z;
  double height = 0.0;
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    int n = is_water(system->method) ? system->method->n_populations(system->self) : 0;
    for (int k = 0; k < n; ++k) {
      kp_population_stats stats;
      KP_TRY(system->method->stats(system->self, &world->env, k, &stats));
      kp_vec3 max = stats.bounds.max;
      double top = up == 0 ? max.x : up == 1 ? max.y : max.z;
      height = stats.count > 0 || stats.mass > 0.0 ? fmax(height, top - floor) : height;
    }
  }
  *rate = rate_at(world, TYPICAL * sqrt(2.0 * kp_vec3_length(spec->simulation.gravity) * height));
  return KP_OK;
}

// The same of gases, which rise by their heat.
static double rising_rate(const kp_world *world) {
  const kp_spec *spec = &world->spec;
  int up = kp_env_up_axis(&world->env);
  kp_vec3 size = kp_vec3_sub(spec->domain.max, spec->domain.min);
  double height = up == 0 ? size.x : up == 1 ? size.y : size.z;
  double lift = 0.0;
  for (size_t s = 0; s < spec->smokes.count; ++s) {
    const kp_smoke_def *def = &spec->smokes.data[s];
    double hottest = isnan(def->temperature) ? def->ambient : def->temperature;
    hottest = def->burn_rate > 0.0 ? fmax(hottest, def->ignition + def->heat) : hottest;
    for (size_t k = 0; k < spec->sources.count; ++k) {
      double t = spec->sources.data[k].temperature;
      hottest = isnan(t) ? hottest : fmax(hottest, t);
    }
    lift = fmax(lift, def->lift * (hottest - def->ambient));
  }
  return rate_at(world, TYPICAL * sqrt(2.0 * lift * height));
}

// Steps per second, and seconds for each step and element, of the later part of the pilot.
static void rates_of(const pilot *p, double *steps, double *cost) {
  size_t n = p->steps.count;
  double total = p->steps.data[n - 1].cpu;
  size_t first = 0;
  while (first + 1 < n && p->steps.data[first].cpu < SETTLED * total) {
    ++first;
  }
  double time = 0.0;
  double work = 0.0;
  for (size_t k = first; k < n; ++k) {
    time += p->steps.data[k].dt;
    work += p->steps.data[k].size;
  }
  double begin = first > 0 ? p->steps.data[first - 1].cpu : 0.0;
  *steps = (double)(n - first) / time;
  *cost = (total - begin) / work;
}

static kp_result extrapolate(const pilot *p, double *seconds) {
  double steps;
  double cost;
  double falling;
  rates_of(p, &steps, &cost);
  KP_TRY(falling_rate(p->world, &falling));
  steps = fmax(steps, 0.5 * (steps + fmax(falling, rising_rate(p->world))));
  double size = size_of(p);
  double done = p->world->env.time;
  double frame = 1.0 / p->output->fps;
  *seconds += done / frame * p->frame_cost * size;
  for (double t = done; t < end_of(p) * (1.0 - 1e-9); t += frame) {
    double now = size + poured(p->world, done, t + 0.5 * frame);
    *seconds += now * (ceil(frame * steps - 1e-6) * cost + p->frame_cost);
  }
  return KP_OK;
}

static kp_result forecast(pilot *p, double budget, kp_forecast *out) {
  for (size_t g = 0; g < p->world->env.grids.count; ++g) {
    p->cells += (double)kp_mac_n_cells(p->world->env.grids.data[g].mac);
  }
  for (size_t k = 0; k < p->world->env.parts.count; ++k) {
    p->nodes += (double)p->world->env.parts.data[k].count;
  }
  // reading and building are part of it, and leave half of it to the sub-steps
  KP_TRY(fly(p, fmax(budget - out->seconds, 0.5 * budget), &out->trouble));
  out->simulated = p->world->env.time;
  if (p->steps.count == 0 || !isnan(out->trouble)) {
    out->seconds = p->steps.count == 0 && isnan(out->trouble) ? out->seconds : NAN;
    return KP_OK;
  }
  KP_TRY(take_frame(p));
  out->seconds += p->steps.data[p->steps.count - 1].cpu;
  return extrapolate(p, &out->seconds);
}

kp_result kp_forecast_run(kp_world *world, const kp_output_def *output, kp_surfaces *surfaces,
                          double budget, kp_forecast *out) {
  pilot p = { .world = world, .output = output, .surfaces = surfaces };
  int threads = kp_parallel_threads();
  kp_parallel_set_threads(1);
  *out = (kp_forecast){ .seconds = cpu_now() };  // reading and building come again
  kp_result result = forecast(&p, budget, out);
  kp_parallel_set_threads(threads);
  kp_array_free(&p.steps);
  return result;
}
