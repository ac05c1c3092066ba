#include "io/mesh_normals.h"

#include <math.h>

#include "base/memory.h"

// The triangles around each vertex, by counting.
typedef struct fans {
  kp_vec3 *areas;     // per triangle: normal times twice the area
  uint64_t *offsets;  // per vertex, and the end
  uint64_t *triangles;
} fans;

static void free_fans(fans *f) {
  kp_free(f->areas);
  kp_free(f->offsets);
  kp_free(f->triangles);
}

static kp_vec3 point(const kp_export_object *mesh, uint32_t vertex) {
  const kp_export_field *x = &mesh->fields[0];
  return kp_vec3_make(kp_export_value(x, 0, vertex), kp_export_value(x, 1, vertex),
                      kp_export_value(x, 2, vertex));
}

static kp_result make_fans(const kp_export_object *mesh, fans *f) {
  const uint64_t n = mesh->n_triangles;
  f->areas = kp_alloc(n * sizeof *f->areas, KP_MEMORY_IO);
  f->triangles = kp_alloc(3 * n * sizeof *f->triangles, KP_MEMORY_IO);
  f->offsets = kp_alloc_zero((mesh->n_points + 2) * sizeof *f->offsets, KP_MEMORY_IO);
  if (f->areas == NULL || f->triangles == NULL || f->offsets == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t t = 0; t < n; ++t) {
    const uint32_t *v = mesh->triangles + 3 * t;
    const kp_vec3 a = point(mesh, v[0]);
    f->areas[t] =
        kp_vec3_cross(kp_vec3_sub(point(mesh, v[1]), a), kp_vec3_sub(point(mesh, v[2]), a));
    for (int c = 0; c < 3; ++c) {
      ++f->offsets[v[c] + 2];
    }
  }
  // offsets[v + 1] is where the next triangle of v goes, and its end when all are in place
  for (uint64_t v = 2; v < mesh->n_points + 2; ++v) {
    f->offsets[v] += f->offsets[v - 1];
  }
  for (uint64_t i = 0; i < 3 * n; ++i) {
    f->triangles[f->offsets[mesh->triangles[i] + 1]++] = i / 3;
  }
  return KP_OK;
}

static kp_vec3 unit(kp_vec3 v) {
  const double length = kp_vec3_length(v);
  return length > 0.0 ? kp_vec3_scale(v, 1.0 / length) : v;
}

// The average around a vertex over the faces within the angle of `face`; all of them when it is
// NULL. True when none was left out.
static bool average(const fans *f, uint32_t vertex, const kp_vec3 *face, double cosine,
                    kp_vec3 *out) {
  kp_vec3 sum = kp_vec3_make(0.0, 0.0, 0.0);
  bool has_all = true;
  for (uint64_t k = f->offsets[vertex]; k < f->offsets[vertex + 1]; ++k) {
    const kp_vec3 area = f->areas[f->triangles[k]];
    // degenerate faces have no direction and no weight
    bool is_near = face == NULL || kp_vec3_dot(*face, area) >= cosine * kp_vec3_length(area);
    sum = is_near ? kp_vec3_add(sum, area) : sum;
    has_all = has_all && is_near;
  }
  *out = unit(sum);
  return has_all;
}

kp_result kp_mesh_normals_make(const kp_export_object *mesh, double crease_deg,
                               kp_mesh_normals *out) {
  const double cosine = cos(crease_deg * 3.14159265358979323846 / 180.0);
  fans f = { 0 };
  *out = (kp_mesh_normals){ 0 };
  kp_result result = make_fans(mesh, &f);
  if (result == KP_OK) {
    result = kp_array_resize(&out->normals, mesh->n_points);
  }
  if (result == KP_OK) {
    out->indices = kp_alloc(3 * mesh->n_triangles * sizeof *out->indices, KP_MEMORY_IO);
    result = out->indices != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
  for (uint64_t v = 0; result == KP_OK && v < mesh->n_points; ++v) {
    (void)average(&f, (uint32_t)v, NULL, 0.0, &out->normals.data[v]);
  }
  for (uint64_t i = 0; result == KP_OK && i < 3 * mesh->n_triangles; ++i) {
    const kp_vec3 face = unit(f.areas[i / 3]);
    kp_vec3 normal;
    out->indices[i] = mesh->triangles[i];
    if (kp_vec3_length(face) > 0.0 && !average(&f, mesh->triangles[i], &face, cosine, &normal)) {
      out->indices[i] = (uint32_t)out->normals.count;
      result = kp_array_push(&out->normals, normal);
    }
  }
  free_fans(&f);
  return result;
}

void kp_mesh_normals_free(kp_mesh_normals *normals) {
  kp_array_free(&normals->normals);
  kp_free(normals->indices);
  *normals = (kp_mesh_normals){ 0 };
}
