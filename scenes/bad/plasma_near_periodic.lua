-- expect: plasma "gas": search 'near' does not go with periodic boundaries
-- exit: 3
domain { boundary_x = "periodic" }
plasma "gas" { shape = box { min = {0, 0, 0}, max = {1, 1, 1} }, search = "near" }
