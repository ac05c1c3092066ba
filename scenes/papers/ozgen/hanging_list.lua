-- Hanging cloth with one ordered pass over its edges (Ozgen 2013, Figs. 6.2, 6.3): 41 x 41 nodes,
-- springs far too soft to carry it.
domain { min = {-1, -2, -1}, max = {1, 0.5, 1} }
solids { dt = 1/200, inner = 5 }
cloth "sheet" {
  width = 1, height = 1, columns = 40, rows = 40, position = {0, -0.5, 0}, rotation_deg = {90, 0, 0},
  density = 0.2, model = "grid", bend_diagonals = true, stiffness = 0.2, shear = 0.2,
  bend_stiffness = 0.02, damping = 0, bend_damping = 0, viscosity = 10, self = false,
  scheme = "position_verlet", color = {0.10, 0.25, 0.60},
}
pin "top" { of = "sheet", shape = box { min = {-1, -0.001, -1}, max = {1, 0.001, 1} } }
limit "list" { of = "sheet", tolerance = 0.02 }
output { frames = 120, fps = 30 }
