-- expect: it stops at 1 s, before its start at 2 s
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
emitter "tap" { into = "water", position = {0.5, 0.5, 0.5}, start = 2, stop = 1 }
