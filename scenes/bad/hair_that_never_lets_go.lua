-- expect: hair "locks": stiction_break must be larger than stiction_distance
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
hair "locks" { stiction = 1, stiction_distance = 0.01 }
