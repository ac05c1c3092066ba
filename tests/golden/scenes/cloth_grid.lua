-- A towel of structural, shear and bending springs that hangs and is pulled; explicit schemes.
domain { min = {-1, -1.5, -1}, max = {1, 0.5, 1} }
solids { dt = 1 / 960, inner = 8 }
cloth "towel" { width = 0.6, height = 0.6, columns = 8, rows = 8, position = {0, -0.3, 0}, rotation_deg = {90, 0, 0}, velocity = {0.5, 1, 0.5},
  density = 0.417, model = "grid", bend_diagonals = true, stiffness = 20, shear = 10, bend_stiffness = 0.5, damping = 0.1,
  scheme = "position_verlet" }
pin "edge" { of = "towel", shape = box { min = {-1, -0.01, -1}, max = {1, 0.01, 1} }, position = function(t) return {0, 0, 3 * t} end }
output { frames = 1 }
