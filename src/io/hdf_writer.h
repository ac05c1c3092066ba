// HDF5 files, as much of the format as a writer of plain arrays needs: groups, attributes of
// numbers and text, and datasets that are compressed in chunks or stored in one piece. Any HDF5
// library from 1.8 on reads them.
//
// Written from front to back: an object's data, then its header, then the group that links to it,
// and at last the root. Metadata is little endian; arrays have the machine's order and say so.
// (HDF5 File Format Specification, version 3: superblock 2, object headers 2, links in the header,
// version 1 B-trees over chunks.)
//
//   kp_hdf hdf;
//   KP_TRY(kp_hdf_begin(&hdf, path, is_packed));
//   kp_hdf_group root = { 0 }, group = { 0 };
//   kp_hdf_text(&hdf, &group, "Type", "ImageData");
//   kp_hdf_dataset(&hdf, &group, "density", &(kp_hdf_shape){ 3, { nz, ny, nx } }, &source);
//   kp_hdf_end_group(&hdf, &root, "VTKHDF", &group);
//   return kp_hdf_commit(&hdf, &root);    // every call before it may have failed: told here
#pragma once

#include "base/array.h"
#include "io/blocks.h"

#define KP_HDF_RANK_MOST 4

typedef struct kp_hdf {
  kp_file file;
  uint64_t end;  // bytes written
  bool is_packed;
  uint64_t chunk_bytes;  // how long a chunk is at most, but for longer rows: 1 MiB
  kp_result result;      // of the first failure; later calls do nothing
} kp_hdf;

// The messages of an object's header, collected until the object is written.
typedef struct kp_hdf_header {
  KP_ARRAY(uint8_t) bytes;
} kp_hdf_header;

typedef kp_hdf_header kp_hdf_group;

// Slowest axis first; components of a tuple are an axis of their own, the last one.
typedef struct kp_hdf_shape {
  int rank;
  uint64_t dims[KP_HDF_RANK_MOST];
} kp_hdf_shape;

KP_NODISCARD kp_result kp_hdf_begin(kp_hdf *hdf, const char *path, bool is_packed);

// Attributes of a group.
void kp_hdf_text(kp_hdf *hdf, kp_hdf_group *group, const char *name, const char *text);
void kp_hdf_numbers(kp_hdf *hdf, kp_hdf_group *group, const char *name, kp_item_type type,
                    const void *values, uint64_t n);

// A dataset of the group; the shape's product is that of the source's tuples and components. The
// source's unit becomes the attribute "units".
void kp_hdf_dataset(kp_hdf *hdf, kp_hdf_group *group, const char *name, const kp_hdf_shape *shape,
                    const kp_array_source *source);

// The child is written, linked to and emptied.
void kp_hdf_end_group(kp_hdf *hdf, kp_hdf_group *parent, const char *name, kp_hdf_group *child);

// Writes the root and puts the file in place, or removes all of it when something failed.
KP_NODISCARD kp_result kp_hdf_commit(kp_hdf *hdf, kp_hdf_group *root);
