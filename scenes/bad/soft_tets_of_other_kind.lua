-- expect: tetrahedra come as .mesh (Medit) or .node and .ele (TetGen)
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
soft "jelly" { tets = "parts/open.obj" }
