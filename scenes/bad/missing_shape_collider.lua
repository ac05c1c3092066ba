-- expect: missing_shape_collider.lua:4: collider "pillar": the shape is missing
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "pillar" { color = {1, 0, 0} }
