-- expect: min must be a vector {x, y, z}, not a number
-- exit: 3
domain { min = 0 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
