-- A drop that falls into a pool beside a moving post.
domain { min = {0, 0, 0}, max = {1, 1, 0.5} }
grid { cell = 1 / 12 }
liquid "pool" { method = "level_set", viscosity = 0.5, shape = box { min = {-1, -1, -1}, max = {2, 0.3, 2} } }
liquid "drop" { method = "level_set", viscosity = 0.5, velocity = {0.5, -2, 0}, shape = sphere { center = {0.4, 0.55, 0.25}, radius = 0.2 } }
collider "post" { shape = box { min = {-0.1, 0, 0.1}, max = {0.1, 0.6, 0.5} }, position = function(t) return {0.8 - t, 0, 0} end }
output { frames = 1 }
