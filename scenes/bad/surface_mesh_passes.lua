-- expect: surface: mesh_passes = 1000 is out of range: 0 to 100
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
liquid "water" { spacing = 0.1, shape = box { min = {0, 0, 0}, max = {0.5, 0.5, 0.5} } }
output { frames = 1, fps = 60, surface = { from = "water", mesh_smoothing = "hong", mesh_passes = 1000 } }
