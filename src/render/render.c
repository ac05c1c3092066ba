#include "render/render.h"

#include <math.h>
#include <string.h>

#include "kelpie/types.h"
#include "par/parallel.h"
#include "render/cast.h"
#include "render/environment.h"
#include "render/pass.h"

#define PI 3.14159265358979323846

static kp_result check_positions(const kp_render_positions *p, int64_t n, const char *what, int k) {
  if (n > 0 && (p->x == NULL || p->y == NULL || p->z == NULL || p->stride < 1)) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s %d: positions are missing", what, k);
  }
  return KP_OK;
}

static kp_result check_velocities(const kp_render_positions *v, const char *what, int k) {
  if (v->x != NULL && (v->y == NULL || v->z == NULL || v->stride < 1)) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s %d: velocities are missing", what, k);
  }
  return KP_OK;
}

static kp_result check_mesh(const kp_render_mesh *mesh, int k) {
  if (mesh->n_vertices < 0 || mesh->n_triangles < 0 ||
      (mesh->n_triangles > 0 && mesh->triangles == NULL)) {
    return kp_fail(KP_ERROR_ARGUMENT, "mesh %d: triangles are missing", k);
  }
  KP_TRY(check_positions(&mesh->positions, mesh->n_vertices, "mesh", k));
  KP_TRY(check_velocities(&mesh->velocities, "mesh", k));
  uint32_t largest = 0;  // a loop without ways out is done by lanes
  for (int64_t i = 0; i < 3 * mesh->n_triangles; ++i) {
    largest = mesh->triangles[i] > largest ? mesh->triangles[i] : largest;
  }
  bool is_fine = (uint64_t)largest < (uint64_t)mesh->n_vertices;
  for (int64_t i = 0; !is_fine && i < 3 * mesh->n_triangles; ++i) {
    if (mesh->triangles[i] >= (uint64_t)mesh->n_vertices) {
      return kp_fail(KP_ERROR_ARGUMENT, "mesh %d: triangle %lld names vertex %u of %lld", k,
                     (long long)(i / 3), mesh->triangles[i], (long long)mesh->n_vertices);
    }
  }
  return kp_look_check(&mesh->look);
}

static kp_result check_lines(const kp_render_lines *lines, int k) {
  if (lines->n_lines < 0 || lines->first == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "polylines %d: the list of first vertices is missing", k);
  }
  for (int64_t i = 0; i < lines->n_lines; ++i) {
    if (lines->first[i] > lines->first[i + 1] || lines->first[i + 1] > UINT32_MAX) {
      return kp_fail(KP_ERROR_ARGUMENT, "polylines %d: first vertices do not ascend at %lld", k,
                     (long long)i);
    }
  }
  KP_TRY(check_positions(&lines->positions, (int64_t)lines->first[lines->n_lines], "polylines", k));
  KP_TRY(check_velocities(&lines->velocities, "polylines", k));
  return kp_look_check(&lines->look);
}

static kp_result check_volume(const kp_render_volume *volume, int k) {
  bool sized = volume->nx > 0 && volume->ny > 0 && volume->nz > 0 && volume->cell > 0.0;
  if (!sized || volume->density == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "volume %d: size, cell or density is missing", k);
  }
  return kp_look_check(&volume->look);
}

static kp_result check_scene(const kp_render_scene *scene) {
  int n_sets = scene->n_points + scene->n_meshes + scene->n_lines;
  if (n_sets > UINT16_MAX - KP_MATERIAL_FIRST) {
    return kp_fail(KP_ERROR_ARGUMENT, "a frame of %d sets; at most %d can be drawn", n_sets,
                   UINT16_MAX - KP_MATERIAL_FIRST);
  }
  for (int k = 0; k < scene->n_points; ++k) {
    const kp_render_points *points = &scene->points[k];
    KP_TRY(check_positions(&points->positions, points->n, "point set", k));
    KP_TRY(check_velocities(&points->velocities, "point set", k));
    KP_TRY(kp_look_check(&points->look));
    if (points->look.sprite == KP_SPRITE_ADD && !(points->look.glow > 0.0)) {
      return kp_fail(KP_ERROR_ARGUMENT, "look of point set %d: sprites that add up need glow > 0",
                     k);
    }
  }
  for (int k = 0; k < scene->n_meshes; ++k) {
    KP_TRY(check_mesh(&scene->meshes[k], k));
  }
  for (int k = 0; k < scene->n_lines; ++k) {
    KP_TRY(check_lines(&scene->lines[k], k));
  }
  for (int k = 0; k < scene->n_volumes; ++k) {
    KP_TRY(check_volume(&scene->volumes[k], k));
  }
  return KP_OK;
}

static bool is_empty(kp_aabb box) {
  return !(box.min.x <= box.max.x && box.min.y <= box.max.y && box.min.z <= box.max.z);
}

// Over the way of each within `time` before and after.
static kp_aabb grow_by_motion(kp_aabb box, const kp_render_positions *p,
                              const kp_render_positions *v, int64_t n, double time) {
  for (int64_t i = 0; i < n && time > 0.0 && v->x != NULL; ++i) {
    kp_vec3 at = kp_vec3_make(p->x[i * p->stride], p->y[i * p->stride], p->z[i * p->stride]);
    kp_vec3 way = kp_vec3_make(v->x[i * v->stride], v->y[i * v->stride], v->z[i * v->stride]);
    kp_vec3 from = kp_vec3_madd(at, -time, way), to = kp_vec3_madd(at, time, way);
    if (isfinite(kp_vec3_length(from)) && isfinite(kp_vec3_length(to))) {
      box = kp_aabb_grow(kp_aabb_grow(box, from), to);
    }
  }
  return box;
}

static kp_aabb grow_by_positions(kp_aabb box, const kp_render_positions *p, int64_t n,
                                 double radius) {
  kp_vec3 r = kp_vec3_make(radius, radius, radius);
  for (int64_t i = 0; i < n; ++i) {
    int64_t j = i * p->stride;
    kp_vec3 v = kp_vec3_make(p->x[j], p->y[j], p->z[j]);
    if (isfinite(v.x + v.y + v.z)) {
      box = kp_aabb_grow(kp_aabb_grow(box, kp_vec3_sub(v, r)), kp_vec3_add(v, r));
    }
  }
  return box;
}

// What stops the sun within `time` before and after: everything visible but volumes and clear
// glass.
static kp_aabb caster_bounds(const kp_render_scene *scene, int outline, double time) {
  kp_aabb box = kp_aabb_empty();
  for (int k = 0; k < scene->n_points; ++k) {
    const kp_render_points *p = &scene->points[k];
    double radius = p->radii != NULL && p->n > 0 ? (double)p->radii[0] : p->radius;
    if (p->look.visible && !kp_look_is_sprite(&p->look)) {
      box = grow_by_positions(box, &p->positions, p->n, radius * p->look.radius_scale);
      box = grow_by_motion(box, &p->positions, &p->velocities, p->n, time);
    }
  }
  for (int k = 0; k < scene->n_meshes; ++k) {
    const kp_render_mesh *m = &scene->meshes[k];
    if (m->look.visible && kp_look_opacity(&m->look) >= 0.5) {
      box = grow_by_positions(box, &m->positions, m->n_vertices, 0.0);
      box = grow_by_motion(box, &m->positions, &m->velocities, m->n_vertices, time);
    }
  }
  for (int k = 0; k < scene->n_lines; ++k) {
    const kp_render_lines *l = &scene->lines[k];
    if (l->look.visible && k != outline) {
      int64_t n = (int64_t)l->first[l->n_lines];
      box = grow_by_positions(box, &l->positions, n, l->radius);
      box = grow_by_motion(box, &l->positions, &l->velocities, n, time);
    }
  }
  return box;
}

kp_aabb kp_render_scene_bounds(const kp_render_scene *scene) {
  kp_aabb box = caster_bounds(scene, -1, 0.0);
  for (int k = 0; k < scene->n_points; ++k) {
    const kp_render_points *p = &scene->points[k];
    if (p->look.visible && kp_look_is_sprite(&p->look)) {
      box = grow_by_positions(box, &p->positions, p->n, 0.0);
    }
  }
  for (int k = 0; k < scene->n_meshes; ++k) {
    const kp_render_mesh *m = &scene->meshes[k];
    if (m->look.visible && kp_look_opacity(&m->look) < 0.5) {
      box = grow_by_positions(box, &m->positions, m->n_vertices, 0.0);
    }
  }
  for (int k = 0; k < scene->n_volumes; ++k) {
    const kp_render_volume *v = &scene->volumes[k];
    kp_vec3 size = kp_vec3_make(v->nx * v->cell, v->ny * v->cell, v->nz * v->cell);
    if (v->look.visible) {
      box = kp_aabb_grow(kp_aabb_grow(box, v->origin), kp_vec3_add(v->origin, size));
    }
  }
  return box;
}

// The scene's own bounds, else those of its data, else a unit box: never empty, never a point.
static kp_aabb framed_bounds(const kp_render_scene *scene) {
  kp_aabb box = is_empty(scene->bounds) ? kp_render_scene_bounds(scene) : scene->bounds;
  if (is_empty(box)) {
    box.min = kp_vec3_make(0.0, 0.0, 0.0);
    box.max = kp_vec3_make(1.0, 1.0, 1.0);
  }
  if (!(kp_vec3_length(kp_vec3_sub(box.max, box.min)) > 0.0)) {
    kp_vec3 half = kp_vec3_make(0.5, 0.5, 0.5);
    box.min = kp_vec3_sub(box.min, half);
    box.max = kp_vec3_add(box.max, half);
  }
  return box;
}

static kp_vec3 up_axis(kp_axis_up up) {
  return kp_vec3_make(0.0, up == KP_UP_Y ? 1.0 : 0.0, up == KP_UP_Z ? 1.0 : 0.0);
}

// What is seen of the bounds: what is lost outside must not be looked for.
static kp_aabb seen_inside(const kp_render_scene *scene, kp_aabb bounds) {
  kp_aabb seen = scene->seen;
  seen.min = kp_vec3_max(seen.min, bounds.min);
  seen.max = kp_vec3_min(seen.max, bounds.max);
  return seen;
}

bool kp_render_is_placed(const kp_render_def *def) {
  return kp_vec3_length(kp_vec3_sub(def->camera_target, def->camera_position)) > 0.0;
}

kp_camera kp_render_get_camera(const kp_render_scene *scene, const kp_render_def *def) {
  kp_vec3 up = up_axis(scene->up);
  if (kp_render_is_placed(def)) {
    return (kp_camera){ def->camera_position, def->camera_target, up, def->camera_fov_deg };
  }
  kp_aabb bounds = framed_bounds(scene), seen = seen_inside(scene, bounds);
  kp_vec3 size = kp_vec3_sub(bounds.max, bounds.min);
  double depth = scene->up == KP_UP_Y ? size.z : size.y;
  // a flat domain is seen straight on
  bool flat = depth < 1e-3 * kp_vec3_length(size);
  kp_camera_framing framing = { .up = up,
                                .azimuth_deg = flat ? 0.0 : def->camera_azimuth_deg,
                                .elevation_deg = flat ? 0.0 : def->camera_elevation_deg,
                                .fov_deg = def->camera_fov_deg,
                                .aspect = (double)def->width / (double)def->height,
                                .zoom = def->camera_zoom };
  bool is_moving = def->camera_frame == KP_FRAME_MOTION && !is_empty(seen) &&
                   kp_vec3_length(kp_vec3_sub(seen.max, seen.min)) > 0.0;
  return kp_camera_frame_box(is_moving ? seen : bounds, &framing);
}

kp_vec3 kp_render_get_sun(const kp_camera *camera, const kp_render_def *def) {
  if (kp_vec3_length(def->sun) > 0.0) {
    return kp_vec3_normalize(def->sun);
  }
  kp_camera_frame frame = kp_camera_get_frame(camera);
  kp_vec3 level = kp_vec3_cross(camera->up, frame.right);  // forward along the ground
  kp_vec3 sun = kp_vec3_scale(camera->up, 1.0);
  sun = kp_vec3_madd(sun, -0.62, frame.right);
  return kp_vec3_normalize(kp_vec3_madd(sun, -0.30, level));
}

// Value k >= 1 of the van der Corput sequence in a base: the coordinates of Halton's points.
static double halton(int k, int base) {
  double value = 0.0, digit = 1.0;
  for (; k > 0; k /= base) {
    digit /= base;
    value += digit * (k % base);
  }
  return value;
}

// Shift of the pixel grid in pass k, distributed as a tent one pixel to either side; none in the
// first.
static double pixel_shift(int k, int base) {
  if (k == 0) {
    return 0.0;
  }
  double u = 2.0 * halton(k, base) - 1.0;
  return 0.9 * (u < 0.0 ? sqrt(1.0 + u) - 1.0 : 1.0 - sqrt(1.0 - u));
}

static void set_view(kp_pass *pass) {
  kp_view *view = &pass->view;
  const kp_render_def *def = pass->def;
  kp_vec3 size = kp_vec3_sub(pass->bounds.max, pass->bounds.min);
  view->parallel = false;
  view->origin = pass->camera.position;
  view->frame = kp_camera_get_frame(&pass->camera);
  view->width = (int)def->width;
  view->height = (int)def->height;
  view->scale = (float)(0.5 * (double)def->height / tan(0.5 * def->camera_fov_deg * PI / 180.0));
  view->axis_x = (float)(0.5 * (double)def->width + pixel_shift(pass->index, 2));
  view->axis_y = (float)(0.5 * (double)def->height + pixel_shift(pass->index, 3));
  view->nearest = (float)(1e-3 * kp_vec3_length(size));
  kp_lens_apply(pass);
  pass->up = kp_view_vector(view, pass->light.up);
}

// A point of the sun's disc: golden-angle spiral over the passes.
static kp_vec3 sun_of_pass(const kp_pass *pass) {
  kp_vec3 sun = pass->light.sun;
  if (pass->count == 1) {
    return sun;
  }
  double reach = tan(0.5 * pass->def->sun_size_deg * PI / 180.0);
  double r = reach * sqrt(((double)pass->index + 0.5) / (double)pass->count);
  double angle = 2.399963229728653 * (double)pass->index;
  kp_camera_frame frame = kp_camera_frame_along(sun, pass->light.up);
  sun = kp_vec3_madd(sun, r * cos(angle), frame.right);
  return kp_vec3_normalize(kp_vec3_madd(sun, r * sin(angle), frame.up));
}

static kp_result create_surfaces(kp_pass *pass) {
  kp_surfaces *s = &pass->surfaces;
  size_t n = (size_t)pass->def->width * (size_t)pass->def->height;
  s->depth = kp_alloc(n * sizeof *s->depth, KP_MEMORY_RENDER);
  s->normals = kp_alloc(n * sizeof *s->normals, KP_MEMORY_RENDER);
  s->albedo = kp_alloc(n * sizeof *s->albedo, KP_MEMORY_RENDER);
  s->materials = kp_alloc(n * sizeof *s->materials, KP_MEMORY_RENDER);
  s->occlusion = kp_alloc(n * sizeof *s->occlusion, KP_MEMORY_RENDER);
  s->smooth_a = kp_alloc(n * sizeof *s->smooth_a, KP_MEMORY_RENDER);
  s->smooth_b = kp_alloc(n * sizeof *s->smooth_b, KP_MEMORY_RENDER);
  bool ok = s->depth != NULL && s->normals != NULL && s->albedo != NULL && s->materials != NULL &&
            s->occlusion != NULL && s->smooth_a != NULL && s->smooth_b != NULL;
  return ok ? KP_OK : KP_ERROR_MEMORY;
}

static void free_pass(kp_pass *pass) {
  kp_surfaces *s = &pass->surfaces;
  kp_free(s->depth);
  kp_free(s->normals);
  kp_free(s->albedo);
  kp_free(s->materials);
  kp_free(s->occlusion);
  kp_free(s->smooth_a);
  kp_free(s->smooth_b);
  kp_free(pass->shadow.depth);
  kp_bins_free(&pass->ball_bins);
  kp_bins_free(&pass->triangle_bins);
  kp_bins_free(&pass->segment_bins);
  kp_volumes_free(pass);
  kp_trace_free(pass);
  kp_caustics_free(pass);
  kp_cast_destroy(&pass->cast);
  kp_yarn_free(pass);
  kp_deep_free(pass);
  kp_primitives_free(pass);
}

// Casters far outside the bounds (a lost particle) must not spoil the resolution of the shadows.
static kp_aabb limited_casters(const kp_render_scene *scene, int outline, kp_aabb bounds,
                               double shutter) {
  kp_aabb box = caster_bounds(scene, outline, 0.5 * shutter * scene->interval);
  if (is_empty(box)) {
    return bounds;
  }
  kp_vec3 size = kp_vec3_sub(bounds.max, bounds.min);
  double room = 0.5 * kp_vec3_length(size);
  kp_vec3 grown = kp_vec3_make(room, room, room);
  kp_aabb clipped;
  clipped.min = kp_vec3_max(box.min, kp_vec3_sub(bounds.min, grown));
  clipped.max = kp_vec3_min(box.max, kp_vec3_add(bounds.max, grown));
  double least = 1e-3 * kp_vec3_length(size);
  kp_vec3 thin = kp_vec3_make(least, least, least);
  clipped.min = kp_vec3_sub(clipped.min, thin);
  clipped.max = kp_vec3_add(clipped.max, thin);
  return is_empty(clipped) ? bounds : clipped;
}

static kp_result render_pass(kp_pass *pass) {
  set_view(pass);
  pass->sun = kp_view_vector(&pass->view, pass->light.sun);
  kp_ground_set(pass);
  KP_TRY(kp_trace_prepare(pass));
  KP_TRY(kp_shadow_render(pass, sun_of_pass(pass)));
  kp_volumes_project(pass);
  kp_primitives_project(pass, &pass->view);
  KP_TRY(kp_yarn_project(pass));
  KP_TRY(kp_caustics_render(pass, sun_of_pass(pass)));
  KP_TRY(kp_points_bin(pass, &pass->view));
  KP_TRY(kp_triangles_bin(pass, &pass->view));
  KP_TRY(kp_lines_bin(pass, &pass->view));
  kp_cover_render(pass);
  kp_smooth_render(pass);
  KP_TRY(kp_slices_render(pass));
  kp_shade_render(pass);
  return atomic_load(&pass->out_of_memory) ? KP_ERROR_MEMORY : KP_OK;
}

// The twelve edges of the bounds as polylines.
typedef struct box_outline {
  kp_vec3 points[24];
  uint64_t first[13];
} box_outline;

static kp_render_lines make_outline(kp_aabb box, box_outline *outline) {
  double size = kp_vec3_length(kp_vec3_sub(box.max, box.min));
  for (int edge = 0; edge < 12; ++edge) {
    int axis = edge / 4, side_a = edge & 1, side_b = (edge >> 1) & 1;
    for (int end = 0; end < 2; ++end) {
      bool high[3];
      high[axis] = end == 1;
      high[(axis + 1) % 3] = side_a == 1;
      high[(axis + 2) % 3] = side_b == 1;
      outline->points[2 * edge + end] =
          kp_vec3_make(high[0] ? box.max.x : box.min.x, high[1] ? box.max.y : box.min.y,
                       high[2] ? box.max.z : box.min.z);
    }
    outline->first[edge] = (uint64_t)(2 * edge);
  }
  outline->first[12] = 24;
  kp_render_lines lines = { .n_lines = 12, .first = outline->first, .radius = 0.0011 * size };
  lines.positions = (kp_render_positions){ &outline->points[0].x, &outline->points[0].y,
                                           &outline->points[0].z, 3 };
  lines.look = kp_default_look_def();
  lines.look.color = kp_vec3_make(0.50, 0.54, 0.58);
  lines.look.gloss = 0.0;
  return lines;
}

static kp_result cast_pass(kp_pass *pass) {
  static const kp_vec3 axes[3] = { { 1.0, 0.0, 0.0 }, { 0.0, 1.0, 0.0 }, { 0.0, 0.0, 1.0 } };
  set_view(pass);
  pass->sun = kp_view_vector(&pass->view, pass->light.sun);
  kp_ground_set(pass);
  if (pass->yarn != NULL) {
    kp_primitives_project(pass, &pass->view);
    KP_TRY(kp_yarn_place_stations(pass));
  }
  KP_TRY(kp_trace_prepare(pass));
  if (kp_caustics_are_wanted(pass)) {
    kp_primitives_project(pass, &pass->view);
    KP_TRY(kp_caustics_render(pass, sun_of_pass(pass)));
  }
  kp_volumes_place(pass, kp_vec3_scale(kp_vec3_add(pass->bounds.min, pass->bounds.max), 0.5), axes);
  return kp_cast_pass(pass->cast, pass);
}

// By rays alone.
static kp_result cast_passes(kp_pass *pass, struct kp_backend *backend) {
  pass->by_rays = true;
  KP_TRY(kp_primitives_create(pass));
  KP_TRY(kp_volumes_create(pass));
  KP_TRY(kp_yarn_create(pass));
  KP_TRY(kp_cast_create(pass, backend, &pass->cast));
  for (pass->index = 0; pass->index < pass->count; ++pass->index) {
    KP_TRY(cast_pass(pass));
  }
  return kp_cast_read(pass->cast, pass->picture);
}

static kp_result render_passes(const kp_render_scene *scene, int outline, const kp_render_def *def,
                               kp_picture *picture) {
  kp_pass pass = { .scene = scene, .def = def, .count = (int)def->samples, .picture = picture };
  pass.outline = outline;
  pass.camera = kp_render_get_camera(scene, def);
  pass.bounds = framed_bounds(scene);
  pass.casters = limited_casters(scene, outline, pass.bounds, def->shutter);
  pass.occlusion_reach =
      0.07f * (float)kp_vec3_length(kp_vec3_sub(pass.bounds.max, pass.bounds.min));
  kp_light_def light = { .up = up_axis(scene->up),
                         .sun = kp_render_get_sun(&pass.camera, def),
                         .sun_strength = def->sun_strength,
                         .sky_strength = def->sky_strength,
                         .background = def->background,
                         .environment = scene->environment };
  pass.light = kp_light_make(&light);
  kp_shadow_set_taps(&pass);
  kp_smooth_set_taps(&pass);
  kp_result result;
  KP_TRY_GOTO(result, kp_picture_resize(picture, (int)def->width, (int)def->height), done);
  bool by_rays = scene->backend != NULL || def->method == KP_METHOD_RAYS;
  if (by_rays) {
    result = cast_passes(&pass, scene->backend);
    goto done;
  }
  KP_TRY_GOTO(result, create_surfaces(&pass), done);
  KP_TRY_GOTO(result, kp_primitives_create(&pass), done);
  KP_TRY_GOTO(result, kp_volumes_create(&pass), done);
  KP_TRY_GOTO(result, kp_yarn_create(&pass), done);
  for (pass.index = 0; pass.index < pass.count && result == KP_OK; ++pass.index) {
    result = render_pass(&pass);
  }
done:
  free_pass(&pass);
  return result;
}

kp_result kp_render_frame(const kp_render_scene *scene, const kp_render_def *def,
                          kp_picture *picture) {
  KP_TRY(kp_render_check(def));
  KP_TRY(check_scene(scene));
  if (!def->box || is_empty(scene->bounds)) {
    return render_passes(scene, -1, def, picture);
  }
  size_t n = (size_t)scene->n_lines;
  kp_render_lines *lines = kp_alloc((n + 1) * sizeof *lines, KP_MEMORY_RENDER);
  if (lines == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (n > 0) {
    memcpy(lines, scene->lines, n * sizeof *lines);
  }
  box_outline outline;
  lines[n] = make_outline(scene->bounds, &outline);
  kp_render_scene with_box = *scene;
  with_box.lines = lines;
  ++with_box.n_lines;
  kp_result result = render_passes(&with_box, scene->n_lines, def, picture);
  kp_free(lines);
  return result;
}
