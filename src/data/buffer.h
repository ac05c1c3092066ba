// One array with a host side and a device side. Each access says what it will do; a copy is made
// only when the wanted side is stale. On the cpu backend both sides are the same memory. On the
// mirror backend a write to one side poisons the other (0xff bytes: NaN, or huge integers), so a
// missing declaration shows.
//
// On backends with a memory of their own the device side is made by resize and the host side when
// it is first asked for, so state that never leaves the device costs no host memory.
#pragma once

#include "par/backend.h"

typedef enum kp_type {
  KP_TYPE_REAL,  // kp_real
  KP_TYPE_POS,   // kp_pos
  KP_TYPE_F64,
  KP_TYPE_U8,
  KP_TYPE_I32,
  KP_TYPE_U32,
  KP_TYPE_U64,
  KP_TYPE_F32,  // of pictures and surfaces, in every build
  KP_TYPE_COUNT
} kp_type;

size_t kp_type_size(kp_type type);
bool kp_type_is_real(kp_type type);

typedef enum kp_access {
  KP_ACCESS_READ,       // the side must be fresh
  KP_ACCESS_WRITE,      // read and write: fresh before, the other side stale after
  KP_ACCESS_OVERWRITE,  // all of it is written: no copy, the other side stale after
  KP_ACCESS_COUNT
} kp_access;

typedef enum kp_side { KP_SIDE_HOST, KP_SIDE_DEVICE } kp_side;

typedef struct kp_buffer {
  kp_backend *backend;
  void *host, *device;
  size_t used;      // bytes that mean something; copies move only these
  size_t capacity;  // bytes of the device side (the block of the host side knows its own size)
  bool host_valid, device_valid;
  uint64_t writes;  // declared writes so far, on backends with a memory of their own
  uint8_t tag;      // kp_memory_tag of the host side
  uint8_t type;     // kp_type of the items; KP_TYPE_U8 where nobody said
} kp_buffer;

void kp_buffer_init(kp_buffer *buffer, kp_backend *backend);
void kp_buffer_free(kp_buffer *buffer);
// The same, called as kp_buffer_init is: for functions that visit all buffers of a struct.
void kp_buffer_drop(kp_buffer *buffer, kp_backend *backend);

// Make room for `bytes` without changing what is used, growing geometrically (x 1.5). Contents are
// kept on the sides that are valid. On failure the buffer is as it was.
KP_NODISCARD kp_result kp_buffer_reserve(kp_buffer *buffer, size_t bytes);

// Set the used size after a reserve of it. Bytes beyond the old size are not initialised.
KP_NODISCARD kp_result kp_buffer_resize(kp_buffer *buffer, size_t used);

// Room for n items of a type, whose host side is written next; `pointer` is that of a pointer.
KP_NODISCARD kp_result kp_buffer_room(kp_buffer *buffer, kp_type type, int64_t n, void *pointer);

// All of its bytes from host memory, which sets the used size.
KP_NODISCARD kp_result kp_buffer_put(kp_buffer *buffer, const void *bytes, size_t size);

// to = from, all bytes that mean something, on the device. Both must be of the same size.
KP_NODISCARD kp_result kp_buffer_copy(kp_buffer *to, kp_buffer *from);

// Add bytes from host memory at the end of the device side: nothing but these bytes is copied.
KP_NODISCARD kp_result kp_buffer_append(kp_buffer *buffer, const void *bytes, size_t size);

// Pointers for host and device code; NULL with an error recorded when memory or the device fails.
// An empty buffer has a pointer too.
void *kp_buffer_host(kp_buffer *buffer, kp_access access);
void *kp_buffer_device(kp_buffer *buffer, kp_access access);

// The same with the code of the failure.
KP_NODISCARD kp_result kp_buffer_get(kp_buffer *buffer, kp_side side, kp_access access, void **out);

// Exchange the device sides of two buffers of one backend, with their sizes. Host blocks stay where
// they are and become stale.
void kp_buffer_swap_device(kp_buffer *a, kp_buffer *b);

// Fault injection for the tests of the mirror backend: the n-th event of a kind (counted from 0) is
// dropped. An event is counted only where something would have happened; n < 0 counts and drops
// none. One setting per thread.
typedef enum kp_buffer_fault {
  KP_BUFFER_FAULT_NONE,
  KP_BUFFER_FAULT_READ,   // a declared read does not freshen its side
  KP_BUFFER_FAULT_WRITE,  // a declared write does not make the other side stale
  KP_BUFFER_FAULT_COPY    // a copy between the sides is skipped
} kp_buffer_fault;
void kp_buffer_set_fault(kp_buffer_fault kind, int64_t n);
int64_t kp_buffer_fault_events(void);  // of the chosen kind, since it was chosen
