-- expect: soft "jelly": the shape is missing
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
soft "jelly" { young = 1000 }
