// Worlds of the kernel check for media that are not SPH: each adds domain, settings and entities,
// about so many particles in all.
#include <math.h>
#include <stdio.h>

#include "world/world.h"

#include "bench/kernels.h"

static kp_shape_def box(kp_vec3 lo, kp_vec3 hi) {
  kp_shape_def shape = kp_default_liquid_def().shape;
  shape.kind = KP_SHAPE_BOX;
  shape.min = lo;
  shape.max = hi;
  return shape;
}

// ---- spring-mass water

// Two liquids, a free ball and a still step, in a box of unit width.
static kp_result springs_world(kp_world *world, int64_t particles, const kp_springs_def *def,
                               kp_boundary sides) {
  kp_domain_def domain = kp_default_domain_def();
  domain.boundary_z = (int)sides;
  kp_liquid_def left = kp_default_liquid_def();
  left.method = KP_LIQUID_SPRINGS;
  left.spacing = cbrt(0.4 / (double)particles);
  left.shape = box(kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.5, 1));
  left.jitter = 0.3;
  snprintf(left.name, sizeof left.name, "left");
  kp_liquid_def right = left;
  right.shape = box(kp_vec3_make(0.4, 0, 0), kp_vec3_make(0.8, 0.5, 1));
  right.rest_density = 700.0;
  snprintf(right.name, sizeof right.name, "right");
  kp_body_def ball = kp_default_body_def();
  ball.shape.kind = KP_SHAPE_SPHERE;
  ball.shape.center = kp_vec3_make(0.4, 0.67, 0.5);
  ball.shape.radius = 0.15;
  snprintf(ball.name, sizeof ball.name, "ball");
  kp_collider_def step = kp_default_collider_def();
  step.shape = box(kp_vec3_make(0.8, -0.1, -0.1), kp_vec3_make(1.1, 0.2, 1.1));
  snprintf(step.name, sizeof step.name, "step");
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_springs(world, def));
  KP_TRY(kp_world_add_liquid(world, &left));
  KP_TRY(kp_world_add_liquid(world, &right));
  KP_TRY(kp_world_add_body(world, &ball));
  return kp_world_add_collider(world, &step);
}

static kp_result add_springs(kp_world *world, int64_t particles) {
  kp_springs_def def = kp_default_springs_def();
  return springs_world(world, particles, &def, KP_BOUNDARY_CLOSED);
}

static kp_result add_springs_general(kp_world *world, int64_t particles) {
  kp_springs_def def = kp_default_springs_def();
  def.tension = 0.05;
  def.attraction = 0.01;
  def.walls = KP_SPRINGS_WALLS_PLANES;
  return springs_world(world, particles, &def, KP_BOUNDARY_PERIODIC);
}

// ---- plasma

static kp_result plasma_world(kp_world *world, int64_t particles, int search) {
  kp_domain_def domain = kp_default_domain_def();
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_plasma_def def = kp_default_plasma_def();
  def.particles = particles;
  def.shape = box(kp_vec3_make(0.2, 0.2, 0.2), kp_vec3_make(0.8, 0.8, 0.8));
  def.influence = 3.0 * 0.6 / cbrt((double)particles);
  def.cell = 0.5 * def.influence;
  def.search = search;
  def.container_center = kp_vec3_make(0.5, 0.5, 0.5);
  def.container_radius = 0.45;
  snprintf(def.name, sizeof def.name, "plasma");
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_simulation(world, &simulation));
  return kp_world_add_plasma(world, &def);
}

static kp_result add_plasma(kp_world *world, int64_t particles) {
  return plasma_world(world, particles, KP_PLASMA_COMPLETE);
}

static kp_result add_plasma_near(kp_world *world, int64_t particles) {
  return plasma_world(world, particles, KP_PLASMA_NEAR);
}

// ---- fire

static kp_result add_fire(kp_world *world, int64_t particles) {
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-2, -1, -2);
  domain.max = kp_vec3_make(2, 4, 2);
  kp_fire_def flame = kp_default_fire_def();
  flame.particles = particles / 2;
  flame.wind = kp_curve_constant(3.0);
  snprintf(flame.name, sizeof flame.name, "flame");
  kp_fire_def blast = kp_default_fire_def();
  blast.particles = particles / 2;
  blast.respawn = KP_FIRE_NEVER;
  blast.burst = 5.0;
  snprintf(blast.name, sizeof blast.name, "blast");
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_add_fire(world, &flame));
  return kp_world_add_fire(world, &blast);
}

// A flame of vortices over a ball, in a breeze, with a force field that lifts it.
static kp_result add_vortices(kp_world *world, int64_t particles, int gather) {
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-2, -1, -2);
  domain.max = kp_vec3_make(2, 4, 2);
  kp_vortex_fire_def settings = kp_default_vortex_fire_def();
  settings.lightness = 0.01;
  settings.gather = gather;
  kp_fire_def flame = kp_default_fire_def();
  flame.method = KP_FIRE_VORTEX;
  flame.particles = particles;
  flame.emitter = KP_FIRE_SPHERE;
  flame.radius = 0.21;
  flame.wind = kp_curve_constant(30.0);
  snprintf(flame.name, sizeof flame.name, "flame");
  kp_collider_def wick = kp_default_collider_def();
  wick.shape.kind = KP_SHAPE_SPHERE;
  wick.shape.radius = 0.2;
  snprintf(wick.name, sizeof wick.name, "wick");
  kp_force_def draught = kp_default_force_def();
  draught.shape = box(kp_vec3_make(-1, 0, -1), kp_vec3_make(1, 1, 1));
  draught.acceleration = kp_curve_constant3(kp_vec3_make(0, 1, 0));
  snprintf(draught.name, sizeof draught.name, "draught");
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_vortex_fire(world, &settings));
  KP_TRY(kp_world_add_collider(world, &wick));
  KP_TRY(kp_world_add_force(world, &draught));
  return kp_world_add_fire(world, &flame);
}

static kp_result add_vortex_fire(kp_world *world, int64_t particles) {
  return add_vortices(world, particles, KP_VORTEX_LOCAL);
}

static kp_result add_vortices_in_cells(kp_world *world, int64_t particles) {
  return add_vortices(world, particles, KP_VORTEX_IN_CELL);
}

// ---- shear-thickening fluid

// A block with a ball above it and a pillar in it, on a shaking floor. The memory is short, so that
// a few steps fill it.
static kp_result stf_world(kp_world *world, int64_t particles, const kp_stf_def *def,
                           kp_boundary sides) {
  kp_domain_def domain = kp_default_domain_def();
  domain.boundary_z = (int)sides;
  kp_liquid_def starch = kp_default_liquid_def();
  starch.method = KP_LIQUID_STF;
  starch.spacing = cbrt(0.4 / (double)particles);
  starch.shape = box(kp_vec3_make(0, 0, 0), kp_vec3_make(1, 0.4, 1));
  starch.jitter = 0.1;
  snprintf(starch.name, sizeof starch.name, "starch");
  kp_body_def ball = kp_default_body_def();
  ball.shape.kind = KP_SHAPE_SPHERE;
  ball.shape.center = kp_vec3_make(0.4, 0.57, 0.5);
  ball.shape.radius = 0.15;
  ball.velocity = kp_vec3_make(0.5, -2.0, 0.0);
  snprintf(ball.name, sizeof ball.name, "ball");
  kp_collider_def pillar = kp_default_collider_def();
  pillar.shape = box(kp_vec3_make(0.7, -0.1, 0.3), kp_vec3_make(0.9, 0.6, 0.7));
  snprintf(pillar.name, sizeof pillar.name, "pillar");
  kp_stf_def settings = *def;
  settings.memory = 0.004;
  settings.vibration_amplitude = 0.1 * starch.spacing;
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_stf(world, &settings));
  KP_TRY(kp_world_add_liquid(world, &starch));
  KP_TRY(kp_world_add_body(world, &ball));
  return kp_world_add_collider(world, &pillar);
}

static kp_result add_stf(kp_world *world, int64_t particles) {
  kp_stf_def def = kp_default_stf_def();
  return stf_world(world, particles, &def, KP_BOUNDARY_CLOSED);
}

static kp_result add_stf_sum(kp_world *world, int64_t particles) {
  kp_stf_def def = kp_default_stf_def();
  def.history = KP_STF_SUM;
  def.birth = KP_STF_CLAVET;
  return stf_world(world, particles, &def, KP_BOUNDARY_PERIODIC);
}

// ---- grains

// Two populations, a still step, a body that falls on them and a spout, in a box of unit width.
static kp_result grains_world(kp_world *world, int64_t particles, int contact, double ratio,
                              double rolling) {
  kp_domain_def domain = kp_default_domain_def();
  domain.boundary_z = KP_BOUNDARY_PERIODIC;
  kp_dem_def dem = kp_default_dem_def();
  dem.contact = contact;
  kp_grains_def left = kp_default_grains_def();
  left.spacing = cbrt(0.4 / (double)particles);
  left.shape = box(kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.5, 1));
  left.size_ratio = ratio;
  left.rolling_friction = rolling;
  left.velocity = kp_vec3_make(0.5, -0.5, 0);
  left.jitter = 0.01;
  snprintf(left.name, sizeof left.name, "left");
  kp_grains_def right = left;
  right.shape = box(kp_vec3_make(0.4, 0, 0), kp_vec3_make(0.8, 0.5, 1));
  right.velocity = kp_vec3_make(-0.5, -0.5, 0);
  snprintf(right.name, sizeof right.name, "right");
  kp_body_def ball = kp_default_body_def();
  ball.shape.kind = KP_SHAPE_SPHERE;
  ball.shape.center = kp_vec3_make(0.4, 0.65, 0.5);
  ball.shape.radius = 0.15;
  ball.velocity = kp_vec3_make(0, -1, 0);
  snprintf(ball.name, sizeof ball.name, "ball");
  kp_collider_def step = kp_default_collider_def();
  step.shape = box(kp_vec3_make(0.8, -0.1, -0.1), kp_vec3_make(1.1, 0.2, 1.1));
  snprintf(step.name, sizeof step.name, "step");
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_dem(world, &dem));
  KP_TRY(kp_world_add_grains(world, &left));
  KP_TRY(kp_world_add_grains(world, &right));
  KP_TRY(kp_world_add_body(world, &ball));
  return kp_world_add_collider(world, &step);
}

// Grains that fly together do not slide on each other unless they spin, and if they all spin alike
// they do not roll: springs and torques would hold nothing but roundings, and two machines that
// round differently would have nothing to agree on. So each spins in its own way.
static kp_result stir_grains(kp_world *world) {
  const char *const names[] = { "left", "right" };
  for (int p = 0; p < 2; ++p) {
    kp_space *space = kp_registry_find(world->registry, names[p]);
    kp_field *spin = space != NULL ? kp_space_find(space, "angular_velocity") : NULL;
    if (spin == NULL) {
      return kp_fail(KP_ERROR_INTERNAL, "no grains \"%s\" to stir", names[p]);
    }
    for (int c = 0; c < 3; ++c) {
      kp_real *w = kp_buffer_host(&spin->buffers[c], KP_ACCESS_WRITE);
      if (w == NULL) {
        return KP_ERROR_MEMORY;
      }
      for (int64_t i = 0; i < space->n; ++i) {
        w[i] = (kp_real)(20.0 * sin(0.7 * (double)i + 2.0 * c));
      }
    }
  }
  return KP_OK;
}

static kp_result add_grains(kp_world *world, int64_t particles) {
  return grains_world(world, particles, 0, 1.0, 0.0);
}

static kp_result add_grains_sizes(kp_world *world, int64_t particles) {
  return grains_world(world, particles, 0, 0.3, 0.0);
}

static kp_result add_grains_hertz(kp_world *world, int64_t particles) {
  return grains_world(world, particles, 1, 0.7, 0.0);
}

static kp_result add_grains_rolling(kp_world *world, int64_t particles) {
  return grains_world(world, particles, 0, 0.7, 0.1);
}

static kp_result add_grains_hertz_rolling(kp_world *world, int64_t particles) {
  return grains_world(world, particles, 1, 1.0, 0.1);
}

static kp_result add_grains_wet(kp_world *world, int64_t particles) {
  kp_liquid_def water = kp_default_liquid_def();
  water.spacing = cbrt(0.4 / (double)particles);
  water.shape = box(kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.4, 1));
  snprintf(water.name, sizeof water.name, "water");
  KP_TRY(kp_world_add_liquid(world, &water));
  return grains_world(world, particles, 0, 1.0, 0.0);
}

// ---- water with a level set

// A drop over a pool with a jet, a drain, a still ball that the water leaves and tension: all
// kernels of the method.
static kp_result level_set_world(kp_world *world, int64_t particles, const kp_level_set_def *def) {
  kp_domain_def domain = kp_default_domain_def();
  domain.open_top = def->air_particles;
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 1.0 / fmin(fmax(8.0, round(cbrt((double)particles))), 48.0);
  kp_liquid_def pool = kp_default_liquid_def();
  pool.method = KP_LIQUID_LEVEL_SET;
  pool.surface_tension = 0.07;
  pool.shape = box(kp_vec3_make(-1, -1, -1), kp_vec3_make(2, 0.3, 2));
  pool.velocity = kp_vec3_make(-1, 0, 0);
  snprintf(pool.name, sizeof pool.name, "pool");
  kp_liquid_def drop = pool;
  drop.shape.kind = KP_SHAPE_SPHERE;
  drop.shape.center = kp_vec3_make(0.5, 0.6, 0.5);
  drop.shape.radius = 0.2;
  drop.velocity = kp_vec3_make(0, -2, 0);
  snprintf(drop.name, sizeof drop.name, "drop");
  kp_collider_def ball = kp_default_collider_def();
  ball.shape = drop.shape;
  ball.shape.center = kp_vec3_make(0.8, 0.2, 0.5);
  snprintf(ball.name, sizeof ball.name, "ball");
  kp_emitter_def jet = kp_default_emitter_def();
  jet.position = kp_curve_constant3(kp_vec3_make(0.1, 0.7, 0.5));
  jet.direction = kp_vec3_make(1, 0, 0);
  jet.radius = 0.1;
  jet.speed = kp_curve_constant(2.0);
  snprintf(jet.name, sizeof jet.name, "jet");
  snprintf(jet.into, sizeof jet.into, "pool");
  kp_sink_def drain = kp_default_sink_def();
  drain.shape = box(kp_vec3_make(0, 0, 0), kp_vec3_make(0.2, 0.1, 0.2));
  snprintf(drain.name, sizeof drain.name, "drain");
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_grid(world, &grid));
  KP_TRY(kp_world_set_level_set(world, def));
  KP_TRY(kp_world_add_liquid(world, &pool));
  KP_TRY(kp_world_add_liquid(world, &drop));
  KP_TRY(kp_world_add_collider(world, &ball));
  KP_TRY(kp_world_add_emitter(world, &jet));
  return kp_world_add_sink(world, &drain);
}

static kp_result add_level_set(kp_world *world, int64_t particles) {
  kp_level_set_def def = kp_default_level_set_def();
  def.reseed = 2;
  return level_set_world(world, particles, &def);
}

static kp_result add_level_set_sweep(kp_world *world, int64_t particles) {
  kp_level_set_def def = kp_default_level_set_def();
  def.distance = KP_LEVEL_SET_SWEEP;
  def.air_particles = true;
  return level_set_world(world, particles, &def);
}

// Open, and nothing keeps its volume: what passes its sides is counted alone.
static kp_result add_level_set_loose(kp_world *world, int64_t particles) {
  kp_level_set_def def = kp_default_level_set_def();
  def.volume = 0.0;
  def.air_particles = true;
  return level_set_world(world, particles, &def);
}

// A drop that flies out of the window it began in, which is made of blocks of 16 cells.
static kp_result add_level_set_window(kp_world *world, int64_t particles) {
  (void)particles;
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 1.0 / 48.0;
  grid.follow = true;
  kp_liquid_def drop = kp_default_liquid_def();
  drop.method = KP_LIQUID_LEVEL_SET;
  drop.shape.kind = KP_SHAPE_SPHERE;
  drop.shape.center = kp_vec3_make(0.2, 0.2, 0.2);
  drop.shape.radius = 0.08;
  drop.velocity = kp_vec3_make(40, 0, 0);
  snprintf(drop.name, sizeof drop.name, "drop");
  KP_TRY(kp_world_set_grid(world, &grid));
  return kp_world_add_liquid(world, &drop);
}

// Two blocks of FLIP water that fly into each other and into walls by steps of many cells: crowds.
static kp_result add_crowds(kp_world *world, int64_t particles) {
  kp_domain_def domain = kp_default_domain_def();
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.dt = 1.0 / 24.0;
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_simulation(world, &simulation));
  for (int side = 0; side < 2; ++side) {
    double lo = side == 0 ? 0.1 : 0.6;
    kp_liquid_def water = kp_default_liquid_def();
    water.method = KP_LIQUID_FLIP;
    water.spacing = 0.5 / fmin(fmax(8.0, round(cbrt((double)particles))), 32.0);
    water.shape = box(kp_vec3_make(lo, 0.3, 0.3), kp_vec3_make(lo + 0.3, 0.7, 0.7));
    water.velocity = kp_vec3_make(side == 0 ? 8.0 : -8.0, 0, 0);
    snprintf(water.name, sizeof water.name, side == 0 ? "left" : "right");
    KP_TRY(kp_world_add_liquid(world, &water));
  }
  return KP_OK;
}

// A dam by marker cells, explicit: all kernels of the method.
static kp_result add_marker(kp_world *world, int64_t particles) {
  kp_domain_def domain = kp_default_domain_def();
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 1.0 / fmin(fmax(8.0, round(cbrt((double)particles))), 32.0);
  kp_liquid_def water = kp_default_liquid_def();
  water.method = KP_LIQUID_MARKER;
  water.shape = box(kp_vec3_make(0, 0, 0), kp_vec3_make(0.5, 0.5, 1));
  snprintf(water.name, sizeof water.name, "water");
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_grid(world, &grid));
  return kp_world_add_liquid(world, &water);
}

const kp_kernel_medium kp_kernel_media[] = {
  { "crowds", add_crowds, NULL },
  { "marker cells", add_marker, NULL },
  { "level set", add_level_set, NULL },
  { "level set, sweeping", add_level_set_sweep, NULL },
  { "level set, volume left alone", add_level_set_loose, NULL },
  { "level set, flying", add_level_set_window, NULL },
  { "grains", add_grains, stir_grains },
  { "grains of many sizes", add_grains_sizes, stir_grains },
  { "grains, hertz", add_grains_hertz, stir_grains },
  { "grains, rolling", add_grains_rolling, stir_grains },
  { "grains, hertz and rolling", add_grains_hertz_rolling, stir_grains },
  { "grains in water", add_grains_wet, stir_grains },
  { "springs", add_springs, NULL },
  { "springs, general law", add_springs_general, NULL },
  { "plasma", add_plasma, NULL },
  { "plasma, 27 cells", add_plasma_near, NULL },
  { "fire", add_fire, NULL },
  { "solids", kp_kernel_add_solids, kp_kernel_bend_solids },
  { "sheets", kp_kernel_add_sheets, kp_kernel_bend_solids },
  { "hubs", kp_kernel_add_hubs, kp_kernel_bend_solids },
  { "fire of vortices", add_vortex_fire, NULL },
  { "fire of vortices in cells", add_vortices_in_cells, NULL },
  { "burning gas", kp_kernel_add_gas, NULL },
  { "stf", add_stf, NULL },
  { "stf, magnitude of the sum", add_stf_sum, NULL },
};
const size_t kp_n_kernel_media = sizeof kp_kernel_media / sizeof kp_kernel_media[0];
