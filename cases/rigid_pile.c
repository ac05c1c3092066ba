// A pile of mixed rigid bodies.
#include <math.h>
#include <stdio.h>

#include "cases/cases.h"
#include "geom/shape.h"

static kp_shape_def mixed_shape(int64_t i) {
  kp_shape_def box = kp_default_shape_def(KP_SHAPE_BOX);
  box.min = kp_vec3_make(-0.1, -0.1, -0.1);
  box.max = kp_vec3_make(0.1, 0.1, 0.1);
  kp_shape_def ball = kp_default_shape_def(KP_SHAPE_SPHERE);
  ball.radius = 0.11;
  kp_shape_def drum = kp_default_shape_def(KP_SHAPE_CYLINDER);
  drum.a = kp_vec3_make(0, -0.1, 0);
  drum.b = kp_vec3_make(0, 0.1, 0);
  drum.radius = 0.1;
  kp_shape_def capsule = drum;
  capsule.kind = KP_SHAPE_CAPSULE;
  capsule.radius = 0.08;
  const kp_shape_def all[4] = { box, ball, drum, capsule };
  return all[i % 4];
}

kp_result kp_case_rigid_pile(kp_world *world, int64_t bodies) {
  // a bin about as wide as its heap will be high
  int64_t side = (int64_t)ceil(cbrt((double)bodies));
  double half = 0.16 * (double)side;
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-half, 0, -half);
  domain.max = kp_vec3_make(half, 0.4 * (double)side + 1.0, half);
  domain.open_top = true;
  KP_TRY(kp_world_set_domain(world, &domain));
  for (int64_t i = 0; i < bodies; ++i) {
    kp_body_def body = kp_default_body_def();
    snprintf(body.name, sizeof body.name, "b%06lld", (long long)i);
    body.shape = mixed_shape(i);
    double x = (double)(i % side) - 0.5 * (double)(side - 1);
    double z = (double)(i / side % side) - 0.5 * (double)(side - 1);
    body.position =
        kp_vec3_make(0.3 * x + 0.004 * (double)(i % 3), 0.2 + 0.34 * (double)(i / side / side),
                     0.3 * z + 0.004 * (double)(i % 5));
    body.rotation_deg =
        kp_vec3_make(17.0 * (double)(i % 97), 31.0 * (double)(i % 89), 7.0 * (double)(i % 83));
    body.rolling_friction = 0.002;
    KP_TRY(kp_world_add_body(world, &body));
  }
  return KP_OK;
}
