// A part: one deformable of a scene, a cloth, a head of hair, a soft body, as its generator hands
// it to the system of all deformables (deform.h). Host arrays in double; the numbers of nodes are
// those of the part, from 0. The system joins all parts into one set of nodes.
#pragma once

#include "base/array.h"
#include "geom/mesh.h"
#include "kelpie/types.h"
#include "methods/method.h"

// Consecutive elements of one kind.
typedef struct kp_range {
  int64_t first, n;
} kp_range;

typedef enum kp_spring_kind {
  KP_SPRING_EDGE,     // along an edge of the mesh, a segment of a hair
  KP_SPRING_SHEAR,    // across a cell of a regular grid
  KP_SPRING_BEND,     // across an edge, to the second neighbour
  KP_SPRING_TORSION,  // of hair
  KP_SPRING_LINK,     // between layers
  KP_SPRING_KIND_COUNT
} kp_spring_kind;

// Force on a: k (l/l0 - 1) d with d from a to b, and b ((v_b - v_a).d) d (Selle 2008, section
// 5.3.2). Biphasic: another k when it is shorter than at rest.
typedef struct kp_spring {
  kp_index a, b;
  double rest;         // l0 [m]
  double stiffness;    // k of a stretched one [N]: Young's modulus times area
  double compression;  // k of a compressed one [N]
  double damping;      // N s/m
  kp_spring_kind kind;
} kp_spring;

// How a tetrahedron of four nodes resists.
typedef enum kp_tet_kind {
  KP_TET_ALTITUDE,    // the shortest of seven altitude springs (section 5.3.4)
  KP_TET_POINT_FACE,  // all four point/face springs (Molino et al. 2003), a baseline
  KP_TET_ELASTIC,     // a material: stable neo-Hookean (Smith, de Goes and Kim 2018)
  KP_TET_HINGE,       // the angle between triangles v[2] v[3] v[0] and v[3] v[2] v[1]
  KP_TET_BEND,        // the same of a shell of a material, which knows its clamps
  KP_TET_MEMBRANE,    // the triangle v[0] v[1] v[2] of a material (deform_membrane_kernels.h)
  KP_TET_KIND_COUNT
} kp_tet_kind;

typedef struct kp_tet {
  kp_index v[4];  // of positive volume at rest
  kp_tet_kind kind;
  double stiffness;  // springs: k [N]; elastic: Young's modulus [Pa]; hinges: N m; membranes: N/m
  double poisson;    // elastic and membranes only
  double damping;    // springs: N s/m; elastic: of the rate of strain [Pa s]; hinges: N m s;
                     // membranes: over the stiffness [s]
  double floor;      // springs: the least rest length strain is taken of [m]
} kp_tet;

// A run of nodes that is drawn as one curve: a hair, a yarn.
typedef struct kp_strand {
  kp_index first, count;  // in `curve`
} kp_strand;

// What contact sees of the part's nodes and faces.
typedef struct kp_part_surface {
  double thickness;    // h [m]: how near two surfaces may come before they repel
  double friction;     // against others of its kind
  bool self;           // against itself too
  bool segments_only;  // edge against edge, and no rigid zones: hair
} kp_part_surface;

// What a part of hair does beyond springs (hair.h).
typedef struct kp_part_hair {
  kp_index body;                             // that leads the roots; -1: they stay
  kp_hair_limit_kind limit;                  // of stretching
  double stiction;                           // N; 0: none
  double stiction_distance, stiction_break;  // m
  double stiction_damping;                   // share of the critical one
  int64_t stiction_links;                    // per segment at most
} kp_part_hair;

typedef struct kp_part {
  char name[KP_TEXT_SIZE];
  kp_solid_scheme scheme;  // how it is advanced in time
  KP_ARRAY(kp_vec3) x;     // m
  KP_ARRAY(kp_vec3) v;     // m/s
  KP_ARRAY(double) mass;   // kg
  KP_ARRAY(kp_spring) springs;
  KP_ARRAY(kp_tet) tets;
  KP_ARRAY(kp_triangle) triangles;  // surface: contact, wind, pictures
  KP_ARRAY(kp_index) segments;      // two nodes each: contact of what has no triangles
  KP_ARRAY(kp_index) curve;         // nodes of all strands, for pictures
  KP_ARRAY(kp_strand) strands;
  KP_ARRAY(kp_index) hairs;  // first node of each, and the number of nodes at the end
  KP_ARRAY(kp_index) hair_springs, hair_tets;  // the same of springs and tetrahedra
  KP_ARRAY(kp_index) parent;  // of nodes of hair: the one nearer to the root, -1: none
  KP_ARRAY(kp_index) roots;   // nodes that are led
  KP_ARRAY(kp_index) extras;  // nodes that are there for the twist alone
  kp_part_hair hair;
  kp_part_surface surface;
  double drag;             // N s/m^3 of surface against the wind, along the normal (Eq. of 6.6)
  double viscosity;        // N s/(m kg): slows every node by this much of its momentum per second
  double radius;           // m, of curves in pictures
  bool is_knit;            // three layers of as many nodes, one behind the other
  kp_env_yarn yarn;        // of knitwear, for pictures
  double particle_radius;  // m: nodes meet as spheres; 0: they do not
  kp_curve strength;       // factor of all stiffness; no components: 1
  kp_vec3 color;
} kp_part;

void kp_part_free(kp_part *part);

// Add elements; rest lengths and volumes come from where the nodes are. Damping is a share of the
// critical one: b = share 2 sqrt(k/l0 m), m the reduced mass (M11 of the notes in deform.md).
KP_NODISCARD kp_result kp_part_add_node(kp_part *part, kp_vec3 x, double mass, kp_index *number);
// The critical damping 2 sqrt(k/l0 m) of a spring between two nodes [N s/m].
double kp_part_critical(const kp_part *part, kp_index a, kp_index b, double stiffness, double rest);
KP_NODISCARD kp_result kp_part_add_spring(kp_part *part, kp_index a, kp_index b,
                                          kp_spring_kind kind, double stiffness,
                                          double damping_share);
// Reorders the nodes so that the volume is positive; flat ones are refused (KP_ERROR_SCENE) unless
// `is_shell`, where they are left out. KP_TET_POINT_FACE adds four, one for each corner.
KP_NODISCARD kp_result kp_part_add_tet(kp_part *part, const kp_index v[4], kp_tet_kind kind,
                                       double stiffness, double damping_share, bool is_shell);
// The altitude spring of the triangles (v0, v1, v2) and (v1, v0, v3) of a shell. Where they are
// flat at rest there is one with a floor [m] only.
KP_NODISCARD kp_result kp_part_add_axial(kp_part *part, const kp_index v[4], double stiffness,
                                         double damping_share, double floor);
// A tetrahedron of a material; viscosity in Pa s.
KP_NODISCARD kp_result kp_part_add_elastic(kp_part *part, const kp_index v[4], double young,
                                           double poisson, double viscosity);
// A hinge at the edge c d between the triangles c d a and d c b, which keeps the angle it has.
KP_NODISCARD kp_result kp_part_add_hinge(kp_part *part, kp_index a, kp_index b, kp_index c,
                                         kp_index d, double stiffness, double damping_share);
// The same, of a moment per small angle [N m] about the rest angle.
KP_NODISCARD kp_result kp_part_add_bend(kp_part *part, const kp_index v[4], double moment,
                                        double damping_share);
// A triangle of a material: its modulus against stretching, Young's times thickness [N/m].
KP_NODISCARD kp_result kp_part_add_membrane(kp_part *part, const kp_triangle *triangle,
                                            double modulus, double poisson, double damping_share);
