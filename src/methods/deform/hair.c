// Hair: curves on a surface, as nodes, springs and tetrahedra (Selle 2008, section 7.3; the rules
// of connection are listed in hair.md).
#include "methods/deform/hair.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "data/curve.h"
#include "geom/curve_file.h"
#include "geom/scalp.h"
#include "geom/strand.h"
#include "methods/deform/deform.h"
#include "methods/deform/hair_modulus.h"

#define RELAXATIONS 12    // of roots that push each other apart
#define MOST_GUIDES 3     // between which a hair is interpolated
#define LEAST_REST 1e-4   // m: springs are never taken shorter (restlength floor)
#define LED 3             // nodes of a hair that its root holds: place, direction and twist
#define SURFACE_EDGES 48  // of the mesh roots are spread on, across its box

// ---- one hair -----------------------------------------------------------------------------------

// A hair's samples and what its segments are.
typedef struct hair_line {
  int64_t segments;
  kp_vec3 *x;         // segments + 1
  bool *straight;     // segments: has an extra node
  kp_vec3 *extra;     // segments
  kp_index *main_at;  // segments + 1: nodes
  kp_index *extra_at;
} hair_line;

static void free_line(hair_line *line) {
  kp_free(line->x);
  kp_free(line->straight);
  kp_free(line->extra);
  kp_free(line->main_at);
  kp_free(line->extra_at);
}

static kp_result make_line(int64_t segments, hair_line *line) {
  size_t n = (size_t)segments + 1;
  *line = (hair_line){ .segments = segments };
  line->x = kp_alloc(n * sizeof *line->x, KP_MEMORY_WORLD);
  line->straight = kp_alloc(n * sizeof *line->straight, KP_MEMORY_WORLD);
  line->extra = kp_alloc(n * sizeof *line->extra, KP_MEMORY_WORLD);
  line->main_at = kp_alloc(n * sizeof *line->main_at, KP_MEMORY_WORLD);
  line->extra_at = kp_alloc(n * sizeof *line->extra_at, KP_MEMORY_WORLD);
  bool is_made = line->x != NULL && line->straight != NULL && line->extra != NULL &&
                 line->main_at != NULL && line->extra_at != NULL;
  if (!is_made) {
    free_line(line);
  }
  return is_made ? KP_OK : KP_ERROR_MEMORY;
}

// Nodes from root to tip, an extra one behind the start of its segment. The mass of a segment goes
// to its two or three nodes in equal parts.
static kp_result add_nodes(const kp_hair_def *def, kp_part *part, hair_line *line) {
  for (int64_t s = 0; s <= line->segments; ++s) {
    kp_index parent = s > 0 ? line->main_at[s - 1] : -1;
    KP_TRY(kp_part_add_node(part, line->x[s], 0.0, &line->main_at[s]));
    KP_TRY(kp_array_push(&part->parent, parent));
    if (s == line->segments || !line->straight[s]) {
      continue;
    }
    KP_TRY(kp_part_add_node(part, line->extra[s], 0.0, &line->extra_at[s]));
    KP_TRY(kp_array_push(&part->parent, line->main_at[s]));
    KP_TRY(kp_array_push(&part->extras, line->extra_at[s]));
  }
  for (int64_t s = 0; s < line->segments; ++s) {
    double mass = def->density * kp_vec3_length(kp_vec3_sub(line->x[s + 1], line->x[s]));
    double share = line->straight[s] ? mass / 3.0 : mass / 2.0;
    part->mass.data[line->main_at[s]] += share;
    part->mass.data[line->main_at[s + 1]] += share;
    if (line->straight[s]) {
      part->mass.data[line->extra_at[s]] += share;
    }
  }
  return KP_OK;
}

// A spring of stiffness k; 0: there is none.
static kp_result add_spring(const kp_hair_def *def, kp_part *part, kp_index a, kp_index b,
                            kp_spring_kind kind, double k) {
  if (!(k > 0.0)) {
    return KP_OK;
  }
  KP_TRY(kp_part_add_spring(part, a, b, kind, k, def->damping));
  kp_spring *spring = &part->springs.data[part->springs.count - 1];
  spring->rest = fmax(spring->rest, LEAST_REST);
  return KP_OK;
}

// A spring against twist with the tetrahedron it closes.
static kp_result add_twist(const kp_hair_def *def, kp_part *part, kp_index a, kp_index b,
                           const kp_index tet[4], double k) {
  double altitude = isnan(def->altitude_stiffness) ? KP_HAIR_ALTITUDE * k : def->altitude_stiffness;
  KP_TRY(add_spring(def, part, a, b, KP_SPRING_TORSION, k));
  if (!(altitude > 0.0)) {
    return KP_OK;
  }
  // four nodes of a plane curve have no volume to keep
  return kp_part_add_tet(part, tet, KP_TET_ALTITUDE, altitude, def->damping, true);
}

// What stands at the node r1 that two segments share, see kp_hair_joint_springs.
static kp_hair_joint joint_of(const hair_line *line, int64_t s) {
  const kp_vec3 *x = line->x, *e = line->extra;
  return (kp_hair_joint){ .r3 = s >= 2 ? &x[s - 2] : NULL,
                          .r2 = x[s - 1],
                          .r1 = x[s],
                          .r0 = x[s + 1],
                          .e1 = line->straight[s - 1] ? &e[s - 1] : NULL,
                          .e0 = line->straight[s] ? &e[s] : NULL,
                          .share = kp_hair_joint_share(s, line->segments) };
}

// Springs of segment s: it runs from r1 to r0, the one before it from r2, the one before that from
// r3; e0 and e1 are extra nodes of this segment and of the one before.
static kp_result connect_segment(const kp_hair_def *def, kp_part *part, const hair_line *line,
                                 int64_t s) {
  const kp_index *r = line->main_at, *e = line->extra_at;
  kp_index r0 = r[s + 1], r1 = r[s];
  bool split = line->straight[s];
  double edge = kp_hair_edge(def, kp_vec3_length(kp_vec3_sub(line->x[s + 1], line->x[s])));
  KP_TRY(add_spring(def, part, r1, r0, KP_SPRING_EDGE, edge));
  if (split) {
    KP_TRY(add_spring(def, part, r1, e[s], KP_SPRING_EDGE, edge));
    KP_TRY(add_spring(def, part, e[s], r0, KP_SPRING_EDGE, edge));
  }
  if (s == 0) {
    return KP_OK;
  }
  kp_index r2 = r[s - 1];
  bool split_before = line->straight[s - 1];
  kp_hair_joint joint = joint_of(line, s);
  kp_hair_springs k = kp_hair_joint_springs(def, &joint);
  if (split && split_before) {
    kp_index e0 = e[s], e1 = e[s - 1];
    KP_TRY(add_spring(def, part, e1, e0, KP_SPRING_BEND, k.bend));
    KP_TRY(add_twist(def, part, r2, e0, (kp_index[4]){ r2, e1, r1, e0 }, k.torsion[0]));
    return add_twist(def, part, e1, r0, (kp_index[4]){ e1, r1, e0, r0 }, k.torsion[1]);
  }
  KP_TRY(add_spring(def, part, r2, r0, KP_SPRING_BEND, k.bend));
  if (split_before) {
    kp_index e1 = e[s - 1];
    return add_twist(def, part, e1, r0, (kp_index[4]){ r2, e1, r1, r0 }, k.torsion[1]);
  }
  if (split) {
    KP_TRY(add_twist(def, part, r2, e[s], (kp_index[4]){ r2, r1, e[s], r0 }, k.torsion[0]));
  }
  bool whole = s >= 2 && (!split || !line->straight[s - 2]);
  return whole ? add_twist(def, part, r[s - 2], r0, (kp_index[4]){ r[s - 2], r2, r1, r0 },
                           k.torsion[2])
               : KP_OK;
}

static kp_result draw(kp_part *part, const hair_line *line) {
  kp_strand strand = { (kp_index)part->curve.count, (kp_index)(line->segments + 1) };
  for (int64_t s = 0; s <= line->segments; ++s) {
    KP_TRY(kp_array_push(&part->curve, line->main_at[s]));
    if (s < line->segments) {
      KP_TRY(kp_array_push(&part->segments, line->main_at[s]));
      KP_TRY(kp_array_push(&part->segments, line->main_at[s + 1]));
    }
  }
  return kp_array_push(&part->strands, strand);
}

// Where the next hair begins; behind the last one, the end.
static kp_result begin_hair(kp_part *part) {
  KP_TRY(kp_array_push(&part->hairs, (kp_index)part->x.count));
  KP_TRY(kp_array_push(&part->hair_springs, (kp_index)part->springs.count));
  return kp_array_push(&part->hair_tets, (kp_index)part->tets.count);
}

// line->x is filled.
static kp_result add_line(const kp_hair_def *def, kp_part *part, hair_line *line, double phase) {
  const double degree = KP_SAMPLER_TURN / 360.0;
  kp_index first = (kp_index)part->x.count;
  kp_strand_find_straight(line->x, line->segments, def->straight_deg * degree, line->straight);
  for (int64_t s = 0; s < line->segments && !def->twist; ++s) {
    line->straight[s] = false;
  }
  kp_strand_find_extras(line->x, line->segments, line->straight, phase, line->extra);
  KP_TRY(begin_hair(part));
  KP_TRY(add_nodes(def, part, line));
  for (int64_t s = 0; s < line->segments; ++s) {
    KP_TRY(connect_segment(def, part, line, s));
  }
  for (kp_index i = first; i < (kp_index)part->x.count && i < first + LED && def->rooted; ++i) {
    KP_TRY(kp_array_push(&part->roots, i));
    part->parent.data[i] = -1;
  }
  return draw(part, line);
}

kp_result kp_hair_add(const kp_hair_def *def, kp_part *part, const kp_vec3 *points, size_t n,
                      double phase) {
  hair_line line;
  KP_TRY(make_line(def->segments, &line));
  kp_result result = kp_strand_resample(points, n, def->segments, line.x);
  if (result == KP_OK) {
    result = add_line(def, part, &line, phase);
  }
  free_line(&line);
  return result;
}

// ---- where hairs grow ---------------------------------------------------------------------------

// The solid that carries the hair, where hair may grow on it, and what it may not grow into.
typedef struct hair_site {
  const kp_solid *solid;  // NULL: none
  const kp_scenery *scenery;
  kp_shape *scalp;  // in the world, at the start; NULL: all of the surface
  double fade;      // m
} hair_site;

// Of the nearest solid of the world: hair that started in another one than it grows on would be
// thrown out of it by the first step.
static double solids_distance(kp_vec3 p, kp_vec3 *normal, void *user) {
  const kp_scenery *scenery = user;
  double nearest = HUGE_VAL;
  for (size_t s = 0; s < scenery->n_solids; ++s) {
    const kp_solid *solid = &scenery->solids[s];
    kp_vec3 local = kp_solid_local(solid, p), out;
    double d = kp_shape_query(solid->shape, local, &out);
    if (d < nearest) {
      nearest = d;
      *normal = kp_quat_rotate(solid->turn, out);
    }
  }
  return nearest;
}

static double scalp_density(kp_vec3 p, kp_vec3 normal, void *user) {
  const hair_site *site = user;
  (void)normal;
  if (site->scalp == NULL) {
    return 1.0;
  }
  double inside = -kp_shape_distance(site->scalp, p);
  return site->fade > 0.0 ? fmin(1.0, fmax(0.0, inside / site->fade)) : (inside >= 0.0 ? 1.0 : 0.0);
}

// The surface of the solid as a mesh in the world.
static kp_result make_surface(const hair_site *site, kp_mesh_query **out) {
  kp_aabb box = kp_shape_bounds(site->solid->shape);
  double size = kp_vec3_length(kp_vec3_sub(box.max, box.min));
  kp_mesh mesh;
  KP_TRY(kp_shape_tessellate(site->solid->shape, size / SURFACE_EDGES, &mesh));
  kp_mat3 turn = kp_quat_to_mat3(site->solid->turn);
  kp_mesh_transform(&mesh, &turn, site->solid->origin);
  kp_result result = kp_mesh_query_create(&mesh, out);
  if (result != KP_OK) {
    kp_mesh_destroy(&mesh);
  }
  return result;
}

static kp_result seed_scalp(const kp_hair_def *def, hair_site *site, kp_scalp_roots *roots) {
  kp_mesh_query *surface;
  KP_TRY(make_surface(site, &surface));
  kp_scalp_def how = { .count = def->count,
                       .iterations = RELAXATIONS,
                       .seed = (uint64_t)def->seed,
                       .density = scalp_density,
                       .user = site };
  kp_result result = kp_scalp_seed(surface, &how, roots);
  kp_mesh_query_destroy(&surface);
  return result;
}

// Without a solid: a disc of roots.
static kp_result seed_disc(const kp_hair_def *def, kp_scalp_roots *roots) {
  kp_vec3 out = kp_vec3_normalize(def->direction);
  for (int64_t i = 0; i < def->count; ++i) {
    kp_sampler_key key = { (uint64_t)def->seed, KP_RNG_HAIR, (uint64_t)i, 5 };
    kp_scalp_root root = { .position = def->root, .normal = out };
    if (def->spread > 0.0) {
      root.position = kp_sampler_disc(key, def->root, out, def->spread, KP_DISC_UNIFORM);
    }
    KP_TRY(kp_array_push(roots, root));
  }
  return KP_OK;
}

static kp_result find_solid(const kp_hair_def *def, const kp_env *env, const kp_solid **out) {
  *out = NULL;
  for (size_t s = 0; s < env->scenery.n_solids && def->on[0] != '\0'; ++s) {
    const kp_solid *solid = &env->scenery.solids[s];
    if (strcmp(env->bodies->models.data[solid->body].name, def->on) == 0) {
      *out = solid;
      return KP_OK;
    }
  }
  return def->on[0] == '\0'
             ? KP_OK
             : kp_fail(KP_ERROR_SCENE, "on = \"%s\" is no collider and no body", def->on);
}

// ---- guides -------------------------------------------------------------------------------------

static kp_result read_guides(const kp_hair_def *def, const char *folder, kp_curves *guides) {
  if (def->guides[0] == '\0') {
    return KP_OK;
  }
  char path[1024 + KP_TEXT_SIZE];
  (void)snprintf(path, sizeof path, "%s%s%s", folder != NULL ? folder : "",
                 folder != NULL && folder[0] != '\0' ? "/" : "", def->guides);
  kp_result result = kp_curves_read(path, guides);
  return result == KP_OK || result == KP_ERROR_MEMORY ? result
                                                      : kp_fail_in(KP_ERROR_SCENE, "guides");
}

// The guides nearest to a root, weighted by their distance. Guides are few: all of them are looked
// at.
static int nearest_guides(const kp_curves *guides, kp_vec3 root, size_t *which, double *weights) {
  double distance[MOST_GUIDES];
  int n = 0;
  for (size_t g = 0; g + 1 < guides->first.count; ++g) {
    kp_vec3 start = guides->points.data[guides->first.data[g]];
    double d = kp_vec3_length(kp_vec3_sub(start, root));
    int at = n;
    while (at > 0 && distance[at - 1] > d) {
      --at;
    }
    if (at == MOST_GUIDES) {
      continue;
    }
    n = n < MOST_GUIDES ? n + 1 : n;
    for (int k = n - 1; k > at; --k) {
      distance[k] = distance[k - 1];
      which[k] = which[k - 1];
    }
    distance[at] = d;
    which[at] = g;
  }
  double sum = 0.0;
  for (int k = 0; k < n; ++k) {
    weights[k] = 1.0 / (distance[k] + 1e-6);
    sum += weights[k];
  }
  for (int k = 0; k < n; ++k) {
    weights[k] /= sum;
  }
  return n;
}

// A hair between its guides: `line` gets def->segments + 1 points.
static kp_result blend_guides(const kp_hair_def *def, const kp_curves *guides, kp_vec3 root,
                              kp_points *line) {
  size_t which[MOST_GUIDES], count = (size_t)def->segments + 1;
  double weights[MOST_GUIDES];
  int n = nearest_guides(guides, root, which, weights);
  KP_TRY(kp_array_resize(line, count * (MOST_GUIDES + 1)));
  const kp_vec3 *samples[MOST_GUIDES];
  for (int k = 0; k < n; ++k) {
    size_t first = guides->first.data[which[k]];
    kp_vec3 *sample = line->data + count * (size_t)(k + 1);
    KP_TRY(kp_strand_resample(guides->points.data + first, guides->first.data[which[k] + 1] - first,
                              def->segments, sample));
    samples[k] = sample;
  }
  kp_strand_blend(samples, weights, n, count, root, line->data);
  line->count = count;
  return KP_OK;
}

// ---- the part -----------------------------------------------------------------------------------

static kp_strand_style style_of(const kp_hair_def *def) {
  return (kp_strand_style){ .length = def->length,
                            .curl_radius = def->curl_radius,
                            .curl_pitch = def->curl_pitch,
                            .wave = def->wave,
                            .wave_length = def->wave_length,
                            .fall = def->fall,
                            .droop = def->droop,
                            .lift = def->lift,
                            .roughness = def->roughness,
                            .seed = (uint64_t)def->seed };
}

static double phase_of(const kp_hair_def *def, uint64_t id) {
  return KP_SAMPLER_TURN * kp_rng_uniform((uint64_t)def->seed, KP_RNG_HAIR, id, 40);
}

static kp_result grow_hairs(const kp_hair_def *def, const hair_site *site, const kp_curves *guides,
                            const kp_scalp_roots *roots, kp_part *part) {
  kp_strand_style style = style_of(def);
  kp_strand_obstacle obstacle = { site->solid != NULL ? solids_distance : NULL,
                                  (void *)site->scenery };
  kp_points line = { 0 };
  kp_result result = KP_OK;
  for (size_t i = 0; i < roots->count && result == KP_OK; ++i) {
    const kp_scalp_root *root = &roots->data[i];
    result = guides->first.count > 1
                 ? blend_guides(def, guides, root->position, &line)
                 : kp_strand_grow(&style, root->position, root->normal, i, &obstacle, &line);
    if (result == KP_OK) {
      result = kp_hair_add(def, part, line.data, line.count, phase_of(def, i));
    }
  }
  kp_array_free(&line);
  return result;
}

static kp_result add_guides(const kp_hair_def *def, const kp_curves *guides, kp_part *part) {
  for (size_t g = 0; g + 1 < guides->first.count; ++g) {
    size_t first = guides->first.data[g];
    KP_TRY(kp_hair_add(def, part, guides->points.data + first, guides->first.data[g + 1] - first,
                       phase_of(def, g)));
  }
  return KP_OK;
}

static kp_result check(const kp_hair_def *def) {
  if (def->count == 0 && def->guides[0] == '\0') {
    return kp_fail(KP_ERROR_SCENE, "it needs a count, or guides that are hairs themselves");
  }
  if (def->on[0] == '\0' && def->count > 0 && !(kp_vec3_length(def->direction) > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "direction has no length");
  }
  if (def->stiction > 0.0 && def->stiction_break <= def->stiction_distance) {
    return kp_fail(KP_ERROR_SCENE, "stiction_break must be larger than stiction_distance");
  }
  return KP_OK;
}

// A box without volume stands for no shape.
static bool is_said(const kp_shape_def *s) {
  return s->kind != KP_SHAPE_BOX || s->min.x != s->max.x || s->min.y != s->max.y ||
         s->min.z != s->max.z;
}

static kp_result make(const kp_hair_def *def, const kp_env *env, hair_site *site, kp_curves *guides,
                      kp_part *part) {
  KP_TRY(check(def));
  KP_TRY(find_solid(def, env, &site->solid));
  KP_TRY(read_guides(def, env->scenery.folder, guides));
  if (def->count == 0) {
    return add_guides(def, guides, part);
  }
  if (site->solid != NULL && is_said(&def->scalp)) {
    KP_TRY(kp_shape_build(&def->scalp, env->scenery.folder, &site->scalp));
  }
  kp_scalp_roots roots = { 0 };
  kp_result result = site->solid != NULL ? seed_scalp(def, site, &roots) : seed_disc(def, &roots);
  // hairs that touch lie near each other in memory then
  if (result == KP_OK) {
    result = kp_scalp_order(&roots);
  }
  if (result == KP_OK) {
    result = grow_hairs(def, site, guides, &roots, part);
  }
  kp_array_free(&roots);
  return result;
}

// Roots move with what they grow on.
static void throw_nodes(const kp_hair_def *def, kp_part *part) {
  for (size_t i = 0; i < part->x.count; ++i) {
    part->v.data[i] = kp_vec_lattice_at(&def->velocity_at, def->velocity, part->x.data[i]);
  }
  for (size_t r = 0; r < part->roots.count; ++r) {
    part->v.data[part->roots.data[r]] = kp_vec3_make(0.0, 0.0, 0.0);
  }
}

kp_result kp_hair_make(const kp_hair_def *def, const kp_env *env, kp_part *part) {
  kp_text_copy(part->name, sizeof part->name, def->name);
  part->scheme = (kp_solid_scheme)def->scheme;
  part->surface = (kp_part_surface){
    .thickness = def->thickness, .friction = def->friction, .self = def->self, .segments_only = true
  };
  part->viscosity = def->viscosity;
  part->radius = def->radius;
  part->color = def->color;
  part->hair = (kp_part_hair){ .body = -1,
                               .limit = (kp_hair_limit_kind)def->limit,
                               .stiction = def->stiction,
                               .stiction_distance = def->stiction_distance,
                               .stiction_break = def->stiction_break,
                               .stiction_damping = def->stiction_damping,
                               .stiction_links = def->stiction_links };
  hair_site site = { .scenery = &env->scenery, .fade = def->fade };
  kp_curves guides = { 0 };
  kp_result result = make(def, env, &site, &guides, part);
  if (result == KP_ERROR_SCENE) {
    result = kp_fail_in(result, "hair \"%s\"", def->name);
  }
  part->hair.body = site.solid != NULL ? site.solid->body : -1;
  if (result == KP_OK) {
    result = begin_hair(part);
    throw_nodes(def, part);
  }
  kp_shape_destroy(&site.scalp);
  kp_curves_free(&guides);
  return result;
}
