// Implicit steps of hairs: by one decomposition per hair, or with it as the preconditioner.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/deform/deform.h"

extern const kp_kernel hair_assemble_kernel, hair_direct_kernel, hair_factor_kernel,
    hair_right_kernel, hair_product_kernel, hair_precondition_kernel, hair_jacobi_kernel;

// ---- locks --------------------------------------------------------------------------------------

// What hairs of a lock should have in common.
typedef struct hair_kind {
  int32_t count;   // nodes
  int32_t width;   // how far its elements reach, and 1
  uint32_t build;  // hash of how its elements join its nodes
  int32_t hair;
} hair_kind;

typedef KP_ARRAY(hair_kind) kind_list;

// The model on the host.
typedef struct hair_model {
  const int32_t *start, *spring_start, *axis_start;
  const int32_t *a, *b, *corner;
  int64_t n_axes;
} hair_model;

static void open_model(kp_deform *d, hair_model *out) {
  *out = (hair_model){ .start = kp_buffer_host(&d->hair.start, KP_ACCESS_READ),
                       .spring_start = kp_buffer_host(&d->hair.spring_start, KP_ACCESS_READ),
                       .axis_start = kp_buffer_host(&d->hair.axis_start, KP_ACCESS_READ),
                       .a = kp_buffer_host(&d->springs.a, KP_ACCESS_READ),
                       .b = kp_buffer_host(&d->springs.b, KP_ACCESS_READ),
                       .corner = kp_buffer_host(&d->tets.axes.corner, KP_ACCESS_READ),
                       .n_axes = d->tets.axes.n };
}

static int64_t n_words(const hair_model *m, int64_t hair) {
  return 2 * (m->spring_start[hair + 1] - m->spring_start[hair]) +
         4 * (m->axis_start[hair + 1] - m->axis_start[hair]);
}

// Word k of how a hair is built: nodes of its elements, counted from its first.
static int32_t build_word(const hair_model *m, int64_t hair, int64_t k) {
  int64_t springs = m->spring_start[hair + 1] - m->spring_start[hair];
  int32_t node;
  if (k < 2 * springs) {
    int64_t s = m->spring_start[hair] + k / 2;
    node = k % 2 == 0 ? m->a[s] : m->b[s];
  } else {
    int64_t t = (k - 2 * springs) / 4;
    node = m->corner[(k - 2 * springs) % 4 * m->n_axes + m->axis_start[hair] + t];
  }
  return node - m->start[hair];
}

static bool are_alike(const hair_model *m, int64_t a, int64_t b) {
  bool alike =
      m->start[a + 1] - m->start[a] == m->start[b + 1] - m->start[b] &&
      m->spring_start[a + 1] - m->spring_start[a] == m->spring_start[b + 1] - m->spring_start[b] &&
      m->axis_start[a + 1] - m->axis_start[a] == m->axis_start[b + 1] - m->axis_start[b];
  for (int64_t k = 0; alike && k < n_words(m, a); ++k) {
    alike = build_word(m, a, k) == build_word(m, b, k);
  }
  return alike;
}

static hair_kind kind_of(const hair_model *m, int64_t hair) {
  hair_kind kind = { .count = m->start[hair + 1] - m->start[hair],
                     .width = 1,
                     .build = 2166136261u,
                     .hair = (int32_t)hair };
  int64_t springs = 2 * (m->spring_start[hair + 1] - m->spring_start[hair]);
  int32_t low = 0, high = 0;
  for (int64_t k = 0; k < n_words(m, hair); ++k) {
    int32_t word = build_word(m, hair, k);
    kind.build = (kind.build ^ (uint32_t)word) * 16777619u;
    bool is_first = k < springs ? k % 2 == 0 : (k - springs) % 4 == 0;
    low = is_first || word < low ? word : low;
    high = is_first || word > high ? word : high;
    kind.width = high - low + 1 > kind.width ? high - low + 1 : kind.width;
  }
  return kind;
}

static int compare_kinds(const void *a, const void *b) {
  const hair_kind *p = a, *q = b;
  if (p->count != q->count) {
    return p->count < q->count ? -1 : 1;
  }
  if (p->build != q->build) {
    return p->build < q->build ? -1 : 1;
  }
  return p->hair < q->hair ? -1 : p->hair > q->hair;
}

static kp_result find_kinds(kp_deform *d, const hair_model *m, kp_solid_scheme scheme,
                            kind_list *kinds) {
  int64_t nodes = 0, of_scheme = 0;
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    const kp_hair_place *place = &d->hair.places.data[k];
    if (d->parts.data[place->part].scheme != scheme) {
      continue;
    }
    nodes += d->parts.data[place->part].nodes.n;
    for (int64_t h = place->hairs; h < place->hairs + place->n; ++h) {
      KP_TRY(kp_array_push(kinds, kind_of(m, h)));
    }
  }
  for (size_t p = 0; p < d->parts.count; ++p) {
    of_scheme += d->parts.data[p].scheme == scheme ? d->parts.data[p].nodes.n : 0;
  }
  d->hair.locks[scheme].has_all = nodes == of_scheme;
  if (kinds->count > 0) {
    qsort(kinds->data, kinds->count, sizeof *kinds->data, compare_kinds);
  }
  return KP_OK;
}

static kp_result make_scratch(kp_hair_locks *k, int64_t rows, int64_t blocks) {
  const struct {
    kp_buffer *buffer;
    kp_type type;
    int64_t n;
  } all[] = {
    { &k->place, KP_TYPE_F64, 3 * rows },
    { &k->speed, KP_TYPE_REAL, 3 * rows },
    { &k->right, KP_TYPE_REAL, 3 * rows },
    { &k->lanes, KP_TYPE_REAL, 3 * rows },
    { &k->band, KP_TYPE_REAL, HAIR_BLOCK * blocks },
  };
  for (size_t b = 0; b < sizeof all / sizeof all[0]; ++b) {
    void *data;
    KP_TRY(kp_buffer_room(all[b].buffer, all[b].type, HAIR_LANES * all[b].n, &data));
    memset(data, 0, all[b].buffer->used);
  }
  return KP_OK;
}

// What only solves by iterations need.
static kp_result make_vectors(kp_hair_locks *k) {
  if (k->matrix.used == k->band.used) {
    return KP_OK;
  }
  kp_buffer *const all[] = { &k->lanes, &k->more, &k->matrix };
  const kp_buffer *const like[] = { &k->right, &k->right, &k->band };
  for (int b = 0; b < 3; ++b) {
    void *data;
    KP_TRY(kp_buffer_room(all[b], KP_TYPE_REAL, (int64_t)(like[b]->used / sizeof(kp_real)), &data));
    memset(data, 0, all[b]->used);
  }
  return KP_OK;
}

// Sixteen hairs after each other in the order of their kinds.
static kp_result fill_locks(kp_hair_locks *k, const hair_model *m, const kind_list *kinds) {
  k->n = ((int64_t)kinds->count + HAIR_LANES - 1) / HAIR_LANES;
  int32_t *hair, *row, *block, *width;
  uint8_t *lanes, *same;
  kp_row_segment *runs;
  KP_TRY(kp_buffer_room(&k->hair, KP_TYPE_I32, HAIR_LANES * k->n, &hair));
  KP_TRY(kp_buffer_room(&k->row, KP_TYPE_I32, k->n + 1, &row));
  KP_TRY(kp_buffer_room(&k->block, KP_TYPE_I32, k->n + 1, &block));
  KP_TRY(kp_buffer_room(&k->width, KP_TYPE_I32, k->n, &width));
  KP_TRY(kp_buffer_room(&k->count, KP_TYPE_U8, k->n, &lanes));
  KP_TRY(kp_buffer_room(&k->same, KP_TYPE_U8, k->n, &same));
  KP_TRY(kp_buffer_resize(&k->runs, sizeof *runs * (size_t)k->n));
  KP_TRY(kp_buffer_get(&k->runs, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&runs));
  row[0] = block[0] = 0;
  for (int64_t lock = 0; lock < k->n; ++lock) {
    const hair_kind *first = &kinds->data[HAIR_LANES * lock];
    int64_t n = (int64_t)kinds->count - HAIR_LANES * lock;
    n = n < HAIR_LANES ? n : HAIR_LANES;
    int32_t rows = 0;
    width[lock] = 1;
    lanes[lock] = (uint8_t)n;
    same[lock] = 1;
    for (int64_t l = 0; l < HAIR_LANES; ++l) {
      const hair_kind *one = first + (l < n ? l : 0);
      hair[HAIR_LANES * lock + l] = one->hair;
      rows = one->count > rows ? one->count : rows;
      width[lock] = one->width > width[lock] ? one->width : width[lock];
      same[lock] = same[lock] && are_alike(m, first->hair, one->hair);
    }
    row[lock + 1] = row[lock] + rows;
    block[lock + 1] = block[lock] + rows * width[lock];
    runs[lock] = (kp_row_segment){ .j = (int32_t)lock, .i1 = HAIR_LANES };
  }
  return make_scratch(k, row[k->n], block[k->n]);
}

// How stiff the elements of nodes are at most, against their mass: the condition of the matrix.
static kp_result find_stiffness(kp_deform *d, const hair_model *m, kp_hair_locks *k,
                                const kind_list *kinds) {
  const kp_real *rest = kp_buffer_host(&d->springs.rest, KP_ACCESS_READ);
  const kp_real *stiffness = kp_buffer_host(&d->springs.stiffness, KP_ACCESS_READ);
  const kp_real *damping = kp_buffer_host(&d->springs.damping, KP_ACCESS_READ);
  const kp_real *axis_rest = kp_buffer_host(&d->tets.axes.rest, KP_ACCESS_READ);
  const kp_real *axis_stiffness = kp_buffer_host(&d->tets.axes.stiffness, KP_ACCESS_READ);
  const kp_real *axis_damping = kp_buffer_host(&d->tets.axes.damping, KP_ACCESS_READ);
  const kp_real *mass = kp_buffer_host(&d->mass, KP_ACCESS_READ);
  KP_ARRAY(double) sums = { 0 };
  for (size_t h = 0; h < kinds->count; ++h) {
    int64_t hair = kinds->data[h].hair;
    size_t n = (size_t)kinds->data[h].count;
    KP_TRY(kp_array_resize(&sums, 2 * n));
    memset(sums.data, 0, 2 * n * sizeof *sums.data);
    for (int64_t s = m->spring_start[hair]; s < m->spring_start[hair + 1]; ++s) {
      for (int e = 0; e < 2; ++e) {
        size_t i = (size_t)((e == 0 ? m->a[s] : m->b[s]) - m->start[hair]);
        sums.data[2 * i] += (double)stiffness[s] / (double)rest[s];
        sums.data[2 * i + 1] += (double)damping[s];
      }
    }
    for (int64_t t = m->axis_start[hair]; t < m->axis_start[hair + 1]; ++t) {
      double shortest = HUGE_VAL;
      for (int a = 0; a < KP_ALTITUDES; ++a) {
        shortest = fmin(shortest, fabs((double)axis_rest[a * m->n_axes + t]));
      }
      for (int c = 0; c < 4; ++c) {
        size_t i = (size_t)(m->corner[c * m->n_axes + t] - m->start[hair]);
        sums.data[2 * i] += (double)axis_stiffness[t] / shortest;
        sums.data[2 * i + 1] += (double)axis_damping[t];
      }
    }
    for (size_t i = 0; i < n; ++i) {
      double light = 1.0 / (double)mass[m->start[hair] + (int32_t)i];
      k->stiff = fmax(k->stiff, light * sums.data[2 * i]);
      k->damp = fmax(k->damp, light * sums.data[2 * i + 1]);
    }
  }
  kp_array_free(&sums);
  return KP_OK;
}

static void each_buffer(kp_hair_locks *k, void (*each)(kp_buffer *, kp_backend *),
                        kp_backend *backend) {
  kp_buffer *all[] = {
    &k->runs,  &k->hair,  &k->row,   &k->block, &k->width, &k->count,  &k->same,
    &k->place, &k->speed, &k->right, &k->lanes, &k->more,  &k->matrix, &k->band
  };
  for (size_t b = 0; b < sizeof all / sizeof all[0]; ++b) {
    each(all[b], backend);
  }
}

kp_result kp_hair_join_locks(kp_deform *d, kp_env *env) {
  hair_model model = { 0 };
  if (d->hair.places.count > 0) {
    open_model(d, &model);
  }
  kp_result result = KP_OK;
  for (int s = 0; s < KP_SCHEME_COUNT; ++s) {
    kp_hair_locks *k = &d->hair.locks[s];
    kind_list kinds = { 0 };
    each_buffer(k, kp_buffer_init, env->backend);
    if (result == KP_OK && d->hair.places.count > 0) {
      result = find_kinds(d, &model, (kp_solid_scheme)s, &kinds);
    }
    if (result == KP_OK && kinds.count > 0) {
      result = fill_locks(k, &model, &kinds);
    }
    if (result == KP_OK && kinds.count > 0) {
      result = find_stiffness(d, &model, k, &kinds);
    }
    kp_array_free(&kinds);
  }
  return result;
}

void kp_hair_free_locks(kp_deform *d) {
  for (int s = 0; s < KP_SCHEME_COUNT; ++s) {
    each_buffer(&d->hair.locks[s], kp_buffer_drop, NULL);
  }
}

// ---- calls --------------------------------------------------------------------------------------

static void bind_locks(kp_call *call, hair_locks *locks, kp_deform *d, kp_hair_locks *k) {
  size_t base = (size_t)((char *)locks - (char *)call->args);
#define BIND_IN(member, buffer)                                                                    \
  kp_call_bind(call, base + offsetof(hair_locks, member), (buffer), KP_ACCESS_READ)
  BIND_IN(hair, &k->hair);
  BIND_IN(row, &k->row);
  BIND_IN(block, &k->block);
  BIND_IN(width, &k->width);
  BIND_IN(lanes, &k->count);
  BIND_IN(same, &k->same);
  BIND_IN(start, &d->hair.start);
  BIND_IN(spring_start, &d->hair.spring_start);
  BIND_IN(axis_start, &d->hair.axis_start);
#undef BIND_IN
}

static kp_result assemble(kp_deform *d, kp_env *env, kp_hair_locks *k, const kp_deform_stage *stage,
                          kp_buffer *matrix) {
  kp_deform_springs *s = &d->springs;
  kp_deform_axes *t = &d->tets.axes;
  kp_vec3 gravity = env->simulation.gravity;
  hair_assemble_args a = { .h = (kp_real)stage->h,
                           .implicit = (kp_real)stage->implicit,
                           .gx = (kp_real)gravity.x,
                           .gy = (kp_real)gravity.y,
                           .gz = (kp_real)gravity.z,
                           .n_axes = t->n };
  kp_call call;
  kp_call_init(&call, &hair_assemble_kernel, &a);
  bind_locks(&call, &a.locks, d, k);
  KP_BIND(&call, &a, a, &s->a, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &s->b, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &s->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffness, &s->stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, compression, &s->compression, KP_ACCESS_READ);
  KP_BIND(&call, &a, damping, &s->damping, KP_ACCESS_READ);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_rest, &t->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_stiffness, &t->stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, axis_damping, &t->damping, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, slow, &d->slow, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->wind, KP_ACCESS_READ);
  KP_BIND3(&call, &a, e, d->extra, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &stage->x[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &stage->x[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &stage->x[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, vx, &stage->v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, &stage->v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, &stage->v[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, place, &k->place, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, speed, &k->speed, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, band, matrix, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, right, &k->right, KP_ACCESS_WRITE);
  return kp_call_rows(env->backend, &call, &k->runs, k->n);
}

// ---- direct -------------------------------------------------------------------------------------

bool kp_hair_is_banded(const kp_deform *d, const kp_deform_group *group) {
  const kp_hair_locks *k = &d->hair.locks[group->scheme];
  return k->n > 0 && k->has_all;
}

bool kp_hair_is_exact(const kp_deform *d, const kp_deform_group *group,
                      const kp_deform_stage *stage) {
  const kp_hair_locks *k = &d->hair.locks[group->scheme];
  double rounding = sizeof(kp_real) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;
  double condition = 1.0 + stage->h * (k->damp + stage->implicit * k->stiff);
  return kp_hair_is_banded(d, group) && rounding * condition < d->def.tolerance;
}

kp_result kp_hair_solve(kp_deform *d, kp_env *env, const kp_deform_group *group,
                        const kp_deform_stage *stage) {
  kp_hair_locks *k = &d->hair.locks[group->scheme];
  KP_TRY(assemble(d, env, k, stage, &k->band));
  hair_direct_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &hair_direct_kernel, &a);
  bind_locks(&call, &a.locks, d, k);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, vx, &stage->v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, &stage->v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, &stage->v[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, band, &k->band, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, right, &k->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wx, &stage->out[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wy, &stage->out[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wz, &stage->out[2], KP_ACCESS_WRITE);
  return kp_call_rows(env->backend, &call, &k->runs, k->n);
}

// ---- as a preconditioner ------------------------------------------------------------------------

kp_result kp_hair_factor(kp_deform *d, kp_env *env, const kp_deform_group *group,
                         const kp_deform_stage *stage, bool *has_hair) {
  kp_hair_locks *k = &d->hair.locks[group->scheme];
  *has_hair = k->n > 0;
  if (k->n == 0) {
    return KP_OK;
  }
  KP_TRY(make_vectors(k));
  KP_TRY(assemble(d, env, k, stage, &k->matrix));
  hair_factor_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &hair_factor_kernel, &a);
  bind_locks(&call, &a.locks, d, k);
  KP_BIND(&call, &a, matrix, &k->matrix, KP_ACCESS_READ);
  KP_BIND(&call, &a, band, &k->band, KP_ACCESS_WRITE);
  return kp_call_rows(env->backend, &call, &k->runs, k->n);
}

kp_result kp_hair_impulse(kp_deform *d, kp_env *env, const kp_deform_group *group,
                          const kp_deform_stage *stage) {
  kp_hair_locks *k = &d->hair.locks[group->scheme];
  int64_t n = group->nodes.n, first = group->nodes.first;
  hair_right_args a = { .b = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &hair_right_kernel, &a);
  bind_locks(&call, &a.locks, d, k);
  KP_BIND(&call, &a, right, &k->right, KP_ACCESS_READ);
  KP_BIND(&call, &a, b.x, &d->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.y, &d->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.z, &d->right, KP_ACCESS_WRITE);
  KP_TRY(kp_call_rows(env->backend, &call, &k->runs, k->n));
  return kp_hair_pull_links(d, group, stage, &d->right);
}

kp_result kp_hair_product(kp_deform *d, const kp_deform_group *group, double h, kp_buffer *x,
                          kp_buffer *y) {
  kp_hair_locks *k = &d->hair.locks[group->scheme];
  int64_t n = group->nodes.n, first = group->nodes.first;
  hair_product_args a = { .u = { .o = -first, .p = n - first, .q = 2 * n - first },
                          .y = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &hair_product_kernel, &a);
  bind_locks(&call, &a.locks, d, k);
  KP_BIND(&call, &a, matrix, &k->matrix, KP_ACCESS_READ);
  KP_BIND(&call, &a, lanes, &k->lanes, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, more, &k->more, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, u.y, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, u.z, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, y.x, y, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, y.y, y, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, y.z, y, KP_ACCESS_WRITE);
  KP_TRY(kp_call_rows(d->set->space->backend, &call, &k->runs, k->n));
  return kp_hair_apply(d, group, h, x, y);
}

static kp_result solve_hairs(kp_deform *d, const kp_deform_group *group, kp_buffer *r,
                             kp_buffer *u) {
  kp_hair_locks *k = &d->hair.locks[group->scheme];
  int64_t n = group->nodes.n, first = group->nodes.first;
  hair_precondition_args a = { .r = { .o = -first, .p = n - first, .q = 2 * n - first },
                               .u = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &hair_precondition_kernel, &a);
  bind_locks(&call, &a.locks, d, k);
  KP_BIND(&call, &a, band, &k->band, KP_ACCESS_READ);
  KP_BIND(&call, &a, lanes, &k->lanes, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, r.x, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, r.y, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, r.z, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, u.x, u, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.y, u, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.z, u, KP_ACCESS_WRITE);
  return kp_call_rows(d->set->space->backend, &call, &k->runs, k->n);
}

kp_result kp_hair_precondition(kp_deform *d, const kp_deform_group *group, kp_buffer *r,
                               kp_buffer *u) {
  if (!d->hair.locks[group->scheme].has_all) {
    // nodes that are of no hair, by their diagonal
    hair_jacobi_args a = { 0 };
    kp_call call;
    kp_call_init(&call, &hair_jacobi_kernel, &a);
    KP_BIND(&call, &a, d, &d->inverse, KP_ACCESS_READ);
    KP_BIND(&call, &a, r, r, KP_ACCESS_READ);
    KP_BIND(&call, &a, u, u, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(d->set->space->backend, &call, 3 * group->nodes.n));
  }
  return solve_hairs(d, group, r, u);
}
