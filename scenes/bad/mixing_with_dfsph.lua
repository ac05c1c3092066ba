-- expect: sph: solver 'dfsph' does not carry concentrations
-- exit: 3
sph { solver = "dfsph" }
liquid "a" { shape = box { min = {0, 0, 0}, max = {0.2, 0.2, 0.2} }, concentration = 1 }
