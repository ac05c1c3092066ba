#include "geom/strand.h"

#include <string.h>

#define TURN KP_SAMPLER_TURN
#define STEPS_PER_TURN 24    // of dense polylines, per turn of a curl or wave
#define STEPS_PER_LENGTH 64  // and at least so many per hair
#define MOST_STEPS 65536

// ---- growing ------------------------------------------------------------------------------------

// A frame that moves along a curve without turning about it.
typedef struct moving_frame {
  kp_vec3 along, side;
} moving_frame;

static kp_vec3 across(kp_vec3 along, kp_vec3 side) {
  return kp_vec3_normalize(kp_vec3_madd(side, -kp_vec3_dot(side, along), along));
}

static moving_frame start_frame(kp_vec3 along) {
  kp_vec3 u, v;
  kp_frame_make(along, &u, &v);
  return (moving_frame){ along, u };
}

// Parallel transport: the rotation that takes one direction to the next by the shortest way.
static void carry_frame(moving_frame *f, kp_vec3 along) {
  kp_vec3 axis = kp_vec3_cross(f->along, along);
  double sine = kp_vec3_length(axis), cosine = kp_vec3_dot(f->along, along);
  if (sine > 1e-12) {
    kp_quat turn = kp_quat_from_axis_angle(kp_vec3_scale(axis, 1.0 / sine), atan2(sine, cosine));
    f->side = kp_quat_rotate(turn, f->side);
  }
  f->along = along;
  f->side = across(along, f->side);
}

// A hair's own numbers.
typedef struct grower {
  const kp_strand_style *style;
  kp_vec3 start;  // direction at the root
  double length, phase, curl, pitch;
} grower;

static double spread(const kp_strand_style *s, uint64_t id, uint64_t counter) {
  return s->roughness * (2.0 * kp_rng_uniform(s->seed, KP_RNG_HAIR, id, counter) - 1.0);
}

static grower make_grower(const kp_strand_style *style, kp_vec3 out, uint64_t id) {
  kp_vec3 noise = kp_vec3_make(spread(style, id, 0), spread(style, id, 1), spread(style, id, 2));
  grower g = { .style = style };
  g.start = kp_vec3_normalize(kp_vec3_madd(out, 0.5, noise));
  g.length = style->length * (1.0 + 0.5 * spread(style, id, 3));
  // hairs without roughness are all alike
  g.phase = style->roughness > 0.0 ? TURN * kp_rng_uniform(style->seed, KP_RNG_HAIR, id, 4) : 0.0;
  g.curl = style->curl_radius * (1.0 + 0.5 * spread(style, id, 5));
  g.pitch = style->curl_pitch * (1.0 + 0.3 * spread(style, id, 6));
  return g;
}

// Direction of the centre line at arclength s.
static kp_vec3 direction_at(const grower *g, double s) {
  const kp_strand_style *style = g->style;
  double length = kp_vec3_length(style->fall);
  if (length == 0.0) {
    return g->start;
  }
  double keep = style->droop > 0.0 ? exp(-s / style->droop) : 0.0;
  kp_vec3 fall = kp_vec3_scale(style->fall, (1.0 - keep) / length);
  kp_vec3 sum = kp_vec3_madd(fall, keep, g->start);
  return kp_vec3_length(sum) > 1e-6 ? kp_vec3_normalize(sum) : g->start;
}

// Curls and waves grow from nothing over the first turn, so that the root stands in its direction.
static kp_vec3 decorate(const grower *g, const moving_frame *f, kp_vec3 center, double s) {
  const kp_strand_style *style = g->style;
  kp_vec3 binormal = kp_vec3_cross(f->along, f->side);
  kp_vec3 p = center;
  if (g->curl > 0.0) {
    double r = g->curl * fmin(1.0, s / g->pitch);
    double angle = TURN * s / g->pitch + g->phase;
    p = kp_vec3_madd(kp_vec3_madd(p, r * cos(angle), f->side), r * sin(angle), binormal);
  }
  if (style->wave > 0.0) {
    double a = style->wave * fmin(1.0, s / style->wave_length);
    p = kp_vec3_madd(p, a * sin(TURN * s / style->wave_length + g->phase), f->side);
  }
  return p;
}

static double step_length(const grower *g) {
  double step = g->length / STEPS_PER_LENGTH;
  if (g->curl > 0.0) {
    step = fmin(step, g->pitch / STEPS_PER_TURN);
  }
  if (g->style->wave > 0.0) {
    step = fmin(step, g->style->wave_length / STEPS_PER_TURN);
  }
  return fmax(step, g->length / MOST_STEPS);
}

static kp_vec3 keep_out(const kp_strand_obstacle *obstacle, kp_vec3 p, double lift) {
  if (obstacle == NULL || obstacle->distance == NULL) {
    return p;
  }
  kp_vec3 normal;
  double d = obstacle->distance(p, &normal, obstacle->user);
  return d < lift ? kp_vec3_madd(p, lift - d, normal) : p;
}

kp_result kp_strand_grow(const kp_strand_style *style, kp_vec3 root, kp_vec3 out, uint64_t id,
                         const kp_strand_obstacle *obstacle, kp_points *points) {
  grower g = make_grower(style, out, id);
  double step = step_length(&g);
  moving_frame frame = start_frame(g.start);
  kp_vec3 center = root;
  double walked = 0.0;
  points->count = 0;
  KP_TRY(kp_array_push(points, root));
  for (double s = step, tried = 0.0; walked < g.length && tried < 4.0 * MOST_STEPS;
       s += step, tried += 1.0) {
    kp_vec3 next = kp_vec3_madd(center, step, direction_at(&g, s - 0.5 * step));
    // the lift grows over the first few steps: the root itself lies on the surface
    next = keep_out(obstacle, next, fmin(style->lift, 0.5 * s));
    kp_vec3 moved = kp_vec3_sub(next, center);
    if (kp_vec3_length(moved) > 0.01 * step) {
      carry_frame(&frame, kp_vec3_normalize(moved));
    }
    center = next;
    kp_vec3 p = keep_out(obstacle, decorate(&g, &frame, center, s), fmin(style->lift, 0.5 * s));
    kp_vec3 before = points->data[points->count - 1];
    double d = kp_vec3_length(kp_vec3_sub(p, before));
    if (d <= 1e-9 * step) {
      continue;
    }
    double rest = g.length - walked;
    if (d > rest) {  // cut to the length
      p = kp_vec3_madd(before, rest / d, kp_vec3_sub(p, before));
      d = rest;
    }
    walked += d;
    KP_TRY(kp_array_push(points, p));
  }
  return KP_OK;
}

// ---- sampling -----------------------------------------------------------------------------------

double kp_strand_length(const kp_vec3 *points, size_t n) {
  double sum = 0.0;
  for (size_t i = 1; i < n; ++i) {
    sum += kp_vec3_length(kp_vec3_sub(points[i], points[i - 1]));
  }
  return sum;
}

kp_result kp_strand_resample(const kp_vec3 *points, size_t n, int64_t segments, kp_vec3 *out) {
  double length = kp_strand_length(points, n);
  if (!(length > 0.0) || segments < 1) {
    return kp_fail(KP_ERROR_SCENE, "a hair has no length");
  }
  size_t piece = 1;
  double begin = 0.0;  // arclength at the start of the piece
  double span = kp_vec3_length(kp_vec3_sub(points[1], points[0]));
  out[0] = points[0];
  for (int64_t i = 1; i < segments; ++i) {
    double s = length * (double)i / (double)segments;
    while (begin + span < s && piece + 1 < n) {
      begin += span;
      ++piece;
      span = kp_vec3_length(kp_vec3_sub(points[piece], points[piece - 1]));
    }
    double t = span > 0.0 ? fmin(1.0, (s - begin) / span) : 0.0;
    out[i] = kp_vec3_madd(points[piece - 1], t, kp_vec3_sub(points[piece], points[piece - 1]));
  }
  out[segments] = points[n - 1];
  return KP_OK;
}

static double angle_between(kp_vec3 a, kp_vec3 b) {
  return atan2(kp_vec3_length(kp_vec3_cross(a, b)), kp_vec3_dot(a, b));
}

void kp_strand_find_straight(const kp_vec3 *x, int64_t segments, double angle, bool *straight) {
  for (int64_t i = 0; i < segments; ++i) {
    kp_vec3 here = kp_vec3_sub(x[i + 1], x[i]);
    bool before = i > 0 && angle_between(kp_vec3_sub(x[i], x[i - 1]), here) <= angle;
    bool behind = i + 1 < segments && angle_between(here, kp_vec3_sub(x[i + 2], x[i + 1])) <= angle;
    // a single segment is a line
    straight[i] = before || behind || segments == 1;
  }
}

void kp_strand_find_extras(const kp_vec3 *x, int64_t segments, const bool *straight, double phase,
                           kp_vec3 *extra) {
  moving_frame frame = start_frame(kp_vec3_normalize(kp_vec3_sub(x[1], x[0])));
  double angle = phase;
  for (int64_t i = 0; i < segments; ++i) {
    kp_vec3 here = kp_vec3_sub(x[i + 1], x[i]);
    double length = kp_vec3_length(here);
    carry_frame(&frame, kp_vec3_normalize(here));
    if (!straight[i]) {
      continue;
    }
    kp_vec3 middle = kp_vec3_madd(x[i], 0.5, here);
    kp_vec3 binormal = kp_vec3_cross(frame.along, frame.side);
    kp_vec3 away =
        kp_vec3_add(kp_vec3_scale(frame.side, cos(angle)), kp_vec3_scale(binormal, sin(angle)));
    extra[i] = kp_vec3_madd(middle, 0.5 * sqrt(3.0) * length, away);
    angle += 0.25 * TURN;
  }
}

void kp_strand_blend(const kp_vec3 *const *guides, const double *weights, int n, size_t count,
                     kp_vec3 root, kp_vec3 *out) {
  for (size_t i = 0; i < count; ++i) {
    kp_vec3 p = root;
    for (int g = 0; g < n; ++g) {
      p = kp_vec3_madd(p, weights[g], kp_vec3_sub(guides[g][i], guides[g][0]));
    }
    out[i] = p;
  }
}
