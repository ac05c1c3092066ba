// Parameter table of marker { }: settings of liquids by marker cells.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_marker_params;

static const char *const scheme_words[] = { "foster_metaxas", "stable_fluids", NULL };
static const char *const surface_words[] = { "cases", "extrapolate", NULL };

static const kp_param rows[] = {
  KP_PARAM_WORDS(kp_marker_def, scheme, scheme_words,
                 "foster_metaxas: upwind advection and viscosity explicit, pressure by relaxation; "
                 "stable_fluids: back-trace, implicit viscosity, the solver of grid { }."),
  KP_PARAM_WORDS(kp_marker_def, surface, surface_words,
                 "Velocity of faces between surface and air: by the number of open sides, or as "
                 "the pressure leaves them."),
};

static void set_default(void *def) {
  *(kp_marker_def *)def = kp_default_marker_def();
}

const kp_param_table kp_marker_params = {
  "marker",
  "Liquids by marker cells (baselines): settings of liquids of that method.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_marker_def),
  set_default,
};
