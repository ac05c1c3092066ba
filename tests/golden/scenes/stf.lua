-- Shear-thickening fluid on a floor that shakes, under a ball.
domain { min = {0, 0, 0}, max = {0.3, 0.3, 0.2} }
stf { vibration_amplitude = 0.002, squared_viscosity = 0.5 }
liquid "ooze" { method = "stf", spacing = 0.03, jitter = 0.2, rest_density = 1200, velocity = {0.5, -0.5, 0.1},
  shape = box { min = {0, 0, 0}, max = {0.24, 0.12, 0.2} } }
collider "post" { shape = cylinder { a = {0.24, 0, 0.1}, b = {0.24, 0.3, 0.1}, radius = 0.04 } }
body "ball" { shape = sphere { center = {0.12, 0.16, 0.1}, radius = 0.05 }, density = 2500, velocity = {0.2, -2, 0} }
output { frames = 1 }
