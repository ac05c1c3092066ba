-- A gas in one layer with a ball that moves and vortex particles.
domain { min = {0, 0, 0}, max = {1, 1.5, 0}, dimension = 2, boundary_x = "open", open_top = true }
simulation { dt_max = 1 / 48 }
grid { cell = 1 / 16 }
smoke "gas" { shape = sphere { center = {0.5, 0.5, 0}, radius = 0.3 }, density = 0.8, temperature = 500, confinement = 1, viscosity = 0.05 }
source "vent" { into = "gas", shape = box { min = {0.3, 0.05, 0}, max = {0.7, 0.2, 0} }, density = 1, temperature = 400, noise = 0.3 }
vortices "rolls" { into = "gas", shape = sphere { center = {0.5, 0.5, 0}, radius = 0.3 }, rule = "upright", rate = 1000, magnitude = 1, radius = 0.3 }
collider "ball" { shape = sphere { center = {0, 0, 0}, radius = 0.16 }, position = function(t) return {0.3 + t, 0.9, 0} end }
output { frames = 1 }
