#include "run/shape_points.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "geom/morph.h"

#define CUTS_MOST 64  // of the edges of a triangle

void kp_shape_cloud_free(kp_shape_cloud *cloud) {
  for (size_t i = 0; i < cloud->items.count; ++i) {
    kp_shape_points *p = &cloud->items.data[i];
    kp_free(p->places);
    kp_free(p->normals);
    kp_free(p->cuts);
    kp_buffer_free(&p->light);
    for (int c = 0; c < 3; ++c) {
      kp_buffer_free(&p->position[c]);
    }
  }
  kp_array_free(&cloud->items);
}

// Pieces that the edges of a triangle are cut into.
static int count_cuts(const kp_mesh *mesh, kp_index triangle, double spacing) {
  const kp_index *v = mesh->triangles[triangle].v;
  double longest = 0.0;
  for (int c = 0; c < 3; ++c) {
    kp_vec3 edge = kp_vec3_sub(mesh->vertices[v[(c + 1) % 3]], mesh->vertices[v[c]]);
    longest = fmax(longest, kp_vec3_length(edge));
  }
  return (int)fmin(fmax(ceil(longest / spacing), 1.0), CUTS_MOST);
}

// The middles of the smaller triangles that stand as the large one does.
static int64_t fill_triangle(const kp_mesh *mesh, kp_index triangle, int cuts, kp_vec3 *places,
                             kp_vec3 *normals) {
  const kp_index *v = mesh->triangles[triangle].v;
  kp_vec3 a = mesh->vertices[v[0]], n = kp_vec3_sub(mesh->vertices[v[1]], a);
  kp_vec3 m = kp_vec3_sub(mesh->vertices[v[2]], a);
  kp_vec3 normal = kp_vec3_normalize(kp_vec3_cross(n, m));
  int64_t count = 0;
  for (int i = 0; i < cuts; ++i) {
    for (int j = 0; i + j < cuts; ++j, ++count) {
      kp_vec3 p = kp_vec3_madd(a, (i + 1.0 / 3.0) / cuts, n);
      places[count] = kp_vec3_madd(p, (j + 1.0 / 3.0) / cuts, m);
      normals[count] = normal;
    }
  }
  return count;
}

static void fill_points(kp_shape_points *p, const kp_mesh *mesh) {
  int64_t n = 0;
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    n += fill_triangle(mesh, t, p->cuts[t], p->places + n, p->normals + n);
  }
}

static kp_result add_shape(kp_shape_cloud *cloud, kp_world *world, const kp_shape_mesh *shape,
                           double spacing) {
  // the centre of a collider that changes its form is the origin of its shape
  const kp_mesh *mesh = shape->morph != NULL ? &shape->morph->mesh : &shape->mesh;
  kp_shape_points p = { .body = shape->body, .morph = shape->morph };
  if (mesh->n_triangles == 0) {
    return KP_OK;
  }
  p.cuts = kp_alloc((size_t)mesh->n_triangles * sizeof *p.cuts, KP_MEMORY_RENDER);
  if (p.cuts == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    p.cuts[t] = count_cuts(mesh, t, spacing);
    p.n += p.cuts[t] * (p.cuts[t] + 1) / 2;
  }
  kp_buffer_init(&p.light, world->backend);
  p.light.type = KP_TYPE_REAL;
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&p.position[c], world->backend);
    p.position[c].type = KP_TYPE_POS;
  }
  p.places = kp_alloc((size_t)p.n * sizeof *p.places, KP_MEMORY_RENDER);
  p.normals = kp_alloc((size_t)p.n * sizeof *p.normals, KP_MEMORY_RENDER);
  if (p.places == NULL || p.normals == NULL || kp_array_push(&cloud->items, p) != KP_OK) {
    kp_free(p.cuts);
    kp_free(p.places);
    kp_free(p.normals);
    return KP_ERROR_MEMORY;
  }
  fill_points(&p, mesh);
  return KP_OK;
}

kp_result kp_shape_cloud_make(kp_shape_cloud *cloud, kp_world *world, double spacing) {
  kp_shape_meshes meshes;
  *cloud = (kp_shape_cloud){ 0 };
  KP_TRY(kp_shape_meshes_make(world, &meshes));
  kp_result result = KP_OK;
  for (size_t i = 0; i < meshes.items.count && result == KP_OK; ++i) {
    result = add_shape(cloud, world, &meshes.items.data[i], spacing);
  }
  kp_shape_meshes_free(&meshes);
  if (result != KP_OK) {
    kp_shape_cloud_free(cloud);
  }
  return result;
}

// Points on the form that it has at a time.
static kp_result bend(kp_shape_points *p, double time) {
  kp_mesh now = p->morph->mesh;
  now.vertices = kp_alloc((size_t)now.n_vertices * sizeof *now.vertices, KP_MEMORY_RENDER);
  if (now.vertices == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_morph_at(p->morph, time, now.vertices, NULL);
  fill_points(p, &now);
  kp_free(now.vertices);
  return KP_OK;
}

static bool is_where_it_was(const kp_shape_points *p, const kp_frame3 *now, double time) {
  bool keeps_its_form = p->morph == NULL || p->time == time;
  return p->is_placed && keeps_its_form &&
         memcmp(&p->frame.position, &now->position, sizeof now->position) == 0 &&
         memcmp(&p->frame.orientation, &now->orientation, sizeof now->orientation) == 0;
}

static kp_result place(kp_shape_points *p, const kp_frame3 *frame, bool is_flat, kp_vec3 sun) {
  void *x[3], *light;
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_resize(&p->position[c], (size_t)p->n * sizeof(kp_pos)));
    KP_TRY(kp_buffer_get(&p->position[c], KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &x[c]));
  }
  KP_TRY(kp_buffer_resize(&p->light, (size_t)p->n * sizeof(kp_real)));
  KP_TRY(kp_buffer_get(&p->light, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &light));
  for (int64_t i = 0; i < p->n; ++i) {
    kp_vec3 at = kp_vec3_add(frame->position, kp_quat_rotate(frame->orientation, p->places[i]));
    double facing = kp_vec3_dot(kp_quat_rotate(frame->orientation, p->normals[i]), sun);
    ((kp_pos *)x[0])[i] = at.x;
    ((kp_pos *)x[1])[i] = at.y;
    ((kp_pos *)x[2])[i] = is_flat ? 0.0 : at.z;
    ((kp_real *)light)[i] = (kp_real)(0.5 + 0.5 * facing);
  }
  p->frame = *frame;
  p->is_placed = true;
  return KP_OK;
}

kp_result kp_shape_cloud_place(kp_shape_cloud *cloud, kp_world *world, kp_vec3 sun) {
  bool is_flat = world->spec.domain.dimension == 2;
  for (size_t i = 0; i < cloud->items.count; ++i) {
    kp_shape_points *p = &cloud->items.data[i];
    kp_frame3 frame = kp_shape_frame(world, p->body);
    double time = kp_world_time(world);
    if (!is_where_it_was(p, &frame, time)) {
      KP_TRY(p->morph != NULL ? bend(p, time) : KP_OK);
      KP_TRY(place(p, &frame, is_flat, sun));
      p->time = time;
    }
  }
  return KP_OK;
}
