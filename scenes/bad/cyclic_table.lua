-- expect: min must be a vector {x, y, z}
-- exit: 3
local t = {}
t[1] = t
domain { min = t }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
