-- Hong 2009, Fig. 7: particles on a uniform grid (no sizes are given: the 30 x 30 cells of Table II, column of 26 x 51 particles, the run without adaptivity).
domain { min = {0, 0, 0}, max = {0.3, 0.3, 0}, dimension = 2 }
grid { cell = 0.01, cfl = 1 }
flip { ratio = 0.97 }
liquid "water" { method = "flip", spacing = 0.005, viscosity = 8.9e-4,
  shape = box { min = {0, 0, 0}, max = {0.13, 0.255, 0} } }
output { frames = 200, fps = 60, surface = false }
look "water" { color_by = "speed", color_map = "viridis", range_min = 0, range_max = 2, smooth = 0, gloss = 0 }
