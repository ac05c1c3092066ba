#include "support/gases.h"

#include <math.h>

#include "data/mac_sample.h"

kp_gas *kp_test_gas(kp_world *world) {
  kp_smoke *smoke = kp_world_system(world, &kp_smoke_method);
  return smoke != NULL ? &smoke->gases.data[0] : NULL;
}

static void add_cell(const kp_mac_view *g, kp_mac_velocity f, int64_t at, kp_test_swirl *sum) {
  kp_real omega[3];
  kp_real u[3];
  kp_mac_curl(g, f, at, omega);
  kp_mac_velocity_of_cell(g, f, at, u);
  for (int c = 0; c < 3; ++c) {
    sum->enstrophy += (double)omega[c] * (double)omega[c];
    sum->energy += 0.5 * (double)u[c] * (double)u[c];
  }
}

kp_test_swirl kp_test_swirl_of(kp_flow *flow, kp_aabb box) {
  const kp_mac_view *g = &flow->mac->view;
  assert_ok(kp_mac_fill_velocity(flow->mac, flow->velocity));
  kp_mac_velocity f = { kp_buffer_host(&flow->velocity->buffers[0], KP_ACCESS_READ),
                        kp_buffer_host(&flow->velocity->buffers[1], KP_ACCESS_READ),
                        kp_buffer_host(&flow->velocity->buffers[2], KP_ACCESS_READ) };
  const uint8_t *flags = kp_buffer_host(&flow->flags->buffers[0], KP_ACCESS_READ);
  kp_test_swirl sum = { 0.0, 0.0 };
  for (int64_t n = 0; n < kp_mac_n_all(flow->mac); ++n) {
    int64_t i = n % g->n[0];
    int64_t j = n / g->n[0] % g->n[1];
    int64_t k = n / g->n[0] / g->n[1];
    int64_t at = kp_mac_at(g, i, j, k);
    kp_vec3 x =
        kp_vec3_make(g->lo[0] + ((double)i + 0.5) * g->cell, g->lo[1] + ((double)j + 0.5) * g->cell,
                     g->lo[2] + ((double)k + 0.5) * g->cell);
    bool is_in = x.x > box.min.x && x.x < box.max.x && x.y > box.min.y && x.y < box.max.y &&
                 (g->dimension == 2 || (x.z > box.min.z && x.z < box.max.z));
    if (is_in && (flags[at] & KP_CELL_KIND) == KP_CELL_FLUID) {
      add_cell(g, f, at, &sum);
    }
  }
  double volume = pow(g->cell, g->dimension);
  sum.enstrophy *= volume;
  sum.energy *= volume;
  return sum;
}
