#include "bounce_form.h"

// the same material with as many times stiffer springs to the middle, and along edges in
// proportion to their length
const kp_bounce_form kp_bounce = {
  .sets = { "bunny.spacing=0.03", "bunny.stiffness=115", "bunny.center=68" },
  .n_sets = 3,
  .words = "scenes/papers/bayraktar/soft_body.lua with 871 nodes, 2 s",
  .nodes = 800,
};
