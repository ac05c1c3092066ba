-- expect: flip.band is 3 cells, but sink "drain" takes particles alone
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
flip { band = 3 }
liquid "pool" { method = "flip", spacing = 0.05, shape = box { min = {0, 0, 0}, max = {1, 0.4, 1} } }
sink "drain" { shape = box { min = {0.4, 0, 0.4}, max = {0.6, 0.1, 0.6} } }
output { frames = 1 }
