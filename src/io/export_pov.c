// POV-Ray 3.7, one scene per frame: meshes as mesh2 with normals, surfaces of liquids as water that
// bends and takes in light, particles without a surface as spheres, curves as sphere sweeps, a
// camera that sees all of it, a light and a floor (Bayraktar 2010, sections 4.4 and 7). POV-Ray's
// axes are left handed; the camera's `right` is negative, so that nothing is mirrored.
#include <math.h>
#include <string.h>

#include "io/export.h"
#include "io/mesh_normals.h"

#define CREASE_DEG 40.0

// Bodies are there as meshes, and so are liquids that have a surface, alone or with others.
static bool has_mesh(const kp_frame *frame, const kp_frame_set *set) {
  bool has = strcmp(set->name, "bodies") == 0;
  for (size_t i = 0; i < frame->n_meshes && !has; ++i) {
    const kp_frame_mesh *mesh = &frame->meshes[i];
    has = mesh->n_triangles > 0 && kp_frame_is_surface_of(mesh, set->name);
  }
  return has;
}

// What the camera sees all of: drops that fly off are left out.
static kp_aabb grow(const kp_frame *frame, kp_aabb box, const kp_export_object *object) {
  const kp_frame_set *set = object->set;
  if (set != NULL && (kp_frame_is_spray(set) || has_mesh(frame, set))) {
    return box;
  }
  const kp_export_field *x = &object->fields[0];
  for (uint64_t i = 0; i < object->n_points; ++i) {
    box = kp_aabb_grow(box, kp_vec3_make(kp_export_value(x, 0, i), kp_export_value(x, 1, i),
                                         kp_export_value(x, 2, i)));
  }
  return box;
}

static void add_vectors(kp_file *file, const char *what, const kp_export_field *field, uint64_t n) {
  kp_file_print(file, "  %s { %llu", what, (unsigned long long)n);
  for (uint64_t i = 0; i < n; ++i) {
    kp_file_print(file, ",\n    <%.9g,%.9g,%.9g>", kp_export_value(field, 0, i),
                  kp_export_value(field, 1, i), kp_export_value(field, 2, i));
  }
  kp_file_print(file, " }\n");
}

static void add_faces(kp_file *file, const char *what, const uint32_t *indices, uint64_t n) {
  kp_file_print(file, "  %s { %llu", what, (unsigned long long)n);
  for (uint64_t t = 0; t < n; ++t) {
    const uint32_t *v = indices + 3 * t;
    kp_file_print(file, ",\n    <%u,%u,%u>", v[0], v[1], v[2]);
  }
  kp_file_print(file, " }\n");
}

// Normals of the faces around each vertex, for meshes that have none of their own. A vertex that
// belongs to no face has none either; POV-Ray wants a vector all the same.
static kp_result add_normals(kp_file *file, const kp_export_object *object,
                             kp_mesh_normals *normals) {
  KP_TRY(kp_mesh_normals_make(object, CREASE_DEG, normals));
  kp_file_print(file, "  normal_vectors { %llu", (unsigned long long)normals->normals.count);
  for (size_t i = 0; i < normals->normals.count; ++i) {
    const kp_vec3 n = normals->normals.data[i];
    bool is_zero = n.x == 0.0 && n.y == 0.0 && n.z == 0.0;
    kp_file_print(file, ",\n    <%.9g,%.9g,%.9g>", n.x, n.y, is_zero ? 1.0 : n.z);
  }
  kp_file_print(file, " }\n");
  return KP_OK;
}

static kp_result add_mesh(kp_file *file, const kp_export_object *object, const char *look) {
  const kp_export_field *normal = kp_export_find(object, "normal", 3);
  kp_mesh_normals made = { 0 };
  kp_result result = KP_OK;
  kp_file_print(file, "mesh2 {\n");
  add_vectors(file, "vertex_vectors", &object->fields[0], object->n_points);
  if (normal != NULL) {
    add_vectors(file, "normal_vectors", normal, object->n_points);
  } else {
    result = add_normals(file, object, &made);
  }
  add_faces(file, "face_indices", object->triangles, object->n_triangles);
  if (result == KP_OK && normal == NULL) {
    add_faces(file, "normal_indices", made.indices, object->n_triangles);
  }
  kp_file_print(file, "  %s(\"%s\")\n}\n", look, object->name);
  kp_mesh_normals_free(&made);
  return result;
}

static void add_spheres(kp_file *file, const kp_export_object *object) {
  const kp_export_field *x = &object->fields[0], *radius = kp_export_find(object, "radius", 1);
  double usual = radius == NULL ? kp_frame_set_radius(object->set) : 0.0;
  kp_file_print(file, "union {\n");
  for (uint64_t i = 0; i < object->n_points; ++i) {
    kp_file_print(file, "  sphere { <%.9g,%.9g,%.9g>, %.6g }\n", kp_export_value(x, 0, i),
                  kp_export_value(x, 1, i), kp_export_value(x, 2, i),
                  radius != NULL ? kp_export_value(radius, 0, i) : usual);
  }
  kp_file_print(file, "  %s(\"%s\")\n}\n",
                kp_frame_is_spray(object->set) ? "kelpie_spray" : "kelpie_points", object->name);
}

// Strands without a radius get that of thick hair times five, to be seen at all.
static void add_strands(kp_file *file, const kp_export_object *object) {
  const kp_export_field *x = &object->fields[0], *radius = kp_export_find(object, "radius", 1);
  kp_file_print(file, "union {\n");
  for (uint64_t c = 0; c < object->n_curves; ++c) {
    uint64_t begin = object->offsets[c], end = object->offsets[c + 1];
    if (end - begin < 2) {
      continue;  // a sweep has two ends
    }
    kp_file_print(file, "  sphere_sweep { linear_spline, %llu", (unsigned long long)(end - begin));
    for (uint64_t i = begin; i < end; ++i) {
      kp_file_print(file, ",\n    <%.9g,%.9g,%.9g>, %.6g", kp_export_value(x, 0, i),
                    kp_export_value(x, 1, i), kp_export_value(x, 2, i),
                    radius != NULL ? kp_export_value(radius, 0, i) : 2.5e-4);
    }
    kp_file_print(file, " }\n");
  }
  kp_file_print(file, "  kelpie_curves(\"%s\")\n}\n", object->name);
}

// Macros come first and only where the user has none of his own: a declared kelpie_mesh and the
// like before an #include of this file changes the looks.
static void add_looks(kp_file *file, double size) {
  kp_file_print(file, "#declare kelpie_size = %.6g;\n", size);
  kp_file_print(
      file,
      "#ifndef (kelpie_mesh) #macro kelpie_mesh(Name)\n"
      "  texture { pigment { rgb <0.55,0.65,0.8> } finish { ambient 0 diffuse 0.8 specular 0.2 } "
      "}\n"
      "#end #end\n"
      "#ifndef (kelpie_liquid) #macro kelpie_liquid(Name)\n"
      "  texture { pigment { rgbt <0.9,0.97,1,0.98> }\n"
      "    finish { ambient 0 diffuse 0.05 specular 0.8 roughness 0.002\n"
      "      reflection { 0, 1 fresnel on } conserve_energy } }\n"
      "  interior { ior 1.33 fade_power 1001 fade_distance 0.2*kelpie_size fade_color "
      "<0.2,0.55,0.7> }\n"
      "#end #end\n"
      "#ifndef (kelpie_points) #macro kelpie_points(Name)\n"
      "  texture { pigment { rgb <0.25,0.5,0.85> } finish { ambient 0 diffuse 0.8 specular 0.4 } "
      "}\n"
      "#end #end\n"
      "#ifndef (kelpie_spray) #macro kelpie_spray(Name)\n"
      "  texture { pigment { rgb <0.95,0.97,1> } finish { emission 0.35 diffuse 0.6 } }\n"
      "  no_shadow\n"
      "#end #end\n"
      "#ifndef (kelpie_curves) #macro kelpie_curves(Name)\n"
      "  texture { pigment { rgb <0.35,0.2,0.1> } finish { ambient 0 diffuse 0.7 specular 0.5 } }\n"
      "#end #end\n");
}

static void add_stage(kp_file *file, const kp_frame *frame, kp_aabb box) {
  kp_vec3 centre = kp_vec3_scale(kp_vec3_add(box.min, box.max), 0.5);
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  double reach = fmax(kp_vec3_length(size), 1e-3);
  const double up[3] = { frame->up_axis == 0, frame->up_axis == 1, frame->up_axis == 2 };
  // looks from the front and above, along the axis behind the up axis
  double eye[3] = { 0.5, 0.5, 0.5 };
  eye[(frame->up_axis + 1) % 3] = 1.7;
  double floor = frame->up_axis == 0 ? box.min.x : frame->up_axis == 1 ? box.min.y : box.min.z;
  kp_file_print(file, "camera { perspective sky <%g,%g,%g> up <0,1,0> right <-16/9,0,0>\n", up[0],
                up[1], up[2]);
  kp_file_print(file, "  location <%.9g,%.9g,%.9g> look_at <%.9g,%.9g,%.9g> angle 40 }\n",
                centre.x + reach * eye[0], centre.y + reach * eye[1], centre.z + reach * eye[2],
                centre.x, centre.y, centre.z);
  // a sun, and what comes from the sky. A lamp with a width takes POV-Ray ten times as long in
  // water.
  kp_file_print(file, "light_source { <%.9g,%.9g,%.9g> rgb 0.9 }\n",
                centre.x + reach * (1.0 + 3.0 * up[0]), centre.y + reach * (1.0 + 3.0 * up[1]),
                centre.z + reach * (1.0 + 3.0 * up[2]));
  kp_file_print(file, "light_source { <%.9g,%.9g,%.9g> rgb 0.35 shadowless }\n",
                centre.x - reach * (1.0 - 4.0 * up[0]), centre.y - reach * (1.0 - 4.0 * up[1]),
                centre.z - reach * (1.0 - 4.0 * up[2]));
  kp_file_print(file, "sky_sphere { pigment { gradient <%g,%g,%g> color_map {", up[0], up[1],
                up[2]);
  kp_file_print(file, " [0 rgb <0.9,0.93,0.96>] [0.4 rgb <0.5,0.66,0.85>] [1 rgb <0.2,0.36,0.62>]"
                      " } } }\n");
  kp_file_print(file, "plane { <%g,%g,%g>, %.9g pigment { checker rgb 0.3 rgb 0.38 scale %.6g }",
                up[0], up[1], up[2], floor - 1e-3 * reach, 0.25 * reach);
  kp_file_print(file, " finish { ambient 0.05 diffuse 0.8 } }\n");
}

// Sets come first among the objects of a frame, then meshes.
static const char *find_mesh_look(const kp_frame *frame, size_t index) {
  return kp_frame_is_surface(&frame->meshes[index - frame->n_sets]) ? "kelpie_liquid"
                                                                    : "kelpie_mesh";
}

static kp_result write_frame(const kp_frame *frame, const kp_export_objects *objects,
                             const char *path) {
  kp_aabb box = kp_aabb_empty();
  for (size_t i = 0; i < objects->count; ++i) {
    box = grow(frame, box, &objects->items[i]);
  }
  if (!(box.min.x <= box.max.x)) {
    box = frame->domain;
  }
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  kp_file_print(&file, "// Kelpie %s, frame %llu, time %.9g s, metres\n#version 3.7;\n",
                KP_VERSION_STRING, (unsigned long long)frame->frame, frame->time);
  kp_file_print(&file, "global_settings { assumed_gamma 1 ambient_light 1 max_trace_level 12 }\n");
  add_looks(&file, 0.5 * kp_vec3_length(kp_vec3_sub(box.max, box.min)));
  add_stage(&file, frame, box);
  kp_result result = KP_OK;
  for (size_t i = 0; i < objects->count && result == KP_OK; ++i) {
    const kp_export_object *object = &objects->items[i];
    if (object->n_points == 0 || object->is_hidden) {
      continue;
    }
    if (object->triangles != NULL && object->n_triangles > 0) {
      result = add_mesh(&file, object, find_mesh_look(frame, i));
    } else if (object->offsets != NULL) {
      add_strands(&file, object);
    } else if (object->set != NULL && !has_mesh(frame, object->set)) {
      add_spheres(&file, object);
    }
  }
  if (result != KP_OK) {
    kp_file_discard(&file);
    return result;
  }
  return kp_file_commit(&file);
}

static kp_result write_pov(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  (void)flags;
  kp_export_objects objects;
  kp_export_target target;
  KP_TRY(kp_export_target_make(frame, folder, "scene", "pov", &target));
  KP_TRY(kp_export_objects_make(frame, &objects));
  kp_result result = write_frame(frame, &objects, target.path);
  kp_export_objects_free(&objects);
  return result == KP_OK ? kp_export_list_add(list, frame, &target) : result;
}

const kp_exporter kp_export_pov = {
  .name = "pov",
  .extension = "pov",
  .text = "POV-Ray scenes, one per frame with camera and light: meshes, particles, curves.",
  .write = write_pov,
};
