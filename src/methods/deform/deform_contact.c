// Deformables meet each other and themselves: the outer loop of Selle (2008, section 6.2) around
// the inner steps, over methods/common/contact.h.
#include <string.h>

#include "base/log.h"
#include "methods/deform/deform.h"

extern const kp_kernel deform_give_kernel;

static kp_buffer *position(kp_deform *d) {
  return d->set->position->buffers;
}

static kp_buffer *velocity(kp_deform *d) {
  return d->set->velocity->buffers;
}

// ---- set-up

typedef struct mesh_arrays {
  KP_ARRAY(kp_index) object;
  KP_ARRAY(double) h;
  KP_ARRAY(kp_contact_object) objects;
  // with guests: of all nodes and triangles
  KP_ARRAY(double) rest[3];
  KP_ARRAY(kp_triangle) triangles;
  KP_ARRAY(kp_contact_body) bodies;
} mesh_arrays;

static void free_arrays(mesh_arrays *arrays) {
  kp_array_free(&arrays->object);
  kp_array_free(&arrays->h);
  kp_array_free(&arrays->objects);
  for (int c = 0; c < 3; ++c) {
    kp_array_free(&arrays->rest[c]);
  }
  kp_array_free(&arrays->triangles);
  kp_array_free(&arrays->bodies);
}

static kp_result describe(const kp_deform *d, mesh_arrays *out) {
  size_t n = (size_t)d->set->space->n;
  KP_TRY(kp_array_resize(&out->object, n));
  KP_TRY(kp_array_resize(&out->h, n));
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    const kp_part_surface *s = &part->surface;
    kp_contact_object object = {
      .flags = (s->segments_only ? KP_CONTACT_HAIR : 0u) | (s->self ? 0u : KP_CONTACT_NO_SELF),
      .friction = s->friction,
    };
    KP_TRY(kp_array_push(&out->objects, object));
    for (int64_t i = part->nodes.first; i < part->nodes.first + part->nodes.n; ++i) {
      out->object.data[i] = (kp_index)p;
      out->h.data[i] = s->thickness;
    }
  }
  return KP_OK;
}

// Places of guests, and to which of the objects they belong.
static kp_result place_guests(const kp_deform *d, const kp_env *env, size_t own, mesh_arrays *all) {
  const kp_deform_guests *guests = &d->meet.guests;
  for (size_t s = 0; s + 1 < guests->owners.count; ++s) {
    kp_index body = guests->nodes.data[guests->owners.data[s]].body;
    kp_contact_object object = { .flags = KP_CONTACT_GUEST | KP_CONTACT_NO_SELF,
                                 .friction = env->bodies->models.data[body].friction };
    KP_TRY(kp_array_push(&all->objects, object));
    for (kp_index k = guests->owners.data[s]; k < guests->owners.data[s + 1]; ++k) {
      kp_vec3 p = kp_deform_guest_at(env, &guests->nodes.data[k], env->time);
      size_t i = own + (size_t)k;
      all->rest[0].data[i] = p.x;
      all->rest[1].data[i] = p.y;
      all->rest[2].data[i] = p.z;
      all->h.data[i] = 0.0;
      all->object.data[i] = (kp_index)(all->objects.count - 1);
    }
  }
  return KP_OK;
}

// Bodies that are free.
static kp_result free_guests(const kp_deform *d, const kp_env *env, mesh_arrays *all) {
  const kp_deform_guests *guests = &d->meet.guests;
  for (size_t k = 0; k < guests->free.count; ++k) {
    const kp_deform_free *free = &guests->free.data[k];
    const kp_body *model = &env->bodies->models.data[free->body];
    kp_contact_body body = { .first = free->first,
                             .n = free->n,
                             .inverse_mass = model->inverse_mass,
                             .inertia = model->inertia,
                             .inverse_inertia = model->inverse_inertia,
                             .arms = guests->arms.data + free->first };
    KP_TRY(kp_array_push(&all->bodies, body));
  }
  return KP_OK;
}

// Nodes and triangles of bodies behind those of the deformables.
static kp_result join_guests(kp_deform *d, const kp_env *env, kp_contact_mesh *mesh,
                             mesh_arrays *all) {
  const kp_deform_guests *guests = &d->meet.guests;
  size_t own = (size_t)mesh->n_nodes, n = own + guests->nodes.count;
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_array_resize(&all->rest[c], n));
    memcpy(all->rest[c].data, mesh->rest[c], own * sizeof(double));
    mesh->rest[c] = all->rest[c].data;
  }
  KP_TRY(kp_array_resize(&all->object, n));
  KP_TRY(kp_array_resize(&all->h, n));
  KP_TRY(place_guests(d, env, own, all));
  for (int64_t t = 0; t < d->n_triangles; ++t) {
    KP_TRY(kp_array_push(&all->triangles, d->triangles.data[t]));
  }
  for (size_t t = 0; t < guests->triangles.count; ++t) {
    kp_triangle moved = guests->triangles.data[t];
    for (int k = 0; k < 3; ++k) {
      moved.v[k] += (kp_index)own;
    }
    KP_TRY(kp_array_push(&all->triangles, moved));
  }
  KP_TRY(free_guests(d, env, all));
  mesh->n_bodies = (kp_index)all->bodies.count;
  mesh->bodies = all->bodies.data;
  mesh->n_nodes = (kp_index)n;
  mesh->n_guests = (kp_index)guests->nodes.count;
  mesh->n_objects = (kp_index)all->objects.count;
  mesh->n_triangles = (kp_index)all->triangles.count;
  mesh->triangles = all->triangles.data[0].v;
  mesh->object = all->object.data;
  mesh->h = all->h.data;
  mesh->objects = all->objects.data;
  return KP_OK;
}

// What intersects at the start stays so, since contact keeps the sides of everything: say it.
static kp_result warn_of_intersections(const kp_contact_mesh *mesh) {
  kp_triangle_soup soup = { mesh->rest[0], mesh->rest[1], mesh->rest[2], mesh->triangles,
                            mesh->n_triangles };
  kp_intersections met;
  KP_TRY(kp_soup_count(&soup, &met));
  if (met.count > 0) {
    kp_log(KP_LOG_WARN, "solids",
           "%lld pairs of triangles of cloth or soft bodies intersect at the start; they will not "
           "come free",
           (long long)met.count);
  }
  return KP_OK;
}

static kp_result create(kp_deform *d, kp_env *env, mesh_arrays *arrays) {
  KP_TRY(describe(d, arrays));
  kp_contact_mesh mesh = {
    .n_nodes = (kp_index)d->set->space->n,
    .n_triangles = (kp_index)d->n_triangles,
    .n_segments = (kp_index)d->n_segments,
    .n_objects = (kp_index)d->parts.count,
    .triangles = d->n_triangles > 0 ? d->triangles.data[0].v : NULL,
    .segments = d->segments.data,
    .object = arrays->object.data,
    .h = arrays->h.data,
    .objects = arrays->objects.data,
  };
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_get(&position(d)[c], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&mesh.rest[c]));
  }
  kp_contact_clamp(&mesh, d->def.edge_share, arrays->h.data);
  kp_contact_def def = kp_default_contact_def();
  def.stiffness = d->def.repulsion;
  def.history = d->def.history;
  def.attempts = (int)d->def.attempts;
  KP_TRY(warn_of_intersections(&mesh));
  if (d->meet.guests.nodes.count > 0) {
    KP_TRY(join_guests(d, env, &mesh, arrays));
  }
  return kp_contact_create(env->backend, &def, &mesh, &d->meet.contact);
}

// Something meets itself, or something else.
static bool can_meet(const kp_deform *d) {
  size_t n = 0;
  bool self = false;
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    bool is_there = part->triangles.n + part->segments.n > 0;
    n += is_there;
    self = self || (is_there && part->surface.self);
  }
  return d->def.contact && (self || n > 1 || d->meet.guests.nodes.count > 0);
}

kp_result kp_deform_make_contact(kp_deform *d, kp_env *env) {
  kp_deform_meet *meet = &d->meet;
  int64_t n = d->set->space->n;
  KP_TRY(kp_deform_make_guests(d, env));
  if (!can_meet(d)) {
    return KP_OK;
  }
  mesh_arrays arrays = { 0 };
  kp_result result = create(d, env, &arrays);
  free_arrays(&arrays);
  KP_TRY(result);
  KP_TRY(kp_vector3_resize(&meet->clean, KP_TYPE_POS, n));
  KP_TRY(kp_vector3_resize(&meet->clean_velocity, KP_TYPE_REAL, n));
  if (d->pins.count > 0) {
    kp_field_desc lag = { "lag", KP_TYPE_F64, 3, "m", KP_FIELD_STATE, 0.0 };
    KP_TRY(kp_space_add_field(d->set->space, &lag, &d->lag));
    KP_TRY(kp_vector3_resize(&meet->clean_lag, KP_TYPE_F64, n));
  }
  meet->give.type = meet->lightness.type = KP_TYPE_REAL;
  KP_TRY(kp_buffer_resize(&meet->give, (size_t)n * sizeof(kp_real)));
  KP_TRY(kp_buffer_resize(&meet->lightness, (size_t)n * sizeof(kp_real)));
  const kp_real *mass = kp_buffer_host(&d->mass, KP_ACCESS_READ);
  kp_real *lightness = kp_buffer_host(&meet->lightness, KP_ACCESS_OVERWRITE);
  if (mass == NULL || lightness == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < n; ++i) {
    lightness[i] = 1 / mass[i];
  }
  return KP_OK;
}

// ---- the steps

// Inverse masses: 0 for nodes that are led in this inner step.
kp_result kp_deform_weigh(kp_deform *d, kp_env *env) {
  if (d->meet.contact == NULL) {
    return KP_OK;
  }
  deform_give_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &deform_give_kernel, &a);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, lightness, &d->meet.lightness, KP_ACCESS_READ);
  KP_BIND(&call, &a, give, &d->meet.give, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, d->set->space->n);
}

// Hairs that stick are let through: their springs hold them (section 7.5.3).
static kp_result ignore_links(kp_deform *d) {
  const kp_hair_links *links = &d->hair.links;
  kp_deform_meet *meet = &d->meet;
  if (links->n_segments == 0 || links->space == NULL) {
    return KP_OK;
  }
  const uint32_t *a = kp_buffer_host(&links->a->buffers[0], KP_ACCESS_READ);
  const uint32_t *b = kp_buffer_host(&links->b->buffers[0], KP_ACCESS_READ);
  const uint8_t *alive = kp_buffer_host(&links->alive->buffers[0], KP_ACCESS_READ);
  if (a == NULL || b == NULL || alive == NULL) {
    return KP_ERROR_MEMORY;
  }
  meet->linked.count = 0;
  for (int64_t k = 0; k < links->space->n; ++k) {
    if (alive[k] != 0) {
      KP_TRY(kp_array_push(&meet->linked, (kp_index)a[k]));
      KP_TRY(kp_array_push(&meet->linked, (kp_index)b[k]));
    }
  }
  return kp_contact_ignore(meet->contact, (const kp_index(*)[2])meet->linked.data,
                           meet->linked.count / 2);
}

// What free bodies have and were given, for going back.
static kp_result keep_bodies(kp_deform *d, kp_env *env) {
  kp_deform_meet *meet = &d->meet;
  size_t n = d->bodies.has_free ? d->bodies.frames.count : 0;
  KP_TRY(kp_array_resize(&meet->clean_frames, n));
  KP_TRY(kp_array_resize(&meet->clean_advance, n));
  for (size_t k = 0; k < n; ++k) {
    meet->clean_frames.data[k] = kp_bodies_frame(env->bodies, (kp_index)k);
    meet->clean_advance.data[k] = d->bodies.frames.data[k];
  }
  return kp_loads_keep(env->loads);
}

// Pairs are coloured as if no node were led: a pin may let go before the sub-step is over.
kp_result kp_deform_find_pairs(kp_deform *d, kp_env *env, double time) {
  d->meet.clean_time = time;
  if (d->meet.contact == NULL) {
    return KP_OK;
  }
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_copy(&d->meet.clean.c[c], &position(d)[c]));
    KP_TRY(kp_buffer_copy(&d->meet.clean_velocity.c[c], &velocity(d)[c]));
    if (d->lag != NULL) {
      KP_TRY(kp_buffer_copy(&d->meet.clean_lag.c[c], &d->lag->buffers[c]));
    }
  }
  KP_TRY(keep_bodies(d, env));
  KP_TRY(ignore_links(d));
  kp_deform_show_free(d, env);
  KP_TRY(kp_contact_find(d->meet.contact, position(d), &d->meet.lightness));
  return kp_deform_fix_planes(d, env);
}

// Nodes move once in an inner step, so how pairs stand at its end holds for the start of the next.
kp_result kp_deform_repulse(kp_deform *d, kp_contact_law law) {
  if (d->meet.contact == NULL) {
    return KP_OK;
  }
  kp_buffer *v = law == KP_CONTACT_MOVING ? d->moving.c : velocity(d);
  if (law == KP_CONTACT_FINAL) {
    KP_TRY(kp_contact_measure(d->meet.contact, position(d)));
  }
  return kp_contact_repulse(d->meet.contact, law, v, &d->meet.give, &d->hold, d->dt);
}

static kp_contact_motion motion_of(kp_deform *d, double time) {
  return (kp_contact_motion){
    .from = d->meet.clean.c,
    .x = position(d),
    .v = velocity(d),
    .inverse_mass = &d->meet.give,
    .hold = &d->hold,
    .lag = d->lag != NULL ? d->lag->buffers : NULL,
    .time = time,
    .dt = d->dt,
  };
}

// The first time that pins ask for what cannot be.
static void warn_of_pins(const kp_deform *d, const kp_contact_report *before) {
  const kp_contact_report *now = kp_contact_told(d->meet.contact);
  if (before->n_late == 0 && now->n_late > 0) {
    kp_log(KP_LOG_WARN, "solids",
           "at %.4f s pins leave no room for what is between them: %lld nodes do not follow",
           d->time, (long long)now->n_late);
  }
  if (before->n_pushed == 0 && now->n_pushed > 0) {
    kp_log(KP_LOG_WARN, "solids",
           "at %.4f s bodies that are led leave no room for cloth: it passes through them",
           d->time);
  }
  if (before->n_led == 0 && now->n_led > 0) {
    kp_log(KP_LOG_WARN, "solids", "at %.4f s pins lead %lld pairs of surfaces through each other",
           d->time, (long long)now->n_led);
  }
}

bool kp_deform_parts_late(const kp_deform *d) {
  return d->meet.contact != NULL && d->meet.guests.free.count > 0;
}

kp_result kp_deform_part_collisions(kp_deform *d, kp_env *env, double time) {
  if (d->meet.contact == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_deform_guide(d, env, d->meet.clean_time, d->meet.clean_time + time));
  kp_contact_motion motion = motion_of(d, time);
  kp_contact_report before = *kp_contact_told(d->meet.contact);
  KP_TRY(kp_contact_resolve(d->meet.contact, &motion));
  kp_deform_lead_back(d, env, time);
  warn_of_pins(d, &before);
  return KP_OK;
}

kp_result kp_deform_any_collision(kp_deform *d, kp_env *env, double time, bool *out) {
  *out = false;
  if (d->meet.contact == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_deform_guide(d, env, d->meet.clean_time, d->meet.clean_time + time));
  kp_contact_motion motion = motion_of(d, time);
  return kp_contact_any(d->meet.contact, &motion, out);
}

kp_result kp_deform_go_back(kp_deform *d, kp_env *env) {
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_copy(&position(d)[c], &d->meet.clean.c[c]));
    KP_TRY(kp_buffer_copy(&velocity(d)[c], &d->meet.clean_velocity.c[c]));
    if (d->lag != NULL) {
      KP_TRY(kp_buffer_copy(&d->lag->buffers[c], &d->meet.clean_lag.c[c]));
    }
  }
  kp_loads_go_back(env->loads);
  for (size_t k = 0; k < d->meet.clean_frames.count; ++k) {
    if (env->bodies->models.data[k].kind == KP_BODY_FREE) {
      kp_bodies_set_frame(env->bodies, (kp_index)k, &d->meet.clean_frames.data[k]);
      d->bodies.frames.data[k] = d->meet.clean_advance.data[k];
    }
  }
  return kp_contact_measure(d->meet.contact, position(d));
}
