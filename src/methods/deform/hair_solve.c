// Implicit steps of hairs: by one decomposition per hair, or with it as the preconditioner.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/deform/deform.h"

extern const kp_kernel hair_direct_kernel, hair_factor_kernel, hair_product_kernel,
    hair_precondition_kernel, hair_jacobi_kernel;

// ---- locks --------------------------------------------------------------------------------------

#define FEW_KINDS 4  // of sixteen hairs

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

// What only solves with products need.
static kp_result make_matrix(kp_hair_locks *k) {
  if (k->matrix.used == k->band.used) {
    return KP_OK;
  }
  kp_buffer *const all[] = { &k->more, &k->matrix };
  const kp_buffer *const like[] = { &k->right, &k->band };
  for (int b = 0; b < 2; ++b) {
    void *data;
    KP_TRY(kp_buffer_room(all[b], KP_TYPE_REAL, (int64_t)(like[b]->used / sizeof(kp_real)), &data));
    memset(data, 0, all[b]->used);
  }
  return KP_OK;
}

// How many of the hairs from `first` on go into a lock. Those of one kind are assembled together,
// others one by one, each of which takes as long: a lock ends with its kind, unless that made many
// locks of few hairs.
static int64_t lock_size(const kind_list *kinds, size_t first) {
  size_t left = kinds->count - first, most = left < HAIR_LANES ? left : HAIR_LANES, alike = most;
  int n_kinds = 1;
  for (size_t i = 1; i < most; ++i) {
    const hair_kind *one = &kinds->data[first + i], *before = one - 1;
    if (one->count != before->count || one->build != before->build) {
      alike = n_kinds++ == 1 ? i : alike;
    }
  }
  return (int64_t)(n_kinds <= FEW_KINDS ? alike : most);
}

// Hairs after each other in the order of their kinds.
static kp_result fill_locks(kp_hair_locks *k, const hair_model *m, const kind_list *kinds) {
  for (size_t h = 0; h < kinds->count; h += (size_t)lock_size(kinds, h)) {
    ++k->n;
  }
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
  const hair_kind *first = kinds->data;
  for (int64_t lock = 0, n; lock < k->n; ++lock, first += n) {
    n = lock_size(kinds, (size_t)(first - kinds->data));
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

// Constants of elements, lane by lane: those of a hair begin with first[hair], and number j of
// element e is from[j][e].
static kp_result spread(const kp_hair_locks *k, const int32_t *first, const kp_real *const *from,
                        int64_t numbers, kp_buffer *rows, kp_buffer *to) {
  const int32_t *hair = kp_buffer_host((kp_buffer *)&k->hair, KP_ACCESS_READ);
  int32_t *row;
  kp_real *items;
  KP_TRY(kp_buffer_room(rows, KP_TYPE_I32, k->n + 1, &row));
  row[0] = 0;
  for (int64_t lock = 0; lock < k->n; ++lock) {
    int32_t most = 0;
    for (int64_t l = 0; l < HAIR_LANES; ++l) {
      int32_t h = hair[HAIR_LANES * lock + l], n = first[h + 1] - first[h];
      most = n > most ? n : most;
    }
    row[lock + 1] = row[lock] + most;
  }
  KP_TRY(kp_buffer_room(to, KP_TYPE_REAL, HAIR_LANES * numbers * row[k->n], &items));
  memset(items, 0, to->used);
  for (int64_t lane = 0; lane < HAIR_LANES * k->n; ++lane) {
    int32_t h = hair[lane];
    kp_real *item = items + HAIR_LANES * numbers * row[lane / HAIR_LANES] + lane % HAIR_LANES;
    for (int32_t e = first[h]; e < first[h + 1]; ++e) {
      for (int64_t j = 0; j < numbers; ++j, item += HAIR_LANES) {
        *item = from[j][e];
      }
    }
  }
  return KP_OK;
}

static kp_result fill_constants(kp_deform *d, const hair_model *m, kp_hair_locks *k) {
  const kp_real *const spring[HAIR_SPRING] = {
    kp_buffer_host(&d->springs.rest, KP_ACCESS_READ),
    kp_buffer_host(&d->springs.stiffness, KP_ACCESS_READ),
    kp_buffer_host(&d->springs.compression, KP_ACCESS_READ),
    kp_buffer_host(&d->springs.damping, KP_ACCESS_READ),
  };
  KP_TRY(spread(k, m->spring_start, spring, HAIR_SPRING, &k->spring_row, &k->spring));
  const kp_real *rest = kp_buffer_host(&d->tets.axes.rest, KP_ACCESS_READ);
  const kp_real *axis[HAIR_AXIS];
  for (int j = 0; j < DEFORM_AXIS_REST; ++j) {
    axis[j] = rest + j * m->n_axes;
  }
  axis[DEFORM_AXIS_REST] = kp_buffer_host(&d->tets.axes.stiffness, KP_ACCESS_READ);
  axis[DEFORM_AXIS_REST + 1] = kp_buffer_host(&d->tets.axes.damping, KP_ACCESS_READ);
  return spread(k, m->axis_start, axis, HAIR_AXIS, &k->axis_row, &k->axis);
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
    kp_result result = kp_array_resize(&sums, 2 * n);
    if (result != KP_OK) {
      kp_array_free(&sums);
      return result;
    }
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
  kp_buffer *all[] = { &k->runs,  &k->hair,       &k->row,      &k->block,  &k->width,  &k->count,
                       &k->same,  &k->spring_row, &k->axis_row, &k->spring, &k->axis,   &k->place,
                       &k->speed, &k->right,      &k->lanes,    &k->more,   &k->matrix, &k->band };
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
      result = fill_constants(d, &model, k);
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
  BIND_IN(spring_row, &k->spring_row);
  BIND_IN(axis_row, &k->axis_row);
  BIND_IN(lanes, &k->count);
  BIND_IN(same, &k->same);
  BIND_IN(start, &d->hair.start);
  BIND_IN(spring_start, &d->hair.spring_start);
  BIND_IN(axis_start, &d->hair.axis_start);
#undef BIND_IN
}

// The system of a stage.
static void bind_system(kp_call *call, hair_system *system, kp_deform *d, const kp_env *env,
                        kp_hair_locks *k, const kp_deform_stage *stage) {
  kp_deform_springs *s = &d->springs;
  kp_deform_axes *t = &d->tets.axes;
  kp_vec3 gravity = env->simulation.gravity;
  *system = (hair_system){ .h = (kp_real)stage->h,
                           .implicit = (kp_real)stage->implicit,
                           .turns = d->def.turns ? (kp_real)stage->implicit : 0,
                           .gx = (kp_real)gravity.x,
                           .gy = (kp_real)gravity.y,
                           .gz = (kp_real)gravity.z,
                           .n_axes = t->n };
  bind_locks(call, &system->locks, d, k);
  size_t base = (size_t)((char *)system - (char *)call->args);
#define BIND_IN(member, buffer, access)                                                            \
  kp_call_bind(call, base + offsetof(hair_system, member), (buffer), (access))
#define BIND_IN3(prefix, array, access)                                                            \
  (BIND_IN(prefix##x, &(array)[0], access), BIND_IN(prefix##y, &(array)[1], access),               \
   BIND_IN(prefix##z, &(array)[2], access))
  BIND_IN(a, &s->a, KP_ACCESS_READ);
  BIND_IN(b, &s->b, KP_ACCESS_READ);
  BIND_IN(spring, &k->spring, KP_ACCESS_READ);
  BIND_IN(corner, &t->corner, KP_ACCESS_READ);
  BIND_IN(axis, &k->axis, KP_ACCESS_READ);
  BIND_IN(mass, &d->mass, KP_ACCESS_READ);
  BIND_IN(slow, &d->slow, KP_ACCESS_READ);
  BIND_IN3(w, d->wind.c, KP_ACCESS_READ);
  BIND_IN3(e, d->extra->buffers, KP_ACCESS_READ);
  BIND_IN(hold, &d->hold, KP_ACCESS_READ);
  BIND_IN3(c, d->normal.c, KP_ACCESS_READ);
  BIND_IN3(, stage->x, KP_ACCESS_READ);
  BIND_IN3(v, stage->v, KP_ACCESS_READ);
  BIND_IN(place, &k->place, KP_ACCESS_WRITE);
  BIND_IN(speed, &k->speed, KP_ACCESS_WRITE);
  BIND_IN(band, &k->band, KP_ACCESS_WRITE);
  BIND_IN(right, &k->right, KP_ACCESS_WRITE);
#undef BIND_IN3
#undef BIND_IN
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
  hair_direct_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &hair_direct_kernel, &a);
  bind_system(&call, &a.system, d, env, k, stage);
  KP_BIND(&call, &a, wx, &stage->out[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wy, &stage->out[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wz, &stage->out[2], KP_ACCESS_WRITE);
  return kp_call_rows(env->backend, &call, &k->runs, k->n);
}

// ---- as a preconditioner ------------------------------------------------------------------------

static kp_result factor(kp_deform *d, kp_env *env, const kp_deform_group *group,
                        const kp_deform_stage *stage, kp_buffer *matrix, kp_buffer *b,
                        kp_buffer *u) {
  kp_hair_locks *k = &d->hair.locks[group->scheme];
  int64_t n = group->nodes.n, first = group->nodes.first;
  hair_factor_args a = { .b = { .o = -first, .p = n - first, .q = 2 * n - first },
                         .u = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &hair_factor_kernel, &a);
  bind_system(&call, &a.system, d, env, k, stage);
  KP_BIND(&call, &a, matrix, matrix, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, lanes, &k->lanes, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.x, b, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.y, b, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.z, b, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.x, u, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.y, u, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u.z, u, KP_ACCESS_WRITE);
  return kp_call_rows(env->backend, &call, &k->runs, k->n);
}

kp_result kp_hair_factor(kp_deform *d, kp_env *env, const kp_deform_group *group,
                         const kp_deform_stage *stage, bool *has_hair) {
  kp_hair_locks *k = &d->hair.locks[group->scheme];
  *has_hair = k->n > 0;
  return k->n > 0 ? factor(d, env, group, stage, NULL, NULL, NULL) : KP_OK;
}

kp_result kp_hair_begin(kp_deform *d, kp_env *env, const kp_deform_group *group,
                        const kp_deform_stage *stage, kp_buffer *u) {
  kp_hair_locks *k = &d->hair.locks[group->scheme];
  KP_TRY(u != NULL ? KP_OK : make_matrix(k));
  KP_TRY(kp_vector_fill(3 * group->nodes.n, 0.0, &d->right));
  KP_TRY(kp_hair_pull_links(d, group, stage, &d->right));
  return factor(d, env, group, stage, u != NULL ? NULL : &k->matrix, &d->right, u);
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
  return kp_hair_apply(d, group, h, x, y, y);
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
