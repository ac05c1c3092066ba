-- expect: soft "jelly": a spacing of 3 m finds no tetrahedron in the solid
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
soft "jelly" { shape = sphere { center = {0.01, 0, 0}, radius = 0.1 }, spacing = 3 }
