#include "render/camera.h"

#define DEGREE (3.14159265358979323846 / 180.0)

kp_camera_frame kp_camera_frame_along(kp_vec3 forward, kp_vec3 up) {
  kp_camera_frame frame;
  frame.forward = forward;
  kp_vec3 right = kp_vec3_cross(forward, up);
  if (kp_vec3_length(right) < 1e-6) {
    bool along_z = fabs(forward.z) > 0.9;
    right = kp_vec3_cross(forward, kp_vec3_make(0.0, along_z ? 1.0 : 0.0, along_z ? 0.0 : 1.0));
  }
  frame.right = kp_vec3_normalize(right);
  frame.up = kp_vec3_cross(frame.right, forward);
  return frame;
}

kp_camera_frame kp_camera_get_frame(const kp_camera *camera) {
  kp_vec3 forward = kp_vec3_normalize(kp_vec3_sub(camera->target, camera->position));
  return kp_camera_frame_along(forward, camera->up);
}

// Distance from the box's middle at which all eight corners lie inside the picture: each corner (a,
// b, c) in the frame (right, up, forward) needs distance + c >= max(|a| / tan_x, |b| / tan_y).
static double fit_distance(kp_aabb box, kp_vec3 middle, const kp_camera_frame *frame, double tan_x,
                           double tan_y) {
  double distance = 0.0;
  for (int corner = 0; corner < 8; ++corner) {
    kp_vec3 p = kp_vec3_make(corner & 1 ? box.max.x : box.min.x, corner & 2 ? box.max.y : box.min.y,
                             corner & 4 ? box.max.z : box.min.z);
    kp_vec3 d = kp_vec3_sub(p, middle);
    double a = fabs(kp_vec3_dot(d, frame->right)), b = fabs(kp_vec3_dot(d, frame->up));
    double need = fmax(a / tan_x, b / tan_y) - kp_vec3_dot(d, frame->forward);
    distance = fmax(distance, need);
  }
  return distance;
}

kp_camera kp_camera_frame_box(kp_aabb box, const kp_camera_framing *framing) {
  const double margin = 1.12;
  double azimuth = framing->azimuth_deg * DEGREE, elevation = framing->elevation_deg * DEGREE;
  bool z_up = framing->up.z > 0.5;
  kp_vec3 back = z_up ? kp_vec3_make(0.0, -1.0, 0.0) : kp_vec3_make(0.0, 0.0, 1.0);
  kp_vec3 right = kp_vec3_make(1.0, 0.0, 0.0);
  kp_vec3 level = kp_vec3_madd(kp_vec3_scale(back, cos(azimuth)), sin(azimuth), right);
  kp_vec3 to_eye = kp_vec3_madd(kp_vec3_scale(level, cos(elevation)), sin(elevation), framing->up);

  kp_camera camera;
  camera.up = framing->up;
  camera.fov_deg = framing->fov_deg;
  camera.target = kp_vec3_scale(kp_vec3_add(box.min, box.max), 0.5);
  kp_camera_frame frame = kp_camera_frame_along(kp_vec3_scale(to_eye, -1.0), framing->up);
  double tan_y = tan(0.5 * framing->fov_deg * DEGREE) / margin;
  double distance = fit_distance(box, camera.target, &frame, tan_y * framing->aspect, tan_y);
  if (!(distance > 0.0)) {
    distance = 1.0;
  }
  camera.position = kp_vec3_madd(camera.target, distance / framing->zoom, to_eye);
  return camera;
}
