-- A drop that falls into a pool in one layer.
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
grid { cell = 1 / 20 }
liquid "pool" { method = "level_set", viscosity = 0.2, shape = box { min = {-1, -1, -1}, max = {2, 0.3, 2} } }
liquid "drop" { method = "level_set", viscosity = 0.2, velocity = {0.5, -2, 0}, shape = sphere { center = {0.4, 0.55, 0}, radius = 0.2 } }
output { frames = 1 }
