// Which cavities test_gas_time runs; one file per size is linked with it.
#pragma once

typedef struct gas_time_run {
  int reynolds;
  double seconds;
  double limit;  // of the lid's speed
} gas_time_run;

typedef struct gas_time_size {
  int n_runs;
  gas_time_run runs[2];
} gas_time_size;

extern const gas_time_size gas_time_size_chosen;
