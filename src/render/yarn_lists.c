#include "render/yarn_lists.h"

#include <string.h>

#include "data/call.h"
#include "par/kernel_define.h"
#include "render/yarn_kernels.h"

YARN_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_NO_PAIR)

#define MOST (1 << 25)  // crossings of a band, 8 bytes each and as many to sort them

void kp_yarn_lists_init(kp_yarn_lists *lists, kp_backend *backend) {
  *lists = (kp_yarn_lists){ .backend = backend };
  kp_buffer *const all[] = { &lists->stations, &lists->sets,  &lists->texels,
                             &lists->keys,     &lists->order, &lists->first,
                             &lists->pixels,   &lists->quads, &lists->spans };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    kp_buffer_init(all[k], backend);
    all[k]->type = KP_TYPE_U32;
  }
  lists->sets.type = KP_TYPE_U8;
  // numbers of 4 bytes; the whole one of a station is no rounding apart
  lists->stations.type = lists->texels.type = KP_TYPE_F32;
}

void kp_yarn_lists_free(kp_yarn_lists *lists) {
  kp_buffer_free(&lists->stations);
  kp_buffer_free(&lists->sets);
  kp_buffer_free(&lists->texels);
  kp_buffer_free(&lists->keys);
  kp_buffer_free(&lists->order);
  kp_buffer_free(&lists->first);
  kp_buffer_free(&lists->pixels);
  kp_buffer_free(&lists->quads);
  kp_buffer_free(&lists->spans);
}

static kp_result send(kp_buffer *buffer, const void *bytes, size_t size) {
  void *host;
  KP_TRY(kp_buffer_resize(buffer, size));
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &host));
  memcpy(host, bytes, size);
  return KP_OK;
}

#define BIND_VIEW(call, args, lists)                                                               \
  (KP_BIND(call, args, view.stations, &(lists)->stations, KP_ACCESS_READ),                         \
   KP_BIND(call, args, view.sets, &(lists)->sets, KP_ACCESS_READ),                                 \
   KP_BIND(call, args, view.texels, &(lists)->texels, KP_ACCESS_READ))

static kp_result sort(kp_buffer *keys, kp_buffer *values, int64_t n, int bits) {
  void *k, *v;
  KP_TRY(kp_buffer_get(keys, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &k));
  KP_TRY(kp_buffer_get(values, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &v));
  return kp_sort32(keys->backend, k, v, n, bits);
}

kp_result kp_yarn_lists_send(kp_yarn_lists *lists, const kp_yarn_view *view, int64_t n_stations,
                             int64_t n_quads) {
  int64_t n = n_quads;
  lists->n_stations = n_stations;
  lists->n_quads = n_quads;
  if (n == 0) {
    return KP_OK;
  }
  lists->view = *view;
  lists->rows = lists->rows > 0 ? lists->rows : view->height;
  size_t texels = (size_t)kp_lumi_offset(KP_LUMI_LEVELS) * sizeof(float);
  KP_TRY(send(&lists->stations, view->stations, (size_t)n_stations * sizeof *view->stations));
  KP_TRY(send(&lists->sets, view->sets, (size_t)view->n_sets * sizeof *view->sets));
  KP_TRY(lists->texels.used == 0 ? send(&lists->texels, view->texels, texels) : KP_OK);
  KP_TRY(kp_buffer_resize(&lists->keys, (size_t)n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&lists->order, (size_t)n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&lists->first, (size_t)(n + 1) * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&lists->spans,
                          2 * (size_t)view->width * (size_t)view->height * sizeof(uint32_t)));
  yarn_order_args a = { .view = *view };
  kp_call call;
  kp_call_init(&call, &yarn_order_kernel, &a);
  BIND_VIEW(&call, &a, lists);
  KP_BIND(&call, &a, keys, &lists->keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, order, &lists->order, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(lists->backend, &call, n));
  return sort(&lists->keys, &lists->order, n, 32);
}

static kp_result count(kp_yarn_lists *lists, kp_yarn_box rows, int64_t *n) {
  yarn_count_args a = { .view = lists->view, .rows = rows };
  kp_call call;
  kp_call_init(&call, &yarn_count_kernel, &a);
  BIND_VIEW(&call, &a, lists);
  KP_BIND(&call, &a, order, &lists->order, KP_ACCESS_READ);
  KP_BIND(&call, &a, counts, &lists->first, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(lists->backend, &call, lists->n_quads));
  yarn_total_args total = { 0 };
  double sum;
  kp_call_init(&call, &yarn_total_kernel, &total);
  KP_BIND(&call, &total, counts, &lists->first, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(lists->backend, &call, lists->n_quads, &sum));
  *n = (int64_t)sum;
  return KP_OK;
}

// From numbers of pixels to their places.
static kp_result scan(kp_yarn_lists *lists) {
  void *first;
  KP_TRY(kp_buffer_get(&lists->first, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &first));
  return kp_scan(lists->backend, first, first, lists->n_quads);
}

static kp_result emit(kp_yarn_lists *lists, kp_yarn_box rows, int64_t n) {
  KP_TRY(kp_buffer_resize(&lists->pixels, (size_t)n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&lists->quads, (size_t)n * sizeof(uint32_t)));
  yarn_emit_args a = { .view = lists->view, .rows = rows };
  kp_call call;
  kp_call_init(&call, &yarn_emit_kernel, &a);
  BIND_VIEW(&call, &a, lists);
  KP_BIND(&call, &a, order, &lists->order, KP_ACCESS_READ);
  KP_BIND(&call, &a, first, &lists->first, KP_ACCESS_READ);
  KP_BIND(&call, &a, pixels, &lists->pixels, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, quads, &lists->quads, KP_ACCESS_OVERWRITE);
  return kp_call_run(lists->backend, &call, lists->n_quads);
}

static kp_result mark(kp_yarn_lists *lists, int64_t n) {
  void *spans;
  KP_TRY(kp_buffer_get(&lists->spans, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &spans));
  KP_TRY(kp_fill(lists->backend, spans, 0, lists->spans.used));
  yarn_mark_args a = { .n = n };
  kp_call call;
  kp_call_init(&call, &yarn_mark_kernel, &a);
  KP_BIND(&call, &a, pixels, &lists->pixels, KP_ACCESS_READ);
  KP_BIND(&call, &a, spans, &lists->spans, KP_ACCESS_WRITE);
  return kp_call_run(lists->backend, &call, n);
}

kp_result kp_yarn_lists_make(kp_yarn_lists *lists, int row, int *end) {
  int left = lists->view.height - row, bits = 1;
  int64_t n;
  lists->rows = lists->rows < left ? lists->rows : left;
  kp_yarn_box rows = { 0, row, lists->view.width, row + lists->rows };
  KP_TRY(count(lists, rows, &n));
  while (n > MOST) {
    if (lists->rows == 1) {
      return kp_fail(KP_ERROR_ARGUMENT, "yarn crosses a row of pixels %lld times; at most %d",
                     (long long)n, MOST);
    }
    lists->rows = (lists->rows + 1) / 2;
    rows.y1 = row + lists->rows;
    KP_TRY(count(lists, rows, &n));
  }
  while ((int64_t)1 << bits < (int64_t)lists->view.width * lists->view.height) {
    ++bits;
  }
  *end = rows.y1;
  KP_TRY(scan(lists));
  KP_TRY(emit(lists, rows, n));
  KP_TRY(sort(&lists->pixels, &lists->quads, n, bits));
  return mark(lists, n);
}
