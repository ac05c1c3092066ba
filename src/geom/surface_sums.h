// What a particle adds to the sums of a sample, and a neighbour to those of a particle. Written
// once: for a register of samples or particles (particle_surface_cpu.c says what KP_SURFACE_V and
// the functions below are), or for one of them where nobody did, as on a card. Each adds in the
// order of the particles, so the bits are the same however many lie side by side.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "geom/surface_fields.h"

#ifndef KP_SURFACE_V
#define KP_SURFACE_V float

KP_FN float kp_surface_smaller(float a, float b) {
  return a < b ? a : b;
}

// t where it is positive, else 0.
KP_FN float kp_surface_positive(float t) {
  return t > 0.0f ? t : 0.0f;
}

// t where x lies below `end`, else 0.
KP_FN float kp_surface_below(float t, float x, float end) {
  return x < end ? t : 0.0f;
}

KP_FN float kp_surface_root(float a) {
  return sqrtf(a);
}

// e^x for -80 < x <= 0: 2^whole e^rest, |rest| <= ln 2 / 2, by Taylor's series to 2e-8.
KP_FN float kp_surface_exponential(float x) {
  int32_t whole = (int32_t)(x * 1.44269504f - 0.5f);  // towards zero: nearest
  float rest = x - (float)whole * 0.693147180f;
  float sum = 1.0f + rest * (1.0f / 7.0f);
  for (int n = 6; n >= 1; --n) {
    sum = 1.0f + rest * sum * (1.0f / (float)n);
  }
  int32_t bits = (whole + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return sum * power;
}

#endif

typedef KP_SURFACE_V kp_surface_v;

// ---- samples

// What samples have gathered; a is the first sum of a field, b its second. `spread` and e are those
// of the slope of Zhu and Bridson's mean.
typedef struct kp_surface_sums {
  kp_surface_v a, b, c, d, nearest, spread, e[3];
} kp_surface_sums;

// A particle as seen from samples: d / R, its square, and what it carries.
typedef struct kp_surface_seen {
  kp_surface_v dx, dy, square;
  float dz;
  float g[KP_SURFACE_ATTRIBUTES];
} kp_surface_seen;

KP_FN void kp_surface_add_zhu_bridson(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v t = kp_surface_positive(1.0f - q->square);
  kp_surface_v slope = t * t, w = slope * t;
  s->a += w;
  s->b += w * q->dx;
  s->c += w * q->dy;
  s->d += w * q->dz;
  s->spread += slope * q->square;
  s->e[0] += slope * q->dx;
  s->e[1] += slope * q->dy;
  s->e[2] += slope * q->dz;
  s->nearest = kp_surface_smaller(q->square, s->nearest);
}

// |G d|, G symmetric: xx xy xz yy yz zz, and the weight.
KP_FN void kp_surface_add_anisotropic(kp_surface_sums *s, const kp_surface_seen *q) {
  const float *g = q->g;
  kp_surface_v x = g[0] * q->dx + g[1] * q->dy + g[2] * q->dz;
  kp_surface_v y = g[1] * q->dx + g[3] * q->dy + g[4] * q->dz;
  kp_surface_v z = g[2] * q->dx + g[4] * q->dy + g[5] * q->dz;
  kp_surface_v t = kp_surface_positive(1.0f - (x * x + y * y + z * z));
  s->a += g[6] * (t * t * t);
}

// With q = d^2 / R_f^2 and R = R_f / sqrt 2: (q - 1/2)^2 = (1 - d^2/R^2)^2 / 4.
KP_FN void kp_surface_add_metaballs(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v t = kp_surface_positive(1.0f - q->square);
  s->a += t * t;
}

KP_FN void kp_surface_add_radial(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v t = kp_surface_positive(1.0f - q->square);
  s->a += t * t * t;
}

// Poly6 has the same form.
KP_FN void kp_surface_add_color(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_add_radial(s, q);
}

// attribute: s^2
KP_FN void kp_surface_add_literal(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v t = kp_surface_below(1.0f - q->g[0] * q->square, q->square, 1.0f);
  s->a += t * t * t;
}

// attribute: 1 / s^2
KP_FN void kp_surface_add_shrink(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v t = kp_surface_positive(1.0f - q->g[0] * q->square);
  s->a += t * t * t;
}

KP_FN void kp_surface_add_weight(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v t = kp_surface_positive(1.0f - q->square);
  s->a += q->g[0] * (t * t * t);
}

KP_FN void kp_surface_add_blobbies(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v x = kp_surface_below(q->square * -KP_BLOBBY_WIDTH, q->square, 1.0f);
  s->a += kp_surface_below(kp_surface_exponential(x) - KP_BLOBBY_END, q->square, 1.0f);
}

KP_FN void kp_surface_add_soft(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v x = q->square;
  kp_surface_v t = 1.0f + x * (-22.0f / 9.0f + x * (17.0f / 9.0f - x * (4.0f / 9.0f)));
  s->a += kp_surface_below(t, x, 1.0f);
}

// Eq. 3.9 with the tent W = 1 - d/r over its integral: that goes as r^n and the volume V_i as well,
// so V_i W_i is the same tent for all sizes. attribute: R / r
KP_FN void kp_surface_add_hong(kp_surface_sums *s, const kp_surface_seen *q) {
  kp_surface_v t = kp_surface_positive(1.0f - q->g[0] * kp_surface_root(q->square));
  s->a += t * t * t;
  s->b += t;
}

// ---- neighbours of particles

// Neighbours j within R of particles i, themselves included; d = x_j - x_i in R.
typedef struct kp_surface_beside {
  kp_surface_v d[3], square, value;  // value: that of i
  float other;                       // value of j
  float volume;                      // of j, in those of a particle of one spacing
} kp_surface_beside;

#define KP_SURFACE_ALIKE 0.15f

// How many there are and how far they are off.
typedef struct kp_surface_offset {
  kp_surface_v count, d[3];
} kp_surface_offset;

KP_FN void kp_surface_add_offset(kp_surface_offset *m, const kp_surface_beside *q) {
  kp_surface_v none = q->square - q->square;
  m->count += kp_surface_below(none + 1.0f, q->square, 1.0f);
  for (int c = 0; c < 3; ++c) {
    m->d[c] += kp_surface_below(q->d[c], q->square, 1.0f);
  }
}

// How many there are and what their values come to.
typedef struct kp_surface_ratio {
  kp_surface_v count, values;
} kp_surface_ratio;

KP_FN void kp_surface_add_ratio(kp_surface_ratio *m, const kp_surface_beside *q) {
  kp_surface_v none = q->square - q->square;
  m->count += kp_surface_below(none + 1.0f, q->square, 1.0f);
  m->values += kp_surface_below(none + q->other, q->square, 1.0f);
}

// With the weight w = V (1 - |d|^3).
typedef struct kp_surface_depth {
  kp_surface_v weight, d[3];
} kp_surface_depth;

KP_FN kp_surface_v kp_surface_weight_of(const kp_surface_beside *q) {
  return q->volume * kp_surface_positive(1.0f - q->square * kp_surface_root(q->square));
}

KP_FN void kp_surface_add_depth(kp_surface_depth *m, const kp_surface_beside *q) {
  kp_surface_v w = kp_surface_weight_of(q);
  m->weight += w;
  for (int c = 0; c < 3; ++c) {
    m->d[c] += w * q->d[c];
  }
}

// The same with second moments xx xy xz yy yz zz, and with the weight w g,
// g = 1 - ((value_j - value_i) / KP_SURFACE_ALIKE)^2 where that is positive.
typedef struct kp_surface_cloud {
  kp_surface_v count, weight, d[3], dd[6], alike, alike_d[3];
} kp_surface_cloud;

KP_FN void kp_surface_add_cloud(kp_surface_cloud *m, const kp_surface_beside *q) {
  kp_surface_v none = q->square - q->square;
  kp_surface_v w = kp_surface_weight_of(q);
  kp_surface_v step = (q->other - q->value) * (1.0f / KP_SURFACE_ALIKE);
  kp_surface_v g = w * kp_surface_positive(1.0f - step * step);
  kp_surface_v x = w * q->d[0], y = w * q->d[1], z = w * q->d[2];
  m->count += kp_surface_below(none + q->volume, q->square, 1.0f);
  m->weight += w;
  m->d[0] += x;
  m->d[1] += y;
  m->d[2] += z;
  m->dd[0] += x * q->d[0];
  m->dd[1] += x * q->d[1];
  m->dd[2] += x * q->d[2];
  m->dd[3] += y * q->d[1];
  m->dd[4] += y * q->d[2];
  m->dd[5] += z * q->d[2];
  m->alike += g;
  for (int c = 0; c < 3; ++c) {
    m->alike_d[c] += g * q->d[c];
  }
}
