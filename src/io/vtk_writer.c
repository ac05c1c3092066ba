#include "io/vtk_writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "io/files.h"
#include "io/number.h"

#define BLOCK_BYTES ((size_t)1 << 20)

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

void kp_vtk_array(kp_vtk *vtk, const kp_array_source *source) {
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

void kp_vtk_field(kp_vtk *vtk, const kp_export_field *field, uint64_t n_tuples) {
  kp_array_source source = kp_vtk_field_array(field, n_tuples, vtk->flags);
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

// Uncompressed: the number of bytes and the bytes. Compressed: the number of blocks, the size of a
// block, the size of the last one if it is smaller, the packed sizes, and the blocks. The array
// begins at `position` of the file, which moves behind it.
static kp_result write_array(kp_file *file, const kp_array_source *source, bool is_packed,
                             uint64_t *position) {
  size_t tuple_size = (size_t)source->n_components * kp_item_size(source->type);
  const kp_blocks_def def = { .tuples_per_block = BLOCK_BYTES / tuple_size,
                              .is_packed = is_packed };
  uint64_t n_blocks = kp_blocks_count(source, &def), start = *position;
  uint64_t *head = kp_alloc_zero((size_t)(3 + n_blocks) * sizeof *head, KP_MEMORY_IO);
  if (head == NULL) {
    return KP_ERROR_MEMORY;
  }
  head[0] = is_packed ? n_blocks : source->n_tuples * tuple_size;
  head[1] = def.tuples_per_block * tuple_size;
  head[2] = (source->n_tuples % def.tuples_per_block) * tuple_size;
  size_t head_size = (size_t)(is_packed ? 3 + n_blocks : 1) * sizeof *head;
  kp_file_add(file, head, head_size);
  *position += head_size;
  kp_result result = kp_blocks_write(source, &def, file, head + 3);
  for (uint64_t i = 0; i < n_blocks; ++i) {
    *position += head[3 + i];
  }
  if (is_packed) {
    kp_file_patch(file, start, head, head_size);
  }
  kp_free(head);
  return result;
}

static kp_result write_arrays(kp_vtk *vtk, kp_file *file) {
  uint64_t data_start = vtk->text.count, position = data_start;
  bool is_packed = (vtk->flags & KP_EXPORT_PLAIN) == 0;
  for (size_t i = 0; i < vtk->n_arrays; ++i) {
    const kp_vtk_pending *array = &vtk->arrays[i];
    char offset[OFFSET_DIGITS + 1];
    (void)snprintf(offset, sizeof offset, "%0*" PRIu64, OFFSET_DIGITS, position - data_start);
    memcpy(vtk->text.data + array->offset_place, offset, OFFSET_DIGITS);
    KP_TRY(write_array(file, &array->source, is_packed, &position));
  }
  return KP_OK;
}

kp_result kp_vtk_write(kp_vtk *vtk, const char *path) {
  // the underscore marks the beginning of the data
  kp_vtk_text(vtk, "<AppendedData encoding=\"raw\">\n_");
  KP_TRY(vtk->result);
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  kp_file_add(&file, vtk->text.data, vtk->text.count);
  kp_result result = write_arrays(vtk, &file);
  if (result != KP_OK) {
    kp_file_discard(&file);
    return result;
  }
  kp_file_print(&file, "\n</AppendedData>\n</VTKFile>\n");
  kp_file_patch(&file, 0, vtk->text.data, vtk->text.count);
  return kp_file_commit(&file);
}

void kp_vtk_free(kp_vtk *vtk) {
  kp_text_free(&vtk->text);
  kp_free(vtk->arrays);
  *vtk = (kp_vtk){ 0 };
}
