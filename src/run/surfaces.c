#include "run/surfaces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/mac_sample.h"
#include "par/parallel.h"

#define FINEST 0.35     // spacings between samples; with the largest reach this is what fits
#define FARTHEST 2.8    // spacings
#define SOLID_LAYERS 2  // cells that a surface is continued into solids
#define ROWS_PER_CHUNK 16

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_surface_out, member, kind, unit, lowest, highest, text)

static const kp_param surface_rows[] = {
  ROW(from, TEXT, "", 0, 0,
      "Liquid whose surface is put into frames as a mesh, \"all\" or \"none\"; when missing, the "
      "liquids of grids."),
  KP_PARAM_WORDS(kp_surface_out, field, kp_surface_field_names,
                 "What the surface of particles is taken from."),
  ROW(level, REAL, "", 0, 100, "Value of the field at the surface; 0: its own."),
  ROW(voxel, REAL, "spacings", FINEST, 4,
      "Distance between samples of the surface of particles; smaller is finer and slower."),
  ROW(reach, REAL, "spacings", 0, FARTHEST,
      "Particles so far away count; more is smoother. 0: as far as suits the field."),
  ROW(smooth, INT, "", -1, 20,
      "Passes of a filter over the surface of particles; -1: as many as suit the field."),
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
};

kp_surface_out kp_default_surface_out(void) {
  return (kp_surface_out){ .field = KP_SURFACE_ANISOTROPIC,
                           .voxel = 0.6,
                           .reach = 0.0,
                           .smooth = -1,
                           .mesh_passes = 3,
                           .mesh_radius = 1.75 };
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

static bool is_asked_for(const kp_surface_out *how, const kp_liquid_def *liquid) {
  if (how->from[0] == '\0') {
    return liquid->method > KP_LIQUID_MPS;
  }
  return strcmp(how->from, "all") == 0 || strcmp(how->from, liquid->name) == 0;
}

static kp_liquid_surface find_liquid(const kp_world *world, const kp_liquid_def *liquid) {
  kp_liquid_surface found = { .spacing = liquid->spacing, .n_parts = 1 };
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
  kp_surface_depth_init(&surfaces->depth, world->backend);
  for (int a = 0; a < KP_SURFACE_ARRAYS; ++a) {
    kp_buffer_init(&surfaces->joined[a], world->backend);
  }
  bool is_word =
      how->from[0] == '\0' || strcmp(how->from, "all") == 0 || strcmp(how->from, "none") == 0;
  bool is_found = is_word;
  for (size_t l = 0; l < world->spec.liquids.count; ++l) {
    const kp_liquid_def *liquid = &world->spec.liquids.data[l];
    is_found = is_found || strcmp(how->from, liquid->name) == 0;
    if (!is_asked_for(how, liquid)) {
      continue;
    }
    kp_liquid_surface found = find_liquid(world, liquid);
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
  kp_free(surfaces->values);
  kp_free(surfaces->other);
  surfaces->values = surfaces->other = NULL;
  kp_device_surfacer_free(&surfaces->device);
  for (int a = 0; a < KP_SURFACE_ARRAYS; ++a) {
    kp_free(surfaces->gathered[a]);
    surfaces->gathered[a] = NULL;
    kp_buffer_free(&surfaces->joined[a]);
  }
}

// ---- level sets

typedef struct window_copy {
  const kp_mac *mac;
  const kp_real *from;
  const kp_lattice *lattice;
  float *to;
  const uint8_t *flags;  // of cells
} window_copy;

static int32_t clamp_index(int32_t i, int32_t lo, int32_t hi) {
  return i < lo ? lo : i >= hi ? hi - 1 : i;
}

// The window and one layer around it, which repeats the nearest cell where the domain ends and is
// air where only the window does.
static void copy_window(int64_t begin, int64_t end, void *context) {
  const window_copy *w = context;
  const kp_mac *mac = w->mac;
  const int32_t *lo = mac->window_lo, *hi = mac->window_hi;
  for (int64_t row = begin; row < end; ++row) {
    int32_t j = lo[1] - 1 + (int32_t)(row % w->lattice->n[1]);
    int32_t k = lo[2] - 1 + (int32_t)(row / w->lattice->n[1]);
    float *to = w->to + row * w->lattice->row;
    for (int32_t n = 0; n < w->lattice->n[0]; ++n) {
      const int32_t at[3] = { lo[0] - 1 + n, j, k };
      int32_t cell[3];
      bool is_air = false;
      for (int c = 0; c < 3; ++c) {
        cell[c] = clamp_index(at[c], lo[c], hi[c]);
        bool ends_here = at[c] < lo[c] ? lo[c] == 0 : at[c] >= hi[c] && hi[c] == mac->view.n[c];
        is_air = is_air || (cell[c] != at[c] && !ends_here);
      }
      float value = (float)w->from[kp_mac_at(&mac->view, cell[0], cell[1], cell[2])];
      to[n] = is_air ? fmaxf(value, (float)mac->view.cell) : value;
    }
  }
}

// One layer of liquid into solids: there a level set is what the solid left of it, and its own
// surface around the solid would be seen through the water.
static void grow_rows(int64_t begin, int64_t end, void *context) {
  const window_copy *w = context;
  const kp_lattice *l = w->lattice;
  for (int64_t row = begin; row < end; ++row) {
    int64_t j = row % l->n[1], k = row / l->n[1];
    const float *from = l->values + row * l->row;
    float *to = w->to + row * l->row;
    memcpy(to, from, (size_t)l->n[0] * sizeof *to);
    if (j == 0 || k == 0 || j == l->n[1] - 1 || k == l->n[2] - 1) {
      continue;
    }
    int64_t cell = kp_mac_at(&w->mac->view, w->mac->window_lo[0] - 1, w->mac->window_lo[1] + j - 1,
                             w->mac->window_lo[2] + k - 1);
    const int64_t steps[3] = { 1, l->row, l->slab };
    for (int32_t i = 1; i + 1 < l->n[0]; ++i) {
      if ((w->flags[cell + i] & KP_CELL_KIND) == KP_CELL_SOLID) {
        for (int c = 0; c < 3; ++c) {
          float beside = fminf(from[i - steps[c]], from[i + steps[c]]);
          to[i] = fminf(to[i], beside);
        }
      }
    }
  }
}

static kp_result grow_into_solids(kp_surfaces *room, const kp_mac *mac) {
  kp_field *flags = kp_space_find(mac->space, "flags");
  kp_lattice *l = &room->lattice;
  if (flags == NULL || flags->type != KP_TYPE_U8) {
    return KP_OK;
  }
  void *memory;
  KP_TRY(kp_buffer_get(&flags->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
  for (int layer = 0; layer < SOLID_LAYERS; ++layer) {
    window_copy grow = { .mac = mac, .lattice = l, .to = room->other, .flags = memory };
    kp_parallel_for((int64_t)l->n[1] * l->n[2], ROWS_PER_CHUNK, grow_rows, &grow);
    room->other = room->values;
    room->values = grow.to;
    l->values = grow.to;
  }
  return KP_OK;
}

typedef struct box_clip {
  const kp_lattice *lattice;
  float *to;
  const kp_aabb *box;
} box_clip;

static double outside_by(double x, double lo, double hi) {
  return fmax(lo - x, x - hi);
}

static void clip_rows(int64_t begin, int64_t end, void *context) {
  const box_clip *f = context;
  const kp_lattice *l = f->lattice;
  for (int64_t row = begin; row < end; ++row) {
    int64_t j = row % l->n[1], k = row / l->n[1];
    double d = outside_by(l->origin.y + l->spacing * (double)j, f->box->min.y, f->box->max.y);
    d = fmax(d, outside_by(l->origin.z + l->spacing * (double)k, f->box->min.z, f->box->max.z));
    float *to = f->to + j * l->row + k * l->slab;
    for (int64_t i = 0; i < l->n[0]; ++i) {
      double x = l->origin.x + l->spacing * (double)i;
      float distance = (float)fmax(d, outside_by(x, f->box->min.x, f->box->max.x));
      to[i] = to[i] > distance ? to[i] : distance;
    }
  }
}

// A surface that goes on beyond the box ends at its faces: max(value, signed distance to the box).
static void clip_to_box(const kp_lattice *lattice, float *values, const kp_aabb *box) {
  box_clip f = { .lattice = lattice, .to = values, .box = box };
  kp_parallel_for((int64_t)lattice->n[1] * lattice->n[2], ROWS_PER_CHUNK, clip_rows, &f);
}

// The box of the grid: where the liquid ends.
static kp_aabb grid_box(const kp_mac_view *g) {
  kp_aabb box;
  box.min = kp_vec3_make(g->lo[0], g->lo[1], g->lo[2]);
  box.max = kp_vec3_madd(box.min, g->cell, kp_vec3_make(g->n[0], g->n[1], g->n[2]));
  return box;
}

// The distance at cell centres as a lattice.
static kp_result take_level_set(kp_surfaces *room, const kp_liquid_surface *item) {
  const kp_mac *mac = item->mac;
  const kp_mac_view *g = &mac->view;
  kp_lattice *l = &room->lattice;
  for (int c = 0; c < 3; ++c) {
    l->n[c] = mac->window_hi[c] - mac->window_lo[c] + 2;
  }
  l->row = l->n[0];
  l->slab = (int64_t)l->n[0] * l->n[1];
  l->spacing = g->cell;
  // centres lie half a cell inside, and there is a layer more
  l->origin = kp_vec3_make(g->lo[0] + (mac->window_lo[0] - 0.5) * g->cell,
                           g->lo[1] + (mac->window_lo[1] - 0.5) * g->cell,
                           g->lo[2] + (mac->window_lo[2] - 0.5) * g->cell);
  size_t size = (size_t)(l->slab * l->n[2]) * sizeof(float);
  float **blocks[2] = { &room->values, &room->other };
  for (int b = 0; b < 2; ++b) {
    if (*blocks[b] == NULL || kp_alloc_size(*blocks[b]) < size) {
      kp_free(*blocks[b]);
      *blocks[b] = kp_alloc(size, KP_MEMORY_MESH);
    }
  }
  if (room->values == NULL || room->other == NULL) {
    return KP_ERROR_MEMORY;
  }
  l->values = room->values;
  window_copy copy = { .mac = mac, .lattice = l, .to = room->values };
  void *memory;
  KP_TRY(kp_buffer_get(&item->distance->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
  copy.from = memory;
  kp_parallel_for((int64_t)l->n[1] * l->n[2], ROWS_PER_CHUNK, copy_window, &copy);
  KP_TRY(grow_into_solids(room, mac));
  kp_aabb box = grid_box(g);
  clip_to_box(l, room->values, &box);
  return KP_OK;
}

typedef struct grid_velocity {
  const kp_mac_view *grid;
  kp_mac_velocity faces;
  const kp_vec3 *points;
  float *const *out;
} grid_velocity;

static void sample_grid(int64_t begin, int64_t end, void *context) {
  const grid_velocity *w = context;
  for (int64_t i = begin; i < end; ++i) {
    kp_real v[3];
    kp_vec3 p = w->points[i];
    kp_mac_velocity_at(w->grid, w->faces, p.x, p.y, p.z, v);
    for (int c = 0; c < 3; ++c) {
      w->out[c][i] = (float)v[c];
    }
  }
}

static kp_result take_grid_velocity(const kp_surfaces *s, const kp_liquid_surface *item,
                                    float *const out[3]) {
  kp_field *velocity = kp_space_find(item->mac->space, "velocity");
  if (velocity == NULL || velocity->components != 3) {
    for (int c = 0; c < 3; ++c) {
      memset(out[c], 0, (size_t)s->mesh.n_vertices * sizeof *out[c]);
    }
    return KP_OK;
  }
  void *faces[3];
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_get(&velocity->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, &faces[c]));
  }
  grid_velocity work = { .grid = &item->mac->view,
                         .faces = { faces[0], faces[1], faces[2] },
                         .points = s->mesh.vertices,
                         .out = out };
  kp_parallel_for(s->mesh.n_vertices, 1024, sample_grid, &work);
  return KP_OK;
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

static kp_surfacing settings_of(const kp_surfaces *s, const kp_world *world,
                                const kp_liquid_surface *item) {
  const kp_domain_def *domain = &world->spec.domain;
  return (kp_surfacing){ .spacing = item->spacing,
                         .voxel = s->how.voxel * item->spacing,
                         .reach = s->how.reach,
                         .smooth = (int)s->how.smooth,
                         .dimension = (int)domain->dimension,
                         .box = { domain->min, domain->max },
                         .field = (kp_surface_kind)s->how.field,
                         .level = s->how.level };
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
  *out = (kp_device_cloud){ count_particles(item) + s->below.n, x[0], x[1], x[2] };
  return KP_OK;
}

// ---- meshes

static kp_result smooth_mesh(kp_surfaces *s, double voxel, const kp_aabb *box) {
  kp_mesh_smoother_def how = { .kind = (kp_mesh_smoothing)s->how.mesh_smoothing,
                               .passes = (int)s->how.mesh_passes,
                               .radius = s->how.mesh_radius * voxel,
                               .box = *box,
                               .near = 0.01 * voxel };
  return kp_mesh_smoother_run(&s->smoother, &how, &s->mesh);
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

// What particles carry that a surface shows as well: the mean around each vertex.
static const struct {
  const char *name;
  const char *unit;
} carried[] = {
  { "velocity", "m/s" }, { "concentration", "" }, { "color", "" }, { "temperature", "K" }
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

static kp_result add_carried(kp_surfaces *s, const kp_liquid_surface *item,
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
    return kp_device_surfacer_average(&s->device, &cloud->device, s->mesh.vertices,
                                      s->mesh.n_vertices, n, buffers, out);
  }
  kp_surfacer_average(&s->surfacer, &cloud->host, s->mesh.vertices, s->mesh.n_vertices, n, values,
                      out);
  return KP_OK;
}

// The mesh around particles, made where they are.
static kp_result make_mesh(kp_surfaces *s, const kp_world *world, const kp_liquid_surface *item,
                           liquid_cloud *cloud) {
  kp_surfacing how = settings_of(s, world, item);
  cloud->is_on_device = !world->backend->vt->shares_host_memory;
  KP_TRY(find_below(s, world, item));
  if (cloud->is_on_device) {
    KP_TRY(get_device_cloud(s, item, &cloud->device));
    KP_TRY(kp_device_surfacer_fill(&s->device, &how, &cloud->device));
    KP_TRY(kp_device_surfacer_march(&s->device));
    return kp_device_mesh_fetch(&s->device.mesh, &s->mesh);
  }
  KP_TRY(get_cloud(s, item, &cloud->host));
  KP_TRY(kp_surfacer_fill(&s->surfacer, &how, &cloud->host));
  return kp_marching_blocks(&s->surfacer.blocks, 0.0f, &s->mesh);
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

static kp_result add_surface(kp_surfaces *s, kp_world *world, const kp_liquid_surface *item,
                             kp_batch *batch) {
  if (item->mac != NULL) {
    float *v[3];
    KP_TRY(take_level_set(s, item));
    KP_TRY(kp_marching_cubes(&s->lattice, 0.0f, &s->mesh));
    kp_aabb box = grid_box(&item->mac->view);
    KP_TRY(smooth_mesh(s, s->lattice.spacing, &box));
    KP_TRY(add_mesh(s, item->name, batch));
    KP_TRY(add_field(batch, item->name, "velocity", "m/s", 3, s->mesh.n_vertices, v));
    return take_grid_velocity(s, item, v);
  }
  liquid_cloud cloud;
  KP_TRY(make_mesh(s, world, item, &cloud));
  double voxel = s->how.voxel * item->spacing;
  kp_aabb box = { world->spec.domain.min, world->spec.domain.max };
  if (world->spec.domain.dimension == 2) {
    box.min.z = -0.5 * voxel;  // of the sheet
    box.max.z = 0.5 * voxel;
  }
  KP_TRY(smooth_mesh(s, voxel, &box));
  KP_TRY(add_mesh(s, item->name, batch));
  KP_TRY(add_carried(s, item, &cloud, batch));
  return s->how.depth ? add_depth(s, world, item, &cloud, batch) : KP_OK;
}

kp_result kp_surfaces_add(kp_surfaces *s, kp_world *world, kp_batch *batch) {
  for (size_t i = 0; i < s->items.count; i += s->items.data[i].n_parts) {
    KP_TRY(add_surface(s, world, &s->items.data[i], batch));
  }
  return KP_OK;
}
