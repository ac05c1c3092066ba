#include "run/batch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "io/frame_data.h"
#include "run/record.h"

void kp_batch_begin(kp_batch *batch, kp_world *world, uint32_t kind, uint64_t frame) {
  batch->sections.count = 0;
  batch->head = (kp_container_head){ .kind = kind, .frame = frame, .real_size = sizeof(kp_real) };
  batch->head.layout_hash = kp_registry_layout(world->registry);
  batch->head.step = (uint64_t)kp_world_steps(world);
  batch->head.time = kp_world_time(world);
  kp_text_copy(batch->head.build, sizeof batch->head.build, kp_build_text());
}

void kp_batch_free(kp_batch *batch) {
  for (size_t i = 0; i < batch->blocks.count; ++i) {
    kp_free(batch->blocks.data[i]);
  }
  kp_array_free(&batch->blocks);
  kp_array_free(&batch->sections);
}

// A block of at least `size` bytes for the next section.
static kp_result next_block(kp_batch *batch, size_t size, void **out) {
  size_t index = batch->sections.count;
  if (index == batch->blocks.count) {
    KP_TRY(kp_array_push(&batch->blocks, NULL));
  }
  void **block = &batch->blocks.data[index];
  if (*block == NULL || kp_alloc_size(*block) < size) {
    // some slack, so that a growing population does not allocate each frame
    void *larger = kp_alloc(size + size / 4, KP_MEMORY_IO);
    if (larger == NULL) {
      return KP_ERROR_MEMORY;
    }
    kp_free(*block);
    *block = larger;
  }
  *out = *block;
  return KP_OK;
}

static kp_result push_section(kp_batch *batch, const kp_section *like, void **data) {
  KP_TRY(next_block(batch, like->count * kp_item_size(like->type), data));
  KP_TRY(kp_array_push(&batch->sections, *like));
  batch->sections.data[batch->sections.count - 1].data = *data;
  return KP_OK;
}

size_t kp_batch_bytes(const kp_batch *batch) {
  size_t bytes = 0;
  for (size_t s = 0; s < batch->sections.count; ++s) {
    bytes += batch->sections.data[s].count * kp_item_size(batch->sections.data[s].type);
  }
  return bytes;
}

kp_result kp_batch_room(kp_batch *batch, kp_item_type type, uint64_t count, const char *unit,
                        void **data, const char *name_format, ...) {
  kp_section section = { .type = type, .count = count };
  va_list arguments;
  va_start(arguments, name_format);
  int length = vsnprintf(section.name, sizeof section.name, name_format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof section.name) {
    return kp_fail(KP_ERROR_ARGUMENT, "\"%s...\" is too long for a section name", section.name);
  }
  kp_text_copy(section.unit, sizeof section.unit, unit);
  return push_section(batch, &section, data);
}

kp_result kp_batch_add(kp_batch *batch, const kp_section *section) {
  void *data;
  KP_TRY(push_section(batch, section, &data));
  memcpy(data, section->data, section->count * kp_item_size(section->type));
  return KP_OK;
}

kp_item_type kp_item_type_of(kp_type type) {
  const kp_item_type real = sizeof(kp_real) == 4 ? KP_ITEM_F32 : KP_ITEM_F64;
  switch (type) {
  case KP_TYPE_REAL:
    return real;
  case KP_TYPE_F32:
    return KP_ITEM_F32;
  case KP_TYPE_U8:
    return KP_ITEM_U8;
  case KP_TYPE_I32:
    return KP_ITEM_I32;
  case KP_TYPE_U32:
    return KP_ITEM_U32;
  case KP_TYPE_U64:
    return KP_ITEM_U64;
  case KP_TYPE_POS:
  case KP_TYPE_F64:
  case KP_TYPE_COUNT:
    break;
  }
  return KP_ITEM_F64;
}

static kp_result add_view(kp_batch *batch, const char *prefix, const char *component,
                          const kp_field_view *view) {
  kp_item_type type = kp_item_type_of(view->field->type);
  void *data;
  KP_TRY(kp_batch_room(batch, type, (uint64_t)view->count, view->field->unit, &data, "%s/%s/%s/%s",
                       prefix, view->space->name, view->field->name, component));
  if (view->count > 0) {
    memcpy(data, view->data, (size_t)view->count * kp_item_size(type));
  }
  return KP_OK;
}

static kp_result add_state_view(const kp_field_view *view, void *user) {
  char component[16];
  (void)snprintf(component, sizeof component, "%d", view->component);
  return add_view(user, "state", component, view);
}

kp_result kp_batch_add_state(kp_batch *batch, kp_world *world) {
  KP_TRY(kp_registry_compact_cold(world->registry));
  return kp_registry_visit(world->registry, KP_FIELD_SAVE, add_state_view, batch);
}

typedef struct set_visit {
  kp_batch *batch;
  const kp_world *world;
} set_visit;

static bool is_of(const kp_interface *interface, const kp_space *space) {
  return interface != NULL && interface->set->space == space;
}

// Nodes of deformables are seen as meshes and curves.
static bool is_deformable(const kp_world *world, const kp_space *space) {
  return world->env.parts.count > 0 && world->env.parts.data[0].set->space == space;
}

bool kp_space_is_population(const kp_world *world, const kp_space *space) {
  return space->kind == KP_SPACE_PARTICLES && !is_of(world->walls, space) &&
         !is_of(world->movers, space) && !is_deformable(world, space);
}

static kp_result add_set_view(const kp_field_view *view, void *user) {
  const set_visit *visit = user;
  bool is_bodies = view->space->kind == KP_SPACE_BODIES && view->space->n > 0;
  if (!kp_space_is_population(visit->world, view->space) && !is_bodies) {
    return KP_OK;
  }
  char buffer[16];
  const char *component = kp_frame_component_name(view->field->components, view->component, buffer);
  return add_view(visit->batch, "set", component, view);
}

// Which body is which.
static kp_result add_body_names(kp_batch *batch, const kp_world *world) {
  size_t size = 0;
  for (size_t i = 0; i < world->bodies->models.count; ++i) {
    size += strlen(world->bodies->models.data[i].name) + 1;
  }
  void *room;
  KP_TRY(kp_batch_room(batch, KP_ITEM_U8, size, "", &room, "set/%s/names",
                       world->bodies->space->name));
  char *to = room;
  for (size_t i = 0; i < world->bodies->models.count; ++i) {
    const char *name = world->bodies->models.data[i].name;
    memcpy(to, name, strlen(name) + 1);
    to += strlen(name) + 1;
  }
  return KP_OK;
}

kp_result kp_batch_add_sets(kp_batch *batch, kp_world *world) {
  set_visit visit = { batch, world };
  KP_TRY(kp_registry_visit(world->registry, KP_FIELD_EXPORT, add_set_view, &visit));
  return world->bodies->space->n > 0 ? add_body_names(batch, world) : KP_OK;
}

kp_result kp_batch_read(kp_batch *batch, kp_container *container) {
  batch->sections.count = 0;
  batch->head = *kp_container_get_head(container);
  for (size_t i = 0; i < kp_container_count(container); ++i) {
    const kp_section *section = kp_container_section(container, i);
    void *data;
    KP_TRY(push_section(batch, section, &data));
    KP_TRY(kp_container_read(container, section, 0, section->count, data));
  }
  return KP_OK;
}

const kp_section *kp_batch_find(const kp_batch *batch, const char *name) {
  for (size_t i = 0; i < batch->sections.count; ++i) {
    if (strcmp(batch->sections.data[i].name, name) == 0) {
      return &batch->sections.data[i];
    }
  }
  return NULL;
}

kp_result kp_batch_check_fit(const kp_container *container, const kp_world *world) {
  const kp_container_head *head = kp_container_get_head(container);
  const char *path = kp_container_path(container);
  if (head->kind != 1) {
    return kp_fail(KP_ERROR_FORMAT, "%s is no checkpoint", path);
  }
  if (head->real_size != sizeof(kp_real)) {
    return kp_fail(KP_ERROR_FORMAT,
                   "%s was written by a build with numbers of %u bytes, this one has %u", path,
                   head->real_size, (unsigned)sizeof(kp_real));
  }
  if (head->layout_hash != kp_registry_layout(world->registry)) {
    return kp_fail(KP_ERROR_FORMAT,
                   "%s is of another world or another version of the program (%s): its state has "
                   "another layout",
                   path, head->build);
  }
  return KP_OK;
}

static kp_result give_items(const char *space, const char *field, int component, int64_t *count,
                            void *data, void *user) {
  char name[KP_SECTION_NAME_SIZE];
  (void)snprintf(name, sizeof name, "state/%s/%s/%d", space, field, component);
  const kp_section *section = kp_batch_find(user, name);
  if (section == NULL) {
    return kp_fail(KP_ERROR_FORMAT, "the checkpoint has no %s", name);
  }
  *count = (int64_t)section->count;
  if (data != NULL) {
    memcpy(data, section->data, section->count * kp_item_size(section->type));
  }
  return KP_OK;
}

kp_result kp_batch_restore(const kp_batch *batch, kp_world *world) {
  // the callback only reads; its user pointer has no const form
  KP_TRY(kp_registry_load(world->registry, give_items, (void *)(uintptr_t)batch));
  return kp_world_after_load(world);
}

uint64_t kp_batch_hash(const kp_batch *batch) {
  kp_hash hash = kp_hash_begin(0);
  for (size_t i = 0; i < batch->sections.count; ++i) {
    const kp_section *section = &batch->sections.data[i];
    uint64_t checksum =
        kp_hash_bytes(section->data, section->count * kp_item_size(section->type), 0);
    kp_hash_add(&hash, &checksum, sizeof checksum);
  }
  return kp_hash_end(&hash);
}

uint64_t kp_container_hash(const kp_container *container) {
  kp_hash hash = kp_hash_begin(0);
  for (size_t i = 0; i < kp_container_count(container); ++i) {
    uint64_t checksum = kp_container_section(container, i)->checksum;
    kp_hash_add(&hash, &checksum, sizeof checksum);
  }
  return kp_hash_end(&hash);
}
