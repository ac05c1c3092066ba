-- expect: immersion "pool": of = "towl" is no cloth
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
cloth "towel" { columns = 4, rows = 4 }
immersion "pool" { of = "towl" }
output { frames = 1 }
