#include "io/hdf_writer.h"

#include <string.h>

#include "base/memory.h"

#define UNDEFINED UINT64_MAX  // an address of nothing
#define SUPERBLOCK_SIZE 48
#define CHUNK_BYTES ((uint64_t)1 << 20)
#define CHUNK_BYTES_MOST ((uint64_t)UINT32_MAX)  // sizes of chunks have 32 bits
#define DEFLATE 1
#define DEFLATE_LEVEL 1  // for the record only; a reader needs none

// Half of the children of a node of a tree of chunks, where the superblock names no other.
#define TREE_K 32
#define TREE_CHILDREN (2 * TREE_K)

enum {
  MESSAGE_DATASPACE = 0x01,
  MESSAGE_LINK_INFO = 0x02,
  MESSAGE_DATATYPE = 0x03,
  MESSAGE_FILL_VALUE = 0x05,
  MESSAGE_LINK = 0x06,
  MESSAGE_LAYOUT = 0x08,
  MESSAGE_GROUP_INFO = 0x0a,
  MESSAGE_FILTERS = 0x0b,
  MESSAGE_ATTRIBUTE = 0x0c
};

// ---- bytes

typedef kp_hdf_header byte_array;

static void put(kp_hdf *hdf, byte_array *out, const void *bytes, size_t n) {
  size_t at = out->bytes.count;
  if (hdf->result == KP_OK) {
    hdf->result = kp_array_resize(&out->bytes, at + n);
  }
  if (hdf->result == KP_OK && n > 0) {
    memcpy(out->bytes.data + at, bytes, n);
  }
}

static void put_number(kp_hdf *hdf, byte_array *out, uint64_t value, size_t size) {
  uint8_t bytes[8];
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = (uint8_t)(value >> (8 * i));
  }
  put(hdf, out, bytes, size);
}

static void put_array(kp_hdf *hdf, byte_array *out, const byte_array *from) {
  put(hdf, out, from->bytes.data, from->bytes.count);
}

static void add_to_file(kp_hdf *hdf, const void *bytes, size_t n) {
  if (hdf->result == KP_OK && n > 0) {
    kp_file_add(&hdf->file, bytes, n);
    hdf->end += n;
  }
}

static uint32_t rotate(uint32_t value, int bits) {
  return value << bits | value >> (32 - bits);
}

static uint32_t word_at(const uint8_t *bytes, size_t n) {
  uint32_t word = 0;
  for (size_t i = 0; i < n && i < 4; ++i) {
    word |= (uint32_t)bytes[i] << (8 * i);
  }
  return word;
}

// Bob Jenkins's hash "lookup3", with which all metadata of the format is checked.
static uint32_t checksum(const uint8_t *bytes, size_t n) {
  uint32_t a = 0xdeadbeef + (uint32_t)n, b = a, c = a;
  for (; n > 12; bytes += 12, n -= 12) {
    a += word_at(bytes, 4);
    b += word_at(bytes + 4, 4);
    c += word_at(bytes + 8, 4);
    a = (a - c) ^ rotate(c, 4), c += b;
    b = (b - a) ^ rotate(a, 6), a += c;
    c = (c - b) ^ rotate(b, 8), b += a;
    a = (a - c) ^ rotate(c, 16), c += b;
    b = (b - a) ^ rotate(a, 19), a += c;
    c = (c - b) ^ rotate(b, 4), b += a;
  }
  if (n == 0) {
    return c;
  }
  a += word_at(bytes, n);
  b += n > 4 ? word_at(bytes + 4, n - 4) : 0;
  c += n > 8 ? word_at(bytes + 8, n - 8) : 0;
  c = (c ^ b) - rotate(b, 14);
  a = (a ^ c) - rotate(c, 11);
  b = (b ^ a) - rotate(a, 25);
  c = (c ^ b) - rotate(b, 16);
  a = (a ^ c) - rotate(c, 4);
  b = (b ^ a) - rotate(a, 14);
  return (c ^ b) - rotate(b, 24);
}

// ---- messages

// Adds a message and empties its body.
static void put_message(kp_hdf *hdf, byte_array *header, int type, byte_array *body) {
  if (hdf->result == KP_OK && body->bytes.count > UINT16_MAX) {
    hdf->result = kp_fail(KP_ERROR_ARGUMENT, "a name or attribute is too long for an HDF5 file");
  }
  put_number(hdf, header, (uint64_t)type, 1);
  put_number(hdf, header, body->bytes.count, 2);
  put_number(hdf, header, 0, 1);  // flags
  put_array(hdf, header, body);
  kp_array_free(&body->bytes);
}

static void put_dataspace(kp_hdf *hdf, byte_array *out, const kp_hdf_shape *shape) {
  put_number(hdf, out, 2, 1);  // version
  put_number(hdf, out, (uint64_t)shape->rank, 1);
  put_number(hdf, out, 0, 1);                        // no largest dimensions
  put_number(hdf, out, shape->rank > 0 ? 1 : 0, 1);  // simple or scalar
  for (int i = 0; i < shape->rank; ++i) {
    put_number(hdf, out, shape->dims[i], 8);
  }
}

static bool is_big_endian(void) {
  const uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 0;
}

static void put_float_type(kp_hdf *hdf, byte_array *out, bool is_double) {
  put_number(hdf, out, 0x11, 1);                                 // version 1, floating point
  put_number(hdf, out, 0x20u | (is_big_endian() ? 1u : 0u), 1);  // the first one bit is implied
  put_number(hdf, out, is_double ? 63 : 31, 1);                  // place of the sign
  put_number(hdf, out, 0, 1);
  put_number(hdf, out, is_double ? 8 : 4, 4);
  put_number(hdf, out, 0, 2);                       // first bit
  put_number(hdf, out, is_double ? 64 : 32, 2);     // bits
  put_number(hdf, out, is_double ? 52 : 23, 1);     // exponent: place, bits
  put_number(hdf, out, is_double ? 11 : 8, 1);      //
  put_number(hdf, out, 0, 1);                       // mantissa: place, bits
  put_number(hdf, out, is_double ? 52 : 23, 1);     //
  put_number(hdf, out, is_double ? 1023 : 127, 4);  // bias of the exponent
}

static void put_datatype(kp_hdf *hdf, byte_array *out, kp_item_type type) {
  if (type == KP_ITEM_F32 || type == KP_ITEM_F64) {
    put_float_type(hdf, out, type == KP_ITEM_F64);
    return;
  }
  bool is_signed = type == KP_ITEM_I32 || type == KP_ITEM_I64;
  put_number(hdf, out, 0x10, 1);  // version 1, integer
  put_number(hdf, out, (is_big_endian() ? 1u : 0u) | (is_signed ? 8u : 0u), 3);
  put_number(hdf, out, kp_item_size(type), 4);
  put_number(hdf, out, 0, 2);  // first bit
  put_number(hdf, out, 8 * kp_item_size(type), 2);
}

static void put_text_type(kp_hdf *hdf, byte_array *out, size_t length) {
  put_number(hdf, out, 0x13, 1);  // version 1, text
  put_number(hdf, out, 1, 3);     // zeros behind it, ASCII
  put_number(hdf, out, length, 4);
}

// The type is consumed.
static void put_attribute(kp_hdf *hdf, byte_array *header, const char *name, byte_array *type,
                          const kp_hdf_shape *shape, const void *value, size_t n_bytes) {
  byte_array space = { 0 }, body = { 0 };
  put_dataspace(hdf, &space, shape);
  put_number(hdf, &body, 3, 1);  // version
  put_number(hdf, &body, 0, 1);  // flags
  put_number(hdf, &body, strlen(name) + 1, 2);
  put_number(hdf, &body, type->bytes.count, 2);
  put_number(hdf, &body, space.bytes.count, 2);
  put_number(hdf, &body, 0, 1);  // ASCII
  put(hdf, &body, name, strlen(name) + 1);
  put_array(hdf, &body, type);
  put_array(hdf, &body, &space);
  put(hdf, &body, value, n_bytes);
  put_message(hdf, header, MESSAGE_ATTRIBUTE, &body);
  kp_array_free(&space.bytes);
  kp_array_free(&type->bytes);
}

void kp_hdf_text(kp_hdf *hdf, kp_hdf_group *group, const char *name, const char *text) {
  byte_array type = { 0 };
  // a zero at the end would count as a letter to ParaView 5.11, which compares all of them
  const size_t length = text[0] != '\0' ? strlen(text) : 1;
  put_text_type(hdf, &type, length);
  put_attribute(hdf, group, name, &type, &(kp_hdf_shape){ 0 }, text, length);
}

void kp_hdf_numbers(kp_hdf *hdf, kp_hdf_group *group, const char *name, kp_item_type type,
                    const void *values, uint64_t n) {
  byte_array head = { 0 };
  put_datatype(hdf, &head, type);
  put_attribute(hdf, group, name, &head, &(kp_hdf_shape){ 1, { n } }, values,
                (size_t)n * kp_item_size(type));
}

// Writes an object's header with these messages and empties them. Returns its address.
static uint64_t write_header(kp_hdf *hdf, byte_array *messages) {
  byte_array out = { 0 };
  put(hdf, &out, "OHDR", 4);
  put_number(hdf, &out, 2, 1);  // version
  put_number(hdf, &out, 2, 1);  // the size that follows has four bytes
  put_number(hdf, &out, messages->bytes.count, 4);
  put_array(hdf, &out, messages);
  put_number(hdf, &out, checksum(out.bytes.data, out.bytes.count), 4);
  uint64_t address = hdf->end;
  add_to_file(hdf, out.bytes.data, out.bytes.count);
  kp_array_free(&out.bytes);
  kp_array_free(&messages->bytes);
  return address;
}

static void put_link(kp_hdf *hdf, kp_hdf_group *group, const char *name, uint64_t address) {
  byte_array body = { 0 };
  put_number(hdf, &body, 1, 1);     // version
  put_number(hdf, &body, 0x11, 1);  // a hard link, its character set, two bytes of length
  put_number(hdf, &body, 1, 1);     // UTF-8
  put_number(hdf, &body, strlen(name), 2);
  put(hdf, &body, name, strlen(name));
  put_number(hdf, &body, address, 8);
  put_message(hdf, group, MESSAGE_LINK, &body);
}

// ---- chunks

// Chunks are whole ranges of the slowest axis, so that their order in the file is that of the
// array.
typedef struct chunk_grid {
  kp_hdf_shape shape;  // of a chunk
  uint64_t n_chunks;
  int rank;
  size_t item_size;
} chunk_grid;

// A chunk, or a node of the tree below the level that is being written.
typedef struct tree_entry {
  uint64_t address, first_chunk;
  uint32_t size;  // of its first chunk in the file
} tree_entry;

static void put_key(kp_hdf *hdf, byte_array *out, const chunk_grid *grid, uint64_t chunk,
                    uint32_t size) {
  put_number(hdf, out, size, 4);
  put_number(hdf, out, 0, 4);  // no filter is left out
  put_number(hdf, out, chunk * grid->shape.dims[0], 8);
  for (int i = 1; i <= grid->rank; ++i) {  // one more: the place inside an item
    put_number(hdf, out, 0, 8);
  }
}

// One node of n children, padded to its full size.
static void write_node(kp_hdf *hdf, const chunk_grid *grid, int level, const tree_entry *children,
                       size_t n, uint64_t next_chunk, const uint64_t siblings[2]) {
  size_t key_size = 16 + 8 * (size_t)grid->rank;
  byte_array out = { 0 };
  put(hdf, &out, "TREE", 4);
  put_number(hdf, &out, 1, 1);  // of chunks
  put_number(hdf, &out, (uint64_t)level, 1);
  put_number(hdf, &out, n, 2);
  put_number(hdf, &out, siblings[0], 8);
  put_number(hdf, &out, siblings[1], 8);
  for (size_t i = 0; i < n; ++i) {
    put_key(hdf, &out, grid, children[i].first_chunk, children[i].size);
    put_number(hdf, &out, children[i].address, 8);
  }
  put_key(hdf, &out, grid, next_chunk, 0);
  for (size_t i = n; i < TREE_CHILDREN; ++i) {
    for (size_t k = 0; k < key_size + 8; k += 8) {
      put_number(hdf, &out, 0, 8);
    }
  }
  add_to_file(hdf, out.bytes.data, out.bytes.count);
  kp_array_free(&out.bytes);
}

// Level by level from the chunks up, in place: the entries of a level become those of the next.
// Returns the address of the root.
static uint64_t write_tree(kp_hdf *hdf, const chunk_grid *grid, tree_entry *entries) {
  const size_t node_size =
      24 + 8 * TREE_CHILDREN + (16 + 8 * (size_t)grid->rank) * (TREE_CHILDREN + 1);
  size_t n = (size_t)grid->n_chunks;
  for (int level = 0;; ++level) {
    size_t n_nodes = (n + TREE_CHILDREN - 1) / TREE_CHILDREN;
    uint64_t start = hdf->end;
    for (size_t i = 0; i < n_nodes; ++i) {
      size_t first = i * TREE_CHILDREN, left = n - first;
      size_t count = left < TREE_CHILDREN ? left : TREE_CHILDREN;
      uint64_t next = left > count ? entries[first + count].first_chunk : grid->n_chunks;
      const uint64_t siblings[2] = { i > 0 ? start + (i - 1) * node_size : UNDEFINED,
                                     i + 1 < n_nodes ? start + (i + 1) * node_size : UNDEFINED };
      write_node(hdf, grid, level, entries + first, count, next, siblings);
      entries[i] = entries[first];
      entries[i].address = start + i * node_size;
    }
    n = n_nodes;
    if (n == 1) {
      return start;
    }
  }
}

static chunk_grid make_chunks(const kp_hdf *hdf, const kp_hdf_shape *shape,
                              const kp_array_source *source) {
  chunk_grid grid = { .shape = *shape,
                      .rank = shape->rank,
                      .item_size = kp_item_size(source->type) };
  uint64_t row = grid.item_size;
  for (int i = 1; i < shape->rank; ++i) {
    row *= shape->dims[i];
  }
  uint64_t n_rows = row < hdf->chunk_bytes ? hdf->chunk_bytes / row : 1;
  grid.shape.dims[0] = n_rows < shape->dims[0] ? n_rows : shape->dims[0];
  grid.n_chunks = (shape->dims[0] + grid.shape.dims[0] - 1) / grid.shape.dims[0];
  return grid;
}

// The data of a dataset in compressed chunks and the tree over them, whose address is returned.
static uint64_t write_chunks(kp_hdf *hdf, const chunk_grid *grid, const kp_hdf_shape *shape,
                             const kp_array_source *source) {
  const kp_blocks_def def = { .tuples_per_block =
                                  source->n_tuples / shape->dims[0] * grid->shape.dims[0],
                              .is_packed = true,
                              .is_padded = true };
  size_t n = (size_t)grid->n_chunks;
  uint64_t tree = UNDEFINED, *sizes = kp_alloc(n * sizeof *sizes, KP_MEMORY_IO);
  tree_entry *entries = kp_alloc(n * sizeof *entries, KP_MEMORY_IO);
  if (sizes == NULL || entries == NULL) {
    hdf->result = KP_ERROR_MEMORY;
  }
  if (hdf->result == KP_OK) {
    hdf->result = kp_blocks_write(source, &def, &hdf->file, sizes);
  }
  if (hdf->result == KP_OK) {
    for (size_t i = 0; i < n; ++i) {
      entries[i] = (tree_entry){ hdf->end, i, (uint32_t)sizes[i] };
      hdf->end += sizes[i];
    }
    tree = write_tree(hdf, grid, entries);
  }
  kp_free(sizes);
  kp_free(entries);
  return tree;
}

static void put_chunked_layout(kp_hdf *hdf, byte_array *header, const chunk_grid *grid,
                               uint64_t tree) {
  byte_array body = { 0 };
  put_number(hdf, &body, 2, 1);  // version
  put_number(hdf, &body, 1, 1);  // filters
  put_number(hdf, &body, DEFLATE, 2);
  put_number(hdf, &body, 0, 2);  // flags
  put_number(hdf, &body, 1, 2);  // values
  put_number(hdf, &body, DEFLATE_LEVEL, 4);
  put_message(hdf, header, MESSAGE_FILTERS, &body);
  put_number(hdf, &body, 3, 1);  // version
  put_number(hdf, &body, 2, 1);  // in chunks
  put_number(hdf, &body, (uint64_t)grid->rank + 1, 1);
  put_number(hdf, &body, tree, 8);
  for (int i = 0; i < grid->rank; ++i) {
    put_number(hdf, &body, grid->shape.dims[i], 4);
  }
  put_number(hdf, &body, grid->item_size, 4);
  put_message(hdf, header, MESSAGE_LAYOUT, &body);
}

// ---- in one piece

static uint64_t write_plain(kp_hdf *hdf, const kp_array_source *source, uint64_t n_bytes) {
  uint64_t address = hdf->end, tuple = n_bytes / source->n_tuples;
  const kp_blocks_def def = { .tuples_per_block =
                                  tuple < hdf->chunk_bytes ? hdf->chunk_bytes / tuple : 1 };
  uint64_t *sizes = kp_alloc((size_t)kp_blocks_count(source, &def) * sizeof *sizes, KP_MEMORY_IO);
  if (sizes == NULL) {
    hdf->result = KP_ERROR_MEMORY;
  }
  if (hdf->result == KP_OK) {
    hdf->result = kp_blocks_write(source, &def, &hdf->file, sizes);
  }
  kp_free(sizes);
  hdf->end += n_bytes;
  return address;
}

static void put_plain_layout(kp_hdf *hdf, byte_array *header, uint64_t address, uint64_t n_bytes) {
  byte_array body = { 0 };
  put_number(hdf, &body, 3, 1);  // version
  put_number(hdf, &body, 1, 1);  // in one piece
  put_number(hdf, &body, address, 8);
  put_number(hdf, &body, n_bytes, 8);
  put_message(hdf, header, MESSAGE_LAYOUT, &body);
}

// ---- datasets and groups

void kp_hdf_dataset(kp_hdf *hdf, kp_hdf_group *group, const char *name, const kp_hdf_shape *shape,
                    const kp_array_source *source) {
  if (hdf->result != KP_OK) {
    return;
  }
  byte_array header = { 0 }, body = { 0 };
  uint64_t n_bytes = kp_item_size(source->type);
  for (int i = 0; i < shape->rank; ++i) {
    n_bytes *= shape->dims[i];
  }
  chunk_grid grid = n_bytes > 0 ? make_chunks(hdf, shape, source) : (chunk_grid){ 0 };
  bool is_packed = hdf->is_packed && n_bytes > 0 &&
                   n_bytes / shape->dims[0] * grid.shape.dims[0] <= CHUNK_BYTES_MOST;
  put_dataspace(hdf, &body, shape);
  put_message(hdf, &header, MESSAGE_DATASPACE, &body);
  put_datatype(hdf, &body, source->type);
  put_message(hdf, &header, MESSAGE_DATATYPE, &body);
  put_number(hdf, &body, 3, 1);                        // version
  put_number(hdf, &body, is_packed ? 0x0b : 0x0a, 1);  // space as it is needed; no fill value
  put_message(hdf, &header, MESSAGE_FILL_VALUE, &body);
  if (is_packed) {
    put_chunked_layout(hdf, &header, &grid, write_chunks(hdf, &grid, shape, source));
  } else {
    uint64_t address = n_bytes > 0 ? write_plain(hdf, source, n_bytes) : UNDEFINED;
    put_plain_layout(hdf, &header, address, n_bytes);
  }
  if (source->unit[0] != '\0') {
    kp_hdf_text(hdf, &header, "units", source->unit);
  }
  put_link(hdf, group, name, write_header(hdf, &header));
}

static uint64_t write_group(kp_hdf *hdf, kp_hdf_group *group) {
  byte_array body = { 0 };
  put_number(hdf, &body, 0, 2);  // version, no order of creation
  put_number(hdf, &body, UNDEFINED, 8);
  put_number(hdf, &body, UNDEFINED, 8);
  put_message(hdf, group, MESSAGE_LINK_INFO, &body);
  put_number(hdf, &body, 0, 2);  // version, flags
  put_message(hdf, group, MESSAGE_GROUP_INFO, &body);
  return write_header(hdf, group);
}

void kp_hdf_end_group(kp_hdf *hdf, kp_hdf_group *parent, const char *name, kp_hdf_group *child) {
  put_link(hdf, parent, name, write_group(hdf, child));
}

// ---- files

kp_result kp_hdf_begin(kp_hdf *hdf, const char *path, bool is_packed) {
  static const uint8_t nothing[SUPERBLOCK_SIZE];
  *hdf = (kp_hdf){ .is_packed = is_packed, .chunk_bytes = CHUNK_BYTES };
  KP_TRY(kp_file_begin(&hdf->file, path));
  add_to_file(hdf, nothing, sizeof nothing);
  return KP_OK;
}

static void patch_superblock(kp_hdf *hdf, uint64_t root) {
  byte_array out = { 0 };
  put(hdf, &out, "\x89HDF\r\n\x1a\n", 8);
  put_number(hdf, &out, 2, 1);  // version
  put_number(hdf, &out, 8, 1);  // bytes of an address
  put_number(hdf, &out, 8, 1);  // and of a length
  put_number(hdf, &out, 0, 1);  // nobody has it open
  put_number(hdf, &out, 0, 8);  // base
  put_number(hdf, &out, UNDEFINED, 8);
  put_number(hdf, &out, hdf->end, 8);
  put_number(hdf, &out, root, 8);
  put_number(hdf, &out, checksum(out.bytes.data, out.bytes.count), 4);
  if (hdf->result == KP_OK) {
    kp_file_patch(&hdf->file, 0, out.bytes.data, out.bytes.count);
  }
  kp_array_free(&out.bytes);
}

kp_result kp_hdf_commit(kp_hdf *hdf, kp_hdf_group *root) {
  patch_superblock(hdf, write_group(hdf, root));
  if (hdf->result != KP_OK) {
    kp_file_discard(&hdf->file);
    return hdf->result;
  }
  return kp_file_commit(&hdf->file);
}
