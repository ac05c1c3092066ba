#include "geom/particle_surface_cpu.h"

#include <stdint.h>

#ifndef KP_ISA
#error "compiled by kp_isa_sources, which defines KP_ISA"
#endif

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES ((int)(BYTES / sizeof(float)))

typedef float wide __attribute__((vector_size(BYTES)));
typedef int32_t mask __attribute__((vector_size(BYTES)));
typedef float loose __attribute__((vector_size(BYTES), aligned(4), may_alias));

static inline wide load(const float *from) {
  return *(const loose *)from;
}

static inline void store(float *to, wide value) {
  *(loose *)to = value;
}

static inline wide splat(float a) {
  return a - (wide){ 0 };
}

static inline wide smaller(wide a, wide b) {
  mask is_less = (mask)(a < b);
  return (wide)((is_less & (mask)a) | (~is_less & (mask)b));
}

// What all particles that reach the layer give to a register of its samples.
static inline void gather(const kp_surface_particles *p, kp_surface_layer *layer, int first) {
  wide x = load(layer->x + first);
  wide y = load(layer->y + first);
  wide weight = load(layer->weight + first);
  wide mx = load(layer->mx + first);
  wide my = load(layer->my + first);
  wide mz = load(layer->mz + first);
  wide nearest = load(layer->nearest + first);
  for (int64_t i = 0; i < p->n; ++i) {
    float dz = p->z[i] - layer->z;
    if (!(p->away[i] + dz * dz < 1.0f)) {
      continue;
    }
    wide dx = splat(p->x[i]) - x;
    wide dy = splat(p->y[i]) - y;
    wide square = dx * dx + dy * dy + dz * dz;
    wide t = 1.0f - square;
    t = (wide)((mask)t & (mask)(t > 0.0f));
    wide w = t * t * t;
    weight += w;
    mx += w * dx;
    my += w * dy;
    mz += w * dz;
    nearest = smaller(square, nearest);
  }
  store(layer->weight + first, weight);
  store(layer->mx + first, mx);
  store(layer->my + first, my);
  store(layer->mz + first, mz);
  store(layer->nearest + first, nearest);
}

#define JOIN(isa) kp_surface_gather_##isa
#define NAME(isa) JOIN(isa)

void NAME(KP_ISA)(const kp_surface_particles *p, kp_surface_layer *layer);
void NAME(KP_ISA)(const kp_surface_particles *p, kp_surface_layer *layer) {
  for (int first = 0; first < layer->n; first += LANES) {
    gather(p, layer, first);
  }
}
