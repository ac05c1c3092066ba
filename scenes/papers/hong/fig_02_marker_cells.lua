-- Hong 2009, Figs 1-3: marker cells with explicit momentum and relaxation (no sizes are given: the 30 x 30 cells of Table II, column of 26 x 51 markers).
domain { min = {0, 0, 0}, max = {0.3, 0.3, 0}, dimension = 2 }
grid { cell = 0.01, cfl = 0.9, tolerance = 1e-4, iterations = 2000 }
liquid "water" { method = "marker", viscosity = 8.9e-4,
  shape = box { min = {0, 0, 0}, max = {0.13, 0.255, 0} } }
output { frames = 60, fps = 60 }
