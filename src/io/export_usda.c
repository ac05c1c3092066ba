// USD, as text with time samples: one scene.usda for the whole run. Particles become Points with
// velocities and ids, meshes Mesh, curves BasisCurves, volumes Volume with references to .vdb files
// that are written beside it. Time codes are frames, lengths metres, velocities per second.
//
// USD keeps all samples of an attribute together, frames come one by one: every attribute grows in
// a file of its own, "<prim>.<type>.<attribute>.part", and finish joins them.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/export.h"

#define SCENE_NAME "scene.usda"
#define END_WIDTH 20  // digits kept free for the last time code

// ---- samples

// Prim names are letters, digits and underscores.
static void prim_name(char *out, size_t size, const char *name) {
  kp_text_copy(out, size, name);
  for (char *p = out; *p != '\0'; ++p) {
    bool is_letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
    bool is_digit = *p >= '0' && *p <= '9';
    *p = is_letter || (is_digit && p != out) ? *p : '_';
  }
}

typedef struct writer {
  const kp_frame *frame;
  const char *folder;
  kp_export_list *list;
  char prim[KP_SECTION_NAME_SIZE + 16];
  const char *type;
} writer;

// The attribute's stream, and the key of this frame's sample written to it; *stream is NULL when
// the value is that of the last sample, which then holds.
static kp_result begin_sample(const writer *w, const char *declaration, const char *attribute,
                              const char *interpolation, uint64_t hash, kp_export_stream **stream) {
  char name[2 * KP_SECTION_NAME_SIZE + 64];
  (void)snprintf(name, sizeof name, "%s.%s.%s.part", w->prim, w->type, attribute);
  *stream = kp_export_stream_find(w->list, name);
  if (*stream == NULL) {
    KP_TRY(kp_export_stream_begin(w->list, w->frame, w->folder, name, stream));
    if (interpolation != NULL) {
      kp_file_print(&(*stream)->file,
                    "        %s (\n            interpolation = \"%s\"\n        )\n", declaration,
                    interpolation);
    }
    kp_file_print(&(*stream)->file, "        %s.timeSamples = {\n", declaration);
  } else if ((*stream)->n_items == hash) {
    *stream = NULL;
    return KP_OK;
  }
  (*stream)->n_items = hash;
  kp_file_print(&(*stream)->file, "            %" PRIu64 ": ", w->frame->frame);
  return KP_OK;
}

static uint64_t hash_field(const kp_export_field *field, uint64_t n) {
  uint64_t hash = kp_hash_bytes(&n, sizeof n, 0);
  size_t size = kp_item_size(field->type);
  for (int c = 0; c < field->n_components; ++c) {
    for (uint64_t i = 0; i < n; ++i) {
      hash = kp_hash_bytes(kp_export_item(field, c, i), size, hash);
    }
  }
  return hash;
}

static void add_item(kp_file *file, const kp_export_field *field, int component, uint64_t index) {
  const void *item = kp_export_item(field, component, index);
  switch (field->type) {
  case KP_ITEM_F32:
  case KP_ITEM_F64:
    kp_file_print(file, "%.9g", kp_item_value(field->type, item));
    break;
  case KP_ITEM_U64:
    kp_file_print(file, "%" PRIu64, *(const uint64_t *)item);
    break;
  case KP_ITEM_I64:
    kp_file_print(file, "%" PRId64, *(const int64_t *)item);
    break;
  default:
    kp_file_print(file, "%.0f", kp_item_value(field->type, item));
    break;
  }
}

// Primvars and widths of one value per point say so: without it USD takes them for constants.
static kp_result add_field(const writer *w, const char *type, const char *attribute,
                           const kp_export_field *field, uint64_t n) {
  bool is_variable = strncmp(attribute, "primvars:", 9) == 0 || strcmp(attribute, "widths") == 0;
  const char *interpolation = !is_variable ? NULL : field->stride == 0 ? "constant" : "vertex";
  kp_export_stream *stream;
  char declaration[KP_SECTION_NAME_SIZE + 32];
  (void)snprintf(declaration, sizeof declaration, "%s %s", type, attribute);
  KP_TRY(begin_sample(w, declaration, attribute, interpolation, hash_field(field, n), &stream));
  if (stream == NULL) {
    return KP_OK;
  }
  kp_file *file = &stream->file;
  kp_file_print(file, "[");
  for (uint64_t i = 0; i < n; ++i) {
    kp_file_print(file, i > 0 ? ", " : "");
    if (field->n_components == 3) {
      kp_file_print(file, "(");
      for (int c = 0; c < 3; ++c) {
        kp_file_print(file, c > 0 ? ", " : "");
        add_item(file, field, c, i);
      }
      kp_file_print(file, ")");
    } else {
      add_item(file, field, 0, i);
    }
  }
  kp_file_print(file, "],\n");
  return KP_OK;
}

// ---- objects

// Fields USD has a name for; others become primvars.
static const char *usd_name(const kp_export_field *field, const char **type) {
  static const struct {
    const char *field, *type, *name;
    int n_components;
  } known[] = {
    { "position", "point3f[]", "points", 3 },
    { "velocity", "vector3f[]", "velocities", 3 },
    { "normal", "normal3f[]", "normals", 3 },
    { "colour", "color3f[]", "primvars:displayColor", 3 },
    { "id", "int64[]", "ids", 1 },
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
    if (strcmp(known[i].field, field->name) == 0 && known[i].n_components == field->n_components) {
      *type = known[i].type;
      return known[i].name;
    }
  }
  bool is_float = field->type == KP_ITEM_F32 || field->type == KP_ITEM_F64;
  *type = field->n_components == 3 ? "float3[]" : is_float ? "float[]" : "int64[]";
  return NULL;
}

static kp_result add_fields(const writer *w, const kp_export_object *object) {
  for (size_t i = 0; i < object->n_fields; ++i) {
    const kp_export_field *field = &object->fields[i];
    char clean[KP_SECTION_NAME_SIZE], variable[KP_SECTION_NAME_SIZE + 16];
    const char *type, *name = usd_name(field, &type);
    if (field->n_components != 1 && field->n_components != 3) {
      continue;  // no type for it
    }
    if (name == NULL) {
      prim_name(clean, sizeof clean, field->name);
      (void)snprintf(variable, sizeof variable, "primvars:%s", clean);
      name = variable;
    }
    KP_TRY(add_field(w, type, name, field, object->n_points));
  }
  return KP_OK;
}

// Twice the radius, or what the exporter is given for all points.
static kp_result add_widths(const writer *w, const kp_export_object *object, float width) {
  const kp_export_field *radius = kp_export_find(object, "radius", 1);
  if (radius == NULL) {
    const void *data = &width;
    const kp_export_field one = { "widths", "m", KP_ITEM_F32, 1, &data, 0 };
    return add_field(w, "float[]", "widths", &one, object->n_points > 0 ? 1 : 0);
  }
  float *widths = kp_alloc((object->n_points + 1) * sizeof *widths, KP_MEMORY_IO);
  if (widths == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t i = 0; i < object->n_points; ++i) {
    widths[i] = (float)(2.0 * kp_export_value(radius, 0, i));
  }
  const void *data = widths;
  const kp_export_field field = { "widths", "m", KP_ITEM_F32, 1, &data, sizeof *widths };
  kp_result result = add_field(w, "float[]", "widths", &field, object->n_points);
  kp_free(widths);
  return result;
}

// One sample, which holds.
static kp_result hide(const writer *w) {
  kp_export_stream *stream;
  KP_TRY(begin_sample(w, "token visibility", "visibility", NULL, 1, &stream));
  if (stream != NULL) {
    kp_file_print(&stream->file, "\"invisible\",\n");
  }
  return KP_OK;
}

static kp_result add_mesh(const writer *w, const kp_export_object *object) {
  const uint32_t three = 3;
  const void *counts = &three, *indices = object->triangles;
  const kp_export_field sides = { "counts", "", KP_ITEM_U32, 1, &counts, 0 };
  const kp_export_field corners = { "indices", "", KP_ITEM_U32, 1, &indices, sizeof three };
  KP_TRY(add_field(w, "int[]", "faceVertexCounts", &sides, object->n_triangles));
  KP_TRY(add_field(w, "int[]", "faceVertexIndices", &corners, 3 * object->n_triangles));
  KP_TRY(object->is_hidden ? hide(w) : KP_OK);
  return add_fields(w, object);
}

static kp_result add_curves(const writer *w, const kp_export_object *object) {
  uint32_t *counts = kp_alloc((object->n_curves + 1) * sizeof *counts, KP_MEMORY_IO);
  if (counts == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t c = 0; c < object->n_curves; ++c) {
    counts[c] = (uint32_t)(object->offsets[c + 1] - object->offsets[c]);
  }
  const void *data = counts;
  const kp_export_field field = { "counts", "", KP_ITEM_U32, 1, &data, sizeof *counts };
  kp_result result = add_field(w, "int[]", "curveVertexCounts", &field, object->n_curves);
  kp_free(counts);
  KP_TRY(result);
  KP_TRY(add_fields(w, object));
  return add_widths(w, object, 1e-3f);
}

static kp_result add_object(writer *w, const kp_export_object *object) {
  prim_name(w->prim, sizeof w->prim, object->name);
  w->type = object->triangles != NULL ? "Mesh" : object->offsets != NULL ? "BasisCurves" : "Points";
  if (object->triangles != NULL) {
    return add_mesh(w, object);
  }
  if (object->offsets != NULL) {
    return add_curves(w, object);
  }
  KP_TRY(add_fields(w, object));
  return add_widths(w, object, (float)(2.0 * kp_frame_set_radius(object->set)));
}

// A file per frame and a stream of names per field.
static kp_result add_volume(writer *w, const kp_frame_volume *volume, const char *file_name) {
  char clean[KP_SECTION_NAME_SIZE];
  kp_export_clean_name(clean, sizeof clean, volume->name);
  (void)snprintf(w->prim, sizeof w->prim, "%s_volume", clean);
  prim_name(w->prim, sizeof w->prim, w->prim);
  w->type = "Volume";
  for (size_t i = 0; i < volume->fields.count; ++i) {
    kp_export_stream *stream;
    KP_TRY(begin_sample(w, "asset filePath", volume->fields.items[i].name, NULL,
                        w->frame->frame + 1, &stream));
    if (stream != NULL) {
      kp_file_print(&stream->file, "@./%s@,\n", file_name);
    }
  }
  return KP_OK;
}

static kp_result begin_scene(const kp_frame *frame, const char *folder, kp_export_list *list) {
  kp_export_stream *scene;
  KP_TRY(kp_export_stream_begin(list, frame, folder, SCENE_NAME, &scene));
  kp_file *file = &scene->file;
  double fps = frame->fps > 0.0 ? frame->fps : 24.0;
  // USD knows y and z up; what has x up is turned by the root
  kp_file_print(file, "#usda 1.0\n(\n    defaultPrim = \"World\"\n    doc = \"Kelpie %s\"\n",
                KP_VERSION_STRING);
  kp_file_print(file, "    metersPerUnit = 1\n    upAxis = \"%s\"\n",
                frame->up_axis == 2 ? "Z" : "Y");
  kp_file_print(file, "    framesPerSecond = %.9g\n    timeCodesPerSecond = %.9g\n", fps, fps);
  kp_file_print(file, "    startTimeCode = %" PRIu64 "\n    endTimeCode = ", frame->frame);
  long place = file->stream != NULL ? ftell(file->stream) : 0;
  scene->n_items = place > 0 ? (uint64_t)place : 0;
  kp_file_print(file, "%-*" PRIu64 "\n)\n\ndef Xform \"World\"\n{\n", END_WIDTH, frame->frame);
  if (frame->up_axis == 0) {
    kp_file_print(file,
                  "    float3 xformOp:rotateXYZ = (0, 0, 90)\n    uniform token[] xformOpOrder "
                  "= [\"xformOp:rotateXYZ\"]\n");
  }
  return KP_OK;
}

static kp_result write_usda(const kp_frame *frame, const char *folder, uint32_t flags,
                            kp_export_list *list) {
  if (list->n_streams == 0) {
    KP_TRY(begin_scene(frame, folder, list));
  }
  char last[END_WIDTH + 1];
  (void)snprintf(last, sizeof last, "%-*" PRIu64, END_WIDTH, frame->frame);
  kp_file_patch(&list->streams[0].file, list->streams[0].n_items, last, END_WIDTH);
  size_t first = list->count;
  KP_TRY(kp_export_vdb.write(frame, folder, flags, list));
  writer w = { .frame = frame, .folder = folder, .list = list };
  for (size_t i = 0; i < frame->n_volumes && first + i < list->count; ++i) {
    KP_TRY(add_volume(&w, &frame->volumes[i], list->files[first + i].name));
  }
  kp_export_objects objects;
  KP_TRY(kp_export_objects_make(frame, &objects));
  kp_result result = KP_OK;
  for (size_t i = 0; i < objects.count && result == KP_OK; ++i) {
    result = add_object(&w, &objects.items[i]);
  }
  kp_export_objects_free(&objects);
  return result;
}

// ---- joining

// A part's own name cut up: prim, type, attribute.
typedef struct part_name {
  char text[2 * KP_SECTION_NAME_SIZE + 64];
  const char *prim, *type, *attribute;
} part_name;

static void cut_name(part_name *out, const char *name) {
  char *rest = NULL;
  kp_text_copy(out->text, sizeof out->text, name);
  out->prim = strtok_r(out->text, ".", &rest);
  out->type = strtok_r(NULL, ".", &rest);
  out->attribute = strtok_r(NULL, ".", &rest);
}

static void open_prim(kp_file *file, const part_name *name) {
  static const char *const fixed[][2] = {
    { "Mesh", "        uniform token subdivisionScheme = \"none\"\n        uniform bool "
              "doubleSided = 1\n" },
    { "BasisCurves", "        uniform token type = \"linear\"\n" },
  };
  kp_file_print(file, "    def %s \"%s\"\n    {\n", name->type, name->prim);
  for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; ++i) {
    if (strcmp(fixed[i][0], name->type) == 0) {
      kp_file_print(file, "%s", fixed[i][1]);
    }
  }
}

// The attribute of a volume is a field of its own below it, whose asset is the list of files.
static kp_result join_part(kp_file *file, const part_name *name, kp_file *part) {
  bool is_volume = strcmp(name->type, "Volume") == 0;
  if (is_volume) {
    kp_file_print(file,
                  "        rel field:%s = </World/%s/%s>\n        def OpenVDBAsset \"%s\"\n        "
                  "{\n        token fieldName = \"%s\"\n",
                  name->attribute, name->prim, name->attribute, name->attribute, name->attribute);
  }
  KP_TRY(kp_file_join(file, part));
  kp_file_print(file, is_volume ? "        }\n        }\n" : "        }\n");
  return KP_OK;
}

// All parts of the prim whose first part is given; none is left.
static kp_result join_prim(kp_export_list *list, size_t first) {
  kp_file *scene = &list->streams[0].file;
  part_name prim;
  cut_name(&prim, list->streams[first].made.name);
  open_prim(scene, &prim);
  for (size_t i = first; i < list->n_streams; ++i) {
    kp_export_stream *part = &list->streams[i];
    part_name name;
    if (part->made.name == NULL) {
      continue;
    }
    cut_name(&name, part->made.name);
    if (strcmp(name.prim, prim.prim) != 0) {
      continue;
    }
    KP_TRY(join_part(scene, &name, &part->file));
    kp_export_stream_discard(part);
  }
  kp_file_print(scene, "    }\n");
  return KP_OK;
}

static kp_result finish_usda(const char *folder, kp_export_list *list) {
  (void)folder;
  for (size_t i = 1; i < list->n_streams; ++i) {
    if (list->streams[i].made.name != NULL) {
      KP_TRY(join_prim(list, i));
    }
  }
  if (list->n_streams == 0) {
    return KP_OK;
  }
  kp_file_print(&list->streams[0].file, "}\n");
  return kp_export_stream_commit(list, &list->streams[0]);
}

const kp_exporter kp_export_usda = {
  .name = "usda",
  .extension = "usda",
  .text =
      "USD as text with time samples, volumes by reference to VDB: Houdini, Omniverse, Blender.",
  .write = write_usda,
  .finish = finish_usda,
};
