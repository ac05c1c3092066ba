// What VTK's XML and HDF files have in common: the arrays of an object's fields and cells.
#pragma once

#include "io/blocks.h"
#include "io/export.h"

// An exporter's field, narrowed when the flags say so; the field must outlive the writing.
kp_array_source kp_vtk_field_array(const kp_export_field *field, uint64_t n_tuples, uint32_t flags);

// Particles are vertices, curves lines, meshes triangles. Particles and curves use their points in
// order.
uint64_t kp_vtk_count_cells(const kp_export_object *object);

kp_array_source kp_vtk_connectivity(const kp_export_object *object);  // the point of each corner
kp_array_source kp_vtk_cell_ends(const kp_export_object *object);  // first corner behind each cell
kp_array_source kp_vtk_cell_starts(const kp_export_object *object);  // 0, then the ends
kp_array_source kp_vtk_cell_types(const kp_export_object *object);
