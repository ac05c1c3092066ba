-- Cloth of a material: a sheet that falls over a ball, a curved strip and a sleeve that are held.
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
solids { inner = 4, gap = 0.006 }
cloth "sheet" { width = 0.6, height = 0.6, columns = 8, rows = 8, position = {0, 0.335, 0}, velocity = {0.3, -2, 0}, thickness = 0.02, drag = 1 }
cloth "strip" { width = 0.1, height = 0.5, columns = 3, rows = 9, parabola = 2, position = {0.7, 0, 0}, pattern = "regular",
  stiffness = 300, poisson = 0.3, bending = 1e-3, velocity = {0.5, 0, 1} }
cloth "sleeve" { width = 0.5, height = 0.3, columns = 7, rows = 4, tube = true, flare = 1.5, position = {-0.7, 0, 0}, young = 1e6, fabric_thickness = 1e-3 }
pin "end" { of = "strip", shape = box { min = {0.5, -1, -1}, max = {0.9, 1, -0.17} } }
pin "hem" { of = "sleeve", shape = box { min = {-1, -1, 0.1}, max = {0, 1, 1} }, rotation_deg = function(t) return {0, 0, 90 * t} end }
collider "ball" { shape = sphere { center = {0, 0.1, 0}, radius = 0.22 }, friction = 0.8 }
output { frames = 1 }
