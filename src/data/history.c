#include "data/history.h"

#include <math.h>
#include <string.h>

#include "data/call.h"
#include "data/history_kernels.h"
#include "par/kernel_define.h"

HISTORY_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define ALMOST (1.0 - 1e-6)  // of the interval: steps of its length keep every sample

// ---- clock --------------------------------------------------------------------------------------

kp_result kp_history_clock_create(kp_registry *registry, const char *name, int64_t slots,
                                  double interval, kp_history_clock *out) {
  *out = (kp_history_clock){ .slots = slots, .interval = interval };
  if (slots < 1 || !(interval >= 0.0)) {
    return kp_fail(KP_ERROR_ARGUMENT, "history \"%s\": %lld samples %g s apart", name,
                   (long long)slots, interval);
  }
  const kp_field_desc time = { "time", KP_TYPE_F64, 1, "s", KP_FIELD_SAVE, 0.0 };
  const kp_field_desc number = { "number", KP_TYPE_U64, 1, "", KP_FIELD_SAVE, 0.0 };
  KP_TRY(kp_registry_add_space(registry, name, KP_SPACE_GLOBAL, &out->space));
  KP_TRY(kp_space_add_field(out->space, &time, &out->time));
  KP_TRY(kp_space_add_field(out->space, &number, &out->number));
  KP_TRY(kp_space_append(out->space, slots, NULL, 0));
  // the present, the samples, and one place beyond them for the interior end
  KP_TRY(kp_array_resize(&out->ages, (size_t)slots + 2));
  return kp_array_resize(&out->table, (size_t)slots + 2);
}

void kp_history_clock_free(kp_history_clock *clock) {
  kp_array_free(&clock->ages);
  kp_array_free(&clock->table);
}

// Host sides of the times and numbers.
static kp_result look(kp_history_clock *clock, kp_access access, double **times,
                      uint64_t **numbers) {
  void *memory;
  KP_TRY(kp_buffer_get(&clock->time->buffers[0], KP_SIDE_HOST, access, &memory));
  *times = memory;
  KP_TRY(kp_buffer_get(&clock->number->buffers[0], KP_SIDE_HOST, access, &memory));
  *numbers = memory;
  return KP_OK;
}

// The place of the newest sample, -1 before the first. Samples lie in the order of their numbers,
// so number m is in place (m - 1) modulo slots.
static int64_t newest_place(const kp_history_clock *clock, const uint64_t *numbers) {
  int64_t newest = -1;
  uint64_t highest = 0;
  for (int64_t k = 0; k < clock->slots; ++k) {
    if (numbers[k] > highest) {
      highest = numbers[k];
      newest = k;
    }
  }
  return newest;
}

int64_t kp_history_clock_count(kp_history_clock *clock) {
  double *times;
  uint64_t *numbers;
  if (look(clock, KP_ACCESS_READ, &times, &numbers) != KP_OK) {
    return 0;
  }
  int64_t newest = newest_place(clock, numbers);
  uint64_t made = newest < 0 ? 0 : numbers[newest];
  return made < (uint64_t)clock->slots ? (int64_t)made : clock->slots;
}

bool kp_history_clock_is_due(kp_history_clock *clock, double time) {
  double *times;
  uint64_t *numbers;
  if (look(clock, KP_ACCESS_READ, &times, &numbers) != KP_OK) {
    return false;
  }
  int64_t newest = newest_place(clock, numbers);
  return newest < 0 || time - times[newest] >= ALMOST * clock->interval;
}

kp_result kp_history_clock_keep(kp_history_clock *clock, double time, int64_t *place) {
  double *times;
  uint64_t *numbers;
  KP_TRY(look(clock, KP_ACCESS_WRITE, &times, &numbers));
  int64_t newest = newest_place(clock, numbers);
  uint64_t number = newest < 0 ? 1 : numbers[newest] + 1;
  *place = (newest + 1) % clock->slots;
  times[*place] = time;
  numbers[*place] = number;
  return KP_OK;
}

// Ages of the samples, newest first, behind that of the present; *n of them. Whether there were
// older ones that the ring has lost.
static bool list_ages(kp_history_clock *clock, const double *times, const uint64_t *numbers,
                      double time, int64_t *n) {
  int64_t newest = newest_place(clock, numbers);
  uint64_t made = newest < 0 ? 0 : numbers[newest];
  *n = made < (uint64_t)clock->slots ? (int64_t)made : clock->slots;
  double *ages = clock->ages.data;
  ages[0] = 0.0;
  for (int64_t k = 1; k <= *n; ++k) {
    double age = time - times[(newest + 1 - k + clock->slots) % clock->slots];
    // round-off of a time that was counted otherwise
    ages[k] = age > ages[k - 1] ? age : ages[k - 1];
  }
  return made > (uint64_t)clock->slots;
}

// Weights by age into clock->table. The interior end weighs its oldest sample as if an older one
// followed, as far away as the one before.
static double weigh_ages(kp_history_clock *clock, const kp_history_rule *rule, int64_t n,
                         bool is_cut) {
  double *ages = clock->ages.data;
  double *table = clock->table.data;
  if (rule->end == KP_FRAC_INTERIOR && is_cut && n > 0) {
    ages[n + 1] = 2.0 * ages[n] - ages[n - 1];
    double gain = kp_frac_weights_at(rule->order, n + 1, ages, rule->memory, table);
    return gain - table[n + 1];
  }
  return kp_frac_weights_at(rule->order, n, ages, rule->memory, table);
}

kp_result kp_history_clock_weigh(kp_history_clock *clock, const kp_history_rule *rule, double time,
                                 kp_history_weights *sum, double *out) {
  double *times;
  uint64_t *numbers;
  KP_TRY(look(clock, KP_ACCESS_READ, &times, &numbers));
  int64_t n;
  bool is_cut = list_ages(clock, times, numbers, time, &n);
  double gain = weigh_ages(clock, rule, n, is_cut);
  double *table = clock->table.data;
  double scale = rule->is_unit_sum && gain > 0.0 ? 1.0 / gain : 1.0;
  // the mean over no time is the present
  table[0] = rule->is_unit_sum && !(gain > 0.0) ? 1.0 : table[0];
  memset(out, 0, (size_t)clock->slots * sizeof *out);
  int64_t newest = newest_place(clock, numbers);
  *sum = (kp_history_weights){ .present = scale * table[0], .gain = gain };
  for (int64_t k = 1; k <= n; ++k) {
    out[(newest + 1 - k + clock->slots) % clock->slots] = scale * table[k];
    sum->n = table[k] != 0.0 ? k : sum->n;
  }
  return KP_OK;
}

// ---- history ------------------------------------------------------------------------------------

kp_result kp_history_create(kp_space *space, int dimension, const char *name, int64_t slots,
                            double interval, kp_history *out) {
  *out = (kp_history){ .space = space, .dimension = dimension };
  kp_buffer_init(&out->weights, space->backend);
  out->weights.type = KP_TYPE_REAL;
  KP_TRY(kp_array_resize(&out->places, (size_t)(slots > 0 ? slots : 1)));
  KP_TRY(kp_history_clock_create(space->registry, name, slots, interval, &out->clock));
  const kp_field_desc ring = { "history", KP_TYPE_REAL, 1, "m/s", KP_FIELD_STATE | KP_FIELD_COLD,
                               0.0 };
  KP_TRY(kp_space_add_wide_field(space, &ring, 1 + dimension * slots, &out->ring));
  return kp_buffer_resize(&out->weights, (size_t)(slots * dimension) * sizeof(kp_real));
}

void kp_history_free(kp_history *history) {
  kp_history_clock_free(&history->clock);
  kp_array_free(&history->places);
  kp_buffer_free(&history->weights);
}

kp_result kp_history_weigh(kp_history *history, const kp_history_rule *rule, double time) {
  double *places = history->places.data;
  KP_TRY(kp_history_clock_weigh(&history->clock, rule, time, &history->sum, places));
  void *memory;
  KP_TRY(kp_buffer_get(&history->weights, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory));
  kp_real *weights = memory;
  for (int64_t k = 0; k < history->clock.slots * history->dimension; ++k) {
    weights[k] = (kp_real)places[k / history->dimension];
  }
  history->time = time;
  return KP_OK;
}

kp_result kp_history_sum(kp_history *history, kp_field *velocity, kp_field *out, bool keep) {
  int64_t place = -1;
  if (keep && kp_history_clock_is_due(&history->clock, history->time)) {
    KP_TRY(kp_history_clock_keep(&history->clock, history->time, &place));
  }
  history_sum_args a = { .present = (kp_real)history->sum.present,
                         .slots = (int32_t)history->clock.slots,
                         .keep = (int32_t)place };
  kp_call call;
  kp_call_init(&call, history->dimension == 2 ? &history_sum2_kernel : &history_sum3_kernel, &a);
  KP_BIND(&call, &a, slot, &history->space->slot->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, weights, &history->weights, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, ring, &history->ring->buffers[0], KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, , out, KP_ACCESS_OVERWRITE);
  return kp_call_run(history->space->backend, &call, history->space->n);
}

double kp_history_bytes(const kp_history *history) {
  return (double)((size_t)history->ring->width * sizeof(kp_real));
}
