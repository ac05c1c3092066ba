// Smoke and fire: rays marched through dense grids, lit by sun and sky (Kajiya and Von Herzen 1984,
// "Ray tracing volume densities").
//
// The optical depth from each cell towards the sun, and straight up for sky light, is found once
// per frame by a sweep: slabs square to the main axis of the direction, each from the one before,
// so the cost is a few operations per cell. Light scattered many times is added as weaker,
// farther-reaching copies of the first scattering (Wrenninge, Kulla and Lundqvist 2013, "Oz: The
// Great and Volumetric").
#include <math.h>

#include "math/blackbody.h"
#include "par/parallel.h"
#include "render/pass.h"

#define DARK_ENOUGH 0.002f
// Where a gas begins to glow and where all of it does; the table of its light [K].
#define GLOW_FROM 800.0
#define GLOW_TO 6000.0
#define GLOW_WHITE 2000.0  // seen as bright as look.emission says
#define GLOW_FULL 1.6      // brightest a colour of it gets
#define GLOW_ADAPTED 0.4   // of the ratio of luminances, as an eye sees it that is used to the fire

// Extinction of density 1: a length of a thirtieth of the scene's takes out all but 1/e.
#define PARTS_OF_SCENE 30.0
#define PLAIN_EMISSION 4.0

// The eight cells around a point and its place between them.
typedef struct corners {
  int64_t at;          // lowest cell
  int64_t dx, dy, dz;  // steps to the others; 0 at the rim
  float fx, fy, fz;
} corners;

static int split(float g, int n, float *fraction) {
  float v = kp_clampf(g - 0.5f, 0.0f, (float)(n - 1));
  int i = (int)v;
  i = i > n - 2 ? (n > 1 ? n - 2 : 0) : i;
  *fraction = v - (float)i;
  return i;
}

static corners find_corners(const int *n, kp_f3 g) {
  corners c;
  int i = split(g.x, n[0], &c.fx), j = split(g.y, n[1], &c.fy), k = split(g.z, n[2], &c.fz);
  int64_t row = n[0], slab = (int64_t)n[0] * n[1];
  c.at = i + row * j + slab * k;
  c.dx = n[0] > 1 ? 1 : 0;
  c.dy = n[1] > 1 ? row : 0;
  c.dz = n[2] > 1 ? slab : 0;
  return c;
}

static float lerp(float a, float b, float t) {
  return a + t * (b - a);
}

static float sample(const float *values, const corners *c) {
  const float *p = values + c->at;
  float a = lerp(lerp(p[0], p[c->dx], c->fx), lerp(p[c->dy], p[c->dx + c->dy], c->fx), c->fy);
  p += c->dz;
  float b = lerp(lerp(p[0], p[c->dx], c->fx), lerp(p[c->dy], p[c->dx + c->dy], c->fx), c->fy);
  return lerp(a, b, c->fz);
}

static kp_light_depth mix_depth(kp_light_depth a, kp_light_depth b, float t) {
  return (kp_light_depth){ lerp(a.sun, b.sun, t), lerp(a.up, b.up, t) };
}

static kp_light_depth sample_light(const kp_light_depth *values, const corners *c) {
  const kp_light_depth *p = values + c->at;
  kp_light_depth a = mix_depth(mix_depth(p[0], p[c->dx], c->fx),
                               mix_depth(p[c->dy], p[c->dx + c->dy], c->fx), c->fy);
  p += c->dz;
  kp_light_depth b = mix_depth(mix_depth(p[0], p[c->dx], c->fx),
                               mix_depth(p[c->dy], p[c->dx + c->dy], c->fx), c->fy);
  return mix_depth(a, b, c->fz);
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
  return index[0] + s->state->n[0] * (index[1] + s->state->n[1] * index[2]);
}

static float depth_of(const sweep *s, int64_t cell) {
  return s->up ? s->state->light[cell].up : s->state->light[cell].sun;
}

// Optical depth and density in the next slab where the ray of cell (a, b) crosses it; nothing
// outside.
static void look_ahead(const sweep *s, int a, int b, float *depth, float *density) {
  const int *n = s->state->n;
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
    for (int a = 0; a < state->n[s->a]; ++a) {
      int64_t cell = cell_at(s, a, b, s->from);
      float here = state->volume->density[cell], depth, there;
      float result;
      if (s->toward < 0 || s->toward >= state->n[s->m]) {
        result = 0.5f * here * s->length * state->extinction;
      } else {
        look_ahead(s, a, b, &depth, &there);
        result = depth + 0.5f * (here + there) * s->length * state->extinction;
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
  int sign = d[s.m] > 0.0 ? 1 : -1, n = state->n[s.m];
  for (int k = 0; k < n; ++k) {
    s.from = sign > 0 ? n - 1 - k : k;
    s.toward = s.from + sign;
    kp_parallel_for(state->n[s.b], 8, sweep_rows, &s);
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
  state->glow_min = isfinite(low) ? (float)low : 0.0f;
  state->glow_scale = isfinite(high - low) && high > low ? (float)(1.0 / (high - low)) : 1.0f;
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
  state->glow_min = (float)GLOW_FROM;
  state->glow_scale = (float)(1.0 / (GLOW_TO - GLOW_FROM));
  double white = kp_blackbody_luminance(GLOW_WHITE);
  for (int i = 0; i < KP_EMISSION_STEPS; ++i) {
    double kelvin = GLOW_FROM + (GLOW_TO - GLOW_FROM) * i / (KP_EMISSION_STEPS - 1);
    double light = pow(kp_blackbody_luminance(kelvin) / white, GLOW_ADAPTED), rgb[3];
    light *= (double)state->emission;
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
        corners at = find_corners(state->n, g);
        for (int f = 0; f < 3; ++f) {
          if (state->moved_values[f] != NULL) {
            state->moved_values[f][cell] = sample(from[f], &at);
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
  state->volume = state->still = volume;
  state->n[0] = volume->nx;
  state->n[1] = volume->ny;
  state->n[2] = volume->nz;
  state->cell = (float)volume->cell;
  state->anisotropy = (float)look->anisotropy;
  state->once = look->scattering == KP_SCATTER_ONCE;
  state->sliced = look->method == KP_VOLUME_SLICES;
  double size = scene_size(&pass->bounds);
  double density = isnan(look->density) ? PARTS_OF_SCENE / size : look->density;
  state->extinction = (float)(density * volume->cell);
  state->opacity = state->extinction;
  if (volume->depth > 0.0 && volume->nz == 1) {
    state->opacity = (float)(density * volume->depth);
  }
  state->emission = (float)(isnan(look->emission) ? PLAIN_EMISSION : look->emission);
  state->scatter =
      kp_rgb_make(kp_srgb_decode((float)look->color.x), kp_srgb_decode((float)look->color.y),
                  kp_srgb_decode((float)look->color.z));
  int64_t n = (int64_t)volume->nx * volume->ny * volume->nz;
  if (volume->emission != NULL && volume->is_hot) {
    set_blackbody(state);
    state->emission = 1.0f;
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
  return KP_OK;
}

kp_result kp_volumes_create(kp_pass *pass) {
  const kp_render_scene *scene = pass->scene;
  if (scene->n_volumes == 0) {
    return KP_OK;
  }
  pass->volumes =
      kp_alloc_zero((size_t)scene->n_volumes * sizeof(kp_volume_state), KP_MEMORY_RENDER);
  if (pass->volumes == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int k = 0; k < scene->n_volumes; ++k) {
    if (scene->volumes[k].look.visible) {
      KP_TRY(create_volume(pass, &pass->volumes[pass->n_volumes++], &scene->volumes[k]));
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
}

static kp_f3 grid_vector(const kp_volume_state *state, kp_vec3 v) {
  double k = 1.0 / state->volume->cell;
  return kp_f3_make((float)(v.x * k), (float)(v.y * k), (float)(v.z * k));
}

// Relate grid coordinates to the camera of this pass.
void kp_volumes_project(kp_pass *pass) {
  const kp_view *view = &pass->view;
  for (int k = 0; k < pass->n_volumes; ++k) {
    kp_volume_state *state = &pass->volumes[k];
    if (state->volume == &state->moved) {
      move_volume(state, pass->moment);
    }
    state->axis_x = grid_vector(state, view->frame.right);
    state->axis_y = grid_vector(state, kp_vec3_scale(view->frame.up, -1.0));
    state->axis_z = grid_vector(state, view->frame.forward);
    state->eye = grid_vector(state, kp_vec3_sub(view->origin, state->volume->origin));
    state->sun = grid_vector(state, pass->light.sun);
    kp_vec3 sun = pass->light.sun;
    state->sun_step = (float)(1.0 / fmax(fabs(sun.x), fmax(fabs(sun.y), fabs(sun.z))));
  }
  kp_fire_lights_project(pass);
}

static kp_f3 to_grid(const kp_volume_state *state, kp_f3 p) {
  kp_f3 g = kp_f3_madd(state->eye, p.x, state->axis_x);
  g = kp_f3_madd(g, p.y, state->axis_y);
  return kp_f3_madd(g, p.z, state->axis_z);
}

static void clip_axis(float start, float step, int n, float *enter, float *leave) {
  if (step == 0.0f) {
    if (start < 0.0f || start > (float)n) {
      *leave = -HUGE_VALF;
    }
    return;
  }
  float a = -start / step, b = ((float)n - start) / step;
  *enter = kp_maxf(*enter, kp_minf(a, b));
  *leave = kp_minf(*leave, kp_maxf(a, b));
}

// Part of start + t step inside the grid, t > 0.
static void clip_to_grid(const int *n, kp_f3 start, kp_f3 step, float *enter, float *leave) {
  *enter = 0.0f;
  *leave = HUGE_VALF;
  clip_axis(start.x, step.x, n[0], enter, leave);
  clip_axis(start.y, step.y, n[1], enter, leave);
  clip_axis(start.z, step.z, n[2], enter, leave);
}

float kp_volumes_sunlight(const kp_pass *pass, kp_f3 position) {
  float depth = 0.0f;
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_volume_state *state = &pass->volumes[k];
    kp_f3 start = to_grid(state, position);
    float enter, leave;
    clip_to_grid(state->n, start, state->sun, &enter, &leave);
    if (enter < leave) {
      corners c = find_corners(state->n, kp_f3_madd(start, enter, state->sun));
      depth += sample_light(state->light, &c).sun;
      // depths are kept at cell middles: from outside, half a cell comes before the first
      if (enter > 0.0f) {
        depth += 0.5f * state->sun_step * state->extinction * sample(state->volume->density, &c);
      }
    }
  }
  return depth > 0.0f ? expf(-depth) : 1.0f;
}

bool kp_volumes_aim(const kp_pass *pass, kp_march *march) {
  bool any = false;
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_volume_state *state = &pass->volumes[k];
    kp_volume_ray *ray = &march->rays[k];
    ray->start = to_grid(state, march->origin);
    ray->step = kp_f3_sub(to_grid(state, march->direction), state->eye);
    clip_to_grid(state->n, ray->start, ray->step, &ray->enter, &ray->leave);
    ray->leave = state->sliced ? -HUGE_VALF : ray->leave;
    if (ray->enter < ray->leave) {
      any = true;
      kp_volume_set_phase(state, kp_f3_dot(march->direction, pass->sun) / march->length,
                          ray->phase);
    }
  }
  return any;
}

static int glow_step(const kp_volume_state *state, float value) {
  float t = kp_clampf((value - state->glow_min) * state->glow_scale, 0.0f, 1.0f);
  return (int)(t * (float)(KP_EMISSION_STEPS - 1));
}

static kp_rgb glow_color(const kp_volume_state *state, const corners *c, float emitted) {
  const float *scalar = state->volume->scalar;
  return state->glow[glow_step(state, scalar != NULL ? sample(scalar, c) : emitted)];
}

kp_rgb kp_volume_emitted(const kp_volume_state *state, int64_t cell) {
  const kp_render_volume *volume = state->volume;
  float share = volume->emission[cell] * state->emission;
  // a hot gas gives off as it takes out (Kirchhoff)
  share *= volume->is_hot ? state->extinction / state->cell : 1.0f;
  const float *scalar = volume->scalar != NULL ? volume->scalar : volume->emission;
  return kp_rgb_scale(state->shine[glow_step(state, scalar[cell])], share);
}

// Light of flames on the smoke at a place in grid coordinates.
static kp_rgb sample_warm(const kp_volume_state *state, kp_f3 g) {
  corners c = find_corners(state->n_warm, kp_f3_scale(g, 1.0f / KP_WARM_CELLS));
  const kp_rgb *p = state->warm + c.at;
  kp_rgb a =
      kp_rgb_mix(kp_rgb_mix(p[0], p[c.dx], c.fx), kp_rgb_mix(p[c.dy], p[c.dx + c.dy], c.fx), c.fy);
  p += c.dz;
  kp_rgb b =
      kp_rgb_mix(kp_rgb_mix(p[0], p[c.dx], c.fx), kp_rgb_mix(p[c.dy], p[c.dx + c.dy], c.fx), c.fy);
  return kp_rgb_mix(a, b, c.fz);
}

// Henyey and Greenstein 1941 over that of light to all sides. What is scattered again goes less and
// less forwards.
void kp_volume_set_phase(const kp_volume_state *state, float cosine, float *phase) {
  float g = state->anisotropy;
  for (int i = 0; i < KP_SCATTERINGS; ++i) {
    float d = 1.0f + g * g - 2.0f * g * cosine;
    phase[i] = (1.0f - g * g) / (d * sqrtf(d));
    g *= 0.5f;
  }
}

// Sunlight scattered towards the eye per unit of what is taken out of the ray. Exactly once: a
// quarter of what a white sheet in the sun sends back, since that is irradiance / pi and a
// scatterer spreads it over 4 pi.
static float scattered_sun(const kp_volume_state *state, float depth, const float *phase) {
  if (state->once) {
    return 0.25f * phase[0] * expf(-depth);
  }
  float strength = 0.0f, weight = 0.65f, reach = 1.0f;
  for (int i = 0; i < KP_SCATTERINGS; ++i) {
    strength += weight * phase[i] * expf(-reach * depth);
    weight *= 0.5f;
    reach *= 0.35f;
  }
  return strength;
}

// Light scattered towards the eye per unit of what is taken out of the ray.
static kp_rgb scattered(const kp_pass *pass, const kp_volume_state *state, kp_light_depth depth,
                        float sun_open, const float *phase) {
  float strength = scattered_sun(state, depth.sun, phase);
  kp_rgb sum = kp_rgb_scale(pass->light.sun_color, strength * sun_open);
  float above = expf(-0.5f * depth.up), around = expf(-0.2f * depth.up);
  sum = kp_rgb_add(sum, kp_rgb_scale(pass->light.ambient_up, 0.55f * above));
  sum = kp_rgb_add(sum, kp_rgb_scale(pass->light.ambient_side, 0.30f * around));
  sum = kp_rgb_add(sum, kp_rgb_scale(pass->light.ambient_down, 0.25f));
  return kp_rgb_mul(sum, state->scatter);
}

void kp_volume_gather(const kp_pass *pass, const kp_volume_state *state,
                      const kp_volume_place *place, kp_volume_step *step) {
  corners c = find_corners(state->n, place->grid);
  float per_metre = state->opacity / state->cell, metres = place->metres;
  float density = sample(state->volume->density, &c);
  if (density > 0.0f) {
    if (step->sun_open < 0.0f) {
      step->sun_open = kp_shadow_at(pass, place->view);
    }
    float part = density * per_metre * metres;
    kp_light_depth depth = sample_light(state->light, &c);
    depth.sun = place->sun_depth >= 0.0f ? place->sun_depth : depth.sun;
    kp_rgb light = scattered(pass, state, depth, step->sun_open, place->phase);
    if (state->warm != NULL) {
      light = kp_rgb_add(light, kp_rgb_mul(sample_warm(state, place->grid), state->scatter));
    }
    step->gathered = kp_rgb_add(step->gathered, kp_rgb_scale(light, part));
    step->taken += part;
  }
  float glow = state->volume->emission != NULL ? sample(state->volume->emission, &c) : 0.0f;
  if (glow > 0.0f) {
    kp_rgb color = kp_rgb_scale(glow_color(state, &c, glow), glow * state->emission * metres);
    if (state->volume->is_hot) {
      step->gathered = kp_rgb_add(step->gathered, kp_rgb_scale(color, per_metre));
      step->taken += glow * per_metre * metres;
    } else {
      step->emitted = kp_rgb_add(step->emitted, color);
    }
  }
}

// Over a step of even density: the integral of exp(-t) from 0 to what is taken.
kp_rgb kp_volume_light(const kp_volume_step *step, float *left) {
  *left = 1.0f;
  if (!(step->taken > 0.0f)) {
    return step->emitted;
  }
  *left = expf(-step->taken);
  return kp_rgb_scale(kp_rgb_add(step->gathered, step->emitted), (1.0f - *left) / step->taken);
}

float kp_volumes_extinction(const kp_pass *pass, kp_vec3 place) {
  float sum = 0.0f;
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_volume_state *state = &pass->volumes[k];
    if (!state->sliced) {
      continue;
    }
    kp_f3 g = grid_vector(state, kp_vec3_sub(place, state->volume->origin));
    bool inside = g.x >= 0.0f && g.y >= 0.0f && g.z >= 0.0f && g.x <= (float)state->n[0] &&
                  g.y <= (float)state->n[1] && g.z <= (float)state->n[2];
    if (inside) {
      corners c = find_corners(state->n, g);
      sum += sample(state->volume->density, &c) * state->extinction / state->cell;
    }
  }
  return sum;
}

// Take one step of length dt (in depth) at the depth t through all grids that hold it.
static void march_step(const kp_pass *pass, kp_march *march, float t, float dt) {
  kp_volume_step step = { .sun_open = -1.0f };
  kp_volume_place place = { .view = kp_f3_madd(march->origin, t, march->direction),
                            .metres = dt * march->length,
                            .sun_depth = -1.0f };
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_volume_ray *ray = &march->rays[k];
    if (t >= ray->enter && t <= ray->leave) {
      place.grid = kp_f3_madd(ray->start, t, ray->step);
      place.phase = ray->phase;
      kp_volume_gather(pass, &pass->volumes[k], &place, &step);
    }
  }
  float left;
  kp_rgb light = kp_volume_light(&step, &left);
  march->color = kp_rgb_add(march->color, kp_rgb_scale(light, march->transmittance));
  march->transmittance *= left;
}

// The piece from `from` in which the set of grids stays the same; false when none holds it.
static bool find_piece(const kp_pass *pass, const kp_march *march, float from, float *to,
                       float *step) {
  bool any = false;
  float coarse = pass->count >= 8 ? 2.0f : 1.0f;  // many passes shift their steps: they may be long
  *step = HUGE_VALF;
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_volume_ray *ray = &march->rays[k];
    if (ray->enter >= ray->leave || ray->leave <= from) {
      continue;
    }
    if (ray->enter > from) {
      *to = kp_minf(*to, ray->enter);
      continue;
    }
    *to = kp_minf(*to, ray->leave);
    *step = kp_minf(*step, coarse / sqrtf(kp_f3_dot(ray->step, ray->step)));
    any = true;
  }
  return any;
}

void kp_volumes_march(const kp_pass *pass, kp_march *march, float from, float to) {
  while (from < to && march->transmittance > DARK_ENOUGH) {
    float end = to, step;
    if (find_piece(pass, march, from, &end, &step)) {
      int n = (int)ceilf((end - from) / step);
      float dt = (end - from) / (float)n;
      for (int i = 0; i < n && march->transmittance > DARK_ENOUGH; ++i) {
        march_step(pass, march, from + ((float)i + march->noise) * dt, dt);
      }
    } else if (!(end < to)) {
      return;
    }
    from = end;
  }
}
