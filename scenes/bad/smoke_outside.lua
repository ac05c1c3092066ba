-- expect: smoke "plume": its shape lies outside the domain
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
smoke "plume" { shape = sphere { center = {3, 0.2, 0.5}, radius = 0.1 } }
