// What becomes of one particle of a flame in time: it is born at a random place of the emitter,
// fades at a rate that grows towards the rim, dies and is born again (Lyes 2015, sections 4.1 and
// 6.2). All random numbers are functions of the particle's id and how often it was born.
#pragma once

#include "geom/random_points.h"

// In the order of kp_fire_emitter.
typedef enum flame_emitter {
  FLAME_BALL,
  FLAME_DISC,
  FLAME_CLUSTERED_DISC,
  FLAME_BLOCK,
  FLAME_SPHERE
} flame_emitter;

// Which draw of a birth serves what; each has four numbers.
enum { FLAME_PLACE, FLAME_VELOCITY, FLAME_LIFT, FLAME_LIFE, FLAME_COLOR, FLAME_DRAWS };

// How particles are born.
typedef struct flame_birth {
  uint64_t seed;
  int32_t emitter;
  int32_t up;         // axis
  int32_t dimension;  // 2: in the plane z = 0
  double center[3];
  double radius;
  double size[3];  // of a block
  double velocity[3], velocity_spread[3];
  double burst;  // m/s at the rim, away from the centre
  double acceleration[3], acceleration_spread[3];
  double decay_center, decay_rim;  // 1/s
  double life_spread;
  double color[3], color_spread[3], color_rim[3];
} flame_birth;

typedef struct flame_life_args {
  flame_birth birth;
  double dt;
  double lo[3], hi[3];  // whoever leaves this box dies
  int32_t respawn;      // 0: the dead stay dead
  int32_t first;        // 1: everyone is born now
  int32_t stagger;      // with `first`: part of the life is over already
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  kp_real *lx, *ly, *lz;  // acceleration of its own; may be NULL
  kp_real *life, *decay, *alpha;
  kp_real *red, *green, *blue;
  uint32_t *births;
  const uint64_t *id;
  uint8_t *fresh;  // of integrators that carry motion in fields of their own; else NULL
  uint8_t *born;   // 1 for those born now, else 0; may be NULL
} flame_life_args;

KP_FN kp_vec3 flame_circle(kp_sampler_key key, kp_vec3 center, double radius) {
  double angle = KP_SAMPLER_TURN * kp_sampler_uniform(key, 0);
  return kp_vec3_make(center.x + radius * cos(angle), center.y + radius * sin(angle), 0.0);
}

KP_FN kp_vec3 flame_place(const flame_birth *b, kp_sampler_key key) {
  kp_vec3 c = kp_vec3_make(b->center[0], b->center[1], b->center[2]);
  if (b->emitter == FLAME_BLOCK) {
    kp_vec3 half = kp_vec3_make(0.5 * b->size[0], 0.5 * b->size[1], 0.5 * b->size[2]);
    kp_aabb box = { kp_vec3_sub(c, half), kp_vec3_add(c, half) };
    return kp_sampler_cube(key, box);
  }
  if (b->dimension == 2) {
    // a ball is a disc in the plane; a disc is the line that the plane cuts out of it
    kp_vec3 p = kp_sampler_disc(key, c, kp_vec3_make(0.0, 0.0, 1.0), b->radius, KP_DISC_UNIFORM);
    p.y = b->emitter == FLAME_BALL ? p.y : c.y;
    return b->emitter == FLAME_SPHERE ? flame_circle(key, c, b->radius) : p;
  }
  if (b->emitter == FLAME_SPHERE) {
    return kp_vec3_madd(c, b->radius, kp_sampler_direction(key));
  }
  if (b->emitter == FLAME_BALL) {
    return kp_sampler_ball(key, c, b->radius);
  }
  kp_vec3 up = kp_vec3_make(b->up == 0 ? 1.0 : 0.0, b->up == 1 ? 1.0 : 0.0, b->up == 2 ? 1.0 : 0.0);
  kp_disc_kind kind = b->emitter == FLAME_DISC ? KP_DISC_UNIFORM : KP_DISC_CLUSTERED;
  return kp_sampler_disc(key, c, up, b->radius, kind);
}

// Distance from the axis of the emitter as a share of its radius, at most 1.
KP_FN double flame_rim(const flame_birth *b, const double out[3]) {
  double square = 0.0;
  double reach = 0.0;
  for (int c = 0; c < 3; ++c) {
    square += c != b->up ? out[c] * out[c] : 0.0;
    reach += c != b->up ? 0.25 * b->size[c] * b->size[c] : 0.0;
  }
  double s = sqrt(square) / (b->emitter == FLAME_BLOCK ? sqrt(reach) : b->radius);
  return s < 1.0 ? s : 1.0;
}

// The draw `use` of the present birth of particle i.
KP_FN kp_sampler_key flame_key(const flame_life_args *a, int64_t i, int use) {
  kp_sampler_key key = { a->birth.seed, KP_RNG_FIRE, a->id[i],
                         (uint64_t)FLAME_DRAWS * a->births[i] + (uint64_t)use };
  return key;
}

// Speed, lift and colour along one axis. The colour runs from the centre to the rim (Listing 6.1
// with the distance as a share of the radius, as Listing 3.2 has it).
KP_FN void flame_bear_axis(int64_t i, int c, double out, double s, const flame_life_args *a) {
  const flame_birth *b = &a->birth;
  kp_real *v[3] = { a->vx, a->vy, a->vz };
  kp_real *lift[3] = { a->lx, a->ly, a->lz };
  kp_real *color[3] = { a->red, a->green, a->blue };
  uint64_t axis = (uint64_t)c;
  double chance = 2.0 * kp_sampler_uniform(flame_key(a, i, FLAME_VELOCITY), axis) - 1.0;
  double rise = kp_sampler_uniform(flame_key(a, i, FLAME_LIFT), axis);
  double light = kp_sampler_uniform(flame_key(a, i, FLAME_COLOR), axis);
  double speed = b->velocity[c] + b->velocity_spread[c] * chance + b->burst * out / b->radius;
  int flat = b->dimension == 2 && c == 2;
  v[c][i] = (kp_real)(flat ? 0.0 : speed);
  if (lift[c]) {
    lift[c][i] = (kp_real)(flat ? 0.0 : b->acceleration[c] + b->acceleration_spread[c] * rise);
  }
  double core = b->color[c] + b->color_spread[c] * light;
  color[c][i] = (kp_real)(b->color_rim[c] + (core - b->color_rim[c]) * (1.0 - s));
}

KP_FN void flame_bear(int64_t i, const flame_life_args *a) {
  const flame_birth *b = &a->birth;
  kp_vec3 p = flame_place(b, flame_key(a, i, FLAME_PLACE));
  p.z = b->dimension == 2 ? 0.0 : p.z;
  const double out[3] = { p.x - b->center[0], p.y - b->center[1], p.z - b->center[2] };
  double s = flame_rim(b, out);
  a->x[i] = p.x;
  a->y[i] = p.y;
  a->z[i] = p.z;
  for (int c = 0; c < 3; ++c) {
    flame_bear_axis(i, c, out[c], s, a);
  }
  kp_sampler_key key = flame_key(a, i, FLAME_LIFE);
  double life = 1.0 + b->life_spread * (2.0 * kp_sampler_uniform(key, 0) - 1.0);
  a->life[i] = (kp_real)(a->stagger ? life * kp_sampler_uniform(key, 1) : life);
  a->decay[i] = (kp_real)(b->decay_center + (b->decay_rim - b->decay_center) * s);
  if (a->fresh) {
    a->fresh[i] = 1;
  }
}

// L -= D dt; the dead are born again, or stay where they died until they are taken away.
KP_FN void flame_life(int64_t i, const flame_life_args *a) {
  double life = (double)a->life[i] - a->dt * (double)a->decay[i];
  int out = a->x[i] < a->lo[0] || a->x[i] > a->hi[0] || a->y[i] < a->lo[1] || a->y[i] > a->hi[1] ||
            a->z[i] < a->lo[2] || a->z[i] > a->hi[2];
  a->life[i] = (kp_real)(out ? 0.0 : life);
  int is_born = a->first || (!(a->life[i] > (kp_real)0) && a->respawn);
  if (is_born) {
    a->births[i] += a->first ? 0u : 1u;
    flame_bear(i, a);
  }
  if (a->born) {
    a->born[i] = (uint8_t)is_born;
  }
  kp_real alpha = a->life[i];
  a->alpha[i] = alpha < (kp_real)0 ? (kp_real)0 : (alpha > (kp_real)1 ? (kp_real)1 : alpha);
}

typedef struct flame_keep_args {
  const kp_real *life;
  uint32_t *keep;
} flame_keep_args;

KP_FN void flame_keep(int64_t i, const flame_keep_args *a) {
  a->keep[i] = a->life[i] > (kp_real)0 ? 1u : 0u;
}

#define FLAME_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  POINT(flame, life)                                                                               \
  POINT(flame, keep)
