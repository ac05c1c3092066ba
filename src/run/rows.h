// The rows of stats.csv (what the physics did) and perf.csv (what it cost), one of each per frame.
#pragma once

#include "base/array.h"
#include "world/world.h"

typedef struct kp_columns {
  KP_ARRAY(char *) names;
} kp_columns;

void kp_columns_free(kp_columns *columns);

// Both begin with the frame. The populations of a world do not change once it is built.
KP_NODISCARD kp_result kp_stats_columns(kp_world *world, kp_columns *out);
KP_NODISCARD kp_result kp_perf_columns(kp_columns *out);

// probes_<name>.csv: one row per region and look; of bodies with orientation, spin and loads.
KP_NODISCARD kp_result kp_probe_columns(const kp_world *world, const kp_world_probe *probe,
                                        kp_columns *out);
// `loads` are those of all rows, `n_media` of each. Fills `values` with one per column.
typedef KP_ARRAY(double) kp_row_values;
KP_NODISCARD kp_result kp_probe_row_values(const kp_probe_row *row, uint64_t frame,
                                           const kp_probe_loads *loads, size_t n_media,
                                           kp_row_values *values);

// Columns of perf.csv that are known only when the frame is on the disk.
#define KP_PERF_WRITE 5
#define KP_PERF_CHECKPOINT 6

typedef struct kp_frame_facts {
  uint64_t frame;
  kp_step_report report;  // of the advance; zeros for frame 0
  int64_t n_cells;        // of grids, inside their windows
  double wall;            // s from the end of the last frame to the end of this one
  double simulate;        // s in the world
  double wait;            // s for the writer
  double gather;          // s copying to the host
} kp_frame_facts;

// Million particle-steps per second of simulation, or cell-steps where there are no particles.
double kp_frame_rate(const kp_frame_facts *facts);

// Counters at the end of the last frame, to tell what this one added.
typedef struct kp_perf_base {
  kp_backend_counters counters;
  int64_t growths;
} kp_perf_base;

// Fill one value per column. `out` has room for as many.
KP_NODISCARD kp_result kp_stats_row(kp_world *world, const kp_frame_facts *facts, double *out);

// Also clears the world's profile and moves the base on.
void kp_perf_row(kp_world *world, const kp_frame_facts *facts, kp_perf_base *base, double *out);
