// What one grain does: contacts with other grains, with the faces of the domain and with samples of
// solids, and its motion. Sources: Cundall & Strack 1979 (spring, dashpot, slider); Bayraktar 2010,
// Eq. 4.8-4.10 with the signs of grains.md; Luding 2008 (rolling); Tsuji et al. 1992 (Hertz).
//
// A contact is seen from both sides, each with history of its own. The law below gives the two
// sides numbers that are equal bit for bit but for their sign: d, u, n and the tangential history
// change sign, everything else is the same, and no operation rounds the two differently.
#pragma once

#include "base/random.h"
#include "data/interface_kernels.h"
#include "math/rounding.h"
#include "math/wide.h"

#ifdef __CUDACC__
#define GRAINS_INLINE KP_FN
#define GRAINS_LANE(w) (w)
#else
#define GRAINS_INLINE KP_WIDE_FN
#define GRAINS_LANE(w) ((w)[0])
#endif

// x a + y b + z c with every product and sum rounded: a card would fuse them, and the small overlap
// of two large numbers would tell.
GRAINS_INLINE kp_w grains_dots(kp_w x, kp_w y, kp_w z, kp_w a, kp_w b, kp_w c) {
  return (kp_w_product(x, a) + kp_w_product(y, b)) + kp_w_product(z, c);
}
KP_FN kp_real grains_dot(kp_real x, kp_real y, kp_real z, kp_real a, kp_real b, kp_real c) {
  return (kp_product(x, a) + kp_product(y, b)) + kp_product(z, c);
}

#define GRAINS_BLOCK 16  // grains of a work item on the host; one on a card
#define GRAINS_TILE 192  // contacts evaluated at a time on the host

// What a variant fixes at compile time.
typedef struct grains_choice {
  int hertz;    // 0: linear spring
  int alike;    // all grains of both sides have one radius: sums of radii and masses are constants
  int rolling;  // with rolling friction
} grains_choice;

// The numbers of a law between two populations.
typedef struct grains_law {
  kp_real dt;
  kp_real stiffness;           // linear: k_n [N/m]; hertz: effective modulus E* [Pa]
  kp_real shear;               // linear: k_t [N/m]; hertz: 8 G* [Pa]
  kp_real damping;             // of the normal force over sqrt(k_n m*): 2 zeta
  kp_real rate;                // of the normal force over m* [1/s]; in place of damping where given
  kp_real tangential_damping;  // share of the normal coefficient
  kp_real friction;
  kp_real floor;           // least force of spring and dashpot: 0 forbids attraction
  kp_real adhesion;        // 2 pi surface energy [J/m^2]: pull over R*
  kp_real rolling;         // coefficient of rolling friction
  kp_real rolling_spring;  // linear: k_r [N/m]; hertz: [Pa]
  kp_real rolling_damping;
  // where all grains are alike
  kp_real reach;        // sum of the radii
  kp_real coefficient;  // of the dashpot [kg/s], halfway implicit like below
  kp_real pull;         // adhesion R* [N]
} grains_law;

// A contact as the law sees it.
typedef struct grains_gap {
  kp_w dx, dy, dz;  // x_i - x_j
  kp_w ux, uy, uz;  // v_i - v_j
  kp_w wx, wy, wz;  // R_i omega_i + R_j omega_j
  kp_w hx, hy, hz;  // tangential spring
  kp_w reach;       // R_i + R_j
  kp_w product;     // R_i R_j
  kp_w mass;        // m* = m_i m_j / (m_i + m_j)
  kp_w ri;          // R_i
  kp_w ox, oy, oz;  // omega_i - omega_j
  kp_w gx, gy, gz;  // rolling spring
} grains_gap;

typedef struct grains_push {
  kp_w fx, fy, fz;  // force on i
  kp_w tx, ty, tz;  // torque on i is -R_i t
  kp_w hx, hy, hz;  // tangential spring after the step
  kp_w gx, gy, gz;  // rolling spring after the step
} grains_push;

// One sliding or rolling spring: s += v dt in the plane across n, force -(k s + c v) up to `limit`.
// Cut at the limit, the spring is what the force that is left stretches it to.
GRAINS_INLINE void grains_slider(kp_w s[3], const kp_w v[3], const kp_w n[3], kp_w k, kp_w c,
                                 kp_w limit, kp_real dt, kp_w f[3]) {
  kp_w zero = kp_w_splat((kp_real)0);
  for (int a = 0; a < 3; ++a) {
    s[a] += v[a] * dt;
  }
  kp_w along = s[0] * n[0] + s[1] * n[1] + s[2] * n[2];
  for (int a = 0; a < 3; ++a) {
    s[a] -= along * n[a];
    f[a] = zero - (k * s[a] + c * v[a]);
  }
  kp_w size2 = f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
  kp_wmask slides = kp_w_less(limit * limit, size2);
  kp_w size = kp_w_sqrt(kp_w_max(size2, kp_w_splat((kp_real)1e-30)));
  kp_w scale = kp_w_select(slides, limit / size, kp_w_splat((kp_real)1));
  kp_w inverse = (kp_real)1 / kp_w_max(k, kp_w_splat((kp_real)1e-30));
  for (int a = 0; a < 3; ++a) {
    f[a] *= scale;
    s[a] = kp_w_select(slides, zero - (f[a] + c * v[a]) * inverse, s[a]);
  }
}

// f_i = (k u - c v_n)+ n - adhesion n + f_t while u = R_i + R_j - r > 0: B 4.8-4.10 with the
// overlap positive, so that it repels, and friction against the sliding of the two surfaces.
GRAINS_INLINE void grains_contact_law(grains_choice c, const grains_gap *g, const grains_law *l,
                                      grains_push *p) {
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w one = kp_w_splat((kp_real)1);
  kp_w reach = c.alike ? kp_w_splat(l->reach) : g->reach;
  kp_w r2 = grains_dots(g->dx, g->dy, g->dz, g->dx, g->dy, g->dz);
  kp_wmask touches = kp_w_and(kp_w_less(r2, reach * reach), kp_w_less(zero, r2));
  kp_w r = kp_w_select(touches, kp_w_root(r2), one);
  kp_w inverse = one / r;
  kp_w n[3] = { g->dx * inverse, g->dy * inverse, g->dz * inverse };
  kp_w overlap = reach - r;
  kp_w radius = c.alike ? zero : g->product / kp_w_max(reach, kp_w_splat((kp_real)1e-30));

  // stiffnesses at this overlap, and the dashpot that goes with them
  kp_w kn = kp_w_splat(l->stiffness);
  kp_w kt = kp_w_splat(l->shear);
  kp_w kr = kp_w_splat(l->rolling_spring);
  kp_w cn = kp_w_splat(l->coefficient);
  if (c.hertz) {
    kp_w patch = kp_w_sqrt(kp_w_max(radius * overlap, zero));
    kn = ((kp_real)(4.0 / 3.0) * l->stiffness) * patch;
    kt = l->shear * patch;
    kr = l->rolling_spring * patch;
    cn = l->damping * kp_w_sqrt(((kp_real)2 * l->stiffness) * patch * g->mass);
  } else if (!c.alike) {
    cn = l->damping * kp_w_sqrt(l->stiffness * g->mass) + l->rate * g->mass;
  }
  if (!c.alike) {
    // mean of the speeds before and after the step, for the two alone
    cn = cn / (one + ((kp_real)0.5 * l->dt) * cn / g->mass);
  }
  kp_w vn = g->ux * n[0] + g->uy * n[1] + g->uz * n[2];
  // the first step of a contact damps for as long as it has lasted and half a step on; whether it
  // is the first is decided by numbers that round alike everywhere, since the dashpot jumps there
  kp_w way = zero - vn * l->dt;
  kp_w share = overlap / kp_w_max(way, kp_w_splat((kp_real)1e-30)) + (kp_real)0.5;
  kp_w closing = zero - grains_dots(g->ux, g->uy, g->uz, g->dx, g->dy, g->dz);
  kp_wmask is_first = kp_w_less(kp_w_product(overlap, r), kp_w_product(closing, kp_w_splat(l->dt)));
  kp_w cv = cn * vn * kp_w_select(is_first, share, one);
  kp_w fn = kp_w_max(kn * overlap - cv, kp_w_splat(l->floor));
  kp_w load = kp_w_max(fn, zero);

  // the surfaces slide by u_t - (R_i omega_i + R_j omega_j) x n
  kp_w v[3] = { g->ux - vn * n[0] - (g->wy * n[2] - g->wz * n[1]),
                g->uy - vn * n[1] - (g->wz * n[0] - g->wx * n[2]),
                g->uz - vn * n[2] - (g->wx * n[1] - g->wy * n[0]) };
  kp_w s[3] = { g->hx, g->hy, g->hz };
  kp_w ft[3];
  grains_slider(s, v, n, kt, l->tangential_damping * cn, l->friction * load, l->dt, ft);
  kp_w pull = c.alike ? kp_w_splat(l->pull) : l->adhesion * radius;
  kp_w fnet = fn - pull;
  p->fx = kp_w_select(touches, fnet * n[0] + ft[0], zero);
  p->fy = kp_w_select(touches, fnet * n[1] + ft[1], zero);
  p->fz = kp_w_select(touches, fnet * n[2] + ft[2], zero);
  kp_w tx = n[1] * ft[2] - n[2] * ft[1];
  kp_w ty = n[2] * ft[0] - n[0] * ft[2];
  kp_w tz = n[0] * ft[1] - n[1] * ft[0];
  p->hx = kp_w_select(touches, s[0], zero);
  p->hy = kp_w_select(touches, s[1], zero);
  p->hz = kp_w_select(touches, s[2], zero);
  if (c.rolling) {
    // rolling of the two over each other: R* (omega_i - omega_j) x n, the same from both sides
    kp_w w[3] = { radius * (g->oy * n[2] - g->oz * n[1]), radius * (g->oz * n[0] - g->ox * n[2]),
                  radius * (g->ox * n[1] - g->oy * n[0]) };
    kp_w q[3] = { g->gx, g->gy, g->gz };
    kp_w fr[3];
    grains_slider(q, w, n, kr, l->rolling_damping * kp_w_sqrt(kr * g->mass), l->rolling * load,
                  l->dt, fr);
    // its torque R* n x f_r, over -R_i like that of friction
    kp_w arm = radius / kp_w_max(g->ri, kp_w_splat((kp_real)1e-30));
    tx -= arm * (n[1] * fr[2] - n[2] * fr[1]);
    ty -= arm * (n[2] * fr[0] - n[0] * fr[2]);
    tz -= arm * (n[0] * fr[1] - n[1] * fr[0]);
    p->gx = kp_w_select(touches, q[0], zero);
    p->gy = kp_w_select(touches, q[1], zero);
    p->gz = kp_w_select(touches, q[2], zero);
  }
  p->tx = kp_w_select(touches, tx, zero);
  p->ty = kp_w_select(touches, ty, zero);
  p->tz = kp_w_select(touches, tz, zero);
}

// ---- records ------------------------------------------------------------------------------------

// What a contact reads of its partner, in one cache line.
typedef struct grains_record {
  double x, y, z;
  kp_real vx, vy, vz;
  kp_real wx, wy, wz;  // R omega
  kp_real radius, inverse_radius, mass;
  kp_real unused;
} grains_record;

typedef struct grains_pack_args {
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz, *wx, *wy, *wz, *radius, *mass;
  grains_record *records;
} grains_pack_args;

KP_FN void grains_pack(int64_t i, const grains_pack_args *a) {
  grains_record *r = &a->records[i];
  kp_real radius = a->radius[i];
  r->x = a->x[i];
  r->y = a->y[i];
  r->z = a->z[i];
  r->vx = a->vx[i];
  r->vy = a->vy[i];
  r->vz = a->vz[i];
  r->wx = radius * a->wx[i];
  r->wy = radius * a->wy[i];
  r->wz = radius * a->wz[i];
  r->radius = radius;
  r->inverse_radius = (kp_real)(1.0 / (double)radius);  // a card divides floats less exactly
  r->mass = a->mass[i];
  r->unused = (kp_real)0;
}

// ---- grains against grains ----------------------------------------------------------------------

typedef struct grains_contact_args {
  grains_law law;
  double box[3], half[3];  // of periodic axes; half = infinity elsewhere
  int64_t n;
  int32_t block;       // grains of a work item; of more than one, every 2 block-th element is one
  int32_t add;         // 1: to what other populations gave
  int32_t is_frozen;   // partners do not move: m* = m_i
  kp_real gx, gy, gz;  // gravity, where nothing is added to
  kp_real inertia;     // of a grain over m R^2
  const grains_record *self, *other;
  const uint32_t *begin, *count, *partner;
  kp_real *hx, *hy, *hz;                 // tangential springs by entry
  kp_real *rx, *ry, *rz;                 // rolling springs by entry; NULL without rolling friction
  kp_real *ax, *ay, *az, *bx, *by, *bz;  // linear and angular acceleration
} grains_contact_args;

typedef struct grains_sum {
  kp_real f[3], t[3];
} grains_sum;

// The difference to the nearest image.
KP_FN double grains_nearest(double d, double box, double half) {
  return d > half ? d - box : (d < -half ? d + box : d);
}

KP_FN void grains_contact_store(int64_t i, const grains_sum *s, const grains_contact_args *a) {
  kp_real inverse = (kp_real)1 / a->self[i].mass;
  kp_real turn = -inverse * a->self[i].inverse_radius / a->inertia;
  a->ax[i] = (a->add ? a->ax[i] : a->gx) + inverse * s->f[0];
  a->ay[i] = (a->add ? a->ay[i] : a->gy) + inverse * s->f[1];
  a->az[i] = (a->add ? a->az[i] : a->gz) + inverse * s->f[2];
  a->bx[i] = (a->add ? a->bx[i] : (kp_real)0) + turn * s->t[0];
  a->by[i] = (a->add ? a->by[i] : (kp_real)0) + turn * s->t[1];
  a->bz[i] = (a->add ? a->bz[i] : (kp_real)0) + turn * s->t[2];
}

#ifdef __CUDACC__

// One grain after the other along its row.
KP_FN void grains_contact_block(grains_choice c, int64_t i, const grains_contact_args *a) {
  grains_sum sum = {};
  const grains_record self = a->self[i];
  uint32_t end = a->begin[i] + a->count[i];
  for (uint32_t e = a->begin[i]; e < end; ++e) {
    const grains_record other = a->other[a->partner[e]];
    grains_gap g;
    g.dx = (kp_real)grains_nearest(self.x - other.x, a->box[0], a->half[0]);
    g.dy = (kp_real)grains_nearest(self.y - other.y, a->box[1], a->half[1]);
    g.dz = (kp_real)grains_nearest(self.z - other.z, a->box[2], a->half[2]);
    g.ux = self.vx - other.vx;
    g.uy = self.vy - other.vy;
    g.uz = self.vz - other.vz;
    g.wx = self.wx + other.wx;
    g.wy = self.wy + other.wy;
    g.wz = self.wz + other.wz;
    g.hx = a->hx[e];
    g.hy = a->hy[e];
    g.hz = a->hz[e];
    g.reach = self.radius + other.radius;
    g.product = self.radius * other.radius;
    g.mass = a->is_frozen ? self.mass : self.mass * other.mass / (self.mass + other.mass);
    g.ri = self.radius;
    if (c.rolling) {
      g.ox = self.wx * self.inverse_radius - other.wx * other.inverse_radius;
      g.oy = self.wy * self.inverse_radius - other.wy * other.inverse_radius;
      g.oz = self.wz * self.inverse_radius - other.wz * other.inverse_radius;
      g.gx = a->rx[e];
      g.gy = a->ry[e];
      g.gz = a->rz[e];
    }
    grains_push p;
    grains_contact_law(c, &g, &a->law, &p);
    a->hx[e] = p.hx;
    a->hy[e] = p.hy;
    a->hz[e] = p.hz;
    if (c.rolling) {
      a->rx[e] = p.gx;
      a->ry[e] = p.gy;
      a->rz[e] = p.gz;
    }
    sum.f[0] += p.fx;
    sum.f[1] += p.fy;
    sum.f[2] += p.fz;
    sum.t[0] += p.tx;
    sum.t[1] += p.ty;
    sum.t[2] += p.tz;
  }
  grains_contact_store(i, &sum, a);
}

#else

#include <string.h>

// Columns of contacts in first-level cache, a register at a time through the law. Rows lie one
// behind the other, so no lane is wasted on the end of a row.
enum {
  GRAINS_DX,
  GRAINS_DY,
  GRAINS_DZ,
  GRAINS_UX,
  GRAINS_UY,
  GRAINS_UZ,
  GRAINS_WX,
  GRAINS_WY,
  GRAINS_WZ,
  GRAINS_HX,
  GRAINS_HY,
  GRAINS_HZ,
  GRAINS_REACH,
  GRAINS_PRODUCT,
  GRAINS_MASS,
  GRAINS_RI,
  GRAINS_OX,
  GRAINS_OY,
  GRAINS_OZ,
  GRAINS_GX,
  GRAINS_GY,
  GRAINS_GZ,
  GRAINS_COLUMNS
};

typedef struct grains_tile {
  kp_real column[GRAINS_COLUMNS][GRAINS_TILE] __attribute__((aligned(64)));
} grains_tile;

GRAINS_INLINE void grains_fill_lane(grains_choice c, grains_tile *t, int32_t k,
                                    const grains_record *self, const grains_record *other,
                                    const grains_contact_args *a) {
  t->column[GRAINS_DX][k] = (kp_real)grains_nearest(self->x - other->x, a->box[0], a->half[0]);
  t->column[GRAINS_DY][k] = (kp_real)grains_nearest(self->y - other->y, a->box[1], a->half[1]);
  t->column[GRAINS_DZ][k] = (kp_real)grains_nearest(self->z - other->z, a->box[2], a->half[2]);
  t->column[GRAINS_UX][k] = self->vx - other->vx;
  t->column[GRAINS_UY][k] = self->vy - other->vy;
  t->column[GRAINS_UZ][k] = self->vz - other->vz;
  t->column[GRAINS_WX][k] = self->wx + other->wx;
  t->column[GRAINS_WY][k] = self->wy + other->wy;
  t->column[GRAINS_WZ][k] = self->wz + other->wz;
  if (!c.alike) {
    t->column[GRAINS_REACH][k] = self->radius + other->radius;
    t->column[GRAINS_PRODUCT][k] = self->radius * other->radius;
    t->column[GRAINS_MASS][k] =
        a->is_frozen ? self->mass : self->mass * other->mass / (self->mass + other->mass);
  }
  if (c.rolling) {
    t->column[GRAINS_RI][k] = self->radius;
    t->column[GRAINS_OX][k] = self->wx * self->inverse_radius - other->wx * other->inverse_radius;
    t->column[GRAINS_OY][k] = self->wy * self->inverse_radius - other->wy * other->inverse_radius;
    t->column[GRAINS_OZ][k] = self->wz * self->inverse_radius - other->wz * other->inverse_radius;
  }
}

// Lanes past the last contact of a tile: far from each other, so they give nothing.
GRAINS_INLINE void grains_pad(grains_choice c, grains_tile *t, int32_t n) {
  for (int32_t k = n; k % KP_W_LANES != 0; ++k) {
    for (int column = 0; column < (c.rolling ? GRAINS_COLUMNS : GRAINS_OX); ++column) {
      t->column[column][k] = (kp_real)0;
    }
  }
}

GRAINS_INLINE void grains_copy_springs(grains_tile *t, int first, kp_real *x, kp_real *y,
                                       kp_real *z, int32_t n, int is_back) {
  kp_real *springs[3] = { x, y, z };
  for (int d = 0; d < 3; ++d) {
    void *to = is_back ? (void *)springs[d] : (void *)t->column[first + d];
    const void *from = is_back ? (const void *)t->column[first + d] : (const void *)springs[d];
    memcpy(to, from, (size_t)n * sizeof(kp_real));
  }
}

// The law over the tile; forces take the place of d, torques that of u, springs of springs.
GRAINS_INLINE void grains_sweep(grains_choice c, grains_tile *t, int32_t n, const grains_law *law) {
  for (int32_t k = 0; k < n; k += KP_W_LANES) {
#define GRAINS_AT(column_) (*(kp_w *)&t->column[GRAINS_##column_][k])
    grains_gap g = { .dx = GRAINS_AT(DX),
                     .dy = GRAINS_AT(DY),
                     .dz = GRAINS_AT(DZ),
                     .ux = GRAINS_AT(UX),
                     .uy = GRAINS_AT(UY),
                     .uz = GRAINS_AT(UZ),
                     .wx = GRAINS_AT(WX),
                     .wy = GRAINS_AT(WY),
                     .wz = GRAINS_AT(WZ),
                     .hx = GRAINS_AT(HX),
                     .hy = GRAINS_AT(HY),
                     .hz = GRAINS_AT(HZ) };
    if (!c.alike) {
      g.reach = GRAINS_AT(REACH);
      g.product = GRAINS_AT(PRODUCT);
      g.mass = GRAINS_AT(MASS);
    }
    if (c.rolling) {
      g.ri = GRAINS_AT(RI);
      g.ox = GRAINS_AT(OX);
      g.oy = GRAINS_AT(OY);
      g.oz = GRAINS_AT(OZ);
      g.gx = GRAINS_AT(GX);
      g.gy = GRAINS_AT(GY);
      g.gz = GRAINS_AT(GZ);
    }
    grains_push p;
    grains_contact_law(c, &g, law, &p);
    GRAINS_AT(DX) = p.fx;
    GRAINS_AT(DY) = p.fy;
    GRAINS_AT(DZ) = p.fz;
    GRAINS_AT(UX) = p.tx;
    GRAINS_AT(UY) = p.ty;
    GRAINS_AT(UZ) = p.tz;
    GRAINS_AT(HX) = p.hx;
    GRAINS_AT(HY) = p.hy;
    GRAINS_AT(HZ) = p.hz;
    if (c.rolling) {
      GRAINS_AT(GX) = p.gx;
      GRAINS_AT(GY) = p.gy;
      GRAINS_AT(GZ) = p.gz;
    }
#undef GRAINS_AT
  }
}

// Contacts from..to-1 of a tile belong to one grain.
GRAINS_INLINE void grains_add_lanes(const grains_tile *t, int32_t from, int32_t to,
                                    grains_sum *sum) {
  for (int32_t k = from; k < to; ++k) {
    for (int d = 0; d < 3; ++d) {
      sum->f[d] += t->column[GRAINS_DX + d][k];
      sum->t[d] += t->column[GRAINS_UX + d][k];
    }
  }
}

// The rows of a block of grains, tile by tile. Sums run along the row, so bits depend on neither
// tiles nor registers.
GRAINS_INLINE void grains_contact_block(grains_choice c, int64_t block,
                                        const grains_contact_args *a) {
  // chunks of a launch count elements, so that a block is many of them lets threads share the work
  int64_t stride = a->block > 1 ? 2 * a->block : 1;
  if (block % stride != 0) {
    return;
  }
  block /= stride;
  grains_tile tile;
  grains_sum sums[GRAINS_BLOCK] = { { { 0 }, { 0 } } };
  int64_t first = block * a->block;
  int64_t last = first + a->block < a->n ? first + a->block : a->n;
  uint32_t e = a->begin[first];
  uint32_t end = a->begin[last - 1] + a->count[last - 1];
  int64_t filling = first;
  int64_t adding = first;
  while (e < end) {
    int32_t n = (int32_t)(end - e < GRAINS_TILE ? end - e : GRAINS_TILE);
    for (int32_t k = 0; k < n;) {
      while (e + (uint32_t)k >= a->begin[filling] + a->count[filling]) {
        ++filling;
      }
      const grains_record *self = &a->self[filling];
      uint32_t row_end = a->begin[filling] + a->count[filling] - e;
      int32_t stop = row_end < (uint32_t)n ? (int32_t)row_end : n;
      for (; k < stop; ++k) {
        grains_fill_lane(c, &tile, k, self, &a->other[a->partner[e + (uint32_t)k]], a);
      }
    }
    grains_copy_springs(&tile, GRAINS_HX, a->hx + e, a->hy + e, a->hz + e, n, 0);
    if (c.rolling) {
      grains_copy_springs(&tile, GRAINS_GX, a->rx + e, a->ry + e, a->rz + e, n, 0);
    }
    grains_pad(c, &tile, n);
    grains_sweep(c, &tile, n, &a->law);
    grains_copy_springs(&tile, GRAINS_HX, a->hx + e, a->hy + e, a->hz + e, n, 1);
    if (c.rolling) {
      grains_copy_springs(&tile, GRAINS_GX, a->rx + e, a->ry + e, a->rz + e, n, 1);
    }
    for (int32_t k = 0; k < n;) {
      while (e + (uint32_t)k >= a->begin[adding] + a->count[adding]) {
        ++adding;
      }
      uint32_t row_end = a->begin[adding] + a->count[adding] - e;
      int32_t stop = row_end < (uint32_t)n ? (int32_t)row_end : n;
      grains_add_lanes(&tile, k, stop, &sums[adding - first]);
      k = stop;
    }
    e += (uint32_t)n;
  }
  for (int64_t i = first; i < last; ++i) {
    grains_contact_store(i, &sums[i - first], a);
  }
}

#endif

#define GRAINS_CONTACT(name, hertz_, alike_, rolling_)                                             \
  typedef grains_contact_args grains_contact_##name##_args;                                        \
  KP_FN void grains_contact_##name(int64_t i, const grains_contact_args *a) {                      \
    grains_contact_block((grains_choice){ hertz_, alike_, rolling_ }, i, a);                       \
  }

GRAINS_CONTACT(alike, 0, 1, 0)
GRAINS_CONTACT(linear, 0, 0, 0)
GRAINS_CONTACT(hertz, 1, 0, 0)
GRAINS_CONTACT(linear_rolling, 0, 0, 1)
GRAINS_CONTACT(hertz_rolling, 1, 0, 1)

// ---- solids -------------------------------------------------------------------------------------

// One contact with something that has no spin of its own and does not give way.
typedef struct grains_wall {
  kp_real n[3];         // from the wall to the grain
  kp_real distance;     // of the centre
  kp_real velocity[3];  // of the wall
} grains_wall;

typedef struct grains_springs {
  kp_real slide[3], roll[3];
} grains_springs;

GRAINS_INLINE void grains_wall_law(grains_choice c, const grains_record *self,
                                   const grains_wall *wall, const grains_law *law,
                                   grains_springs *springs, grains_sum *sum) {
  kp_real radius = self->radius;
  // a sphere behind the plane at the same distance: R* is the radius itself, like m* the mass
  grains_gap g = {
    .dx = kp_w_splat(wall->distance * wall->n[0]),
    .dy = kp_w_splat(wall->distance * wall->n[1]),
    .dz = kp_w_splat(wall->distance * wall->n[2]),
    .ux = kp_w_splat(self->vx - wall->velocity[0]),
    .uy = kp_w_splat(self->vy - wall->velocity[1]),
    .uz = kp_w_splat(self->vz - wall->velocity[2]),
    .wx = kp_w_splat(self->wx),
    .wy = kp_w_splat(self->wy),
    .wz = kp_w_splat(self->wz),
    .hx = kp_w_splat(springs->slide[0]),
    .hy = kp_w_splat(springs->slide[1]),
    .hz = kp_w_splat(springs->slide[2]),
    .reach = kp_w_splat(radius),
    .product = kp_w_splat(radius * radius),
    .mass = kp_w_splat(self->mass),
    .ri = kp_w_splat(radius),
    .ox = kp_w_splat(self->wx * self->inverse_radius),
    .oy = kp_w_splat(self->wy * self->inverse_radius),
    .oz = kp_w_splat(self->wz * self->inverse_radius),
    .gx = kp_w_splat(springs->roll[0]),
    .gy = kp_w_splat(springs->roll[1]),
    .gz = kp_w_splat(springs->roll[2]),
  };
  grains_push p;
  grains_contact_law(c, &g, law, &p);
  sum->f[0] += GRAINS_LANE(p.fx);
  sum->f[1] += GRAINS_LANE(p.fy);
  sum->f[2] += GRAINS_LANE(p.fz);
  sum->t[0] += GRAINS_LANE(p.tx);
  sum->t[1] += GRAINS_LANE(p.ty);
  sum->t[2] += GRAINS_LANE(p.tz);
  springs->slide[0] = GRAINS_LANE(p.hx);
  springs->slide[1] = GRAINS_LANE(p.hy);
  springs->slide[2] = GRAINS_LANE(p.hz);
  if (c.rolling) {
    springs->roll[0] = GRAINS_LANE(p.gx);
    springs->roll[1] = GRAINS_LANE(p.gy);
    springs->roll[2] = GRAINS_LANE(p.gz);
  }
}

// Few grains touch a solid, so the law is chosen at run time.
KP_FN void grains_wall_contact(int hertz, const grains_record *self, const grains_wall *wall,
                               const grains_law *law, grains_springs *springs, grains_sum *sum) {
  grains_choice linear = { 0, 0, 1 };
  grains_choice of_hertz = { 1, 0, 1 };
  if (hertz) {
    grains_wall_law(of_hertz, self, wall, law, springs, sum);
  } else {
    grains_wall_law(linear, self, wall, law, springs, sum);
  }
}

// What solids add to the accelerations of grain i.
typedef struct grains_motion {
  kp_real inertia;
  kp_real *ax, *ay, *az, *bx, *by, *bz;
} grains_motion;

KP_FN void grains_add_sum(int64_t i, const grains_record *self, const grains_sum *s,
                          const grains_motion *m) {
  kp_real inverse = (kp_real)1 / self->mass;
  kp_real turn = -inverse * self->inverse_radius / m->inertia;
  m->ax[i] += inverse * s->f[0];
  m->ay[i] += inverse * s->f[1];
  m->az[i] += inverse * s->f[2];
  m->bx[i] += turn * s->t[0];
  m->by[i] += turn * s->t[1];
  m->bz[i] += turn * s->t[2];
}

// The closed faces of the domain, exact planes. Each axis has springs of its own.
typedef struct grains_faces_args {
  grains_law law;
  int32_t hertz;
  double lo[3], hi[3];  // infinite where a face is not closed
  const grains_record *self;
  kp_real *slide[9], *roll[9];  // springs: three components of three axes; roll[0] may be NULL
  grains_motion motion;
} grains_faces_args;

KP_FN void grains_face(int64_t i, int axis, const grains_record *self, const grains_faces_args *a,
                       grains_sum *sum) {
  double x = axis == 0 ? self->x : (axis == 1 ? self->y : self->z);
  double above = x - a->lo[axis];
  double below = a->hi[axis] - x;
  int is_low = above < below;
  double distance = is_low ? above : below;
  // springs are cleared on the way out, so a band around the contact is looked at
  if (distance > 1.5 * (double)self->radius) {
    return;
  }
  // a centre that was pressed through is pushed back all the same
  double least = 1e-3 * (double)self->radius;
  distance = distance > least ? distance : least;
  grains_wall wall = { { 0, 0, 0 }, (kp_real)distance, { 0, 0, 0 } };
  wall.n[axis] = is_low ? (kp_real)1 : (kp_real)-1;
  grains_springs springs;
  for (int d = 0; d < 3; ++d) {
    springs.slide[d] = a->slide[3 * axis + d][i];
    springs.roll[d] = a->roll[0] ? a->roll[3 * axis + d][i] : (kp_real)0;
  }
  grains_wall_contact(a->hertz, self, &wall, &a->law, &springs, sum);
  for (int d = 0; d < 3; ++d) {
    a->slide[3 * axis + d][i] = springs.slide[d];
    if (a->roll[0]) {
      a->roll[3 * axis + d][i] = springs.roll[d];
    }
  }
}

KP_FN void grains_faces(int64_t i, const grains_faces_args *a) {
  const grains_record self = a->self[i];
  double band = 1.5 * (double)self.radius;
  int is_near = self.x - a->lo[0] < band || a->hi[0] - self.x < band || self.y - a->lo[1] < band ||
                a->hi[1] - self.y < band || self.z - a->lo[2] < band || a->hi[2] - self.z < band;
  if (!is_near) {
    return;
  }
  grains_sum sum = { { 0, 0, 0 }, { 0, 0, 0 } };
  for (int axis = 0; axis < 3; ++axis) {
    grains_face(i, axis, &self, a, &sum);
  }
  grains_add_sum(i, &self, &sum, &a->motion);
}

// Samples of solids. A sample stands for a disc of its surface, cut where the surface ends, so that
// flat walls are exactly flat and edges are where they are, however coarse the samples. A sample on
// an edge is a piece of the edge, one in a corner a point. The nearest disc is the contact; a
// second and a third one count where their surfaces turn away by more than 60 degrees. The springs
// of a contact follow it from sample to sample.
enum {
  GRAINS_DISC_LIFT,    // how far out the surface lies
  GRAINS_DISC_RADIUS,  // negative: no disc at all
  GRAINS_DISC_LOW,     // cuts along the unit vector across
  GRAINS_DISC_HIGH,
  GRAINS_DISC_ACROSS,
  GRAINS_DISC_SIZE = GRAINS_DISC_ACROSS + 3
};

typedef struct grains_touch_args {
  grains_law law;
  int32_t hertz;
  const grains_record *self;
  const uint32_t *begin, *count, *partner;
  const kp_pos *x, *y, *z;  // of samples
  const kp_real *vx, *vy, *vz;
  const kp_real *nx, *ny, *nz;
  const kp_real *discs;  // GRAINS_DISC_SIZE by sample
  const double *frames;  // of bodies that move, as in data/interface_kernels.h; NULL: all are still
  const uint32_t *owner;                 // of samples, where there are frames
  kp_real *hx, *hy, *hz, *rx, *ry, *rz;  // springs by entry
  kp_real *fx, *fy, *fz;                 // force on the sample by entry; NULL: nobody asks
  grains_motion motion;
} grains_touch_args;

// The point of a sample's disc next to the offset t in its plane: what is left of t beyond it.
KP_FN void grains_disc_beyond(const kp_real *disc, const kp_real across[3], kp_real t[3]) {
  kp_real in[3] = { t[0], t[1], t[2] };
  kp_real along = grains_dot(t[0], t[1], t[2], across[0], across[1], across[2]);
  kp_real least = disc[GRAINS_DISC_LOW] - along;
  kp_real most = disc[GRAINS_DISC_HIGH] - along;
  kp_real back = least > (kp_real)0 ? least : (most < (kp_real)0 ? most : (kp_real)0);
  for (int k = 0; k < 3; ++k) {
    in[k] += back * across[k];
  }
  kp_real size2 = grains_dot(in[0], in[1], in[2], in[0], in[1], in[2]);
  kp_real radius = disc[GRAINS_DISC_RADIUS];
  kp_real scale =
      size2 > radius * radius ? (kp_real)((double)radius / sqrt((double)size2)) : (kp_real)1;
  for (int k = 0; k < 3; ++k) {
    t[k] -= scale * in[k];
  }
}

// Distance of the grain's centre from the disc of a sample, and the direction; a large one where
// the sample does not count.
KP_FN kp_real grains_disc(const grains_record *self, uint32_t s, const grains_touch_args *a,
                          kp_real n[3]) {
  n[0] = a->nx[s];
  n[1] = a->ny[s];
  n[2] = a->nz[s];
  kp_real d[3] = { (kp_real)(self->x - a->x[s]), (kp_real)(self->y - a->y[s]),
                   (kp_real)(self->z - a->z[s]) };
  const kp_real *disc = a->discs + GRAINS_DISC_SIZE * (int64_t)s;
  kp_real along = grains_dot(d[0], d[1], d[2], n[0], n[1], n[2]);
  kp_real height = along - disc[GRAINS_DISC_LIFT];
  kp_real far = (kp_real)1e30;
  if (disc[GRAINS_DISC_RADIUS] < (kp_real)0 || height < -self->radius) {
    return far;
  }
  kp_real across[3] = { disc[GRAINS_DISC_ACROSS], disc[GRAINS_DISC_ACROSS + 1],
                        disc[GRAINS_DISC_ACROSS + 2] };
  if (a->frames) {
    const double *f = a->frames + INTERFACE_FRAME * a->owner[s];
    kp_vec3 turned =
        kp_quat_rotate(kp_quat_make(f[3], f[4], f[5], f[6]),
                       kp_vec3_make((double)across[0], (double)across[1], (double)across[2]));
    across[0] = (kp_real)turned.x;
    across[1] = (kp_real)turned.y;
    across[2] = (kp_real)turned.z;
  }
  kp_real t[3] = { d[0] - along * n[0], d[1] - along * n[1], d[2] - along * n[2] };
  grains_disc_beyond(disc, across, t);
  kp_real past2 = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
  if (past2 == (kp_real)0) {
    return height;
  }
  if (height <= (kp_real)0) {
    return far;
  }
  kp_real distance = (kp_real)sqrt((double)(height * height + past2));
  for (int k = 0; k < 3; ++k) {
    n[k] = (n[k] * height + t[k]) / distance;
  }
  return distance;
}

#define GRAINS_SIDES 3  // contacts of a grain with the samples of one kind of solids

typedef struct grains_sides {
  int count;
  uint32_t entry[GRAINS_SIDES];
  kp_real distance[GRAINS_SIDES];
  kp_real n[GRAINS_SIDES][3];
} grains_sides;

// The contact of `sides` that a direction belongs to, or their number.
KP_FN int grains_side_of(const grains_sides *sides, const kp_real n[3]) {
  for (int k = 0; k < sides->count; ++k) {
    const kp_real *m = sides->n[k];
    if (m[0] * n[0] + m[1] * n[1] + m[2] * n[2] > (kp_real)0.5) {
      return k;
    }
  }
  return sides->count;
}

KP_FN void grains_find_sides(const grains_record *self, uint32_t begin, uint32_t end,
                             const grains_touch_args *a, grains_sides *sides) {
  sides->count = 0;
  for (int k = 0; k < GRAINS_SIDES; ++k) {
    kp_real nearest = self->radius;
    kp_real n[3];
    int found = 0;
    for (uint32_t e = begin; e < end; ++e) {
      kp_real distance = grains_disc(self, a->partner[e], a, n);
      if (distance < nearest && grains_side_of(sides, n) == sides->count) {
        nearest = distance;
        found = 1;
        sides->entry[k] = e;
        sides->distance[k] = distance;
        for (int d = 0; d < 3; ++d) {
          sides->n[k][d] = n[d];
        }
      }
    }
    if (!found) {
      return;
    }
    sides->count = k + 1;
  }
}

// Springs of all entries of a side, of which at most one has any; they are cleared there.
KP_FN void grains_take_springs(const grains_record *self, uint32_t begin, uint32_t end,
                               const grains_touch_args *a, const grains_sides *sides,
                               grains_springs springs[GRAINS_SIDES]) {
  kp_real *slide[3] = { a->hx, a->hy, a->hz };
  kp_real *roll[3] = { a->rx, a->ry, a->rz };
  for (uint32_t e = begin; e < end; ++e) {
    kp_real n[3];
    grains_disc(self, a->partner[e], a, n);
    int side = grains_side_of(sides, n);
    for (int d = 0; d < 3; ++d) {
      if (side < sides->count) {
        springs[side].slide[d] += slide[d][e];
        springs[side].roll[d] += roll[d][e];
      }
      slide[d][e] = roll[d][e] = (kp_real)0;
    }
    if (a->fx) {
      a->fx[e] = a->fy[e] = a->fz[e] = (kp_real)0;
    }
  }
}

KP_FN void grains_touch(int64_t i, const grains_touch_args *a) {
  uint32_t begin = a->begin[i];
  uint32_t end = begin + a->count[i];
  if (begin == end) {
    return;
  }
  const grains_record self = a->self[i];
  grains_sides sides;
  grains_find_sides(&self, begin, end, a, &sides);
  grains_springs springs[GRAINS_SIDES] = { { { 0, 0, 0 }, { 0, 0, 0 } } };
  grains_take_springs(&self, begin, end, a, &sides, springs);
  grains_sum sum = { { 0, 0, 0 }, { 0, 0, 0 } };
  for (int k = 0; k < sides.count; ++k) {
    uint32_t e = sides.entry[k];
    uint32_t s = a->partner[e];
    grains_wall wall = { { sides.n[k][0], sides.n[k][1], sides.n[k][2] },
                         sides.distance[k],
                         { a->vx[s], a->vy[s], a->vz[s] } };
    // a centre at or behind the surface is pushed out along the normal all the same
    kp_real least = (kp_real)1e-3 * self.radius;
    wall.distance = wall.distance > least ? wall.distance : least;
    grains_sum one = { { 0, 0, 0 }, { 0, 0, 0 } };
    grains_wall_contact(a->hertz, &self, &wall, &a->law, &springs[k], &one);
    a->hx[e] = springs[k].slide[0];
    a->hy[e] = springs[k].slide[1];
    a->hz[e] = springs[k].slide[2];
    a->rx[e] = springs[k].roll[0];
    a->ry[e] = springs[k].roll[1];
    a->rz[e] = springs[k].roll[2];
    if (a->fx) {
      a->fx[e] = -one.f[0];
      a->fy[e] = -one.f[1];
      a->fz[e] = -one.f[2];
    }
    for (int d = 0; d < 3; ++d) {
      sum.f[d] += one.f[d];
      sum.t[d] += one.t[d];
    }
  }
  grains_add_sum(i, &self, &sum, &a->motion);
}

// Forces on a sample, of the entries that name it, in the order of the grains.
typedef struct grains_react_args {
  const uint32_t *start, *entries;  // by sample
  const kp_real *fx, *fy, *fz;      // by entry
  kp_real *sx, *sy, *sz;
} grains_react_args;

KP_FN void grains_react(int64_t s, const grains_react_args *a) {
  kp_real x = (kp_real)0;
  kp_real y = (kp_real)0;
  kp_real z = (kp_real)0;
  for (uint32_t k = a->start[s]; k < a->start[s + 1]; ++k) {
    uint32_t e = a->entries[k];
    x += a->fx[e];
    y += a->fy[e];
    z += a->fz[e];
  }
  a->sx[s] += x;
  a->sy[s] += y;
  a->sz[s] += z;
}

// First place in the sorted partners that is at least s.
typedef struct grains_starts_args {
  const uint32_t *keys;
  int64_t n;
  uint32_t *start;
} grains_starts_args;

KP_FN void grains_starts(int64_t s, const grains_starts_args *a) {
  int64_t low = 0;
  int64_t high = a->n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if ((int64_t)a->keys[middle] < s) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  a->start[s] = (uint32_t)low;
}

// ---- birth --------------------------------------------------------------------------------------

typedef struct grains_sizes {
  uint64_t seed;
  double smallest, largest;
  int32_t by_mass;  // every radius has the same share of the mass: density of radii R^-dimension
  int32_t dimension;
} grains_sizes;

KP_FN double grains_radius_of(kp_gid id, const grains_sizes *s) {
  double u = kp_rng_uniform(s->seed, KP_RNG_GRAINS, id, 0);
  if (!s->by_mass || s->smallest == s->largest) {
    return s->smallest + u * (s->largest - s->smallest);
  }
  if (s->dimension == 2) {
    return 1.0 / (1.0 / s->smallest + u * (1.0 / s->largest - 1.0 / s->smallest));
  }
  double low = 1.0 / (s->smallest * s->smallest);
  double high = 1.0 / (s->largest * s->largest);
  return 1.0 / sqrt(low + u * (high - low));
}

typedef struct grains_born_args {
  grains_sizes sizes;
  int64_t first;
  double unit_mass;  // kg over R^dimension
  double scatter;    // largest shift of a grain of no size [m]; 0: none
  kp_real spin[3];
  const kp_gid *id;
  kp_pos *x, *y, *z;
  kp_real *radius, *mass, *wx, *wy, *wz;
} grains_born_args;

KP_FN void grains_born(int64_t k, const grains_born_args *a) {
  int64_t i = a->first + k;
  kp_real radius = (kp_real)grains_radius_of(a->id[i], &a->sizes);
  double area = (double)radius * (double)radius;
  a->radius[i] = radius;
  a->mass[i] = (kp_real)(a->unit_mass * (a->sizes.dimension == 3 ? area * (double)radius : area));
  a->wx[i] = a->spin[0];
  a->wy[i] = a->spin[1];
  a->wz[i] = a->spin[2];
  // what a spout pours is no lattice: perfect columns would stand on each other for ever
  double room = a->scatter - 0.98 * (double)radius;
  if (a->scatter > 0.0 && room > 0.0) {
    kp_gid id = a->id[i];
    uint64_t seed = a->sizes.seed;
    a->x[i] += room * (2.0 * kp_rng_uniform(seed, KP_RNG_GRAINS, id, 1) - 1.0);
    a->y[i] += room * (2.0 * kp_rng_uniform(seed, KP_RNG_GRAINS, id, 2) - 1.0);
    if (a->sizes.dimension == 3) {
      a->z[i] += room * (2.0 * kp_rng_uniform(seed, KP_RNG_GRAINS, id, 3) - 1.0);
    }
  }
}

// ---- motion -------------------------------------------------------------------------------------

// v += dt a, then x += dt v; spin likewise. With forces taken from the velocities of the half step
// this is the leapfrog of Cundall & Strack.
typedef struct grains_move_args {
  kp_real dt;
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz, *wx, *wy, *wz;
  const kp_real *ax, *ay, *az, *bx, *by, *bz;
} grains_move_args;

KP_FN void grains_move(int64_t i, const grains_move_args *a) {
  kp_real vx = a->vx[i] + a->dt * a->ax[i];
  kp_real vy = a->vy[i] + a->dt * a->ay[i];
  kp_real vz = a->vz[i] + a->dt * a->az[i];
  a->vx[i] = vx;
  a->vy[i] = vy;
  a->vz[i] = vz;
  a->x[i] += (double)(a->dt * vx);
  a->y[i] += (double)(a->dt * vy);
  a->z[i] += (double)(a->dt * vz);
  a->wx[i] += a->dt * a->bx[i];
  a->wy[i] += a->dt * a->by[i];
  a->wz[i] += a->dt * a->bz[i];
}

// ---- what the host is told ----------------------------------------------------------------------

typedef struct grains_energy_args {
  grains_law law;
  int32_t hertz;
  double share;  // of a contact's energy: half where the partner counts the other half
  double box[3], half[3];
  double inertia;  // 0: springs alone
  const grains_record *self, *other;
  const uint32_t *begin, *count, *partner;
  const kp_real *hx, *hy, *hz;
} grains_energy_args;

#define GRAINS_ENERGY_OPS KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM

// energy of the springs, of rotation, contacts
KP_FN void grains_energy(int64_t i, const grains_energy_args *a, double *v) {
  const grains_record s = a->self[i];
  double springs = 0.0;
  double contacts = 0.0;
  for (uint32_t e = a->begin[i]; e < a->begin[i] + a->count[i]; ++e) {
    const grains_record o = a->other[a->partner[e]];
    double dx = grains_nearest(s.x - o.x, a->box[0], a->half[0]);
    double dy = grains_nearest(s.y - o.y, a->box[1], a->half[1]);
    double dz = grains_nearest(s.z - o.z, a->box[2], a->half[2]);
    double reach = (double)s.radius + (double)o.radius;
    double overlap = reach - sqrt(dx * dx + dy * dy + dz * dz);
    if (overlap > 0.0) {
      double h2 = (double)a->hx[e] * (double)a->hx[e] + (double)a->hy[e] * (double)a->hy[e] +
                  (double)a->hz[e] * (double)a->hz[e];
      double patch = a->hertz ? sqrt((double)s.radius * (double)o.radius / reach * overlap) : 1.0;
      double normal = a->hertz ? 8.0 / 15.0 : 0.5;
      springs += patch * (normal * (double)a->law.stiffness * overlap * overlap +
                          0.5 * (double)a->law.shear * h2);
      contacts += 1.0;
    }
  }
  double w2 =
      (double)s.wx * (double)s.wx + (double)s.wy * (double)s.wy + (double)s.wz * (double)s.wz;
  v[0] = a->share * springs;
  v[1] = 0.5 * a->inertia * (double)s.mass * w2;
  v[2] = contacts;
}

#define GRAINS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(grains, pack)                                                                              \
  POINT(grains, contact_alike)                                                                     \
  POINT(grains, contact_linear)                                                                    \
  POINT(grains, contact_hertz)                                                                     \
  POINT(grains, contact_linear_rolling)                                                            \
  POINT(grains, contact_hertz_rolling)                                                             \
  POINT(grains, faces)                                                                             \
  POINT(grains, touch)                                                                             \
  POINT(grains, react)                                                                             \
  POINT(grains, starts)                                                                            \
  POINT(grains, born)                                                                              \
  POINT(grains, move)                                                                              \
  REDUCE(grains, energy, GRAINS_ENERGY_OPS)
