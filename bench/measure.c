#include <math.h>
#include <string.h>

#include "methods/fire/fire.h"
#include "methods/flip/flip.h"
#include "methods/grains/grains.h"
#include "methods/mps/mps.h"
#include "methods/sph/sph.h"
#include "methods/stf/stf.h"
#include "methods/vortex_fire/vortex_fire.h"
#include "par/parallel.h"
#include "world/world.h"

#include "bench/bench.h"

// Before the clock runs: this long or so many steps, so that the flow moves and memory has grown.
#define WARM_SECONDS 2.0
#define WARM_LEAST 10
#define WARM_MOST 100
// A repeat whose length nobody chose.
#define REPEAT_SECONDS 1.0
#define REPEAT_LEAST 3
#define REPEAT_MOST 200
// Longer than any step a case takes, so that none is cut short.
#define LONGEST_STEP 1.0
// Machine the figures per core and per card were measured on.
#define ANCHOR_COPY_GBS 11.8
#define ANCHOR_FMA_GFLOPS 174.0
#define ANCHOR_CARD_COPY_GBS 4300.0

static int64_t clamp_steps(double n, int64_t least, int64_t most) {
  return (int64_t)fmin(fmax(n, (double)least), (double)most);
}

// ---- worlds

static kp_result take_steps(kp_world *world, int64_t n, double *seconds) {
  KP_TRY(kp_wait(world->backend));
  double begin = kp_time_now();
  for (int64_t s = 0; s < n; ++s) {
    KP_TRY(kp_world_step(world, LONGEST_STEP, NULL));
  }
  KP_TRY(kp_wait(world->backend));
  *seconds = kp_time_now() - begin;
  return KP_OK;
}

static kp_result warm_up(kp_world *world, double *step_seconds) {
  double seconds;
  KP_TRY(take_steps(world, WARM_LEAST, &seconds));
  int64_t more =
      clamp_steps((WARM_SECONDS - seconds) * WARM_LEAST / seconds, 0, WARM_MOST - WARM_LEAST);
  *step_seconds = seconds / WARM_LEAST;
  if (more > 0) {
    KP_TRY(take_steps(world, more, &seconds));
    *step_seconds = seconds / (double)more;
  }
  return KP_OK;
}

static kp_result wait_for_call(const kp_call_event *event, void *user) {
  (void)user;
  KP_TRY(kp_call_prepare(event));
  KP_TRY(kp_call_perform(event));
  return kp_wait(event->backend);
}

// A card works behind the host's back: stages are timed in a turn of their own that waits for every
// call.
static kp_result profile_waiting(kp_world *world, int64_t n_steps) {
  kp_call_observer observer = { .around = wait_for_call };
  double seconds;
  kp_profile_clear(&world->profile);
  world->backend->observer = &observer;
  kp_result result = take_steps(world, n_steps, &seconds);
  world->backend->observer = NULL;
  return result;
}

static kp_result repeat_steps(kp_world *world, const kp_bench_def *def, kp_bench_result *out) {
  double seconds;
  KP_TRY(warm_up(world, &seconds));
  out->steps = def->steps > 0 ? def->steps
                              : clamp_steps(REPEAT_SECONDS / seconds, REPEAT_LEAST, REPEAT_MOST);
  out->seconds = HUGE_VAL;
  for (int64_t r = 0; r < def->repeat; ++r) {
    kp_profile_clear(&world->profile);
    KP_TRY(take_steps(world, out->steps, &seconds));
    if (seconds / (double)out->steps < out->seconds) {
      out->seconds = seconds / (double)out->steps;
      out->profile = world->profile;
    }
  }
  if (world->backend->vt->kind == KP_BACKEND_CUDA) {
    KP_TRY(profile_waiting(world, out->steps));
    out->profile = world->profile;
  }
  return KP_OK;
}

static kp_result look_at_liquids(const kp_sph *sph, kp_bench_result *out, double *pairs,
                                 double *bytes) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    const kp_sph_fluid *fluid = &sph->fluids.data[f];
    int64_t n = fluid->medium.set->space->n;
    double mean;
    // the last step moved the particles after they were sorted
    KP_TRY(kp_cells_build(fluid->medium.cells, NULL));
    KP_TRY(kp_pair_count(fluid->medium.cells, fluid->medium.cells, sph->support, &mean));
    *pairs += mean * (double)n;
    *bytes += kp_space_bytes_per_element(fluid->medium.set->space) * (double)n;
    out->particles += n;
  }
  return KP_OK;
}

static void look_at_grains(const kp_grains *grains, kp_bench_result *out, double *pairs,
                           double *bytes) {
  for (size_t s = 0; s < grains->sets.count; ++s) {
    const kp_space *space = grains->sets.data[s].medium.set->space;
    *bytes += kp_space_bytes_per_element(space) * (double)space->n;
    out->particles += space->n;
  }
  for (size_t l = 0; l < grains->links.count; ++l) {
    const kp_space *space = grains->links.data[l].rows->space;
    *pairs += (double)space->n;
    *bytes += kp_space_bytes_per_element(space) * (double)space->n;
  }
}

// Neighbours are the entries of a row of the pressure matrix.
static void look_at_moving_particles(const kp_mps *mps, kp_bench_result *out, double *pairs,
                                     double *bytes) {
  int64_t n = 0;
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    const kp_space *space = mps->liquids.data[l].medium.set->space;
    *bytes += kp_space_bytes_per_element(space) * (double)space->n;
    n += space->n;
  }
  for (size_t k = 0; k < mps->blocks.count; ++k) {
    double entries = (double)mps->blocks.data[k].lists.n_pairs;
    *pairs += mps->blocks.data[k].i->weight == NULL ? entries : 0.0;
    *bytes += entries * (sizeof(uint32_t) + sizeof(kp_real));
  }
  out->particles += n;
}

static void look_at_flip(const kp_flip *flip, kp_bench_result *out, double *bytes) {
  for (size_t l = 0; l < flip->liquids.count; ++l) {
    const kp_space *space = flip->liquids.data[l].medium.set->space;
    *bytes += kp_space_bytes_per_element(space) * (double)space->n;
    out->particles += space->n;
  }
  const kp_space *cells = flip->flow.mac->space;
  *bytes += kp_space_bytes_per_element(cells) * (double)cells->n;
  if (out->of->counts_cells) {
    out->particles = kp_mac_n_all(flip->flow.mac);
  }
}

static void look_at_stf(const kp_stf *stf, kp_bench_result *out, double *pairs, double *bytes) {
  const kp_space *spaces[] = { stf->medium.set->space, stf->rows->space, stf->springs->space };
  for (size_t s = 0; s < sizeof spaces / sizeof spaces[0]; ++s) {
    *bytes += kp_space_bytes_per_element(spaces[s]) * (double)spaces[s]->n;
  }
  out->particles += spaces[0]->n;
  *pairs += (double)spaces[1]->n;
}

static void look_at_flame(const kp_flame *flame, kp_bench_result *out, double *bytes) {
  const kp_space *space = flame->medium.set->space;
  *bytes += kp_space_bytes_per_element(space) * (double)space->n;
  out->particles += space->n;
}

static void look_at_fire(const kp_fire *fire, kp_bench_result *out, double *bytes) {
  for (size_t f = 0; f < fire->flames.count; ++f) {
    look_at_flame(&fire->flames.data[f], out, bytes);
  }
}

// Neighbours are those that vorticity is exchanged with; the samples count as memory.
static kp_result look_at_vortices(kp_vortex_fire *fire, kp_bench_result *out, double *pairs,
                                  double *bytes) {
  for (size_t f = 0; f < fire->flames.count; ++f) {
    kp_vortex_flame *flame = &fire->flames.data[f];
    kp_cells *cells = flame->flame.medium.cells;
    const kp_space *samples = flame->grid.nodes->space;
    double mean = 0.0;
    look_at_flame(&flame->flame, out, bytes);
    *bytes += kp_space_bytes_per_element(samples) * (double)samples->n;
    KP_TRY(kp_cells_build(cells, NULL));
    KP_TRY(kp_pair_count(cells, cells, fire->def.exchange_radius * flame->cell, &mean));
    *pairs += mean * (double)flame->flame.medium.set->space->n;
  }
  return KP_OK;
}

// Bodies count where there are no particles; neighbours are contact points.
static void look_at_bodies(kp_world *world, kp_bench_result *out, double *pairs, double *bytes) {
  kp_space *contacts = kp_registry_find(world->registry, "contacts");
  if (out->particles > 0 || contacts == NULL) {
    return;
  }
  for (size_t b = 0; b < world->bodies->models.count; ++b) {
    out->particles += world->bodies->models.data[b].kind == KP_BODY_FREE ? 1 : 0;
  }
  *pairs += (double)contacts->n;
  *bytes += kp_space_bytes_per_element(contacts) * (double)contacts->n +
            kp_space_bytes_per_element(world->bodies->space) * (double)world->bodies->space->n;
}

// Cells count where there are no particles.
static kp_result look_at_grids(kp_world *world, kp_bench_result *out, double *bytes) {
  kp_world_size size;
  KP_TRY(kp_world_measure(world, &size));
  bool has_nodes = out->particles == 0 && world->env.parts.count > 0;
  if (has_nodes) {
    out->particles = size.particles;
  } else if (out->particles == 0) {
    out->particles = size.cells;
  }
  if (has_nodes || out->particles == size.cells) {
    // what is really held, ghosts, solver and scratch with it
    *bytes = (double)(kp_memory_tag_bytes(KP_MEMORY_FIELD) + world->backend->counters.device_bytes);
  }
  return KP_OK;
}

// The populations of the world: how many particles, how much memory, how many neighbours.
static kp_result look_at_world(kp_world *world, kp_bench_result *out) {
  double pairs = 0.0;
  double bytes = 0.0;
  for (size_t s = 0; s < world->systems.count; ++s) {
    const kp_system *system = &world->systems.data[s];
    if (system->method == &kp_sph_method) {
      KP_TRY(look_at_liquids(system->self, out, &pairs, &bytes));
    } else if (system->method == &kp_mps_method) {
      look_at_moving_particles(system->self, out, &pairs, &bytes);
    } else if (system->method == &kp_flip_method) {
      look_at_flip(system->self, out, &bytes);
    } else if (system->method == &kp_grains_method) {
      look_at_grains(system->self, out, &pairs, &bytes);
    } else if (system->method == &kp_stf_method) {
      look_at_stf(system->self, out, &pairs, &bytes);
    } else if (system->method == &kp_fire_method) {
      look_at_fire(system->self, out, &bytes);
    } else if (system->method == &kp_vortex_fire_method) {
      KP_TRY(look_at_vortices(system->self, out, &pairs, &bytes));
    }
  }
  look_at_bodies(world, out, &pairs, &bytes);
  KP_TRY(look_at_grids(world, out, &bytes));
  out->samples = world->walls->set->space->n + world->movers->set->space->n;
  out->neighbours = pairs / (double)out->particles;
  out->bytes_per_particle = bytes / (double)out->particles;
  return KP_OK;
}

static kp_result run_world(kp_world *world, const kp_bench_def *def, kp_bench_result *out) {
  KP_TRY(out->of->build(world, out->size));
  KP_TRY(kp_world_build(world));
  double seconds;
  KP_TRY(take_steps(world, out->of->settle, &seconds));
  KP_TRY(repeat_steps(world, def, out));
  return look_at_world(world, out);
}

static kp_result measure_world(const kp_bench_def *def, kp_bench_result *out) {
  kp_world *world = NULL;
  KP_TRY(kp_world_create(def->backend, &world));
  kp_result result = run_world(world, def, out);
  kp_world_destroy(&world);
  return result;
}

// ---- points

static kp_result search_once(kp_case_points *points, kp_bench_result *out, uint64_t turn,
                             double *seconds) {
  KP_TRY(kp_case_points_move(points, turn));
  double begin = kp_time_now();
  KP_TRY(out->of->search(points, &out->neighbours));
  KP_TRY(kp_wait(points->backend));
  *seconds = kp_time_now() - begin;
  return KP_OK;
}

static kp_result repeat_searches(kp_case_points *points, const kp_bench_def *def,
                                 kp_bench_result *out) {
  double seconds;
  uint64_t turn = 1;
  for (; turn < 3; ++turn) {
    KP_TRY(search_once(points, out, turn, &seconds));
  }
  int64_t n = def->steps > 0 ? def->steps : REPEAT_LEAST;
  out->steps = 1;
  out->seconds = HUGE_VAL;
  for (int64_t r = 0; r < n * def->repeat; ++r) {
    KP_TRY(search_once(points, out, turn++, &seconds));
    out->seconds = fmin(out->seconds, seconds);
  }
  return KP_OK;
}

static kp_result measure_points(const kp_bench_def *def, kp_bench_result *out) {
  kp_case_points points;
  KP_TRY(kp_case_points_create(def->backend, out->size, &points));
  kp_result result = repeat_searches(&points, def, out);
  if (result == KP_OK) {
    out->particles = points.set->space->n;
    out->bytes_per_particle = kp_space_bytes_per_element(points.set->space);
  }
  kp_case_points_destroy(&points);
  return result;
}

// ---- turns

static kp_result repeat_turns(void *self, const kp_bench_def *def, kp_bench_result *out) {
  const kp_case_turns *turns = out->of->turns;
  int64_t n = (def->steps > 0 ? def->steps : REPEAT_LEAST) * def->repeat;
  out->steps = 1;
  out->seconds = HUGE_VAL;
  for (int64_t r = -2; r < n; ++r) {
    double begin = kp_time_now();
    KP_TRY(turns->turn(self));
    double seconds = kp_time_now() - begin;
    // the first ones make room
    out->seconds = r >= 0 ? fmin(out->seconds, seconds) : out->seconds;
  }
  out->particles = turns->count(self);
  out->bytes_per_particle = turns->bytes_each(self);
  // what is done once per neighbour elsewhere is done once per iteration here
  out->neighbours = turns->iterations != NULL ? turns->iterations(self) : 0.0;
  return KP_OK;
}

static kp_result measure_turns(const kp_bench_def *def, kp_bench_result *out) {
  const kp_case_turns *turns = out->of->turns;
  void *self = NULL;
  KP_TRY(turns->create(def->backend, out->size, &self));
  kp_result result = repeat_turns(self, def, out);
  turns->destroy(&self);
  return result;
}

static kp_result measure_case(const kp_bench_def *def, kp_bench_result *out) {
  const kp_case *of = out->of;
  return of->build != NULL   ? measure_world(def, out)
         : of->turns != NULL ? measure_turns(def, out)
                             : measure_points(def, out);
}

// ---- figures

static void hold_against_roof(kp_bench_result *out) {
  kp_case_work work = out->of->work();
  double particles = (double)out->particles;
  double bytes = work.bytes + work.bytes_per_neighbour * out->neighbours;
  double flops = work.flops_per_neighbour * out->neighbours;
  double moving = particles * bytes / (out->roof.copy_gbs * 1e9);
  double reckoning =
      out->roof.fma_gflops > 0.0 ? particles * flops / (out->roof.fma_gflops * 1e9) : 0.0;
  out->is_memory_bound = moving >= reckoning;
  out->roof_share = fmax(moving, reckoning) / out->seconds;
}

static void hold_against_must(kp_bench_result *out) {
  bool is_card = strcmp(out->backend, "cuda") == 0;
  double must = is_card ? out->of->must_card : out->of->must_core * out->threads;
  double machine = is_card ? out->roof.copy_gbs / ANCHOR_CARD_COPY_GBS
                           : fmin(out->roof.copy_gbs / (ANCHOR_COPY_GBS * out->threads),
                                  out->roof.fma_gflops / (ANCHOR_FMA_GFLOPS * out->threads));
  out->must = must > 0.0 ? must : NAN;
  out->ratio = out->rate / out->must;
  out->ratio_scaled = out->ratio / machine;
}

kp_result kp_bench_measure(const kp_bench_def *def, const kp_case *of, int64_t size,
                           const kp_roof *roof, kp_bench_result *out) {
  *out = (kp_bench_result){
    .of = of, .backend = def->backend, .threads = def->threads, .size = size, .roof = *roof
  };
  kp_parallel_set_threads(def->threads);
  kp_result result = measure_case(def, out);
  kp_parallel_set_threads(0);
  KP_TRY(result);
  out->counted = out->particles + (of->walls != NULL ? of->walls(out->particles) : 0);
  out->rate = 1e-6 * (double)out->counted / out->seconds;
  hold_against_roof(out);
  hold_against_must(out);
  return KP_OK;
}

bool kp_bench_stage(const kp_bench_result *result, int k, const char **name, double *share) {
  const kp_profile *profile = &result->profile;
  double total = 0.0;
  for (int s = 0; s < profile->n_slots; ++s) {
    total += profile->seconds[s];
  }
  // a profile of its own turn has its own length
  bool has_own_turn = strcmp(result->backend, "cuda") == 0;
  double whole = has_own_turn ? total : result->seconds * (double)result->steps;
  if (k < profile->n_slots) {
    *name = profile->names[k];
    *share = profile->seconds[k] / whole;
    return true;
  }
  *name = "rest";
  *share = fmax(1.0 - total / whole, 0.0);
  return k == profile->n_slots && profile->n_slots > 0 && !has_own_turn;
}
