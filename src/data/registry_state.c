// The state as a whole: visiting, hashing and loading it, each one loop over the registry.
#include <string.h>

#include "base/hash.h"
#include "data/field.h"
#include "data/registry.h"

#define GATHER_BYTES 4096  // cold items are hashed in blocks of about this size

bool kp_space_is_saved(const kp_space *space) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    if ((space->fields.data[k]->flags & KP_FIELD_SAVE) != 0) {
      return true;
    }
  }
  return false;
}

kp_result kp_registry_visit(kp_registry *registry, uint32_t flags, kp_visit_fn fn, void *user) {
  for (size_t s = 0; s < registry->spaces.count; ++s) {
    kp_space *space = registry->spaces.data[s];
    for (size_t k = 0; k < space->fields.count; ++k) {
      kp_field *field = space->fields.data[k];
      for (int c = 0; c < field->components && (field->flags & flags) == flags; ++c) {
        kp_field_view view = {
          .space = space, .field = field, .component = c, .count = kp_field_items(field)
        };
        void *data;
        KP_TRY(kp_buffer_get(&field->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, &data));
        view.data = data;
        KP_TRY(fn(&view, user));
      }
    }
  }
  return KP_OK;
}

// Add the items of a cold component in the order of the elements.
static kp_result hash_cold(kp_hash *hash, const kp_field_view *view) {
  kp_space *space = view->field->space;
  void *memory;
  KP_TRY(kp_buffer_get(&space->slot->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
  const uint32_t *slots = memory;
  size_t stride = kp_field_stride(view->field);
  char block[GATHER_BYTES];
  size_t n_bytes = 0;
  for (int64_t i = 0; i < space->n; ++i) {
    const char *place = (const char *)view->data + slots[i] * stride;
    if (n_bytes + stride > sizeof block) {
      kp_hash_add(hash, block, n_bytes);
      n_bytes = 0;
    }
    if (stride > sizeof block) {
      kp_hash_add(hash, place, stride);
    } else {
      memcpy(block + n_bytes, place, stride);
      n_bytes += stride;
    }
  }
  kp_hash_add(hash, block, n_bytes);
  return KP_OK;
}

static kp_result hash_view(const kp_field_view *view, void *user) {
  kp_hash *hash = user;
  // which slots the cold items lie in is no part of the state
  if (view->field == view->space->slot) {
    return KP_OK;
  }
  kp_hash_add(hash, view->field->name, strlen(view->field->name));
  kp_hash_add(hash, &view->space->n, sizeof view->space->n);
  if ((view->field->flags & KP_FIELD_COLD) != 0) {
    return hash_cold(hash, view);
  }
  kp_hash_add(hash, view->data, (size_t)view->count * kp_type_size(view->field->type));
  return KP_OK;
}

kp_result kp_registry_hash(kp_registry *registry, uint64_t *out) {
  kp_hash hash = kp_hash_begin(0);
  KP_TRY(kp_registry_visit(registry, KP_FIELD_SAVE, hash_view, &hash));
  *out = kp_hash_end(&hash);
  return KP_OK;
}

static void hash_number(kp_hash *hash, uint64_t number) {
  kp_hash_add(hash, &number, sizeof number);
}

// The length goes with the letters, so that names cannot run into each other.
static void hash_name(kp_hash *hash, const char *name) {
  size_t length = strlen(name);
  hash_number(hash, length);
  kp_hash_add(hash, name, length);
}

uint64_t kp_registry_layout(const kp_registry *registry) {
  kp_hash hash = kp_hash_begin(1);
  for (size_t s = 0; s < registry->spaces.count; ++s) {
    const kp_space *space = registry->spaces.data[s];
    hash_name(&hash, space->name);
    hash_number(&hash, (uint64_t)space->kind);
    for (size_t k = 0; k < space->fields.count; ++k) {
      const kp_field *field = space->fields.data[k];
      // scratch may come and go with a run: images of periodic faces get their fields when needed
      if (!(field->flags & KP_FIELD_SAVE)) {
        continue;
      }
      hash_name(&hash, field->name);
      hash_number(&hash, (uint64_t)field->type);
      hash_number(&hash, kp_type_size(field->type));
      hash_number(&hash, (uint64_t)field->components);
      hash_number(&hash, (uint64_t)field->width);
      hash_number(&hash, field->flags);
    }
  }
  return kp_hash_end(&hash);
}

typedef struct loader {
  kp_load_fn read;
  void *user;
} loader;

// Counts of a space as the source has them: elements, and cold slots where there are some.
static kp_result load_counts(const kp_space *space, const loader *from, int64_t *n,
                             int64_t *n_slots) {
  *n = -1;
  *n_slots = -1;
  for (size_t k = 0; k < space->fields.count; ++k) {
    const kp_field *field = space->fields.data[k];
    int64_t *wanted = (field->flags & KP_FIELD_COLD) != 0 ? n_slots : n;
    for (int c = 0; c < field->components && (field->flags & KP_FIELD_SAVE) != 0; ++c) {
      int64_t count = -1;
      KP_TRY(from->read(space->name, field->name, c, &count, NULL, from->user));
      int64_t places = count / field->width;
      if (count < 0 || places > KP_SPACE_MOST || places * field->width != count ||
          (*wanted >= 0 && places != *wanted)) {
        return kp_fail(KP_ERROR_FORMAT,
                       "\"%s/%s/%d\" has %lld items of %lld each, its neighbours have %lld",
                       space->name, field->name, c, (long long)count, (long long)field->width,
                       (long long)*wanted);
      }
      *wanted = places;
    }
  }
  // spaces without saved cold fields get one slot for each element
  *n_slots = *n_slots < 0 ? *n : *n_slots;
  if (space->slot != NULL && *n_slots < *n) {
    return kp_fail(KP_ERROR_FORMAT, "space \"%s\" has %lld elements but only %lld cold slots",
                   space->name, (long long)*n, (long long)*n_slots);
  }
  return KP_OK;
}

static kp_result check_counts(const kp_registry *registry, const loader *from) {
  for (size_t s = 0; s < registry->spaces.count; ++s) {
    int64_t n;
    int64_t n_slots;
    KP_TRY(load_counts(registry->spaces.data[s], from, &n, &n_slots));
  }
  return KP_OK;
}

static kp_result load_component(kp_field *field, int c, const loader *from) {
  int64_t wanted = kp_field_items(field);
  int64_t count = wanted;
  void *data;
  KP_TRY(kp_buffer_get(&field->buffers[c], KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &data));
  KP_TRY(from->read(field->space->name, field->name, c, &count, data, from->user));
  if (count != wanted) {
    return kp_fail(KP_ERROR_FORMAT, "\"%s/%s/%d\" gave %lld items instead of %lld",
                   field->space->name, field->name, c, (long long)count, (long long)wanted);
  }
  return KP_OK;
}

static kp_result load_space(kp_space *space, const loader *from) {
  int64_t n;
  int64_t n_slots;
  KP_TRY(load_counts(space, from, &n, &n_slots));
  n_slots = space->slot != NULL ? n_slots : 0;
  KP_TRY(kp_space_reserve_fields(space, n, n_slots));
  // empty first: the fit then gives every field its initial values
  KP_TRY(kp_space_fit(space, 0, 0));
  KP_TRY(kp_space_fit(space, n, n_slots));
  space->n = n;
  space->n_slots = n_slots;
  ++space->revision;
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    for (int c = 0; c < field->components && (field->flags & KP_FIELD_SAVE) != 0; ++c) {
      KP_TRY(load_component(field, c, from));
    }
  }
  return space->slot != NULL ? kp_space_index_slots(space, n_slots) : KP_OK;
}

kp_result kp_registry_load(kp_registry *registry, kp_load_fn read, void *user) {
  loader from = { .read = read, .user = user };
  KP_TRY(check_counts(registry, &from));
  for (size_t s = 0; s < registry->spaces.count; ++s) {
    if (kp_space_is_saved(registry->spaces.data[s])) {
      KP_TRY(load_space(registry->spaces.data[s], &from));
    }
  }
  return KP_OK;
}
