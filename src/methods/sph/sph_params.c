// Parameter table of sph { }: settings shared by all SPH liquids of a world.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_sph_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_sph_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_sph_def, member, words, text)

static const char *const kernel_words[] = {
  "mueller", "cubic", "wendland", "desbrun", "poly6", NULL
};
static const char *const integrator_words[] = {
  "euler", "symplectic", "leapfrog", "velocity_verlet", "position_verlet", "rk2", "rk4", NULL,
};
static const char *const pressure_words[] = { "mean", "squared", NULL };
static const char *const viscosity_words[] = { "laplacian", "artificial", "fractional",
                                               "literal",   "central",    NULL };
static const char *const fractional_mode_words[] = { "calibrated", "raw", NULL };
static const char *const fractional_end_words[] = { "window", "interior", NULL };
static const char *const density_words[] = { "summation", "continuity", NULL };
static const char *const wall_words[] = { "mirror", "sph", "lennard_jones", "dem", NULL };
static const char *const tension_words[] = { "centroid", "color",    "morris",
                                             "mueller",  "pairwise", NULL };
static const char *const drag_words[] = { "law", "none", "interpolated", "wall", "morris", NULL };
static const char *const adhesion_words[] = { "attract", "paper", "tension", NULL };
static const char *const sign_words[] = { "corrected", "printed", NULL };
static const char *const domain_wall_words[] = { "samples", "planes", NULL };

static const char *const solver_words[] = { "wcsph", "dfsph", NULL };

static const kp_param rows[] = {
  WORDS(solver, solver_words,
        "wcsph: pressure by an equation of state; dfsph: solved for, with far larger steps."),
  WORDS(kernel, kernel_words,
        "Smoothing kernel; mueller takes poly6 for density, spiky for pressure and its own for "
        "viscosity."),
  ROW(support, REAL, "spacings", 1.1, 8, "Radius of the kernel."),
  WORDS(integrator, integrator_words, "Advances positions and velocities in time."),
  WORDS(pressure, pressure_words,
        "Pair form: mean (p_i + p_j) / (rho_i rho_j), or squared p_i/rho_i^2 + p_j/rho_j^2."),
  WORDS(
      viscosity_model, viscosity_words,
      "laplacian uses the liquid's viscosity, artificial (Monaghan) its artificial_viscosity, "
      "fractional its viscosity with the past velocities of the particles (Ozgen); literal reads "
      "it as printed by Bayraktar, in units of rho/2; central is the liquid's viscosity along the "
      "line between two particles, which leaves rotations alone: for ropes and sheets of honey."),
  WORDS(density, density_words, "Summed over neighbours, or advanced by the continuity equation."),
  ROW(density_diffusion, REAL, "", 0, 1, "Delta of the continuity form; smooths density noise."),
  ROW(fused, BOOL, "", 0, 0, "One pass over neighbours with the density of the last step."),
  WORDS(wall, wall_words, "Force between particles and boundary samples."),
  WORDS(domain_walls, domain_wall_words,
        "Closed faces of the domain: samples like other walls, or exact planes alone."),
  ROW(slip, REAL, "", 0, 1, "At boundary samples: 0 sticks, 1 slips freely."),
  ROW(wall_strength, REAL, "", 0, 1e6,
      "lennard_jones: D over gravity times depth; dem: factor on the contact stiffness."),
  ROW(wall_distance, REAL, "spacings", 0.01, 8, "Reach of lennard_jones, contact diameter of dem."),
  ROW(wall_restitution, REAL, "", 0, 1, "dem, mirror: share of the normal speed kept."),
  ROW(wall_friction, REAL, "", 0, 10, "dem: Coulomb coefficient."),
  ROW(cfl, REAL, "", 1e-4, 2,
      "Share of half the kernel radius that flow, and with wcsph sound, may cross in one step."),
  ROW(shifting, REAL, "", 0, 10,
      "Moves particles from dense to sparse places by this times half the kernel radius times the "
      "way of the fastest in the step (wcsph: a tenth of that of sound): no voids in shear; 6 is a "
      "good value, 0 leaves it out. auto: 0 with wcsph; 4 with dfsph, which shifts where liquids "
      "have no free surface."),
  ROW(density_error, REAL, "", 1e-6, 0.1,
      "dfsph: mean excess over the rest density that ends the iteration."),
  ROW(divergence_error, REAL, "", 1e-6, 0.1,
      "dfsph: mean compression in one step that ends the divergence iteration."),
  ROW(density_iterations, INT, "", 0, 100000, "dfsph: most iterations for the density."),
  ROW(divergence_iterations, INT, "", 0, 100000,
      "dfsph: most iterations for the divergence; 0 leaves that solve out."),
  ROW(warm_start, BOOL, "", 0, 0, "dfsph: start from the pressures of the last step."),
  ROW(viscosity_error, REAL, "", 1e-7, 0.1,
      "dfsph with central viscosity, which is solved for: residual, as a share of the forces, that "
      "ends the iteration."),
  ROW(viscosity_iterations, INT, "", 1, 100000,
      "dfsph with central viscosity: most iterations of that solve."),
  ROW(fractional_order, REAL, "", 0.01, 0.99,
      "Order q of the derivative: towards 1 only the present counts, towards 0 all of the memory."),
  WORDS(fractional_mode, fractional_mode_words,
        "calibrated divides by the gain S, so that steady flow feels the liquid's viscosity; raw "
        "takes it in Pa s^q."),
  ROW(fractional_steps, INT, "steps", 1, 4096, "Past steps that are remembered."),
  ROW(fractional_seconds, REAL, "s", 0, 1e6,
      "Length of the memory in 32 samples, instead of fractional_steps; 0: steps."),
  WORDS(
      fractional_end, fractional_end_words,
      "End of the memory: window starts history there, interior only leaves the older terms out."),
  ROW(fractional_hybrid, BOOL, "", 0, 0,
      "Past velocities only where flows collide, plain viscosity elsewhere."),
  ROW(fractional_threshold, REAL, "", 0, 1,
      "Share of the speed at which approach, or spread of directions, counts as a collision."),
  WORDS(wall_drag, drag_words,
        "Velocity of walls that drags the liquid: as the wall law has it, none, that of the liquid "
        "at the wall, the wall's own, or mirrored at the wall. All but law work with every wall."),
  ROW(adhesion, REAL, "", 0, 1, "Gain of the attraction of walls; 0: none."),
  WORDS(adhesion_mode, adhesion_words,
        "attract never repels; paper has the printed sign, which does; tension pulls only where "
        "pressures are negative."),
  ROW(mark_touched, BOOL, "", 0, 0, "Mark who has touched a wall in the field touched."),
  WORDS(tension, tension_words,
        "Surface tension of the liquids that have one: curvature of normals from centroids, from "
        "the gradient of the colour field or from its differences (morris), the field's Laplacian "
        "(mueller), or cohesion of pairs, which keeps momentum."),
  WORDS(tension_sign, sign_words, "As printed in the source, drops explode; for comparison."),
  ROW(wetting, REAL, "", 0, 1,
      "How much samples of walls count as liquid when the surface is looked for: 1 wets, 0 beads."),
  ROW(surface_particles, BOOL, "", 0, 0,
      "Mark the particles at the surface of their liquid in the field surface."),
};

static void set_default(void *def) {
  *(kp_sph_def *)def = kp_default_sph_def();
}

const kp_param_table kp_sph_params = {
  "sph",
  "Smoothed particle hydrodynamics: settings shared by all its liquids.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_sph_def),
  set_default,
};
