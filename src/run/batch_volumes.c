// Grids as dense volumes of a frame: the window alone, values at the centres of cells.
#include <string.h>

#include "data/mac_sample.h"
#include "io/frame_data.h"
#include "par/parallel.h"
#include "run/batch.h"

#define ROWS_PER_CHUNK 64

typedef struct volume_copy {
  const kp_mac *mac;
  const char *from[3];  // components of a field on the host
  char *to[3];          // those of the volume
  size_t item;          // bytes
} volume_copy;

static int64_t window_size(const kp_mac *mac, int axis) {
  return mac->window_hi[axis] - mac->window_lo[axis];
}

// Row `row` of the window, counted along y first: its first item.
static int64_t row_start(const kp_mac *mac, int64_t row) {
  int64_t ny = window_size(mac, 1);
  return kp_mac_at(&mac->view, mac->window_lo[0], mac->window_lo[1] + row % ny,
                   mac->window_lo[2] + row / ny);
}

static void copy_rows(int64_t begin, int64_t end, void *context) {
  const volume_copy *copy = context;
  size_t size = (size_t)window_size(copy->mac, 0) * copy->item;
  for (int64_t row = begin; row < end; ++row) {
    int64_t at = row_start(copy->mac, row);
    memcpy(copy->to[0] + (size_t)row * size, copy->from[0] + (size_t)at * copy->item, size);
  }
}

static void average_rows(int64_t begin, int64_t end, void *context) {
  const volume_copy *copy = context;
  const kp_mac_view *g = &copy->mac->view;
  kp_mac_velocity faces = { (const kp_real *)copy->from[0], (const kp_real *)copy->from[1],
                            (const kp_real *)copy->from[2] };
  int64_t nx = window_size(copy->mac, 0);
  kp_real *out[3] = { (kp_real *)copy->to[0], (kp_real *)copy->to[1], (kp_real *)copy->to[2] };
  for (int64_t row = begin; row < end; ++row) {
    int64_t at = row_start(copy->mac, row);
    for (int64_t i = 0; i < nx; ++i) {
      kp_real v[3];
      kp_mac_velocity_of_cell(g, faces, at + i, v);
      out[0][row * nx + i] = v[0];
      out[1][row * nx + i] = v[1];
      out[2][row * nx + i] = v[2];
    }
  }
}

static kp_result add_place(kp_batch *batch, const kp_env_grid *grid) {
  const kp_mac *mac = grid->mac;
  void *data;
  KP_TRY(kp_batch_room(batch, KP_ITEM_I64, 3, "", &data, "volume/%s/dims", grid->name));
  int64_t *dims = data;
  KP_TRY(kp_batch_room(batch, KP_ITEM_F64, 3, "m", &data, "volume/%s/origin", grid->name));
  double *origin = data;
  KP_TRY(kp_batch_room(batch, KP_ITEM_F64, 1, "m", &data, "volume/%s/spacing", grid->name));
  *(double *)data = mac->view.cell;
  for (int c = 0; c < 3; ++c) {
    dims[c] = window_size(mac, c);
    origin[c] = mac->view.lo[c] + mac->window_lo[c] * mac->view.cell;
  }
  return KP_OK;
}

static kp_result add_field(kp_batch *batch, const kp_env_grid *grid, kp_field *field) {
  kp_mac *mac = grid->mac;
  bool is_faces = field->components == 3 && strcmp(field->name, "velocity") == 0;
  volume_copy copy = { .mac = mac, .item = kp_type_size(field->type) };
  uint64_t n = (uint64_t)kp_mac_n_cells(mac);
  int64_t rows = window_size(mac, 1) * window_size(mac, 2);
  for (int c = 0; c < field->components; ++c) {
    char buffer[16];
    const char *component = kp_frame_component_name(field->components, c, buffer);
    // components of a face velocity are averaged together, others go one by one
    int slot = is_faces ? c : 0;
    void *memory;
    KP_TRY(kp_buffer_get(&field->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
    copy.from[slot] = memory;
    KP_TRY(kp_batch_room(batch, kp_item_type_of(field->type), n, field->unit, &memory,
                         "volume/%s/%s/%s", grid->name, field->name, component));
    copy.to[slot] = memory;
    if (!is_faces) {
      kp_parallel_for(rows, ROWS_PER_CHUNK, copy_rows, &copy);
    }
  }
  if (is_faces) {
    kp_parallel_for(rows, ROWS_PER_CHUNK, average_rows, &copy);
  }
  return KP_OK;
}

kp_result kp_batch_add_volumes(kp_batch *batch, kp_world *world) {
  for (size_t g = 0; g < world->env.grids.count; ++g) {
    const kp_env_grid *grid = &world->env.grids.data[g];
    KP_TRY(add_place(batch, grid));
    for (size_t f = 0; f < grid->mac->space->fields.count; ++f) {
      kp_field *field = grid->mac->space->fields.data[f];
      if ((field->flags & KP_FIELD_EXPORT) != 0) {
        KP_TRY(add_field(batch, grid, field));
      }
    }
  }
  return KP_OK;
}
