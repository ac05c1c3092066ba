-- expect: sph: solver 'dfsph' needs integrator 'symplectic'
-- exit: 3
sph { solver = "dfsph", integrator = "leapfrog" }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
