#include "couple/fluid_grains_kernels.h"
#include "data/cells_kernels.h"
#include "data/data_kernels.h"
#include "data/ghosts_kernels.h"
#include "data/history_kernels.h"
#include "data/interface_kernels.h"
#include "data/mac_kernels.h"
#include "data/pair_lists_kernels.h"
#include "data/pair_rows_kernels.h"
#include "data/probe_kernels.h"
#include "geom/grid_surface_kernels.h"
#include "geom/level_set_kernels.h"
#include "geom/marching_kernels.h"
#include "geom/mesh_smooth_kernels.h"
#include "geom/surface_kernels.h"
#include "linalg/multigrid_kernels.h"
#include "linalg/pockets_kernels.h"
#include "linalg/poisson_kernels.h"
#include "linalg/stream_kernels.h"
#include "linalg/vector_kernels.h"
#include "methods/common/advect_kernels.h"
#include "methods/common/contact_kernels.h"
#include "methods/common/flame_kernels.h"
#include "methods/common/flow_kernels.h"
#include "methods/common/force_field_kernels.h"
#include "methods/common/grid_solids_kernels.h"
#include "methods/common/grid_source_kernels.h"
#include "methods/common/integrate_kernels.h"
#include "methods/common/medium_kernels.h"
#include "methods/common/release_kernels.h"
#include "methods/common/thrust_kernels.h"
#include "methods/common/viscous_kernels.h"
#include "methods/common/vortex_particles_kernels.h"
#include "methods/common/vorticity_kernels.h"
#include "methods/deform/deform_bodies_kernels.h"
#include "methods/deform/deform_kernels.h"
#include "methods/deform/deform_levels_kernels.h"
#include "methods/deform/deform_membrane_kernels.h"
#include "methods/deform/deform_poly_kernels.h"
#include "methods/deform/deform_steps_kernels.h"
#include "methods/deform/deform_sweep_kernels.h"
#include "methods/deform/deform_tets_kernels.h"
#include "methods/deform/fabric_kernels.h"
#include "methods/deform/hair_kernels.h"
#include "methods/fire/fire_kernels.h"
#include "methods/flip/flip_band_kernels.h"
#include "methods/flip/flip_crowd_kernels.h"
#include "methods/flip/flip_kernels.h"
#include "methods/grains/grains_kernels.h"
#include "methods/level_set/pls_kernels.h"
#include "methods/marker/marker_kernels.h"
#include "methods/mps/mps_kernels.h"
#include "methods/plasma/plasma_kernels.h"
#include "methods/smoke/smoke_kernels.h"
#include "methods/sph/sph_adhesion_kernels.h"
#include "methods/sph/sph_confined_kernels.h"
#include "methods/sph/sph_fractional_kernels.h"
#include "methods/sph/sph_implicit_kernels.h"
#include "methods/sph/sph_kernels.h"
#include "methods/sph/sph_mix_kernels.h"
#include "methods/sph/sph_shift_kernels.h"
#include "methods/sph/sph_tension_kernels.h"
#include "methods/sph/sph_viscous_kernels.h"
#include "methods/springs/springs_kernels.h"
#include "methods/stf/stf_kernels.h"
#include "methods/vortex_fire/vortex_fire_kernels.h"
#include "par/kernel_define.h"
#include "render/cast_kernels.h"
#include "render/live_kernels.h"
#include "render/ray_kernels.h"
#include "render/yarn_kernels.h"

#include "bench/kernels.h"

#define KERNELS(POINT, REDUCE, ROW, PAIR)                                                          \
  DATA_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  CELLS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                          \
  LISTS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                          \
  ROWS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  GRAINS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  SOAK_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  PROBE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                          \
  GHOSTS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  HISTORY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  MAC_KERNELS(POINT, REDUCE, ROW, PAIR)                                                            \
  FLOW_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  RELEASE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  THRUST_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  LEVEL_SET_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  PLS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                            \
  MARKER_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  ADVECT_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  SOURCE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  VORTICITY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  VORTEX_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  SMOKE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                          \
  VISCOUS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  SOLID_KERNELS(POINT, REDUCE, ROW, PAIR)                                                          \
  INTERFACE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  POISSON_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  POCKETS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  MULTIGRID_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  STREAM_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  VECTOR_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  FORCE_FIELD_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  INTEGRATE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  MEDIUM_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  FLIP_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  FLIP_BAND_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  CROWD_KERNELS(POINT, REDUCE, ROW, PAIR)                                                          \
  MPS_POINT_KERNELS(POINT)                                                                         \
  MPS_PAIR_KERNELS(PAIR)                                                                           \
  SPRINGS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  STF_KERNELS(POINT, REDUCE, ROW, PAIR)                                                            \
  PLASMA_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  FLAME_KERNELS(POINT, REDUCE, ROW, PAIR)                                                          \
  VORTON_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  FIRE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  DEFORM_BODIES_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  FABRIC_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  DEFORM_KERNELS(POINT, REDUCE, ROW, PAIR)                                                         \
  DEFORM_LEVELS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  DEFORM_MEMBRANE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  DEFORM_STEPS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  DEFORM_POLY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  DEFORM_SWEEP_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  CONTACT_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  DEFORM_TETS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  HAIR_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  SPH_SHIFT_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  SPH_POINT_KERNELS(POINT, REDUCE)                                                                 \
  SPH_PAIR_KERNELS(PAIR)                                                                           \
  SPH_IMPLICIT_KERNELS(POINT, REDUCE)                                                              \
  SPH_VISCOUS_KERNELS(POINT)                                                                       \
  SPH_CONFINED_KERNELS(POINT, REDUCE)                                                              \
  SPH_ADHESION_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  SPH_MIX_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  SPH_TENSION_POINT_KERNELS(POINT)                                                                 \
  SPH_TENSION_PAIR_KERNELS(PAIR)                                                                   \
  SPH_FRACTIONAL_KERNELS(POINT, REDUCE, ROW, PAIR)                                                 \
  SURFACE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                        \
  MARCHING_KERNELS(POINT, REDUCE, ROW, PAIR)                                                       \
  MESH_SMOOTH_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  GRID_SURFACE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  CAST_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  LIVE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                           \
  RAY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                            \
  YARN_KERNELS(POINT, REDUCE, ROW, PAIR)

KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)
DEFORM_POLY_TEAM_KERNELS(KP_DECLARE_TEAM)

#define ENTRY(mod, name) &mod##_##name##_kernel,
#define ENTRY_MORE(mod, name, ...) &mod##_##name##_kernel,

const kp_kernel *const kp_kernel_list[] = { KERNELS(ENTRY, ENTRY_MORE, ENTRY, ENTRY_MORE)
                                                DEFORM_POLY_TEAM_KERNELS(ENTRY) };
const size_t kp_n_kernels = sizeof kp_kernel_list / sizeof kp_kernel_list[0];
