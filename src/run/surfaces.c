#include "run/surfaces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FINEST 0.35   // spacings between samples; with the largest reach this is what fits
#define FARTHEST 2.8  // spacings
#define GRAIN 0.85    // spacings: width of the filter over particles of a grid whose cells are two
#define MOST_PASSES 20

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_surface_out, member, kind, unit, lowest, highest, text)

static const kp_param surface_rows[] = {
  ROW(from, TEXT, "", 0, 0,
      "Liquid whose surface is put into frames as a mesh, \"all\" (which is meant when missing) or "
      "\"none\"; output { surface = false } says none."),
  KP_PARAM_WORDS(kp_surface_out, field, kp_surface_field_names,
                 "What the surface of particles is taken from."),
  ROW(level, REAL, "", 0, 100, "Value of the field at the surface; 0: its own."),
  ROW(voxel, REAL, "spacings", FINEST, 4,
      "Distance between samples of the surface of particles; smaller is finer and slower."),
  ROW(reach, REAL, "spacings", 0, FARTHEST,
      "Particles so far away count; more is smoother. 0: as far as suits the field."),
  ROW(smooth, INT, "", -1, 20,
      "Passes of a filter over the surface of particles; -1: as many as suit the field, and of "
      "FLIP "
      "as its cells are wide."),
  KP_PARAM_WORDS(kp_surface_out, mesh_smoothing, kp_mesh_smoothing_names,
                 "How the mesh is smoothed: means over a radius (hong), which takes volume and "
                 "small features, or steps that keep them (taubin)."),
  ROW(mesh_passes, INT, "", 0, 100, "How often the mesh is smoothed."),
  ROW(mesh_radius, REAL, "voxels", 1, 8, "Over how much, with hong."),
  ROW(join, BOOL, "", 0, 0,
      "One surface around all chosen liquids of particles, \"surface of a and b\", instead of one "
      "around each."),
  ROW(depth, BOOL, "", 0, 0,
      "Particles of these liquids carry a field depth: how far below the surface they lie [m], 0 "
      "above it. Walls of the domain are no surface."),
  ROW(spray, BOOL, "", 0, 0,
      "Particles that have come loose are drawn as spray, \"spray of water\": each fades out of "
      "the "
      "surface and breaks into drops. With the anisotropic field, in space."),
  ROW(spray_share, REAL, "", 0.01, 1,
      "Share of the neighbours inside a liquid below which a particle begins to be spray; at 0.3 "
      "of it it is nothing else. A sheet of one layer has 0.3, a lone particle 0."),
  ROW(spray_drops, REAL, "", 1, 1000,
      "Drops of a particle in the mean, by its id from a third to two and a half of that."),
  ROW(spray_volume, REAL, "", 0, 1,
      "Share of the spray's volume that is in drops; the rest is too fine to be seen singly."),
  ROW(spray_spread, REAL, "spacings", 0, 10,
      "Radius of the ball in which most drops of a particle lie, longer along a fast way."),
  ROW(spray_thickest, REAL, "Pa s", 0, 1e9,
      "Liquids with more viscosity hang together and have no spray."),
};

kp_surface_out kp_default_surface_out(void) {
  return (kp_surface_out){ .field = KP_SURFACE_ANISOTROPIC,
                           .voxel = 0.6,
                           .reach = 0.0,
                           .smooth = -1,
                           .mesh_passes = 3,
                           .mesh_radius = 1.75,
                           .spray = true,
                           .spray_share = 0.16,
                           .spray_drops = 40.0,
                           .spray_volume = 0.25,
                           .spray_spread = 1.2,
                           .spray_thickest = 2.0 };
}

static void set_surface(void *def) {
  *(kp_surface_out *)def = kp_default_surface_out();
}

const kp_param_table kp_surface_params = {
  "surface",
  "The surface of liquids as meshes in frames.",
  surface_rows,
  sizeof surface_rows / sizeof surface_rows[0],
  sizeof(kp_surface_out),
  set_surface,
};

// ---- who has one

static bool is_everyone(const kp_surface_out *how) {
  return how->from[0] == '\0' || strcmp(how->from, "all") == 0;
}

static bool is_asked_for(const kp_surface_out *how, const kp_liquid_def *liquid) {
  return is_everyone(how) || strcmp(how->from, liquid->name) == 0;
}

// Whether a liquid breaks into drops. What thickens under load has no viscosity to ask for.
static bool can_spray(const kp_surface_out *how, const kp_liquid_def *liquid) {
  return how->spray && liquid->method != KP_LIQUID_STF && liquid->viscosity <= how->spray_thickest;
}

static kp_liquid_surface find_liquid(const kp_world *world, const kp_surface_out *how,
                                     const kp_liquid_def *liquid) {
  kp_liquid_surface found = { .spacing = liquid->spacing,
                              .n_parts = 1,
                              .sprays = can_spray(how, liquid),
                              .is_coarse = liquid->method == KP_LIQUID_FLIP };
  kp_text_copy(found.name, sizeof found.name, liquid->name);
  for (size_t g = 0; g < world->env.grids.count; ++g) {
    const kp_env_grid *grid = &world->env.grids.data[g];
    kp_field *distance = kp_space_find(grid->mac->space, "distance");
    if (strcmp(grid->name, liquid->name) == 0 && distance != NULL) {
      found.mac = grid->mac;
      found.distance = distance;
      return found;
    }
  }
  kp_space *space = kp_registry_find(world->registry, liquid->name);
  bool has_particles = space != NULL && kp_space_is_population(world, space);
  found.particles = has_particles ? space : NULL;
  bool has_band = liquid->method == KP_LIQUID_FLIP && world->spec.flip.band > 0.0;
  for (size_t g = 0; g < world->env.grids.count && has_band && found.below == NULL; ++g) {
    kp_mac *mac = world->env.grids.data[g].mac;
    found.depth = kp_space_find(mac->space, "depth");
    found.below = found.depth != NULL ? mac : NULL;
  }
  return found;
}

static kp_result no_such_liquid(const kp_world *world, const char *wanted) {
  const char *names[64];
  size_t n = 0;
  for (; n < world->spec.liquids.count && n < sizeof names / sizeof names[0]; ++n) {
    names[n] = world->spec.liquids.data[n].name;
  }
  const char *nearest = kp_text_nearest(wanted, names, n);
  return nearest != NULL
             ? kp_fail(KP_ERROR_SCENE,
                       "output.surface: there is no liquid \"%s\"; did you mean \"%s\"?", wanted,
                       nearest)
             : kp_fail(KP_ERROR_SCENE, "output.surface: there is no liquid \"%s\"", wanted);
}

// Liquids of grids have their own; the others are one item with parts, at the end of the list.
static kp_result join_items(kp_surfaces *s) {
  size_t n_grids = 0;
  for (size_t i = 0; i < s->items.count; ++i) {
    kp_liquid_surface item = s->items.data[i];
    if (item.mac != NULL) {
      memmove(s->items.data + n_grids + 1, s->items.data + n_grids, (i - n_grids) * sizeof item);
      s->items.data[n_grids++] = item;
    }
  }
  kp_liquid_surface *first = s->items.data + n_grids;
  for (size_t i = n_grids + 1; i < s->items.count; ++i) {
    const kp_liquid_surface *part = &s->items.data[i];
    if (part->spacing != first->spacing) {
      return kp_fail(KP_ERROR_SCENE,
                     "output.surface.join: \"%s\" has a spacing of %g m and \"%s\" one of %g m; "
                     "liquids with one surface need the same",
                     first->name, first->spacing, part->name, part->spacing);
    }
    first->sprays = first->sprays && part->sprays;
    first->is_coarse = first->is_coarse || part->is_coarse;
    size_t length = strlen(first->name);
    int more = snprintf(first->name + length, sizeof first->name - length, " and %s", part->name);
    if (more < 0 || (size_t)more >= sizeof first->name - length) {
      return kp_fail(KP_ERROR_SCENE,
                     "output.surface.join: the names of the liquids, joined by \"and\", must be "
                     "shorter than %d letters",
                     KP_NAME_SIZE);
    }
    ++first->n_parts;
  }
  return KP_OK;
}

kp_result kp_surfaces_begin(kp_surfaces *surfaces, const kp_surface_out *how, kp_world *world) {
  *surfaces = (kp_surfaces){ .how = *how };
  kp_device_surfacer_init(&surfaces->device, world->backend);
  kp_device_smoother_init(&surfaces->device_smoother, world->backend);
  kp_grid_surface_init(&surfaces->grid, world->backend);
  kp_buffer_init(&surfaces->points, world->backend);
  kp_surface_depth_init(&surfaces->depth, world->backend);
  for (int a = 0; a < KP_SURFACE_ARRAYS; ++a) {
    kp_buffer_init(&surfaces->joined[a], world->backend);
  }
  bool is_found = is_everyone(how) || strcmp(how->from, "none") == 0;
  for (size_t l = 0; l < world->spec.liquids.count; ++l) {
    const kp_liquid_def *liquid = &world->spec.liquids.data[l];
    is_found = is_found || strcmp(how->from, liquid->name) == 0;
    if (!is_asked_for(how, liquid)) {
      continue;
    }
    kp_liquid_surface found = find_liquid(world, how, liquid);
    if (found.mac != NULL || found.particles != NULL) {
      KP_TRY(kp_array_push(&surfaces->items, found));
    }
  }
  if (!is_found) {
    return no_such_liquid(world, how->from);
  }
  return how->join ? join_items(surfaces) : KP_OK;
}

void kp_surfaces_free(kp_surfaces *surfaces) {
  kp_array_free(&surfaces->items);
  kp_surfacer_free(&surfaces->surfacer);
  kp_surface_depth_free(&surfaces->depth);
  kp_isosurface_free(&surfaces->mesh);
  kp_mesh_smoother_free(&surfaces->smoother);
  kp_band_points_free(&surfaces->below);
  kp_grid_surface_free(&surfaces->grid);
  kp_buffer_free(&surfaces->points);
  kp_free(surfaces->spray);
  surfaces->spray = NULL;
  kp_device_surfacer_free(&surfaces->device);
  kp_device_smoother_free(&surfaces->device_smoother);
  for (int a = 0; a < KP_SURFACE_ARRAYS; ++a) {
    kp_free(surfaces->gathered[a]);
    surfaces->gathered[a] = NULL;
    kp_buffer_free(&surfaces->joined[a]);
  }
}

// ---- particles

// Where deep cells are full by right (kp_flip_band_full), but a cell and a half below the surface
// at least: there its particles say where it lies.
#define BAND_LEAST 1.5

// What is below a narrow band; nothing where there is none.
static kp_result find_below(kp_surfaces *s, const kp_world *world, const kp_liquid_surface *item) {
  s->below.n = 0;
  if (item->below == NULL) {
    return KP_OK;
  }
  double least = fmax(world->spec.flip.band - 0.5, BAND_LEAST);
  return kp_band_points_find(&s->below, item->below, item->depth, least, item->spacing);
}

static int64_t count_particles(const kp_liquid_surface *item) {
  int64_t n = 0;
  for (size_t p = 0; p < item->n_parts; ++p) {
    n += item[p].particles->n;
  }
  return n;
}

// Component c of a field for the points below a band, behind those of n particles in `to`: what
// they are not asked for is the mean of the particles.
static void add_below(const kp_band_points *below, const char *name, int c, int64_t n, void *to) {
  if (strcmp(name, "position") == 0) {
    memcpy((double *)to + n, below->x[c], (size_t)below->n * sizeof *below->x[c]);
  } else if (strcmp(name, "velocity") == 0) {
    memcpy((kp_real *)to + n, below->speed[c], (size_t)below->n * sizeof *below->speed[c]);
  } else {
    kp_real *values = to;
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      sum += (double)values[i];
    }
    for (int64_t i = 0; i < below->n; ++i) {
      values[n + i] = (kp_real)(n > 0 ? sum / (double)n : 0.0);
    }
  }
}

// One component of a field of all parts and of what is below them, side by side in `room`; that of
// a single liquid where it lies.
static kp_result get_array(const kp_surfaces *s, const kp_liquid_surface *item, const char *name,
                           int c, void **room, void **out) {
  kp_field *field = kp_space_find(item->particles, name);
  if (item->n_parts == 1 && s->below.n == 0) {
    return kp_buffer_get(&field->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, out);
  }
  size_t width = kp_type_size(field->type), filled = 0;
  int64_t n = count_particles(item);
  size_t size = (size_t)(n + s->below.n) * width;
  if (*room == NULL || kp_alloc_size(*room) < size) {
    kp_free(*room);
    *room = kp_alloc(size + size / 2, KP_MEMORY_MESH);
  }
  if (*room == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t p = 0; p < item->n_parts; ++p) {
    kp_space *space = item[p].particles;
    field = kp_space_find(space, name);
    void *part;
    KP_TRY(kp_buffer_get(&field->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, &part));
    if (space->n > 0) {
      memcpy((char *)*room + filled, part, (size_t)space->n * width);
    }
    filled += (size_t)space->n * width;
  }
  if (s->below.n > 0) {
    add_below(&s->below, name, c, n, *room);
  }
  *out = *room;
  return KP_OK;
}

static kp_result get_cloud(kp_surfaces *s, const kp_liquid_surface *item, kp_cloud *out) {
  void *x[3];
  for (int c = 0; c < 3; ++c) {
    KP_TRY(get_array(s, item, "position", c, &s->gathered[c], &x[c]));
  }
  *out = (kp_cloud){ .n = count_particles(item) + s->below.n, .x = x[0], .y = x[1], .z = x[2] };
  return KP_OK;
}

// Below a cell particles of FLIP lie as chance has it, and their surface shows it as crumbs: the
// field is filtered to a Gaussian of GRAIN. A pass of the binomial filter has the variance 1/2.
static int passes_of(const kp_surfaces *s, const kp_liquid_surface *item) {
  double width = GRAIN / s->how.voxel;
  bool is_given = s->how.smooth >= 0 || !item->is_coarse;
  return is_given ? (int)s->how.smooth : (int)fmin(round(2.0 * width * width), MOST_PASSES);
}

static kp_surfacing settings_of(const kp_surfaces *s, const kp_world *world,
                                const kp_liquid_surface *item) {
  const kp_domain_def *domain = &world->spec.domain;
  return (kp_surfacing){ .spacing = item->spacing,
                         .voxel = s->how.voxel * item->spacing,
                         .reach = s->how.reach,
                         .smooth = passes_of(s, item),
                         .dimension = (int)domain->dimension,
                         .box = { domain->min, domain->max },
                         .field = (kp_surface_kind)s->how.field,
                         .level = s->how.level,
                         .spray = item->sprays ? s->how.spray_share : 0.0 };
}

// ---- particles on a device

// As get_array, without a copy of the particles to the host.
static kp_result get_buffer(kp_surfaces *s, const kp_liquid_surface *item, const char *name, int c,
                            int array, kp_buffer **out) {
  kp_field *field = kp_space_find(item->particles, name);
  *out = &field->buffers[c];
  if (item->n_parts == 1 && s->below.n == 0) {
    return KP_OK;
  }
  kp_buffer *room = &s->joined[array];
  size_t width = kp_type_size(field->type), filled = 0;
  int64_t n = count_particles(item);
  void *to, *from;
  KP_TRY(kp_device_resize(room, field->type, n + s->below.n, width));
  if (s->below.n > 0) {
    // the points come from the host, and so do the particles with them
    KP_TRY(get_array(s, item, name, c, &s->gathered[array], &from));
    KP_TRY(kp_buffer_get(room, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &to));
    memcpy(to, from, (size_t)(n + s->below.n) * width);
    *out = room;
    return KP_OK;
  }
  KP_TRY(kp_buffer_get(room, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &to));
  for (size_t p = 0; p < item->n_parts; ++p) {
    kp_space *space = item[p].particles;
    size_t size = (size_t)space->n * width;
    field = kp_space_find(space, name);
    KP_TRY(kp_buffer_get(&field->buffers[c], KP_SIDE_DEVICE, KP_ACCESS_READ, &from));
    KP_TRY(size == 0 ? KP_OK : kp_copy(room->backend, (char *)to + filled, from, size));
    filled += size;
  }
  *out = room;
  return KP_OK;
}

static kp_result get_device_cloud(kp_surfaces *s, const kp_liquid_surface *item,
                                  kp_device_cloud *out) {
  kp_buffer *x[3];
  for (int c = 0; c < 3; ++c) {
    KP_TRY(get_buffer(s, item, "position", c, c, &x[c]));
  }
  *out =
      (kp_device_cloud){ .n = count_particles(item) + s->below.n, .x = x[0], .y = x[1], .z = x[2] };
  return KP_OK;
}

// ---- meshes

// Whether meshes are made on a device; the host gets them when they are finished.
static bool is_on_device(const kp_world *world) {
  return !world->backend->vt->shares_host_memory;
}

// Smooths the mesh where it lies and brings it to the host.
static kp_result finish_mesh(kp_surfaces *s, const kp_world *world, double voxel,
                             const kp_aabb *box) {
  kp_mesh_smoother_def how = { .kind = (kp_mesh_smoothing)s->how.mesh_smoothing,
                               .passes = (int)s->how.mesh_passes,
                               .radius = s->how.mesh_radius * voxel,
                               .box = *box,
                               .near = 0.01 * voxel };
  if (!is_on_device(world)) {
    return kp_mesh_smoother_run(&s->smoother, &how, &s->mesh);
  }
  KP_TRY(kp_device_smoother_run(&s->device_smoother, &how, &s->device.mesh));
  return kp_device_mesh_fetch(&s->device.mesh, &s->mesh);
}

// Room for a field of the vertices in the frame, by component.
static kp_result add_field(kp_batch *batch, const char *name, const char *field, const char *unit,
                           int n_components, int64_t n, float **out) {
  static const char *const components[3] = { "x", "y", "z" };
  for (int c = 0; c < n_components; ++c) {
    void *data;
    KP_TRY(kp_batch_room(batch, KP_ITEM_F32, (uint64_t)n, unit, &data, "mesh/surface of %s/%s/%s",
                         name, field, n_components > 1 ? components[c] : "0"));
    out[c] = data;
  }
  return KP_OK;
}

static kp_result add_mesh(const kp_surfaces *s, const char *name, kp_batch *batch) {
  const kp_isosurface *mesh = &s->mesh;
  float *x[3], *normal[3];
  void *triangles;
  KP_TRY(add_field(batch, name, "vertices", "m", 3, mesh->n_vertices, x));
  KP_TRY(add_field(batch, name, "normal", "", 3, mesh->n_vertices, normal));
  for (int64_t i = 0; i < mesh->n_vertices; ++i) {
    x[0][i] = (float)mesh->vertices[i].x;
    x[1][i] = (float)mesh->vertices[i].y;
    x[2][i] = (float)mesh->vertices[i].z;
    for (int c = 0; c < 3; ++c) {
      normal[c][i] = mesh->normals[3 * i + c];
    }
  }
  KP_TRY(kp_batch_room(batch, KP_ITEM_U32, 3 * (uint64_t)mesh->n_triangles, "", &triangles,
                       "mesh/surface of %s/triangles", name));
  memcpy(triangles, mesh->triangles, 3 * (size_t)mesh->n_triangles * sizeof(uint32_t));
  return KP_OK;
}

// What particles carry that a surface shows as well: the mean around each vertex. Velocity is
// first.
static const struct {
  const char *name;
  const char *unit;
} carried[] = {
  { "velocity", "m/s" },  { "concentration", "" }, { "color", "" },
  { "temperature", "K" }, { "stiffening", "" },
};

// The field if all parts have it in a form that means can be taken of.
static const kp_field *find_carried(const kp_liquid_surface *item, const char *name) {
  const kp_field *first = NULL;
  for (size_t p = 0; p < item->n_parts; ++p) {
    const kp_field *field = kp_space_find(item[p].particles, name);
    bool is_fit = field != NULL && field->type == KP_TYPE_REAL &&
                  (field->components == 1 || field->components == 3);
    if (!is_fit || (first != NULL && first->components != field->components)) {
      return NULL;
    }
    first = first != NULL ? first : field;
  }
  return first;
}

// Where the particles of a liquid are.
typedef struct liquid_cloud {
  bool is_on_device;
  kp_cloud host;
  kp_device_cloud device;
} liquid_cloud;

// A mean over particles inside a liquid that runs along a wall has a part into it, which the
// surface on the wall has not: within a spacing of closed walls it goes to nothing with the
// distance, else the wall would sway while a shutter is open.
static void stop_at_walls(const kp_isosurface *mesh, const kp_env *env, double reach,
                          float *velocity[3]) {
  for (int c = 0; c < 3; ++c) {
    const kp_faces faces = kp_env_faces(env, c);
    for (int64_t i = 0; i < mesh->n_vertices && (faces.closed_lo || faces.closed_hi); ++i) {
      const double at[3] = { mesh->vertices[i].x, mesh->vertices[i].y, mesh->vertices[i].z };
      double low = faces.closed_lo ? (at[c] - faces.lo) / reach : 1.0;
      double high = faces.closed_hi ? (faces.hi - at[c]) / reach : 1.0;
      velocity[c][i] *= (float)fmin(fmax(fmin(low, high), 0.0), 1.0);
    }
  }
}

static kp_result add_carried(kp_surfaces *s, const kp_world *world, const kp_liquid_surface *item,
                             const liquid_cloud *cloud, kp_batch *batch) {
  enum { MOST = KP_SURFACE_ARRAYS - 3 };
  const kp_real *values[MOST];
  kp_buffer *buffers[MOST];
  float *out[MOST];
  int n = 0;
  for (size_t f = 0; f < sizeof carried / sizeof carried[0]; ++f) {
    const char *name = carried[f].name;
    const kp_field *field = find_carried(item, name);
    if (field == NULL || n + field->components > MOST) {
      continue;
    }
    for (int c = 0; c < field->components; ++c) {
      int a = 3 + n + c;
      void *memory = NULL;
      KP_TRY(cloud->is_on_device ? get_buffer(s, item, name, c, a, &buffers[n + c])
                                 : get_array(s, item, name, c, &s->gathered[a], &memory));
      values[n + c] = memory;
    }
    KP_TRY(add_field(batch, item->name, name, carried[f].unit, field->components,
                     s->mesh.n_vertices, out + n));
    n += field->components;
  }
  if (cloud->is_on_device) {
    KP_TRY(kp_device_surfacer_average(&s->device, &cloud->device, &s->device.mesh.vertices,
                                      s->mesh.n_vertices, n, buffers, out));
  } else {
    kp_surfacer_average(&s->surfacer, &cloud->host, s->mesh.vertices, s->mesh.n_vertices, n, values,
                        out);
  }
  if (find_carried(item, carried[0].name) != NULL) {
    stop_at_walls(&s->mesh, &world->env, item->spacing, out);
  }
  return KP_OK;
}

// The mesh around particles, made where they are.
static kp_result make_mesh(kp_surfaces *s, const kp_world *world, const kp_liquid_surface *item,
                           liquid_cloud *cloud) {
  kp_surfacing how = settings_of(s, world, item);
  cloud->is_on_device = is_on_device(world);
  KP_TRY(find_below(s, world, item));
  if (cloud->is_on_device) {
    KP_TRY(get_device_cloud(s, item, &cloud->device));
    KP_TRY(kp_device_surfacer_fill(&s->device, &how, &cloud->device));
    return kp_device_surfacer_march(&s->device);
  }
  KP_TRY(get_cloud(s, item, &cloud->host));
  KP_TRY(kp_surfacer_fill(&s->surfacer, &how, &cloud->host));
  return kp_marching_blocks(&s->surfacer.blocks, 0.0f, &s->mesh);
}

static kp_spraying spraying_of(const kp_surfaces *s, const kp_world *world,
                               const kp_liquid_surface *item) {
  return (kp_spraying){ .spacing = item->spacing,
                        .drops = s->how.spray_drops,
                        .volume = s->how.spray_volume,
                        .spread = s->how.spray_spread,
                        .gravity = kp_vec3_length(world->spec.simulation.gravity),
                        .box = { world->spec.domain.min, world->spec.domain.max } };
}

// Drops of what the surface has left out.
static kp_result add_spray(kp_surfaces *s, const kp_world *world, const kp_liquid_surface *item,
                           const liquid_cloud *cloud, kp_batch *batch) {
  kp_surfacing how = settings_of(s, world, item);
  if (!kp_surfacing_has_spray(&how)) {
    return KP_OK;
  }
  int64_t n = cloud->is_on_device ? cloud->device.n : cloud->host.n;
  size_t size = (size_t)n * sizeof *s->spray;
  if (s->spray == NULL || kp_alloc_size(s->spray) < size) {
    kp_free(s->spray);
    s->spray = kp_alloc(size + size / 2 + 1, KP_MEMORY_MESH);
  }
  kp_spray_part *parts = kp_alloc(item->n_parts * sizeof *parts, KP_MEMORY_MESH);
  kp_result result = s->spray != NULL && parts != NULL ? KP_OK : KP_ERROR_MEMORY;
  if (result == KP_OK && cloud->is_on_device) {
    result = kp_device_surfacer_spray(&s->device, n, s->spray);
  } else if (result == KP_OK) {
    kp_surfacer_spray(&s->surfacer, n, s->spray);
  }
  const float *share = s->spray;
  for (size_t p = 0; result == KP_OK && p < item->n_parts; ++p) {
    parts[p] = (kp_spray_part){ item[p].particles, share };
    share += item[p].particles->n;
  }
  if (result == KP_OK) {
    kp_spraying spraying = spraying_of(s, world, item);
    result = kp_spray_set_add(&spraying, item->name, parts, item->n_parts, batch);
  }
  kp_free(parts);
  return result;
}

// The depth of every particle, as a field of its set. Frames hold the places of particles, so those
// of a device are on the host anyway.
static kp_result add_depth(kp_surfaces *s, const kp_world *world, const kp_liquid_surface *item,
                           const liquid_cloud *cloud, kp_batch *batch) {
  kp_cloud all = cloud->host;
  if (cloud->is_on_device) {
    kp_surfacing how = settings_of(s, world, item);
    KP_TRY(get_cloud(s, item, &all));
    KP_TRY(kp_surfacer_fill(&s->surfacer, &how, &all));
  }
  KP_TRY(kp_surface_depth_fill(&s->depth, &s->surfacer));
  for (size_t p = 0; p < item->n_parts; ++p) {
    void *data;
    int64_t n = item[p].particles->n;
    kp_cloud part = { .n = n, .x = all.x, .y = all.y, .z = all.z };
    KP_TRY(kp_batch_room(batch, KP_ITEM_F32, (uint64_t)n, "m", &data, "set/%s/depth/0",
                         item[p].particles->name));
    kp_surface_depth_of(&s->depth, &part, data);
    all.x += n;
    all.y += n;
    all.z += n;
  }
  return KP_OK;
}

// The mesh of a level set, made where the grid is.
static kp_result make_grid_mesh(kp_surfaces *s, const kp_world *world,
                                const kp_liquid_surface *item) {
  kp_grid_surface *grid = &s->grid;
  KP_TRY(kp_grid_surface_take(grid, item->mac, item->distance));
  if (is_on_device(world)) {
    return kp_device_march_lattice(&s->device.mesh, &grid->lattice, &grid->values, 0.0f);
  }
  void *values;
  KP_TRY(kp_buffer_get(&grid->values, KP_SIDE_HOST, KP_ACCESS_READ, &values));
  grid->lattice.values = values;
  return kp_marching_cubes(&grid->lattice, 0.0f, &s->mesh);
}

// Where the vertices of the finished mesh are for kernels.
static kp_result get_points(kp_surfaces *s, const kp_world *world, kp_buffer **out) {
  *out = &s->device.mesh.vertices;
  if (is_on_device(world)) {
    return KP_OK;
  }
  size_t size = (size_t)s->mesh.n_vertices * sizeof *s->mesh.vertices;
  void *to;
  *out = &s->points;
  KP_TRY(kp_buffer_resize(&s->points, size));
  KP_TRY(kp_buffer_get(&s->points, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &to));
  if (size > 0) {
    memcpy(to, s->mesh.vertices, size);
  }
  return KP_OK;
}

static kp_result add_grid_surface(kp_surfaces *s, const kp_world *world,
                                  const kp_liquid_surface *item, kp_batch *batch) {
  float *v[3];
  kp_buffer *points;
  kp_aabb box = kp_grid_surface_box(item->mac);
  KP_TRY(make_grid_mesh(s, world, item));
  KP_TRY(finish_mesh(s, world, s->grid.lattice.spacing, &box));
  KP_TRY(add_mesh(s, item->name, batch));
  KP_TRY(add_field(batch, item->name, "velocity", "m/s", 3, s->mesh.n_vertices, v));
  KP_TRY(get_points(s, world, &points));
  return kp_grid_surface_velocity(&s->grid, item->mac, points, s->mesh.n_vertices, v);
}

static kp_result add_surface(kp_surfaces *s, kp_world *world, const kp_liquid_surface *item,
                             kp_batch *batch) {
  if (item->mac != NULL) {
    return add_grid_surface(s, world, item, batch);
  }
  liquid_cloud cloud;
  KP_TRY(make_mesh(s, world, item, &cloud));
  double voxel = s->how.voxel * item->spacing;
  kp_aabb box = { world->spec.domain.min, world->spec.domain.max };
  if (world->spec.domain.dimension == 2) {
    box.min.z = -0.5 * voxel;  // of the sheet
    box.max.z = 0.5 * voxel;
  }
  KP_TRY(finish_mesh(s, world, voxel, &box));
  KP_TRY(add_mesh(s, item->name, batch));
  KP_TRY(add_carried(s, world, item, &cloud, batch));
  KP_TRY(add_spray(s, world, item, &cloud, batch));
  return s->how.depth ? add_depth(s, world, item, &cloud, batch) : KP_OK;
}

kp_result kp_surfaces_add(kp_surfaces *s, kp_world *world, kp_batch *batch) {
  for (size_t i = 0; i < s->items.count; i += s->items.data[i].n_parts) {
    KP_TRY(add_surface(s, world, &s->items.data[i], batch));
  }
  return KP_OK;
}
