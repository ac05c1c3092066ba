// Elastic tetrahedra by the edges they share: the lists of elements around edges, and the passes
// from deformations of elements to stresses of edges (deform_tets_kernels.h).
#include <stddef.h>
#include <stdlib.h>

#include "data/call.h"
#include "methods/deform/deform.h"
#include "methods/deform/deform_tets_kernels.h"
#include "par/kernel_define.h"

DEFORM_TETS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// ---- lists --------------------------------------------------------------------------------------

// An edge of an element: its ends, the lower one first.
typedef struct side {
  int32_t a, b, element, number;
} side;

static int compare_sides(const void *left, const void *right) {
  const side *l = left, *r = right;
  int32_t d = l->a != r->a ? l->a - r->a : l->b != r->b ? l->b - r->b : l->element - r->element;
  return (d > 0) - (d < 0);
}

static void list_sides(const int32_t *corner, int64_t n, kp_range elements, side *sides) {
  for (int64_t m = elements.first; m < elements.first + elements.n; ++m) {
    for (int i = 0, number = 0; i < 4; ++i) {
      for (int j = i + 1; j < 4; ++j, ++number) {
        int32_t a = corner[i * n + m], b = corner[j * n + m];
        *sides++ = (side){ a < b ? a : b, a < b ? b : a, (int32_t)m, number };
      }
    }
  }
}

typedef struct edge_lists {
  const int32_t *corner;
  int32_t *edge, *element;
  uint32_t *start;
} edge_lists;

static kp_result open_lists(kp_deform_materials *s, edge_lists *out) {
  void *unused;
  // no more edges than sides; lanes reach beyond the last element
  int64_t n = DEFORM_SOLID_EDGES * s->n;
  KP_TRY(kp_buffer_room(&s->edge, KP_TYPE_I32, n + KP_LANES, &out->edge));
  KP_TRY(kp_buffer_room(&s->edge_element, KP_TYPE_I32, n, &out->element));
  KP_TRY(kp_buffer_room(&s->edge_start, KP_TYPE_U32, n + 1, &out->start));
  KP_TRY(kp_buffer_room(&s->gradient, KP_TYPE_F64, 9 * s->n, &unused));
  KP_TRY(kp_buffer_get(&s->corner, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&out->corner));
  for (int64_t k = 0; k < KP_LANES; ++k) {
    out->edge[n + k] = 0;
  }
  return KP_OK;
}

// Edges of a part come in the order of their ends, elements around an edge in their own.
kp_result kp_deform_fill_edges(kp_deform *d) {
  kp_deform_materials *s = &d->tets.solids;
  edge_lists lists;
  void *unused;
  KP_TRY(open_lists(s, &lists));
  side *sides =
      kp_alloc((size_t)(DEFORM_SOLID_EDGES * s->n + 1) * sizeof *sides, KP_MEMORY_SCRATCH);
  if (sides == NULL) {
    return KP_ERROR_MEMORY;
  }
  int64_t edge = 0, place = 0;
  for (size_t p = 0; p < d->parts.count; ++p) {
    kp_deform_part *part = &d->parts.data[p];
    int64_t n = DEFORM_SOLID_EDGES * part->solids.n;
    list_sides(lists.corner, s->n, part->solids, sides);
    qsort(sides, (size_t)n, sizeof *sides, compare_sides);
    part->edges.first = edge;
    for (int64_t k = 0; k < n; ++k) {
      const side *at = &sides[k];
      if (k == 0 || at[-1].a != at->a || at[-1].b != at->b) {
        lists.start[edge++] = (uint32_t)place;
      }
      lists.element[place++] = at->element;
      lists.edge[at->number * s->n + at->element] = (int32_t)(edge - 1);
    }
    part->edges.n = edge - part->edges.first;
  }
  lists.start[edge] = (uint32_t)place;
  s->n_edges = edge;
  kp_free(sides);
  return kp_buffer_room(&s->stress, KP_TYPE_F64, 9 * edge, &unused);
}

// ---- passes -------------------------------------------------------------------------------------

static kp_result find_gradients(kp_deform *d, kp_range range, kp_buffer x[3]) {
  kp_deform_materials *t = &d->tets.solids;
  deform_gradient_args a = { .first = range.first, .n = t->n };
  kp_call call;
  kp_call_init(&call, &deform_gradient_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &t->inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, gradient, &t->gradient, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, range.n);
}

kp_result kp_deform_edges_evaluate(kp_deform *d, const kp_deform_part *part, kp_buffer x[3]) {
  kp_deform_materials *t = &d->tets.solids;
  KP_TRY(find_gradients(d, part->solids, x));
  deform_edge_args a = { .first = part->edges.first,
                         .strength = (kp_real)part->strength_now,
                         .around.n = t->n };
  kp_call call;
  kp_call_init(&call, &deform_edge_kernel, &a);
  KP_BIND(&call, &a, around.start, &t->edge_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, around.element, &t->edge_element, KP_ACCESS_READ);
  KP_BIND(&call, &a, around.gradient, &t->gradient, KP_ACCESS_READ);
  KP_BIND(&call, &a, around.rest, &t->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, stress, &t->stress, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, part->edges.n);
}

// `means` lie in the arguments of the call.
void kp_deform_bind_means(kp_deform *d, const kp_deform_part *part, kp_call *call,
                          deform_means *means) {
  kp_deform_materials *t = &d->tets.solids;
  size_t at = (size_t)((char *)means - (char *)call->args);
  means->is_alone = part->is_beyond_rounding;
  means->n = t->n;
  means->strength = (kp_real)part->strength_now;
  kp_call_bind(call, at + offsetof(deform_means, edge), &t->edge, KP_ACCESS_READ);
  kp_call_bind(call, at + offsetof(deform_means, stress), &t->stress, KP_ACCESS_READ);
  kp_call_bind(call, at + offsetof(deform_means, gradient), &t->gradient, KP_ACCESS_READ);
  kp_call_bind(call, at + offsetof(deform_means, rest), &t->rest, KP_ACCESS_READ);
}

kp_result kp_deform_edges_energy(kp_deform *d, const kp_deform_part *part, double *out) {
  kp_deform_materials *t = &d->tets.solids;
  KP_TRY(find_gradients(d, part->solids, d->set->position->buffers));
  deform_edge_energy_args a = { .first = part->edges.first,
                                .strength = (kp_real)part->strength_now,
                                .around.n = t->n };
  kp_call call;
  kp_call_init(&call, &deform_edge_energy_kernel, &a);
  KP_BIND(&call, &a, around.start, &t->edge_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, around.element, &t->edge_element, KP_ACCESS_READ);
  KP_BIND(&call, &a, around.gradient, &t->gradient, KP_ACCESS_READ);
  KP_BIND(&call, &a, around.rest, &t->rest, KP_ACCESS_READ);
  return kp_call_reduce(d->set->space->backend, &call, part->edges.n, out);
}
