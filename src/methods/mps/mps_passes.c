// The passes over pairs: explicit forces, number density, divergence, pressure gradient.
#include <math.h>

#include "data/call.h"
#include "methods/mps/mps.h"
#include "methods/mps/mps_kernels.h"
#include "par/kernel_define.h"

MPS_POINT_KERNELS(KP_DEFINE_POINT)
MPS_PAIR_KERNELS(KP_DEFINE_PAIR)

static mps_law law_of(const kp_mps *mps, double reach) {
  double l0 = mps->spacing;
  return (mps_law){ .reach = (kp_real)reach,
                    .reach2 = (kp_real)(reach * reach),
                    .shift = mps->def.weight == KP_MPS_WEIGHT_PRINTED ? (kp_real)0 : (kp_real)1,
                    .near2 = (kp_real)(KP_MPS_NEAREST * KP_MPS_NEAREST * l0 * l0),
                    .self2 = (kp_real)(1e-10 * l0 * l0) };
}

// Room for the neighbours of a particle within a reach, and a third more.
static int32_t listed_neighbours(const kp_mps *mps, double reach) {
  double s = reach / mps->spacing;
  double ball = mps->dimension == 2 ? 3.1416 * s * s : 4.18879 * s * s * s;
  return (int32_t)(1.35 * ball) + 8;
}

static bool is_wall(const kp_mps *mps, const kp_cells *cells) {
  for (int w = 0; w < 2; ++w) {
    const kp_mps_wall *wall = &mps->walls[w];
    if (wall->interface != NULL && (cells == wall->cells || cells == wall->skin.cells)) {
      return true;
    }
  }
  return false;
}

// Three passes go over the near pairs of a liquid (density, lowest, gradient).
static kp_result run_pairs(const kp_mps *mps, kp_call *call, kp_cells *i, kp_cells *j,
                           double radius) {
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(i, j, radius, &job));
  job.keep = i == j && radius == mps->reach ? listed_neighbours(mps, radius) : 0;
  job.adds_only = is_wall(mps, j) && !is_wall(mps, i);
  return kp_call_pairs(i->set->space->backend, call, &job);
}

static kp_access access_of(bool add) {
  return add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
}

// ---- who meets whom -----------------------------------------------------------------------------

// The j side of a pass: a liquid, a skin, or images of one.
typedef struct source {
  kp_mps_liquid *liquid;  // NULL: a skin
  kp_mps_group *group;
  kp_set *set;
  kp_cells *cells;
  bool images;
} source;

// One pass of a kernel from one source to one group; `add` is false for the first.
typedef kp_result (*pass_fn)(kp_mps *mps, kp_env *env, kp_mps_group *to, const source *from,
                             bool add);

static source source_of(kp_mps_liquid *liquid, kp_mps_group *group, bool images) {
  return (source){ .liquid = liquid,
                   .group = group,
                   .set = images ? group->ghosts->set : group->set,
                   .cells = images ? group->ghost_cells : group->cells,
                   .images = images };
}

// Images without elements may not have their fields yet.
static bool has_images(const kp_mps_group *group) {
  return group->ghosts != NULL && group->ghosts->set->space->n > 0;
}

static kp_result pass_group(kp_mps *mps, kp_env *env, kp_mps_group *to, source from, pass_fn pass) {
  KP_TRY(pass(mps, env, to, &from, true));
  if (!has_images(from.group)) {
    return KP_OK;
  }
  source images = source_of(from.liquid, from.group, true);
  return pass(mps, env, to, &images, true);
}

// From all liquids and their images to a group. For a liquid its own particles come first and begin
// the sums; for a skin they are added to what is there.
static kp_result pass_liquids(kp_mps *mps, kp_env *env, kp_mps_group *to, pass_fn pass) {
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    kp_mps_liquid *liquid = &mps->liquids.data[l];
    if (&liquid->group == to) {
      source own = source_of(liquid, to, false);
      KP_TRY(pass(mps, env, to, &own, false));
    }
  }
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    kp_mps_liquid *liquid = &mps->liquids.data[l];
    if (&liquid->group != to) {
      KP_TRY(pass_group(mps, env, to, source_of(liquid, &liquid->group, false), pass));
    } else if (has_images(to)) {
      source images = source_of(liquid, to, true);
      KP_TRY(pass(mps, env, to, &images, true));
    }
  }
  return KP_OK;
}

// From the skins and their images.
static kp_result pass_skins(kp_mps *mps, kp_env *env, kp_mps_group *to, pass_fn pass) {
  for (int w = 0; w < 2; ++w) {
    if (mps->walls[w].interface != NULL) {
      kp_mps_group *skin = &mps->walls[w].skin;
      KP_TRY(pass_group(mps, env, to, source_of(NULL, skin, false), pass));
    }
  }
  return KP_OK;
}

static kp_buffer *values(const source *s, kp_field *field) {
  kp_field *found = s->images ? kp_space_find(s->set->space, field->name) : field;
  return &found->buffers[0];
}

// ---- skins --------------------------------------------------------------------------------------

static kp_result follow(kp_mps_wall *wall) {
  kp_set *from = wall->interface->set;
  kp_set *to = wall->skin.set;
  mps_follow_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &mps_follow_kernel, &a);
  KP_BIND(&call, &a, index, &wall->index, KP_ACCESS_READ);
  KP_BIND3(&call, &a, from_, from->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, from_v, from->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , to->position, KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, v, to->velocity, KP_ACCESS_OVERWRITE);
  return kp_call_run(to->space->backend, &call, to->space->n);
}

kp_result kp_mps_place_skins(kp_mps *mps) {
  for (int w = 0; w < 2; ++w) {
    kp_mps_wall *wall = &mps->walls[w];
    kp_mps_group *skin = &wall->skin;
    if (wall->interface == NULL) {
      continue;
    }
    bool is_stale = skin->cells->built_for != skin->set->space->revision;
    if (w == 0 && skin->cells->revision > 0 && !is_stale) {
      continue;
    }
    KP_TRY(follow(wall));
    KP_TRY(kp_cells_build(skin->cells, NULL));
    if (w == 1) {
      KP_TRY(kp_cells_build(wall->cells, NULL));
    }
    if (skin->ghosts != NULL) {
      KP_TRY(kp_ghosts_update(skin->ghosts));
      KP_TRY(kp_cells_build(skin->ghost_cells, NULL));
    }
  }
  return KP_OK;
}

// ---- explicit forces ----------------------------------------------------------------------------

static kp_vec3 gravity_of(const kp_env *env) {
  kp_vec3 g = env->simulation.gravity;
  return kp_vec3_make(g.x, g.y, env->dimension == 2 ? 0.0 : g.z);
}

static mps_explicit_args explicit_args(const kp_mps *mps, const kp_env *env, double viscosity,
                                       double share) {
  kp_vec3 g = gravity_of(env);
  double c = 2.0 * mps->dimension / (mps->lambda * mps->wide_n0);
  double hit = mps->def.collision_distance * mps->spacing;
  return (mps_explicit_args){
    .law = law_of(mps, mps->wide),
    .viscosity = (kp_real)(viscosity * c),
    .hit = (kp_real)((1.0 + mps->def.restitution) / env->dt * share),
    .hit2 = (kp_real)(hit * hit),
    .gx = (kp_real)g.x,
    .gy = (kp_real)g.y,
    .gz = (kp_real)g.z,
  };
}

// Without viscosity only what is about to collide is looked for.
static double explicit_reach(const kp_mps *mps, double viscosity) {
  return viscosity > 0.0 ? mps->wide : mps->def.collision_distance * mps->spacing;
}

static kp_mps_liquid *liquid_of(kp_mps *mps, const kp_mps_group *group) {
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    if (&mps->liquids.data[l].group == group) {
      return &mps->liquids.data[l];
    }
  }
  return NULL;
}

static kp_result explicit_pass(kp_mps *mps, kp_env *env, kp_mps_group *to, const source *from,
                               bool add) {
  kp_mps_liquid *liquid = liquid_of(mps, to);
  double mass = liquid->medium.mass;
  double share = from->liquid->medium.mass / (mass + from->liquid->medium.mass);
  // of two liquids the force is that of the mean viscosity
  double mean = 0.5 * (liquid->def.viscosity + from->liquid->def.viscosity);
  double nu = mean / liquid->def.rest_density;
  mps_explicit_args a = explicit_args(mps, env, nu, share);
  a.add = add;
  kp_call call;
  kp_call_init(&call, &mps_explicit_kernel, &a);
  KP_BIND3(&call, &a, v, to->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, from->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, liquid->medium.integrate.acceleration, access_of(add));
  return run_pairs(mps, &call, to->cells, from->cells, explicit_reach(mps, nu));
}

// All samples take part, and those that feel it get the opposite force.
static kp_result explicit_walls(kp_mps *mps, kp_env *env, kp_mps_liquid *liquid,
                                kp_mps_wall *wall) {
  double nu = liquid->def.viscosity / liquid->def.rest_density * (1.0 - mps->def.slip);
  mps_explicit_args a = explicit_args(mps, env, nu, 1.0);
  a.add = 1;
  a.mass = (kp_real)liquid->medium.mass;
  mps_explicit_args r = a;
  kp_set *samples = wall->interface->set;
  kp_call call;
  kp_call_init(&call, &mps_explicit_wall_kernel, &a);
  KP_BIND3(&call, &a, v, liquid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, samples->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_weight, &wall->weight->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, liquid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  KP_TRY(run_pairs(mps, &call, liquid->medium.cells, wall->cells, explicit_reach(mps, nu)));
  if (!wall->interface->feels) {
    return KP_OK;
  }
  kp_call_init(&call, &mps_explicit_react_kernel, &r);
  KP_BIND3(&call, &r, v, samples->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &r, weight, &wall->weight->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &r, j_v, liquid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &r, a, wall->interface->force, KP_ACCESS_WRITE);
  return run_pairs(mps, &call, wall->cells, liquid->medium.cells, explicit_reach(mps, nu));
}

kp_result kp_mps_forces(void *self, kp_env *env) {
  kp_mps *mps = self;
  // the method takes one step whatever the integrators of others do
  for (size_t l = 0; l < mps->liquids.count && env->evaluation == 0; ++l) {
    kp_mps_liquid *liquid = &mps->liquids.data[l];
    KP_TRY(pass_liquids(mps, env, &liquid->group, explicit_pass));
    for (int w = 0; w < 2; ++w) {
      if (mps->walls[w].interface != NULL) {
        KP_TRY(explicit_walls(mps, env, liquid, &mps->walls[w]));
      }
    }
    KP_TRY(kp_medium_outer_forces(&liquid->medium, env));
  }
  return KP_OK;
}

// ---- number density at the predicted places -----------------------------------------------------

static kp_result count_pass(kp_mps *mps, kp_env *env, kp_mps_group *to, const source *from,
                            bool add) {
  (void)env;
  mps_count_args a = { .law = law_of(mps, mps->reach), .add = add };
  kp_call call;
  kp_call_init(&call, &mps_count_kernel, &a);
  KP_BIND(&call, &a, n, &to->number->buffers[0], access_of(add));
  return run_pairs(mps, &call, to->cells, from->cells, mps->reach);
}

// From all samples of an interface.
static kp_result count_samples(kp_mps *mps, kp_cells *to, kp_field *n, kp_mps_wall *wall,
                               bool add) {
  mps_count_args a = { .law = law_of(mps, mps->reach), .add = add };
  kp_call call;
  kp_call_init(&call, &mps_count_wall_kernel, &a);
  KP_BIND(&call, &a, j_weight, &wall->weight->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, n, &n->buffers[0], access_of(add));
  return run_pairs(mps, &call, to, wall->cells, mps->reach);
}

kp_result kp_mps_count_own(kp_mps *mps, kp_mps_wall *wall) {
  return count_samples(mps, wall->skin.cells, wall->own, wall, false);
}

// Still walls know what they give each other; those of bodies are counted as they lie now.
static kp_result count_skin(kp_mps *mps, kp_mps_wall *wall) {
  kp_mps_wall *other = wall == &mps->walls[0] ? &mps->walls[1] : &mps->walls[0];
  if (wall->interface->moving) {
    KP_TRY(count_samples(mps, wall->skin.cells, wall->skin.number, wall, false));
  } else {
    KP_TRY(kp_buffer_copy(&wall->skin.number->buffers[0], &wall->own->buffers[0]));
  }
  if (other->interface != NULL) {
    KP_TRY(count_samples(mps, wall->skin.cells, wall->skin.number, other, true));
  }
  KP_TRY(kp_buffer_copy(&wall->skin.dry->buffers[0], &wall->skin.number->buffers[0]));
  return pass_liquids(mps, NULL, &wall->skin, count_pass);
}

kp_result kp_mps_number_density(kp_mps *mps) {
  for (int w = 0; w < 2; ++w) {
    if (mps->walls[w].interface != NULL) {
      KP_TRY(count_skin(mps, &mps->walls[w]));
    }
  }
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    kp_mps_group *group = &mps->liquids.data[l].group;
    KP_TRY(pass_liquids(mps, NULL, group, count_pass));
    for (int w = 0; w < 2; ++w) {
      if (mps->walls[w].interface != NULL) {
        KP_TRY(count_samples(mps, group->cells, group->number, &mps->walls[w], true));
      }
    }
  }
  return KP_OK;
}

// ---- divergence ---------------------------------------------------------------------------------

static mps_divergence_args divergence_args(const kp_mps *mps, bool add) {
  return (mps_divergence_args){ .law = law_of(mps, mps->reach),
                                .scale = (kp_real)(mps->dimension / mps->n0),
                                .add = add };
}

static kp_result divergence_pass(kp_mps *mps, kp_env *env, kp_mps_group *to, const source *from,
                                 bool add) {
  (void)env;
  mps_divergence_args a = divergence_args(mps, add);
  kp_call call;
  kp_call_init(&call, &mps_divergence_kernel, &a);
  KP_BIND3(&call, &a, v, to->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, from->set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, divergence, &to->divergence->buffers[0], access_of(add));
  return run_pairs(mps, &call, to->cells, from->cells, mps->reach);
}

static kp_result divergence_samples(kp_mps *mps, kp_mps_group *to, kp_mps_wall *wall, bool add) {
  mps_divergence_args a = divergence_args(mps, add);
  kp_call call;
  kp_call_init(&call, &mps_divergence_wall_kernel, &a);
  KP_BIND3(&call, &a, v, to->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, wall->interface->set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_weight, &wall->weight->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, divergence, &to->divergence->buffers[0], access_of(add));
  return run_pairs(mps, &call, to->cells, wall->cells, mps->reach);
}

kp_result kp_mps_divergence(kp_mps *mps) {
  for (size_t g = 0; g < mps->groups.count; ++g) {
    kp_mps_group *group = mps->groups.data[g];
    bool is_begun = false;
    if (group->weight == NULL) {
      KP_TRY(pass_liquids(mps, NULL, group, divergence_pass));
      is_begun = true;
    }
    for (int w = 0; w < 2; ++w) {
      if (mps->walls[w].interface != NULL) {
        KP_TRY(divergence_samples(mps, group, &mps->walls[w], is_begun));
        is_begun = true;
      }
    }
    if (group->weight != NULL) {
      KP_TRY(pass_liquids(mps, NULL, group, divergence_pass));
    }
  }
  return KP_OK;
}

// ---- pressure gradient --------------------------------------------------------------------------

static kp_result lowest_pass(kp_mps *mps, kp_env *env, kp_mps_group *to, const source *from,
                             bool add) {
  (void)env;
  mps_lowest_args a = { .reach2 = (kp_real)(mps->reach * mps->reach), .add = add };
  kp_call call;
  kp_call_init(&call, &mps_lowest_kernel, &a);
  KP_BIND(&call, &a, p, &to->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_p, values(from, from->group->pressure), KP_ACCESS_READ);
  KP_BIND(&call, &a, low, &liquid_of(mps, to)->low->buffers[0], access_of(add));
  return run_pairs(mps, &call, to->cells, from->cells, mps->reach);
}

// b = of_p p + of_low low
static const struct {
  kp_real of_p, of_low;
} forms[] = {
  [KP_MPS_GRADIENT_MINIMUM] = { 0, -1 },
  [KP_MPS_GRADIENT_PLAIN] = { -1, 0 },
  [KP_MPS_GRADIENT_SYMMETRIC] = { 1, 0 },
};

static mps_push_args push_args(const kp_mps *mps, double divisor, bool add) {
  int form = mps->def.gradient;
  return (mps_push_args){ .law = law_of(mps, mps->reach),
                          .scale = (kp_real)(mps->dimension / (divisor * mps->n0)),
                          .of_p = forms[form].of_p,
                          .of_low = forms[form].of_low,
                          .add = add };
}

static kp_result push_pass(kp_mps *mps, kp_env *env, kp_mps_group *to, const source *from,
                           bool add) {
  (void)env;
  kp_mps_liquid *liquid = liquid_of(mps, to);
  bool wall = from->liquid == NULL;
  mps_push_args a = push_args(mps, liquid->def.rest_density, add);
  kp_call call;
  kp_call_init(&call, wall ? &mps_push_wall_kernel : &mps_push_kernel, &a);
  KP_BIND(&call, &a, p, &to->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, low, &liquid->low->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_p, values(from, from->group->pressure), KP_ACCESS_READ);
  if (wall) {
    KP_BIND(&call, &a, j_weight, values(from, from->group->weight), KP_ACCESS_READ);
  }
  KP_BIND3(&call, &a, a, liquid->medium.integrate.acceleration, access_of(add));
  return run_pairs(mps, &call, to->cells, from->cells, mps->reach);
}

// What the liquids do to a skin that feels it.
static kp_result react(kp_mps *mps, kp_mps_wall *wall) {
  kp_call call;
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    kp_mps_liquid *liquid = &mps->liquids.data[l];
    double volume = liquid->medium.mass / liquid->def.rest_density;
    mps_push_args a = push_args(mps, 1.0 / volume, l > 0);
    kp_call_init(&call, &mps_push_react_kernel, &a);
    KP_BIND(&call, &a, p, &wall->skin.pressure->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, weight, &wall->skin.weight->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, j_p, &liquid->group.pressure->buffers[0], KP_ACCESS_READ);
    KP_BIND3(&call, &a, a, wall->force, access_of(l > 0));
    KP_TRY(run_pairs(mps, &call, wall->skin.cells, liquid->medium.cells, mps->reach));
  }
  mps_give_args g = { 0 };
  kp_call_init(&call, &mps_give_kernel, &g);
  KP_BIND(&call, &g, index, &wall->index, KP_ACCESS_READ);
  KP_BIND3(&call, &g, f, wall->force, KP_ACCESS_READ);
  KP_BIND3(&call, &g, to_, wall->interface->force, KP_ACCESS_WRITE);
  return kp_call_run(wall->index.backend, &call, wall->skin.set->space->n);
}

kp_result kp_mps_push(kp_mps *mps, kp_env *env) {
  for (size_t g = 0; g < mps->groups.count; ++g) {
    kp_mps_group *group = mps->groups.data[g];
    if (has_images(group)) {
      KP_TRY(kp_ghosts_refresh(group->ghosts, group->pressure));
    }
  }
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    KP_TRY(pass_liquids(mps, env, &mps->liquids.data[l].group, lowest_pass));
    KP_TRY(pass_skins(mps, env, &mps->liquids.data[l].group, lowest_pass));
  }
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    KP_TRY(pass_liquids(mps, env, &mps->liquids.data[l].group, push_pass));
    KP_TRY(pass_skins(mps, env, &mps->liquids.data[l].group, push_pass));
  }
  for (int w = 0; w < 2; ++w) {
    if (mps->walls[w].interface != NULL && mps->walls[w].interface->feels) {
      KP_TRY(react(mps, &mps->walls[w]));
    }
  }
  return KP_OK;
}
