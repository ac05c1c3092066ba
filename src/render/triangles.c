// Triangles, seen from both sides. Corners are snapped to 1/256 pixel and edges are tested in
// integers with a tie rule, so that triangles with a common edge cover each pixel along it exactly
// once (Pineda 1988, "A Parallel Algorithm for Polygon Rasterization"). Depth and barycentric
// weights follow from the unsnapped corners in homogeneous form (Olano and Greer 1997), which needs
// no clipping of them.
#include <math.h>

#include "par/parallel.h"
#include "render/pass.h"

#define CHUNK 4096
#define SUBPIXEL 256
#define COORDINATE_LIMIT 536870912.0  // 2^29: products of two coordinate differences fit 64 bits
#define OFF_SCREEN INT32_MIN          // x of a vertex before the near plane, or nowhere

// A triangle after the near plane has cut it: up to four corners in 1/256 pixel, interior on the
// positive side of each edge.
typedef struct polygon {
  int n;
  int64_t x[4], y[4];
} polygon;

// Depth over the picture: numerator / (a u + b v + c) for the camera, the denominator alone for the
// sun.
typedef struct depth_plane {
  double a, b, c, numerator, low, high;
} depth_plane;

static int64_t to_fixed(double pixels) {
  double v = pixels * SUBPIXEL;
  return llrint(v < -COORDINATE_LIMIT  ? -COORDINATE_LIMIT
                : v > COORDINATE_LIMIT ? COORDINATE_LIMIT
                                       : v);
}

static kp_screen_place screen_place(const kp_view *view, double x, double y, double z) {
  double scale = view->parallel ? (double)view->scale : (double)view->scale / z;
  return (kp_screen_place){ (int32_t)to_fixed(x * scale + (double)view->axis_x),
                            (int32_t)to_fixed(y * scale + (double)view->axis_y) };
}

static void add_corner(polygon *out, kp_screen_place place) {
  out->x[out->n] = place.x;
  out->y[out->n] = place.y;
  ++out->n;
}

static int64_t doubled_area(const polygon *p) {
  int64_t area = 0;
  for (int i = 1; i + 1 < p->n; ++i) {
    area += (p->x[i] - p->x[0]) * (p->y[i + 1] - p->y[0]) -
            (p->x[i + 1] - p->x[0]) * (p->y[i] - p->y[0]);
  }
  return area;
}

static void reverse(polygon *p) {
  for (int i = 0; i < p->n / 2; ++i) {
    int j = p->n - 1 - i;
    int64_t x = p->x[i], y = p->y[i];
    p->x[i] = p->x[j];
    p->y[i] = p->y[j];
    p->x[j] = x;
    p->y[j] = y;
  }
}

// The part of a triangle behind the near plane.
static void clip_polygon(const kp_view *view, const kp_f3 *corners, polygon *out) {
  double nearest = view->parallel ? -HUGE_VAL : (double)view->nearest;
  for (int i = 0; i < 3; ++i) {
    kp_f3 p = corners[i], q = corners[(i + 1) % 3];
    if (!isfinite(p.x) || !isfinite(p.y) || !isfinite(p.z)) {
      out->n = 0;
      return;
    }
    bool p_in = (double)p.z >= nearest, q_in = (double)q.z >= nearest;
    if (p_in) {
      add_corner(out, screen_place(view, (double)p.x, (double)p.y, (double)p.z));
    }
    if (p_in != q_in) {
      // always from the inner end, so that both triangles of an edge cut it at the same point
      kp_f3 in = p_in ? p : q, away = p_in ? q : p;
      double t = ((double)in.z - nearest) / ((double)in.z - (double)away.z);
      add_corner(out, screen_place(view, (double)in.x + t * ((double)away.x - (double)in.x),
                                   (double)in.y + t * ((double)away.y - (double)in.y), nearest));
    }
  }
}

static void get_corners(const kp_primitives *p, uint32_t triangle, kp_f3 *corners) {
  for (int i = 0; i < 3; ++i) {
    corners[i] = p->vertices[p->triangles[3 * (size_t)triangle + (size_t)i]];
  }
}

// False when nothing of the triangle can be seen. The view is the one it was binned for.
static bool make_polygon(const kp_primitives *p, const kp_view *view, uint32_t triangle,
                         polygon *out) {
  const uint32_t *v = p->triangles + 3 * (size_t)triangle;
  kp_screen_place a = p->screen[v[0]], b = p->screen[v[1]], c = p->screen[v[2]];
  out->n = 0;
  if (a.x != OFF_SCREEN && b.x != OFF_SCREEN && c.x != OFF_SCREEN) {
    add_corner(out, a);
    add_corner(out, b);
    add_corner(out, c);
  } else {
    kp_f3 corners[3];
    get_corners(p, triangle, corners);
    clip_polygon(view, corners, out);
  }
  if (out->n < 3) {
    return false;
  }
  int64_t area = doubled_area(out);
  if (area < 0) {
    reverse(out);
  }
  return area != 0;
}

static int64_t floor_divide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

// Pixels [*x0, *x1) of row y whose middles lie in the polygon, within the given range.
static void find_span(const polygon *p, int y, int *x0, int *x1) {
  int64_t low = *x0, high = *x1 - 1;
  int64_t row = (int64_t)y * SUBPIXEL + SUBPIXEL / 2;
  for (int i = 0; i < p->n; ++i) {
    int j = i + 1 < p->n ? i + 1 : 0;
    int64_t dx = p->x[j] - p->x[i], dy = p->y[j] - p->y[i];
    // inside where slope * x + constant >= least; an edge owns its own pixels in one direction only
    int64_t slope = -dy * SUBPIXEL;
    int64_t constant = dx * (row - p->y[i]) - dy * (SUBPIXEL / 2 - p->x[i]);
    int64_t least = dy < 0 || (dy == 0 && dx > 0) ? 0 : 1;
    if (slope == 0) {
      if (constant < least) {
        high = low - 1;
      }
    } else if (slope > 0) {
      int64_t first = -floor_divide(constant - least, slope);
      low = first > low ? first : low;
    } else {
      int64_t last = floor_divide(constant - least, -slope);
      high = last < high ? last : high;
    }
  }
  if (high < low) {
    *x1 = *x0;
    return;
  }
  *x0 = (int)low;
  *x1 = (int)high + 1;
}

static void pixel_rows(const polygon *p, int *y0, int *y1) {
  int64_t low = p->y[0], high = p->y[0];
  for (int i = 1; i < p->n; ++i) {
    low = p->y[i] < low ? p->y[i] : low;
    high = p->y[i] > high ? p->y[i] : high;
  }
  int64_t first = floor_divide(low, SUBPIXEL), last = floor_divide(high, SUBPIXEL) + 1;
  *y0 = first > *y0 ? (int)first : *y0;
  *y1 = last < *y1 ? (int)last : *y1;
}

static kp_vec3 to_double(kp_f3 v) {
  return kp_vec3_make((double)v.x, (double)v.y, (double)v.z);
}

static depth_plane make_plane(const kp_view *view, const kp_f3 *corners) {
  kp_vec3 a = to_double(corners[0]), b = to_double(corners[1]), c = to_double(corners[2]);
  kp_vec3 n = kp_vec3_cross(kp_vec3_sub(b, a), kp_vec3_sub(c, a));
  depth_plane plane;
  plane.low = fmin(a.z, fmin(b.z, c.z));
  plane.high = fmax(a.z, fmax(b.z, c.z));
  if (view->parallel) {
    double k = n.z != 0.0 ? 1.0 / n.z : 0.0;
    plane.a = -n.x * k;
    plane.b = -n.y * k;
    plane.c = a.z - plane.a * a.x - plane.b * a.y;
    plane.numerator = 0.0;
  } else {
    plane.a = n.x;
    plane.b = n.y;
    plane.c = n.z;
    plane.numerator = kp_vec3_dot(a, n);
    plane.low = fmax(plane.low, (double)view->nearest);
  }
  return plane;
}

// Snapping can put a pixel just outside the true triangle, where a steep plane runs away: clamp.
static float plane_depth(const depth_plane *plane, bool parallel, float u, float v) {
  double d = plane->a * (double)u + plane->b * (double)v + plane->c;
  double z = parallel ? d : plane->numerator / d;
  return (float)(z > plane->low ? (z < plane->high ? z : plane->high) : plane->low);
}

static const kp_material *get_material(const kp_pass *pass, uint32_t triangle, int *mesh) {
  *mesh = kp_primitives_set(pass->primitives.triangle_offsets, pass->scene->n_meshes, triangle);
  return &pass->materials[KP_MATERIAL_FIRST + pass->scene->n_points + *mesh];
}

typedef struct bin_context {
  kp_pass *pass;
  const kp_view *view;
} bin_context;

// Glass lets the sun through; what is more opaque than clear throws a full shadow.
static bool throws_shadow(const kp_material *material) {
  return material->opacity >= 0.5f && material->line_width <= 0.0f;
}

// Tiles of the pixels whose middles lie in the box around a polygon; none where there are no such,
// which is so for most triangles of a fine mesh.
static kp_bin_rect find_rect(const polygon *p, const kp_view *view) {
  int64_t x0 = p->x[0], y0 = p->y[0], x1 = p->x[0], y1 = p->y[0];
  for (int k = 1; k < p->n; ++k) {
    x0 = p->x[k] < x0 ? p->x[k] : x0;
    x1 = p->x[k] > x1 ? p->x[k] : x1;
    y0 = p->y[k] < y0 ? p->y[k] : y0;
    y1 = p->y[k] > y1 ? p->y[k] : y1;
  }
  const int64_t half = SUBPIXEL / 2;
  x0 = floor_divide(x0 + half - 1, SUBPIXEL);
  y0 = floor_divide(y0 + half - 1, SUBPIXEL);
  x1 = floor_divide(x1 - half, SUBPIXEL);
  y1 = floor_divide(y1 - half, SUBPIXEL);
  if (x0 > x1 || y0 > y1) {
    return (kp_bin_rect){ 0, 0, -1, -1 };
  }
  return kp_bins_rect((float)x0, (float)y0, (float)x1, (float)y1, view->width, view->height);
}

static void find_rects(int64_t begin, int64_t end, void *context) {
  const bin_context *c = context;
  const kp_pass *pass = c->pass;
  const int64_t *offsets = pass->primitives.triangle_offsets;
  int mesh = kp_primitives_set(offsets, pass->scene->n_meshes, begin);
  for (int64_t i = begin; i < end; ++i) {
    while (i >= offsets[mesh + 1]) {
      ++mesh;
    }
    const kp_material *m = &pass->materials[KP_MATERIAL_FIRST + pass->scene->n_points + mesh];
    bool is_drawn = !c->view->parallel || throws_shadow(m);
    polygon p;
    bool is_seen = is_drawn && make_polygon(&pass->primitives, c->view, (uint32_t)i, &p);
    pass->primitives.rects[i] = is_seen ? find_rect(&p, c->view) : (kp_bin_rect){ 0, 0, -1, -1 };
  }
}

static void find_places(int64_t begin, int64_t end, void *context) {
  const bin_context *c = context;
  const kp_primitives *p = &c->pass->primitives;
  float nearest = c->view->parallel ? -HUGE_VALF : c->view->nearest;
  for (int64_t i = begin; i < end; ++i) {
    kp_f3 v = p->vertices[i];
    bool is_before = v.z >= nearest && isfinite(v.x) && isfinite(v.y) && isfinite(v.z);
    p->screen[i] = is_before ? screen_place(c->view, (double)v.x, (double)v.y, (double)v.z)
                             : (kp_screen_place){ OFF_SCREEN, 0 };
  }
}

kp_result kp_triangles_bin(kp_pass *pass, const kp_view *view) {
  bin_context context = { pass, view };
  kp_parallel_for(pass->primitives.n_vertices, CHUNK, find_places, &context);
  kp_parallel_for(pass->primitives.n_triangles, CHUNK, find_rects, &context);
  return kp_bins_build(&pass->triangle_bins, pass->primitives.rects, pass->primitives.n_triangles,
                       kp_view_tiles_x(view), kp_view_tiles_y(view));
}

// Pixels from the middle of a pixel to the nearest edge of the polygon around it.
static float edge_distance(const polygon *p, int x, int y) {
  double px = ((double)x + 0.5) * SUBPIXEL, py = ((double)y + 0.5) * SUBPIXEL, best = HUGE_VAL;
  for (int i = 0; i < p->n; ++i) {
    int j = i + 1 < p->n ? i + 1 : 0;
    double dx = (double)(p->x[j] - p->x[i]), dy = (double)(p->y[j] - p->y[i]);
    double length = sqrt(dx * dx + dy * dy);
    if (length > 0.0) {
      double off = dx * (py - (double)p->y[i]) - dy * (px - (double)p->x[i]);
      best = fmin(best, fabs(off) / length);
    }
  }
  return (float)(best / SUBPIXEL);
}

// Of a wireframe only what is within half a line of an edge; the next triangle has the other half.
static void cover_triangle(const kp_pass *pass, uint32_t triangle, float line_width,
                           kp_tile *tile) {
  kp_f3 corners[3];
  polygon p;
  if (!make_polygon(&pass->primitives, &pass->view, triangle, &p)) {
    return;
  }
  get_corners(&pass->primitives, triangle, corners);
  depth_plane plane = make_plane(&pass->view, corners);
  int y0 = tile->box.y0, y1 = tile->box.y1;
  pixel_rows(&p, &y0, &y1);
  for (int y = y0; y < y1; ++y) {
    int x0 = tile->box.x0, x1 = tile->box.x1;
    find_span(&p, y, &x0, &x1);
    float v = kp_view_slope_y(&pass->view, y);
    for (int x = x0; x < x1; ++x) {
      float z = plane_depth(&plane, false, kp_view_slope_x(&pass->view, x), v);
      int pixel = kp_tile_pixel(tile, x, y);
      bool is_drawn = line_width <= 0.0f || edge_distance(&p, x, y) <= 0.5f * line_width;
      if (z < tile->depth[pixel] && is_drawn) {
        tile->depth[pixel] = z;
        tile->primitive[pixel] = triangle;
        tile->kind[pixel] = KP_PRIMITIVE_TRIANGLE;
      }
    }
  }
}

void kp_triangles_cover(const kp_pass *pass, int64_t tile_index, kp_tile *tile) {
  const kp_bins *bins = &pass->triangle_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    int mesh;
    const kp_material *material = get_material(pass, bins->items[i], &mesh);
    if (material->opacity >= 1.0f || material->line_width > 0.0f) {
      cover_triangle(pass, bins->items[i], material->line_width, tile);
    }
  }
}

// Weights of the corners at a point of the triangle's plane, clamped to the triangle.
static void find_weights(const kp_f3 *corners, kp_f3 position, float *weights) {
  kp_vec3 c[3] = { to_double(corners[0]), to_double(corners[1]), to_double(corners[2]) };
  kp_vec3 d = to_double(position);
  double w[3], sum = 0.0;
  double sign = kp_vec3_dot(c[0], kp_vec3_cross(c[1], c[2])) < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < 3; ++i) {
    w[i] = fmax(sign * kp_vec3_dot(d, kp_vec3_cross(c[(i + 1) % 3], c[(i + 2) % 3])), 0.0);
    sum += w[i];
  }
  for (int i = 0; i < 3; ++i) {
    weights[i] = sum > 0.0 ? (float)(w[i] / sum) : 1.0f / 3.0f;
  }
}

// The face's normal towards the eye, and on which side of the face that is.
static void find_face(const kp_f3 *corners, const kp_material *material, kp_surface_point *point) {
  kp_f3 face = kp_f3_cross(kp_f3_sub(corners[1], corners[0]), kp_f3_sub(corners[2], corners[0]));
  bool is_behind = kp_f3_dot(face, point->eye) < 0.0f;
  point->is_inside = is_behind != material->is_inside_out;
  point->face = kp_f3_scale(kp_f3_normalize(face), is_behind ? -1.0f : 1.0f);
}

static kp_f3 find_normal(const kp_pass *pass, uint32_t triangle, const float *weights, kp_f3 face) {
  const kp_primitives *p = &pass->primitives;
  kp_f3 sum = { 0.0f, 0.0f, 0.0f };
  for (int i = 0; i < 3; ++i) {
    kp_f3 n = kp_f3_normalize(p->normals[p->triangles[3 * (size_t)triangle + (size_t)i]]);
    sum = kp_f3_madd(sum, weights[i], n);
  }
  if (kp_f3_dot(sum, sum) < 1e-6f) {
    return face;
  }
  kp_f3 smooth = kp_f3_normalize(kp_view_vector(&pass->view, to_double(sum)));
  return kp_f3_dot(smooth, face) < 0.0f ? kp_f3_scale(smooth, -1.0f) : smooth;
}

void kp_triangles_resolve(const kp_pass *pass, uint32_t triangle, kp_surface_point *point) {
  kp_f3 corners[3];
  float weights[3];
  get_corners(&pass->primitives, triangle, corners);
  find_weights(corners, point->position, weights);
  point->eye = kp_f3_normalize(kp_f3_scale(point->position, -1.0f));
  kp_triangles_resolve_at(pass, triangle, weights, point);
}

// Colours that the vertices bring along.
static kp_rgb mix_colors(const kp_primitives *p, const kp_render_mesh *m, int mesh,
                         uint32_t triangle, const float *weights) {
  kp_rgb sum = { 0.0f, 0.0f, 0.0f };
  for (int i = 0; i < 3; ++i) {
    int64_t v = p->triangles[3 * (size_t)triangle + (size_t)i] - p->vertex_offsets[mesh];
    kp_rgb color = kp_rgb_make(m->colors[0][v], m->colors[1][v], m->colors[2][v]);
    sum = kp_rgb_add(sum, kp_rgb_scale(color, weights[i]));
  }
  return sum;
}

void kp_triangles_resolve_at(const kp_pass *pass, uint32_t triangle, const float *weights,
                             kp_surface_point *point) {
  const kp_primitives *p = &pass->primitives;
  int mesh;
  const kp_material *material = get_material(pass, triangle, &mesh);
  kp_f3 corners[3];
  get_corners(p, triangle, corners);
  find_face(corners, material, point);
  point->normal = find_normal(pass, triangle, weights, point->face);
  point->material = (uint16_t)(material - pass->materials);
  point->albedo = material->color;
  if (material->scalar != NULL) {
    float scalar = 0.0f;
    for (int i = 0; i < 3; ++i) {
      int64_t vertex = p->triangles[3 * (size_t)triangle + (size_t)i];
      scalar += weights[i] * material->scalar[vertex - p->vertex_offsets[mesh]];
    }
    point->albedo = kp_material_color(material, scalar);
  } else if (pass->scene->meshes[mesh].colors[0] != NULL) {
    point->albedo = mix_colors(p, &pass->scene->meshes[mesh], mesh, triangle, weights);
  }
  if (material->is_two_sided && point->is_inside) {
    point->albedo = material->back;
  }
}

static void shadow_triangle(const kp_pass *pass, uint32_t triangle, kp_tile_box box) {
  const kp_view *view = &pass->sun_view;
  kp_f3 corners[3];
  polygon p;
  if (!make_polygon(&pass->primitives, view, triangle, &p)) {
    return;
  }
  get_corners(&pass->primitives, triangle, corners);
  depth_plane plane = make_plane(view, corners);
  int y0 = box.y0, y1 = box.y1;
  pixel_rows(&p, &y0, &y1);
  for (int y = y0; y < y1; ++y) {
    int x0 = box.x0, x1 = box.x1;
    find_span(&p, y, &x0, &x1);
    float v = kp_view_slope_y(view, y);
    float *row = pass->shadow.depth + (int64_t)y * view->width;
    for (int x = x0; x < x1; ++x) {
      row[x] = kp_minf(row[x], plane_depth(&plane, true, kp_view_slope_x(view, x), v));
    }
  }
}

void kp_triangles_shadow(const kp_pass *pass, int64_t tile_index, kp_tile_box box) {
  const kp_bins *bins = &pass->triangle_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    shadow_triangle(pass, bins->items[i], box);
  }
}

// A clear pane reflects more the flatter it is seen (Schlick 1994).
static kp_fragment shade_clear(const kp_pass *pass, uint32_t triangle, int x, int y, float z) {
  kp_fragment f = { .depth = z, .order = triangle, .line = UINT32_MAX };
  int mesh;
  const kp_material *material = get_material(pass, triangle, &mesh);
  if (material->is_clear) {
    f.is_clear = true;
    return f;
  }
  kp_surface_point point = { .position = kp_view_unproject(&pass->view, x, y, z),
                             .occlusion = 1.0f };
  kp_triangles_resolve(pass, triangle, &point);
  float facing = fabsf(kp_f3_dot(point.normal, kp_f3_normalize(point.position)));
  float grazing = powf(1.0f - facing, 5.0f) * material->gloss;
  f.alpha = kp_clampf(material->opacity + 0.5f * grazing, 0.0f, 1.0f);
  f.color = kp_shade_surface(pass, &point, kp_pass_noise(pass, x, y, 3));
  return f;
}

static void see_through_triangle(kp_pass *pass, uint32_t triangle, kp_tile_box box,
                                 kp_fragments *fragments) {
  kp_f3 corners[3];
  polygon p;
  if (!make_polygon(&pass->primitives, &pass->view, triangle, &p)) {
    return;
  }
  get_corners(&pass->primitives, triangle, corners);
  depth_plane plane = make_plane(&pass->view, corners);
  int y0 = box.y0, y1 = box.y1;
  pixel_rows(&p, &y0, &y1);
  for (int y = y0; y < y1; ++y) {
    int x0 = box.x0, x1 = box.x1;
    find_span(&p, y, &x0, &x1);
    float v = kp_view_slope_y(&pass->view, y);
    for (int x = x0; x < x1; ++x) {
      float z = plane_depth(&plane, false, kp_view_slope_x(&pass->view, x), v);
      if (z < pass->surfaces.depth[(int64_t)y * pass->view.width + x]) {
        kp_fragment f = shade_clear(pass, triangle, x, y, z);
        f.pixel = (uint16_t)((y - box.y0) * KP_TILE_SIZE + (x - box.x0));
        kp_shade_add_fragment(pass, fragments, &f);
      }
    }
  }
}

void kp_triangles_see_through(kp_pass *pass, int64_t tile_index, kp_tile_box box,
                              kp_fragments *fragments) {
  const kp_bins *bins = &pass->triangle_bins;
  for (int64_t i = bins->offsets[tile_index]; i < bins->offsets[tile_index + 1]; ++i) {
    int mesh;
    const kp_material *material = get_material(pass, bins->items[i], &mesh);
    bool is_clear = material->opacity < 1.0f && material->opacity > 0.0f;
    if (is_clear && material->line_width <= 0.0f) {
      see_through_triangle(pass, bins->items[i], box, fragments);
    }
  }
}
