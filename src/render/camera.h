// Look-at perspective camera.
#pragma once

#include "kelpie/vec.h"

typedef struct kp_camera {
  kp_vec3 position, target, up;
  double fov_deg;  // vertical
} kp_camera;

// Orthonormal frame: right, up (of the picture) and forward. When `up` is parallel to the view
// another axis is taken for it.
typedef struct kp_camera_frame {
  kp_vec3 right, up, forward;
} kp_camera_frame;

kp_camera_frame kp_camera_get_frame(const kp_camera *camera);

// Frame whose forward is the given unit vector.
kp_camera_frame kp_camera_frame_along(kp_vec3 forward, kp_vec3 up);

typedef struct kp_camera_framing {
  kp_vec3 up;            // unit axis, y or z
  double azimuth_deg;    // 0 looks along -z (up y) or along +y (up z); positive walks to the right
  double elevation_deg;  // above the horizon
  double fov_deg;        // vertical
  double aspect;         // width over height
  double zoom;           // 1 fits the box, 2 is twice as near
} kp_camera_framing;

// The camera that sees the whole box with a margin.
kp_camera kp_camera_frame_box(kp_aabb box, const kp_camera_framing *framing);
