// Functions of place, of which the velocity at the start may be one. They are asked at the points
// of a lattice when the scene is read, so that neither a run nor its resumption calls Lua. The
// lattice stands in the middle of what is filled, half as wide as its spacing: the particles of a
// shape and the faces of a grid that fit it lie on its points, so what they get is what the
// function says.
#include <math.h>
#include <string.h>

#include "geom/shape.h"
#include "scene/scene_state.h"

#define MOST_POINTS 2097152.0        // larger fills have wider lattices
#define INSTRUCTIONS_PER_POINT 2000  // on average
#define SECONDS_PER_POINT 1e-5

static const kp_domain_def *domain_of(const kp_scene *scene) {
  return (const kp_domain_def *)(const void *)kp_scene_single(scene, "domain")->def;
}

static kp_vec3 middle_of(const kp_aabb *box) {
  return kp_vec3_scale(kp_vec3_add(box->min, box->max), 0.5);
}

// Finite numbers on top of the stack, one per axis of the domain or three.
static kp_result read_numbers(lua_State *lua, int n, const char *key, double out[3]) {
  bool is_flat = domain_of(kp_scene_of(lua))->dimension == 2;
  bool is_right = n == 3 || (n == 2 && is_flat);
  out[2] = 0.0;
  for (int c = 0; is_right && c < n; ++c) {
    is_right = lua_type(lua, c - n) == LUA_TNUMBER;
    out[c] = is_right ? lua_tonumber(lua, c - n) : 0.0;
    is_right = is_right && isfinite(out[c]);
  }
  return is_right ? KP_OK
                  : kp_fail(KP_ERROR_SCENE, "%s must be %s finite numbers", key,
                            is_flat ? "two or three" : "three");
}

// A vector, or its numbers one by one.
static kp_result ask(lua_State *lua, const kp_scene_function *function, kp_vec3 p, double out[3]) {
  int base = lua_gettop(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, function->reference);
  lua_pushnumber(lua, p.x);
  lua_pushnumber(lua, p.y);
  lua_pushnumber(lua, p.z);
  lua_call(lua, 3, LUA_MULTRET);
  int n = lua_gettop(lua) - base;
  const char *key = function->row->key;
  kp_result result =
      n == 1 ? kp_scene_read_vector(lua, -1, key, out) : read_numbers(lua, n, key, out);
  lua_settop(lua, base);
  return result == KP_OK
             ? KP_OK
             : kp_fail_in(result, "%s: the function of place, asked at {%.6g, %.6g, %.6g}",
                          function->where, p.x, p.y, p.z);
}

static kp_result check_pure(lua_State *lua, const kp_scene_function *function, const kp_aabb *box) {
  double first[3];
  double between[3];
  double again[3];
  KP_TRY(ask(lua, function, middle_of(box), first));
  KP_TRY(ask(lua, function, box->max, between));
  KP_TRY(ask(lua, function, middle_of(box), again));
  return memcmp(first, again, sizeof first) == 0
             ? KP_OK
             : kp_fail(KP_ERROR_SCENE,
                       "%s: the function of place gave two answers for the same point; it must "
                       "depend on the point alone",
                       function->where);
}

// ---- where it is asked

// The bounds of a shape that is known without reading files; a gas fills all of the domain.
static kp_aabb box_of(const kp_scene *scene, const kp_scene_entity *entity) {
  const kp_domain_def *domain = domain_of(scene);
  kp_aabb box = { domain->min, domain->max };
  const kp_param_table *table = entity->kind->table;
  const kp_param *row = kp_scene_find_row(table, "shape");
  bool is_filled = table == &kp_liquid_params || table == &kp_grains_params;
  kp_shape *shape = NULL;
  if (is_filled && entity->said[row - table->rows]) {
    const kp_shape_def *def = (const kp_shape_def *)(const void *)(entity->def + row->offset);
    if (def->kind != KP_SHAPE_MESH && kp_shape_build(def, scene->folder, &shape) == KP_OK &&
        kp_shape_is_bounded(shape)) {
      box = kp_shape_bounds(shape);
    }
    kp_shape_destroy(&shape);
  }
  if (domain->dimension == 2) {
    box.min.z = box.max.z = 0.0;
  }
  return box;
}

// Of particles, or of the cells of a grid.
static double spacing_of(const kp_scene *scene, const kp_scene_entity *entity) {
  const kp_domain_def *domain = domain_of(scene);
  const kp_grid_def *grid = (const kp_grid_def *)(const void *)kp_scene_single(scene, "grid")->def;
  kp_vec3 size = kp_vec3_sub(domain->max, domain->min);
  double longest = fmax(fmax(size.x, size.y), domain->dimension == 2 ? 0.0 : size.z);
  double spacing = isnan(grid->cell) ? longest / 64.0 : grid->cell;
  const kp_param *row = kp_scene_find_row(entity->kind->table, "spacing");
  if (row != NULL && row->type == KP_PARAM_REAL) {
    double own = *(const double *)(const void *)(entity->def + row->offset);
    bool on_grid =
        entity->kind->table == &kp_liquid_params &&
        ((const kp_liquid_def *)(const void *)entity->def)->method >= KP_LIQUID_LEVEL_SET;
    spacing = on_grid ? fmin(own, spacing) : own;
  }
  return spacing;
}

// Points on either side of the middle, out to the faces of the box and the last bit beyond.
static int32_t count_along(double length, double interval) {
  return length > 0.0 ? 2 * (int32_t)ceil(0.5 * length / interval - 1e-6) + 1 : 1;
}

static kp_vec_lattice lattice_of(const kp_aabb *box, double interval) {
  kp_vec3 size = kp_vec3_sub(box->max, box->min);
  const double length[3] = { size.x, size.y, size.z };
  double points = 1.0;
  for (int axis = 0; axis < 3; ++axis) {
    points *= length[axis] / interval + 3.0;
  }
  int dimension = size.z > 0.0 ? 3 : 2;
  interval *= points > MOST_POINTS ? pow(points / MOST_POINTS, 1.0 / dimension) : 1.0;
  kp_vec_lattice lattice = { .interval = interval };
  for (int axis = 0; axis < 3; ++axis) {
    lattice.n[axis] = count_along(length[axis], interval);
  }
  kp_vec3 half = kp_vec3_make(lattice.n[0] - 1, lattice.n[1] - 1, lattice.n[2] - 1);
  lattice.start = kp_vec3_madd(middle_of(box), -0.5 * interval, half);
  return lattice;
}

static kp_result fill(lua_State *lua, const kp_scene_function *function,
                      const kp_vec_lattice *lattice) {
  double *out = function->samples;
  for (int32_t k = 0; k < lattice->n[2]; ++k) {
    for (int32_t j = 0; j < lattice->n[1]; ++j) {
      for (int32_t i = 0; i < lattice->n[0]; ++i, out += 3) {
        kp_vec3 p = kp_vec3_madd(lattice->start, lattice->interval, kp_vec3_make(i, j, k));
        KP_TRY(ask(lua, function, p, out));
      }
    }
  }
  return KP_OK;
}

kp_result kp_scene_sample_place(lua_State *lua, kp_scene_function *function) {
  kp_scene *scene = kp_scene_of(lua);
  kp_aabb box = box_of(scene, function->entity);
  double spacing = spacing_of(scene, function->entity);
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  if (!(spacing > 0.0) || !(size.x > 0.0) || !(size.y > 0.0) || !(size.z >= 0.0)) {
    return KP_OK;  // the check of the whole will say what is wrong
  }
  kp_vec_lattice lattice = lattice_of(&box, 0.5 * spacing);
  size_t n = (size_t)lattice.n[0] * (size_t)lattice.n[1] * (size_t)lattice.n[2];
  function->samples = kp_alloc(3 * n * sizeof(double), KP_MEMORY_SCENE);
  if (function->samples == NULL) {
    return KP_ERROR_MEMORY;
  }
  function->n_samples = 3 * n;
  kp_sandbox_allow(&scene->sandbox, KP_SANDBOX_INSTRUCTIONS + (int64_t)n * INSTRUCTIONS_PER_POINT,
                   KP_SANDBOX_SECONDS + (double)n * SECONDS_PER_POINT);
  KP_TRY(check_pure(lua, function, &box));
  KP_TRY(fill(lua, function, &lattice));
  lattice.samples = function->samples;
  *KP_PARAM_LATTICE(function->entity->def + function->row->offset) = lattice;
  return KP_OK;
}
