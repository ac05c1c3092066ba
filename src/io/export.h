// Exporters: frames to the file formats of other programs. Each is one row of one table; a new
// format is one file with a kp_exporter in it, declared below and listed in export.c.
//
// Every object of a frame becomes a file of its own, so that a series of one object is a numbered
// sequence:
//
//   <folder>/<object>_<frame, 6 digits>.<extension>
//
// where <object> is the set's name, or the name followed by _mesh, _curves or _volume; characters
// that are trouble in file names become '_'. Objects a format cannot hold are skipped. Nothing is
// rounded or rescaled: metres, m/s, and the 64-bit ids of the simulation.
#pragma once

#include "io/files.h"
#include "io/frame_data.h"

typedef enum kp_export_flag {
  KP_EXPORT_FLOAT32 = 1 << 0,  // write doubles as floats: half the size, for viewing
  KP_EXPORT_PLAIN = 1 << 1,    // no compression where the format has a choice
  KP_EXPORT_HALF = 1 << 2,     // 16-bit floats in VDB files
} kp_export_flag;

typedef struct kp_export_file {
  char *name;    // without the folder
  char *object;  // "water", "water_mesh", ...
  uint64_t frame;
  double time;  // s
} kp_export_file;

// A file that grows from frame to frame, for formats that hold a whole run in one.
typedef struct kp_export_stream {
  kp_export_file made;  // its first frame
  kp_file file;
  uint64_t n_items;   // the exporter's own count, points of the first frame say
  uint64_t n_frames;  // the exporter's own count
} kp_export_stream;

// The files written so far, in order, and those still open.
typedef struct kp_export_list {
  kp_export_file *files;
  size_t count, capacity;
  kp_export_stream *streams;
  size_t n_streams, streams_capacity;
  uint64_t n_frames;  // frames that will be written in all
} kp_export_list;

typedef struct kp_exporter {
  const char *name;       // what --to takes
  const char *extension;  // without the dot, of particle files
  const char *text;       // a sentence for the manual: what it holds and who reads it
  // Writes the frame into the folder, which exists, and adds the files to the list.
  kp_result (*write)(const kp_frame *frame, const char *folder, uint32_t flags,
                     kp_export_list *list);
  // Called once after the last frame with all files of this exporter: index files such as .pvd, and
  // streams to be closed. May be NULL.
  kp_result (*finish)(const char *folder, kp_export_list *list);
  bool needs_every_frame;  // one sample each: in place of one that is lost stands the nearest
} kp_exporter;

extern const kp_exporter kp_export_ply;
extern const kp_exporter kp_export_vtu;
extern const kp_exporter kp_export_csv;
extern const kp_exporter kp_export_obj;
extern const kp_exporter kp_export_vdb;
extern const kp_exporter kp_export_vtp;
extern const kp_exporter kp_export_vti;
extern const kp_exporter kp_export_vtkhdf;
extern const kp_exporter kp_export_bgeo;
extern const kp_exporter kp_export_pc2;
extern const kp_exporter kp_export_mdd;
extern const kp_exporter kp_export_glb;
extern const kp_exporter kp_export_usda;
extern const kp_exporter kp_export_pov;

const kp_exporter *const *kp_exporters(size_t *n);

// Names that people type for a format: those of files it writes beside its own, or of its family.
typedef struct kp_export_alias {
  const char *name, *of;
} kp_export_alias;

const kp_export_alias *kp_export_aliases(size_t *n);

// By name or alias, in any case, with or without a dot before it; NULL when there is none.
const kp_exporter *kp_exporter_find(const char *name);

void kp_export_list_free(kp_export_list *list);

// ---- for exporters

// A field as exporters see it, whether its components lie in arrays of their own or inside vectors.
typedef struct kp_export_field {
  const char *name, *unit;
  kp_item_type type;
  int n_components;
  const void *const *data;  // first item of each component
  size_t stride;            // bytes from an item to the next
} kp_export_field;

// A set, mesh or bundle of curves: points with fields, and what connects them.
typedef struct kp_export_object {
  char name[KP_SECTION_NAME_SIZE + 16];  // of the files: safe characters, with the kind's suffix
  uint64_t n_points;
  kp_export_field *fields;  // position first, then velocity when there is one, then the rest
  size_t n_fields;
  uint64_t n_triangles;
  const uint32_t *triangles;  // NULL but for meshes
  uint64_t n_tets;
  const uint32_t *tets;  // NULL but for meshes that are filled
  bool is_hidden;             // a mesh that is drawn as curves (kp_frame_is_yarn)
  uint64_t n_curves;
  const uint64_t *offsets;  // NULL but for curves
  const void *vectors[6];   // components of positions and velocities that are vectors
  const kp_frame_set *set;  // NULL but for particles
} kp_export_object;

typedef struct kp_export_objects {
  kp_export_object *items;
  size_t count;
} kp_export_objects;

// Views into the frame, which must outlive them. Free with kp_export_objects_free.
KP_NODISCARD kp_result kp_export_objects_make(const kp_frame *frame, kp_export_objects *out);
void kp_export_objects_free(kp_export_objects *objects);

// A frame's field, for objects that are neither of these.
kp_export_field kp_export_field_view(const kp_frame_field *field);

// By name and number of components; NULL when the object has no such field.
const kp_export_field *kp_export_find(const kp_export_object *object, const char *name,
                                      int n_components);

// One number of a field.
double kp_export_value(const kp_export_field *field, int component, uint64_t index);

// An item of a field.
KP_FN const void *kp_export_item(const kp_export_field *field, int component, uint64_t index) {
  return (const char *)field->data[component] + index * field->stride;
}

// One number per column, for formats without vectors: x y z, vx vy vz, nx ny nz for position,
// velocity and normal, <field>_x for other vectors, <field>_0 for other components, <field> alone
// for one.
typedef struct kp_export_column {
  char name[KP_SECTION_NAME_SIZE + 16];
  const char *unit;
  kp_item_type type;
  const void *data;
  size_t stride;
} kp_export_column;

// All columns of an object (kp_free).
KP_NODISCARD kp_result kp_export_columns_make(const kp_export_object *object,
                                              kp_export_column **out, size_t *n);

// Characters that are trouble in file or property names become '_'.
void kp_export_clean_name(char *out, size_t size, const char *name);

bool kp_export_is_little_endian(void);
const char *kp_export_axis_name(const kp_frame *frame);  // "x", "y" or "z"

// The path of an object's file, and a note of the file once it is written.
typedef struct kp_export_target {
  const char *object;
  char name[KP_SECTION_NAME_SIZE + 64];
  char path[4096];
} kp_export_target;

KP_NODISCARD kp_result kp_export_target_make(const kp_frame *frame, const char *folder,
                                             const char *object, const char *extension,
                                             kp_export_target *out);
KP_NODISCARD kp_result kp_export_list_add(kp_export_list *list, const kp_frame *frame,
                                          const kp_export_target *target);

// A file per object of a frame: which objects the format holds (NULL: all of them), and how one is
// written.
typedef struct kp_export_walk {
  const char *extension;
  bool (*holds)(const kp_export_object *object);
  kp_result (*write)(const kp_frame *frame, const kp_export_object *object, uint32_t flags,
                     const char *path);
} kp_export_walk;

KP_NODISCARD kp_result kp_export_each(const kp_export_walk *walk, const kp_frame *frame,
                                      const char *folder, uint32_t flags, kp_export_list *list);

// A file per volume of a frame, "<name>_volume_<frame>.<extension>".
typedef kp_result (*kp_export_volume_fn)(const kp_frame *frame, const kp_frame_volume *volume,
                                         uint32_t flags, const char *path);

KP_NODISCARD kp_result kp_export_each_volume(const char *extension, kp_export_volume_fn write,
                                             const kp_frame *frame, const char *folder,
                                             uint32_t flags, kp_export_list *list);

// An index per object of the list, for formats that want one beside the numbered files.
KP_NODISCARD kp_result kp_export_each_series(const char *folder, const kp_export_list *list,
                                             kp_result (*write)(const char *folder,
                                                                const kp_export_list *list,
                                                                const char *object));

// The open stream of this name ("<object>.<extension>"), NULL when there is none; and a new one.
// Pointers are valid until the next stream is begun.
kp_export_stream *kp_export_stream_find(kp_export_list *list, const char *name);
KP_NODISCARD kp_result kp_export_stream_begin(kp_export_list *list, const kp_frame *frame,
                                              const char *folder, const char *name,
                                              kp_export_stream **out);

// The stream becomes a file of the list, or is dropped with what was written. Both close it.
KP_NODISCARD kp_result kp_export_stream_commit(kp_export_list *list, kp_export_stream *stream);
void kp_export_stream_discard(kp_export_stream *stream);

// A mesh of a frame as Wavefront OBJ: formats that hold motion alone need one to move.
KP_NODISCARD kp_result kp_export_obj_mesh(const kp_frame *frame, const kp_frame_mesh *mesh,
                                          const char *path);
