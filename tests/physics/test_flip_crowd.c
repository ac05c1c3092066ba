// Parting crowds of FLIP particles: every particle goes where a plain program of the same rules
// puts it, on every backend; no crowd is left where there is room; nobody goes much farther than if
// crowds chose one after the other.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "methods/flip/flip.h"

#include "support/media.h"

#define SHARE 1.25

typedef struct scene {
  const char *text;
  int dimension;
  int cells;
  bool is_periodic;
  int n_liquids;
  double band;
  double heap;  // m: edge of the box that most particles are thrown into
} scene;

static const scene scenes[] = {
  { "2D", 2, 16, false, 1, 0.0, 0.1 },
  { "2D, periodic, two liquids", 2, 16, true, 2, 0.0, 0.15 },
  { "3D, periodic", 3, 8, true, 1, 0.0, 0.15 },
  { "3D, narrow band", 3, 8, false, 1, 1.0, 0.2 },
};

#define N_SCENES (sizeof scenes / sizeof scenes[0])

static kp_flip *flip_of(const kp_world *world) {
  return kp_test_system(world, &kp_flip_method);
}

// A pool with a ball in it, after a step; then most particles are thrown into one place beside the
// ball, and a few anywhere.
static kp_world *heaped(const scene *s, const char *backend) {
  double depth = s->dimension == 2 ? 0.0 : 1.0;
  kp_test_settings settings = kp_test_settings_make(s->dimension, kp_vec3_make(0.0, 0.0, 0.0),
                                                    kp_vec3_make(1.0, 1.0, depth));
  settings.backend = backend;
  settings.simulation.dt = 1e-3;
  settings.domain.boundary_x = s->is_periodic ? KP_BOUNDARY_PERIODIC : KP_BOUNDARY_CLOSED;
  kp_world *world = kp_test_world(&settings);
  kp_flip_def def = kp_default_flip_def();
  def.band = s->band;
  assert_ok(kp_world_set_flip(world, &def));
  for (int l = 0; l < s->n_liquids; ++l) {
    double lo = (double)l / s->n_liquids;
    double hi = (l + 1.0) / s->n_liquids;
    kp_liquid_def water = kp_test_liquid(l == 0 ? "one" : "other", kp_vec3_make(lo, 0.0, 0.0),
                                         kp_vec3_make(hi, 0.5, depth), 0.5 / s->cells);
    water.method = KP_LIQUID_FLIP;
    assert_ok(kp_world_add_liquid(world, &water));
  }
  kp_collider_def ball = kp_default_collider_def();
  (void)snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0.35, 0.35, 0.5 * depth), 0.2);
  assert_ok(kp_world_add_collider(world, &ball));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 1);
  kp_flip *flip = flip_of(world);
  for (int l = 0; l < s->n_liquids; ++l) {
    kp_set *set = flip->liquids.data[l].medium.set;
    for (int c = 0; c < s->dimension; ++c) {
      kp_pos *x = kp_buffer_host(&set->position->buffers[c], KP_ACCESS_WRITE);
      for (int64_t p = 0; p < set->space->n; ++p) {
        double t = kp_rng_uniform(7, KP_RNG_FLIP, (uint64_t)p, (uint64_t)(3 * l + c));
        x[p] = p % 5 == 0 ? t : 0.02 + s->heap * t + (c == 1 ? 0.3 : 0.0);
      }
    }
  }
  return world;
}

// ---- the plain program --------------------------------------------------------------------------

typedef struct mover {
  int64_t particle, from, at, number, listed;
  int rank;  // in the list, for a sort that keeps it
} mover;

typedef struct plain {
  const kp_mac_view *g;
  int64_t n_cells;
  int64_t most;
  int64_t *counts;
  uint8_t *ways;  // 0 none, 1 to pass, 2 to stay
  int *level;
  double way;  // cells that all go together
} plain;

static void cell_of(const plain *p, int64_t at, int64_t cell[3]) {
  const int32_t *n = p->g->n;
  cell[0] = at % n[0];
  cell[1] = at / n[0] % n[1];
  cell[2] = at / n[0] / n[1];
}

// The cell beside one, or -1.
static int64_t beside(const plain *p, int64_t at, int side) {
  const int32_t *n = p->g->n;
  int64_t cell[3];
  int axis = side / 2;
  cell_of(p, at, cell);
  cell[axis] += side % 2 == 0 ? -1 : 1;
  if (cell[axis] < 0 || cell[axis] >= n[axis]) {
    if (!p->g->is_periodic[axis]) {
      return -1;
    }
    cell[axis] = (cell[axis] + n[axis]) % n[axis];
  }
  return cell[0] + n[0] * (cell[1] + n[1] * cell[2]);
}

static int64_t room_of(const plain *p, int64_t at) {
  return p->ways[at] == 2 && p->counts[at] < p->most ? p->most - p->counts[at] : 0;
}

// Cells to the nearest room, no farther than `reach`; -1 elsewhere.
static void flood(plain *p, int reach) {
  for (int64_t at = 0; at < p->n_cells; ++at) {
    p->level[at] = room_of(p, at) > 0 ? 0 : -1;
  }
  bool goes_on = true;
  for (int level = 0; level < reach && goes_on; ++level) {
    goes_on = false;
    for (int64_t at = 0; at < p->n_cells; ++at) {
      for (int side = 0; side < 2 * p->g->dimension && p->level[at] == level; ++side) {
        int64_t next = beside(p, at, side);
        if (next >= 0 && p->ways[next] != 0 && p->level[next] == -1) {
          p->level[next] = level + 1;
          goes_on = true;
        }
      }
    }
  }
}

static int64_t walk(const plain *p, int64_t at, int64_t number) {
  int gone[3] = { 0, 0, 0 };
  for (int n_passed = 0; n_passed < 64;) {
    bool is_up = p->level[at] == 0;
    int64_t room = room_of(p, at);
    if (is_up && number < room) {
      break;
    }
    number -= is_up ? room : 0;
    n_passed += is_up ? 1 : 0;
    int sides[6];
    int n_sides = 0;
    int least = is_up ? 0 : 1000;
    for (int side = 0; side < 2 * p->g->dimension; ++side) {
      int64_t next = beside(p, at, side);
      int level = next >= 0 && p->ways[next] != 0 ? p->level[next] : -1;
      bool is_back = (side % 2 == 0 ? gone[side / 2] : -gone[side / 2]) > 0;
      if (level < 0 || level > least || (is_up && is_back)) {
        continue;
      }
      n_sides = level < least ? 0 : n_sides;
      least = level;
      sides[n_sides++] = side;
    }
    if (n_sides == 0) {
      break;
    }
    int64_t group = number / p->most;
    int side = sides[group % n_sides];
    number = group / n_sides * p->most + number % p->most;
    gone[side / 2] += side % 2 == 0 ? -1 : 1;
    at = beside(p, at, side);
  }
  return at;
}

static int by_place(const void *a, const void *b) {
  const mover *x = a;
  const mover *y = b;
  if (x->at != y->at) {
    return x->at < y->at ? -1 : 1;
  }
  return x->rank - y->rank;
}

static void sort_movers(mover *m, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    m[k].rank = (int)k;
  }
  qsort(m, (size_t)n, sizeof *m, by_place);
  for (int64_t k = 0; k < n; ++k) {
    m[k].number = k > 0 && m[k - 1].at == m[k].at ? m[k - 1].number + 1 : 0;
  }
}

static void shift(plain *p, const mover *m, double *x[3]) {
  int64_t from[3];
  int64_t to[3];
  cell_of(p, m->from, from);
  cell_of(p, m->at, to);
  for (int c = 0; c < p->g->dimension; ++c) {
    int64_t way = to[c] - from[c];
    double there = x[c][m->particle] + p->g->cell * (double)way;
    double place = (there - p->g->lo[c]) / p->g->cell;
    bool is_there = place >= (double)to[c] && place < (double)to[c] + 1.0;
    double center = p->g->lo[c] + p->g->cell * ((double)to[c] + 0.5);
    if (way != 0) {
      x[c][m->particle] = is_there ? there : center;
    }
    way = llabs(way);
    p->way += (double)(p->g->is_periodic[c] && p->g->n[c] - way < way ? p->g->n[c] - way : way);
  }
}

// Who does not get in comes first; returns how many.
static int64_t grant(plain *p, mover *m, int64_t n, double *x[3]) {
  int64_t n_left = 0;
  int64_t room = 0;
  for (int64_t k = 0; k < n; ++k) {
    room = m[k].number == 0 ? room_of(p, m[k].at) : room;
    if (m[k].number < room) {
      shift(p, &m[k], x);
      ++p->counts[m[k].at];
    } else {
      m[n_left++] = m[k];
    }
  }
  return n_left;
}

static int64_t place_of(const plain *p, double *const x[3], int64_t particle) {
  int64_t cell[3] = { 0, 0, 0 };
  for (int c = 0; c < p->g->dimension; ++c) {
    double t = (x[c][particle] - p->g->lo[c]) / p->g->cell;
    cell[c] = (int64_t)fmin(fmax(t, 0.0), p->g->n[c] - 1.0);
  }
  return cell[0] + p->g->n[0] * (cell[1] + p->g->n[1] * cell[2]);
}

// Every so-many-th of what cells hold too much, in the order of cells.
static int64_t list(plain *p, double *const x[3], int64_t n, mover *out) {
  int64_t n_out = 0;
  int64_t *places = calloc((size_t)n, sizeof *places);
  for (int64_t q = 0; q < n; ++q) {
    places[q] = place_of(p, x, q);
  }
  for (int64_t at = 0; at < p->n_cells; ++at) {
    int64_t own = 0;
    for (int64_t q = 0; q < n; ++q) {
      own += places[q] == at ? 1 : 0;
    }
    int64_t excess = p->counts[at] > p->most ? p->counts[at] - p->most : 0;
    excess = excess < own ? excess : own;
    int64_t seen = 0;
    int64_t gone = 0;
    for (int64_t q = 0; q < n && gone < excess; ++q) {
      if (places[q] == at && seen++ == ((gone + 1) * own - 1) / excess) {
        out[n_out] = (mover){ .particle = q, .from = at, .at = at, .listed = n_out };
        ++n_out;
        ++gone;
      }
    }
    p->counts[at] -= gone;
  }
  free(places);
  return n_out;
}

static void part_plainly(plain *p, double *x[3], int64_t n) {
  mover *movers = calloc((size_t)n, sizeof *movers);
  int64_t n_left = list(p, x, n, movers);
  int farthest = p->g->n[0] + p->g->n[1] + p->g->n[2];
  for (int reach = 2, round = 0; n_left > 0; ++round) {
    int64_t before = n_left;
    if (round % 2 == 0) {
      flood(p, reach);
    }
    sort_movers(movers, n_left);
    for (int64_t k = 0; k < n_left; ++k) {
      movers[k].at = walk(p, movers[k].at, movers[k].number);
    }
    sort_movers(movers, n_left);
    n_left = grant(p, movers, n_left, x);
    // the others try again from where they are, in the order of the list
    for (int64_t k = 0; k < n_left; ++k) {
      movers[k].at = movers[k].from;
      movers[k].rank = (int)movers[k].listed;
    }
    qsort(movers, (size_t)n_left, sizeof *movers, by_place);
    if (n_left == before && reach >= farthest) {
      break;
    }
    bool goes_on = n_left == before || (2 * n_left > before && reach < 16);
    reach *= goes_on && round % 2 == 1 ? 2 : 1;
  }
  free(movers);
}

// Crowds one after the other, each to the nearest room that is left: how far all go together.
static double way_by_turns(plain *p, double *const x[3], int64_t n) {
  mover *movers = calloc((size_t)n, sizeof *movers);
  int64_t n_movers = list(p, x, n, movers);
  double way = 0.0;
  for (int64_t k = 0; k < n_movers; ++k) {
    flood(p, 1000);
    int64_t cell = movers[k].at;
    int least = 1000;
    for (int side = 0; side < 2 * p->g->dimension; ++side) {
      int64_t next = beside(p, cell, side);
      if (next >= 0 && p->ways[next] != 0 && p->level[next] >= 0 && p->level[next] < least) {
        least = p->level[next];
      }
    }
    way += least < 1000 ? least + 1 : 0;
    int64_t at = walk(p, cell, 0);
    p->counts[at] += room_of(p, at) > 0 ? 1 : 0;
  }
  free(movers);
  return way;
}

// ---- what is the same ---------------------------------------------------------------------------

static plain open_plain(kp_flip *flip) {
  const kp_mac_view *g = &flip->flow.mac->view;
  const uint8_t *flags = kp_buffer_host(&flip->flow.flags->buffers[0], KP_ACCESS_READ);
  const kp_real *open = kp_buffer_host(&flip->open, KP_ACCESS_READ);
  const kp_real *depth =
      flip->band.is_there ? kp_buffer_host(&flip->band.depth->buffers[0], KP_ACCESS_READ) : NULL;
  plain p = { .g = g, .n_cells = (int64_t)g->n[0] * g->n[1] * g->n[2] };
  p.most = (int64_t)(SHARE * pow(2.0, g->dimension));
  p.counts = calloc((size_t)p.n_cells, sizeof *p.counts);
  p.ways = calloc((size_t)p.n_cells, sizeof *p.ways);
  p.level = calloc((size_t)p.n_cells, sizeof *p.level);
  for (int64_t at = 0; at < p.n_cells; ++at) {
    int64_t cell[3];
    cell_of(&p, at, cell);
    int64_t item = kp_mac_at(g, cell[0], cell[1], cell[2]);
    bool is_way = (flags[item] & KP_CELL_KIND) != KP_CELL_SOLID && (double)open[item] > 0.5;
    bool is_full = depth != NULL && (double)depth[item] >= kp_flip_band_full(flip);
    p.ways[at] = (uint8_t)(is_way ? (is_full ? 1 : 2) : 0);
  }
  return p;
}

static void close_plain(plain *p) {
  free(p->counts);
  free(p->ways);
  free(p->level);
}

static double *copy_of(kp_set *set, int c) {
  const kp_pos *x = kp_buffer_host(&set->position->buffers[c], KP_ACCESS_READ);
  double *copy = calloc((size_t)set->space->n, sizeof *copy);
  for (int64_t p = 0; p < set->space->n; ++p) {
    copy[p] = x[p];
  }
  return copy;
}

static void count_places(plain *p, double *const x[3], int64_t n) {
  for (int64_t q = 0; q < n; ++q) {
    ++p->counts[place_of(p, x, q)];
  }
}

static void compare(const scene *s, const char *backend) {
  kp_world *world = heaped(s, backend);
  kp_flip *flip = flip_of(world);
  plain p = open_plain(flip);
  double *x[2][3] = { { NULL } };
  for (int l = 0; l < s->n_liquids; ++l) {
    kp_set *set = flip->liquids.data[l].medium.set;
    for (int c = 0; c < 3; ++c) {
      x[l][c] = copy_of(set, c);
    }
    count_places(&p, x[l], set->space->n);
  }
  int64_t fullest = 0;
  for (int64_t at = 0; at < p.n_cells; ++at) {
    fullest = p.counts[at] > fullest ? p.counts[at] : fullest;
  }
  assert_true(fullest > 4 * p.most);
  double by_turns = NAN;
  if (s->n_liquids == 1) {
    plain q = open_plain(flip);
    count_places(&q, x[0], flip->liquids.data[0].medium.set->space->n);
    by_turns = way_by_turns(&q, x[0], flip->liquids.data[0].medium.set->space->n);
    close_plain(&q);
  }
  for (int l = 0; l < s->n_liquids; ++l) {
    part_plainly(&p, x[l], flip->liquids.data[l].medium.set->space->n);
  }
  assert_ok(kp_flip_part_crowds(flip, SHARE));
  memset(p.counts, 0, (size_t)p.n_cells * sizeof *p.counts);
  for (int l = 0; l < s->n_liquids; ++l) {
    kp_set *set = flip->liquids.data[l].medium.set;
    for (int c = 0; c < s->dimension; ++c) {
      const kp_pos *found = kp_buffer_host(&set->position->buffers[c], KP_ACCESS_READ);
      for (int64_t q = 0; q < set->space->n; ++q) {
        assert_true(found[q] == x[l][c][q]);
      }
    }
    count_places(&p, x[l], set->space->n);
  }
  for (int64_t at = 0; at < p.n_cells; ++at) {
    assert_true(p.counts[at] <= p.most);
  }
  if (s->n_liquids == 1) {
    print_message("%s, %s: %lld in a cell before; all ways %.0f cells, one by one %.0f\n", s->text,
                  backend, (long long)fullest, p.way, by_turns);
    assert_between(p.way, 1.0, 1.25 * by_turns);
  }
  for (int l = 0; l < s->n_liquids; ++l) {
    for (int c = 0; c < 3; ++c) {
      free(x[l][c]);
    }
  }
  close_plain(&p);
  kp_world_destroy(&world);
}

static void crowds_go_where_a_plain_program_puts_them(void **state) {
  (void)state;
  for (size_t k = 0; k < N_SCENES; ++k) {
    compare(&scenes[k], "cpu");
    compare(&scenes[k], "mirror");
  }
}

// More than a box can take: its cells fill up, and the rest stays.
static void who_is_shut_in_stays(void **state) {
  (void)state;
  kp_test_settings settings =
      kp_test_settings_make(2, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 1.0, 0.0));
  settings.simulation.dt = 1e-3;
  kp_world *world = kp_test_world(&settings);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 1.0, 0.0), 1.0 / 16.0);
  water.method = KP_LIQUID_FLIP;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 1);
  kp_flip *flip = flip_of(world);
  kp_set *set = flip->liquids.data[0].medium.set;
  assert_int_equal(set->space->n, 256);
  for (int c = 0; c < 2; ++c) {
    kp_pos *x = kp_buffer_host(&set->position->buffers[c], KP_ACCESS_WRITE);
    for (int64_t p = 0; p < 256; ++p) {
      x[p] = 0.02 + 0.09 * kp_rng_uniform(3, KP_RNG_FLIP, (uint64_t)p, (uint64_t)c);
    }
  }
  // 64 cells with room for two each
  assert_ok(kp_flip_part_crowds(flip, 0.5));
  plain p = open_plain(flip);
  double *x[3] = { copy_of(set, 0), copy_of(set, 1), NULL };
  count_places(&p, x, 256);
  for (int64_t at = 1; at < p.n_cells; ++at) {
    assert_int_equal(p.counts[at], 2);
  }
  assert_int_equal(p.counts[0], 256 - 2 * 63);
  free(x[0]);
  free(x[1]);
  close_plain(&p);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(crowds_go_where_a_plain_program_puts_them),
    cmocka_unit_test(who_is_shut_in_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
