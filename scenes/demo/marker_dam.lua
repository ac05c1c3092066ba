-- A dam breaks by marker cells and stable fluids: the baseline on a small grid.
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
grid { cell = 1/24, cfl = 1 }
marker { scheme = "stable_fluids" }
liquid "water" { method = "marker", viscosity = 8.9e-4,
  shape = box { min = {0, 0, 0}, max = {0.25, 0.5, 0} } }
output { frames = 12, fps = 30 }
