-- expect: soft "jelly": it needs three dimensions, and the domain has two
-- exit: 3
domain { dimension = 2, min = {0, 0}, max = {1, 1} }
soft "jelly" { shape = sphere { center = {0.5, 0.5, 0}, radius = 0.2 } }
