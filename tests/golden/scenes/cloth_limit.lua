-- A towel whose edges are kept from stretching.
domain { min = {-1, -1.5, -1}, max = {1, 0.5, 1} }
solids { dt = 1 / 480, inner = 4 }
cloth "towel" { width = 0.6, height = 0.6, columns = 8, rows = 8, position = {0, -0.3, 0}, rotation_deg = {90, 0, 0}, velocity = {0.5, -3, 0.5},
  density = 0.417, model = "grid", stiffness = 20, shear = 10, bend_stiffness = 0.5, scheme = "position_verlet" }
pin "edge" { of = "towel", shape = box { min = {-0.31, -0.01, -1}, max = {0.1, 0.01, 1} } }
pin "late" { of = "towel", shape = box { min = {0.2, -1, -1}, max = {0.31, -0.5, 1} }, start = 0.02 }
limit "edges" { of = "towel", tolerance = 0.01 }
output { frames = 1 }
