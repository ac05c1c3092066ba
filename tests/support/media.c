#include "support/media.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "par/kernel.h"
#include "par/parallel.h"

static kp_space *space_of(kp_world *world, const char *set) {
  kp_space *space = kp_registry_find(world->registry, set);
  assert_non_null(space);
  return space;
}

void kp_test_place(kp_world *world, const char *set, int64_t i, kp_vec3 x, kp_vec3 v) {
  kp_space *space = space_of(world, set);
  const double at[3] = { x.x, x.y, x.z };
  const double speed[3] = { v.x, v.y, v.z };
  for (int c = 0; c < 3; ++c) {
    kp_field *position = kp_space_find(space, "position");
    kp_field *velocity = kp_space_find(space, "velocity");
    ((kp_pos *)kp_buffer_host(&position->buffers[c], KP_ACCESS_WRITE))[i] = at[c];
    ((kp_real *)kp_buffer_host(&velocity->buffers[c], KP_ACCESS_WRITE))[i] = (kp_real)speed[c];
  }
}

void kp_test_scatter(kp_world *world, const char *set, kp_aabb box, double speed, uint64_t seed) {
  kp_test_random random = kp_test_random_begin(seed);
  kp_space *space = space_of(world, set);
  bool flat = world->spec.domain.dimension == 2;
  for (int64_t i = 0; i < space->n; ++i) {
    kp_vec3 u = kp_test_vec3(&random, 0.0, 1.0);
    kp_vec3 size = kp_vec3_sub(box.max, box.min);
    kp_vec3 x = kp_vec3_make(box.min.x + u.x * size.x, box.min.y + u.y * size.y,
                             flat ? 0.0 : box.min.z + u.z * size.z);
    kp_vec3 v = kp_test_vec3(&random, -speed, speed);
    v.z = flat ? 0.0 : v.z;
    kp_test_place(world, set, i, x, v);
  }
}

double *kp_test_field(kp_world *world, const char *set, const char *field, int component) {
  int64_t n = kp_world_count(world, set);
  assert_true(n >= 0);
  double *values = kp_alloc((size_t)(n > 0 ? n : 1) * sizeof *values, KP_MEMORY_SCRATCH);
  assert_non_null(values);
  assert_ok(kp_world_read(world, set, field, component, values, n));
  return values;
}

kp_population_stats kp_test_stats(kp_world *world, const char *set) {
  kp_population_stats stats = { 0 };
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    int n = system->method->n_populations != NULL ? system->method->n_populations(system->self) : 0;
    for (int p = 0; p < n; ++p) {
      assert_ok(system->method->stats(system->self, &world->env, p, &stats));
      if (strcmp(stats.name, set) == 0) {
        return stats;
      }
    }
  }
  fail_msg("no population %s", set);
  return stats;
}

// ---- same bits ----------------------------------------------------------------------------------

static uint64_t hash_of(kp_world *world) {
  uint64_t hash;
  assert_ok(kp_world_hash(world, &hash));
  return hash;
}

uint64_t kp_test_hash(kp_test_make make, const char *backend, int64_t steps) {
  kp_world *world = make(backend);
  kp_test_steps(world, steps);
  uint64_t hash = hash_of(world);
  kp_world_destroy(&world);
  return hash;
}

void kp_test_rewind(kp_test_make make, const char *backend, int64_t at, int64_t steps,
                    uint64_t reference) {
  kp_world *world = make(backend);
  kp_snapshot *snapshot = NULL;
  kp_test_steps(world, at);
  assert_ok(kp_registry_save(world->registry, &snapshot));
  uint64_t before = hash_of(world);
  kp_test_steps(world, steps - at);
  assert_true(hash_of(world) == reference);
  assert_ok(kp_registry_rewind(world->registry, snapshot));
  assert_ok(kp_world_after_load(world));
  assert_true(hash_of(world) == before);
  kp_test_steps(world, steps - at);
  assert_true(hash_of(world) == reference);
  kp_snapshot_free(&snapshot);
  kp_world_destroy(&world);
}

uint64_t kp_test_same_bits(kp_test_make make, int64_t steps) {
  uint64_t reference = 0;
  for (int threads = 1; threads <= 4; ++threads) {
    kp_parallel_set_threads(threads);
    uint64_t hash = kp_test_hash(make, "cpu", steps);
    reference = threads == 1 ? hash : reference;
    assert_true(hash == reference);
  }
  kp_parallel_set_threads(0);
  kp_isa best = kp_isa_current();
  for (int isa = KP_ISA_BASE; isa <= (int)best; ++isa) {
    kp_isa_force((kp_isa)isa);
    uint64_t hash = kp_test_hash(make, "cpu", steps);
    kp_isa_force(best);
    print_message("  %s %016llx\n", kp_isa_name((kp_isa)isa), (unsigned long long)hash);
    assert_true(hash == reference);
  }
  assert_true(kp_test_hash(make, "mirror", steps) == reference);
  kp_test_rewind(make, "cpu", steps / 2, steps, reference);
  return reference;
}
