// The two fires of Lyes 2015 over the same emitter, and what they are compared by: how much the
// flow turns, where the light is, and what a local gather misses.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "cases/cases.h"
#include "cases/experiments.h"
#include "methods/vortex_fire/vortex_fire.h"
#include "world/world.h"

const char *const kp_fire_names[KP_FIRE_MODELS] = { "particles", "vortex" };

kp_result kp_case_fire(kp_world *world, int method, int64_t particles, double rise) {
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-2, -0.5, -2);
  domain.max = kp_vec3_make(2, 4, 2);
  kp_fire_def flame = kp_default_fire_def();
  snprintf(flame.name, sizeof flame.name, "flame");
  flame.method = method;
  flame.particles = particles;
  flame.emitter = KP_FIRE_SPHERE;
  flame.radius = 0.21;
  flame.velocity.y = rise;
  kp_collider_def wick = kp_default_collider_def();
  snprintf(wick.name, sizeof wick.name, "wick");
  wick.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .radius = 0.2, .scale = 1.0 };
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_add_collider(world, &wick));
  return kp_world_add_fire(world, &flame);
}

kp_result kp_case_particle_fire(kp_world *world, int64_t particles) {
  return kp_case_fire(world, KP_FIRE_PARTICLES, particles, 1.0);
}

kp_result kp_case_vortex_fire(kp_world *world, int64_t particles) {
  return kp_case_fire(world, KP_FIRE_VORTEX, particles, 1.0);
}

// ---- how much the flow turns --------------------------------------------------------------------

typedef struct velocity_grid {
  int64_t n[3];
  double lo[3], cell;
  double *count;  // particles of a cell
  double *u[3];   // their mean velocity
} velocity_grid;

static void free_grid(velocity_grid *g) {
  kp_free(g->count);
  for (int c = 0; c < 3; ++c) {
    kp_free(g->u[c]);
  }
}

// Mean velocities of the particles of each cell.
static kp_result grid_velocities(kp_space *space, double cell, velocity_grid *g) {
  const kp_pos *x[3];
  const kp_real *v[3];
  *g = (velocity_grid){ .cell = cell };
  int64_t total = 1;
  for (int c = 0; c < 3; ++c) {
    double hi = -HUGE_VAL;
    x[c] = kp_buffer_host(&kp_space_find(space, "position")->buffers[c], KP_ACCESS_READ);
    v[c] = kp_buffer_host(&kp_space_find(space, "velocity")->buffers[c], KP_ACCESS_READ);
    g->lo[c] = HUGE_VAL;
    for (int64_t i = 0; i < space->n; ++i) {
      g->lo[c] = fmin(g->lo[c], x[c][i]);
      hi = fmax(hi, x[c][i]);
    }
    g->n[c] = (int64_t)floor((hi - g->lo[c]) / cell) + 1;
    total *= g->n[c];
  }
  g->count = kp_alloc_zero((size_t)total * sizeof(double), KP_MEMORY_SCRATCH);
  bool ok = g->count != NULL;
  for (int c = 0; c < 3; ++c) {
    g->u[c] = kp_alloc_zero((size_t)total * sizeof(double), KP_MEMORY_SCRATCH);
    ok = ok && g->u[c] != NULL;
  }
  if (!ok) {
    free_grid(g);
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < space->n; ++i) {
    int64_t at = 0;
    for (int c = 2; c >= 0; --c) {
      at = at * g->n[c] + (int64_t)floor((x[c][i] - g->lo[c]) / cell);
    }
    g->count[at] += 1.0;
    for (int c = 0; c < 3; ++c) {
      g->u[c][at] += (double)v[c][i];
    }
  }
  for (int64_t i = 0; i < total; ++i) {
    for (int c = 0; c < 3; ++c) {
      g->u[c][i] /= fmax(g->count[i], 1.0);
    }
  }
  return KP_OK;
}

// Curl and velocity squared of a cell whose six neighbours hold particles too; false elsewhere.
static bool curl_of(const velocity_grid *g, const int64_t at[3], int64_t least, double *curl2,
                    double *speed2) {
  const int64_t stride[3] = { 1, g->n[0], g->n[0] * g->n[1] };
  int64_t i = at[0] + at[1] * stride[1] + at[2] * stride[2];
  double slope[3][3];
  for (int b = 0; b < 3; ++b) {
    if (at[b] == 0 || at[b] == g->n[b] - 1 || g->count[i - stride[b]] < (double)least ||
        g->count[i + stride[b]] < (double)least) {
      return false;
    }
    for (int c = 0; c < 3; ++c) {
      slope[c][b] = (g->u[c][i + stride[b]] - g->u[c][i - stride[b]]) / (2.0 * g->cell);
    }
  }
  *curl2 = pow(slope[2][1] - slope[1][2], 2.0) + pow(slope[0][2] - slope[2][0], 2.0) +
           pow(slope[1][0] - slope[0][1], 2.0);
  *speed2 = pow(g->u[0][i], 2.0) + pow(g->u[1][i], 2.0) + pow(g->u[2][i], 2.0);
  return true;
}

kp_result kp_fire_curls(kp_world *world, double cell, int64_t least, kp_fire_flow *out) {
  kp_space *space = kp_registry_find(world->registry, "flame");
  velocity_grid g;
  KP_TRY(grid_velocities(space, cell, &g));
  double curl = 0.0;
  double kinetic = 0.0;
  *out = (kp_fire_flow){ 0 };
  for (int64_t k = 0; k < g.n[2]; ++k) {
    for (int64_t j = 0; j < g.n[1]; ++j) {
      for (int64_t i = 0; i < g.n[0]; ++i) {
        const int64_t at[3] = { i, j, k };
        double curl2;
        double speed2;
        if (curl_of(&g, at, least, &curl2, &speed2)) {
          curl += curl2 * cell * cell;
          kinetic += speed2;
          out->cells += 1;
        }
      }
    }
  }
  free_grid(&g);
  const kp_real *rise =
      kp_buffer_host(&kp_space_find(space, "velocity")->buffers[1], KP_ACCESS_READ);
  for (int64_t i = 0; i < space->n; ++i) {
    out->rise += (double)rise[i] / (double)space->n;
  }
  out->curls = kinetic > 0.0 ? curl / kinetic : 0.0;
  return KP_OK;
}

// ---- where the light is -------------------------------------------------------------------------

kp_result kp_fire_light(kp_world *world, double middle, double low, double high, double *inner,
                        double *outer) {
  kp_space *space = kp_registry_find(world->registry, "flame");
  const kp_pos *x = kp_buffer_host(&kp_space_find(space, "position")->buffers[0], KP_ACCESS_READ);
  const kp_pos *y = kp_buffer_host(&kp_space_find(space, "position")->buffers[1], KP_ACCESS_READ);
  const kp_real *alpha = kp_buffer_host(&kp_space_find(space, "alpha")->buffers[0], KP_ACCESS_READ);
  const kp_real *color[3];
  for (int c = 0; c < 3; ++c) {
    color[c] = kp_buffer_host(&kp_space_find(space, "color")->buffers[c], KP_ACCESS_READ);
  }
  double width = 0.0;
  for (int64_t i = 0; i < space->n; ++i) {
    width = y[i] >= low && y[i] < high ? fmax(width, fabs(x[i] - middle)) : width;
  }
  *inner = *outer = 0.0;
  for (int64_t i = 0; i < space->n; ++i) {
    double off = fabs(x[i] - middle) / width;
    double light = (double)alpha[i] * (0.2126 * (double)color[0][i] + 0.7152 * (double)color[1][i] +
                                       0.0722 * (double)color[2][i]);
    if (y[i] >= low && y[i] < high) {
      *inner += off < 0.3 ? light / (0.3 * width) : 0.0;
      *outer += off > 0.7 ? light / (0.3 * width) : 0.0;
    }
  }
  return KP_OK;
}

// ---- what a local gather misses -----------------------------------------------------------------

// The velocity of the samples where vortons are, gathered in a way and with a reach.
static kp_result gather(kp_world *world, int how, double reach, double *u, double *seconds) {
  kp_vortex_fire *fire = kp_world_system(world, &kp_vortex_fire_method);
  kp_vortex_flame *flame = &fire->flames.data[0];
  fire->def.gather = how;
  fire->def.reach = how == KP_VORTEX_LOCAL ? reach : fire->def.reach;
  double begin = kp_time_now();
  KP_TRY(kp_vortex_fire_induce(fire, flame, &world->env));
  KP_TRY(kp_wait(world->backend));
  *seconds = kp_time_now() - begin;
  int64_t n = flame->grid.nodes->space->n;
  const kp_real *density = kp_buffer_host(&flame->grid.density->buffers[0], KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    const kp_real *v = kp_buffer_host(&flame->grid.nodes->velocity->buffers[c], KP_ACCESS_READ);
    for (int64_t i = 0; i < n; ++i) {
      u[3 * i + c] = density[i] > (kp_real)0.1 ? (double)v[i] : 0.0;
    }
  }
  return KP_OK;
}

// Against the sum over all vortons, which on the grid are as wide as they are there.
static kp_result compare_gather(kp_world *world, double *all, double *some,
                                kp_fire_gather_row *row) {
  kp_vortex_fire *fire = kp_world_system(world, &kp_vortex_fire_method);
  kp_vortex_flame *flame = &fire->flames.data[0];
  int64_t count = 3 * flame->grid.nodes->space->n;
  bool is_local = row->reach > 0.0;
  double core = flame->core;
  double error = 0.0;
  double size = 0.0;
  double cross = 0.0;
  double own = 0.0;
  flame->core = is_local ? core : KP_VORTON_IN_CELL_CORE * flame->cell;
  kp_result result = gather(world, KP_VORTEX_GLOBAL, 0.0, all, &row->seconds_global);
  flame->core = core;
  KP_TRY(result);
  KP_TRY(gather(world, is_local ? KP_VORTEX_LOCAL : KP_VORTEX_IN_CELL, row->reach, some,
                &row->seconds));
  for (int64_t i = 0; i < count; ++i) {
    error += pow(some[i] - all[i], 2.0);
    size += all[i] * all[i];
    own += some[i] * some[i];
    cross += some[i] * all[i];
  }
  row->error = sqrt(error / size);
  row->likeness = cross / sqrt(size * own);
  return KP_OK;
}

kp_result kp_fire_gather(kp_world *world, const double *reaches, int n, kp_fire_gather_row *out) {
  kp_vortex_fire *fire = kp_world_system(world, &kp_vortex_fire_method);
  kp_vortex_fire_def before = fire->def;
  KP_TRY(kp_vortex_fire_induce(fire, &fire->flames.data[0], &world->env));
  int64_t count = 3 * fire->flames.data[0].grid.nodes->space->n;
  double *all = kp_alloc((size_t)count * sizeof *all, KP_MEMORY_SCRATCH);
  double *some = kp_alloc((size_t)count * sizeof *some, KP_MEMORY_SCRATCH);
  kp_result result = all != NULL && some != NULL ? KP_OK : KP_ERROR_MEMORY;
  for (int k = 0; k < n && result == KP_OK; ++k) {
    out[k] = (kp_fire_gather_row){ .reach = reaches[k] };
    result = compare_gather(world, all, some, &out[k]);
  }
  fire->def = before;
  kp_free(all);
  kp_free(some);
  return result;
}
