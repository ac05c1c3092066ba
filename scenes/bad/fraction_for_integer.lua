-- expect: frames = 10.5 must be a whole number
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
output { frames = 10.5 }
