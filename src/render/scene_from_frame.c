#include "render/scene_from_frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "render/creases.h"

// Temperatures between which a gas begins to glow and all of it does, and those of a flame that is
// given as a share [K].
#define GLOW_FROM 800.0
#define GLOW_TO 1400.0
#define FLAME_DULL 1100.0f
#define FLAME_BRIGHT 2000.0f

#define FLAT_DEPTH 0.5  // of a flat world, in its sizes: what one layer of smoke stands for

#define BOX_TRIANGLES 12          // a box shows its faces, not one round body
#define AND " and "               // between the names of joined liquids
#define SURFACE_OF "surface of "  // and the liquid's name: what run/surfaces.c calls its meshes
#define SPRAY_OF "spray of "      // and what it calls its drops

// Spray: how white it is, of clear water and of what has a colour, and how much a drop covers.
#define SPRAY_WHITE 0.94
#define SPRAY_TINGED 0.25
#define SPRAY_OPACITY 0.7

// Light of one particle of a flame, where no look says more.
#define FLAME_GLOW 0.12

struct kp_frame_scene {
  kp_render_scene scene;
  KP_ARRAY(void *) blocks;  // copies made here
  kp_render_points *points;
  kp_render_mesh *meshes;
  kp_render_lines *lines;
  kp_render_volume *volumes;
};

// What a look is applied to.
typedef struct element {
  const char *kind, *name;
  const kp_frame_fields *fields;
  const kp_vec3 *velocities;  // meshes and curves; NULL when they have none
  uint64_t count;
} element;

static void *take(kp_frame_scene *s, uint64_t count, size_t size) {
  void *memory = kp_alloc_zero((size_t)(count > 0 ? count : 1) * size, KP_MEMORY_RENDER);
  if (memory != NULL && kp_array_push(&s->blocks, memory) != KP_OK) {
    kp_free(memory);
    memory = NULL;
  }
  return memory;
}

static const kp_look_def *find_look(const kp_named_look *looks, size_t n, const char *name) {
  const kp_look_def *all = NULL;
  for (size_t i = 0; i < n; ++i) {
    if (strcmp(looks[i].name, name) == 0) {
      return &looks[i].look;
    }
    all = strcmp(looks[i].name, "*") == 0 ? &looks[i].look : all;
  }
  return all;
}

static kp_result no_such_field(const element *e, const char *wanted) {
  const char *nearest = NULL;
  const char **names = kp_alloc((e->fields->count + 1) * sizeof *names, KP_MEMORY_RENDER);
  if (names == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < e->fields->count; ++i) {
    names[i] = e->fields->items[i].name;
  }
  nearest = kp_text_nearest(wanted, names, e->fields->count);
  kp_result result =
      nearest != NULL ? kp_fail(KP_ERROR_ARGUMENT,
                                "%s \"%s\" has no field \"%s\" to colour it by; did you mean "
                                "\"%s\"?",
                                e->kind, e->name, wanted, nearest)
                      : kp_fail(KP_ERROR_ARGUMENT, "%s \"%s\" has no field \"%s\" to colour it by",
                                e->kind, e->name, wanted);
  kp_free(names);
  return result;
}

// A field as one float per element; vectors by their length.
static kp_result field_as_scalar(kp_frame_scene *s, const element *e, const kp_frame_field *field,
                                 const float **out) {
  if (field->count != e->count || field->n_components < 1) {
    return kp_fail(KP_ERROR_FORMAT, "%s \"%s\": field \"%s\" has %llu values for %llu elements",
                   e->kind, e->name, field->name, (unsigned long long)field->count,
                   (unsigned long long)e->count);
  }
  float *values = take(s, e->count, sizeof *values);
  if (values == NULL) {
    return KP_ERROR_MEMORY;
  }
  *out = values;
  if (field->n_components == 1) {
    kp_frame_to_float(field, 0, values);
    return KP_OK;
  }
  for (uint64_t i = 0; i < e->count; ++i) {
    double sum = 0.0;
    for (int c = 0; c < field->n_components; ++c) {
      double v = kp_frame_value(field, c, i);
      sum += v * v;
    }
    values[i] = (float)sqrt(sum);
  }
  return KP_OK;
}

static float *speeds(kp_frame_scene *s, const kp_vec3 *velocities, uint64_t count) {
  float *out = take(s, count, sizeof *out);
  for (uint64_t i = 0; out != NULL && i < count; ++i) {
    out[i] = (float)kp_vec3_length(velocities[i]);
  }
  return out;
}

static bool is_color(const kp_frame_field *field) {
  return field->n_components == 3 && strcmp(field->name, "color") == 0;
}

// The values that colour an element; *out is NULL when its look names no field. "speed" is the
// length of the velocity where no field has that name.
static kp_result find_scalar(kp_frame_scene *s, const element *e, const kp_look_def *look,
                             const float **out) {
  *out = NULL;
  if (look->color_by[0] == '\0') {
    return KP_OK;
  }
  const char *name = look->color_by;
  const kp_frame_field *field = kp_frame_find_field(e->fields, name);
  bool speed = strcmp(name, "speed") == 0 || strcmp(name, "velocity") == 0;
  if (field == NULL && speed && e->velocities != NULL) {
    *out = speeds(s, e->velocities, e->count);
    return *out != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
  if (field == NULL && speed) {
    field = kp_frame_find_field(e->fields, "velocity");
  }
  if (field == NULL) {
    return no_such_field(e, name);
  }
  if (is_color(field)) {
    return KP_OK;  // not a value but what is seen
  }
  return field_as_scalar(s, e, field, out);
}

static kp_result get_component(kp_frame_scene *s, const kp_frame_field *field, int c,
                               uint64_t count, const double **out) {
  if (field->type == KP_ITEM_F64) {
    *out = field->data[c];
    return KP_OK;
  }
  double *copy = take(s, count, sizeof *copy);
  if (copy == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_frame_to_double(field, c, copy);
  *out = copy;
  return KP_OK;
}

// Three components of a field as arrays; left alone where there is no such field.
static kp_result find_vectors(kp_frame_scene *s, const kp_frame_fields *fields, const char *name,
                              uint64_t count, const float **out) {
  const kp_frame_field *field = kp_frame_find_field(fields, name);
  if (field == NULL || field->n_components != 3 || field->count != count) {
    return KP_OK;
  }
  for (int c = 0; c < 3; ++c) {
    float *values = take(s, count, sizeof *values);
    if (values == NULL) {
      return KP_ERROR_MEMORY;
    }
    kp_frame_to_float(field, c, values);
    out[c] = values;
  }
  return KP_OK;
}

// Colours and weights that particles bring along, as those of flames.
static kp_result find_colors(kp_frame_scene *s, const kp_frame_set *set, kp_render_points *points) {
  const kp_frame_field *alpha = kp_frame_find_field(&set->fields, "alpha");
  KP_TRY(find_vectors(s, &set->fields, "color", set->count, points->colors));
  if (alpha == NULL) {
    return KP_OK;
  }
  element e = { "set", set->name, &set->fields, NULL, set->count };
  return field_as_scalar(s, &e, alpha, &points->alphas);
}

static bool is_flame(const kp_frame_set *set) {
  return kp_frame_find_field(&set->fields, "color") != NULL &&
         kp_frame_find_field(&set->fields, "alpha") != NULL;
}

static kp_result add_set(kp_frame_scene *s, const kp_frame_set *set, const kp_look_def *look,
                         double radius) {
  kp_render_points *points = &s->points[s->scene.n_points++];
  const kp_frame_field *position = kp_frame_find_field(&set->fields, "position");
  if (position == NULL || position->n_components != 3) {
    return kp_fail(KP_ERROR_FORMAT, "set \"%s\" has no positions", set->name);
  }
  points->n = (int64_t)set->count;
  points->positions.stride = 1;
  KP_TRY(get_component(s, position, 0, set->count, &points->positions.x));
  KP_TRY(get_component(s, position, 1, set->count, &points->positions.y));
  KP_TRY(get_component(s, position, 2, set->count, &points->positions.z));
  const kp_frame_field *velocity = kp_frame_find_field(&set->fields, "velocity");
  if (velocity != NULL && velocity->n_components == 3 && velocity->count == set->count) {
    points->velocities.stride = 1;
    KP_TRY(get_component(s, velocity, 0, set->count, &points->velocities.x));
    KP_TRY(get_component(s, velocity, 1, set->count, &points->velocities.y));
    KP_TRY(get_component(s, velocity, 2, set->count, &points->velocities.z));
  }
  if (look != NULL) {
    points->look = *look;
  } else {
    points->look = kp_default_look_def();
    points->look.color = kp_vec3_make(0.22, 0.48, 0.78);
    points->look.color_map = KP_COLORMAP_WATER;
    points->look.gloss = 0.5;
    points->look.glow = is_flame(set) ? FLAME_GLOW : 0.0;
    if (!is_flame(set) && kp_frame_find_field(&set->fields, "velocity") != NULL) {
      kp_text_copy(points->look.color_by, sizeof points->look.color_by, "velocity");
    }
  }
  element e = { "set", set->name, &set->fields, NULL, set->count };
  KP_TRY(find_scalar(s, &e, &points->look, &points->scalar));
  KP_TRY(find_colors(s, set, points));
  const kp_frame_field *radii = kp_frame_find_field(&set->fields, "radius");
  if (radii != NULL) {
    return field_as_scalar(s, &e, radii, &points->radii);
  }
  points->radius = radius > 0.0 ? radius : kp_frame_set_radius(set);
  return KP_OK;
}

static bool is_surface(const kp_frame_mesh *mesh) {
  return strncmp(mesh->name, SURFACE_OF, strlen(SURFACE_OF)) == 0;
}

static bool is_spray(const kp_frame_set *set) {
  return strncmp(set->name, SPRAY_OF, strlen(SPRAY_OF)) == 0;
}

// Whether a liquid is one of "a and b and c".
static bool is_among(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *at = names; at != NULL;) {
    const char *end = strstr(at, AND);
    size_t n = end != NULL ? (size_t)(end - at) : strlen(at);
    if (n == length && memcmp(at, name, n) == 0) {
      return true;
    }
    at = end != NULL ? end + strlen(AND) : NULL;
  }
  return false;
}

// The look of the first of them.
static const kp_look_def *find_liquid_look(const kp_named_look *looks, size_t n,
                                           const kp_frame_mesh *mesh) {
  char first[KP_SECTION_NAME_SIZE] = "";
  if (is_surface(mesh)) {
    kp_text_copy(first, sizeof first, mesh->name + strlen(SURFACE_OF));
    char *end = strstr(first, AND);
    if (end != NULL) {
      *end = '\0';
    }
  }
  return find_look(looks, n, first);
}

// Whether drops of "a and b" are in a frame: all that is left of a liquid may be spray.
static bool has_spray(const kp_frame *frame, const char *names) {
  for (size_t i = 0; i < frame->n_sets; ++i) {
    const kp_frame_set *set = &frame->sets[i];
    if (is_spray(set) && strcmp(set->name + strlen(SPRAY_OF), names) == 0) {
      return set->count > 0;
    }
  }
  return false;
}

// A liquid whose surface is drawn is not drawn as particles as well.
static bool has_surface(const kp_frame_scene *s, const kp_frame *frame, const char *name) {
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    const kp_frame_mesh *mesh = &frame->meshes[i];
    if (is_surface(mesh) && is_among(mesh->name + strlen(SURFACE_OF), name)) {
      bool is_there = mesh->n_triangles > 0 || has_spray(frame, mesh->name + strlen(SURFACE_OF));
      return s->meshes[i].look.visible && is_there;
    }
  }
  return false;
}

// Normals that a mesh brings along, those of the field it is a surface of.
static kp_result find_normals(kp_frame_scene *s, const kp_frame_mesh *mesh, kp_render_mesh *out) {
  const kp_frame_field *field = kp_frame_find_field(&mesh->fields, "normal");
  if (field == NULL || field->n_components != 3 || field->count != mesh->n_vertices) {
    return KP_OK;
  }
  float *normals = take(s, 3 * mesh->n_vertices, sizeof *normals);
  if (normals == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t i = 0; i < mesh->n_vertices; ++i) {
    for (int c = 0; c < 3; ++c) {
      normals[3 * i + (uint64_t)c] = (float)kp_frame_value(field, c, i);
    }
  }
  out->normals = normals;
  return KP_OK;
}

// A surface without a look of its own takes after its liquid: its colour, or what it is coloured by
// where the surface carries that, as concentrations are.
static void take_after(const kp_frame_mesh *mesh, const kp_look_def *liquid, kp_look_def *out) {
  if (liquid->color_by[0] == '\0') {
    out->color = liquid->color;
  } else if (kp_frame_find_field(&mesh->fields, liquid->color_by) != NULL &&
             strcmp(liquid->color_by, "velocity") != 0) {
    *out = *liquid;
    out->water = false;
  }
}

// Values of the vertices that were split, each as long as `width`.
static kp_result take_split(kp_frame_scene *s, const kp_creases *c, const void *values,
                            size_t width, const void **out) {
  char *copy = take(s, c->n, width);
  if (copy == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t i = 0; i < c->n; ++i) {
    memcpy(copy + i * width, (const char *)values + c->from[i] * width, width);
  }
  *out = copy;
  return KP_OK;
}

static kp_result use_creases(kp_frame_scene *s, const kp_creases *c, const kp_frame_mesh *mesh,
                             kp_render_mesh *out) {
  const void *values;
  const kp_vec3 *p;
  KP_TRY(take_split(s, c, mesh->vertices, sizeof *mesh->vertices, &values));
  p = values;
  out->positions = (kp_render_positions){ &p[0].x, &p[0].y, &p[0].z, 3 };
  if (mesh->velocities != NULL) {
    KP_TRY(take_split(s, c, mesh->velocities, sizeof *mesh->velocities, &values));
    p = values;
    out->velocities = (kp_render_positions){ &p[0].x, &p[0].y, &p[0].z, 3 };
  }
  const float **floats[4] = { &out->scalar, &out->colors[0], &out->colors[1], &out->colors[2] };
  for (int k = 0; k < 4; ++k) {
    if (*floats[k] != NULL) {
      KP_TRY(take_split(s, c, *floats[k], sizeof(float), &values));
      *floats[k] = values;
    }
  }
  float *normals = take(s, 3 * c->n, sizeof *normals);
  uint32_t *triangles = take(s, 3 * mesh->n_triangles, sizeof *triangles);
  if (normals == NULL || triangles == NULL) {
    return KP_ERROR_MEMORY;
  }
  memcpy(normals, c->normals, 3 * c->n * sizeof *normals);
  memcpy(triangles, c->triangles, 3 * mesh->n_triangles * sizeof *triangles);
  out->normals = normals;
  out->triangles = triangles;
  out->n_vertices = (int64_t)c->n;
  return KP_OK;
}

// Sharp edges of bodies stay sharp.
static kp_result split_creases(kp_frame_scene *s, const kp_frame_mesh *mesh, kp_render_mesh *out) {
  if (out->normals != NULL || !out->smooth_shading || is_surface(mesh)) {
    return KP_OK;
  }
  for (uint64_t i = 0; i < 3 * mesh->n_triangles; ++i) {
    if (mesh->triangles[i] >= mesh->n_vertices) {
      return KP_OK;  // the renderer tells
    }
  }
  kp_creases c = { 0 };
  kp_result result =
      kp_creases_find(&c, mesh->vertices, mesh->n_vertices, mesh->triangles, mesh->n_triangles);
  if (result == KP_OK && c.n > mesh->n_vertices) {
    result = use_creases(s, &c, mesh, out);
  }
  kp_creases_free(&c);
  return result;
}

static kp_result add_mesh(kp_frame_scene *s, const kp_frame_mesh *mesh, const kp_look_def *look,
                          const kp_look_def *liquid) {
  kp_render_mesh *out = &s->meshes[s->scene.n_meshes++];
  out->n_vertices = (int64_t)mesh->n_vertices;
  out->n_triangles = (int64_t)mesh->n_triangles;
  if (mesh->n_vertices > 0) {
    out->positions = (kp_render_positions){ &mesh->vertices[0].x, &mesh->vertices[0].y,
                                            &mesh->vertices[0].z, 3 };
  }
  if (mesh->n_vertices > 0 && mesh->velocities != NULL) {
    out->velocities = (kp_render_positions){ &mesh->velocities[0].x, &mesh->velocities[0].y,
                                             &mesh->velocities[0].z, 3 };
  }
  out->triangles = mesh->triangles;
  out->smooth_shading = mesh->n_triangles > BOX_TRIANGLES;
  if (look != NULL) {
    out->look = *look;
  } else {
    out->look = kp_default_look_def();
    out->look.color = kp_vec3_make(0.72, 0.76, 0.80);
    out->look.gloss = 0.4;
    if (is_surface(mesh)) {
      out->look.water = true;
      out->look.color = kp_vec3_make(0.16, 0.50, 0.66);
      if (liquid != NULL) {
        take_after(mesh, liquid, &out->look);
      }
    }
  }
  KP_TRY(find_normals(s, mesh, out));
  KP_TRY(find_vectors(s, &mesh->fields, "color", mesh->n_vertices, out->colors));
  element e = { "mesh", mesh->name, &mesh->fields, mesh->velocities, mesh->n_vertices };
  KP_TRY(find_scalar(s, &e, &out->look, &out->scalar));
  return split_creases(s, mesh, out);
}

// Curves through their points, so that a hair of few segments shows no corners: every piece is
// drawn as PIECES of a Catmull-Rom spline.
#define PIECES 3

static kp_vec3 spline(const kp_vec3 *p, uint64_t i, uint64_t n, double t) {
  kp_vec3 b = p[i], c = p[i + 1];
  kp_vec3 a = i > 0 ? p[i - 1] : kp_vec3_sub(kp_vec3_scale(b, 2.0), c);
  kp_vec3 d = i + 2 < n ? p[i + 2] : kp_vec3_sub(kp_vec3_scale(c, 2.0), b);
  double t2 = t * t, t3 = t2 * t;
  kp_vec3 sum = kp_vec3_scale(a, 0.5 * (-t3 + 2.0 * t2 - t));
  sum = kp_vec3_madd(sum, 0.5 * (3.0 * t3 - 5.0 * t2 + 2.0), b);
  sum = kp_vec3_madd(sum, 0.5 * (-3.0 * t3 + 4.0 * t2 + t), c);
  return kp_vec3_madd(sum, 0.5 * (t3 - t2), d);
}

// Values per point between the points.
static kp_result refine_values(kp_frame_scene *s, const kp_frame_curves *curves,
                               const uint64_t *first, const float **values) {
  float *out = take(s, first[curves->n_curves], sizeof *out);
  if (out == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t c = 0; c < curves->n_curves; ++c) {
    uint64_t n = curves->offsets[c + 1] - curves->offsets[c];
    const float *v = *values + curves->offsets[c];
    for (uint64_t k = first[c]; k < first[c + 1]; ++k) {
      uint64_t i = (k - first[c]) / PIECES, next = i + 1 < n ? i + 1 : i;
      float t = (float)((k - first[c]) % PIECES) / (float)PIECES;
      out[k] = v[i] + t * (v[next] - v[i]);
    }
  }
  *values = out;
  return KP_OK;
}

// Points or velocities on the spline.
static kp_result refine_vectors(kp_frame_scene *s, const kp_frame_curves *curves,
                                const uint64_t *first, const kp_vec3 *from,
                                kp_render_positions *to) {
  kp_vec3 *out = take(s, first[curves->n_curves], sizeof *out);
  if (out == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t c = 0; c < curves->n_curves; ++c) {
    uint64_t n = curves->offsets[c + 1] - curves->offsets[c];
    const kp_vec3 *p = from + curves->offsets[c];
    for (uint64_t k = first[c]; k < first[c + 1]; ++k) {
      uint64_t i = (k - first[c]) / PIECES;
      double t = (double)((k - first[c]) % PIECES) / PIECES;
      out[k] = i + 1 < n ? spline(p, i, n, t) : p[i];
    }
  }
  *to = (kp_render_positions){ &out[0].x, &out[0].y, &out[0].z, 3 };
  return KP_OK;
}

static kp_result refine_curves(kp_frame_scene *s, const kp_frame_curves *curves,
                               kp_render_lines *out) {
  uint64_t *first = take(s, curves->n_curves + 1, sizeof *first);
  if (first == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t c = 0; c < curves->n_curves; ++c) {
    uint64_t n = curves->offsets[c + 1] - curves->offsets[c];
    first[c + 1] = first[c] + (n > 1 ? PIECES * (n - 1) + 1 : n);
  }
  out->first = first;
  KP_TRY(refine_vectors(s, curves, first, curves->points, &out->positions));
  if (curves->velocities != NULL) {
    KP_TRY(refine_vectors(s, curves, first, curves->velocities, &out->velocities));
  }
  if (out->scalar != NULL) {
    KP_TRY(refine_values(s, curves, first, &out->scalar));
  }
  return out->radii != NULL ? refine_values(s, curves, first, &out->radii) : KP_OK;
}

static kp_result add_curves(kp_frame_scene *s, const kp_frame_curves *curves,
                            const kp_look_def *look, double size) {
  kp_render_lines *out = &s->lines[s->scene.n_lines++];
  out->n_lines = (int64_t)curves->n_curves;
  out->first = curves->offsets;
  if (curves->n_points > 0) {
    out->positions = (kp_render_positions){ &curves->points[0].x, &curves->points[0].y,
                                            &curves->points[0].z, 3 };
  }
  if (look != NULL) {
    out->look = *look;
  } else {
    out->look = kp_default_look_def();
    out->look.color = kp_vec3_make(0.50, 0.34, 0.20);
    out->look.gloss = 0.5;
  }
  element e = { "curves", curves->name, &curves->fields, curves->velocities, curves->n_points };
  KP_TRY(find_scalar(s, &e, &out->look, &out->scalar));
  const kp_frame_field *radii = kp_frame_find_field(&curves->fields, "radius");
  if (radii != NULL) {
    KP_TRY(field_as_scalar(s, &e, radii, &out->radii));
  }
  out->radius = 1e-3 * size;
  return curves->n_points > 0 ? refine_curves(s, curves, out) : KP_OK;
}

// The share of a gas that glows: from first sight of it to all of it.
static float glowing_share(double kelvin) {
  double t = (kelvin - GLOW_FROM) / (GLOW_TO - GLOW_FROM);
  t = t > 0.0 ? (t < 1.0 ? t : 1.0) : 0.0;
  return (float)(t * t * (3.0 - 2.0 * t));
}

// A temperature glows as a black body; so does a flame, which goes from dull to bright as it burns.
static kp_result add_heat(kp_frame_scene *s, uint64_t count, bool is_kelvin, const float *values,
                          kp_render_volume *out) {
  float *share = take(s, count, sizeof *share), *kelvin = take(s, count, sizeof *kelvin);
  if (share == NULL || kelvin == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t i = 0; i < count; ++i) {
    float flame = values[i] > 0.0f ? (values[i] < 1.0f ? values[i] : 1.0f) : 0.0f;
    kelvin[i] = is_kelvin ? values[i] : FLAME_DULL + flame * (FLAME_BRIGHT - FLAME_DULL);
    share[i] = is_kelvin ? glowing_share((double)values[i]) : flame;
  }
  out->emission = share;
  out->scalar = kelvin;
  out->is_hot = true;
  return KP_OK;
}

// Light given off: what the look names through its colour map; else a temperature in kelvin, else a
// field called flame.
static kp_result find_emission(kp_frame_scene *s, const kp_frame_volume *volume, uint64_t count,
                               kp_render_volume *out) {
  const char *name = out->look.color_by;
  element e = { "volume", volume->name, &volume->fields, NULL, count };
  const float *values;
  if (name[0] != '\0') {
    const kp_frame_field *field = kp_frame_find_field(&volume->fields, name);
    if (field == NULL) {
      return no_such_field(&e, name);
    }
    KP_TRY(field_as_scalar(s, &e, field, &values));
    float *light = take(s, count, sizeof *light);
    for (uint64_t i = 0; light != NULL && i < count; ++i) {
      light[i] = values[i] > 0.0f ? values[i] : 0.0f;
    }
    out->emission = light;
    out->scalar = values;
    return light != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
  const kp_frame_field *heat = kp_frame_find_field(&volume->fields, "temperature");
  bool is_kelvin = heat != NULL && strcmp(heat->unit, "K") == 0;
  const kp_frame_field *field = is_kelvin ? heat : kp_frame_find_field(&volume->fields, "flame");
  if (field == NULL) {
    return KP_OK;
  }
  KP_TRY(field_as_scalar(s, &e, field, &values));
  return add_heat(s, count, is_kelvin, values, out);
}

static kp_result add_volume(kp_frame_scene *s, const kp_frame_volume *volume,
                            const kp_look_def *look) {
  uint64_t count = volume->dims[0] * volume->dims[1] * volume->dims[2];
  bool fits =
      volume->dims[0] <= INT32_MAX && volume->dims[1] <= INT32_MAX && volume->dims[2] <= INT32_MAX;
  if (count == 0 || !fits) {
    return KP_OK;
  }
  kp_render_volume out = { .nx = (int)volume->dims[0],
                           .ny = (int)volume->dims[1],
                           .nz = (int)volume->dims[2],
                           .origin = volume->origin,
                           .cell = volume->spacing,
                           .density = volume->density };
  if (look != NULL) {
    out.look = *look;
  } else {
    out.look = kp_default_look_def();
    out.look.color = kp_vec3_make(0.80, 0.80, 0.81);
    out.look.color_map = KP_COLORMAP_HEAT;
  }
  if (volume->dims[2] == 1) {
    out.depth = FLAT_DEPTH * volume->spacing * sqrt((double)(volume->dims[0] * volume->dims[1]));
  }
  KP_TRY(find_emission(s, volume, count, &out));
  KP_TRY(find_vectors(s, &volume->fields, "velocity", count, out.velocities));
  bool burns = kp_frame_find_field(&volume->fields, "fuel") != NULL ||
               kp_frame_find_field(&volume->fields, "flame") != NULL;
  if (look == NULL && burns) {
    // soot
    out.look.color = kp_vec3_make(0.35, 0.33, 0.32);
  }
  if (out.density == NULL && out.emission == NULL) {
    return KP_OK;
  }
  if (out.density == NULL) {
    out.density = take(s, count, sizeof(float));
    if (out.density == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  s->volumes[s->scene.n_volumes++] = out;
  return KP_OK;
}

// Drops take after the surface they came from: of clear water each mirrors and bends all of the sky
// and is nearly white, whatever the water is coloured by in bulk.
static kp_look_def find_spray_look(const kp_look_def *surface) {
  kp_look_def look = kp_default_look_def();
  double white = surface->water ? SPRAY_WHITE : SPRAY_TINGED;
  kp_vec3 rest = kp_vec3_scale(surface->color, 1.0 - white);
  look.color = kp_vec3_add(kp_vec3_make(white, white, white), rest);
  look.sprite = KP_SPRITE_OVER;
  look.texture = KP_TEXTURE_SOFT;
  look.opacity = SPRAY_OPACITY;
  look.visible = surface->visible;
  return look;
}

// The surface that a set is the spray of; NULL: it is no spray.
static const kp_look_def *find_sprayed(const kp_frame_scene *s, const kp_frame *frame,
                                       const kp_frame_set *set) {
  for (size_t i = 0; i < frame->n_meshes && is_spray(set); ++i) {
    const kp_frame_mesh *mesh = &frame->meshes[i];
    if (is_surface(mesh) &&
        strcmp(mesh->name + strlen(SURFACE_OF), set->name + strlen(SPRAY_OF)) == 0) {
      return &s->meshes[i].look;
    }
  }
  return NULL;
}

static kp_result fill_scene(kp_frame_scene *s, const kp_frame *frame, const kp_named_look *looks,
                            size_t n_looks, double radius) {
  s->points = take(s, frame->n_sets, sizeof *s->points);
  s->meshes = take(s, frame->n_meshes, sizeof *s->meshes);
  s->lines = take(s, frame->n_curves, sizeof *s->lines);
  s->volumes = take(s, frame->n_volumes, sizeof *s->volumes);
  if (s->points == NULL || s->meshes == NULL || s->lines == NULL || s->volumes == NULL) {
    return KP_ERROR_MEMORY;
  }
  s->scene = (kp_render_scene){ .points = s->points,
                                .meshes = s->meshes,
                                .lines = s->lines,
                                .volumes = s->volumes,
                                .bounds = frame->domain,
                                .up = frame->up_axis == 2 ? KP_UP_Z : KP_UP_Y };
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    const kp_frame_mesh *mesh = &frame->meshes[i];
    const kp_look_def *of_liquid = find_liquid_look(looks, n_looks, mesh);
    if (kp_frame_is_yarn(frame, mesh)) {
      kp_render_mesh *none = &s->meshes[s->scene.n_meshes++];
      none->look = kp_default_look_def();
      none->look.visible = false;
      continue;
    }
    KP_TRY(add_mesh(s, mesh, find_look(looks, n_looks, mesh->name), of_liquid));
  }
  for (size_t i = 0; i < frame->n_sets; ++i) {
    const kp_frame_set *set = &frame->sets[i];
    const kp_look_def *look = find_look(looks, n_looks, set->name);
    const kp_look_def *sprayed = find_sprayed(s, frame, set);
    kp_look_def spray;
    if (sprayed != NULL && (look == NULL || look == find_look(looks, n_looks, ""))) {
      spray = find_spray_look(sprayed);
      look = &spray;
    }
    KP_TRY(add_set(s, set, look, radius));
    if (has_surface(s, frame, set->name)) {
      s->points[i].look.visible = false;
    }
  }
  double size = kp_vec3_length(kp_vec3_sub(frame->domain.max, frame->domain.min));
  for (size_t i = 0; i < frame->n_curves; ++i) {
    const kp_frame_curves *curves = &frame->curves[i];
    KP_TRY(add_curves(s, curves, find_look(looks, n_looks, curves->name),
                      isfinite(size) && size > 0.0 ? size : 1.0));
  }
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    const kp_frame_volume *volume = &frame->volumes[i];
    KP_TRY(add_volume(s, volume, find_look(looks, n_looks, volume->name)));
  }
  return KP_OK;
}

kp_result kp_frame_scene_create(const kp_frame *frame, const kp_named_look *looks, size_t n_looks,
                                double particle_radius, kp_frame_scene **out) {
  *out = NULL;
  kp_frame_scene *s = kp_alloc_zero(sizeof *s, KP_MEMORY_RENDER);
  if (s == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = fill_scene(s, frame, looks, n_looks, particle_radius);
  if (result != KP_OK) {
    kp_frame_scene_destroy(&s);
    return result;
  }
  *out = s;
  return KP_OK;
}

const kp_render_scene *kp_frame_scene_get(const kp_frame_scene *scene) {
  return &scene->scene;
}

void kp_frame_scene_destroy(kp_frame_scene **scene) {
  kp_frame_scene *s = *scene;
  if (s == NULL) {
    return;
  }
  for (size_t i = 0; i < s->blocks.count; ++i) {
    kp_free(s->blocks.data[i]);
  }
  kp_array_free(&s->blocks);
  kp_free(s);
  *scene = NULL;
}
