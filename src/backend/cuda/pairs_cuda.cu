// The host side of the pair driver: places, halos and lists that outlive a pass are kept with the
// cells and made again when the cells or the positions have changed. See data/pair_cuda.cuh.
#include "backend/cuda/pairs_cuda.h"

extern "C" {
#include "data/pairs.h"
}

#include "data/pair_cuda.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int SMALLEST_CELL_BITS = 6;  // cells are numbered modulo 64
constexpr int LONGEST_LIST = 250;      // counts are bytes

unsigned blocks_of(int64_t n) {
  return (unsigned)((n + THREADS - 1) / THREADS);
}

__global__ void __launch_bounds__(THREADS) place_elements(const __grid_constant__ kp_cuda_search w,
                                                          uint32_t *tests, kp_cuda_place *places) {
  int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (s >= w.j.n) {
    return;
  }
  int64_t e = w.j.order != nullptr ? (int64_t)w.j.order[s] : s;
  double x = w.j.x[e];
  double y = w.j.y[e];
  double z = w.flat ? 0.0 : w.j.z[e];
  kp_cuda_place p = { kp_cuda_fix(w, x, kp_cells_coordinate(x, w.j.inverse_edge)),
                      kp_cuda_fix(w, y, kp_cells_coordinate(y, w.j.inverse_edge)),
                      kp_cuda_fix(w, z, kp_cells_coordinate(z, w.j.inverse_edge)), 0 };
  places[s] = p;
  tests[s] =
      kp_cuda_coarse(w, x * w.j.inverse_edge, y * w.j.inverse_edge, z * w.j.inverse_edge, 0.0);
}

// 1 for the cells that have an element within reach, as cells go.
__global__ void __launch_bounds__(THREADS)
    mark_halo(const __grid_constant__ kp_cells_view v, int32_t reach, int32_t flat, uint8_t *halo) {
  uint32_t c = blockIdx.x * (uint32_t)THREADS + threadIdx.x;
  uint32_t nx = (uint32_t)v.dims[0];
  uint32_t ny = (uint32_t)v.dims[1];
  if ((int64_t)c >= (int64_t)nx * ny * v.dims[2]) {
    return;
  }
  int32_t x = v.lo[0] + (int32_t)(c % nx);
  int32_t y = v.lo[1] + (int32_t)(c / nx % ny);
  int32_t z = v.lo[2] + (int32_t)(c / nx / ny);
  int32_t reach_z = flat ? 0 : reach;
  bool is_near = false;
  for (int32_t dz = -reach_z; dz <= reach_z && !is_near; ++dz) {
    for (int32_t dy = -reach; dy <= reach && !is_near; ++dy) {
      uint32_t begin, end;
      kp_cells_range(&v, x - reach, x + reach, y + dy, z + dz, &begin, &end);
      is_near = begin < end;
    }
  }
  halo[c] = is_near ? 1 : 0;
}

// Slots of the i side whose cell has a mark. Their order does not matter: each is worked alone.
__global__ void __launch_bounds__(THREADS)
    find_near(const __grid_constant__ kp_cuda_search w, uint32_t *near) {
  int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  bool is_near = false;
  if (s < w.i.n) {
    kp_cuda_own own;
    kp_cuda_find(w, w.i.order != nullptr ? (int64_t)w.i.order[s] : s, &own);
    is_near = !kp_cuda_is_alone(w, own);
  }
  uint32_t lanes = __ballot_sync(0xffffffffu, is_near);
  if (lanes == 0) {
    return;
  }
  uint32_t lane = threadIdx.x % 32u;
  uint32_t first = 0;
  if (lane == 0) {
    first = atomicAdd(near, (uint32_t)__popc((int)lanes));
  }
  first = __shfl_sync(0xffffffffu, first, 0);
  if (is_near) {
    near[1 + first + (uint32_t)__popc((int)(lanes & ((1u << lane) - 1u)))] = (uint32_t)s;
  }
}

uint64_t writes_of(const kp_cells *cells) {
  const kp_buffer *x = cells->set->position->buffers;
  return x[0].writes + x[1].writes + x[2].writes;
}

void shape_search(const kp_pair_job *job, kp_cuda_search *w) {
  *w = {};
  w->i = job->i;
  w->j = job->j;
  w->flat = job->dimension == 2;
  w->is_same = job->i_cells == job->j_cells;
  double ratio = job->radius * job->j.inverse_edge * (1.0 + 1e-9);
  w->reach_yz[0] = (int32_t)ratio + 1;
  w->reach_yz[1] = w->flat ? 0 : w->reach_yz[0];
  double cut_cells = job->radius * job->j.inverse_edge * (1.0 + 1e-5) + 1e-5;
  w->cut_cells2 = (float)(cut_cells * cut_cells);
  // A candidate is at most one cell more than the reach away: differences fit a signed byte. They
  // are off by 1 in x and 1.5 in y and z, hence 2.35, and a last borrow adds 1 to the square.
  w->coarse = 124.0 / (double)(w->reach_yz[0] + 1);
  double cut = job->radius * job->j.inverse_edge * w->coarse * (1.0 + 1e-9) + 2.35;
  w->cut2 = (int32_t)(cut * cut) + 1;
  int bits = SMALLEST_CELL_BITS;
  while (1 << (bits - 1) < w->reach_yz[0] + 2) {
    ++bits;
  }
  w->fraction_bits = KP_CUDA_FIXED_BITS - bits;
  w->fraction = ldexp(1.0, w->fraction_bits);
  w->step = (kp_real)(job->j.edge / w->fraction);
}

kp_result keep_places(kp_backend *backend, kp_cells *cells, kp_cuda_search *w) {
  kp_cells_kept *kept = &cells->kept;
  size_t n = (size_t)w->j.n;
  size_t n_tests = n + KP_CUDA_ROW_STEP;
  KP_TRY(kp_buffer_resize(&kept->places, n * sizeof(kp_cuda_place) + n_tests * sizeof(uint32_t)));
  void *memory;
  KP_TRY(kp_buffer_get(&kept->places, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  kp_cuda_place *places = (kp_cuda_place *)memory;
  uint32_t *tests = (uint32_t *)(places + n);
  w->places = places;
  w->tests = tests;
  if (kept->placed_stamp == cells->stamp && kept->placed_writes == writes_of(cells) &&
      kept->placed_bits == w->fraction_bits && kept->placed_reach == w->reach_yz[0]) {
    return KP_OK;
  }
  if (n > 0) {
    place_elements<<<blocks_of((int64_t)n), THREADS, 0, kp_cuda_stream(backend)>>>(*w, tests,
                                                                                   places);
    KP_TRY(kp_cuda_result(cudaGetLastError(), "place_elements"));
  }
  kept->placed_stamp = cells->stamp;
  kept->placed_writes = writes_of(cells);
  kept->placed_bits = w->fraction_bits;
  kept->placed_reach = w->reach_yz[0];
  return KP_OK;
}

kp_result keep_halo(kp_backend *backend, kp_cells *cells, kp_cuda_search *w) {
  kp_cells_kept *kept = &cells->kept;
  KP_TRY(kp_buffer_resize(&kept->halo, (size_t)cells->n_cells));
  void *memory;
  KP_TRY(kp_buffer_get(&kept->halo, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  w->halo = (const uint8_t *)memory;
  if (kept->halo_stamp == cells->stamp && kept->halo_reach == w->reach_yz[0]) {
    return KP_OK;
  }
  mark_halo<<<blocks_of(cells->n_cells), THREADS, 0, kp_cuda_stream(backend)>>>(
      w->j, w->reach_yz[0], w->flat, (uint8_t *)memory);
  KP_TRY(kp_cuda_result(cudaGetLastError(), "mark_halo"));
  kept->halo_stamp = cells->stamp;
  kept->halo_reach = w->reach_yz[0];
  kept->near_stamp = 0;
  return KP_OK;
}

// Where samples of walls and bodies are few, most elements of the other side meet none: one byte
// per cell tells, and the passes go over the others alone. (sph-a, 4 M particles: two passes over
// walls took 430 us when every particle walked, 235 us when each looked at the byte.)
kp_result keep_near(kp_backend *backend, const kp_pair_job *job, kp_cuda_search *w) {
  kp_cells *cells = job->j_cells;
  kp_cells_kept *kept = &cells->kept;
  bool is_fit = job->adds_only && cells->set->kind == KP_SET_TIED && !w->is_same;
  if (!is_fit || w->j.sparse || w->j.n == 0) {
    return KP_OK;
  }
  KP_TRY(keep_halo(backend, cells, w));
  KP_TRY(kp_buffer_resize(&kept->near, ((size_t)w->i.n + 1) * sizeof(uint32_t)));
  void *memory;
  KP_TRY(kp_buffer_get(&kept->near, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  w->near = (const uint32_t *)memory;
  if (kept->near_stamp == job->i_cells->stamp && kept->near_writes == writes_of(job->i_cells)) {
    return KP_OK;
  }
  KP_TRY(kp_fill(backend, memory, 0, sizeof(uint32_t)));
  find_near<<<blocks_of(w->i.n), THREADS, 0, kp_cuda_stream(backend)>>>(*w, (uint32_t *)memory);
  KP_TRY(kp_cuda_result(cudaGetLastError(), "find_near"));
  kept->near_stamp = job->i_cells->stamp;
  kept->near_writes = writes_of(job->i_cells);
  return KP_OK;
}

bool has_lists(const kp_pair_job *job) {
  const kp_cells_kept *kept = &job->i_cells->kept;
  return kept->list_capacity > 0 && kept->list_stamp[0] == job->i_cells->stamp &&
         kept->list_stamp[1] == job->j_cells->stamp &&
         kept->list_writes[0] == writes_of(job->i_cells) &&
         kept->list_writes[1] == writes_of(job->j_cells) && kept->list_radius == job->radius;
}

kp_result use_lists(const kp_pair_job *job, kp_cuda_search *w) {
  kp_cells_kept *kept = &job->i_cells->kept;
  void *list, *counts;
  KP_TRY(kp_buffer_get(&kept->lists, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &list));
  KP_TRY(kp_buffer_get(&kept->counts, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &counts));
  w->overflow = (uint32_t *)counts;
  w->counts = (uint8_t *)counts + 16;
  w->list = (uint32_t *)list;
  w->capacity = kept->list_capacity;
  return KP_OK;
}

// Lists for later passes. Without the memory for them the passes search for themselves.
kp_result make_lists(kp_backend *backend, const kp_pair_job *job, kp_cuda_search *w) {
  kp_cells_kept *kept = &job->i_cells->kept;
  size_t n = (size_t)w->i.n;
  int capacity = job->keep;
  kept->list_capacity = 0;
  // places in the lists are numbered with 32 bits
  if (n * (size_t)capacity > UINT32_MAX) {
    return KP_OK;
  }
  if (n == 0 || kp_buffer_resize(&kept->lists, n * (size_t)capacity * sizeof(uint32_t)) != KP_OK ||
      kp_buffer_resize(&kept->counts, n + 16) != KP_OK) {
    return KP_OK;
  }
  kept->list_capacity = capacity;
  kept->list_stamp[0] = job->i_cells->stamp;
  kept->list_stamp[1] = job->j_cells->stamp;
  kept->list_writes[0] = writes_of(job->i_cells);
  kept->list_writes[1] = writes_of(job->j_cells);
  kept->list_radius = job->radius;
  KP_TRY(use_lists(job, w));
  return kp_fill(backend, w->overflow, 0, sizeof(uint32_t));
}

}  // namespace

// The launcher knows how much it packs per element, so it is asked first. All work is ordered on
// one stream: the scratch memory may be handed on before the kernel has run.
kp_result kp_cuda_pairs(kp_backend *backend, const kp_kernel *kernel, const struct kp_pair_job *job,
                        const void *args) {
  if (job->i.n == 0) {
    return KP_OK;
  }
  kp_cuda_pair_call call = {};
  kp_cuda_search *w = &call.search;
  shape_search(job, w);
  KP_TRY(keep_places(backend, job->j_cells, w));
  KP_TRY(keep_near(backend, job, w));
  if (has_lists(job)) {
    KP_TRY(use_lists(job, w));
    w->has_list = 1;
  } else if (job->keep > 0 && job->keep <= LONGEST_LIST) {
    KP_TRY(make_lists(backend, job, w));
  }
  call.wants_size = true;
  (void)kernel->cuda(job->i.n, args, &call, nullptr);
  call.wants_size = false;
  // where few pairs are met, their fields are read where they are; fine cells tell of many
  bool is_rare = w->near != nullptr && w->reach_yz[0] == 1;
  if (call.n_fields > 0 && !is_rare) {
    size_t n_groups = (size_t)(call.n_fields + 2) / 4;
    size_t size = (size_t)w->j.n * (sizeof(kp_cuda_place) + n_groups * sizeof(kp_real4)) + 16;
    w->packed = (kp_cuda_place *)kp_backend_scratch(backend, size);
    if (w->packed == nullptr) {
      return KP_ERROR_MEMORY;
    }
    w->fields = (kp_real4 *)(w->packed + w->j.n);
  }
  int code = kernel->cuda(job->i.n, args, &call, kp_cuda_stream(backend));
  return kp_cuda_result((cudaError_t)code, kernel->name);
}
