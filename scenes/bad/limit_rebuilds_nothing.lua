-- expect: limit "passes": rebuild makes lists anew, and method = "provot" has none
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
cloth "towel" { columns = 4, rows = 4, model = "grid", scheme = "position_verlet" }
limit "passes" { of = "towel", method = "provot", rebuild = 0.2 }
output { frames = 1 }
