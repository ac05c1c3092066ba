#include "methods/deform/deform_bodies.h"

#include <string.h>

#include "data/curve.h"
#include "methods/deform/deform.h"
#include "par/kernel_define.h"

DEFORM_BODIES_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define MOST_CELLS 64  // along an axis
#define GRID_CELLS 64  // a mesh is baked with cells of its size over this

static void put3(double out[3], kp_vec3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

// ---- life ---------------------------------------------------------------------------------------

// Faces of the domain are planes that never move.
static kp_result add_faces(kp_deform_bodies *b, kp_env *env, double friction) {
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    b->room_lo[axis] = faces.closed_lo ? faces.lo : -HUGE_VAL;
    b->room_hi[axis] = faces.closed_hi ? faces.hi : HUGE_VAL;
    for (int side = 0; side < 2; ++side) {
      if (!(side == 0 ? faces.closed_lo : faces.closed_hi)) {
        continue;
      }
      double at[3] = { 0.0, 0.0, 0.0 };
      double normal[3] = { 0.0, 0.0, 0.0 };
      at[axis] = side == 0 ? faces.lo : faces.hi;
      normal[axis] = side == 0 ? 1.0 : -1.0;
      kp_deform_obstacle face = { .body = -1, .is_wide = true };
      face.record = (deform_obstacle){ .values = -1,
                                       .next = -1,
                                       .body = -1,
                                       .axes = { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
                                       .friction = friction };
      face.record.shape = (kp_shape_view){ .kind = KP_SHAPE_PLANE,
                                           .dimension = 3,
                                           .p = { at[0], at[1], at[2] },
                                           .q = { normal[0], normal[1], normal[2] } };
      KP_TRY(kp_array_push(&b->solids, face));
    }
  }
  b->n_faces = (int64_t)b->solids.count;
  return KP_OK;
}

// Meshes are baked into one array of all grids.
static kp_result add_grid(kp_deform_bodies *b, kp_env *env, kp_deform_obstacle *solid) {
  kp_aabb box = kp_shape_bounds(solid->shape);
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  double cell = fmax(size.x, fmax(size.y, size.z)) / GRID_CELLS;
  kp_aabb room = { env->domain.min, env->domain.max };
  kp_distance_grid baked;
  KP_TRY(kp_distance_grid_bake(&baked, env->backend, solid->shape, cell, 3.0 * cell, &room));
  size_t before = b->values.used;
  solid->record.values = (int64_t)(before / sizeof(kp_real));
  solid->record.grid = baked.view;
  solid->record.grid.values = NULL;
  kp_result result = kp_buffer_resize(&b->values, before + baked.values.used);
  if (result == KP_OK) {
    char *to = kp_buffer_host(&b->values, KP_ACCESS_WRITE);
    const void *from = kp_buffer_host(&baked.values, KP_ACCESS_READ);
    result = to != NULL && from != NULL ? KP_OK : KP_ERROR_MEMORY;
    if (result == KP_OK) {
      memcpy(to + before, from, baked.values.used);
    }
  }
  kp_distance_grid_free(&baked);
  return result;
}

static kp_result add_solid(kp_deform *d, kp_env *env, const kp_solid *solid) {
  kp_deform_bodies *b = &d->bodies;
  const kp_body *model = &env->bodies->models.data[solid->body];
  kp_deform_obstacle entry = { .shape = solid->shape,
                               .body = solid->body,
                               .is_wide = !kp_shape_is_bounded(solid->shape) };
  kp_aabb box = kp_shape_bounds(solid->shape);
  entry.is_wide = entry.is_wide || !isfinite(box.min.z) || !isfinite(box.max.z);
  entry.record = (deform_obstacle){ .values = -1,
                                    .next = -1,
                                    .body = (int32_t)solid->body,
                                    .friction = model->friction,
                                    .inverse_mass = model->inverse_mass };
  if (solid->morph == NULL && solid->shape->def.kind == KP_SHAPE_MESH) {
    KP_TRY(add_grid(b, env, &entry));
  } else if (solid->morph == NULL) {
    entry.record.shape = kp_shape_view_of(solid->shape);
  }
  b->has_free = b->has_free || model->kind == KP_BODY_FREE;
  b->has_moving = b->has_moving || model->kind != KP_BODY_STATIC || solid->morph != NULL;
  KP_TRY(kp_array_push(&b->solids, entry));
  return solid->morph != NULL ? kp_deform_add_skin(d, solid->morph, b->solids.count - 1) : KP_OK;
}

static kp_result make_buffers(kp_deform_bodies *b, int64_t n) {
  kp_buffer *whole[] = { &b->contact, &b->second };
  for (int k = 0; k < 2; ++k) {
    whole[k]->type = KP_TYPE_I32;
    KP_TRY(kp_buffer_resize(whole[k], (size_t)n * sizeof(int32_t)));
  }
  for (int c = 0; c < 3; ++c) {
    b->impulse[c].type = KP_TYPE_REAL;
    KP_TRY(kp_buffer_resize(&b->impulse[c], (size_t)n * sizeof(kp_real)));
  }
  return KP_OK;
}

static kp_result update(kp_deform *deform, kp_env *env, double time);

kp_result kp_deform_bodies_create(kp_deform *deform, kp_env *env) {
  kp_deform_bodies *b = &deform->bodies;
  kp_buffer *buffers[] = { &b->records,    &b->values,     &b->start,   &b->list,
                           &b->contact,    &b->second,     &b->breezes, &b->impulse[0],
                           &b->impulse[1], &b->impulse[2], &b->planes };
  for (size_t k = 0; k < sizeof buffers / sizeof buffers[0]; ++k) {
    kp_buffer_init(buffers[k], env->backend);
  }
  b->values.type = KP_TYPE_REAL;
  b->breezes.type = KP_TYPE_F64;
  b->start.type = KP_TYPE_I32;
  b->list.type = KP_TYPE_I32;
  if (!deform->def.bodies) {
    return KP_OK;
  }
  KP_TRY(add_faces(b, env, deform->def.domain_friction));
  // those without bounds before the others, each in the order of the scene
  for (int wide = 1; wide >= 0; --wide) {
    for (size_t s = 0; s < env->scenery.n_solids; ++s) {
      const kp_solid *solid = &env->scenery.solids[s];
      kp_aabb box = kp_shape_bounds(solid->shape);
      bool is_wide = !kp_shape_is_bounded(solid->shape) || !isfinite(box.min.z);
      if (is_wide == (wide == 1)) {
        KP_TRY(add_solid(deform, env, solid));
      }
    }
    b->n_wide = wide == 1 ? (int64_t)b->solids.count : b->n_wide;
  }
  if (b->solids.count == 0) {
    return KP_OK;
  }
  KP_TRY(make_buffers(b, deform->set->space->n));
  for (size_t k = 0; k < deform->meet.guests.free.count; ++k) {
    kp_deform_free *free = &deform->meet.guests.free.data[k];
    for (size_t s = 0; s < b->solids.count; ++s) {
      free->solid = b->solids.data[s].body == free->body ? (int32_t)s : free->solid;
    }
  }
  for (size_t k = 0; k < env->bodies->models.count; ++k) {
    KP_TRY(kp_array_push(&b->frames, kp_bodies_frame(env->bodies, (kp_index)k)));
  }
  return update(deform, env, env->time);
}

void kp_deform_bodies_free(kp_deform_bodies *b) {
  kp_deform_free_skins(b);
  kp_array_free(&b->solids);
  kp_array_free(&b->frames);
  kp_array_free(&b->starts);
  kp_array_free(&b->lists);
  kp_buffer_free(&b->records);
  kp_buffer_free(&b->values);
  kp_buffer_free(&b->start);
  kp_buffer_free(&b->list);
  kp_buffer_free(&b->contact);
  kp_buffer_free(&b->second);
  kp_buffer_free(&b->breezes);
  kp_buffer_free(&b->planes);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&b->impulse[c]);
  }
}

// ---- where bodies are ---------------------------------------------------------------------------

// Solid `s` where its body is.
static void place(kp_deform_bodies *b, const kp_env *env, kp_deform_obstacle *s, double time) {
  const kp_body *model = &env->bodies->models.data[s->body];
  const kp_frame3 *f = &b->frames.data[s->body];
  deform_obstacle *r = &s->record;
  kp_mat3 turn = kp_quat_to_mat3(f->orientation);
  kp_vec3 origin = kp_vec3_sub(f->position, kp_quat_rotate(f->orientation, model->center));
  put3(r->origin, origin);
  put3(r->center, f->position);
  put3(r->velocity, f->velocity);
  put3(r->spin, f->angular_velocity);
  for (int k = 0; k < 9; ++k) {
    r->axes[k] = turn.m[k % 3][k / 3];
  }
  double slide[3] = { 0.0, 0.0, 0.0 };
  if (model->surface_velocity.components == 3) {
    kp_curve_at(&model->surface_velocity, time, slide, NULL);
  }
  r->friction = kp_body_friction_at(model, time);
  put3(r->slide, kp_quat_rotate(f->orientation, kp_vec3_make(slide[0], slide[1], slide[2])));
  for (int i = 0; i < 3 && model->kind == KP_BODY_FREE; ++i) {
    for (int j = 0; j < 3; ++j) {
      double sum = 0.0;
      for (int k = 0; k < 9; ++k) {
        sum += turn.m[i][k / 3] * model->inverse_inertia.m[k / 3][k % 3] * turn.m[j][k % 3];
      }
      r->inverse_inertia[3 * i + j] = sum;
    }
  }
}

// The box around a turned box, grown by what nodes keep away.
static void bound(deform_obstacle *r, kp_aabb box, double gap) {
  const double lo[3] = { box.min.x, box.min.y, box.min.z };
  const double hi[3] = { box.max.x, box.max.y, box.max.z };
  for (int c = 0; c < 3; ++c) {
    r->lo[c] = r->hi[c] = r->origin[c];
    for (int a = 0; a < 3; ++a) {
      double from = r->axes[3 * a + c] * lo[a];
      double to = r->axes[3 * a + c] * hi[a];
      r->lo[c] += fmin(from, to);
      r->hi[c] += fmax(from, to);
    }
    double slack = gap + 1e-9 * (r->hi[c] - r->lo[c]);
    r->lo[c] -= slack;
    r->hi[c] += slack;
  }
}

// Cells about as large as the smallest solid, over all that have bounds.
static void lay_cells(kp_deform_bodies *b) {
  double hi[3] = { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL };
  double smallest = HUGE_VAL;
  b->lo[0] = b->lo[1] = b->lo[2] = HUGE_VAL;
  for (size_t s = (size_t)b->n_wide; s < b->solids.count; ++s) {
    const deform_obstacle *r = &b->solids.data[s].record;
    double size = 0.0;
    for (int c = 0; c < 3; ++c) {
      b->lo[c] = fmin(b->lo[c], r->lo[c]);
      hi[c] = fmax(hi[c], r->hi[c]);
      size = fmax(size, r->hi[c] - r->lo[c]);
    }
    smallest = fmin(smallest, size);
  }
  b->n[0] = b->n[1] = b->n[2] = 0;
  if (!(smallest < HUGE_VAL)) {
    b->lo[0] = b->lo[1] = b->lo[2] = 0.0;
    b->edge = 1.0;
    return;
  }
  b->edge = smallest;
  for (int c = 0; c < 3; ++c) {
    b->edge = fmax(b->edge, (hi[c] - b->lo[c]) / MOST_CELLS);
  }
  for (int c = 0; c < 3; ++c) {
    b->n[c] = 1 + (int32_t)((hi[c] - b->lo[c]) / b->edge);
  }
}

static int32_t cell_of(const kp_deform_bodies *b, double x, int axis) {
  // as kernels do, bit for bit
  int32_t i = (int32_t)((x - b->lo[axis]) * (1.0 / b->edge));
  return i < 0 ? 0 : (i >= b->n[axis] ? b->n[axis] - 1 : i);
}

// Counts (or lists) the solids of each cell.
static void fill_cells(kp_deform_bodies *b, bool lists) {
  for (size_t s = (size_t)b->n_wide; s < b->solids.count; ++s) {
    const deform_obstacle *r = &b->solids.data[s].record;
    int32_t from[3], to[3];
    for (int c = 0; c < 3; ++c) {
      from[c] = cell_of(b, r->lo[c], c);
      to[c] = cell_of(b, r->hi[c], c);
    }
    for (int32_t k = from[2]; k <= to[2]; ++k) {
      for (int32_t j = from[1]; j <= to[1]; ++j) {
        for (int32_t i = from[0]; i <= to[0]; ++i) {
          int64_t cell = i + (int64_t)b->n[0] * (j + (int64_t)b->n[1] * k);
          if (lists) {
            b->lists.data[b->starts.data[cell]] = (int32_t)s;
          }
          b->starts.data[cell] += 1;
        }
      }
    }
  }
}

static kp_result make_cells(kp_deform_bodies *b) {
  lay_cells(b);
  size_t n = (size_t)b->n[0] * (size_t)b->n[1] * (size_t)b->n[2];
  KP_TRY(kp_array_resize(&b->starts, n + 1));
  memset(b->starts.data, 0, (n + 1) * sizeof(int32_t));
  fill_cells(b, false);
  int32_t sum = 0;
  for (size_t c = 0; c <= n; ++c) {
    int32_t count = b->starts.data[c];
    b->starts.data[c] = sum;
    sum += count;
  }
  KP_TRY(kp_array_resize(&b->lists, (size_t)sum));
  fill_cells(b, true);  // each start is now the next one's
  memmove(b->starts.data + 1, b->starts.data, n * sizeof(int32_t));
  b->starts.data[0] = 0;
  return KP_OK;
}

static kp_result write_records(kp_deform_bodies *b) {
  size_t n = b->solids.count;
  KP_TRY(kp_buffer_resize(&b->records, n * sizeof(deform_obstacle)));
  deform_obstacle *to;
  KP_TRY(kp_buffer_get(&b->records, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&to));
  for (size_t s = 0; s < n; ++s) {
    to[s] = b->solids.data[s].record;
  }
  return KP_OK;
}

// Records and cells for where the frames are, at a time.
static kp_result update(kp_deform *d, kp_env *env, double time) {
  kp_deform_bodies *b = &d->bodies;
  for (size_t s = 0; s < b->solids.count; ++s) {
    kp_deform_obstacle *solid = &b->solids.data[s];
    if (solid->shape == NULL) {
      continue;
    }
    place(b, env, solid, time);
    if ((int64_t)s >= b->n_wide) {
      bound(&solid->record, kp_shape_bounds(solid->shape), fmax(d->def.gap, d->def.avoid));
    }
  }
  KP_TRY(kp_deform_bend_skins(d, time));
  for (size_t k = 0; k < b->skins.count; ++k) {
    const kp_deform_skin *skin = &b->skins.data[k];
    bound(&b->solids.data[skin->solid].record, skin->box, fmax(d->def.gap, d->def.avoid));
  }
  KP_TRY(make_cells(b));
  KP_TRY(kp_buffer_put(&b->start, b->starts.data, b->starts.count * sizeof(int32_t)));
  KP_TRY(kp_buffer_put(&b->list, b->lists.data, b->lists.count * sizeof(int32_t)));
  return write_records(b);
}

static kp_frame3 drift(kp_frame3 f, double dt) {
  f.position = kp_vec3_madd(f.position, dt, f.velocity);
  double speed = kp_vec3_length(f.angular_velocity);
  if (speed > 0.0) {
    kp_vec3 axis = kp_vec3_scale(f.angular_velocity, 1.0 / speed);
    f.orientation =
        kp_quat_normalize(kp_quat_mul(kp_quat_from_axis_angle(axis, dt * speed), f.orientation));
  }
  return f;
}

void kp_deform_bodies_begin(kp_deform *d, kp_env *env) {
  kp_deform_bodies *b = &d->bodies;
  for (size_t k = 0; k < b->frames.count; ++k) {
    b->frames.data[k] = kp_bodies_frame(env->bodies, (kp_index)k);
  }
}

kp_frame3 kp_deform_body_ahead(const kp_deform *d, const kp_env *env, kp_index body) {
  kp_frame3 frame = d->bodies.frames.data[body];
  kp_frame3 now = kp_bodies_frame(env->bodies, body);
  frame.velocity = now.velocity;
  frame.angular_velocity = now.angular_velocity;
  return drift(frame, d->dt);
}

static void advance(kp_deform *d, kp_env *env) {
  kp_deform_bodies *b = &d->bodies;
  for (size_t k = 0; k < b->frames.count; ++k) {
    const kp_body *model = &env->bodies->models.data[k];
    kp_frame3 *frame = &b->frames.data[k];
    if (model->kind == KP_BODY_SCRIPTED) {
      *frame = kp_body_scripted_frame(model, d->time + d->dt);
    } else if (model->kind == KP_BODY_FREE) {
      *frame = kp_deform_body_ahead(d, env, (kp_index)k);
    }
  }
}

// ---- contact ------------------------------------------------------------------------------------

static void bind_places(kp_call *call, deform_places *p, kp_deform_bodies *b) {
  size_t base = (size_t)((char *)p - (char *)call->args);
  p->n_faces = (int32_t)b->n_faces;
  p->n_wide = (int32_t)b->n_wide;
  p->has_planes = b->planes.used > 0;
  for (int c = 0; c < 3; ++c) {
    p->room_lo[c] = b->room_lo[c];
    p->room_hi[c] = b->room_hi[c];
    p->n[c] = b->n[c];
    p->lo[c] = b->lo[c];
  }
  p->per_edge = 1.0 / b->edge;
#define BIND_IN(member, buffer)                                                                    \
  kp_call_bind(call, base + offsetof(deform_places, member), (buffer), KP_ACCESS_READ)
  BIND_IN(solids, &b->records);
  BIND_IN(values, &b->values);
  BIND_IN(start, &b->start);
  BIND_IN(list, &b->list);
  if (p->has_planes) {
    BIND_IN(planes, &b->planes);
  }
#undef BIND_IN
}

// How many nodes touch each free body: they share its mass.
static kp_result count_contacts(kp_deform *d, kp_env *env) {
  kp_deform_bodies *b = &d->bodies;
  deform_touch_args a = { .gap = d->def.gap };
  kp_call call;
  kp_call_init(&call, &deform_touch_kernel, &a);
  bind_places(&call, &a.places, b);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, contact, &b->contact, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, d->set->space->n));
  const int32_t *contact;
  KP_TRY(kp_buffer_get(&b->contact, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&contact));
  for (size_t s = 0; s < b->solids.count; ++s) {
    b->solids.data[s].record.crowd = 0.0;
  }
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    if (contact[i] >= 0) {
      deform_obstacle *r = &b->solids.data[contact[i]].record;
      r->crowd += r->inverse_mass > 0.0 ? 1.0 : 0.0;
    }
  }
  // another body may push a node into one that none was in
  for (size_t s = 0; s < b->solids.count; ++s) {
    deform_obstacle *r = &b->solids.data[s].record;
    r->crowd = r->inverse_mass > 0.0 ? fmax(r->crowd, 1.0) : 0.0;
  }
  return write_records(b);
}

kp_result kp_deform_collide(kp_deform *d, kp_env *env) {
  kp_deform_bodies *b = &d->bodies;
  if (b->solids.count == 0) {
    return KP_OK;
  }
  if (b->has_moving) {
    advance(d, env);
    KP_TRY(update(d, env, d->time + d->dt));
  }
  if (b->has_free) {
    KP_TRY(count_contacts(d, env));
  }
  deform_collide_args a = { .dt = d->dt,
                            .gap = d->def.gap,
                            .slides = d->def.friction == KP_FRICTION_AFTER };
  kp_call call;
  kp_call_init(&call, &deform_collide_kernel, &a);
  bind_places(&call, &a.places, b);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, o, &d->old, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_WRITE);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_WRITE);
  KP_BIND_VECTOR3(&call, &a, n, &d->normal, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, px, &b->impulse[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, py, &b->impulse[1], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, pz, &b->impulse[2], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, contact, &b->contact, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, second, &b->second, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, d->set->space->n));
  deform_contacts_args in = { 0 };
  kp_call_init(&call, &deform_contacts_kernel, &in);
  KP_BIND(&call, &in, contact, &b->contact, KP_ACCESS_READ);
  double sum;
  KP_TRY(kp_call_reduce(env->backend, &call, d->set->space->n, &sum));
  b->n_contacts = (int64_t)sum;
  return KP_OK;
}

kp_result kp_deform_avoid(kp_deform *d, kp_env *env) {
  kp_deform_bodies *b = &d->bodies;
  if (!(d->def.avoid > 0.0) || b->solids.count == 0) {
    return KP_OK;
  }
  if (b->has_moving) {
    // where they are now, whatever was simulated before
    for (size_t k = 0; k < b->frames.count; ++k) {
      const kp_body *model = &env->bodies->models.data[k];
      if (model->kind == KP_BODY_SCRIPTED) {
        b->frames.data[k] = kp_body_scripted_frame(model, d->time);
      }
    }
    KP_TRY(update(d, env, d->time));
  }
  deform_avoid_args a = { .from = d->def.avoid,
                          .stiffness = d->def.avoid_stiffness,
                          .damping = d->def.avoid_damping };
  kp_call call;
  kp_call_init(&call, &deform_avoid_kernel, &a);
  bind_places(&call, &a.places, b);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, e, d->extra, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, d->set->space->n);
}

kp_result kp_deform_recover(kp_deform *d, kp_env *env, const kp_deform_group *group, kp_buffer x[3],
                            double h) {
  kp_deform_bodies *b = &d->bodies;
  if (b->n_contacts == 0 || d->def.friction != KP_FRICTION_AFTER) {
    return KP_OK;
  }
  KP_TRY(kp_hair_is_banded(d, group) ? kp_hair_touch(d, env, group, x, h)
                                     : kp_deform_impulse(d, env, group, d->moving.c, h, true));
  int64_t n = group->nodes.n, first = group->nodes.first;
  deform_recover_args a = {
    .first = first, .o = -first, .p = n - first, .q = 2 * n - first, .whole = (kp_real)(d->dt / h)
  };
  kp_call call;
  kp_call_init(&call, &deform_recover_kernel, &a);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, contact, &b->contact, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, n, &d->normal, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &d->right, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, px, &b->impulse[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, py, &b->impulse[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, pz, &b->impulse[2], KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, n);
}

// What a body feels of an impulse at a place of the inner step: its own frame, which goes on with
// the sub-steps of the world, may be behind or ahead.
void kp_deform_push_body(kp_deform *d, kp_env *env, kp_index body, kp_vec3 at, kp_vec3 impulse) {
  kp_vec3 arm = kp_vec3_sub(at, d->bodies.frames.data[body].position);
  if (env->bodies->models.data[body].kind == KP_BODY_FREE) {
    kp_vec3 centre = kp_bodies_frame(env->bodies, body).position;
    kp_bodies_add_impulse(env->bodies, body, kp_vec3_add(centre, arm), impulse);
  } else if (env->loads != NULL) {
    kp_load load = { impulse, kp_vec3_cross(arm, impulse) };
    kp_loads_push(env->loads, body, env->loads->current, load);
  }
}

// Bodies feel the opposite of what they gave, in the order of the nodes.
static kp_result give_back(kp_deform *d, kp_env *env) {
  kp_deform_bodies *b = &d->bodies;
  const int32_t *contact;
  const kp_real *p[3];
  const kp_pos *x[3];
  KP_TRY(kp_buffer_get(&b->contact, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&contact));
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_get(&b->impulse[c], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&p[c]));
    KP_TRY(
        kp_buffer_get(&d->set->position->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&x[c]));
  }
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    if (contact[i] < 0) {
      continue;
    }
    kp_index body = b->solids.data[contact[i]].body;
    if (b->solids.data[contact[i]].record.inverse_mass > 0.0 ||
        kp_loads_watches(env->loads, body)) {
      kp_vec3 impulse = kp_vec3_make(-(double)p[0][i], -(double)p[1][i], -(double)p[2][i]);
      kp_deform_push_body(d, env, body, kp_vec3_make(x[0][i], x[1][i], x[2][i]), impulse);
    }
  }
  return KP_OK;
}

kp_result kp_deform_rub(kp_deform *d, kp_env *env) {
  kp_deform_bodies *b = &d->bodies;
  if (b->n_contacts == 0) {
    return KP_OK;
  }
  deform_friction_args a = { .is_late = d->def.friction == KP_FRICTION_AFTER };
  kp_call call;
  kp_call_init(&call, &deform_friction_kernel, &a);
  bind_places(&call, &a.places, b);
  KP_BIND(&call, &a, contact, &b->contact, KP_ACCESS_READ);
  KP_BIND(&call, &a, second, &b->second, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, n, &d->normal, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, px, &b->impulse[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, py, &b->impulse[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, pz, &b->impulse[2], KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, d->set->space->n));
  return b->has_free || env->loads != NULL ? give_back(d, env) : KP_OK;
}
