// Nodes of deformables against bodies, and in the wind.
//
// A body is its signed distance phi, negative inside, at the end of the inner step. Gamma is what a
// contact with normal n does to a velocity v (Selle 2008, section 6.5), with v_B the velocity of
// the body there and mu its friction:
//
//   vn' = max(vn, v_B.n)        vt' = v_Bt + max(0, 1 - mu (vn' - vn)/|vt - v_Bt|) (vt - v_Bt)
//
// A free body gives way: of the impulse that would stop a node of mass m, the share
// 1/(1 + m c) is taken, c the mobility of the body at the contact times the number of nodes that
// touch it. So both have one velocity afterwards, however light the body is.
#pragma once

#include "geom/level_set_keys.h"
#include "geom/shape_kernels.h"
#include "par/kernel.h"

// One solid of the world at the end of an inner step.
typedef struct deform_obstacle {
  kp_shape_view shape;
  kp_distance_view grid;  // of a mesh; `values` is set by kernels
  int64_t values;         // first of the grid's numbers; -1: the shape has a formula
  int64_t next;           // of one that changes its form: first of the next key's; else -1
  double interval;        // s, from key to key
  double alpha;           // between them, 0 to 1
  double origin[3];       // m, of the shape
  double axes[9];         // from the world's axes to those of the shape
  double center[3];       // m, of mass
  double velocity[3];     // m/s, at the centre
  double spin[3];         // rad/s
  double slide[3];        // m/s, of the surface against the body, in the world's axes
  double friction;
  double crowd;               // nodes that touch it, of a free body; else 0
  double inverse_mass;        // 1/kg
  double inverse_inertia[9];  // world axes
  double lo[3], hi[3];        // m: nothing of it is outside
  int32_t body;               // -1: a face of the domain
} deform_obstacle;

// The keys of a solid that changes its form, and how its material moves from the one to the other
// at p [m]. The gradient takes that way along unchanged: what it changes at the first key it undoes
// at the second.
typedef struct deform_keys {
  kp_key_view view;
  double way[3];
} deform_keys;

KP_FN kp_key_view deform_key_view(const deform_obstacle *s, const kp_real *values) {
  kp_key_view k = { .from = s->grid,
                    .to = s->grid,
                    .stride = (int64_t)s->grid.n[0] * s->grid.n[1] * s->grid.n[2],
                    .interval = s->interval,
                    .alpha = s->alpha };
  k.from.values = values + s->values;
  k.to.values = values + (s->next < 0 ? s->values : s->next);
  return k;
}

KP_FN void deform_keys_at(const deform_obstacle *s, const kp_real *values, const double p[3],
                          deform_keys *k) {
  k->view = deform_key_view(s, values);
  k->way[0] = k->way[1] = k->way[2] = 0.0;
  for (int c = 0; c < 3 && s->next >= 0; ++c) {
    double u = kp_key_component(&k->view.from, k->view.stride, 1 + c, p) +
               kp_key_component(&k->view.to, k->view.stride, 1 + c, p);
    k->way[c] = 0.5 * s->interval * u;
  }
}

// Distance in the grid of a solid: of one form, or between two keys (level_set_keys.h).
KP_FN double deform_grid_distance(const deform_obstacle *s, const deform_keys *k,
                                  const double p[3]) {
  if (s->next < 0) {
    return kp_distance_sample(&k->view.from, p[0], p[1], p[2]);
  }
  double a = s->alpha, b = 1.0 - s->alpha;
  double from = kp_distance_sample(&k->view.from, p[0] - a * k->way[0], p[1] - a * k->way[1],
                                   p[2] - a * k->way[2]);
  double to = kp_distance_sample(&k->view.to, p[0] + b * k->way[0], p[1] + b * k->way[1],
                                 p[2] + b * k->way[2]);
  return b * from + a * to;
}

KP_FN void deform_to_shape(const deform_obstacle *s, const double x[3], double p[3]) {
  for (int c = 0; c < 3; ++c) {
    const double *row = s->axes + 3 * c;
    p[c] = row[0] * (x[0] - s->origin[0]) + row[1] * (x[1] - s->origin[1]) +
           row[2] * (x[2] - s->origin[2]);
  }
}

KP_FN double deform_obstacle_distance(const deform_obstacle *s, const kp_real *values,
                                      const double x[3], double n[3]) {
  double p[3];
  deform_to_shape(s, x, p);
  double distance;
  double m[3];
  if (s->values < 0) {
    kp_vec3 normal;
    distance = kp_shape_view_query(&s->shape, kp_vec3_make(p[0], p[1], p[2]), &normal);
    m[0] = normal.x;
    m[1] = normal.y;
    m[2] = normal.z;
  } else {
    deform_keys keys;
    deform_keys_at(s, values, p, &keys);
    distance = deform_grid_distance(s, &keys, p);
    double h = 0.5 * s->grid.cell;
    double length2 = 0.0;
    for (int c = 0; c < 3; ++c) {
      double a[3] = { p[0], p[1], p[2] };
      double b[3] = { p[0], p[1], p[2] };
      a[c] -= h;
      b[c] += h;
      m[c] = deform_grid_distance(s, &keys, b) - deform_grid_distance(s, &keys, a);
      length2 += m[c] * m[c];
    }
    double inverse = length2 > 0.0 ? 1.0 / sqrt(length2) : 0.0;
    m[0] *= inverse;
    m[1] = length2 > 0.0 ? m[1] * inverse : 1.0;
    m[2] *= inverse;
  }
  for (int c = 0; c < 3; ++c) {
    n[c] = s->axes[c] * m[0] + s->axes[3 + c] * m[1] + s->axes[6 + c] * m[2];
  }
  return distance;
}

KP_FN void deform_obstacle_velocity(const deform_obstacle *s, const kp_real *values,
                                    const double x[3], double v[3]) {
  double r[3] = { x[0] - s->center[0], x[1] - s->center[1], x[2] - s->center[2] };
  v[0] = s->velocity[0] + s->spin[1] * r[2] - s->spin[2] * r[1] + s->slide[0];
  v[1] = s->velocity[1] + s->spin[2] * r[0] - s->spin[0] * r[2] + s->slide[1];
  v[2] = s->velocity[2] + s->spin[0] * r[1] - s->spin[1] * r[0] + s->slide[2];
  if (s->values >= 0 && s->next >= 0) {
    double p[3], u[3];
    deform_to_shape(s, x, p);
    kp_key_view keys = deform_key_view(s, values);
    kp_key_velocity(&keys, p, u);
    for (int c = 0; c < 3; ++c) {
      v[c] += s->axes[c] * u[0] + s->axes[3 + c] * u[1] + s->axes[6 + c] * u[2];
    }
  }
}

// The share of a stopping impulse that a node of mass m gets at x.
KP_FN double deform_obstacle_share(const deform_obstacle *s, const double x[3], const double n[3],
                                   double m) {
  if (s->crowd <= 0.0) {
    return 1.0;
  }
  double r[3] = { x[0] - s->center[0], x[1] - s->center[1], x[2] - s->center[2] };
  double a[3] = { r[1] * n[2] - r[2] * n[1], r[2] * n[0] - r[0] * n[2], r[0] * n[1] - r[1] * n[0] };
  double mobility = s->inverse_mass;
  for (int c = 0; c < 3; ++c) {
    const double *row = s->inverse_inertia + 3 * c;
    mobility += a[c] * (row[0] * a[0] + row[1] * a[1] + row[2] * a[2]);
  }
  return 1.0 / (1.0 + m * s->crowd * mobility);
}

// v = Gamma(v)
KP_FN void deform_gamma(const double n[3], const double body[3], double friction, double share,
                        double v[3]) {
  double u[3] = { v[0] - body[0], v[1] - body[1], v[2] - body[2] };
  double along = u[0] * n[0] + u[1] * n[1] + u[2] * n[2];
  double stop = along < 0.0 ? -along * share : 0.0;  // vn' - vn
  double t[3] = { u[0] - along * n[0], u[1] - along * n[1], u[2] - along * n[2] };
  double slip = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
  double drag = friction * stop;
  double most = share * slip;
  drag = drag < most ? drag : most;
  double keep = slip > 0.0 ? drag / slip : 0.0;
  for (int c = 0; c < 3; ++c) {
    v[c] += stop * n[c] - keep * t[c];
  }
}

// ---- where solids are (section 6.5): faces of the domain first, which nodes well inside it need
// not ask; then what else has no bounds, which every node asks; the others through uniform cells
// that list the solids whose boxes they meet

// A node near an edge or a corner of a free body that is between nodes: it stays on its side of a
// plane that goes with the body.
typedef struct deform_plane {
  double n[3];    // in the axes of the shape
  double offset;  // m
  int32_t solid;  // -1: none
} deform_plane;

typedef struct deform_places {
  const uint8_t *solids;  // deform_obstacle
  const uint8_t *planes;  // deform_plane, of nodes; may be NULL
  const kp_real *values;  // of all grids
  const int32_t *start, *list;
  int32_t n_faces, n_wide, has_planes;
  double room_lo[3], room_hi[3];  // m: the faces; infinite where there is none
  int32_t n[3];                   // cells; 0: no solid has bounds
  double lo[3];
  double per_edge;  // 1/m
} deform_places;

KP_FN const deform_obstacle *deform_obstacle_at(const deform_places *p, int32_t s) {
  return (const deform_obstacle *)(const void *)p->solids + s;
}

// The first solid without bounds that may be nearer to x than `gap`: faces come one and all. What
// is asked is the distance of each face, to the last bit.
KP_FN int32_t deform_first_wide(const deform_places *p, const double x[3], double gap) {
  bool is_inside = true;
  for (int c = 0; c < 3; ++c) {
    is_inside = is_inside && x[c] - p->room_lo[c] >= gap && p->room_hi[c] - x[c] >= gap;
  }
  return is_inside ? p->n_faces : 0;
}

// First and last + 1 of the listed solids near x.
KP_FN void deform_near(const deform_places *p, const double x[3], int32_t *first, int32_t *last) {
  int32_t at[3];
  *first = *last = 0;
  for (int c = 0; c < 3; ++c) {
    double g = (x[c] - p->lo[c]) * p->per_edge;
    if (!(g >= 0.0 && g < (double)p->n[c])) {
      return;
    }
    at[c] = (int32_t)g;
  }
  int64_t cell = at[0] + (int64_t)p->n[0] * (at[1] + (int64_t)p->n[1] * at[2]);
  *first = p->start[cell];
  *last = p->start[cell + 1];
}

// The plane of node i; NULL: it has none.
KP_FN const deform_plane *deform_plane_at(const deform_places *p, int64_t i) {
  if (!p->has_planes) {
    return NULL;
  }
  const deform_plane *plane = (const deform_plane *)(const void *)p->planes + i;
  return plane->solid >= 0 ? plane : NULL;
}

// Distance from a solid, or from a plane of it.
KP_FN double deform_distance(const deform_places *places, int32_t solid, const deform_plane *plane,
                             const double x[3], double n[3]) {
  const deform_obstacle *s = deform_obstacle_at(places, solid);
  if (plane == NULL) {
    return deform_obstacle_distance(s, places->values, x, n);
  }
  double p[3];
  deform_to_shape(s, x, p);
  for (int c = 0; c < 3; ++c) {
    n[c] = s->axes[c] * plane->n[0] + s->axes[3 + c] * plane->n[1] + s->axes[6 + c] * plane->n[2];
  }
  return plane->n[0] * p[0] + plane->n[1] * p[1] + plane->n[2] * p[2] - plane->offset;
}

// ---- which solid a node is deepest in, -1: none

typedef struct deform_touch_args {
  deform_places places;
  double gap;  // m
  const uint8_t *hold;
  const kp_pos *x, *y, *z;
  int32_t *contact;
} deform_touch_args;

KP_FN void deform_touch(int64_t i, const deform_touch_args *g) {
  const double x[3] = { g->x[i], g->y[i], g->z[i] };
  int32_t first, last, touched = -1;
  double deepest = 0.0;
  deform_near(&g->places, x, &first, &last);
  int32_t n = g->hold[i] >= 7 ? 0 : g->places.n_wide + last - first;
  for (int32_t k = deform_first_wide(&g->places, x, g->gap); k < n; ++k) {
    int32_t s = k < g->places.n_wide ? k : g->places.list[first + k - g->places.n_wide];
    double normal[3];
    double phi =
        deform_obstacle_distance(deform_obstacle_at(&g->places, s), g->places.values, x, normal);
    if (phi - g->gap < deepest) {
      deepest = phi - g->gap;
      touched = s;
    }
  }
  const deform_plane *plane = g->hold[i] >= 7 ? NULL : deform_plane_at(&g->places, i);
  if (plane != NULL && touched < 0) {
    double normal[3];
    double phi = deform_distance(&g->places, plane->solid, plane, x, normal);
    touched = phi < g->gap ? plane->solid : touched;
  }
  g->contact[i] = touched;
}

// ---- B.4: nodes that ended in a body

typedef struct deform_collide_args {
  deform_places places;
  double dt;       // s
  double gap;      // m: how far from bodies nodes stay
  int32_t slides;  // 0: the old correction x + |phi| n of Bridson et al. (2003)
  const uint8_t *hold;
  const kp_real *mass;
  const kp_pos *ox, *oy, *oz;  // before the move
  kp_pos *x, *y, *z;
  const kp_real *wx, *wy, *wz;  // that moved it
  kp_real *vx, *vy, *vz;        // of the start of the step
  kp_real *nx, *ny, *nz;        // normal of the contact, 0: none
  kp_real *px, *py, *pz;        // impulse on the node [N s]
  int32_t *contact;             // solid it is deepest in, -1: none
  int32_t *second;              // another one
} deform_collide_args;

// A node in a solid.
typedef struct deform_hit {
  const deform_obstacle *solid;
  const deform_plane *plane;  // NULL: the solid itself
  int32_t number;             // of the solid
  double depth;               // m, below 0
  double n[3];                // normal
  double body[3];             // velocity of the solid there [m/s]
  double share;
} deform_hit;

// Where a node that went from `old` into a solid with velocity w ends: it moves to the surface,
// there loses speed, and slides on for the rest of the step. For a body that moves, phi + dt v_B.n
// is the distance at the start. What is left inside, where the body is curved, goes out along the
// normal.
KP_FN void deform_slide(const deform_collide_args *g, const deform_hit *h, const double old[3],
                        const double w[3], double x[3]) {
  double m[3];
  double towards = h->body[0] * h->n[0] + h->body[1] * h->n[1] + h->body[2] * h->n[2];
  double start = deform_distance(&g->places, h->number, h->plane, old, m) - g->gap;
  start += g->dt * towards;
  double theta = start > 0.0 ? start / (start - h->depth) : 0.0;
  double u[3] = { w[0], w[1], w[2] };
  deform_gamma(h->n, h->body, h->solid->friction, h->share, u);
  for (int c = 0; c < 3; ++c) {
    x[c] = old[c] + g->dt * (theta * w[c] + (1.0 - theta) * u[c]);
  }
  double left = deform_distance(&g->places, h->number, h->plane, x, m) - g->gap;
  for (int c = 0; c < 3 && left < 0.0; ++c) {
    x[c] -= left * m[c];
  }
}

KP_FN void deform_collide(int64_t i, const deform_collide_args *g) {
  double x[3] = { g->x[i], g->y[i], g->z[i] };
  const double old[3] = { g->ox[i], g->oy[i], g->oz[i] };
  const double w[3] = { (double)g->wx[i], (double)g->wy[i], (double)g->wz[i] };
  double v[3] = { (double)g->vx[i], (double)g->vy[i], (double)g->vz[i] };
  double mass = (double)g->mass[i];
  double normal[3] = { 0.0, 0.0, 0.0 };
  double deepest = 0.0;
  int32_t first, last, contact = -1, second = -1;
  deform_near(&g->places, x, &first, &last);
  uint8_t hold = g->hold[i];
  int32_t count = hold >= 7 ? 0 : g->places.n_wide + last - first;
  const deform_plane *plane = hold >= 7 ? NULL : deform_plane_at(&g->places, i);
  int32_t all = count + (plane != NULL ? 1 : 0);
  for (int32_t k = deform_first_wide(&g->places, x, g->gap); k < all; ++k) {
    int32_t number = k;
    if (k >= count) {
      number = plane->solid;
    } else if (k >= g->places.n_wide) {
      number = g->places.list[first + k - g->places.n_wide];
    }
    deform_hit h = { .solid = deform_obstacle_at(&g->places, number),
                     .plane = k < count ? NULL : plane,
                     .number = number };
    h.depth = deform_distance(&g->places, number, h.plane, x, h.n) - g->gap;
    // a node that is in the body itself has its normal from there
    if (!(h.depth < 0.0) || (h.plane != NULL && (contact == number || second == number))) {
      continue;
    }
    deform_obstacle_velocity(h.solid, g->places.values, x, h.body);
    h.share = deform_obstacle_share(h.solid, x, h.n, mass);
    if (g->slides && contact < 0) {
      deform_slide(g, &h, old, w, x);
    } else {  // after another body moved it, its path is not straight any more
      for (int c = 0; c < 3; ++c) {
        x[c] -= h.depth * h.n[c];
      }
    }
    deform_gamma(h.n, h.body, h.solid->friction, h.share, v);
    second = h.depth < deepest ? contact : number;
    if (h.depth < deepest) {
      deepest = h.depth;
      contact = number;
      normal[0] = h.n[0];
      normal[1] = h.n[1];
      normal[2] = h.n[2];
    }
  }
  g->contact[i] = contact;
  g->second[i] = second;
  g->nx[i] = (kp_real)normal[0];
  g->ny[i] = (kp_real)normal[1];
  g->nz[i] = (kp_real)normal[2];
  kp_real u[3] = { g->vx[i], g->vy[i], g->vz[i] };
  if (contact >= 0) {
    g->x[i] = hold & 1 ? g->x[i] : x[0];
    g->y[i] = hold & 2 ? g->y[i] : x[1];
    g->z[i] = hold & 4 ? g->z[i] : x[2];
    g->vx[i] = hold & 1 ? u[0] : (kp_real)v[0];
    g->vy[i] = hold & 2 ? u[1] : (kp_real)v[1];
    g->vz[i] = hold & 4 ? u[2] : (kp_real)v[2];
  }
  g->px[i] = g->mass[i] * (g->vx[i] - u[0]);
  g->py[i] = g->mass[i] * (g->vy[i] - u[1]);
  g->pz[i] = g->mass[i] * (g->vz[i] - u[2]);
}

typedef struct deform_contacts_args {
  const int32_t *contact;
} deform_contacts_args;

KP_FN void deform_contacts(int64_t i, const deform_contacts_args *g, double *value) {
  value[0] = g->contact[i] >= 0 ? 1.0 : 0.0;
}

// ---- B.6: the forces at the projected velocity, applied without projection

// At nodes in contact w along the normal becomes that of v + b/m, b the impulse of all forces.
// Across it both are the same when the solve is exact; the one of the solve is kept, because what
// is left of the residual is 1 + dt^2 omega^2 times larger in the other. Nodes that are pulled off
// are left to the next step, whose first solve knows no contact: here they would jump off as if
// their springs were explicit. Until then bodies hold them, and feel it.
typedef struct deform_recover_args {
  int64_t first;
  int64_t o, p, q;  // of b
  const kp_real *mass;
  const uint8_t *hold;
  const int32_t *contact;
  const kp_real *nx, *ny, *nz;
  const kp_real *vx, *vy, *vz;
  const kp_real *b;
  kp_real *wx, *wy, *wz;
  kp_real whole;          // the step over the time of the solve
  kp_real *px, *py, *pz;  // impulse on the node [N s]
} deform_recover_args;

KP_FN void deform_recover(int64_t e, const deform_recover_args *g) {
  int64_t i = g->first + e;
  if (g->contact[i] < 0) {
    return;
  }
  uint8_t hold = g->hold[i];
  kp_real s = 1 / g->mass[i];
  kp_real n[3] = { g->nx[i], g->ny[i], g->nz[i] };
  kp_real along = (g->vx[i] + s * g->b[g->o + i] - g->wx[i]) * n[0] +
                  (g->vy[i] + s * g->b[g->p + i] - g->wy[i]) * n[1] +
                  (g->vz[i] + s * g->b[g->q + i] - g->wz[i]) * n[2];
  kp_real held = along > 0 ? g->mass[i] * along * g->whole : 0;
  g->px[i] -= hold & 1 ? 0 : held * n[0];
  g->py[i] -= hold & 2 ? 0 : held * n[1];
  g->pz[i] -= hold & 4 ? 0 : held * n[2];
  along = along < 0 ? along : 0;
  g->wx[i] += hold & 1 ? 0 : along * n[0];
  g->wy[i] += hold & 2 ? 0 : along * n[1];
  g->wz[i] += hold & 4 ? 0 : along * n[2];
}

// ---- B.7: friction with the impulse the body really gave

// The normals are forgotten: the first solve of the next step must not know them, or cloth would
// stick to bodies.
typedef struct deform_friction_args {
  deform_places places;
  int32_t is_late;  // 0: friction acted before the solve only (Bridson et al. 2003), a baseline
  const int32_t *contact, *second;
  const uint8_t *hold;
  const kp_real *mass;
  kp_real *nx, *ny, *nz;
  const kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  kp_real *px, *py, *pz;
} deform_friction_args;

KP_FN void deform_friction(int64_t i, const deform_friction_args *g) {
  if (g->contact[i] < 0) {
    return;
  }
  const double x[3] = { g->x[i], g->y[i], g->z[i] };
  const kp_real u[3] = { g->vx[i], g->vy[i], g->vz[i] };
  double v[3] = { (double)u[0], (double)u[1], (double)u[2] };
  double mass = (double)g->mass[i];
  for (int t = 0; t < 2; ++t) {
    int32_t number = t == 0 ? g->contact[i] : g->second[i];
    if (number < 0 || !g->is_late) {
      continue;
    }
    const deform_obstacle *s = deform_obstacle_at(&g->places, number);
    double n[3] = { (double)g->nx[i], (double)g->ny[i], (double)g->nz[i] };
    double body[3];
    if (t == 1) {
      const deform_plane *plane = deform_plane_at(&g->places, i);
      bool is_plane = plane != NULL && plane->solid == number;
      (void)deform_distance(&g->places, number, is_plane ? plane : NULL, x, n);
    }
    deform_obstacle_velocity(s, g->places.values, x, body);
    deform_gamma(n, body, s->friction, deform_obstacle_share(s, x, n, mass), v);
  }
  uint8_t hold = g->hold[i];
  g->vx[i] = hold & 1 ? u[0] : (kp_real)v[0];
  g->vy[i] = hold & 2 ? u[1] : (kp_real)v[1];
  g->vz[i] = hold & 4 ? u[2] : (kp_real)v[2];
  g->px[i] += g->mass[i] * (g->vx[i] - u[0]);
  g->py[i] += g->mass[i] * (g->vy[i] - u[1]);
  g->pz[i] += g->mass[i] * (g->vz[i] - u[2]);
  g->nx[i] = g->ny[i] = g->nz[i] = 0;
}

// ---- wind (section 6.6)

// A steady part, one towards an axis and one around it, faded along a direction and away from the
// axis.
typedef struct deform_breeze {
  double steady[3];  // m/s
  double inward;     // m/s
  double swirl;      // 1/s
  double at[3];      // m, on the axis
  double axis[3];
  double from, to;  // m along the axis from `at`: 0 before the first, all beyond the second
  double radius;    // m: a Gaussian of the distance from the axis; 0: everywhere
} deform_breeze;

typedef struct deform_blow_args {
  const double *breezes;  // deform_breeze
  int32_t n;
  const kp_pos *x, *y, *z;
  kp_real *wx, *wy, *wz;
} deform_blow_args;

KP_FN void deform_blow(int64_t i, const deform_blow_args *g) {
  double sum[3] = { 0.0, 0.0, 0.0 };
  for (int32_t b = 0; b < g->n; ++b) {
    const deform_breeze *w = (const deform_breeze *)(const void *)g->breezes + b;
    const double d[3] = { g->x[i] - w->at[0], g->y[i] - w->at[1], g->z[i] - w->at[2] };
    const double *a = w->axis;
    double along = d[0] * a[0] + d[1] * a[1] + d[2] * a[2];
    double r[3] = { d[0] - along * a[0], d[1] - along * a[1], d[2] - along * a[2] };
    double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    double in = r2 > 0.0 ? -w->inward / sqrt(r2) : 0.0;
    double turn[3] = { a[1] * r[2] - a[2] * r[1], a[2] * r[0] - a[0] * r[2],
                       a[0] * r[1] - a[1] * r[0] };
    double fade = 1.0;
    if (w->from != w->to) {
      fade = (along - w->from) / (w->to - w->from);
      fade = fade < 0.0 ? 0.0 : (fade > 1.0 ? 1.0 : fade);
    }
    fade *= w->radius > 0.0 ? exp(-r2 / (w->radius * w->radius)) : 1.0;
    for (int c = 0; c < 3; ++c) {
      sum[c] += fade * (w->steady[c] + in * r[c] + w->swirl * turn[c]);
    }
  }
  g->wx[i] = (kp_real)sum[0];
  g->wy[i] = (kp_real)sum[1];
  g->wz[i] = (kp_real)sum[2];
}

// ---- avoiding bodies before they are met (Ozgen 2013, L607; the force is reconstructed)
//
//   F = k (d0 - d) n - c min(0, (v - v_B).n) n        where d < d0, for every solid near

typedef struct deform_avoid_args {
  deform_places places;
  double from;  // d0 [m]
  double stiffness, damping;
  const uint8_t *hold;
  const kp_real *mass;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
  kp_real *ex, *ey, *ez;  // m/s^2
} deform_avoid_args;

KP_FN void deform_avoid(int64_t i, const deform_avoid_args *g) {
  const double x[3] = { g->x[i], g->y[i], g->z[i] };
  const double v[3] = { (double)g->vx[i], (double)g->vy[i], (double)g->vz[i] };
  double sum[3] = { 0.0, 0.0, 0.0 };
  int32_t first, last;
  deform_near(&g->places, x, &first, &last);
  int32_t n = g->hold[i] >= 7 ? 0 : g->places.n_wide + last - first;
  for (int32_t k = deform_first_wide(&g->places, x, g->from); k < n; ++k) {
    int32_t s = k < g->places.n_wide ? k : g->places.list[first + k - g->places.n_wide];
    const deform_obstacle *solid = deform_obstacle_at(&g->places, s);
    double normal[3], body[3];
    double d = deform_obstacle_distance(solid, g->places.values, x, normal);
    if (d >= g->from) {
      continue;
    }
    deform_obstacle_velocity(solid, g->places.values, x, body);
    double along =
        (v[0] - body[0]) * normal[0] + (v[1] - body[1]) * normal[1] + (v[2] - body[2]) * normal[2];
    double push = g->stiffness * (g->from - d) - g->damping * (along < 0.0 ? along : 0.0);
    for (int c = 0; c < 3; ++c) {
      sum[c] += push * normal[c];
    }
  }
  double inverse = 1.0 / (double)g->mass[i];
  g->ex[i] += (kp_real)(inverse * sum[0]);
  g->ey[i] += (kp_real)(inverse * sum[1]);
  g->ez[i] += (kp_real)(inverse * sum[2]);
}

#define DEFORM_BODIES_KERNELS(POINT, REDUCE, ROW, PAIR)                                            \
  POINT(deform, touch)                                                                             \
  POINT(deform, collide)                                                                           \
  REDUCE(deform, contacts, KP_REDUCE_SUM)                                                          \
  POINT(deform, recover)                                                                           \
  POINT(deform, friction)                                                                          \
  POINT(deform, avoid)                                                                             \
  POINT(deform, blow)
