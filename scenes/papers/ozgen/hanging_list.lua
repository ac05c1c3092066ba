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
look "sheet" { color = {0.30, 0.52, 0.80}, two_sided = true, color_back = {0.95, 0.80, 0.55}, gloss = 0.3 }
render { camera_position = {2.1, 0.15, 1.35}, camera_target = {0, -0.45, -0.12}, ground_height = 0.7, sun = {0.2, 1, 0.5}, sky_strength = 0.8 }
