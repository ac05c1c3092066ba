-- expect: sph: shifting does not go with integrator 'position_verlet', whose velocity is the way gone
-- exit: 3
domain { dimension = 2, max = {1, 1} }
sph { shifting = 1, integrator = "position_verlet" }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, -1}, max = {0.4, 0.4, 1} } }
