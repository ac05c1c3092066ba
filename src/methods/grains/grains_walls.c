// What grains see of solids: every sample stands for a disc of its surface, cut where the surface
// ends. Which part of the disc lies on the surface is asked of the shape, once.
#include <math.h>

#include "geom/frame.h"
#include "methods/grains/grains.h"

#define DIRECTIONS 16       // around a disc
#define ROUNDING 1e-4       // spacings
#define SHARP_COSINE 0.9    // a surface that turns by more than 26 degrees has an edge
#define MOST_LIFT 0.1       // spacings that a disc may stand off a curved surface
#define SHRINK 0.75         // of a disc that stands off further
#define SMALLEST_DISC 0.05  // of the spacing; a smaller one is a point

typedef struct disc_job {
  const kp_shape *shape;
  double spacing;
  kp_vec3 at, normal;  // of the surface, in the shape's axes
  kp_vec3 rim[DIRECTIONS];
  int n_rim;
} disc_job;

// How far a point of the disc's plane stands off the solid [m]; negative within.
static double lift_at(const disc_job *j, kp_vec3 offset) {
  return kp_shape_distance(j->shape, kp_vec3_add(j->at, offset));
}

// Where the disc leaves the solid over an edge on the way to `offset`: the direction c across the
// edge within the disc's plane, and how far away the edge is. The distance from the solid, whose
// gradient is g, grows along that direction by g . c.
static bool find_edge(const disc_job *j, kp_vec3 offset, kp_vec3 *across, double *reach) {
  kp_vec3 g;
  double lift = kp_shape_query(j->shape, kp_vec3_add(j->at, offset), &g);
  double along = kp_vec3_dot(g, j->normal);
  if (lift < ROUNDING * j->spacing || fabs(along) > SHARP_COSINE) {
    return false;
  }
  kp_vec3 side = kp_vec3_madd(g, -along, j->normal);
  double slope = kp_vec3_length(side);
  *across = kp_vec3_scale(side, 1.0 / slope);
  *reach = fmax(0.0, kp_vec3_dot(offset, *across) - lift / slope);
  return true;
}

// The nearest edge cuts the disc on one side, an edge straight across on the other.
static void cut_disc(const disc_job *j, grains_disc_cut *cut) {
  double nearest = HUGE_VAL;
  for (int k = 0; k < j->n_rim; ++k) {
    kp_vec3 across;
    double reach;
    if (find_edge(j, kp_vec3_scale(j->rim[k], cut->radius), &across, &reach) && reach < nearest) {
      nearest = reach;
      cut->across = across;
    }
  }
  if (!isfinite(nearest)) {
    return;
  }
  cut->high = fmin(cut->high, nearest);
  kp_vec3 back;
  double reach;
  if (find_edge(j, kp_vec3_scale(cut->across, -cut->radius), &back, &reach)) {
    cut->low = fmax(cut->low, -reach);
  }
}

static bool stands_off(const disc_job *j, const grains_disc_cut *cut) {
  for (int k = 0; k < j->n_rim; ++k) {
    kp_vec3 offset = kp_vec3_scale(j->rim[k], cut->radius);
    double along = kp_vec3_dot(offset, cut->across);
    double clamped = fmin(fmax(along, cut->low), cut->high);
    double lift = lift_at(j, kp_vec3_madd(offset, clamped - along, cut->across));
    if (lift > MOST_LIFT * j->spacing) {
      return true;
    }
  }
  return false;
}

// The part of a disc of the given radius that lies on the solid: cut by one edge or by two that
// are parallel, and smaller where that is not enough, at corners and on tight curves.
static grains_disc_cut measure_disc(const disc_job *j, double radius) {
  grains_disc_cut cut = { .radius = radius, .low = -radius, .high = radius };
  cut_disc(j, &cut);
  while (cut.radius > 0.0 && stands_off(j, &cut)) {
    double smaller = SHRINK * cut.radius;
    cut.radius = smaller > SMALLEST_DISC * j->spacing ? smaller : 0.0;
  }
  return cut;
}

static void set_rim(disc_job *j, int dimension) {
  if (dimension == 2) {
    j->n_rim = 2;
    j->rim[0] = kp_vec3_make(-j->normal.y, j->normal.x, 0.0);
    j->rim[1] = kp_vec3_scale(j->rim[0], -1.0);
    return;
  }
  kp_vec3 u, v;
  kp_frame_make(j->normal, &u, &v);
  j->n_rim = DIRECTIONS;
  for (int k = 0; k < DIRECTIONS; ++k) {
    double angle = 2.0 * 3.14159265358979323846 * k / DIRECTIONS;
    j->rim[k] = kp_vec3_madd(kp_vec3_scale(u, cos(angle)), sin(angle), v);
  }
}

// ---- all samples --------------------------------------------------------------------------------

// The faces of the domain are planes here, whatever samples liquids have put behind them.
static const kp_solid *solid_of(const kp_env *env, kp_index body) {
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    if (env->scenery.solids[s].body == body) {
      return &env->scenery.solids[s];
    }
  }
  return NULL;
}

// Samples on the host.
typedef struct host_samples {
  const kp_pos *x[3];
  const kp_real *n[3], *area;
  const double *local[3];
  kp_real *discs;
} host_samples;

static kp_result look_at(kp_grains_walls *walls, host_samples *out) {
  kp_interface *s = walls->interface;
  for (int c = 0; c < 3; ++c) {
    out->x[c] = kp_buffer_host(&s->set->position->buffers[c], KP_ACCESS_READ);
    out->n[c] = kp_buffer_host(&s->normal->buffers[c], KP_ACCESS_READ);
    out->local[c] = kp_buffer_host(&s->local->buffers[c], KP_ACCESS_READ);
  }
  out->area = kp_buffer_host(&s->area->buffers[0], KP_ACCESS_READ);
  KP_TRY(kp_buffer_room(&walls->discs, KP_TYPE_REAL, GRAINS_DISC_SIZE * s->set->space->n,
                        &out->discs));
  bool is_there = out->x[2] != NULL && out->n[2] != NULL && out->local[2] != NULL;
  return is_there && out->area != NULL ? KP_OK : KP_ERROR_MEMORY;
}

static void write_disc(const kp_grains_walls *walls, const kp_solid *solid, double lift,
                       const grains_disc_cut *cut, kp_real *out) {
  // of what moves in the axes of the body, to be turned with it
  kp_vec3 across =
      walls->interface->moving ? cut->across : kp_quat_rotate(solid->turn, cut->across);
  out[GRAINS_DISC_LIFT] = (kp_real)lift;
  out[GRAINS_DISC_RADIUS] = (kp_real)cut->radius;
  out[GRAINS_DISC_LOW] = (kp_real)cut->low;
  out[GRAINS_DISC_HIGH] = (kp_real)cut->high;
  out[GRAINS_DISC_ACROSS] = (kp_real)across.x;
  out[GRAINS_DISC_ACROSS + 1] = (kp_real)across.y;
  out[GRAINS_DISC_ACROSS + 2] = (kp_real)across.z;
}

static kp_result measure_range(kp_grains_walls *walls, const kp_env *env, const host_samples *s,
                               const kp_interface_range *range) {
  const kp_solid *solid = solid_of(env, range->body);
  double spacing = kp_interface_spacing(s->area + range->first, range->count, env->dimension);
  // samples lie half their distance below the surface (methods/common/walls.c)
  double lift = 0.5 * spacing;
  // discs that overlap enough to leave no hole between irregular samples
  double radius = (env->dimension == 3 ? 0.9 : 0.7) * spacing;
  double extent = 0.0;
  for (int64_t i = range->first; i < range->first + range->count; ++i) {
    kp_real *out = s->discs + GRAINS_DISC_SIZE * i;
    kp_vec3 local = kp_vec3_make(s->local[0][i], s->local[1][i], s->local[2][i]);
    extent = fmax(extent, kp_vec3_length(local));
    out[GRAINS_DISC_RADIUS] = (kp_real)-1;
    if (solid != NULL) {
      kp_vec3 n = kp_vec3_make((double)s->n[0][i], (double)s->n[1][i], (double)s->n[2][i]);
      kp_vec3 x = kp_vec3_make(s->x[0][i], s->x[1][i], s->x[2][i]);
      disc_job job = { .shape = solid->shape,
                       .spacing = spacing,
                       .at = kp_solid_local(solid, kp_vec3_madd(x, lift, n)),
                       .normal = kp_quat_rotate(kp_quat_conjugate(solid->turn), n) };
      set_rim(&job, env->dimension);
      grains_disc_cut cut = measure_disc(&job, radius);
      write_disc(walls, solid, lift, &cut, out);
      walls->largest_disc = fmax(walls->largest_disc, radius);
    }
  }
  return kp_array_push(&walls->extents, extent);
}

kp_result kp_grains_make_walls(kp_env *env, kp_interface *interface, double edge,
                               kp_grains_walls *walls) {
  walls->interface = interface;
  kp_buffer_init(&walls->discs, env->backend);
  host_samples samples;
  KP_TRY(look_at(walls, &samples));
  for (size_t r = 0; r < interface->ranges.count; ++r) {
    KP_TRY(measure_range(walls, env, &samples, &interface->ranges.data[r]));
  }
  return kp_cells_create(interface->set, edge, &walls->cells);
}
