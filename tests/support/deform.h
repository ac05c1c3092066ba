// The deformables of a world under test.
#pragma once

#include <math.h>

#include "geom/mesh_make.h"
#include "geom/mesh_query.h"
#include "methods/deform/deform.h"

#include "support/media.h"

static inline kp_deform *kp_test_deform(kp_world *world) {
  return kp_test_system(world, &kp_deform_method);
}

// How far a solve is from Newton's law: mass times the change from v to d->moving against the
// impulses in d->right, as a share of the largest change of momentum.
static inline double kp_test_residual(kp_deform *d, const kp_deform_group *group, kp_buffer *v) {
  const kp_real *mass = kp_buffer_host(&d->mass, KP_ACCESS_READ);
  const kp_real *impulse = kp_buffer_host(&d->right, KP_ACCESS_READ);
  int64_t n = group->nodes.n;
  double worst = 0.0, largest = 0.0;
  for (int c = 0; c < 3; ++c) {
    const kp_real *before = kp_buffer_host(&v[c], KP_ACCESS_READ);
    const kp_real *after = kp_buffer_host(&d->moving.c[c], KP_ACCESS_READ);
    for (int64_t i = 0; i < n; ++i) {
      double gained = (double)mass[i] * ((double)after[i] - (double)before[i]);
      worst = kp_test_most(worst, fabs(gained - (double)impulse[c * n + i]));
      largest = kp_test_most(largest, fabs(gained));
    }
  }
  assert_true(largest > 0.0);
  return worst / largest;
}

// Pairs of a triangle of the deformables and one of a box or mesh at `frame` that intersect, all
// against all.
static inline int64_t kp_test_cuts(kp_world *world, const kp_solid *solid, kp_frame3 frame) {
  kp_deform *d = kp_test_deform(world);
  const kp_body *model = &world->bodies->models.data[solid->body];
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  bool is_box = solid->shape->def.kind == KP_SHAPE_BOX;
  kp_mesh box = { 0 };
  if (is_box) {
    assert_ok(kp_mesh_make_box(kp_shape_bounds(solid->shape), &box));
  }
  const kp_mesh *mesh = is_box ? &box : kp_mesh_query_mesh(solid->shape->mesh);
  int64_t count = 0;
  for (kp_index b = 0; b < mesh->n_triangles; ++b) {
    kp_vec3 q[3];
    for (int k = 0; k < 3; ++k) {
      kp_vec3 arm = kp_vec3_sub(mesh->vertices[mesh->triangles[b].v[k]], model->center);
      q[k] = kp_vec3_add(frame.position, kp_quat_rotate(frame.orientation, arm));
    }
    for (int64_t t = 0; t < d->n_triangles; ++t) {
      kp_vec3 p[3];
      for (int k = 0; k < 3; ++k) {
        kp_index i = d->triangles.data[t].v[k];
        p[k] = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
      }
      count += kp_triangles_intersect(p, q) ? 1 : 0;
    }
  }
  if (is_box) {
    kp_mesh_destroy(&box);
  }
  return count;
}
