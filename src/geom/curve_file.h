// Reading guide curves by file name. Declared here so that methods can ask for them; the reader
// lives in the layer io, which implements this function (src/io/curve_file.c).
#pragma once

#include "base/array.h"
#include "geom/sampler.h"

// All points of all curves; curve c has points first[c] ... first[c + 1] - 1.
typedef struct kp_curves {
  kp_points points;
  KP_ARRAY(size_t) first;  // one more than there are curves
} kp_curves;

void kp_curves_free(kp_curves *curves);

// Read polylines, each from root to tip: the elements `l` of an OBJ file, whole or one per segment
// (what begins at the vertex that the element before ended at goes on with its curve), or plain
// text with three numbers per line (spaces or commas between them) and an empty line between two
// curves. Fails with a sentence that names file, line and what is wrong; *curves is then empty.
KP_NODISCARD kp_result kp_curves_read(const char *path, kp_curves *curves);
