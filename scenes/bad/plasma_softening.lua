-- expect: plasma "gas": softening = 0.2 m must be below influence = 0.1 m
-- exit: 3
plasma "gas" { shape = box { min = {0, 0, 0}, max = {1, 1, 1} }, softening = 0.2, influence = 0.1 }
