// Colliders that change their form (morphs), for nodes that meet them: distances and velocities on
// a grid at key times, and between them along the motion (Selle 2008, section 7.5.1;
// geom/level_set_keys.h).
#include <math.h>
#include <string.h>

#include "geom/morph.h"
#include "methods/deform/deform.h"

#define MARGIN 3.0  // cells around the box

kp_result kp_deform_add_skin(kp_deform *d, const kp_morph *morph, size_t solid) {
  kp_deform_bodies *b = &d->bodies;
  deform_obstacle *record = &b->solids.data[solid].record;
  kp_deform_skin skin = {
    .solid = solid, .morph = morph, .box = kp_morph_bounds(morph), .keys = { -1, -1 }
  };
  kp_vec3 size = kp_vec3_sub(skin.box.max, skin.box.min);
  double longest = fmax(size.x, fmax(size.y, size.z));
  kp_distance_view grid = { .cell = longest / (double)d->def.key_cells };
  const double lo[3] = { skin.box.min.x, skin.box.min.y, skin.box.min.z };
  const double length[3] = { size.x, size.y, size.z };
  for (int c = 0; c < 3; ++c) {
    grid.lo[c] = lo[c] - MARGIN * grid.cell;
    grid.n[c] = 2 + (int32_t)ceil(length[c] / grid.cell + 2.0 * MARGIN);
  }
  record->grid = grid;
  record->interval = 1.0 / d->def.key_rate;
  size_t room = 4 * (size_t)grid.n[0] * (size_t)grid.n[1] * (size_t)grid.n[2];
  size_t before = b->values.used;
  skin.values[0] = (int64_t)(before / sizeof(kp_real));
  skin.values[1] = skin.values[0] + (int64_t)room;
  KP_TRY(kp_buffer_resize(&b->values, before + 2 * room * sizeof(kp_real)));
  size_t n = (size_t)morph->mesh.n_vertices;
  skin.x = kp_alloc(2 * n * sizeof *skin.x, KP_MEMORY_WORLD);
  if (skin.x == NULL) {
    return KP_ERROR_MEMORY;
  }
  skin.v = skin.x + n;
  kp_result result = kp_array_push(&b->skins, skin);
  if (result != KP_OK) {
    kp_free(skin.x);
  }
  return result;
}

void kp_deform_free_skins(kp_deform_bodies *b) {
  for (size_t k = 0; k < b->skins.count; ++k) {
    kp_free(b->skins.data[k].x);
  }
  kp_array_free(&b->skins);
}

static kp_result make_key(kp_deform *d, kp_deform_skin *skin, int64_t key) {
  kp_real *values;
  kp_buffer *all = &d->bodies.values;
  KP_TRY(kp_buffer_get(all, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&values));
  kp_morph_at(skin->morph, (double)key / d->def.key_rate, skin->x, skin->v);
  kp_mesh mesh = skin->morph->mesh;
  mesh.vertices = skin->x;
  const kp_distance_view *grid = &d->bodies.solids.data[skin->solid].record.grid;
  KP_TRY(kp_level_set_key_of_mesh(grid, &mesh, skin->v, values + skin->values[key % 2]));
  skin->keys[key % 2] = key;
  return KP_OK;
}

kp_result kp_deform_bend_skins(kp_deform *d, double time) {
  kp_deform_bodies *b = &d->bodies;
  for (size_t s = 0; s < b->skins.count; ++s) {
    kp_deform_skin *skin = &b->skins.data[s];
    deform_obstacle *record = &b->solids.data[skin->solid].record;
    double at = fmax(0.0, time * d->def.key_rate);
    int64_t key = (int64_t)at;
    for (int64_t k = key; k <= key + 1; ++k) {
      if (skin->keys[k % 2] != k) {
        KP_TRY(make_key(d, skin, k));
      }
    }
    record->alpha = at - (double)key;
    record->values = skin->values[key % 2];
    record->next = skin->values[(key + 1) % 2];
  }
  return KP_OK;
}
