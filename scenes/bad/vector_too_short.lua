-- expect: a vector of two numbers needs domain { dimension = 2 }
-- exit: 3
domain { max = {1, 1} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
