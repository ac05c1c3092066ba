-- expect: soft "jelly": a solid without bounds cannot be filled with tetrahedra
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
soft "jelly" { shape = plane { point = {0, 0, 0}, normal = {0, 1, 0} } }
