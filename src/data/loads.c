#include "data/loads.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

static const kp_field_desc load_fields[] = {
  { "impulse", KP_TYPE_F64, 3, "N s", KP_FIELD_SAVE, 0.0 },
  { "moment", KP_TYPE_F64, 3, "N m s", KP_FIELD_SAVE, 0.0 },
  { "since", KP_TYPE_F64, 1, "s", KP_FIELD_SAVE, 0.0 },
};

kp_result kp_loads_create(kp_registry *registry, kp_loads **out) {
  kp_loads *loads = kp_alloc_zero(sizeof *loads, KP_MEMORY_WORLD);
  if (loads == NULL) {
    return KP_ERROR_MEMORY;
  }
  loads->current = KP_LOADS_NONE;
  kp_result result = kp_registry_add_space(registry, "loads", KP_SPACE_GLOBAL, &loads->space);
  if (result == KP_OK) {
    result = kp_space_add_fields(loads->space, load_fields, 3);
  }
  if (result != KP_OK) {
    kp_registry_remove_space(registry, &loads->space);
    kp_loads_destroy(&loads);
    return result;
  }
  loads->impulse = kp_space_find(loads->space, "impulse");
  loads->moment = kp_space_find(loads->space, "moment");
  loads->since = kp_space_find(loads->space, "since");
  *out = loads;
  return KP_OK;
}

void kp_loads_destroy(kp_loads **loads) {
  if (*loads != NULL) {
    kp_array_free(&(*loads)->bodies);
    kp_array_free(&(*loads)->media);
    kp_array_free(&(*loads)->step);
    kp_array_free(&(*loads)->on_samples);
    kp_array_free(&(*loads)->before);
    kp_array_free(&(*loads)->kept);
    kp_free(*loads);
    *loads = NULL;
  }
}

kp_result kp_loads_watch(kp_loads *loads, kp_index body) {
  return kp_array_push(&loads->bodies, body);
}

kp_result kp_loads_medium(kp_loads *loads, const char *name, bool is_one_way, int *medium) {
  *medium = KP_LOADS_NONE;
  if (loads == NULL) {
    return KP_OK;
  }
  for (size_t m = 0; m < loads->media.count; ++m) {
    if (strcmp(loads->media.data[m].name, name) == 0) {
      *medium = (int)m;
      return KP_OK;
    }
  }
  kp_load_medium fresh = { .is_one_way = is_one_way };
  kp_text_copy(fresh.name, sizeof fresh.name, name);
  KP_TRY(kp_array_push(&loads->media, fresh));
  *medium = (int)loads->media.count - 1;
  return KP_OK;
}

kp_result kp_loads_close(kp_loads *loads) {
  size_t n = loads->bodies.count * loads->media.count;
  KP_TRY(kp_array_resize(&loads->step, n));
  KP_TRY(kp_array_resize(&loads->on_samples, loads->bodies.count));
  KP_TRY(kp_array_resize(&loads->before, loads->bodies.count));
  kp_loads_clear(loads);
  return kp_space_append(loads->space, (int64_t)n, NULL, 0);
}

// ---- telling ------------------------------------------------------------------------------------

bool kp_loads_watches(const kp_loads *loads, kp_index body) {
  for (size_t k = 0; loads != NULL && k < loads->bodies.count; ++k) {
    if (loads->bodies.data[k] == body) {
      return true;
    }
  }
  return false;
}

#define EACH_WATCH(k, loads, body, medium)                                                         \
  for (size_t k = 0; (loads) != NULL && (medium) != KP_LOADS_NONE && k < (loads)->bodies.count;    \
       ++k)                                                                                        \
    if ((loads)->bodies.data[k] == (body))

static size_t item_of(const kp_loads *loads, size_t k, int medium) {
  return k * loads->media.count + (size_t)medium;
}

void kp_loads_set(kp_loads *loads, kp_index body, int medium, kp_load force) {
  EACH_WATCH(k, loads, body, medium) {
    loads->step.data[item_of(loads, k, medium)] = force;
  }
}

void kp_loads_add(kp_loads *loads, kp_index body, int medium, kp_load force) {
  EACH_WATCH(k, loads, body, medium) {
    kp_load *sum = &loads->step.data[item_of(loads, k, medium)];
    *sum = kp_load_sum(*sum, 1.0, force);
  }
}

static double *numbers(kp_field *field, int component, kp_access access) {
  return kp_buffer_host(&field->buffers[component], access);
}

static kp_load sum_at(const kp_loads *loads, size_t at) {
  double v[6];
  for (int c = 0; c < 3; ++c) {
    v[c] = numbers(loads->impulse, c, KP_ACCESS_READ)[at];
    v[3 + c] = numbers(loads->moment, c, KP_ACCESS_READ)[at];
  }
  return (kp_load){ { v[0], v[1], v[2] }, { v[3], v[4], v[5] } };
}

static void put_sum(kp_loads *loads, size_t at, kp_load sum) {
  const double v[6] = { sum.force.x,  sum.force.y,  sum.force.z,
                        sum.torque.x, sum.torque.y, sum.torque.z };
  for (int c = 0; c < 3; ++c) {
    numbers(loads->impulse, c, KP_ACCESS_WRITE)[at] = v[c];
    numbers(loads->moment, c, KP_ACCESS_WRITE)[at] = v[3 + c];
  }
}

void kp_loads_push(kp_loads *loads, kp_index body, int medium, kp_load impulse) {
  EACH_WATCH(k, loads, body, medium) {
    size_t at = item_of(loads, k, medium);
    put_sum(loads, at, kp_load_sum(sum_at(loads, at), 1.0, impulse));
  }
}

void kp_loads_clear(kp_loads *loads) {
  for (size_t i = 0; loads != NULL && i < loads->step.count; ++i) {
    loads->step.data[i] = (kp_load){ 0 };
  }
  for (size_t k = 0; loads != NULL && k < loads->on_samples.count; ++k) {
    loads->on_samples.data[k] = (kp_load){ 0 };
  }
}

void kp_loads_commit(kp_loads *loads, double dt) {
  for (size_t i = 0; loads != NULL && i < loads->step.count; ++i) {
    put_sum(loads, i, kp_load_sum(sum_at(loads, i), dt, loads->step.data[i]));
  }
  kp_loads_clear(loads);
}

kp_result kp_loads_keep(kp_loads *loads) {
  if (loads == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_array_resize(&loads->kept, loads->step.count));
  for (size_t i = 0; i < loads->kept.count; ++i) {
    loads->kept.data[i] = sum_at(loads, i);
  }
  return KP_OK;
}

void kp_loads_go_back(kp_loads *loads) {
  for (size_t i = 0; loads != NULL && i < loads->kept.count; ++i) {
    put_sum(loads, i, loads->kept.data[i]);
  }
}

// ---- taking -------------------------------------------------------------------------------------

void kp_loads_mean(const kp_loads *loads, size_t k, double time, kp_load *media) {
  for (size_t m = 0; m < loads->media.count; ++m) {
    size_t at = item_of(loads, k, (int)m);
    double seconds = time - numbers(loads->since, 0, KP_ACCESS_READ)[at];
    media[m] = kp_load_sum((kp_load){ 0 }, seconds > 0.0 ? 1.0 / seconds : NAN, sum_at(loads, at));
  }
}

void kp_loads_take(kp_loads *loads, size_t k, double time) {
  for (size_t m = 0; m < loads->media.count; ++m) {
    size_t at = item_of(loads, k, (int)m);
    put_sum(loads, at, (kp_load){ 0 });
    numbers(loads->since, 0, KP_ACCESS_WRITE)[at] = time;
  }
}
