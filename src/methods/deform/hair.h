// Hair among the deformables (deform.h): its generator, and what a step does with it beyond
// springs:
//
//   roots    follow the body they grow on, exactly and with its turns         hair_step.c
//   limit    hairs do not stretch                                             hair_step.c
//   links    hairs that touch stick until they are pulled apart (stiction)    hair_links.c,
//                                                                             hair_link_forces.c
#pragma once

#include "data/call.h"
#include "methods/deform/hair_kernels.h"
#include "methods/deform/part.h"
#include "methods/method.h"

struct kp_deform;
struct kp_deform_group;
struct kp_deform_stage;

// Turns the def of an entity into a part.
KP_NODISCARD kp_result kp_hair_make(const kp_hair_def *def, const kp_env *env, kp_part *part);

// One hair along a polyline, cut into def->segments; `phase` [rad] turns its extra nodes.
KP_NODISCARD kp_result kp_hair_add(const kp_hair_def *def, kp_part *part, const kp_vec3 *points,
                                   size_t n, double phase);

// A part of hair after it was joined.
typedef struct kp_hair_place {
  size_t part;                   // of the deformables
  int64_t hairs, n;              // in `start`
  int64_t roots, n_roots;        // in the list
  double reach;                  // m: of the farthest root from the middle of the body
  const struct kp_morph *morph;  // of what it grows on; NULL: that keeps its form
  kp_part_hair model;
} kp_hair_place;

// Links between hairs, in the order of their segments.
typedef struct kp_hair_links {
  kp_space *space;     // state
  kp_field *a, *b;     // U32: segments, a < b
  kp_field *s, *t;     // F64: where on them, 0 to 1
  kp_field *length;    // F64: when it was made [m]
  kp_field *alive;     // U8: 0 once it was too long
  int64_t n_segments;  // that may have links; 0: there is no stiction at all
  // made of the state at the start of every sub-step
  kp_buffer node, weight;  // 4 per link
  kp_buffer rest, stiffness, damping, longest, made;
  kp_buffer start, refs;  // links of a node: 4 link + corner
  kp_buffer force, rate;
  kp_buffer along, pull;          // records, one per link
  kp_buffer record;               // velocities of all nodes
  struct kp_link_search *search;  // scratch of the host
} kp_hair_links;

// Hairs of a scheme by locks, see hair_solve_kernels.h.
typedef struct kp_hair_locks {
  bool has_all;                    // no other nodes have this scheme
  int64_t n;                       // of locks
  double stiff, damp;              // 1/s^2, 1/s: largest of the nodes, over their mass
  kp_buffer runs;                  // kp_row_segment, one per lock
  kp_buffer hair, row;             // I32
  kp_buffer block, width;          // I32
  kp_buffer count, same;           // U8
  kp_buffer spring_row, axis_row;  // I32
  kp_buffer spring, axis;          // REAL: constants of their elements, lane by lane
  // scratch of a solve
  kp_buffer place;                      // F64
  kp_buffer speed, right, lanes, more;  // REAL
  kp_buffer matrix, band;               // REAL
} kp_hair_locks;

typedef struct kp_deform_hair {
  KP_ARRAY(kp_hair_place) places;
  kp_buffer start;  // I32: first node of each hair; behind the last of a part, its end
  kp_buffer spring_start, axis_start;  // I32: the same of springs and of altitudes
  kp_hair_locks locks[KP_SCHEME_COUNT];
  kp_buffer parent;          // I32, of all nodes: the node nearer to the root, -1: none
  kp_buffer rest;            // F64: distance to it
  kp_buffer root_list;       // I32
  KP_ARRAY(kp_vec3) before;  // m/s: of roots before this inner step; scratch
  int64_t n_extras;
  kp_buffer extra_list;  // I32: nodes that are there for the twist alone
  kp_buffer local[3];    // F64: roots in the frame of their body
  // of roots on what changes its form, see hair_embed_args
  kp_buffer corner, weight, offset;  // I32, F64, F64
  kp_buffer skin[3];                 // F64: vertices of one of these
  KP_ARRAY(kp_vec3) bent;            // the same; scratch
  kp_hair_links links;
} kp_deform_hair;

// ---- hair_step.c

// After the parts were joined; order[p] is what became deform->parts.data[p].
KP_NODISCARD kp_result kp_hair_join(struct kp_deform *deform, kp_env *env,
                                    const kp_part *const *order);
void kp_hair_free(struct kp_deform *deform);

// Velocities that take the roots to where their bodies are at the end of the inner step.
KP_NODISCARD kp_result kp_hair_lead(struct kp_deform *deform, kp_env *env);
// After a solve over a time h with the forces at x gave `moving`: free bodies feel the roots that
// grow on them.
KP_NODISCARD kp_result kp_hair_pull_bodies(struct kp_deform *deform, kp_env *env,
                                           const struct kp_deform_group *group, kp_buffer x[3],
                                           double h);

// Of a banded group after a solve over a time h at x gave `moving`: right = h F(x, moving) at the
// nodes that touch bodies, as of kp_deform_impulse with all elements.
KP_NODISCARD kp_result kp_hair_touch(struct kp_deform *deform, kp_env *env,
                                     const struct kp_deform_group *group, kp_buffer x[3], double h);

// Change `moving` so that hairs do not stretch. The velocity a scheme finishes with is not touched:
// what is taken here would otherwise be lost as energy (section 7.4.1).
KP_NODISCARD kp_result kp_hair_limit(struct kp_deform *deform, kp_env *env);

// In which no root moves more than a centimetre (Selle 2008, section 7.6).
double kp_hair_max_dt(struct kp_deform *deform, kp_env *env);

// Largest strain of the segments of a part.
KP_NODISCARD kp_result kp_hair_strain(struct kp_deform *deform, size_t part, double *strain);

// ---- hair_solve.c

KP_NODISCARD kp_result kp_hair_join_locks(struct kp_deform *deform, kp_env *env);
void kp_hair_free_locks(struct kp_deform *deform);

// Whether the matrix of a group is that of its hairs and their links.
bool kp_hair_is_banded(const struct kp_deform *deform, const struct kp_deform_group *group);
// Whether it is banded, and rounding leaves what decompositions give as exact as the solver was
// asked to be: a stage without links needs no iterations then, and with them no products with the
// bands.
bool kp_hair_is_exact(const struct kp_deform *deform, const struct kp_deform_group *group,
                      const struct kp_deform_stage *stage);
// The stage by one decomposition per hair; without evaluate.
KP_NODISCARD kp_result kp_hair_solve(struct kp_deform *deform, kp_env *env,
                                     const struct kp_deform_group *group,
                                     const struct kp_deform_stage *stage);

// Factor the matrix M - h D of the hairs of a group; and apply its inverse, which is the
// preconditioner of the group's system. Other nodes of the group have their diagonal.
KP_NODISCARD kp_result kp_hair_factor(struct kp_deform *deform, kp_env *env,
                                      const struct kp_deform_group *group,
                                      const struct kp_deform_stage *stage, bool *has_hair);
// The same of a banded group, with its right side: right = h F. Either `u` becomes what the inverse
// makes of that, while all of it lies in a cache, or u is NULL and the matrix is kept: then
// y = (M - h D) x.
KP_NODISCARD kp_result kp_hair_begin(struct kp_deform *deform, kp_env *env,
                                     const struct kp_deform_group *group,
                                     const struct kp_deform_stage *stage, kp_buffer *u);
KP_NODISCARD kp_result kp_hair_product(struct kp_deform *deform,
                                       const struct kp_deform_group *group, double h, kp_buffer *x,
                                       kp_buffer *y);
KP_NODISCARD kp_result kp_hair_precondition(struct kp_deform *deform,
                                            const struct kp_deform_group *group, kp_buffer *r,
                                            kp_buffer *u);

// ---- hair_links.c

KP_NODISCARD kp_result kp_hair_join_links(struct kp_deform *deform, kp_env *env);
void kp_hair_free_links(struct kp_deform *deform);

// Break what is too long, make links where hairs are near; at the start of a sub-step.
KP_NODISCARD kp_result kp_hair_relink(struct kp_deform *deform, kp_env *env);

// Links of a group.
kp_range kp_hair_links_of(const struct kp_deform *deform, const struct kp_deform_group *group);

// Whether two segments are joined: contact leaves such pairs alone (section 7.5.3).
bool kp_hair_is_linked(const struct kp_deform *deform, kp_index segment, kp_index other);

// ---- hair_link_forces.c

// Of the links of a group, as of its springs: directions, forces and coefficients at positions x;
// tensions at a velocity.
KP_NODISCARD kp_result kp_hair_evaluate(struct kp_deform *deform,
                                        const struct kp_deform_group *group, kp_buffer x[3],
                                        double implicit);
KP_NODISCARD kp_result kp_hair_tensions(struct kp_deform *deform,
                                        const struct kp_deform_group *group, kp_buffer *const v[3],
                                        deform_in view, bool elastic);

// y = r + what the links of a group add to M - h D times x; vectors of the solver, y may be r.
KP_NODISCARD kp_result kp_hair_apply(struct kp_deform *deform, const struct kp_deform_group *group,
                                     double h, kp_buffer *x, kp_buffer *r, kp_buffer *y);

// b += P h F of the links of a group at the velocities of a stage, after evaluate.
KP_NODISCARD kp_result kp_hair_pull_links(struct kp_deform *deform,
                                          const struct kp_deform_group *group,
                                          const struct kp_deform_stage *stage, kp_buffer *b);
