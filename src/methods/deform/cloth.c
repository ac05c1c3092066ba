// Cloth: a rectangle of cells or a mesh from a file, as nodes and springs.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/curve.h"
#include "geom/mesh_file.h"
#include "methods/deform/cloth_material.h"
#include "methods/deform/deform.h"
#include "methods/deform/grid_links.h"

#define PI 3.14159265358979323846
// Of springs that the scene gives no constants [N/m].
#define STRETCH 2000.0
#define BEND 20.0

// ---- nodes and triangles ------------------------------------------------------------------------

static kp_result add_triangle(kp_part *part, kp_index a, kp_index b, kp_index c) {
  kp_triangle t = { { a, b, c } };
  return kp_array_push(&part->triangles, t);
}

// Where a way of length s from the origin along y = k z^2 ends: Newton on its length, which bends
// upwards, from above the answer.
static kp_vec3 along_parabola(double k, double s) {
  double z = fabs(s);
  for (int turn = 0; turn < 50; ++turn) {
    double slope = sqrt(1.0 + 4.0 * k * k * z * z);
    double length = 0.5 * z * slope + asinh(2.0 * k * z) / (4.0 * k);
    z -= (length - fabs(s)) / slope;
  }
  return kp_vec3_make(0.0, k * z * z, copysign(z, s));
}

// Nodes of the rectangle, its normal towards +y; of a tube, around the z axis.
static kp_vec3 node_at(const kp_cloth_def *def, kp_index i, kp_index j) {
  double u = (double)i / (double)def->columns, v = (double)j / (double)def->rows;
  double z = def->height * (v - 0.5);
  if (!def->tube) {
    kp_vec3 p = def->parabola != 0.0 ? along_parabola(def->parabola, z) : kp_vec3_make(0, 0, z);
    p.x = def->width * (u - 0.5);
    return p;
  }
  double angle = 2.0 * PI * u;
  double radius = def->width / (2.0 * PI) * (1.0 + (def->flare - 1.0) * v);
  return kp_vec3_make(radius * cos(angle), -radius * sin(angle), z);
}

// Diagonals of cells alternate in a herring-bone.
static kp_result make_rectangle(const kp_cloth_def *def, kp_part *part) {
  kp_index m = (kp_index)def->columns, n = (kp_index)def->rows;
  kp_index wide = def->tube ? m : m + 1;
  for (kp_index j = 0; j <= n; ++j) {
    for (kp_index i = 0; i < wide; ++i) {
      KP_TRY(kp_part_add_node(part, node_at(def, i, j), 0.0, NULL));
    }
  }
  for (kp_index j = 0; j < n; ++j) {
    for (kp_index i = 0; i < m; ++i) {
      kp_index a = j * wide + i, b = j * wide + (i + 1) % wide;
      kp_index c = a + wide, d = b + wide;
      bool other = def->pattern == KP_CLOTH_HERRING_BONE && (i + j) % 2 == 1;
      KP_TRY(other ? add_triangle(part, a, c, b) : add_triangle(part, a, c, d));
      KP_TRY(other ? add_triangle(part, b, c, d) : add_triangle(part, a, d, b));
    }
  }
  return KP_OK;
}

static kp_result make_from_file(const kp_cloth_def *def, const char *folder, kp_part *part) {
  char path[1024 + KP_TEXT_SIZE];
  (void)snprintf(path, sizeof path, "%s%s%s", folder != NULL ? folder : "",
                 folder != NULL && folder[0] != '\0' ? "/" : "", def->mesh);
  kp_mesh mesh;
  kp_result result = kp_mesh_read(path, &mesh);
  if (result != KP_OK) {
    return kp_fail_in(result == KP_ERROR_MEMORY ? result : KP_ERROR_SCENE, "cloth \"%s\"",
                      def->name);
  }
  result = kp_mesh_weld(&mesh);
  for (kp_index v = 0; v < mesh.n_vertices && result == KP_OK; ++v) {
    result = kp_part_add_node(part, mesh.vertices[v], 0.0, NULL);
  }
  for (kp_index t = 0; t < mesh.n_triangles && result == KP_OK; ++t) {
    result = kp_array_push(&part->triangles, mesh.triangles[t]);
  }
  kp_mesh_destroy(&mesh);
  return result;
}

static double area_of(const kp_part *part, const kp_triangle *t) {
  kp_vec3 a = part->x.data[t->v[0]];
  kp_vec3 u = kp_vec3_sub(part->x.data[t->v[1]], a);
  kp_vec3 v = kp_vec3_sub(part->x.data[t->v[2]], a);
  return 0.5 * kp_vec3_length(kp_vec3_cross(u, v));
}

static kp_result share_mass(const kp_cloth_def *def, kp_part *part) {
  for (size_t k = 0; k < part->triangles.count; ++k) {
    const kp_triangle *t = &part->triangles.data[k];
    double third = def->density * area_of(part, t) / 3.0;
    for (int c = 0; c < 3; ++c) {
      part->mass.data[t->v[c]] += third;
    }
  }
  for (size_t i = 0; i < part->mass.count; ++i) {
    if (!(part->mass.data[i] > 0.0)) {
      return kp_fail(KP_ERROR_SCENE, "cloth \"%s\": vertex %zu of \"%s\" is in no triangle",
                     def->name, i, def->mesh);
    }
  }
  return KP_OK;
}

// ---- springs along and across edges -------------------------------------------------------------

// One side of an edge: the triangle's third corner and its area.
typedef struct half_edge {
  kp_index a, b, across;
  double area;
} half_edge;

static int compare_halves(const void *left, const void *right) {
  const half_edge *l = left, *r = right;
  if (l->a != r->a) {
    return l->a < r->a ? -1 : 1;
  }
  if (l->b != r->b) {
    return l->b < r->b ? -1 : 1;
  }
  return l->across < r->across ? -1 : l->across > r->across ? 1 : 0;
}

typedef KP_ARRAY(half_edge) half_edges;

static kp_result collect_halves(const kp_part *part, half_edges *out) {
  for (size_t k = 0; k < part->triangles.count; ++k) {
    const kp_triangle *t = &part->triangles.data[k];
    double area = area_of(part, t);
    for (int c = 0; c < 3; ++c) {
      kp_index a = t->v[c], b = t->v[(c + 1) % 3];
      half_edge half = { a < b ? a : b, a < b ? b : a, t->v[(c + 2) % 3], area };
      KP_TRY(kp_array_push(out, half));
    }
  }
  qsort(out->data, out->count, sizeof *out->data, compare_halves);
  return KP_OK;
}

static double distance(const kp_part *part, kp_index a, kp_index b) {
  return kp_vec3_length(kp_vec3_sub(part->x.data[b], part->x.data[a]));
}

static kp_result add_spring(const kp_cloth_def *def, kp_part *part, kp_index a, kp_index b,
                            kp_spring_kind kind, double width) {
  bool bends = kind == KP_SPRING_BEND;
  double along = isnan(def->stiffness) ? STRETCH : def->stiffness;
  double across = isnan(def->bend_stiffness) ? BEND : def->bend_stiffness;
  double per_width =
      bends ? across : (kind == KP_SPRING_SHEAR && !isnan(def->shear) ? def->shear : along);
  if (!(per_width > 0.0)) {
    return KP_OK;
  }
  KP_TRY(kp_part_add_spring(part, a, b, kind, per_width * width,
                            bends ? def->bend_damping : def->damping));
  if (!bends && !isnan(def->compression)) {
    part->springs.data[part->springs.count - 1].compression = def->compression * width;
  }
  return KP_OK;
}

// What resists the angle at an edge: a spring between the far corners of its triangles, a hinge
// (Bridson et al. 2003: k |E|^2/(|N1| + |N2|), the normals twice the areas), and the altitude
// spring of the four corners, which alone brings a curved shell back once it is flat (section
// 5.3.4). Altitudes of edges that are nearly flat at rest are next to nothing, so strain is taken
// of a share of the mean height of the triangles at least; else the flattest edges were the
// stiffest, without bound.
static kp_result add_bending(const kp_cloth_def *def, kp_part *part, const half_edge *edge,
                             double length, double area) {
  kp_index far0 = edge[0].across, far1 = edge[1].across;
  KP_TRY(add_spring(def, part, far0, far1, KP_SPRING_BEND, length));
  if (def->hinge > 0.0) {
    KP_TRY(kp_part_add_hinge(part, far0, far1, edge->a, edge->b,
                             def->hinge * length * length / (2.0 * area), def->bend_damping));
  }
  const kp_index corners[4] = { edge->a, edge->b, far0, far1 };
  return def->axial > 0.0 ? kp_part_add_axial(part, corners, def->axial * length, def->bend_damping,
                                              def->axial_floor * area / fmax(length, 1e-300))
                          : KP_OK;
}

// An edge stands for a strip of cloth as wide as its triangles' area over its length; across it a
// spring joins their far corners (section 5.3.3).
static kp_result add_edge_springs(const kp_cloth_def *def, kp_part *part) {
  half_edges halves = { 0 };
  kp_result result = collect_halves(part, &halves);
  for (size_t k = 0; k < halves.count && result == KP_OK;) {
    size_t end = k;
    double area = 0.0;
    const half_edge *edge = &halves.data[k];
    while (end < halves.count && halves.data[end].a == edge->a && halves.data[end].b == edge->b) {
      area += halves.data[end++].area;
    }
    if (end - k > 2) {
      result = kp_fail(KP_ERROR_SCENE,
                       "cloth \"%s\": more than two triangles share the edge of vertices %lld and "
                       "%lld",
                       def->name, (long long)edge->a, (long long)edge->b);
      break;
    }
    double length = distance(part, edge->a, edge->b);
    result = add_spring(def, part, edge->a, edge->b, KP_SPRING_EDGE, area / fmax(length, 1e-300));
    if (result == KP_OK && end - k == 2) {
      result = add_bending(def, part, edge, length, area);
    }
    k = end;
  }
  kp_array_free(&halves);
  return result;
}

// ---- springs of a grid (Bayraktar 2010, section 4.1; Ozgen 2013, section 3.3) -------------------

static kp_grid_shape grid_of(const kp_cloth_def *def) {
  return (kp_grid_shape){ .columns = def->columns + (def->tube ? 0 : 1),
                          .rows = def->rows + 1,
                          .is_tube = def->tube,
                          .bend_diagonals = def->bend_diagonals };
}

static kp_result add_grid_springs(const kp_cloth_def *def, kp_index first, kp_part *part) {
  static const kp_spring_kind kinds[KP_LINK_KIND_COUNT] = {
    [KP_LINK_HORIZONTAL] = KP_SPRING_EDGE,    [KP_LINK_VERTICAL] = KP_SPRING_EDGE,
    [KP_LINK_SHEAR] = KP_SPRING_SHEAR,        [KP_LINK_BEND] = KP_SPRING_BEND,
    [KP_LINK_BEND_DIAGONAL] = KP_SPRING_BEND,
  };
  kp_grid_shape grid = grid_of(def);
  kp_links links = { 0 };
  kp_result result = kp_grid_links_add(&grid, first, &links);
  for (size_t l = 0; l < links.count && result == KP_OK; ++l) {
    // a spring of length l0 stands for a strip as wide as l0, so the constants of a grid are those
    // of its springs [N/m]
    const kp_link *link = &links.data[l];
    result = add_spring(def, part, link->a, link->b, kinds[link->kind],
                        distance(part, link->a, link->b));
  }
  kp_array_free(&links);
  return result;
}

// ---- knitwear (Bayraktar 2010, section 4.2) -----------------------------------------------------

// Middle and back layer behind the front one, which is there already; all weigh a third.
static kp_result add_layers(const kp_cloth_def *def, kp_part *part) {
  size_t n = part->x.count;
  for (size_t i = 0; i < n; ++i) {
    part->mass.data[i] /= 3.0;
  }
  for (int layer = 1; layer < 3; ++layer) {
    for (size_t i = 0; i < n; ++i) {
      kp_vec3 p = part->x.data[i];
      p.y -= layer * def->gap;
      KP_TRY(kp_part_add_node(part, p, part->mass.data[i], NULL));
    }
  }
  return KP_OK;
}

// Springs that keep the layers apart: straight ones, and diagonals to the four neighbours in the
// next layer (reconstructed: the figure is lost).
static kp_result add_volume_springs(const kp_cloth_def *def, kp_part *part) {
  kp_grid_shape grid = grid_of(def);
  int64_t n = grid.columns * grid.rows;
  static const int steps[5][2] = { { 0, 0 }, { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } };
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t j = 0; j < grid.rows; ++j) {
      for (int64_t i = 0; i < grid.columns; ++i) {
        for (int k = 0; k < 5; ++k) {
          int64_t i2 = i + steps[k][0], j2 = j + steps[k][1];
          if (i2 < 0 || j2 < 0 || i2 >= grid.columns || j2 >= grid.rows) {
            continue;
          }
          kp_index a = (kp_index)(layer * n + j * grid.columns + i);
          kp_index b = (kp_index)((layer + 1) * n + j2 * grid.columns + i2);
          double length = distance(part, a, b);
          KP_TRY(kp_part_add_spring(part, a, b, KP_SPRING_LINK, def->volume_stiffness * length,
                                    def->damping));
        }
      }
    }
  }
  return KP_OK;
}

static kp_result add_knit(const kp_cloth_def *def, kp_part *part) {
  kp_index n = (kp_index)part->x.count;
  KP_TRY(add_layers(def, part));
  for (kp_index layer = 0; layer < 3; ++layer) {
    KP_TRY(add_grid_springs(def, layer * n, part));
  }
  return def->volume_stiffness > 0.0 ? add_volume_springs(def, part) : KP_OK;
}

// ---- a material ---------------------------------------------------------------------------------

static kp_result fail_spring_key(const kp_cloth_def *def, const char *key, const char *instead) {
  return kp_fail(KP_ERROR_SCENE,
                 "cloth \"%s\": %s is of springs, model = \"edges\" or \"grid\"; a material has "
                 "%s",
                 def->name, key, instead);
}

// What the springs of a cloth are needed for.
static kp_result check_springless(const kp_cloth_def *def) {
  if (def->scheme == KP_SCHEME_KANG || def->scheme == KP_SCHEME_DESBRUN) {
    return kp_fail(KP_ERROR_SCENE,
                   "cloth \"%s\": scheme = \"kang\" and \"desbrun\" foresee springs: give model = "
                   "\"edges\" or \"grid\"",
                   def->name);
  }
  if (def->particle_radius > 0.0) {
    return kp_fail(KP_ERROR_SCENE,
                   "cloth \"%s\": particle_radius parts nodes that no spring joins: give model = "
                   "\"edges\" or \"grid\"",
                   def->name);
  }
  return KP_OK;
}

static kp_result add_material(const kp_cloth_def *def, kp_part *part) {
  KP_TRY(check_springless(def));
  if (!isnan(def->bend_stiffness)) {
    return fail_spring_key(def, "bend_stiffness", "bending");
  }
  if (!isnan(def->compression) || !isnan(def->shear)) {
    return fail_spring_key(def, isnan(def->shear) ? "compression" : "shear", "poisson");
  }
  if (def->hinge > 0.0 || def->axial > 0.0 || def->bend_diagonals) {
    return fail_spring_key(def,
                           def->hinge > 0.0   ? "hinge"
                           : def->axial > 0.0 ? "axial"
                                              : "bend_diagonals",
                           "bending");
  }
  KP_TRY(kp_cloth_add_membrane(def, part));
  if (def->mesh[0] != '\0') {
    return kp_cloth_bend_triangles(def, part);
  }
  kp_grid_shape grid = grid_of(def);
  return kp_cloth_bend_rows(def, &grid, part);
}

// ---- all of it ----------------------------------------------------------------------------------

static void place(const kp_cloth_def *def, kp_part *part) {
  kp_quat turn = kp_quat_from_euler_deg(def->rotation_deg);
  for (size_t i = 0; i < part->x.count; ++i) {
    part->x.data[i] = kp_vec3_add(def->position, kp_quat_rotate(turn, part->x.data[i]));
    part->v.data[i] = kp_vec_lattice_at(&def->velocity_at, def->velocity, part->x.data[i]);
  }
}

static kp_result make(const kp_cloth_def *def, const char *folder, kp_part *part) {
  bool is_file = def->mesh[0] != '\0';
  bool is_knit = part->is_knit;
  if (def->layers == 2 || (is_knit && (def->model != KP_CLOTH_GRID || def->tube))) {
    return kp_fail(KP_ERROR_SCENE,
                   "cloth \"%s\": layers must be 1, or 3 with model = \"grid\" and no tube",
                   def->name);
  }
  if (def->yarn && !is_knit) {
    return kp_fail(KP_ERROR_SCENE, "cloth \"%s\": yarn is that of knitwear, which has layers = 3",
                   def->name);
  }
  if (def->tube && def->columns < 5) {
    return kp_fail(KP_ERROR_SCENE, "cloth \"%s\": a tube needs 5 columns at least", def->name);
  }
  if (def->parabola != 0.0 && (is_file || is_knit || def->tube)) {
    return kp_fail(
        KP_ERROR_SCENE,
        "cloth \"%s\": parabola bends a rectangle of one layer, no mesh, tube or knitwear",
        def->name);
  }
  if (is_file && def->tube) {
    return kp_fail(KP_ERROR_SCENE, "cloth \"%s\": a tube is made of a rectangle, not of a mesh",
                   def->name);
  }
  if (is_file && def->model == KP_CLOTH_GRID) {
    return kp_fail(KP_ERROR_SCENE, "cloth \"%s\": model = \"grid\" needs a rectangle, not a mesh",
                   def->name);
  }
  KP_TRY(is_file ? make_from_file(def, folder, part) : make_rectangle(def, part));
  KP_TRY(share_mass(def, part));
  if (is_knit) {
    KP_TRY(add_knit(def, part));
    kp_grid_shape grid = grid_of(def);
    part->yarn = def->yarn
                     ? (kp_env_yarn){ grid.columns, grid.rows, def->yarn_plies, def->yarn_pitch }
                     : (kp_env_yarn){ 0 };
  } else if (def->model == KP_CLOTH_GRID) {
    KP_TRY(add_grid_springs(def, 0, part));
  } else if (def->model == KP_CLOTH_ELASTIC) {
    KP_TRY(add_material(def, part));
  } else {
    KP_TRY(add_edge_springs(def, part));
  }
  place(def, part);
  return KP_OK;
}

kp_result kp_cloth_make(const kp_cloth_def *def, const char *folder, kp_part *part) {
  *part = (kp_part){
    .scheme = (kp_solid_scheme)def->scheme,
    .surface = { .thickness = def->thickness, .friction = def->friction, .self = def->self },
    .drag = def->drag,
    .viscosity = def->viscosity,
    .is_knit = def->layers == 3,
    .radius = def->yarn_radius,
    .particle_radius = def->particle_radius,
    .strength = def->strength,
    .color = def->color
  };
  kp_text_copy(part->name, sizeof part->name, def->name);
  kp_result result = make(def, folder, part);
  if (result != KP_OK) {
    kp_part_free(part);
  }
  return result;
}
