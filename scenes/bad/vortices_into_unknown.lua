-- expect: vortices "swarm": into = "water" is no smoke and no liquid of method 'level_set' or 'flip'
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
smoke "plume" { empty = true }
vortices "swarm" { into = "water", shape = sphere { center = {0.5, 0.2, 0.5}, radius = 0.1 } }
