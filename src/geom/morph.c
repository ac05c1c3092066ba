#include "geom/morph.h"

#include <math.h>
#include <string.h>

#include "data/curve.h"

#define EDGES_PER_SIZE 48.0  // of shapes of a formula, along their diagonal

static kp_result make_mesh(const kp_shape *shape, kp_mesh *mesh) {
  *mesh = (kp_mesh){ 0 };
  if (!kp_shape_is_bounded(shape) || shape->dimension != 3 || shape->def.shell > 0.0) {
    return kp_fail(KP_ERROR_SCENE, "only solids with an end can change their form, in three "
                                   "dimensions");
  }
  kp_aabb box = kp_shape_bounds(shape);
  double size = kp_vec3_length(kp_vec3_sub(box.max, box.min));
  return kp_shape_tessellate(shape, size / EDGES_PER_SIZE, mesh);
}

kp_result kp_morph_create(const kp_shape *shape, kp_morph **out) {
  *out = NULL;
  kp_morph *morph = kp_alloc_zero(sizeof *morph, KP_MEMORY_MESH);
  if (morph == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = make_mesh(shape, &morph->mesh);
  if (result != KP_OK) {
    kp_free(morph);
    return result;
  }
  *out = morph;
  return KP_OK;
}

void kp_morph_destroy(kp_morph **morph) {
  if (*morph == NULL) {
    return;
  }
  for (size_t k = 0; k < (*morph)->targets.count; ++k) {
    kp_free((*morph)->targets.data[k].offsets);
  }
  kp_array_free(&(*morph)->targets);
  kp_mesh_destroy(&(*morph)->mesh);
  kp_free(*morph);
  *morph = NULL;
}

static kp_result add_target(kp_morph *morph, const kp_mesh *mesh, const kp_curve *weight) {
  const kp_mesh *rest = &morph->mesh;
  size_t n = (size_t)rest->n_vertices;
  size_t bytes = (size_t)rest->n_triangles * sizeof(kp_triangle);
  bool is_same = mesh->n_vertices == rest->n_vertices && mesh->n_triangles == rest->n_triangles &&
                 memcmp(mesh->triangles, rest->triangles, bytes) == 0;
  if (!is_same) {
    return kp_fail(KP_ERROR_SCENE,
                   "its shape has not the triangles of the one at rest (%lld vertices, %lld "
                   "triangles, in the same order)",
                   (long long)rest->n_vertices, (long long)rest->n_triangles);
  }
  kp_morph_target entry = { .weight = *weight };
  entry.offsets = kp_alloc(n * sizeof *entry.offsets, KP_MEMORY_MESH);
  if (entry.offsets == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < n; ++i) {
    entry.offsets[i] = kp_vec3_sub(mesh->vertices[i], rest->vertices[i]);
    entry.longest = fmax(entry.longest, kp_vec3_length(entry.offsets[i]));
  }
  kp_result result = kp_array_push(&morph->targets, entry);
  if (result != KP_OK) {
    kp_free(entry.offsets);
  }
  return result;
}

kp_result kp_morph_add(kp_morph *morph, const kp_shape *target, const kp_curve *weight) {
  kp_mesh mesh;
  KP_TRY(make_mesh(target, &mesh));
  kp_result result = add_target(morph, &mesh, weight);
  kp_mesh_destroy(&mesh);
  return result;
}

void kp_morph_at(const kp_morph *morph, double time, kp_vec3 *x, kp_vec3 *v) {
  size_t n = (size_t)morph->mesh.n_vertices;
  memcpy(x, morph->mesh.vertices, n * sizeof *x);
  if (v != NULL) {
    memset(v, 0, n * sizeof *v);
  }
  for (size_t k = 0; k < morph->targets.count; ++k) {
    const kp_morph_target *target = &morph->targets.data[k];
    double weight, rate;
    kp_curve_at(&target->weight, time, &weight, &rate);
    for (size_t i = 0; i < n; ++i) {
      x[i] = kp_vec3_madd(x[i], weight, target->offsets[i]);
    }
    for (size_t i = 0; i < n && v != NULL; ++i) {
      v[i] = kp_vec3_madd(v[i], rate, target->offsets[i]);
    }
  }
}

double kp_morph_speed(const kp_morph *morph, double time) {
  double speed = 0.0;
  for (size_t k = 0; k < morph->targets.count; ++k) {
    double weight, rate;
    kp_curve_at(&morph->targets.data[k].weight, time, &weight, &rate);
    speed += fabs(rate) * morph->targets.data[k].longest;
  }
  return speed;
}

// The largest |w| of a curve. Between its samples a cubic goes beyond them by at most a quarter of
// the largest change from one to the next: its outer weights are -1/16 each in the middle, and an
// outer sample is at most two changes below the larger inner one.
static double largest_weight(const kp_curve *curve) {
  double largest = curve->n > 0 ? 0.0 : fabs(curve->constant[0]);
  double change = 0.0;
  for (int32_t k = 0; k < curve->n; ++k) {
    largest = fmax(largest, fabs(curve->samples[k]));
    change = k > 0 ? fmax(change, fabs(curve->samples[k] - curve->samples[k - 1])) : change;
  }
  return largest + 0.25 * change;
}

kp_aabb kp_morph_bounds(const kp_morph *morph) {
  kp_aabb box = kp_mesh_bounds(&morph->mesh);
  for (kp_index i = 0; i < morph->mesh.n_vertices; ++i) {
    kp_vec3 reach = { 0.0, 0.0, 0.0 };
    for (size_t k = 0; k < morph->targets.count; ++k) {
      double w = largest_weight(&morph->targets.data[k].weight);
      kp_vec3 d = morph->targets.data[k].offsets[i];
      reach = kp_vec3_madd(reach, w, kp_vec3_make(fabs(d.x), fabs(d.y), fabs(d.z)));
    }
    kp_vec3 lo = kp_vec3_sub(morph->mesh.vertices[i], reach);
    kp_vec3 hi = kp_vec3_add(morph->mesh.vertices[i], reach);
    box.min = kp_vec3_make(fmin(box.min.x, lo.x), fmin(box.min.y, lo.y), fmin(box.min.z, lo.z));
    box.max = kp_vec3_make(fmax(box.max.x, hi.x), fmax(box.max.y, hi.y), fmax(box.max.z, hi.z));
  }
  return box;
}
