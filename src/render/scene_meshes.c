// Meshes in a scene: normals, sharp edges, surfaces of liquids.
#include <string.h>

#include "render/creases.h"
#include "render/scene_parts.h"

#define BOX_TRIANGLES 12  // a box shows its faces, not one round body

// Normals that a mesh brings along, those of the field it is a surface of.
static kp_result find_normals(kp_frame_scene *s, const kp_frame_mesh *mesh, kp_render_mesh *out) {
  const kp_frame_field *field = kp_frame_find_field(&mesh->fields, "normal");
  if (field == NULL || field->n_components != 3 || field->count != mesh->n_vertices) {
    return KP_OK;
  }
  float *normals = kp_scene_take(s, 3 * mesh->n_vertices, sizeof *normals);
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

static bool is_same(kp_vec3 a, kp_vec3 b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

// A surface without a look of its own takes after its liquid: it is clear, of the liquid's colour,
// or opaque where the liquid is coloured by a field.
static void take_after(const kp_look_def *liquid, kp_look_def *out) {
  const kp_vec3 own = out->color;
  *out = *liquid;
  out->water = liquid->color_by[0] == '\0';
  out->opacity = 1.0;  // of particles, less makes puffs
  if (is_same(liquid->color, kp_default_look_def().color)) {
    out->color = own;
  }
}

// What colours the vertices: a field of the mesh or, of a surface, of what is inside.
static kp_result find_scalar(kp_frame_scene *s, const kp_frame *frame, const kp_frame_mesh *mesh,
                             kp_render_mesh *out) {
  const char *name = out->look.color_by;
  bool is_own = kp_frame_find_field(&mesh->fields, name) != NULL || strcmp(name, "speed") == 0 ||
                strcmp(name, "velocity") == 0;
  if (name[0] != '\0' && kp_frame_is_surface(mesh) && !is_own) {
    KP_TRY(kp_scene_carry(s, frame, mesh, name, &out->scalar));
  }
  if (out->scalar != NULL) {
    return KP_OK;
  }
  kp_scene_element e = { "mesh", mesh->name, &mesh->fields, mesh->velocities, mesh->n_vertices };
  return kp_scene_find_scalar(s, &e, &out->look, &out->scalar);
}

// Values of the vertices that were split, each as long as `width`.
static kp_result take_split(kp_frame_scene *s, const kp_creases *c, const void *values,
                            size_t width, const void **out) {
  char *copy = kp_scene_take(s, c->n, width);
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
  float *normals = kp_scene_take(s, 3 * c->n, sizeof *normals);
  uint32_t *triangles = kp_scene_take(s, 3 * mesh->n_triangles, sizeof *triangles);
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
  if (out->normals != NULL || !out->smooth_shading || kp_frame_is_surface(mesh)) {
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

kp_result kp_scene_add_mesh(kp_frame_scene *s, const kp_frame *frame, const kp_frame_mesh *mesh,
                            const kp_look_def *look, const kp_look_def *liquid) {
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
    if (kp_frame_is_surface(mesh)) {
      out->look.water = true;
      out->look.color = kp_vec3_make(0.16, 0.50, 0.66);
      if (liquid != NULL) {
        take_after(liquid, &out->look);
      }
    }
  }
  KP_TRY(find_normals(s, mesh, out));
  KP_TRY(kp_scene_find_vectors(s, &mesh->fields, "color", mesh->n_vertices, out->colors));
  KP_TRY(find_scalar(s, frame, mesh, out));
  return split_creases(s, mesh, out);
}
