-- expect: poisson = 0.5 is out of range
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
soft "jelly" { shape = sphere { radius = 0.2 }, poisson = 0.5 }
