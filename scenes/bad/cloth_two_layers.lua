-- expect: layers must be 1, or 3 with model = "grid"
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
cloth "knit" { columns = 4, rows = 4, layers = 2 }
output { frames = 1 }
