#include "cases/cases.h"

#include <math.h>
#include <string.h>

#include "base/result.h"

static void set_name(char name[KP_TEXT_SIZE], const char *text) {
  strncpy(name, text, KP_TEXT_SIZE - 1);
}

static kp_shape_def box(kp_vec3 min, kp_vec3 max) {
  kp_shape_def shape = kp_default_liquid_def().shape;
  shape.kind = KP_SHAPE_BOX;
  shape.min = min;
  shape.max = max;
  return shape;
}

// ---- scene A

static kp_sph_def scene_a_sph(int solver) {
  kp_sph_def sph = kp_default_sph_def();
  sph.solver = solver;
  sph.density_error = 5e-4;
  sph.divergence_error = 1e-3;
  sph.kernel = KP_SPH_CUBIC;
  sph.support = 2.0;
  sph.integrator = KP_INTEGRATOR_SYMPLECTIC;
  sph.wall = KP_SPH_WALL_MIRROR;  // as the peer's walls (Akinci et al. 2012)
  return sph;
}

static kp_result scene_a(kp_world *world, int64_t particles, int solver) {
  double n = fmax(round(cbrt((double)particles)), 4.0);
  double d = 1.0 / (n + 1.0);
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(3.0, 2.0, 1.0);
  KP_TRY(kp_world_set_domain(world, &domain));

  // 2e-4 s at d = 0.02 m and 1e-4 s at d = 0.0125 m; five times that with the implicit solver
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.dt = (d > 0.0125 ? 0.01 : 0.008) * d * (solver == KP_SPH_SOLVER_DFSPH ? 5.0 : 1.0);
  simulation.policy = KP_POLICY_STOP;
  KP_TRY(kp_world_set_simulation(world, &simulation));

  kp_sph_def sph = scene_a_sph(solver);
  KP_TRY(kp_world_set_sph(world, &sph));

  kp_liquid_def water = kp_default_liquid_def();
  set_name(water.name, "water");
  water.spacing = d;
  water.shape = box(kp_vec3_make(0.5 * d, 0.5 * d, 0.5 * d),
                    kp_vec3_make((n + 0.5) * d, (n + 0.5) * d, (n + 0.5) * d));
  // a lattice at rest crosses cell borders layer by layer, all at once or not at all; a flow that
  // has been moving for a second does not, and a little disorder spares that second
  water.jitter = 0.1;
  water.viscosity = 0.01 * water.rest_density;  // the scene's 0.01 is kinematic
  water.stiffness = 50000.0;
  water.exponent = 7.0;
  water.clamp_negative_pressure = true;
  return kp_world_add_liquid(world, &water);
}

kp_result kp_case_sph_a(kp_world *world, int64_t particles) {
  return scene_a(world, particles, KP_SPH_SOLVER_WCSPH);
}

kp_result kp_case_sph_a_implicit(kp_world *world, int64_t particles) {
  return scene_a(world, particles, KP_SPH_SOLVER_DFSPH);
}

kp_result kp_case_sph_a_fractional(kp_world *world, int64_t particles) {
  KP_TRY(scene_a(world, particles, KP_SPH_SOLVER_WCSPH));
  kp_sph_def sph = scene_a_sph(KP_SPH_SOLVER_WCSPH);
  sph.viscosity_model = KP_SPH_VISCOSITY_FRACTIONAL;
  return kp_world_set_sph(world, &sph);
}

// ---- scene G

#define CHUTE_DEPTH 40.0  // layers, the bed among them

kp_result kp_case_dem_chute(kp_world *world, int64_t grains) {
  // twice as long as wide
  double width = fmax(round(sqrt((double)grains / (2.0 * CHUTE_DEPTH))), 4.0);
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(2.0 * width, width, 1.5 * CHUTE_DEPTH);
  domain.boundary_x = KP_BOUNDARY_PERIODIC;
  domain.boundary_y = KP_BOUNDARY_PERIODIC;
  domain.open_top = true;
  KP_TRY(kp_world_set_domain(world, &domain));

  double angle = 26.0 * 3.14159265358979323846 / 180.0;
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.gravity = kp_vec3_make(sin(angle), 0.0, -cos(angle));
  simulation.dt = 1e-4;
  simulation.policy = KP_POLICY_STOP;
  KP_TRY(kp_world_set_simulation(world, &simulation));

  kp_dem_def dem = kp_default_dem_def();
  dem.attraction = true;
  dem.skin = 0.1;
  KP_TRY(kp_world_set_dem(world, &dem));

  kp_grains_def bed = kp_default_grains_def();
  set_name(bed.name, "bed");
  bed.spacing = 1.0;
  bed.density = 6.0 / 3.14159265358979323846;  // of mass 1
  bed.stiffness = 200000.0;
  bed.damping_rate = 50.0;
  bed.tangential_damping = 0.0;
  bed.friction = 0.5;
  kp_grains_def flow = bed;
  bed.frozen = true;
  bed.shape = box(kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(2.0 * width, width, 1.0));
  KP_TRY(kp_world_add_grains(world, &bed));
  set_name(flow.name, "flow");
  // a lattice that moves over the bed, shaken by overlaps of a thousandth, soon is none
  flow.velocity = kp_vec3_make(1.0, 0.0, 0.0);
  flow.jitter = 0.0005;
  flow.shape = box(kp_vec3_make(0.0, 0.0, 1.0), kp_vec3_make(2.0 * width, width, CHUTE_DEPTH));
  return kp_world_add_grains(world, &flow);
}

// ---- scene B

#define B_LENGTH 3.22
#define B_WATER_FROM 1.992
#define B_DEPTH 0.55
#define B_VOLUME ((B_LENGTH - B_WATER_FROM) * B_DEPTH)
#define B_AREA (2.0 * (B_LENGTH + B_LENGTH + 1.0))
#define B_LAYERS 3.0

// Particles of water and of walls at spacing d.
static double count_b(double d) {
  return B_VOLUME / (d * d * d) + B_LAYERS * B_AREA / (d * d);
}

int64_t kp_case_sph_b_walls(int64_t fluid_particles) {
  double d = cbrt(B_VOLUME / (double)fluid_particles);
  return llround(B_LAYERS * B_AREA / (d * d));
}

// The spacing that divides the width of the tank and comes nearest to the size.
static double spacing_b(int64_t particles) {
  double n = 4.0;
  while (count_b(1.0 / (n + 0.5)) < (double)particles) {
    n += 1.0;
  }
  return 1.0 / n;
}

static kp_result add_tank_b(kp_world *world) {
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(B_LENGTH, 1.0, 1.0);
  KP_TRY(kp_world_set_domain(world, &domain));
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.gravity = kp_vec3_make(0.0, 0.0, -9.81);
  simulation.policy = KP_POLICY_STOP;
  KP_TRY(kp_world_set_simulation(world, &simulation));
  kp_collider_def obstacle = kp_default_collider_def();
  set_name(obstacle.name, "obstacle");
  obstacle.shape = box(kp_vec3_make(0.66, 0.30, 0.0), kp_vec3_make(0.82, 0.70, 0.16));
  obstacle.layers = (int64_t)B_LAYERS;
  return kp_world_add_collider(world, &obstacle);
}

kp_result kp_case_sph_b(kp_world *world, int64_t particles) {
  KP_TRY(add_tank_b(world));
  kp_sph_def sph = kp_default_sph_def();
  sph.kernel = KP_SPH_WENDLAND;
  sph.support = 4.0;
  sph.integrator = KP_INTEGRATOR_RK2;
  sph.viscosity_model = 1;
  sph.density = 1;
  sph.density_diffusion = 0.1;
  sph.cfl = 0.2;
  sph.wall = KP_SPH_WALL_MIRROR;  // no pass over the samples themselves
  KP_TRY(kp_world_set_sph(world, &sph));
  kp_liquid_def water = kp_default_liquid_def();
  set_name(water.name, "water");
  water.spacing = spacing_b(particles);
  water.shape = box(kp_vec3_make(B_WATER_FROM, 0.0, 0.0), kp_vec3_make(B_LENGTH, 1.0, B_DEPTH));
  water.artificial_viscosity = 0.05;
  water.exponent = 7.0;
  water.sound_speed = 20.0 * sqrt(9.81 * B_DEPTH);
  water.clamp_negative_pressure = false;
  return kp_world_add_liquid(world, &water);
}

// ---- moving particles

kp_result kp_case_mps(kp_world *world, int64_t particles) {
  double n = fmax(round(cbrt((double)particles)), 4.0);
  double d = 0.5 / n;
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(1.0, 0.75, 0.5);
  domain.open_top = true;
  KP_TRY(kp_world_set_domain(world, &domain));
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.policy = KP_POLICY_STOP;
  KP_TRY(kp_world_set_simulation(world, &simulation));
  kp_liquid_def water = kp_default_liquid_def();
  set_name(water.name, "water");
  water.method = KP_LIQUID_MPS;
  water.spacing = d;
  water.shape = box(kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(0.5, 0.5, 0.5));
  water.viscosity = 0.0;  // the pressure is what is measured
  return kp_world_add_liquid(world, &water);
}

// ---- dam break

kp_result kp_case_stf(kp_world *world, int64_t particles) {
  const double d = 0.02;
  double n = fmax(round(sqrt((double)particles / 14.0 / 2.0)), 8.0);
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(2.0 * n * d, 1.0, n * d);
  domain.open_top = true;
  KP_TRY(kp_world_set_domain(world, &domain));
  kp_stf_def stf = kp_default_stf_def();
  stf.sound_speed = 5.0;
  KP_TRY(kp_world_set_stf(world, &stf));
  kp_liquid_def starch = kp_default_liquid_def();
  set_name(starch.name, "starch");
  starch.method = KP_LIQUID_STF;
  starch.spacing = d;
  starch.rest_density = 1200.0;
  starch.shape = box(kp_vec3_make(0, 0, 0), kp_vec3_make(2.0 * n * d, 14.0 * d, n * d));
  KP_TRY(kp_world_add_liquid(world, &starch));
  kp_body_def ball = kp_default_body_def();
  set_name(ball.name, "ball");
  ball.density = 1500.0;
  ball.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE,
                               .center = kp_vec3_make(0.5 * n * d, 0.42, 0.5 * n * d),
                               .radius = 0.1,
                               .scale = 1.0 };
  ball.velocity = kp_vec3_make(1.2, -1.5, 0.0);
  return kp_world_add_body(world, &ball);
}

kp_dam_break_def kp_default_dam_break_def(void) {
  return (kp_dam_break_def){
    .particles = 8000,
    .dimension = 3,
    .sph = kp_default_sph_def(),
    .sides = KP_BOUNDARY_CLOSED,
  };
}

static kp_result add_floating_body(kp_world *world) {
  kp_body_def body = kp_default_body_def();
  set_name(body.name, "crate");
  body.shape = box(kp_vec3_make(0.5, 0.1, 0.2), kp_vec3_make(0.7, 0.3, 0.4));
  return kp_world_add_body(world, &body);
}

static kp_result add_jet(kp_world *world, double x, double z) {
  kp_emitter_def jet = kp_default_emitter_def();
  set_name(jet.name, "jet");
  set_name(jet.into, "water");
  jet.position = kp_curve_constant3(kp_vec3_make(x, 0.7, z));
  jet.radius = 0.08;
  jet.speed = kp_curve_constant(2.0);
  return kp_world_add_emitter(world, &jet);
}

static kp_result add_probe(kp_world *world, int kind) {
  static const char *const names[] = { "mean", "fit", "track" };
  kp_probe_def probe = kp_default_probe_def();
  set_name(probe.name, names[kind]);
  set_name(probe.of, "water");
  probe.kind = kind;
  probe.min = kp_vec3_make(0.0, 0.0, 0.0);
  probe.max = kp_vec3_make(0.6, 0.6, 0.6);
  probe.counts = kp_vec3_make(6.0, 5.0, 4.0);
  probe.radius = 0.1;
  return kp_world_add_probe(world, &probe);
}

static kp_result add_wind(kp_world *world) {
  kp_force_def wind = kp_default_force_def();
  set_name(wind.name, "wind");
  wind.shape = box(kp_vec3_make(0.0, 0.2, 0.0), kp_vec3_make(0.5, 0.5, 0.3));
  wind.acceleration = kp_curve_constant3(kp_vec3_make(4.0, 0.0, 0.0));
  KP_TRY(kp_world_add_force(world, &wind));
  kp_force_def gust = kp_default_force_def();
  set_name(gust.name, "gust");
  gust.shape.kind = KP_SHAPE_SPHERE;
  gust.shape.center = kp_vec3_make(0.3, 0.3, 0.2);
  gust.shape.radius = 0.15;
  gust.acceleration = kp_curve_constant3(kp_vec3_make(0.0, 3.0, 0.0));
  return kp_world_add_force(world, &gust);
}

static kp_result add_drain(kp_world *world) {
  kp_sink_def drain = kp_default_sink_def();
  set_name(drain.name, "drain");
  drain.shape = box(kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(0.1, 0.1, 0.1));
  return kp_world_add_sink(world, &drain);
}

kp_result kp_case_dam_break(kp_world *world, const kp_dam_break_def *def) {
  bool flat = def->dimension == 2;
  double n = (double)def->particles;
  double spacing = flat ? sqrt(0.4 * 0.4 / n) : cbrt(0.4 * 0.4 * 0.6 / n);
  // more cells along x alone than the dense form takes
  double far_away = 7e5 * spacing;
  kp_domain_def domain = kp_default_domain_def();
  domain.dimension = def->dimension;
  domain.max = kp_vec3_make(def->far_jet ? far_away : 1.6, 0.8, flat ? 0.0 : 0.6);
  kp_vec3 extent = kp_vec3_make(0.4, 0.4, flat ? 0.0 : 0.6);
  if (def->full) {
    // whole numbers of particles leave no gap at the walls, nor where a side meets its image
    extent.x = extent.y = spacing * round(extent.x / spacing);
    extent.z = spacing * round(extent.z / spacing);
    domain.max = extent;
  }
  domain.boundary_x = flat ? (int)def->sides : KP_BOUNDARY_CLOSED;
  domain.boundary_z = flat ? KP_BOUNDARY_CLOSED : (int)def->sides;
  KP_TRY(kp_world_set_domain(world, &domain));

  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.policy = KP_POLICY_STOP;
  KP_TRY(kp_world_set_simulation(world, &simulation));
  KP_TRY(kp_world_set_sph(world, &def->sph));

  kp_liquid_def water = kp_default_liquid_def();
  set_name(water.name, "water");
  water.spacing = spacing;
  water.jitter = def->full ? 0.1 : 0.0;
  water.shape = box(kp_vec3_make(0.0, 0.0, 0.0), extent);
  water.method = def->flip ? KP_LIQUID_FLIP : (def->mps ? KP_LIQUID_MPS : KP_LIQUID_SPH);
  kp_flip_def flip = kp_default_flip_def();
  flip.transfer = flat ? KP_FLIP_AFFINE : KP_FLIP_BLEND;
  flip.band = def->band;
  if (def->flip) {
    kp_grid_def grid = kp_default_grid_def();
    grid.advection = def->band > 0.0 ? KP_ADVECT_SEMI_LAGRANGIAN : grid.advection;
    // particles of a band go the midpoint rule in lanes, others one at a time
    grid.trace = def->band > 0.0 ? grid.trace : KP_ADVECT_RK3;
    grid.centering = flat || def->band > 0.0 ? grid.centering : 0.55;
    KP_TRY(kp_world_set_grid(world, &grid));
  }
  KP_TRY(kp_world_set_flip(world, &flip));
  water.surface_tension = def->tension;
  water.concentration = def->solute;
  water.dispersion = def->solute > 0.0 ? 1e-4 : 0.0;
  water.solute_density = def->solute > 0.0 ? 500.0 : 0.0;
  water.drag = def->solute > 0.0 ? 0.1 : 0.0;
  KP_TRY(kp_world_add_liquid(world, &water));
  if (def->body) {
    KP_TRY(add_floating_body(world));
  }
  if (def->jet || def->far_jet) {
    KP_TRY(add_jet(world, def->far_jet ? far_away - 1.0 : 1.0, flat ? 0.0 : 0.3));
  }
  for (int kind = 0; def->probes && kind < 3; ++kind) {
    KP_TRY(add_probe(world, kind));
  }
  if (def->wind) {
    KP_TRY(add_wind(world));
  }
  return def->drain ? add_drain(world) : KP_OK;
}
