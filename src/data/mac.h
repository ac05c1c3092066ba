// The staggered (marker-and-cell) grid: pressures, densities and flags at the centres of cells,
// velocities at their faces (Harlow & Welch 1965).
//
// All arrays of a grid have one layout, whatever they hold: item (i, j, k) is the centre of cell
// (i, j, k), or its lower face across x, y or z, or its lowest corner. Around the cells of the
// domain lie KP_MAC_GHOSTS layers on either side (none across z in 2D, which is one layer of
// cells), so the upper faces and corners of the last cells have a place too. Arrays are fields of
// one space of the registry, so checkpoints, rewind and hashes are those of everything else.
//
// Loops run over lists of row segments, one per kind of place, inside a window that follows what is
// going on in steps of KP_MAC_BLOCK cells. What lies outside the window is left alone and counts as
// open air.
//
// Reading between places (interpolation, averages, derivatives) is the business of
// data/mac_sample.h alone; tools/check-sampler holds everyone to it.
#pragma once

#include <math.h>

#include "data/call.h"
#include "data/field.h"
#include "data/mac_view.h"

// The six sides of the domain: axis 0..2, lower or upper.
typedef enum kp_mac_side_kind {
  KP_MAC_WALL,      // nothing passes; the tangential speed is free, or that of the wall
  KP_MAC_OPEN,      // pressure is that of the surroundings, whatever comes may pass
  KP_MAC_PERIODIC,  // both sides of an axis
  KP_MAC_INFLOW     // a velocity is given
} kp_mac_side_kind;

typedef struct kp_mac_side {
  kp_mac_side_kind kind;
  kp_vec3 velocity;  // m/s: of the inflow, or of a wall that slides
  bool no_slip;      // of a wall
} kp_mac_side;

typedef struct kp_mac_def {
  const char *name;  // of its space in the registry
  kp_aabb box;       // m; the number of cells is that of whole cells nearest to it, at least one
  double cell;       // m, edge
  int dimension;     // 2: one layer
  kp_mac_side sides[3][2];
} kp_mac_def;

typedef struct kp_mac {
  kp_backend *backend;
  kp_space *space;  // CELLS: all arrays of this layout
  kp_space *state;  // GLOBAL: the window
  kp_mac_view view;
  kp_mac_side sides[3][2];
  kp_buffer *loose;   // flags: what lies in cells with KP_CELL_LOOSE may leave walls; NULL: nothing
  bool ends_at_open;  // distances end at open sides: beyond them is air
  int32_t window_lo[3], window_hi[3];  // cells, hi exclusive
  uint64_t window_revision;            // grows when the window changes
  kp_buffer segments[KP_MAC_KIND_COUNT];
  int64_t n_segments[KP_MAC_KIND_COUNT];
} kp_mac;

KP_NODISCARD kp_result kp_mac_create(kp_registry *registry, const kp_mac_def *def, kp_mac **out);
void kp_mac_destroy(kp_mac **mac);
// After a checkpoint or a snapshot came back: the window and its lists.
KP_NODISCARD kp_result kp_mac_loaded(kp_mac *mac);

// A field of the grid's layout; `components` as of any field (three for face velocities: component
// c lies on the faces across axis c). Starts as desc->initial, ghosts too.
KP_NODISCARD kp_result kp_mac_add_field(kp_mac *mac, const kp_field_desc *desc, kp_field **out);
// A scratch array of the layout that no checkpoint holds.
KP_NODISCARD kp_result kp_mac_scratch(kp_mac *mac, kp_type type, kp_buffer *buffer);

// Let the loops run over the cells lo..hi-1 and `margin` around, rounded outwards to blocks of
// KP_MAC_BLOCK and cut at the domain. The first call after create is not needed: all of it is
// active.
KP_NODISCARD kp_result kp_mac_set_window(kp_mac *mac, const int32_t lo[3], const int32_t hi[3],
                                         int32_t margin);
int64_t kp_mac_n_cells(const kp_mac *mac);  // inside the window
int64_t kp_mac_n_all(const kp_mac *mac);    // of the domain, without ghosts

// A ROW kernel over all places of a kind inside the window. Faces and corners of the last cells are
// included; across a periodic axis the last face is the first and is left out.
KP_NODISCARD kp_result kp_mac_rows(kp_mac *mac, kp_mac_kind kind, kp_call *call);
// A REDUCE kernel over the flat items first..first+n-1 that hold the window (and places outside it,
// which the kernel must know by their flags): its arguments have a member `first`, an int64_t, at
// `first_offset`.
KP_NODISCARD kp_result kp_mac_reduce(kp_mac *mac, kp_call *call, size_t first_offset,
                                     double *values);
#define KP_MAC_REDUCE(mac, call, args, values)                                                     \
  kp_mac_reduce((mac), (call), (size_t)((char *)&(args)->first - (char *)(args)), (values))
// The flat range itself, for vectors of linear systems.
void kp_mac_range(const kp_mac *mac, int64_t *first, int64_t *n);

// Ghost layers of an array of cell centres: images across periodic sides, the nearest cell's value
// at walls and open sides, or `outside` at those of open sides and inflows when it is a number.
// With KP_MAC_DISTANCE the array is a distance [m], negative in water, and water that lets go of a
// wall ends there: the cell beside the wall is no deeper than that, and from it the distance grows.
// With `ends_at_open` it ends at open sides in the same way, so that what flows back in is air.
#define KP_MAC_DISTANCE HUGE_VAL
KP_NODISCARD kp_result kp_mac_fill_cells(kp_mac *mac, kp_buffer *values, double outside);
// Images across periodic axes alone, of any array of kp_real or bytes: the first and last items of
// whatever kind of place.
KP_NODISCARD kp_result kp_mac_fill_periodic(kp_mac *mac, kp_buffer *values);
// Ghost layers of a face velocity, and the faces in the sides themselves: zero normal speed (or
// that of the side) at walls and inflows, images across periodic sides, the nearest value at open
// ones; beside walls the tangential speed is copied (free slip) or mirrored about the wall's
// (no-slip). Where water lets go of a wall, its face keeps a speed that leaves it.
KP_NODISCARD kp_result kp_mac_fill_velocity(kp_mac *mac, kp_field *velocity);
