// Functions of time, and of place (place.c). Those of time are asked at fixed points of every frame
// when the scene is loaded, so that a run never calls Lua, and the answers are joined by a smooth
// curve whose derivative is the velocity.
#include <string.h>

#include "scene/scene_state.h"

#define SAMPLES_PER_FRAME 8
#define INSTRUCTIONS_PER_CALL 2000  // on average over all samples
#define SECONDS_PER_CALL 1e-5

static kp_scene_function *find_function(kp_scene *scene, const kp_scene_entity *entity,
                                        const kp_param *row) {
  for (size_t i = 0; i < scene->functions.count; ++i) {
    kp_scene_function *function = &scene->functions.data[i];
    if (function->entity == entity && function->row == row) {
      return function;
    }
  }
  return NULL;
}

void kp_scene_drop_function(kp_scene *scene, const kp_scene_entity *entity, const kp_param *row) {
  kp_scene_function *function = find_function(scene, entity, row);
  if (function != NULL) {
    function->reference = LUA_NOREF;
  }
}

kp_result kp_scene_keep_function(lua_State *lua, kp_scene_entity *entity, const kp_param *row) {
  kp_scene *scene = kp_scene_of(lua);
  kp_scene_function *function = find_function(scene, entity, row);
  if (function == NULL) {
    kp_scene_function fresh = { .entity = entity, .row = row, .reference = LUA_NOREF };
    KP_TRY(kp_array_push(&scene->functions, fresh));
    function = &scene->functions.data[scene->functions.count - 1];
  }
  lua_Debug place;
  lua_pushvalue(lua, -1);
  lua_getinfo(lua, ">S", &place);
  const char *text = lua_pushfstring(lua, "%s:%d", place.short_src, place.linedefined);
  kp_text_copy(function->where, sizeof function->where, text);
  lua_pop(lua, 1);
  lua_pushvalue(lua, -1);
  function->reference = luaL_ref(lua, LUA_REGISTRYINDEX);
  return KP_OK;
}

// The answer at time t.
static kp_result ask(lua_State *lua, const kp_scene_function *function, double t, double out[3]) {
  lua_rawgeti(lua, LUA_REGISTRYINDEX, function->reference);
  lua_pushnumber(lua, t);
  lua_call(lua, 1, 1);
  kp_curve answer = { 0 };
  kp_result result = kp_scene_read_value(lua, -1, function->row, NULL, &answer);
  lua_pop(lua, 1);
  memcpy(out, answer.constant, sizeof answer.constant);
  return result == KP_OK ? KP_OK
                         : kp_fail_in(result, "%s: the function of time, asked for t = %.6g",
                                      function->where, t);
}

// A function that remembers, or that asks for chance, gives itself away by a second answer.
static kp_result check_pure(lua_State *lua, const kp_scene_function *function, double duration) {
  double first[3], between[3], again[3];
  KP_TRY(ask(lua, function, duration / 3.0, first));
  KP_TRY(ask(lua, function, duration / 1.5, between));
  KP_TRY(ask(lua, function, duration / 3.0, again));
  if (memcmp(first, again, sizeof first) != 0) {
    return kp_fail(KP_ERROR_SCENE,
                   "%s: the function of time gave two answers for the same t; it must depend on t "
                   "alone",
                   function->where);
  }
  return KP_OK;
}

static kp_result sample(lua_State *lua, kp_scene_function *function, int32_t n, double interval) {
  const int32_t components = function->row->type == KP_PARAM_CURVE ? 1 : 3;
  function->samples = kp_alloc((size_t)n * (size_t)components * sizeof(double), KP_MEMORY_SCENE);
  if (function->samples == NULL) {
    return KP_ERROR_MEMORY;
  }
  function->n_samples = (size_t)n * (size_t)components;
  for (int32_t k = 0; k < n; ++k) {
    double answer[3];
    KP_TRY(ask(lua, function, k * interval, answer));
    memcpy(function->samples + (ptrdiff_t)k * components, answer,
           (size_t)components * sizeof(double));
  }
  kp_curve curve = {
    .components = components, .n = n, .interval = interval, .samples = function->samples
  };
  memcpy(curve.constant, curve.samples, (size_t)components * sizeof(double));
  memcpy(function->entity->def + function->row->offset, &curve, sizeof curve);
  return KP_OK;
}

static kp_result sample_one(lua_State *lua, kp_scene_function *function) {
  kp_scene *scene = kp_scene_of(lua);
  const kp_output_def *output = (const kp_output_def *)kp_scene_single(scene, "output")->def;
  // one frame more than the run is long, since a curve holds still behind its end
  const int32_t n = (int32_t)((output->frames + 1) * SAMPLES_PER_FRAME + 1);
  kp_sandbox_allow(&scene->sandbox, KP_SANDBOX_INSTRUCTIONS, KP_SANDBOX_SECONDS);
  KP_TRY(check_pure(lua, function, (double)output->frames / output->fps));
  kp_sandbox_allow(&scene->sandbox, KP_SANDBOX_INSTRUCTIONS + (int64_t)n * INSTRUCTIONS_PER_CALL,
                   KP_SANDBOX_SECONDS + n * SECONDS_PER_CALL);
  return sample(lua, function, n, 1.0 / (SAMPLES_PER_FRAME * output->fps));
}

static int sample_all(lua_State *lua) {
  kp_scene *scene = kp_scene_of(lua);
  for (size_t i = 0; i < scene->functions.count; ++i) {
    kp_scene_function *function = &scene->functions.data[i];
    kp_result result = KP_OK;
    if (function->reference != LUA_NOREF) {
      result = function->row->type == KP_PARAM_PLACE3 ? kp_scene_sample_place(lua, function)
                                                      : sample_one(lua, function);
    }
    if (result != KP_OK) {
      return kp_sandbox_raise(lua, kp_fail_in(result, "%s: %s \"%s\": %s", function->entity->where,
                                              function->entity->kind->word, function->entity->name,
                                              function->row->key));
    }
  }
  return 0;
}

kp_result kp_scene_sample_functions(kp_scene *scene) {
  return kp_sandbox_run(&scene->sandbox, sample_all, scene);
}
