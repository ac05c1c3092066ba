// The pressure: who is at the surface, the matrix from neighbour lists, the solve.
//
// Lists instead of the pair driver: a solve makes some tens of passes over the same pairs at the
// wide radius, and a row of the list costs 8 bytes per neighbour against a square root, a division
// and the search for candidates.
#include <math.h>

#include "base/log.h"
#include "data/call.h"
#include "methods/mps/mps.h"
#include "methods/mps/mps_kernels.h"
#include "par/kernel_define.h"

MPS_POINT_KERNELS(KP_DECLARE_POINT)

// Skins come first: their unknowns keep their numbers when liquid is poured in.
static kp_result size_vectors(kp_mps *mps) {
  mps->n = 0;
  for (size_t g = 0; g < mps->groups.count; ++g) {
    mps->groups.data[g]->first = mps->n;
    mps->n += mps->groups.data[g]->set->space->n;
  }
  kp_buffer *all[] = { &mps->x, &mps->b, &mps->active, &mps->diagonal, &mps->inverse };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    KP_TRY(kp_vector_resize(all[k], mps->n));
  }
  return KP_OK;
}

// Every group writes its part of the vectors.
static kp_access part_of(const kp_mps *mps) {
  return mps->groups.count == 1 ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE;
}

static kp_result source_of(kp_mps *mps, kp_mps_group *group, double dt) {
  mps_source_args a = { .n0 = (kp_real)mps->n0,
                        .least = (kp_real)(mps->def.surface * mps->n0),
                        .of_density = (kp_real)(mps->def.relaxation / (dt * dt)),
                        .of_divergence = (kp_real)(mps->def.divergence / dt),
                        .first = group->first,
                        .suction = mps->def.suction };
  kp_call call;
  kp_call_init(&call, &mps_source_kernel, &a);
  KP_BIND(&call, &a, n, &group->number->buffers[0], KP_ACCESS_READ);
  if (group->divergence != NULL) {
    KP_BIND(&call, &a, divergence, &group->divergence->buffers[0], KP_ACCESS_READ);
  }
  if (group->weight != NULL) {
    KP_BIND(&call, &a, weight, &group->weight->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, dry, &group->dry->buffers[0], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, pressure, &group->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, surface, &group->surface->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, b, &mps->b, part_of(mps));
  KP_BIND(&call, &a, guess, &mps->x, part_of(mps));
  KP_BIND(&call, &a, active, &mps->active, part_of(mps));
  return kp_call_run(mps->b.backend, &call, group->set->space->n);
}

// ---- matrix -------------------------------------------------------------------------------------

// Between liquids the flow crosses the mean of the two; a wall takes that of its liquid.
static double density_between(const kp_mps *mps, const kp_mps_group *i, const kp_mps_group *j) {
  if (isnan(i->density)) {
    return isnan(j->density) ? mps->liquids.data[0].def.rest_density : j->density;
  }
  return isnan(j->density) ? i->density : 0.5 * (i->density + j->density);
}

static kp_result block_rows(kp_mps *mps, kp_mps_block *block) {
  kp_mps_group *i = block->i;
  kp_mps_group *j = block->j;
  kp_set *other = block->images ? j->ghosts->set : j->set;
  KP_TRY(kp_pair_lists_build(&block->lists, i->cells, block->images ? j->ghost_cells : j->cells,
                             mps->wide, false));
  KP_TRY(kp_vector_resize(&block->coefficients, block->lists.n_pairs));
  double rho = density_between(mps, i, j);
  mps_row_args a = { .reach = mps->wide,
                     .shift = mps->def.weight == KP_MPS_WEIGHT_PRINTED ? 0.0 : 1.0,
                     .nearest = KP_MPS_NEAREST * mps->spacing,
                     .scale = 2.0 * mps->dimension / (mps->lambda * mps->wide_n0 * rho),
                     .row = i->first,
                     .column = j->first,
                     .dimension = mps->dimension };
  kp_call call;
  kp_call_init(&call, &mps_row_kernel, &a);
  KP_BIND(&call, &a, start, &block->lists.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, indices, &block->lists.indices, KP_ACCESS_WRITE);
  if (block->images) {
    KP_BIND(&call, &a, source, &j->ghosts->source->buffers[0], KP_ACCESS_READ);
  }
  KP_BIND3(&call, &a, , i->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j, other->position, KP_ACCESS_READ);
  if (i->weight != NULL) {
    KP_BIND(&call, &a, weight, &i->weight->buffers[0], KP_ACCESS_READ);
  }
  if (j->weight != NULL && other->space->n > 0) {
    kp_field *weight = block->images ? kp_space_find(other->space, j->weight->name) : j->weight;
    KP_BIND(&call, &a, j_weight, &weight->buffers[0], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, coefficients, &block->coefficients, KP_ACCESS_OVERWRITE);
  return kp_call_run(mps->b.backend, &call, i->set->space->n);
}

static kp_result add_diagonal(kp_mps *mps, kp_mps_block *block) {
  mps_sum_args a = { .row = block->i->first, .add = !block->is_first };
  kp_call call;
  kp_call_init(&call, &mps_sum_kernel, &a);
  KP_BIND(&call, &a, start, &block->lists.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, coefficients, &block->coefficients, KP_ACCESS_READ);
  KP_BIND(&call, &a, diagonal, &mps->diagonal, part_of(mps));
  return kp_call_run(mps->b.backend, &call, block->i->set->space->n);
}

static kp_result invert_diagonal(kp_mps *mps, kp_mps_group *group) {
  mps_diagonal_args a = { .extra = (kp_real)group->extra, .first = group->first };
  kp_call call;
  kp_call_init(&call, &mps_diagonal_kernel, &a);
  KP_BIND(&call, &a, diagonal, &mps->diagonal, KP_ACCESS_READ);
  KP_BIND(&call, &a, active, &mps->active, KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &mps->inverse, part_of(mps));
  return kp_call_run(mps->b.backend, &call, group->set->space->n);
}

kp_result kp_mps_matrix(kp_mps *mps, double dt) {
  KP_TRY(size_vectors(mps));
  for (size_t g = 0; g < mps->groups.count; ++g) {
    kp_mps_group *group = mps->groups.data[g];
    // a wall is as stiff as it likes
    group->extra = group->weight != NULL ? 0.0 : mps->def.compressibility / (dt * dt);
    KP_TRY(source_of(mps, group, dt));
  }
  for (size_t k = 0; k < mps->blocks.count; ++k) {
    kp_mps_block *block = &mps->blocks.data[k];
    if (!block->is_still || block->lists.start.backend == NULL) {
      KP_TRY(block_rows(mps, block));
    }
    KP_TRY(add_diagonal(mps, block));
  }
  for (size_t g = 0; g < mps->groups.count; ++g) {
    KP_TRY(invert_diagonal(mps, mps->groups.data[g]));
  }
  return KP_OK;
}

kp_result kp_mps_apply(void *self, kp_buffer *x, kp_buffer *y) {
  kp_mps *mps = self;
  for (size_t k = 0; k < mps->blocks.count; ++k) {
    kp_mps_block *block = &mps->blocks.data[k];
    kp_mps_group *i = block->i;
    mps_apply_args a = { .extra = (kp_real)i->extra, .row = i->first, .add = !block->is_first };
    kp_call call;
    kp_call_init(&call, &mps_apply_kernel, &a);
    KP_BIND(&call, &a, start, &block->lists.start, KP_ACCESS_READ);
    KP_BIND(&call, &a, columns, &block->lists.indices, KP_ACCESS_READ);
    KP_BIND(&call, &a, coefficients, &block->coefficients, KP_ACCESS_READ);
    KP_BIND(&call, &a, active, &mps->active, KP_ACCESS_READ);
    KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
    KP_BIND(&call, &a, y, y, part_of(mps));
    KP_TRY(kp_call_run(x->backend, &call, i->set->space->n));
  }
  return KP_OK;
}

// ---- solve --------------------------------------------------------------------------------------

static void add_totals(kp_mps *mps, double matrix, double solve) {
  kp_mps_totals *t = &mps->totals;
  t->solves += 1;
  t->iterations += mps->pcg.report.iterations;
  t->unknowns += mps->n;
  t->unconverged += mps->pcg.report.is_converged ? 0 : 1;
  t->matrix_seconds += matrix;
  t->solve_seconds += solve;
  for (size_t k = 0; k < mps->blocks.count; ++k) {
    t->entries += mps->blocks.data[k].lists.n_pairs;
  }
  if (!mps->pcg.report.is_converged && !mps->has_warned) {
    mps->has_warned = true;
    kp_log(KP_LOG_WARN, "mps",
           "the pressure stopped at a residual of %.2g of the right side after %d iterations; more "
           "may help: mps { iterations = ... }. Said once",
           mps->pcg.report.residual, mps->pcg.report.iterations);
  }
}

static kp_result answer(kp_mps *mps, kp_mps_group *group) {
  mps_answer_args a = { .first = group->first, .clamp = mps->def.clamp_negative_pressure };
  kp_call call;
  kp_call_init(&call, &mps_answer_kernel, &a);
  KP_BIND(&call, &a, x, &mps->x, KP_ACCESS_READ);
  KP_BIND(&call, &a, pressure, &group->pressure->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(mps->x.backend, &call, group->set->space->n);
}

kp_result kp_mps_pressure(kp_mps *mps, kp_env *env) {
  double begin = kp_time_now();
  KP_TRY(kp_mps_matrix(mps, env->dt));
  double middle = kp_time_now();
  kp_pcg_def def = kp_default_pcg_def();
  def.name = "mps pressure";
  def.n = mps->n;
  def.apply = kp_mps_apply;
  def.apply_self = mps;
  def.inverse_diagonal = &mps->inverse;
  def.tolerance = mps->def.tolerance;
  def.max_iterations = (int)mps->def.iterations;
  KP_TRY(kp_pcg_solve(&mps->pcg, &def, &mps->b, &mps->x));
  add_totals(mps, middle - begin, kp_time_now() - middle);
  for (size_t g = 0; g < mps->groups.count; ++g) {
    KP_TRY(answer(mps, mps->groups.data[g]));
  }
  return KP_OK;
}
