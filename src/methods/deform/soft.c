// Soft bodies: solids filled with tetrahedra, or a closed surface held by springs to its middle.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "data/curve.h"
#include "geom/tet_file.h"
#include "methods/deform/deform.h"

#define CENTER_SHARE 0.1  // of the mass, in the middle of a body of edges (Bayraktar, M8.6)

// ---- edges --------------------------------------------------------------------------------------

typedef struct pair_of {
  kp_index a, b;
} pair_of;

typedef KP_ARRAY(pair_of) pairs;

static int compare_pairs(const void *left, const void *right) {
  const pair_of *l = left, *r = right;
  return l->a != r->a ? (l->a < r->a ? -1 : 1) : (l->b > r->b) - (l->b < r->b);
}

static kp_result add_pair(pairs *list, kp_index a, kp_index b) {
  pair_of pair = { a < b ? a : b, a < b ? b : a };
  return kp_array_push(list, pair);
}

// One spring per different pair.
static kp_result add_edges(const kp_soft_def *def, kp_part *part, pairs *list) {
  qsort(list->data, list->count, sizeof *list->data, compare_pairs);
  for (size_t k = 0; k < list->count; ++k) {
    const pair_of *e = &list->data[k];
    if (k > 0 && e[-1].a == e->a && e[-1].b == e->b) {
      continue;
    }
    KP_TRY(kp_part_add_spring(part, e->a, e->b, KP_SPRING_EDGE, def->stiffness, def->damping));
  }
  return KP_OK;
}

// ---- solids of tetrahedra -----------------------------------------------------------------------

static kp_result add_tet_edges(const kp_soft_def *def, const kp_tet_mesh *mesh, kp_part *part) {
  pairs list = { 0 };
  kp_result result = kp_array_reserve(&list, 6 * (size_t)mesh->n_tets);
  for (kp_index t = 0; t < mesh->n_tets && result == KP_OK; ++t) {
    const kp_index *v = mesh->tets[t].v;
    for (int i = 0; i < 4; ++i) {
      for (int j = i + 1; j < 4 && result == KP_OK; ++j) {
        result = add_pair(&list, v[i], v[j]);
      }
    }
  }
  if (result == KP_OK) {
    result = add_edges(def, part, &list);
  }
  kp_array_free(&list);
  return result;
}

// Viscosity as a share of the one that swallows waves as long as the spacing: h sqrt(E density).
static double viscosity_of(const kp_soft_def *def) {
  return def->damping * def->spacing * sqrt(def->young * def->density);
}

static kp_result add_tets(const kp_soft_def *def, const kp_tet_mesh *mesh, kp_part *part) {
  double altitude = isnan(def->altitude) ? def->stiffness : def->altitude;
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    const kp_index *v = mesh->tets[t].v;
    if (def->model == KP_SOFT_ELASTIC) {
      KP_TRY(kp_part_add_elastic(part, v, def->young, def->poisson, viscosity_of(def)));
    } else if (def->model != KP_SOFT_SPRINGS && altitude > 0.0) {
      KP_TRY(kp_part_add_tet(part, v,
                             def->model == KP_SOFT_ALTITUDE ? KP_TET_ALTITUDE : KP_TET_POINT_FACE,
                             altitude, def->damping, false));
    }
  }
  return def->model == KP_SOFT_ELASTIC ? KP_OK : add_tet_edges(def, mesh, part);
}

static kp_result fill_part(const kp_soft_def *def, const kp_tet_mesh *mesh, kp_part *part) {
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    KP_TRY(kp_part_add_node(part, mesh->vertices[v], 0.0, NULL));
  }
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    double quarter = 0.25 * def->density * kp_tet_volume(mesh, t);
    for (int c = 0; c < 4; ++c) {
      part->mass.data[mesh->tets[t].v[c]] += quarter;
    }
  }
  KP_TRY(add_tets(def, mesh, part));
  kp_mesh surface;
  KP_TRY(kp_tet_mesh_surface(mesh, &surface));
  kp_result result = KP_OK;
  for (kp_index t = 0; t < surface.n_triangles && result == KP_OK; ++t) {
    result = kp_array_push(&part->triangles, surface.triangles[t]);
  }
  kp_mesh_destroy(&surface);
  return result;
}

static kp_result make_tets(const kp_soft_def *def, const char *folder, kp_tet_mesh *mesh) {
  if (def->tets[0] != '\0') {
    char path[1024 + KP_TEXT_SIZE];
    (void)snprintf(path, sizeof path, "%s%s%s", folder != NULL ? folder : "",
                   folder != NULL && folder[0] != '\0' ? "/" : "", def->tets);
    return kp_tet_mesh_read(path, mesh);
  }
  kp_shape *shape;
  KP_TRY(kp_shape_build(&def->shape, folder, &shape));
  kp_result result = kp_tet_mesh_from_shape(shape, (kp_tet_size){ def->spacing, def->grade }, mesh);
  kp_shape_destroy(&shape);
  return result;
}

// Parts of a solid that are thinner than the lattice leave gaps, and what lies beyond falls off.
static kp_result warn_of_pieces(const kp_soft_def *def, const kp_tet_mesh *mesh) {
  kp_index n, smallest;
  KP_TRY(kp_tet_mesh_count_pieces(mesh, &n, &smallest));
  if (n > 1) {
    kp_log(KP_LOG_WARN, "solids",
           "soft \"%s\" is %lld pieces that nothing holds together, the smallest of %lld nodes; "
           "if it should be one, its thin parts need a smaller spacing than %g m",
           def->name, (long long)n, (long long)smallest, def->spacing);
  }
  return KP_OK;
}

static kp_result make_solid(const kp_soft_def *def, const char *folder, kp_part *part) {
  kp_tet_mesh mesh;
  KP_TRY(make_tets(def, folder, &mesh));
  kp_result result = warn_of_pieces(def, &mesh);
  if (result == KP_OK) {
    result = fill_part(def, &mesh, part);
  }
  kp_tet_mesh_destroy(&mesh);
  return result;
}

// ---- surfaces held by their middle (Bayraktar 2010, section 7.6) --------------------------------

// Springs along the edges and from every vertex to a node in the middle, which has a share of the
// mass: forces between nodes alone, so the momentum of the body is kept.
static kp_result fill_surface(const kp_soft_def *def, const kp_mesh *mesh, kp_part *part) {
  kp_mass_properties solid = kp_mesh_mass_properties(mesh);
  double mass = def->density * fabs(solid.volume);
  double area = kp_mesh_area(mesh);
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    KP_TRY(kp_part_add_node(part, mesh->vertices[v], 0.0, NULL));
  }
  pairs list = { 0 };
  kp_result result = KP_OK;
  for (kp_index t = 0; t < mesh->n_triangles && result == KP_OK; ++t) {
    const kp_triangle *triangle = &mesh->triangles[t];
    kp_vec3 p = mesh->vertices[triangle->v[0]];
    kp_vec3 n = kp_vec3_cross(kp_vec3_sub(mesh->vertices[triangle->v[1]], p),
                              kp_vec3_sub(mesh->vertices[triangle->v[2]], p));
    double third = (1.0 - CENTER_SHARE) * mass * 0.5 * kp_vec3_length(n) / area / 3.0;
    for (int c = 0; c < 3 && result == KP_OK; ++c) {
      part->mass.data[triangle->v[c]] += third;
      result = add_pair(&list, triangle->v[c], triangle->v[(c + 1) % 3]);
    }
    if (result == KP_OK) {
      result = kp_array_push(&part->triangles, *triangle);
    }
  }
  if (result == KP_OK) {
    result = add_edges(def, part, &list);
  }
  kp_array_free(&list);
  KP_TRY(result);
  kp_index middle;
  double center = isnan(def->center) ? def->stiffness : def->center;
  KP_TRY(kp_part_add_node(part, solid.center, CENTER_SHARE * mass, &middle));
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    if (!(part->mass.data[v] > 0.0)) {
      return kp_fail(KP_ERROR_SCENE, "vertex %lld is in no triangle", (long long)v);
    }
    KP_TRY(kp_part_add_spring(part, v, middle, KP_SPRING_LINK, center, def->damping));
  }
  return KP_OK;
}

// A file has the triangles it has; those of the lattice that fills it are as large as asked for.
static kp_result surface_of_lattice(const kp_shape *shape, double spacing, kp_mesh *mesh) {
  kp_tet_mesh tets;
  KP_TRY(kp_tet_mesh_from_shape(shape, (kp_tet_size){ .spacing = spacing }, &tets));
  kp_result result = kp_tet_mesh_surface(&tets, mesh);
  kp_tet_mesh_destroy(&tets);
  return result == KP_OK ? kp_mesh_drop_unused(mesh) : result;
}

static kp_result make_surface(const kp_soft_def *def, const char *folder, kp_part *part) {
  if (def->tets[0] != '\0') {
    return kp_fail(KP_ERROR_SCENE, "model = \"edges\" is made of a shape, not of tets");
  }
  kp_shape *shape;
  KP_TRY(kp_shape_build(&def->shape, folder, &shape));
  kp_mesh mesh = { 0 };
  kp_result result = shape->def.kind == KP_SHAPE_MESH
                         ? surface_of_lattice(shape, def->spacing, &mesh)
                         : kp_shape_tessellate(shape, def->spacing, &mesh);
  if (result == KP_OK) {
    result = kp_mesh_weld(&mesh);
  }
  if (result == KP_OK) {
    result = fill_surface(def, &mesh, part);
  }
  kp_mesh_destroy(&mesh);
  kp_shape_destroy(&shape);
  return result;
}

// ---- all of it ----------------------------------------------------------------------------------

static kp_vec3 center_of_mass(const kp_part *part) {
  kp_vec3 sum = { 0.0, 0.0, 0.0 };
  double mass = 0.0;
  for (size_t i = 0; i < part->x.count; ++i) {
    sum = kp_vec3_madd(sum, part->mass.data[i], part->x.data[i]);
    mass += part->mass.data[i];
  }
  return kp_vec3_scale(sum, 1.0 / mass);
}

static void place(const kp_soft_def *def, kp_part *part) {
  kp_quat turn = kp_quat_from_euler_deg(def->rotation_deg);
  for (size_t i = 0; i < part->x.count; ++i) {
    part->x.data[i] = kp_vec3_add(def->position, kp_quat_rotate(turn, part->x.data[i]));
  }
  kp_vec3 middle = center_of_mass(part);
  for (size_t i = 0; i < part->x.count; ++i) {
    kp_vec3 arm = kp_vec3_sub(part->x.data[i], middle);
    kp_vec3 start = kp_vec_lattice_at(&def->velocity_at, def->velocity, part->x.data[i]);
    part->v.data[i] = kp_vec3_add(start, kp_vec3_cross(def->spin, arm));
  }
}

kp_result kp_soft_make(const kp_soft_def *def, const char *folder, kp_part *part) {
  *part = (kp_part){
    .scheme = (kp_solid_scheme)def->scheme,
    .surface = { .thickness = def->thickness, .friction = def->friction, .self = def->self },
    .drag = def->drag,
    .viscosity = def->viscosity,
    .strength = def->strength,
    .color = def->color
  };
  kp_text_copy(part->name, sizeof part->name, def->name);
  kp_result result =
      def->model == KP_SOFT_EDGES ? make_surface(def, folder, part) : make_solid(def, folder, part);
  if (result != KP_OK) {
    kp_part_free(part);
    return kp_fail_in(result == KP_ERROR_MEMORY ? result : KP_ERROR_SCENE, "soft \"%s\"",
                      def->name);
  }
  place(def, part);
  return KP_OK;
}
