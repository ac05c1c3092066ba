#include "render/framing.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "render/scene_parts.h"

#define BINS 256
#define STRAYS 0.002  // share of a liquid at either end that may lie outside
#define FAINT 0.02    // of the densest or brightest cell: less is not seen
#define STANDING 1.5  // what stands counts where the box does not become longer than so many times

static kp_aabb unite(kp_aabb a, kp_aabb b) {
  return (kp_aabb){ kp_vec3_min(a.min, b.min), kp_vec3_max(a.max, b.max) };
}

static bool is_empty(kp_aabb box) {
  return !(box.min.x <= box.max.x && box.min.y <= box.max.y && box.min.z <= box.max.z);
}

static void grow(kp_framing *f, kp_aabb box) {
  if (!is_empty(box)) {
    f->box = f->has_box ? unite(f->box, box) : box;
    f->has_box = true;
  }
}

// ---- boxes

// From where to where all but a few of the numbers lie.
static void find_range(const double *x, int64_t stride, int64_t n, double strays, double *low,
                       double *high) {
  double lo = INFINITY, hi = -INFINITY;
  int64_t counts[BINS] = { 0 }, n_counted = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (isfinite(x[i * stride])) {
      lo = fmin(lo, x[i * stride]);
      hi = fmax(hi, x[i * stride]);
    }
  }
  const double bin = (hi - lo) / BINS;
  for (int64_t i = 0; i < n && bin > 0.0; ++i) {
    if (isfinite(x[i * stride])) {
      int at = (int)((x[i * stride] - lo) / bin);
      ++counts[at < BINS ? at : BINS - 1];
      ++n_counted;
    }
  }
  int first = 0, last = BINS - 1;
  double below = 0.0, above = 0.0, most = strays * (double)n_counted;
  while (first < last && (below += (double)counts[first]) <= most) {
    ++first;
  }
  while (last > first && (above += (double)counts[last]) <= most) {
    --last;
  }
  *low = bin > 0.0 ? lo + first * bin : lo;
  *high = bin > 0.0 ? lo + (last + 1) * bin : hi;
}

static kp_aabb box_of(const kp_render_positions *p, int64_t n, double radius, double strays) {
  kp_aabb box = kp_aabb_empty();
  if (n > 0) {
    find_range(p->x, p->stride, n, strays, &box.min.x, &box.max.x);
    find_range(p->y, p->stride, n, strays, &box.min.y, &box.max.y);
    find_range(p->z, p->stride, n, strays, &box.min.z, &box.max.z);
    kp_vec3 r = kp_vec3_make(radius, radius, radius);
    box.min = kp_vec3_sub(box.min, r);
    box.max = kp_vec3_add(box.max, r);
  }
  return box;
}

static float most_of(const float *values, int64_t n) {
  float most = 0.0f;
  for (int64_t i = 0; values != NULL && i < n; ++i) {
    most = values[i] > most ? values[i] : most;
  }
  return most;
}

// The cells that hold smoke or glow.
static kp_aabb box_of_gas(const kp_render_volume *v) {
  const int64_t n = (int64_t)v->nx * v->ny * v->nz;
  const float least = (float)FAINT * most_of(v->density, n);
  const float dim = (float)FAINT * most_of(v->emission, n);
  kp_aabb box = kp_aabb_empty();
  for (int64_t i = 0; i < n; ++i) {
    bool is_seen = v->density[i] > least || (v->emission != NULL && v->emission[i] > dim);
    if (is_seen) {
      kp_vec3 cell = kp_vec3_make((double)(i % v->nx), (double)(i / v->nx % v->ny),
                                  (double)(i / v->nx / v->ny));
      kp_vec3 corner = kp_vec3_madd(v->origin, v->cell, cell);
      kp_vec3 size = kp_vec3_make(v->cell, v->cell, v->cell);
      box = kp_aabb_grow(kp_aabb_grow(box, corner), kp_vec3_add(corner, size));
    }
  }
  return box;
}

// ---- frames

static kp_result add_mesh(kp_framing *f, const kp_frame_mesh *mesh, const kp_render_mesh *drawn) {
  if (!drawn->look.visible || mesh->n_vertices == 0) {
    return KP_OK;
  }
  double strays = kp_frame_is_surface(mesh) ? STRAYS : 0.0;
  kp_aabb box = box_of(&drawn->positions, drawn->n_vertices, 0.0, strays);
  uint64_t hash = kp_hash_bytes(mesh->vertices, mesh->n_vertices * sizeof *mesh->vertices, 0);
  for (size_t i = 0; i < f->meshes.count; ++i) {
    kp_framed_mesh *known = &f->meshes.data[i];
    if (strcmp(known->name, mesh->name) == 0) {
      known->box = unite(known->box, box);
      known->moves = known->moves || known->hash != hash;
      return KP_OK;
    }
  }
  kp_framed_mesh fresh = { .hash = hash, .box = box, .moves = kp_frame_is_surface(mesh) };
  kp_text_copy(fresh.name, sizeof fresh.name, mesh->name);
  return kp_array_push(&f->meshes, fresh);
}

kp_result kp_framing_add(kp_framing *f, const kp_frame *frame, const kp_render_scene *scene) {
  for (int k = 0; k < scene->n_points; ++k) {
    const kp_render_points *p = &scene->points[k];
    double radius = p->radii != NULL && p->n > 0 ? (double)p->radii[0] : p->radius;
    if (p->look.visible && !kp_frame_is_spray(&frame->sets[k])) {
      grow(f, box_of(&p->positions, p->n, radius * p->look.radius_scale, STRAYS));
    }
  }
  for (int k = 0; k < scene->n_lines; ++k) {
    const kp_render_lines *l = &scene->lines[k];
    if (l->look.visible) {
      grow(f, box_of(&l->positions, (int64_t)l->first[l->n_lines], 0.0, 0.0));
    }
  }
  for (int k = 0; k < scene->n_volumes; ++k) {
    if (scene->volumes[k].look.visible) {
      grow(f, box_of_gas(&scene->volumes[k]));
    }
  }
  for (int k = 0; k < scene->n_meshes; ++k) {
    KP_TRY(add_mesh(f, &frame->meshes[k], &scene->meshes[k]));
  }
  return KP_OK;
}

static double length_of(kp_aabb box) {
  return kp_vec3_length(kp_vec3_sub(box.max, box.min));
}

kp_aabb kp_framing_box(const kp_framing *f) {
  kp_framing moving = { .has_box = f->has_box, .box = f->box }, all = moving;
  for (size_t i = 0; i < f->meshes.count; ++i) {
    grow(&all, f->meshes.data[i].box);
    if (f->meshes.data[i].moves) {
      grow(&moving, f->meshes.data[i].box);
    }
  }
  if (!moving.has_box) {
    return all.has_box ? all.box : kp_aabb_empty();
  }
  kp_aabb box = moving.box;
  for (size_t i = 0; i < f->meshes.count; ++i) {
    kp_aabb with = unite(moving.box, f->meshes.data[i].box);
    if (length_of(with) <= STANDING * length_of(moving.box)) {
      box = unite(box, with);
    }
  }
  return box;
}

void kp_framing_free(kp_framing *framing) {
  kp_array_free(&framing->meshes);
}
