#include "data/pairs.h"

kp_result kp_pair_job_make(kp_cells *i_cells, kp_cells *j_cells, double radius, kp_pair_job *out) {
  if (!(radius > 0.0) || !(radius < HUGE_VAL)) {
    return kp_fail(KP_ERROR_INTERNAL, "a pair search wants a radius above 0, not %g", radius);
  }
  *out = (kp_pair_job){ .radius = radius,
                        .dimension = i_cells->set->dimension,
                        .n_work = i_cells->n_items,
                        .i_cells = i_cells,
                        .j_cells = j_cells };
  KP_TRY(kp_cells_view_of(i_cells, &out->i));
  KP_TRY(kp_cells_view_of(j_cells, &out->j));
  void *work;
  KP_TRY(kp_buffer_get(&i_cells->work, KP_SIDE_DEVICE, KP_ACCESS_READ, &work));
  out->work = work;
  return KP_OK;
}
