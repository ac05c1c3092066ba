#include "methods/common/grid_solids.h"

#include <math.h>
#include <string.h>

#include "par/kernel_define.h"
#include "par/parallel.h"

SOLID_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define CHUNK 1024

// ---- at the start

// Where the shape's origin is now, and its axes as rows.
static kp_vec3 place_of(const kp_env *env, kp_index body, double axes[3][3]) {
  const kp_body *model = &env->bodies->models.data[body];
  kp_frame3 frame = kp_bodies_frame(env->bodies, body);
  const kp_vec3 unit[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  for (int c = 0; c < 3; ++c) {
    kp_vec3 axis = kp_quat_rotate(frame.orientation, unit[c]);
    axes[c][0] = axis.x;
    axes[c][1] = axis.y;
    axes[c][2] = axis.z;
  }
  return kp_vec3_sub(frame.position, kp_quat_rotate(frame.orientation, model->center));
}

// A solid that stays, asked by many threads at once.
typedef struct still_solid {
  const kp_shape *shape;
  kp_vec3 origin;
  double axes[3][3];
  int32_t body;
} still_solid;

typedef struct still_job {
  const kp_mac_view *grid;
  const still_solid *solids;
  size_t n_solids;
  kp_real *distance;
  int32_t *body;
} still_job;

static void corner_of(const kp_mac_view *g, int64_t t, double p[3]) {
  int64_t slab = g->dimension == 2 ? 0 : t / g->slab;
  int64_t rest = g->dimension == 2 ? t : t % g->slab;
  p[0] = g->lo[0] + g->cell * (double)(rest % g->row - KP_MAC_GHOSTS);
  p[1] = g->lo[1] + g->cell * (double)(rest / g->row - KP_MAC_GHOSTS);
  p[2] = g->dimension == 2 ? 0.0 : g->lo[2] + g->cell * (double)(slab - KP_MAC_GHOSTS);
}

// Exact distances of what stays, at all corners of the padded grid.
static void ask_still(int64_t begin, int64_t end, void *context) {
  const still_job *job = context;
  for (int64_t t = begin; t < end; ++t) {
    double p[3];
    corner_of(job->grid, t, p);
    double nearest = SOLID_FAR;
    int32_t body = -1;
    for (size_t s = 0; s < job->n_solids; ++s) {
      const still_solid *solid = &job->solids[s];
      kp_vec3 d = kp_vec3_sub(kp_vec3_make(p[0], p[1], p[2]), solid->origin);
      const double(*axes)[3] = solid->axes;
      kp_vec3 local = kp_vec3_make(axes[0][0] * d.x + axes[0][1] * d.y + axes[0][2] * d.z,
                                   axes[1][0] * d.x + axes[1][1] * d.y + axes[1][2] * d.z,
                                   axes[2][0] * d.x + axes[2][1] * d.y + axes[2][2] * d.z);
      double distance = kp_shape_distance(solid->shape, local);
      body = distance < nearest ? solid->body : body;
      nearest = fmin(nearest, distance);
    }
    job->distance[t] = (kp_real)nearest;
    job->body[t] = body;
  }
}

static kp_result ask_all_still(kp_grid_solids *s, kp_env *env) {
  kp_buffer *distance = s->has_moving ? &s->still_distance : &s->distance;
  kp_buffer *body = s->has_moving ? &s->still_body : &s->body;
  KP_TRY(kp_mac_scratch(s->mac, KP_TYPE_REAL, distance));
  KP_TRY(kp_mac_scratch(s->mac, KP_TYPE_I32, body));
  still_job job = { .grid = &s->mac->view };
  KP_TRY(kp_buffer_get(distance, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&job.distance));
  KP_TRY(kp_buffer_get(body, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&job.body));
  still_solid *still = kp_alloc(s->solids.count * sizeof *still, KP_MEMORY_SCRATCH);
  if (still == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t k = 0; k < s->solids.count; ++k) {
    const kp_grid_solid *solid = &s->solids.data[k];
    if (!solid->moves) {
      still_solid *out = &still[job.n_solids++];
      *out = (still_solid){ .shape = solid->shape, .body = (int32_t)solid->body };
      out->origin = place_of(env, solid->body, out->axes);
    }
  }
  job.solids = still;
  kp_parallel_for(s->mac->view.count, CHUNK, ask_still, &job);
  kp_free(still);
  return KP_OK;
}

static kp_result add_solid(kp_grid_solids *s, kp_env *env, const kp_solid *solid) {
  kp_grid_solid entry = { .shape = solid->shape, .body = solid->body };
  entry.moves = env->bodies->models.data[solid->body].kind != KP_BODY_STATIC;
  if (entry.moves) {
    double h = s->mac->view.cell;
    kp_aabb room = { env->domain.min, env->domain.max };
    KP_TRY(kp_distance_grid_bake(&entry.baked, env->backend, solid->shape, 0.5 * h,
                                 s->near_distance + 2.0 * h, &room));
  }
  s->has_solids = true;
  s->has_moving = s->has_moving || entry.moves;
  return kp_array_push(&s->solids, entry);
}

static void set_sides(kp_grid_solids *s) {
  for (int axis = 0; axis < 3; ++axis) {
    for (int e = 0; e < 2; ++e) {
      const kp_mac_side *side = &s->mac->sides[axis][e];
      const double v[3] = { side->velocity.x, side->velocity.y, side->velocity.z };
      bool is_inflow = side->kind == KP_MAC_INFLOW;
      bool counts = axis < s->mac->view.dimension;
      s->sides.is_wall[axis][e] = counts && side->kind == KP_MAC_WALL;
      s->sides.is_closed[axis][e] = counts && (is_inflow || side->kind == KP_MAC_WALL);
      s->sides.speed[axis][e] = (kp_real)(is_inflow ? v[axis] : 0.0);
    }
  }
}

kp_result kp_grid_solids_create(kp_grid_solids *solids, kp_env *env, kp_mac *mac,
                                double near_distance) {
  *solids = (kp_grid_solids){ .mac = mac, .near_distance = near_distance };
  kp_buffer_init(&solids->records, mac->backend);
  solids->records.type = KP_TYPE_F64;
  set_sides(solids);
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    KP_TRY(add_solid(solids, env, &env->scenery.solids[s]));
  }
  if (!solids->has_solids) {
    return KP_OK;
  }
  KP_TRY(ask_all_still(solids, env));
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, &solids->fraction[axis]));
    if (solids->has_moving) {
      KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, &solids->velocity[axis]));
    }
  }
  if (solids->has_moving) {
    KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, &solids->distance));
    KP_TRY(kp_mac_scratch(mac, KP_TYPE_I32, &solids->body));
  }
  return KP_OK;
}

void kp_grid_solids_free(kp_grid_solids *solids) {
  for (size_t s = 0; s < solids->solids.count; ++s) {
    if (solids->solids.data[s].moves) {
      kp_distance_grid_free(&solids->solids.data[s].baked);
    }
  }
  kp_array_free(&solids->solids);
  kp_buffer_free(&solids->still_distance);
  kp_buffer_free(&solids->still_body);
  kp_buffer_free(&solids->distance);
  kp_buffer_free(&solids->body);
  kp_buffer_free(&solids->records);
  for (int axis = 0; axis < 3; ++axis) {
    kp_buffer_free(&solids->fraction[axis]);
    kp_buffer_free(&solids->velocity[axis]);
  }
}

// ---- every step

kp_buffer *kp_grid_solids_part(kp_buffer *buffer) {
  return buffer->used > 0 ? buffer : NULL;
}

// Velocities of all bodies for the kernels.
static kp_result write_records(kp_grid_solids *s, kp_env *env) {
  size_t n = env->bodies->models.count;
  KP_TRY(kp_buffer_resize(&s->records, n * SOLID_RECORD * sizeof(double)));
  double *r;
  KP_TRY(kp_buffer_get(&s->records, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&r));
  for (size_t b = 0; b < n; ++b, r += SOLID_RECORD) {
    kp_frame3 f = kp_bodies_frame(env->bodies, (kp_index)b);
    kp_vec3 slide = kp_quat_rotate(f.orientation, env->bodies->slides.data[b]);
    const kp_vec3 parts[3] = { kp_vec3_add(f.velocity, slide), f.angular_velocity, f.position };
    for (int p = 0; p < 3; ++p) {
      r[3 * p] = parts[p].x;
      r[3 * p + 1] = parts[p].y;
      r[3 * p + 2] = parts[p].z;
    }
  }
  return KP_OK;
}

// The corners a body can reach: its baked box, turned, grown to whole corners and cut at the grid.
// False: none.
static bool box_of(const kp_mac_view *g, const kp_distance_view *d, solid_stamp_args *a) {
  for (int c = 0; c < 3; ++c) {
    double lo = a->origin[c];
    double hi = a->origin[c];
    for (int b = 0; b < 3; ++b) {
      double from = a->axes[b][c] * d->lo[b];
      double to = a->axes[b][c] * (d->lo[b] + d->cell * (d->n[b] - 1));
      lo += fmin(from, to);
      hi += fmax(from, to);
    }
    bool is_flat = c == 2 && g->dimension == 2;
    double ghosts = is_flat ? 0.0 : KP_MAC_GHOSTS;
    double first = is_flat ? 0.0 : fmax(-ghosts, floor((lo - g->lo[c]) / g->cell));
    double last =
        is_flat ? 0.0 : fmin((double)g->n[c] + ghosts - 1.0, ceil((hi - g->lo[c]) / g->cell));
    if (last < first) {
      return false;
    }
    a->lo[c] = (int32_t)first;
    a->n[c] = (int32_t)(last - first) + 1;
  }
  return true;
}

static kp_result stamp(kp_grid_solids *s, kp_env *env, kp_grid_solid *solid) {
  solid_stamp_args a = { .grid = s->mac->view,
                         .shape = solid->baked.view,
                         .body_index = solid->body };
  kp_vec3 origin = place_of(env, solid->body, a.axes);
  a.origin[0] = origin.x;
  a.origin[1] = origin.y;
  a.origin[2] = origin.z;
  if (!box_of(&s->mac->view, &solid->baked.view, &a)) {
    return KP_OK;
  }
  kp_call call;
  kp_call_init(&call, &solid_stamp_kernel, &a);
  KP_BIND(&call, &a, values, &solid->baked.values, KP_ACCESS_READ);
  KP_BIND(&call, &a, distance, &s->distance, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, body, &s->body, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, (int64_t)a.n[0] * a.n[1] * a.n[2]);
}

static kp_result stamp_all(kp_grid_solids *s, kp_env *env) {
  solid_clear_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &solid_clear_kernel, &a);
  KP_BIND(&call, &a, still_distance, &s->still_distance, KP_ACCESS_READ);
  KP_BIND(&call, &a, still_body, &s->still_body, KP_ACCESS_READ);
  KP_BIND(&call, &a, distance, &s->distance, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, body, &s->body, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, s->mac->view.count));
  for (size_t k = 0; k < s->solids.count; ++k) {
    if (s->solids.data[k].moves) {
      KP_TRY(stamp(s, env, &s->solids.data[k]));
    }
  }
  return write_records(s, env);
}

static kp_result cut_faces(kp_grid_solids *s) {
  for (int axis = 0; axis < s->mac->view.dimension; ++axis) {
    solid_faces_args a = { .grid = s->mac->view, .sides = s->sides, .axis = axis };
    kp_call call;
    kp_call_init(&call, &solid_faces_kernel, &a);
    KP_BIND(&call, &a, distance, &s->distance, KP_ACCESS_READ);
    KP_BIND(&call, &a, body, &s->body, KP_ACCESS_READ);
    KP_BIND(&call, &a, records, kp_grid_solids_part(&s->records), KP_ACCESS_READ);
    KP_BIND(&call, &a, fraction, &s->fraction[axis], KP_ACCESS_WRITE);
    KP_BIND(&call, &a, velocity, kp_grid_solids_part(&s->velocity[axis]), KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(s->mac, (kp_mac_kind)axis, &call));
    KP_TRY(kp_mac_fill_periodic(s->mac, &s->fraction[axis]));
    if (s->has_moving) {
      KP_TRY(kp_mac_fill_periodic(s->mac, &s->velocity[axis]));
    }
  }
  return KP_OK;
}

kp_result kp_grid_solids_speeds(kp_grid_solids *s, kp_env *env) {
  KP_TRY(write_records(s, env));
  return cut_faces(s);
}

kp_result kp_grid_solids_update(kp_grid_solids *s, kp_env *env, kp_field *flags, uint8_t kind) {
  if (s->has_moving) {
    KP_TRY(stamp_all(s, env));
  }
  if (s->has_moving || (s->has_solids && s->revision != s->mac->window_revision)) {
    KP_TRY(cut_faces(s));
    s->revision = s->mac->window_revision;
  }
  solid_cells_args a = { .grid = s->mac->view,
                         .sides = s->sides,
                         .near_distance = (kp_real)s->near_distance,
                         .kind = kind };
  if (s->passes_walls) {
    memset(a.sides.is_closed, 0, sizeof a.sides.is_closed);
  }
  kp_call call;
  kp_call_init(&call, &solid_cells_kernel, &a);
  KP_BIND(&call, &a, distance, kp_grid_solids_part(&s->distance), KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction_x, kp_grid_solids_part(&s->fraction[0]), KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction_y, kp_grid_solids_part(&s->fraction[1]), KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction_z, kp_grid_solids_part(&s->fraction[2]), KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flags->buffers[0], KP_ACCESS_WRITE);
  return kp_mac_rows(s->mac, KP_MAC_CELL, &call);
}
