-- expect: surface_tension = -0.07 is out of range: 0 to 1000000 N/m
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} }, surface_tension = -0.07 }
