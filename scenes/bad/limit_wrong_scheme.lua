-- expect: must have scheme = "position_verlet", not "newmark"
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
cloth "towel" { columns = 4, rows = 4 }
limit "list" { of = "towel" }
output { frames = 1 }
