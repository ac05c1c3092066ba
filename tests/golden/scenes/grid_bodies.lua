-- A gas and the bodies that fall through it, with a force on one of them.
domain { min = {0, 0, 0}, max = {1, 1, 1} }
simulation { dt_max = 1 / 48 }
grid { cell = 1 / 10 }
smoke "air" { shape = sphere { center = {0.5, 0.4, 0.5}, radius = 0.3 }, density = 1, temperature = 400, viscosity = 0.1 }
body "stone" { shape = sphere { center = {0.5, 0.7, 0.5}, radius = 0.12 }, velocity = {0.5, -2, 0}, density = 500 }
body "plank" { shape = box { min = {0.2, 0.3, 0.3}, max = {0.6, 0.4, 0.7} }, angular_velocity = {0, 2, 1}, density = 300 }
force "lift" { acceleration = {0, 5, 0}, on = "plank" }
output { frames = 1 }
