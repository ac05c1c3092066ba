// Deformables: cloth, hair, knitwear and soft bodies. One object owns the nodes of all of them in
// one tied set, so that all meet in one contact module.
//
// A sub-step of the world is one turn of the outer loop of Selle (2008, section 6.2): it begins and
// ends without intersections, and in it nodes take up to `inner` steps of their own:
//
//   A   pairs that are near each other, with their side                        contact
//   B   inner times:
//       pins      led nodes get their velocity                                 deform_pins.c
//       predict   w = velocity that moves the nodes                            scheme
//       limit     w, so that hairs do not stretch                              hair
//       repulse   w, inelastic then elastic                                    contact
//       move      x += dt w
//       collide   nodes out of bodies: x, and the old velocity v               bodies
//       finish    v = the new velocity                                         scheme
//       friction  of bodies                                                    bodies
//       repulse   v, inelastic with friction                                   contact
//   C   continuous collisions between the start and the end                    contact
//
// Parts of one scheme lie side by side in all arrays: a scheme sees one range of nodes, springs and
// tetrahedra.
#pragma once

#include "data/call.h"
#include "data/set.h"
#include "linalg/pcg.h"
#include "methods/common/contact.h"
#include "methods/deform/deform_bodies.h"
#include "methods/deform/deform_kernels.h"
#include "methods/deform/hair.h"
#include "methods/deform/part.h"
#include "methods/method.h"

typedef struct kp_deform kp_deform;
typedef struct kp_fabric kp_fabric;  // fabric.h

// A part after it was joined: everything of it lies side by side.
typedef struct kp_deform_part {
  char name[KP_NAME_SIZE];
  kp_solid_scheme scheme;
  kp_range nodes, springs, tets, triangles, segments;
  kp_range axes, solids, membranes;  // its elements by kind, see kp_deform_tets
  kp_range edges;                    // of its solids
  kp_curve strength;
  double strength_now;      // factor of all stiffness in this inner step
  bool is_beyond_rounding;  // this inner step is longer than kp_deform_rounding_step
  kp_part_surface surface;
  double particle_radius;  // m; 0: nodes are no spheres
  double period;           // s, over 2 pi: of its slowest node; of a sheet see find_limit
  double limit;            // s: of an explicit step, at rest
  bool is_damped;          // its elements, or all of its motion
  bool changes;            // that limit depends on where the nodes are (deform_steps.c)
} kp_deform_part;

// All parts of one scheme.
typedef struct kp_deform_group {
  kp_solid_scheme scheme;
  kp_range nodes, springs, tets, axes, solids, membranes;
  kp_range entries;  // of the rows of the matrix
  int64_t n_segments;
  double limit;  // s: of an explicit step, at rest
} kp_deform_group;

// A scheme advances a group by one inner step of deform->dt, in two halves: `predict` fills
// `moving` with the velocity that moves the nodes, `finish` turns `velocity` into the new one;
// between them positions have changed from `old` to `position`, and bodies may have changed
// `velocity`.
typedef struct kp_scheme {
  const char *name;
  kp_result (*predict)(kp_deform *deform, kp_env *env, const kp_deform_group *group);
  kp_result (*finish)(kp_deform *deform, kp_env *env, const kp_deform_group *group);
  bool is_implicit;
  bool lags;  // `velocity` is that of half a step before the positions
} kp_scheme;

extern const kp_scheme kp_schemes[KP_SCHEME_COUNT];

typedef struct kp_vector3 {
  kp_buffer c[3];
} kp_vector3;

// Constant, one item per spring or tetrahedron.
typedef struct kp_deform_springs {
  int64_t n;
  kp_buffer a, b;  // I32
  kp_buffer rest, stiffness, compression, damping;
  kp_buffer start, refs;    // of nodes, see deform_kernels.h
  KP_ARRAY(uint8_t) kinds;  // kp_spring_kind
  // rows of the matrix, see deform_kernels.h
  kp_buffer slice, other, entry;        // I32: start of slices; other end and spring of entries
  kp_vector3 root;                      // q
  kp_buffer turning;                    // s
  kp_buffer segments[KP_SCHEME_COUNT];  // kp_row_segment: slices of each group
  // scratch of an evaluation
  kp_vector3 direction;
  kp_buffer force, rate, side, tension;
} kp_deform_springs;

// Elements of four nodes that resist one number, and those of a material (deform_tets_kernels.h).
typedef struct kp_deform_axes {
  int64_t n;
  kp_buffer corner, tet;  // I32
  kp_buffer kind;         // U8
  kp_buffer rest, stiffness, damping;
  kp_buffer slope, force, rate;  // scratch of an evaluation
} kp_deform_axes;

typedef struct kp_deform_materials {
  int64_t n;
  kp_buffer corner, tet;  // I32
  kp_buffer rest;
  kp_buffer inverse;  // F64, 9 per element: B of its rest
  kp_buffer edge;     // I32, 6 per element: its edges
  int64_t n_edges;
  kp_buffer edge_start, edge_element;  // U32, I32: elements around every edge
  kp_buffer gradient, stress;          // scratch of an evaluation: F of elements, P of edges
  kp_buffer state;                     // the same
} kp_deform_materials;

// Triangles, of three corners each (deform_membrane_kernels.h).
typedef struct kp_deform_membranes {
  int64_t n;
  kp_buffer corner, tet;  // I32
  kp_buffer rest;
  kp_buffer state;  // scratch of an evaluation
} kp_deform_membranes;

typedef struct kp_deform_tets {
  int64_t n;
  kp_deform_axes axes;
  kp_deform_membranes membranes;
  kp_deform_materials solids;
  KP_ARRAY(kp_tet) model;
  kp_buffer start, refs;
  kp_vector3 force;     // on corners, 4 tet + corner
  kp_vector3 diagonal;  // of the matrix at corners
  // the same as blocks between corners (deform_blocks_kernels.h), elastic elements first; one that
  // is not there is behind them and does nothing
  kp_buffer block, pull;
  kp_buffer lanes;  // kp_row_segment: runs of elastic elements
} kp_deform_tets;

typedef struct kp_deform_pin {
  kp_pin_def def;
  kp_range nodes;  // in the list
} kp_deform_pin;

// Triangles of bodies that take part in the continuous test (deform_guests.c).
typedef struct kp_deform_guest {
  kp_index body;
  kp_vec3 local;  // m, in shape coordinates
} kp_deform_guest;

typedef struct kp_deform_bent {
  const struct kp_morph *morph;
  kp_index first;  // node
} kp_deform_bent;

typedef struct kp_deform_free {
  kp_index body;
  int32_t solid;      // among those nodes keep off
  kp_index first, n;  // nodes
  double reach;       // m: the farthest of them from the centre of mass
} kp_deform_free;

typedef struct kp_deform_guests {
  KP_ARRAY(kp_deform_guest) nodes;
  KP_ARRAY(kp_triangle) triangles;    // of these nodes
  KP_ARRAY(kp_index) owners;          // the first node of each solid, and the number of all
  KP_ARRAY(kp_deform_free) free;      // bodies that are free, in the order of their nodes
  KP_ARRAY(kp_vec3) arms;             // of all nodes: from the centre of their body, body axes
  KP_ARRAY(kp_contact_plane) planes;  // of nodes of deformables
  KP_ARRAY(kp_vec3) from;
  KP_ARRAY(kp_vec3) to;
  KP_ARRAY(kp_deform_bent) bent;  // solids that change their form
  KP_ARRAY(kp_vec3) vertices;     // of one of them; scratch
} kp_deform_guests;

// What deformables meet of each other (deform_contact.c); scratch of a sub-step.
typedef struct kp_deform_meet {
  kp_contact *contact;        // NULL: nothing meets
  kp_buffer lightness;        // 1/kg
  kp_buffer give;             // 1/kg: 0 for nodes that are led along all axes in this inner step
  kp_vector3 clean;           // POS: the last state without intersections
  kp_vector3 clean_velocity;  // of it
  kp_vector3 clean_lag;       // F64
  KP_ARRAY(kp_frame3) clean_frames;   // of all bodies, as the world has them
  KP_ARRAY(kp_frame3) clean_advance;  // of all bodies, as the inner steps have them
  KP_ARRAY(kp_index) linked;          // pairs of segments that stick
  double clean_time;                  // s
  kp_deform_guests guests;
} kp_deform_meet;

typedef struct kp_sweep kp_sweep;  // deform_sweep.h

// For the stable step of parts that change (deform_steps.c); F64. Halves of sums of rows: of nodes
// what stays as at rest, and of corners where they were last.
typedef struct kp_deform_steps {
  kp_buffer stiff, damp;
  kp_buffer row_stiff, row_damp;  // 4 tet + corner
} kp_deform_steps;

struct kp_deform {
  kp_solids_def def;
  kp_result limit_result;  // a failure of asking for the length of a step, which the step tells
  kp_set *set;             // "nodes"
  KP_ARRAY(kp_deform_part) parts;
  KP_ARRAY(kp_deform_group) groups;

  kp_buffer mass;       // kg
  kp_buffer hold;       // U8: axes along which a node is led in this step
  kp_vector3 normal;    // that a node keeps its velocity along; 0: none (contact with bodies)
  kp_buffer slow;       // kg/s
  kp_buffer drag_area;  // N s/m^3
  kp_buffer drag;       // N s/m
  kp_vector3 outward;   // unit normal of the surface at a node
  kp_vector3 wind;      // m/s
  kp_field *extra;      // m/s^2, of force fields
  bool has_drag;
  // for first guesses: the change of velocity the first solve of a step gave last, and what the
  // second one gave beyond it; NULL where no scheme is implicit
  kp_field *answer[2];

  kp_deform_bodies bodies;
  kp_deform_springs springs;
  kp_deform_tets tets;
  kp_deform_steps steps;

  int64_t n_triangles, n_segments;
  kp_buffer triangle[3];                    // I32: nodes
  kp_buffer triangle_start, triangle_refs;  // triangles of a node
  KP_ARRAY(kp_triangle) triangles;          // the same on the host
  KP_ARRAY(kp_index) segments;              // two nodes each

  kp_space *clock;  // "solids": dt_last and lead, of schemes that lag; NULL without

  kp_deform_hair hair;

  KP_ARRAY(kp_deform_pin) pins;
  kp_buffer pin_list;  // I32
  kp_field *lag;  // m: how far led nodes are behind what pins say; NULL: nothing makes them wait

  kp_deform_meet meet;
  kp_fabric *fabric;  // what fabrics have beyond springs; NULL until it is made

  // scratch of an inner step
  double time, dt;                   // of its start; its length
  double dt_last;                    // s, of the one before; 0 at the start
  double lead;                       // s: how much longer forces acted than time has gone (lags)
  double bears;                      // s: what explicit parts bear in this turn, where it was asked
  double turn_time;                  // s: of all inner steps of the sub-step
  kp_vector3 old;                    // POS: positions before the move
  kp_vector3 middle;                 // POS: half way
  kp_vector3 moving;                 // w
  kp_buffer right, change, inverse;  // of the linear system, 3 n
  kp_pcg pcg;
  bool is_filled[KP_SCHEME_COUNT];    // rows hold what was evaluated last
  kp_sweep *sweeps[KP_SCHEME_COUNT];  // of groups without hair; NULL: others
  double strain_rate;                 // 1/s, largest, at the start of the sub-step
  int64_t inner_steps, iterations;    // of the last sub-step, for reports
};

// Parts are read during the call only and may be of any order; groups are made of them.
KP_NODISCARD kp_result kp_deform_create(kp_env *env, const kp_solids_def *def,
                                        kp_part *const *parts, size_t n_parts,
                                        const kp_pin_def *pins, size_t n_pins, kp_deform **out);

extern const kp_method kp_deform_method;

// ---- deform_setup.c

KP_NODISCARD kp_result kp_deform_join(kp_deform *deform, kp_env *env, kp_part *const *parts,
                                      size_t n_parts);
void kp_deform_free_model(kp_deform *deform);
KP_NODISCARD kp_result kp_vector3_resize(kp_vector3 *v, kp_type type, int64_t n);
void kp_vector3_free(kp_vector3 *v);
#define KP_BIND_VECTOR3(call, args, prefix, vector, access)                                        \
  (KP_BIND(call, args, prefix##x, &(vector)->c[0], access),                                        \
   KP_BIND(call, args, prefix##y, &(vector)->c[1], access),                                        \
   KP_BIND(call, args, prefix##z, &(vector)->c[2], access))

// Adds to what find_limits knows of the nodes of a part.
void kp_deform_spring_limits(const kp_part *part, double *stiff, double *damp);

// ---- deform_steps.c

KP_NODISCARD kp_result kp_deform_fill_steps(kp_deform *deform, const kp_part *const *order);
// Whether springs of a scheme are explicit.
bool kp_deform_is_explicit(const kp_deform *deform, kp_solid_scheme scheme);
// The longest stable step of all explicit parts where their nodes are now, and the longest one that
// is advised [s]; infinite without explicit parts.
KP_NODISCARD kp_result kp_deform_explicit_step(kp_deform *deform, const kp_env *env, double *stable,
                                               double *advised);

// ---- deform_forces.c

// Directions, elastic forces and coefficients of the elements of a group at positions x, for
// gathers by elements; `implicit` [s] times the stiffness is added to the coefficients.
KP_NODISCARD kp_result kp_deform_evaluate(kp_deform *deform, const kp_deform_group *group,
                                          kp_buffer x[3], double implicit);

// right = h F(x, v): the impulse of all forces on the nodes of a group in a time h, after evaluate.
// `whole`: of led nodes and along contact normals too.
KP_NODISCARD kp_result kp_deform_impulse(kp_deform *deform, kp_env *env,
                                         const kp_deform_group *group, kp_buffer v[3], double h,
                                         bool whole);

// out = v + dv with (M - h D) dv = h F(x, v), D with `implicit` [s] times the stiffness. `v` and
// `out` may be one. `which` solve of an inner step it is (0, 1): the last answers are the guess.
typedef struct kp_deform_stage {
  kp_buffer *x, *v, *out;  // three each
  double h, implicit;
  int which;
} kp_deform_stage;

// Evaluates, and solves.
KP_NODISCARD kp_result kp_deform_solve(kp_deform *deform, kp_env *env, const kp_deform_group *group,
                                       const kp_deform_stage *stage);

// The longest step whose implicit solve still sees the masses of a part beside rounding [s]. A few
// nodes that are stiffer than the others, as at edges that are almost flat, do not count.
double kp_deform_rounding_step(const kp_deform *deform, const kp_deform_part *part);

// How long the forces of a step of a scheme that lags act [s].
double kp_deform_kick_time(const kp_deform *deform);

// How far ahead implicit springs of a group look in this step [s].
double kp_deform_look_ahead(const kp_deform *deform, const kp_deform_group *group);

// out = v + h F(x, v)/m, after evaluate.
KP_NODISCARD kp_result kp_deform_explicit(kp_deform *deform, kp_env *env,
                                          const kp_deform_group *group, kp_buffer v[3], double h,
                                          kp_buffer out[3]);

// Gives deform->change, the solution of a solve over h, the momentum of the impulses in
// deform->right, part by part where nothing is held. See deform_whole.c.
KP_NODISCARD kp_result kp_deform_carry(kp_deform *deform, const kp_deform_group *group, double h);

// out = v + d, d a vector of the solver, along the axes that are not held.
KP_NODISCARD kp_result kp_deform_kick(kp_deform *deform, const kp_deform_group *group,
                                      kp_buffer v[3], kp_buffer *change, kp_buffer out[3]);

// Warns of what the scene cannot mean; KP_ERROR_SCENE for a part outside the domain.
KP_NODISCARD kp_result kp_deform_doubt(const kp_deform *deform, const kp_env *env,
                                       kp_part *const *parts, size_t n_parts);

// Warns of parts whose stiffness hides their masses from rounding, once they are joined.
void kp_deform_doubt_stiffness(const kp_deform *deform, const kp_env *env);

// Normals, drag and wind at the nodes, once per inner step.
KP_NODISCARD kp_result kp_deform_weather(kp_deform *deform, kp_env *env);

// ---- deform_tets.c

// Constants of all tetrahedra, from where the nodes of the parts are.
KP_NODISCARD kp_result kp_deform_fill_tets(kp_deform *deform, const kp_part *const *order);
// Room for them as blocks.
KP_NODISCARD kp_result kp_deform_make_blocks(kp_deform *deform);
// Adds to what find_limits knows of the nodes of a part; not `all`: what stays as at rest.
void kp_deform_tet_limits(const kp_part *part, bool all, double *stiff, double *damp);
// Whether the stable step of an element depends on where its nodes are.
bool kp_deform_tet_changes(const kp_tet *tet);
// As kp_deform_evaluate, for the tetrahedra of a part.
// Elastic tetrahedra by the edges they share (deform_edges.c): the lists, the stress around every
// edge at positions x, and the energy at those of the set.
KP_NODISCARD kp_result kp_deform_fill_edges(kp_deform *deform);
KP_NODISCARD kp_result kp_deform_edges_evaluate(kp_deform *deform, const kp_deform_part *part,
                                                kp_buffer x[3]);
struct deform_means;
void kp_deform_bind_means(kp_deform *deform, const kp_deform_part *part, kp_call *call,
                          struct deform_means *means);
KP_NODISCARD kp_result kp_deform_edges_energy(kp_deform *deform, const kp_deform_part *part,
                                              double *out);
KP_NODISCARD kp_result kp_deform_tets_evaluate(kp_deform *deform, const kp_deform_part *part,
                                               kp_buffer x[3], double implicit);
// Forces on corners at a velocity, and the diagonal of their matrix.
KP_NODISCARD kp_result kp_deform_tets_pull(kp_deform *deform, const kp_deform_group *group,
                                           kp_buffer *const v[3], deform_in view, bool elastic);
KP_NODISCARD kp_result kp_deform_tets_diagonal(kp_deform *deform, const kp_deform_group *group);
// Largest rate of strain of elastic tetrahedra [1/s].
KP_NODISCARD kp_result kp_deform_tets_strain_rate(kp_deform *deform, double *out);
KP_NODISCARD kp_result kp_deform_tets_energy(kp_deform *deform, const kp_deform_part *part,
                                             double *out);

// ---- deform_membranes.c: the same for the triangles of a membrane, of which there are some

KP_NODISCARD kp_result kp_deform_fill_membranes(kp_deform *deform, const kp_part *const *order);
void kp_deform_membrane_limit(const kp_part *part, const kp_tet *tet, double *stiff, double *damp);
KP_NODISCARD kp_result kp_deform_membranes_evaluate(kp_deform *deform, const kp_deform_part *part,
                                                    kp_buffer x[3], double implicit);
KP_NODISCARD kp_result kp_deform_membranes_pull(kp_deform *deform, const kp_deform_group *group,
                                                kp_buffer *const v[3], deform_in view,
                                                bool elastic);
KP_NODISCARD kp_result kp_deform_membranes_diagonal(kp_deform *deform,
                                                    const kp_deform_group *group);
KP_NODISCARD kp_result kp_deform_membranes_rate(kp_deform *deform, double *out);
KP_NODISCARD kp_result kp_deform_membranes_energy(kp_deform *deform, const kp_deform_part *part,
                                                  double *out);

// ---- deform_pins.c

KP_NODISCARD kp_result kp_deform_make_pins(kp_deform *deform, kp_env *env, const kp_pin_def *pins,
                                           size_t n_pins);
// `hold`, and the velocities of led nodes for the step from deform->time.
KP_NODISCARD kp_result kp_deform_lead(kp_deform *deform, kp_env *env);

// Nodes `nodes` of a list go by x -> turn x + shift in this step, along the axes of the bits 1,
// 2, 4.
KP_NODISCARD kp_result kp_deform_lead_nodes(kp_deform *deform, kp_env *env, const kp_mat3 *turn,
                                            kp_vec3 shift, kp_buffer *list, kp_range nodes,
                                            uint8_t axes);

// ---- deform_contact.c: all do nothing where nothing can meet

KP_NODISCARD kp_result kp_deform_make_contact(kp_deform *deform, kp_env *env);
// Inverse masses of this inner step, after kp_deform_lead.
KP_NODISCARD kp_result kp_deform_weigh(kp_deform *deform, kp_env *env);
// A: keeps the state, which has no intersections, and finds what is near each other in it.
KP_NODISCARD kp_result kp_deform_find_pairs(kp_deform *deform, kp_env *env, double time);
// B.2 (`moving`) and B.8 (the velocity).
KP_NODISCARD kp_result kp_deform_repulse(kp_deform *deform, kp_contact_law law);
// C: `time` since the kept state. With bodies that are free among the guests it has to wait until
// these have moved.
bool kp_deform_parts_late(const kp_deform *deform);
KP_NODISCARD kp_result kp_deform_part_collisions(kp_deform *deform, kp_env *env, double time);
KP_NODISCARD kp_result kp_deform_any_collision(kp_deform *deform, kp_env *env, double time,
                                               bool *out);
// To the kept state, with what free bodies were given since.
KP_NODISCARD kp_result kp_deform_go_back(kp_deform *deform, kp_env *env);

// ---- deform_guests.c

// Boxes and meshes of the world, where the settings ask for them.
KP_NODISCARD kp_result kp_deform_make_guests(kp_deform *deform, kp_env *env);
void kp_deform_free_guests(kp_deform_guests *guests);
// Where a guest is at a time.
kp_vec3 kp_deform_guest_at(const kp_env *env, const kp_deform_guest *guest, double time);
// The way of all guests in the next C. Bodies that are free come from where they were when the
// state was kept, and want to be where they are.
KP_NODISCARD kp_result kp_deform_guide(kp_deform *deform, const kp_env *env, double from,
                                       double to);
// Tells contact where bodies that are free are now; before A.
void kp_deform_show_free(kp_deform *deform, const kp_env *env);
// Planes of nodes near edges and corners of these bodies; after A.
KP_NODISCARD kp_result kp_deform_fix_planes(kp_deform *deform, kp_env *env);
// The longest explicit step of surfaces that a body that is free and a guest may meet within a time
// [s]; infinite where it meets none.
double kp_deform_free_limit(kp_deform *deform, kp_env *env, double time);
// Bodies that are free to where C has put them; `time` since the kept state.
void kp_deform_lead_back(kp_deform *deform, kp_env *env, double time);

// ---- generators: each turns the def of an entity into a part

KP_NODISCARD kp_result kp_cloth_make(const kp_cloth_def *def, const char *folder, kp_part *part);
KP_NODISCARD kp_result kp_soft_make(const kp_soft_def *def, const char *folder, kp_part *part);
