#include "methods/sph/sph_viscous.h"

#include "base/log.h"
#include "data/call.h"
#include "methods/sph/sph_viscous_kernels.h"
#include "par/kernel_define.h"

SPH_VISCOUS_KERNELS(KP_DEFINE_POINT)

kp_result kp_sph_viscous_create(kp_env *env, kp_sph_viscous **out) {
  kp_sph_viscous *v = kp_alloc_zero(sizeof *v, KP_MEMORY_WORLD);
  if (v == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_pcg_init(&v->pcg, env->backend);
  kp_buffer_init(&v->right, env->backend);
  kp_buffer_init(&v->change, env->backend);
  kp_buffer_init(&v->inverse, env->backend);
  *out = v;
  return KP_OK;
}

void kp_sph_viscous_destroy(kp_sph_viscous **viscous) {
  kp_sph_viscous *v = *viscous;
  if (v == NULL) {
    return;
  }
  kp_pcg_free(&v->pcg);
  kp_buffer_free(&v->right);
  kp_buffer_free(&v->change);
  kp_buffer_free(&v->inverse);
  kp_array_free(&v->firsts);
  kp_free(v);
  *viscous = NULL;
}

// Walls stand for the mirrored velocity (Morris et al. 1997), and are stuck to: they resist a
// rotation too.
double kp_sph_viscosity_of(kp_sph *sph, const kp_env *env, const kp_sph_side *side,
                           const kp_sph_side *other) {
  if (side->fluid < 0 || other->fluid < 0) {
    const kp_sph_side *liquid = side->fluid >= 0 ? side : other;
    return 2.0 * (1.0 - sph->def.slip) * sph->fluids.data[liquid->fluid].def.viscosity;
  }
  bool is_central = sph->def.viscosity_model == KP_SPH_VISCOSITY_CENTRAL;
  double mean = 0.5 * (sph->fluids.data[side->fluid].def.viscosity +
                       sph->fluids.data[other->fluid].def.viscosity);
  return (is_central ? env->dimension + 2.0 : 1.0) * mean;
}

static kp_sph_fluid *fluid_at(kp_sph_viscous *v, size_t f) {
  return &v->sph->fluids.data[f];
}

static kp_result size_vectors(kp_sph_viscous *v) {
  size_t n_fluids = v->sph->fluids.count;
  int64_t n = 0;
  KP_TRY(kp_array_resize(&v->firsts, n_fluids + 1));
  for (size_t f = 0; f < n_fluids; ++f) {
    v->firsts.data[f] = n;
    n += fluid_at(v, f)->medium.set->space->n;
  }
  v->firsts.data[n_fluids] = n;
  v->mass = fluid_at(v, 0)->medium.mass;
  KP_TRY(kp_vector_resize(&v->right, 4 * n));
  KP_TRY(kp_vector_resize(&v->change, 4 * n));
  return kp_vector_resize(&v->inverse, 4 * n);
}

// Every liquid writes its part.
static kp_access part_of(const kp_sph_viscous *v, bool add) {
  return !add && v->sph->fluids.count == 1 ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE;
}

static bool is_part(const kp_sph_viscous *v, size_t f) {
  return v->firsts.data[f + 1] > v->firsts.data[f];
}

static sph_viscous_args args_of(kp_sph_viscous *v, size_t f, size_t k) {
  kp_sph_side *side = &v->sph->implicit->sides.data[f];
  kp_sph_side *other = &v->sph->implicit->sides.data[side->links.data[k].other];
  kp_medium *medium = &fluid_at(v, f)->medium;
  double volume = medium->mass / fluid_at(v, f)->def.rest_density;
  double viscosity = kp_sph_viscosity_of(v->sph, v->env, side, other);
  return (sph_viscous_args){
    .keep = (kp_real)(medium->mass / (v->mass * v->env->dt)),
    .scale = (kp_real)(volume / v->mass * viscosity),
    .add = k > 0,
    .first = v->firsts.data[f],
    .j_first = other->fluid >= 0 ? v->firsts.data[other->fluid] : 0,
  };
}

// y = A x of one liquid or, where x is NULL, the diagonal of A.
static kp_result apply_liquid(kp_sph_viscous *v, size_t f, kp_buffer *x, kp_buffer *y) {
  kp_sph_side *side = &v->sph->implicit->sides.data[f];
  for (size_t k = 0; k < side->links.count; ++k) {
    kp_sph_link *link = &side->links.data[k];
    bool is_wall = v->sph->implicit->sides.data[link->other].fluid < 0;
    sph_viscous_args a = args_of(v, f, k);
    const kp_kernel *of_walls =
        x != NULL ? &sph_viscous_wall_kernel : &sph_viscous_wall_diagonal_kernel;
    const kp_kernel *of_liquids =
        x != NULL ? &sph_viscous_row_kernel : &sph_viscous_diagonal_kernel;
    kp_call call;
    kp_call_init(&call, is_wall ? of_walls : of_liquids, &a);
    KP_BIND(&call, &a, start, &link->lists.start, KP_ACCESS_READ);
    KP_BIND(&call, &a, lap, &link->laps, KP_ACCESS_READ);
    if (!is_wall) {
      KP_BIND(&call, &a, term, &link->terms, KP_ACCESS_READ);
    }
    if (!is_wall && x != NULL) {
      KP_BIND(&call, &a, index, &link->lists.indices, KP_ACCESS_READ);
    }
    if (x != NULL) {
      KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
    }
    KP_BIND(&call, &a, y, y, part_of(v, k > 0));
    KP_TRY(kp_call_run(v->env->backend, &call, side->set->space->n));
  }
  return KP_OK;
}

static kp_result apply(void *self, kp_buffer *x, kp_buffer *y) {
  kp_sph_viscous *v = self;
  for (size_t f = 0; f < v->sph->fluids.count; ++f) {
    KP_TRY(is_part(v, f) ? apply_liquid(v, f, x, y) : KP_OK);
  }
  return KP_OK;
}

static kp_result make_inverse(kp_sph_viscous *v) {
  for (size_t f = 0; f < v->sph->fluids.count; ++f) {
    KP_TRY(is_part(v, f) ? apply_liquid(v, f, NULL, &v->inverse) : KP_OK);
  }
  sph_viscous_invert_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sph_viscous_invert_kernel, &a);
  KP_BIND(&call, &a, m, &v->inverse, KP_ACCESS_WRITE);
  return kp_call_run(v->env->backend, &call, 4 * v->firsts.data[v->sph->fluids.count]);
}

static kp_result ask(kp_sph_viscous *v, size_t f) {
  kp_medium *medium = &fluid_at(v, f)->medium;
  sph_viscous_turn_args a = { .mass = (kp_real)(medium->mass / v->mass),
                              .first = v->firsts.data[f] };
  kp_call call;
  kp_call_init(&call, &sph_viscous_ask_kernel, &a);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &v->right, part_of(v, false));
  return kp_call_run(v->env->backend, &call, medium->set->space->n);
}

static kp_result take(kp_sph_viscous *v, size_t f) {
  kp_medium *medium = &fluid_at(v, f)->medium;
  sph_viscous_turn_args a = { .inverse_dt = (kp_real)(1.0 / v->env->dt),
                              .first = v->firsts.data[f] };
  kp_call call;
  kp_call_init(&call, &sph_viscous_take_kernel, &a);
  KP_BIND(&call, &a, d, &v->change, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &v->sph->implicit->sides.data[f].velocity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_OVERWRITE);
  return kp_call_run(v->env->backend, &call, medium->set->space->n);
}

static void tell(kp_sph_viscous *v) {
  const kp_pcg_report *report = &v->pcg.report;
  if (!report->is_converged && !v->has_warned) {
    v->has_warned = true;
    kp_log(KP_LOG_WARN, "sph",
           "the viscosity's solve stopped after %d iterations with a residual of %.1e of its right "
           "side",
           report->iterations, report->residual);
  }
}

kp_result kp_sph_viscous_solve(kp_sph *sph, kp_env *env) {
  kp_sph_viscous *v = sph->implicit->viscous;
  v->sph = sph;
  v->env = env;
  KP_TRY(size_vectors(v));
  int64_t n = v->firsts.data[sph->fluids.count];
  if (n == 0) {
    return KP_OK;
  }
  KP_TRY(make_inverse(v));
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(ask(v, f));
  }
  kp_pcg_def def = kp_default_pcg_def();
  def.name = "viscosity";
  def.n = 4 * n;
  def.apply = apply;
  def.apply_self = v;
  def.inverse_diagonal = &v->inverse;
  def.tolerance = sph->def.viscosity_error;
  def.max_iterations = (int)sph->def.viscosity_iterations;
  def.is_correction = true;
  KP_TRY(kp_pcg_solve(&v->pcg, &def, &v->right, &v->change));
  tell(v);
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(take(v, f));
  }
  return KP_OK;
}
