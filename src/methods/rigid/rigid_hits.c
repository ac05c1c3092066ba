// Bounces. Pairs with restitution that meet in a sub-step faster than `bounce_speed` strike one
// after the other in the order of time: both bodies are brought along their paths to where they
// touch, strike (rigid_strike.c) and go on. A strike may send a body into its next neighbour at the
// same moment, so a blow goes through a row of balls that touch (Newton's cradle), as it does
// through stiff ones (sequential collisions: Guendelman, Bridson and Fedkiw 2003, section 5). One
// pass over all contacts would share it out among them.
//
// Contacts are solved afterwards and see no approach where bodies have bounced. Swift bodies and
// those in whose way they are go nowhere unwatched (rigid_guard.c): they strike once they touch,
// when all have moved. Two hits of one body at the very same moment are taken in the order of the
// pairs.
#include <math.h>

#include "methods/rigid/rigid_state.h"

#define NEVER HUGE_VAL

typedef struct hits {
  kp_rigid *rigid;
  const kp_bodies *bodies;
  double h;
} hits;

static kp_vec3 velocity_at(const kp_rigid_mover *m, kp_vec3 r) {
  return kp_vec3_add(m->v, kp_vec3_cross(m->w, r));
}

// Speeds hold what acceleration adds in the whole sub-step; at an earlier time there was less.
static double approach_at(const kp_rigid_pair *pair, const kp_rigid_point *p, kp_rigid_mover *a,
                          kp_rigid_mover *b, double rest) {
  kp_vec3 v = kp_vec3_sub(velocity_at(b, p->rb), velocity_at(a, p->ra));
  kp_vec3 gained = kp_vec3_scale(kp_vec3_sub(b->acceleration, a->acceleration), rest);
  return -kp_vec3_dot(kp_vec3_add(kp_vec3_sub(v, gained), pair->slide), p->normal);
}

// Swift bodies, and those that they may meet, are brought nowhere ahead of the others.
static bool is_watched(const kp_rigid_mover *m) {
  return m->is_swift || m->is_near_swift;
}

// When a point closes, of bodies that have come as far as their clocks say; now, where it has.
static double time_of(const hits *s, const kp_rigid_pair *pair, kp_rigid_point *p,
                      kp_rigid_mover *a, kp_rigid_mover *b) {
  kp_rigid_place_arms(p, a, b);
  double now = fmax(a->clock, b->clock);
  double va = kp_vec3_dot(velocity_at(a, p->ra), p->normal);
  double vb = kp_vec3_dot(velocity_at(b, p->rb), p->normal);
  double gap = p->separation + kp_vec3_dot(kp_rigid_opening(pair, p, a, b), p->normal);
  gap += vb * (now - b->clock) - va * (now - a->clock);
  if (va - vb <= 0.0) {
    return NEVER;
  }
  if (gap > 0.0 && (is_watched(a) || is_watched(b))) {
    return NEVER;
  }
  double time = now + fmax(0.0, gap) / (va - vb);
  double threshold = s->rigid->def.bounce_speed * pair->size;
  bool is_hit = time <= s->h && approach_at(pair, p, a, b, s->h - time) > threshold;
  return is_hit ? time : NEVER;
}

static void find_time(const hits *s, kp_rigid_pair *pair) {
  kp_rigid_mover *a = &s->rigid->movers.data[pair->body_a];
  kp_rigid_mover *b = &s->rigid->movers.data[pair->body_b];
  pair->hit_time = NEVER;
  if (pair->is_past || pair->restitution == 0.0 || !kp_rigid_may_bounce(a) ||
      !kp_rigid_may_bounce(b)) {
    return;
  }
  for (kp_index i = pair->first; i < pair->first + pair->count; ++i) {
    pair->hit_time = fmin(pair->hit_time, time_of(s, pair, &s->rigid->points.data[i], a, b));
  }
}

static void bring_to(const hits *s, kp_index body, double time) {
  kp_rigid_mover *m = &s->rigid->movers.data[body];
  kp_rigid_path(s->rigid, s->bodies, body, time, m);
  if (m->is_free) {
    const kp_mat3 *inertia = &s->bodies->models.data[body].inverse_inertia;
    m->inverse_inertia = kp_rigid_world_inertia(inertia, m->turn);
    m->v = kp_vec3_madd(m->v, time - s->h, m->acceleration);
    ++m->n_hits;
  }
}

static void go_on(const hits *s, kp_index body, double time) {
  kp_rigid_mover *m = &s->rigid->movers.data[body];
  if (m->is_free) {
    m->v = kp_vec3_madd(m->v, s->h - time, m->acceleration);
  }
}

// Points that touch at the time of the hit come first in the pair.
static kp_index sort_points(const hits *s, const kp_rigid_pair *pair) {
  const kp_rigid_mover *a = &s->rigid->movers.data[pair->body_a];
  const kp_rigid_mover *b = &s->rigid->movers.data[pair->body_b];
  kp_rigid_point *points = s->rigid->points.data + pair->first;
  double gaps[KP_MANIFOLD_MOST];
  double least = HUGE_VAL;
  for (kp_index i = 0; i < pair->count; ++i) {
    kp_vec3 apart = kp_rigid_opening(pair, &points[i], a, b);
    gaps[i] = points[i].separation + kp_vec3_dot(apart, points[i].normal);
    least = fmin(least, gaps[i]);
  }
  double both = s->rigid->parts.data[pair->a].core.inset + s->rigid->parts.data[pair->b].core.inset;
  kp_index n = 0;
  for (kp_index i = 0; i < pair->count; ++i) {
    if (gaps[i] <= fmax(least, 0.0) + KP_RIGID_TOUCHING * both) {
      kp_rigid_point touching = points[i];
      points[i] = points[n];
      gaps[i] = gaps[n];
      points[n++] = touching;
    }
  }
  return n;
}

// What does not move freely is only looked at where it will be: brought there for one, it would be
// past what continuous collision has to watch for the others.
static void strike(const hits *s, kp_rigid_pair *pair) {
  double time = pair->hit_time;
  kp_rigid_mover *movers = s->rigid->movers.data;
  const kp_rigid_mover a = movers[pair->body_a];
  const kp_rigid_mover b = movers[pair->body_b];
  bring_to(s, pair->body_a, time);
  bring_to(s, pair->body_b, time);
  kp_rigid_strike(s->rigid, pair, sort_points(s, pair));
  go_on(s, pair->body_a, time);
  go_on(s, pair->body_b, time);
  movers[pair->body_a] = a.is_free ? movers[pair->body_a] : a;
  movers[pair->body_b] = b.is_free ? movers[pair->body_b] : b;
}

// The earliest of the pairs that are listed; those that hit no more leave the list.
static kp_rigid_pair *earliest(kp_rigid *rigid) {
  kp_rigid_pair *first = NULL;
  size_t n = 0;
  for (size_t k = 0; k < rigid->hits.count; ++k) {
    kp_rigid_pair *pair = &rigid->pairs.data[rigid->hits.data[k]];
    pair->is_listed = pair->hit_time < NEVER;
    if (!pair->is_listed) {
      continue;
    }
    rigid->hits.data[n++] = rigid->hits.data[k];
    bool is_first = first == NULL || pair->hit_time < first->hit_time ||
                    (pair->hit_time == first->hit_time && pair < first);
    first = is_first ? pair : first;
  }
  rigid->hits.count = n;
  return first;
}

static kp_result list(kp_rigid *rigid, kp_rigid_pair *pair) {
  if (pair->hit_time == NEVER || pair->is_listed) {
    return KP_OK;
  }
  pair->is_listed = true;
  return kp_array_push(&rigid->hits, (kp_index)(pair - rigid->pairs.data));
}

// What a struck body touches may be hit by it now.
static kp_result look_again(const hits *s, kp_index body) {
  kp_rigid *rigid = s->rigid;
  if (!rigid->movers.data[body].is_free) {
    return KP_OK;
  }
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    kp_rigid_pair *pair = &rigid->pairs.data[k];
    if (pair->body_a == body || pair->body_b == body) {
      find_time(s, pair);
      KP_TRY(list(rigid, pair));
    }
  }
  return KP_OK;
}

static kp_rigid_mover *mover_of(kp_rigid *rigid, kp_index part) {
  kp_index body = rigid->parts.data[part].body;
  return &rigid->movers.data[body == KP_RIGID_DOMAIN ? (kp_index)rigid->movers.count - 1 : body];
}

static void begin(kp_rigid *rigid) {
  for (size_t b = 0; b < rigid->movers.count; ++b) {
    rigid->movers.data[b].n_hits = 0;
    rigid->movers.data[b].is_near_swift = false;
  }
  for (size_t k = 0; k < rigid->candidates.count; ++k) {
    kp_rigid_mover *a = mover_of(rigid, rigid->candidates.data[k].a);
    kp_rigid_mover *b = mover_of(rigid, rigid->candidates.data[k].b);
    a->is_near_swift = a->is_near_swift || (a->is_free && b->is_swift);
    b->is_near_swift = b->is_near_swift || (b->is_free && a->is_swift);
  }
}

kp_result kp_rigid_bounce(kp_rigid *rigid, const kp_bodies *bodies, double h) {
  hits s = { rigid, bodies, h };
  begin(rigid);
  rigid->hits.count = 0;
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    kp_rigid_pair *pair = &rigid->pairs.data[k];
    pair->is_listed = false;
    find_time(&s, pair);
    KP_TRY(list(rigid, pair));
  }
  for (kp_rigid_pair *pair; (pair = earliest(rigid)) != NULL;) {
    strike(&s, pair);
    KP_TRY(look_again(&s, pair->body_a));
    KP_TRY(look_again(&s, pair->body_b));
  }
  return KP_OK;
}
