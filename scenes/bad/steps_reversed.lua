-- expect: dt_min = 0.1 is above dt_max = 0.01
-- exit: 3
simulation { dt_min = 0.1 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
