-- Charges in a ball.
domain { min = {-0.8, -0.8, -0.8}, max = {0.8, 0.8, 0.8} }
simulation { gravity = {0, -1, 0} }
plasma "charges" { particles = 200, shape = sphere { center = {0, 0, 0}, radius = 0.5 }, velocity = {2, 1, 0}, influence = 0.3,
  strength = 1e-3, container_radius = 0.6, radius = 0.02, damping = 0.2 }
output { frames = 1 }
