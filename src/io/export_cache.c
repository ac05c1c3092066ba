// Point caches for the Mesh Cache modifier of Blender, for 3ds Max and LightWave: the motion of
// every mesh whose vertices stay the same, in one file, and the mesh of the first frame as OBJ.
//
//   PC2, little endian: "POINTCACHE2\0", version 1, points, first frame, frames per sample
//   (floats),
//                       samples; then x y z of every point, sample after sample
//   MDD, big endian:    samples, points, the time of every sample [s]; then as above
//
// A mesh whose number of vertices changes, or that is not there from the first frame to the last,
// is no cache and left out.
#include <string.h>

#include "base/memory.h"
#include "io/byte_order.h"
#include "io/export.h"

typedef struct cache_format {
  const char *extension;
  void (*begin)(kp_file *file, const kp_frame *frame, uint64_t n_points, uint64_t n_samples);
  void (*put)(unsigned char out[4], uint32_t bits);
  // where the time of the first sample stands; 0: nowhere
  uint64_t times;
} cache_format;

static void begin_pc2(kp_file *file, const kp_frame *frame, uint64_t n_points, uint64_t n_samples) {
  kp_file_add(file, "POINTCACHE2", 12);
  kp_file_add_little(file, 1);
  kp_file_add_little(file, (uint32_t)n_points);
  kp_file_add_little(file, kp_bits_of_float((float)frame->frame));
  kp_file_add_little(file, kp_bits_of_float(1.0f));
  kp_file_add_little(file, (uint32_t)n_samples);
}

static void begin_mdd(kp_file *file, const kp_frame *frame, uint64_t n_points, uint64_t n_samples) {
  (void)frame;
  kp_file_add_big(file, (uint32_t)n_samples);
  kp_file_add_big(file, (uint32_t)n_points);
  for (uint64_t i = 0; i < n_samples; ++i) {
    kp_file_add_big(file, 0);  // times are patched in as they come
  }
}

static const cache_format pc2 = { "pc2", begin_pc2, kp_put_little, 0 };
static const cache_format mdd = { "mdd", begin_mdd, kp_put_big, 8 };

// ---- one mesh

static kp_result write_sample(const cache_format *format, kp_export_stream *stream,
                              const kp_frame *frame, const kp_frame_mesh *mesh) {
  size_t size = (size_t)mesh->n_vertices * 12;
  unsigned char *block = kp_alloc(size + 4, KP_MEMORY_IO);
  if (block == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t i = 0; i < mesh->n_vertices; ++i) {
    format->put(block + 12 * i, kp_bits_of_float((float)mesh->vertices[i].x));
    format->put(block + 12 * i + 4, kp_bits_of_float((float)mesh->vertices[i].y));
    format->put(block + 12 * i + 8, kp_bits_of_float((float)mesh->vertices[i].z));
  }
  kp_file_add(&stream->file, block, size);
  if (format->times > 0) {
    format->put(block + size, kp_bits_of_float((float)frame->time));
    kp_file_patch(&stream->file, format->times + 4 * stream->n_frames, block + size, 4);
  }
  ++stream->n_frames;
  kp_free(block);
  return KP_OK;
}

static kp_result begin_cache(const cache_format *format, const kp_frame *frame,
                             const kp_frame_mesh *mesh, const char *folder, const char *object,
                             kp_export_list *list, kp_export_stream **out) {
  char name[KP_SECTION_NAME_SIZE + 32], path[4096];
  (void)snprintf(name, sizeof name, "%s.%s", object, format->extension);
  KP_TRY(kp_export_stream_begin(list, frame, folder, name, out));
  (*out)->n_items = mesh->n_vertices;
  format->begin(&(*out)->file, frame, mesh->n_vertices, list->n_frames);
  (void)snprintf(name, sizeof name, "%s.obj", object);
  KP_TRY(kp_path_join(path, sizeof path, folder, name));
  return kp_export_obj_mesh(frame, mesh, path);
}

static kp_result add_mesh(const cache_format *format, const kp_frame *frame,
                          const kp_frame_mesh *mesh, const char *folder, kp_export_list *list) {
  char clean[KP_SECTION_NAME_SIZE], object[KP_SECTION_NAME_SIZE + 8];
  char name[KP_SECTION_NAME_SIZE + 32];
  if (mesh->n_vertices > INT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: a point cache holds at most 2^31 points", mesh->name);
  }
  kp_export_clean_name(clean, sizeof clean, mesh->name);
  (void)snprintf(object, sizeof object, "%s_mesh", clean);
  (void)snprintf(name, sizeof name, "%s.%s", object, format->extension);
  kp_export_stream *stream = kp_export_stream_find(list, name);
  if (stream == NULL) {
    KP_TRY(begin_cache(format, frame, mesh, folder, object, list, &stream));
  }
  // a sample too few marks it as no cache
  return stream->n_items == mesh->n_vertices ? write_sample(format, stream, frame, mesh) : KP_OK;
}

static kp_result write_cache(const cache_format *format, const kp_frame *frame, const char *folder,
                             kp_export_list *list) {
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    KP_TRY(add_mesh(format, frame, &frame->meshes[i], folder, list));
  }
  return KP_OK;
}

static kp_result finish_cache(const char *folder, kp_export_list *list) {
  for (size_t i = 0; i < list->n_streams; ++i) {
    kp_export_stream *stream = &list->streams[i];
    if (stream->n_frames == list->n_frames) {
      KP_TRY(kp_export_stream_commit(list, stream));
      continue;
    }
    char name[KP_SECTION_NAME_SIZE + 32], path[4096];
    (void)snprintf(name, sizeof name, "%s.obj", stream->made.object);
    kp_export_stream_discard(stream);
    KP_TRY(kp_path_join(path, sizeof path, folder, name));
    KP_TRY(kp_file_remove(path));
  }
  return KP_OK;
}

static kp_result write_pc2(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  (void)flags;
  return write_cache(&pc2, frame, folder, list);
}

static kp_result write_mdd(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  (void)flags;
  return write_cache(&mdd, frame, folder, list);
}

const kp_exporter kp_export_pc2 = {
  .name = "pc2",
  .extension = "pc2",
  .text = "Point cache of every mesh that keeps its vertices, with its OBJ: Blender, 3ds Max.",
  .write = write_pc2,
  .finish = finish_cache,
  .needs_every_frame = true,
};

const kp_exporter kp_export_mdd = {
  .name = "mdd",
  .extension = "mdd",
  .text = "The same motion with the time of every sample: Blender, LightWave.",
  .write = write_mdd,
  .finish = finish_cache,
  .needs_every_frame = true,
};
