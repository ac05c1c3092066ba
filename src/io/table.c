#include "io/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/disk.h"
#include "io/files.h"
#include "io/number.h"

// A table of a billion numbers is not one of ours.
#define TABLE_BYTES_MOST ((size_t)4 << 30)

struct kp_table {
  FILE *stream;
  char *path;
  size_t n_columns;
  uint64_t bytes;  // after the newest row
  kp_text line;    // kept between rows
};

static kp_result make_header(const char *path, const char *const *columns, size_t n_columns,
                             kp_text *line) {
  for (size_t i = 0; i < n_columns; ++i) {
    if (columns[i][0] == '\0' || strpbrk(columns[i], ",\"\r\n") != NULL) {
      return kp_fail(KP_ERROR_ARGUMENT, "%s: \"%s\" cannot be the name of a column", path,
                     columns[i]);
    }
    KP_TRY(kp_text_add(line, "%s%s", i > 0 ? "," : "", columns[i]));
  }
  return kp_text_add(line, "\n");
}

static kp_result open_table(const char *path, size_t n_columns, kp_table **out) {
  kp_table *table = kp_alloc_zero(sizeof *table, KP_MEMORY_IO);
  if (table == NULL) {
    return KP_ERROR_MEMORY;
  }
  table->n_columns = n_columns;
  table->path = kp_strdup(path, KP_MEMORY_IO);
  if (table->path == NULL) {
    kp_table_close(&table);
    return KP_ERROR_MEMORY;
  }
  table->stream = kp_disk_open(path, "abe");
  if (table->stream == NULL) {
    kp_result result = kp_fail(KP_ERROR_IO, "cannot write %s: %s", path, strerror(errno));
    kp_table_close(&table);
    return result;
  }
  *out = table;
  return KP_OK;
}

kp_result kp_table_create(const char *path, const char *const *columns, size_t n_columns,
                          kp_table **out) {
  *out = NULL;
  kp_text header = { 0 };
  kp_result result = make_header(path, columns, n_columns, &header);
  if (result == KP_OK) {
    result = kp_file_write(path, header.data, header.count);
  }
  kp_text_free(&header);
  return result == KP_OK ? open_table(path, n_columns, out) : result;
}

// True when the file does not begin with a whole header line: as good as no table.
static bool has_no_header(const char *text) {
  return strchr(text, '\n') == NULL;
}

kp_result kp_table_resume(const char *path, const char *const *columns, size_t n_columns,
                          double last, kp_table **out) {
  *out = NULL;
  if (!kp_file_exists(path)) {
    return kp_table_create(path, columns, n_columns, out);
  }
  char *text = NULL;
  size_t n_bytes = 0;
  kp_text header = { 0 };
  kp_result result;
  KP_TRY_GOTO(result, kp_file_read(path, TABLE_BYTES_MOST, &text, &n_bytes), done);
  if (has_no_header(text)) {
    result = kp_table_create(path, columns, n_columns, out);
    goto done;
  }
  KP_TRY_GOTO(result, make_header(path, columns, n_columns, &header), done);
  if (strncmp(text, header.data, header.count) != 0) {
    result = kp_fail(KP_ERROR_FORMAT, "%s: the columns are not those of this run", path);
    goto done;
  }
  KP_TRY_GOTO(result, kp_table_cut(path, last), done);
  result = open_table(path, n_columns, out);
done:
  kp_free(text);
  kp_text_free(&header);
  return result;
}

kp_result kp_table_row(kp_table *table, const double *values) {
  table->line.count = 0;
  for (size_t i = 0; i < table->n_columns; ++i) {
    char number[KP_NUMBER_SIZE];
    kp_number_format(number, values[i]);
    KP_TRY(kp_text_add(&table->line, "%s%s", i > 0 ? "," : "", number));
  }
  KP_TRY(kp_text_add(&table->line, "\n"));
  if (!kp_disk_write(table->stream, table->path, table->line.data, table->line.count) ||
      !kp_disk_flush(table->stream, table->path)) {
    return kp_fail(KP_ERROR_IO, "cannot write %s: %s", table->path, strerror(errno));
  }
  off_t end = ftello(table->stream);
  table->bytes = end > 0 ? (uint64_t)end : table->bytes;
  return KP_OK;
}

uint64_t kp_table_bytes(const kp_table *table) {
  return table->bytes;
}

void kp_table_close(kp_table **table) {
  if (*table == NULL) {
    return;
  }
  if ((*table)->stream != NULL) {
    // every row was flushed when it was written
    (void)fclose((*table)->stream);
  }
  kp_text_free(&(*table)->line);
  kp_free((*table)->path);
  kp_free(*table);
  *table = NULL;
}

kp_result kp_table_cut(const char *path, double last) {
  if (!kp_file_exists(path)) {
    return KP_OK;
  }
  char *text = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_file_read(path, TABLE_BYTES_MOST, &text, &n_bytes));
  kp_file file;
  kp_result result = kp_file_begin(&file, path);
  if (result != KP_OK) {
    kp_free(text);
    return result;
  }
  // a line without its end is half a line: strchr finds none and the loop leaves it out
  const char *line = text, *end;
  for (bool is_header = true; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    double first;
    bool is_early = kp_number_parse(line, ",\n", &first) && first <= last;
    if (is_header || is_early) {
      kp_file_add(&file, line, (size_t)(end + 1 - line));
    }
    is_header = false;
  }
  kp_free(text);
  return kp_file_commit(&file);
}

// ---- reading

// Splits the header line in place; data->columns point to copies.
static kp_result read_header(kp_table_data *data, char *line) {
  KP_ARRAY(char *) columns = { 0 };
  kp_result result = KP_OK;
  for (char *cell = line; cell != NULL && result == KP_OK;) {
    char *comma = strchr(cell, ',');
    if (comma != NULL) {
      *comma = '\0';
    }
    char *name = kp_strdup(cell, KP_MEMORY_IO);
    result = name != NULL ? kp_array_push(&columns, name) : KP_ERROR_MEMORY;
    if (result != KP_OK) {
      kp_free(name);
    }
    cell = comma != NULL ? comma + 1 : NULL;
  }
  data->columns = columns.data;
  data->n_columns = columns.count;
  return result;
}

static kp_result read_row(kp_table_data *data, const char *path, const char *line, size_t row) {
  const char *cell = line;
  for (size_t column = 0; column < data->n_columns; ++column) {
    double value;
    (void)kp_number_parse(cell, ",\n", &value);
    data->values[column * data->n_rows + row] = value;
    cell += strcspn(cell, ",\n");
    bool is_last = column + 1 == data->n_columns;
    if ((*cell == ',') == is_last) {
      return kp_fail(KP_ERROR_FORMAT, "%s:%zu: not %zu cells", path, row + 2, data->n_columns);
    }
    cell += is_last ? 0 : 1;
  }
  return KP_OK;
}

static kp_result read_table(kp_table_data *data, const char *path, char *text) {
  char *end = strchr(text, '\n');
  if (end == NULL) {
    return kp_fail(KP_ERROR_FORMAT, "%s: there is no header line", path);
  }
  char *rows = end + 1;
  *end = '\0';
  if (end > text && end[-1] == '\r') {
    end[-1] = '\0';
  }
  KP_TRY(read_header(data, text));
  for (const char *p = rows; (p = strchr(p, '\n')) != NULL; ++p) {
    data->n_rows += 1;
  }
  // every cell has at least a comma or a line end in the file, so this is bounded by its size
  size_t n_cells = 0;
  for (const char *p = rows; *p != '\0'; ++p) {
    n_cells += *p == ',' || *p == '\n' ? 1 : 0;
  }
  if (data->n_rows * data->n_columns > n_cells) {
    return kp_fail(KP_ERROR_FORMAT, "%s: some rows do not have %zu cells", path, data->n_columns);
  }
  data->values = kp_alloc(data->n_rows * data->n_columns * sizeof *data->values, KP_MEMORY_IO);
  if (data->values == NULL) {
    return KP_ERROR_MEMORY;
  }
  const char *line = rows;
  for (size_t row = 0; row < data->n_rows; ++row) {
    KP_TRY(read_row(data, path, line, row));
    line = strchr(line, '\n') + 1;
  }
  return KP_OK;
}

kp_result kp_table_read(const char *path, kp_table_data **out) {
  *out = NULL;
  char *text = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_file_read(path, TABLE_BYTES_MOST, &text, &n_bytes));
  kp_table_data *data = kp_alloc_zero(sizeof *data, KP_MEMORY_IO);
  kp_result result = data != NULL ? read_table(data, path, text) : KP_ERROR_MEMORY;
  kp_free(text);
  if (result != KP_OK) {
    kp_table_free(&data);
    return result;
  }
  *out = data;
  return KP_OK;
}

void kp_table_free(kp_table_data **data) {
  if (*data == NULL) {
    return;
  }
  for (size_t i = 0; i < (*data)->n_columns; ++i) {
    kp_free((*data)->columns[i]);
  }
  kp_free((*data)->columns);
  kp_free((*data)->values);
  kp_free(*data);
  *data = NULL;
}

const double *kp_table_column(const kp_table_data *data, const char *name) {
  for (size_t i = 0; i < data->n_columns; ++i) {
    if (strcmp(data->columns[i], name) == 0) {
      return data->values + i * data->n_rows;
    }
  }
  return NULL;
}
