#include "io/vtk_writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "io/files.h"
#include "io/number.h"
#include "par/parallel.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define BLOCKS_PER_THREAD 4
#define BATCH_MOST 32

// Fixed width, so that the true offset can replace it.
#define OFFSET_DIGITS 20

static const char *const type_names[KP_ITEM_TYPE_COUNT] = {
  [KP_ITEM_F32] = "Float32", [KP_ITEM_F64] = "Float64", [KP_ITEM_U8] = "UInt8",
  [KP_ITEM_I32] = "Int32",   [KP_ITEM_U32] = "UInt32",  [KP_ITEM_I64] = "Int64",
  [KP_ITEM_U64] = "UInt64",
};

// ---- the head

void kp_vtk_text(kp_vtk *vtk, const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (vtk->result == KP_OK && (n < 0 || (size_t)n >= sizeof line)) {
    vtk->result = kp_fail(KP_ERROR_INTERNAL, "a line of a VTK file is too long: %s", line);
  }
  if (vtk->result == KP_OK) {
    vtk->result = kp_text_add(&vtk->text, "%s", line);
  }
}

void kp_vtk_begin(kp_vtk *vtk, const char *type, uint32_t flags) {
  *vtk = (kp_vtk){ .flags = flags };
  kp_vtk_text(vtk, "<?xml version=\"1.0\"?>\n");
  kp_vtk_text(vtk,
              "<VTKFile type=\"%s\" version=\"1.0\" byte_order=\"%s\" header_type=\"UInt64\"%s>\n",
              type, kp_export_is_little_endian() ? "LittleEndian" : "BigEndian",
              (flags & KP_EXPORT_PLAIN) == 0 ? " compressor=\"vtkZLibDataCompressor\"" : "");
}

// Units hold slashes and powers, which XML lets pass; the rest is made safe.
static void clean_unit(char *out, size_t size, const char *unit) {
  kp_text_copy(out, size, unit);
  for (char *p = out; *p != '\0'; ++p) {
    if (strchr("<>&\"", *p) != NULL || (unsigned char)*p < 0x20) {
      *p = '_';
    }
  }
}

void kp_vtk_array(kp_vtk *vtk, const kp_vtk_source *source) {
  if (vtk->result == KP_OK && (size_t)source->n_components > BLOCK_BYTES / sizeof(double)) {
    vtk->result = kp_fail(KP_ERROR_ARGUMENT, "the array %s has too many components", source->name);
  }
  char name[KP_SECTION_NAME_SIZE], unit[KP_SECTION_UNIT_SIZE];
  kp_export_clean_name(name, sizeof name, source->name);
  clean_unit(unit, sizeof unit, source->unit);
  kp_vtk_text(vtk, "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\"",
              type_names[source->type], name, source->n_components);
  kp_vtk_text(vtk, " format=\"appended\" offset=\"");
  size_t place = vtk->text.count;
  kp_vtk_text(vtk, "%0*d\"", OFFSET_DIGITS, 0);
  if (unit[0] != '\0') {
    kp_vtk_text(vtk, ">\n<InformationKey name=\"UNITS_LABEL\" location=\"vtkDataArray\">%s", unit);
    kp_vtk_text(vtk, "</InformationKey>\n</DataArray>\n");
  } else {
    kp_vtk_text(vtk, "/>\n");
  }
  if (vtk->result == KP_OK) {
    vtk->result = kp_array_reserve_raw((void **)&vtk->arrays, &vtk->array_capacity,
                                       vtk->n_arrays + 1, sizeof *vtk->arrays);
  }
  if (vtk->result == KP_OK) {
    vtk->arrays[vtk->n_arrays++] = (kp_vtk_pending){ .source = *source, .offset_place = place };
  }
}

static void fill_field(const kp_vtk_source *source, uint64_t first, size_t n, void *out) {
  const kp_export_field *field = source->data;
  size_t size = kp_item_size(source->type);
  bool is_narrowed = source->type != field->type;
  for (int c = 0; c < field->n_components; ++c) {
    char *to = (char *)out + (size_t)c * size;
    for (size_t i = 0; i < n; ++i, to += (size_t)field->n_components * size) {
      const void *item = kp_export_item(field, c, first + i);
      float narrow = is_narrowed ? (float)*(const double *)item : 0.0f;
      memcpy(to, is_narrowed ? &narrow : item, size);
    }
  }
}

void kp_vtk_field(kp_vtk *vtk, const kp_export_field *field, uint64_t n_tuples) {
  bool is_narrowed = field->type == KP_ITEM_F64 && (vtk->flags & KP_EXPORT_FLOAT32) != 0;
  kp_vtk_source source = { .name = field->name,
                           .unit = field->unit,
                           .type = is_narrowed ? KP_ITEM_F32 : field->type,
                           .n_components = field->n_components,
                           .n_tuples = n_tuples,
                           .fill = fill_field,
                           .data = field };
  kp_vtk_array(vtk, &source);
}

// Strings are arrays of character codes with a zero at the end.
static void add_string(kp_vtk *vtk, const char *name, const char *value) {
  kp_vtk_text(vtk, "<Array type=\"String\" Name=\"%s\" NumberOfTuples=\"1\" format=\"ascii\">\n",
              name);
  for (const char *p = value; *p != '\0'; ++p) {
    kp_vtk_text(vtk, "%d ", *p);
  }
  kp_vtk_text(vtk, "0\n</Array>\n");
}

void kp_vtk_frame_data(kp_vtk *vtk, const kp_frame *frame) {
  char time[KP_NUMBER_SIZE];
  kp_number_format(time, frame->time);
  // TimeValue is the name ParaView takes the time from when there is no .pvd
  kp_vtk_text(vtk, "<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\"");
  kp_vtk_text(vtk, " NumberOfTuples=\"1\" format=\"ascii\">%s</DataArray>\n", time);
  kp_vtk_text(vtk, "<DataArray type=\"UInt64\" Name=\"frame\" NumberOfTuples=\"1\"");
  kp_vtk_text(vtk, " format=\"ascii\">%" PRIu64 "</DataArray>\n", frame->frame);
  add_string(vtk, "up_axis", kp_export_axis_name(frame));
  add_string(vtk, "length_unit", "m");
  kp_vtk_text(vtk, "</FieldData>\n");
}

// ---- the data

typedef struct block {
  uint8_t *raw, *packed;
  size_t n_raw, n_packed;
} block;

// A batch of blocks of one array.
typedef struct batch {
  const kp_vtk_source *source;
  size_t tuple_size, tuples_per_block;
  uint64_t first_block;
  bool is_packed;
  block *blocks;
  size_t n_blocks;
  size_t packed_size;
} batch;

static void free_batch(batch *b) {
  for (size_t i = 0; b->blocks != NULL && i < b->n_blocks; ++i) {
    kp_free(b->blocks[i].raw);
    kp_free(b->blocks[i].packed);
  }
  kp_free(b->blocks);
}

static kp_result make_batch(batch *b, bool is_packed) {
  size_t n = (size_t)kp_parallel_threads() * BLOCKS_PER_THREAD;
  n = n < BATCH_MOST ? n : BATCH_MOST;
  *b = (batch){ .is_packed = is_packed, .packed_size = compressBound((uLong)BLOCK_BYTES) };
  b->blocks = kp_alloc_zero(n * sizeof *b->blocks, KP_MEMORY_IO);
  if (b->blocks == NULL) {
    return KP_ERROR_MEMORY;
  }
  b->n_blocks = n;
  for (size_t i = 0; i < n; ++i) {
    b->blocks[i].raw = kp_alloc(BLOCK_BYTES, KP_MEMORY_IO);
    b->blocks[i].packed = is_packed ? kp_alloc(b->packed_size, KP_MEMORY_IO) : NULL;
    if (b->blocks[i].raw == NULL || (is_packed && b->blocks[i].packed == NULL)) {
      return KP_ERROR_MEMORY;
    }
  }
  return KP_OK;
}

static void pack_range(int64_t begin, int64_t end, void *context) {
  const batch *b = context;
  for (int64_t i = begin; i < end; ++i) {
    block *out = &b->blocks[i];
    uint64_t first = (b->first_block + (uint64_t)i) * b->tuples_per_block;
    uint64_t left = b->source->n_tuples - first;
    size_t n = left < b->tuples_per_block ? (size_t)left : b->tuples_per_block;
    b->source->fill(b->source, first, n, out->raw);
    out->n_raw = n * b->tuple_size;
    out->n_packed = 0;
    if (b->is_packed) {
      uLongf size = (uLongf)b->packed_size;
      // the buffer has room for the worst case, so only a lack of memory can fail: 0 bytes then
      int status = compress2(out->packed, &size, out->raw, (uLong)out->n_raw, 1);
      out->n_packed = status == Z_OK ? size : 0;
    }
  }
}

// Uncompressed: the number of bytes and the bytes. Compressed: the number of blocks, the size of a
// block, the size of the last one if it is smaller, the packed sizes, and the blocks. Returns the
// bytes written.
static uint64_t begin_array(kp_file *file, const batch *b, uint64_t n_blocks, uint64_t *sizes) {
  const kp_vtk_source *source = b->source;
  if (!b->is_packed) {
    sizes[0] = source->n_tuples * b->tuple_size;
    kp_file_add(file, sizes, sizeof *sizes);
    return sizeof *sizes;
  }
  sizes[0] = n_blocks;
  sizes[1] = b->tuples_per_block * b->tuple_size;
  sizes[2] = (source->n_tuples % b->tuples_per_block) * b->tuple_size;
  kp_file_add(file, sizes, (size_t)(3 + n_blocks) * sizeof *sizes);
  return (3 + n_blocks) * sizeof *sizes;
}

// Writes an array at `position` of the file and moves the position behind it.
static kp_result write_array(kp_file *file, batch *b, const kp_vtk_source *source,
                             uint64_t *position) {
  b->source = source;
  b->tuple_size = (size_t)source->n_components * kp_item_size(source->type);
  b->tuples_per_block = BLOCK_BYTES / b->tuple_size;
  uint64_t n_blocks = source->n_tuples / b->tuples_per_block +
                      (source->n_tuples % b->tuples_per_block != 0 ? 1 : 0);
  uint64_t *sizes = kp_alloc_zero((size_t)(3 + n_blocks) * sizeof *sizes, KP_MEMORY_IO);
  if (sizes == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = KP_OK;
  uint64_t start = *position;
  *position += begin_array(file, b, n_blocks, sizes);
  for (b->first_block = 0; b->first_block < n_blocks; b->first_block += b->n_blocks) {
    uint64_t left = n_blocks - b->first_block;
    size_t n = left < b->n_blocks ? (size_t)left : b->n_blocks;
    kp_parallel_for((int64_t)n, 1, pack_range, b);
    for (size_t i = 0; i < n; ++i) {
      const block *done = &b->blocks[i];
      size_t size = b->is_packed ? done->n_packed : done->n_raw;
      if (size == 0) {
        result =
            kp_fail(KP_ERROR_MEMORY, "out of memory: compression of the array %s", source->name);
      }
      kp_file_add(file, b->is_packed ? done->packed : done->raw, size);
      *position += size;
      sizes[3 + b->first_block + i] = size;
    }
  }
  if (b->is_packed) {
    kp_file_patch(file, start, sizes, (size_t)(3 + n_blocks) * sizeof *sizes);
  }
  kp_free(sizes);
  return result;
}

static kp_result write_arrays(kp_vtk *vtk, kp_file *file, batch *b) {
  uint64_t data_start = vtk->text.count, position = data_start;
  for (size_t i = 0; i < vtk->n_arrays; ++i) {
    const kp_vtk_pending *array = &vtk->arrays[i];
    char offset[OFFSET_DIGITS + 1];
    (void)snprintf(offset, sizeof offset, "%0*" PRIu64, OFFSET_DIGITS, position - data_start);
    memcpy(vtk->text.data + array->offset_place, offset, OFFSET_DIGITS);
    KP_TRY(write_array(file, b, &array->source, &position));
  }
  return KP_OK;
}

kp_result kp_vtk_write(kp_vtk *vtk, const char *path) {
  // the underscore marks the beginning of the data
  kp_vtk_text(vtk, "<AppendedData encoding=\"raw\">\n_");
  KP_TRY(vtk->result);
  batch b = { 0 };
  kp_file file = { 0 };
  kp_result result;
  KP_TRY_GOTO(result, make_batch(&b, (vtk->flags & KP_EXPORT_PLAIN) == 0), done);
  KP_TRY_GOTO(result, kp_file_begin(&file, path), done);
  kp_file_add(&file, vtk->text.data, vtk->text.count);
  result = write_arrays(vtk, &file, &b);
  if (result != KP_OK) {
    kp_file_discard(&file);
    goto done;
  }
  kp_file_print(&file, "\n</AppendedData>\n</VTKFile>\n");
  kp_file_patch(&file, 0, vtk->text.data, vtk->text.count);
  result = kp_file_commit(&file);
done:
  free_batch(&b);
  return result;
}

void kp_vtk_free(kp_vtk *vtk) {
  kp_text_free(&vtk->text);
  kp_free(vtk->arrays);
  *vtk = (kp_vtk){ 0 };
}
