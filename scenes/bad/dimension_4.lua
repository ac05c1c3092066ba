-- expect: dimension = 4 is out of range: 2 to 3
-- exit: 3
domain { dimension = 4 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
