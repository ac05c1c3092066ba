-- A disc is held under water: the liquid presses on it with the weight that it displaces (Archimedes).
-- Try --set water.method=flip, level_set, marker.
domain { dimension = 2, max = {0.8, 0.8, 1} }
grid { cell = 0.04 }
liquid "water" { spacing = 0.025, viscosity = 1, shape = box { min = {0, 0, -1}, max = {0.8, 0.65, 1} } }
collider "disc" { shape = sphere { center = {0.4, 0.35, 0}, radius = 0.15 } }
probe "load" { of = "disc", kind = "track", interval = 0.05 }
output { frames = 60, fps = 20 }
