-- expect: attempt to perform arithmetic on a nil value
-- exit: 3
local size = {}
domain { max = {size.x * 2, 1, 1} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
