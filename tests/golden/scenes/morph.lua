-- A cloth and hairs on a ball that grows.
domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5} }
solids { inner = 4, key_rate = 200, key_cells = 16 }
collider "head" { shape = sphere { center = {0, 0, 0}, radius = 0.1 } }
morph "swell" { of = "head", shape = sphere { center = {0, 0.02, 0}, radius = 0.15 }, weight = function(t) return 6 * t end }
hair "mop" { on = "head", count = 8, segments = 5, length = 0.08, lift = 0.004,
  edge_stiffness = 0.1, bend_stiffness = 1e-3, torsion_stiffness = 1e-3, altitude_stiffness = 1e-3 }
cloth "sheet" { model = "edges", width = 0.2, height = 0.2, columns = 6, rows = 6, position = {0, 0.12, 0}, velocity = {0, -2, 0}, density = 0.3, thickness = 0.01 }
output { frames = 1 }
