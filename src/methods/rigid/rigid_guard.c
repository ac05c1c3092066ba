// Continuous collision. Within a sub-step bodies move along known paths: straight on, turning by
// the rule of data/bodies.h. A swift body, one that would cross a share of its own thickness in a
// step or leaves the box in which its contacts were sought, goes from touch to touch: the earliest
// of all touches comes next, the two bodies are brought there, strike (rigid_strike.c) and go on
// with their new velocities; what the strike made swift joins in. So nothing passes anything,
// angular momentum is kept (both are where they touch) and no time is lost.
//
// First touches by conservative advancement (Mirtich 1996): for a time that the distance and the
// velocities at the corners give (kp_core_free_time) nothing can touch; then both are looked at
// again. Solids that are apart go on until they almost touch. Solids that
// touch have contacts already; only their cores (geom/core.h) are watched, and may lose half of
// their distance. A body that is struck too often in a sub-step is held where it is for the rest of
// it.
#include <math.h>
#include <stdlib.h>

#include "methods/rigid/rigid_state.h"
#include "par/parallel.h"

#define NEVER HUGE_VAL
#define NEAR 0.05  // insets: this near counts as touching, and this early
#define MOST_ADVANCES 400
#define MOST_STRIKES 16  // of one body in a sub-step
#define MOST_TURN 1.0    // rad in one application of the rule
#define MOST_PIECES 64   // of a turn
#define MOST_TILT 0.1    // rad: contacts of the start of the step are past then
#define PARALLEL_MEETINGS 16

// ---- paths --------------------------------------------------------------------------------------

static kp_quat turned_by(kp_quat q, kp_vec3 turn) {
  double angle = kp_vec3_length(turn);
  if (angle == 0.0) {
    return q;
  }
  kp_quat by = kp_quat_from_axis_angle(kp_vec3_scale(turn, 1.0 / angle), angle);
  return kp_quat_normalize(kp_quat_mul(by, q));
}

// Angular momentum, in space.
static kp_vec3 spin_of(const kp_body *model, const kp_rigid_mover *m) {
  kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(m->turn), m->w);
  return kp_quat_rotate(m->turn, kp_mat3_mul_vec3(&model->inertia, local));
}

// A top with two equal moments goes round its angular momentum L at the rate L / I_t and whirls
// about its own axis. Exact, however fast: needles roll about their axis in no time.
typedef struct top {
  kp_vec3 axis;    // in space
  kp_vec3 around;  // rad/s
  double whirl;    // about the axis, on top of that
} top;

static top top_of(const kp_rigid_part *p, const kp_body *model, const kp_rigid_mover *m) {
  kp_vec3 spin = spin_of(model, m);
  top t = { .axis = kp_quat_rotate(m->turn, p->axis) };
  t.around = kp_vec3_scale(spin, 1.0 / p->across);
  t.whirl = kp_vec3_dot(m->w, t.axis) - kp_vec3_dot(t.around, t.axis);
  return t;
}

// Too fast for one application of the rule to be followed on its way.
static bool is_fast_turn(const kp_rigid *rigid, const kp_rigid_mover *m) {
  return kp_vec3_length(m->w) * (rigid->sub_dt - m->clock) > MOST_TURN;
}

// Pieces do not depend on how far it goes, so that it is one path.
static void turn_along(const kp_rigid *rigid, const kp_rigid_part *p, const kp_body *model,
                       kp_rigid_mover *m, double ahead) {
  if (!is_fast_turn(rigid, m)) {
    kp_body_turn(model, &m->turn, &m->w, ahead);
    return;
  }
  if (p->across > 0.0) {
    top t = top_of(p, model, m);
    m->turn = turned_by(m->turn, kp_vec3_scale(t.axis, ahead * t.whirl));
    m->turn = turned_by(m->turn, kp_vec3_scale(t.around, ahead));
    m->w = kp_vec3_madd(t.around, t.whirl, kp_quat_rotate(m->turn, p->axis));
    return;
  }
  double piece = fmax(MOST_TURN / kp_vec3_length(m->w), rigid->sub_dt / MOST_PIECES);
  for (; ahead > piece; ahead -= piece) {
    kp_body_turn(model, &m->turn, &m->w, piece);
  }
  kp_body_turn(model, &m->turn, &m->w, ahead);
}

void kp_rigid_path(const kp_rigid *rigid, const kp_bodies *bodies, kp_index body, double time,
                   kp_rigid_mover *out) {
  *out = rigid->movers.data[body];
  double ahead = time - out->clock;
  if (out->is_held || ahead <= 0.0 || body >= (kp_index)bodies->models.count) {
    out->clock = time;
    return;
  }
  out->shift = kp_vec3_madd(out->shift, ahead, out->v);
  if (out->is_free) {
    const kp_rigid_part *part = &rigid->parts.data[rigid->part_of.data[body]];
    turn_along(rigid, part, &bodies->models.data[body], out, ahead);
  } else {
    out->turn = turned_by(out->turn, kp_vec3_scale(out->w, ahead));
  }
  out->clock = time;
}

// ---- first touches ------------------------------------------------------------------------------

typedef struct guard {
  kp_rigid *rigid;
  kp_env *env;
  double h;
} guard;

static kp_index body_of(const guard *g, const kp_rigid_part *p) {
  return p->body == KP_RIGID_DOMAIN ? (kp_index)g->env->bodies->models.count : p->body;
}

static kp_vec3 origin_of(const guard *g, const kp_rigid_part *p, const kp_rigid_mover *m) {
  kp_vec3 center = kp_vec3_make(0.0, 0.0, 0.0);
  if (p->body != KP_RIGID_DOMAIN) {
    center = g->env->bodies->models.data[p->body].center;
  }
  return kp_vec3_sub(kp_vec3_add(m->start, m->shift), kp_quat_rotate(m->turn, center));
}

static kp_core_at core_at(const guard *g, const kp_rigid_part *p, double time) {
  kp_rigid_mover m;
  kp_rigid_path(g->rigid, g->env->bodies, body_of(g, p), time, &m);
  return kp_core_place(&p->core, p->shape, origin_of(g, p, &m), m.turn);
}

static kp_vec3 center_at(const guard *g, const kp_rigid_part *p, double time) {
  kp_rigid_mover m;
  kp_rigid_path(g->rigid, g->env->bodies, body_of(g, p), time, &m);
  return kp_vec3_add(m.start, m.shift);
}

// Velocities of a part along its path.
typedef struct course {
  kp_vec3 v, w;
  double swing;
  double sway;   // bound of the change of w until the end
  double whirl;  // m/s, of points about the own axis
} course;

static course course_of(const guard *g, const kp_rigid_part *p, const kp_rigid_part *other) {
  const kp_rigid_mover *m = &g->rigid->movers.data[body_of(g, p)];
  course c = { .swing = p->swing };
  if (m->is_held) {
    return c;
  }
  c.v = m->v;
  c.w = m->w;
  if (m->is_free && p->across > 0.0 && is_fast_turn(g->rigid, m)) {
    top t = top_of(p, &g->env->bodies->models.data[p->body], m);
    c.w = t.around;
    c.whirl = fabs(t.whirl) * p->slim;
  } else if (m->is_free) {
    // L' = 0 in space: w' = I^-1 (L x w)
    const kp_body *model = &g->env->bodies->models.data[p->body];
    kp_vec3 spin = spin_of(model, m);
    kp_vec3 change = kp_mat3_mul_vec3(&m->inverse_inertia, kp_vec3_cross(spin, m->w));
    c.sway = fmin(g->h * kp_vec3_length(change), 2.0 * kp_vec3_length(m->w));
  } else if (!p->is_bounded) {
    const kp_rigid_mover *o = &g->rigid->movers.data[body_of(g, other)];
    kp_vec3 apart = kp_vec3_sub(kp_vec3_add(o->start, o->shift), kp_vec3_add(m->start, m->shift));
    c.swing = kp_vec3_length(apart) + other->swing + g->h * kp_vec3_length(o->v);
  }
  return c;
}

// Whatever the normal.
static double closing_most(const course *a, const course *b) {
  return kp_vec3_length(kp_vec3_sub(a->v, b->v)) + (kp_vec3_length(a->w) + a->sway) * a->swing +
         a->whirl + (kp_vec3_length(b->w) + b->sway) * b->swing + b->whirl;
}

static double start_of(const guard *g, const kp_rigid_part *a, const kp_rigid_part *b) {
  const kp_rigid_mover *ma = &g->rigid->movers.data[body_of(g, a)];
  const kp_rigid_mover *mb = &g->rigid->movers.data[body_of(g, b)];
  return fmax(ma->clock, mb->clock);
}

static bool can_move(const guard *g, const kp_rigid_part *p) {
  const kp_rigid_mover *m = &g->rigid->movers.data[body_of(g, p)];
  return m->is_free && !m->is_held;
}

static kp_core_motion motion_of(const guard *g, const kp_rigid_part *p, const course *c,
                                double time) {
  return (kp_core_motion){ center_at(g, p, time), c->v, c->w, c->sway, c->swing, c->whirl };
}

// When the two come as near as the limit.
static double advance(const guard *g, const kp_rigid_part *a, const kp_rigid_part *b, double from,
                      kp_core_limit limit) {
  course ca = course_of(g, a, b);
  course cb = course_of(g, b, a);
  double time = from;
  for (int i = 0; i < MOST_ADVANCES; ++i) {
    kp_core_at at_a = core_at(g, a, time);
    kp_core_at at_b = core_at(g, b, time);
    kp_core_motion ma = motion_of(g, a, &ca, time);
    kp_core_motion mb = motion_of(g, b, &cb, time);
    double free = kp_core_free_time(&at_a, &ma, &at_b, &mb, limit, g->h - time);
    if (free <= 0.0) {
      return time;
    }
    time += free;
    if (time >= g->h * (1.0 - 1e-12)) {
      return NEVER;
    }
  }
  return time;
}

// The nearer cores are, the less of their distance they may lose, so that what is pressed together
// for many sub-steps keeps one.
static double part_to_keep(double distance) {
  return distance > 0.5 ? 0.5 : (distance > 0.1 ? 0.8 : 0.998);
}

static void find_time(const guard *g, kp_rigid_meeting *m) {
  const kp_rigid_part *a = &g->rigid->parts.data[m->a];
  const kp_rigid_part *b = &g->rigid->parts.data[m->b];
  double from = start_of(g, a, b);
  double both = a->core.inset + b->core.inset;
  course ca = course_of(g, a, b);
  course cb = course_of(g, b, a);
  double far = closing_most(&ca, &cb) * (g->h - from) + both;
  m->is_stale = false;
  m->time = NEVER;
  if (!can_move(g, a) && !can_move(g, b)) {
    return;
  }
  kp_core_at at_a = core_at(g, a, from);
  kp_core_at at_b = core_at(g, b, from);
  kp_core_gap gap;
  if (kp_core_distance(&at_a, &at_b, far, true, &gap) && gap.distance > 2.0 * NEAR * both) {
    kp_core_limit limit = { NEAR * both, 1.5 * NEAR * both, true };
    m->time = gap.distance < far ? advance(g, a, b, from, limit) : NEVER;
    return;
  }
  // in touch: cores, or where even those have met nothing but their contacts
  if (kp_core_distance(&at_a, &at_b, far, false, &gap) && gap.distance > 0.0) {
    double most = fmin(gap.distance, both);
    double target = part_to_keep(gap.distance / both) * most;
    m->time = advance(g, a, b, from, (kp_core_limit){ target, 0.5 * (target + most), false });
  }
}

static void find_times(int64_t begin, int64_t end, void *context) {
  const guard *g = context;
  for (int64_t k = begin; k < end; ++k) {
    kp_rigid_meeting *m = &g->rigid->meetings.data[k];
    if (m->is_stale) {
      find_time(g, m);
    }
  }
}

// ---- who may meet -------------------------------------------------------------------------------

static double speed_of(const kp_rigid_part *p, const kp_rigid_mover *m) {
  return kp_vec3_length(m->v) + p->swing * kp_vec3_length(m->w);
}

// Whether any body is swift; the others stay within the boxes of the step.
static bool find_swift(guard *g) {
  kp_rigid *rigid = g->rigid;
  bool has_any = false;
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    const kp_rigid_part *part = &rigid->parts.data[p];
    if (!part->is_free) {
      continue;
    }
    kp_rigid_mover *m = &rigid->movers.data[part->body];
    double speed = speed_of(part, m);
    m->travelled += g->h * speed;
    m->turned += g->h * kp_rigid_tilting(part, m->turn, m->w);
    m->n_strikes = 0;
    m->is_swift =
        g->env->dt * speed > KP_RIGID_SWIFT * part->core.thin || m->travelled > part->grow;
    has_any = has_any || m->is_swift;
  }
  return has_any;
}

static void place(const guard *g, kp_rigid_part *p, const kp_rigid_mover *m, bool is_bare) {
  p->at = (kp_shape_at){ p->shape, origin_of(g, p, m), m->turn };
  const kp_convex *convex = is_bare ? &p->core.bare : &p->convex;
  p->convex_at = (kp_convex_at){ convex, kp_convex_pose_make(convex, p->at.origin, p->at.turn) };
}

// The box of what a part sweeps in the rest of the sub-step.
static void sweep_box(const guard *g, kp_rigid_part *p) {
  const kp_rigid_mover *m = &g->rigid->movers.data[p->body];
  place(g, p, m, false);
  double way = m->is_held ? 0.0 : (g->h - m->clock) * speed_of(p, m);
  p->box = kp_rigid_box_of(p, way + 2.0 * p->core.inset);
}

static kp_result add_meeting(guard *g, kp_index p, kp_index q) {
  kp_index a = p < q ? p : q;
  kp_index b = p < q ? q : p;
  for (size_t k = 0; k < g->rigid->meetings.count && g->rigid->changed.count > 0; ++k) {
    const kp_rigid_meeting *m = &g->rigid->meetings.data[k];
    if (m->a == a && m->b == b) {
      return KP_OK;
    }
  }
  kp_rigid_meeting m = { a, b, NEVER, true };
  return kp_array_push(&g->rigid->meetings, m);
}

typedef struct meeting_finder {
  guard *g;
  kp_index part;
  bool is_late;  // after a strike: one that is known is not added again
  kp_result result;
} meeting_finder;

static bool meet_in_tree(kp_index item, void *user) {
  meeting_finder *f = user;
  kp_rigid *rigid = f->g->rigid;
  kp_index other = rigid->bounded.data[item];
  const kp_rigid_part *p = &rigid->parts.data[f->part];
  const kp_rigid_part *q = &rigid->parts.data[other];
  bool is_swift = q->is_free && rigid->movers.data[q->body].is_swift;
  // two swift ones meet once
  bool is_mine = f->is_late || !is_swift || f->part < other;
  if (is_mine && other != f->part && kp_aabb_touches(p->box, q->box)) {
    f->result = add_meeting(f->g, f->part, other);
  }
  return f->result == KP_OK;
}

static kp_result meet_all(guard *g, kp_index part, bool is_late) {
  kp_rigid *rigid = g->rigid;
  meeting_finder f = { g, part, is_late, KP_OK };
  kp_bvh_query_box(&rigid->bvh, rigid->parts.data[part].box, meet_in_tree, &f);
  KP_TRY(f.result);
  for (size_t q = 0; q < rigid->parts.count; ++q) {
    if (!rigid->parts.data[q].is_bounded) {
      KP_TRY(add_meeting(g, part, (kp_index)q));
    }
  }
  // boxes in the tree are of the start of the sub-step
  for (size_t k = 0; k < rigid->changed.count; ++k) {
    kp_index q = rigid->part_of.data[rigid->changed.data[k]];
    if (q != part && kp_aabb_touches(rigid->parts.data[part].box, rigid->parts.data[q].box)) {
      KP_TRY(add_meeting(g, part, q));
    }
  }
  return KP_OK;
}

static int by_parts(const void *x, const void *y) {
  const kp_rigid_meeting *a = x;
  const kp_rigid_meeting *b = y;
  if (a->a != b->a) {
    return a->a < b->a ? -1 : 1;
  }
  return (a->b > b->b) - (a->b < b->b);
}

static kp_result find_meetings(guard *g) {
  kp_rigid *rigid = g->rigid;
  rigid->meetings.count = 0;
  rigid->changed.count = 0;
  for (size_t i = 0; i < rigid->bounded.count; ++i) {
    kp_rigid_part *p = &rigid->parts.data[rigid->bounded.data[i]];
    if (p->is_free && rigid->movers.data[p->body].is_swift) {
      sweep_box(g, p);
      rigid->boxes.data[i] = p->box;
    }
  }
  kp_bvh_refit(&rigid->bvh, rigid->boxes.data);
  for (size_t i = 0; i < rigid->bounded.count; ++i) {
    kp_index part = rigid->bounded.data[i];
    const kp_rigid_part *p = &rigid->parts.data[part];
    if (p->is_free && rigid->movers.data[p->body].is_swift) {
      KP_TRY(meet_all(g, part, false));
    }
  }
  if (rigid->meetings.count > 1) {
    qsort(rigid->meetings.data, rigid->meetings.count, sizeof *rigid->meetings.data, by_parts);
  }
  return KP_OK;
}

// ---- strikes ------------------------------------------------------------------------------------

static void bring_to(guard *g, kp_rigid_part *p, double time, bool is_bare) {
  kp_index body = body_of(g, p);
  kp_rigid_mover m;
  kp_rigid_path(g->rigid, g->env->bodies, body, time, &m);
  place(g, p, &m, is_bare);
  if (m.is_free) {
    const kp_body *model = &g->env->bodies->models.data[body];
    m.inverse_inertia = kp_rigid_world_inertia(&model->inverse_inertia, m.turn);
    g->rigid->movers.data[body] = m;
  }
}

// The pair among those that were struck in the step, with room for all its points.
static kp_result struck_pair(guard *g, kp_index a, kp_index b, kp_rigid_pair **out) {
  kp_rigid *rigid = g->rigid;
  for (size_t k = rigid->n_found; k < rigid->pairs.count; ++k) {
    if (rigid->pairs.data[k].a == a && rigid->pairs.data[k].b == b) {
      *out = &rigid->pairs.data[k];
      return KP_OK;
    }
  }
  kp_rigid_pair pair = kp_rigid_pair_of(rigid, g->env, (kp_rigid_candidate){ a, b });
  KP_TRY(kp_array_resize(&rigid->points, rigid->points.count + KP_MANIFOLD_MOST));
  KP_TRY(kp_array_push(&rigid->pairs, pair));
  *out = &rigid->pairs.data[rigid->pairs.count - 1];
  return KP_OK;
}

// Points in the order of their distance: those that touch first.
static kp_index sort_points(kp_manifold *m, double both) {
  for (int i = 1; i < m->count; ++i) {
    kp_contact_point point = m->points[i];
    int j = i;
    for (; j > 0 && m->points[j - 1].separation > point.separation; --j) {
      m->points[j] = m->points[j - 1];
    }
    m->points[j] = point;
  }
  kp_index n = 0;
  while (n < m->count &&
         m->points[n].separation <= m->points[0].separation + KP_RIGID_TOUCHING * both) {
    ++n;
  }
  return n;
}

static kp_result strike(guard *g, const kp_rigid_meeting *meeting) {
  kp_rigid *rigid = g->rigid;
  kp_rigid_part *a = &rigid->parts.data[meeting->a];
  kp_rigid_part *b = &rigid->parts.data[meeting->b];
  double both = a->core.inset + b->core.inset;
  double time = meeting->time;
  kp_rigid_mover *movers = rigid->movers.data;
  bring_to(g, a, time, true);
  bring_to(g, b, time, true);
  kp_manifold m = { .count = 0 };
  KP_TRY(kp_rigid_meet(rigid, a, b, both, &m));
  ++rigid->n_strikes;
  kp_rigid_mover *ma = &movers[body_of(g, a)];
  kp_rigid_mover *mb = &movers[body_of(g, b)];
  if (m.count > 0) {
    kp_index n = sort_points(&m, both);
    kp_rigid_pair *pair;
    KP_TRY(struck_pair(g, meeting->a, meeting->b, &pair));
    kp_vec3 xa = center_at(g, a, time);
    kp_vec3 xb = center_at(g, b, time);
    kp_vec3 apart = kp_vec3_sub(mb->shift, ma->shift);
    double share = mb->inverse_mass / (ma->inverse_mass + mb->inverse_mass);
    pair->between = kp_vec3_sub(mb->start, ma->start);
    pair->count = m.count;
    for (int i = 0; i < m.count; ++i) {
      kp_rigid_point p = kp_rigid_point_of(rigid, pair, &m.points[i], xa, xb);
      // as if from the start of the step
      p.arm_a = kp_vec3_madd(p.arm_a, -share, apart);
      p.arm_b = kp_vec3_madd(p.arm_b, 1.0 - share, apart);
      rigid->points.data[pair->first + i] = p;
    }
    kp_rigid_pair fresh = kp_rigid_pair_of(rigid, g->env, (kp_rigid_candidate){ pair->a, pair->b });
    pair->restitution = fresh.restitution;
    pair->is_past = false;
    kp_rigid_strike(rigid, pair, n);
    pair->restitution = 0.0;  // it has bounced
  }
  for (int side = 0; side < 2; ++side) {
    kp_rigid_mover *mover = side == 0 ? ma : mb;
    mover->is_held = mover->is_held || m.count == 0 || ++mover->n_strikes > MOST_STRIKES;
  }
  return KP_OK;
}

// A struck body goes on along another path.
static kp_result set_out(guard *g, kp_index part) {
  kp_rigid *rigid = g->rigid;
  kp_rigid_part *p = &rigid->parts.data[part];
  if (!p->is_free) {
    return KP_OK;
  }
  kp_rigid_mover *m = &rigid->movers.data[p->body];
  if (m->is_held) {
    ++rigid->n_held;
  }
  m->is_swift = true;
  sweep_box(g, p);
  for (size_t k = 0; k < rigid->meetings.count; ++k) {
    kp_rigid_meeting *meeting = &rigid->meetings.data[k];
    meeting->is_stale = meeting->is_stale || meeting->a == part || meeting->b == part;
  }
  bool is_known = false;
  for (size_t k = 0; k < rigid->changed.count; ++k) {
    is_known = is_known || rigid->changed.data[k] == p->body;
  }
  if (!is_known) {
    KP_TRY(kp_array_push(&rigid->changed, p->body));
  }
  return meet_all(g, part, true);
}

static kp_rigid_meeting *earliest(kp_rigid *rigid) {
  kp_rigid_meeting *first = NULL;
  for (size_t k = 0; k < rigid->meetings.count; ++k) {
    kp_rigid_meeting *m = &rigid->meetings.data[k];
    if (m->time < NEVER && (first == NULL || m->time < first->time)) {
      first = m;
    }
  }
  return first;
}

// Contacts that were struck in the step hold while their bodies are slow; swift ones strike anew.
// Those of the step's start hold until a body has turned to others of its features.
static void drop_past(kp_rigid *rigid) {
  for (size_t k = 0; k < rigid->pairs.count; ++k) {
    kp_rigid_pair *pair = &rigid->pairs.data[k];
    const kp_rigid_mover *a = &rigid->movers.data[pair->body_a];
    const kp_rigid_mover *b = &rigid->movers.data[pair->body_b];
    bool is_struck = k >= rigid->n_found;
    bool is_past = (a->is_swift && (is_struck || a->turned > MOST_TILT)) ||
                   (b->is_swift && (is_struck || b->turned > MOST_TILT));
    if (is_past && !pair->is_past) {
      pair->is_past = true;
      pair->rolling_impulse = kp_vec3_make(0.0, 0.0, 0.0);
      for (kp_index i = pair->first; i < pair->first + pair->count; ++i) {
        kp_rigid_point *p = &rigid->points.data[i];
        p->normal_impulse = p->t1_impulse = p->t2_impulse = 0.0;
      }
    }
  }
}

kp_result kp_rigid_guard(kp_rigid *rigid, kp_env *env, double h) {
  guard g = { rigid, env, h };
  if (!find_swift(&g)) {
    return KP_OK;
  }
  drop_past(rigid);
  KP_TRY(find_meetings(&g));
  int64_t n = (int64_t)rigid->meetings.count;
  if (n >= 4 * PARALLEL_MEETINGS) {
    kp_parallel_for(n, PARALLEL_MEETINGS, find_times, &g);
  }
  for (;;) {
    find_times(0, (int64_t)rigid->meetings.count, &g);
    kp_rigid_meeting *next = earliest(rigid);
    if (next == NULL) {
      return KP_OK;
    }
    kp_rigid_meeting meeting = *next;
    KP_TRY(strike(&g, &meeting));
    KP_TRY(set_out(&g, meeting.a));
    KP_TRY(set_out(&g, meeting.b));
  }
}
