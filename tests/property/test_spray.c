// Spray: which particles of a liquid are none of its body, against a loop over all pairs; and the
// drops they break into, which depend on the particle alone and hold no more than it did.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "geom/marching_device.h"
#include "geom/particle_surface.h"
#include "geom/spray.h"
#include "par/parallel.h"

#define D 0.05
#define REACH 2.8  // of the field
#define SHARE 0.16
#define MOST 6000

typedef struct liquid {
  int64_t n;
  double x[3][MOST];
  kp_real v[3][MOST];
  uint64_t id[MOST];
  float share[MOST];
} liquid;

static void add(liquid *l, kp_vec3 p) {
  assert_true(l->n < MOST);
  l->x[0][l->n] = p.x;
  l->x[1][l->n] = p.y;
  l->x[2][l->n] = p.z;
  for (int c = 0; c < 3; ++c) {
    l->v[c][l->n] = (kp_real)(c == 1 ? 1.5 : 0.0);
  }
  l->id[l->n] = 7 * (uint64_t)l->n + 3;
  ++l->n;
}

static liquid *make_liquid(void) {
  liquid *l = kp_alloc_zero(sizeof *l, KP_MEMORY_TEST);
  assert_non_null(l);
  return l;
}

// Particles in the middles of cubes, each a little off.
static void add_block(liquid *l, kp_vec3 lo, int nx, int ny, int nz, double jitter) {
  kp_test_random random = kp_test_random_begin(11);
  for (int i = 0; i < nx * ny * nz; ++i) {
    kp_vec3 at = kp_vec3_make(i % nx + 0.5, i / nx % ny + 0.5, i / nx / ny + 0.5);
    at = kp_vec3_add(at, kp_test_vec3(&random, -jitter, jitter));
    add(l, kp_vec3_madd(lo, D, at));
  }
}

static kp_surfacing settings(void) {
  return (kp_surfacing){ .spacing = D,
                         .voxel = 0.6 * D,
                         .smooth = -1,
                         .dimension = 3,
                         .box = { { 0, 0, 0 }, { 1.0, 1.2, 0.8 } },
                         .field = KP_SURFACE_ANISOTROPIC,
                         .spray = SHARE };
}

// Fills l->share and returns how many triangles the surface has.
static int64_t find_spray(liquid *l) {
  kp_surfacing how = settings();
  kp_surfacer s = { 0 };
  kp_isosurface mesh = { 0 };
  kp_cloud cloud = { .n = l->n, .x = l->x[0], .y = l->x[1], .z = l->x[2] };
  assert_ok(kp_surfacer_fill(&s, &how, &cloud));
  kp_surfacer_spray(&s, l->n, l->share);
  assert_ok(kp_marching_blocks(&s.blocks, 0.0f, &mesh));
  int64_t n = mesh.n_triangles;
  kp_isosurface_free(&mesh);
  kp_surfacer_free(&s);
  return n;
}

// ---- which particles

// Share of the weights 1 - s^3 in a ball before a wall t radii away, summed by layers.
static double before_wall(double t) {
  enum { LAYERS = 2000 };
  double sum = 0.0, top = fmin(fmax(t, -1.0), 1.0);
  for (int i = 0; i < LAYERS; ++i) {
    double u = -1.0 + (top + 1.0) * (i + 0.5) / LAYERS, u5 = pow(fabs(u), 5.0);
    sum += (1.0 - u * u - 0.4 * (1.0 - u5)) * (top + 1.0) / LAYERS;
  }
  return sum / (2.0 / 3.0);
}

static double spray_by_pairs(const liquid *l, int64_t i) {
  double weight = 0.0, reach = REACH * D, inside = 1.0;
  for (int64_t j = 0; j < l->n; ++j) {
    double square = 0.0;
    for (int c = 0; c < 3; ++c) {
      square += (l->x[c][j] - l->x[c][i]) * (l->x[c][j] - l->x[c][i]);
    }
    double s = sqrt(square) / reach;
    weight += j != i && s < 1.0 ? 1.0 - s * s * s : 0.0;
  }
  kp_aabb box = settings().box;
  const double lo[3] = { box.min.x, box.min.y, box.min.z };
  const double hi[3] = { box.max.x, box.max.y, box.max.z };
  for (int c = 0; c < 3; ++c) {
    inside *= before_wall((l->x[c][i] - lo[c]) / reach);
    inside *= before_wall((hi[c] - l->x[c][i]) / reach);
  }
  double full = 2.0 / 3.0 * 3.14159265358979 * REACH * REACH * REACH;
  double t = (SHARE - weight / (full * sqrt(inside))) / (0.7 * SHARE);
  t = fmin(fmax(t, 0.0), 1.0);
  return t * t * (3.0 - 2.0 * t);
}

// A pool at three walls, a thin cloud above it and one that is nowhere.
static void all_pairs_agree(void **state) {
  (void)state;
  liquid *l = make_liquid();
  kp_test_random random = kp_test_random_begin(4);
  add_block(l, kp_vec3_make(0, 0, 0), 12, 5, 10, 0.3);
  for (int i = 0; i < 700; ++i) {
    kp_vec3 p = kp_test_vec3(&random, 0.0, 1.0);
    add(l, kp_vec3_make(p.x, 0.3 + 0.9 * p.y * p.y, 0.8 * p.z));
  }
  add(l, kp_vec3_make(NAN, 0.5, 0.5));
  (void)find_spray(l);
  int between = 0, all = 0, none = 0;
  assert_true(l->share[l->n - 1] == 0.0f);
  for (int64_t i = 0; i + 1 < l->n; ++i) {
    assert_near(l->share[i], spray_by_pairs(l, i), 2e-4);
    between += l->share[i] > 0.05f && l->share[i] < 0.95f ? 1 : 0;
    all += l->share[i] > 0.999f ? 1 : 0;
    none += l->share[i] == 0.0f ? 1 : 0;
  }
  print_message("%d particles are spray, %d a part of it, %d none\n", all, between, none);
  assert_true(between > 50 && all > 50 && none > 50);
  kp_free(l);
}

// A pool that fills a corner of the box to a level, a block that touches no wall, a film of one
// layer on the floor.
static void rest_has_none(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    liquid *l = make_liquid();
    if (kind == 0) {
      add_block(l, kp_vec3_make(0, 0, 0), 20, 6, 16, 0.2);
    } else if (kind == 1) {
      add_block(l, kp_vec3_make(0.3, 0.5, 0.2), 8, 8, 8, 0.1);
    } else {
      add_block(l, kp_vec3_make(0, 0, 0), 20, 1, 16, 0.2);
    }
    (void)find_spray(l);
    for (int64_t i = 0; i < l->n; ++i) {
      assert_true(l->share[i] == 0.0f);
    }
    kp_free(l);
  }
}

// A lone particle has no surface, and nothing jumps as another comes by.
static void change_is_smooth(void **state) {
  (void)state;
  enum { STEPS = 200 };
  float last = -1.0f, first = 0.0f;
  for (int k = 0; k <= STEPS; ++k) {
    liquid *l = make_liquid();
    add(l, kp_vec3_make(0.5, 0.6, 0.4));
    if (k == 0) {
      assert_int_equal(find_spray(l), 0);
      assert_true(l->share[0] == 1.0f);
    }
    // a block comes nearer, from four spacings to half of one
    double gap = D * (4.0 - 3.5 * k / STEPS);
    add_block(l, kp_vec3_make(0.5 + gap, 0.5, 0.3), 4, 4, 4, 0.0);
    assert_true(find_spray(l) > 0);
    first = k == 0 ? l->share[0] : first;
    if (k > 0) {
      assert_true(l->share[0] <= last && l->share[0] > last - 0.05f);
    }
    last = l->share[0];
    kp_free(l);
  }
  assert_true(first == 1.0f && last < 0.1f);
}

// ---- drops

#define DROPS 60000

typedef struct spray {
  int64_t n, first[MOST];
  float values[7][DROPS];
} spray;

static kp_spraying spraying(void) {
  return (kp_spraying){ .spacing = D,
                        .drops = 24.0,
                        .volume = 0.25,
                        .spread = 1.2,
                        .gravity = 9.81,
                        .box = settings().box };
}

static spray *make_spray(const kp_spraying *how, const liquid *l) {
  spray *s = kp_alloc_zero(sizeof *s, KP_MEMORY_TEST);
  assert_non_null(s);
  kp_spray_cloud cloud = { .n = l->n, .id = l->id, .share = l->share };
  kp_spray_drops out = { .radius = s->values[6] };
  for (int c = 0; c < 3; ++c) {
    cloud.x[c] = l->x[c];
    cloud.velocity[c] = l->v[c];
    out.x[c] = s->values[c];
    out.velocity[c] = s->values[3 + c];
  }
  for (int64_t i = 0; i < l->n; ++i) {
    s->first[i] = s->n;
    s->n += kp_spray_count(how, &cloud, i);
  }
  assert_true(s->n < DROPS);
  kp_spray_fill(how, &cloud, s->first, &out);
  return s;
}

// Particles far from walls, of which more and more is spray.
static liquid *make_loose(int n) {
  liquid *l = make_liquid();
  kp_test_random random = kp_test_random_begin(9);
  for (int i = 0; i < n; ++i) {
    kp_vec3 p = kp_test_vec3(&random, 0.3, 0.5);
    add(l, p);
    l->share[i] = (float)i / (float)(n - 1);
  }
  return l;
}

static void volume_is_kept(void **state) {
  (void)state;
  liquid *l = make_loose(200);
  kp_spraying how = spraying();
  spray *s = make_spray(&how, l);
  int64_t fewest = DROPS, most = 0;
  for (int64_t i = 0; i < l->n; ++i) {
    int64_t end = i + 1 < l->n ? s->first[i + 1] : s->n;
    double volume = 0.0, given = how.volume * (double)l->share[i] * D * D * D;
    for (int64_t k = s->first[i]; k < end; ++k) {
      volume += 4.0 / 3.0 * 3.14159265358979 * pow((double)s->values[6][k], 3.0);
    }
    if (l->share[i] < KP_SPRAY_LEAST) {
      assert_int_equal(end, s->first[i]);
      continue;
    }
    assert_near_relative(volume, given, 1e-5);
    int64_t n = end - s->first[i];
    fewest = n < fewest ? n : fewest;
    most = n > most ? n : most;
  }
  print_message("%lld to %lld drops\n", (long long)fewest, (long long)most);
  assert_true(fewest >= 8 && fewest < 12 && most > 50 && most <= 60);
  kp_free(s);
  kp_free(l);
}

// In another frame, among others and in another order, a particle has the drops it had, as much
// larger as more of it is spray.
static void drops_stay_the_same(void **state) {
  (void)state;
  liquid *a = make_loose(60), *b = make_liquid();
  kp_vec3 way = kp_vec3_make(0.015625, 0.03125, -0.0078125);
  for (int64_t i = a->n - 1; i >= 10; --i) {
    add(b, kp_vec3_add(kp_vec3_make(a->x[0][i], a->x[1][i], a->x[2][i]), way));
    b->id[b->n - 1] = a->id[i];
    b->share[b->n - 1] = a->share[i];
  }
  kp_spraying how = spraying();
  spray *s = make_spray(&how, a), *t = make_spray(&how, b);
  for (int64_t i = 10; i < a->n; ++i) {
    int64_t j = a->n - 1 - i, p = s->first[i], q = t->first[j];
    int64_t n = (i + 1 < a->n ? s->first[i + 1] : s->n) - p;
    assert_int_equal(n, (j + 1 < b->n ? t->first[j + 1] : t->n) - q);
    for (int64_t k = 0; k < n; ++k) {
      assert_near(t->values[0][q + k] - s->values[0][p + k], way.x, 1e-6);
      assert_near(t->values[1][q + k] - s->values[1][p + k], way.y, 1e-6);
      assert_near(t->values[2][q + k] - s->values[2][p + k], way.z, 1e-6);
      for (int v = 3; v < 7; ++v) {
        assert_true(s->values[v][p + k] == t->values[v][q + k]);
      }
    }
  }
  // half of the share: the same drops, smaller, nearer
  for (int64_t i = 0; i < b->n; ++i) {
    b->share[i] *= 0.5f;
  }
  spray *u = make_spray(&how, b);
  for (int64_t i = 0; i < b->n && b->share[i] >= KP_SPRAY_LEAST; ++i) {
    assert_int_equal(u->first[i], t->first[i]);
    assert_true(u->values[6][u->first[i]] < t->values[6][t->first[i]]);
  }
  kp_free(u);
  kp_free(t);
  kp_free(s);
  kp_free(b);
  kp_free(a);
}

static void threads_agree(void **state) {
  (void)state;
  liquid *l = make_loose(500);
  kp_spraying how = spraying();
  int before = kp_parallel_threads();
  kp_parallel_set_threads(1);
  spray *one = make_spray(&how, l);
  for (int n = 2; n <= 5; ++n) {
    kp_parallel_set_threads(n);
    spray *many = make_spray(&how, l);
    assert_memory_equal(one, many, sizeof *one);
    kp_free(many);
  }
  kp_parallel_set_threads(before);
  kp_free(one);
  kp_free(l);
}

// Of a particle at the floor none is below it.
static void drops_stay_inside(void **state) {
  (void)state;
  liquid *l = make_liquid();
  for (int i = 0; i < 100; ++i) {
    add(l, kp_vec3_make(0.01 * i, 0.2 * D, 0.0));
    l->share[i] = 1.0f;
  }
  kp_spraying how = spraying();
  spray *s = make_spray(&how, l);
  for (int64_t k = 0; k < s->n; ++k) {
    assert_true(s->values[1][k] >= 0.99f * s->values[6][k]);
    assert_true(s->values[2][k] >= 0.99f * s->values[6][k]);
    assert_true(s->values[0][k] <= 1.0f);
  }
  kp_free(s);
  kp_free(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_pairs_agree),     cmocka_unit_test(rest_has_none),
    cmocka_unit_test(change_is_smooth),    cmocka_unit_test(volume_is_kept),
    cmocka_unit_test(drops_stay_the_same), cmocka_unit_test(threads_agree),
    cmocka_unit_test(drops_stay_inside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
