// What walls do beside keeping particles out: adhesion, drag of a chosen kind, the mark of a touch.
// And the drag of the surroundings.
#include <math.h>

#include "data/call.h"
#include "methods/sph/sph.h"
#include "methods/sph/sph_adhesion_kernels.h"
#include "par/kernel_define.h"

#define LEAST_DENSITY 0.1  // of the rest density, before it divides
#define TOUCH 1.2          // spacings from a sample; particles rest at one

SPH_ADHESION_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// ---- set-up -------------------------------------------------------------------------------------

kp_result kp_sph_adhesion_setup(kp_sph *sph, kp_sph_fluid *fluid) {
  kp_space *space = fluid->medium.set->space;
  const kp_field_desc cling = { "cling", KP_TYPE_REAL, 1, "", 0, 0.0 };
  const kp_field_desc touched = { "touched", KP_TYPE_U8, 1, "", KP_FIELD_STATE | KP_FIELD_EXPORT,
                                  0.0 };
  if (sph->def.adhesion > 0.0) {
    KP_TRY(kp_space_add_field(space, &cling, &fluid->cling));
  }
  return sph->def.mark_touched ? kp_space_add_field(space, &touched, &fluid->touched) : KP_OK;
}

kp_result kp_sph_adhesion_setup_wall(kp_sph *sph, kp_sph_wall_fields *wall) {
  kp_space *space = wall->interface->set->space;
  const kp_field_desc cling = { "cling", KP_TYPE_REAL, 1, "", 0, 0.0 };
  const kp_field_desc velocity = { "fluid_velocity", KP_TYPE_REAL, 3, "m/s", 0, 0.0 };
  if (sph->def.adhesion > 0.0) {
    KP_TRY(kp_space_add_field(space, &cling, &wall->cling));
  }
  bool interpolated = sph->def.wall_drag == KP_SPH_DRAG_INTERPOLATED;
  return interpolated ? kp_space_add_field(space, &velocity, &wall->velocity) : KP_OK;
}

// ---- adhesion -----------------------------------------------------------------------------------

static kp_result evaluate_cling(kp_sph_fluid *fluid, kp_field *density, kp_field *cling) {
  const kp_liquid_def *def = &fluid->def;
  sph_cling_args a = { .state = { .rest_density = (kp_real)def->rest_density,
                                  .stiffness = (kp_real)fluid->stiffness,
                                  .exponent = (kp_real)def->exponent,
                                  .tait = def->eos == 1,
                                  .whole = def->exponent == 7.0 ? 7 : 0 },
                       .floor = (kp_real)(LEAST_DENSITY * def->rest_density) };
  kp_call call;
  kp_call_init(&call, &sph_cling_kernel, &a);
  KP_BIND(&call, &a, density, &density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, cling, &cling->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(fluid->medium.set->space->backend, &call, density->space->n);
}

kp_result kp_sph_adhesion_prepare(kp_sph *sph) {
  kp_sph_fluid *stiffest = (kp_sph_fluid *)kp_sph_stiffest(sph);
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    KP_TRY(evaluate_cling(fluid, fluid->density, fluid->cling));
  }
  for (int w = 0; w < 2; ++w) {
    kp_sph_wall_fields *wall = &sph->walls[w];
    if (wall->cells != NULL) {
      KP_TRY(evaluate_cling(stiffest, wall->density, wall->cling));
    }
  }
  return KP_OK;
}

static sph_adhesion_law law_of(const kp_sph *sph, const kp_sph_fluid *fluid) {
  double ratio = kp_sph_stiffest(sph)->def.rest_density / fluid->def.rest_density;
  return (sph_adhesion_law){
    .g = kp_smooth_make(KP_SMOOTH_SPIKY, sph->support, fluid->medium.set->dimension),
    .strength = (kp_real)(sph->def.adhesion * fluid->def.rest_density),
    .p_wall = (kp_real)(ratio * ratio),
    .mode = sph->def.adhesion_mode,
  };
}

static kp_result adhere(kp_sph *sph, kp_sph_fluid *fluid, kp_sph_wall_fields *wall) {
  sph_adhesion_args a = { .law = law_of(sph, fluid) };
  kp_call call;
  kp_call_init(&call, &sph_adhesion_kernel, &a);
  KP_BIND(&call, &a, cling, &fluid->cling->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_cling, &wall->cling->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_volume, &wall->interface->volume->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, wall->cells);
}

static kp_result adhere_back(kp_sph *sph, kp_sph_fluid *fluid, kp_sph_wall_fields *wall) {
  sph_adhesion_react_args a = { .law = law_of(sph, fluid), .mass = (kp_real)fluid->medium.mass };
  kp_call call;
  kp_call_init(&call, &sph_adhesion_react_kernel, &a);
  KP_BIND(&call, &a, cling, &wall->cling->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, volume, &wall->interface->volume->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_cling, &fluid->cling->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, wall->interface->force, KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, wall->cells, fluid->medium.cells);
}

// ---- drag of walls ------------------------------------------------------------------------------

static kp_result velocity_from(kp_sph *sph, kp_sph_wall_fields *wall, kp_sph_fluid *fluid,
                               bool add) {
  sph_wall_velocity_args a = {
    .w = kp_smooth_make(KP_SMOOTH_SPIKY, sph->support, fluid->medium.set->dimension),
    .mass = (kp_real)fluid->medium.mass,
    .add = add,
  };
  kp_call call;
  kp_call_init(&call, &sph_wall_velocity_kernel, &a);
  KP_BIND3(&call, &a, j_v, fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, wall->velocity, add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
  return kp_sph_run_pairs(sph, &call, wall->cells, fluid->medium.cells);
}

kp_result kp_sph_wall_velocities(kp_sph *sph) {
  for (int w = 0; w < 2; ++w) {
    for (size_t f = 0; f < sph->fluids.count && sph->walls[w].cells != NULL; ++f) {
      KP_TRY(velocity_from(sph, &sph->walls[w], &sph->fluids.data[f], f > 0));
    }
  }
  return KP_OK;
}

// The wall's own velocity, that of the fluid at it, or, doubled, one mirrored at the wall (Morris
// et al. 1997 for samples as far behind the wall as the first particles are before it).
static kp_real drag_viscosity(const kp_sph *sph, const kp_sph_fluid *fluid) {
  double factor = sph->def.wall_drag == KP_SPH_DRAG_MORRIS ? 2.0 : 1.0;
  return (kp_real)(factor * (1.0 - sph->def.slip) * fluid->def.viscosity);
}

static kp_result drag(kp_sph *sph, kp_sph_fluid *fluid, kp_sph_wall_fields *wall) {
  kp_interface *samples = wall->interface;
  kp_field *velocity = wall->velocity != NULL ? wall->velocity : samples->set->velocity;
  sph_wall_drag_args a = {
    .w = kp_smooth_make(KP_SMOOTH_SPIKY, sph->support, fluid->medium.set->dimension),
    .viscosity = drag_viscosity(sph, fluid),
  };
  kp_call call;
  kp_call_init(&call, &sph_wall_drag_kernel, &a);
  KP_BIND3(&call, &a, v, fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_volume, &samples->volume->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, wall->cells);
}

static kp_result drag_back(kp_sph *sph, kp_sph_fluid *fluid, kp_sph_wall_fields *wall) {
  kp_interface *samples = wall->interface;
  kp_field *velocity = wall->velocity != NULL ? wall->velocity : samples->set->velocity;
  sph_wall_drag_react_args a = {
    .w = kp_smooth_make(KP_SMOOTH_SPIKY, sph->support, fluid->medium.set->dimension),
    .viscosity = drag_viscosity(sph, fluid),
    .mass = (kp_real)fluid->medium.mass,
  };
  kp_call call;
  kp_call_init(&call, &sph_wall_drag_react_kernel, &a);
  KP_BIND3(&call, &a, v, velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, volume, &samples->volume->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, samples->force, KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, wall->cells, fluid->medium.cells);
}

// ---- touch, surroundings ------------------------------------------------------------------------

static kp_result touch(kp_sph *sph, kp_sph_fluid *fluid, kp_sph_wall_fields *wall) {
  double reach = TOUCH * fluid->def.spacing;
  sph_touch_args a = { .reach2 = (kp_real)(reach * reach) };
  kp_call call;
  kp_call_init(&call, &sph_touch_kernel, &a);
  KP_BIND(&call, &a, touched, &fluid->touched->buffers[0], KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, wall->cells);
}

static kp_result drag_of_surroundings(kp_sph_fluid *fluid) {
  kp_medium *medium = &fluid->medium;
  sph_drag_args a = { .rate = (kp_real)fluid->def.drag };
  kp_call call;
  kp_call_init(&call, &sph_drag_kernel, &a);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_WRITE);
  return kp_call_run(medium->set->space->backend, &call, medium->set->space->n);
}

kp_result kp_sph_adhesion_forces(kp_sph *sph, kp_sph_fluid *fluid) {
  bool holds = sph->def.adhesion > 0.0;
  bool drags = sph->def.wall_drag > KP_SPH_DRAG_NONE && fluid->def.viscosity > 0.0;
  for (int w = 0; w < 2; ++w) {
    kp_sph_wall_fields *wall = &sph->walls[w];
    if (wall->cells == NULL) {
      continue;
    }
    if (holds) {
      KP_TRY(adhere(sph, fluid, wall));
    }
    if (holds && kp_sph_wall_feels(wall)) {
      KP_TRY(adhere_back(sph, fluid, wall));
    }
    if (drags) {
      KP_TRY(drag(sph, fluid, wall));
    }
    if (drags && kp_sph_wall_feels(wall)) {
      KP_TRY(drag_back(sph, fluid, wall));
    }
    if (fluid->touched != NULL) {
      KP_TRY(touch(sph, fluid, wall));
    }
  }
  return fluid->def.drag > 0.0 ? drag_of_surroundings(fluid) : KP_OK;
}
