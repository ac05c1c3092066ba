// A straight hair is a chain of triangles (r2 r1 e1), (r1 r0 e0), ... that share corners. A spring
// from p on one of them to q on the next feels a small turn w of the second about r1 by w.m with
//
//   m = (p - r1) x (q - r1)/|q - p|
//
// so three springs of stiffness k over length, c = 1/k', give the joint the compliance
//
//   C = sum c_i n_i n_i^T       n_i.m_j = delta_ij
//
// Compliances of joints in line add up. Triangles are turned by a quarter from one to the next, so
// of C the parts along the hair, across it in the mean, and nothing else are left: a rod of
// segments L has C_along = L/T and C_across = L/B (Love 1927, section 253), two equations for the
// c of both springs against torsion, which are alike, and the c of the one against bending. In a
// straight hair this is k' = 4 B/L^3 for r2 e0 and e1 r0, and k' = B/(0.225 L^3 (1/3 + nu)) for
// e1 e0: it is the springs over three segments that resist bending, and the one over two that
// resists twist.
#include "methods/deform/hair_modulus.h"

#include <math.h>

#define PI 3.14159265358979323846

// What edges that give a little and altitudes of a twentieth of the springs against torsion make of
// them, of 10 to 80 segments of a clamped hair: altitudes stiffen bending by 11 % and edges soften
// it by 1 %; twist of a hair held at both ends goes from 4 % too stiff to 2 % too soft.
#define STIFFER_BENDING 1.095
#define SOFTER_TWIST 1.07
// Of the springs against torsion of a straight hair: edges are all but rigid beside them, and what
// is stiffer than that hides the masses from single precision.
#define EDGES 20.0
// Nodes of a plain chain bend about an arm of at least this share of a segment: that of a turn of
// 15 degrees. In one line they resist no small turn at all.
#define LEAST_ARM 0.13

static double bending_of(const kp_hair_def *def) {
  double r2 = def->fibre_radius * def->fibre_radius;
  return def->young * PI / 4.0 * r2 * r2;
}

static double torsion_of(const kp_hair_def *def) {
  return bending_of(def) / (1.0 + def->poisson);
}

// Between the first and the last joint each stands for the segment around it. The three at an end
// are weighted so that what is linear along the hair is summed exactly from its first to its last
// point, and as evenly as that allows.
double kp_hair_joint_share(int64_t s, int64_t segments) {
  static const double at_end[3] = { 77.0 / 48.0, 56.0 / 48.0, 35.0 / 48.0 };
  int64_t joints = segments - 1;
  if (joints < 6) {
    return (double)segments / (double)joints;
  }
  int64_t from_end = s - 1 < joints - s ? s - 1 : joints - s;
  return from_end < 3 ? at_end[from_end] : 1.0;
}

double kp_hair_edge(const kp_hair_def *def, double length) {
  return isnan(def->edge_stiffness) ? EDGES * 4.0 * sqrt(3.0) * bending_of(def) / (length * length)
                                    : def->edge_stiffness;
}

static double apart(kp_vec3 a, kp_vec3 b) {
  return kp_vec3_length(kp_vec3_sub(b, a));
}

// Of a spring from p to q, about r.
static kp_vec3 arm_of(kp_vec3 p, kp_vec3 q, kp_vec3 r) {
  kp_vec3 cross = kp_vec3_cross(kp_vec3_sub(p, r), kp_vec3_sub(q, r));
  return kp_vec3_scale(cross, 1.0 / fmax(apart(p, q), 1e-300));
}

// Parts of n n^T along t and across it.
static void split(kp_vec3 n, kp_vec3 t, double *along, double *across) {
  double at = kp_vec3_dot(n, t);
  *along += at * at;
  *across += kp_vec3_dot(n, n) - at * at;
}

// Compliances of springs, c[0] against torsion and c[1] against bending, for `length` of rod; false
// where triangles lie so that there are none.
static bool solve_joint(const kp_hair_joint *j, double bending, double torsion, double length,
                        double c[2]) {
  kp_vec3 m[3] = { arm_of(j->r2, *j->e0, j->r1), arm_of(*j->e1, j->r0, j->r1),
                   arm_of(*j->e1, *j->e0, j->r1) };
  kp_vec3 t = kp_vec3_normalize(kp_vec3_sub(j->r0, j->r2));
  double volume = kp_vec3_dot(m[0], kp_vec3_cross(m[1], m[2]));
  double size = kp_vec3_length(m[0]) * kp_vec3_length(m[1]) * kp_vec3_length(m[2]);
  if (!(fabs(volume) > 1e-3 * size)) {
    return false;
  }
  double along[2] = { 0.0, 0.0 }, across[2] = { 0.0, 0.0 };
  for (int i = 0; i < 3; ++i) {
    kp_vec3 n = kp_vec3_scale(kp_vec3_cross(m[(i + 1) % 3], m[(i + 2) % 3]), 1.0 / volume);
    split(n, t, &along[i / 2], &across[i / 2]);
  }
  double wide = 2.0 * length / bending, twist = length / torsion;
  double det = across[0] * along[1] - across[1] * along[0];
  c[0] = (wide * along[1] - twist * across[1]) / det;
  c[1] = (across[0] * twist - along[0] * wide) / det;
  return c[0] > 0.0 && c[1] > 0.0;
}

// Both segments have extra nodes.
static kp_hair_springs of_triangles(const kp_hair_def *def, const kp_hair_joint *j) {
  double bending = bending_of(def), torsion = torsion_of(def);
  double segment = 0.5 * (apart(j->r2, j->r1) + apart(j->r1, j->r0)), c[2];
  double length = j->share * segment;
  if (!solve_joint(j, bending, torsion, length, c)) {
    double k = bending / (length * segment * segment);
    c[0] = 0.25 / k;
    c[1] = 0.225 * (1.0 / 3.0 + def->poisson) / k;
  }
  c[0] *= STIFFER_BENDING;
  c[1] /= SOFTER_TWIST;
  return (kp_hair_springs){ .bend = apart(*j->e1, *j->e0) / c[1],
                            .torsion = { apart(j->r2, *j->e0) / c[0], apart(*j->e1, j->r0) / c[0],
                                         0.0 } };
}

// A spring whose arm is `arm` [m] for a joint of stiffness `joint` [N m].
static double over_arm(double joint, double arm, double segment, double length) {
  arm = fmax(fabs(arm), LEAST_ARM * segment);
  return joint * length / (arm * arm);
}

// A chain without extra nodes bends by the spring over two segments and twists by that over three,
// which turns about the middle one; next to a triangle its extra node stands for the other end.
static kp_hair_springs of_chain(const kp_hair_def *def, const kp_hair_joint *j) {
  double segment = 0.5 * (apart(j->r2, j->r1) + apart(j->r1, j->r0));
  double length = j->share * segment;
  double bending = bending_of(def) / length, torsion = torsion_of(def) / length;
  double span = apart(j->r2, j->r0);
  kp_hair_springs k = { .bend = over_arm(bending, kp_vec3_length(arm_of(j->r2, j->r0, j->r1)),
                                         segment, span) };
  if (j->e0 != NULL) {
    double arm = kp_vec3_length(arm_of(j->r2, *j->e0, j->r1));
    k.torsion[0] = over_arm(bending, arm, segment, apart(j->r2, *j->e0));
  }
  if (j->e1 != NULL) {
    double arm = kp_vec3_length(arm_of(*j->e1, j->r0, j->r1));
    k.torsion[1] = over_arm(bending, arm, segment, apart(*j->e1, j->r0));
  }
  if (j->r3 != NULL) {
    kp_vec3 t = kp_vec3_normalize(kp_vec3_sub(j->r1, j->r2));
    double arm = kp_vec3_dot(arm_of(*j->r3, j->r0, j->r1), t);
    k.torsion[2] = over_arm(torsion, arm, segment, apart(*j->r3, j->r0));
  }
  return k;
}

kp_hair_springs kp_hair_joint_springs(const kp_hair_def *def, const kp_hair_joint *joint) {
  kp_hair_springs k =
      joint->e0 != NULL && joint->e1 != NULL ? of_triangles(def, joint) : of_chain(def, joint);
  k.bend = isnan(def->bend_stiffness) ? k.bend : def->bend_stiffness;
  for (int i = 0; i < 3 && !isnan(def->torsion_stiffness); ++i) {
    k.torsion[i] = def->torsion_stiffness;
  }
  return k;
}
