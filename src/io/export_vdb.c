// OpenVDB files (format 224) of volumes: one file per volume and frame, one sparse grid per field,
// read by Blender, Houdini and renderers. Cells that hold the background are left out.
//
// A tree has a root, inner nodes of 32^3 and 16^3 children and leaves of 8^3 voxels, x slowest. The
// file has, per grid: name and type, three positions, the kind of compression, metadata, the map
// from voxels to metres, the masks of all nodes, then the values of all leaves. Values are zipped
// node by node. Voxel (0, 0, 0) lies in the middle of cell (0, 0, 0).
//
// A field named distance is a level set as the readers know it: kept three voxels to both sides of
// the surface, the background beyond it outside and its negative inside.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "io/export.h"
#include "io/files.h"
#include "io/half.h"

#define MAGIC INT64_C(0x56444220)
#define VERSION 224
#define LIBRARY_MAJOR 10
#define LIBRARY_MINOR 0
#define COMPRESS_NONE 0
#define COMPRESS_ZIP 1
#define ALL_VALUES 6  // of a node, whatever its mask says

#define LEAF 8             // voxels along a leaf
#define INNER (16 * LEAF)  // along a node of leaves
#define OUTER (32 * INNER)
#define LEAVES 4096   // children of a node of leaves
#define INNERS 32768  // children of an outer node
#define LEAF_VOXELS 512
#define BAND 3  // voxels on each side of a level set

typedef struct byte_array {
  KP_ARRAY(uint8_t) bytes;
  kp_result result;  // the first failure
} byte_array;

static void put(byte_array *out, const void *bytes, size_t n) {
  if (out->result != KP_OK) {
    return;
  }
  size_t at = out->bytes.count;
  out->result = kp_array_resize(&out->bytes, at + n);
  if (out->result == KP_OK) {
    memcpy(out->bytes.data + at, bytes, n);
  }
}

static void put_u32(byte_array *out, uint32_t value) {
  put(out, &value, sizeof value);
}

static void put_i64(byte_array *out, int64_t value) {
  put(out, &value, sizeof value);
}

static void put_text(byte_array *out, const char *text) {
  put_u32(out, (uint32_t)strlen(text));
  put(out, text, strlen(text));
}

static void put_meta(byte_array *out, const char *name, const char *value) {
  put_text(out, name);
  put_text(out, "string");
  put_text(out, value);
}

static void put_flag(byte_array *out, const char *name) {
  const uint8_t yes = 1;
  put_text(out, name);
  put_text(out, "bool");
  put_u32(out, sizeof yes);
  put(out, &yes, sizeof yes);
}

static void put_vec3(byte_array *out, double x, double y, double z) {
  const double v[3] = { x, y, z };
  put(out, v, sizeof v);
}

// ---- one grid

typedef struct vdb_grid {
  const kp_frame_volume *volume;
  const kp_frame_field *field;
  int n_components;  // 1 or 3
  float background;
  bool is_level_set, is_half;
  const uint8_t *has;  // per leaf of the volume's box: some voxel is active
  int64_t leaves[3];
  uint32_t compression;
  byte_array *out;
  float *values;  // room for an outer node
  uint16_t *halves;
  uint8_t *zipped;  // and for its zipped values
} vdb_grid;

// How the values of a node are written: packed, or plain behind a negative length where that is
// shorter.
static void put_values(vdb_grid *g, size_t count) {
  const int8_t all = ALL_VALUES;
  const size_t n = count * (size_t)g->n_components;
  const void *values = g->is_half ? (const void *)g->halves : g->values;
  const size_t size = n * (g->is_half ? sizeof *g->halves : sizeof *g->values);
  for (size_t i = 0; i < n && g->is_half; ++i) {
    g->halves[i] = kp_half_from_float(g->values[i]);
  }
  put(g->out, &all, 1);
  if (g->compression == COMPRESS_NONE) {
    put(g->out, values, size);
    return;
  }
  uLongf length = compressBound((uLong)size);
  int status = compress2(g->zipped, &length, values, (uLong)size, 6);
  if (status == Z_OK && length < size) {
    put_i64(g->out, (int64_t)length);
    put(g->out, g->zipped, length);
  } else {
    put_i64(g->out, -(int64_t)size);
    put(g->out, values, size);
  }
}

static bool has_leaf(const vdb_grid *g, const int64_t at[3]) {
  for (int c = 0; c < 3; ++c) {
    if (at[c] >= g->leaves[c]) {
      return false;
    }
  }
  return g->has[at[0] + g->leaves[0] * (at[1] + g->leaves[1] * at[2])] != 0;
}

static float value_at(const vdb_grid *g, int component, uint64_t i) {
  float v = (float)kp_frame_value(g->field, component, i);
  if (g->is_level_set) {
    v = v > g->background ? g->background : v < -g->background ? -g->background : v;
  }
  return v;
}

static bool is_active(const vdb_grid *g, float v) {
  return v != g->background && !(g->is_level_set && v == -g->background);
}

// What stands for a whole region without active voxels that begins at this leaf.
static float tile_value(const vdb_grid *g, const int64_t at[3]) {
  const uint64_t *dims = g->volume->dims;
  bool is_inside =
      at[0] < g->leaves[0] && at[1] < g->leaves[1] && at[2] < g->leaves[2] && g->is_level_set;
  uint64_t i = LEAF * ((uint64_t)at[0] + dims[0] * ((uint64_t)at[1] + dims[1] * (uint64_t)at[2]));
  return is_inside ? value_at(g, 0, i) : g->background;
}

// The voxels of a leaf and which of them are active. `at` is in leaves.
static void take_leaf(vdb_grid *g, const int64_t at[3], uint64_t mask[LEAF_VOXELS / 64]) {
  const uint64_t *dims = g->volume->dims;
  memset(mask, 0, LEAF_VOXELS / 8);
  for (uint32_t n = 0; n < LEAF_VOXELS; ++n) {
    const uint64_t x = (uint64_t)at[0] * LEAF + (n >> 6), y = (uint64_t)at[1] * LEAF + (n >> 3 & 7);
    const uint64_t z = (uint64_t)at[2] * LEAF + (n & 7);
    bool is_inside = x < dims[0] && y < dims[1] && z < dims[2];
    uint64_t i = is_inside ? x + dims[0] * (y + dims[1] * z) : 0;
    bool is_on = false;
    for (int c = 0; c < g->n_components; ++c) {
      float v = is_inside ? value_at(g, c, i) : g->background;
      g->values[n * (uint32_t)g->n_components + (uint32_t)c] = v;
      is_on = is_on || is_active(g, v);
    }
    mask[n / 64] |= (uint64_t)is_on << n % 64;
  }
}

typedef void (*leaf_fn)(vdb_grid *g, const int64_t at[3]);

static void put_leaf_mask(vdb_grid *g, const int64_t at[3]) {
  uint64_t mask[LEAF_VOXELS / 64];
  take_leaf(g, at, mask);
  put(g->out, mask, sizeof mask);
}

static void put_leaf_values(vdb_grid *g, const int64_t at[3]) {
  uint64_t mask[LEAF_VOXELS / 64];
  take_leaf(g, at, mask);
  put(g->out, mask, sizeof mask);
  put_values(g, LEAF_VOXELS);
}

// Child n of a node with `side` children along an edge, x slowest.
static void child_at(const int64_t first[3], uint32_t n, int bits, int64_t step, int64_t out[3]) {
  const uint32_t low = (1u << bits) - 1;
  out[0] = first[0] + step * (n >> 2 * bits);
  out[1] = first[1] + step * (n >> bits & low);
  out[2] = first[2] + step * (n & low);
}

// The values of a node where it has no children.
static void take_tiles(vdb_grid *g, const int64_t first[3], int bits, int64_t step) {
  const uint32_t count = 1u << 3 * bits;
  for (uint32_t n = 0; n < count; ++n) {
    int64_t at[3];
    child_at(first, n, bits, step, at);
    float v = tile_value(g, at);
    for (int c = 0; c < g->n_components; ++c) {
      g->values[n * (uint32_t)g->n_components + (uint32_t)c] = v;
    }
  }
}

// A node of leaves that begins at `first` (in leaves): its children, and with `head` its masks and
// background values before them.
static bool put_inner(vdb_grid *g, const int64_t first[3], bool head, leaf_fn leaf) {
  static const uint64_t nothing[LEAVES / 64];
  uint64_t mask[LEAVES / 64] = { 0 };
  bool is_there = false;
  for (uint32_t n = 0; n < LEAVES; ++n) {
    int64_t at[3];
    child_at(first, n, 4, 1, at);
    uint64_t bit = has_leaf(g, at) ? 1 : 0;
    mask[n / 64] |= bit << n % 64;
    is_there = is_there || bit != 0;
  }
  if (!is_there || leaf == NULL) {
    return is_there;
  }
  if (head) {
    put(g->out, mask, sizeof mask);
    put(g->out, nothing, sizeof nothing);
    take_tiles(g, first, 4, 1);
    put_values(g, LEAVES);
  }
  for (uint32_t n = 0; n < LEAVES; ++n) {
    if ((mask[n / 64] >> n % 64 & 1) != 0) {
      int64_t at[3];
      child_at(first, n, 4, 1, at);
      leaf(g, at);
    }
  }
  return true;
}

static void put_outer(vdb_grid *g, const int64_t first[3], bool head, leaf_fn leaf) {
  static const uint64_t nothing[INNERS / 64];
  uint64_t mask[INNERS / 64] = { 0 };
  for (uint32_t n = 0; n < INNERS; ++n) {
    int64_t at[3];
    child_at(first, n, 5, INNER / LEAF, at);
    bool may_be = at[0] < g->leaves[0] && at[1] < g->leaves[1] && at[2] < g->leaves[2];
    uint64_t bit = may_be && put_inner(g, at, false, NULL) ? 1 : 0;
    mask[n / 64] |= bit << n % 64;
  }
  if (head) {
    put(g->out, mask, sizeof mask);
    put(g->out, nothing, sizeof nothing);
    take_tiles(g, first, 5, INNER / LEAF);
    put_values(g, INNERS);
  }
  for (uint32_t n = 0; n < INNERS; ++n) {
    if ((mask[n / 64] >> n % 64 & 1) != 0) {
      int64_t at[3];
      child_at(first, n, 5, INNER / LEAF, at);
      (void)put_inner(g, at, head, leaf);
    }
  }
}

// All outer nodes: of a volume below 4096 cells a side there is one.
static void put_tree(vdb_grid *g, bool head, leaf_fn leaf) {
  const int64_t step = OUTER / LEAF;
  int64_t n[3];
  for (int c = 0; c < 3; ++c) {
    n[c] = (g->leaves[c] + step - 1) / step;
  }
  if (head) {
    const uint32_t buffers = 1;
    put_u32(g->out, buffers);
    // as its tiles have it
    float told = g->is_half ? kp_half_to_float(kp_half_from_float(g->background)) : g->background;
    for (int c = 0; c < g->n_components; ++c) {
      put(g->out, &told, sizeof told);
    }
    put_u32(g->out, 0);  // tiles
    put_u32(g->out, (uint32_t)(n[0] * n[1] * n[2]));
  }
  for (int64_t i = 0; i < n[0] * n[1] * n[2]; ++i) {
    const int64_t first[3] = { i / (n[1] * n[2]) * step, i / n[2] % n[1] * step, i % n[2] * step };
    if (head) {
      const int32_t voxel[3] = { (int32_t)(first[0] * LEAF), (int32_t)(first[1] * LEAF),
                                 (int32_t)(first[2] * LEAF) };
      put(g->out, voxel, sizeof voxel);
    }
    put_outer(g, first, head, leaf);
  }
}

static void put_map(vdb_grid *g) {
  double h = g->volume->spacing;
  kp_vec3 o = g->volume->origin;
  put_text(g->out, "UniformScaleTranslateMap");
  put_vec3(g->out, o.x + 0.5 * h, o.y + 0.5 * h, o.z + 0.5 * h);
  put_vec3(g->out, h, h, h);
  put_vec3(g->out, h, h, h);
  put_vec3(g->out, 1.0 / h, 1.0 / h, 1.0 / h);
  put_vec3(g->out, 1.0 / (h * h), 1.0 / (h * h), 1.0 / (h * h));
  put_vec3(g->out, 0.5 / h, 0.5 / h, 0.5 / h);
}

static void put_grid(vdb_grid *g) {
  char type[48];
  (void)snprintf(type, sizeof type, "Tree_%s_5_4_3%s", g->n_components == 3 ? "vec3s" : "float",
                 g->is_half ? "_HalfFloat" : "");
  put_text(g->out, g->field->name);
  put_text(g->out, type);
  put_text(g->out, "");
  size_t places = g->out->bytes.count;
  const int64_t none[3] = { 0, 0, 0 };
  put(g->out, none, sizeof none);
  int64_t at[3] = { (int64_t)g->out->bytes.count, 0, 0 };
  put_u32(g->out, g->compression);
  const bool is_vector = g->n_components == 3;
  put_u32(g->out, 3u + (g->is_half ? 1 : 0) + (is_vector ? 1 : 0));
  put_meta(g->out, "class", g->is_level_set ? "level set" : is_vector ? "unknown" : "fog volume");
  if (g->is_half) {
    put_flag(g->out, "is_saved_as_half_float");
  }
  if (is_vector) {
    put_meta(g->out, "vector_type", "contravariant relative");  // turns with the volume
  }
  put_meta(g->out, "name", g->field->name);
  put_meta(g->out, "unit", g->field->unit);
  put_map(g);
  put_tree(g, true, put_leaf_mask);
  at[1] = (int64_t)g->out->bytes.count;
  put_tree(g, false, put_leaf_values);
  at[2] = (int64_t)g->out->bytes.count;
  if (g->out->result == KP_OK) {
    memcpy(g->out->bytes.data + places, at, sizeof at);
  }
}

// Leaves with active voxels.
static void mark_leaves(vdb_grid *g, uint8_t *has) {
  uint64_t mask[LEAF_VOXELS / 64];
  for (int64_t k = 0; k < g->leaves[2]; ++k) {
    for (int64_t j = 0; j < g->leaves[1]; ++j) {
      for (int64_t i = 0; i < g->leaves[0]; ++i) {
        const int64_t at[3] = { i, j, k };
        uint64_t any = 0;
        take_leaf(g, at, mask);
        for (int w = 0; w < LEAF_VOXELS / 64; ++w) {
          any |= mask[w];
        }
        has[i + g->leaves[0] * (j + g->leaves[1] * k)] = any != 0;
      }
    }
  }
  g->has = has;
}

// Fields of one or three components that are numbers with a fraction.
static bool is_exported(const kp_frame_field *field) {
  bool is_real = field->type == KP_ITEM_F32 || field->type == KP_ITEM_F64;
  return is_real && (field->n_components == 1 || field->n_components == 3);
}

// What cells hold where nothing happens: the value of most of them, such as the temperature of the
// room, or zero. Cells of it need no room in the file. The one that is more than half of all
// survives when others cancel it one by one (Boyer and Moore 1991); a second look counts it.
static float background_of(const kp_frame_field *field) {
  uint64_t votes = 0, count = 0;
  float leader = 0.0f;
  for (uint64_t i = 0; i < field->count && field->n_components == 1; ++i) {
    const float v = (float)kp_frame_value(field, 0, i);
    leader = votes == 0 ? v : leader;
    votes = v == leader ? votes + 1 : votes > 0 ? votes - 1 : 0;
  }
  for (uint64_t i = 0; i < field->count && field->n_components == 1; ++i) {
    count += (float)kp_frame_value(field, 0, i) == leader ? 1 : 0;
  }
  return 2 * count > field->count ? leader : 0.0f;
}

static kp_result add_field(const kp_frame_volume *volume, const kp_frame_field *field,
                           uint32_t flags, byte_array *out) {
  vdb_grid g = { .volume = volume, .field = field, .n_components = field->n_components };
  g.out = out;
  g.is_half = (flags & KP_EXPORT_HALF) != 0;
  g.is_level_set = g.n_components == 1 && strcmp(field->name, "distance") == 0;
  g.background = g.is_level_set ? (float)(BAND * volume->spacing) : background_of(field);
  g.compression = (flags & KP_EXPORT_PLAIN) != 0 ? COMPRESS_NONE : COMPRESS_ZIP;
  for (int c = 0; c < 3; ++c) {
    g.leaves[c] = (int64_t)((volume->dims[c] + LEAF - 1) / LEAF);
  }
  size_t most = INNERS * (size_t)g.n_components * sizeof(float);
  uint8_t *has = kp_alloc_zero((size_t)(g.leaves[0] * g.leaves[1] * g.leaves[2]), KP_MEMORY_IO);
  g.values = kp_alloc(most, KP_MEMORY_IO);
  g.halves = kp_alloc(most / 2, KP_MEMORY_IO);
  g.zipped = kp_alloc(compressBound((uLong)most), KP_MEMORY_IO);
  if (has != NULL && g.values != NULL && g.halves != NULL && g.zipped != NULL) {
    mark_leaves(&g, has);
    put_grid(&g);
  } else {
    out->result = KP_ERROR_MEMORY;
  }
  kp_free(has);
  kp_free(g.values);
  kp_free(g.halves);
  kp_free(g.zipped);
  return out->result;
}

// ---- files

// Thirty-six characters in the form of a UUID, made of what the file is: equal runs give equal
// files.
static void put_tag(byte_array *out, const kp_frame *frame, const kp_frame_volume *volume) {
  char tag[40];
  unsigned long long number = (unsigned long long)frame->frame & 0xffffffffffffULL;
  unsigned name = 0;
  for (const char *p = volume->name; *p != '\0'; ++p) {
    name = 31u * name + (unsigned char)*p;
  }
  (void)snprintf(tag, sizeof tag, "%08x-6b65-4c70-8965-%012llx", name, number);
  put(out, tag, 36);
}

static kp_result write_volume(const kp_frame *frame, const kp_frame_volume *volume, uint32_t flags,
                              const char *path) {
  byte_array out = { .result = KP_OK };
  const char has_offsets = 1;
  uint32_t n_grids = 0;
  for (size_t i = 0; i < volume->fields.count; ++i) {
    n_grids += is_exported(&volume->fields.items[i]) ? 1 : 0;
  }
  char time[32];
  (void)snprintf(time, sizeof time, "%.17g", frame->time);
  put_i64(&out, MAGIC);
  put_u32(&out, VERSION);
  put_u32(&out, LIBRARY_MAJOR);
  put_u32(&out, LIBRARY_MINOR);
  put(&out, &has_offsets, 1);
  put_tag(&out, frame, volume);
  put_u32(&out, 3);
  put_meta(&out, "creator", "Kelpie " KP_VERSION_STRING);
  put_meta(&out, "time", time);
  put_meta(&out, "up_axis", kp_export_axis_name(frame));
  put_u32(&out, n_grids);
  for (size_t i = 0; i < volume->fields.count && out.result == KP_OK; ++i) {
    if (is_exported(&volume->fields.items[i])) {
      out.result = add_field(volume, &volume->fields.items[i], flags, &out);
    }
  }
  kp_result result = out.result;
  if (result == KP_OK) {
    result = kp_file_write(path, out.bytes.data, out.bytes.count);
  }
  kp_array_free(&out.bytes);
  return result;
}

static kp_result write_vdb(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  if (!kp_export_is_little_endian()) {
    return kp_fail(KP_ERROR_IO, "VDB files can be written on little-endian machines only");
  }
  return kp_export_each_volume("vdb", write_volume, frame, folder, flags, list);
}

const kp_exporter kp_export_vdb = {
  .name = "vdb",
  .extension = "vdb",
  .text = "OpenVDB: volumes as sparse float grids, for Blender, Houdini and renderers.",
  .write = write_vdb,
};
