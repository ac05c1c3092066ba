-- expect: does not go with rewind
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
solids { body_triangles = "all", gap = 0.002, rewind = true }
cloth "sheet" { columns = 4, rows = 4 }
body "box" { shape = box { min = {-0.1, 0.1, -0.1}, max = {0.1, 0.3, 0.1} } }
