-- A dam of level-set water falls in a tank without a lid; no splash reaches the top, so nothing leaves.
domain { dimension = 2, max = {2, 2.8, 1}, open_top = true }
grid { cell = 0.04 }
liquid "water" { method = "level_set", shape = box { min = {-1, -1, -1}, max = {0.8, 0.85, 1} } }
output { frames = 200, fps = 20 }
