-- expect: max must be a vector {x, y, z}, not a table of 4 values
-- exit: 3
domain { max = {1, 1, 1, 1} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
