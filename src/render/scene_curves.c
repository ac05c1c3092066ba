// Hairs and yarn as lines of a scene.
#include "render/scene_parts.h"

// Curves through their points, so that a hair of few segments shows no corners: every piece is
// drawn as PIECES of a Catmull-Rom spline.
#define PIECES 3

static kp_vec3 spline(const kp_vec3 *p, uint64_t i, uint64_t n, double t) {
  kp_vec3 b = p[i], c = p[i + 1];
  kp_vec3 a = i > 0 ? p[i - 1] : kp_vec3_sub(kp_vec3_scale(b, 2.0), c);
  kp_vec3 d = i + 2 < n ? p[i + 2] : kp_vec3_sub(kp_vec3_scale(c, 2.0), b);
  double t2 = t * t, t3 = t2 * t;
  kp_vec3 sum = kp_vec3_scale(a, 0.5 * (-t3 + 2.0 * t2 - t));
  sum = kp_vec3_madd(sum, 0.5 * (3.0 * t3 - 5.0 * t2 + 2.0), b);
  sum = kp_vec3_madd(sum, 0.5 * (-3.0 * t3 + 4.0 * t2 + t), c);
  return kp_vec3_madd(sum, 0.5 * (t3 - t2), d);
}

// Values per point between the points.
static kp_result refine_values(kp_frame_scene *s, const kp_frame_curves *curves,
                               const uint64_t *first, const float **values) {
  float *out = kp_scene_take(s, first[curves->n_curves], sizeof *out);
  if (out == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t c = 0; c < curves->n_curves; ++c) {
    uint64_t n = curves->offsets[c + 1] - curves->offsets[c];
    const float *v = *values + curves->offsets[c];
    for (uint64_t k = first[c]; k < first[c + 1]; ++k) {
      uint64_t i = (k - first[c]) / PIECES, next = i + 1 < n ? i + 1 : i;
      float t = (float)((k - first[c]) % PIECES) / (float)PIECES;
      out[k] = v[i] + t * (v[next] - v[i]);
    }
  }
  *values = out;
  return KP_OK;
}

// Points or velocities on the spline.
static kp_result refine_vectors(kp_frame_scene *s, const kp_frame_curves *curves,
                                const uint64_t *first, const kp_vec3 *from,
                                kp_render_positions *to) {
  kp_vec3 *out = kp_scene_take(s, first[curves->n_curves], sizeof *out);
  if (out == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t c = 0; c < curves->n_curves; ++c) {
    uint64_t n = curves->offsets[c + 1] - curves->offsets[c];
    const kp_vec3 *p = from + curves->offsets[c];
    for (uint64_t k = first[c]; k < first[c + 1]; ++k) {
      uint64_t i = (k - first[c]) / PIECES;
      double t = (double)((k - first[c]) % PIECES) / PIECES;
      out[k] = i + 1 < n ? spline(p, i, n, t) : p[i];
    }
  }
  *to = (kp_render_positions){ &out[0].x, &out[0].y, &out[0].z, 3 };
  return KP_OK;
}

static kp_result refine_curves(kp_frame_scene *s, const kp_frame_curves *curves,
                               kp_render_lines *out) {
  uint64_t *first = kp_scene_take(s, curves->n_curves + 1, sizeof *first);
  if (first == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t c = 0; c < curves->n_curves; ++c) {
    uint64_t n = curves->offsets[c + 1] - curves->offsets[c];
    first[c + 1] = first[c] + (n > 1 ? PIECES * (n - 1) + 1 : n);
  }
  out->first = first;
  KP_TRY(refine_vectors(s, curves, first, curves->points, &out->positions));
  if (curves->velocities != NULL) {
    KP_TRY(refine_vectors(s, curves, first, curves->velocities, &out->velocities));
  }
  if (out->scalar != NULL) {
    KP_TRY(refine_values(s, curves, first, &out->scalar));
  }
  return out->radii != NULL ? refine_values(s, curves, first, &out->radii) : KP_OK;
}

kp_result kp_scene_add_curves(kp_frame_scene *s, const kp_frame_curves *curves,
                              const kp_look_def *look, double size) {
  kp_render_lines *out = &s->lines[s->scene.n_lines++];
  out->n_lines = (int64_t)curves->n_curves;
  out->first = curves->offsets;
  if (curves->n_points > 0) {
    out->positions = (kp_render_positions){ &curves->points[0].x, &curves->points[0].y,
                                            &curves->points[0].z, 3 };
  }
  if (look != NULL) {
    out->look = *look;
  } else {
    out->look = kp_default_look_def();
    out->look.color = kp_vec3_make(0.50, 0.34, 0.20);
    out->look.gloss = 0.5;
  }
  kp_scene_element e = { "curves", curves->name, &curves->fields, curves->velocities,
                         curves->n_points };
  KP_TRY(kp_scene_find_scalar(s, &e, &out->look, &out->scalar));
  const kp_frame_field *radii = kp_frame_find_field(&curves->fields, "radius");
  if (radii != NULL) {
    KP_TRY(kp_scene_field_as_scalar(s, &e, radii, &out->radii));
  }
  out->radius = 1e-3 * size;
  return curves->n_points > 0 ? refine_curves(s, curves, out) : KP_OK;
}
