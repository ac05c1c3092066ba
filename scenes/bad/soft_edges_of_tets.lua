-- expect: soft "jelly": model = "edges" is made of a shape, not of tets
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
soft "jelly" { tets = "parts/open.obj", model = "edges" }
