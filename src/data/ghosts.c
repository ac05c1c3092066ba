#include "data/ghosts.h"

#include <string.h>

#include "base/memory.h"
#include "data/call.h"
#include "data/data_kernels.h"
#include "data/ghosts_kernels.h"
#include "par/kernel_define.h"

GHOSTS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)
DATA_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

static ghosts_box box_of(const kp_ghosts *g) {
  const kp_aabb *box = &g->def.box;
  ghosts_box b = { .lo = { box->min.x, box->min.y, box->min.z },
                   .size = { box->max.x - box->min.x, box->max.y - box->min.y,
                             box->max.z - box->min.z },
                   .width = g->def.width * (1.0 + 1e-9) };
  int32_t n = 1;
  for (int d = 0; d < g->owner->dimension; ++d) {
    if (g->def.periodic[d]) {
      b.reach[d] = (int32_t)ceil(b.width / b.size[d]);
      n *= 2 * b.reach[d] + 1;
    }
  }
  b.n_images = n - 1;
  return b;
}

kp_result kp_ghosts_create(kp_registry *registry, const char *name, kp_set *owner,
                           const kp_ghosts_def *def, kp_ghosts **out) {
  *out = NULL;
  kp_ghosts *g = kp_alloc_zero(sizeof *g, KP_MEMORY_FIELD);
  if (g == NULL) {
    return KP_ERROR_MEMORY;
  }
  g->def = *def;
  g->owner = owner;
  kp_buffer_init(&g->flags, registry->backend);
  kp_buffer_init(&g->near, registry->backend);
  static const kp_field_desc descs[] = {
    { "source", KP_TYPE_U32, 1, "", KP_FIELD_SORT, 0.0 },
    { "image", KP_TYPE_U32, 1, "", KP_FIELD_SORT, 0.0 },
  };
  kp_result result = kp_set_create(registry, name, KP_SET_GHOST, owner->dimension, &g->set);
  if (result == KP_OK) {
    result = kp_space_add_fields(g->set->space, descs, 2);
  }
  if (result != KP_OK) {
    kp_ghosts_destroy(&g);
    return result;
  }
  g->source = kp_space_find(g->set->space, "source");
  g->image = kp_space_find(g->set->space, "image");
  *out = g;
  return KP_OK;
}

void kp_ghosts_destroy(kp_ghosts **ghosts) {
  if (*ghosts != NULL) {
    kp_buffer_free(&(*ghosts)->flags);
    kp_buffer_free(&(*ghosts)->near);
    kp_set_destroy(&(*ghosts)->set);
    kp_free(*ghosts);
    *ghosts = NULL;
  }
}

kp_result kp_ghosts_wrap(kp_ghosts *g) {
  ghosts_box b = box_of(g);
  for (int d = 0; d < 3; ++d) {
    if (b.reach[d] > 0) {
      ghosts_wrap_args a = { .lo = b.lo[d], .size = b.size[d] };
      kp_call call;
      kp_call_init(&call, &ghosts_wrap_kernel, &a);
      KP_BIND(&call, &a, x, &g->owner->position->buffers[d], KP_ACCESS_WRITE);
      KP_TRY(kp_call_run(g->flags.backend, &call, g->owner->space->n));
    }
  }
  return KP_OK;
}

// Scan of the n flags in place; their sum comes to the host.
static kp_result scan_flags(kp_ghosts *g, int64_t n, int64_t *sum) {
  void *flags;
  KP_TRY(kp_buffer_get(&g->flags, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &flags));
  KP_TRY(kp_scan(g->flags.backend, flags, flags, n));
  uint32_t total;
  KP_TRY(kp_copy_out(g->flags.backend, &total, (uint32_t *)flags + n, sizeof total));
  *sum = total;
  return KP_OK;
}

// Elements of the owner near a face: the only ones the images are looked for among.
static kp_result list_near(kp_ghosts *g, const ghosts_box *box, int64_t *n_near) {
  kp_backend *backend = g->flags.backend;
  int64_t n = g->owner->space->n;
  KP_TRY(kp_buffer_resize(&g->flags, (size_t)(n + 1) * sizeof(uint32_t)));
  ghosts_near_args near = { .box = *box };
  kp_call call;
  kp_call_init(&call, &ghosts_near_kernel, &near);
  KP_BIND3(&call, &near, , g->owner->position, KP_ACCESS_READ);
  KP_BIND(&call, &near, is_near, &g->flags, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, n));
  KP_TRY(scan_flags(g, n, n_near));

  KP_TRY(kp_buffer_resize(&g->near, (size_t)*n_near * sizeof(uint32_t)));
  ghosts_list_args list;
  kp_call_init(&call, &ghosts_list_kernel, &list);
  KP_BIND(&call, &list, at, &g->flags, KP_ACCESS_READ);
  KP_BIND(&call, &list, elements, &g->near, KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, n);
}

// The ghost space gets n elements; all their values are about to be written.
static kp_result resize_space(kp_space *space, int64_t n) {
  for (size_t f = 0; f < space->fields.count; ++f) {
    kp_field *field = space->fields.data[f];
    for (int c = 0; c < field->components; ++c) {
      KP_TRY(kp_buffer_resize(&field->buffers[c], (size_t)n * kp_type_size(field->type)));
    }
  }
  space->n = n;
  ++space->revision;
  return KP_OK;
}

// Which image of which element each ghost is.
static kp_result place_images(kp_ghosts *g, const ghosts_box *box, int64_t n_near) {
  kp_backend *backend = g->flags.backend;
  int64_t n = n_near * box->n_images;
  KP_TRY(kp_buffer_resize(&g->flags, (size_t)(n + 1) * sizeof(uint32_t)));
  ghosts_select_args select = { .n_near = n_near, .box = *box };
  kp_call call;
  kp_call_init(&call, &ghosts_select_kernel, &select);
  KP_BIND3(&call, &select, , g->owner->position, KP_ACCESS_READ);
  KP_BIND(&call, &select, elements, &g->near, KP_ACCESS_READ);
  KP_BIND(&call, &select, is_image, &g->flags, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, n));
  int64_t n_ghosts;
  KP_TRY(scan_flags(g, n, &n_ghosts));
  KP_TRY(resize_space(g->set->space, n_ghosts));

  ghosts_place_args place = { .n_near = n_near };
  kp_call_init(&call, &ghosts_place_kernel, &place);
  KP_BIND(&call, &place, at, &g->flags, KP_ACCESS_READ);
  KP_BIND(&call, &place, elements, &g->near, KP_ACCESS_READ);
  KP_BIND(&call, &place, source, &g->source->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &place, image, &g->image->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, n);
}

static kp_result shift_positions(kp_ghosts *g, const ghosts_box *box) {
  for (int d = 0; d < 3; ++d) {
    ghosts_shift_args a = { .box = *box, .axis = d };
    kp_call call;
    kp_call_init(&call, &ghosts_shift_kernel, &a);
    KP_BIND(&call, &a, from, &g->owner->position->buffers[d], KP_ACCESS_READ);
    KP_BIND(&call, &a, source, &g->source->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, image, &g->image->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, to, &g->set->position->buffers[d], KP_ACCESS_OVERWRITE);
    KP_TRY(kp_call_run(g->flags.backend, &call, g->set->space->n));
  }
  return KP_OK;
}

// The ghosts' field of the owner's field; made when it is first asked for.
static kp_result ghost_field(kp_ghosts *g, const kp_field *from, kp_field **out) {
  *out = kp_space_find(g->set->space, from->name);
  if (*out != NULL) {
    return KP_OK;
  }
  kp_field_desc desc = { .name = from->name,
                         .type = from->type,
                         .components = from->components,
                         .unit = from->unit,
                         .flags = KP_FIELD_SORT,
                         .initial = from->initial };
  return kp_space_add_field(g->set->space, &desc, out);
}

// The members of the three gather kernels' arguments are the same but for their types.
static kp_result gather_items(kp_ghosts *g, size_t size, kp_buffer *from, kp_buffer *to) {
  data_gather8_args a;
  const kp_kernel *kernel = size == 8   ? &data_gather8_kernel
                            : size == 4 ? &data_gather4_kernel
                                        : &data_gather1_kernel;
  kp_call call;
  kp_call_init(&call, kernel, &a);
  KP_BIND(&call, &a, in, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &g->source->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, out, to, KP_ACCESS_OVERWRITE);
  return kp_call_run(g->flags.backend, &call, g->set->space->n);
}

static kp_result copy_field(kp_ghosts *g, kp_field *from) {
  kp_field *to;
  KP_TRY(ghost_field(g, from, &to));
  for (int c = 0; c < from->components; ++c) {
    KP_TRY(gather_items(g, kp_type_size(from->type), &from->buffers[c], &to->buffers[c]));
  }
  return KP_OK;
}

kp_result kp_ghosts_update(kp_ghosts *g) {
  ghosts_box box = box_of(g);
  int64_t n_near = 0;
  if (box.n_images > 0 && g->owner->space->n > 0) {
    KP_TRY(list_near(g, &box, &n_near));
  }
  g->owner_revision = g->owner->space->revision;
  if (n_near == 0) {
    return resize_space(g->set->space, 0);
  }
  KP_TRY(place_images(g, &box, n_near));
  KP_TRY(shift_positions(g, &box));
  const kp_space *space = g->owner->space;
  for (size_t f = 0; f < space->fields.count; ++f) {
    kp_field *field = space->fields.data[f];
    if ((field->flags & KP_FIELD_GHOST) != 0 && field != g->owner->position) {
      KP_TRY(copy_field(g, field));
    }
  }
  return KP_OK;
}

kp_result kp_ghosts_refresh(kp_ghosts *g, kp_field *owner_field) {
  if (g->owner_revision != g->owner->space->revision) {
    return kp_fail(KP_ERROR_INTERNAL, "the ghosts of %s are older than its elements",
                   g->owner->space->name);
  }
  if (owner_field == g->owner->position) {
    ghosts_box box = box_of(g);
    return shift_positions(g, &box);
  }
  return copy_field(g, owner_field);
}
