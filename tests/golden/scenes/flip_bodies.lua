-- FLIP water fed by a spout, with a box that floats in it.
domain { min = {0, 0, 0}, max = {0.8, 0.8, 0.5} }
grid { cell = 1 / 10 }
liquid "water" { method = "flip", spacing = 0.05, viscosity = 0, shape = box { min = {0, 0, 0}, max = {0.8, 0.3, 0.5} } }
body "crate" { shape = box { min = {0.3, 0.3, 0.1}, max = {0.6, 0.5, 0.4} }, density = 400, velocity = {0.2, -1, 0} }
emitter "spout" { into = "water", position = {0.2, 0.7, 0.25}, direction = {0, -1, 0}, radius = 0.1, speed = 3 }
output { frames = 1 }
