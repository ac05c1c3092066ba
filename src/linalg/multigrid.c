#include "linalg/multigrid.h"

#include <string.h>

#include "base/array.h"
#include "linalg/multigrid_kernels.h"
#include "linalg/vector.h"
#include "par/kernel_define.h"

MULTIGRID_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_NO_PAIR)
POISSON_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_NO_PAIR)

#define MAX_LEVELS 32  // halves of 2^31
#define N_ARRAYS 12    // of a level

typedef struct level {
  poisson_grid grid;
  int32_t lo[3], hi[3];  // items inside the window
  int32_t ratio[3];      // items per item of the next level
  bool is_periodic[3];
  kp_real scale;
  kp_buffer faces[3], own, mass, inverse, b, x, share, lower[3], list;
  kp_buffer runs;  // the parts of its rows that hold unknowns
  // those of the level, or the caller's at the finest
  kp_buffer *c[3], *at_own, *at_mass, *at_inverse, *at_b, *at_x, *segments;
  int64_t n_segments;
} level;

struct kp_multigrid {
  kp_backend *backend;
  int n_levels;
  int32_t n[3];
  uint64_t revision;
  bool has_mass;
  level levels[MAX_LEVELS];
};

static void each(level *l, kp_buffer *out[N_ARRAYS]) {
  kp_buffer *all[N_ARRAYS] = { &l->faces[0], &l->faces[1], &l->faces[2], &l->own,
                               &l->mass,     &l->inverse,  &l->b,        &l->x,
                               &l->share,    &l->lower[0], &l->lower[1], &l->lower[2] };
  memcpy(out, all, sizeof all);
}

kp_result kp_multigrid_create(kp_backend *backend, kp_multigrid **out) {
  kp_multigrid *m = kp_alloc_zero(sizeof *m, KP_MEMORY_FIELD);
  *out = m;
  if (m == NULL) {
    return KP_ERROR_MEMORY;
  }
  m->backend = backend;
  for (int k = 0; k < MAX_LEVELS; ++k) {
    kp_buffer *all[N_ARRAYS];
    each(&m->levels[k], all);
    for (int i = 0; i < N_ARRAYS; ++i) {
      kp_buffer_init(all[i], backend);
      all[i]->type = KP_TYPE_REAL;
    }
    kp_buffer_init(&m->levels[k].list, backend);
    kp_buffer_init(&m->levels[k].runs, backend);
  }
  return KP_OK;
}

void kp_multigrid_destroy(kp_multigrid **multigrid) {
  kp_multigrid *m = *multigrid;
  if (m == NULL) {
    return;
  }
  for (int k = 0; k < MAX_LEVELS; ++k) {
    kp_buffer *all[N_ARRAYS];
    each(&m->levels[k], all);
    for (int i = 0; i < N_ARRAYS; ++i) {
      kp_buffer_free(all[i]);
    }
    kp_buffer_free(&m->levels[k].list);
    kp_buffer_free(&m->levels[k].runs);
  }
  kp_free(m);
  *multigrid = NULL;
}

int kp_multigrid_n_levels(const kp_multigrid *m) {
  return m->n_levels;
}

double kp_multigrid_bytes(const kp_multigrid *m) {
  double bytes = 0.0;
  for (int k = 1; k < m->n_levels; ++k) {
    kp_buffer *all[N_ARRAYS];
    each((level *)&m->levels[k], all);
    for (int i = 0; i < N_ARRAYS; ++i) {
      bytes += (double)all[i]->capacity;
    }
    bytes += (double)m->levels[k].list.capacity + (double)m->levels[k].runs.capacity;
  }
  return bytes;
}

// ---- layout

static kp_result list_rows(level *l) {
  l->n_segments = (int64_t)(l->hi[1] - l->lo[1]) * (l->hi[2] - l->lo[2]);
  KP_TRY(kp_buffer_resize(&l->list, (size_t)l->n_segments * sizeof(kp_row_segment)));
  kp_row_segment *s;
  KP_TRY(kp_buffer_get(&l->list, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&s));
  for (int32_t k = l->lo[2]; k < l->hi[2]; ++k) {
    for (int32_t j = l->lo[1]; j < l->hi[1]; ++j) {
      *s++ = (kp_row_segment){ .j = j, .k = k, .i0 = l->lo[0], .i1 = l->hi[0] };
    }
  }
  return KP_OK;
}

// The next coarser level: its size, ratio and room, everything 0 in it.
static kp_result lay_out(level *fine, level *l, bool has_mass) {
  bool is_flat = fine->grid.slab == 0;
  int64_t items = 1;
  int64_t stride[3];
  int64_t start = 0;
  for (int c = 0; c < 3; ++c) {
    int32_t ratio = fine->grid.n[c] > 1 ? 2 : 1;
    fine->ratio[c] = ratio;
    l->grid.n[c] = (fine->grid.n[c] + ratio - 1) / ratio;
    l->lo[c] = fine->lo[c] / ratio;
    l->hi[c] = (fine->hi[c] + ratio - 1) / ratio;
    l->is_periodic[c] = fine->is_periodic[c];
    bool has_ghosts = c < 2 || !is_flat;
    stride[c] = items;
    start += has_ghosts ? items : 0;
    items *= l->grid.n[c] + (has_ghosts ? 2 : 0);
  }
  l->grid.row = (int32_t)stride[1];
  l->grid.slab = is_flat ? 0 : (int32_t)stride[2];
  l->grid.start = (int32_t)start;
  l->scale = 1;
  kp_buffer *all[N_ARRAYS];
  each(l, all);
  for (int i = 0; i < N_ARRAYS; ++i) {
    bool is_used = !(is_flat && (i == 2 || i == 11)) && (i != 4 || has_mass);
    KP_TRY(kp_vector_resize(all[i], is_used ? items : 0));
    KP_TRY(kp_vector_fill(is_used ? items : 0, 0.0, all[i]));
  }
  for (int c = 0; c < 3; ++c) {
    l->c[c] = c == 2 && is_flat ? NULL : &l->faces[c];
  }
  l->at_own = &l->own;
  l->at_mass = has_mass ? &l->mass : NULL;
  l->at_inverse = &l->inverse;
  l->at_b = &l->b;
  l->at_x = &l->x;
  l->segments = &l->list;
  return list_rows(l);
}

static bool is_one(const poisson_grid *g) {
  return g->n[0] == 1 && g->n[1] == 1 && g->n[2] == 1;
}

static kp_result lay_out_all(kp_multigrid *m) {
  m->n_levels = 1;
  while (!is_one(&m->levels[m->n_levels - 1].grid)) {
    KP_TRY(lay_out(&m->levels[m->n_levels - 1], &m->levels[m->n_levels], m->has_mass));
    m->n_levels += 1;
  }
  return KP_OK;
}

// ---- calls

#define BIND_MATRIX(call, args, member, level)                                                     \
  do {                                                                                             \
    (args)->member.grid = (level)->grid;                                                           \
    (args)->member.scale = (level)->scale;                                                         \
    KP_BIND((call), (args), member.cx, (level)->c[0], KP_ACCESS_READ);                             \
    KP_BIND((call), (args), member.cy, (level)->c[1], KP_ACCESS_READ);                             \
    KP_BIND((call), (args), member.cz, (level)->c[2], KP_ACCESS_READ);                             \
    KP_BIND((call), (args), member.inverse, (level)->at_inverse, KP_ACCESS_READ);                  \
  } while (0)

static kp_result rows(kp_multigrid *m, const level *l, kp_call *call) {
  return kp_call_rows(m->backend, call, l->segments, l->n_segments);
}

static kp_result runs(kp_multigrid *m, level *l, kp_call *call) {
  return kp_call_rows(m->backend, call, &l->runs, l->n_segments);
}

// Images across the periodic axes of a level.
static kp_result wrap(kp_multigrid *m, level *l, poisson_border_kind kind, kp_buffer *values,
                      int only) {
  for (int axis = 0; axis < 3; ++axis) {
    if (!l->is_periodic[axis] || (only >= 0 && axis != only)) {
      continue;
    }
    // a periodic axis is never cut by the window, others may be
    poisson_grid box = l->grid;
    for (int c = 0; c < 3; ++c) {
      const int32_t stride[3] = { 1, l->grid.row, l->grid.slab };
      box.n[c] = l->hi[c] - l->lo[c];
      box.start += l->lo[c] * stride[c];
    }
    poisson_border_args a = { .grid = box, .axis = axis, .kind = (int32_t)kind };
    kp_call call;
    kp_call_init(&call, &poisson_border_kernel, &a);
    KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
    int64_t n_lines = (int64_t)box.n[0] * box.n[1] * box.n[2] / box.n[axis];
    KP_TRY(kp_call_run(m->backend, &call, n_lines));
  }
  return KP_OK;
}

static bool is_periodic(const level *l) {
  return l->is_periodic[0] || l->is_periodic[1] || l->is_periodic[2];
}

// ---- coefficients

static kp_result coarsen(kp_multigrid *m, level *fine, level *l) {
  multigrid_coarsen_args a = { .grid = l->grid };
  kp_call call;
  kp_call_init(&call, &multigrid_coarsen_kernel, &a);
  BIND_MATRIX(&call, &a, fine, fine);
  int n_axes = fine->grid.slab ? 3 : 2;
  for (int c = 0; c < 3; ++c) {
    a.is_periodic[c] = fine->is_periodic[c];
    a.ratio[c] = fine->ratio[c];
    a.weight[c] = (kp_real)(1.0 / fine->ratio[c]);
    a.half[c] = (kp_real)(0.5 * (fine->ratio[c] - 1));
    // some of them lie on the outside of their pair: 0.4 keeps flat sides and slanted surfaces
    // equal
    a.mean_half += (kp_real)0.4 * a.half[c] / (kp_real)n_axes;
  }
  KP_BIND(&call, &a, fine_own, fine->at_own, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, fine->at_mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, cx, l->c[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, cy, l->c[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, cz, l->c[2], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, own, l->at_own, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, coarse_mass, l->at_mass, KP_ACCESS_WRITE);
  KP_TRY(rows(m, l, &call));
  for (int axis = 0; axis < n_axes; ++axis) {
    KP_TRY(wrap(m, l, POISSON_BORDER_UPPER, l->c[axis], axis));
  }
  multigrid_invert_args v = { .grid = l->grid };
  for (int c = 0; c < 3; ++c) {
    v.is_periodic[c] = l->is_periodic[c];
  }
  kp_call_init(&call, &multigrid_invert_kernel, &v);
  KP_BIND(&call, &v, cx, l->c[0], KP_ACCESS_READ);
  KP_BIND(&call, &v, cy, l->c[1], KP_ACCESS_READ);
  KP_BIND(&call, &v, cz, l->c[2], KP_ACCESS_READ);
  KP_BIND(&call, &v, own, l->at_own, KP_ACCESS_READ);
  KP_BIND(&call, &v, inverse, l->at_inverse, KP_ACCESS_WRITE);
  KP_BIND(&call, &v, share, &l->share, KP_ACCESS_WRITE);
  KP_TRY(rows(m, l, &call));
  return wrap(m, l, POISSON_BORDER_IMAGE, &l->share, -1);
}

// Finds the runs of a level; what a cycle writes there is 0 elsewhere.
static kp_result trim(kp_multigrid *m, level *l) {
  KP_TRY(kp_buffer_resize(&l->runs, (size_t)l->n_segments * sizeof(kp_row_segment)));
  multigrid_trim_args a = { .grid = l->grid };
  kp_call call;
  kp_call_init(&call, &multigrid_trim_kernel, &a);
  KP_BIND(&call, &a, rows, l->segments, KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, l->at_inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, runs, &l->runs, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(m->backend, &call, l->n_segments));
  kp_buffer *written[] = { &l->b, &l->x, &l->lower[0], &l->lower[1], &l->lower[2] };
  for (size_t k = 0; k < sizeof written / sizeof written[0] && l != m->levels; ++k) {
    KP_TRY(kp_vector_fill((int64_t)(written[k]->used / sizeof(kp_real)), 0.0, written[k]));
  }
  return KP_OK;
}

kp_buffer *kp_multigrid_runs(kp_multigrid *m) {
  return &m->levels[0].runs;
}

kp_result kp_multigrid_build(kp_multigrid *m, const kp_multigrid_fine *fine) {
  level *l = &m->levels[0];
  bool is_same = m->n_levels > 0 && m->revision == fine->revision &&
                 m->has_mass == (fine->extra != NULL) &&
                 memcmp(l->grid.n, fine->grid.n, sizeof l->grid.n) == 0;
  l->grid = fine->grid;
  l->scale = fine->scale;
  for (int c = 0; c < 3; ++c) {
    l->lo[c] = fine->lo[c];
    l->hi[c] = fine->hi[c];
    l->is_periodic[c] = fine->is_periodic[c];
    l->c[c] = fine->faces[c];
  }
  l->at_own = l->at_mass = fine->extra;
  l->at_inverse = fine->inverse;
  l->segments = fine->segments;
  l->n_segments = fine->n_segments;
  m->has_mass = fine->extra != NULL;
  m->revision = fine->revision;
  if (!is_same) {
    KP_TRY(lay_out_all(m));
  }
  KP_TRY(trim(m, l));
  for (int k = 1; k < m->n_levels; ++k) {
    KP_TRY(coarsen(m, &m->levels[k - 1], &m->levels[k]));
    KP_TRY(trim(m, &m->levels[k]));
  }
  return KP_OK;
}

// ---- the cycle

static kp_result smooth_first(kp_multigrid *m, level *l) {
  multigrid_first_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &multigrid_first_kernel, &a);
  BIND_MATRIX(&call, &a, m, l);
  KP_BIND(&call, &a, b, l->at_b, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, l->at_x, KP_ACCESS_WRITE);
  return runs(m, l, &call);
}

static kp_result relax(kp_multigrid *m, level *l, int colour) {
  multigrid_relax_args a = { .colour = colour };
  kp_call call;
  kp_call_init(&call, &multigrid_relax_kernel, &a);
  BIND_MATRIX(&call, &a, m, l);
  KP_BIND(&call, &a, b, l->at_b, KP_ACCESS_READ);
  KP_BIND(&call, &a, from, l->at_x, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, l->at_x, KP_ACCESS_WRITE);
  return runs(m, l, &call);
}

static void bind_weights(kp_call *call, multigrid_weights *w, const level *l, level *coarse) {
  char *args = call->args;
  for (int c = 0; c < 3; ++c) {
    w->is_joined[c] = (kp_real)(l->ratio[c] - 1);
  }
  kp_call_bind(call, (size_t)((char *)&w->cx - args), coarse->c[0], KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)&w->cy - args), coarse->c[1], KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)&w->cz - args), coarse->c[2], KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)&w->share - args), &coarse->share, KP_ACCESS_READ);
}

// The x of the coarse level is not yet in use and holds the sums.
static kp_result restrict_residual(kp_multigrid *m, level *l, level *coarse) {
  bool is_short = !is_periodic(l) && l->ratio[0] == 2;
  kp_buffer *lower_z = l->grid.slab ? &coarse->lower[2] : NULL;
  multigrid_restrict_args a = { .grid = coarse->grid };
  kp_call call;
  kp_call_init(&call, is_short ? &multigrid_restrict_kernel : &multigrid_restrict_all_kernel, &a);
  BIND_MATRIX(&call, &a, m, l);
  memcpy(a.ratio, l->ratio, sizeof a.ratio);
  KP_BIND(&call, &a, b, is_short ? NULL : l->at_b, KP_ACCESS_READ);
  KP_BIND(&call, &a, own, is_short ? NULL : l->at_own, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, l->at_x, KP_ACCESS_READ);
  KP_BIND(&call, &a, sum, coarse->at_x, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, lower_x, &coarse->lower[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, lower_y, &coarse->lower[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, lower_z, lower_z, KP_ACCESS_WRITE);
  KP_TRY(runs(m, coarse, &call));
  KP_TRY(wrap(m, coarse, POISSON_BORDER_IMAGE, coarse->at_x, -1));
  for (int c = 0; c < 3; ++c) {
    KP_TRY(wrap(m, coarse, POISSON_BORDER_IMAGE, &coarse->lower[c], c));
  }
  multigrid_collect_args g = { .grid = coarse->grid };
  kp_call_init(&call, &multigrid_collect_kernel, &g);
  bind_weights(&call, &g.w, l, coarse);
  KP_BIND(&call, &g, sum, coarse->at_x, KP_ACCESS_READ);
  KP_BIND(&call, &g, lower_x, &coarse->lower[0], KP_ACCESS_READ);
  KP_BIND(&call, &g, lower_y, &coarse->lower[1], KP_ACCESS_READ);
  KP_BIND(&call, &g, lower_z, lower_z, KP_ACCESS_READ);
  KP_BIND(&call, &g, b, coarse->at_b, KP_ACCESS_WRITE);
  return runs(m, coarse, &call);
}

static kp_result prolong(kp_multigrid *m, level *l, level *coarse) {
  KP_TRY(wrap(m, coarse, POISSON_BORDER_IMAGE, coarse->at_x, -1));
  multigrid_prolong_args a = { .grid = coarse->grid, .fine_grid = l->grid };
  kp_call call;
  kp_call_init(&call, &multigrid_prolong_kernel, &a);
  memcpy(a.ratio, l->ratio, sizeof a.ratio);
  bind_weights(&call, &a.w, l, coarse);
  KP_BIND(&call, &a, inverse, l->at_inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, coarse, coarse->at_x, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, l->at_x, KP_ACCESS_WRITE);
  return runs(m, coarse, &call);
}

// Couplings c across periodic sides are left out by the smoothing before and hold still during the
// one after, whatever the colours of the two sides are: transposes of each other, which converge
// with c twice in the diagonal. An item then keeps a share c of what it was, which its ghost adds.
kp_result kp_multigrid_cycle(kp_multigrid *m, kp_buffer *b, kp_buffer *x) {
  m->levels[0].at_b = b;
  m->levels[0].at_x = x;
  for (int k = 0; k < m->n_levels - 1; ++k) {
    level *l = &m->levels[k];
    KP_TRY(smooth_first(m, l));
    KP_TRY(wrap(m, l, POISSON_BORDER_IMAGE, l->at_x, -1));
    KP_TRY(restrict_residual(m, l, &m->levels[k + 1]));
  }
  // one item: exact
  KP_TRY(smooth_first(m, &m->levels[m->n_levels - 1]));
  for (int k = m->n_levels - 2; k >= 0; --k) {
    level *l = &m->levels[k];
    KP_TRY(prolong(m, l, &m->levels[k + 1]));
    KP_TRY(wrap(m, l, POISSON_BORDER_BOTH, l->at_x, -1));
    KP_TRY(relax(m, l, 1));
    KP_TRY(relax(m, l, 0));
  }
  return KP_OK;
}
