// The velocity grid of a flame of vortons: a box of samples that follows it (Lyes 2015, section
// 6.4.2).
#include <math.h>
#include <string.h>

#include "data/registry.h"
#include "methods/vortex_fire/vortex_fire.h"
#include "par/kernel_define.h"

VORTON_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define PAD 2     // samples around the vortons: interpolation reads one, its differences another
#define BLOCK 4   // the box moves in steps of so many
#define EDGE 2.0  // cells, of a block of samples that the pair driver takes together

kp_result kp_vorton_grid_create(kp_vorton_grid *grid, kp_backend *backend, double cell) {
  *grid = (kp_vorton_grid){ .shape = { .cell = cell } };
  kp_field_desc density = { "density", KP_TYPE_REAL, 1, "", 0, 0.0 };
  kp_field_desc slopes = { "slopes", KP_TYPE_REAL, 9, "1/s", 0, 0.0 };
  kp_field_desc torque = { "torque", KP_TYPE_REAL, 3, "1/s^2", 0, 0.0 };
  KP_TRY(kp_registry_create(backend, &grid->registry));
  KP_TRY(kp_set_create(grid->registry, "samples", KP_SET_TIED, 3, &grid->nodes));
  KP_TRY(kp_space_add_field(grid->nodes->space, &density, &grid->density));
  KP_TRY(kp_space_add_field(grid->nodes->space, &slopes, &grid->slopes));
  KP_TRY(kp_space_add_field(grid->nodes->space, &torque, &grid->torque));
  return kp_cells_create(grid->nodes, EDGE * cell, &grid->cells);
}

void kp_vorton_grid_free(kp_vorton_grid *grid) {
  kp_cells_destroy(&grid->cells);
  kp_set_destroy(&grid->nodes);
  kp_registry_destroy(&grid->registry);
}

double kp_vorton_grid_span(double cell, const kp_aabb *box, const int32_t also[6], int32_t out[6]) {
  const double lo[3] = { box->min.x, box->min.y, box->min.z };
  const double hi[3] = { box->max.x, box->max.y, box->max.z };
  double count = 1.0;
  for (int c = 0; c < 3; ++c) {
    double first = floor((floor(lo[c] / cell) - PAD) / BLOCK) * BLOCK;
    double end = ceil((floor(hi[c] / cell) + PAD + 1.0) / BLOCK) * BLOCK;
    if (also[c] < also[3 + c]) {
      first = fmin(first, (double)also[c]);
      end = fmax(end, (double)also[3 + c]);
    }
    first = fmax(first, -(double)KP_CELLS_LIMIT);
    end = fmin(end, (double)KP_CELLS_LIMIT);
    out[c] = (int32_t)first;
    out[3 + c] = (int32_t)end;
    count *= end - first;
  }
  return count;
}

// So many samples in the space, whatever they hold: all is written anew.
static kp_result set_count(kp_space *space, int64_t n) {
  KP_TRY(kp_space_reserve_fields(space, n, 0));
  KP_TRY(kp_space_fit(space, n, 0));
  space->n = n;
  ++space->revision;
  return KP_OK;
}

kp_result kp_vorton_grid_fit(kp_vorton_grid *grid, const int32_t span[6]) {
  vorton_grid *shape = &grid->shape;
  int64_t count = 1;
  bool is_same = true;
  for (int c = 0; c < 3; ++c) {
    int32_t n = span[3 + c] - span[c];
    is_same = is_same && shape->lo[c] == span[c] && shape->n[c] == n;
    shape->lo[c] = span[c];
    shape->n[c] = n;
    count *= n;
  }
  if (is_same) {
    return KP_OK;
  }
  if (count != grid->nodes->space->n) {
    KP_TRY(set_count(grid->nodes->space, count));
  }
  vorton_place_args a = { .grid = *shape };
  kp_call call;
  kp_call_init(&call, &vorton_place_kernel, &a);
  KP_BIND3(&call, &a, , grid->nodes->position, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(grid->nodes->space->backend, &call, count));
  kp_aabb bounds = { { (shape->lo[0] + 0.5) * shape->cell, (shape->lo[1] + 0.5) * shape->cell,
                       (shape->lo[2] + 0.5) * shape->cell },
                     { (span[3] - 0.5) * shape->cell, (span[4] - 0.5) * shape->cell,
                       (span[5] - 0.5) * shape->cell } };
  return kp_cells_build(grid->cells, &bounds);
}
