#include "methods/common/advect.h"

#include <math.h>
#include <string.h>

#include "data/mac_kernels.h"
#include "methods/common/advect_kernels.h"
#include "par/kernel_define.h"

MAC_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)
ADVECT_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// Farther than any trace of a periodic axis leads.
#define FAR 1e9

kp_advect_def kp_default_advect_def(void) {
  return (kp_advect_def){
    .scheme = KP_ADVECT_MACCORMACK,
    .limiter = KP_ADVECT_REVERT,
    .trace = KP_ADVECT_EULER,
    .interpolation = KP_ADVECT_LINEAR,
  };
}

kp_result kp_advect_init(kp_advect *advect, kp_mac *mac) {
  memset(advect, 0, sizeof *advect);
  advect->mac = mac;
  return KP_OK;
}

void kp_advect_free(kp_advect *advect) {
  kp_field *fields[] = { &advect->first, &advect->second, &advect->answer };
  for (int f = 0; f < 3; ++f) {
    for (int c = 0; c < KP_FIELD_COMPONENTS; ++c) {
      if (fields[f]->buffers[c].backend != NULL) {
        kp_buffer_free(&fields[f]->buffers[c]);
      }
    }
  }
  memset(advect, 0, sizeof *advect);
}

static kp_result need_scratch(kp_advect *advect, kp_field *field, int n) {
  for (int c = 0; c < n; ++c) {
    if (field->buffers[c].backend == NULL) {
      KP_TRY(kp_mac_scratch(advect->mac, KP_TYPE_REAL, &field->buffers[c]));
    }
  }
  return KP_OK;
}

// ---- sweeps

// One call's work: arrays 0..n-1 at the places of a kind.
typedef struct advect_job {
  kp_advect *advect;
  const kp_advect_def *def;
  kp_field *velocity;
  kp_buffer *flags;
  double dt;
  kp_mac_kind kind;
  int n;
  kp_buffer *p[ADVECT_FIELDS];
  kp_buffer *h1[ADVECT_FIELDS], *q[ADVECT_FIELDS], *out[ADVECT_FIELDS];
} advect_job;

static advect_read reader_of(const kp_advect_def *def) {
  bool is_upwind = def->scheme == KP_ADVECT_UPWIND || def->scheme == KP_ADVECT_BFECC_UPWIND ||
                   def->scheme == KP_ADVECT_MACCORMACK_UPWIND;
  bool is_cubic = def->interpolation == KP_ADVECT_CUBIC;
  return is_upwind ? ADVECT_UPWIND : (is_cubic ? ADVECT_CUBIC : ADVECT_LINEAR);
}

static const kp_kernel *kernel_of(advect_sweep sweep, advect_read how) {
  static const kp_kernel *const kernels[][3] = {
    { &advect_first_kernel, &advect_first_cubic_kernel, &advect_first_upwind_kernel },
    { &advect_maccormack_kernel, &advect_maccormack_cubic_kernel,
      &advect_maccormack_upwind_kernel },
    { &advect_error_kernel, &advect_error_cubic_kernel, &advect_error_upwind_kernel },
    { &advect_bfecc_kernel, &advect_bfecc_cubic_kernel, &advect_bfecc_upwind_kernel },
  };
  return kernels[sweep][how];
}

// Between these coordinates every sweep reads what the one before it has written. At the sides of
// the domain that is as far as places go, since ghosts are filled; at those of a window it ends
// with the last item all of whose neighbours were swept.
static void set_ends(const kp_mac *mac, kp_mac_kind kind, advect_read how, advect_args *a) {
  const kp_mac_view *g = &mac->view;
  double reach = how == ADVECT_CUBIC ? 1.0 : 0.0;
  for (int c = 0; c < 3; ++c) {
    kp_mac_limits l = kp_mac_limits_of(g, (int)kind, c);
    bool is_endless = g->is_periodic[c] || (c == 2 && g->dimension == 2);
    double lo = mac->window_lo[c] == 0 ? (double)l.lo : mac->window_lo[c] + reach;
    double hi = mac->window_hi[c] == g->n[c] ? (double)l.hi : mac->window_hi[c] - 1.0 - reach;
    a->lo[c] = (kp_real)(is_endless ? -FAR : lo);
    a->hi[c] = (kp_real)(is_endless ? FAR : hi);
  }
}

static kp_result run_sweep(advect_job *job, advect_sweep sweep, kp_buffer **out) {
  kp_mac *mac = job->advect->mac;
  advect_read how = reader_of(job->def);
  advect_args a = {
    .grid = mac->view,
    .kind = (int32_t)job->kind,
    .trace = how == ADVECT_UPWIND ? KP_ADVECT_EULER : job->def->trace,
    .limiter = job->def->limiter,
    .n_fields = job->n,
    .shift = (kp_real)(job->dt / mac->view.cell),
  };
  set_ends(mac, job->kind, how, &a);
  kp_call call;
  kp_call_init(&call, kernel_of(sweep, how), &a);
  KP_BIND(&call, &a, flags, job->flags, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &job->velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &job->velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &job->velocity->buffers[2], KP_ACCESS_READ);
  for (int f = 0; f < job->n; ++f) {
    bool is_first = sweep == ADVECT_SWEEP_FIRST;
    KP_BIND(&call, &a, p[f], job->p[f], KP_ACCESS_READ);
    KP_BIND(&call, &a, h1[f], is_first ? NULL : job->h1[f], KP_ACCESS_READ);
    KP_BIND(&call, &a, q[f], sweep == ADVECT_SWEEP_BFECC ? job->q[f] : NULL, KP_ACCESS_READ);
    KP_BIND(&call, &a, out[f], out[f], KP_ACCESS_WRITE);
  }
  return kp_mac_rows(mac, job->kind, &call);
}

static bool has_window(const kp_mac *mac) {
  return kp_mac_n_cells(mac) != kp_mac_n_all(mac);
}

// Sweeps write inside the window, and the next one reads a little beyond it: there nothing changes.
static kp_result begin_as(const kp_mac *mac, kp_buffer *between, kp_buffer *values) {
  return has_window(mac) ? kp_buffer_copy(between, values) : KP_OK;
}

// Answers take the place of what they are made of. Outside a window nothing may change, so there
// they are copied.
static kp_result take_answers(advect_job *job) {
  kp_mac *mac = job->advect->mac;
  bool is_whole = !has_window(mac);
  for (int f = 0; f < job->n; ++f) {
    if (is_whole) {
      kp_buffer_swap_device(job->p[f], job->out[f]);
      continue;
    }
    advect_copy_args a = { .grid = mac->view };
    kp_call call;
    kp_call_init(&call, &advect_copy_kernel, &a);
    KP_BIND(&call, &a, from, job->out[f], KP_ACCESS_READ);
    KP_BIND(&call, &a, to, job->p[f], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(mac, job->kind, &call));
  }
  return KP_OK;
}

static bool is_bfecc(const kp_advect_def *def) {
  return def->scheme == KP_ADVECT_BFECC || def->scheme == KP_ADVECT_BFECC_UPWIND;
}

static bool is_first_order(const kp_advect_def *def) {
  return def->scheme == KP_ADVECT_UPWIND || def->scheme == KP_ADVECT_SEMI_LAGRANGIAN;
}

// ---- ghosts

// Ghosts of an array that is not a velocity: the nearest value, or the image.
static kp_result fill_staggered(kp_mac *mac, kp_mac_kind kind, kp_buffer *values) {
  const kp_mac_view *g = &mac->view;
  for (int axis = 0; axis < g->dimension; ++axis) {
    mac_fill_faces_args a = { .grid = *g,
                              .axis = axis,
                              .is_normal = (int)kind == axis || kind == KP_MAC_NODE,
                              .rule = { MAC_FACE_COPY, MAC_FACE_COPY } };
    int64_t n_lines = g->count / (g->n[axis] + 2 * KP_MAC_GHOSTS);
    kp_call call;
    kp_call_init(&call, &mac_fill_faces_kernel, &a);
    KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(mac->backend, &call, n_lines));
  }
  return KP_OK;
}

static kp_result fill_ghosts(kp_mac *mac, kp_mac_kind kind, kp_buffer *values, double outside) {
  return kind == KP_MAC_CELL ? kp_mac_fill_cells(mac, values, outside)
                             : fill_staggered(mac, kind, values);
}

// ---- values

static kp_result fill_all(advect_job *job, kp_buffer **arrays, const kp_advect_item *items) {
  for (int f = 0; f < job->n; ++f) {
    KP_TRY(fill_ghosts(job->advect->mac, job->kind, arrays[f], items[f].outside));
  }
  return KP_OK;
}

static kp_result advect_items(advect_job *job, const kp_advect_item *items) {
  const kp_advect_def *def = job->def;
  KP_TRY(fill_all(job, job->p, items));
  for (int f = 0; f < job->n && !is_first_order(def); ++f) {
    KP_TRY(begin_as(job->advect->mac, job->h1[f], job->p[f]));
    KP_TRY(is_bfecc(def) ? begin_as(job->advect->mac, job->q[f], job->p[f]) : KP_OK);
  }
  if (is_first_order(def)) {
    KP_TRY(run_sweep(job, ADVECT_SWEEP_FIRST, job->out));
  } else {
    KP_TRY(run_sweep(job, ADVECT_SWEEP_FIRST, job->h1));
    KP_TRY(fill_all(job, job->h1, items));
    if (is_bfecc(def)) {
      KP_TRY(run_sweep(job, ADVECT_SWEEP_ERROR, job->q));
      KP_TRY(fill_all(job, job->q, items));
      KP_TRY(run_sweep(job, ADVECT_SWEEP_BFECC, job->out));
    } else {
      KP_TRY(run_sweep(job, ADVECT_SWEEP_MACCORMACK, job->out));
    }
  }
  KP_TRY(take_answers(job));
  return fill_all(job, job->p, items);
}

static kp_result need_all(kp_advect *advect, const kp_advect_def *def, int n) {
  KP_TRY(need_scratch(advect, &advect->answer, n));
  KP_TRY(need_scratch(advect, &advect->first, is_first_order(def) ? 0 : n));
  return need_scratch(advect, &advect->second, is_bfecc(def) ? n : 0);
}

kp_result kp_advect_items(kp_advect *advect, const kp_advect_def *def, kp_mac_kind kind,
                          const kp_advect_item *items, int n_items, kp_field *velocity,
                          kp_buffer *flags, double dt) {
  for (int done = 0; done < n_items; done += ADVECT_FIELDS) {
    int n = n_items - done < ADVECT_FIELDS ? n_items - done : ADVECT_FIELDS;
    KP_TRY(need_all(advect, def, n));
    advect_job job = { .advect = advect,
                       .def = def,
                       .velocity = velocity,
                       .flags = flags,
                       .dt = dt,
                       .kind = kind,
                       .n = n };
    for (int f = 0; f < n; ++f) {
      job.p[f] = items[done + f].values;
      job.h1[f] = &advect->first.buffers[f];
      job.q[f] = &advect->second.buffers[f];
      job.out[f] = &advect->answer.buffers[f];
    }
    KP_TRY(advect_items(&job, items + done));
  }
  return KP_OK;
}

kp_result kp_advect_values(kp_advect *advect, const kp_advect_def *def, kp_mac_kind kind,
                           kp_buffer *values, kp_field *velocity, kp_buffer *flags, double outside,
                           double dt) {
  const kp_advect_item item = { values, outside };
  return kp_advect_items(advect, def, kind, &item, 1, velocity, flags, dt);
}

// ---- velocity

// A sweep of every component on its own faces.
static kp_result sweep_components(kp_advect *advect, advect_job *job, advect_sweep sweep,
                                  kp_field *out) {
  for (int c = 0; c < advect->mac->view.dimension; ++c) {
    kp_buffer *to = &out->buffers[c];
    job->kind = (kp_mac_kind)c;
    job->n = 1;
    job->p[0] = &job->velocity->buffers[c];
    job->h1[0] = &advect->first.buffers[c];
    job->q[0] = &advect->second.buffers[c];
    KP_TRY(run_sweep(job, sweep, &to));
  }
  return KP_OK;
}

kp_result kp_advect_velocity(kp_advect *advect, const kp_advect_def *def, kp_field *velocity,
                             kp_buffer *flags, double dt) {
  kp_mac *mac = advect->mac;
  advect_job job = { .advect = advect, .def = def, .velocity = velocity, .flags = flags, .dt = dt };
  KP_TRY(need_all(advect, def, mac->view.dimension));
  KP_TRY(kp_mac_fill_velocity(mac, velocity));
  for (int c = 0; c < mac->view.dimension && !is_first_order(def); ++c) {
    kp_buffer *v = &velocity->buffers[c];
    KP_TRY(begin_as(mac, &advect->first.buffers[c], v));
    KP_TRY(is_bfecc(def) ? begin_as(mac, &advect->second.buffers[c], v) : KP_OK);
  }
  if (is_first_order(def)) {
    KP_TRY(sweep_components(advect, &job, ADVECT_SWEEP_FIRST, &advect->answer));
  } else {
    KP_TRY(sweep_components(advect, &job, ADVECT_SWEEP_FIRST, &advect->first));
    KP_TRY(kp_mac_fill_velocity(mac, &advect->first));
    if (is_bfecc(def)) {
      KP_TRY(sweep_components(advect, &job, ADVECT_SWEEP_ERROR, &advect->second));
      KP_TRY(kp_mac_fill_velocity(mac, &advect->second));
      KP_TRY(sweep_components(advect, &job, ADVECT_SWEEP_BFECC, &advect->answer));
    } else {
      KP_TRY(sweep_components(advect, &job, ADVECT_SWEEP_MACCORMACK, &advect->answer));
    }
  }
  for (int c = 0; c < mac->view.dimension; ++c) {
    job.kind = (kp_mac_kind)c;
    job.n = 1;
    job.p[0] = &velocity->buffers[c];
    job.out[0] = &advect->answer.buffers[c];
    KP_TRY(take_answers(&job));
  }
  return kp_mac_fill_velocity(mac, velocity);
}
