// Parameter tables: one row per member of a def struct. From a table follow the scene parser, the
// range check, `kelpie params`, the reference manual and used.lua. Defaults come from the default
// function of the def alone.
#pragma once

#include "kelpie/types.h"

typedef enum kp_param_type {
  KP_PARAM_REAL,    // double
  KP_PARAM_INT,     // int64_t
  KP_PARAM_BOOL,    // bool
  KP_PARAM_VEC3,    // kp_vec3; in a scene {x, y, z} or {x, y}
  KP_PARAM_PLACE3,  // kp_vec3 with a kp_vec_lattice behind it: a vector or a function of place
  KP_PARAM_ENUM,    // int; `names` lists the words
  KP_PARAM_TEXT,    // char[KP_PARAM_TEXT_SIZE]
  KP_PARAM_CURVE,   // kp_curve of one value: a number or a function of time
  KP_PARAM_CURVE3,  // kp_curve of three values: a vector or a function of time
  KP_PARAM_SHAPE,   // kp_shape_def: box {...}, sphere {...}, ...
  KP_PARAM_TYPE_COUNT
} kp_param_type;

#define KP_PARAM_TEXT_SIZE KP_TEXT_SIZE

typedef struct kp_param {
  const char *key;
  kp_param_type type;
  size_t offset;  // in the def
  size_t size;    // of the member
  const char *unit;
  double lowest, highest;    // for numbers and every component of vectors; inclusive
  const char *const *names;  // KP_PARAM_ENUM: words, NULL terminated; a file: see KP_PARAM_FILE
  const char *text;          // a sentence for the manual
} kp_param;

typedef struct kp_param_table {
  const char *name;  // "sph", "domain", "output", ...
  const char *text;  // a sentence: what the entity is
  const kp_param *rows;
  size_t n_rows;
  size_t def_size;
  void (*set_default)(void *def);
} kp_param_table;

#define KP_PARAM(def_type, member, kind, unit, lowest, highest, text)                              \
  {                                                                                                \
#member, KP_PARAM_##kind, offsetof(def_type, member), sizeof(((def_type *)0)->member), unit,   \
        lowest, highest, NULL, text                                                                \
  }

// The unit of a text that names a file of the scene: the loader lets such a file in by one door
// (scene/input.c), or not at all.
#define KP_PARAM_FILE_UNIT "file"

// `star`: the words a * in the file's name stands for, one file each; NULL: it stands for itself.
#define KP_PARAM_FILE(def_type, member, star, text)                                                \
  {                                                                                                \
#member, KP_PARAM_TEXT, offsetof(def_type, member), sizeof(((def_type *)0)->member),           \
        KP_PARAM_FILE_UNIT, 0.0, 0.0, star, text                                                   \
  }

#define KP_PARAM_WORDS(def_type, member, words, text)                                              \
  {                                                                                                \
#member, KP_PARAM_ENUM, offsetof(def_type, member), sizeof(((def_type *)0)->member), "", 0.0,  \
        0.0, words, text                                                                           \
  }

// A member and the lattice `member`_at that follows it.
#define KP_PARAM_OF_PLACE(def_type, member, unit, lowest, highest, text)                           \
  {                                                                                                \
#member, KP_PARAM_PLACE3, offsetof(def_type, member),                                          \
        offsetof(def_type, member##_at) + sizeof(kp_vec_lattice) - offsetof(def_type, member),     \
        unit, lowest, highest, NULL, text                                                          \
  }

// The lattice of such a member.
#define KP_PARAM_LATTICE(member) ((kp_vec_lattice *)(void *)((char *)(member) + sizeof(kp_vec3)))
