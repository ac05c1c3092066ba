// Persistent pair state (contact history, dynamic springs, stiction): for every element of a set a
// row of the partners within a radius, with values that stay with the pair when the rows are built
// again.
//
//   row of i   entries begin[i] .. begin[i] + count[i] - 1 of the PAIRS space; begin and count are
//              fields of the set, so the sort, removal and emission take rows along
//   entry      partner (index), partner_id, and the values the user asked for
//
// Rows are directed: i has an entry for j and j one for i, each with values of its own. A pass over
// rows writes only its own element and entries, so there is nothing to merge, no atomic, and a law
// written with antisymmetric arithmetic gives both sides the same numbers.
//
// A build finds the partners anew (kp_pair_lists_build), looks each of them up by id in the old row
// of the same element, and carries the values over; entries without an old one get the fields'
// initial values. All of it runs on the device. Rows may be wider than the interaction by a skin:
// they hold as long as nothing has travelled more than half of that (kp_pair_rows_travel).
//
// The entries are state. A run that is resumed or rewound goes on with the rows it had, so it adds
// in the same order and builds again in the same sub-step: call kp_pair_rows_loaded.
//
// Across periodic faces the partner is the element itself, not its image: users take the nearest
// image of the difference. The axis must then be longer than twice the radius.
#pragma once

#include "data/ghosts.h"
#include "data/pairs.h"

#define KP_PAIR_ROWS_NEW 0xffffffffu  // source of an entry that was not there before

typedef struct kp_pair_rows_def {
  const char *name;  // of the PAIRS space; the set gets fields <name>_begin and <name>_count
  kp_set *set;
  kp_set *partners;             // NULL: the set itself
  const kp_field_desc *values;  // any flags; SAVE unless they can be made from the rest
  size_t n_values;
} kp_pair_rows_def;

typedef struct kp_pair_rows {
  kp_set *set, *partners;
  kp_space *space;
  kp_field *partner;        // U32, element of partners
  kp_field *partner_id;     // U64
  kp_field *begin, *count;  // U32, of the set
  double radius;            // of the last build
  double travelled;         // m, at most, by any element since then
  int64_t n_builds;         // since the world was made, for reports
  // private
  bool is_built;
  uint64_t set_revision, partners_revision;
  kp_space *state;
  kp_field *numbers;  // F64 x 3 of the state: built, radius, travelled
  kp_pair_lists lists, image_lists;
  kp_buffer starts, source;
  kp_buffer spare[3];  // for items of 1, 4 and 8 bytes
} kp_pair_rows;

KP_NODISCARD kp_result kp_pair_rows_create(kp_registry *registry, const kp_pair_rows_def *def,
                                           kp_pair_rows **out);
// The spaces stay in the registry, as with kp_set_destroy.
void kp_pair_rows_destroy(kp_pair_rows **rows);

// Where the partners are: cells of the set and of the partners (the same where they are one), built
// just now; images of the partners across periodic faces with their cells, or NULL.
typedef struct kp_pair_rows_search {
  kp_cells *cells, *partner_cells;
  kp_ghosts *images;
  kp_cells *image_cells;
  double radius;
} kp_pair_rows_search;

// On failure the rows are as they were or empty.
KP_NODISCARD kp_result kp_pair_rows_build(kp_pair_rows *rows, const kp_pair_rows_search *search);

// Whether the rows still name the elements they were built for.
bool kp_pair_rows_is_current(const kp_pair_rows *rows);

// Something may have moved so far since the last call.
KP_NODISCARD kp_result kp_pair_rows_travel(kp_pair_rows *rows, double distance);

// After a checkpoint or a snapshot was loaded.
KP_NODISCARD kp_result kp_pair_rows_loaded(kp_pair_rows *rows);
