// Bending. A plate of stiffness D and no Poisson ratio in bending has the energy
//
//   D/2 (w_xx^2 + w_yy^2 + 2 w_xy^2)
//
// per area. Nodes in rows have its finite differences: w_xx from a node and the two beside it in
// its row, as the angle between two triangles that share an edge across the row, w_yy likewise, and
// w_xy from the four nodes of a cell, as the angle at a diagonal. With spacings a and b an angle is
// a w_xx, b w_yy or l w_xy, l the diagonal, and energies k theta^2/2 have
//
//   k_x = D b/a    k_y = D a/b    k_xy = 2 D a b/l^2
//
// half as much at the border, where half a strip is left. Angles at the edges of the mesh itself
// will not do: in a herring-bone they see every other node, so that a sheet bent to a cylinder is
// not at rest and gives way.
//
// Of any triangles, the angle at an edge of a shell w = x^T S x/2 is S : M with
//
//   M_tt = (s_a (s_a - l)/h_a + s_b (s_b - l)/h_b)/2    M_nn = (h_a + h_b)/2    M_tn = (s_a -
//   s_b)/2
//
// where l is the length of the edge, h_a, h_b the heights of the far corners over it and s_a, s_b
// how far along it they stand. It has k = c D A/(M:M), A the area of both triangles, with c so that
// cylinders in all directions have the energy of the plate in the mean: per direction u the mean of
// (u^T M u)^2 is (2 M:M + (tr M)^2)/8. No choice of k per edge gives a plate in every direction on
// every mesh (Grinspun et al. 2006, section 2), and sheets of such edges give way as said above:
// k is larger by GIVE, which meets the elastica within 10 % on the meshes of test_cloth_material.
#include "methods/deform/cloth_material.h"

#include <math.h>
#include <stdlib.h>

#include "base/result.h"

#define GIVE 1.333

double kp_cloth_modulus(const kp_cloth_def *def) {
  return isnan(def->stiffness) ? def->young * def->fabric_thickness : def->stiffness;
}

double kp_cloth_bending(const kp_cloth_def *def) {
  double t = def->fabric_thickness;
  return isnan(def->bending) ? def->young * t * t * t / (12.0 * (1.0 - def->poisson * def->poisson))
                             : def->bending;
}

kp_result kp_cloth_add_membrane(const kp_cloth_def *def, kp_part *part) {
  double modulus = kp_cloth_modulus(def);
  for (size_t k = 0; k < part->triangles.count && modulus > 0.0; ++k) {
    KP_TRY(
        kp_part_add_membrane(part, &part->triangles.data[k], modulus, def->poisson, def->damping));
  }
  return KP_OK;
}

// ---- nodes in rows ------------------------------------------------------------------------------

// The node so many columns and rows from (i, j); -1: none.
static kp_index node_of(const kp_grid_shape *g, int64_t i, int64_t j) {
  if (g->is_tube) {
    i = (i + g->columns) % g->columns;
  }
  bool is_there = i >= 0 && i < g->columns && j >= 0 && j < g->rows;
  return is_there ? (kp_index)(j * g->columns + i) : -1;
}

static double apart(const kp_part *part, kp_index a, kp_index b) {
  return kp_vec3_length(kp_vec3_sub(part->x.data[b], part->x.data[a]));
}

// The angle at a node between `before` and `after`, about an edge to a neighbour across their line:
// to either side in turn, so that none is preferred.
static kp_result bend_line(const kp_cloth_def *def, kp_part *part, kp_index node,
                           const kp_index line[2], const kp_index across[2], bool turn) {
  if (line[0] < 0 || line[1] < 0) {
    return KP_OK;
  }
  double width = 0.0;
  for (int k = 0; k < 2; ++k) {
    width += across[k] >= 0 ? 0.5 * apart(part, node, across[k]) : 0.0;
  }
  if (!(width > 0.0)) {
    return KP_OK;
  }
  kp_index end = across[turn] >= 0 ? across[turn] : across[!turn];
  double length = 0.5 * (apart(part, node, line[0]) + apart(part, node, line[1]));
  return kp_part_add_bend(part, (kp_index[4]){ line[0], line[1], node, end },
                          kp_cloth_bending(def) * width / length, def->bend_damping);
}

static kp_result bend_cell(const kp_cloth_def *def, kp_part *part, const kp_index corner[4],
                           bool turn) {
  const kp_index *c = corner;  // in rows
  kp_index far0 = c[turn ? 0 : 1], far1 = c[turn ? 3 : 2];
  kp_index end0 = c[turn ? 1 : 0], end1 = c[turn ? 2 : 3];
  kp_vec3 e = kp_vec3_sub(part->x.data[end1], part->x.data[end0]);
  kp_vec3 f = kp_vec3_sub(part->x.data[far1], part->x.data[far0]);
  double area = 0.5 * kp_vec3_length(kp_vec3_cross(e, f)), l = kp_vec3_length(e);
  return kp_part_add_bend(part, (kp_index[4]){ far0, far1, end0, end1 },
                          2.0 * kp_cloth_bending(def) * area / (l * l), def->bend_damping);
}

kp_result kp_cloth_bend_rows(const kp_cloth_def *def, const kp_grid_shape *g, kp_part *part) {
  if (!(kp_cloth_bending(def) > 0.0)) {
    return KP_OK;
  }
  for (int64_t j = 0; j < g->rows; ++j) {
    for (int64_t i = 0; i < g->columns; ++i) {
      const kp_index row[2] = { node_of(g, i - 1, j), node_of(g, i + 1, j) };
      const kp_index column[2] = { node_of(g, i, j - 1), node_of(g, i, j + 1) };
      bool turn = (i + j) % 2 == 1;
      KP_TRY(bend_line(def, part, node_of(g, i, j), row, column, turn));
      KP_TRY(bend_line(def, part, node_of(g, i, j), column, row, turn));
      const kp_index cell[4] = { node_of(g, i, j), node_of(g, i + 1, j), node_of(g, i, j + 1),
                                 node_of(g, i + 1, j + 1) };
      if (cell[1] >= 0 && cell[2] >= 0) {
        KP_TRY(bend_cell(def, part, cell, turn));
      }
    }
  }
  return KP_OK;
}

// ---- any triangles ------------------------------------------------------------------------------

// One side of an edge.
typedef struct side {
  kp_index low, high, across;
  kp_index triangle;
  double area;
} side;

typedef KP_ARRAY(side) sides;

static int compare_sides(const void *left, const void *right) {
  const side *l = left, *r = right;
  if (l->low != r->low) {
    return l->low < r->low ? -1 : 1;
  }
  if (l->high != r->high) {
    return l->high < r->high ? -1 : 1;
  }
  return l->triangle < r->triangle ? -1 : l->triangle > r->triangle ? 1 : 0;
}

static double area_of(const kp_part *part, const kp_triangle *t) {
  kp_vec3 a = part->x.data[t->v[0]];
  return 0.5 * kp_vec3_length(kp_vec3_cross(kp_vec3_sub(part->x.data[t->v[1]], a),
                                            kp_vec3_sub(part->x.data[t->v[2]], a)));
}

static kp_result list_sides(const kp_part *part, sides *out) {
  const kp_triangle *triangles = part->triangles.data;
  for (size_t k = 0; k < part->triangles.count; ++k) {
    double area = area_of(part, &triangles[k]);
    for (int c = 0; c < 3; ++c) {
      kp_index a = triangles[k].v[c], b = triangles[k].v[(c + 1) % 3];
      side s = { a < b ? a : b, a < b ? b : a, triangles[k].v[(c + 2) % 3], (kp_index)k, area };
      KP_TRY(kp_array_push(out, s));
    }
  }
  qsort(out->data, out->count, sizeof *out->data, compare_sides);
  return KP_OK;
}

static bool is_pair(const sides *all, size_t k) {
  return k + 1 < all->count && all->data[k].low == all->data[k + 1].low &&
         all->data[k].high == all->data[k + 1].high;
}

// M:M and (tr M)^2 of the edge of two sides.
static void measure(const kp_part *part, const side s[2], double *squares, double *trace2) {
  kp_vec3 c = part->x.data[s[0].low], e = kp_vec3_sub(part->x.data[s[0].high], c);
  double l = kp_vec3_length(e), along[2], height[2], tt = 0.0;
  for (int k = 0; k < 2; ++k) {
    along[k] = kp_vec3_dot(kp_vec3_sub(part->x.data[s[k].across], c), e) / l;
    height[k] = 2.0 * s[k].area / l;
    tt += 0.5 * along[k] * (along[k] - l) / height[k];
  }
  double nn = 0.5 * (height[0] + height[1]), tn = 0.5 * (along[0] - along[1]);
  *squares = tt * tt + nn * nn + 2.0 * tn * tn;
  *trace2 = (tt + nn) * (tt + nn);
}

// What its edges make of a triangle in the mean of all cylinders, over its area. An edge at the
// border counts as the side of a rectangle.
static kp_result add_shares(const kp_part *part, const sides *all, double *share) {
  for (size_t k = 0; k < all->count; ++k) {
    const side *s = &all->data[k];
    if (!is_pair(all, k)) {
      share[s->triangle] += 3.0 / 8.0;
      continue;
    }
    if (k + 2 < all->count && is_pair(all, k + 1)) {
      return kp_fail(KP_ERROR_SCENE,
                     "cloth \"%s\": more than two triangles share the edge of vertices %lld and "
                     "%lld",
                     part->name, (long long)s->low, (long long)s->high);
    }
    double squares, trace2;
    measure(part, s, &squares, &trace2);
    double both = (s[0].area + s[1].area) * (2.0 * squares + trace2) / (16.0 * squares);
    share[s[0].triangle] += both / s[0].area;
    share[s[1].triangle] += both / s[1].area;
    ++k;
  }
  return KP_OK;
}

static kp_result add_angles(const kp_cloth_def *def, kp_part *part, const sides *all,
                            const double *share) {
  double stiffness = kp_cloth_bending(def);
  for (size_t k = 0; k + 1 < all->count; ++k) {
    if (!is_pair(all, k)) {
      continue;
    }
    const side *s = &all->data[k++];
    double squares, trace2;
    measure(part, s, &squares, &trace2);
    double scale = 0.5 * (1.0 / share[s[0].triangle] + 1.0 / share[s[1].triangle]);
    double moment = GIVE * stiffness * scale * (s[0].area + s[1].area) / squares;
    KP_TRY(kp_part_add_bend(part, (kp_index[4]){ s[0].across, s[1].across, s[0].low, s[0].high },
                            moment, def->bend_damping));
  }
  return KP_OK;
}

kp_result kp_cloth_bend_triangles(const kp_cloth_def *def, kp_part *part) {
  if (!(kp_cloth_bending(def) > 0.0)) {
    return KP_OK;
  }
  sides all = { 0 };
  KP_ARRAY(double) share = { 0 };
  kp_result result = list_sides(part, &all);
  if (result == KP_OK) {
    result = kp_array_resize(&share, part->triangles.count);
  }
  for (size_t k = 0; k < share.count; ++k) {
    share.data[k] = 0.0;
  }
  if (result == KP_OK) {
    result = add_shares(part, &all, share.data);
  }
  if (result == KP_OK) {
    result = add_angles(def, part, &all, share.data);
  }
  kp_array_free(&all);
  kp_array_free(&share);
  return result;
}
