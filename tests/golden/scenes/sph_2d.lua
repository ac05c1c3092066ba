-- One layer of liquid in a cavity with a lid that slides, and a stream across.
domain { dimension = 2, min = {0, 0, 0}, max = {0.3, 0.3, 0} }
liquid "water" { spacing = 0.03, jitter = 0.1, viscosity = 0.1, velocity = {0.5, -0.2, 0},
  shape = box { min = {0, 0, 0}, max = {0.3, 0.21, 0} } }
collider "lid" { shape = box { min = {-0.1, 0.24, -1}, max = {0.4, 0.3, 1} },
  surface_velocity = function(t) return {1 + t, 0, 0} end }
output { frames = 1 }
