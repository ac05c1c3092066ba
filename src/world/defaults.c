// Default values of every def. The only place they are written: tables, manual and used.lua ask
// here.
#include "kelpie/types.h"
#include "world/cookie.h"

// A box without volume, which means "not said yet". The members of the other kinds have the values
// that change nothing, so that a program only sets what its kind needs.
static kp_shape_def no_shape(void) {
  return (kp_shape_def){
    .kind = KP_SHAPE_BOX,
    .normal = { 0.0, 1.0, 0.0 },
    .scale = 1.0,
  };
}

kp_domain_def kp_default_domain_def(void) {
  return (kp_domain_def){
    .cookie = KP_DEF_COOKIE,
    .min = { 0.0, 0.0, 0.0 },
    .max = { 1.0, 1.0, 1.0 },
    .dimension = 3,
    .boundary_x = KP_BOUNDARY_CLOSED,
    .boundary_y = KP_BOUNDARY_CLOSED,
    .boundary_z = KP_BOUNDARY_CLOSED,
    .open_top = false,
    .restitution = 0.0,
    .friction = 0.0,
  };
}

kp_simulation_def kp_default_simulation_def(void) {
  return (kp_simulation_def){
    .cookie = KP_DEF_COOKIE,
    .gravity = { 0.0, -9.81, 0.0 },
    .dt = KP_AUTO,
    .dt_max = KP_AUTO,
    .dt_min = 1e-8,
    .policy = KP_POLICY_RETRY,
    .retries = 6,
    .seed = 1,
    .memory_limit = KP_AUTO,
  };
}

kp_sph_def kp_default_sph_def(void) {
  return (kp_sph_def){
    .cookie = KP_DEF_COOKIE,
    .solver = KP_SPH_SOLVER_WCSPH,
    .kernel = KP_SPH_CUBIC,
    .support = 2.4,
    .integrator = KP_INTEGRATOR_SYMPLECTIC,
    .pressure = 1,
    .viscosity_model = 0,
    .density = 0,
    .density_diffusion = 0.1,
    .fused = false,
    .wall = KP_SPH_WALL_SPH,
    .slip = 0.0,
    .wall_strength = 1.0,
    .wall_distance = 1.0,
    .wall_restitution = 0.3,
    .wall_friction = 0.2,
    .cfl = 0.4,
    .shifting = KP_AUTO,
    .density_error = 5e-4,
    .divergence_error = 1e-3,
    .density_iterations = 100,
    .divergence_iterations = 100,
    .warm_start = true,
    .viscosity_error = 1e-4,
    .viscosity_iterations = 1000,
    .fractional_order = 0.5,
    .fractional_mode = KP_SPH_FRACTIONAL_CALIBRATED,
    .fractional_steps = 10,
    .fractional_seconds = 0.0,
    .fractional_end = 0,
    .fractional_hybrid = false,
    .fractional_threshold = 0.3,
    .wall_drag = KP_SPH_DRAG_LAW,
    .adhesion = 0.0,
    .adhesion_mode = 0,
    .mark_touched = false,
    .tension = KP_SPH_TENSION_CENTROID,
    .tension_sign = 0,
    .wetting = 1.0,
    .surface_particles = false,
  };
}

kp_stf_def kp_default_stf_def(void) {
  return (kp_stf_def){
    .cookie = KP_DEF_COOKIE,
    .support = 2.0,
    .sound_speed = KP_AUTO,
    .near_ratio = 2.5,
    .linear_viscosity = 20.0,
    .squared_viscosity = 0.0,
    .spring_stiffness = 1000.0,
    .spring_reach = 0.75,
    .spring_removal = 1.15,
    .plasticity = 20.0,
    .yield = 0.05,
    .birth = KP_STF_DISTANCE,
    .history = KP_STF_MAGNITUDES,
    .order = 0.5,
    .memory = 1.0,
    .thickening = 10.0,
    .reference_speed = 0.1,
    .stick = 1.0,
    .body_friction = 0.3,
    .vibration_amplitude = 0.0,
    .vibration_sources = 8,
    .vibration_lowest = 20.0,
    .vibration_highest = 40.0,
    .vibration_redraw = 0.2,
    .vibration_start = 0.0,
    .vibration_stop = 1e9,
    .cfl = 0.3,
  };
}

kp_mps_def kp_default_mps_def(void) {
  return (kp_mps_def){
    .cookie = KP_DEF_COOKIE,
    .radius = 2.1,
    .laplacian_radius = 3.1,
    .weight = KP_MPS_WEIGHT_STANDARD,
    .gradient = KP_MPS_GRADIENT_MINIMUM,
    .source = KP_MPS_SOURCE_MIXED,
    .relaxation = 0.2,
    .divergence = 0.5,
    .suction = true,
    .surface = 0.97,
    .compressibility = 4.5e-10,  // water
    .clamp_negative_pressure = true,
    .collision_distance = 0.5,
    .restitution = 0.2,
    .slip = 0.0,
    .cfl = 0.2,
    .tolerance = 1e-3,
    .iterations = 500,
  };
}

kp_grid_def kp_default_grid_def(void) {
  return (kp_grid_def){
    .cookie = KP_DEF_COOKIE,
    .cell = KP_AUTO,
    .advection = KP_ADVECT_MACCORMACK,
    .limiter = KP_ADVECT_REVERT,
    .trace = KP_ADVECT_RK2,
    .interpolation = KP_ADVECT_AUTO,
    .solver = KP_POISSON_MULTIGRID,
    .tolerance = KP_AUTO,
    .iterations = 200,
    .relaxation = 1.7,
    .centering = KP_AUTO,
    .cfl = 2.0,
    .stream = { 0.0, 0.0, 0.0 },
    .no_slip = false,
    .lid = { 0.0, 0.0, 0.0 },
    .follow = false,
  };
}

kp_level_set_def kp_default_level_set_def(void) {
  return (kp_level_set_def){
    .cookie = KP_DEF_COOKIE,
    .particles = 16,
    .particle_band = 3.0,
    .air_particles = false,
    .reseed = 20,
    .show_particles = false,
    .distance = KP_LEVEL_SET_BAND,
    .start = KP_LEVEL_SET_BY_SLOPE,
    .near_surface = KP_LEVEL_SET_NEAR_SAME,
    .near_distance = 2.0,
    .extrapolation = KP_LEVEL_SET_ALONG_DISTANCE,
    .lets_go = true,
    .suction = 0.0,
    .volume = 0.5,
  };
}

kp_flip_def kp_default_flip_def(void) {
  return (kp_flip_def){
    .cookie = KP_DEF_COOKIE,
    .transfer = KP_FLIP_BLEND,
    .ratio = 0.97,
    .volume = 1.0,
    .volume_tolerance = 5e-6,
    .lets_go = true,
    .suction = 0.0,
  };
}

kp_marker_def kp_default_marker_def(void) {
  return (kp_marker_def){
    .cookie = KP_DEF_COOKIE,
    .scheme = KP_MARKER_FOSTER_METAXAS,
    .surface = KP_MARKER_CASES,
  };
}

kp_liquid_def kp_default_liquid_def(void) {
  return (kp_liquid_def){
    .cookie = KP_DEF_COOKIE,
    .method = 0,
    .shape = no_shape(),
    .empty = false,
    .spacing = 0.02,
    .velocity = { 0.0, 0.0, 0.0 },
    .jitter = 0.0,
    .rest_density = 1000.0,
    .viscosity = 0.05,
    .artificial_viscosity = 0.1,
    .surface_tension = 0.0,
    .drag = 0.0,
    .concentration = 0.0,
    .dispersion = 0.0,
    .solute_density = 0.0,
    .eos = 1,
    .exponent = 7.0,
    .stiffness = KP_AUTO,
    .sound_speed = KP_AUTO,
    .clamp_negative_pressure = true,
    .color = { 0.10, 0.35, 0.70 },
  };
}

kp_springs_def kp_default_springs_def(void) {
  return (kp_springs_def){
    .cookie = KP_DEF_COOKIE,
    .calibration = KP_SPRINGS_LAYERS,
    .stiffness = KP_AUTO,
    .compression = 0.1,
    .shear = KP_AUTO,
    .damping = KP_AUTO,
    .drag = 0.0,
    .diameter = 1.0,
    .tension = 0.0,
    .tension_reach = 1.5,
    .attraction = 0.0,
    .attraction_reach = 3.0,
    .walls = KP_SPRINGS_WALLS_PENALTY,
    .wall_stiffness = 2.0,
    .slip = 0.0,
    .integrator = KP_INTEGRATOR_LEAPFROG,
    .cfl = 0.2,
  };
}

kp_plasma_def kp_default_plasma_def(void) {
  return (kp_plasma_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .particles = 1000,
    .radius = 0.005,
    .mass = 1.0,
    .charge = 1.0,
    .charges = KP_PLASMA_BALANCED,
    .strength = 1e-6,
    .softening = KP_AUTO,
    .influence = 0.1,
    .cell = KP_AUTO,
    .search = KP_PLASMA_COMPLETE,
    .container_radius = 0.0,
    .restitution = 0.5,
    .damping = 0.0,
    .integrator = KP_INTEGRATOR_LEAPFROG,
    .cfl = 0.1,
    .color = { 0.55, 0.35, 0.85 },
  };
}

kp_fire_def kp_default_fire_def(void) {
  return (kp_fire_def){
    .cookie = KP_DEF_COOKIE,
    .method = KP_FIRE_PARTICLES,
    .particles = 10000,
    .emitter = KP_FIRE_BALL,
    .position = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .radius = 0.2,
    .respawn = KP_FIRE_ALWAYS,
    .stagger = true,
    .velocity = { 0.0, 1.0, 0.0 },
    .velocity_spread = { 0.1, 0.5, 0.1 },
    .burst = 0.0,
    .acceleration = { 0.0, 0.3, 0.0 },
    .acceleration_spread = { 0.0, 0.1, 0.0 },
    .decay_center = 0.5,
    .decay_rim = 1.0,
    .life_spread = 0.0,
    .floor = KP_AUTO,
    .wind = kp_curve_constant(0.0),
    .wind_period_a = 0.5,
    .wind_period_b = 0.6,
    .mass = 1e-6,
    .integrator = KP_INTEGRATOR_LEAPFROG,
    .sprite_radius = 0.02,
    .color = { 1.0, 0.5, 0.0 },
    .color_spread = { 0.0, 0.3, 0.5 },
    .color_rim = { 1.0, 0.0, 0.0 },
  };
}

kp_vortex_fire_def kp_default_vortex_fire_def(void) {
  return (kp_vortex_fire_def){
    .cookie = KP_DEF_COOKIE,
    .cell = KP_AUTO,
    .volume = KP_AUTO,
    .gather = KP_VORTEX_LOCAL,
    .reach = 1.5,
    .stretching = 1.0,
    .scheme = KP_VORTEX_STRETCH_STANDARD,
    .limit = 30.0,
    .exchange = 0.05,
    .exchange_radius = 1.0,
    .lightness = 0.0,
    .rise_rate = 3.0,
    .shedding = 10.0,
    .advection = KP_VORTEX_MIDPOINT,
    .grid = KP_VORTEX_FOLLOW,
    .grid_limit = 64.0,
    .coloring = KP_VORTEX_DENSITY,
    .bright = 6.0,
    .cfl = 0.5,
  };
}

kp_solids_def kp_default_solids_def(void) {
  return (kp_solids_def){
    .cookie = KP_DEF_COOKIE,
    .dt = KP_AUTO,
    .inner = 8,
    .strain_rate = 0.1,
    .cfl = 0.0,
    .implicit = true,
    .ahead = 0.6,
    .turns = true,
    .tolerance = 1e-3,
    .iterations = 200,
    .solver = KP_SOLVER_AUTO,
    .repulsion = 30.0,
    .history = true,
    .attempts = 20,
    .contact = true,
    .bodies = true,
    .rewind = false,
    .edge_share = 0.3,
    .friction = KP_FRICTION_AFTER,
    .gap = KP_AUTO,
    .body_triangles = KP_TRIANGLES_AUTO,
    .domain_friction = 0.3,
    .particle_restitution = 0.1,
    .particle_friction = 0.4,
    .key_rate = 60.0,
    .key_cells = 64,
  };
}

kp_cloth_def kp_default_cloth_def(void) {
  return (kp_cloth_def){
    .cookie = KP_DEF_COOKIE,
    .width = 1.0,
    .height = 1.0,
    .columns = 50,
    .rows = 50,
    .pattern = KP_CLOTH_HERRING_BONE,
    .density = 0.3,
    .model = KP_CLOTH_ELASTIC,
    .stiffness = KP_AUTO,
    // cotton denim, deform.md
    .poisson = 0.1,
    .bending = KP_AUTO,
    .young = 1.2e6,
    .fabric_thickness = 8.4e-4,
    .compression = KP_AUTO,
    .damping = 0.2,
    .shear = KP_AUTO,
    .bend_stiffness = KP_AUTO,
    .axial_floor = 0.3,
    .strength = kp_curve_constant(1.0),
    .bend_damping = 0.2,
    .flare = 1.0,
    .layers = 1,
    .gap = 0.005,
    .volume_stiffness = 0.5,
    .yarn_radius = 0.002,
    .yarn_plies = 1,
    .yarn_pitch = 0.012,
    .thickness = 0.005,
    .friction = 0.4,
    .self = true,
    .drag = 0.0,
    .viscosity = 0.0,
    .scheme = KP_SCHEME_NEWMARK,
    .color = { 0.60, 0.12, 0.10 },
  };
}

kp_wind_def kp_default_wind_def(void) {
  return (kp_wind_def){
    .cookie = KP_DEF_COOKIE,
    .velocity = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .axis = { 0.0, 1.0, 0.0 },
  };
}

kp_soft_def kp_default_soft_def(void) {
  return (kp_soft_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .spacing = 0.1,
    .density = 1000.0,
    .model = KP_SOFT_ELASTIC,
    .young = 5e4,
    .poisson = 0.4,
    .stiffness = 1000.0,
    .altitude = KP_AUTO,
    .center = KP_AUTO,
    .damping = 0.1,
    .strength = kp_curve_constant(1.0),
    .thickness = 0.005,
    .friction = 0.4,
    .self = true,
    .drag = 0.0,
    .viscosity = 0.0,
    .scheme = KP_SCHEME_BACKWARD_EULER,
    .color = { 0.20, 0.45, 0.60 },
  };
}

kp_hair_def kp_default_hair_def(void) {
  return (kp_hair_def){
    .cookie = KP_DEF_COOKIE,
    .scalp = no_shape(),
    .direction = { 0.0, -1.0, 0.0 },
    .rooted = true,
    .count = 1000,
    .segments = 20,
    .length = 0.2,
    .curl_pitch = 0.02,
    .wave_length = 0.04,
    .droop = 0.05,
    .lift = 0.002,
    .straight_deg = 15.0,
    .twist = true,
    // 80 um across, 1300 kg/m^3
    .density = 6.5e-6,
    .young = 4e9,
    .poisson = 0.3,
    .fibre_radius = 4e-5,
    .edge_stiffness = KP_AUTO,
    .bend_stiffness = KP_AUTO,
    .torsion_stiffness = KP_AUTO,
    .altitude_stiffness = KP_AUTO,
    .damping = 1.0,
    .limit = KP_HAIR_LIMIT_BIASED,
    .thickness = 0.001,
    .friction = 0.4,
    .self = false,
    .stiction = 0.0,
    .stiction_distance = 0.002,
    .stiction_break = 0.005,
    .stiction_damping = 1.0,
    .stiction_links = 5,
    .viscosity = 0.5,
    .scheme = KP_SCHEME_NEWMARK,
    .radius = 1e-4,
    .color = { 0.10, 0.045, 0.018 },
  };
}

kp_pin_def kp_default_pin_def(void) {
  return (kp_pin_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .position = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .rotation_deg = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .start = 0.0,
    .stop = KP_AUTO,
  };
}

kp_immersion_def kp_default_immersion_def(void) {
  return (kp_immersion_def){
    .cookie = KP_DEF_COOKIE,
    .water_density = 1000.0,
    .fibre_density = 1100.0,
    .drag = 1.25,
    .memory_drag = 12.5,
    .damping = 0.3,
    .damping_shear = 0.15,
    .damping_bend = 0.0075,
    .order = 0.5,
    .window = KP_WINDOW_SECONDS,
    .memory = 1.0,
    .samples = 128,
    .steps = 3,
    .current = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
  };
}

kp_limit_def kp_default_limit_def(void) {
  return (kp_limit_def){
    .cookie = KP_DEF_COOKIE,
    .method = KP_LIMIT_DIRECT,
    .tolerance = 0.02,
    .passes = 5,
    .visits = 1,
    .compensation = 0.9,
    .shape = no_shape(),
    .when = kp_curve_constant(1.0),
    .patience = 10,
  };
}

kp_grains_def kp_default_grains_def(void) {
  return (kp_grains_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .empty = false,
    .spacing = 0.02,
    .velocity = { 0.0, 0.0, 0.0 },
    .spin = { 0.0, 0.0, 0.0 },
    .jitter = KP_AUTO,
    .radius = KP_AUTO,
    .size_ratio = 1.0,
    .sizes = KP_GRAIN_SIZES_UNIFORM,
    .density = 2500.0,
    .frozen = false,
    .restitution = 0.5,
    .friction = 0.5,
    .wall_friction = KP_AUTO,
    .rolling_friction = 0.0,
    .cohesion = 0.0,
    .stiffness = KP_AUTO,
    .contact_time = KP_AUTO,
    .tangential_stiffness = 2.0 / 7.0,
    .damping_rate = KP_AUTO,
    .tangential_damping = 0.5,
    .young_modulus = 1e7,
    .poisson_ratio = 0.25,
    .color = { 0.62, 0.47, 0.28 },
  };
}

kp_dem_def kp_default_dem_def(void) {
  return (kp_dem_def){
    .cookie = KP_DEF_COOKIE,
    .contact = 0,
    .attraction = false,
    .steps_per_contact = 25.0,
    .overlap = 0.05,
    .skin = 0.1,
  };
}

// Damping and push are those of Box2D v3 (Catto), whose lengths are of bodies of 1 m; twice its
// sub-steps and frequency leave a quarter of its overlap under load.
kp_rigid_def kp_default_rigid_def(void) {
  return (kp_rigid_def){
    .cookie = KP_DEF_COOKIE,
    .step = 1.0 / 60.0,
    .substeps = 8,
    .iterations = 1,
    .contact_frequency = 60.0,
    .contact_damping = 10.0,
    .push_speed = 3.0,
    .margin = 0.02,
    .bounce_speed = 1.0,
    .light_support = 10.0,
    .domain_friction = 0.5,
    .domain_restitution = 0.0,
    .continuous = true,
  };
}

kp_collider_def kp_default_collider_def(void) {
  return (kp_collider_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .position = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .rotation_deg = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .surface_velocity = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .spacing = KP_AUTO,
    .layers = 2,
    .friction = 0.5,
    .friction_scale = kp_curve_constant(1.0),
    .visible = true,
    .color = { 0.477, 0.539, 0.604 },
  };
}

kp_morph_def kp_default_morph_def(void) {
  return (kp_morph_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .weight = kp_curve_constant(0.0),
  };
}

kp_body_def kp_default_body_def(void) {
  return (kp_body_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .density = 500.0,
    .position = { 0.0, 0.0, 0.0 },
    .velocity = { 0.0, 0.0, 0.0 },
    .angular_velocity = { 0.0, 0.0, 0.0 },
    .spacing = KP_AUTO,
    .layers = 2,
    .friction = 0.5,
    .visible = true,
    .color = { 0.85, 0.45, 0.15 },
  };
}

kp_emitter_def kp_default_emitter_def(void) {
  return (kp_emitter_def){
    .cookie = KP_DEF_COOKIE,
    .from = KP_EMITTER_OPENING,
    .shape = no_shape(),
    .position = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .rotation_deg = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .direction = { 0.0, -1.0, 0.0 },
    .radius = 0.05,
    .speed = kp_curve_constant(1.0),
    .start = 0.0,
    .stop = 1e9,
    .limit = 1000000000,
  };
}

kp_smoke_def kp_default_smoke_def(void) {
  return (kp_smoke_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .empty = false,
    .density = 1.0,
    .temperature = KP_AUTO,
    .air_density = 1.2,
    .ambient = 293.0,
    .lift = 9.81 / 293.0,  // of an ideal gas
    .hottest = 2000.0,
    .ignition = 600.0,
    .heat = 2500.0,
    .soot = 0.5,
    .expansion = 1.0,
    .conserve = true,
  };
}

kp_source_def kp_default_source_def(void) {
  return (kp_source_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .position = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .rotation_deg = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .density = KP_AUTO,
    .temperature = KP_AUTO,
    .fuel = KP_AUTO,
    .divergence = kp_curve_constant(0.0),
    .noise_scale = KP_AUTO,
    .noise_time = 0.1,
    .start = 0.0,
    .stop = 1e9,
  };
}

kp_vortices_def kp_default_vortices_def(void) {
  return (kp_vortices_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .rate = 100.0,
    .limit = 1000000000,
    .start = 0.0,
    .stop = 1e9,
    .threshold = 1.0,
    .magnitude = 2e-3,
    .radius = KP_AUTO,
    .strength = 1.0,
    .most = 2.0,
  };
}

kp_sink_def kp_default_sink_def(void) {
  return (kp_sink_def){ .cookie = KP_DEF_COOKIE,
                        .shape = no_shape(),
                        .position = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
                        .rotation_deg = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)) };
}

kp_force_def kp_default_force_def(void) {
  return (kp_force_def){
    .cookie = KP_DEF_COOKIE,
    .shape = no_shape(),
    .acceleration = kp_curve_constant3(kp_vec3_make(0.0, 0.0, 0.0)),
    .start = 0.0,
    .stop = 1e9,
  };
}

kp_probe_def kp_default_probe_def(void) {
  return (kp_probe_def){
    .cookie = KP_DEF_COOKIE,
    .kind = 0,
    .min = { 0.0, 0.0, 0.0 },
    .max = { 0.0, 0.0, 0.0 },
    .counts = { 1.0, 1.0, 1.0 },
    .reading = 0,
    .radius = KP_AUTO,
    .particle = -1,
    .every = 1,
    .interval = KP_AUTO,
  };
}

kp_output_def kp_default_output_def(void) {
  return (kp_output_def){
    .cookie = KP_DEF_COOKIE,
    .frames = 120,
    .fps = 60.0,
    .checkpoint_every = 0,
  };
}

kp_curve kp_curve_constant(double value) {
  return (kp_curve){ .components = 1, .constant = { value } };
}

kp_curve kp_curve_constant3(kp_vec3 value) {
  return (kp_curve){ .components = 3, .constant = { value.x, value.y, value.z } };
}
