-- expect: max is infinite, which is no number
-- exit: 3
domain { max = {math.huge, 1, 1} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
