#include "world/loads.h"

#include <string.h>

#include "couple/fluid_rigid.h"
#include "methods/deform/deform.h"
#include "methods/grains/grains.h"
#include "methods/mps/mps.h"
#include "methods/sph/sph.h"
#include "methods/springs/springs.h"
#include "methods/stf/stf.h"
#include "world/world.h"

// Those that push samples, or nodes. Grids and contacts name themselves.
static const kp_method *const pushers[] = {
  &kp_sph_method, &kp_springs_method, &kp_mps_method,
  &kp_stf_method, &kp_grains_method,  &kp_deform_method,
};

static bool is_pusher(const kp_system *system) {
  for (size_t p = 0; p < sizeof pushers / sizeof pushers[0]; ++p) {
    if (system->method == pushers[p]) {
      return true;
    }
  }
  return false;
}

// ---- building -----------------------------------------------------------------------------------

static bool has_samples(const kp_interface *interface, kp_index body) {
  for (size_t r = 0; r < interface->ranges.count; ++r) {
    if (interface->ranges.data[r].body == body) {
      return true;
    }
  }
  return false;
}

static kp_result watch(kp_world *world, kp_index body) {
  if (world->env.loads == NULL) {
    KP_TRY(kp_loads_create(world->registry, &world->env.loads));
  }
  KP_TRY(kp_loads_watch(world->env.loads, body));
  kp_interface *walls = world->walls;
  walls->feels = walls->feels || has_samples(walls, body);
  return KP_OK;
}

kp_result kp_world_loads_watch(kp_world *world) {
  for (size_t p = 0; p < world->spec.probes.count; ++p) {
    const char *of = world->spec.probes.data[p].of;
    for (size_t b = 0; b < world->bodies->models.count; ++b) {
      if (strcmp(world->bodies->models.data[b].name, of) == 0) {
        KP_TRY(watch(world, (kp_index)b));
      }
    }
  }
  return KP_OK;
}

// The populations of a system, or its own name where that would be long.
static kp_result name_of(kp_world *world, kp_system *system, char out[KP_NAME_SIZE]) {
  const kp_method *method = system->method;
  size_t used = 0;
  int n = method->n_populations(system->self);
  for (int p = 0; p < n; ++p) {
    kp_population_stats stats;
    KP_TRY(method->stats(system->self, &world->env, p, &stats));
    size_t length = strlen(stats.name);
    if (used + length + 2 > KP_NAME_SIZE) {
      memcpy(out, system->name, KP_NAME_SIZE);
      return KP_OK;
    }
    out[used] = '+';
    used += p > 0;
    memcpy(out + used, stats.name, length + 1);
    used += length;
  }
  return KP_OK;
}

kp_result kp_world_loads_build(kp_world *world) {
  kp_loads *loads = world->env.loads;
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    system->medium = KP_LOADS_NONE;
    if (loads != NULL && is_pusher(system)) {
      char name[KP_NAME_SIZE] = "";
      KP_TRY(name_of(world, system, name));
      KP_TRY(kp_loads_medium(loads, name, false, &system->medium));
    }
  }
  return loads != NULL ? kp_loads_close(loads) : KP_OK;
}

// ---- stages -------------------------------------------------------------------------------------

static bool is_free(const kp_world *world, kp_index body) {
  return world->bodies->models.data[body].kind == KP_BODY_FREE;
}

// Linear and angular momentum.
static kp_load momentum_of(const kp_world *world, kp_index body) {
  const kp_body *model = &world->bodies->models.data[body];
  kp_frame3 f = kp_bodies_frame(world->bodies, body);
  kp_vec3 spin = kp_quat_rotate(kp_quat_conjugate(f.orientation), f.angular_velocity);
  kp_vec3 turn = kp_quat_rotate(f.orientation, kp_mat3_mul_vec3(&model->inertia, spin));
  return (kp_load){ kp_vec3_scale(f.velocity, 1.0 / model->inverse_mass), turn };
}

void kp_world_loads_before(kp_world *world, const kp_system *system) {
  kp_loads *loads = world->env.loads;
  if (loads == NULL) {
    return;
  }
  loads->current = system->medium;
  for (size_t k = 0; system->method == &kp_deform_method && k < loads->bodies.count; ++k) {
    if (is_free(world, loads->bodies.data[k])) {
      loads->before.data[k] = momentum_of(world, loads->bodies.data[k]);
    }
  }
}

// Deformables give impulses to free bodies, and lead them out of themselves.
static void note_momentum(kp_world *world, const kp_system *system) {
  kp_loads *loads = world->env.loads;
  for (size_t k = 0; k < loads->bodies.count; ++k) {
    kp_index body = loads->bodies.data[k];
    bool is_first = true;  // a body that is watched twice gets its impulse once
    for (size_t other = 0; other < k; ++other) {
      is_first = is_first && loads->bodies.data[other] != body;
    }
    if (is_first && is_free(world, body)) {
      kp_load change = kp_load_sum(momentum_of(world, body), -1.0, loads->before.data[k]);
      kp_loads_push(loads, body, system->medium, change);
    }
  }
}

static kp_result sum_samples(kp_world *world, kp_index body, kp_load *out) {
  kp_interface *const both[2] = { world->walls, world->movers };
  kp_vec3 centre = kp_bodies_frame(world->bodies, body).position;
  *out = (kp_load){ 0 };
  for (int i = 0; i < 2; ++i) {
    for (size_t r = 0; both[i]->feels && r < both[i]->ranges.count; ++r) {
      const kp_interface_range *range = &both[i]->ranges.data[r];
      kp_load sum;
      if (range->body == body) {
        KP_TRY(kp_interface_sum(both[i], range, centre, &sum));
        *out = kp_load_sum(*out, 1.0, sum);
      }
    }
  }
  return KP_OK;
}

// What was added to the samples since the last system is this one's.
static kp_result note_samples(kp_world *world, const kp_system *system) {
  kp_loads *loads = world->env.loads;
  for (size_t k = 0; k < loads->bodies.count; ++k) {
    kp_load now;
    KP_TRY(sum_samples(world, loads->bodies.data[k], &now));
    kp_load added = kp_load_sum(now, -1.0, loads->on_samples.data[k]);
    loads->on_samples.data[k] = now;
    size_t item = k * loads->media.count + (size_t)system->medium;
    loads->step.data[item] = kp_load_sum(loads->step.data[item], 1.0, added);
  }
  return KP_OK;
}

kp_result kp_world_loads_after(kp_world *world, const kp_system *system, kp_stage stage) {
  kp_loads *loads = world->env.loads;
  if (loads == NULL) {
    return KP_OK;
  }
  loads->current = KP_LOADS_NONE;
  if (system->method == &kp_fluid_rigid && stage == KP_STAGE_SOLVE) {
    kp_loads_commit(loads, world->env.dt);
  } else if (system->method == &kp_deform_method) {
    note_momentum(world, system);
  } else if (system->medium != KP_LOADS_NONE && stage >= KP_STAGE_PREPARE &&
             stage <= KP_STAGE_SOLVE) {
    KP_TRY(note_samples(world, system));
  }
  return KP_OK;
}

void kp_world_loads_begin(kp_world *world) {
  kp_loads *loads = world->env.loads;
  for (size_t k = 0; loads != NULL && !world->probes.keep && k < loads->bodies.count; ++k) {
    kp_loads_take(loads, k, world->env.time);
  }
}
