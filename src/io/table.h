// Tables of numbers as CSV: stats.csv and perf.csv. One header line, one line per row, the first
// column is the frame. A row is on its way to the disk when kp_table_row returns, so that a killed
// run leaves whole lines but for the last; resuming drops a half line.
//
// Numbers are written as short as they can be read back exactly; what is not finite is written
// "nan", "inf".
#pragma once

#include "base/result.h"

typedef struct kp_table kp_table;

// A new table; an older file of that name is replaced. Names must not hold commas, quotes or line
// ends.
KP_NODISCARD kp_result kp_table_create(const char *path, const char *const *columns,
                                       size_t n_columns, kp_table **out);

// Go on with a table: rows whose first column is at most `last` stay, later ones are cut off (by a
// new file and a rename), then rows are appended. A missing file is made. Other columns than those
// of the file are refused.
KP_NODISCARD kp_result kp_table_resume(const char *path, const char *const *columns,
                                       size_t n_columns, double last, kp_table **out);

// One value per column.
KP_NODISCARD kp_result kp_table_row(kp_table *table, const double *values);
void kp_table_close(kp_table **table);

// What the file holds after the newest row; 0 before the first one of this program.
uint64_t kp_table_bytes(const kp_table *table);

// Cut a table back without opening it for writing; a missing file is left missing.
KP_NODISCARD kp_result kp_table_cut(const char *path, double last);

// Reading a whole table. Empty cells and words are NaN; a last line without its line end is
// ignored.
typedef struct kp_table_data {
  char **columns;
  size_t n_columns;
  size_t n_rows;
  double *values;  // column after column: values[column * n_rows + row]
} kp_table_data;

KP_NODISCARD kp_result kp_table_read(const char *path, kp_table_data **out);
void kp_table_free(kp_table_data **data);

// n_rows values of the named column, or NULL.
const double *kp_table_column(const kp_table_data *data, const char *name);
