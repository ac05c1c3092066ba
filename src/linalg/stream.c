#include "linalg/stream.h"

#include "base/memory.h"
#include "data/registry.h"
#include "linalg/poisson.h"
#include "linalg/stream_kernels.h"
#include "linalg/vector.h"
#include "par/kernel_define.h"

STREAM_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_NO_PAIR)

#define PAD 4  // cells around the box: velocities in its middle read three, the layer around is far
#define ROUND 8  // the number of cells is a multiple, so that grids are seldom made anew

// Each pass corrects the operator by the last answer, so no pass needs more than the next will add.
static const double tolerances[] = { 1e-2, 1e-2, 1e-3, 1e-3 };
#define PASSES (int)(sizeof tolerances / sizeof tolerances[0])

struct kp_stream {
  kp_backend *backend;
  kp_registry *registry;  // of the grid: nothing here is state
  kp_mac *mac;            // cells of edge 1
  kp_poisson *poisson;
  int32_t n[3];
  stream_level levels[STREAM_LEVELS];
  int top;
  kp_buffer charges[3];  // of the box, x fastest
  kp_buffer nodes;
  kp_buffer psi[3];    // with the layer around
  kp_buffer faces[3];  // m/s
  kp_buffer flags, coefficients, right, answer;
  bool has_matrix;
};

// All arrays of the grid: psi, faces, coefficients, right and answer.
#define N_REALS 9
static void reals(kp_stream *s, kp_buffer *out[N_REALS]) {
  for (int c = 0; c < 3; ++c) {
    out[c] = &s->psi[c];
    out[3 + c] = &s->faces[c];
  }
  out[6] = &s->coefficients;
  out[7] = &s->right;
  out[8] = &s->answer;
}

kp_result kp_stream_create(kp_backend *backend, kp_stream **out) {
  kp_stream *s = kp_alloc_zero(sizeof *s, KP_MEMORY_FIELD);
  *out = s;
  if (s == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_buffer *all[N_REALS];
  s->backend = backend;
  reals(s, all);
  for (int k = 0; k < N_REALS; ++k) {
    kp_buffer_init(all[k], backend);
  }
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&s->charges[c], backend);
  }
  kp_buffer_init(&s->nodes, backend);
  kp_buffer_init(&s->flags, backend);
  return KP_OK;
}

static void free_grid(kp_stream *s) {
  kp_buffer *all[N_REALS];
  reals(s, all);
  for (int k = 0; k < N_REALS; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_buffer_free(&s->flags);
  kp_poisson_destroy(&s->poisson);
  kp_mac_destroy(&s->mac);
  kp_registry_destroy(&s->registry);
  s->has_matrix = false;
}

void kp_stream_destroy(kp_stream **stream) {
  kp_stream *s = *stream;
  if (s == NULL) {
    return;
  }
  free_grid(s);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&s->charges[c]);
  }
  kp_buffer_free(&s->nodes);
  kp_free(s);
  *stream = NULL;
}

// ---- sizes

// Blocks of two by two by two until one holds all.
static int64_t set_levels(kp_stream *s) {
  int64_t first = 0;
  s->levels[0] = (stream_level){ .n = { s->n[0], s->n[1], s->n[2] } };
  int l = 0;
  while (l == 0 || s->levels[l].n[0] > 1 || s->levels[l].n[1] > 1 || s->levels[l].n[2] > 1) {
    int64_t count = 1;
    ++l;
    for (int c = 0; c < 3; ++c) {
      s->levels[l].n[c] = (s->levels[l - 1].n[c] + 1) / 2;
      count *= s->levels[l].n[c];
    }
    s->levels[l].first = first;
    first += count;
  }
  s->top = l;
  return first;
}

static kp_result make_grid(kp_stream *s, const int32_t m[3]) {
  kp_mac_def def = { .name = "stream", .cell = 1.0, .dimension = 3 };
  def.box.max = kp_vec3_make(m[0], m[1], m[2]);
  for (int c = 0; c < 3; ++c) {
    def.sides[c][0].kind = def.sides[c][1].kind = KP_MAC_OPEN;
  }
  kp_poisson_def solver = kp_default_poisson_def();
  solver.name = "stream function";
  solver.tolerance = tolerances[0];
  KP_TRY(kp_registry_create(s->backend, &s->registry));
  KP_TRY(kp_mac_create(s->registry, &def, &s->mac));
  KP_TRY(kp_poisson_create(s->mac, &solver, &s->poisson));
  kp_buffer *all[N_REALS];
  reals(s, all);
  for (int k = 0; k < N_REALS; ++k) {
    KP_TRY(kp_mac_scratch(s->mac, KP_TYPE_REAL, all[k]));
  }
  KP_TRY(kp_vector_fill(s->mac->view.count, 1.0, &s->coefficients));
  KP_TRY(kp_mac_scratch(s->mac, KP_TYPE_U8, &s->flags));
  uint8_t *flags = kp_buffer_host(&s->flags, KP_ACCESS_WRITE);
  if (flags == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t k = 0; k < m[2]; ++k) {
    for (int64_t j = 0; j < m[1]; ++j) {
      memset(flags + kp_mac_at(&s->mac->view, 0, j, k), KP_CELL_FLUID, (size_t)m[0]);
    }
  }
  return KP_OK;
}

kp_result kp_stream_fit(kp_stream *s, const int32_t n[3]) {
  int32_t m[3];
  int64_t count = 1;
  bool is_same = s->mac != NULL;
  for (int c = 0; c < 3; ++c) {
    m[c] = (n[c] + 2 * PAD + ROUND - 1) / ROUND * ROUND;
    is_same = is_same && s->mac->view.n[c] == m[c];
    s->n[c] = n[c];
    count *= n[c];
  }
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_vector_resize(&s->charges[c], count));
  }
  KP_TRY(kp_vector_resize(&s->nodes, STREAM_NODE * set_levels(s)));
  if (is_same) {
    return KP_OK;
  }
  free_grid(s);
  return make_grid(s, m);
}

kp_buffer *kp_stream_vorticity(kp_stream *s, int axis) {
  return &s->charges[axis];
}

kp_buffer *kp_stream_function(kp_stream *s, int axis) {
  return &s->psi[axis];
}

kp_buffer *kp_stream_faces(kp_stream *s, int axis) {
  return &s->faces[axis];
}

const kp_mac *kp_stream_grid(const kp_stream *s, int32_t *pad) {
  *pad = PAD;
  return s->mac;
}

double kp_stream_bytes_per_cell(const kp_stream *s) {
  double cells = (double)s->n[0] * s->n[1] * s->n[2];
  double inner = s->mac ? (double)kp_mac_n_all(s->mac) : 0.0;
  double items = s->mac ? (double)s->mac->view.count : 0.0;
  double bytes = s->poisson ? kp_poisson_bytes_per_cell(s->poisson) * inner : 0.0;
  bytes += items * (N_REALS * sizeof(kp_real) + 1.0) + (double)s->nodes.capacity;
  return bytes / cells + 3.0 * sizeof(kp_real);
}

// ---- the field around

static kp_result make_blocks(kp_stream *s) {
  for (int l = 1; l <= s->top; ++l) {
    const int32_t *n = s->levels[l].n;
    stream_join_args a = { .level = s->levels[l],
                           .below = s->levels[l - 1],
                           .is_lowest = l == 1,
                           .shift = 0.25 * (double)(1 << l) };
    kp_call call;
    kp_call_init(&call, &stream_join_kernel, &a);
    KP_BIND(&call, &a, qx, &s->charges[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, qy, &s->charges[1], KP_ACCESS_READ);
    KP_BIND(&call, &a, qz, &s->charges[2], KP_ACCESS_READ);
    KP_BIND(&call, &a, nodes, &s->nodes, l == 1 ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(s->backend, &call, (int64_t)n[0] * n[1] * n[2]));
  }
  return KP_OK;
}

static kp_result sum_rim(kp_stream *s) {
  stream_rim_args a = { .view = s->mac->view, .pad = PAD, .top = s->top };
  memcpy(a.n, s->n, sizeof a.n);
  memcpy(a.levels, s->levels, sizeof a.levels);
  kp_call call;
  kp_call_init(&call, &stream_rim_kernel, &a);
  KP_BIND(&call, &a, nodes, &s->nodes, KP_ACCESS_READ);
  KP_BIND(&call, &a, qx, &s->charges[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, qy, &s->charges[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, qz, &s->charges[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, px, &s->psi[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, py, &s->psi[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, pz, &s->psi[2], KP_ACCESS_WRITE);
  return kp_call_run(s->backend, &call, stream_rim_count(s->mac->view.n));
}

// ---- inside

static kp_result make_right(kp_stream *s, int axis, bool is_corrected) {
  stream_right_args a = { .view = s->mac->view, .pad = PAD, .is_corrected = is_corrected };
  memcpy(a.n, s->n, sizeof a.n);
  kp_call call;
  kp_call_init(&call, &stream_right_kernel, &a);
  KP_BIND(&call, &a, q, &s->charges[axis], KP_ACCESS_READ);
  KP_BIND(&call, &a, p, &s->psi[axis], KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &s->right, KP_ACCESS_WRITE);
  return kp_mac_rows(s->mac, KP_MAC_CELL, &call);
}

static kp_result solve_once(kp_stream *s, double tolerance, kp_poisson_report *report) {
  if (s->has_matrix) {
    return kp_poisson_solve_next(s->poisson, &s->right, &s->answer, tolerance, report);
  }
  kp_poisson_system system = { .flags = &s->flags,
                               .faces = { &s->coefficients, &s->coefficients, &s->coefficients },
                               .right = &s->right,
                               .answer = &s->answer };
  KP_TRY(kp_poisson_solve(s->poisson, &system, report));
  s->has_matrix = true;
  return KP_OK;
}

static kp_result take_answer(kp_stream *s, int axis) {
  stream_take_args a = { .view = s->mac->view };
  kp_call call;
  kp_call_init(&call, &stream_take_kernel, &a);
  KP_BIND(&call, &a, answer, &s->answer, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, kp_poisson_rest(s->poisson), KP_ACCESS_READ);
  KP_BIND(&call, &a, p, &s->psi[axis], KP_ACCESS_WRITE);
  return kp_mac_rows(s->mac, KP_MAC_CELL, &call);
}

static kp_result solve_axis(kp_stream *s, int axis, kp_stream_report *report) {
  kp_poisson_report one;
  // nothing of other axes or steps: a resumed run begins where this one does
  KP_TRY(kp_vector_fill(s->mac->view.count, 0.0, &s->answer));
  for (int pass = 0; pass < PASSES; ++pass) {
    KP_TRY(make_right(s, axis, pass > 0));
    KP_TRY(solve_once(s, tolerances[pass], &one));
    KP_TRY(take_answer(s, axis));
    report->iterations += one.iterations;
    report->is_converged = report->is_converged && one.is_converged;
  }
  report->residual = one.residual > report->residual ? one.residual : report->residual;
  return KP_OK;
}

static kp_result curl(kp_stream *s, int axis, double cell) {
  stream_curl_args a = { .view = s->mac->view, .axis = axis, .scale = 1.0 / cell };
  kp_call call;
  kp_call_init(&call, &stream_curl_kernel, &a);
  for (int c = 0; c < 3; ++c) {
    KP_BIND(&call, &a, p[c], &s->psi[c], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, face, &s->faces[axis], KP_ACCESS_WRITE);
  return kp_mac_rows(s->mac, KP_MAC_CELL, &call);
}

kp_result kp_stream_solve(kp_stream *s, double cell, kp_stream_report *report) {
  *report = (kp_stream_report){ .is_converged = true };
  KP_TRY(make_blocks(s));
  KP_TRY(sum_rim(s));
  for (int axis = 0; axis < 3; ++axis) {
    KP_TRY(solve_axis(s, axis, report));
  }
  for (int axis = 0; axis < 3; ++axis) {
    KP_TRY(curl(s, axis, cell));
  }
  return KP_OK;
}

kp_result kp_stream_center(kp_stream *s, kp_buffer *out[3]) {
  stream_center_args a = { .view = s->mac->view, .pad = PAD };
  memcpy(a.n, s->n, sizeof a.n);
  kp_call call;
  kp_call_init(&call, &stream_center_kernel, &a);
  for (int c = 0; c < 3; ++c) {
    KP_BIND(&call, &a, face[c], &s->faces[c], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, x, out[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, y, out[1], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, z, out[2], KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, (int64_t)s->n[0] * s->n[1] * s->n[2]);
}
