// Pictures of particles where they lie (render/live.h): against a plain loop over all particles and
// pixels, several sets, on cpu and mirror with the same bits, and nothing but pixels copied, also
// from worlds that are stepped and shown.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"
#include "render/live.h"

#include "support/claims.h"
#include "support/worlds.h"

#define N 4000
#define WIDE 96
#define HIGH 54

typedef struct cloud {
  kp_buffer buffers[6];
  kp_live_points points;
} cloud;

static void make_cloud(cloud *c, kp_backend *backend, uint64_t seed, kp_vec3 middle, double size) {
  kp_test_random random = kp_test_random_begin(seed);
  c->points = (kp_live_points){ .n = N,
                                .radius = 0.03,
                                .speed = 1.0,
                                .slow = kp_vec3_make(0.1, 0.4, 0.8),
                                .fast = kp_vec3_make(1.0, 0.9, 0.2) };
  const double at[3] = { middle.x, middle.y, middle.z };
  for (int k = 0; k < 6; ++k) {
    kp_buffer *b = &c->buffers[k];
    kp_buffer_init(b, backend);
    b->type = k < 3 ? KP_TYPE_POS : KP_TYPE_REAL;
    assert_ok(kp_buffer_resize(b, N * kp_type_size((kp_type)b->type)));
    void *data = kp_buffer_host(b, KP_ACCESS_OVERWRITE);
    for (int64_t i = 0; i < N; ++i) {
      if (k < 3) {
        ((kp_pos *)data)[i] = at[k] + kp_test_uniform(&random, -size, size);
      } else {
        ((kp_real *)data)[i] = (kp_real)kp_test_uniform(&random, -2, 2);
      }
    }
    *(k < 3 ? &c->points.position[k] : &c->points.velocity[k - 3]) = b;
  }
}

static void free_cloud(cloud *c) {
  for (int k = 0; k < 6; ++k) {
    kp_buffer_free(&c->buffers[k]);
  }
}

static kp_camera camera(void) {
  return (kp_camera){ { 0.3, 0.8, 3.0 }, { 0, 0, 0 }, { 0, 1, 0 }, 35.0 };
}

// Two clouds, one in front of the other and larger than the picture.
static void draw(kp_live *live, cloud clouds[2], const uint32_t **pixels) {
  kp_camera from = camera();
  assert_ok(kp_live_begin(live, &from, WIDE, HIGH));
  for (int k = 0; k < 2; ++k) {
    assert_ok(kp_live_add(live, &clouds[k].points));
  }
  assert_ok(kp_live_read(live, pixels));
}

static void open(kp_live *live, cloud clouds[2], kp_backend_kind kind, kp_backend **backend) {
  assert_ok(kp_backend_create(kind, backend));
  kp_live_init(live, *backend);
  make_cloud(&clouds[0], *backend, 3, kp_vec3_make(0, 0, 0), 0.5);
  make_cloud(&clouds[1], *backend, 4, kp_vec3_make(0.4, 0.2, -1.0), 2.0);
}

static void close_all(kp_live *live, cloud clouds[2], kp_backend **backend) {
  kp_live_free(live);
  free_cloud(&clouds[0]);
  free_cloud(&clouds[1]);
  kp_backend_destroy(backend);
}

// The nearest particle of each pixel, found without keys, sort or spots.
typedef struct spot {
  double depth, x, y, radius;
  int set;
  int64_t particle;
} spot;

static void find_spots(cloud clouds[2], spot spots[WIDE * HIGH]) {
  kp_camera from = camera();
  kp_camera_frame f = kp_camera_get_frame(&from);
  double scale = 0.5 * HIGH / tan(0.5 * 35.0 * 3.14159265358979323846 / 180.0);
  for (int i = 0; i < WIDE * HIGH; ++i) {
    spots[i] = (spot){ .depth = HUGE_VAL };
  }
  for (int k = 0; k < 2; ++k) {
    const kp_pos *x[3];
    for (int c = 0; c < 3; ++c) {
      x[c] = kp_buffer_host(&clouds[k].buffers[c], KP_ACCESS_READ);
    }
    for (int64_t i = 0; i < N; ++i) {
      kp_vec3 d = kp_vec3_sub(kp_vec3_make(x[0][i], x[1][i], x[2][i]), from.position);
      double z = kp_vec3_dot(d, f.forward);
      double u = 0.5 * WIDE + scale * kp_vec3_dot(d, f.right) / z;
      double v = 0.5 * HIGH - scale * kp_vec3_dot(d, f.up) / z;
      if (z > 0.01 && u >= 0.0 && u < WIDE && v >= 0.0 && v < HIGH) {
        spot *s = &spots[(int)u + WIDE * (int)v];
        if (z < s->depth) {
          *s = (spot){ z, u, v, fmin(0.03 * scale / z, LIVE_WIDEST), k, i };
        }
      }
    }
  }
}

// Which spot a pixel shows; NULL: none.
static const spot *shown_at(const spot spots[WIDE * HIGH], int x, int y) {
  const spot *best = NULL;
  for (int i = 0; i < WIDE * HIGH; ++i) {
    const spot *s = &spots[i];
    double share = (pow(x + 0.5 - s->x, 2.0) + pow(y + 0.5 - s->y, 2.0)) / (s->radius * s->radius);
    bool covers = s->depth < HUGE_VAL && (share < 1.0 || i == x + WIDE * y);
    if (covers && (best == NULL || s->depth < best->depth)) {
      best = s;
    }
  }
  return best;
}

static void test_twin(void **state) {
  (void)state;
  kp_backend *backend;
  kp_live live;
  cloud clouds[2];
  const uint32_t *pixels;
  static spot spots[WIDE * HIGH];
  open(&live, clouds, KP_BACKEND_CPU, &backend);
  draw(&live, clouds, &pixels);
  find_spots(clouds, spots);
  int64_t n_seen = 0;
  int64_t n_wrong = 0;
  int64_t n_of[2] = { 0, 0 };
  for (int y = 0; y < HIGH; ++y) {
    for (int x = 0; x < WIDE; ++x) {
      uint32_t got = pixels[x + WIDE * y];
      const spot *s = shown_at(spots, x, y);
      if (s == NULL) {
        n_wrong += got != 0x2a1e14u;
        continue;
      }
      ++n_seen;
      ++n_of[s->set];
      double v = 0.0;
      for (int c = 0; c < 3; ++c) {
        const kp_real *u = kp_buffer_host(&clouds[s->set].buffers[3 + c], KP_ACCESS_READ);
        v += pow((double)u[s->particle], 2.0);
      }
      double t = sqrt(v) / (sqrt(v) + 1.0);
      double share =
          (pow(x + 0.5 - s->x, 2.0) + pow(y + 0.5 - s->y, 2.0)) / (s->radius * s->radius);
      double light = s->radius > 1.0 ? 1.0 - 0.5 * fmin(share, 1.0) : 1.0;
      double red = light * 255.0 * (0.1 + t * 0.9);
      double blue = light * 255.0 * (0.8 - t * 0.6);
      n_wrong += fabs((double)(got & 255u) - red) > 3.0;
      n_wrong += fabs((double)(got >> 16 & 255u) - blue) > 3.0;
    }
  }
  print_message("  %lld of %d pixels show particles (%lld and %lld), %lld wrong\n",
                (long long)n_seen, WIDE * HIGH, (long long)n_of[0], (long long)n_of[1],
                (long long)n_wrong);
  assert_true(n_of[0] > 500 && n_of[1] > 500 && n_seen < WIDE * HIGH);
  // a middle may round to the other side of the edge of a pixel or a disc
  assert_between((double)n_wrong, 0.0, 3.0);
  close_all(&live, clouds, &backend);
}

static void test_device(void **state) {
  (void)state;
  uint32_t reference[WIDE * HIGH];
  for (int k = 0; k < 3; ++k) {
    kp_backend *backend;
    kp_live live;
    cloud clouds[2];
    const uint32_t *pixels;
    open(&live, clouds, k < 2 ? KP_BACKEND_CPU : KP_BACKEND_MIRROR, &backend);
    kp_parallel_set_threads(k == 1 ? 3 : 1);
    draw(&live, clouds, &pixels);
    int64_t before = backend->counters.bytes_out;
    draw(&live, clouds, &pixels);
    if (k == 0) {
      memcpy(reference, pixels, sizeof reference);
    }
    assert_memory_equal(reference, pixels, sizeof reference);
    if (k == 2) {
      assert_int_equal(backend->counters.bytes_out - before, sizeof reference);
    }
    close_all(&live, clouds, &backend);
  }
  kp_parallel_set_threads(0);
}

// Bytes that cross between host and device in a sub-step of a column of water that is shown, less
// the picture; the mean of those after the first ones, in which memory grows.
static double traffic_of_column(double spacing, int64_t *n) {
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0.5));
  settings.backend = "mirror";
  kp_world *world = kp_test_world(&settings);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.6, 0.5), spacing);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 4);
  kp_space *space = kp_registry_find(world->registry, "water");
  kp_live_points points = { .n = space->n, .radius = 0.5 * spacing, .speed = 1.0 };
  for (int c = 0; c < 3; ++c) {
    points.position[c] = &kp_space_find(space, "position")->buffers[c];
    points.velocity[c] = &kp_space_find(space, "velocity")->buffers[c];
  }
  kp_live live;
  kp_live_init(&live, world->backend);
  int64_t bytes = 0;
  for (int k = 0; k < 8; ++k) {
    const uint32_t *pixels;
    kp_camera from = camera();
    int64_t before = world->backend->counters.bytes_in + world->backend->counters.bytes_out;
    kp_test_steps(world, 1);
    assert_ok(kp_live_begin(&live, &from, WIDE, HIGH));
    assert_ok(kp_live_add(&live, &points));
    assert_ok(kp_live_read(&live, &pixels));
    bytes += world->backend->counters.bytes_in + world->backend->counters.bytes_out - before -
             (int64_t)sizeof(uint32_t) * WIDE * HIGH;
  }
  *n = space->n;
  kp_live_free(&live);
  kp_world_destroy(&world);
  return (double)bytes / 8.0;
}

// Lyes's claim 23. Nothing is copied; what comes back besides are the few numbers each of the
// reductions gives by which a step is chosen and checked.
static void test_traffic(void **state) {
  (void)state;
  int64_t n[2];
  double few = traffic_of_column(0.05, &n[0]);
  double many = traffic_of_column(0.025, &n[1]);
  print_message("  %g bytes per step of %lld particles, %g of %lld\n", few, (long long)n[0], many,
                (long long)n[1]);
  assert_true(n[1] > 7 * n[0]);
  assert_true(few == 0.0 && many == 0.0);
  kp_claim claim = { .id = "lyes-23",
                     .text = "no copies between host and device in the loop of frames: bytes per "
                             "step besides the picture",
                     .size = "column of 7,680 particles of SPH water shown each step, mirror "
                             "backend; numbers that reductions return are not counted",
                     .test = "test_live",
                     .figure = many,
                     .threshold = 0.0 };
  kp_claim_at_most(&claim);
}

// Nothing there: a picture of nothing.
static void test_empty(void **state) {
  (void)state;
  kp_backend *backend;
  kp_live live;
  const uint32_t *pixels;
  kp_camera from = camera();
  kp_live_points none = { .n = 0 };
  assert_ok(kp_backend_create(KP_BACKEND_MIRROR, &backend));
  kp_live_init(&live, backend);
  assert_ok(kp_live_begin(&live, &from, 8, 4));
  assert_ok(kp_live_add(&live, &none));
  assert_ok(kp_live_read(&live, &pixels));
  for (int i = 0; i < 32; ++i) {
    assert_int_equal(pixels[i], 0x2a1e14u);
  }
  kp_live_free(&live);
  kp_backend_destroy(&backend);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_twin),
    cmocka_unit_test(test_device),
    cmocka_unit_test(test_traffic),
    cmocka_unit_test(test_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
