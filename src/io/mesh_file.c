#include "io/mesh_file.h"

#include <string.h>

#include "base/memory.h"
#include "geom/mesh_file.h"
#include "io/files.h"
#include "io/obj.h"
#include "io/ply.h"

kp_result kp_mesh_read_with(kp_mesh_parse_fn parse, const char *path, kp_mesh *mesh) {
  *mesh = (kp_mesh){ 0 };
  char *bytes = NULL;
  size_t n_bytes = 0;
  KP_TRY(kp_file_read(path, KP_INPUT_LIMIT, &bytes, &n_bytes));
  kp_result result = parse(bytes, n_bytes, path, mesh);
  kp_free(bytes);
  return result;
}

// A PLY file says so in its first four bytes; OBJ has no mark.
static kp_result parse_any(const void *bytes, size_t n_bytes, const char *name, kp_mesh *mesh) {
  bool is_ply = n_bytes >= 4 && (memcmp(bytes, "ply\n", 4) == 0 || memcmp(bytes, "ply\r", 4) == 0);
  return is_ply ? kp_ply_parse(bytes, n_bytes, name, mesh)
                : kp_obj_parse(bytes, n_bytes, name, mesh);
}

kp_result kp_mesh_read(const char *path, kp_mesh *mesh) {
  return kp_mesh_read_with(parse_any, path, mesh);
}
