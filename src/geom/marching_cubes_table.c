#include "geom/marching_cubes_table.h"

#include <stdbool.h>
#include <string.h>

#define NO_EDGE 255

// Corners of the six faces, counter-clockwise seen from outside the cell.
static const uint8_t faces[6][4] = {
  { 0, 4, 6, 2 }, { 1, 3, 7, 5 }, { 0, 1, 5, 4 }, { 2, 6, 7, 3 }, { 0, 2, 3, 1 }, { 4, 5, 7, 6 },
};

void kp_cube_edge(int edge, int corners[2]) {
  static const uint8_t first[KP_CUBE_EDGES] = { 0, 2, 4, 6, 0, 1, 4, 5, 0, 1, 2, 3 };
  corners[0] = first[edge];
  corners[1] = first[edge] | 1 << edge / 4;
}

static int edge_between(int a, int b) {
  for (int e = 0; e < KP_CUBE_EDGES; ++e) {
    int corners[2];
    kp_cube_edge(e, corners);
    if ((corners[0] == a && corners[1] == b) || (corners[0] == b && corners[1] == a)) {
      return e;
    }
  }
  return NO_EDGE;
}

// Walking around a face, the surface runs from the edge where the walk comes to a group of inside
// corners to the edge where it leaves them. The cell on the other side of the face walks the other
// way and finds the same pieces. An edge is left on one of its faces and entered on the other, so
// the pieces join to loops.
static void link_edges(int inside, uint8_t next[KP_CUBE_EDGES]) {
  memset(next, NO_EDGE, KP_CUBE_EDGES);
  for (int f = 0; f < 6; ++f) {
    for (int c = 0; c < 4; ++c) {
      int here = faces[f][c], before = faces[f][(c + 3) % 4];
      if ((inside >> here & 1) == 0 || (inside >> before & 1) != 0) {
        continue;
      }
      int last = c;
      while ((inside >> faces[f][(last + 1) % 4] & 1) != 0) {
        ++last;
      }
      int out = edge_between(faces[f][last % 4], faces[f][(last + 1) % 4]);
      next[edge_between(before, here)] = (uint8_t)out;
    }
  }
}

// Two edges of one face. A triangle may not join the vertices on them unless the loop does: its
// side would lie in the face, where the cell beyond could have the same.
static bool share_face(int a, int b) {
  int p[2], q[2];
  kp_cube_edge(a, p);
  kp_cube_edge(b, q);
  for (int f = 0; f < 6; ++f) {
    int found = 0;
    for (int c = 0; c < 4; ++c) {
      int corner = faces[f][c];
      found += (corner == p[0]) + (corner == p[1]) + (corner == q[0]) + (corner == q[1]);
    }
    if (found == 4) {
      return true;
    }
  }
  return false;
}

typedef struct cutter {
  const uint8_t *loop;
  uint8_t *out;
  int n;
} cutter;

// Cut the part first..last of a loop into triangles; the side from last to first is one already.
// False, with nothing added, when every way needs a forbidden side.
static bool cut_loop(cutter *c, int first, int last) {
  if (last - first < 2) {
    return true;
  }
  for (int tip = first + 1; tip < last; ++tip) {
    int a = c->loop[first], b = c->loop[tip], d = c->loop[last], kept = c->n;
    bool is_allowed =
        (tip == first + 1 || !share_face(a, b)) && (tip == last - 1 || !share_face(b, d));
    if (!is_allowed) {
      continue;
    }
    c->out[3 * c->n] = (uint8_t)a;
    c->out[3 * c->n + 1] = (uint8_t)b;
    c->out[3 * c->n + 2] = (uint8_t)d;
    ++c->n;
    if (cut_loop(c, first, tip) && cut_loop(c, tip, last)) {
      return true;
    }
    c->n = kept;
  }
  return false;
}

void kp_cube_table_make(kp_cube_table *table) {
  for (int inside = 0; inside < 256; ++inside) {
    uint8_t next[KP_CUBE_EDGES], loop[KP_CUBE_EDGES];
    cutter c = { .loop = loop, .out = table->edges[inside] };
    link_edges(inside, next);
    for (int start = 0; start < KP_CUBE_EDGES; ++start) {
      int n = 0;
      for (int e = start; next[e] != NO_EDGE;) {
        int after = next[e];
        loop[n++] = (uint8_t)e;
        next[e] = NO_EDGE;
        e = after;
      }
      (void)cut_loop(&c, 0, n - 1);
    }
    table->n_triangles[inside] = (uint8_t)c.n;
  }
}
