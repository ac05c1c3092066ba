-- A drop with surface tension on a ball, in one layer.
domain { min = {-0.024, 0, 0}, max = {0.024, 0.036, 0}, dimension = 2 }
liquid "water" { method = "flip", spacing = 0.001, viscosity = 8.9e-4, surface_tension = 0.0728, velocity = {0, -0.5, 0},
  shape = sphere { center = {0, 0.023, 0}, radius = 0.005 } }
collider "ball" { shape = sphere { center = {0, 0.010, 0}, radius = 0.008 } }
output { frames = 1 }
