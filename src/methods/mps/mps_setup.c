// Building: constants of the lattice, liquids filled, walls weighed, blocks of the matrix.
#include <math.h>
#include <stdio.h>

#include "methods/mps/mps.h"

// Cells a little larger than the reach: a pair at exactly that distance cannot fall between two.
#define CELL_MARGIN (1.0 + 1e-6)
#define DENSE_WALL_CELLS ((int64_t)1 << 26)

int kp_mps_wall_layers(const kp_mps_def *def) {
  // the outermost samples have pressures, so they too want their neighbourhood full
  return (int)ceil(def->radius);
}

typedef struct lattice {
  double n, second;  // sums of w and of r^2 w
} lattice;

static lattice lattice_sums(double reach, double shift, int dimension) {
  int most = (int)ceil(reach);
  int depth = dimension == 2 ? 0 : most;
  lattice sums = { 0.0, 0.0 };
  for (int k = -depth; k <= depth; ++k) {
    for (int j = -most; j <= most; ++j) {
      for (int i = -most; i <= most; ++i) {
        double r = sqrt((double)(i * i + j * j + k * k));
        double w = r > 0.0 && r < reach ? reach / r - shift : 0.0;
        sums.n += w;
        sums.second += r * r * w;
      }
    }
  }
  return sums;
}

static void choose_constants(kp_mps *mps, int dimension) {
  const kp_mps_def *def = &mps->def;
  double shift = def->weight == KP_MPS_WEIGHT_PRINTED ? 0.0 : 1.0;
  lattice near = lattice_sums(def->radius, shift, dimension);
  lattice wide = lattice_sums(def->laplacian_radius, shift, dimension);
  mps->dimension = dimension;
  mps->reach = def->radius * mps->spacing;
  mps->wide = def->laplacian_radius * mps->spacing;
  mps->n0 = near.n;
  mps->wide_n0 = wide.n;
  mps->lambda = mps->spacing * mps->spacing * wide.second / wide.n;
}

// ---- liquids ------------------------------------------------------------------------------------

static kp_result add_group_fields(const kp_mps *mps, kp_mps_group *group, uint32_t kept,
                                  uint32_t shown) {
  kp_space *space = group->set->space;
  const kp_field_desc pressure = { "pressure", KP_TYPE_REAL, 1, "Pa", kept | shown | KP_FIELD_GHOST,
                                   0.0 };
  const kp_field_desc number = { "number_density", KP_TYPE_REAL, 1, "", shown, mps->n0 };
  const kp_field_desc surface = { "surface", KP_TYPE_REAL, 1, "", shown, 0.0 };
  const kp_field_desc divergence = { "divergence", KP_TYPE_REAL, 1, "1/s", 0, 0.0 };
  KP_TRY(kp_space_add_field(space, &pressure, &group->pressure));
  KP_TRY(kp_space_add_field(space, &number, &group->number));
  KP_TRY(kp_space_add_field(space, &surface, &group->surface));
  return mps->def.source == KP_MPS_SOURCE_MIXED
             ? kp_space_add_field(space, &divergence, &group->divergence)
             : KP_OK;
}

static kp_result add_fields(const kp_mps *mps, kp_mps_liquid *liquid) {
  kp_space *space = liquid->medium.set->space;
  const kp_field_desc low = { "lowest_pressure", KP_TYPE_REAL, 1, "Pa", 0, 0.0 };
  KP_TRY(add_group_fields(mps, &liquid->group, KP_FIELD_STATE, KP_FIELD_EXPORT));
  return kp_space_add_field(space, &low, &liquid->low);
}

static kp_result setup_liquid(kp_mps *mps, kp_env *env, kp_mps_liquid *liquid) {
  const kp_liquid_def *def = &liquid->def;
  kp_medium_def medium = { .word = "liquid",
                           .name = def->name,
                           .shape = def->empty ? NULL : &def->shape,
                           .spacing = def->spacing,
                           .jitter = def->jitter,
                           .velocity = def->velocity,
                           .velocity_at = def->velocity_at,
                           .integrator = KP_INTEGRATOR_COUNT };
  KP_TRY(kp_medium_create(&liquid->medium, env, &medium));
  liquid->group = (kp_mps_group){ .set = liquid->medium.set, .density = def->rest_density };
  KP_TRY(add_fields(mps, liquid));
  liquid->medium.mass = def->rest_density * pow(def->spacing, (double)env->dimension);
  liquid->medium.rest_density = def->rest_density;
  if (!def->empty) {
    KP_TRY(kp_medium_fill(&liquid->medium, env, &def->shape));
  }
  KP_TRY(kp_medium_grid(&liquid->medium, env, mps->wide * CELL_MARGIN, mps->wide));
  liquid->group.cells = liquid->medium.cells;
  liquid->group.ghosts = liquid->medium.ghosts;
  liquid->group.ghost_cells = liquid->medium.ghost_cells;
  return KP_OK;
}

static kp_result setup_liquids(kp_mps *mps, kp_env *env, const kp_mps_setup *setup) {
  KP_TRY(kp_array_reserve(&mps->liquids, setup->n_liquids));
  for (size_t l = 0; l < setup->n_liquids; ++l) {
    const kp_liquid_def *def = &setup->liquids[l];
    if (def->spacing != mps->spacing) {
      return kp_fail(KP_ERROR_SCENE,
                     "liquid \"%s\": spacing is %g m, but that of liquid \"%s\" is %g m; with "
                     "method 'mps' all liquids of a world have one spacing",
                     def->name, def->spacing, setup->liquids[0].name, mps->spacing);
    }
    kp_mps_liquid *liquid = &mps->liquids.data[mps->liquids.count++];
    *liquid = (kp_mps_liquid){ .def = *def };
    KP_TRY(setup_liquid(mps, env, liquid));
  }
  return KP_OK;
}

// ---- walls --------------------------------------------------------------------------------------

// What a sample stands for: its area times the distance of the layers, in cells of the lattice.
static kp_result weigh(const kp_mps *mps, kp_mps_wall *wall) {
  kp_interface *samples = wall->interface;
  const kp_real *area = kp_buffer_host(&samples->area->buffers[0], KP_ACCESS_READ);
  kp_real *weight = kp_buffer_host(&wall->weight->buffers[0], KP_ACCESS_OVERWRITE);
  if (area == NULL || weight == NULL) {
    return KP_ERROR_MEMORY;
  }
  double cell = pow(mps->spacing, (double)mps->dimension);
  for (size_t r = 0; r < samples->ranges.count; ++r) {
    const kp_interface_range *range = &samples->ranges.data[r];
    double depth = kp_interface_spacing(area + range->first, range->count, mps->dimension);
    for (int64_t i = range->first; i < range->first + range->count; ++i) {
      weight[i] = (kp_real)((double)area[i] * depth / cell);
    }
  }
  return KP_OK;
}

// ---- the skin -----------------------------------------------------------------------------------

// How deep a point is behind the closed faces of the domain; negative inside.
static double depth_behind_faces(const kp_env *env, kp_vec3 p) {
  const double x[3] = { p.x, p.y, p.z };
  double depth = -HUGE_VAL;
  for (int axis = 0; axis < env->dimension; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    depth = faces.closed_lo ? fmax(depth, faces.lo - x[axis]) : depth;
    depth = faces.closed_hi ? fmax(depth, x[axis] - faces.hi) : depth;
  }
  return depth;
}

static double depth_in_solids(const kp_env *env, kp_vec3 p) {
  double depth = -HUGE_VAL;
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    const kp_solid *solid = &env->scenery.solids[s];
    kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(solid->turn), kp_vec3_sub(p, solid->origin));
    depth = fmax(depth, -kp_shape_distance(solid->shape, local));
  }
  return depth;
}

// What lies past a periodic face is the image of another sample.
static bool is_image(const kp_env *env, kp_vec3 p) {
  const double x[3] = { p.x, p.y, p.z };
  for (int axis = 0; axis < env->dimension; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    if (faces.periodic && (x[axis] < faces.lo || x[axis] >= faces.hi)) {
      return true;
    }
  }
  return false;
}

typedef struct skin_samples {
  KP_ARRAY(uint32_t) index;
  KP_ARRAY(kp_vec3) positions;
} skin_samples;

// The samples less than one distance of layers deep, and not buried in a wall or another solid.
static kp_result find_skin(const kp_mps *mps, const kp_env *env, kp_interface *samples,
                           skin_samples *out) {
  const kp_real *area = kp_buffer_host(&samples->area->buffers[0], KP_ACCESS_READ);
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&samples->set->position->buffers[c], KP_ACCESS_READ);
    if (x[c] == NULL || area == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  for (size_t r = 0; r < samples->ranges.count; ++r) {
    const kp_interface_range *range = &samples->ranges.data[r];
    double layer = kp_interface_spacing(area + range->first, range->count, mps->dimension);
    for (int64_t i = range->first; i < range->first + range->count; ++i) {
      kp_vec3 p = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
      double depth = fmax(depth_in_solids(env, p), depth_behind_faces(env, p));
      if (depth < layer && !is_image(env, p)) {
        KP_TRY(kp_array_push(&out->index, (uint32_t)i));
        KP_TRY(kp_array_push(&out->positions, p));
      }
    }
  }
  return KP_OK;
}

// Everything of a skin that does not change is saved too: loading a state fills a space whole.
static kp_result add_skin_fields(const kp_mps *mps, kp_mps_wall *wall) {
  kp_set *set = wall->skin.set;
  set->position->flags = set->velocity->flags = KP_FIELD_SAVE | KP_FIELD_GHOST;
  set->id->flags = KP_FIELD_SAVE | KP_FIELD_GHOST;
  const kp_field_desc weight = {
    "weight", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE | KP_FIELD_GHOST, 1.0
  };
  const kp_field_desc own = { "own_number_density", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE, 0.0 };
  const kp_field_desc force = { "force", KP_TYPE_REAL, 3, "N", 0, 0.0 };
  KP_TRY(add_group_fields(mps, &wall->skin, KP_FIELD_SAVE, 0));
  KP_TRY(kp_space_add_field(set->space, &weight, &wall->skin.weight));
  KP_TRY(kp_space_add_field(set->space, &own, &wall->own));
  const kp_field_desc dry = { "dry_number_density", KP_TYPE_REAL, 1, "", 0, 0.0 };
  KP_TRY(kp_space_add_field(set->space, &dry, &wall->skin.dry));
  return wall->interface->feels ? kp_space_add_field(set->space, &force, &wall->force) : KP_OK;
}

static kp_result fill_skin(kp_mps_wall *wall, const skin_samples *samples) {
  size_t n = samples->index.count;
  KP_TRY(kp_set_add(wall->skin.set, (int64_t)n, samples->positions.data, NULL));
  KP_TRY(kp_buffer_resize(&wall->index, n * sizeof(uint32_t)));
  wall->index.type = KP_TYPE_U32;
  uint32_t *index = kp_buffer_host(&wall->index, KP_ACCESS_OVERWRITE);
  const kp_real *all = kp_buffer_host(&wall->weight->buffers[0], KP_ACCESS_READ);
  kp_real *weight = kp_buffer_host(&wall->skin.weight->buffers[0], KP_ACCESS_OVERWRITE);
  if (index == NULL || all == NULL || weight == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t s = 0; s < n; ++s) {
    index[s] = samples->index.data[s];
    weight[s] = all[index[s]];
  }
  return KP_OK;
}

static kp_result grid_skin(kp_mps *mps, kp_env *env, kp_mps_group *skin, const char *name) {
  const kp_domain_def *d = &env->domain;
  kp_ghosts_def def = { .box = { d->min, d->max }, .width = mps->wide };
  bool any = false;
  for (int axis = 0; axis < 3; ++axis) {
    def.periodic[axis] = kp_env_faces(env, axis).periodic;
    any = any || def.periodic[axis];
  }
  KP_TRY(kp_cells_create(skin->set, mps->wide * CELL_MARGIN, &skin->cells));
  // every particle looks for walls and few find any: a table of cells answers that fastest
  skin->cells->dense_cells = DENSE_WALL_CELLS;
  if (any) {
    KP_TRY(kp_ghosts_create(env->registry, name, skin->set, &def, &skin->ghosts));
    KP_TRY(kp_cells_create(skin->ghosts->set, mps->wide * CELL_MARGIN, &skin->ghost_cells));
  }
  return KP_OK;
}

static kp_result setup_skin(kp_mps *mps, kp_env *env, kp_mps_wall *wall) {
  bool moving = wall->interface->moving;
  skin_samples samples = { 0 };
  wall->skin.density = NAN;
  kp_result result = find_skin(mps, env, wall->interface, &samples);
  if (result == KP_OK) {
    result = kp_set_create(env->registry, moving ? "mps.movers" : "mps.walls", KP_SET_TIED,
                           env->dimension, &wall->skin.set);
  }
  if (result == KP_OK) {
    result = add_skin_fields(mps, wall);
  }
  if (result == KP_OK) {
    result = fill_skin(wall, &samples);
  }
  kp_array_free(&samples.index);
  kp_array_free(&samples.positions);
  KP_TRY(result);
  return grid_skin(mps, env, &wall->skin, moving ? "mps.movers.images" : "mps.walls.images");
}

static kp_result setup_walls(kp_mps *mps, kp_env *env) {
  kp_interface *both[2] = { env->walls, env->movers };
  for (int w = 0; w < 2; ++w) {
    kp_mps_wall *wall = &mps->walls[w];
    if (both[w] == NULL || both[w]->set->space->n == 0) {
      continue;
    }
    wall->interface = both[w];
    const kp_field_desc weight = { "mps_weight", KP_TYPE_REAL, 1, "", 0, 1.0 };
    KP_TRY(kp_space_add_field(both[w]->set->space, &weight, &wall->weight));
    KP_TRY(weigh(mps, wall));
    KP_TRY(kp_cells_create(both[w]->set, mps->wide * CELL_MARGIN, &wall->cells));
    wall->cells->dense_cells = DENSE_WALL_CELLS;
    KP_TRY(kp_cells_build(wall->cells, NULL));
    KP_TRY(setup_skin(mps, env, wall));
  }
  KP_TRY(kp_mps_place_skins(mps));
  return mps->walls[0].interface != NULL ? kp_mps_count_own(mps, &mps->walls[0]) : KP_OK;
}

// ---- the matrix ---------------------------------------------------------------------------------

static kp_result add_block(kp_mps *mps, kp_backend *backend, const kp_mps_block *model) {
  kp_mps_block block = *model;
  kp_buffer_init(&block.coefficients, backend);
  return kp_array_push(&mps->blocks, block);
}

static kp_result add_groups(kp_mps *mps) {
  for (int w = 0; w < 2; ++w) {
    if (mps->walls[w].interface != NULL) {
      KP_TRY(kp_array_push(&mps->groups, &mps->walls[w].skin));
    }
  }
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    KP_TRY(kp_array_push(&mps->groups, &mps->liquids.data[l].group));
  }
  return KP_OK;
}

static kp_result setup_blocks(kp_mps *mps, kp_env *env) {
  KP_TRY(add_groups(mps));
  for (size_t i = 0; i < mps->groups.count; ++i) {
    // the first block of a row begins its sums
    kp_mps_block block = { .i = mps->groups.data[i], .j = mps->groups.data[i], .is_first = true };
    block.is_still = block.i == &mps->walls[0].skin;
    KP_TRY(add_block(mps, env->backend, &block));
    block.is_first = false;
    for (size_t j = 0; j < mps->groups.count; ++j) {
      block.j = mps->groups.data[j];
      block.is_still = block.i == &mps->walls[0].skin && block.j == block.i;
      for (int images = j == i ? 1 : 0; images < (block.j->ghosts != NULL ? 2 : 1); ++images) {
        block.images = images != 0;
        KP_TRY(add_block(mps, env->backend, &block));
      }
    }
  }
  return KP_OK;
}

kp_result kp_mps_setup_all(kp_mps *mps, kp_env *env, const kp_mps_setup *setup) {
  mps->spacing = setup->liquids[0].spacing;
  if (mps->def.laplacian_radius < mps->def.radius) {
    return kp_fail(KP_ERROR_SCENE, "mps: laplacian_radius (%g) must not be below radius (%g)",
                   mps->def.laplacian_radius, mps->def.radius);
  }
  choose_constants(mps, env->dimension);
  KP_TRY(setup_liquids(mps, env, setup));
  KP_TRY(setup_walls(mps, env));
  return setup_blocks(mps, env);
}
