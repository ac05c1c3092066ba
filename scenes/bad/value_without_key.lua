-- expect: a value without a key
-- exit: 3
domain { {0, 0, 0}, {1, 1, 1} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
