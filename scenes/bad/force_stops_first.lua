-- expect: force "gust": it stops at 1 s, before its start at 2 s
-- exit: 3
domain { max = {1, 1, 1} }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
force "gust" { acceleration = {1, 0, 0}, start = 2, stop = 1 }
