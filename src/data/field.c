#include "data/field.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "data/call.h"
#include "data/registry.h"

DATA_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define SLOT_NAME "slot"

kp_result kp_registry_create(kp_backend *backend, kp_registry **out) {
  *out = kp_alloc_zero(sizeof **out, KP_MEMORY_FIELD);
  if (*out == NULL) {
    return KP_ERROR_MEMORY;
  }
  (*out)->backend = backend;
  return KP_OK;
}

static void free_field(kp_field *field) {
  for (int c = 0; c < field->components; ++c) {
    kp_buffer_free(&field->buffers[c]);
  }
  kp_free(field);
}

static void free_space(kp_space *space) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    free_field(space->fields.data[k]);
  }
  kp_array_free(&space->fields);
  kp_array_free(&space->free_slots);
  for (size_t k = 0; k < sizeof space->spare / sizeof space->spare[0]; ++k) {
    kp_buffer_free(&space->spare[k]);
  }
  for (size_t k = 0; k < sizeof space->scratch / sizeof space->scratch[0]; ++k) {
    kp_buffer_free(&space->scratch[k]);
  }
  kp_free(space);
}

void kp_registry_destroy(kp_registry **registry) {
  if (*registry == NULL) {
    return;
  }
  for (size_t k = 0; k < (*registry)->spaces.count; ++k) {
    free_space((*registry)->spaces.data[k]);
  }
  kp_array_free(&(*registry)->spaces);
  kp_free(*registry);
  *registry = NULL;
}

// Names go to files and sections as space/field/component, so they are short and without a slash.
static kp_result check_name(const char *what, const char *name) {
  if (name == NULL || name[0] == '\0' || strlen(name) >= KP_NAME_SIZE ||
      strchr(name, '/') != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "the %s name \"%s\" must have 1 to %d letters and no '/'",
                   what, name != NULL ? name : "", KP_NAME_SIZE - 1);
  }
  return KP_OK;
}

kp_space *kp_registry_find(const kp_registry *registry, const char *name) {
  for (size_t k = 0; k < registry->spaces.count; ++k) {
    if (strcmp(registry->spaces.data[k]->name, name) == 0) {
      return registry->spaces.data[k];
    }
  }
  return NULL;
}

kp_result kp_registry_add_space(kp_registry *registry, const char *name, kp_space_kind kind,
                                kp_space **out) {
  *out = NULL;
  KP_TRY(check_name("space", name));
  if (kp_registry_find(registry, name) != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "there are two spaces of the name \"%s\"", name);
  }
  kp_space *space = kp_alloc_zero(sizeof *space, KP_MEMORY_FIELD);
  if (space == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (kp_array_push(&registry->spaces, space) != KP_OK) {
    kp_free(space);
    return KP_ERROR_MEMORY;
  }
  kp_text_copy(space->name, sizeof space->name, name);
  space->kind = kind;
  space->backend = registry->backend;
  space->registry = registry;
  for (size_t k = 0; k < sizeof space->spare / sizeof space->spare[0]; ++k) {
    kp_buffer_init(&space->spare[k], space->backend);
  }
  for (size_t k = 0; k < sizeof space->scratch / sizeof space->scratch[0]; ++k) {
    kp_buffer_init(&space->scratch[k], space->backend);
    space->scratch[k].tag = KP_MEMORY_SCRATCH;
    space->scratch[k].type = KP_TYPE_U32;
  }
  *out = space;
  return KP_OK;
}

void kp_registry_remove_space(kp_registry *registry, kp_space **space) {
  size_t n_left = 0;
  for (size_t k = 0; k < registry->spaces.count; ++k) {
    if (registry->spaces.data[k] != *space) {
      registry->spaces.data[n_left++] = registry->spaces.data[k];
    }
  }
  if (n_left < registry->spaces.count) {
    free_space(*space);
  }
  registry->spaces.count = n_left;
  *space = NULL;
}

kp_field *kp_space_find(const kp_space *space, const char *name) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    if (strcmp(space->fields.data[k]->name, name) == 0) {
      return space->fields.data[k];
    }
  }
  return NULL;
}

// The value must be exact in the field's type, or defaults would depend on a conversion.
static bool initial_fits(kp_type type, double initial) {
  static const double lowest[KP_TYPE_COUNT] = { [KP_TYPE_I32] = -2147483648.0 };
  static const double highest[KP_TYPE_COUNT] = { [KP_TYPE_U8] = 255.0,
                                                 [KP_TYPE_I32] = 2147483647.0,
                                                 [KP_TYPE_U32] = 4294967295.0,
                                                 [KP_TYPE_U64] = 9007199254740992.0 };
  if (highest[type] == 0.0) {
    return true;
  }
  return initial >= lowest[type] && initial <= highest[type] && initial == floor(initial);
}

static kp_result check_desc(const kp_space *space, const kp_field_desc *desc) {
  KP_TRY(check_name("field", desc->name));
  if (kp_space_find(space, desc->name) != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "space \"%s\" has two fields of the name \"%s\"", space->name,
                   desc->name);
  }
  if ((unsigned)desc->type >= KP_TYPE_COUNT || desc->components < 1 ||
      desc->components > KP_FIELD_COMPONENTS) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "field \"%s/%s\" must have a known type and 1 to %d components", space->name,
                   desc->name, KP_FIELD_COMPONENTS);
  }
  if (!initial_fits(desc->type, desc->initial)) {
    return kp_fail(KP_ERROR_ARGUMENT, "field \"%s/%s\" cannot hold its initial value %g",
                   space->name, desc->name, desc->initial);
  }
  return KP_OK;
}

static kp_result check_width(const kp_space *space, const kp_field_desc *desc, int64_t width) {
  bool may_be_wide = (desc->flags & KP_FIELD_COLD) != 0 && kp_type_size(desc->type) >= 4;
  if (width < 1 || width > KP_FIELD_WIDEST || (width > 1 && !may_be_wide)) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "field \"%s/%s\" has %lld items per element: more than one, and at most %d, is "
                   "for COLD fields with items of 4 or 8 bytes",
                   space->name, desc->name, (long long)width, KP_FIELD_WIDEST);
  }
  return KP_OK;
}

static kp_field *make_field(kp_space *space, const kp_field_desc *desc, int64_t width) {
  kp_field *field = kp_alloc_zero(sizeof *field, KP_MEMORY_FIELD);
  if (field == NULL) {
    return NULL;
  }
  kp_text_copy(field->name, sizeof field->name, desc->name);
  kp_text_copy(field->unit, sizeof field->unit, desc->unit != NULL ? desc->unit : "");
  field->type = desc->type;
  field->components = desc->components;
  field->width = width;
  field->flags = desc->flags;
  field->initial = desc->initial;
  field->space = space;
  for (int c = 0; c < field->components; ++c) {
    kp_buffer_init(&field->buffers[c], space->backend);
    field->buffers[c].type = (uint8_t)desc->type;
  }
  return field;
}

static kp_result add_one(kp_space *space, const kp_field_desc *desc, int64_t width) {
  kp_field *field = make_field(space, desc, width);
  if (field == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = KP_OK;
  for (int c = 0; c < field->components && result == KP_OK; ++c) {
    size_t bytes = (size_t)kp_field_places(field) * kp_field_stride(field);
    result = kp_buffer_reserve(&field->buffers[c], bytes);
    if (result == KP_OK) {
      result = kp_field_fit(field, c, kp_field_places(field));
    }
  }
  if (result == KP_OK) {
    result = kp_array_push(&space->fields, field);
  }
  if (result != KP_OK) {
    free_field(field);
  }
  return result;
}

// The field that names each element's cold slot comes with the first COLD field: slot i for element
// i.
static kp_result add_slot_field(kp_space *space) {
  kp_field_desc desc = { .name = SLOT_NAME,
                         .type = KP_TYPE_U32,
                         .components = 1,
                         .unit = "",
                         .flags = KP_FIELD_SAVE | KP_FIELD_SORT };
  KP_TRY(add_one(space, &desc, 1));
  space->slot = space->fields.data[space->fields.count - 1];
  space->n_slots = space->n;
  data_iota_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &data_iota_kernel, &a);
  KP_BIND(&call, &a, out, &space->slot->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(space->backend, &call, space->n);
}

static kp_result add_checked(kp_space *space, const kp_field_desc *desc, int64_t width) {
  KP_TRY(check_desc(space, desc));
  KP_TRY(check_width(space, desc, width));
  if ((desc->flags & KP_FIELD_COLD) != 0 && space->slot == NULL) {
    if (strcmp(desc->name, SLOT_NAME) == 0 || kp_space_find(space, SLOT_NAME) != NULL) {
      return kp_fail(KP_ERROR_ARGUMENT,
                     "space \"%s\" has a field \"%s\": the name belongs to the COLD fields",
                     space->name, SLOT_NAME);
    }
    KP_TRY(add_slot_field(space));
  }
  return add_one(space, desc, width);
}

static kp_result add_all(kp_space *space, const kp_field_desc *descs, size_t n, int64_t width) {
  size_t n_before = space->fields.count;
  kp_field *slot_before = space->slot;
  for (size_t k = 0; k < n; ++k) {
    kp_result result = add_checked(space, &descs[k], width);
    if (result != KP_OK) {
      while (space->fields.count > n_before) {
        free_field(space->fields.data[--space->fields.count]);
      }
      space->slot = slot_before;
      space->n_slots = slot_before != NULL ? space->n_slots : 0;
      return result;
    }
  }
  return KP_OK;
}

kp_result kp_space_add_fields(kp_space *space, const kp_field_desc *descs, size_t n) {
  return add_all(space, descs, n, 1);
}

kp_result kp_space_add_wide_field(kp_space *space, const kp_field_desc *desc, int64_t width,
                                  kp_field **out) {
  *out = NULL;
  KP_TRY(add_all(space, desc, 1, width));
  *out = space->fields.data[space->fields.count - 1];
  return KP_OK;
}

kp_result kp_space_add_field(kp_space *space, const kp_field_desc *desc, kp_field **out) {
  *out = NULL;
  KP_TRY(kp_space_add_fields(space, desc, 1));
  *out = space->fields.data[space->fields.count - 1];
  return KP_OK;
}

double kp_space_bytes_per_element(const kp_space *space) {
  size_t bytes = 0;
  bool has_spare[9] = { false };
  for (size_t k = 0; k < space->fields.count; ++k) {
    const kp_field *field = space->fields.data[k];
    size_t item = kp_type_size(field->type);
    bytes += kp_field_stride(field) * (size_t)field->components;
    // the sort needs one array more for each item size
    if ((field->flags & KP_FIELD_SORT) != 0 && (field->flags & KP_FIELD_COLD) == 0) {
      has_spare[item] = true;
    }
  }
  for (size_t item = 1; item < sizeof has_spare / sizeof has_spare[0]; ++item) {
    bytes += has_spare[item] ? item : 0;
  }
  return (double)bytes;
}
