-- A sheet that falls over a ball and a pin, on itself, in wind, with a free body on it.
domain { min = {-1, 0, -1}, max = {1, 1, 1} }
solids { inner = 4, gap = 0.006 }
cloth "sheet" { model = "edges", width = 0.6, height = 0.6, columns = 8, rows = 8, position = {0, 0.335, 0}, rotation_deg = {0, 20, 0}, velocity = {0.3, -2, 0},
  density = 0.3, stiffness = 400, bend_stiffness = 2, hinge = 1e-3, thickness = 0.02, drag = 1 }
cloth "patch" { model = "edges", width = 0.3, height = 0.3, columns = 5, rows = 5, position = {0.05, 0.339, 0}, velocity = {0, -6, 0.2}, density = 0.4, thickness = 0.02 }
pin "corner" { of = "sheet", shape = sphere { center = {0.28, 0.335, 0.28}, radius = 0.12 }, position = function(t) return {0, t, 0} end }
collider "ball" { shape = sphere { center = {0, 0.1, 0}, radius = 0.22 }, friction = 0.8, rotation_deg = function(t) return {0, 90 * t, 0} end }
collider "shelf" { shape = box { min = {-0.4, 0.2, 0.1}, max = {-0.1, 0.325, 0.3} } }
body "block" { shape = box { min = {-0.05, 0, -0.05}, max = {0.05, 0.1, 0.05} }, position = {-0.15, 0.36, 0}, velocity = {0, -3, 0}, density = 200 }
wind "gust" { velocity = {3, 0, 1}, swirl = 1 }
output { frames = 1 }
