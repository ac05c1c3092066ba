#include "methods/deform/part.h"

#include <math.h>

#include "base/result.h"
#include "geom/altitude.h"
#include "geom/hinge.h"

// Tetrahedra flatter than this, against the cube of their longest edge, have no altitude.
#define FLAT 1e-9

void kp_part_free(kp_part *part) {
  kp_array_free(&part->x);
  kp_array_free(&part->v);
  kp_array_free(&part->mass);
  kp_array_free(&part->springs);
  kp_array_free(&part->tets);
  kp_array_free(&part->triangles);
  kp_array_free(&part->segments);
  kp_array_free(&part->curve);
  kp_array_free(&part->strands);
  kp_array_free(&part->hairs);
  kp_array_free(&part->hair_springs);
  kp_array_free(&part->hair_tets);
  kp_array_free(&part->parent);
  kp_array_free(&part->roots);
  kp_array_free(&part->extras);
}

kp_result kp_part_add_node(kp_part *part, kp_vec3 x, double mass, kp_index *number) {
  kp_vec3 still = { 0.0, 0.0, 0.0 };
  if (number != NULL) {
    *number = (kp_index)part->x.count;
  }
  KP_TRY(kp_array_push(&part->x, x));
  KP_TRY(kp_array_push(&part->v, still));
  return kp_array_push(&part->mass, mass);
}

double kp_part_critical(const kp_part *part, kp_index a, kp_index b, double stiffness,
                        double rest) {
  double reduced = 1.0 / (1.0 / part->mass.data[a] + 1.0 / part->mass.data[b]);
  return 2.0 * sqrt(stiffness / rest * reduced);
}

kp_result kp_part_add_spring(kp_part *part, kp_index a, kp_index b, kp_spring_kind kind,
                             double stiffness, double damping_share) {
  double rest = kp_vec3_length(kp_vec3_sub(part->x.data[b], part->x.data[a]));
  if (!(rest > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "\"%s\": its nodes %lld and %lld lie on one place", part->name,
                   (long long)a, (long long)b);
  }
  kp_spring spring = { .a = a,
                       .b = b,
                       .rest = rest,
                       .stiffness = stiffness,
                       .compression = stiffness,
                       .damping = damping_share * kp_part_critical(part, a, b, stiffness, rest),
                       .kind = kind };
  return kp_array_push(&part->springs, spring);
}

// A tetrahedron with its corners in order; `is_flat` when it has no volume to speak of.
static kp_tet oriented(const kp_part *part, const kp_index v[4], bool *is_flat) {
  kp_tet tet = { .v = { v[0], v[1], v[2], v[3] } };
  kp_vec3 e[3];
  double longest = 0.0;
  for (int c = 0; c < 3; ++c) {
    e[c] = kp_vec3_sub(part->x.data[v[c + 1]], part->x.data[v[0]]);
    longest = fmax(longest, kp_vec3_length(e[c]));
  }
  double volume = kp_vec3_dot(e[0], kp_vec3_cross(e[1], e[2]));
  *is_flat = fabs(volume) <= FLAT * longest * longest * longest;
  if (volume < 0.0) {
    tet.v[2] = v[3];
    tet.v[3] = v[2];
  }
  return tet;
}

static kp_result fail_flat(const kp_part *part) {
  return kp_fail(KP_ERROR_SCENE, "\"%s\": a tetrahedron of it is flat", part->name);
}

// Its stiffness, and the damping of the shortest altitude at rest.
static void set_spring(const kp_part *part, kp_tet *tet, double stiffness, double damping_share) {
  kp_vec3 x[4];
  double light = 0.0;
  for (int c = 0; c < 4; ++c) {
    x[c] = part->x.data[tet->v[c]];
    light += 0.25 / part->mass.data[tet->v[c]];  // four ends of a half each: 1/m = sum w^2/m_i
  }
  double shortest = kp_altitude_make(x, kp_altitude_shortest(x)).length;
  tet->stiffness = stiffness;
  tet->damping = damping_share * 2.0 * sqrt(stiffness / fmax(shortest, tet->floor) / light);
}

kp_result kp_part_add_tet(kp_part *part, const kp_index v[4], kp_tet_kind kind, double stiffness,
                          double damping_share, bool is_shell) {
  bool is_flat;
  kp_tet tet = oriented(part, v, &is_flat);
  if (is_flat) {
    return is_shell ? KP_OK : fail_flat(part);
  }
  tet.kind = kind;
  set_spring(part, &tet, stiffness, damping_share);
  if (kind != KP_TET_POINT_FACE) {
    return kp_array_push(&part->tets, tet);
  }
  for (int face = 0; face < KP_ALTITUDE_FACES; ++face) {
    kp_tet turned = tet;
    for (int c = 0; c < 4; ++c) {
      turned.v[c] = tet.v[kp_altitude_corner(face, c)];
    }
    KP_TRY(kp_array_push(&part->tets, turned));
  }
  return KP_OK;
}

kp_result kp_part_add_axial(kp_part *part, const kp_index v[4], double stiffness,
                            double damping_share, double floor) {
  bool is_flat;
  kp_tet tet = oriented(part, v, &is_flat);
  if (is_flat && !(floor > 0.0)) {
    return KP_OK;
  }
  tet.kind = KP_TET_ALTITUDE;
  tet.floor = floor;
  set_spring(part, &tet, stiffness, damping_share);
  return kp_array_push(&part->tets, tet);
}

kp_result kp_part_add_elastic(kp_part *part, const kp_index v[4], double young, double poisson,
                              double viscosity) {
  bool is_flat;
  kp_tet tet = oriented(part, v, &is_flat);
  if (is_flat) {
    return fail_flat(part);
  }
  tet.kind = KP_TET_ELASTIC;
  tet.stiffness = young;
  tet.poisson = poisson;
  tet.damping = viscosity;
  return kp_array_push(&part->tets, tet);
}

static kp_result add_hinge(kp_part *part, kp_tet tet, double damping_share) {
  kp_vec3 x[4], slope[4];
  for (int k = 0; k < 4; ++k) {
    x[k] = part->x.data[tet.v[k]];
  }
  double angle = kp_hinge_angle(x, slope), light = 0.0;
  for (int k = 0; k < 4; ++k) {
    light += kp_vec3_dot(slope[k], slope[k]) / part->mass.data[tet.v[k]];
  }
  if (!(light > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "\"%s\": a triangle of it is flat", part->name);
  }
  // slope of k (sin(angle/2) - sin(rest/2))
  double flat = fmax(cos(0.5 * angle), 1e-3);
  tet.stiffness *= tet.kind == KP_TET_BEND ? 2.0 / flat : 1.0;
  double slack = 0.5 * tet.stiffness * cos(0.5 * angle);
  tet.damping = damping_share * 2.0 * sqrt(slack / light);
  return kp_array_push(&part->tets, tet);
}

kp_result kp_part_add_hinge(kp_part *part, kp_index a, kp_index b, kp_index c, kp_index d,
                            double stiffness, double damping_share) {
  return add_hinge(part,
                   (kp_tet){ .v = { a, b, c, d }, .kind = KP_TET_HINGE, .stiffness = stiffness },
                   damping_share);
}

kp_result kp_part_add_bend(kp_part *part, const kp_index v[4], double moment,
                           double damping_share) {
  return add_hinge(
      part, (kp_tet){ .v = { v[0], v[1], v[2], v[3] }, .kind = KP_TET_BEND, .stiffness = moment },
      damping_share);
}

// Damping is a share of that of its fastest way to swing: with the slopes b of its corners the
// largest eigenvalue of A (2 mu + lambda) sum b b^T/m.
kp_result kp_part_add_membrane(kp_part *part, const kp_triangle *triangle, double modulus,
                               double poisson, double damping_share) {
  const kp_index *v = triangle->v;
  kp_vec3 e = kp_vec3_sub(part->x.data[v[1]], part->x.data[v[0]]);
  kp_vec3 f = kp_vec3_sub(part->x.data[v[2]], part->x.data[v[0]]);
  double length = kp_vec3_length(e), area2 = kp_vec3_length(kp_vec3_cross(e, f));
  if (!(area2 > FLAT * length * kp_vec3_length(f))) {
    return kp_fail(KP_ERROR_SCENE, "\"%s\": a triangle of it is flat", part->name);
  }
  double along = kp_vec3_dot(e, f) / length;
  const double b[3][2] = { { -1.0 / length, (along - length) / area2 },
                           { 1.0 / length, -along / area2 },
                           { 0.0, length / area2 } };
  double xx = 0.0, yy = 0.0, xy = 0.0;
  for (int c = 0; c < 3; ++c) {
    double m = part->mass.data[v[c]];
    xx += b[c][0] * b[c][0] / m;
    yy += b[c][1] * b[c][1] / m;
    xy += b[c][0] * b[c][1] / m;
  }
  double largest = 0.5 * (xx + yy) + sqrt(0.25 * (xx - yy) * (xx - yy) + xy * xy);
  double squared = 0.5 * area2 * modulus / (1.0 - poisson * poisson) * largest;
  kp_tet tet = { .v = { v[0], v[1], v[2], v[0] },
                 .kind = KP_TET_MEMBRANE,
                 .stiffness = modulus,
                 .poisson = poisson,
                 .damping = damping_share * 2.0 / sqrt(squared) };
  return kp_array_push(&part->tets, tet);
}
