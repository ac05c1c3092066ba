// Trees of moving boxes: the pairs they find against all pairs, on every instruction set, before
// and after boxes have changed, for all items and for marked ones; and of still items, where pairs
// that are near must be found and those whose boxes do not meet must not.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "geom/box_tree.h"
#include "par/kernel.h"

typedef struct items {
  kp_vec3 x[200];
  kp_index corners[3 * 150];
  kp_box boxes[200];  // of corners
  kp_index n_corners, n;
  int n_each;
} items;

static void fill_items(items *s, kp_test_random *random, int n_each) {
  s->n_each = n_each;
  s->n_corners = 200;
  s->n = (kp_index)kp_test_integer(random, 1, 150);
  for (kp_index i = 0; i < s->n_corners; ++i) {
    s->x[i] = kp_test_vec3(random, 0, 4);
  }
  for (kp_index k = 0; k < n_each * s->n; ++k) {
    s->corners[k] = (kp_index)kp_test_integer(random, 0, s->n_corners - 1);
  }
}

static void move_corners(items *s, kp_test_random *random, double part) {
  for (kp_index i = 0; i < s->n_corners; ++i) {
    if (kp_test_uniform(random, 0, 1) < part) {
      kp_vec3 to = kp_vec3_add(s->x[i], kp_test_vec3(random, -1, 1));
      kp_box_set(&s->boxes[i], s->x[i], to, 0.05);
      s->boxes[i].first = 1;  // has moved
    }
  }
}

// Boxes of all items, and marks of those that have a corner that moved.
static void set_boxes(const items *s, kp_box_tree *tree) {
  kp_index seen = 0;
  for (kp_index b = 0; b < tree->n_blocks; ++b) {
    tree->marks[b] = 0;
    for (int l = 0; l < KP_BOX_LANES; ++l) {
      if (tree->blocks[b].item[l] < 0) {
        continue;
      }
      ++seen;
      bool has_moved = false;
      for (int k = 0; k < 3; ++k) {
        has_moved |= s->boxes[tree->blocks[b].corner[k][l]].first == 1;
      }
      tree->marks[b] |= (uint16_t)(has_moved ? 1u << l : 0u);
      (tree->is_still ? kp_box_block_settle : kp_box_block_join)(&tree->blocks[b], l, s->boxes);
    }
  }
  assert_int_equal(seen, s->n);
}

static kp_box item_box(const items *s, kp_index i) {
  kp_box box = s->boxes[s->corners[s->n_each * i]];
  for (int k = 1; k < s->n_each; ++k) {
    kp_box_cover(&box, &box, &s->boxes[s->corners[s->n_each * i + k]]);
  }
  return box;
}

static bool is_marked(const items *s, kp_index i) {
  bool any = false;
  for (int k = 0; k < s->n_each; ++k) {
    any |= s->boxes[s->corners[s->n_each * i + k]].first == 1;
  }
  return any;
}

static bool is_wanted(const items *a, kp_index i, const items *b, kp_index j, bool only_marked) {
  kp_box box_a = item_box(a, i);
  kp_box box_b = item_box(b, j);
  for (int k = 0; k < a->n_each * b->n_each; ++k) {
    if (a->corners[a->n_each * i + k / b->n_each] == b->corners[b->n_each * j + k % b->n_each]) {
      return false;
    }
  }
  return kp_box_meets(&box_a, &box_b) && (!only_marked || is_marked(a, i) || is_marked(b, j));
}

typedef struct visits {
  unsigned char count[150 * 150];
  bool is_self;
} visits;

static void visit(kp_index i, kp_index j, void *user) {
  visits *v = user;
  ++v->count[v->is_self && i > j ? 150 * j + i : 150 * i + j];
}

static void check(const items *a, const kp_box_tree *ta, const items *b, const kp_box_tree *tb,
                  bool only_marked) {
  static visits v;
  kp_isa best = kp_isa_current();
  for (int isa = 0; isa <= (int)best; ++isa) {
    kp_isa_force((kp_isa)isa);
    memset(&v, 0, sizeof v);
    v.is_self = ta == tb;
    kp_box_walk walk = { ta, tb, only_marked };
    kp_box_task tasks[KP_BOX_TASKS];
    int n = kp_box_tree_split(&walk, tasks);
    for (int k = 0; k < n; ++k) {
      kp_box_tree_pairs(&walk, tasks[k], visit, &v);
    }
    for (kp_index i = 0; i < a->n; ++i) {
      for (kp_index j = v.is_self ? i + 1 : 0; j < b->n; ++j) {
        assert_int_equal(v.count[150 * i + j], is_wanted(a, i, b, j, only_marked));
      }
    }
  }
  kp_isa_force(best);
}

static void pairs_case(kp_test_random *random, void *user) {
  (void)user;
  static items a, b;
  static const int each[3] = { 1, 3, 2 };
  int kind = (int)kp_test_integer(random, 0, 2);
  fill_items(&a, random, each[kind]);
  fill_items(&b, random, each[(kind + 1) % 3]);
  kp_box_tree ta, tb;
  assert_ok(kp_box_tree_build(a.x, a.corners, a.n_each, a.n, &ta));
  assert_ok(kp_box_tree_build(b.x, b.corners, b.n_each, b.n, &tb));
  memset(a.boxes, 0, sizeof a.boxes);
  memset(b.boxes, 0, sizeof b.boxes);
  for (int pass = 0; pass < 2; ++pass) {
    for (kp_index i = 0; i < a.n_corners; ++i) {
      a.boxes[i].first = b.boxes[i].first = 0;
    }
    move_corners(&a, random, pass == 0 ? 2.0 : 0.05);
    move_corners(&b, random, pass == 0 ? 2.0 : 0.05);
    set_boxes(&a, &ta);
    set_boxes(&b, &tb);
    kp_box_tree_refit(&ta, pass > 0);
    kp_box_tree_refit(&tb, pass > 0);
    check(&a, &ta, &b, &tb, pass > 0);
    check(&a, &ta, &a, &ta, pass > 0);
  }
  kp_box_tree_destroy(&ta);
  kp_box_tree_destroy(&tb);
}

// ---- still items

static double margin_of(kp_index corner) {
  return 0.02 + 0.001 * (corner % 50);
}

static void settle_corners(items *s) {
  for (kp_index i = 0; i < s->n_corners; ++i) {
    kp_box_settle(&s->boxes[i], s->x[i], margin_of(i));
  }
}

// Any point of an item, with the margin there.
static kp_vec3 point_of(const items *s, kp_index i, kp_test_random *random, double *margin) {
  double weight[3], sum = 0.0;
  for (int k = 0; k < s->n_each; ++k) {
    weight[k] = kp_test_uniform(random, 0, 1) < 0.5 ? 1e-9 : kp_test_uniform(random, 0, 1);
    sum += weight[k];
  }
  kp_vec3 p = { 0.0, 0.0, 0.0 };
  *margin = 0.0;
  for (int k = 0; k < s->n_each; ++k) {
    kp_index corner = s->corners[s->n_each * i + k];
    p = kp_vec3_madd(p, weight[k] / sum, s->x[corner]);
    *margin += weight[k] / sum * margin_of(corner);
  }
  return p;
}

// Points of both that are nearer than their margins, if some are found.
static bool is_seen_near(const items *a, kp_index i, const items *b, kp_index j,
                         kp_test_random *random) {
  for (int k = 0; k < 200; ++k) {
    double grown[2];
    kp_vec3 p = point_of(a, i, random, &grown[0]);
    kp_vec3 q = point_of(b, j, random, &grown[1]);
    if (kp_vec3_length(kp_vec3_sub(p, q)) < grown[0] + grown[1]) {
      return true;
    }
  }
  return false;
}

// Items as if they had moved from where they are to there.
static items as_moving(const items *still) {
  items s = *still;
  for (kp_index k = 0; k < s.n_corners; ++k) {
    memcpy(s.boxes[k].end_min, s.boxes[k].min, sizeof s.boxes[k].min);
    memcpy(s.boxes[k].end_max, s.boxes[k].max, sizeof s.boxes[k].max);
  }
  return s;
}

typedef struct tally {
  int64_t near, left_out;
} tally;

static void check_still(const items *a, const kp_box_tree *ta, const items *b,
                        const kp_box_tree *tb, kp_test_random *random, tally *told) {
  static visits v, first;
  kp_isa best = kp_isa_current();
  for (int isa = 0; isa <= (int)best; ++isa) {
    kp_isa_force((kp_isa)isa);
    memset(&v, 0, sizeof v);
    v.is_self = ta == tb;
    kp_box_walk walk = { ta, tb, false };
    kp_box_task tasks[KP_BOX_TASKS];
    int n = kp_box_tree_split(&walk, tasks);
    for (int k = 0; k < n; ++k) {
      kp_box_tree_pairs(&walk, tasks[k], visit, &v);
    }
    first = isa == 0 ? v : first;
    assert_memory_equal(v.count, first.count, sizeof v.count);
  }
  kp_isa_force(best);
  items a_moving = as_moving(a), b_moving = as_moving(b);
  for (kp_index i = 0; i < a->n; ++i) {
    for (kp_index j = v.is_self ? i + 1 : 0; j < b->n; ++j) {
      int count = v.count[150 * i + j];
      bool may_meet = is_wanted(&a_moving, i, &b_moving, j, false);
      assert_true(count <= (may_meet ? 1 : 0));
      bool is_near = may_meet && is_seen_near(a, i, b, j, random);
      assert_true(count == 1 || !is_near);
      told->near += is_near;
      told->left_out += may_meet && count == 0;
    }
  }
}

static void still_case(kp_test_random *random, void *user) {
  static items a, b;
  static const int each[3] = { 1, 3, 2 };
  int kind = (int)kp_test_integer(random, 0, 2);
  fill_items(&a, random, each[kind]);
  fill_items(&b, random, each[(kind + 1) % 3]);
  memset(a.boxes, 0, sizeof a.boxes);
  memset(b.boxes, 0, sizeof b.boxes);
  b.n = b.n < 60 ? b.n : 60;
  memcpy(b.x, a.x, sizeof b.x);  // corners that both have are at one place
  kp_box_tree ta, tb;
  assert_ok(kp_box_tree_build(a.x, a.corners, a.n_each, a.n, &ta));
  assert_ok(kp_box_tree_build(b.x, b.corners, b.n_each, b.n, &tb));
  ta.is_still = tb.is_still = true;
  settle_corners(&a);
  settle_corners(&b);
  set_boxes(&a, &ta);
  set_boxes(&b, &tb);
  kp_box_tree_refit(&ta, false);
  kp_box_tree_refit(&tb, false);
  check_still(&a, &ta, &b, &tb, random, user);
  check_still(&b, &tb, &b, &tb, random, user);
  kp_box_tree_destroy(&ta);
  kp_box_tree_destroy(&tb);
}

static void test_still_pairs(void **state) {
  (void)state;
  tally told = { 0 };
  kp_test_for_seeds(12, still_case, &told);
  print_message("%lld pairs are near, %lld whose boxes meet are left out\n", (long long)told.near,
                (long long)told.left_out);
  assert_true(told.near > 100 && told.left_out > 100);
}

static void test_pairs(void **state) {
  (void)state;
  kp_test_for_seeds(30, pairs_case, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_pairs),
                                      cmocka_unit_test(test_still_pairs) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
