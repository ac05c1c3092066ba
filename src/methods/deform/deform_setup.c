// Joining parts: nodes, elements and lists of all of them in one set of arrays, ordered by scheme.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "methods/deform/deform_sweep.h"
#include "methods/deform/fabric.h"

kp_result kp_vector3_resize(kp_vector3 *v, kp_type type, int64_t n) {
  for (int c = 0; c < 3; ++c) {
    v->c[c].type = (uint8_t)type;
    KP_TRY(kp_buffer_resize(&v->c[c], kp_type_size(type) * (size_t)n));
  }
  return KP_OK;
}

void kp_vector3_free(kp_vector3 *v) {
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&v->c[c]);
  }
}

// ---- life of the arrays -------------------------------------------------------------------------

// Every buffer of the object, for init and free alike.
static void each_buffer(kp_deform *d, void (*each)(kp_buffer *buffer, kp_backend *backend),
                        kp_backend *backend) {
  kp_vector3 *vectors[] = { &d->normal,
                            &d->outward,
                            &d->wind,
                            &d->old,
                            &d->middle,
                            &d->moving,
                            &d->springs.direction,
                            &d->springs.root,
                            &d->tets.force,
                            &d->tets.diagonal,
                            &d->meet.clean,
                            &d->meet.clean_velocity,
                            &d->meet.clean_lag };
  kp_buffer *singles[] = { &d->mass,
                           &d->hold,
                           &d->slow,
                           &d->drag_area,
                           &d->drag,
                           &d->springs.a,
                           &d->springs.b,
                           &d->springs.rest,
                           &d->springs.stiffness,
                           &d->springs.compression,
                           &d->springs.damping,
                           &d->springs.start,
                           &d->springs.refs,
                           &d->springs.slice,
                           &d->springs.other,
                           &d->springs.entry,
                           &d->springs.force,
                           &d->springs.rate,
                           &d->springs.side,
                           &d->springs.turning,
                           &d->springs.tension,
                           &d->tets.start,
                           &d->tets.refs,
                           &d->tets.axes.corner,
                           &d->tets.axes.tet,
                           &d->tets.axes.kind,
                           &d->tets.axes.rest,
                           &d->tets.axes.stiffness,
                           &d->tets.axes.damping,
                           &d->tets.axes.slope,
                           &d->tets.axes.force,
                           &d->tets.axes.rate,
                           &d->tets.solids.corner,
                           &d->tets.solids.tet,
                           &d->tets.solids.rest,
                           &d->tets.solids.state,
                           &d->tets.membranes.corner,
                           &d->tets.membranes.tet,
                           &d->tets.membranes.rest,
                           &d->tets.membranes.state,
                           &d->tets.solids.inverse,
                           &d->tets.solids.edge,
                           &d->tets.solids.edge_start,
                           &d->tets.solids.edge_element,
                           &d->tets.solids.gradient,
                           &d->tets.solids.stress,
                           &d->tets.block,
                           &d->tets.pull,
                           &d->tets.lanes,
                           &d->triangle[0],
                           &d->triangle[1],
                           &d->triangle[2],
                           &d->triangle_start,
                           &d->triangle_refs,
                           &d->pin_list,
                           &d->meet.lightness,
                           &d->meet.give,
                           &d->right,
                           &d->change,
                           &d->inverse,
                           &d->steps.stiff,
                           &d->steps.damp,
                           &d->steps.row_stiff,
                           &d->steps.row_damp };
  for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; ++v) {
    for (int c = 0; c < 3; ++c) {
      each(&vectors[v]->c[c], backend);
    }
  }
  for (size_t s = 0; s < sizeof singles / sizeof singles[0]; ++s) {
    each(singles[s], backend);
  }
  for (int g = 0; g < KP_SCHEME_COUNT; ++g) {
    each(&d->springs.segments[g], backend);
  }
}

void kp_deform_free_model(kp_deform *deform) {
  kp_fabric_free(deform);
  each_buffer(deform, kp_buffer_drop, NULL);
  kp_hair_free(deform);
  kp_contact_destroy(&deform->meet.contact);
  kp_array_free(&deform->springs.kinds);
  kp_array_free(&deform->meet.linked);
  kp_deform_free_guests(&deform->meet.guests);
  kp_array_free(&deform->meet.clean_frames);
  kp_array_free(&deform->meet.clean_advance);
  kp_pcg_free(&deform->pcg);
  for (int g = 0; g < KP_SCHEME_COUNT; ++g) {
    kp_sweep_destroy(&deform->sweeps[g]);
  }
  kp_array_free(&deform->parts);
  kp_array_free(&deform->groups);
  kp_array_free(&deform->pins);
  kp_array_free(&deform->triangles);
  kp_array_free(&deform->segments);
  kp_array_free(&deform->tets.model);
  kp_set_destroy(&deform->set);
}

// ---- order --------------------------------------------------------------------------------------

static kp_range span(int64_t first, int64_t n) {
  return (kp_range){ first, n };
}

static void widen(kp_range *range, kp_range part) {
  range->first = range->n == 0 ? part.first : range->first;
  range->n += part.n;
}

// The parts' places and their groups, scheme by scheme.
static kp_result place_parts(kp_deform *d, kp_part *const *parts, size_t n_parts,
                             const kp_part **order) {
  int64_t node = 0, spring = 0, tet = 0, triangle = 0, segment = 0;
  size_t k = 0;
  for (int scheme = 0; scheme < KP_SCHEME_COUNT; ++scheme) {
    kp_deform_group group = { .scheme = (kp_solid_scheme)scheme, .limit = HUGE_VAL };
    for (size_t p = 0; p < n_parts; ++p) {
      const kp_part *part = parts[p];
      if ((int)part->scheme != scheme) {
        continue;
      }
      kp_deform_part place = {
        .scheme = part->scheme,
        .nodes = span(node, (int64_t)part->x.count),
        .springs = span(spring, (int64_t)part->springs.count),
        .tets = span(tet, (int64_t)part->tets.count),
        .triangles = span(triangle, (int64_t)part->triangles.count),
        .segments = span(segment, (int64_t)part->segments.count / 2),
        .surface = part->surface,
        .strength = part->strength,
        .strength_now = 1.0,
        .particle_radius = part->particle_radius,
      };
      kp_text_copy(place.name, sizeof place.name, part->name);
      node += place.nodes.n;
      spring += place.springs.n;
      tet += place.tets.n;
      triangle += place.triangles.n;
      segment += place.segments.n;
      widen(&group.nodes, place.nodes);
      widen(&group.springs, place.springs);
      widen(&group.tets, place.tets);
      order[k++] = part;
      KP_TRY(kp_array_push(&d->parts, place));
    }
    if (group.nodes.n > 0) {
      KP_TRY(kp_array_push(&d->groups, group));
    }
  }
  d->springs.n = spring;
  d->tets.n = tet;
  d->n_triangles = triangle;
  d->n_segments = segment;
  return KP_OK;
}

// ---- arrays -------------------------------------------------------------------------------------

static kp_result zeros(kp_buffer *buffer, kp_type type, int64_t n) {
  void *data;
  KP_TRY(kp_buffer_room(buffer, type, n, &data));
  memset(data, 0, kp_type_size(type) * (size_t)n);
  return KP_OK;
}

static kp_result zero_vectors(kp_vector3 *v, kp_type type, int64_t n) {
  for (int c = 0; c < 3; ++c) {
    KP_TRY(zeros(&v->c[c], type, n));
  }
  return KP_OK;
}

static kp_result fill_nodes(kp_deform *d, const kp_part **order) {
  int64_t n = d->set->space->n;
  kp_real *mass, *slow, *area;
  KP_TRY(kp_buffer_room(&d->mass, KP_TYPE_REAL, n, &mass));
  KP_TRY(kp_buffer_room(&d->slow, KP_TYPE_REAL, n, &slow));
  KP_TRY(kp_buffer_room(&d->drag_area, KP_TYPE_REAL, n, &area));
  for (size_t p = 0; p < d->parts.count; ++p) {
    int64_t first = d->parts.data[p].nodes.first;
    for (size_t i = 0; i < order[p]->x.count; ++i) {
      double m = order[p]->mass.data[i];
      mass[first + (int64_t)i] = (kp_real)m;
      slow[first + (int64_t)i] = (kp_real)(m * order[p]->viscosity);
      area[first + (int64_t)i] = (kp_real)order[p]->drag;
    }
    d->has_drag = d->has_drag || order[p]->drag > 0.0;
  }
  KP_TRY(zeros(&d->hold, KP_TYPE_U8, n));
  KP_TRY(zeros(&d->drag, KP_TYPE_REAL, n));
  kp_vector3 *vectors[] = { &d->normal, &d->outward, &d->wind, &d->moving };
  for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; ++v) {
    KP_TRY(zero_vectors(vectors[v], KP_TYPE_REAL, n));
  }
  KP_TRY(zero_vectors(&d->old, KP_TYPE_POS, n));
  KP_TRY(zero_vectors(&d->middle, KP_TYPE_POS, n));
  KP_TRY(zeros(&d->right, KP_TYPE_REAL, 3 * n));
  KP_TRY(zeros(&d->change, KP_TYPE_REAL, 3 * n));
  return zeros(&d->inverse, KP_TYPE_REAL, 3 * n);
}

// For every node the list of references to it: `nodes` holds per element and corner the node.
static kp_result make_lists(int64_t n_nodes, int64_t n_refs, const int32_t *nodes, kp_buffer *start,
                            kp_buffer *refs) {
  int32_t *s, *r;
  KP_TRY(kp_buffer_room(start, KP_TYPE_I32, n_nodes + 1, &s));
  KP_TRY(kp_buffer_room(refs, KP_TYPE_I32, n_refs, &r));
  memset(s, 0, sizeof *s * (size_t)(n_nodes + 1));
  for (int64_t k = 0; k < n_refs; ++k) {
    ++s[nodes[k] + 1];
  }
  for (int64_t i = 0; i < n_nodes; ++i) {
    s[i + 1] += s[i];
  }
  for (int64_t k = 0; k < n_refs; ++k) {
    r[s[nodes[k]]++] = (int32_t)k;
  }
  for (int64_t i = n_nodes; i > 0; --i) {
    s[i] = s[i - 1];
  }
  s[0] = 0;
  return KP_OK;
}

static kp_result fill_springs(kp_deform *d, const kp_part **order) {
  kp_deform_springs *s = &d->springs;
  int32_t *a, *b;
  kp_real *rest, *stiffness, *compression, *damping;
  KP_TRY(kp_buffer_room(&s->a, KP_TYPE_I32, s->n, &a));
  KP_TRY(kp_buffer_room(&s->b, KP_TYPE_I32, s->n, &b));
  KP_TRY(kp_buffer_room(&s->rest, KP_TYPE_REAL, s->n, &rest));
  KP_TRY(kp_buffer_room(&s->stiffness, KP_TYPE_REAL, s->n, &stiffness));
  KP_TRY(kp_buffer_room(&s->compression, KP_TYPE_REAL, s->n, &compression));
  KP_TRY(kp_buffer_room(&s->damping, KP_TYPE_REAL, s->n, &damping));
  KP_TRY(kp_array_resize(&s->kinds, (size_t)s->n));
  KP_ARRAY(int32_t) ends = { 0 };
  KP_TRY(kp_array_reserve(&ends, (size_t)(2 * s->n)));
  int64_t k = 0;
  for (size_t p = 0; p < d->parts.count; ++p) {
    int32_t first = (int32_t)d->parts.data[p].nodes.first;
    for (size_t i = 0; i < order[p]->springs.count; ++i, ++k) {
      const kp_spring *spring = &order[p]->springs.data[i];
      a[k] = first + (int32_t)spring->a;
      b[k] = first + (int32_t)spring->b;
      rest[k] = (kp_real)spring->rest;
      stiffness[k] = (kp_real)spring->stiffness;
      compression[k] = (kp_real)spring->compression;
      damping[k] = (kp_real)spring->damping;
      s->kinds.data[k] = (uint8_t)spring->kind;
      ends.data[2 * k] = a[k];
      ends.data[2 * k + 1] = b[k];
    }
  }
  kp_result result = make_lists(d->set->space->n, 2 * s->n, ends.data, &s->start, &s->refs);
  kp_array_free(&ends);
  KP_TRY(result);
  KP_TRY(zero_vectors(&s->direction, KP_TYPE_REAL, s->n));
  KP_TRY(zeros(&s->force, KP_TYPE_REAL, s->n));
  KP_TRY(zeros(&s->rate, KP_TYPE_REAL, s->n));
  KP_TRY(zeros(&s->side, KP_TYPE_REAL, s->n));
  return zeros(&s->tension, KP_TYPE_REAL, s->n);
}

// ---- rows of the matrix -------------------------------------------------------------------------

static int64_t slice_of(int64_t node) {
  return node / DEFORM_SLICE;
}

// The slices a group has nodes in: its entries and the runs of nodes to go through.
static kp_result cut_group(kp_deform *d, kp_deform_group *group, const int32_t *start) {
  int64_t first = group->nodes.first, end = first + group->nodes.n;
  int64_t low = slice_of(first), high = slice_of(end - 1);
  group->entries = span(start[low], start[high + 1] - start[low]);
  group->n_segments = high - low + 1;
  kp_row_segment *runs;
  kp_buffer *segments = &d->springs.segments[group->scheme];
  KP_TRY(kp_buffer_resize(segments, sizeof *runs * (size_t)group->n_segments));
  KP_TRY(kp_buffer_get(segments, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&runs));
  for (int64_t s = low; s <= high; ++s) {
    int64_t i0 = s * DEFORM_SLICE, i1 = i0 + DEFORM_SLICE;
    runs[s - low] = (kp_row_segment){ .j = (int32_t)s,
                                      .i0 = (int32_t)(i0 > first ? i0 : first),
                                      .i1 = (int32_t)(i1 < end ? i1 : end) };
  }
  return KP_OK;
}

static kp_result make_rows(kp_deform *d) {
  kp_deform_springs *s = &d->springs;
  int64_t n = d->set->space->n;
  int64_t n_slices = slice_of(n - 1) + 1;
  const int32_t *list = kp_buffer_host(&s->start, KP_ACCESS_READ);
  const int32_t *refs = kp_buffer_host(&s->refs, KP_ACCESS_READ);
  const int32_t *a = kp_buffer_host(&s->a, KP_ACCESS_READ);
  const int32_t *b = kp_buffer_host(&s->b, KP_ACCESS_READ);
  int32_t *start, *other, *entry;
  KP_TRY(kp_buffer_room(&s->slice, KP_TYPE_I32, n_slices + 1, &start));
  start[0] = 0;
  for (int64_t k = 0; k < n_slices; ++k) {
    int32_t width = 0;
    for (int64_t i = k * DEFORM_SLICE; i < (k + 1) * DEFORM_SLICE && i < n; ++i) {
      int32_t length = list[i + 1] - list[i];
      width = length > width ? length : width;
    }
    start[k + 1] = start[k] + width * DEFORM_SLICE;
  }
  int64_t n_entries = start[n_slices];
  KP_TRY(kp_buffer_room(&s->other, KP_TYPE_I32, n_entries, &other));
  KP_TRY(kp_buffer_room(&s->entry, KP_TYPE_I32, n_entries, &entry));
  for (int64_t k = 0; k < n_slices; ++k) {
    for (int64_t e = start[k]; e < start[k + 1]; ++e) {
      int64_t lane = (e - start[k]) % DEFORM_SLICE;
      int64_t i = k * DEFORM_SLICE + lane < n ? k * DEFORM_SLICE + lane : n - 1;
      int64_t r = list[i] + (e - start[k]) / DEFORM_SLICE;
      bool is_real = k * DEFORM_SLICE + lane < n && r < list[i + 1];
      entry[e] = is_real ? refs[r] >> 1 : -1;
      other[e] = !is_real ? (int32_t)i : (refs[r] & 1 ? a[refs[r] >> 1] : b[refs[r] >> 1]);
    }
  }
  KP_TRY(zero_vectors(&s->root, KP_TYPE_REAL, n_entries));
  KP_TRY(zeros(&s->turning, KP_TYPE_REAL, n_entries));
  for (size_t g = 0; g < d->groups.count; ++g) {
    KP_TRY(cut_group(d, &d->groups.data[g], start));
  }
  return KP_OK;
}

static kp_result fill_tets(kp_deform *d, const kp_part **order) {
  kp_deform_tets *t = &d->tets;
  KP_ARRAY(int32_t) corners = { 0 };
  KP_TRY(kp_array_reserve(&t->model, (size_t)t->n));
  KP_TRY(kp_array_reserve(&corners, (size_t)(4 * t->n)));
  for (size_t p = 0; p < d->parts.count; ++p) {
    kp_index first = (kp_index)d->parts.data[p].nodes.first;
    for (size_t i = 0; i < order[p]->tets.count; ++i) {
      kp_tet tet = order[p]->tets.data[i];
      for (int c = 0; c < 4; ++c) {
        tet.v[c] += first;
        corners.data[corners.count++] = (int32_t)tet.v[c];
      }
      t->model.data[t->model.count++] = tet;
    }
  }
  kp_result result = make_lists(d->set->space->n, 4 * t->n, corners.data, &t->start, &t->refs);
  kp_array_free(&corners);
  KP_TRY(result);
  KP_TRY(zero_vectors(&t->force, KP_TYPE_REAL, 4 * t->n));
  KP_TRY(zero_vectors(&t->diagonal, KP_TYPE_REAL, 4 * t->n));
  return kp_deform_fill_tets(d, order);
}

static kp_result fill_surface(kp_deform *d, const kp_part **order) {
  int32_t *v[3];
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_room(&d->triangle[c], KP_TYPE_I32, d->n_triangles, &v[c]));
  }
  KP_ARRAY(int32_t) corners = { 0 };
  KP_TRY(kp_array_reserve(&d->triangles, (size_t)d->n_triangles));
  KP_TRY(kp_array_reserve(&d->segments, (size_t)(2 * d->n_segments)));
  KP_TRY(kp_array_reserve(&corners, (size_t)(3 * d->n_triangles)));
  int64_t k = 0;
  for (size_t p = 0; p < d->parts.count; ++p) {
    kp_index first = (kp_index)d->parts.data[p].nodes.first;
    for (size_t i = 0; i < order[p]->triangles.count; ++i, ++k) {
      kp_triangle t = order[p]->triangles.data[i];
      for (int c = 0; c < 3; ++c) {
        t.v[c] += first;
        v[c][k] = (int32_t)t.v[c];
        corners.data[corners.count++] = (int32_t)t.v[c];
      }
      d->triangles.data[d->triangles.count++] = t;
    }
    for (size_t i = 0; i < order[p]->segments.count; ++i) {
      d->segments.data[d->segments.count++] = first + order[p]->segments.data[i];
    }
  }
  kp_result result = make_lists(d->set->space->n, 3 * d->n_triangles, corners.data,
                                &d->triangle_start, &d->triangle_refs);
  kp_array_free(&corners);
  KP_TRY(result);
  // lists of triangles, not of corners
  int32_t *refs;
  KP_TRY(kp_buffer_get(&d->triangle_refs, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&refs));
  for (int64_t r = 0; r < 3 * d->n_triangles; ++r) {
    refs[r] /= 3;
  }
  return KP_OK;
}

void kp_deform_spring_limits(const kp_part *part, double *stiff, double *damp) {
  for (size_t s = 0; s < part->springs.count; ++s) {
    const kp_spring *e = &part->springs.data[s];
    double k = fmax(e->stiffness, e->compression) / e->rest;
    stiff[e->a] += k;
    stiff[e->b] += k;
    damp[e->a] += e->damping;
    damp[e->b] += e->damping;
  }
}

// A sheet bends thousands of times slower than its shortest waves swing, and what rounding leaves
// of their forces is soon as much as those of bending. So its masses count beside the stiffness of
// most nodes, not of the softest one, and are sixteen times what is lost: with four times a clamped
// strip of cells of 2 mm swings for ever.
#define SHEET_SHARE 0.25

static bool is_sheet(const kp_part *part) {
  for (size_t t = 0; t < part->tets.count; ++t) {
    if (part->tets.data[t].kind == KP_TET_MEMBRANE) {
      return true;
    }
  }
  return false;
}

// Longest stable step of explicit springs at rest: omega^2 <= 2 sum k/(l0 m) at any node
// (Gershgorin), and damping b: dt <= m / sum b. `stiff` and `damp` are a number per node, zero.
static void find_limit(kp_deform *d, size_t p, const kp_part *part, double *stiff, double *damp) {
  kp_deform_spring_limits(part, stiff, damp);
  kp_deform_tet_limits(part, true, stiff, damp);
  double limit = HUGE_VAL, period = 0.0, most = part->viscosity;
  double mass = 0.0, stiffness = 0.0;
  for (size_t i = 0; i < part->x.count; ++i) {
    most = fmax(most, damp[i]);
    double m = part->mass.data[i];
    mass += m;
    stiffness += stiff[i];
    double omega = sqrt(2.0 * stiff[i] / m);
    period = fmax(period, omega > 0.0 ? 1.0 / omega : HUGE_VAL);
    // damped oscillator: dt < 2 (sqrt(1 + z^2) - z)/omega with z = c/(2 m omega)
    double z = omega > 0.0 ? damp[i] / (m * omega) : 0.0;
    limit = omega > 0.0 ? fmin(limit, 2.0 * (sqrt(1.0 + z * z) - z) / omega) : limit;
  }
  d->parts.data[p].period = is_sheet(part) ? SHEET_SHARE * sqrt(mass / (2.0 * stiffness)) : period;
  d->parts.data[p].limit = limit;
  d->parts.data[p].is_damped = most > 0.0;
  for (size_t g = 0; g < d->groups.count; ++g) {
    kp_deform_group *group = &d->groups.data[g];
    group->limit = group->scheme == part->scheme ? fmin(group->limit, limit) : group->limit;
  }
}

static kp_result find_limits(kp_deform *d, const kp_part **order) {
  for (size_t p = 0; p < d->parts.count; ++p) {
    size_t n = order[p]->x.count;
    double *sums = kp_alloc_zero(2 * n * sizeof *sums, KP_MEMORY_WORLD);
    if (sums == NULL) {
      return KP_ERROR_MEMORY;
    }
    find_limit(d, p, order[p], sums, sums + n);
    kp_free(sums);
  }
  return kp_deform_fill_steps(d, order);
}

static kp_result fill(kp_deform *d, const kp_part **order) {
  for (size_t p = 0; p < d->parts.count; ++p) {
    KP_TRY(kp_set_add(d->set, (int64_t)order[p]->x.count, order[p]->x.data, order[p]->v.data));
  }
  KP_TRY(fill_nodes(d, order));
  KP_TRY(fill_springs(d, order));
  KP_TRY(make_rows(d));
  KP_TRY(fill_tets(d, order));
  KP_TRY(fill_surface(d, order));
  return find_limits(d, order);
}

// Guesses are state: a resumed run iterates from where the first one did.
static kp_result add_answers(kp_deform *d, kp_part *const *parts, size_t n_parts) {
  static const char *const names[2] = { "change_first", "change_last" };
  bool is_implicit = false;
  for (size_t p = 0; p < n_parts; ++p) {
    is_implicit = is_implicit || parts[p]->scheme == KP_SCHEME_NEWMARK ||
                  parts[p]->scheme == KP_SCHEME_BACKWARD_EULER;
  }
  for (int k = 0; k < 2 && is_implicit; ++k) {
    kp_field_desc desc = { names[k], KP_TYPE_REAL, 3, "m/s", KP_FIELD_STATE, 0.0 };
    KP_TRY(kp_space_add_field(d->set->space, &desc, &d->answer[k]));
  }
  return KP_OK;
}

// Schemes that lag kick from the middle of the last step.
static kp_result add_clock(kp_deform *d, kp_env *env, kp_part *const *parts, size_t n_parts) {
  static const kp_field_desc desc = { "times", KP_TYPE_F64, 2, "s", KP_FIELD_SAVE, 0.0 };
  bool lags = false;
  for (size_t p = 0; p < n_parts; ++p) {
    lags = lags || kp_schemes[parts[p]->scheme].lags;
  }
  if (!lags) {
    return KP_OK;
  }
  KP_TRY(kp_registry_add_space(env->registry, "solids", KP_SPACE_GLOBAL, &d->clock));
  KP_TRY(kp_space_add_fields(d->clock, &desc, 1));
  return kp_space_append(d->clock, 1, NULL, 0);
}

kp_result kp_deform_join(kp_deform *d, kp_env *env, kp_part *const *parts, size_t n_parts) {
  each_buffer(d, kp_buffer_init, env->backend);
  kp_pcg_init(&d->pcg, env->backend);
  KP_TRY(kp_set_create(env->registry, "nodes", KP_SET_TIED, 3, &d->set));
  kp_field_desc extra = { "acceleration", KP_TYPE_REAL, 3, "m/s^2", 0, 0.0 };
  KP_TRY(kp_space_add_field(d->set->space, &extra, &d->extra));
  KP_TRY(add_answers(d, parts, n_parts));
  KP_TRY(add_clock(d, env, parts, n_parts));
  KP_ARRAY(const kp_part *) order = { 0 };
  KP_TRY(kp_array_reserve(&order, n_parts));
  kp_result result = place_parts(d, parts, n_parts, order.data);
  if (result == KP_OK) {
    result = fill(d, order.data);
  }
  if (result == KP_OK) {
    result = kp_hair_join(d, env, order.data);
  }
  for (size_t g = 0; g < d->groups.count && result == KP_OK; ++g) {
    const kp_deform_group *group = &d->groups.data[g];
    result = kp_sweep_make(d, group, env->backend, &d->sweeps[group->scheme]);
    kp_sweep *sweep = d->sweeps[group->scheme];
    if (result == KP_OK && sweep != NULL && sweep->has_blocks && d->tets.block.used == 0) {
      result = kp_deform_make_blocks(d);
    }
  }
  kp_array_free(&order);
  return result;
}
