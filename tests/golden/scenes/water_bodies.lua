-- Water of a level set and a body that falls into it.
domain { min = {0, 0, 0}, max = {1, 1, 0.5} }
grid { cell = 1 / 10 }
liquid "pool" { method = "level_set", viscosity = 0, shape = box { min = {-1, -1, -1}, max = {2, 0.4, 2} } }
body "crate" { shape = box { min = {0.3, 0.35, 0.1}, max = {0.6, 0.55, 0.4} }, density = 400, velocity = {0.2, -2, 0} }
vortices "eddies" { into = "pool", shape = box { min = {0.1, 0.05, 0.1}, max = {0.9, 0.3, 0.4} }, rate = 400, magnitude = 0.3, radius = 0.25 }
output { frames = 1 }
