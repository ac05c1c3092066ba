// What surfaces of particles are made of, one sample or one particle at a time, for the loops of
// particle_surface.c and the kernels of surface_kernels.h alike.
#pragma once

#include "geom/sparse_lattice.h"
#include "geom/surface_fields.h"
#include "math/symmetric3.h"

#define KP_SURFACE_PI 3.14159265358979323846

// Numbers that turn sums into values; lengths in metres.
typedef struct kp_surface_numbers {
  float spacing, reach, radius;  // r of Zhu and Bridson
  float full;                    // their weight inside a liquid
  float unit, level, scale;      // of the others: value = scale (level - field(unit sums))
  int32_t dimension;
  double reach_spacings;
  double spray;  // share of the neighbours inside below which particles are spray; 0: none are
  double lo[3], hi[3];  // walls, of which neighbours are not missed [m]
} kp_surface_numbers;

// ---- which blocks need samples

#define KP_SURFACE_FILLED 0.75  // share of the expected particles with which a block is full

// Blocks that are cut by walls have room for fewer particles; those next to a wall keep half a
// spacing away from it.
typedef struct kp_surface_room {
  double size, spacing;  // of a block and between particles [m]
  double lo[3], hi[3];   // walls
  bool is_solid;         // blocks full of particles lie inside
} kp_surface_room;

// Particles with which a block is full; of a block beyond a wall none.
KP_FN uint32_t kp_surface_expected(const kp_surface_room *r, const int32_t at[3]) {
  double volume = KP_SURFACE_FILLED;
  for (int c = 0; c < 3; ++c) {
    double begin = r->size * at[c], end = r->size * (at[c] + 1);
    bool is_cut = begin < r->lo[c] || end > r->hi[c];
    begin = begin < r->lo[c] ? r->lo[c] : begin;
    end = end > r->hi[c] ? r->hi[c] : end;
    double width = (end - begin) / r->spacing - (is_cut ? 0.5 : 0.0);
    volume *= width > 0.0 ? width : 0.0;
  }
  return (uint32_t)volume;
}

// What is known of a block before anything is gathered.
typedef struct kp_surface_known {
  bool is_inside;  // it and all around are full
  bool is_deep;    // all that is missing lies beyond walls: samples are there for the wall to cut
} kp_surface_known;

KP_FN kp_surface_known kp_surface_know(const kp_surface_room *r, const kp_blocks *b,
                                       const uint32_t *starts, int64_t block) {
  kp_surface_known known = { r->is_solid, r->is_solid };
  double edge = r->size / r->spacing;
  uint32_t full = (uint32_t)(KP_SURFACE_FILLED * edge * edge * edge);
  for (int near = 0; near < KP_BLOCK_AROUND && known.is_deep; ++near) {
    int32_t at = b->around[block][near];
    uint32_t count = at < 0 ? 0 : starts[at + 1] - starts[at];
    if (count < full) {
      const int32_t place[3] = { b->at[block][0] + near % 3 - 1, b->at[block][1] + near / 3 % 3 - 1,
                                 b->at[block][2] + near / 9 - 1 };
      known.is_inside = false;
      known.is_deep = count >= kp_surface_expected(r, place);
    }
  }
  return known;
}

// After the deep blocks are known.
KP_FN bool kp_surface_is_calm(const kp_blocks *b, int64_t block) {
  bool is_calm = b->deep[block] != 0;
  for (int near = 0; near < KP_BLOCK_AROUND && is_calm; ++near) {
    int32_t at = b->around[block][near];
    is_calm = at < 0 || b->deep[at] != 0;
  }
  return is_calm;
}

// Samples that have to be gathered for.
KP_FN bool kp_surface_is_open(const kp_blocks *b, int32_t at) {
  return at >= 0 && b->deep[at] == 0;
}

// Particles of a block and of those around it are seen by such samples.
KP_FN bool kp_surface_is_near(const kp_blocks *b, int64_t block) {
  bool is_near = false;
  for (int near = 0; near < KP_BLOCK_AROUND && !is_near; ++near) {
    is_near = kp_surface_is_open(b, b->around[block][near]);
  }
  return is_near;
}

// They are neighbours of particles that are.
KP_FN bool kp_surface_is_close(const kp_blocks *b, int64_t block) {
  bool is_close = false;
  for (int near = 0; near < KP_BLOCK_AROUND && !is_close; ++near) {
    int32_t at = b->around[block][near];
    is_close = at >= 0 && kp_surface_is_near(b, at);
  }
  return is_close;
}

// ---- Zhu and Bridson

#define KP_SURFACE_GAP 0.95f     // spacings: no liquid farther from the nearest, where few are
#define KP_SURFACE_THIN 0.25f    // share of the weight inside a liquid, below which few are
#define KP_SURFACE_THICK 0.40f   // and above which there are enough
#define KP_SURFACE_DROP 0.65f    // spacings: radius of a particle that is alone
#define KP_SURFACE_ALONE 0.05f   // share of the weight that others may have where one is alone
#define KP_SURFACE_AMONG 0.14f   // and where it must not show
#define KP_SURFACE_OUTSIDE 0.7   // spacings: no value is larger, so that smoothing spares the small
#define KP_SURFACE_FLAT 0.42f    // share of the weight up to which few particles are
#define KP_SURFACE_CROWDED 5.0f  // spacings that phi is raised by, per share beyond that
#define KP_SURFACE_FACE 0.71f    // what the mean stays behind by beside a flat surface, per way
#define KP_SURFACE_BENT 1.55f    // faces up to which a surface counts as flat, or as a sheet
#define KP_SURFACE_BEND 1.4f     // faces that are counted for each beyond these
#define KP_SURFACE_FACES 3.0f    // and counted at most: those of a corner
#define KP_SURFACE_SOME 0.1f     // share of the weight of others with which faces count in full

typedef struct kp_surface_gathered {
  float weight, x, y, z, nearest;  // in R; nearest: square, at most 1
  float spread, e[3];              // sums of (1 - s^2)^2 s^2 and (1 - s^2)^2 d
} kp_surface_gathered;

KP_FN float kp_surface_clamp01(float t) {
  return t > 0.0f ? (t < 1.0f ? t : 1.0f) : 0.0f;
}

// Share of the weight inside a liquid that all but the nearest particle have.
KP_FN float kp_surface_others(const kp_surface_numbers *n, const kp_surface_gathered *g) {
  float own = 1.0f - g->nearest;
  return (g->weight - (own > 0.0f ? own * own * own : 0.0f)) / n->full;
}

// r at edges, corners and clumps. Deep inside the mean m moves with the sample, so the trace of its
// gradient (the quantity of which Solenthaler et al. 2007 look at the largest eigenvalue) is the
// dimension; with each face of a corner it is less by about KP_SURFACE_FACE. With f faces that meet
// at right angles, m lies sqrt(f) times as far from where they meet as from one face alone.
KP_FN float kp_surface_radius(const kp_surface_numbers *n, const kp_surface_gathered *g) {
  float along = (g->x * g->e[0] + g->y * g->e[1] + g->z * g->e[2]) / g->weight;
  float trace = 6.0f * (g->spread - along) / g->weight;
  float beyond = ((float)n->dimension - trace) / KP_SURFACE_FACE - KP_SURFACE_BENT;
  float faces = 1.0f + (beyond > 0.0f ? KP_SURFACE_BEND * beyond : 0.0f);
  faces = faces < KP_SURFACE_FACES ? faces : KP_SURFACE_FACES;
  float t = kp_surface_clamp01(kp_surface_others(n, g) / KP_SURFACE_SOME);
  return n->radius * (1.0f + t * (sqrtf(faces) - 1.0f));
}

// |x - m| - radius in metres, from what a sample has gathered.
KP_FN float kp_surface_distance(const kp_surface_numbers *n, const kp_surface_gathered *g,
                                float radius) {
  float most = (float)KP_SURFACE_OUTSIDE * n->spacing;
  float x = g->x / g->weight, y = g->y / g->weight, z = g->z / g->weight;
  float phi = n->reach * sqrtf(x * x + y * y + z * z) - radius;
  float share = g->weight / n->full - KP_SURFACE_THIN;
  float t = kp_surface_clamp01(share / (KP_SURFACE_THICK - KP_SURFACE_THIN));
  if (t < 1.0f) {
    float gap = KP_SURFACE_GAP * n->spacing + 2.0f * t * n->reach;
    float away = n->reach * sqrtf(g->nearest) - gap;
    phi = phi > away ? phi : away;
  }
  return phi < most ? phi : most;
}

// What smoothing would lose: a drop around a particle that is alone, and phi itself where fewer
// particles are than at a flat surface, with the r of one: with that of edges they would swell.
KP_FN float kp_surface_drop(const kp_surface_numbers *n, const kp_surface_gathered *g) {
  float phi = kp_surface_distance(n, g, n->radius);
  float share = kp_surface_others(n, g) - KP_SURFACE_ALONE;
  float t = kp_surface_clamp01(share / (KP_SURFACE_AMONG - KP_SURFACE_ALONE));
  float drop = n->reach * sqrtf(g->nearest) - (1.0f - t) * KP_SURFACE_DROP * n->spacing;
  float crowd = g->weight / n->full - KP_SURFACE_FLAT;
  float few = phi + (crowd > 0.0f ? KP_SURFACE_CROWDED * crowd * n->spacing : 0.0f);
  return drop < few ? drop : few;
}

// The value of a sample, which is smoothed, and what is joined with it then.
KP_FN float kp_surface_zhu_bridson(const kp_surface_numbers *n, const kp_surface_gathered *g,
                                   float *drop) {
  if (!(g->weight > 1e-6f)) {
    *drop = (float)KP_SURFACE_OUTSIDE * n->spacing;
    return *drop;
  }
  *drop = kp_surface_drop(n, g);
  return kp_surface_distance(n, g, kp_surface_radius(n, g));
}

// ---- the other fields

#define KP_SURFACE_LONE 1.5f  // spacings that the value of a field is kept to

KP_FN float kp_surface_plain_value(float first, float second) {
  (void)second;
  return first;
}

KP_FN float kp_surface_root_value(float first, float second) {
  (void)second;
  return sqrtf(first);
}

KP_FN float kp_surface_mean_value(float first, float second) {
  return second > 0.0f ? sqrtf(first / second) : 0.0f;
}

// Of a particle whose edge is `size` spacings.
KP_FN float kp_surface_volume_of(float size, int32_t dimension) {
  return dimension == 2 ? size * size : size * size * size;
}

// What is inside has a negative value, about a spacing deep inside; `f` is the field.
KP_FN float kp_surface_value(const kp_surface_numbers *n, float f) {
  float value = n->scale * (n->level - f), most = KP_SURFACE_LONE * n->spacing;
  return value > -most ? (value < most ? value : most) : -most;
}

// The length of a mean from the weight and the three sums.
KP_FN float kp_surface_length_of(float weight, float x, float y, float z) {
  return weight > 0.0f ? sqrtf(x * x + y * y + z * z) / weight : 0.0f;
}

// Rmax: over the whole liquid the largest value pops with its most extreme particle, so it is kept
// to that of a half space.
KP_FN float kp_surface_largest(int32_t dimension, float largest) {
  float most = dimension == 2 ? (float)(4.0 / (3.0 * KP_SURFACE_PI)) : 0.375f;
  return largest < most ? largest : most;
}

// s_i = 1 - (Rr_i + Rmax / 2) (Bayraktar 2010, Eq. 5.9), as the field takes it.
KP_FN float kp_surface_share(kp_surface_kind kind, float ratio, float largest) {
  float value = 1.0f - (ratio + 0.5f * largest);
  value = value > 0.05f ? value : 0.05f;
  return kind == KP_SURFACE_LITERAL  ? value * value
         : kind == KP_SURFACE_SHRINK ? 1.0f / (value * value)
                                     : value;
}

// ---- ellipsoids (after Yu & Turk 2013, section 4)

#define KP_ELLIPSOID_KERNEL 0.80  // semi-axis of a particle deep inside, in R
#define KP_ELLIPSOID_LONE 0.36    // of one that is alone
#define KP_ELLIPSOID_HEAVY 1.75   // its weight: the level of a small ball holds less than the ball
#define KP_ELLIPSOID_THINNEST 0.35  // shortest axis over the longest, 1/k_r
#define KP_ELLIPSOID_WIDEST 1.15    // longest axis over that deep inside
#define KP_ELLIPSOID_MOVED 0.3      // lambda: how far centres move towards the mean of those alike
#define KP_ELLIPSOID_FEW 0.10       // shares of the neighbours deep inside between which a particle
#define KP_ELLIPSOID_ENOUGH 0.30    // is more and more part of a liquid
#define KP_ELLIPSOID_MANY 0.45      // share at which no weight is added any more
#define KP_ELLIPSOID_CLUMP 0.02     // shares between which particles of a clump that is not long
#define KP_ELLIPSOID_CLUMPED 0.085  // weigh more: its level holds less than it does, as that of a
#define KP_ELLIPSOID_LUMP 0.13      // lone ball, and it has no room inside to make up for it
#define KP_ELLIPSOID_LUMPED 0.215   // (4 particles have 0.04, 8 of them 0.09, 27 at least 0.22)
#define KP_ELLIPSOID_HEAVIER 1.0    // and by how much
#define KP_ELLIPSOID_SWEEPS 5       // of Jacobi's rotations: the error squares with each

// Sums over the neighbours of one particle (kp_surface_cloud of surface_sums.h), in R.
typedef struct kp_surface_neighbours {
  float count, weight, d[3], dd[6], alike, alike_d[3];
} kp_surface_neighbours;

typedef struct kp_surface_ellipsoid {
  float g[KP_SURFACE_ATTRIBUTES];  // xx xy xz yy yz zz of 1 / axes, and the weight
  float move[3];                   // of the centre, in R
  float spray;                     // share of the particle that is spray and no part of a body
} kp_surface_ellipsoid;

// Variance along an axis of w = 1 - s^3 over the unit ball, and the neighbours it holds.
KP_FN double kp_ellipsoid_variance(int32_t dimension) {
  return dimension == 2 ? 0.5 * (1.0 / 4.0 - 1.0 / 7.0) / (1.0 / 2.0 - 1.0 / 5.0) : 0.15;
}

KP_FN double kp_ellipsoid_count(int32_t dimension, double r) {
  return dimension == 2 ? KP_SURFACE_PI * r * r : 4.0 / 3.0 * KP_SURFACE_PI * r * r * r;
}

KP_FN double kp_ellipsoid_clamp(double x, double lo, double hi) {
  return x > lo ? (x < hi ? x : hi) : lo;
}

// Neighbours of a particle over those it has deep inside.
KP_FN double kp_ellipsoid_share(const kp_surface_numbers *n, const kp_surface_neighbours *m) {
  return (double)m->count / kp_ellipsoid_count(n->dimension, n->reach_spacings);
}

// Weight that a particle of a clump has beyond that of others with as few neighbours.
KP_FN double kp_ellipsoid_clump(double share, double roundness) {
  double up = (share - KP_ELLIPSOID_CLUMP) / (KP_ELLIPSOID_CLUMPED - KP_ELLIPSOID_CLUMP);
  double down = (KP_ELLIPSOID_LUMPED - share) / (KP_ELLIPSOID_LUMPED - KP_ELLIPSOID_LUMP);
  double t = kp_ellipsoid_clamp(up < down ? up : down, 0.0, 1.0);
  return KP_ELLIPSOID_HEAVIER * t * roundness;
}

// Semi-axes in R from the covariance of the neighbours, and their product. Yu and Turk take its
// eigenvalues; their roots are the lengths of the cloud, and with them a flat surface has the value
// 1/2 in its place.
KP_FN double kp_ellipsoid_axes(const kp_surface_numbers *n, const kp_surface_neighbours *m,
                               double axes[3], kp_mat3 *turn, double *roundness) {
  double w = (double)m->weight, full = kp_ellipsoid_variance(n->dimension), longest = 0.0;
  double x = (double)m->d[0] / w, y = (double)m->d[1] / w, z = (double)m->d[2] / w;
  double xx = (double)m->dd[0] / w - x * x, xy = (double)m->dd[1] / w - x * y;
  double xz = (double)m->dd[2] / w - x * z, yy = (double)m->dd[3] / w - y * y;
  double yz = (double)m->dd[4] / w - y * z;
  double zz = n->dimension == 2 ? full : (double)m->dd[5] / w - z * z;
  kp_mat3 a = { { { xx, xy, xz }, { xy, yy, yz }, { xz, yz, zz } } };
  double values[3];
  kp_symmetric3_turn(&a, KP_ELLIPSOID_SWEEPS, values, turn);
  // 0 along a line, 1 of what is as wide as it is long
  double sum = values[0] + values[1] + values[2];
  double minors = values[0] * values[1] + values[0] * values[2] + values[1] * values[2];
  *roundness = sum > 0.0 ? kp_ellipsoid_clamp(4.0 * minors / (sum * sum), 0.0, 1.0) : 0.0;
  for (int k = 0; k < 3; ++k) {
    axes[k] = sqrt((values[k] > 0.0 ? values[k] : 0.0) / full);
    axes[k] = axes[k] < KP_ELLIPSOID_WIDEST ? axes[k] : KP_ELLIPSOID_WIDEST;
    longest = axes[k] > longest ? axes[k] : longest;
  }
  longest = longest > KP_ELLIPSOID_THINNEST ? longest : KP_ELLIPSOID_THINNEST;
  double t = kp_ellipsoid_share(n, m) - KP_ELLIPSOID_FEW;
  t = kp_ellipsoid_clamp(t / (KP_ELLIPSOID_ENOUGH - KP_ELLIPSOID_FEW), 0.0, 1.0);
  double least = KP_ELLIPSOID_THINNEST * longest, product = 1.0;
  for (int k = 0; k < 3; ++k) {
    axes[k] = KP_ELLIPSOID_KERNEL * (axes[k] > least ? axes[k] : least);
    axes[k] = t * axes[k] + (1.0 - t) * KP_ELLIPSOID_LONE;
    product *= axes[k];
  }
  return product;
}

// ---- spray

#define KP_SPRAY_ALL 0.3  // of the share where spray begins: below that a particle is nothing else

// Share of the weights 1 - |d|^3 in a ball that lies before a wall t = d/R away: the integral of
// those of a disc, pi (1 - u^2) - 2 pi (1 - |u|^5) / 5, over u from -1 to t, over that of the whole
// ball, 2 pi / 3.
KP_FN double kp_spray_before_wall(double t) {
  double s = kp_ellipsoid_clamp(t, -1.0, 1.0), size = fabs(s), cube = size * size * size;
  double half = 0.9 * size - 0.5 * cube + 0.1 * cube * cube;
  return 0.5 + (s < 0.0 ? -half : half);
}

// How much of a particle at `place` [m] is spray, from the weight of its neighbours against that
// inside a liquid. The weight, unlike their number, has no steps, so nothing pops as they go by.
// Of what lies beyond a wall little is missed, since the root is taken of the share before it: the
// rim of a pool, and a film on the floor, are no spray; shreds that were thrown against a wall are.
KP_FN double kp_surface_spray_of(const kp_surface_numbers *n, double weight,
                                 const double place[3]) {
  if (!(n->spray > 0.0)) {
    return 0.0;
  }
  double reach = (double)n->reach, inside = 1.0;
  for (int c = 0; c < 3; ++c) {
    inside *= kp_spray_before_wall((place[c] - n->lo[c]) / reach);
    inside *= kp_spray_before_wall((n->hi[c] - place[c]) / reach);
  }
  double full = 0.5 * kp_ellipsoid_count(n->dimension, n->reach_spacings);
  double share = (weight - 1.0) / (full * sqrt(inside)), all = KP_SPRAY_ALL * n->spray;
  double t = kp_ellipsoid_clamp((n->spray - share) / (n->spray - all), 0.0, 1.0);
  return t * t * (3.0 - 2.0 * t);
}

// What is spray is missing in the surface: the particle is smaller, and faint at last. Its edge
// goes as the power 3/8 of what is left, since roots have the same bits everywhere and cube roots
// have not.
KP_FN void kp_surface_take_spray(double spray, kp_surface_ellipsoid *out) {
  double left = 1.0 - spray, fourth = sqrt(sqrt(left > 1e-3 ? left : 1e-3));
  double edge = fourth * sqrt(fourth);
  out->spray = (float)spray;
  for (int k = 0; k < 6; ++k) {
    out->g[k] = (float)((double)out->g[k] / edge);
  }
  out->g[6] = (float)((double)out->g[6] * (1.0 - spray * spray * spray));
}

// Of a particle `near` (in R) the corner of its block, whose neighbours have so much weight.
KP_FN void kp_surface_spray_out(const kp_surface_numbers *n, float weight, kp_vec3 corner,
                                const float near[3], kp_surface_ellipsoid *out) {
  const double reach = (double)n->reach;
  const double place[3] = { corner.x + reach * (double)near[0], corner.y + reach * (double)near[1],
                            corner.z + reach * (double)near[2] };
  kp_surface_take_spray(kp_surface_spray_of(n, (double)weight, place), out);
}

// `inverse`: one over the edge of the particle, in spacings. Its axes and its way are as much
// shorter, and its kernel as much higher, so that it holds its own volume.
KP_FN void kp_surface_find_ellipsoid(const kp_surface_numbers *n, const kp_surface_neighbours *m,
                                     float inverse, kp_surface_ellipsoid *out) {
  out->spray = 0.0f;
  double axes[3];
  kp_mat3 turn;
  double roundness, product = kp_ellipsoid_axes(n, m, axes, &turn, &roundness);
  int k = 0;
  for (int row = 0; row < 3; ++row) {
    for (int column = row; column < 3; ++column, ++k) {
      double sum = 0.0;
      for (int a = 0; a < 3; ++a) {
        sum += turn.m[row][a] * turn.m[column][a] / axes[a];
      }
      out->g[k] = (float)sum * inverse;
    }
  }
  // in flat worlds the third axis is that of z, and no part of the area
  double volume = product;
  for (int a = 0; a < 3 && n->dimension == 2; ++a) {
    volume = fabs(turn.m[2][a]) > 0.5 ? product / axes[a] : volume;
  }
  double share_of_all = kp_ellipsoid_share(n, m), among = share_of_all - KP_ELLIPSOID_FEW;
  among = kp_ellipsoid_clamp(among / (KP_ELLIPSOID_MANY - KP_ELLIPSOID_FEW), 0.0, 1.0);
  double weight = among + (1.0 - among) * KP_ELLIPSOID_HEAVY;
  if (n->dimension == 3) {
    weight += kp_ellipsoid_clump(share_of_all, roundness);
  }
  out->g[6] = (float)(weight / volume);
  double share = m->alike > 0.0f ? KP_ELLIPSOID_MOVED / (double)m->alike : 0.0;
  double most = 1.0 - KP_ELLIPSOID_KERNEL * KP_ELLIPSOID_WIDEST;
  for (int c = 0; c < 3; ++c) {
    out->move[c] = (float)kp_ellipsoid_clamp(share * (double)m->alike_d[c], -most, most) / inverse;
  }
}

// ---- walls

// Near a wall particles are missing on its far side, which would draw the surface away from it:
// samples there take the value of the nearest one that is an inset inside, lo..hi. Only those
// outside of it are written, so they may be done in any order.
typedef struct kp_surface_walls {
  int64_t lo[3], hi[3];  // samples
  kp_aabb box;           // m
} kp_surface_walls;

// Nothing of a block lies near a wall.
KP_FN bool kp_surface_is_clear(const kp_surface_walls *w, const kp_blocks *b, int32_t block) {
  bool is_clear = true;
  for (int c = 0; c < 3; ++c) {
    int32_t size = c == 2 ? b->depth : b->edge;
    int64_t first = c == 2 && b->depth != b->edge ? -1 : (int64_t)b->at[block][c] * b->edge;
    is_clear = is_clear && first >= w->lo[c] && first + size - 1 <= w->hi[c];
  }
  return is_clear;
}

KP_FN int64_t kp_surface_floor_divide(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

// The sample of space, wherever it lies.
KP_FN float kp_surface_sample_at(const kp_blocks *b, const int64_t at[3]) {
  bool is_flat = b->depth != b->edge;
  int64_t block[3], local[3];
  for (int c = 0; c < 3; ++c) {
    block[c] = c == 2 && is_flat ? 0 : kp_surface_floor_divide(at[c], b->edge);
    local[c] = c == 2 && is_flat ? at[c] + 1 : at[c] - block[c] * b->edge;
  }
  int64_t found = kp_blocks_find(b, block);
  int32_t slot = found < 0 ? KP_BLOCK_OUTSIDE : b->slots[found];
  if (slot < 0) {
    return slot == KP_BLOCK_INSIDE ? b->inside : b->outside;
  }
  int64_t n = local[0] + b->edge * (local[1] + b->edge * local[2]);
  return b->values[slot * kp_blocks_volume(b) + n];
}

// Whether a sample lies beyond the inset, and what it is to be then.
KP_FN bool kp_surface_extended(const kp_surface_walls *w, const kp_blocks *b, int64_t sample,
                               float *out) {
  kp_block_place p = kp_blocks_place(b, sample);
  int64_t from[3];
  bool is_inside = true;
  for (int c = 0; c < 3; ++c) {
    from[c] = p.at[c] < w->lo[c] ? w->lo[c] : p.at[c] > w->hi[c] ? w->hi[c] : p.at[c];
    is_inside = is_inside && from[c] == p.at[c];
  }
  if (!is_inside) {
    *out = kp_surface_sample_at(b, from);
  }
  return !is_inside;
}
