// Sources: regions of any shape that feed the fields of a grid. Each keeps a list of the places its
// shape covers, made anew when it has moved; feeding runs over that list alone.
#pragma once

#include "data/mac.h"
#include "methods/common/motion.h"

typedef struct kp_grid_source {
  kp_source_def def;
  kp_shape *shape;
  kp_motion motion;
  kp_frame3 at;  // where the lists were made
  bool is_listed;
  kp_buffer items[KP_MAC_KIND_COUNT];    // I32
  kp_buffer weights[KP_MAC_KIND_COUNT];  // REAL: covered share, 0..1
  int64_t n[KP_MAC_KIND_COUNT];
} kp_grid_source;

typedef struct kp_grid_sources {
  kp_mac *mac;
  KP_ARRAY(kp_grid_source) list;
  KP_ARRAY(int32_t) items;  // a list in the making
  KP_ARRAY(kp_real) weights;
} kp_grid_sources;

// Those of the scene that feed `into`. On failure kp_grid_sources_free is still to be called.
KP_NODISCARD kp_result kp_grid_sources_create(kp_grid_sources *sources, kp_env *env, kp_mac *mac,
                                              const char *into);
void kp_grid_sources_free(kp_grid_sources *sources);
// Shapes where they are at the start of the sub-step.
KP_NODISCARD kp_result kp_grid_sources_move(kp_grid_sources *sources, kp_env *env);

// Places of a kind that a shape covers whose axes are `at`, as lists on the host: for what is
// filled at the start too.
KP_NODISCARD kp_result kp_grid_sources_cover(kp_grid_sources *sources, const kp_shape *shape,
                                             const kp_frame3 *at, kp_mac_kind kind);

// Seconds of the sub-step in which the source is on.
double kp_grid_source_seconds(const kp_grid_source *source, const kp_env *env);

typedef struct kp_grid_feed {
  kp_mac_kind kind;
  kp_buffer *values;
  kp_buffer *flags;  // U8, of cells; NULL: none
  double held;       // NaN: nothing is held,
  double rate;       // per second: added instead
  double *gained;    // sum of what was added is added here; NULL: not wanted
} kp_grid_feed;

KP_NODISCARD kp_result kp_grid_source_feed(kp_grid_sources *sources, kp_env *env, size_t source,
                                           const kp_grid_feed *feed);
