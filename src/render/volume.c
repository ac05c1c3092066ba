// Smoke and fire as dense grids, lit by sun and sky; volume_march.h has the rays through them.
//
// The optical depth from each cell towards the sun, and straight up for sky light, is found once
// per frame by a sweep: slabs square to the main axis of the direction, each from the one before,
// so the cost is a few operations per cell.
#include <math.h>

#include "math/blackbody.h"
#include "par/parallel.h"
#include "render/pass.h"
#include "render/volume_march.h"

// Where a gas begins to glow and where all of it does; the table of its light [K].
#define GLOW_FROM 800.0
#define GLOW_TO 6000.0
#define GLOW_WHITE 2000.0  // seen as bright as look.emission says
#define GLOW_FULL 1.6      // brightest a colour of it gets
#define GLOW_ADAPTED 0.4   // of the ratio of luminances, as an eye sees it that is used to the fire

// Extinction of density 1: a length of a thirtieth of the scene's takes out all but 1/e.
#define PARTS_OF_SCENE 30.0
#define PLAIN_EMISSION 4.0

static float kp_volume_open(const void *owner, kp_f3 place) {
  return kp_shadow_at(owner, place);
}

// One direction of the sweep. Axes (a, b) span a slab, m is the main axis.
typedef struct sweep {
  kp_volume_state *state;
  int a, b, m;
  float step_a, step_b;  // cells sideways while the main axis moves one cell towards the light
  float length;          // of that step [cells]
  int from, toward;      // slab, and the one next to it on the side of the light
  bool up;
} sweep;

static int64_t cell_at(const sweep *s, int a, int b, int m) {
  int64_t index[3];
  index[s->a] = a;
  index[s->b] = b;
  index[s->m] = m;
  return index[0] + s->state->grid->n[0] * (index[1] + s->state->grid->n[1] * index[2]);
}

static float depth_of(const sweep *s, int64_t cell) {
  return s->up ? s->state->light[cell].up : s->state->light[cell].sun;
}

// Optical depth and density in the next slab where the ray of cell (a, b) crosses it; nothing
// outside.
static void look_ahead(const sweep *s, int a, int b, float *depth, float *density) {
  const int32_t *n = s->state->grid->n;
  float fa = (float)a + s->step_a, fb = (float)b + s->step_b;
  *depth = *density = 0.0f;
  int a0 = (int)floorf(fa), b0 = (int)floorf(fb);
  float ta = fa - (float)a0, tb = fb - (float)b0;
  for (int corner = 0; corner < 4; ++corner) {
    int i = a0 + (corner & 1), j = b0 + (corner >> 1);
    float w = (corner & 1 ? ta : 1.0f - ta) * (corner >> 1 ? tb : 1.0f - tb);
    if (i >= 0 && j >= 0 && i < n[s->a] && j < n[s->b]) {
      int64_t cell = cell_at(s, i, j, s->toward);
      *depth += w * depth_of(s, cell);
      *density += w * s->state->volume->density[cell];
    }
  }
}

static void sweep_rows(int64_t begin, int64_t end, void *context) {
  const sweep *s = context;
  kp_volume_state *state = s->state;
  for (int b = (int)begin; b < (int)end; ++b) {
    for (int a = 0; a < state->grid->n[s->a]; ++a) {
      int64_t cell = cell_at(s, a, b, s->from);
      float here = state->volume->density[cell], depth, there;
      float result;
      if (s->toward < 0 || s->toward >= state->grid->n[s->m]) {
        result = 0.5f * here * s->length * state->grid->extinction;
      } else {
        look_ahead(s, a, b, &depth, &there);
        result = depth + 0.5f * (here + there) * s->length * state->grid->extinction;
      }
      if (s->up) {
        state->light[cell].up = result;
      } else {
        state->light[cell].sun = result;
      }
    }
  }
}

static void sweep_light(kp_volume_state *state, kp_vec3 direction, bool up) {
  double d[3] = { direction.x, direction.y, direction.z };
  sweep s = { .state = state, .up = up };
  s.m = fabs(d[0]) > fabs(d[1]) ? 0 : 1;
  s.m = fabs(d[2]) > fabs(d[s.m]) ? 2 : s.m;
  s.a = s.m == 0 ? 1 : 0;
  s.b = s.m == 2 ? 1 : 2;
  double main = fabs(d[s.m]);
  s.step_a = (float)(d[s.a] / main);
  s.step_b = (float)(d[s.b] / main);
  s.length = (float)(kp_vec3_length(direction) / main);
  int sign = d[s.m] > 0.0 ? 1 : -1, n = state->grid->n[s.m];
  for (int k = 0; k < n; ++k) {
    s.from = sign > 0 ? n - 1 - k : k;
    s.toward = s.from + sign;
    kp_parallel_for(state->grid->n[s.b], 8, sweep_rows, &s);
  }
}

// Range of the values that colour the emission.
static void set_glow(kp_volume_state *state, const float *values, int64_t n) {
  const kp_look_def *look = &state->volume->look;
  double low = look->range_min, high = look->range_max;
  if (!(high != low) && values != NULL) {
    low = HUGE_VAL;
    high = -HUGE_VAL;
    for (int64_t i = 0; i < n; ++i) {
      low = values[i] < low ? (double)values[i] : low;
      high = values[i] > high ? (double)values[i] : high;
    }
  }
  state->grid->glow_min = isfinite(low) ? (float)low : 0.0f;
  state->grid->glow_scale = isfinite(high - low) && high > low ? (float)(1.0 / (high - low)) : 1.0f;
  for (int i = 0; i < KP_EMISSION_STEPS; ++i) {
    double t = (double)i / (KP_EMISSION_STEPS - 1);
    state->glow[i] = state->shine[i] = kp_colormap_eval((kp_colormap)look->color_map, t);
  }
}

// Film answers each colour by itself, and less and less: red is full first, so that what glows
// brighter turns from red over orange and yellow to white.
static float film(double light) {
  return (float)(GLOW_FULL * (1.0 - exp(-fmax(light, 0.0) / GLOW_FULL)));
}

// Light of a hot gas: colour by Planck's law, luminance as an eye takes it that is adapted to fire
// (Nguyen, Fedkiw and Jensen 2002, section 5.2, in place of their fit of the white point).
static void set_blackbody(kp_volume_state *state) {
  state->grid->glow_min = (float)GLOW_FROM;
  state->grid->glow_scale = (float)(1.0 / (GLOW_TO - GLOW_FROM));
  double white = kp_blackbody_luminance(GLOW_WHITE);
  for (int i = 0; i < KP_EMISSION_STEPS; ++i) {
    double kelvin = GLOW_FROM + (GLOW_TO - GLOW_FROM) * i / (KP_EMISSION_STEPS - 1);
    double light = pow(kp_blackbody_luminance(kelvin) / white, GLOW_ADAPTED), rgb[3];
    light *= (double)state->grid->strength;
    kp_blackbody_color(kelvin, rgb);
    kp_rgb seen = kp_rgb_make(film(light * rgb[0]), film(light * rgb[1]), film(light * rgb[2]));
    state->glow[i] = seen;
    // as bright, but of its own colour: what it falls on is far from full
    float luminance = kp_rgb_luminance(seen);
    state->shine[i] = kp_rgb_scale(
        kp_rgb_make((float)fmax(rgb[0], 0.0), (float)fmax(rgb[1], 0.0), (float)fmax(rgb[2], 0.0)),
        luminance);
  }
}

// Cube root of what the box holds; of its face where it is flat.
static double scene_size(const kp_aabb *box) {
  kp_vec3 d = kp_vec3_sub(box->max, box->min);
  return d.z > 0.0 ? cbrt(d.x * d.y * d.z) : sqrt(d.x * d.y);
}

// ---- while the shutter is open

static kp_result make_movable(kp_volume_state *state, int64_t n) {
  const float *values[3] = { state->still->density, state->still->emission, state->still->scalar };
  state->moved = *state->still;
  const float **to[3] = { &state->moved.density, &state->moved.emission, &state->moved.scalar };
  for (int k = 0; k < 3; ++k) {
    if (values[k] == NULL) {
      continue;
    }
    state->moved_values[k] = kp_alloc((size_t)n * sizeof(float), KP_MEMORY_RENDER);
    if (state->moved_values[k] == NULL) {
      return KP_ERROR_MEMORY;
    }
    *to[k] = state->moved_values[k];
  }
  state->volume = &state->moved;
  return KP_OK;
}

typedef struct move_context {
  kp_volume_state *state;
  float cells;  // per m/s, at the moment of the pass
} move_context;

// What is at a cell now was `moment` seconds ago where its velocity comes from (Stam 1999, "Stable
// Fluids"); the light on it is that of the middle of the time.
static void move_slabs(int64_t begin, int64_t end, void *context) {
  const move_context *c = context;
  const kp_volume_state *state = c->state;
  const kp_render_volume *v = state->still;
  const float *from[3] = { v->density, v->emission, v->scalar };
  for (int64_t k = begin; k < end; ++k) {
    for (int64_t j = 0; j < v->ny; ++j) {
      for (int64_t i = 0; i < v->nx; ++i) {
        int64_t cell = i + v->nx * (j + v->ny * k);
        kp_f3 g = kp_f3_make((float)i + 0.5f - c->cells * v->velocities[0][cell],
                             (float)j + 0.5f - c->cells * v->velocities[1][cell],
                             (float)k + 0.5f - c->cells * v->velocities[2][cell]);
        kp_volume_corners at = kp_volume_find(state->grid->n, g);
        for (int f = 0; f < 3; ++f) {
          if (state->moved_values[f] != NULL) {
            state->moved_values[f][cell] = kp_volume_sample(from[f], &at);
          }
        }
      }
    }
  }
}

static void move_volume(kp_volume_state *state, double moment) {
  move_context c = { state, (float)(moment / state->still->cell) };
  kp_parallel_for(state->still->nz, 1, move_slabs, &c);
}

static kp_result create_volume(kp_pass *pass, kp_volume_state *state,
                               const kp_render_volume *volume) {
  const kp_look_def *look = &volume->look;
  kp_volume_grid *grid = state->grid;
  state->volume = state->still = volume;
  grid->n[0] = volume->nx;
  grid->n[1] = volume->ny;
  grid->n[2] = volume->nz;
  grid->cell = (float)volume->cell;
  grid->anisotropy = (float)look->anisotropy;
  grid->is_once = look->scattering == KP_SCATTER_ONCE;
  // slices are a way of the rasteriser
  grid->is_sliced = look->method == KP_VOLUME_SLICES && !pass->by_rays;
  grid->is_hot = volume->is_hot;
  double size = scene_size(&pass->bounds);
  double density = isnan(look->density) ? PARTS_OF_SCENE / size : look->density;
  grid->extinction = (float)(density * volume->cell);
  grid->opacity = grid->extinction;
  if (volume->depth > 0.0 && volume->nz == 1) {
    grid->opacity = (float)(density * volume->depth);
  }
  grid->strength = (float)(isnan(look->emission) ? PLAIN_EMISSION : look->emission);
  grid->scatter =
      kp_rgb_make(kp_srgb_decode((float)look->color.x), kp_srgb_decode((float)look->color.y),
                  kp_srgb_decode((float)look->color.z));
  int64_t n = (int64_t)volume->nx * volume->ny * volume->nz;
  if (volume->emission != NULL && volume->is_hot) {
    set_blackbody(state);
    grid->strength = 1.0f;
  } else if (volume->emission != NULL) {
    set_glow(state, volume->scalar != NULL ? volume->scalar : volume->emission, n);
  }
  state->light = kp_alloc((size_t)n * sizeof(kp_light_depth), KP_MEMORY_RENDER);
  if (state->light == NULL) {
    return KP_ERROR_MEMORY;
  }
  sweep_light(state, pass->light.sun, false);
  sweep_light(state, pass->light.up, true);
  if (pass->def->shutter > 0.0 && pass->scene->interval > 0.0 && volume->velocities[0] != NULL) {
    KP_TRY(make_movable(state, n));
    move_volume(state, 0.0);
  }
  grid->density = state->volume->density;
  grid->emission = state->volume->emission;
  grid->scalar = state->volume->scalar;
  grid->light = state->light;
  grid->glow = state->glow;
  return KP_OK;
}

kp_result kp_volumes_create(kp_pass *pass) {
  const kp_render_scene *scene = pass->scene;
  if (scene->n_volumes == 0) {
    return KP_OK;
  }
  pass->volumes =
      kp_alloc_zero((size_t)scene->n_volumes * sizeof(kp_volume_state), KP_MEMORY_RENDER);
  pass->grids = kp_alloc_zero((size_t)scene->n_volumes * sizeof(kp_volume_grid), KP_MEMORY_RENDER);
  if (pass->volumes == NULL || pass->grids == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int k = 0; k < scene->n_volumes; ++k) {
    if (scene->volumes[k].look.visible) {
      kp_volume_state *state = &pass->volumes[pass->n_volumes];
      state->grid = &pass->grids[pass->n_volumes++];
      KP_TRY(create_volume(pass, state, &scene->volumes[k]));
    }
  }
  KP_TRY(kp_slices_create(pass));
  return kp_fire_lights_create(pass);
}

void kp_volumes_free(kp_pass *pass) {
  kp_fire_lights_free(pass);
  kp_slices_free(pass);
  for (int k = 0; k < pass->n_volumes; ++k) {
    kp_free(pass->volumes[k].light);
    for (int f = 0; f < 3; ++f) {
      kp_free(pass->volumes[k].moved_values[f]);
    }
  }
  kp_free(pass->volumes);
  kp_free(pass->grids);
}

static kp_f3 grid_vector(const kp_volume_state *state, kp_vec3 v) {
  double k = 1.0 / state->volume->cell;
  return kp_f3_make((float)(v.x * k), (float)(v.y * k), (float)(v.z * k));
}

void kp_volumes_place(kp_pass *pass, kp_vec3 origin, const kp_vec3 axes[3]) {
  const kp_light *light = &pass->light;
  kp_vec3 sun = light->sun;
  for (int k = 0; k < pass->n_volumes; ++k) {
    kp_volume_state *state = &pass->volumes[k];
    kp_volume_grid *grid = state->grid;
    if (state->volume == &state->moved) {
      move_volume(state, pass->moment);
    }
    grid->axis_x = grid_vector(state, axes[0]);
    grid->axis_y = grid_vector(state, axes[1]);
    grid->axis_z = grid_vector(state, axes[2]);
    grid->origin = grid_vector(state, kp_vec3_sub(origin, state->volume->origin));
    grid->sun = grid_vector(state, sun);
    grid->sun_step = (float)(1.0 / fmax(fabs(sun.x), fmax(fabs(sun.y), fabs(sun.z))));
  }
  pass->air = (kp_volume_air){ .grids = pass->grids,
                               .n = pass->n_volumes,
                               // many passes shift their steps: they may be long
                               .coarse = pass->count >= 8 ? 2.0f : 1.0f,
                               .sun = kp_f3_make((float)kp_vec3_dot(sun, axes[0]),
                                                 (float)kp_vec3_dot(sun, axes[1]),
                                                 (float)kp_vec3_dot(sun, axes[2])),
                               .sun_color = light->sun_color,
                               .ambient_up = light->ambient_up,
                               .ambient_side = light->ambient_side,
                               .ambient_down = light->ambient_down };
  kp_fire_lights_place(pass, origin, axes);
}

void kp_volumes_project(kp_pass *pass) {
  const kp_camera_frame *f = &pass->view.frame;
  const kp_vec3 axes[3] = { f->right, kp_vec3_scale(f->up, -1.0), f->forward };
  kp_volumes_place(pass, pass->view.origin, axes);
}

kp_rgb kp_volume_emitted(const kp_volume_state *state, int64_t cell) {
  const kp_render_volume *volume = state->volume;
  float share = volume->emission[cell] * state->grid->strength;
  // a hot gas gives off as it takes out (Kirchhoff)
  share *= volume->is_hot ? state->grid->extinction / state->grid->cell : 1.0f;
  const float *scalar = volume->scalar != NULL ? volume->scalar : volume->emission;
  return kp_rgb_scale(state->shine[kp_volume_glow_step(state->grid, scalar[cell])], share);
}

float kp_volumes_extinction(const kp_pass *pass, kp_vec3 place) {
  float sum = 0.0f;
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_volume_state *state = &pass->volumes[k];
    if (!state->grid->is_sliced) {
      continue;
    }
    kp_f3 g = grid_vector(state, kp_vec3_sub(place, state->volume->origin));
    if (kp_volume_holds(state->grid, g)) {
      kp_volume_corners c = kp_volume_find(state->grid->n, g);
      float density = kp_volume_sample(state->grid->density, &c);
      sum += density * state->grid->extinction / state->grid->cell;
    }
  }
  return sum;
}

bool kp_volumes_aim(const kp_pass *pass, kp_march *march) {
  return kp_volume_aim(&pass->air, march);
}

void kp_volumes_march(const kp_pass *pass, kp_march *march, float from, float to) {
  kp_volume_march(&pass->air, pass, march, from, to);
}

void kp_volumes_gather(const kp_pass *pass, const kp_volume_grid *grid,
                       const kp_volume_place *place, kp_volume_step *step) {
  kp_volume_gather(&pass->air, pass, grid, place, step);
}
