#include "support/test.h"

#include "support/frames.h"

#include <string.h>

void **kp_test_add_field(kp_frame_fields *fields, const char *name, kp_item_type type,
                         int n_components, uint64_t count) {
  kp_frame_field_def def = {
    .name = name, .unit = "", .type = type, .n_components = n_components, .count = count
  };
  kp_frame_field *field;
  assert_ok(kp_frame_add_field(fields, &def, &field));
  return field->data;
}

void kp_test_add_roof(kp_frame *frame) {
  kp_frame_mesh *mesh;
  assert_ok(kp_frame_add_mesh(frame, "roof", 4, 2, &mesh));
  for (int i = 0; i < 4; ++i) {
    mesh->vertices[i] = kp_vec3_make(0.3 + 0.2 * (i % 2), 0.1 + 0.1 * (i / 2), 0.2 * (i / 2));
  }
  const uint32_t triangles[6] = { 0, 1, 3, 0, 3, 2 };
  memcpy(mesh->triangles, triangles, sizeof triangles);
}
