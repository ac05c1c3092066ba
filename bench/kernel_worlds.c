// The worlds of the kernel check. The first ones run through the smoothing kernels with every form
// of pressure and viscosity; the others add one thing each to the plain dam break.
#include "bench/kernels.h"

// pressure, viscosity model, fused, solver; the fractional one is hybrid
static const struct {
  int pressure, viscosity;
  bool fused;
  int solver;
} forms[] = {
  { 0, 0, false, 0 },
  { 1, 0, false, 0 },
  { 0, 1, false, 0 },
  { 1, 1, false, 0 },
  { 0, 0, true, 0 },
  { 1, 0, true, 0 },
  { 1, 0, false, KP_SPH_SOLVER_DFSPH },
  { 1, KP_SPH_VISCOSITY_FRACTIONAL, false, 0 },
  { 0, KP_SPH_VISCOSITY_CENTRAL, false, 0 },
  { 1, KP_SPH_VISCOSITY_CENTRAL, false, 0 },
  { 1, KP_SPH_VISCOSITY_CENTRAL, false, KP_SPH_SOLVER_DFSPH },
};

#define N_FORMS (sizeof forms / sizeof forms[0])

static void set_wall_sph(kp_dam_break_def *def) {
  def->sph.wall = KP_SPH_WALL_SPH;
}

static void set_wall_lennard_jones(kp_dam_break_def *def) {
  def->sph.wall = KP_SPH_WALL_LENNARD_JONES;
}

static void set_wall_dem(kp_dam_break_def *def) {
  def->sph.wall = KP_SPH_WALL_DEM;
}

static void set_continuity(kp_dam_break_def *def, int kernel, int viscosity) {
  def->sph.density = 1;
  def->sph.integrator = KP_INTEGRATOR_RK2;
  def->sph.kernel = kernel;
  def->sph.viscosity_model = viscosity;
}

static void set_continuity_cubic(kp_dam_break_def *def) {
  set_continuity(def, KP_SPH_CUBIC, 0);
}

static void set_continuity_cubic_artificial(kp_dam_break_def *def) {
  set_continuity(def, KP_SPH_CUBIC, 1);
}

static void set_continuity_wendland(kp_dam_break_def *def) {
  set_continuity(def, KP_SPH_WENDLAND, 0);
}

static void set_continuity_wendland_artificial(kp_dam_break_def *def) {
  set_continuity(def, KP_SPH_WENDLAND, 1);
}

static void set_continuity_cubic_central(kp_dam_break_def *def) {
  set_continuity(def, KP_SPH_CUBIC, KP_SPH_VISCOSITY_CENTRAL);
}

static void set_continuity_wendland_central(kp_dam_break_def *def) {
  set_continuity(def, KP_SPH_WENDLAND, KP_SPH_VISCOSITY_CENTRAL);
}

// with an emitter, so that the fields of a scheme also get their first values
static void set_euler(kp_dam_break_def *def) {
  def->sph.integrator = KP_INTEGRATOR_EULER;
}

static void set_leapfrog(kp_dam_break_def *def) {
  def->sph.integrator = KP_INTEGRATOR_LEAPFROG;
  def->jet = true;
}

static void set_velocity_verlet(kp_dam_break_def *def) {
  def->sph.integrator = KP_INTEGRATOR_VELOCITY_VERLET;
}

static void set_position_verlet(kp_dam_break_def *def) {
  def->sph.integrator = KP_INTEGRATOR_POSITION_VERLET;
  def->jet = true;
}

static void set_rk4(kp_dam_break_def *def) {
  def->sph.integrator = KP_INTEGRATOR_RK4;
}

static void set_periodic(kp_dam_break_def *def) {
  def->sides = KP_BOUNDARY_PERIODIC;
}

static void set_flat(kp_dam_break_def *def) {
  def->dimension = 2;
  def->body = false;
}

static void set_flat_periodic(kp_dam_break_def *def) {
  set_flat(def);
  set_periodic(def);
}

static void set_implicit_periodic(kp_dam_break_def *def) {
  def->sph.solver = KP_SPH_SOLVER_DFSPH;
  set_periodic(def);
}

static void set_confined(kp_dam_break_def *def) {
  set_implicit_periodic(def);
  def->full = true;
  def->body = false;
}

static void set_flat_confined(kp_dam_break_def *def) {
  set_confined(def);
  set_flat(def);
}

static void set_flat_fractional(kp_dam_break_def *def) {
  set_flat(def);
  def->sph.viscosity_model = KP_SPH_VISCOSITY_FRACTIONAL;
}

static void set_tension(kp_dam_break_def *def, int kind) {
  def->sph.tension = kind;
  def->tension = 0.5;
}

static void set_tension_centroid(kp_dam_break_def *def) {
  set_tension(def, KP_SPH_TENSION_CENTROID);
  set_periodic(def);
  def->sph.surface_particles = true;
}

static void set_tension_color(kp_dam_break_def *def) {
  set_tension(def, KP_SPH_TENSION_COLOR);
}

static void set_tension_morris(kp_dam_break_def *def) {
  set_tension(def, KP_SPH_TENSION_MORRIS);
}

static void set_tension_mueller(kp_dam_break_def *def) {
  set_tension(def, KP_SPH_TENSION_MUELLER);
}

static void set_tension_pairwise(kp_dam_break_def *def) {
  set_tension(def, KP_SPH_TENSION_PAIRWISE);
}

static void set_mix_cubic(kp_dam_break_def *def) {
  def->solute = 0.5;
}

static void set_mix_poly6(kp_dam_break_def *def) {
  def->solute = 0.5;
  def->sph.kernel = KP_SPH_POLY6;
}

static void set_mix_wendland(kp_dam_break_def *def) {
  def->solute = 0.5;
  def->sph.kernel = KP_SPH_WENDLAND;
}

static void set_adhesion(kp_dam_break_def *def) {
  def->sph.adhesion = 0.1;
  def->sph.wall_drag = KP_SPH_DRAG_INTERPOLATED;
  def->sph.mark_touched = true;
}

static void set_drain(kp_dam_break_def *def) {
  def->jet = true;
  def->drain = true;
  def->wind = true;
  def->probes = true;
}

static void set_sparse(kp_dam_break_def *def) {
  def->far_jet = true;
  def->sph.domain_walls = 1;
}

static void set_mps(kp_dam_break_def *def) {
  def->mps = true;
}

static void set_mps_flat_periodic(kp_dam_break_def *def) {
  set_flat_periodic(def);
  def->mps = true;
}

static void set_flip(kp_dam_break_def *def) {
  def->flip = true;
}

static void set_flip_flat_periodic(kp_dam_break_def *def) {
  set_flat_periodic(def);
  def->flip = true;
}

static void set_flip_band(kp_dam_break_def *def) {
  def->flip = true;
  def->band = 1.0;
  def->tension = 0.05;
}

static void (*const others[])(kp_dam_break_def *def) = {
  set_wall_sph,
  set_wall_lennard_jones,
  set_wall_dem,
  set_continuity_cubic,
  set_continuity_cubic_artificial,
  set_continuity_wendland,
  set_continuity_wendland_artificial,
  set_continuity_cubic_central,
  set_continuity_wendland_central,
  set_euler,
  set_leapfrog,
  set_velocity_verlet,
  set_position_verlet,
  set_rk4,
  set_periodic,
  set_flat,
  set_flat_periodic,
  set_implicit_periodic,
  set_confined,
  set_flat_confined,
  set_flat_fractional,
  set_tension_centroid,
  set_tension_color,
  set_tension_morris,
  set_tension_mueller,
  set_tension_pairwise,
  set_mix_cubic,
  set_mix_poly6,
  set_mix_wendland,
  set_adhesion,
  set_drain,
  set_sparse,
  set_mps,
  set_mps_flat_periodic,
  set_flip,
  set_flip_flat_periodic,
  set_flip_band,
};

#define N_SETS ((size_t)KP_SPH_KERNEL_COUNT * N_FORMS)

size_t kp_kernel_worlds(void) {
  return N_SETS + sizeof others / sizeof others[0];
}

kp_dam_break_def kp_kernel_world(size_t k, int64_t particles) {
  kp_dam_break_def def = kp_default_dam_break_def();
  def.particles = particles;
  def.body = true;
  if (k < N_SETS) {
    def.sph.kernel = (int)(k / N_FORMS);
    def.sph.pressure = forms[k % N_FORMS].pressure;
    def.sph.viscosity_model = forms[k % N_FORMS].viscosity;
    def.sph.fused = forms[k % N_FORMS].fused;
    def.sph.shifting = k % N_FORMS == 1 ? 1.0 : 0.0;
    // the implicit solver refuses poly6
    def.sph.solver =
        def.sph.kernel == KP_SPH_POLY6 ? KP_SPH_SOLVER_WCSPH : forms[k % N_FORMS].solver;
    def.sph.fractional_hybrid = def.sph.viscosity_model == KP_SPH_VISCOSITY_FRACTIONAL;
  } else {
    others[k - N_SETS](&def);
  }
  return def;
}
