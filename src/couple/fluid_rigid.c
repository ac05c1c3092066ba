#include "couple/fluid_rigid.h"

static kp_result exchange(void *self, kp_env *env) {
  (void)self;
  return kp_interface_gather(env->movers, env->bodies);
}

const kp_method kp_fluid_rigid = {
  .longest_step = KP_ANY_STEP,
  .name = "fluid-rigid",
  .text = "Forces of fluids on the samples of bodies, summed to their owners.",
  .stages = { [KP_STAGE_SOLVE] = exchange },
};
