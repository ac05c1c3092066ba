-- expect: solids: body_triangles = "all" needs gap above 0
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
solids { body_triangles = "all", gap = 0 }
cloth "sheet" { columns = 4, rows = 4 }
collider "blade" { shape = box { min = {-0.1, -0.5, -0.1}, max = {0.1, -0.3, 0.1} } }
