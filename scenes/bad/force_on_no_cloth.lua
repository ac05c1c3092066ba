-- expect: force "gust": on = "towl" is no population or body, did you mean "towel"?
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
cloth "towel" { columns = 4, rows = 4 }
force "gust" { on = "towl", acceleration = {1, 0, 0} }
output { frames = 1 }
