#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "cases/cases.h"

#define SHIFT 0.25    // of a spacing, at most, along each axis
#define RADIUS 1.982  // in spacings
#define SEED 29

static kp_vec3 place_of(const kp_case_points *p, uint64_t id, uint64_t turn) {
  uint64_t side = (uint64_t)p->side;
  const uint64_t at[3] = { id % side, id / side % side, id / (side * side) };
  double x[3];
  for (uint64_t axis = 0; axis < 3; ++axis) {
    double u = kp_rng_uniform(SEED, KP_RNG_JITTER, id, 3 * turn + axis);
    x[axis] = p->spacing * ((double)at[axis] + SHIFT * (2.0 * u - 1.0));
  }
  return kp_vec3_make(x[0], x[1], x[2]);
}

static kp_result add_points(kp_case_points *p) {
  int64_t n = p->side * p->side * p->side;
  kp_vec3 *places = kp_alloc((size_t)n * sizeof *places, KP_MEMORY_SCRATCH);
  if (places == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < n; ++i) {
    places[i] = place_of(p, (uint64_t)i, 0);
  }
  // ids are given in this order, from the first id of the set on
  kp_result result = kp_set_add(p->set, n, places, NULL);
  kp_free(places);
  return result;
}

static kp_result create(kp_case_points *p, const char *backend) {
  kp_backend_kind kind;
  KP_TRY(kp_backend_parse(backend, &kind));
  KP_TRY(kp_backend_create(kind, &p->backend));
  KP_TRY(kp_registry_create(p->backend, &p->registry));
  KP_TRY(kp_set_create(p->registry, "points", KP_SET_FREE, 3, &p->set));
  KP_TRY(add_points(p));
  return kp_cells_create(p->set, p->radius * (1.0 + 1e-6), &p->cells);
}

kp_result kp_case_points_create(const char *backend, int64_t n, kp_case_points *out) {
  double side = fmax(round(cbrt((double)n)), 2.0);
  double spacing = 1.0 / side;
  *out = (kp_case_points){ .side = (int64_t)side, .spacing = spacing, .radius = RADIUS * spacing };
  kp_result result = create(out, backend);
  if (result != KP_OK) {
    kp_case_points_destroy(out);
  }
  return result;
}

void kp_case_points_destroy(kp_case_points *p) {
  kp_pair_lists_free(&p->lists);
  kp_cells_destroy(&p->cells);
  kp_set_destroy(&p->set);
  kp_registry_destroy(&p->registry);
  kp_backend_destroy(&p->backend);
}

kp_result kp_case_points_move(kp_case_points *p, uint64_t turn) {
  kp_buffer *place = p->set->position->buffers;
  const uint64_t *id = kp_buffer_host(&p->set->id->buffers[0], KP_ACCESS_READ);
  kp_pos *x[3];
  for (int axis = 0; axis < 3; ++axis) {
    x[axis] = kp_buffer_host(&place[axis], KP_ACCESS_OVERWRITE);
    if (id == NULL || x[axis] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  uint64_t first = p->set->next_id - (uint64_t)p->set->space->n;
  for (int64_t i = 0; i < p->set->space->n; ++i) {
    kp_vec3 at = place_of(p, id[i] - first, turn);
    x[0][i] = at.x;
    x[1][i] = at.y;
    x[2][i] = at.z;
  }
  // the device gets them now, not while the clock runs
  for (int axis = 0; axis < 3; ++axis) {
    void *device;
    KP_TRY(kp_buffer_get(&place[axis], KP_SIDE_DEVICE, KP_ACCESS_READ, &device));
  }
  return kp_wait(p->backend);
}

kp_result kp_case_points_count(kp_case_points *p, double *mean) {
  KP_TRY(kp_cells_build(p->cells, NULL));
  return kp_pair_count(p->cells, p->cells, p->radius, mean);
}

kp_result kp_case_points_list(kp_case_points *p, double *mean) {
  KP_TRY(kp_cells_build(p->cells, NULL));
  KP_TRY(kp_pair_lists_build(&p->lists, p->cells, p->cells, p->radius, false));
  *mean = (double)p->lists.n_pairs / (double)p->set->space->n;
  return KP_OK;
}
