#include "geom/outline.h"

#include <stdlib.h>

// The piece of the section inside one triangle. Its ends lie on mesh edges, named by their
// vertices.
typedef struct segment {
  uint64_t from_edge, to_edge;
} segment;

typedef KP_ARRAY(segment) segments;

static uint64_t edge_key(kp_index a, kp_index b) {
  uint64_t low = (uint64_t)(a < b ? a : b);
  uint64_t high = (uint64_t)(a < b ? b : a);
  return low << 32 | high;
}

static bool is_above(const kp_mesh *mesh, kp_index vertex) {
  return mesh->vertices[vertex].z >= 0.0;
}

// The section runs from the edge that goes down to the edge that goes up: then the solid is on its
// left.
static kp_result find_segments(const kp_mesh *mesh, segments *out) {
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_index *v = mesh->triangles[t].v;
    segment s = { 0, 0 };
    bool crosses = false;
    for (int i = 0; i < 3; ++i) {
      kp_index from = v[i];
      kp_index to = v[(i + 1) % 3];
      if (is_above(mesh, from) && !is_above(mesh, to)) {
        s.from_edge = edge_key(from, to);
        crosses = true;
      } else if (!is_above(mesh, from) && is_above(mesh, to)) {
        s.to_edge = edge_key(from, to);
      }
    }
    if (crosses) {
      KP_TRY(kp_array_push(out, s));
    }
  }
  return KP_OK;
}

static int compare_segments(const void *a, const void *b) {
  const segment *p = a;
  const segment *q = b;
  return p->from_edge < q->from_edge ? -1 : (p->from_edge > q->from_edge ? 1 : 0);
}

// The segment that starts on an edge; every crossed edge of a closed mesh starts exactly one.
static size_t find_start(const segments *sorted, uint64_t edge) {
  size_t low = 0;
  size_t high = sorted->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (sorted->data[middle].from_edge < edge) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Interpolated in one direction for both triangles of the edge, so that the sides meet exactly.
static kp_vec3 crossing(const kp_mesh *mesh, uint64_t edge) {
  kp_vec3 a = mesh->vertices[edge >> 32];
  kp_vec3 b = mesh->vertices[edge & 0xffffffffu];
  double t = a.z / (a.z - b.z);
  return kp_vec3_make(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), 0.0);
}

static kp_result chain(const kp_mesh *mesh, const segments *sorted, bool *used, kp_outline *out) {
  for (size_t start = 0; start < sorted->count; ++start) {
    size_t i = start;
    while (!used[i]) {
      used[i] = true;
      const segment *s = &sorted->data[i];
      i = find_start(sorted, s->to_edge);
      if (i >= sorted->count || sorted->data[i].from_edge != s->to_edge) {
        return kp_fail(KP_ERROR_FORMAT, "the section of an open mesh is not closed");
      }
      kp_outline_side side = { crossing(mesh, s->from_edge), crossing(mesh, s->to_edge),
                               i == start };
      KP_TRY(kp_array_push(out, side));
    }
  }
  return KP_OK;
}

kp_result kp_outline_slice(const kp_mesh *mesh, kp_outline *outline) {
  segments found = { 0 };
  bool *used = NULL;
  kp_result result;
  KP_TRY_GOTO(result, find_segments(mesh, &found), done);
  if (found.count > 0) {
    qsort(found.data, found.count, sizeof *found.data, compare_segments);
  }
  used = kp_alloc_zero(found.count * sizeof *used, KP_MEMORY_SCRATCH);
  result = used != NULL ? chain(mesh, &found, used, outline) : KP_ERROR_MEMORY;
done:
  kp_free(used);
  kp_array_free(&found);
  return result;
}

kp_mass_properties kp_outline_mass_properties(const kp_outline *outline) {
  kp_mass_properties out = { 0 };
  if (outline->count == 0) {
    return out;
  }

  // shoelace sums relative to a point of the outline, which keeps cancellation small
  kp_vec3 o = outline->data[0].from;
  double area = 0.0, x = 0.0, y = 0.0, polar = 0.0;
  for (size_t i = 0; i < outline->count; ++i) {
    kp_vec3 a = kp_vec3_sub(outline->data[i].from, o);
    kp_vec3 b = kp_vec3_sub(outline->data[i].to, o);
    double cross = a.x * b.y - b.x * a.y;
    area += cross / 2.0;
    x += cross * (a.x + b.x) / 6.0;
    y += cross * (a.y + b.y) / 6.0;
    polar += cross * (kp_vec3_dot(a, a) + kp_vec3_dot(a, b) + kp_vec3_dot(b, b)) / 12.0;
  }
  out.volume = area;
  out.center = o;
  if (area != 0.0) {
    x /= area;
    y /= area;
    out.center = kp_vec3_add(o, kp_vec3_make(x, y, 0.0));
    out.inertia.m[2][2] = polar - area * (x * x + y * y);
  }
  return out;
}
