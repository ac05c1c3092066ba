-- Two liquids that mix, a spout and a drain.
domain { min = {0, 0, 0}, max = {0.32, 0.32, 0.16}, boundary_x = "periodic" }
liquid "salt" { spacing = 0.04, viscosity = 0.3, concentration = 1, dispersion = 0.01, solute_density = 80,
  jitter = 0.2, shape = box { min = {0, 0, 0}, max = {0.16, 0.16, 0.16} } }
liquid "fresh" { spacing = 0.04, viscosity = 0.1, rest_density = 900, dispersion = 0.02, solute_density = 80,
  jitter = 0.2, velocity = {-0.4, 0, 0}, surface_tension = 0.2, shape = box { min = {0.16, 0, 0}, max = {0.32, 0.16, 0.16} } }
emitter "spout" { into = "fresh", position = {0.16, 0.26, 0.08}, direction = {0.2, -1, 0}, radius = 0.05, speed = 6 }
sink "drain" { shape = box { min = {0, 0, 0}, max = {0.05, 0.05, 0.16} } }
output { frames = 1 }
