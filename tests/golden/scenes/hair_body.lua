-- Hair on a body that falls on cloth, in wind, over soft grass.
domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5} }
solids { inner = 4, gap = 0.003 }
body "ball" { shape = sphere { center = {0, 0.15, 0}, radius = 0.08 }, velocity = {0, -3, 0}, angular_velocity = {3, 1, 0}, density = 300 }
hair "mop" { on = "ball", count = 10, segments = 5, length = 0.08, thickness = 0.004, limit = "momentum",
  edge_stiffness = 0.1, bend_stiffness = 1e-3, torsion_stiffness = 1e-3, altitude_stiffness = 1e-3 }
cloth "sheet" { model = "edges", width = 0.4, height = 0.4, columns = 7, rows = 7, position = {0, 0.06, 0}, density = 0.4, thickness = 0.01, drag = 0.5 }
soft "pad" { shape = box { min = {-0.1, -0.1, -0.1}, max = {0.1, 0.05, 0.1} }, spacing = 0.07, young = 1e4, density = 300, thickness = 0.01 }
pin "left" { of = "sheet", shape = box { min = {-0.21, 0, -0.3}, max = {-0.19, 0.1, 0.3} }, stop = 0.05 }
wind "gust" { velocity = {2, 0, 1} }
output { frames = 1 }
