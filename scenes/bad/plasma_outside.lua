-- expect: plasma "gas": its shape has no room for particles in the domain
-- exit: 3
plasma "gas" { shape = box { min = {2, 2, 2}, max = {3, 3, 3} } }
