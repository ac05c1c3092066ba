-- Vortex particles in a gas with a ball.
domain { min = {0, 0, 0}, max = {1, 1, 1} }
simulation { dt_max = 1 / 24 }
grid { cell = 1 / 10 }
smoke "air" { shape = sphere { center = {0.5, 0.4, 0.5}, radius = 0.3 }, density = 1, temperature = 400, velocity = {0.8, 0.3, 0}, confinement = 1 }
collider "ball" { shape = sphere { center = {0.75, 0.5, 0.5}, radius = 0.15 } }
vortices "rolls" { into = "air", shape = sphere { center = {0.5, 0.5, 0.5}, radius = 0.3 }, rate = 1000, magnitude = 1,
  radius = 0.35, radius_spread = 0.3, threshold = 0.1 }
output { frames = 1 }
