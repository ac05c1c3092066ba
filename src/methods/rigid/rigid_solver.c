// Sub-steps with soft contacts (Catto, "Solver2D", 2024: soft step; Macklin et al. 2019, "Small
// steps in physics simulation"). Each sub-step of length h:
//
//   v += h a                                  gravity, fields, fluids
//   bounces                                   strikes of pairs with restitution (rigid_hits.c)
//   warm start                                impulses of the last sub-step
//   solve with bias                           springs push overlaps out
//   x += h v, turn                            exact for free rotation (data/bodies.h)
//   solve without bias, points backwards      takes the push out of the velocities again
//
// A contact of effective mass m is a spring and damper of
// frequency w and damping ratio z, made implicit (Catto 2011, "Soft constraints"):
//
//   lambda += -m s (vn + b) - e lambda,   b = w / (2 z + h w) C, s = a / (1 + a), e = 1 / (1 + a),
//   a = h w (2 z + h w)
#include <math.h>

#include "methods/common/force_field.h"
#include "methods/rigid/rigid_state.h"
#include "par/parallel.h"

#define TWO_PI 6.28318530717958647692
#define STIFFEST 0.125      // frequency of contacts over that of the sub-steps: towers sway above
#define MOST_COLORS 64      // pairs beyond are solved one after the other
#define MOST_BOOST 16.0     // times the sub-steps for heavy on light, and for thin ones
#define SMALL_TURN 0.02     // rad
#define MOST_GIVE 0.02      // thinnest extents, of a contact under its heap
#define PARALLEL_PAIRS 128  // of a colour: fewer are not worth waking a thread

// ---- small algebra ------------------------------------------------------------------------------

kp_mat3 kp_rigid_world_inertia(const kp_mat3 *local, kp_quat q) {
  kp_mat3 r = kp_quat_to_mat3(q);
  kp_mat3 rl;
  kp_mat3 out;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      rl.m[i][j] =
          r.m[i][0] * local->m[0][j] + r.m[i][1] * local->m[1][j] + r.m[i][2] * local->m[2][j];
    }
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      out.m[i][j] = rl.m[i][0] * r.m[j][0] + rl.m[i][1] * r.m[j][1] + rl.m[i][2] * r.m[j][2];
    }
  }
  return out;
}

static kp_vec3 velocity_at(const kp_rigid_mover *m, kp_vec3 r) {
  return kp_vec3_add(m->v, kp_vec3_cross(m->w, r));
}

static void push(kp_rigid_mover *m, kp_vec3 r, kp_vec3 impulse, double sign) {
  if (m->is_free) {
    m->v = kp_vec3_madd(m->v, sign * m->inverse_mass, impulse);
    kp_vec3 turn = kp_mat3_mul_vec3(&m->inverse_inertia, kp_vec3_cross(r, impulse));
    m->w = kp_vec3_madd(m->w, sign, turn);
  }
}

void kp_rigid_note(kp_rigid_pair *pair, const kp_rigid_point *p, kp_vec3 impulse) {
  if (pair->is_watched) {
    kp_load on_a = { impulse, kp_vec3_cross(p->ra, impulse) };
    kp_load on_b = { impulse, kp_vec3_cross(p->rb, impulse) };
    pair->given = kp_load_sum(pair->given, -1.0, on_a);
    pair->taken = kp_load_sum(pair->taken, 1.0, on_b);
  }
}

static void push_both(kp_rigid_pair *pair, const kp_rigid_point *p, kp_rigid_mover *a,
                      kp_rigid_mover *b, kp_vec3 impulse) {
  push(a, p->ra, impulse, -1.0);
  push(b, p->rb, impulse, 1.0);
  kp_rigid_note(pair, p, impulse);
}

static void spin(kp_rigid_mover *m, kp_vec3 moment, double sign) {
  if (m->is_free) {
    m->w = kp_vec3_madd(m->w, sign, kp_mat3_mul_vec3(&m->inverse_inertia, moment));
  }
}

static void spin_both(kp_rigid_pair *pair, kp_rigid_mover *a, kp_rigid_mover *b, kp_vec3 moment) {
  spin(a, moment, -1.0);
  spin(b, moment, 1.0);
  if (pair->is_watched) {
    kp_load turn = { .torque = moment };
    pair->given = kp_load_sum(pair->given, -1.0, turn);
    pair->taken = kp_load_sum(pair->taken, 1.0, turn);
  }
}

// Change of the relative velocity along d per impulse along d.
static double mobility(const kp_rigid_mover *a, const kp_rigid_mover *b, const kp_rigid_point *p,
                       kp_vec3 d) {
  kp_vec3 ca = kp_vec3_cross(p->ra, d);
  kp_vec3 cb = kp_vec3_cross(p->rb, d);
  double ka = kp_vec3_dot(ca, kp_mat3_mul_vec3(&a->inverse_inertia, ca));
  double kb = kp_vec3_dot(cb, kp_mat3_mul_vec3(&b->inverse_inertia, cb));
  return (a->inverse_mass + b->inverse_mass) * kp_vec3_dot(d, d) + ka + kb;
}

static double mass_of(double mobility) {
  return mobility > 0.0 ? 1.0 / mobility : 0.0;
}

// ---- preparing ----------------------------------------------------------------------------------

// Of the user's force, which sees a body as a set of one element.
static kp_vec3 user_acceleration(const kp_env *env, const kp_body *model, const kp_frame3 *f) {
  kp_real v[3] = { (kp_real)f->velocity.x, (kp_real)f->velocity.y, (kp_real)f->velocity.z };
  kp_real a[3] = { 0 };
  kp_force_view view = { .set = model->name,
                         .n = 1,
                         .time = env->time,
                         .x = &f->position.x,
                         .y = &f->position.y,
                         .z = &f->position.z,
                         .vx = &v[0],
                         .vy = &v[1],
                         .vz = &v[2],
                         .ax = &a[0],
                         .ay = &a[1],
                         .az = &a[2] };
  env->force(&view, env->force_user);
  return kp_vec3_make((double)a[0], (double)a[1], env->dimension == 2 ? 0.0 : (double)a[2]);
}

// Of fields and of the user.
static kp_vec3 outer_acceleration(const kp_env *env, const kp_body *model, const kp_frame3 *f) {
  kp_vec3 a = { 0 };
  if (env->fields != NULL) {
    a = kp_force_fields_at(env->fields, model->name, env->time, f->position);
  }
  return env->force != NULL ? kp_vec3_add(a, user_acceleration(env, model, f)) : a;
}

static kp_result prepare_movers(kp_rigid *rigid, kp_env *env) {
  kp_bodies *bodies = env->bodies;
  size_t n = bodies->models.count;
  KP_TRY(kp_array_resize(&rigid->movers, n + 1));
  for (kp_index b = 0; b < (kp_index)n; ++b) {
    const kp_body *model = &bodies->models.data[b];
    kp_frame3 f = kp_bodies_frame(bodies, b);
    kp_rigid_mover *m = &rigid->movers.data[b];
    *m = (kp_rigid_mover){
      .v = f.velocity, .w = f.angular_velocity, .turn = f.orientation, .start = f.position
    };
    if (model->kind != KP_BODY_FREE) {
      continue;
    }
    m->is_free = true;
    m->is_swift = rigid->parts.data[rigid->part_of.data[b]].is_swift;
    m->inverse_mass = model->inverse_mass;
    m->inverse_inertia = kp_rigid_world_inertia(&model->inverse_inertia, f.orientation);
    kp_vec3 outer = outer_acceleration(env, model, &f);
    kp_load given = { .force = kp_vec3_scale(outer, env->dt / model->inverse_mass) };
    kp_loads_push(env->loads, b, rigid->fields, given);
    m->acceleration =
        kp_vec3_madd(env->simulation.gravity, model->inverse_mass, bodies->forces.data[b]);
    m->acceleration = kp_vec3_add(m->acceleration, outer);
    m->torque = bodies->torques.data[b];
  }
  rigid->movers.data[n] = (kp_rigid_mover){ .turn = kp_quat_identity() };
  return KP_OK;
}

// The heap that a body belongs to: the first body of it, by halving paths.
static kp_index heap_of(kp_rigid *rigid, kp_index body) {
  kp_rigid_heap *heaps = rigid->heaps.data;
  while (heaps[body].parent != body) {
    heaps[body].parent = heaps[heaps[body].parent].parent;
    body = heaps[body].parent;
  }
  return body;
}

// All that touches each other is a heap; what does not move joins nothing.
static kp_result find_heaps(kp_rigid *rigid, kp_vec3 up) {
  const kp_rigid_mover *movers = rigid->movers.data;
  KP_TRY(kp_array_resize(&rigid->heaps, rigid->movers.count));
  for (kp_index b = 0; b < (kp_index)rigid->movers.count; ++b) {
    rigid->heaps.data[b] = (kp_rigid_heap){ b, HUGE_VAL, -HUGE_VAL, HUGE_VAL };
  }
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    const kp_rigid_pair *pair = &rigid->pairs.data[k];
    if (movers[pair->body_a].is_free && movers[pair->body_b].is_free) {
      kp_index a = heap_of(rigid, pair->body_a);
      kp_index b = heap_of(rigid, pair->body_b);
      rigid->heaps.data[a < b ? b : a].parent = a < b ? a : b;
    }
  }
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    const kp_rigid_pair *pair = &rigid->pairs.data[k];
    double thin = fmin(rigid->parts.data[pair->a].core.thin, rigid->parts.data[pair->b].core.thin);
    for (int side = 0; side < 2; ++side) {
      kp_index body = side == 0 ? pair->body_a : pair->body_b;
      if (movers[body].is_free) {
        kp_rigid_heap *heap = &rigid->heaps.data[heap_of(rigid, body)];
        double height = kp_vec3_dot(movers[body].start, up);
        heap->low = fmin(heap->low, height);
        heap->high = fmax(heap->high, height);
        heap->thinnest = fmin(heap->thinnest, thin);
      }
    }
  }
  return KP_OK;
}

// A contact gives way by n g / w^2 under the weight of n bodies, and in a heap there are the more
// of them the thinner they are: w for it to be no more than a share of the thinnest.
static double stiffest_heap(const kp_rigid *rigid, double g) {
  double omega = 0.0;
  for (size_t b = 0; b < rigid->heaps.count; ++b) {
    const kp_rigid_heap *heap = &rigid->heaps.data[b];
    if (heap->high >= heap->low) {
      double height = heap->high - heap->low + heap->thinnest;
      omega = fmax(omega, sqrt(g * height / MOST_GIVE) / heap->thinnest);
    }
  }
  return omega;
}

// Gauss-Seidel carries weight through a light body at the pace of the mass ratio.
static double heaviest_on_light(const kp_rigid *rigid, kp_vec3 gravity) {
  double worst = 0.0;
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    const kp_rigid_pair *pair = &rigid->pairs.data[k];
    const kp_rigid_mover *a = &rigid->movers.data[pair->body_a];
    const kp_rigid_mover *b = &rigid->movers.data[pair->body_b];
    if (!a->is_free || !b->is_free) {
      continue;
    }
    double ratio = b->inverse_mass / a->inverse_mass;  // of A's mass over B's
    double down = kp_vec3_dot(rigid->points.data[pair->first].normal, gravity);
    ratio = ratio >= 1.0 ? ratio : 1.0 / ratio;
    bool is_heavy_above = (b->inverse_mass > a->inverse_mass) == (down > 0.0);
    worst = is_heavy_above ? fmax(worst, ratio) : worst;
  }
  return worst;
}

// Sub-steps and stiffness make up for thin bodies in high heaps and for heavy ones on light ones.
static kp_result find_boost(kp_rigid *rigid, kp_env *env, double *boost) {
  kp_vec3 gravity = env->simulation.gravity;
  double g = kp_vec3_length(gravity);
  *boost = 1.0;
  if (g == 0.0) {
    return KP_OK;
  }
  KP_TRY(find_heaps(rigid, kp_vec3_scale(gravity, -1.0 / g)));
  double thin = stiffest_heap(rigid, g) / (TWO_PI * rigid->def.contact_frequency);
  double heavy = sqrt(heaviest_on_light(rigid, gravity) / rigid->def.light_support);
  *boost = fmin(fmax(*boost, fmax(thin, heavy)), MOST_BOOST);
  return KP_OK;
}

// By colours, made in the order of the pairs: pairs of one colour share no free body, so they may
// run at the same time, and the order does not depend on who does.
static kp_result color_pairs(kp_rigid *rigid) {
  size_t n_bodies = rigid->movers.count;
  KP_TRY(kp_array_resize(&rigid->used_colors, n_bodies));
  KP_TRY(kp_array_resize(&rigid->order, rigid->pairs.count));
  KP_TRY(kp_array_resize(&rigid->color_first, MOST_COLORS + 2));
  kp_index *first = rigid->color_first.data;
  for (size_t b = 0; b < n_bodies; ++b) {
    rigid->used_colors.data[b] = 0;
  }
  for (int c = 0; c < MOST_COLORS + 2; ++c) {
    first[c] = 0;
  }
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    kp_rigid_pair *pair = &rigid->pairs.data[k];
    uint64_t *a = &rigid->used_colors.data[pair->body_a];
    uint64_t *b = &rigid->used_colors.data[pair->body_b];
    uint64_t used = (rigid->movers.data[pair->body_a].is_free ? *a : 0) |
                    (rigid->movers.data[pair->body_b].is_free ? *b : 0);
    pair->color = MOST_COLORS;
    for (int c = 0; c < MOST_COLORS; ++c) {
      if ((used >> c & 1) == 0) {
        pair->color = c;
        *a |= 1ull << c;
        *b |= 1ull << c;
        break;
      }
    }
    ++first[pair->color + 1];
  }
  for (int c = 0; c <= MOST_COLORS; ++c) {
    first[c + 1] += first[c];
  }
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    rigid->order.data[first[rigid->pairs.data[k].color]++] = (kp_index)k;
  }
  for (int c = MOST_COLORS + 1; c > 0; --c) {
    first[c] = first[c - 1];
  }
  first[0] = 0;
  return KP_OK;
}

// Inverse of the sum of the inverse inertias; in 2D about z alone.
static kp_mat3 rolling_mass_of(const kp_rigid_mover *a, const kp_rigid_mover *b, int dimension) {
  kp_mat3 k;
  for (int i = 0; i < 9; ++i) {
    k.m[i / 3][i % 3] = a->inverse_inertia.m[i / 3][i % 3] + b->inverse_inertia.m[i / 3][i % 3];
  }
  if (dimension == 2) {
    kp_mat3 out = { 0 };
    out.m[2][2] = mass_of(k.m[2][2]);
    return out;
  }
  return kp_mat3_inverse(&k);
}

kp_vec3 kp_rigid_opening(const kp_rigid_pair *pair, const kp_rigid_point *p,
                         const kp_rigid_mover *a, const kp_rigid_mover *b) {
  kp_vec3 pa = kp_vec3_add(a->shift, kp_quat_rotate(a->turn, p->local_a));
  kp_vec3 pb = kp_vec3_add(b->shift, kp_quat_rotate(b->turn, p->local_b));
  return kp_vec3_add(pair->between, kp_vec3_sub(pb, pa));
}

void kp_rigid_place_arms(kp_rigid_point *p, const kp_rigid_mover *a, const kp_rigid_mover *b) {
  kp_vec3 apart = kp_vec3_sub(b->shift, a->shift);
  double share = b->inverse_mass / (a->inverse_mass + b->inverse_mass);
  p->ra = kp_vec3_madd(p->arm_a, share, apart);
  p->rb = kp_vec3_madd(p->arm_b, share - 1.0, apart);
}

// Swift bodies turn far enough within a step for their masses at a contact to change.
static bool is_turning(const kp_rigid_mover *m) {
  return m->is_swift && m->turned > SMALL_TURN;
}

static void find_masses(kp_rigid_point *p, const kp_rigid_mover *a, const kp_rigid_mover *b) {
  p->normal_mass = mass_of(mobility(a, b, p, p->normal));
  // one mass for both directions, or friction would not oppose the motion
  p->tangent_mass = mass_of(fmax(mobility(a, b, p, p->t1), mobility(a, b, p, p->t2)));
}

static void prepare_pair(kp_rigid *rigid, kp_rigid_pair *pair) {
  const kp_rigid_mover *a = &rigid->movers.data[pair->body_a];
  const kp_rigid_mover *b = &rigid->movers.data[pair->body_b];
  if (pair->rolling > 0.0) {
    pair->rolling_mass = rolling_mass_of(a, b, rigid->dimension);
  }
  for (kp_index i = pair->first; i < pair->first + pair->count; ++i) {
    kp_rigid_point *p = &rigid->points.data[i];
    kp_rigid_place_arms(p, a, b);
    find_masses(p, a, b);
  }
}

// ---- solving ------------------------------------------------------------------------------------

typedef struct softness {
  double bias_rate, mass_scale, impulse_scale;
} softness;

static softness soft(double hertz, double damping, double h) {
  double omega = TWO_PI * hertz;
  double a1 = 2.0 * damping + h * omega;
  double a2 = h * omega * a1;
  return (softness){ omega / a1, a2 / (1.0 + a2), 1.0 / (1.0 + a2) };
}

typedef struct pass {
  kp_rigid *rigid;
  void (*solve)(const struct pass *pass, kp_rigid_pair *pair);
  const kp_index *order;
  double h;
  double least_push;  // m/s: what weight brings in a step must be held by thin ones too
  bool use_bias;
  softness free, fixed;
} pass;

static void warm_start(const pass *s, kp_rigid_pair *pair) {
  kp_rigid_mover *a = &s->rigid->movers.data[pair->body_a];
  kp_rigid_mover *b = &s->rigid->movers.data[pair->body_b];
  for (kp_index i = pair->first; i < pair->first + pair->count; ++i) {
    kp_rigid_point *p = &s->rigid->points.data[i];
    kp_rigid_place_arms(p, a, b);
    if (is_turning(a) || is_turning(b)) {
      find_masses(p, a, b);  // they turn
    }
    kp_vec3 impulse = kp_vec3_scale(p->normal, p->normal_impulse);
    impulse = kp_vec3_madd(impulse, p->t1_impulse, p->t1);
    impulse = kp_vec3_madd(impulse, p->t2_impulse, p->t2);
    push_both(pair, p, a, b, impulse);
  }
  if (pair->rolling > 0.0) {
    spin_both(pair, a, b, pair->rolling_impulse);
  }
}

// Coulomb's cone with the normal impulse as it is.
static void solve_friction(kp_rigid_pair *pair, kp_rigid_point *p, kp_rigid_mover *a,
                           kp_rigid_mover *b) {
  kp_vec3 dv = kp_vec3_sub(velocity_at(b, p->rb), velocity_at(a, p->ra));
  dv = kp_vec3_add(dv, pair->slide);
  double x = p->t1_impulse - p->tangent_mass * kp_vec3_dot(dv, p->t1);
  double y = p->t2_impulse - p->tangent_mass * kp_vec3_dot(dv, p->t2);
  double most = pair->friction * p->normal_impulse;
  double length = sqrt(x * x + y * y);
  double scale = length > most ? most / length : 1.0;
  x *= scale;
  y *= scale;
  kp_vec3 impulse = kp_vec3_scale(p->t1, x - p->t1_impulse);
  impulse = kp_vec3_madd(impulse, y - p->t2_impulse, p->t2);
  p->t1_impulse = x;
  p->t2_impulse = y;
  push_both(pair, p, a, b, impulse);
}

// A bounce needs the whole approach (rigid_hits.c), so no contact may take of it before they touch.
static bool is_left_to_bounce(const pass *s, const kp_rigid_pair *pair, const kp_rigid_point *p,
                              double vn) {
  const kp_rigid_mover *movers = s->rigid->movers.data;
  double threshold = s->rigid->def.bounce_speed * pair->size;
  return pair->restitution > 0.0 && p->normal_impulse == 0.0 && vn < -threshold &&
         kp_rigid_may_bounce(&movers[pair->body_a]) && kp_rigid_may_bounce(&movers[pair->body_b]);
}

static void solve_normal(const pass *s, kp_rigid_pair *pair, kp_rigid_point *p, kp_rigid_mover *a,
                         kp_rigid_mover *b) {
  const kp_rigid_def *def = &s->rigid->def;
  double separation = p->separation + kp_vec3_dot(kp_rigid_opening(pair, p, a, b), p->normal);
  kp_vec3 dv = kp_vec3_sub(velocity_at(b, p->rb), velocity_at(a, p->ra));
  double vn = kp_vec3_dot(dv, p->normal);
  if (separation > 0.0 && is_left_to_bounce(s, pair, p, vn)) {
    return;
  }
  double bias = 0.0;
  double mass_scale = 1.0;
  double impulse_scale = 0.0;
  if (separation > 0.0) {
    bias = separation / s->h;  // may close the gap, no more
  } else if (s->use_bias) {
    const softness *soft = pair->is_on_fixed ? &s->fixed : &s->free;
    double fastest = fmax(def->push_speed * pair->size, s->least_push);
    bias = fmax(soft->bias_rate * separation, -fastest);
    mass_scale = soft->mass_scale;
    impulse_scale = soft->impulse_scale;
  }
  double impulse = -p->normal_mass * mass_scale * (vn + bias) - impulse_scale * p->normal_impulse;
  double total = fmax(p->normal_impulse + impulse, 0.0);
  impulse = total - p->normal_impulse;
  p->normal_impulse = total;
  push_both(pair, p, a, b, kp_vec3_scale(p->normal, impulse));
}

// A moment against the relative spin, at most the arm times the normal force.
static void solve_rolling(const pass *s, kp_rigid_pair *pair, kp_rigid_mover *a,
                          kp_rigid_mover *b) {
  double normal = 0.0;
  for (kp_index i = pair->first; i < pair->first + pair->count; ++i) {
    normal += s->rigid->points.data[i].normal_impulse;
  }
  kp_vec3 dw = kp_vec3_sub(b->w, a->w);
  kp_vec3 total = kp_vec3_sub(pair->rolling_impulse, kp_mat3_mul_vec3(&pair->rolling_mass, dw));
  double most = pair->rolling * normal;
  double length = kp_vec3_length(total);
  total = length > most ? kp_vec3_scale(total, most / length) : total;
  kp_vec3 change = kp_vec3_sub(total, pair->rolling_impulse);
  pair->rolling_impulse = total;
  spin_both(pair, a, b, change);
}

static void solve_pair(const pass *s, kp_rigid_pair *pair) {
  kp_rigid_mover *a = &s->rigid->movers.data[pair->body_a];
  kp_rigid_mover *b = &s->rigid->movers.data[pair->body_b];
  kp_rigid_point *points = s->rigid->points.data + pair->first;
  for (kp_index i = 0; i < pair->count; ++i) {
    solve_normal(s, pair, &points[i], a, b);
  }
  if (pair->rolling > 0.0) {
    solve_rolling(s, pair, a, b);
  }
  for (kp_index i = 0; i < pair->count && pair->friction > 0.0; ++i) {
    solve_friction(pair, &points[i], a, b);
  }
}

// The same backwards, and not for friction's sake alone, which takes the fresh normal impulses
// above and leaves the last word to them here, since that nothing sinks in matters more. What a
// sub-step leaves over of a mode of relative velocity, a share r, is carried on by the impulses as
// well, and velocities add those up: from sub-step to sub-step the mode is multiplied by r +- i
// sqrt(r (1 - r)), of modulus sqrt(r) for a real r. An iteration that takes the points in one order
// always is not symmetric and has complex r; in tall stacks, where r is near one, these grow:
// friction made them flutter. There and back is symmetric, r is real, and everything dies out.
static void relax_pair(const pass *s, kp_rigid_pair *pair) {
  kp_rigid_mover *a = &s->rigid->movers.data[pair->body_a];
  kp_rigid_mover *b = &s->rigid->movers.data[pair->body_b];
  kp_rigid_point *points = s->rigid->points.data + pair->first;
  for (kp_index i = 0; i < pair->count; ++i) {
    kp_rigid_place_arms(&points[i], a, b);  // bodies have moved
    if (is_turning(a) || is_turning(b)) {
      find_masses(&points[i], a, b);
    }
  }
  for (kp_index i = pair->count - 1; i >= 0 && pair->friction > 0.0; --i) {
    solve_friction(pair, &points[i], a, b);
  }
  if (pair->rolling > 0.0) {
    solve_rolling(s, pair, a, b);
  }
  for (kp_index i = pair->count - 1; i >= 0; --i) {
    solve_normal(s, pair, &points[i], a, b);
  }
}

static void run_range(int64_t begin, int64_t end, void *context) {
  const pass *s = context;
  for (int64_t k = begin; k < end; ++k) {
    kp_rigid_pair *pair = &s->rigid->pairs.data[s->order[k]];
    if (!pair->is_past) {
      s->solve(s, pair);
    }
  }
}

// All pairs, colour by colour.
static void run_pass(pass *s, void (*solve)(const pass *, kp_rigid_pair *)) {
  const kp_index *first = s->rigid->color_first.data;
  s->solve = solve;
  for (int c = 0; c <= MOST_COLORS; ++c) {
    int64_t n = first[c + 1] - first[c];
    s->order = s->rigid->order.data + first[c];
    if (n >= PARALLEL_PAIRS && c < MOST_COLORS) {
      kp_parallel_for(n, PARALLEL_PAIRS / 4, run_range, s);
    } else {
      run_range(0, n, s);
    }
  }
  // those that were struck on the way, one after the other
  for (size_t k = s->rigid->n_found; k < s->rigid->pairs.count; ++k) {
    if (!s->rigid->pairs.data[k].is_past) {
      s->solve(s, &s->rigid->pairs.data[k]);
    }
  }
}

// ---- moving -------------------------------------------------------------------------------------

static void speed_up(kp_rigid *rigid, double h) {
  for (size_t b = 0; b < rigid->movers.count; ++b) {
    kp_rigid_mover *m = &rigid->movers.data[b];
    if (m->is_free) {
      m->v = kp_vec3_madd(m->v, h, m->acceleration);
      m->w = kp_vec3_madd(m->w, h, kp_mat3_mul_vec3(&m->inverse_inertia, m->torque));
    }
  }
}

// What is left of the sub-step: swift bodies have gone a part of the way.
static void move(kp_rigid *rigid, const kp_bodies *bodies, double h) {
  for (kp_index b = 0; b + 1 < (kp_index)rigid->movers.count; ++b) {
    kp_rigid_mover *m = &rigid->movers.data[b];
    kp_rigid_path(rigid, bodies, b, h, m);
    m->clock = 0.0;
    m->is_held = false;
    if (m->is_free) {
      m->inverse_inertia = kp_rigid_world_inertia(&bodies->models.data[b].inverse_inertia, m->turn);
    }
  }
}

static void write_frames(const kp_rigid *rigid, kp_bodies *bodies) {
  for (kp_index b = 0; b < (kp_index)bodies->models.count; ++b) {
    const kp_rigid_mover *m = &rigid->movers.data[b];
    if (m->is_free) {
      kp_frame3 f = kp_bodies_frame(bodies, b);
      f.position = kp_vec3_add(f.position, m->shift);
      f.orientation = m->turn;
      f.velocity = m->v;
      f.angular_velocity = m->w;
      kp_bodies_set_frame(bodies, b, &f);
    }
  }
}

static void choose_substeps(kp_rigid *rigid, const kp_env *env, double boost) {
  const kp_rigid_def *def = &rigid->def;
  double longest = def->step / (double)def->substeps;
  rigid->n_substeps = (int)fmax(1.0, ceil(boost * env->dt / longest * (1.0 - 1e-9)));
  rigid->sub_dt = env->dt / rigid->n_substeps;
}

static void tell_contacts(const kp_rigid *rigid, const kp_env *env) {
  for (size_t k = 0; env->loads != NULL && k < rigid->pairs.count; ++k) {
    const kp_rigid_pair *pair = &rigid->pairs.data[k];
    if (pair->is_watched) {
      kp_loads_push(env->loads, pair->body_a, rigid->contacts, pair->given);
      kp_loads_push(env->loads, pair->body_b, rigid->contacts, pair->taken);
    }
  }
}

kp_result kp_rigid_solve(kp_rigid *rigid, kp_env *env) {
  const kp_rigid_def *def = &rigid->def;
  KP_TRY(prepare_movers(rigid, env));
  double boost;
  KP_TRY(find_boost(rigid, env, &boost));
  choose_substeps(rigid, env, boost);
  double h = rigid->sub_dt;
  KP_TRY(kp_rigid_recall_contacts(rigid));
  KP_TRY(color_pairs(rigid));
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    prepare_pair(rigid, &rigid->pairs.data[k]);
  }
  double hertz = fmin(boost * def->contact_frequency, STIFFEST / h);
  pass s = { .rigid = rigid,
             .h = h,
             .least_push = env->dt * kp_vec3_length(env->simulation.gravity),
             .free = soft(hertz, def->contact_damping, h),
             .fixed = soft(2.0 * hertz, def->contact_damping, h) };
  for (int k = 0; k < rigid->n_substeps; ++k) {
    speed_up(rigid, h);
    KP_TRY(kp_rigid_bounce(rigid, env->bodies, h));
    run_pass(&s, warm_start);
    s.use_bias = true;
    for (int64_t i = 0; i < def->iterations; ++i) {
      run_pass(&s, solve_pair);
    }
    if (def->continuous) {
      KP_TRY(kp_rigid_guard(rigid, env, h));
    }
    move(rigid, env->bodies, h);
    KP_TRY(kp_rigid_bounce(rigid, env->bodies, 0.0));
    s.use_bias = false;
    for (int64_t i = 0; i < def->iterations; ++i) {
      run_pass(&s, relax_pair);
    }
  }
  write_frames(rigid, env->bodies);
  tell_contacts(rigid, env);
  return kp_rigid_store_contacts(rigid);
}
