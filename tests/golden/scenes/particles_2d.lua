-- A column of particles of any method that falls over in one layer, with a disc and grains on it.
domain { min = {0, 0, 0}, max = {0.5, 0.4, 0}, dimension = 2 }
liquid "water" { spacing = 0.03, jitter = 0.05, viscosity = 0.5, velocity = {0.6, -0.3, 0}, shape = box { min = {0, 0, 0}, max = {0.2, 0.24, 0} } }
collider "step" { shape = box { min = {0.24, 0, -1}, max = {0.35, 0.08, 1} } }
body "disc" { shape = sphere { center = {0.1, 0.3, 0}, radius = 0.05 }, density = 400, velocity = {0, -1, 0} }
output { frames = 1 }
