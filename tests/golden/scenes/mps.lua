-- Moving particles, semi-implicit, beside a plate that moves, with a body.
domain { min = {0, 0, 0}, max = {0.3, 0.3, 0.15}, open_top = true }
liquid "pool" { method = "mps", spacing = 0.03, jitter = 0.1, viscosity = 1, velocity = {0.4, 0, 0.1}, surface_tension = 0.1,
  shape = box { min = {0, 0, 0}, max = {0.18, 0.12, 0.15} } }
collider "plate" { shape = box { min = {0, 0, -0.1}, max = {0.06, 0.2, 0.25} }, position = function(t) return {0.22 - t, 0, 0} end }
body "crate" { shape = box { min = {0.05, 0.14, 0.04}, max = {0.11, 0.2, 0.1} }, density = 500, velocity = {0, -1, 0} }
output { frames = 1 }
