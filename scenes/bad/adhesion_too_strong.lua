-- expect: adhesion = 3 is out of range: 0 to 1
-- exit: 3
sph { adhesion = 3 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
