#include "methods/sph/sph_shift.h"

#include <math.h>

#include "data/call.h"
#include "methods/sph/sph_shift_kernels.h"
#include "par/kernel_define.h"

SPH_SHIFT_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// |grad C| H/2 inside a liquid in disorder is below this, at a free surface above it
#define STEEPEST 0.25
// of h^2 in one step; twice as much was seen to overshoot
#define MOST 0.3

kp_result kp_sph_shift_create(kp_sph *sph) {
  kp_field_desc gradient = { "concentration_gradient", KP_TYPE_REAL, 3, "1/m", 0, 0.0 };
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    KP_TRY(kp_space_add_field(fluid->medium.set->space, &gradient, &fluid->gradient));
  }
  return KP_OK;
}

static const kp_kernel *kernel_of(const kp_sph *sph) {
  switch (sph->g_kind) {
  case KP_SMOOTH_CUBIC:
    return &sph_shift_cubic_kernel;
  case KP_SMOOTH_WENDLAND:
    return &sph_shift_wendland_kernel;
  case KP_SMOOTH_POLY6:
    return &sph_shift_poly6_kernel;
  default:
    return &sph_shift_spiky_kernel;
  }
}

// What one set gives to the gradient of a liquid.
typedef struct giver {
  kp_cells *cells;
  kp_field *share;
  double scale;
} giver;

static kp_result add_gradient(kp_sph *sph, kp_sph_fluid *fluid, const giver *from, bool add) {
  sph_shift_args a = { .g = sph->g, .scale = (kp_real)from->scale, .add = add };
  kp_access access = add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
  kp_pair_job job;
  kp_call call;
  kp_call_init(&call, kernel_of(sph), &a);
  KP_BIND(&call, &a, j_share, &from->share->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, , fluid->gradient, access);
  KP_TRY(kp_pair_job_make(fluid->medium.cells, from->cells, sph->support, &job));
  job.adds_only = add;
  return kp_call_pairs(fluid->medium.set->space->backend, &call, &job);
}

static kp_result gather_one(kp_sph *sph, kp_sph_fluid *fluid) {
  giver own = { fluid->medium.cells, fluid->inverse, fluid->medium.mass };
  KP_TRY(add_gradient(sph, fluid, &own, false));
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *other = &sph->fluids.data[f];
    giver liquid = { other->medium.cells, other->inverse, other->medium.mass };
    if (other != fluid && other->medium.set->space->n > 0) {
      KP_TRY(add_gradient(sph, fluid, &liquid, true));
    }
    if (other->medium.ghosts != NULL && other->medium.ghosts->set->space->n > 0) {
      kp_space *space = other->medium.ghosts->set->space;
      giver images = { other->medium.ghost_cells, kp_space_find(space, "inverse_density"),
                       other->medium.mass };
      KP_TRY(add_gradient(sph, fluid, &images, true));
    }
  }
  for (int w = 0; w < 2; ++w) {
    giver samples = { sph->walls[w].cells, NULL, 1.0 };
    if (samples.cells != NULL) {
      samples.share = sph->walls[w].interface->volume;
      KP_TRY(add_gradient(sph, fluid, &samples, true));
    }
  }
  return KP_OK;
}

kp_result kp_sph_shift_gather(kp_sph *sph) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    if (sph->fluids.data[f].medium.set->space->n > 0) {
      KP_TRY(gather_one(sph, &sph->fluids.data[f]));
    }
  }
  return KP_OK;
}

kp_result kp_sph_shift_move(kp_sph *sph, const kp_env *env) {
  double h = 0.5 * sph->support;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    // a tenth of the speed of sound is what flow a liquid is meant for
    double diffusion = sph->def.shifting * h * 0.1 * fluid->sound_speed * env->dt;
    sph_shift_move_args a = { .diffusion = fmin(diffusion, MOST * h * h),
                              .steepest2 = pow(STEEPEST / h, 2.0) };
    kp_call call;
    kp_call_init(&call, &sph_shift_move_kernel, &a);
    KP_BIND3(&call, &a, g, fluid->gradient, KP_ACCESS_READ);
    KP_BIND3(&call, &a, , fluid->medium.set->position, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(env->backend, &call, fluid->medium.set->space->n));
  }
  return KP_OK;
}
