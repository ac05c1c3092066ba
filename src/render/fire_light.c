// Flames light what is around them. Each grid is cut into a few blocks; the light its glowing cells
// give off is put into one ball per block. Shadows of this light are left out.
#include <math.h>

#include "render/pass.h"

#define BLOCKS 6      // of a volume along its longest side, at most
#define FAINT 0.004f  // share of the brightest below which a block is left out
#define BY_DAY 0.15   // of the light of flames on other things, under a bright sky
#define PI_F 3.14159265f

typedef struct block_sum {
  double light[3];  // light times volume
  double place[3];
  double weight;
} block_sum;

// Sums over the cells of one block.
static block_sum sum_block(const kp_volume_state *state, const int lo[3], const int hi[3]) {
  const int32_t *n = state->grid->n;
  const kp_render_volume *volume = state->volume;
  block_sum sum = { 0 };
  for (int k = lo[2]; k < hi[2]; ++k) {
    for (int j = lo[1]; j < hi[1]; ++j) {
      for (int i = lo[0]; i < hi[0]; ++i) {
        int64_t cell = i + (int64_t)n[0] * (j + (int64_t)n[1] * k);
        if (!(volume->emission[cell] > 0.0f)) {
          continue;
        }
        kp_rgb light = kp_volume_emitted(state, cell);
        double w = (double)kp_rgb_luminance(light);
        sum.light[0] += (double)light.r;
        sum.light[1] += (double)light.g;
        sum.light[2] += (double)light.b;
        sum.place[0] += w * (i + 0.5);
        sum.place[1] += w * (j + 0.5);
        sum.place[2] += w * (k + 0.5);
        sum.weight += w;
      }
    }
  }
  return sum;
}

// A sheet at distance d from a volume V that gives off j per metre and solid angle gets
// j V cos / (pi d^2) of what makes it white.
static kp_fire_light make_light(const kp_volume_state *state, const block_sum *sum, double edge,
                                double strength, kp_vec3 *place) {
  double cell = state->volume->cell, scale = strength * cell * cell * cell / (double)PI_F;
  kp_vec3 at = kp_vec3_make(sum->place[0] / sum->weight, sum->place[1] / sum->weight,
                            sum->place[2] / sum->weight);
  *place = kp_vec3_add(state->volume->origin, kp_vec3_scale(at, cell));
  return (kp_fire_light){ .radius = (float)(0.5 * edge),
                          .power = kp_rgb_make((float)(sum->light[0] * scale),
                                               (float)(sum->light[1] * scale),
                                               (float)(sum->light[2] * scale)) };
}

static kp_result add_volume(kp_pass *pass, const kp_volume_state *state) {
  const int32_t *n = state->grid->n;
  int most = n[0] > n[1] ? n[0] : n[1];
  most = n[2] > most ? n[2] : most;
  int step = (most + BLOCKS - 1) / BLOCKS;
  int blocks[3];
  for (int c = 0; c < 3; ++c) {
    blocks[c] = (n[c] + step - 1) / step;
  }
  // an eye that is used to the day hardly sees the light of a fire on the ground
  double strength = pass->def->background == KP_BACKGROUND_DARK ? 1.0 : BY_DAY;
  int64_t n_blocks = (int64_t)blocks[0] * blocks[1] * blocks[2];
  kp_fire_light *all =
      kp_realloc(pass->fire, (size_t)(pass->n_fire + n_blocks) * sizeof *all, KP_MEMORY_RENDER);
  if (all == NULL) {
    return KP_ERROR_MEMORY;
  }
  pass->fire = all;
  kp_vec3 *places = kp_realloc(
      pass->fire_places, (size_t)(pass->n_fire + n_blocks) * sizeof *places, KP_MEMORY_RENDER);
  if (places == NULL) {
    return KP_ERROR_MEMORY;
  }
  pass->fire_places = places;
  for (int64_t b = 0; b < n_blocks; ++b) {
    const int at[3] = { (int)(b % blocks[0]), (int)(b / blocks[0] % blocks[1]),
                        (int)(b / blocks[0] / blocks[1]) };
    int lo[3], hi[3];
    for (int c = 0; c < 3; ++c) {
      lo[c] = at[c] * step;
      hi[c] = lo[c] + step < n[c] ? lo[c] + step : n[c];
    }
    block_sum sum = sum_block(state, lo, hi);
    if (sum.weight > 0.0) {
      int at_end = pass->n_fire++;
      pass->fire[at_end] =
          make_light(state, &sum, step * state->volume->cell, strength, &places[at_end]);
    }
  }
  return KP_OK;
}

static void drop_faint(kp_pass *pass) {
  float most = 0.0f;
  int n = 0;
  for (int i = 0; i < pass->n_fire; ++i) {
    most = kp_maxf(most, kp_rgb_luminance(pass->fire[i].power));
  }
  for (int i = 0; i < pass->n_fire; ++i) {
    if (kp_rgb_luminance(pass->fire[i].power) > FAINT * most) {
      pass->fire_places[n] = pass->fire_places[i];
      pass->fire[n++] = pass->fire[i];
    }
  }
  pass->n_fire = n;
}

// Light from all around in the middles of coarse cells, for the smoke.
static kp_result warm_smoke(const kp_pass *pass, kp_volume_state *state) {
  int32_t *n_warm = state->grid->n_warm;
  int64_t n = 1;
  for (int c = 0; c < 3; ++c) {
    n_warm[c] = (state->grid->n[c] + KP_WARM_CELLS - 1) / KP_WARM_CELLS;
    n *= n_warm[c];
  }
  state->warm = kp_alloc_zero((size_t)n * sizeof(kp_rgb), KP_MEMORY_RENDER);
  if (state->warm == NULL) {
    return KP_ERROR_MEMORY;
  }
  state->grid->warm = state->warm;
  double edge = KP_WARM_CELLS * state->volume->cell;
  for (int64_t i = 0; i < n; ++i) {
    kp_vec3 at =
        kp_vec3_make((double)(i % n_warm[0]) + 0.5, (double)(i / n_warm[0] % n_warm[1]) + 0.5,
                     (double)(i / n_warm[0] / n_warm[1]) + 0.5);
    at = kp_vec3_add(state->volume->origin, kp_vec3_scale(at, edge));
    for (int l = 0; l < pass->n_fire; ++l) {
      kp_vec3 way = kp_vec3_sub(at, pass->fire_places[l]);
      // a quarter: the mean over all directions of the cosine of what faces it
      float square = (float)kp_vec3_dot(way, way);
      state->warm[i] = kp_fire_shine(state->warm[i], &pass->fire[l], square, 0.25f);
    }
  }
  return KP_OK;
}

kp_result kp_fire_lights_create(kp_pass *pass) {
  for (int k = 0; k < pass->n_volumes; ++k) {
    if (pass->volumes[k].volume->emission != NULL) {
      KP_TRY(add_volume(pass, &pass->volumes[k]));
    }
  }
  drop_faint(pass);
  for (int k = 0; k < pass->n_volumes && pass->n_fire > 0; ++k) {
    KP_TRY(warm_smoke(pass, &pass->volumes[k]));
  }
  return KP_OK;
}

void kp_fire_lights_free(kp_pass *pass) {
  for (int k = 0; k < pass->n_volumes; ++k) {
    kp_free(pass->volumes[k].warm);
  }
  kp_free(pass->fire);
  kp_free(pass->fire_places);
}

void kp_fire_lights_place(kp_pass *pass, kp_vec3 origin, const kp_vec3 axes[3]) {
  for (int i = 0; i < pass->n_fire; ++i) {
    kp_vec3 d = kp_vec3_sub(pass->fire_places[i], origin);
    pass->fire[i].at = kp_f3_make((float)kp_vec3_dot(d, axes[0]), (float)kp_vec3_dot(d, axes[1]),
                                  (float)kp_vec3_dot(d, axes[2]));
  }
}
