#include "cloth_contact.h"

const kp_cloth_contact kp_cloth_contact_sizes = {
  .free = { { KP_HAMMOCK, 20, 40 }, { KP_TWIST, 32, 120 }, { KP_CRUSH, 24, 40 } },
  .twist = 24,
  .back = { { KP_HAMMOCK, 10, 36 }, { KP_HAMMOCK, 16, 36 } },
  .looks_back = true,
  .cheap = { { KP_HAMMOCK, 12, 12 }, { KP_TWIST, 16, 12 }, { KP_CRUSH, 16, 10 } },
};
