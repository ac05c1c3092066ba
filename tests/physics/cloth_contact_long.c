#include "cloth_contact.h"

const kp_cloth_contact kp_cloth_contact_sizes = {
  .free = { { KP_HAMMOCK, 72, 45 }, { KP_TWIST, 144, 120 }, { KP_CRUSH, 100, 30 } },
  .twist = 48,
  .back = { { KP_HAMMOCK, 50, 15 }, { KP_HAMMOCK, 72, 15 } },
  .cheap = { { KP_HAMMOCK, 100, 12 }, { KP_TWIST, 64, 60 }, { KP_CRUSH, 100, 20 } },
};
