-- Water that falls over on a grid, over a sphere and past a post that moves.
domain { min = {0, 0, 0}, max = {1, 0.8, 0.5} }
grid { cell = 1 / 10 }
liquid "water" { method = "flip", spacing = 0.05, jitter = 0.3, viscosity = 0.5, velocity = {1, 0.2, 0.1},
  shape = box { min = {0, 0, 0}, max = {0.5, 0.5, 0.5} } }
collider "hill" { shape = sphere { center = {0.58, 0, 0.25}, radius = 0.2 } }
collider "post" { shape = box { min = {0, 0, 0.1}, max = {0.1, 0.7, 0.4} }, position = function(t) return {0.88 - t, 0, 0} end }
output { frames = 1 }
