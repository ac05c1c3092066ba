#include "support/test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "world/step.h"

#include "golden.h"

#define LONGEST (1.0 / 24.0)  // s: a sub-step is not longer than a frame of a film
#define TOLD 4                // fields of a state that are told one by one

// ---- running

static kp_result add_probes(kp_batch *state, kp_world *world) {
  for (size_t p = 0; p < world->spec.probes.count; ++p) {
    const char *name = world->spec.probes.data[p].name;
    int64_t count;
    void *values;
    KP_TRY(kp_world_probe_now(world, name, NULL, 0, &count));
    size_t n = (size_t)count * sizeof(kp_probe_value) / sizeof(double);
    KP_TRY(kp_batch_room(state, KP_ITEM_F64, n, "", &values, "probe/%s", name));
    KP_TRY(kp_world_probe_now(world, name, values, count, &count));
  }
  return KP_OK;
}

static kp_result add_surfaces(kp_batch *state, kp_world *world, const kp_surface_out *how) {
  kp_surfaces surfaces = { 0 };
  if (how->from[0] == '\0') {
    return KP_OK;
  }
  kp_result result = kp_surfaces_begin(&surfaces, how, world);
  if (result == KP_OK) {
    result = kp_surfaces_add(&surfaces, world, state);
  }
  kp_surfaces_free(&surfaces);
  return result;
}

static kp_result run_scene(const golden_case *of, const kp_scene *scene, const kp_extras *extras,
                           kp_world *world, kp_batch *state) {
  KP_TRY(kp_world_set_spec(world, kp_scene_spec(scene)));
  KP_TRY(kp_world_build(world));
  for (int64_t i = 0; i < of->steps; ++i) {
    kp_step_report report;
    KP_TRY(kp_world_step(world, LONGEST, &report));
  }
  KP_TRY(kp_world_store_clock(world));
  kp_batch_begin(state, world, 1, 0);
  KP_TRY(kp_batch_add_state(state, world));
  KP_TRY(add_probes(state, world));
  return add_surfaces(state, world, &extras->surface);
}

static kp_result load_scene(const golden_case *of, kp_extras *extras, kp_scene **scene) {
  char path[4096];
  const char *folder = strchr(of->scene, '/') == NULL ? "tests/golden/scenes/" : "";
  (void)snprintf(path, sizeof path, "%s/%s%s", kp_test_source_dir(), folder, of->scene);
  kp_extras_init(extras);
  kp_scene_options options = kp_extras_options(extras, of->sets, of->n_sets);
  return kp_scene_load(path, &options, scene);
}

kp_result golden_run(const golden_case *of, const char *backend, kp_batch *state) {
  kp_extras extras;
  kp_scene *scene = NULL;
  kp_world *world = NULL;
  kp_result result = load_scene(of, &extras, &scene);
  if (result == KP_OK) {
    result = kp_spec_check(kp_scene_spec(scene));
  }
  if (result == KP_OK) {
    result = kp_world_create(backend, &world);
  }
  if (result == KP_OK) {
    result = run_scene(of, scene, &extras, world, state);
  }
  kp_world_destroy(&world);
  kp_scene_free(&scene);
  return result;
}

kp_result golden_used(const golden_case *of, kp_text *text) {
  kp_extras extras;
  kp_scene *scene;
  KP_TRY(load_scene(of, &extras, &scene));
  kp_result result = kp_scene_write_used(scene, text);
  kp_scene_free(&scene);
  return result;
}

// ---- hashes

static uint64_t hash_name(const char *name) {
  return kp_hash_bytes(name, strlen(name), 1);
}

static uint64_t hash_field(const kp_section *field) {
  return kp_hash_bytes(field->data, field->count * kp_item_size(field->type), field->count);
}

uint64_t golden_hash(const kp_batch *state) {
  uint64_t sum = 0;
  for (size_t i = 0; i < state->sections.count; ++i) {
    const kp_section *field = &state->sections.data[i];
    sum += kp_hash_mix(hash_name(field->name) ^ kp_hash_mix(hash_field(field)));
  }
  return sum;
}

// ---- what differs

static double value_of(const kp_section *field, uint64_t i) {
  return kp_item_value(field->type, (const char *)field->data + i * kp_item_size(field->type));
}

static bool is_same_item(const kp_section *a, const kp_section *b, uint64_t i) {
  size_t size = kp_item_size(a->type);
  return memcmp((const char *)a->data + i * size, (const char *)b->data + i * size, size) == 0;
}

static void tell_element(const kp_section *field, uint64_t i, double before, const char *more) {
  double now = value_of(field, i);
  print_message("    %s, element %" PRIu64 " of %" PRIu64 ": %.17g, was %.17g: %.3g apart%s\n",
                field->name, i, field->count, now, before, fabs(now - before), more);
}

static bool compare_fields(const kp_section *now, const kp_section *before, bool is_told) {
  if (now->count != before->count || now->type != before->type) {
    if (is_told) {
      print_message("    %s has %" PRIu64 " elements, had %" PRIu64 "\n", now->name, now->count,
                    before->count);
    }
    return false;
  }
  uint64_t first = now->count, n_other = 0;
  double worst = 0.0;
  for (uint64_t i = 0; i < now->count; ++i) {
    if (!is_same_item(now, before, i)) {
      first = n_other == 0 ? i : first;
      worst = fmax(worst, fabs(value_of(now, i) - value_of(before, i)));
      ++n_other;
    }
  }
  if (n_other > 0 && is_told) {
    char more[96];
    (void)snprintf(more, sizeof more, "; %" PRIu64 " elements differ, by %.3g at most", n_other,
                   worst);
    tell_element(now, first, value_of(before, first), more);
  }
  return n_other == 0;
}

static void tell_missing(const char *title, int *n_other, const char *name, const char *what) {
  if (*n_other == 0) {
    print_message("%s\n", title);
  }
  if (++*n_other <= TOLD) {
    print_message("    %s %s\n", name, what);
  }
}

static void tell_rest(int n_other, size_t n_fields) {
  if (n_other > 0) {
    print_message("    (%d of %zu fields differ)\n", n_other, n_fields);
  }
}

int golden_compare(const char *title, const kp_batch *now, const kp_batch *before) {
  int n_other = 0;
  for (size_t i = 0; i < now->sections.count; ++i) {
    const kp_section *field = &now->sections.data[i];
    const kp_section *old = kp_batch_find(before, field->name);
    if (old == NULL) {
      tell_missing(title, &n_other, field->name, "is new");
    } else if (!compare_fields(field, old, false)) {
      if (n_other == 0) {
        print_message("%s\n", title);
      }
      (void)compare_fields(field, old, n_other++ < TOLD);
    }
  }
  for (size_t i = 0; i < before->sections.count; ++i) {
    if (kp_batch_find(now, before->sections.data[i].name) == NULL) {
      tell_missing(title, &n_other, before->sections.data[i].name, "is gone");
    }
  }
  tell_rest(n_other, now->sections.count);
  return n_other;
}

// ---- records: per field the hashes of name and items, their number, and some values

#define FIELD_WORDS (3 + GOLDEN_WITNESSES)

static uint64_t witness(uint64_t count, int k) {
  return count * (uint64_t)k / GOLDEN_WITNESSES;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double value_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

kp_result golden_record_make(const kp_batch *state, golden_record *record) {
  for (size_t i = 0; i < state->sections.count; ++i) {
    const kp_section *field = &state->sections.data[i];
    KP_TRY(kp_array_push(&record->words, hash_name(field->name)));
    KP_TRY(kp_array_push(&record->words, hash_field(field)));
    KP_TRY(kp_array_push(&record->words, field->count));
    for (int k = 0; k < GOLDEN_WITNESSES; ++k) {
      bool is_there = field->count > 0;
      double value = is_there ? value_of(field, witness(field->count, k)) : 0.0;
      KP_TRY(kp_array_push(&record->words, bits_of(value)));
    }
  }
  return KP_OK;
}

static const uint64_t *find_record(const uint64_t *words, size_t n_words, uint64_t name) {
  for (size_t i = 0; i + FIELD_WORDS <= n_words; i += FIELD_WORDS) {
    if (words[i] == name) {
      return words + i;
    }
  }
  return NULL;
}

static void tell_witness(const kp_section *field, const uint64_t *record) {
  if (field->count != record[2]) {
    print_message("    %s has %" PRIu64 " elements, had %" PRIu64 "\n", field->name, field->count,
                  record[2]);
    return;
  }
  for (int k = 0; k < GOLDEN_WITNESSES; ++k) {
    uint64_t i = witness(field->count, k);
    if (bits_of(value_of(field, i)) != record[3 + k]) {
      tell_element(field, i, value_of_bits(record[3 + k]), ", the first of those kept");
      return;
    }
  }
  print_message("    %s differs, in none of the %d elements whose values are kept: tools/golden "
                "--against another build tells where\n",
                field->name, GOLDEN_WITNESSES);
}

int golden_record_compare(const char *title, const kp_batch *now, const uint64_t *words,
                          size_t n_words) {
  int n_other = 0;
  for (size_t i = 0; i < now->sections.count; ++i) {
    const kp_section *field = &now->sections.data[i];
    const uint64_t *record = find_record(words, n_words, hash_name(field->name));
    if (record == NULL) {
      tell_missing(title, &n_other, field->name, "is new");
    } else if (record[1] != hash_field(field) || record[2] != field->count) {
      if (n_other++ == 0) {
        print_message("%s\n", title);
      }
      if (n_other <= TOLD) {
        tell_witness(field, record);
      }
    }
  }
  if (n_words / FIELD_WORDS > now->sections.count) {
    tell_missing(title, &n_other, "the record", "has fields that are gone");
  }
  tell_rest(n_other, now->sections.count);
  return n_other;
}
