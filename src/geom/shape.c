#include "geom/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/memory.h"
#include "geom/frame.h"
#include "geom/mesh_file.h"
#include "geom/mesh_make.h"
#include "geom/mesh_query.h"
#include "geom/outline.h"

#define PI 3.14159265358979323846
#define PATH_SIZE 4096
#define MOST_AROUND 4096
#define MOST_SPHERE_LEVELS 7

// ---- distances ----------------------------------------------------------------------------------
// A box without extent in z, or in two dimensions, is unbounded in z.
static bool is_flat(const kp_shape *shape) {
  const kp_shape_def *def = &shape->def;
  return shape->dimension == 2 || (def->kind == KP_SHAPE_BOX && def->min.z == def->max.z);
}

kp_shape_view kp_shape_view_of(const kp_shape *shape) {
  const kp_shape_def *def = &shape->def;
  kp_shape_view view = { .kind = (int32_t)def->kind,
                         .dimension = shape->dimension,
                         .is_flat = is_flat(shape),
                         .invert = def->invert,
                         .radius = def->radius,
                         .shell = def->shell };
  switch (def->kind) {
  case KP_SHAPE_BOX:
    view.p = def->min;
    view.q = def->max;
    break;
  case KP_SHAPE_SPHERE:
    view.p = def->center;
    break;
  case KP_SHAPE_PLANE:
    view.p = def->point;
    view.q = def->normal;
    break;
  case KP_SHAPE_CYLINDER:
  case KP_SHAPE_CAPSULE:
  case KP_SHAPE_MESH:
  case KP_SHAPE_KIND_COUNT:
    view.p = def->a;
    view.q = def->b;
    break;
  }
  return view;
}

static double mesh_query(const kp_shape *shape, kp_vec3 p, kp_vec3 *normal) {
  if (shape->def.shell > 0.0) {
    // an open surface has no inside
    kp_mesh_hit hit = kp_mesh_query_closest(shape->mesh, p);
    *normal = hit.distance > 0.0
                  ? kp_vec3_scale(kp_vec3_sub(p, hit.point), 1.0 / hit.distance)
                  : kp_mesh_triangle_normal(kp_mesh_query_mesh(shape->mesh), hit.triangle);
    return hit.distance - 0.5 * shape->def.shell;
  }
  kp_vec3 n;
  double distance = kp_mesh_query_distance(shape->mesh, p, &n);
  if (shape->dimension == 2) {
    // the gradient inside the plane
    n.z = 0.0;
    n = kp_vec3_normalize(n);
  }
  *normal = shape->def.invert ? kp_vec3_scale(n, -1.0) : n;
  return shape->def.invert ? -distance : distance;
}

double kp_shape_query(const kp_shape *shape, kp_vec3 p, kp_vec3 *normal) {
  if (shape->def.kind == KP_SHAPE_MESH) {
    return mesh_query(shape, p, normal);
  }
  kp_shape_view view = kp_shape_view_of(shape);
  return kp_shape_view_query(&view, p, normal);
}

double kp_shape_distance(const kp_shape *shape, kp_vec3 p) {
  kp_vec3 normal;
  return kp_shape_query(shape, p, &normal);
}

kp_vec3 kp_shape_normal(const kp_shape *shape, kp_vec3 p) {
  kp_vec3 normal;
  (void)kp_shape_query(shape, p, &normal);
  return normal;
}

// ---- sizes --------------------------------------------------------------------------------------

kp_aabb kp_shape_bounds(const kp_shape *shape) {
  return shape->bounds;
}

double kp_shape_volume(const kp_shape *shape) {
  return shape->volume;
}

bool kp_shape_is_bounded(const kp_shape *shape) {
  return shape->def.kind != KP_SHAPE_PLANE && !shape->def.invert;
}

// Points within `radius` of the axis; flat ends reach out only across the axis.
static kp_aabb axis_bounds(const kp_shape_def *def) {
  kp_vec3 reach = kp_vec3_make(def->radius, def->radius, def->radius);
  if (def->kind == KP_SHAPE_CYLINDER) {
    kp_vec3 w = kp_vec3_normalize(kp_vec3_sub(def->b, def->a));
    reach = kp_vec3_make(def->radius * sqrt(fmax(0.0, 1.0 - w.x * w.x)),
                         def->radius * sqrt(fmax(0.0, 1.0 - w.y * w.y)),
                         def->radius * sqrt(fmax(0.0, 1.0 - w.z * w.z)));
  }
  kp_aabb box;
  box.min = kp_vec3_sub(kp_vec3_min(def->a, def->b), reach);
  box.max = kp_vec3_add(kp_vec3_max(def->a, def->b), reach);
  return box;
}

static kp_aabb find_bounds(const kp_shape *shape) {
  const kp_shape_def *def = &shape->def;
  kp_aabb box = kp_aabb_empty();
  kp_vec3 r = kp_vec3_make(def->radius, def->radius, def->radius);
  switch (def->kind) {
  case KP_SHAPE_BOX:
    box = (kp_aabb){ def->min, def->max };
    break;
  case KP_SHAPE_SPHERE:
    box = (kp_aabb){ kp_vec3_sub(def->center, r), kp_vec3_add(def->center, r) };
    break;
  case KP_SHAPE_CYLINDER:
  case KP_SHAPE_CAPSULE:
    box = axis_bounds(def);
    break;
  case KP_SHAPE_MESH:
    box = kp_mesh_query_bvh(shape->mesh)->nodes[0].box;  // without stray vertices
    break;
  case KP_SHAPE_PLANE:
  case KP_SHAPE_KIND_COUNT:
    box.min = kp_vec3_make(-HUGE_VAL, -HUGE_VAL, -HUGE_VAL);
    box.max = kp_vec3_make(HUGE_VAL, HUGE_VAL, HUGE_VAL);
    break;
  }
  kp_vec3 grow = kp_vec3_scale(kp_vec3_make(1.0, 1.0, 1.0), 0.5 * def->shell);
  box.min = kp_vec3_sub(box.min, grow);
  box.max = kp_vec3_add(box.max, grow);
  if (is_flat(shape)) {
    box.min.z = shape->dimension == 2 ? 0.0 : -HUGE_VAL;
    box.max.z = shape->dimension == 2 ? 0.0 : HUGE_VAL;
  }
  return box;
}

// Transverse + (axial - transverse) w w^T for a solid of revolution about the unit axis w.
static kp_mat3 axial_inertia(kp_vec3 axis, double axial, double transverse) {
  double w[3] = { axis.x, axis.y, axis.z };
  kp_mat3 out;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      out.m[i][j] = (i == j ? transverse : 0.0) + (axial - transverse) * w[i] * w[j];
    }
  }
  return out;
}

static kp_mass_properties box_mass(const kp_shape *shape) {
  kp_vec3 size = kp_vec3_sub(shape->def.max, shape->def.min);
  kp_mass_properties out = { 0 };
  out.center = kp_vec3_scale(kp_vec3_add(shape->def.min, shape->def.max), 0.5);
  if (is_flat(shape)) {
    size.z = 1.0;
    out.center.z = 0.0;
  }
  double v = size.x * size.y * size.z;
  out.volume = v;
  out.inertia.m[0][0] = v * (size.y * size.y + size.z * size.z) / 12.0;
  out.inertia.m[1][1] = v * (size.z * size.z + size.x * size.x) / 12.0;
  out.inertia.m[2][2] = v * (size.x * size.x + size.y * size.y) / 12.0;
  return out;
}

// A cylinder of length l, with the caps of a capsule if asked for. A half ball of volume v has its
// centre of mass 3 r / 8 from its flat side and 2/5 v r^2 about any axis through the middle of that
// side.
static kp_mass_properties round_mass(kp_vec3 a, kp_vec3 b, double r, bool has_caps) {
  double l = kp_vec3_length(kp_vec3_sub(b, a));
  double v = PI * r * r * l;
  double axial = 0.5 * v * r * r;
  double transverse = v * (3.0 * r * r + l * l) / 12.0;
  if (has_caps) {
    double cap = 2.0 / 3.0 * PI * r * r * r;
    double shift = 3.0 / 8.0 * r;
    double about_centroid = 0.4 * cap * r * r - cap * shift * shift;
    double arm = 0.5 * l + shift;
    axial += 2.0 * 0.4 * cap * r * r;
    transverse += 2.0 * (about_centroid + cap * arm * arm);
    v += 2.0 * cap;
  }
  kp_mass_properties out;
  out.volume = v;
  out.center = kp_vec3_scale(kp_vec3_add(a, b), 0.5);
  out.inertia = axial_inertia(kp_vec3_normalize(kp_vec3_sub(b, a)), axial, transverse);
  return out;
}

static kp_mass_properties sphere_mass(const kp_shape *shape) {
  double r = shape->def.radius;
  if (shape->dimension == 2) {
    // a disc 1 m thick
    kp_vec3 half = kp_vec3_make(0.0, 0.0, 0.5);
    return round_mass(kp_vec3_sub(shape->def.center, half), kp_vec3_add(shape->def.center, half), r,
                      false);
  }
  kp_mass_properties out;
  out.volume = 4.0 / 3.0 * PI * r * r * r;
  out.center = shape->def.center;
  double i = 0.4 * out.volume * r * r;
  out.inertia = axial_inertia(kp_vec3_make(0.0, 0.0, 1.0), i, i);
  return out;
}

static kp_result section_mass(const kp_shape *shape, kp_mass_properties *out) {
  // fine enough for four digits of a round section; polygons are exact
  kp_mesh mesh;
  KP_TRY(kp_shape_tessellate(shape, shape->def.radius / 40.0, &mesh));
  kp_outline outline = { 0 };
  kp_result result = kp_outline_slice(&mesh, &outline);
  *out = kp_outline_mass_properties(&outline);
  kp_array_free(&outline);
  kp_mesh_destroy(&mesh);
  return result;
}

// Of a thin wall: second moments of triangles are exact, round shapes are cut into small ones.
static kp_result shell_mass(const kp_shape *shape, kp_mass_properties *out) {
  kp_mesh mesh;
  double size = kp_vec3_length(kp_vec3_sub(shape->bounds.max, shape->bounds.min));
  KP_TRY(kp_shape_tessellate(shape, 0.01 * size, &mesh));
  *out = kp_mesh_surface_mass_properties(&mesh, shape->def.shell);
  kp_mesh_destroy(&mesh);
  return KP_OK;
}

// Of the bounded side of the surface.
static kp_result find_mass(const kp_shape *shape, kp_mass_properties *out) {
  const kp_shape_def *def = &shape->def;
  *out = (kp_mass_properties){ .volume = HUGE_VAL };
  if (def->shell > 0.0) {
    return shell_mass(shape, out);
  }
  switch (def->kind) {
  case KP_SHAPE_BOX:
    *out = box_mass(shape);
    return KP_OK;
  case KP_SHAPE_SPHERE:
    *out = sphere_mass(shape);
    return KP_OK;
  case KP_SHAPE_CYLINDER:
  case KP_SHAPE_CAPSULE:
    if (shape->dimension == 2) {
      return section_mass(shape, out);
    }
    *out = round_mass(def->a, def->b, def->radius, def->kind == KP_SHAPE_CAPSULE);
    return KP_OK;
  case KP_SHAPE_MESH:
    if (shape->dimension == 2) {
      return section_mass(shape, out);
    }
    *out = kp_mesh_mass_properties(kp_mesh_query_mesh(shape->mesh));
    return KP_OK;
  case KP_SHAPE_PLANE:
  case KP_SHAPE_KIND_COUNT:
    break;
  }
  return KP_OK;
}

kp_result kp_shape_mass_properties(const kp_shape *shape, kp_mass_properties *out) {
  if (!kp_shape_is_bounded(shape)) {
    *out = (kp_mass_properties){ 0 };
    return kp_fail(KP_ERROR_SCENE, "%s has no mass properties: the solid is unbounded",
                   shape->def.invert ? "an inverted shape" : "a plane");
  }
  return find_mass(shape, out);
}

// ---- building -----------------------------------------------------------------------------------

static const char *kind_name(kp_shape_kind kind) {
  size_t n;
  return kp_shape_tables(&n)[kind]->name;
}

// The negated comparisons also catch values that are not numbers.
static kp_result check_box(const kp_shape_def *def) {
  const char axes[3] = { 'x', 'y', 'z' };
  double low[3] = { def->min.x, def->min.y, def->min.z };
  double high[3] = { def->max.x, def->max.y, def->max.z };
  for (int i = 0; i < 3; ++i) {
    bool is_right = i == 2 ? low[i] <= high[i] : low[i] < high[i];
    if (!is_right || !isfinite(low[i]) || !isfinite(high[i])) {
      return kp_fail(KP_ERROR_SCENE, "box: max.%c = %g is not above min.%c = %g", axes[i], high[i],
                     axes[i], low[i]);
    }
  }
  return KP_OK;
}

static kp_result check_radius(const kp_shape_def *def) {
  if (!(def->radius > 0.0) || !isfinite(def->radius)) {
    return kp_fail(KP_ERROR_SCENE, "%s: radius = %g is not above 0", kind_name(def->kind),
                   def->radius);
  }
  return KP_OK;
}

static kp_result check_axis(const kp_shape_def *def) {
  KP_TRY(check_radius(def));
  double length = kp_vec3_length(kp_vec3_sub(def->b, def->a));
  if (!(length > 0.0) || !isfinite(length)) {
    return kp_fail(KP_ERROR_SCENE, "%s: the ends a and b of the axis are the same point",
                   kind_name(def->kind));
  }
  return KP_OK;
}

static kp_mat3 mesh_matrix(const kp_shape_def *def) {
  const double radians = PI / 180.0;
  kp_quat x = kp_quat_from_axis_angle(kp_vec3_make(1.0, 0.0, 0.0), def->rotate_deg.x * radians);
  kp_quat y = kp_quat_from_axis_angle(kp_vec3_make(0.0, 1.0, 0.0), def->rotate_deg.y * radians);
  kp_quat z = kp_quat_from_axis_angle(kp_vec3_make(0.0, 0.0, 1.0), def->rotate_deg.z * radians);
  kp_mat3 matrix = kp_quat_to_mat3(kp_quat_mul(z, kp_quat_mul(y, x)));
  for (int i = 0; i < 9; ++i) {
    matrix.m[i / 3][i % 3] *= def->scale;
  }
  return matrix;
}

// Weld seams, move into place, refuse holes, turn right side out.
static kp_result prepare_mesh(const kp_shape_def *def, kp_mesh *mesh) {
  KP_TRY(kp_mesh_weld(mesh));
  kp_mat3 matrix = mesh_matrix(def);
  kp_mesh_transform(mesh, &matrix, def->translate);
  if (def->shell > 0.0) {
    return mesh->n_triangles > 0 && kp_mesh_area(mesh) > 0.0
               ? KP_OK
               : kp_fail(KP_ERROR_FORMAT, "the mesh has no area");
  }
  KP_TRY(kp_mesh_check_closed(mesh));
  double volume = kp_mesh_volume(mesh);
  if (!isfinite(volume) || volume == 0.0) {
    return kp_fail(KP_ERROR_FORMAT, "the mesh encloses no volume");
  }
  if (volume < 0.0) {
    kp_log(KP_LOG_WARN, "geom", "%s: the triangles face inward and were turned over", def->file);
    kp_mesh_flip(mesh);
  }
  return KP_OK;
}

static kp_result load_mesh(kp_shape *shape, const char *folder) {
  const kp_shape_def *def = &shape->def;
  if (!(def->scale > 0.0) || !isfinite(def->scale)) {
    return kp_fail(KP_ERROR_SCENE, "mesh: scale = %g is not above 0", def->scale);
  }
  if (def->file[0] == '\0') {
    return kp_fail(KP_ERROR_SCENE, "mesh: file is missing");
  }
  bool is_relative = folder != NULL && folder[0] != '\0' && def->file[0] != '/';
  char path[PATH_SIZE];
  int length = snprintf(path, sizeof path, "%s%s%s", is_relative ? folder : "",
                        is_relative ? "/" : "", def->file);
  if (length < 0 || (size_t)length >= sizeof path) {
    return kp_fail(KP_ERROR_IO, "mesh: the path of %s is too long", def->file);
  }
  kp_mesh mesh;
  KP_TRY(kp_mesh_read(path, &mesh));
  kp_result result = prepare_mesh(def, &mesh);
  if (result == KP_OK) {
    result = kp_mesh_query_create(&mesh, &shape->mesh);
  }
  kp_mesh_destroy(&mesh);
  return result == KP_OK ? KP_OK : kp_fail_in(result, "%s", path);
}

static kp_result check_shell(const kp_shape_def *def) {
  if (!(def->shell >= 0.0) || !isfinite(def->shell)) {
    return kp_fail(KP_ERROR_SCENE, "%s: shell = %g is not a thickness", kind_name(def->kind),
                   def->shell);
  }
  bool is_bounded = def->kind != KP_SHAPE_PLANE && !def->invert &&
                    !(def->kind == KP_SHAPE_BOX && def->min.z == def->max.z);
  return def->shell == 0.0 || is_bounded
             ? KP_OK
             : kp_fail(KP_ERROR_SCENE, "%s: a shell must be bounded and cannot be inverted",
                       kind_name(def->kind));
}

static kp_result check_and_load(kp_shape *shape, const char *folder) {
  kp_shape_def *def = &shape->def;
  KP_TRY(check_shell(def));
  switch (def->kind) {
  case KP_SHAPE_BOX:
    return check_box(def);
  case KP_SHAPE_SPHERE:
    return check_radius(def);
  case KP_SHAPE_CYLINDER:
  case KP_SHAPE_CAPSULE:
    return check_axis(def);
  case KP_SHAPE_PLANE: {
    double length = kp_vec3_length(def->normal);
    if (!(length > 0.0) || !isfinite(length)) {
      return kp_fail(KP_ERROR_SCENE, "plane: the normal has no direction");
    }
    def->normal = kp_vec3_scale(def->normal, 1.0 / length);
    return KP_OK;
  }
  case KP_SHAPE_MESH:
    return load_mesh(shape, folder);
  case KP_SHAPE_KIND_COUNT:
    break;
  }
  return kp_fail(KP_ERROR_ARGUMENT, "shape of unknown kind %d", (int)def->kind);
}

// Bounds and volume follow from the def.
static kp_result measure(kp_shape *shape) {
  shape->bounds = find_bounds(shape);
  kp_mass_properties mass;
  kp_result result = find_mass(shape, &mass);
  shape->volume = mass.volume;
  return result;
}

kp_result kp_shape_build(const kp_shape_def *def, const char *folder, kp_shape **out) {
  *out = NULL;
  kp_shape *shape = kp_alloc_zero(sizeof *shape, KP_MEMORY_MESH);
  if (shape == NULL) {
    return KP_ERROR_MEMORY;
  }
  shape->def = *def;
  shape->dimension = 3;
  kp_result result = check_and_load(shape, folder);
  if (result == KP_OK) {
    result = measure(shape);
  }
  if (result != KP_OK) {
    kp_shape_destroy(&shape);
  }
  *out = shape;
  return result;
}

void kp_shape_destroy(kp_shape **shape) {
  if (*shape != NULL) {
    kp_mesh_query_destroy(&(*shape)->mesh);
    kp_free(*shape);
    *shape = NULL;
  }
}

kp_result kp_shape_become(kp_shape *shape, kp_mesh *mesh) {
  kp_mesh_query *query;
  KP_TRY(kp_mesh_query_create(mesh, &query));
  kp_mesh_query_destroy(&shape->mesh);
  shape->mesh = query;
  shape->def.kind = KP_SHAPE_MESH;
  return measure(shape);
}

// ---- two dimensions -----------------------------------------------------------------------------

static void make_circle(kp_shape_def *def, kp_vec3 center, double radius) {
  def->kind = KP_SHAPE_SPHERE;
  def->center = kp_vec3_make(center.x, center.y, 0.0);
  def->radius = radius;
}

// The line in which the plane meets z = 0.
static void flatten_plane(kp_shape_def *def) {
  kp_vec3 n = kp_vec3_make(def->normal.x, def->normal.y, 0.0);
  double n2 = kp_vec3_dot(n, n);
  kp_vec3 p = kp_vec3_make(def->point.x, def->point.y, 0.0);
  def->point = kp_vec3_madd(p, def->normal.z * def->point.z / n2, n);
  def->normal = kp_vec3_normalize(n);
}

// A cylinder or capsule along z.
static bool is_upright(const kp_shape_def *def) {
  bool has_axis = def->kind == KP_SHAPE_CYLINDER || def->kind == KP_SHAPE_CAPSULE;
  return has_axis && def->a.x == def->b.x && def->a.y == def->b.y;
}

kp_result kp_shape_flatten(kp_shape *shape) {
  kp_shape_def *def = &shape->def;
  if (def->shell > 0.0) {
    return kp_fail(KP_ERROR_SCENE, "%s: a shell needs three dimensions", kind_name(def->kind));
  }
  kp_aabb b = shape->bounds;
  bool misses = b.min.z > 0.0 || b.max.z < 0.0;
  if (def->kind == KP_SHAPE_PLANE) {
    misses = def->normal.x == 0.0 && def->normal.y == 0.0;
  } else if (def->kind != KP_SHAPE_BOX && !is_upright(def)) {
    misses = b.min.z >= 0.0 || b.max.z <= 0.0;  // a touch is not a section
  }
  if (misses) {
    return kp_fail(KP_ERROR_SCENE, "%s: a two-dimensional world is the plane z = 0, which %s",
                   kind_name(def->kind),
                   def->kind == KP_SHAPE_PLANE ? "is parallel to this plane"
                                               : "does not cut this shape");
  }
  if (def->kind == KP_SHAPE_SPHERE) {
    double z = def->center.z;
    make_circle(def, def->center, sqrt(def->radius * def->radius - z * z));
  } else if (is_upright(def)) {
    // beyond the ends of its axis a capsule is narrower
    double beyond = fmax(fmin(def->a.z, def->b.z), -fmax(def->a.z, def->b.z));
    double h = def->kind == KP_SHAPE_CAPSULE ? fmax(0.0, beyond) : 0.0;
    make_circle(def, def->a, sqrt(def->radius * def->radius - h * h));
  } else if (def->kind == KP_SHAPE_PLANE) {
    flatten_plane(def);
  }
  shape->dimension = 2;
  return measure(shape);
}

// ---- meshing ------------------------------------------------------------------------------------

static int corners_around(double radius, double edge) {
  double n = ceil(2.0 * PI * radius / edge);
  return n < 8.0 ? 8 : (n > MOST_AROUND ? MOST_AROUND : (int)n);
}

// An icosahedron's edge is 1.05 radii long; each level halves it.
static int sphere_levels(double radius, double edge) {
  int levels = 1;
  for (double e = 0.53 * radius; e > edge && levels < MOST_SPHERE_LEVELS; e *= 0.5) {
    ++levels;
  }
  return levels;
}

kp_result kp_shape_tessellate(const kp_shape *shape, double edge, kp_mesh *mesh) {
  const kp_shape_def *def = &shape->def;
  *mesh = (kp_mesh){ 0 };
  switch (def->kind) {
  case KP_SHAPE_BOX:
    if (def->min.z == def->max.z) {
      break;
    }
    return kp_mesh_make_box((kp_aabb){ def->min, def->max }, mesh);
  case KP_SHAPE_SPHERE:
    return kp_mesh_make_icosphere(def->center, def->radius, sphere_levels(def->radius, edge), mesh);
  case KP_SHAPE_CYLINDER:
    return kp_mesh_make_cylinder(def->a, def->b, def->radius, corners_around(def->radius, edge),
                                 mesh);
  case KP_SHAPE_CAPSULE:
    return kp_mesh_make_capsule(def->a, def->b, def->radius, corners_around(def->radius, edge),
                                mesh);
  case KP_SHAPE_MESH:
    return kp_mesh_copy(kp_mesh_query_mesh(shape->mesh), mesh);
  case KP_SHAPE_PLANE:
  case KP_SHAPE_KIND_COUNT:
    break;
  }
  return kp_fail(KP_ERROR_SCENE, "%s: an unbounded surface has no mesh", kind_name(def->kind));
}
