#include "data/pair_rows.h"

#include <stdio.h>

#include "base/memory.h"
#include "data/call.h"
#include "data/pair_rows_kernels.h"
#include "data/registry.h"
#include "par/kernel_define.h"

ROWS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define N_SPARES 3

static kp_result store(kp_pair_rows *rows) {
  const double numbers[3] = { rows->is_built ? 1.0 : 0.0, rows->radius, rows->travelled };
  for (int c = 0; c < 3; ++c) {
    void *memory;
    KP_TRY(kp_buffer_get(&rows->numbers->buffers[c], KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory));
    *(double *)memory = numbers[c];
  }
  return KP_OK;
}

// --- create --------------------------------------------------------------------------------------

static kp_result add_row_fields(kp_pair_rows *rows, const char *name) {
  char begin[KP_NAME_SIZE + 8];
  char count[KP_NAME_SIZE + 8];
  snprintf(begin, sizeof begin, "%s_begin", name);
  snprintf(count, sizeof count, "%s_count", name);
  // a new element has an empty row; MIGRATE comes with rows that can travel
  uint32_t flags = KP_FIELD_SAVE | KP_FIELD_SORT;
  kp_field_desc descs[] = {
    { .name = begin, .type = KP_TYPE_U32, .components = 1, .unit = "", .flags = flags },
    { .name = count, .type = KP_TYPE_U32, .components = 1, .unit = "", .flags = flags },
  };
  KP_TRY(kp_space_add_fields(rows->set->space, descs, 2));
  rows->begin = kp_space_find(rows->set->space, begin);
  rows->count = kp_space_find(rows->set->space, count);
  return KP_OK;
}

static kp_result add_entry_fields(kp_pair_rows *rows, const kp_pair_rows_def *def) {
  static const kp_field_desc descs[] = {
    { .name = "partner", .type = KP_TYPE_U32, .components = 1, .unit = "", .flags = KP_FIELD_SAVE },
    { .name = "partner_id",
      .type = KP_TYPE_U64,
      .components = 1,
      .unit = "",
      .flags = KP_FIELD_SAVE },
  };
  KP_TRY(kp_space_add_fields(rows->space, descs, 2));
  rows->partner = kp_space_find(rows->space, "partner");
  rows->partner_id = kp_space_find(rows->space, "partner_id");
  for (size_t k = 0; k < def->n_values; ++k) {
    if ((def->values[k].flags & KP_FIELD_COLD) != 0) {
      return kp_fail(KP_ERROR_ARGUMENT, "field \"%s/%s\" of pair rows cannot be COLD", def->name,
                     def->values[k].name);
    }
  }
  return kp_space_add_fields(rows->space, def->values, def->n_values);
}

static kp_result add_state(kp_pair_rows *rows, kp_registry *registry, const char *name) {
  char state[KP_NAME_SIZE + 8];
  snprintf(state, sizeof state, "%s.rows", name);
  KP_TRY(kp_registry_add_space(registry, state, KP_SPACE_GLOBAL, &rows->state));
  kp_field_desc desc = {
    .name = "numbers", .type = KP_TYPE_F64, .components = 3, .unit = "", .flags = KP_FIELD_SAVE
  };
  KP_TRY(kp_space_add_field(rows->state, &desc, &rows->numbers));
  KP_TRY(kp_space_append(rows->state, 1, NULL, 0));
  return store(rows);
}

kp_result kp_pair_rows_create(kp_registry *registry, const kp_pair_rows_def *def,
                              kp_pair_rows **out) {
  *out = NULL;
  kp_pair_rows *rows = kp_alloc_zero(sizeof *rows, KP_MEMORY_FIELD);
  if (rows == NULL) {
    return KP_ERROR_MEMORY;
  }
  rows->set = def->set;
  rows->partners = def->partners != NULL ? def->partners : def->set;
  kp_buffer_init(&rows->starts, registry->backend);
  kp_buffer_init(&rows->source, registry->backend);
  for (int k = 0; k < N_SPARES; ++k) {
    kp_buffer_init(&rows->spare[k], registry->backend);
  }
  kp_result result = kp_registry_add_space(registry, def->name, KP_SPACE_PAIRS, &rows->space);
  if (result == KP_OK) {
    result = add_entry_fields(rows, def);
  }
  if (result == KP_OK) {
    result = add_state(rows, registry, def->name);
  }
  if (result == KP_OK) {
    result = add_row_fields(rows, def->name);
  }
  if (result != KP_OK) {
    if (rows->state != NULL) {
      kp_registry_remove_space(registry, &rows->state);
    }
    if (rows->space != NULL) {
      kp_registry_remove_space(registry, &rows->space);
    }
    kp_pair_rows_destroy(&rows);
    return result;
  }
  *out = rows;
  return KP_OK;
}

void kp_pair_rows_destroy(kp_pair_rows **rows) {
  kp_pair_rows *r = *rows;
  if (r != NULL) {
    kp_pair_lists_free(&r->lists);
    kp_pair_lists_free(&r->image_lists);
    kp_buffer_free(&r->starts);
    kp_buffer_free(&r->source);
    for (int k = 0; k < N_SPARES; ++k) {
      kp_buffer_free(&r->spare[k]);
    }
    kp_free(r);
    *rows = NULL;
  }
}

// --- state ---------------------------------------------------------------------------------------

// Elements of a tied set stay where they are in memory, whatever else happens to them.
static uint64_t revision_of(const kp_set *set) {
  return set->kind == KP_SET_TIED ? (uint64_t)set->space->n : set->space->revision;
}

bool kp_pair_rows_is_current(const kp_pair_rows *rows) {
  return rows->is_built && rows->set_revision == revision_of(rows->set) &&
         rows->partners_revision == revision_of(rows->partners);
}

kp_result kp_pair_rows_travel(kp_pair_rows *rows, double distance) {
  rows->travelled += distance;
  return store(rows);
}

kp_result kp_pair_rows_loaded(kp_pair_rows *rows) {
  double numbers[3];
  for (int c = 0; c < 3; ++c) {
    void *memory;
    KP_TRY(kp_buffer_get(&rows->numbers->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
    numbers[c] = *(const double *)memory;
  }
  rows->is_built = numbers[0] != 0.0;
  rows->radius = numbers[1];
  rows->travelled = numbers[2];
  rows->set_revision = revision_of(rows->set);
  rows->partners_revision = revision_of(rows->partners);
  return KP_OK;
}

// --- build ---------------------------------------------------------------------------------------

static kp_result find_partners(kp_pair_rows *rows, const kp_pair_rows_search *s) {
  KP_TRY(kp_pair_lists_build(&rows->lists, s->cells, s->partner_cells, s->radius, false));
  if (s->images != NULL) {
    KP_TRY(kp_pair_lists_build(&rows->image_lists, s->cells, s->image_cells, s->radius, false));
  }
  return KP_OK;
}

// Starts of the new rows; their sum comes to the host.
static kp_result count_entries(kp_pair_rows *rows, bool has_images, int64_t *n_entries) {
  kp_backend *backend = rows->starts.backend;
  int64_t n = rows->set->space->n;
  KP_TRY(kp_buffer_resize(&rows->starts, (size_t)(n + 1) * sizeof(uint32_t)));
  rows->starts.type = KP_TYPE_U32;
  rows_count_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &rows_count_kernel, &a);
  KP_BIND(&call, &a, start, &rows->lists.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, image_start, has_images ? &rows->image_lists.start : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, counts, &rows->starts, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, n));
  void *device;
  KP_TRY(kp_buffer_get(&rows->starts, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &device));
  KP_TRY(kp_scan(backend, device, device, n));
  uint32_t total;
  KP_TRY(kp_copy_out(backend, &total, (uint32_t *)device + n, sizeof total));
  *n_entries = total;
  // both lists are below 2^32, their sum need not be
  int64_t wanted = rows->lists.n_pairs + (has_images ? rows->image_lists.n_pairs : 0);
  if (wanted > KP_SPACE_MOST) {
    return kp_fail(KP_ERROR_MEMORY, "\"%s\" cannot hold %lld pairs: the most is %lld",
                   rows->space->name, (long long)wanted, KP_SPACE_MOST);
  }
  return KP_OK;
}

static kp_buffer *spare_of(kp_pair_rows *rows, size_t item) {
  return &rows->spare[item == 1 ? 0 : item == 4 ? 1 : 2];
}

// All memory of n entries: past this point only a broken device stops half-way.
static kp_result reserve(kp_pair_rows *rows, int64_t n) {
  KP_TRY(kp_space_reserve_fields(rows->space, n, 0));
  KP_TRY(kp_buffer_resize(&rows->source, (size_t)n * sizeof(uint32_t)));
  rows->source.type = KP_TYPE_U32;
  for (size_t f = 0; f < rows->space->fields.count; ++f) {
    kp_field *field = rows->space->fields.data[f];
    for (int c = 0; c < field->components; ++c) {
      kp_buffer *spare = spare_of(rows, kp_type_size(field->type));
      // as large as what it will change places with, so that the next build allocates nothing
      KP_TRY(kp_buffer_reserve(spare, field->buffers[c].capacity));
    }
  }
  return KP_OK;
}

static kp_result resize_spare(kp_pair_rows *rows, const kp_field *field, int64_t n,
                              kp_buffer **out) {
  size_t item = kp_type_size(field->type);
  *out = spare_of(rows, item);
  (*out)->type = (uint8_t)field->type;
  return kp_buffer_resize(*out, (size_t)n * item);
}

static kp_result match(kp_pair_rows *rows, const kp_pair_rows_search *s, int64_t n_entries) {
  kp_buffer *partner;
  kp_buffer *partner_id;
  KP_TRY(resize_spare(rows, rows->partner, n_entries, &partner));
  KP_TRY(resize_spare(rows, rows->partner_id, n_entries, &partner_id));
  bool has_images = s->images != NULL;
  rows_match_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &rows_match_kernel, &a);
  KP_BIND(&call, &a, start, &rows->lists.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, indices, &rows->lists.indices, KP_ACCESS_READ);
  KP_BIND(&call, &a, image_start, has_images ? &rows->image_lists.start : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, image_indices, has_images ? &rows->image_lists.indices : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, image_source, has_images ? &s->images->source->buffers[0] : NULL,
          KP_ACCESS_READ);
  KP_BIND(&call, &a, starts, &rows->starts, KP_ACCESS_READ);
  KP_BIND(&call, &a, id, &rows->partners->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, old_begin, &rows->begin->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, old_count, &rows->count->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, old_id, &rows->partner_id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, partner, partner, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, source, &rows->source, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, partner_id, partner_id, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(rows->source.backend, &call, rows->set->space->n));
  kp_buffer_swap_device(&rows->partner->buffers[0], partner);
  kp_buffer_swap_device(&rows->partner_id->buffers[0], partner_id);
  return KP_OK;
}

static kp_result carry(kp_pair_rows *rows, kp_field *field, int component, int64_t n_entries) {
  kp_buffer *spare;
  KP_TRY(resize_spare(rows, field, n_entries, &spare));
  size_t item = kp_type_size(field->type);
  rows_carry_args a = { .initial = kp_field_initial_bits(field), .width = 1 };
  kp_call call;
  kp_call_init(&call,
               item == 1   ? &rows_carry1_kernel
               : item == 4 ? &rows_carry4_kernel
                           : &rows_carry8_kernel,
               &a);
  KP_BIND(&call, &a, in, &field->buffers[component], KP_ACCESS_READ);
  KP_BIND(&call, &a, source, &rows->source, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, spare, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(rows->source.backend, &call, n_entries));
  kp_buffer_swap_device(&field->buffers[component], spare);
  return KP_OK;
}

static kp_result adopt(kp_pair_rows *rows) {
  rows_adopt_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &rows_adopt_kernel, &a);
  KP_BIND(&call, &a, starts, &rows->starts, KP_ACCESS_READ);
  KP_BIND(&call, &a, begin, &rows->begin->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, count, &rows->count->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(rows->starts.backend, &call, rows->set->space->n);
}

kp_result kp_pair_rows_build(kp_pair_rows *rows, const kp_pair_rows_search *search) {
  int64_t n_entries;
  KP_TRY(find_partners(rows, search));
  KP_TRY(count_entries(rows, search->images != NULL, &n_entries));
  KP_TRY(reserve(rows, n_entries));
  KP_TRY(match(rows, search, n_entries));
  for (size_t f = 0; f < rows->space->fields.count; ++f) {
    kp_field *field = rows->space->fields.data[f];
    for (int c = 0; c < field->components; ++c) {
      if (field != rows->partner && field != rows->partner_id) {
        KP_TRY(carry(rows, field, c, n_entries));
      }
    }
  }
  KP_TRY(adopt(rows));
  rows->space->n = n_entries;
  ++rows->space->revision;
  ++rows->n_builds;
  rows->is_built = true;
  rows->radius = search->radius;
  rows->travelled = 0.0;
  rows->set_revision = revision_of(rows->set);
  rows->partners_revision = revision_of(rows->partners);
  return store(rows);
}
