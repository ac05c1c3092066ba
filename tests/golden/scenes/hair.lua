-- Curls on a ball that turns.
domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5} }
solids { inner = 4 }
collider "head" { shape = sphere { center = {0, 0, 0}, radius = 0.08 }, rotation_deg = function(t) return {0, 2000 * t, 800 * t} end }
hair "mop" { on = "head", count = 12, segments = 8, length = 0.12, edge_stiffness = 0.002, bend_stiffness = 1e-3, torsion_stiffness = 1e-3, altitude_stiffness = 1e-3,
  curl_radius = 0.004, roughness = 0.3, fall = {0, -1, 0}, thickness = 0.004,
  self = true, stiction = 0.01, stiction_distance = 0.01, stiction_break = 0.03 }
output { frames = 1 }
