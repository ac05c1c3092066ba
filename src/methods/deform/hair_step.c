// Roots that follow bodies, and hairs that do not stretch.
#include <math.h>
#include <string.h>

#include "geom/mesh_query.h"
#include "geom/morph.h"
#include "methods/deform/deform.h"
#include "par/kernel_define.h"

HAIR_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define ROOT_STEP 0.01  // m: how far a root may move in an inner step
#define PULLS 3         // iterations of the limit that conserves momentum

// ---- joining ------------------------------------------------------------------------------------

// Where the body is at a time of this sub-step. Free bodies are moved by the world between the
// sub-steps: within one they go straight on.
static kp_frame3 frame_at(const kp_env *env, kp_index body, double time) {
  if (body < 0) {
    return (kp_frame3){ .orientation = kp_quat_identity() };
  }
  const kp_body *model = &env->bodies->models.data[body];
  if (model->kind == KP_BODY_SCRIPTED) {
    return kp_body_scripted_frame(model, time);
  }
  kp_frame3 f = kp_bodies_frame(env->bodies, body);
  double ahead = time - env->time;
  double speed = kp_vec3_length(f.angular_velocity);
  if (speed > 0.0) {
    kp_quat turn =
        kp_quat_from_axis_angle(kp_vec3_scale(f.angular_velocity, 1.0 / speed), speed * ahead);
    f.orientation = kp_quat_normalize(kp_quat_mul(turn, f.orientation));
  }
  f.position = kp_vec3_madd(f.position, ahead, f.velocity);
  return f;
}

// Sizes of the lists over all parts of hair.
typedef struct hair_sizes {
  int64_t starts, roots;
} hair_sizes;

static kp_result place_hairs(kp_deform *d, const kp_part *const *order, hair_sizes *sizes) {
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_part *part = order[p];
    if (part->hairs.count == 0) {
      continue;
    }
    kp_hair_place place = { .part = p,
                            .hairs = sizes->starts,
                            .n = (int64_t)part->hairs.count - 1,
                            .roots = sizes->roots,
                            .n_roots = (int64_t)part->roots.count,
                            .model = part->hair };
    sizes->starts += (int64_t)part->hairs.count;
    sizes->roots += (int64_t)part->roots.count;
    KP_TRY(kp_array_push(&d->hair.places, place));
  }
  return KP_OK;
}

static kp_result fill_nodes(kp_deform *d, const kp_part *const *order) {
  int64_t n = d->set->space->n;
  int32_t *parent;
  double *rest;
  KP_TRY(kp_buffer_room(&d->hair.parent, KP_TYPE_I32, n, &parent));
  KP_TRY(kp_buffer_room(&d->hair.rest, KP_TYPE_F64, n, &rest));
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_part *part = order[p];
    int32_t first = (int32_t)d->parts.data[p].nodes.first;
    for (size_t i = 0; i < part->x.count; ++i) {
      kp_index up = part->parent.count > 0 ? part->parent.data[i] : -1;
      parent[first + (int32_t)i] = up >= 0 ? first + up : -1;
      rest[first + (int32_t)i] =
          up >= 0 ? kp_vec3_length(kp_vec3_sub(part->x.data[i], part->x.data[up])) : 0.0;
    }
  }
  return KP_OK;
}

static kp_result fill_roots(kp_deform *d, kp_env *env, const kp_part *const *order,
                            const hair_sizes *sizes) {
  int32_t *start, *list;
  double *local[3];
  KP_TRY(kp_buffer_room(&d->hair.start, KP_TYPE_I32, sizes->starts, &start));
  KP_TRY(kp_buffer_room(&d->hair.root_list, KP_TYPE_I32, sizes->roots, &list));
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_room(&d->hair.local[c], KP_TYPE_F64, sizes->roots, &local[c]));
  }
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    kp_hair_place *place = &d->hair.places.data[k];
    const kp_part *part = order[place->part];
    int32_t first = (int32_t)d->parts.data[place->part].nodes.first;
    for (size_t h = 0; h < part->hairs.count; ++h) {
      start[place->hairs + (int64_t)h] = first + part->hairs.data[h];
    }
    kp_frame3 frame = frame_at(env, place->model.body, 0.0);
    kp_quat back = kp_quat_conjugate(frame.orientation);
    for (size_t r = 0; r < part->roots.count; ++r) {
      int64_t at = place->roots + (int64_t)r;
      kp_vec3 x = part->x.data[part->roots.data[r]];
      kp_vec3 p = kp_quat_rotate(back, kp_vec3_sub(x, frame.position));
      list[at] = first + part->roots.data[r];
      local[0][at] = p.x;
      local[1][at] = p.y;
      local[2][at] = p.z;
      place->reach = fmax(place->reach, kp_vec3_length(p));
    }
  }
  return KP_OK;
}

static const kp_morph *morph_of(const kp_env *env, kp_index body) {
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    if (env->scenery.solids[s].body == body) {
      return env->scenery.solids[s].morph;
    }
  }
  return NULL;
}

// The roots of a hair are held by the triangle nearest to the first of them.
static void embed_root(const kp_mesh *mesh, const kp_mesh_hit *hit, kp_vec3 local,
                       int32_t corner[3], double weight[3], double offset[3]) {
  double p[9], axes[9];
  for (int c = 0; c < 3; ++c) {
    kp_index v = mesh->triangles[hit->triangle].v[c];
    corner[c] = (int32_t)v;
    weight[c] = hit->weights[c];
    p[3 * c] = mesh->vertices[v].x;
    p[3 * c + 1] = mesh->vertices[v].y;
    p[3 * c + 2] = mesh->vertices[v].z;
  }
  hair_triangle_frame(p, axes);
  kp_vec3 d = kp_vec3_sub(local, hit->point);
  for (int c = 0; c < 3; ++c) {
    offset[c] = axes[3 * c] * d.x + axes[3 * c + 1] * d.y + axes[3 * c + 2] * d.z;
  }
}

static kp_result embed_roots(kp_deform *d, const kp_part *part, const kp_hair_place *place,
                             const kp_mesh_query *surface) {
  int32_t *corner;
  double *weight, *offset, *local[3];
  KP_TRY(kp_buffer_get(&d->hair.corner, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&corner));
  KP_TRY(kp_buffer_get(&d->hair.weight, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&weight));
  KP_TRY(kp_buffer_get(&d->hair.offset, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&offset));
  for (int c = 0; c < 3; ++c) {
    kp_buffer *buffer = &d->hair.local[c];
    KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&local[c]));
  }
  size_t hair = 0;
  kp_mesh_hit hit = { .triangle = -1 };
  for (size_t r = 0; r < part->roots.count; ++r) {
    int64_t k = place->roots + (int64_t)r;
    kp_vec3 p = kp_vec3_make(local[0][k], local[1][k], local[2][k]);
    if (part->roots.data[r] == part->hairs.data[hair]) {
      hit = kp_mesh_query_closest(surface, p);
      ++hair;
    }
    embed_root(kp_mesh_query_mesh(surface), &hit, p, corner + 3 * k, weight + 3 * k,
               offset + 3 * k);
  }
  return KP_OK;
}

// Roots on what changes its form, from where they are at the start.
static kp_result fill_skins(kp_deform *d, kp_env *env, const kp_part *const *order,
                            const hair_sizes *sizes) {
  kp_deform_hair *h = &d->hair;
  for (size_t k = 0; k < h->places.count; ++k) {
    kp_hair_place *place = &h->places.data[k];
    place->morph = place->model.body >= 0 ? morph_of(env, place->model.body) : NULL;
    if (place->morph == NULL || place->n_roots == 0) {
      continue;
    }
    if (h->corner.used == 0) {
      void *none;
      KP_TRY(kp_buffer_room(&h->corner, KP_TYPE_I32, 3 * sizes->roots, &none));
      KP_TRY(kp_buffer_room(&h->weight, KP_TYPE_F64, 3 * sizes->roots, &none));
      KP_TRY(kp_buffer_room(&h->offset, KP_TYPE_F64, 3 * sizes->roots, &none));
    }
    kp_mesh start;
    kp_mesh_query *surface;
    KP_TRY(kp_mesh_copy(&place->morph->mesh, &start));
    kp_morph_at(place->morph, 0.0, start.vertices, NULL);
    kp_result result = kp_mesh_query_create(&start, &surface);
    if (result == KP_OK) {
      result = embed_roots(d, order[place->part], place, surface);
      kp_mesh_query_destroy(&surface);
    }
    kp_mesh_destroy(&start);
    KP_TRY(result);
  }
  return KP_OK;
}

// Where the springs and altitudes of each hair begin.
static kp_result fill_starts(kp_deform *d, const kp_part *const *order, const hair_sizes *sizes) {
  int32_t *springs, *axes;
  KP_TRY(kp_buffer_room(&d->hair.spring_start, KP_TYPE_I32, sizes->starts, &springs));
  KP_TRY(kp_buffer_room(&d->hair.axis_start, KP_TYPE_I32, sizes->starts, &axes));
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    const kp_hair_place *place = &d->hair.places.data[k];
    const kp_deform_part *joined = &d->parts.data[place->part];
    const kp_part *part = order[place->part];
    for (size_t h = 0; h < part->hairs.count; ++h) {
      int64_t at = place->hairs + (int64_t)h;
      springs[at] = (int32_t)(joined->springs.first + part->hair_springs.data[h]);
      axes[at] = (int32_t)(joined->axes.first + part->hair_tets.data[h]);
    }
  }
  return KP_OK;
}

static kp_result fill_extras(kp_deform *d, const kp_part *const *order) {
  kp_deform_hair *h = &d->hair;
  for (size_t k = 0; k < h->places.count; ++k) {
    h->n_extras += (int64_t)order[h->places.data[k].part]->extras.count;
  }
  int32_t *list;
  KP_TRY(kp_buffer_room(&h->extra_list, KP_TYPE_I32, h->n_extras, &list));
  for (size_t k = 0; k < h->places.count; ++k) {
    size_t p = h->places.data[k].part;
    for (size_t e = 0; e < order[p]->extras.count; ++e) {
      *list++ = (int32_t)(d->parts.data[p].nodes.first + order[p]->extras.data[e]);
    }
  }
  return KP_OK;
}

static void each_buffer(kp_deform_hair *h, void (*each)(kp_buffer *, kp_backend *),
                        kp_backend *backend) {
  kp_buffer *all[] = { &h->start,        &h->parent,     &h->rest,     &h->root_list,
                       &h->local[0],     &h->local[1],   &h->local[2], &h->extra_list,
                       &h->spring_start, &h->axis_start, &h->corner,   &h->weight,
                       &h->offset,       &h->skin[0],    &h->skin[1],  &h->skin[2] };
  for (size_t b = 0; b < sizeof all / sizeof all[0]; ++b) {
    each(all[b], backend);
  }
}

kp_result kp_hair_join(kp_deform *d, kp_env *env, const kp_part *const *order) {
  each_buffer(&d->hair, kp_buffer_init, env->backend);
  hair_sizes sizes = { 0, 0 };
  KP_TRY(place_hairs(d, order, &sizes));
  if (d->hair.places.count > 0) {
    KP_TRY(fill_nodes(d, order));
    KP_TRY(fill_roots(d, env, order, &sizes));
    KP_TRY(fill_skins(d, env, order, &sizes));
    KP_TRY(fill_starts(d, order, &sizes));
    KP_TRY(fill_extras(d, order));
  }
  KP_TRY(kp_hair_join_locks(d, env));
  return kp_hair_join_links(d, env);
}

void kp_hair_free(kp_deform *d) {
  kp_hair_free_links(d);
  kp_hair_free_locks(d);
  each_buffer(&d->hair, kp_buffer_drop, NULL);
  kp_array_free(&d->hair.before);
  kp_array_free(&d->hair.bent);
  kp_array_free(&d->hair.places);
}

// ---- roots --------------------------------------------------------------------------------------

// Does this hair pull on what it grows on?
static bool pulls(const kp_deform *d, const kp_env *env, const kp_hair_place *place) {
  kp_index body = place->model.body;
  return place->n_roots > 0 && body >= 0 && (size_t)body < d->bodies.frames.count &&
         (env->bodies->models.data[body].kind == KP_BODY_FREE ||
          kp_loads_watches(env->loads, body));
}

// Velocities of roots before they are led on.
static kp_result keep_velocities(kp_deform *d, const kp_hair_place *place) {
  const int32_t *list;
  const kp_real *v[3];
  KP_TRY(kp_buffer_get(&d->hair.root_list, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&list));
  for (int c = 0; c < 3; ++c) {
    kp_buffer *buffer = &d->set->velocity->buffers[c];
    KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&v[c]));
  }
  size_t end = (size_t)(place->roots + place->n_roots);
  if (d->hair.before.count < end) {
    KP_TRY(kp_array_resize(&d->hair.before, end));
  }
  for (int64_t r = place->roots; r < (int64_t)end; ++r) {
    int32_t i = list[r];
    d->hair.before.data[r] = kp_vec3_make((double)v[0][i], (double)v[1][i], (double)v[2][i]);
  }
  return KP_OK;
}

// What forces give a root in the step, less what it takes up itself, is the body's. `part`: the
// step over the time of the solve.
static kp_result give_to_body(kp_deform *d, kp_env *env, const kp_deform_group *group,
                              const kp_hair_place *place, double part) {
  const int32_t *list;
  const kp_real *b, *mass, *v[3];
  const kp_pos *x[3];
  KP_TRY(kp_buffer_get(&d->hair.root_list, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&list));
  KP_TRY(kp_buffer_get(&d->right, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&b));
  KP_TRY(kp_buffer_get(&d->mass, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&mass));
  for (int c = 0; c < 3; ++c) {
    kp_set *set = d->set;
    KP_TRY(kp_buffer_get(&set->velocity->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&v[c]));
    KP_TRY(kp_buffer_get(&set->position->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&x[c]));
  }
  int64_t n = group->nodes.n;
  kp_index body = place->model.body;
  for (int64_t r = place->roots; r < place->roots + place->n_roots; ++r) {
    int64_t i = list[r], e = i - group->nodes.first;
    kp_vec3 impulse = kp_vec3_make((double)b[e], (double)b[n + e], (double)b[2 * n + e]);
    kp_vec3 now = kp_vec3_make((double)v[0][i], (double)v[1][i], (double)v[2][i]);
    kp_vec3 taken = kp_vec3_scale(kp_vec3_sub(now, d->hair.before.data[r]), (double)mass[i]);
    impulse = kp_vec3_sub(kp_vec3_scale(impulse, part), taken);
    kp_deform_push_body(d, env, body, kp_vec3_make(x[0][i], x[1][i], x[2][i]), impulse);
  }
  return KP_OK;
}

kp_result kp_hair_pull_bodies(kp_deform *d, kp_env *env, const kp_deform_group *group,
                              kp_buffer x[3], double h) {
  bool is_ready = false;
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    const kp_hair_place *place = &d->hair.places.data[k];
    if (d->parts.data[place->part].scheme != group->scheme || !pulls(d, env, place)) {
      continue;
    }
    if (!is_ready) {
      KP_TRY(kp_deform_evaluate(d, group, x, kp_deform_look_ahead(d, group)));
      KP_TRY(kp_deform_impulse(d, env, group, d->moving.c, h, true));
      is_ready = true;
    }
    KP_TRY(give_to_body(d, env, group, place, d->dt / h));
  }
  return KP_OK;
}

static kp_result touch(kp_deform *d, kp_env *env, const kp_deform_group *group,
                       const kp_hair_place *place, kp_buffer x[3], double h) {
  kp_deform_springs *s = &d->springs;
  kp_deform_axes *t = &d->tets.axes;
  kp_hair_links *l = &d->hair.links;
  kp_vec3 gravity = env->simulation.gravity;
  int64_t n = group->nodes.n, first = group->nodes.first;
  double implicit = kp_deform_look_ahead(d, group);
  hair_touch_args a = { .first = place->hairs,
                        .h = (kp_real)h,
                        .implicit = (kp_real)implicit,
                        .turns = d->def.turns ? (kp_real)implicit : 0,
                        .gx = (kp_real)gravity.x,
                        .gy = (kp_real)gravity.y,
                        .gz = (kp_real)gravity.z,
                        .n_axes = t->n,
                        .out = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &hair_touch_kernel, &a);
  KP_BIND(&call, &a, start, &d->hair.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, spring_start, &d->hair.spring_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_start, &d->hair.axis_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, contact, &d->bodies.contact, KP_ACCESS_READ);
  KP_BIND(&call, &a, a, &s->a, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &s->b, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &s->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffness, &s->stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, compression, &s->compression, KP_ACCESS_READ);
  KP_BIND(&call, &a, damping, &s->damping, KP_ACCESS_READ);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, kind, &t->kind, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_rest, &t->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_stiffness, &t->stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_damping, &t->damping, KP_ACCESS_READ);
  KP_BIND(&call, &a, link_start, &l->start, KP_ACCESS_READ);
  KP_BIND(&call, &a, link_refs, &l->refs, KP_ACCESS_READ);
  KP_BIND(&call, &a, link_weight, &l->weight, KP_ACCESS_READ);
  KP_BIND(&call, &a, link_pull, &l->pull, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, slow, &d->slow, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->wind, KP_ACCESS_READ);
  KP_BIND3(&call, &a, e, d->extra, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, v, &d->moving, KP_ACCESS_READ);
  KP_BIND(&call, &a, out.x, &d->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, out.y, &d->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, out.z, &d->right, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, place->n);
}

kp_result kp_hair_touch(kp_deform *d, kp_env *env, const kp_deform_group *group, kp_buffer x[3],
                        double h) {
  kp_buffer *v[3] = { &d->moving.c[0], &d->moving.c[1], &d->moving.c[2] };
  KP_TRY(kp_hair_tensions(d, group, v, (deform_in){ 0 }, true));
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    const kp_hair_place *place = &d->hair.places.data[k];
    if (d->parts.data[place->part].scheme == group->scheme) {
      KP_TRY(touch(d, env, group, place, x, h));
    }
  }
  return KP_OK;
}

// Roots in the frame of their body, where the skin is at the end of the inner step.
static kp_result bend_roots(kp_deform *d, kp_env *env, const kp_hair_place *place) {
  kp_deform_hair *h = &d->hair;
  size_t n = (size_t)place->morph->mesh.n_vertices;
  double *x[3];
  KP_TRY(kp_array_resize(&h->bent, n));
  kp_morph_at(place->morph, d->time + d->dt, h->bent.data, NULL);
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_room(&h->skin[c], KP_TYPE_F64, (int64_t)n, &x[c]));
  }
  for (size_t i = 0; i < n; ++i) {
    x[0][i] = h->bent.data[i].x;
    x[1][i] = h->bent.data[i].y;
    x[2][i] = h->bent.data[i].z;
  }
  hair_embed_args a = { .first = place->roots };
  kp_call call;
  kp_call_init(&call, &hair_embed_kernel, &a);
  KP_BIND(&call, &a, corner, &h->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, weight, &h->weight, KP_ACCESS_READ);
  KP_BIND(&call, &a, offset, &h->offset, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &h->skin[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &h->skin[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &h->skin[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, lx, &h->local[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, ly, &h->local[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, lz, &h->local[2], KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, place->n_roots);
}

static kp_result lead_roots(kp_deform *d, kp_env *env, const kp_hair_place *place) {
  bool is_free = pulls(d, env, place);
  if (place->morph != NULL) {
    KP_TRY(bend_roots(d, env, place));
  }
  if (is_free) {
    KP_TRY(keep_velocities(d, place));
  }
  kp_frame3 frame = is_free ? kp_deform_body_ahead(d, env, place->model.body)
                            : frame_at(env, place->model.body, d->time + d->dt);
  kp_mat3 turn = kp_quat_to_mat3(frame.orientation);
  hair_root_args a = { .first = place->roots,
                       .dt = d->dt,
                       .shift = { frame.position.x, frame.position.y, frame.position.z } };
  memcpy(a.turn, turn.m, sizeof a.turn);
  kp_call call;
  kp_call_init(&call, &hair_root_kernel, &a);
  KP_BIND(&call, &a, list, &d->hair.root_list, KP_ACCESS_READ);
  KP_BIND(&call, &a, lx, &d->hair.local[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, ly, &d->hair.local[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, lz, &d->hair.local[2], KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, held, &d->hold, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, place->n_roots);
}

static kp_result hide_extras(kp_deform *d, kp_env *env) {
  hair_hide_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &hair_hide_kernel, &a);
  KP_BIND(&call, &a, list, &d->hair.extra_list, KP_ACCESS_READ);
  KP_BIND(&call, &a, held, &d->hold, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, d->hair.n_extras);
}

kp_result kp_hair_lead(kp_deform *d, kp_env *env) {
  if (d->hair.n_extras > 0) {
    KP_TRY(hide_extras(d, env));
  }
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    if (d->hair.places.data[k].n_roots > 0) {
      KP_TRY(lead_roots(d, env, &d->hair.places.data[k]));
    }
  }
  return KP_OK;
}

// A bound of how fast a root goes.
static double root_speed(const kp_env *env, const kp_hair_place *place, double time) {
  kp_frame3 frame = frame_at(env, place->model.body, time);
  double speed =
      kp_vec3_length(frame.velocity) + place->reach * kp_vec3_length(frame.angular_velocity);
  return speed + (place->morph != NULL ? kp_morph_speed(place->morph, time) : 0.0);
}

double kp_hair_max_dt(kp_deform *d, kp_env *env) {
  double limit = HUGE_VAL;
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    const kp_hair_place *place = &d->hair.places.data[k];
    double speed = root_speed(env, place, env->time);
    // it may be faster by the end of the turn
    double turn = fmin((double)d->def.inner * ROOT_STEP / speed, env->simulation.dt_max);
    speed = isfinite(turn) ? fmax(speed, root_speed(env, place, env->time + turn)) : speed;
    limit = speed > 0.0 && place->n_roots > 0 ? fmin(limit, ROOT_STEP / speed) : limit;
  }
  return limit;
}

// ---- no stretching ------------------------------------------------------------------------------

static kp_result limit_biased(kp_deform *d, kp_env *env, const kp_hair_place *place) {
  hair_limit_args a = { .first = place->hairs, .dt = d->dt };
  kp_call call;
  kp_call_init(&call, &hair_limit_kernel, &a);
  KP_BIND(&call, &a, start, &d->hair.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, parent, &d->hair.parent, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &d->hair.rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, held, &d->hold, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, place->n);
}

static kp_result limit_by_pulls(kp_deform *d, kp_env *env, const kp_hair_place *place) {
  hair_pull_args a = { .first = place->hairs, .dt = d->dt, .iterations = PULLS };
  kp_call call;
  kp_call_init(&call, &hair_pull_kernel, &a);
  KP_BIND(&call, &a, start, &d->hair.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, parent, &d->hair.parent, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &d->hair.rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, held, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, place->n);
}

kp_result kp_hair_limit(kp_deform *d, kp_env *env) {
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    const kp_hair_place *place = &d->hair.places.data[k];
    if (place->model.limit == KP_HAIR_LIMIT_BIASED) {
      KP_TRY(limit_biased(d, env, place));
    } else if (place->model.limit == KP_HAIR_LIMIT_MOMENTUM) {
      KP_TRY(limit_by_pulls(d, env, place));
    }
  }
  return KP_OK;
}

kp_result kp_hair_strain(kp_deform *d, size_t part, double *strain) {
  kp_range nodes = d->parts.data[part].nodes;
  hair_strain_args a = { .first = nodes.first };
  kp_call call;
  kp_call_init(&call, &hair_strain_kernel, &a);
  KP_BIND(&call, &a, parent, &d->hair.parent, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &d->hair.rest, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  return kp_call_reduce(d->set->space->backend, &call, nodes.n, strain);
}
