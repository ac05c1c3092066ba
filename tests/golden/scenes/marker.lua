-- Marker cells: a column that falls over in one layer, past a block.
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
grid { cell = 1 / 12 }
liquid "water" { method = "marker", spacing = 0.04, viscosity = 0.5, velocity = {0.5, 0, 0}, shape = box { min = {0, 0, 0}, max = {0.4, 0.6, 0} } }
collider "block" { shape = box { min = {0.6, 0, -1}, max = {0.8, 0.2, 1} } }
output { frames = 1 }
