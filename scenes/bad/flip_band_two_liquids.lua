-- expect: flip.band is 3 cells, but the grid has 2 liquids
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
flip { band = 3 }
liquid "left" { method = "flip", spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 1} } }
liquid "right" { method = "flip", spacing = 0.05, shape = box { min = {0.6, 0, 0}, max = {1, 0.4, 1} } }
output { frames = 1 }
