-- Spring-mass water on a ball that moves, with a body in it.
domain { min = {0, 0, 0}, max = {0.3, 0.3, 0.16} }
liquid "water" { method = "springs", spacing = 0.03, jitter = 0.05, viscosity = 1, velocity = {0.5, -0.5, 0.2},
  shape = box { min = {0, 0, 0}, max = {0.18, 0.15, 0.16} } }
collider "ball" { shape = sphere { center = {0, 0, 0}, radius = 0.06 }, position = function(t) return {0.2 - t, 0.04, 0.08} end }
body "buoy" { shape = sphere { center = {0.1, 0.2, 0.08}, radius = 0.05 }, density = 300, velocity = {0, -1, 0} }
output { frames = 1 }
