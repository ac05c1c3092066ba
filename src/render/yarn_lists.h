// Lists of the quads of yarn that each pixel sees, made on any backend. Private to src/render.
#pragma once

#include "data/buffer.h"
#include "render/yarn_quads.h"

typedef struct kp_yarn_lists {
  kp_backend *backend;
  kp_yarn_view view;  // of the pass that was sent, without its pointers
  int64_t n_stations, n_quads;
  int rows;                          // of a band, as the last one was
  kp_buffer stations, sets, texels;  // as kp_yarn_view has them
  kp_buffer keys, order;             // quads from front to back
  kp_buffer first, pixels;           // of each of them, its pixels
  kp_buffer quads;                   // of each pixel, the nearest first,
  kp_buffer spans;                   // from which to which: two u32 per pixel
} kp_yarn_lists;

void kp_yarn_lists_init(kp_yarn_lists *lists, kp_backend *backend);
void kp_yarn_lists_free(kp_yarn_lists *lists);
// The yarn of a pass, sorted by distance. Stations are to be lit on the device.
KP_NODISCARD kp_result kp_yarn_lists_send(kp_yarn_lists *lists, const kp_yarn_view *view,
                                          int64_t n_stations, int64_t n_quads);
// Lists of the pixels in as many rows from `row` on as memory allows; *end is the row after them.
KP_NODISCARD kp_result kp_yarn_lists_make(kp_yarn_lists *lists, int row, int *end);
