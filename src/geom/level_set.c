#include "geom/level_set.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "geom/level_set_kernels.h"
#include "par/kernel_define.h"
#include "par/parallel.h"

LEVEL_SET_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define MAX_SWEEPS 64     // sets of 2^d orders; two or three do
#define SHAPE_CHUNK 4096  // cells per task
#define LOOSE_PASSES 6    // beyond what straight paths need: where ways meet, values settle

// ---- life

kp_result kp_level_set_init(kp_level_set *set, kp_mac *mac) {
  memset(set, 0, sizeof *set);
  set->mac = mac;
  kp_buffer_init(&set->changes, mac->backend);
  KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, &set->distance[0]));
  KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, &set->distance[1]));
  KP_TRY(kp_mac_scratch(mac, KP_TYPE_U8, &set->fixed));
  KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, &set->known[0]));
  return kp_mac_scratch(mac, KP_TYPE_REAL, &set->known[1]);
}

void kp_level_set_free(kp_level_set *set) {
  if (set->mac == NULL) {
    return;
  }
  kp_buffer *all[] = { &set->distance[0], &set->distance[1], &set->fixed,
                       &set->known[0],    &set->known[1],    &set->changes };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_array_free(&set->heap);
  kp_array_free(&set->places);
  set->mac = NULL;
}

// ---- making

typedef struct shape_job {
  const kp_mac_view *grid;
  const kp_shape *shape;
  kp_real *phi;
} shape_job;

static void measure_shape(int64_t begin, int64_t end, void *context) {
  const shape_job *job = context;
  const kp_mac_view *g = job->grid;
  for (int64_t t = begin; t < end; ++t) {
    int64_t i = t % g->n[0];
    int64_t j = t / g->n[0] % g->n[1];
    int64_t k = t / g->n[0] / g->n[1];
    kp_vec3 p =
        kp_vec3_make(g->lo[0] + ((double)i + 0.5) * g->cell, g->lo[1] + ((double)j + 0.5) * g->cell,
                     g->lo[2] + ((double)k + 0.5) * g->cell);
    job->phi[kp_mac_at(g, i, j, k)] = (kp_real)kp_shape_distance(job->shape, p);
  }
}

kp_result kp_level_set_shape(kp_level_set *set, const kp_shape *shape, kp_buffer *phi) {
  shape_job job = { .grid = &set->mac->view, .shape = shape };
  KP_TRY(kp_buffer_get(phi, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&job.phi));
  kp_parallel_for(kp_mac_n_all(set->mac), SHAPE_CHUNK, measure_shape, &job);
  return kp_mac_fill_cells(set->mac, phi, KP_MAC_DISTANCE);
}

kp_result kp_level_set_unite(kp_level_set *set, kp_buffer *phi, kp_buffer *other) {
  level_set_unite_args a = { .grid = set->mac->view };
  kp_call call;
  kp_call_init(&call, &level_set_unite_kernel, &a);
  KP_BIND(&call, &a, other, other, KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(set->mac, KP_MAC_CELL, &call));
  return kp_mac_fill_cells(set->mac, phi, KP_MAC_DISTANCE);
}

// ---- distances

// What lies outside the window is not to be read as a way to the surface: the arrays serve others
// too.
static kp_result clear_outside(kp_level_set *set) {
  if (kp_mac_n_cells(set->mac) == kp_mac_n_all(set->mac)) {
    return KP_OK;
  }
  level_set_clear_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &level_set_clear_kernel, &a);
  KP_BIND(&call, &a, distance, &set->distance[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, other, &set->distance[1], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, known, &set->known[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, known_other, &set->known[1], KP_ACCESS_OVERWRITE);
  return kp_call_run(set->mac->backend, &call, set->mac->view.count);
}

// First values beside the zero set; both arrays far beyond it, ghosts too.
static kp_result begin(kp_level_set *set, kp_buffer *phi) {
  KP_TRY(clear_outside(set));
  KP_TRY(kp_mac_fill_cells(set->mac, phi, KP_MAC_DISTANCE));
  level_set_begin_args a = { .grid = set->mac->view,
                             .crossings = set->start == KP_LEVEL_SET_CROSSINGS };
  kp_call call;
  kp_call_init(&call, &level_set_begin_kernel, &a);
  KP_BIND(&call, &a, phi, phi, KP_ACCESS_READ);
  KP_BIND(&call, &a, distance, &set->distance[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, other, &set->distance[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fixed, &set->fixed, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(set->mac, KP_MAC_CELL, &call));
  // a wall's ghosts repeat the cell beside it, which is never its neighbour's way to the surface
  KP_TRY(kp_mac_fill_cells(set->mac, &set->distance[0], NAN));
  return kp_mac_fill_cells(set->mac, &set->distance[1], NAN);
}

static kp_result finish(kp_level_set *set, kp_buffer *phi, double band) {
  level_set_finish_args a = { .grid = set->mac->view, .band = (kp_real)band };
  kp_call call;
  kp_call_init(&call, &level_set_finish_kernel, &a);
  KP_BIND(&call, &a, distance, &set->distance[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(set->mac, KP_MAC_CELL, &call));
  return kp_mac_fill_cells(set->mac, phi, KP_MAC_DISTANCE);
}

static kp_result relax(kp_level_set *set, int from, double band) {
  level_set_relax_args a = { .grid = set->mac->view, .band = (kp_real)band };
  kp_call call;
  kp_call_init(&call, &level_set_relax_kernel, &a);
  KP_BIND(&call, &a, fixed, &set->fixed, KP_ACCESS_READ);
  KP_BIND(&call, &a, in, &set->distance[from], KP_ACCESS_READ);
  KP_BIND(&call, &a, out, &set->distance[1 - from], KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(set->mac, KP_MAC_CELL, &call));
  return kp_mac_fill_periodic(set->mac, &set->distance[1 - from]);
}

kp_result kp_level_set_band(kp_level_set *set, kp_buffer *phi, double band) {
  KP_TRY(begin(set, phi));
  // a straight way of `band` cells takes sqrt(d) band steps along the axes; an even number ends in
  // the array it began with
  int n = (int)ceil(band * sqrt((double)set->mac->view.dimension)) + LOOSE_PASSES;
  n += n % 2;
  for (int pass = 0; pass < n; ++pass) {
    KP_TRY(relax(set, pass % 2, band));
  }
  return finish(set, phi, band);
}

// One order of the axes: diagonal by diagonal.
static kp_result sweep_once(kp_level_set *set, int order) {
  const kp_mac *mac = set->mac;
  level_set_sweep_args a = { .grid = mac->view };
  for (int c = 0; c < 3; ++c) {
    a.lo[c] = mac->window_lo[c];
    a.hi[c] = mac->window_hi[c];
    a.turn[c] = order >> c & 1;
  }
  int32_t n_y = a.hi[1] - a.lo[1];
  int32_t n_z = a.hi[2] - a.lo[2];
  for (int32_t s = 0; s < n_y + n_z - 1; ++s) {
    int32_t first = s - (n_z - 1) > 0 ? s - (n_z - 1) : 0;
    int32_t last = s < n_y - 1 ? s : n_y - 1;
    a.diagonal = s;
    a.first = first;
    kp_call call;
    kp_call_init(&call, &level_set_sweep_kernel, &a);
    KP_BIND(&call, &a, fixed, &set->fixed, KP_ACCESS_READ);
    KP_BIND(&call, &a, distance, &set->distance[0], KP_ACCESS_WRITE);
    KP_BIND(&call, &a, changes, &set->changes, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(mac->backend, &call, last - first + 1));
  }
  return kp_mac_fill_periodic(set->mac, &set->distance[0]);
}

static kp_result count_changes(kp_level_set *set, int64_t n_rows, double *count) {
  level_set_changes_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &level_set_changes_kernel, &a);
  KP_BIND(&call, &a, changes, &set->changes, KP_ACCESS_READ);
  return kp_call_reduce(set->mac->backend, &call, n_rows, count);
}

kp_result kp_level_set_sweep(kp_level_set *set, kp_buffer *phi) {
  const kp_mac *mac = set->mac;
  int64_t n_rows =
      (int64_t)(mac->window_hi[1] - mac->window_lo[1]) * (mac->window_hi[2] - mac->window_lo[2]);
  set->changes.type = KP_TYPE_U32;
  KP_TRY(kp_buffer_resize(&set->changes, (size_t)n_rows * sizeof(uint32_t)));
  KP_TRY(begin(set, phi));
  int n_orders = mac->view.dimension == 2 ? 4 : 8;
  // orders in which one axis turns at a time: each has most of its work prepared by the last
  static const int gray[8] = { 0, 1, 3, 2, 6, 7, 5, 4 };
  int quiet = 0;
  for (int sweep = 0; sweep < MAX_SWEEPS * n_orders && quiet < n_orders; ++sweep) {
    double count;
    KP_TRY(sweep_once(set, gray[sweep % n_orders]));
    KP_TRY(count_changes(set, n_rows, &count));
    quiet = count > 0.0 ? 0 : quiet + 1;
  }
  return finish(set, phi, LEVEL_SET_FAR);
}

// ---- marching: host

typedef struct march {
  kp_level_set *set;
  const kp_mac_view *g;
  kp_real *distance;
  const uint8_t *fixed;
  int32_t *places;  // in the heap; -1 not in it, -2 accepted
} march;

static void heap_put(march *m, size_t place, int64_t item) {
  m->set->heap.data[place] = item;
  m->places[item] = (int32_t)place;
}

static void heap_up(march *m, size_t place) {
  int64_t item = m->set->heap.data[place];
  while (place > 0) {
    size_t parent = (place - 1) / 2;
    int64_t other = m->set->heap.data[parent];
    if (!(m->distance[item] < m->distance[other])) {
      break;
    }
    heap_put(m, place, other);
    place = parent;
  }
  heap_put(m, place, item);
}

static int64_t heap_pop(march *m) {
  int64_t *data = m->set->heap.data;
  int64_t top = data[0];
  size_t n = --m->set->heap.count;
  int64_t item = data[n];
  size_t place = 0;
  while (2 * place + 1 < n) {
    size_t child = 2 * place + 1;
    child += child + 1 < n && m->distance[data[child + 1]] < m->distance[data[child]] ? 1 : 0;
    if (!(m->distance[data[child]] < m->distance[item])) {
      break;
    }
    heap_put(m, place, data[child]);
    place = child;
  }
  if (n > 0) {
    heap_put(m, place, item);
  }
  m->places[top] = -2;
  return top;
}

// The neighbour across a face, around a periodic axis; -1 outside the window.
static int64_t neighbour(const march *m, int64_t item, int axis, int side) {
  int64_t cell[3];
  const kp_mac *mac = m->set->mac;
  if (!level_set_cell(m->g, item, cell)) {
    return -1;
  }
  cell[axis] += side;
  if (m->g->is_periodic[axis]) {
    cell[axis] = (cell[axis] + m->g->n[axis]) % m->g->n[axis];
  }
  bool is_in = cell[axis] >= mac->window_lo[axis] && cell[axis] < mac->window_hi[axis];
  return is_in ? kp_mac_at(m->g, cell[0], cell[1], cell[2]) : -1;
}

static kp_real accepted(const march *m, int64_t item) {
  return item >= 0 && m->places[item] == -2 ? m->distance[item] : (kp_real)LEVEL_SET_FAR;
}

static kp_result reach(march *m, int64_t item) {
  kp_real best[3] = { LEVEL_SET_FAR, LEVEL_SET_FAR, LEVEL_SET_FAR };
  for (int c = 0; c < m->g->dimension; ++c) {
    best[c] = level_set_min(accepted(m, neighbour(m, item, c, -1)),
                            accepted(m, neighbour(m, item, c, 1)));
  }
  kp_real value = level_set_solve(best[0], best[1], best[2]);
  if (!(value < m->distance[item])) {
    return KP_OK;
  }
  m->distance[item] = value;
  if (m->places[item] < 0) {
    KP_TRY(kp_array_push(&m->set->heap, item));
    m->places[item] = (int32_t)(m->set->heap.count - 1);
  }
  heap_up(m, (size_t)m->places[item]);
  return KP_OK;
}

static kp_result march_from(march *m, int64_t item) {
  for (int c = 0; c < m->g->dimension; ++c) {
    for (int side = -1; side <= 1; side += 2) {
      int64_t other = neighbour(m, item, c, side);
      if (other >= 0 && m->places[other] != -2) {
        KP_TRY(reach(m, other));
      }
    }
  }
  return KP_OK;
}

// fn for every cell of the window.
static kp_result march_cells(march *m, kp_result (*fn)(march *, int64_t)) {
  const kp_mac *mac = m->set->mac;
  for (int32_t k = mac->window_lo[2]; k < mac->window_hi[2]; ++k) {
    for (int32_t j = mac->window_lo[1]; j < mac->window_hi[1]; ++j) {
      for (int32_t i = mac->window_lo[0]; i < mac->window_hi[0]; ++i) {
        KP_TRY(fn(m, kp_mac_at(m->g, i, j, k)));
      }
    }
  }
  return KP_OK;
}

static kp_result mark_fixed(march *m, int64_t item) {
  m->places[item] = m->fixed[item] ? -2 : -1;
  return KP_OK;
}

static kp_result start_fixed(march *m, int64_t item) {
  return m->fixed[item] ? march_from(m, item) : KP_OK;
}

kp_result kp_level_set_march(kp_level_set *set, kp_buffer *phi, double band) {
  KP_TRY(begin(set, phi));
  KP_TRY(kp_array_resize(&set->places, (size_t)set->mac->view.count));
  set->heap.count = 0;
  march m = { .set = set, .g = &set->mac->view, .places = set->places.data };
  KP_TRY(kp_buffer_get(&set->distance[0], KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&m.distance));
  KP_TRY(kp_buffer_get(&set->fixed, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&m.fixed));
  KP_TRY(march_cells(&m, mark_fixed));
  KP_TRY(march_cells(&m, start_fixed));
  while (set->heap.count > 0) {
    int64_t item = heap_pop(&m);
    if (m.distance[item] >= (kp_real)band) {
      break;
    }
    KP_TRY(march_from(&m, item));
  }
  return finish(set, phi, band);
}

// ---- measures

kp_result kp_level_set_measure(kp_level_set *set, kp_buffer *phi, kp_buffer *flags,
                               kp_level_set_sums *out) {
  const kp_mac_view *g = &set->mac->view;
  level_set_measure_args a = { .grid = *g };
  kp_call call;
  kp_call_init(&call, &level_set_measure_kernel, &a);
  KP_BIND(&call, &a, flags, flags, KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi, KP_ACCESS_READ);
  double v[5];
  KP_TRY(KP_MAC_REDUCE(set->mac, &call, &a, v));
  // a layer of 2D is 1 m thick
  double face = g->dimension == 2 ? g->cell : g->cell * g->cell;
  double size = face * g->cell;
  double weight = v[0] > 0.0 ? v[0] : 1.0;
  *out = (kp_level_set_sums){ .volume = v[0] * size, .area = v[1] * face };
  out->center = kp_vec3_make(g->lo[0] + (v[2] / weight + 0.5) * g->cell,
                             g->lo[1] + (v[3] / weight + 0.5) * g->cell,
                             g->lo[2] + (v[4] / weight + 0.5) * g->cell);
  return KP_OK;
}

kp_result kp_level_set_curvature(kp_level_set *set, kp_buffer *phi, kp_buffer *curvature) {
  level_set_curvature_args a = { .grid = set->mac->view };
  kp_call call;
  kp_call_init(&call, &level_set_curvature_kernel, &a);
  KP_BIND(&call, &a, phi, phi, KP_ACCESS_READ);
  KP_BIND(&call, &a, curvature, curvature, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(set->mac, KP_MAC_CELL, &call));
  return kp_mac_fill_cells(set->mac, curvature, NAN);
}

// ---- velocity outwards

static kp_result mark_known(kp_level_set *set, int axis, kp_buffer *flags) {
  // what another axis left in the last faces and in the ghosts is not known here
  for (int b = 0; b < 2; ++b) {
    void *memory;
    KP_TRY(kp_buffer_get(&set->known[b], KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
    KP_TRY(kp_fill(set->mac->backend, memory, 0, set->known[b].used));
  }
  level_set_known_args a = { .grid = set->mac->view, .axis = axis };
  kp_call call;
  kp_call_init(&call, &level_set_known_kernel, &a);
  KP_BIND(&call, &a, flags, flags, KP_ACCESS_READ);
  KP_BIND(&call, &a, known, &set->known[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, other, &set->known[1], KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(set->mac, (kp_mac_kind)axis, &call));
  return kp_mac_fill_periodic(set->mac, &set->known[0]);
}

kp_result kp_level_set_extend(kp_level_set *set, kp_buffer *phi, kp_field *velocity,
                              kp_buffer *flags, double reach) {
  const kp_mac_view *g = &set->mac->view;
  int n = (int)ceil(reach * sqrt((double)g->dimension)) + LOOSE_PASSES;
  n += n % 2;
  for (int axis = 0; axis < g->dimension; ++axis) {
    kp_buffer *values[2] = { &velocity->buffers[axis], &set->distance[0] };
    KP_TRY(mark_known(set, axis, flags));
    KP_TRY(kp_buffer_copy(values[1], values[0]));
    for (int pass = 0; pass < n; ++pass) {
      int from = pass % 2;
      level_set_extend_args a = { .grid = *g, .axis = axis, .reach = (kp_real)(reach * g->cell) };
      kp_call call;
      kp_call_init(&call, &level_set_extend_kernel, &a);
      KP_BIND(&call, &a, phi, phi, KP_ACCESS_READ);
      KP_BIND(&call, &a, known, &set->known[from], KP_ACCESS_READ);
      KP_BIND(&call, &a, in, values[from], KP_ACCESS_READ);
      KP_BIND(&call, &a, known_out, &set->known[1 - from], KP_ACCESS_WRITE);
      KP_BIND(&call, &a, out, values[1 - from], KP_ACCESS_WRITE);
      KP_TRY(kp_mac_rows(set->mac, (kp_mac_kind)axis, &call));
      KP_TRY(kp_mac_fill_periodic(set->mac, &set->known[1 - from]));
      KP_TRY(kp_mac_fill_periodic(set->mac, values[1 - from]));
    }
  }
  return KP_OK;
}
