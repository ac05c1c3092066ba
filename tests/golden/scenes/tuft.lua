-- A tuft without a head that meets a cloth.
domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5} }
solids { inner = 4 }
hair "tuft" { count = 6, segments = 6, length = 0.15, root = {0, 0.1, 0}, direction = {0.2, -1, 0}, spread = 0.03, thickness = 0.01, wave = 0.004,
  edge_stiffness = 0.1, bend_stiffness = 1e-3, torsion_stiffness = 1e-3, altitude_stiffness = 1e-3 }
cloth "sheet" { model = "edges", width = 0.2, height = 0.2, columns = 5, rows = 5, position = {0.02, -0.06, 0}, velocity = {0, 2, 0}, density = 0.3, thickness = 0.01 }
output { frames = 1 }
