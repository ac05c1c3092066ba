#include "support/bag.h"

#include <string.h>

#include "base/hash.h"
#include "geom/ccd.h"

kp_bag kp_bag_make(void) {
  return (kp_bag){ .def = kp_default_contact_def(), .h = 0.01, .part = 0.3 };
}

void kp_bag_open(kp_bag *b) {
  kp_contact_destroy(&b->contact);
  if (b->backend != NULL) {
    for (int k = 0; k < 3; ++k) {
      kp_buffer_free(&b->from[k]);
      kp_buffer_free(&b->to[k]);
      kp_buffer_free(&b->v[k]);
    }
    kp_buffer_free(&b->inverse_mass);
  }
  kp_backend_destroy(&b->backend);
}

void kp_bag_free(kp_bag *b) {
  kp_bag_open(b);
  kp_array_free(&b->x);
  kp_array_free(&b->mass);
  kp_array_free(&b->object);
  kp_array_free(&b->triangles);
  kp_array_free(&b->segments);
  kp_array_free(&b->objects);
}

static void add_node(kp_bag *b, kp_vec3 x, double m) {
  assert_ok(kp_array_push(&b->x, x));
  assert_ok(kp_array_push(&b->mass, m));
  assert_ok(kp_array_push(&b->object, (kp_index)b->objects.count));
}

static void add_triangle(kp_bag *b, kp_index i, kp_index j, kp_index k) {
  assert_ok(kp_array_push(&b->triangles, i));
  assert_ok(kp_array_push(&b->triangles, j));
  assert_ok(kp_array_push(&b->triangles, k));
}

kp_index kp_bag_add_sheet(kp_bag *b, kp_vec3 origin, kp_vec3 a, kp_vec3 c, int nx, int ny,
                          double m) {
  kp_index first = (kp_index)b->x.count;
  for (int j = 0; j <= ny; ++j) {
    for (int i = 0; i <= nx; ++i) {
      kp_vec3 x = kp_vec3_madd(origin, (double)i / nx, a);
      add_node(b, kp_vec3_madd(x, (double)j / ny, c), m);
    }
  }
  for (int j = 0; j < ny; ++j) {
    for (int i = 0; i < nx; ++i) {
      kp_index p = first + (kp_index)(j * (nx + 1) + i);
      kp_index q = p + nx + 1;
      if ((i + j) % 2 == 0) {
        add_triangle(b, p, p + 1, q + 1);
        add_triangle(b, p, q + 1, q);
      } else {
        add_triangle(b, p, p + 1, q);
        add_triangle(b, p + 1, q + 1, q);
      }
    }
  }
  assert_ok(kp_array_push(&b->objects, (kp_contact_object){ .friction = 0.4 }));
  return first;
}

kp_index kp_bag_add_hair(kp_bag *b, kp_vec3 origin, kp_vec3 end, int n, double m) {
  kp_index first = (kp_index)b->x.count;
  for (int i = 0; i <= n; ++i) {
    add_node(b, kp_vec3_madd(origin, (double)i / n, kp_vec3_sub(end, origin)), m);
  }
  for (int i = 0; i < n; ++i) {
    assert_ok(kp_array_push(&b->segments, first + (kp_index)i));
    assert_ok(kp_array_push(&b->segments, first + (kp_index)i + 1));
  }
  kp_contact_object hair = { .flags = KP_CONTACT_HAIR, .friction = 0.4 };
  assert_ok(kp_array_push(&b->objects, hair));
  return first;
}

static void *host(kp_buffer *buffer) {
  void *p = kp_buffer_host(buffer, KP_ACCESS_WRITE);
  assert_non_null(p);
  return p;
}

static kp_result make_buffer(kp_bag *b, kp_buffer *buffer, size_t size, kp_type type) {
  buffer->type = (uint8_t)type;
  KP_TRY(kp_buffer_resize(buffer, b->x.count * size));
  void *unused;
  return kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &unused);
}

static kp_result make_buffers(kp_bag *b, const double *rest) {
  size_t n = b->x.count;
  for (int k = 0; k < 3; ++k) {
    KP_TRY(make_buffer(b, &b->from[k], sizeof(double), KP_TYPE_POS));
    KP_TRY(make_buffer(b, &b->to[k], sizeof(double), KP_TYPE_POS));
    KP_TRY(make_buffer(b, &b->v[k], sizeof(kp_real), KP_TYPE_REAL));
    memcpy(host(&b->from[k]), rest + (size_t)k * n, n * sizeof *rest);
    memcpy(host(&b->to[k]), rest + (size_t)k * n, n * sizeof *rest);
    memset(host(&b->v[k]), 0, n * sizeof(kp_real));
  }
  KP_TRY(make_buffer(b, &b->inverse_mass, sizeof(kp_real), KP_TYPE_REAL));
  kp_real *w = host(&b->inverse_mass);
  for (size_t i = 0; i < n; ++i) {
    w[i] = b->mass.data[i] > 0.0 ? (kp_real)(1.0 / b->mass.data[i]) : (kp_real)0;
  }
  return KP_OK;
}

void kp_bag_close(kp_bag *b, kp_backend_kind backend) {
  assert_ok(kp_bag_try_close(b, backend));
}

kp_result kp_bag_try_close(kp_bag *b, kp_backend_kind backend) {
  size_t n = b->x.count;
  KP_TRY(kp_backend_create(backend, &b->backend));
  for (int k = 0; k < 3; ++k) {
    kp_buffer_init(&b->from[k], b->backend);
    kp_buffer_init(&b->to[k], b->backend);
    kp_buffer_init(&b->v[k], b->backend);
  }
  kp_buffer_init(&b->inverse_mass, b->backend);
  double *rest = kp_alloc(4 * n * sizeof *rest, KP_MEMORY_TEST);
  if (rest == NULL) {
    return KP_ERROR_MEMORY;
  }
  double *h = rest + 3 * n;
  for (size_t i = 0; i < n; ++i) {
    rest[i] = b->x.data[i].x;
    rest[n + i] = b->x.data[i].y;
    rest[2 * n + i] = b->x.data[i].z;
    h[i] = b->h;
  }
  kp_contact_mesh mesh = {
    .n_nodes = (kp_index)n,
    .n_triangles = (kp_index)(b->triangles.count / 3),
    .n_segments = (kp_index)(b->segments.count / 2),
    .n_objects = (kp_index)b->objects.count,
    .triangles = b->triangles.data,
    .segments = b->segments.data,
    .object = b->object.data,
    .rest = { rest, rest + n, rest + 2 * n },
    .h = h,
    .objects = b->objects.data,
  };
  kp_contact_clamp(&mesh, b->part, h);
  kp_result result = kp_contact_create(b->backend, &b->def, &mesh, &b->contact);
  if (result == KP_OK) {
    result = make_buffers(b, rest);
  }
  kp_free(rest);
  return result;
}

kp_index kp_bag_nodes(const kp_bag *b) {
  return (kp_index)b->x.count;
}

kp_vec3 kp_bag_get(kp_bag *b, kp_buffer field[3], kp_index i) {
  (void)b;
  const double *x[3];
  for (int k = 0; k < 3; ++k) {
    x[k] = kp_buffer_host(&field[k], KP_ACCESS_READ);
  }
  return kp_vec3_make(x[0][i], x[1][i], x[2][i]);
}

void kp_bag_set(kp_bag *b, kp_buffer field[3], kp_index i, kp_vec3 x) {
  (void)b;
  ((double *)host(&field[0]))[i] = x.x;
  ((double *)host(&field[1]))[i] = x.y;
  ((double *)host(&field[2]))[i] = x.z;
}

kp_vec3 kp_bag_velocity(kp_bag *b, kp_index i) {
  const kp_real *v[3];
  for (int k = 0; k < 3; ++k) {
    v[k] = kp_buffer_host(&b->v[k], KP_ACCESS_READ);
  }
  return kp_vec3_make((double)v[0][i], (double)v[1][i], (double)v[2][i]);
}

void kp_bag_set_velocity(kp_bag *b, kp_index i, kp_vec3 v) {
  ((kp_real *)host(&b->v[0]))[i] = (kp_real)v.x;
  ((kp_real *)host(&b->v[1]))[i] = (kp_real)v.y;
  ((kp_real *)host(&b->v[2]))[i] = (kp_real)v.z;
}

int64_t kp_bag_intersections(kp_bag *b, kp_buffer field[3]) {
  kp_triangle_soup soup = {
    .x = kp_buffer_host(&field[0], KP_ACCESS_READ),
    .y = kp_buffer_host(&field[1], KP_ACCESS_READ),
    .z = kp_buffer_host(&field[2], KP_ACCESS_READ),
    .triangles = b->triangles.data,
    .n_triangles = (kp_index)(b->triangles.count / 3),
  };
  kp_intersections out;
  assert_ok(kp_soup_count(&soup, &out));
  return out.count;
}

static bool is_asked(const kp_bag *b, const kp_index n[4]) {
  for (int k = 0; k < 4; ++k) {
    for (int l = 0; l < k; ++l) {
      if (n[k] == n[l]) {
        return false;
      }
    }
  }
  return b->mass.data[n[0]] + b->mass.data[n[1]] + b->mass.data[n[2]] + b->mass.data[n[3]] > 0.0;
}

typedef struct places {
  const double *from[3], *to[3];
} places;

static int64_t collides(const kp_bag *b, const places *p, const kp_index n[4], bool is_edges) {
  kp_vec3 x[4];
  kp_vec3 u[4];
  if (!is_asked(b, n)) {
    return 0;
  }
  for (int k = 0; k < 4; ++k) {
    kp_index i = n[k];
    x[k] = kp_vec3_make(p->from[0][i], p->from[1][i], p->from[2][i]);
    u[k] = kp_vec3_sub(kp_vec3_make(p->to[0][i], p->to[1][i], p->to[2][i]), x[k]);
  }
  return is_edges ? kp_ccd_edge_edge(x, u, b->def.thickness, NULL)
                  : kp_ccd_point_triangle(x, u, b->def.thickness, NULL);
}

int64_t kp_bag_collisions(kp_bag *b) {
  int64_t count = 0;
  size_t n_triangles = b->triangles.count / 3;
  const kp_index *t = b->triangles.data;
  places p;
  for (int k = 0; k < 3; ++k) {
    p.from[k] = kp_buffer_host(&b->from[k], KP_ACCESS_READ);
    p.to[k] = kp_buffer_host(&b->to[k], KP_ACCESS_READ);
  }
  for (size_t f = 0; f < n_triangles; ++f) {
    for (kp_index i = 0; i < kp_bag_nodes(b); ++i) {
      const kp_index n[4] = { t[3 * f], t[3 * f + 1], t[3 * f + 2], i };
      bool is_hair = b->objects.data[b->object.data[i]].flags & KP_CONTACT_HAIR;
      count += is_hair ? 0 : collides(b, &p, n, false);
    }
    // edges that two triangles have are asked twice
    for (size_t g = 0; g < f; ++g) {
      for (int k = 0; k < 9; ++k) {
        size_t e = (size_t)(k / 3);
        size_t d = (size_t)(k % 3);
        const kp_index n[4] = { t[3 * f + e], t[3 * f + (e + 1) % 3], t[3 * g + d],
                                t[3 * g + (d + 1) % 3] };
        count += collides(b, &p, n, true);
      }
    }
  }
  return count;
}

void kp_bag_find(kp_bag *b) {
  assert_ok(kp_contact_find(b->contact, b->from, &b->inverse_mass));
}

void kp_bag_resolve(kp_bag *b) {
  kp_contact_motion motion = {
    .from = b->from,
    .x = b->to,
    .v = b->v,
    .inverse_mass = &b->inverse_mass,
    .time = 1.0 / 60.0,
    .dt = 1.0 / 960.0,
  };
  assert_ok(kp_contact_resolve(b->contact, &motion));
}

void kp_bag_accept(kp_bag *b) {
  for (int k = 0; k < 3; ++k) {
    memcpy(host(&b->from[k]), kp_buffer_host(&b->to[k], KP_ACCESS_READ),
           b->x.count * sizeof(double));
  }
}

uint64_t kp_bag_hash(kp_bag *b) {
  uint64_t hash = 0;
  for (int k = 0; k < 3; ++k) {
    const uint64_t *x = kp_buffer_host(&b->to[k], KP_ACCESS_READ);
    for (size_t i = 0; i < b->x.count; ++i) {
      hash = kp_hash_mix(hash ^ x[i]);
    }
    const kp_real *v = kp_buffer_host(&b->v[k], KP_ACCESS_READ);
    for (size_t i = 0; i < b->x.count; ++i) {
      double value = (double)v[i];
      uint64_t bits;
      memcpy(&bits, &value, sizeof bits);
      hash = kp_hash_mix(hash ^ bits);
    }
  }
  return hash;
}
