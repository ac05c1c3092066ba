// Two bodies that hit each other. Compression first: impulses that stop the approach at all points
// at once, with Coulomb's cone (sequential impulses to convergence), then as much of them again as
// restitution gives back (Poisson), then friction with the larger cone.
//
// Impulses P change relative velocities u at the points from u0 to u1 and do the work
//
//   W = sum P . (u0 + u1) / 2
//
// on the relative motion, whatever else moves. With friction, restitution may do positive work
// (Kane and Levinson 1985); it is scaled so that W <= 0.
#include <math.h>

#include "methods/rigid/rigid_state.h"

#define ROUNDS 64
#define CONVERGED 1e-12  // of the speed of the hit

typedef struct strike {
  kp_rigid_mover *a, *b;
  kp_rigid_point *points;
  kp_index n;
  const kp_rigid_pair *pair;
  kp_vec3 before[KP_MANIFOLD_MOST];
} strike;

static kp_vec3 velocity_at(const kp_rigid_mover *m, kp_vec3 r) {
  return kp_vec3_add(m->v, kp_vec3_cross(m->w, r));
}

static kp_vec3 speed_between(const strike *s, const kp_rigid_point *p) {
  kp_vec3 u = kp_vec3_sub(velocity_at(s->b, p->rb), velocity_at(s->a, p->ra));
  return kp_vec3_add(u, s->pair->slide);
}

static void push_one(kp_rigid_mover *m, kp_vec3 r, kp_vec3 impulse, double sign) {
  if (m->is_free) {
    m->v = kp_vec3_madd(m->v, sign * m->inverse_mass, impulse);
    kp_vec3 turn = kp_mat3_mul_vec3(&m->inverse_inertia, kp_vec3_cross(r, impulse));
    m->w = kp_vec3_madd(m->w, sign, turn);
  }
}

static void push_both(const strike *s, const kp_rigid_point *p, kp_vec3 impulse) {
  push_one(s->a, p->ra, impulse, -1.0);
  push_one(s->b, p->rb, impulse, 1.0);
}

static double mass_along(const strike *s, const kp_rigid_point *p, kp_vec3 d) {
  kp_vec3 ca = kp_vec3_cross(p->ra, d);
  kp_vec3 cb = kp_vec3_cross(p->rb, d);
  double k = (s->a->inverse_mass + s->b->inverse_mass) * kp_vec3_dot(d, d) +
             kp_vec3_dot(ca, kp_mat3_mul_vec3(&s->a->inverse_inertia, ca)) +
             kp_vec3_dot(cb, kp_mat3_mul_vec3(&s->b->inverse_inertia, cb));
  return k > 0.0 ? 1.0 / k : 0.0;
}

// With `least` the impulse may not fall below what it is. Returns the change of speed.
static double stop_approach(const strike *s, kp_rigid_point *p, bool is_least) {
  double vn = kp_vec3_dot(speed_between(s, p), p->normal);
  double total = fmax(p->normal_impulse - p->normal_mass * vn, is_least ? p->normal_impulse : 0.0);
  double change = total - p->normal_impulse;
  p->normal_impulse = total;
  push_both(s, p, kp_vec3_scale(p->normal, change));
  return p->normal_mass > 0.0 ? fabs(change) / p->normal_mass : 0.0;
}

static double drag(const strike *s, kp_rigid_point *p) {
  kp_vec3 u = speed_between(s, p);
  double x = p->t1_impulse - p->tangent_mass * kp_vec3_dot(u, p->t1);
  double y = p->t2_impulse - p->tangent_mass * kp_vec3_dot(u, p->t2);
  double most = s->pair->friction * p->normal_impulse;
  double length = sqrt(x * x + y * y);
  double scale = length > most ? most / length : 1.0;
  kp_vec3 impulse = kp_vec3_scale(p->t1, scale * x - p->t1_impulse);
  impulse = kp_vec3_madd(impulse, scale * y - p->t2_impulse, p->t2);
  p->t1_impulse = scale * x;
  p->t2_impulse = scale * y;
  push_both(s, p, impulse);
  return p->tangent_mass > 0.0 ? kp_vec3_length(impulse) / p->tangent_mass : 0.0;
}

// Until nothing changes.
static void settle(const strike *s, double hit, bool is_least) {
  for (int round = 0; round < ROUNDS; ++round) {
    double change = 0.0;
    for (kp_index i = 0; i < s->n; ++i) {
      if (s->pair->friction > 0.0) {
        change = fmax(change, drag(s, &s->points[i]));
      }
      change = fmax(change, stop_approach(s, &s->points[i], is_least));
    }
    if (change <= CONVERGED * hit) {
      return;
    }
  }
}

static kp_vec3 impulse_of(const kp_rigid_point *p) {
  kp_vec3 j = kp_vec3_scale(p->normal, p->normal_impulse);
  return kp_vec3_madd(kp_vec3_madd(j, p->t1_impulse, p->t1), p->t2_impulse, p->t2);
}

// The share of the normal impulses that may be given again: the root of a quadratic.
static double allowed(const strike *s, double wanted, const kp_vec3 stopped[],
                      const kp_vec3 given[]) {
  double c0 = 0.0;
  double c1 = 0.0;
  double c2 = 0.0;
  for (kp_index i = 0; i < s->n; ++i) {
    const kp_rigid_point *p = &s->points[i];
    kp_vec3 j = impulse_of(p);
    kp_vec3 again = kp_vec3_scale(p->normal, p->normal_impulse);
    kp_vec3 sum = kp_vec3_add(s->before[i], stopped[i]);
    kp_vec3 change = kp_vec3_sub(given[i], stopped[i]);
    c0 += kp_vec3_dot(j, sum);
    c1 += kp_vec3_dot(again, sum) + kp_vec3_dot(j, change);
    c2 += kp_vec3_dot(again, change);
  }
  if (c0 >= 0.0) {
    return 0.0;
  }
  if (c0 + wanted * (c1 + wanted * c2) <= 0.0) {
    return wanted;
  }
  double root = sqrt(fmax(0.0, c1 * c1 - 4.0 * c2 * c0));
  return fmin(wanted, c2 > 0.0 ? (root - c1) / (2.0 * c2) : -c0 / c1);
}

static void give_back(strike *s, double restitution) {
  kp_vec3 stopped[KP_MANIFOLD_MOST];
  kp_vec3 given[KP_MANIFOLD_MOST];
  for (kp_index i = 0; i < s->n; ++i) {
    stopped[i] = speed_between(s, &s->points[i]);
  }
  const kp_rigid_mover a = *s->a;
  const kp_rigid_mover b = *s->b;
  for (kp_index i = 0; i < s->n; ++i) {
    push_both(s, &s->points[i], kp_vec3_scale(s->points[i].normal, s->points[i].normal_impulse));
  }
  for (kp_index i = 0; i < s->n; ++i) {
    given[i] = speed_between(s, &s->points[i]);
  }
  double share = allowed(s, restitution, stopped, given);
  *s->a = a;
  *s->b = b;
  for (kp_index i = 0; i < s->n; ++i) {
    kp_rigid_point *p = &s->points[i];
    push_both(s, p, kp_vec3_scale(p->normal, share * p->normal_impulse));
    p->normal_impulse *= 1.0 + share;
  }
}

void kp_rigid_strike(kp_rigid *rigid, kp_rigid_pair *pair, kp_index n) {
  strike s = { .a = &rigid->movers.data[pair->body_a],
               .b = &rigid->movers.data[pair->body_b],
               .points = rigid->points.data + pair->first,
               .n = n,
               .pair = pair };
  double hit = 0.0;
  for (kp_index i = 0; i < pair->count; ++i) {
    kp_rigid_point *p = &s.points[i];
    kp_rigid_place_arms(p, s.a, s.b);
    p->normal_mass = mass_along(&s, p, p->normal);
    // one mass for both directions, or friction would not oppose the motion
    p->tangent_mass = fmin(mass_along(&s, p, p->t1), mass_along(&s, p, p->t2));
    if (rigid->dimension == 2) {
      p->tangent_mass = mass_along(&s, p, p->t1);
    }
    p->normal_impulse = p->t1_impulse = p->t2_impulse = 0.0;
    if (i < n) {
      s.before[i] = speed_between(&s, p);
      hit = fmax(hit, -kp_vec3_dot(s.before[i], p->normal));
    }
  }
  if (hit == 0.0) {
    return;
  }
  settle(&s, hit, false);
  if (pair->restitution > 0.0 && hit > rigid->def.bounce_speed * pair->size) {
    give_back(&s, pair->restitution);
    settle(&s, hit, true);
  }
  // the rest of the step starts from nothing
  for (kp_index i = 0; i < pair->count; ++i) {
    kp_rigid_point *p = &s.points[i];
    kp_rigid_note(pair, p, impulse_of(p));
    p->normal_impulse = p->t1_impulse = p->t2_impulse = 0.0;
  }
}
