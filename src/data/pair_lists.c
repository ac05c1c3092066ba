// Explicit neighbour lists.
//
//   host     one search: each worker appends what it finds to a stage of its own, which is copied
//            to its place when the counts are summed; a second search instead took twice the time
//   device   a counting pass, a scan, a filling pass, one thread per element.
#include "data/pair_lists.h"

#include <string.h>

#include "base/memory.h"
#include "data/call.h"
#include "par/kernel_define.h"
#include "par/parallel.h"

LISTS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define ITEM_CHUNK 64

static kp_pair_list_fn tuned(void) {
  switch (kp_isa_current()) {
#ifdef KP_WITH_ISA_V4
  case KP_ISA_V4:
    return kp_pair_list_v4;
#endif
#ifdef KP_WITH_ISA_V3
  case KP_ISA_V3:
    return kp_pair_list_v3;
#endif
  default:
    return kp_pair_list_base;
  }
}

bool kp_pair_stage_reserve(kp_pair_stage *stage, size_t n) {
  if (stage->count + n <= stage->capacity) {
    return true;
  }
  size_t capacity = stage->capacity + stage->capacity / 2;
  capacity = capacity < stage->count + n ? stage->count + n : capacity;
  uint32_t *data = kp_realloc(stage->data, capacity * sizeof *data, KP_MEMORY_GRID);
  if (data == NULL) {
    stage->has_failed = true;
    return false;
  }
  stage->data = data;
  stage->capacity = capacity;
  return true;
}

static kp_result make_search(const kp_pair_job *job, bool once, lists_search *out) {
  *out = (lists_search){ .i = job->i,
                         .j = job->j,
                         .radius = job->radius,
                         .dimension = job->dimension,
                         .is_same = job->i_cells->set == job->j_cells->set,
                         .is_once = once };
  void *id;
  KP_TRY(kp_buffer_get(&job->i_cells->set->id->buffers[0], KP_SIDE_DEVICE, KP_ACCESS_READ, &id));
  out->i_id = id;
  KP_TRY(kp_buffer_get(&job->j_cells->set->id->buffers[0], KP_SIDE_DEVICE, KP_ACCESS_READ, &id));
  out->j_id = id;
  return KP_OK;
}

// Room for one count per element and the sum.
static kp_result resize_start(kp_pair_lists *lists, const kp_pair_job *job, uint32_t **start) {
  kp_backend *backend = job->i_cells->keys.backend;
  if (lists->start.backend == NULL) {
    kp_buffer_init(&lists->start, backend);
    kp_buffer_init(&lists->indices, backend);
    lists->start.tag = KP_MEMORY_GRID;
    lists->indices.tag = KP_MEMORY_GRID;
  }
  KP_TRY(kp_buffer_resize(&lists->start, (size_t)(job->i.n + 1) * sizeof(uint32_t)));
  void *device;
  KP_TRY(kp_buffer_get(&lists->start, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &device));
  *start = device;
  return KP_OK;
}

// Turns the counts into starts and makes room for the indices.
static kp_result sum_counts(kp_pair_lists *lists, uint32_t *start, int64_t n, uint32_t **indices) {
  kp_backend *backend = lists->start.backend;
  KP_TRY(kp_scan(backend, start, start, n));
  uint32_t total;
  KP_TRY(kp_copy_out(backend, &total, start + n, sizeof total));
  lists->n_pairs = total;
  KP_TRY(kp_buffer_resize(&lists->indices, (size_t)total * sizeof(uint32_t)));
  void *device;
  KP_TRY(kp_buffer_get(&lists->indices, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &device));
  *indices = device;
  return KP_OK;
}

// --- host ----------------------------------------------------------------------------------------

typedef struct list_loop {
  kp_pair_list_fn fn;
  const kp_pair_list_job *job;
  kp_pair_lists *lists;
  const uint32_t *start;
  uint32_t *indices;
} list_loop;

static void search_chunk(int64_t begin, int64_t end, void *context) {
  const list_loop *loop = context;
  int worker = kp_parallel_worker();
  kp_pair_stage *stage = &loop->lists->stages[worker];
  kp_pair_piece *piece = &loop->lists->pieces.data[begin / ITEM_CHUNK];
  *piece = (kp_pair_piece){ .stage = worker, .first = stage->count };
  loop->fn(loop->job, begin, end, stage);
  piece->count = stage->count - piece->first;
}

// The lists of a chunk lie in the order of slots, which for a tied set is not that of elements.
static void place_chunk(int64_t begin, int64_t end, void *context) {
  const list_loop *loop = context;
  const kp_pair_piece *piece = &loop->lists->pieces.data[begin / ITEM_CHUNK];
  const uint32_t *from = loop->lists->stages[piece->stage].data + piece->first;
  const kp_pair_job *pairs = loop->job->pairs;
  uint32_t slot = pairs->work[begin];
  if (pairs->i.order == NULL) {
    memcpy(loop->indices + loop->start[slot], from, piece->count * sizeof(uint32_t));
    return;
  }
  for (; slot < pairs->work[end]; ++slot) {
    uint32_t i = pairs->i.order[slot];
    uint32_t n = loop->start[i + 1] - loop->start[i];
    memcpy(loop->indices + loop->start[i], from, n * sizeof(uint32_t));
    from += n;
  }
}

static void free_stages(kp_pair_lists *lists) {
  for (int k = 0; k < lists->n_stages; ++k) {
    kp_free(lists->stages[k].data);
  }
  kp_free(lists->stages);
  lists->stages = NULL;
  lists->n_stages = 0;
}

static kp_result prepare_stages(kp_pair_lists *lists, int64_t n_work) {
  int n_stages = kp_parallel_threads();
  if (lists->n_stages < n_stages) {
    free_stages(lists);
    lists->stages = kp_alloc_zero((size_t)n_stages * sizeof *lists->stages, KP_MEMORY_GRID);
    if (lists->stages == NULL) {
      return KP_ERROR_MEMORY;
    }
    lists->n_stages = n_stages;
  }
  for (int k = 0; k < lists->n_stages; ++k) {
    lists->stages[k].count = 0;
    lists->stages[k].has_failed = false;
  }
  return kp_array_resize(&lists->pieces, (size_t)(n_work / ITEM_CHUNK + 1));
}

static kp_result build_tuned(kp_pair_lists *lists, const kp_pair_job *job, bool once) {
  kp_pair_list_job search = { .pairs = job };
  KP_TRY(make_search(job, once, &search.search));
  uint32_t *start;
  KP_TRY(resize_start(lists, job, &start));
  KP_TRY(prepare_stages(lists, job->n_work));
  search.counts = start;
  list_loop loop = { .fn = tuned(), .job = &search, .lists = lists, .start = start };
  kp_parallel_for(job->n_work, ITEM_CHUNK, search_chunk, &loop);
  size_t n_pairs = 0;
  bool has_failed = false;
  for (int k = 0; k < lists->n_stages; ++k) {
    has_failed = has_failed || lists->stages[k].has_failed;
    n_pairs += lists->stages[k].count;
  }
  if (has_failed || n_pairs > UINT32_MAX) {
    return kp_fail(KP_ERROR_MEMORY, "out of memory for the %zu neighbours of the elements of %s",
                   n_pairs, job->i_cells->set->space->name);
  }
  KP_TRY(sum_counts(lists, start, job->i.n, &loop.indices));
  kp_parallel_for(job->n_work, ITEM_CHUNK, place_chunk, &loop);
  return KP_OK;
}

// --- any backend ---------------------------------------------------------------------------------

static kp_result build_plain(kp_pair_lists *lists, const kp_pair_job *job, bool once) {
  kp_backend *backend = job->i_cells->keys.backend;
  lists_count_args count;
  lists_fill_args fill;
  KP_TRY(make_search(job, once, &count.search));
  KP_TRY(resize_start(lists, job, &count.counts));
  KP_TRY(kp_launch(backend, &lists_count_kernel, job->i.n, &count));
  KP_TRY(sum_counts(lists, count.counts, job->i.n, &fill.indices));
  fill.search = count.search;
  fill.start = count.counts;
  return kp_launch(backend, &lists_fill_kernel, job->i.n, &fill);
}

static bool has_tuned(const kp_cells *cells) {
  return cells->keys.backend->vt->kind != KP_BACKEND_CUDA;
}

kp_result kp_pair_lists_build(kp_pair_lists *lists, kp_cells *i_cells, kp_cells *j_cells,
                              double radius, bool once) {
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(i_cells, j_cells, radius, &job));
  return has_tuned(i_cells) ? build_tuned(lists, &job, once) : build_plain(lists, &job, once);
}

kp_result kp_pair_lists_build_plain(kp_pair_lists *lists, kp_cells *i_cells, kp_cells *j_cells,
                                    double radius, bool once) {
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(i_cells, j_cells, radius, &job));
  return build_plain(lists, &job, once);
}

void kp_pair_lists_free(kp_pair_lists *lists) {
  kp_buffer_free(&lists->start);
  kp_buffer_free(&lists->indices);
  free_stages(lists);
  kp_array_free(&lists->pieces);
  lists->n_pairs = 0;
}

static void count_chunk(int64_t begin, int64_t end, void *context) {
  const list_loop *loop = context;
  loop->fn(loop->job, begin, end, NULL);
}

// Counts by element into `start`, and their sum.
static kp_result count_pairs(kp_pair_lists *lists, const kp_pair_job *job) {
  kp_backend *backend = job->i_cells->keys.backend;
  lists_count_args count;
  KP_TRY(make_search(job, false, &count.search));
  KP_TRY(resize_start(lists, job, &count.counts));
  if (has_tuned(job->i_cells)) {
    kp_pair_list_job search = { count.search, job, count.counts };
    list_loop loop = { .fn = tuned(), .job = &search };
    kp_parallel_for(job->n_work, ITEM_CHUNK, count_chunk, &loop);
  } else {
    KP_TRY(kp_launch(backend, &lists_count_kernel, job->i.n, &count));
  }
  KP_TRY(kp_scan(backend, count.counts, count.counts, job->i.n));
  uint32_t total;
  KP_TRY(kp_copy_out(backend, &total, count.counts + job->i.n, sizeof total));
  lists->n_pairs = total;
  return KP_OK;
}

kp_result kp_pair_count(kp_cells *i_cells, kp_cells *j_cells, double radius, double *mean_out) {
  *mean_out = 0.0;
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(i_cells, j_cells, radius, &job));
  if (job.i.n == 0) {
    return KP_OK;
  }
  kp_pair_lists lists = { .n_pairs = 0 };
  kp_result result = count_pairs(&lists, &job);
  if (result == KP_OK) {
    *mean_out = (double)lists.n_pairs / (double)job.i.n;
  }
  kp_pair_lists_free(&lists);
  return result;
}
