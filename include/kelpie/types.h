// Every def: what a program or a scene says about a world before it is built. Always start from the
// default function of a def, then change members: a def that was not made that way is refused. SI
// units; angles in degrees where the name ends in _deg. KP_AUTO (a NaN) in a member that allows it
// means "choose for me".
#pragma once

#include "kelpie/base.h"
#include "kelpie/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_AUTO ((double)NAN)

// A value that may change with time: constant, or samples at start + k interval joined by a C1
// cubic (Catmull-Rom). Before the first and after the last sample the curve holds still.
typedef struct kp_curve {
  int32_t components;  // 1 or 3
  int32_t n;           // samples; 0: constant
  double start, interval;
  const double *samples;  // n x components, not owned
  double constant[3];
} kp_curve;

// A vector that depends on place: samples at start + interval (i, j, k), x fastest, with straight
// lines between them; beyond the last ones the nearest counts. n[0] = 0: there is none.
typedef struct kp_vec_lattice {
  int32_t n[3];
  kp_vec3 start;          // m
  double interval;        // m
  const double *samples;  // n[0] x n[1] x n[2] x 3, not owned
} kp_vec_lattice;

typedef enum kp_boundary { KP_BOUNDARY_CLOSED, KP_BOUNDARY_OPEN, KP_BOUNDARY_PERIODIC } kp_boundary;

typedef struct kp_domain_def {
  uint32_t cookie;
  kp_vec3 min, max;   // m
  int64_t dimension;  // 2 or 3; 2 is one layer, 1 m thick, at z = 0
  int boundary_x;     // kp_boundary of the two faces of an axis: closed wall, open (what leaves is
                      // removed),
  int boundary_y;     // or periodic
  int boundary_z;
  bool open_top;       // the upper face along the up axis is open although the axis is closed
  double restitution;  // share of the normal speed kept at a closed face, 0..1
  double friction;  // share of the tangential speed lost per contact at a closed face, 0 free slip
                    // .. 1
} kp_domain_def;

typedef enum kp_policy { KP_POLICY_STOP, KP_POLICY_RETRY, KP_POLICY_WARN } kp_policy;

typedef struct kp_simulation_def {
  uint32_t cookie;
  kp_vec3 gravity;      // m/s^2
  double dt;            // s: fixed step; KP_AUTO: adaptive
  double dt_max;        // s: never longer than this; KP_AUTO: what each method bears
  double dt_min;        // s: a limit below this is trouble
  int policy;           // what trouble (NaN, escape, CFL) does
  int64_t retries;      // with policy retry: halvings before giving up
  int64_t seed;         // of all random numbers
  double memory_limit;  // GB, 1e9 bytes: a world that needs more is refused; KP_AUTO: the machine's
} kp_simulation_def;

typedef enum kp_sph_kernel {
  KP_SPH_MUELLER,  // poly6 density, spiky gradient, viscosity Laplacian (Mueller 2003)
  KP_SPH_CUBIC,
  KP_SPH_WENDLAND,  // C2
  KP_SPH_DESBRUN,   // spiky for everything
  KP_SPH_POLY6,
  KP_SPH_KERNEL_COUNT
} kp_sph_kernel;

typedef enum kp_integrator {
  KP_INTEGRATOR_EULER,
  KP_INTEGRATOR_SYMPLECTIC,
  KP_INTEGRATOR_LEAPFROG,
  KP_INTEGRATOR_VELOCITY_VERLET,
  KP_INTEGRATOR_POSITION_VERLET,
  KP_INTEGRATOR_RK2,
  KP_INTEGRATOR_RK4,
  KP_INTEGRATOR_COUNT
} kp_integrator;

typedef enum kp_sph_wall {
  KP_SPH_WALL_MIRROR,  // samples take part in density; their pressure mirrors the particle's
  KP_SPH_WALL_SPH,     // samples have a density and a pressure of their own
  KP_SPH_WALL_LENNARD_JONES,
  KP_SPH_WALL_DEM
} kp_sph_wall;

// Settings shared by all SPH liquids of a world.
typedef enum kp_sph_solver { KP_SPH_SOLVER_WCSPH, KP_SPH_SOLVER_DFSPH } kp_sph_solver;
typedef enum kp_sph_viscosity_model {
  KP_SPH_VISCOSITY_LAPLACIAN,
  KP_SPH_VISCOSITY_ARTIFICIAL,
  KP_SPH_VISCOSITY_FRACTIONAL,
  KP_SPH_VISCOSITY_LITERAL,  // as printed: half, and without 1/rho (Bayraktar 2010, Eq. 3.22)
  KP_SPH_VISCOSITY_CENTRAL   // along the line of centres: keeps angular momentum
} kp_sph_viscosity_model;

typedef enum kp_sph_fractional_mode {
  KP_SPH_FRACTIONAL_CALIBRATED,  // steady flow feels the liquid's viscosity
  KP_SPH_FRACTIONAL_RAW          // viscosity [Pa s^q] times the derivative of order q
} kp_sph_fractional_mode;

// Which velocity of a wall drags the liquid.
typedef enum kp_sph_drag {
  KP_SPH_DRAG_LAW,           // as the wall law has it
  KP_SPH_DRAG_NONE,          // none, whatever the law
  KP_SPH_DRAG_INTERPOLATED,  // that of the liquid at the wall (Bayraktar 2010, Eq. 5.2)
  KP_SPH_DRAG_WALL,          // the wall's own
  KP_SPH_DRAG_MORRIS         // mirrored at the wall (Morris et al. 1997)
} kp_sph_drag;

// How surface tension is computed, from what tells the normals.
typedef enum kp_sph_tension_kind {
  KP_SPH_TENSION_CENTROID,  // centroids of neighbours (Bayraktar 2010)
  KP_SPH_TENSION_COLOR,     // gradient of the colour
  KP_SPH_TENSION_MORRIS,    // the same by differences of colours (Morris 2000)
  KP_SPH_TENSION_MUELLER,   // Laplacian of the colour (Mueller et al. 2003)
  KP_SPH_TENSION_PAIRWISE   // cohesion of pairs (Akinci et al. 2013)
} kp_sph_tension_kind;

typedef struct kp_sph_def {
  uint32_t cookie;
  int solver;      // kp_sph_solver
  int kernel;      // kp_sph_kernel
  double support;  // radius of the kernel in particle spacings
  int integrator;  // kp_integrator
  int pressure;    // pair form: 0 mean (p_i + p_j) / (rho_i rho_j), 1 squared p/rho^2 + p/rho^2
  int viscosity_model;       // kp_sph_viscosity_model
  int density;               // 0 summation, 1 continuity
  double density_diffusion;  // delta of the continuity form, 0..1
  bool fused;                // one pass with last step's density (Bayraktar 2010, section 6.3.2)
  int wall;                  // kp_sph_wall
  int domain_walls;      // closed faces of the domain: 0 samples like other walls, 1 exact planes
  double slip;           // at walls of interface samples: 0 no-slip .. 1 free slip
  double wall_strength;  // Lennard-Jones: D / (g H); DEM: contact time in steps is chosen, this
                         // scales k
  double wall_distance;  // Lennard-Jones reach d0, DEM contact diameter, in spacings
  double wall_restitution;  // DEM, mirror
  double wall_friction;     // DEM, Coulomb
  double cfl;               // of c + |v|
  double shifting;          // factor of particle shifting; 0: none; KP_AUTO: the solver's
  // solver dfsph: mean errors to stay below, as shares of the rest density, and most iterations
  double density_error, divergence_error;             // the divergence: change over one step
  int64_t density_iterations, divergence_iterations;  // 0 divergence_iterations: no such solve
  bool warm_start;                                    // start from the pressures of the last step
  double viscosity_error;        // dfsph, central: residual of the solve over the forces
  int64_t viscosity_iterations;  // and most iterations of it
  // fractional viscosity (Ozgen 2013): the past velocities of a particle instead of its present one
  double fractional_order;      // q, 0 < q < 1
  int fractional_mode;          // kp_sph_fractional_mode
  int64_t fractional_steps;     // past steps remembered
  double fractional_seconds;    // s remembered, instead of steps; 0: steps
  int fractional_end;           // of the memory: 0 window, 1 interior
  bool fractional_hybrid;       // only where flows collide, plain viscosity elsewhere
  double fractional_threshold;  // of a collision, 0..1
  int wall_drag;                // kp_sph_drag
  double adhesion;              // gain of the attraction of walls, 0..1
  int adhesion_mode;            // 0 attract, 1 paper, 2 tension
  bool mark_touched;            // mark who has touched a wall: field "touched"
  int tension;                  // kp_sph_tension_kind: how a liquid's surface_tension is computed
  int tension_sign;             // 0 corrected, 1 as printed (drops explode)
  double wetting;               // samples of walls count so much as liquid for the surface, 0..1
  bool surface_particles;       // mark those at the surface: field "surface"
} kp_sph_def;

typedef enum kp_stf_birth { KP_STF_DISTANCE, KP_STF_CLAVET } kp_stf_birth;
typedef enum kp_stf_history {
  KP_STF_NO_HISTORY,
  KP_STF_MAGNITUDES,  // a sum of magnitudes (Ozgen 2013, Eq. 5.13)
  KP_STF_SUM          // the magnitude of a sum (Eq. 5.9)
} kp_stf_history;

// Settings of the shear-thickening fluid.
typedef struct kp_stf_def {
  uint32_t cookie;
  double support;              // H in spacings
  double sound_speed;          // m/s; KP_AUTO: 5 times the largest speed expected
  double near_ratio;           // k_near / k
  double linear_viscosity;     // sigma [1/s]
  double squared_viscosity;    // beta [1/m]
  double spring_stiffness;     // k_min [1/s^2], per mass
  double spring_reach;         // in H: closer pairs get a spring
  double spring_removal;       // in spring_reach: longer springs break
  double plasticity;           // alpha [1/s]
  double yield;                // gamma
  int birth;                   // kp_stf_birth: rest length of a new spring
  int history;                 // kp_stf_history
  double order;                // q
  double memory;               // s
  double thickening;           // added stiffness at reference_speed for the whole memory, in k_min
  double reference_speed;      // m/s
  double stick;                // of stiff fluid to walls, 0..1
  double body_friction;        // share of the sliding speed lost at bodies in a step
  double vibration_amplitude;  // m: sources that shake the floor; 0: still
  int64_t vibration_sources;   // along each side of the floor
  double vibration_lowest, vibration_highest;  // Hz
  double vibration_redraw;                     // s between draws of a frequency
  double vibration_start, vibration_stop;      // s
  double cfl;                                  // of H, for sound and flow
} kp_stf_def;

typedef enum kp_mps_weight { KP_MPS_WEIGHT_STANDARD, KP_MPS_WEIGHT_PRINTED } kp_mps_weight;
typedef enum kp_mps_gradient {
  KP_MPS_GRADIENT_MINIMUM,    // p_j - lowest p around i (Koshizuka & Oka 1996)
  KP_MPS_GRADIENT_PLAIN,      // p_j - p_i
  KP_MPS_GRADIENT_SYMMETRIC,  // p_j + p_i: keeps momentum
} kp_mps_gradient;
typedef enum kp_mps_source { KP_MPS_SOURCE_DENSITY, KP_MPS_SOURCE_MIXED } kp_mps_source;

// Settings shared by all MPS liquids of a world.
typedef struct kp_mps_def {
  uint32_t cookie;
  double radius;            // spacings: reach of number density and gradient
  double laplacian_radius;  // spacings: reach of viscosity and of the pressure matrix
  int weight;               // kp_mps_weight
  int gradient;             // kp_mps_gradient
  int source;               // kp_mps_source: right side of the pressure
  double relaxation;        // share of the density deviation that a step corrects
  double divergence;        // mixed: share of the divergence that a step corrects
  bool suction;             // too low a density is a source too
  double surface;           // beta: below this share of the rest number density is surface
  double compressibility;   // 1/Pa
  bool clamp_negative_pressure;
  double collision_distance;  // spacings
  double restitution;         // of particles closer than that
  double slip;                // at walls: 0 no-slip .. 1 free slip
  double cfl;                 // of |v|
  double tolerance;           // of the pressure solve, relative to the right side
  int64_t iterations;         // at most
} kp_mps_def;

// How a field of a grid is carried along (Selle 2008, chapter 2).
typedef enum kp_advect_scheme {
  KP_ADVECT_UPWIND,           // first order differences, CFL below 1
  KP_ADVECT_SEMI_LAGRANGIAN,  // one trace back
  KP_ADVECT_BFECC,            // three sweeps
  KP_ADVECT_MACCORMACK,       // two sweeps
  KP_ADVECT_BFECC_UPWIND,     // of upwind blocks, CFL below 1
  KP_ADVECT_MACCORMACK_UPWIND,
  KP_ADVECT_SCHEME_COUNT
} kp_advect_scheme;

// What is done with a second-order value outside the values it came from.
typedef enum kp_advect_limiter {
  KP_ADVECT_NO_LIMITER,
  KP_ADVECT_CLAMP,   // to the extremes of what the first sweep read
  KP_ADVECT_REVERT,  // to the first-order value
  KP_ADVECT_LIMITER_COUNT
} kp_advect_limiter;

typedef enum kp_advect_trace {
  KP_ADVECT_EULER,
  KP_ADVECT_RK2,
  KP_ADVECT_RK3,
  KP_ADVECT_TRACE_COUNT
} kp_advect_trace;

typedef enum kp_advect_interpolation {
  KP_ADVECT_LINEAR,
  KP_ADVECT_CUBIC,  // monotone
  KP_ADVECT_AUTO,   // cubic of the velocity of flat gases with maccormack, else linear
  KP_ADVECT_INTERPOLATION_COUNT
} kp_advect_interpolation;

typedef enum kp_poisson_solver {
  KP_POISSON_MULTIGRID,  // conjugate gradients with a V-cycle of multigrid
  KP_POISSON_CG,         // plain conjugate gradients
  KP_POISSON_JACOBI,     // with the diagonal
  KP_POISSON_IC,         // with incomplete Cholesky, level 0
  KP_POISSON_SOR,        // relaxation, cell by cell
  KP_POISSON_SOLVER_COUNT
} kp_poisson_solver;

// Settings shared by all grids of a world.
typedef struct kp_grid_def {
  uint32_t cookie;
  double cell;         // m, edge of a cell; KP_AUTO: a 64th of the longest side of the domain
  int advection;       // kp_advect_scheme
  int limiter;         // kp_advect_limiter
  int trace;           // kp_advect_trace
  int interpolation;   // kp_advect_interpolation
  int solver;          // kp_poisson_solver, of pressure and viscosity
  double tolerance;    // of the pressure, relative to the right side; KP_AUTO: 1e-6 of FLIP, else
                       // 1e-4
  int64_t iterations;  // of the solver at most
  double relaxation;   // of solver sor, 1..2
  double centering;    // share of the pressure taken at the end of a step, 0.5..1; KP_AUTO:
                       // 0.55 of gases, 0.5 of FLIP
  double cfl;          // cells the fastest point may cross in a step
  kp_vec3 stream;      // m/s: flows in and out through the open sides of the domain
  bool no_slip;        // fluid sticks to closed sides and solids
  kp_vec3 lid;         // m/s: the closed side opposite to gravity slides, with no_slip
  bool follow;         // loops follow what is active instead of running over the whole domain
} kp_grid_def;

// Where a level set takes its first values beside the surface from.
typedef enum kp_level_set_first {
  KP_LEVEL_SET_BY_SLOPE,      // the value over its slope: planes stay where they are
  KP_LEVEL_SET_BY_CROSSINGS,  // of the axes (Selle 2008): a baseline that moves tilted planes
  KP_LEVEL_SET_FIRST_COUNT
} kp_level_set_first;

// How the level set becomes a distance again.
typedef enum kp_level_set_distance {
  KP_LEVEL_SET_BAND,   // Jacobi passes in a band around the surface
  KP_LEVEL_SET_SWEEP,  // fast sweeping, everywhere
  KP_LEVEL_SET_MARCH,  // fast marching in the band, on the host: the reference
  KP_LEVEL_SET_DISTANCE_COUNT
} kp_level_set_distance;

// Advection of the velocity near the surface.
typedef enum kp_level_set_near {
  KP_LEVEL_SET_NEAR_SAME,   // as everywhere
  KP_LEVEL_SET_NEAR_FIRST,  // first order (Selle 2008, section 2.9): loses what was gained
  KP_LEVEL_SET_NEAR_COUNT
} kp_level_set_near;

// How the velocity goes on into the air.
typedef enum kp_level_set_extrapolation {
  KP_LEVEL_SET_IN_LAYERS,       // means of the faces around, layer by layer
  KP_LEVEL_SET_ALONG_DISTANCE,  // grad phi . grad u = 0, in the order of the distance
  KP_LEVEL_SET_EXTRAPOLATION_COUNT
} kp_level_set_extrapolation;

// Settings of water with a particle level set.
typedef struct kp_level_set_def {
  uint32_t cookie;
  int64_t particles;     // per cell near the surface; 0: none
  double particle_band;  // cells to either side of the surface that have them
  bool air_particles;    // in the air too, not only in the liquid
  int64_t reseed;        // sub-steps until they are drawn anew; 0: never
  bool show_particles;   // in frames
  int distance;          // kp_level_set_distance
  int start;             // kp_level_set_first
  int near_surface;      // kp_level_set_near
  double near_distance;  // cells that count as near
  int extrapolation;     // kp_level_set_extrapolation
  bool lets_go;          // solids do not hold water near its surface by suction
  double suction;        // Pa that they may pull with, with lets_go
  double volume;         // share of an error of the volume that a full step corrects
} kp_level_set_def;
typedef enum kp_flip_transfer {
  KP_FLIP_BLEND,  // changes of velocity and velocity, blended (Zhu & Bridson 2005)
  KP_FLIP_AFFINE  // velocity with its slopes (Jiang et al. 2015)
} kp_flip_transfer;

// Settings shared by all FLIP liquids of a world.
typedef struct kp_flip_def {
  uint32_t cookie;
  int transfer;             // kp_flip_transfer
  double ratio;             // blend: 1 changes alone, 0 PIC
  double volume;            // share of a volume error that a step corrects
  double volume_tolerance;  // of the solve for it, relative to its right side
  double band;              // cells below the surface that hold particles; 0: all of the liquid
  bool lets_go;             // solids do not hold water near its surface by suction
  double suction;           // Pa that they may pull with, with lets_go
} kp_flip_def;

typedef enum kp_marker_scheme {
  KP_MARKER_FOSTER_METAXAS,  // explicit, relaxation
  KP_MARKER_STABLE_FLUIDS,   // back-trace, implicit
  KP_MARKER_SCHEME_COUNT
} kp_marker_scheme;

typedef enum kp_marker_surface {
  KP_MARKER_CASES,        // by the number of open sides
  KP_MARKER_EXTRAPOLATE,  // as the pressure leaves them
  KP_MARKER_SURFACE_COUNT
} kp_marker_surface;

// Settings of liquids by marker cells.
typedef struct kp_marker_def {
  uint32_t cookie;
  int scheme;   // kp_marker_scheme
  int surface;  // kp_marker_surface: velocity of faces between surface and air
} kp_marker_def;

// Settings of rigid bodies in contact. Lengths are shares of the size of the smaller body.
typedef struct kp_rigid_def {
  uint32_t cookie;
  double step;               // s: longest step between two searches for contacts
  int64_t substeps;          // of the solver in a step of that length
  int64_t iterations;        // passes over the contacts per sub-step
  double contact_frequency;  // Hz: how fast overlaps are pushed out
  double contact_damping;    // ratio
  double push_speed;         // sizes/s: no overlap is pushed out faster
  double margin;             // sizes: contacts are made this early
  double bounce_speed;       // sizes/s: slower hits do not bounce
  double light_support;      // mass ratio above which heavy on light gets more sub-steps
  double domain_friction;    // of the closed faces of the domain
  double domain_restitution;
  bool continuous;  // what moves farther than it is thick is met on its way
} kp_rigid_def;

typedef enum kp_liquid_method {
  KP_LIQUID_SPH,
  KP_LIQUID_SPRINGS,
  KP_LIQUID_STF,
  KP_LIQUID_MPS,
  KP_LIQUID_LEVEL_SET,
  KP_LIQUID_FLIP,
  KP_LIQUID_MARKER
} kp_liquid_method;

typedef struct kp_liquid_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  int method;                   // kp_liquid_method
  kp_shape_def shape;           // filled at the start
  bool empty;                   // starts with nothing (filled by emitters)
  double spacing;               // m
  kp_vec3 velocity;             // m/s at the start
  kp_vec_lattice velocity_at;   // instead, where it depends on place
  double jitter;                // random shift of the lattice, in spacings
  double rest_density;          // kg/m^3
  double viscosity;             // Pa s (laplacian)
  double artificial_viscosity;  // alpha (artificial)
  double surface_tension;       // sigma [N/m]; 0: none
  double drag;                  // 1/s: a = -drag v, of the surroundings
  double concentration;         // C at the start, of what is mixed in
  double dispersion;            // D [m^2/s]: how fast concentrations even out
  double solute_density;        // kg/m^3 that concentration 1 adds to the rest density
  int eos;                      // 0 linear p = k (rho - rho0), 1 tait p = B ((rho/rho0)^gamma - 1)
  double exponent;              // gamma
  double stiffness;             // linear k [m^2/s^2], tait B [Pa]; KP_AUTO: from the sound speed
  double sound_speed;  // m/s; KP_AUTO: 10 times the largest speed expected from gravity and depth
  bool clamp_negative_pressure;  // no tension
  kp_vec3 color;                 // linear RGB for pictures
} kp_liquid_def;

typedef enum kp_springs_calibration {
  KP_SPRINGS_LAYERS,  // the springs carry the depth of the liquid
  KP_SPRINGS_PRINTED  // the numbers of Lyes 2015, Table 6.1
} kp_springs_calibration;

typedef enum kp_springs_walls {
  KP_SPRINGS_WALLS_PENALTY,
  KP_SPRINGS_WALLS_PLANES
} kp_springs_walls;

// Settings shared by all liquids of method springs.
typedef struct kp_springs_def {
  uint32_t cookie;
  int calibration;          // kp_springs_calibration: where what is not given comes from
  double stiffness;         // N/m of a contact; KP_AUTO: by calibration
  double compression;       // share of a diameter the lowest contact gives way
  double shear;             // N s/m against sliding; KP_AUTO: viscosity x diameter
  double damping;           // N s/m against relative motion; KP_AUTO: 0.05 of critical
  double drag;              // N s/m of the surroundings
  double diameter;          // spacings
  double tension;           // pull of spheres that have just parted, share of the stiffness
  double tension_reach;     // diameters
  double attraction;        // G of G m m / r^2 [N m^2/kg^2]
  double attraction_reach;  // diameters
  int walls;                // kp_springs_walls: closed faces of the domain
  double wall_stiffness;    // of walls, over that of a contact
  double slip;              // at solids: 0 rubs as spheres do .. 1 free slip
  int integrator;           // kp_integrator
  double cfl;               // share of the largest stable step
} kp_springs_def;

typedef enum kp_plasma_charges { KP_PLASMA_BALANCED, KP_PLASMA_EQUAL } kp_plasma_charges;
typedef enum kp_plasma_search {
  KP_PLASMA_COMPLETE,  // every pair within the influence radius
  KP_PLASMA_NEAR       // only those in the 27 cells around a charge, whatever the radius
} kp_plasma_search;

// Charges that attract and repel each other within an influence radius.
typedef struct kp_plasma_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_shape_def shape;  // where they start, spread at random
  int64_t particles;
  kp_vec3 velocity;            // m/s at the start
  kp_vec_lattice velocity_at;  // instead, where it depends on place
  double radius;               // m, of a particle: for the container and for pictures
  double mass;                 // kg
  double charge;               // C
  int charges;                 // kp_plasma_charges: half of each sign, or all positive
  double strength;             // k_e [N m^2/C^2]
  double softening;            // m, added to every distance; KP_AUTO: a tenth of the influence
  double influence;            // m: farther apart they do not act
  double cell;                 // m, edge of a search cell; KP_AUTO: the influence radius
  int search;                  // kp_plasma_search
  kp_vec3 container_center;    // m
  double container_radius;     // m, of the bounding sphere; 0: none
  double restitution;          // share of the normal speed kept there
  double damping;              // 1/s
  int integrator;              // kp_integrator
  double cfl;                  // share of the softening length per step
  kp_vec3 color;
} kp_plasma_def;

typedef enum kp_fire_kind { KP_FIRE_PARTICLES, KP_FIRE_VORTEX } kp_fire_kind;
typedef enum kp_fire_emitter {
  KP_FIRE_BALL,
  KP_FIRE_DISC,
  KP_FIRE_CLUSTERED_DISC,
  KP_FIRE_BLOCK,
  KP_FIRE_SPHERE  // the surface of the ball
} kp_fire_emitter;
typedef enum kp_fire_respawn { KP_FIRE_ALWAYS, KP_FIRE_NEVER } kp_fire_respawn;

typedef enum kp_vortex_gather {
  KP_VORTEX_LOCAL,   // those within reach
  KP_VORTEX_GLOBAL,  // all, one by one
  KP_VORTEX_IN_CELL  // all, by the stream function on the grid
} kp_vortex_gather;
typedef enum kp_vortex_stretching {
  KP_VORTEX_STRETCH_STANDARD,  // J w
  KP_VORTEX_STRETCH_TRANSPOSE  // J^T w
} kp_vortex_stretching;
typedef enum kp_vortex_advection { KP_VORTEX_EULER, KP_VORTEX_MIDPOINT } kp_vortex_advection;
typedef enum kp_vortex_grid { KP_VORTEX_FOLLOW, KP_VORTEX_GROW } kp_vortex_grid;
typedef enum kp_vortex_coloring { KP_VORTEX_DENSITY, KP_VORTEX_BIRTH } kp_vortex_coloring;

// Settings shared by all fires of vortex particles of a world.
typedef struct kp_vortex_fire_def {
  uint32_t cookie;
  double cell;    // m, of the velocity grid, twice the radius of a vorton; KP_AUTO: by the emitter
  double volume;  // m^3 of a vorton; KP_AUTO: that of a cell
  int gather;     // kp_vortex_gather: which vortons a sample of the grid feels
  double reach;   // cells: how far it feels locally
  double stretching;       // share of the stretching that is applied
  int scheme;              // kp_vortex_stretching
  double limit;            // 1/s, largest vorticity
  double exchange;         // 1/s, with each neighbour
  double exchange_radius;  // cells
  double lightness;        // share of the density of air that a vorton per cell takes away
  double rise_rate;        // 1/s, towards the velocity of the fire
  double shedding;         // 1/s, towards the vorticity that a solid asks for
  int advection;           // kp_vortex_advection
  int grid;                // kp_vortex_grid
  double grid_limit;       // cells per vorton at most
  int coloring;            // kp_vortex_coloring
  double bright;           // vortons per cell that shine as the core
  double cfl;              // cells the fastest crosses in a step
} kp_vortex_fire_def;

// Particles that are born at an emitter, rise, fade and die.
typedef struct kp_fire_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  int method;  // kp_fire_kind
  int64_t particles;
  int emitter;                          // kp_fire_emitter
  kp_curve position;                    // m, centre of the emitter
  double radius;                        // m, of a ball or disc
  kp_vec3 size;                         // m, of a block
  int respawn;                          // kp_fire_respawn: whether the dead are born again
  bool stagger;                         // at the start everybody is somewhere in life
  kp_vec3 velocity, velocity_spread;    // m/s of a newborn; random part to either side
  double burst;                         // m/s away from the centre, at the rim
  kp_vec3 acceleration;                 // m/s^2 all its life
  kp_vec3 acceleration_spread;          // random part, added
  double decay_center, decay_rim;       // share of a life lost per second [1/s]
  double life_spread;                   // random part of a life to either side
  double floor;                         // m: below this height they die; KP_AUTO: the domain's
  kp_curve wind;                        // m/s^2; 0 is calm
  double wind_period_a, wind_period_b;  // s, along the two axes across up
  double mass;                          // kg, for statistics
  int integrator;                       // kp_integrator
  double sprite_radius;                 // m, in pictures
  kp_vec3 color, color_spread;          // linear RGB at the centre; random part, added
  kp_vec3 color_rim;                    // linear RGB at the rim
} kp_fire_def;

// A gas on a grid that carries smoke, heat and fuel (Selle 2008, chapter 3).
typedef struct kp_smoke_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_shape_def shape;          // filled at the start
  bool empty;                  // starts with nothing (filled by sources)
  double density;              // of smoke in the shape at the start, in units of the scene
  double temperature;          // K in the shape at the start; KP_AUTO: that of the surroundings
  double fuel;                 // in the shape at the start, share of the volume
  kp_vec3 velocity;            // m/s at the start
  kp_vec_lattice velocity_at;  // instead, where it depends on place
  double air_density;          // kg/m^3
  double ambient;              // K of the surroundings
  double weight;               // alpha [m/s^2] downwards per unit of smoke
  double lift;                 // beta [m/s^2/K] upwards per kelvin above the surroundings
  double dissipation;          // 1/s: share of the smoke that vanishes
  double cooling;              // 1/s: share of the excess temperature that is lost
  double radiation;    // K/s lost at `hottest`, elsewhere with the fourth power of the excess
  double hottest;      // K at which radiation is said
  double viscosity;    // Pa s
  double confinement;  // eps of vorticity confinement
  double burn_rate;    // 1/s: fuel burnt per second where it is hot enough; 0: nothing burns
  double ignition;     // K above which fuel burns
  double heat;         // K gained per unit of fuel burnt
  double soot;         // smoke made per unit of fuel burnt
  double expansion;    // volume of the burnt over that of the fuel
  bool conserve;       // transport keeps the sums of smoke, heat and fuel
} kp_smoke_def;

// A region that feeds a gas. What is held is set to its value every step; rates add.
typedef struct kp_source_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char into[KP_TEXT_SIZE];  // the gas that is fed
  kp_shape_def shape;
  kp_curve position;          // m: moves the shape's origin
  kp_curve rotation_deg;      // of the shape about its origin
  char parent[KP_TEXT_SIZE];  // collider or free body that carries it along; empty: none
  double density;             // held; KP_AUTO: not
  double temperature;         // K, held; KP_AUTO: not
  double fuel;                // held; KP_AUTO: not
  double density_rate;        // 1/s
  double temperature_rate;    // K/s
  double fuel_rate;           // 1/s
  kp_vec3 velocity;           // m/s of the gas inside; 0: it moves as it does
  kp_curve divergence;        // 1/s: the gas inside swells
  double noise;               // random share of what is fed, 0..1
  double noise_scale;         // m; KP_AUTO: four cells
  double noise_time;          // s
  double start, stop;         // s
} kp_source_def;

typedef enum kp_vortices_forcing {
  KP_VORTICES_ANALYTIC,     // the confinement force of each particle (Selle 2008, variant B)
  KP_VORTICES_CONFINEMENT,  // particles say how strongly the grid's own vorticity is confined (A)
  KP_VORTICES_ATTENUATED,   // as analytic, less what the grid already has (C)
  KP_VORTICES_DIFFERENCE    // confinement of the difference between particles and grid (D)
} kp_vortices_forcing;
typedef enum kp_vortices_kernel {
  KP_VORTICES_GAUSSIAN,  // normalised, cut off at the radius
  KP_VORTICES_TENT,      // of height 1
  KP_VORTICES_UNIT_TENT  // of unit integral
} kp_vortices_kernel;
typedef enum kp_vortices_stretching {
  KP_VORTICES_PRESERVE,
  KP_VORTICES_FREE,
  KP_VORTICES_CLAMP,
  KP_VORTICES_DECREASE_ONLY
} kp_vortices_stretching;
typedef enum kp_vortices_rule {
  KP_VORTICES_RANDOM,
  KP_VORTICES_RING,     // around the middle of the shape
  KP_VORTICES_UPRIGHT,  // up or down
  KP_VORTICES_GRID      // along the vorticity of the grid
} kp_vortices_rule;
typedef enum kp_vortices_solids { KP_VORTICES_REMOVE, KP_VORTICES_PUSH } kp_vortices_solids;

// Vortex particles: they carry vorticity along with a flow and drive it (Selle 2008, section 3.4).
typedef struct kp_vortices_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char into[KP_TEXT_SIZE];  // the smoke, or liquid of method level_set, they live in
  kp_shape_def shape;       // where they are born
  double rate;              // 1/s
  int64_t limit;            // born at most
  double start, stop;       // s
  int rule;                 // kp_vortices_rule: where a newborn's axis points
  double threshold;         // 1/s of the grid's vorticity, for rule grid
  double magnitude;         // |w| of a newborn
  double radius;            // m; KP_AUTO: four cells
  double radius_spread;     // random part of it
  double strength;          // eps
  int kernel;               // kp_vortices_kernel
  int forcing;              // kp_vortices_forcing
  int stretching;           // kp_vortices_stretching
  double most;              // of stretching clamp, times |w| at birth
  int solids;               // kp_vortices_solids: what happens inside them
} kp_vortices_def;

typedef enum kp_grain_sizes { KP_GRAIN_SIZES_UNIFORM, KP_GRAIN_SIZES_MASS } kp_grain_sizes;

// A population of grains: spheres (discs in 2D) that touch, rub and roll.
typedef struct kp_grains_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_shape_def shape;          // filled at the start
  bool empty;                  // starts with nothing (filled by emitters)
  double spacing;              // m between centres at the start
  kp_vec3 velocity;            // m/s at the start
  kp_vec_lattice velocity_at;  // instead, where it depends on place
  kp_vec3 spin;                // rad/s at the start
  double jitter;               // shift of the lattice, in spacings; KP_AUTO: a random packing
  double radius;               // m, of the largest; KP_AUTO: half the spacing
  double size_ratio;           // smallest radius over the largest, 0..1
  int sizes;           // kp_grain_sizes: every radius as often, or with the same share of the mass
  double density;      // kg/m^3 of the grain itself
  bool frozen;         // stays where it is: a rough wall
  double restitution;  // 0..1, of the normal speed in a hit of two
  double friction;     // Coulomb coefficient
  double wall_friction;         // against solids; KP_AUTO: friction
  double rolling_friction;      // Coulomb coefficient of rolling
  double cohesion;              // J/m^2, surface energy: touching grains pull
  double stiffness;             // N/m, linear; KP_AUTO: from contact_time
  double contact_time;          // s of a hit of two of the largest; KP_AUTO: from speed and overlap
  double tangential_stiffness;  // over the normal one
  double damping_rate;          // 1/s: force over m* v_n; KP_AUTO: from restitution
  double tangential_damping;    // over the normal one
  double young_modulus;         // Pa, hertz
  double poisson_ratio;         // hertz
  kp_vec3 color;                // linear RGB for pictures
} kp_grains_def;

// Settings shared by all grains of a world.
typedef struct kp_dem_def {
  uint32_t cookie;
  int contact;               // 0 linear, 1 hertz
  bool attraction;           // the dashpot may pull at the end of a hit
  double steps_per_contact;  // time steps of the shortest hit
  double overlap;            // share of the radius that the hardest expected hit may press in
  double skin;               // rows are wider than contacts by this many smallest diameters
} kp_dem_def;

// ---- deformables

// How the nodes of a deformable are advanced in time (src/methods/deform/deform.md).
typedef enum kp_solid_scheme {
  KP_SCHEME_NEWMARK,         // the variant of Selle (2008, section 5.4), damping implicit
  KP_SCHEME_BACKWARD_EULER,  // one implicit step
  KP_SCHEME_EULER,           // explicit, the position moves with the old velocity
  KP_SCHEME_SYMPLECTIC,      // the velocity first, then the position
  KP_SCHEME_VELOCITY_VERLET,
  KP_SCHEME_POSITION_VERLET,  // velocities from positions; edges may be limited in length
  KP_SCHEME_KANG,             // implicit by one Jacobi step (Bayraktar 2010, Eq. 5.45)
  KP_SCHEME_DESBRUN,          // implicit, the same springs in all directions (Eq. 5.36)
  KP_SCHEME_PECE,             // predict, evaluate, correct, evaluate (Diethelm, Ford, Freed 2002)
  KP_SCHEME_COUNT
} kp_solid_scheme;

// When bodies rub against nodes.
typedef enum kp_body_friction {
  KP_FRICTION_AFTER,   // with the impulse of the implicit solve (Selle 2008, section 6.5)
  KP_FRICTION_BEFORE,  // before it (Bridson et al. 2003), a baseline that feels too little
} kp_body_friction;

// Of which bodies the triangles enter the continuous test of cloth and soft bodies.
typedef enum kp_body_triangles {
  KP_TRIANGLES_NONE,
  KP_TRIANGLES_LED,   // of still and scripted ones
  KP_TRIANGLES_ALL,   // of free ones too
  KP_TRIANGLES_AUTO,  // as all, where nodes keep a gap and nothing is rewound
} kp_body_triangles;

// How the systems of implicit steps of deformables are solved.
typedef enum kp_solids_solver {
  KP_SOLVER_AUTO,        // polynomial on a card where launches bound the sweeps, else sweeps
  KP_SOLVER_SWEEPS,      // conjugate gradients between Gauss-Seidel sweeps by colours
  KP_SOLVER_POLYNOMIAL,  // conjugate gradients with a polynomial of the matrix, in one launch
} kp_solids_solver;

// Settings of all deformables of a world: solids { }.
typedef struct kp_solids_def {
  uint32_t cookie;
  double dt;           // s, of an inner step; KP_AUTO: as long as the limits below allow
  int64_t inner;       // steps between two searches for collisions, k_i
  double strain_rate;  // largest change of a spring's strain in an inner step
  double cfl;          // of the single-spring limit; 0: none, where springs are implicit
  bool implicit;       // springs resist implicitly (section 5.5)
  double ahead;        // part of a step that implicit springs of Newmark's variant look ahead
  bool turns;          // stretched springs resist being turned implicitly too
  double tolerance;    // of the implicit solve, relative
  int64_t iterations;  // at most
  int solver;          // kp_solids_solver
  double repulsion;    // k of surfaces that come near [N/m]
  bool history;        // pairs remember their side
  int64_t attempts;    // passes over collisions before zones are made rigid
  bool contact;        // surfaces meet
  bool bodies;         // nodes meet bodies and the closed faces of the domain
  bool rewind;         // go back and halve the steps when something collides (Bridson 2002)
  double edge_share;   // thickness is at most this part of the shortest edge at a node
  int friction;        // kp_body_friction
  // m, that nodes keep from bodies; KP_AUTO: a fourth of the thickness where triangles of bodies
  // are met, none elsewhere
  double gap;
  int body_triangles;           // kp_body_triangles
  double domain_friction;       // Coulomb coefficient of the closed faces of the domain
  double particle_restitution;  // of nodes that meet as spheres (cloth.particle_radius)
  double particle_friction;
  // nodes are pushed from bodies before they meet: from this distance on [m], by so much per node
  double avoid;
  double avoid_stiffness;  // N/m
  double avoid_damping;    // N s/m, against coming nearer
  // of colliders that change their form (morphs): distances to them are made so often, on a grid
  double key_rate;    // 1/s
  int64_t key_cells;  // along the longest side of their box
} kp_solids_def;

typedef enum kp_cloth_pattern { KP_CLOTH_HERRING_BONE, KP_CLOTH_REGULAR } kp_cloth_pattern;
typedef enum kp_cloth_model {
  KP_CLOTH_ELASTIC,  // a material: triangles of constant strain, and angles at their edges
  KP_CLOTH_EDGES,    // springs along edges and across them (Selle 2008, section 5.3.3)
  KP_CLOTH_GRID,  // structural, shear and bending springs of a grid (Bayraktar 2010, section 4.1)
} kp_cloth_model;

typedef struct kp_cloth_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  double width, height;        // m, along x and z before it is turned; its middle is the origin
  int64_t columns, rows;       // cells
  int pattern;                 // kp_cloth_pattern
  char mesh[KP_TEXT_SIZE];     // a file of triangles in place of the rectangle
  kp_vec3 position;            // m, of the middle
  kp_vec3 rotation_deg;        // about x, y, z
  kp_vec3 velocity;            // m/s
  kp_vec_lattice velocity_at;  // instead, where it depends on place
  double density;              // kg/m^2
  int model;                   // kp_cloth_model
  // N/m: of a material its modulus against stretching, Young's modulus times thickness; of springs
  // the force per width and strain. KP_AUTO: by young of a material, 2000 of springs
  double stiffness;
  double poisson;           // of a material
  double bending;           // N m: of a material, moment per width and curvature; KP_AUTO: by young
  double young;             // Pa, of a material
  double fabric_thickness;  // m, that young acts on
  double compression;       // of springs, compressed; KP_AUTO: as stiffness
  double damping;           // share of the critical one
  double shear;             // stiffness of the diagonals of a grid; KP_AUTO: as stiffness
  double bend_stiffness;    // N per metre and unit strain of springs across edges; KP_AUTO: 20
  double hinge;             // N m: against a change of the angle at edges
  double axial;             // N per metre and unit strain: altitude springs of edges
  double axial_floor;       // share of the height of triangles that strain is taken of at least
  kp_curve strength;        // factor of all stiffness
  double bend_damping;
  bool bend_diagonals;      // springs to second neighbours along diagonals too (Choi, Ko 2002)
  bool tube;                // the width is closed to a ring: a skirt, a sleeve
  double flare;             // width of the lower end over that of the upper one
  double parabola;          // 1/m: bent along y = parabola z^2; 0: flat
  int64_t layers;           // 1, or 3: knitwear (Bayraktar 2010, section 4.2)
  double gap;               // m, between layers
  double volume_stiffness;  // N/m of the springs between layers
  bool yarn;                // draw the yarn of the stitches, as curves
  double yarn_radius;       // m
  int64_t yarn_plies;       // threads that a yarn is twisted of
  double yarn_pitch;        // m: length of one turn of them
  double particle_radius;   // m: nodes meet as spheres; 0: they do not
  double thickness;         // m: how near surfaces may come before they repel
  double friction;          // of cloth on cloth
  bool self;                // meets itself
  double drag;              // N s/m^3 against the wind, along the normal
  double viscosity;         // 1/s: share of the momentum lost
  int scheme;               // kp_solid_scheme
  kp_vec3 color;
} kp_cloth_def;

// Air that moves, against the surfaces of deformables that have a drag.
typedef struct kp_wind_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_curve velocity;   // m/s
  double inward;       // m/s, towards the axis
  double swirl;        // rad/s, about the axis
  kp_vec3 center;      // m, a point of the axis
  kp_vec3 axis;        // any length
  double from, until;  // m along the axis from the centre: none before, all beyond; equal: all
  double radius;       // m, of a Gaussian around the axis; 0: everywhere
} kp_wind_def;

typedef enum kp_soft_model {
  KP_SOFT_ELASTIC,     // a material: stable neo-Hookean (Smith, de Goes and Kim 2018)
  KP_SOFT_ALTITUDE,    // springs along edges and shortest altitudes (Selle 2008, section 5.3.4)
  KP_SOFT_POINT_FACE,  // along edges and all altitudes from corners to faces: a baseline
  KP_SOFT_SPRINGS,     // along edges alone: a baseline
  KP_SOFT_EDGES,       // of the surface, and from every vertex to the middle (Bayraktar 2010)
} kp_soft_model;

typedef struct kp_soft_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_shape_def shape;
  char tets[KP_TEXT_SIZE];     // a file of tetrahedra in place of the shape
  double spacing;              // m, of the lattice a shape is filled with
  double grade;                // width its cells gain per depth
  kp_vec3 position;            // m: moves the shape
  kp_vec3 rotation_deg;        // about x, y, z of its origin, before
  kp_vec3 velocity;            // m/s
  kp_vec_lattice velocity_at;  // instead, where it depends on place
  kp_vec3 spin;                // rad/s, about the centre of mass
  double density;              // kg/m^3
  int model;                   // kp_soft_model
  double young;                // Pa, elastic
  double poisson;              // elastic
  double stiffness;            // N per unit strain: springs along edges
  double altitude;             // N per unit strain: along altitudes; KP_AUTO: as stiffness
  double center;               // N per unit strain: to the middle; KP_AUTO: as stiffness
  double damping;              // share of the critical one
  kp_curve strength;           // factor of all stiffness
  double thickness;            // m: how near surfaces may come before they repel
  double friction;             // of soft bodies and cloth on each other
  bool self;                   // meets itself
  double drag;                 // N s/m^3 against the wind, along the normal
  double viscosity;            // 1/s: share of the momentum lost
  int scheme;                  // kp_solid_scheme
  kp_vec3 color;
} kp_soft_def;

// Nodes that are held, or led along curves.
typedef struct kp_pin_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char of[KP_TEXT_SIZE];  // the deformable; empty: any
  kp_shape_def shape;     // nodes in it at the start
  kp_curve position;      // m: how far they have moved
  kp_curve rotation_deg;  // about the pivot
  kp_vec3 pivot;          // m
  double start, stop;     // s: before and after they are free; stop KP_AUTO: held for ever
  kp_vec3 free;           // axes with 1 are not held
} kp_pin_def;

typedef enum kp_hair_limit_kind {
  KP_HAIR_LIMIT_NONE,
  KP_HAIR_LIMIT_BIASED,    // from root to tip, exact
  KP_HAIR_LIMIT_MOMENTUM,  // impulses between neighbours, a baseline
} kp_hair_limit_kind;

typedef struct kp_hair_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char on[KP_TEXT_SIZE];           // the collider or body it grows on; empty: a disc of roots
  kp_shape_def scalp;              // part of that surface where it grows; none: all of it
  double fade;                     // m: it grows denser inwards from the scalp's border
  kp_vec3 root;                    // m: middle of the disc
  kp_vec3 direction;               // in which it grows there
  double spread;                   // m: radius of the disc
  bool rooted;                     // the first nodes are led
  int64_t count;                   // hairs; 0: every guide is one
  int64_t segments;                // of every hair
  char guides[KP_TEXT_SIZE];       // a file of curves
  double length;                   // m
  double curl_radius, curl_pitch;  // m, of helical curls
  double wave, wave_length;        // m, of plane waves
  kp_vec3 fall;                    // where hairs turn to
  double droop;                    // m: over which length
  double lift;                     // m: distance from the surface at the start
  double roughness;                // random share of directions, lengths and curls
  int64_t seed;
  double straight_deg;  // segments that turn less get an extra node
  bool twist;           // off: no extra nodes
  double density;       // kg/m
  double young;         // Pa, of the material of a hair
  double poisson;       // of it, for its stiffness against twist
  double fibre_radius;  // m, of the round section these act on
  // N: constants of its springs; KP_AUTO: from the material, the section and the segment's length
  double edge_stiffness, bend_stiffness, torsion_stiffness, altitude_stiffness;
  double damping;                            // share of the critical one
  int limit;                                 // kp_hair_limit_kind
  double thickness;                          // m: how near hairs may come before they repel
  double friction;                           // of hair on hair
  bool self;                                 // its hairs meet each other
  double stiction;                           // N: of springs between hairs that touch; 0: none
  double stiction_distance, stiction_break;  // m: where they are made, and broken
  double stiction_damping;                   // share of the critical one
  int64_t stiction_links;                    // per segment at most
  double viscosity;                          // 1/s: share of the momentum lost
  kp_vec3 velocity;                          // m/s at the start, of nodes that are not led
  kp_vec_lattice velocity_at;                // instead, where it depends on place
  int scheme;                                // kp_solid_scheme
  double radius;                             // m, in pictures
  kp_vec3 color;
} kp_hair_def;

// How much of the past counts.
typedef enum kp_memory_window {
  KP_WINDOW_SECONDS,
  KP_WINDOW_STEPS,
  KP_WINDOW_FULL,
  KP_WINDOW_COUNT
} kp_memory_window;

// Water around a deformable that is not simulated (Ozgen 2013, chapter 3): immersion "name" { }.
typedef struct kp_immersion_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char of[KP_TEXT_SIZE];  // the deformable
  double water_density;   // kg/m^3
  double fibre_density;   // kg/m^3: what the cloth is made of
  double added_mass;      // share of the displaced water that moves along
  double drag;            // N s/m^3 of surface, along the velocity
  double memory_drag;     // N s^q/m^3, along the velocity, of the derivative of order q
  double damping;         // N s^q/m of structural springs, of that derivative
  double damping_shear, damping_bend;
  double order;      // q; 1: the velocity itself
  int window;        // kp_memory_window
  double memory;     // s
  int64_t samples;   // of the memory in seconds
  int64_t steps;     // of the memory in steps
  bool interior;     // the oldest sample counts as if older ones followed
  bool unit;         // weights are divided by their sum
  bool clamp;        // the drag never pushes
  kp_curve current;  // m/s
} kp_immersion_def;

typedef enum kp_limit_method { KP_LIMIT_DIRECT, KP_LIMIT_PROVOT, KP_LIMIT_COUNT } kp_limit_method;
typedef enum kp_limit_down { KP_DOWN_GRAVITY, KP_DOWN_DISTANCE, KP_DOWN_COUNT } kp_limit_down;

// Which edges of a node come first: horizontal, vertical, shear.
typedef enum kp_list_order {
  KP_LIST_HVS,
  KP_LIST_HSV,
  KP_LIST_VHS,
  KP_LIST_VSH,
  KP_LIST_SHV,
  KP_LIST_SVH,
  KP_LIST_ORDER_COUNT
} kp_list_order;

// A limit on the length of edges (Ozgen 2013, chapter 6): limit "name" { }.
typedef struct kp_limit_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char of[KP_TEXT_SIZE];  // the deformable
  int method;             // kp_limit_method
  double tolerance;       // share of its length an edge may be longer
  bool two_sided;         // too short ones are corrected as well
  int64_t passes;         // of Provot's correction
  int64_t seams;          // passes over the edges that a list leaves out
  int walk;               // how the list is made: 0 layered, 1 literal
  int order;              // kp_list_order
  int down;               // kp_limit_down
  int64_t visits;         // how often a node may be moved in a pass
  double compensation;    // share of a correction that the node it came from feels
  kp_shape_def shape;     // nodes in it are fixed too, beside pinned ones
  bool slides;            // these start lists, but edges from pinned nodes move them
  double fastest;         // m/s that a correction of a list moves a node; 0: any
  kp_curve when;          // of the maps of one deformable, that with the highest value is used
  double touched;  // share of the shape's nodes that has to touch bodies; 0: whatever they do
  // share by which the nodes that are held or touch bodies may differ from those the list starts
  // from before it is made anew; 0: never
  double rebuild;
  int64_t patience;  // steps that a node or a list touches, or no longer does, before it counts
} kp_limit_def;

typedef struct kp_collider_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_shape_def shape;
  kp_curve position;      // m: moves the shape's origin
  kp_curve rotation_deg;  // turns about x, y, z of the shape's origin
  // m/s, in the axes of the shape: its surface slides without moving (a lid, a conveyor belt)
  kp_curve surface_velocity;
  double spacing;           // m between samples; KP_AUTO: that of the finest liquid
  int64_t layers;           // of samples, going inward
  double friction;          // Coulomb coefficient; a pair takes the geometric mean
  kp_curve friction_scale;  // factor of it
  double restitution;       // share of the normal speed kept; a pair takes the larger
  double rolling_friction;  // m: arm of the normal force that resists rolling; the larger counts
  bool visible;             // drawn in pictures
  kp_vec3 color;
} kp_collider_def;

// A form that a collider takes on by some weight: a blend shape. Deformables meet what it has
// become, and hair that grows on it follows.
typedef struct kp_morph_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char of[KP_TEXT_SIZE];  // the collider
  kp_shape_def shape;     // with the same triangles
  kp_curve weight;        // 0: the form at rest, 1: this one; weights of several add
} kp_morph_def;

typedef struct kp_body_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_shape_def shape;
  double density;            // kg/m^3
  kp_vec3 position;          // m, added to the shape
  kp_vec3 rotation_deg;      // turns about x, y, z of the shape's origin at the start
  kp_vec3 velocity;          // m/s, of the centre of mass
  kp_vec3 angular_velocity;  // rad/s
  double spacing;            // as of a collider
  int64_t layers;
  double friction;  // as of a collider
  double restitution;
  double rolling_friction;
  bool visible;
  kp_vec3 color;
} kp_body_def;

typedef enum kp_emitter_from {  // where the particles of an emitter come from
  KP_EMITTER_OPENING,           // a disc or rectangle across the direction
  KP_EMITTER_SURFACE,           // of the shape, along its normals
  KP_EMITTER_INSIDE             // of the shape, wherever it has room
} kp_emitter_from;

typedef struct kp_emitter_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char into[KP_TEXT_SIZE];    // the liquid that is fed
  int from;                   // kp_emitter_from
  kp_shape_def shape;         // of surface and inside
  kp_curve position;          // m: centre of the opening, shift of the shape
  kp_curve rotation_deg;      // of the opening about its centre, of the shape about its origin
  char parent[KP_TEXT_SIZE];  // collider or free body that carries it along; empty: none
  kp_vec3 direction;          // of the jet
  double radius;              // m
  double width, height;       // m, of a rectangle in place of the disc; 0: a disc
  bool only_free;             // particles whose place is taken are left out
  kp_curve speed;             // m/s, of what comes out
  double start, stop;         // s
  int64_t limit;              // particles at most
} kp_emitter_def;

typedef struct kp_sink_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_shape_def shape;         // particles inside are removed
  kp_curve position;          // m: shift of the shape
  kp_curve rotation_deg;      // of the shape about its origin
  char parent[KP_TEXT_SIZE];  // collider or free body that carries it along; empty: none
} kp_sink_def;

typedef struct kp_force_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  kp_shape_def shape;     // box or sphere it acts in; none: everywhere
  kp_curve acceleration;  // m/s^2
  char on[KP_TEXT_SIZE];  // the population or free body it acts on; empty: all of them
  double start, stop;     // s
} kp_force_def;

typedef struct kp_probe_def {
  uint32_t cookie;
  char name[KP_TEXT_SIZE];
  char of[KP_TEXT_SIZE];  // the population it looks at, or a body (track)
  int kind;               // 0 mean of regions, 1 fit at points, 2 track, 3 gauge of the surface,
                          // 4 patch of a wall
  kp_vec3 min, max;       // centres of the first and the last region
  kp_vec3 counts;         // regions along x, y, z
  int reading;            // of a gauge: 0 wetted length of the column, 1 highest surface in it
  double radius;          // m, of a region; KP_AUTO: neighbours touch
  int64_t particle;       // track: id of a particle; -1: the mean of all
  int64_t every;          // steps between two looks
  double interval;        // s between two looks instead; KP_AUTO: by steps
} kp_probe_def;

typedef struct kp_output_def {
  uint32_t cookie;
  int64_t frames;
  double fps;                // 1/s
  int64_t checkpoint_every;  // frames; 0: chosen so that it costs less than 5 % of the run
} kp_output_def;

KP_API kp_domain_def kp_default_domain_def(void);
KP_API kp_simulation_def kp_default_simulation_def(void);
KP_API kp_sph_def kp_default_sph_def(void);
KP_API kp_stf_def kp_default_stf_def(void);
KP_API kp_mps_def kp_default_mps_def(void);
KP_API kp_grid_def kp_default_grid_def(void);
KP_API kp_level_set_def kp_default_level_set_def(void);
KP_API kp_flip_def kp_default_flip_def(void);
KP_API kp_marker_def kp_default_marker_def(void);
KP_API kp_liquid_def kp_default_liquid_def(void);
KP_API kp_springs_def kp_default_springs_def(void);
KP_API kp_plasma_def kp_default_plasma_def(void);
KP_API kp_fire_def kp_default_fire_def(void);
KP_API kp_vortex_fire_def kp_default_vortex_fire_def(void);
KP_API kp_smoke_def kp_default_smoke_def(void);
KP_API kp_source_def kp_default_source_def(void);
KP_API kp_vortices_def kp_default_vortices_def(void);
KP_API kp_grains_def kp_default_grains_def(void);
KP_API kp_dem_def kp_default_dem_def(void);
KP_API kp_rigid_def kp_default_rigid_def(void);
KP_API kp_solids_def kp_default_solids_def(void);
KP_API kp_cloth_def kp_default_cloth_def(void);
KP_API kp_soft_def kp_default_soft_def(void);
KP_API kp_hair_def kp_default_hair_def(void);
KP_API kp_pin_def kp_default_pin_def(void);
KP_API kp_wind_def kp_default_wind_def(void);
KP_API kp_immersion_def kp_default_immersion_def(void);
KP_API kp_limit_def kp_default_limit_def(void);
KP_API kp_collider_def kp_default_collider_def(void);
KP_API kp_morph_def kp_default_morph_def(void);
KP_API kp_body_def kp_default_body_def(void);
KP_API kp_emitter_def kp_default_emitter_def(void);
KP_API kp_sink_def kp_default_sink_def(void);
KP_API kp_force_def kp_default_force_def(void);
KP_API kp_probe_def kp_default_probe_def(void);
KP_API kp_output_def kp_default_output_def(void);

// A curve that holds still.
KP_API kp_curve kp_curve_constant(double value);
KP_API kp_curve kp_curve_constant3(kp_vec3 value);

#ifdef __cplusplus
}
#endif
