#include <math.h>

#include "base/memory.h"
#include "cases/cases.h"

#define PI 3.14159265358979323846
#define CROSSED 2.0  // cells, by the fastest point in a turn

static const kp_field_desc velocity_desc = {
  "velocity", KP_TYPE_REAL, 3, "m/s", KP_FIELD_SAVE, 0.0
};
static const kp_field_desc flags_desc = { "flags", KP_TYPE_U8, 1, "", 0, KP_CELL_FLUID };
static const kp_field_desc value_descs[2] = {
  { "density", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE, 0.0 },
  { "temperature", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE, 0.0 },
};

// Vortices of Taylor and Green, at most 1 m/s, which slide along the walls of the unit box.
static double speed(int c, double x, double y, double z) {
  double a = 2.0 * PI;
  return c == 0   ? sin(a * x) * cos(a * y) * cos(a * z)
         : c == 1 ? -0.5 * cos(a * x) * sin(a * y) * cos(a * z)
                  : -0.5 * cos(a * x) * cos(a * y) * sin(a * z);
}

static double blob(double x, double y, double z) {
  double r2 = (x - 0.5) * (x - 0.5) + (y - 0.4) * (y - 0.4) + (z - 0.55) * (z - 0.55);
  return exp(-20.0 * r2);
}

static kp_result fill(kp_case_vortices *v) {
  const kp_mac_view *g = &v->mac->view;
  kp_real *u[3];
  kp_real *values[2];
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_get(&v->velocity->buffers[c], KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&u[c]));
  }
  for (int f = 0; f < 2; ++f) {
    KP_TRY(kp_buffer_get(&v->values[f]->buffers[0], KP_SIDE_HOST, KP_ACCESS_WRITE,
                         (void **)&values[f]));
  }
  for (int64_t k = 0; k < g->n[2]; ++k) {
    for (int64_t j = 0; j < g->n[1]; ++j) {
      for (int64_t i = 0; i < g->n[0]; ++i) {
        int64_t at = kp_mac_at(g, i, j, k);
        double x[3] = { ((double)i + 0.5) * g->cell, ((double)j + 0.5) * g->cell,
                        ((double)k + 0.5) * g->cell };
        values[0][at] = (kp_real)blob(x[0], x[1], x[2]);
        values[1][at] = (kp_real)(300.0 + 100.0 * blob(x[1], x[2], x[0]));
        for (int c = 0; c < 3; ++c) {
          double half[3] = { 0.0, 0.0, 0.0 };
          half[c] = 0.5 * g->cell;
          u[c][at] = (kp_real)speed(c, x[0] - half[0], x[1] - half[1], x[2] - half[2]);
        }
      }
    }
  }
  return kp_mac_fill_velocity(v->mac, v->velocity);
}

static kp_result create(kp_case_vortices *v, const char *backend, int64_t n) {
  kp_backend_kind kind;
  kp_mac_def def = { .name = "box", .cell = 1.0 / (double)n, .dimension = 3 };
  def.box.max = kp_vec3_make(1, 1, 1);
  KP_TRY(kp_backend_parse(backend, &kind));
  KP_TRY(kp_backend_create(kind, &v->backend));
  KP_TRY(kp_registry_create(v->backend, &v->registry));
  KP_TRY(kp_mac_create(v->registry, &def, &v->mac));
  KP_TRY(kp_mac_add_field(v->mac, &velocity_desc, &v->velocity));
  KP_TRY(kp_mac_add_field(v->mac, &flags_desc, &v->flags));
  KP_TRY(kp_mac_add_field(v->mac, &value_descs[0], &v->values[0]));
  KP_TRY(kp_mac_add_field(v->mac, &value_descs[1], &v->values[1]));
  KP_TRY(kp_advect_init(&v->advect, v->mac));
  v->def = kp_default_advect_def();
  v->dt = CROSSED * def.cell;
  return fill(v);
}

kp_result kp_case_vortices_create(const char *backend, int64_t n, kp_case_vortices **out) {
  *out = kp_alloc_zero(sizeof **out, KP_MEMORY_TEST);
  if (*out == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = create(*out, backend, n);
  if (result != KP_OK) {
    kp_case_vortices_destroy(out);
  }
  return result;
}

void kp_case_vortices_destroy(kp_case_vortices **vortices) {
  kp_case_vortices *v = *vortices;
  if (v == NULL) {
    return;
  }
  kp_advect_free(&v->advect);
  kp_mac_destroy(&v->mac);
  kp_registry_destroy(&v->registry);
  kp_backend_destroy(&v->backend);
  kp_free(v);
  *vortices = NULL;
}

kp_result kp_case_vortices_turn(kp_case_vortices *v) {
  const kp_advect_item items[2] = { { &v->values[0]->buffers[0], 0.0 },
                                    { &v->values[1]->buffers[0], NAN } };
  kp_buffer *flags = &v->flags->buffers[0];
  KP_TRY(kp_advect_items(&v->advect, &v->def, KP_MAC_CELL, items, 2, v->velocity, flags, v->dt));
  KP_TRY(kp_advect_velocity(&v->advect, &v->def, v->velocity, flags, v->dt));
  return kp_wait(v->backend);
}

// ---- as a case

static kp_result create_case(const char *backend, int64_t size, void **self) {
  kp_case_vortices *v = NULL;
  kp_result result = kp_case_vortices_create(backend, size, &v);
  *self = v;
  return result;
}

static kp_result turn_case(void *self) {
  return kp_case_vortices_turn(self);
}

static int64_t count_case(const void *self) {
  const kp_case_vortices *v = self;
  return 5 * kp_mac_n_all(v->mac);
}

// Two fields, velocity and flags, and two scratch arrays for each of three.
static double bytes_of_case(const void *self) {
  (void)self;
  return (11.0 * sizeof(kp_real) + 1.0) / 5.0;
}

static void destroy_case(void **self) {
  kp_case_vortices *v = *self;
  kp_case_vortices_destroy(&v);
  *self = NULL;
}

const kp_case_turns kp_case_advect = { .create = create_case,
                                       .turn = turn_case,
                                       .count = count_case,
                                       .bytes_each = bytes_of_case,
                                       .destroy = destroy_case };
