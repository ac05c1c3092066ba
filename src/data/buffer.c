#include "data/buffer.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

// Stale and never-written bytes of the mirror backend: NaN as a number, far out of range as an
// index.
#define POISON 0xff
#define SMALLEST_CAPACITY 64

static _Thread_local struct {
  kp_buffer_fault kind;
  int64_t n, events;
} fault;

void kp_buffer_set_fault(kp_buffer_fault kind, int64_t n) {
  fault.kind = kind;
  fault.n = n;
  fault.events = 0;
}

int64_t kp_buffer_fault_events(void) {
  return fault.events;
}

static bool is_dropped(kp_buffer_fault kind) {
  return fault.kind == kind && fault.events++ == fault.n;
}

size_t kp_type_size(kp_type type) {
  switch (type) {
  case KP_TYPE_REAL:
    return sizeof(kp_real);
  case KP_TYPE_POS:
    return sizeof(kp_pos);
  case KP_TYPE_U8:
    return 1;
  case KP_TYPE_I32:
  case KP_TYPE_U32:
  case KP_TYPE_F32:
    return 4;
  case KP_TYPE_F64:
  case KP_TYPE_U64:
  case KP_TYPE_COUNT:
    break;
  }
  return 8;
}

bool kp_type_is_real(kp_type type) {
  return type == KP_TYPE_REAL || type == KP_TYPE_POS || type == KP_TYPE_F64 || type == KP_TYPE_F32;
}

void kp_buffer_init(kp_buffer *buffer, kp_backend *backend) {
  *buffer = (kp_buffer){ .backend = backend, .tag = KP_MEMORY_FIELD, .type = KP_TYPE_U8 };
}

static bool is_shared(const kp_buffer *buffer) {
  return buffer->backend->vt->shares_host_memory;
}

void kp_buffer_free(kp_buffer *buffer) {
  if (buffer->backend == NULL) {
    return;
  }
  if (!is_shared(buffer)) {
    kp_device_free(buffer->backend, buffer->device);
  }
  kp_free(buffer->host);
  uint8_t tag = buffer->tag;
  uint8_t type = buffer->type;
  *buffer = (kp_buffer){ .backend = buffer->backend, .tag = tag, .type = type };
}

void kp_buffer_drop(kp_buffer *buffer, kp_backend *backend) {
  (void)backend;
  kp_buffer_free(buffer);
}

// Only the mirror backend poisons: it is there to find mistakes, at any price.
static kp_result poison(kp_buffer *buffer, kp_side side, size_t first, size_t end) {
  bool is_host = side == KP_SIDE_HOST;
  char *memory = is_host ? buffer->host : buffer->device;
  if (buffer->backend->vt->kind != KP_BACKEND_MIRROR || memory == NULL || first >= end) {
    return KP_OK;
  }
  if (is_host) {
    // after a swap the host block may still be of the old, smaller size
    size_t size = kp_alloc_size(memory);
    end = end < size ? end : size;
    memset(memory + first, POISON, first < end ? end - first : 0);
    return KP_OK;
  }
  return kp_fill(buffer->backend, memory + first, POISON, end - first);
}

static kp_result grow_shared(kp_buffer *buffer, size_t capacity) {
  void *memory = kp_alloc(capacity, (kp_memory_tag)buffer->tag);
  if (memory == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (buffer->used > 0) {
    memcpy(memory, buffer->host, buffer->used);
  }
  kp_free(buffer->host);
  buffer->host = memory;
  buffer->device = memory;
  buffer->capacity = capacity;
  return KP_OK;
}

static kp_result grow_device(kp_buffer *buffer, size_t capacity) {
  kp_backend *backend = buffer->backend;
  void *memory = kp_device_alloc(backend, capacity);
  if (memory == NULL) {
    return KP_ERROR_MEMORY;
  }
  // what is stale is not worth a copy
  size_t kept = buffer->device_valid ? buffer->used : 0;
  kp_result result = kp_copy(backend, memory, buffer->device, kept);
  if (result != KP_OK) {
    kp_device_free(backend, memory);
    return result;
  }
  kp_device_free(backend, buffer->device);
  buffer->device = memory;
  buffer->capacity = capacity;
  return poison(buffer, KP_SIDE_DEVICE, kept, capacity);
}

// A stale host block that is too small is given back; the next host access makes a new one.
static kp_result grow_host(kp_buffer *buffer, size_t capacity) {
  if (!buffer->host_valid) {
    kp_free(buffer->host);
    buffer->host = NULL;
    return KP_OK;
  }
  void *memory = kp_realloc(buffer->host, capacity, (kp_memory_tag)buffer->tag);
  if (memory == NULL) {
    return KP_ERROR_MEMORY;
  }
  buffer->host = memory;
  return poison(buffer, KP_SIDE_HOST, buffer->used, capacity);
}

kp_result kp_buffer_reserve(kp_buffer *buffer, size_t bytes) {
  KP_ASSERT(buffer->backend != NULL);
  if (buffer->capacity < bytes || buffer->device == NULL) {
    size_t grown = buffer->capacity + buffer->capacity / 2;
    grown = grown < bytes ? bytes : grown;
    grown = grown < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : grown;
    KP_TRY(is_shared(buffer) ? grow_shared(buffer, grown) : grow_device(buffer, grown));
  }
  if (!is_shared(buffer) && buffer->host != NULL && kp_alloc_size(buffer->host) < bytes) {
    KP_TRY(grow_host(buffer, buffer->capacity));
  }
  return KP_OK;
}

kp_result kp_buffer_resize(kp_buffer *buffer, size_t used) {
  KP_TRY(kp_buffer_reserve(buffer, used));
  // shrinking and growing again must not bring old values back
  KP_TRY(poison(buffer, KP_SIDE_DEVICE, buffer->used, used));
  KP_TRY(poison(buffer, KP_SIDE_HOST, buffer->used, used));
  buffer->used = used;
  return KP_OK;
}

kp_result kp_buffer_room(kp_buffer *buffer, kp_type type, int64_t n, void *pointer) {
  buffer->type = (uint8_t)type;
  KP_TRY(kp_buffer_resize(buffer, kp_type_size(type) * (size_t)n));
  return kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, pointer);
}

kp_result kp_buffer_put(kp_buffer *buffer, const void *bytes, size_t size) {
  KP_TRY(kp_buffer_resize(buffer, size));
  void *host;
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &host));
  if (size > 0) {
    memcpy(host, bytes, size);
  }
  return KP_OK;
}

kp_result kp_buffer_append(kp_buffer *buffer, const void *bytes, size_t size) {
  KP_TRY(kp_buffer_reserve(buffer, buffer->used + size));
  void *device;
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &device));
  KP_TRY(kp_copy_in(buffer->backend, (char *)device + buffer->used, bytes, size));
  buffer->used += size;
  return KP_OK;
}

static kp_result make_host(kp_buffer *buffer) {
  buffer->host = kp_alloc(buffer->capacity, (kp_memory_tag)buffer->tag);
  if (buffer->host == NULL) {
    return KP_ERROR_MEMORY;
  }
  return poison(buffer, KP_SIDE_HOST, 0, buffer->capacity);
}

static kp_result freshen(kp_buffer *buffer, kp_side side) {
  bool is_host = side == KP_SIDE_HOST;
  bool *valid = is_host ? &buffer->host_valid : &buffer->device_valid;
  bool is_source_valid = is_host ? buffer->device_valid : buffer->host_valid;
  if (*valid || !is_source_valid || buffer->used == 0 || is_dropped(KP_BUFFER_FAULT_READ)) {
    return KP_OK;
  }
  if (!is_dropped(KP_BUFFER_FAULT_COPY)) {
    kp_backend *b = buffer->backend;
    KP_TRY(is_host ? kp_copy_out(b, buffer->host, buffer->device, buffer->used)
                   : kp_copy_in(b, buffer->device, buffer->host, buffer->used));
  }
  *valid = true;
  return KP_OK;
}

// The given side has changed: the other one is stale from now on.
static kp_result mark_written(kp_buffer *buffer, kp_side side) {
  bool is_host = side == KP_SIDE_HOST;
  ++buffer->writes;
  *(is_host ? &buffer->host_valid : &buffer->device_valid) = true;
  bool *other = is_host ? &buffer->device_valid : &buffer->host_valid;
  if (!*other || is_dropped(KP_BUFFER_FAULT_WRITE)) {
    return KP_OK;
  }
  *other = false;
  return poison(buffer, is_host ? KP_SIDE_DEVICE : KP_SIDE_HOST, 0, buffer->used);
}

kp_result kp_buffer_get(kp_buffer *buffer, kp_side side, kp_access access, void **out) {
  *out = NULL;
  KP_TRY(kp_buffer_reserve(buffer, buffer->used));
  if (is_shared(buffer)) {
    buffer->host_valid = true;
    buffer->device_valid = true;
    *out = buffer->device;
    return KP_OK;
  }
  if (side == KP_SIDE_HOST && buffer->host == NULL) {
    KP_TRY(make_host(buffer));
  }
  if (access != KP_ACCESS_OVERWRITE) {
    KP_TRY(freshen(buffer, side));
  }
  if (access != KP_ACCESS_READ) {
    KP_TRY(mark_written(buffer, side));
  }
  *out = side == KP_SIDE_HOST ? buffer->host : buffer->device;
  return KP_OK;
}

void *kp_buffer_host(kp_buffer *buffer, kp_access access) {
  void *memory;
  return kp_buffer_get(buffer, KP_SIDE_HOST, access, &memory) == KP_OK ? memory : NULL;
}

void *kp_buffer_device(kp_buffer *buffer, kp_access access) {
  void *memory;
  return kp_buffer_get(buffer, KP_SIDE_DEVICE, access, &memory) == KP_OK ? memory : NULL;
}

void kp_buffer_swap_device(kp_buffer *a, kp_buffer *b) {
  KP_ASSERT(a->backend == b->backend);
  void *device = a->device;
  size_t used = a->used;
  size_t capacity = a->capacity;
  a->device = b->device;
  a->used = b->used;
  a->capacity = b->capacity;
  b->device = device;
  b->used = used;
  b->capacity = capacity;
  if (is_shared(a)) {
    a->host = a->device;
    b->host = b->device;
    return;
  }
  // poisoning the host side is plain memory: it does not fail
  (void)mark_written(a, KP_SIDE_DEVICE);
  (void)mark_written(b, KP_SIDE_DEVICE);
}

kp_result kp_buffer_copy(kp_buffer *to, kp_buffer *from) {
  void *in;
  void *out;
  KP_TRY(kp_buffer_get(from, KP_SIDE_DEVICE, KP_ACCESS_READ, &in));
  KP_TRY(kp_buffer_get(to, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &out));
  return from->used > 0 ? kp_copy(from->backend, out, in, from->used) : KP_OK;
}
