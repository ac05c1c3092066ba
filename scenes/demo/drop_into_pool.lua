-- A drop of water falls into a pool: a level set with particles on a small grid.
domain { min = {0, 0, 0}, max = {1, 1, 1} }
grid { cell = 1/24 }
liquid "pool" { method = "level_set", viscosity = 0,
  shape = box { min = {-1, -1, -1}, max = {2, 0.3, 2} } }
liquid "drop" { method = "level_set", viscosity = 0, velocity = {0, -1, 0},
  shape = sphere { center = {0.5, 0.6, 0.5}, radius = 0.18 } }
output { frames = 12, fps = 24 }
